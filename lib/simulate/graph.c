/* graph: operations that run when what they depend on has ended, whatever the
 * order they stand in. One class a rank, one block a class.
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
 * Who communicates with whom is known beforehand (workload/match.h), but for ranks that
 * receive from anyone. */
#include "simulate/graph.h"

#include "workload/match.h"

#include <string.h>

enum { EVENT_END, EVENT_SENT, EVENT_AFTER, EVENT_MESSAGE, EVENT_BITS = 2 };

/* In sc_transfer.user: the send, not a rendezvous. */
#define MESSAGE_BIT ((uint64_t)1 << 32)

static uint32_t p2p_slot(const struct sc__graph *r) {
    return r->w->group_count;
}

/* ---- operations begin and end ---- */

static void satisfy(struct sc__graph *r, uint32_t class, uint32_t op) {
    if (--r->waits[op] == 0)
        *SC__PUSH(&r->x->arena, r->pending, r->pending_count, r->pending_capacity) =
            (struct sc__graph_pending){class, op};
}

static void op_begin(struct sc__graph *r, uint32_t class, uint32_t op) {
    if (r->started)
        r->started[op] = r->met[op] = r->x->now;
    if (!r->start_deps)
        return;
    for (uint32_t i = r->succ_first[op]; i < r->succ_first[op + 1]; i++)
        if (r->succ[i] & SC__DEP_START)
            satisfy(r, class, r->succ[i] & ~SC__DEP_START);
}

static void op_end(struct sc__graph *r, uint32_t class, uint32_t op) {
    r->state[op] |= SC__DONE;
    r->x->items_ended++;
    r->x->out->classes[class].end = r->x->now;
    sc__touch(r->x, class);
    r->x->runners[class].under_way.left--;
    if (r->started)
        sc__account_span(r->x, class, op, 0, r->started[op], r->met[op], r->x->now);
    for (uint32_t i = r->succ_first[op]; i < r->succ_first[op + 1]; i++)
        if (!(r->succ[i] & SC__DEP_START))
            satisfy(r, class, r->succ[i]);
}

static uint32_t slot_of(const struct sc__graph *r, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    return o->kind == SC__OP_COLLECTIVE ? o->group : p2p_slot(r);
}

/* A transfer is over; what is added after it counts as part of it. */
static void transfer_end(struct sc__graph *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    bool more = o->cost > 0 && !(o->flags & SC__OP_MEASURED) && !r->x->net->free;
    if (!more) {
        op_end(r, class, op);
        return;
    }
    sc__account_move(r->x, class, slot_of(r, op));
    sc__queue_push(&r->x->queue,
                   r->x->now + o->cost,
                   op,
                   class << EVENT_BITS | EVENT_AFTER);
}

static void after_end(struct sc__graph *r, uint32_t class, uint32_t op) {
    sc__account_arrive(r->x, class, slot_of(r, op));
    op_end(r, class, op);
}

/* ---- streams ---- */

static struct sc__graph_lane *lane_of(struct sc__graph *r, uint32_t class, uint32_t op) {
    return &r->lanes[(size_t) class * r->x->streams + r->w->ops[op].stream];
}

static bool sooner(struct sc__graph_ready x, struct sc__graph_ready y) {
    return x.time != y.time ? x.time < y.time : x.op < y.op;
}

static void mark_dirty(struct sc__graph *r, struct sc__graph_lane *l) {
    if (l->dirty)
        return;
    l->dirty = true;
    *SC__PUSH(&r->x->arena, r->dirty, r->dirty_count, r->dirty_capacity) =
        (uint32_t)(l - r->lanes);
}

