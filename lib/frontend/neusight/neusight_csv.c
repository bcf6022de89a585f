/* neusight_csv: NeuSight's own tables of a model's operators (CSV), with its forecast or
 * with what was measured: a row an operator in forward order, times in milliseconds.
 *
 *     Name,OpName,FwOps,BwOps,…,fw_latency,bw_latency,acc_latency,bwall_latency,e2e_latency
 *
 * Lists and sets of Python stand in quotes. Two kinds are read: the operators that one
 * leads to (Next), for those that are missing were cut off, and what one does (FwOps,
 * BwOps, AccOps), for the tables of several GPUs have collectives there,
 * [['ALLREDUCE_ASYNC', (1310720,)]], with elements of four bytes. The rows become those of
 * an operator table: fw, bw and acc are its forward, backward and weight gradients. */
#include "frontend/neusight/operator_table.h"

#include <math.h>
#include <string.h>

enum {
    CSV_NAME,
    CSV_NEXT,
    CSV_OPS, /* forward, backward, weight gradients */
    CSV_FORWARD = CSV_OPS + SC__PARTS,
    CSV_BACKWARD,
    CSV_WEIGHT,
    CSV_BOTH,
    CSV_ALL,
    CSV_COLUMNS
};

static const char *const csv_columns[CSV_COLUMNS] = {"Name",
                                                     "Next",
                                                     "FwOps",
                                                     "BwOps",
                                                     "AccOps",
                                                     "fw_latency",
                                                     "bw_latency",
                                                     "acc_latency",
                                                     "bwall_latency",
                                                     "e2e_latency"};

#define CSV_MOST_CELLS 64
#define CSV_LONGEST_MS 1e8 /* more than a day is a mistake */
#define CSV_ELEMENT 4      /* bytes: NeuSight's operators are of fp32 */

struct neusight_csv {
    struct sc_context *ctx;
    struct sc__input in;
    struct sc__str line;
    struct sc__layers *layers;
    int place[CSV_COLUMNS]; /* of the column in a row; -1: there is none */
    struct sc__str cells[CSV_MOST_CELLS];
    unsigned count;
    unsigned wanted;         /* cells of a row, as the header has */
    struct sc__names names;  /* of the operators */
    struct sc__names led_to; /* that some lead to */
    uint32_t collectives;
};

static sc_status
csv_refuse(const struct neusight_csv *p, struct sc__str cell, const char *what) {
    struct sc__place at = sc__input_place(&p->in, p->line, cell.p);
    return sc__fail(p->ctx, SC_INPUT, &at, NULL, "%s: '%.*s'", what, SC__SHOW(cell));
}

/* A cell in quotes may have commas in it. */
static sc_status split_cells(struct neusight_csv *p) {
    struct sc__str rest = sc__trim(p->line);
    p->count = 0;
    for (;;) {
        size_t n = 0;
        bool quoted = false;
        for (; n < rest.n && (quoted || rest.p[n] != ','); n++)
            quoted ^= rest.p[n] == '"';
        if (quoted)
            return csv_refuse(p, rest, "a quote that does not end");
        if (p->count == CSV_MOST_CELLS)
            return csv_refuse(p, rest, "too many columns");
        p->cells[p->count++] = sc__trim((struct sc__str){rest.p, n});
        if (n == rest.n)
            return SC_OK;
        rest = (struct sc__str){rest.p + n + 1, rest.n - n - 1};
    }
}

static sc_status read_csv_header(struct neusight_csv *p) {
    bool more;
    SC__TRY(sc__input_line(&p->in, &p->line, &more));
    SC__TRY(split_cells(p));
    p->wanted = p->count;
    for (unsigned c = 0; c < CSV_COLUMNS; c++) {
        p->place[c] = -1;
        for (unsigned i = 0; i < p->count; i++)
            if (sc__str_is(p->cells[i], csv_columns[c]))
                p->place[c] = (int)i;
    }
    if (p->place[CSV_NAME] < 0 || p->place[CSV_FORWARD] < 0)
        return csv_refuse(p, p->line, "Name or fw_latency is missing in the header");
    if (p->place[CSV_BACKWARD] < 0)
        sc__note(p->ctx,
                 "neusight-forward",
                 "%s: no bw_latency: a forward pass alone",
                 p->in.name);
    return SC_OK;
}

static sc_status csv_time(const struct neusight_csv *p, unsigned column, double *ms) {
    *ms = 0;
    if (p->place[column] < 0)
        return SC_OK;
    struct sc__str cell = p->cells[p->place[column]];
    if (!sc__parse_double(cell, ms))
        return csv_refuse(p, cell, "not a time in milliseconds");
    if (*ms < 0 || *ms > CSV_LONGEST_MS)
        return csv_refuse(p, cell, "time out of range");
    return SC_OK;
}

