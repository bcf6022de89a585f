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
 * Who meets whom is known beforehand (workload/match.h), but for ranks that receive
 * from anyone. */
#include "simulate/executor_graph.h"

#include "workload/match.h"

#include <string.h>

enum { EVENT_END, EVENT_SENT, EVENT_AFTER, EVENT_MEETING, EVENT_MESSAGE, EVENT_BITS = 3 };

#define COLLECTIVE_BIT ((uint64_t)1 << 63)

/* ---- the account ---- */

static uint32_t p2p_slot(const struct sc__graph_run *r) {
    return r->w->group_count;
}

/* For slower ranks: in a collective, or at the end of the step. */
static bool waits_for_others(const struct sc__graph_usage *u) {
    return u->in_collective || !u->left;
}

static void keep_idle(struct sc__graph_run *r, uint32_t class, int64_t from) {
    const struct sc__graph_usage *u = &r->usage[class];
    struct sc__timeline *t = r->out->timeline;
    uint32_t why = u->active_count ? SC__IDLE_COMM + u->active[u->active_count - 1].group
                   : waits_for_others(u) ? SC__IDLE_SKEW
                   : u->in_recv          ? SC__IDLE_BUBBLE
                                         : SC__IDLE_OTHER;
    *SC__PUSH(&r->ctx->arena, t->idles, t->idle_count, t->idle_capacity) =
        (struct sc__idle){.class = class, .why = why, .start = from, .end = r->now};
}

void sc__graph_account(struct sc__graph_run *r, uint32_t class) {
    struct sc__graph_usage *u = &r->usage[class];
    int64_t dt = r->now - u->since;
    if (!dt)
        return;
    struct sc__class_result *c = &r->out->classes[class];
    u->since = r->now;
    if (r->out->timeline && !u->recomputing && !u->computing)
        keep_idle(r, class, r->now - dt);
    for (uint32_t i = 0; i < u->active_count; i++)
        c->traffic[u->active[i].group].busy += dt;
    if (u->recomputing)
        c->account.recompute += dt;
    else if (u->computing)
        c->account.compute += dt;
    else if (u->active_count)
        c->account.exposed[u->active[u->active_count - 1].group] += dt;
    else if (waits_for_others(u))
        c->account.skew += dt;
    else if (u->in_recv)
        c->account.bubble += dt;
    else
        c->account.other += dt;
}

static void active_add(struct sc__graph_run *r, uint32_t class, uint32_t group) {
    struct sc__graph_usage *u = &r->usage[class];
    sc__graph_account(r, class);
    for (uint32_t i = 0; i < u->active_count; i++)
        if (u->active[i].group == group) {
            u->active[i].count++;
            return;
        }
    *SC__PUSH(r->arena, u->active, u->active_count, u->active_capacity) =
        (struct sc__graph_active){group, 1};
}

static void active_remove(struct sc__graph_run *r, uint32_t class, uint32_t group) {
    struct sc__graph_usage *u = &r->usage[class];
    sc__graph_account(r, class);
    uint32_t i = 0;
    while (u->active[i].group != group)
        i++;
    if (--u->active[i].count)
        return;
    for (u->active_count--; i < u->active_count; i++)
        u->active[i] = u->active[i + 1];
}

static void
traffic(struct sc__graph_run *r, uint32_t class, uint32_t group, uint64_t bytes) {
    struct sc__traffic *t = &r->out->classes[class].traffic[group];
    t->ops++;
    t->bytes += bytes;
}

/* ---- operations begin and end ---- */

static void satisfy(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    if (--r->waits[op] == 0)
        *SC__PUSH(r->arena, r->pending, r->pending_count, r->pending_capacity) =
            (struct sc__graph_pending){class, op};
}

static void op_begin(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    if (r->started)
        r->started[op] = r->met[op] = r->now;
    if (!r->start_deps)
        return;
    for (uint32_t i = r->succ_first[op]; i < r->succ_first[op + 1]; i++)
        if (r->succ[i] & SC__DEP_START)
            satisfy(r, class, r->succ[i] & ~SC__DEP_START);
}

