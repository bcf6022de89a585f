/* algorithm_time: how long a collective takes by each algorithm and protocol.
 * Equations and constants: docs/model/collectives.md; what an algorithm sends and how many
 * steps it has: schedule.h.
 *
 * The ring's rate is the slowest hop's: NVLink's share, or all NICs of the
 * group on a node. What crosses thin uplinks is in oversubscription.c. */
#include "collective/cost_model.h"

#include "workload/workload.h"

static const struct sc__coll_terms never = {SC__COLL_NEVER, 0};

static struct sc__coll_terms terms(double latency, double bandwidth) {
    return (struct sc__coll_terms){latency, bandwidth};
}

/* us of x bytes at rate GB/s. */
static double transfer_us(double bytes, double rate) {
    return bytes > 0 ? bytes / (1e3 * rate) : 0;
}

/* A ring that leaves the node has one hop fewer inside it than ranks, so its
 * NVLink ports carry (p-1)/p of it: Simple fills the wire where NVLink alone
 * would not (DGX H100: 380 GB/s between nodes, 366 inside). Of a part of a full mesh
 * all rings take the same links (2 x 4 MI355X: 131 GB/s, 133 inside). */
static double ring_inside(const struct sc__coll_model *m, unsigned proto) {
    double kept = m->k->ring_outside * m->nvlink;
    bool all = proto < 2 || sc__coll_part_of_mesh(m->cluster, m->per_node) ||
               sc__coll_slot(m->cluster) < SC__COLL_NEVER;
    return all ? kept : kept * m->per_node / fmax(1, m->per_node - 1);
}

static double ring_bandwidth(const struct sc__coll_model *m, unsigned proto) {
    if (m->nodes < 2)
        return m->nvlink;
    return m->per_node < 2 ? m->wire : fmin(ring_inside(m, proto), m->wire);
}

static bool leaves_node(const struct sc__coll_model *m) {
    return m->nodes > 1;
}

/* A kernel that does nothing, and the share of the bandwidth that a protocol
 * reaches: other ones where the group leaves the node. */
static double base_of(const struct sc__coll_model *m, unsigned proto) {
    return leaves_node(m) ? m->k->net_base[proto] : m->k->base[proto];
}
static double share_of(const struct sc__coll_model *m, unsigned proto) {
    return leaves_node(m) ? m->k->net_share[proto] : m->k->share[proto];
}

/* Us of one step of a ring inside a node; a ring that also leaves the node
 * is paced by the proxy thread. With LL its part in a step is the longer one
 * only on GPUs whose steps are short. */
static double ring_step(const struct sc__coll_model *m, unsigned proto) {
    const struct sc__constants *k = m->k;
    if (!leaves_node(m))
        return k->ring_step[proto];
    if (proto == 0)
        return fmax(k->ring_step[0], k->proxy_ll);
    return k->proxy * (proto == 2 ? sc__nccl_limits.proxy_slices : 1);
}

/* Of a ring that leaves the node. */
static double ring_channels(const struct sc__coll_model *m) {
    return m->per_node >= 8 ? m->k->channels : 2 * m->per_node;
}

/* A ring as the parts that may overlap see it. */
struct ring_cost {
    double steps;   /* of every rank … */
    double outside; /* … of these between nodes */
    double latency; /* us of all steps one after the other */
    double hop;     /* us of a step between nodes */
    double volume;  /* bytes through every connection, all channels */
    double chunk;   /* between nodes: bytes of a step on one channel */
    double share;   /* of a hop's bandwidth that its protocol reaches */
    double rate;    /* GB/s of the slowest hop */
    double own;     /* us to handle the rank's own part besides */
};

/* The part of a cube mesh's links that the rings of so few ranks have; elsewhere all. */
static double rings_share(const struct sc__coll_model *m) {
    const double *rings = m->k->mesh_rings;
    if (m->cluster->inside != SC__INSIDE_MESH)
        return 1;
    return rings[(int)fmin(m->per_node, SC__MESH_RINGS - 1)] / rings[SC__MESH_RINGS - 1];
}

