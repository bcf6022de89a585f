/* flow_pattern: the traffic of a transfer as flows on the links, without its
 * size. A pattern stands for every group the transfer stands for.
 *
 * Steps that wait for each other move at one pace: the connections of a ring
 * (or tree) channel are one flow that crosses all their links, a link as often
 * as connections do. Its level is the rate of each connection. Messages that
 * do not wait for each other (all-to-all) are flows of their own. */
#ifndef SC_SIMULATE_FLOW_PATTERN_H
#define SC_SIMULATE_FLOW_PATTERN_H

#include "network/flow/flow_cluster.h"
#include "workload/workload.h"

struct sc__pattern_flow {
    /* hops */
    uint32_t first;
    uint32_t count;
    double volume; /* bytes a connection carries, per byte of the transfer */
};

struct sc__pattern {
    struct sc__share_hop *hops;
    uint32_t hop_count;
    uint32_t hop_capacity;
    struct sc__pattern_flow *flows;
    uint32_t flow_count;
    uint32_t flow_capacity;
    bool network;     /* some of it leaves the nodes */
    double port_time; /* seconds per byte that its busiest port needs, undegraded */
};

struct sc__pattern_builder {
    struct sc_context *ctx;
    const struct sc__cluster *cluster;
    struct sc__graph *graph;
    const struct sc__route_policy *route;
    struct sc__arena *arena;
    struct sc__share_hop *path; /* room for one route */
    /* by link: its hop in the open flow */
    uint32_t *slot;
    uint32_t *stamp;
    uint32_t flow_stamp;
    double *busy; /* by link, to find the busiest port */
};

void sc__pattern_builder_init(struct sc_context *ctx,
                              const struct sc__cluster *c,
                              struct sc__graph *g,
                              const struct sc__route_policy *route,
                              struct sc__pattern_builder *out);

/* Adds a collective of the GPUs (sorted) by an algorithm to the pattern. root:
 * the GPU that gathers or scatters. */
sc_status sc__pattern_collective(struct sc__pattern_builder *b,
                                 struct sc__pattern *p,
                                 int coll,
                                 enum sc__algo algo,
                                 const uint32_t *gpu,
                                 uint32_t n,
                                 uint32_t root);
sc_status sc__pattern_message(struct sc__pattern_builder *b,
                              struct sc__pattern *p,
                              uint32_t from,
                              uint32_t to);
/* Call when all is added: finds port_time. Fails where a link it needs is out of
 * service. */
sc_status sc__pattern_close(struct sc__pattern_builder *b, struct sc__pattern *p);

#endif
