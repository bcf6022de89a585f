/* cost: from a group on a cluster to the model's terms, and the
 * choice among algorithms and protocols. */
#include "collective/cost_model.h"

#include "workload/workload.h"

#include <math.h>
#include <string.h>

static const char *const algo_names[] = {"auto",
                                         "ring",
                                         "tree",
                                         "nvls",
                                         "nvlstree",
                                         "collnet",
                                         "pat",
                                         "direct",
                                         "pxn",
                                         "hierarchical",
                                         "torus",
                                         "chain",
                                         "custom",
                                         NULL};
static const char *const proto_names[] = {"auto", "ll", "ll128", "simple", NULL};

const char *sc__algo_name(enum sc__algo algo) {
    return algo_names[algo];
}
const char *sc__proto_name(enum sc__proto proto) {
    return proto_names[proto];
}
enum sc__algo sc__algo_find(const char *name) {
    unsigned i = 0;
    while (algo_names[i] && strcmp(algo_names[i], name))
        i++;
    return algo_names[i] ? (enum sc__algo)i : SC__ALGOS;
}

double sc__proto_payload(enum sc__proto proto) {
    return proto == SC__PROTO_LL ? 0.5 : proto == SC__PROTO_LL128 ? 120.0 / 128 : 1;
}

/* Bandwidth a ring reaches inside a node. */
static double node_bandwidth(const struct sc__cluster *c, double per_node, double port) {
    const struct sc__constants *k = &c->constants;
    if (per_node < 2)
        return port;
    if (c->inside == SC__INSIDE_MESH) {
        int ranks = (int)fmin(per_node, SC__MESH_RINGS - 1);
        return k->nvlink * port / k->mesh_rings[SC__MESH_RINGS - 1] * k->mesh_rings[ranks];
    }
    if (sc__coll_part_of_mesh(c, per_node) && k->mesh_link > 0)
        return fmin(k->nvlink * port, (per_node - 1) * k->mesh_link);
    return k->nvlink * port;
}

/* Share of a GPU's links that lead to others of a group on its node. */
static double links_among(const struct sc__cluster *c, double per_node) {
    if (!sc__coll_part_of_mesh(c, per_node))
        return 1;
    return (per_node - 1) / (c->node_gpus - 1);
}

double sc__coll_slot(const struct sc__cluster *c) {
    return c->inside == SC__INSIDE_PCIE && c->nvlink > 0 ? c->nvlink / 1e9 : SC__COLL_NEVER;
}

/* us of the switches that are passed beside a leaf's: two more from leaf to leaf, four from
 * pod to pod. */
static double switches_us(const struct sc__cluster *c, bool other_leaf, bool other_pod) {
    return other_leaf ? (other_pod ? 4 : 2) * sc__us(c->fabric.hop_latency) : 0;
}

static double switch_latency(const struct sc__cluster *c, const struct sc__shape *s) {
    return switches_us(c, s->leaves > 1, s->pods > 1);
}

static bool
in_other_part(const struct sc__cluster *c, enum sc__level level, uint32_t a, uint32_t b) {
    double gpus = sc__fabric_part_nodes(c, level) * c->node_gpus;
    return floor(a / gpus) != floor(b / gpus);
}

int64_t sc__message_switches(const struct sc__cluster *c, uint32_t from, uint32_t to) {
    if (c->ideal || c->fabric.kind == SC__FABRIC_DIMS)
        return 0;
    return sc__coll_model_ps(switches_us(c,
                                         in_other_part(c, SC__LEAF, from, to),
                                         in_other_part(c, SC__POD, from, to)));
}

/* What a GPU of the emptiest node, which sends most to others, would have of a NIC of `nic`
 * GB/s to take as long as the fullest NIC: all GPUs send at once. */
static double
nic_of_sender(const struct sc__coll_model *m, const struct sc__shape *s, double nic) {
    if (!(s->nic_pairs > 0))
        return m->nics * nic / m->per_node;
    return nic * (m->ranks - m->least) / s->nic_pairs;
}

