#include "collective/constants.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>

#define ONE(field)                                                                         \
    { #field, offsetof(struct sc__constants, field), 1, 0 }
#define MANY(field, n)                                                                     \
    { #field, offsetof(struct sc__constants, field), n, 0 }
/* What a link is specified to carry cannot be exceeded. */
#define SHARE(field, n)                                                                    \
    { #field, offsetof(struct sc__constants, field), n, 1 }

const struct sc__constant sc__constant_table[] = {
    ONE(launch),
    ONE(launch_peer),
    MANY(eager, 2),
    MANY(base, 3),
    MANY(net_base, 3),
    MANY(ring_step, 3),
    MANY(ring_overlap, 3),
    ONE(ring_sync),
    ONE(ring_exposed),
    ONE(told_latency),
    MANY(tree_hop, 3),
    MANY(net_ring, 3),
    MANY(net_tree, 3),
    ONE(proxy),
    ONE(proxy_ll),
    MANY(tree_mix, 2),
    SHARE(tree_wire, 3),
    ONE(tree_simple),
    ONE(ring_outside),
    ONE(channels),
    ONE(ring_drift),
    ONE(shared_drift),
    ONE(p2p_base),
    ONE(p2p_simple),
    ONE(pairs_simple),
    ONE(p2p_net),
    MANY(p2p_peer, 2),
    SHARE(p2p_share, 1),
    ONE(p2p_copy),
    MANY(p2p_ll, 2),
    ONE(p2p_ll_channel),
    ONE(p2p_mix),
    ONE(p2p_channel),
    ONE(p2p_channels),
    ONE(net_channel),
    ONE(net_channels),
    ONE(pxn),
    MANY(pat, 3),
    SHARE(pat_wire, 1),
    MANY(collnet, 3),
    SHARE(nvlink, 1),
    ONE(mesh_link),
    ONE(ring_copy),
    MANY(own_copy, 3),
    SHARE(share, 3),
    SHARE(net_share, 3),
    ONE(nvls),
    ONE(nvls_rate),
    ONE(nvls_chunk_cost),
    ONE(nvls_base),
    SHARE(nvls_line, 1),
    ONE(nvls_spread),
    ONE(nvls_fill),
    MANY(nvls_channels, 2),
    ONE(nvls_chunk),
    MANY(nvls_tree, 5),
    SHARE(wire, 1),
    ONE(hop),
    MANY(ll128, 2),
    MANY(mesh_rings, SC__MESH_RINGS),
    MANY(custom, 5),
    MANY(two_level, 6),
    {NULL, 0, 0, 0},
};

const struct sc__constant *sc__constant_find(const char *name) {
    for (const struct sc__constant *k = sc__constant_table; k->name; k++)
        if (!strcmp(k->name, name))
            return k;
    return NULL;
}

static json_t *coll_constants_load(void) {
    return sc__data_json("collectives.json");
}

/* "h100-sxm" begins with "h100", but a card "a1000" is no "a100"; the longest such name
 * counts ("h200", not "h20"). */
static size_t match(const char *gpu, const char *name) {
    size_t length = strlen(name);
    bool begins = sc__str_starts_any_case(sc__str(gpu), name);
    return begins && !isdigit((unsigned char)gpu[length]) ? length : 0;
}

const char *
sc__constants_generation(struct sc_context *ctx, const char *gpu, double *nvlink) {
    json_t *root = coll_constants_load();
    json_t *generation;
    const char *name;
    const char *found = NULL;
    size_t longest = 0;
    json_object_foreach(json_object_get(root, "generations"), name, generation) {
        const char *key;
        json_t *rate;
        json_object_foreach(json_object_get(generation, "gpus"), key, rate) {
            if (match(gpu, key) <= longest)
                continue;
            longest = match(gpu, key);
            found = sc__strdup(&ctx->arena, name);
            *nvlink = json_number_value(rate) * 1e9;
        }
    }
    return found;
}

static bool
set_values(struct sc__constants *out, const struct sc__constant *k, const json_t *value) {
    double *to = sc__constant_at(out, k);
    if (k->count == 1) {
        to[0] = json_number_value(value);
        return json_is_number(value);
    }
    for (unsigned i = 0; i < k->count; i++)
        to[i] = json_number_value(json_array_get(value, i));
    return json_array_size(value) == k->count;
}

static sc_status
coll_constants_apply(struct sc_context *ctx, json_t *object, struct sc__constants *out) {
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
        const struct sc__constant *k = sc__constant_find(name);
        if (!k || !set_values(out, k, value))
            return sc__fail(ctx,
                            SC_SYSTEM,
                            NULL,
                            NULL,
                            "data/collectives.json: '%s' is not a constant of the model",
                            name);
    }
    return SC_OK;
}

static sc_status apply_part(struct sc_context *ctx,
                            json_t *root,
                            const char *part,
                            const char *name,
                            struct sc__constants *out) {
    json_t *entry = json_object_get(json_object_get(root, part), name);
    if (!entry) {
        struct sc__buffer names;
        const char *key;
        json_t *value;
        sc__buffer_init(&names, &ctx->arena);
        json_object_foreach(json_object_get(root, part), key, value)
            sc__printf(&names, "%s%s", names.size ? ", " : "known: ", key);
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        names.text,
                        "there is no '%s' among the %s of the collective model",
                        name,
                        part);
    }
    return coll_constants_apply(ctx, json_object_get(entry, "constants"), out);
}

sc_status sc__constants_load(struct sc_context *ctx,
                             const char *generation,
                             const char *class,
                             struct sc__constants *out) {
    json_t *root = coll_constants_load();
    memset(out, 0, sizeof *out);
    if (!root)
        return sc__fail(ctx,
                        SC_SYSTEM,
                        NULL,
                        NULL,
                        "data/collectives.json is missing or damaged");
    SC__TRY(coll_constants_apply(ctx, json_object_get(root, "universal"), out));
    SC__TRY(apply_part(ctx, root, "generations", generation, out));
    return apply_part(ctx, root, "classes", class, out);
}

static bool coll_constants_holds(json_t *root,
                                 const char *part,
                                 const char *name,
                                 const char *constant) {
    json_t *entry = json_object_get(json_object_get(root, part), name);
    return json_object_get(json_object_get(entry, "constants"), constant) != NULL;
}

const char *sc__constant_scope(struct sc_context *ctx,
                               const struct sc__constant *k,
                               const char *generation,
                               const char *class) {
    json_t *root = coll_constants_load();
    const char *scope = coll_constants_holds(root, "classes", class, k->name) ? class : "";
    if (!*scope && coll_constants_holds(root, "generations", generation, k->name))
        scope = generation;
    return sc__strdup(&ctx->arena, scope);
}

const char *sc__constants_grade(const char *part, const char *name, const char *machine) {
    json_t *root = coll_constants_load();
    json_t *entry = json_object_get(json_object_get(root, part), name);
    json_t *measured = json_object_get(entry, "measured");
    const char *grade = measured ? "scaled" : "guessed";
    for (size_t i = 0; machine && i < json_array_size(measured); i++)
        if (match(machine, json_string_value(json_array_get(measured, i))))
            grade = "measured";
    return grade;
}

/* Whether the GPU has an entry, and nodes no larger than it says. */
static bool in_mesh(json_t *meshes, const char *gpu, uint32_t node_gpus) {
    for (void *at = json_object_iter(meshes); at; at = json_object_iter_next(meshes, at))
        if (match(gpu, json_object_iter_key(at)) &&
            node_gpus <= json_integer_value(json_object_iter_value(at)))
            return true;
    return false;
}

bool sc__constants_full_mesh(const char *generation, const char *gpu, uint32_t node_gpus) {
    json_t *root = coll_constants_load();
    json_t *entry = json_object_get(json_object_get(root, "generations"), generation);
    return json_is_true(json_object_get(entry, "full_mesh")) ||
           in_mesh(json_object_get(entry, "meshes"), gpu, node_gpus);
}
