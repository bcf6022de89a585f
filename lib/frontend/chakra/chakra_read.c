/* Chakra execution traces: one file a rank, {length, message}*, no count and
 * no checksum, so everything that can be checked is: the framing to the last
 * byte, ids, dependencies, cycles, and that every message and collective has
 * its counterpart on the other ranks. Nodes are ordered by id, as their writers
 * number them in program order. */
#include "frontend/chakra/chakra.h"

#include "hardware/cluster.h"
#include "hardware/gpu.h"
#include "workload/match.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of one rank's file: 4 GiB, or what a 32-bit size_t can count. */
#define LARGEST ((size_t)(SIZE_MAX / 4 < 4ull << 30 ? SIZE_MAX / 4 : 4ull << 30))

enum { STREAM_COMPUTE, STREAM_CPU, STREAM_MESSAGES, STREAM_COLLECTIVES };

struct chakra_read_reader {
    struct sc_context *ctx;
    struct sc__workload *w;
    struct sc__chakra_files files;
    struct sc__chakra_groups groups;
    uint32_t *blocks;  /* by rank */
    uint64_t *ids;     /* node ids by operation, for errors */
    uint64_t *offsets; /* … and where they stand */
    uint32_t id_count;
    uint32_t id_capacity;
    uint32_t offset_count;
    uint32_t offset_capacity;
    /* FLOP/s, bytes/s */
    double peak;
    const char *rate_given; /* an option for nodes without a duration, or NULL */
    double bandwidth;
    bool slots;
    uint64_t untimed;  /* compute nodes without any time */
    uint64_t roofline; /* nodes timed by the roofline */
    uint64_t parents;  /* of PyTorch: dependencies on nodes left out; … by time alone */
    uint64_t measured;
    /* of the rank being read */
    bool pytorch;
    uint32_t rank;
    uint32_t alone; /* group of it alone + 1; 0: none yet */
    struct sc__arena memory;
    struct sc__str file;
    struct sc__chakra_node *nodes;
    uint32_t node_count;
    uint32_t node_capacity;
    struct sc__id_list deps;
    uint32_t *seen;    /* by node: the last one, + 1, that waits for it */
    uint32_t *started; /* … for its start */
    struct sc__edge *edges;
    uint32_t edge_count;
    uint32_t edge_capacity;
};

static struct sc__place chakra_read_place(const struct chakra_read_reader *r,
                                          uint64_t offset) {
    return (
        struct sc__place){.file = r->files.path[r->rank], .binary = true, .offset = offset};
}

static sc_status node_error(struct chakra_read_reader *r,
                            const struct sc__chakra_node *n,
                            const char *hint,
                            const char *what) {
    struct sc__place at = chakra_read_place(r, n->offset);
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &at,
                    hint,
                    "node %llu '%.*s': %s",
                    (unsigned long long)n->id,
                    SC__SHOW(n->name),
                    what);
}

/* ---- framing ---- */

static sc_status chakra_read_cut(struct chakra_read_reader *r, uint64_t offset) {
    struct sc__place at = chakra_read_place(r, offset);
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &at,
                    "the file is truncated or damaged",
                    "message %u ends beyond the end of the file",
                    r->node_count);
}

static bool frame(struct sc__str file, size_t *at, struct sc__str *message) {
    uint64_t n = 0;
    unsigned shift = 0;
    for (;;) {
        if (*at == file.n || shift > 28)
            return false;
        unsigned char c = (unsigned char)file.p[(*at)++];
        n |= (uint64_t)(c & 0x7f) << shift;
        shift += 7;
        if (!(c & 0x80))
            break;
    }
    if (n > file.n - *at)
        return false;
    *message = (struct sc__str){file.p + *at, (size_t)n};
    *at += n;
    return true;
}

static sc_status
decode_error(struct chakra_read_reader *r, uint64_t offset, const char *wrong) {
    struct sc__place at = chakra_read_place(r, offset);
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &at,
                    "the file is truncated or damaged, or is not a Chakra trace",
                    "message %u: %s",
                    r->node_count,
                    wrong);
}

