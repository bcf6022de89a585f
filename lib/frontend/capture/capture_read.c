/* capture read: the file, strictly: every index is checked, so that what follows
 * may trust it; a key that is not known is an error. */
#include "base/json_view.h"
#include "frontend/capture/capture.h"

#include <string.h>

#define LARGEST ((size_t)2 << 30)
#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SCHEMA "stepcast/capture/1"
/* Sums of them stay exact in a double, and far from the largest. */
#define MOST_ELEMENTS ((int64_t)1 << 45)

static const char *const capture_types[] = {"bf16",
                                            "fp16",
                                            "fp32",
                                            "fp64",
                                            "fp8",
                                            "int64",
                                            "int32",
                                            "int16",
                                            "int8",
                                            "uint8",
                                            "bool",
                                            "complex64",
                                            "complex128",
                                            "other",
                                            NULL};
/* "other" is taken to be as wide as fp32. */
static const double type_bytes[] = {2, 2, 4, 8, 1, 8, 4, 2, 1, 1, 1, 8, 16, 4};

static const char *const storage_words[] = {
    "other", "weights", "gradients", "optimizer", NULL};
static const char *const phase_words[] = {"f", "b", "r", "u", NULL};
static const uint8_t phases[] = {SC__FORWARD, SC__BACKWARD, SC__RECOMPUTE, SC__UPDATE};

/* ---- numbers and lists ---- */

static sc_status item_number(
    const struct sc__node *array, size_t i, int64_t least, int64_t most, int64_t *out) {
    struct sc__node item = sc__node_item(array, i);
    return sc__node_number(&item, least, most, out);
}

/* Numbers below `limit`, into places. */
static sc_status read_list(struct sc__capture *c,
                           const struct sc__node *array,
                           uint32_t limit,
                           struct sc__capture_list *out) {
    SC__TRY(sc__node_is_array(array));
    size_t count = sc__node_count(array);
    out->first = c->place_count;
    out->count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        int64_t number = 0;
        struct sc__node item = sc__node_item(array, i);
        if (!limit)
            return sc__node_fail(&item, NULL, "there is nothing of that kind to name");
        SC__TRY(sc__node_number(&item, 0, (int64_t)limit - 1, &number));
        *SC__PUSH(c->arena, c->places, c->place_count, c->place_capacity) =
            (uint32_t)number;
    }
    return SC_OK;
}

/* Storages of an operation's tensors, in their order; -1, SC__NONE here, for a list. */
static sc_status read_used(struct sc__capture *c,
                           const struct sc__node *array,
                           uint32_t storages,
                           struct sc__capture_list *out) {
    SC__TRY(sc__node_is_array(array));
    out->first = c->place_count;
    out->count = (uint32_t)sc__node_count(array);
    for (uint32_t i = 0; i < out->count; i++) {
        int64_t number = 0;
        struct sc__node item = sc__node_item(array, i);
        SC__TRY(sc__node_number(&item, -1, (int64_t)storages - 1, &number));
        *SC__PUSH(c->arena, c->places, c->place_count, c->place_capacity) =
            number < 0 ? SC__NONE : (uint32_t)number;
    }
    return SC_OK;
}

static sc_status
need_array(const struct sc__node *n, const char *key, struct sc__node *out) {
    SC__TRY(sc__node_need(n, key, out));
    return sc__node_is_array(out);
}

/* The text of a string that holds no escapes, or an error. */
static sc_status plain_string(const struct sc__node *n, struct sc__str *out) {
    if (!n->value || !sc__node_is(n, '"'))
        return sc__node_fail(n, NULL, "must be a string");
    const char *begin = n->value + 1;
    *out = (struct sc__str){begin, strcspn(begin, "\"\\")};
    if (begin[out->n] != '"')
        return sc__node_fail(n, NULL, "must be a plain word");
    return SC_OK;
}

/* ---- the job ---- */

