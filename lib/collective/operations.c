#include "collective/operations.h"

#include <ctype.h>
#include <string.h>

static const struct sc__coll_op operations[] = {
    {"all_reduce", SC__ALLREDUCE, "sum"},
    {"all_gather", SC__ALLGATHER, "none"},
    {"reduce_scatter", SC__REDUCESCATTER, "sum"},
    {"alltoall", SC__ALLTOALL, "none"},
    {"sendrecv", SC__COLLS, "sum"},
    {"broadcast", SC__BROADCAST, "none"},
    {"reduce", SC__REDUCE, "sum"},
    {"gather", SC__GATHER, "none"},
    {"scatter", SC__SCATTER, "none"},
    {NULL, 0, NULL},
};

/* The name without underscores and without "_perf", in letters of either case: NCCL's own
 * is AllReduce. */
static bool same_name(const char *given, const char *name) {
    for (; *name; name++) {
        if (*name == '_')
            continue;
        while (*given == '_' || *given == '-')
            given++;
        if (tolower((unsigned char)*given) != *name)
            return false;
        given++;
    }
    return !*given || !strcmp(given, "_perf");
}

const struct sc__coll_op *sc__coll_op_find(const char *name) {
    for (const struct sc__coll_op *op = operations; op->name; op++)
        if (same_name(name, op->name))
            return op;
    return NULL;
}

double sc__coll_bus_factor(const struct sc__coll_op *op, uint32_t n) {
    double ranks = n;
    switch (op->coll) {
    case SC__ALLREDUCE:
        return 2 * (ranks - 1) / ranks;
    case SC__ALLGATHER:
    case SC__REDUCESCATTER:
    case SC__GATHER:
    case SC__SCATTER:
    case SC__ALLTOALL:
        return (ranks - 1) / ranks;
    default:
        return 1;
    }
}

struct sc__coll_cost sc__coll_op_cost(const struct sc__cluster *c,
                                      const struct sc__coll_op *op,
                                      const struct sc__shape *shape,
                                      uint64_t bytes) {
    if (op->coll != SC__COLLS)
        return sc__collective_cost(c, op->coll, shape, bytes);
    struct sc__coll_cost p = sc__collective_cost(c, SC__SHIFT, shape, bytes);
    p.algo = SC__ALGO_DIRECT;
    return p;
}
