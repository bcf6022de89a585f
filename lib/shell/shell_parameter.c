/* shell_parameter: what follows a '$': $NAME, ${NAME:-…} and its kin, $(…), $((…)). */
#include "shell/shell_parts.h"

#include <string.h>

struct shell_parameter {
    struct sc__str name;
    struct sc__str index; /* of [index], empty where there is none */
    bool all;             /* $@, $*, [@], [*] */
    bool star;
    bool positional; /* $@, $*, $1 … */
    const char **items;
    uint32_t count;
    const char *text; /* NULL: not set */
};

/* Set in every shell, and by the machine. */
static bool of_the_machine(struct sc__str name) {
    static const char *const names[] = {"HOME",
                                        "PWD",
                                        "OLDPWD",
                                        "USER",
                                        "HOSTNAME",
                                        "PATH",
                                        "RANDOM",
                                        "SECONDS",
                                        "SHELL",
                                        "LOGNAME",
                                        "UID",
                                        "EUID",
                                        "PPID",
                                        "LINENO",
                                        "HOSTTYPE",
                                        "EPOCHSECONDS",
                                        "SRANDOM",
                                        NULL};
    for (const char *const *n = names; *n; n++)
        if (sc__str_is(name, *n))
            return true;
    return false;
}

static const char *special_value(struct shell *sh, char c, uint32_t line) {
    switch (c) {
    case '#':
        return sc__format(&sh->ctx->arena, "%u", sh->argument_count);
    case '?':
        return sh->status_unknown ? shell_mark_text(sh, sh->status_unknown)
                                  : sc__format(&sh->ctx->arena, "%d", sh->status);
    case '0':
        return sh->file;
    case '-':
        return "hB";
    default:
        return shell_unknown(sh, line, "a number of the machine");
    }
}

static const char *positional_value(const struct shell *sh, struct sc__str digits) {
    uint32_t i;
    if (!sc__parse_u32(digits, &i) || !i || i > sh->argument_count)
        return NULL;
    return sh->arguments[i - 1];
}

/* An element of an array, NULL where it has none. */
static sc_status find_element(struct shell *sh,
                              const struct sc__shell_variable *v,
                              struct sc__str index,
                              uint32_t line,
                              const char **out) {
    int64_t at = 0;
    uint32_t unknown = 0;
    *out = NULL;
    if (v && v->keys) {
        const char *key;
        SC__TRY(shell_expand_text(sh, index, line, &key));
        for (uint32_t i = 0; i < v->count; i++)
            if (!strcmp(v->keys[i], key))
                *out = v->items[i];
        return SC_OK;
    }
    SC__TRY(shell_arithmetic(sh, index, line, &at, &unknown));
    if (unknown) {
        *out = shell_mark_text(sh, unknown);
        return SC_OK;
    }
    if (v && at < 0)
        at += v->count;
    if (v && at >= 0 && at < (int64_t)v->count)
        *out = v->items[at];
    return SC_OK;
}

/* The value of the parameter; what has none is noted unless `quiet`. */
static sc_status
find_value(struct shell_expansion *x, struct shell_parameter *p, bool quiet) {
    struct shell *sh = x->sh;
    char first = p->name.n ? p->name.p[0] : 0;
    if (p->positional && p->all) {
        p->items = sh->arguments;
        p->count = sh->argument_count;
        return SC_OK;
    }
    if (first >= '1' && first <= '9') {
        p->text = positional_value(sh, p->name);
    } else if (p->name.n == 1 && strchr("#?0-$!", first)) {
        p->text = special_value(sh, first, x->line);
    } else {
        struct sc__shell_variable *v = shell_find(sh, p->name);
        if (v && !v->set)
            v = NULL;
        if (p->all) {
            p->items = v ? v->items : NULL;
            p->count = v ? v->count : 0;
            return SC_OK;
        }
        if (p->index.n)
            SC__TRY(find_element(sh, v, p->index, x->line, &p->text));
        else
            p->text = shell_get(sh, p->name);
        if (!v && !p->text && of_the_machine(p->name))
            p->text = shell_unknown(
                sh,
                x->line,
                sc__format(&sh->ctx->arena, "$%.*s of the machine", SC__SHOW(p->name)));
        if (!v && !p->text && sc__str_is(p->name, "BASH_SOURCE"))
            p->text = sh->file;
    }
    if (!p->text && !quiet && !p->all)
        shell_note_unset(sh, p->name, x->line);
    if (p->text && !*p->text) /* NODES=$NHOSTS hands on what the machine has */
        sh->unset_seen++;
    return SC_OK;
}

