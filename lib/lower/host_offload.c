/* host_offload: what a rank keeps on its host, as copies over the link between them and
 * an optimizer that runs there (docs/model/offload.md).
 *
 *   optimizer    gradients go out, the CPU updates its share, weights come in: one after
 *                another, or (--overlap-offload) gradients leave as they are reduced and
 *                weights come in as they are made
 *   weights      shards of ZeRO 3 come in before they are gathered, for every use
 *   activations  of a layer leave while others are computed, and come back before they
 *                are wanted
 *
 * Copies are made by engines of their own: they take no SMs from compute. */
#include "lower/step_blocks.h"

/* Both ways at once do not hinder each other: the link has a lane for each. */
static uint32_t emit_copy(struct sc__step_emitter *e,
                          enum sc__phase phase,
                          uint8_t stream,
                          uint16_t after,
                          double bytes,
                          const char *name,
                          uint32_t layer) {
    struct sc__op *op = sc__block_add(e->w, SC__OP_COLLECTIVE, phase, stream, name);
    op->coll = SC__ALLGATHER;
    op->flags = SC__OP_MEASURED;
    op->group = sc__workload_group(e->w, SC__GROUP_HOST);
    op->layer = layer;
    op->bytes = (uint64_t)bytes;
    op->after = after;
    op->cost = e->l->cluster->ideal ? 0 : sc__from_us(1e6 * bytes / e->l->host.link);
    return e->w->op_count - 1 - e->first_op;
}

/* ---- the optimizer ---- */

bool sc__offload_beside(const struct sc__plan *p) {
    return p->offload_optimizer > 0 && p->overlap_offload &&
           (p->zero >= 2 || p->overlap_grad);
}

void sc__offload_gradients(struct sc__step_emitter *e,
                           const struct sc__shard *s,
                           uint8_t stream,
                           uint32_t layer) {
    const struct sc__plan *p = &e->l->plan;
    double bytes = p->offload_optimizer * sc__step_updated(p, s) * p->grad_bytes;
    if (bytes < 1)
        return;
    emit_copy(e,
              SC__UPDATE,
              SC__STREAM_HOST_OUT,
              (uint16_t)(1u << SC__STREAM_COMPUTE | 1u << stream),
              bytes,
              "gradients to host",
              layer);
}

/* Bytes that the CPU moves for a parameter: main copy and moments are read and written,
 * the gradient is read, and the weight is written as the GPU uses it. */
static double update_bytes(const struct sc__plan *p) {
    bool plain = !sc__plan_mixed_update(p);
    double each = plain ? sc__plan_weight_bytes(p) : 4;
    double moments = sc__plan_moment_bytes(p, 0) + sc__plan_moment_bytes(p, 1);
    if (p->optimizer_kind == SC__OPTIMIZER_ADAM_8BIT)
        moments = 2;
    if (p->optimizer_kind == SC__OPTIMIZER_SGD)
        moments = 0;
    return 2 * each + 2 * moments + p->grad_bytes + (plain ? 0 : sc__plan_width(p));
}

static void emit_host_optimizer(struct sc__step_emitter *e, double params) {
    struct sc__op *op = sc__block_add(e->w,
                                      SC__OP_COMPUTE,
                                      SC__UPDATE,
                                      SC__STREAM_HOST_OUT,
                                      "optimizer on host");
    const struct sc__host_link *host = &e->l->host;
    double memory = params * update_bytes(&e->l->plan) / host->stream;
    double core = 1e6 * e->l->constants.software.host_update;
    double cores = params / (core * host->threads);
    op->work = SC__WORK_HOST;
    op->cost = sc__from_us(1e6 * fmax(memory, cores));
    op->after = 1u << SC__STREAM_COMPUTE;
}

static void emit_new_weights(struct sc__step_emitter *e, double params) {
    const struct sc__plan *p = &e->l->plan;
    if (p->offload_params) /* they stay there */
        return;
    emit_copy(e,
              SC__UPDATE,
              SC__STREAM_HOST_IN,
              1u << SC__STREAM_COMPUTE | 1u << SC__STREAM_HOST_OUT,
              params * sc__plan_width(p),
              "weights from host",
              SC__NONE);
}

