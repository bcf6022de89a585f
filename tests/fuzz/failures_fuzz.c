/* Sets of failures: read, and the rates of what comes out. */
#include "base/file.h"
#include "train/failures.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_failures {
    sc_context *ctx;
    const uint8_t *data;
    size_t size;
};

static sc_status read_failures(void *self) {
    const struct fuzzed_failures *f = self;
    const struct sc__failure_set *set;
    const char *path;
    SC__TRY(sc__spool_bytes(f->ctx, "fuzz.json", f->data, f->size, &path));
    SC__TRY(sc__failures_read(f->ctx, path, &set));
    for (uint32_t i = 0; i < set->class_count; i++)
        if (!(sc__failure_rate(set, &set->classes[i], 1e6) >= 0))
            __builtin_trap();
    if (!(sc__restart_seconds(&set->requeue, 1e6) >= 0))
        __builtin_trap();
    return SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_context *ctx = sc_open();
    struct fuzzed_failures f = {ctx, data, size};
    ctx->arena.limit = (size_t)64 << 20;
    sc__guarded(ctx, read_failures, &f);
    sc_close(ctx);
    return 0;
}
