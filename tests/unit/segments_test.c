/* Segments, critical path, operations and what-if of hand-written steps; the
 * expectations come from the arithmetic of a 1F1B pipeline. */
#include "test.h"

#include "result/critical_path.h"
#include "result/operations.h"
#include "result/whatif.h"
#include "step_fixture.h"

#define US SC__PS_PER_US

struct step {
    sc_context *ctx;
    struct sc__workload *w;
    struct sc__sim sim;
    struct sc__by_class index;
};

static struct step make(struct step_plan p, int64_t message_time, int64_t collective_time) {
    struct step s = {.ctx = sc_open()};
    s.w = step_workload(s.ctx, &p);
    struct sc__net net = fixed_net(s.ctx, message_time, collective_time);
    struct sc__sim_options options = {.keep_timeline = true};
    assert_int_equal(sc__simulate(s.ctx, s.w, &net, &options, &s.sim), SC_OK);
    sc__by_class(&s.ctx->arena, s.sim.timeline, &s.index);
    return s;
}

static const struct step_plan plain = {.pp = 4,
                                       .tp = 1,
                                       .dp = 1,
                                       .micro_batches = 8,
                                       .layers = 2,
                                       .forward = 100 * US,
                                       .backward = 200 * US,
                                       .update = 50 * US};

/* Free communication: stage s is idle for (p − 1)·(F + B), whatever s is. */
static void bubbles_are_those_of_1f1b(void **state) {
    (void)state;
    struct step s = make(plain, 0, 0);
    for (uint32_t c = 0; c < plain.pp; c++) {
        struct sc__segments g;
        sc__segments(&s.ctx->arena, s.sim.timeline, &s.index, c, &g);
        assert_int_equal(g.total[SC__SEGMENT_BUBBLE],
                         (plain.pp - 1) * 2 * (100 + 200) * US);
        assert_int_equal(g.total[SC__SEGMENT_FORWARD], 8 * 2 * 100 * US);
        assert_int_equal(g.total[SC__SEGMENT_BACKWARD], 8 * 2 * 200 * US);
        assert_int_equal(g.total[SC__SEGMENT_UPDATE], 50 * US);
    }
    sc_close(s.ctx);
}

/* Every kind of every class is what the simulator accounted, and there are no
 * holes. */
static void
check_account(struct step_plan p, int64_t message_time, int64_t collective_time) {
    struct step s = make(p, message_time, collective_time);
    for (uint32_t c = 0; c < p.pp; c++) {
        struct sc__segments g;
        const struct sc__account *a = &s.sim.classes[c].account;
        int64_t exposed = 0;
        int64_t at = 0;
        sc__segments(&s.ctx->arena, s.sim.timeline, &s.index, c, &g);
        for (uint32_t i = 0; i <= s.w->group_count; i++)
            exposed += a->exposed[i];
        assert_int_equal(g.total[SC__SEGMENT_FORWARD] + g.total[SC__SEGMENT_BACKWARD] +
                             g.total[SC__SEGMENT_UPDATE],
                         a->compute);
        assert_int_equal(g.total[SC__SEGMENT_RECOMPUTE], a->recompute);
        assert_int_equal(g.total[SC__SEGMENT_COMM], exposed);
        assert_int_equal(g.total[SC__SEGMENT_BUBBLE], a->bubble);
        assert_int_equal(g.total[SC__SEGMENT_SKEW], a->skew);
        for (uint32_t i = 0; i < g.count; at = g.items[i++].end)
            assert_int_equal(g.items[i].start, at);
        assert_int_equal(at, s.sim.step);
    }
    sc_close(s.ctx);
}

static void segments_are_the_account(void **state) {
    (void)state;
    struct step_plan p = plain;
    check_account(p, 0, 0);
    check_account(p, 30 * US, 40 * US);
    p.tp = 2;
    p.dp = 4;
    p.recompute = true;
    check_account(p, 30 * US, 40 * US);
    p.pp = 1;
    check_account(p, 30 * US, 40 * US);
    p.pp = 7;
    p.micro_batches = 3;
    check_account(p, 500 * US, 40 * US);
}

