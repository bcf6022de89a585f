/* model → workload: a model and a plan become blocks of timed kernels and
 * collectives under a pipeline schedule (docs/model/step.md). */
#ifndef SC_LOWER_MODEL_H
#define SC_LOWER_MODEL_H

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
/* placed: see sc__step_bound. other_tax: compute is not taxed as the plan says. */
sc_status sc__plan_outlook(struct sc_context *ctx,
                           const struct sc__model *m,
                           const struct sc__plan *plan,
                           const struct sc__cluster *cluster,
                           const struct sc__mesh *placed,
                           bool other_tax,
                           struct sc__plan_outlook *out);

/* Memory of one rank of every stage, bytes. */
struct sc__stage_memory {
    double weights;
    double gradients;
    double optimizer;
    double activations;
    double logits;
    double buffers;
};
struct sc__stage_memory
sc__plan_memory(const struct sc__model *m, const struct sc__plan *p, uint32_t stage);
double sc__memory_sum(const struct sc__stage_memory *m);
/* Bytes of activations one layer keeps for one micro-batch. */
double
sc__layer_activations(const struct sc__model *m, const struct sc__plan *p, uint32_t layer);
/* The share of its activations that is held from input to weight gradient
 * where a schedule parts them; more than 1 where they are computed again. */
double sc__plan_kept(const struct sc__model *m, const struct sc__plan *p);
/* SC_NO when a stage needs more than capacity. */
sc_status sc__memory_check(struct sc_context *ctx,
                           const struct sc__model *m,
                           const struct sc__plan *p,
                           double capacity);

/* FLOPs of a step over all ranks with what is computed twice. */
double sc__plan_hardware_flops(const struct sc__model *m, const struct sc__plan *p);

#endif
