/* rail_traffic: what passes the uplinks of one leaf of rails, counted member by member. */
#ifndef SC_HARDWARE_RAIL_TRAFFIC_H
#define SC_HARDWARE_RAIL_TRAFFIC_H

#include "hardware/cluster.h"

/* Whether a message that leaves its node by the NIC of rail `out` passes the uplinks of its
 * leaf, its pod: on its way to another one, or to another rail of its segment. */
bool sc__passes_uplinks(const struct sc__cluster *c,
                        enum sc__level level,
                        uint32_t out,
                        uint32_t from,
                        uint32_t to);

/* Set what a shape has of a gather to GPU `root`, and of rails, where uplinks are thin; gpu
 * is sorted, NULL: GPUs 0 … s->ranks-1. */
void sc__root_count(const struct sc__cluster *c,
                    const uint32_t *gpu,
                    uint32_t root,
                    struct sc__shape *s);
void sc__rails_count(const struct sc__cluster *c,
                     const uint32_t *gpu,
                     uint32_t root,
                     struct sc__shape *s);

#endif
