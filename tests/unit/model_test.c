/* Model descriptions: parameters against published counts, FLOPs against the
 * closed forms, hostile configurations, launch scripts. */
#include "launch/read.h"
#include "model/read.h"
#include "opened.h"
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static double number_of(const struct sc__data_file *f, const char *key) {
    json_t *root = json_loadb((const char *)f->bytes, f->size, 0, NULL);
    double v = json_number_value(json_object_get(root, key));
    json_decref(root);
    return v;
}

/* Published counts, which the files carry with their sources. Where print has
 * too few digits for half a per cent, a file carries the count its paper's own
 * formula gives. */
static void test_presets_have_published_parameters(void **state) {
    unsigned seen = 0;
    unsigned wrong = 0;
    for (unsigned i = 0; i < sc__data_file_count; i++) {
        const struct sc__data_file *f = &sc__data_files[i];
        struct sc__model m;
        struct sc__model_params p;
        if (strncmp(f->path, "models/", 7))
            continue;
        assert_int_equal(sc__model_parse(*state,
                                         f->path,
                                         (struct sc__str){(const char *)f->bytes, f->size},
                                         &m),
                         SC_OK);
        sc__model_count(&m, &p);
        double published = number_of(f, "_parameters");
        if (fabs(p.total - published) > 0.005 * published) {
            print_error("%s: %.10g, published %.10g\n", f->path, p.total, published);
            wrong++;
        }
        assert_non_null(m.source);
        seen++;
    }
    assert_int_equal(wrong, 0);
    assert_true(seen >= 40);
}

static sc_status parse(struct sc_context *ctx, const char *more, struct sc__model *m) {
    char text[512];
    int n = snprintf(
        text,
        sizeof text,
        "{\"num_hidden_layers\": 12, \"hidden_size\": 512, \"num_attention_heads\": 8, "
        "\"intermediate_size\": 1024, \"vocab_size\": 1000, %s}",
        more);
    return sc__model_parse(ctx, "config.json", (struct sc__str){text, (size_t)n}, m);
}

