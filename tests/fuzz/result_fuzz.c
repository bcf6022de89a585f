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
    struct sc__comparison c;
    const struct sc__str documents[2] = {{(const char *)data, size}, SC__STR(good)};
    if (!setjmp(ctx->recover))
        sc__compare(ctx, names, documents, &c);
    sc_close(ctx);
    return 0;
}
