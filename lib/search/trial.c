/* trial: what is found out about seeds and plans, each on some thread, with what was
 * looked up on it before. */
#include "search/search.h"

#include "base/parallel.h"

#include <stdatomic.h>
#include <string.h>

enum { MOST_MEMOS = 64 };

/* Shares of the work, in what the listener is told. */
#define FLOORS_SHARE 0.2

/* Found once on a thread, used by every plan that it looks at. */
struct memos {
    struct sc__memo *items[MOST_MEMOS];
    atomic_flag taken[MOST_MEMOS];
};

/* The plans of a seed. */
struct expansion {
    struct sc__search_plan plans[SC__SEARCH_VALUES];
    uint32_t count;
    uint8_t outcome;
};

struct sc__trials {
    struct sc__search *s;
    struct memos memos;
    uint32_t *group_start; /* by group: its first seed; one more at the end */
    /* of what runs now */
    const uint32_t *chosen;
    struct expansion *expansions;
    uint32_t expansion_room;
    atomic_int status; /* the first error that is none of a plan */
};

struct trial {
    struct sc__trials *trials;
    struct sc_context *ctx;
    struct sc__search_plan *plan;
    struct expansion *expansion;
    uint32_t group;
};

static uint32_t take_memo(struct sc__trials *w) {
    for (uint32_t i = 0;; i = (i + 1) % MOST_MEMOS)
        if (!atomic_flag_test_and_set(&w->memos.taken[i]))
            return i;
}

static sc_status
with_context(struct sc__trials *w, struct trial t, sc_status (*task)(void *self)) {
    uint32_t slot = take_memo(w);
    sc_context *ctx = sc_open();
    sc_status status = SC_SYSTEM;
    if (ctx) {
        ctx->engines = w->s->ctx->engines;
        if (!w->memos.items[slot])
            w->memos.items[slot] = sc__memo_new(NULL);
        ctx->memo = w->memos.items[slot];
        t.trials = w;
        t.ctx = ctx;
        status = sc__guarded(ctx, task, &t);
    }
    if (status == SC_SYSTEM)
        atomic_store(&w->status, SC_SYSTEM);
    sc_close(ctx);
    atomic_flag_clear(&w->memos.taken[slot]);
    return status;
}

/* The options of a plan: ranks may be in another order. */
static sc_status begin_trial(const struct trial *t, sc_plan *plan, sc_options *options) {
    const struct sc__search *s = t->trials->s;
    const char *order;
    *options = s->options;
    SC__TRY(sc__space_plan(t->ctx, s, t->plan, plan, &order));
    options->rank_order = order;
    return SC_OK;
}

