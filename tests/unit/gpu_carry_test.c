/* What a GPU known by its datasheet takes over from the one that is its base. */
#include "test.h"

#include "hardware/gpu_read.h"
#include "hardware/kernel.h"
#include "hardware/kernel_model.h"
#include "hardware/power_throttling.h"

#include "kernel_checks.h"

static void carried_over(void **state) {
    (void)state;
    const struct sc__gpu *h = gpu("h200");
    const struct sc__gpu *a = gpu("h100-sxm");
    const struct sc__gpu *b = gpu("b200");
    const struct sc__gpu *c = gpu("h100-nvl"); /* carried over from the h100-sxm */
    double dram = c->dram / a->dram;
    near(c->gemm.bw, a->gemm.bw * dram);
    near(c->gemm.write, a->gemm.write * dram);
    near(c->gemm.te, a->gemm.te / dram);
    double peak = c->peak[SC__BF16] / a->peak[SC__BF16];
    near(c->gemm.r, a->gemm.r * peak);
    near(c->gemm.rp, a->gemm.rp * peak);
    near(c->gemm.t0, a->gemm.t0);
    assert_int_equal(c->gemm.tile_count, a->gemm.tile_count);
    near(c->gemm.tiles[3].step, a->gemm.tiles[3].step);
    near(b->unaligned.even, h->unaligned.even * (148 * 1850.0) / (132 * 1830));
    near(b->unaligned.te, h->unaligned.te * 1830 / 1850);
    near(b->attention[1].forward[1],
         h->attention[1].forward[1] / ((2250 / 148.0) / (989.4 / 132)));
    near(b->memory_op[SC__MEM_GELU_F].part[0].element, 1.150 * 4.8 / 7.7);
}

/* Of a step of attention what multiplies goes with the rate of an SM, the rest with the
 * clock; on another architecture all of it with the rate. */
static void attention_carried_over(void **state) {
    (void)state;
    const struct sc__gpu *a = gpu("h100-sxm");
    const struct sc__gpu *h20 = gpu("h20");
    double base_rate = 989.4e6 / 132;
    double rate = 148e6 / 78;
    double forward = 2.0 * 128 * 128 * (128 + 128) / base_rate;
    double backward = 2.5 * forward;
    near(h20->attention[1].forward[1],
         forward * base_rate / rate + a->attention[1].forward[1] - forward);
    near(h20->attention[1].backward[1],
         backward * base_rate / rate + a->attention[1].backward[1] - backward);
    near(h20->attention[1].forward[2], a->attention[1].forward[2]);
    const struct sc__gpu *t = gpu("t4");
    const struct sc__gpu *base = gpu("a100-80");
    near(t->attention[1].forward[1],
         base->attention[1].forward[1] * (312 / 108.0) / (65 / 40.0));
}

static double square_us(const struct sc__gpu *g, enum sc__dtype t) {
    struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, g);
    return sc__gemm(p, NULL, t, 8192, 8192, 8192).us;
}

/* A card with another memory is as fast as it was; of half the rate it stays: beside the
 * peak of the full rate its units reach that. */
static void half_rate_as_base(void **state) {
    static const char *const names[] =
        {"rtx-3090", "a10g", "rtx-2080-ti", "rtx-4090", "l40", "rtx-5070"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct sc__gpu *base = gpu(names[i]);
        struct sc__gpu mine = *base;
        mine.memory *= 2;
        sc__gpu_carry_over(&mine, base);
        near(square_us(&mine, SC__FP16), square_us(base, SC__FP16));
    }
    const struct sc__gpu *full = gpu("rtx-a6000");
    struct sc__gpu mine = *full;
    sc__gpu_carry_over(&mine, gpu("rtx-3090"));
    assert_within(square_us(&mine, SC__FP16), square_us(full, SC__FP16), 0.02);
}

