/* What is said of a step that was worked out by hand: rates, costs, volumes, the table of
 * rows and its cells. */
#include "test.h"

#include "report/write.h"
#include "step_fixture.h"

#define US SC__PS_PER_US

/* Two stages of two layers, pairs of tensor-parallel ranks. Messages take 30 us,
 * collectives 7. */
static const struct step_plan pipeline = {.pp = 2,
                                          .tp = 2,
                                          .dp = 1,
                                          .micro_batches = 3,
                                          .layers = 2,
                                          .forward = 100 * US,
                                          .backward = 200 * US,
                                          .update = 50 * US};
enum { FORWARD_US = 2 * (100 + 7), BACKWARD_US = 2 * (200 + 7), RANKS = 4 };
/* 1F1B of two stages. What decides: the first micro-batch there and back, then the third,
 * whose forward comes after the first one's backward. */
static const double step_us = 2 * (2 * FORWARD_US + 2 * BACKWARD_US + 2 * 30) + 50;

static struct sc__result make_result(sc_context *ctx,
                                     const struct step_plan *plan,
                                     double model_flops,
                                     double limit) {
    struct sc__workload *w = step_workload(ctx, plan);
    struct sc__net net = fixed_net(ctx, 30 * US, 7 * US);
    struct sc__sim_options options = {.keep_timeline = true};
    struct sc__sim sim;
    struct sc__result r;
    w->tokens = 8192;
    w->model_flops = model_flops;
    w->hardware_flops = 1.25 * model_flops;
    w->peak_flops = 1e15;
    w->draw = (struct sc__draw){.busy = 900, .idle = 150, .limit = limit};
    w->gpu_usd_per_hour = 3;
    assert_int_equal(sc__simulate(ctx, w, &net, &options, &sim), SC_OK);
    assert_int_equal(sc__result_make(ctx, w, NULL, &net, &sim, &r), SC_OK);
    return r;
}

static void rates(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    double seconds = step_us / 1e6;
    struct sc__result r = make_result(ctx, &pipeline, 4e12, 1000);
    assert_within((double)r.step, step_us * US, 1e-12);
    assert_within(r.tokens_per_s, 8192 / seconds, 1e-12);
    assert_within(r.tflops_per_gpu, 1 / seconds, 1e-12);
    assert_within(r.mfu, 1e12 / 1e15 / seconds, 1e-12);
    assert_within(r.hfu, 1.25e12 / 1e15 / seconds, 1e-12);
    /* 750 W beside the 150 at rest, while kernels run */
    double busy = (3 * 2 * 300 + 50) / 1e6;
    assert_within(r.energy_j, RANKS * (150 * seconds + 750 * busy), 1e-12);
    assert_within(r.cost_usd, 3.0 * RANKS * seconds / 3600, 1e-12);
    struct sc__step_shares shares = sc__result_step_shares(&r);
    assert_within(shares.compute, (3 * 2 * 300 + 50) / step_us, 1e-12);
    assert_within(shares.compute + shares.exposed + shares.bubble, 1, 1e-12);
    sc__result_free(&r);
    sc_close(ctx);
}

/* 700 W in the mean over kernels and what is exposed between them. */
static void energy_at_the_limit(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    double seconds = step_us / 1e6;
    double busy = (3 * 2 * 300 + 50) / 1e6;
    struct sc__result r = make_result(ctx, &pipeline, 4e12, 700);
    double paced = 0;
    for (uint32_t c = 0; c < r.class_count; c++) {
        paced += busy / r.class_count;
        for (uint32_t i = 0; i < r.labels; i++)
            paced +=
                (double)r.classes[c].breakdown.comm[i].exposed / US / 1e6 / r.class_count;
    }
    assert_number(paced, <, busy * 750 / 550);
    assert_within(r.energy_j, RANKS * (150 * seconds + 550 * paced), 1e-12);
    sc__result_free(&r);
    sc_close(ctx);
}

/* Of a rank that takes twice as long, its own times. Layers are products and attention in
 * turn, which are parts of their own. */
static void shares_of_a_slow_rank(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    struct step_plan one = pipeline;
    one.pp = 1;
    struct sc__workload *w = step_workload(ctx, &one);
    struct sc__net net = fixed_net(ctx, 30 * US, 7 * US);
    struct sc__sim_options options = {0};
    struct sc__sim sim;
    struct sc__result r;
    w->classes[0].slow = 2;
    assert_int_equal(sc__simulate(ctx, w, &net, &options, &sim), SC_OK);
    assert_int_equal(sc__result_make(ctx, w, NULL, &net, &sim, &r), SC_OK);
    sc__result_add_shares(&r, w);
    static const char *const classes[] = {"attention", "gemm"};
    for (unsigned i = 0; i < 2; i++) {
        assert_string_equal(r.shares->items[i].name, "mlp_grad");
        assert_string_equal(r.shares->items[i].class, classes[i]);
        assert_number(r.shares->items[i].time, ==, 2 * 3 * 200 * US);
        assert_string_equal(r.shares->items[2 + i].name, "mlp");
        assert_number(r.shares->items[2 + i].time, ==, 2 * 3 * 100 * US);
    }
    sc__result_free(&r);
    sc_close(ctx);
}

