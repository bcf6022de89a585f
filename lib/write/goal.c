/* GOAL out: text, or the packed binary form (import/goal_binary.c describes
 * it). Times are whole nanoseconds there; what is lost is said in a note. */
#include "ir/expand.h"
#include "ir/match.h"
#include "write/formats.h"
#include "write/messages.h"

#include <string.h>

enum { MAGIC = 4223, NODE = 39 };

static uint64_t calc_ns(const struct sc__op *op) { return ((uint64_t)op->cost + 500) / 1000; }

static uint32_t peer_of(const struct sc__op *op) { return op->flags & SC__OP_ANY_PEER ? UINT32_MAX : op->peer; }
static uint32_t tag_of(const struct sc__op *op) { return op->flags & SC__OP_ANY_TAG ? UINT32_MAX : op->tag; }

static void text_node(struct sc__buffer *b, uint32_t i, const struct sc__op *op) {
    sc__printf(b, "l%u: ", i);
    if (op->kind == SC__OP_COMPUTE)
        sc__printf(b, "calc %llu", (unsigned long long)calc_ns(op));
    else {
        bool send = op->kind == SC__OP_SEND;
        sc__printf(b, "%s %llub %s ", send ? "send" : "recv", (unsigned long long)op->bytes, send ? "to" : "from");
        if (peer_of(op) == UINT32_MAX)
            sc__puts(b, "-1");
        else
            sc__printf(b, "%u", op->peer);
        if (tag_of(op) == UINT32_MAX)
            sc__puts(b, " tag -1");
        else
            sc__printf(b, " tag %u", op->tag);
    }
    if (op->stream) sc__printf(b, " cpu %u", op->stream);
    if (op->group) sc__printf(b, " nic %u", op->group);
    sc__putc(b, '\n');
}

static void text_rank(struct sc__buffer *b, const struct sc__workload *w, uint32_t rank) {
    const struct sc__block *block = sc__rank_block(w, rank);
    sc__printf(b, "\nrank %u {\n", rank);
    for (uint32_t i = 0; i < block->ops; i++) text_node(b, i, &w->ops[block->first_op + i]);
    for (uint32_t i = 0; i < block->ops; i++) {
        const struct sc__op *op = &w->ops[block->first_op + i];
        for (uint32_t d = 0; d < op->deps; d++) {
            uint32_t dep = w->deps[op->first_dep + d];
            sc__printf(b, "l%u %s l%u\n", i, dep & SC__DEP_START ? "irequires" : "requires", dep & ~SC__DEP_START);
        }
    }
    sc__puts(b, "}\n");
}

static void put_u32(struct sc__buffer *b, uint32_t v) { sc__put(b, (const char *)&v, sizeof v); }
static void put_u64(struct sc__buffer *b, uint64_t v) { sc__put(b, (const char *)&v, sizeof v); }

/* Successors of a rank's nodes; [0] after the end, [1] after the start. */
struct successors {
    uint32_t *first[2]; /* by node, and one more */
    uint32_t *list[2];
    uint32_t count[2];
};

static struct successors successors_of(struct sc__arena *a, const struct sc__workload *w, const struct sc__block *b) {
    struct successors s = {0};
    uint32_t deps = 0;
    for (uint32_t i = 0; i < b->ops; i++) deps += w->ops[b->first_op + i].deps;
    for (unsigned k = 0; k < 2; k++) {
        s.first[k] = SC__NEW_ARRAY(a, uint32_t, (size_t)b->ops + 2);
        s.list[k] = SC__NEW_ARRAY(a, uint32_t, deps);
    }
    for (unsigned fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < b->ops; i++) {
            const struct sc__op *op = &w->ops[b->first_op + i];
            for (uint32_t d = 0; d < op->deps; d++) {
                uint32_t dep = w->deps[op->first_dep + d], on = dep & ~SC__DEP_START;
                unsigned k = (dep & SC__DEP_START) != 0;
                if (!fill)
                    s.first[k][on + 2]++;
                else
                    s.list[k][s.first[k][on + 1]++] = i;
            }
        }
        for (unsigned k = 0; k < 2 && !fill; k++)
            for (uint32_t i = 1; i < b->ops + 2; i++) s.first[k][i] += s.first[k][i - 1];
    }
    for (unsigned k = 0; k < 2; k++) s.count[k] = s.first[k][b->ops];
    return s;
}

