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

/* Why a class did not compute; the simulator knows, a measurement does not. */
enum { SC__IDLE_BUBBLE, SC__IDLE_SKEW, SC__IDLE_OTHER, SC__IDLE_COMM /* + group, or + group_count for messages */ };

struct sc__idle {
    uint32_t class, why;
    int64_t start, end;
};

struct sc__timeline {
    const struct sc__workload *workload; /* names, groups, classes */
    struct sc__span *spans;              /* in order of start within a class and stream */
    uint32_t count, capacity;
    struct sc__idle *idles; /* in order of start within a class; empty for measurements */
    uint32_t idle_count, idle_capacity;
    int64_t end; /* of the step */
};

#endif
