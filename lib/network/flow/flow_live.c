#include "network/flow/flow_live.h"

#define NOBODY 0u
#define NUMBERED UINT64_MAX /* flows carry their own numbers */

struct mover { /* by transfer */
    struct sc__burden burden;
    /* end: where it runs alone */
    int64_t begin;
    int64_t end;
    uint32_t flows; /* of it that share links still */
    bool alone;
    bool spent; /* alone, and at its end but for rounding */
};

struct sc__live {
    struct sc__arena *arena;
    const struct sc__quotient *q;
    struct sc__flow_share *share;
    struct mover *movers;
    uint32_t count;
    uint32_t capacity;
    uint32_t *alone_on;   /* by link: transfer + 1 that has it for itself */
    uint32_t *sharing_on; /* by link: transfers that share */
    double *bytes;        /* by link */
    struct sc__heap ends; /* of those alone; a: transfer */
    double ending; /* flows that end at this time are being taken out; INFINITY: none */
};

struct sc__live *sc__live_new(struct sc__arena *arena, const struct sc__quotient *q) {
    struct sc__live *l = SC__NEW(arena, struct sc__live);
    *l = (struct sc__live){.arena = arena, .q = q, .ending = INFINITY};
    l->share = sc__share_new(arena, q->capacity, q->links);
    l->alone_on = SC__NEW_ARRAY(arena, uint32_t, q->links);
    l->sharing_on = SC__NEW_ARRAY(arena, uint32_t, q->links);
    l->bytes = SC__NEW_ARRAY(arena, double, q->links);
    sc__heap_init(&l->ends, arena);
    return l;
}

double sc__live_bytes(const struct sc__live *l, uint32_t link) {
    return l->bytes[link];
}

void sc__live_passed(struct sc__live *l, const struct sc__burden *b, double times) {
    const struct sc__quotient *q = l->q;
    for (uint32_t i = q->reach_first[b->pattern]; i < q->reach_first[b->pattern + 1]; i++)
        l->bytes[q->reach[i].link] += q->reach[i].volume * b->bytes * times;
}

uint32_t sc__live_violations(const struct sc__live *l) {
    return sc__share_violations(l->share);
}

/* ---- flows of one transfer ---- */

static uint32_t flow_count(const struct sc__quotient *q, uint32_t pattern) {
    return q->pattern[pattern + 1] - q->pattern[pattern];
}

/* left: bytes of each flow, NULL for all they have. Returns how many have any. */
static uint32_t lay_flows(struct sc__flow_share *share,
                          const struct sc__quotient *q,
                          const struct sc__burden *b,
                          const double *left,
                          double now,
                          uint64_t user) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < flow_count(q, b->pattern); i++) {
        const struct sc__quotient_flow *f = &q->flows[q->pattern[b->pattern] + i];
        double volume = f->volume * b->bytes;
        if (left && !(left[i] > 0))
            continue;
        sc__share_add(share,
                      &(struct sc__share_flow){.hops = q->hops + f->first,
                                               .count = f->count,
                                               .weight = 1,
                                               .bytes = left ? left[i] : volume,
                                               .cap = volume / b->seconds,
                                               .user = user == NUMBERED ? i : user},
                      now);
        count++;
    }
    return count;
}

/* Takes out what ends until then; when the last of it did. */
static double run_until(struct sc__flow_share *share, double until) {
    uint64_t user;
    double last = 0;
    for (double next; (next = sc__share_next(share)) <= until && next < INFINITY;
         last = next)
        while (sc__share_finish(share, next, &user)) {
        }
    return last;
}

double sc__live_alone(const struct sc__quotient *q, const struct sc__burden *b) {
    struct sc__arena work;
    sc__arena_init(&work);
    struct sc__flow_share *share = sc__share_new(&work, q->capacity, q->links);
    lay_flows(share, q, b, NULL, 0, NUMBERED);
    double end = run_until(share, INFINITY);
    sc__arena_free(&work);
    return end;
}

/* ---- alone, or not ---- */

static const struct sc__reach *
reach_of(const struct sc__live *l, uint32_t id, const struct sc__reach **end) {
    const struct sc__quotient *q = l->q;
    uint32_t pattern = l->movers[id].burden.pattern;
    *end = q->reach + q->reach_first[pattern + 1];
    return q->reach + q->reach_first[pattern];
}

static void set_alone(struct sc__live *l, uint32_t id, uint32_t owner) {
    const struct sc__reach *end;
    const struct sc__reach *r = reach_of(l, id, &end);
    for (; r < end; r++)
        l->alone_on[r->link] = owner;
    l->movers[id].alone = owner != NOBODY;
}

