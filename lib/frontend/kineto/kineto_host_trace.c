/* kineto_host_trace: PyTorch's execution trace of the host (ExecutionTraceObserver, JSON),
 * linked with the Kineto trace of the same run. It has what was called with which tensors,
 * and no times; the Kineto trace has the times, and often not the sizes of collectives.
 *
 *     {"schema": "1.0.1", "nodes": [
 *       {"name": "record_param_comms", "id": 9, "rf_id": 7, "inputs": […, "allreduce", …],
 *        "input_shapes": [[[1024]], …], "input_types": ["GenericList[Tensor(float)]", …]},
 *
 * Later schemas (1.1.0-chakra…) have inputs {"values", "shapes", "types"} and rf_id, sizes
 * and groups in a list "attrs" of {"name", "type", "value"}.
 *
 * A node and an event are the same call where rf_id is the event's "Record function id" and
 * the names are equal. Traces without these ids are linked by the order of their
 * collectives, where there are equally many. */
#include "base/json_view.h"
#include "frontend/kineto/kineto.h"

#include <stdlib.h>
#include <string.h>

#define HOST_TRACE_LIMIT ((size_t)2 << 30)
#define COMMS_NAME "record_param_comms"

struct host_comm {
    int64_t record;
    struct sc__kineto_comm comm;
};

struct host_trace {
    struct sc_context *ctx;
    const char *file;
    struct sc__kineto_trace *t;
    struct sc__map call_of; /* record → index in calls, + 1 */
    struct host_comm *comms;
    uint32_t count;
    uint32_t capacity;
};

/* ---- nodes ---- */

/* Bytes of an element: "GenericList[Tensor(c10::BFloat16)]", "Float"; 0: not known. */
static uint32_t host_element_bytes(struct sc__str type) {
    static const struct {
        const char *word;
        uint32_t bytes;
    } types[] = {{"Float8", 1}, {"float8", 1},  {"BFloat16", 2}, {"bfloat16", 2},
                 {"Half", 2},   {"float16", 2}, {"double", 8},   {"Double", 8},
                 {"long", 8},   {"Long", 8},    {"char", 1},     {"Byte", 1},
                 {"bool", 1},   {"Bool", 1},    {"short", 2},    {"Short", 2},
                 {"float", 4},  {"Float", 4},   {"int", 4},      {"Int", 4}};
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        if (sc__find_word(type.p, type.n, types[i].word))
            return types[i].bytes;
    return 0;
}

/* Elements of a shape, or of all shapes of a list; 0 where there is no tensor. */
static uint64_t shape_elements(const struct sc__node *n) {
    size_t count = sc__node_is(n, '[') ? sc__node_count(n) : 0;
    uint64_t sum = 0;
    uint64_t product = count ? 1 : 0;
    for (size_t i = 0; i < count; i++) {
        struct sc__node item = sc__node_item(n, i);
        int64_t size = 0;
        if (sc__node_is(&item, '[')) {
            product = 0;
            sum += shape_elements(&item);
        } else if (sc__node_number(&item, 0, INT64_C(1) << 40, &size) != SC_OK ||
                   (size && product > (UINT64_C(1) << 50) / (uint64_t)size)) {
            sc__clear_error(sc__node_context(n));
            return 0;
        } else
            product *= (uint64_t)size;
    }
    return sum + product;
}

/* The values, shapes or types of inputs or outputs, in either schema. */
static struct sc__node host_part(const struct sc__node *node,
                                 const char *side,
                                 const char *part,
                                 const char *flat) {
    struct sc__node both = sc__node_at(node, side);
    if (both.value && sc__node_is(&both, '{'))
        return sc__node_at(&both, part);
    return sc__node_at(node, flat);
}

static struct sc__str host_text(const struct sc__node *n) {
    if (!n->value || !sc__node_is(n, '"'))
        return (struct sc__str){"", 0};
    return sc__json_raw_text(n->value);
}

