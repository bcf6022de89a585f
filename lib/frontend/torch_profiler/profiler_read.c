/* profiler table: what torch.profiler prints with key_averages().table(), of
 * any version from 1.1 on. docs/formats/profiler-table.md
 *
 *     [==== and a title]
 *     ----  ----  ----          separator
 *     Name  Self CPU %  …       header: may be wider than the separator
 *     ----  ----  ----
 *     rows
 *     ----  ----  ----
 *     Self CPU time total: …    not always there
 *
 * A file may hold several tables, and any text around them. */
#include "frontend/torch_profiler/profiler_table.h"

#include <string.h>

#define LARGEST ((size_t)256 << 20)
#define LONGEST ((int64_t)4 << 60) /* all times together stay far from overflow */

/* A table as line numbers (from 0): header, first row, the closing separator. */
struct extent {
    uint32_t header;
    uint32_t first;
    uint32_t end;
    bool complete;
};

struct profiler_read_parse {
    struct sc_context *ctx;
    const char *file;
    struct sc__str *lines;
    uint32_t count;
    uint32_t capacity;
    bool *barred; /* the line is of a Markdown table */
    uint32_t barred_count;
    uint32_t barred_capacity;
    struct extent *tables;
    uint32_t table_count;
    uint32_t table_capacity;
    struct sc__profile *profile;
    struct sc__profile_columns columns;
    int64_t sum;
};

static struct sc__place
profiler_read_place_of(const struct profiler_read_parse *p, uint32_t line, const char *at) {
    return (struct sc__place){.file = p->file,
                              .line = line + 1,
                              .column = at ? (uint64_t)(at - p->lines[line].p) + 1 : 0};
}

/* A row of a Markdown table, with blanks for its bars: those beside them part its cells. */
static struct sc__str without_bars(struct profiler_read_parse *p, struct sc__str line) {
    char *copy = sc__strndup(&p->ctx->arena, line.p, line.n);
    for (size_t i = 0; i < line.n; i++)
        if (copy[i] == '|')
            copy[i] = ' ';
    return (struct sc__str){copy, line.n};
}

/* Spreadsheets and some terminals part cells by tabs: two blanks for each. */
static struct sc__str without_tabs(struct profiler_read_parse *p, struct sc__str line) {
    if (!line.n || !memchr(line.p, '\t', line.n))
        return line;
    char *copy = sc__alloc(&p->ctx->arena, 2 * line.n);
    size_t n = 0;
    for (size_t i = 0; i < line.n; i++) {
        copy[n++] = line.p[i] == '\t' ? ' ' : line.p[i];
        if (line.p[i] == '\t')
            copy[n++] = ' ';
    }
    return (struct sc__str){copy, n};
}

static sc_status split_lines(struct profiler_read_parse *p, struct sc__str text) {
    struct sc__str line;
    const char *nul = text.n ? memchr(text.p, '\0', text.n) : NULL;
    if (nul) {
        struct sc__place at = {.file = p->file,
                               .offset = (uint64_t)(nul - text.p),
                               .binary = true};
        return sc__fail(p->ctx,
                        SC_INPUT,
                        &at,
                        "the file is binary or damaged",
                        "NUL byte in a text file");
    }
    while (sc__split(&text, '\n', &line)) {
        if (!text.p && !line.n)
            break; /* after the last newline */
        if (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        /* tutorials print tables as comments */
        if (line.n && line.p[0] == '#') {
            line.p++;
            line.n--;
            if (line.n && line.p[0] == ' ') {
                line.p++;
                line.n--;
            }
        }
        struct sc__str body = sc__trim(line);
        bool barred = body.n && body.p[0] == '|';
        *SC__PUSH(&p->ctx->arena, p->barred, p->barred_count, p->barred_capacity) = barred;
        *SC__PUSH(&p->ctx->arena, p->lines, p->count, p->capacity) =
            barred ? without_bars(p, line) : without_tabs(p, line);
    }
    return SC_OK;
}

/* What stands before the header's "Name": "[rank0]: ", "0: ", "> ", "- ". */
static struct sc__str prefix_of(struct sc__str line) {
    const char *name = sc__find_word(line.p, line.n, "Name  ");
    if (!name || !sc__find_word(name, (size_t)(line.p + line.n - name), "CPU total"))
        return (struct sc__str){line.p, 0};
    while (name > line.p && name[-1] == ' ')
        name--;
    return (struct sc__str){line.p, (size_t)(name - line.p)};
}

/* Launchers, log collectors and Markdown put the same before each line. */
static void take_prefix_off(struct profiler_read_parse *p) {
    struct sc__str prefix = {0};
    for (uint32_t i = 0; i < p->count && !prefix.n; i++)
        prefix = prefix_of(p->lines[i]);
    for (uint32_t i = 0; i < p->count && prefix.n; i++) {
        struct sc__str *line = &p->lines[i];
        if (line->n < prefix.n || memcmp(line->p, prefix.p, prefix.n))
            continue;
        line->p += prefix.n;
        line->n -= prefix.n;
    }
}

static bool is_separator(struct sc__str line) {
    size_t dashes = 0;
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] != '-' && line.p[i] != ' ')
            return false;
        dashes += line.p[i] == '-';
    }
    return dashes >= 8;
}

