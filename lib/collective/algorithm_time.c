/* collective: how long a collective takes, by the algorithm and protocol NCCL
 * would run. Equations and constants: docs/model/collectives.md.
 *
 *     T = max( least over allowed (algorithm, protocol),  launch · GPUs of a process )
 *
 *              inside a node                 between nodes
 *     ring     n-1 or 2(n-1) steps, the slowest hop's bandwidth
 *     tree     chain in the node             double binary tree of nodes
 *     NVLS     the switch reduces            NVLSTree: the same, and a tree of nodes
 *     PAT      –                             one rank a node: log2 steps
 *
 * The ring's rate is the slowest hop's: NVLink's share, or all NICs of the
 * group on a node. What crosses thin uplinks is in collective_cross.c. */
#include "collective/cost_model.h"

#include "workload/workload.h"

#include <math.h>

#define KIB 1024.0
#define MIB (1024.0 * 1024.0)

static const struct sc__coll_span never = {SC__NEVER, 0};

static struct sc__coll_span span(double still, double move) {
    return (struct sc__coll_span){still, move};
}

/* us of x bytes at rate GB/s. */
static double transfer(double bytes, double rate) {
    return bytes > 0 ? bytes / (1e3 * rate) : 0;
}

/* A ring that leaves the node has one hop fewer inside it than ranks, so its
 * NVLink ports carry (p-1)/p of it: Simple fills the wire where NVLink alone
 * would not (DGX H100: 380 GB/s between nodes, 366 inside). */
static double ring_inside(const struct sc__coll_model *m, unsigned proto) {
    if (proto < 2)
        return m->nvlink;
    return m->k->ring_outside * m->nvlink * m->per_node / fmax(1, m->per_node - 1);
}

static double ring_bandwidth(const struct sc__coll_model *m, unsigned proto) {
    if (m->nodes < 2)
        return m->nvlink;
    return m->per_node < 2 ? m->wire : fmin(ring_inside(m, proto), m->wire);
}

static bool gathers(const struct sc__coll_model *m) {
    return m->coll == SC__ALLGATHER || m->coll == SC__REDUCESCATTER;
}
static bool leaves_node(const struct sc__coll_model *m) {
    return m->nodes > 1;
}

/* Us of one step of a ring inside a node; a ring that also leaves the node
 * is paced by the proxy thread. */
static double ring_step(const struct sc__coll_model *m, unsigned proto) {
    double step = m->k->ring_step[proto] * m->k->latency;
    return leaves_node(m) ? fmax(step, m->k->proxy * (proto == 2 ? 3 : 1)) : step;
}

static double ring_channels(const struct sc__coll_model *m) {
    if (m->cluster->inside == SC__INSIDE_MESH && !leaves_node(m))
        return 2 * m->k->mesh_rings[(int)fmin(m->per_node, SC__MESH_RINGS - 1)];
    if (!leaves_node(m))
        return m->k->channels[0];
    return m->per_node >= 8 ? m->k->channels[1] : 2 * m->per_node;
}

/* A ring as the parts that may overlap see it. */
struct coll_algorithm_time_ring {
    double steps;   /* of every rank */
    double latency; /* us of all steps one after the other */
    double volume;  /* bytes through every connection, all channels */
    double chunk;   /* bytes of a step on one channel; more take several rounds */
    double share;   /* of a hop's bandwidth that its protocol and operation reach */
    double rate;    /* GB/s of the slowest hop */
};

static struct coll_algorithm_time_ring make_ring(const struct sc__coll_model *m,
                                                 unsigned proto) {
    const struct sc__constants *k = m->k;
    double passes = m->coll == SC__ALLREDUCE ? 2 : 1;
    double outside = passes * (m->nodes - 1);
    struct coll_algorithm_time_ring r = {.steps = passes * (m->ranks - 1)};
    double net = (m->per_node < 2 ? k->net_tree : k->net_ring)[proto] + m->hop;
    r.latency = (r.steps - outside) * ring_step(m, proto) + outside * net;
    r.volume = m->bytes * r.steps / m->ranks;
    r.chunk = m->bytes / (m->ranks * ring_channels(m));
    r.share = k->share[proto] * (gathers(m) ? k->ring_gather : 1);
    r.rate = r.share * ring_bandwidth(m, proto);
    return r;
}

/* Simple between nodes. Three things go on at once, and the longest decides:
 * the wire carries the volume; the threads of a rank copy it and synchronise at
 * every step; and a chunk goes round, where a rank passes on the first half of
 * it (a slice, of 32 KiB at least) while the second arrives. */