static uint64_t side_bytes(const struct sc__node *node, bool inputs) {
    struct sc__node shapes = inputs ? host_part(node, "inputs", "shapes", "input_shapes")
                                    : host_part(node, "outputs", "shapes", "output_shapes");
    struct sc__node types = inputs ? host_part(node, "inputs", "types", "input_types")
                                   : host_part(node, "outputs", "types", "output_types");
    if (!shapes.value || !sc__node_is(&shapes, '[') || !sc__node_count(&shapes) ||
        !types.value || !sc__node_is(&types, '[') || !sc__node_count(&types))
        return 0;
    struct sc__node type = sc__node_item(&types, 0);
    struct sc__str text = host_text(&type);
    if (!sc__find_word(text.p, text.n, "Tensor"))
        return 0;
    struct sc__node shape = sc__node_item(&shapes, 0);
    return shape_elements(&shape) * host_element_bytes(text);
}

/* The first text among the inputs that names a collective. */
static struct sc__str called_collective(const struct sc__node *node) {
    struct sc__node values = host_part(node, "inputs", "values", "inputs");
    bool send;
    size_t count = values.value && sc__node_is(&values, '[') ? sc__node_count(&values) : 0;
    for (size_t i = 0; i < count; i++) {
        struct sc__node item = sc__node_item(&values, i);
        struct sc__str text = host_text(&item);
        if (text.n && sc__kineto_collective(text, &send) <= SC__COLLS)
            return text;
    }
    return (struct sc__str){"", 0};
}

/* What the list "attrs" of later schemas has. */
struct host_attributes {
    int64_t record;
    int64_t in_elements;
    int64_t out_elements;
    int64_t group_size;
    struct sc__str collective;
    struct sc__str dtype;
    struct sc__str group;
};

static void read_attributes(const struct sc__node *node, struct host_attributes *a) {
    const struct {
        const char *name;
        int64_t *number;
        struct sc__str *text;
    } known[] = {{"rf_id", &a->record, NULL},
                 {"in_msg_nelems", &a->in_elements, NULL},
                 {"out_msg_nelems", &a->out_elements, NULL},
                 {"pg_size", &a->group_size, NULL},
                 {"group_size", &a->group_size, NULL},
                 {"collective_name", NULL, &a->collective},
                 {"dtype", NULL, &a->dtype},
                 {"pg_name", NULL, &a->group}};
    struct sc__node list = sc__node_at(node, "attrs");
    size_t count = list.value && sc__node_is(&list, '[') ? sc__node_count(&list) : 0;
    for (size_t i = 0; i < count; i++) {
        struct sc__node item = sc__node_item(&list, i);
        if (!sc__node_is(&item, '{'))
            continue;
        struct sc__node key = sc__node_at(&item, "name");
        struct sc__str name = host_text(&key);
        struct sc__node value = sc__node_at(&item, "value");
        for (unsigned k = 0; value.value && k < sizeof known / sizeof *known; k++) {
            if (!sc__str_is(name, known[k].name))
                continue;
            if (known[k].text)
                *known[k].text = host_text(&value);
            else
                (void)sc__parse_i64(sc__json_raw_text(value.value), known[k].number);
        }
    }
}

static uint64_t host_bytes(int64_t elements, uint32_t each, uint64_t otherwise) {
    bool said = elements >= 0 && elements <= INT64_C(1) << 50 && each;
    return said ? (uint64_t)elements * each : otherwise;
}

