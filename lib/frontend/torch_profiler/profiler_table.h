/* profiler table, inside: columns and cells, shared by the reader's files. */
#ifndef SC_FRONTEND_TORCH_PROFILER_PROFILER_TABLE_H
#define SC_FRONTEND_TORCH_PROFILER_PROFILER_TABLE_H

#include "frontend/reader.h"
#include "frontend/torch_profiler/profile.h"

enum sc__column_kind {
    SC__COL_NAME,
    SC__COL_OVERLOAD,
    SC__COL_SELF_CPU_SHARE,
    SC__COL_SELF_CPU,
    SC__COL_CPU_SHARE,
    SC__COL_CPU,
    SC__COL_CPU_AVG,
    SC__COL_SELF_DEV,
    SC__COL_SELF_DEV_SHARE,
    SC__COL_DEV,
    SC__COL_DEV_SHARE,
    SC__COL_DEV_AVG,
    SC__COL_CPU_MEM,
    SC__COL_SELF_CPU_MEM,
    SC__COL_DEV_MEM,
    SC__COL_SELF_DEV_MEM,
    SC__COL_CALLS,
    SC__COL_NODE,
    SC__COL_SHAPES,
    SC__COL_SOURCE,
    SC__COL_FLOPS,
    SC__COLUMN_KINDS
};

#define SC__PROFILE_COLUMNS 24

struct sc__profile_columns {
    uint8_t kind[SC__PROFILE_COLUMNS];
    unsigned count;
    uint32_t present; /* set of kinds */
    struct sc__str device;
    double flop_scale; /* of the FLOPs column */
};

/* What the header's cell is called; false for a name that no version prints. */
bool sc__profile_column(struct sc__str cell, struct sc__profile_columns *columns);

/* A line of the table into the row. On failure *where is the cell to blame and
 * the answer says what is wrong with it; NULL is success. */
const char *sc__profile_line(struct sc__arena *a,
                             const struct sc__profile_columns *columns,
                             struct sc__str line,
                             struct sc__profile_row *row,
                             struct sc__str *where);

/* Time as the profiler prints it ("3.758s", "-2163.929us"), and half of its
 * last digit. */
bool sc__profile_time(struct sc__str s, int64_t *ps, int64_t *slack);

void sc__profile_show(struct sc_context *ctx,
                      const struct sc__document *doc,
                      struct sc__buffer *text,
                      struct sc__json *json);

#endif
