/* GOAL schedules (LogGOPSim, ATLAHS): sends, receives and calculations of each
 * rank with the dependencies between them, as text or in a packed binary form.
 * Both become one graph block a rank. Message matching is checked here, so
 * that a schedule that cannot finish is refused with rank and node instead of
 * hanging in the simulation. */
#include "frontend/goal/goal.h"

#include "workload/match.h"

#include <string.h>

void sc__goal_begin(struct sc__goal *g,
                    struct sc_context *ctx,
                    struct sc__input *in,
                    uint32_t ranks) {
    memset(g, 0, sizeof *g);
    g->ctx = ctx;
    g->in = in;
    g->ranks = ranks;
    g->w = sc__workload_new(&ctx->arena, "goal");
    g->blocks = SC__NEW_ARRAY(&ctx->arena, uint32_t, ranks);
    g->send = sc__workload_name(g->w, "send");
    g->recv = sc__workload_name(g->w, "recv");
    g->calc = sc__workload_name(g->w, "calc");
}

static const char *
set_peer(struct sc__goal *g, struct sc__op *op, const struct sc__goal_node *n) {
    bool any_peer = n->peer == UINT32_MAX;
    bool any_tag = n->tag == UINT32_MAX;
    if (n->type == SC__GOAL_SEND && (any_peer || any_tag))
        return "a send needs a rank to go to and a tag";
    if (!any_peer && n->peer >= g->ranks)
        return "the peer is not one of the ranks";
    if (n->peer == g->rank)
        return "a rank cannot send to itself or receive from itself";
    op->flags =
        (uint8_t)((any_peer ? SC__OP_ANY_PEER : 0) | (any_tag ? SC__OP_ANY_TAG : 0));
    if (n->type == SC__GOAL_SEND)
        op->flags = SC__OP_EAGER;
    op->peer = n->peer;
    op->tag = any_tag ? 0 : n->tag;
    op->group = n->nic;
    op->bytes = n->size;
    return NULL;
}

const char *sc__goal_add(struct sc__goal *g, const struct sc__goal_node *n) {
    struct sc__workload *w = g->w;
    if (n->type < SC__GOAL_SEND || n->type > SC__GOAL_CALC)
        return "unknown type of node";
    if (n->cpu >= SC__MAX_STREAMS)
        return "more than 16 cpus";
    struct sc__op *op = SC__PUSH(w->arena, w->ops, w->op_count, w->op_capacity);
    op->stream = n->cpu;
    op->row = op->layer = op->peer = SC__NONE;
    op->kind = n->type == SC__GOAL_SEND   ? SC__OP_SEND
               : n->type == SC__GOAL_RECV ? SC__OP_RECV
                                          : SC__OP_COMPUTE;
    op->name = n->type == SC__GOAL_SEND   ? g->send
               : n->type == SC__GOAL_RECV ? g->recv
                                          : g->calc;
    if (n->type != SC__GOAL_CALC)
        return set_peer(g, op, n);
    if (n->size > (uint64_t)INT64_MAX / 1000 / 1000)
        return "a calculation of more than 106 days";
    op->cost = (int64_t)n->size * SC__PS_PER_NS;
    op->group = n->nic;
    return NULL;
}

sc_status sc__goal_end_rank(struct sc__goal *g, const struct sc__place *at) {
    uint32_t block = sc__block_end(g->w);
    g->w->blocks[block].graph = true;
    g->blocks[g->rank] = block;
    uint32_t many = sc__block_set_edges(g->w, block, g->edges, g->edge_count);
    g->edge_count = 0;
    if (many != SC__NONE)
        return sc__fail(g->ctx,
                        SC_INPUT,
                        at,
                        "put a calc 0 between them",
                        "rank %u, node %u: more than 65535 dependencies",
                        g->rank,
                        many);
    uint32_t loop = sc__block_cycle(g->w, block);
    if (loop != SC__NONE)
        return sc__fail(g->ctx,
                        SC_INPUT,
                        at,
                        "dependencies must not form a cycle",
                        "rank %u, node %u depends on itself: a cycle",
                        g->rank,
                        loop);
    return SC_OK;
}

/* "rank 3, node 17 (line 40)": nodes count from 0 within their rank. */
static const char *node_name(const struct sc__goal *g, uint32_t rank, uint32_t op) {
    uint32_t node = op - g->w->blocks[g->blocks[rank]].first_op;
    uint32_t line = g->w->ops[op].row;
    return line == SC__NONE
               ? sc__format(&g->ctx->arena, "rank %u, node %u", rank, node)
               : sc__format(&g->ctx->arena, "rank %u, node %u (line %u)", rank, node, line);
}

