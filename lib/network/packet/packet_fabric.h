/* packet_fabric: the links of a cluster (network/flow/flow_graph.h) as ports of hosts
 * and switches. A simulation has only those that something goes over: they are made
 * when a path is laid.
 *
 * A port of a GPU or NIC is a host of its own. Where GPUs pass on what is for
 * others (torus), each has a switch, and a host behind each of its links:
 *
 *     host ── switch of the GPU ══ link ══ switch of the next ── host */
#ifndef SC_NETWORK_PACKET_FABRIC_H
#define SC_NETWORK_PACKET_FABRIC_H

#include "network/flow/flow_cluster.h"
#include "network/packet/packet_sim.h"

struct sc__packet_fabric {
    struct sc_context *ctx;
    const struct sc__cluster *cluster;
    const struct sc__packet_config *config;
    struct sc__graph *graph;
    const struct sc__route_policy *route;
    uint32_t (*ends)[2];   /* by link: devices */
    uint32_t *reverse;     /* by link: the other direction of its cable */
    int64_t *headroom;     /* by device: of all its ports */
    uint32_t *ports;       /* by device */
    int64_t nvlink_delay;  /* ns */
    int64_t network_delay; /* ns; where links do not have one each */
    uint64_t host_rate;    /* of the slowest host */
    int64_t base_rtt;      /* the longest, ns */
    uint64_t window;       /* the largest bandwidth-delay product, bytes */
    uint32_t *links;       /* room for a path */
    bool as_simai;         /* ways and headroom as its switches have them */
    /* SimAI's processes by device, and the least delay between them (packet_rounds.h) */
    uint32_t *process; /* or NULL */
    int64_t ahead;     /* ns */
    /* room for the paths of a pair: what their switches choose from */
    uint32_t *next_devices;
    bool *passed_over;
};

/* The ports of one simulation. */
struct sc__packet_ports {
    struct sc__packet_fabric *fabric;
    struct sc__packet_sim *sim;
    struct sc__packet_port **of_link;
    struct sc__packet_node **of_device;
    struct sc__packet_port **of_host; /* by link, where hosts forward: its host's */
    struct sc__map paths;             /* of connections, laid before */
    struct sc__map many;              /* likewise (sc__packet_many) */
    struct sc__packet_losses *losses; /* of all links, or NULL */
    uint32_t node_count;
    int64_t least_shared; /* bytes that the switch with least of them shares */
};

/* A connection as a flow needs it. */
struct sc__packet_wire {
    struct sc__packet_node *from;
    struct sc__packet_path data;
    struct sc__packet_path ack;
    const struct sc__packet_path *spray;
    const struct sc__packet_path *ack_spray;
    uint32_t spray_count;
};

/* as_simai: devices are divided into its processes, switches choose ways and have headroom
 * as its do. */
sc_status sc__packet_fabric_init(struct sc_context *ctx,
                                 const struct sc__cluster *cluster,
                                 const struct sc__packet_config *config,
                                 struct sc__graph *graph,
                                 const struct sc__route_policy *route,
                                 bool as_simai,
                                 struct sc__packet_fabric *out);
/* Room of its own to work in, which a copy for another thread needs. */
void sc__packet_fabric_rooms(struct sc__packet_fabric *f, struct sc__arena *arena);
uint64_t sc__packet_link_rate(const struct sc__packet_fabric *f, uint32_t link);
int64_t sc__packet_link_delay(const struct sc__packet_fabric *f, uint32_t link);
/* Planes that a connection is divided over. */
uint32_t sc__packet_planes(const struct sc__packet_fabric *f, uint32_t from, uint32_t to);
/* The links of a connection in a plane, in the fabric's room; number: see
 * sc__graph_path. Fails where there is no way. */
sc_status sc__packet_links(struct sc__packet_fabric *f,
                           uint32_t from,
                           uint32_t to,
                           uint32_t plane,
                           uint32_t number,
                           uint32_t *count);

/* Whether switches choose ways as SimAI's do, for data and for ACKs. */
bool sc__packet_ways_by_simai(const struct sc__packet_fabric *f);
/* Whether packets of a connection may take several ways. */
bool sc__packet_many_ways(const struct sc__route_policy *route);
/* Ways that packets of a connection may take: numbers of sc__packet_links. */
uint32_t sc__packet_sprayed(const struct sc__packet_fabric *f, uint32_t from, uint32_t to);

void sc__packet_ports_init(struct sc__packet_fabric *f,
                           struct sc__packet_sim *s,
                           struct sc__packet_ports *out);
sc_status sc__packet_wire(struct sc__packet_ports *p,
                          uint32_t from,
                          uint32_t to,
                          uint32_t plane,
                          uint32_t number,
                          const struct sc__packet_wire **out);
/* The pair goes over it; packets that are sprayed begin at a path of their own. */
void sc__packet_take_wire(struct sc__packet_pair *pair,
                          const struct sc__packet_wire *w,
                          uint64_t number);

/* Ultra Ethernet: the paths of a connection by number, there and back; as many as
 * UET_PATHS, each one of up to 64 by a hash. */
struct sc__packet_many {
    struct sc__packet_node *from;
    struct sc__packet_path *data;
    struct sc__packet_path *ack;
};
sc_status sc__packet_many(struct sc__packet_ports *p,
                          uint32_t from,
                          uint32_t to,
                          uint32_t plane,
                          uint32_t number,
                          const struct sc__packet_many **out);

#endif
