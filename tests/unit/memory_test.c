/* Memory by hand: bytes of weights, gradients and the optimizer's state by the table of
 * docs/model/memory.md times parameters that are counted here; activations of a layer. */
#include "test.h"

#include "opened.h"
#include "plan/memory.h"
#include "plan_text.h"

/* Four layers of attention without biases, RMS norms, and SwiGLU; both ends apart. */
enum { LAYERS = 4, HIDDEN = 1024, FFN = 2048, EXPERTS = 8, VOCAB = 51200 };
#define SHAPE                                                                              \
    "num-layers 4;hidden-size 1024;num-attention-heads 16;ffn-hidden-size 2048;"           \
    "vocab-size 51200;seq 1024;position-embedding-type rope;normalization RMSNorm;"        \
    "disable-bias-linear;swiglu;untie-embeddings-and-output-weights;"
#define SHAPE_OF_EXPERTS SHAPE "num-experts 8;moe-router-topk 2;ep 4;etp 1;"

static const double attention = 4.0 * HIDDEN * HIDDEN + 2.0 * HIDDEN;
static const double mlp = 3.0 * HIDDEN * FFN;
static const double end = (double)VOCAB * HIDDEN;
/* of the dense model */
static const double layer = attention + mlp;
static const double ends = 2 * end + HIDDEN; /* the last norm goes with the head */
static const double all = LAYERS * layer + ends;
/* of the one with experts, a rank of four */
static const double dense = LAYERS * (attention + HIDDEN * EXPERTS) + ends;
static const double experts = LAYERS * (EXPERTS / 4) * mlp;

static struct sc__training_state
state_of(void *ctx, const char *shape, const char *rest, uint32_t stage) {
    struct sc__model m;
    struct sc__plan p;
    char text[1024];
    snprintf(text, sizeof text, "%s%s", shape, rest);
    if (plan_of(ctx, text, &m, &p) != SC_OK)
        fail_msg("%s: %s", text, sc_error_text(ctx));
    return sc__plan_state(&m, &p, stage);
}

static void bytes_of_optimizers(void **state) {
    const struct {
        const char *options;
        double weights;
        double gradients;
        double growing;
        double optimizer;
    } cases[] = {
        {"", 2, 4, 0, 4 + 8},
        {";optimizer sgd", 2, 4, 0, 4},
        {";optimizer adam-8bit", 2, 4, 0, 4 + 2 * (1 + 4.0 / 256)},
        /* a moment of the matrices of layers, two of the ends */
        {";optimizer muon", 2, 4, 0, 4 + 4 + 4 * ends / all},
        {";exp-avg-dtype bf16;exp-avg-sq-dtype fp8", 2, 4, 0, 4 + 2 + 1},
        {";optimizer muon;exp-avg-dtype bf16", 2, 4, 0, 4 + 2 + 4 * ends / all},
        /* the lower halves of bf16 weights; a narrower copy; the weights themselves */
        {";use-precision-aware-optimizer", 2, 4, 0, 2 + 8},
        {";main-params-dtype fp16", 2, 4, 0, 2 + 8},
        {";main-params-dtype bf16;exp-avg-dtype bf16;exp-avg-sq-dtype bf16", 2, 4, 0, 4},
        /* weights that are no upper halves: fp16's, fp8's */
        {";dtype fp16;use-precision-aware-optimizer", 2, 4, 0, 4 + 8},
        {";fp8-format hybrid;fp8-param-gather;use-precision-aware-optimizer",
         2,
         4,
         0,
         4 + 8},
        {";fp8-format hybrid;fp8-param-gather;main-params-dtype bf16", 2, 4, 0, 2 + 8},
        {";update plain;exp-avg-dtype fp8", 2, 2, 0, 4},
        {";update plain", 2, 2, 0, 4},
        {";update plain;global-batch 1", 2, 0, 2, 4},
        {";update amp", 4, 4, 0, 8},
        {";dtype fp32", 4, 4, 0, 8},
        {";dtype fp32;update plain;optimizer muon", 4, 4, 0, 4 + 4 * ends / all},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        snprintf(text,
                 sizeof text,
                 "gpus 1%s%s",
                 strstr(cases[i].options, "global-batch") ? "" : ";global-batch 4",
                 cases[i].options);
        struct sc__training_state x = state_of(*state, SHAPE, text, 0);
        assert_within(x.weights, cases[i].weights * all, 1e-9);
        assert_within(x.gradients, cases[i].gradients * all, 1e-9);
        assert_within(x.growing, cases[i].growing * all, 1e-9);
        assert_within(x.optimizer, cases[i].optimizer * all, 1e-9);
    }
}

