/* nccl_tuner: the time NCCL's own cost table (library.h) predicts, for those who want its
 * choice of an algorithm between nodes rather than the best one. Its times are not used. */
#include "collective/cost_model.h"

#include "collective/library.h"

#include <math.h>

struct tuner {
    const struct sc__coll_model *m;
    const struct sc__nccl_tuner_generation *g;
    double channels;
    double bus;
    unsigned by_nodes;
};

static struct tuner make_tuner(const struct sc__coll_model *m) {
    struct tuner u = {.m = m, .g = sc__nccl_tuner_generation(m->cluster->generation)};
    double intra = u.g->link * u.g->links;
    double inter = m->wire;
    u.channels = sc__nccl_tuner.channels[m->nodes > 1];
    u.bus = m->nodes <= 2 ? intra : fmin(intra, inter);
    u.by_nodes = m->nodes < 2 ? 0 : m->nodes < 4 ? 1 : 2;
    return u;
}

static double tuner_ring(const struct tuner *u, unsigned proto) {
    const struct sc__coll_model *m = u->m;
    struct sc__coll_counts c = sc__coll_model_counts(m, SC__FAMILY_RING);
    double bus = u->bus;
    if (proto == 0)
        bus = fmin(u->g->ll_most[u->by_nodes], bus / 2);
    if (proto == 1)
        bus = fmin(0.92 * bus, u->channels * u->g->ring_ll128);
    return sc__nccl_tuner.ring_base[proto] + c.inside * sc__nccl_tuner.ring_inside[proto] +
           c.outside * sc__nccl_tuner.ring_outside[proto] +
           m->bytes * c.sent / c.parts / (1e3 * bus);
}

static double tuner_tree(const struct tuner *u, unsigned proto) {
    const struct sc__coll_model *m = u->m;
    double per_channel =
        proto == 2 ? u->g->tree_simple[u->by_nodes] : u->g->tree_ll128[u->by_nodes];
    double bus = fmin(0.92 * u->bus, u->channels * per_channel);
    if (proto == 0)
        bus = fmin(bus / 3.8, u->g->ll_most[u->by_nodes]);
    if (proto == 1)
        bus *= m->nodes < 2 ? 7.0 / 9 : 120.0 / 128;
    double latency = 2 * ((m->per_node - 1) * sc__nccl_tuner.tree_inside[proto] +
                          log2(m->nodes) * sc__nccl_tuner.tree_outside[proto]);
    return sc__nccl_tuner.tree_base[proto] + latency + m->bytes / (1e3 * bus * 0.5);
}

static double tuner_nvls(const struct tuner *u, bool across) {
    const struct sc__coll_model *m = u->m;
    struct sc__coll_counts c = sc__coll_model_counts(m, SC__FAMILY_RING);
    double channels = m->k->nvls_channels[across];
    double bus = u->bus * u->g->nvls_efficiency * (channels - 1) / channels * 2;
    double latency = sc__nccl_tuner.nvls_latency +
                     (across ? 2 * log2(m->nodes) * sc__nccl_tuner.nvls_tree_latency : 0);
    if (across)
        bus = fmin(bus, channels * u->g->nvls_tree[u->by_nodes]);
    return latency + m->bytes * c.sent / c.parts / (1e3 * bus);
}

double
sc__nccl_tuner_time(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto) {
    struct tuner u = make_tuner(m);
    switch (algo) {
    case SC__ALGO_RING:
        return tuner_ring(&u, proto);
    case SC__ALGO_TREE:
        return tuner_tree(&u, proto);
    case SC__ALGO_NVLS:
        return tuner_nvls(&u, false);
    case SC__ALGO_NVLS_TREE:
        return tuner_nvls(&u, true);
    default:
        return sc__coll_model_time(m, algo, proto);
    }
}
