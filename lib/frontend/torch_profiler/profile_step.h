/* profile step: the training step that a profiler's table describes, where its
 * annotations say which rows are what. Every time in it comes from the table,
 * and the pieces add up to the totals the table gives. */
#ifndef SC_FRONTEND_TORCH_PROFILER_PROFILE_STEP_H
#define SC_FRONTEND_TORCH_PROFILER_PROFILE_STEP_H

#include "frontend/torch_profiler/profile.h"

enum sc__piece_role {
    SC__PIECE_PLAIN,
    SC__PIECE_GATE,     /* routing: the same for any number of experts per token */
    SC__PIECE_DISPATCH, /* before the first all-to-all, by tokens sent */
    SC__PIECE_EXPERT,   /* between the two */
    SC__PIECE_COMBINE   /* after the second */
};

struct sc__profile_piece {
    const char *name;
    uint32_t layer; /* or SC__NONE */
    uint8_t role;
    uint8_t work;
    int64_t forward;
    int64_t backward;
};

struct sc__profile_step {
    bool found;
    const char *why_not;              /* what was missing or did not fit */
    struct sc__profile_piece *pieces; /* in forward order */
    uint32_t count;
    uint32_t capacity;
    uint32_t layers;
    uint32_t moe_layers;
    int64_t step; /* device time of the step's annotation: all but backward's nodes */
    int64_t forward;
    int64_t backward; /* of backward's nodes */
    int64_t call;     /* the annotation around backward() itself */
    /* the update */
    int64_t scale;
    int64_t clip;
    int64_t optimizer;
    int64_t rest;    /* of the step, explained by no row */
    int64_t unnamed; /* in layers, but in no row of their parts */
    int64_t host;    /* host time of the step */
    uint32_t nodes;
    uint64_t node_calls;
    /* calls */
    uint64_t all_gather;
    uint64_t reduce_scatter;
    uint64_t all_reduce;
    uint64_t all_to_all;
    uint64_t other_comm;
    int64_t total; /* device time: step + backward */
};

/* A sum that the table contradicts (parts larger than their whole) is an
 * error with the row's place; annotations that are not there give found =
 * false. */
sc_status sc__profile_find_step(struct sc_context *ctx,
                                const struct sc__profile *p,
                                struct sc__profile_step *out);

/* Rows whose host time is waiting and not work, longest first. */
struct sc__wait_row {
    const struct sc__profile_row *row;
    int64_t host;
};
uint32_t sc__profile_waits(struct sc__arena *a,
                           const struct sc__profile *p,
                           struct sc__wait_row **out);

#endif
