/* columns: a long table of whole numbers as JSON, one array per column, in which
 * what was there before is not written again. The rows of a pipeline repeat
 * themselves, micro-batch after micro-batch and stage after stage, so that a table
 * of a million rows is some hundred that are new and where to copy the others from.
 *
 *     "a": [1,2,3,4], "b": […], "repeats": [4,2,6, …]
 *
 * says: four new rows, then six copied one by one from two rows before: 1 2 3 4 and
 * 3 4 3 4 3 4. Three numbers at a time: new rows, how far back, rows to copy. */
#ifndef SC_REPORT_COLUMNS_H
#define SC_REPORT_COLUMNS_H

#include "base/base.h"

#define SC__COLUMN_NONE INT64_MIN /* written as null */

struct sc__column {
    const char *name;
    int64_t usual; /* a column that holds nothing else is left out */
    const char
        *letters; /* or NULL; else values are indices into it, and written as a string */
};

struct sc__columns {
    struct sc__arena *arena;
    const struct sc__column *columns;
    unsigned width;
    int64_t *values; /* row by row */
    uint32_t count;  /* rows */
    uint32_t capacity;
};

void sc__columns_init(struct sc__columns *c,
                      struct sc__arena *arena,
                      const struct sc__column *columns,
                      unsigned width);
void sc__columns_add(struct sc__columns *c, const int64_t *values);
/* As a JSON object. */
void sc__columns_put(const struct sc__columns *c, struct sc__buffer *out);

#endif
