/* nccl_tests_log: reads what nccl-tests prints. Rows are
 *
 *     size count type redop [root] time algbw busbw #wrong [time algbw busbw #wrong]
 *
 * among comments and whatever else went to the same log. A line that begins
 * with two whole numbers and a type is a row and must be whole. */
#include "collective/operations.h"

#include <string.h>

#define TOKENS 20

static unsigned split_tokens(struct sc__str line, struct sc__str token[TOKENS]) {
    unsigned n = 0;
    const char *p = line.p;
    const char *end = line.p + line.n;
    while (p < end && n < TOKENS) {
        while (p < end && (*p == ' ' || *p == '\t'))
            p++;
        const char *from = p;
        while (p < end && *p != ' ' && *p != '\t')
            p++;
        if (p > from)
            token[n++] = (struct sc__str){from, (size_t)(p - from)};
    }
    return n;
}

/* mpirun may put "[1,0]<stdout>:" in front. */
static struct sc__str without_tag(struct sc__str line) {
    const char *at =
        line.n && line.p[0] == '[' ? sc__find_word(line.p, line.n, ">:") : NULL;
    if (!at)
        return line;
    return (struct sc__str){at + 2, line.n - (size_t)(at + 2 - line.p)};
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

static bool is_row(const struct sc__str *token, unsigned n) {
    uint64_t size;
    uint64_t count;
    return n > 3 && sc__parse_u64(token[0], &size) && sc__parse_u64(token[1], &count) &&
           is_type(token[2]);
}

/* Words after the figures (the algorithm, in tables of our own) do not count. */
static unsigned without_words(const struct sc__str *token, unsigned n) {
    while (n > 4 && !sc__str_is(token[n - 1], "N/A") && token[n - 1].p[0] >= 'a' &&
           token[n - 1].p[0] <= 'z')
        n--;
    return n;
}

/* The out-of-place time: after type and redop, and after root where there is
 * an odd number of columns left (1 + 4, 1 + 8). */
static bool row_time(const struct sc__str *token, unsigned n, double *us) {
    unsigned first = 3;
    double ignored;
    if (!sc__parse_double(token[first], &ignored))
        first++;
    n = without_words(token, n);
    unsigned left = n > first ? n - first : 0;
    if (left == 5 || left == 9)
        first++, left--;
    return (left == 4 || left == 8) && sc__parse_double(token[first], us) && *us > 0;
}

static sc_status take_row(struct sc_context *ctx,
                          const struct sc__input *in,
                          struct sc__str line,
                          const struct sc__str *token,
                          unsigned n,
                          struct sc__coll_log *out) {
    struct sc__coll_log_row row = {.line = (uint32_t)in->line};
    if (!sc__parse_u64(token[0], &row.bytes) || !row_time(token, n, &row.us)) {
        struct sc__place at = sc__input_place(in, line, token[0].p);
        return sc__fail(
            ctx,
            SC_INPUT,
            &at,
            "a row has size, count, type, redop, root, time, algbw, busbw, #wrong",
            "this row of the nccl-tests table is not whole");
    }
    if (row.bytes)
        *SC__PUSH(&ctx->arena, out->rows, out->count, out->capacity) = row;
    return SC_OK;
}

static bool
parse_after(const struct sc__str *token, unsigned n, const char *word, uint32_t *out) {
    for (unsigned i = 0; i + 1 < n; i++)
        if (sc__str_is(token[i], word))
            return sc__parse_u32(token[i + 1], out);
    return false;
}

/* "# nThread 1 nGpus 8 minBytes …", "#  Rank  0 … on HOST device  0 …",
 * "# Collective test starting: all_reduce_perf" */
static void take_comment(struct sc_context *ctx,
                         const struct sc__str *token,
                         unsigned n,
                         struct sc__names *hosts,
                         struct sc__coll_log *out) {
    for (unsigned i = 0; i < n; i++) {
        const struct sc__coll_op *op =
            sc__str_ends(token[i], "_perf")
                ? sc__coll_op_find(sc__strndup(&ctx->arena, token[i].p, token[i].n))
                : NULL;
        if (op)
            out->op = op;
    }
    parse_after(token, n, "nGpus", &out->gpus_per_process);
    if (n > 2 && (sc__str_is(token[1], "Rank") || sc__str_is(token[0], "#Rank"))) {
        out->ranks++;
        for (unsigned i = 0; i + 1 < n; i++)
            if (sc__str_is(token[i], "on"))
                sc__names_add(hosts, token[i + 1].p, token[i + 1].n);
    }
}

static sc_status
read_lines(struct sc_context *ctx, struct sc__input *in, struct sc__coll_log *out) {
    struct sc__names hosts;
    struct sc__str line;
    struct sc__str token[TOKENS];
    bool more = true;
    sc__names_init(&hosts, &ctx->arena);
    for (;;) {
        SC__TRY(sc__input_line(in, &line, &more));
        if (!more)
            break;
        unsigned n = split_tokens(without_tag(line), token);
        if (n && token[0].p[0] == '#')
            take_comment(ctx, token, n, &hosts, out);
        else if (is_row(token, n))
            SC__TRY(take_row(ctx, in, line, token, n, out));
    }
    out->nodes = hosts.count;
    return SC_OK;
}

sc_status
sc__coll_log_read(struct sc_context *ctx, const char *path, struct sc__coll_log *out) {
    struct sc__input in;
    struct sc__place at = {.file = path};
    memset(out, 0, sizeof *out);
    SC__TRY(sc__input_open(ctx, path, &in));
    sc_status status = read_lines(ctx, &in, out);
    sc__input_close(&in);
    if (status == SC_OK && !out->count)
        return sc__fail(
            ctx,
            SC_INPUT,
            &at,
            "give what nccl-tests prints, e.g. all_reduce_perf -b 8 -e 8G -f 2 > log",
            "there is no row of an nccl-tests table in it");
    return status;
}
