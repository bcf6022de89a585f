/* packet_shape: who sends to whom in a transfer, without its size. The groups that a
 * transfer stands for fall into sets that share no link, and sets that look alike are
 * simulated once. */
#ifndef SC_NETWORK_PACKET_SHAPE_H
#define SC_NETWORK_PACKET_SHAPE_H

#include "network/packet/packet_traffic.h"

struct sc__packet_load {
    uint32_t link;
    double per_byte; /* bytes over the link for a byte of the transfer */
};

/* A group without its place: the hash says who sends what when over links of what rates
 * and delays, numbered in the order of `links`. */
struct sc__packet_form {
    uint64_t hash;
    uint32_t *links;
    uint32_t link_count;
    uint32_t link_capacity;
};

static inline uint64_t sc__packet_mix(uint64_t hash, uint64_t word) {
    return sc__splitmix64(hash ^ word) + hash * 31;
}

/* Groups that share links, and how many such sets there are. */
struct sc__packet_component {
    uint32_t *groups;
    uint32_t count;
    uint32_t capacity;
    uint32_t copies;
    uint64_t look; /* equal: the same messages over links that are alike */
};

struct sc__packet_shape {
    int coll;
    enum sc__algo algo;
    /* a message is a group of two: from, to */
    struct sc__placed_group *groups;
    uint32_t group_count;
    uint32_t group_capacity;
    struct sc__packet_form *forms; /* by group */
    struct sc__packet_component *components;
    uint32_t component_count;
    struct sc__packet_component all; /* of every group */
    struct sc__packet_load *loads;
    uint32_t load_count;
    uint32_t load_capacity;
    uint32_t *cables; /* the links with the lower number of each cable, sorted */
    uint32_t cable_count;
    bool network;         /* some of it leaves the nodes */
    double sent_per_byte; /* bytes that hosts send, for a byte of the transfer */
    double port_time;     /* seconds per byte that its busiest port needs */
    double wire_latency;  /* ns of a message; of those that follow each other, on average */
    uint32_t critical_phases; /* messages one after the other */
};

sc_status sc__packet_shape_make(struct sc__packet_traffic_builder b,
                                struct sc__placed_jobs *jobs,
                                const struct sc_transfer *t,
                                enum sc__algo algo,
                                struct sc__packet_shape **out);
/* The messages of a component for a size, added to others. */
sc_status sc__packet_shape_add(const struct sc__packet_traffic_builder *b,
                               const struct sc__packet_shape *s,
                               const struct sc__packet_component *c,
                               uint64_t bytes,
                               struct sc__packet_traffic *out);
/* … and closed. */
sc_status sc__packet_shape_traffic(const struct sc__packet_traffic_builder *b,
                                   const struct sc__packet_shape *s,
                                   const struct sc__packet_component *c,
                                   uint64_t bytes,
                                   struct sc__packet_traffic *out);

#endif
