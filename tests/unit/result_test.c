/* A result stands for itself: it outlives what it was made of, and what it says
 * is the same whichever way it is read. */
#include "test.h"

#include "report/write.h"
#include "result/compare.h"
#include "step_fixture.h"

#include <jansson.h>

#define US SC__PS_PER_US

static const struct step_plan pipeline = {.pp = 4,
                                          .tp = 2,
                                          .dp = 2,
                                          .micro_batches = 8,
                                          .layers = 2,
                                          .forward = 100 * US,
                                          .backward = 200 * US,
                                          .update = 50 * US};

static sc_status make_net(void *self,
                          struct sc_context *ctx,
                          const struct sc__workload *w,
                          struct sc__net *out) {
    (void)self;
    (void)w;
    *out = fixed_net(ctx, 30 * US, 7 * US);
    return SC_OK;
}

/* With everything a result can have. */
static struct sc__result make_result(sc_context *ctx, struct step_plan plan) {
    struct sc__workload *w = step_workload(ctx, &plan);
    struct sc__sim_options options = {.keep_timeline = true};
    struct sc__net_maker maker = {.make = make_net};
    struct sc__net net;
    struct sc__sim sim;
    struct sc__cluster cluster = {.name = sc__strdup(&ctx->arena, "a cluster"),
                                  .gpu = "a GPU",
                                  .gpus = 16,
                                  .node_gpus = 8};
    struct sc__result r;
    make_net(NULL, ctx, w, &net);
    assert_int_equal(sc__simulate(ctx, w, &net, &options, &sim), SC_OK);
    sc__note(ctx, "a-note", "%s", "something was assumed");
    assert_int_equal(sc__result_make(ctx, w, &cluster, &net, &sim, &r), SC_OK);
    sc__result_set_files(&r, (const char *const[]){"one.txt", "two.txt"}, 2);
    sc__result_set_command(&r, (const char *const[]){"stepcast", "run"}, 2);
    sc__result_add_setting(&r, "recompute", "full");
    sc__result_add_path(&r);
    sc__result_add_shares(&r, w);
    assert_int_equal(sc__result_add_whatif(ctx, &r, w, &maker, &options), SC_OK);
    return r;
}

/* All that can be written of a result, one after the other. */
static char *write_everything(const struct sc__result *r) {
    struct sc__arena arena;
    struct sc__buffer out;
    struct sc__trace_ranks ranks = {.ranks = (uint32_t[]){0, 5, 15}, .count = 3};
    sc__arena_init(&arena);
    sc__buffer_init(&out, &arena);
    sc__write_text(r, true, 72, &out);
    sc__write_whatif(r, &out);
    sc__write_gantt(r, 90, false, &out);
    sc__write_json(r, SC__JSON_ALL, &out);
    sc__write_csv(r, &out);
    sc__write_trace(r, &ranks, &out);
    sc__write_hta(r, 5, &out);
    char *text = strdup(out.text);
    sc__arena_free(&arena);
    return text;
}

static void a_result_outlives_the_context_it_came_from(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    struct sc__result r = make_result(ctx, pipeline);
    char *before = write_everything(&r);
    /* another evaluation in the same context, with notes of its own */
    ctx->note_count = 0;
    sc__note(ctx, "another-note", "something else was assumed");
    struct step_plan other = pipeline;
    other.micro_batches = 3;
    struct sc__result second = make_result(ctx, other);
    sc__result_free(&second);
    sc_close(ctx);
    char *after = write_everything(&r);
    assert_string_equal(before, after);
    assert_non_null(strstr(after, "something was assumed"));
    assert_null(strstr(after, "something else"));
    free(before);
    free(after);
    sc__result_free(&r);
    sc__result_free(&r);
}

static json_t *written(const struct sc__result *r, unsigned sections) {
    struct sc__arena arena;
    struct sc__buffer out;
    json_error_t e;
    sc__arena_init(&arena);
    sc__buffer_init(&out, &arena);
    sc__write_json(r, sections, &out);
    json_t *root = json_loadb(out.text, out.size, JSON_REJECT_DUPLICATES, &e);
    if (!root)
        fail_msg("%s", e.text);
    sc__arena_free(&arena);
    return root;
}

static void sections_are_chosen_by_flags(void **state) {
    (void)state;
    static const char *const timeline[] = {"timeline", "critical_path", "operations"};
    sc_context *ctx = sc_open();
    struct sc__result r = make_result(ctx, pipeline);
    for (unsigned sections = 0; sections <= SC__JSON_ALL; sections++) {
        json_t *root = written(&r, sections);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(json_object_get(root, timeline[i]) != NULL,
                             (sections & SC__JSON_TIMELINE) != 0);
        assert_int_equal(json_object_get(root, "what_if") != NULL,
                         (sections & SC__JSON_WHAT_IF) != 0);
        json_t *settings = json_object_get(root, "settings");
        assert_string_equal(json_string_value(json_object_get(settings, "recompute")),
                            "full");
        json_decref(root);
    }
    sc__result_free(&r);
    sc_close(ctx);
}

static void same_amounts(const struct sc__amounts *x, const struct sc__amounts *y) {
    assert_true(x->count > 0);
    assert_int_equal(x->count, y->count);
    for (uint32_t i = 0; i < x->count; i++) {
        assert_string_equal(x->keys.text[i], y->keys.text[i]);
        assert_true(x->us[i] == y->us[i]);
    }
}

