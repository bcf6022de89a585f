/* The search against evaluating everything, on random models, clusters, batches and
 * spaces: no step is shorter than its bound, and the best of each family, ties
 * included, are the same with plans left out as without. SEARCH_PAIRS=200 tries that
 * many pairs of a model and a cluster. */
#include "test.h"

#include "base/random.h"
#include "model/read.h"
#include "search/search.h"

#include <stdlib.h>
#include <string.h>

enum { PAIRS = 10 };

static uint32_t below(uint64_t *seed, uint32_t n) {
    return (uint32_t)(sc__random(seed) % n);
}

static const char *pick(uint64_t *seed, const char *const *list, uint32_t n) {
    return list[below(seed, n)];
}

static struct sc__search make_search(struct sc_context *ctx, uint64_t seed) {
    static const char *const models[] = {"gpt2",
                                         "llama3.2-1b",
                                         "gpt3-1.3b",
                                         "mixtral-8x7b",
                                         "llama3-8b",
                                         "deepseek-v2-lite"};
    static const char *const clusters[] = {
        "dgx-h100",
        "dgx-a100",
        ("gpu=h100 gpus=16 node=4 nvlink=200GB/s nics=1 nic=25GB/s class=ib leaf=2 "
         "oversubscription=2"),
        "gpu=h100 gpus=16 node=4 nvlink=200GB/s nics=4 nic=25GB/s class=ib"};
    static const unsigned tries[] = {0,
                                     SC__TRY_SCHEDULE,
                                     SC__TRY_ZERO | SC__TRY_CP_COMM,
                                     SC__TRY_OVERLAP | SC__TRY_DISPATCHER | SC__TRY_ETP,
                                     SC__TRY_RECOMPUTE | SC__TRY_SEQUENCE,
                                     SC__TRY_ORDER | SC__TRY_TYPES,
                                     SC__TRY_SCHEDULE | SC__TRY_OVERLAP | SC__TRY_ZERO,
                                     SC__TRY_SCHEDULE | SC__TRY_RECOMPUTE};
    uint64_t random = seed * 7919 + 1;
    struct sc__search s = {.ctx = ctx, .top = 1 + below(&random, 6)};
    struct sc__model *model = SC__NEW(&ctx->arena, struct sc__model);
    const char *name = pick(&random, models, sizeof models / sizeof *models);
    const char *cluster = pick(&random, clusters, 4);
    bool given;
    sc_setting *list = SC__NEW_ARRAY(&ctx->arena, sc_setting, 1);
    list[0] = (sc_setting){"model", name};
    const struct sc__setting_list settings = {list, 1};
    struct sc__settings view = sc__settings_of(ctx, &settings);
    assert_int_equal(sc__model_settings(ctx, &view, model, &given), SC_OK);
    s.model = model;
    s.given = (sc_plan)SC_PLAN_INIT;
    s.given.seq = 1024u << below(&random, 4);
    s.given.global_batch = 16u << below(&random, 2);
    s.given.vpp = below(&random, 2);
    s.given.micro_batch = below(&random, 3);
    if (below(&random, 2))
        s.given.tp = 1u << below(&random, 3);
    s.options = (sc_options)SC_OPTIONS_INIT;
    s.tries = tries[below(&random, sizeof tries / sizeof *tries)];
    s.memory_margin = 0.08;
    s.pareto = below(&random, 3) == 0;
    s.machine_count = 1 + below(&random, 2);
    s.machines = SC__NEW_ARRAY(&ctx->arena, struct sc__search_machine, 2);
    for (uint32_t i = 0; i < s.machine_count; i++)
        assert_int_equal(sc__search_machine(ctx,
                                            &s.options,
                                            &s.engine_settings,
                                            cluster,
                                            i ? 8 : 16,
                                            &s.machines[i]),
                         SC_OK);
    if (s.machine_count == 2)
        s.objective = (enum sc__search_objective)below(&random, 3);
    return s;
}

static void check_same(const struct sc__search *a,
                       const uint32_t *x,
                       const struct sc__search *b,
                       const uint32_t *y,
                       uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(a->plans[x[i]].serial, b->plans[y[i]].serial);
        assert_int_equal(a->plans[x[i]].step, b->plans[y[i]].step);
        assert_true(a->plans[x[i]].evaluated);
    }
}