static void binary_node(struct sc__buffer *b, const struct sc__op *op, const struct successors *s, uint32_t i) {
    static const uint8_t types[] = {[SC__OP_COMPUTE] = 3, [SC__OP_SEND] = 1, [SC__OP_RECV] = 2};
    bool calc = op->kind == SC__OP_COMPUTE;
    put_u32(b, op->deps);
    sc__putc(b, (char)types[op->kind]);
    put_u32(b, calc ? 0 : peer_of(op));
    put_u64(b, calc ? calc_ns(op) : op->bytes);
    put_u32(b, calc ? 0 : tag_of(op));
    sc__putc(b, (char)op->stream);
    sc__putc(b, (char)op->group);
    for (unsigned k = 0; k < 2; k++) {
        put_u32(b, s->first[k][i + 1] - s->first[k][i]);
        put_u32(b, s->first[k][i] + (k ? s->count[0] : 0));
    }
}

static void binary_rank(struct sc__buffer *b, const struct sc__workload *w, uint32_t rank) {
    const struct sc__block *block = sc__rank_block(w, rank);
    struct sc__arena a;
    sc__arena_init(&a, w->arena->out_of_memory);
    struct successors s = successors_of(&a, w, block);
    uint32_t roots = 0;
    for (uint32_t i = 0; i < block->ops; i++) roots += w->ops[block->first_op + i].deps == 0;
    put_u32(b, block->ops);
    put_u32(b, roots);
    for (uint32_t i = 0; i < block->ops; i++)
        if (!w->ops[block->first_op + i].deps) put_u32(b, i);
    for (uint32_t i = 0; i < block->ops; i++) binary_node(b, &w->ops[block->first_op + i], &s, i);
    for (unsigned k = 0; k < 2; k++) sc__put(b, (const char *)s.list[k], s.count[k] * sizeof(uint32_t));
    sc__arena_free(&a);
}

static void write_binary(struct sc__buffer *b, const struct sc__workload *w, uint32_t ranks, uint8_t cpus,
                         uint8_t nics) {
    put_u64(b, MAGIC);
    put_u32(b, ranks);
    sc__putc(b, (char)cpus);
    sc__putc(b, (char)nics);
    size_t table = b->size;
    for (uint32_t r = 0; r < 2 * ranks; r++) put_u64(b, 0);
    for (uint32_t r = 0; r < ranks; r++) {
        uint64_t range[2] = {b->size - 8, 0};
        binary_rank(b, w, r);
        range[1] = b->size - 8;
        memcpy(b->text + table + 16 * (size_t)r, range, sizeof range);
    }
}

/* What the format cannot hold is refused or noted. */
static sc_status inspect(struct sc_context *ctx, const struct sc__workload *w, uint8_t *cpus, uint8_t *nics) {
    uint64_t rounded = 0;
    for (uint32_t i = 0; i < w->op_count; i++) {
        const struct sc__op *op = &w->ops[i];
        rounded += op->kind == SC__OP_COMPUTE && op->cost % 1000;
        if (op->cost < 0) return sc__fail(ctx, SC_INPUT, NULL, NULL, "a calculation of negative time");
        if (op->group > 255) return sc__fail(ctx, SC_INPUT, NULL, NULL, "GOAL has 256 NICs at most");
        if (op->stream >= *cpus) *cpus = (uint8_t)(op->stream + 1);
        if (op->kind != SC__OP_COMPUTE && op->group >= *nics) *nics = (uint8_t)(op->group + 1);
    }
    if (rounded)
        sc__note(ctx, "goal-nanoseconds",
                 "GOAL keeps whole nanoseconds: %llu of the times were rounded to the next one",
                 (unsigned long long)rounded);
    return SC_OK;
}

sc_status sc__write_goal(struct sc_context *ctx, const struct sc__workload *w, const char *path) {
    const struct sc__workload *ranks_only, *messages;
    struct sc__buffer b;
    uint8_t cpus = 1, nics = 1;
    SC__TRY(sc__workload_expand(ctx, w, &ranks_only));
    SC__TRY(sc__workload_messages(ctx, ranks_only, &messages));
    if (ranks_only->group_count)
        sc__note(ctx, "goal-collectives",
                 "GOAL has no collectives: they were written as ring, pairwise and tree messages");
    SC__TRY(inspect(ctx, messages, &cpus, &nics));
    uint32_t ranks = sc__mesh_ranks(&w->mesh);
    sc__buffer_init(&b, &ctx->arena);
    if (sc__str_ends(sc__str(path), ".bin"))
        write_binary(&b, messages, ranks, cpus, nics);
    else {
        sc__printf(&b, "num_ranks %u\n", ranks);
        for (uint32_t r = 0; r < ranks; r++) text_rank(&b, messages, r);
    }
    return sc__write_file(ctx, path, b.text, b.size);
}
