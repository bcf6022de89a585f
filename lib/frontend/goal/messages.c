#include "frontend/goal/messages.h"

#include "workload/graph.h"
#include "workload/match.h"

#include <string.h>

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
    struct sc__edge *edges;
    uint32_t edge_count;
    uint32_t edge_capacity;
    /* names */
    uint32_t send;
    uint32_t recv;
    uint32_t begin;
};

/* The collective being made into messages. */
struct messages_ring {
    const struct sc__op *op;
    /* me: place in the group */
    uint32_t tag;
    uint32_t size;
    uint32_t me;
    uint32_t begin;
    uint32_t end;
    uint32_t last_recv; /* or begin */
};

static void edge(struct sc__messages *m, uint32_t op, uint32_t dep) {
    *SC__PUSH(&m->ctx->arena, m->edges, m->edge_count, m->edge_capacity) =
        (struct sc__edge){op, dep};
}

static uint32_t add(struct sc__messages *m,
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

static uint32_t message(struct sc__messages *m,
                        const struct messages_ring *r,
                        enum sc__op_kind kind,
                        uint32_t place,
                        uint64_t bytes,
                        uint32_t after) {
    uint32_t i = add(m, kind, kind == SC__OP_SEND ? m->send : m->recv, r->op);
    struct sc__op *op = &m->to->ops[m->first + i];
    op->peer = sc__group_member(m->from, r->op->group, m->rank, place % r->size);
    op->tag = r->tag;
    op->bytes = bytes;
    if (kind == SC__OP_SEND)
        op->flags = SC__OP_EAGER;
    edge(m, i, after);
    return i;
}

/* The part of the buffer that belongs to a place; the parts add up. */
static uint64_t messages_part(uint64_t bytes, uint32_t size, uint32_t place) {
    uint64_t each = bytes / size;
    uint64_t more = bytes % size;
    return each + (place % size < more);
}

/* steps times: pass on what came last. first: the part that is sent first. */
static void ring_steps(struct sc__messages *m,
                       struct messages_ring *r,
                       uint32_t steps,
                       uint32_t first) {
    for (uint32_t k = 0; k < steps; k++) {
        uint32_t out = (first + r->size * 2 - k % r->size) % r->size;
        uint32_t in = (out + r->size - 1) % r->size;
        uint32_t s = message(m,
                             r,
                             SC__OP_SEND,
                             r->me + 1,
                             messages_part(r->op->bytes, r->size, out),
                             r->last_recv);
        r->last_recv = message(m,
                               r,
                               SC__OP_RECV,
                               r->me + r->size - 1,
                               messages_part(r->op->bytes, r->size, in),
                               r->begin);
        edge(m, r->end, s);
    }
    edge(m, r->end, r->last_recv);
}

static void all_to_all(struct sc__messages *m, struct messages_ring *r) {
    for (uint32_t k = 1; k < r->size; k++) {
        uint32_t from = (r->me + r->size - k) % r->size;
        uint64_t out = messages_part(r->op->bytes, r->size, r->me + k);
        uint64_t in = messages_part(r->op->bytes, r->size, r->me);
        edge(m, r->end, message(m, r, SC__OP_SEND, r->me + k, out, r->begin));
        edge(m, r->end, message(m, r, SC__OP_RECV, from, in, r->begin));
    }
}

static uint32_t root_place(const struct sc__messages *m, const struct messages_ring *r) {
    for (uint32_t i = 0; i < r->size; i++)
        if (sc__group_member(m->from, r->op->group, m->rank, i) == r->op->peer)
            return i;
    return 0;
}

/* Binomial: place p (counted from the root) hears from p minus its highest
 * bit, and tells those above that bit. A reduce is the same the other way. */
static void tree(struct sc__messages *m, struct messages_ring *r, bool down) {
    uint32_t root = root_place(m, r);
    uint32_t p = (r->me + r->size - root) % r->size;
    uint32_t high = 1;
    uint32_t after = r->begin;
    while (high <= p)
        high *= 2;
    if (p && down)
        after = message(m, r, SC__OP_RECV, root + p - high / 2, r->op->bytes, r->begin);
    uint32_t up = SC__NONE;
    if (p && !down) {
        up = message(m, r, SC__OP_SEND, root + p - high / 2, r->op->bytes, r->begin);
        edge(m, r->end, up);
    }
    if (p && down)
        edge(m, r->end, after);
    for (uint32_t bit = p ? high : 1; p + bit < r->size; bit *= 2) {
        uint32_t i = message(m,
                             r,
                             down ? SC__OP_SEND : SC__OP_RECV,
                             root + p + bit,
                             r->op->bytes,
                             after);
        edge(m, r->end, i);
        if (up != SC__NONE)
            edge(m, up, i);
    }
}

/* Gather and scatter: everyone's part to or from the root at once. */
static void to_root(struct sc__messages *m, struct messages_ring *r, bool gather) {
    uint32_t root = root_place(m, r);
    if (r->me != root) {
        enum sc__op_kind kind = gather ? SC__OP_SEND : SC__OP_RECV;
        edge(m,
             r->end,
             message(m,
                     r,
                     kind,
                     root,
                     messages_part(r->op->bytes, r->size, r->me),
                     r->begin));
        return;
    }
    for (uint32_t k = 1; k < r->size; k++) {
        enum sc__op_kind kind = gather ? SC__OP_RECV : SC__OP_SEND;
        edge(m,
             r->end,
             message(m,
                     r,
                     kind,
                     root + k,
                     messages_part(r->op->bytes, r->size, root + k),
                     r->begin));
    }
}

static void disseminate(struct sc__messages *m, struct messages_ring *r) {
    for (uint32_t bit = 1; bit < r->size; bit *= 2) {
        edge(m, r->end, message(m, r, SC__OP_SEND, r->me + bit, 1, r->last_recv));
        r->last_recv = message(m, r, SC__OP_RECV, r->me + r->size - bit, 1, r->last_recv);
    }
    edge(m, r->end, r->last_recv);
}

static void messages_exchange(struct sc__messages *m, struct messages_ring *r) {
    if (r->size < 2) {
        edge(m, r->end, r->begin);
        return;
    }
    switch (r->op->coll) {
    case SC__ALLREDUCE:
        ring_steps(m, r, 2 * (r->size - 1), r->me);
        break;
    case SC__ALLGATHER:
    case SC__REDUCESCATTER:
        ring_steps(m, r, r->size - 1, r->me);
        break;
    case SC__ALLTOALL:
        all_to_all(m, r);
        break;
    case SC__BROADCAST:
        tree(m, r, true);
        break;
    case SC__REDUCE:
        tree(m, r, false);
        break;
    case SC__GATHER:
    case SC__SCATTER:
        to_root(m, r, r->op->coll == SC__GATHER);
        break;
    default:
        disseminate(m, r);
    }
}

static void messages_collective(struct sc__messages *m, uint32_t op, uint32_t index) {
    const struct sc__op *o = &m->from->ops[op];
    struct messages_ring r = {.op = o,
                              .tag = SC__COLLECTIVE_TAG + m->from->match[op],
                              .size = sc__group_size(m->from, o->group)};
    while (sc__group_member(m->from, o->group, m->rank, r.me) != m->rank)
        r.me++;
    r.begin = r.last_recv = m->begin_of[index] = add(m, SC__OP_COMPUTE, m->begin, o);
    r.end = m->end_of[index] = add(m, SC__OP_COMPUTE, o->name, o);
    m->to->ops[m->first + r.end].cost = o->cost;
    messages_exchange(m, &r);
}

static void plain(struct sc__messages *m, uint32_t op, uint32_t index) {
    const struct sc__op *o = &m->from->ops[op];
    uint32_t i = add(m, o->kind == SC__OP_WAIT ? SC__OP_COMPUTE : o->kind, o->name, o);
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
    m->end_of[index] = add(m, SC__OP_COMPUTE, o->name, o);
    m->to->ops[m->first + m->end_of[index]].cost = o->cost;
    edge(m, m->end_of[index], i);
}

static void copy_edges(struct sc__messages *m, const struct sc__block *b) {
    for (uint32_t i = 0; i < b->ops; i++) {
        const struct sc__op *o = &m->from->ops[b->first_op + i];
        for (uint32_t d = 0; d < o->deps; d++) {
            uint32_t dep = m->from->deps[o->first_dep + d];
            uint32_t on = dep & ~SC__DEP_START;
            if (dep & SC__DEP_START)
                edge(m, m->begin_of[i], m->begin_of[on] | SC__DEP_START);
            else
                edge(m, m->begin_of[i], m->end_of[on]);
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
            plain(m, b->first_op + i, i);
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
