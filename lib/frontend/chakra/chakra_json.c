/* Chakra traces as JSON, as chakra_jsonizer writes them: GlobalMetadata and every Node as
 * protobuf spells them, one object behind another, or in a list (newer versions).
 *
 *     {"version": "0.0.4"}
 *     {"id": "1", "name": "all-reduce", "type": "COMM_COLL_NODE", "dataDeps": ["0"],
 *      "attr": [{"name": "comm_size", "int64Val": "1048576"}, …]}
 *
 * Whole numbers of 64 bits are texts there; keys may be those of the schema too
 * (data_deps, int64_val). What is not known is passed over, as in the wire format. */
#include "frontend/chakra/chakra.h"

#include <jansson.h>
#include <string.h>

struct chakra_json {
    struct sc__arena *memory;
    struct sc__chakra_nodes *nodes;
    struct sc__id_list *deps;
    const char *wrong; /* the first thing that is */
};

static bool refuse_json(struct chakra_json *j, const char *what) {
    if (!j->wrong)
        j->wrong = what;
    return false;
}

/* A member by protobuf's name or by the schema's. */
static const json_t *member(const json_t *object, const char *camel, const char *schema) {
    const json_t *value = json_object_get(object, camel);
    return value ? value : json_object_get(object, schema);
}

static struct sc__str copied_text(struct chakra_json *j, const json_t *value) {
    size_t n = json_string_length(value);
    return (struct sc__str){sc__strndup(j->memory, json_string_value(value), n), n};
}

static struct sc__str raw_text(const json_t *value) {
    return (struct sc__str){json_string_value(value), json_string_length(value)};
}

/* Absent: 0, which protobuf does not write. */
static bool take_u64(struct chakra_json *j, const json_t *value, uint64_t *out) {
    *out = 0;
    if (!value)
        return true;
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *out = (uint64_t)json_integer_value(value);
        return true;
    }
    return (json_is_string(value) && sc__parse_u64(raw_text(value), out)) ||
           refuse_json(j, "a field that must be a whole number");
}

static bool take_ids(struct chakra_json *j, const json_t *list) {
    if (list && !json_is_array(list))
        return refuse_json(j, "dependencies that are no list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        uint64_t id;
        if (!take_u64(j, json_array_get(list, i), &id))
            return false;
        *SC__PUSH(j->memory, j->deps->ids, j->deps->count, j->deps->capacity) = id;
    }
    return true;
}

static bool take_type(struct chakra_json *j, const json_t *value, uint8_t *out) {
    static const char *const names[SC__CHAKRA_TYPES] = {"INVALID_NODE",
                                                        "METADATA_NODE",
                                                        "MEM_LOAD_NODE",
                                                        "MEM_STORE_NODE",
                                                        "COMP_NODE",
                                                        "COMM_SEND_NODE",
                                                        "COMM_RECV_NODE",
                                                        "COMM_COLL_NODE"};
    if (!value)
        return refuse_json(j, "a node without a type");
    for (uint8_t i = 1; i < SC__CHAKRA_TYPES; i++)
        if ((json_is_string(value) && !strcmp(json_string_value(value), names[i])) ||
            (json_is_integer(value) && json_integer_value(value) == i)) {
            *out = i;
            return true;
        }
    return refuse_json(j, "a node of unknown type");
}

/* ---- attributes ---- */

static bool number_of(const json_t *value, int64_t *out) {
    double real = json_real_value(value); /* 0 of other kinds */
    if (json_is_string(value))
        return sc__parse_i64(raw_text(value), out);
    if (real < -9e18 || real > 9e18 || !(json_is_boolean(value) || json_is_number(value)))
        return false;
    *out = json_is_boolean(value)   ? json_is_true(value)
           : json_is_integer(value) ? (int64_t)json_integer_value(value)
                                    : (int64_t)real;
    return true;
}

/* The one member beside the name: "int64Val": "5", "uint64List": {"values": ["5"]}. */
static const json_t *attribute_value(const json_t *attribute) {
    static const char *const others[] = {"name", "docString", "doc_string"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)attribute, key, value) {
        bool other = false;
        for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
            other |= !strcmp(key, others[i]);
        if (!other)
            return value;
    }
    return NULL;
}

static bool
take_start_deps(struct chakra_json *j, const json_t *list, struct sc__chakra_node *n) {
    n->first_start = j->deps->count;
    if (!take_ids(j, json_object_get(list, "values")))
        return false;
    n->start_deps = j->deps->count - n->first_start;
    return true;
}

static bool
take_involved(struct chakra_json *j, const json_t *list, struct sc__chakra_node *n) {
    const json_t *values = json_object_get(list, "values");
    if (!json_is_array(values))
        return refuse_json(j, "an attribute that must be a list of booleans");
    for (size_t i = 0; i < json_array_size(values); i++)
        n->partial |= json_is_false(json_array_get(values, i));
    return true;
}

