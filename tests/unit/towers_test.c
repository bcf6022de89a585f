/* Towers for pictures and sound: parameters against published counts, tokens, FLOPs and
 * times against closed forms. */
#include "lower/model.h"
#include "lower/step_scripts.h"
#include "model/read.h"
#include "plan/towers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "context.h"

/* Counts of whole checkpoints as their publishers' files have them, to the last weight
 * (tests/data/models/towers.jsonl): the language model and all of its towers. */
static void test_published_parameters(void **state) {
    (void)state;
    static char line[1 << 14];
    FILE *file = fopen("tests/data/models/towers.jsonl", "r");
    unsigned seen = 0;
    unsigned wrong = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        struct sc__model m;
        struct sc__model_params n;
        assert_int_equal(sc__model_parse(ctx, "towers.jsonl", sc__str(line), &m), SC_OK);
        assert_int_equal(m.tower_count, 1);
        assert_null(m.towers[0].refused);
        sc__model_count(&m, &n);
        double all = n.total + sc__tower_params(&m.towers[0]);
        if (all != m.published) {
            print_error("%s: %.0f, published %.0f: %+.0f (tower %.0f)\n",
                        m.name,
                        all,
                        m.published,
                        all - m.published,
                        sc__tower_params(&m.towers[0]));
            wrong++;
        }
        seen++;
    }
    fclose(file);
    assert_int_equal(wrong, 0);
    assert_int_equal(seen, 10);
}

static void read_published(const char *name, struct sc__model *m) {
    static char line[1 << 14];
    FILE *file = fopen("tests/data/models/towers.jsonl", "r");
    char key[64];
    bool found = false;
    assert_non_null(file);
    snprintf(key, sizeof key, "\"_name\": \"%s\"", name);
    while (!found && fgets(line, sizeof line, file))
        found = strstr(line, key) != NULL;
    fclose(file);
    assert_true(found);
    assert_int_equal(sc__model_parse(ctx, "towers.jsonl", sc__str(line), m), SC_OK);
}

/* What papers and model cards say a picture becomes. */
static void test_published_tokens(void **state) {
    static const struct {
        const char *name;
        uint32_t side;
        uint64_t tokens;
    } known[] = {
        {"llava-1.5-7b", 336, 576},          /* arXiv 2310.03744 */
        {"gemma-3-27b", 896, 256},           /* Gemma 3 report, section 2 */
        {"llama-4-scout-17b-16e", 336, 144}, /* of a tile */
        {"qwen2.5-vl-7b", 448, 256},         /* 28 · 28 pixels a token */
        {"qwen3-vl-8b", 1024, 1024},         /* 32 · 32 pixels a token */
        {"mistral-small-3.1-24b", 1540, 3025},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct sc__model m;
        read_published(known[i].name, &m);
        assert_int_equal(sc__tower_tokens(&m.towers[0], known[i].side), known[i].tokens);
    }
}

/* Published as about 550 million, 280 tokens a picture unless asked otherwise. */
static void test_gemma4(void **state) {
    static const char text[] =
        "{\"model_type\": \"gemma4\", \"vision_config\": {\"model_type\": "
        "\"gemma4_vision\", \"hidden_size\": 1152, \"intermediate_size\": 4304, "
        "\"num_hidden_layers\": 27, \"num_attention_heads\": 16, "
        "\"num_key_value_heads\": 16, \"head_dim\": 72, \"patch_size\": 16, "
        "\"pooling_kernel_size\": 3, \"position_embedding_size\": 10240, "
        "\"default_output_length\": 280, \"standardize\": true}, \"text_config\": "
        "{\"model_type\": \"qwen3\", \"num_hidden_layers\": 2, \"hidden_size\": 64, "
        "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, "
        "\"intermediate_size\": 96, \"vocab_size\": 100}}";
    struct sc__model m;
    (void)state;
    assert_int_equal(sc__model_parse(ctx, "config.json", sc__str(text), &m), SC_OK);
    assert_null(m.towers[0].refused);
    assert_true(fabs(sc__tower_params(&m.towers[0]) / 550e6 - 1) < 0.05);
    assert_int_equal(sc__tower_tokens(&m.towers[0], 0), 280);
    assert_int_equal(sc__tower_tokens(&m.towers[0], 768), 256);
}

