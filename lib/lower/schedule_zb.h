/* schedule_zb: orders of work for zero-bubble pipelines, found for the times
 * at hand (Qi et al., Zero Bubble Pipeline Parallelism, 2024). */
#ifndef SC_LOWER_SCHEDULE_ZB_H
#define SC_LOWER_SCHEDULE_ZB_H

#include "lower/pipeline.h"

struct sc__zb_times {
    /* forward, input gradient, weight gradient of one micro-batch, ps */
    int64_t f;
    int64_t b;
    int64_t w;
    /* The last weight gradients hand their sums to data parallelism, which reduces them
     * beside what follows: all of that, and what is left when they end. */
    int64_t reduce;
    int64_t reduce_late;
};

/* chunks 1: stage s is the s-th part of the model. chunks 2: the V, chunk 0
 * of stage s is part s and chunk 1 part 2·pp − 1 − s, so that stage 0 holds
 * both ends. */
struct sc__zb {
    uint32_t pp;
    uint32_t chunks;
    uint32_t micro_batches;
    uint32_t limit; /* chunk activations a stage may hold; at least `chunks` */
    double kept;    /* share of an activation that is held from input to weight gradient */
    const int64_t *message; /* from stage s to the next, ps; the same the other way */
    const struct sc__zb_times *times; /* by stage · chunks + chunk */
};

struct sc__zb_order {
    struct sc__slot **slots; /* by stage: 3 · chunks · micro_batches */
    int64_t period; /* time of a step where the next begins on a stage as soon as it has
                       ended there, and its gradients are reduced */
};

void sc__schedule_zb(struct sc__arena *a, const struct sc__zb *z, struct sc__zb_order *out);

#endif
