/* resolve: the parts of deciding what a plan leaves open. Each reads the public plan g and
 * sets its fields of p; those before it in sc__plan_resolve are set. */
#ifndef SC_PLAN_RESOLVE_H
#define SC_PLAN_RESOLVE_H

#include "plan/plan.h"

static inline bool sc__is_on(sc_toggle t) {
    return t == SC_ON;
}

static inline bool sc__unless_said(sc_toggle t, bool usual) {
    return t == SC_AUTO ? usual : t == SC_ON;
}

/* ZeRO and FSDP: what is sharded, among whom, in which buckets. */
sc_status
sc__resolve_sharding(struct sc_context *ctx, const sc_plan *g, struct sc__plan *p);
/* What waits on the host. */
sc_status sc__resolve_offload(struct sc_context *ctx,
                              const sc_plan *g,
                              const struct sc__model *m,
                              struct sc__plan *p);

#endif
