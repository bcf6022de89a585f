/* The public objects: who owns what, what fails how, what stays behind. */
#include "test.h"

#include "api/object.h"

#include <malloc.h>
#include <pthread.h>

static sc_context *ctx;
static sc_model *model;
static sc_cluster *cluster;

static int open_objects(void **state) {
    (void)state;
    ctx = sc_open();
    assert_int_equal(sc_model_load(ctx, "llama3-8b", &model), SC_OK);
    assert_int_equal(sc_cluster_load(ctx, "dgx-h100:64", &cluster), SC_OK);
    return 0;
}

static int free_objects(void **state) {
    (void)state;
    sc_cluster_free(cluster);
    sc_model_free(model);
    sc_close(ctx);
    return 0;
}

static sc_plan small_plan(void) {
    sc_plan p = SC_PLAN_INIT;
    p.tp = 8;
    p.pp = 2;
    p.seq = 2048;
    p.global_batch = 32;
    p.zero = 1;
    return p;
}

static sc_result *evaluate(const sc_plan *p, const sc_options *o) {
    sc_result *r;
    if (sc_evaluate(ctx, model, p, cluster, o, &r) != SC_OK)
        fail_msg("%s", sc_error_text(ctx));
    return r;
}

static int append(void *self, const void *bytes, size_t n) {
    struct sc__buffer *b = self;
    sc__put(b, bytes, n);
    return 0;
}

/* The parts of every stage add up to the step. */
static void breakdown_adds_up(void **state) {
    (void)state;
    sc_plan p = small_plan();
    sc_result *r = evaluate(&p, NULL);
    double step = sc_result_step_us(r);
    assert_true(step > 0);
    assert_int_equal(sc_result_stages(r), 2);
    assert_int_equal(sc_result_ranks(r), 64);
    for (uint32_t s = 0; s < 2; s++) {
        sc_breakdown b;
        double exposed = 0;
        assert_int_equal(sc_result_breakdown(r, s, &b), SC_OK);
        double sum = b.compute_us + b.recompute_us + b.bubble_us + b.exposed_us +
                     b.skew_us + b.other_us;
        assert_true(fabs(sum - step) < 1e-5);
        for (uint32_t g = 0; g < sc_result_groups(r); g++) {
            sc_communication c;
            assert_int_equal(sc_result_communication(r, s, g, &c), SC_OK);
            exposed += c.exposed_us;
        }
        assert_true(fabs(exposed - b.exposed_us) < 1e-5);
        sc_memory m;
        assert_int_equal(sc_result_memory(r, s, &m), SC_OK);
        assert_true(m.total > m.weights && m.total <= m.capacity);
    }
    sc_breakdown none;
    assert_int_equal(sc_result_breakdown(r, 2, &none), SC_USAGE);
    /* 32 sequences of 2048 tokens a step */
    assert_true(fabs(sc_result_tokens_per_s(r) * step * 1e-6 - 65536) < 1e-6);
    sc_result_free(r);
}

/* The objects and the command line are one evaluation. */
static void objects_answer_as_requests(void **state) {
    (void)state;
    static const char *const options[][2] = {{"model", "llama3-8b"},
                                             {"cluster", "dgx-h100:64"},
                                             {"tp", "8"},
                                             {"pp", "2"},
                                             {"seq", "2048"},
                                             {"global-batch", "32"},
                                             {"zero", "1"},
                                             {"json", "-"}};
    struct sc_context scratch;
    struct sc__buffer b;
    sc_plan p = small_plan();
    sc_result *r = evaluate(&p, NULL);
    sc_request *req = sc_request_new(ctx, "run");
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++)
        assert_int_equal(sc_request_set(req, options[i][0], options[i][1]), SC_OK);
    assert_int_equal(sc_execute(req), SC_OK);
    sc__context_init(&scratch, NULL);
    sc__buffer_init(&b, &scratch.arena);
    assert_int_equal(sc_result_write(ctx, r, "json", append, &b), SC_OK);
    assert_string_equal(b.text, sc_request_output(req));
    sc__context_end(&scratch);
    sc_request_free(req);
    sc_result_free(r);
}

/* Pieces without gaps from 0 to the step; whatever takes no time, the step is not
 * longer for it. */
