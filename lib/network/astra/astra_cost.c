/* astra_cost: the time of a collective as ASTRA-sim's analytical network counts it,
 * dimension by dimension (astra.h). */
#include "network/astra/astra.h"

#include "collective/schedule.h"
#include "workload/workload.h"

double sc__astra_latency(const struct sc__astra_network *n, uint32_t d) {
    return (n->topology[d] == SC__ASTRA_SWITCH ? 2 : 1) * n->latency[d];
}

/* B bytes a nanosecond on a link of dimension d. */
static double rate(const struct sc__astra *a, uint32_t d) {
    return a->compat ? a->net.bandwidth[d] * 0x1p30 / 1e9 : a->net.bandwidth[d];
}

static double whole_ns(const struct sc__astra *a, double ns) {
    return a->compat ? floor(ns) : ns;
}

/* One message of a step in dimension d, ns. */
static double hop(const struct sc__astra *a, uint32_t d, double bytes) {
    return whole_ns(a, sc__astra_latency(&a->net, d) + bytes / rate(a, d));
}

/* What ASTRA-sim adds for memory passes and for handing messages over. A
 * fused reduction makes no passes of its own, so physically there are none. */
static double
extras(const struct sc__astra *a, double passes, double part, double messages) {
    if (!a->compat)
        return 0;
    double memory = a->local_mem_bw > 0 ? passes * floor(part / a->local_mem_bw) : 0;
    return memory + messages * a->endpoint_delay;
}

/* What an algorithm in one dimension sends, of n > 1 places. */
static struct sc__coll_counts
counts_of(enum sc__coll_family family, enum sc__astra_collective kind, double n) {
    static const int colls[SC__ASTRA_COLLS] = {[SC__ASTRA_ALLREDUCE] = SC__ALLREDUCE,
                                               [SC__ASTRA_ALLGATHER] = SC__ALLGATHER,
                                               [SC__ASTRA_REDUCESCATTER] =
                                                   SC__REDUCESCATTER,
                                               [SC__ASTRA_ALLTOALL] = SC__ALLTOALL};
    return sc__coll_counts(family, colls[kind], n, 1, n, n);
}

/* Bytes of a part: ASTRA-sim's all-gather counts the shard. */
static double part_of(enum sc__astra_collective kind, double n, double bytes) {
    return kind == SC__ASTRA_ALLGATHER ? bytes : bytes / n;
}

/* Its own all-to-all goes round the ring, too. */
static double ring_time(const struct sc__astra *a,
                        enum sc__astra_collective kind,
                        uint32_t d,
                        double n,
                        double bytes) {
    struct sc__coll_counts c = counts_of(SC__FAMILY_RING, kind, n);
    double part = part_of(kind, n, bytes);
    bool reduces = kind == SC__ASTRA_ALLREDUCE || kind == SC__ASTRA_REDUCESCATTER;
    double memory_passes = reduces ? 3 * (n - 1) : 0;
    return c.steps * hop(a, d, part) + extras(a, memory_passes, part, c.steps + 1);
}

/* Everyone to everyone at once: over a link for each pair, or one link all. */
static double direct_time(const struct sc__astra *a,
                          enum sc__astra_collective kind,
                          uint32_t d,
                          double n,
                          double bytes) {
    struct sc__coll_counts c = counts_of(SC__FAMILY_PAIRS, kind, n);
    double part = part_of(kind, n, bytes);
    bool own_links = a->net.topology[d] == SC__ASTRA_FULLY;
    return c.passes * hop(a, d, own_links ? part : part * (c.sent / c.passes));
}

/* log n steps; halving and doubling moves (n − 1)/n of the buffer. */
static double halving_time(const struct sc__astra *a,
                           enum sc__astra_collective kind,
                           uint32_t d,
                           double n,
                           double bytes) {
    struct sc__coll_counts c = counts_of(SC__FAMILY_HALVING, kind, n);
    double sent = bytes * (c.sent / c.passes);
    double volume = kind == SC__ASTRA_ALLGATHER ? sent : sent / n;
    double one_pass =
        c.steps / c.passes * sc__astra_latency(&a->net, d) + volume / rate(a, d);
    return whole_ns(a, c.passes * one_pass);
}