static sc_status add_host_comm(struct host_trace *h,
                               const struct sc__node *node,
                               struct host_attributes *a) {
    struct sc__kineto_trace *t = h->t;
    struct sc__str name = a->collective.n ? a->collective : called_collective(node);
    uint32_t each = host_element_bytes(a->dtype);
    struct sc__kineto_comm c = {.seq = -1,
                                .peer = -1,
                                .group = SC__NO_NAME,
                                .description = SC__NO_NAME,
                                .ranks = SC__NO_NAME};
    c.coll = sc__kineto_collective(name, &c.send);
    if (c.coll >= SC__COLLS) /* waits, and messages, whose peer is not said */
        return SC_OK;
    c.in_bytes = host_bytes(a->in_elements, each, side_bytes(node, true));
    c.out_bytes = host_bytes(a->out_elements, each, side_bytes(node, false));
    c.has_elements =
        c.coll == SC__ALLGATHER || c.coll == SC__SCATTER ? c.out_bytes > 0 : c.in_bytes > 0;
    if (a->group_size > 0 && (uint64_t)a->group_size < SC__MOST_RANKS)
        c.group_size = (uint32_t)a->group_size;
    if (a->group.n)
        c.group = sc__names_add(&t->names, a->group.p, a->group.n);
    *SC__PUSH(&h->ctx->arena, h->comms, h->count, h->capacity) =
        (struct host_comm){.record = a->record, .comm = c};
    return SC_OK;
}

static sc_status read_host_node(struct host_trace *h, const struct sc__node *node) {
    struct host_attributes a = {.record = -1, .in_elements = -1, .out_elements = -1};
    struct sc__str name = {"", 0};
    if (!sc__node_is(node, '{'))
        return sc__node_fail(node, NULL, "a node is not an object");
    SC__TRY(sc__node_slice(node, "name", &name));
    if (!name.n)
        return sc__node_fail(node, NULL, "a node has no name");
    SC__TRY(sc__node_i64(node, "rf_id", 0, INT64_MAX, &a.record));
    read_attributes(node, &a);
    h->t->host_nodes++;
    uint64_t *call = a.record > 0 ? sc__map_find(&h->call_of, (uint64_t)a.record) : NULL;
    if (call) {
        const char *other = h->t->names.text[h->t->calls[*call - 1].name];
        h->t->host_linked += sc__str_is(name, other);
    }
    return sc__str_is(name, COMMS_NAME) ? add_host_comm(h, node, &a) : SC_OK;
}

static sc_status read_host_nodes(struct host_trace *h, const struct sc__json_file *file) {
    struct sc__node root = sc__json_root(file);
    struct sc__node nodes;
    if (!sc__node_is(&root, '{'))
        return sc__node_fail(&root, NULL, "not a host trace of PyTorch: no object");
    SC__TRY(sc__node_need(&root, "nodes", &nodes));
    SC__TRY(sc__node_is_array(&nodes));
    size_t count = sc__node_count(&nodes);
    for (size_t i = 0; i < count; i++) {
        struct sc__node node = sc__node_item(&nodes, i);
        SC__TRY(read_host_node(h, &node));
    }
    return SC_OK;
}

/* ---- links ---- */

struct recorded_call {
    uint32_t call;
    int64_t start;
};

static int by_start(const void *a, const void *b) {
    const struct recorded_call *x = a;
    const struct recorded_call *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->call < y->call ? -1 : x->call > y->call;
}

/* The calls of record_param_comms in the trace, by time, that have a kernel inside. */
static uint32_t recorded_calls(const struct host_trace *h, struct recorded_call **out) {
    const struct sc__kineto_trace *t = h->t;
    struct recorded_call *list =
        SC__NEW_ARRAY(&h->ctx->arena, struct recorded_call, (uint64_t)t->call_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->call_count; i++)
        if (!strcmp(t->names.text[t->calls[i].name], COMMS_NAME))
            list[count++] = (struct recorded_call){i, t->calls[i].start};
    if (count)
        qsort(list, count, sizeof *list, by_start);
    *out = list;
    return count;
}

static sc_status not_of_this_run(const struct host_trace *h, const char *what) {
    struct sc__place at = {.file = h->file};
    return sc__fail(h->ctx,
                    SC_INPUT,
                    &at,
                    "both must be of the same rank and the same run",
                    "%s %s",
                    what,
                    h->t->file);
}

