/* shell_variables: marks, variables and assignments. */
#include "shell/shell_parts.h"

#include <string.h>

/* ---- marks ---- */

uint32_t sc__shell_mark(const char *text) {
    const char *begin = strchr(text, SHELL_MARK_BEGIN);
    const char *end = begin ? strchr(begin, SHELL_MARK_END) : NULL;
    uint32_t number = 0;
    if (end)
        sc__parse_u32((struct sc__str){begin + 1, (size_t)(end - begin) - 1}, &number);
    return number;
}

const char *sc__shell_known(struct sc__arena *arena, const char *text, const char *word) {
    struct sc__buffer b;
    sc__buffer_init(&b, arena);
    for (; *text; text++) {
        const char *end = *text == SHELL_MARK_BEGIN ? strchr(text, SHELL_MARK_END) : NULL;
        if (end)
            sc__puts(&b, word);
        else
            sc__putc(&b, *text);
        text = end ? end : text;
    }
    return b.text ? b.text : "";
}

const char *shell_mark_text(struct shell *sh, uint32_t unknown) {
    return sc__format(&sh->ctx->arena, "%c%u%c", SHELL_MARK_BEGIN, unknown, SHELL_MARK_END);
}

const char *shell_unknown(struct shell *sh, uint32_t line, const char *what) {
    struct sc__shell_result *r = sh->result;
    *SC__PUSH(&sh->ctx->arena, r->unknowns, r->unknown_count, r->unknown_capacity) =
        (struct sc__shell_unknown){.line = line, .what = what};
    return shell_mark_text(sh, r->unknown_count);
}

/* ---- variables ---- */

struct sc__shell_variable *shell_find(struct shell *sh, struct sc__str name) {
    for (uint32_t i = sh->variable_count; i-- > 0;)
        if (sc__str_is(name, sh->variables[i].name))
            return &sh->variables[i];
    return NULL;
}

const char *shell_get(struct shell *sh, struct sc__str name) {
    struct sc__shell_variable *v = shell_find(sh, name);
    return v && v->set && v->count ? v->items[0] : NULL;
}

struct sc__shell_variable *shell_make(struct shell *sh, struct sc__str name) {
    struct sc__shell_variable *v = shell_find(sh, name);
    if (!v) {
        v = SC__PUSH(&sh->ctx->arena,
                     sh->variables,
                     sh->variable_count,
                     sh->variable_capacity);
        v->name = sc__strndup(&sh->ctx->arena, name.p, name.n);
    }
    v->line = sh->line;
    v->set = true;
    return v;
}

bool shell_is_pinned(const struct shell *sh, struct sc__str name) {
    for (size_t i = 0; i < sh->pinned->count; i++)
        if (sc__str_is(name, sh->pinned->items[i].name))
            return true;
    return false;
}

void shell_set(struct shell *sh, struct sc__str name, const char *value) {
    if (shell_is_pinned(sh, name))
        return;
    struct sc__shell_variable *v = shell_make(sh, name);
    if (v->array && !v->keys && v->count) { /* A=x sets the first element */
        const char **items = SC__NEW_ARRAY(&sh->ctx->arena, const char *, v->count);
        memcpy(items, v->items, v->count * sizeof *items);
        items[0] = value;
        v->items = items;
        return;
    }
    v->items = SC__NEW_ARRAY(&sh->ctx->arena, const char *, 1);
    v->items[0] = value;
    v->count = 1;
    v->keys = NULL;
    v->array = false;
}

void shell_note_unset(struct shell *sh, struct sc__str name, uint32_t line) {
    struct sc__shell_result *r = sh->result;
    sh->unset_seen++;
    for (uint32_t i = 0; i < r->unset_count; i++)
        if (sc__str_is(name, r->unset[i].name))
            return;
    *SC__PUSH(&sh->ctx->arena, r->unset, r->unset_count, r->unset_capacity) =
        (struct sc__shell_unset){sc__strndup(&sh->ctx->arena, name.p, name.n), line};
}

/* ---- assignments ---- */

static sc_status array_words(struct shell *sh,
                             struct sc__str inside,
                             uint32_t line,
                             struct shell_node *words) {
    return shell_parse_words(sh->ctx, sh->file, inside, line, words);
}

static sc_status assign_keys(struct shell *sh,
                             struct sc__shell_variable *v,
                             const struct shell_node *words) {
    struct sc__arena *arena = &sh->ctx->arena;
    const char **items = SC__NEW_ARRAY(arena, const char *, v->count + words->word_count);
    const char **keys = SC__NEW_ARRAY(arena, const char *, v->count + words->word_count);
    for (uint32_t i = 0; i < v->count; i++) {
        items[i] = v->items[i];
        keys[i] = v->keys ? v->keys[i] : sc__format(arena, "%u", i);
    }
    v->items = items;
    v->keys = keys;
    for (uint32_t i = 0; i < words->word_count; i++) {
        struct sc__str raw = words->words[i].raw;
        const char *close = raw.n ? memchr(raw.p, ']', raw.n) : NULL;
        if (!close || raw.p[0] != '[' || close + 1 >= raw.p + raw.n || close[1] != '=')
            return shell_fail(sh,
                              words->words[i].line,
                              NULL,
                              "an element of an associative array is [key]=value");
        struct sc__str key = {raw.p + 1, (size_t)(close - raw.p) - 1};
        struct sc__str value = {close + 2, raw.n - key.n - 3};
        SC__TRY(shell_expand_text(sh, key, words->words[i].line, &keys[v->count]));
        SC__TRY(shell_expand_text(sh, value, words->words[i].line, &items[v->count]));
        v->count++;
    }
    return SC_OK;
}