struct sc__coll_model sc__coll_model_make(const struct sc__cluster *c,
                                          int coll,
                                          const struct sc__shape *s,
                                          uint64_t bytes) {
    struct sc__coll_model m = {.cluster = c,
                               .k = &c->constants,
                               .coll = coll,
                               .bytes = (double)bytes};
    double nic = c->nic / 1e9 * c->constants.wire / (s->sharing_nic ? s->sharing_nic : 1);
    if (coll == SC__BARRIER) {
        m.coll = SC__ALLREDUCE;
        m.bytes = 8;
    }
    m.ranks = s->ranks;
    m.nodes = s->nodes;
    m.per_node = s->per_node;
    m.least = s->least ? s->least : s->per_node;
    m.port = c->nvlink / 1e9 / (s->sharing_port ? s->sharing_port : 1) *
             links_among(c, s->per_node);
    m.nvlink = node_bandwidth(c, m.per_node, m.port);
    m.nics = s->nics ? s->nics : sc__cluster_nics(c, s->per_node);
    m.wire = fmin(m.nics * nic, m.per_node * sc__coll_slot(c));
    m.nic = fmin(nic_of_sender(&m, s, nic), sc__coll_slot(c));
    m.nic_alone =
        fmin(nic * fmax(1, (double)c->node_nics / c->node_gpus), sc__coll_slot(c));
    m.shift_nic = fmax(1, s->shift_nic);
    m.hop = c->constants.hop + sc__us(c->nic_latency) + switch_latency(c, s);
    sc__coll_model_parts(&m, s);
    return m;
}

struct choice {
    /* what it takes, what the choice is made by */
    double time;
    double rank;
    enum sc__algo algo;
    unsigned proto;
};

/* Expert all-to-alls may be another library's. */
static const struct sc__coll_library *library_of(const struct sc__coll_model *m,
                                                 const struct sc__tuning *t) {
    bool deepep = m->coll == SC__ALLTOALL && t->two_level && !t->algo;
    return deepep ? &sc__coll_deepep : &sc__coll_nccl;
}

/* Among what the library has for the collective here, or what is asked for. */
static bool offered(const struct sc__coll_model *m,
                    const struct sc__coll_rule *rule,
                    const struct sc__tuning *t) {
    bool taken = t->algo ? rule->algo == t->algo : !(rule->conditions & SC__RULE_ASKED_FOR);
    return taken && sc__coll_rule_holds(m, rule);
}

/* NCCL's cost table (--by-tuner) decides between nodes, where the choice of a tree or a
 * ring is one of 1.5 times; in a node measured runs are as fast as the fastest, without the
 * jumps that the table's choices at our times would give. */
static bool goes_by_tuner(const struct sc__coll_model *m, const struct sc__tuning *t) {
    return t->by_tuner && m->nodes > 1;
}

/* us by which NCCL's cost table puts a ring behind what it takes: on two nodes an
 * all-reduce by a ring has two hops more than one by a tree, each of the latency that the
 * plugin of the network tells. On more nodes the plugin chooses itself (AWS's). Measured
 * where NVLSTree takes over from trees; without it NCCL comes back to rings at sizes nobody
 * has told. */
static double handicap(const struct sc__coll_model *m, enum sc__algo algo) {
    bool ring = algo == SC__ALGO_RING && m->coll == SC__ALLREDUCE && m->nodes == 2;
    bool switches = ring && sc__coll_node_switch_reduces(m->cluster, (uint32_t)m->per_node);
    return switches ? 2 * m->k->told_latency : 0;
}

/* An algorithm by the protocol that is fastest there: a protocol's constants come from
 * sizes at which it is the fastest, so that the table ranks algorithms alone. */
static struct choice by_fastest_protocol(const struct sc__coll_model *m,
                                         const struct sc__tuning *t,
                                         const struct sc__coll_rule *rule) {
    struct choice fastest = {SC__COLL_NEVER, SC__COLL_NEVER, rule->algo, 0};
    double tuner_rank = SC__COLL_NEVER;
    bool by_tuner = goes_by_tuner(m, t);
    unsigned protocols = rule->protocols & (t->protocols ? t->protocols : SC__PROTO_ANY);
    for (unsigned proto = 0; proto < 3; proto++) {
        if (!(protocols >> proto & 1))
            continue;
        double time = sc__coll_model_time(m, rule->algo, proto);
        if (time >= SC__COLL_NEVER)
            continue;
        if (by_tuner)
            tuner_rank = fmin(tuner_rank, sc__nccl_tuner_time(m, rule->algo, proto));
        if (time < fastest.time)
            fastest = (struct choice){time, time, rule->algo, proto};
    }
    if (by_tuner)
        fastest.rank = tuner_rank;
    return fastest;
}