/* By call + 1: the collective that it made. */
static sc_status link_by_order(struct host_trace *h, struct sc__map *of_call) {
    struct recorded_call *calls;
    uint32_t count = recorded_calls(h, &calls);
    if (!h->count || count % h->count ||
        (count > h->count && count / h->count != h->t->step_count))
        return not_of_this_run(h,
                               sc__format(&h->ctx->arena,
                                          "no ids to link by, and %u collectives against "
                                          "%u in",
                                          h->count,
                                          count));
    for (uint32_t i = 0; i < count; i++)
        *sc__map_at(of_call, (uint64_t)calls[i].call + 1, NULL) = i % h->count + 1;
    h->t->host_linked = h->count;
    sc__note(
        h->ctx,
        "host-trace-order",
        "%s: the trace has no ids of recorded functions: its collectives are linked in "
        "their order",
        h->file);
    return SC_OK;
}

static void link_by_record(struct host_trace *h, struct sc__map *of_call) {
    for (uint32_t i = 0; i < h->count; i++) {
        uint64_t record = h->comms[i].record > 0 ? (uint64_t)h->comms[i].record : 0;
        uint64_t *call = record ? sc__map_find(&h->call_of, record) : NULL;
        if (call)
            *sc__map_at(of_call, *call, NULL) = i + 1;
    }
}

/* The collective around a kernel; NULL. */
static const struct sc__kineto_comm *comm_around(const struct host_trace *h,
                                                 const struct sc__map *of_call,
                                                 const struct sc__kineto_kernel *k) {
    uint32_t call = sc__kineto_call_of(h->t, k);
    for (; call != SC__NONE; call = h->t->calls[call].parent) {
        uint64_t *comm = sc__map_find(of_call, (uint64_t)call + 1);
        if (comm)
            return &h->comms[*comm - 1].comm;
    }
    return NULL;
}

static void apply_links(struct host_trace *h, const struct sc__map *of_call) {
    struct sc__kineto_trace *t = h->t;
    for (uint32_t i = 0; i < t->kernel_count; i++) {
        const struct sc__kineto_kernel *k = &t->kernels[i];
        if (k->comm == SC__NONE || !t->comms[k->comm].by_name)
            continue;
        const struct sc__kineto_comm *said = comm_around(h, of_call, k);
        if (!said)
            continue;
        t->comms[k->comm] = *said;
        t->host_comms++;
    }
    bool recorded = t->recorded_count > 0;
    for (uint32_t call = 0; call < t->call_count && !recorded; call++) {
        uint64_t *comm = sc__map_find(of_call, (uint64_t)call + 1);
        if (!comm)
            continue;
        struct sc__kineto_comm *c =
            SC__PUSH(t->arena, t->recorded, t->recorded_count, t->recorded_capacity);
        *c = h->comms[*comm - 1].comm;
        c->start = t->calls[call].start;
    }
}

static sc_status link_nodes(struct host_trace *h, bool ids) {
    struct sc__map of_call;
    sc__map_init(&of_call, &h->ctx->arena);
    if (!h->t->host_nodes)
        return not_of_this_run(h, "a host trace without nodes, for");
    if (ids && !h->t->host_linked)
        return not_of_this_run(h, "none of its operators is in");
    if (ids)
        link_by_record(h, &of_call);
    else
        SC__TRY(link_by_order(h, &of_call));
    apply_links(h, &of_call);
    return SC_OK;
}

sc_status sc__kineto_link_host_trace(struct sc_context *ctx,
                                     const char *path,
                                     struct sc__kineto_trace *t) {
    struct host_trace h = {.ctx = ctx, .file = path, .t = t};
    struct sc__json_file file;
    bool ids = false;
    sc__map_init(&h.call_of, &ctx->arena);
    for (uint32_t i = 0; i < t->call_count; i++)
        if (t->calls[i].record > 0) {
            ids = true;
            *sc__map_at(&h.call_of, (uint64_t)t->calls[i].record, NULL) = i + 1;
        }
    sc_status status = sc__json_open(ctx, path, HOST_TRACE_LIMIT, &file);
    if (status == SC_OK)
        status = read_host_nodes(&h, &file);
    sc__json_close(&file);
    SC__TRY(status);
    return link_nodes(&h, ids);
}
