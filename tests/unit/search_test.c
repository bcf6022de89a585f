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
                                            NULL,
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

/* A plan is left out that cannot be faster than the best of its family; one that may be as
 * fast, if it comes after it in the space. */
static void test_what_is_left_out(void **state) {
    static const struct {
        int64_t bound;
        uint64_t serial;
        bool cut;
    } cases[] = {{101, 4, true}, {99, 6, false}, {100, 6, true}, {100, 4, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc__search_plan plans[] = {
            {.step = 100, .factor = 1, .serial = 5, .outcome = SC__PLAN_FITS},
            {.bound = cases[i].bound, .factor = 1, .serial = cases[i].serial}};
        struct sc__search_family family = {0};
        uint32_t best = 0;
        const struct sc__search s = {.top = 2,
                                     .plans = plans,
                                     .count = 2,
                                     .families = &family,
                                     .family_count = 1,
                                     .best = &best,
                                     .best_count = 1};
        assert_int_equal(sc__families_cut_plan(&s, 1), cases[i].cut);
    }
}

/* ---- objectives, by their formulas ---- */

static const double gpu_hours_usd[2] = {1.5, 4};

#define SPARE_GPUS 4.0

/* Small, and every plan is evaluated: 16 cheap GPUs, and 8 of an older kind that are dear
 * but draw less. Plans that overlap more need the same memory. */
static struct sc__search small_search(struct sc_context *ctx, enum sc__search_objective o) {
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
    s.tries = SC__TRY_OVERLAP;
    s.memory_margin = 0.08;
    s.machine_count = 2;
    s.machines = SC__NEW_ARRAY(&ctx->arena, struct sc__search_machine, 2);
    for (uint32_t i = 0; i < 2; i++) {
        double *ettr = SC__NEW_ARRAY(&ctx->arena, double, 17);
        assert_int_equal(sc__search_machine(ctx,
                                            &s.options,
                                            &s.engine_settings,
                                            i ? "dgx-a100" : "dgx-h100",
                                            NULL,
                                            i ? 8 : 16,
                                            &s.machines[i]),
                         SC_OK);
        for (uint32_t dp = 1; dp <= 16; dp++)
            ettr[dp] = 1.0 / dp; /* replicas are lost that often */
        s.machines[i].usd_per_hour = gpu_hours_usd[i];
        s.machines[i].ettr = ettr;
        s.machines[i].spare_gpus = SPARE_GPUS;
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
        return seconds / 3600 * gpus * gpu_hours_usd[p->machine];
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
    double gpus = s->machines[p->machine].gpus;
    double seconds = (double)p->step * 1e-12 / p->ettr;
    out[0] = seconds;
    out[1] = p->memory;
    out[2] = p->usd_per_hour * (gpus + SPARE_GPUS) * seconds / 3600;
    out[3] = p->watts * gpus * seconds;
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

/* Dollars and joules of a step with what failures cost, memory that is left free, and the
 * floor of the seed. */
static void check_figures(const struct sc__search *s) {
    for (uint32_t k = 0; k < s->count; k++) {
        const struct sc__search_plan *p = &s->plans[k];
        double gpus = s->machines[p->machine].gpus;
        double seconds = (double)p->step * 1e-12 * sc__search_dp(s, p);
        if (p->outcome != SC__PLAN_FITS)
            continue;
        assert_number(p->memory, <=, 0.92 * s->machines[p->machine].capacity);
        assert_within(p->usd_per_hour, gpu_hours_usd[p->machine], 1e-12);
        assert_within(sc__search_usd(s, p),
                      (gpus + SPARE_GPUS) * seconds / 3600 * p->usd_per_hour,
                      1e-9);
        assert_within(sc__search_joule(s, p), gpus * seconds * p->watts, 1e-9);
        assert_true(p->watts > 100);
        assert_number(sc__families_floor(s, (uint32_t)(p->serial / SC__SEARCH_VALUES)),
                      <=,
                      wanted_score(s, p));
    }
}

/* The first three, found with plans left out. */
static void check_short_search(const struct sc__search *all) {
    sc_context *ctx = sc_open();
    struct sc__search s = small_search(ctx, all->objective);
    s.exhaustive = s.pareto = false;
    s.top = 3;
    assert_int_equal(sc__search_run(&s), SC_OK);
    assert_int_equal(s.best_count, 3);
    check_same(&s, s.best, all, all->best, 3);
    sc_close(ctx);
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
        check_short_search(&s);
        sc_close(ctx);
    }
}

/* ---- what fits ---- */

/* Bytes of the fullest stage with one recomputation; INFINITY: it cannot be. */
static double memory_of(const struct sc__search *s, uint32_t seed, uint32_t recompute) {
    const struct sc__search_seed *x = &s->seeds[seed];
    struct sc__search_plan p = {.machine = x->machine};
    struct sc__plan_surroundings around = {
        .gpus = s->machines[x->machine].gpus,
        .gpu = s->machines[x->machine].description.cluster.gpu};
    struct sc__plan resolved;
    sc_plan plan;
    const char *order;
    double most = 0;
    memcpy(p.number, x->number, sizeof p.number);
    memcpy(p.choice, x->choice, sizeof p.choice);
    p.choice[SC__CHOICE_RECOMPUTE] = (uint8_t)recompute;
    assert_int_equal(sc__space_plan(s->ctx, s, &p, &plan, &order), SC_OK);
    if (sc__plan_resolve(s->ctx, &plan, s->model, &around, &resolved) != SC_OK)
        return INFINITY;
    for (uint32_t stage = 0; stage < resolved.mesh.pp; stage++) {
        struct sc__stage_memory m = sc__plan_memory(s->model, &resolved, stage);
        most = fmax(most, sc__memory_sum(&m));
    }
    return most;
}

/* With nine tenths of the memory left free: a seed has a plan if and only if one of its
 * recomputations fits in the rest, and that is what the plan takes. Both machines have
 * eight GPUs, of 80 and of 141 GB. */
static void test_what_fits(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    struct sc__search s = small_search(ctx, SC__SEARCH_FASTEST);
    uint32_t fit = 0;
    s.memory_margin = 0.9;
    s.pareto = false;
    s.tries = 0;
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(sc__search_machine(ctx,
                                            &s.options,
                                            &s.engine_settings,
                                            i ? "hgx-h200" : "dgx-h100",
                                            NULL,
                                            8,
                                            &s.machines[i]),
                         SC_OK);
    assert_int_equal(sc__search_run(&s), SC_OK);
    for (uint32_t i = 0; i < s.seed_count; i++) {
        double room = 0.1 * s.machines[s.seeds[i].machine].capacity;
        double least = INFINITY;
        bool found = false;
        for (uint32_t r = 0; r < s.axes[SC__CHOICE_RECOMPUTE].count; r++)
            least = fmin(least, memory_of(&s, i, r));
        for (uint32_t k = 0; k < s.count; k++) {
            const struct sc__search_plan *p = &s.plans[k];
            if (p->serial / SC__SEARCH_VALUES != i)
                continue;
            found = true;
            assert_within(p->memory,
                          memory_of(&s, i, p->choice[SC__CHOICE_RECOMPUTE]),
                          1e-12);
            assert_number(p->memory, <=, room);
        }
        assert_int_equal(found, least <= room);
        fit += found;
    }
    assert_true(fit > 5 && fit < s.seed_count);
    sc_close(ctx);
}

/* ---- what is tried ---- */

/* The largest value of a number among the seeds, with what is given. */
static uint32_t largest(const struct sc__search *s, int number) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < s->seed_count; i++)
        most = s->seeds[i].number[number] > most ? s->seeds[i].number[number] : most;
    return most;
}

