/* GEMM times against a slow search over every tile and every split. */
#include "test.h"

#include "hardware/kernel.h"

#include <math.h>
#include <string.h>

#include "hardware/kernel_model.h"
#include "hardware/kernel_table.h"
#include "kernel_checks.h"

/* ---- GEMMs by trying everything ---- */

/* One tile and one split, straight from the page that explains them. */
static double one_way(const struct sc__gpu *g,
                      double m,
                      double n,
                      double k,
                      const struct sc__gemm_tile *tile,
                      int s) {
    const struct sc__gemm_constants *c = &g->gemm;
    double count = ceil(m / tile->m) * ceil(n / tile->n);
    if (s > 1 && (count >= g->sms || k < 256 * s))
        return INFINITY;
    double area = tile->m * tile->n;
    double step = tile->step * (2 * area * 64 / c->r + c->b * (tile->m + tile->n));
    double whole = ceil(count * s / g->sms);
    double together = fmin(4, fmax(1, floor(c->resident / area)));
    if (whole > together)
        whole = together * ceil(whole / together);
    double waves = (1 - c->wave) * whole + c->wave * fmax(1, count * s / g->sms);
    double parts = c->resident > 0 ? 2 : 1;
    double steps = ceil(ceil(parts * k / 64) / s) / parts;
    double tiles = waves * (steps * step + tile->epilogue * c->te * area);
    bool odd = fmod(m, 2) > 0;
    if (odd)
        tiles *= 1 + c->odd;
    double all = 2 * (m * k + n * k + m * n);
    double found = 2 * m * k / (1 + pow(all / c->cache, 3));
    if (c->cache_b > 0)
        found += 2 * n * k / (1 + pow(all / c->cache_b, 3));
    double saved = found * (1 / c->bw - 1 / c->cache_bw);
    double out = 2 * m * n;
    double taken = c->cache_out > 0 ? 1 / (1 + pow(out / c->cache_out, 3)) : 1;
    double beyond = (1 - taken) * c->write_long * out / c->bw;
    double ramp = c->ramp > 0 ? 1 + c->ramp / (c->ramp + all) : 1;
    double read = 2 * (m * k + n * k) / c->bw - saved;
    double memory = ramp * (read + taken * c->w * out / c->bw + beyond);
    double chip = 2 * m * n * k / c->rp;
    if (c->hot_us > 0) {
        double clock = 1 + c->hot * pow(chip, 4) / (pow(chip, 4) + pow(c->hot_us, 4)) +
                       c->limit * chip * chip / (chip * chip + c->limit_us * c->limit_us);
        chip *= clock;
        tiles = pow(pow(clock * tiles, 6) + pow(chip, 6), 1.0 / 6);
        chip = 0;
    }
    double us = pow(pow(tiles, c->q) + pow(memory, c->q) + pow(chip, c->q), 1 / c->q);
    us = fmax(us, ramp * (read + taken * out / c->write + beyond)) + c->t0;
    if (s > 1)
        us += c->ts + c->split * (4 * s + 2) * m * n / c->bw + (odd ? c->split_odd : 0);
    return us;
}

static void gemms_of(const struct sc__gpu *g) {
    static const int splits[] = {1, 2, 3, 4, 6, 8, 16};
    struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, g);
    uint64_t seed = 3;
    assert_true(g->gemm.tile_count > 0 && g->gemm.cache > 0);
    for (int round = 0; round < 1000; round++) {
        uint64_t size[3];
        for (int i = 0; i < 3; i++)
            size[i] =
                8 * (1 + sc__random(&seed) % ((uint64_t)1 << (sc__random(&seed) % 12)));
        size[0] -= round & 1;
        double best = INFINITY;
        for (unsigned t = 0; t < g->gemm.tile_count; t++)
            for (int s = 0; s < 7; s++)
                best = fmin(best,
                            one_way(g,
                                    (double)size[0],
                                    (double)size[1],
                                    (double)size[2],
                                    &g->gemm.tiles[t],
                                    splits[s]));
        near(sc__gemm(p, NULL, SC__BF16, size[0], size[1], size[2]).us, best);
        near(sc__gemm_bias(p, NULL, SC__BF16, size[0], size[1], size[2]).us, 1.01 * best);
    }
}