static sc_status read_mesh(const struct sc__node *root, struct sc__capture *c) {
    struct sc__node mesh;
    uint64_t ranks = 1;
    SC__TRY(need_array(root, "mesh", &mesh));
    if (sc__node_count(&mesh) > SC__CAPTURE_MOST_DIMS)
        return sc__node_fail(&mesh,
                             NULL,
                             "has more than %d dimensions",
                             SC__CAPTURE_MOST_DIMS);
    c->dims = (uint32_t)sc__node_count(&mesh);
    for (uint32_t i = 0; i < c->dims; i++) {
        struct sc__node dim = sc__node_item(&mesh, i);
        int64_t size = 0;
        SC__TRY(sc__node_is_array(&dim));
        if (sc__node_count(&dim) != 2)
            return sc__node_fail(&dim, NULL, "must be [name, size]");
        struct sc__node name = sc__node_item(&dim, 0);
        struct sc__str text;
        SC__TRY(plain_string(&name, &text));
        c->mesh[i].name = sc__strndup(c->arena, text.p, text.n);
        SC__TRY(item_number(&dim, 1, 1, (int64_t)SC__MOST_RANKS, &size));
        c->mesh[i].size = (uint32_t)size;
        ranks *= (uint64_t)size;
        if (ranks > SC__MOST_RANKS)
            return sc__node_fail(&mesh,
                                 NULL,
                                 "has more ranks than %llu",
                                 (unsigned long long)SC__MOST_RANKS);
    }
    if (c->dims && ranks != c->world)
        return sc__node_fail(&mesh,
                             NULL,
                             "has %llu ranks, the world %u",
                             (unsigned long long)ranks,
                             c->world);
    return SC_OK;
}

static uint32_t dim_named(const struct sc__capture *c, struct sc__str name) {
    for (uint32_t i = 0; i < c->dims; i++)
        if (sc__str_is(name, c->mesh[i].name))
            return i;
    return SC__NONE;
}

static sc_status read_group_dims(const struct sc__node *dims,
                                 const struct sc__capture *c,
                                 struct sc__capture_group *g) {
    SC__TRY(sc__node_is_array(dims));
    g->world = !sc__node_count(dims);
    g->count = g->world ? c->world : 1;
    for (size_t i = 0; i < sc__node_count(dims); i++) {
        struct sc__node item = sc__node_item(dims, i);
        struct sc__str name;
        SC__TRY(plain_string(&item, &name));
        uint32_t dim = dim_named(c, name);
        if (dim == SC__NONE)
            return sc__node_fail(&item, NULL, "is no dimension of the mesh");
        if (g->dims >> dim & 1)
            return sc__node_fail(&item, NULL, "stands twice");
        g->dims |= 1u << dim;
        g->count *= c->mesh[dim].size;
    }
    return SC_OK;
}

static sc_status
read_group(const struct sc__node *n, struct sc__capture *c, struct sc__capture_group *g) {
    SC__TRY(sc__node_keys(n, KEYS("dims", "ranks")));
    struct sc__node dims = sc__node_at(n, "dims");
    struct sc__capture_list list;
    if (dims.value)
        return read_group_dims(&dims, c, g);
    struct sc__node ranks;
    SC__TRY(sc__node_need(n, "ranks", &ranks));
    SC__TRY(read_list(c, &ranks, c->world, &list));
    if (!list.count)
        return sc__node_fail(&ranks, NULL, "is empty");
    g->count = list.count;
    g->ranks = SC__NEW_ARRAY(c->arena, uint32_t, list.count);
    memcpy(g->ranks, &c->places[list.first], list.count * sizeof *g->ranks);
    return SC_OK;
}

static sc_status read_groups(const struct sc__node *root, struct sc__capture *c) {
    struct sc__node groups;
    SC__TRY(need_array(root, "groups", &groups));
    c->group_count = (uint32_t)sc__node_count(&groups);
    c->groups = SC__NEW_ARRAY(c->arena, struct sc__capture_group, c->group_count + 1);
    for (uint32_t i = 0; i < c->group_count; i++) {
        struct sc__node item = sc__node_item(&groups, i);
        SC__TRY(read_group(&item, c, &c->groups[i]));
    }
    return SC_OK;
}

