/* Gemma 4: layers that see all keys have heads of their own. Parameters, FLOPs and kept
 * activations are added up here by hand from the shapes. */
#include "hardware/kernel_layer.h"
#include "model/read.h"
#include "opened.h"
#include "plan/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

/* A model of six layers, the third and the sixth see all keys; later keys count. */
#define SMALL                                                                              \
    "\"model_type\": \"gemma4_text\", \"num_hidden_layers\": 6, \"hidden_size\": 96, "     \
    "\"num_attention_heads\": 12, \"num_key_value_heads\": 6, \"head_dim\": 16, "          \
    "\"intermediate_size\": 80, \"vocab_size\": 1000, \"sliding_window\": 32, "            \
    "\"sliding_window_pattern\": 3, \"hidden_size_per_layer_input\": 0, "
#define HEADS                                                                              \
    "\"global_head_dim\": 40, \"num_global_key_value_heads\": 4, "                         \
    "\"attention_k_eq_v\": true"
#define EXPERTS                                                                            \
    ", \"enable_moe_block\": true, \"num_experts\": 8, \"top_k_experts\": 2, "             \
    "\"moe_intermediate_size\": 24"

static void read_model(struct sc_context *ctx, const char *keys, struct sc__model *m) {
    const char *text = sc__format(&ctx->arena, "{%s}", keys);
    if (sc__model_parse(ctx, "config.json", sc__str(text), m) != SC_OK)
        fail_msg("%s: %s", text, sc_error_text(ctx));
}

static void same(double got, double want) {
    if (fabs(got - want) > 1e-9 * fabs(want))
        fail_msg("%.17g, by hand %.17g", got, want);
}

/* google/gemma-4-26B-A4B, the shapes of its text_config. */
static void test_26b_a4b_by_hand(void **state) {
    struct sc__model m;
    struct sc__model_params p;
    read_model(*state,
               "\"model_type\": \"gemma4_text\", \"hidden_size\": 2816, "
               "\"num_hidden_layers\": 30, \"num_attention_heads\": 16, "
               "\"num_key_value_heads\": 8, \"num_global_key_value_heads\": 2, "
               "\"head_dim\": 256, \"global_head_dim\": 512, \"attention_k_eq_v\": true, "
               "\"enable_moe_block\": true, \"intermediate_size\": 2112, "
               "\"moe_intermediate_size\": 704, \"num_experts\": 128, "
               "\"top_k_experts\": 8, \"sliding_window\": 1024, \"vocab_size\": 262144, "
               "\"hidden_size_per_layer_input\": 0",
               &m);
    sc__model_count(&m, &p);
    /* q, k, v and out; q, k and out; two norms of a head each */
    double sliding = 2816.0 * 256 * (16 + 8 + 8 + 16) + 2 * 256;
    double full = 2816.0 * 512 * (16 + 2 + 16) + 2 * 512;
    double dense = 3 * 2816.0 * 2112;
    double expert = 3 * 2816.0 * 704;
    double router = 2816.0 * 128 + 2816 + 128; /* and its scales */
    double rest = 25 * sliding + 5 * full + 30 * (dense + router + 7 * 2816.0) +
                  262144.0 * 2816 + 2816;
    same(p.total, rest + 30 * 128 * expert);
    same(p.active, rest + 30 * 8 * expert);
    /* published: 25.2 B, 3.8 B active */
    assert_true(fabs(p.total / 25.2e9 - 1) < 0.005);
    assert_true(fabs(p.active / 3.8e9 - 1) < 0.01);
}

/* google/gemma-4-31B, dense, published 30.7 B. */
static void test_31b_published(void **state) {
    struct sc__model m;
    struct sc__model_params p;
    read_model(*state,
               "\"model_type\": \"gemma4_text\", \"hidden_size\": 5376, "
               "\"num_hidden_layers\": 60, \"num_attention_heads\": 32, "
               "\"num_key_value_heads\": 16, \"num_global_key_value_heads\": 4, "
               "\"head_dim\": 256, \"global_head_dim\": 512, \"attention_k_eq_v\": true, "
               "\"enable_moe_block\": false, \"intermediate_size\": 21504, "
               "\"num_experts\": null, \"sliding_window\": 1024, \"vocab_size\": 262144, "
               "\"hidden_size_per_layer_input\": 0",
               &m);
    sc__model_count(&m, &p);
    assert_true(fabs(p.total / 30.7e9 - 1) < 0.005);
    assert_true(p.active == p.total);
}