/* A sheet may leave out what fp32 does: times of it are those of as many units. */
static void without_fp32(void **state) {
    (void)state;
    const struct sc__gpu *base = gpu("h200");
    struct sc__gpu mine = *base;
    mine.peak[SC__FP32] = 0;
    sc__gpu_carry_over(&mine, base);
    near(mine.attention_fp32[0].forward[1], base->attention_fp32[0].forward[1]);
    near(mine.batched_fallback[SC__PRODUCT_FP32][SC__FALLBACK_R],
         base->batched_fallback[SC__PRODUCT_FP32][SC__FALLBACK_R]);
}

#define MOST_GPUS 96

static unsigned built_in(const struct sc__gpu *of[MOST_GPUS]) {
    unsigned count = 0;
    for (unsigned i = 0; i < sc__data_file_count && count < MOST_GPUS; i++)
        if (!strncmp(sc__data_files[i].path, "gpus/", 5))
            assert_int_equal(sc__gpu_built_in(ctx, &sc__data_files[i], &of[count++]),
                             SC_OK);
    assert_true(count < MOST_GPUS);
    return count;
}

static bool has_more(const struct sc__gpu *a, const struct sc__gpu *b) {
    return a != b && a->peak[SC__FP16] >= b->peak[SC__FP16] && a->dram >= b->dram &&
           a->sms >= b->sms && a->boost_mhz >= b->boost_mhz && a->tdp >= b->tdp &&
           a->l2 >= b->l2;
}

static bool carried_alike(const struct sc__gpu *a, const struct sc__gpu *b) {
    return a->base && b->base && !strcmp(a->base, b->base) && strcmp(a->base, "h200") != 0;
}

/* Of the cards carried over from the same one: who has more of everything is not slower. */
static void more_is_not_slower(void **state) {
    const struct sc__gpu *of[MOST_GPUS];
    unsigned pairs = 0;
    (void)state;
    unsigned count = built_in(of);
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < count; k++)
            if (carried_alike(of[i], of[k]) && has_more(of[i], of[k])) {
                if (square_us(of[i], SC__FP16) > 1.001 * square_us(of[k], SC__FP16))
                    fail_msg("%s is slower than %s", of[i]->name, of[k]->name);
                pairs++;
            }
    assert_true(pairs > 40);
}

/* Where the clock falls until the power limit holds it, a loop of large products draws what
 * the limit is, and a step's energy knows it. */
static void held_by_its_power(void **state) {
    const struct sc__gpu *of[MOST_GPUS];
    unsigned held = 0;
    (void)state;
    unsigned count = built_in(of);
    for (unsigned i = 0; i < count; i++) {
        const struct sc__gpu *g = of[i];
        if (!(g->gemm.limit > 0))
            continue;
        assert_true(g->gemm.hot_us > 0); /* else nothing reads it */
        struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, g);
        struct sc__kernel k = sc__gemm(p, NULL, SC__BF16, 8192, 8192, 8192);
        struct sc__load load = {0};
        sc__load_add(&load, &k, 100);
        double share = sc__throttle(g, &load, 0).watts / g->power.limit;
        if (share < 0.8 || share > 1.01)
            fail_msg("%s draws %.2f of its limit", g->name, share);
        held++;
    }
    assert_true(held > 8);
}

/* Cards that multiply in fp32 for seconds at these rates (data/truth/cards_products.csv)
 * are not held there by their power, and an H20 draws no more for it than an H200. */
static void fp32_is_not_held(void **state) {
    static const char *const names[] = {"v100-16",
                                        "rtx-2080-ti",
                                        "a10g",
                                        "a40",
                                        "rtx-3080",
                                        "rtx-3080-ti",
                                        "rtx-a4000",
                                        "rtx-4060-ti",
                                        "rtx-4090",
                                        "l20",
                                        "rtx-5080",
                                        "rtx-5090",
                                        "h20"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct sc__gpu *g = gpu(names[i]);
        struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, g);
        struct sc__kernel k = sc__gemm(p, NULL, SC__FP32, 8192, 8192, 8192);
        struct sc__load load = {0};
        sc__load_add(&load, &k, 100);
        double longer = sc__throttle(g, &load, 0).factor[SC__KERNEL_GEMM];
        if (longer > 1.06)
            fail_msg("%s takes %.2f times as long in a loop", g->name, longer);
    }
}

