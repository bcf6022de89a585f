/* cluster_json: the JSON form of a cluster, in and out. docs/formats/cluster.md
 * has the schema. Keys are strict; jansson keeps no places for values, so an
 * error points at the key's first appearance inside its section. */
#include "hardware/cluster_fields.h"

#include <jansson.h>
#include <string.h>

#define SCHEMA "stepcast/cluster/1"

struct cluster_json_document {
    struct sc_context *ctx;
    const char *file;
    struct sc__str text;
    struct sc__cluster *out;
};

/* Where "key" stands after `from`, as an offset; from itself when nowhere. */
static size_t
find_key(const struct cluster_json_document *d, size_t from, const char *key) {
    char *quoted = sc__format(&d->ctx->arena, "\"%s\"", key);
    const char *at = sc__find_word(d->text.p + from, d->text.n - from, quoted);
    return at ? (size_t)(at - d->text.p) : from;
}

static struct sc__place cluster_json_place(const struct cluster_json_document *d,
                                           const char *section,
                                           const char *key) {
    size_t at = find_key(d, section ? find_key(d, 0, section) : 0, key);
    struct sc__place p = {.file = d->file, .line = 1, .column = 1};
    for (size_t i = 0; i < at; i++) {
        p.column++;
        if (d->text.p[i] == '\n') {
            p.line++;
            p.column = 1;
        }
    }
    return p;
}

/* A key of another section, or the nearest of this one, or all of them. */
static const char *
key_hint(struct sc_context *ctx, const char *key, const char *const *keys) {
    struct sc__buffer b;
    const struct sc__field *f = sc__cluster_fields;
    const char *near = sc__nearest(key, keys);
    while (f->key && (!f->section || strcmp(f->key, key) != 0))
        f++;
    if (f->key)
        return sc__format(&ctx->arena, "it is a key of \"%s\"", f->section);
    if (near)
        return sc__format(&ctx->arena, "did you mean \"%s\"?", near);
    if (!strcmp(key, "gpus_per_node"))
        return "write \"node\": {\"gpus\": 8}";
    sc__buffer_init(&b, &ctx->arena);
    for (unsigned i = 0; keys[i]; i++)
        sc__printf(&b, "%s%s", i ? ", " : "one of: ", keys[i]);
    return b.text;
}

static sc_status
unknown_key(const struct cluster_json_document *d, const char *section, const char *key) {
    const char *keys[64];
    unsigned n = 0;
    struct sc__place at = cluster_json_place(d, section, key);
    for (const struct sc__field *f = sc__cluster_fields; f->key; f++)
        if (section ? f->section && !strcmp(section, f->section) : !f->section)
            keys[n++] = f->key;
    if (!section) {
        keys[n++] = "node";
        keys[n++] = "fabric";
        keys[n++] = "collectives";
        keys[n++] = "schema";
    }
    keys[n] = NULL;
    return sc__fail(d->ctx,
                    SC_INPUT,
                    &at,
                    key_hint(d->ctx, key, keys),
                    "unknown key \"%s\"%s%s",
                    key,
                    section ? " in " : "",
                    section ? section : "");
}

/* A value as the text the one-line form would have. */
static struct sc__str value_text(const struct cluster_json_document *d,
                                 const json_t *value) {
    if (json_is_string(value))
        return (struct sc__str){json_string_value(value), json_string_length(value)};
    if (json_is_integer(value))
        return sc__str(
            sc__format(&d->ctx->arena, "%lld", (long long)json_integer_value(value)));
    if (json_is_real(value))
        return sc__str(sc__format(&d->ctx->arena, "%.17g", json_real_value(value)));
    if (json_is_boolean(value))
        return sc__str(json_is_true(value) ? "true" : "false");
    return sc__str("");
}

static sc_status bad_value(const struct cluster_json_document *d,
                           const char *section,
                           const char *key,
                           const char *expected) {
    struct sc__place at = cluster_json_place(d, section, key);
    return sc__fail(d->ctx, SC_INPUT, &at, NULL, "\"%s\" takes %s", key, expected);
}

