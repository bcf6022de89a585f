/* Ranks whose experts get unequal numbers of tokens: what each has to do, and how long it
 * waits for the fullest. */
#include "stepcast/stepcast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#define MOST_CLASSES 64

struct outcome {
    double step;
    uint32_t classes;
    uint32_t ranks[MOST_CLASSES];
    double compute[MOST_CLASSES];
    double skew[MOST_CLASSES];
    double bytes[MOST_CLASSES]; /* of the exchanges */
    double exposed[MOST_CLASSES];
    double kept[MOST_CLASSES]; /* bytes of activations */
};

static struct outcome evaluate(const sc_plan *plan) {
    struct outcome out = {0};
    sc_context *ctx = sc_open();
    sc_model *model;
    sc_cluster *cluster;
    sc_result *result;
    assert_int_equal(sc_model_load(ctx, "mixtral-8x7b", &model), SC_OK);
    assert_int_equal(sc_cluster_load(ctx, "dgx-h100:16", &cluster), SC_OK);
    assert_int_equal(sc_evaluate(ctx, model, plan, cluster, NULL, &result), SC_OK);
    out.step = sc_result_step_us(result);
    out.classes = sc_result_stages(result);
    assert_true(out.classes <= MOST_CLASSES);
    for (uint32_t c = 0; c < out.classes; c++) {
        sc_breakdown parts;
        assert_int_equal(sc_result_breakdown(result, c, &parts), SC_OK);
        out.ranks[c] = parts.ranks;
        out.compute[c] = parts.compute_us;
        out.skew[c] = parts.skew_us;
        sc_memory memory;
        assert_int_equal(sc_result_memory(result, c, &memory), SC_OK);
        out.kept[c] = (double)memory.activations;
        for (uint32_t g = 0; g < sc_result_groups(result); g++) {
            sc_communication x;
            assert_int_equal(sc_result_communication(result, c, g, &x), SC_OK);
            if (strcmp(x.group, "ep") != 0)
                continue;
            out.bytes[c] = (double)x.bytes;
            out.exposed[c] = x.exposed_us;
        }
    }
    sc_result_free(result);
    sc_cluster_free(cluster);
    sc_model_free(model);
    sc_close(ctx);
    return out;
}

static sc_plan plan_of(uint32_t pp) {
    sc_plan plan = SC_PLAN_INIT;
    plan.host_launch_us = 0; /* ranks whose host is late wait elsewhere than full ones */
    plan.pp = pp;
    plan.ep = 8;
    plan.etp = 1;
    plan.seq = 4096;
    plan.global_batch = 32;
    plan.zero = 1;
    plan.ignore_memory = SC_ON;
    return plan;
}

static void near(double got, double want, double share) {
    if (fabs(got - want) > share * fabs(want))
        fail_msg("%.9g, not %.9g", got, want);
}

/* 1, and an exponent of 0, are no unequal routing at all. */
static void test_equal_is_as_it_was(void **state) {
    (void)state;
    sc_plan plan = plan_of(2);
    struct outcome plain = evaluate(&plan);
    plan.moe_imbalance = 1;
    struct outcome one = evaluate(&plan);
    assert_true(plain.step == one.step && plain.classes == 2 && one.classes == 2);
    assert_memory_equal(&plain, &one, sizeof plain);
}

/* One rank gets X times the mean, seven (8 − X)/7: bytes go by it, what is exchanged in
 * all stays the same, and who computes less waits as much longer. */
static void test_one_hot_rank(void **state) {
    (void)state;
    sc_plan plan = plan_of(1);
    double mean = evaluate(&plan).bytes[0];
    for (double x = 1.5; x < 8.5; x += 3.25) {
        plan.moe_imbalance = x;
        struct outcome o = evaluate(&plan);
        assert_int_equal(o.classes, 2);
        assert_true(o.ranks[0] == 2 && o.ranks[1] == 14);
        near(o.bytes[0], x * mean, 1e-6);
        near(o.ranks[0] * o.bytes[0] + o.ranks[1] * o.bytes[1], 16 * mean, 1e-6);
        assert_true(o.skew[0] == 0);
        near(o.skew[1], o.compute[0] - o.compute[1], 1e-9);
        near(o.exposed[1], o.exposed[0], 1e-12);
    }
}

/* Products of experts take their tokens' time: twice the surplus, twice the time. */
static void test_time_follows_tokens(void **state) {
    (void)state;
    sc_plan plan = plan_of(1);
    double even = evaluate(&plan).compute[0];
    plan.moe_imbalance = 2;
    double twice = evaluate(&plan).compute[0];
    plan.moe_imbalance = 3;
    double thrice = evaluate(&plan).compute[0];
    near((thrice - even) / (twice - even), 2, 0.05);
}

/* What is kept for backward, too: a + b·tokens, on the full rank and on the others. */
static void test_memory_follows_tokens(void **state) {
    (void)state;
    sc_plan plan = plan_of(1);
    double even = evaluate(&plan).kept[0];
    plan.moe_imbalance = 2;
    double each = evaluate(&plan).kept[0] - even;
    assert_true(each > 0.05 * even);
    for (double x = 1.5; x < 8; x += 2.5) {
        plan.moe_imbalance = x;
        struct outcome o = evaluate(&plan);
        near(o.kept[0], even + each * (x - 1), 1e-6);
        near(o.kept[1], even + each * ((8 - x) / 7 - 1), 1e-6);
    }
}

/* By a power law: as many kinds of ranks as there are ranks of ep, their tokens together
 * all there are, the fuller the longer they compute. */
static void test_power_law(void **state) {
    (void)state;
    sc_plan plan = plan_of(2);
    double mean = evaluate(&plan).bytes[0];
    plan.moe_skew = 1;
    struct outcome o = evaluate(&plan);
    double sum = 0;
    assert_int_equal(o.classes, 16); /* of each of two stages */
    for (uint32_t c = 0; c < o.classes; c++) {
        assert_int_equal(o.ranks[c], 1);
        sum += o.bytes[c];
    }
    near(sum, 16 * mean, 1e-6);
    for (uint32_t c = 1; c < 8; c++) {
        assert_true(o.compute[c] < o.compute[c - 1]);
        assert_true(o.skew[c] > o.skew[c - 1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_is_as_it_was),
        cmocka_unit_test(test_one_hot_rank),
        cmocka_unit_test(test_time_follows_tokens),
        cmocka_unit_test(test_memory_follows_tokens),
        cmocka_unit_test(test_power_law),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
