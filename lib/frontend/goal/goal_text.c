/* The text form of GOAL. One statement a line; comments may stand anywhere:
 *
 *     num_ranks 2
 *     rank 0 {
 *     l1: send 8b to 1 tag 3 cpu 0 nic 0
 *     l2: calc 100
 *     l2 requires l1
 *     }
 */
#include "frontend/goal/goal.h"

#include <string.h>

#define MAX_WORDS 16

struct text {
    struct sc__goal *g;
    struct sc_context *ctx;
    struct sc__input *in;
    struct sc__str line;
    struct sc__str word[MAX_WORDS];
    uint32_t words;
    bool in_comment;
    bool in_rank;
    bool started;
    uint32_t nodes; /* of the open rank */
    struct sc__names labels;
    struct sc__arena label_memory;
    uint32_t *node_of; /* by label */
    uint32_t node_count;
    uint32_t node_capacity;
};

static sc_status bad(struct text *t,
                     const char *at,
                     const char *hint,
                     const char *what,
                     struct sc__str shown) {
    struct sc__place p = sc__input_place(t->in, t->line, at);
    if (shown.p)
        return sc__fail(t->ctx, SC_INPUT, &p, hint, "%s '%.*s'", what, SC__SHOW(shown));
    return sc__fail(t->ctx, SC_INPUT, &p, hint, "%s", what);
}

static const struct sc__str nothing = {NULL, 0};

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == ';' || c == '\f' || c == '\v';
}

/* Skips blanks and comments; false at the end of the line. */
static bool skip_blanks(struct text *t, const char **p, const char *end) {
    while (*p < end) {
        bool two = end - *p >= 2;
        if (t->in_comment) {
            t->in_comment = !(two && (*p)[0] == '*' && (*p)[1] == '/');
            *p += t->in_comment ? 1 : 2;
        } else if (is_blank(**p))
            (*p)++;
        else if (two && (*p)[0] == '/' && (*p)[1] == '/')
            return false;
        else if (two && (*p)[0] == '/' && (*p)[1] == '*') {
            t->in_comment = true;
            *p += 2;
        } else
            return true;
    }
    return false;
}

static bool is_brace(char c) {
    return c == '{' || c == '}';
}

/* Cuts the line into words; braces and "label:" are words of their own. */
static sc_status cut_words(struct text *t) {
    const char *p = t->line.p;
    const char *end = p + t->line.n;
    t->words = 0;
    while (skip_blanks(t, &p, end)) {
        const char *from = p++;
        if (!is_brace(*from) && *from != ':')
            while (p < end && !is_blank(*p) && !is_brace(*p) && *p != ':' && *p != '/')
                p++;
        if (p < end && *p == ':')
            p++;
        if (t->words == MAX_WORDS)
            return bad(t, from, "one statement a line", "too many words", nothing);
        t->word[t->words++] = (struct sc__str){from, (size_t)(p - from)};
    }
    return SC_OK;
}

/* The number after a keyword; −1 is any where it may be. */
static sc_status
number(struct text *t, uint32_t i, bool any, uint32_t most, uint32_t *out) {
    if (i >= t->words)
        return bad(t,
                   t->line.p + t->line.n,
                   NULL,
                   "a number is missing at the end",
                   nothing);
    if (any && sc__str_is(t->word[i], "-1")) {
        *out = UINT32_MAX;
        return SC_OK;
    }
    if (!sc__parse_u32(t->word[i], out) || *out > most)
        return bad(t, t->word[i].p, NULL, "not a valid number:", t->word[i]);
    return SC_OK;
}

static sc_status options(struct text *t, uint32_t i, struct sc__goal_node *n) {
    while (i < t->words) {
        uint32_t value;
        uint32_t seen = i++;
        struct sc__str key = t->word[seen];
        if (sc__str_is(key, "tag") && n->type != SC__GOAL_CALC)
            SC__TRY(number(t, i++, n->type == SC__GOAL_RECV, UINT32_MAX - 1, &n->tag));
        else if (sc__str_is(key, "cpu")) {
            SC__TRY(number(t, i++, false, 255, &value));
            n->cpu = (uint8_t)value;
        } else if (sc__str_is(key, "nic")) {
            SC__TRY(number(t, i++, false, 255, &value));
            n->nic = (uint8_t)value;
        } else
            return bad(t,
                       key.p,
                       "tag T (messages only), cpu C or nic N",
                       "unexpected",
                       key);
    }
    return SC_OK;
}

