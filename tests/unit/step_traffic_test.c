/* What a step sends where plans do more than reduce gradients: updated weights beside
 * forward, copies of the model, pieces of messages, experts that are cut; and what its
 * update takes. */
#include "lower/step_blocks.h"
#include "lower/step_scripts.h"
#include "opened.h"
#include "traffic.h"

enum { LAYERS = 8, HIDDEN = 512, VOCAB = 1024, SEQ = 256 };
#define SHAPE "num-layers 8;hidden-size 512;num-attention-heads 8;vocab-size 1024;seq 256;"
static const double act = 2.0 * SEQ * HIDDEN; /* of a micro-batch of one sequence */
/* 12·h² + 13·h a layer, embedding, positions and the last norm */
static const double parameters =
    LAYERS * (12.0 * HIDDEN * HIDDEN + 13.0 * HIDDEN) + (VOCAB + SEQ + 2.0) * HIDDEN;

static struct traffic of(void **state, const char *shape, const char *rest) {
    struct sc__model m;
    struct sc__plan p;
    char text[512];
    snprintf(text, sizeof text, "%s%s", shape, rest);
    return lower(*state, text, &m, &p);
}

/* ZeRO 1: once a step, in the type of the weights, however many micro-batches there are;
 * of a model with adapters, those alone: 16·(in + out) of queries and of values. */
static void updated_weights(void **state) {
    const double adapters = LAYERS * 2 * 16.0 * (HIDDEN + HIDDEN);
    const struct {
        const char *options;
        double bytes;
    } cases[] = {{"global-batch 8", 2 * parameters},
                 {"global-batch 32", 2 * parameters},
                 {"global-batch 32;dtype fp32", 4 * parameters},
                 {"global-batch 32;lora 16", 2 * adapters}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned beside = 0; beside < 2; beside++) {
            char rest[128];
            snprintf(rest,
                     sizeof rest,
                     "dp 4;zero 1;overlap-param %s;%s",
                     beside ? "yes" : "no",
                     cases[i].options);
            struct traffic t = of(state, SHAPE, rest);
            assert_within(t.bytes[SC__GROUP_DP_CP][SC__ALLGATHER], cases[i].bytes, 1e-6);
        }
}

/* Weights kept in fp8 are gathered so, but for those of embedding and head, whose products
 * are wide, and of layers that stay wide. */
static void narrow_weights(void **state) {
    const double layer = 12.0 * HIDDEN * HIDDEN + 13.0 * HIDDEN;
    const struct {
        const char *options;
        double bytes;
    } cases[] = {
        {"zero 1", 2 * parameters - LAYERS * layer},
        {"zero 1;overlap-param yes", 2 * parameters - LAYERS * layer},
        {"zero 1;num-layers-at-start-in-bf16 1", 2 * parameters - (LAYERS - 1) * layer},
        {"zero 3;reshard-after-forward no", 2 * parameters - LAYERS * layer},
        {"zero 3;reshard-after-forward no;num-layers-at-end-in-bf16 2",
         2 * parameters - (LAYERS - 2) * layer},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char rest[128];
        snprintf(rest,
                 sizeof rest,
                 "dp 4;global-batch 4;fp8;fp8-param-gather;%s",
                 cases[i].options);
        struct traffic t = of(state, SHAPE, rest);
        assert_within(t.bytes[SC__GROUP_DP_CP][SC__ALLGATHER], cases[i].bytes, 1e-6);
    }
}

/* ZeRO 2 keeps weights whole and gathers the adapters alone; where weights are given back
 * (FSDP2) and with ZeRO 3 all are gathered, the frozen ones of layers as they are kept: in
 * 4.127 bits, embedding, positions and last norm in two bytes. */
static void frozen_weights(void **state) {
    const double adapters = LAYERS * 2 * 16.0 * (HIDDEN + HIDDEN);
    const double layers = LAYERS * (12.0 * HIDDEN * HIDDEN + 13.0 * HIDDEN);
    const double packed = 4.127 / 8 * layers + 2 * (parameters - layers);
    const struct {
        const char *options;
        double bytes;
    } cases[] = {
        {"zero 2", 2 * adapters},
        {"zero 2;qlora", 2 * adapters},
        {"zero 2;use-torch-fsdp2", 2 * (parameters + adapters)},
        {"zero 3;reshard-after-forward no", 2 * (parameters + adapters)},
        {"zero 3;reshard-after-forward no;qlora", packed + 2 * adapters},
        {"zero 3;qlora", 2 * (packed + 2 * adapters)},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char rest[128];
        snprintf(rest, sizeof rest, "dp 4;global-batch 4;lora 16;%s", cases[i].options);
        struct traffic t = of(state, SHAPE, rest);
        assert_within(t.bytes[SC__GROUP_DP_CP][SC__ALLGATHER], cases[i].bytes, 1e-6);
    }
}