void sc__offload_update(struct sc__step_emitter *e, double params) {
    const struct sc__plan *p = &e->l->plan;
    double mine = p->offload_optimizer * params;
    if (mine < 1)
        return;
    sc__step_wait_pending(e);
    if (!sc__offload_beside(p))
        emit_copy(e,
                  SC__UPDATE,
                  SC__STREAM_HOST_OUT,
                  1u << SC__STREAM_COMPUTE,
                  mine * p->grad_bytes,
                  "gradients to host",
                  SC__NONE);
    /* What is issued before the optimizer waits for the gradients alone, and so runs
     * beside it. */
    if (p->overlap_offload)
        emit_new_weights(e, mine);
    emit_host_optimizer(e, mine);
    if (!p->overlap_offload)
        emit_new_weights(e, mine);
    e->pending |= 1u << SC__STREAM_HOST_OUT | 1u << SC__STREAM_HOST_IN;
}

/* ---- weights ---- */

uint32_t sc__offload_fetch_weights(struct sc__step_emitter *e,
                                   const struct sc__step_unit *u,
                                   bool wait_compute) {
    double bytes = sc__step_shard_bytes(e->l, u);
    return emit_copy(e,
                     SC__FORWARD,
                     SC__STREAM_HOST_IN,
                     wait_compute ? (uint16_t)(1u << SC__STREAM_COMPUTE | e->pending) : 0,
                     bytes,
                     "weights from host",
                     u->layer);
}

/* ---- activations ---- */

static double unit_activations(const struct sc__lowering *l,
                               const struct sc__step_unit *u) {
    struct sc__plan p = l->plan;
    if (!u->repeat)
        p.recompute = SC__RECOMPUTE_NONE;
    return sc__layer_activations(l->model, &p, u->layer);
}

/* Transformer Engine spreads the copies over all layers, so that the link is never idle
 * (AsyncDoubleBufferGroupOffloadHandler, layer_window_map): each layer that leaves has a
 * window of layers / away others, the first ones of one more. Its copy begins where the
 * window before ends, and its memory is free behind the last layer of its own. */
static uint32_t window_end(const struct sc__offload_windows *w, uint32_t i) {
    uint32_t longer = w->layers % w->away;
    uint32_t end = w->layers / w->away * (i + 1) - 1 + (i < longer ? i + 1 : longer);
    return end > i ? end : i + 1; /* where all leave */
}

static bool is_layer(const struct sc__step_unit *u) {
    return u->kind == SC__UNIT_LAYER && !u->tower;
}

struct sc__offload_windows sc__offload_windows(const struct sc__step_unit *units,
                                               uint32_t count) {
    struct sc__offload_windows w = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (!is_layer(&units[i]))
            continue;
        if (!w.layers++)
            w.first = &units[i];
        w.away += units[i].offload;
    }
    return w;
}

static void wait_for_copies(struct sc__step_emitter *e, uint8_t stream) {
    e->pending |= (uint16_t)(1u << stream);
    sc__step_wait_pending(e);
}

void sc__offload_store(struct sc__step_emitter *e,
                       struct sc__offload_windows *w,
                       const struct sc__step_unit *u) {
    if (w->moved >= w->away || !is_layer(u))
        return;
    uint32_t at = (uint32_t)(u - w->first);
    if (at && at != window_end(w, w->moved))
        return;
    if (at) {
        wait_for_copies(e, SC__STREAM_HOST_OUT);
        w->moved++;
    }
    if (w->moved >= w->away)
        return;
    const struct sc__step_unit *next = w->first + w->moved;
    emit_copy(e,
              SC__FORWARD,
              SC__STREAM_HOST_OUT,
              1u << SC__STREAM_COMPUTE,
              unit_activations(e->l, next),
              "activations to host",
              next->layer);
}

static void fetch_next(struct sc__step_emitter *e, struct sc__offload_windows *w) {
    const struct sc__step_unit *next = w->first + w->away - 1 - w->moved++;
    emit_copy(e,
              SC__BACKWARD,
              SC__STREAM_HOST_IN,
              1u << SC__STREAM_COMPUTE | 1u << SC__STREAM_HOST_OUT,
              unit_activations(e->l, next),
              "activations from host",
              next->layer);
}

/* They come back in the windows in which they left. */
void sc__offload_fetch(struct sc__step_emitter *e,
                       struct sc__offload_windows *w,
                       const struct sc__step_unit *u) {
    if (!w->away || !is_layer(u))
        return;
    uint32_t at = (uint32_t)(u - w->first);
    if (u->offload && w->moved < w->away - at) /* where all leave: the last one */
        fetch_next(e, w);
    bool due = w->moved < w->away && window_end(w, w->away - 1 - w->moved) >= at;
    if (u->offload || (due && w->moved))
        wait_for_copies(e, SC__STREAM_HOST_IN);
    if (due)
        fetch_next(e, w);
}
