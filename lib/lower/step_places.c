#include "lower/step_places.h"

#include "base/hash.h"

#include <string.h>

/* What was found before: hash of a cluster and a mesh → struct sc__stage_places. */
struct places_table {
    struct sc__arena *arena;
    struct sc__map known;
};

static void find_shape(struct sc__arena *arena,
                       const struct sc__cluster *cluster,
                       const struct sc__mesh *mesh,
                       uint32_t stage,
                       enum sc__group_kind kind,
                       struct sc__shape *out) {
    uint32_t n = sc__mesh_group_size(mesh, kind);
    uint32_t rank = sc__mesh_move(mesh, 0, SC__DIM_PP, stage);
    uint32_t *gpu = SC__NEW_ARRAY(arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        gpu[i] = sc__mesh_group_member(mesh, kind, rank, i);
    *out = sc__cluster_shape(cluster, gpu, n);
}

static bool shares_gradients(int kind) {
    return kind == SC__GROUP_DP || kind == SC__GROUP_DP_CP || kind == SC__GROUP_DP_EP ||
           kind == SC__GROUP_SHARD_EP || kind == SC__GROUP_REPLICA_EP ||
           kind == SC__GROUP_SHARD || kind == SC__GROUP_REPLICA;
}

/* scratch: for what is needed on the way. */
static struct sc__stage_places *find_places(struct sc__arena *arena,
                                            struct sc__arena *scratch,
                                            const struct sc__cluster *cluster,
                                            const struct sc__mesh *mesh,
                                            bool alone) {
    struct sc__stage_places *out = SC__NEW(arena, struct sc__stage_places);
    out->of_stage = SC__NEW_ARRAY(arena, uint32_t, mesh->pp);
    for (uint32_t s = 0; s < mesh->pp; s++) {
        struct sc__stage_place p;
        memset(&p, 0, sizeof p);
        for (int k = 0; k < SC__PLACED_GROUPS; k++)
            if (!(alone && shares_gradients(k)) &&
                sc__mesh_group_size(mesh, (enum sc__group_kind)k) > 1)
                find_shape(scratch, cluster, mesh, s, (enum sc__group_kind)k, &p.shape[k]);
        uint32_t i = 0;
        while (i < out->count && memcmp(&out->items[i], &p, sizeof p) != 0)
            i++;
        if (i == out->count)
            *SC__PUSH(arena, out->items, out->count, out->capacity) = p;
        out->of_stage[s] = i;
    }
    return out;
}

static sc_status
make_table(struct sc_context *ctx, const char *name, const void *with, void **out) {
    struct places_table *table = SC__NEW(&ctx->arena, struct places_table);
    (void)name;
    (void)with;
    table->arena = &ctx->arena;
    sc__map_init(&table->known, table->arena);
    *out = table;
    return SC_OK;
}

const struct sc__stage_places *sc__step_places(struct sc_context *ctx,
                                               const struct sc__cluster *cluster,
                                               const struct sc__mesh *mesh,
                                               bool alone) {
    void *found;
    bool fresh;
    (void)sc__memo_ask(ctx, "places", "", make_table, NULL, &found); /* never fails */
    struct places_table *table = found;
    uint64_t key = sc__hash(mesh, sizeof *mesh, sc__cluster_shape_key(cluster) + alone);
    const uint64_t *known = sc__map_find(&table->known, key);
    if (known)
        return (const struct sc__stage_places *)(uintptr_t)*known;
    struct sc__stage_places *made =
        find_places(table->arena, &ctx->arena, cluster, mesh, alone);
    *sc__map_at(&table->known, key, &fresh) = (uint64_t)(uintptr_t)made;
    return made;
}
