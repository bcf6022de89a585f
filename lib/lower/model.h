/* model → workload: a model and a plan become blocks of timed kernels and
 * collectives under a pipeline schedule (docs/model/step.md). */
#ifndef SC_LOWER_MODEL_H
#define SC_LOWER_MODEL_H

#include "lower/step_pace.h"
#include "plan/memory.h"
#include "plan/plan.h"

/* The workload of a plan that was resolved and checked. Does it not fit into
 * memory, the answer is SC_NO_FIT and names the largest items, unless the plan
 * says to go on. */
sc_status sc__lower_plan(struct sc_context *ctx,
                         const struct sc__model *m,
                         const struct sc__plan *plan,
                         const struct sc__cluster *cluster,
                         struct sc__workload **out);

/* What is known of a step before it is lowered and simulated. */
struct sc__plan_outlook {
    int64_t bound; /* ps: the step is not shorter (lower/step_bound.c) */
    struct sc__draw draw;
    double layers_s; /* what kernels of layers take at least, of a GPU in the mean */
    double usd_per_hour;
    double capacity; /* bytes of memory of one GPU */
    struct sc__step_replay replay;
};
/* Of a plan that is known to fit into memory. placed, limit: see sc__step_bound.
 * other_tax: compute is not taxed as the plan says. */
sc_status sc__plan_outlook(struct sc_context *ctx,
                           const struct sc__model *m,
                           const struct sc__plan *plan,
                           const struct sc__cluster *cluster,
                           const struct sc__mesh *placed,
                           bool other_tax,
                           int64_t limit,
                           struct sc__plan_outlook *out);

/* What the parts of a model take at least, each alone, ps: forward and backward of a
 * micro-batch, and the exchange of experts of both where it runs beside compute. */
struct sc__unit_times {
    int64_t forward;
    int64_t backward;
    int64_t exchange;
};
struct sc__step_units {
    struct sc__unit_times *layers; /* by layer; computed again where the plan says so */
    struct sc__unit_times *others; /* layers behind the first that are computed again */
    struct sc__unit_times embedding;
    struct sc__unit_times head;
    int64_t message; /* from a stage to the next, the shortest */
};
/* Whatever the plan shards. as_planned: recomputed and throttled as the plan says; else
 * for every schedule, chunks and recomputation. */
sc_status sc__plan_units(struct sc_context *ctx,
                         const struct sc__model *m,
                         const struct sc__plan *plan,
                         const struct sc__cluster *cluster,
                         const struct sc__mesh *placed,
                         bool as_planned,
                         struct sc__step_units *out);
/* A time, ps, that a step of such parts is not shorter than, from the stages and chunks
 * of the plan alone. Looser than sc__step_bound, and found in a microsecond. */
int64_t sc__plan_floor(const struct sc__model *m,
                       const struct sc__plan *p,
                       const struct sc__step_units *units);

/* Notes what products of a type are timed as where the GPU does not have it. */
void sc__note_missing_type(struct sc_context *ctx,
                           const struct sc__gpu *g,
                           enum sc__dtype type);

#endif
