/* dims_traffic: what meets on the links of dimensions when members send to the next one. */
#ifndef SC_HARDWARE_DIMS_TRAFFIC_H
#define SC_HARDWARE_DIMS_TRAFFIC_H

#include "hardware/cluster.h"

/* Sets what a shape has of shifts and, where the group fills no box, of rings and chains;
 * gpu in the order of the members, sorted: the same; both NULL: GPUs 0 … s->ranks-1. */
void sc__dims_count(const struct sc__cluster *c,
                    const uint32_t *gpu,
                    const uint32_t *sorted,
                    struct sc__shape *s);

#endif
