/* dims_path: the links of a fabric of dimensions, and the ways over them. A path corrects
 * one coordinate after the other.
 *
 * Links, by dimension d and GPU g: two a ring node (forth, back); size-1 a
 * full-mesh node; two a switch node (up, down). Path w starts with dimension
 * w % dims. */
#ifndef SC_HARDWARE_DIMS_PATH_H
#define SC_HARDWARE_DIMS_PATH_H

#include "hardware/cluster.h"

#define SC__DIMS_HOPS 250 /* of the longest path, at most */

struct sc__dims {
    const struct sc__fabric *fabric;
    uint32_t first[SC__FABRIC_DIMS_MAX];
    uint32_t stride[SC__FABRIC_DIMS_MAX];
    uint32_t links;
    uint32_t hops; /* of the longest path */
};

/* False where the dimensions do not hold the GPUs, or hold too many links. */
bool sc__dims_init(const struct sc__cluster *c, struct sc__dims *t);

/* Of a GPU. */
uint32_t sc__dims_links(const struct sc__fabric_dim *d);
/* Coordinate d of a GPU, and the GPU that has another. */
uint32_t sc__dims_at(const struct sc__dims *t, uint32_t gpu, uint32_t d);
uint32_t sc__dims_move(const struct sc__dims *t, uint32_t gpu, uint32_t d, uint32_t to);

uint32_t sc__dims_paths(const struct sc__dims *t, uint32_t from, uint32_t to);
/* Its links; how many. */
uint32_t sc__dims_path(
    const struct sc__dims *t, uint32_t from, uint32_t to, uint32_t w, uint32_t *links);

/* Members (sorted) of a group on a fabric of dimensions, in an order in which
 * neighbours are next to each other. */
uint32_t *sc__dims_snake(struct sc__arena *arena,
                         const struct sc__cluster *c,
                         const uint32_t *gpu,
                         uint32_t n);

#endif