static void path_and_what_if_where_asked(void **state) {
    (void)state;
    sc_plan p = small_plan();
    sc_options o = SC_OPTIONS_INIT;
    sc_critical piece;
    sc_what_if row;
    sc_result *plain = evaluate(&p, NULL);
    assert_int_equal(sc_result_critical_path(plain, 0, &piece), SC_USAGE);
    assert_int_equal(sc_result_what_if(plain, 0, &row), SC_USAGE);
    assert_int_equal(sc_result_write(ctx, plain, "csv", append, NULL), SC_USAGE);
    assert_non_null(strstr(sc_error_hint(ctx), "timeline"));
    o.timeline = SC_ON;
    o.what_if = SC_ON;
    sc_result *r = evaluate(&p, &o);
    double end = 0;
    for (uint32_t i = 0; sc_result_critical_path(r, i, &piece) == SC_OK; i++) {
        assert_true(fabs(piece.start_us - end) < 1e-9);
        end = piece.end_us;
    }
    assert_true(fabs(end - sc_result_step_us(r)) < 1e-6);
    bool gemm = false;
    for (uint32_t i = 0; sc_result_what_if(r, i, &row) == SC_OK; i++) {
        assert_true(row.zero_us <= row.half_us + 1e-6);
        assert_true(row.half_us <= sc_result_step_us(r) + 1e-6);
        gemm |= !strcmp(row.key, "gemm");
    }
    assert_true(gemm);
    assert_true(sc_result_step_us(r) == sc_result_step_us(plain));
    sc_result_free(plain);
    sc_result_free(r);
}

static void launch_scripts_are_models_and_plans(void **state) {
    (void)state;
    static const char script[] =
        "torchrun pretrain_gpt.py --num-layers 24 --hidden-size 2048 \\\n"
        "  --num-attention-heads 16 --seq-length 2048 --micro-batch-size 2 \\\n"
        "  --global-batch-size 64 --tensor-model-parallel-size 4 --bf16 \\\n"
        "  --use-distributed-optimizer --recompute-activations --vocab-size 50304\n";
    const char *path = temporary_file(script, strlen(script));
    sc_model *m;
    sc_plan p;
    assert_int_equal(sc_model_load_script(ctx, path, &m, &p), SC_OK);
    unlink(path);
    assert_int_equal(sc_model_layers(m), 24);
    assert_int_equal(p.tp, 4);
    assert_int_equal(p.micro_batch, 2);
    assert_int_equal(p.zero, 1);
    assert_int_equal(p.recompute, SC_RECOMPUTE_SELECTIVE);
    assert_int_equal(p.overlap_grad, SC_OFF); /* a script that does not say so does not */
    sc_result *r;
    assert_int_equal(sc_evaluate(ctx, m, &p, cluster, NULL, &r), SC_OK);
    assert_int_equal(sc_result_plan(r)->dp, 16);
    sc_result_free(r);
    sc_model_free(m);
    assert_int_equal(sc_model_load_script(ctx, "/nonexistent.sh", &m, &p), SC_INPUT);
    assert_null(m);
}

/* A result does not need what it was made from, nor the context. */
static void result_outlives_its_makers(void **state) {
    (void)state;
    sc_context *own = sc_open();
    sc_model *m;
    sc_cluster *c;
    sc_result *r;
    sc_plan p = small_plan();
    char gpu[] = "h100";
    p.gpu = gpu;
    assert_int_equal(sc_model_load(own, "llama3-8b", &m), SC_OK);
    assert_int_equal(sc_cluster_load(own, "dgx-h100:64 nic=200Gbps", &c), SC_OK);
    assert_int_equal(sc_evaluate(own, m, &p, c, NULL, &r), SC_OK);
    sc_model_free(m);
    sc_cluster_free(c);
    sc_close(own);
    memset(gpu, 'x', sizeof gpu - 1);
    struct sc_context scratch;
    struct sc__buffer b;
    sc__context_init(&scratch, NULL);
    sc__buffer_init(&b, &scratch.arena);
    assert_int_equal(sc_result_write(ctx, r, "text", append, &b), SC_OK);
    assert_non_null(strstr(b.text, "dgx-h100"));
    assert_string_equal(sc_result_plan(r)->gpu, "h100");
    sc__context_end(&scratch);
    sc_result_free(r);
}

