/* packet_list: a list of flows on the links of a cluster or of any other fabric that the
 * flow engine knows. */
#ifndef SC_NETWORK_PACKET_LIST_H
#define SC_NETWORK_PACKET_LIST_H

#include "network/flow/flow_cluster.h"
#include "network/packet/packet_watch.h"

struct sc__packet_place {
    const struct sc__cluster *cluster;
    struct sc__graph *graph;
    const struct sc__route_policy *route;
};

/* All links of a graph, with their names. */
void sc__packet_watch_graph(struct sc__packet_watch *w,
                            struct sc__arena *arena,
                            const struct sc__graph *g,
                            uint32_t capacity);
/* As sc__packet_simulate; flows are between ports of the graph. */
sc_status sc__packet_simulate_list(struct sc_context *ctx,
                                   const struct sc__packet_config *config,
                                   const struct sc__packet_place *place,
                                   struct sc__packet_flows *flows,
                                   const struct sc__packet_random *random,
                                   struct sc__packet_watch *watch,
                                   struct sc__packet_counters *counters);

#endif