static sc_status read_modules(const struct sc__node *root, struct sc__capture *c) {
    struct sc__node modules;
    SC__TRY(need_array(root, "modules", &modules));
    c->module_count = (uint32_t)sc__node_count(&modules);
    c->modules = SC__NEW_ARRAY(c->arena, const char *, c->module_count + 1);
    for (uint32_t i = 0; i < c->module_count; i++) {
        struct sc__node item = sc__node_item(&modules, i);
        struct sc__str name;
        SC__TRY(plain_string(&item, &name));
        c->modules[i] = sc__strndup(c->arena, name.p, name.n);
    }
    return SC_OK;
}

/* ---- tensors ---- */

/* Whether strides lie in order; which dimensions repeat (stride 0). */
static sc_status read_strides(const struct sc__node *strides,
                              struct sc__capture_tensor *t) {
    SC__TRY(sc__node_is_array(strides));
    if (sc__node_count(strides) != t->dims)
        return sc__node_fail(strides, NULL, "has another number of dimensions");
    t->dense = false;
    for (uint32_t i = 0; i < t->dims; i++) {
        int64_t stride = 0;
        SC__TRY(item_number(strides, i, 0, MOST_ELEMENTS, &stride));
        t->stride[i] = (uint64_t)stride;
        if (!stride && t->size[i] > 1)
            t->elements /= (double)t->size[i];
    }
    t->channels_last = t->dims >= 3 && t->stride[1] == 1 && t->stride[t->dims - 1] != 1;
    return SC_OK;
}

static sc_status read_shape(const struct sc__node *shape, struct sc__capture_tensor *t) {
    double elements = 1;
    SC__TRY(sc__node_is_array(shape));
    if (sc__node_count(shape) > SC__CAPTURE_MOST_DIMS)
        return sc__node_fail(shape,
                             NULL,
                             "has more than %d dimensions",
                             SC__CAPTURE_MOST_DIMS);
    t->dims = (uint8_t)sc__node_count(shape);
    for (uint32_t i = 0; i < t->dims; i++) {
        int64_t size = 0;
        SC__TRY(item_number(shape, i, 0, MOST_ELEMENTS, &size));
        t->size[i] = (uint64_t)size;
        elements *= (double)size;
    }
    if (elements > (double)MOST_ELEMENTS)
        return sc__node_fail(shape, NULL, "has more than 2^45 elements");
    t->elements = elements;
    uint64_t stride = 1;
    for (unsigned i = t->dims; i-- > 0;) {
        t->stride[i] = stride;
        stride *= t->size[i] ? t->size[i] : 1;
    }
    return SC_OK;
}

/* [type, shape], [type, shape, strides] or [type, [elements], null, tensors]. */
static sc_status read_tensor(const struct sc__node *n, struct sc__capture_tensor *t) {
    unsigned type = 0;
    int64_t tensors = 1;
    SC__TRY(sc__node_is_array(n));
    size_t parts = sc__node_count(n);
    if (parts < 2 || parts > 4)
        return sc__node_fail(n, NULL, "must be [type, shape, strides, tensors]");
    struct sc__node word = sc__node_item(n, 0);
    SC__TRY(sc__node_choice(&word, capture_types, &type));
    struct sc__node shape = sc__node_item(n, 1);
    t->type = (uint8_t)type;
    t->dense = true;
    SC__TRY(read_shape(&shape, t));
    if (parts > 2) {
        struct sc__node strides = sc__node_item(n, 2);
        if (!sc__node_is(&strides, 'n'))
            SC__TRY(read_strides(&strides, t));
    }
    if (parts > 3)
        SC__TRY(item_number(n, 3, 1, 1 << 24, &tensors));
    t->count = (uint32_t)tensors;
    t->bytes = t->elements * type_bytes[type];
    return SC_OK;
}

static sc_status read_tensors(const struct sc__node *root, struct sc__capture *c) {
    struct sc__node tensors;
    SC__TRY(need_array(root, "tensors", &tensors));
    c->tensor_count = (uint32_t)sc__node_count(&tensors);
    c->tensors = SC__NEW_ARRAY(c->arena, struct sc__capture_tensor, c->tensor_count + 1);
    for (uint32_t i = 0; i < c->tensor_count; i++) {
        struct sc__node item = sc__node_item(&tensors, i);
        SC__TRY(read_tensor(&item, &c->tensors[i]));
    }
    return SC_OK;
}

