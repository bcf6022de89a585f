/* The executor for graph blocks: one class a rank, operations ordered by
 * dependencies alone.
 *
 *   dependencies ended ─→ ready ─┬─ compute: queue of its stream ─→ runs ─→ ended
 *                                ├─ collective: arrives; when all members have,
 *                                │  the group's line ─→ network ─→ ended on all
 *                                ├─ send: network (or processor first) ─→ ended
 *                                └─ recv: posted; message there ─→ ended
 *
 * A stream runs one operation at a time, lowest (ready time, index) first. A
 * group is a line of its own: its collectives follow each other, those of
 * different groups run side by side. Messages hold no stream, except where the
 * engine charges the processors (overhead), or the block asks for slots.
 * Who meets whom is known beforehand (ir/match.h), but for ranks that receive
 * from anyone. */
#include "ir/match.h"
#include "simulate/queue.h"
#include "simulate/simulate.h"

#include <stdlib.h>
#include <string.h>

enum { EVENT_END, EVENT_SENT, EVENT_AFTER, EVENT_MEETING };
enum { POSTED = 1, ARRIVED = 2, HELD = 4, FLYING = 8, DONE = 16 };

#define COLLECTIVE_BIT ((uint64_t)1 << 63)

struct ready {
    int64_t time;
    uint32_t op;
};

/* One stream of one rank. */
struct lane {
    struct ready *queue; /* a binary heap */
    uint32_t count, capacity;
    bool busy, dirty;
};

struct active {
    uint32_t group; /* the last is point-to-point */
    uint32_t count;
};

/* What a rank does now, for the account. */
struct usage {
    int64_t since;
    uint32_t computing, recomputing, in_collective, in_recv;
    struct active *active;
    uint32_t active_count, active_capacity;
    /* For ranks that receive from anyone. */
    uint32_t *posted, posted_count, posted_capacity;
    uint32_t *arrived, arrived_count, arrived_capacity;
};

struct arrival {
    uint32_t op, class, next; /* next + 1 in the pool, or 0 */
};

struct meeting {
    uint32_t arrived, first; /* arrival + 1 */
};

/* Meetings of a group that wait for the one under way. */
struct line {
    uint32_t *queue, head, count, capacity;
    bool busy;
};

struct pending {
    uint32_t class, op;
};

struct run {
    struct sc_context *ctx;
    const struct sc__workload *w;
    const struct sc__net *net;
    struct sc__sim_options options;
    struct sc__sim *out;
    struct sc__arena *arena;
    const uint32_t *match;
    uint16_t *waits; /* by operation: dependencies left */
    uint8_t *state;
    uint32_t *succ_first, *succ;
    bool start_deps;
    bool loads;         /* the engine charges the processors for messages */
    bool *slots;        /* by class */
    struct lane *lanes; /* by class · SC__MAX_STREAMS + stream */
    uint32_t *dirty, dirty_count, dirty_capacity;
    struct usage *usage;
    struct meeting *meetings;
    struct line *lines; /* by group */
    struct arrival *arrivals;
    uint32_t arrival_count, arrival_capacity;
    struct pending *pending;
    uint32_t pending_count, pending_capacity;
    struct sc__queue queue;
    int64_t now;
    uint64_t done, total;
    int64_t *started, *met; /* by operation, for the timeline; or NULL */
};

/* ---- the account ---- */

static uint32_t p2p_slot(const struct run *r) { return r->w->group_count; }

static void keep_idle(struct run *r, uint32_t class, int64_t from) {
    const struct usage *u = &r->usage[class];
    struct sc__timeline *t = r->out->timeline;
    uint32_t why = u->active_count   ? SC__IDLE_COMM + u->active[u->active_count - 1].group
                   : u->in_collective ? SC__IDLE_SKEW
                   : u->in_recv       ? SC__IDLE_BUBBLE
                                      : SC__IDLE_OTHER;
    *SC__PUSH(&r->ctx->arena, t->idles, t->idle_count, t->idle_capacity) =
        (struct sc__idle){.class = class, .why = why, .start = from, .end = r->now};
}

