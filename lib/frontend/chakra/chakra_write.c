/* Chakra execution traces out: <dir>/workload.<rank>.et and workload.json with
 * the process groups, such that ASTRA-sim runs them and our reader gives back
 * the same workload. What the format cannot say (picoseconds, streams, phases)
 * is in attributes named stepcast_…, which others step over. */
#include "frontend/formats.h"
#include "workload/expand.h"
#include "workload/match.h"

#include <string.h>

enum { TYPE_METADATA = 1, TYPE_COMP = 4, TYPE_SEND, TYPE_RECV, TYPE_COLL };

static void varint(struct sc__buffer *b, uint64_t v) {
    for (; v >= 0x80; v >>= 7)
        sc__putc(b, (char)(v | 0x80));
    sc__putc(b, (char)v);
}

static void chakra_write_put_number(struct sc__buffer *b, uint32_t field, uint64_t v) {
    varint(b, (uint64_t)field << 3);
    varint(b, v);
}

static void put_bytes(struct sc__buffer *b, uint32_t field, const char *bytes, size_t n) {
    varint(b, (uint64_t)field << 3 | 2);
    varint(b, n);
    sc__put(b, bytes, n);
}

static void put_string(struct sc__buffer *b, uint32_t field, const char *s) {
    put_bytes(b, field, s, strlen(s));
}

struct chakra_write_writer {
    struct sc_context *ctx;
    const struct sc__workload *w;
    uint32_t rank;
    /* reused */
    struct sc__buffer node;
    struct sc__buffer attr;
    struct sc__buffer list;
    struct sc__buffer ids;
};

static void attr_end(struct chakra_write_writer *x) {
    put_bytes(&x->node, 10, x->attr.text, x->attr.size);
    x->attr.size = 0;
}

static void attr_int(struct chakra_write_writer *x, const char *name, int64_t v) {
    put_string(&x->attr, 1, name);
    chakra_write_put_number(&x->attr, 9, (uint64_t)v);
    attr_end(x);
}

static void attr_bool(struct chakra_write_writer *x, const char *name, bool v) {
    put_string(&x->attr, 1, name);
    chakra_write_put_number(&x->attr, 27, v);
    attr_end(x);
}

static void attr_string(struct chakra_write_writer *x, const char *name, const char *v) {
    put_string(&x->attr, 1, name);
    put_string(&x->attr, 29, v);
    attr_end(x);
}

/* Dependencies on the start are control dependencies to others (on the end:
 * stricter), and an attribute tells our reader. */
static void put_deps(struct chakra_write_writer *x, const struct sc__op *op, bool start) {
    for (uint32_t d = 0; d < op->deps; d++) {
        uint32_t dep = x->w->deps[op->first_dep + d];
        if (((dep & SC__DEP_START) != 0) == start)
            varint(&x->list, dep & ~SC__DEP_START);
    }
    if (x->list.size)
        put_bytes(&x->node, start ? 4 : 5, x->list.text, x->list.size);
    if (start && x->list.size) {
        x->ids.size = 0;
        put_bytes(&x->ids, 1, x->list.text, x->list.size);
        put_string(&x->attr, 1, "stepcast_start_deps");
        put_bytes(&x->attr, 14, x->ids.text, x->ids.size);
        attr_end(x);
    }
    x->list.size = 0;
}

static void put_compute(struct chakra_write_writer *x, const struct sc__op *op) {
    attr_bool(x, "is_cpu_op", op->work == SC__WORK_HOST);
    if (op->bytes)
        attr_int(x, "tensor_size", (int64_t)op->bytes);
    attr_int(x, "stepcast_ps", op->cost);
    if (op->kind == SC__OP_WAIT)
        attr_bool(x, "stepcast_wait", true);
}