static sc_status message(struct text *t, uint32_t i, struct sc__goal_node *n) {
    const char *link = n->type == SC__GOAL_SEND ? "to" : "from";
    if (i + 4 > t->words)
        return bad(t,
                   t->line.p,
                   "send SIZEb to RANK, recv SIZEb from RANK",
                   "an unfinished message",
                   nothing);
    struct sc__str size = t->word[i + 1];
    if (!sc__str_ends(size, "b") ||
        !sc__parse_u64((struct sc__str){size.p, size.n - 1}, &n->size))
        return bad(t,
                   size.p,
                   "a size is a whole number of bytes and a b: 4096b",
                   "not a size:",
                   size);
    if (!sc__str_is(t->word[i + 2], link))
        return bad(t,
                   t->word[i + 2].p,
                   n->type == SC__GOAL_SEND ? "send SIZEb to RANK" : "recv SIZEb from RANK",
                   "unexpected",
                   t->word[i + 2]);
    SC__TRY(number(t, i + 3, n->type == SC__GOAL_RECV, UINT32_MAX - 1, &n->peer));
    return options(t, i + 4, n);
}

static sc_status define_label(struct text *t, struct sc__str label) {
    label.n--;
    if (!label.n)
        return bad(t, label.p, NULL, "a label without a name", nothing);
    if (sc__names_find(&t->labels, label.p, label.n) != SC__NO_NAME)
        return bad(t,
                   label.p,
                   "labels are local to the rank, and each stands once",
                   "a second label",
                   label);
    sc__names_add(&t->labels, label.p, label.n);
    *SC__PUSH(&t->label_memory, t->node_of, t->node_count, t->node_capacity) = t->nodes;
    return SC_OK;
}

static sc_status node(struct text *t) {
    struct sc__goal_node n = {0};
    uint32_t i = 0;
    if (t->word[0].p[t->word[0].n - 1] == ':')
        SC__TRY(define_label(t, t->word[i++]));
    if (i == t->words)
        return bad(t, t->word[0].p, NULL, "a label without an operation", nothing);
    struct sc__str verb = t->word[i];
    if (sc__str_is(verb, "send"))
        n.type = SC__GOAL_SEND;
    else if (sc__str_is(verb, "recv"))
        n.type = SC__GOAL_RECV;
    else if (sc__str_is(verb, "calc"))
        n.type = SC__GOAL_CALC;
    else
        return bad(t,
                   verb.p,
                   "send, recv, calc, requires or irequires",
                   "unknown operation",
                   verb);
    if (n.type != SC__GOAL_CALC)
        SC__TRY(message(t, i, &n));
    else {
        if (i + 1 >= t->words || !sc__parse_u64(t->word[i + 1], &n.size))
            return bad(t,
                       verb.p,
                       "calc NANOSECONDS",
                       "a calculation without a time",
                       nothing);
        SC__TRY(options(t, i + 2, &n));
    }
    const char *wrong = sc__goal_add(t->g, &n);
    if (wrong)
        return bad(t, verb.p, NULL, wrong, nothing);
    t->g->w->ops[t->g->w->op_count - 1].row = (uint32_t)t->in->line;
    t->nodes++;
    return SC_OK;
}

static sc_status dependency(struct text *t, bool start) {
    uint32_t end[2];
    for (unsigned i = 0; i < 2; i++) {
        struct sc__str label = t->word[2 * i];
        uint32_t id = sc__names_find(&t->labels, label.p, label.n);
        if (id == SC__NO_NAME)
            return bad(t,
                       label.p,
                       "labels are local to the rank and defined before use",
                       "unknown label",
                       label);
        end[i] = t->node_of[id];
    }
    *SC__PUSH(&t->ctx->arena, t->g->edges, t->g->edge_count, t->g->edge_capacity) =
        (struct sc__edge){end[0], end[1] | (start ? SC__DEP_START : 0)};
    return SC_OK;
}

