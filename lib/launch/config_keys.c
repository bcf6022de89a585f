/* config_keys: YAML, JSON (which is YAML) and TOML as keys and values. */
#include "launch/config.h"

#include "base/hash.h"

#include <inttypes.h>
#include <string.h>
#include <yaml.h>

#define CONFIG_DEPTH 40
#define CONFIG_ITEMS 50000

static sc_status
config_error(struct sc_context *ctx, const char *file, size_t line, const char *what) {
    struct sc__place at = {.file = file, .line = line};
    return sc__fail(ctx, SC_INPUT, &at, NULL, "%s", what);
}

static void add_item(struct sc_context *ctx,
                     struct sc__config *out,
                     const char *prefix,
                     const char *name,
                     const char *value,
                     size_t line) {
    const char *key = *prefix ? sc__format(&ctx->arena, "%s.%s", prefix, name)
                              : sc__strdup(&ctx->arena, name);
    const char *dot = strrchr(key, '.');
    /* a flag with a dot in it is one name */
    bool flag = !strncmp(name, "--", 2);
    *SC__PUSH(&ctx->arena, out->items, out->count, out->capacity) =
        (struct sc__config_item){.key = key,
                                 .last = flag  ? key + strlen(key) - strlen(name)
                                         : dot ? dot + 1
                                               : key,
                                 .value = sc__strdup(&ctx->arena, value),
                                 .line = (uint32_t)line};
}

bool sc__config_key_is(const char *whole, const char *key) {
    bool alone = *key == '=';
    key += alone;
    size_t length = strlen(whole);
    size_t n = strlen(key);
    if (length < n || (length > n && (alone || whole[length - n - 1] != '.')))
        return false;
    for (const char *at = whole + (length - n); *at; at++, key++)
        if (*at != *key && !(*at == '-' && *key == '_'))
            return false;
    return true;
}

static struct sc__config_item *asked_item(const struct sc__config *c, const char *key) {
    for (uint32_t i = 0; i < c->count; i++)
        if (sc__config_key_is(c->items[i].key, key)) {
            c->items[i].asked = true;
            return &c->items[i];
        }
    return NULL;
}

bool sc__config_has(const struct sc__config *c, const char *key) {
    for (uint32_t i = 0; i < c->count; i++)
        if (sc__config_key_is(c->items[i].key, key))
            return true;
    return false;
}

const char *sc__config_value(const struct sc__config *c, const char *key) {
    const struct sc__config_item *item = asked_item(c, key);
    return item ? item->value : NULL;
}

const char *sc__config_exact(const struct sc__config *c, const char *key) {
    for (uint32_t i = 0; i < c->count; i++)
        if (!strcmp(c->items[i].key, key)) {
            c->items[i].asked = true;
            return c->items[i].value;
        }
    return NULL;
}

/* ---- what values say ---- */

bool sc__config_nothing(const char *v) {
    static const char *const words[] =
        {"", "auto", "null", "None", "none", "~", "default", NULL};
    for (const char *const *w = words; *w; w++)
        if (!strcmp(v, *w))
            return true;
    return false;
}

bool sc__config_true(const char *v) {
    return sc__str_is_any_case(sc__str(v), "true") || !strcmp(v, "1") ||
           sc__str_is_any_case(sc__str(v), "yes") || sc__str_is_any_case(sc__str(v), "on");
}

bool sc__config_on_or(const struct sc__config *c, const char *key, bool usual) {
    const char *value = sc__config_value(c, key);
    return value ? sc__config_true(value) : usual;
}

bool sc__config_on(const struct sc__config *c, const char *key) {
    return sc__config_on_or(c, key, false);
}

bool sc__config_any_on(const struct sc__config *c, const char *const *keys) {
    bool any = false;
    for (; *keys; keys++)
        any |= sc__config_on(c, *keys);
    return any;
}

bool sc__config_false(const char *v) {
    return sc__str_is_any_case(sc__str(v), "false") || !strcmp(v, "0") ||
           sc__str_is_any_case(sc__str(v), "no") || sc__str_is_any_case(sc__str(v), "off");
}