static void executor_graph_keep_span(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    struct sc__timeline *t = r->out->timeline;
    *SC__PUSH(&r->ctx->arena, t->spans, t->count, t->capacity) =
        (struct sc__span){.class = class,
                          .op = op,
                          .micro_batch = SC__NONE,
                          .start = r->started[op],
                          .ready = r->met[op],
                          .end = r->now,
                          .peer_span = SC__NONE};
}

static void op_end(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    r->state[op] |= SC__DONE;
    r->done++;
    if (!(r->done & 0xffff))
        r->progress =
            sc__progress(r->ctx, "simulating", (double)r->done / (double)r->total);
    r->out->classes[class].end = r->now;
    sc__graph_account(r, class);
    r->usage[class].left--;
    if (r->started)
        executor_graph_keep_span(r, class, op);
    for (uint32_t i = r->succ_first[op]; i < r->succ_first[op + 1]; i++)
        if (!(r->succ[i] & SC__DEP_START))
            satisfy(r, class, r->succ[i]);
}

static uint32_t slot_of(const struct sc__graph_run *r, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    return o->kind == SC__OP_COLLECTIVE ? o->group : p2p_slot(r);
}

/* A transfer is over; what is added after it counts as part of it. */
static void transfer_end(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    bool more = o->cost > 0 && !(o->flags & SC__OP_MEASURED) && !r->net->free;
    if (!more) {
        op_end(r, class, op);
        return;
    }
    active_add(r, class, slot_of(r, op));
    sc__queue_push(&r->queue, r->now + o->cost, op, class << EVENT_BITS | EVENT_AFTER);
}

static void after_end(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    active_remove(r, class, slot_of(r, op));
    op_end(r, class, op);
}

/* ---- streams ---- */

static struct sc__graph_lane *
lane_of(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    return &r->lanes[(size_t) class * SC__MAX_STREAMS + r->w->ops[op].stream];
}

static bool sooner(struct sc__graph_ready x, struct sc__graph_ready y) {
    return x.time != y.time ? x.time < y.time : x.op < y.op;
}

static void mark_dirty(struct sc__graph_run *r, struct sc__graph_lane *l) {
    if (l->dirty)
        return;
    l->dirty = true;
    *SC__PUSH(r->arena, r->dirty, r->dirty_count, r->dirty_capacity) =
        (uint32_t)(l - r->lanes);
}

static void lane_push(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    struct sc__graph_lane *l = lane_of(r, class, op);
    struct sc__graph_ready e = {r->slots[class] ? 0 : r->now, op};
    uint32_t i;
    (void)SC__PUSH(r->arena, l->queue, l->count, l->capacity);
    for (i = l->count - 1; i && sooner(e, l->queue[(i - 1) / 2]); i = (i - 1) / 2)
        l->queue[i] = l->queue[(i - 1) / 2];
    l->queue[i] = e;
    mark_dirty(r, l);
}

static uint32_t lane_pop(struct sc__graph_lane *l) {
    uint32_t op = l->queue[0].op;
    uint32_t i = 0;
    struct sc__graph_ready e = l->queue[--l->count];
    for (uint32_t c = 1; c < l->count; c = 2 * i + 1) {
        if (c + 1 < l->count && sooner(l->queue[c + 1], l->queue[c]))
            c++;
        if (!sooner(l->queue[c], e))
            break;
        l->queue[i] = l->queue[c];
        i = c;
    }
    if (l->count)
        l->queue[i] = e;
    return op;
}

static void lane_free(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    struct sc__graph_lane *l = lane_of(r, class, op);
    l->busy = false;
    if (l->count)
        mark_dirty(r, l);
}

/* ---- messages ---- */

struct sc__transfer
sc__graph_message(const struct sc__graph_run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    return (struct sc__transfer){.coll = SC__COLLS,
                                 .group = o->group,
                                 .rank = r->w->classes[class].rank,
                                 .peer = o->peer,
                                 .class = class,
                                 .peer_class = r->w->rank_class[o->peer],
                                 .bytes = o->bytes,
                                 .user = op};
}

