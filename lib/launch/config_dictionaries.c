/* config_dictionaries: configurations in Python that are dictionaries in assignments
 * (InternEvo's). Values are literals, names of other assignments, or arithmetic of both.
 *
 *     MLP_RATIO = 8 / 3
 *     data = dict(seq_len=2 * 1024, micro_num=4, micro_bsz=1)
 *     model = dict(mlp_ratio=MLP_RATIO, num_layers=32)
 *
 * They become keys with dots between: data.seq_len. Nothing is run: any other expression
 * stays the text that it is, which is refused where a number is wanted. */
#include "launch/config.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MOST_DEPTH = 8, MOST_KEYS = 4000, MOST_NESTED = 64 };

struct python_keys {
    struct sc__launch *l;
    struct sc__config *c;
    const char *p;
    const char *end;
    uint32_t line;
    bool calls; /* what any function is called with is a section, too */
};

static void skip_line(struct python_keys *r) {
    while (r->p < r->end && *r->p != '\n')
        r->p++;
}

/* Behind a string; a triple one may go over lines. */
static struct sc__str take_string(struct python_keys *r) {
    char quote = *r->p;
    size_t width = r->end - r->p > 2 && r->p[1] == quote && r->p[2] == quote ? 3 : 1;
    const char *begin = r->p += width;
    for (; r->p < r->end; r->p++) {
        bool closes =
            *r->p == quote &&
            (width == 1 || (r->end - r->p > 2 && r->p[1] == quote && r->p[2] == quote));
        r->line += *r->p == '\n';
        if (closes || (width == 1 && *r->p == '\n'))
            break;
        if (*r->p == '\\' && r->end - r->p > 1 && r->p[1] != '\n')
            r->p++;
    }
    struct sc__str text = {begin, (size_t)(r->p - begin)};
    r->p += (size_t)(r->end - r->p) < width ? (size_t)(r->end - r->p) : width;
    return text;
}

static void skip_space(struct python_keys *r) {
    for (; r->p < r->end && (isspace((unsigned char)*r->p) || *r->p == '#'); r->p++) {
        if (*r->p == '#')
            skip_line(r);
        if (r->p == r->end)
            return;
        r->line += *r->p == '\n';
    }
}

static bool is_one_of(char c, const char *these) {
    return c && strchr(these, c);
}

static bool is_in_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static struct sc__str take_word(struct python_keys *r) {
    const char *begin = r->p;
    while (r->p < r->end && is_in_word(*r->p))
        r->p++;
    return (struct sc__str){begin, (size_t)(r->p - begin)};
}

/* Up to the comma, the bracket or the line that ends it, without its comments. */
static struct sc__str take_expression(struct python_keys *r, bool inside) {
    struct sc__buffer b;
    int depth = 0;
    sc__buffer_init(&b, &r->l->ctx->arena);
    while (r->p < r->end) {
        const char *begin = r->p;
        char c = *r->p;
        if (c == '#') {
            skip_line(r);
            continue;
        }
        if (depth <= 0 && (inside ? is_one_of(c, ",)}") : c == '\n'))
            break;
        if (c == '"' || c == '\'') {
            take_string(r);
        } else {
            depth += is_one_of(c, "([{") - is_one_of(c, ")]}");
            r->line += c == '\n';
            r->p++;
        }
        sc__printf(&b, "%.*s", (int)(r->p - begin), begin);
    }
    return sc__trim((struct sc__str){b.text, b.size});
}

/* ---- arithmetic ---- */

struct arithmetic {
    const struct sc__config *names;
    const char *p;
    const char *end;
    unsigned depth;
    bool bad;
};

/* What a name stands for here: the last assignment above. */
static const char *assigned(const struct sc__config *c, struct sc__str name) {
    for (uint32_t i = c->count; i--;)
        if (sc__str_is(name, c->items[i].key))
            return c->items[i].value;
    return NULL;
}

static bool take_sign(struct arithmetic *a, const char *sign) {
    size_t n = strlen(sign);
    while (a->p < a->end && isspace((unsigned char)*a->p))
        a->p++;
    if ((size_t)(a->end - a->p) < n || memcmp(a->p, sign, n) != 0)
        return false;
    a->p += n;
    return true;
}

static double sum(struct arithmetic *a);

static double in_brackets(struct arithmetic *a) {
    double value = sum(a);
    a->bad |= !take_sign(a, ")");
    return value;
}

/* 4096, 1_000, 1e-4, or a name. */
static double number_or_name(struct arithmetic *a) {
    char plain[64];
    size_t n = 0;
    const char *begin = a->p;
    bool digits = a->p < a->end && (isdigit((unsigned char)*a->p) || *a->p == '.');
    double value = 0;
    for (; a->p < a->end && n + 1 < sizeof plain; a->p++) {
        bool exponent = digits && n && tolower((unsigned char)plain[n - 1]) == 'e';
        if (!is_in_word(*a->p) && !(exponent && is_one_of(*a->p, "+-")))
            break;
        if (!digits || *a->p != '_')
            plain[n++] = *a->p;
    }
    plain[n] = 0;
    struct sc__str name = {begin, (size_t)(a->p - begin)};
    const char *known = digits ? plain : assigned(a->names, name);
    a->bad |= !known || !sc__parse_double(sc__str(known), &value);
    return value;
}

static double atom(struct arithmetic *a) {
    if (take_sign(a, "("))
        return in_brackets(a);
    if (take_sign(a, "int("))
        return trunc(in_brackets(a));
    return number_or_name(a);
}