bool sc__config_whole(const char *value, uint64_t *out) {
    char plain[32];
    size_t n = 0;
    double number;
    for (; *value && n + 1 < sizeof plain; value++)
        if (*value != '_')
            plain[n++] = *value;
    plain[n] = 0;
    bool digits = n && plain[strspn(plain, "0123456789.eE+")] == 0;
    /* so far doubles are exact */
    if (*value || !digits || !sc__parse_double(sc__str(plain), &number) ||
        !(number < 1e15) || number != (double)(uint64_t)number)
        return false;
    *out = (uint64_t)number;
    return true;
}

uint32_t sc__config_number(const struct sc__config *c, const char *key, uint32_t usual) {
    struct sc__config_item *item = asked_item(c, key);
    uint64_t whole;
    double number;
    if (!item)
        return usual;
    if (sc__config_whole(item->value, &whole) && whole <= UINT32_MAX)
        return (uint32_t)whole;
    /* -1 leaves a key open, and some take words as well */
    item->not_whole = sc__parse_double(sc__str(item->value), &number) && number > 0;
    return usual;
}

/* ---- YAML ---- */

struct yaml_keys {
    struct sc_context *ctx;
    const char *file;
    yaml_parser_t parser;
    yaml_event_t event;
    struct sc__config *out;
    unsigned depth;
    /* what has a name (&name), which aliases (*name) stand for: a scalar, or the items
     * under a key */
    struct yaml_anchor {
        const char *name;
        const char *value; /* NULL: not a scalar */
        bool plain;
        const char *under;
        uint32_t first;
        uint32_t end;
    } * anchors;
    uint32_t anchor_count;
    uint32_t anchor_capacity;
};

/* Text goes on as a C string. */
static sc_status yaml_text(struct yaml_keys *y) {
    const yaml_event_t *e = &y->event;
    bool scalar = e->type == YAML_SCALAR_EVENT;
    if (!scalar || !memchr(e->data.scalar.value, '\0', e->data.scalar.length))
        return SC_OK;
    return config_error(y->ctx, y->file, e->start_mark.line + 1, "text with a zero byte");
}

static sc_status yaml_next(struct yaml_keys *y) {
    yaml_event_delete(&y->event);
    if (yaml_parser_parse(&y->parser, &y->event))
        return yaml_text(y);
    memset(&y->event, 0, sizeof y->event);
    return config_error(y->ctx,
                        y->file,
                        y->parser.problem_mark.line + 1,
                        sc__format(&y->ctx->arena,
                                   "not YAML: %s",
                                   y->parser.problem ? y->parser.problem : "unreadable"));
}

static sc_status yaml_value(struct yaml_keys *y, const char *prefix, const char *name);

/* An item at the place of the event. */
static void yaml_item(struct yaml_keys *y,
                      const char *prefix,
                      const char *name,
                      const char *value,
                      bool plain) {
    const yaml_mark_t *at = &y->event.start_mark;
    add_item(y->ctx, y->out, prefix, name, value, at->line + 1);
    struct sc__config_item *item = &y->out->items[y->out->count - 1];
    item->column = (uint32_t)at->column + 1;
    item->plain = plain;
}

static void yaml_scalar(struct yaml_keys *y, const char *prefix, const char *name) {
    struct sc__arena *a = &y->ctx->arena;
    const char *value = (const char *)y->event.data.scalar.value;
    const char *anchor = (const char *)y->event.data.scalar.anchor;
    bool plain = y->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (anchor)
        *SC__PUSH(a, y->anchors, y->anchor_count, y->anchor_capacity) =
            (struct yaml_anchor){.name = sc__strdup(a, anchor),
                                 .value = sc__strdup(a, value),
                                 .plain = plain};
    yaml_item(y, prefix, name, value, plain);
}

/* What is under the key of an anchor, once more under another; missing: only what is not
 * there yet, as a merge (<<) has it. */
