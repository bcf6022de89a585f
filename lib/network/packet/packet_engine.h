/* packet_engine: the network engine that simulates every packet; see packet_engine.c
 * and docs/model/packet.md. */
#ifndef SC_NETWORK_PACKET_ENGINE_H
#define SC_NETWORK_PACKET_ENGINE_H

#include "network/engine.h"
#include "network/packet/packet_watch.h"
#include "network/placed_jobs.h"

/* w may be NULL: jobs are added then. */
sc_status sc__net_packet(struct sc_context *ctx,
                         const struct sc__cluster *cluster,
                         const struct sc__workload *w,
                         const struct sc__settings *settings,
                         struct sc__net *net);
sc_status sc__net_packet_job(struct sc__net *net,
                             const struct sc__workload *w,
                             struct sc__place_at at);
/* For the cost of single collectives: as sc__flow_group and sc__flow_cost. */
sc_status sc__packet_group(struct sc_context *ctx,
                           const struct sc__cluster *c,
                           uint32_t gpus,
                           const struct sc__settings *settings,
                           struct sc__net *out);
sc_status sc__packet_cost(struct sc__net *net, int coll, uint64_t bytes, int64_t *time);
/* A transfer as it goes: its messages, and the links over time. */
struct sc__packet_seen {
    const char *name; /* of a step's */
    double share;     /* of its bytes: less than 1 where all have too many packets */
    int64_t software; /* ps before the first packet */
    struct sc__packet_flows messages;
    struct sc__packet_counters counters;
    struct sc__packet_watch watch;
};
/* spans: of time, at most; an even number. */
sc_status sc__packet_see(struct sc__net *net,
                         int coll,
                         uint64_t bytes,
                         uint32_t spans,
                         struct sc__packet_seen *out);
/* Those of a simulated step that took most of its communication, the longest first, each
 * by itself; at most so many. None where the network is not this engine. */
sc_status sc__packet_see_longest(struct sc__net *net,
                                 uint32_t most,
                                 uint32_t spans,
                                 struct sc__packet_seen *out,
                                 uint32_t *count);
/* How much was simulated for them, and how far to trust the rest: as a note. */
void sc__packet_note_effort(const struct sc__net *net);

#endif
