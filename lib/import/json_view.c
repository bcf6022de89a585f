#include "import/json_view.h"

#include <string.h>

sc_status sc__json_open(struct sc_context *ctx, const char *path, size_t limit, struct sc__json_file *file) {
    json_error_t error;
    memset(file, 0, sizeof *file);
    file->ctx = ctx;
    file->name = !strcmp(path, "-") ? "<stdin>" : path;
    SC__TRY(sc__read_all(ctx, path, limit, &file->text));
    file->root = json_loadb(file->text.p, file->text.n, JSON_REJECT_DUPLICATES, &error);
    if (file->root) return SC_OK;
    struct sc__place at = {.file = file->name,
                           .line = error.line > 0 ? (uint64_t)error.line : 0,
                           .column = error.column > 0 ? (uint64_t)error.column : 0};
    return sc__fail(ctx, SC_INPUT, &at, "is the file cut?", "not JSON: %s", error.text);
}

void sc__json_close(struct sc__json_file *file) { json_decref(file->root); }

struct sc__node sc__json_root(const struct sc__json_file *file) {
    return (struct sc__node){.file = file, .value = file->root};
}

/* ---- where a node stands ---- */

/* The document has been parsed before, so it is well formed: the scan only
 * has to count brackets and skip strings. */
static const char *skip_blank(const char *p, const char *end) {
    while (p < end && strchr(" \t\r\n", *p)) p++;
    return p;
}

static const char *skip_string(const char *p, const char *end) {
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\') p++;
    return p < end ? p + 1 : end;
}

static const char *skip_value(const char *p, const char *end) {
    int depth = 0;
    for (; p < end; p++) {
        if (*p == '"')
            p = skip_string(p, end) - 1;
        else if (*p == '[' || *p == '{')
            depth++;
        else if (*p == ']' || *p == '}') {
            if (depth-- == 0) return p;
        } else if (*p == ',' && !depth)
            return p;
    }
    return end;
}

static const char *find_item(const char *p, const char *end, size_t index) {
    p = skip_blank(p + 1, end);
    while (index-- && p < end) p = skip_blank(skip_value(p, end) + 1, end);
    return p;
}

static const char *find_member(const char *p, const char *end, const char *key) {
    size_t n = strlen(key);
    for (p = skip_blank(p + 1, end); p < end && *p == '"';) {
        const char *name = p + 1, *after = skip_string(p, end), *value = memchr(after, ':', (size_t)(end - after));
        if (!value) break;
        value = skip_blank(value + 1, end);
        if ((size_t)(after - 1 - name) == n && !memcmp(name, key, n)) return value;
        p = skip_value(value, end);
        p = p < end ? skip_blank(p + 1, end) : end;
    }
    return NULL;
}

static const char *locate(const struct sc__node *n) {
    const struct sc__str t = n->file->text;
    if (!n->parent) return skip_blank(t.p, t.p + t.n);
    const char *base = locate(n->parent), *end = t.p + t.n;
    const char *found = n->key ? find_member(base, end, n->key) : find_item(base, end, n->index);
    return found && found < end ? found : base;
}

static struct sc__place place_of(const struct sc__node *n) {
    struct sc__place at = {.file = n->file->name, .line = 1};
    const char *found = locate(n), *line = n->file->text.p;
    for (const char *p = line; p < found; p++)
        if (*p == '\n') {
            at.line++;
            line = p + 1;
        }
    at.column = (uint64_t)(found - line) + 1;
    return at;
}

static void put_path(const struct sc__node *n, struct sc__buffer *b) {
    if (!n->parent) return;
    put_path(n->parent, b);
    if (n->key)
        sc__printf(b, "%s%s", b->size ? "." : "", n->key);
    else
        sc__printf(b, "[%zu]", n->index);
}

sc_status sc__node_fail(const struct sc__node *n, const char *hint, const char *fmt, ...) {
    struct sc__place at = place_of(n);
    struct sc__buffer path, text;
    sc__buffer_init(&path, &n->file->ctx->arena);
    sc__buffer_init(&text, &n->file->ctx->arena);
    put_path(n, &path);
    va_list ap;
    va_start(ap, fmt);
    sc__vprintf(&text, fmt, ap);
    va_end(ap);
    return sc__fail(n->file->ctx, SC_INPUT, &at, hint, "%s%s%s", path.size ? path.text : "", path.size ? ": " : "",
                    text.text);
}

/* ---- values ---- */

