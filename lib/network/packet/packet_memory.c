#include "network/packet/packet_memory.h"

#include "network/packet/packet_sets.h"

#include <stdlib.h>
#include <string.h>

#define NS ((int64_t)1000) /* ps */
/* ns: what is watched before the rest is taken to be alike, and what that must be worth;
 * and by what share it may differ from what it does alone. */
#define SETTLING ((int64_t)200000)
#define LONG_REST 2e6
#define SETTLED 0.01
#define SLICE ((int64_t)250000000) /* ps that a period is simulated at a time */
/* ns by which one begins later to see what comes of it, and how much of what is simulated
 * goes into that. */
#define LATER ((int64_t)1000)
#define MEASURING_SHARE 0.125

struct memory_entry {
    struct sc__packet_kind *kind;
    int64_t at; /* ns from the beginning of the period */
    uint32_t user;
    bool ended;
    int64_t end;                      /* ns, where it has */
    const struct sc__packet_run *run; /* in the simulation, if it has it */
};

/* What is known of the time after the last entry of a history, if no other comes. */
struct memory_future {
    struct memory_end {
        uint32_t entry;
        int64_t at;    /* ns */
        int64_t doubt; /* ns by which that may be wrong */
    } * ends;
    uint32_t count;
    uint32_t capacity;
    int64_t known_until; /* ns: no other end up to here */
};

/* Who plays in a period: of each kind in it the groups that stand for all. */
struct memory_cast {
    struct sc__packet_kind **kinds;           /* in the order in which they came */
    const struct sc__packet_traffic *traffic; /* of each */
    uint32_t count;
    uint32_t most_copies; /* of a set: 1 where every group is there */
};

/* Transfers that meet on cables, from the moment when the first of them begins. */
struct memory_period {
    int64_t begin; /* ps */
    struct memory_entry *entries;
    uint32_t count;
    uint32_t capacity;
    uint32_t running;
    uint64_t history; /* hash of the entries */
    uint32_t taken;   /* ends of the future that were told */
    struct memory_future *future;
    /* kinds in it, and their cast once there is a simulation */
    struct sc__packet_kind **kinds;
    uint32_t kind_count;
    uint32_t kind_capacity;
    struct memory_cast *cast;
    /* the simulation, where there is one: it has the first `simulated` entries */
    struct sc__packet_live *live;
    uint32_t simulated;
};

struct sc__packet_memory {
    struct sc__packet_alone *alone;
    struct sc__arena *arena;
    struct memory_period **periods; /* those that are over are used again */
    uint32_t period_count;
    uint32_t period_capacity;
    uint32_t running;
    struct sc__packet_kind **messages; /* all kinds of them */
    uint32_t message_count;
    uint32_t message_capacity;
    struct sc__map futures; /* by history */
    struct sc__map casts;   /* by kinds */
    struct sc__map meets;   /* by two kinds: 1 they share a cable, 2 they do not */
    struct sc__map swings; /* by kinds: share of a period's time, as the bits of a double */
    double largest_swing;
    uint64_t measuring; /* packets simulated for them */
};

struct sc__packet_memory *sc__packet_memory_new(struct sc__packet_alone *a) {
    struct sc__packet_memory *m = SC__NEW(a->builder.arena, struct sc__packet_memory);
    m->alone = a;
    m->arena = a->builder.arena;
    sc__map_init(&m->futures, m->arena);
    sc__map_init(&m->casts, m->arena);
    sc__map_init(&m->meets, m->arena);
    sc__map_init(&m->swings, m->arena);
    return m;
}

static void drop_simulation(struct sc__packet_memory *m, struct memory_period *p) {
    if (p->live) {
        sc__packet_effort_add(m->alone->effort, &p->live->counters);
        sc__packet_live_free(p->live);
    }
    p->live = NULL;
    p->simulated = 0;
}

void sc__packet_memory_free(struct sc__packet_memory *m) {
    for (uint32_t i = 0; i < m->period_count; i++)
        drop_simulation(m, m->periods[i]);
}

