/* Plans and lowering: refusals with the plans that work, memory against
 * Korthikanti et al. 2022, traffic against the closed forms of Megatron's
 * papers for random plans. */
#include "opened.h"
#include "traffic.h"

#include <math.h>

static void test_refused_plans(void **state) {
    static const struct {
        const char *plan;
        const char *number;
        const char *hint;
    } cases[] = {
        {"model gpt3-175b;tp 7;gpus 7;global-batch 8", "96 attention heads", "tp 6 or 8"},
        {"model gpt3-175b;pp 9;gpus 9;global-batch 9",
         "does not divide the 96 layers",
         "pp·vpp 8 or 12"},
        {"model gpt3-175b;pp 8;vpp 5;gpus 8;global-batch 8",
         "= 40 does not divide",
         "pp·vpp 32 or 48"},
        {"model mixtral-8x7b;ep 3;etp 1;gpus 6;global-batch 6", "8 experts", "ep 2 or 4"},
        {"model llama3-8b;gpus 8;global-batch 12",
         "multiple of dp 8",
         "--global-batch 8 or 16"},
        {"model llama3-8b;gpus 12;tp 8;global-batch 8", "12 GPUs", "GPUs: 8 or 16"},
        {"model llama3-8b;ep 2;gpus 2;global-batch 2", "no experts", "leave --ep out"},
        {"model llama3-8b;cp 4;gpus 4;seq 4100;global-batch 4",
         "4100 tokens",
         "--seq 4096 or 4104"},
        {"model llama3-8b;gpus 4;pp 4;vpp 4;schedule zb-v;global-batch 4",
         "two chunks",
         "leave --vpp out"},
        {"model llama3-8b;gpus 4;schedule zb-v;global-batch 4",
         "two chunks",
         "--schedule 1f1b"},
        {"model llama3-8b;tp 2;tensor-model-parallel-size 4;gpus 4;global-batch 4",
         "contradicts",
         "give one of them"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc__model m;
        struct sc__plan p;
        assert_int_equal(plan_of(*state, cases[i].plan, &m, &p), SC_USAGE);
        if (!strstr(sc_error_text(*state), cases[i].number) ||
            !strstr(sc_error_text(*state), cases[i].hint))
            fail_msg("%s: %s", cases[i].plan, sc_error_text(*state));
    }
}

static void same_share(double got, double want) {
    if (fabs(got / want - 1) > 1e-9)
        fail_msg("%.9g, closed form %.9g", got, want);
}

/* Korthikanti et al. 2022, Table 2 and Figure 1: bytes of activations a layer
 * keeps, and 18 bytes a parameter for weights, gradients and Adam. */
static void test_memory_of_korthikanti(void **state) {
    static const struct {
        const char *model;
        double tp;
        double pp;
        double vpp;
        double b;
    } cases[] = {{"megatron-22b", 8, 1, 1, 4},
                 {"megatron-175b", 8, 8, 3, 1},
                 {"megatron-530b", 8, 35, 3, 1},
                 {"megatron-1t", 8, 64, 1, 1}};
    static const char *const how[] = {"",
                                      ";sequence-parallel",
                                      ";recompute selective;sequence-parallel",
                                      ";recompute selective",
                                      ";recompute full"};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned k = 0; k < 5; k++) {
            struct sc__model m;
            struct sc__plan p;
            double t = cases[i].tp;
            double b = cases[i].b;
            double s = 2048;
            double pp = cases[i].pp;
            double v = cases[i].vpp;
            char text[256];
            snprintf(
                text,
                sizeof text,
                "model %s;tp %g;pp %g;vpp %g;gpus %g;micro-batch %g;global-batch %g;seq "
                "2048;dtype fp16;fusion 2021%s",
                cases[i].model,
                t,
                pp,
                v,
                t * pp,
                b,
                b * pp * 4,
                how[k]);
            assert_int_equal(plan_of(*state, text, &m, &p), SC_OK);
            double h = m.hidden;
            double a = m.heads;
            double sbh = s * b * h;
            const double layer[] = {sbh * (10 + 24 / t + 5 * a * s / (h * t)),
                                    sbh * (34 + 5 * a * s / h) / t,
                                    sbh * 34 / t,
                                    sbh * (10 + 24 / t),
                                    2 * sbh};
            assert_true(fabs(sc__layer_activations(&m, &p, 0) / layer[k] - 1) < 1e-9);
            struct sc__stage_memory x = sc__plan_memory(&m, &p, 0);
            double in_flight = v > 1 ? pp * (1 + (pp - 1) / (pp * v)) : pp;
            double embedding =
                sbh / (k == 1 || k == 2
                           ? t
                           : 1); /* mask of the embedding's dropout, section 4.3 */
            /* inputs of the last norm and of the output layer, section 4.3 */
            double output = pp > 1 ? 0 : 4 * embedding;
            /* of the first chunk a group, and what follows it until the first backward */
            double first = v > 1 ? 2 * pp - 1 : pp;
            double closed = (layer[k] * m.layers / pp + output) * in_flight;
            closed += embedding * first;
            assert_true(fabs(x.activations / closed - 1) < 0.03);
            /* one layer in full while it is computed again */
            if (k == 4)
                assert_true(x.workspace > layer[0] - layer[4]);
            double sum = 0;
            double whole =
                12 * m.layers * h * h * (1 + 13 / (12 * h)) + (51200.0 + 2048) * h;
            for (uint32_t stage = 0; stage < p.mesh.pp; stage++) {
                struct sc__stage_memory y = sc__plan_memory(&m, &p, stage);
                sum += y.weights + y.gradients + y.optimizer;
            }
            assert_true(fabs(sum * t / (18 * whole) - 1) < 0.03);
        }
}

