/* collective_plain: collectives without software: a step costs the latency of
 * its slowest link and its bytes over that link's bandwidth. The class
 * "plain", and every fabric of dimensions (torus), which has no NCCL.
 *
 *     ring    steps · (l + S / (n·B)), steps 2(n-1) for an all-reduce, else n-1
 *     direct  every rank to every other at once; a NIC's injection counts
 *     root    all parts through the ports of the root (gather, scatter)
 *     torus   dimension by dimension on what the ones before left */
#include "collective/cost_model.h"

#include "workload/workload.h"

#include <math.h>

#define US(ps) ((double)(ps) / 1e6)

/* The slowest hop: us and bytes per us. */
struct hop {
    double latency;
    double rate;
};

static double passes(int coll) {
    return coll == SC__ALLREDUCE || coll == SC__BARRIER ? 2 : 1;
}

static double coll_plain_ring(int coll, double ranks, double bytes, struct hop h) {
    if (coll == SC__BROADCAST || coll == SC__REDUCE)
        return (ranks - 1) * h.latency + bytes / h.rate;
    return passes(coll) * (ranks - 1) * (h.latency + bytes / (ranks * h.rate));
}

/* It fills its ports and NICs while it runs. `still`: us without bytes. */
static struct sc__price
plain_price(double us, double still, enum sc__algo algo, const struct sc__shape *s) {
    return (struct sc__price){.time = sc__model_ps(us),
                              .still = sc__model_ps(still),
                              .algo = (uint8_t)algo,
                              .proto = SC__PROTO_SIMPLE,
                              .port = 1,
                              .wire = s->nodes > 1};
}

/* --- nodes and NICs ------------------------------------------------------ */

static struct hop slowest_hop(const struct sc__coll_model *m) {
    struct hop node = {US(m->cluster->nvlink_latency), m->port * 1e3};
    struct hop net = {US(m->cluster->nic_latency), m->wire * 1e3};
    if (m->nodes < 2)
        return node;
    if (m->per_node < 2)
        return net;
    return (struct hop){fmax(node.latency, net.latency), fmin(node.rate, net.rate)};
}

static double direct(const struct sc__coll_model *m) {
    double inside = m->per_node - 1;
    double outside = m->ranks - m->least;
    double node = inside > 0 ? US(m->cluster->nvlink_latency) +
                                   m->bytes * inside / m->ranks / (m->port * 1e3)
                             : 0;
    double sent = m->bytes * outside / m->ranks /
                  ((sc__coll_to_root((unsigned)m->coll) ? m->card : m->nic) * 1e3);
    double crossing = sc__model_crossing(m, SC__ALGO_DIRECT, 2) / passes(m->coll);
    double net = US(m->cluster->nic_latency) + fmax(sent, crossing);
    return passes(m->coll) * (m->nodes > 1 ? fmax(node, net) : node);
}

static double around(const struct sc__coll_model *m, int coll, enum sc__algo algo) {
    struct hop slowest = slowest_hop(m);
    double us = coll_plain_ring(coll, m->ranks, m->bytes, slowest);
    if (m->nodes < 2)
        return us;
    return fmax(us,
                coll_plain_ring(coll, m->ranks, 0, slowest) +
                    sc__model_crossing(m, algo, 2));
}

static double
node_time(struct sc__coll_model m, int coll, enum sc__algo algo, double bytes) {
    m.bytes = bytes;
    return algo == SC__ALGO_DIRECT ? direct(&m) : around(&m, coll, algo);
}

static struct sc__price node_price(const struct sc__cluster *c,
                                   int coll,
                                   const struct sc__shape *s,
                                   uint64_t bytes) {
    struct sc__coll_model m = sc__model_make(c, coll, s, bytes);
    enum sc__algo algo = coll == SC__ALLTOALL || c->tuning.algo == SC__ALGO_DIRECT
                             ? SC__ALGO_DIRECT
                             : SC__ALGO_RING;
    if (coll == SC__BROADCAST || coll == SC__REDUCE)
        algo = SC__ALGO_CHAIN;
    if (sc__coll_to_root((unsigned)coll))
        algo = SC__ALGO_DIRECT;
    double us = node_time(m, coll, algo, m.bytes);
    struct sc__price p = plain_price(us, node_time(m, coll, algo, 0), algo, s);
    sc__model_uplink_shares(&m, algo, us, p.uplink);
    return p;
}

/* --- dimensions ---------------------------------------------------------- */

struct box {
    uint32_t dims;
    struct sc__fabric_dim
        dim[SC__FABRIC_DIMS_MAX];    /* those the group extends in, with its extent */
    bool whole[SC__FABRIC_DIMS_MAX]; /* the ring closes */
};

static bool
make_box(const struct sc__cluster *c, const struct sc__shape *s, struct box *b) {
    double places = 1;
    b->dims = 0;
    for (uint32_t i = 0; i < c->fabric.dims; i++) {
        uint32_t extent = s->extent[i];
        places *= extent ? extent : 1;
        if (extent < 2)
            continue;
        b->dim[b->dims] = c->fabric.dim[i];
        b->dim[b->dims].size = extent;
        b->whole[b->dims++] = extent == c->fabric.dim[i].size;
    }
    return places <= s->ranks && b->dims > 0;
}

