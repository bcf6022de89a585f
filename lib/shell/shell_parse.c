/* shell_parse: the text of a script → a tree of commands. Words stay as they are
 * written; they are expanded when their command runs. */
#include "shell/shell_parts.h"

#include <string.h>

#define SHELL_DEPTH 200 /* nested commands; a script has a dozen */
#define SHELL_HEREDOCS 16

struct shell_parser {
    struct sc_context *ctx;
    const char *file;
    struct sc__str s;
    size_t at;
    uint32_t line;
    uint32_t depth;
    uint32_t open_line; /* of a word whose quote or bracket has no end; 0: none */
    struct {
        struct shell_node *node;
        struct sc__str end;
        bool tabs;
    } here[SHELL_HEREDOCS]; /* here-documents that begin after this line */
    uint32_t here_count;
};

bool shell_name_begins(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool shell_name_goes_on(char c) {
    return shell_name_begins(c) || (c >= '0' && c <= '9');
}

size_t shell_name_length(struct sc__str s) {
    size_t n = 0;
    if (!s.n || !shell_name_begins(*s.p))
        return 0;
    while (n < s.n && shell_name_goes_on(s.p[n]))
        n++;
    return n;
}

static sc_status parse_error(struct shell_parser *p, const char *message) {
    struct sc__place at = {.file = p->file, .line = p->line};
    return sc__fail(p->ctx, SC_INPUT, &at, "is it a script for bash?", "%s", message);
}

/* ---- quotes ---- */

static size_t skip_single(struct sc__str t, size_t at) {
    while (at < t.n && t.p[at] != '\'')
        at++;
    return at < t.n ? at + 1 : t.n;
}

static size_t skip_ansi(struct sc__str t, size_t at) {
    while (at < t.n && t.p[at] != '\'')
        at += t.p[at] == '\\' ? 2 : 1;
    return at < t.n ? at + 1 : t.n;
}

static size_t skip_double(struct sc__str t, size_t at) {
    while (at < t.n && t.p[at] != '"') {
        if (t.p[at] == '\\')
            at += 2;
        else if (t.p[at] == '$' || t.p[at] == '`')
            at = shell_skip_quoted(t, at);
        else
            at++;
    }
    return at < t.n ? at + 1 : t.n;
}

size_t shell_skip_brackets(struct sc__str t, size_t at, char open, char close) {
    unsigned level = 1;
    while (at < t.n && level) {
        char c = t.p[at];
        if (c == '\\') {
            at += 2;
        } else if (c == '\'' || c == '"' || c == '`' || c == '$') {
            at = shell_skip_quoted(t, at);
        } else if (c == '#' && open == '(' &&
                   (t.p[at - 1] == ' ' || t.p[at - 1] == '\n' || t.p[at - 1] == '\t' ||
                    t.p[at - 1] == '(')) {
            while (at < t.n && t.p[at] != '\n')
                at++;
        } else {
            level += c == open;
            level -= c == close;
            at++;
        }
    }
    return at < t.n ? at : t.n;
}

static size_t skip_backtick(struct sc__str t, size_t at) {
    while (at < t.n && t.p[at] != '`')
        at += t.p[at] == '\\' ? 2 : 1;
    return at < t.n ? at + 1 : t.n;
}

size_t shell_skip_quoted(struct sc__str t, size_t at) {
    char c = t.p[at];
    char next = at + 1 < t.n ? t.p[at + 1] : 0;
    if (c == '\\')
        return at + 2 < t.n ? at + 2 : t.n;
    if (c == '\'')
        return skip_single(t, at + 1);
    if (c == '"')
        return skip_double(t, at + 1);
    if (c == '`')
        return skip_backtick(t, at + 1);
    if (c == '$' && next == '(')
        return shell_skip_brackets(t, at + 2, '(', ')');
    if (c == '$' && next == '{')
        return shell_skip_brackets(t, at + 2, '{', '}');
    if (c == '$' && next == '\'')
        return skip_ansi(t, at + 2);
    return at + 1;
}

/* ---- tokens ---- */

static char peek_char(const struct shell_parser *p) {
    return p->at < p->s.n ? p->s.p[p->at] : 0;
}

static char peek_next(const struct shell_parser *p) {
    return p->at + 1 < p->s.n ? p->s.p[p->at + 1] : 0;
}

static void advance(struct shell_parser *p, size_t to) {
    for (; p->at < to && p->at < p->s.n; p->at++)
        p->line += p->s.p[p->at] == '\n';
}

static struct sc__str take_line(struct shell_parser *p) {
    size_t begin = p->at;
    while (p->at < p->s.n && p->s.p[p->at] != '\n')
        p->at++;
    struct sc__str line = {p->s.p + begin, p->at - begin};
    advance(p, p->at + 1);
    return line;
}

/* Bodies of here-documents, which begin where the line ends. */
static void read_heredocs(struct shell_parser *p) {
    for (uint32_t i = 0; i < p->here_count; i++) {
        const char *begin = p->s.p + p->at;
        const char *end = begin;
        while (p->at < p->s.n) {
            end = p->s.p + p->at;
            struct sc__str line = take_line(p);
            if (line.n && line.p[line.n - 1] == '\r')
                line.n--;
            while (p->here[i].tabs && line.n && *line.p == '\t') {
                line.p++;
                line.n--;
            }
            if (line.n == p->here[i].end.n && !memcmp(line.p, p->here[i].end.p, line.n))
                break;
            end = p->s.p + p->at;
        }
        p->here[i].node->input = (struct sc__str){begin, (size_t)(end - begin)};
    }
    p->here_count = 0;
}

static void skip_comment(struct shell_parser *p) {
    while (p->at < p->s.n && p->s.p[p->at] != '\n')
        p->at++;
}

/* Blanks, continued lines and comments. */
static void skip_blanks(struct shell_parser *p) {
    for (;;) {
        char c = peek_char(p);
        if (c == ' ' || c == '\t' || c == '\r')
            p->at++;
        else if (c == '\\' && peek_next(p) == '\n')
            advance(p, p->at + 2);
        else if (c == '\\' && peek_next(p) == '\r')
            advance(p, p->at + 3);
        else if (c == '#')
            skip_comment(p);
        else
            return;
    }
}

static void skip_lines(struct shell_parser *p) {
    for (;;) {
        skip_blanks(p);
        if (peek_char(p) != '\n')
            return;
        advance(p, p->at + 1);
        read_heredocs(p);
    }
}

static bool ends_word(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' ||
           c == '<' || c == '>' || c == '(' || c == ')' || c == 0;
}

bool shell_is_assignment(struct sc__str raw) {
    size_t n = shell_name_length(raw);
    if (!n)
        return false;
    if (n < raw.n && raw.p[n] == '[') {
        n = shell_skip_brackets(raw, n + 1, '[', ']');
        if (n >= raw.n)
            return false;
    }
    if (n < raw.n && raw.p[n] == '+')
        n++;
    return n < raw.n && raw.p[n] == '=';
}

/* The end of the word at `at`; NAME=( … ) is one. */
static size_t word_end(const struct shell_parser *p) {
    size_t at = p->at;
    struct sc__str t = p->s;
    while (at < t.n && !ends_word(t.p[at])) {
        char c = t.p[at];
        at = c == '\\' || c == '\'' || c == '"' || c == '`' || c == '$'
                 ? shell_skip_quoted(t, at)
                 : at + 1;
        struct sc__str so_far = {t.p + p->at, at - p->at};
        if (c == '=' && at < t.n && t.p[at] == '(' && shell_is_assignment(so_far))
            return shell_skip_brackets(t, at + 1, '(', ')');
        if (c == '[' && shell_name_length(so_far) + 1 == so_far.n && so_far.n > 1) {
            size_t closed = shell_skip_brackets(t, at, '[', ']');
            size_t left = t.n - closed < 2 ? t.n - closed : 2;
            struct sc__str with_index = {so_far.p, closed - p->at + left};
            if (shell_is_assignment(with_index))
                at = closed;
        }
    }
    return at < t.n ? at : t.n;
}

/* Every quote and bracket of a word has its end. */
static bool word_is_closed(struct sc__str w) {
    for (size_t at = 0; at < w.n;) {
        char c = w.p[at];
        char next = at + 1 < w.n ? w.p[at + 1] : 0;
        bool array = c == '=' && next == '(';
        if (array)
            return w.p[w.n - 1] == ')';
        if (c == '\\' || c == '\'' || c == '"' || c == '`' || c == '$') {
            size_t end = shell_skip_quoted(w, at);
            char close = c == '$' ? (next == '(' ? ')' : next == '{' ? '}' : next) : c;
            bool opens = c != '\\' && (c != '$' || next == '(' || next == '{');
            if (opens && end == w.n && (w.p[end - 1] != close || end < at + 2))
                return false;
            at = end;
        } else {
            at++;
        }
    }
    return true;
}

static struct shell_word take_word(struct shell_parser *p) {
    size_t end = word_end(p);
    struct shell_word w = {.raw = {p->s.p + p->at, end - p->at}, .line = p->line};
    if (end == p->s.n && !word_is_closed(w.raw) && !p->open_line)
        p->open_line = p->line;
    advance(p, end);
    return w;
}

/* The word that stands here, if it is this one. */
static bool at_word(struct shell_parser *p, const char *word) {
    size_t n = strlen(word);
    return p->s.n - p->at >= n && !memcmp(p->s.p + p->at, word, n) &&
           (p->at + n == p->s.n || ends_word(p->s.p[p->at + n]) ||
            p->s.p[p->at + n] == '\r');
}

static bool take_if(struct shell_parser *p, const char *word) {
    if (!at_word(p, word))
        return false;
    p->at += strlen(word);
    return true;
}

static sc_status expect_word(struct shell_parser *p, const char *word) {
    skip_lines(p);
    if (take_if(p, word))
        return SC_OK;
    return parse_error(p,
                       sc__format(&p->ctx->arena,
                                  p->at < p->s.n ? "'%s' is missing here"
                                                 : "the script ends before its '%s'",
                                  word));
}

/* ---- commands ---- */

static struct shell_node *new_node(struct shell_parser *p, enum shell_kind kind) {
    struct shell_node *n = SC__NEW(&p->ctx->arena, struct shell_node);
    n->kind = kind;
    n->line = p->line;
    return n;
}

static void
add_child(struct shell_parser *p, struct shell_node *n, struct shell_node *child) {
    *SC__PUSH(&p->ctx->arena, n->children, n->child_count, n->child_capacity) = child;
}

static void add_word(struct shell_parser *p, struct shell_node *n, struct shell_word w) {
    *SC__PUSH(&p->ctx->arena, n->words, n->word_count, n->word_capacity) = w;
}

static sc_status parse_list(struct shell_parser *p, struct shell_node **out);

static sc_status
begin_heredoc(struct shell_parser *p, struct shell_node *n, bool tabs, struct sc__str end) {
    struct sc__buffer b;
    if (p->here_count == SHELL_HEREDOCS)
        return parse_error(p, "too many here-documents in one line");
    sc__buffer_init(&b, &p->ctx->arena);
    for (size_t i = 0; i < end.n; i++) {
        bool quote = end.p[i] == '\'' || end.p[i] == '"' || end.p[i] == '\\';
        n->input_literal |= quote;
        if (!quote)
            sc__putc(&b, end.p[i]);
    }
    n->has_input = true;
    p->here[p->here_count].node = n;
    p->here[p->here_count].end = (struct sc__str){b.text ? b.text : "", b.size};
    p->here[p->here_count].tabs = tabs;
    p->here_count++;
    return SC_OK;
}

/* 2>&1, > file, <<EOF, <<< text. */
static sc_status parse_redirect(struct shell_parser *p, struct shell_node *n, bool *found) {
    size_t at = p->at;
    while (at < p->s.n && p->s.p[at] >= '0' && p->s.p[at] <= '9')
        at++;
    bool number = at > p->at;
    char c = at < p->s.n ? p->s.p[at] : 0;
    char next = at + 1 < p->s.n ? p->s.p[at + 1] : 0;
    *found = c == '<' || c == '>' || (c == '&' && next == '>' && !number);
    if (!*found || (next == '(' && !number)) {
        *found = false;
        return SC_OK;
    }
    bool input = c == '<';
    bool errors = number && p->s.p[p->at] == '2';
    p->at = at + 1 + (c == '&');
    char second = peek_char(p);
    bool here = input && second == '<';
    bool to_stream = second == '&';
    bool text = here && peek_next(p) == '<';
    if (second == '<' || second == '>' || second == '&' || second == '|')
        p->at++;
    if (text)
        p->at++;
    bool tabs = here && !text && peek_char(p) == '-';
    if (tabs)
        p->at++;
    skip_blanks(p);
    struct shell_word w = take_word(p);
    if (text) {
        n->here_string = n->has_input = true;
        n->input = w.raw;
    } else if (here) {
        return begin_heredoc(p, n, tabs, w.raw);
    } else if (!input && !errors) {
        n->to_file = true;
        n->appends = second == '>';
        /* behind a placeholder, "<PATH TO VOCABULARY> --fp16": no file is called so */
        if (w.raw.n > 2 && !memcmp(w.raw.p, "--", 2))
            add_word(p, n, w);
        else if (!to_stream)
            n->target = w;
    }
    return SC_OK;
}

static sc_status parse_redirects(struct shell_parser *p, struct shell_node *n) {
    bool found = true;
    while (found) {
        skip_blanks(p);
        SC__TRY(parse_redirect(p, n, &found));
    }
    return SC_OK;
}

static sc_status parse_simple(struct shell_parser *p, struct shell_node **out) {
    struct shell_node *n = new_node(p, SHELL_SIMPLE);
    for (;;) {
        bool redirect;
        skip_blanks(p);
        SC__TRY(parse_redirect(p, n, &redirect));
        if (redirect)
            continue;
        char c = peek_char(p);
        if ((c == '<' || c == '>') && peek_next(p) == '(') { /* <(…): a file it makes */
            size_t begin = p->at;
            advance(p, shell_skip_brackets(p->s, p->at + 2, '(', ')'));
            add_word(p, n, (struct shell_word){{p->s.p + begin, p->at - begin}, p->line});
            continue;
        }
        if (ends_word(c))
            break;
        add_word(p, n, take_word(p));
    }
    *out = n;
    if (!n->word_count && !n->has_input && !n->to_file)
        return parse_error(p,
                           p->at < p->s.n ? "a command is missing here" : "it ends here");
    return SC_OK;
}

static sc_status parse_if(struct shell_parser *p, struct shell_node **out) {
    struct shell_node *n = new_node(p, SHELL_IF);
    struct shell_node *part;
    do {
        SC__TRY(parse_list(p, &part));
        add_child(p, n, part);
        SC__TRY(expect_word(p, "then"));
        SC__TRY(parse_list(p, &part));
        add_child(p, n, part);
        skip_lines(p);
    } while (take_if(p, "elif"));
    if (take_if(p, "else")) {
        SC__TRY(parse_list(p, &part));
        add_child(p, n, part);
    }
    *out = n;
    return expect_word(p, "fi");
}

static sc_status
parse_loop(struct shell_parser *p, enum shell_kind kind, struct shell_node **out) {
    struct shell_node *n = new_node(p, kind);
    struct shell_node *part;
    SC__TRY(parse_list(p, &part));
    add_child(p, n, part);
    SC__TRY(expect_word(p, "do"));
    SC__TRY(parse_list(p, &part));
    add_child(p, n, part);
    *out = n;
    return expect_word(p, "done");
}

static sc_status parse_body(struct shell_parser *p, struct shell_node *n) {
    struct shell_node *body;
    skip_lines(p);
    if (take_if(p, "{")) {
        SC__TRY(parse_list(p, &body));
        add_child(p, n, body);
        return expect_word(p, "}");
    }
    SC__TRY(expect_word(p, "do"));
    SC__TRY(parse_list(p, &body));
    add_child(p, n, body);
    return expect_word(p, "done");
}

/* for ((a; b; c)) */
static sc_status parse_for_arithmetic(struct shell_parser *p, struct shell_node *n) {
    size_t begin = p->at + 2;
    size_t end = shell_skip_brackets(p->s, begin, '(', ')');
    struct sc__str inside = {p->s.p + begin, end > begin ? end - begin - 1 : 0};
    struct sc__str part;
    n->kind = SHELL_FOR_ARITHMETIC;
    while (sc__split(&inside, ';', &part))
        add_word(p, n, (struct shell_word){part, p->line});
    advance(p, end + 1);
    if (n->word_count != 3)
        return parse_error(p, "for ((…)) takes three expressions");
    skip_blanks(p);
    if (peek_char(p) == ';')
        p->at++;
    return parse_body(p, n);
}

static sc_status parse_for(struct shell_parser *p, struct shell_node **out) {
    struct shell_node *n = new_node(p, SHELL_FOR);
    *out = n;
    skip_blanks(p);
    if (peek_char(p) == '(' && peek_next(p) == '(')
        return parse_for_arithmetic(p, n);
    n->text = take_word(p).raw;
    if (shell_name_length(n->text) != n->text.n)
        return parse_error(p, "the name of a variable is missing after 'for'");
    skip_lines(p);
    n->all_words = !take_if(p, "in");
    while (!n->all_words) {
        skip_blanks(p);
        if (ends_word(peek_char(p)))
            break;
        add_word(p, n, take_word(p));
    }
    skip_blanks(p);
    if (peek_char(p) == ';')
        p->at++;
    return parse_body(p, n);
}

static sc_status parse_patterns(struct shell_parser *p, struct shell_node *clause) {
    if (peek_char(p) == '(')
        p->at++;
    for (;;) {
        skip_blanks(p);
        if (ends_word(peek_char(p)))
            return parse_error(p, "a pattern of 'case' is missing here");
        add_word(p, clause, take_word(p));
        skip_blanks(p);
        char c = peek_char(p);
        p->at++;
        if (c == ')')
            return SC_OK;
        if (c != '|')
            return parse_error(p, "')' is missing after a pattern of 'case'");
    }
}

static sc_status parse_case(struct shell_parser *p, struct shell_node **out) {
    struct shell_node *n = new_node(p, SHELL_CASE);
    *out = n;
    skip_blanks(p);
    add_word(p, n, take_word(p));
    SC__TRY(expect_word(p, "in"));
    for (;;) {
        struct shell_node *clause = new_node(p, SHELL_CLAUSE);
        struct shell_node *body;
        skip_lines(p);
        if (take_if(p, "esac"))
            return SC_OK;
        if (p->at >= p->s.n)
            return parse_error(p, "the script ends before its 'esac'");
        SC__TRY(parse_patterns(p, clause));
        SC__TRY(parse_list(p, &body));
        add_child(p, clause, body);
        add_child(p, n, clause);
        skip_lines(p);
        if (peek_char(p) == ';') {
            p->at++;
            clause->all_words = peek_char(p) == '&' || peek_next(p) == '&';
            while (peek_char(p) == ';' || peek_char(p) == '&')
                p->at++;
        }
    }
}

static sc_status
parse_function(struct shell_parser *p, struct sc__str name, struct shell_node **out);

static sc_status parse_group(struct shell_parser *p, struct shell_node **out) {
    struct shell_node *n = new_node(p, SHELL_GROUP);
    struct shell_node *body;
    SC__TRY(parse_list(p, &body));
    add_child(p, n, body);
    *out = n;
    return expect_word(p, "}");
}

/* ( … ) and (( … )) */
static sc_status parse_parentheses(struct shell_parser *p, struct shell_node **out) {
    struct shell_node *n = new_node(p, SHELL_SUBSHELL);
    struct shell_node *body;
    *out = n;
    if (peek_next(p) == '(') {
        size_t end = shell_skip_brackets(p->s, p->at + 2, '(', ')');
        if (end < p->s.n && p->s.p[end] == ')') {
            n->kind = SHELL_ARITHMETIC;
            n->text = (struct sc__str){p->s.p + p->at + 2, end - p->at - 3};
            advance(p, end + 1);
            return SC_OK;
        }
    }
    p->at++;
    SC__TRY(parse_list(p, &body));
    add_child(p, n, body);
    skip_lines(p);
    if (peek_char(p) != ')')
        return parse_error(p, "')' is missing here");
    p->at++;
    return SC_OK;
}

static sc_status parse_test(struct shell_parser *p, struct shell_node **out) {
    struct shell_node *n = new_node(p, SHELL_TEST);
    size_t begin = p->at;
    *out = n;
    while (p->at < p->s.n) {
        if (at_word(p, "]]") && p->at > begin &&
            (p->s.p[p->at - 1] == ' ' || p->s.p[p->at - 1] == '\n' ||
             p->s.p[p->at - 1] == '\t')) {
            n->text = (struct sc__str){p->s.p + begin, p->at - begin};
            p->at += 2;
            return SC_OK;
        }
        advance(p, shell_skip_quoted(p->s, p->at));
    }
    return parse_error(p, "the script ends before its ']]'");
}

static sc_status
parse_function(struct shell_parser *p, struct sc__str name, struct shell_node **out) {
    struct shell_node *n = new_node(p, SHELL_FUNCTION);
    struct shell_node *body;
    n->text = name;
    *out = n;
    skip_lines(p);
    if (peek_char(p) == '(') {
        SC__TRY(parse_parentheses(p, &body));
    } else {
        SC__TRY(expect_word(p, "{"));
        SC__TRY(parse_group(p, &body));
    }
    add_child(p, n, body);
    return SC_OK;
}

/* name() …: the name's length, 0 where there is none. */
static size_t function_name(const struct shell_parser *p, size_t *after) {
    size_t at = p->at;
    while (at < p->s.n && !ends_word(p->s.p[at]) && p->s.p[at] != '$' &&
           p->s.p[at] != '"' && p->s.p[at] != '\'' && p->s.p[at] != '=')
        at++;
    size_t n = at - p->at;
    while (at < p->s.n && (p->s.p[at] == ' ' || p->s.p[at] == '\t'))
        at++;
    if (!n || at >= p->s.n || p->s.p[at] != '(')
        return 0;
    at++;
    while (at < p->s.n && (p->s.p[at] == ' ' || p->s.p[at] == '\t'))
        at++;
    *after = at + 1;
    return at < p->s.n && p->s.p[at] == ')' ? n : 0;
}

static sc_status parse_function_word(struct shell_parser *p, struct shell_node **out) {
    skip_blanks(p);
    struct sc__str name = take_word(p).raw;
    skip_blanks(p);
    if (peek_char(p) == '(') {
        while (p->at < p->s.n && peek_char(p) != ')')
            p->at++;
        advance(p, p->at + 1);
    }
    return parse_function(p, name, out);
}

static sc_status parse_command(struct shell_parser *p, struct shell_node **out) {
    size_t after;
    skip_blanks(p);
    if (peek_char(p) == '(')
        return parse_parentheses(p, out);
    if (take_if(p, "if"))
        return parse_if(p, out);
    if (take_if(p, "for"))
        return parse_for(p, out);
    if (take_if(p, "while"))
        return parse_loop(p, SHELL_WHILE, out);
    if (take_if(p, "until"))
        return parse_loop(p, SHELL_UNTIL, out);
    if (take_if(p, "case"))
        return parse_case(p, out);
    if (take_if(p, "{"))
        return parse_group(p, out);
    if (take_if(p, "[["))
        return parse_test(p, out);
    if (take_if(p, "function"))
        return parse_function_word(p, out);
    if (at_word(p, "select") || at_word(p, "coproc"))
        return parse_error(p, "'select' and 'coproc' are not for a launch script");
    size_t name = function_name(p, &after);
    if (!name)
        return parse_simple(p, out);
    struct sc__str text = {p->s.p + p->at, name};
    advance(p, after);
    return parse_function(p, text, out);
}

static sc_status parse_pipeline(struct shell_parser *p, struct shell_node **out) {
    struct shell_node *pipe = new_node(p, SHELL_PIPE);
    bool negated = false;
    skip_blanks(p);
    while (take_if(p, "!") || take_if(p, "time")) {
        negated ^= p->s.p[p->at - 1] == '!';
        skip_blanks(p);
    }
    for (;;) {
        struct shell_node *command;
        SC__TRY(parse_command(p, &command));
        SC__TRY(parse_redirects(p, command));
        add_child(p, pipe, command);
        if (peek_char(p) != '|' || peek_next(p) == '|')
            break;
        p->at += peek_next(p) == '&' ? 2 : 1;
        skip_lines(p);
    }
    *out = pipe->child_count == 1 ? pipe->children[0] : pipe;
    if (negated) {
        struct shell_node *not = new_node(p, SHELL_NOT);
        add_child(p, not, *out);
        *out = not ;
    }
    return SC_OK;
}

static sc_status parse_and_or(struct shell_parser *p, struct shell_node **out) {
    SC__TRY(parse_pipeline(p, out));
    for (;;) {
        skip_blanks(p);
        char c = peek_char(p);
        struct shell_node *right;
        if ((c != '&' && c != '|') || peek_next(p) != c)
            return SC_OK;
        struct shell_node *both = new_node(p, c == '&' ? SHELL_AND : SHELL_OR);
        p->at += 2;
        skip_lines(p);
        SC__TRY(parse_pipeline(p, &right));
        add_child(p, both, *out);
        add_child(p, both, right);
        *out = both;
    }
}

static bool at_list_end(struct shell_parser *p) {
    static const char *const ends[] =
        {"then", "elif", "else", "fi", "do", "done", "esac", "}", NULL};
    char c = peek_char(p);
    if (p->at >= p->s.n || c == ')' || (c == ';' && peek_next(p) == ';') ||
        (c == ';' && peek_next(p) == '&'))
        return true;
    for (const char *const *e = ends; *e; e++)
        if (at_word(p, *e))
            return true;
    return false;
}

static sc_status parse_list(struct shell_parser *p, struct shell_node **out) {
    struct shell_node *list = new_node(p, SHELL_LIST);
    *out = list;
    if (++p->depth > SHELL_DEPTH)
        return parse_error(p, "commands are nested too deep");
    for (;;) {
        struct shell_node *command;
        skip_lines(p);
        if (at_list_end(p))
            break;
        SC__TRY(parse_and_or(p, &command));
        add_child(p, list, command);
        skip_blanks(p);
        char c = peek_char(p);
        if ((c == ';' && peek_next(p) != ';' && peek_next(p) != '&') ||
            (c == '&' && peek_next(p) != '&'))
            p->at++;
        else if (c != '\n' && !at_list_end(p))
            return parse_error(p, "something stands behind the end of a command");
    }
    p->depth--;
    return SC_OK;
}

sc_status shell_parse(struct sc_context *ctx,
                      const char *file,
                      struct sc__str text,
                      uint32_t line,
                      struct shell_node **out) {
    struct shell_parser p = {.ctx = ctx, .file = file, .s = text, .line = line};
    SC__TRY(parse_list(&p, out));
    if (p.open_line) {
        p.line = p.open_line;
        return parse_error(&p, "a quote or bracket that begins here has no end");
    }
    if (p.at < p.s.n)
        return parse_error(
            &p,
            sc__format(&ctx->arena, "'%c' stands here without its beginning", p.s.p[p.at]));
    return SC_OK;
}

sc_status shell_parse_words(struct sc_context *ctx,
                            const char *file,
                            struct sc__str text,
                            uint32_t line,
                            struct shell_node *out) {
    struct shell_parser p = {.ctx = ctx, .file = file, .s = text, .line = line};
    for (;;) {
        skip_lines(&p);
        if (p.at >= p.s.n)
            return SC_OK;
        if (ends_word(peek_char(&p)))
            return parse_error(&p, "an array holds words and nothing else");
        add_word(&p, out, take_word(&p));
    }
}
