/* Splitting classes for a slow rank: the step of the split workload is that of
 * the same job with every rank a class of its own, and no class is there
 * without need. */
#include "test.h"

#include <math.h>

#include "base/base.h"
#include "base/random.h"
#include "lower/pipeline.h"
#include "simulate/simulate.h"
#include "workload/workload.h"

/* One block of every stage: compute, tensor-parallel all-reduce, a message to
 * the next stage, more compute, expert exchange, and the gradients at the end. */
static uint32_t stage_program(struct sc__workload *w, uint32_t stage) {
    uint32_t pp = w->mesh.pp;
    uint16_t tp = sc__workload_group(w, SC__GROUP_TP);
    uint16_t dp = sc__workload_group(w, SC__GROUP_DP);
    uint16_t ep = sc__workload_group(w, SC__GROUP_EP);
    const struct {
        uint8_t kind;
        uint8_t flags;
        uint16_t group;
        int64_t cost;
    } ops[] = {{SC__OP_RECV, SC__OP_PEER_PREV, 0, 0},
               {SC__OP_COMPUTE, 0, 0, 1000 + 100 * stage},
               {SC__OP_COLLECTIVE, 0, tp, 0},
               {SC__OP_SEND, SC__OP_PEER_NEXT, 0, 0},
               {SC__OP_COMPUTE, 0, 0, 500},
               {SC__OP_COLLECTIVE, 0, ep, 0},
               {SC__OP_COMPUTE, 0, 0, 300},
               {SC__OP_COLLECTIVE, 0, dp, 0}};
    sc__block_begin(w);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (ops[i].kind == SC__OP_RECV && stage == 0)
            continue;
        if (ops[i].kind == SC__OP_SEND && stage + 1 == pp)
            continue;
        struct sc__op *op =
            sc__block_add(w, ops[i].kind, SC__FORWARD, SC__STREAM_COMPUTE, "op");
        op->flags = ops[i].flags;
        op->group = ops[i].group;
        op->cost = ops[i].cost * SC__PS_PER_US;
        if (ops[i].kind != SC__OP_COMPUTE)
            op->bytes = 32 << 20;
    }
    uint32_t block = sc__block_end(w);
    uint32_t program = sc__program_begin(w);
    sc__program_call(w, block, 0, 0, 0);
    return program;
}

/* Classes by stage, or every rank its own. */
static struct sc__workload *make(struct sc_context *ctx, struct sc__mesh mesh, bool apart) {
    struct sc__workload *w = sc__workload_new(&ctx->arena, "test");
    uint32_t ranks = sc__mesh_ranks(&mesh);
    uint32_t in_stage = ranks / mesh.pp;
    w->mesh = mesh;
    for (uint32_t s = 0; s < mesh.pp; s++) {
        uint32_t program = stage_program(w, s);
        if (!apart)
            sc__class_add(w, program, s * in_stage, in_stage, s);
        for (uint32_t i = 0; apart && i < in_stage; i++)
            sc__class_add(w, program, s * in_stage + i, 1, s);
    }
    if (!apart)
        return w;
    w->rank_class = SC__NEW_ARRAY(&ctx->arena, uint32_t, ranks);
    for (uint32_t r = 0; r < ranks; r++)
        w->rank_class[r] = r;
    return w;
}

static int64_t
step_on(struct sc_context *ctx, struct sc__workload *w, const char *machine) {
    struct sc__cluster cluster;
    struct sc__net net;
    struct sc__sim sim;
    assert_int_equal(sc__cluster_parse(ctx, machine, sc__mesh_ranks(&w->mesh), &cluster),
                     SC_OK);
    assert_int_equal(sc__net_analytic(ctx, &cluster, w, &net), SC_OK);
    if (sc__simulate(ctx, w, &net, NULL, &sim) != SC_OK)
        fail_msg("%s", sc_error_text(ctx));
    return sim.step;
}

static int64_t step_of(struct sc_context *ctx, struct sc__workload *w) {
    return step_on(ctx, w, "ideal");
}

