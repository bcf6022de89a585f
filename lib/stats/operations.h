/* operations: one line for each distinct operation of a class, added up over
 * the step. */
#ifndef SC_STATS_OPERATIONS_H
#define SC_STATS_OPERATIONS_H

#include "stats/segments.h"

struct sc__operation {
    const char *name;
    const struct sc__op *op; /* one of them: kind, phase, group */
    uint64_t count, bytes;
    int64_t total;  /* at work */
    int64_t waited; /* before that, for peers */
};

struct sc__operations {
    struct sc__operation *items; /* longest first */
    uint32_t count, capacity;
};

void sc__operations(struct sc__arena *a, const struct sc__timeline *t, const struct sc__by_class *index, uint32_t class,
                    struct sc__operations *out);

#endif
