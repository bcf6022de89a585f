/* gradient_buckets: what becomes of gradients in a block: they are added to those of the
 * step or copied, and reduced in buckets as these fill; and the weights that ZeRO gathers.
 */
#include "lower/step_blocks.h"
#include "lower/step_scripts.h"

/* Collectives that a unit's weights or gradients are cut into: some stacks move
 * every tensor by itself. */
static unsigned shard_messages(const struct sc__step_emitter *e) {
    double n = e->l->constants.software.shard_messages;
    return e->l->plan.zero >= 2 && n > 1 ? (unsigned)n : 1;
}

/* One after another on their stream; the last one's place. */
static uint32_t emit_gathers(struct sc__step_emitter *e,
                             enum sc__group_kind group,
                             double bytes,
                             uint32_t layer,
                             bool wait_compute) {
    unsigned messages = shard_messages(e);
    uint16_t pending = e->pending;
    uint32_t at = SC__NONE;
    for (unsigned i = 0; i < messages; i++) {
        at = sc__step_emit_collective(e,
                                      SC__FORWARD,
                                      SC__ALLGATHER,
                                      group,
                                      SC__STREAM_DP,
                                      bytes / messages,
                                      "weights",
                                      layer);
        e->pending = pending;
        if (!wait_compute || i)
            e->w->ops[e->w->op_count - 1].after = 0;
        if (e->l->plan.offload_params)
            e->w->ops[e->w->op_count - 1].after |= 1u << SC__STREAM_HOST_IN;
    }
    return at;
}

bool sc__step_keeps_weights(const struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    bool given_back = p->torch_copies || l->constants.software.weights_given_back > 0;
    return p->zero < 2 || (p->zero == 2 && !given_back);
}

static bool is_layer(const struct sc__step_unit *u) {
    return u->kind == SC__UNIT_LAYER && !u->tower;
}

/* Embedding, head, towers and some layers have no narrow products. */
static bool is_narrow(const struct sc__lowering *l, const struct sc__step_unit *u) {
    return is_layer(u) && !sc__plan_layer_stays_wide(&l->plan, l->model, u->layer);
}

/* Of so many weights, some of them trained, or so many adapters beside a layer's. */
static double unit_bytes(const struct sc__plan *p,
                         const struct sc__step_unit *u,
                         double params,
                         double trained,
                         double each) {
    bool adapted = p->lora && is_layer(u);
    return adapted ? params * sc__plan_frozen_bytes(p, each) + trained * each
                   : params * each;
}

double sc__step_shard_bytes(const struct sc__lowering *l, const struct sc__step_unit *u) {
    const struct sc__plan *p = &l->plan;
    return unit_bytes(p,
                      u,
                      sc__step_updated(p, &u->params),
                      sc__step_updated(p, &u->trained),
                      sc__plan_shard_bytes(p, is_narrow(l, u)));
}

/* Weights of a unit, gathered from their shards; the next compute waits. Where weights
 * stay whole (ZeRO 1, most of ZeRO 2) these are the updated ones: of a model with
 * adapters, the adapters. */
void sc__step_gather_weights(struct sc__step_emitter *e,
                             const struct sc__step_unit *u,
                             bool wait_compute) {
    const struct sc__mesh *mesh = &e->l->plan.mesh;
    double width = sc__plan_gathered_bytes(&e->l->plan, is_narrow(e->l, u));
    const struct sc__shard *own = &u->trained;
    bool updated = sc__step_keeps_weights(e->l);
    const struct sc__plan *p = &e->l->plan;
    double dense = unit_bytes(p, u, u->params.dense, own->dense, width);
    double experts = unit_bytes(p, u, u->params.experts, own->experts, width);
    const double bytes[2] = {updated ? width * own->dense : dense,
                             updated ? width * own->experts : experts};
    const enum sc__group_kind group[2] = {sc__mesh_shard_kind(mesh),
                                          sc__mesh_expert_shard_kind(mesh)};
    uint32_t before = e->deps;
    uint32_t copy = SC__NONE;
    if (e->l->plan.offload_params && bytes[0] + bytes[1] >= 1)
        copy = sc__offload_fetch_weights(e, u, wait_compute);
    for (int i = 0; i < 2; i++)
        if (bytes[i] >= 1 && sc__mesh_group_size(mesh, group[i]) > 1)
            e->dep[e->deps++] = emit_gathers(e, group[i], bytes[i], u->layer, wait_compute);
    if (copy != SC__NONE && e->deps == before) /* the shard is the whole */
        e->dep[e->deps++] = copy;
}

bool sc__step_owns_tensors(const struct sc__lowering *l) {
    return l->plan.zero == 1 && l->constants.software.owned_tensors > 0;
}

/* Every rank gets the whole sum, whether it needs it or not. */
static bool sums_everywhere(const struct sc__lowering *l) {
    bool summed = l->plan.zero < 3 && l->constants.software.whole_reductions > 0;
    return !l->plan.zero || sc__step_owns_tensors(l) || summed;
}

