/* replay: traces of ranks → a workload that does again what was measured:
 * measured compute, simulated communication. docs/formats/megatron-trace.md
 * has the rules and their constants. */
#ifndef SC_FRONTEND_MEGATRON_TRACE_REPLAY_H
#define SC_FRONTEND_MEGATRON_TRACE_REPLAY_H

#include "frontend/megatron_trace/trace.h"
#include "workload/timeline.h"

sc_status sc__lower_replay(struct sc_context *ctx,
                           const struct sc__settings *settings,
                           const struct sc__trace_set *set,
                           struct sc__workload **out);

/* What was measured, on the clock of the lowest rank; profiles and plans have
 * no timeline (*out is NULL). */
sc_status sc__replay_measured(struct sc_context *ctx,
                              const struct sc__settings *settings,
                              const struct sc__trace_set *set,
                              struct sc__timeline **out);

#endif
