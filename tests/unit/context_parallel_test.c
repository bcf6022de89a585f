/* What context parallelism sends, by closed forms: Megatron's ring, a gather, Ulysses, and
 * PyTorch's own with repeated heads and gradients in fp32. */
#include "stepcast/stepcast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Eight layers with 16 heads of 64 and 4 of keys and values. */
enum { LAYERS = 8, HEADS = 16, KV_HEADS = 4, SIZE = 64, SEQ = 8192, MICRO_BATCHES = 2 };

struct sent {
    double bytes;
    double exposed;
    double step;
};

static struct sent
evaluate(sc_cp_comm comm, uint32_t cp, uint32_t tp, bool torch, sc_fusion fusion) {
    static const sc_setting shape[] = {{"num-layers", "8"},
                                       {"hidden-size", "1024"},
                                       {"num-attention-heads", "16"},
                                       {"num-query-groups", "4"},
                                       {"group-query-attention", ""},
                                       {"ffn-hidden-size", "4096"},
                                       {"position-embedding-type", "rope"},
                                       {"vocab-size", "32000"}};
    sc_plan plan = SC_PLAN_INIT;
    struct sent out = {0};
    sc_context *ctx = sc_open();
    sc_model *model;
    sc_cluster *cluster;
    sc_result *result;
    plan.gpus = cp * tp;
    plan.cp = cp;
    plan.tp = tp;
    plan.seq = SEQ;
    plan.global_batch = MICRO_BATCHES;
    plan.cp_comm = comm;
    plan.host_launch_us = 0;
    plan.fusion = fusion;
    plan.torch_fsdp2 = torch ? SC_ON : SC_OFF;
    plan.zero = torch ? 3 : 0;
    assert_int_equal(sc_model_build(ctx, shape, 8, &model), SC_OK);
    assert_int_equal(sc_cluster_load(ctx, "dgx-h100", &cluster), SC_OK);
    if (sc_evaluate(ctx, model, &plan, cluster, NULL, &result) != SC_OK)
        fail_msg("%s", sc_error_text(ctx));
    out.step = sc_result_step_us(result);
    for (uint32_t g = 0; g < sc_result_groups(result); g++) {
        sc_communication c;
        assert_int_equal(sc_result_communication(result, 0, g, &c), SC_OK);
        if (strcmp(c.group, "cp") != 0)
            continue;
        out.bytes = (double)c.bytes;
        out.exposed = c.exposed_us;
    }
    sc_result_free(result);
    sc_cluster_free(cluster);
    sc_model_free(model);
    sc_close(ctx);
    return out;
}

static void near(double is, double wanted) {
    if (!(fabs(is / wanted - 1) <= 1e-6))
        fail_msg("%.9g is not %.9g", is, wanted);
}

/* Of one layer and micro-batch: keys and values in two bytes. */
static double keys_and_values(double heads) {
    return 2.0 * heads * SIZE * SEQ * 2;
}

static const double times = LAYERS * MICRO_BATCHES;

/* Keys and values forward and backward, and their gradients. */
static void ring_and_gather(void **state) {
    (void)state;
    for (uint32_t cp = 2; cp <= 8; cp *= 2) {
        struct sent ring = evaluate(SC_CP_COMM_P2P, cp, 1, false, 0);
        struct sent gather = evaluate(SC_CP_COMM_ALL_GATHER, cp, 1, false, 0);
        near(ring.bytes, times * 3 * keys_and_values(KV_HEADS));
        near(gather.bytes, times * 3 * keys_and_values(KV_HEADS));
        assert_true(ring.exposed < gather.exposed); /* it has the core to hide behind */
    }
    near(evaluate(SC_CP_COMM_P2P, 2, 2, false, 0).bytes,
         times * 3 * keys_and_values(KV_HEADS) / 2);
}

/* Queries, keys and values one way and the output back, a cp-th of the sequence each. */
static void heads_for_tokens(void **state) {
    (void)state;
    for (uint32_t cp = 2; cp <= 4; cp *= 2)
        near(evaluate(SC_CP_COMM_ALL_TO_ALL, cp, 1, false, 0).bytes,
             times * 2 * (2.0 * HEADS + 2.0 * KV_HEADS) * SIZE * SEQ * 2 / cp);
}

/* Repeated for all heads; the gradients of a rank's part, of four bytes, go to the next
 * rank cp times. */
static void torch_sends_more(void **state) {
    (void)state;
    for (uint32_t cp = 2; cp <= 8; cp *= 2) {
        double kv = keys_and_values(HEADS);
        double wanted = times * (2 * kv + cp * (2 * kv / cp));
        near(evaluate(SC_CP_COMM_ALL_GATHER, cp, 1, true, 0).bytes, wanted);
        near(evaluate(SC_CP_COMM_P2P, cp, 1, true, 0).bytes, wanted);
        near(evaluate(SC_CP_COMM_ALL_GATHER, cp, 1, true, SC_FUSION_EAGER).bytes, wanted);
    }
}

/* Operator by operator most of it hides; compiled, nothing does. */
static void torch_waits_when_compiled(void **state) {
    (void)state;
    struct sent compiled = evaluate(SC_CP_COMM_ALL_GATHER, 4, 1, true, 0);
    struct sent gather = evaluate(SC_CP_COMM_ALL_GATHER, 4, 1, true, SC_FUSION_EAGER);
    struct sent ring = evaluate(SC_CP_COMM_P2P, 4, 1, true, SC_FUSION_EAGER);
    assert_true(ring.exposed < gather.exposed);
    assert_true(gather.exposed < 0.8 * compiled.exposed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_and_gather),
        cmocka_unit_test(heads_for_tokens),
        cmocka_unit_test(torch_sends_more),
        cmocka_unit_test(torch_waits_when_compiled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