static void put_message(struct chakra_write_writer *x, const struct sc__op *op) {
    bool send = op->kind == SC__OP_SEND;
    attr_bool(x, "is_cpu_op", false);
    attr_int(x, "comm_src", send ? x->rank : op->peer);
    attr_int(x, "comm_dst", send ? op->peer : x->rank);
    attr_int(x, "comm_size", (int64_t)op->bytes);
    attr_int(x, "comm_tag", op->tag);
}

static void put_collective(struct chakra_write_writer *x, const struct sc__op *op) {
    static const uint8_t types[SC__COLLS] = {[SC__ALLREDUCE] = 0,
                                             [SC__REDUCE] = 1,
                                             [SC__ALLGATHER] = 2,
                                             [SC__BROADCAST] = 5,
                                             [SC__ALLTOALL] = 6,
                                             [SC__REDUCESCATTER] = 7,
                                             [SC__BARRIER] = 9,
                                             [SC__GATHER] = 3,
                                             [SC__SCATTER] = 4,
                                             [SC__SHIFT] = 6};
    bool shard = op->coll == SC__ALLGATHER || op->coll == SC__GATHER;
    uint32_t size = sc__group_size(x->w, op->group);
    attr_bool(x, "is_cpu_op", false);
    attr_int(x, "comm_type", types[op->coll]);
    attr_int(x, "comm_size", (int64_t)(shard ? (op->bytes + size - 1) / size : op->bytes));
    if (shard && op->bytes % size)
        attr_int(x, "stepcast_bytes", (int64_t)op->bytes);
    if (op->coll == SC__SHIFT)
        attr_int(x, "stepcast_shift", 1);
    sc__put_u64(&x->list, op->group + 1u);
    attr_string(x, "pg_name", x->list.text);
    x->list.size = 0;
    attr_string(x, "stepcast_label", x->w->groups[op->group].label);
    if (sc__coll_rooted(op->coll))
        attr_int(x, "root_rank", op->peer);
}

static void put_rest(struct chakra_write_writer *x, const struct sc__op *op) {
    bool transfer =
        op->kind == SC__OP_SEND || op->kind == SC__OP_RECV || op->kind == SC__OP_COLLECTIVE;
    if (transfer && op->cost)
        attr_int(x, "stepcast_ps", op->cost);
    attr_int(x, "stepcast_stream", op->stream);
    attr_int(x, "stepcast_phase", op->phase);
    if (op->work)
        attr_int(x, "stepcast_work", op->work);
    if (op->layer != SC__NONE)
        attr_int(x, "stepcast_layer", op->layer);
    attr_int(x, "stepcast_flags", op->flags);
}

static void end_node(struct chakra_write_writer *x, struct sc__buffer *out) {
    varint(out, x->node.size);
    sc__put(out, x->node.text, x->node.size);
}

static void put_node(struct chakra_write_writer *x,
                     struct sc__buffer *out,
                     uint32_t id,
                     const struct sc__op *op) {
    static const uint8_t types[] = {[SC__OP_COMPUTE] = TYPE_COMP,
                                    [SC__OP_COLLECTIVE] = TYPE_COLL,
                                    [SC__OP_SEND] = TYPE_SEND,
                                    [SC__OP_RECV] = TYPE_RECV,
                                    [SC__OP_WAIT] = TYPE_COMP};
    x->node.size = 0;
    chakra_write_put_number(&x->node, 1, id);
    put_string(&x->node, 2, x->w->names.text[op->name]);
    chakra_write_put_number(&x->node, 3, types[op->kind]);
    put_deps(x, op, true);
    put_deps(x, op, false);
    if (op->kind == SC__OP_COMPUTE)
        chakra_write_put_number(&x->node,
                                7,
                                ((uint64_t)op->cost + SC__PS_PER_US / 2) / SC__PS_PER_US);
    if (op->kind == SC__OP_COMPUTE || op->kind == SC__OP_WAIT)
        put_compute(x, op);
    else if (op->kind == SC__OP_COLLECTIVE)
        put_collective(x, op);
    else
        put_message(x, op);
    put_rest(x, op);
    end_node(x, out);
}