/* A resolved plan is complete, and gives the same step again. */
static void resolved_plan_is_a_plan(void **state) {
    (void)state;
    sc_plan p = small_plan();
    p.vpp = 2;
    p.gemm_dtype = SC_DTYPE_FP8;
    sc_result *first = evaluate(&p, NULL);
    const sc_plan *resolved = sc_result_plan(first);
    assert_int_equal(resolved->dp, 4);
    assert_int_equal(resolved->schedule, SC_SCHEDULE_INTERLEAVED);
    assert_int_equal(resolved->micro_batches, 8);
    assert_int_equal(resolved->overlap_p2p, SC_ON);
    sc_result *again = evaluate(resolved, NULL);
    assert_true(sc_result_step_us(first) == sc_result_step_us(again));
    sc_plan other = *sc_result_plan(again);
    assert_string_equal(resolved->software, other.software);
    other.software = resolved->software; /* each has its own copy of the text */
    assert_memory_equal(resolved, &other, sizeof *resolved);
    sc_result_free(again);
    sc_result_free(first);
}

static void plan_set_goes_by_the_option_table(void **state) {
    (void)state;
    sc_plan p = SC_PLAN_INIT;
    assert_int_equal(sc_plan_set(ctx, &p, "tp", "8"), SC_OK);
    assert_int_equal(sc_plan_set(ctx, &p, "pipeline-model-parallel-size", "4"), SC_OK);
    assert_int_equal(sc_plan_set(ctx, &p, "schedule", "zb-v"), SC_OK);
    assert_int_equal(sc_plan_set(ctx, &p, "sequence-parallel", NULL), SC_OK);
    assert_int_equal(sc_plan_set(ctx, &p, "recompute-modules", "mlp,layernorm"), SC_OK);
    assert_int_equal(sc_plan_set(ctx, &p, "bucket", "25MiB"), SC_OK);
    assert_int_equal(p.tp, 8);
    assert_int_equal(p.pp, 4);
    assert_int_equal(p.schedule, SC_SCHEDULE_ZB_V);
    assert_int_equal(p.sequence_parallel, SC_ON);
    assert_int_equal(p.recompute_modules, SC_MODULE_MLP | SC_MODULE_LAYERNORM);
    assert_int_equal(p.bucket_bytes, 25 << 20);
    assert_int_equal(sc_plan_set(ctx, &p, "tp", "0"), SC_USAGE);
    assert_non_null(strstr(sc_error_text(ctx), "--tp takes a whole number from 1 on"));
    assert_int_equal(sc_plan_set(ctx, &p, "shedule", "1f1b"), SC_USAGE);
    assert_non_null(strstr(sc_error_hint(ctx), "schedule"));
    assert_int_equal(sc_plan_set(ctx, &p, "schedule", NULL), SC_USAGE);
    assert_int_equal(sc_plan_set(ctx, &p, "tp", "4"), SC_OK);
    assert_string_equal(sc_error_text(ctx), "");
}

/* Whoever fills the structure wrongly reads the name of the field. */
static void bad_fields_are_named(void **state) {
    (void)state;
    sc_result *r = (sc_result *)1;
    sc_plan p = small_plan();
    p.schedule = (sc_schedule)99;
    assert_int_equal(sc_evaluate(ctx, model, &p, cluster, NULL, &r), SC_USAGE);
    assert_null(r);
    assert_non_null(strstr(sc_error_text(ctx), "sc_plan.schedule is 99"));
    p = small_plan();
    p.sequence_parallel = (sc_toggle)7;
    assert_int_equal(sc_evaluate(ctx, model, &p, cluster, NULL, &r), SC_USAGE);
    assert_non_null(strstr(sc_error_text(ctx), "sc_plan.sequence_parallel"));
    assert_string_equal(sc_error_hint(ctx), "SC_AUTO, SC_ON or SC_OFF");
    p = small_plan();
    p.zero = 4;
    assert_int_equal(sc_evaluate(ctx, model, &p, cluster, NULL, &r), SC_USAGE);
    assert_non_null(strstr(sc_error_text(ctx), "sc_plan.zero"));
    p = small_plan();
    p.moe_imbalance = 0.5;
    assert_int_equal(sc_evaluate(ctx, model, &p, cluster, NULL, &r), SC_USAGE);
    assert_non_null(strstr(sc_error_text(ctx), "sc_plan.moe_imbalance"));
    p = (sc_plan){0};
    assert_int_equal(sc_evaluate(ctx, model, &p, cluster, NULL, &r), SC_USAGE);
    assert_non_null(strstr(sc_error_text(ctx), "sc_plan.size"));
    p = small_plan();
    sc_options o = SC_OPTIONS_INIT;
    o.net = "nonsense";
    assert_int_equal(sc_evaluate(ctx, model, &p, cluster, &o, &r), SC_USAGE);
    const sc_setting fial = {"fial", "port3.up"};
    o = (sc_options)SC_OPTIONS_INIT;
    o.net_settings = &fial;
    o.net_setting_count = 1;
    assert_int_equal(sc_evaluate(ctx, model, &p, cluster, &o, &r), SC_USAGE);
    assert_non_null(strstr(sc_error_text(ctx), "'fial'"));
    sc_workload *w;
    assert_int_equal(sc_workload_parse(ctx, "x", "", 0, &fial, 1, NULL, &w), SC_USAGE);
    assert_non_null(strstr(sc_error_text(ctx), "'fial'"));
}