/* ---- who meets whom ---- */

static bool share_a_cable(const struct sc__packet_shape *a,
                          const struct sc__packet_shape *b) {
    uint32_t i = 0;
    uint32_t k = 0;
    while (i < a->cable_count && k < b->cable_count) {
        if (a->cables[i] == b->cables[k])
            return true;
        if (a->cables[i] < b->cables[k])
            i++;
        else
            k++;
    }
    return false;
}

static bool kinds_meet(struct sc__packet_memory *m,
                       const struct sc__packet_kind *a,
                       const struct sc__packet_kind *b) {
    uint32_t low = a->id < b->id ? a->id : b->id;
    uint32_t high = a->id < b->id ? b->id : a->id;
    bool fresh;
    uint64_t *slot = sc__map_at(&m->meets, (uint64_t)low << 32 | high, &fresh);
    if (fresh)
        *slot = share_a_cable(a->shape, b->shape) ? 1 : 2;
    return *slot == 1;
}

static bool meets_period(struct sc__packet_memory *m,
                         const struct memory_period *p,
                         const struct sc__packet_kind *k) {
    for (uint32_t i = 0; i < p->count; i++)
        if (!p->entries[i].ended && kinds_meet(m, p->entries[i].kind, k))
            return true;
    return false;
}

/* ---- histories ---- */

static struct memory_future *future_of(struct sc__packet_memory *m, uint64_t history) {
    bool fresh;
    uint64_t *slot = sc__map_at(&m->futures, history, &fresh);
    if (fresh)
        *slot = (uintptr_t)SC__NEW(m->arena, struct memory_future);
    return (struct memory_future *)(uintptr_t)*slot;
}

static void learn_end(struct sc__packet_memory *m,
                      struct memory_period *p,
                      uint32_t entry,
                      int64_t at,
                      int64_t doubt) {
    struct memory_future *f = p->future;
    *SC__PUSH(m->arena, f->ends, f->count, f->capacity) =
        (struct memory_end){entry, at, doubt};
    f->known_until = at;
}

static uint64_t
longer_history(uint64_t history, const struct memory_entry *e, uint32_t ended) {
    uint64_t key[4] = {history, e->kind->id, (uint64_t)e->at, ended};
    return sc__hash(key, sizeof key, 7);
}

static bool plays(const struct memory_cast *cast, const struct sc__packet_kind *k) {
    for (uint32_t i = 0; i < cast->count; i++)
        if (cast->kinds[i] == k)
            return true;
    return false;
}

static void
add_kind(struct sc__packet_memory *m, struct memory_period *p, struct sc__packet_kind *k) {
    for (uint32_t i = 0; i < p->kind_count; i++)
        if (p->kinds[i] == k)
            return;
    *SC__PUSH(m->arena, p->kinds, p->kind_count, p->kind_capacity) = k;
}

void sc__packet_memory_know(struct sc__packet_memory *m, struct sc__packet_kind *k) {
    if (k->shape->coll == SC__COLLS)
        *SC__PUSH(m->arena, m->messages, m->message_count, m->message_capacity) = k;
}

/* ---- periods ---- */

static struct memory_period *idle_period(struct sc__packet_memory *m, int64_t now) {
    struct memory_period *p = NULL;
    for (uint32_t i = 0; i < m->period_count && !p; i++)
        if (!m->periods[i]->running)
            p = m->periods[i];
    if (!p) {
        p = SC__NEW(m->arena, struct memory_period);
        *SC__PUSH(m->arena, m->periods, m->period_count, m->period_capacity) = p;
    }
    drop_simulation(m, p);
    p->begin = now;
    p->count = 0;
    p->kind_count = 0;
    p->history = 0;
    p->taken = 0;
    return p;
}

/* The ns in which a transfer begins is not over. */
static int64_t begin_at(int64_t since) {
    return (since + NS - 1) / NS;
}