/* A GPU whose peak of one type is `times` that of its base: its time for a type over the
 * base's. */
static double
with_other_peak(const char *name, enum sc__dtype more, double times, enum sc__dtype t) {
    const struct sc__gpu *base = gpu(name);
    struct sc__gpu mine = *base;
    mine.peak[more] *= times;
    mine.gemm.peak = 0;
    sc__gpu_carry_over(&mine, base);
    return square_us(&mine, t) / square_us(base, t);
}

/* More units for one type are that type's: neither the clock nor the rate of the chip falls
 * for the others (fp16 of an L40S took 1.4 times as long beside twice the bf16), and its
 * own products are no slower, however little it is. */
static void units_of_one_type(void **state) {
    static const char *const names[] =
        {"h200", "a100-80", "l40s", "b200", "gb300", "mi300x", "rtx-4090", "rtx-5090"};
    static const enum sc__dtype others[] = {SC__FP16, SC__FP8, SC__TF32, SC__FP32};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            if (gpu(names[i])->peak[others[k]] > 0)
                near(with_other_peak(names[i], SC__BF16, 2, others[k]), 1);
        assert_true(with_other_peak(names[i], SC__BF16, 2, SC__BF16) < 0.9);
        assert_true(with_other_peak(names[i], SC__BF16, 1.001, SC__BF16) < 1.000001);
        near(with_other_peak(names[i], SC__FP16, 2, SC__BF16), 1);
        assert_true(with_other_peak(names[i], SC__FP16, 2, SC__FP16) < 0.9);
    }
}

/* No product of any type is faster than its peak: an H20 took scales of rows, which an H200
 * has factors for, at 325 of 296 TFLOP/s. */
static void products_below_their_peaks(void **state) {
    const struct sc__gpu *of[MOST_GPUS];
    (void)state;
    unsigned count = built_in(of);
    for (unsigned i = 0; i < count; i++) {
        const struct sc__gpu *g = of[i];
        struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, g);
        for (unsigned t = 0; t < SC__DTYPES; t++) {
            enum sc__dtype type = (enum sc__dtype)t;
            double most = g->peak[t] * 1e6 * 1.000001;
            if (!(most > 0))
                continue;
            struct sc__kernel one = sc__gemm(p, NULL, type, 16384, 16384, 16384);
            struct sc__kernel four = sc__gemm_grouped(p, NULL, type, 4, 8192, 8192, 8192);
            if (one.flop / one.us > most || four.flop / four.us > most)
                fail_msg("%s in %s", g->name, sc__dtype_name(type));
        }
    }
}

/* A file may say the one and not the other: at the power limit no faster than before it. */
static void clock_of_one_type(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("l40s");
    g.gemm.hot = 0.2;
    g.gemm.limit = 0;
    double like = square_us(&g, SC__BF16);
    g.dtype[SC__FP16].felt = 1.2;
    near(square_us(&g, SC__FP16), like);
    g.dtype[SC__FP16].limited = 1.5;
    assert_true(square_us(&g, SC__FP16) > 1.2 * like);
}

/* Nor does a FLOP of another type take more energy: a step in tf32 on an H200 with twice
 * the bf16 was throttled to 1.2 times its time. */
static void energy_of_one_type(void **state) {
    static const char *const names[] = {"h200", "a100-80", "b200", "mi300x"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct sc__gpu *base = gpu(names[i]);
        struct sc__gpu mine = *base;
        mine.peak[SC__BF16] *= 2;
        mine.gemm.peak = 0;
        sc__gpu_carry_over(&mine, base);
        for (unsigned t = 0; t < SC__DTYPES; t++)
            if (t != SC__BF16 && base->peak[t] > 0)
                near(sc__flop_energy(&mine, (enum sc__dtype)t),
                     sc__flop_energy(base, (enum sc__dtype)t));
    }
}