/* A measurement has no notes about idleness: they are told from the spans. */
static void measured_idleness_is_told_from_spans(void **state) {
    (void)state;
    struct step s = make(plain, 0, 0);
    struct sc__segments g;
    s.sim.timeline->idle_count = 0;
    sc__by_class(&s.ctx->arena, s.sim.timeline, &s.index);
    sc__segments(&s.ctx->arena, s.sim.timeline, &s.index, 1, &g);
    assert_int_equal(g.total[SC__SEGMENT_BUBBLE], (plain.pp - 1) * 2 * (100 + 200) * US);
    sc_close(s.ctx);
}

/* Who waits in a collective waits for a peer of its own stage. */
static void measured_waiting_in_a_collective_is_skew(void **state) {
    (void)state;
    struct step_plan p = plain;
    p.tp = 2;
    struct step s = make(p, 0, 0);
    uint32_t op = 0;
    while (s.w->ops[op].kind != SC__OP_COLLECTIVE)
        op++;
    struct sc__span span = {.op = op, .ready = 40 * US, .end = 100 * US};
    struct sc__timeline t = {.workload = s.w, .spans = &span, .count = 1, .end = 100 * US};
    struct sc__segments g;
    sc__by_class(&s.ctx->arena, &t, &s.index);
    sc__segments(&s.ctx->arena, &t, &s.index, 0, &g);
    assert_int_equal(g.total[SC__SEGMENT_SKEW], 40 * US);
    assert_int_equal(g.total[SC__SEGMENT_COMM], 60 * US);
    sc_close(s.ctx);
}

/* Three transfers of one stream at once, the second inside the third's time and both inside
 * the first's, as graphs and measurements have them; then kernels alike. */
static void what_lies_beside_each_other_is_all_counted(void **state) {
    (void)state;
    struct step s = make(plain, 0, 0);
    static const uint8_t kinds[] = {SC__OP_RECV, SC__OP_COMPUTE};
    for (unsigned k = 0; k < 2; k++) {
        uint32_t op = 0;
        while (s.w->ops[op].kind != kinds[k])
            op++;
        struct sc__span spans[] = {
            {.op = op, .end = 100 * US},
            {.op = op, .start = 10 * US, .ready = 10 * US, .end = 50 * US},
            {.op = op, .start = 20 * US, .ready = 30 * US, .end = 90 * US}};
        struct sc__timeline t = {.workload = s.w,
                                 .spans = spans,
                                 .count = 3,
                                 .end = 120 * US};
        struct sc__segments g;
        sc__by_class(&s.ctx->arena, &t, &s.index);
        sc__segments(&s.ctx->arena, &t, &s.index, 0, &g);
        assert_int_equal(g.total[SC__SEGMENT_BUBBLE], 20 * US);
        assert_int_equal(g.items[g.count - 2].span, 0);
        assert_int_equal(g.items[g.count - 2].end, 100 * US);
    }
    sc_close(s.ctx);
}

/* The path of a pipeline with free communication: all that computes from the
 * first forward to the last update, and nothing that waits. */
static void critical_path_covers_the_step(void **state) {
    (void)state;
    struct step s = make(plain, 0, 0);
    struct sc__critical path;
    int64_t at = 0;
    sc__critical_path(&s.ctx->arena, s.sim.timeline, &s.index, &path);
    for (uint32_t i = 0; i < path.count; at = path.pieces[i++].end) {
        assert_int_equal(path.pieces[i].start, at);
        assert_int_not_equal(path.pieces[i].span, SC__NONE);
        const struct sc__span *span = &s.sim.timeline->spans[path.pieces[i].span];
        assert_int_equal(span->class, path.pieces[i].class);
        assert_true(span->start <= path.pieces[i].start && path.pieces[i].end <= span->end);
    }
    assert_int_equal(at, (8 + 4 - 1) * 2 * (100 + 200) * US + 50 * US);
    assert_int_equal(at, s.sim.step);
    sc_close(s.ctx);
}

