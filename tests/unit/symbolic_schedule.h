/* A schedule of a collective run with sets in place of numbers: which ranks'
 * values are in every part of every rank, in the order of its rounds and in any
 * other that its dependencies allow. */
#ifndef SC_TESTS_SYMBOLIC_SCHEDULE_H
#define SC_TESTS_SYMBOLIC_SCHEDULE_H

#include "test.h"
#include "workload/workload.h"

#include <math.h>

#define MOST 64u

struct symbolic { /* one channel */
    const struct sc__coll_schedule *s;
    uint32_t channel;
    uint32_t n;
    uint32_t parts;
    uint8_t *held; /* [member][part][contributor] */
};

static uint8_t *held(const struct symbolic *x, uint32_t member, uint64_t part) {
    return &x->held[((size_t)member * x->parts + part) * x->n];
}

/* The member that is to hold a part of a torus channel: its digits are the
 * coordinates in the order in which the channel goes through the dimensions. */
static uint32_t owner(const struct symbolic *x, uint32_t part) {
    const struct sc__coll_box *b = &x->s->box;
    if (x->s->family != SC__FAMILY_TORUS)
        return part;
    uint32_t owner = 0;
    uint32_t begin = x->channel / (x->s->channels / b->dims);
    for (uint32_t i = b->dims; i-- > 0;) {
        uint32_t dim = (begin + i) % b->dims;
        uint32_t stride = 1;
        for (uint32_t d = 0; d < dim; d++)
            stride *= b->size[d];
        owner += part % b->size[dim] * stride;
        part /= b->size[dim];
    }
    return owner;
}

static bool reducing(int coll) {
    return coll == SC__ALLREDUCE || coll == SC__REDUCE || coll == SC__REDUCESCATTER ||
           coll == SC__BARRIER;
}

/* Whether a member has a part of its own to give at the beginning. */
static bool gives(const struct symbolic *x, uint32_t member, uint32_t part) {
    const struct sc__coll_schedule *s = x->s;
    if (reducing(s->coll))
        return true;
    if (s->coll == SC__ALLTOALL)
        return part / x->n == member;
    if (s->coll == SC__BROADCAST || s->coll == SC__SCATTER)
        return member == s->root;
    return owner(x, part) == member;
}

/* Whether a member must hold a part at the end. */
static bool wants(const struct symbolic *x, uint32_t member, uint32_t part) {
    const struct sc__coll_schedule *s = x->s;
    switch (s->coll) {
    case SC__REDUCE:
    case SC__GATHER:
        return member == s->root;
    case SC__REDUCESCATTER:
    case SC__SCATTER:
        return owner(x, part) == member;
    case SC__SHIFT: /* the part of the one before */
        return (part + 1) % x->n == member;
    case SC__ALLTOALL:
        return part % x->n == member;
    default:
        return true;
    }
}

/* How often `from` must be in a part at the end. */
static uint8_t due(const struct symbolic *x, uint32_t part, uint32_t from) {
    return gives(x, from, part);
}

static void fill(struct symbolic *x) {
    memset(x->held, 0, (size_t)x->n * x->parts * x->n);
    for (uint32_t m = 0; m < x->n; m++)
        for (uint32_t part = 0; part < x->parts; part++)
            if (gives(x, m, part))
                held(x, m, part)[m] = 1;
}

static void check_promise(const struct symbolic *x) {
    for (uint32_t m = 0; m < x->n; m++)
        for (uint32_t part = 0; part < x->parts; part++)
            for (uint32_t from = 0; wants(x, m, part) && from < x->n; from++)
                assert_int_equal(held(x, m, part)[from], due(x, part, from));
}

/* A barrier only asks who has been heard of. */
static void add(const struct symbolic *x, uint8_t *to, const uint8_t *from) {
    for (uint32_t i = 0; i < x->n; i++)
        to[i] = x->s->coll == SC__BARRIER ? (to[i] | from[i]) : (uint8_t)(to[i] + from[i]);
}

struct message { /* in flight */
    struct sc__coll_transfer t;
    uint8_t *data; /* [count][n] */
};

static struct message take(const struct symbolic *x, struct sc__coll_transfer_id id) {
    struct message m = {0};
    assert_true(sc__coll_schedule_transfer(x->s, id, &m.t));
    m.data = calloc(m.t.count, x->n);
    assert_non_null(m.data);
    for (uint64_t i = 0; i < m.t.count; i++)
        for (uint32_t k = 0; k < m.t.sources; k++)
            add(x,
                m.data + i * x->n,
                held(x, m.t.source + k, (m.t.first + i * m.t.stride) % x->parts));
    return m;
}