static sc_status read_json_nodes(struct chakra_read_reader *r) {
    struct sc__chakra_nodes nodes = {0};
    size_t at = 0;
    const char *wrong = sc__chakra_decode_json(&r->memory, r->file, &nodes, &r->deps, &at);
    r->nodes = nodes.items;
    r->node_count = nodes.count;
    return wrong ? decode_error(r, at, wrong) : SC_OK;
}

static sc_status read_nodes(struct chakra_read_reader *r) {
    struct sc__str message;
    size_t at = 0;
    size_t inside = 0;
    if (!frame(r->file, &at, &message))
        return chakra_read_cut(r, 0);
    const char *wrong =
        sc__chakra_metadata((const unsigned char *)message.p, message.n, &inside);
    if (wrong)
        return decode_error(r, inside + 1, wrong);
    while (at < r->file.n) {
        size_t begin = at;
        if (!frame(r->file, &at, &message))
            return chakra_read_cut(r, begin);
        struct sc__chakra_node *n =
            SC__PUSH(&r->memory, r->nodes, r->node_count, r->node_capacity);
        wrong = sc__chakra_decode(&r->memory,
                                  (const unsigned char *)message.p,
                                  message.n,
                                  n,
                                  &r->deps,
                                  &inside);
        if (wrong)
            return decode_error(r, (uint64_t)(message.p - r->file.p) + inside, wrong);
        n->offset = (uint64_t)(message.p - r->file.p);
    }
    return SC_OK;
}

