#include "network/packet/packet_memory.h"

#define NS ((int64_t)1000) /* ps */

struct memory_entry {
    struct sc__packet_kind *kind;
    int64_t at; /* ns from the beginning of the period */
    uint32_t user;
    bool ended;
};

/* What is known of the time after the last entry of a history, if no other comes. */
struct memory_future {
    struct memory_end {
        uint32_t entry;
        int64_t at; /* ns */
    } * ends;
    uint32_t count;
    uint32_t capacity;
    int64_t known_until; /* ns: no other end up to here */
};

struct sc__packet_memory {
    struct sc__packet_alone *alone;
    struct sc__arena *arena;
    /* the period */
    int64_t begin; /* ps */
    struct memory_entry *entries;
    uint32_t count;
    uint32_t capacity;
    uint32_t running;
    uint64_t history; /* hash of the entries */
    uint32_t taken;   /* ends of the future that were told */
    struct memory_future *future;
    struct sc__map futures; /* by history */
    /* the simulation, where there is one: it has the first `simulated` entries */
    struct sc__packet_live *live;
    uint32_t simulated;
};

struct sc__packet_memory *sc__packet_memory_new(struct sc__packet_alone *a) {
    struct sc__packet_memory *m = SC__NEW(a->builder.arena, struct sc__packet_memory);
    m->alone = a;
    m->arena = a->builder.arena;
    sc__map_init(&m->futures, m->arena);
    return m;
}

void sc__packet_memory_free(struct sc__packet_memory *m) {
    if (m->live) {
        sc__packet_effort_add(m->alone->effort, &m->live->counters);
        sc__packet_live_free(m->live);
    }
    m->live = NULL;
    m->simulated = 0;
}

/* ---- histories ---- */

static struct memory_future *future_of(struct sc__packet_memory *m, uint64_t history) {
    bool fresh;
    uint64_t *slot = sc__map_at(&m->futures, history, &fresh);
    if (fresh)
        *slot = (uintptr_t)SC__NEW(m->arena, struct memory_future);
    return (struct memory_future *)(uintptr_t)*slot;
}

static void learn_end(struct sc__packet_memory *m, uint32_t entry, int64_t at) {
    struct memory_future *f = m->future;
    *SC__PUSH(m->arena, f->ends, f->count, f->capacity) = (struct memory_end){entry, at};
    f->known_until = at;
}

static uint64_t
longer_history(uint64_t history, const struct memory_entry *e, uint32_t ended) {
    uint64_t key[4] = {history, e->kind->id, (uint64_t)e->at, ended};
    return sc__hash(key, sizeof key, 7);
}

void sc__packet_memory_begin(struct sc__packet_memory *m,
                             struct sc__packet_kind *k,
                             uint32_t user,
                             int64_t now) {
    if (!m->running) {
        sc__packet_memory_free(m);
        m->begin = now;
        m->count = 0;
        m->history = 0;
        m->taken = 0;
    }
    struct memory_entry *e = SC__PUSH(m->arena, m->entries, m->count, m->capacity);
    *e = (struct memory_entry){.kind = k, .user = user};
    /* the ns in which it begins is not over */
    e->at = (now - m->begin + NS - 1) / NS;
    m->history = longer_history(m->history, e, m->taken);
    m->taken = 0;
    m->running++;
    m->future = future_of(m, m->history);
    if (m->count == 1 && !m->future->count)
        learn_end(m, 0, k->alone);
    if (m->future->known_until < e->at)
        m->future->known_until = e->at;
    /* it was let run on, and what ended elsewhere first has brought this one */
    if (m->live && m->live->sim->queue.now > e->at)
        sc__packet_memory_free(m);
}

int64_t sc__packet_memory_known(const struct sc__packet_memory *m) {
    if (!m->running || m->taken < m->future->count)
        return INT64_MAX;
    if (m->future->known_until > (INT64_MAX - m->begin) / NS)
        return INT64_MAX;
    return m->begin + m->future->known_until * NS;
}

/* ---- the simulation ---- */

static sc_status add_entry(struct sc__packet_memory *m, uint32_t entry) {
    struct sc__packet_kind *k = m->entries[entry].kind;
    if (!k->traffic) {
        struct sc__packet_traffic *t = SC__NEW(m->arena, struct sc__packet_traffic);
        SC__TRY(sc__packet_shape_traffic(&m->alone->builder,
                                         k->shape,
                                         &k->shape->all,
                                         k->bytes,
                                         t));
        k->traffic = t;
    }
    sc__packet_live_add(m->live, k->traffic, k->use, false, entry, m->entries[entry].at);
    return SC_OK;
}

/* To a time, or to the end of an entry that was not told before. */
static sc_status simulate(struct sc__packet_memory *m, int64_t until, bool *found) {
    struct sc__packet_run *over;
    *found = false;
    for (;;) {
        SC__TRY(sc__packet_live_run(m->live, until, &over));
        if (!over)
            return SC_OK;
        if (!m->entries[over->user].ended)
            break;
    }
    /* what would have ended before the last one began ends with its beginning */
    int64_t least = m->entries[m->count - 1].at;
    int64_t at = m->live->sim->queue.now;
    learn_end(m, over->user, at > least ? at : least);
    *found = true;
    return SC_OK;
}

/* The simulation of the whole period so far. */
static sc_status catch_up(struct sc__packet_memory *m, bool *found) {
    const struct sc__packet_alone *a = m->alone;
    *found = false;
    if (!m->live)
        m->live = sc__packet_live_new(a->builder.fabric,
                                      &a->settings->steps,
                                      &a->settings->random);
    while (m->simulated < m->count) {
        SC__TRY(simulate(m, m->entries[m->simulated].at, found));
        if (*found)
            return SC_OK;
        SC__TRY(add_entry(m, m->simulated++));
    }
    return SC_OK;
}

sc_status
sc__packet_memory_next(struct sc__packet_memory *m, int64_t limit, int64_t *when) {
    bool found = false;
    *when = INT64_MAX;
    if (!m->running)
        return SC_OK;
    if (m->taken == m->future->count) {
        int64_t until = limit == INT64_MAX ? INT64_MAX : (limit - m->begin) / NS;
        if (until <= m->future->known_until)
            return SC_OK;
        SC__TRY(catch_up(m, &found));
        if (!found)
            SC__TRY(simulate(m, until, &found));
        if (!found) {
            m->future->known_until = until;
            return SC_OK;
        }
    }
    *when = m->begin + m->future->ends[m->taken].at * NS;
    return SC_OK;
}

bool sc__packet_memory_end(struct sc__packet_memory *m, int64_t to, uint32_t *user) {
    if (!m->running || m->taken == m->future->count)
        return false;
    const struct memory_end *end = &m->future->ends[m->taken];
    if (m->begin + end->at * NS > to)
        return false;
    m->entries[end->entry].ended = true;
    *user = m->entries[end->entry].user;
    m->taken++;
    m->running--;
    return true;
}