static struct choice choose(const struct sc__coll_model *m, const struct sc__tuning *t) {
    const struct sc__coll_library *library = library_of(m, t);
    struct choice best = {SC__COLL_NEVER, SC__COLL_NEVER, SC__ALGO_AUTO, 0};
    for (uint32_t i = 0; i < library->rule_count; i++) {
        const struct sc__coll_rule *rule = &library->rules[i];
        if (!offered(m, rule, t))
            continue;
        struct choice candidate = by_fastest_protocol(m, t, rule);
        if (m->k->told_latency > 0 && !goes_by_tuner(m, t))
            candidate.rank += handicap(m, rule->algo);
        if (candidate.rank < best.rank)
            best = candidate;
    }
    return best;
}

/* What is forced and cannot run here (a ring for an all-to-all) is not forced:
 * NCCL, too, falls back. */
static struct choice choose_forced(const struct sc__coll_model *m) {
    struct sc__tuning t = m->cluster->tuning;
    struct choice best = choose(m, &t);
    if (best.algo == SC__ALGO_AUTO) {
        t.protocols = 0;
        best = choose(m, &t);
    }
    t.algo = SC__ALGO_AUTO;
    return best.algo == SC__ALGO_AUTO ? choose(m, &t) : best;
}

/* Bytes one GPU sends over NVLink, and its node over its NICs: of pairs what
 * they send, of all other collectives what a ring (or chain) does, whatever they are run
 * by. */
static void volumes(const struct sc__coll_model *m, double *port, double *wire) {
    bool to_root = sc__coll_to_root((unsigned)m->coll);
    if (m->coll == SC__ALLTOALL || to_root) {
        struct sc__coll_counts c = sc__coll_model_counts(m, SC__FAMILY_PAIRS);
        *port = m->bytes * c.port / c.parts;
        *wire = m->bytes * (to_root ? m->ranks - m->per_node : c.node) / c.parts;
        return;
    }
    struct sc__coll_counts c =
        sc__coll_model_counts(m, sc__coll_family(SC__ALGO_RING, m->coll));
    double sent = m->bytes * c.sent / c.parts;
    *port = m->per_node > 1 ? sent : 0;
    *wire = m->nodes > 1 ? sent : 0;
}

static void set_shares(const struct sc__coll_model *m, double us, struct sc__coll_cost *p) {
    double port;
    double wire;
    volumes(m, &port, &wire);
    sc__coll_model_uplink_shares(m, p->algo, us, p->uplink);
    p->port = (float)fmin(1, port / (1e3 * m->nvlink * us));
    p->wire = (float)(m->nodes > 1 ? fmin(1, wire / (1e3 * m->wire * us)) : 0);
}

/* A cluster without constants has no software either. */
static bool coll_cost_is_plain(const struct sc__cluster *c) {
    return !c->fabric.class || !strcmp(c->fabric.class, "plain");
}

/* `peers`: those of an all-to-all, whose sends and receives are enqueued one by one. */
static double launch_time(const struct sc__cluster *c, uint32_t peers) {
    double each = c->constants.launch + c->constants.launch_peer * peers;
    return each * (c->tuning.gpus_per_process ? c->tuning.gpus_per_process : 1);
}

/* Us as a benchmark sees them: launching one after the other, and the timer. */
static double
timed_us(const struct sc__cluster *c, int coll, const struct sc__shape *s, double us) {
    double eager = c->tuning.eager_timer ? c->constants.eager[s->nodes > 1] : 0;
    uint32_t peers = coll == SC__ALLTOALL ? s->ranks : 0;
    return fmax(us, launch_time(c, peers)) + eager;
}

#define PAIR 2 /* ranks of the communicator that a message of a step has */

/* Us of a message's bytes inside a node. A message has more than its part of the channels
 * of a GPU from a size on that fills them for a while, so between the two its time stays.
 */
