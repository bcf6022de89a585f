/* search: bounds first, then evaluations in their order.
 *
 * Plans are evaluated in rounds of a fixed number, and what is left out is decided
 * between two rounds: so the same plans are evaluated, and the same bytes come out,
 * whatever the number of threads. Left out is
 *
 *   a plan whose bound is above the best of its family, or above the best of the
 *   last family that is shown: it can be neither, not even as a tie;
 *   with a Pareto front asked for, only if an evaluated plan also beats it in every
 *   respect, its bound taken for its time. */
#include "search/search.h"

#include "base/parallel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ROUND = 8, MOST_MEMOS = 64 };

/* Found once on a thread, used by every plan that it looks at. */
struct memos {
    struct sc__memo *items[MOST_MEMOS];
    atomic_flag taken[MOST_MEMOS];
};

struct work {
    struct sc__search *s;
    struct memos memos;
    const uint32_t *chosen; /* plans of a round */
    atomic_int status;      /* the first error that is none of a plan */
};

/* ---- machines ---- */

sc_status sc__search_machine(struct sc_context *ctx,
                             const sc_options *options,
                             const struct sc__setting_list *engine,
                             const char *cluster,
                             uint32_t gpus,
                             struct sc__search_machine *out) {
    struct sc__cluster tuned;
    struct sc__evaluation_input in = {.options = options,
                                      .engine = sc__settings_of(ctx, engine)};
    *out = (struct sc__search_machine){.cluster = cluster, .gpus = gpus};
    if (cluster) {
        SC__TRY(sc__cluster_describe(ctx, cluster, &out->description));
        in.cluster = &out->description;
        if (!gpus && out->description.sized)
            out->gpus = out->description.cluster.gpus;
    }
    if (!out->gpus)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "--gpus N, or a number behind the cluster: dgx-h100:512",
                        "the number of GPUs is not known");
    SC__TRY(sc__evaluation_cluster(ctx, &in, out->gpus, &tuned));
    out->node_gpus = tuned.node_gpus;
    if (!cluster)
        SC__TRY(sc__cluster_describe(ctx, "dgx-h100", &out->description));
    struct sc__cluster sized;
    SC__TRY(sc__cluster_sized(ctx, &out->description, out->gpus, &sized));
    out->description.cluster = sized;
    out->description.sized = true;
    return SC_OK;
}

/* ---- one plan ---- */

static uint32_t take_memo(struct work *w) {
    for (uint32_t i = 0;; i = (i + 1) % MOST_MEMOS)
        if (!atomic_flag_test_and_set(&w->memos.taken[i]))
            return i;
}

struct trial {
    struct work *work;
    struct sc_context *ctx;
    struct sc__search_plan *plan;
};

static sc_status
with_context(struct work *w, struct sc__search_plan *p, sc_status (*task)(void *self)) {
    uint32_t slot = take_memo(w);
    sc_context *ctx = sc_open();
    sc_status status = SC_SYSTEM;
    if (ctx) {
        ctx->engines = w->s->ctx->engines;
        if (!w->memos.items[slot])
            w->memos.items[slot] = sc__memo_new(NULL);
        ctx->memo = w->memos.items[slot];
        status = sc__guarded(ctx, task, &(struct trial){w, ctx, p});
    }
    if (status == SC_SYSTEM)
        atomic_store(&w->status, SC_SYSTEM);
    sc_close(ctx);
    atomic_flag_clear(&w->memos.taken[slot]);
    return status;
}

/* The options of a plan: ranks may be in another order. */
static sc_status begin_trial(const struct trial *t, sc_plan *plan, sc_options *options) {
    const struct sc__search *s = t->work->s;
    const char *order;
    *options = s->options;
    SC__TRY(sc__space_plan(t->ctx, s, t->plan, plan, &order));
    options->rank_order = order;
    return SC_OK;
}

static struct sc__evaluation_input trial_input(const struct trial *t,
                                               const sc_options *options) {
    const struct sc__search *s = t->work->s;
    return (struct sc__evaluation_input){
        .cluster = &s->machines[t->plan->machine].description,
        .options = options,
        .engine = sc__settings_of(t->ctx, &s->engine_settings)};
}

/* Bytes; of a plan that needs more than `room`, any figure above it. */
static double
fullest_stage(const struct sc__model *m, const struct sc__plan *p, double room) {
    double most = 0;
    for (uint32_t s = 0; s < p->mesh.pp && most <= room; s++) {
        struct sc__stage_memory x = sc__plan_memory(m, p, s);
        most = fmax(most, sc__memory_sum(&x));
    }
    return most;
}