/* ---- calls ---- */

static sc_status read_peer(const struct sc__node *with,
                           const struct sc__capture *c,
                           struct sc__capture_with *out) {
    struct sc__node peer = sc__node_at(with, "peer");
    struct sc__str name = {0};
    if (!peer.value)
        return SC_OK;
    SC__TRY(sc__node_keys(&peer, KEYS("rank", "dim", "by")));
    SC__TRY(sc__node_u32(&peer, "rank", 0, c->world - 1, &out->peer_rank));
    if (out->peer_rank != SC__NONE)
        return SC_OK;
    struct sc__node dim;
    SC__TRY(sc__node_need(&peer, "dim", &dim));
    SC__TRY(plain_string(&dim, &name));
    out->peer_dim = dim_named(c, name);
    if (out->peer_dim == SC__NONE)
        return sc__node_fail(&dim, NULL, "is no dimension of the mesh");
    struct sc__node by;
    SC__TRY(sc__node_need(&peer, "by", &by));
    return sc__node_u32(&peer, "by", 0, c->mesh[out->peer_dim].size - 1, &out->peer_by);
}

/* The first of a list of strides: all dimensions are taken to have it. */
static sc_status read_stride(const struct sc__node *with, struct sc__capture_with *out) {
    struct sc__node stride = sc__node_at(with, "stride");
    int64_t number = 1;
    if (!stride.value)
        return SC_OK;
    SC__TRY(sc__node_is_array(&stride));
    if (sc__node_count(&stride))
        SC__TRY(item_number(&stride, 0, 1, 1 << 20, &number));
    out->stride = (uint32_t)number;
    return SC_OK;
}

static sc_status read_mask(const struct sc__node *with, struct sc__capture_with *out) {
    struct sc__node mask = sc__node_at(with, "output_mask");
    if (!mask.value)
        return SC_OK;
    SC__TRY(sc__node_is_array(&mask));
    if (sc__node_count(&mask) != 3)
        return sc__node_fail(&mask, NULL, "must say three times true or false");
    struct sc__node input = sc__node_item(&mask, 0);
    struct sc__node weight = sc__node_item(&mask, 1);
    out->input_gradient = sc__node_is(&input, 't');
    struct sc__node bias = sc__node_item(&mask, 2);
    out->weight_gradient = sc__node_is(&weight, 't');
    out->bias_gradient = sc__node_is(&bias, 't');
    return SC_OK;
}

/* A roll goes over its dimensions one by one. */
static sc_status read_shifts(const struct sc__node *with, struct sc__capture_with *out) {
    struct sc__node shifts = sc__node_at(with, "shifts");
    if (!shifts.value)
        return SC_OK;
    SC__TRY(sc__node_is_array(&shifts));
    if (sc__node_count(&shifts) > SC__CAPTURE_MOST_DIMS)
        return sc__node_fail(&shifts, NULL, "has more than %d", SC__CAPTURE_MOST_DIMS);
    out->shifts = (uint32_t)sc__node_count(&shifts);
    return SC_OK;
}

