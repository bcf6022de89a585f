/* nsys_stats: what `nsys stats` prints of the kernels of a profile, as text or as CSV:
 *
 *     Time (%)  Total Time (ns)  Instances  Avg (ns)  …  Name
 *     --------  ---------------  ---------  --------  …  ----------
 *         51.9   62,589,830,968    811,520  77,126.7  …  void gemm<…>
 *
 *     "Time (%)","Total Time (ns)","Instances","Avg (ns)",…,"Name"
 *
 *     CUDA Kernel Statistics (nanoseconds)                    in 2020
 *
 *     Time(%)      Total Time   Instances         Average  …  Name
 *
 * The sums of memory operations (Operation in place of Name; Operations in 2020) are
 * copies; those of the host (Num Calls) and of NVTX ranges (Range) hold the kernels once
 * more and are passed over. The rows become those of a profile: kernels, whose order and
 * steps are not told. */
#include "frontend/reader.h"
#include "frontend/torch_profiler/profiler_table.h"

#include <math.h>
#include <string.h>

#define STATS_LARGEST ((size_t)64 << 20)
#define STATS_CELLS 16
#define STATS_LONGEST ((int64_t)1 << 60) /* ps, 13 days: more is a mistake */

enum stats_kind { STATS_OTHER, STATS_KERNELS, STATS_MEMORY, STATS_BOTH, STATS_KINDS };

/* The heads of a table: where its cells stand. */
struct stats_table {
    enum stats_kind kind;
    bool csv;
    unsigned columns;
    unsigned share;
    unsigned total;
    unsigned calls;
    unsigned mean;   /* 0: there is none */
    unsigned digits; /* decimals of its unit down to a picosecond */
};

struct stats_reader {
    struct sc_context *ctx;
    const char *file;
    struct sc__str rest;
    struct sc__str line;
    uint64_t number; /* of the line */
    struct sc__str cells[STATS_CELLS];
    unsigned count;
    struct sc__profile *profile;
    unsigned title_digits; /* of the unit in the title of the table to come; 0: none */
    bool taken[STATS_KINDS];
    bool more[STATS_KINDS]; /* a second table of the kind was passed over */
    double shares;          /* of the kernels taken, % of their table */
    int64_t kernels;
    int64_t sum; /* with the copies */
};

static sc_status
stats_refuse(const struct stats_reader *r, struct sc__str cell, const char *what) {
    struct sc__place at = {.file = r->file,
                           .line = r->number,
                           .column = cell.p ? (uint64_t)(cell.p - r->line.p) + 1 : 0};
    return sc__fail(r->ctx, SC_INPUT, &at, NULL, "%s: '%.*s'", what, SC__SHOW(cell));
}

static bool stats_line(struct stats_reader *r) {
    if (!sc__split(&r->rest, '\n', &r->line))
        return false;
    r->number++;
    if (r->line.n && r->line.p[r->line.n - 1] == '\r')
        r->line.n--;
    return true;
}

static struct sc__str unquoted(struct sc__str cell) {
    cell = sc__trim(cell);
    if (cell.n >= 2 && cell.p[0] == '"' && cell.p[cell.n - 1] == '"')
        cell = (struct sc__str){cell.p + 1, cell.n - 2};
    return cell;
}

/* Up to a comma outside of quotes, or up to two blanks. */
static size_t cell_end(struct sc__str rest, bool csv) {
    bool quoted = false;
    for (size_t i = 0; i < rest.n; i++) {
        quoted ^= rest.p[i] == '"';
        if (csv && !quoted && rest.p[i] == ',')
            return i;
        if (!csv && rest.p[i] == ' ' && i + 1 < rest.n && rest.p[i + 1] == ' ')
            return i;
    }
    return rest.n;
}

/* The last of at most `most` cells takes what is left: a name may hold anything. */
static void split_stats(struct stats_reader *r, bool csv, unsigned most) {
    struct sc__str rest = sc__trim(r->line);
    r->count = 0;
    while (rest.n && r->count < most) {
        size_t n =
            r->count + 1 == most && most < STATS_CELLS ? rest.n : cell_end(rest, csv);
        r->cells[r->count++] = unquoted((struct sc__str){rest.p, n});
        n += csv && n < rest.n;
        rest = sc__trim((struct sc__str){rest.p + n, rest.n - n});
    }
}

