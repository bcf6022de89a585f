/* shell_expand: words → fields: quotes, $…, splitting at IFS, {a,b} and {1..8}.
 * Patterns of files stay as they are: there are no files. */
#include "shell/shell_parts.h"

#include <string.h>

#define SHELL_BRACES 4096 /* words that one {1..n} may make */

static void close_field(struct shell_expansion *x) {
    if (!x->open)
        return;
    *SC__PUSH(&x->sh->ctx->arena, x->fields->items, x->fields->count, x->fields->capacity) =
        x->current.text ? x->current.text : "";
    sc__buffer_init(&x->current, &x->sh->ctx->arena);
    x->open = false;
}

static void put_char(struct shell_expansion *x, char c, bool quoted) {
    if (x->mode == SHELL_PATTERN && quoted && strchr("*?[]\\", c))
        sc__putc(&x->current, '\\');
    sc__putc(&x->current, c);
    x->open = true;
}

static const char *field_separators(struct shell *sh) {
    struct sc__shell_variable *v = shell_find(sh, SC__STR("IFS"));
    return v && v->set && v->count ? v->items[0] : " \t\n";
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n';
}

static void split_value(struct shell_expansion *x, const char *value) {
    const char *separators = field_separators(x->sh);
    for (const char *p = value; *p; p++) {
        if (!strchr(separators, *p)) {
            put_char(x, *p, false);
            continue;
        }
        bool blank = is_blank(*p);
        /* "a::b" has an empty field, "a  b" has not */
        if (!blank)
            x->open = true;
        close_field(x);
    }
}

void shell_put_value(struct shell_expansion *x, const char *value, bool quoted) {
    if (!quoted && x->mode == SHELL_SPLIT) {
        split_value(x, value);
        return;
    }
    for (const char *p = value; *p; p++)
        put_char(x, *p, quoted);
}

void shell_put_list(struct shell_expansion *x,
                    const char *const *items,
                    uint32_t count,
                    bool quoted,
                    bool star) {
    const char *ifs = field_separators(x->sh);
    bool one_text = x->mode != SHELL_SPLIT || (quoted && star);
    char between = star ? *ifs : ' ';
    x->empty_list |= !count && !star; /* "$*" of nothing is a word, "$@" none */
    for (uint32_t i = 0; i < count; i++) {
        if (i && one_text && between)
            put_char(x, between, quoted);
        if (i && !one_text)
            close_field(x);
        shell_put_value(x, items[i], quoted);
        if (quoted)
            x->open = true;
    }
}

static sc_status put_double_escape(struct shell_expansion *x, char c) {
    if (c == '\n')
        return SC_OK;
    if (!strchr("$`\"\\", c))
        put_char(x, '\\', true);
    put_char(x, c, true);
    return SC_OK;
}

/* $'…' */
static void put_ansi(struct shell_expansion *x, struct sc__str inside) {
    static const char names[] = "ntr\\'\"";
    static const char values[] = "\n\t\r\\'\"";
    for (size_t i = 0; i < inside.n; i++) {
        const char *name =
            inside.p[i] == '\\' && i + 1 < inside.n ? strchr(names, inside.p[i + 1]) : NULL;
        put_char(x, name ? values[name - names] : inside.p[i], true);
        i += name != NULL;
    }
    x->open = true;
}

static sc_status
put_backticks(struct shell_expansion *x, struct sc__str inside, bool quoted) {
    struct sc__buffer b;
    const char *text;
    sc__buffer_init(&b, &x->sh->ctx->arena);
    for (size_t i = 0; i < inside.n; i++) {
        if (inside.p[i] == '\\' && i + 1 < inside.n && strchr("`\\$", inside.p[i + 1]))
            i++;
        sc__putc(&b, inside.p[i]);
    }
    SC__TRY(shell_capture(x->sh,
                          (struct sc__str){b.text ? b.text : "", b.size},
                          x->line,
                          &text));
    shell_put_value(x, text, quoted);
    return SC_OK;
}

static sc_status
put_dollar(struct shell_expansion *x, struct sc__str raw, size_t *at, bool quoted) {
    size_t used = 0;
    struct sc__str rest = {raw.p + *at + 1, raw.n - *at - 1};
    if (!quoted && rest.n && rest.p[0] == '\'') {
        size_t end = shell_skip_quoted(raw, *at);
        put_ansi(x, (struct sc__str){raw.p + *at + 2, end > *at + 3 ? end - *at - 3 : 0});
        *at = end;
        return SC_OK;
    }
    SC__TRY(shell_expand_dollar(x, rest, quoted, &used));
    if (!used)
        put_char(x, '$', quoted);
    *at += used + 1;
    return SC_OK;
}

