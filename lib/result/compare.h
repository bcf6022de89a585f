/* compare: two results, line by line. Works on result documents, so a saved
 * result, a fresh simulation and a measurement compare alike. */
#ifndef SC_STATS_COMPARE_H
#define SC_STATS_COMPARE_H

#include "base/base.h"

struct sc__pair {
    const char *key;
    /* us */
    double a;
    double b;
};

struct sc__pairs {
    struct sc__pair *items;
    uint32_t count;
    uint32_t capacity;
};

struct sc__comparison {
    const char *name[2];
    bool measured[2];
    struct sc__pair step;
    /* Means over all ranks; the last two are empty when one side has no timeline. */
    struct sc__pairs classes;    /* the parts of the breakdown: they add up to the step */
    struct sc__pairs groups;     /* communication: time on the wire */
    struct sc__pairs operations; /* by name, largest difference first */
    double worst; /* largest difference of the step or a class, as a share of A's step */
    const char *worst_key;
};

/* a, b: result documents; name: as shown in errors. */
sc_status sc__compare(struct sc_context *ctx,
                      const char *const name[2],
                      const struct sc__str document[2],
                      struct sc__comparison *out);
/* Is this a result document? The error says what is wrong. */
sc_status
sc__check_result(struct sc_context *ctx, const char *name, struct sc__str document);

/* (b − a) / a; 0 where both are 0, infinite where only a is. */
double sc__relative(const struct sc__pair *p);

#endif