/* "CUDA Kernel Statistics (nanoseconds)" */
static void read_stats_title(struct stats_reader *r) {
    static const char *const units[] = {"Statistics (nanoseconds)",
                                        "Statistics (microseconds)",
                                        "Statistics (milliseconds)",
                                        "Statistics (seconds)"};
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
        if (sc__find_word(r->line.p, r->line.n, units[i]))
            r->title_digits = 3 * (i + 1);
}

/* "Total Time (ns)"; "Total Time" under a title with the unit. */
static bool stats_unit(struct sc__str head, unsigned title, unsigned *digits) {
    static const struct {
        const char *name;
        unsigned digits;
    } units[] = {{"Total Time (ns)", 3},
                 {"Total Time (us)", 6},
                 {"Total Time (ms)", 9},
                 {"Total Time (s)", 12}};
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
        if (sc__str_is(head, units[i].name)) {
            *digits = units[i].digits;
            return true;
        }
    *digits = title;
    return title && sc__str_is(head, "Total Time");
}

/* "Avg (ns)" beside "Total Time (ns)"; "Average" of older versions. */
static bool heads_mean(struct sc__str head, struct sc__str total) {
    const char *unit = memchr(head.p, '(', head.n);
    size_t n = unit ? (size_t)(head.p + head.n - unit) : 0;
    bool named = sc__str_starts(head, "Avg") || sc__str_starts(head, "Average");
    return named && n <= total.n && (!n || !memcmp(total.p + total.n - n, unit, n));
}

static bool heads_stats(struct sc__str line) {
    line = sc__trim(line);
    if (line.n && line.p[0] == '"')
        line = (struct sc__str){line.p + 1, line.n - 1};
    return sc__str_starts(line, "Time (%)") || sc__str_starts(line, "Time(%)");
}

static enum stats_kind stats_kind_of(const struct stats_reader *r) {
    bool instances = false;
    bool operations = false;
    bool category = false;
    for (unsigned i = 0; i < r->count; i++) {
        instances |= sc__str_is(r->cells[i], "Instances");
        operations |= sc__str_is(r->cells[i], "Operations");
        category |= sc__str_is(r->cells[i], "Category");
    }
    struct sc__str last = r->cells[r->count - 1];
    if (sc__str_is(last, "Operation") || (operations && sc__str_is(last, "Name")))
        return category ? STATS_BOTH : STATS_MEMORY;
    return instances && sc__str_is(last, "Name") ? STATS_KERNELS : STATS_OTHER;
}

/* False where these are no heads of a table of times. */
static bool read_stats_heads(struct stats_reader *r, struct stats_table *t) {
    memset(t, 0, sizeof *t);
    t->csv = memchr(r->line.p, ',', r->line.n) != NULL;
    split_stats(r, t->csv, STATS_CELLS);
    t->columns = r->count;
    for (unsigned i = 0; i < r->count; i++) {
        struct sc__str head = r->cells[i];
        unsigned digits;
        if (stats_unit(head, r->title_digits, &digits)) {
            t->total = i;
            t->digits = digits;
        }
        if (sc__str_is(head, "Instances") || sc__str_is(head, "Count") ||
            sc__str_is(head, "Operations"))
            t->calls = i;
        if (t->total && heads_mean(head, r->cells[t->total]))
            t->mean = i;
    }
    t->kind = t->total && t->calls ? stats_kind_of(r) : STATS_OTHER;
    return t->total && r->count > 2;
}

/* "62,589,830,968" without its commas; nothing where they do not part thousands, as in
 * "12,5" of a language that writes decimals so. */
