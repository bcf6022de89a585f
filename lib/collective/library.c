#include "collective/library.h"

#include "workload/workload.h"

#include <string.h>

#define KIB 1024.0
#define MIB (1024.0 * 1024.0)

/* --- schedules ------------------------------------------------------------- */

static const struct {
    enum sc__coll_family family; /* of all-reduce, all-gather and reduce-scatter */
    enum sc__coll_relay relay;   /* of an all-to-all */
} algorithms[SC__ALGOS] = {
    [SC__ALGO_RING] = {SC__FAMILY_RING, SC__RELAY_NONE},
    [SC__ALGO_TREE] = {SC__FAMILY_TREE, SC__RELAY_NONE},
    [SC__ALGO_NVLS] = {SC__FAMILY_NVLS, SC__RELAY_NONE},
    [SC__ALGO_NVLS_TREE] = {SC__FAMILY_NVLS, SC__RELAY_NONE},
    [SC__ALGO_COLLNET] = {SC__FAMILY_COLLNET, SC__RELAY_NONE},
    [SC__ALGO_PAT] = {SC__FAMILY_PAT, SC__RELAY_NONE},
    [SC__ALGO_DIRECT] = {SC__FAMILY_PAIRS, SC__RELAY_NONE},
    [SC__ALGO_PXN] = {SC__FAMILY_PAIRS, SC__RELAY_AT_SOURCE},
    [SC__ALGO_HIERARCHICAL] = {SC__FAMILY_PAIRS, SC__RELAY_AT_DESTINATION},
    [SC__ALGO_TORUS] = {SC__FAMILY_TORUS, SC__RELAY_NONE},
    [SC__ALGO_CUSTOM] = {SC__FAMILY_PAIRS, SC__RELAY_NONE},
};

enum sc__coll_family sc__coll_family(enum sc__algo algo, int coll) {
    switch (coll) {
    case SC__BROADCAST:
    case SC__REDUCE:
        return SC__FAMILY_CHAIN;
    case SC__GATHER:
    case SC__SCATTER:
        return SC__FAMILY_ROOT;
    case SC__SHIFT:
        return SC__FAMILY_SHIFT;
    case SC__ALLTOALL:
        return SC__FAMILY_PAIRS;
    default:
        return algorithms[algo].family;
    }
}

enum sc__coll_relay sc__coll_relay(enum sc__algo algo, int coll) {
    return coll == SC__ALLTOALL ? algorithms[algo].relay : SC__RELAY_NONE;
}

void sc__coll_schedule_choose(enum sc__algo algo, int coll, struct sc__coll_schedule *s) {
    s->family = sc__coll_family(algo, coll);
    s->coll = coll == SC__BARRIER ? SC__ALLREDUCE : coll;
    s->relay = sc__coll_relay(algo, coll);
}

bool sc__coll_node_switch_reduces(const struct sc__cluster *c, double per_node) {
    return c->constants.nvls > 0 && c->inside == SC__INSIDE_SWITCH && per_node > 2;
}

bool sc__coll_part_of_mesh(const struct sc__cluster *c, double per_node) {
    return c->inside == SC__INSIDE_FULL && per_node > 1 && per_node < c->node_gpus;
}

bool sc__coll_box_of(const struct sc__cluster *c,
                     const struct sc__shape *s,
                     struct sc__coll_box *box,
                     uint32_t dim[SC__FABRIC_DIMS_MAX]) {
    double places = 1;
    *box = (struct sc__coll_box){0};
    for (uint32_t d = 0; d < c->fabric.dims; d++) {
        uint32_t extent = s->extent[d];
        bool round = c->fabric.dim[d].kind == SC__DIM_RING;
        if (extent < 2)
            continue;
        places *= extent;
        dim[box->dims] = d;
        box->size[box->dims] = extent;
        box->both_directions[box->dims] =
            round && extent == c->fabric.dim[d].size && extent > 2;
        box->all_to_all[box->dims++] = !round;
    }
    return places <= s->ranks && box->dims > 0;
}

