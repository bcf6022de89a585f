/* Dispatch and combine of experts: the formula written out, limits, and the public
 * table where it is. */
#include "test.h"

#include "hardware/expert_exchange.h"
#include "hardware/gpu_fit.h"
#include "hardware/kernel_model.h"

#include <math.h>
#include <stdlib.h>

#include "kernel_checks.h"

/* Two GPUs, top 1 of even odds: half of the tokens go to each, one copy each. */
static void closed_form(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    g.exchange[SC__EXCHANGE_DISPATCH] = (struct sc__exchange_constants){.fixed = 3,
                                                                        .expert = 0.5,
                                                                        .row = 2,
                                                                        .sm_bw = 100,
                                                                        .sm_power = 1,
                                                                        .link_bw = 50,
                                                                        .sharpness = 1};
    struct sc__exchange_load one =
        {.tokens = 10, .hidden = 25, .topk = 1, .experts = 4, .sms = 5, .ranks = 2};
    /* 10 rows of 50 B: 0.5 * 4 + 3 + 10 (2 + 50/100)/5 + 500/50 */
    near(sc__exchange_us(&g, SC__EXCHANGE_DISPATCH, &one), 2 + 3 + 5 + 10);
    one.topk = 2; /* 1 - 1/4 of two GPUs: 1.5 copies */
    near(sc__exchange_us(&g, SC__EXCHANGE_DISPATCH, &one), 2 + 3 + 1.5 * 15);
    g.exchange[SC__EXCHANGE_COMBINE_LL] = g.exchange[SC__EXCHANGE_DISPATCH];
    /* low latency: a copy for each expert, and no choice of SMs */
    near(sc__exchange_us(&g, SC__EXCHANGE_COMBINE_LL, &one), 2 + 3 + 20 * 2.5 + 20);
    g.exchange[SC__EXCHANGE_DISPATCH].sharpness = 2;
    near(sc__exchange_us(&g, SC__EXCHANGE_DISPATCH, &one), 2 + hypot(3, 22.5));
    one.tokens = 0;
    near(sc__exchange_us(&g, SC__EXCHANGE_DISPATCH, &one), 0);
}

/* Constants all twenty times too slow, times and rates: the fit first brings the median
 * right, and all of them with it; by steps alone few rows would not get there. */
static void fit_from_afar(void **state) {
    (void)state;
    const struct sc__gpu *g = gpu("h200");
    struct sc__gpu off = *g;
    struct sc__exchange_constants *c = &off.exchange[SC__EXCHANGE_DISPATCH];
    struct sc__kernel_table table = {0};
    struct sc__gpu_fit fit;
    for (uint64_t tokens = 64; tokens <= 8192; tokens *= 2)
        for (uint64_t sms = 8; sms <= 32; sms *= 2) {
            struct sc__kernel_row row = {
                .key = {.what = SC__KERNEL_OP_EXCHANGE,
                        .dtype = SC__BF16,
                        .size = {tokens, 7168, 8, 256, sms, SC__EXCHANGE_DISPATCH}}};
            row.us = sc__kernel_cost(g, &row.key);
            assert_true(row.us > 0);
            *SC__PUSH(&ctx->arena, table.rows, table.count, table.capacity) = row;
        }
    c->fixed *= 20;
    c->expert *= 20;
    c->row *= 20;
    c->sm_bw /= 20;
    c->link_bw /= 20;
    sc__gpu_fit(ctx, &off, &table, false, &fit);
    assert_int_equal(fit.count, 1);
    assert_within(fit.groups[0].before, 1900, 1e-6);
    assert_number(fit.groups[0].after, <, 0.01);
}

/* More of anything but SMs never takes less; a GPU without links has no such kernels. */
static void monotonous(void **state) {
    (void)state;
    static const char *const names[] =
        {"h100-sxm", "h200", "b200", "b300", "gb200", "gb300"};
    for (unsigned i = 0; i < 6; i++)
        for (unsigned kind = 0; kind < SC__EXCHANGES; kind++) {
            struct sc__exchange_load load = {.tokens = 1,
                                             .hidden = 7168,
                                             .topk = 8,
                                             .experts = 256,
                                             .sms = 24};
            double before = 0;
            for (; load.tokens <= 65536; load.tokens *= 2) {
                double us = sc__exchange_us(gpu(names[i]), kind, &load);
                assert_true(us > before);
                before = us;
            }
            load.sms = 12;
            assert_true(sc__exchange_us(gpu(names[i]), kind, &load) >= before);
            load.topk = 4;
            assert_true(sc__exchange_us(gpu(names[i]), kind, &load) > 0);
        }
    struct sc__exchange_load load = {.tokens = 64,
                                     .hidden = 4096,
                                     .topk = 2,
                                     .experts = 8,
                                     .sms = 8};
    near(sc__exchange_us(gpu("l40s"), SC__EXCHANGE_DISPATCH, &load), 0);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* deepep_normal.csv: gpu, framework, version, nodes, hidden, tokens, topk, experts,
 * SMs, dispatch, notify, SMs, combine, notify. */
static void public_table(void **state) {
    (void)state;
    FILE *f = fopen(shared_path("calibration/kernels/deepep_normal.csv"), "r");
    static double errors[2][8192];
    unsigned count = 0;
    char line[512];
    char name[32];
    assert_non_null(f);
    const struct sc__gpu *g = gpu("h200");
    while (fgets(line, sizeof line, f)) {
        struct sc__exchange_load load = {0};
        double dispatch;
        double combine;
        if (sscanf(line,
                   "%31[^,],%*[^,],%*[^,],%*[^,],%lf,%lf,%lf,%lf,%lf,%lf,%*[^,],%*[^,],%lf",
                   name,
                   &load.hidden,
                   &load.tokens,
                   &load.topk,
                   &load.experts,
                   &load.sms,
                   &dispatch,
                   &combine) != 8 ||
            strcmp(name, "h200_sxm"))
            continue;
        errors[0][count] =
            fabs(sc__exchange_us(g, SC__EXCHANGE_DISPATCH, &load) / dispatch - 1);
        errors[1][count] =
            fabs(sc__exchange_us(g, SC__EXCHANGE_COMBINE, &load) / combine - 1);
        count++;
    }
    fclose(f);
    assert_true(count > 1000);
    for (unsigned i = 0; i < 2; i++) {
        qsort(errors[i], count, sizeof errors[i][0], by_size);
        printf("%s: median error %.1f %%\n",
               i ? "combine" : "dispatch",
               100 * errors[i][count / 2]);
        assert_true(errors[i][count / 2] < 0.08);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(closed_form, open_context, close_context),
        cmocka_unit_test_setup_teardown(fit_from_afar, open_context, close_context),
        cmocka_unit_test_setup_teardown(monotonous, open_context, close_context),
        cmocka_unit_test_setup_teardown(public_table, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