static sc_status write_rank(struct chakra_write_writer *x, const char *dir) {
    const struct sc__block *b = sc__rank_block(x->w, x->rank);
    struct sc__output *o;
    SC__TRY(sc__output_open(x->ctx,
                            sc__format(&x->ctx->arena, "%s/workload.%u.et", dir, x->rank),
                            &o));
    x->node.size = 0;
    put_string(&x->node, 1, "0.0.4");
    end_node(x, &o->buffer);
    for (uint32_t i = 0; i < b->ops; i++)
        put_node(x, &o->buffer, i, &x->w->ops[b->first_op + i]);
    return sc__output_end(o, SC_OK);
}

static sc_status
write_groups(struct sc_context *ctx, const struct sc__workload *w, const char *dir) {
    struct sc__buffer b;
    struct sc__json j;
    sc__buffer_init(&b, &ctx->arena);
    sc__json_init(&j, &b);
    sc__json_object(&j, NULL);
    for (uint32_t g = 0; g < w->group_count; g++) {
        sc__json_list(&j, sc__format(&ctx->arena, "%u", g + 1));
        for (uint32_t i = 0; i < sc__group_size(w, (uint16_t)g); i++)
            sc__json_u64(&j, NULL, sc__group_member(w, (uint16_t)g, 0, i));
        sc__json_end_array(&j);
    }
    sc__json_end_object(&j);
    return sc__write_file(ctx,
                          sc__format(&ctx->arena, "%s/workload.json", dir),
                          b.text,
                          b.size);
}

static sc_status inspect(struct sc_context *ctx, const struct sc__workload *w) {
    uint64_t rounded = 0;
    for (uint32_t i = 0; i < w->op_count; i++) {
        const struct sc__op *op = &w->ops[i];
        rounded += op->kind == SC__OP_COMPUTE && op->cost % SC__PS_PER_US;
        if (op->flags & (SC__OP_ANY_PEER | SC__OP_ANY_TAG))
            return sc__fail(ctx,
                            SC_INPUT,
                            NULL,
                            NULL,
                            "Chakra has no receives from any rank or of any tag");
    }
    if (rounded)
        sc__note(ctx,
                 "chakra-microseconds",
                 "Chakra keeps whole microseconds: %llu durations were rounded, the exact "
                 "ones are in stepcast_ps",
                 (unsigned long long)rounded);
    return SC_OK;
}

/* A file of a rank that will be written over. */
static bool is_rank_of(const void *self, const char *name) {
    struct sc__str number = sc__str(name);
    uint32_t rank;
    if (!sc__str_starts(number, "workload.") || !sc__str_ends(number, ".et"))
        return false;
    number.p += strlen("workload.");
    number.n -= strlen("workload.") + strlen(".et");
    return sc__parse_u32(number, &rank) && rank < sc__mesh_ranks(self);
}

sc_status
sc__write_chakra(struct sc_context *ctx, const struct sc__workload *w, const char *dir) {
    struct chakra_write_writer x = {.ctx = ctx};
    SC__TRY(sc__workload_expand(ctx, w, &x.w));
    SC__TRY(inspect(ctx, x.w));
    SC__TRY(sc__output_folder(ctx, dir, "*.et*", is_rank_of, &x.w->mesh));
    sc__buffer_init(&x.node, &ctx->arena);
    sc__buffer_init(&x.attr, &ctx->arena);
    sc__buffer_init(&x.list, &ctx->arena);
    sc__buffer_init(&x.ids, &ctx->arena);
    if (x.w->group_count)
        SC__TRY(write_groups(ctx, x.w, dir));
    for (; x.rank < sc__mesh_ranks(&x.w->mesh); x.rank++)
        SC__TRY(write_rank(&x, dir));
    return SC_OK;
}