static double in_dimension(const struct sc__astra *a,
                           enum sc__astra_collective kind,
                           uint32_t d,
                           double n,
                           double bytes) {
    switch (a->algorithm[kind][d]) {
    case SC__ASTRA_ALG_DIRECT:
        return direct_time(a, kind, d, n, bytes);
    case SC__ASTRA_ALG_HALVING:
    case SC__ASTRA_ALG_TREE:
        return halving_time(a, kind, d, n, bytes);
    default:
        return ring_time(a, kind, d, n, bytes);
    }
}

/* Reduce-scatter through the dimensions from the inside, or all-gather from
 * the outside: what is held shrinks or grows by the way. */
static double through(const struct sc__astra *a,
                      enum sc__astra_collective kind,
                      const uint32_t *size,
                      double bytes) {
    double ns = 0;
    for (uint32_t i = 0; i < a->net.dims; i++) {
        uint32_t d = kind == SC__ASTRA_ALLGATHER ? a->net.dims - 1 - i : i;
        if (size[d] < 2)
            continue;
        ns += in_dimension(a, kind, d, size[d], bytes);
        if (kind == SC__ASTRA_ALLGATHER)
            bytes *= size[d];
        if (kind == SC__ASTRA_REDUCESCATTER)
            bytes /= size[d];
    }
    return ns;
}

static uint32_t spanned(const struct sc__astra *a, const uint32_t *size) {
    uint32_t n = 0;
    for (uint32_t d = 0; d < a->net.dims; d++)
        n += size[d] > 1;
    return n;
}

static int64_t whole_collective(const struct sc__astra *a,
                                enum sc__astra_collective kind,
                                const uint32_t *size,
                                uint64_t bytes) {
    double all = 1;
    double ns;
    for (uint32_t d = 0; d < a->net.dims; d++)
        all *= size[d];
    if (kind == SC__ASTRA_ALLREDUCE && (a->local_bw_aware || !a->compat) &&
        spanned(a, size) > 1)
        ns = through(a, SC__ASTRA_REDUCESCATTER, size, (double)bytes) +
             through(a, SC__ASTRA_ALLGATHER, size, (double)bytes / all);
    else
        ns = through(a, kind, size, (double)bytes);
    return ns < 9e15 ? llround(ns * 1000) : INT64_MAX / 8;
}

/* preferred-dataset-splits: a dimension works at one piece after the other
 * (active-chunks-per-dimension 1), so each step's latency counts once a piece. Over
 * several dimensions pieces overtake each other, which is not counted. */
int64_t sc__astra_collective(const struct sc__astra *a,
                             enum sc__astra_collective kind,
                             const uint32_t *size,
                             uint64_t bytes) {
    if (a->splits < 2 || spanned(a, size) != 1)
        return whole_collective(a, kind, size, bytes);
    int64_t piece = whole_collective(a, kind, size, bytes / a->splits);
    return piece < INT64_MAX / 8 / a->splits ? piece * a->splits : INT64_MAX / 8;
}

int64_t sc__astra_message(const struct sc__astra *a, const uint32_t *hops, uint64_t bytes) {
    double latency = 0;
    double slowest = INFINITY;
    for (uint32_t d = 0; d < a->net.dims; d++) {
        latency += hops[d] * sc__astra_latency(&a->net, d);
        if (hops[d] && rate(a, d) < slowest)
            slowest = rate(a, d);
    }
    double ns = whole_ns(a, latency + (double)bytes / slowest) +
                (a->compat ? a->endpoint_delay : 0);
    return ns < 9e15 ? llround(ns * 1000) : INT64_MAX / 8;
}
