/* The protobuf wire format of Chakra nodes, decoded by hand: nothing is
 * copied, what does not count is stepped over, and every error has its byte.
 * chakra.proto is the schema. */
#include "frontend/chakra/chakra.h"

#include <string.h>

static const char *const attr_names[SC__ATTR_UNKNOWN] = {
    "is_cpu_op",           "num_ops",        "tensor_size",     "comm_type",
    "comm_size",           "comm_src",       "comm_dst",        "comm_tag",
    "root_rank",           "stepcast_ps",    "stepcast_stream", "stepcast_phase",
    "stepcast_work",       "stepcast_layer", "stepcast_flags",  "stepcast_wait",
    "stepcast_bytes",      "stepcast_shift", "pg_name",         "stepcast_label",
    "stepcast_start_deps", "involved_dim"};

struct chakra_wire_wire {
    const unsigned char *p;
    const unsigned char *end;
    const unsigned char *begin;
    const char *wrong;
};

struct chakra_wire_field {
    uint32_t number;
    uint32_t type;
    uint64_t value;                 /* varint and fixed */
    struct chakra_wire_wire inside; /* length-delimited */
};

static bool chakra_wire_fail(struct chakra_wire_wire *w, const char *what) {
    if (!w->wrong)
        w->wrong = what;
    return false;
}

static bool varint(struct chakra_wire_wire *w, uint64_t *out) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (w->p == w->end)
            return chakra_wire_fail(w, "a number is cut");
        unsigned char c = *w->p++;
        if (shift == 63 && c > 1)
            break; /* bits beyond the 64th would be lost */
        v |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) {
            *out = v;
            return true;
        }
    }
    return chakra_wire_fail(w, "a number of more than 64 bits");
}

static bool fixed(struct chakra_wire_wire *w, unsigned bytes, uint64_t *out) {
    if ((size_t)(w->end - w->p) < bytes)
        return chakra_wire_fail(w, "a number is cut");
    *out = 0;
    memcpy(out, w->p, bytes);
    w->p += bytes;
    return true;
}

/* False at the end and on errors; wrong tells them apart. */
static bool next_field(struct chakra_wire_wire *w, struct chakra_wire_field *f) {
    uint64_t key;
    uint64_t n;
    if (w->p == w->end || !varint(w, &key))
        return false;
    if (key >> 3 == 0 || key >> 32)
        return chakra_wire_fail(w, "not a field number");
    f->number = (uint32_t)(key >> 3);
    f->type = (uint32_t)(key & 7);
    switch (f->type) {
    case 0:
        return varint(w, &f->value);
    case 1:
        return fixed(w, 8, &f->value);
    case 5:
        return fixed(w, 4, &f->value);
    case 2:
        if (!varint(w, &n))
            return false;
        if (n > (uint64_t)(w->end - w->p))
            return chakra_wire_fail(w, "a field is longer than its message");
        f->inside = (struct chakra_wire_wire){w->p, w->p + n, w->begin, NULL};
        w->p += n;
        return true;
    default:
        return chakra_wire_fail(w, "a wire type that Chakra does not use");
    }
}

static struct sc__str slice(const struct chakra_wire_field *f) {
    return (struct sc__str){(const char *)f->inside.p,
                            (size_t)(f->inside.end - f->inside.p)};
}

static bool inner(struct chakra_wire_wire *w, const struct chakra_wire_wire *i) {
    return !i->wrong || chakra_wire_fail(w, i->wrong);
}

enum sc__chakra_attr sc__chakra_attr_of(struct sc__str name) {
    if (!name.n || !strchr("inctprs", name.p[0]))
        return SC__ATTR_UNKNOWN;
    for (unsigned i = 0; i < SC__ATTR_UNKNOWN; i++)
        if (name.p[0] == attr_names[i][0] && sc__str_is(name, attr_names[i]))
            return i;
    return SC__ATTR_UNKNOWN;
}

/* Of two values there is no telling which is meant. */
static const char *const twice = "an attribute that stands twice";

const char *
sc__chakra_set_number(struct sc__chakra_node *n, enum sc__chakra_attr id, int64_t number) {
    if (n->has >> id & 1)
        return twice;
    n->number[id] = number;
    n->has |= 1u << id;
    return NULL;
}