static void split_classes_run_like_single_ranks(void **state) {
    (void)state;
    uint64_t random = 7;
    for (int i = 0; i < 60; i++) {
        struct sc_context *ctx = sc_open();
        uint32_t tp = 1u << sc__random(&random) % 3;
        uint32_t ep = 1u << sc__random(&random) % 3;
        uint32_t dp = ep << sc__random(&random) % 3;
        uint32_t pp = 1 + (uint32_t)(sc__random(&random) % 4);
        struct sc__mesh mesh = sc__mesh(tp, 1, ep, dp, pp, 0);
        uint32_t rank = (uint32_t)(sc__random(&random) % sc__mesh_ranks(&mesh));
        struct sc__workload *split = make(ctx, mesh, false);
        struct sc__workload *single = make(ctx, mesh, true);
        assert_int_equal(sc__workload_slow_rank(ctx, split, rank, 1.75), SC_OK);
        single->classes[rank].slow = 1.75;
        assert_true(split->class_count <= single->class_count);
        assert_int_equal(split->classes[split->rank_class[rank]].ranks, 1);
        assert_true(step_of(ctx, split) == step_of(ctx, single));
        sc_close(ctx);
    }
}

static void split_by_nodes(struct sc_context *ctx, struct sc__workload *w, uint32_t size) {
    uint32_t ranks = sc__mesh_ranks(&w->mesh);
    uint32_t *node = SC__NEW_ARRAY(&ctx->arena, uint32_t, ranks);
    for (uint32_t r = 0; r < ranks; r++)
        node[r] = r / size;
    sc__workload_split_places(w, node);
}

/* Stages and groups of any size on nodes of eight: as if every rank ran by itself. */
static void places_run_like_single_ranks(void **state) {
    (void)state;
    uint64_t random = 19;
    for (int i = 0; i < 60; i++) {
        struct sc_context *ctx = sc_open();
        uint32_t tp = 1 + (uint32_t)(sc__random(&random) % 4);
        uint32_t dp = 1 + (uint32_t)(sc__random(&random) % 7);
        uint32_t pp = 1 + (uint32_t)(sc__random(&random) % 6);
        struct sc__mesh mesh = sc__mesh(tp, 1, 1, dp, pp, 0);
        struct sc__workload *split = make(ctx, mesh, false);
        struct sc__workload *single = make(ctx, mesh, true);
        split_by_nodes(ctx, split, 8);
        assert_int_equal(step_on(ctx, split, "dgx-h100"), step_on(ctx, single, "dgx-h100"));
        assert_true(split->class_count <= single->class_count);
        sc_close(ctx);
    }
}

/* Stage 0 of tp 2, dp 3: ranks 0 and 1 send to 6 and 7 of their node, 2 to 5 to another. */
static void places_are_classes(void **state) {
    (void)state;
    struct sc_context *ctx = sc_open();
    struct sc__workload *w = make(ctx, sc__mesh(2, 1, 1, 3, 2, 0), false);
    split_by_nodes(ctx, w, 8);
    assert_int_equal(w->class_count, 4);
    for (uint32_t r = 0; r < 6; r++) {
        assert_int_equal(w->classes[w->rank_class[r]].ranks, r < 2 ? 2 : 4);
        assert_int_equal(w->classes[w->rank_class[r]].stage, 0);
    }
    /* whole nodes: nothing to tell apart */
    w = make(ctx, sc__mesh(2, 1, 1, 4, 3, 0), false);
    split_by_nodes(ctx, w, 8);
    assert_int_equal(w->class_count, 3);
    assert_null(w->rank_class);
    sc_close(ctx);
}