sc_status sc__node_keys(const struct sc__node *n, const char *const *keys) {
    const char *key;
    json_t *value;
    if (!json_is_object(n->value)) return sc__node_fail(n, NULL, "must be an object");
    json_object_foreach(n->value, key, value) {
        const char *const *k = keys;
        while (*k && strcmp(*k, key)) k++;
        if (*k) continue;
        struct sc__node at = {.file = n->file, .parent = n, .key = key, .value = value};
        const char *near = sc__nearest(key, keys);
        return sc__node_fail(&at, near ? sc__format(&n->file->ctx->arena, "did you mean \"%s\"?", near) : NULL,
                             "unknown key");
    }
    return SC_OK;
}

sc_status sc__node_is_array(const struct sc__node *n) {
    return json_is_array(n->value) ? SC_OK : sc__node_fail(n, NULL, "must be an array");
}

struct sc__node sc__node_at(const struct sc__node *n, const char *key) {
    json_t *value = json_object_get(n->value, key);
    return (struct sc__node){.file = n->file, .parent = n, .key = key, .value = json_is_null(value) ? NULL : value};
}

sc_status sc__node_need(const struct sc__node *n, const char *key, struct sc__node *out) {
    *out = sc__node_at(n, key);
    return out->value ? SC_OK : sc__node_fail(n, NULL, "\"%s\" is missing", key);
}

struct sc__node sc__node_item(const struct sc__node *n, size_t i) {
    return (struct sc__node){.file = n->file, .parent = n, .index = i, .value = json_array_get(n->value, i)};
}

sc_status sc__node_number(const struct sc__node *n, int64_t least, int64_t most, int64_t *out) {
    if (!json_is_integer(n->value)) return sc__node_fail(n, NULL, "must be a whole number");
    int64_t v = json_integer_value(n->value);
    if (v < least || v > most)
        return sc__node_fail(n, NULL, "%lld is not between %lld and %lld", (long long)v, (long long)least,
                             (long long)most);
    *out = v;
    return SC_OK;
}

sc_status sc__node_i64(const struct sc__node *n, const char *key, int64_t least, int64_t most, int64_t *out) {
    struct sc__node at = sc__node_at(n, key);
    return at.value ? sc__node_number(&at, least, most, out) : SC_OK;
}

sc_status sc__node_u32(const struct sc__node *n, const char *key, uint32_t least, uint32_t most, uint32_t *out) {
    int64_t v = *out;
    SC__TRY(sc__node_i64(n, key, least, most, &v));
    *out = (uint32_t)v;
    return SC_OK;
}

sc_status sc__node_u64(const struct sc__node *n, const char *key, uint64_t *out) {
    int64_t v = 0;
    struct sc__node at = sc__node_at(n, key);
    if (!at.value) return SC_OK;
    SC__TRY(sc__node_number(&at, 0, INT64_MAX, &v));
    *out = (uint64_t)v;
    return SC_OK;
}

sc_status sc__node_double(const struct sc__node *n, const char *key, double *out) {
    struct sc__node at = sc__node_at(n, key);
    if (!at.value) return SC_OK;
    if (!json_is_number(at.value) || !(json_number_value(at.value) >= 0))
        return sc__node_fail(&at, NULL, "must be a number from 0 on");
    *out = json_number_value(at.value);
    return SC_OK;
}

sc_status sc__node_bool(const struct sc__node *n, const char *key, bool *out) {
    struct sc__node at = sc__node_at(n, key);
    if (!at.value) return SC_OK;
    if (!json_is_boolean(at.value)) return sc__node_fail(&at, NULL, "must be true or false");
    *out = json_is_true(at.value);
    return SC_OK;
}

sc_status sc__node_string(const struct sc__node *n, const char *key, const char **out) {
    struct sc__node at = sc__node_at(n, key);
    if (!at.value) return SC_OK;
    if (!json_is_string(at.value)) return sc__node_fail(&at, NULL, "must be a string");
    *out = sc__strndup(&n->file->ctx->arena, json_string_value(at.value), json_string_length(at.value));
    return SC_OK;
}

sc_status sc__node_word(const struct sc__node *n, const char *key, const char *const *words, unsigned *out) {
    struct sc__node at = sc__node_at(n, key);
    if (!at.value) return SC_OK;
    const char *text = json_string_value(at.value);
    for (unsigned i = 0; text && words[i]; i++)
        if (!strcmp(words[i], text)) {
            *out = i;
            return SC_OK;
        }
    const char *near = text ? sc__nearest(text, words) : NULL;
    return sc__node_fail(&at, near ? sc__format(&n->file->ctx->arena, "did you mean \"%s\"?", near) : NULL,
                         text ? "unknown word '%.60s'" : "must be a string", text);
}