static int by_id(const void *a, const void *b) {
    const struct sc__chakra_node *x = a;
    const struct sc__chakra_node *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static sc_status sort_nodes(struct chakra_read_reader *r) {
    bool sorted = true;
    for (uint32_t i = 1; i < r->node_count; i++)
        sorted = sorted && r->nodes[i - 1].id < r->nodes[i].id;
    if (!sorted)
        qsort(r->nodes, r->node_count, sizeof *r->nodes, by_id);
    for (uint32_t i = 1; i < r->node_count; i++)
        if (r->nodes[i].id == r->nodes[i - 1].id)
            return node_error(r,
                              &r->nodes[i],
                              "ids are unique within a file",
                              "the id is used twice");
    return SC_OK;
}

/* ---- dependencies ---- */

static uint32_t find_node(const struct chakra_read_reader *r, uint64_t id) {
    uint64_t guess =
        r->node_count ? id - r->nodes[0].id : 0; /* right when ids have no gaps */
    if (guess < r->node_count && r->nodes[guess].id == id)
        return (uint32_t)guess;
    uint32_t low = 0;
    uint32_t high = r->node_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (r->nodes[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->node_count && r->nodes[low].id == id ? low : SC__NONE;
}

static void mark_starts(struct chakra_read_reader *r, uint32_t i) {
    const struct sc__chakra_node *n = &r->nodes[i];
    for (uint32_t d = 0; d < n->start_deps; d++) {
        uint32_t on = find_node(r, r->deps.ids[n->first_start + d]);
        if (on != SC__NONE)
            r->started[on] = i + 1;
    }
}

static sc_status add_edges(struct chakra_read_reader *r, uint32_t i) {
    const struct sc__chakra_node *n = &r->nodes[i];
    mark_starts(r, i);
    for (uint32_t d = 0; d < n->deps; d++) {
        uint64_t id = r->deps.ids[n->first_dep + d];
        uint32_t on = find_node(r, id);
        /* nodes are numbered in the order they were made; of what comes later only
         * in-place operators seem to depend */
        if ((on == SC__NONE || on >= i) && r->pytorch && ++r->parents)
            continue;
        if (on == SC__NONE)
            return node_error(r,
                              n,
                              "a dependency is the id of a node in the same file",
                              sc__format(&r->ctx->arena,
                                         "depends on node %llu, which does not exist",
                                         (unsigned long long)id));
        if (on == i)
            return node_error(r, n, NULL, "depends on itself");
        if (r->seen[on] == i + 1)
            continue; /* a data and a control dependency */
        r->seen[on] = i + 1;
        if (r->started[on] == i + 1)
            on |= SC__DEP_START;
        *SC__PUSH(&r->memory, r->edges, r->edge_count, r->edge_capacity) =
            (struct sc__edge){i, on};
    }
    return SC_OK;
}

/* ---- nodes to operations ---- */

static bool has(const struct sc__chakra_node *n, enum sc__chakra_attr a) {
    return n->has >> a & 1;
}

static int64_t roofline(struct chakra_read_reader *r, const struct sc__chakra_node *n) {
    double flops = has(n, SC__ATTR_NUM_OPS) ? (double)n->number[SC__ATTR_NUM_OPS] : 0;
    double bytes =
        has(n, SC__ATTR_TENSOR_SIZE) ? (double)n->number[SC__ATTR_TENSOR_SIZE] : 0;
    double by_compute = flops / r->peak;
    double by_memory = bytes / r->bandwidth;
    double s = by_compute > by_memory ? by_compute : by_memory;
    if (s > 0)
        r->roofline++;
    return s > 0 && s < 1e6 ? llround(s * 1e12) : 0;
}

/* Nothing says how long it takes. A duration of 0 us is not written down either, so
 * this is no error. */
static bool is_untimed(const struct sc__chakra_node *n) {
    return !has(n, SC__ATTR_PS) && !n->duration_us && !n->number[SC__ATTR_NUM_OPS] &&
           !n->number[SC__ATTR_TENSOR_SIZE];
}

static sc_status
set_time(struct chakra_read_reader *r, const struct sc__chakra_node *n, struct sc__op *op) {
    if (has(n, SC__ATTR_PS))
        op->cost = n->number[SC__ATTR_PS];
    else if (n->duration_us > (uint64_t)1e12)
        return node_error(r, n, NULL, "takes more than 11 days");
    else if (n->duration_us)
        op->cost = (int64_t)n->duration_us * SC__PS_PER_US;
    else if (n->type != SC__CHAKRA_METADATA)
        op->cost = roofline(r, n);
    if (op->cost < 0)
        return node_error(r, n, NULL, "has a negative duration");
    if (n->number[SC__ATTR_NUM_OPS] < 0)
        return node_error(r, n, NULL, "a negative num_ops");
    if (n->number[SC__ATTR_TENSOR_SIZE] < 0)
        return node_error(r, n, NULL, "a negative tensor_size");
    if (n->type == SC__CHAKRA_COMP && is_untimed(n))
        r->untimed++;
    if (has(n, SC__ATTR_TENSOR_SIZE))
        op->bytes = (uint64_t)n->number[SC__ATTR_TENSOR_SIZE];
    bool memory = n->type == SC__CHAKRA_LOAD || n->type == SC__CHAKRA_STORE;
    op->work = memory                          ? SC__WORK_COPY
               : n->number[SC__ATTR_IS_CPU_OP] ? SC__WORK_HOST
                                               : SC__WORK_OTHER;
    op->stream = n->number[SC__ATTR_IS_CPU_OP] ? STREAM_CPU : STREAM_COMPUTE;
    return SC_OK;
}

static sc_status
find_group(struct chakra_read_reader *r, const struct sc__chakra_node *n, uint16_t *group) {
    uint32_t id = n->pg_name.n
                      ? sc__names_find(&r->groups.names, n->pg_name.p, n->pg_name.n)
                      : SC__NO_NAME;
    /* "0.0" is 0 to ASTRA-sim, which reads the whole number in front */
    size_t whole = 0;
    while (whole < n->pg_name.n && n->pg_name.p[whole] >= '0' && n->pg_name.p[whole] <= '9')
        whole++;
    bool decimal = whole && whole < n->pg_name.n && n->pg_name.p[whole] == '.';
    if (id == SC__NO_NAME && decimal)
        id = sc__names_find(&r->groups.names, n->pg_name.p, whole);
    if (id != SC__NO_NAME)
        *group = r->groups.group[id];
    else if (n->pg_name.n && !sc__str_is(n->pg_name, "0"))
        return node_error(r,
                          n,
                          sc__chakra_groups_hint(r->ctx, chakra_read_place(r, 0).file),
                          sc__format(&r->ctx->arena,
                                     "process group '%.*s' is not defined",
                                     SC__SHOW(n->pg_name)));
    else if (n->partial)
        return node_error(r,
                          n,
                          "say which ranks they are: a pg_name, and a file of process "
                          "groups (--comm-group)",
                          "runs over some dimensions of a network alone (involved_dim), "
                          "which is not in the trace");
    else
        *group = sc__workload_group(r->w, SC__GROUP_WORLD);
    if (n->label.n)
        r->w->groups[*group].label =
            r->w->names.text[sc__names_add(&r->w->names, n->label.p, n->label.n)];
    return SC_OK;
}

/* Of a message only its time on this rank is known, with what it waited. */
static sc_status set_alone(struct chakra_read_reader *r,
                           const struct sc__chakra_node *n,
                           struct sc__op *op) {
    if (!r->alone && r->w->group_count == UINT16_MAX)
        return node_error(r, n, NULL, "more than 65535 process groups in all");
    if (!r->alone)
        r->alone = 1u + sc__workload_group_list(r->w, "p2p", &r->rank, 1);
    op->coll = SC__SHIFT;
    op->group = (uint16_t)(r->alone - 1);
    return SC_OK;
}

static sc_status set_collective(struct chakra_read_reader *r,
                                const struct sc__chakra_node *n,
                                struct sc__op *op) {
    static const uint8_t kinds[10] = {SC__ALLREDUCE,
                                      SC__REDUCE,
                                      SC__ALLGATHER,
                                      SC__GATHER,
                                      SC__SCATTER,
                                      SC__BROADCAST,
                                      SC__ALLTOALL,
                                      SC__REDUCESCATTER,
                                      SC__REDUCESCATTER,
                                      SC__BARRIER};
    int64_t type = n->number[SC__ATTR_COMM_TYPE];
    int64_t size = n->number[SC__ATTR_COMM_SIZE];
    if (!has(n, SC__ATTR_COMM_TYPE) && r->pytorch && ++r->measured) {
        sc__chakra_measured(r->w, n, STREAM_COLLECTIVES, op);
        return sc__chakra_is_message(n) ? set_alone(r, n, op) : SC_OK;
    }
    if (!has(n, SC__ATTR_COMM_TYPE))
        return node_error(r, n, NULL, "a collective without comm_type");
    if (type < 0 || type > 9)
        return node_error(
            r,
            n,
            "the schema has 0 (ALL_REDUCE) to 9 (BARRIER)",
            sc__format(&r->ctx->arena, "comm_type %lld is not known", (long long)type));
    if (size < 0)
        return node_error(r, n, NULL, "a negative comm_size");
    if (!has(n, SC__ATTR_COMM_SIZE) && kinds[type] != SC__BARRIER)
        return node_error(r,
                          n,
                          "comm_size is its bytes; 0 must be written, too",
                          "a collective without comm_size");
    SC__TRY(find_group(r, n, &op->group));
    op->coll =
        has(n, SC__ATTR_SHIFT) && kinds[type] == SC__ALLTOALL ? SC__SHIFT : kinds[type];
    op->bytes = (uint64_t)size;
    bool shard = op->coll == SC__ALLGATHER || op->coll == SC__GATHER;
    if (shard &&
        __builtin_mul_overflow(op->bytes, sc__group_size(r->w, op->group), &op->bytes))
        return node_error(r, n, NULL, "more than 2^64 bytes");
    if (sc__coll_rooted(op->coll))
        op->peer = has(n, SC__ATTR_ROOT) ? (uint32_t)n->number[SC__ATTR_ROOT]
                                         : sc__group_member(r->w, op->group, 0, 0);
    op->stream =
        (uint8_t)(STREAM_COLLECTIVES + op->group % (SC__MAX_STREAMS - STREAM_COLLECTIVES));
    return SC_OK;
}

static sc_status set_message(struct chakra_read_reader *r,
                             const struct sc__chakra_node *n,
                             struct sc__op *op) {
    enum sc__chakra_attr who =
        n->type == SC__CHAKRA_SEND ? SC__ATTR_COMM_DST : SC__ATTR_COMM_SRC;
    int64_t peer = n->number[who];
    int64_t size = n->number[SC__ATTR_COMM_SIZE];
    if (!has(n, who))
        return node_error(r,
                          n,
                          NULL,
                          who == SC__ATTR_COMM_DST ? "a send without comm_dst"
                                                   : "a receive without comm_src");
    if (peer < 0 || peer >= r->files.count || peer == r->rank)
        return node_error(r,
                          n,
                          "peers are the other ranks of this trace",
                          sc__format(&r->ctx->arena,
                                     "rank %lld is not another one of the %u ranks",
                                     (long long)peer,
                                     r->files.count));
    if (!has(n, SC__ATTR_COMM_SIZE) || size < 0)
        return node_error(r, n, NULL, "a message without a size");
    op->peer = (uint32_t)peer;
    op->bytes = (uint64_t)size;
    op->tag = (uint32_t)n->number[SC__ATTR_COMM_TAG];
    op->stream = STREAM_MESSAGES;
    if (n->type == SC__CHAKRA_SEND)
        op->flags = SC__OP_EAGER;
    return SC_OK;
}

/* What only files of ours have. */
static void restore(const struct chakra_read_reader *r,
                    const struct sc__chakra_node *n,
                    struct sc__op *op) {
    if (n->type >= SC__CHAKRA_SEND && n->number[SC__ATTR_PS] > 0)
        op->cost = n->number[SC__ATTR_PS];
    if (has(n, SC__ATTR_STREAM))
        op->stream = (uint8_t)(n->number[SC__ATTR_STREAM] & (SC__MAX_STREAMS - 1));
    if (has(n, SC__ATTR_PHASE) && (uint64_t)n->number[SC__ATTR_PHASE] < SC__PHASES)
        op->phase = (uint8_t)n->number[SC__ATTR_PHASE];
    if (has(n, SC__ATTR_WORK) && (uint64_t)n->number[SC__ATTR_WORK] < SC__WORKS)
        op->work = (uint8_t)n->number[SC__ATTR_WORK];
    if (has(n, SC__ATTR_LAYER))
        op->layer = (uint32_t)n->number[SC__ATTR_LAYER];
    if (has(n, SC__ATTR_FLAGS))
        op->flags =
            (uint8_t)(n->number[SC__ATTR_FLAGS] &
                      (SC__OP_EAGER | SC__OP_MEASURED | SC__OP_ANY_PEER | SC__OP_ANY_TAG));
    if (has(n, SC__ATTR_BYTES) && n->type == SC__CHAKRA_COLL)
        op->bytes = (uint64_t)n->number[SC__ATTR_BYTES];
    if (has(n, SC__ATTR_WAIT) && n->type == SC__CHAKRA_COMP)
        op->kind = SC__OP_WAIT;
    if (r->slots)
        op->stream = op->kind == SC__OP_COMPUTE ? op->stream : STREAM_MESSAGES;
}

static sc_status add_op(struct chakra_read_reader *r, const struct sc__chakra_node *n) {
    static const uint8_t kinds[SC__CHAKRA_TYPES] = {0,
                                                    SC__OP_WAIT,
                                                    SC__OP_COMPUTE,
                                                    SC__OP_COMPUTE,
                                                    SC__OP_COMPUTE,
                                                    SC__OP_SEND,
                                                    SC__OP_RECV,
                                                    SC__OP_COLLECTIVE};
    struct sc__workload *w = r->w;
    struct sc__op *op = SC__PUSH(w->arena, w->ops, w->op_count, w->op_capacity);
    op->kind = kinds[n->type];
    op->name = sc__names_add(&w->names, n->name.p ? n->name.p : "", n->name.n);
    op->row = op->layer = op->peer = SC__NONE;
    if (n->type == SC__CHAKRA_COLL)
        SC__TRY(set_collective(r, n, op));
    else if (n->type >= SC__CHAKRA_SEND)
        SC__TRY(set_message(r, n, op));
    else
        SC__TRY(set_time(r, n, op));
    restore(r, n, op);
    *SC__PUSH(w->arena, r->ids, r->id_count, r->id_capacity) = n->id;
    *SC__PUSH(w->arena, r->offsets, r->offset_count, r->offset_capacity) = n->offset;
    return SC_OK;
}

static sc_status define_groups(struct chakra_read_reader *r) {
    r->pytorch = sc__chakra_is_pytorch(r->nodes, r->node_count);
    for (uint32_t i = 0; i < r->node_count; i++) {
        struct sc__place at = chakra_read_place(r, r->nodes[i].offset);
        if (r->nodes[i].type == SC__CHAKRA_METADATA && r->nodes[i].inputs.n)
            SC__TRY(
                sc__chakra_groups_text(r->ctx, r->w, r->nodes[i].inputs, &at, &r->groups));
    }
    return SC_OK;
}

static sc_status make_block(struct chakra_read_reader *r) {
    struct sc__workload *w = r->w;
    SC__TRY(define_groups(r));
    r->seen = SC__NEW_ARRAY(&r->memory, uint32_t, r->node_count);
    r->started = SC__NEW_ARRAY(&r->memory, uint32_t, r->node_count);
    sc__block_begin(w);
    for (uint32_t i = 0; i < r->node_count; i++) {
        SC__TRY(add_op(r, &r->nodes[i]));
        SC__TRY(add_edges(r, i));
    }
    uint32_t block = r->blocks[r->rank] = sc__block_end(w);
    w->blocks[block].graph = true;
    w->blocks[block].slots = r->slots;
    uint32_t many = sc__block_set_edges(w, block, r->edges, r->edge_count);
    if (many != SC__NONE)
        return node_error(r, &r->nodes[many], NULL, "more than 65535 dependencies");
    uint32_t loop = sc__block_cycle(w, block);
    if (loop != SC__NONE)
        return node_error(r,
                          &r->nodes[loop],
                          "dependencies must not form a cycle",
                          "depends on itself through other nodes: a cycle");
    return SC_OK;
}

static sc_status read_rank(struct chakra_read_reader *r) {
    sc_status status =
        sc__read_into(r->ctx, &r->memory, r->files.path[r->rank], LARGEST, &r->file);
    r->alone = 0;
    r->nodes = NULL;
    r->edges = NULL;
    r->deps = (struct sc__id_list){0};
    r->node_count = r->node_capacity = r->edge_count = r->edge_capacity = 0;
    struct sc__str name = sc__str(r->files.path[r->rank]);
    if (status == SC_OK)
        status = sc__chakra_name(&name) ? read_nodes(r) : read_json_nodes(r);
    if (status == SC_OK)
        status = sort_nodes(r);
    if (status == SC_OK)
        status = make_block(r);
    sc__arena_free(&r->memory);
    return status;
}

/* ---- across ranks ---- */

static const char *name_of(const struct chakra_read_reader *r, uint32_t op) {
    return r->w->names.text[r->w->ops[op].name];
}

static sc_status mismatch(struct chakra_read_reader *r, const struct sc__mismatch *m) {
    const struct sc__op *op = &r->w->ops[m->op];
    struct sc__place at = {.file = r->files.path[m->rank],
                           .binary = true,
                           .offset = r->offsets[m->op]};
    const char *node = sc__format(&r->ctx->arena,
                                  "node %llu '%s'",
                                  (unsigned long long)r->ids[m->op],
                                  name_of(r, m->op));
    const char *peer_file = r->files.path[m->peer_rank];
    unsigned long long bytes = op->bytes;
    const char *other = m->peer_op == SC__NONE
                            ? ""
                            : sc__format(&r->ctx->arena,
                                         "node %llu '%s' of rank %u (%s), %s of %llu bytes",
                                         (unsigned long long)r->ids[m->peer_op],
                                         name_of(r, m->peer_op),
                                         m->peer_rank,
                                         peer_file,
                                         op->kind == SC__OP_COLLECTIVE
                                             ? sc__coll_name(r->w->ops[m->peer_op].coll)
                                             : "receive",
                                         (unsigned long long)r->w->ops[m->peer_op].bytes);
    switch (m->kind) {
    case SC__MATCH_NO_RECV:
        return sc__fail(
            r->ctx,
            SC_INPUT,
            &at,
            "every send needs one receive with the same peer and tag",
            "%s: no receive on rank %u (%s) matches this send of %llu bytes, tag %u",
            node,
            m->peer_rank,
            peer_file,
            bytes,
            op->tag);
    case SC__MATCH_NO_SEND:
        return sc__fail(
            r->ctx,
            SC_INPUT,
            &at,
            "every send needs one receive with the same peer and tag",
            "%s: no send on rank %u (%s) matches this receive of %llu bytes, tag %u",
            node,
            m->peer_rank,
            peer_file,
            bytes,
            op->tag);
    case SC__MATCH_SIZE:
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        "both ends of a message must have the same size",
                        "%s: this send of %llu bytes is matched with %s",
                        node,
                        bytes,
                        other);
    case SC__MATCH_NOT_MEMBER:
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        "correct pg_name or the file of process groups",
                        "%s: rank %u is not in its process group, rank %u (%s) is",
                        node,
                        m->rank,
                        m->peer_rank,
                        peer_file);
    case SC__MATCH_MISSING:
        return sc__fail(
            r->ctx,
            SC_INPUT,
            &at,
            "every rank of a group takes part in each of its collectives",
            "%s: %s of %llu bytes, number %u of its group, is missing on rank %u (%s)",
            node,
            sc__coll_name(op->coll),
            bytes,
            m->nth + 1,
            m->peer_rank,
            peer_file);
    default:
        return sc__fail(
            r->ctx,
            SC_INPUT,
            &at,
            "the collectives of a process group are matched in the order of their ids",
            "%s: %s of %llu bytes, number %u of its group, is matched with %s",
            node,
            sc__coll_name(op->coll),
            bytes,
            m->nth + 1,
            other);
    }
}

/* ---- options ---- */

static sc_status system_file(struct chakra_read_reader *r, const char *path) {
    struct sc__str text;
    json_error_t e;
    SC__TRY(sc__read_all(r->ctx, path, (size_t)1 << 20, &text));
    json_t *root = json_loadb(text.p, text.n, 0, &e);
    struct sc__place at = {.file = path,
                           .line = root ? 0 : (uint64_t)e.line,
                           .column = root ? 0 : (uint64_t)e.column};
    if (!root)
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "not a system description: %s",
                        e.text);
    double peak = json_number_value(json_object_get(root, "peak-perf"));
    double bandwidth = json_number_value(json_object_get(root, "local-mem-bw"));
    json_decref(root);
    if (peak > 0)
        r->peak = peak * 1e12;
    if (bandwidth > 0)
        r->bandwidth = bandwidth * 1e9;
    return SC_OK;
}