/* Qi et al., section 3: what weight gradients need is 32·s·b·h a layer; ZB-H1
 * and ZB-V hold as much as 1F1B, p micro-batches, ZB-2p twice that. */
static void test_memory_of_zero_bubble(void **state) {
    static const char *const names[] = {"zb-h1", "zb-2p", "zb-v"};
    for (unsigned k = 0; k < 3; k++) {
        struct sc__model m;
        struct sc__plan p;
        char text[256];
        snprintf(
            text,
            sizeof text,
            "num-layers 32;hidden-size 4096;num-attention-heads 32;vocab-size 32000;seq "
            "1024;pp 8;gpus 8;micro-batch "
            "3;global-batch 192;dtype fp16;fusion 2021;schedule %s",
            names[k]);
        assert_int_equal(plan_of(*state, text, &m, &p), SC_OK);
        double sbh = 3 * 1024 * 4096.0;
        double layer = sbh * (34 + 5 * 32 * 1024 / 4096.0);
        double fragment = 32 * sbh;
        same_share(sc__plan_kept(&m, &p), fragment / layer);
        for (uint32_t s = 1; s < 8; s++) {
            const double held[] = {(8 - s) * layer + s * fragment, 16 * layer, 8 * layer};
            /* inputs of the last norm and of the output layer, of every micro-batch that is
             * held */
            double output = k == 2 || s < 7 ? 0 : 4 * sbh * (k == 1 ? 16 : 1);
            same_share(sc__plan_memory(&m, &p, s).activations, 4 * held[k] + output);
            assert_true((sc__plan_memory(&m, &p, s).logits > 0) == (k != 2 && s == 7));
        }
        same_share(sc__plan_memory(&m, &p, 0).activations,
                   (4 * layer + sbh + (k == 2 ? 4 * sbh : 0)) * (k == 1 ? 16 : 8));
    }
}

/* Micro-batches whose activations a stage holds: GPipe all of them, 1F1B as many as there
 * are stages from it on, and never more than there are. A layer of one keeps
 * sbh (34 + 5 as/h) (Korthikanti). */
static void test_micro_batches_in_flight(void **state) {
    static const struct {
        const char *schedule;
        double micro_batches;
    } cases[] = {{"gpipe", 64}, {"gpipe", 3}, {"1f1b", 64}, {"1f1b", 3}, {"1f1b", 1}};
    for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct sc__model m;
        struct sc__plan p;
        char text[256];
        double most = cases[k].micro_batches;
        snprintf(text,
                 sizeof text,
                 "num-layers 32;hidden-size 4096;num-attention-heads 32;vocab-size 32000;"
                 "seq 1024;pp 8;gpus 8;micro-batch 3;global-batch %g;dtype fp16;fusion "
                 "2021;schedule %s",
                 3 * most,
                 cases[k].schedule);
        assert_int_equal(plan_of(*state, text, &m, &p), SC_OK);
        double sbh = 3 * 1024 * 4096.0;
        double layer = sbh * (34 + 5 * 32 * 1024 / 4096.0);
        for (uint32_t s = 1; s < 7; s++) {
            double held = strcmp(cases[k].schedule, "gpipe") ? fmin(most, 8 - s) : most;
            same_share(sc__plan_memory(&m, &p, s).activations, 4 * held * layer);
        }
    }
}

/* Chunks that were forward and not yet backward, of an order: activations are those of as
 * many, also where micro-batches are no multiple of the stages, or fewer. */