/* Adam over lists of tensors makes the roots of the second moments that its rank has
 * (_multi_tensor_adam of torch/optim/adam.py); who does not update makes none. */
static void roots_of_adam_over_lists(void **state) {
    const struct {
        const char *options;
        double update;
    } cases[] = {
        {"gpus 1;global-batch 4", 4 * all},
        {"gpus 1;global-batch 4;exp-avg-sq-dtype bf16", 2 * all},
        {"gpus 1;global-batch 4;update plain", 2 * all},
        {"gpus 1;global-batch 4;update amp", 4 * all},
        {"gpus 1;global-batch 4;no-optimizer", 0},
        {"gpus 8;global-batch 16;zero 1", 4 * all / 8},
        {"gpus 8;global-batch 16;zero 3", 4 * all / 8},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s;optimizer adam-foreach", cases[i].options);
        struct sc__training_state x = state_of(*state, SHAPE, text, 0);
        assert_within(x.update, cases[i].update, 1e-9);
    }
}

/* Dense weights are shared by all eight ranks, or by as many as a group of shards has;
 * experts by the two that have the same ones. */
static void zero_with_experts(void **state) {
    const struct {
        const char *options;
        double gradients;
        double optimizer;
    } cases[] = {
        {"zero 0", 4 * (dense + experts), 12 * (dense + experts)},
        {"zero 1", 4 * (dense + experts), 12 * (dense / 8 + experts / 2)},
        {"zero 2", 4 * (dense / 8 + experts / 2), 12 * (dense / 8 + experts / 2)},
        {"zero 2;cp 2", 4 * (dense / 8 + experts / 2), 12 * (dense / 8 + experts / 2)},
        {"zero 1;shard-group 4", 4 * (dense + experts), 12 * (dense / 4 + experts)},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        snprintf(text, sizeof text, "gpus 8;global-batch 16;%s", cases[i].options);
        struct sc__training_state x = state_of(*state, SHAPE_OF_EXPERTS, text, 0);
        assert_within(x.weights, 2 * (dense + experts), 1e-9);
        assert_within(x.gradients, cases[i].gradients, 1e-9);
        assert_within(x.optimizer, cases[i].optimizer, 1e-9);
    }
}

/* In a pipeline the gradients wait for the last micro-batch, whole. */
static void gradients_wait_in_a_pipeline(void **state) {
    double stage = 2 * layer + end;
    struct sc__training_state x =
        state_of(*state, SHAPE, "gpus 8;pp 2;global-batch 16;zero 2", 0);
    assert_within(x.gradients, 4 * stage, 1e-9);
    assert_within(x.optimizer, 12 * stage / 4, 1e-9);
}

/* Two gathered units beside the shards: two layers, or a layer and an end. Gradients are
 * added up in the type they are reduced in, as with ZeRO 2. */
static void gathered_weights(void **state) {
    double two = layer + end + HIDDEN; /* an end is five layers */
    const struct {
        const char *options;
        double weights;
        double gradients;
        double optimizer;
    } cases[] = {
        {"grad-dtype fp32;zero 3",
         2 * all / 8 + 2 * two,
         4 * all / 8 + two / 2 * (2 + 4),
         12 * all / 8},
        {"grad-dtype bf16;zero 3",
         2 * all / 8 + 2 * two,
         2 * all / 8 + two / 2 * (2 + 2),
         12 * all / 8},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[160];
        snprintf(text, sizeof text, "gpus 8;global-batch 16;%s", cases[i].options);
        struct sc__training_state x = state_of(*state, SHAPE, text, 0);
        assert_within(x.weights, cases[i].weights, 1e-9);
        assert_within(x.gradients, cases[i].gradients, 1e-9);
        assert_within(x.optimizer, cases[i].optimizer, 1e-9);
    }
}