/* What nodes without a duration are timed for. */
static sc_status take_gpu(struct chakra_read_reader *r, const struct sc__settings *s) {
    const struct sc__gpu *gpu;
    SC__TRY(sc__gpu_of_job(r->ctx, s, &gpu));
    r->peak = 1e12 * gpu->peak[gpu->peak[SC__BF16] > 0 ? SC__BF16 : SC__FP16];
    r->bandwidth = 1e12 * gpu->dram;
    return SC_OK;
}

static sc_status take_options(struct chakra_read_reader *r, const struct sc__settings *s) {
    SC__TRY(take_gpu(r, s));
    if (!s)
        return SC_OK;
    const char *system = sc__setting(s, "astra-system");
    const char *bandwidth = sc__setting(s, "memory-bandwidth");
    r->slots = sc__setting_flag(s, "astra-slots");
    if (system)
        SC__TRY(system_file(r, system));
    SC__TRY(sc__setting_double(s, "peak-flops", &r->peak));
    r->rate_given = sc__setting(s, "peak-flops") ? "peak-flops"
                    : bandwidth                  ? "memory-bandwidth"
                                                 : NULL;
    if (bandwidth &&
        (!sc__parse_rate(sc__str(bandwidth), &r->bandwidth) || r->bandwidth <= 0))
        return sc__fail(r->ctx,
                        SC_USAGE,
                        NULL,
                        "3.35TB/s",
                        "--memory-bandwidth %s: not a rate",
                        bandwidth);
    if (r->peak <= 0)
        return sc__fail(r->ctx, SC_USAGE, NULL, "989e12", "--peak-flops must be positive");
    return SC_OK;
}

