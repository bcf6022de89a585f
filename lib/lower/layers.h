/* layers → workload: find the micro-batches in the rows, make the blocks, run
 * them under a pipeline schedule. */
#ifndef SC_LOWER_LAYERS_H
#define SC_LOWER_LAYERS_H

#include "lower/pipeline.h"
#include "workload/layers.h"

extern const struct sc__option sc__layers_options[];

/* cluster_gpus: the size of the cluster where one was named, else 0. It goes
 * before the size in the file, and --gpus before both. */
sc_status sc__lower_layers(struct sc_context *ctx,
                           const struct sc__settings *settings,
                           const struct sc__layers *rows,
                           uint32_t cluster_gpus,
                           struct sc__workload **out);

/* How the rows of a file divide: head rows and tail rows run once a step, the
 * rows between are micro-batches of `length` rows each. */
struct sc__row_blocks {
    /* head rows; rows of a micro-batch; micro-batches */
    uint32_t head;
    uint32_t length;
    uint32_t count;
};
struct sc__row_blocks sc__find_micro_batches(const struct sc__layers *rows);

#endif