/* "…": *at is behind the first quote, and behind the last one afterwards. */
static sc_status put_double(struct shell_expansion *x, struct sc__str raw, size_t *at) {
    bool outer = x->empty_list;
    size_t before = x->current.size;
    uint32_t fields = x->fields->count;
    bool open = x->open;
    size_t end = *at;
    while (end < raw.n && raw.p[end] != '"') {
        char c = raw.p[end];
        end = c == '\\' || c == '$' || c == '`' ? shell_skip_quoted(raw, end) : end + 1;
    }
    if (end > raw.n)
        end = raw.n;
    x->empty_list = false;
    SC__TRY(shell_expand_part(x, (struct sc__str){raw.p + *at, end - *at}, true));
    bool nothing = x->current.size == before && x->fields->count == fields;
    x->open |= open || !(nothing && x->empty_list);
    x->empty_list = outer;
    *at = end < raw.n ? end + 1 : end;
    return SC_OK;
}

static sc_status
put_next(struct shell_expansion *x, struct sc__str raw, size_t *at, bool quoted) {
    char c = raw.p[*at];
    size_t end;
    switch (c) {
    case '\\':
        if (*at + 1 >= raw.n)
            break;
        *at += 2;
        if (quoted)
            return put_double_escape(x, raw.p[*at - 1]);
        if (raw.p[*at - 1] != '\n')
            put_char(x, raw.p[*at - 1], true);
        return SC_OK;
    case '\'':
        if (quoted)
            break;
        end = shell_skip_quoted(raw, *at);
        x->open = true;
        for (size_t i = *at + 1; i + 1 < end; i++)
            put_char(x, raw.p[i], true);
        *at = end;
        return SC_OK;
    case '"':
        if (quoted) { /* "${X:-"a"}" */
            ++*at;
            return SC_OK;
        }
        ++*at;
        return put_double(x, raw, at);
    case '$':
        return put_dollar(x, raw, at, quoted);
    case '`':
        end = shell_skip_quoted(raw, *at);
        SC__TRY(put_backticks(
            x,
            (struct sc__str){raw.p + *at + 1, end > *at + 2 ? end - *at - 2 : 0},
            quoted));
        *at = end;
        return SC_OK;
    default:
        break;
    }
    const char text[] = {c, '\0'};
    if (x->in_default)
        shell_put_value(x, text, quoted);
    else
        put_char(x, c, quoted);
    ++*at;
    return SC_OK;
}

sc_status shell_expand_part(struct shell_expansion *x, struct sc__str raw, bool quoted) {
    size_t at = 0;
    if (++x->sh->depth > 200)
        return shell_fail(x->sh, x->line, NULL, "a word is nested too deep");
    while (at < raw.n)
        SC__TRY(put_next(x, raw, &at, quoted));
    x->sh->depth--;
    return SC_OK;
}

/* ---- {a,b} and {1..8} ---- */

struct shell_brace {
    size_t begin; /* of '{' */
    size_t end;   /* behind '}' */
    size_t commas[64];
    uint32_t comma_count;
    bool range;
};

static bool find_comma_or_range(struct sc__str raw, struct shell_brace *b) {
    unsigned level = 0;
    b->comma_count = 0;
    b->range = false;
    for (size_t i = b->begin + 1; i < raw.n;) {
        char c = raw.p[i];
        if (c == '}' && !level) {
            b->end = i + 1;
            return b->comma_count || b->range;
        }
        if (is_blank(c))
            return false;
        if (c == ',' && !level && b->comma_count < 64)
            b->commas[b->comma_count++] = i;
        b->range |= c == '.' && !level && i + 1 < raw.n && raw.p[i + 1] == '.';
        level += c == '{';
        level -= c == '}';
        i = c == '\\' || c == '\'' || c == '"' || c == '`' || c == '$'
                ? shell_skip_quoted(raw, i)
                : i + 1;
    }
    return false;
}

static bool find_brace(struct sc__str raw, struct shell_brace *b) {
    for (size_t i = 0; i < raw.n;) {
        char c = raw.p[i];
        b->begin = i;
        if (c == '{' && find_comma_or_range(raw, b))
            return true;
        i = c == '\\' || c == '\'' || c == '"' || c == '`' || c == '$'
                ? shell_skip_quoted(raw, i)
                : i + 1;
    }
    return false;
}

static sc_status expand_plain(struct shell *sh,
                              struct sc__str raw,
                              uint32_t line,
                              enum shell_mode mode,
                              bool quoted,
                              struct shell_fields *out) {
    struct shell_expansion x = {.sh = sh, .mode = mode, .fields = out, .line = line};
    const char *home;
    sc__buffer_init(&x.current, &sh->ctx->arena);
    if (!quoted && raw.n && raw.p[0] == '~' && (raw.n == 1 || raw.p[1] == '/')) {
        home = shell_get(sh, SC__STR("HOME"));
        shell_put_value(&x, home ? home : "~", true);
        raw.p++;
        raw.n--;
    }
    SC__TRY(shell_expand_part(&x, raw, quoted));
    close_field(&x);
    return SC_OK;
}

static sc_status expand_braces(struct shell *sh,
                               struct sc__str raw,
                               uint32_t line,
                               struct shell_fields *out);

