/* Model descriptions: parameters against published counts, FLOPs against the
 * closed forms, hostile configurations, launch scripts. */
#include "model/read.h"
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static int setup(void **state) {
    *state = sc_open();
    return *state ? 0 : -1;
}

static int teardown(void **state) {
    sc_close(*state);
    return 0;
}

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
        {"\"model_type\": \"gemma3_text\", \"sliding_window\": 64", "wwwwwfwwwwwf"},
        {"\"model_type\": \"gemma3_text\", \"sliding_window\": 64, "
         "\"sliding_window_pattern\": 4",
         "wwwfwwwfwwwf"},
        {"\"model_type\": \"llama\", \"sliding_window\": 64, \"layer_types\": "
         "[\"sliding_attention\", "
         "\"sliding_attention\", \"full_attention\"]",
         "wwfwwfwwfwwf"},
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

static void test_unknown_keys_are_noted(void **state) {
    struct sc_context *ctx = *state;
    struct sc__model m;
    const char *text =
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"hidden_size\": 64, "
        "\"num_attention_heads\": 4, "
        "\"vocab_size\": 100, \"intermediate_size\": 256, \"hiden_size\": 32}";
    assert_int_equal(sc__model_parse(ctx, "config.json", sc__str(text), &m), SC_OK);
    assert_int_equal(ctx->note_count, 1);
    assert_non_null(strstr(ctx->notes[0].text, "hiden_size"));
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
        sc__megatron_parse(ctx, "run.sh", sc__str(script), sc__model_options, &none, &s),
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
        assert_int_equal(sc__megatron_parse(*state,
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
        cmocka_unit_test_setup_teardown(test_flops_of_gpt, setup, teardown),
        cmocka_unit_test_setup_teardown(test_windows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_active_parameters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile_configurations, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_keys_are_noted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_python_json, setup, teardown),
        cmocka_unit_test_setup_teardown(test_launch_script, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile_scripts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_preset_suggests, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
