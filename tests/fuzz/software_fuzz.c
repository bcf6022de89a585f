/* Software profiles: read, and applied to an empty plan; what is no object, as a text that
 * may name one (which reads them all). */
#include "base/file.h"
#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_software {
    sc_context *ctx;
    const uint8_t *data;
    size_t size;
};

static sc_status read_software(void *self) {
    const struct fuzzed_software *f = self;
    struct sc__software_facts facts = {.model = "gpt2", .gpu = "h100", .types = {"bf16"}};
    struct sc__software_constants c;
    const struct sc__software *s;
    sc_plan plan = SC_PLAN_INIT;
    sc_options options = SC_OPTIONS_INIT;
    const char *path;
    struct sc__str evidence = {(const char *)f->data, f->size};
    if (f->size && f->data[0] != '{')
        return sc__software_find(f->ctx, "auto", evidence, &s);
    SC__TRY(sc__spool_bytes(f->ctx, "fuzz.json", f->data, f->size, &path));
    SC__TRY(sc__software_read(f->ctx, path, &s));
    SC__TRY(sc__software_apply(f->ctx, s, &facts, SC__SOFTWARE_ALL, &plan, &options, NULL));
    SC__TRY(sc__software_constants(f->ctx, s, &facts, SC__SOFTWARE_ALL, &c, NULL));
    if (!(c.host_us >= 0 && c.host_us <= 1e6))
        __builtin_trap();
    return SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_context *ctx = sc_open();
    struct fuzzed_software f = {ctx, data, size};
    ctx->arena.limit = (size_t)64 << 20;
    sc__guarded(ctx, read_software, &f);
    sc_close(ctx);
    return 0;
}
