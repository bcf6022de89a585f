/* A slow simulator of workloads, written from the description in
 * workload/workload.h alone: every call is written out, and at every moment every
 * operation is asked anew whether it may start. Nothing is summed, timed
 * beforehand or remembered. */
#ifndef EXECUTOR_ORACLE_H
#define EXECUTOR_ORACLE_H

#include "oracle_net.h"
#include "simulate/simulate.h"

#include <stdlib.h>

enum ref_state { REF_WAITS, REF_COMPUTES, REF_MEETS, REF_MOVES, REF_DONE };

struct ref_op { /* an operation of one call */
    const struct sc__op *op;
    /* index: in its block */
    uint32_t class;
    uint32_t call;
    uint32_t index;
    enum ref_state state;
    int64_t start;
    int64_t ready;
    int64_t end;
    /* Compute under a tax: ps still to do at full pace since `paced`, and the pace. */
    int64_t left;
    int64_t paced;
    double speed;
    uint32_t meet; /* in ref.meets */
};

enum ref_meet_state { REF_OPEN, REF_FLIES, REF_LOCAL, REF_OVER };

struct ref_meet {
    bool collective;
    uint64_t key[3]; /* group, classes, number; or from, to, tag */
    uint32_t *ops;
    uint32_t count;
    bool sent;
    bool received;
    enum ref_meet_state state;
    uint64_t bytes;
    int64_t cost;
    int64_t end;
};

struct ref {
    const struct sc__workload *w;
    struct oracle_net *net;
    double scale;
    double tax;
    struct ref_op *ops;
    /* first: by class, in order of issue */
    uint32_t count;
    uint32_t *first;
    uint32_t *oldest; /* by class: before it all is done */
    struct ref_meet *meets;
    uint32_t meet_count;
    uint32_t first_open; /* before it all is over */
    uint32_t *arrivals;  /* by class · groups: collectives come to */
    int64_t now;
    struct sc__class_result *classes;
    bool deadlock;
};

static uint64_t ref_members(const struct ref *r, uint32_t class, uint16_t group) {
    uint64_t set = 0;
    for (uint32_t i = 0; i < sc__group_size(r->w, group); i++)
        set |= (uint64_t)1 << sc__workload_class_of(
                   r->w,
                   sc__group_member(r->w, group, r->w->classes[class].rank, i));
    return set;
}

static bool ref_inside(const void *self, uint32_t class, uint32_t group) {
    uint64_t set = ref_members(self, class, (uint16_t)group);
    return (set & (set - 1)) == 0;
}

/* ---- writing the programs out ---- */

static void ref_expand(struct ref *r, struct sc__arena *a) {
    const struct sc__workload *w = r->w;
    uint32_t room = 0;
    for (uint32_t c = 0; c < w->class_count; c++)
        for (uint32_t k = 0; k < w->programs[w->classes[c].program].calls; k++)
            room +=
                w->blocks[w->calls[w->programs[w->classes[c].program].first_call + k].block]
                    .ops;
    r->ops = SC__NEW_ARRAY(a, struct ref_op, room + 1);
    r->meets = SC__NEW_ARRAY(a, struct ref_meet, room + 1);
    r->first = SC__NEW_ARRAY(a, uint32_t, w->class_count + 1);
    r->oldest = SC__NEW_ARRAY(a, uint32_t, w->class_count + 1);
    r->classes = SC__NEW_ARRAY(a, struct sc__class_result, w->class_count);
    for (uint32_t c = 0; c < w->class_count; c++) {
        const struct sc__program *p = &w->programs[w->classes[c].program];
        r->classes[c].account.exposed = SC__NEW_ARRAY(a, int64_t, w->group_count + 1);
        r->classes[c].traffic = SC__NEW_ARRAY(a, struct sc__traffic, w->group_count + 1);
        r->first[c] = r->oldest[c] = r->count;
        for (uint32_t k = 0; k < p->calls; k++) {
            const struct sc__block *b = &w->blocks[w->calls[p->first_call + k].block];
            for (uint32_t i = 0; i < b->ops; i++)
                r->ops[r->count++] = (struct ref_op){.op = &w->ops[b->first_op + i],
                                                     .class = c,
                                                     .call = k,
                                                     .index = i};
        }
        r->first[c + 1] = r->count;
    }
}

/* ---- when an operation may start ---- */

