/* nccl_tests_log: reads what nccl-tests and rccl-tests print. Rows are
 *
 *     size count type redop [root] time algbw busbw #wrong [time algbw busbw #wrong]
 *
 * among comments and whatever else went to the same log: prefixes of mpirun, srun and
 * log collectors, Markdown, command lines, what NCCL_DEBUG says. Two whole numbers and a
 * type begin a row, which must be whole; only its figures may come later, because
 * nccl-tests prints them when they are measured, and NCCL may have spoken in between. A
 * log may hold several tables; each belongs to the operation named last before it, or to
 * the one that a line behind it says has been concluded, and lists its ranks before its
 * rows. Versions up to 2018 print milliseconds. */
#include "collective/operations.h"

#include <math.h>
#include <string.h>

#define TOKENS 256 /* command lines of mpirun name the test last */
#define PREFIX 8   /* words that may stand before a row */

/* Colours of terminals, "\033[1;31m", part words as blanks do. */
static const char *after_escape(const char *p, const char *end) {
    while (p < end && !(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z'))
        p++;
    return p < end ? p + 1 : p;
}

/* Words between blanks and the bars of Markdown tables. */
static unsigned split_tokens(struct sc__str line, struct sc__str token[TOKENS]) {
    unsigned n = 0;
    const char *p = line.p;
    const char *end = line.p + line.n;
    while (p < end && n < TOKENS) {
        while (p < end && strchr(" \t\r|\033", *p))
            p = *p == '\033' ? after_escape(p, end) : p + 1;
        const char *from = p;
        while (p < end && !strchr(" \t\r|\033", *p))
            p++;
        if (p > from)
            token[n++] = (struct sc__str){from, (size_t)(p - from)};
    }
    return n;
}

/* mpirun may put "[1,0]<stdout>:" in front, and the time in front of that. */
static struct sc__str without_tag(struct sc__str line) {
    static const char *const tags[] = {"<stdout>:", "<stderr>:", "<stdout>"};
    for (unsigned i = 0; i < sizeof tags / sizeof *tags; i++) {
        const char *at = sc__find_word(line.p, line.n, tags[i]);
        if (!at)
            continue;
        at += strlen(tags[i]);
        return (struct sc__str){at, line.n - (size_t)(at - line.p)};
    }
    return line;
}

static bool is_type(struct sc__str s) {
    static const char *const types[] = {"int8",
                                        "uint8",
                                        "int32",
                                        "uint32",
                                        "int64",
                                        "uint64",
                                        "half",
                                        "float",
                                        "double",
                                        "bfloat16",
                                        "fp8_e4m3",
                                        "fp8_e5m2",
                                        "f8e4m3",
                                        "f8e5m2",
                                        NULL};
    for (unsigned i = 0; types[i]; i++)
        if (sc__str_is(s, types[i]))
            return true;
    return false;
}

static bool row_begins(const struct sc__str *token, unsigned n) {
    uint64_t size;
    uint64_t count;
    return n > 2 && sc__parse_u64(token[0], &size) && sc__parse_u64(token[1], &count) &&
           is_type(token[2]);
}

/* Where the row of a line begins, behind "0:" of srun -l and the like; n: nowhere. What
 * NCCL says has numbers too. */
static unsigned row_start(const struct sc__str *token, unsigned n) {
    for (unsigned i = 0; i <= PREFIX && i < n; i++) {
        if (sc__str_is(token[i], "NCCL"))
            return n;
        if (row_begins(token + i, n - i))
            return i;
    }
    return n;
}

/* "2025-11-03", "11:22:33" */
static bool is_timestamp(struct sc__str s) {
    bool date = s.n == 10 && s.p[4] == '-' && s.p[7] == '-';
    bool hour = s.n >= 8 && s.p[2] == ':' && s.p[5] == ':';
    return date || hour;
}

static bool is_small_letter(char c) {
    return c >= 'a' && c <= 'z';
}

static bool is_capital(char c) {
    return c >= 'A' && c <= 'Z';
}

/* "RING  SIMPLE  112": what rccl-tests says of the choice of the library (-M, -A), or
 * "N/A" three times. */
static bool ends_with_choice(const struct sc__str *token, unsigned n) {
    uint64_t channels;
    return n > 7 && is_capital(token[n - 3].p[0]) && is_capital(token[n - 2].p[0]) &&
           (sc__parse_u64(token[n - 1], &channels) || sc__str_is(token[n - 1], "N/A"));
}

/* Words after the figures (the algorithm, in tables of our own; when it was measured) do
 * not count. */
static unsigned without_words(const struct sc__str *token, unsigned n) {
    if (ends_with_choice(token, n))
        n -= 3;
    while (n > 4 && (is_small_letter(token[n - 1].p[0]) || is_timestamp(token[n - 1])))
        n--;
    return n;
}

/* #wrong: a count ("12", "2.62144e+07"), or "N/A"; older versions have the largest
 * deviation there ("5e-07"). */
static bool counts_wrong(struct sc__str token) {
    double wrong;
    return sc__parse_double(token, &wrong) && wrong >= 1;
}

/* The out-of-place time and bandwidths: after type and redop, and after root where one
 * column more is left than the figures of one or both halves take, as many as the heads of
 * the columns say. */
static bool row_figures(const struct sc__str *token,
                        unsigned n,
                        unsigned figures,
                        struct sc__coll_log_row *r) {
    unsigned first = 3;
    double ignored;
    if (n <= first)
        return false;
    if (!sc__parse_double(token[first], &ignored))
        first++;
    n = without_words(token, n);
    unsigned left = n > first ? n - first : 0;
    if (left == figures + 1 || left == 2 * figures + 1)
        first++, left--;
    r->wrong = figures >= 4 && left >= 4 && counts_wrong(token[first + 3]);
    return (left == figures || left == 2 * figures) &&
           sc__parse_double(token[first], &r->us) && r->us > 0 &&
           sc__parse_double(token[first + 1], &r->algbw) &&
           sc__parse_double(token[first + 2], &r->busbw);
}

/* "-1", or "-1" and the host's name that begins what NCCL said: all that stands behind
 * the type before the figures are known. */
static bool ends_before_figures(const struct sc__str *token, unsigned n) {
    double figure;
    if (n < 4 || sc__parse_double(token[3], &figure))
        return false;
    if (n == 4)
        return true;
    bool root = token[4].p[0] == '-' || (token[4].p[0] >= '0' && token[4].p[0] <= '9');
    bool alone = sc__parse_double(token[4], &figure);
    return root && (!alone || n == 5 || !sc__parse_double(token[5], &figure));
}

/* A line of figures alone, or with what NCCL said behind them. */
static bool
late_figures(const struct sc__str *token, unsigned n, struct sc__coll_log_row *r) {
    for (unsigned i = 0; i <= PREFIX && i + 4 <= n && !sc__str_is(token[i], "NCCL"); i++)
        if (sc__parse_double(token[i], &r->us) && r->us > 0 &&
            sc__parse_double(token[i + 1], &r->algbw) &&
            memchr(token[i + 1].p, '.', token[i + 1].n) &&
            sc__parse_double(token[i + 2], &r->busbw) &&
            memchr(token[i + 2].p, '.', token[i + 2].n)) {
            r->wrong = counts_wrong(token[i + 3]);
            return true;
        }
    return false;
}

enum { SIZE, TIME, ALGBW, BUSBW, FIGURES };

/* --- tables ---------------------------------------------------------------- */

struct log_reader {
    struct sc_context *ctx;
    struct sc__input *in;
    struct sc__coll_log *log;
    struct sc__coll_log_table next; /* what was told of the table that comes */
    struct sc__names hosts;
    bool open;                     /* rows go to the last table */
    unsigned half;                 /* figures out of place, and in place once more */
    uint32_t group;                /* of the first rank listed, whose times are printed */
    uint32_t last_rank;            /* listed of that group */
    uint32_t listed;               /* ranks of that group */
    struct sc__names firsts;       /* hosts of its ranks 0: of several tests side by side */
    bool split;                    /* ranks of other groups are listed too */
    int8_t place[FIGURES];         /* of the figures, where someone cut the other columns */
    unsigned columns;              /* that were left; 0: it is whole */
    struct sc__coll_log_row begun; /* its figures are still to come; bytes 0: none is */
    struct sc__place begun_at;
};

/* A test that begins lists its own; what was listed may be of one that failed. */
static void forget_ranks(struct log_reader *r) {
    r->next.ranks = 0;
    r->listed = 0;
    r->split = false;
    sc__names_init(&r->hosts, &r->ctx->arena);
    sc__names_init(&r->firsts, &r->ctx->arena);
}

/* What comes belongs to another table: a header, a new list of ranks. */
static void close_table(struct log_reader *r) {
    if (!r->open)
        return;
    r->open = false;
    forget_ranks(r);
}

/* NCCL_TESTS_SPLIT: the same operation runs in several groups of ranks at once. */
static void note_groups(struct log_reader *r, struct sc__coll_log_table *t) {
    sc__note(r->ctx,
             "log-groups",
             "%s:%llu: groups of the %u ranks listed ran at once (NCCL_TESTS_SPLIT): the "
             "times are those of group %u, %u ranks, which is forecast alone",
             r->in->name,
             (unsigned long long)r->in->line,
             t->ranks,
             r->group,
             r->listed);
    t->ranks = r->listed;
}

/* nccl-tests that were built without MPI: each process is a test of its own, with a rank 0
 * on its own hosts. */
static void note_tests(struct log_reader *r, struct sc__coll_log_table *t) {
    if (t->nodes % r->firsts.count)
        return;
    t->nodes /= r->firsts.count;
    sc__note(r->ctx,
             "log-tests",
             "%s:%llu: rank 0 is on %u hosts: as many tests ran beside each other, of %u "
             "ranks each (nccl-tests without MPI=1?)",
             r->in->name,
             (unsigned long long)r->in->line,
             r->firsts.count,
             t->ranks);
}

static struct sc__coll_log_table *open_table(struct log_reader *r) {
    struct sc__coll_log *log = r->log;
    if (r->open)
        return &log->tables[log->count - 1];
    r->open = true;
    struct sc__coll_log_table *t =
        SC__PUSH(&r->ctx->arena, log->tables, log->count, log->capacity);
    *t = r->next;
    t->nodes = r->hosts.count;
    if (r->split)
        note_groups(r, t);
    else if (r->firsts.count > 1)
        note_tests(r, t);
    t->line = (uint32_t)r->in->line;
    t->rows = NULL;
    t->count = t->capacity = 0;
    return t;
}

static sc_status fail_row(struct log_reader *r, const struct sc__place *at) {
    return sc__fail(r->ctx,
                    SC_INPUT,
                    at,
                    "a row has size, count, type, redop, root, time, algbw, busbw, #wrong",
                    "this row of the nccl-tests table is not whole");
}

static void add_row(struct log_reader *r, const struct sc__coll_log_row *row) {
    struct sc__coll_log_table *t = open_table(r);
    if (t->count && row->bytes < t->rows[t->count - 1].bytes) {
        r->open = false; /* the same once more, without a header */
        t = open_table(r);
    }
    if (row->bytes)
        *SC__PUSH(&r->ctx->arena, t->rows, t->count, t->capacity) = *row;
}

static sc_status take_row(struct log_reader *r,
                          struct sc__str line,
                          const struct sc__str *token,
                          unsigned n) {
    struct sc__coll_log_row row = {.line = (uint32_t)r->in->line};
    struct sc__place at = sc__input_place(r->in, line, token[0].p);
    if (r->begun.bytes)
        return fail_row(r, &r->begun_at);
    if (!sc__parse_u64(token[0], &row.bytes))
        return fail_row(r, &at);
    row.unreduced = n > 3 && sc__str_is(token[3], "none");
    if (row_figures(token, n, r->half, &row)) {
        add_row(r, &row);
        return SC_OK;
    }
    if (!row.bytes || !ends_before_figures(token, n))
        return fail_row(r, &at);
    r->begun = row;
    r->begun_at = at;
    return SC_OK;
}

/* The figures of the row that was begun. */
static bool take_figures(struct log_reader *r, const struct sc__str *token, unsigned n) {
    struct sc__coll_log_row row = r->begun;
    if (!row.bytes || !late_figures(token, n, &row))
        return false;
    r->begun.bytes = 0;
    add_row(r, &row);
    return true;
}

static bool
parse_after(const struct sc__str *token, unsigned n, const char *word, uint32_t *out) {
    for (unsigned i = 0; i + 1 < n; i++)
        if (sc__str_is(token[i], word))
            return sc__parse_u32(token[i + 1], out);
    return false;
}

/* "./build/all_reduce_perf", "all_reduce_perf,"; a line that names several tells none.
 * *unknown: a test of an operation that is not one of ours ("build/hypercube_perf"). */
static const struct sc__coll_op *named_operation(struct sc_context *ctx,
                                                 const struct sc__str *token,
                                                 unsigned n,
                                                 const char **unknown) {
    const struct sc__coll_op *found = NULL;
    *unknown = NULL;
    for (unsigned i = 0; i < n; i++) {
        char *word = sc__strndup(&ctx->arena, token[i].p, token[i].n);
        char *name = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
        char *end = strstr(name, "_perf");
        if (!end)
            continue;
        bool run = name > word || (i && token[i - 1].p[token[i - 1].n - 1] == ':');
        bool whole = !end[strlen("_perf")] || !strcmp(end, "_perf_mpi");
        end[strlen("_perf")] = 0;
        const struct sc__coll_op *op = sc__coll_op_find(name);
        if (op && found && op != found)
            return NULL;
        if (!op && run && whole)
            *unknown = name;
        found = op ? op : found;
    }
    return found;
}

/* Whether the rank is of the group whose times are printed. */
static bool
in_group(struct log_reader *r, const struct sc__str *token, unsigned n, uint32_t rank) {
    uint32_t group = 0;
    parse_after(token, n, "Group", &group);
    if (!r->listed)
        r->group = group;
    if (group != r->group) {
        r->split = true;
        return false;
    }
    if (!r->listed || rank > r->last_rank) {
        r->last_rank = rank;
        r->listed++;
    }
    return true;
}

/* "Rank  0 Group  0 Pid  1 on   HOST device  0 …", with or without "#". */
static bool take_rank(struct log_reader *r, const struct sc__str *token, unsigned n) {
    uint32_t rank;
    uint32_t device;
    if (!(parse_after(token, n, "Rank", &rank) || parse_after(token, n, "#Rank", &rank)) ||
        !parse_after(token, n, "device", &device))
        return false;
    close_table(r);
    if (rank < UINT32_MAX / 64 && rank + 1 > r->next.ranks)
        r->next.ranks = rank + 1;
    if (!in_group(r, token, n, rank))
        return true;
    for (unsigned i = 0; i + 1 < n; i++) {
        if (!sc__str_is(token[i], "on"))
            continue;
        sc__names_add(&r->hosts, token[i + 1].p, token[i + 1].n);
        if (!rank)
            sc__names_add(&r->firsts, token[i + 1].p, token[i + 1].n);
    }
    return true;
}

/* "#  size  count  type  redop  root  time  algbw  busbw  #wrong …" */
static bool heads_columns(const struct sc__str *token, unsigned n) {
    unsigned known = 0;
    for (unsigned i = 0; i < n; i++)
        known += sc__str_is(token[i], "time") || sc__str_is(token[i], "cputime") ||
                 sc__str_is(token[i], "algbw") || sc__str_is(token[i], "busbw");
    return known >= 3;
}

/* "# Collective test concluded: all_reduce_perf" names the table before it. */
static bool concludes(struct log_reader *r,
                      const struct sc__str *token,
                      unsigned n,
                      const struct sc__coll_op *op,
                      const char *unknown) {
    bool said = false;
    for (unsigned i = 0; i < n; i++)
        said |= sc__str_is(token[i], "concluded:");
    if (!said || (!op && !unknown))
        return false;
    if (r->open) {
        r->log->tables[r->log->count - 1].op = op;
        r->log->tables[r->log->count - 1].unknown = op ? NULL : unknown;
    }
    close_table(r);
    return true;
}

/* "#  size  time  algbw  busbw": nccl-tests' columns but for count and type. */
static void find_figures(struct log_reader *r, const struct sc__str *token, unsigned n) {
    static const char *const names[FIGURES] = {"size", "time", "algbw", "busbw"};
    bool typed = false;
    unsigned first = n && sc__str_is(token[0], "#");
    for (unsigned f = 0; f < FIGURES; f++)
        r->place[f] = -1;
    for (unsigned i = n; i-- > first;) {
        typed |= sc__str_is(token[i], "type");
        for (unsigned f = 0; f < FIGURES; f++)
            if (sc__str_is(token[i], names[f]))
                r->place[f] = (int8_t)(i - first);
    }
    bool all = true;
    for (unsigned f = 0; f < FIGURES; f++)
        all &= r->place[f] >= 0;
    r->columns = all && !typed ? n - first : 0;
}

/* A row of such a table: numbers alone, as many as there are columns. */
static bool take_cut_row(struct log_reader *r, const struct sc__str *token, unsigned n) {
    struct sc__coll_log_row row = {.line = (uint32_t)r->in->line};
    double *const out[FIGURES] = {NULL, &row.us, &row.algbw, &row.busbw};
    if (!r->columns || n != r->columns || !sc__parse_u64(token[r->place[SIZE]], &row.bytes))
        return false;
    for (unsigned f = TIME; f < FIGURES; f++)
        if (!sc__parse_double(token[r->place[f]], out[f]))
            return false;
    if (!(row.us > 0))
        return false;
    add_row(r, &row);
    return true;
}

/* Figures of a half: time, algbw, busbw and #wrong, or three where the heads of the columns
 * end with busbw; then those of single iterations ("i_min  i_max  i_p99  i_cv%"). */
static unsigned figures_of_half(const struct sc__str *token, unsigned n) {
    unsigned half = sc__str_is(token[n - 1], "busbw") ? 3 : 4;
    bool begun = false;
    for (unsigned i = 0; i < n; i++) {
        if (begun && sc__str_is(token[i], "time"))
            break;
        begun |= sc__str_is(token[i], "time");
        half += begun && sc__str_starts(token[i], "i_");
    }
    return half;
}

static sc_status take_heads(struct log_reader *r,
                            struct sc__str line,
                            const struct sc__str *token,
                            unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        struct sc__place at = sc__input_place(r->in, line, token[i].p);
        if (sc__str_is(token[i], "cputime"))
            return sc__fail(r->ctx,
                            SC_INPUT,
                            &at,
                            "measure without -C 1 (--report_cputime)",
                            "these are the times the host took to launch (cputime), not "
                            "those of the operation");
    }
    r->half = figures_of_half(token, n);
    find_figures(r, token, n);
    return SC_OK;
}

/* "# nThread 1 nGpus 8 minBytes …", "# Collective test starting: all_reduce_perf", a
 * command line, the heads of the columns. */
static sc_status take_other(struct log_reader *r,
                            struct sc__str line,
                            const struct sc__str *token,
                            unsigned n) {
    const char *unknown;
    if (heads_columns(token, n))
        SC__TRY(take_heads(r, line, token, n));
    const struct sc__coll_op *op = named_operation(r->ctx, token, n, &unknown);
    if (concludes(r, token, n, op, unknown))
        return SC_OK;
    if (op ? op != r->next.op : unknown != NULL)
        close_table(r);
    if (op || unknown) {
        r->next.op = op;
        r->next.unknown = op ? NULL : unknown;
    }
    uint32_t per;
    if (parse_after(token, n, "nGpus", &per)) {
        r->open = false;
        forget_ranks(r);
        r->next.gpus_per_process = per;
    }
    return SC_OK;
}

static sc_status read_lines(struct log_reader *r) {
    struct sc__str line;
    struct sc__str token[TOKENS];
    bool more = true;
    for (;;) {
        SC__TRY(sc__input_line(r->in, &line, &more));
        if (!more)
            return r->begun.bytes ? fail_row(r, &r->begun_at) : SC_OK;
        unsigned n = split_tokens(without_tag(line), token);
        unsigned start = n && token[0].p[0] != '#' ? row_start(token, n) : n;
        if (start < n)
            SC__TRY(take_row(r, line, token + start, n - start));
        else if (!take_cut_row(r, token, n) && !take_figures(r, token, n) &&
                 !take_rank(r, token, n))
            SC__TRY(take_other(r, line, token, n));
    }
}

/* --- in which unit ----------------------------------------------------------- */

#define UNIT_OFF 0.1 /* what two decimals of the bandwidth leave of a time, at most */

/* Up to 2018 times were printed in milliseconds, under the same heads: size and bandwidth
 * tell. */
static void
check_unit(struct sc_context *ctx, const char *path, struct sc__coll_log_table *t) {
    const struct sc__coll_log_row *best = NULL;
    for (uint32_t i = 0; i < t->count; i++)
        if (!best || t->rows[i].algbw > best->algbw)
            best = &t->rows[i];
    if (!best || best->algbw < 0.1)
        return;
    double us = (double)best->bytes / (best->algbw * 1e3);
    if (fabs(us / (best->us * 1e3) - 1) > UNIT_OFF)
        return;
    for (uint32_t i = 0; i < t->count; i++)
        t->rows[i].us *= 1e3;
    sc__note(ctx,
             "log-unit",
             "%s:%u: times are in milliseconds, by the sizes and bandwidths beside them",
             path,
             t->line);
}

/* --- rows that contradict themselves ----------------------------------------- */

#define TIME_OFF 0.1 /* times and bandwidths may be means of several runs each */

/* Below 1 GB/s the decimals that are printed do not tell. */
static bool time_agrees(const struct sc__coll_log_row *r) {
    double us = (double)r->bytes / (r->algbw * 1e3);
    return r->algbw < 1 || fabs(us / r->us - 1) <= TIME_OFF;
}

/* One row among others that does not agree was damaged; where most do not, whoever made
 * the table counts otherwise. */
static sc_status
check_times(struct sc_context *ctx, const char *path, const struct sc__coll_log_table *t) {
    const struct sc__coll_log_row *first = NULL;
    uint32_t others = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        if (time_agrees(&t->rows[i]))
            continue;
        others++;
        if (!first)
            first = &t->rows[i];
    }
    if (!first)
        return SC_OK;
    if (2 * others > t->count) {
        sc__note(ctx,
                 "log-times",
                 "%s:%u: time and algbw do not agree in %u of %u rows (%.4g us here, by "
                 "algbw %.4g): times are taken",
                 path,
                 first->line,
                 others,
                 t->count,
                 first->us,
                 (double)first->bytes / (first->algbw * 1e3));
        return SC_OK;
    }
    return sc__fail(ctx,
                    SC_INPUT,
                    &(struct sc__place){.file = path, .line = first->line},
                    "mend the row, or leave it out",
                    "%llu bytes in %.4g us are %.2f GB/s, and algbw says %.2f",
                    (unsigned long long)first->bytes,
                    first->us,
                    (double)first->bytes / (first->us * 1e3),
                    first->algbw);
}

