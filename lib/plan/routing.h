/* routing: how unequally tokens fall on the ranks of an expert-parallel group. */
#ifndef SC_PLAN_ROUTING_H
#define SC_PLAN_ROUTING_H

#include "base/base.h"

/* Experts are wanted by a power law, the i-th most wanted by i to the minus `exponent`,
 * and a token takes topk different ones. They lie on the ranks in any order, experts ÷ ep
 * on each. Returns the expected tokens of the fullest rank over the mean; ep divides
 * experts, and topk is at most as many. */
double sc__routing_fullest(
    struct sc__arena *arena, uint32_t experts, uint32_t topk, uint32_t ep, double exponent);

#endif