/* Persistent kernels, several tiles at a time on an SM, odd sizes. */
static void gemms_by_brute_force(void **state) {
    (void)state;
    gemms_of(gpu("h200"));
    gemms_of(gpu("a100-80"));
    gemms_of(gpu("b200"));
    gemms_of(gpu("l40s"));
}

/* One kernel for a GEMM whose leading dimensions are no multiples of 8. */
static double one_unaligned_way(
    double m, double n, double k, const int *tile, int s, double rate, double te) {
    double count = ceil(m / tile[0]) * ceil(n / tile[1]);
    if (s > 1 && (count >= 4 * 132 || k < 256 * s))
        return INFINITY;
    double one = 2.0 * tile[0] * tile[1] * 32 * ceil(ceil(k / 32) / s) / (rate / 132) +
                 te * tile[0] * tile[1];
    const struct sc__gemm_constants *c = &gpu("h200")->gemm;
    return ceil(count * s / 132) * one + c->t0 +
           (s > 1 ? c->ts + c->split * (4 * s + 2) * m * n / c->bw : 0);
}

static double by_trying(double m, double n, double k, double rate, double te) {
    static const int shapes[][2] = {{128, 128}, {128, 256}, {256, 128}};
    static const int splits[] = {1, 2, 3, 4, 6, 8, 16};
    double best = INFINITY;
    for (int t = te > 0; t < 3; t++) /* even ones have no square tile */
        for (int s = 0; s < 7; s++)
            best = fmin(best, one_unaligned_way(m, n, k, shapes[t], splits[s], rate, te));
    return best;
}

/* Which rate: by the leading dimensions k, k, n (forward), k, n, n (input
 * gradient), m, n, n (weight gradient). m alone does not matter but there. */
static void unaligned_gemms(void **state) {
    (void)state;
    struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, gpu("h200"));
    const struct sc__unaligned_constants *u = &gpu("h200")->unaligned;
    near(sc__gemm(p, NULL, SC__BF16, 2048, 4097, 4096).us,
         by_trying(2048, 4097, 4096, u->odd_n, 0));
    near(sc__gemm(p, NULL, SC__BF16, 2048, 4097, 2050).us,
         by_trying(2048, 4097, 2050, u->odd, 0));
    near(sc__gemm(p, NULL, SC__BF16, 2048, 4096, 4097).us,
         by_trying(2048, 4096, 4097, u->odd, 0));
    near(sc__gemm_dgrad(p, NULL, SC__BF16, 2048, 4097, 4096).us,
         by_trying(2048, 4097, 4096, u->odd_dgrad, 0));
    near(sc__gemm_wgrad(p, NULL, SC__BF16, 4097, 512, 2048, false).us,
         by_trying(4097, 512, 2048, u->odd_wgrad, 0));
    near(sc__gemm(p, NULL, SC__FP16, 8192, 1028, 4090).us,
         by_trying(8192, 1028, 4090, u->even, u->te));
    /* tf32: of no multiple of 4 */
    near(sc__gemm(p, NULL, SC__TF32, 4096, 50257, 768).us,
         by_trying(4096, 50257, 768, u->tf32, 0));
    near(sc__gemm_dgrad(p, NULL, SC__TF32, 4096, 768, 50258).us,
         by_trying(4096, 768, 50258, u->tf32, 0));
    near(sc__gemm_wgrad(p, NULL, SC__TF32, 50257, 768, 4096, false).us,
         by_trying(50257, 768, 4096, u->tf32_wgrad, 0));
    double four = sc__gemm(p, NULL, SC__TF32, 2048, 4100, 4096).us;
    assert_true(four < 0.6 * sc__gemm(p, NULL, SC__TF32, 2048, 4098, 4096).us);
    double whole = sc__gemm(p, NULL, SC__BF16, 4096, 4096, 4096).us;
    assert_true(fabs(sc__gemm(p, NULL, SC__BF16, 4095, 4096, 4096).us / whole - 1) < 0.01);
    assert_true(fabs(sc__gemm_dgrad(p, NULL, SC__BF16, 4095, 4096, 4096).us / whole - 1) <
                0.01);
    assert_true(fabs(sc__gemm_wgrad(p, NULL, SC__BF16, 4096, 4096, 4095, false).us / whole -
                     1) < 0.01);
}