static sc_status set_field(const struct cluster_json_document *d,
                           const char *section,
                           const char *key,
                           const json_t *value) {
    const struct sc__field *f = sc__field_by_key(section, key);
    if (!f)
        return unknown_key(d, section, key);
    const char *expected = sc__field_set(d->ctx, d->out, f, value_text(d, value));
    return expected ? bad_value(d, section, key, expected) : SC_OK;
}

static sc_status
set_constant(const struct cluster_json_document *d, const char *key, const json_t *value) {
    const struct sc__constant *k = sc__constant_find(key);
    struct sc__override o = {.constant = k};
    if (!k)
        return set_field(d, "collectives", key, value);
    for (unsigned i = 0; i < k->count; i++) {
        const json_t *item = k->count == 1 ? value : json_array_get(value, i);
        double number = json_number_value(item);
        if (!json_is_number(item) || number < 0 || (k->most > 0 && number > k->most) ||
            (k->count > 1 && json_array_size(value) != k->count))
            return bad_value(
                d,
                "collectives",
                key,
                sc__format(&d->ctx->arena,
                           "%u number%s, %s",
                           k->count,
                           k->count > 1 ? "s" : "",
                           k->most > 0 ? "0 to 1: the share of a link" : "0 or more"));
        o.value[i] = number;
    }
    *SC__PUSH(&d->ctx->arena,
              d->out->overrides,
              d->out->override_count,
              d->out->override_capacity) = o;
    return SC_OK;
}

static bool read_dim_kind(struct sc__str word, enum sc__dim_kind *kind) {
    static const char *const names[] = {"ring", "full", "switch"};
    for (unsigned i = 0; i < 3; i++)
        if (sc__str_is(word, names[i])) {
            *kind = (enum sc__dim_kind)i;
            return true;
        }
    return false;
}

/* {"kind": "ring", "size": 16, "rate": "100GB/s", "latency": "1us"} */
static bool
read_dim(const struct cluster_json_document *d, json_t *item, struct sc__fabric_dim *dim) {
    const char *key;
    json_t *value;
    *dim = (struct sc__fabric_dim){.size = 0};
    if (!json_is_object(item))
        return false;
    json_object_foreach(item, key, value) {
        struct sc__str text = value_text(d, value);
        bool good = false;
        if (!strcmp(key, "kind"))
            good = read_dim_kind(text, &dim->kind);
        else if (!strcmp(key, "size"))
            good = sc__parse_u32(text, &dim->size) && dim->size && dim->size <= 1u << 20;
        else if (!strcmp(key, "rate"))
            good = sc__parse_rate(text, &dim->rate) && dim->rate > 0;
        else if (!strcmp(key, "latency"))
            good = sc__parse_time(text, &dim->latency) && dim->latency >= 0;
        if (!good)
            return false;
    }
    return dim->size > 0;
}

static sc_status read_dims(const struct cluster_json_document *d, json_t *array) {
    struct sc__fabric *fabric = &d->out->fabric;
    size_t n = json_array_size(array);
    const char *expected = "a list of 1 to 6 objects {\"kind\": \"ring|full|switch\", "
                           "\"size\", \"rate\", \"latency\"}";
    if (!n || n > SC__FABRIC_DIMS_MAX)
        return bad_value(d, "fabric", "dims", expected);
    for (size_t i = 0; i < n; i++)
        if (!read_dim(d, json_array_get(array, i), &fabric->dim[i]))
            return bad_value(d, "fabric", "dims", expected);
    fabric->dims = (uint32_t)n;
    fabric->kind = SC__FABRIC_DIMS;
    return SC_OK;
}

/* [a, b, "400Gbps", "500ns"] */
static bool read_link(const struct cluster_json_document *d,
                      json_t *item,
                      struct sc__fabric_link *link) {
    return json_array_size(item) == 4 &&
           sc__parse_u32(value_text(d, json_array_get(item, 0)), &link->a) &&
           sc__parse_u32(value_text(d, json_array_get(item, 1)), &link->b) &&
           sc__parse_rate(value_text(d, json_array_get(item, 2)), &link->rate) &&
           link->rate > 0 &&
           sc__parse_time(value_text(d, json_array_get(item, 3)), &link->latency) &&
           link->latency >= 0;
}