const char *sc__chakra_set_text(struct sc__chakra_node *n,
                                enum sc__chakra_attr id,
                                struct sc__str text) {
    struct sc__str *to = id == SC__ATTR_PG_NAME ? &n->pg_name : &n->label;
    if (to->p)
        return twice;
    *to = text;
    return NULL;
}

/* Any of the number types may carry an attribute: writers differ. */
static bool attr_number(const struct chakra_wire_field *f, int64_t *out) {
    uint64_t v = f->value;
    double d;
    float s;
    switch (f->number) {
    case 3:
        memcpy(&d, &v, sizeof d);
        if (!(d > -9e18 && d < 9e18))
            return false;
        *out = (int64_t)d;
        return true;
    case 5:
        memcpy(&s, &v, sizeof s);
        if (!(s > -9e18f && s < 9e18f))
            return false;
        *out = (int64_t)s;
        return true;
    case 15:
    case 17:
        *out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
        return true;
    case 23:
        *out = (int32_t)v;
        return true;
    case 7:
        *out = (int32_t)v;
        return *out == (int64_t)v;
    case 9:
    case 11:
    case 13:
    case 19:
    case 21:
    case 25:
    case 27:
        *out = (int64_t)v;
        return true;
    default:
        return false;
    }
}

static bool
push_ids(struct sc__arena *a, struct chakra_wire_wire *list, struct sc__id_list *ids) {
    uint64_t id;
    while (list->p < list->end) {
        if (!varint(list, &id))
            return false;
        *SC__PUSH(a, ids->ids, ids->count, ids->capacity) = id;
    }
    return true;
}

static bool start_deps(struct sc__arena *a,
                       struct chakra_wire_wire *list,
                       struct sc__chakra_node *out,
                       struct sc__id_list *ids) {
    struct chakra_wire_field f;
    out->first_start = ids->count;
    while (next_field(list, &f))
        if (f.type == 2 && f.number == 1 && !push_ids(a, &f.inside, ids))
            return inner(list, &f.inside);
    out->start_deps = ids->count - out->first_start;
    return !list->wrong;
}

/* A false among the values: a dimension that takes no part. */
static bool involved(struct chakra_wire_wire *list, struct sc__chakra_node *out) {
    struct chakra_wire_field f;
    uint64_t value;
    while (next_field(list, &f)) {
        if (f.number == 1 && f.type == 0)
            out->partial |= !f.value;
        while (f.number == 1 && f.type == 2 && f.inside.p < f.inside.end) {
            if (!varint(&f.inside, &value))
                return inner(list, &f.inside);
            out->partial |= !value;
        }
    }
    return !list->wrong;
}

static bool wire_matches(uint32_t number, uint32_t type) {
    static const unsigned char want[33] = {0, 2, 2, 1, 2, 5, 2, 0, 2, 0, 2,
                                           0, 2, 0, 2, 0, 2, 0, 2, 5, 2, 1,
                                           2, 5, 2, 1, 2, 0, 2, 2, 2, 2, 2};
    return number > 32 || want[number] == type;
}

static bool attribute(struct sc__arena *a,
                      struct chakra_wire_wire *w,
                      struct sc__chakra_node *out,
                      struct sc__id_list *deps) {
    struct chakra_wire_field f;
    struct chakra_wire_field value = {0};
    struct sc__str name = {NULL, 0};
    while (next_field(w, &f)) {
        if (!wire_matches(f.number, f.type))
            return chakra_wire_fail(w, "an attribute with the wrong wire type");
        if (f.number == 1)
            name = slice(&f);
        else if (f.number > 2)
            value = f;
    }
    if (w->wrong)
        return false;
    enum sc__chakra_attr id = sc__chakra_attr_of(name);
    if (id == SC__ATTR_UNKNOWN || !value.number)
        return true;
    if (id == SC__ATTR_START_DEPS)
        return start_deps(a, &value.inside, out, deps) || inner(w, &value.inside);
    if (id == SC__ATTR_INVOLVED && value.number == 28)
        return involved(&value.inside, out) || inner(w, &value.inside);
    if (id == SC__ATTR_INVOLVED)
        return chakra_wire_fail(w, "an attribute that must be a list of booleans");
    const char *wrong;
    int64_t number;
    if (id >= SC__ATTR_NUMBERS)
        wrong = value.number == 29 ? sc__chakra_set_text(out, id, slice(&value))
                                   : "an attribute that must be text";
    else
        wrong = attr_number(&value, &number) ? sc__chakra_set_number(out, id, number)
                                             : "an attribute that must be a number";
    return !wrong || chakra_wire_fail(w, wrong);
}