static struct sc__evaluation_input trial_input(const struct trial *t,
                                               const sc_options *options) {
    const struct sc__search *s = t->trials->s;
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

static struct sc__search_plan seed_plan(const struct sc__search *s, uint32_t seed) {
    const struct sc__search_seed *x = &s->seeds[seed];
    struct sc__search_plan p = {.serial = (uint64_t)seed * SC__SEARCH_VALUES,
                                .family = x->family,
                                .machine = x->machine};
    memcpy(p.number, x->number, sizeof p.number);
    memcpy(p.choice, x->choice, sizeof p.choice);
    return p;
}

/* ---- floors ---- */

/* The parts of the model, as a seed has them, and the plan they come from. */
struct seed_units {
    bool tried;
    struct sc__step_units units;
    struct sc__evaluation *ev;
    /* the last floor: of which chunks */
    uint32_t vpp;
    int64_t floor;
};

static void find_units(const struct trial *t, uint32_t seed, struct seed_units *out) {
    struct sc__search *s = t->trials->s;
    struct sc__search_plan p = seed_plan(s, seed);
    struct trial of_seed = {t->trials, t->ctx, &p, NULL, 0};
    sc_plan plan;
    sc_options options;
    out->tried = true;
    out->ev = SC__NEW(&t->ctx->arena, struct sc__evaluation);
    if (begin_trial(&of_seed, &plan, &options) == SC_OK) {
        struct sc__evaluation_input in = trial_input(&of_seed, &options);
        if (sc__evaluation_units(t->ctx, &in, s->model, &plan, out->ev, &out->units) !=
            SC_OK)
            out->units.layers = NULL;
    }
    sc__clear_error(t->ctx); /* a plan that cannot be is found out later */
}

/* Seeds of a group differ in chunks, schedule and sharding; one schedule hides the
 * exchange of experts by itself, so its parts are others. */
static sc_status find_floors(void *self) {
    const struct trial *t = self;
    struct sc__search *s = t->trials->s;
    uint32_t end = t->trials->group_start[t->group + 1];
    enum { USUAL, OTHER, PAIRED, KINDS };
    struct seed_units of_kind[KINDS] = {{0}};
    for (uint32_t i = t->trials->group_start[t->group]; i < end; i++) {
        struct sc__search_seed *x = &s->seeds[i];
        uint8_t schedule = x->choice[SC__CHOICE_SCHEDULE];
        const char *label = s->axes[SC__CHOICE_SCHEDULE].values[schedule].label;
        int kind = !schedule ? USUAL : strcmp(label, "dualpipev") ? OTHER : PAIRED;
        struct seed_units *u = &of_kind[kind];
        if (!u->tried)
            find_units(t, i, u);
        if (!u->units.layers)
            continue;
        uint32_t vpp = x->number[SC__NUMBER_VPP];
        bool any = schedule || u->ev->plan.schedule > SC__SCHEDULE_INTERLEAVED;
        u->ev->plan.vpp = vpp;
        if (u->vpp != vpp)
            u->floor = sc__plan_floor(s->model, &u->ev->plan, &u->units, any);
        u->vpp = vpp;
        x->floor = u->floor;
    }
    return SC_OK;
}

static void find_floors_of(void *self, uint32_t i) {
    struct sc__trials *w = self;
    (void)with_context(w, (struct trial){.group = i}, find_floors);
}

sc_status sc__trials_floors(struct sc__trials *t) {
    struct sc__search *s = t->s;
    uint32_t at = 0;
    t->group_start = SC__NEW_ARRAY(&s->ctx->arena, uint32_t, s->group_count + 1);
    for (uint32_t g = 0; g < s->group_count; g++) {
        t->group_start[g] = at;
        while (at < s->seed_count && s->seeds[at].group == g)
            at++;
    }
    t->group_start[s->group_count] = at;
    return sc__parallel_part(s->ctx,
                             "bounding plans",
                             0,
                             FLOORS_SHARE,
                             s->group_count,
                             find_floors_of,
                             t);
}

/* ---- memory and bounds ---- */

/* Which recomputations fit and are needed: none that repeats all that another one
 * does which fits. */
static sc_status find_recomputes(const struct trial *t) {
    struct sc__search *s = t->trials->s;
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

static sc_status find_bound(const struct trial *t) {
    struct sc__search *s = t->trials->s;
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

static sc_status expand_seed(void *self) {
    const struct trial *t = self;
    struct expansion *out = t->expansion;
    struct sc__search_plan first = *t->plan;
    struct trial of_first = *t;
    of_first.plan = &first;
    SC__TRY(find_recomputes(&of_first));
    out->outcome = first.outcome;
    for (uint32_t r = 0; first.recomputes >> r; r++) {
        if (!(first.recomputes >> r & 1))
            continue;
        struct sc__search_plan *p = &out->plans[out->count++];
        struct trial of_it = *t;
        *p = first;
        p->serial += r;
        p->choice[SC__CHOICE_RECOMPUTE] = (uint8_t)r;
        of_it.plan = p;
        p->outcome = outcome_of(find_bound(&of_it));
        sc__clear_error(t->ctx);
    }
    return SC_OK;
}

static void expand_chosen(void *self, uint32_t i) {
    struct sc__trials *w = self;
    struct sc__search_plan p = seed_plan(w->s, w->chosen[i]);
    struct expansion *out = &w->expansions[i];
    out->count = 0;
    out->outcome = SC__PLAN_REFUSED;
    (void)with_context(w, (struct trial){.plan = &p, .expansion = out}, expand_seed);
}

static double share_done(double done) {
    return FLOORS_SHARE + (1 - FLOORS_SHARE) * done;
}

sc_status sc__trials_expand(struct sc__trials *t,
                            const uint32_t *seeds,
                            uint32_t count,
                            double done) {
    struct sc__search *s = t->s;
    if (count > t->expansion_room) {
        t->expansions = SC__NEW_ARRAY(&s->ctx->arena, struct expansion, count);
        t->expansion_room = count;
    }
    t->chosen = seeds;
    SC__TRY(sc__parallel_part(s->ctx,
                              "fitting plans",
                              share_done(done),
                              share_done(done),
                              count,
                              expand_chosen,
                              t));
    for (uint32_t i = 0; i < count; i++) {
        const struct expansion *x = &t->expansions[i];
        s->too_large += !x->count && x->outcome == SC__PLAN_TOO_LARGE;
        s->refused += !x->count && x->outcome == SC__PLAN_REFUSED;
        for (uint32_t k = 0; k < x->count; k++) {
            const struct sc__search_plan *p = &x->plans[k];
            s->fit += p->outcome == SC__PLAN_FITS;
            s->too_large += p->outcome == SC__PLAN_TOO_LARGE;
            s->refused += p->outcome == SC__PLAN_REFUSED;
            if (p->outcome == SC__PLAN_FITS)
                *SC__PUSH(&s->ctx->arena, s->plans, s->count, s->room) = *p;
        }
    }
    return SC_OK;
}

/* ---- evaluations ---- */

static sc_status evaluate(void *self) {
    const struct trial *t = self;
    struct sc__search *s = t->trials->s;
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
    struct sc__trials *w = self;
    struct sc__search_plan *p = &w->s->plans[w->chosen[i]];
    p->outcome = outcome_of(with_context(w, (struct trial){.plan = p}, evaluate));
    p->evaluated = true;
}

sc_status sc__trials_evaluate(struct sc__trials *t,
                              const uint32_t *plans,
                              uint32_t count,
                              double done) {
    t->chosen = plans;
    t->s->evaluated += count;
    return sc__parallel_part(t->s->ctx,
                             "evaluating plans",
                             share_done(done),
                             share_done(done),
                             count,
                             evaluate_chosen,
                             t);
}

void sc__trials_say_why(struct sc__trials *t) {
    struct sc__search *s = t->s;
    struct sc__search_plan first = seed_plan(s, 0);
    struct trial trial = {t, s->ctx, &first, NULL, 0};
    if (evaluate(&trial) != SC_OK)
        s->why = sc__strdup(&s->ctx->arena, sc_error_message(s->ctx));
    sc__clear_error(s->ctx);
}

/* ---- all of them ---- */

struct sc__trials *sc__trials_begin(struct sc__search *s) {
    struct sc__trials *t = SC__NEW(&s->ctx->arena, struct sc__trials);
    t->s = s;
    for (unsigned i = 0; i < MOST_MEMOS; i++)
        atomic_flag_clear(&t->memos.taken[i]);
    return t;
}

sc_status sc__trials_end(struct sc__trials *t) {
    for (unsigned i = 0; i < MOST_MEMOS; i++)
        sc__memo_free(t->memos.items[i]);
    if (atomic_load(&t->status) != SC_SYSTEM)
        return SC_OK;
    return sc__fail(t->s->ctx, SC_SYSTEM, NULL, NULL, "out of memory, or of threads");
}