/* FSDP: shards are the main copy in fp32. The root has both ends and the last norm: they
 * are gathered from forward to backward, and their gradients (2 bytes) stand beside what
 * they are reduced from (4) at the end. In a layer's backward the next one is gathered too,
 * and the one before is reduced. As units of their own the head alone is there for the
 * loss, and the embedding for the end. ZeRO 2 has all gathered. */
static void moments_of_fsdp(void **state) {
    double head = end + HIDDEN;
    const struct {
        const char *options;
        struct sc__fsdp_passing wanted;
    } cases[] = {
        {"zero 3",
         {.of_loss = 2 * (end + head),
          .begin = 2 * 2 * (end + head) + 2 * 2 * layer,
          .of_layer = 2 * (end + head) + 2 * 2 * layer,
          .of_first = 2 * (end + head) + 2 * layer,
          .made = 2 * layer + 2 * head,
          .reduced = 4 * layer,
          .head = 2 * head + 2 * layer,
          .ends = 6 * (end + head)}},
        {"zero 3;software torchtitan-2026",
         {.of_loss = 2 * head,
          .begin = 2 * 2 * end + 2 * 2 * layer,
          .of_layer = 2 * 2 * layer,
          .of_first = 2 * layer,
          .made = 2 * layer,
          .reduced = 4 * layer,
          .head = 4 * head + 2 * layer,
          .ends = 6 * end}},
        {"zero 2",
         {.begin = 2 * 2 * (end + head) + 2 * 2 * layer,
          .of_loss = 2 * all,
          .of_layer = 2 * all,
          .of_first = 2 * (end + head) + 2 * layer,
          .made = 2 * layer + 2 * head,
          .reduced = 4 * layer,
          .head = 2 * head,
          .ends = 6 * (end + head)}},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[160];
        snprintf(text,
                 sizeof text,
                 "gpus 8;use-torch-fsdp2;grad-dtype fp32;global-batch 16;%s",
                 cases[i].options);
        struct sc__training_state x = state_of(*state, SHAPE, text, 0);
        const struct sc__fsdp_passing *f = &cases[i].wanted;
        assert_within(x.weights, 4 * all / 8, 1e-9);
        assert_within(x.gradients, 4 * all / 8, 1e-9);
        assert_within(x.optimizer, 8 * all / 8, 1e-9);
        assert_within(x.fsdp.begin, f->begin, 1e-9);
        assert_within(x.fsdp.of_loss, f->of_loss, 1e-9);
        assert_within(x.fsdp.of_first, f->of_first, 1e-9);
        assert_within(x.fsdp.of_layer, f->of_layer, 1e-9);
        assert_within(x.fsdp.made, f->made, 1e-9);
        assert_within(x.fsdp.reduced, f->reduced, 1e-9);
        assert_within(x.fsdp.head, f->head, 1e-9);
        assert_within(x.fsdp.ends, f->ends, 1e-9);
    }
}

/* Where gradients leave for the host as they are reduced, two buckets of them are there. */
static void gradients_that_leave(void **state) {
    static const char text[] = "gpus 8;global-batch 16;zero 2;overlap-offload yes;bucket "
                               "1000000;offload-optimizer ";
    char half[128];
    char whole[128];
    snprintf(half, sizeof half, "%s0.5", text);
    snprintf(whole, sizeof whole, "%s1", text);
    struct sc__training_state x = state_of(*state, SHAPE, half, 0);
    assert_within(x.gradients, 0.5 * 4 * all / 8 + 2e6, 1e-9);
    assert_within(x.optimizer, 0.5 * 12 * all / 8, 1e-9);
    assert_within(x.host, 0.5 * (12 + 4) * all / 8, 1e-9);
    x = state_of(*state, SHAPE, whole, 0);
    assert_within(x.gradients, 2e6, 1e-9);
    assert_within(x.host, (12 + 4) * all / 8, 1e-9);
}