/* A feed-forward that runs again gathers its input and reduces its output again, once a
 * layer and micro-batch; PyTorch stops before the last product. */
static void repeated_feed_forward(void **state) {
    static const char once[] = "tp 2;gpus 2;global-batch 4;sequence-parallel;recompute ";
    const struct {
        const char *options;
        double gathers;
        double scatters;
    } cases[] = {
        {"selective;recompute-modules mlp", 1, 1},
        {"selective;recompute-modules core_attn,layernorm", 0, 0},
        {"selective;overlap-tp chunks;recompute-modules mlp", 1, 1},
        {"full", 2, 2},
        {"selective;software torchtitan-2024;recompute-modules mlp", 1, 0},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char rest[160];
        const char *behind = strchr(cases[i].options, ';');
        snprintf(rest, sizeof rest, "%snone%s", once, behind ? behind : "");
        double before[2];
        struct traffic t = of(state, SHAPE, rest);
        before[0] = t.bytes[SC__GROUP_TP][SC__ALLGATHER];
        before[1] = t.bytes[SC__GROUP_TP][SC__REDUCESCATTER];
        snprintf(rest, sizeof rest, "%s%s", once, cases[i].options);
        t = of(state, SHAPE, rest);
        double each = 4 * LAYERS * act;
        double gathered = t.bytes[SC__GROUP_TP][SC__ALLGATHER] - before[0];
        double scattered = t.bytes[SC__GROUP_TP][SC__REDUCESCATTER] - before[1];
        assert_within(each + gathered, each + cases[i].gathers * each, 1e-6);
        assert_within(each + scattered, each + cases[i].scatters * each, 1e-6);
    }
}

/* What ranks of data parallelism sum up also meets that of the other copy, once, as it is
 * then: whole, or a shard. */
static void copies_of_dualpipe(void **state) {
    static const char rest[] = "pp 4;dp 2;gpus 8;global-batch 32;schedule dualpipe;zero ";
    for (unsigned zero = 0; zero < 2; zero++) {
        char text[128];
        snprintf(text, sizeof text, "%s%u", rest, zero);
        struct traffic t = of(state, SHAPE, text);
        const double *dp = t.bytes[SC__GROUP_DP_CP];
        double summed = zero ? dp[SC__REDUCESCATTER] / 2 : dp[SC__ALLREDUCE];
        assert_number(summed, >, 0);
        assert_within(t.bytes[SC__GROUP_MIRROR][SC__ALLREDUCE], summed, 1e-6);
    }
}

/* Ranks that hold the same activations send a quarter each, and put it together:
 * Megatron-LM until Core, which sends all of it from every rank. */
static void pieces_of_messages(void **state) {
    const double messages = 2 * 8; /* of 8 micro-batches, there and back */
    struct traffic whole = of(state,
                              SHAPE,
                              "tp 4;pp 2;gpus 8;global-batch 8;"
                              "no-scatter-gather-tensors-in-pipeline");
    struct traffic core = of(state, SHAPE, "tp 4;pp 2;gpus 8;global-batch 8");
    struct traffic parts = of(state,
                              SHAPE,
                              "tp 4;pp 2;gpus 8;global-batch 8;"
                              "scatter-gather-tensors-in-pipeline");
    assert_within(core.message_bytes, messages * act, 1e-9);
    assert_within(whole.message_bytes, messages * act, 1e-9);
    assert_number(whole.bytes[SC__GROUP_TP][SC__ALLGATHER], ==, 0);
    assert_within(parts.message_bytes, messages * act / 4, 1e-9);
    assert_within(parts.bytes[SC__GROUP_TP][SC__ALLGATHER], messages * act, 1e-9);
}

/* The host of Megatron's code of 2021 waits behind every message that comes. */
static void hosts_wait_for_messages(void **state) {
    static const char rest[] = "pp 2;gpus 2;global-batch 8;overlap-p2p no;software ";
    char text[128];
    snprintf(text, sizeof text, "%smegatron-2021", rest);
    struct traffic old = of(state, SHAPE, text);
    snprintf(text, sizeof text, "%smegatron-core-2025", rest);
    struct traffic later = of(state, SHAPE, text);
    assert_number(old.host, >=, 2 * 8);
    assert_number(old.host - later.host, ==, 2 * 8);
}