static struct sc__str plain_number(struct stats_reader *r, struct sc__str cell) {
    char *text = sc__strndup(&r->ctx->arena, cell.p, cell.n);
    const char *dot = memchr(cell.p, '.', cell.n);
    size_t whole = dot ? (size_t)(dot - cell.p) : cell.n;
    size_t n = 0;
    for (size_t i = 0; i < cell.n; i++) {
        if (cell.p[i] != ',')
            text[n++] = cell.p[i];
        else if (!i || i >= whole || (whole - i) % 4 != 0)
            return (struct sc__str){text, 0};
    }
    return (struct sc__str){text, n};
}

/* Half of the last decimal that a number is printed with. */
static double rounding(struct sc__str number) {
    const char *dot = memchr(number.p, '.', number.n);
    size_t decimals = dot ? number.n - (size_t)(dot + 1 - number.p) : 0;
    return 0.5 * pow(10, -(double)decimals);
}

#define STATS_OFF 1e-3 /* of a sum, for whatever printed it */

/* A total is calls times their mean, or a point or comma does not mean what it seems to. */
static sc_status check_mean(struct stats_reader *r,
                            const struct stats_table *t,
                            const struct sc__profile_row *row) {
    double total = (double)row->self_dev / pow(10, t->digits);
    double calls = (double)row->calls;
    double mean;
    struct sc__str text = plain_number(r, r->cells[t->mean]);
    if (!t->mean)
        return SC_OK;
    if (!sc__parse_double(text, &mean))
        return stats_refuse(r, r->cells[t->mean], "not a mean time");
    if (fabs(total - calls * mean) <=
        STATS_OFF * total + rounding(r->cells[t->total]) + calls * rounding(text))
        return SC_OK;
    return stats_refuse(r, r->cells[t->total], "the total is not that of the calls");
}

static sc_status take_stats_row(struct stats_reader *r, const struct stats_table *t) {
    struct sc__profile_row row = {.line = (uint32_t)r->number};
    struct sc__str name = r->cells[t->columns - 1];
    double share = 0;
    if (!sc__parse_decimal(plain_number(r, r->cells[t->total]), t->digits, &row.self_dev) ||
        row.self_dev < 0 || row.self_dev > STATS_LONGEST - r->sum)
        return stats_refuse(r, r->cells[t->total], "not a time");
    if (!sc__parse_u64(plain_number(r, r->cells[t->calls]), &row.calls) || !row.calls)
        return stats_refuse(r, r->cells[t->calls], "not a number of calls");
    SC__TRY(check_mean(r, t, &row));
    if (!sc__parse_double(plain_number(r, r->cells[t->share]), &share) || !(share >= 0))
        return stats_refuse(r, r->cells[t->share], "not a share");
    row.dev_total = row.self_dev;
    row.name = sc__strndup(&r->ctx->arena, name.p, name.n);
    r->sum += row.self_dev;
    if (t->kind != STATS_MEMORY) {
        r->shares += share;
        r->kernels += row.self_dev;
    }
    struct sc__profile *p = r->profile;
    *SC__PUSH(&r->ctx->arena, p->rows, p->count, p->capacity) = row;
    return SC_OK;
}

static bool is_rule(struct sc__str line) {
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] != '-' && line.p[i] != ' ')
            return false;
    return line.n > 0;
}

/* Down to a line that does not begin with a share. */
static sc_status read_stats_rows(struct stats_reader *r, const struct stats_table *t) {
    for (struct sc__str next = r->rest; stats_line(r); next = r->rest) {
        double share;
        if (!t->csv && is_rule(r->line))
            continue;
        split_stats(r, t->csv, t->columns);
        if (!r->count || !sc__parse_double(plain_number(r, r->cells[0]), &share)) {
            r->rest = next; /* it may head another table */
            r->number--;
            return SC_OK;
        }
        if (t->kind == STATS_OTHER || r->more[t->kind])
            continue;
        bool open = t->csv && sc__str_starts(r->cells[r->count - 1], "\"");
        if (r->count != t->columns || open)
            return stats_refuse(r, sc__trim(r->line), "the row is cut");
        SC__TRY(take_stats_row(r, t));
    }
    return SC_OK;
}