static void test_small_by_hand(void **state) {
    static const struct {
        const char *keys;
        double full; /* attention of a layer that sees all keys */
        double rest; /* feed-forward and norms of a layer */
    } cases[] = {
        {SMALL HEADS, 96.0 * 40 * (12 + 4 + 12) + 80, 3 * 96.0 * 80 + 4 * 96},
        /* values of their own: the number of key-value heads is that of all layers */
        {SMALL "\"global_head_dim\": 40, \"num_global_key_value_heads\": 4",
         96.0 * 40 * (12 + 6 + 6 + 12) + 80,
         3 * 96.0 * 80 + 4 * 96},
        {SMALL "\"global_head_dim\": null, \"attention_k_eq_v\": true",
         96.0 * 16 * (12 + 6 + 12) + 32,
         3 * 96.0 * 80 + 4 * 96},
        /* sizes of experts that are switched off */
        {SMALL HEADS ", \"num_experts\": 8, \"top_k_experts\": 2",
         96.0 * 40 * (12 + 4 + 12) + 80,
         3 * 96.0 * 80 + 4 * 96},
        {SMALL HEADS EXPERTS,
         96.0 * 40 * (12 + 4 + 12) + 80,
         3 * 96.0 * 80 + 8 * 3 * 96.0 * 24 + 96 * 8 + 96 + 8 + 7 * 96},
        {SMALL HEADS ", \"attention_bias\": true",
         96.0 * 40 * (12 + 4 + 12) + 80 + 40 * (12 + 4) + 96,
         3 * 96.0 * 80 + 4 * 96 +
             4.0 / 6 * (16 * (12 + 6 + 6) + 96)}, /* of the four others */
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc__model m;
        struct sc__model_params p;
        read_model(*state, cases[i].keys, &m);
        sc__model_count(&m, &p);
        double sliding = 96.0 * 16 * (12 + 6 + 6 + 12) + 32;
        same(p.total, 4 * sliding + 2 * cases[i].full + 6 * cases[i].rest + 1000 * 96 + 96);
    }
}

/* Pairs of a query and a key it sees, one by one. */
static double seen_pairs(uint32_t seq, uint32_t window) {
    double pairs = 0;
    for (uint32_t q = 0; q < seq; q++)
        for (uint32_t k = 0; k <= q; k++)
            pairs += !window || q - k < window;
    return pairs;
}

/* Two products of 2 FLOP a pair and element, and twice that backward; 6 FLOP for a token
 * and a weight. */
static void test_flops_of_both_kinds(void **state) {
    struct sc__model m;
    read_model(*state, SMALL HEADS EXPERTS, &m);
    double seq = 2048;
    double full = 3 * 2 * 2 * seen_pairs(2048, 0) * 12 * 40;
    double sliding = 3 * 2 * 2 * seen_pairs(2048, 32) * 12 * 16;
    for (uint32_t layer = 0; layer < 6; layer++) {
        bool own = layer == 2 || layer == 5;
        double core = sc__model_attention_core_flops(&m, layer, 1, seq, true);
        /* half of the square, without half of the diagonal */
        assert_true(fabs(core / (own ? full : sliding) - 1) <
                    (own ? 1.0 / 2048 : 1.0 / 32));
        double projections = own ? 96.0 * 40 * 28 : 96.0 * 16 * 36;
        double feed_forward = 3 * 96.0 * 80 + 2 * 3 * 96.0 * 24 + 96 * 8;
        same(sc__model_layer_flops(&m, layer, 1, seq, true) - core,
             6 * seq * (projections + feed_forward));
        assert_true(sc__model_own_heads(&m, layer) == own);
        assert_true(sc__model_layers_alike(&m, layer, 2) == own);
    }
}

/* What ranks hold is the model, however its layers are cut. */
static void test_shards_hold_the_model(void **state) {
    struct sc__model m;
    struct sc__model_params count;
    read_model(*state, SMALL HEADS EXPERTS, &m);
    sc__model_count(&m, &count);
    struct sc__plan p = {.mesh = {.tp = 1, .cp = 1, .ep = 1, .dp = 1, .pp = 1, .etp = 1}};
    double sum = 0;
    for (uint32_t layer = 0; layer < 6; layer++) {
        struct sc__shard s = sc__plan_layer_shard(&p, &m, layer);
        sum += s.dense + s.experts;
    }
    same(sum, count.total - 1000 * 96 - 96);
    /* adapters of rank 4 on q and v, where there is a projection of values */
    p.lora = 4;
    p.lora_targets = SC__LORA_Q | SC__LORA_V;
    same(sc__plan_layer_trained(&p, &m, 0).dense, 4 * (96 + 192 + 96 + 96));
    same(sc__plan_layer_trained(&p, &m, 2).dense, 4 * (96 + 480));
}