static sc_status chakra_read_read_groups(struct chakra_read_reader *r,
                                         const struct sc__settings *s) {
    const char *path = s ? sc__setting(s, "comm-group") : NULL;
    sc__names_init(&r->groups.names, &r->ctx->arena);
    if (!path)
        path = r->files.groups;
    return path ? sc__chakra_groups_file(r->ctx, r->w, path, &r->groups) : SC_OK;
}

static void name_streams(struct sc__workload *w) {
    w->stream_names[STREAM_COMPUTE] = "compute";
    w->stream_names[STREAM_CPU] = "cpu";
    w->stream_names[STREAM_MESSAGES] = "messages";
    for (unsigned i = STREAM_COLLECTIVES; i < SC__MAX_STREAMS; i++)
        w->stream_names[i] = sc__format(w->arena, "collectives %u", i - STREAM_COLLECTIVES);
}

static void notes(const struct chakra_read_reader *r) {
    if (r->roofline)
        sc__note(r->ctx,
                 "chakra-roofline",
                 "%llu nodes without a duration take num_ops / min(%.4g FLOP/s, %.4g B/s · "
                 "num_ops / tensor_size)",
                 (unsigned long long)r->roofline,
                 r->peak,
                 r->bandwidth);
    else if (r->rate_given)
        sc__note(r->ctx,
                 "option-unused",
                 "--%s has no effect: no node lacks a duration and has num_ops",
                 r->rate_given);
    if (r->untimed)
        sc__note(
            r->ctx,
            "chakra-untimed",
            "%llu compute nodes have no duration, num_ops or tensor_size: they take no "
            "time",
            (unsigned long long)r->untimed);
    sc__chakra_note_pytorch(r->ctx, r->parents, r->measured);
    if (r->slots)
        sc__note(r->ctx,
                 "astra-slots",
                 "each rank has one processor, one compute and one communication slot");
    else
        sc__note(r->ctx,
                 "chakra-streams",
                 "collectives of one process group run one after another, those of "
                 "different groups at the same time (--astra-slots: one at a time)");
}