/* Books the time since the last change of a rank's state. */
static void account(struct run *r, uint32_t class) {
    struct usage *u = &r->usage[class];
    int64_t dt = r->now - u->since;
    if (!dt) return;
    struct sc__class_result *c = &r->out->classes[class];
    u->since = r->now;
    if (r->out->timeline && !u->recomputing && !u->computing) keep_idle(r, class, r->now - dt);
    for (uint32_t i = 0; i < u->active_count; i++) c->traffic[u->active[i].group].busy += dt;
    if (u->recomputing)
        c->account.recompute += dt;
    else if (u->computing)
        c->account.compute += dt;
    else if (u->active_count)
        c->account.exposed[u->active[u->active_count - 1].group] += dt;
    else if (u->in_collective)
        c->account.skew += dt;
    else if (u->in_recv)
        c->account.bubble += dt;
    else
        c->account.other += dt;
}

static void active_add(struct run *r, uint32_t class, uint32_t group) {
    struct usage *u = &r->usage[class];
    account(r, class);
    for (uint32_t i = 0; i < u->active_count; i++)
        if (u->active[i].group == group) {
            u->active[i].count++;
            return;
        }
    *SC__PUSH(r->arena, u->active, u->active_count, u->active_capacity) = (struct active){group, 1};
}

static void active_remove(struct run *r, uint32_t class, uint32_t group) {
    struct usage *u = &r->usage[class];
    account(r, class);
    uint32_t i = 0;
    while (u->active[i].group != group) i++;
    if (--u->active[i].count) return;
    for (u->active_count--; i < u->active_count; i++) u->active[i] = u->active[i + 1];
}

static void traffic(struct run *r, uint32_t class, uint32_t group, uint64_t bytes) {
    struct sc__traffic *t = &r->out->classes[class].traffic[group];
    t->ops++;
    t->bytes += bytes;
}

/* ---- operations begin and end ---- */

static void satisfy(struct run *r, uint32_t class, uint32_t op) {
    if (--r->waits[op] == 0)
        *SC__PUSH(r->arena, r->pending, r->pending_count, r->pending_capacity) = (struct pending){class, op};
}

static void op_begin(struct run *r, uint32_t class, uint32_t op) {
    if (r->started) r->started[op] = r->met[op] = r->now;
    if (!r->start_deps) return;
    for (uint32_t i = r->succ_first[op]; i < r->succ_first[op + 1]; i++)
        if (r->succ[i] & SC__DEP_START) satisfy(r, class, r->succ[i] & ~SC__DEP_START);
}

static void keep_span(struct run *r, uint32_t class, uint32_t op) {
    struct sc__timeline *t = r->out->timeline;
    *SC__PUSH(&r->ctx->arena, t->spans, t->count, t->capacity) = (struct sc__span){.class = class,
                                                                                   .op = op,
                                                                                   .micro_batch = SC__NONE,
                                                                                   .start = r->started[op],
                                                                                   .ready = r->met[op],
                                                                                   .end = r->now,
                                                                                   .peer_span = SC__NONE};
}

static void op_end(struct run *r, uint32_t class, uint32_t op) {
    r->state[op] |= DONE;
    r->done++;
    if (!(r->done & 0xffff)) sc__progress(r->ctx, "simulating", (double)r->done / (double)r->total);
    r->out->classes[class].end = r->now;
    if (r->started) keep_span(r, class, op);
    for (uint32_t i = r->succ_first[op]; i < r->succ_first[op + 1]; i++)
        if (!(r->succ[i] & SC__DEP_START)) satisfy(r, class, r->succ[i]);
}

/* A transfer is over; what is added after it may still be to come. */
static void transfer_end(struct run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    bool more = o->cost > 0 && !(o->flags & SC__OP_MEASURED) && !r->net->free;
    if (more)
        sc__queue_push(&r->queue, r->now + o->cost, op, class << 2 | EVENT_AFTER);
    else
        op_end(r, class, op);
}

/* ---- streams ---- */

