#include "network/astra/astra.h"

/* B bytes a nanosecond on a link of dimension d. */
static double rate(const struct sc__astra *a, uint32_t d) {
    return a->compat ? a->net.bandwidth[d] * 0x1p30 / 1e9 : a->net.bandwidth[d];
}

static double astra_cost_whole(const struct sc__astra *a, double ns) {
    return a->compat ? floor(ns) : ns;
}

/* One message of a step in dimension d, ns. */
static double hop(const struct sc__astra *a, uint32_t d, double bytes) {
    return astra_cost_whole(a, a->net.latency[d] + bytes / rate(a, d));
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

/* n > 1 places, S bytes as the kind counts them. */
static double astra_cost_ring(const struct sc__astra *a,
                              enum sc__astra_collective kind,
                              uint32_t d,
                              double n,
                              double bytes) {
    double part = bytes / n;
    switch (kind) {
    case SC__ASTRA_ALLREDUCE:
        return 2 * (n - 1) * hop(a, d, part) + extras(a, 3 * (n - 1), part, 2 * n - 1);
    case SC__ASTRA_REDUCESCATTER:
        return (n - 1) * hop(a, d, part) + extras(a, 3 * (n - 1), part, n);
    case SC__ASTRA_ALLGATHER:
        return (n - 1) * hop(a, d, bytes) + extras(a, 0, bytes, n);
    default:
        return (n - 1) * hop(a, d, part) + extras(a, 0, part, n);
    }
}

/* Everyone to everyone at once: over a link for each pair, or one link all. */
static double direct(const struct sc__astra *a,
                     enum sc__astra_collective kind,
                     uint32_t d,
                     double n,
                     double bytes) {
    double part = kind == SC__ASTRA_ALLGATHER ? bytes : bytes / n;
    double volume = a->net.topology[d] == SC__ASTRA_FULLY ? part : part * (n - 1);
    return (kind == SC__ASTRA_ALLREDUCE ? 2 : 1) * hop(a, d, volume);
}

/* log n steps; halving and doubling moves (n − 1)/n of the buffer. */
static double logarithmic(const struct sc__astra *a,
                          enum sc__astra_collective kind,
                          uint32_t d,
                          double n,
                          double bytes) {
    double volume = kind == SC__ASTRA_ALLGATHER ? bytes * (n - 1) : bytes * (n - 1) / n;
    double one_way = ceil(log2(n)) * a->net.latency[d] + volume / rate(a, d);
    return astra_cost_whole(a, (kind == SC__ASTRA_ALLREDUCE ? 2 : 1) * one_way);
}

static double in_dimension(const struct sc__astra *a,
                           enum sc__astra_collective kind,
                           uint32_t d,
                           double n,
                           double bytes) {
    switch (a->algorithm[kind][d]) {
    case SC__ASTRA_ALG_DIRECT:
        return direct(a, kind, d, n, bytes);
    case SC__ASTRA_ALG_HALVING:
    case SC__ASTRA_ALG_TREE:
        return logarithmic(a, kind, d, n, bytes);
    default:
        return astra_cost_ring(a, kind, d, n, bytes);
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

int64_t sc__astra_collective(const struct sc__astra *a,
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

int64_t sc__astra_message(const struct sc__astra *a, const uint32_t *hops, uint64_t bytes) {
    double latency = 0;
    double slowest = INFINITY;
    for (uint32_t d = 0; d < a->net.dims; d++) {
        latency += hops[d] * a->net.latency[d];
        if (hops[d] && rate(a, d) < slowest)
            slowest = rate(a, d);
    }
    double ns = astra_cost_whole(a, latency + (double)bytes / slowest) +
                (a->compat ? a->endpoint_delay : 0);
    return ns < 9e15 ? llround(ns * 1000) : INT64_MAX / 8;
}
