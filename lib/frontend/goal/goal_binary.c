/* The packed form of GOAL, little endian, offsets from byte 8 on:
 *
 *     u64 4223 | u32 ranks, u8 cpus, u8 nics | {u64 start, u64 end} a rank
 *     a rank:  u32 nodes, u32 roots | u32 root… | node… | u32 successor…
 *     a node:  u32 deps, u8 type, u32 peer, u64 size, u32 tag, u8 cpu, u8 nic,
 *              u32 n_succ, u32 succ_first, u32 n_isucc, u32 isucc_first
 *
 * Read one rank at a time, in a stream. Everything that is said twice (the
 * dependency counts, the roots) must agree. */
#include "frontend/goal/goal.h"

#include <string.h>

static uint32_t u32(const unsigned char *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static uint64_t u64(const unsigned char *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static struct sc__place goal_binary_place(const struct sc__input *in, uint64_t extra) {
    return (
        struct sc__place){.file = in->name, .binary = true, .offset = in->offset + extra};
}

/* n bytes in the window, taken in steps so that a made-up size is no reason to
 * ask for as much memory. */
static sc_status need(struct sc__input *in, uint64_t n, const char *what) {
    while (in->end - in->begin < n && !in->at_end) {
        uint64_t more = 2 * (uint64_t)(in->end - in->begin) + 65536;
        SC__TRY(sc__input_fill(in, (size_t)(more < n ? more : n)));
    }
    if (in->end - in->begin >= n)
        return SC_OK;
    struct sc__place at = goal_binary_place(in, in->end - in->begin);
    return sc__fail(in->ctx,
                    SC_INPUT,
                    &at,
                    "the file is truncated",
                    "the file ends inside %s",
                    what);
}

static void skip(struct sc__input *in, size_t n) {
    in->begin += n;
    in->offset += n;
}

/* The part of one rank, all of it in memory. */
struct goal_binary_part {
    const unsigned char *base;
    const unsigned char *node;
    const unsigned char *succ;
    uint32_t nodes;
    uint32_t roots;
    uint32_t succs;
    uint64_t size;
};

static sc_status part_error(struct sc__goal *g,
                            const unsigned char *base,
                            const unsigned char *at,
                            uint32_t node,
                            const char *what) {
    struct sc__place p = goal_binary_place(g->in, (uint64_t)(at - base));
    if (node == SC__NONE)
        return sc__fail(g->ctx,
                        SC_INPUT,
                        &p,
                        "damaged, or of an older LogGOPSim, whose layout was another: "
                        "give the text it was made from",
                        "rank %u: %s",
                        g->rank,
                        what);
    return sc__fail(g->ctx,
                    SC_INPUT,
                    &p,
                    NULL,
                    "rank %u, node %u: %s",
                    g->rank,
                    node,
                    what);
}

static sc_status cut_part(struct sc__goal *g,
                          const unsigned char *base,
                          uint64_t size,
                          struct goal_binary_part *p) {
    if (size < 8)
        return part_error(g, base, base, SC__NONE, "its part is shorter than its counts");
    *p = (struct goal_binary_part){.base = base,
                                   .nodes = u32(base),
                                   .roots = u32(base + 4),
                                   .size = size};
    uint64_t head = 8 + 4 * (uint64_t)p->roots;
    uint64_t nodes = SC__GOAL_NODE * (uint64_t)p->nodes;
    if (head + nodes > size)
        return part_error(g, base, base, SC__NONE, "its part is shorter than its nodes");
    uint64_t rest = size - head - nodes;
    if (rest % 4 || rest / 4 > UINT32_MAX)
        return part_error(g,
                          base,
                          base + head + nodes,
                          SC__NONE,
                          "its successors are not whole 32-bit numbers");
    if (rest / 4 > (uint64_t)UINT16_MAX * p->nodes)
        return part_error(g,
                          base,
                          base,
                          SC__NONE,
                          "its part holds more successors than its nodes can have");
    p->node = base + head;
    p->succ = p->node + nodes;
    p->succs = (uint32_t)(rest / 4);
    return SC_OK;
}

static sc_status
read_node(struct sc__goal *g, const struct goal_binary_part *p, uint32_t i) {
    const unsigned char *b = p->node + (size_t)i * SC__GOAL_NODE;
    struct sc__goal_node n = {.type = b[4],
                              .peer = u32(b + 5),
                              .size = u64(b + 9),
                              .tag = u32(b + 17),
                              .cpu = b[21],
                              .nic = b[22]};
    const char *wrong = sc__goal_add(g, &n);
    return wrong ? part_error(g, p->base, b, i, wrong) : SC_OK;
}

static sc_status read_successors(struct sc__goal *g,
                                 const struct goal_binary_part *p,
                                 uint32_t i,
                                 uint32_t n,
                                 uint32_t first,
                                 uint32_t mark) {
    if ((uint64_t)first + n > p->succs)
        return part_error(g,
                          p->base,
                          p->node + (size_t)i * SC__GOAL_NODE,
                          i,
                          "its successors lie outside the list");
    const unsigned char *b = p->succ + 4 * (size_t)first;
    for (uint32_t k = 0; k < n; k++, b += 4) {
        uint32_t to = u32(b);
        if (to >= p->nodes)
            return part_error(g, p->base, b, i, "a successor that does not exist");
        *SC__PUSH(&g->ctx->arena, g->edges, g->edge_count, g->edge_capacity) =
            (struct sc__edge){to, i | mark};
    }
    return SC_OK;
}

static sc_status check_counts(struct sc__goal *g, const struct goal_binary_part *p) {
    const struct sc__op *ops = g->w->ops + g->w->blocks[g->blocks[g->rank]].first_op;
    uint32_t free_nodes = 0;
    for (uint32_t i = 0; i < p->nodes; i++) {
        const unsigned char *b = p->node + (size_t)i * SC__GOAL_NODE;
        if (u32(b) != ops[i].deps)
            return part_error(g,
                              p->base,
                              b,
                              i,
                              "its dependency count is not what the lists give");
        free_nodes += ops[i].deps == 0;
    }
    if (free_nodes != p->roots)
        return part_error(g,
                          p->base,
                          p->base + 4,
                          SC__NONE,
                          "the number of roots is not that of nodes without dependencies");
    for (uint32_t i = 0; i < p->roots; i++) {
        const unsigned char *b = p->base + 8 + 4 * (size_t)i;
        if (u32(b) >= p->nodes || ops[u32(b)].deps)
            return part_error(g, p->base, b, SC__NONE, "a root that waits for others");
    }
    return SC_OK;
}

static sc_status read_rank(struct sc__goal *g, uint64_t size) {
    struct goal_binary_part p;
    struct sc__place at = goal_binary_place(g->in, 0);
    SC__TRY(need(g->in,
                 size < 8 ? size : 8,
                 "the part of a rank")); /* do the counts make sense? */
    SC__TRY(cut_part(g, g->in->bytes + g->in->begin, size, &p));
    SC__TRY(need(g->in, size, "the part of a rank"));
    SC__TRY(cut_part(g, g->in->bytes + g->in->begin, size, &p));
    sc__block_begin(g->w);
    for (uint32_t i = 0; i < p.nodes; i++)
        SC__TRY(read_node(g, &p, i));
    for (uint32_t i = 0; i < p.nodes; i++) {
        const unsigned char *b = p.node + (size_t)i * SC__GOAL_NODE;
        SC__TRY(read_successors(g, &p, i, u32(b + 23), u32(b + 27), 0));
        SC__TRY(read_successors(g, &p, i, u32(b + 31), u32(b + 35), SC__DEP_START));
    }
    SC__TRY(sc__goal_end_rank(g, &at));
    SC__TRY(check_counts(g, &p));
    skip(g->in, (size_t)size);
    return SC_OK;
}

/* Exactly the memory the nodes need, where the size of the file vouches for
 * the table; otherwise the arrays grow as they fill. */
static void goal_binary_reserve(struct sc__goal *g, uint64_t bytes, uint64_t file_size) {
    uint64_t nodes = bytes / SC__GOAL_NODE;
    uint64_t deps = bytes / (SC__GOAL_NODE + 4);
    if (bytes > file_size || nodes >= UINT32_MAX)
        return;
    g->w->ops = SC__NEW_ARRAY(&g->ctx->arena, struct sc__op, nodes + 1);
    g->w->op_capacity = (uint32_t)nodes + 1;
    g->w->deps = SC__NEW_ARRAY(&g->ctx->arena, uint32_t, deps + 1);
    g->w->dep_capacity = (uint32_t)deps + 1;
}

static sc_status goal_binary_read_table(struct sc__goal *g,
                                        struct sc__input *in,
                                        uint32_t ranks,
                                        uint64_t *table,
                                        uint64_t *total) {
    *total = 0;
    for (uint32_t r = 0; r < ranks; r++) {
        SC__TRY(need(in, 16, "the table of ranks"));
        const unsigned char *p = in->bytes + in->begin;
        uint64_t start = u64(p);
        uint64_t end = u64(p + 8);
        uint64_t least = r ? table[2 * r - 1] : 6 + 16 * (uint64_t)ranks;
        struct sc__place at = goal_binary_place(in, 0);
        if (start < least || end < start || end > (uint64_t)1 << 56)
            return sc__fail(g->ctx,
                            SC_INPUT,
                            &at,
                            "the parts of the ranks must follow each other",
                            "rank %u lies at %llu … %llu, but must begin at %llu or later",
                            r,
                            (unsigned long long)start,
                            (unsigned long long)end,
                            (unsigned long long)least);
        table[2 * r] = start;
        table[2 * r + 1] = end;
        *total += end - start;
        skip(in, 16);
    }
    return SC_OK;
}

static sc_status skip_to(struct sc__input *in, uint64_t offset) {
    while (in->offset < offset) {
        SC__TRY(need(in, 1, "the gap before a rank"));
        uint64_t have = in->end - in->begin;
        uint64_t gap = offset - in->offset;
        skip(in, (size_t)(gap < have ? gap : have));
    }
    return SC_OK;
}

sc_status sc__goal_read_binary(struct sc__goal *g,
                               struct sc_context *ctx,
                               struct sc__input *in,
                               uint64_t file_size) {
    SC__TRY(need(in, 14, "the header"));
    uint32_t ranks = u32(in->bytes + in->begin + 8);
    struct sc__place at = goal_binary_place(in, 8);
    if (!ranks || ranks > SC__GOAL_MAX_RANKS ||
        (file_size && 16 * (uint64_t)ranks > 2000 * file_size))
        return sc__fail(ctx, SC_INPUT, &at, NULL, "%u ranks: not a number of ranks", ranks);
    sc__goal_begin(g, ctx, in, ranks);
    skip(in, 14);
    uint64_t *table = SC__NEW_ARRAY(&ctx->arena, uint64_t, 2 * (size_t)ranks);
    uint64_t total;
    SC__TRY(goal_binary_read_table(g, in, ranks, table, &total));
    goal_binary_reserve(g, total, file_size);
    for (g->rank = 0; g->rank < ranks; g->rank++) {
        SC__TRY(skip_to(in, 8 + table[2 * (size_t)g->rank]));
        SC__TRY(read_rank(g, table[2 * (size_t)g->rank + 1] - table[2 * (size_t)g->rank]));
    }
    at = goal_binary_place(in, 0);
    SC__TRY(sc__input_fill(in, 1));
    if (in->end > in->begin)
        return sc__fail(ctx, SC_INPUT, &at, NULL, "bytes after the part of the last rank");
    at = (struct sc__place){.file = in->name};
    return sc__goal_finish(g, &at);
}