static double room_of(const struct sc__search *s,
                      const struct sc__search_machine *machine) {
    return s->given.ignore_memory == SC_ON || machine->capacity <= 0
               ? INFINITY
               : machine->capacity * (1 - s->memory_margin);
}

/* Which recomputations fit and are needed: none that repeats all that another one
 * does which fits. */
static sc_status find_recomputes(void *self) {
    const struct trial *t = self;
    struct sc__search *s = t->work->s;
    struct sc__search_plan *p = t->plan;
    uint32_t count = s->axes[SC__CHOICE_RECOMPUTE].count;
    double room = room_of(s, &s->machines[p->machine]);
    bool ran = false;
    sc_status status = SC_OK;
    for (uint32_t r = 0; r < count; r++) {
        sc_plan plan;
        sc_options options;
        struct sc__plan resolved;
        p->choice[SC__CHOICE_RECOMPUTE] = (uint8_t)r;
        SC__TRY(begin_trial(t, &plan, &options));
        const struct sc__plan_surroundings around = {
            .gpus = plan.gpus,
            .gpu = s->machines[p->machine].description.cluster.gpu,
            .options = &options};
        status = sc__plan_resolve(t->ctx, &plan, s->model, &around, &resolved);
        if (status == SC_OK)
            status = sc__plan_check(t->ctx, s->model, &resolved);
        if (status != SC_OK)
            break;
        ran = true;
        bool needed = true;
        for (uint32_t q = 0; q < count; q++)
            if (p->recomputes >> q & 1 && sc__space_recompute_contains(s, r, q))
                needed = false;
        double memory = needed ? fullest_stage(s->model, &resolved, room) : INFINITY;
        if (memory > room || !needed)
            continue;
        if (!p->recomputes)
            p->memory = memory;
        p->recomputes |= (uint16_t)(1u << r);
        if (r == 0 && p->recomputes)
            break; /* it fits as it is */
    }
    p->choice[SC__CHOICE_RECOMPUTE] = 0;
    p->outcome = p->recomputes ? SC__PLAN_FITS
                 : ran         ? SC__PLAN_TOO_LARGE
                               : SC__PLAN_REFUSED;
    return SC_OK;
}

static void find_recomputes_of(void *self, uint32_t i) {
    struct work *w = self;
    (void)with_context(w, &w->s->plans[i], find_recomputes);
}

static double score_factor(const struct sc__search *s, const struct sc__search_plan *p) {
    double gpus = s->machines[p->machine].gpus;
    switch (s->objective) {
    case SC__SEARCH_CHEAPEST:
        return p->usd_per_hour * gpus / 3600e12;
    case SC__SEARCH_ENERGY:
        return p->watts * gpus * 1e-12;
    case SC__SEARCH_GOODPUT:
        return 1e-12 / p->ettr;
    default:
        return 1e-12;
    }
}

static sc_status find_bound(void *self) {
    const struct trial *t = self;
    struct sc__search *s = t->work->s;
    struct sc__search_plan *p = t->plan;
    const struct sc__search_machine *machine = &s->machines[p->machine];
    struct sc__evaluation *ev = SC__NEW(&t->ctx->arena, struct sc__evaluation);
    struct sc__plan_outlook outlook;
    sc_plan plan;
    sc_options options;
    SC__TRY(begin_trial(t, &plan, &options));
    struct sc__evaluation_input in = trial_input(t, &options);
    SC__TRY(sc__evaluation_outlook(t->ctx, &in, s->model, &plan, ev, &outlook));
    p->bound = outlook.bound;
    p->watts = outlook.watts;
    p->usd_per_hour =
        machine->usd_per_hour > 0 ? machine->usd_per_hour : outlook.usd_per_hour;
    bool first = !(p->recomputes & ((1u << p->choice[SC__CHOICE_RECOMPUTE]) - 1));
    if (!first) /* that of the first was found with it */
        p->memory = fullest_stage(s->model, &ev->plan, INFINITY);
    p->ettr = machine->ettr ? machine->ettr[ev->plan.mesh.dp] : 0;
    p->factor = score_factor(s, p);
    return SC_OK;
}

