/* expand: any workload as a graph, one class and one block for each rank, as
 * Chakra and GOAL write it: classes become ranks, calls are unrolled, the order
 * of streams becomes dependencies, groups become lists of ranks. */
#ifndef SC_WORKLOAD_EXPAND_H
#define SC_WORKLOAD_EXPAND_H

#include "workload/workload.h"

/* *out is w itself where it is such a graph already. */
sc_status sc__workload_expand(struct sc_context *ctx,
                              const struct sc__workload *w,
                              const struct sc__workload **out);

#endif
