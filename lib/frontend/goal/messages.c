#include "frontend/goal/messages.h"

#include "collective/schedule.h"
#include "workload/graph.h"
#include "workload/match.h"

#include <string.h>

/* What the rank sends and receives in a phase of a collective; SC__NONE: nothing. */
struct message_phase {
    uint32_t send;
    uint32_t recv;
    bool passed_on;                   /* a later send waits for what was received */
    struct sc__coll_transfer arrival; /* what is received */
};

struct sc__messages {
    struct sc_context *ctx;
    const struct sc__workload *from;
    struct sc__workload *to;
    /* of the block being made */
    uint32_t rank;
    uint32_t first;
    uint32_t *end_of;   /* by operation of the old block: what ends it */
    uint32_t *begin_of; /* … and what begins it */
    uint32_t room;      /* of both */
    /* of the collective being made, by phase */
    struct message_phase *phases;
    uint32_t phase_room;
    struct sc__edge *edges;
    uint32_t edge_count;
    uint32_t edge_capacity;
    /* names */
    uint32_t send;
    uint32_t recv;
    uint32_t begin;
};

/* The collective being made into messages. */
struct message_collective {
    const struct sc__op *op;
    struct sc__coll_schedule schedule;
    uint32_t tag;
    uint32_t me; /* place in the group */
    uint32_t begin;
    uint32_t end;
};

static void add_edge(struct sc__messages *m, uint32_t op, uint32_t dep) {
    *SC__PUSH(&m->ctx->arena, m->edges, m->edge_count, m->edge_capacity) =
        (struct sc__edge){op, dep};
}

static uint32_t add_op(struct sc__messages *m,
                       enum sc__op_kind kind,
                       uint32_t name,
                       const struct sc__op *like) {
    struct sc__op *op =
        SC__PUSH(m->to->arena, m->to->ops, m->to->op_count, m->to->op_capacity);
    *op = (struct sc__op){.kind = (uint8_t)kind,
                          .phase = like->phase,
                          .stream = like->stream,
                          .name = name,
                          .row = like->row,
                          .layer = like->layer,
                          .peer = SC__NONE};
    return m->to->op_count - 1 - m->first;
}

static uint32_t add_message(struct sc__messages *m,
                            const struct message_collective *c,
                            enum sc__op_kind kind,
                            uint32_t place,
                            uint64_t bytes) {
    uint32_t i = add_op(m, kind, kind == SC__OP_SEND ? m->send : m->recv, c->op);
    struct sc__op *op = &m->to->ops[m->first + i];
    op->peer = sc__group_member(m->from, c->op->group, m->rank, place);
    op->tag = c->tag;
    op->bytes = bytes;
    if (kind == SC__OP_SEND)
        op->flags = SC__OP_EAGER;
    return i;
}

/* Bytes of a transfer. A barrier's message is one byte, whatever it says. */
static uint64_t message_bytes(const struct message_collective *c,
                              const struct sc__coll_transfer *t) {
    if (c->op->coll == SC__BARRIER)
        return 1;
    return sc__coll_schedule_bytes(&c->schedule, t, c->op->bytes);
}

/* A send waits for the receives that bring what it passes on. */
static void wait_for_arrivals(struct sc__messages *m,
                              const struct message_collective *c,
                              struct sc__coll_transfer_id id,
                              const struct sc__coll_transfer *t,
                              uint32_t send) {
    struct sc__coll_needs needs = sc__coll_schedule_needs(&c->schedule, id);
    bool waits = false;
    for (uint32_t phase = needs.first; phase < needs.end; phase++) {
        struct message_phase *p = &m->phases[phase];
        if (p->recv == SC__NONE || !sc__coll_transfer_brings(&c->schedule, &p->arrival, t))
            continue;
        add_edge(m, send, p->recv);
        p->passed_on = true;
        waits = true;
    }
    if (!waits)
        add_edge(m, send, c->begin);
}

