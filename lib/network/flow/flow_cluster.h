/* flow_cluster: the links of a cluster description, and the options that
 * change them. A port of the graph is a GPU; its NVLink port and its network
 * NIC are links like any other. */
#ifndef SC_SIMULATE_FLOW_CLUSTER_H
#define SC_SIMULATE_FLOW_CLUSTER_H

#include "hardware/cluster.h"
#include "network/flow/flow_graph.h"

/* --route, --degrade, --fail. */
extern const struct sc__option sc__flow_options[];

sc_status sc__cluster_graph(struct sc_context *ctx,
                            const struct sc__cluster *c,
                            struct sc__graph *out);
/* The graph of "ls:…", "ft3:…" or a cluster, with the options applied. *cluster: the
 * cluster; of the others one of single GPUs. */
sc_status sc__flow_graph(struct sc_context *ctx,
                         const char *fabric,
                         uint32_t ports,
                         const struct sc__settings *settings,
                         const struct sc__cluster **cluster,
                         struct sc__graph *out,
                         struct sc__route_policy *route);
/* The options applied to a graph. */
sc_status sc__flow_settings(struct sc_context *ctx,
                            const struct sc__settings *settings,
                            struct sc__graph *g,
                            struct sc__route_policy *route);

/* Graphs that are no trees (flow_links.c). */
sc_status
sc__graph_dims(struct sc_context *ctx, const struct sc__cluster *c, struct sc__graph *out);
sc_status
sc__graph_links(struct sc_context *ctx, const struct sc__cluster *c, struct sc__graph *out);
sc_status sc__graph_dragonfly(struct sc_context *ctx,
                              const struct sc__cluster *c,
                              uint32_t nics,
                              struct sc__graph *out);

/* The NIC of a GPU in a plane, numbered through all nodes. */
static inline uint32_t sc__nic_of(const struct sc__cluster *c, uint32_t gpu) {
    uint32_t nics = sc__fabric_plane_nics(c);
    return gpu / c->node_gpus * nics +
           (uint32_t)((uint64_t)(gpu % c->node_gpus) * nics / c->node_gpus);
}
/* Links of a GPU's NVLink port, out and in. */
static inline uint32_t sc__nvlink_up(uint32_t gpu) {
    return 2 * gpu;
}
static inline uint32_t sc__nvlink_down(uint32_t gpu) {
    return 2 * gpu + 1;
}

#endif
