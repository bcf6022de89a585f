/* families: the best plan of each family so far, what can still be shown beside it, and
 * the Pareto front. Left out is
 *
 *   a plan whose bound is above the best of its family, or above the best of the last
 *   family that is shown; as high, if it comes after it in the order of the space;
 *   with a Pareto front asked for, only if an evaluated plan also beats it in every
 *   respect, its bound taken for its time. */
#include "search/search.h"

double sc__search_score(const struct sc__search_plan *p) {
    return p->factor * (double)p->step;
}

/* Seconds for a step of `ps`, in a run with failures with what it loses to them. */
static double run_seconds(const struct sc__search_plan *p, int64_t ps) {
    return (double)ps * 1e-12 / (p->ettr > 0 ? p->ettr : 1);
}

static double
usd_of(const struct sc__search *s, const struct sc__search_plan *p, int64_t ps) {
    const struct sc__search_machine *m = &s->machines[p->machine];
    return p->usd_per_hour * (m->gpus + m->spare_gpus) * run_seconds(p, ps) / 3600;
}

static double
joule_of(const struct sc__search *s, const struct sc__search_plan *p, int64_t ps) {
    double seconds = run_seconds(p, ps);
    double more = p->work_j / (p->ettr > 0 ? p->ettr : 1);
    return p->watts * s->machines[p->machine].gpus * seconds + more;
}

double sc__search_usd(const struct sc__search *s, const struct sc__search_plan *p) {
    return usd_of(s, p, p->step);
}

double sc__search_joule(const struct sc__search *s, const struct sc__search_plan *p) {
    return joule_of(s, p, p->step);
}

uint32_t sc__search_dp(const struct sc__search *s, const struct sc__search_plan *p) {
    return s->machines[p->machine].gpus /
           ((uint32_t)p->number[SC__NUMBER_TP] * p->number[SC__NUMBER_PP] *
            p->number[SC__NUMBER_CP]);
}

double sc__families_factor(const struct sc__search *s, uint32_t seed) {
    const struct sc__search_seed *x = &s->seeds[seed];
    const struct sc__search_machine *m = &s->machines[x->machine];
    uint32_t dp = m->gpus / ((uint32_t)x->number[SC__NUMBER_TP] * x->number[SC__NUMBER_PP] *
                             x->number[SC__NUMBER_CP]);
    switch (s->objective) {
    case SC__SEARCH_CHEAPEST:
        return m->usd_per_hour * m->gpus / 3600e12;
    case SC__SEARCH_ENERGY:
        return 0; /* what it draws depends on the plan */
    case SC__SEARCH_GOODPUT:
        return 1e-12 / m->ettr[dp];
    default:
        return 1e-12;
    }
}

double sc__families_floor(const struct sc__search *s, uint32_t seed) {
    return sc__families_factor(s, seed) * (double)s->seeds[seed].floor;
}

/* What of a score does not grow with the step. */
static double timeless_score(const struct sc__search *s, const struct sc__search_plan *p) {
    return s->objective == SC__SEARCH_ENERGY ? p->work_j : 0;
}

double sc__families_bound(const struct sc__search *s, uint32_t plan) {
    const struct sc__search_plan *p = &s->plans[plan];
    return p->factor * (double)p->bound + timeless_score(s, p);
}

/* Best first; of equal ones that which comes first in the space. */
static bool is_better(const struct sc__search *s, uint32_t a, uint32_t b) {
    double x = sc__search_score(&s->plans[a]);
    double y = sc__search_score(&s->plans[b]);
    return x != y ? x < y : s->plans[a].serial < s->plans[b].serial;
}

/* Whatever has this bound, and this place in the space or a later one, comes behind. */
static bool
is_behind(const struct sc__search *s, uint32_t plan, double bound, uint64_t serial) {
    double best = sc__search_score(&s->plans[plan]);
    return bound > best || (bound == best && serial > s->plans[plan].serial);
}

static bool
cannot_be_best(const struct sc__search *s, uint32_t family, double bound, uint64_t serial) {
    uint32_t best = s->families[family].best;
    if (best != SC__NONE && is_behind(s, best, bound, serial))
        return true;
    return s->best_count >= s->top && is_behind(s, s->best[s->top - 1], bound, serial);
}

/* a is at least as good as b in everything and better in something; a time of b
 * that is a bound counts as its time. */
static bool beats(const struct sc__search *s,
                  const struct sc__search_plan *a,
                  const struct sc__search_plan *b,
                  int64_t time_of_b) {
    const double of_a[] = {run_seconds(a, a->step),
                           a->memory,
                           usd_of(s, a, a->step),
                           joule_of(s, a, a->step)};
    const double of_b[] = {run_seconds(b, time_of_b),
                           b->memory,
                           usd_of(s, b, time_of_b),
                           joule_of(s, b, time_of_b)};
    bool better = false;
    for (unsigned i = 0; i < sizeof of_a / sizeof *of_a; i++) {
        if (of_a[i] > of_b[i])
            return false;
        better |= of_a[i] < of_b[i];
    }
    return better;
}

