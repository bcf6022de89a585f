/* shift_traffic: what meets where when every member of a group sends to the next one. On
 * GPUs in order one message leaves a node; where ranks lie as a rank file has them, several
 * may leave by one NIC, and most of a leaf's by its uplinks. */
#include "hardware/shift_traffic.h"

#include "hardware/rail_traffic.h"

#include <stdlib.h>

/* What messages meet on is a number; those with the same meet. */
struct meetings {
    uint64_t *numbers;
    uint32_t count;
};

static int compare_numbers(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint32_t most_together(struct meetings *m) {
    uint32_t most = 0;
    uint32_t first = 0;
    if (m->count)
        qsort(m->numbers, m->count, sizeof *m->numbers, compare_numbers);
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->numbers[i] != m->numbers[first])
            first = i;
        most = i + 1 - first > most ? i + 1 - first : most;
    }
    m->count = 0;
    return most;
}

/* By the NIC of the GPU beside the sender that is on the receiver's rail, where it may
 * change rails inside its node. */
static uint32_t nic_out(const struct sc__cluster *c, uint32_t from, uint32_t to) {
    bool pxn = sc__fabric_has_rails(c) && !c->tuning.no_pxn;
    return sc__cluster_nic(c, pxn ? to : from);
}

typedef bool
meets_at(const struct sc__cluster *c, uint32_t from, uint32_t to, uint64_t *number);

static bool
on_nic_out(const struct sc__cluster *c, uint32_t from, uint32_t to, uint64_t *number) {
    uint32_t node = from / c->node_gpus;
    *number = (uint64_t)node * c->node_nics + nic_out(c, from, to);
    return node != to / c->node_gpus;
}

static bool
on_nic_in(const struct sc__cluster *c, uint32_t from, uint32_t to, uint64_t *number) {
    uint32_t node = to / c->node_gpus;
    *number = (uint64_t)node * c->node_nics + sc__cluster_nic(c, to);
    return node != from / c->node_gpus;
}

/* The uplinks of the part of one end of a message; on rails each leaf has its own, but the
 * switches of a pod join all rails. */
static bool on_uplinks(const struct sc__cluster *c,
                       enum sc__level level,
                       uint32_t from,
                       uint32_t to,
                       bool coming,
                       uint64_t *number) {
    uint32_t out = nic_out(c, from, to);
    uint32_t node = (coming ? to : from) / c->node_gpus;
    *number = (uint64_t)(node / sc__fabric_part_nodes(c, level));
    if (sc__fabric_has_rails(c) && level == SC__LEAF)
        *number = *number * c->node_nics + (coming ? sc__cluster_nic(c, to) : out);
    return sc__passes_uplinks(c, level, out, from, to);
}

static bool
on_leaf_out(const struct sc__cluster *c, uint32_t from, uint32_t to, uint64_t *number) {
    return on_uplinks(c, SC__LEAF, from, to, false, number);
}

static bool
on_leaf_in(const struct sc__cluster *c, uint32_t from, uint32_t to, uint64_t *number) {
    return on_uplinks(c, SC__LEAF, from, to, true, number);
}

static bool
on_pod_out(const struct sc__cluster *c, uint32_t from, uint32_t to, uint64_t *number) {
    return on_uplinks(c, SC__POD, from, to, false, number);
}

static bool
on_pod_in(const struct sc__cluster *c, uint32_t from, uint32_t to, uint64_t *number) {
    return on_uplinks(c, SC__POD, from, to, true, number);
}

static uint32_t count_meetings(const struct sc__cluster *c,
                               const uint32_t *gpu,
                               uint32_t n,
                               meets_at *at,
                               struct meetings *m) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t next = i + 1 < n ? i + 1 : 0;
        m->count += at(c, gpu ? gpu[i] : i, gpu ? gpu[next] : next, &m->numbers[m->count]);
    }
    return most_together(m);
}

/* Those that go out, or come in. */
static uint32_t count_both(const struct sc__cluster *c,
                           const uint32_t *gpu,
                           uint32_t n,
                           meets_at *going,
                           meets_at *coming,
                           struct meetings *m) {
    uint32_t out = count_meetings(c, gpu, n, going, m);
    uint32_t in = count_meetings(c, gpu, n, coming, m);
    return out > in ? out : in;
}

void sc__shift_count(const struct sc__cluster *c,
                     const uint32_t *gpu,
                     uint32_t n,
                     struct sc__shape *s) {
    struct meetings m = {.numbers = NULL};
    if (c->fabric.kind == SC__FABRIC_DIMS || s->nodes < 2)
        return;
    m.numbers = malloc(n * sizeof *m.numbers);
    if (!m.numbers)
        return;
    s->shift_nic = count_both(c, gpu, n, on_nic_out, on_nic_in, &m);
    if (sc__fabric_is_thin(c, SC__LEAF))
        s->shift_up[SC__LEAF] = count_both(c, gpu, n, on_leaf_out, on_leaf_in, &m);
    if (sc__fabric_is_thin(c, SC__POD))
        s->shift_up[SC__POD] = count_both(c, gpu, n, on_pod_out, on_pod_in, &m);
    free(m.numbers);
}