/* Sums with parts that there are not, what is no number, -1 where 0 says "as usual",
 * products that no 32 bits hold. */
static void odd_fields_are_refused(void **state) {
    (void)state;
    const struct {
        const char *word;
        sc_plan plan;
    } cases[] = {
        {"sc_plan.schedule is -1", {.schedule = (sc_schedule)-1}},
        {"sc_plan.cuda_graphs", {.cuda_graphs = 1u << 16}},
        {"sc_plan.recompute_modules",
         {.recompute = SC_RECOMPUTE_SELECTIVE, .recompute_modules = 512}},
        {"sc_plan.lora_targets", {.lora = 8, .lora_targets = 512}},
        {"sc_plan.host_launch_us is no finite number", {.host_launch_us = NAN}},
        {"sc_plan.gpu_spread is no finite number", {.gpu_spread = NAN}},
        {"only", {.pp = 2, .vpp = 1u << 31}},
        {"not a multiple", {.global_batch = 32, .micro_batch = 1u << 31}},
        {"not a multiple", {.micro_batch = 1u << 31}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sc_result *r = (sc_result *)1;
        sc_plan p = cases[i].plan;
        p.size = sizeof p;
        p.zero = -1;
        p.gpus = 16;
        p.seq = 512;
        assert_int_equal(sc_evaluate(ctx, model, &p, cluster, NULL, &r), SC_USAGE);
        assert_null(r);
        assert_non_null(strstr(sc_error_text(ctx), cases[i].word));
    }
}

static bool has_note(const sc_result *r, const char *code) {
    for (uint32_t i = 0; i < sc_result_notes(r); i++)
        if (!strcmp(sc_result_note_code(r, i), code))
            return true;
    return false;
}

/* Expects that the last call has refused this argument. */
static void is_missing(sc_status status, const char *name) {
    assert_int_equal(status, SC_USAGE);
    assert_string_equal(sc_error_message(ctx),
                        sc__format(&ctx->arena, "the argument '%s' is NULL", name));
}

/* A call that has failed leaves NULL, and who goes on with it is told. */
static void what_is_missing_is_told(void **state) {
    (void)state;
    sc_plan p = small_plan();
    const char *nowhere[] = {NULL};
    const sc_setting *none = NULL;
    sc_model *m = model;
    sc_cluster *c = cluster;
    sc_workload *w;
    sc_result *r;
    is_missing(sc_model_load(ctx, NULL, &m), "name");
    assert_null(m);
    is_missing(sc_model_parse(ctx, NULL, "{}", 2, &m), "name");
    is_missing(sc_model_parse(ctx, "x", NULL, 2, &m), "bytes");
    is_missing(sc_model_build(ctx, none, 2, &m), "settings");
    is_missing(sc_model_load_script(ctx, NULL, &m, &p), "path");
    is_missing(sc_cluster_load(ctx, NULL, &c), "text");
    assert_null(c);
    is_missing(sc_cluster_parse(ctx, "x", NULL, 2, &c), "bytes");
    is_missing(sc_plan_set(ctx, NULL, "tp", "2"), "plan");
    is_missing(sc_plan_set(ctx, &p, NULL, "2"), "name");
    is_missing(sc_workload_load(ctx, NULL, 1, none, 0, NULL, &w), "paths");
    is_missing(sc_workload_load(ctx, nowhere, 1, none, 0, NULL, &w), "paths");
    is_missing(sc_workload_parse(ctx, NULL, "", 0, none, 0, NULL, &w), "name");
    is_missing(sc_workload_parse(ctx, "x", "", 0, none, 1, NULL, &w), "settings");
    is_missing(sc_workload_lower(ctx, NULL, &p, cluster, NULL, &w), "model");
    is_missing(sc_evaluate(ctx, NULL, &p, cluster, NULL, &r), "model");
    assert_null(r);
    is_missing(sc_evaluate(ctx, model, NULL, cluster, NULL, &r), "plan");
    is_missing(sc_simulate(ctx, NULL, cluster, NULL, &r), "workload");
    is_missing(sc_result_write(ctx, NULL, "json", append, NULL), "r");
    r = evaluate(&p, NULL);
    is_missing(sc_result_write(ctx, r, NULL, append, NULL), "format");
    is_missing(sc_result_write(ctx, r, "json", NULL, NULL), "sink");
    sc_result_free(r);
}

/* They have no context to leave a text in: the status alone says it. */
static void what_a_missing_result_answers(void **state) {
    (void)state;
    sc_breakdown b;
    sc_communication c;
    sc_memory m;
    sc_what_if w;
    sc_critical p;
    assert_int_equal(sc_result_breakdown(NULL, 0, &b), SC_USAGE);
    assert_int_equal(sc_result_communication(NULL, 0, 0, &c), SC_USAGE);
    assert_int_equal(sc_result_memory(NULL, 0, &m), SC_USAGE);
    assert_int_equal(sc_result_what_if(NULL, 0, &w), SC_USAGE);
    assert_int_equal(sc_result_critical_path(NULL, 0, &p), SC_USAGE);
}

static void what_is_missing_in_requests(void **state) {
    (void)state;
    assert_null(sc_request_new(ctx, NULL));
    is_missing(sc_command_help(ctx, NULL, append, NULL), "command");
    is_missing(sc_command_help(ctx, "run", NULL, NULL), "sink");
    sc_request *req = sc_request_new(ctx, "run");
    is_missing(sc_request_set(req, NULL, "1"), "name");
    is_missing(sc_request_input(req, NULL), "path");
    sc_request_free(req);
    /* sc_request_new has said why it is none */
    assert_int_equal(sc_request_set(NULL, "tp", "1"), SC_USAGE);
    assert_int_equal(sc_request_input(NULL, "x"), SC_USAGE);
    assert_int_equal(sc_execute(NULL), SC_USAGE);
}

/* Options are checked like plans, and one without effect is noted. */
static void odd_options_are_told(void **state) {
    (void)state;
    const struct {
        const char *word;
        sc_options options;
    } cases[] = {
        {"sc_options.by_tuner is 7", {.by_tuner = (sc_toggle)7}},
        {"sc_options.timeline is 5", {.timeline = (sc_toggle)5}},
        {"sc_options.gpu_speedup", {.gpu_speedup = INFINITY}},
        {"sc_options.copies", {.copies = NAN}},
    };
    const sc_setting mtu = {"mtu", "1000"};
    const sc_setting nameless = {NULL, "1"};
    sc_plan p = small_plan();
    sc_result *r;
    sc_model *m;
    sc_options o;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        o = cases[i].options;
        o.size = sizeof o;
        assert_int_equal(sc_evaluate(ctx, model, &p, cluster, &o, &r), SC_USAGE);
        assert_non_null(strstr(sc_error_text(ctx), cases[i].word));
    }
    o = (sc_options)SC_OPTIONS_INIT;
    o.net_settings = &nameless;
    o.net_setting_count = 1;
    assert_int_equal(sc_evaluate(ctx, model, &p, cluster, &o, &r), SC_USAGE);
    assert_int_equal(sc_model_build(ctx, &nameless, 1, &m), SC_USAGE);
    o.net_settings = &mtu;
    r = evaluate(&p, &o);
    assert_true(has_note(r, "option-unused"));
    sc_result_free(r);
    r = evaluate(&p, NULL);
    assert_false(has_note(r, "option-unused"));
    sc_result_free(r);
}

