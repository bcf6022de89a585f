/* shell_arithmetic: $((…)), ((…)) and indices: C's expressions on 64-bit integers.
 * Lowest first: , = ?: || && | ^ & == < << + * ** unary ++. */
#include "shell/shell_parts.h"

#include <string.h>

struct shell_sum {
    struct shell *sh;
    struct sc__str s;
    size_t at;
    uint32_t line;
    uint32_t unknown; /* a value that has a mark took part */
    uint32_t depth;
    bool idle; /* the side of && || ?: that is not asked for: nothing is set */
};

static sc_status sum_assign(struct shell_sum *e, int64_t *out);

static void sum_blanks(struct shell_sum *e) {
    while (e->at < e->s.n && strchr(" \t\n\r", e->s.p[e->at]))
        e->at++;
}

static bool sum_take(struct shell_sum *e, const char *op) {
    size_t n = strlen(op);
    sum_blanks(e);
    if (e->s.n - e->at < n || memcmp(e->s.p + e->at, op, n))
        return false;
    e->at += n;
    return true;
}

static char sum_peek(struct shell_sum *e, size_t ahead) {
    sum_blanks(e);
    return e->at + ahead < e->s.n ? e->s.p[e->at + ahead] : 0;
}

static sc_status sum_error(struct shell_sum *e, const char *message) {
    return shell_fail(e->sh,
                      e->line,
                      NULL,
                      "%s in the arithmetic '%.*s'",
                      message,
                      SC__SHOW(e->s));
}