static int compare_entries(const void *a, const void *b, void *self) {
    (void)self;
    const struct memory_entry *x = a;
    const struct memory_entry *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static void move_entry(struct memory_entry *e, int64_t later) {
    e->at += later;
    e->end += later;
}

/* What is told of two periods is one's own from now on. */
static void merge_periods(struct sc__packet_memory *m,
                          struct memory_period *p,
                          struct memory_period *q) {
    int64_t begin = p->begin < q->begin ? p->begin : q->begin;
    for (uint32_t i = 0; i < p->count; i++)
        move_entry(&p->entries[i], (p->begin - begin) / NS);
    for (uint32_t i = 0; i < q->count; i++) {
        struct memory_entry e = q->entries[i];
        move_entry(&e, (q->begin - begin) / NS);
        *SC__PUSH(m->arena, p->entries, p->count, p->capacity) = e;
    }
    sc__sort(p->entries, p->count, sizeof *p->entries, compare_entries, NULL);
    for (uint32_t i = 0; i < q->kind_count; i++)
        add_kind(m, p, q->kinds[i]);
    drop_simulation(m, p);
    drop_simulation(m, q);
    p->begin = begin;
    p->running += q->running;
    q->running = 0;
    p->taken = 0;
    p->history = 1;
    for (uint32_t i = 0; i < p->count; i++)
        p->history = longer_history(p->history, &p->entries[i], p->entries[i].ended);
}

static struct memory_period *
period_for(struct sc__packet_memory *m, const struct sc__packet_kind *k, int64_t now) {
    struct memory_period *found = NULL;
    for (uint32_t i = 0; i < m->period_count; i++) {
        struct memory_period *p = m->periods[i];
        if (!p->running || !meets_period(m, p, k))
            continue;
        if (found)
            merge_periods(m, found, p);
        else
            found = p;
    }
    return found ? found : idle_period(m, now);
}

void sc__packet_memory_begin(struct sc__packet_memory *m,
                             struct sc__packet_kind *k,
                             uint32_t user,
                             int64_t now) {
    struct memory_period *p = period_for(m, k, now);
    add_kind(m, p, k);
    struct memory_entry *e = SC__PUSH(m->arena, p->entries, p->count, p->capacity);
    *e = (struct memory_entry){.kind = k, .user = user};
    e->at = begin_at(now - p->begin);
    p->history = longer_history(p->history, e, p->taken);
    p->taken = 0;
    p->running++;
    m->running++;
    p->future = future_of(m, p->history);
    if (p->count == 1 && !p->future->count)
        learn_end(m, p, 0, k->alone, k->doubt);
    if (p->future->known_until < e->at)
        p->future->known_until = e->at;
    /* it was let run on, and what ended elsewhere first has brought this one */
    if (p->live && p->live->sim->queue.now > e->at)
        drop_simulation(m, p);
}

/* ---- the simulation ---- */

struct cast_kinds {
    struct sc__packet_kind *const *items;
    uint32_t count;
};

/* reduced: of sets that look alike, one. */
static sc_status make_cast(struct sc__packet_memory *m,
                           const struct cast_kinds *kinds,
                           struct memory_cast *cast,
                           bool reduced) {
    const struct sc__packet_traffic_builder *b = &m->alone->builder;
    uint32_t count = kinds->count;
    const struct sc__packet_shape **shapes =
        SC__NEW_ARRAY(m->arena, const struct sc__packet_shape *, count);
    struct sc__packet_traffic *traffic =
        SC__NEW_ARRAY(m->arena, struct sc__packet_traffic, count);
    struct sc__packet_sets sets = {0};
    cast->kinds = SC__NEW_ARRAY(m->arena, struct sc__packet_kind *, count);
    cast->count = count;
    cast->traffic = traffic;
    cast->most_copies = 1;
    for (uint32_t k = 0; k < count; k++) {
        cast->kinds[k] = kinds->items[k];
        shapes[k] = kinds->items[k]->shape;
    }
    if (reduced)
        sc__packet_sets_find(m->arena, b->fabric, shapes, count, &sets);
    for (uint32_t k = 0; k < count; k++) {
        uint64_t bytes = kinds->items[k]->bytes;
        for (uint32_t i = 0; i < sets.count; i++)
            SC__TRY(sc__packet_shape_add(b,
                                         shapes[k],
                                         &sets.items[i].parts[k],
                                         bytes,
                                         &traffic[k]));
        if (!reduced)
            SC__TRY(
                sc__packet_shape_add(b, shapes[k], &shapes[k]->all, bytes, &traffic[k]));
        sc__packet_traffic_close(b, &traffic[k]);
    }
    for (uint32_t i = 0; i < sets.count; i++)
        if (sets.items[i].copies > cast->most_copies)
            cast->most_copies = sets.items[i].copies;
    return SC_OK;
}

/* Messages of a pipeline come one after the other, each of another kind: all that there
 * are have a part from the beginning. */
static struct cast_kinds kinds_of(const struct sc__packet_memory *m,
                                  const struct memory_period *p) {
    for (uint32_t i = 0; i < p->kind_count; i++)
        if (p->kinds[i]->shape->coll != SC__COLLS)
            return (struct cast_kinds){p->kinds, p->kind_count};
    return (struct cast_kinds){m->messages, m->message_count};
}

static uint64_t hash_kinds(const struct cast_kinds *kinds) {
    uint64_t hash = kinds->count;
    for (uint32_t i = 0; i < kinds->count; i++)
        hash = sc__packet_mix(hash, kinds->items[i]->id);
    return hash;
}

static sc_status find_cast(struct sc__packet_memory *m, struct memory_period *p) {
    struct cast_kinds kinds = kinds_of(m, p);
    bool fresh;
    uint64_t *slot = sc__map_at(&m->casts, hash_kinds(&kinds), &fresh);
    if (fresh)
        *slot = (uintptr_t)SC__NEW(m->arena, struct memory_cast);
    p->cast = (struct memory_cast *)(uintptr_t)*slot;
    return fresh ? make_cast(m, &kinds, p->cast, !m->alone->settings->exact) : SC_OK;
}

static void add_entry(struct memory_period *p, uint32_t entry) {
    const struct sc__packet_kind *k = p->entries[entry].kind;
    uint32_t i = 0;
    while (p->cast->kinds[i] != k)
        i++;
    p->entries[entry].run = sc__packet_live_add(p->live,
                                                &p->cast->traffic[i],
                                                k->use,
                                                SC__PACKET_KEEP_NOTHING,
                                                entry,
                                                p->entries[entry].at);
}

/* To a time, or to the end of an entry that was not told before. */
static sc_status
simulate(struct sc__packet_memory *m, struct memory_period *p, int64_t until, bool *found) {
    struct sc__packet_run *over;
    *found = false;
    for (;;) {
        SC__TRY(sc__packet_live_run(p->live, until, &over));
        if (!over)
            return SC_OK;
        if (!p->entries[over->user].ended)
            break;
    }
    /* what would have ended before the last one began ends with its beginning */
    int64_t least = p->entries[p->count - 1].at;
    int64_t at = p->live->sim->queue.now;
    learn_end(m, p, over->user, at > least ? at : least, 0);
    *found = true;
    return SC_OK;
}

static bool all_play(const struct memory_period *p) {
    for (uint32_t i = 0; i < p->kind_count; i++)
        if (!plays(p->cast, p->kinds[i]))
            return false;
    return true;
}

static bool same_messages(const struct sc__packet_traffic *a,
                          const struct sc__packet_traffic *b) {
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct sc__packet_message *x = &a->messages[i];
        const struct sc__packet_message *y = &b->messages[i];
        if (x->from != y->from || x->to != y->to || x->bytes != y->bytes ||
            x->phase != y->phase || x->waits != y->waits)
            return false;
    }
    return true;
}

