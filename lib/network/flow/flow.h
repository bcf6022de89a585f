/* flow: the network engine that shares links; see flow.c and
 * docs/model/flow.md. */
#ifndef SC_SIMULATE_FLOW_H
#define SC_SIMULATE_FLOW_H

#include "network/engine.h"
#include "network/flow/flow_cluster.h"
#include "network/placed_jobs.h"

/* settings: --route, --degrade, --fail … (sc__flow_options). w may be NULL. */
sc_status sc__net_flow(struct sc_context *ctx,
                       const struct sc__cluster *cluster,
                       const struct sc__workload *w,
                       const struct sc__settings *settings,
                       struct sc__net *net);
/* One more job on the cluster. The jobs of an engine are numbered from 0; one
 * made without a workload has none yet. */
sc_status
sc__net_flow_job(struct sc__net *net, const struct sc__workload *w, struct sc__place_at at);

/* For the cost of single collectives: an engine for one group, the first GPUs
 * of the cluster, … */
sc_status sc__flow_group(struct sc_context *ctx,
                         const struct sc__cluster *c,
                         uint32_t gpus,
                         const struct sc__settings *settings,
                         struct sc__net *out);
/* … and the time of a collective of it (coll SC__COLLS: a message from every
 * GPU to the next) alone. */
sc_status sc__flow_cost(struct sc__net *net, int coll, uint64_t bytes, int64_t *time);

#endif