/* Heads of no multiple of 8, 64 products at once: as measured on an H200 with PyTorch
 * 2.11 (baddbmm and bmm in fp16, heads side by side); nothing was fitted to them. */
static void unaligned_heads(void **state) {
    (void)state;
    static const struct {
        uint64_t n;
        uint64_t k;
        double us;
    } measured[] = {{2048, 90, 509.2},
                    {2048, 108, 594.8},
                    {2048, 150, 697.1},
                    {90, 2048, 275.2},
                    {108, 2048, 269.8},
                    {150, 2048, 493.0}};
    struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, gpu("h200"));
    for (unsigned i = 0; i < 6; i++) {
        double us =
            sc__gemm_batched(p, NULL, SC__FP16, 64, 2048, measured[i].n, measured[i].k).us;
        assert_true(fabs(us / measured[i].us - 1) < 0.12);
    }
}

/* A GPU of which only the peaks of a type are known, and whose tiles wait for nothing but
 * their loads: four bytes take twice as long as two, and a FLOP of a type with a
 * twentieth of the peak twenty times the energy. */
static void wide_elements(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("a100-80");
    g.gemm.b *= 1e4;
    memset(&g.dtype[SC__FP32], 0, sizeof g.dtype[SC__FP32]);
    memset(g.batched_fallback, 0, sizeof g.batched_fallback);
    g.peak[SC__FP32] = g.peak[SC__BF16] / 20;
    struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, &g);
    struct sc__kernel narrow = sc__gemm(p, NULL, SC__BF16, 4096, 4096, 4096);
    struct sc__kernel wide = sc__gemm(p, NULL, SC__FP32, 4096, 4096, 4096);
    double slower = wide.us / narrow.us;
    if (fabs(slower - 2) > 0.01)
        fail_msg("loads of four bytes take %g times as long", slower);
    near(wide.effort / narrow.effort, 20);
}

/* Products of fp8 write bf16: where the memory is slow and there is little to read, one
 * takes as long as one of bf16, 2·m·n bytes and a hundredth of that more or less. */
static void narrow_elements(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    g.gemm.bw *= 1e-4;
    g.gemm.cache_bw *= 1e-4;
    g.gemm.write *= 1e-4;
    memset(&g.dtype[SC__FP8], 0, sizeof g.dtype[SC__FP8]);
    struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, &g);
    double wide = sc__gemm(p, NULL, SC__BF16, 8192, 8192, 64).us;
    double narrow = sc__gemm(p, NULL, SC__FP8, 8192, 8192, 64).us;
    assert_number(wide, >, 8e3); /* us: 134 MB at no more than 1e-4 of some TB/s */
    assert_within(narrow, wide, 0.02);
}

/* Products that do nothing: one of fp8 starts as late as one of bf16 and a tenth, as
 * measured on the H200. The public tables hold its sum with the cast of the input, 12 us,
 * from TRT-LLM, and of a shorter cast from vLLM: 4.2 us on the L40S, 5.1 on the B200. What
 * is left of these for the product is less than 3.4. */
static void starts_of_narrow_products(void **state) {
    (void)state;
    static const char *const names[] =
        {"h200", "h100-sxm", "h20", "b200", "b300", "gb200", "gb300", "l40s", "rtx-4090"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, gpu(names[i]));
        double wide = sc__gemm(p, NULL, SC__BF16, 16, 16, 16).us;
        double narrow = sc__gemm(p, NULL, SC__FP8, 16, 16, 16).us;
        if (!(narrow > 0 && narrow <= 1.12 * wide))
            fail_msg("%s: %g us in fp8, %g in bf16", names[i], narrow, wide);
        struct sc__kernel_key layer = {.what = SC__KERNEL_OP_GEMM,
                                       .dtype = SC__FP8,
                                       .size = {16, 16, 32, 0, 0, 0, 0, 1}};
        bool measured;
        assert_within(sc__kernel_us(p, &layer, &measured), 12.5, 0.1);
    }
}

/* Batched products by kernels of before Hopper, written out where one tile of 32x32 is
 * best; what they are computed in and what divides their sizes decides which constants. */