static double ring_overlapped(const struct sc__coll_model *m,
                              const struct coll_algorithm_time_ring *r) {
    double rounds = fmax(1, r->chunk / (2 * MIB));
    double slice = fmax(0.5, fmin(1, 32 * KIB / r->chunk));
    double wire = transfer(r->volume, r->share * m->wire);
    double round = rounds * r->latency + slice * transfer(r->volume, r->rate);
    double copies = transfer(r->volume, r->share * ring_inside(m, 2)) +
                    r->steps * m->k->ring_step[2] * m->k->latency;
    return fmax(fmax(wire, round), m->per_node > 1 ? copies : 0);
}

static struct sc__coll_span ring_span(const struct sc__coll_model *m, unsigned proto) {
    const struct sc__constants *k = m->k;
    if (m->coll != SC__ALLREDUCE && !gathers(m))
        return never;
    struct coll_algorithm_time_ring r = make_ring(m, proto);
    double alone =
        proto < 2 ? 0
                  : k->slice * transfer(fmin(MIB, r.chunk / 2) * ring_channels(m), r.rate);
    if (proto == 2 && leaves_node(m))
        return span(k->base[2] + alone, ring_overlapped(m, &r));
    return span(k->base[proto] + r.latency + alone, transfer(r.volume, r.rate));
}

/* Bytes per node and direction of a double binary tree, of the buffer. */
static double tree_volume(const struct sc__coll_model *m) {
    return fmin(2, m->nodes / 2);
}

static double tree_depth(const struct sc__coll_model *m) {
    return ceil(log2(m->nodes) - 1e-9);
}

static struct sc__coll_span tree_span(const struct sc__coll_model *m, unsigned proto) {
    const struct sc__constants *k = m->k;
    bool outside = leaves_node(m);
    if (m->coll != SC__ALLREDUCE || (proto == 2 && !outside))
        return never;
    double share = proto == 2 ? k->tree_simple : k->share[proto];
    double latency = 2 * (m->per_node - 1) * k->tree_hop[proto] * k->latency;
    double move = m->per_node > 1 ? transfer(2 * m->bytes, share * m->nvlink) : 0;
    if (outside) {
        latency += 2 * tree_depth(m) * (k->net_tree[proto] + m->hop);
        move =
            fmax(move, transfer(tree_volume(m) * m->bytes, m->wire * k->tree_wire[proto]));
    }
    return span(k->base[proto] + latency,
                move + k->tree_mix[outside] * sqrt(latency * move));
}

/* NCCL's chunks of NVLS: below each of these sizes (in rounds of the chunk so
 * far) the chunk is at most so large, that the buffer may fill its rounds. */
struct chunk_rule {
    double rounds;
    double chunk;
};

static const struct chunk_rule nvls_rules[] = {
    {64, 64 * KIB}, {8, 32 * KIB}, {2, 16 * KIB}, {0, 0}};
static const struct chunk_rule nvls_tree_rules[] = {
    {32, 256 * KIB}, {16, 128 * KIB}, {4, 64 * KIB}, {1, 32 * KIB}, {0, 0}};

static double
nvls_chunk(const struct chunk_rule *rule, double most, double ops, double bytes) {
    double chunk = most;
    for (; rule->rounds > 0; rule++)
        if (bytes < rule->rounds * ops * chunk)
            chunk = fmin(chunk, rule->chunk);
    return chunk;
}

/* Us of one round of `loop` bytes through the switches of a node. */
static double nvls_round(const struct sc__coll_model *m, double loop) {
    double moved = loop * (1 + 1 / m->per_node);
    return fmax(transfer(moved, m->k->nvls_rate) + m->k->nvls_chunk_cost,
                transfer(moved, m->k->nvls_line * m->port));
}

static bool has_nvls(const struct sc__coll_model *m) {
    return m->k->nvls > 0 && m->cluster->inside == SC__INSIDE_SWITCH &&
           m->coll == SC__ALLREDUCE && m->per_node > 2;
}

typedef double at_size(const struct sc__coll_model *m, double bytes);

/* The chunk rules make some sizes slower than the next larger chunk's first
 * size; nothing keeps a smaller message from taking that long at most. */
