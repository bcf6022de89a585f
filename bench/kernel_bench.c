/* Costs of kernels: GEMMs never seen before, and from memory; a whole
 * layer's lists. The bounds are those the forecast of a 405B model needs. */
#include "hardware/kernel_layer.h"
#include "hardware/kernel_model.h"

#include <stdio.h>
#include <time.h>

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void row(const char *what, double us, double bound) {
    printf("%-44s %8.3f us  (bound %g us, %.1fx below)\n", what, us, bound, bound / us);
}

int main(void) {
    enum { COUNT = 200000 };
    sc_context *ctx = sc_open();
    const struct sc__gpu *gpu;
    double sum = 0;
    if (sc__gpu_find(ctx, "h100", &gpu) != SC_OK)
        return 1;
    double start = seconds();
    for (uint64_t i = 0; i < COUNT; i++)
        sum += sc__gemm_us(gpu,
                           SC__BF16,
                           8 * (1 + i % 2048),
                           8 * (1 + i * 7 % 1024),
                           8 * (1 + i * 13 % 4096));
    row("a GEMM, timed", (seconds() - start) / COUNT * 1e6, 2);

    struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, gpu);
    start = seconds();
    for (uint64_t i = 0; i < COUNT; i++)
        sum += sc__gemm(p, NULL, SC__BF16, 8192, 8 * (1 + i % 512), 4096).us;
    row("a GEMM, mostly remembered", (seconds() - start) / COUNT * 1e6, 2);

    struct sc__layer_shape s = {.fusion = SC__FUSION_MEGATRON,
                                .dtype = SC__BF16,
                                .gemm = SC__BF16,
                                .batch = 1,
                                .seq = 131072,
                                .hidden = 16384,
                                .heads = 128,
                                .kv_heads = 8,
                                .head_dim = 128,
                                .ffn = 53248,
                                .tp = 8,
                                .cp = 16,
                                .gated = true,
                                .rmsnorm = true,
                                .rope = true,
                                .causal = true,
                                .sequence_parallel = true};
    start = seconds();
    for (int i = 0; i < 1000; i++) {
        struct sc__layer_kernels f = {0};
        struct sc__layer_kernels b = {0};
        sc__layer_kernels(&ctx->arena, sc__kernel_model_new(&ctx->arena, gpu), &s, &f, &b);
        sum += f.items[0].kernel.us;
    }
    row("a layer of Llama 3 405B, nothing remembered",
        (seconds() - start) / 1000 * 1e6,
        1000);
    start = seconds();
    for (int i = 0; i < 100; i++)
        if (sc__gpu_find(ctx, "h100", &gpu) != SC_OK)
            return 1;
    row("a GPU's file, found and read", (seconds() - start) / 100 * 1e6, 5000);
    sc_close(ctx);
    return sum > 0 ? 0 : 1;
}