static sc_status expand_with(struct shell *sh,
                             struct sc__str raw,
                             const struct shell_brace *b,
                             struct sc__str middle,
                             uint32_t line,
                             struct shell_fields *out) {
    struct sc__buffer word;
    if (out->count > SHELL_BRACES)
        return shell_fail(sh, line, NULL, "{…} makes more than %d words", SHELL_BRACES);
    sc__buffer_init(&word, &sh->ctx->arena);
    sc__put(&word, raw.p, b->begin);
    sc__put(&word, middle.p, middle.n);
    sc__put(&word, raw.p + b->end, raw.n - b->end);
    return expand_braces(sh,
                         (struct sc__str){word.text ? word.text : "", word.size},
                         line,
                         out);
}

static sc_status expand_range(struct shell *sh,
                              struct sc__str raw,
                              const struct shell_brace *b,
                              uint32_t line,
                              struct shell_fields *out,
                              bool *done) {
    struct sc__str inside = {raw.p + b->begin + 1, b->end - b->begin - 2};
    const char *dots = sc__find_word(inside.p, inside.n, "..");
    int64_t from;
    int64_t to;
    struct sc__str left = {inside.p, (size_t)(dots - inside.p)};
    struct sc__str right = {dots + 2, inside.n - left.n - 2};
    *done = sc__parse_i64(left, &from) && sc__parse_i64(right, &to) && from > -1000000 &&
            from < 1000000 && to > -1000000 && to < 1000000;
    if (!*done)
        return SC_OK;
    int64_t step = from <= to ? 1 : -1;
    for (int64_t i = from;; i += step) {
        const char *number = sc__format(&sh->ctx->arena, "%lld", (long long)i);
        SC__TRY(expand_with(sh, raw, b, sc__str(number), line, out));
        if (i == to)
            return SC_OK;
    }
}

static sc_status expand_braces(struct shell *sh,
                               struct sc__str raw,
                               uint32_t line,
                               struct shell_fields *out) {
    struct shell_brace b;
    if (!find_brace(raw, &b))
        return expand_plain(sh, raw, line, SHELL_SPLIT, false, out);
    if (!b.comma_count) {
        bool done;
        SC__TRY(expand_range(sh, raw, &b, line, out, &done));
        return done ? SC_OK : expand_plain(sh, raw, line, SHELL_SPLIT, false, out);
    }
    size_t begin = b.begin + 1;
    for (uint32_t i = 0; i <= b.comma_count; i++) {
        size_t end = i < b.comma_count ? b.commas[i] : b.end - 1;
        struct sc__str middle = {raw.p + begin, end - begin};
        SC__TRY(expand_with(sh, raw, &b, middle, line, out));
        begin = end + 1;
    }
    return SC_OK;
}

/* ---- what others ask for ---- */

sc_status shell_expand_word(struct shell *sh,
                            const struct shell_word *word,
                            struct shell_fields *out) {
    if (word->raw.n > 1 && word->raw.p[1] == '(' &&
        (word->raw.p[0] == '<' || word->raw.p[0] == '>')) {
        const char *mark = shell_unknown(sh, word->line, "the output of a command");
        *SC__PUSH(&sh->ctx->arena, out->items, out->count, out->capacity) = mark;
        return SC_OK;
    }
    return expand_braces(sh, word->raw, word->line, out);
}

static sc_status expand_one(struct shell *sh,
                            struct sc__str raw,
                            uint32_t line,
                            enum shell_mode mode,
                            bool quoted,
                            const char **out) {
    struct shell_fields fields = {0};
    SC__TRY(expand_plain(sh, raw, line, mode, quoted, &fields));
    *out = fields.count ? fields.items[0] : "";
    return SC_OK;
}

sc_status
shell_expand_text(struct shell *sh, struct sc__str raw, uint32_t line, const char **out) {
    return expand_one(sh, raw, line, SHELL_JOIN, false, out);
}

sc_status
shell_expand_quoted(struct shell *sh, struct sc__str raw, uint32_t line, const char **out) {
    struct sc__buffer b;
    /* quotes stand for themselves here */
    sc__buffer_init(&b, &sh->ctx->arena);
    for (size_t i = 0; i < raw.n;) {
        size_t next = raw.p[i] == '$' || raw.p[i] == '\\' || raw.p[i] == '`'
                          ? shell_skip_quoted(raw, i)
                          : i + 1;
        if (raw.p[i] == '"')
            sc__putc(&b, '\\');
        sc__put(&b, raw.p + i, (next < raw.n ? next : raw.n) - i);
        i = next;
    }
    return expand_one(sh,
                      (struct sc__str){b.text ? b.text : "", b.size},
                      line,
                      SHELL_JOIN,
                      true,
                      out);
}

sc_status shell_expand_pattern(struct shell *sh,
                               struct sc__str raw,
                               uint32_t line,
                               const char **out) {
    return expand_one(sh, raw, line, SHELL_PATTERN, false, out);
}