static sc_status chakra_read(struct sc_context *ctx,
                             const struct sc__settings *settings,
                             const char *const *paths,
                             uint32_t count,
                             struct sc__document *out) {
    struct chakra_read_reader r = {.ctx = ctx};
    struct sc__mismatch bad;
    uint32_t rendezvous;
    SC__TRY(take_options(&r, settings));
    SC__TRY(sc__chakra_find_files(ctx, paths, count, &r.files));
    r.w = sc__workload_new(&ctx->arena, "chakra");
    r.w->mesh = sc__mesh(1, 1, 1, r.files.count, 1, 1);
    r.blocks = SC__NEW_ARRAY(&ctx->arena, uint32_t, r.files.count);
    SC__TRY(chakra_read_read_groups(&r, settings));
    sc__arena_init(&r.memory);
    for (; r.rank < r.files.count; r.rank++)
        SC__TRY(read_rank(&r));
    sc__workload_rank_classes(r.w, r.files.count, r.blocks);
    name_streams(r.w);
    if (!sc__workload_match(r.w, true, &rendezvous, &bad))
        return mismatch(&r, &bad);
    notes(&r);
    out->workload = r.w;
    out->files = r.files.path;
    out->file_count = r.files.count;
    return SC_OK;
}

/* Without a rank in its name a file cannot be placed, so the name counts. */
static int
chakra_detect(const unsigned char *head, size_t n, const char *path, bool directory) {
    struct sc__str name = sc__str(path);
    struct sc__str file = {(const char *)head, n};
    struct sc__str message;
    size_t at = 0;
    size_t inside;
    if (directory)
        return sc__chakra_directory(path) ? 90 : 0;
    if (sc__chakra_json_name(&name))
        return sc__chakra_is_json(file) ? 90 : 0;
    if (!sc__chakra_name(&name))
        return 0;
    bool framed =
        n && frame(file, &at, &message) &&
        !sc__chakra_metadata((const unsigned char *)message.p, message.n, &inside);
    return framed ? 90 : 50;
}

const struct sc__reader sc__reader_chakra = {
    .name = "chakra",
    .title = "Chakra execution trace (ASTRA-sim), one .et file a rank",
    .detect = chakra_detect,
    .read = chakra_read,
    .show = sc__chakra_show,
    .options = sc__chakra_options,
    .many = true,
};
