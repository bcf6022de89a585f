/* timeline: what ran, when. Simulated runs and imported measurements both end
 * up here; every report and `compare` works on both. The simulator keeps it
 * only when something asks for it. */
#ifndef SC_WORKLOAD_TIMELINE_H
#define SC_WORKLOAD_TIMELINE_H

#include "workload/workload.h"

struct sc__span {
    uint32_t class; /* in timeline.lanes */
    uint32_t op;    /* in workload.ops of the timeline's workload */
    uint32_t micro_batch;
    uint32_t chunk;
    /* ps; ready: when the last peer had arrived (= start for compute) */
    int64_t start;
    int64_t ready;
    int64_t end;
    uint32_t peer_span; /* send: the span of its receive, or SC__NONE */
};

/* Why a class did not compute; the simulator knows, a measurement does not. */
enum {
    SC__IDLE_BUBBLE,
    SC__IDLE_SKEW,
    SC__IDLE_OTHER,
    SC__IDLE_COMM /* + group, or + group_count for messages */
};

struct sc__idle {
    uint32_t class;
    uint32_t why;
    int64_t start;
    int64_t end;
};

struct sc__timeline {
    const struct sc__workload *workload; /* names, groups, classes */
    struct sc__span *spans;              /* in order of start within a class and stream */
    uint32_t count;
    uint32_t capacity;
    struct sc__idle *idles; /* in order of start within a class; empty for measurements */
    uint32_t idle_count;
    uint32_t idle_capacity;
    int64_t end; /* of the step */
};

#endif