static sc_status yaml_copies(struct yaml_keys *y,
                             const struct yaml_anchor *a,
                             const char *under,
                             bool missing) {
    for (uint32_t i = a->first; i < a->end; i++) {
        struct sc__config_item copy = y->out->items[i];
        const char *rest = copy.key + strlen(a->under);
        copy.key = sc__format(&y->ctx->arena,
                              "%s%s",
                              under,
                              *under || *rest != '.' ? rest : rest + 1);
        const char *dot = strrchr(copy.key, '.');
        copy.last = dot ? dot + 1 : copy.key;
        if (missing && sc__config_exact(y->out, copy.key))
            continue;
        if (y->out->count >= CONFIG_ITEMS)
            return config_error(y->ctx, y->file, copy.line, "nested too deep, or too long");
        *SC__PUSH(&y->ctx->arena, y->out->items, y->out->count, y->out->capacity) = copy;
    }
    return SC_OK;
}

/* The last of that name before it counts. */
static const struct yaml_anchor *yaml_anchored(struct yaml_keys *y) {
    const char *wanted = (const char *)y->event.data.alias.anchor;
    for (uint32_t i = y->anchor_count; i-- > 0;)
        if (!strcmp(y->anchors[i].name, wanted))
            return &y->anchors[i];
    return NULL;
}

static sc_status yaml_no_anchor(struct yaml_keys *y) {
    return config_error(y->ctx,
                        y->file,
                        y->event.start_mark.line + 1,
                        sc__format(&y->ctx->arena,
                                   "the alias *%.60s stands for nothing before it",
                                   (const char *)y->event.data.alias.anchor));
}

static const char *
yaml_under(const struct yaml_keys *y, const char *prefix, const char *name) {
    return *prefix && *name ? sc__format(&y->ctx->arena, "%s.%s", prefix, name)
           : *name          ? name
                            : prefix;
}

static sc_status yaml_alias(struct yaml_keys *y, const char *prefix, const char *name) {
    const struct yaml_anchor *a = yaml_anchored(y);
    if (!a)
        return yaml_no_anchor(y);
    if (!a->value)
        return yaml_copies(y, a, yaml_under(y, prefix, name), false);
    yaml_item(y, prefix, name, a->value, a->plain);
    return SC_OK;
}

static sc_status yaml_mapping(struct yaml_keys *y, const char *prefix) {
    struct yaml_anchor merged = {0};
    for (;;) {
        SC__TRY(yaml_next(y));
        if (y->event.type == YAML_MAPPING_END_EVENT)
            return merged.name ? yaml_copies(y, &merged, prefix, true) : SC_OK;
        if (y->event.type != YAML_SCALAR_EVENT)
            return config_error(y->ctx,
                                y->file,
                                y->event.start_mark.line + 1,
                                "a key that is no word");
        const char *name =
            sc__strdup(&y->ctx->arena, (const char *)y->event.data.scalar.value);
        SC__TRY(yaml_next(y));
        if (!strcmp(name, "<<") && y->event.type == YAML_ALIAS_EVENT) {
            const struct yaml_anchor *a = yaml_anchored(y);
            if (!a || a->value)
                return yaml_no_anchor(y);
            merged = *a;
            continue;
        }
        SC__TRY(yaml_value(y, prefix, name));
    }
}

static sc_status yaml_sequence(struct yaml_keys *y, const char *prefix, const char *name) {
    size_t line = y->event.start_mark.line + 1;
    for (uint32_t i = 0;; i++) {
        SC__TRY(yaml_next(y));
        if (y->event.type == YAML_SEQUENCE_END_EVENT && !i) {
            y->out->empty = sc__format(&y->ctx->arena, "%s.%s", prefix, name);
            y->out->empty_line = (uint32_t)line;
        }
        if (y->event.type == YAML_SEQUENCE_END_EVENT)
            return SC_OK;
        SC__TRY(yaml_value(y, prefix, sc__format(&y->ctx->arena, "%s.%u", name, i)));
    }
}