/* In one node. */
static double own_part_us(const struct sc__coll_model *m) {
    unsigned op = m->coll == SC__ALLGATHER ? 1 : m->coll == SC__REDUCESCATTER ? 2 : 0;
    return transfer_us(m->bytes / m->ranks, m->k->own_copy[op] * rings_share(m));
}

static struct ring_cost make_ring(const struct sc__coll_model *m, unsigned proto) {
    const struct sc__constants *k = m->k;
    struct sc__coll_counts c = sc__coll_model_counts(m, SC__FAMILY_RING);
    struct ring_cost r = {.steps = c.steps, .outside = c.outside};
    double net = (m->per_node < 2 ? k->net_tree : k->net_ring)[proto] + m->hop;
    r.latency = c.inside * ring_step(m, proto) + c.outside * net;
    r.hop = net;
    r.volume = m->bytes * c.sent / c.parts;
    r.chunk = m->bytes / (c.parts * ring_channels(m));
    r.share = share_of(m, proto);
    r.rate = r.share * ring_bandwidth(m, proto);
    r.own = leaves_node(m) ? 0 : own_part_us(m);
    return r;
}

/* Us in which a node's wire does not carry anything: a chunk goes through its first node
 * before, and through its last one after it has come; or, where a receiver must ask for
 * what it gets, a trip round the ring. */
static double wire_idle_us(const struct sc__coll_model *m, const struct ring_cost *r) {
    double ends = 2 * (m->per_node - 1) * ring_step(m, 2) + r->hop;
    double trip = (r->steps - r->outside) * m->k->ring_sync + r->outside * r->hop;
    return fmax(ends, m->k->ring_exposed * trip);
}

/* Simple between nodes. Three things go on at once, and the longest decides:
 * the wire carries the volume; the threads of a rank copy it and synchronise at
 * every step; and a chunk goes round, where a rank passes on the first half of
 * it (a slice, of 32 KiB at least) while the second arrives. */
static double ring_overlapped(const struct sc__coll_model *m, const struct ring_cost *r) {
    double rounds = fmax(1, r->chunk / sc__nccl_limits.ring_chunk);
    double slice = fmax(0.5, fmin(1, sc__nccl_limits.ring_slice / r->chunk));
    double wire = transfer_us(r->volume, r->share * m->wire) + wire_idle_us(m, r);
    double round = rounds * r->latency + slice * transfer_us(r->volume, r->rate);
    double copies =
        transfer_us(r->volume, r->share * ring_inside(m, 2)) + r->steps * m->k->ring_sync;
    return fmax(fmax(wire, round), m->per_node > 1 ? copies : 0);
}

/* Of two things that go on at once the longer, and of the shorter what does not hide
 * behind it: all of it where overlap is 1, less the larger that is. */
static double overlapped(double one, double other, double overlap) {
    if (overlap <= 1 || one + other <= 0)
        return one + other;
    double longer = fmax(one, other);
    double share = fmin(one, other) / longer;
    return longer * pow(1 + pow(share, overlap), 1 / overlap);
}

/* In one node: the steps hide behind the bytes as far as ring_overlap says. */
static struct sc__coll_terms ring_inside_terms(const struct sc__coll_model *m,
                                               unsigned proto,
                                               double latency,
                                               double bytes) {
    double steps = overlapped(latency, bytes, m->k->ring_overlap[proto]) - bytes;
    return terms(m->k->base[proto] + steps, bytes);
}

/* Us that ranks wait for each other besides where one process drives several GPUs. A rank
 * drifts no more than a step of all channels (a quarter of a chunk each) from the next. */
static double shared_drift_us(const struct sc__coll_model *m, double bytes_us) {
    double step = sc__nccl_limits.ring_chunk / 4 * sc__nccl_tuner.channels[0];
    if (m->coll != SC__ALLREDUCE || m->cluster->tuning.gpus_per_process < 2)
        return 0;
    double most = transfer_us((m->ranks - 1) * step, m->nvlink);
    return m->k->shared_drift * sqrt(fmin(bytes_us, most));
}