/* The sums that the table has of its own columns. */
static sc_status check_sum(const struct neusight_csv *p, unsigned column, double sum) {
    double said;
    SC__TRY(csv_time(p, column, &said));
    if (p->place[column] < 0 || fabs(said - sum) <= 1e-6 * (said + sum) + 1e-9)
        return SC_OK;
    return csv_refuse(p,
                      p->cells[p->place[column]],
                      column == CSV_BOTH ? "bwall_latency is not bw_latency + acc_latency"
                                         : "e2e_latency is not the sum of its parts");
}

/* The next word in quotes, and what stands behind it; false: there is none. */
static bool next_quoted(struct sc__str *rest, struct sc__str *word) {
    const char *open = rest->n ? memchr(rest->p, '\'', rest->n) : NULL;
    size_t left = open ? rest->n - (size_t)(open + 1 - rest->p) : 0;
    const char *close = left ? memchr(open + 1, '\'', left) : NULL;
    if (!close)
        return false;
    *word = (struct sc__str){open + 1, (size_t)(close - open) - 1};
    *rest = (struct sc__str){close + 1, left - word->n - 1};
    return true;
}

/* "{'add', 'size_1'}" */
static void take_next(struct neusight_csv *p) {
    struct sc__str rest = p->cells[p->place[CSV_NEXT]];
    struct sc__str name;
    while (next_quoted(&rest, &name))
        sc__names_add(&p->led_to, name.p, name.n);
}

/* Where rows say what they lead to, names are those of a graph: each is one operator's. */
static sc_status take_place_in_graph(struct neusight_csv *p, struct sc__str name) {
    if (p->place[CSV_NEXT] < 0)
        return SC_OK;
    if (sc__names_find(&p->names, name.p, name.n) != SC__NO_NAME)
        return csv_refuse(p, name, "this operator stands there twice");
    sc__names_add(&p->names, name.p, name.n);
    take_next(p);
    return SC_OK;
}

static void note_cut_off(const struct neusight_csv *p) {
    const char *first = NULL;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < p->led_to.count; i++) {
        const char *name = p->led_to.text[i];
        if (sc__names_find(&p->names, name, strlen(name)) != SC__NO_NAME)
            continue;
        missing++;
        first = first ? first : name;
    }
    if (missing)
        sc__note(p->ctx,
                 "neusight-cut",
                 "%s: %u operator%s that others lead to, '%s' first, %s not in it: was the "
                 "file cut off?",
                 p->in.name,
                 missing,
                 missing == 1 ? "" : "s",
                 first,
                 missing == 1 ? "is" : "are");
}

/* "', (1310720,)]]": elements of the operator whose name ended there. */
static bool read_elements(struct sc__str rest, uint64_t *elements) {
    size_t from = 0;
    size_t n = 0;
    while (from < rest.n && strchr("', ([", rest.p[from]))
        from++;
    while (from + n < rest.n && rest.p[from + n] >= '0' && rest.p[from + n] <= '9')
        n++;
    return sc__parse_u64((struct sc__str){rest.p + from, n}, elements) &&
           *elements <= (uint64_t)INT64_MAX / CSV_ELEMENT;
}

/* What an operator sends in one of its parts, in place of the time that NeuSight has for
 * it: a ring of four GPUs on NVLink, whatever there is. */
static sc_status
take_collective(struct neusight_csv *p, unsigned index, struct sc__row_part *part) {
    uint8_t coll = SC__ROW_NONE;
    uint8_t suffix = SC__SUFFIX_NONE;
    uint64_t elements = 0;
    unsigned operators = 0;
    unsigned collectives = 0;
    struct sc__str cell = {"", 0};
    struct sc__str word;
    if (p->place[CSV_OPS + index] >= 0)
        cell = p->cells[p->place[CSV_OPS + index]];
    for (struct sc__str rest = cell; next_quoted(&rest, &word); operators++) {
        if (!sc__row_coll_parse(word, &coll, &suffix) || coll == SC__ROW_NONE)
            continue;
        collectives++;
        if (!read_elements(rest, &elements))
            return csv_refuse(p, word, "a collective without a number of elements");
        part->coll = coll;
        part->suffix = suffix;
    }
    if (!collectives)
        return SC_OK;
    if (operators > 1)
        return csv_refuse(p, cell, "a collective beside other operators in one row");
    part->bytes = elements * CSV_ELEMENT;
    part->compute = 0;
    p->collectives++;
    return sc__check_operator_part(p->ctx, &p->in, part, index);
}