/* With fused operators in bf16 a layer keeps queries, keys, values and the output of
 * attention, and what the norms of q, k and v were given: keys once where values are
 * made of them. */
static void test_kept_by_both_kinds(void **state) {
    struct sc__model m;
    read_model(*state, SMALL HEADS, &m);
    struct sc__plan p = {.mesh = {.tp = 1, .cp = 1, .ep = 1, .dp = 1, .pp = 1, .etp = 1},
                         .fusion = SC__FUSION_MEGATRON,
                         .dtype = SC__BF16,
                         .gemm = SC__BF16,
                         .micro_batch = 2,
                         .seq = 64};
    double full = 40.0 * (12 + 4 + 4) + 40 * (12 + 4) + 40 * 12;
    double sliding = 16.0 * (12 + 6 + 6) + 16 * (12 + 6 + 6) + 16 * 12;
    same(sc__layer_activations(&m, &p, 2) - sc__layer_activations(&m, &p, 0),
         2 * 64 * 2 * (full - sliding));
    /* by operator, apart: q, v, gate, down or q, out, gate; the output of attention */
    p.recompute = SC__RECOMPUTE_OPS;
    p.fusion = SC__FUSION_HF;
    same(sc__layer_activations(&m, &p, 2) - sc__layer_activations(&m, &p, 0),
         2 * 64 * 2 * (40.0 * 12 + 40 * 12 - 16 * (12 + 6) - 16 * 12));
}

static double gemm_flops(const struct sc__layer_kernels *list) {
    double sum = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].kernel.kind == SC__KERNEL_GEMM)
            sum += list->items[i].kernel.flop;
    return sum;
}

/* GEMMs: 2 FLOP for a token and a weight forward, twice that backward, whether the
 * projections are one or apart. */
static void test_kernels_without_values(void **state) {
    struct sc_context *ctx = *state;
    const struct sc__gpu *gpu;
    assert_int_equal(sc__gpu_find(ctx, "h200", &gpu), SC_OK);
    struct sc__kernel_model *model = sc__kernel_model_new(&ctx->arena, gpu);
    const enum sc__fusion fusions[] = {SC__FUSION_MEGATRON, SC__FUSION_HF};
    for (unsigned i = 0; i < 2; i++) {
        struct sc__layer_shape s = {.fusion = fusions[i],
                                    .dtype = SC__BF16,
                                    .gemm = SC__BF16,
                                    .batch = 1,
                                    .seq = 4096,
                                    .hidden = 2816,
                                    .heads = 16,
                                    .kv_heads = 2,
                                    .head_dim = 512,
                                    .key_values = true,
                                    .qk_norm = true,
                                    .v_norm = true,
                                    .ffn = 2112,
                                    .tp = 1,
                                    .cp = 1,
                                    .gated = true,
                                    .rmsnorm = true,
                                    .rope = true,
                                    .causal = true,
                                    .post_norms = true};
        struct sc__layer_kernels f = {0};
        struct sc__layer_kernels b = {0};
        sc__layer_kernels(&ctx->arena, model, &s, &f, &b);
        double weights = 2816.0 * 512 * (16 + 2 + 16) + 3 * 2816.0 * 2112;
        same(gemm_flops(&f), 2 * 4096 * weights);
        same(gemm_flops(&b), 4 * 4096 * weights);
    }
}

/* Heads of 512 have twice the FLOPs of heads of 256, and take no less than twice the
 * time but for what does not depend on them. */
static void test_heads_beyond_those_measured(void **state) {
    struct sc_context *ctx = *state;
    const struct sc__gpu *gpu;
    assert_int_equal(sc__gpu_find(ctx, "h200", &gpu), SC_OK);
    struct sc__kernel_model *model = sc__kernel_model_new(&ctx->arena, gpu);
    struct sc__attention a = {.batch = 1,
                              .heads = 16,
                              .kv_heads = 2,
                              .sq = 8192,
                              .skv = 8192,
                              .head_dim = 256,
                              .causal = true};
    struct sc__attention wide = a;
    wide.head_dim = 512;
    double forward =
        sc__attention_forward(model, &wide).us / sc__attention_forward(model, &a).us;
    double backward =
        sc__attention_backward(model, &wide).us / sc__attention_backward(model, &a).us;
    assert_true(forward > 1.95 && forward <= 2);
    assert_true(backward > 1.95 && backward <= 2);
}

