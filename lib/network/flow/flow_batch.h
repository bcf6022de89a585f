/* flow_batch: a list of flows in, their finish times out. */
#ifndef SC_SIMULATE_FLOW_BATCH_H
#define SC_SIMULATE_FLOW_BATCH_H

#include "network/flow/flow_graph.h"

struct sc__flow {
    uint32_t from;
    uint32_t to;
    /* seconds */
    double bytes;
    double start;
    double weight; /* of its share; 1 for a plain flow */
    double finish;
};

struct sc__flow_effort {
    uint64_t solves;
    uint64_t levels;
};

sc_status sc__flow_batch(struct sc_context *ctx,
                         struct sc__graph *g,
                         const struct sc__route_policy *route,
                         struct sc__flow *flows,
                         uint32_t count,
                         struct sc__flow_effort *effort);

#endif