static sc_status start_message(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    struct sc__transfer t = sc__graph_message(r, class, op);
    traffic(r, class, p2p_slot(r), o->bytes);
    if (r->met)
        r->met[op] = r->now;
    if (!r->loads)
        active_add(r, class, p2p_slot(r));
    if (o->flags & SC__OP_MEASURED) {
        sc__queue_push(&r->queue,
                       r->now + o->cost,
                       op,
                       class << EVENT_BITS | EVENT_MESSAGE);
        return SC_OK;
    }
    return r->net->ops->start(r->net->self, &t, r->now);
}

/* The receive sees its message begin to fly. */
static void meet_receive(struct sc__graph_run *r, uint32_t recv, uint32_t class) {
    if (r->state[recv] & SC__POSTED) {
        active_add(r, class, p2p_slot(r));
        r->usage[class].in_recv--;
        if (r->met)
            r->met[recv] = r->now;
    }
    r->state[recv] |= SC__FLYING;
}

static sc_status begin_send(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    uint32_t recv = r->match[op];
    struct sc__overhead v = {0};
    if (r->loads)
        SC__TRY(r->net->ops->overhead(r->net->self, o->bytes, &v));
    bool wait = v.rendezvous || !(o->flags & SC__OP_EAGER);
    if (wait && recv != SC__NONE && !(r->state[recv] & SC__POSTED)) {
        r->state[op] |= SC__HELD;
        sc__graph_account(r, class);
        if (!r->loads)
            r->usage[class].in_recv++;
        return SC_OK;
    }
    if (recv != SC__NONE)
        meet_receive(r, recv, r->w->rank_class[o->peer]);
    return start_message(r, class, op);
}

static void receive_arrived(struct sc__graph_run *r, uint32_t class, uint32_t recv) {
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
    for ((*count)--; i < *count; i++)
        list[i] = list[i + 1];
}