static void fallback_batches(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    static const double some[SC__BATCHED_FALLBACKS][SC__FALLBACK_CONSTANTS] = {
        {1024, 0.5, 0.25, 1e15, 3, 50, 0},
        {0, 0.5, 0.25, 1e15, 5, 50, 1},
        {2048, 0, 0.25, 1, 7, 50, 0},
        {0, 0.5, 0.25, 1e15, 9, 50, 0},
        {0, 0, 0.25, 1, 11, 50, 0}};
    memcpy(g.batched_fallback, some, sizeof some);
    double area = 0.25 * 32 * 32;
    /* 10 deep: two steps of 8, each element of k 2 us of products and half a us of loads */
    near(sc__gemm_batched_us(&g, SC__FP32, 132, 30, 32, 10), 3 + 16 * (2 + 0.5) + area);
    near(sc__gemm_batched_us(&g, SC__FP32, 133, 30, 32, 10), 3 + 2 * (16 * 2.5 + area));
    /* tf32 in steps of 32, a wave and a half counts as it is */
    near(sc__gemm_batched_us(&g, SC__TF32, 198, 32, 32, 12), 5 + 1.5 * (16 + area));
    /* no multiple of 4: here the memory, 4 bytes an element */
    near(sc__gemm_batched_us(&g, SC__TF32, 8, 30, 30, 10), 7 + 4.0 * 8 * (300 + 300 + 900));
    /* a GPU without tf32 computes it in fp32; without constants the older form */
    g.peak[SC__TF32] = 0;
    near(sc__gemm_batched_us(&g, SC__TF32, 132, 32, 32, 8), 3 + 8 * 2.5 + area);
    /* bf16 of even sizes in steps of 32, of odd ones the memory, 2 bytes an element */
    near(sc__gemm_batched_us(&g, SC__BF16, 132, 30, 32, 12), 9 + 32 * 0.5 + area);
    near(sc__gemm_batched_us(&g, SC__FP16, 8, 31, 30, 10),
         11 + 2.0 * 8 * (310 + 300 + 930));
    double bf16 = sc__gemm_batched_us(gpu("h200"), SC__BF16, 64, 512, 512, 64);
    near(sc__gemm_batched_us(&g, SC__BF16, 64, 512, 512, 64), bf16);
}

static double accumulated_us(const struct sc__gpu *g, uint64_t k) {
    struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, g);
    return sc__gemm_wgrad(p, NULL, SC__BF16, 4096, 4096, k, true).us -
           sc__gemm_wgrad(p, NULL, SC__BF16, 4096, 4096, k, false).us;
}

/* Adding to an fp32 buffer in the epilogue: the shorter k the more, but no more than the
 * kernel that does it apart (481.96 us for 16384 x 8192 on an H200). */
static void accumulated_products(void **state) {
    (void)state;
    const struct sc__gpu *g = gpu("h200");
    double apart = sc__memory_op_us(g, SC__MEM_ACCUMULATE_FP32, SC__BF16, 4096, 4096);
    near(accumulated_us(g, 2048), (0.5036 + 1630 / 2048.0) * 4096 * 4096e-6);
    near(accumulated_us(g, 128), apart);
    assert_within(apart, 481.96 / 8, 0.02);
}

/* A GPU whose products take as long as their operands take to be read: 1 us for a MB, from
 * the cache nothing. */
static struct sc__gpu reader(void) {
    struct sc__gpu g = *gpu("h200");
    g.l2 = 100e6 / 1.048576;
    g.gemm = (struct sc__gemm_constants){.r = 1e30,
                                         .rp = 1e30,
                                         .bw = 1e6,
                                         .write = 1e30,
                                         .cache_bw = 1e30,
                                         .q = 4};
    return g;
}

static double row_us(const struct sc__gpu *g, uint64_t n, uint64_t k, bool filled) {
    struct sc__kernel_row row = {.key = {.what = SC__KERNEL_OP_GEMM, .dtype = SC__BF16},
                                 .layers = 5,
                                 .filled = filled};
    row.key.size[0] = 1;
    row.key.size[1] = n;
    row.key.size[2] = k;
    row.key.size[3] = 1;
    return sc__kernel_row_us(g, &row);
}

