/* flow: the network engine that shares links; see flow.c and
 * docs/model/flow.md. */
#ifndef SC_SIMULATE_FLOW_H
#define SC_SIMULATE_FLOW_H

#include "simulate/flow_cluster.h"
#include "simulate/network.h"

/* settings: --route, --degrade, --fail (sc__flow_options). */
sc_status sc__net_flow(struct sc_context *ctx, const struct sc__cluster *cluster, const struct sc__workload *w,
                       const struct sc__settings *settings, struct sc__net *net);
/* Another job on the same cluster, its rank 0 on GPU first_gpu; *job is what
 * its transfers carry. */
sc_status sc__net_flow_job(struct sc__net *net, const struct sc__workload *w, uint32_t first_gpu, uint32_t *job);
/* For the price of single collectives: an engine for one group, the first GPUs
 * of the cluster, … */
sc_status sc__flow_group(struct sc_context *ctx, const struct sc__cluster *c, uint32_t gpus,
                         const struct sc__settings *settings, struct sc__net *out);
/* … and the time of a collective of it (coll SC__COLLS: a message from its
 * first to its last GPU) alone. */
sc_status sc__flow_price(struct sc__net *net, int coll, uint64_t bytes, int64_t *time);

#endif