static sc_status read_with(const struct sc__node *call,
                           const struct sc__capture *c,
                           struct sc__capture_with *out) {
    struct sc__node with = sc__node_at(call, "with");
    *out = (struct sc__capture_with){.peer_rank = SC__NONE,
                                     .group = SC__NONE,
                                     .stride = 1,
                                     .groups = 1,
                                     .input_gradient = true,
                                     .weight_gradient = true};
    if (!with.value)
        return SC_OK;
    SC__TRY(sc__node_keys(&with,
                          KEYS("group",
                               "bytes",
                               "peer",
                               "stride",
                               "padding",
                               "dilation",
                               "transposed",
                               "groups",
                               "output_mask",
                               "causal",
                               "dropout",
                               "shifts",
                               "hidden",
                               "layers",
                               "gates",
                               "bidirectional")));
    uint32_t most_group = c->group_count ? c->group_count - 1 : 0;
    SC__TRY(sc__node_u32(&with, "group", 0, most_group, &out->group));
    if (out->group != SC__NONE && !c->group_count)
        return sc__node_fail(&with, NULL, "names a group, but there is none");
    SC__TRY(sc__node_u64(&with, "bytes", &out->bytes));
    SC__TRY(sc__node_u32(&with, "groups", 1, 1 << 24, &out->groups));
    SC__TRY(sc__node_bool(&with, "transposed", &out->transposed));
    SC__TRY(sc__node_bool(&with, "causal", &out->causal));
    SC__TRY(sc__node_double(&with, "dropout", &out->dropout));
    SC__TRY(sc__node_u32(&with, "hidden", 1, 1 << 24, &out->hidden));
    SC__TRY(sc__node_u32(&with, "layers", 1, 1 << 16, &out->layers));
    SC__TRY(sc__node_u32(&with, "gates", 1, 16, &out->gates));
    SC__TRY(sc__node_bool(&with, "bidirectional", &out->bidirectional));
    SC__TRY(read_stride(&with, out));
    SC__TRY(read_shifts(&with, out));
    SC__TRY(read_mask(&with, out));
    return read_peer(&with, c, out);
}

static sc_status
read_call(const struct sc__node *n, struct sc__capture *c, struct sc__capture_call *call) {
    struct sc__node in;
    struct sc__node out;
    struct sc__node op;
    struct sc__str name;
    SC__TRY(sc__node_keys(n, KEYS("op", "in", "out", "with")));
    SC__TRY(sc__node_need(n, "op", &op));
    SC__TRY(plain_string(&op, &name));
    call->op = sc__strndup(c->arena, name.p, name.n);
    SC__TRY(sc__node_need(n, "in", &in));
    SC__TRY(read_list(c, &in, c->tensor_count, &call->in));
    SC__TRY(sc__node_need(n, "out", &out));
    SC__TRY(read_list(c, &out, c->tensor_count, &call->out));
    SC__TRY(read_with(n, c, &call->with));
    return sc__capture_check_call(n, c, call);
}

static sc_status read_calls(const struct sc__node *root, struct sc__capture *c) {
    struct sc__node calls;
    SC__TRY(need_array(root, "calls", &calls));
    c->call_count = (uint32_t)sc__node_count(&calls);
    c->calls = SC__NEW_ARRAY(c->arena, struct sc__capture_call, c->call_count + 1);
    for (uint32_t i = 0; i < c->call_count; i++) {
        struct sc__node item = sc__node_item(&calls, i);
        SC__TRY(read_call(&item, c, &c->calls[i]));
    }
    return SC_OK;
}

/* ---- programs ---- */

enum {
    PART_CALL,
    PART_MODULE,
    PART_PHASE,
    PART_STREAM,
    PART_QUIET,
    PART_ENTERED,
    PART_BORN,
    PART_FREED,
    PART_AFTER,
    PARTS_OF_OLD, /* captures made before the following were written */
    PART_USED = PARTS_OF_OLD,
    PART_UNIT,
    PARTS
};

static sc_status read_op(const struct sc__node *n,
                         struct sc__capture *c,
                         const struct sc__capture_program *p,
                         uint32_t index,
                         struct sc__capture_op *op) {
    int64_t number[PARTS] = {0};
    int64_t groups = (int64_t)c->group_count;
    unsigned phase = 0;
    SC__TRY(sc__node_is_array(n));
    if (sc__node_count(n) != PARTS && sc__node_count(n) != PARTS_OF_OLD)
        return sc__node_fail(n, NULL, "must have %d parts", PARTS);
    SC__TRY(item_number(n, PART_CALL, 0, (int64_t)c->call_count - 1, &number[PART_CALL]));
    SC__TRY(
        item_number(n, PART_MODULE, 0, (int64_t)c->module_count - 1, &number[PART_MODULE]));
    struct sc__node word = sc__node_item(n, PART_PHASE);
    SC__TRY(sc__node_choice(&word, phase_words, &phase));
    SC__TRY(item_number(n, PART_STREAM, -groups, 1 << 20, &number[PART_STREAM]));
    SC__TRY(item_number(n, PART_QUIET, 0, 1 << 30, &number[PART_QUIET]));
    SC__TRY(item_number(n, PART_ENTERED, 0, 1 << 30, &number[PART_ENTERED]));
    struct sc__node born = sc__node_item(n, PART_BORN);
    SC__TRY(read_list(c, &born, p->storage_count, &op->born));
    struct sc__node freed = sc__node_item(n, PART_FREED);
    SC__TRY(read_list(c, &freed, p->storage_count, &op->freed));
    struct sc__node after = sc__node_item(n, PART_AFTER);
    SC__TRY(read_list(c, &after, index, &op->after));
    if (sc__node_count(n) == PARTS) {
        struct sc__node used = sc__node_item(n, PART_USED);
        SC__TRY(read_used(c, &used, p->storage_count, &op->used));
        SC__TRY(item_number(n, PART_UNIT, 0, 1 << 30, &number[PART_UNIT]));
    }
    op->unit = (uint32_t)number[PART_UNIT];
    op->call = (uint32_t)number[PART_CALL];
    op->module = (uint32_t)number[PART_MODULE];
    op->phase = phases[phase];
    op->stream = (int32_t)number[PART_STREAM];
    op->quiet = (uint32_t)number[PART_QUIET];
    return SC_OK;
}