static double least_of_larger(const struct sc__coll_model *m,
                              const struct chunk_rule *rules,
                              double most,
                              double ops,
                              at_size *time) {
    double best = time(m, m->bytes);
    double chunk = most;
    for (; rules->rounds > 0; rules++) {
        double edge = rules->rounds * ops * chunk;
        if (edge > m->bytes)
            best = fmin(best, time(m, edge));
        chunk = fmin(chunk, rules->chunk);
    }
    return best;
}

static double nvls_at(const struct sc__coll_model *m, double bytes) {
    double ops = m->k->nvls_channels[0] * m->per_node;
    double loop = fmin(ops * nvls_chunk(nvls_rules, m->k->nvls_chunk, ops, bytes), bytes);
    return (bytes / loop + 2.2) * nvls_round(m, loop);
}

/* Below 32 KiB NCCL does not use NVLS; counting such a message as 32 KiB keeps
 * the time from falling when it begins to. */
static double nvls_rounds(const struct sc__coll_model *m) {
    struct sc__coll_model padded = *m;
    double ops = m->k->nvls_channels[0] * m->per_node;
    padded.bytes = fmax(m->bytes, 32 * KIB);
    return least_of_larger(&padded, nvls_rules, m->k->nvls_chunk, ops, nvls_at);
}

static struct sc__coll_span nvls_span(const struct sc__coll_model *m, unsigned proto) {
    if (proto < 2 || !has_nvls(m) || leaves_node(m))
        return never;
    return span(m->k->nvls_base, nvls_rounds(m));
}

static double nvls_tree_most(const struct sc__coll_model *m) {
    return m->nodes >= 4 ? fmin(m->k->nvls_chunk, 64 * KIB) : m->k->nvls_chunk;
}

static double nvls_tree_at(const struct sc__coll_model *m, double bytes) {
    const double *t = m->k->nvls_tree;
    double ops = m->k->nvls_channels[1] * m->per_node;
    double loop =
        fmin(ops * nvls_chunk(nvls_tree_rules, nvls_tree_most(m), ops, bytes), bytes);
    double round =
        fmax(nvls_round(m, loop) / t[2], transfer(tree_volume(m) * loop, m->wire * t[3]));
    return (bytes / loop + t[4]) * round;
}

static struct sc__coll_span nvls_tree_span(const struct sc__coll_model *m, unsigned proto) {
    const double *t = m->k->nvls_tree;
    if (proto < 2 || !has_nvls(m) || !leaves_node(m))
        return never;
    double ops = m->k->nvls_channels[1] * m->per_node;
    return span(t[0] + 2 * tree_depth(m) * (t[1] + m->hop),
                least_of_larger(m, nvls_tree_rules, nvls_tree_most(m), ops, nvls_tree_at));
}

/* The switches of the fabric reduce: a node sends its buffer once. Only when
 * asked for: NCCL needs a plugin for it. */
static struct sc__coll_span collnet_span(const struct sc__coll_model *m, unsigned proto) {
    if (proto < 2 || m->coll != SC__ALLREDUCE || !leaves_node(m) ||
        !m->cluster->fabric.sharp)
        return never;
    double inside = m->per_node > 1 ? 2 * (m->per_node - 1) / m->per_node : 0;
    double node = inside > 0 ? transfer(m->bytes * inside, m->nvlink) : 0;
    if (has_nvls(m))
        node = nvls_rounds(m) / m->k->collnet[2];
    return span(m->k->base[2] + m->k->collnet[0] + m->k->collnet[1] + m->hop,
                fmax(node, transfer(m->bytes, m->wire)));
}

static struct sc__coll_span pat_span(const struct sc__coll_model *m, unsigned proto) {
    const struct sc__constants *k = m->k;
    if (proto < 2 || !gathers(m) || m->per_node > 1 || m->nodes < 2)
        return never;
    return span(k->pat[0] + log2(m->nodes) * (k->pat[1] + m->hop) / 3.5 +
                    k->pat[2] * m->ranks,
                transfer(m->bytes * (m->ranks - 1) / m->ranks,
                         k->pat_wire * ring_bandwidth(m, proto)));
}

/* Every rank to every other one: latency of the messages, then the fuller of
 * its NVLink port and its NIC. `copied` messages pass the port once more. */
static struct sc__coll_span
pairs_span(const struct sc__coll_model *m, double more, double copied) {
    const struct sc__constants *k = m->k;
    double inside = m->per_node - 1;
    double outside = m->ranks - m->least;
    double passes = m->coll == SC__ALLREDUCE ? 2 : 1;
    double latency = k->p2p_base * k->latency + k->p2p_peer[0] * inside +
                     k->p2p_peer[1] * outside + more;
    double port = transfer(m->bytes * (inside + copied) / m->ranks, k->p2p_share * m->port);
    if (!leaves_node(m))
        return span(passes * latency, passes * port);
    double nic = transfer(m->bytes * outside / m->ranks, m->nic);
    return span(passes * (latency + k->p2p_net + m->hop), passes * fmax(port, nic));
}

