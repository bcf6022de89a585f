/* operator_lower: the rows of an operator table → a workload.
 *
 * The rows are one micro-batch of the whole model, in forward order; backward
 * is the table read in reverse. Gradient all-reduces (ALLREDUCE_ASYNC) run on
 * a stream of their own beside backward; ALLREDUCE blocks; SENDRECV is a
 * boundary between pipeline stages. */
#ifndef SC_FRONTEND_NEUSIGHT_OPERATOR_LOWER_H
#define SC_FRONTEND_NEUSIGHT_OPERATOR_LOWER_H

#include "workload/layers.h"

extern const struct sc__option sc__operators_options[];

/* cluster_gpus: the size of the cluster where one was named, else 0. */
sc_status sc__lower_operators(struct sc_context *ctx,
                              const struct sc__settings *settings,
                              const struct sc__layers *layers,
                              uint32_t cluster_gpus,
                              struct sc__workload **out);

/* A row as it will run: repeated layers are separate items. */
struct sc__operator {
    struct sc__row row;
    uint32_t source; /* index in the table */
    uint32_t layer;  /* or SC__NONE */
};

struct sc__operators {
    struct sc__operator *items;
    uint32_t count;
    uint32_t capacity;
    uint32_t layers; /* after repetition */
};

/* The rows with --layers, --block and --backward applied. */
sc_status sc__expand_operators(struct sc_context *ctx,
                               const struct sc__settings *settings,
                               const struct sc__layers *rows,
                               struct sc__operators *out);

#endif
