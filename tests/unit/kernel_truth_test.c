/* The kernel model against the kernels measured on an H200 that are part of the
 * repository: short and unaligned GEMMs, attention of all head sizes. */
#include "test.h"

#include "hardware/gpu_fit.h"

#include <math.h>

#include "context.h"

static const char newer[] = "data/truth/h200_kernels.csv",
                  older[] = "data/truth/kernels-h200.csv";

static const struct sc__gpu *h200(void) {
    const struct sc__gpu *g;
    if (sc__gpu_find(ctx, "h200", &g) != SC_OK)
        fail_msg("%s", sc_error_text(ctx));
    return g;
}

static void read_rows(const char *path, struct sc__kernel_table *out) {
    if (access(path, R_OK))
        skip();
    assert_int_equal(sc__kernel_table_read(ctx, path, out), SC_OK);
}

/* ---- errors of the constants as they are ---- */

enum class { SHORT, UNALIGNED, WIDE_FORWARD, WIDE_BACKWARD, FORWARD, BACKWARD, CLASSES };

static enum class class_of(const struct sc__kernel_key *k) {
    if (k->what == SC__PRICED_GEMM) return ((k->size[0] | k->size[1] | k->size[2]) & 7)
        ? UNALIGNED
        : SHORT;
    bool wide = k->size[5] > 128, forward = k->what == SC__PRICED_ATTENTION_F;
    return wide      ? (forward ? WIDE_FORWARD : WIDE_BACKWARD)
           : forward ? FORWARD
                     : BACKWARD;
}

/* The bounds are what constants fitted to one half of the shapes reach on the
 * other (half_of_the_shapes below; short GEMMs: the worst of ten draws),
 * rounded up. */
static void errors_by_class(void **state) {
    static const struct {
        const char *name;
        int rows;
        double mean;
        double worst;
    } bounds[CLASSES] = {[SHORT] = {"GEMMs, short", 294, 4.8, 40},
                         [UNALIGNED] = {"GEMMs, unaligned", 168, 6.5, 40},
                         [WIDE_FORWARD] = {"attention, wide, forward", 97, 2.5, 10},
                         [WIDE_BACKWARD] = {"attention, wide, backward", 97, 3, 15},
                         [FORWARD] = {"attention, forward", 99, 2.5, 12},
                         [BACKWARD] = {"attention, backward", 99, 2.5, 15}};
    struct sc__kernel_table table = {0};
    double sum[CLASSES] = {0};
    double worst[CLASSES] = {0};
    int count[CLASSES] = {0};
    (void)state;
    read_rows(newer, &table);
    for (uint32_t i = 0; i < table.count; i++) {
        const struct sc__kernel_row *r = &table.rows[i];
        enum class c = class_of(&r->key);
        double error = 100 * fabs(sc__kernel_price(h200(), &r->key) / r->us - 1);
        sum[c] += error, worst[c] = fmax(worst[c], error), count[c]++;
    }
    for (int c = 0; c < CLASSES; c++) {
        double mean = sum[c] / count[c];
        printf("%-26s %3d rows, mean error %.2f %%, worst %.1f %%\n",
               bounds[c].name,
               count[c],
               mean,
               worst[c]);
        assert_int_equal(count[c], bounds[c].rows);
        assert_true(mean <= bounds[c].mean && worst[c] <= bounds[c].worst);
    }
}

/* ---- constants far off, fitted to one half ---- */

static void detune(struct sc__gpu *g) {
    for (unsigned i = 0; i < SC__HEAD_CLASSES; i++) {
        struct sc__attention_constants *a = &g->attention[i];
        for (unsigned k = 0; k < 4; k++)
            a->forward[k] *= 1.4, a->backward[k] *= 0.7;
        a->whole *= 1.1;
    }
    g->unaligned.even *= 1.3, g->unaligned.odd *= 0.7, g->unaligned.odd_n *= 1.2,
        g->unaligned.te *= 1.5;
    g->unaligned.odd_dgrad *= 0.8, g->unaligned.odd_wgrad *= 1.3;
}

/* The half that was left out may be worse by 1.5 points. */
static void half_of_the_shapes(void **state) {
    struct sc__kernel_table both = {0};
    struct sc__kernel_table table = {0};
    struct sc__gpu off = *h200();
    struct sc__gpu_fit fit;
    (void)state;
    read_rows(newer, &both);
    read_rows(older, &both);
    for (uint32_t i = 0; i < both.count; i++) {
        const struct sc__kernel_key *k = &both.rows[i].key;
        if (k->what == SC__PRICED_ATTENTION_F || k->what == SC__PRICED_ATTENTION_B ||
            sc__gemm_unaligned(k))
            *SC__PUSH(&ctx->arena, table.rows, table.count, table.capacity) = both.rows[i];
    }
    detune(&off);
    sc__gpu_fit(ctx, &off, &table, &fit);
    assert_int_equal(fit.count, 11);
    for (uint32_t i = 0; i < fit.count; i++) {
        const struct sc__fit_group *g = &fit.groups[i];
        printf("%-26s %3u rows, before %4.1f, after %.2f, left out %.2f %%\n",
               g->name,
               g->rows,
               g->before,
               g->after,
               g->held_out);
        assert_true(g->before > 10 && g->held_out > 0 && g->held_out <= g->after + 1.5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(errors_by_class, open_context, close_context),
        cmocka_unit_test_setup_teardown(half_of_the_shapes, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
