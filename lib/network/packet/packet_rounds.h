/* packet_rounds: the order of simultaneous events where a simulation is divided into
 * processes, as SimAI's is (ns-3 on Unison; processes: sc__simai_divide of packet_simai.h).
 *
 * A round is the next event and all that happen up to the least delay between processes
 * after it. What a process does to itself is inserted at once; what goes to another one
 * is put into its mailbox, and inserted when the round is over: mail of process 0 first,
 * then of process 1, each in the order in which it was sent. */
#ifndef SC_NETWORK_PACKET_ROUNDS_H
#define SC_NETWORK_PACKET_ROUNDS_H

#include "network/packet/packet_sim.h"

struct sc__packet_letter {
    uint32_t from; /* process */
    struct sc__packet_event *event;
};

struct sc__packet_rounds {
    int64_t ahead; /* ns: the least delay between processes */
    int64_t end;   /* of the round */
    struct sc__packet_letter *mail;
    uint32_t count;
    uint32_t capacity;
};

struct sc__packet_rounds *sc__packet_rounds_new(struct sc__arena *arena, int64_t ahead);
/* A frame arrives in another process, or a flow is prepared there. */
void sc__packet_post(struct sc__packet_sim *s,
                     uint32_t from,
                     struct sc__packet_event *e,
                     enum sc__packet_event_kind kind,
                     int64_t time);
/* Goes on to the round of the next event, if that is not after `until`. */
void sc__packet_rounds_go_on(struct sc__packet_sim *s, int64_t until);

#endif
