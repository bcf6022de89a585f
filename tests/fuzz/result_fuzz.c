/* Saved results: what `report` and `compare` read. */
#include "result/compare.h"

#include <setjmp.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char good[] =
        "{\"schema\": \"stepcast/result/1\", \"step_time_us\": 1, "
        "\"breakdown_us\": {\"compute\": 1},"
        "\"ranks\": [{\"ranks\": 1, \"breakdown_us\": {\"compute\": 1}}]}";
    static const char *const names[2] = {"fuzz", "good"};
    sc_context *ctx = sc_open();
    struct sc__compared side[2];
    struct sc__comparison c;
    const struct sc__str documents[2] = {{(const char *)data, size}, SC__STR(good)};
    if (!setjmp(ctx->recover) &&
        sc__compared_saved(ctx, names[0], documents[0], &side[0]) == SC_OK &&
        sc__compared_saved(ctx, names[1], documents[1], &side[1]) == SC_OK)
        sc__compare(&ctx->arena, side, &c);
    sc_close(ctx);
    return 0;
}
