/* shell_test: [ … ] on words and [[ … ]] on an expression, and patterns. A test that
 * depends on a mark, or on a file, has no known answer. */
#include "shell/shell_parts.h"

#include <string.h>

/* ---- patterns ---- */

/* [a-z], [!a-z]; *after: behind it. False where it is no class. */
static bool class_matches(const char *pattern, char c, const char **after, bool *matches) {
    const char *p = pattern + 1;
    bool negated = *p == '!' || *p == '^';
    bool found = false;
    p += negated;
    for (bool first = true; *p && (first || *p != ']'); first = false) {
        char low = *p == '\\' && p[1] ? *++p : *p;
        char high = low;
        p++;
        if (*p == '-' && p[1] && p[1] != ']') {
            high = p[1];
            p += 2;
        }
        found |= c >= low && c <= high;
    }
    if (*p != ']')
        return false;
    *after = p + 1;
    *matches = c && found != negated;
    return true;
}

bool shell_matches(const char *pattern, const char *text) {
    const char *star = NULL; /* behind the last '*', and where it was tried */
    const char *tried = NULL;
    for (;;) {
        const char *after;
        bool matches = false;
        if (*pattern == '*') {
            star = ++pattern;
            tried = text;
            continue;
        }
        if (!*pattern && !*text)
            return true;
        if (*pattern == '[' && class_matches(pattern, *text, &after, &matches)) {
            if (matches) {
                pattern = after;
                text++;
                continue;
            }
        } else if (*pattern == '?' && *text) {
            pattern++;
            text++;
            continue;
        } else {
            const char *p = *pattern == '\\' && pattern[1] ? pattern + 1 : pattern;
            if (*p && *p == *text) {
                pattern = p + 1;
                text++;
                continue;
            }
        }
        if (!star || !*tried)
            return false;
        pattern = star;
        text = ++tried;
    }
}

/* ---- answers ---- */

/* What a part of a test says: 1, 0, or a mark. */
struct shell_answer {
    bool yes;
    uint32_t unknown;
};

static struct shell_answer answer(bool yes) {
    return (struct shell_answer){.yes = yes};
}

static struct shell_answer answer_not(struct shell_answer a) {
    a.yes = !a.yes;
    return a;
}

static struct shell_answer answer_and(struct shell_answer a, struct shell_answer b) {
    if ((!a.unknown && !a.yes) || (!b.unknown && !b.yes))
        return answer(false);
    return (struct shell_answer){.yes = true, .unknown = a.unknown ? a.unknown : b.unknown};
}

static struct shell_answer answer_or(struct shell_answer a, struct shell_answer b) {
    return answer_not(answer_and(answer_not(a), answer_not(b)));
}

static void give_answer(struct shell *sh, struct shell_answer a) {
    if (a.unknown)
        shell_answer_unknown(sh, a.unknown);
    else
        shell_answer(sh, a.yes ? 0 : 1);
}

static struct shell_answer unknown_test(struct shell *sh, const char *what) {
    return (struct shell_answer){.unknown =
                                     sc__shell_mark(shell_unknown(sh, sh->line, what))};
}

/* ---- tests of one and of two ---- */

static bool is_unary(const char *op) {
    return op[0] == '-' && op[1] && !op[2] && strchr("zndefrwxsLhbcpSgukOGNvt", op[1]);
}

static bool has_text_around_mark(const char *text) {
    return *text != SHELL_MARK_BEGIN || strchr(text, SHELL_MARK_END)[1];
}

static struct shell_answer test_unary(struct shell *sh, char op, const char *text) {
    uint32_t mark = sc__shell_mark(text);
    if (op == 'z' || op == 'n') {
        bool some = *text && (!mark || has_text_around_mark(text));
        if (mark && !some)
            return (struct shell_answer){.unknown = mark};
        return answer(op == 'n' ? *text != 0 : !*text);
    }
    if (op == 'v') {
        struct sc__shell_variable *v = shell_find(sh, sc__str(text));
        return answer(v && v->set && v->count);
    }
    if (op == 't')
        return answer(false);
    if (!*text)
        return answer(false); /* there is no file without a name */
    return unknown_test(
        sh,
        sc__format(&sh->ctx->arena, "a file of the machine ('-%c %s')", op, text));
}

static bool is_binary(const char *op) {
    static const char *const ops[] = {"=",
                                      "==",
                                      "!=",
                                      "<",
                                      ">",
                                      "=~",
                                      "-eq",
                                      "-ne",
                                      "-lt",
                                      "-le",
                                      "-gt",
                                      "-ge",
                                      "-nt",
                                      "-ot",
                                      "-ef",
                                      NULL};
    for (const char *const *o = ops; *o; o++)
        if (!strcmp(*o, op))
            return true;
    return false;
}

static bool is_numeric(const char *op) {
    return op[0] == '-' && strcmp(op, "-nt") && strcmp(op, "-ot") && strcmp(op, "-ef");
}

