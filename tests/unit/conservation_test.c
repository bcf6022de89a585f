/* Conservation is checked by the simulation itself: an engine that gives time
 * back, or an account that is off by a picosecond, is an error and no result. */
#include "test.h"

#include "step_fixture.h"
#include "workload/match.h"

#define US SC__PS_PER_US

static const struct step_plan pipeline = {.pp = 4,
                                          .tp = 2,
                                          .dp = 2,
                                          .micro_batches = 8,
                                          .layers = 2,
                                          .forward = 100 * US,
                                          .backward = 200 * US,
                                          .update = 50 * US};

static sc_status simulate_with_collectives_of(sc_context *ctx, int64_t collective) {
    struct sc__workload *w = step_workload(ctx, &pipeline);
    struct sc__net net = fixed_net(ctx, 30 * US, collective);
    struct sc__sim sim;
    return sc__simulate(ctx, w, &net, NULL, &sim);
}

/* Collectives that take less than no time make exposed communication negative. */
static void an_engine_that_gives_time_back_is_refused(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    assert_int_equal(simulate_with_collectives_of(ctx, 7 * US), SC_OK);
    assert_int_equal(simulate_with_collectives_of(ctx, -7 * US), SC_SYSTEM);
    assert_non_null(strstr(sc_error_text(ctx), "negative"));
    sc_close(ctx);
}

static void several_jobs_are_checked_too(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    const struct sc__workload *w = step_workload(ctx, &pipeline);
    struct sc__net net = fixed_net(ctx, 30 * US, -7 * US);
    struct sc__sim sim;
    assert_int_equal(sc__simulate_jobs(ctx, &w, 1, &net, NULL, &sim), SC_SYSTEM);
    sc_close(ctx);
}

/* One block whose operations are ordered by dependencies: the same check. */
static void graphs_are_checked_too(void **state) {
    (void)state;
    for (int64_t time = -7 * US; time <= 7 * US; time += 14 * US) {
        sc_context *ctx = sc_open();
        struct sc__workload *w = sc__workload_new(&ctx->arena, "goal");
        w->mesh.dp = 2;
        w->rank_class = SC__NEW_ARRAY(&ctx->arena, uint32_t, 2);
        for (uint32_t rank = 0; rank < 2; rank++) {
            sc__block_begin(w);
            struct sc__op *op =
                sc__block_add(w, SC__OP_COLLECTIVE, SC__UPDATE, 0, "all-reduce");
            op->group = sc__workload_group(w, SC__GROUP_DP);
            op->bytes = 1024;
            uint32_t block = sc__block_end(w);
            w->blocks[block].graph = true;
            uint32_t program = sc__program_begin(w);
            sc__program_call(w, block, SC__NONE, 0, 0);
            sc__class_add(w, program, rank, 1, 0);
            w->rank_class[rank] = rank;
        }
        struct sc__net net = fixed_net(ctx, 0, time);
        struct sc__sim sim;
        struct sc__mismatch bad;
        uint32_t meetings;
        sc_status expected = time < 0 ? SC_SYSTEM : SC_OK;
        assert_true(sc__workload_is_graph(w));
        assert_true(sc__workload_match(w, true, &meetings, &bad));
        assert_int_equal(sc__simulate(ctx, w, &net, NULL, &sim), expected);
        sc_close(ctx);
    }
}

static void a_picosecond_too_much_is_seen(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    struct sc__workload *w = step_workload(ctx, &pipeline);
    struct sc__net net = fixed_net(ctx, 30 * US, 7 * US);
    struct sc__sim sim;
    assert_int_equal(sc__simulate(ctx, w, &net, NULL, &sim), SC_OK);
    assert_int_equal(sc__sim_check(ctx, w, &sim), SC_OK);
    int64_t *parts[] = {&sim.classes[2].account.compute,
                        &sim.classes[2].account.bubble,
                        &sim.classes[2].account.exposed[w->group_count]};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ++*parts[i];
        assert_int_equal(sc__sim_check(ctx, w, &sim), SC_SYSTEM);
        --*parts[i];
    }
    assert_int_equal(sc__sim_check(ctx, w, &sim), SC_OK);
    sc_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_engine_that_gives_time_back_is_refused),
        cmocka_unit_test(several_jobs_are_checked_too),
        cmocka_unit_test(graphs_are_checked_too),
        cmocka_unit_test(a_picosecond_too_much_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