/* Those of a cast have the same parts in another. */
static bool same_parts(const struct memory_cast *cast, const struct memory_cast *other) {
    for (uint32_t i = 0; i < cast->count; i++) {
        uint32_t k = 0;
        while (k < other->count && other->kinds[k] != cast->kinds[i])
            k++;
        if (k == other->count || !same_messages(&cast->traffic[i], &other->traffic[k]))
            return false;
    }
    return true;
}

/* A kind has come that has no part in the simulation. Whoever stood for all may not do so
 * beside it: then all begins again. */
static sc_status recast(struct sc__packet_memory *m, struct memory_period *p) {
    const struct memory_cast *before = p->cast;
    if (!p->live || all_play(p))
        return SC_OK;
    SC__TRY(find_cast(m, p));
    if (!same_parts(before, p->cast))
        drop_simulation(m, p);
    return SC_OK;
}

/* The simulation of the whole period so far. */
static sc_status
catch_up(struct sc__packet_memory *m, struct memory_period *p, bool *found) {
    const struct sc__packet_alone *a = m->alone;
    *found = false;
    SC__TRY(recast(m, p));
    if (!p->live) {
        SC__TRY(find_cast(m, p));
        p->live = sc__packet_live_new(a->builder.fabric,
                                      &a->settings->steps,
                                      &a->settings->random);
    }
    while (p->simulated < p->count) {
        SC__TRY(simulate(m, p, p->entries[p->simulated].at, found));
        if (*found)
            return SC_OK;
        add_entry(p, p->simulated++);
    }
    return SC_OK;
}