static uint8_t outcome_of(sc_status status) {
    return status == SC_OK       ? SC__PLAN_FITS
           : status == SC_NO_FIT ? SC__PLAN_TOO_LARGE
                                 : SC__PLAN_REFUSED;
}

static void find_bound_of(void *self, uint32_t i) {
    struct work *w = self;
    struct sc__search_plan *p = &w->s->plans[i];
    p->outcome = outcome_of(with_context(w, p, find_bound));
}

static sc_status evaluate(void *self) {
    const struct trial *t = self;
    struct sc__search *s = t->work->s;
    struct sc__search_plan *p = t->plan;
    struct sc__evaluation *ev = SC__NEW(&t->ctx->arena, struct sc__evaluation);
    sc_plan plan;
    sc_options options;
    SC__TRY(begin_trial(t, &plan, &options));
    struct sc__evaluation_input in = trial_input(t, &options);
    SC__TRY(sc__evaluation_model(t->ctx, &in, s->model, &plan, ev));
    SC__TRY(sc__evaluation_run(t->ctx, ev, false));
    p->step = ev->result.step;
    p->mfu = ev->result.mfu;
    p->shares = sc__result_step_shares(&ev->result);
    sc__result_free(&ev->result);
    return SC_OK;
}

static void evaluate_chosen(void *self, uint32_t i) {
    struct work *w = self;
    struct sc__search_plan *p = &w->s->plans[w->chosen[i]];
    p->outcome = outcome_of(with_context(w, p, evaluate));
    p->evaluated = true;
}

/* ---- families and the front ---- */

double sc__search_score(const struct sc__search_plan *p) {
    return p->factor * (double)p->step;
}

double sc__search_usd(const struct sc__search *s, const struct sc__search_plan *p) {
    return p->usd_per_hour * s->machines[p->machine].gpus * (double)p->step / 3600e12;
}

double sc__search_joule(const struct sc__search *s, const struct sc__search_plan *p) {
    return p->watts * s->machines[p->machine].gpus * (double)p->step * 1e-12;
}

uint32_t sc__search_dp(const struct sc__search *s, const struct sc__search_plan *p) {
    return s->machines[p->machine].gpus /
           ((uint32_t)p->number[SC__NUMBER_TP] * p->number[SC__NUMBER_PP] *
            p->number[SC__NUMBER_CP]);
}

/* The same machine, tp, pp, cp and ep. */
static bool same_family(const struct sc__search_plan *a, const struct sc__search_plan *b) {
    return a->machine == b->machine &&
           a->number[SC__NUMBER_TP] == b->number[SC__NUMBER_TP] &&
           a->number[SC__NUMBER_PP] == b->number[SC__NUMBER_PP] &&
           a->number[SC__NUMBER_CP] == b->number[SC__NUMBER_CP] &&
           a->number[SC__NUMBER_EP] == b->number[SC__NUMBER_EP];
}

/* Best first; of equal ones that which was enumerated first. */
static bool is_better(const struct sc__search *s, uint32_t a, uint32_t b) {
    double x = sc__search_score(&s->plans[a]);
    double y = sc__search_score(&s->plans[b]);
    return x != y ? x < y : a < b;
}

static uint32_t *family_of(const struct sc__search *s, const struct sc__search_plan *p) {
    for (uint32_t i = 0; i < s->best_count; i++)
        if (same_family(&s->plans[s->best[i]], p))
            return &s->best[i];
    return NULL;
}

static void sort_families(struct sc__search *s) {
    for (uint32_t i = 1; i < s->best_count; i++) {
        uint32_t x = s->best[i];
        uint32_t k = i;
        for (; k > 0 && is_better(s, x, s->best[k - 1]); k--)
            s->best[k] = s->best[k - 1];
        s->best[k] = x;
    }
}

static void take_evaluated(struct sc__search *s, uint32_t i, uint32_t *capacity) {
    if (s->plans[i].outcome != SC__PLAN_FITS)
        return;
    uint32_t *family = family_of(s, &s->plans[i]);
    if (!family)
        *SC__PUSH(&s->ctx->arena, s->best, s->best_count, *capacity) = i;
    else if (is_better(s, i, *family))
        *family = i;
}

/* a is at least as good as b in everything and better in something; a time of b
 * that is a bound counts as its time. */