/* With costly messages the path crosses stages through them: p − 1 forward
 * messages in the first pass at the least. */
static void critical_path_goes_through_messages(void **state) {
    (void)state;
    struct step s = make(plain, 70 * US, 0);
    struct sc__critical path;
    int64_t messages = 0;
    int64_t at = 0;
    uint32_t crossings = 0;
    sc__critical_path(&s.ctx->arena, s.sim.timeline, &s.index, &path);
    for (uint32_t i = 0; i < path.count; at = path.pieces[i++].end) {
        assert_int_equal(path.pieces[i].start, at);
        if (i && path.pieces[i].class != path.pieces[i - 1].class)
            crossings++;
        uint32_t op = s.sim.timeline->spans[path.pieces[i].span].op;
        if (s.w->ops[op].kind != SC__OP_COMPUTE)
            messages += path.pieces[i].end - path.pieces[i].start;
    }
    assert_int_equal(at, s.sim.step);
    assert_true(crossings >= 2 * (plain.pp - 1));
    assert_true(messages >= 2 * (plain.pp - 1) * 70 * US);
    sc_close(s.ctx);
}

/* Two ranks and a collective of both: the path is the late one's compute, the
 * collective, and what follows it on the rank that ends last. */
static void critical_path_follows_who_came_last(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    struct sc__workload *w = sc__workload_new(&ctx->arena, "test");
    const int64_t before[2] = {10 * US, 30 * US};
    const int64_t after[2] = {25 * US, 5 * US};
    w->mesh = sc__mesh(1, 1, 1, 1, 2, 0);
    for (uint32_t c = 0; c < 2; c++) {
        sc__block_begin(w);
        sc__block_add(w, SC__OP_COMPUTE, SC__FORWARD, COMPUTE, "before")->cost = before[c];
        struct sc__op *op =
            sc__block_add(w, SC__OP_COLLECTIVE, SC__FORWARD, COMPUTE, "meet");
        op->coll = SC__ALLREDUCE;
        op->group = sc__workload_group(w, SC__GROUP_PP);
        sc__block_add(w, SC__OP_COMPUTE, SC__BACKWARD, COMPUTE, "after")->cost = after[c];
        uint32_t block = sc__block_end(w);
        uint32_t program = sc__program_begin(w);
        sc__program_call(w, block, 0, 0, 0);
        sc__class_add(w, program, c, 1, c);
    }
    struct sc__net net = fixed_net(ctx, 0, 4 * US);
    struct sc__sim_options options = {.keep_timeline = true};
    struct sc__sim sim;
    struct sc__by_class index;
    struct sc__critical path;
    assert_int_equal(sc__simulate(ctx, w, &net, &options, &sim), SC_OK);
    sc__by_class(&ctx->arena, sim.timeline, &index);
    sc__critical_path(&ctx->arena, sim.timeline, &index, &path);
    assert_int_equal(sim.step, (30 + 4 + 25) * US);
    assert_int_equal(path.count, 3);
    static const struct {
        uint32_t class;
        int64_t end;
    } expected[] = {{1, 30 * US}, {0, 34 * US}, {0, 59 * US}};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(path.pieces[i].class, expected[i].class);
        assert_int_equal(path.pieces[i].end, expected[i].end);
    }
    struct sc__segments g;
    sc__segments(&ctx->arena, sim.timeline, &index, 0, &g);
    assert_int_equal(g.total[SC__SEGMENT_BUBBLE], 20 * US); /* the group spans stages */
    assert_int_equal(g.total[SC__SEGMENT_COMM], 4 * US);
    sc_close(ctx);
}

