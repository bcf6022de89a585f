/* goal: what the text and the binary reader of GOAL schedules share. */
#ifndef SC_FRONTEND_GOAL_H
#define SC_FRONTEND_GOAL_H

#include "frontend/reader.h"
#include "workload/graph.h"

#define SC__GOAL_MAGIC 4223u
#define SC__GOAL_MAX_RANKS (1u << 24)
#define SC__GOAL_NODE 39 /* bytes of a node in the binary form */

/* The schedule while it is read: one graph block a rank. */
struct sc__goal {
    struct sc_context *ctx;
    struct sc__workload *w;
    struct sc__input *in;
    /* in all; being read */
    uint32_t ranks;
    uint32_t rank;
    uint32_t *blocks; /* by rank */
    /* names */
    uint32_t send;
    uint32_t recv;
    uint32_t calc;
    struct sc__edge *edges; /* of the rank being read */
    uint32_t edge_count;
    uint32_t edge_capacity;
};

struct sc__goal_node {
    uint8_t type; /* 1 send, 2 recv, 3 calc: as in the binary form */
    uint8_t cpu;
    uint8_t nic;
    /* UINT32_MAX: any */
    uint32_t peer;
    uint32_t tag;
    uint64_t size; /* bytes, or nanoseconds of a calc */
};
enum { SC__GOAL_SEND = 1, SC__GOAL_RECV, SC__GOAL_CALC };

void sc__goal_begin(struct sc__goal *g,
                    struct sc_context *ctx,
                    struct sc__input *in,
                    uint32_t ranks);
/* Adds a node to the open block; NULL, or what is wrong with it. */
const char *sc__goal_add(struct sc__goal *g, const struct sc__goal_node *n);
/* Closes the block of a rank: edges, cycles. */
sc_status sc__goal_end_rank(struct sc__goal *g, const struct sc__place *at);
/* After the last rank: classes, and every message has its partner. */
sc_status sc__goal_finish(struct sc__goal *g, const struct sc__place *at);

sc_status
sc__goal_read_text(struct sc__goal *g, struct sc_context *ctx, struct sc__input *in);
sc_status sc__goal_read_binary(struct sc__goal *g,
                               struct sc_context *ctx,
                               struct sc__input *in,
                               uint64_t file_size);

#endif
