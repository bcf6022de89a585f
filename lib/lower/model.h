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

/* FLOPs of a step over all ranks with what is computed twice. */
double sc__plan_hardware_flops(const struct sc__model *m, const struct sc__plan *p);

#endif