static void test_chunks_in_flight(void **state) {
    struct sc_context *ctx = *state;
    for (uint32_t micro_batches = 1; micro_batches <= 20; micro_batches++) {
        struct sc__model m;
        struct sc__plan p;
        char text[256];
        snprintf(text,
                 sizeof text,
                 "num-layers 24;hidden-size 4096;num-attention-heads 32;vocab-size 32000;"
                 "seq 1024;pp 4;vpp 3;gpus 4;global-batch %u;dtype fp16;fusion 2021",
                 micro_batches);
        assert_int_equal(plan_of(ctx, text, &m, &p), SC_OK);
        double sbh = 1024 * 4096.0;
        double layer = sbh * (34 + 5 * 32 * 1024 / 4096.0);
        for (uint32_t s = 1; s < 3; s++) {
            uint32_t count;
            uint32_t open = 0;
            uint32_t most = 0;
            const struct sc__slot *o = sc__schedule_order(&ctx->arena,
                                                          SC__SCHEDULE_INTERLEAVED,
                                                          4,
                                                          3,
                                                          sc__plan_turns(&p),
                                                          s,
                                                          micro_batches,
                                                          &count);
            for (uint32_t i = 0; i < count; i++) {
                open += o[i].kind == 'F' ? 1u : -1u;
                most = open > most ? open : most;
            }
            same_share(sc__plan_memory(&m, &p, s).activations, 2 * most * layer);
        }
    }
}

/* Figure 1 of the paper as digitised by Calculon, GiB. */
static void test_memory_of_figure_one(void **state) {
    static const struct {
        const char *plan;
        double state;
        double activations;
    } cases[] = {
        {"model megatron-22b;tp 8;gpus 8;micro-batch 4;global-batch 4;seq 2048;dtype "
         "fp16;fusion "
         "2021",
         45.5625,
         59.25},
        {"model megatron-22b;tp 8;gpus 8;micro-batch 4;global-batch 4;seq 2048;dtype "
         "fp16;fusion "
         "2021;recompute "
         "selective;sequence-parallel",
         45.5625,
         9.5625},
        {"model megatron-175b;tp 8;pp 8;vpp 3;gpus 64;global-batch 64;seq 2048;dtype "
         "fp16;fusion "
         "2021",
         45.5625,
         66.84375},
        {"model megatron-175b;tp 8;pp 8;vpp 3;gpus 64;global-batch 64;seq 2048;dtype "
         "fp16;fusion "
         "2021;recompute "
         "selective;sequence-parallel",
         45.5625,
         12.3515625},
    };
    for (unsigned i = 0; i < 4; i++) {
        struct sc__model m;
        struct sc__plan p;
        assert_int_equal(plan_of(*state, cases[i].plan, &m, &p), SC_OK);
        struct sc__stage_memory x = sc__plan_memory(&m, &p, p.mesh.pp > 1 ? 1 : 0);
        struct sc__stage_memory first = sc__plan_memory(&m, &p, 0);
        double gib = 1024.0 * 1024 * 1024;
        assert_true(fabs((x.weights + x.gradients + x.optimizer) / gib / cases[i].state -
                         1) < 0.03);
        assert_true(fabs(first.activations / gib / cases[i].activations - 1) < 0.03);
    }
}

static void test_does_not_fit(void **state) {
    struct sc__model m;
    struct sc__plan p;
    assert_int_equal(plan_of(*state, "model llama3-70b;gpus 8;global-batch 8", &m, &p),
                     SC_OK);
    assert_int_equal(sc__memory_check(*state, &m, &p, 80e9), SC_NO_FIT);
    assert_non_null(strstr(sc_error_text(*state), "optimizer"));
    p.ignore_memory = true;
    assert_int_equal(sc__memory_check(*state, &m, &p, 80e9), SC_OK);
}

/* ---- traffic ---- */

static void same(double got, double want) {
    if (fabs(got - want) > 1e-6 * fabs(want) + 64)
        fail_msg("%.9g, closed form %.9g", got, want);
}

static uint32_t pick(uint64_t *seed, const uint32_t *of, uint32_t n) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return of[(*seed >> 33) % n];
}

/* Sums over all stages of one rank each. GPT with h, l, V; b sequences of s in
 * a micro-batch, m micro-batches. */