/* Where buffers fill, those who are not in the simulation would have filled them too:
 * then again with everybody. */
static sc_status
with_everybody(struct sc__packet_memory *m, struct memory_period *p, bool *again) {
    *again = p->live && p->cast->most_copies > 1 &&
             !sc__packet_buffers_untouched(p->live, p->cast->most_copies);
    if (!*again)
        return SC_OK;
    drop_simulation(m, p);
    struct cast_kinds kinds = {p->cast->kinds, p->cast->count};
    return make_cast(m, &kinds, p->cast, false);
}

/* The only one of several that is left, or NULL. */
static const struct memory_entry *last_left(const struct memory_period *p) {
    if (p->running != 1 || p->count < 2)
        return NULL;
    for (uint32_t i = 0; i < p->count; i++)
        if (!p->entries[i].ended)
            return &p->entries[i];
    return NULL;
}

static double part_done(const struct memory_entry *e) {
    return (double)e->run->received / (double)e->run->bytes;
}

/* A long transfer that is alone again: if it has come as far in a while as it does alone,
 * so it does for the rest. */
static sc_status
settle(struct sc__packet_memory *m, struct memory_period *p, int64_t until, bool *found) {
    const struct memory_entry *e = last_left(p);
    if (!e || m->alone->settings->exact)
        return SC_OK;
    int64_t from = p->live->sim->queue.now;
    uint64_t signals = sc__packet_live_signals(p->live);
    double before = part_done(e);
    double alone = (double)e->kind->alone;
    if ((1 - before) * alone < LONG_REST || until - from < SETTLING)
        return SC_OK;
    p->live->sim->peak_queue = 0;
    SC__TRY(simulate(m, p, from + SETTLING, found));
    if (*found || !sc__packet_live_calm(p->live, signals))
        return SC_OK;
    double done = part_done(e);
    double off = fabs((done - before) * alone / (double)SETTLING - 1);
    if (off > SETTLED)
        return SC_OK;
    int64_t rest = (int64_t)llround((1 - done) * alone);
    double doubt = off * (double)rest + (1 - done) * (double)e->kind->doubt;
    learn_end(m,
              p,
              (uint32_t)(e - p->entries),
              from + SETTLING + rest,
              (int64_t)ceil(doubt));
    m->alone->effort->largest_bound = fmax(m->alone->effort->largest_bound, off);
    *found = true;
    return SC_OK;
}

