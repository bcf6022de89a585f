/* packet_events: what happens next, in the order (time, insertion number).
 *
 * Nearly all events are less than 4096 ns ahead. Those are in a wheel of one
 * slot per ns, each a list in order of insertion numbers; a bit per slot finds
 * the next one that is used. The others are in a heap, and leave from there.
 *
 * An insertion number can be taken before its event is inserted: a port that
 * nobody waits for takes the number of its end of transmission and leaves the
 * event out (packet_sim.h). */
#ifndef SC_NETWORK_PACKET_EVENTS_H
#define SC_NETWORK_PACKET_EVENTS_H

#include "base/arena.h"

#include <stdbool.h>

#define SC__PACKET_SLOTS 4096u

enum sc__packet_event_kind {
    SC__PACKET_ARRIVAL, /* of a frame at the end of a link */
    SC__PACKET_DONE,    /* a port has sent its frame */
    SC__PACKET_FEED,    /* flows with a start time of their own */
    SC__PACKET_LAUNCH,  /* the three steps in which a flow starts */
    SC__PACKET_PREPARE,
    SC__PACKET_BEGIN,
    SC__PACKET_OVER,   /* a message without packets */
    SC__PACKET_PACE,   /* a host may send again */
    SC__PACKET_RESEND, /* Ultra Ethernet: a packet that is long on its way; credit */
    SC__PACKET_PULL,
    SC__PACKET_ALPHA, /* timers of DCQCN and those after them send nothing by themselves */
    SC__PACKET_DECREASE,
    SC__PACKET_RISE,
    SC__PACKET_LOOK /* Ultra Ethernet: at the rate of credit */
};

/* First member of what it happens to. */
struct sc__packet_event {
    int64_t time;
    uint64_t sequence;
    struct sc__packet_event *next; /* in its slot; elsewhere its owner's */
    uint8_t kind;
    bool queued;
    bool cancelled;
};

struct sc__packet_far_event {
    int64_t time;
    uint64_t sequence;
    struct sc__packet_event *event;
};

struct sc__packet_queue {
    struct sc__arena *arena;
    int64_t now;
    uint64_t now_sequence;  /* of the event that happens */
    uint64_t next_sequence; /* the next insertion number */
    uint64_t live;          /* queued events that can send something */
    uint32_t near_count;
    uint64_t used_words; /* a bit per word of used */
    uint64_t used[SC__PACKET_SLOTS / 64];
    struct {
        struct sc__packet_event *first;
        struct sc__packet_event *last;
    } slots[SC__PACKET_SLOTS];
    struct sc__packet_far_event *far;
    uint32_t far_count;
    uint32_t far_capacity;
};

/* Inserts e, whose time, sequence and kind are set. */
void sc__packet_insert(struct sc__packet_queue *q, struct sc__packet_event *e);
/* The next event, taken out, if it is not after `until`; NULL when there is none. Cancelled
 * ones come too. */
struct sc__packet_event *sc__packet_pop(struct sc__packet_queue *q, int64_t until);
/* Of the next event; INT64_MAX: there is none. */
int64_t sc__packet_next_time(const struct sc__packet_queue *q);

static inline void sc__packet_schedule(struct sc__packet_queue *q,
                                       struct sc__packet_event *e,
                                       enum sc__packet_event_kind kind,
                                       int64_t time) {
    e->time = time;
    e->sequence = q->next_sequence++;
    e->kind = (uint8_t)kind;
    sc__packet_insert(q, e);
}

#endif
