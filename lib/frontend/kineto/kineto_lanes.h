/* kineto_lanes: which stream of the replay a kernel of a trace goes on. A step has
 * SC__MAX_STREAMS of them, a trace may have any number: every process group has its own,
 * and graphs spread their kernels over many. */
#ifndef SC_FRONTEND_KINETO_LANES_H
#define SC_FRONTEND_KINETO_LANES_H

#include "frontend/kineto/kineto.h"

enum { SC__KINETO_LANES = SC__MAX_STREAMS - 1 }; /* the last one is for gradients */

struct sc__kineto_lanes {
    uint32_t main;  /* the stream with the most compute time: it has lane 0 to itself */
    uint32_t *of;   /* by stream: the lane of its last kernel */
    bool shared;    /* there are more streams than lanes */
    int64_t behind; /* ns that kernels wait which began while all lanes were taken */
    /* by lane: the stream of its last kernel, and when all of it has ended */
    uint32_t stream[SC__KINETO_LANES];
    int64_t end[SC__KINETO_LANES];
};

/* For a step that begins at start. */
void sc__kineto_lanes_choose(struct sc__kineto_lanes *lanes,
                             struct sc__arena *arena,
                             const struct sc__kineto_trace *t,
                             int64_t start);
/* Of a kernel, in order of their starts: that of its stream, or where lanes are shared and
 * another stream has taken it, the one that has ended first. */
uint8_t sc__kineto_lane(struct sc__kineto_lanes *lanes, const struct sc__kineto_kernel *k);

#endif
