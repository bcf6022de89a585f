/* critical path: the chain of operations, each waiting for the one before it,
 * that ends with the step. Shortening anything else does not help. */
#ifndef SC_STATS_CRITICAL_H
#define SC_STATS_CRITICAL_H

#include "stats/segments.h"

/* A piece of the path. Pieces follow each other without gaps from 0 to the end
 * of the step. span SC__NONE: nothing of the class ran (host, or unknown). */
struct sc__piece {
    uint32_t class, span;
    int64_t start, end;
};

struct sc__critical {
    struct sc__piece *pieces; /* first to last */
    uint32_t count, capacity;
};

void sc__critical_path(struct sc__arena *a, const struct sc__timeline *t, const struct sc__by_class *index,
                       struct sc__critical *out);

#endif
