/* shift_traffic: what meets where when every member of a group sends to the next one. */
#ifndef SC_HARDWARE_SHIFT_TRAFFIC_H
#define SC_HARDWARE_SHIFT_TRAFFIC_H

#include "hardware/cluster.h"

/* Sets what a shape has of shifts; gpu in the order of the members, NULL: GPUs 0 … n-1. */
void sc__shift_count(const struct sc__cluster *c,
                     const uint32_t *gpu,
                     uint32_t n,
                     struct sc__shape *s);

#endif
