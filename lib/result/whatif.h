/* what-if: the step time if one class of work cost nothing, or half. Each
 * figure comes from simulating the step again, so that what becomes exposed
 * when something else gets faster is counted. */
#ifndef SC_RESULT_WHATIF_H
#define SC_RESULT_WHATIF_H

#include "simulate/simulate.h"

struct sc__whatif_row {
    const char *key;   /* "gemm", "recompute", "comm:tp" */
    const char *title; /* for people */
    int64_t at_zero;
    int64_t at_half;
};

struct sc__whatif {
    struct sc__whatif_row *rows; /* most to gain first */
    uint32_t count;
    uint32_t capacity;
    int64_t step; /* as it is */
};

/* Makes a network engine that has seen no traffic: one for each simulation. */
struct sc__net_maker {
    sc_status (*make)(void *self,
                      struct sc_context *ctx,
                      const struct sc__workload *w,
                      struct sc__net *out);
    void *self;
};

/* arena: of the table. Progress is reported to ctx, once a row. */
sc_status sc__whatif(struct sc_context *ctx,
                     struct sc__arena *arena,
                     const struct sc__workload *w,
                     const struct sc__net_maker *net,
                     const struct sc__sim_options *options,
                     int64_t step,
                     struct sc__whatif *out);

#endif