static bool is_header(struct sc__str line) {
    line = sc__trim(line);
    return sc__str_starts(line, "Name  ") && sc__find_word(line.p, line.n, "CPU");
}

/* A header and the dashes below it. */
static bool heads_table(const struct profiler_read_parse *p, uint32_t i) {
    return i + 1 < p->count && is_header(p->lines[i]) && is_separator(p->lines[i + 1]);
}

/* The lines down to the first row; 0: no table opens here. Before the dashes above the
 * header there may be text: what printed the table began on that line. */
static uint32_t opens_table(const struct profiler_read_parse *p, uint32_t i) {
    if (is_separator(p->lines[i]) && heads_table(p, i + 1))
        return 3;
    return heads_table(p, i) ? 2 : 0;
}

/* Below its rows Markdown has no line of dashes. */
static bool
ends_bars(const struct profiler_read_parse *p, const struct extent *t, uint32_t line) {
    return p->barred[t->header] && !p->barred[line];
}

static void find_tables(struct profiler_read_parse *p) {
    struct extent *open = NULL;
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t lines = opens_table(p, i);
        if (lines) {
            if (open)
                open->end = i;
            uint32_t first = i + lines;
            open = SC__PUSH(&p->ctx->arena, p->tables, p->table_count, p->table_capacity);
            *open = (struct extent){.header = first - 2, .first = first, .end = p->count};
            i = first - 1;
        } else if (open && (is_separator(p->lines[i]) || ends_bars(p, open, i))) {
            open->end = i;
            open->complete = true;
            open = NULL;
        }
    }
    if (open && p->barred[open->header])
        open->complete = true;
}

static sc_status choose_table(struct profiler_read_parse *p,
                              const struct sc__settings *settings,
                              const struct extent **out) {
    uint32_t wanted = 0;
    uint32_t chosen = 0;
    struct sc__place at = {.file = p->file};
    SC__TRY(sc__setting_u32(settings, "table", 1, &wanted));
    if (!p->table_count)
        return sc__fail(
            p->ctx,
            SC_INPUT,
            &at,
            "key_averages().table() prints a line of dashes, the header, and dashes again",
            "no profiler table in the file");
    if (wanted > p->table_count)
        return sc__fail(p->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--table %u: the file holds %u",
                        wanted,
                        p->table_count);
    if (wanted)
        chosen = wanted - 1;
    else
        while (chosen + 1 < p->table_count && !p->tables[chosen].complete)
            chosen++;
    *out = &p->tables[chosen];
    if (!p->tables[chosen].complete) {
        at = profiler_read_place_of(p, p->tables[chosen].end - 1, NULL);
        return sc__fail(p->ctx,
                        SC_INPUT,
                        &at,
                        "a table ends in a line of dashes: the file was truncated",
                        "table %u has no end",
                        chosen + 1);
    }
    p->profile->table = chosen + 1;
    p->profile->tables = p->table_count;
    if (p->table_count > 1 && !wanted)
        sc__note(p->ctx,
                 "table",
                 "the file holds %u tables; using number %u (--table N selects another)",
                 p->table_count,
                 chosen + 1);
    return SC_OK;
}

