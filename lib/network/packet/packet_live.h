/* packet_live: a simulation that transfers are added to while it runs. */
#ifndef SC_NETWORK_PACKET_LIVE_H
#define SC_NETWORK_PACKET_LIVE_H

#include "network/packet/packet_traffic.h"

/* A transfer in a simulation. */
struct sc__packet_run {
    const struct sc__packet_traffic *traffic;
    uint32_t *waits;    /* by message: others, then parts of its own that are on the way */
    uint32_t *unsent;   /* by message: parts of which the NIC has not all */
    int64_t *ready;     /* by message: ns at which all it needs had come */
    uint32_t left;      /* messages */
    double use;         /* of its busiest port that software lets it have, 0…1 */
    int64_t *delivered; /* by message, ns; NULL: nobody asks */
    struct sc__packet_flow *flows; /* by message, likewise */
    struct sc__map limiters;       /* by connection, or host */
    uint32_t user;
    /* bytes that have arrived, and of all messages */
    uint64_t received;
    uint64_t bytes;
    struct sc__packet_run *before; /* that was added before it */
};

struct sc__packet_live {
    struct sc_context *ctx;
    struct sc__packet_fabric *fabric;
    struct sc__arena arena;
    struct sc__packet_sim *sim;
    struct sc__packet_ports ports;
    struct sc__packet_counters counters;
    int64_t before_send; /* ns before a message is handed to the network */
    uint32_t process;    /* whose event other messages follow from (packet_rounds.h) */
    uint32_t running;
    struct sc__packet_run *added; /* the last one */
    struct sc__packet_run *over;  /* that has ended and was not taken yet */
    struct sc__packet_pair *free_pairs;
    sc_status status; /* of what happened inside */
};

struct sc__packet_live *sc__packet_live_new(struct sc__packet_fabric *f,
                                            const struct sc__steps *steps,
                                            const struct sc__packet_random *random);
void sc__packet_live_free(struct sc__packet_live *l);
/* What is noted of messages: nothing, when each is delivered, all of it. */
enum sc__packet_keep {
    SC__PACKET_KEEP_NOTHING,
    SC__PACKET_KEEP_ENDS,
    SC__PACKET_KEEP_FLOWS
};
/* A transfer whose messages begin at a time, not before what has happened. */
struct sc__packet_run *sc__packet_live_add(struct sc__packet_live *l,
                                           const struct sc__packet_traffic *t,
                                           double use,
                                           enum sc__packet_keep keep,
                                           uint32_t user,
                                           int64_t at);
/* Goes on until a transfer ends, or to `until`; *over is NULL then. Messages that
 * can never end are an error. */
sc_status
sc__packet_live_run(struct sc__packet_live *l, int64_t until, struct sc__packet_run **over);

/* Whether so many sets alike, in one simulation, would have done the same: a switch pauses
 * a port that has an eighth of what is free of its buffer or more, and others leave of it
 * at least what all of them had at most. */
bool sc__packet_buffers_untouched(const struct sc__packet_live *l, uint32_t copies);

/* Times that something told senders to change what they do. */
uint64_t sc__packet_live_signals(const struct sc__packet_live *l);
/* Nothing did after so many of them: what goes on so can be told beforehand. Controls that
 * go by more than marks and losses had no queues to speak of since peak_queue was 0. */
bool sc__packet_live_calm(const struct sc__packet_live *l, uint64_t signals);

#endif