static bool has_note(const struct sc__result *r, const char *code) {
    for (uint32_t i = 0; i < r->note_count; i++)
        if (!strcmp(r->notes[i].code, code))
            return true;
    return false;
}

static void above_the_peak(void **state) {
    (void)state;
    static const double shares[] = {0.99, 1.01};
    for (unsigned i = 0; i < 2; i++) {
        sc_context *ctx = sc_open();
        double flops = shares[i] * RANKS * 1e15 * step_us / 1e6;
        struct sc__result r = make_result(ctx, &pipeline, flops, 700);
        assert_within(r.mfu, shares[i], 1e-12);
        assert_int_equal(has_note(&r, "mfu-above-peak"), i == 1);
        sc__result_free(&r);
        sc_close(ctx);
    }
}

/* Backward ends on the first stage: it is the slowest, and what is said of traffic is its.
 */
static void volumes_of_the_slowest(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    struct sc__result r = make_result(ctx, &pipeline, 1e12, 700);
    assert_int_equal(r.slowest, 0);
    unsigned seen = 0;
    for (uint32_t i = 0; i < r.volume_count; i++) {
        const struct sc__volume *v = &r.volumes[i];
        bool message = v->coll == SC__COLLS;
        /* activations go on from here, gradients do not */
        assert_false(message && v->phase != SC__FORWARD);
        assert_int_equal(v->ops, message ? 3 : 3 * 2);
        assert_int_equal(v->bytes, message ? 3 << 22 : 6 << 24);
        seen += message ? 1 : 10;
    }
    assert_int_equal(seen, 21);
    sc__result_free(&r);
    sc_close(ctx);
}

static char *csv_of(sc_context *ctx, const struct sc__result *r) {
    struct sc__buffer out;
    sc__buffer_init(&out, &ctx->arena);
    sc__write_csv(r, &out);
    return out.text;
}

static void has_line(const char *csv, const char *line) {
    char text[256];
    snprintf(text, sizeof text, "\n%s\n", line);
    if (!strstr(csv, text))
        fail_msg("no line %s in\n%s", line, csv);
}

/* One stage: nothing hides what its ranks exchange. Rows of the input are told by number,
 * the first is 0. */
static void table_of_rows(void **state) {
    static const char head[] =
        "row,name,calls,bytes,forward_compute_us,forward_comm_us,forward_exposed_us,"
        "backward_compute_us,backward_comm_us,backward_exposed_us,";
    (void)state;
    struct step_plan one = pipeline;
    one.pp = 1;
    sc_context *ctx = sc_open();
    struct sc__result r = make_result(ctx, &one, 1e12, 700);
    struct sc__op *ops = r.workload->ops;
    for (uint32_t i = 0; i < r.workload->op_count; i++)
        if (ops[i].kind == SC__OP_COMPUTE)
            ops[i].row = ops[i].phase == SC__FORWARD ? 0 : 7 + ops[i].phase;
    char *csv = csv_of(ctx, &r);
    assert_memory_equal(csv, head, sizeof head - 1);
    has_line(csv, "0,mlp,6,0,600,0,0,0,0,0,0,0,0,0,0,0,0,0,0");
    has_line(csv, "8,mlp_grad,6,0,0,0,0,1200,0,0,0,0,0,0,0,0,0,0,0");
    has_line(csv, ",tp_allreduce,12,201326592,0,42,42,0,42,42,0,0,0,0,0,0,0,0,0");
    sc__result_free(&r);
    sc_close(ctx);
}

/* As RFC 4180 has it; an apostrophe before what a spreadsheet would compute; what is no
 * UTF-8 is U+FFFD. */
static void cells(void **state) {
    static const char *const known[][2] = {{"plain", "plain"},
                                           {"", ""},
                                           {"a,b", "\"a,b\""},
                                           {"say \"so\"", "\"say \"\"so\"\"\""},
                                           {"=1+1", "\"'=1+1\""},
                                           {"+1", "\"'+1\""},
                                           {"-1", "\"'-1\""},
                                           {"@x", "\"'@x\""},
                                           {"a=b", "a=b"},
                                           {"a\nb", "\"a\nb\""},
                                           {"a\033b", "\"a\033b\""},
                                           {"\xc3\xa4", "\"\xc3\xa4\""},
                                           {"a\xff"
                                            "b",
                                            "\"a\xef\xbf\xbd"
                                            "b\""}};
    (void)state;
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        struct sc__arena arena;
        struct sc__buffer out;
        sc__arena_init(&arena);
        sc__buffer_init(&out, &arena);
        sc__put_csv_cell(&out, known[i][0]);
        assert_string_equal(out.text, known[i][1]);
        sc__arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates),
        cmocka_unit_test(energy_at_the_limit),
        cmocka_unit_test(shares_of_a_slow_rank),
        cmocka_unit_test(above_the_peak),
        cmocka_unit_test(volumes_of_the_slowest),
        cmocka_unit_test(table_of_rows),
        cmocka_unit_test(cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