/* Forward's two collectives of a layer run again before its backward, of the first three
 * layers alone; the loss has three numbers of 4 bytes for each token. */
static void recomputed_layers(void **state) {
    struct traffic t = of(state,
                          SHAPE,
                          "tp 2;gpus 2;global-batch 4;recompute full;recompute-method "
                          "block;recompute-layers 3");
    assert_within(t.bytes[SC__GROUP_TP][SC__ALLREDUCE],
                  4 * (act * (4 * LAYERS + 2 * 3 + 2) + 3 * 4.0 * SEQ),
                  1e-9);
}

/* Every token goes to two experts; the ranks that share one gather the tokens of both
 * before it, and scatter the sums of both after it, and so in backward. */
static void experts_that_are_cut(void **state) {
    struct traffic t = of(state,
                          SHAPE "num-experts 8;moe-router-topk 2;",
                          "tp 2;ep 4;etp 2;gpus 8;global-batch 16;sequence-parallel");
    double routed = 2.0 * act / 2; /* of a rank: half of the tokens, twice each */
    assert_within(t.bytes[SC__GROUP_EP][SC__ALLTOALL], 4 * LAYERS * 4 * routed, 1e-9);
    assert_within(t.bytes[SC__GROUP_ETP][SC__ALLGATHER], 4 * LAYERS * 2 * 2 * routed, 1e-9);
    assert_within(t.bytes[SC__GROUP_ETP][SC__REDUCESCATTER],
                  4 * LAYERS * 2 * 2 * routed,
                  1e-9);
}

/* HybridEP over two nodes of eight: every rank first learns which tokens go where, a byte
 * for each token of all ranks and expert; with a copy of a token, and with its gradient,
 * go 4 bytes for each expert of the node. */
static void routes_of_hybrid_ep(void **state) {
    struct sc__model m;
    struct sc__plan p;
    static const char text[] =
        SHAPE "num-experts 32;moe-router-topk 2;ep 16;etp 1;gpus 16;global-batch 16;"
              "moe-token-dispatcher-type flex;moe-kernels grouped;software bridge-26.02";
    struct traffic t = lower(*state, text, &m, &p);
    /* ranks that two of 32 experts lie on, two experts a rank */
    double copies = 16 * (1 - 30 * 29 / (32.0 * 31));
    double sent = SEQ * copies * (2.0 * HIDDEN);
    double more = SEQ * copies * (4.0 * 16);
    assert_within(t.bytes[SC__GROUP_EP][SC__ALLGATHER], LAYERS * 16.0 * SEQ * 32, 1e-9);
    assert_within(t.bytes[SC__GROUP_EP][SC__ALLTOALL],
                  LAYERS * (4 * sent + 2 * more),
                  1e-6);
}

/* Eight ranks have the dense weights, two of them the same experts. */
static void updated_by_a_rank(void **state) {
    struct sc__model m;
    struct sc__plan p;
    const struct sc__shard s = {.dense = 800, .experts = 80};
    static const char shape[] = SHAPE "num-experts 8;moe-router-topk 2;ep 4;etp 1;gpus "
                                      "8;global-batch 16;zero 1";
    assert_int_equal(plan_of(*state, shape, &m, &p), SC_OK);
    assert_within(sc__step_updated(&p, &s), 800 / 8 + 80 / 2, 1e-12);
    p.zero = 0;
    assert_within(sc__step_updated(&p, &s), 880, 1e-12);
}

/* us of the operations of this name and phase. */
static double
named_us(struct sc_context *ctx, const char *text, const char *name, enum sc__phase phase) {
    struct sc__model m;
    struct sc__plan p;
    struct sc__workload *w = lowered(ctx, text, &m, &p);
    int64_t sum = 0;
    for (uint32_t i = 0; i < w->op_count; i++)
        if (w->ops[i].phase == phase && !strcmp(w->names.text[w->ops[i].name], name))
            sum += w->ops[i].cost;
    return (double)sum / SC__PS_PER_US;
}

/* Newton-Schulz of 40 layers is that of 40 times one, until the products have lasted so
 * long that the power limit acts, 40 ms on an H200: from then on they are slower. */