static bool
ref_depends(const struct ref *r, const struct ref_op *late, const struct ref_op *early) {
    const struct sc__op *op = late->op;
    if (early->op->stream == op->stream || op->after >> early->op->stream & 1)
        return true;
    for (uint32_t d = 0; d < op->deps; d++)
        if (early->call == late->call && early->index == r->w->deps[op->first_dep + d])
            return true;
    return false;
}

static bool ref_may_start(struct ref *r, uint32_t i) {
    uint32_t *oldest = &r->oldest[r->ops[i].class];
    while (*oldest < i && r->ops[*oldest].state == REF_DONE)
        (*oldest)++;
    for (uint32_t k = *oldest; k < i; k++)
        if (r->ops[k].state != REF_DONE && ref_depends(r, &r->ops[i], &r->ops[k]))
            return false;
    return true;
}

/* ---- operations that begin and end ---- */

static uint32_t ref_lane(const struct ref *r, const struct sc__op *op) {
    return op->kind == SC__OP_COLLECTIVE ? op->group : r->w->group_count;
}

static void ref_end(struct ref *r, struct ref_op *o) {
    struct sc__class_result *c = &r->classes[o->class];
    o->state = REF_DONE;
    o->end = c->end = r->now;
    if (o->op->kind == SC__OP_COMPUTE)
        c->work[o->op->work] += o->end - o->start;
    if (o->op->kind == SC__OP_COMPUTE || o->op->kind == SC__OP_WAIT)
        return;
    struct sc__traffic *t = &c->traffic[ref_lane(r, o->op)];
    t->busy += r->now - o->ready;
    if (o->op->kind == SC__OP_RECV)
        return;
    t->ops++;
    t->bytes += o->op->bytes;
}

static struct ref_meet *ref_find(struct ref *r, const struct ref_meet *like, bool sending) {
    while (r->first_open < r->meet_count && r->meets[r->first_open].state == REF_OVER &&
           (r->meets[r->first_open].collective || r->meets[r->first_open].received))
        r->first_open++;
    for (uint32_t i = r->first_open; i < r->meet_count; i++) {
        struct ref_meet *m = &r->meets[i];
        if (m->collective != like->collective || memcmp(m->key, like->key, sizeof m->key))
            continue;
        if (m->collective || !(sending ? m->sent : m->received))
            return m;
    }
    r->meets[r->meet_count] = *like;
    r->meets[r->meet_count].ops = calloc(r->w->class_count + 2, sizeof(uint32_t));
    return &r->meets[r->meet_count++];
}

static void
ref_begin(struct ref *r, struct ref_meet *m, const struct sc_transfer *t, bool measured) {
    for (uint32_t i = 0; i < m->count; i++) {
        r->ops[m->ops[i]].state = REF_MOVES;
        r->ops[m->ops[i]].ready = r->now;
    }
    m->state = measured ? REF_LOCAL : REF_FLIES;
    m->end = r->now + m->cost;
    if (!measured)
        oracle_start(r->net, t, r->now);
}

static void ref_over(struct ref *r, struct ref_meet *m) {
    m->state = REF_OVER;
    for (uint32_t i = 0; i < m->count; i++)
        ref_end(r, &r->ops[m->ops[i]]);
    m->count = 0;
}

static void ref_come(struct ref *r, uint32_t i, struct ref_meet *m) {
    struct ref_op *o = &r->ops[i];
    o->state = m->state == REF_OPEN ? REF_MEETS : REF_MOVES;
    o->start = o->ready = r->now;
    o->meet = (uint32_t)(m - r->meets);
    m->ops[m->count++] = i;
    if (o->op->bytes > m->bytes)
        m->bytes = o->op->bytes;
    if (o->op->cost > m->cost)
        m->cost = o->op->cost;
}

static void ref_collective(struct ref *r, uint32_t i) {
    struct ref_op *o = &r->ops[i];
    uint64_t members = ref_members(r, o->class, o->op->group);
    uint32_t number = 0;
    for (uint32_t k = r->first[o->class]; k < i; k++)
        number +=
            r->ops[k].op->kind == SC__OP_COLLECTIVE && r->ops[k].op->group == o->op->group;
    struct ref_meet like = {.collective = true, .key = {o->op->group, members, number}};
    struct ref_meet *m = ref_find(r, &like, false);
    ref_come(r, i, m);
    if (m->count < (uint32_t)__builtin_popcountll(members))
        return;
    struct sc_transfer t = {.coll = o->op->coll,
                            .group = o->op->group,
                            .class = o->class,
                            .bytes = m->bytes,
                            .user = (uint64_t)(m - r->meets)};
    ref_begin(r, m, &t, o->op->flags & SC__OP_MEASURED);
}