/* Each weight once, with its main copy and state, however the ranks cut it; of adapters
 * of rank r, r·(in + out) for each linear layer. */
static void checkpoints(void **state) {
    static const char *const cuts[] = {"gpus 1", "gpus 2;tp 2", "gpus 4;tp 2;pp 2"};
    double lora = LAYERS * 16 * (2.0 * (HIDDEN + HIDDEN) + (FFN + HIDDEN));
    for (unsigned i = 0; i < 3; i++) {
        struct sc__model m;
        struct sc__plan p;
        char text[512];
        snprintf(text, sizeof text, SHAPE "global-batch 4;%s", cuts[i]);
        assert_int_equal(plan_of(*state, text, &m, &p), SC_OK);
        assert_within(sc__plan_checkpoint_bytes(&m, &p), 14 * all, 1e-9);
        snprintf(text,
                 sizeof text,
                 SHAPE "global-batch 4;lora 16;lora-targets q_proj,v_proj,down_proj;%s",
                 cuts[i]);
        assert_int_equal(plan_of(*state, text, &m, &p), SC_OK);
        assert_within(sc__plan_checkpoint_bytes(&m, &p), 14 * lora, 1e-9);
    }
}

/* Two layers of Mamba-2 have their own names: z, x, B, C and dt behind one product, what is
 * wider behind another; of models without them out_proj is attention's. */
static void adapters_of_scans(void **state) {
    static const double in = HIDDEN + 2 * 2048 + 2 * 8 * 128 + 32;
    static const double out = 2048 + HIDDEN;
    static const struct {
        const char *targets;
        const char *pattern;
        double each;
    } rows[] = {{"in_proj", "M*M-", 2 * in},
                {"out_proj", "M*M-", 2 * out},
                {"o_proj", "M*M-", 2 * HIDDEN},
                {"in_proj,out_proj", "M*M-", 2 * (in + out)},
                {"all", "M*M-", 2 * (in + out) + 8 * HIDDEN + 3 * (FFN + HIDDEN)},
                {"out_proj", "****", 4 * 2 * HIDDEN}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sc__model m;
        struct sc__plan p;
        char text[640];
        snprintf(text,
                 sizeof text,
                 SHAPE "gpus 1;global-batch 1;hybrid-override-pattern %s;"
                       "mamba-num-heads 32;mamba-head-dim 64;mamba-state-dim 128;"
                       "mamba-num-groups 8;lora 16;lora-targets %s",
                 rows[i].pattern,
                 rows[i].targets);
        assert_int_equal(plan_of(*state, text, &m, &p), SC_OK);
        assert_within(sc__plan_checkpoint_bytes(&m, &p), 14 * 16 * rows[i].each, 1e-9);
    }
}

/* A layer of Llama's with Megatron's operators, bytes a token: two norms' inputs and
 * outputs, queries, keys and values, attention's output and 4 bytes a head; gate and up,
 * and the input of down. Four keys and values for sixteen heads; with tp 8 each rank has
 * one of them whole. */
static void activations_of_grouped_queries(void **state) {
    static const uint32_t cuts[] = {1, 2, 8};
    const double head = 64;
    for (unsigned i = 0; i < 3; i++) {
        struct sc__model m;
        struct sc__plan p;
        double t = cuts[i];
        double kv = t > 4 ? t : 4;
        char text[512];
        snprintf(text,
                 sizeof text,
                 SHAPE "group-query-attention;num-query-groups 4;global-batch 8;"
                       "micro-batch 2;tp %u;gpus %u",
                 cuts[i],
                 cuts[i]);
        assert_int_equal(plan_of(*state, text, &m, &p), SC_OK);
        double norms = 2 * (2 + 2) * HIDDEN;
        double heads = 2 * (16 + 2 * kv + 16) * head + 4 * 16;
        double token = norms + (heads + 6 * FFN) / t;
        assert_within(sc__layer_activations(&m, &p, 0), 2 * 1024 * token, 1e-9);
    }
}