static void muon_meets_the_power_limit(void **state) {
    static const char shape[] = "hidden-size 4096;num-attention-heads 32;vocab-size 1024;"
                                "seq 256;gpus 1;global-batch 1;optimizer muon;num-layers ";
    static const struct sc__cluster alone = {.ideal = true, .node_gpus = 1};
    static const unsigned layers[] = {1, 40};
    struct sc_context *ctx = *state;
    const struct sc__gpu *gpu;
    double each[2];
    assert_int_equal(sc__gpu_find(ctx, "h200", &gpu), SC_OK);
    for (unsigned i = 0; i < 2; i++) {
        struct sc__lowering l = {.ctx = ctx,
                                 .arena = &ctx->arena,
                                 .cluster = &alone,
                                 .gpu = gpu,
                                 .kernel_model = sc__kernel_model_new(&ctx->arena, gpu)};
        struct sc__model m;
        char text[256];
        snprintf(text, sizeof text, "%s%u", shape, layers[i]);
        assert_int_equal(plan_of(ctx, text, &m, &l.plan), SC_OK);
        l.model = &m;
        l.constants.gemm = 1;
        l.constants.memory = 1;
        l.constants.software.adam_bytes = 30;
        l.throttling = sc__throttle(gpu, &(struct sc__load){0}, 1); /* of a cold GPU */
        each[i] = sc__step_update_us(&l, 0) / layers[i];
    }
    assert_number(each[0], <, 40000);
    assert_number(40 * each[1], >, 10 * 40000);
    assert_number(each[1], >, 1.05 * each[0]);
    assert_number(each[1], <, 2 * each[0]);
}

/* Compiled, PyTorch puts the four pieces of context parallelism together in fp32. Bytes for
 * each element of a rank's output, in bf16: keys and values side by side 4·2; forward the
 * first piece widened 2 + 4, each further one added 4 + 2 + 4; backward each piece of three
 * gradients added. An exchange of heads has no pieces. */
static void pieces_of_attention(void **state) {
    static const char shape[] =
        "num-layers 2;hidden-size 4096;num-attention-heads 32;vocab-size 1024;seq "
        "16384;gpus 4;cp 4;global-batch 1;zero 3;use-torch-fsdp2;host-launch "
        "0;cp-comm-type ";
    static const enum sc__phase phases[] = {SC__FORWARD, SC__BACKWARD};
    char text[2][256];
    double merged[2];
    snprintf(text[0], sizeof text[0], "%sall_gather", shape);
    snprintf(text[1], sizeof text[1], "%sa2a", shape);
    for (unsigned i = 0; i < 2; i++)
        merged[i] = named_us(*state, text[0], "elementwise", phases[i]) -
                    named_us(*state, text[1], "elementwise", phases[i]);
    assert_number(merged[0], >, 0);
    assert_within(merged[0] / merged[1],
                  (8 + 6 + 3 * 10) / (8 + 4 * 3 * 10.0),
                  0.04); /* small kernels are a little slower than their bytes */
}

/* Adam in mixed precision moves 2 bytes less where fp32 weights are their own main copy:
 * of many parameters the time is that of the bytes, and that of a clock which fp32's
 * products let rest a little. */
static void bytes_of_adam(void **state) {
    static const char shape[] = "hidden-size 4096;num-attention-heads 32;vocab-size 1024;"
                                "seq 256;gpus 1;global-batch 1;num-layers 8;dtype ";
    char text[2][256];
    struct sc__model m;
    struct sc__plan p;
    snprintf(text[0], sizeof text[0], "%sbf16", shape);
    snprintf(text[1], sizeof text[1], "%sfp32", shape);
    lowered(*state, text[0], &m, &p);
    double bytes = p.software_constants.adam_bytes;
    assert_number(bytes, >=, 26); /* gradient, weights, moments read and written, copy */
    assert_within(named_us(*state, text[1], "optimizer", SC__UPDATE) /
                      named_us(*state, text[0], "optimizer", SC__UPDATE),
                  (bytes - 2) / bytes,
                  0.02);
}

/* PyTorch's checkpointing of operators runs each second product again: k of q, k, v, out
 * of the next, up of gate and up; without a gate up is the fifth, and kept. */
