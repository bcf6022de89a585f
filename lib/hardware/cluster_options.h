/* cluster_options: options of commands that change a cluster once it is read. */
#ifndef SC_HARDWARE_CLUSTER_OPTIONS_H
#define SC_HARDWARE_CLUSTER_OPTIONS_H

#include "hardware/cluster.h"

/* --algo, --proto, --gpus-per-process, --rank-file … */
extern const struct sc__option sc__cluster_options[];

/* Applies them to a cluster for a job of so many ranks. */
sc_status sc__cluster_apply(struct sc_context *ctx,
                            const sc_options *options,
                            uint32_t ranks,
                            struct sc__cluster *c);

#endif
