/* GOAL out: text, or the packed binary form (frontend/goal/goal_binary.c describes
 * it). Times are whole nanoseconds there; what is lost is said in a note.
 * Collectives are many messages each, so ranks are made and written one by one;
 * the binary form, which begins with the place of each, makes them twice. */
#include "frontend/formats.h"
#include "frontend/goal/messages.h"
#include "workload/expand.h"
#include "workload/match.h"

#include <string.h>

enum { MAGIC = 4223, NODE = 39, HEAD = 6 /* after the magic number */ };

static uint64_t calc_ns(const struct sc__op *op) {
    return ((uint64_t)op->cost + 500) / 1000;
}

static uint32_t peer_of(const struct sc__op *op) {
    return op->flags & SC__OP_ANY_PEER ? UINT32_MAX : op->peer;
}
static uint32_t tag_of(const struct sc__op *op) {
    return op->flags & SC__OP_ANY_TAG ? UINT32_MAX : op->tag;
}

static void goal_write_put_number(struct sc__buffer *b, const char *before, uint64_t v) {
    sc__puts(b, before);
    sc__put_u64(b, v);
}

/* A rank or tag, or -1 for any. */
static void put_choice(struct sc__buffer *b, const char *before, uint32_t v) {
    if (v != UINT32_MAX)
        goal_write_put_number(b, before, v);
    else {
        sc__puts(b, before);
        sc__puts(b, "-1");
    }
}

static void text_node(struct sc__buffer *b, uint32_t i, const struct sc__op *op) {
    goal_write_put_number(b, "l", i);
    if (op->kind == SC__OP_COMPUTE)
        goal_write_put_number(b, ": calc ", calc_ns(op));
    else {
        bool send = op->kind == SC__OP_SEND;
        goal_write_put_number(b, send ? ": send " : ": recv ", op->bytes);
        put_choice(b, send ? "b to " : "b from ", peer_of(op));
        put_choice(b, " tag ", tag_of(op));
    }
    if (op->stream)
        goal_write_put_number(b, " cpu ", op->stream);
    if (op->group)
        goal_write_put_number(b, " nic ", op->group);
    sc__putc(b, '\n');
}

static void text_rank(struct sc__buffer *b, const struct sc__workload *w, uint32_t rank) {
    const struct sc__block *block = &w->blocks[0];
    sc__printf(b, "\nrank %u {\n", rank);
    for (uint32_t i = 0; i < block->ops; i++)
        text_node(b, i, &w->ops[block->first_op + i]);
    for (uint32_t i = 0; i < block->ops; i++) {
        const struct sc__op *op = &w->ops[block->first_op + i];
        for (uint32_t d = 0; d < op->deps; d++) {
            uint32_t dep = w->deps[op->first_dep + d];
            goal_write_put_number(b, "l", i);
            goal_write_put_number(b,
                                  dep & SC__DEP_START ? " irequires l" : " requires l",
                                  dep & ~SC__DEP_START);
            sc__putc(b, '\n');
        }
    }
    sc__puts(b, "}\n");
}

static void put_u32(struct sc__buffer *b, uint32_t v) {
    sc__put(b, (const char *)&v, sizeof v);
}
static void put_u64(struct sc__buffer *b, uint64_t v) {
    sc__put(b, (const char *)&v, sizeof v);
}

/* Successors of a rank's nodes; [0] after the end, [1] after the start. */
struct successors {
    uint32_t *first[2]; /* by node, and one more */
    uint32_t *list[2];
    uint32_t count[2];
};

static struct successors successors_of(struct sc__arena *a,
                                       const struct sc__workload *w,
                                       const struct sc__block *b) {
    struct successors s = {0};
    uint32_t deps = 0;
    for (uint32_t i = 0; i < b->ops; i++)
        deps += w->ops[b->first_op + i].deps;
    for (unsigned k = 0; k < 2; k++) {
        s.first[k] = SC__NEW_ARRAY(a, uint32_t, (size_t)b->ops + 2);
        s.list[k] = SC__NEW_ARRAY(a, uint32_t, deps);
    }
    for (unsigned fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < b->ops; i++) {
            const struct sc__op *op = &w->ops[b->first_op + i];
            for (uint32_t d = 0; d < op->deps; d++) {
                uint32_t dep = w->deps[op->first_dep + d];
                uint32_t on = dep & ~SC__DEP_START;
                unsigned k = (dep & SC__DEP_START) != 0;
                if (!fill)
                    s.first[k][on + 2]++;
                else
                    s.list[k][s.first[k][on + 1]++] = i;
            }
        }
        for (unsigned k = 0; k < 2 && !fill; k++)
            for (uint32_t i = 1; i < b->ops + 2; i++)
                s.first[k][i] += s.first[k][i - 1];
    }
    for (unsigned k = 0; k < 2; k++)
        s.count[k] = s.first[k][b->ops];
    return s;
}