static struct sc__search
space_of(struct sc_context *ctx, const char *model, sc_plan given) {
    struct sc__search s = small_search(ctx, SC__SEARCH_FASTEST);
    sc_setting *list = SC__NEW_ARRAY(&ctx->arena, sc_setting, 1);
    struct sc__model *m = SC__NEW(&ctx->arena, struct sc__model);
    bool found;
    list[0] = (sc_setting){"model", model};
    const struct sc__setting_list settings = {list, 1};
    struct sc__settings view = sc__settings_of(ctx, &settings);
    assert_int_equal(sc__model_settings(ctx, &view, m, &found), SC_OK);
    s.model = m;
    s.given = given;
    s.tries = SC__TRY_SCHEDULE;
    assert_int_equal(sc__search_machine(ctx,
                                        &s.options,
                                        &s.engine_settings,
                                        "dgx-h100",
                                        NULL,
                                        given.gpus,
                                        &s.machines[0]),
                     SC_OK);
    assert_int_equal(sc__space_make(&s), SC_OK);
    assert_int_equal(sc__space_enumerate(&s, 0), SC_OK);
    return s;
}

static uint32_t seeds_with(const struct sc__search *s, const char *schedule) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->seed_count; i++)
        n += !strcmp(s->axes[SC__CHOICE_SCHEDULE]
                         .values[s->seeds[i].choice[SC__CHOICE_SCHEDULE]]
                         .label,
                     schedule);
    return n;
}

/* Tensor parallel fills a node, context parallel leaves a rank 4096 tokens. 126 layers, the
 * embedding and the head are 128: on 16 stages 8 chunks come out even. A stage has 7 layers
 * and more of some, so that without them 7 would be the most. */
static void test_sizes_of_the_space(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    sc_plan given = SC_PLAN_INIT;
    given.gpus = 128;
    given.seq = 32768;
    given.global_batch = 128;
    given.micro_batch = 1;
    given.pp = 16;
    struct sc__search s = space_of(ctx, "llama3-405b", given);
    assert_int_equal(largest(&s, SC__NUMBER_TP), 8);
    assert_int_equal(largest(&s, SC__NUMBER_CP), 8);
    assert_int_equal(largest(&s, SC__NUMBER_VPP), 8);
    sc_close(ctx);
}

/* DualPipeV has two micro-batches a stage in flight: on 4 stages it needs 8 of them. */
static void test_dualpipev_has_batches_enough(void **state) {
    (void)state;
    for (uint32_t batch = 8; batch <= 16; batch += 8) {
        sc_context *ctx = sc_open();
        sc_plan given = SC_PLAN_INIT;
        given.gpus = 8;
        given.seq = 2048;
        given.global_batch = batch; /* of two replicas */
        given.micro_batch = given.tp = given.cp = given.vpp = 1;
        given.pp = 4;
        struct sc__search s = space_of(ctx, "llama3.2-1b", given);
        assert_int_equal(seeds_with(&s, "dualpipev"), batch == 16);
        sc_close(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_recompute),
                                       cmocka_unit_test(test_what_is_left_out),
                                       cmocka_unit_test(test_sizes_of_the_space),
                                       cmocka_unit_test(test_dualpipev_has_batches_enough),
                                       cmocka_unit_test(test_what_fits),
                                       cmocka_unit_test(test_objectives),
                                       cmocka_unit_test(test_same_as_exhaustive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