static double signed_value(struct arithmetic *a) {
    double value = 0;
    a->bad |= ++a->depth > MOST_NESTED;
    if (a->bad)
        return 0;
    if (take_sign(a, "-"))
        value = -signed_value(a);
    else
        value = atom(a);
    if (take_sign(a, "**"))
        value = pow(value, signed_value(a));
    a->depth--;
    return value;
}

static double product(struct arithmetic *a) {
    double value = signed_value(a);
    for (;;) {
        if (a->bad)
            return 0;
        if (take_sign(a, "//"))
            value = floor(value / signed_value(a));
        else if (take_sign(a, "/"))
            value /= signed_value(a);
        else if (take_sign(a, "*"))
            value *= signed_value(a);
        else
            return value;
    }
}

static double sum(struct arithmetic *a) {
    double value = product(a);
    for (;;) {
        if (a->bad)
            return 0;
        if (take_sign(a, "+"))
            value += product(a);
        else if (take_sign(a, "-"))
            value -= product(a);
        else
            return value;
    }
}

static bool computed(const struct sc__config *c, struct sc__str text, double *out) {
    struct arithmetic a = {.names = c, .p = text.p, .end = text.p + text.n};
    *out = sum(&a);
    return !a.bad && a.p == a.end && isfinite(*out);
}

/* ---- keys ---- */

static const char *value_of(struct python_keys *r, struct sc__str text) {
    struct sc__arena *arena = &r->l->ctx->arena;
    struct python_keys word = {.l = r->l, .p = text.p, .end = text.p + text.n};
    bool quoted = text.n && is_one_of(*text.p, "\"'");
    struct sc__str part = quoted ? take_string(&word) : take_word(&word);
    double number;
    if (word.p == word.end && quoted)
        return sc__strndup(arena, part.p, part.n);
    const char *known = word.p == word.end ? assigned(r->c, part) : NULL;
    if (known)
        return known;
    if (!quoted && computed(r->c, text, &number))
        return sc__format(arena, number == trunc(number) ? "%.0f" : "%.17g", number);
    return sc__strndup(arena, text.p, text.n);
}

static void take_value(struct python_keys *r, const char *key, unsigned depth);

/* name=value and "name": value up to the bracket that closes them. */
static void take_entries(struct python_keys *r, const char *prefix, unsigned depth) {
    for (;;) {
        skip_space(r);
        if (r->p == r->end || *r->p == ')' || *r->p == '}')
            break;
        if (*r->p == ',') {
            r->p++;
            continue;
        }
        bool quoted = *r->p == '"' || *r->p == '\'';
        struct sc__str name = quoted ? take_string(r) : take_word(r);
        skip_space(r);
        bool named = name.n && r->p < r->end && *r->p == (quoted ? ':' : '=');
        if (!named) {
            take_expression(r, true);
            continue;
        }
        r->p++;
        take_value(r,
                   sc__format(&r->l->ctx->arena,
                              "%s%s%.*s",
                              prefix,
                              *prefix ? "." : "",
                              SC__SHOW(name)),
                   depth + 1);
    }
    if (r->p < r->end)
        r->p++;
}

/* Characters up to the bracket of a call that is a section; 0: none stands here. */
static size_t call_length(const struct python_keys *r) {
    static const char call[] = "dict(";
    size_t left = (size_t)(r->end - r->p);
    size_t n = 0;
    if (!r->calls)
        return left >= sizeof call - 1 && !memcmp(r->p, call, sizeof call - 1)
                   ? sizeof call - 1
                   : 0;
    while (n < left && is_in_word(r->p[n]))
        n++;
    return n && n < left && r->p[n] == '(' ? n + 1 : 0;
}

static void take_value(struct python_keys *r, const char *key, unsigned depth) {
    skip_space(r);
    size_t call = call_length(r);
    bool braces = r->p < r->end && *r->p == '{';
    if ((!call && !braces) || depth >= MOST_DEPTH) {
        uint32_t line = r->line;
        const char *value = value_of(r, take_expression(r, depth > 0));
        if (r->c->count < MOST_KEYS)
            sc__config_set(r->l, r->c, key, value, line);
        return;
    }
    r->p += call ? call : 1;
    take_entries(r, key, depth);
}

void sc__config_read_call(struct sc__launch *l,
                          struct sc__config *c,
                          struct sc__str text,
                          uint32_t line,
                          const char *key) {
    struct python_keys r =
        {.l = l, .c = c, .p = text.p, .end = text.p + text.n, .line = line, .calls = true};
    take_value(&r, key, 0);
}

void sc__config_read_dictionaries(struct sc__launch *l,
                                  struct sc__str text,
                                  struct sc__config *c) {
    struct python_keys r = {.l = l, .c = c, .p = text.p, .end = text.p + text.n, .line = 1};
    *c = (struct sc__config){0};
    for (;;) {
        skip_space(&r);
        if (r.p == r.end)
            return;
        if (*r.p == '"' || *r.p == '\'') {
            take_string(&r);
            continue;
        }
        struct sc__str name = take_word(&r);
        while (r.p < r.end && (*r.p == ' ' || *r.p == '\t'))
            r.p++;
        bool assigns = name.n && r.end - r.p > 1 && r.p[0] == '=' && r.p[1] != '=';
        if (!assigns) {
            take_expression(&r, false);
            r.p += r.p < r.end && *r.p != '\n';
            continue;
        }
        r.p++;
        take_value(&r, sc__strndup(&l->ctx->arena, name.p, name.n), 0);
    }
}