/* 30 seconds are 1500 positions and 750 tokens; 45 are two clips and 1125 tokens. */
static void test_sound(void **state) {
    struct sc__model m;
    sc_plan given = SC_PLAN_INIT;
    (void)state;
    read_published("qwen2-audio-7b", &m);
    given.global_batch = 8;
    given.seq = 1125;
    given.audio_seconds = 45;
    struct sc__plan_surroundings around = {.gpus = 8, .gpu = "h100-sxm"};
    struct sc__plan p;
    assert_int_equal(sc__plan_resolve(ctx, &given, &m, &around, &p), SC_OK);
    assert_int_equal(sc__tower_items(&p, &m.towers[0]), 2);
    assert_int_equal(sc__tower_plan(&p, &m.towers[0]).seq, 1500);
    given.seq = 1124;
    assert_int_equal(sc__plan_resolve(ctx, &given, &m, &around, &p), SC_USAGE);
}

static void assert_near(double a, double b) {
    if (fabs(a - b) > 1e-9 * fabs(b))
        fail_msg("%.12g is not %.12g", a, b);
}

/* CLIP ViT-L: 12·h² weights a layer, each multiplied with 577 positions; scores and sums
 * of 577² pairs over h channels. */
static void test_flops_of_clip(void **state) {
    const double h = 1024;
    const double n = 577;
    const double text = 4096;
    double layer = 6 * n * 12 * h * h + 12 * n * n * h;
    double patches = 2 * n * 588 * h;
    double first = 2 * 576 * h * text;
    double second = 2 * 576 * text * text;
    struct sc__model m;
    (void)state;
    read_published("llava-1.5-7b", &m);
    const struct sc__tower *t = &m.towers[0];
    assert_near(sc__tower_flops(t, 3, n, false, false),
                3 * (24 * layer + 2 * patches + 3 * first + 3 * second));
    assert_near(sc__tower_flops(t, 1, n, true, false),
                24 * layer / 3 + patches + 2 * first + 3 * second);
    assert_near(sc__tower_flops(t, 1, n, true, true),
                24 * layer / 3 + patches + first + second);
}

/* Windows of 8 · 8 patches in 28 of 32 layers of Qwen2.5-VL. */
static void test_flops_of_windows(void **state) {
    const double h = 1280;
    const double n = 1024;
    double matrices = 32 * 6 * n * (4 * h * h + 3 * h * 3420);
    double cores = 12 * h * (4 * n * n + 28 * n * 64);
    double patches = 4 * n * 1176 * h;
    double connector = 6 * n / 4 * (5120.0 * 5120 + 5120.0 * 3584);
    struct sc__model m;
    (void)state;
    read_published("qwen2.5-vl-7b", &m);
    assert_near(sc__tower_flops(&m.towers[0], 1, n, false, false),
                matrices + cores + patches + connector);
}

static struct sc__plan resolve(const struct sc__model *m, sc_plan *given) {
    struct sc__plan p;
    struct sc__plan_surroundings around = {.gpus = 8, .gpu = "h100-sxm"};
    assert_int_equal(sc__plan_resolve(ctx, given, m, &around, &p), SC_OK);
    assert_int_equal(sc__plan_check(ctx, m, &p), SC_OK);
    return p;
}

/* Mixed precision: 2 bytes of weight, 4 of gradient, 12 / dp of state, on the first stage;
 * a frozen tower has its weights alone. */
static void test_memory(void **state) {
    struct sc__model m;
    (void)state;
    read_published("llava-1.5-7b", &m);
    double tower = sc__tower_params(&m.towers[0]);
    double connector = 1024.0 * 4096 + 4096 + 4096.0 * 4096 + 4096 + 2 * 1024;
    for (int frozen = 0; frozen < 2; frozen++) {
        sc_plan given = SC_PLAN_INIT;
        given.pp = 2;
        given.zero = 1;
        given.global_batch = 16;
        given.seq = 2048;
        struct sc__plan without = resolve(&m, &given);
        given.images = 2;
        given.freeze_towers = frozen ? SC_ON : SC_OFF;
        struct sc__plan with = resolve(&m, &given);
        struct sc__training_state a = sc__plan_state(&m, &without, 0);
        struct sc__training_state b = sc__plan_state(&m, &with, 0);
        double trained = frozen ? connector : tower;
        assert_near(b.weights - a.weights, 2 * tower);
        assert_near(b.gradients - a.gradients, 4 * trained);
        assert_near(b.optimizer - a.optimizer, 12 * trained / 4);
        struct sc__stage_memory last[2] = {sc__plan_memory(&m, &without, 1),
                                           sc__plan_memory(&m, &with, 1)};
        assert_memory_equal(&last[0], &last[1], sizeof last[0]);
    }
}

/* LLaVA, eight sequences a step with two pictures each. */
static struct sc__plan two_pictures(struct sc__model *m) {
    sc_plan given = SC_PLAN_INIT;
    read_published("llava-1.5-7b", m);
    given.global_batch = 8;
    given.seq = 2048;
    given.images = 2;
    return resolve(m, &given);
}