static void count_sharing(struct sc__live *l, uint32_t id, uint32_t one) {
    const struct sc__reach *end;
    const struct sc__reach *r = reach_of(l, id, &end);
    for (; r < end; r++)
        l->sharing_on[r->link] += one;
}

/* The transfer ran alone until now: its flows join with what is left of them. */
static void join_others(struct sc__live *l, uint32_t id, int64_t now) {
    struct mover *m = &l->movers[id];
    struct sc__arena work;
    double passed = (double)(now - m->begin) * 1e-12;
    sc__arena_init(&work);
    struct sc__flow_share *share = sc__share_new(&work, l->q->capacity, l->q->links);
    double *left = SC__NEW_ARRAY(&work, double, flow_count(l->q, m->burden.pattern) + 1);
    lay_flows(share, l->q, &m->burden, NULL, 0, NUMBERED);
    run_until(share, passed);
    sc__share_left(share, passed, left);
    m->flows = lay_flows(l->share, l->q, &m->burden, left, (double)now * 1e-12, id);
    sc__arena_free(&work);
    m->spent = !m->flows;
    if (m->spent)
        return;
    set_alone(l, id, NOBODY);
    count_sharing(l, id, 1);
}

/* Whether a link of the transfer is used by another; one that was alone on it
 * is no more. */
static bool meets_others(struct sc__live *l, uint32_t id, int64_t now) {
    const struct sc__reach *end;
    const struct sc__reach *r = reach_of(l, id, &end);
    bool meets = false;
    for (; r < end; r++) {
        uint32_t owner = l->alone_on[r->link];
        if (owner && !l->movers[owner - 1].spent)
            join_others(l, owner - 1, now);
        meets |= l->alone_on[r->link] || l->sharing_on[r->link];
    }
    return meets;
}

static void note_bytes(struct sc__live *l, uint32_t id) {
    const struct sc__reach *end;
    const struct sc__reach *r = reach_of(l, id, &end);
    for (; r < end; r++)
        l->bytes[r->link] += r->volume * l->movers[id].burden.bytes;
}

void sc__live_begin(struct sc__live *l,
                    uint32_t id,
                    const struct sc__burden *b,
                    int64_t alone,
                    int64_t now) {
    while (l->count <= id)
        (void)SC__PUSH(l->arena, l->movers, l->count, l->capacity);
    l->movers[id] = (struct mover){.burden = *b, .begin = now, .end = now + alone};
    note_bytes(l, id);
    if (meets_others(l, id, now)) {
        l->movers[id].flows = lay_flows(l->share, l->q, b, NULL, (double)now * 1e-12, id);
        count_sharing(l, id, 1);
    } else {
        set_alone(l, id, id + 1);
        sc__heap_push(&l->ends, l->movers[id].end, id, 0);
    }
}

/* ---- ends ---- */

/* Those that joined others left an end behind that is none. */
static int64_t next_alone(struct sc__live *l) {
    while (l->ends.count) {
        const struct sc__event *e = &l->ends.items[0];
        const struct mover *m = &l->movers[e->a];
        if (m->alone && m->end == e->time)
            break;
        sc__heap_pop(&l->ends);
    }
    return sc__heap_time(&l->ends);
}

static int64_t flow_live_to_ps(double seconds) {
    return seconds < 9e6 ? (int64_t)ceil(seconds * 1e12 - 1e-3) : INT64_MAX;
}

int64_t sc__live_next(struct sc__live *l) {
    int64_t alone = next_alone(l);
    int64_t flow = flow_live_to_ps(sc__share_next(l->share));
    return alone < flow ? alone : flow;
}

/* The next transfer whose last flow ends at l->ending. */
static bool end_sharing(struct sc__live *l, uint32_t *id) {
    uint64_t user;
    while (sc__share_finish(l->share, l->ending, &user)) {
        if (--l->movers[user].flows)
            continue;
        *id = (uint32_t)user;
        count_sharing(l, *id, UINT32_MAX); /* one less */
        return true;
    }
    l->ending = INFINITY;
    return false;
}

bool sc__live_end(struct sc__live *l, int64_t to, uint32_t *id) {
    if (next_alone(l) <= to) {
        *id = sc__heap_pop(&l->ends).a;
        set_alone(l, *id, NOBODY);
        return true;
    }
    if (!(l->ending < INFINITY)) {
        double at = sc__share_next(l->share);
        if (flow_live_to_ps(at) > to)
            return false;
        l->ending = at;
    }
    return end_sharing(l, id);
}
