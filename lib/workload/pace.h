/* pace: a way through a workload that no run of it is ahead of for good.
 *
 * `reached` says at which of its times the pace has done all that a class has begun
 * once it is at a call, with the messages of it. Then a run whose classes are at the
 * calls k(c) at a time t takes, to its end, at least what the pace takes from
 * the latest of those times on:
 *
 *     end ≥ t + total − max over c of reached[c][k(c)]
 *
 * for whatever the pace has not ended by then the run has not begun (lower/step_pace.c). */
#ifndef SC_WORKLOAD_PACE_H
#define SC_WORKLOAD_PACE_H

#include "workload/workload.h"

struct sc__pace {
    int64_t total;     /* ps */
    int64_t **reached; /* by class and call, one more call at the end; ps */
};

#endif