/* Before Ampere there is no bf16: a product takes as long as one of fp16. */
static void without_bf16(void **state) {
    static const char *const names[] = {"v100", "t4", "rtx-2080-ti"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct sc__gpu *g = gpu(names[i]);
        assert_true(isfinite(square_us(g, SC__BF16)));
        near(square_us(g, SC__BF16), square_us(g, SC__FP16));
        near(square_us(g, SC__FP8), square_us(g, SC__FP16));
        near(sc__gemm_batched_us(g, SC__BF16, 8, 512, 512, 64),
             sc__gemm_batched_us(g, SC__FP16, 8, 512, 512, 64));
    }
}

/* Only Hopper's tf32 takes longer with transposed operands: torch.mm of two matrices as
 * they lie, the layout of an input gradient, reaches the peak of an RTX 4090
 * (data/truth/cards_products.csv). */
static void transposed_tf32(void **state) {
    static const char *const names[] = {"a100-80", "l40s", "rtx-4090", "b200", "mi300x"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, gpu(names[i]));
        double us = sc__gemm(p, NULL, SC__TF32, 8192, 8192, 8192).us;
        near(sc__gemm_dgrad(p, NULL, SC__TF32, 8192, 8192, 8192).us, us);
        near(sc__gemm_wgrad(p, NULL, SC__TF32, 8192, 8192, 8192, false).us, us);
    }
    struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, gpu("rtx-4090"));
    double measured = 2 * pow(8192, 3) / 85.65e6;
    assert_within(sc__gemm_dgrad(p, NULL, SC__TF32, 8192, 8192, 8192).us, measured, 0.1);
}

/* A kernel whose constants count no bytes, or were fitted to operands that the cache had,
 * takes the time of its bytes at least; what fits in the cache is found there. */
static void bytes_take_time(void **state) {
    (void)state;
    const struct sc__gpu *t4 = gpu("t4");
    double bytes = 2.0 * 1024 * 50304;
    assert_within(sc__memory_op_us(t4, SC__MEM_BIAS_GRAD, SC__BF16, 1024, 50304),
                  bytes / 0.32e6,
                  0.001);
    /* 17 MB, of which the L2 of an L4 has all and its memory would take 56 us */
    near(sc__memory_op_us(gpu("l4"), SC__MEM_BIAS_GRAD, SC__BF16, 1024, 8192),
         17.75 + 0.169 * 8.192);
    /* as measured together with a product of 32 columns, 2404 us */
    const struct sc__gpu *l40s = gpu("l40s");
    double cast = sc__memory_op_us(l40s, SC__MEM_QUANTIZE_FP8, SC__BF16, 16384, 16384);
    assert_within(
        cast + sc__gemm_cost(l40s,
                             &(struct sc__kernel_key){.what = SC__KERNEL_OP_GEMM,
                                                      .dtype = SC__FP8,
                                                      .size = {16384, 32, 16384, 1}}),
        2404,
        0.2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(carried_over, open_context, close_context),
        cmocka_unit_test_setup_teardown(attention_carried_over,
                                        open_context,
                                        close_context),
        cmocka_unit_test_setup_teardown(without_fp32, open_context, close_context),
        cmocka_unit_test_setup_teardown(half_rate_as_base, open_context, close_context),
        cmocka_unit_test_setup_teardown(more_is_not_slower, open_context, close_context),
        cmocka_unit_test_setup_teardown(held_by_its_power, open_context, close_context),
        cmocka_unit_test_setup_teardown(fp32_is_not_held, open_context, close_context),
        cmocka_unit_test_setup_teardown(units_of_one_type, open_context, close_context),
        cmocka_unit_test_setup_teardown(products_below_their_peaks,
                                        open_context,
                                        close_context),
        cmocka_unit_test_setup_teardown(clock_of_one_type, open_context, close_context),
        cmocka_unit_test_setup_teardown(energy_of_one_type, open_context, close_context),
        cmocka_unit_test_setup_teardown(without_bf16, open_context, close_context),
        cmocka_unit_test_setup_teardown(transposed_tf32, open_context, close_context),
        cmocka_unit_test_setup_teardown(bytes_take_time, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
