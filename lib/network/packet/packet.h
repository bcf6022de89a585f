/* packet: every packet of a list of flows through hosts and switches, with
 * queues, pauses (PFC), marks (ECN) and congestion control, after the rules of
 * the RDMA simulator of the HPCC family (docs/model/packet.md).
 *
 *     config, topology, flows  (packet_config.c, packet_topology.c, packet_flows.c)
 *        └─ network: ports, paths, buffers               (packet_network.c)
 *             └─ events in the order (time, insertion)   (packet_events.c, packet_sim.c)
 *                  ├─ hosts: queue pairs, ACKs, pacing   (packet_host.c)
 *                  │    └─ congestion control            (packet_cc_*.c)
 *                  └─ switches: queues, PFC, ECN         (packet_switch.c)
 *                  └─ Ultra Ethernet's hosts and switches (packet_uet.h)
 *             └─ what happens at ports over time         (packet_watch.c)
 *
 * As a network engine it simulates transfers on a cluster:
 *
 *     packet_engine.c: kinds of transfers
 *        ├─ packet_shape.c, packet_sets.c: groups that share links, and that look alike
 *        ├─ packet_alone.c: a transfer by itself
 *        └─ packet_memory.c: transfers that overlap
 *             └─ packet_live.c: transfers in a simulation
 *                  ├─ packet_traffic.c: a collective as messages
 *                  ├─ packet_fabric.c: the links of a cluster as ports
 *                  └─ packet_simai.c, packet_rounds.c: both as SimAI has them
 *
 * Times are whole nanoseconds and rates whole bits per second, as there. */
#ifndef SC_NETWORK_PACKET_H
#define SC_NETWORK_PACKET_H

#include "base/base.h"

/* Values of CC_MODE. */
enum sc__packet_control {
    SC__PACKET_NO_CONTROL = 0,
    SC__PACKET_DCQCN = 1,
    SC__PACKET_HPCC = 3,
    SC__PACKET_TIMELY = 7,
    SC__PACKET_DCTCP = 8,
    SC__PACKET_HPCC_PINT = 10,
    /* ours */
    SC__PACKET_SWIFT = 11,
    /* ours: Ultra Ethernet by sender, by receiver, by both */
    SC__PACKET_NSCC = 20,
    SC__PACKET_RCCC = 21,
    SC__PACKET_NSCC_RCCC = 22
};

/* Values of UET_LOAD_BALANCING. */
enum sc__uet_load_balancing {
    SC__UET_SPRAY,
    SC__UET_PENALTIES,
    SC__UET_REPS,
    SC__UET_MIXED
};

#define SC__PACKET_THRESHOLDS 32u

/* A value by the rate of a port: KMIN_MAP and the like. */
struct sc__packet_rate_map {
    uint64_t rate[SC__PACKET_THRESHOLDS];
    double value[SC__PACKET_THRESHOLDS];
    uint32_t count;
};

struct sc__packet_config {
    const char *file;
    uint32_t control; /* enum sc__packet_control */
    uint32_t payload; /* bytes of a full packet */
    uint32_t buffer_mib;
    uint32_t has_window;
    uint32_t variable_window;
    uint32_t ack_high_priority;
    uint32_t enable_pfc;       /* 0: pauses are sent but not obeyed */
    uint32_t wait_for_arrival; /* flows wait for the receiver, not for the sender */
    double stop_s;
    double error_rate;                    /* of all links without one of their own */
    struct sc__packet_rate_map mark_from; /* KB */
    struct sc__packet_rate_map mark_all;  /* KB */
    struct sc__packet_rate_map mark_share;
    /* congestion control; rates in bits per second */
    uint64_t min_rate;
    uint64_t rate_ai;
    uint64_t rate_hai;
    uint64_t dctcp_rate_ai;
    double gain;
    double alpha_interval_us;
    double decrease_interval_us;
    double rise_interval_us;
    uint32_t fast_recovery;
    uint32_t clamp_target;
    double target_use;
    uint32_t most_additive; /* MI_THRESH */
    uint32_t int_multiple;
    uint32_t fast_react;
    /* HPCC-PINT: base of the logarithm, share of the ACKs that count */
    double pint_base;
    double pint_share;
    /* Swift; windows in packets */
    double swift_base_us;
    double swift_hop_us;
    double swift_range_us;
    double swift_range_from; /* at this window all of the range, */
    double swift_range_to;   /* at this one nothing of it */
    double swift_increase;
    double swift_decrease;
    double swift_most_decrease;
    double swift_least_window;
    double swift_most_window;
    /* Ultra Ethernet; sizes in bandwidth-delay products of the longest path */
    uint32_t uet_paths;
    uint32_t uet_load_balancing; /* enum sc__uet_load_balancing */
    uint32_t uet_ack_bytes;
    double uet_queue_bdp;
    double uet_mark_from_bdp;
    double uet_mark_all_bdp;
    double uet_window_bdp;
    double uet_target;    /* queueing delay, in round trips */
    double uet_pull_rate; /* credit, of the line rate */
};