static void deliver(const struct symbolic *x, struct message *m) {
    for (uint64_t i = 0; i < m->t.count; i++)
        for (uint32_t k = 0; k < m->t.destinations; k++) {
            uint64_t part = (m->t.first + i * m->t.stride) % x->parts;
            uint8_t *to = held(x, m->t.destination + k, part);
            if (!m->t.reduces)
                memset(to, 0, x->n);
            add(x, to, m->data + i * x->n);
        }
    free(m->data);
}

/* What the fabric's switches do with the messages of a phase. */
static void reduce_in_fabric(const struct symbolic *x, struct message *m, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        add(x, m[0].data, m[i].data);
    for (uint32_t i = 1; i < count; i++)
        memcpy(m[i].data, m[0].data, x->n);
}

static void run_phase(const struct symbolic *x, uint32_t phase) {
    static struct message m[MOST];
    uint32_t count = 0;
    struct sc__coll_transfer t;
    for (uint32_t i = 0; i < sc__coll_schedule_slots(x->s, phase); i++) {
        struct sc__coll_transfer_id id = {phase, x->channel, i};
        if (sc__coll_schedule_transfer(x->s, id, &t))
            m[count++] = take(x, id);
    }
    if (count && m[0].t.in_fabric)
        reduce_in_fabric(x, m, count);
    for (uint32_t i = 0; i < count; i++)
        deliver(x, &m[i]);
}

/* --- in any order --------------------------------------------------------- */

struct pending {
    struct sc__coll_transfer_id id;
    bool done;
};

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static bool
is_done(const struct pending *p, const uint32_t *first, struct sc__coll_transfer_id id) {
    return p[first[id.phase] + id.index].done;
}

static bool ready(const struct symbolic *x,
                  const struct pending *all,
                  const uint32_t *first,
                  struct sc__coll_transfer_id id) {
    struct sc__coll_needs needs = sc__coll_schedule_needs(x->s, id);
    struct sc__coll_transfer_id on;
    assert_true(needs.end <= id.phase);
    for (uint32_t phase = needs.first; phase < needs.end; phase++)
        if (sc__coll_schedule_needs_arrival(x->s, id, phase, &on) &&
            !is_done(all, first, on))
            return false;
    return true;
}

/* The transfers of a phase that the fabric reduces go together. */
static bool fabric_ready(const struct symbolic *x,
                         const struct pending *all,
                         const uint32_t *first,
                         uint32_t phase) {
    for (uint32_t i = 0; i < sc__coll_schedule_slots(x->s, phase); i++)
        if (!ready(x, all, first, (struct sc__coll_transfer_id){phase, x->channel, i}))
            return false;
    return true;
}

static bool try_one(const struct symbolic *x,
                    struct pending *all,
                    const uint32_t *first,
                    struct pending *p) {
    struct sc__coll_transfer t;
    struct sc__coll_transfer_id id = p->id;
    assert_true(sc__coll_schedule_transfer(x->s, id, &t));
    if (t.in_fabric) {
        if (!fabric_ready(x, all, first, id.phase))
            return false;
        run_phase(x, id.phase);
        for (uint32_t i = 0; i < sc__coll_schedule_slots(x->s, id.phase); i++)
            all[first[id.phase] + i].done = true;
        return true;
    }
    if (!ready(x, all, first, id))
        return false;
    struct message m = take(x, id);
    deliver(x, &m);
    p->done = true;
    return true;
}

static void run_shuffled(const struct symbolic *x, uint64_t seed) {
    uint32_t *first = calloc(x->s->phases + 1, sizeof *first);
    uint32_t count = 0;
    for (uint32_t p = 0; p < x->s->phases; p++) {
        first[p] = count;
        count += sc__coll_schedule_slots(x->s, p);
    }
    struct pending *all = calloc(count + 1, sizeof *all);
    uint32_t *order = calloc(count + 1, sizeof *order);
    uint32_t left = 0;
    for (uint32_t p = 0; p < x->s->phases; p++)
        for (uint32_t i = 0; i < sc__coll_schedule_slots(x->s, p); i++) {
            struct sc__coll_transfer t;
            struct pending *at = &all[first[p] + i];
            at->id = (struct sc__coll_transfer_id){p, x->channel, i};
            if (sc__coll_schedule_transfer(x->s, at->id, &t))
                order[left++] = first[p] + i;
        }
    for (uint32_t i = left; i > 1; i--) {
        uint32_t j = (uint32_t)(next_random(&seed) % i);
        uint32_t swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
    while (left) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < left; i++) {
            struct pending *p = &all[order[i]];
            if (!p->done && !try_one(x, all, first, p))
                order[kept++] = order[i];
        }
        assert_true(kept < left); /* else transfers wait for each other */
        left = kept;
    }
    free(first);
    free(all);
    free(order);
}

#endif