static struct sc__coll_span direct_span(const struct sc__coll_model *m, unsigned proto) {
    bool all_pairs = m->coll == SC__ALLTOALL || m->coll == SC__ALLREDUCE || gathers(m);
    struct sc__coll_model root = *m; /* its part of it, over its card alone */
    root.nic = m->card;
    if (proto == 2 && sc__coll_to_root((unsigned)m->coll))
        return pairs_span(&root, 0, 0);
    return proto < 2 || !all_pairs ? never : pairs_span(m, 0, 0);
}

/* The message changes GPUs inside its node first, so that it stays on the
 * destination's rail. */
static struct sc__coll_span pxn_span(const struct sc__coll_model *m, unsigned proto) {
    if (proto < 2 || m->coll != SC__ALLTOALL || !leaves_node(m) || m->per_node < 2 ||
        m->cluster->tuning.no_pxn)
        return never;
    return pairs_span(m, m->k->pxn, m->ranks - m->per_node);
}

double sc__two_level_share(const struct sc__cluster *c, uint32_t ranks, uint32_t nodes) {
    double copies = c->tuning.copies > 0 ? c->tuning.copies : ranks;
    return nodes * (1 - pow(1 - 1.0 / nodes, copies)) / copies;
}

/* DeepEP: a token crosses to a node once, whatever number of its ranks want
 * it, and is copied on over NVLink there. Of copies at random over the
 * nodes, distinct nodes are N(1-(1-1/N)^k). */
static struct sc__coll_span two_level_span(const struct sc__coll_model *m, unsigned proto) {
    const struct sc__constants *k = m->k;
    if (proto < 2 || m->coll != SC__ALLTOALL)
        return never;
    double share = sc__two_level_share(m->cluster, (uint32_t)m->ranks, (uint32_t)m->nodes);
    double wire =
        transfer(m->bytes * share * (m->nodes - 1) / m->nodes, k->two_level[0] * m->nic);
    double port =
        transfer(m->bytes * (m->per_node - 1) / m->per_node, k->two_level[1] * m->port);
    return span(k->two_level[2] + (leaves_node(m) ? k->p2p_net + m->hop : 0),
                fmax(wire, port));
}

static struct sc__coll_span chain_span(const struct sc__coll_model *m, unsigned proto) {
    const struct sc__constants *k = m->k;
    if (m->coll != SC__BROADCAST && m->coll != SC__REDUCE)
        return never;
    double net = (m->per_node < 2 ? k->net_tree : k->net_ring)[proto] + m->hop;
    return span(k->base[proto] + (m->ranks - m->nodes) * ring_step(m, proto) +
                    (m->nodes - 1) * net,
                transfer(m->bytes, k->share[proto] * ring_bandwidth(m, proto)));
}

static struct sc__coll_span
open_span(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto) {
    if (proto == 1 && leaves_node(m) && m->k->ll128 < 1)
        return never;
    switch (algo) {
    case SC__ALGO_RING:
        return ring_span(m, proto);
    case SC__ALGO_TREE:
        return tree_span(m, proto);
    case SC__ALGO_NVLS:
        return nvls_span(m, proto);
    case SC__ALGO_NVLS_TREE:
        return nvls_tree_span(m, proto);
    case SC__ALGO_COLLNET:
        return collnet_span(m, proto);
    case SC__ALGO_PAT:
        return pat_span(m, proto);
    case SC__ALGO_DIRECT:
        return direct_span(m, proto);
    case SC__ALGO_PXN:
        return pxn_span(m, proto);
    case SC__ALGO_HIERARCHICAL:
        return two_level_span(m, proto);
    case SC__ALGO_CHAIN:
        return chain_span(m, proto);
    default:
        return never;
    }
}

struct sc__coll_span
sc__model_span(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto) {
    struct sc__coll_span s = open_span(m, algo, proto);
    if (s.still < SC__NEVER && leaves_node(m))
        s.move = fmax(s.move, sc__model_crossing(m, algo, proto));
    return s;
}

double sc__model_time(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto) {
    struct sc__coll_span s = sc__model_span(m, algo, proto);
    return s.still + s.move;
}