static struct lane *lane_of(struct run *r, uint32_t class, uint32_t op) {
    return &r->lanes[(size_t) class * SC__MAX_STREAMS + r->w->ops[op].stream];
}

static bool sooner(struct ready x, struct ready y) { return x.time != y.time ? x.time < y.time : x.op < y.op; }

static void mark_dirty(struct run *r, struct lane *l) {
    if (l->dirty) return;
    l->dirty = true;
    *SC__PUSH(r->arena, r->dirty, r->dirty_count, r->dirty_capacity) = (uint32_t)(l - r->lanes);
}

static void lane_push(struct run *r, uint32_t class, uint32_t op) {
    struct lane *l = lane_of(r, class, op);
    struct ready e = {r->slots[class] ? 0 : r->now, op};
    uint32_t i;
    (void)SC__PUSH(r->arena, l->queue, l->count, l->capacity);
    for (i = l->count - 1; i && sooner(e, l->queue[(i - 1) / 2]); i = (i - 1) / 2) l->queue[i] = l->queue[(i - 1) / 2];
    l->queue[i] = e;
    mark_dirty(r, l);
}

static uint32_t lane_pop(struct lane *l) {
    uint32_t op = l->queue[0].op, i = 0;
    struct ready e = l->queue[--l->count];
    for (uint32_t c = 1; c < l->count; c = 2 * i + 1) {
        if (c + 1 < l->count && sooner(l->queue[c + 1], l->queue[c])) c++;
        if (!sooner(l->queue[c], e)) break;
        l->queue[i] = l->queue[c];
        i = c;
    }
    if (l->count) l->queue[i] = e;
    return op;
}

static void lane_free(struct run *r, uint32_t class, uint32_t op) {
    struct lane *l = lane_of(r, class, op);
    l->busy = false;
    if (l->count) mark_dirty(r, l);
}

/* ---- messages ---- */

static sc_status start_message(struct run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    struct sc__transfer t = {.coll = SC__COLLS,
                             .group = o->group,
                             .rank = r->w->classes[class].rank,
                             .peer = o->peer,
                             .class = class,
                             .peer_class = r->w->rank_class[o->peer],
                             .bytes = o->bytes,
                             .user = op};
    traffic(r, class, p2p_slot(r), o->bytes);
    if (r->met) r->met[op] = r->now;
    if (!r->loads) active_add(r, class, p2p_slot(r));
    return r->net->ops->start(r->net->self, &t, r->now);
}

/* The receive sees its message begin to fly. */
static void meet_receive(struct run *r, uint32_t recv, uint32_t class) {
    if (r->state[recv] & POSTED) {
        active_add(r, class, p2p_slot(r));
        r->usage[class].in_recv--;
        if (r->met) r->met[recv] = r->now;
    }
    r->state[recv] |= FLYING;
}

static sc_status begin_send(struct run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    uint32_t recv = r->match[op];
    struct sc__overhead v = {0};
    if (r->loads) r->net->ops->overhead(r->net->self, o->bytes, &v);
    bool wait = v.rendezvous || !(o->flags & SC__OP_EAGER);
    if (wait && recv != SC__NONE && !(r->state[recv] & POSTED)) {
        r->state[op] |= HELD;
        account(r, class);
        if (!r->loads) r->usage[class].in_recv++;
        return SC_OK;
    }
    if (recv != SC__NONE) meet_receive(r, recv, r->w->rank_class[o->peer]);
    return start_message(r, class, op);
}

static void receive_arrived(struct run *r, uint32_t class, uint32_t recv) {
    if (r->loads) {
        lane_push(r, class, recv);
        return;
    }
    transfer_end(r, class, recv);
}

static bool fits(const struct sc__op *recv, const struct sc__op *send, uint32_t source) {
    return ((recv->flags & SC__OP_ANY_PEER) || recv->peer == source) &&
           ((recv->flags & SC__OP_ANY_TAG) || recv->tag == send->tag);
}

/* Takes entry i out of a list, keeping the order. */
static void drop(uint32_t *list, uint32_t *count, uint32_t i) {
    for ((*count)--; i < *count; i++) list[i] = list[i + 1];
}