/* Which of twelve layers see a window, as the families' own code has it. */
#define WINDOW "\"sliding_attention\""
#define ALL "\"full_attention\""
static void test_windows(void **state) {
    static const struct {
        /* w: a window, f: all keys */
        const char *more;
        const char *layers;
    } cases[] = {
        {"\"model_type\": \"mistral\", \"sliding_window\": 64", "wwwwwwwwwwww"},
        {"\"model_type\": \"mistral\", \"sliding_window\": null", "ffffffffffff"},
        {"\"model_type\": \"mistral\", \"sliding_window\": 4096", "ffffffffffff"},
        {"\"model_type\": \"qwen2\", \"sliding_window\": 64, \"use_sliding_window\": false",
         "ffffffffffff"},
        {"\"model_type\": \"gemma2\", \"sliding_window\": 64", "wfwfwfwfwfwf"},
        {"\"model_type\": \"gemma2\", \"sliding_window_size\": 64", "wfwfwfwfwfwf"},
        {"\"model_type\": \"gemma3_text\", \"sliding_window\": 64", "wwwwwfwwwwwf"},
        {"\"model_type\": \"gemma3_text\", \"sliding_window\": 64, "
         "\"sliding_window_pattern\": 4",
         "wwwfwwwfwwwf"},
        {"\"model_type\": \"qwen2\", \"sliding_window\": 64, "
         "\"use_sliding_window\": true, \"max_window_layers\": 3",
         "fffwwwwwwwww"},
        {"\"model_type\": \"llama\", \"sliding_window\": 64, \"layer_types\": "
         "[" WINDOW "," WINDOW "," ALL "," WINDOW "," WINDOW "," ALL "," WINDOW "," WINDOW
         "," ALL "," WINDOW "," WINDOW "," ALL "]",
         "wwfwwfwwfwwf"},
        /* Ministral: those that see all keys come first */
        {"\"model_type\": \"mistral\", \"sliding_window\": 64, \"layer_types\": "
         "[" ALL "," WINDOW "," WINDOW "," WINDOW "," ALL "," WINDOW "," WINDOW "," WINDOW
         "," ALL "," WINDOW "," WINDOW "," WINDOW "]",
         "fwwwfwwwfwww"},
        {"\"model_type\": \"mistral\", \"sliding_window\": 64, \"layer_types\": "
         "[" WINDOW "," ALL "," WINDOW "," WINDOW "," ALL "," WINDOW "," WINDOW "," WINDOW
         "," WINDOW "," WINDOW "," WINDOW "," ALL "]",
         "wfwwfwwwwwwf"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc__model m;
        assert_int_equal(parse(*state, cases[i].more, &m), SC_OK);
        for (uint32_t k = 0; k < 12; k++)
            if (sc__model_windowed(&m, k, 1024) != (cases[i].layers[k] == 'w'))
                fail_msg("%s: layer %u", cases[i].more, k);
    }
}

/* 72·B·s·l·h²(1 + s/6h + V/12lh), Narayanan et al. 2021. */
/* BLOOM has a LayerNorm behind its embedding (weight and bias): its model card's count to
 * the last one, which half a per cent would not show. */
static void test_bloom_has_a_norm_behind_its_embedding(void **state) {
    static const char text[] = "{\"model_type\": \"bloom\", \"hidden_size\": 4096, "
                               "\"n_layer\": 30, \"n_head\": 32, \"vocab_size\": 250880}";
    struct sc__model m;
    struct sc__model_params p;
    assert_int_equal(sc__model_parse(*state, "bloom.json", sc__str(text), &m), SC_OK);
    sc__model_count(&m, &p);
    assert_true(p.total == 7069016064);
}

/* Latent experts: tokens of 64 go to 8 experts as 16, with a feed-forward of 32 and no
 * gate, and back. Against the same model without, a layer has two projections more and
 * experts a quarter as wide. */
static void test_latent_experts(void **state) {
    static const char head[] = "{\"model_type\": \"nemotron_h\", \"hidden_size\": 64, "
                               "\"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
                               "\"num_key_value_heads\": 2, \"intermediate_size\": 32, "
                               "\"vocab_size\": 128, \"hybrid_override_pattern\": \"*E\", "
                               "\"mamba_num_heads\": 4, \"mamba_head_dim\": 16, "
                               "\"n_groups\": 1, \"ssm_state_size\": 16, "
                               "\"conv_kernel\": 4, \"chunk_size\": 16, "
                               "\"n_routed_experts\": 8, \"num_experts_per_tok\": 2";
    struct sc__model plain;
    struct sc__model latent;
    struct sc__model_params p;
    struct sc__model_params q;
    char text[1024];
    uint32_t parts[SC__PREDICTION_LAYERS];
    snprintf(text, sizeof text, "%s}", head);
    assert_int_equal(sc__model_parse(*state, "a.json", sc__str(text), &plain), SC_OK);
    snprintf(text, sizeof text, "%s, \"moe_latent_size\": 16}", head);
    assert_int_equal(sc__model_parse(*state, "b.json", sc__str(text), &latent), SC_OK);
    sc__model_count(&plain, &p);
    sc__model_count(&latent, &q);
    assert_true(q.total - p.total == 2 * 64 * 16 - 8 * 2 * (64 - 16) * 32);
    assert_true(q.active - p.active == 2 * 64 * 16 - 2 * 2 * (64 - 16) * 32);
    /* 6 FLOPs a weight and token */
    assert_true(sc__model_flops(&latent, 1, 8, true) -
                    sc__model_flops(&plain, 1, 8, true) ==
                6 * 8 * (q.active - p.active));
    /* a prediction layer is an attention and a feed-forward */
    assert_int_equal(sc__model_prediction(&latent, parts), 2);
    assert_int_equal(parts[0], 0);
    assert_int_equal(parts[1], 1);
}

static void test_flops_of_gpt(void **state) {
    static const char *const names[] = {"gpt3-175b",
                                        "megatron-1.7b",
                                        "megatron-530b",
                                        "gpt2-xl",
                                        NULL};
    for (unsigned i = 0; names[i]; i++) {
        struct sc__model m;
        assert_int_equal(sc__model_find(*state, names[i], &m), SC_OK);
        double B = 12;
        double s = 2048;
        double l = m.layers;
        double h = m.hidden;
        double V = m.vocab;
        double closed = 72 * B * s * l * h * h * (1 + s / (6 * h) + V / (12 * l * h));
        assert_true(fabs(sc__model_flops(&m, B, s, false) / closed - 1) < 1e-9);
    }
}

static void test_active_parameters(void **state) {
    static const struct {
        const char *name;
        double active;
    } cases[] = {{"mixtral-8x7b", 12.9e9},
                 {"deepseek-v3", 37e9},
                 {"qwen3-235b-a22b", 22e9},
                 {"qwen3-30b-a3b", 3.3e9}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc__model m;
        struct sc__model_params p;
        assert_int_equal(sc__model_find(*state, cases[i].name, &m), SC_OK);
        sc__model_count(&m, &p);
        assert_true(fabs(p.active / cases[i].active - 1) < 0.03);
    }
}

static void test_hostile_configurations(void **state) {
    static const char *const bad[] = {
        "",
        "[]",
        "{",
        "nul",
        "{\"model_type\": 3}",
        "{\"model_type\": \"llama\"}",
        "{\"model_type\": \"unheard\"}",
        "{\"model_type\": \"llama\", \"num_hidden_layers\": -1, "
        "\"hidden_size\": 8, \"num_attention_heads\": 2, "
        "\"vocab_size\": 9}",
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 1e3, "
        "\"hidden_size\": 8, \"num_attention_heads\": 2, "
        "\"vocab_size\": 9}",
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 2, "
        "\"hidden_size\": 8, \"num_attention_heads\": 0, "
        "\"vocab_size\": 9}",
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 2, "
        "\"hidden_size\": 8, \"num_attention_heads\": 4, "
        "\"num_key_value_heads\": 3, \"vocab_size\": 9}",
        "{\"model_type\": \"mixtral\", \"num_hidden_layers\": 2, "
        "\"hidden_size\": 8, \"num_attention_heads\": 4, "
        "\"vocab_size\": 9, "
        "\"num_local_experts\": 4, \"num_experts_per_tok\": 5}",
        "{\"model_type\": \"llama\", \"model_type\": \"gpt2\"}",
        NULL};
    for (unsigned i = 0; bad[i]; i++) {
        struct sc__model m;
        assert_int_equal(sc__model_parse(*state, "config.json", sc__str(bad[i]), &m),
                         SC_INPUT);
        assert_non_null(strstr(sc_error_text(*state), "config.json"));
    }
}

static bool noted(const struct sc_context *ctx, const char *text) {
    for (uint32_t i = 0; i < ctx->note_count; i++)
        if (strstr(ctx->notes[i].text, text))
            return true;
    return false;
}

static void test_unknown_keys_are_noted(void **state) {
    struct sc_context *ctx = *state;
    struct sc__model m;
    assert_int_equal(parse(ctx, "\"model_type\": \"llama\", \"colour\": 32", &m), SC_OK);
    assert_int_equal(ctx->note_count, 1);
    assert_non_null(strstr(ctx->notes[0].text, "\"colour\" is not known"));
}

/* Refusals name the key, or what is not modelled. */
static void test_shapes_not_modelled_are_refused(void **state) {
    static const struct {
        const char *more;
        const char *error;
    } cases[] = {
        {"\"model_type\": \"llama\", \"hiden_size\": 32",
         "\"hiden_size\" shapes the model"},
        {"\"model_type\": \"llama\", \"num_routed_experts\": 8",
         "\"num_routed_experts\" shapes"},
        {"\"model_type\": \"llama\", \"mamba_expand\": 2", "\"mamba_expand\" shapes"},
        {"\"model_type\": \"llama\", \"block_configs\": [1]", "\"block_configs\" shapes"},
        {"\"model_type\": \"opt\", \"word_embed_proj_dim\": 128",
         "\"word_embed_proj_dim\" other than 512"},
        {"\"model_type\": \"deepseek_v3\", \"num_experts_per_tok\": 2",
         "\"n_routed_experts\" is missing or 0"},
        {"\"model_type\": \"mixtral\"", "\"num_local_experts\" is missing or 0"},
        {"\"model_type\": \"qwen3_moe\", \"num_experts\": 8, \"num_experts_per_tok\": 2, "
         "\"mlp_only_layers\": [99]",
         "entry 0 of \"mlp_only_layers\" is no layer"},
        {"\"model_type\": \"llama4_text\", \"num_local_experts\": 8, "
         "\"num_experts_per_tok\": 1, \"interleave_moe_layer_step\": 2",
         "\"intermediate_size_mlp\" is missing"},
        {"\"model_type\": \"llama4_text\", \"num_local_experts\": 8, "
         "\"num_experts_per_tok\": 1, \"moe_layers\": [0, -1]",
         "entry 1 of \"moe_layers\" is no layer"},
        {"\"model_type\": \"llama\", \"layer_types\": [\"full_attention\", "
         "\"linear_attention\"]",
         "layer 1 of \"layer_types\" is \"linear_attention\""},
        {"\"model_type\": \"chatglm\", \"multi_query_attention\": true",
         "\"multi_query_group_num\" is missing"},
        {"\"model_type\": \"jamba\"", "has Mamba layers"},
        {"\"model_type\": \"nemotron_h\"", "\"hybrid_override_pattern\" is missing"},
        {"\"model_type\": \"nemotron_h\", \"hybrid_override_pattern\": \"M-\"",
         "has 2 layers, \"num_hidden_layers\" is 12"},
        {"\"model_type\": \"nemotron_h\", \"hybrid_override_pattern\": "
         "\"M-M-M-M-M-Q-\"",
         "layer 10 of \"hybrid_override_pattern\" is 'Q'"},
        {"\"model_type\": \"nemotron_h\", \"hybrid_override_pattern\": "
         "\"M-M-M-M-M-E-\"",
         "\"n_routed_experts\" is missing"},
        {"\"model_type\": \"nemotron_h\", \"hybrid_override_pattern\": "
         "\"M-M-M-M-M-*-\", \"mamba_num_heads\": 0",
         "\"mamba_num_heads\" must be"},
        {"\"model_type\": \"qwen3_5_text\", \"layer_types\": [\"full_attention\"]",
         "does not have a word for each layer"},
        {"\"model_type\": \"qwen3_5_text\", \"linear_value_head_dim\": null",
         "\"linear_value_head_dim\" must be"},
        {"\"model_type\": \"deepseek_v32\"", "\"n_routed_experts\" is missing"},
        {"\"model_type\": \"llama\", \"index_n_heads\": 4", "needs a \"q_lora_rank\""},
        {"\"model_type\": \"unheard\"", "\"hidden_act\" is missing"},
        {"\"model_type\": \"unheard\", \"hidden_act\": \"relu2\"",
         "\"hidden_act\" is not \"silu\""},
        {"\"model_type\": \"unheard\", \"hidden_act\": \"silu\", \"is_encoder_decoder\": "
         "true",
         "it has an encoder"},
        {"\"model_type\": \"unheard\", \"hidden_act\": \"silu\", \"architectures\": "
         "[\"UnheardForMaskedLM\"]",
         "names no causal language model"},
        {"\"model_type\": \"unheard\", \"hidden_act\": \"silu\", \"moe_num_experts\": 4",
         "\"moe_num_experts\" shapes the model"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc__model m;
        assert_int_equal(parse(*state, cases[i].more, &m), SC_INPUT);
        if (!strstr(sc_error_text(*state), cases[i].error))
            fail_msg("%s: %s", cases[i].more, sc_error_text(*state));
    }
}

/* h 512, ffn 1024, vocabulary 1000, added up by hand. Mamba-2 with 16 heads of 64, 2
 * groups, a state of 32, a convolution of 4:
 *     in    512 · (1024 + 1024 + 2·2·32 + 16)     out   1024 · 512
 *     convolution (1024 + 128) · (4 + 1)           heads 3 · 16     norms 1024 + 512
 * A layer that is a feed-forward alone: 2·512·1024 and a norm; attention alone 4·512²
 * and a norm. */
static void test_layers_by_letters(void **state) {
    struct sc__model m;
    struct sc__model_params p;
    double mamba =
        512.0 * (1024 + 1024 + 128 + 16) + 1024 * 512 + 1152 * 5 + 48 + 1024 + 512;
    double mlp = 2.0 * 512 * 1024 + 512;
    double attention = 4.0 * 512 * 512 + 512;
    assert_int_equal(parse(*state,
                           "\"model_type\": \"nemotron_h\", "
                           "\"hybrid_override_pattern\": \"M-M-M*-M-M-M\", "
                           "\"mamba_num_heads\": 16, \"mamba_head_dim\": 64, "
                           "\"n_groups\": 2, \"ssm_state_size\": 32, "
                           "\"conv_kernel\": 4, \"chunk_size\": 128, \"head_dim\": 64",
                           &m),
                     SC_OK);
    sc__model_count(&m, &p);
    double sum = 6 * mamba + 5 * mlp + attention + 2 * 1000 * 512 + 512;
    assert_true(p.total == sum);
    /* Megatron's count: in and out, 7·d·N of the scan, the convolution; three times */
    double flops = 3 * 8 *
                   (2.0 * 512 * (1024 + 1024 + 128 + 16) + 2 * 1024 * 512 +
                    7.0 * 1024 * 32 + 2 * 4 * 1152);
    assert_true(fabs(sc__model_layer_flops(&m, 0, 1, 8, false) / flops - 1) < 1e-12);
    assert_true(sc__model_layer_flops(&m, 1, 1, 8, false) == 6.0 * 8 * 2 * 512 * 1024);
}

/* A gated delta net with 4 keys of 32 and 8 values of 64, a convolution of 4:
 *     in    512 · (2·128 + 2·512 + 2·8)            out   512 · 512
 *     convolution (2·128 + 512) · 4                heads 2 · 8      norm 64
 * and attention whose queries come with a gate: 5·512², norms of a head of 64. */
static void test_delta_nets(void **state) {
    struct sc__model m;
    struct sc__model_params p;
    double delta = 512.0 * (256 + 1024 + 16) + 512 * 512 + 768 * 4 + 16 + 64;
    double attention = 5.0 * 512 * 512 + 2 * 64;
    double rest = 3.0 * 512 * 1024 + 2 * 512;
    assert_int_equal(parse(*state,
                           "\"model_type\": \"qwen3_5_text\", "
                           "\"full_attention_interval\": 4, "
                           "\"linear_num_value_heads\": 8, "
                           "\"linear_value_head_dim\": 64, "
                           "\"linear_num_key_heads\": 4, \"linear_key_head_dim\": 32, "
                           "\"linear_conv_kernel_dim\": 4, \"head_dim\": 64, "
                           "\"num_key_value_heads\": 8",
                           &m),
                     SC_OK);
    sc__model_count(&m, &p);
    assert_true(p.total == 9 * delta + 3 * attention + 12 * rest + 2 * 1000 * 512 + 512);
}

/* Layers 12 × (4·512² + 3·512·1024 + 2·512), one norm of 512, an embedding of
 * 1000 × 512, and one for the output where it is said not to be the same. */
static void test_unknown_type_like_llama(void **state) {
    struct sc_context *ctx = *state;
    struct sc__model m;
    struct sc__model_params p;
    assert_int_equal(
        parse(ctx, "\"model_type\": \"unheard\", \"hidden_act\": \"silu\"", &m),
        SC_OK);
    sc__model_count(&m, &p);
    double layers = 12 * (4 * 512 * 512 + 3 * 512 * 1024 + 2 * 512);
    assert_true(p.total == layers + 512 + 1000 * 512);
    assert_true(noted(ctx, "model_type \"unheard\" is not known and was read as a Llama"));
    assert_true(noted(ctx, "a key-value head for each head"));
    assert_true(noted(ctx, "one matrix for both embeddings"));
    assert_int_equal(parse(ctx,
                           "\"model_type\": \"unheard\", \"hidden_act\": \"silu\", "
                           "\"tie_word_embeddings\": false",
                           &m),
                     SC_OK);
    sc__model_count(&m, &p);
    assert_true(p.total == layers + 512 + 2 * 1000 * 512);
}

/* The object of the language model; what only the whole says is the whole's. */
static void test_language_model_of_a_multimodal_one(void **state) {
    static const char text[] =
        "{\"model_type\": \"pictures\", \"tie_word_embeddings\": true, \"vision_config\": "
        "{\"hidden_size\": 9}, \"text_config\": {\"model_type\": \"qwen3_vl_text\", "
        "\"num_hidden_layers\": 2, \"hidden_size\": 64, \"num_attention_heads\": 4, "
        "\"num_key_value_heads\": 2, \"intermediate_size\": 96, \"vocab_size\": 100}}";
    struct sc_context *ctx = *state;
    struct sc__model m;
    assert_int_equal(sc__model_parse(ctx, "config.json", sc__str(text), &m), SC_OK);
    assert_true(m.hidden == 64 && m.layers == 2 && m.tied && m.qk_norm);
    assert_true(noted(ctx, "towers take part in a step where a sequence has pictures"));
    static const char unheard[] =
        "{\"model_type\": \"pictures\", \"text_config\": {\"model_type\": \"unheard\", "
        "\"hidden_act\": \"silu\", \"num_hidden_layers\": 2, \"hidden_size\": 64, "
        "\"num_attention_heads\": 4, \"intermediate_size\": 96, \"vocab_size\": 100}}";
    assert_int_equal(sc__model_parse(ctx, "config.json", sc__str(unheard), &m), SC_OK);
    assert_false(m.tied);
}

/* A size that is left out is noted, but where the type's own rule gives it. */
static void test_feed_forward_left_out(void **state) {
    static const struct {
        const char *type;
        bool assumed;
    } cases[] = {{"llama", true},
                 {"opt", true},
                 {"phi", true},
                 {"gpt2", false},
                 {"gptj", false},
                 {"bloom", false}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc_context *ctx = sc_open();
        struct sc__model m;
        char *text = sc__format(&ctx->arena,
                                "{\"model_type\": \"%s\", \"num_hidden_layers\": 2, "
                                "\"n_embed\": 64, \"num_attention_heads\": 4, "
                                "\"n_inner\": null, \"vocab_size\": 100}",
                                cases[i].type);
        assert_int_equal(sc__model_parse(ctx, "config.json", sc__str(text), &m), SC_OK);
        assert_true(m.ffn == 256);
        assert_true(noted(ctx, "4 times the hidden size, 256, is assumed") ==
                    cases[i].assumed);
        sc_close(ctx);
    }
    (void)state;
}

/* Shapes of released models against the counts of parameters published with
 * them; each count was also added up tensor by tensor, apart from this program. */
static void test_published_counts_of_types(void **state) {
    static const struct {
        const char *shape;
        double published;
    } cases[] = {
        /* Llama 4 Scout and Maverick, the language model of the released weights */
        {"\"model_type\": \"llama4\", \"text_config\": {\"model_type\": \"llama4_text\", "
         "\"num_hidden_layers\": 48, \"hidden_size\": 5120, \"num_attention_heads\": 40, "
         "\"num_key_value_heads\": 8, \"head_dim\": 128, \"intermediate_size\": 8192, "
         "\"intermediate_size_mlp\": 16384, \"vocab_size\": 202048, "
         "\"num_local_experts\": 16, \"num_experts_per_tok\": 1, "
         "\"interleave_moe_layer_step\": 1}",
         107.8e9},
        {"\"model_type\": \"llama4\", \"text_config\": {\"model_type\": \"llama4_text\", "
         "\"num_hidden_layers\": 48, \"hidden_size\": 5120, \"num_attention_heads\": 40, "
         "\"num_key_value_heads\": 8, \"head_dim\": 128, \"intermediate_size\": 8192, "
         "\"intermediate_size_mlp\": 16384, \"vocab_size\": 202048, "
         "\"num_local_experts\": 128, \"num_experts_per_tok\": 1, "
         "\"interleave_moe_layer_step\": 2}",
         400.7e9},
        /* BLOOM-7B1, its model card */
        {"\"model_type\": \"bloom\", \"n_embed\": 4096, \"n_layer\": 30, "
         "\"num_attention_heads\": 32, \"vocab_size\": 250880",
         7069016064},
        /* GPT-J-6B, its model card */
        {"\"model_type\": \"gptj\", \"n_embd\": 4096, \"n_layer\": 28, \"n_head\": 16, "
         "\"n_inner\": null, \"rotary_dim\": 64, \"vocab_size\": 50400",
         6053381344},
        /* Phi-2, released weights */
        {"\"model_type\": \"phi\", \"hidden_size\": 2560, \"num_hidden_layers\": 32, "
         "\"num_attention_heads\": 32, \"intermediate_size\": 10240, \"vocab_size\": 51200",
         2779683840},
        /* Stable LM 2 1.6B and StableLM-3B-4E1T, their model cards */
        {"\"model_type\": \"stablelm\", \"hidden_size\": 2048, \"num_hidden_layers\": 24, "
         "\"num_attention_heads\": 32, \"intermediate_size\": 5632, \"use_qkv_bias\": "
         "true, "
         "\"vocab_size\": 100352",
         1644417024},
        {"\"model_type\": \"stablelm\", \"hidden_size\": 2560, \"num_hidden_layers\": 32, "
         "\"num_attention_heads\": 32, \"intermediate_size\": 6912, \"vocab_size\": 50304",
         2795443200},
        /* ChatGLM3-6B, released weights */
        {"\"model_type\": \"chatglm\", \"hidden_size\": 4096, \"num_layers\": 28, "
         "\"num_attention_heads\": 32, \"kv_channels\": 128, \"ffn_hidden_size\": 13696, "
         "\"multi_query_attention\": true, \"multi_query_group_num\": 2, "
         "\"add_qkv_bias\": true, \"padded_vocab_size\": 65024",
         6243584000},
        /* Baichuan 2 7B and 13B, released weights */
        {"\"model_type\": \"baichuan\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
         "\"num_attention_heads\": 32, \"intermediate_size\": 11008, "
         "\"vocab_size\": 125696",
         7505973248},
        {"\"model_type\": \"baichuan\", \"hidden_size\": 5120, \"num_hidden_layers\": 40, "
         "\"num_attention_heads\": 40, \"intermediate_size\": 13696, "
         "\"vocab_size\": 125696",
         13896668160},
        /* GLM-4-9B-0414, its model card: 9.4 B */
        {"\"model_type\": \"glm4\", \"hidden_size\": 4096, \"num_hidden_layers\": 40, "
         "\"num_attention_heads\": 32, \"num_key_value_heads\": 2, \"head_dim\": 128, "
         "\"intermediate_size\": 13696, \"attention_bias\": true, \"vocab_size\": 151552",
         9.4e9},
        /* StarCoder, released weights */
        {"\"model_type\": \"gpt_bigcode\", \"n_embd\": 6144, \"n_layer\": 40, "
         "\"n_head\": 48, \"n_inner\": 24576, \"n_positions\": 8192, \"vocab_size\": 49152",
         15517456384},
        /* MiniMax-M2, released weights: 229 B, by its tensors 228.69 B */
        {"\"model_type\": \"minimax_m2\", \"hidden_size\": 3072, \"num_hidden_layers\": "
         "62, "
         "\"num_attention_heads\": 48, \"num_key_value_heads\": 8, \"head_dim\": 128, "
         "\"intermediate_size\": 1536, \"num_local_experts\": 256, "
         "\"num_experts_per_tok\": 8, \"vocab_size\": 200064",
         229e9},
        /* Gemma 3 4B and 12B, technical report: embedding and other parameters */
        {"\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\", "
         "\"hidden_size\": 2560, \"num_hidden_layers\": 34, \"intermediate_size\": 10240}",
         675e6 + 3209e6},
        {"\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\", "
         "\"hidden_size\": 3840, \"num_hidden_layers\": 48, \"intermediate_size\": 15360, "
         "\"num_attention_heads\": 16, \"num_key_value_heads\": 8}",
         1012e6 + 10759e6},
        /* Qwen2-VL-7B: the language model is Qwen2-7B, released weights */
        {"\"model_type\": \"qwen2_vl\", \"hidden_size\": 3584, \"num_hidden_layers\": 28, "
         "\"num_attention_heads\": 28, \"num_key_value_heads\": 4, "
         "\"intermediate_size\": 18944, \"vocab_size\": 152064, \"vision_config\": {}",
         7615616512},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc_context *ctx = *state;
        struct sc__model m;
        struct sc__model_params p;
        char *text = sc__format(&ctx->arena, "{%s}", cases[i].shape);
        if (sc__model_parse(ctx, "config.json", sc__str(text), &m) != SC_OK)
            fail_msg("%s: %s", text, sc_error_text(ctx));
        sc__model_count(&m, &p);
        if (fabs(p.total / cases[i].published - 1) > 0.005)
            fail_msg("%s: %.10g, published %.10g", text, p.total, cases[i].published);
    }
}

/* Python writes numbers that JSON does not have: read where they shape nothing,
 * refused where they do, and the places of later errors stay right. */
static void test_python_json(void **state) {
    struct sc_context *ctx = *state;
    struct sc__model m;
    assert_int_equal(
        parse(ctx,
              "\"model_type\": \"llama\", \"rope_theta\": Infinity, "
              "\"rope_scaling\": [-Infinity,NaN], \"_name\": \"a NaN: \\\" NaN\"",
              &m),
        SC_OK);
    assert_string_equal(m.name, "a NaN: \" NaN");
    static const struct {
        const char *more;
        const char *error;
    } bad[] = {
        {"\"model_type\": \"llama\", \"head_dim\": NaN", "\"head_dim\" must be a whole"},
        {"\"model_type\": \"llama\", \"head_dim\": -Infinity", "\"head_dim\" must be"},
        {"\n\"rope_theta\": Infinity, !", "config.json:2:25: error: not JSON"},
        {"\n\"rope_theta\": NaN, !", "config.json:2:20: error: not JSON"},
        {"\nNaN : 1", "config.json:2:3: error: not JSON"},
        {"\"rope_theta\": NaNs", "not JSON"},
        {"\"rope_theta\": +Infinity", "not JSON"},
        {"\"rope_theta\": \"NaN", "not JSON"},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(parse(ctx, bad[i].more, &m), SC_INPUT);
        if (!strstr(sc_error_text(ctx), bad[i].error))
            fail_msg("%s: %s", bad[i].more, sc_error_text(ctx));
    }
}

static const char *no_value(const void *self, const char *name, unsigned i) {
    (void)self;
    (void)name;
    (void)i;
    return NULL;
}

static const char script[] =
    "#!/bin/bash\n"
    "# --num-layers 99 is a comment\n"
    "TP=8\nPP=${PIPELINE:-4}\nLAYERS='32'\n"
    "GPT_ARGS=(\n  --num-layers ${LAYERS} --hidden-size 4096 \\\n  "
    "--num-attention-heads 32 --seq-length 2048\n)\n"
    "OTHER=\"--swiglu --lr 1e-4 \\\n --frobnicate 3\"\n"
    "torchrun --nproc_per_node 8 pretrain_gpt.py ${GPT_ARGS[@]} $OTHER "
    "--tensor-model-parallel-size $TP \\\n"
    "  --pipeline-model-parallel-size=$PP --bf16 --save $NOWHERE\n";

static void test_launch_script(void **state) {
    struct sc_context *ctx = *state;
    struct sc__settings none = {.nth = no_value, .ctx = ctx};
    struct sc__settings s;
    assert_int_equal(
        sc__launch_parse(ctx, "run.sh", sc__str(script), sc__model_options, &none, &s),
        SC_OK);
    assert_string_equal(sc__setting(&s, "num-layers"), "32");
    assert_string_equal(sc__setting(&s, "tensor-model-parallel-size"), "8");
    assert_string_equal(sc__setting(&s, "pipeline-model-parallel-size"), "4");
    assert_true(sc__setting_flag(&s, "swiglu"));
    assert_true(sc__setting_flag(&s, "bf16"));
    bool ignored = false, variable = false;
    for (uint32_t i = 0; i < ctx->note_count; i++) {
        ignored |= strstr(ctx->notes[i].text, "--frobnicate") &&
                   !strstr(ctx->notes[i].text, "--lr");
        variable |= strstr(ctx->notes[i].text, "NOWHERE") != NULL;
    }
    assert_true(ignored && variable);
    struct sc__model m;
    bool given;
    assert_int_equal(sc__model_settings(ctx, &s, &m, &given), SC_OK);
    assert_true(given && m.gated && m.layers == 32 && m.positions == 2048 &&
                m.vocab == 50257);
}

static void test_hostile_scripts(void **state) {
    static const char *const bad[] = {"",
                                      "   ",
                                      "echo hello",
                                      "$",
                                      "${",
                                      "${A",
                                      "'",
                                      "\"",
                                      "\\",
                                      "((((",
                                      "--",
                                      "# --tp 8",
                                      NULL};
    struct sc__settings none = {.nth = no_value, .ctx = *state};
    struct sc__settings s;
    for (unsigned i = 0; bad[i]; i++)
        assert_int_equal(sc__launch_parse(*state,
                                          "run.sh",
                                          sc__str(bad[i]),
                                          sc__model_options,
                                          &none,
                                          &s),
                         SC_INPUT);
}

static void test_unknown_preset_suggests(void **state) {
    struct sc__model m;
    assert_int_equal(sc__model_find(*state, "lama3-8b", &m), SC_USAGE);
    assert_non_null(strstr(sc_error_text(*state), "llama3-8b"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_presets_have_published_parameters,
                                        setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_bloom_has_a_norm_behind_its_embedding,
                                        setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_latent_experts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_flops_of_gpt, setup, teardown),
        cmocka_unit_test_setup_teardown(test_windows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_active_parameters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile_configurations, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_keys_are_noted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shapes_not_modelled_are_refused,
                                        setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_layers_by_letters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_delta_nets, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_type_like_llama, setup, teardown),
        cmocka_unit_test_setup_teardown(test_language_model_of_a_multimodal_one,
                                        setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_feed_forward_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(test_published_counts_of_types, setup, teardown),
        cmocka_unit_test_setup_teardown(test_python_json, setup, teardown),
        cmocka_unit_test_setup_teardown(test_launch_script, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile_scripts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_preset_suggests, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