static sc_status read_csv_row(struct neusight_csv *p) {
    struct sc__layers *l = p->layers;
    double ms[SC__PARTS];
    double both;
    if (p->count != p->wanted)
        return csv_refuse(p, p->line, "another number of columns than the header has");
    SC__TRY(csv_time(p, CSV_FORWARD, &ms[SC__PART_FORWARD]));
    SC__TRY(csv_time(p, CSV_BACKWARD, &ms[SC__PART_INPUT]));
    SC__TRY(csv_time(p, CSV_WEIGHT, &ms[SC__PART_WEIGHT]));
    both = ms[SC__PART_INPUT] + ms[SC__PART_WEIGHT];
    SC__TRY(check_sum(p, CSV_BOTH, both));
    SC__TRY(check_sum(p, CSV_ALL, ms[SC__PART_FORWARD] + both));
    struct sc__str name = p->cells[p->place[CSV_NAME]];
    if (!name.n)
        return csv_refuse(p, name, "the operator has no name");
    SC__TRY(take_place_in_graph(p, name));
    struct sc__row *row = SC__PUSH(&p->ctx->arena, l->rows, l->count, l->capacity);
    row->line = (uint32_t)p->in.line;
    row->recompute_from = SC__NONE;
    row->name = sc__strndup(&p->ctx->arena, name.p, name.n);
    for (unsigned part = 0; part < SC__PARTS; part++) {
        row->part[part].compute = (int64_t)llround(ms[part] * 1e9);
        SC__TRY(take_collective(p, part, &row->part[part]));
    }
    return SC_OK;
}

static sc_status read_csv_table(struct neusight_csv *p) {
    bool more = true;
    SC__TRY(read_csv_header(p));
    for (;;) {
        SC__TRY(sc__input_line(&p->in, &p->line, &more));
        if (!more)
            break;
        if (!sc__trim(p->line).n)
            continue;
        if (p->layers->count == 1000000)
            return csv_refuse(p, p->line, "more than a million rows");
        SC__TRY(split_cells(p));
        SC__TRY(read_csv_row(p));
    }
    struct sc__place at = {.file = p->in.name};
    if (!p->layers->count)
        return sc__fail(p->ctx, SC_INPUT, &at, NULL, "a header and no rows");
    note_cut_off(p);
    if (p->collectives)
        sc__note(p->ctx,
                 "neusight-collectives",
                 "%s has %u collectives, in elements of %d bytes: they are simulated, in "
                 "place of the times that it has for them",
                 p->in.name,
                 p->collectives,
                 CSV_ELEMENT);
    else
        sc__note(
            p->ctx,
            "neusight-compute",
            "%s says nothing of communication: replicas (--dp) do not exchange gradients",
            p->in.name);
    return SC_OK;
}

static sc_status read_neusight_csv(struct sc_context *ctx,
                                   const struct sc__settings *settings,
                                   const char *const *paths,
                                   uint32_t count,
                                   struct sc__document *out) {
    struct neusight_csv *p = SC__NEW(&ctx->arena, struct neusight_csv);
    (void)settings;
    if (count != 1)
        return sc__fail(ctx, SC_USAGE, NULL, NULL, "NeuSight's table is one file");
    *p = (struct neusight_csv){.ctx = ctx};
    p->layers = SC__NEW(&ctx->arena, struct sc__layers);
    sc__names_init(&p->names, &ctx->arena);
    sc__names_init(&p->led_to, &ctx->arena);
    SC__TRY(sc__input_open(ctx, paths[0], &p->in));
    p->layers->file = p->in.name;
    p->layers->format = "operator-table";
    sc_status status = read_csv_table(p);
    sc__input_close(&p->in);
    out->layers = p->layers;
    return status;
}

static int
detect_neusight_csv(const unsigned char *head, size_t n, const char *path, bool directory) {
    (void)path;
    const unsigned char *end = directory || !n ? NULL : memchr(head, '\n', n);
    size_t line = end ? (size_t)(end - head) : n;
    if (directory || !line || sc__find_word(head, line, "\t"))
        return 0;
    return sc__find_word(head, line, "fw_latency") && sc__find_word(head, line, "Name") &&
                   sc__find_word(head, line, ",")
               ? 90
               : 0;
}

const struct sc__reader sc__reader_neusight_csv = {
    .name = "neusight-csv",
    .title = "operators of NeuSight with its forecast (CSV)",
    .detect = detect_neusight_csv,
    .read = read_neusight_csv,
    .show = sc__show_operator_table};