static sc_status assign_array(struct shell *sh,
                              struct sc__str name,
                              struct sc__str inside,
                              uint32_t line,
                              bool more) {
    struct shell_node words = {0};
    struct shell_fields fields = {0};
    SC__TRY(array_words(sh, inside, line, &words));
    struct sc__shell_variable *old = shell_find(sh, name);
    bool keyed = (old && old->keys) ||
                 (words.word_count && words.words[0].raw.p[0] == '[' &&
                  sc__find_word(words.words[0].raw.p, words.words[0].raw.n, "]="));
    for (uint32_t i = 0; more && !keyed && old && old->set && i < old->count; i++)
        *SC__PUSH(&sh->ctx->arena, fields.items, fields.count, fields.capacity) =
            old->items[i];
    for (uint32_t i = 0; !keyed && i < words.word_count; i++)
        SC__TRY(shell_expand_word(sh, &words.words[i], &fields));
    if (shell_is_pinned(sh, name))
        return SC_OK;
    struct sc__shell_variable *v = shell_make(sh, name);
    v->array = true;
    if (keyed) {
        if (!more)
            v->count = 0;
        return assign_keys(sh, v, &words);
    }
    v->items = fields.items;
    v->count = fields.count;
    return SC_OK;
}

static void set_key(struct shell *sh,
                    struct sc__shell_variable *v,
                    const char *key,
                    const char *value) {
    struct sc__arena *arena = &sh->ctx->arena;
    const char **items = SC__NEW_ARRAY(arena, const char *, v->count + 1);
    const char **keys = SC__NEW_ARRAY(arena, const char *, v->count + 1);
    uint32_t at = v->count;
    for (uint32_t i = 0; i < v->count; i++) {
        items[i] = v->items[i];
        keys[i] = v->keys[i];
        if (!strcmp(keys[i], key))
            at = i;
    }
    items[at] = value;
    keys[at] = key;
    v->count += at == v->count;
    v->items = items;
    v->keys = keys;
}

/* NAME[index]=value */
static sc_status assign_element(struct shell *sh,
                                struct sc__str name,
                                struct sc__str index,
                                const char *value,
                                uint32_t line) {
    struct sc__shell_variable *v = shell_make(sh, name);
    int64_t at;
    uint32_t unknown;
    if (v->keys) {
        const char *key;
        SC__TRY(shell_expand_text(sh, index, line, &key));
        set_key(sh, v, key, value);
        return SC_OK;
    }
    SC__TRY(shell_arithmetic(sh, index, line, &at, &unknown));
    v = shell_make(sh, name); /* an index may make variables */
    if (unknown || at < 0 || at > 100000)
        return shell_fail(sh, line, NULL, "the index of an array is not known here");
    uint32_t need = (uint32_t)at + 1 > v->count ? (uint32_t)at + 1 : v->count;
    const char **items = SC__NEW_ARRAY(&sh->ctx->arena, const char *, need);
    for (uint32_t i = 0; i < need; i++)
        items[i] = i < v->count ? v->items[i] : "";
    items[at] = value;
    v->items = items;
    v->count = need;
    v->array = true;
    return SC_OK;
}

sc_status shell_assign(struct shell *sh, struct sc__str raw, uint32_t line, bool *was_one) {
    size_t n = shell_name_length(raw);
    struct sc__str name = {raw.p, n};
    struct sc__str index = {NULL, 0};
    const char *value;
    *was_one = shell_is_assignment(raw);
    if (!*was_one)
        return SC_OK;
    if (raw.p[n] == '[') {
        size_t end = shell_skip_brackets(raw, n + 1, '[', ']');
        index = (struct sc__str){raw.p + n + 1, end - n - 2};
        n = end;
    }
    bool more = raw.p[n] == '+';
    struct sc__str right = {raw.p + n + more + 1, raw.n - n - more - 1};
    if (right.n && right.p[0] == '(') {
        struct sc__str inside = {right.p + 1, right.n > 1 ? right.n - 2 : 0};
        return assign_array(sh, name, inside, line, more);
    }
    SC__TRY(shell_expand_text(sh, right, line, &value));
    if (more) {
        const char *before = shell_get(sh, name);
        value = sc__format(&sh->ctx->arena, "%s%s", before ? before : "", value);
    }
    if (!index.p) {
        shell_set(sh, name, value);
        return SC_OK;
    }
    return shell_is_pinned(sh, name) ? SC_OK : assign_element(sh, name, index, value, line);
}