static bool is_null(const struct shell_parameter *p) {
    if (p->all)
        return !p->count || (p->count == 1 && !*p->items[0]);
    return !p->text || !*p->text;
}

static void
put_parameter(struct shell_expansion *x, const struct shell_parameter *p, bool quoted) {
    if (p->all)
        shell_put_list(x, p->items, p->count, quoted, p->star);
    else if (p->text)
        shell_put_value(x, p->text, quoted);
}

/* ---- operators ---- */

static sc_status
put_default_word(struct shell_expansion *x, struct sc__str word, bool quoted) {
    bool outer = x->in_default;
    x->in_default = true;
    SC__TRY(shell_expand_part(x, word, quoted));
    x->in_default = outer;
    return SC_OK;
}

/* ${X:-w} ${X-w} ${X:=w} ${X:+w} ${X:?w} */
static sc_status put_default(struct shell_expansion *x,
                             struct shell_parameter *p,
                             struct sc__str op,
                             bool quoted) {
    bool colon = op.p[0] == ':';
    char kind = op.p[colon];
    struct sc__str word = {op.p + colon + 1, op.n - colon - 1};
    bool absent = colon ? is_null(p) : !p->text && !p->count;
    uint32_t mark = p->text ? sc__shell_mark(p->text) : 0;
    /* a value that is not known may be empty, but who writes a default means the rest */
    if (mark)
        absent = false;
    if (kind == '+' && absent) {
        if (p->all)
            shell_put_list(x, NULL, 0, quoted, p->star);
        return SC_OK;
    }
    if (kind == '+')
        return put_default_word(x, word, quoted);
    if (!absent) {
        put_parameter(x, p, quoted);
        return SC_OK;
    }
    if (kind == '?') {
        shell_note_unset(x->sh, p->name, x->line);
        return SC_OK;
    }
    if (kind == '=') {
        const char *value;
        SC__TRY(shell_expand_text(x->sh, word, x->line, &value));
        shell_set(x->sh, p->name, value);
        shell_put_value(x, value, quoted);
        return SC_OK;
    }
    return put_default_word(x, word, quoted);
}

/* The shortest or longest end of the text that matches goes. */
static const char *cut_pattern(
    struct shell *sh, const char *text, const char *pattern, bool front, bool longest) {
    size_t n = strlen(text);
    for (size_t i = 0; i <= n; i++) {
        size_t length = longest ? n - i : i;
        const char *part =
            front ? sc__strndup(&sh->ctx->arena, text, length) : text + n - length;
        if (shell_matches(pattern, part))
            return front ? text + length : sc__strndup(&sh->ctx->arena, text, n - length);
    }
    return text;
}

/* Characters of the longest match at the beginning of text; 0: none. */
static size_t match_length(struct shell *sh, const char *pattern, const char *text) {
    for (size_t n = strlen(text); n; n--)
        if (shell_matches(pattern, sc__strndup(&sh->ctx->arena, text, n)))
            return n;
    return 0;
}

/* ${X/#a/b} and ${X/%a/b}: at the beginning or the end alone, where nothing matches too. */
static const char *replace_end(
    struct shell *sh, const char *text, const char *pattern, const char *by, bool front) {
    const char *left = cut_pattern(sh, text, pattern, front, true);
    if (strlen(left) == strlen(text) && !shell_matches(pattern, ""))
        return text;
    return front ? sc__format(&sh->ctx->arena, "%s%s", by, left)
                 : sc__format(&sh->ctx->arena, "%s%s", left, by);
}

static const char *replace_pattern(
    struct shell *sh, const char *text, const char *pattern, const char *by, bool every) {
    struct sc__buffer b;
    if (!*text && *pattern && shell_matches(pattern, ""))
        return by;
    sc__buffer_init(&b, &sh->ctx->arena);
    for (bool again = true; *text;) {
        size_t n = again ? match_length(sh, pattern, text) : 0;
        if (!n) {
            sc__putc(&b, *text++);
            continue;
        }
        sc__puts(&b, by);
        text += n;
        again = every;
    }
    return b.text ? b.text : "";
}

