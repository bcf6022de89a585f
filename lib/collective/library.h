/* library: what is known of the libraries that run collectives, as tables: which
 * algorithms and protocols they have for which collective and where, the
 * schedules these follow, and how they cut a buffer into chunks. Times and
 * bandwidths that were measured are in data/collectives.json (constants.h). */
#ifndef SC_COLLECTIVE_LIBRARY_H
#define SC_COLLECTIVE_LIBRARY_H

#include "collective/schedule.h"
#include "hardware/cluster.h"

/* Sets family, collective and relay of a schedule: how the algorithm runs the
 * collective. A collective that an algorithm does not have goes round a ring. */
void sc__coll_schedule_choose(enum sc__algo algo, int coll, struct sc__coll_schedule *s);
enum sc__coll_family sc__coll_family(enum sc__algo algo, int coll);
enum sc__coll_relay sc__coll_relay(enum sc__algo algo, int coll);

/* Whether the switch of a node reduces and multicasts (NVLink SHARP): for more than two
 * GPUs of it. */
bool sc__coll_node_switch_reduces(const struct sc__cluster *c, double per_node);
/* Whether a group has some of the GPUs of a node in which each has a link to each other. */
bool sc__coll_part_of_mesh(const struct sc__cluster *c, double per_node);
/* The box of a group on a fabric of dimensions: those it extends in, dim[i] of the
 * fabric's. False where the group does not fill it. */
bool sc__coll_box_of(const struct sc__cluster *c,
                     const struct sc__shape *s,
                     struct sc__coll_box *box,
                     uint32_t dim[SC__FABRIC_DIMS_MAX]);

/* How a group lies on the nodes and NICs of a cluster; what it needs is made in arena. */
struct sc__coll_group sc__coll_group_on(const struct sc__cluster *c,
                                        const uint32_t *gpu,
                                        uint32_t n,
                                        struct sc__arena *arena);

/* Where a group must lie, and what the cluster must have, for an algorithm. */
enum {
    SC__RULE_ONE_NODE = 1 << 0,
    SC__RULE_SEVERAL_NODES = 1 << 1,
    SC__RULE_ONE_PER_NODE = 1 << 2,
    SC__RULE_SEVERAL_PER_NODE = 1 << 3,
    SC__RULE_NODE_SWITCH_REDUCES = 1 << 4,
    SC__RULE_FABRIC_SWITCH_REDUCES = 1 << 5, /* SHARP */
    SC__RULE_PXN = 1 << 6,                   /* may change rails inside a node */
    SC__RULE_ASKED_FOR = 1 << 7              /* not taken unasked */
};

/* One thing a library can run. */
struct sc__coll_rule {
    enum sc__algo algo;
    uint32_t collectives; /* bits 1 << enum sc__coll */
    uint32_t protocols;   /* bits 1 << 0 … 2: LL, LL128, Simple */
    uint32_t conditions;  /* SC__RULE_ …, all of them */
};

struct sc__coll_library {
    const char *name;
    const struct sc__coll_rule *rules; /* in the order in which the first of equals wins */
    uint32_t rule_count;
};

extern const struct sc__coll_library sc__coll_nccl;   /* and what has its algorithms */
extern const struct sc__coll_library sc__coll_deepep; /* all-to-alls of experts */

/* NCCL's chunks: a buffer of less than `rounds` rounds of the chunk so far has chunks of at
 * most `chunk` bytes, so that its channels have enough to do; ended by rounds 0. */
struct sc__coll_chunk_rule {
    double rounds;
    double chunk;
};

extern const struct sc__coll_chunk_rule sc__nccl_nvls_chunks[];
extern const struct sc__coll_chunk_rule sc__nccl_nvls_tree_chunks[];

struct sc__nccl_limits {
    double ring_chunk;      /* bytes a channel moves in a step at most (Simple) */
    double ring_slice;      /* bytes of a slice at least: half a chunk where that is more */
    double nvls_least;      /* bytes below which NVLS is not used */
    double nvls_tree_chunk; /* bytes, from nvls_tree_nodes nodes on */
    double nvls_tree_nodes;
    double proxy_slices; /* steps of the proxy thread in a step of a Simple ring */
    double p2p_part;     /* bytes of a message on a channel that ask for more channels */
    double p2p_first;    /* bytes of a message inside a node that one channel takes */
    double p2p_ll_part;  /* the same of LL */
    double p2p_ll_most;  /* bytes of a message by LL, for each channel there is */
};

extern const struct sc__nccl_limits sc__nccl_limits;

/* NCCL's own cost table (its tuner), us and GB/s; arrays of three by protocol, or by
 * number of nodes: one, two and three, four and more. */
struct sc__nccl_tuner_generation {
    const char *generation;
    double ll_most[3];     /* of all channels, by nodes */
    double ring_ll128;     /* of a channel */
    double tree_ll128[3];  /* of a channel, by nodes */
    double tree_simple[3]; /* … */
    double nvls_tree[3];   /* … */
    double nvls_efficiency;
    double link;  /* NVLink: of a link */
    double links; /* … of a GPU */
};

struct sc__nccl_tuner {
    double ring_base[3];
    double ring_inside[3];
    double ring_outside[3];
    double tree_base[3];
    double tree_inside[3];
    double tree_outside[3];
    double nvls_latency;
    double nvls_tree_latency; /* a hop */
    double channels[2];       /* one node, several */
};

extern const struct sc__nccl_tuner sc__nccl_tuner;
/* Hopper's where the generation is not known. */
const struct sc__nccl_tuner_generation *sc__nccl_tuner_generation(const char *generation);

#endif