static bool
take_attribute(struct chakra_json *j, const json_t *attribute, struct sc__chakra_node *n) {
    const json_t *name = json_object_get(attribute, "name");
    const json_t *value = attribute_value(attribute);
    int64_t number;
    if (!json_is_string(name) || !value)
        return true;
    enum sc__chakra_attr id = sc__chakra_attr_of(raw_text(name));
    if (id == SC__ATTR_UNKNOWN)
        return true;
    if (id == SC__ATTR_START_DEPS)
        return take_start_deps(j, value, n);
    if (id == SC__ATTR_INVOLVED)
        return take_involved(j, value, n);
    const char *wrong;
    if (id >= SC__ATTR_NUMBERS)
        wrong = json_is_string(value) ? sc__chakra_set_text(n, id, copied_text(j, value))
                                      : "an attribute that must be text";
    else
        wrong = number_of(value, &number) ? sc__chakra_set_number(n, id, number)
                                          : "an attribute that must be a number";
    return !wrong || refuse_json(j, wrong);
}

/* ---- nodes ---- */

static bool take_node(struct chakra_json *j, const json_t *object, uint64_t offset) {
    struct sc__chakra_nodes *all = j->nodes;
    struct sc__chakra_node *n = SC__PUSH(j->memory, all->items, all->count, all->capacity);
    const json_t *name = json_object_get(object, "name");
    const json_t *inputs = json_object_get(json_object_get(object, "inputs"), "values");
    const json_t *attributes = json_object_get(object, "attr");
    memset(n, 0, sizeof *n);
    n->offset = offset;
    n->first_dep = j->deps->count;
    if (!take_ids(j, member(object, "ctrlDeps", "ctrl_deps")) ||
        !take_ids(j, member(object, "dataDeps", "data_deps")))
        return false;
    n->deps = j->deps->count - n->first_dep;
    if (json_is_string(name))
        n->name = copied_text(j, name);
    if (json_is_string(inputs))
        n->inputs = copied_text(j, inputs);
    if (!take_u64(j, json_object_get(object, "id"), &n->id) ||
        !take_u64(j, member(object, "durationMicros", "duration_micros"), &n->duration_us))
        return false;
    for (size_t i = 0; i < json_array_size(attributes); i++)
        if (!take_attribute(j, json_array_get(attributes, i), n))
            return false;
    return take_type(j, json_object_get(object, "type"), &n->type);
}

static bool is_metadata(const json_t *object) {
    return json_is_object(object) && !json_object_get(object, "type") &&
           !json_object_get(object, "id");
}

static size_t skip_blanks(struct sc__str text, size_t at) {
    while (at < text.n && strchr(" \t\r\n", text.p[at]) && text.p[at])
        at++;
    return at;
}

/* The object at *at, which is moved behind it. */
static bool
take_object(struct chakra_json *j, struct sc__str text, size_t *at, bool first) {
    json_error_t e;
    json_t *object = json_loadb(text.p + *at,
                                text.n - *at,
                                JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES,
                                &e);
    if (!object) {
        *at += e.position > 0 ? (size_t)e.position : 0;
        return refuse_json(j, sc__strdup(j->memory, e.text));
    }
    bool good =
        first ? is_metadata(object) || refuse_json(j, "not the metadata of a Chakra trace")
              : take_node(j, object, *at);
    json_decref(object);
    if (good)
        *at += (size_t)e.position;
    return good;
}

const char *sc__chakra_decode_json(struct sc__arena *memory,
                                   struct sc__str text,
                                   struct sc__chakra_nodes *nodes,
                                   struct sc__id_list *deps,
                                   size_t *at) {
    struct chakra_json j = {.memory = memory, .nodes = nodes, .deps = deps};
    *at = skip_blanks(text, 0);
    bool list = *at < text.n && text.p[*at] == '[';
    *at = skip_blanks(text, *at + list);
    for (bool first = true; *at < text.n; first = false) {
        if (!take_object(&j, text, at, first))
            return j.wrong;
        *at = skip_blanks(text, *at);
        if (!list)
            continue;
        if (*at < text.n && text.p[*at] == ']')
            return skip_blanks(text, *at + 1) == text.n ? NULL : "text behind the list";
        if (*at == text.n || text.p[*at] != ',')
            return "a list that does not end";
        *at = skip_blanks(text, *at + 1);
    }
    return list ? "a list that does not end" : NULL;
}

bool sc__chakra_is_json(struct sc__str head) {
    static const char *const types[] = {"\"COMP_NODE\"",
                                        "\"COMM_COLL_NODE\"",
                                        "\"COMM_SEND_NODE\"",
                                        "\"COMM_RECV_NODE\"",
                                        "\"METADATA_NODE\""};
    size_t at = skip_blanks(head, 0);
    if (at == head.n || (head.p[at] != '{' && head.p[at] != '['))
        return false;
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        if (sc__find_word(head.p, head.n, types[i]))
            return sc__find_word(head.p, head.n, "\"type\"") != NULL;
    return false;
}