static sc_status yaml_value(struct yaml_keys *y, const char *prefix, const char *name) {
    size_t line = y->event.start_mark.line + 1;
    if (y->depth >= CONFIG_DEPTH || y->out->count >= CONFIG_ITEMS)
        return config_error(y->ctx, y->file, line, "nested too deep, or too long");
    switch (y->event.type) {
    case YAML_SCALAR_EVENT:
        yaml_scalar(y, prefix, name);
        return SC_OK;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT: {
        bool mapping = y->event.type == YAML_MAPPING_START_EVENT;
        const char *under = yaml_under(y, prefix, name);
        const void *anchor = mapping ? y->event.data.mapping_start.anchor
                                     : y->event.data.sequence_start.anchor;
        struct yaml_anchor a = {.name = anchor ? sc__strdup(&y->ctx->arena, anchor) : NULL,
                                .under = under,
                                .first = y->out->count};
        y->depth++;
        SC__TRY(mapping ? yaml_mapping(y, under) : yaml_sequence(y, prefix, name));
        y->depth--;
        a.end = y->out->count;
        if (a.name)
            *SC__PUSH(&y->ctx->arena, y->anchors, y->anchor_count, y->anchor_capacity) = a;
        return SC_OK;
    }
    default:
        return yaml_alias(y, prefix, name);
    }
}

static sc_status yaml_document(struct yaml_keys *y) {
    do
        SC__TRY(yaml_next(y));
    while (y->event.type == YAML_STREAM_START_EVENT ||
           y->event.type == YAML_DOCUMENT_START_EVENT);
    if (y->event.type != YAML_MAPPING_START_EVENT)
        return config_error(y->ctx,
                            y->file,
                            y->event.start_mark.line + 1,
                            "not a mapping of keys to values");
    SC__TRY(yaml_mapping(y, ""));
    SC__TRY(yaml_next(y));
    return yaml_next(y);
}

static bool has_keys_with(const struct sc__config *c, const char *part) {
    for (uint32_t i = 0; i < c->count; i++)
        if (strstr(c->items[i].key, part))
            return true;
    return false;
}

/* A file of Kubernetes may hold several objects; the first that launches something counts.
 */
static sc_status yaml_documents(struct yaml_keys *y) {
    SC__TRY(yaml_document(y));
    while (y->event.type != YAML_STREAM_END_EVENT) {
        if (!sc__config_exact(y->out, "apiVersion") || !sc__config_exact(y->out, "kind"))
            return config_error(y->ctx,
                                y->file,
                                y->event.start_mark.line + 1,
                                "a second document: a configuration is one");
        if (has_keys_with(y->out, "containers.0.") ||
            has_keys_with(y->out, "spec.trainer."))
            return SC_OK;
        y->out->count = 0;
        SC__TRY(yaml_document(y));
    }
    return SC_OK;
}

sc_status sc__config_read_yaml(struct sc_context *ctx,
                               const char *file,
                               struct sc__str text,
                               struct sc__config *out) {
    struct yaml_keys y = {.ctx = ctx, .file = file, .out = out};
    memset(out, 0, sizeof *out);
    if (!yaml_parser_initialize(&y.parser))
        return sc__out_of_memory(ctx);
    yaml_parser_set_input_string(&y.parser, (const unsigned char *)text.p, text.n);
    sc_status status = yaml_documents(&y);
    yaml_event_delete(&y.event);
    yaml_parser_delete(&y.parser);
    return status;
}

void sc__config_yaml_truth(struct sc__config *c) {
    static const struct {
        const char *word;
        const char *value;
    } words[] = {{"yes", "true"}, {"on", "true"}, {"no", "false"}, {"off", "false"}};
    for (uint32_t i = 0; i < c->count; i++)
        for (unsigned w = 0; w < sizeof words / sizeof *words; w++)
            if (c->items[i].plain &&
                sc__str_is_any_case(sc__str(c->items[i].value), words[w].word))
                c->items[i].value = words[w].value;
}

/* ---- TOML ---- */

/* What stands before a comment that is not in quotes. */
static struct sc__str without_comment(struct sc__str line) {
    char quote = 0;
    for (size_t i = 0; i < line.n; i++) {
        char c = line.p[i];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '#')
            line.n = i;
    }
    return sc__trim(line);
}

static struct sc__str without_quotes_around(struct sc__str s) {
    if (s.n > 1 && (s.p[0] == '"' || s.p[0] == '\'') && s.p[s.n - 1] == s.p[0])
        return (struct sc__str){s.p + 1, s.n - 2};
    return s;
}

