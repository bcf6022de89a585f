/* Tables of memory (validate --memory): read. */
#include "command/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_memory {
    sc_context *ctx;
    struct sc__str text;
};

static sc_status read_memory_truth(void *self) {
    const struct fuzzed_memory *f = self;
    struct sc__memory_truth table = {0};
    SC__TRY(sc__memory_truth_parse(f->ctx, "fuzz.csv", f->text, &table));
    if (table.count > table.capacity)
        __builtin_trap();
    return SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_context *ctx = sc_open();
    struct fuzzed_memory f = {ctx, {(const char *)data, size}};
    ctx->arena.limit = (size_t)256 << 20;
    sc__guarded(ctx, read_memory_truth, &f);
    sc_close(ctx);
    return 0;
}
