/* what-if: the same step with some of its work faster or slower. Works on a
 * finished workload of any input. */
#ifndef SC_WORKLOAD_SCALE_H
#define SC_WORKLOAD_SCALE_H

#include "workload/workload.h"

extern const struct sc__option sc__whatif_options[];

/* gpu_speedup and scale of the options. A name that matches nothing is an error
 * that suggests one. */
sc_status
sc__whatif_apply(struct sc_context *ctx, const sc_options *options, struct sc__workload *w);

#endif
