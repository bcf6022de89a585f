/* timeline: what ran, when. Simulated runs and imported measurements both end
 * up here; every report and `compare` works on both. The simulator keeps it
 * only when something asks for it. */
#ifndef SC_IR_TIMELINE_H
#define SC_IR_TIMELINE_H

#include "ir/workload.h"

struct sc__span {
    uint32_t class; /* in timeline.lanes */
    uint32_t op;    /* in workload.ops of the timeline's workload */
    uint32_t micro_batch, chunk;
    int64_t start, ready, end; /* ps; ready: when the last peer had arrived (= start for compute) */
    uint32_t peer_span;        /* send: the span of its receive, or SC__NONE */
};

struct sc__timeline {
    const struct sc__workload *workload; /* names, groups, classes */
    struct sc__span *spans;              /* in order of start within a class and stream */
    uint32_t count, capacity;
    int64_t end; /* of the step */
};

#endif
