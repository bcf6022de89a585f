/* flow_quotient: flows and links that cannot be told apart, as one.
 *
 * Links are alike when they have one capacity and carry the same flows, flows
 * are alike when they cross the same links: the coarsest such partition
 * (colour refinement). Alike flows have equal max-min levels whenever their
 * patterns run, so the sharing of one flow of each kind on one link of each
 * kind is the sharing of all. A ring over 65,536 GPUs is one flow over a
 * handful of links; an ECMP collision breaks the symmetry just where it is. */
#ifndef SC_SIMULATE_FLOW_QUOTIENT_H
#define SC_SIMULATE_FLOW_QUOTIENT_H

#include "network/flow/flow_pattern.h"

struct sc__quotient_flow {
    /* hops */
    uint32_t first;
    uint32_t count;
    double volume;
};

struct sc__reach { /* what a pattern puts on a link of a class */
    uint32_t link;
    double volume; /* bytes, per byte of the transfer */
};

struct sc__quotient {
    double *capacity; /* by link class */
    uint32_t *sample; /* a link of each class */
    uint32_t *size;   /* links in it */
    uint32_t links;
    struct sc__quotient_flow *flows;
    uint32_t *pattern; /* flows of pattern i: pattern[i] … pattern[i + 1] */
    struct sc__share_hop *hops;
    struct sc__reach
        *reach; /* of pattern i: reach_first[i] … reach_first[i + 1], each link once */
    uint32_t *reach_first;
};

struct sc__quotient *sc__quotient_make(struct sc__pattern_builder *b,
                                       const struct sc__pattern *const *patterns,
                                       uint32_t count);

#endif
