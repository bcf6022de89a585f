/* GPU files: read, and the cost of a GEMM on what comes out. */
#include "hardware/kernel_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_gpu {
    sc_context *ctx;
    struct sc__str text;
};

static sc_status read_gpu(void *self) {
    const struct fuzzed_gpu *f = self;
    const struct sc__gpu *gpu;
    SC__TRY(sc__gpu_parse(f->ctx, "fuzz.json", f->text, &gpu));
    sc__gemm_us(gpu, SC__BF16, 4096, 4096, 4096);
    return SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_context *ctx = sc_open();
    struct fuzzed_gpu f = {ctx, {(const char *)data, size}};
    ctx->arena.limit = (size_t)1 << 30;
    sc__guarded(ctx, read_gpu, &f);
    sc_close(ctx);
    return 0;
}
