/* packet_traffic: a transfer as messages that wait for each other, made from the
 * schedule of its collective (collective/schedule.h).
 *
 * As NCCL runs it: a transfer of the schedule is cut into slices, and a slice is sent
 * on as soon as it has arrived, so that phases overlap. Step by step, as SimAI runs it
 * (flow_steps.h): whole messages, each a time after the one before is acknowledged. */
#ifndef SC_NETWORK_PACKET_TRAFFIC_H
#define SC_NETWORK_PACKET_TRAFFIC_H

#include "network/flow/flow_steps.h"
#include "network/packet/packet_fabric.h"
#include "network/placed_jobs.h"

/* When a message is over: SimAI tells the time of the first rank alone. */
enum sc__packet_end {
    SC__PACKET_END_ARRIVED, /* it has come (step by step: and is acknowledged) */
    SC__PACKET_END_LEFT,    /* it has left its sender */
    SC__PACKET_END_ASIDE    /* nobody asks */
};

struct sc__packet_message {
    /* GPUs; the same: no packets, it takes `time` */
    uint32_t from;
    uint32_t to;
    uint64_t bytes;
    int64_t time;    /* ns */
    uint32_t number; /* of its connection, for its path */
    uint32_t waits;  /* for so many others */
    uint32_t phase;
    int64_t before;      /* ns before it is sent, beside what all messages have */
    uint32_t follower;   /* that waits until it is handed to the network; 0: none */
    uint32_t connection; /* of the traffic's, from 1 on; 0: none */
    enum sc__packet_end end;
};

/* From a GPU to another on a channel: its messages leave one after the other, so that what
 * is needed first comes first, and no more of them are on the way than NCCL's buffer
 * holds. */
struct sc__packet_connection {
    /* of all messages, also of phases that are not here; 0: no pace of its own */
    double bytes;
    uint32_t last;
    uint32_t oldest; /* of those that may be on the way together … */
    uint32_t on_the_way;
};

struct sc__packet_edge {
    uint32_t before;
    uint32_t after;
};

struct sc__packet_traffic {
    struct sc__packet_message *messages;
    uint32_t count;
    uint32_t capacity;
    struct sc__packet_connection *connections;
    uint32_t connection_count;
    uint32_t connection_capacity;
    struct sc__packet_edge *edges; /* until closed */
    uint32_t edge_count;
    uint32_t edge_capacity;
    /* those that wait for message i: next[next_first[i]] … */
    uint32_t *next_first;
    uint32_t *next;
    /* the order in which those begin that wait for none; NULL: that of the messages */
    uint32_t *starts;
    uint32_t start_count;
    /* phases that are here, and that the schedule has: where it has more, they go on
     * like the last */
    uint32_t phases;
    uint32_t all_phases;
    uint32_t period;     /* of them are alike: those of a node's members */
    double wire_latency; /* ns of the ways of all messages, added up */
    double longest_wire; /* … of one */
    double port_time;    /* seconds that the busiest port needs at its line rate */
};

struct sc__packet_traffic_builder {
    struct sc__packet_fabric *fabric;
    struct sc__arena *arena;
    const struct sc__steps *steps; /* send > 0: step by step */
    bool sliced;                   /* else whole messages */
    bool first_phases;             /* only so many of a ring as tell how it goes on */
};

sc_status sc__packet_traffic_group(const struct sc__packet_traffic_builder *b,
                                   struct sc__packet_traffic *t,
                                   int coll,
                                   enum sc__algo algo,
                                   const struct sc__placed_group *group,
                                   uint64_t bytes);
sc_status sc__packet_traffic_message(const struct sc__packet_traffic_builder *b,
                                     struct sc__packet_traffic *t,
                                     uint32_t from,
                                     uint32_t to,
                                     uint64_t bytes);
/* After all is added. */
void sc__packet_traffic_close(const struct sc__packet_traffic_builder *b,
                              struct sc__packet_traffic *t);

#endif
