/* document: what a reader made → a workload. */
#include "evaluate/evaluate.h"
#include "frontend/megatron_trace/replay.h"
#include "frontend/neusight/operator_lower.h"
#include "frontend/torch_profiler/profiler_lower.h"
#include "lower/layers.h"

#include <string.h>

sc_status sc__document_lower(struct sc_context *ctx,
                             const struct sc__settings *settings,
                             const struct sc__document *doc,
                             uint32_t gpus,
                             struct sc__workload **out) {
    const struct sc__layers *rows = doc->layers;
    *out = doc->workload;
    if (doc->traces)
        return sc__lower_replay(ctx, settings, doc->traces, out);
    if (*out)
        return SC_OK;
    if (!rows)
        return sc__lower_profile(ctx, settings, doc->details, gpus, out);
    if (!strcmp(rows->format, "operator-table"))
        return sc__lower_operators(ctx, settings, rows, gpus, out);
    return sc__lower_layers(ctx, settings, rows, gpus, out);
}
