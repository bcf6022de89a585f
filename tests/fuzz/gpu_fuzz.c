/* GPU files: read, and the cost of a GEMM on what comes out. */
#include "hardware/kernel_price.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct sc__gpu *gpu;
    sc_context *ctx = sc_open();
    ctx->arena.limit = (size_t)1 << 30;
    if (!setjmp(ctx->recover) &&
        sc__gpu_parse(ctx, "fuzz.json", (struct sc__str){(const char *)data, size}, &gpu) ==
            SC_OK)
        sc__gemm_us(gpu, SC__BF16, 4096, 4096, 4096);
    sc_close(ctx);
    return 0;
}