/* No step is shorter than its bound, or than the floor of its seed. */
static void check_bounds(const struct sc__search *b) {
    for (uint32_t i = 0; i < b->count; i++) {
        const struct sc__search_plan *p = &b->plans[i];
        const struct sc__search_seed *seed = &b->seeds[p->serial / SC__SEARCH_VALUES];
        if (p->outcome != SC__PLAN_FITS)
            continue;
        assert_true(p->bound <= p->step);
        assert_true(seed->floor <= p->step);
    }
}

static void
evaluate_within(struct sc__trials *t, struct sc__search *b, uint32_t plan, int64_t limit) {
    b->plans[plan].cut = false;
    assert_int_equal(sc__trials_evaluate(t, &plan, &limit, 1, 0), SC_OK);
}

enum { LIMITED = 3 }; /* of so many plans one */

/* A simulation that may take as long as the step takes is not ended before, at whatever
 * moment it is asked; one that may take far less is, where a replay is known. Returns how
 * many were. */
static uint32_t check_limits(struct sc__search *b) {
    struct sc__trials *t = sc__trials_begin(b);
    uint32_t cut = 0;
    for (uint32_t i = 0; i < b->count; i += LIMITED) {
        int64_t step = b->plans[i].step;
        if (b->plans[i].outcome != SC__PLAN_FITS)
            continue;
        evaluate_within(t, b, i, step);
        assert_false(b->plans[i].cut);
        assert_int_equal(b->plans[i].step, step);
        evaluate_within(t, b, i, step / 2);
        cut += b->plans[i].cut;
    }
    assert_int_equal(sc__trials_end(t), SC_OK);
    return cut;
}

static uint32_t try_pair(uint64_t seed, uint32_t *cut) {
    sc_context *few = sc_open();
    sc_context *all = sc_open();
    struct sc__search a = make_search(few, seed);
    struct sc__search b = make_search(all, seed);
    b.exhaustive = true;
    few->jobs = seed % 2 ? 2 : 1;
    assert_int_equal(sc__search_run(&a), SC_OK);
    assert_int_equal(sc__search_run(&b), SC_OK);
    assert_int_equal(a.seed_count, b.seed_count);
    assert_int_equal(b.evaluated, b.fit);
    assert_int_equal(b.unseen, 0);
    assert_true(a.evaluated <= b.evaluated);
    check_bounds(&b);
    assert_int_equal(a.best_count, b.best_count);
    check_same(&a, a.best, &b, b.best, a.best_count);
    if (a.pareto) {
        assert_int_equal(a.front_count, b.front_count);
        check_same(&a, a.front, &b, b.front, a.front_count);
    }
    uint32_t saved = b.evaluated - a.evaluated;
    *cut += check_limits(&b);
    sc_close(few);
    sc_close(all);
    return saved;
}

static void test_same_as_exhaustive(void **state) {
    const char *more = getenv("SEARCH_PAIRS");
    uint32_t pairs = more ? (uint32_t)atoi(more) : PAIRS;
    uint32_t saved = 0;
    uint32_t cut = 0;
    (void)state;
    for (uint32_t i = 0; i < pairs; i++)
        saved += try_pair(i, &cut);
    assert_true(saved > 0); /* something was left out, or nothing was tried */
    assert_true(cut > 0);
}

/* More recomputation than is needed is not a plan; what repeats less stays. */
static void test_recompute(void **state) {
    (void)state;
    struct sc__search s = {.axes[SC__CHOICE_RECOMPUTE].count = 3};
    assert_true(sc__space_recompute_contains(&s, 2, 0));
    assert_true(sc__space_recompute_contains(&s, 2, 1));
    assert_false(sc__space_recompute_contains(&s, 0, 2));
    s.axes[SC__CHOICE_RECOMPUTE].count = 10;
    assert_true(sc__space_recompute_contains(&s, 9, 6)); /* 8 layers, one layer */
    assert_false(sc__space_recompute_contains(&s, 6, 9));
    assert_false(sc__space_recompute_contains(&s, 4, 3)); /* sets of modules */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_recompute),
                                       cmocka_unit_test(test_same_as_exhaustive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