static uint32_t rank_of_op(const struct run *r, uint32_t op) {
    uint32_t low = 0, high = r->w->class_count - 1; /* blocks lie in order of class */
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (sc__rank_block(r->w, r->w->classes[middle].rank)->first_op <= op)
            low = middle;
        else
            high = middle - 1;
    }
    return r->w->classes[low].rank;
}

/* A message to a rank that receives from anyone. */
static void arrive_anywhere(struct run *r, uint32_t send, uint32_t source, uint32_t class) {
    struct usage *u = &r->usage[class];
    for (uint32_t i = 0; i < u->posted_count; i++) {
        uint32_t recv = u->posted[i];
        if (!fits(&r->w->ops[recv], &r->w->ops[send], source)) continue;
        drop(u->posted, &u->posted_count, i);
        account(r, class);
        u->in_recv--;
        receive_arrived(r, class, recv);
        return;
    }
    *SC__PUSH(r->arena, u->arrived, u->arrived_count, u->arrived_capacity) = send;
}

static void post_anywhere(struct run *r, uint32_t class, uint32_t recv) {
    struct usage *u = &r->usage[class];
    for (uint32_t i = 0; i < u->arrived_count; i++) {
        uint32_t send = u->arrived[i];
        if (!fits(&r->w->ops[recv], &r->w->ops[send], rank_of_op(r, send))) continue;
        drop(u->arrived, &u->arrived_count, i);
        receive_arrived(r, class, recv);
        return;
    }
    *SC__PUSH(r->arena, u->posted, u->posted_count, u->posted_capacity) = recv;
    account(r, class);
    u->in_recv++;
}

static sc_status post_receive(struct run *r, uint32_t class, uint32_t recv) {
    uint32_t send = r->match[recv];
    op_begin(r, class, recv);
    r->state[recv] |= POSTED;
    if (send == SC__NONE) {
        post_anywhere(r, class, recv);
        return SC_OK;
    }
    if (r->state[recv] & ARRIVED) {
        receive_arrived(r, class, recv);
        return SC_OK;
    }
    account(r, class);
    if (r->state[recv] & FLYING) {
        active_add(r, class, p2p_slot(r));
        return SC_OK;
    }
    r->usage[class].in_recv++;
    if (!(r->state[send] & HELD)) return SC_OK;
    uint32_t from = r->w->rank_class[r->w->ops[recv].peer];
    account(r, from);
    if (!r->loads) r->usage[from].in_recv--;
    meet_receive(r, recv, class);
    return start_message(r, from, send);
}

static void message_done(struct run *r, const struct sc__transfer *t) {
    uint32_t send = (uint32_t)t->user, recv = r->match[send];
    if (!r->loads) {
        active_remove(r, t->class, p2p_slot(r));
        transfer_end(r, t->class, send);
    }
    if (recv == SC__NONE) {
        arrive_anywhere(r, send, t->rank, t->peer_class);
        return;
    }
    r->state[recv] |= ARRIVED;
    if (!(r->state[recv] & POSTED)) return;
    active_remove(r, t->peer_class, p2p_slot(r));
    receive_arrived(r, t->peer_class, recv);
}

/* ---- collectives ---- */

static sc_status start_meeting(struct run *r, uint32_t id) {
    struct meeting *m = &r->meetings[id];
    const struct sc__op *o = &r->w->ops[r->arrivals[m->first - 1].op];
    uint32_t lead = sc__group_member(r->w, o->group, 0, 0);
    r->lines[o->group].busy = true;
    for (uint32_t a = m->first; a; a = r->arrivals[a - 1].next) {
        uint32_t class = r->arrivals[a - 1].class;
        active_add(r, class, o->group);
        r->usage[class].in_collective--;
        traffic(r, class, o->group, o->bytes);
        if (r->met) r->met[r->arrivals[a - 1].op] = r->now;
    }
    struct sc__transfer t = {.coll = o->coll,
                             .group = o->group,
                             .rank = lead,
                             .peer = o->peer,
                             .class = r->w->rank_class[lead],
                             .peer_class = r->w->rank_class[lead],
                             .bytes = o->bytes,
                             .user = COLLECTIVE_BIT | id};
    if (o->flags & SC__OP_MEASURED) {
        sc__queue_push(&r->queue, r->now + o->cost, id, EVENT_MEETING);
        return SC_OK;
    }
    return r->net->ops->start(r->net->self, &t, r->now);
}

