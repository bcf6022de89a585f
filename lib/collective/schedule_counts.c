/* schedule_counts: what schedules add up to, in closed form. n members on N nodes,
 * p on the fullest. */
#include "collective/schedule.h"

#include "collective/double_tree.h"
#include "workload/workload.h"

#include <math.h>

static double passes_of(int coll) {
    return coll == SC__ALLREDUCE ? 2 : 1;
}

/* ⌈log2 n⌉ of a whole number that is a double. */
static double levels_of(double n) {
    return ceil(log2(n) - 1e-9);
}

/* Half the neighbours that the busiest node has in both trees, for half the
 * buffer goes over each edge and direction. */
static double tree_node(double nodes) {
    return fmin(2, nodes / 2);
}

static struct sc__coll_counts ring_counts(int coll, double n, double nodes) {
    double passes = passes_of(coll);
    double steps = passes * (n - 1);
    double outside = passes * (nodes - 1);
    return (struct sc__coll_counts){.passes = passes,
                                    .steps = steps,
                                    .inside = steps - outside,
                                    .outside = outside,
                                    .messages = steps,
                                    .parts = n,
                                    .sent = steps,
                                    .node = nodes > 1 ? steps : 0};
}

static struct sc__coll_counts chain_counts(double n, double nodes) {
    return (struct sc__coll_counts){.passes = 1,
                                    .steps = n - 1,
                                    .inside = n - nodes,
                                    .outside = nodes - 1,
                                    .messages = 1,
                                    .parts = 1,
                                    .sent = 1,
                                    .node = nodes > 1};
}

/* Up and down. */
static struct sc__coll_counts
tree_counts(enum sc__coll_family family, double nodes, double per_node) {
    bool nvls = family == SC__FAMILY_NVLS;
    bool across = nodes > 1;
    struct sc__coll_counts c = {.passes = 2, .parts = 1};
    c.inside = nvls && per_node > 1 ? 2 : 2 * (per_node - 1);
    c.outside = across ? 2 * levels_of(nodes) : 0;
    c.steps = c.inside + c.outside;
    c.port = nvls && per_node > 1 ? 1 + 1 / per_node : 2 * (per_node - 1) / per_node;
    c.node = across ? tree_node(nodes) : 0;
    return c;
}

static struct sc__coll_counts collnet_counts(double nodes, double per_node) {
    struct sc__coll_counts c = {.passes = 2, .parts = 1};
    bool across = nodes > 1;
    c.inside = per_node > 1 ? 2 : 0;
    c.outside = across;
    c.steps = c.inside + c.outside;
    c.port = 2 * (per_node - 1) / per_node;
    c.node = across;
    return c;
}

static struct sc__coll_counts halving_counts(int coll, double n) {
    double passes = passes_of(coll);
    double steps = passes * levels_of(n);
    return (struct sc__coll_counts){.passes = passes,
                                    .steps = steps,
                                    .messages = steps,
                                    .parts = n,
                                    .sent = passes * (n - 1)};
}

static struct sc__coll_counts
pairs_counts(int coll, double n, double nodes, double per_node, double least) {
    double passes = passes_of(coll);
    return (struct sc__coll_counts){.passes = passes,
                                    .steps = passes,
                                    .inside = nodes > 1 ? 0 : passes,
                                    .outside = nodes > 1 ? passes : 0,
                                    .messages = passes * (n - 1),
                                    .parts = n,
                                    .sent = passes * (n - 1),
                                    .port = passes * (per_node - 1),
                                    .nic = passes * (n - least),
                                    .node = passes * per_node * (n - per_node)};
}

/* A member of a node sends to the next node. */
static struct sc__coll_counts shift_counts(double nodes, double per_node) {
    return (struct sc__coll_counts){.passes = 1,
                                    .steps = 1,
                                    .inside = nodes > 1 ? 0 : 1,
                                    .outside = nodes > 1 ? 1 : 0,
                                    .messages = 1,
                                    .parts = 1,
                                    .sent = 1,
                                    .port = per_node > 1 ? 1 : 0,
                                    .nic = nodes > 1 ? 1 : 0,
                                    .node = nodes > 1 ? 1 : 0};
}

static struct sc__coll_counts binomial_counts(double n) {
    double levels = levels_of(n);
    return (struct sc__coll_counts){.passes = 1,
                                    .steps = levels,
                                    .messages = levels,
                                    .parts = 1,
                                    .sent = levels};
}

struct sc__coll_counts sc__coll_counts(enum sc__coll_family family,
                                       int coll,
                                       double ranks,
                                       double nodes,
                                       double per_node,
                                       double least) {
    switch (family) {
    case SC__FAMILY_RING:
        return ring_counts(coll, ranks, nodes);
    case SC__FAMILY_CHAIN:
        return chain_counts(ranks, nodes);
    case SC__FAMILY_TREE:
    case SC__FAMILY_NVLS:
        return tree_counts(family, nodes, per_node);
    case SC__FAMILY_COLLNET:
        return collnet_counts(nodes, per_node);
    case SC__FAMILY_HALVING:
    case SC__FAMILY_PAT:
        return halving_counts(coll, ranks);
    case SC__FAMILY_PAIRS:
    case SC__FAMILY_ROOT:
        return pairs_counts(coll, ranks, nodes, per_node, least);
    case SC__FAMILY_SHIFT:
        return shift_counts(nodes, per_node);
    case SC__FAMILY_BINOMIAL:
    case SC__FAMILY_DISSEMINATION:
        return binomial_counts(ranks);
    default: /* a torus counts by dimension */
        return (struct sc__coll_counts){0};
    }
}

double sc__coll_parts(enum sc__coll_family family, double ranks) {
    switch (family) {
    case SC__FAMILY_RING:
    case SC__FAMILY_HALVING:
    case SC__FAMILY_PAT:
    case SC__FAMILY_PAIRS:
    case SC__FAMILY_ROOT:
        return ranks;
    default:
        return 1;
    }
}

/* Of k members side by side min(k, d) send to members d further on that are not
 * among them. */
static double pat_leaving(double n, double k) {
    double sent = 0;
    for (double d = 1; d < n; d *= 2)
        sent += fmin(k, d) * (floor((n - 1 - d) / (2 * d)) + 1);
    return sent;
}

double sc__coll_parts_leaving(
    enum sc__coll_family family, int coll, double ranks, double k, double edges) {
    if (k >= ranks)
        return 0;
    switch (family) {
    case SC__FAMILY_RING:
        return passes_of(coll) * (ranks - 1);
    case SC__FAMILY_TREE:
    case SC__FAMILY_NVLS:
        return edges / SC__NODE_TREES;
    case SC__FAMILY_PAT:
        return pat_leaving(ranks, k);
    case SC__FAMILY_PAIRS:
        return passes_of(coll) * k * (ranks - k);
    case SC__FAMILY_ROOT:
        return ranks - k;
    default: /* the buffer, once */
        return 1;
    }
}