static double
message_bytes_inside(const struct sc__cluster *c, uint32_t ranks, double bytes) {
    const struct sc__constants *k = &c->constants;
    double port = k->p2p_share * c->nvlink / 1e9 * links_among(c, 2);
    double channels = sc__coll_channels_each(k, ranks);
    double few = bytes / (1e3 * channels * k->p2p_channel);
    double full = sc__nccl_limits.p2p_part / (1e3 * k->p2p_channel);
    double most = bytes / (1e3 * k->p2p_channels * k->p2p_channel);
    return fmax(bytes / (1e3 * port), fmax(most, fmin(few, full)));
}

static double message_us_inside(const struct sc__cluster *c, uint32_t ranks, double bytes) {
    const struct sc__constants *k = &c->constants;
    double latency = k->p2p_base + k->p2p_peer[0];
    double ll = fmin(k->p2p_ll[1], k->p2p_share * c->nvlink / 2e9 * links_among(c, 2));
    return fmin(latency + bytes / (1e3 * ll),
                latency + k->p2p_simple + message_bytes_inside(c, ranks, bytes));
}

/* GB/s a message to another node has of its NIC, all of it or what its channels carry. */
static double message_rate_outside(const struct sc__cluster *c, double sharing) {
    const struct sc__constants *k = &c->constants;
    double nics = fmax(1, (double)c->node_nics / c->node_gpus);
    double nic = c->nic / 1e9 * nics * k->wire / fmax(1, sharing);
    return fmin(fmin(nic, sc__coll_slot(c)), k->net_channels * k->net_channel);
}

static double message_us_plain(const struct sc__cluster *c,
                               bool same_node,
                               double sharing,
                               double bytes) {
    double nics = fmax(1, (double)c->node_nics / c->node_gpus);
    double nic = c->nic * nics * c->constants.wire / fmax(1, sharing);
    double latency = sc__us(same_node ? c->nvlink_latency : c->nic_latency);
    return latency + bytes / (same_node ? c->nvlink : nic) * 1e6;
}

static double message_us(const struct sc__cluster *c,
                         bool same_node,
                         uint32_t ranks,
                         double sharing,
                         double bytes) {
    const struct sc__constants *k = &c->constants;
    if (coll_cost_is_plain(c))
        return message_us_plain(c, same_node, sharing, bytes);
    if (same_node)
        return message_us_inside(c, ranks, bytes);
    return k->p2p_base + k->p2p_simple + k->p2p_peer[1] + k->p2p_net + k->hop +
           sc__us(c->nic_latency) + bytes / (1e3 * message_rate_outside(c, sharing));
}

/* Every rank sends to the next at the rate of a message, however many there are: channels
 * to one peer carry less than a NIC. The slowest decides: of a node with several ranks all
 * messages but one stay inside, where cards on PCIe and single links of a full mesh are
 * slower than a NIC. What they take of ports and uplinks is a step of a gather's. */
static struct sc__coll_cost
shift_cost(const struct sc__cluster *c, const struct sc__shape *s, uint64_t bytes) {
    bool inside = s->nodes < 2;
    double steps = s->ranks - 1;
    double sharing = fmax(1, s->sharing_nic) * fmax(1, s->shift_nic);
    struct sc__coll_model ring = sc__coll_model_make(c, SC__ALLGATHER, s, bytes * s->ranks);
    double empty = message_us(c, inside, s->ranks, sharing, 0);
    double us = message_us(c, inside, s->ranks, sharing, (double)bytes);
    if (!inside && s->per_node > 1)
        us = fmax(us, message_us(c, true, s->ranks, sharing, (double)bytes));
    empty += switch_latency(c, s);
    us += switch_latency(c, s);
    struct sc__coll_model shift = sc__coll_model_make(c, SC__SHIFT, s, bytes);
    double crossing = inside ? 0 : sc__coll_model_crossing(&shift, SC__ALGO_RING, 2);
    us = fmax(us, empty + crossing);
    struct sc__coll_cost p = {.algo = SC__ALGO_DIRECT, .proto = SC__PROTO_SIMPLE};
    p.time = sc__coll_model_ps(timed_us(c, SC__SHIFT, s, us));
    p.latency = p.time - sc__coll_model_ps(us - empty);
    set_shares(&ring, us * steps, &p);
    return p;
}