static void ref_message(struct ref *r, uint32_t i) {
    struct ref_op *o = &r->ops[i];
    const struct sc__workload *w = r->w;
    bool sending = o->op->kind == SC__OP_SEND;
    uint32_t peer =
        sc__workload_class_of(w, sc__op_peer(w, o->op, w->classes[o->class].rank));
    uint32_t from = sending ? o->class : peer, to = sending ? peer : o->class;
    uint64_t tag =
        (uint64_t)o->op->tag +
        w->calls[w->programs[w->classes[o->class].program].first_call + o->call].tag;
    struct ref_meet like = {.key = {from, to, tag}};
    struct ref_meet *m = ref_find(r, &like, sending);
    *(sending ? &m->sent : &m->received) = true;
    ref_come(r, i, m);
    if (m->state == REF_OVER)
        ref_over(r, m);
    if (m->state != REF_OPEN ||
        !((m->sent && m->received) || (sending && o->op->flags & SC__OP_EAGER)))
        return;
    struct sc_transfer t = {.coll = SC__COLLS,
                            .class = from,
                            .peer_class = to,
                            .bytes = m->bytes,
                            .user = (uint64_t)(m - r->meets)};
    ref_begin(r, m, &t, o->op->flags & SC__OP_MEASURED);
}

static int64_t ref_cost(const struct ref *r, const struct ref_op *o) {
    double factor = r->w->classes[o->class].slow * r->scale;
    return factor == 1 ? o->op->cost : llround((double)o->op->cost * factor);
}

static void ref_start(struct ref *r, uint32_t i) {
    struct ref_op *o = &r->ops[i];
    if (o->op->kind == SC__OP_COLLECTIVE) {
        ref_collective(r, i);
    } else if (o->op->kind == SC__OP_SEND || o->op->kind == SC__OP_RECV) {
        ref_message(r, i);
    } else {
        int64_t cost = o->op->kind == SC__OP_COMPUTE ? ref_cost(r, o) : 0;
        o->state = REF_COMPUTES;
        o->start = o->ready = r->now;
        o->left = cost;
        o->paced = r->now;
        o->speed = 1;
        if (!cost)
            ref_end(r, o);
    }
}

static void ref_start_all(struct ref *r) {
    for (bool again = true; again;) {
        again = false;
        for (uint32_t c = 0; c < r->w->class_count; c++)
            for (uint32_t i = r->oldest[c]; i < r->first[c + 1]; i++)
                if (r->ops[i].state == REF_WAITS && ref_may_start(r, i)) {
                    ref_start(r, i);
                    again = true;
                }
    }
}

/* ---- what the time of a class counts as ---- */

enum { REF_COMPUTE, REF_RECOMPUTE, REF_OTHER, REF_BUBBLE, REF_SKEW, REF_LANE };

static struct ref_op *ref_current(const struct ref *r, uint32_t class, uint32_t stream) {
    for (uint32_t i = r->oldest[class]; i < r->first[class + 1]; i++)
        if (r->ops[i].op->stream == stream && r->ops[i].state != REF_DONE)
            return &r->ops[i];
    return NULL;
}

static int ref_compute_kind(const struct sc__op *op) {
    return op->work == SC__WORK_HOST    ? REF_OTHER
           : op->phase == SC__RECOMPUTE ? REF_RECOMPUTE
                                        : REF_COMPUTE;
}

static int
ref_stream_kind(const struct ref *r, uint32_t class, uint32_t stream, uint32_t *asked) {
    const struct ref_op *o = ref_current(r, class, stream);
    int waits = -1;
    *asked |= 1u << stream;
    if (!o)
        return -1;
    if (o->state == REF_COMPUTES)
        return ref_compute_kind(o->op);
    if (o->state == REF_MOVES)
        return REF_LANE + (int)ref_lane(r, o->op);
    if (o->state == REF_MEETS)
        return o->op->kind == SC__OP_COLLECTIVE &&
                       !sc__group_across_stages(r->w, o->op->group)
                   ? REF_SKEW
                   : REF_BUBBLE;
    for (uint32_t t = 0; t < SC__MAX_STREAMS; t++) {
        if (*asked >> t & 1 || !(o->op->deps || o->op->after >> t & 1))
            continue;
        int found = ref_stream_kind(r, class, t, asked);
        if (found >= REF_LANE)
            return found;
        if (waits < 0)
            waits = found;
    }
    return waits;
}