static sc_status change_text(struct shell_expansion *x,
                             struct sc__str op,
                             const char *text,
                             const char **out) {
    struct shell *sh = x->sh;
    bool twice = op.n > 1 && op.p[1] == op.p[0];
    struct sc__str word = {op.p + 1 + twice, op.n - 1 - twice};
    const char *pattern;
    *out = text;
    if (sc__shell_mark(text)) { /* what is not known stays so */
        *out = shell_mark_text(sh, sc__shell_mark(text));
        return SC_OK;
    }
    if (op.p[0] == '#' || op.p[0] == '%') {
        SC__TRY(shell_expand_pattern(sh, word, x->line, &pattern));
        *out = cut_pattern(sh, text, pattern, op.p[0] == '#', twice);
        return SC_OK;
    }
    if (op.p[0] == '/') {
        char anchor = !twice && word.n && (*word.p == '#' || *word.p == '%') ? *word.p : 0;
        size_t slash = 0;
        const char *by = "";
        word.p += anchor != 0;
        word.n -= anchor != 0;
        while (slash < word.n && word.p[slash] != '/')
            slash = shell_skip_quoted(word, slash);
        SC__TRY(
            shell_expand_pattern(sh, (struct sc__str){word.p, slash}, x->line, &pattern));
        if (slash < word.n)
            SC__TRY(
                shell_expand_text(sh,
                                  (struct sc__str){word.p + slash + 1, word.n - slash - 1},
                                  x->line,
                                  &by));
        *out = anchor ? replace_end(sh, text, pattern, by, anchor == '#')
                      : replace_pattern(sh, text, pattern, by, twice);
        return SC_OK;
    }
    char *changed = sc__strdup(&sh->ctx->arena, text);
    for (char *c = changed; *c && (twice || c == changed); c++) {
        if (op.p[0] == '^' && *c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
        if (op.p[0] == ',' && *c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    }
    *out = changed;
    return SC_OK;
}

static sc_status put_changed(struct shell_expansion *x,
                             struct shell_parameter *p,
                             struct sc__str op,
                             bool quoted) {
    if (!p->all) {
        const char *text = "";
        if (p->text)
            SC__TRY(change_text(x, op, p->text, &text));
        shell_put_value(x, text, quoted);
        return SC_OK;
    }
    const char **items = SC__NEW_ARRAY(&x->sh->ctx->arena, const char *, p->count);
    for (uint32_t i = 0; i < p->count; i++)
        SC__TRY(change_text(x, op, p->items[i], &items[i]));
    shell_put_list(x, items, p->count, quoted, p->star);
    return SC_OK;
}

/* ${X:2:3} and ${A[@]:1} */
static sc_status put_part(struct shell_expansion *x,
                          struct shell_parameter *p,
                          struct sc__str op,
                          bool quoted) {
    struct sc__str rest = {op.p + 1, op.n - 1};
    struct sc__str part;
    uint32_t unknown = p->text ? sc__shell_mark(p->text) : 0;
    int64_t begin = 0;
    int64_t total = p->all ? p->count : (int64_t)(p->text ? strlen(p->text) : 0);
    sc__split(&rest, ':', &part);
    bool has_length = part.p + part.n < op.p + op.n;
    if (!unknown)
        SC__TRY(shell_arithmetic(x->sh, part, x->line, &begin, &unknown));
    int64_t length = total;
    if (has_length && !unknown)
        SC__TRY(shell_arithmetic(x->sh, rest, x->line, &length, &unknown));
    if (unknown) {
        shell_put_value(x, shell_mark_text(x->sh, unknown), quoted);
        return SC_OK;
    }
    if (p->all && p->positional)
        begin = begin ? begin - 1 : 0;
    if (begin < 0)
        begin += total;
    bool outside = begin < 0 || begin > total;
    if (outside && !p->all)
        return SC_OK;
    if (outside)
        begin = total;
    int64_t end = has_length && length < 0 ? total + length : total;
    if (length >= 0 && length < total - begin)
        end = begin + length;
    if (has_length && length < 0 && (p->all || end < begin))
        return shell_fail(x->sh,
                          x->line,
                          NULL,
                          "the part of %.*s ends before it begins, where bash fails",
                          SC__SHOW(p->name));
    if (p->all) {
        uint32_t count = (uint32_t)(end - begin);
        shell_put_list(x, count ? p->items + begin : NULL, count, quoted, p->star);
        return SC_OK;
    }
    if (p->text)
        shell_put_value(
            x,
            sc__strndup(&x->sh->ctx->arena, p->text + begin, (size_t)(end - begin)),
            quoted);
    return SC_OK;
}

/* ---- ${…} ---- */

/* Cuts the name and [index] off the front of *s. */
static bool take_name(struct sc__str *s, struct shell_parameter *p) {
    size_t n = shell_name_length(*s);
    while (!n && s->n && s->p[0] >= '0' && s->p[0] <= '9') {
        size_t digits = 0;
        while (digits < s->n && s->p[digits] >= '0' && s->p[digits] <= '9')
            digits++;
        n = digits;
    }
    if (!n && s->n && strchr("@*#?$!-", s->p[0]))
        n = 1;
    if (!n)
        return false;
    p->name = (struct sc__str){s->p, n};
    p->positional = n == 1 && (*s->p == '@' || *s->p == '*');
    p->all = p->positional;
    p->star = p->positional && *s->p == '*';
    s->p += n;
    s->n -= n;
    if (!s->n || s->p[0] != '[' || !shell_name_begins(p->name.p[0]))
        return true;
    size_t end = 1;
    unsigned level = 1;
    while (end < s->n && level) {
        level += s->p[end] == '[';
        level -= s->p[end] == ']';
        end++;
    }
    if (level || end < 3)
        return false;
    p->index = (struct sc__str){s->p + 1, end - 2};
    p->all = sc__str_is(p->index, "@") || sc__str_is(p->index, "*");
    p->star = sc__str_is(p->index, "*");
    s->p += end;
    s->n -= end;
    return true;
}

/* ${#X}, ${#A[@]} */
static sc_status
put_length(struct shell_expansion *x, struct shell_parameter *p, bool quoted) {
    SC__TRY(find_value(x, p, true));
    uint32_t mark = p->text ? sc__shell_mark(p->text) : 0;
    for (uint32_t i = 0; p->all && i < p->count && !mark; i++)
        mark = sc__shell_mark(p->items[i]);
    unsigned long long n = p->all ? p->count : p->text ? strlen(p->text) : 0;
    shell_put_value(x,
                    mark ? shell_mark_text(x->sh, mark)
                         : sc__format(&x->sh->ctx->arena, "%llu", n),
                    quoted);
    return SC_OK;
}

/* ${!A[@]}: the indices; ${!X}: the variable that X names. */
static sc_status
put_indirect(struct shell_expansion *x, struct shell_parameter *p, bool quoted) {
    struct shell *sh = x->sh;
    SC__TRY(find_value(x, p, false));
    if (p->all) {
        struct sc__shell_variable *v = shell_find(sh, p->name);
        const char **keys = SC__NEW_ARRAY(&sh->ctx->arena, const char *, p->count);
        for (uint32_t i = 0; i < p->count; i++)
            keys[i] = v && v->keys ? v->keys[i] : sc__format(&sh->ctx->arena, "%u", i);
        shell_put_list(x, keys, p->count, quoted, p->star);
        return SC_OK;
    }
    if (!p->text || sc__shell_mark(p->text)) {
        put_parameter(x, p, quoted);
        return SC_OK;
    }
    struct shell_parameter named = {0};
    struct sc__str rest = sc__str(p->text);
    if (!take_name(&rest, &named) || rest.n)
        return shell_fail(sh, x->line, NULL, "'%s' names no variable", p->text);
    SC__TRY(find_value(x, &named, false));
    put_parameter(x, &named, quoted);
    return SC_OK;
}

static sc_status
expand_braces(struct shell_expansion *x, struct sc__str inside, bool quoted);

/* ${!X+set}, ${!X:-8}, ${!X%_*}: what stands behind is of the variable that X names. */
static sc_status put_indirect_changed(struct shell_expansion *x,
                                      struct shell_parameter *p,
                                      struct sc__str how,
                                      bool quoted) {
    struct shell_parameter named = {0};
    SC__TRY(find_value(x, p, false));
    if (!p->text || sc__shell_mark(p->text)) {
        put_parameter(x, p, quoted);
        return SC_OK;
    }
    struct sc__str rest = sc__str(p->text);
    if (!take_name(&rest, &named) || rest.n)
        return shell_fail(x->sh, x->line, NULL, "'%s' names no variable", p->text);
    const char *whole =
        sc__format(&x->sh->ctx->arena, "%s%.*s", p->text, (int)how.n, how.p);
    return expand_braces(x, sc__str(whole), quoted);
}

static sc_status
expand_braces(struct shell_expansion *x, struct sc__str inside, bool quoted) {
    struct shell_parameter p = {0};
    struct sc__str rest = inside;
    char prefix = inside.n > 1 ? inside.p[0] : 0;
    if (prefix == '#' || prefix == '!') {
        rest.p++;
        rest.n--;
        bool name = take_name(&rest, &p);
        if (name && !rest.n)
            return prefix == '#' ? put_length(x, &p, quoted) : put_indirect(x, &p, quoted);
        if (name && prefix == '!' && !p.all && !strchr("*@", rest.p[0]))
            return put_indirect_changed(x, &p, rest, quoted);
        rest = inside;
        p = (struct shell_parameter){0};
    }
    if (!take_name(&rest, &p))
        return shell_fail(x->sh,
                          x->line,
                          NULL,
                          "'${%.*s}' is no variable",
                          SC__SHOW(inside));
    char op = rest.n ? rest.p[0] : 0;
    char second = rest.n > 1 ? rest.p[1] : 0;
    bool is_default =
        (op && strchr("-=+?", op)) || (op == ':' && second && strchr("-=+?", second));
    SC__TRY(find_value(x, &p, is_default));
    if (!op) {
        put_parameter(x, &p, quoted);
        return SC_OK;
    }
    if (is_default)
        return put_default(x, &p, rest, quoted);
    if (op == ':')
        return put_part(x, &p, rest, quoted);
    if (strchr("#%/^,", op))
        return put_changed(x, &p, rest, quoted);
    return shell_fail(x->sh,
                      x->line,
                      NULL,
                      "'${%.*s}' is not understood",
                      SC__SHOW(inside));
}

/* ---- $… ---- */

static sc_status
put_arithmetic(struct shell_expansion *x, struct sc__str inside, bool quoted) {
    int64_t value;
    uint32_t unknown;
    SC__TRY(shell_arithmetic(x->sh, inside, x->line, &value, &unknown));
    shell_put_value(x,
                    unknown ? shell_mark_text(x->sh, unknown)
                            : sc__format(&x->sh->ctx->arena, "%lld", (long long)value),
                    quoted);
    return SC_OK;
}

static sc_status
put_command(struct shell_expansion *x, struct sc__str inside, bool quoted) {
    const char *text;
    SC__TRY(shell_capture(x->sh, inside, x->line, &text));
    shell_put_value(x, text, quoted);
    return SC_OK;
}

/* $(( … )), where the two closing parentheses stand together. */
static bool is_arithmetic(struct sc__str inside) {
    if (inside.n < 2 || inside.p[0] != '(' || inside.p[inside.n - 1] != ')')
        return false;
    unsigned level = 0;
    for (size_t i = 0; i < inside.n; i++) {
        level += inside.p[i] == '(';
        level -= inside.p[i] == ')';
        if (!level && i + 1 < inside.n)
            return false;
    }
    return !level;
}

sc_status shell_expand_dollar(struct shell_expansion *x,
                              struct sc__str text,
                              bool quoted,
                              size_t *used) {
    struct shell_parameter p = {0};
    struct sc__str whole = {text.p - 1, text.n + 1}; /* with the '$' */
    *used = 0;
    if (!text.n)
        return SC_OK;
    if (text.p[0] == '{' || text.p[0] == '(') {
        size_t end = shell_skip_quoted(whole, 0);
        struct sc__str inside = {text.p + 1, end > 3 ? end - 3 : 0};
        *used = end - 1;
        if (end < 3 || (whole.p[end - 1] != '}' && whole.p[end - 1] != ')'))
            return shell_fail(x->sh, x->line, NULL, "'$%c' without its end", text.p[0]);
        if (text.p[0] == '{')
            return expand_braces(x, inside, quoted);
        if (is_arithmetic(inside))
            return put_arithmetic(x, (struct sc__str){inside.p + 1, inside.n - 2}, quoted);
        return put_command(x, inside, quoted);
    }
    size_t n = shell_name_length(text);
    if (!n && (strchr("@*#?$!-", text.p[0]) || (text.p[0] >= '0' && text.p[0] <= '9')))
        n = 1;
    if (!n)
        return SC_OK;
    struct sc__str name = {text.p, n};
    if (!take_name(&name, &p))
        return SC_OK;
    *used = n;
    SC__TRY(find_value(x, &p, false));
    put_parameter(x, &p, quoted);
    return SC_OK;
}