static sc_status arrive(struct run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    uint32_t id = r->match[op];
    struct meeting *m = &r->meetings[id];
    struct line *l = &r->lines[o->group];
    account(r, class);
    r->usage[class].in_collective++;
    *SC__PUSH(r->arena, r->arrivals, r->arrival_count, r->arrival_capacity) = (struct arrival){op, class, m->first};
    m->first = r->arrival_count;
    if (++m->arrived < sc__group_size(r->w, o->group)) return SC_OK;
    if (!l->busy) return start_meeting(r, id);
    *SC__PUSH(r->arena, l->queue, l->count, l->capacity) = id;
    return SC_OK;
}

static sc_status meeting_done(struct run *r, uint32_t id) {
    struct meeting *m = &r->meetings[id];
    uint16_t group = r->w->ops[r->arrivals[m->first - 1].op].group;
    struct line *l = &r->lines[group];
    for (uint32_t a = m->first; a; a = r->arrivals[a - 1].next) {
        struct arrival *at = &r->arrivals[a - 1];
        active_remove(r, at->class, group);
        if (r->slots[at->class]) lane_free(r, at->class, at->op);
        transfer_end(r, at->class, at->op);
    }
    l->busy = false;
    return l->head < l->count ? start_meeting(r, l->queue[l->head++]) : SC_OK;
}

/* ---- the loop ---- */

static int64_t compute_time(const struct run *r, uint32_t class, const struct sc__op *o) {
    double scale = (r->options.compute_scale > 0 ? r->options.compute_scale : 1) * r->w->classes[class].slow;
    return scale == 1 ? o->cost : llround((double)o->cost * scale);
}

static void begin_compute(struct run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    int64_t time = compute_time(r, class, o);
    account(r, class);
    if (o->phase == SC__RECOMPUTE)
        r->usage[class].recomputing++;
    else if (o->work != SC__WORK_HOST)
        r->usage[class].computing++;
    r->out->classes[class].work[o->work] += time;
    sc__queue_push(&r->queue, r->now + time, op, class << 2 | EVENT_END);
}

/* The processor's part of a message. */
static void begin_overhead(struct run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    struct sc__overhead v;
    r->net->ops->overhead(r->net->self, o->bytes, &v);
    active_add(r, class, p2p_slot(r));
    if (o->kind == SC__OP_SEND)
        sc__queue_push(&r->queue, r->now + v.send, op, class << 2 | EVENT_SENT);
    else
        sc__queue_push(&r->queue, r->now + v.recv, op, class << 2 | EVENT_END);
}

static sc_status run_lane(struct run *r, uint32_t index) {
    struct lane *l = &r->lanes[index];
    uint32_t class = index / SC__MAX_STREAMS;
    l->dirty = false;
    if (l->busy || !l->count) return SC_OK;
    uint32_t op = lane_pop(l);
    const struct sc__op *o = &r->w->ops[op];
    l->busy = true;
    if (o->kind != SC__OP_RECV) op_begin(r, class, op);
    if (o->kind == SC__OP_COMPUTE)
        begin_compute(r, class, op);
    else if (o->kind == SC__OP_COLLECTIVE)
        return arrive(r, class, op);
    else if (r->loads)
        begin_overhead(r, class, op);
    else
        return begin_send(r, class, op);
    return SC_OK;
}

static sc_status op_ready(struct run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    switch (o->kind) {
    case SC__OP_WAIT:
        op_begin(r, class, op);
        op_end(r, class, op);
        return SC_OK;
    case SC__OP_RECV: return post_receive(r, class, op);
    case SC__OP_SEND:
        if (r->loads || r->slots[class]) break;
        op_begin(r, class, op);
        return begin_send(r, class, op);
    case SC__OP_COLLECTIVE:
        if (r->slots[class]) break;
        op_begin(r, class, op);
        return arrive(r, class, op);
    default: break;
    }
    lane_push(r, class, op);
    return SC_OK;
}

