/* capture attention: what the attention of a captured program costs, under masks and
 * without. */
#include <string.h>

#include "frontend/capture/capture_pricing.h"
#include "hardware/gpu.h"
#include "hardware/kernel.h"

/* Whether the mask of an attention is learned: its backward, somewhere in the capture,
 * gives a fourth gradient. */
static bool is_mask_learned(const struct sc__pricing *p, bool backward) {
    enum { FORWARD_MASK = 3, BACKWARD_MASK = 6 };
    if (backward)
        return p->call->out.count > 3;
    if (p->call->in.count <= FORWARD_MASK)
        return false;
    uint32_t mask = p->c->places[p->call->in.first + FORWARD_MASK];
    for (uint32_t i = 0; i < p->c->call_count; i++) {
        const struct sc__capture_call *call = &p->c->calls[i];
        if (call->out.count > 3 && call->in.count > BACKWARD_MASK &&
            !strcmp(call->op, "stepcast.attention_backward") &&
            p->c->places[call->in.first + BACKWARD_MASK] == mask)
            return true;
    }
    return false;
}

/* One kernel gives the gradient of a mask, too: it goes through tiles of 64 queries by 64
 * keys, with tensor cores of an older kind. */
static void
price_learned_mask(struct sc__pricing *p, const struct sc__attention *a, bool backward) {
    const struct sc__operators *o = p->operators;
    const struct sc__gpu *gpu = sc__kernel_model_gpu(p->model);
    double tiles = (double)(a->batch * a->heads) * (double)((a->sq + 63) / 64) *
                   (double)((a->skv + 63) / 64);
    double ns = o->learned_attention[a->wide][backward];
    if (a->head_dim > 64)
        ns *= o->learned_attention_deep[backward];
    double slower = sc__operators_slower(sc__kernel_model_operators(p->model), gpu);
    p->price.kernel.us = gpu->elementwise_t0 + tiles * ns * slower * 1e-3;
}

/* As those of models are counted (model/model.h): the whole square, masked or not, and
 * twice as much on the way back, whatever its kernel computes again. */
static double attention_flop(const struct sc__attention *a, bool backward) {
    double pairs = (double)a->batch * (double)a->heads * (double)a->sq * (double)a->skv;
    return (backward ? 4 : 2) * pairs * (double)(a->head_dim + a->v_dim);
}

void sc__pricing_attention(struct sc__pricing *p, bool backward) {
    const struct sc__capture_tensor *q = sc__pricing_input(p, backward ? 1 : 0);
    const struct sc__capture_tensor *k = sc__pricing_input(p, backward ? 2 : 1);
    const struct sc__capture_tensor *v = sc__pricing_input(p, backward ? 3 : 2);
    uint32_t mask_at = backward ? 6 : 3;
    struct sc__attention a = {.batch = sc__pricing_size(q, 0),
                              .heads = sc__pricing_size(q, 1),
                              .kv_heads = sc__pricing_size(k, 1),
                              .sq = sc__pricing_size(q, 2),
                              .skv = sc__pricing_size(k, 2),
                              .head_dim = sc__pricing_size(q, 3),
                              .v_dim = sc__pricing_size(v, 3),
                              .causal = p->call->with.causal,
                              .wide = sc__pricing_type(q) == SC__FP32,
                              .masked = mask_at < p->call->in.count};
    p->price.host = SC__HOST_ATTENTION;
    sc__pricing_kernel(p,
                       backward ? sc__attention_backward(p->model, &a)
                                : sc__attention_forward(p->model, &a));
    p->price.kernel.flop = attention_flop(&a, backward);
    if (p->call->with.dropout > 0)
        p->price.kernel.us *= p->operators->attention_dropout[backward];
    if (is_mask_learned(p, backward)) {
        price_learned_mask(p, &a, backward);
        return;
    }
    if (a.masked && a.wide)
        sc__pricing_and(
            p,
            sc__elementwise(p->model, p->call->op, sc__pricing_input(p, mask_at)->bytes));
}
