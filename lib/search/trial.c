/* trial: what is found out about seeds and plans, each on some thread, with what was
 * looked up on it before. */
#include "search/search.h"

#include "base/hash.h"
#include "base/parallel.h"

#include <math.h>
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
    enum sc__schedule schedules[SC__SEARCH_VALUES]; /* by value of the axis */
    /* of what runs now */
    const uint32_t *chosen;
    const int64_t *limits; /* of those that are evaluated */
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
    int64_t limit;
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
        ctx->quiet = true;
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

/* The same of weights, gradients and optimizer alone, which recomputation does not
 * change. */
static double
fullest_state(const struct sc__model *m, const struct sc__plan *p, double room) {
    double most = 0;
    for (uint32_t s = 0; s < p->mesh.pp && most <= room; s++) {
        struct sc__training_state x = sc__plan_state(m, p, s);
        most = fmax(most, x.weights + x.gradients + x.optimizer);
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
    /* the last floor, and of which schedule */
    enum sc__schedule schedule;
    uint32_t vpp;
    int64_t floor;
};

static void find_units(const struct trial *t, bool as_planned, struct seed_units *out) {
    const struct sc__search *s = t->trials->s;
    sc_plan plan;
    sc_options options;
    out->tried = true;
    out->ev = SC__NEW(&t->ctx->arena, struct sc__evaluation);
    if (begin_trial(t, &plan, &options) == SC_OK) {
        struct sc__evaluation_input in = trial_input(t, &options);
        if (sc__evaluation_units(t->ctx,
                                 &in,
                                 s->model,
                                 &plan,
                                 as_planned,
                                 out->ev,
                                 &out->units) != SC_OK)
            out->units.layers = NULL;
    }
    sc__clear_error(t->ctx); /* a plan that cannot be is found out later */
}

/* The schedule and chunks of a seed, as sc__plan_resolve has them. */
static void set_schedule(const struct sc__trials *w,
                         const struct sc__search_seed *x,
                         struct sc__plan *p) {
    enum sc__schedule said = w->schedules[x->choice[SC__CHOICE_SCHEDULE]];
    p->vpp = x->number[SC__NUMBER_VPP];
    if (sc__schedule_two_ways(said) && !sc__space_number_given(w->s, SC__NUMBER_VPP))
        p->vpp = 2;
    p->schedule = said != SC__SCHEDULE_AUTO ? said
                  : p->vpp > 1              ? SC__SCHEDULE_INTERLEAVED
                                            : SC__SCHEDULE_1F1B;
}

static int64_t seed_floor(const struct sc__trials *w,
                          const struct sc__search_seed *x,
                          struct seed_units *u) {
    struct sc__plan p = u->ev->plan;
    set_schedule(w, x, &p);
    if (p.vpp == u->vpp && p.schedule == u->schedule)
        return u->floor;
    if (p.vpp != u->ev->plan.vpp || p.schedule != u->ev->plan.schedule)
        p.overlap_p2p = true; /* it may be: a message that is hidden is not counted */
    u->vpp = p.vpp;
    u->schedule = p.schedule;
    u->floor = sc__plan_floor(w->s->model, &p, &u->units);
    return u->floor;
}

/* Seeds of a group differ in chunks, schedule and sharding; one schedule hides the
 * exchange of experts by itself, so its parts are others. */
static sc_status find_floors(void *self) {
    const struct trial *t = self;
    const struct sc__trials *w = t->trials;
    struct sc__search *s = w->s;
    uint32_t end = w->group_start[t->group + 1];
    struct seed_units usual = {0};
    struct seed_units paired = {0};
    for (uint32_t i = w->group_start[t->group]; i < end; i++) {
        struct sc__search_seed *x = &s->seeds[i];
        uint8_t schedule = x->choice[SC__CHOICE_SCHEDULE];
        enum sc__schedule run = w->schedules[schedule];
        bool pairs = s->model->experts && sc__schedule_is_dualpipe(run);
        struct seed_units *u = pairs ? &paired : &usual;
        struct sc__search_plan p = seed_plan(s, i);
        if (!u->tried)
            find_units(&(struct trial){.trials = t->trials, .ctx = t->ctx, .plan = &p},
                       false,
                       u);
        if (u->units.layers)
            x->floor = seed_floor(w, x, u);
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

/* All that one of the set repeats, and more. */
static bool repeats_more(const struct sc__search *s, unsigned set, uint32_t recompute) {
    for (uint32_t q = 0; set >> q; q++)
        if (set >> q & 1 && sc__space_recompute_contains(s, recompute, q))
            return true;
    return false;
}

/* The first layers of a stage that are repeated are all it has: that is `full`. */
static bool repeats_all(const struct sc__model *m, const struct sc__plan *p) {
    uint32_t most = 0;
    if (!p->recompute_block)
        return false;
    for (uint32_t s = 0; s < p->mesh.pp; s++) {
        uint32_t layers = sc__plan_predictions(p, m);
        for (uint32_t c = 0; c < p->vpp; c++) {
            uint32_t first;
            layers += sc__plan_layers(p, m, s, c, &first);
        }
        most = layers > most ? layers : most;
    }
    return p->recompute_layers >= most;
}

static unsigned least_recomputes(const struct sc__search *s, unsigned set) {
    unsigned least = 0;
    for (uint32_t r = 0; set >> r; r++)
        if (set >> r & 1 && !repeats_more(s, set, r))
            least |= 1u << r;
    return least;
}

/* Which recomputations of a plan fit and are needed, and how much each takes. */
struct fit {
    bool ran;            /* one of them can be */
    uint16_t recomputes; /* set */
    double memory[SC__SEARCH_VALUES];
};

static sc_status resolve_trial(const struct trial *t, struct sc__plan *out) {
    const struct sc__search *s = t->trials->s;
    sc_plan plan;
    sc_options options;
    SC__TRY(begin_trial(t, &plan, &options));
    const struct sc__plan_surroundings around = {
        .gpus = plan.gpus,
        .gpu = s->machines[t->plan->machine].description.cluster.gpu,
        .options = &options};
    SC__TRY(sc__plan_resolve(t->ctx, &plan, s->model, &around, out));
    return sc__plan_check(t->ctx, s->model, out);
}

/* None that repeats all that another one does which fits. first: the plan with the first
 * recomputation. */
static void fit_recomputes(const struct trial *t, struct sc__plan *first, struct fit *out) {
    struct sc__search *s = t->trials->s;
    struct sc__search_plan *p = t->plan;
    uint32_t count = s->axes[SC__CHOICE_RECOMPUTE].count;
    double room = room_of(s, &s->machines[p->machine]);
    struct sc__plan resolved = *first;
    *out = (struct fit){.ran = true};
    if (fullest_state(s->model, first, room) > room)
        return; /* whatever is recomputed */
    for (uint32_t r = 0; r < count; r++) {
        if (repeats_more(s, out->recomputes, r))
            continue;
        p->choice[SC__CHOICE_RECOMPUTE] = (uint8_t)r;
        if (r > 0 && resolve_trial(t, &resolved) != SC_OK)
            break;
        if (count > 1 && repeats_all(s->model, &resolved))
            continue;
        out->memory[r] = fullest_stage(s->model, &resolved, room);
        if (out->memory[r] > room)
            continue;
        out->recomputes |= (uint16_t)(1u << r);
        if (r == 0)
            break; /* it fits as it is */
    }
    p->choice[SC__CHOICE_RECOMPUTE] = 0;
    out->recomputes = (uint16_t)least_recomputes(s, out->recomputes);
}

static sc_status
make_map(struct sc_context *ctx, const char *name, const void *with, void **out) {
    struct sc__map *map = SC__NEW(&ctx->arena, struct sc__map);
    (void)name;
    (void)with;
    sc__map_init(map, &ctx->arena);
    *out = map;
    return SC_OK;
}

/* A table that is kept on the thread. */
static struct sc__map *thread_map(const struct trial *t, const char *kind) {
    void *found;
    (void)sc__memo_ask(t->ctx, kind, "", make_map, NULL, &found); /* never fails */
    return found;
}

/* Plans of one key hold the same memory: what is overlapped, how tokens go to experts and
 * in which order ranks lie does not enter it, but that interleaved stages whose dispatch is
 * overlapped have a forward more in flight (sc__plan_turns). */
static uint64_t memory_key(const struct sc__plan *p, uint32_t machine) {
    struct sc__plan k = *p;
    k.tp_overlap = 0;
    k.overlap_param = false;
    k.overlap_p2p = false;
    k.overlap_moe = p->overlap_moe && p->schedule == SC__SCHEDULE_INTERLEAVED;
    k.dedup = false;
    k.software_used = NULL;
    memset(k.mesh.order, 0, sizeof k.mesh.order);
    return sc__hash(&k, sizeof k, machine);
}

static void find_fit(const struct trial *t, struct fit *out) {
    struct sc__plan resolved;
    bool fresh;
    *out = (struct fit){0};
    if (resolve_trial(t, &resolved) != SC_OK)
        return;
    struct sc__map *fits = thread_map(t, "fits");
    uint64_t key = memory_key(&resolved, t->plan->machine);
    const uint64_t *known = sc__map_find(fits, key);
    if (known) {
        *out = *(const struct fit *)(uintptr_t)*known;
        return;
    }
    fit_recomputes(t, &resolved, out);
    struct fit *kept = SC__NEW(fits->arena, struct fit);
    *kept = *out;
    *sc__map_at(fits, key, &fresh) = (uint64_t)(uintptr_t)kept;
}

/* A floor of the plan as it is recomputed. Plans that differ in what they shard share
 * it; kept on the thread. */
static int64_t find_plan_floor(const struct trial *t) {
    const struct sc__search_plan *p = t->plan;
    const struct sc__search_seed *seed =
        &t->trials->s->seeds[p->serial / SC__SEARCH_VALUES];
    const uint32_t says[] = {seed->group,
                             p->number[SC__NUMBER_VPP],
                             p->choice[SC__CHOICE_SCHEDULE],
                             p->choice[SC__CHOICE_RECOMPUTE]};
    uint64_t key = sc__hash(says, sizeof says, 0x666c6f6f7273u);
    bool fresh;
    struct sc__map *floors = thread_map(t, "floors");
    const uint64_t *known = sc__map_find(floors, key);
    if (known)
        return (int64_t)*known;
    struct seed_units u = {0};
    find_units(t, true, &u);
    int64_t floor =
        u.units.layers ? sc__plan_floor(t->trials->s->model, &u.ev->plan, &u.units) : 0;
    if (seed->floor > floor)
        floor = seed->floor;
    *sc__map_at(floors, key, &fresh) = (uint64_t)floor;
    return floor;
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

/* J of a GPU beside its draw at rest: those of its layers at least. */
static double least_work(const struct sc__plan_outlook *o) {
    const struct sc__draw *d = &o->draw;
    double busy = d->limit > 0 ? fmin(d->busy, d->limit) : d->busy;
    return fmax(0, busy - d->idle) * o->layers_s;
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
    SC__TRY(sc__evaluation_outlook(t->ctx, &in, s->model, &plan, t->limit, ev, &outlook));
    if (outlook.bound > p->bound)
        p->bound = outlook.bound;
    p->watts = outlook.draw.idle;
    p->work_j = machine->gpus * least_work(&outlook);
    p->usd_per_hour =
        machine->usd_per_hour > 0 ? machine->usd_per_hour : outlook.usd_per_hour;
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
    const struct sc__search *s = t->trials->s;
    struct expansion *out = t->expansion;
    struct sc__search_plan first = *t->plan;
    struct trial of_first = *t;
    struct fit fit;
    of_first.plan = &first;
    find_fit(&of_first, &fit);
    first.recomputes = fit.recomputes;
    first.outcome = fit.recomputes ? SC__PLAN_FITS
                    : fit.ran      ? SC__PLAN_TOO_LARGE
                                   : SC__PLAN_REFUSED;
    out->outcome = first.outcome;
    for (uint32_t r = 0; first.recomputes >> r; r++) {
        if (!(first.recomputes >> r & 1))
            continue;
        struct sc__search_plan *p = &out->plans[out->count++];
        struct trial of_it = *t;
        *p = first;
        p->serial += r;
        p->choice[SC__CHOICE_RECOMPUTE] = (uint8_t)r;
        p->memory = fit.memory[r];
        of_it.plan = p;
        p->bound = find_plan_floor(&of_it);
        p->factor = sc__families_factor(s, (uint32_t)(p->serial / SC__SEARCH_VALUES));
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
        s->fit += x->count;
        for (uint32_t k = 0; k < x->count; k++)
            *SC__PUSH(&s->ctx->arena, s->plans, s->count, s->room) = x->plans[k];
    }
    return SC_OK;
}

static sc_status bound_plan(void *self) {
    return find_bound(self);
}

static void bound_chosen(void *self, uint32_t i) {
    struct sc__trials *w = self;
    struct sc__search_plan *p = &w->s->plans[w->chosen[i]];
    struct trial t = {.plan = p, .limit = sc__families_limit(w->s, w->chosen[i])};
    p->outcome = outcome_of(with_context(w, t, bound_plan));
    p->bounded = true;
}

sc_status
sc__trials_bound(struct sc__trials *t, const uint32_t *plans, uint32_t count, double done) {
    struct sc__search *s = t->s;
    t->chosen = plans;
    SC__TRY(sc__parallel_part(s->ctx,
                              "bounding plans",
                              share_done(done),
                              share_done(done),
                              count,
                              bound_chosen,
                              t));
    for (uint32_t i = 0; i < count; i++) {
        uint8_t outcome = s->plans[plans[i]].outcome;
        s->fit -= outcome != SC__PLAN_FITS;
        s->too_large += outcome == SC__PLAN_TOO_LARGE;
        s->refused += outcome == SC__PLAN_REFUSED;
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
    if (t->limit < INT64_MAX)
        SC__TRY(sc__evaluation_limit(t->ctx, &in, s->model, &plan, t->limit, ev));
    SC__TRY(sc__evaluation_run(t->ctx, ev, false));
    p->cut = ev->sim.cut;
    if (p->cut)
        return SC_OK;
    p->step = ev->result.step;
    p->mfu = ev->result.mfu;
    p->shares = sc__result_step_shares(&ev->result);
    p->watts =
        ev->result.energy_j / (s->machines[p->machine].gpus * (double)p->step * 1e-12);
    p->work_j = 0;
    p->factor = score_factor(s, p);
    sc__result_free(&ev->result);
    return SC_OK;
}

static void evaluate_chosen(void *self, uint32_t i) {
    struct sc__trials *w = self;
    struct sc__search_plan *p = &w->s->plans[w->chosen[i]];
    struct trial t = {.plan = p, .limit = w->limits[i]};
    p->outcome = outcome_of(with_context(w, t, evaluate));
    p->evaluated = true;
}

sc_status sc__trials_evaluate(struct sc__trials *t,
                              const uint32_t *plans,
                              const int64_t *limits,
                              uint32_t count,
                              double done) {
    t->chosen = plans;
    t->limits = limits;
    t->s->evaluated += count;
    sc_status status = sc__parallel_part(t->s->ctx,
                                         "evaluating plans",
                                         share_done(done),
                                         share_done(done),
                                         count,
                                         evaluate_chosen,
                                         t);
    for (uint32_t i = 0; i < count; i++)
        t->s->in_part += t->s->plans[plans[i]].cut;
    return status;
}

void sc__trials_say_why(struct sc__trials *t) {
    struct sc__search *s = t->s;
    struct sc__search_plan first = seed_plan(s, 0);
    struct trial trial = {.trials = t, .ctx = s->ctx, .plan = &first, .limit = INT64_MAX};
    if (evaluate(&trial) != SC_OK) {
        const char *hint = sc_error_hint(s->ctx);
        s->why = sc__strdup(&s->ctx->arena, sc_error_message(s->ctx));
        s->way_out = hint ? sc__strdup(&s->ctx->arena, hint) : NULL;
    }
    sc__clear_error(s->ctx);
}

/* ---- all of them ---- */

static void find_schedules(struct sc__trials *t) {
    const struct sc__search *s = t->s;
    for (uint32_t i = 0; i < s->axes[SC__CHOICE_SCHEDULE].count; i++) {
        struct sc__search_plan p = {.choice[SC__CHOICE_SCHEDULE] = (uint8_t)i};
        sc_plan plan;
        const char *order;
        p.number[SC__NUMBER_PP] = p.number[SC__NUMBER_VPP] = 1;
        if (sc__space_plan(s->ctx, s, &p, &plan, &order) == SC_OK)
            t->schedules[i] = (enum sc__schedule)plan.schedule;
    }
}

struct sc__trials *sc__trials_begin(struct sc__search *s) {
    struct sc__trials *t = SC__NEW(&s->ctx->arena, struct sc__trials);
    t->s = s;
    find_schedules(t);
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