/* Links are of the flow engine: naming one asks for it. */
static void failed_links_ask_for_flow(void **state) {
    (void)state;
    sc_result *r;
    sc_plan p = small_plan();
    sc_options o = SC_OPTIONS_INIT;
    const sc_setting degrade = {"degrade", "port3.up=0.01"};
    const sc_setting unknown = {"fail", "port999.up"};
    sc_result *whole = evaluate(&p, NULL);
    o.net_settings = &degrade;
    o.net_setting_count = 1;
    sc_result *slow = evaluate(&p, &o);
    assert_true(sc_result_step_us(slow) > 1.1 * sc_result_step_us(whole));
    o.net_settings = &unknown;
    assert_int_equal(sc_evaluate(ctx, model, &p, cluster, &o, &r), SC_USAGE);
    sc_result_free(slow);
    sc_result_free(whole);
}

/* "Does not fit" is not "over tolerance"; the program exits with 1 for both. */
static void too_large_has_a_status_of_its_own(void **state) {
    (void)state;
    sc_result *r;
    sc_plan p = SC_PLAN_INIT;
    p.gpus = 8;
    p.seq = 131072;
    assert_int_equal(sc_evaluate(ctx, model, &p, cluster, NULL, &r), SC_NO_FIT);
    assert_null(r);
    assert_int_equal(sc_exit_code(SC_NO_FIT), 1);
    assert_int_equal(sc_exit_code(SC_NO), 1);
    assert_int_equal(sc_exit_code(SC_INPUT), 3);
}

