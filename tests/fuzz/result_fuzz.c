/* Saved results: what `report` and `compare` read. */
#include "result/compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_result {
    sc_context *ctx;
    struct sc__str documents[2];
};

static sc_status compare_both(void *self) {
    static const char *const names[2] = {"fuzz", "good"};
    const struct fuzzed_result *f = self;
    struct sc__compared side[2];
    struct sc__comparison c;
    for (int i = 0; i < 2; i++)
        SC__TRY(sc__compared_saved(f->ctx, names[i], f->documents[i], &side[i]));
    sc__compare(&f->ctx->arena, side, &c);
    return SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char good[] =
        "{\"schema\": \"stepcast/result/1\", \"step_time_us\": 1, "
        "\"breakdown_us\": {\"compute\": 1},"
        "\"ranks\": [{\"ranks\": 1, \"breakdown_us\": {\"compute\": 1}}]}";
    sc_context *ctx = sc_open();
    struct fuzzed_result f = {ctx, {{(const char *)data, size}, SC__STR(good)}};
    sc__guarded(ctx, compare_both, &f);
    sc_close(ctx);
    return 0;
}