/* Layers in turn whose replay takes 3 us more: five of them, or as many as 100 MB hold. */
static void layers_of_a_replay(void **state) {
    (void)state;
    struct sc__gpu g = reader();
    double small = 2 * (4e6 + 2000) / 1e6; /* us of weights of 8 MB and their input */
    near(row_us(&g, 2000, 2000, true), small);
    g.gemm.replay = 3;
    near(row_us(&g, 2000, 2000, true), small + 3.0 / 5);
    near(row_us(&g, 4000, 4000, true), 2 * (16e6 + 4000) / 1e6 + 3.0 / 4);
    near(row_us(&g, 4000, 4000, false), 2 * (16e6 + 4000) / 1e6 + 3.0 / 5);
    near(row_us(&g, 8000, 8000, true), 2 * (64e6 + 8000) / 1e6 + 3);
}

/* Of weights that are read again after those of four others half is found where all of
 * them, the input and the output just fit. */
static void layers_that_stay_in_the_cache(void **state) {
    (void)state;
    struct sc__gpu g = reader();
    double all = 2 * (4e6 + 2000 + 2000);
    g.gemm.replay = 3;
    g.gemm.cache = all + 4 * 8e6;
    double input = 4000 * (1 - 1 / (1 + pow(all / g.gemm.cache, 3)));
    near(row_us(&g, 2000, 2000, true), (8e6 / 2 + input) / 1e6 + 3.0 / 5);
    /* a tenth more passes: of the weights 1/(1 + 1.1^12) is found, with a sharp edge
     * nothing */
    g.gemm.cache /= 1.1;
    input = 4000 * (1 - 1 / (1 + pow(all / g.gemm.cache, 3)));
    near(row_us(&g, 2000, 2000, true),
         (8e6 * (1 - 1 / (1 + pow(1.1, 12))) + input) / 1e6 + 3.0 / 5);
    g.gemm.edge = 1e3;
    near(row_us(&g, 2000, 2000, true), (8e6 + input) / 1e6 + 3.0 / 5);
    /* a kernel alone finds none of its weights */
    struct sc__kernel_key key = {.what = SC__KERNEL_OP_GEMM, .dtype = SC__BF16};
    memcpy(key.size, (uint64_t[]){1, 2000, 2000, 1}, 4 * sizeof *key.size);
    near(sc__kernel_cost(&g, &key), (8e6 + input) / 1e6);
}

/* The end of a replay is seen on a grid of 2 us, half a us late; how long the kernels take
 * is known to 5 %. */
static void ticks_of_a_replay(void **state) {
    (void)state;
    struct sc__gpu g = reader();
    g.gemm.replay = 1;
    g.gemm.tick = 2;
    g.gemm.tick_start = 0.5;
    double kernels = 2 * (64e6 + 8000) / 1e6; /* one layer: 128.016 us */
    g.gemm.bw *= kernels / 6;                 /* 6 and 1 of the replay: the end is 8 */
    near(row_us(&g, 8000, 8000, true), 8 + 0.5);
    g.gemm.replay = 2; /* at 8 it is seen at 8 or at 10 */
    near(row_us(&g, 8000, 8000, true), 9 + 0.5);
    g.gemm.replay = 94; /* from 95 to 105, half a tick late in the mean */
    near(row_us(&g, 8000, 8000, true), 101 + 0.5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gemms_by_brute_force, open_context, close_context),
        cmocka_unit_test_setup_teardown(narrow_elements, open_context, close_context),
        cmocka_unit_test_setup_teardown(starts_of_narrow_products,
                                        open_context,
                                        close_context),
        cmocka_unit_test_setup_teardown(wide_elements, open_context, close_context),
        cmocka_unit_test_setup_teardown(unaligned_gemms, open_context, close_context),
        cmocka_unit_test_setup_teardown(unaligned_heads, open_context, close_context),
        cmocka_unit_test_setup_teardown(fallback_batches, open_context, close_context),
        cmocka_unit_test_setup_teardown(accumulated_products, open_context, close_context),
        cmocka_unit_test_setup_teardown(layers_of_a_replay, open_context, close_context),
        cmocka_unit_test_setup_teardown(layers_that_stay_in_the_cache,
                                        open_context,
                                        close_context),
        cmocka_unit_test_setup_teardown(ticks_of_a_replay, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