static sc_status read_storages(const struct sc__node *n,
                               struct sc__capture *c,
                               struct sc__capture_program *p) {
    struct sc__node storages;
    SC__TRY(need_array(n, "storages", &storages));
    p->storage_count = (uint32_t)sc__node_count(&storages);
    p->storages = SC__NEW_ARRAY(c->arena, struct sc__capture_storage, p->storage_count + 1);
    for (uint32_t i = 0; i < p->storage_count; i++) {
        struct sc__node item = sc__node_item(&storages, i);
        int64_t bytes = 0;
        unsigned kind = 0;
        SC__TRY(sc__node_is_array(&item));
        if (sc__node_count(&item) != 2)
            return sc__node_fail(&item, NULL, "must be [bytes, kind]");
        SC__TRY(item_number(&item, 0, 0, MOST_ELEMENTS, &bytes));
        struct sc__node word = sc__node_item(&item, 1);
        SC__TRY(sc__node_choice(&word, storage_words, &kind));
        p->storages[i] = (struct sc__capture_storage){(uint64_t)bytes, (uint8_t)kind};
    }
    return SC_OK;
}

static sc_status read_program(const struct sc__node *n,
                              struct sc__capture *c,
                              struct sc__capture_program *p) {
    struct sc__node alive;
    struct sc__node ops;
    SC__TRY(sc__node_keys(n, KEYS("storages", "alive", "ops")));
    SC__TRY(read_storages(n, c, p));
    SC__TRY(sc__node_need(n, "alive", &alive));
    SC__TRY(read_list(c, &alive, p->storage_count, &p->alive));
    bool *there = SC__NEW_ARRAY(c->arena, bool, p->storage_count + 1);
    SC__TRY(sc__capture_check_change(&alive, c, p->alive, true, there));
    SC__TRY(need_array(n, "ops", &ops));
    p->op_count = (uint32_t)sc__node_count(&ops);
    p->ops = SC__NEW_ARRAY(c->arena, struct sc__capture_op, p->op_count + 1);
    for (uint32_t i = 0; i < p->op_count; i++) {
        struct sc__node item = sc__node_item(&ops, i);
        SC__TRY(read_op(&item, c, p, i, &p->ops[i]));
        SC__TRY(sc__capture_check_change(&item, c, p->ops[i].freed, false, there));
        SC__TRY(sc__capture_check_change(&item, c, p->ops[i].born, true, there));
    }
    return SC_OK;
}

static sc_status read_programs(const struct sc__node *root, struct sc__capture *c) {
    struct sc__node programs;
    SC__TRY(need_array(root, "programs", &programs));
    c->program_count = (uint32_t)sc__node_count(&programs);
    c->programs = SC__NEW_ARRAY(c->arena, struct sc__capture_program, c->program_count + 1);
    for (uint32_t i = 0; i < c->program_count; i++) {
        struct sc__node item = sc__node_item(&programs, i);
        SC__TRY(read_program(&item, c, &c->programs[i]));
    }
    return SC_OK;
}