static sc_status
look_on(struct sc__packet_memory *m, struct memory_period *p, int64_t until, bool *found) {
    bool again;
    do {
        uint32_t learned = p->future->count;
        int64_t known = p->future->known_until;
        SC__TRY(catch_up(m, p, found));
        if (!*found)
            SC__TRY(settle(m, p, until, found));
        if (!*found)
            SC__TRY(simulate(m, p, until, found));
        SC__TRY(with_everybody(m, p, &again));
        if (again) {
            p->future->count = learned;
            p->future->known_until = known;
        }
    } while (again);
    return SC_OK;
}

/* When the next of the period ends, if that is by `limit`; else INT64_MAX. */
static sc_status next_end(struct sc__packet_memory *m,
                          struct memory_period *p,
                          int64_t limit,
                          int64_t *when) {
    bool found = false;
    *when = INT64_MAX;
    if (p->taken == p->future->count) {
        int64_t until = limit == INT64_MAX ? INT64_MAX : (limit - p->begin) / NS;
        if (until <= p->future->known_until)
            return SC_OK;
        SC__TRY(look_on(m, p, until, &found));
        if (!found) {
            p->future->known_until = until;
            return SC_OK;
        }
    }
    *when = p->begin + p->future->ends[p->taken].at * NS;
    return SC_OK;
}

/* Up to when it is known that none ends; INT64_MAX where the next end is known. */
static int64_t known_until(const struct memory_period *p) {
    if (!p->running || p->taken < p->future->count)
        return INT64_MAX;
    if (p->future->known_until > (INT64_MAX - p->begin) / NS)
        return INT64_MAX;
    return p->begin + p->future->known_until * NS;
}

static struct memory_period *least_known(struct sc__packet_memory *m, int64_t *known) {
    struct memory_period *least = NULL;
    *known = INT64_MAX;
    for (uint32_t i = 0; i < m->period_count; i++) {
        int64_t here = known_until(m->periods[i]);
        if (here >= *known)
            continue;
        *known = here;
        least = m->periods[i];
    }
    return least;
}

/* Periods are simulated side by side: what ends in one may start something in another,
 * which has then not run on too far. */
sc_status
sc__packet_memory_next(struct sc__packet_memory *m, int64_t limit, int64_t *when) {
    int64_t first = INT64_MAX;
    int64_t end;
    for (uint32_t i = 0; i < m->period_count; i++) {
        if (!m->periods[i]->running)
            continue;
        SC__TRY(next_end(m, m->periods[i], 0, &end));
        first = end < first ? end : first;
    }
    for (;;) {
        int64_t known;
        struct memory_period *p = least_known(m, &known);
        int64_t until = first < limit ? first : limit;
        if (!p || until < known + NS)
            break;
        if (m->running > 1 && until - known > SLICE)
            until = known + SLICE;
        SC__TRY(next_end(m, p, until, &end));
        first = end < first ? end : first;
    }
    *when = first;
    return SC_OK;
}

/* ---- what a little makes ---- */

/* Until one of it has ended and so many packets were simulated; *swing: ns by which any
 * took longer or less than the first time. */
static sc_status run_again(struct memory_period *p,
                           const struct memory_entry *first_time,
                           double most_packets,
                           int64_t *swing) {
    struct sc__packet_run *over = NULL;
    for (uint32_t added = 0; added < p->count || p->running;) {
        int64_t until = added < p->count ? p->entries[added].at : INT64_MAX;
        SC__TRY(sc__packet_live_run(p->live, until, &over));
        if (!over) {
            add_entry(p, added++);
            continue;
        }
        const struct memory_entry *e = &first_time[over->user];
        int64_t took = p->live->sim->queue.now - p->entries[over->user].at;
        int64_t off = llabs(took - (e->end - e->at)) - LATER;
        *swing = off > *swing ? off : *swing;
        p->running--;
        if ((double)p->live->counters.data_packets > most_packets)
            return SC_OK;
    }
    return SC_OK;
}

/* Packets meet in another order when some of them come a little later, and what comes of
 * it can be more than that little. So all of a period but what began it begins again, a
 * little later: the share of its time by which any of it takes longer or less. */