/* An option without effect is noted, whoever set it. */
static void idle_fields_are_noted(void **state) {
    (void)state;
    sc_plan p = small_plan();
    bool noted = false;
    p.cp_comm = SC_CP_COMM_ALL_GATHER;
    sc_result *r = evaluate(&p, NULL);
    for (uint32_t i = 0; i < sc_result_notes(r); i++)
        noted |= !strcmp(sc_result_note_code(r, i), "option-unused") &&
                 strstr(sc_result_note_text(r, i), "--cp-comm-type");
    assert_true(noted);
    assert_null(sc_result_note_text(r, sc_result_notes(r)));
    sc_result_free(r);
}

/* ---- requests ---- */

static void second_run_replaces_the_first(void **state) {
    (void)state;
    sc_request *req = sc_request_new(ctx, "show");
    sc_request_set(req, "cluster", "dgx-h100:64");
    assert_int_equal(sc_execute(req), SC_OK);
    char *first = strdup(sc_request_output(req));
    assert_int_equal(sc_execute(req), SC_OK);
    assert_string_equal(sc_request_output(req), first);
    free(first);
    sc_request_free(req);
}

static void success_clears_the_error(void **state) {
    (void)state;
    sc_request *req = sc_request_new(ctx, "show");
    assert_int_equal(sc_request_set(req, "clutser", "x"), SC_USAGE);
    assert_true(*sc_error_text(ctx));
    assert_int_equal(sc_request_set(req, "cluster", "dgx-h100:64"), SC_OK);
    assert_string_equal(sc_error_text(ctx), "");
    assert_int_equal(sc_execute(req), SC_OK);
    assert_string_equal(sc_error_text(ctx), "");
    sc_request_free(req);
}

/* ---- memory ---- */

static size_t in_use(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0; /* the sanitizer's own allocator; address watches leaks itself */
#else
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#endif
}

static void evaluate_once(unsigned i) {
    sc_result *r;
    sc_plan p = small_plan();
    p.tp = i % 5 == 4 ? 3 : 8; /* which is refused: errors must not stay either */
    sc_evaluate(ctx, model, &p, cluster, NULL, &r);
    sc_result_free(r);
}

static void execute_once(void) {
    sc_request *req = sc_request_new(ctx, "run");
    sc_request_set(req, "model", "gpt2");
    sc_request_set(req, "gpus", "2");
    assert_int_equal(sc_execute(req), SC_OK);
    sc_request_free(req);
}

static void nothing_stays_in_a_context(void **state) {
    (void)state;
    for (unsigned i = 0; i < 10; i++)
        evaluate_once(i);
    execute_once();
    size_t before = in_use();
    size_t arena = ctx->arena.total;
    for (unsigned i = 0; i < 100; i++)
        evaluate_once(i);
    execute_once();
    assert_true(in_use() <= before + 4096);
    assert_int_equal(ctx->arena.total, arena);
}