static void test_traffic_of_random_dense_plans(void **state) {
    static const uint32_t tps[] = {1, 2, 4, 8};
    static const uint32_t pps[] = {1, 2, 4};
    static const uint32_t dps[] = {1, 2, 4};
    static const uint32_t mbs[] = {1, 2};
    static const uint32_t counts[] = {4, 8};
    static const char *const schedules[] = {"",
                                            ";schedule zb-h1",
                                            ";schedule zb-2p",
                                            ";schedule zb-v"};
    uint64_t seed = 12345;
    for (unsigned round = 0; round < 120; round++) {
        uint32_t tp = pick(&seed, tps, 4);
        uint32_t pp = pick(&seed, pps, 3);
        uint32_t dp = pick(&seed, dps, 3);
        uint32_t b = pick(&seed, mbs, 2);
        uint32_t count = pick(&seed, counts, 2);
        uint32_t sp = pick(&seed, (uint32_t[]){0, 1}, 2);
        uint32_t full = pick(&seed, (uint32_t[]){0, 1}, 2);
        uint32_t vpp = pp > 1 ? pick(&seed, (uint32_t[]){1, 2}, 2) : 1;
        uint32_t zero = pick(&seed, (uint32_t[]){0, 1}, 2);
        uint32_t kind = round < 60 || pp == 1 ? 0 : pick(&seed, (uint32_t[]){1, 2, 3}, 3);
        bool v = kind == 3, overlap = kind >= 2;
        if (kind)
            vpp = v ? 2 : 1;
        char text[512];
        struct sc__model model;
        struct sc__plan p;
        snprintf(text,
                 sizeof text,
                 "num-layers 8;hidden-size 512;num-attention-heads 8;vocab-size 1024;seq "
                 "256;tp %u;pp "
                 "%u;dp %u;vpp %u;"
                 "micro-batch %u;global-batch %u;zero "
                 "%u;no-scatter-gather-tensors-in-pipeline%s%s%s",
                 tp,
                 pp,
                 dp,
                 vpp,
                 b,
                 b * dp * count,
                 zero,
                 sp ? ";sequence-parallel" : "",
                 full ? ";recompute full" : "",
                 schedules[kind]);
        struct traffic t = lower(*state, text, &model, &p);
        double h = 512;
        double l = 8;
        double s = 256;
        double m = count;
        double act = 2 * b * s * h;
        double loss = 3 * 4.0 * b * s;
        bool cut = sp && tp > 1;
        if (tp > 1) {
            double pairs = full ? 6 : 4; /* collectives around half layers */
            if (!cut)
                same(t.bytes[SC__GROUP_TP][SC__ALLREDUCE],
                     m * (act * (pairs * l + 2) + loss));
            else {
                /* gradients of norms and of biases that are not cut, of each rank's tokens
                 */
                double whole = 4 * (6 * l * h + 2 * h);
                same(t.bytes[SC__GROUP_TP][SC__ALLREDUCE], m * loss + whole);
                same(t.bytes[SC__GROUP_TP][SC__REDUCESCATTER], m * act * (pairs * l + 2));
                same(t.bytes[SC__GROUP_TP][SC__ALLGATHER], m * act * ((pairs + 2) * l + 3));
            }
        }
        /* the V turns round inside the last stage; overlapping steps hand a norm from stage
         * to stage */
        double hops = (double)pp * vpp - (v ? 2 : 1);
        double norms = overlap ? pp - 1 : 0;
        assert_true(t.messages == 2 * m * hops + norms);
        same(t.message_bytes, 2 * m * hops * act / (cut ? tp : 1) + 4 * norms);
        double params = 12 * l * h * h / tp + l * (h * (2 + 4) + 7 * h / tp) + 2 * h +
                        1024 * h / tp * (pp > 1 && !v ? 2 : 1) + 256 * h;
        if (dp > 1) {
            same(t.bytes[SC__GROUP_DP_CP][zero ? SC__REDUCESCATTER : SC__ALLREDUCE],
                 4 * params);
            same(t.bytes[SC__GROUP_DP_CP][SC__ALLGATHER], zero ? 2 * params : 0);
        }
        same(t.bytes[SC__GROUP_EMBEDDING][SC__ALLREDUCE],
             pp > 1 && !v ? 2 * 4.0 * 1024 / tp * h : 0);
        assert_true(t.bytes[SC__GROUP_WORLD][SC__ALLREDUCE] ==
                    (overlap || tp * pp * dp == 1 ? 0 : 4 * pp));
        double B = b * dp * m;
        same(t.flops, 72 * B * s * l * h * h * (1 + s / (6 * h) + 1024 / (12 * l * h)));
    }
}

