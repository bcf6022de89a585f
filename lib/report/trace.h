/* trace: timelines as other tools read them. chrome.c writes one file for
 * Perfetto and chrome://tracing, hta.c one file per rank in the form of
 * torch.profiler for HolisticTraceAnalysis. Both take the ranks to write:
 * by default one of each class, for the others do the same at the same time. */
#ifndef SC_WRITE_TRACE_H
#define SC_WRITE_TRACE_H

#include "result/result.h"
#include "result/segments.h"

struct sc__trace_ranks {
    uint32_t *ranks; /* ascending */
    uint32_t count;
    uint32_t capacity;
    bool representatives; /* one per class */
};

/* text: NULL (one rank per class), "all", or numbers and ranges: "0,8,16-31". */
sc_status sc__trace_ranks(struct sc_context *ctx,
                          const struct sc__workload *w,
                          const char *text,
                          struct sc__trace_ranks *out);

void sc__write_trace(struct sc_context *ctx,
                     const struct sc__result *r,
                     const struct sc__trace_ranks *ranks,
                     struct sc__buffer *out);
/* Makes the directory where it does not exist. */
sc_status sc__write_hta(struct sc_context *ctx,
                        const struct sc__result *r,
                        const struct sc__trace_ranks *ranks,
                        const char *directory);

/* What trace files call the operation: its name, or the collective's. */
const char *sc__trace_name(const struct sc__workload *w, const struct sc__op *op);

#endif
