/* profiler cells: columns by their names, cells by their columns.
 *
 * Cells are separated by two or more spaces and counted from the right, because
 * the name on the left may hold anything. Three columns may be empty (overload
 * name, shapes, source location): the reading in which every other cell fits
 * its column is taken. */
#include "frontend/torch_profiler/profiler_table.h"

#include <string.h>

#define BIT(kind) (1u << (kind))

static const struct {
    const char *name;
    uint8_t kind;
} fixed_columns[] = {
    {"Name", SC__COL_NAME},
    {"Overload Name", SC__COL_OVERLOAD},
    {"Self CPU %", SC__COL_SELF_CPU_SHARE},
    {"Self CPU total %", SC__COL_SELF_CPU_SHARE},
    {"Self CPU", SC__COL_SELF_CPU},
    {"Self CPU total", SC__COL_SELF_CPU},
    {"CPU total %", SC__COL_CPU_SHARE},
    {"CPU total", SC__COL_CPU},
    {"CPU time avg", SC__COL_CPU_AVG},
    {"CPU Mem", SC__COL_CPU_MEM},
    {"Self CPU Mem", SC__COL_SELF_CPU_MEM},
    {"# of Calls", SC__COL_CALLS},
    {"Number of Calls", SC__COL_CALLS},
    {"# Calls", SC__COL_CALLS},
    {"Node ID", SC__COL_NODE},
    {"Input Shapes", SC__COL_SHAPES},
    {"Source Location", SC__COL_SOURCE},
};

/* With D for the device's name. */
static const struct {
    const char *before;
    const char *after;
    uint8_t kind;
} device_columns[] = {
    {"Self ", " Mem", SC__COL_SELF_DEV_MEM},
    {"", " Mem", SC__COL_DEV_MEM},
    {"Self ", " total %", SC__COL_SELF_DEV_SHARE},
    {"Self ", " total", SC__COL_SELF_DEV},
    {"Self ", " %", SC__COL_SELF_DEV_SHARE},
    {"", " total %", SC__COL_DEV_SHARE},
    {"", " total", SC__COL_DEV},
    {"", " time avg", SC__COL_DEV_AVG},
    {"Self ", "", SC__COL_SELF_DEV},
};

static bool same(struct sc__str a, struct sc__str b) {
    return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

static bool
device_column(struct sc__str cell, struct sc__profile_columns *c, uint8_t *kind) {
    for (size_t i = 0; i < sizeof device_columns / sizeof *device_columns; i++) {
        const char *before = device_columns[i].before;
        const char *after = device_columns[i].after;
        size_t affixes = strlen(before) + strlen(after);
        if (cell.n <= affixes || !sc__str_starts(cell, before) ||
            !sc__str_ends(cell, after))
            continue;
        struct sc__str device = {cell.p + strlen(before), cell.n - affixes};
        if (memchr(device.p, ' ', device.n) || (c->device.p && !same(device, c->device)))
            continue;
        c->device = device;
        *kind = device_columns[i].kind;
        return true;
    }
    return false;
}

/* "Total MFLOPs", "GFLOPS", "KFLOP/s" */
static bool flops_column(struct sc__str cell, double *scale) {
    static const char letters[] = "KMGTP";
    if (sc__str_starts(cell, "Total ")) {
        cell.p += 6;
        cell.n -= 6;
    }
    const char *letter = cell.n ? memchr(letters, cell.p[0], 5) : NULL;
    *scale = 1;
    if (letter) {
        for (const char *l = letters; l <= letter; l++)
            *scale *= 1e3;
        cell.p++;
        cell.n--;
    }
    return sc__str_is(cell, "FLOPs") || sc__str_is(cell, "FLOPS") ||
           sc__str_is(cell, "FLOPs/s") || sc__str_is(cell, "FLOPS/s") ||
           sc__str_is(cell, "FLOP/s");
}

bool sc__profile_column(struct sc__str cell, struct sc__profile_columns *c) {
    uint8_t kind = SC__COLUMN_KINDS;
    double scale;
    for (size_t i = 0; i < sizeof fixed_columns / sizeof *fixed_columns; i++)
        if (sc__str_is(cell, fixed_columns[i].name))
            kind = fixed_columns[i].kind;
    if (kind == SC__COLUMN_KINDS && flops_column(cell, &scale)) {
        kind = SC__COL_FLOPS;
        c->flop_scale = scale;
    }
    if (kind == SC__COLUMN_KINDS && !device_column(cell, c, &kind))
        return false;
    if (c->count == SC__PROFILE_COLUMNS || c->present & BIT(kind))
        return false;
    c->kind[c->count++] = kind;
    c->present |= BIT(kind);
    return true;
}

bool sc__profile_time(struct sc__str s, int64_t *ps, int64_t *slack) {
    /* "s" last: the others end in it too. digits: decimals down to a picosecond. */
    static const struct time_unit {
        const char *suffix;
        unsigned digits;
        int64_t ps;
    } units[] = {{"us", 6, SC__PS_PER_US},
                 {"ms", 9, SC__PS_PER_MS},
                 {"s", 12, SC__PS_PER_S}};
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++) {
        if (!sc__str_ends(s, units[i].suffix))
            continue;
        s.n -= strlen(units[i].suffix);
        /* the table prints three decimals: half of the last */
        if (slack)
            *slack = units[i].ps / 2000;
        return sc__parse_decimal(s, units[i].digits, ps);
    }
    return false;
}