/* ZeRO-3: every micro-batch gathers all weights twice and scatters gradients. */
static void test_traffic_of_sharded_weights(void **state) {
    struct sc__model m;
    struct sc__plan p;
    struct traffic t = lower(*state,
                             "model llama3-8b;gpus 8;seq 2048;global-batch 32;micro-batch "
                             "2;zero 3;grad-dtype bf16",
                             &m,
                             &p);
    struct sc__model_params n;
    sc__model_count(&m, &n);
    same(t.bytes[SC__GROUP_DP_CP][SC__ALLGATHER], 2 * 2 * 2 * n.total);
    same(t.bytes[SC__GROUP_DP_CP][SC__REDUCESCATTER], 2 * 2 * n.total);
}

/* Dispatch and combine, forward and backward: each token topk times. */
static void test_traffic_of_experts(void **state) {
    struct sc__model m;
    struct sc__plan p;
    struct traffic t =
        lower(*state,
              "model mixtral-8x7b;gpus 16;ep 8;etp 1;tp 2;seq 4096;global-batch "
              "64;micro-batch 1;sequence-parallel;zero 1",
              &m,
              &p);
    double tokens = 4096.0 / 2;
    double micro_batches = 8;
    same(t.bytes[SC__GROUP_EP][SC__ALLTOALL],
         4 * m.layers * micro_batches * tokens * 2 * 4096 * 2);
    struct sc__model_params n;
    sc__model_count(&m, &n);
    same(t.bytes[SC__GROUP_DP_EP][SC__REDUCESCATTER], 4 * m.layers * n.experts / 8);
}

static void test_stages_hold_the_model(void **state) {
    static const char *const plans[] = {
        "model llama3-405b;tp 8;pp 16;gpus 128;uneven-stages;global-batch 16",
        "model deepseek-v3;pp 16;ep 8;gpus 128;uneven-stages;global-batch 16",
        "model gpt3-175b;tp 8;pp 8;vpp 3;gpus 64;global-batch 16",
        "model nemotron4-340b;tp 8;pp 12;vpp 8;gpus 96;global-batch 12",
        "model qwen3-235b-a22b;pp 8;vpp 12;ep 8;gpus 64;uneven-stages;global-batch 64",
        "model llama3-405b;tp 8;pp 8;gpus 64;uneven-stages;global-batch 16;schedule zb-v"};
    for (unsigned i = 0; i < 6; i++) {
        struct sc__model m;
        struct sc__plan p;
        if (plan_of(*state, plans[i], &m, &p) != SC_OK)
            fail_msg("%s: %s", plans[i], sc_error_text(*state));
        uint32_t next = 0;
        for (uint32_t chunk = 0; chunk < p.vpp; chunk++)
            for (uint32_t k = 0; k < p.mesh.pp; k++) {
                bool up = sc__schedule_is_v(p.schedule) && chunk;
                uint32_t first;
                uint32_t n =
                    sc__plan_layers(&p, &m, up ? p.mesh.pp - 1 - k : k, chunk, &first);
                assert_int_equal(first, next);
                next += n;
            }
        assert_int_equal(next, m.layers);
    }
}

/* What is left over goes to the first stages, away from the head: llama3-70b's 80 layers
 * on 11 stages are 3 of 8 and 8 of 7, as torchtitan cuts them. */
static void test_longer_stages_come_first(void **state) {
    struct sc__model m;
    struct sc__plan p;
    uint32_t first;
    assert_int_equal(plan_of(*state,
                             "model llama3-70b;pp 11;gpus 11;uneven-stages;global-batch 11",
                             &m,
                             &p),
                     SC_OK);
    for (uint32_t i = 0; i < 11; i++)
        assert_int_equal(sc__plan_layers(&p, &m, i, 0, &first), i < 3 ? 8 : 7);
}

/* NeMo's layouts of 61 layers with a prediction layer: "Et*4|(t*4|)*14tmL" and
 * "Et|(tt|)*30mL". */
static void test_stages_of_prediction_layers(void **state) {
    struct sc__model m;
    struct sc__plan p;
    uint32_t first;
    assert_int_equal(
        plan_of(*state,
                "model deepseek-v3;pp 16;ep 8;gpus 128;uneven-stages;global-batch 16",
                &m,
                &p),
        SC_OK);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(sc__plan_layers(&p, &m, i, 0, &first), i < 15 ? 4 : 1);
    assert_int_equal(
        plan_of(*state,
                "model deepseek-v3;pp 8;vpp 4;ep 8;gpus 64;uneven-stages;global-batch 64",
                &m,
                &p),
        SC_OK);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(sc__plan_layers(&p, &m, i % 8, i / 8, &first),
                         i == 0    ? 1
                         : i == 31 ? 0
                                   : 2);
}