/* Header cells, separated by two or more spaces. */
static sc_status profiler_read_read_header(struct profiler_read_parse *p, uint32_t at) {
    struct sc__str rest = sc__trim(p->lines[at]);
    while (rest.n) {
        const char *gap = sc__find_word(rest.p, rest.n, "  ");
        struct sc__str cell = {rest.p, gap ? (size_t)(gap - rest.p) : rest.n};
        struct sc__place where = profiler_read_place_of(p, at, cell.p);
        if (!sc__profile_column(cell, &p->columns))
            return sc__fail(
                p->ctx,
                SC_INPUT,
                &where,
                "docs/formats/profiler-table.md lists the columns that are read",
                "unknown or repeated column '%.*s'",
                SC__SHOW(cell));
        rest = sc__trim((struct sc__str){cell.p + cell.n, rest.n - cell.n});
    }
    struct sc__place where = profiler_read_place_of(p, at, NULL);
    static const struct {
        uint8_t kind;
        const char *name;
    } needed[] = {{SC__COL_SELF_CPU, "Self CPU"},
                  {SC__COL_CPU, "CPU total"},
                  {SC__COL_CALLS, "# of Calls"}};
    bool averages = p->columns.present & 1u << SC__COL_CPU_AVG; /* they tell the calls */
    for (unsigned i = 0; i < 2u + !averages; i++)
        if (!(p->columns.present & 1u << needed[i].kind))
            return sc__fail(p->ctx,
                            SC_INPUT,
                            &where,
                            "give the table with its columns of times",
                            "the header lacks the column '%s'",
                            needed[i].name);
    return SC_OK;
}

/* With stacks, each row is followed by lines that hold only a place in the
 * source, and by an empty one. */
static bool is_stack_line(const struct profiler_read_parse *p, struct sc__str line) {
    struct sc__str text = sc__trim(line);
    if (!text.n)
        return true;
    return p->columns.present & 1u << SC__COL_SOURCE && line.p[0] == ' ' &&
           !sc__find_word(text.p, text.n, "  ");
}

static sc_status
check_range(struct profiler_read_parse *p, const struct sc__profile_row *r, uint32_t line) {
    const int64_t times[] = {r->self_cpu, r->cpu_total, r->self_dev, r->dev_total};
    for (unsigned i = 0; i < 4; i++) {
        int64_t t = times[i] < 0 ? -times[i] : times[i];
        struct sc__place at = profiler_read_place_of(p, line, NULL);
        if (t > LONGEST - p->sum)
            return sc__fail(p->ctx, SC_INPUT, &at, NULL, "the times are out of range");
        p->sum += t;
    }
    return SC_OK;
}

/* A table that was cut to some columns may lack the calls: a total and its average tell. */
static uint64_t calls_of(const struct sc__profile_row *r) {
    bool host = r->cpu_total > 0 && r->cpu_avg > 0;
    int64_t total = host ? r->cpu_total : r->dev_total;
    int64_t each = host ? r->cpu_avg : r->dev_avg;
    if (total <= 0 || each <= 0)
        return 1;
    int64_t calls = total / each + (total % each > each / 2);
    return calls > 0 ? (uint64_t)calls : 1;
}

static sc_status profiler_read_read_rows(struct profiler_read_parse *p,
                                         const struct extent *t) {
    struct sc__profile *profile = p->profile;
    for (uint32_t i = t->first; i < t->end; i++) {
        struct sc__profile_row row = {.line = i + 1};
        struct sc__str where;
        if (is_stack_line(p, p->lines[i]))
            continue;
        const char *wrong =
            sc__profile_line(&p->ctx->arena, &p->columns, p->lines[i], &row, &where);
        struct sc__place at = profiler_read_place_of(p, i, wrong ? where.p : NULL);
        if (wrong)
            return sc__fail(p->ctx,
                            SC_INPUT,
                            &at,
                            "cells are separated by two or more spaces",
                            "%s: '%.*s'",
                            wrong,
                            SC__SHOW(where));
        SC__TRY(check_range(p, &row, i));
        if (!(p->columns.present & 1u << SC__COL_CALLS))
            row.calls = calls_of(&row);
        *SC__PUSH(&p->ctx->arena, profile->rows, profile->count, profile->capacity) = row;
    }
    struct sc__place at = profiler_read_place_of(p, t->header, NULL);
    if (!profile->count)
        return sc__fail(p->ctx, SC_INPUT, &at, NULL, "the table has no rows");
    return SC_OK;
}

