/* stragglers: who is slow, and what the others waited for it. */
#ifndef SC_RESULT_STRAGGLERS_H
#define SC_RESULT_STRAGGLERS_H

#include "result/result.h"

struct sc__straggler {
    uint32_t class; /* in result.classes */
    int64_t compute;
    int64_t median; /* of the ranks of its stage */
    int64_t waited; /* mean skew of the other ranks of its stage */
};

struct sc__stragglers {
    struct sc__straggler *items; /* longest over the median first */
    uint32_t count;
    uint32_t capacity;
};

/* Ranks whose compute is more than 1 % over the median of their stage, where others
 * waited for somebody. */
struct sc__stragglers sc__stragglers_find(struct sc__arena *a, const struct sc__result *r);

#endif