/* --decoder-last-pipeline-num-layers counts layers of a stage, which its chunks share
 * (get_num_layers_to_build of Megatron-Core): 12 and 4 on two stages of two chunks, 8, 8, 8
 * and 6 on four; where the chunks cannot share them it is refused. */
static void test_chunks_share_what_a_stage_has(void **state) {
    static const char text[] = "model llama3-8b;num-layers %u;pp %u;vpp 2;gpus %u;"
                               "micro-batches 8;decoder-last-pipeline-num-layers %u";
    static const struct {
        uint32_t layers, pp, last, middle;
    } cuts[] = {{16, 2, 4, 12}, {30, 4, 6, 8}, {31, 4, 7, 0}};
    for (unsigned k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        struct sc__model m;
        struct sc__plan p;
        char plan[256];
        uint32_t pp = cuts[k].pp;
        snprintf(plan, sizeof plan, text, cuts[k].layers, pp, pp, cuts[k].last);
        assert_int_equal(plan_of(*state, plan, &m, &p), cuts[k].middle ? SC_OK : SC_USAGE);
        for (uint32_t i = 0; cuts[k].middle && i < 2 * pp; i++) {
            uint32_t first;
            uint32_t stage = i % pp;
            uint32_t each = (stage == pp - 1 ? cuts[k].last : cuts[k].middle) / 2;
            assert_int_equal(sc__plan_layers(&p, &m, stage, i / pp, &first), each);
            assert_int_equal(first,
                             i / pp * cuts[k].layers / 2 + stage * cuts[k].middle / 2);
        }
    }
}

/* Topk experts of a token are different ones: a rank that has `each` of E gets no copy in
 * C(E − each, topk) of C(E, topk) cases. Two of 8 experts on four ranks: 15 of 28; on eight
 * they lie on two ranks, always. */
static void test_tokens_go_once_to_a_rank(void **state) {
    static const char text[] =
        "model qwen3-30b-a3b;gpus %u;ep %u;etp 1;seq 4096;global-batch 16;"
        "moe-token-dispatcher-type flex;zero 1";
    for (uint32_t ep = 8; ep <= 16; ep += 8) {
        struct sc__model m;
        struct sc__plan p;
        char plan[256];
        snprintf(plan, sizeof plan, text, ep, ep);
        struct traffic t = lower(*state, plan, &m, &p);
        double none = 1;
        for (int i = 0; i < 8; i++)
            none *= (128 - 128.0 / ep - i) / (128.0 - i);
        same(t.bytes[SC__GROUP_EP][SC__ALLTOALL] / (16.0 / ep),
             4 * 48 * 4096 * ep * (1 - none) * 2048 * 2);
    }
    static const double of_two[][2] = {{2, 2 * (1 - 6.0 / 28)},
                                       {4, 4 * (1 - 15.0 / 28)},
                                       {8, 2}};
    for (unsigned i = 0; i < sizeof of_two / sizeof *of_two; i++) {
        struct sc__model m;
        struct sc__plan p;
        char plan[256];
        snprintf(plan,
                 sizeof plan,
                 "model mixtral-8x7b;gpus 8;ep %g;etp 1;moe-token-dispatcher-type flex",
                 of_two[i][0]);
        assert_int_equal(plan_of(*state, plan, &m, &p), SC_OK);
        assert_within(sc__plan_copies(&p, &m), of_two[i][1], 1e-12);
    }
}

/* us of the operations of one phase (SC__PHASES: any) and kind of work (SC__WORKS: any) on
 * the first class. */
static double
time_of(struct sc_context *ctx, const char *text, unsigned phase, unsigned work) {
    struct sc__model m;
    struct sc__plan plan;
    struct sc__workload *w;
    struct sc__cluster c;
    double us = 0;
    if (plan_of(ctx, text, &m, &plan) != SC_OK)
        fail_msg("%s: %s", text, sc_error_text(ctx));
    plan.ignore_memory = true;
    assert_int_equal(sc__cluster_parse(ctx, "dgx-h100", plan.gpus, &c), SC_OK);
    if (sc__lower_plan(ctx, &m, &plan, &c, &w) != SC_OK)
        fail_msg("%s: %s", text, sc_error_text(ctx));
    const struct sc__program *p = &w->programs[w->classes[0].program];
    for (uint32_t i = 0; i < p->calls; i++) {
        const struct sc__block *b = &w->blocks[w->calls[p->first_call + i].block];
        for (uint32_t k = 0; k < b->ops; k++) {
            const struct sc__op *op = &w->ops[b->first_op + k];
            bool in = (phase == SC__PHASES || op->phase == phase) &&
                      (work == SC__WORKS || op->work == work);
            if (op->kind == SC__OP_COMPUTE && in)
                us += sc__us(op->cost);
        }
    }
    return us;
}