static void operations_add_up(void **state) {
    (void)state;
    struct step_plan p = plain;
    p.tp = 2;
    struct step s = make(p, 30 * US, 40 * US);
    struct sc__operations ops;
    sc__operations(&s.ctx->arena, s.sim.timeline, &s.index, &ops);
    double forward = 0;
    double collectives = 0;
    double bytes = 0;
    double messages = 0;
    for (uint32_t i = 0; i < ops.count; i++) {
        if (i)
            assert_true(ops.items[i - 1].total >= ops.items[i].total);
        if (!strcmp(ops.items[i].name, "mlp"))
            forward += ops.items[i].total;
        if (!strcmp(ops.items[i].name, "send"))
            messages += ops.items[i].count;
        if (strcmp(ops.items[i].name, "tp_allreduce"))
            continue;
        collectives += ops.items[i].total;
        bytes += ops.items[i].bytes;
    }
    assert_float_equal(forward, 8 * 2 * 100 * US, 1);
    assert_float_equal(collectives, 8 * 2 * 2 * 40 * US, 1);
    assert_float_equal(bytes, 8 * 2 * 2 * 0x1p24, 1);
    assert_float_equal(messages,
                       8 * 2 * 3 / 4.0,
                       1e-9); /* two directions, three of four stages each */
    sc_close(s.ctx);
}

static sc_status make_net(void *self,
                          struct sc_context *ctx,
                          const struct sc__workload *w,
                          struct sc__net *out) {
    (void)w;
    const int64_t *times = self;
    *out = fixed_net(ctx, times[0], times[1]);
    return SC_OK;
}

static const struct sc__whatif_row *row(const struct sc__whatif *t, const char *key) {
    for (uint32_t i = 0; i < t->count; i++)
        if (!strcmp(t->rows[i].key, key))
            return &t->rows[i];
    fail_msg("no row %s", key);
    return NULL;
}

/* One stage: everything is in line, so each class takes off what it costs. */
static void what_if_takes_off_the_cost(void **state) {
    (void)state;
    struct step_plan p = plain;
    p.pp = 1;
    p.tp = 2;
    p.dp = 2;
    p.recompute = true;
    int64_t times[2] = {0, 40 * US};
    struct step s = make(p, times[0], times[1]);
    struct sc__net_maker maker = {make_net, times};
    struct sc__sim_options options = {0};
    struct sc__whatif t;
    assert_int_equal(
        sc__whatif(s.ctx, &s.ctx->arena, s.w, &maker, &options, s.sim.step, &t),
        SC_OK);
    const int64_t step = s.sim.step;
    const int64_t layers = 8;
    const int64_t gemm = layers * (100 + 200 + 100) * US; /* forward, backward, repeated */
    assert_int_equal(row(&t, "gemm")->at_zero, step - gemm);
    assert_int_equal(row(&t, "gemm")->at_half, step - gemm / 2);
    assert_int_equal(row(&t, "recompute")->at_zero, step - layers * 2 * 100 * US);
    assert_int_equal(row(&t, "optimizer")->at_half, step - 25 * US);
    assert_int_equal(row(&t, "comm:tp")->at_zero, step - layers * 2 * 3 * 40 * US);
    assert_int_equal(row(&t, "comm:tp")->at_half, step - layers * 2 * 3 * 20 * US);
    assert_int_equal(row(&t, "comm:dp")->at_zero, step - 40 * US);
    for (uint32_t i = 1; i < t.count; i++)
        assert_true(t.rows[i - 1].at_zero <= t.rows[i].at_zero);
    sc_close(s.ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bubbles_are_those_of_1f1b),
        cmocka_unit_test(segments_are_the_account),
        cmocka_unit_test(measured_idleness_is_told_from_spans),
        cmocka_unit_test(measured_waiting_in_a_collective_is_skew),
        cmocka_unit_test(what_lies_beside_each_other_is_all_counted),
        cmocka_unit_test(critical_path_covers_the_step),
        cmocka_unit_test(critical_path_goes_through_messages),
        cmocka_unit_test(critical_path_follows_who_came_last),
        cmocka_unit_test(operations_add_up),
        cmocka_unit_test(what_if_takes_off_the_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
