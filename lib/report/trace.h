/* trace: which ranks go into trace files, and what operations are called there. */
#ifndef SC_REPORT_TRACE_H
#define SC_REPORT_TRACE_H

#include "result/result.h"

/* By default one of each class, for the others do the same at the same time. */
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

/* What trace files call the operation: its name, or the collective's. */
const char *sc__trace_name(const struct sc__workload *w, const struct sc__op *op);

#endif
