/* validate_read: the CSV of published steps. Quoted cells, a header that may
 * have columns in any order; a missing column and a row of the wrong length
 * are errors. */
#include "command/validate.h"

#include <string.h>

static const char *const names[SC__TRUTH_COLUMNS] = {"id",
                                                     "source",
                                                     "model",
                                                     "layers",
                                                     "hidden",
                                                     "heads",
                                                     "kv_heads",
                                                     "ffn",
                                                     "vocab",
                                                     "seq",
                                                     "gpu",
                                                     "gpus",
                                                     "gpus_per_node",
                                                     "intra_gbs_uni",
                                                     "nic_gbps_per_gpu",
                                                     "tp",
                                                     "pp",
                                                     "dp",
                                                     "ep",
                                                     "cp",
                                                     "vpp",
                                                     "micro_batch",
                                                     "global_batch",
                                                     "precision",
                                                     "recompute",
                                                     "sequence_parallel",
                                                     "zero_distopt",
                                                     "quantity",
                                                     "value",
                                                     "iter_seconds",
                                                     "notes"};

const char *sc__truth_column_name(enum sc__truth_column c) {
    return names[c];
}

sc_status sc__csv_error(struct sc__csv *c, const char *what) {
    struct sc__place at = {.file = c->file, .line = c->line, .column = 1};
    return sc__fail(c->ctx, SC_INPUT, &at, NULL, "%s", what);
}

static sc_status quoted_cell(struct sc__csv *c, struct sc__buffer *b) {
    for (c->at++;; c->at++) {
        if (c->at >= c->text.n)
            return sc__csv_error(c, "a quoted cell is not closed");
        char ch = c->text.p[c->at];
        if (ch == '\n')
            c->line++;
        if (ch == '"' && c->at + 1 < c->text.n && c->text.p[c->at + 1] == '"')
            c->at++;
        else if (ch == '"')
            break;
        sc__putc(b, ch);
    }
    c->at++;
    return SC_OK;
}

/* One record; *more is false at the end of the text. */
static sc_status
csv_record(struct sc__csv *c, const char **cells, uint32_t *count, bool *more) {
    *count = 0;
    *more = c->at < c->text.n;
    while (*more) {
        struct sc__buffer b;
        sc__buffer_init(&b, &c->ctx->arena);
        sc__puts(&b, "");
        if (*count == SC__CSV_COLUMNS)
            return sc__csv_error(c, "too many columns");
        if (c->at < c->text.n && c->text.p[c->at] == '"')
            SC__TRY(quoted_cell(c, &b));
        size_t start = c->at;
        while (c->at < c->text.n && c->text.p[c->at] != ',' && c->text.p[c->at] != '\n')
            c->at++;
        size_t stop = c->at;
        if (stop > start && c->text.p[stop - 1] == '\r')
            stop--;
        sc__put(&b, c->text.p + start, stop - start);
        cells[(*count)++] = b.text;
        if (c->at >= c->text.n)
            return SC_OK;
        if (c->text.p[c->at++] == '\n')
            return SC_OK;
    }
    return SC_OK;
}

sc_status sc__csv_columns(struct sc__csv *c,
                          const char *const *wanted,
                          unsigned count,
                          uint32_t *column) {
    const char *cells[SC__CSV_COLUMNS];
    bool more;
    SC__TRY(csv_record(c, cells, &c->width, &more));
    if (!more)
        return sc__csv_error(c, "the file is empty");
    for (unsigned i = 0; i < count; i++) {
        uint32_t k = 0;
        while (k < c->width && strcmp(cells[k], wanted[i]) != 0)
            k++;
        if (k == c->width)
            return sc__csv_error(
                c,
                sc__format(&c->ctx->arena, "the column \"%s\" is missing", wanted[i]));
        column[i] = k;
    }
    return SC_OK;
}

sc_status sc__csv_row(struct sc__csv *c, const char **cells, uint64_t *line, bool *more) {
    uint32_t count;
    do {
        *line = ++c->line;
        SC__TRY(csv_record(c, cells, &count, more));
    } while (*more && count == 1 && !*cells[0]);
    if (*more && count != c->width)
        return sc__csv_error(
            c,
            sc__format(&c->ctx->arena, "%u cells, but the header has %u", count, c->width));
    return SC_OK;
}

sc_status sc__truth_parse(struct sc_context *ctx,
                          const char *file,
                          struct sc__str text,
                          struct sc__truth *out) {
    struct sc__csv c = {.ctx = ctx, .file = file, .text = text, .line = 1};
    const char *cells[SC__CSV_COLUMNS];
    uint32_t column[SC__TRUTH_COLUMNS];
    uint64_t line;
    bool more;
    *out = (struct sc__truth){.file = file};
    SC__TRY(sc__csv_columns(&c, names, SC__TRUTH_COLUMNS, column));
    SC__TRY(sc__csv_row(&c, cells, &line, &more));
    while (more) {
        struct sc__truth_row *row =
            SC__PUSH(&ctx->arena, out->rows, out->count, out->capacity);
        row->line = (uint32_t)line;
        for (unsigned i = 0; i < SC__TRUTH_COLUMNS; i++)
            row->cell[i] = cells[column[i]];
        const char *seconds = row->cell[SC__TRUTH_SECONDS];
        row->measured_is_number =
            !*seconds || sc__parse_double(sc__str(seconds), &row->measured);
        SC__TRY(sc__csv_row(&c, cells, &line, &more));
    }
    return SC_OK;
}

sc_status
sc__validate_read(struct sc_context *ctx, const char *path, struct sc__truth *out) {
    struct sc__str text;
    SC__TRY(sc__read_all(ctx, path, (size_t)64 << 20, &text));
    return sc__truth_parse(ctx, path, text, out);
}