static bool is_off_front(const struct sc__search *s, const struct sc__search_plan *p) {
    for (uint32_t k = 0; k < s->front_count; k++)
        if (beats(s, &s->plans[s->front[k]], p, p->bound))
            return true;
    return false;
}

/* Memory and power of the plans of a seed are not known yet. */
bool sc__families_cut_seed(const struct sc__search *s, uint32_t seed) {
    const struct sc__search_seed *x = &s->seeds[seed];
    uint64_t serial = (uint64_t)seed * SC__SEARCH_VALUES;
    if (s->exhaustive || s->pareto)
        return false;
    return cannot_be_best(s, x->family, sc__families_floor(s, seed), serial);
}

bool sc__families_full(const struct sc__search *s, double floor) {
    if (s->exhaustive || s->pareto || s->best_count < s->top)
        return false;
    return floor > sc__search_score(&s->plans[s->best[s->top - 1]]);
}

bool sc__families_cut_plan(const struct sc__search *s, uint32_t plan) {
    const struct sc__search_plan *p = &s->plans[plan];
    if (s->exhaustive ||
        !cannot_be_best(s, p->family, sc__families_bound(s, plan), p->serial))
        return false;
    return !s->pareto || is_off_front(s, p);
}

int64_t sc__families_limit(const struct sc__search *s, uint32_t plan) {
    const struct sc__search_plan *p = &s->plans[plan];
    uint32_t best = s->families[p->family].best;
    double score = best != SC__NONE ? sc__search_score(&s->plans[best]) : INFINITY;
    if (s->best_count >= s->top)
        score = fmin(score, sc__search_score(&s->plans[s->best[s->top - 1]]));
    double ps = (score - timeless_score(s, p)) / p->factor;
    if (s->exhaustive || s->pareto || !(p->factor > 0) || ps > 0x1p60)
        return INT64_MAX;
    return ps > 0 ? (int64_t)ps + 2 : 2; /* rounded: a tie is not left out */
}

static void add_to_front(struct sc__search *s, uint32_t i) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < s->front_count; k++)
        if (beats(s, &s->plans[s->front[k]], &s->plans[i], s->plans[i].step))
            return;
    for (uint32_t k = 0; k < s->front_count; k++)
        if (!beats(s, &s->plans[i], &s->plans[s->front[k]], s->plans[s->front[k]].step))
            s->front[kept++] = s->front[k];
    s->front_count = kept;
    *SC__PUSH(&s->ctx->arena, s->front, s->front_count, s->front_room) = i;
}

/* Fastest first. */
static void sort_front(struct sc__search *s) {
    for (uint32_t i = 1; i < s->front_count; i++) {
        uint32_t x = s->front[i];
        uint32_t k = i;
        for (; k > 0; k--) {
            int64_t before = s->plans[s->front[k - 1]].step;
            int64_t here = s->plans[x].step;
            if (before < here ||
                (before == here && s->plans[s->front[k - 1]].serial < s->plans[x].serial))
                break;
            s->front[k] = s->front[k - 1];
        }
        s->front[k] = x;
    }
}

/* Moves the entry at k up to its place. */
static void move_up(struct sc__search *s, uint32_t k) {
    uint32_t x = s->best[k];
    for (; k > 0 && is_better(s, x, s->best[k - 1]); k--)
        s->best[k] = s->best[k - 1];
    s->best[k] = x;
}

void sc__families_take(struct sc__search *s, uint32_t plan) {
    const struct sc__search_plan *p = &s->plans[plan];
    struct sc__search_family *family = &s->families[p->family];
    uint32_t before = family->best;
    if (p->outcome != SC__PLAN_FITS || p->cut)
        return;
    if (s->longest > 0 && (double)p->step > s->longest)
        return;
    if (s->pareto)
        add_to_front(s, plan);
    if (before != SC__NONE && !is_better(s, plan, before))
        return;
    family->best = plan;
    uint32_t k = 0;
    while (before != SC__NONE && s->best[k] != before)
        k++;
    if (before == SC__NONE) {
        k = s->best_count;
        *SC__PUSH(&s->ctx->arena, s->best, s->best_count, s->best_room) = plan;
    }
    s->best[k] = plan;
    move_up(s, k);
}

void sc__families_close(struct sc__search *s) {
    sort_front(s);
    if (s->best_count > s->top)
        s->best_count = s->top;
}
