/* operator table: one operator a line, tab separated, eleven named columns
 * (NeuSight's forecasts as exported for schedulers). Times are milliseconds,
 * sizes are elements. docs/formats/operator-table.md
 *
 *     name  forward_compute_time  forward_comm_type  forward_comm_size
 *           backward_…  weight_grad_…  process_time
 *
 * Columns are found by name, so their order does not matter. */
#include "frontend/neusight/operator_table.h"

#include <math.h>
#include <string.h>

enum { NAME, FIRST_PART, PROCESS = FIRST_PART + 3 * SC__PARTS, COLUMNS };

static const char *const columns[COLUMNS + 1] = {"name",
                                                 "forward_compute_time",
                                                 "forward_comm_type",
                                                 "forward_comm_size",
                                                 "backward_compute_time",
                                                 "backward_comm_type",
                                                 "backward_comm_size",
                                                 "weight_grad_compute_time",
                                                 "weight_grad_comm_type",
                                                 "weight_grad_comm_size",
                                                 "process_time",
                                                 NULL};

#define LONGEST                                                                            \
    (100000 * SC__PS_PER_S) /* all times of a table: more than a day is a mistake */

struct operator_table_read_parse {
    struct sc_context *ctx;
    struct sc__input in;
    struct sc__str line;
    struct sc__layers *layers;
    uint64_t element;            /* bytes */
    int64_t total;               /* ps, of all times */
    unsigned column_at[COLUMNS]; /* which column stands at this position */
};

static sc_status refuse(struct operator_table_read_parse *p,
                        struct sc__str cell,
                        const char *hint,
                        const char *what) {
    struct sc__place at = sc__input_place(&p->in, p->line, cell.p);
    return sc__fail(p->ctx, SC_INPUT, &at, hint, "%s: '%.*s'", what, SC__SHOW(cell));
}

static sc_status take_column(struct operator_table_read_parse *p,
                             struct sc__str cell,
                             unsigned position,
                             bool *seen) {
    for (unsigned c = 0; c < COLUMNS; c++) {
        if (!sc__str_is(cell, columns[c]))
            continue;
        if (seen[c])
            return refuse(p, cell, NULL, "column given twice");
        seen[c] = true;
        p->column_at[position] = c;
        return SC_OK;
    }
    const char *near =
        sc__nearest(sc__strndup(&p->ctx->arena, cell.p, cell.n < 64 ? cell.n : 64),
                    columns);
    return refuse(p,
                  cell,
                  near ? sc__format(&p->ctx->arena, "did you mean %s?", near)
                       : "docs/formats/operator-table.md",
                  "unknown column");
}

static sc_status operator_table_read_read_header(struct operator_table_read_parse *p) {
    bool seen[COLUMNS] = {false}, more;
    unsigned n = 0;
    SC__TRY(sc__input_line(&p->in, &p->line, &more));
    struct sc__str rest = p->line;
    struct sc__str cell;
    while (n < COLUMNS && sc__split(&rest, '\t', &cell))
        SC__TRY(take_column(p, sc__trim(cell), n++, seen));
    if (rest.p && sc__trim(rest).n)
        return refuse(p, sc__trim(rest), NULL, "text after the eleventh column name");
    struct sc__place at = {.file = p->in.name, .line = 1};
    for (unsigned c = 0; c < COLUMNS; c++)
        if (!seen[c])
            return sc__fail(p->ctx,
                            SC_INPUT,
                            &at,
                            "the header names eleven columns, separated by tabs",
                            "column %s is missing",
                            columns[c]);
    return SC_OK;
}

/* Milliseconds. Plain decimals are read exactly, numbers with an exponent
 * through a double. */
static sc_status
read_time(struct operator_table_read_parse *p, struct sc__str cell, int64_t *ps) {
    double ms;
    if (!sc__parse_decimal(cell, 9, ps)) {
        if (!sc__parse_double(cell, &ms))
            return refuse(p, cell, "milliseconds, like 0.125 or 4.79e-09", "not a time");
        if (ms > 9e9)
            return refuse(p, cell, "milliseconds are meant", "time out of range");
        *ps = (int64_t)llround(ms * 1e9);
        if (ms < 0)
            *ps = -1;
    }
    if (*ps < 0)
        return refuse(p, cell, NULL, "negative time");
    if (*ps > LONGEST - p->total)
        return refuse(p, cell, "milliseconds are meant", "time out of range");
    p->total += *ps;
    return SC_OK;
}

static sc_status
read_size(struct operator_table_read_parse *p, struct sc__str cell, uint64_t *bytes) {
    double v;
    uint64_t elements;
    if (!sc__parse_u64(cell, &elements)) {
        if (!sc__parse_double(cell, &v) || v < 0 || v > 0x1p53 || v != floor(v))
            return refuse(p, cell, "a whole number of elements", "not a size");
        elements = (uint64_t)v;
    }
    if (elements > (uint64_t)INT64_MAX / p->element)
        return refuse(p, cell, NULL, "size out of range");
    *bytes = elements * p->element;
    return SC_OK;
}

