/* collective_tuner: the time NCCL's own cost table predicts, for those who
 * want its choice rather than the best one (specification: NCCL's tuning
 * constants, us and GB/s by LL, LL128, Simple). Its times are not used. */
#include "collective/cost_model.h"

#include "workload/workload.h"

#include <math.h>
#include <string.h>

struct coll_nccl_tuner_table {
    const char *generation;
    double ll_max[3];  /* one node, two, four and more */
    double ring_ll128; /* GB/s a channel */
    double tree_ll128[3];
    double tree_simple[3];
    double nvls_tree[3];
    double nvls_efficiency;
    double link;
    double links;
};

static const struct coll_nccl_tuner_table tables[] = {
    {"volta", {39, 39, 20.4}, 20, {20, 20, 20}, {24, 23.6, 17.8}, {0, 0, 0}, 0, 20, 6},
    {"ampere", {87.7, 22.5, 19}, 20, {20, 20, 20}, {24, 23.6, 17.8}, {0, 0, 0}, 0, 20, 12},
    {"hopper",
     {141, 45, 35},
     36.7,
     {36.7, 36.7, 29},
     {38.7, 41.4, 36},
     {0, 57.7, 45.5},
     0.85,
     20.6,
     18},
    {"blackwell",
     {282, 90, 70},
     40,
     {55.6, 31.67, 20},
     {70, 42.8, 24},
     {0, 96, 80},
     0.74,
     40.1,
     18},
};

static const double base[2][3] = {{6.6, 14, 8.4}, {6.8, 14, 8.4}}; /* ring, tree */
static const double near[2][3] = {{0.6, 1.9, 3.4}, {0.6, 1.25, 4}};
static const double far[2][3] = {{2.7, 4, 14}, {5, 8.5, 14}};

static const struct coll_nccl_tuner_table *find_table(const char *generation) {
    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!strcmp(tables[i].generation, generation))
            return &tables[i];
    return &tables[2];
}

struct tuner {
    const struct sc__coll_model *m;
    const struct coll_nccl_tuner_table *t;
    double channels;
    double bus;
    unsigned by_nodes;
};

static struct tuner make_tuner(const struct sc__coll_model *m) {
    struct tuner u = {.m = m, .t = find_table(m->cluster->generation)};
    double intra = u.t->link * u.t->links;
    double inter = m->wire;
    u.channels = m->nodes > 1 ? 16 : 24;
    u.bus = m->nodes <= 2 ? intra : fmin(intra, inter);
    u.by_nodes = m->nodes < 2 ? 0 : m->nodes < 4 ? 1 : 2;
    return u;
}

static double coll_nccl_tuner_ring(const struct tuner *u, unsigned proto) {
    const struct sc__coll_model *m = u->m;
    double passes = m->coll == SC__ALLREDUCE ? 2 : 1;
    double steps = passes * (m->ranks - 1);
    double outside = passes * (m->nodes - 1);
    double bus = u->bus;
    if (proto == 0)
        bus = fmin(u->t->ll_max[u->by_nodes], bus / 2);
    if (proto == 1)
        bus = fmin(0.92 * bus, u->channels * u->t->ring_ll128);
    return base[0][proto] + (steps - outside) * near[0][proto] + outside * far[0][proto] +
           m->bytes * steps / m->ranks / (1e3 * bus);
}

static double tree(const struct tuner *u, unsigned proto) {
    const struct sc__coll_model *m = u->m;
    double per_channel =
        proto == 2 ? u->t->tree_simple[u->by_nodes] : u->t->tree_ll128[u->by_nodes];
    double bus = fmin(0.92 * u->bus, u->channels * per_channel);
    if (proto == 0)
        bus = fmin(bus / 3.8, u->t->ll_max[u->by_nodes]);
    if (proto == 1)
        bus *= m->nodes < 2 ? 7.0 / 9 : 120.0 / 128;
    double latency =
        2 * ((m->per_node - 1) * near[1][proto] + log2(m->nodes) * far[1][proto]);
    return base[1][proto] + latency + m->bytes / (1e3 * bus * 0.5);
}

static double nvls(const struct tuner *u, bool across) {
    const struct sc__coll_model *m = u->m;
    double channels = m->k->nvls_channels[across];
    double bus = u->bus * u->t->nvls_efficiency * (channels - 1) / channels * 2;
    double latency = 25 + (across ? 2 * log2(m->nodes) * 20.9 : 0);
    if (across)
        bus = fmin(bus, channels * u->t->nvls_tree[u->by_nodes]);
    return latency + m->bytes * 2 * (m->ranks - 1) / m->ranks / (1e3 * bus);
}

double sc__tuner_time(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto) {
    struct tuner u = make_tuner(m);
    switch (algo) {
    case SC__ALGO_RING:
        return coll_nccl_tuner_ring(&u, proto);
    case SC__ALGO_TREE:
        return tree(&u, proto);
    case SC__ALGO_NVLS:
        return nvls(&u, false);
    case SC__ALGO_NVLS_TREE:
        return nvls(&u, true);
    default:
        return sc__model_time(m, algo, proto);
    }
}