/* A ring through all ranks: the slowest of the dimensions it extends in. */
static struct hop ring_hop(const struct sc__cluster *c, const struct sc__shape *s) {
    struct hop h = {0, INFINITY};
    for (uint32_t i = 0; i < c->fabric.dims; i++) {
        const struct sc__fabric_dim *d = &c->fabric.dim[i];
        if (s->extent[i] < 2)
            continue;
        h.latency = fmax(h.latency, US(d->latency));
        h.rate = fmin(h.rate, d->rate / 1e6);
    }
    return h;
}

/* Both directions of a closed ring are used; a line has to come back, and a
 * full mesh or a switch gives all it has. */
static double dim_rate(const struct box *b, uint32_t i) {
    const struct sc__fabric_dim *d = &b->dim[i];
    double rate = d->rate / 1e6;
    if (d->kind == SC__DIM_RING)
        return b->whole[i] && d->size > 2 ? 2 * rate : rate;
    return d->kind == SC__DIM_FULL ? rate * (d->size - 1) : rate;
}

/* The buffer is cut into as many parts as there are dimensions; part k goes
 * through the dimensions from the k-th on, each on what the one before left.
 * All parts move at once: the slowest part or the fullest dimension decides. */
static double torus(int coll, const struct box *b, double bytes) {
    double latency = 0;
    double slowest = 0;
    double busy[SC__FABRIC_DIMS_MAX] = {0};
    for (uint32_t first = 0; first < b->dims; first++) {
        double left = bytes / b->dims;
        double time = 0;
        for (uint32_t j = 0; j < b->dims; j++) {
            uint32_t i = (first + j) % b->dims;
            double size = b->dim[i].size;
            double part = left * (size - 1) / size / dim_rate(b, i);
            time += part;
            busy[i] += part;
            left /= size;
        }
        slowest = fmax(slowest, time);
    }
    for (uint32_t i = 0; i < b->dims; i++) {
        latency += (b->dim[i].kind == SC__DIM_RING ? b->dim[i].size - 1.0 : 1) *
                   US(b->dim[i].latency);
        slowest = fmax(slowest, busy[i]);
    }
    return passes(coll) * (latency + slowest);
}

/* All-to-all: a link of a ring of k carries k/8 of a rank's buffer (k/4 on a
 * line in the middle), a mesh or switch port its part. */
static double torus_alltoall(const struct box *b, double bytes) {
    double latency = 0;
    double slowest = 0;
    for (uint32_t i = 0; i < b->dims; i++) {
        const struct sc__fabric_dim *d = &b->dim[i];
        double size = d->size;
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

/* Gather and scatter: the links of the root, all of them at once. */
static double torus_root(const struct box *b, double bytes, double ranks) {
    double latency = 0;
    double rate = 0;
    for (uint32_t i = 0; i < b->dims; i++) {
        const struct sc__fabric_dim *d = &b->dim[i];
        double hops = d->kind != SC__DIM_RING ? 1
                      : b->whole[i]           ? floor(d->size / 2.0)
                                              : d->size - 1.0;
        latency += hops * US(d->latency);
        rate += dim_rate(b, i);
    }
    return latency + bytes * (ranks - 1) / ranks / rate;
}

/* A group on dimensions; box is NULL where it fills none. */
static double dims_time(const struct sc__cluster *c,
                        int coll,
                        const struct sc__shape *s,
                        const struct box *box,
                        enum sc__algo algo,
                        double bytes) {
    if (algo == SC__ALGO_TORUS)
        return torus(coll, box, bytes);
    if (sc__coll_to_root((unsigned)coll) && box)
        return torus_root(box, bytes, s->ranks);
    if (algo == SC__ALGO_RING || sc__coll_to_root((unsigned)coll))
        return coll_plain_ring(coll, s->ranks, bytes, ring_hop(c, s));
    return box ? torus_alltoall(box, bytes)
               : coll_plain_ring(coll, s->ranks, bytes * s->ranks / 2, ring_hop(c, s));
}

static enum sc__algo dims_algo(const struct sc__cluster *c,
                               int coll,
                               const struct sc__shape *s,
                               const struct box *box,
                               double bytes) {
    bool chain = coll == SC__BROADCAST || coll == SC__REDUCE;
    if (coll == SC__ALLTOALL || sc__coll_to_root((unsigned)coll))
        return SC__ALGO_DIRECT;
    if (!box || chain || c->tuning.algo == SC__ALGO_RING)
        return SC__ALGO_RING;
    if (c->tuning.algo)
        return SC__ALGO_TORUS;
    bool faster = dims_time(c, coll, s, box, SC__ALGO_RING, bytes) <
                  dims_time(c, coll, s, box, SC__ALGO_TORUS, bytes);
    return faster ? SC__ALGO_RING : SC__ALGO_TORUS;
}

static struct sc__price
dims_price(const struct sc__cluster *c, int coll, const struct sc__shape *s, double bytes) {
    struct box b;
    const struct box *box = make_box(c, s, &b) ? &b : NULL;
    enum sc__algo algo = dims_algo(c, coll, s, box, bytes);
    return plain_price(dims_time(c, coll, s, box, algo, bytes),
                       dims_time(c, coll, s, box, algo, 0),
                       algo,
                       s);
}

struct sc__price sc__plain_price(const struct sc__cluster *c,
                                 int coll,
                                 const struct sc__shape *s,
                                 uint64_t bytes) {
    if (c->fabric.kind != SC__FABRIC_DIMS)
        return node_price(c, coll, s, bytes);
    return dims_price(c, coll, s, coll == SC__BARRIER ? 8 : (double)bytes);
}