/* Simple in one node. The links carry the volume while the threads copy it, and the
 * rank's own part besides; the longer decides. What one rank waits for another adds up
 * like steps of chance, with the square root of the time. */
static struct sc__coll_terms ring_simple_inside(const struct sc__coll_model *m,
                                                const struct ring_cost *r) {
    const struct sc__constants *k = m->k;
    double links = transfer_us(r->volume, r->rate);
    double copies = transfer_us(r->volume, k->ring_copy * rings_share(m)) + r->own;
    double bytes = fmax(links, copies);
    struct sc__coll_terms t = ring_inside_terms(m, 2, r->latency, bytes);
    t.latency += k->ring_drift * sqrt(bytes) + shared_drift_us(m, bytes);
    return t;
}

static struct sc__coll_terms ring_terms(const struct sc__coll_model *m, unsigned proto) {
    const struct sc__constants *k = m->k;
    struct ring_cost r = make_ring(m, proto);
    if (proto == 2 && leaves_node(m))
        return terms(k->net_base[2], ring_overlapped(m, &r));
    if (proto == 2)
        return ring_simple_inside(m, &r);
    double bytes = transfer_us(r.volume, r.rate) + r.own;
    return leaves_node(m) ? terms(base_of(m, proto) + r.latency, bytes)
                          : ring_inside_terms(m, proto, r.latency, bytes);
}

static struct sc__coll_terms tree_terms(const struct sc__coll_model *m, unsigned proto) {
    const struct sc__constants *k = m->k;
    struct sc__coll_counts c = sc__coll_model_counts(m, SC__FAMILY_TREE);
    bool outside = leaves_node(m);
    double share = proto == 2 ? k->tree_simple : share_of(m, proto);
    double latency = c.inside * k->tree_hop[proto];
    double bandwidth =
        m->per_node > 1 ? transfer_us(c.passes * m->bytes, share * m->nvlink) : 0;
    if (outside) {
        latency += c.outside * (k->net_tree[proto] + m->hop);
        bandwidth =
            fmax(bandwidth, transfer_us(c.node * m->bytes, m->wire * k->tree_wire[proto]));
    }
    return terms(base_of(m, proto) + latency,
                 bandwidth + k->tree_mix[outside] * sqrt(latency * bandwidth));
}

/* The chunk of NVLS for a buffer of so many bytes. */
static double
nvls_chunk(const struct sc__coll_chunk_rule *rule, double most, double ops, double bytes) {
    double chunk = most;
    for (; rule->rounds > 0; rule++)
        if (bytes < rule->rounds * ops * chunk)
            chunk = fmin(chunk, rule->chunk);
    return chunk;
}

/* Rounds of chunks through the switches of a node, and on to other nodes. */
struct nvls_cost {
    const struct sc__coll_model *m;
    const struct sc__coll_chunk_rule *rules;
    double most; /* bytes of a chunk */
    double ops;  /* chunks of a round */
    /* bytes that a port, a node sends per byte of the buffer */
    double port;
    double node;
    double levels; /* of the trees between nodes */
};

/* Us of one round of `loop` bytes inside a node. */
static double nvls_round(const struct nvls_cost *n, double loop) {
    const struct sc__constants *k = n->m->k;
    double moved = loop * n->port;
    double line = k->nvls_line * n->m->port;
    if (n->m->per_node > 8)
        line *= pow(8 / n->m->per_node, k->nvls_spread);
    return fmax(transfer_us(moved, k->nvls_rate) + k->nvls_chunk_cost,
                transfer_us(moved, line));
}

/* Bytes of a round for a buffer of so many. */
static double nvls_loop(const struct nvls_cost *n, double bytes) {
    return fmin(n->ops * nvls_chunk(n->rules, n->most, n->ops, bytes), bytes);
}

typedef double at_size(const struct nvls_cost *n, double bytes);