/* Only the first layers of a stage are computed again: they keep their input, the others
 * all of it. */
static void recomputed_block(void **state) {
    static const char *const rest[] = {"",
                                       ";recompute full",
                                       ";recompute full;recompute-method "
                                       "block;recompute-layers 1"};
    double kept[3];
    for (unsigned i = 0; i < 3; i++) {
        struct sc__model m;
        struct sc__plan p;
        char text[512];
        snprintf(text, sizeof text, SHAPE "gpus 1;global-batch 4;micro-batch 2%s", rest[i]);
        assert_int_equal(plan_of(*state, text, &m, &p), SC_OK);
        kept[i] = sc__plan_memory(&m, &p, 0).activations;
    }
    double input = 2 * 2 * 1024.0 * HIDDEN;
    double beside = kept[1] - LAYERS * input;
    assert_within(kept[2],
                  beside + input + (LAYERS - 1) * (kept[0] - beside) / LAYERS,
                  1e-9);
}

/* What modules that run again no longer keep, bytes a token of a layer. moe_act is the
 * activation of the routed experts (experts.py of Megatron-Core), not that of shared ones
 * (shared_experts.py: an MLP as any other). layernorm are the norms that are no part of a
 * product: before latents and before a router (gpt_layer_specs.py). */
static void modules_that_run_again(void **state) {
#define SHARED_EXPERT SHAPE_OF_EXPERTS "moe-shared-expert-intermediate-size 512;gpus 4;"
#define LATENTS                                                                            \
    SHAPE "multi-latent-attention;kv-lora-rank 256;qk-head-dim 64;"                        \
          "qk-pos-emb-head-dim 32;v-head-dim 64;gpus 1;"
#define DENSE SHAPE "gpus 1;"
    static const struct {
        const char *shape;
        const char *modules;
        double less;
    } cases[] = {{SHARED_EXPERT, "moe_act", 2 * 2 * FFN},
                 {SHARED_EXPERT, "act", 2 * 2 * FFN + 2 * 512},
                 {SHARED_EXPERT, "shared_experts", 6 * 512},
                 {SHARED_EXPERT, "layernorm", 2 * HIDDEN},
                 {SHARED_EXPERT, "norm", 4 * HIDDEN},
                 {SHARED_EXPERT "fusion eager;", "layernorm", 4 * HIDDEN},
                 {DENSE, "layernorm", 0},
                 {DENSE, "norm", 4 * HIDDEN},
                 {DENSE, "moe_act", 0},
                 {LATENTS, "layernorm", 2 * HIDDEN}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc__model m;
        struct sc__plan p;
        char text[768];
        snprintf(text, sizeof text, "%sglobal-batch 4", cases[i].shape);
        assert_int_equal(plan_of(*state, text, &m, &p), SC_OK);
        double kept = sc__layer_activations(&m, &p, 0);
        snprintf(text,
                 sizeof text,
                 "%sglobal-batch 4;recompute selective;recompute-modules %s",
                 cases[i].shape,
                 cases[i].modules);
        assert_int_equal(plan_of(*state, text, &m, &p), SC_OK);
        assert_within(kept - sc__layer_activations(&m, &p, 0) + 1,
                      1024 * cases[i].less + 1,
                      1e-9);
    }
}

/* GPipe runs all forwards before the first backward: the last stage keeps what the loss of
 * each micro-batch needs (six: five of them beside the one at work), as an interleaved one
 * with fewer micro-batches than stages does. 1F1B has one. */
