/* messages: a graph whose collectives are sends and receives.
 *
 * all-reduce, all-gather, reduce-scatter: rings; all-to-all: everyone to
 * everyone; gather and scatter: the root and everyone; broadcast and reduce: binomial
 * trees; barrier: dissemination. A collective becomes a begin and an end (calculations of
 * no time) with its messages between them, all under one tag of its own. */
#ifndef SC_FRONTEND_GOAL_MESSAGES_H
#define SC_FRONTEND_GOAL_MESSAGES_H

#include "workload/workload.h"

/* Tags from here on belong to collectives. */
#define SC__COLLECTIVE_TAG 0x40000000u

/* One rank at a time: *out has block 0, that of the rank, and holds until the
 * next call. w is expanded (workload/expand.h). */
struct sc__messages;
struct sc__messages *sc__messages_new(struct sc_context *ctx, const struct sc__workload *w);
sc_status sc__messages_of_rank(struct sc__messages *m,
                               uint32_t rank,
                               const struct sc__workload **out);

/* All ranks. w is expanded (workload/expand.h); so is *out, which has no collectives. */
sc_status sc__workload_messages(struct sc_context *ctx,
                                const struct sc__workload *w,
                                const struct sc__workload **out);

#endif
