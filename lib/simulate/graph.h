/* graph: the state of a run of graph blocks, shared by the policy that runs it
 * (graph.c) and what prepares and ends it (graph_setup.c). */
#ifndef SC_SIMULATE_GRAPH_H
#define SC_SIMULATE_GRAPH_H

#include "simulate/executor.h"

/* State of an operation. */
enum { SC__POSTED = 1, SC__ARRIVED = 2, SC__HELD = 4, SC__FLYING = 8, SC__DONE = 16 };

struct sc__graph_ready {
    int64_t time;
    uint32_t op;
};

/* One stream of one rank. */
struct sc__graph_lane {
    struct sc__graph_ready *queue; /* a binary heap */
    uint32_t count;
    uint32_t capacity;
    bool busy;
    bool dirty;
};

/* Of a rank that receives from anyone: receives without a message, messages
 * without a receive. */
struct sc__graph_inbox {
    uint32_t *posted;
    uint32_t posted_count;
    uint32_t posted_capacity;
    uint32_t *arrived;
    uint32_t arrived_count;
    uint32_t arrived_capacity;
};

/* Collectives of a group that wait for the one under way. */
struct sc__graph_line {
    uint32_t *queue;
    uint32_t head;
    uint32_t count;
    uint32_t capacity;
    bool busy;
};

struct sc__graph_pending {
    uint32_t class;
    uint32_t op;
};

struct sc__graph {
    struct sc__executor *x;
    const struct sc__workload *w;
    const uint32_t *match;
    uint16_t *waits; /* by operation: dependencies left */
    uint8_t *state;
    uint32_t *collectives; /* by number (workload/match.h): rendezvous + 1, once opened */
    uint32_t *succ_first;
    uint32_t *succ;
    bool start_deps;
    bool loads;                   /* the engine charges the processors for messages */
    bool *slots;                  /* by class */
    struct sc__graph_lane *lanes; /* by class · streams + stream */
    uint32_t *dirty;
    uint32_t dirty_count;
    uint32_t dirty_capacity;
    struct sc__graph_inbox *inboxes; /* by class */
    struct sc__graph_line *lines;    /* by group */
    struct sc__graph_pending *pending;
    uint32_t pending_count;
    uint32_t pending_capacity;
    /* by operation, for the timeline; or NULL */
    int64_t *started;
    int64_t *met;
    uint32_t *partner; /* match, and of a message to a rank that takes any: who met */
};

/* What is asked of the network for a send, or for a collective. */
struct sc_transfer
sc__graph_message(const struct sc__graph *r, uint32_t class, uint32_t op);
struct sc_transfer sc__graph_collective(const struct sc__graph *r, uint32_t op);

sc_status sc__graph_prepare(struct sc__executor *x);
/* An error names some of the operations that were not executed. */
sc_status sc__graph_check_end(struct sc__executor *x);
/* deadlock.c: the error of a graph that cannot go on. */
sc_status sc__graph_deadlock(struct sc__graph *r);

#endif