static void
note_wrong(struct sc_context *ctx, const char *path, const struct sc__coll_log_table *t) {
    uint32_t count = 0;
    uint32_t line = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        if (!t->rows[i].wrong)
            continue;
        count++;
        if (!line)
            line = t->rows[i].line;
    }
    if (count)
        sc__note(ctx,
                 "log-wrong",
                 "%s:%u: %s wrong results (#wrong): what was timed may not be the whole "
                 "collective",
                 path,
                 line,
                 count == 1
                     ? "this row has"
                     : sc__format(&ctx->arena, "this row and %u more have", count - 1));
}

/* --- how many GPUs ----------------------------------------------------------- */

/* busbw / algbw of the row that tells it best, and how wrong that may be: both have two
 * decimals. */
static double bus_factor(const struct sc__coll_log_table *t, double *wrong) {
    double factor = 0;
    *wrong = 1;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct sc__coll_log_row *r = &t->rows[i];
        if (!(r->algbw > 0) || 0.01 / r->algbw >= *wrong)
            continue;
        *wrong = 0.01 / r->algbw;
        factor = r->busbw / r->algbw;
    }
    return factor;
}

/* GPUs by the factor: 2(n-1)/n or (n-1)/n; 0 where it does not tell them to one. */
static uint32_t ranks_by_factor(const struct sc__coll_op *op, double factor, double wrong) {
    double passes = sc__coll_bus_factor(op, 2) * 2;
    if (passes > 2 || !(factor > 0) || factor >= passes || op->coll == SC__COLLS ||
        sc__coll_bus_factor(op, 2) == sc__coll_bus_factor(op, 4))
        return 0;
    double ranks = passes / (passes - factor);
    double off = ranks * ranks / passes * wrong;
    if (off >= 0.4 || fabs(ranks - round(ranks)) >= 0.4)
        return 0;
    /* of another operation the factor is that of no number of GPUs */
    double exact = sc__coll_bus_factor(op, (uint32_t)round(ranks));
    return fabs(factor - exact) <= 2 * wrong * exact + 0.01 * exact ? (uint32_t)round(ranks)
                                                                    : 0;
}