/* ---- progress ---- */

static int cancel(void *self, const char *what, double share) {
    unsigned *calls = self;
    (void)what;
    (void)share;
    if (*calls == 0)
        return 1;
    --*calls;
    return 0;
}

static void progress_cancels(void **state) {
    (void)state;
    unsigned calls = 0;
    sc_result *r;
    sc_context *own = sc_open();
    sc_plan p = small_plan();
    sc_set_progress(own, cancel, &calls);
    assert_int_equal(sc_evaluate(own, model, &p, cluster, NULL, &r), SC_CANCELLED);
    assert_null(r);
    assert_non_null(strstr(sc_error_text(own), "cancelled"));
    sc_request *req = sc_request_new(own, "run");
    sc_request_set(req, "model", "gpt2");
    sc_request_set(req, "gpus", "2");
    sc_request_set(req, "what-if", NULL);
    calls = 3; /* in the middle of what-if */
    assert_int_equal(sc_execute(req), SC_CANCELLED);
    sc_set_progress(own, NULL, NULL);
    assert_int_equal(sc_evaluate(own, model, &p, cluster, NULL, &r), SC_OK);
    sc_result_free(r);
    sc_close(own);
}

/* ---- bytes ---- */

static const char config[] =
    "{\"model_type\": \"llama\", \"num_hidden_layers\": 4, \"hidden_size\": 1024,"
    " \"num_attention_heads\": 16, \"num_key_value_heads\": 16,"
    " \"intermediate_size\": 4096, \"vocab_size\": 32000}";

static void inputs_are_bytes_too(void **state) {
    (void)state;
    sc_model *m;
    sc_cluster *c;
    sc_workload *w;
    sc_result *r;
    static const char machine[] =
        "{\"schema\": \"stepcast/cluster/1\", \"name\": \"ours\", \"gpu\": \"h100-sxm\","
        " \"gpus\": 16, \"node\": {\"gpus\": 8, \"nvlink\": \"450GB/s\","
        " \"nics\": 8, \"nic\": \"400Gbps\"}}";
    assert_int_equal(sc_model_parse(ctx, "config.json", config, strlen(config), &m), SC_OK);
    assert_int_equal(sc_model_layers(m), 4);
    /* q, k, v and o: 4·1024², gate, up and down: 3·1024·4096, two norms; two
     * embeddings, and the last norm */
    double layer = 4.0 * 1024 * 1024 + 3.0 * 1024 * 4096 + 2 * 1024;
    assert_true(sc_model_parameters(m) == 4 * layer + 2.0 * 32000 * 1024 + 1024);
    sc_model_free(m);
    assert_int_equal(sc_model_parse(ctx, "config.json", "{", 1, &m), SC_INPUT);
    assert_null(m);
    assert_string_equal(sc_error_file(ctx), "config.json");
    if (sc_cluster_parse(ctx, "machine.json", machine, strlen(machine), &c) != SC_OK)
        fail_msg("%s", sc_error_text(ctx));
    assert_string_equal(sc_cluster_name(c), "ours");
    assert_int_equal(sc_cluster_gpus(c), 16);
    sc_cluster_free(c);
    assert_int_equal(sc_cluster_parse(ctx, "machine.json", "{\"gpus\": ", 9, &c), SC_INPUT);
    assert_null(c);
    assert_string_equal(sc_error_file(ctx), "machine.json");
    static const char goal[] = "num_ranks 2\nrank 0 {\nl1: calc 1000\nl2: send 8b to 1\n"
                               "l2 requires l1\n}\nrank 1 {\nl1: recv 8b from 0\n}\n";
    const sc_setting settings[] = {{"format", "goal"}};
    if (sc_workload_parse(ctx, "a.goal", goal, strlen(goal), settings, 1, NULL, &w) !=
        SC_OK)
        fail_msg("%s", sc_error_text(ctx));
    assert_int_equal(sc_workload_ranks(w), 2);
    sc_options o = SC_OPTIONS_INIT;
    o.net = "loggops";
    assert_int_equal(sc_simulate(ctx, w, NULL, &o, &r), SC_OK);
    sc_workload_free(w);
    assert_true(sc_result_step_us(r) > 1);
    sc_result_free(r);
}

