/* gradient_buckets: traffic of data parallelism in a block: buckets of gradients
 * that are reduced as they fill, and the weights that ZeRO gathers. */
#include "lower/step_blocks.h"

/* Weights of a unit, gathered from their shards; the next compute waits. */
void sc__step_gather_weights(struct sc__step_emitter *e,
                             const struct sc__step_unit *u,
                             bool wait_compute) {
    const struct sc__mesh *mesh = &e->l->plan.mesh;
    double width = sc__plan_gathered_bytes(&e->l->plan);
    const double bytes[2] = {width * u->params.dense, width * u->params.experts};
    const enum sc__group_kind group[2] = {SC__GROUP_DP_CP, SC__GROUP_DP_EP};
    for (int i = 0; i < 2; i++) {
        if (bytes[i] < 1 || sc__mesh_group_size(mesh, group[i]) == 1)
            continue;
        uint16_t pending = e->pending;
        uint32_t at = sc__step_emit_collective(e,
                                               SC__FORWARD,
                                               SC__ALLGATHER,
                                               group[i],
                                               SC__STREAM_DP,
                                               bytes[i],
                                               "weights",
                                               u->layer);
        e->pending = pending;
        if (!wait_compute)
            e->w->ops[e->w->op_count - 1].after = 0;
        e->dep[e->deps++] = at;
    }
}

void sc__step_reduce_gradients(struct sc__step_emitter *e,
                               const struct sc__shard *s,
                               uint8_t stream,
                               uint32_t layer) {
    const struct sc__plan *p = &e->l->plan;
    const double bytes[2] = {p->grad_bytes * s->dense, p->grad_bytes * s->experts};
    const enum sc__group_kind group[2] = {SC__GROUP_DP_CP, SC__GROUP_DP_EP};
    for (int i = 0; i < 2; i++)
        if (bytes[i] >= 1 && sc__mesh_group_size(&p->mesh, group[i]) > 1)
            sc__step_emit_collective(e,
                                     SC__UPDATE,
                                     p->zero ? SC__REDUCESCATTER : SC__ALLREDUCE,
                                     group[i],
                                     stream,
                                     bytes[i],
                                     "gradients",
                                     layer);
}

/* Reduces what has come together once it is a bucket of at least so many bytes. */
void sc__step_flush_bucket(struct sc__step_emitter *e,
                           struct sc__shard *sum,
                           double least) {
    if ((sum->dense + sum->experts) * e->l->plan.grad_bytes < least ||
        sum->dense + sum->experts < 1)
        return;
    sc__step_reduce_gradients(e, sum, SC__STREAM_DP, SC__NONE);
    *sum = (struct sc__shard){0};
}