struct sc__packet_link {
    uint32_t a;
    uint32_t b;
    uint64_t rate;
    int64_t delay;
    double error_rate; /* 0: that of the config */
};

struct sc__packet_topology {
    const char *file;
    uint32_t node_count;
    uint32_t switch_count;
    bool *is_switch; /* by node */
    struct sc__packet_link *links;
    uint32_t link_count;
};

struct sc__packet_flow {
    uint32_t from;
    uint32_t to;
    uint32_t priority;
    uint32_t source_port;
    uint32_t target_port;
    uint64_t bytes;
    uint32_t *waits_for; /* earlier flows */
    uint32_t wait_count;
    int64_t start;      /* -1: it waits, or never began */
    int64_t completion; /* from start to the last ACK; -1: never */
    int64_t received;   /* from start to the last byte at the receiver; -1: never */
    int64_t alone;      /* its completion with nothing in the way, by ns-3's formula */
    int64_t ideal;      /* no completion can be shorter (packet_ideal.c) */
    int64_t fluid; /* on a fabric: its bytes at the rate of the slower of its two ports */
};

struct sc__packet_flows {
    const char *file;
    struct sc__packet_flow *items;
    uint32_t count;
    uint32_t capacity;
};

/* How random numbers are drawn: as the reference does, or from a seed. */
struct sc__packet_random {
    bool reference;
    uint64_t seed;
};

struct sc__packet_counters {
    uint64_t marks; /* of data packets */
    uint64_t pauses;
    uint64_t resumes;
    uint64_t buffer_losses;
    uint64_t link_losses;
    uint64_t trims;
    uint64_t timeouts;
    uint64_t data_packets;
    uint64_t acks;
    uint64_t nacks;
    uint64_t events;
    int64_t base_rtt; /* the longest of all pairs of hosts */
    uint64_t window;  /* the largest bandwidth-delay product, bytes */
    uint32_t stuck;   /* flows that can never end */
    uint32_t cut_off; /* flows that SIMULATOR_STOP_TIME ended */
};

/* A value given by an option instead of the file's. */
struct sc__packet_setting {
    const char *option; /* for errors */
    const char *text;   /* "KEY value" */
};

struct sc__packet_settings {
    struct sc__packet_setting *items;
    uint32_t count;
    uint32_t capacity;
};

/* The settings of data/networks/NAME.json for a control ("dcqcn"). */
/* What it is: its controls with commas, the one it has where none is asked for (or NULL), a
 * payload, a source. */
struct sc__packet_network {
    const char *controls;
    const char *usual;
    uint32_t payload;
    const char *source;
};
void sc__packet_network_describe(struct sc_context *ctx,
                                 const char *name,
                                 struct sc__packet_network *out);
bool sc__packet_network_exists(struct sc_context *ctx, const char *name);
sc_status sc__packet_network_settings(struct sc_context *ctx,
                                      const char *name,
                                      const char *control,
                                      struct sc__packet_settings *out);
/* --conf, --cc, --mtu … */
extern const struct sc__option sc__packet_options[];
/* network, usual_control: of data/networks, where no --conf or --cc is given and the
 * network has no usual control of its own; or NULL. control: instead of --cc; or NULL. */
sc_status sc__packet_options_read(const struct sc__settings *s,
                                  const char *network,
                                  const char *usual_control,
                                  const char *control,
                                  struct sc__packet_config *config,
                                  struct sc__packet_random *random);
/* A file, then what the settings say instead; path NULL: the settings alone. */
sc_status sc__packet_config_read(struct sc_context *ctx,
                                 const char *path,
                                 const struct sc__packet_settings *settings,
                                 struct sc__packet_config *out);
sc_status sc__packet_topology_read(struct sc_context *ctx,
                                   const char *path,
                                   struct sc__packet_topology *out);
sc_status sc__packet_flows_read(struct sc_context *ctx,
                                const char *path,
                                const struct sc__packet_topology *topology,
                                struct sc__packet_flows *out);
struct sc__packet_watch; /* packet_watch.h */
/* Fills start, completion, received and alone of the flows; watch, where it is not NULL,
 * sees the ports of the topology. */
sc_status sc__packet_simulate(struct sc_context *ctx,
                              const struct sc__packet_config *config,
                              const struct sc__packet_topology *topology,
                              struct sc__packet_flows *flows,
                              const struct sc__packet_random *random,
                              struct sc__packet_watch *watch,
                              struct sc__packet_counters *counters);

#endif