static void binary_node(struct sc__buffer *b,
                        const struct sc__op *op,
                        const struct successors *s,
                        uint32_t i) {
    static const uint8_t types[] =
        {[SC__OP_COMPUTE] = 3, [SC__OP_SEND] = 1, [SC__OP_RECV] = 2};
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

static void binary_rank(struct sc__buffer *b, const struct sc__workload *w) {
    const struct sc__block *block = &w->blocks[0];
    struct sc__arena a;
    sc__arena_init(&a);
    struct successors s = successors_of(&a, w, block);
    uint32_t roots = 0;
    for (uint32_t i = 0; i < block->ops; i++)
        roots += w->ops[block->first_op + i].deps == 0;
    put_u32(b, block->ops);
    put_u32(b, roots);
    for (uint32_t i = 0; i < block->ops; i++)
        if (!w->ops[block->first_op + i].deps)
            put_u32(b, i);
    for (uint32_t i = 0; i < block->ops; i++)
        binary_node(b, &w->ops[block->first_op + i], &s, i);
    for (unsigned k = 0; k < 2; k++)
        sc__put(b, (const char *)s.list[k], s.count[k] * sizeof(uint32_t));
    sc__arena_free(&a);
}

static uint64_t binary_size(const struct sc__workload *w) {
    uint64_t size = 2 * sizeof(uint32_t) + (uint64_t)w->op_count * NODE;
    for (uint32_t i = 0; i < w->op_count; i++)
        size += sizeof(uint32_t) * (w->ops[i].deps ? w->ops[i].deps : 1);
    return size;
}

/* Places count from after the magic number. */
static sc_status
binary_table(struct sc__buffer *b, struct sc__messages *m, uint32_t ranks) {
    const struct sc__workload *w;
    uint64_t at = HEAD + (uint64_t)ranks * 16;
    for (uint32_t r = 0; r < ranks; r++) {
        SC__TRY(sc__messages_of_rank(m, r, &w));
        put_u64(b, at);
        put_u64(b, at += binary_size(w));
    }
    return SC_OK;
}

static sc_status write_binary(struct sc__buffer *b,
                              struct sc__messages *m,
                              uint32_t ranks,
                              uint8_t cpus,
                              uint8_t nics) {
    const struct sc__workload *w;
    put_u64(b, MAGIC);
    put_u32(b, ranks);
    sc__putc(b, (char)cpus);
    sc__putc(b, (char)nics);
    SC__TRY(binary_table(b, m, ranks));
    for (uint32_t r = 0; r < ranks; r++) {
        SC__TRY(sc__messages_of_rank(m, r, &w));
        binary_rank(b, w);
    }
    return SC_OK;
}

static sc_status
goal_write_write_text(struct sc__buffer *b, struct sc__messages *m, uint32_t ranks) {
    const struct sc__workload *w;
    sc__printf(b, "num_ranks %u\n", ranks);
    for (uint32_t r = 0; r < ranks; r++) {
        SC__TRY(sc__messages_of_rank(m, r, &w));
        text_rank(b, w, r);
    }
    return SC_OK;
}

/* What the format cannot hold is refused or noted. Every cost of w becomes the
 * time of one calculation; NICs are named by messages only. */
static sc_status inspect(struct sc_context *ctx,
                         const struct sc__workload *w,
                         uint8_t *cpus,
                         uint8_t *nics) {
    uint64_t rounded = 0;
    for (uint32_t i = 0; i < w->op_count; i++) {
        const struct sc__op *op = &w->ops[i];
        bool message = op->kind == SC__OP_SEND || op->kind == SC__OP_RECV;
        rounded += op->cost % 1000 != 0;
        if (op->cost < 0)
            return sc__fail(ctx, SC_INPUT, NULL, NULL, "a calculation of negative time");
        if (message && op->group > 255)
            return sc__fail(ctx, SC_INPUT, NULL, NULL, "GOAL has 256 NICs at most");
        if (op->stream >= *cpus)
            *cpus = (uint8_t)(op->stream + 1);
        if (message && op->group >= *nics)
            *nics = (uint8_t)(op->group + 1);
    }
    if (rounded)
        sc__note(
            ctx,
            "goal-nanoseconds",
            "GOAL keeps whole nanoseconds: %llu of the times were rounded to the next one",
            (unsigned long long)rounded);
    return SC_OK;
}

sc_status
sc__write_goal(struct sc_context *ctx, const struct sc__workload *w, const char *path) {
    const struct sc__workload *ranks_only;
    struct sc__output *o;
    uint32_t ranks = sc__mesh_ranks(&w->mesh);
    uint8_t cpus = 1;
    uint8_t nics = 1;
    SC__TRY(sc__workload_expand(ctx, w, &ranks_only));
    if (ranks_only->group_count)
        sc__note(ctx,
                 "goal-collectives",
                 "GOAL has no collectives: they were written as ring, pairwise and tree "
                 "messages");
    SC__TRY(inspect(ctx, ranks_only, &cpus, &nics));
    struct sc__messages *m = sc__messages_new(ctx, ranks_only);
    SC__TRY(sc__output_open(ctx, path, &o));
    bool binary = sc__str_ends(sc__str(path), ".bin");
    return sc__output_end(o,
                          binary ? write_binary(&o->buffer, m, ranks, cpus, nics)
                                 : goal_write_write_text(&o->buffer, m, ranks));
}