/* With copies of the shards, what is left of a gradient is summed over them. */
void sc__step_gradient_parts(const struct sc__lowering *l,
                             const struct sc__shard *s,
                             struct sc__gradient_part out[SC__GRADIENT_PARTS]) {
    const struct sc__plan *p = &l->plan;
    const struct sc__mesh *mesh = &p->mesh;
    bool whole = sums_everywhere(l);
    enum sc__coll coll = whole ? SC__ALLREDUCE : SC__REDUCESCATTER;
    enum sc__group_kind shard = whole ? SC__GROUP_DP_CP : sc__mesh_shard_kind(mesh);
    enum sc__group_kind of_experts =
        whole ? SC__GROUP_DP_EP : sc__mesh_expert_shard_kind(mesh);
    double dense = p->grad_bytes * s->dense;
    double experts = p->grad_bytes * s->experts;
    double left = whole ? 0 : dense / sc__mesh_group_size(mesh, shard);
    double experts_left = whole ? 0 : experts / sc__mesh_group_size(mesh, of_experts);
    out[0] = (struct sc__gradient_part){coll, shard, dense};
    out[1] = (struct sc__gradient_part){SC__ALLREDUCE, SC__GROUP_REPLICA, left};
    out[2] = (struct sc__gradient_part){coll, of_experts, experts};
    out[3] = (struct sc__gradient_part){SC__ALLREDUCE, SC__GROUP_REPLICA_EP, experts_left};
    /* the other copy of the model, on the stage as far from the other end */
    bool twice = p->schedule == SC__SCHEDULE_DUALPIPE;
    double mirrored = whole ? dense : left;
    double mirrored_experts = whole ? experts : experts_left;
    out[4] =
        (struct sc__gradient_part){SC__ALLREDUCE, SC__GROUP_MIRROR, twice ? mirrored : 0};
    out[5] = (struct sc__gradient_part){SC__ALLREDUCE,
                                        SC__GROUP_MIRROR,
                                        twice ? mirrored_experts : 0};
}

/* Copies of the shards are summed by a communicator of their own, behind the scattering. */
static void emit_reduction(struct sc__step_emitter *e,
                           const struct sc__gradient_part *part,
                           double bytes,
                           uint8_t stream,
                           uint32_t layer) {
    bool copies = part->group == SC__GROUP_REPLICA || part->group == SC__GROUP_REPLICA_EP;
    bool apart = copies && stream == SC__STREAM_DP && e->l->plan.zero >= 2;
    sc__step_emit_collective(e,
                             SC__UPDATE,
                             part->coll,
                             part->group,
                             apart ? SC__STREAM_REDUCE : stream,
                             bytes,
                             "gradients",
                             layer);
    if (apart)
        e->w->ops[e->w->op_count - 1].after |= 1u << SC__STREAM_DP;
}

void sc__step_reduce_gradients(struct sc__step_emitter *e,
                               const struct sc__shard *s,
                               uint8_t stream,
                               uint32_t layer) {
    const struct sc__plan *p = &e->l->plan;
    struct sc__gradient_part parts[SC__GRADIENT_PARTS];
    unsigned messages = shard_messages(e);
    sc__step_gradient_parts(e->l, s, parts);
    for (unsigned i = 0; i < SC__GRADIENT_PARTS * messages; i++) {
        const struct sc__gradient_part *part = &parts[i / messages];
        if (part->bytes >= 1 && sc__mesh_group_size(&p->mesh, part->group) > 1)
            emit_reduction(e, part, part->bytes / messages, stream, layer);
    }
    if (sc__offload_beside(p))
        sc__offload_gradients(e, s, stream, layer);
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

/* Adding the weight gradients of a micro-batch to those of the step; or, where
 * they are sharded with copies, out of the gathered buffer twice (read, write)
 * and into the one that is reduced; or as often as the software copies them. */
void sc__script_accumulate(struct sc__script_maker *k, const struct sc__shard *params) {
    const struct sc__plan *p = &k->l->plan;
    double sent = k->l->constants.software.gradient_copies * sc__plan_width(p);
    double copies = p->torch_copies ? 5 * sc__plan_width(p) + p->grad_bytes : sent;
    double bytes = (p->zero >= 2 ? copies : k->l->constants.software.accumulate_bytes) *
                   (params->dense + params->experts);
    /* amp casts every weight for its product and its gradient back */
    if (p->amp)
        bytes += 2 * (4 + sc__plan_width(p)) * (params->dense + params->experts);
    if (bytes < 1)
        return;
    struct sc__kernel x = sc__elementwise(k->l->kernel_model, "accumulate", bytes);
    k->launches += x.launches;
    sc__script_compute(k,
                       SC__WORK_ELEMENTWISE,
                       sc__step_kernel_us(k->l, &x),
                       "elementwise");
}