/* *share: in %, 0 where it is none that could be reckoned with. */
static bool read_share(struct sc__str s, double *share) {
    *share = 0;
    if (sc__str_is(s, "NaN") || sc__str_is(s, "nan%") || sc__str_is(s, "inf%") ||
        sc__str_is(s, "0"))
        return true;
    if (!sc__str_ends(s, "%"))
        return false;
    s.n--;
    return sc__parse_double(s, share);
}

/* "512 B", "-1.18 GB", "3.50 Kb": powers of 1024 */
static bool parse_memory(struct sc__str s, int64_t *bytes) {
    static const char letters[] = "KMGTP";
    double v;
    double scale = 1;
    const char *blank = s.n ? memchr(s.p, ' ', s.n) : NULL;
    if (!blank)
        return false;
    struct sc__str number = {s.p, (size_t)(blank - s.p)};
    struct sc__str unit = {blank + 1, s.n - number.n - 1};
    const char *letter = unit.n == 2 ? memchr(letters, unit.p[0], 5) : NULL;
    if (letter)
        for (const char *l = letters; l <= letter; l++)
            scale *= 1024;
    bool known =
        (unit.n == 1 || letter) && (unit.p[unit.n - 1] == 'B' || unit.p[unit.n - 1] == 'b');
    if (!known || !sc__parse_double(number, &v) || v * scale > 9e18 || v * scale < -9e18)
        return false;
    *bytes = (int64_t)(v * scale);
    return true;
}

static bool
parse_flops(const struct sc__profile_columns *c, struct sc__str s, double *flops) {
    *flops = 0;
    if (sc__str_is(s, "--"))
        return true;
    if (!sc__parse_double(s, flops))
        return false;
    *flops *= c->flop_scale;
    return true;
}

static int64_t *profiler_cells_time_of(struct sc__profile_row *r, uint8_t kind) {
    switch (kind) {
    case SC__COL_SELF_CPU:
        return &r->self_cpu;
    case SC__COL_CPU:
        return &r->cpu_total;
    case SC__COL_CPU_AVG:
        return &r->cpu_avg;
    case SC__COL_SELF_DEV:
        return &r->self_dev;
    case SC__COL_DEV:
        return &r->dev_total;
    default:
        return &r->dev_avg;
    }
}

static int64_t *memory_of(struct sc__profile_row *r, uint8_t kind) {
    switch (kind) {
    case SC__COL_CPU_MEM:
        return &r->cpu_mem;
    case SC__COL_SELF_CPU_MEM:
        return &r->self_cpu_mem;
    case SC__COL_DEV_MEM:
        return &r->dev_mem;
    default:
        return &r->self_dev_mem;
    }
}

static bool is_shapes(struct sc__str s) {
    return s.n && (s.p[0] == '[' || sc__str_is(s, "None"));
}

/* Reads one cell into the row; false when it is not of the column's kind. */
static bool profile_cell(struct sc__arena *a,
                         const struct sc__profile_columns *c,
                         uint8_t kind,
                         struct sc__str cell,
                         struct sc__profile_row *r) {
    int64_t node;
    double share;
    switch (kind) {
    case SC__COL_NAME:
        r->name = sc__strndup(a, cell.p, cell.n);
        return true;
    case SC__COL_OVERLOAD:
        r->overload = cell.n ? sc__strndup(a, cell.p, cell.n) : NULL;
        return true;
    case SC__COL_SOURCE:
        r->source = cell.n ? sc__strndup(a, cell.p, cell.n) : NULL;
        return true;
    case SC__COL_SHAPES:
        r->shapes = cell.n ? sc__strndup(a, cell.p, cell.n) : NULL;
        return !cell.n || is_shapes(cell);
    case SC__COL_CPU_SHARE:
        r->async = sc__str_is(cell, "0");
        return read_share(cell, &share);
    case SC__COL_SELF_CPU_SHARE:
        return read_share(cell, &r->self_cpu_share);
    case SC__COL_SELF_DEV_SHARE:
        return read_share(cell, &r->self_dev_share);
    case SC__COL_DEV_SHARE:
        return read_share(cell, &share);
    case SC__COL_CALLS:
        return sc__parse_u64(cell, &r->calls);
    case SC__COL_NODE:
        return sc__parse_i64(cell, &node);
    case SC__COL_FLOPS:
        return parse_flops(c, cell, &r->flops);
    case SC__COL_CPU_MEM:
    case SC__COL_SELF_CPU_MEM:
    case SC__COL_DEV_MEM:
    case SC__COL_SELF_DEV_MEM:
        return parse_memory(cell, memory_of(r, kind));
    case SC__COL_DEV:
        return sc__profile_time(cell, &r->dev_total, &r->slack);
    default:
        return sc__profile_time(cell, profiler_cells_time_of(r, kind), NULL);
    }
}