static bool io_values(struct chakra_wire_wire *w, struct sc__str *out) {
    struct chakra_wire_field f;
    while (next_field(w, &f))
        if (f.number == 1 && f.type == 2)
            *out = slice(&f);
    return !w->wrong;
}

static bool dependency(struct sc__arena *a,
                       struct chakra_wire_wire *w,
                       struct chakra_wire_field *f,
                       struct sc__id_list *deps) {
    if (f->type == 2)
        return push_ids(a, &f->inside, deps) || inner(w, &f->inside);
    if (f->type != 0)
        return chakra_wire_fail(w, "a dependency with the wrong wire type");
    *SC__PUSH(a, deps->ids, deps->count, deps->capacity) = f->value;
    return true;
}

static bool node_field(struct sc__arena *a,
                       struct chakra_wire_wire *w,
                       struct chakra_wire_field *f,
                       struct sc__chakra_node *out,
                       struct sc__id_list *deps) {
    static const unsigned char want[11] =
        {9, 0, 2, 0, 9, 9, 0, 0, 2, 2, 2}; /* 9: see elsewhere */
    if (f->number <= 10 && want[f->number] != 9 && want[f->number] != f->type)
        return chakra_wire_fail(w, "a field with the wrong wire type");
    switch (f->number) {
    case 1:
        out->id = f->value;
        return true;
    case 2:
        out->name = slice(f);
        return true;
    case 3:
        out->type = (uint8_t)f->value;
        return (f->value > 0 && f->value < SC__CHAKRA_TYPES) ||
               chakra_wire_fail(w, "a node of unknown type");
    case 4:
        return dependency(a, w, f, deps);
    case 5:
        return dependency(a, w, f, deps);
    case 7:
        out->duration_us = f->value;
        return true;
    case 8:
        return io_values(&f->inside, &out->inputs) || inner(w, &f->inside);
    default:
        return true;
    }
}

const char *sc__chakra_decode(struct sc__arena *a,
                              const unsigned char *message,
                              size_t n,
                              struct sc__chakra_node *out,
                              struct sc__id_list *deps,
                              size_t *at) {
    struct chakra_wire_wire w = {message, message + n, message, NULL};
    struct chakra_wire_field f;
    memset(out, 0, sizeof *out);
    out->first_dep = deps->count;
    while (next_field(&w, &f))
        if (f.number != 10 && !node_field(a, &w, &f, out, deps))
            break;
    out->deps = deps->count - out->first_dep;
    for (struct chakra_wire_wire again = {message, message + n, message, NULL};
         !w.wrong && next_field(&again, &f);)
        if (f.number == 10 &&
            (f.type != 2 || (!attribute(a, &f.inside, out, deps) && !inner(&w, &f.inside))))
            chakra_wire_fail(&w, "a damaged attribute");
    if (!w.wrong && !out->type)
        chakra_wire_fail(&w, "a node without a type");
    if (!w.wrong && out->name.n && memchr(out->name.p, '\0', out->name.n))
        chakra_wire_fail(&w, "a name with a NUL byte");
    *at = (size_t)(w.p - message);
    return w.wrong;
}

const char *sc__chakra_metadata(const unsigned char *message, size_t n, size_t *at) {
    struct chakra_wire_wire w = {message, message + n, message, NULL};
    struct chakra_wire_field f;
    while (next_field(&w, &f))
        if (f.number > 2 || f.type != 2)
            chakra_wire_fail(&w, "not the metadata of a Chakra trace");
    *at = (size_t)(w.p - message);
    return w.wrong;
}
