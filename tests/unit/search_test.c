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

/* Every seed is counted once, or as often as it has plans. */
static void check_counts(const struct sc__search *s) {
    uint32_t more = 0;
    for (uint32_t i = 1; i < s->count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (s->plans[i].serial / SC__SEARCH_VALUES ==
                s->plans[k].serial / SC__SEARCH_VALUES) {
                more++;
                break;
            }
    assert_int_equal(s->tried, s->seed_count + more);
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
    check_counts(&a);
    check_counts(&b);
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

/* ---- objectives, by their formulas ---- */

/* Small, and every plan is evaluated: 16 dear GPUs and 8 cheap ones of another kind. */
static struct sc__search small_search(struct sc_context *ctx, enum sc__search_objective o) {
    static const double usd[2] = {4, 1.5};
    struct sc__search s = {.ctx = ctx, .top = 100, .exhaustive = true, .pareto = true};
    struct sc__model *model = SC__NEW(&ctx->arena, struct sc__model);
    static const sc_setting list[] = {{"model", "llama3.2-1b"}};
    const struct sc__setting_list settings = {list, 1};
    struct sc__settings view = sc__settings_of(ctx, &settings);
    bool given;
    assert_int_equal(sc__model_settings(ctx, &view, model, &given), SC_OK);
    s.model = model;
    s.given = (sc_plan)SC_PLAN_INIT;
    s.given.seq = 2048;
    s.given.global_batch = 32;
    s.given.vpp = 1;
    s.given.micro_batch = 1;
    s.options = (sc_options)SC_OPTIONS_INIT;
    s.memory_margin = 0.08;
    s.machine_count = 2;
    s.machines = SC__NEW_ARRAY(&ctx->arena, struct sc__search_machine, 2);
    for (uint32_t i = 0; i < 2; i++) {
        double *ettr = SC__NEW_ARRAY(&ctx->arena, double, 17);
        assert_int_equal(sc__search_machine(ctx,
                                            &s.options,
                                            &s.engine_settings,
                                            i ? "dgx-a100" : "dgx-h100",
                                            i ? 8 : 16,
                                            &s.machines[i]),
                         SC_OK);
        for (uint32_t dp = 1; dp <= 16; dp++)
            ettr[dp] = 1.0 / dp; /* replicas are lost that often */
        s.machines[i].usd_per_hour = usd[i];
        s.machines[i].ettr = ettr;
    }
    s.objective = o;
    return s;
}

static double wanted_score(const struct sc__search *s, const struct sc__search_plan *p) {
    double seconds = (double)p->step * 1e-12;
    double gpus = s->machines[p->machine].gpus;
    double dp = gpus / (p->number[SC__NUMBER_TP] * p->number[SC__NUMBER_PP] *
                        p->number[SC__NUMBER_CP]);
    switch (s->objective) {
    case SC__SEARCH_CHEAPEST:
        return seconds / 3600 * gpus * (p->machine ? 1.5 : 4);
    case SC__SEARCH_ENERGY:
        return seconds * gpus * p->watts;
    case SC__SEARCH_GOODPUT:
        return seconds * dp;
    default:
        return seconds;
    }
}

/* The first plan of a family is the best of it, and families come in that order. */
static void check_order(const struct sc__search *s) {
    uint32_t families = 0;
    for (uint32_t f = 0; f < s->family_count; f++)
        families += s->families[f].best != SC__NONE;
    assert_int_equal(s->best_count, families);
    assert_true(families > 5);
    for (uint32_t i = 0; i < s->best_count; i++) {
        const struct sc__search_plan *best = &s->plans[s->best[i]];
        assert_within(sc__search_score(best), wanted_score(s, best), 1e-9);
        if (i)
            assert_number(wanted_score(s, &s->plans[s->best[i - 1]]),
                          <=,
                          wanted_score(s, best) * (1 + 1e-12));
        for (uint32_t k = 0; k < s->count; k++)
            if (s->plans[k].family == best->family && s->plans[k].outcome == SC__PLAN_FITS)
                assert_number(wanted_score(s, best),
                              <=,
                              wanted_score(s, &s->plans[k]) * (1 + 1e-12));
    }
}

static void
of_plan(const struct sc__search *s, const struct sc__search_plan *p, double *out) {
    double work = (double)p->step * s->machines[p->machine].gpus;
    out[0] = (double)p->step;
    out[1] = p->memory;
    out[2] = work * p->usd_per_hour;
    out[3] = work * p->watts;
}

static bool is_beaten(const struct sc__search *s, const struct sc__search_plan *p) {
    double mine[4];
    of_plan(s, p, mine);
    for (uint32_t k = 0; k < s->count; k++) {
        double other[4];
        bool never_worse = true;
        bool better = false;
        of_plan(s, &s->plans[k], other);
        for (int i = 0; i < 4; i++) {
            never_worse &= other[i] <= mine[i];
            better |= other[i] < mine[i];
        }
        if (s->plans[k].outcome == SC__PLAN_FITS && never_worse && better)
            return true;
    }
    return false;
}

/* The front is those that no other plan beats. */
static void check_front(const struct sc__search *s) {
    uint32_t on_front = 0;
    for (uint32_t k = 0; k < s->count; k++) {
        bool there = false;
        if (s->plans[k].outcome != SC__PLAN_FITS)
            continue;
        for (uint32_t i = 0; i < s->front_count; i++)
            there |= s->front[i] == k;
        assert_int_equal(there, !is_beaten(s, &s->plans[k]));
        on_front += there;
    }
    assert_int_equal(on_front, s->front_count);
    assert_true(on_front > 1 && on_front < s->count);
}

/* Dollars and joules of a step, and memory of the fullest stage. */
static void check_figures(const struct sc__search *s) {
    for (uint32_t k = 0; k < s->count; k++) {
        const struct sc__search_plan *p = &s->plans[k];
        double gpus = s->machines[p->machine].gpus;
        double seconds = (double)p->step * 1e-12;
        if (p->outcome != SC__PLAN_FITS)
            continue;
        assert_number(p->memory, <=, 0.92 * s->machines[p->machine].capacity);
        assert_within(p->usd_per_hour, p->machine ? 1.5 : 4, 1e-12);
        assert_within(sc__search_usd(s, p), gpus * seconds / 3600 * p->usd_per_hour, 1e-9);
        assert_within(sc__search_joule(s, p), gpus * seconds * p->watts, 1e-9);
        assert_true(p->watts > 100);
    }
}

static void test_objectives(void **state) {
    (void)state;
    for (int o = SC__SEARCH_FASTEST; o <= SC__SEARCH_GOODPUT; o++) {
        sc_context *ctx = sc_open();
        struct sc__search s = small_search(ctx, (enum sc__search_objective)o);
        assert_int_equal(sc__search_run(&s), SC_OK);
        check_order(&s);
        check_front(&s);
        check_figures(&s);
        sc_close(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_recompute),
                                       cmocka_unit_test(test_objectives),
                                       cmocka_unit_test(test_same_as_exhaustive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