static sc_status read_links(const struct cluster_json_document *d, json_t *array) {
    struct sc__fabric *fabric = &d->out->fabric;
    if (!json_array_size(array))
        return bad_value(d, "fabric", "links", "a list of [device, device, rate, latency]");
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct sc__fabric_link link = {0};
        if (!read_link(d, json_array_get(array, i), &link))
            return bad_value(
                d,
                "fabric",
                "links",
                sc__format(&d->ctx->arena,
                           "a list of [device, device, rate, latency]; entry %zu is not",
                           i));
        *SC__PUSH(&d->ctx->arena,
                  fabric->links,
                  fabric->link_count,
                  fabric->link_capacity) = link;
    }
    fabric->kind = SC__FABRIC_LINKS;
    return SC_OK;
}

static sc_status
read_section(const struct cluster_json_document *d, const char *section, json_t *object) {
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return bad_value(d,
                         NULL,
                         section,
                         strcmp(section, "node")
                             ? "an object"
                             : "an object, like {\"gpus\": 8, \"nics\": 8, \"nic\": "
                               "\"400Gbps\"}");
    json_object_foreach(object, key, value) {
        if (!strcmp(section, "collectives"))
            SC__TRY(set_constant(d, key, value));
        else if (!strcmp(section, "fabric") && !strcmp(key, "dims"))
            SC__TRY(read_dims(d, value));
        else if (!strcmp(section, "fabric") && !strcmp(key, "links"))
            SC__TRY(read_links(d, value));
        else
            SC__TRY(set_field(d, section, key, value));
    }
    return SC_OK;
}

static sc_status read_top(const struct cluster_json_document *d, json_t *root) {
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) {
        if (!strcmp(key, "schema")) {
            if (!json_is_string(value) || strcmp(json_string_value(value), SCHEMA) != 0)
                return bad_value(d, NULL, key, "\"" SCHEMA "\"");
        } else if (!strcmp(key, "node") || !strcmp(key, "fabric") ||
                   !strcmp(key, "collectives"))
            SC__TRY(read_section(d, key, value));
        else
            SC__TRY(set_field(d, NULL, key, value));
    }
    return SC_OK;
}

sc_status sc__cluster_json(struct sc_context *ctx,
                           const char *file,
                           struct sc__str text,
                           struct sc__cluster *out) {
    struct cluster_json_document d = {ctx, file, text, out};
    json_error_t error;
    json_t *root = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &error);
    memset(out, 0, sizeof *out);
    if (!root) {
        struct sc__place at = {.file = file,
                               .line = (uint64_t)(error.line > 0 ? error.line : 0),
                               .column = (uint64_t)(error.column > 0 ? error.column : 0)};
        return sc__fail(ctx, SC_INPUT, &at, NULL, "%s", error.text);
    }
    sc_status status =
        json_is_object(root) ? read_top(&d, root) : bad_value(&d, NULL, "", "an object");
    json_decref(root);
    if (status == SC_OK && !out->name)
        out->name = file;
    return status;
}

/* --- out ------------------------------------------------------------------ */

static void
put_rate(struct sc__json *j, struct sc__buffer *b, const char *key, double rate) {
    b->size = 0;
    sc__printf(b, "%.10gGB/s", rate / 1e9);
    if (rate > 0)
        sc__json_string(j, key, b->text);
}

static void cluster_json_put_time(struct sc__json *j,
                                  struct sc__buffer *b,
                                  const char *key,
                                  int64_t ps) {
    b->size = 0;
    sc__printf(b, "%lldps", (long long)ps);
    if (ps > 0)
        sc__json_string(j, key, b->text);
}