static void test_refused(void **state) {
    static const struct {
        const char *keys;
        const char *why;
    } cases[] = {
        {"\"global_head_dim\": 0", "\"global_head_dim\" must be a whole number from 1"},
        {"\"global_head_dim\": -512", "\"global_head_dim\" must be a whole number from 1"},
        {"\"global_head_dim\": \"512\"", "\"global_head_dim\" must be a whole number"},
        {"\"global_head_dim\": 1e2", "\"global_head_dim\" must be a whole number"},
        {"\"global_head_dim\": 4294967808", "\"global_head_dim\" must be a whole number"},
        {"\"num_global_key_value_heads\": 5", "12 attention heads cannot share 5"},
        {"\"num_global_key_value_heads\": 0", "must be a whole number from 1"},
        {"\"num_global_key_value_heads\": [4]", "must be a whole number from 1"},
        {"\"attention_k_eq_v\": 1", "\"attention_k_eq_v\" takes true or false"},
        {"\"enable_moe_block\": \"yes\"", "\"enable_moe_block\" takes true or false"},
        {"\"enable_moe_block\": true", "\"num_experts\" is missing"},
        {"\"enable_moe_block\": true, \"num_experts\": 8, \"top_k_experts\": 2",
         "\"moe_intermediate_size\" is missing"},
        {"\"enable_moe_block\": true, \"num_experts\": 8, \"top_k_experts\": 9, "
         "\"moe_intermediate_size\": 8",
         "from 0 to 8"},
        {"\"layer_types\": [\"full_attention\"]", "a word for each layer"},
        {"\"layer_types\": \"full_attention\"", "a word for each layer"},
        {"\"layer_types\": [\"sliding_attention\", \"full_attention\", "
         "\"sliding_attention\", \"sliding_attention\", \"sliding_attention\", "
         "\"full_attention\"]",
         "not each n-th"},
        {"\"layer_types\": [\"sliding_attention\", \"sliding_attention\", "
         "\"sliding_attention\", \"sliding_attention\", \"sliding_attention\", "
         "\"sliding_attention\"]",
         "not each n-th"},
        {"\"num_kv_shared_layers\": 2", "\"num_kv_shared_layers\"), which is not modelled"},
        {"\"num_kv_shared_layers\": -1", "must be a whole number from 0"},
        {"\"use_double_wide_mlp\": true",
         "\"use_double_wide_mlp\"), which is not modelled"},
        {"\"use_bidirectional_attention\": \"all\"", "seen in both directions"},
        {"\"per_layer_config\": {\"2\": {\"head_dim\": 8}}", "layer by layer"},
    };
    struct sc__model m;
    struct sc_context *ctx = *state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = sc__format(
            &ctx->arena,
            "{\"model_type\": \"gemma4_text\", \"num_hidden_layers\": 6, "
            "\"hidden_size\": 96, \"num_attention_heads\": 12, "
            "\"num_key_value_heads\": 6, \"head_dim\": 16, \"intermediate_size\": 80, "
            "\"vocab_size\": 1000, \"hidden_size_per_layer_input\": 0, %s}",
            cases[i].keys);
        if (sc__model_parse(ctx, "config.json", sc__str(text), &m) != SC_INPUT)
            fail_msg("%s was not refused", cases[i].keys);
        if (!strstr(sc_error_text(ctx), cases[i].why))
            fail_msg("%s: %s", cases[i].keys, sc_error_text(ctx));
    }
    /* E2B and E4B, by the key or by its default */
    static const char without[] =
        "{\"model_type\": \"gemma4_text\", \"num_hidden_layers\": 6, \"hidden_size\": 96, "
        "\"intermediate_size\": 80}";
    assert_int_equal(sc__model_parse(ctx, "config.json", sc__str(without), &m), SC_INPUT);
    assert_non_null(strstr(sc_error_text(ctx), "hidden_size_per_layer_input"));
    /* seven layers: the last would be a second kind out of turn */
    static const char seven[] =
        "{\"model_type\": \"gemma4_text\", \"num_hidden_layers\": 7, \"hidden_size\": 96, "
        "\"intermediate_size\": 80, \"hidden_size_per_layer_input\": 0}";
    assert_int_equal(sc__model_parse(ctx, "config.json", sc__str(seven), &m), SC_INPUT);
    assert_non_null(strstr(sc_error_text(ctx), "not each n-th and the last"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_26b_a4b_by_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(test_31b_published, setup, teardown),
        cmocka_unit_test_setup_teardown(test_small_by_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(test_flops_of_both_kinds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shards_hold_the_model, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept_by_both_kinds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kernels_without_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_heads_beyond_those_measured, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