/* Korthikanti's 34·s·b·h of a layer without dropout's masks, 32, and the logarithm of each
 * of 16 heads' sums in fp32: two pictures, 24 layers, the input of each product, and what
 * GELU was given. */
static void test_activations(void **state) {
    const double rows = 2 * 577;
    const double h = 1024;
    struct sc__model m;
    (void)state;
    struct sc__plan p = two_pictures(&m);
    double connector = 2 * 2 * 576 * (h + 4096 + 4096);
    assert_near(sc__plan_towers_keep(&p, &m).activations,
                24 * rows * (32 * h + 4 * 16) + 2 * rows * 588 + connector);
    p.freeze_towers = true;
    assert_near(sc__plan_towers_keep(&p, &m).activations, connector);
    p.freeze_towers = false;
    p.recompute = SC__RECOMPUTE_FULL;
    assert_near(sc__plan_towers_keep(&p, &m).activations,
                24 * 2 * rows * h + 2 * rows * 588 + connector);
    p.micro_batch = 3; /* of sequences with two pictures each */
    assert_near(sc__plan_towers_keep(&p, &m).activations,
                3 * (24 * 2 * rows * h + 2 * rows * 588 + connector));
}

/* What is computed again of CLIP's layers: all products of forward, or the scores and sums
 * of attention; of eight sequences with two pictures each. */
static void test_recomputed_flops(void **state) {
    const double h = 1024;
    const double n = 577;
    struct sc__model m;
    (void)state;
    struct sc__plan p = two_pictures(&m);
    assert_true(sc__plan_towers_repeated(&p, &m) == 0);
    p.recompute = SC__RECOMPUTE_FULL;
    assert_near(sc__plan_towers_repeated(&p, &m),
                16 * 24 * (2 * n * 12 * h * h + 4 * n * n * h));
    p.recompute = SC__RECOMPUTE_SELECTIVE;
    p.recompute_modules = SC__MODULE_CORE;
    assert_near(sc__plan_towers_repeated(&p, &m), 16 * 24 * 4 * n * n * h);
    p.freeze_towers = true;
    assert_true(sc__plan_towers_repeated(&p, &m) == 0);
}

static unsigned named(const struct sc__kernels *list, const char *name) {
    unsigned count = 0;
    for (uint32_t i = 0; i < list->count; i++)
        count += list->items[i].name && !strcmp(list->items[i].name, name);
    return count;
}

static unsigned elementwise(const struct sc__kernels *list) {
    unsigned count = 0;
    for (uint32_t i = 0; i < list->count; i++)
        count += list->items[i].work == SC__WORK_ELEMENTWISE;
    return count;
}

/* LLaVA's connector is two products with GELU between them and nothing behind the second.
 * Pixels have no gradient, and nothing below the connector of a frozen tower has one. */
static void test_kernels(void **state) {
    static const struct sc__cluster alone = {.ideal = true, .node_gpus = 1};
    const struct sc__gpu *gpu;
    struct sc__model m;
    (void)state;
    read_published("llava-1.5-7b", &m);
    assert_int_equal(sc__gpu_find(ctx, "h100-sxm", &gpu), SC_OK);
    for (int frozen = 0; frozen < 2; frozen++) {
        sc_plan given = SC_PLAN_INIT;
        given.global_batch = 8;
        given.seq = 2048;
        given.images = 2;
        given.freeze_towers = frozen ? SC_ON : SC_OFF;
        struct sc__lowering l = {.ctx = ctx,
                                 .arena = &ctx->arena,
                                 .model = &m,
                                 .cluster = &alone,
                                 .gpu = gpu,
                                 .plan = resolve(&m, &given),
                                 .kernel_model = sc__kernel_model_new(&ctx->arena, gpu)};
        sc__towers_kernels(&l);
        assert_int_equal(l.tower_count, 1);
        const struct sc__lowering *t = &l.towers[0];
        assert_int_equal(named(&t->head[0], "connector"), 2);
        assert_int_equal(elementwise(&t->head[0]), 1);
        assert_int_equal(named(&t->head[1], "connector wgrad"), 2);
        assert_int_equal(named(&t->head[1], "connector dgrad"), frozen ? 1 : 2);
        assert_int_equal(elementwise(&t->head[1]), 1);
        assert_int_equal(named(&t->embedding[0], "patches"), 1);
        assert_int_equal(named(&t->embedding[1], "patches wgrad"), 1);
        assert_int_equal(named(&t->embedding[1], "patches dgrad"), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_parameters),
        cmocka_unit_test(test_published_tokens),
        cmocka_unit_test(test_gemma4),
        cmocka_unit_test(test_sound),
        cmocka_unit_test(test_flops_of_clip),
        cmocka_unit_test(test_flops_of_windows),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_recomputed_flops),
        cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests_name("towers", tests, open_context, close_context);
}