struct sc__coll_group sc__coll_group_on(const struct sc__cluster *c,
                                        const uint32_t *gpu,
                                        uint32_t n,
                                        struct sc__arena *arena) {
    uint32_t *first = SC__NEW_ARRAY(arena, uint32_t, n + 1);
    struct sc__coll_group g = sc__coll_group_of(gpu, n, c->node_gpus, first);
    bool share = c->node_nics > 1 && c->node_nics < c->node_gpus;
    if (!share || c->fabric.kind == SC__FABRIC_DIMS)
        return g;
    uint32_t *nic = SC__NEW_ARRAY(arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        nic[i] = sc__cluster_nic(c, gpu[i]);
    sc__coll_group_doors(&g, nic, SC__NEW_ARRAY(arena, uint32_t, n));
    return g;
}

/* --- what can be run ------------------------------------------------------- */

enum {
    ALL_REDUCE = 1 << SC__ALLREDUCE,
    GATHERS = 1 << SC__ALLGATHER | 1 << SC__REDUCESCATTER,
    ALL_TO_ALL = 1 << SC__ALLTOALL,
    TO_ROOT = 1 << SC__GATHER | 1 << SC__SCATTER,
    CHAINS = 1 << SC__BROADCAST | 1 << SC__REDUCE,
    LOW_LATENCY = 1 << 0 | 1 << 1,
    SIMPLE = 1 << 2,
    ANY_PROTOCOL = LOW_LATENCY | SIMPLE
};

static const struct sc__coll_rule nccl_rules[] = {
    {SC__ALGO_RING, ALL_REDUCE | GATHERS, ANY_PROTOCOL, 0},
    {SC__ALGO_TREE, ALL_REDUCE, ANY_PROTOCOL, SC__RULE_SEVERAL_NODES},
    /* in one node a chain up and down, as many steps as a ring */
    {SC__ALGO_TREE, ALL_REDUCE, LOW_LATENCY, SC__RULE_ONE_NODE | SC__RULE_ASKED_FOR},
    {SC__ALGO_NVLS, ALL_REDUCE, SIMPLE, SC__RULE_ONE_NODE | SC__RULE_NODE_SWITCH_REDUCES},
    {SC__ALGO_NVLS_TREE,
     ALL_REDUCE,
     SIMPLE,
     SC__RULE_SEVERAL_NODES | SC__RULE_NODE_SWITCH_REDUCES},
    /* NCCL needs a plugin for it */
    {SC__ALGO_COLLNET,
     ALL_REDUCE,
     SIMPLE,
     SC__RULE_SEVERAL_NODES | SC__RULE_FABRIC_SWITCH_REDUCES | SC__RULE_ASKED_FOR},
    {SC__ALGO_PAT, GATHERS, SIMPLE, SC__RULE_SEVERAL_NODES | SC__RULE_ONE_PER_NODE},
    {SC__ALGO_DIRECT, ALL_TO_ALL | TO_ROOT, SIMPLE, 0},
    {SC__ALGO_DIRECT, ALL_REDUCE | GATHERS, SIMPLE, SC__RULE_ASKED_FOR},
    {SC__ALGO_PXN,
     ALL_TO_ALL,
     SIMPLE,
     SC__RULE_SEVERAL_NODES | SC__RULE_SEVERAL_PER_NODE | SC__RULE_PXN},
    {SC__ALGO_HIERARCHICAL, ALL_TO_ALL, SIMPLE, SC__RULE_ASKED_FOR},
    {SC__ALGO_CHAIN, CHAINS, ANY_PROTOCOL, 0},
    /* of another library, beside NCCL's */
    {SC__ALGO_CUSTOM, ALL_REDUCE, SIMPLE, SC__RULE_ONE_NODE | SC__RULE_ASKED_FOR},
};

static const struct sc__coll_rule deepep_rules[] = {
    {SC__ALGO_HIERARCHICAL, ALL_TO_ALL, SIMPLE, 0},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

const struct sc__coll_library sc__coll_nccl = {"nccl", nccl_rules, COUNT(nccl_rules)};
const struct sc__coll_library sc__coll_deepep = {
    "deepep", deepep_rules, COUNT(deepep_rules)};

/* --- NCCL's chunks ---------------------------------------------------------- */

const struct sc__coll_chunk_rule sc__nccl_nvls_chunks[] = {
    {64, 64 * KIB}, {8, 32 * KIB}, {2, 16 * KIB}, {0, 0}};
const struct sc__coll_chunk_rule sc__nccl_nvls_tree_chunks[] = {
    {32, 256 * KIB}, {16, 128 * KIB}, {4, 64 * KIB}, {1, 32 * KIB}, {0, 0}};

/* Buffers of 4 MiB in 8 steps, 4 to a chunk, 2 to a slice; a message has a channel for each
 * eighth of a step, as many as its peer has, and asks for more from 32 steps a channel on.
 */
const struct sc__nccl_limits sc__nccl_limits = {.ring_chunk = 2 * MIB,
                                                .ring_slice = 32 * KIB,
                                                .nvls_least = 32 * KIB,
                                                .nvls_tree_chunk = 64 * KIB,
                                                .nvls_tree_nodes = 4,
                                                .proxy_slices = 3,
                                                .p2p_part = 16 * MIB,
                                                .p2p_first = 64 * KIB,
                                                .p2p_ll_part = 8 * KIB,
                                                .p2p_ll_most = 16 * KIB};

/* --- NCCL's tuner ----------------------------------------------------------- */

const struct sc__nccl_tuner sc__nccl_tuner = {.ring_base = {6.6, 14, 8.4},
                                              .ring_inside = {0.6, 1.9, 3.4},
                                              .ring_outside = {2.7, 4, 14},
                                              .tree_base = {6.8, 14, 8.4},
                                              .tree_inside = {0.6, 1.25, 4},
                                              .tree_outside = {5, 8.5, 14},
                                              .nvls_latency = 25,
                                              .nvls_tree_latency = 20.9,
                                              .channels = {24, 16}};

static const struct sc__nccl_tuner_generation tuner_generations[] = {
    {.generation = "volta",
     .ll_most = {39, 39, 20.4},
     .ring_ll128 = 20,
     .tree_ll128 = {20, 20, 20},
     .tree_simple = {24, 23.6, 17.8},
     .link = 20,
     .links = 6},
    {.generation = "ampere",
     .ll_most = {87.7, 22.5, 19},
     .ring_ll128 = 20,
     .tree_ll128 = {20, 20, 20},
     .tree_simple = {24, 23.6, 17.8},
     .link = 20,
     .links = 12},
    {.generation = "hopper",
     .ll_most = {141, 45, 35},
     .ring_ll128 = 36.7,
     .tree_ll128 = {36.7, 36.7, 29},
     .tree_simple = {38.7, 41.4, 36},
     .nvls_tree = {0, 57.7, 45.5},
     .nvls_efficiency = 0.85,
     .link = 20.6,
     .links = 18},
    {.generation = "blackwell",
     .ll_most = {282, 90, 70},
     .ring_ll128 = 40,
     .tree_ll128 = {55.6, 31.67, 20},
     .tree_simple = {70, 42.8, 24},
     .nvls_tree = {0, 96, 80},
     .nvls_efficiency = 0.74,
     .link = 40.1,
     .links = 18},
};

const struct sc__nccl_tuner_generation *sc__nccl_tuner_generation(const char *generation) {
    const struct sc__nccl_tuner_generation *hopper = NULL;
    for (unsigned i = 0; i < COUNT(tuner_generations); i++) {
        if (!strcmp(tuner_generations[i].generation, generation))
            return &tuner_generations[i];
        if (!strcmp(tuner_generations[i].generation, "hopper"))
            hopper = &tuner_generations[i];
    }
    return hopper;
}