static bool beats(const struct sc__search *s,
                  const struct sc__search_plan *a,
                  const struct sc__search_plan *b,
                  int64_t time_of_b) {
    double gpus_a = s->machines[a->machine].gpus;
    double gpus_b = s->machines[b->machine].gpus;
    const double of_a[] = {(double)a->step,
                           a->memory,
                           a->usd_per_hour * gpus_a * (double)a->step,
                           a->watts * gpus_a * (double)a->step};
    const double of_b[] = {(double)time_of_b,
                           b->memory,
                           b->usd_per_hour * gpus_b * (double)time_of_b,
                           b->watts * gpus_b * (double)time_of_b};
    bool better = false;
    for (unsigned i = 0; i < sizeof of_a / sizeof *of_a; i++) {
        if (of_a[i] > of_b[i])
            return false;
        better |= of_a[i] < of_b[i];
    }
    return better;
}

/* It can neither be shown as the best of its family nor be on the front. */
static bool cannot_be_shown(const struct sc__search *s, const struct sc__search_plan *p) {
    double bound = p->factor * (double)p->bound;
    const uint32_t *family = family_of(s, p);
    if (family && bound > sc__search_score(&s->plans[*family]))
        return true;
    return s->best_count >= s->top &&
           bound > sc__search_score(&s->plans[s->best[s->top - 1]]);
}

static bool is_off_front(const struct sc__search *s, const struct sc__search_plan *p) {
    for (uint32_t k = 0; k < s->front_count; k++)
        if (beats(s, &s->plans[s->front[k]], p, p->bound))
            return true;
    return false;
}

static bool can_be_left_out(const struct sc__search *s, uint32_t i) {
    const struct sc__search_plan *p = &s->plans[i];
    if (s->exhaustive || !cannot_be_shown(s, p))
        return false;
    return !s->pareto || is_off_front(s, p);
}

static void add_to_front(struct sc__search *s, uint32_t i, uint32_t *capacity) {
    uint32_t kept = 0;
    if (s->plans[i].outcome != SC__PLAN_FITS)
        return;
    for (uint32_t k = 0; k < s->front_count; k++)
        if (beats(s, &s->plans[s->front[k]], &s->plans[i], s->plans[i].step))
            return;
    for (uint32_t k = 0; k < s->front_count; k++)
        if (!beats(s, &s->plans[i], &s->plans[s->front[k]], s->plans[s->front[k]].step))
            s->front[kept++] = s->front[k];
    s->front_count = kept;
    *SC__PUSH(&s->ctx->arena, s->front, s->front_count, *capacity) = i;
}

/* Fastest first. */
static void sort_front(struct sc__search *s) {
    for (uint32_t i = 1; i < s->front_count; i++) {
        uint32_t x = s->front[i];
        uint32_t k = i;
        for (; k > 0; k--) {
            int64_t before = s->plans[s->front[k - 1]].step;
            int64_t here = s->plans[x].step;
            if (before < here || (before == here && s->front[k - 1] < x))
                break;
            s->front[k] = s->front[k - 1];
        }
        s->front[k] = x;
    }
}

/* ---- all plans ---- */

/* Plans with each of the recomputations they may need, in order. */
static void expand_recomputes(struct sc__search *s) {
    struct sc__search_plan *all = NULL;
    uint32_t count = 0;
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sc__search_plan *p = &s->plans[i];
        s->too_large += p->outcome == SC__PLAN_TOO_LARGE;
        s->refused += p->outcome == SC__PLAN_REFUSED;
        for (uint32_t r = 0; p->recomputes >> r; r++) {
            if (!(p->recomputes >> r & 1))
                continue;
            struct sc__search_plan *x = SC__PUSH(&s->ctx->arena, all, count, capacity);
            *x = *p;
            x->choice[SC__CHOICE_RECOMPUTE] = (uint8_t)r;
        }
    }
    s->plans = all;
    s->count = count;
}

struct bound_order {
    double bound;
    uint32_t plan;
};

static int lower_bound_first(const void *a, const void *b) {
    const struct bound_order *x = a;
    const struct bound_order *y = b;
    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    return x->plan < y->plan ? -1 : 1;
}

static struct bound_order *order_by_bound(struct sc__search *s, uint32_t *count) {
    struct bound_order *order =
        SC__NEW_ARRAY(&s->ctx->arena, struct bound_order, s->count + 1);
    *count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sc__search_plan *p = &s->plans[i];
        if (p->outcome == SC__PLAN_FITS)
            order[(*count)++] = (struct bound_order){p->factor * (double)p->bound, i};
    }
    qsort(order, *count, sizeof *order, lower_bound_first);
    return order;
}

