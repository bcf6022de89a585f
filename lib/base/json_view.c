#include "base/json_view.h"

#include <string.h>

enum { LEVELS = SC__JSON_DEPTH + 2 };

struct member {
    struct sc__str key; /* decoded */
    const char *value;
};

struct sc__json_level {
    const char *object; /* whose members these are, up to its end */
    struct member *members;
    uint32_t count;
    uint32_t capacity;
    const char *end;
    const char *array; /* whose item `index` is at `item` */
    size_t index;
    const char *item;
};

sc_status sc__json_open(struct sc_context *ctx,
                        const char *path,
                        size_t limit,
                        struct sc__json_file *file) {
    SC__TRY(sc__json_text_open(ctx, path, limit, &file->text));
    file->levels = SC__NEW_ARRAY(&file->text.memory, struct sc__json_level, LEVELS);
    return SC_OK;
}

void sc__json_close(struct sc__json_file *file) {
    sc__json_text_close(&file->text);
}

struct sc__node sc__json_root(const struct sc__json_file *file) {
    return (struct sc__node){.file = file, .value = file->text.root};
}

struct sc_context *sc__node_context(const struct sc__node *n) {
    return n->file->text.ctx;
}

static struct sc__arena *memory(const struct sc__node *n) {
    return &sc__node_context(n)->arena;
}

/* ---- errors ---- */

static void put_path(const struct sc__node *n, struct sc__buffer *b) {
    if (!n->parent)
        return;
    put_path(n->parent, b);
    if (n->key)
        sc__printf(b, "%s%s", b->size ? "." : "", n->key);
    else
        sc__printf(b, "[%zu]", n->index);
}

sc_status sc__node_fail(const struct sc__node *n, const char *hint, const char *fmt, ...) {
    struct sc__place at =
        sc__json_place(&n->file->text, n->value ? n->value : n->parent->value);
    struct sc__buffer path;
    struct sc__buffer text;
    sc__buffer_init(&path, memory(n));
    sc__buffer_init(&text, memory(n));
    put_path(n, &path);
    va_list ap;
    va_start(ap, fmt);
    sc__vprintf(&text, fmt, ap);
    va_end(ap);
    return sc__fail(sc__node_context(n),
                    SC_INPUT,
                    &at,
                    hint,
                    "%s%s%s",
                    path.size ? path.text : "",
                    path.size ? ": " : "",
                    text.text);
}

/* ---- members and elements ---- */

static struct sc__json_level *members_of(const struct sc__node *n) {
    struct sc__json_level *l = &n->file->levels[n->depth];
    if (l->object == n->value)
        return l;
    l->object = n->value;
    l->count = 0;
    l->end = n->value + 1;
    for (const char *p = sc__json_first(n->value); p; p = sc__json_next(l->end)) {
        struct member *m = SC__PUSH(memory(n), l->members, l->count, l->capacity);
        m->value = sc__json_key(p, &m->key);
        m->key = sc__json_decode(memory(n), m->key);
        l->end = sc__json_skip(&n->file->text, m->value);
    }
    l->end = strchr(l->end, '}') + 1;
    return l;
}

static sc_status
unknown_key(const struct sc__node *n, const struct member *m, const char *const *keys) {
    const char *key = sc__strndup(memory(n), m->key.p, m->key.n);
    const char *near = sc__nearest(key, keys);
    struct sc__node at = {.file = n->file, .parent = n, .key = key, .value = m->value};
    return sc__node_fail(&at,
                         near ? sc__format(memory(n), "did you mean \"%s\"?", near) : NULL,
                         "unknown key");
}

sc_status sc__node_keys(const struct sc__node *n, const char *const *keys) {
    uint32_t seen = 0;
    if (!sc__node_is(n, '{'))
        return sc__node_fail(n, NULL, "must be an object");
    const struct sc__json_level *l = members_of(n);
    for (uint32_t i = 0; i < l->count; i++) {
        const struct member *m = &l->members[i];
        unsigned k = 0;
        while (keys[k] && !sc__str_is(m->key, keys[k]))
            k++;
        if (!keys[k])
            return unknown_key(n, m, keys);
        struct sc__node at = {.file = n->file,
                              .parent = n,
                              .key = keys[k],
                              .value = m->value};
        if (seen >> k & 1)
            return sc__node_fail(&at, NULL, "given twice");
        seen |= 1u << k;
    }
    return SC_OK;
}

bool sc__node_is(const struct sc__node *n, char first) {
    return n->value && *n->value == first;
}

sc_status sc__node_is_array(const struct sc__node *n) {
    return sc__node_is(n, '[') ? SC_OK : sc__node_fail(n, NULL, "must be an array");
}

struct sc__node sc__node_at(const struct sc__node *n, const char *key) {
    struct sc__node at = {.file = n->file, .parent = n, .key = key, .depth = n->depth + 1};
    const struct sc__json_level *l = members_of(n);
    for (uint32_t i = 0; i < l->count && !at.value; i++)
        if (sc__str_is(l->members[i].key, key))
            at.value = l->members[i].value;
    if (sc__node_is(&at, 'n'))
        at.value = NULL;
    return at;
}

sc_status sc__node_need(const struct sc__node *n, const char *key, struct sc__node *out) {
    *out = sc__node_at(n, key);
    return out->value ? SC_OK : sc__node_fail(n, NULL, "\"%s\" is missing", key);
}

size_t sc__node_count(const struct sc__node *n) {
    return sc__json_count(&n->file->text, n->value);
}

/* Behind a value one level below `depth`: where its members have been looked
 * at its end is known. */
static const char *behind(const struct sc__node *n, const char *value) {
    const struct sc__json_level *below = &n->file->levels[n->depth + 1];
    return below->object == value ? below->end : sc__json_skip(&n->file->text, value);
}