/* The first size above `bytes` that has a larger chunk; 0: there is none. */
static double next_larger_chunk(const struct nvls_cost *n, double bytes) {
    double chunk = n->most;
    double next = 0;
    for (const struct sc__coll_chunk_rule *rule = n->rules; rule->rounds > 0; rule++) {
        double edge = rule->rounds * n->ops * chunk;
        if (edge <= bytes)
            break;
        if (rule->chunk < chunk)
            next = edge;
        chunk = fmin(chunk, rule->chunk);
    }
    return next;
}

/* Measured are powers of two. Where the chunk grows the time would jump, or fall; below
 * such a size it runs straight from half of it on. */
static double between_chunks(const struct nvls_cost *n, double bytes, at_size *time) {
    double edge = next_larger_chunk(n, bytes);
    if (2 * bytes <= edge || !(edge > 0))
        return time(n, bytes);
    double above = time(n, edge);
    double below = fmin(above, time(n, edge / 2));
    return below + (above - below) * (2 * bytes / edge - 1);
}

static double nvls_at(const struct nvls_cost *n, double bytes) {
    double loop = nvls_loop(n, bytes);
    return (bytes / loop + n->m->k->nvls_fill) * nvls_round(n, loop);
}

/* Below a size NCCL does not use NVLS; counting such a message as one of that size
 * keeps the time from falling when it begins to. */
static double nvls_rounds(const struct sc__coll_model *m) {
    struct nvls_cost n = {.m = m,
                          .rules = sc__nccl_nvls_chunks,
                          .most = m->k->nvls_chunk,
                          .ops = m->k->nvls_channels[0] * m->per_node,
                          .port = sc__coll_model_counts(m, SC__FAMILY_NVLS).port};
    return between_chunks(&n, fmax(m->bytes, sc__nccl_limits.nvls_least), nvls_at);
}

static struct sc__coll_terms nvls_terms(const struct sc__coll_model *m, unsigned proto) {
    (void)proto;
    return terms(m->k->nvls_base, nvls_rounds(m));
}

static double nvls_tree_most(const struct sc__coll_model *m) {
    const struct sc__nccl_limits *l = &sc__nccl_limits;
    return m->nodes >= l->nvls_tree_nodes ? fmin(m->k->nvls_chunk, l->nvls_tree_chunk)
                                          : m->k->nvls_chunk;
}

/* Two nodes exchange with each other and fill the wire; more wait for several others. The
 * pipeline fills level by level of the trees, and passes a network at each. */
static double nvls_tree_at(const struct nvls_cost *n, double bytes) {
    const double *t = n->m->k->nvls_tree;
    double loop = nvls_loop(n, bytes);
    double wire = n->m->wire * (n->m->nodes > 2 ? t[3] : 1);
    double round = fmax(nvls_round(n, loop) / t[2], transfer_us(n->node * loop, wire));
    double fill = t[4] * n->levels;
    return bytes / loop * round + fill * (round + n->m->hop);
}

static struct sc__coll_terms nvls_tree_terms(const struct sc__coll_model *m,
                                             unsigned proto) {
    const double *t = m->k->nvls_tree;
    struct sc__coll_counts c = sc__coll_model_counts(m, SC__FAMILY_NVLS);
    struct nvls_cost n = {.m = m,
                          .rules = sc__nccl_nvls_tree_chunks,
                          .most = nvls_tree_most(m),
                          .ops = m->k->nvls_channels[1] * m->per_node,
                          .port = c.port,
                          .node = c.node,
                          .levels = c.outside / 2};
    (void)proto;
    return terms(t[0] + c.outside * (t[1] + m->hop),
                 between_chunks(&n, m->bytes, nvls_tree_at));
}

/* The switches of the fabric reduce: a node sends its buffer once. */
static struct sc__coll_terms collnet_terms(const struct sc__coll_model *m, unsigned proto) {
    struct sc__coll_counts c = sc__coll_model_counts(m, SC__FAMILY_COLLNET);
    double node = transfer_us(m->bytes * c.port, m->nvlink);
    (void)proto;
    if (sc__coll_node_switch_reduces(m->cluster, m->per_node))
        node = nvls_rounds(m) / m->k->collnet[2];
    return terms(m->k->net_base[2] + m->k->collnet[0] + m->k->collnet[1] + m->hop,
                 fmax(node, transfer_us(c.node * m->bytes, m->wire)));
}