static void end_on_lane(struct run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    lane_free(r, class, op);
    if (o->kind == SC__OP_RECV)
        active_remove(r, class, p2p_slot(r));
    else {
        account(r, class);
        if (o->phase == SC__RECOMPUTE)
            r->usage[class].recomputing--;
        else if (o->work != SC__WORK_HOST)
            r->usage[class].computing--;
    }
    op_end(r, class, op);
}

static sc_status handle(struct run *r, struct sc__queued e) {
    uint32_t class = e.b >> 2;
    switch (e.b & 3) {
    case EVENT_END: end_on_lane(r, class, e.a); return SC_OK;
    case EVENT_AFTER: op_end(r, class, e.a); return SC_OK;
    case EVENT_MEETING: return meeting_done(r, e.a);
    default: /* the processor has sent it */
        lane_free(r, class, e.a);
        active_remove(r, class, p2p_slot(r));
        op_end(r, class, e.a);
        return begin_send(r, class, e.a);
    }
}

static sc_status network_done(struct run *r, const struct sc__transfer *t) {
    if (t->user & COLLECTIVE_BIT) return meeting_done(r, (uint32_t)t->user);
    if (!r->loads && r->slots[t->class]) lane_free(r, t->class, (uint32_t)t->user);
    message_done(r, t);
    return SC_OK;
}

/* All that happens now; then the streams choose among what has become ready. */
static sc_status step(struct run *r) {
    struct sc__transfer t;
    while (r->net->ops->finish(r->net->self, r->now, &t)) SC__TRY(network_done(r, &t));
    while (sc__queue_time(&r->queue) == r->now) {
        r->out->events++;
        SC__TRY(handle(r, sc__queue_pop(&r->queue)));
    }
    for (uint32_t i = 0; i < r->pending_count; i++) SC__TRY(op_ready(r, r->pending[i].class, r->pending[i].op));
    r->pending_count = 0;
    for (uint32_t i = 0; i < r->dirty_count; i++) SC__TRY(run_lane(r, r->dirty[i]));
    r->dirty_count = 0;
    for (uint32_t i = 0; i < r->pending_count; i++) SC__TRY(op_ready(r, r->pending[i].class, r->pending[i].op));
    r->pending_count = 0;
    return SC_OK;
}

static sc_status loop(struct run *r) {
    for (;;) {
        SC__TRY(step(r));
        if (r->dirty_count) continue;
        int64_t local = sc__queue_time(&r->queue), net = r->net->ops->next(r->net->self);
        int64_t next = local < net ? local : net;
        if (next == INT64_MAX) return SC_OK;
        r->now = next;
    }
}

/* ---- setting up and closing ---- */

static void count_successors(struct run *r, const struct sc__block *b) {
    for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++) {
        const struct sc__op *o = &r->w->ops[i];
        r->waits[i] = o->deps;
        for (uint32_t d = 0; d < o->deps; d++) {
            uint32_t dep = r->w->deps[o->first_dep + d];
            if (dep & SC__DEP_START) r->start_deps = true;
            r->succ_first[b->first_op + (dep & ~SC__DEP_START) + 2]++;
        }
    }
}

static void fill_successors(struct run *r, const struct sc__block *b) {
    for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++) {
        const struct sc__op *o = &r->w->ops[i];
        for (uint32_t d = 0; d < o->deps; d++) {
            uint32_t dep = r->w->deps[o->first_dep + d];
            r->succ[r->succ_first[b->first_op + (dep & ~SC__DEP_START) + 1]++] = i | (dep & SC__DEP_START);
        }
    }
}

/* Counts are shifted by one place while filling, so that the places become
 * the beginnings. */
