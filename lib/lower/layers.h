/* layers → workload: find the micro-batches in the rows, make the blocks, run
 * them under a pipeline schedule. */
#ifndef SC_LOWER_LAYERS_H
#define SC_LOWER_LAYERS_H

#include "ir/layers.h"
#include "lower/pipeline.h"

extern const struct sc__option sc__layers_options[];

sc_status sc__lower_layers(struct sc_context *ctx, const struct sc__settings *settings, const struct sc__layers *rows,
                           struct sc__workload **out);

#endif
