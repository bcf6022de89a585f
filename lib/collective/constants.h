/* constants: the numbers of the collective model. They depend on
 * the GPU generation and the class of the fabric, never on one system; a
 * calibration may replace them in a cluster file. data/collectives.json has
 * every value with its source, docs/model/collectives.md the equations.
 *
 * Arrays of three are by protocol: LL, LL128, Simple. Times in us, rates in
 * GB/s. */
#ifndef SC_COLLECTIVE_CONSTANTS_H
#define SC_COLLECTIVE_CONSTANTS_H

#include "base/base.h"

#define SC__MESH_RINGS 9

struct sc__constants {
    double launch;          /* per GPU that one process drives */
    double launch_peer;     /* more of it for each peer of an all-to-all */
    double eager[2];        /* a collective timed by PyTorch: one node, several */
    double base[3];         /* a kernel that does nothing, in one node */
    double net_base[3];     /* the same where the group leaves the node */
    double ring_step[3];    /* a step of a ring inside a node */
    double ring_overlap[3]; /* how well those steps hide behind the bytes: 1 not at all */
    double ring_sync;       /* the threads of a Simple ring that leaves the node, a step */
    double ring_exposed;    /* share of a trip round such a ring that no bytes hide */
    double told_latency;    /* us a hop takes by what the network's plugin tells NCCL */
    double tree_hop[3];     /* a hop of a tree inside a node */
    double net_ring[3];     /* a step of a ring between nodes */
    double net_tree[3];     /* a hop of a tree between nodes */
    double proxy;           /* least time of a step inside a node when the ring leaves it */
    double proxy_ll; /* the same of LL, which does not wait for the proxy's buffers */
    double
        tree_mix[2]; /* how badly a tree overlaps latency and transfer: one node, several */
    double tree_wire[3]; /* share of the wire a tree reaches */
    double tree_simple;  /* share of NVLink a Simple tree reaches */
    double ring_outside; /* share of NVLink a Simple ring keeps that leaves the node */
    double channels;     /* of a ring that leaves the node */
    double ring_drift;   /* ranks of a Simple ring wait for each other: us^0.5 */
    double shared_drift; /* more of it in an all-reduce of one process: us^0.5 */
    double p2p_base;     /* send/receive and all-to-all */
    double p2p_simple;   /* more of it with the Simple protocol */
    /* the same of an all-to-all in a node where its first bytes are on one channel; 0: that
     * is not known */
    double pairs_simple;
    double p2p_net;        /* of messages, added when it leaves the node */
    double p2p_peer[2];    /* all-to-all, per peer in the node, outside */
    double p2p_share;      /* of NVLink */
    double p2p_copy;       /* GB/s of a rank's own part of an all-to-all */
    double p2p_ll[2];      /* GB/s of LL to one peer: of an all-to-all, of a message */
    double p2p_ll_channel; /* GB/s of LL on a channel of an all-to-all, 0: not used */
    double p2p_mix;        /* how badly an all-to-all overlaps latency and transfer */
    double p2p_channel;    /* GB/s of a channel inside a node */
    double p2p_channels;   /* that a message and its peers have together */
    double net_channel;    /* GB/s of a channel to another node */
    double net_channels;   /* a peer on another node has (NCCL_NCHANNELS_PER_NET_PEER) */
    double pxn;            /* us for the extra copy of a message that changes rails */
    double pat[3];         /* base, per doubling of nodes / 3.5, per rank */
    double pat_wire;       /* share of the bandwidth PAT reaches */
    double collnet[3];     /* us inside a node, us through the switches, share of NVLS'
                              bandwidth */
    double nvlink;         /* share of NVLink a ring reaches */
    double mesh_link; /* GB/s rings of a part of a full mesh get out of a link, 0: as all */
    double ring_copy; /* GB/s the threads of a Simple ring copy in a node */
    /* GB/s at which they handle the rank's own part besides: all-reduce, all-gather,
     * reduce-scatter */
    double own_copy[3];
    double share[3];        /* of that bandwidth, by protocol */
    double net_share[3];    /* the same where the ring or tree leaves the node */
    double nvls;            /* 1 where the switch reduces */
    double nvls_rate;       /* of the SMs that drive it */
    double nvls_chunk_cost; /* us per round of chunks */
    double nvls_base;
    double nvls_line;        /* share of NVLink */
    double nvls_spread;      /* loss of more than 8 GPUs: (8/p)^this */
    double nvls_fill;        /* rounds in which its pipeline fills and empties */
    double nvls_channels[2]; /* one node, several */
    double nvls_chunk;       /* bytes, largest */
    double
        nvls_tree[5]; /* base, per hop, share of NVLS, share of the wire, rounds to fill */
    double wire;      /* share of the NIC */
    double hop;       /* us a network hop costs more than on InfiniBand */
    double ll128[2];  /* 1 where LL128 may be used: inside a node, across the network */
    double mesh_rings[SC__MESH_RINGS]; /* cube mesh: links used, by ranks */
    /* serving stacks: us, us a peer, share of NVLink in one shot, us more and share in two
     */
    double custom[5];
    /* DeepEP, HybridEP: share of the NIC, share of NVLink, base us; what share and base
     * lose and gain with each doubling of an NVLink domain beyond 8 ranks; norm of both
     * parts */
    double two_level[6];
};

struct sc__constant {
    const char *name;
    size_t offset;
    unsigned count;
    double most; /* 0: any */
};

extern const struct sc__constant sc__constant_table[]; /* ended by a NULL name */

static inline double *sc__constant_at(struct sc__constants *c,
                                      const struct sc__constant *k) {
    return (double *)((char *)c + k->offset);
}

const struct sc__constant *sc__constant_find(const char *name);
/* Whose value it is: the generation's name, the class's, or "" for all. */
const char *sc__constant_scope(struct sc_context *ctx,
                               const struct sc__constant *k,
                               const char *generation,
                               const char *class);
/* The generation a GPU belongs to ("h100-sxm" → "hopper"), NULL when unknown;
 * *nvlink (bytes/s) is set where data/collectives.json knows it. */
const char *
sc__constants_generation(struct sc_context *ctx, const char *gpu, double *nvlink);
/* How the constants of one of the "generations" (for a GPU) or "classes" (for a
 * generation) are known: "measured", "scaled" from others, or "guessed". */
const char *sc__constants_grade(const char *part, const char *name, const char *machine);
/* Whether so many GPUs of a node have a link to each other one instead of a switch: all of
 * the generation ("full_mesh"), or this GPU in nodes of up to so many ("meshes"). */
bool sc__constants_full_mesh(const char *generation, const char *gpu, uint32_t node_gpus);
/* All constants of a generation on a class of fabric. */
sc_status sc__constants_load(struct sc_context *ctx,
                             const char *generation,
                             const char *class,
                             struct sc__constants *out);

#endif