static uint32_t rank_of_op(const struct sc__graph_run *r, uint32_t op) {
    uint32_t low = 0;
    uint32_t high = r->w->class_count - 1; /* blocks lie in order of class */
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
static void
arrive_anywhere(struct sc__graph_run *r, uint32_t send, uint32_t source, uint32_t class) {
    struct sc__graph_usage *u = &r->usage[class];
    for (uint32_t i = 0; i < u->posted_count; i++) {
        uint32_t recv = u->posted[i];
        if (!fits(&r->w->ops[recv], &r->w->ops[send], source))
            continue;
        drop(u->posted, &u->posted_count, i);
        sc__graph_account(r, class);
        u->in_recv--;
        receive_arrived(r, class, recv);
        return;
    }
    *SC__PUSH(r->arena, u->arrived, u->arrived_count, u->arrived_capacity) = send;
}

static void post_anywhere(struct sc__graph_run *r, uint32_t class, uint32_t recv) {
    struct sc__graph_usage *u = &r->usage[class];
    for (uint32_t i = 0; i < u->arrived_count; i++) {
        uint32_t send = u->arrived[i];
        if (!fits(&r->w->ops[recv], &r->w->ops[send], rank_of_op(r, send)))
            continue;
        drop(u->arrived, &u->arrived_count, i);
        receive_arrived(r, class, recv);
        return;
    }
    *SC__PUSH(r->arena, u->posted, u->posted_count, u->posted_capacity) = recv;
    sc__graph_account(r, class);
    u->in_recv++;
}

static sc_status post_receive(struct sc__graph_run *r, uint32_t class, uint32_t recv) {
    uint32_t send = r->match[recv];
    op_begin(r, class, recv);
    r->state[recv] |= SC__POSTED;
    if (send == SC__NONE) {
        post_anywhere(r, class, recv);
        return SC_OK;
    }
    if (r->state[recv] & SC__ARRIVED) {
        receive_arrived(r, class, recv);
        return SC_OK;
    }
    sc__graph_account(r, class);
    if (r->state[recv] & SC__FLYING) {
        active_add(r, class, p2p_slot(r));
        return SC_OK;
    }
    r->usage[class].in_recv++;
    if (!(r->state[send] & SC__HELD))
        return SC_OK;
    uint32_t from = r->w->rank_class[r->w->ops[recv].peer];
    sc__graph_account(r, from);
    if (!r->loads)
        r->usage[from].in_recv--;
    meet_receive(r, recv, class);
    return start_message(r, from, send);
}

static void message_done(struct sc__graph_run *r, const struct sc__transfer *t) {
    uint32_t send = (uint32_t)t->user;
    uint32_t recv = r->match[send];
    if (!r->loads) {
        active_remove(r, t->class, p2p_slot(r));
        transfer_end(r, t->class, send);
    }
    if (recv == SC__NONE) {
        arrive_anywhere(r, send, t->rank, t->peer_class);
        return;
    }
    r->state[recv] |= SC__ARRIVED;
    if (!(r->state[recv] & SC__POSTED))
        return;
    active_remove(r, t->peer_class, p2p_slot(r));
    receive_arrived(r, t->peer_class, recv);
}

/* ---- collectives ---- */

struct sc__transfer sc__graph_collective(const struct sc__graph_run *r, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    uint32_t lead = sc__group_member(r->w, o->group, 0, 0);
    return (struct sc__transfer){.coll = o->coll,
                                 .group = o->group,
                                 .rank = lead,
                                 .peer = o->peer,
                                 .class = r->w->rank_class[lead],
                                 .peer_class = r->w->rank_class[lead],
                                 .bytes = o->bytes,
                                 .user = COLLECTIVE_BIT | r->match[op]};
}

static sc_status start_meeting(struct sc__graph_run *r, uint32_t id) {
    struct sc__graph_meeting *m = &r->meetings[id];
    const struct sc__op *o = &r->w->ops[r->arrivals[m->first - 1].op];
    r->lines[o->group].busy = true;
    for (uint32_t a = m->first; a; a = r->arrivals[a - 1].next) {
        uint32_t class = r->arrivals[a - 1].class;
        active_add(r, class, o->group);
        r->usage[class].in_collective--;
        traffic(r, class, o->group, o->bytes);
        if (r->met)
            r->met[r->arrivals[a - 1].op] = r->now;
    }
    struct sc__transfer t = sc__graph_collective(r, r->arrivals[m->first - 1].op);
    if (o->flags & SC__OP_MEASURED) {
        sc__queue_push(&r->queue, r->now + o->cost, id, EVENT_MEETING);
        return SC_OK;
    }
    return r->net->ops->start(r->net->self, &t, r->now);
}

static sc_status arrive(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    uint32_t id = r->match[op];
    struct sc__graph_meeting *m = &r->meetings[id];
    struct sc__graph_line *l = &r->lines[o->group];
    sc__graph_account(r, class);
    r->usage[class].in_collective++;
    *SC__PUSH(r->arena, r->arrivals, r->arrival_count, r->arrival_capacity) =
        (struct sc__graph_arrival){op, class, m->first};
    m->first = r->arrival_count;
    if (++m->arrived < sc__group_size(r->w, o->group))
        return SC_OK;
    if (!l->busy)
        return start_meeting(r, id);
    *SC__PUSH(r->arena, l->queue, l->count, l->capacity) = id;
    return SC_OK;
}

static sc_status meeting_done(struct sc__graph_run *r, uint32_t id) {
    struct sc__graph_meeting *m = &r->meetings[id];
    uint16_t group = r->w->ops[r->arrivals[m->first - 1].op].group;
    struct sc__graph_line *l = &r->lines[group];
    for (uint32_t a = m->first; a; a = r->arrivals[a - 1].next) {
        struct sc__graph_arrival *at = &r->arrivals[a - 1];
        active_remove(r, at->class, group);
        if (r->slots[at->class])
            lane_free(r, at->class, at->op);
        transfer_end(r, at->class, at->op);
    }
    l->busy = false;
    return l->head < l->count ? start_meeting(r, l->queue[l->head++]) : SC_OK;
}

/* ---- the loop ---- */

static int64_t
compute_time(const struct sc__graph_run *r, uint32_t class, const struct sc__op *o) {
    double scale = (r->options.compute_scale > 0 ? r->options.compute_scale : 1) *
                   r->w->classes[class].slow;
    return scale == 1 ? o->cost : llround((double)o->cost * scale);
}

static void begin_compute(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    int64_t time = compute_time(r, class, o);
    sc__graph_account(r, class);
    if (o->phase == SC__RECOMPUTE)
        r->usage[class].recomputing++;
    else if (o->work != SC__WORK_HOST)
        r->usage[class].computing++;
    r->out->classes[class].work[o->work] += time;
    sc__queue_push(&r->queue, r->now + time, op, class << EVENT_BITS | EVENT_END);
}

/* The processor's part of a message. */
static sc_status begin_overhead(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    struct sc__overhead v;
    SC__TRY(r->net->ops->overhead(r->net->self, o->bytes, &v));
    active_add(r, class, p2p_slot(r));
    if (o->kind == SC__OP_SEND)
        sc__queue_push(&r->queue, r->now + v.send, op, class << EVENT_BITS | EVENT_SENT);
    else
        sc__queue_push(&r->queue, r->now + v.recv, op, class << EVENT_BITS | EVENT_END);
    return SC_OK;
}

static sc_status run_lane(struct sc__graph_run *r, uint32_t index) {
    struct sc__graph_lane *l = &r->lanes[index];
    uint32_t class = index / SC__MAX_STREAMS;
    l->dirty = false;
    if (l->busy || !l->count)
        return SC_OK;
    uint32_t op = lane_pop(l);
    const struct sc__op *o = &r->w->ops[op];
    l->busy = true;
    if (o->kind != SC__OP_RECV)
        op_begin(r, class, op);
    if (o->kind == SC__OP_COMPUTE)
        begin_compute(r, class, op);
    else if (o->kind == SC__OP_COLLECTIVE)
        return arrive(r, class, op);
    else if (r->loads)
        SC__TRY(begin_overhead(r, class, op));
    else
        return begin_send(r, class, op);
    return SC_OK;
}

static sc_status op_ready(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    switch (o->kind) {
    case SC__OP_WAIT:
        op_begin(r, class, op);
        op_end(r, class, op);
        return SC_OK;
    case SC__OP_RECV:
        return post_receive(r, class, op);
    case SC__OP_SEND:
        if (r->loads || r->slots[class])
            break;
        op_begin(r, class, op);
        return begin_send(r, class, op);
    case SC__OP_COLLECTIVE:
        if (r->slots[class])
            break;
        op_begin(r, class, op);
        return arrive(r, class, op);
    default:
        break;
    }
    lane_push(r, class, op);
    return SC_OK;
}

static void end_on_lane(struct sc__graph_run *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    lane_free(r, class, op);
    if (o->kind == SC__OP_RECV)
        active_remove(r, class, p2p_slot(r));
    else {
        sc__graph_account(r, class);
        if (o->phase == SC__RECOMPUTE)
            r->usage[class].recomputing--;
        else if (o->work != SC__WORK_HOST)
            r->usage[class].computing--;
    }
    op_end(r, class, op);
}

static sc_status network_done(struct sc__graph_run *r, const struct sc__transfer *t) {
    if (t->user & COLLECTIVE_BIT)
        return meeting_done(r, (uint32_t)t->user);
    if (!r->loads && r->slots[t->class])
        lane_free(r, t->class, (uint32_t)t->user);
    message_done(r, t);
    return SC_OK;
}

static sc_status handle(struct sc__graph_run *r, struct sc__queued e) {
    uint32_t class = e.b >> EVENT_BITS;
    struct sc__transfer t;
    switch (e.b & ((1u << EVENT_BITS) - 1)) {
    case EVENT_END:
        end_on_lane(r, class, e.a);
        return SC_OK;
    case EVENT_AFTER:
        after_end(r, class, e.a);
        return SC_OK;
    case EVENT_MEETING:
        return meeting_done(r, e.a);
    case EVENT_MESSAGE:
        t = sc__graph_message(r, class, e.a);
        return network_done(r, &t);
    default: /* the processor has sent it */
        lane_free(r, class, e.a);
        active_remove(r, class, p2p_slot(r));
        op_end(r, class, e.a);
        return begin_send(r, class, e.a);
    }
}

/* All that happens now; then the streams choose among what has become ready. */
static sc_status step(struct sc__graph_run *r) {
    struct sc__transfer t;
    bool found;
    for (;;) {
        SC__TRY(r->net->ops->finish(r->net->self, r->now, &t, &found));
        if (!found)
            break;
        SC__TRY(network_done(r, &t));
    }
    while (sc__queue_time(&r->queue) == r->now) {
        r->out->events++;
        SC__TRY(handle(r, sc__queue_pop(&r->queue)));
    }
    for (uint32_t i = 0; i < r->pending_count; i++)
        SC__TRY(op_ready(r, r->pending[i].class, r->pending[i].op));
    r->pending_count = 0;
    for (uint32_t i = 0; i < r->dirty_count; i++)
        SC__TRY(run_lane(r, r->dirty[i]));
    r->dirty_count = 0;
    for (uint32_t i = 0; i < r->pending_count; i++)
        SC__TRY(op_ready(r, r->pending[i].class, r->pending[i].op));
    r->pending_count = 0;
    return SC_OK;
}

static sc_status loop(struct sc__graph_run *r) {
    for (;;) {
        SC__TRY(step(r));
        SC__TRY(r->progress);
        if (r->dirty_count)
            continue;
        int64_t local = sc__queue_time(&r->queue);
        int64_t net;
        SC__TRY(r->net->ops->next(r->net->self, &net));
        int64_t next = local < net ? local : net;
        if (next == INT64_MAX)
            return SC_OK;
        if (next > INT64_MAX / 4)
            return sc__fail(r->ctx,
                            SC_INPUT,
                            NULL,
                            "look for a time or a size with too many digits",
                            "the step takes more than 26 days");
        r->now = next;
    }
}

bool sc__workload_is_graph(const struct sc__workload *w) {
    for (uint32_t i = 0; i < w->block_count; i++)
        if (w->blocks[i].graph)
            return true;
    return false;
}

static sc_status executor_graph_check(struct sc_context *ctx,
                                      const struct sc__workload *w) {
    for (uint32_t c = 0; c < w->class_count; c++)
        if (w->classes[c].ranks != 1 || w->programs[w->classes[c].program].calls != 1 ||
            !sc__rank_block(w, w->classes[c].rank)->graph)
            return sc__fail(ctx,
                            SC_INPUT,
                            NULL,
                            NULL,
                            "%s: a graph needs a class and one block for each rank",
                            w->classes[c].name);
    if (!w->match)
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        NULL,
                        "a graph whose messages were not matched");
    return SC_OK;
}

sc_status sc__simulate_graph(struct sc_context *ctx,
                             const struct sc__workload *w,
                             const struct sc__net *net,
                             const struct sc__sim_options *options,
                             struct sc__sim *out) {
    struct sc__arena arena;
    SC__TRY(executor_graph_check(ctx, w));
    sc__arena_init(&arena, ctx->arena.out_of_memory);
    struct sc__graph_run r = {.ctx = ctx, .w = w, .net = net, .out = out, .arena = &arena};
    if (options)
        r.options = *options;
    if (r.options.comm_tax > 0)
        sc__note(
            ctx,
            "graph-comm-tax",
            "compute of a graph is not slowed down by transfers beside it (--comm-sm-tax)");
    sc_status status = sc__graph_set_up(&r);
    if (status == SC_OK)
        status = loop(&r);
    if (status == SC_OK && r.done < r.total)
        status = sc__graph_deadlock(&r);
    if (status == SC_OK)
        sc__graph_close(&r);
    sc__arena_free(&arena);
    return status == SC_OK ? sc__sim_check(ctx, w, out) : status;
}