static sc_status read_type(struct operator_table_read_parse *p,
                           struct sc__str cell,
                           struct sc__row_part *part) {
    if (sc__row_coll_parse(cell, &part->coll, &part->suffix))
        return SC_OK;
    const char *near =
        sc__nearest(sc__strndup(&p->ctx->arena, cell.p, cell.n < 64 ? cell.n : 64),
                    sc__row_coll_names());
    return refuse(p,
                  cell,
                  near ? sc__format(&p->ctx->arena, "did you mean %s?", near)
                       : "None, ALLREDUCE, ALLREDUCE_ASYNC, SENDRECV …: "
                         "docs/formats/operator-table.md",
                  "unknown collective");
}

static sc_status read_cell(struct operator_table_read_parse *p,
                           struct sc__row *row,
                           unsigned column,
                           struct sc__str cell) {
    if (column == NAME) {
        if (!cell.n)
            return refuse(p, cell, NULL, "the operator has no name");
        row->name = sc__strndup(&p->ctx->arena, cell.p, cell.n);
        return SC_OK;
    }
    if (column == PROCESS)
        return read_time(p, cell, &row->process);
    struct sc__row_part *part = &row->part[(column - FIRST_PART) / 3];
    switch ((column - FIRST_PART) % 3) {
    case 0:
        return read_time(p, cell, &part->compute);
    case 1:
        return read_type(p, cell, part);
    default:
        return read_size(p, cell, &part->bytes);
    }
}

sc_status sc__check_operator_part(struct sc_context *ctx,
                                  const struct sc__input *in,
                                  const struct sc__row_part *part,
                                  unsigned index) {
    static const char *const part_names[SC__PARTS] = {"forward", "backward", "weight_grad"};
    const char *hint = NULL;
    const char *what = NULL;
    if (part->coll == SC__ROW_NONE && part->bytes) {
        hint = "None goes with size 0";
        what = "a size without a collective";
    } else if (part->coll == SC__ROW_ALLREDUCEALLTOALL) {
        hint = "write ALLREDUCE and ALLTOALL in two rows";
        what = "ALLREDUCEALLTOALL occurs in layer workloads only";
    } else if (part->coll == SC__ROW_ALLREDUCE_ASYNC && index == SC__PART_FORWARD) {
        hint = "gradients exist in backward only";
        what = "ALLREDUCE_ASYNC is a gradient all-reduce";
    } else if (part->coll == SC__ROW_SENDRECV && index == SC__PART_WEIGHT) {
        hint = "put it into the forward and backward columns";
        what = "SENDRECV is a pipeline boundary";
    }
    struct sc__place at = {.file = in->name, .line = in->line};
    if (!what)
        return SC_OK;
    return sc__fail(ctx, SC_INPUT, &at, hint, "%s: %s", part_names[index], what);
}

static sc_status operator_table_read_read_row(struct operator_table_read_parse *p) {
    struct sc__layers *l = p->layers;
    struct sc__row *row = SC__PUSH(&p->ctx->arena, l->rows, l->count, l->capacity);
    struct sc__str rest = p->line;
    struct sc__str cell;
    unsigned n = 0;
    row->line = (uint32_t)p->in.line;
    row->recompute_from = SC__NONE;
    while (n < COLUMNS && sc__split(&rest, '\t', &cell))
        SC__TRY(read_cell(p, row, p->column_at[n++], sc__trim(cell)));
    struct sc__place at = {.file = p->in.name, .line = p->in.line};
    if (n < COLUMNS)
        return sc__fail(p->ctx,
                        SC_INPUT,
                        &at,
                        "was the file truncated, or are there spaces instead of tabs?",
                        "%u of %d columns",
                        n,
                        COLUMNS);
    if (rest.p && sc__trim(rest).n)
        return refuse(p, sc__trim(rest), NULL, "text after the last column");
    for (unsigned i = 0; i < SC__PARTS; i++)
        SC__TRY(sc__check_operator_part(p->ctx, &p->in, &row->part[i], i));
    return SC_OK;
}

static sc_status operator_table_read_read_table(struct operator_table_read_parse *p) {
    SC__TRY(operator_table_read_read_header(p));
    for (;;) {
        bool more;
        SC__TRY(sc__input_line(&p->in, &p->line, &more));
        if (!more)
            break;
        if (!sc__trim(p->line).n)
            continue;
        if (p->layers->count == 10000000)
            return refuse(p, p->line, NULL, "more than ten million rows");
        SC__TRY(operator_table_read_read_row(p));
    }
    struct sc__place at = {.file = p->in.name};
    if (!p->layers->count)
        return sc__fail(p->ctx, SC_INPUT, &at, NULL, "a header and no rows");
    return SC_OK;
}

