/* Numbers that are known from elsewhere, to the last digit: parameters as the
 * checkpoints of the models have them, FLOPs by counting, time between kernels. */
#include "test.h"

#include "context.h"
#include "hardware/power_throttling.h"
#include "model/model.h"
#include "model/read.h"

/* Parameters of the published checkpoints (safetensors metadata of the models'
 * repositories): norms with and without bias, tied heads, one norm a layer, four
 * norms a layer, experts with a router that has a bias. */
static void parameters_of_checkpoints(void **state) {
    static const struct {
        const char *name;
        double parameters;
    } models[] = {{"gpt2", 124439808},
                  {"gpt2-medium", 354823168},
                  {"gpt2-large", 774030080},
                  {"gpt2-xl", 1557611200},
                  {"pythia-1.4b", 1414647808},
                  {"falcon-7b", 6921720704},
                  {"falcon-40b", 41303293952},
                  {"llama2-7b", 6738415616},
                  {"llama3-8b", 8030261248},
                  {"llama3-70b", 70553706496},
                  {"mistral-7b", 7241732096},
                  {"gemma2-2b", 2614341888},
                  {"gemma2-9b", 9241705984},
                  {"mixtral-8x7b", 46702792704},
                  {"qwen3-30b-a3b", 30532122624},
                  {"deepseek-v3", 671026419200}};
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct sc__model m;
        struct sc__model_params p;
        assert_int_equal(sc__model_find(ctx, models[i].name, &m), SC_OK);
        sc__model_count(&m, &p);
        assert_number(p.total, ==, models[i].parameters);
    }
}

/* Of 8 experts a token passes 2: mixtral's 12.9 B. */
static void parameters_a_token_passes(void **state) {
    (void)state;
    struct sc__model m;
    struct sc__model_params p;
    assert_int_equal(sc__model_find(ctx, "mixtral-8x7b", &m), SC_OK);
    sc__model_count(&m, &p);
    double expert = 3.0 * 4096 * 14336;
    assert_number(p.active, ==, p.total - 32 * 6 * expert);
}

static struct sc__model small_model(void) {
    return (struct sc__model){.name = "small",
                              .layers = 3,
                              .hidden = 64,
                              .heads = 4,
                              .kv_heads = 4,
                              .head_dim = 16,
                              .ffn = 256,
                              .vocab = 1000,
                              .moe_every = 1};
}

/* Queries and the keys they see, one by one: attention of a layer is two GEMMs of
 * 2 FLOP for each pair and element, and twice that in backward. */
static double counted_attention(const struct sc__model *m, uint32_t seq, uint32_t window) {
    double pairs = 0;
    for (uint32_t q = 0; q < seq; q++)
        for (uint32_t k = 0; k <= q; k++)
            pairs += !window || q - k < window;
    return 3 * 2 * 2 * pairs * m->heads * m->head_dim;
}

static void attention_by_counting(void **state) {
    (void)state;
    struct sc__model m = small_model();
    uint32_t seq = 512;
    double counted = counted_attention(&m, seq, 0);
    /* the diagonal is half a row more than half of the square */
    assert_within(sc__model_attention_core_flops(&m, 0, 1, seq, true), counted, 1.5 / seq);
    assert_within(sc__model_attention_core_flops(&m, 0, 1, seq, false),
                  2 * sc__model_attention_core_flops(&m, 0, 1, seq, true),
                  1e-12);
    m.window = 64;
    m.window_every = 0;
    counted = counted_attention(&m, seq, 64);
    assert_within(sc__model_attention_core_flops(&m, 0, 1, seq, true), counted, 1.5 / 64);
}

/* 6 FLOP for a token and a weight of a matrix it passes. */
static void flops_of_experts(void **state) {
    (void)state;
    struct sc__model m = small_model();
    double tokens = 2.0 * 128;
    double attention = sc__model_attention_core_flops(&m, 0, 2, 128, false);
    double projections = 4.0 * 64 * 64;
    double dense = 2.0 * 64 * 256;
    assert_number(sc__model_layer_flops(&m, 0, 2, 128, false),
                  ==,
                  6 * tokens * (projections + dense) + attention);
    m.experts = 8;
    m.topk = 2;
    m.expert_ffn = 128;
    m.shared_ffn = 96;
    double experts = 2 * 2.0 * 64 * 128;
    double shared = 2.0 * 64 * 96;
    double router = 64.0 * 8;
    assert_number(sc__model_layer_flops(&m, 0, 2, 128, false),
                  ==,
                  6 * tokens * (projections + experts + shared + router) + attention);
    assert_within(sc__model_flops(&m, 2, 128, false),
                  3 * sc__model_layer_flops(&m, 0, 2, 128, false) + 6 * tokens * 1000 * 64,
                  1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_of_checkpoints),
        cmocka_unit_test(parameters_a_token_passes),
        cmocka_unit_test(attention_by_counting),
        cmocka_unit_test(flops_of_experts),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