static sc_status unmatched(const struct sc__goal *g,
                           const struct sc__place *at,
                           const struct sc__mismatch *bad) {
    const struct sc__op *op = &g->w->ops[bad->op];
    const char *node = node_name(g, bad->rank, bad->op);
    unsigned long long bytes = op->bytes;
    switch (bad->kind) {
    case SC__MATCH_NO_RECV:
        return sc__fail(g->ctx,
                        SC_INPUT,
                        at,
                        "every send needs one receive with the same peer and tag",
                        "%s: no receive matches this send of %llu bytes to rank %u, tag %u",
                        node,
                        bytes,
                        bad->peer_rank,
                        op->tag);
    case SC__MATCH_NO_SEND:
        return sc__fail(
            g->ctx,
            SC_INPUT,
            at,
            "every send needs one receive with the same peer and tag",
            "%s: no send matches this receive of %llu bytes from rank %u, tag %u",
            node,
            bytes,
            bad->peer_rank,
            op->tag);
    default:
        return sc__fail(g->ctx,
                        SC_INPUT,
                        at,
                        "messages are matched in program order by peer and tag",
                        "%s sends %llu bytes, but %s has room for only %llu",
                        node,
                        bytes,
                        node_name(g, bad->peer_rank, bad->peer_op),
                        (unsigned long long)g->w->ops[bad->peer_op].bytes);
    }
}

sc_status sc__goal_finish(struct sc__goal *g, const struct sc__place *at) {
    struct sc__mismatch bad;
    uint32_t rendezvous;
    sc__workload_rank_classes(g->w, g->ranks, g->blocks);
    for (unsigned i = 0; i < SC__MAX_STREAMS; i++)
        g->w->stream_names[i] = sc__format(&g->ctx->arena, "cpu %u", i);
    if (!sc__workload_match(g->w, false, &rendezvous, &bad))
        return unmatched(g, at, &bad);
    return SC_OK;
}

static bool is_binary(const unsigned char *head, size_t n) {
    static const unsigned char magic[8] = {SC__GOAL_MAGIC & 0xff, SC__GOAL_MAGIC >> 8};
    return n >= 8 && !memcmp(head, magic, 8);
}

static int
goal_detect(const unsigned char *head, size_t n, const char *path, bool directory) {
    (void)path;
    if (directory)
        return 0;
    if (is_binary(head, n))
        return 100;
    size_t i = 0;
    while (i < n) {
        if (strchr(" \t\r\n", head[i]) && head[i])
            i++;
        else if (i + 1 < n && head[i] == '/' && head[i + 1] == '/')
            while (i < n && head[i] != '\n')
                i++;
        else if (i + 1 < n && head[i] == '/' && head[i + 1] == '*') {
            for (i += 2; i + 1 < n && !(head[i] == '*' && head[i + 1] == '/'); i++)
                continue;
            i += 2;
        } else
            break;
    }
    return i + 10 <= n && !memcmp(head + i, "num_ranks", 9) && strchr(" \t", head[i + 9])
               ? 100
               : 0;
}

static sc_status goal_read(struct sc_context *ctx,
                           const struct sc__settings *settings,
                           const char *const *paths,
                           uint32_t count,
                           struct sc__document *out) {
    (void)settings;
    (void)count;
    struct sc__input in;
    struct sc__goal g;
    SC__TRY(sc__input_open(ctx, paths[0], &in));
    sc_status status = sc__input_fill(&in, 8);
    uint64_t size = sc__path_look(paths[0]).bytes;
    if (status == SC_OK) {
        bool binary = is_binary(in.bytes + in.begin, in.end - in.begin);
        status = binary ? sc__goal_read_binary(&g, ctx, &in, size)
                        : sc__goal_read_text(&g, ctx, &in);
    }
    sc__input_close(&in);
    if (status == SC_OK)
        out->workload = g.w;
    return status;
}

static void goal_show(struct sc_context *ctx,
                      const struct sc__document *doc,
                      struct sc__buffer *text,
                      struct sc__json *json) {
    (void)ctx;
    const struct sc__workload *w = doc->workload;
    uint64_t sends = 0;
    uint64_t recvs = 0;
    uint64_t calcs = 0;
    uint64_t bytes = 0;
    int64_t longest = 0;
    for (uint32_t c = 0; c < w->class_count; c++) {
        const struct sc__block *b = &w->blocks[c];
        int64_t busy = 0;
        for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++) {
            const struct sc__op *op = &w->ops[i];
            if (op->kind == SC__OP_SEND) {
                sends++;
                bytes += op->bytes;
            } else if (op->kind == SC__OP_RECV)
                recvs++;
            else {
                calcs++;
                busy += op->cost;
            }
        }
        if (busy > longest)
            longest = busy;
    }
    sc__printf(text,
               "  ranks         %u\n  operations    %llu sends, %llu receives, %llu "
               "calculations\n",
               w->class_count,
               (unsigned long long)sends,
               (unsigned long long)recvs,
               (unsigned long long)calcs);
    sc__printf(text, "  dependencies  %u\n  sent          ", w->dep_count);
    sc__put_bytes(text, bytes);
    sc__puts(text, "\n  calculation   ");
    sc__put_time(text, longest);
    sc__puts(text, " on the busiest rank\n");
    if (!json)
        return;
    sc__json_object(json, "goal");
    sc__json_u64(json, "ranks", w->class_count);
    sc__json_u64(json, "sends", sends);
    sc__json_u64(json, "receives", recvs);
    sc__json_u64(json, "calculations", calcs);
    sc__json_u64(json, "dependencies", w->dep_count);
    sc__json_u64(json, "sent_bytes", bytes);
    sc__json_us(json, "longest_calculation_us", longest);
    sc__json_end_object(json);
}

const struct sc__reader sc__reader_goal = {
    .name = "goal",
    .title = "GOAL schedule (LogGOPSim, ATLAHS), text or binary",
    .detect = goal_detect,
    .read = goal_read,
    .show = goal_show,
};