struct sc__coll_cost sc__collective_cost(const struct sc__cluster *c,
                                         int coll,
                                         const struct sc__shape *s,
                                         uint64_t bytes) {
    if (c->ideal || s->ranks < 2 || (!bytes && coll != SC__BARRIER))
        return (struct sc__coll_cost){0};
    if (c->fabric.kind == SC__FABRIC_DIMS || coll_cost_is_plain(c))
        return sc__plain_cost(c, coll, s, bytes);
    if (coll == SC__SHIFT)
        return shift_cost(c, s, bytes);
    struct sc__coll_model m = sc__coll_model_make(c, coll, s, bytes);
    struct choice best = choose_forced(&m);
    /* serving stacks launch whole CUDA graphs */
    bool in_graph = best.algo == SC__ALGO_CUSTOM;
    double us = in_graph ? best.time : timed_us(c, coll, s, best.time);
    struct sc__coll_cost p = {.time = sc__coll_model_ps(us),
                              .algo = (uint8_t)best.algo,
                              .proto = (uint8_t)(best.proto + 1)};
    p.latency = p.time - sc__coll_model_ps(
                             sc__coll_model_terms(&m, best.algo, best.proto).bandwidth);
    set_shares(&m, us, &p);
    return p;
}

double sc__message_share(const struct sc__cluster *c, bool same_node, uint64_t bytes) {
    if (c->ideal || coll_cost_is_plain(c) || !bytes)
        return 1;
    if (!same_node) {
        double nics = fmax(1, (double)c->node_nics / c->node_gpus);
        return message_rate_outside(c, 1) / (c->nic / 1e9 * nics * c->constants.wire);
    }
    double port =
        (double)bytes / (1e-6 * c->constants.p2p_share * c->nvlink * links_among(c, 2));
    double taken =
        message_us_inside(c, PAIR, (double)bytes) - message_us_inside(c, PAIR, 0);
    return fmin(1, port / taken);
}

int64_t sc__message_time_shared(const struct sc__cluster *c,
                                bool same_node,
                                double sharing,
                                uint64_t bytes) {
    if (c->ideal)
        return 0;
    double us = message_us(c, same_node, PAIR, sharing, (double)bytes);
    return sc__coll_model_ps(coll_cost_is_plain(c) ? us : fmax(us, launch_time(c, 0)));
}

int64_t sc__message_time(const struct sc__cluster *c, bool same_node, uint64_t bytes) {
    return sc__message_time_shared(c, same_node, 1, bytes);
}

/* Along each dimension in which its ends differ: hops follow each other, and the slowest
 * link decides. */
static int64_t
dims_message_time(const struct sc__cluster *c, uint32_t from, uint32_t to, uint64_t bytes) {
    double latency = 0;
    double rate = INFINITY;
    for (uint32_t i = 0; i < c->fabric.dims; i++) {
        const struct sc__fabric_dim *d = &c->fabric.dim[i];
        uint32_t hops = sc__fabric_dim_hops(c, i, from, to);
        if (!hops)
            continue;
        latency += hops * sc__us(d->latency);
        rate = fmin(rate, d->rate);
    }
    return sc__coll_model_ps(latency + (double)bytes / rate * 1e6);
}

int64_t sc__message_time_between(const struct sc__cluster *c,
                                 uint32_t from,
                                 uint32_t to,
                                 uint64_t bytes) {
    if (!c->ideal && c->fabric.kind == SC__FABRIC_DIMS)
        return dims_message_time(c, from, to, bytes);
    return sc__message_switches(c, from, to) +
           sc__message_time(c, from / c->node_gpus == to / c->node_gpus, bytes);
}

int64_t sc__message_bytes_time(const struct sc__cluster *c,
                               bool same_node,
                               double sharing,
                               uint64_t bytes) {
    if (c->ideal)
        return 0;
    return sc__coll_model_ps(message_us(c, same_node, PAIR, sharing, (double)bytes) -
                             message_us(c, same_node, PAIR, sharing, 0));
}

int64_t sc__collective_time(const struct sc__cluster *c,
                            int coll,
                            const struct sc__shape *shape,
                            uint64_t bytes) {
    return sc__collective_cost(c, coll, shape, bytes).time;
}