/* A workload stays as it is, whatever the options change. */
static void workloads_do_not_change(void **state) {
    (void)state;
    sc_workload *w;
    sc_result *r[3];
    static const char *const slow[] = {"rank:3=1.5", NULL};
    static const char *const scale[] = {"gemm=2", NULL};
    sc_plan p = small_plan();
    sc_options o = SC_OPTIONS_INIT;
    assert_int_equal(sc_workload_lower(ctx, model, &p, cluster, NULL, &w), SC_OK);
    assert_int_equal(sc_simulate(ctx, w, cluster, NULL, &r[0]), SC_OK);
    o.slow = slow;
    o.scale = scale;
    assert_int_equal(sc_simulate(ctx, w, cluster, &o, &r[1]), SC_OK);
    assert_int_equal(sc_simulate(ctx, w, cluster, NULL, &r[2]), SC_OK);
    assert_true(sc_result_step_us(r[1]) > 1.2 * sc_result_step_us(r[0]));
    assert_true(sc_result_step_us(r[2]) == sc_result_step_us(r[0]));
    sc_result *direct = evaluate(&p, NULL);
    assert_true(sc_result_step_us(direct) == sc_result_step_us(r[0]));
    sc_result_free(direct);
    for (unsigned i = 0; i < 3; i++)
        sc_result_free(r[i]);
    sc_workload_free(w);
}

/* ---- threads ---- */

enum { THREADS = 8, PLANS = 24 };

static void *work(void *self) {
    double *steps = self;
    sc_context *own = sc_open();
    for (unsigned i = 0; i < PLANS; i++) {
        sc_result *r;
        sc_plan p = small_plan();
        p.tp = 1u << i % 4;
        p.pp = 1u << i / 4 % 3;
        p.micro_batch = 1 + i / 12;
        p.global_batch = 128;
        p.ignore_memory = SC_ON;
        sc_options o = SC_OPTIONS_INIT;
        o.net = i % 8 == 7 ? "flow" : NULL;
        steps[i] = sc_evaluate(own, model, &p, cluster, &o, &r) == SC_OK
                       ? sc_result_step_us(r)
                       : -1;
        sc_result_free(r);
    }
    sc_close(own);
    return NULL;
}

/* Eight threads with one model and one cluster answer what one thread does; with
 * `make check-threads` the thread sanitizer looks on. */
static void threads_share_model_and_cluster(void **state) {
    (void)state;
    static double steps[THREADS + 1][PLANS];
    pthread_t thread[THREADS];
    work(steps[THREADS]);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, steps[i]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < THREADS; i++)
        assert_memory_equal(steps[i], steps[THREADS], sizeof steps[i]);
    assert_true(steps[0][0] > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breakdown_adds_up),
        cmocka_unit_test(objects_answer_as_requests),
        cmocka_unit_test(path_and_what_if_where_asked),
        cmocka_unit_test(launch_scripts_are_models_and_plans),
        cmocka_unit_test(result_outlives_its_makers),
        cmocka_unit_test(resolved_plan_is_a_plan),
        cmocka_unit_test(plan_set_goes_by_the_option_table),
        cmocka_unit_test(bad_fields_are_named),
        cmocka_unit_test(odd_fields_are_refused),
        cmocka_unit_test(odd_options_are_told),
        cmocka_unit_test(failed_links_ask_for_flow),
        cmocka_unit_test(too_large_has_a_status_of_its_own),
        cmocka_unit_test(idle_fields_are_noted),
        cmocka_unit_test(second_run_replaces_the_first),
        cmocka_unit_test(success_clears_the_error),
        cmocka_unit_test(nothing_stays_in_a_context),
        cmocka_unit_test(progress_cancels),
        cmocka_unit_test(what_is_missing_is_told),
        cmocka_unit_test(what_a_missing_result_answers),
        cmocka_unit_test(what_is_missing_in_requests),
        cmocka_unit_test(inputs_are_bytes_too),
        cmocka_unit_test(workloads_do_not_change),
        cmocka_unit_test(threads_share_model_and_cluster),
    };
    return cmocka_run_group_tests(tests, open_objects, free_objects);
}
