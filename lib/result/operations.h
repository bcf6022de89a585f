/* operations: one line for each distinct operation, added up over the step,
 * as the mean over all ranks. So two results compare line by line even where
 * another rank is the slowest. */
#ifndef SC_RESULT_OPERATIONS_H
#define SC_RESULT_OPERATIONS_H

#include "result/segments.h"

struct sc__operation {
    const char *name;
    const struct sc__op *op; /* one of them: kind, phase, group */
    double count;
    double bytes;
    double total;  /* at work, ps */
    double waited; /* before that, for peers, ps */
};

#define SC__LISTED_OPERATIONS 400 /* in documents */

/* A time of an operation as documents say it: us, to the picosecond. */
double sc__operation_us(double ps);

struct sc__operations {
    struct sc__operation *items; /* longest first */
    uint32_t count;
    uint32_t capacity;
};

void sc__operations(struct sc__arena *a,
                    const struct sc__timeline *t,
                    const struct sc__by_class *index,
                    struct sc__operations *out);

#endif
