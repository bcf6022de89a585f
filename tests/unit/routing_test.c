/* routing: the fullest rank of experts that are wanted unequally, against closed forms
 * and against all orders of a few experts. */
#include "plan/routing.h"

#include "base/arena.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "plan_text.h"

static double fullest(uint32_t experts, uint32_t topk, uint32_t ep, double exponent) {
    struct sc__arena arena;
    sc__arena_init(&arena);
    double x = *sc__routing_loads(&arena, experts, topk, ep, exponent);
    sc__arena_free(&arena);
    return x;
}

static void near(double got, double want, double share) {
    if (fabs(got / want - 1) > share)
        fail_msg("%.6g, not %.6g", got, want);
}

/* A rank for every expert: the most wanted one decides, 1 of 1 + 1/2 + 1/3 + 1/4. */
static void test_a_rank_for_every_expert(void **state) {
    (void)state;
    near(fullest(4, 1, 4, 1), 4 / (1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0), 1e-12);
    near(fullest(8, 2, 8, 0), 1, 1e-12);
    /* two that every token takes, and nothing for the others */
    near(fullest(8, 2, 8, 20), 4, 1e-5);
    /* 1, then one of shares 1/4 and 1/9: the first is not taken twice */
    near(fullest(3, 2, 3, 2), 1.5, 1e-12);
}

static void test_nothing_to_spread(void **state) {
    (void)state;
    near(fullest(64, 6, 1, 1.5), 1, 1e-12);
    near(fullest(64, 6, 8, 0), 1, 1e-12);
    near(fullest(16, 16, 4, 3), 1, 1e-9);
}

static void swap(double *a, double *b) {
    double kept = *a;
    *a = *b;
    *b = kept;
}

/* Sum over all orders of p[at …] of the largest sum of neighbours. */
static double
over_orders(double *p, unsigned count, unsigned at, unsigned each, double *orders) {
    if (at < count) {
        double sum = 0;
        for (unsigned i = at; i < count; i++) {
            swap(&p[at], &p[i]);
            sum += over_orders(p, count, at + 1, each, orders);
            swap(&p[at], &p[i]);
        }
        return sum;
    }
    double most = 0;
    for (unsigned i = 0; i < count; i += each) {
        double sum = 0;
        for (unsigned k = 0; k < each; k++)
            sum += p[i + k];
        most = fmax(most, sum);
    }
    *orders += 1;
    return most;
}

static void test_all_orders(void **state) {
    (void)state;
    for (unsigned ep = 2; ep <= 4; ep += 2)
        for (double exponent = 0.5; exponent < 2; exponent += 0.5) {
            double p[8];
            double sum = 0;
            double orders = 0;
            for (unsigned i = 0; i < 8; i++)
                sum += p[i] = pow(i + 1, -exponent);
            for (unsigned i = 0; i < 8; i++)
                p[i] /= sum; /* a token takes one */
            double want = over_orders(p, 8, 0, 8 / ep, &orders) / orders * ep;
            near(fullest(8, 1, ep, exponent), want, 0.015);
        }
}

static void test_steeper_is_fuller(void **state) {
    (void)state;
    double last = 1;
    for (double exponent = 0.1; exponent < 3; exponent += 0.1) {
        double now = fullest(128, 8, 16, exponent);
        assert_true(now > last && now <= 16);
        last = now;
    }
}

static void
loads_of(double *out, uint32_t experts, uint32_t topk, uint32_t ep, double exponent) {
    struct sc__arena arena;
    sc__arena_init(&arena);
    const double *loads = sc__routing_loads(&arena, experts, topk, ep, exponent);
    for (uint32_t r = 0; r < ep; r++)
        out[r] = loads[r];
    sc__arena_free(&arena);
}

/* What one rank gets more the others get less; of two ranks the emptiest is the rest. */
static void test_sums_conserve(void **state) {
    static const uint32_t shapes[][3] = {{8, 2, 8}, {64, 6, 8}, {256, 8, 64}, {128, 1, 32}};
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        for (double exponent = 0; exponent < 3; exponent += 0.7) {
            double loads[64];
            struct sc__routing levels;
            uint32_t ep = shapes[i][2];
            double sum = 0;
            double by_level = 0;
            uint32_t ranks = 0;
            loads_of(loads, shapes[i][0], shapes[i][1], ep, exponent);
            for (uint32_t r = 0; r < ep; r++) {
                sum += loads[r];
                assert_true(r == 0 || loads[r] <= loads[r - 1]);
            }
            near(sum, ep, 1e-9);
            sc__routing_levels(loads, ep, &levels);
            assert_true(levels.ranks[0] == 1 && levels.load[0] == loads[0]);
            for (uint32_t v = 0; v < levels.levels; v++) {
                by_level += levels.ranks[v] * levels.load[v];
                ranks += levels.ranks[v];
            }
            near(by_level, ep, 1e-6);
            assert_int_equal(ranks, ep);
        }
    double two[2];
    loads_of(two, 8, 1, 2, 1);
    near(two[1], 2 - two[0], 1e-9);
}

/* Of as many ranks as experts the r-th is taken by 1/r of what the first is. */
static void test_second_and_later(void **state) {
    double loads[8];
    (void)state;
    loads_of(loads, 8, 1, 8, 1);
    for (unsigned r = 0; r < 8; r++)
        near(loads[r], loads[0] / (r + 1), 1e-12);
}

/* A rank with three times the mean leaves 5 of 8 parts to seven; a capacity cuts it, and
 * what is over is dropped. */
static void test_one_full_rank(void **state) {
    static const char text[] = "model mixtral-8x7b;ep 8;etp 1;gpus 8;global-batch "
                               "8;moe-imbalance 3";
    static const char capped[] = "model mixtral-8x7b;ep 8;etp 1;gpus 8;global-batch "
                                 "8;moe-imbalance 3;moe-expert-capacity-factor 1.5";
    struct sc_context *ctx = sc_open();
    struct sc__model m;
    struct sc__plan p;
    (void)state;
    assert_int_equal(plan_of(ctx, text, &m, &p), SC_OK);
    assert_true(p.routing.levels == 2 && p.routing.ranks[0] == 1 &&
                p.routing.ranks[1] == 7);
    near(p.routing.load[0], 3, 1e-12);
    near(p.routing.load[1], 5 / 7.0, 1e-12);
    assert_int_equal(plan_of(ctx, capped, &m, &p), SC_OK);
    near(p.imbalance, 1.5, 1e-12);
    near(p.routing.load[0], 1.5, 1e-12);
    near(p.routing.load[1], 5 / 7.0, 1e-12);
    sc_close(ctx);
}

/* Fifteen ranks beside the fullest in seven bins: three of the first, two of the others,
 * each with its mean. */
static void test_levels_are_means(void **state) {
    double loads[16];
    struct sc__routing levels;
    (void)state;
    for (unsigned r = 0; r < 16; r++)
        loads[r] = (31.0 - 2 * r) / 16;
    sc__routing_levels(loads, 16, &levels);
    assert_int_equal(levels.levels, 8);
    near(levels.load[1], loads[2], 1e-12);
    for (unsigned v = 2; v < 8; v++)
        near(levels.load[v], (loads[2 * v] + loads[2 * v + 1]) / 2, 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_rank_for_every_expert),
        cmocka_unit_test(test_nothing_to_spread),
        cmocka_unit_test(test_all_orders),
        cmocka_unit_test(test_steeper_is_fuller),
        cmocka_unit_test(test_sums_conserve),
        cmocka_unit_test(test_second_and_later),
        cmocka_unit_test(test_one_full_rank),
        cmocka_unit_test(test_levels_are_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
