/* critical path: the chain of operations, each waiting for the one before it,
 * that ends with the step. Shortening anything else does not help. */
#ifndef SC_RESULT_CRITICAL_PATH_H
#define SC_RESULT_CRITICAL_PATH_H

#include "result/segments.h"

/* A piece of the path. Pieces follow each other without gaps from 0 to the end
 * of the step. span SC__NONE: nothing of the class ran (host, or unknown). */
struct sc__critical_piece {
    uint32_t class;
    uint32_t span;
    int64_t start;
    int64_t end;
};

struct sc__critical {
    struct sc__critical_piece *pieces; /* first to last */
    uint32_t count;
    uint32_t capacity;
};

void sc__critical_path(struct sc__arena *a,
                       const struct sc__timeline *t,
                       const struct sc__by_class *index,
                       struct sc__critical *out);

#endif