static void put_field(struct sc__json *j,
                      struct sc__buffer *b,
                      const struct sc__cluster *c,
                      const struct sc__field *f) {
    const void *at = (const char *)c + f->offset;
    switch (f->type) {
    case SC__FIELD_TEXT:
        if (*(const char *const *)at)
            sc__json_string(j, f->key, *(const char *const *)at);
        break;
    case SC__FIELD_COUNT:
    case SC__FIELD_WHOLE:
        if (*(const uint32_t *)at)
            sc__json_u64(j, f->key, *(const uint32_t *)at);
        break;
    case SC__FIELD_RATE:
        put_rate(j, b, f->key, *(const double *)at);
        break;
    case SC__FIELD_SIZE:
        b->size = 0;
        sc__printf(b, "%lluB", (unsigned long long)*(const uint64_t *)at);
        if (*(const uint64_t *)at)
            sc__json_string(j, f->key, b->text);
        break;
    case SC__FIELD_TIME:
        cluster_json_put_time(j, b, f->key, *(const int64_t *)at);
        break;
    case SC__FIELD_RATIO:
        if (*(const double *)at > 1)
            sc__json_double(j, f->key, *(const double *)at);
        break;
    case SC__FIELD_FLAG:
        if (*(const bool *)at)
            sc__json_bool(j, f->key, true);
        break;
    case SC__FIELD_INSIDE:
        sc__json_string(j, f->key, sc__inside_name(*(const enum sc__inside *)at));
        break;
    case SC__FIELD_KIND:
        sc__json_string(j, f->key, sc__fabric_kind_name(*(const enum sc__fabric_kind *)at));
        break;
    }
}

static void put_fields(struct sc__json *j,
                       struct sc__buffer *b,
                       const struct sc__cluster *c,
                       const char *section) {
    for (const struct sc__field *f = sc__cluster_fields; f->key; f++)
        if (section ? f->section && !strcmp(f->section, section) : !f->section)
            put_field(j, b, c, f);
}

static void put_dims(struct sc__json *j, struct sc__buffer *b, const struct sc__fabric *f) {
    static const char *const kinds[] = {"ring", "full", "switch"};
    sc__json_array(j, "dims");
    for (uint32_t i = 0; i < f->dims; i++) {
        sc__json_row(j, NULL);
        sc__json_string(j, "kind", kinds[f->dim[i].kind]);
        sc__json_u64(j, "size", f->dim[i].size);
        put_rate(j, b, "rate", f->dim[i].rate);
        cluster_json_put_time(j, b, "latency", f->dim[i].latency);
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}

static void
put_links(struct sc__json *j, struct sc__buffer *b, const struct sc__fabric *f) {
    sc__json_array(j, "links");
    for (uint32_t i = 0; i < f->link_count; i++) {
        sc__json_list(j, NULL);
        sc__json_u64(j, NULL, f->links[i].a);
        sc__json_u64(j, NULL, f->links[i].b);
        put_rate(j, b, NULL, f->links[i].rate);
        b->size = 0;
        sc__printf(b, "%lldps", (long long)f->links[i].latency);
        sc__json_string(j, NULL, b->text);
        sc__json_end_array(j);
    }
    sc__json_end_array(j);
}

static void put_constants(struct sc__json *j, const struct sc__cluster *c) {
    for (uint32_t i = 0; i < c->override_count; i++) {
        const struct sc__override *o = &c->overrides[i];
        if (o->constant->count == 1) {
            sc__json_double(j, o->constant->name, o->value[0]);
            continue;
        }
        sc__json_list(j, o->constant->name);
        for (unsigned k = 0; k < o->constant->count; k++)
            sc__json_double(j, NULL, o->value[k]);
        sc__json_end_array(j);
    }
}

void sc__cluster_write(const struct sc__cluster *c,
                       const char *source,
                       struct sc__buffer *out) {
    struct sc__json j;
    struct sc__buffer scratch;
    struct sc__cluster copy = *c;
    if (source)
        copy.source = source;
    sc__buffer_init(&scratch, out->arena);
    sc__json_init(&j, out);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "schema", SCHEMA);
    put_fields(&j, &scratch, &copy, NULL);
    sc__json_object(&j, "node");
    put_fields(&j, &scratch, &copy, "node");
    sc__json_end_object(&j);
    sc__json_object(&j, "fabric");
    put_fields(&j, &scratch, &copy, "fabric");
    if (c->fabric.dims)
        put_dims(&j, &scratch, &c->fabric);
    if (c->fabric.link_count)
        put_links(&j, &scratch, &c->fabric);
    sc__json_end_object(&j);
    sc__json_object(&j, "collectives");
    put_fields(&j, &scratch, &copy, "collectives");
    put_constants(&j, c);
    sc__json_end_object(&j);
    sc__json_end_object(&j);
    sc__putc(out, '\n');
}
