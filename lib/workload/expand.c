#include "workload/expand.h"

#include "workload/graph.h"
#include "workload/match.h"

#include <string.h>

#define MAX_OPS (1u << 28)

struct expander {
    struct sc_context *ctx;
    const struct sc__workload *from;
    struct sc__workload *to;
    struct sc__map groups; /* (group, first member) → group of `to` + 1 */
    uint32_t rank;
    /* by stream: the last operation issued there + 1, in the rank's block */
    uint32_t last[SC__MAX_STREAMS];
    struct sc__edge *edges;
    uint32_t edge_count;
    uint32_t edge_capacity;
};

/* Edges of one operation lie together at the end: one that is there already
 * (the stream's order and an explicit dependency) is not added again. */
static void add_edge(struct expander *x, uint32_t op, uint32_t dep) {
    for (uint32_t i = x->edge_count; i && x->edges[i - 1].op == op; i--)
        if (x->edges[i - 1].dep == dep)
            return;
    *SC__PUSH(&x->ctx->arena, x->edges, x->edge_count, x->edge_capacity) =
        (struct sc__edge){op, dep};
}

static sc_status list_group(struct expander *x, uint16_t group, uint16_t *out) {
    const struct sc__workload *w = x->from;
    uint32_t size = sc__group_size(w, group);
    bool fresh;
    uint64_t *slot =
        sc__map_at(&x->groups,
                   (uint64_t)group << 32 | sc__group_member(w, group, x->rank, 0),
                   &fresh);
    if (fresh) {
        if (x->to->group_count == UINT16_MAX)
            return sc__fail(x->ctx,
                            SC_INPUT,
                            NULL,
                            "expand a smaller job",
                            "more than 65535 groups of ranks");
        uint32_t *ranks = SC__NEW_ARRAY(&x->ctx->arena, uint32_t, size);
        for (uint32_t i = 0; i < size; i++)
            ranks[i] = sc__group_member(w, group, x->rank, i);
        *slot = sc__workload_group_list(x->to, w->groups[group].label, ranks, size);
    }
    *out = (uint16_t)*slot;
    return SC_OK;
}

/* Stream order becomes edges: to the operation before it on its stream, and to
 * the last one on each stream it waits for. Those imply all earlier ones. */
static void order_edges(struct expander *x, const struct sc__op *op, uint32_t index) {
    if (x->last[op->stream])
        add_edge(x, index, x->last[op->stream] - 1);
    for (unsigned s = 0; s < SC__MAX_STREAMS; s++)
        if ((op->after >> s & 1) && x->last[s])
            add_edge(x, index, x->last[s] - 1);
}

static sc_status copy_op(struct expander *x,
                         const struct sc__op *op,
                         const struct sc__call *call,
                         uint32_t first,
                         uint32_t base) {
    struct sc__workload *to = x->to;
    struct sc__op *copy = SC__PUSH(to->arena, to->ops, to->op_count, to->op_capacity);
    const struct sc__class *class =
        &x->from->classes[sc__workload_class_of(x->from, x->rank)];
    uint32_t index = to->op_count - 1 - first;
    /* Edges are kept apart and set once the block is whole: see expand_rank. */
    *copy = *op;
    copy->deps = 0;
    copy->after = 0;
    copy->flags &= (uint8_t) ~(SC__OP_PEER_NEXT | SC__OP_PEER_PREV);
    if (op->kind == SC__OP_SEND || op->kind == SC__OP_RECV) {
        copy->peer = sc__op_peer(x->from, op, x->rank);
        copy->tag += call->tag; /* tells micro-batches apart */
    }
    if (op->kind == SC__OP_COMPUTE && class->slow != 1)
        copy->cost = llround((double)op->cost * class->slow);
    if (op->kind == SC__OP_COLLECTIVE)
        SC__TRY(list_group(x, op->group, &copy->group));
    if (!x->from->blocks[call->block].graph) {
        order_edges(x, op, index);
        x->last[op->stream] = index + 1;
    }
    for (uint32_t d = 0; d < op->deps; d++) {
        uint32_t dep = x->from->deps[op->first_dep + d];
        add_edge(x, index, (base + (dep & ~SC__DEP_START)) | (dep & SC__DEP_START));
    }
    return SC_OK;
}

static sc_status expand_rank(struct expander *x, uint32_t *block) {
    const struct sc__workload *w = x->from;
    const struct sc__program *p =
        &w->programs[w->classes[sc__workload_class_of(w, x->rank)].program];
    uint32_t first = x->to->op_count;
    memset(x->last, 0, sizeof x->last);
    x->edge_count = 0;
    sc__block_begin(x->to);
    for (uint32_t c = p->first_call; c < p->first_call + p->calls; c++) {
        const struct sc__block *b = &w->blocks[w->calls[c].block];
        uint32_t base = x->to->op_count - first;
        if (x->to->op_count + b->ops > MAX_OPS)
            return sc__fail(x->ctx,
                            SC_INPUT,
                            NULL,
                            "use fewer ranks or micro-batches",
                            "written out rank by rank this is more than %u operations",
                            MAX_OPS);
        for (uint32_t i = 0; i < b->ops; i++)
            SC__TRY(copy_op(x, &w->ops[b->first_op + i], &w->calls[c], first, base));
    }
    *block = sc__block_end(x->to);
    x->to->blocks[*block].graph = true;
    if (sc__block_set_edges(x->to, *block, x->edges, x->edge_count) != SC__NONE)
        return sc__fail(x->ctx,
                        SC_INPUT,
                        NULL,
                        NULL,
                        "an operation with more than 65535 dependencies");
    return SC_OK;
}

static bool is_expanded(const struct sc__workload *w) {
    if (w->class_count != sc__mesh_ranks(&w->mesh) || !w->match)
        return false;
    for (uint32_t c = 0; c < w->class_count; c++)
        if (w->programs[w->classes[c].program].calls != 1 || w->classes[c].slow != 1 ||
            !sc__rank_block(w, w->classes[c].rank)->graph)
            return false;
    return true;
}

static sc_status check_match(struct sc_context *ctx, struct sc__workload *w) {
    struct sc__mismatch bad;
    uint32_t rendezvous;
    if (sc__workload_match(w, false, &rendezvous, &bad))
        return SC_OK;
    return sc__fail(ctx,
                    SC_INPUT,
                    NULL,
                    NULL,
                    "rank %u: %s has no counterpart on rank %u",
                    bad.rank,
                    w->names.text[w->ops[bad.op].name],
                    bad.peer_rank);
}

sc_status sc__workload_expand(struct sc_context *ctx,
                              const struct sc__workload *w,
                              const struct sc__workload **out) {
    uint32_t ranks = sc__mesh_ranks(&w->mesh);
    *out = w;
    if (is_expanded(w))
        return SC_OK;
    struct expander x = {.ctx = ctx,
                         .from = w,
                         .to = sc__workload_new(&ctx->arena, w->format)};
    sc__map_init(&x.groups, &ctx->arena);
    sc__workload_copy_names(x.to, w);
    memcpy(x.to->stream_names, w->stream_names, sizeof w->stream_names);
    uint32_t *blocks = SC__NEW_ARRAY(&ctx->arena, uint32_t, ranks);
    for (x.rank = 0; x.rank < ranks; x.rank++)
        SC__TRY(expand_rank(&x, &blocks[x.rank]));
    sc__workload_rank_classes(x.to, ranks, blocks);
    *out = x.to;
    return check_match(ctx, x.to);
}
