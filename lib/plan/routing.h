/* routing: how unequally tokens fall on the ranks of an expert-parallel group. */
#ifndef SC_PLAN_ROUTING_H
#define SC_PLAN_ROUTING_H

#include "plan/plan.h"

/* Experts are wanted by a power law, the i-th most wanted by i to the minus `exponent`,
 * and a token takes topk different ones. They lie on the ranks in any order, experts ÷ ep
 * on each. Returns the expected tokens of the ranks over the mean, the fullest first; they
 * add up to ep. ep divides experts, and topk is at most as many. */
double *sc__routing_loads(
    struct sc__arena *arena, uint32_t experts, uint32_t topk, uint32_t ep, double exponent);
/* Few levels in place of so many ranks. */
void sc__routing_levels(const double *loads, uint32_t ep, struct sc__routing *out);

/* What the plan says of it: --moe-imbalance, --moe-skew. */
sc_status sc__plan_resolve_routing(struct sc_context *ctx,
                                   const sc_plan *given,
                                   const struct sc__model *m,
                                   struct sc__plan *p);
/* No rank takes more than the capacity factor leaves room for. */
void sc__plan_cap_routing(struct sc__plan *p);

#endif
