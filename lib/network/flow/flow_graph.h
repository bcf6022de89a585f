/* flow_graph: the switched network between ports, as directed links, and the
 * paths through it. A port is a NIC; below it lies whatever the
 * cluster has inside a node.
 *
 * Trees are kept as arithmetic: link numbers are computed, nothing is stored
 * per path. One tier is a single switch; two are leaves and spines; three are
 * leaves, aggregation switches (by pod) and cores. */
#ifndef SC_SIMULATE_FLOW_GRAPH_H
#define SC_SIMULATE_FLOW_GRAPH_H

#include "network/flow/flow_share.h"

enum sc__route_kind {
    SC__ROUTE_DMODK,
    SC__ROUTE_ECMP,
    SC__ROUTE_ADAPTIVE,
    SC__ROUTE_SPRAY,
    SC__ROUTE_FLOWLET
};

struct sc__route_policy {
    enum sc__route_kind kind;
    uint64_t seed;
    int64_t gap; /* ps between packets after which a flowlet begins */
};

/* "dmodk", "ecmp", "ecmp:SEED", "adaptive", "spray", "flowlet:GAP". */
sc_status
sc__route_parse(struct sc_context *ctx, const char *text, struct sc__route_policy *out);

struct sc__tree_shape {
    uint32_t ports;
    unsigned tiers;      /* 1, 2, 3 */
    uint32_t leaf_ports; /* ports on a leaf */
    uint32_t rails; /* > 1: port i of a node is on leaf i of its segment; ports are numbered
                       node by node */
    uint32_t spines; /* tier 2: spines; tier 3: aggregation switches in a pod */
    /* tier 3: leaves in a pod, cores per aggregation index */
    uint32_t pod_leaves;
    uint32_t cores;
    /* one link, bytes per second */
    double port_rate;
    double leaf_rate;
    double core_rate;
};

#define SC__NVLINKS_MAX 128u /* links of a GPU's NVLink port, both directions */

struct sc__graph {
    struct sc__arena *arena;
    double *capacity;   /* by link: bytes per second; 0 for a link out of service */
    double *undegraded; /* the same before links were degraded; NULL where none is */
    uint32_t links;
    uint32_t ports;
    uint32_t most_hops; /* of a single path */
    uint32_t most_paths;
    struct sc__tree_shape shape;
    uint32_t leaves;
    uint32_t pods;
    uint32_t *load; /* by link: routes laid, for adaptive routing */
    uint32_t
        leaf_stride; /* ports that follow each other on a leaf are so far apart; 0 = 1 */
    int64_t hop_latency; /* ps per link */
    int64_t *latency;    /* ps by link where they differ, or NULL */
    /* Planes: links from first_plane on exist `planes` times, plane_links
     * apart; a flow puts an equal part on each. */
    uint32_t planes;
    uint32_t first_plane;
    uint32_t plane_links;
    /* how many paths lead from one port to another, and path number w */
    uint32_t (*paths)(const struct sc__graph *g, uint32_t from, uint32_t to);
    uint32_t (*path)(
        const struct sc__graph *g, uint32_t from, uint32_t to, uint32_t w, uint32_t *links);
    /* the links of a GPU's NVLink port, those out and those in by turns; how many.
     * NULL: GPUs have none. */
    uint32_t (*nvlink)(const struct sc__graph *g, uint32_t gpu, uint32_t *links);
    void (*name)(const struct sc__graph *g, uint32_t link, struct sc__buffer *out);
    /* The devices a link leads from and to. Those below `hosts` are ports of GPUs and
     * NICs, the others switches. */
    void (*ends)(const struct sc__graph *g, uint32_t link, uint32_t device[2]);
    uint32_t devices;
    uint32_t hosts;
    bool hosts_forward; /* a port passes on what is for others, as on a torus */
    const void *self;   /* of graphs that are not plain trees */
};

sc_status sc__graph_tree(struct sc_context *ctx,
                         const struct sc__tree_shape *shape,
                         struct sc__graph *out);
/* "ls:HOSTS:SPINES[:ALL]", "ft3:HOSTS:LEAVES:AGGREGATION:CORES[:ALL]", links of
 * 50 GB/s; `ports` is how many the flows need. */
sc_status sc__graph_parse(struct sc_context *ctx,
                          const char *text,
                          uint32_t ports,
                          struct sc__graph *out);
bool sc__graph_describes(const char *text);

/* The hops of a flow, at most sc__graph_room(g, policy); *count 0 where
 * from = to. Fails when every path is broken. */
uint32_t sc__graph_room(const struct sc__graph *g, const struct sc__route_policy *p);
sc_status sc__graph_route(struct sc_context *ctx,
                          struct sc__graph *g,
                          const struct sc__route_policy *p,
                          uint32_t from,
                          uint32_t to,
                          struct sc__share_hop *hops,
                          uint32_t *count);

/* The links of one path in a plane, in order, room for most_hops; *count 0 where every path
 * is broken. number: of the path (spray), or of the connection (ecmp: each has a path of
 * its own; 0 is the one that sc__graph_route takes). */
void sc__graph_path(struct sc__graph *g,
                    const struct sc__route_policy *p,
                    uint32_t from,
                    uint32_t to,
                    uint32_t plane,
                    uint32_t number,
                    uint32_t *links,
                    uint32_t *count);

/* Traffic must not be laid on a link out of service: routes go round it, and a
 * pattern that needs it is refused (sc__pattern_close). */
static inline bool sc__link_works(const struct sc__graph *g, uint32_t link) {
    return g->capacity[link] > 0;
}

/* Of the link as the model of collectives, which knows of no degraded ones, has it. */
static inline double sc__link_undegraded(const struct sc__graph *g, uint32_t link) {
    return g->undegraded ? g->undegraded[link] : g->capacity[link];
}

/* Takes a link out of service, or scales its capacity; by name. */
sc_status sc__graph_fail(struct sc_context *ctx, struct sc__graph *g, const char *link);
sc_status sc__graph_degrade(struct sc_context *ctx,
                            struct sc__graph *g,
                            const char *link,
                            double factor);

#endif