static struct sc__coll_terms pat_terms(const struct sc__coll_model *m, unsigned proto) {
    const struct sc__constants *k = m->k;
    struct sc__coll_counts c = sc__coll_model_counts(m, SC__FAMILY_PAT);
    return terms(
        k->pat[0] + log2(m->nodes) * (k->pat[1] + m->hop) / 3.5 + k->pat[2] * m->ranks,
        transfer_us(m->bytes * c.sent / c.parts, k->pat_wire * ring_bandwidth(m, proto)));
}

/* GB/s to other nodes: channels to so many peers may not fill the NIC. */
static double nic_by_channels(const struct sc__coll_model *m, double nic, double peers) {
    return fmin(nic, peers * m->k->net_channels * m->k->net_channel);
}

double sc__coll_channels_each(const struct sc__constants *k, double ranks) {
    double channels = k->p2p_channels;
    for (double r = 1; r < ranks && channels > 1; r *= 2)
        channels /= 2;
    return channels;
}

/* An all-to-all of a node whose parts fill the channels they have gets all of its GPU's:
 * `few` us with a part of them, `rate` GB/s with all. Between the two its time stays. */
static double with_all_channels(
    const struct sc__coll_model *m, double few, double part, double volume, double rate) {
    const struct sc__constants *k = m->k;
    double filled = sc__nccl_limits.p2p_part * sc__coll_channels_each(k, m->ranks);
    if (part <= filled)
        return few;
    double all = transfer_us(volume, fmin(rate, k->p2p_channels * k->p2p_channel));
    return fmin(few, fmax(all, few * filled / part));
}

/* us of `part` bytes to each of `peers` by LL, on the channels that a peer has. LL sends a
 * flag with every four bytes. */
static double ll_pairs_us(const struct sc__coll_model *m, double part, double peers) {
    const struct sc__constants *k = m->k;
    double each = part / sc__coll_channels_each(k, m->ranks);
    double on_channel = fmax(fmin(part, sc__nccl_limits.p2p_ll_part), each);
    return fmax(transfer_us(on_channel, k->p2p_ll_channel),
                transfer_us(2 * part * peers, k->p2p_share * m->port));
}

/* An all-to-all inside a node: us of what its parts wait for, and of its bytes by Simple.
 */
struct pairs_cost {
    double part; /* bytes to each of … */
    double peers;
    double latency;
    double simple; /* more of it with Simple */
    double bytes;
};

/* Where NCCL sends by LL up to a size, though Simple may be faster before; behind it
 * Simple, but no faster than LL was at that size. */
static struct sc__coll_terms pairs_by_ll(const struct sc__coll_model *m,
                                         const struct pairs_cost *p) {
    double most = sc__nccl_limits.p2p_ll_most * m->k->p2p_channels;
    double ll = ll_pairs_us(m, fmin(p->part, most), p->peers);
    if (p->part <= most)
        return terms(p->latency, ll);
    return terms(p->latency + p->simple, fmax(p->bytes, ll - p->simple));
}

static struct sc__coll_terms pairs_inside(const struct sc__coll_model *m,
                                          const struct pairs_cost *p) {
    if (m->k->p2p_ll_channel > 0)
        return pairs_by_ll(m, p);
    /* a channel of its own, twice the bytes on the links */
    double small = fmax(transfer_us(p->part, m->k->p2p_ll[0]),
                        transfer_us(2 * p->part * p->peers, m->k->p2p_share * m->port));
    if (small < p->simple + p->bytes)
        return terms(p->latency, small);
    return terms(p->latency + p->simple, p->bytes);
}

/* us of Simple: the ramp of its bytes, and no less than one channel takes to carry its
 * first bytes into the buffer and out of it. `port` us on the links and to copy the own
 * part. */
