/* executor_graph: the state of a run of graph blocks, shared by the executor
 * (executor_graph.c) and what sets it up and closes it (graph_setup.c). */
#ifndef SC_SIMULATE_EXECUTOR_GRAPH_H
#define SC_SIMULATE_EXECUTOR_GRAPH_H

#include "simulate/queue.h"
#include "simulate/simulate.h"

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

struct sc__graph_active {
    uint32_t group; /* the last is point-to-point */
    uint32_t count;
};

/* What a rank does now, for the account. */
struct sc__graph_usage {
    int64_t since;
    uint32_t computing;
    uint32_t recomputing;
    uint32_t in_collective;
    uint32_t in_recv;
    uint32_t left; /* operations that have not ended */
    struct sc__graph_active *active;
    uint32_t active_count;
    uint32_t active_capacity;
    /* For ranks that receive from anyone. */
    uint32_t *posted;
    uint32_t posted_count;
    uint32_t posted_capacity;
    uint32_t *arrived;
    uint32_t arrived_count;
    uint32_t arrived_capacity;
};

struct sc__graph_arrival {
    /* next + 1 in the pool, or 0 */
    uint32_t op;
    uint32_t class;
    uint32_t next;
};

struct sc__graph_meeting {
    /* arrival + 1 */
    uint32_t arrived;
    uint32_t first;
};

/* Meetings of a group that wait for the one under way. */
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

struct sc__graph_run {
    struct sc_context *ctx;
    const struct sc__workload *w;
    const struct sc__net *net;
    struct sc__sim_options options;
    struct sc__sim *out;
    struct sc__arena *arena;
    const uint32_t *match;
    uint16_t *waits; /* by operation: dependencies left */
    uint8_t *state;
    uint32_t *succ_first;
    uint32_t *succ;
    bool start_deps;
    bool loads;                   /* the engine charges the processors for messages */
    bool *slots;                  /* by class */
    struct sc__graph_lane *lanes; /* by class · SC__MAX_STREAMS + stream */
    uint32_t *dirty;
    uint32_t dirty_count;
    uint32_t dirty_capacity;
    struct sc__graph_usage *usage;
    struct sc__graph_meeting *meetings;
    struct sc__graph_line *lines; /* by group */
    struct sc__graph_arrival *arrivals;
    uint32_t arrival_count;
    uint32_t arrival_capacity;
    struct sc__graph_pending *pending;
    uint32_t pending_count;
    uint32_t pending_capacity;
    struct sc__queue queue;
    int64_t now;
    uint64_t done;
    uint64_t total;
    sc_status progress; /* SC_CANCELLED when whoever listens said so */
    /* by operation, for the timeline; or NULL */
    int64_t *started;
    int64_t *met;
};

/* Books the time since the last change of a rank's state. */
void sc__graph_account(struct sc__graph_run *r, uint32_t class);

/* What is asked of the network for a send, or for a collective. */
struct sc__transfer
sc__graph_message(const struct sc__graph_run *r, uint32_t class, uint32_t op);
struct sc__transfer sc__graph_collective(const struct sc__graph_run *r, uint32_t op);

sc_status sc__graph_set_up(struct sc__graph_run *r);
/* Names some of the operations that were not executed. */
sc_status sc__graph_deadlock(struct sc__graph_run *r);
void sc__graph_close(struct sc__graph_run *r);

#endif
