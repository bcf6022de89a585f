/* plain: collectives without software: a step costs the latency of its slowest
 * link and its bytes over that link's bandwidth. The class "plain", and every
 * fabric of dimensions (torus), which has no NCCL.
 *
 *     ring    steps · (l + S / (n·B))
 *     chain   steps · l + S / B
 *     direct  every rank to every other at once; a NIC's injection counts
 *     root    all parts through the ports of the root (gather, scatter)
 *     shift   l + S / B, between nodes through one NIC
 *     torus   dimension by dimension on what the ones before left
 *
 * How many steps there are, and what goes through them, is in schedule.h. */
#include "collective/cost_model.h"

#include "workload/workload.h"

#include <math.h>

#define US(ps) ((double)(ps) / 1e6)

/* The slowest hop: us and bytes per us. */
struct plain_hop {
    double latency;
    double rate;
};

/* Round all ranks; also what no box helps: messages to anywhere go round, too. */
static double around_time(int coll, double ranks, double bytes, struct plain_hop h) {
    bool chain = coll == SC__BROADCAST || coll == SC__REDUCE;
    if (coll == SC__SHIFT)
        return h.latency + bytes / h.rate;
    enum sc__coll_family family = chain ? SC__FAMILY_CHAIN : SC__FAMILY_RING;
    struct sc__coll_counts c = sc__coll_counts(family, coll, ranks, 1, ranks, ranks);
    if (chain)
        return c.steps * h.latency + bytes / h.rate;
    return c.steps * (h.latency + bytes / (c.parts * h.rate));
}

/* It fills its ports and NICs while it runs. latency: us without bytes. */
static struct sc__coll_cost
plain_cost(double us, double latency, enum sc__algo algo, const struct sc__shape *s) {
    return (struct sc__coll_cost){.time = sc__coll_model_ps(us),
                                  .latency = sc__coll_model_ps(latency),
                                  .algo = (uint8_t)algo,
                                  .proto = SC__PROTO_SIMPLE,
                                  .port = 1,
                                  .wire = s->nodes > 1};
}

/* --- nodes and NICs ------------------------------------------------------ */

/* us of a hop between nodes; without software that is the model's. */
static double net_latency(const struct sc__coll_model *m) {
    return m->hop - m->k->hop;
}

static struct plain_hop slowest_hop(const struct sc__coll_model *m) {
    struct plain_hop node = {US(m->cluster->nvlink_latency), m->port * 1e3};
    double nics = m->coll == SC__SHIFT ? m->nic_alone / m->shift_nic : m->wire;
    struct plain_hop net = {net_latency(m), nics * 1e3};
    if (m->nodes < 2)
        return node;
    if (m->per_node < 2)
        return net;
    return (struct plain_hop){fmax(node.latency, net.latency), fmin(node.rate, net.rate)};
}

static double direct_time(const struct sc__coll_model *m) {
    struct sc__coll_counts c = sc__coll_model_counts(m, SC__FAMILY_PAIRS);
    double inside = c.port / c.passes;
    double outside = c.nic / c.passes;
    double nic = sc__coll_to_root((unsigned)m->coll) ? m->nic_alone : m->nic;
    double node = 0;
    if (inside > 0)
        node =
            US(m->cluster->nvlink_latency) + m->bytes * inside / c.parts / (m->port * 1e3);
    double sent = m->bytes * outside / c.parts / (nic * 1e3);
    double crossing = sc__coll_model_crossing(m, SC__ALGO_DIRECT, 2) / c.passes;
    double net = net_latency(m) + fmax(sent, crossing);
    return c.passes * (m->nodes > 1 ? fmax(node, net) : node);
}

static double around(const struct sc__coll_model *m, int coll, enum sc__algo algo) {
    struct plain_hop slowest = slowest_hop(m);
    double us = around_time(coll, m->ranks, m->bytes, slowest);
    if (m->nodes < 2)
        return us;
    return fmax(us,
                around_time(coll, m->ranks, 0, slowest) +
                    sc__coll_model_crossing(m, algo, 2));
}

static double
node_time(struct sc__coll_model m, int coll, enum sc__algo algo, double bytes) {
    m.bytes = bytes;
    return algo == SC__ALGO_DIRECT ? direct_time(&m) : around(&m, coll, algo);
}