static void add_simple(const struct sc__coll_model *m, double port, struct pairs_cost *p) {
    const struct sc__constants *k = m->k;
    bool counted = k->pairs_simple > 0;
    p->simple = counted ? k->pairs_simple : k->p2p_simple;
    p->bytes = port + k->p2p_mix * sqrt((p->latency + p->simple) * port);
    if (counted)
        p->bytes =
            fmax(p->bytes,
                 transfer_us(2 * fmin(p->part, sc__nccl_limits.p2p_first), k->p2p_channel));
}

/* Every rank to every other one, and its own part: latency of the messages, then the
 * fuller of its NVLink port and its NIC, at `nic` GB/s. `copied` messages pass the port
 * once more. Inside a node small messages go by LL. */
static struct sc__coll_terms
pairs_terms(const struct sc__coll_model *m, double nic, double more, double copied) {
    const struct sc__constants *k = m->k;
    struct sc__coll_counts c = sc__coll_model_counts(m, SC__FAMILY_PAIRS);
    double inside = c.port / c.passes;
    double outside = c.nic / c.passes;
    double part = m->bytes / c.parts;
    double latency =
        k->p2p_base + k->p2p_peer[0] * inside + k->p2p_peer[1] * outside + more;
    double rate = k->p2p_share * m->port;
    double port =
        transfer_us(part * (inside + copied), rate) + transfer_us(part, k->p2p_copy);
    if (!leaves_node(m)) {
        struct pairs_cost p = {.part = part, .peers = inside, .latency = latency};
        add_simple(m, with_all_channels(m, port, part, part * inside, rate), &p);
        struct sc__coll_terms t = pairs_inside(m, &p);
        return terms(c.passes * t.latency, c.passes * t.bandwidth);
    }
    double sent = transfer_us(part * outside, nic_by_channels(m, nic, outside));
    double slot = transfer_us(part * c.sent / c.passes, sc__coll_slot(m->cluster));
    port = fmax(port, slot);
    return terms(c.passes * (latency + k->p2p_simple + k->p2p_net + m->hop),
                 c.passes * fmax(port, sent));
}

/* Of a gather or scatter the root's part, over its NIC alone. */
static struct sc__coll_terms direct_terms(const struct sc__coll_model *m, unsigned proto) {
    bool to_root = sc__coll_to_root((unsigned)m->coll);
    (void)proto;
    return pairs_terms(m, to_root ? m->nic_alone : m->nic, 0, 0);
}

/* The message changes GPUs inside its node first, so that it stays on the
 * destination's rail. */
static struct sc__coll_terms pxn_terms(const struct sc__coll_model *m, unsigned proto) {
    (void)proto;
    return pairs_terms(m, m->nic, m->k->pxn, m->ranks - m->per_node);
}

double sc__two_level_share(const struct sc__cluster *c, uint32_t ranks, uint32_t nodes) {
    double copies = c->tuning.copies > 0 ? c->tuning.copies : ranks;
    double in_node = (double)ranks / nodes;
    /* a second node where a row of ranks ends in the first */
    if (c->tuning.copies_together)
        return fmin(nodes, 1 + (copies - 1) / in_node) / copies;
    return nodes * (1 - pow(1 - 1.0 / nodes, copies)) / copies;
}

/* DeepEP: a token crosses to a node once, whatever number of its ranks want
 * it, and is copied on over NVLink there. Of copies at random over the
 * nodes, distinct nodes are N(1-(1-1/N)^k). Both parts run beside each other,
 * but not without getting in each other's way. */
static struct sc__coll_terms two_level_terms(const struct sc__coll_model *m,
                                             unsigned proto) {
    const double *k = m->k->two_level;
    double share = sc__two_level_share(m->cluster, (uint32_t)m->ranks, (uint32_t)m->nodes);
    double doublings = fmax(0, log2(m->per_node / 8));
    double nvlink = fmax(0.5 * k[1], k[1] - k[3] * doublings);
    double wire = transfer_us(m->bytes * share * (m->nodes - 1) / m->nodes, k[0] * m->nic);
    double port = transfer_us(m->bytes * (m->per_node - 1) / m->per_node, nvlink * m->port);
    (void)proto;
    return terms(k[2] + k[4] * doublings + (leaves_node(m) ? m->k->p2p_net + m->hop : 0),
                 pow(pow(wire, k[5]) + pow(port, k[5]), 1 / k[5]));
}

