/* Software profiles: the files of data/software/, hostile ones, and what a profile
 * fills. Expectations are written out by hand from the rule "said, then profile,
 * then usual". */
#include "test.h"

#include "base/data.h"
#include "context.h"
#include "plan/plan.h"

static const struct sc__software *read_text(const char *text, sc_status expected) {
    const struct sc__software *s = NULL;
    const char *path = temporary_file(text, strlen(text));
    sc_status status = sc__software_read(ctx, path, &s);
    unlink(path);
    if (status != expected)
        fail_msg("%d, not %d: %s", status, expected, sc_error_text(ctx));
    return s;
}

#define HEAD                                                                               \
    "{\"schema\": \"stepcast/software/1\", \"title\": \"t\", \"stack\": \"s\", "           \
    "\"source\": \"x\", \"from\": \"2024-01\", \"to\": \"2024-12\""

static void refused(const char *text, const char *part) {
    read_text(text, SC_INPUT);
    if (!strstr(sc_error_text(ctx), part))
        fail_msg("'%s' is not in '%s'", part, sc_error_text(ctx));
}

static void bad_profiles_are_refused_with_their_place(void **state) {
    (void)state;
    refused("", "ends too early");
    refused("{}", "schema");
    refused("[1]", "object");
    refused(HEAD ", \"swiches\": []}", "swiches");
    refused(HEAD ", \"switches\": {}}", "switches");
    refused(HEAD ", \"switches\": [{\"option\": \"tp\", \"value\": \"2\"}]}", "why");
    refused(HEAD ", \"switches\": [{\"option\": 3, \"why\": \"w\"}]}", "option");
    refused(HEAD ", \"constants\": [{\"name\": \"host\", \"value\": 1, \"why\": \"w\"}]}",
            "there is no constant \"host\"");
    refused(HEAD
            ", \"constants\": [{\"name\": \"host_us\", \"value\": -1, \"why\": \"w\"}]}",
            "value");
    refused(HEAD
            ", \"constants\": [{\"name\": \"host_us\", \"value\": 1e9, \"why\": \"\"}]}",
            "from 0 to 1e6");
    refused("{\"schema\": \"stepcast/software/1\", \"title\": \"t\", \"stack\": \"s\", "
            "\"source\": \"x\", \"from\": \"2024-13\", \"to\": \"2024-12\"}",
            "a month like 2024-05");
    assert_true(strstr(sc_error_text(ctx), ":1:") != NULL);
}

static struct sc__software_facts no_facts(void) {
    return (
        struct sc__software_facts){.model = "gpt2", .gpu = "h100-sxm", .types = {"bf16"}};
}

static sc_status apply(const struct sc__software *s,
                       const struct sc__software_facts *facts,
                       uint32_t without,
                       sc_plan *plan,
                       sc_options *options) {
    return sc__software_apply(ctx, s, facts, without, plan, options, NULL);
}

static const char profile[] =
    HEAD ", \"switches\": ["
         "{\"option\": \"overlap-grad\", \"value\": \"no\", \"why\": \"w\"},"
         "{\"option\": \"fusion\", \"value\": \"2021\", \"why\": \"w\"},"
         "{\"option\": \"recompute\", \"value\": \"full\", \"why\": \"w\", \"model\": "
         "\"gpt2,llama\"},"
         "{\"option\": \"recompute\", \"value\": \"selective\", \"why\": \"w\", \"gpu\": "
         "\"A100\"},"
         "{\"option\": \"zero\", \"value\": \"1\", \"why\": \"w\", \"precision\": \"fp8\"},"
         "{\"option\": \"two-level\", \"why\": \"w\"}],"
         "\"constants\": [{\"name\": \"host_us\", \"value\": 11, \"why\": \"w\"},"
         "{\"name\": \"host_us\", \"value\": 12, \"why\": \"w\", \"gpu\": \"a100\"}]}";

