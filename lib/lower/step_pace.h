/* step_pace: the replay of a pipeline as the pace of its workload. */
#ifndef SC_LOWER_STEP_PACE_H
#define SC_LOWER_STEP_PACE_H

#include "lower/pipeline_replay.h"
#include "workload/pace.h"

/* A replay with what it was made from (lower/step_bound.c). */
struct sc__step_replay {
    int64_t total; /* ps; 0: there was none */
    uint32_t pp;
    bool overlap;    /* receives are posted ahead */
    bool first_only; /* total is the end of the first stage: steps overlap */
    int64_t message; /* the longest between two stages */
    int64_t *after;  /* by stage: what its step ends with */
    struct sc__replay_ends ends;
};

/* w: the workload of the same plan. false: there is no replay, or the programs are not
 * one call a slot and one class a stage. */
bool sc__step_pace(struct sc__arena *arena,
                   const struct sc__step_replay *r,
                   const struct sc__workload *w,
                   struct sc__pace *out);

#endif