static struct sc__coll_terms chain_terms(const struct sc__coll_model *m, unsigned proto) {
    const struct sc__constants *k = m->k;
    struct sc__coll_counts c = sc__coll_model_counts(m, SC__FAMILY_CHAIN);
    double net = (m->per_node < 2 ? k->net_tree : k->net_ring)[proto] + m->hop;
    double latency = c.inside * ring_step(m, proto) + c.outside * net;
    double rate = share_of(m, proto) * ring_bandwidth(m, proto);
    double bytes = transfer_us(c.sent * m->bytes, rate);
    return leaves_node(m) ? terms(base_of(m, proto) + latency, bytes)
                          : ring_inside_terms(m, proto, latency, bytes);
}

/* One kernel of a serving stack. One shot: every rank reads the whole buffer of every other
 * one; two: each reduces its part, then all gather. */
static struct sc__coll_terms custom_terms(const struct sc__coll_model *m, unsigned proto) {
    const double *c = m->k->custom;
    double peers = m->ranks - 1;
    double start = c[0] + c[1] * peers;
    (void)proto;
    if (!(c[0] > 0))
        return never;
    double one = transfer_us(m->bytes * peers, c[2] * m->port);
    double two = transfer_us(2 * m->bytes * peers / m->ranks, c[4] * m->port);
    return one < c[3] + two ? terms(start, one) : terms(start + c[3], two);
}

typedef struct sc__coll_terms algorithm_terms(const struct sc__coll_model *m,
                                              unsigned proto);

static algorithm_terms *const terms_of[SC__ALGOS] = {
    [SC__ALGO_RING] = ring_terms,
    [SC__ALGO_TREE] = tree_terms,
    [SC__ALGO_NVLS] = nvls_terms,
    [SC__ALGO_NVLS_TREE] = nvls_tree_terms,
    [SC__ALGO_COLLNET] = collnet_terms,
    [SC__ALGO_PAT] = pat_terms,
    [SC__ALGO_DIRECT] = direct_terms,
    [SC__ALGO_PXN] = pxn_terms,
    [SC__ALGO_HIERARCHICAL] = two_level_terms,
    [SC__ALGO_CHAIN] = chain_terms,
    [SC__ALGO_CUSTOM] = custom_terms,
};

bool sc__coll_rule_holds(const struct sc__coll_model *m, const struct sc__coll_rule *rule) {
    uint32_t c = rule->conditions;
    if (!(rule->collectives >> m->coll & 1))
        return false;
    return !((c & SC__RULE_ONE_NODE && leaves_node(m)) ||
             (c & SC__RULE_SEVERAL_NODES && !leaves_node(m)) ||
             (c & SC__RULE_ONE_PER_NODE && m->per_node > 1) ||
             (c & SC__RULE_SEVERAL_PER_NODE && m->per_node < 2) ||
             (c & SC__RULE_NODE_SWITCH_REDUCES &&
              !sc__coll_node_switch_reduces(m->cluster, m->per_node)) ||
             (c & SC__RULE_FABRIC_SWITCH_REDUCES && !m->cluster->fabric.sharp) ||
             (c & SC__RULE_PXN && m->cluster->tuning.no_pxn));
}

struct sc__coll_terms
sc__coll_model_terms(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto) {
    if (!terms_of[algo] || (proto == 1 && m->k->ll128[leaves_node(m)] < 1))
        return never;
    struct sc__coll_terms t = terms_of[algo](m, proto);
    if (leaves_node(m))
        t.bandwidth = fmax(t.bandwidth, sc__coll_model_crossing(m, algo, proto));
    return t;
}

double
sc__coll_model_time(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto) {
    struct sc__coll_terms t = sc__coll_model_terms(m, algo, proto);
    return t.latency + t.bandwidth;
}