/* The ranks listed, unless the bandwidths say otherwise. */
void sc__coll_log_ranks(struct sc_context *ctx,
                        const char *path,
                        struct sc__coll_log_table *t) {
    double wrong;
    double factor = bus_factor(t, &wrong);
    uint32_t ranks = t->op ? ranks_by_factor(t->op, factor, wrong) : 0;
    if (ranks && t->ranks && ranks != t->ranks)
        sc__note(ctx,
                 "log-ranks",
                 "%s:%u: %u ranks are listed, but busbw / algbw is that of %u GPUs, which "
                 "is taken",
                 path,
                 t->line,
                 t->ranks,
                 ranks);
    if (ranks)
        t->ranks = ranks;
}

sc_status
sc__coll_log_read(struct sc_context *ctx, const char *path, struct sc__coll_log *out) {
    struct sc__input in;
    struct sc__place at = {.file = path};
    struct log_reader r = {.ctx = ctx, .in = &in, .log = out, .half = 4};
    memset(out, 0, sizeof *out);
    forget_ranks(&r);
    SC__TRY(sc__input_open(ctx, path, &in));
    sc_status status = read_lines(&r);
    sc__input_close(&in);
    if (status != SC_OK)
        return status;
    for (uint32_t i = 0; i < out->count; i++) {
        check_unit(ctx, path, &out->tables[i]);
        SC__TRY(check_times(ctx, path, &out->tables[i]));
        note_wrong(ctx, path, &out->tables[i]);
        sc__coll_log_ranks(ctx, path, &out->tables[i]);
    }
    if (!out->count)
        return sc__fail(
            ctx,
            SC_INPUT,
            &at,
            "give what nccl-tests prints, e.g. all_reduce_perf -b 8 -e 8G -f 2 > log",
            "there is no row of an nccl-tests table in it");
    return SC_OK;
}
