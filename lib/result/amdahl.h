/* amdahl: the parts of the slowest rank's step by name, so that a report can
 * say what making one of them faster would bring. Compute beside communication
 * on another stream may bring less: the shares are upper bounds. */
#ifndef SC_STATS_AMDAHL_H
#define SC_STATS_AMDAHL_H

#include "result/result.h"
#include "workload/shares.h"

struct sc__shares *sc__result_shares(struct sc_context *ctx, const struct sc__result *r);

#endif
