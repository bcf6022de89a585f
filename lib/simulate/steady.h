/* steady: what steady.c (when to look, what repeats, skipping) and
 * steady_state.c (the state written down) share. */
#ifndef SC_SIMULATE_STEADY_H
#define SC_SIMULATE_STEADY_H

#include "simulate/executor.h"

/* The state of a run at one moment. */
struct sc__snapshot {
    int64_t now;
    uint64_t hash;
    /* All that must be equal, relative to now and to the calls; the counters
     * are those of the engine. */
    struct sc__net_state state;
    /* What may move on from one period to the next: */
    uint32_t *calls; /* by class and stream: where it is in the program */
    int64_t *marks;  /* by class: accounted up to here */
    int64_t *ends;   /* by class: its last operation ended */
    uint64_t *open;  /* by rendezvous, in order of opening: number or tag */
    uint32_t open_count;
    uint32_t open_capacity;
    uint64_t *counters; /* by steady.cells */
    uint32_t spans;
    uint32_t idles;
    uint32_t links;
};

/* A stretch of a program that repeats: calls first … end − 1. */
struct sc__stretch {
    uint32_t first;
    uint32_t end;
    uint32_t period;
};

/* Two ends of a message on the timeline. */
struct sc__steady_link {
    uint32_t send;
    uint32_t recv;
};

struct sc__pending_event {
    int64_t time;
    uint32_t a;
    uint32_t b;
};

#define SC__SNAPSHOTS 64

struct sc__steady {
    /* The stream whose place in the program says when to look, and where. */
    uint32_t class;
    uint32_t stream;
    struct sc__stretch *stretches;
    uint32_t stretch_count;
    uint32_t stretch;   /* the one it is in, or comes to */
    uint32_t next_call; /* look when it gets there */
    bool due;
    uint64_t looks;
    struct sc__snapshot snapshots[SC__SNAPSHOTS];
    uint32_t room;    /* of them, as many as are kept */
    uint32_t kept;    /* so far, since the last skip */
    uint64_t **cells; /* all counters of the result */
    uint32_t cell_count;
    uint32_t *order; /* by rendezvous: its place among the open ones */
    uint32_t order_capacity;
    uint32_t *open; /* room for the open ones */
    uint32_t open_capacity;
    struct sc__pending_event *events; /* room for those of the queue */
    uint32_t event_count;
    uint32_t event_capacity;
    uint32_t *scratch;
    struct sc__steady_link *links;
    uint32_t link_count;
    uint32_t link_capacity;
};

/* steady_state.c */
sc_status sc__steady_write(struct sc__executor *x, struct sc__snapshot *s);
void sc__steady_shift_events(struct sc__executor *x, int64_t by);

#endif