/* Share of the work that finding bounds is, in what the listener is told. */
#define BOUNDS_SHARE 0.3

static sc_status evaluate_in_order(struct work *w) {
    struct sc__search *s = w->s;
    uint32_t count;
    struct bound_order *order = order_by_bound(s, &count);
    uint32_t families = 0;
    uint32_t front = 0;
    uint32_t at = 0;
    while (at < count) {
        uint32_t chosen[ROUND];
        uint32_t n = 0;
        double from = (double)at / count;
        for (; at < count && n < ROUND; at++)
            if (!can_be_left_out(s, order[at].plan))
                chosen[n++] = order[at].plan;
        w->chosen = chosen;
        SC__TRY(sc__parallel_part(s->ctx,
                                  "evaluating plans",
                                  BOUNDS_SHARE + (1 - BOUNDS_SHARE) * from,
                                  BOUNDS_SHARE + (1 - BOUNDS_SHARE) * at / count,
                                  n,
                                  evaluate_chosen,
                                  w));
        s->evaluated += n;
        for (uint32_t i = 0; i < n; i++) {
            take_evaluated(s, chosen[i], &families);
            if (s->pareto)
                add_to_front(s, chosen[i], &front);
        }
        sort_families(s);
    }
    sort_front(s);
    if (s->best_count > s->top)
        s->best_count = s->top;
    return SC_OK;
}

/* What the first plan is refused for. */
static void say_why(struct work *w) {
    struct sc__search *s = w->s;
    struct sc__search_plan first = s->plans[0];
    struct trial trial = {w, s->ctx, &first};
    if (evaluate(&trial) != SC_OK)
        s->why = sc__strdup(&s->ctx->arena, sc_error_message(s->ctx));
    sc__clear_error(s->ctx);
}

static void count_outcomes(struct sc__search *s) {
    for (uint32_t i = 0; i < s->count; i++) {
        s->fit += s->plans[i].outcome == SC__PLAN_FITS;
        s->too_large += s->plans[i].outcome == SC__PLAN_TOO_LARGE;
        s->refused += s->plans[i].outcome == SC__PLAN_REFUSED;
    }
    s->tried = s->fit + s->too_large + s->refused;
}

static sc_status search_all(struct work *w) {
    struct sc__search *s = w->s;
    SC__TRY(sc__parallel_part(s->ctx,
                              "fitting plans",
                              0,
                              BOUNDS_SHARE / 2,
                              s->count,
                              find_recomputes_of,
                              w));
    if (s->count && s->plans[0].outcome == SC__PLAN_REFUSED)
        say_why(w);
    expand_recomputes(s);
    SC__TRY(sc__parallel_part(s->ctx,
                              "bounding plans",
                              BOUNDS_SHARE / 2,
                              BOUNDS_SHARE,
                              s->count,
                              find_bound_of,
                              w));
    count_outcomes(s);
    SC__TRY(evaluate_in_order(w));
    if (!s->best_count && s->count)
        say_why(w);
    return SC_OK;
}

const char *sc__search_gpu(const sc_plan *given, const struct sc__search_machine *m) {
    const char *gpu = m->description.cluster.gpu;
    return given->gpu ? given->gpu : gpu ? gpu : "h100";
}

static sc_status find_capacity(struct sc__search *s, struct sc__search_machine *m) {
    const struct sc__gpu *gpu;
    SC__TRY(sc__gpu_find(s->ctx, sc__search_gpu(&s->given, m), &gpu));
    m->capacity = gpu->memory;
    return SC_OK;
}

sc_status sc__search_run(struct sc__search *s) {
    struct work *w = SC__NEW(&s->ctx->arena, struct work);
    w->s = s;
    for (unsigned i = 0; i < MOST_MEMOS; i++)
        atomic_flag_clear(&w->memos.taken[i]);
    SC__TRY(sc__space_make(s));
    for (uint32_t i = 0; i < s->machine_count; i++) {
        SC__TRY(find_capacity(s, &s->machines[i]));
        SC__TRY(sc__space_enumerate(s, i));
    }
    sc_status status = search_all(w);
    for (unsigned i = 0; i < MOST_MEMOS; i++)
        sc__memo_free(w->memos.items[i]);
    if (status == SC_OK && atomic_load(&w->status) == SC_SYSTEM)
        return sc__fail(s->ctx, SC_SYSTEM, NULL, NULL, "out of memory, or of threads");
    return status;
}
