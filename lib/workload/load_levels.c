/* load_levels: which rank is of which level of load. */
#include "workload/workload.h"

#include <string.h>

static uint32_t place_in_group(const struct sc__mesh *mesh, uint32_t rank) {
    uint32_t i = 0;
    while (sc__mesh_group_member(mesh, SC__GROUP_EP, rank, i) != rank)
        i++;
    return i;
}

static uint32_t level_at(const struct sc__load_levels *levels, uint32_t place) {
    uint32_t level = 0;
    while (place >= levels->ranks[level])
        place -= levels->ranks[level++];
    return level;
}

void sc__workload_place_levels(struct sc__workload *w) {
    const struct sc__load_levels *levels = w->levels;
    uint32_t pp = w->mesh.pp;
    uint32_t count = levels->count * pp;
    uint32_t ranks = sc__mesh_ranks(&w->mesh);
    w->classes = SC__NEW_ARRAY(w->arena, struct sc__class, count);
    w->class_count = w->class_capacity = count;
    memcpy(w->classes, levels->classes, count * sizeof *w->classes);
    w->memory = SC__NEW_ARRAY(w->arena, struct sc__memory, count);
    memcpy(w->memory, levels->memory, count * sizeof *w->memory);
    for (uint32_t c = 0; c < count; c++)
        w->classes[c].ranks = 0;
    w->rank_class = SC__NEW_ARRAY(w->arena, uint32_t, ranks);
    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t level = level_at(levels, place_in_group(&w->mesh, r));
        uint32_t class = level * pp + sc__mesh_coordinate(&w->mesh, r, SC__DIM_PP);
        w->rank_class[r] = class;
        if (!w->classes[class].ranks++)
            w->classes[class].rank = r;
    }
    sc__workload_merge(w);
}