#define MLA                                                                                \
    "model deepseek-v3;pp 16;ep 8;gpus 128;uneven-stages;global-batch 16;seq "             \
    "1024;host-launch 0"
#define ALL_EXPERTS                                                                        \
    "model qwen3-30b-a3b;gpus 8;ep 8;etp 1;seq 1024;global-batch 8;host-launch 0"

#define SHARED_EXPERT ALL_EXPERTS ";moe-shared-expert-intermediate-size 8192"

/* Modules as Megatron names them: "mlp" is of layers without experts, "moe" of
 * those with them; what a module repeats is less than the forward that holds it. */
static void test_recompute_modules(void **state) {
    double none = time_of(*state,
                          ALL_EXPERTS ";recompute selective;recompute-modules mlp",
                          SC__RECOMPUTE,
                          SC__WORKS);
    double moe = time_of(*state,
                         ALL_EXPERTS ";recompute selective;recompute-modules moe",
                         SC__RECOMPUTE,
                         SC__WORKS);
    double act = time_of(*state,
                         ALL_EXPERTS ";recompute selective;recompute-modules moe_act",
                         SC__RECOMPUTE,
                         SC__WORKS);
    double full = time_of(*state, ALL_EXPERTS ";recompute full", SC__RECOMPUTE, SC__WORKS);
    assert_true(none == 0 && act > 0 && act < moe && moe < full);
    /* Transformer Engine's norm is part of the product behind it, but before a router */
    double routers = time_of(*state,
                             ALL_EXPERTS ";recompute selective;recompute-modules layernorm",
                             SC__RECOMPUTE,
                             SC__WORKS);
    double norms = time_of(*state,
                           ALL_EXPERTS ";recompute selective;recompute-modules norm",
                           SC__RECOMPUTE,
                           SC__WORKS);
    assert_within(2 * routers, norms, 1e-6);
    double whole = time_of(*state,
                           SHARED_EXPERT ";recompute selective;recompute-modules act",
                           SC__RECOMPUTE,
                           SC__WORKS);
    double routed = time_of(*state,
                            SHARED_EXPERT ";recompute selective;recompute-modules moe_act",
                            SC__RECOMPUTE,
                            SC__WORKS);
    assert_true(routed > 0 && routed < whole);
    double up = time_of(*state,
                        MLA ";recompute selective;recompute-modules mla_up_proj",
                        SC__RECOMPUTE,
                        SC__WORK_GEMM);
    double core = time_of(*state,
                          MLA ";recompute selective;recompute-modules mla_up_proj",
                          SC__RECOMPUTE,
                          SC__WORK_ATTENTION);
    assert_true(up > 0 && core == 0);
    assert_true(up < time_of(*state, MLA, SC__FORWARD, SC__WORK_GEMM));
}

/* Every second GEMM in PyTorch's order: keys, output and up projection of a
 * Llama layer, 36.5 % of its GEMMs' FLOPs, and no attention. */
static void test_recompute_of_operators(void **state) {
#define LLAMA "model llama3-8b;gpus 1;seq 8192;global-batch 1;host-launch 0;no-optimizer"
    double again = time_of(*state, LLAMA ";recompute ops", SC__RECOMPUTE, SC__WORK_GEMM);
    double layers = time_of(*state, LLAMA ";recompute full", SC__RECOMPUTE, SC__WORK_GEMM);
    double h = 4096;
    double f = 14336;
    double kv = 1024;
    double share = (h * kv + h * h + h * f) / (2 * h * kv + 2 * h * h + 3 * h * f);
    assert_true(fabs(again / layers / share - 1) < 0.03);
    assert_true(
        time_of(*state, LLAMA ";recompute ops", SC__RECOMPUTE, SC__WORK_ATTENTION) == 0);
}

/* Ranks that meet in every layer: (E + B)ⁿ − Bⁿ = (hN)ⁿ, n = 2.2, for the time E that the
 * GPU waits, its own time B and N launches of h. Two values of h give B, a third must
 * agree; embedding and head, which have a B of their own, are a few percent. */
static double waits(struct sc_context *ctx, const char *plan, double host) {
    char text[160];
    snprintf(text, sizeof text, "%s;host-launch %g", plan, host);
    return time_of(ctx, text, SC__FORWARD, SC__WORK_HOST);
}

static double host_power(double extra, double busy) {
    return pow(extra + busy, 2.2) - pow(busy, 2.2);
}