static void what_is_said_goes_first(void **state) {
    (void)state;
    const struct sc__software *s = read_text(profile, SC_OK);
    struct sc__software_facts facts = no_facts();
    sc_plan plan = SC_PLAN_INIT;
    sc_options options = SC_OPTIONS_INIT;
    plan.fusion = SC_FUSION_EAGER;
    assert_int_equal(apply(s, &facts, SC__SOFTWARE_ALL, &plan, &options), SC_OK);
    assert_int_equal(plan.fusion, SC_FUSION_EAGER);
    assert_int_equal(plan.overlap_grad, SC_OFF);
    assert_int_equal(plan.overlap_tp, SC_TP_OVERLAP_WGRAD); /* of what all fall back on */
    assert_int_equal(options.two_level, SC_ON);
    assert_int_equal(plan.zero, -1);
    assert_int_equal(plan.recompute, SC_RECOMPUTE_FULL);
}

/* The last entry that holds decides; conditions are prefixes in any case. */
static void conditions(void **state) {
    (void)state;
    const struct sc__software *s = read_text(profile, SC_OK);
    static const struct {
        const char *model;
        const char *gpu;
        const char *type;
        sc_recompute recompute;
        int zero;
        double host_us;
    } cases[] = {
        {"gpt2-xl", "h100-sxm", "bf16", SC_RECOMPUTE_FULL, -1, 11},
        {"LLAMA3-8b", "h100-sxm", "fp8", SC_RECOMPUTE_FULL, 1, 11},
        {"gpt2", "a100-80", "bf16", SC_RECOMPUTE_SELECTIVE, -1, 12},
        {"opt-125m", "a10", "bf16", SC_RECOMPUTE_AUTO, -1, 11},
        {"gp", "A100", "fp16", SC_RECOMPUTE_SELECTIVE, -1, 12},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc__software_facts facts = {.model = cases[i].model,
                                           .gpu = cases[i].gpu,
                                           .types = {cases[i].type}};
        struct sc__software_constants c;
        sc_plan plan = SC_PLAN_INIT;
        sc_options options = SC_OPTIONS_INIT;
        assert_int_equal(apply(s, &facts, SC__SOFTWARE_ALL, &plan, &options), SC_OK);
        assert_int_equal(plan.recompute, cases[i].recompute);
        assert_int_equal(plan.zero, cases[i].zero);
        assert_int_equal(sc__software_constants(ctx, s, &facts, SC__SOFTWARE_ALL, &c, NULL),
                         SC_OK);
        assert_true(c.host_us == cases[i].host_us);
    }
}

/* Left out, an entry gives way to the one before it. */
static void without_an_entry(void **state) {
    (void)state;
    const struct sc__software *s = read_text(profile, SC_OK);
    struct sc__software_facts facts = {.model = "gpt2", .gpu = "a100", .types = {"bf16"}};
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sc__software_entry *e = &s->entries[i];
        sc_plan plan = SC_PLAN_INIT;
        sc_options options = SC_OPTIONS_INIT;
        assert_int_equal(apply(s, &facts, i, &plan, &options), SC_OK);
        bool selective = !e->is_constant && !strcmp(e->text, "selective");
        assert_int_equal(plan.recompute,
                         selective ? SC_RECOMPUTE_FULL : SC_RECOMPUTE_SELECTIVE);
    }
}

/* Every file of data/software/ is read, every option it sets is one, and what it
 * is near to is there. */
static void built_in_profiles_hold(void **state) {
    (void)state;
    const char **names = sc__data_names(&ctx->arena, "software/");
    uint32_t count = 0;
    for (; names[count]; count++) {
        const struct sc__software *s;
        struct sc__software_facts facts = no_facts();
        struct sc__software_constants c;
        assert_int_equal(sc__software_read(ctx, names[count], &s), SC_OK);
        assert_true(strcmp(s->from, s->to) <= 0);
        for (uint32_t i = 0; i < s->count; i++) {
            sc_plan plan = SC_PLAN_INIT;
            sc_options options = SC_OPTIONS_INIT;
            struct sc__software one = {.name = s->name,
                                       .entries = &s->entries[i],
                                       .count = 1};
            struct sc__software_entry always = s->entries[i];
            always.model = always.gpu = always.precision = NULL;
            one.entries = &always;
            if (apply(&one, &facts, SC__SOFTWARE_ALL, &plan, &options) != SC_OK)
                fail_msg("%s: %s", names[count], sc_error_text(ctx));
            assert_true(*s->entries[i].why);
        }
        assert_int_equal(sc__software_constants(ctx, s, &facts, SC__SOFTWARE_ALL, &c, NULL),
                         SC_OK);
        struct sc__str rest = sc__str(s->near ? s->near : "");
        struct sc__str near;
        while (sc__split(&rest, ',', &near) && near.n)
            assert_non_null(
                sc__data_find_loosely(&ctx->arena,
                                      "software/",
                                      sc__strndup(&ctx->arena, near.p, near.n)));
    }
    assert_true(count >= 30);
}