static struct shell_answer compare_numbers(const char *op, int64_t a, int64_t b) {
    if (!strcmp(op, "-eq"))
        return answer(a == b);
    if (!strcmp(op, "-ne"))
        return answer(a != b);
    if (!strcmp(op, "-lt"))
        return answer(a < b);
    if (!strcmp(op, "-le"))
        return answer(a <= b);
    return answer(!strcmp(op, "-gt") ? a > b : a >= b);
}

static struct shell_answer
compare_texts(struct shell *sh, const char *op, const char *a, const char *b) {
    uint32_t mark = sc__shell_mark(a);
    if (!mark)
        mark = sc__shell_mark(b);
    if (mark)
        return (struct shell_answer){.unknown = mark};
    if (op[0] == '-')
        return unknown_test(sh, "the age of files");
    if (op[0] == '<')
        return answer(strcmp(a, b) < 0);
    if (op[0] == '>')
        return answer(strcmp(a, b) > 0);
    return answer((op[0] != '!') == !strcmp(a, b));
}

/* ---- [ … ] ---- */

struct shell_test {
    struct shell *sh;
    const char **words;
    uint32_t count;
    uint32_t at;
    bool wrong; /* bash complains and answers 2 */
};

static struct shell_answer test_or(struct shell_test *t);

static struct shell_answer test_two(struct shell_test *t) {
    const char *a = t->words[t->at];
    const char *op = t->words[t->at + 1];
    const char *b = t->words[t->at + 2];
    int64_t left;
    int64_t right;
    t->at += 3;
    if (!is_numeric(op))
        return compare_texts(t->sh, op, a, b);
    uint32_t mark = sc__shell_mark(a) ? sc__shell_mark(a) : sc__shell_mark(b);
    if (mark)
        return (struct shell_answer){.unknown = mark};
    if (!sc__parse_i64(sc__trim(sc__str(a)), &left) ||
        !sc__parse_i64(sc__trim(sc__str(b)), &right)) {
        t->wrong = true;
        return answer(false);
    }
    return compare_numbers(op, left, right);
}

static struct shell_answer test_primary(struct shell_test *t) {
    uint32_t left = t->count - t->at;
    if (!left) {
        t->wrong = true;
        return answer(false);
    }
    const char *word = t->words[t->at];
    if (left >= 3 && is_binary(t->words[t->at + 1]))
        return test_two(t);
    if (left >= 2 && !strcmp(word, "!")) {
        t->at++;
        return answer_not(test_primary(t));
    }
    if (left >= 3 && !strcmp(word, "(")) {
        t->at++;
        struct shell_answer a = test_or(t);
        if (t->at >= t->count || strcmp(t->words[t->at], ")"))
            t->wrong = true;
        t->at++;
        return a;
    }
    if (left >= 2 && is_unary(word)) {
        t->at += 2;
        return test_unary(t->sh, word[1], t->words[t->at - 1]);
    }
    t->at++;
    return test_unary(t->sh, 'n', word);
}

static struct shell_answer test_and(struct shell_test *t) {
    struct shell_answer a = test_primary(t);
    while (t->at < t->count && !strcmp(t->words[t->at], "-a")) {
        t->at++;
        a = answer_and(a, test_primary(t));
    }
    return a;
}

static struct shell_answer test_or(struct shell_test *t) {
    struct shell_answer a = test_and(t);
    while (t->at < t->count && !strcmp(t->words[t->at], "-o")) {
        t->at++;
        a = answer_or(a, test_and(t));
    }
    return a;
}

sc_status shell_test_words(struct shell *sh, const char **words, uint32_t count) {
    struct shell_test t = {.sh = sh, .words = words, .count = count};
    if (!count) {
        shell_answer(sh, 1);
        return SC_OK;
    }
    struct shell_answer a = test_or(&t);
    if (t.wrong || t.at < t.count)
        shell_answer(sh, 2);
    else
        give_answer(sh, a);
    return SC_OK;
}

/* ---- [[ … ]] ---- */

struct shell_condition {
    struct shell *sh;
    struct sc__str s;
    size_t at;
    uint32_t line;
    uint32_t depth;
};

static sc_status condition_or(struct shell_condition *c, struct shell_answer *out);

static void condition_blanks(struct shell_condition *c) {
    while (c->at < c->s.n && strchr(" \t\n\r", c->s.p[c->at]))
        c->at++;
}

static bool condition_take(struct shell_condition *c, const char *op) {
    size_t n = strlen(op);
    condition_blanks(c);
    if (c->s.n - c->at < n || memcmp(c->s.p + c->at, op, n))
        return false;
    c->at += n;
    return true;
}

/* The next word as it is written; brackets of a pattern belong to it. */
static struct sc__str condition_word(struct shell_condition *c, bool regex) {
    condition_blanks(c);
    size_t begin = c->at;
    unsigned level = 0;
    while (c->at < c->s.n) {
        char ch = c->s.p[c->at];
        if (strchr(" \t\n\r", ch) && !level)
            break;
        if (!regex && strchr("()&|", ch))
            break;
        if (regex && ch == ')' && !level)
            break;
        level += regex && ch == '(';
        level -= regex && ch == ')';
        c->at = strchr("\\'\"`$", ch) ? shell_skip_quoted(c->s, c->at) : c->at + 1;
    }
    return (struct sc__str){c->s.p + begin, c->at - begin};
}

