/* step_places: how the groups of a pipeline's stages lie on the cluster. */
#ifndef SC_LOWER_STEP_PLACES_H
#define SC_LOWER_STEP_PLACES_H

#include "hardware/cluster.h"
#include "workload/mesh.h"

enum { SC__PLACED_GROUPS = SC__GROUP_ETP + 1 };

/* By kind of group; of a group of one all is 0. */
struct sc__stage_place {
    struct sc__shape shape[SC__PLACED_GROUPS];
};

/* Stages whose groups lie alike have one place. */
struct sc__stage_places {
    struct sc__stage_place *items;
    uint32_t count;
    uint32_t capacity;
    uint32_t *of_stage;
};

/* mesh: as ranks are placed. alone: without the groups that share gradients. Found once
 * for a mesh where the context has a memo. */
const struct sc__stage_places *sc__step_places(struct sc_context *ctx,
                                               const struct sc__cluster *cluster,
                                               const struct sc__mesh *mesh,
                                               bool alone);

#endif
