/* Tables of measured collectives (coll --validate, --fit): read, and forecast on the
 * cluster that each row stands for. */
#include "base/file.h"
#include "collective/operations.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_table {
    sc_context *ctx;
    const uint8_t *data;
    size_t size;
};

static sc_status read_table(void *self) {
    const struct fuzzed_table *f = self;
    struct sc__samples samples;
    struct sc__names sources;
    uint32_t skipped;
    const char *path;
    SC__TRY(sc__spool_bytes(f->ctx, "fuzz.csv", f->data, f->size, &path));
    SC__TRY(sc__truth_read(f->ctx, path, &samples, &sources, &skipped));
    sc__samples_predict(&samples);
    if (samples.count && !isfinite(sc__samples_residual(&samples)))
        __builtin_trap();
    return SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_context *ctx = sc_open();
    struct fuzzed_table f = {ctx, data, size};
    ctx->arena.limit = (size_t)256 << 20;
    sc__guarded(ctx, read_table, &f);
    sc_close(ctx);
    return 0;
}