/* "Self CPU time total: 147.783ms"; up to 1.7 "CUDA time total: …" */
static sc_status read_trailer(struct profiler_read_parse *p, const struct extent *t) {
    for (uint32_t i = t->end + 1; i < p->count && i <= t->end + 2; i++) {
        struct sc__str line = sc__trim(p->lines[i]);
        const char *at = sc__find_word(line.p, line.n, "time total:");
        if (!at)
            break;
        struct sc__str value =
            sc__trim((struct sc__str){at + 11, (size_t)(line.p + line.n - at) - 11});
        int64_t *out = sc__find_word(line.p, (size_t)(at - line.p), "CPU")
                           ? &p->profile->cpu_total
                           : &p->profile->dev_total;
        struct sc__place where = profiler_read_place_of(p, i, value.p);
        if (!sc__profile_time(value, out, NULL) || *out < 0 || *out > LONGEST)
            return sc__fail(p->ctx,
                            SC_INPUT,
                            &where,
                            NULL,
                            "not a time: '%.*s'",
                            SC__SHOW(value));
    }
    return SC_OK;
}

static sc_status profiler_read_read_table(struct profiler_read_parse *p,
                                          const struct sc__settings *settings) {
    const struct extent *t = NULL;
    struct sc__profile *profile = p->profile;
    find_tables(p);
    SC__TRY(choose_table(p, settings, &t));
    SC__TRY(profiler_read_read_header(p, t->header));
    SC__TRY(profiler_read_read_rows(p, t));
    SC__TRY(read_trailer(p, t));
    if (p->columns.device.n)
        profile->device =
            sc__strndup(&p->ctx->arena, p->columns.device.p, p->columns.device.n);
    profile->has_self_dev = p->columns.present & 1u << SC__COL_SELF_DEV;
    sc__profile_classify(&p->ctx->arena, profile);
    sc__profile_guess_totals(p->ctx, profile);
    sc__profile_find_regions(p->ctx, profile);
    sc__profile_take_marks_off(p->ctx, profile);
    return SC_OK;
}

static sc_status read_profile(struct sc_context *ctx,
                              const struct sc__settings *settings,
                              const char *const *paths,
                              uint32_t count,
                              struct sc__document *out) {
    struct profiler_read_parse p = {.ctx = ctx};
    struct sc__str text;
    if (count != 1)
        return sc__fail(ctx, SC_USAGE, NULL, NULL, "a profiler table is one file");
    p.file = !strcmp(paths[0], "-") ? "<stdin>" : paths[0];
    SC__TRY(sc__read_all(ctx, paths[0], LARGEST, &text));
    SC__TRY(split_lines(&p, text));
    take_prefix_off(&p);
    p.profile = SC__NEW(&ctx->arena, struct sc__profile);
    p.profile->file = p.file;
    p.profile->cpu_total = p.profile->dev_total = -1;
    SC__TRY(profiler_read_read_table(&p, settings));
    out->details = p.profile;
    return SC_OK;
}

static int profiler_read_detect(const unsigned char *head,
                                size_t n,
                                const char *path,
                                bool directory) {
    (void)path;
    if (directory || !n || !sc__find_word(head, n, "--------"))
        return 0;
    static const char *const names[] = {"Name  ", "Name\t", "Name |"};
    bool named = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        named = named || sc__find_word(head, n, names[i]);
    if (!named || !sc__find_word(head, n, "CPU total"))
        return 0;
    return sc__find_word(head, n, "of Calls") ? 95 : 60;
}

static const struct sc__option options[] = {
    {.name = "table",
     .arg = "N",
     .dflt = "the first complete one",
     .group = "Profiler tables",
     .help = "which table of a file that holds several"},
    {0}};

const struct sc__reader sc__reader_profiler_table = {.name = "profiler-table",
                                                     .title =
                                                         "torch.profiler table of averages",
                                                     .detect = profiler_read_detect,
                                                     .read = read_profile,
                                                     .show = sc__profile_show,
                                                     .options = options};