static void make_successors(struct run *r) {
    const struct sc__workload *w = r->w;
    r->succ_first = SC__NEW_ARRAY(r->arena, uint32_t, (size_t)w->op_count + 2);
    r->succ = SC__NEW_ARRAY(r->arena, uint32_t, w->dep_count);
    r->waits = SC__NEW_ARRAY(r->arena, uint16_t, w->op_count);
    for (uint32_t c = 0; c < w->class_count; c++) count_successors(r, sc__rank_block(w, w->classes[c].rank));
    for (uint32_t i = 1; i < w->op_count + 2; i++) r->succ_first[i] += r->succ_first[i - 1];
    for (uint32_t c = 0; c < w->class_count; c++) fill_successors(r, sc__rank_block(w, w->classes[c].rank));
}

static uint32_t count_meetings(const struct sc__workload *w) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->op_count; i++)
        if (w->ops[i].kind == SC__OP_COLLECTIVE && w->match[i] >= n) n = w->match[i] + 1;
    return n;
}

static void make_results(struct run *r) {
    uint32_t classes = r->w->class_count, labels = r->w->group_count + 1;
    struct sc__arena *a = &r->ctx->arena;
    memset(r->out, 0, sizeof *r->out);
    r->out->classes = SC__NEW_ARRAY(a, struct sc__class_result, classes);
    int64_t *exposed = SC__NEW_ARRAY(a, int64_t, (size_t)classes * labels);
    struct sc__traffic *t = SC__NEW_ARRAY(a, struct sc__traffic, (size_t)classes * labels);
    for (uint32_t c = 0; c < classes; c++) {
        r->out->classes[c].account.exposed = exposed + (size_t)c * labels;
        r->out->classes[c].traffic = t + (size_t)c * labels;
    }
    if (!r->options.keep_timeline) return;
    r->out->timeline = SC__NEW(a, struct sc__timeline);
    r->out->timeline->workload = r->w;
    r->started = SC__NEW_ARRAY(r->arena, int64_t, r->w->op_count);
    r->met = SC__NEW_ARRAY(r->arena, int64_t, r->w->op_count);
}

static sc_status set_up(struct run *r) {
    const struct sc__workload *w = r->w;
    make_results(r);
    make_successors(r);
    r->match = w->match;
    r->state = SC__NEW_ARRAY(r->arena, uint8_t, w->op_count);
    r->lanes = SC__NEW_ARRAY(r->arena, struct lane, (size_t)w->class_count * SC__MAX_STREAMS);
    r->loads = r->net->ops->overhead != NULL;
    r->slots = SC__NEW_ARRAY(r->arena, bool, w->class_count);
    r->usage = SC__NEW_ARRAY(r->arena, struct usage, w->class_count);
    r->lines = SC__NEW_ARRAY(r->arena, struct line, w->group_count);
    r->meetings = SC__NEW_ARRAY(r->arena, struct meeting, count_meetings(w));
    sc__queue_init(&r->queue, r->arena);
    for (uint32_t c = 0; c < w->class_count; c++) {
        const struct sc__block *b = sc__rank_block(w, w->classes[c].rank);
        r->total += b->ops;
        r->slots[c] = b->slots;
        for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++)
            if (!r->waits[i])
                *SC__PUSH(r->arena, r->pending, r->pending_count, r->pending_capacity) = (struct pending){c, i};
    }
    return SC_OK;
}

static void describe_waiting(const struct run *r, uint32_t class, uint32_t op, struct sc__buffer *b) {
    const struct sc__op *o = &r->w->ops[op];
    const struct sc__block *block = sc__rank_block(r->w, r->w->classes[class].rank);
    sc__printf(b, "%srank %u, operation %u (%s)", b->size ? "; " : "", r->w->classes[class].rank, op - block->first_op,
               r->w->names.text[o->name]);
    if (o->kind == SC__OP_SEND || o->kind == SC__OP_RECV) {
        if (o->flags & SC__OP_ANY_PEER)
            sc__puts(b, " waits for any rank");
        else
            sc__printf(b, " waits for rank %u", o->peer);
        if (!(o->flags & SC__OP_ANY_TAG)) sc__printf(b, ", tag %u", o->tag);
    } else if (o->kind == SC__OP_COLLECTIVE)
        sc__printf(b, " waits for %u of %u ranks of group %s",
                   sc__group_size(r->w, o->group) - r->meetings[r->match[op]].arrived, sc__group_size(r->w, o->group),
                   r->w->groups[o->group].label);
    else
        sc__puts(b, " waits for its dependencies");
}