static void products_run_again(void **state) {
    static const char *const shapes[] = {
        SHAPE "gpus 1;global-batch 1",
        SHAPE "swiglu;ffn-hidden-size 1536;group-query-attention;num-query-groups 2;gpus "
              "1;global-batch 1"};
    const double h = HIDDEN;
    const double kv = h / 4; /* two of eight heads */
    const double again[] = {h * h + h * h, h * kv + h * h + h * 1536};
    const double all[] = {12 * h * h, 2 * h * h + 2 * h * kv + 3 * h * 1536};
    for (unsigned i = 0; i < 2; i++) {
        static struct sc__lowering l;
        struct sc__model m;
        assert_int_equal(plan_of(*state, shapes[i], &m, &l.plan), SC_OK);
        assert_within(sc__repeated_gemms(&m), again[i] / all[i], 1e-12);
        l.model = &m;
        l.plan.recompute = SC__RECOMPUTE_OPS;
        struct sc__layer_kernel x = {.part = SC__PART_MLP_IN};
        x.kernel.kind = SC__KERNEL_GEMM;
        assert_number(sc__step_repeat_share(&l, &x, 0), ==, i ? 0.5 : 0);
        x.part = SC__PART_ATTENTION_OUT;
        assert_number(sc__step_repeat_share(&l, &x, 0), ==, 1);
        x.kernel.kind = SC__KERNEL_MEMORY;
        assert_number(sc__step_repeat_share(&l, &x, 0), ==, 1);
    }
}

/* A layer that is computed again ends before its last product, unless a norm follows. */
static void recomputation_stops_early(void **state) {
    static struct sc__lowering l;
    struct sc__model m;
    assert_int_equal(plan_of(*state, SHAPE "gpus 1;global-batch 1", &m, &l.plan), SC_OK);
    l.model = &m;
    assert_false(sc__step_stops_early(&l, 0));
    l.constants.software.early_stop = 1;
    assert_true(sc__step_stops_early(&l, 0));
    /* of a feed-forward that is computed again by itself, too */
    struct sc__layer_kernel x = {.part = SC__PART_MLP_OUT};
    x.kernel.kind = SC__KERNEL_GEMM;
    l.plan.recompute = SC__RECOMPUTE_SELECTIVE;
    l.plan.recompute_modules = SC__MODULE_MLP;
    assert_number(sc__step_repeat_share(&l, &x, 0), ==, 0);
    x.part = SC__PART_MLP_IN;
    assert_number(sc__step_repeat_share(&l, &x, 0), ==, 1);
    m.post_norms = true;
    assert_false(sc__step_stops_early(&l, 0));
    x.part = SC__PART_MLP_OUT;
    assert_number(sc__step_repeat_share(&l, &x, 0), ==, 1);
}

/* Operators of the router take 10 us of the host forward and 30 backward, half of them up
 * to the router's end, which a graph holds; two products of each of two experts by
 * themselves take 5 us each, four of each in backward. */
static void host_of_experts(void **state) {
    static struct sc__lowering l;
    struct sc__model m;
    static const char shape[] = SHAPE "num-experts 8;moe-router-topk 2;ep 4;etp 1;gpus "
                                      "8;global-batch 16";
    assert_int_equal(plan_of(*state, shape, &m, &l.plan), SC_OK);
    l.model = &m;
    l.constants.software.host_route_us = 10;
    l.constants.software.host_route_back_us = 30;
    l.constants.software.host_product_us = 5;
    struct sc__script_maker k = {.l = &l, .phase = SC__FORWARD, .moe = true};
    assert_within(sc__expert_host_us(&k, true, false), 5, 1e-12);
    assert_within(sc__expert_host_us(&k, true, true), 10, 1e-12);
    k.phase = SC__BACKWARD;
    assert_within(sc__expert_host_us(&k, true, true), 30, 1e-12);
    l.plan.moe_kernels = SC_MOE_KERNELS_UNFUSED;
    assert_within(sc__expert_host_us(&k, true, true), 30 + 4 * 2 * 5, 1e-12);
    k.phase = SC__FORWARD;
    l.plan.graphs = SC__GRAPH_ROUTER;
    assert_within(sc__expert_host_us(&k, true, true), 5 + 2 * 2 * 5, 1e-12);
    k.moe = false;
    assert_number(sc__expert_host_us(&k, true, true), ==, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updated_weights),
        cmocka_unit_test(frozen_weights),
        cmocka_unit_test(narrow_weights),
        cmocka_unit_test(repeated_feed_forward),
        cmocka_unit_test(copies_of_dualpipe),
        cmocka_unit_test(pieces_of_messages),
        cmocka_unit_test(hosts_wait_for_messages),
        cmocka_unit_test(recomputed_layers),
        cmocka_unit_test(experts_that_are_cut),
        cmocka_unit_test(routes_of_hybrid_ep),
        cmocka_unit_test(updated_by_a_rank),
        cmocka_unit_test(products_run_again),
        cmocka_unit_test(recomputation_stops_early),
        cmocka_unit_test(host_of_experts),
        cmocka_unit_test(muon_meets_the_power_limit),
        cmocka_unit_test(bytes_of_adam),
        cmocka_unit_test(pieces_of_attention),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
