/* dims_traffic: what meets on the links of dimensions when members send to the next one.
 * In a box the next one is a neighbour; elsewhere it may be several links away, and others'
 * messages on the same links. A message is spread over its paths, as --route spray does. */
#include "hardware/dims_traffic.h"

#include "hardware/dims_path.h"

#include <math.h>

struct dims_loads {
    struct sc__dims dims;
    double *load;
    double latency; /* ps of the longest way */
};

static uint32_t dim_of_link(const struct sc__dims *t, uint32_t link) {
    uint32_t d = t->fabric->dims - 1;
    while (d && link < t->first[d])
        d--;
    return d;
}

static double latency_between(const struct sc__cluster *c, uint32_t from, uint32_t to) {
    double latency = 0;
    for (uint32_t d = 0; d < c->fabric.dims; d++)
        latency += sc__fabric_dim_hops(c, d, from, to) * (double)c->fabric.dim[d].latency;
    return latency;
}

static void
lay_message(const struct sc__cluster *c, struct dims_loads *l, uint32_t from, uint32_t to) {
    uint32_t links[SC__DIMS_HOPS + 6];
    uint32_t paths = sc__dims_paths(&l->dims, from, to);
    for (uint32_t w = 0; w < paths; w++) {
        uint32_t count = sc__dims_path(&l->dims, from, to, w, links);
        for (uint32_t i = 0; i < count; i++)
            l->load[links[i]] += 1.0 / paths;
    }
    l->latency = fmax(l->latency, latency_between(c, from, to));
}

/* Every member to the next, but for the one that a chain leaves out: to or from the root.
 */
static void lay_round(const struct sc__cluster *c,
                      struct dims_loads *l,
                      const uint32_t *order,
                      const uint32_t *root,
                      int kind,
                      uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t next = i + 1 < n ? i + 1 : 0;
        uint32_t from = order ? order[i] : i;
        uint32_t to = order ? order[next] : next;
        bool open = (kind == SC__DIMS_BROADCAST && to == *root) ||
                    (kind == SC__DIMS_REDUCE && from == *root);
        if (!open)
            lay_message(c, l, from, to);
    }
}

/* Bytes/s that the fullest link leaves each; takes the loads off. */
static double least_rate(struct dims_loads *l) {
    double least = INFINITY;
    for (uint32_t i = 0; i < l->dims.links; i++) {
        double rate = l->dims.fabric->dim[dim_of_link(&l->dims, i)].rate;
        if (l->load[i] > 0)
            least = fmin(least, rate / l->load[i]);
        l->load[i] = 0;
    }
    return least;
}

static uint32_t *first_gpus(struct sc__arena *arena, uint32_t n) {
    uint32_t *gpu = SC__NEW_ARRAY(arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        gpu[i] = i;
    return gpu;
}

static bool fills_box(const struct sc__cluster *c, const struct sc__shape *s) {
    double places = 1;
    for (uint32_t d = 0; d < c->fabric.dims; d++)
        places *= s->extent[d];
    return places <= s->ranks;
}

void sc__dims_count(const struct sc__cluster *c,
                    const uint32_t *gpu,
                    const uint32_t *sorted,
                    struct sc__shape *s) {
    struct dims_loads l = {.load = NULL};
    struct sc__arena arena;
    if (s->ranks < 2 || !sc__dims_init(c, &l.dims))
        return;
    sc__arena_init(&arena);
    l.load = SC__NEW_ARRAY(&arena, double, l.dims.links);
    bool box = fills_box(c, s);
    const uint32_t *round = gpu;
    for (int kind = 0; kind < SC__DIMS_ROUNDS; kind++) {
        uint32_t root = gpu ? gpu[0] : 0;
        if (kind == SC__DIMS_RING && box)
            break;
        if (kind == SC__DIMS_RING && !sorted)
            sorted = first_gpus(&arena, s->ranks);
        if (kind == SC__DIMS_RING)
            round = sc__dims_snake(&arena, c, sorted, s->ranks);
        l.latency = 0;
        lay_round(c, &l, round, &root, kind, s->ranks);
        s->dims_latency[kind] = l.latency;
        s->dims_rate[kind] = least_rate(&l);
    }
    sc__arena_free(&arena);
}