sc_status sc__config_read_toml(struct sc_context *ctx,
                               const char *file,
                               struct sc__str text,
                               struct sc__config *out) {
    struct sc__str line;
    const char *section = "";
    int brackets = 0; /* of an array over several lines */
    memset(out, 0, sizeof *out);
    for (size_t number = 1; sc__split(&text, '\n', &line); number++) {
        line = without_comment(line);
        const char *equals = line.n ? memchr(line.p, '=', line.n) : NULL;
        for (size_t i = 0; i < line.n && (brackets || equals); i++)
            brackets += (line.p[i] == '[') - (line.p[i] == ']');
        if (!line.n || (!equals && brackets >= 0 && line.p[0] != '['))
            continue;
        if (line.p[0] == '[' && !equals) {
            struct sc__str name = line;
            while (name.n && (name.p[0] == '[' || name.p[0] == ' ')) {
                name.p++;
                name.n--;
            }
            while (name.n && (name.p[name.n - 1] == ']' || name.p[name.n - 1] == ' '))
                name.n--;
            section = sc__strndup(&ctx->arena, name.p, name.n);
            brackets = 0;
            continue;
        }
        if (!equals || equals == line.p || out->count >= CONFIG_ITEMS)
            return config_error(ctx, file, number, "not TOML: key = value is missing");
        struct sc__str key = sc__trim((struct sc__str){line.p, (size_t)(equals - line.p)});
        struct sc__str value =
            sc__trim((struct sc__str){equals + 1, line.n - (size_t)(equals - line.p) - 1});
        key = without_quotes_around(key);
        value = without_quotes_around(value);
        add_item(ctx,
                 out,
                 section,
                 sc__strndup(&ctx->arena, key.p, key.n),
                 sc__strndup(&ctx->arena, value.p, value.n),
                 number);
    }
    return SC_OK;
}

/* ---- arguments ---- */

/* The words behind the first one are a list: --lora_target_modules q_proj v_proj. */
static void add_further_words(const struct sc__launch *l,
                              struct sc__config *c,
                              const char *name,
                              uint32_t first) {
    uint32_t after = first;
    while (after < l->count && !sc__is_flag(l->words[after]))
        after++;
    for (uint32_t i = first; i < after; i++)
        add_item(l->ctx,
                 c,
                 name,
                 sc__format(&l->ctx->arena, "%" PRIu32, i - first + 1),
                 l->words[i],
                 l->line);
}

/* Of a flag that stands twice the last one counts, as argparse has it. */
void sc__config_read_words(const struct sc__launch *l, struct sc__config *c) {
    struct sc__arena *arena = &l->ctx->arena;
    struct sc__names names;
    uint32_t *places = NULL; /* of the items of a name */
    uint32_t count = 0;
    uint32_t capacity = 0;
    sc__names_init(&names, arena);
    for (uint32_t i = 0; i < l->count; i++) {
        const char *word = l->words[i];
        const char *equals = strchr(word, '=');
        if (!sc__is_flag(word))
            continue;
        size_t n = equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;
        const char *name = sc__strndup(arena, word + 2, n);
        /* a switch of the launcher may stand before the program */
        bool behind = !equals && i + 1 < l->count && !sc__is_flag(l->words[i + 1]) &&
                      !sc__str_ends(sc__str(l->words[i + 1]), ".py");
        /* "--num_processes $N" with an N that is not set says nothing */
        if (!equals && !behind && !strcmp(name, "num_processes"))
            continue;
        struct sc__config_item item = {.key = name,
                                       .last = name,
                                       .value = equals   ? equals + 1
                                                : behind ? l->words[i + 1]
                                                         : "true",
                                       .line = l->line,
                                       .bare = !equals && !behind};
        uint32_t id = sc__names_add(&names, name, n);
        if (id == count) {
            *SC__PUSH(arena, places, count, capacity) = c->count;
            *SC__PUSH(arena, c->items, c->count, c->capacity) = item;
        }
        c->items[places[id]] = item;
        if (behind)
            add_further_words(l, c, name, i + 2);
    }
}
