/* measured: a measured timeline as a result, so that every report of a
 * simulated step works on it. */
#ifndef SC_STATS_MEASURED_H
#define SC_STATS_MEASURED_H

#include "result/result.h"
#include "workload/timeline.h"

sc_status sc__result_of_measured(struct sc_context *ctx,
                                 const struct sc__timeline *t,
                                 struct sc__result *out);

#endif
