/* profile → workload. A table whose annotations describe a step becomes that
 * step, with collectives of the sizes the user gives (the table has none). Any
 * other table becomes its rows one after another. */
#ifndef SC_FRONTEND_TORCH_PROFILER_PROFILER_LOWER_H
#define SC_FRONTEND_TORCH_PROFILER_PROFILER_LOWER_H

#include "frontend/torch_profiler/profile_step.h"
#include "workload/layers.h"

extern const struct sc__option sc__profile_options[];

/* cluster_gpus: the size of the cluster where one was named, else 0. */
sc_status sc__lower_profile(struct sc_context *ctx,
                            const struct sc__settings *settings,
                            const struct sc__profile *p,
                            uint32_t cluster_gpus,
                            struct sc__workload **out);

/* The same step as rows of a layer workload, for formats that hold rows. An
 * error where the table has no step. */
sc_status sc__profile_rows(struct sc_context *ctx,
                           const struct sc__settings *settings,
                           const struct sc__profile *p,
                           uint32_t cluster_gpus,
                           struct sc__layers **out);

#endif