/* dp 64, tp 1, pp 4: the slow pipeline and the others, by stage. */
static void no_more_classes_than_needed(void **state) {
    (void)state;
    struct sc_context *ctx = sc_open();
    struct sc__workload *w = make(ctx, sc__mesh(1, 1, 1, 64, 4, 0), false);
    assert_int_equal(sc__workload_slow_rank(ctx, w, 100, 1.2),
                     SC_OK); /* stage 1, replica 36 */
    assert_int_equal(w->class_count, 8);
    for (uint32_t r = 0; r < 256; r++) {
        const struct sc__class *c = &w->classes[w->rank_class[r]];
        assert_int_equal(c->stage, r / 64);
        assert_int_equal(c->ranks, r % 64 == 36 ? 1 : 63);
        assert_true(c->slow == (r == 100 ? 1.2 : 1.0));
    }
    /* Every class keeps the memory of the one it came from. */
    w = make(ctx, sc__mesh(1, 1, 1, 64, 4, 0), false);
    struct sc__memory of_stages[4];
    for (uint32_t c = 0; c < 4; c++)
        of_stages[c] = (struct sc__memory){.weights = 1000 + w->classes[c].stage};
    w->memory = of_stages;
    assert_int_equal(sc__workload_slow_rank(ctx, w, 100, 1.2), SC_OK);
    for (uint32_t c = 0; c < w->class_count; c++)
        assert_int_equal(w->memory[c].weights, 1000 + w->classes[c].stage);
    /* With tp 8 the peers of the slow rank in its tensor-parallel group stand apart too. */
    w = make(ctx, sc__mesh(8, 1, 1, 64, 1, 0), false);
    assert_int_equal(sc__workload_slow_rank(ctx, w, 3, 1.2), SC_OK);
    assert_int_equal(w->classes[w->rank_class[3]].ranks, 1);
    assert_int_equal(w->classes[w->rank_class[0]].ranks, 7);
    assert_true(w->rank_class[8] != w->rank_class[0]);
    sc_close(ctx);
}

/* Every rank its own class, merged: as many classes as stages again, and the
 * same step; with a slow rank, as many as splitting makes. */
static void merging_undoes_splitting(void **state) {
    (void)state;
    struct sc_context *ctx = sc_open();
    struct sc__mesh mesh = sc__mesh(2, 1, 2, 8, 3, 0);
    struct sc__workload *w = make(ctx, mesh, true);
    struct sc__workload *split = make(ctx, mesh, false);
    int64_t step = step_of(ctx, w);
    sc__workload_merge(w);
    assert_int_equal(w->class_count, 3);
    assert_true(step_of(ctx, w) == step);
    w = make(ctx, mesh, true);
    w->classes[17].slow = 3;
    step = step_of(ctx, w);
    sc__workload_merge(w);
    assert_int_equal(sc__workload_slow_rank(ctx, split, 17, 3), SC_OK);
    assert_int_equal(w->class_count, split->class_count);
    assert_true(w->class_count < 48);
    assert_true(step_of(ctx, w) == step);
    sc_close(ctx);
}

static void many_ranks_split_too(void **state) {
    (void)state;
    struct sc_context *ctx = sc_open();
    struct sc__workload *w = make(ctx, sc__mesh(8, 1, 1, 1024, 16, 0), false);
    assert_int_equal(sc__workload_slow_rank(ctx, w, 77, 1.2), SC_OK);
    uint64_t ranks = 0;
    for (uint32_t c = 0; c < w->class_count; c++)
        ranks += w->classes[c].ranks;
    assert_int_equal(ranks, 131072);
    sc_close(ctx);
}

static void only_ranks_and_factors_that_can_be(void **state) {
    static const double factors[] = {0, -1, 100.5, NAN};
    (void)state;
    struct sc_context *ctx = sc_open();
    struct sc__workload *w = make(ctx, sc__mesh(1, 1, 1, 4, 1, 0), false);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(sc__workload_slow_rank(ctx, w, 3, factors[i]), SC_USAGE);
    assert_int_equal(sc__workload_slow_rank(ctx, w, 4, 2), SC_USAGE);
    assert_int_equal(sc__workload_slow_rank(ctx, w, 3, 100), SC_OK);
    sc_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split_classes_run_like_single_ranks),
        cmocka_unit_test(places_run_like_single_ranks),
        cmocka_unit_test(places_are_classes),
        cmocka_unit_test(no_more_classes_than_needed),
        cmocka_unit_test(merging_undoes_splitting),
        cmocka_unit_test(many_ranks_split_too),
        cmocka_unit_test(only_ranks_and_factors_that_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