static void
add_phase(struct sc__messages *m, const struct message_collective *c, uint32_t phase) {
    const struct sc__coll_schedule *s = &c->schedule;
    struct sc__coll_transfer_id out = {phase, 0, 0};
    struct sc__coll_transfer_id in = {phase, 0, 0};
    struct sc__coll_transfer t;
    struct message_phase *p = &m->phases[phase];
    *p = (struct message_phase){.send = SC__NONE, .recv = SC__NONE};
    out.index = sc__coll_schedule_sent_by(s, phase, 0, c->me);
    if (out.index != SC__NO_MEMBER && sc__coll_schedule_transfer(s, out, &t)) {
        p->send = add_message(m, c, SC__OP_SEND, t.destination, message_bytes(c, &t));
        wait_for_arrivals(m, c, out, &t, p->send);
    }
    in.index = sc__coll_schedule_received_by(s, phase, 0, c->me);
    if (in.index != SC__NO_MEMBER && sc__coll_schedule_transfer(s, in, &p->arrival)) {
        uint64_t bytes = message_bytes(c, &p->arrival);
        p->recv = add_message(m, c, SC__OP_RECV, p->arrival.source, bytes);
        add_edge(m, p->recv, c->begin);
    }
}

/* It ends with its sends and with the receives that nothing else waits for. */
static void add_end(struct sc__messages *m, const struct message_collective *c) {
    if (!c->schedule.phases)
        add_edge(m, c->end, c->begin);
    for (uint32_t phase = 0; phase < c->schedule.phases; phase++) {
        const struct message_phase *p = &m->phases[phase];
        if (p->send != SC__NONE)
            add_edge(m, c->end, p->send);
        if (p->recv != SC__NONE && !p->passed_on)
            add_edge(m, c->end, p->recv);
    }
}

static uint32_t place_of(const struct sc__messages *m,
                         const struct sc__op *op,
                         uint32_t size,
                         uint32_t rank) {
    for (uint32_t i = 0; i < size; i++)
        if (sc__group_member(m->from, op->group, m->rank, i) == rank)
            return i;
    return 0;
}

static struct sc__coll_schedule schedule_of(const struct sc__messages *m,
                                            const struct sc__op *op) {
    uint32_t size = sc__group_size(m->from, op->group);
    struct sc__coll_schedule s = {.family = sc__coll_message_family(op->coll),
                                  .coll = op->coll,
                                  .group = {size, 1, size, size, NULL},
                                  .order = SC__ORDER_ROTATED,
                                  .root = place_of(m, op, size, op->peer)};
    sc__coll_schedule_init(&s);
    return s;
}

static void make_phase_room(struct sc__messages *m, uint32_t phases) {
    if (phases <= m->phase_room)
        return;
    m->phases = SC__NEW_ARRAY(&m->ctx->arena, struct message_phase, phases);
    m->phase_room = phases;
}

static void messages_collective(struct sc__messages *m, uint32_t op, uint32_t index) {
    const struct sc__op *o = &m->from->ops[op];
    struct message_collective c = {.op = o,
                                   .schedule = schedule_of(m, o),
                                   .tag = SC__COLLECTIVE_TAG + m->from->match[op]};
    c.me = place_of(m, o, c.schedule.group.ranks, m->rank);
    c.begin = m->begin_of[index] = add_op(m, SC__OP_COMPUTE, m->begin, o);
    c.end = m->end_of[index] = add_op(m, SC__OP_COMPUTE, o->name, o);
    m->to->ops[m->first + c.end].cost = o->cost;
    make_phase_room(m, c.schedule.phases);
    for (uint32_t phase = 0; phase < c.schedule.phases; phase++)
        add_phase(m, &c, phase);
    add_end(m, &c);
}

static void copy_op(struct sc__messages *m, uint32_t op, uint32_t index) {
    const struct sc__op *o = &m->from->ops[op];
    uint32_t i = add_op(m, o->kind == SC__OP_WAIT ? SC__OP_COMPUTE : o->kind, o->name, o);
    struct sc__op *copy = &m->to->ops[m->first + i];
    m->begin_of[index] = m->end_of[index] = i;
    copy->cost = o->cost;
    if (o->kind == SC__OP_COMPUTE || o->kind == SC__OP_WAIT) {
        copy->work = o->work;
        return;
    }
    copy->peer = o->peer;
    copy->tag = o->tag;
    copy->bytes = o->bytes;
    copy->flags = o->flags;
    copy->group = o->group;
    if (o->cost <= 0)
        return;
    copy->cost = 0; /* what comes after a message is a calculation */
    m->end_of[index] = add_op(m, SC__OP_COMPUTE, o->name, o);
    m->to->ops[m->first + m->end_of[index]].cost = o->cost;
    add_edge(m, m->end_of[index], i);
}

