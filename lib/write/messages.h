/* messages: a graph whose collectives are sends and receives.
 *
 * all-reduce, all-gather, reduce-scatter: rings; all-to-all: everyone to
 * everyone; broadcast and reduce: binomial trees; barrier: dissemination. A
 * collective becomes a begin and an end (calculations of no time) with its
 * messages between them, all under one tag of its own. */
#ifndef SC_WRITE_MESSAGES_H
#define SC_WRITE_MESSAGES_H

#include "ir/workload.h"

/* Tags from here on belong to collectives. */
#define SC__COLLECTIVE_TAG 0x40000000u

/* w is expanded (ir/expand.h); so is *out, which has no collectives. */
sc_status sc__workload_messages(struct sc_context *ctx, const struct sc__workload *w, const struct sc__workload **out);

#endif