static void lane_push(struct sc__graph *r, uint32_t class, uint32_t op) {
    struct sc__graph_lane *l = lane_of(r, class, op);
    struct sc__graph_ready e = {r->slots[class] ? 0 : r->x->now, op};
    uint32_t i;
    (void)SC__PUSH(&r->x->arena, l->queue, l->count, l->capacity);
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

static void lane_free(struct sc__graph *r, uint32_t class, uint32_t op) {
    struct sc__graph_lane *l = lane_of(r, class, op);
    l->busy = false;
    if (l->count)
        mark_dirty(r, l);
}

/* ---- messages ---- */

/* What the message costs the processors: nothing, where the engine has no say. */
static sc_status overhead_of(struct sc__graph *r, uint32_t op, struct sc_overhead *out) {
    *out = (struct sc_overhead){0};
    if (!r->loads)
        return SC_OK;
    return r->x->net->ops->overhead(r->x->net->self, r->w->ops[op].bytes, out);
}

/* The partner of a message is known, so its two ends need no rendezvous to
 * find each other in: what each has come to is a few bits of the receive. */

struct sc_transfer
sc__graph_message(const struct sc__graph *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    return (struct sc_transfer){.coll = SC__COLLS,
                                .group = o->group,
                                .rank = r->w->classes[class].rank,
                                .peer = o->peer,
                                .class = class,
                                .peer_class = r->w->rank_class[o->peer],
                                .job = r->x->job,
                                .bytes = o->bytes,
                                .user = MESSAGE_BIT | op};
}

/* Whose processor has sent it is done, but for one that asks for its receive:
 * its send ends when the answer is there. */
static sc_status start_message(struct sc__graph *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    struct sc_transfer t = sc__graph_message(r, class, op);
    struct sc_overhead v;
    SC__TRY(overhead_of(r, op, &v));
    sc__account_traffic(r->x, class, p2p_slot(r), o->bytes);
    if (r->met)
        r->met[op] = r->x->now;
    if (!r->loads || v.rendezvous)
        sc__account_move(r->x, class, p2p_slot(r));
    if (v.rendezvous)
        sc__queue_push(&r->x->queue,
                       r->x->now + v.asking,
                       op,
                       class << EVENT_BITS | EVENT_AFTER);
    if (o->flags & SC__OP_MEASURED) {
        sc__queue_push(&r->x->queue,
                       r->x->now + o->cost,
                       op,
                       class << EVENT_BITS | EVENT_MESSAGE);
        return SC_OK;
    }
    return r->x->net->ops->start(r->x->net->self, &t, r->x->now);
}

/* The receive sees its message begin to fly. */
static void begin_receive(struct sc__graph *r, uint32_t recv, uint32_t class) {
    if (r->state[recv] & SC__POSTED) {
        sc__account_move(r->x, class, p2p_slot(r));
        sc__account_wait(r->x, class, &r->w->ops[recv], -1);
        if (r->met)
            r->met[recv] = r->x->now;
    }
    r->state[recv] |= SC__FLYING;
}

static sc_status begin_send(struct sc__graph *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    uint32_t recv = r->match[op];
    struct sc_overhead v;
    SC__TRY(overhead_of(r, op, &v));
    bool wait = v.rendezvous || !(o->flags & SC__OP_EAGER);
    if (wait && recv != SC__NONE && !(r->state[recv] & SC__POSTED)) {
        r->state[op] |= SC__HELD;
        if (!r->loads || v.rendezvous)
            sc__account_wait(r->x, class, o, 1);
        return SC_OK;
    }
    if (recv != SC__NONE)
        begin_receive(r, recv, r->w->rank_class[o->peer]);
    return start_message(r, class, op);
}

static void receive_arrived(struct sc__graph *r, uint32_t class, uint32_t recv) {
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

static uint32_t rank_of_op(const struct sc__graph *r, uint32_t op) {
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

/* Where a rank receives from anyone, who met is known when the message is there. */
static void note_partners(struct sc__graph *r, uint32_t send, uint32_t recv) {
    if (!r->started)
        return;
    r->partner[send] = recv;
    r->partner[recv] = send;
    r->met[recv] = r->x->now;
}

/* A message to a rank that receives from anyone. */
static void
arrive_anywhere(struct sc__graph *r, uint32_t send, uint32_t source, uint32_t class) {
    struct sc__graph_inbox *u = &r->inboxes[class];
    for (uint32_t i = 0; i < u->posted_count; i++) {
        uint32_t recv = u->posted[i];
        if (!fits(&r->w->ops[recv], &r->w->ops[send], source))
            continue;
        drop(u->posted, &u->posted_count, i);
        sc__account_wait(r->x, class, &r->w->ops[recv], -1);
        note_partners(r, send, recv);
        receive_arrived(r, class, recv);
        return;
    }
    *SC__PUSH(&r->x->arena, u->arrived, u->arrived_count, u->arrived_capacity) = send;
}

static void post_anywhere(struct sc__graph *r, uint32_t class, uint32_t recv) {
    struct sc__graph_inbox *u = &r->inboxes[class];
    for (uint32_t i = 0; i < u->arrived_count; i++) {
        uint32_t send = u->arrived[i];
        if (!fits(&r->w->ops[recv], &r->w->ops[send], rank_of_op(r, send)))
            continue;
        drop(u->arrived, &u->arrived_count, i);
        note_partners(r, send, recv);
        receive_arrived(r, class, recv);
        return;
    }
    *SC__PUSH(&r->x->arena, u->posted, u->posted_count, u->posted_capacity) = recv;
    sc__account_wait(r->x, class, &r->w->ops[recv], 1);
}

static sc_status post_receive(struct sc__graph *r, uint32_t class, uint32_t recv) {
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
    if (r->state[recv] & SC__FLYING) {
        sc__account_move(r->x, class, p2p_slot(r));
        return SC_OK;
    }
    sc__account_wait(r->x, class, &r->w->ops[recv], 1);
    if (!(r->state[send] & SC__HELD))
        return SC_OK;
    uint32_t from = r->w->rank_class[r->w->ops[recv].peer];
    struct sc_overhead v;
    SC__TRY(overhead_of(r, send, &v));
    if (!r->loads || v.rendezvous)
        sc__account_wait(r->x, from, &r->w->ops[send], -1);
    begin_receive(r, recv, class);
    return start_message(r, from, send);
}

static void message_done(struct sc__graph *r, const struct sc_transfer *t) {
    uint32_t send = (uint32_t)t->user;
    uint32_t recv = r->match[send];
    if (!r->loads) {
        sc__account_arrive(r->x, t->class, p2p_slot(r));
        transfer_end(r, t->class, send);
    }
    if (recv == SC__NONE) {
        arrive_anywhere(r, send, t->rank, t->peer_class);
        return;
    }
    r->state[recv] |= SC__ARRIVED;
    if (!(r->state[recv] & SC__POSTED))
        return;
    sc__account_arrive(r->x, t->peer_class, p2p_slot(r));
    receive_arrived(r, t->peer_class, recv);
}

/* ---- collectives ---- */

struct sc_transfer sc__graph_collective(const struct sc__graph *r, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    uint32_t lead = sc__group_member(r->w, o->group, 0, 0);
    return (struct sc_transfer){.coll = o->coll,
                                .group = o->group,
                                .rank = lead,
                                .peer = o->peer,
                                .class = r->w->rank_class[lead],
                                .peer_class = r->w->rank_class[lead],
                                .job = r->x->job,
                                .bytes = o->bytes};
}

static sc_status begin_collective(struct sc__graph *r, uint32_t id) {
    struct sc__rendezvous *g = &r->x->rendezvous[id];
    uint32_t op = g->members[g->here - 1];
    const struct sc__op *o = &r->w->ops[op];
    bool measured = (o->flags & SC__OP_MEASURED) != 0;
    struct sc_transfer t = sc__graph_collective(r, op);
    g->cost = measured ? o->cost : 0;
    r->lines[o->group].busy = true;
    return sc__rendezvous_begin(r->x, id, &t, measured);
}

/* The group is a line: one collective at a time, in the order of the last who came. */
static sc_status arrive(struct sc__graph *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    struct sc__graph_line *l = &r->lines[o->group];
    uint32_t size = sc__group_size(r->w, o->group);
    uint32_t *open = &r->collectives[r->match[op]];
    if (!*open) {
        *open = sc__rendezvous_open(r->x, size) + 1;
        r->x->rendezvous[*open - 1].op = op;
    }
    uint32_t id = *open - 1;
    sc__rendezvous_join(r->x, id, class, op);
    if (r->x->rendezvous[id].here < size)
        return SC_OK;
    if (!l->busy)
        return begin_collective(r, id);
    *SC__PUSH(&r->x->arena, l->queue, l->count, l->capacity) = id;
    return SC_OK;
}

/* ---- members of a collective ---- */

static void graph_waits(struct sc__executor *x, uint32_t class, uint32_t op, uint32_t id) {
    (void)id;
    sc__account_wait(x, class, &x->w->ops[op], 1);
}

static void graph_ready(struct sc__executor *x, uint32_t class, uint32_t op) {
    const struct sc__op *o = &x->w->ops[op];
    sc__account_wait(x, class, o, -1);
    sc__account_move(x, class, o->group);
    sc__account_traffic(x, class, o->group, o->bytes);
    if (x->graph->met)
        x->graph->met[op] = x->now;
}

static void graph_leaves(struct sc__executor *x, uint32_t id, uint32_t class, uint32_t op) {
    struct sc__graph *r = x->graph;
    (void)id;
    sc__account_arrive(x, class, x->w->ops[op].group);
    if (r->slots[class])
        lane_free(r, class, op);
    transfer_end(r, class, op);
}

static sc_status graph_closes(struct sc__executor *x, uint32_t id) {
    struct sc__graph *r = x->graph;
    struct sc__graph_line *l = &r->lines[x->w->ops[x->rendezvous[id].op].group];
    l->busy = false;
    return l->head < l->count ? begin_collective(r, l->queue[l->head++]) : SC_OK;
}

/* ---- the loop ---- */

static void begin_compute(struct sc__graph *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    struct sc__runner *runner = &r->x->runners[class];
    int64_t time = sc__compute_cost(r->x, runner->class, o);
    sc__touch(r->x, class);
    runner->computing |= (uint16_t)(1u << o->stream);
    runner->streams[o->stream].op = o;
    r->x->out->classes[class].work[o->work] += time;
    sc__queue_push(&r->x->queue, r->x->now + time, op, class << EVENT_BITS | EVENT_END);
}

/* The processor's part of a message. */
static sc_status begin_overhead(struct sc__graph *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    struct sc_overhead v;
    SC__TRY(overhead_of(r, op, &v));
    sc__account_move(r->x, class, p2p_slot(r));
    if (o->kind == SC__OP_SEND)
        sc__queue_push(&r->x->queue,
                       r->x->now + v.send,
                       op,
                       class << EVENT_BITS | EVENT_SENT);
    else
        sc__queue_push(&r->x->queue,
                       r->x->now + v.recv,
                       op,
                       class << EVENT_BITS | EVENT_END);
    return SC_OK;
}

static sc_status run_lane(struct sc__graph *r, uint32_t index) {
    struct sc__graph_lane *l = &r->lanes[index];
    uint32_t class = index / r->x->streams;
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

static sc_status op_ready(struct sc__graph *r, uint32_t class, uint32_t op) {
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

static void end_on_lane(struct sc__graph *r, uint32_t class, uint32_t op) {
    const struct sc__op *o = &r->w->ops[op];
    lane_free(r, class, op);
    if (o->kind == SC__OP_RECV)
        sc__account_arrive(r->x, class, p2p_slot(r));
    else {
        sc__touch(r->x, class);
        r->x->runners[class].computing &= (uint16_t) ~(1u << o->stream);
    }
    op_end(r, class, op);
}

static sc_status graph_message_over(struct sc__executor *x, const struct sc_transfer *t) {
    struct sc__graph *r = x->graph;
    if (!r->loads && r->slots[t->class])
        lane_free(r, t->class, (uint32_t)t->user);
    message_done(r, t);
    return SC_OK;
}

static sc_status processor_sent(struct sc__graph *r, uint32_t class, uint32_t op) {
    struct sc_overhead v;
    SC__TRY(overhead_of(r, op, &v));
    lane_free(r, class, op);
    sc__account_arrive(r->x, class, p2p_slot(r));
    if (!v.rendezvous)
        op_end(r, class, op);
    return begin_send(r, class, op);
}

static sc_status graph_event(struct sc__executor *x, struct sc__queued e) {
    struct sc__graph *r = x->graph;
    uint32_t class = e.b >> EVENT_BITS;
    struct sc_transfer t;
    switch (e.b & ((1u << EVENT_BITS) - 1)) {
    case EVENT_END:
        end_on_lane(r, class, e.a);
        return SC_OK;
    case EVENT_AFTER:
        after_end(r, class, e.a);
        return SC_OK;
    case EVENT_MESSAGE:
        t = sc__graph_message(r, class, e.a);
        return graph_message_over(x, &t);
    default:
        return processor_sent(r, class, e.a);
    }
}

static sc_status begin_ready(struct sc__graph *r) {
    for (uint32_t i = 0; i < r->pending_count; i++)
        SC__TRY(op_ready(r, r->pending[i].class, r->pending[i].op));
    r->pending_count = 0;
    return SC_OK;
}

/* What has become ready begins or queues up; then each stream that is free
 * takes the first of its queue. That may make more ready: streams choose again
 * when all that ends at this time, having taken none, has ended. */
static sc_status graph_start(struct sc__executor *x) {
    struct sc__graph *r = x->graph;
    SC__TRY(begin_ready(r));
    for (uint32_t i = 0; i < r->dirty_count; i++)
        SC__TRY(run_lane(r, r->dirty[i]));
    r->dirty_count = 0;
    SC__TRY(begin_ready(r));
    x->more_now = r->dirty_count > 0;
    return SC_OK;
}

bool sc__workload_is_graph(const struct sc__workload *w) {
    for (uint32_t i = 0; i < w->block_count; i++)
        if (w->blocks[i].graph)
            return true;
    return false;
}

const struct sc__policy sc__policy_graph = {.prepare = sc__graph_prepare,
                                            .start = graph_start,
                                            .event = graph_event,
                                            .waits = graph_waits,
                                            .ready = graph_ready,
                                            .leaves = graph_leaves,
                                            .closes = graph_closes,
                                            .message_over = graph_message_over,
                                            .check_end = sc__graph_check_end,
                                            .idle_category = sc__account_graph_idle,
                                            .all_ends_first = true,
                                            .newest_leaves_first = true};