static const char *expected(uint8_t kind) {
    switch (kind) {
    case SC__COL_CPU_SHARE:
    case SC__COL_SELF_CPU_SHARE:
    case SC__COL_SELF_DEV_SHARE:
    case SC__COL_DEV_SHARE:
        return "not a share (like 0.17%)";
    case SC__COL_CALLS:
        return "not a number of calls";
    case SC__COL_NODE:
        return "not a node number";
    case SC__COL_SHAPES:
        return "not a list of shapes";
    case SC__COL_FLOPS:
        return "not a number of FLOPs";
    case SC__COL_CPU_MEM:
    case SC__COL_SELF_CPU_MEM:
    case SC__COL_DEV_MEM:
    case SC__COL_SELF_DEV_MEM:
        return "not an amount of memory (like 512 B)";
    default:
        return "not a time (like 3.120ms)";
    }
}

/* Cuts the last cell off; the two blanks that part it from the rest go too. */
static bool cut_last(struct sc__str *rest, struct sc__str *cell) {
    size_t i = rest->n;
    while (i >= 2 && !(rest->p[i - 1] == ' ' && rest->p[i - 2] == ' '))
        i--;
    if (i < 2)
        return false;
    *cell = (struct sc__str){rest->p + i, rest->n - i};
    rest->n = i;
    *rest = sc__trim(*rest);
    return true;
}

/* Header order of a table with stack and FLOPs is Source, FLOPs; its rows have
 * them in reverse. */
static void swap_source_and_flops(const struct sc__profile_columns *c,
                                  struct sc__str *cells) {
    double v;
    for (unsigned i = 0; i + 1 < c->count; i++)
        if (c->kind[i] == SC__COL_SOURCE && c->kind[i + 1] == SC__COL_FLOPS && cells[i].n &&
            !parse_flops(c, cells[i + 1], &v) && parse_flops(c, cells[i], &v)) {
            struct sc__str t = cells[i];
            cells[i] = cells[i + 1];
            cells[i + 1] = t;
        }
}

/* One reading of the line, in which the columns of `empty` are empty. */
static const char *read_with(struct sc__arena *a,
                             const struct sc__profile_columns *c,
                             struct sc__str line,
                             uint32_t empty,
                             struct sc__profile_row *row,
                             struct sc__str *where) {
    struct sc__str cells[SC__PROFILE_COLUMNS] = {{"", 0}};
    struct sc__str rest = sc__trim(line);
    for (unsigned i = c->count; i-- > 1;) {
        cells[i] = (struct sc__str){line.p + line.n, 0};
        if (empty & BIT(c->kind[i]))
            continue;
        if (!cut_last(&rest, &cells[i])) {
            bool all_of_it = i == 1 && empty & BIT(SC__COL_NAME) && rest.n;
            *where = rest;
            if (!all_of_it)
                return "too few columns";
            cells[i] = rest;
            rest.n = 0;
        }
    }
    *where = rest;
    if (empty & BIT(SC__COL_NAME) ? rest.n != 0 : rest.n == 0)
        return "too few columns";
    cells[0] = rest;
    swap_source_and_flops(c, cells);
    for (unsigned i = 0; i < c->count; i++) {
        *where = cells[i];
        if (empty & BIT(c->kind[i]) && c->kind[i] != SC__COL_NAME)
            continue;
        if (!profile_cell(a, c, c->kind[i], cells[i], row))
            return expected(c->kind[i]);
    }
    return NULL;
}

const char *sc__profile_line(struct sc__arena *a,
                             const struct sc__profile_columns *c,
                             struct sc__str line,
                             struct sc__profile_row *row,
                             struct sc__str *where) {
    static const uint32_t may_be_empty[] = {
        0,
        BIT(SC__COL_SOURCE),
        BIT(SC__COL_OVERLOAD),
        BIT(SC__COL_SHAPES),
        BIT(SC__COL_NAME),
        BIT(SC__COL_SOURCE) | BIT(SC__COL_OVERLOAD),
        BIT(SC__COL_SHAPES) | BIT(SC__COL_OVERLOAD),
        BIT(SC__COL_SOURCE) | BIT(SC__COL_SHAPES),
        BIT(SC__COL_SOURCE) | BIT(SC__COL_SHAPES) | BIT(SC__COL_OVERLOAD),
    };
    const char *first = NULL;
    struct sc__str blame = {line.p, 0};
    for (size_t i = 0; i < sizeof may_be_empty / sizeof *may_be_empty; i++) {
        if ((may_be_empty[i] & c->present) != may_be_empty[i])
            continue;
        struct sc__profile_row fresh = {.line = row->line};
        const char *wrong = read_with(a, c, line, may_be_empty[i], &fresh, where);
        if (!wrong) {
            *row = fresh;
            return NULL;
        }
        if (!first) {
            first = wrong;
            blame = *where;
        }
    }
    *where = blame;
    return first;
}