static sc_status read_classes(const struct sc__node *root, struct sc__capture *c) {
    struct sc__node classes;
    uint64_t ranks = 0;
    SC__TRY(need_array(root, "classes", &classes));
    c->class_count = (uint32_t)sc__node_count(&classes);
    c->classes = SC__NEW_ARRAY(c->arena, struct sc__capture_class, c->class_count + 1);
    if (!c->class_count || !c->program_count)
        return sc__node_fail(&classes, NULL, "no rank was captured");
    for (uint32_t i = 0; i < c->class_count; i++) {
        struct sc__node item = sc__node_item(&classes, i);
        struct sc__capture_class *k = &c->classes[i];
        k->ranks = 1;
        struct sc__node part;
        SC__TRY(sc__node_keys(&item, KEYS("rank", "ranks", "program")));
        SC__TRY(sc__node_need(&item, "rank", &part));
        SC__TRY(sc__node_need(&item, "program", &part));
        SC__TRY(sc__node_u32(&item, "rank", 0, c->world - 1, &k->rank));
        SC__TRY(sc__node_u32(&item, "ranks", 1, c->world, &k->ranks));
        SC__TRY(sc__node_u32(&item, "program", 0, c->program_count - 1, &k->program));
        ranks += k->ranks;
    }
    if (ranks != c->world)
        return sc__node_fail(&classes,
                             "capture one rank of each stage, or all (--ranks all)",
                             "the classes have %llu ranks, the world %u",
                             (unsigned long long)ranks,
                             c->world);
    return SC_OK;
}

static sc_status read_root(const struct sc__node *root, struct sc__capture *c) {
    struct sc__str schema = {0};
    SC__TRY(sc__node_keys(root,
                          KEYS("schema",
                               "made_by",
                               "world",
                               "mesh",
                               "groups",
                               "modules",
                               "tensors",
                               "calls",
                               "classes",
                               "programs",
                               "compiled",
                               "notes")));
    struct sc__node word;
    SC__TRY(sc__node_need(root, "schema", &word));
    SC__TRY(sc__node_slice(root, "schema", &schema));
    if (!sc__str_is(schema, SCHEMA))
        return sc__node_fail(&word, "this program reads " SCHEMA, "is another schema");
    SC__TRY(sc__node_need(root, "world", &word));
    SC__TRY(sc__node_string(root, "made_by", &c->made_by));
    SC__TRY(sc__node_u32(root, "world", 1, (uint32_t)SC__MOST_RANKS, &c->world));
    SC__TRY(sc__node_bool(root, "compiled", &c->compiled));
    SC__TRY(read_mesh(root, c));
    SC__TRY(read_groups(root, c));
    SC__TRY(read_modules(root, c));
    SC__TRY(read_tensors(root, c));
    SC__TRY(read_calls(root, c));
    SC__TRY(read_programs(root, c));
    return read_classes(root, c);
}

/* What the capture itself had to say. */
static sc_status repeat_notes(struct sc_context *ctx, const struct sc__node *root) {
    struct sc__node notes = sc__node_at(root, "notes");
    if (!notes.value)
        return SC_OK;
    SC__TRY(sc__node_is_array(&notes));
    for (size_t i = 0; i < sc__node_count(&notes); i++) {
        struct sc__node item = sc__node_item(&notes, i);
        struct sc__str text;
        SC__TRY(plain_string(&item, &text));
        sc__note(ctx, "capture", "%.*s", (int)text.n, text.p);
    }
    return SC_OK;
}

sc_status
sc__capture_read(struct sc_context *ctx, const char *path, struct sc__capture *c) {
    struct sc__json_file file;
    *c = (struct sc__capture){.arena = &ctx->arena, .file = path};
    sc_status status = sc__json_open(ctx, path, LARGEST, &file);
    if (status == SC_OK) {
        struct sc__node root = sc__json_root(&file);
        status = read_root(&root, c);
        if (status == SC_OK)
            status = sc__capture_check(ctx, c);
        if (status == SC_OK)
            status = repeat_notes(ctx, &root);
    }
    sc__json_close(&file);
    return status;
}