static void losses_that_wait(void **state) {
    static const struct {
        const char *schedule;
        const char *loss;
        double waiting; /* bytes of a logit, of all micro-batches but one */
        double working;
    } cases[] = {
        {"schedule 1f1b;global-batch 6", "fused", 0, 6},
        {"schedule gpipe;global-batch 6", "fused", 5 * 4, 6},
        {"schedule gpipe;global-batch 6", "unfused", 5 * 4, 6},
        {"schedule gpipe;global-batch 6", "fp32", 5 * 4, 12},
        {"schedule gpipe;global-batch 6", "half", 5 * 2, 6},
        {"schedule gpipe;global-batch 6", "flash", 5 * 2, 4},
        {"schedule gpipe;global-batch 6", "te", 5 * 2, 2},
        {"schedule gpipe;global-batch 6", "chunked", 0, 12.0 / 16},
        {"schedule gpipe;global-batch 6;pipeline-batch 2", "fused", 1 * 4, 6},
        {"vpp 2;global-batch 6", "fused", 0, 6},
        {"vpp 2;global-batch 1", "fused", 0, 6},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc__model m;
        struct sc__plan p;
        char text[1024];
        snprintf(text,
                 sizeof text,
                 SHAPE "gpus 2;pp 2;cross-entropy %s;%s",
                 cases[i].loss,
                 cases[i].schedule);
        if (plan_of(*state, text, &m, &p) != SC_OK)
            fail_msg("%s: %s", text, sc_error_text(*state));
        struct sc__stage_memory x = sc__plan_memory(&m, &p, 1);
        double wanted = 1024.0 * VOCAB * (cases[i].waiting + cases[i].working);
        if (fabs(x.logits - wanted) > 1e-9 * wanted)
            fail_msg("%s: %g bytes of logits, not %g", text, x.logits, wanted);
        assert_number(sc__plan_memory(&m, &p, 0).logits, ==, 0);
    }
}

/* Interleaved, two stages of two chunks of a layer each: the first has five pieces in
 * flight. The last has three, of which one is in the chunk with the final norm: its input
 * and output are there once, not three times a half. */
static void ends_of_interleaved_stages(void **state) {
    struct sc__model m;
    struct sc__plan p;
    assert_int_equal(
        plan_of(*state, SHAPE "gpus 2;pp 2;vpp 2;global-batch 8;recompute none", &m, &p),
        SC_OK);
    double of_layer = sc__layer_activations(&m, &p, 0);
    assert_within(sc__plan_memory(&m, &p, 0).activations, 5 * of_layer, 1e-12);
    assert_within(sc__plan_memory(&m, &p, 1).activations,
                  3 * of_layer + 4.0 * 1024 * HIDDEN,
                  1e-12);
}

static void fits_to_the_byte(void **state) {
    struct sc__model m;
    struct sc__plan p;
    uint32_t stage;
    assert_int_equal(plan_of(*state, SHAPE "gpus 2;pp 2;global-batch 4", &m, &p), SC_OK);
    struct sc__stage_memory most = sc__plan_most_memory(&m, &p, &stage);
    double sum = sc__memory_sum(&most);
    assert_int_equal(sc__memory_check(*state, &m, &p, sum + 1), SC_OK);
    assert_int_equal(sc__memory_check(*state, &m, &p, sum - 1), SC_NO_FIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_optimizers),
        cmocka_unit_test(roots_of_adam_over_lists),
        cmocka_unit_test(zero_with_experts),
        cmocka_unit_test(gradients_wait_in_a_pipeline),
        cmocka_unit_test(moments_of_fsdp),
        cmocka_unit_test(gathered_weights),
        cmocka_unit_test(gradients_that_leave),
        cmocka_unit_test(checkpoints),
        cmocka_unit_test(adapters_of_scans),
        cmocka_unit_test(activations_of_grouped_queries),
        cmocka_unit_test(recomputed_block),
        cmocka_unit_test(modules_that_run_again),
        cmocka_unit_test(losses_that_wait),
        cmocka_unit_test(ends_of_interleaved_stages),
        cmocka_unit_test(fits_to_the_byte),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