static sc_status measure_swing(struct sc__packet_memory *m,
                               const struct memory_period *p,
                               double most_packets,
                               double *share) {
    const struct sc__packet_alone *a = m->alone;
    struct memory_period again = *p;
    int64_t swing = 0;
    again.entries = SC__NEW_ARRAY(m->arena, struct memory_entry, p->count);
    again.running = p->count;
    for (uint32_t i = 0; i < p->count; i++) {
        again.entries[i] = p->entries[i];
        again.entries[i].at += i ? LATER : 0;
    }
    SC__TRY(find_cast(m, &again));
    again.live =
        sc__packet_live_new(a->builder.fabric, &a->settings->steps, &a->settings->random);
    sc_status status = run_again(&again, p->entries, most_packets, &swing);
    m->measuring += again.live->counters.data_packets;
    *share = (double)swing / (double)(again.live->sim->queue.now + 1);
    drop_simulation(m, &again);
    return status;
}

static double packets_so_far(const struct sc__packet_memory *m,
                             const struct memory_period *p) {
    uint64_t here = p->live ? p->live->counters.data_packets : 0;
    return (double)(m->alone->effort->counters.data_packets + here);
}

static bool lost_any(const struct sc__packet_counters *c) {
    return c->buffer_losses || c->link_losses;
}

/* Of periods of these kinds; that of others, where enough was simulated for it. Where
 * packets are lost, one more may leave a transfer stuck: nothing is known then. */
static sc_status
swing_of(struct sc__packet_memory *m, const struct memory_period *p, double *share) {
    struct cast_kinds kinds = {p->kinds, p->kind_count};
    uint64_t hash = hash_kinds(&kinds);
    uint64_t *known = sc__map_find(&m->swings, hash);
    double most = MEASURING_SHARE * packets_so_far(m, p) - (double)m->measuring;
    if (known) {
        memcpy(share, known, sizeof *share);
        return SC_OK;
    }
    *share = m->largest_swing;
    if (lost_any(&m->alone->effort->counters) || (p->live && lost_any(&p->live->counters)))
        *share = 1;
    if (*share >= 1 || (m->measuring && most < 0))
        return SC_OK;
    SC__TRY(measure_swing(m, p, most, share));
    m->largest_swing = fmax(m->largest_swing, *share);
    memcpy(sc__map_at(&m->swings, hash, NULL), share, sizeof *share);
    return SC_OK;
}

static int64_t period_length(const struct memory_period *p) {
    int64_t last = 0;
    for (uint32_t i = 0; i < p->count; i++)
        last = p->entries[i].end > last ? p->entries[i].end : last;
    return last;
}

/* Where every transfer is as it is, so are those that meet. */
static sc_status doubt_period(struct sc__packet_memory *m, const struct memory_period *p) {
    struct sc__packet_effort *effort = m->alone->effort;
    double share;
    if (p->count < 2 || !(effort->doubt > 0 || effort->doubted))
        return SC_OK;
    SC__TRY(swing_of(m, p, &share));
    effort->swing += share * (double)period_length(p);
    return SC_OK;
}

static sc_status take_end(struct sc__packet_memory *m,
                          struct memory_period *p,
                          int64_t to,
                          uint32_t *user,
                          bool *found) {
    *found = p->running && p->taken < p->future->count &&
             p->begin + p->future->ends[p->taken].at * NS <= to;
    if (!*found)
        return SC_OK;
    const struct memory_end *end = &p->future->ends[p->taken++];
    struct memory_entry *e = &p->entries[end->entry];
    e->ended = true;
    e->end = end->at;
    m->alone->effort->doubt += (double)end->doubt;
    *user = e->user;
    p->running--;
    m->running--;
    return p->running ? SC_OK : doubt_period(m, p);
}

sc_status sc__packet_memory_end(struct sc__packet_memory *m,
                                int64_t to,
                                uint32_t *user,
                                bool *found) {
    *found = false;
    for (uint32_t i = 0; i < m->period_count && !*found; i++)
        SC__TRY(take_end(m, m->periods[i], to, user, found));
    return SC_OK;
}