static sc_status read_operators(struct sc_context *ctx,
                                const struct sc__settings *settings,
                                const char *const *paths,
                                uint32_t count,
                                struct sc__document *out) {
    struct operator_table_read_parse p = {.ctx = ctx};
    uint32_t element = 4;
    if (count != 1)
        return sc__fail(ctx, SC_USAGE, NULL, NULL, "an operator table is one file");
    SC__TRY(sc__setting_u32(settings, "bytes-per-element", 1, &element));
    if (element > 16)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "2 for bf16, 4 for fp32",
                        "--bytes-per-element is at most 16");
    if (!sc__setting(settings, "bytes-per-element"))
        sc__note(
            ctx,
            "bytes-per-element",
            "assuming sizes are in fp32 elements (4 bytes each); set --bytes-per-element");
    p.element = element;
    p.layers = SC__NEW(&ctx->arena, struct sc__layers);
    SC__TRY(sc__input_open(ctx, paths[0], &p.in));
    p.layers->file = p.in.name;
    p.layers->format = "operator-table";
    sc_status status = operator_table_read_read_table(&p);
    sc__input_close(&p.in);
    out->layers = p.layers;
    return status;
}

/* ---- show ---- */

struct totals {
    int64_t compute[SC__PARTS];
    uint64_t ops[SC__ROW_SENDRECV + 1];
    uint64_t bytes[SC__ROW_SENDRECV + 1];
};

static struct totals add_up(const struct sc__layers *l) {
    struct totals t = {0};
    for (uint32_t i = 0; i < l->count; i++)
        for (unsigned p = 0; p < SC__PARTS; p++) {
            const struct sc__row_part *part = &l->rows[i].part[p];
            t.compute[p] += part->compute;
            t.ops[part->coll]++;
            t.bytes[part->coll] += part->bytes;
        }
    return t;
}

static void show_json(const struct sc__layers *l,
                      const struct totals *t,
                      uint32_t layers,
                      struct sc__json *j) {
    sc__json_u64(j, "table_rows", l->count);
    sc__json_u64(j, "layers", layers);
    sc__json_us(j, "forward_us", t->compute[SC__PART_FORWARD]);
    sc__json_us(j, "backward_us", t->compute[SC__PART_INPUT]);
    sc__json_us(j, "weight_grad_us", t->compute[SC__PART_WEIGHT]);
    for (unsigned c = 1; c <= SC__ROW_SENDRECV; c++) {
        if (!t->ops[c])
            continue;
        sc__json_row(j, sc__row_coll_name((enum sc__row_coll)c));
        sc__json_u64(j, "ops", t->ops[c]);
        sc__json_u64(j, "bytes", t->bytes[c]);
        sc__json_end_object(j);
    }
}

/* The table as it stands; what --layers and the like make of it is above. */
void sc__show_operator_table(struct sc_context *ctx,
                             const struct sc__document *doc,
                             struct sc__buffer *text,
                             struct sc__json *json) {
    const struct sc__layers *l = doc->layers;
    struct sc__layer_span *spans;
    uint32_t layers = sc__find_layers(&ctx->arena, l, &spans);
    struct totals t = add_up(l);
    if (json) {
        show_json(l, &t, layers, json);
        return;
    }
    sc__printf(text,
               "  table     %u rows, %u layer%s",
               l->count,
               layers,
               layers == 1 ? "" : "s");
    if (layers) {
        const struct sc__layer_span *last = &spans[layers - 1];
        sc__printf(text,
                   " (%s … %s)",
                   l->rows[spans[0].first].name,
                   l->rows[last->first + last->count - 1].name);
    }
    sc__puts(text, "; forward ");
    sc__put_time(text, t.compute[SC__PART_FORWARD]);
    sc__puts(text, ", backward ");
    sc__put_time(text, t.compute[SC__PART_INPUT]);
    sc__puts(text, ", weight gradients ");
    sc__put_time(text, t.compute[SC__PART_WEIGHT]);
    for (unsigned c = 1; c <= SC__ROW_SENDRECV; c++)
        if (t.ops[c])
            sc__printf(text,
                       "; %s × %llu, %llu bytes",
                       sc__row_coll_name((enum sc__row_coll)c),
                       (unsigned long long)t.ops[c],
                       (unsigned long long)t.bytes[c]);
    sc__putc(text, '\n');
}

static int operator_table_read_detect(const unsigned char *head,
                                      size_t n,
                                      const char *path,
                                      bool directory) {
    (void)path;
    const unsigned char *end = directory || !n ? NULL : memchr(head, '\n', n);
    size_t line = end ? (size_t)(end - head) : n;
    if (directory || !line || !sc__find_word(head, line, "\t"))
        return 0;
    return sc__find_word(head, line, "forward_comp") &&
                   sc__find_word(head, line, "comm_type")
               ? 95
               : 0;
}

static const struct sc__option options[] = {
    {.name = "bytes-per-element",
     .arg = "N",
     .dflt = "4",
     .group = "Operator tables",
     .help = "bytes of one element of the sizes in the table"},
    {0}};

const struct sc__reader sc__reader_operator_table = {.name = "operator-table",
                                                     .title =
                                                         "operator table, tab separated",
                                                     .detect = operator_table_read_detect,
                                                     .read = read_operators,
                                                     .show = sc__show_operator_table,
                                                     .options = options};
