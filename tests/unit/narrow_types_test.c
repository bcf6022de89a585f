/* What casting to fp8 and fp4 costs a layer, by counts of bytes, and layers that stay out
 * of it. */
#include "hardware/kernel_layer.h"
#include "plan/memory.h"
#include "stepcast/stepcast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

enum { TOKENS = 4096, HIDDEN = 4096, FFN = 16384, LAYERS = 8 };

static double bytes_of(const struct sc__layer_kernels *list, const char *name) {
    double sum = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i].kernel.name, name))
            sum += list->items[i].kernel.bytes;
    return sum;
}

static void near(double is, double wanted, double tolerance) {
    if (!(fabs(is / wanted - 1) <= tolerance))
        fail_msg("%.9g is not %.9g", is, wanted);
}

/* Forward casts the inputs of the four linear layers (h, h, h, 4·h), backward the gradients
 * of their outputs (3·h, h, 4·h, h): 2 bytes are read for the maximum, and twice 2 and half
 * a byte with a scale of a byte for each 16. */
static void nvfp4_moves_7_bytes(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    const struct sc__gpu *gpu;
    struct sc__layer_kernels list[2] = {{0}};
    struct sc__layer_shape shape = {.dtype = SC__BF16,
                                    .gemm = SC__FP4,
                                    .batch = 2,
                                    .seq = TOKENS / 2,
                                    .hidden = HIDDEN,
                                    .heads = 32,
                                    .kv_heads = 32,
                                    .head_dim = HIDDEN / 32,
                                    .ffn = FFN,
                                    .tp = 1,
                                    .cp = 1,
                                    .causal = true};
    assert_int_equal(sc__gpu_find(ctx, "b200", &gpu), SC_OK);
    struct sc__kernel_model *model = sc__kernel_model_new(&ctx->arena, gpu);
    sc__layer_kernels(&ctx->arena, model, &shape, &list[0], &list[1]);
    const double elements[2] = {(double)TOKENS * (3 * HIDDEN + FFN),
                                (double)TOKENS * (5 * HIDDEN + FFN)};
    for (int i = 0; i < 2; i++) {
        near(bytes_of(&list[i], "amax"), 2 * elements[i], 1e-9);
        near(bytes_of(&list[i], "cast_fp4"), (2 + 0.5625) * elements[i], 1e-9);
        near(bytes_of(&list[i], "hadamard_fp4"), (2 + 0.5625) * elements[i], 1e-9);
    }
    sc_close(ctx);
}

struct run {
    double step;
    sc_memory memory;
};

static struct run
evaluate(sc_dtype gemm, sc_fp8_recipe recipe, uint32_t first, uint32_t last) {
    static const sc_setting shape[] = {{"num-layers", "8"},
                                       {"hidden-size", "4096"},
                                       {"num-attention-heads", "32"},
                                       {"vocab-size", "51200"},
                                       {"max-position-embeddings", "2048"}};
    sc_plan plan = SC_PLAN_INIT;
    struct run out;
    sc_context *ctx = sc_open();
    sc_model *model;
    sc_cluster *cluster;
    sc_result *result;
    plan.gpus = 1;
    plan.seq = 2048;
    plan.micro_batch = 4;
    plan.global_batch = 8;
    plan.gemm_dtype = gemm;
    plan.fp8_recipe = recipe;
    plan.bf16_first = first;
    plan.bf16_last = last;
    plan.host_launch_us = 0;
    assert_int_equal(sc_model_build(ctx, shape, 5, &model), SC_OK);
    assert_int_equal(sc_cluster_load(ctx, "dgx-b200:1", &cluster), SC_OK);
    if (sc_evaluate(ctx, model, &plan, cluster, NULL, &result) != SC_OK)
        fail_msg("%s", sc_error_text(ctx));
    out.step = sc_result_step_us(result);
    assert_int_equal(sc_result_memory(result, 0, &out.memory), SC_OK);
    sc_result_free(result);
    sc_cluster_free(cluster);
    sc_model_free(model);
    sc_close(ctx);
    return out;
}

/* A layer that stays wide costs what it costs without fp8: the step goes from the one to
 * the other by equal amounts, whichever end they are at. */
static void wide_layers_are_bf16_layers(void **state) {
    (void)state;
    double none = evaluate(SC_DTYPE_FP8, 0, 0, 0).step;
    double all = evaluate(SC_DTYPE_FP8, 0, LAYERS, 0).step;
    double bf16 = evaluate(SC_DTYPE_AUTO, 0, 0, 0).step;
    assert_true(none < 0.95 * all);
    near(all, bf16, 0.005); /* but for throttling, which sees no head of its own */
    for (uint32_t n = 1; n < LAYERS; n++)
        near(evaluate(SC_DTYPE_FP8, 0, n, 0).step, none + (all - none) * n / LAYERS, 0.01);
    near(evaluate(SC_DTYPE_FP8, 0, 2, 1).step, evaluate(SC_DTYPE_FP8, 0, 3, 0).step, 1e-9);
    near(evaluate(SC_DTYPE_FP4, 0, 0, LAYERS).step, bf16, 0.005);
}

/* Weights of 12·h² + 13·h a layer have a copy in fp8 and its transpose beside them, or
 * not. */
static void wide_layers_have_no_copies(void **state) {
    (void)state;
    double layer = 12.0 * HIDDEN * HIDDEN + 13.0 * HIDDEN;
    double weights[3];
    for (uint32_t n = 0; n < 3; n++)
        weights[n] = (double)evaluate(SC_DTYPE_FP8, 0, n, 0).memory.weights;
    near(weights[0] - weights[1], 2 * layer, 1e-6);
    near(weights[1] - weights[2], 2 * layer, 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nvfp4_moves_7_bytes),
        cmocka_unit_test(wide_layers_are_bf16_layers),
        cmocka_unit_test(wide_layers_have_no_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