static struct sc__coll_cost node_cost(const struct sc__cluster *c,
                                      int coll,
                                      const struct sc__shape *s,
                                      uint64_t bytes) {
    struct sc__coll_model m = sc__coll_model_make(c, coll, s, bytes);
    coll = m.coll;
    enum sc__algo algo = coll == SC__ALLTOALL || c->tuning.algo == SC__ALGO_DIRECT
                             ? SC__ALGO_DIRECT
                             : SC__ALGO_RING;
    if (coll == SC__BROADCAST || coll == SC__REDUCE)
        algo = SC__ALGO_CHAIN;
    if (sc__coll_to_root((unsigned)coll))
        algo = SC__ALGO_DIRECT;
    double us = node_time(m, coll, algo, m.bytes);
    struct sc__coll_cost p = plain_cost(us, node_time(m, coll, algo, 0), algo, s);
    sc__coll_model_uplink_shares(&m, algo, us, p.uplink);
    return p;
}

/* --- dimensions ---------------------------------------------------------- */

/* A ring through all ranks: the slowest of the dimensions it extends in. */
static struct plain_hop ring_hop(const struct sc__cluster *c, const struct sc__shape *s) {
    struct plain_hop h = {0, INFINITY};
    for (uint32_t i = 0; i < c->fabric.dims; i++) {
        const struct sc__fabric_dim *d = &c->fabric.dim[i];
        if (s->extent[i] < 2)
            continue;
        h.latency = fmax(h.latency, US(d->latency));
        h.rate = fmin(h.rate, d->rate / 1e6);
    }
    return h;
}

/* … or as the way to the next one is, where that is not a neighbour. */
static struct plain_hop
next_hop(const struct sc__cluster *c, const struct sc__shape *s, int coll) {
    int kind = coll == SC__SHIFT       ? SC__DIMS_SHIFT
               : coll == SC__BROADCAST ? SC__DIMS_BROADCAST
               : coll == SC__REDUCE    ? SC__DIMS_REDUCE
                                       : SC__DIMS_RING;
    struct plain_hop h = ring_hop(c, s);
    if (s->dims_rate[kind] > 0) {
        h.latency = s->dims_latency[kind] / 1e6;
        h.rate = fmin(h.rate, s->dims_rate[kind] / 1e6);
    }
    return h;
}

/* The dimensions that a group extends in. */
struct plain_box {
    struct sc__coll_box box;
    struct sc__fabric_dim dim[SC__FABRIC_DIMS_MAX];
    bool whole[SC__FABRIC_DIMS_MAX]; /* the ring closes */
};

static bool
make_box(const struct sc__cluster *c, const struct sc__shape *s, struct plain_box *b) {
    uint32_t dim[SC__FABRIC_DIMS_MAX];
    bool fills = sc__coll_box_of(c, s, &b->box, dim);
    for (uint32_t i = 0; i < b->box.dims; i++) {
        b->dim[i] = c->fabric.dim[dim[i]];
        b->whole[i] = b->box.size[i] == b->dim[i].size;
    }
    return fills;
}

/* Both directions of a closed ring are used; a line has to come back, and a
 * full mesh or a switch gives all it has. */
static double dim_rate(const struct plain_box *b, uint32_t i) {
    double rate = b->dim[i].rate / 1e6;
    if (b->box.both_directions[i])
        return 2 * rate;
    return b->dim[i].kind == SC__DIM_FULL ? rate * (b->box.size[i] - 1) : rate;
}

/* All slices of the buffer move at once: the slowest slice or the fullest
 * dimension decides. */
static double torus_time(int coll, const struct plain_box *b, double bytes) {
    uint32_t dims = b->box.dims;
    double latency = 0;
    double slowest = 0;
    double busy[SC__FABRIC_DIMS_MAX] = {0};
    for (uint32_t slice = 0; slice < dims; slice++) {
        double time = 0;
        for (uint32_t order = 0; order < dims; order++) {
            uint32_t i = (slice + order) % dims;
            double part =
                sc__coll_torus_sent(&b->box, slice, order, bytes) / dim_rate(b, i);
            time += part;
            busy[i] += part;
        }
        slowest = fmax(slowest, time);
    }
    for (uint32_t i = 0; i < dims; i++) {
        double steps = b->box.all_to_all[i] ? 1 : b->box.size[i] - 1.0;
        latency += steps * US(b->dim[i].latency);
        slowest = fmax(slowest, busy[i]);
    }
    return (coll == SC__ALLREDUCE ? 2 : 1) * (latency + slowest);
}

/* All-to-all: a link of a ring of k carries k/8 of a rank's buffer (k/4 on a
 * line in the middle), a mesh or switch port its part. */
static double torus_alltoall(const struct plain_box *b, double bytes) {
    double latency = 0;
    double slowest = 0;
    for (uint32_t i = 0; i < b->box.dims; i++) {
        const struct sc__fabric_dim *d = &b->dim[i];
        double size = b->box.size[i];
        double load = (size - 1) / size;
        double hops = 1;
        if (d->kind == SC__DIM_RING) {
            hops = b->whole[i] ? floor(size / 2) : size - 1;
            load = floor(size * size / 4) / size / (b->whole[i] && size > 2 ? 2 : 1);
        } else if (d->kind == SC__DIM_FULL)
            load = 1 / size;
        latency += hops * US(d->latency);
        slowest = fmax(slowest, bytes * load / (d->rate / 1e6));
    }
    return latency + slowest;
}