static int ref_kind(const struct ref *r, uint32_t class) {
    uint32_t asked = 0;
    int computes = -1;
    for (uint32_t t = 0; t < SC__MAX_STREAMS; t++) {
        const struct ref_op *o = ref_current(r, class, t);
        if (o && o->state == REF_COMPUTES && (computes < 0 || computes == REF_OTHER))
            computes = ref_compute_kind(o->op);
    }
    if (computes >= 0)
        return computes;
    if (ref_current(r, class, r->w->compute_stream)) {
        int found = ref_stream_kind(r, class, r->w->compute_stream, &asked);
        return found < 0 ? REF_OTHER : found;
    }
    for (uint32_t t = 0; t < SC__MAX_STREAMS; t++) {
        int found = ref_stream_kind(r, class, t, &asked);
        if (found >= 0)
            return found;
    }
    return r->w->mesh.pp > 1 ? REF_BUBBLE : REF_SKEW;
}

static void ref_account(struct ref *r, int64_t passed) {
    for (uint32_t c = 0; c < r->w->class_count; c++) {
        struct sc__account *a = &r->classes[c].account;
        int kind = ref_kind(r, c);
        int64_t *to[] = {&a->compute, &a->recompute, &a->other, &a->bubble, &a->skew};
        *(kind < REF_LANE ? to[kind] : &a->exposed[kind - REF_LANE]) += passed;
    }
}

/* ---- the clock ---- */

static double ref_speed(const struct ref *r, uint32_t class) {
    for (uint32_t i = r->oldest[class]; r->tax > 0 && i < r->first[class + 1]; i++)
        if (r->ops[i].state == REF_MOVES)
            return 1 / (1 + r->tax);
    return 1;
}

static int64_t ref_compute_end(const struct ref_op *o) {
    return o->paced + (int64_t)llround((double)o->left / o->speed);
}

/* Compute goes on at the pace that now holds. What was done so far is rounded
 * to whole picoseconds where the pace changes, and only there. */
static void ref_pace(struct ref *r) {
    for (uint32_t c = 0; c < r->w->class_count; c++) {
        double speed = ref_speed(r, c);
        for (uint32_t i = r->oldest[c]; i < r->first[c + 1]; i++) {
            struct ref_op *o = &r->ops[i];
            if (o->state != REF_COMPUTES || o->speed == speed)
                continue;
            o->left -= (int64_t)llround((double)(r->now - o->paced) * o->speed);
            o->paced = r->now;
            o->speed = speed;
        }
    }
}

static int64_t ref_next(struct ref *r) {
    int64_t next;
    oracle_next(r->net, &next);
    for (uint32_t c = 0; c < r->w->class_count; c++)
        for (uint32_t i = r->oldest[c]; i < r->first[c + 1]; i++)
            if (r->ops[i].state == REF_COMPUTES && ref_compute_end(&r->ops[i]) < next)
                next = ref_compute_end(&r->ops[i]);
    for (uint32_t i = r->first_open; i < r->meet_count; i++)
        if (r->meets[i].state == REF_LOCAL && r->meets[i].end < next)
            next = r->meets[i].end;
    return next;
}

static void ref_end_all(struct ref *r) {
    struct sc_transfer t;
    bool found;
    while (oracle_finish(r->net, r->now, &t, &found), found) {
        struct ref_meet *m = &r->meets[t.user];
        m->state = REF_LOCAL;
        m->end = r->now + (r->net->free ? 0 : m->cost);
    }
    for (uint32_t i = r->first_open; i < r->meet_count; i++)
        if (r->meets[i].state == REF_LOCAL && r->meets[i].end == r->now)
            ref_over(r, &r->meets[i]);
    for (uint32_t c = 0; c < r->w->class_count; c++)
        for (uint32_t i = r->oldest[c]; i < r->first[c + 1]; i++)
            if (r->ops[i].state == REF_COMPUTES && ref_compute_end(&r->ops[i]) <= r->now)
                ref_end(r, &r->ops[i]);
}

static void ref_run(struct ref *r) {
    for (;;) {
        ref_start_all(r);
        ref_pace(r);
        int64_t next = ref_next(r);
        if (next == INT64_MAX)
            break;
        ref_account(r, next - r->now);
        r->now = next;
        ref_end_all(r);
        ref_pace(r);
    }
    for (uint32_t i = 0; i < r->count; i++)
        r->deadlock |= r->ops[i].state != REF_DONE;
    for (uint32_t i = 0; i < r->meet_count; i++)
        free(r->meets[i].ops);
}

#endif