/* Sums of kernels, or of kernels and copies together: one of the two, or all would count
 * twice. */
static bool stats_again(const struct stats_reader *r, enum stats_kind kind) {
    bool kernels = r->taken[STATS_KERNELS] || r->taken[STATS_BOTH];
    bool copies = r->taken[STATS_MEMORY] || r->taken[STATS_BOTH];
    return kind == STATS_MEMORY ? copies : kind == STATS_BOTH ? kernels || copies : kernels;
}

static sc_status read_stats_tables(struct stats_reader *r) {
    struct stats_table t;
    while (stats_line(r)) {
        read_stats_title(r);
        if (!heads_stats(r->line) || !read_stats_heads(r, &t))
            continue;
        r->title_digits = 0;
        r->more[t.kind] = stats_again(r, t.kind);
        r->taken[t.kind] = true;
        SC__TRY(read_stats_rows(r, &t));
    }
    if (r->taken[STATS_KERNELS] || r->taken[STATS_BOTH])
        return SC_OK;
    struct sc__place at = {.file = r->file};
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &at,
                    "nsys stats --report cuda_gpu_kern_sum REPORT.nsys-rep prints them",
                    "there is no table of kernels in it");
}

static void note_stats(struct stats_reader *r) {
    sc__note(r->ctx,
             "nsys-stats",
             "%s: the times are sums over a whole profile, which is taken for one step; "
             "`nsys export --type sqlite` has steps, order and gaps",
             r->file);
    if (r->more[STATS_KERNELS] || r->more[STATS_BOTH])
        sc__note(r->ctx,
                 "nsys-stats-tables",
                 "%s: several tables of kernels; the first is taken",
                 r->file);
    if (r->shares >= 99 || !(r->shares > 0))
        return;
    sc__note(r->ctx,
             "nsys-stats-cut",
             "%s: its rows are %.1f %% of the time; the rest is not listed",
             r->file,
             r->shares);
    double missing = (double)r->kernels * (100 / r->shares - 1);
    if (missing < (double)STATS_LONGEST)
        r->profile->dev_total = r->sum + (int64_t)missing;
}

static sc_status read_stats(struct sc_context *ctx,
                            const struct sc__settings *settings,
                            const char *const *paths,
                            uint32_t count,
                            struct sc__document *out) {
    struct stats_reader r = {.ctx = ctx};
    (void)settings;
    if (count != 1)
        return sc__fail(ctx, SC_USAGE, NULL, NULL, "a table of nsys stats is one file");
    r.file = !strcmp(paths[0], "-") ? "<stdin>" : paths[0];
    SC__TRY(sc__read_all(ctx, paths[0], STATS_LARGEST, &r.rest));
    r.profile = SC__NEW(&ctx->arena, struct sc__profile);
    r.profile->file = r.file;
    r.profile->device = "CUDA";
    r.profile->has_self_dev = true;
    r.profile->table = r.profile->tables = 1;
    r.profile->cpu_total = r.profile->dev_total = -1;
    SC__TRY(read_stats_tables(&r));
    struct sc__place at = {.file = r.file};
    if (!r.profile->count)
        return sc__fail(ctx, SC_INPUT, &at, NULL, "the table of kernels has no rows");
    note_stats(&r);
    sc__profile_classify(&ctx->arena, r.profile);
    out->details = r.profile;
    return SC_OK;
}

static int
detect_stats(const unsigned char *head, size_t n, const char *path, bool directory) {
    (void)path;
    if (directory || (!sc__find_word(head, n, "Total Time (") &&
                      !sc__find_word(head, n, "Kernel Statistics (")))
        return 0;
    if (!sc__find_word(head, n, "Time (%)") && !sc__find_word(head, n, "Time(%)"))
        return 0;
    return sc__find_word(head, n, "Instances") ? 90 : 50;
}

const struct sc__reader sc__reader_nsys_stats = {
    .name = "nsys-stats",
    .title = "sums of kernels by Nsight Systems (nsys stats), text or CSV",
    .detect = detect_stats,
    .read = read_stats,
    .show = sc__profile_show};