/* Members whose part passes the root's links of dimension i: a part comes in by one of the
 * dimensions in which its member lies apart from the root, by each as often. */
static double members_through(const struct plain_box *b, uint32_t i) {
    double members = 0;
    for (uint32_t apart = 0; apart < 1u << b->box.dims; apart++) {
        double count = 1;
        double dims = 0;
        if (!(apart >> i & 1))
            continue;
        for (uint32_t d = 0; d < b->box.dims; d++)
            if (apart >> d & 1) {
                count *= b->box.size[d] - 1.0;
                dims++;
            }
        members += count / dims;
    }
    return members;
}

/* Of those, the share on the fullest link: round a ring the shorter way, those opposite the
 * root all by one; on a line all lie on one side. */
static double on_one_link(const struct plain_box *b, uint32_t i) {
    double others = b->box.size[i] - 1.0;
    if (b->dim[i].kind == SC__DIM_FULL)
        return 1 / others;
    return b->box.both_directions[i] ? floor(b->box.size[i] / 2.0) / others : 1;
}

/* Gather and scatter: the fullest of the root's links decides. */
static double torus_root(const struct plain_box *b, double bytes, double ranks) {
    double latency = 0;
    double longest = 0;
    for (uint32_t i = 0; i < b->box.dims; i++) {
        const struct sc__fabric_dim *d = &b->dim[i];
        double hops = d->kind != SC__DIM_RING ? 1
                      : b->whole[i]           ? floor(b->box.size[i] / 2.0)
                                              : b->box.size[i] - 1.0;
        latency += hops * US(d->latency);
        longest = fmax(longest, members_through(b, i) * on_one_link(b, i) / d->rate * 1e6);
    }
    return latency + bytes / ranks * longest;
}

/* A group on dimensions; box is NULL where it fills none. */
static double dims_time(const struct sc__cluster *c,
                        int coll,
                        const struct sc__shape *s,
                        const struct plain_box *box,
                        enum sc__algo algo,
                        double bytes) {
    if (algo == SC__ALGO_TORUS)
        return torus_time(coll, box, bytes);
    if (sc__coll_to_root((unsigned)coll) && box)
        return torus_root(box, bytes, s->ranks);
    if (algo == SC__ALGO_RING || sc__coll_to_root((unsigned)coll))
        return around_time(coll, s->ranks, bytes, next_hop(c, s, coll));
    return box ? torus_alltoall(box, bytes)
               : around_time(coll, s->ranks, bytes * s->ranks / 2, ring_hop(c, s));
}

static enum sc__algo dims_algo(const struct sc__cluster *c,
                               int coll,
                               const struct sc__shape *s,
                               const struct plain_box *box,
                               double bytes) {
    bool chain = coll == SC__BROADCAST || coll == SC__REDUCE;
    if (coll == SC__ALLTOALL || sc__coll_to_root((unsigned)coll))
        return SC__ALGO_DIRECT;
    if (!box || chain || coll == SC__SHIFT || c->tuning.algo == SC__ALGO_RING)
        return SC__ALGO_RING;
    if (c->tuning.algo)
        return SC__ALGO_TORUS;
    bool faster = dims_time(c, coll, s, box, SC__ALGO_RING, bytes) <
                  dims_time(c, coll, s, box, SC__ALGO_TORUS, bytes);
    return faster ? SC__ALGO_RING : SC__ALGO_TORUS;
}

static struct sc__coll_cost
dims_cost(const struct sc__cluster *c, int coll, const struct sc__shape *s, double bytes) {
    struct plain_box b;
    const struct plain_box *box = make_box(c, s, &b) ? &b : NULL;
    enum sc__algo algo = dims_algo(c, coll, s, box, bytes);
    return plain_cost(dims_time(c, coll, s, box, algo, bytes),
                      dims_time(c, coll, s, box, algo, 0),
                      algo,
                      s);
}

struct sc__coll_cost sc__plain_cost(const struct sc__cluster *c,
                                    int coll,
                                    const struct sc__shape *s,
                                    uint64_t bytes) {
    if (c->fabric.kind != SC__FABRIC_DIMS)
        return node_cost(c, coll, s, bytes);
    if (coll == SC__BARRIER)
        return dims_cost(c, SC__ALLREDUCE, s, 8);
    return dims_cost(c, coll, s, (double)bytes);
}