struct sc__node sc__node_item(const struct sc__node *n, size_t i) {
    struct sc__json_level *l = &n->file->levels[n->depth];
    if (l->array != n->value || i < l->index) {
        l->array = n->value;
        l->index = 0;
        l->item = sc__json_first(n->value);
    }
    for (; l->index < i && l->item; l->index++)
        l->item = sc__json_next(behind(n, l->item));
    return (struct sc__node){.file = n->file,
                             .parent = n,
                             .index = i,
                             .depth = n->depth + 1,
                             .value = l->item};
}

/* ---- values ---- */

sc_status
sc__node_number(const struct sc__node *n, int64_t least, int64_t most, int64_t *out) {
    struct sc__str text = sc__json_raw_text(n->value);
    int64_t v = 0;
    bool digits = *n->value != '"' && text.n - (text.p[0] == '-') ==
                                          strspn(text.p + (text.p[0] == '-'), "0123456789");
    if (!digits)
        return sc__node_fail(n, NULL, "must be a whole number");
    if (!sc__parse_i64(text, &v) || v < least || v > most)
        return sc__node_fail(n,
                             NULL,
                             "%.*s is not between %lld and %lld",
                             SC__SHOW(text),
                             (long long)least,
                             (long long)most);
    *out = v;
    return SC_OK;
}

sc_status sc__node_i64(
    const struct sc__node *n, const char *key, int64_t least, int64_t most, int64_t *out) {
    struct sc__node at = sc__node_at(n, key);
    return at.value ? sc__node_number(&at, least, most, out) : SC_OK;
}

sc_status sc__node_u32(const struct sc__node *n,
                       const char *key,
                       uint32_t least,
                       uint32_t most,
                       uint32_t *out) {
    int64_t v = *out;
    SC__TRY(sc__node_i64(n, key, least, most, &v));
    *out = (uint32_t)v;
    return SC_OK;
}

sc_status sc__node_u64(const struct sc__node *n, const char *key, uint64_t *out) {
    int64_t v = 0;
    struct sc__node at = sc__node_at(n, key);
    if (!at.value)
        return SC_OK;
    SC__TRY(sc__node_number(&at, 0, INT64_MAX, &v));
    *out = (uint64_t)v;
    return SC_OK;
}

sc_status sc__node_double(const struct sc__node *n, const char *key, double *out) {
    struct sc__node at = sc__node_at(n, key);
    double v;
    if (!at.value)
        return SC_OK;
    if (sc__node_is(&at, '"') || !sc__parse_double(sc__json_raw_text(at.value), &v) ||
        v < 0)
        return sc__node_fail(&at, NULL, "must be a number from 0 on");
    *out = v;
    return SC_OK;
}

sc_status sc__node_bool(const struct sc__node *n, const char *key, bool *out) {
    struct sc__node at = sc__node_at(n, key);
    if (!at.value)
        return SC_OK;
    if (!sc__node_is(&at, 't') && !sc__node_is(&at, 'f'))
        return sc__node_fail(&at, NULL, "must be true or false");
    *out = sc__node_is(&at, 't');
    return SC_OK;
}

sc_status sc__node_slice(const struct sc__node *n, const char *key, struct sc__str *out) {
    struct sc__node at = sc__node_at(n, key);
    if (!at.value)
        return SC_OK;
    if (!sc__node_is(&at, '"'))
        return sc__node_fail(&at, NULL, "must be a string");
    *out = sc__json_decode(memory(n), sc__json_raw_text(at.value));
    return SC_OK;
}

sc_status sc__node_string(const struct sc__node *n, const char *key, const char **out) {
    struct sc__str text = {NULL, 0};
    SC__TRY(sc__node_slice(n, key, &text));
    if (text.p)
        *out = sc__strndup(memory(n), text.p, text.n);
    return SC_OK;
}

static sc_status node_own_text(const struct sc__node *n, struct sc__str *out) {
    if (!sc__node_is(n, '"'))
        return sc__node_fail(n, NULL, "must be a string");
    *out = sc__json_decode(memory(n), sc__json_raw_text(n->value));
    return SC_OK;
}

sc_status sc__node_text(const struct sc__node *n, const char **out) {
    struct sc__str text;
    SC__TRY(node_own_text(n, &text));
    *out = sc__strndup(memory(n), text.p, text.n);
    return SC_OK;
}

sc_status
sc__node_choice(const struct sc__node *n, const char *const *words, unsigned *out) {
    struct sc__str text;
    SC__TRY(node_own_text(n, &text));
    for (unsigned i = 0; words[i]; i++)
        if (sc__str_is(text, words[i])) {
            *out = i;
            return SC_OK;
        }
    const char *near =
        sc__nearest(sc__strndup(memory(n), text.p, text.n < 60 ? text.n : 60), words);
    return sc__node_fail(n,
                         near ? sc__format(memory(n), "did you mean \"%s\"?", near) : NULL,
                         "unknown word '%.*s'",
                         SC__SHOW(text));
}

sc_status sc__node_word(const struct sc__node *n,
                        const char *key,
                        const char *const *words,
                        unsigned *out) {
    struct sc__node at = sc__node_at(n, key);
    return at.value ? sc__node_choice(&at, words, out) : SC_OK;
}

sc_status sc__node_document(const struct sc__node *root,
                            const char *schema,
                            const char *const *keys,
                            const char *const *needed) {
    const char *const schemas[] = {schema, NULL};
    unsigned which = 0;
    struct sc__node at;
    SC__TRY(sc__node_keys(root, keys));
    SC__TRY(sc__node_need(root, "schema", &at));
    for (const char *const *k = needed; *k; k++)
        SC__TRY(sc__node_need(root, *k, &at));
    return sc__node_word(root, "schema", schemas, &which);
}