static sc_status compare_arithmetic(struct shell_condition *c,
                                    const char *op,
                                    struct sc__str a,
                                    struct sc__str b,
                                    struct shell_answer *out) {
    const char *texts[2];
    int64_t values[2];
    SC__TRY(shell_expand_text(c->sh, a, c->line, &texts[0]));
    SC__TRY(shell_expand_text(c->sh, b, c->line, &texts[1]));
    for (unsigned i = 0; i < 2; i++) {
        uint32_t unknown;
        SC__TRY(shell_arithmetic(c->sh, sc__str(texts[i]), c->line, &values[i], &unknown));
        if (unknown) {
            *out = (struct shell_answer){.unknown = unknown};
            return SC_OK;
        }
    }
    *out = compare_numbers(op, values[0], values[1]);
    return SC_OK;
}

static sc_status compare_condition(struct shell_condition *c,
                                   struct sc__str left,
                                   const char *op,
                                   struct shell_answer *out) {
    struct sc__str right = condition_word(c, !strcmp(op, "=~"));
    const char *a;
    const char *b;
    if (is_numeric(op))
        return compare_arithmetic(c, op, left, right, out);
    SC__TRY(shell_expand_text(c->sh, left, c->line, &a));
    SC__TRY(shell_expand_pattern(c->sh, right, c->line, &b));
    bool open = sc__shell_mark(a) || sc__shell_mark(b);
    bool matches = false;
    if (!strcmp(op, "=~"))
        *out = !open && shell_regex(c->sh, b, a, &matches)
                   ? answer(matches)
                   : unknown_test(c->sh, "a regular expression");
    else if (sc__shell_mark(a) || sc__shell_mark(b))
        *out = compare_texts(c->sh, op, a, b);
    else if (op[0] == '=' || op[0] == '!')
        *out = answer((op[0] == '=') == shell_matches(b, a));
    else
        *out = compare_texts(c->sh, op, a, b);
    return SC_OK;
}

static sc_status condition_operand(struct shell_condition *c, struct shell_answer *out) {
    struct sc__str word = condition_word(c, false);
    const char *text;
    if (!word.n)
        return shell_fail(c->sh, c->line, NULL, "'[[ … ]]': something is missing");
    if (word.n == 2 && word.p[0] == '-') {
        const char *op = sc__strndup(&c->sh->ctx->arena, word.p, word.n);
        if (is_unary(op)) {
            struct sc__str operand = condition_word(c, false);
            SC__TRY(shell_expand_text(c->sh, operand, c->line, &text));
            *out = test_unary(c->sh, op[1], text);
            return SC_OK;
        }
    }
    size_t begin = c->at;
    struct sc__str next = condition_word(c, false);
    const char *op = sc__strndup(&c->sh->ctx->arena, next.p, next.n);
    if (next.n && is_binary(op))
        return compare_condition(c, word, op, out);
    c->at = begin;
    SC__TRY(shell_expand_text(c->sh, word, c->line, &text));
    *out = test_unary(c->sh, 'n', text);
    return SC_OK;
}

static sc_status condition_primary(struct shell_condition *c, struct shell_answer *out) {
    if (++c->depth > 100)
        return shell_fail(c->sh, c->line, NULL, "'[[ … ]]' is nested too deep");
    condition_blanks(c);
    bool negated =
        c->at + 1 < c->s.n && c->s.p[c->at] == '!' && strchr(" \t\n(", c->s.p[c->at + 1]);
    if (negated) {
        c->at++;
        SC__TRY(condition_primary(c, out));
        *out = answer_not(*out);
    } else if (condition_take(c, "(")) {
        SC__TRY(condition_or(c, out));
        if (!condition_take(c, ")"))
            return shell_fail(c->sh, c->line, NULL, "'[[ … ]]': ')' is missing");
    } else {
        SC__TRY(condition_operand(c, out));
    }
    c->depth--;
    return SC_OK;
}

static sc_status condition_and(struct shell_condition *c, struct shell_answer *out) {
    SC__TRY(condition_primary(c, out));
    while (condition_take(c, "&&")) {
        struct shell_answer right;
        SC__TRY(condition_primary(c, &right));
        *out = answer_and(*out, right);
    }
    return SC_OK;
}

static sc_status condition_or(struct shell_condition *c, struct shell_answer *out) {
    SC__TRY(condition_and(c, out));
    while (condition_take(c, "||")) {
        struct shell_answer right;
        SC__TRY(condition_and(c, &right));
        *out = answer_or(*out, right);
    }
    return SC_OK;
}

sc_status shell_test_expression(struct shell *sh, struct sc__str text, uint32_t line) {
    struct shell_condition c = {.sh = sh, .s = text, .line = line};
    struct shell_answer a;
    SC__TRY(condition_or(&c, &a));
    condition_blanks(&c);
    if (c.at < c.s.n)
        return shell_fail(sh, line, NULL, "'[[%.*s]]' is not understood", SC__SHOW(text));
    give_answer(sh, a);
    return SC_OK;
}