static int64_t wrap_add(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrap_multiply(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* ---- variables ---- */

static sc_status sum_text(struct shell_sum *e, const char *text, int64_t *out) {
    uint32_t mark = sc__shell_mark(text);
    *out = 0;
    if (mark) {
        e->unknown = mark;
        return SC_OK;
    }
    if (!*text || sc__parse_i64(sc__str(text), out))
        return SC_OK;
    if (e->depth > 50)
        return sum_error(e, "variables that name each other");
    struct shell_sum inner = {.sh = e->sh,
                              .s = sc__str(text),
                              .line = e->line,
                              .depth = e->depth + 1};
    SC__TRY(sum_assign(&inner, out));
    sum_blanks(&inner);
    if (inner.at < inner.s.n)
        return sum_error(e, sc__format(&e->sh->ctx->arena, "'%s' is no number", text));
    if (inner.unknown)
        e->unknown = inner.unknown;
    return SC_OK;
}

struct sum_target {
    struct sc__str name;
    struct sc__str index;
};

static sc_status sum_value(struct shell_sum *e, const struct sum_target *t, int64_t *out) {
    const char *text = NULL;
    if (t->index.n) {
        struct sc__str raw = {t->name.p, (size_t)(t->index.p + t->index.n + 1 - t->name.p)};
        struct sc__buffer b;
        sc__buffer_init(&b, &e->sh->ctx->arena);
        sc__printf(&b, "${%.*s}", (int)raw.n, raw.p);
        SC__TRY(shell_expand_text(e->sh, (struct sc__str){b.text, b.size}, e->line, &text));
    } else {
        text = shell_get(e->sh, t->name);
        if (!text && sc__str_is(t->name, "RANDOM"))
            text = shell_unknown(e->sh, e->line, "$RANDOM");
        if (!text)
            shell_note_unset(e->sh, t->name, e->line);
    }
    return sum_text(e, text ? text : "", out);
}

static sc_status sum_store(struct shell_sum *e, const struct sum_target *t, int64_t v) {
    struct sc__buffer b;
    bool was_one;
    if (e->idle)
        return SC_OK;
    sc__buffer_init(&b, &e->sh->ctx->arena);
    sc__put(&b, t->name.p, t->name.n);
    if (t->index.n)
        sc__printf(&b, "[%.*s]", (int)t->index.n, t->index.p);
    if (e->unknown)
        sc__printf(&b, "=%s", shell_mark_text(e->sh, e->unknown));
    else
        sc__printf(&b, "=%lld", (long long)v);
    return shell_assign(e->sh, (struct sc__str){b.text, b.size}, e->line, &was_one);
}

static bool sum_target(struct shell_sum *e, struct sum_target *t) {
    sum_blanks(e);
    struct sc__str rest = {e->s.p + e->at, e->s.n - e->at};
    size_t n = shell_name_length(rest);
    if (!n)
        return false;
    *t = (struct sum_target){.name = {rest.p, n}};
    e->at += n;
    if (e->at < e->s.n && e->s.p[e->at] == '[') {
        size_t begin = ++e->at;
        unsigned level = 1;
        for (; e->at < e->s.n && level; e->at++) {
            level += e->s.p[e->at] == '[';
            level -= e->s.p[e->at] == ']';
        }
        t->index = (struct sc__str){e->s.p + begin, e->at > begin ? e->at - begin - 1 : 0};
    }
    return true;
}

/* ---- operands ---- */

static int digit_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + 10;
    return 99;
}

/* 10, 0x10, 010, 2#10 */
static sc_status sum_number(struct shell_sum *e, int64_t *out) {
    int64_t base = 10;
    int64_t value = 0;
    size_t begin = e->at;
    if (e->s.p[e->at] == '0' && e->at + 1 < e->s.n &&
        (e->s.p[e->at + 1] == 'x' || e->s.p[e->at + 1] == 'X')) {
        base = 16;
        e->at += 2;
    } else if (e->s.p[e->at] == '0') {
        base = 8;
    }
    for (; e->at < e->s.n; e->at++) {
        char c = e->s.p[e->at];
        if (c == '#' && base == 10 && value >= 2 && value <= 36) {
            base = value;
            value = 0;
            continue;
        }
        if (!shell_name_goes_on(c))
            break;
        if (digit_value(c) >= base) {
            e->at = begin;
            return sum_error(e, "a number with digits it cannot have");
        }
        value = wrap_add(wrap_multiply(value, base), digit_value(c));
    }
    if (e->at < e->s.n && e->s.p[e->at] == '.')
        return sum_error(e, "a number that is not whole");
    *out = value;
    return SC_OK;
}

static sc_status sum_step(struct shell_sum *e, const struct sum_target *t, int64_t *out) {
    int64_t by = 0;
    SC__TRY(sum_value(e, t, out));
    if (sum_take(e, "++"))
        by = 1;
    else if (sum_take(e, "--"))
        by = -1;
    return by ? sum_store(e, t, wrap_add(*out, by)) : SC_OK;
}

static sc_status sum_operand(struct shell_sum *e, int64_t *out) {
    struct sum_target t;
    char c = sum_peek(e, 0);
    if (c == SHELL_MARK_BEGIN) {
        e->unknown = sc__shell_mark(e->s.p + e->at);
        while (e->at < e->s.n && e->s.p[e->at] != SHELL_MARK_END)
            e->at++;
        e->at++;
        *out = 0;
        return SC_OK;
    }
    if (sum_take(e, "(")) {
        if (++e->depth > 50)
            return sum_error(e, "too many parentheses");
        SC__TRY(sum_assign(e, out));
        e->depth--;
        return sum_take(e, ")") ? SC_OK : sum_error(e, "')' is missing");
    }
    if (c >= '0' && c <= '9')
        return sum_number(e, out);
    if (sum_target(e, &t))
        return sum_step(e, &t, out);
    return sum_error(e, c ? "something that is no number" : "a number is missing");
}

static sc_status sum_unary(struct shell_sum *e, int64_t *out) {
    char c = sum_peek(e, 0);
    char next = sum_peek(e, 1);
    if ((c == '+' || c == '-') && next == c) {
        struct sum_target t;
        e->at += 2;
        if (!sum_target(e, &t))
            return sum_error(e, "a variable is missing");
        SC__TRY(sum_value(e, &t, out));
        *out = wrap_add(*out, c == '+' ? 1 : -1);
        return sum_store(e, &t, *out);
    }
    if (c && strchr("+-!~", c)) {
        if (++e->depth > 50)
            return sum_error(e, "too many signs");
        e->at++;
        SC__TRY(sum_unary(e, out));
        e->depth--;
        *out = c == '-'   ? wrap_multiply(*out, -1)
               : c == '!' ? !*out
               : c == '~' ? ~*out
                          : *out;
        return SC_OK;
    }
    return sum_operand(e, out);
}

static sc_status sum_power(struct shell_sum *e, int64_t *out) {
    SC__TRY(sum_unary(e, out));
    if (!sum_take(e, "**"))
        return SC_OK;
    int64_t exponent;
    int64_t base = *out;
    if (++e->depth > 50)
        return sum_error(e, "too many powers");
    SC__TRY(sum_power(e, &exponent));
    e->depth--;
    if (exponent < 0)
        return sum_error(e, "a negative exponent");
    *out = 1;
    for (; exponent; exponent >>= 1, base = wrap_multiply(base, base))
        if (exponent & 1)
            *out = wrap_multiply(*out, base);
    return SC_OK;
}

/* ---- operators of two sides, by level ---- */

static const char *const sum_levels[][5] = {
    {"|", NULL},
    {"^", NULL},
    {"&", NULL},
    {"==", "!=", NULL},
    {"<=", ">=", "<", ">", NULL},
    {"<<", ">>", NULL},
    {"+", "-", NULL},
    {"*", "/", "%", NULL},
};
#define SUM_LEVELS (sizeof sum_levels / sizeof *sum_levels)

/* The operator of this level that stands here, and no longer one. */
static const char *level_operator(struct shell_sum *e, unsigned level) {
    char c = sum_peek(e, 0);
    char next = sum_peek(e, 1);
    for (const char *const *op = sum_levels[level]; *op; op++) {
        size_t n = strlen(*op);
        if (e->s.n - e->at < n || memcmp(e->s.p + e->at, *op, n))
            continue;
        char after = sum_peek(e, n);
        if (n == 1 && (c == '|' || c == '&' || c == '<' || c == '>') && next == c)
            continue; /* ||, <<: of another level */
        if (n == 1 && c == '*' && next == '*')
            continue;
        if (after == '=' && strcmp(*op, "==") && strcmp(*op, "!=") && strcmp(*op, "<=") &&
            strcmp(*op, ">="))
            continue; /* += and its kin */
        e->at += n;
        return *op;
    }
    return NULL;
}

static sc_status
apply_operator(struct shell_sum *e, const char *op, int64_t a, int64_t b, int64_t *out) {
    char c = op[0];
    bool twice = op[1] == c;
    if (c == '/' || c == '%') {
        *out = 0;
        if (!b && (e->unknown || e->idle))
            return SC_OK;
        if (!b)
            return sum_error(e, "division by zero");
        if (b == -1)
            *out = c == '/' ? wrap_multiply(a, -1) : 0;
        else
            *out = c == '/' ? a / b : a % b;
        return SC_OK;
    }
    unsigned shift = (unsigned)b & 63;
    switch (c) {
    case '|':
        *out = a | b;
        break;
    case '^':
        *out = a ^ b;
        break;
    case '&':
        *out = a & b;
        break;
    case '=':
        *out = a == b;
        break;
    case '!':
        *out = a != b;
        break;
    case '<':
        *out = twice ? (int64_t)((uint64_t)a << shift) : op[1] ? a <= b : a < b;
        break;
    case '>':
        *out = twice ? a >> shift : op[1] ? a >= b : a > b;
        break;
    case '+':
        *out = wrap_add(a, b);
        break;
    case '-':
        *out = wrap_add(a, wrap_multiply(b, -1));
        break;
    default:
        *out = wrap_multiply(a, b);
        break;
    }
    return SC_OK;
}

static sc_status sum_level(struct shell_sum *e, unsigned level, int64_t *out) {
    const char *op;
    if (level == SUM_LEVELS)
        return sum_power(e, out);
    SC__TRY(sum_level(e, level + 1, out));
    while ((op = level_operator(e, level))) {
        int64_t right;
        SC__TRY(sum_level(e, level + 1, &right));
        SC__TRY(apply_operator(e, op, *out, right, out));
    }
    return SC_OK;
}

static sc_status sum_and(struct shell_sum *e, int64_t *out) {
    SC__TRY(sum_level(e, 0, out));
    while (sum_take(e, "&&")) {
        int64_t right;
        bool idle = e->idle;
        e->idle |= !*out;
        SC__TRY(sum_level(e, 0, &right));
        e->idle = idle;
        *out = *out && right;
    }
    return SC_OK;
}

static sc_status sum_or(struct shell_sum *e, int64_t *out) {
    SC__TRY(sum_and(e, out));
    while (sum_take(e, "||")) {
        int64_t right;
        bool idle = e->idle;
        e->idle |= *out != 0;
        SC__TRY(sum_and(e, &right));
        e->idle = idle;
        *out = *out || right;
    }
    return SC_OK;
}

static sc_status sum_choice(struct shell_sum *e, int64_t *out) {
    SC__TRY(sum_or(e, out));
    if (!sum_take(e, "?"))
        return SC_OK;
    bool first = *out != 0;
    bool idle = e->idle;
    int64_t a;
    int64_t b;
    e->idle = idle || !first;
    SC__TRY(sum_assign(e, &a));
    if (!sum_take(e, ":"))
        return sum_error(e, "':' is missing");
    e->idle = idle || first;
    SC__TRY(sum_assign(e, &b));
    e->idle = idle;
    *out = first ? a : b;
    return SC_OK;
}

/* NAME = …, NAME += …; else an expression. */
static sc_status sum_assign(struct shell_sum *e, int64_t *out) {
    static const char *const ops[] =
        {"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^=", NULL};
    struct sum_target t;
    size_t begin = e->at;
    if (++e->depth > 200)
        return sum_error(e, "too many parts");
    if (sum_target(e, &t))
        for (const char *const *op = ops; *op; op++) {
            if (!strcmp(*op, "=") && sum_peek(e, 1) == '=')
                continue;
            if (!sum_take(e, *op))
                continue;
            int64_t right;
            int64_t before = 0;
            SC__TRY(sum_assign(e, &right));
            *out = right;
            if ((*op)[1]) {
                char name[3] = {(*op)[0], (*op)[1] == (*op)[0] ? (*op)[1] : 0, 0};
                SC__TRY(sum_value(e, &t, &before));
                SC__TRY(apply_operator(e, name, before, right, out));
            }
            e->depth--;
            return sum_store(e, &t, *out);
        }
    e->at = begin;
    SC__TRY(sum_choice(e, out));
    e->depth--;
    return SC_OK;
}

static sc_status sum_whole(
    struct shell *sh, const char *text, uint32_t line, int64_t *out, uint32_t *unknown) {
    struct sc__buffer plain;
    sc__buffer_init(&plain, &sh->ctx->arena);
    for (const char *c = text; *c; c++)
        if (*c != '"')
            sc__putc(&plain, *c);
    struct shell_sum e = {.sh = sh,
                          .s = {plain.text ? plain.text : "", plain.size},
                          .line = line};
    sum_blanks(&e);
    if (e.at < e.s.n)
        SC__TRY(sum_assign(&e, out));
    while (sum_take(&e, ","))
        SC__TRY(sum_assign(&e, out));
    sum_blanks(&e);
    if (e.at < e.s.n)
        return sum_error(&e, "something stands behind the end");
    *unknown = e.unknown;
    return SC_OK;
}

sc_status shell_arithmetic(
    struct shell *sh, struct sc__str raw, uint32_t line, int64_t *out, uint32_t *unknown) {
    const char *text;
    uint32_t unset_before = sh->unset_seen;
    *out = 0;
    *unknown = 0;
    SC__TRY(shell_expand_quoted(sh, raw, line, &text));
    sc_status status = sum_whole(sh, text, line, out, unknown);
    /* names without a dollar are looked up there: "GBS / NPROC" divides by what is open */
    bool unset = sh->unset_seen != unset_before;
    if (status != SC_INPUT || !unset)
        return status;
    /* "8*$NODES" with NODES left open is an error of that line alone */
    sc__clear_error(sh->ctx);
    const char *what = sc__format(&sh->ctx->arena,
                                  "the arithmetic $((%.*s)), where a variable is empty",
                                  SC__SHOW(raw));
    *unknown = sc__shell_mark(shell_unknown(sh, line, what));
    return SC_OK;
}