static void copy_edges(struct sc__messages *m, const struct sc__block *b) {
    for (uint32_t i = 0; i < b->ops; i++) {
        const struct sc__op *o = &m->from->ops[b->first_op + i];
        for (uint32_t d = 0; d < o->deps; d++) {
            uint32_t dep = m->from->deps[o->first_dep + d];
            uint32_t on = dep & ~SC__DEP_START;
            if (dep & SC__DEP_START)
                add_edge(m, m->begin_of[i], m->begin_of[on] | SC__DEP_START);
            else
                add_edge(m, m->begin_of[i], m->end_of[on]);
        }
    }
}

static void make_room(struct sc__messages *m, uint32_t ops) {
    if (ops <= m->room)
        return;
    m->begin_of = SC__NEW_ARRAY(&m->ctx->arena, uint32_t, ops);
    m->end_of = SC__NEW_ARRAY(&m->ctx->arena, uint32_t, ops);
    m->room = ops;
}

static sc_status make_rank(struct sc__messages *m, uint32_t *block) {
    const struct sc__block *b = sc__rank_block(m->from, m->rank);
    m->first = m->to->op_count;
    m->edge_count = 0;
    make_room(m, b->ops);
    sc__block_begin(m->to);
    for (uint32_t i = 0; i < b->ops; i++)
        if (m->from->ops[b->first_op + i].kind == SC__OP_COLLECTIVE)
            messages_collective(m, b->first_op + i, i);
        else
            copy_op(m, b->first_op + i, i);
    copy_edges(m, b);
    *block = sc__block_end(m->to);
    m->to->blocks[*block].graph = true;
    if (sc__block_set_edges(m->to, *block, m->edges, m->edge_count) != SC__NONE)
        return sc__fail(m->ctx,
                        SC_INPUT,
                        NULL,
                        NULL,
                        "rank %u: an operation with more than 65535 dependencies",
                        m->rank);
    return SC_OK;
}

struct sc__messages *sc__messages_new(struct sc_context *ctx,
                                      const struct sc__workload *w) {
    struct sc__messages *m = SC__NEW(&ctx->arena, struct sc__messages);
    *m = (struct sc__messages){.ctx = ctx,
                               .from = w,
                               .to = sc__workload_new(&ctx->arena, w->format)};
    sc__workload_copy_names(m->to, w);
    m->send = sc__workload_name(m->to, "send");
    m->recv = sc__workload_name(m->to, "recv");
    m->begin = sc__workload_name(m->to, "begin");
    return m;
}

sc_status sc__messages_of_rank(struct sc__messages *m,
                               uint32_t rank,
                               const struct sc__workload **out) {
    uint32_t block;
    m->to->op_count = m->to->dep_count = m->to->block_count = 0;
    m->rank = rank;
    *out = m->to;
    return make_rank(m, &block);
}

sc_status sc__workload_messages(struct sc_context *ctx,
                                const struct sc__workload *w,
                                const struct sc__workload **out) {
    struct sc__messages *m = sc__messages_new(ctx, w);
    uint32_t ranks = sc__mesh_ranks(&w->mesh);
    uint32_t meetings;
    struct sc__mismatch bad;
    uint32_t *blocks = SC__NEW_ARRAY(&ctx->arena, uint32_t, ranks);
    for (; m->rank < ranks; m->rank++)
        SC__TRY(make_rank(m, &blocks[m->rank]));
    sc__workload_rank_classes(m->to, ranks, blocks);
    if (!sc__workload_match(m->to, false, &meetings, &bad))
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        NULL,
                        "rank %u: a message has no counterpart on rank %u",
                        bad.rank,
                        bad.peer_rank);
    *out = m->to;
    return SC_OK;
}