static void names_are_found(void **state) {
    (void)state;
    static const struct {
        const char *said;
        const char *profile;
    } cases[] = {
        {"nemo-25.04", "nemo-25.04"},
        {"NeMo 25.04", "nemo-25.04"},
        {"nvcr.io/nvidia/nemo:24.07", "nemo-24.07"},
        {"nvcr.io/nvidia/nemo:25.11", "bridge-25.11"},
        {"nemo 2024-03", "nemo-24.03"},
        {"megatron 2021-06", "megatron-2021"},
        {"Megatron-LM v2.5", "megatron-2021"},
        {"mlcommons/training_results_v4.1", "mlperf-v4"},
        /* a release by its container, a month by its name, a year in brackets */
        {"NVIDIA NeMo docs, 24.09 container", "nemo-24.07"},
        {"nvcr.io/nvidia/nemo:23.07", "nemo-24.03"},
        {"nemofw-training:23.08.03", "nemo-24.03"},
        {"NeMo, Aug 2025", "nemo-25.04"},
        {"NeMo of August 2024", "nemo-24.07"},
        {"Megatron-LM, pytorch:24.03-py3", "megatron-core-2024"},
        {"megatron-core v0.6.0, somewhere", "megatron-core-2024"},
        {"mcore v0.12", "megatron-core-2025"},
        {"core_v0.10.0", "megatron-core-2025"},
        {"Megatron-LM (SC, 2021)", "megatron-2021"},
        {"Megatron-LM (2021)", "megatron-2021"},
        {"Megatron-DeepSpeed (2022)", "megatron-deepspeed-2022"},
        {"Megatron-DeepSpeed", "megatron-deepspeed-2022"},
        {"Megatron-LM 2026-03", "megatron-core-2025"}, /* the nearest in time */
        {"MLPerf training (2024-06)", "mlperf-v4"},
        {"MLPerf on Megatron (2026-04)", "megatron-core-2025"}, /* what runs it */
        {"GPT-NeoX (2022)", "gpt-neox"},
        {"NeMo", "nemo-25.04"}, /* the latest */
        {"nanotron", "nanotron"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sc__software *s;
        struct sc__str nothing = {"", 0};
        assert_int_equal(sc__software_find(ctx, cases[i].said, nothing, &s), SC_OK);
        assert_string_equal(s->name, cases[i].profile);
    }
}

static void evidence_decides_for_auto(void **state) {
    (void)state;
    const struct sc__software *s;
    struct sc__str script = sc__str("srun --container-image nvcr.io/nvidia/nemo:24.12\n"
                                    "python pretrain_gpt.py --num-layers 2");
    assert_int_equal(sc__software_find(ctx, "auto", script, &s), SC_OK);
    assert_string_equal(s->name, "nemo-24.07");
    struct sc__str toml = sc__str("[parallelism]\ndata_parallel_shard_degree = -1\n");
    assert_int_equal(sc__software_find(ctx, "auto", toml, &s), SC_OK);
    assert_string_equal(s->stack, "torchtitan");
    /* a version is no month, a seed no year, a word inside another no stack */
    struct sc__str version = sc__str("megatron --version 1.24.05 --seed 2021");
    assert_int_equal(sc__software_find(ctx, "auto", version, &s), SC_OK);
    assert_string_equal(s->name, "megatron-core-2025");
    struct sc__str words = sc__str("hpcaitech transformers_version TE PyTorch 2024-09");
    assert_int_equal(sc__software_find(ctx, "auto", words, &s), SC_OK);
    assert_null(s);
    struct sc__str nothing = sc__str("hello");
    assert_int_equal(sc__software_find(ctx, "auto", nothing, &s), SC_OK);
    assert_null(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_profiles_are_refused_with_their_place),
        cmocka_unit_test(what_is_said_goes_first),
        cmocka_unit_test(conditions),
        cmocka_unit_test(without_an_entry),
        cmocka_unit_test(built_in_profiles_hold),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(evidence_decides_for_auto),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