/* The view of a result is that of its document, to the last bit. */
static void a_fresh_result_compares_as_a_saved_one(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    struct sc__result r = make_result(ctx, pipeline);
    struct sc__compared fresh;
    struct sc__compared saved;
    struct sc__buffer out;
    sc__buffer_init(&out, &ctx->arena);
    sc__write_json(&r, SC__JSON_TIMELINE, &out);
    struct sc__str document = {out.text, out.size};
    sc__compared_result(&ctx->arena, "r", &r, &fresh);
    assert_int_equal(sc__compared_saved(ctx, "r", document, &saved), SC_OK);
    assert_true(fresh.step == saved.step);
    same_amounts(&fresh.parts, &saved.parts);
    same_amounts(&fresh.groups, &saved.groups);
    same_amounts(&fresh.operations, &saved.operations);
    double sum = 0;
    for (uint32_t i = 0; i < fresh.parts.count; i++)
        sum += fresh.parts.us[i];
    assert_float_equal(sum, fresh.step, 1e-6);
    sc__result_free(&r);
    sc_close(ctx);
}

/* `count` computations of 1 us and as many all-reduces of 7 us, each of its own name. */
static struct sc__result make_long_result(sc_context *ctx, unsigned count) {
    struct sc__workload *w = sc__workload_new(&ctx->arena, "workload-text");
    struct sc__net net = fixed_net(ctx, 0, 7 * US);
    struct sc__sim_options options = {.keep_timeline = true};
    struct sc__sim sim;
    struct sc__result r;
    w->mesh = sc__mesh(2, 1, 1, 1, 1, 0);
    sc__block_begin(w);
    for (unsigned i = 0; i < count; i++) {
        const char *name = sc__format(&ctx->arena, "layer %u", i);
        sc__block_add(w, SC__OP_COMPUTE, SC__FORWARD, 0, name)->cost = US;
        name = sc__format(&ctx->arena, "all-reduce %u", i);
        struct sc__op *op = sc__block_add(w, SC__OP_COLLECTIVE, SC__FORWARD, 0, name);
        op->group = sc__workload_group(w, SC__GROUP_TP);
        op->bytes = 1024;
    }
    uint32_t block = sc__block_end(w);
    uint32_t program = sc__program_begin(w);
    sc__program_call(w, block, 0, 0, 0);
    sc__class_add(w, program, 0, 2, 0);
    assert_int_equal(sc__simulate(ctx, w, &net, &options, &sim), SC_OK);
    sc__result_make(ctx, w, NULL, &net, &sim, &r);
    sc__result_add_path(&r);
    return r;
}

/* A document lists the longest operations; what it leaves out still counts. */
static void operations_that_are_not_listed_count(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    struct sc__result r = make_long_result(ctx, 500);
    struct sc__compared side[2];
    struct sc__comparison c;
    struct sc__buffer out;
    sc__buffer_init(&out, &ctx->arena);
    sc__write_json(&r, SC__JSON_TIMELINE, &out);
    struct sc__str document = {out.text, out.size};
    sc__compared_result(&ctx->arena, "r", &r, &side[0]);
    assert_int_equal(sc__compared_saved(ctx, "r", document, &side[1]), SC_OK);
    assert_int_equal(side[0].operations.count, 1000);
    assert_int_equal(side[0].left_out, 0);
    assert_int_equal(side[1].left_out, 1000 - SC__LISTED_OPERATIONS);
    sc__compare(&ctx->arena, side, &c);
    assert_int_equal(c.groups.count, 1);
    assert_string_equal(c.groups.items[0].key, "tp");
    assert_float_equal(c.groups.items[0].a, 500 * 7, 1e-6);
    assert_float_equal(c.groups.items[0].b, 500 * 7, 1e-6);
    sc__result_free(&r);
    sc_close(ctx);
}

static const char layers[] =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 2 vpp: 1 ga: 4 "
    "all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 1000000\n"
    "2\n"
    "embedding_layer -1 1000 NONE 0 1000 NONE 0 1000 NONE 0 100\n"
    "attention_layer -1 1000000 ALLREDUCE 1000000 1000000 NONE 0 1000000 NONE 0 100\n";

static int count_rows(void *user, const char *what, double share) {
    (void)share;
    if (!strcmp(what, "what if"))
        ++*(unsigned *)user;
    return 0;
}

/* Text, JSON and page ask for the table; every row of it is simulated once. */
static void whatif_is_simulated_once(void **state) {
    (void)state;
    const char *input = temporary_file(layers, strlen(layers));
    const char *json = temporary_file("", 0);
    const char *page = temporary_file("", 0);
    unsigned simulated = 0;
    sc_context *ctx = sc_open();
    sc_request *req = sc_request_new(ctx, "run");
    sc_set_progress(ctx, count_rows, &simulated);
    sc_request_input(req, input);
    sc_request_set(req, "what-if", NULL);
    sc_request_set(req, "json", json);
    sc_request_set(req, "html", page);
    sc_status status = sc_execute(req);
    if (status == SC_SYSTEM && strstr(sc_error_text(ctx), "without the report page"))
        skip_needs("page");
    assert_int_equal(status, SC_OK);
    json_t *root = json_load_file(json, 0, NULL);
    size_t rows = json_array_size(json_object_get(root, "what_if"));
    size_t changes = json_array_size(json_object_get(root, "what_if_changes"));
    assert_true(rows > 1 && changes > 1);
    assert_int_equal(simulated, rows + changes);
    assert_non_null(strstr(sc_request_output(req), "what if"));
    json_decref(root);
    sc_close(ctx);
    unlink(input);
    unlink(json);
    unlink(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_outlives_the_context_it_came_from),
        cmocka_unit_test(sections_are_chosen_by_flags),
        cmocka_unit_test(a_fresh_result_compares_as_a_saved_one),
        cmocka_unit_test(operations_that_are_not_listed_count),
        cmocka_unit_test(whatif_is_simulated_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