static sc_status open_rank(struct text *t) {
    uint32_t rank;
    if (t->words != 3 || !sc__str_is(t->word[0], "rank") || !sc__str_is(t->word[2], "{"))
        return bad(t, t->word[0].p, "rank R {", "a rank must begin here, not", t->word[0]);
    SC__TRY(number(t, 1, false, UINT32_MAX, &rank));
    if (rank != t->g->rank || rank >= t->g->ranks)
        return bad(t,
                   t->word[1].p,
                   "ranks come in order, from 0 to num_ranks − 1",
                   "unexpected rank",
                   t->word[1]);
    t->in_rank = true;
    t->nodes = 0;
    sc__block_begin(t->g->w);
    sc__names_init(&t->labels, &t->label_memory);
    t->node_of = NULL;
    t->node_count = t->node_capacity = 0;
    return SC_OK;
}

static sc_status close_rank(struct text *t) {
    struct sc__place at = sc__input_place(t->in, t->line, t->word[0].p);
    t->in_rank = false;
    sc__arena_free(&t->label_memory);
    SC__TRY(sc__goal_end_rank(t->g, &at));
    t->g->rank++;
    return SC_OK;
}

static sc_status header(struct text *t) {
    uint32_t ranks;
    if (!sc__str_is(t->word[0], "num_ranks") || t->words != 2)
        return bad(t,
                   t->word[0].p,
                   "num_ranks N",
                   "the number of ranks must come first, not",
                   t->word[0]);
    SC__TRY(number(t, 1, false, SC__GOAL_MAX_RANKS, &ranks));
    if (!ranks)
        return bad(t, t->word[1].p, NULL, "not a number of ranks:", t->word[1]);
    sc__goal_begin(t->g, t->ctx, t->in, ranks);
    t->started = true;
    return SC_OK;
}

static sc_status statement(struct text *t) {
    if (!t->words)
        return SC_OK;
    if (!t->started)
        return header(t);
    if (!t->in_rank)
        return open_rank(t);
    if (t->words == 1 && sc__str_is(t->word[0], "}"))
        return close_rank(t);
    if (t->words == 3 && sc__str_is(t->word[1], "requires"))
        return dependency(t, false);
    if (t->words == 3 && sc__str_is(t->word[1], "irequires"))
        return dependency(t, true);
    return node(t);
}

static sc_status lines(struct text *t) {
    bool more;
    for (;;) {
        SC__TRY(sc__input_line(t->in, &t->line, &more));
        if (!more)
            break;
        SC__TRY(cut_words(t));
        SC__TRY(statement(t));
    }
    struct sc__place at = {.file = t->in->name, .line = t->in->line - 1};
    if (t->in_comment)
        return sc__fail(t->ctx, SC_INPUT, &at, NULL, "the file ends inside a comment");
    if (!t->started)
        return sc__fail(t->ctx,
                        SC_INPUT,
                        &at,
                        "num_ranks N",
                        "the number of ranks is missing");
    if (t->in_rank)
        return sc__fail(t->ctx,
                        SC_INPUT,
                        &at,
                        "the file is truncated",
                        "the file ends inside rank %u",
                        t->g->rank);
    if (t->g->rank != t->g->ranks)
        return sc__fail(t->ctx,
                        SC_INPUT,
                        &at,
                        "the file is truncated",
                        "the file ends after %u of %u ranks",
                        t->g->rank,
                        t->g->ranks);
    at.line = 0;
    return sc__goal_finish(t->g, &at);
}

sc_status
sc__goal_read_text(struct sc__goal *g, struct sc_context *ctx, struct sc__input *in) {
    struct text t = {.g = g, .ctx = ctx, .in = in};
    sc__arena_init(&t.label_memory);
    sc_status status = lines(&t);
    sc__arena_free(&t.label_memory);
    return status;
}
