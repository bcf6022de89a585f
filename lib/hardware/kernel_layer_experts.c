/* kernel_layer_experts: the feed-forward of a layer with experts: router · [latent] ·
 * permutation · experts · shared experts · permutation back · [latent]. */
#include "hardware/kernel_layer_maker.h"

#include <math.h>

static uint64_t routed_width(const struct sc__layer_shape *s) {
    return s->moe_latent ? s->moe_latent : s->hidden;
}

/* To the width of routed tokens, or from it: every rank has these weights whole. */
static void latent(struct sc__layer_maker *m, bool down) {
    uint64_t from = down ? m->s->hidden : m->s->moe_latent;
    uint64_t to = down ? m->s->moe_latent : m->s->hidden;
    struct sc__linear l = {"latent", "latent_dgrad", "latent_wgrad", from, to, 0, false, 0};
    if (m->s->moe_latent)
        sc__layer_linear(m, &l, m->rows);
}

static void router(struct sc__layer_maker *m) {
    const struct sc__layer_shape *s = m->s;
    struct sc__linear gate =
        {"gate", "gate_dgrad", "gate_wgrad", s->hidden, s->experts, 0, false, 0};
    m->part = SC__PART_ROUTER;
    if (!m->backward)
        sc__layer_linear(m, &gate, m->rows);
    sc__layer_either(m, SC__MEM_ROUTER_F, m->rows, s->experts);
    if (!m->backward)
        latent(m, true);
    sc__layer_either(m, SC__MEM_PERMUTE_F, m->rows * s->topk, routed_width(s));
    if (m->backward) {
        latent(m, true);
        sc__layer_linear(m, &gate, m->rows);
    }
}

static void unroute(struct sc__layer_maker *m) {
    m->part = SC__PART_UNROUTE;
    if (m->backward)
        latent(m, false);
    sc__layer_either(m, SC__MEM_UNPERMUTE_F, m->rows * m->s->topk, routed_width(m->s));
    if (!m->backward)
        latent(m, false);
}

/* Megatron adds bias times probability to each expert's rows and joins them
 * again: 28 bytes an element of fp32 traffic forward (weighting 4, sum 10, join
 * 8, cast 6; where experts are fp32 8, 12, 8 and no cast), about as much backward. */
static void expert_biases(struct sc__layer_maker *m, double elements) {
    m->part = SC__PART_MLP_OUT;
    sc__layer_push(m, sc__elementwise(m->kernel_model, "expert_bias", 28 * elements));
}

static void experts(struct sc__layer_maker *m) {
    const struct sc__layer_shape *s = m->s;
    uint64_t ep = s->ep ? s->ep : 1;
    uint64_t etp = s->expert_tp ? s->expert_tp : 1;
    /* The tokens of ep · etp GPUs go topk times to all experts: so many to one. */
    double each = (double)(m->rows * ep * etp * s->topk) / s->experts *
                  (s->imbalance > 0 ? s->imbalance : 1);
    struct sc__mlp f = {(uint64_t)fmax(1, ceil(each)),
                        routed_width(s),
                        s->expert_ffn / etp,
                        sc__at_least_one(s->experts, ep),
                        SC__PART_MLP_IN,
                        SC__PART_MLP_OUT};
    /* tokens arrive by source rank: they are sorted by expert, and back */
    bool sorted = f.experts > 1 && ep > 1;
    m->part = m->backward ? SC__PART_MLP_OUT : SC__PART_MLP_IN;
    if (sorted)
        sc__layer_either(m, SC__MEM_PERMUTE_F, f.rows * f.experts, routed_width(s));
    if (!m->backward)
        sc__layer_mlp(m, &f);
    if (s->expert_bias)
        expert_biases(m, (double)(f.rows * f.experts) * (double)routed_width(s));
    if (m->backward)
        sc__layer_mlp(m, &f);
    if (sorted)
        sc__layer_either(m, SC__MEM_PERMUTE_F, f.rows * f.experts, routed_width(s));
}

static void shared_experts(struct sc__layer_maker *m) {
    struct sc__mlp f = {m->tokens,
                        m->s->hidden,
                        m->s->shared_ffn / m->s->tp,
                        0,
                        SC__PART_SHARED,
                        SC__PART_SHARED};
    if (m->s->shared_ffn)
        sc__layer_mlp(m, &f);
}

void sc__layer_experts(struct sc__layer_maker *m) {
    if (m->backward) {
        unroute(m);
        shared_experts(m);
        experts(m);
        router(m);
    } else {
        router(m);
        experts(m);
        shared_experts(m);
        unroute(m);
    }
}