static void test_hosts_that_meet_in_layers(void **state) {
    static const char met[] = "model llama3-70b;gpus 2;tp 2;seq 2048;global-batch 1;"
                              "no-optimizer;ignore-memory";
    static const char apart[] = "model llama3-70b;gpus 2;seq 2048;global-batch 2;"
                                "no-optimizer;ignore-memory;zero 0";
    double e = waits(*state, met, 300);
    double e2 = waits(*state, met, 600);
    double e4 = waits(*state, met, 1200);
    double low = 0;
    double high = 100 * e2;
    for (unsigned i = 0; i < 100; i++) {
        double b = (low + high) / 2;
        *(host_power(e2, b) > pow(2, 2.2) * host_power(e, b) ? &low : &high) = b;
    }
    assert_true(low > 0.1 * e && low < 10 * e);
    double share = host_power(e4, low) / (pow(4, 2.2) * host_power(e, low));
    if (fabs(share - 1) > 0.02)
        fail_msg("%g of the closed form", share);
    /* half of the GPU's time: a fiftieth of a percent where ranks meet once a step */
    assert_true(waits(*state, met, 100) > 0);
    assert_true(waits(*state, apart, 100) == 0);
}

/* A graph of the whole iteration asks nothing of the host, parts of a layer less. */
static void test_graphs_spare_the_host(void **state) {
#define SMALL                                                                              \
    "model qwen3-30b-a3b;gpus 8;ep 8;etp 1;seq 512;global-batch 8;moe-kernels unfused"
    double alone = time_of(*state, SMALL, SC__PHASES, SC__WORK_HOST);
    double parts =
        time_of(*state, SMALL ";cuda-graph attn,moe_router", SC__PHASES, SC__WORK_HOST);
    assert_true(alone > parts && parts > 0);
    assert_true(
        time_of(*state, SMALL ";cuda-graph full_iteration", SC__PHASES, SC__WORK_HOST) ==
        0);
}

/* Half of gpt-oss's layers see 128 keys of 8192: their attention costs next to nothing. */
static void test_windows_cut_attention(void **state) {
    static const char text[] =
        "model gpt-oss-20b;gpus 1;seq %u;global-batch 1;host-launch 0;ignore-memory";
    double us[2];
    for (unsigned i = 0; i < 2; i++) {
        char plan[128];
        snprintf(plan, sizeof plan, text, i ? 16384 : 8192);
        us[i] = time_of(*state, plan, SC__FORWARD, SC__WORK_ATTENTION);
    }
    struct sc__model m;
    struct sc__plan p;
    assert_int_equal(
        plan_of(*state, "model gpt-oss-20b;gpus 1;seq 8192;global-batch 1", &m, &p),
        SC_OK);
    m.window = 0;
    double pairs = 0;
    double s = 8192;
    double whole = sc__model_attention_core_flops(&m, 0, 1, s, false);
    m.window = 128;
    for (unsigned q = 1; q <= 8192; q++)
        pairs += q < 128 ? q : 128;
    assert_true(fabs(sc__model_attention_core_flops(&m, 0, 1, s, false) / whole /
                         (2 * pairs / (s * s)) -
                     1) < 0.01);
    assert_true(sc__model_attention_core_flops(&m, 1, 1, s, false) == whole);
    assert_true(us[1] / us[0] > 3.2 &&
                us[1] / us[0] < 4.1); /* the full half grows with the square */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_refused_plans, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_of_korthikanti, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_of_zero_bubble, setup, teardown),
        cmocka_unit_test_setup_teardown(test_micro_batches_in_flight, setup, teardown),
        cmocka_unit_test_setup_teardown(test_chunks_in_flight, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_of_figure_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_does_not_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_traffic_of_random_dense_plans,
                                        setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_traffic_of_sharded_weights, setup, teardown),
        cmocka_unit_test_setup_teardown(test_traffic_of_experts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stages_hold_the_model, setup, teardown),
        cmocka_unit_test_setup_teardown(test_longer_stages_come_first, setup, teardown),
        cmocka_unit_test_setup_teardown(test_chunks_share_what_a_stage_has,
                                        setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_stages_of_prediction_layers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tokens_go_once_to_a_rank, setup, teardown),
        cmocka_unit_test_setup_teardown(test_recompute_modules, setup, teardown),
        cmocka_unit_test_setup_teardown(test_recompute_of_operators, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hosts_that_meet_in_layers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_graphs_spare_the_host, setup, teardown),
        cmocka_unit_test_setup_teardown(test_windows_cut_attention, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
