/* model → workload: a model and a plan become blocks of timed kernels and
 * collectives under a pipeline schedule (docs/model/step.md). */
#ifndef SC_LOWER_MODEL_H
#define SC_LOWER_MODEL_H

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
    double watts;  /* of one GPU; 0 = unknown */
    double usd_per_hour;
    double capacity; /* bytes of memory of one GPU */
};
/* Of a plan that is known to fit into memory. placed: see sc__step_bound. other_tax:
 * compute is not taxed as the plan says. */
sc_status sc__plan_outlook(struct sc_context *ctx,
                           const struct sc__model *m,
                           const struct sc__plan *plan,
                           const struct sc__cluster *cluster,
                           const struct sc__mesh *placed,
                           bool other_tax,
                           struct sc__plan_outlook *out);

/* FLOPs of a step over all ranks with what is computed twice. */
double sc__plan_hardware_flops(const struct sc__model *m, const struct sc__plan *p);

#endif