static sc_status deadlock(struct run *r) {
    struct sc__buffer b;
    unsigned shown = 0;
    sc__buffer_init(&b, &r->ctx->arena);
    for (unsigned blocked = 0; blocked < 2 && !shown; blocked++)
        for (uint32_t c = 0; c < r->w->class_count && shown < 4; c++) {
            const struct sc__block *block = sc__rank_block(r->w, r->w->classes[c].rank);
            for (uint32_t i = block->first_op; i < block->first_op + block->ops; i++) {
                if ((r->state[i] & DONE) || (!blocked && r->waits[i])) continue;
                describe_waiting(r, c, i, &b);
                shown++;
                break;
            }
        }
    return sc__fail(r->ctx, SC_INPUT, NULL, "these operations can never run: look for an order in which all can",
                    "deadlock after %.3f us: %llu of %llu operations were not executed: %s", sc__us(r->now),
                    (unsigned long long)(r->total - r->done), (unsigned long long)r->total, b.text);
}

/* Spans were kept as they ended; readers want them by class, stream and start. */
static int compare_spans(const void *a, const void *b, void *self) {
    const struct sc__span *x = a, *y = b;
    const struct sc__op *ops = ((const struct sc__workload *)self)->ops;
    if (x->class != y->class) return x->class < y->class ? -1 : 1;
    if (ops[x->op].stream != ops[y->op].stream) return ops[x->op].stream < ops[y->op].stream ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

static void close_timeline(struct run *r) {
    struct sc__timeline *t = r->out->timeline;
    if (!t) return;
    t->end = r->out->step;
    if (t->count) qsort_r(t->spans, t->count, sizeof *t->spans, compare_spans, (void *)(uintptr_t)r->w);
}

static void close_accounts(struct run *r) {
    int64_t step_time = 0;
    for (uint32_t c = 0; c < r->w->class_count; c++)
        if (r->out->classes[c].end > step_time) step_time = r->out->classes[c].end;
    r->now = r->out->step = step_time;
    for (uint32_t c = 0; c < r->w->class_count; c++) {
        r->usage[c].in_collective = 1; /* waiting for slower ranks is skew */
        account(r, c);
    }
    close_timeline(r);
}

bool sc__workload_is_graph(const struct sc__workload *w) {
    for (uint32_t i = 0; i < w->block_count; i++)
        if (w->blocks[i].graph) return true;
    return false;
}

static sc_status check(struct sc_context *ctx, const struct sc__workload *w) {
    for (uint32_t c = 0; c < w->class_count; c++)
        if (w->classes[c].ranks != 1 || w->programs[w->classes[c].program].calls != 1 ||
            !sc__rank_block(w, w->classes[c].rank)->graph)
            return sc__fail(ctx, SC_INPUT, NULL, NULL, "%s: a graph needs a class and one block for each rank",
                            w->classes[c].name);
    if (!w->match) return sc__fail(ctx, SC_INPUT, NULL, NULL, "a graph whose messages were not matched");
    return SC_OK;
}

sc_status sc__simulate_graph(struct sc_context *ctx, const struct sc__workload *w, const struct sc__net *net,
                             const struct sc__sim_options *options, struct sc__sim *out) {
    struct sc__arena arena;
    SC__TRY(check(ctx, w));
    sc__arena_init(&arena, ctx->arena.out_of_memory);
    struct run r = {.ctx = ctx, .w = w, .net = net, .out = out, .arena = &arena};
    if (options) r.options = *options;
    sc_status status = set_up(&r);
    if (status == SC_OK) status = loop(&r);
    if (status == SC_OK && r.done < r.total) status = deadlock(&r);
    if (status == SC_OK) close_accounts(&r);
    sc__arena_free(&arena);
    return status;
}
