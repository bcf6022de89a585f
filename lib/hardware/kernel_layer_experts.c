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

/* The gate stays wide whatever type other products have. */
static void gate(struct sc__layer_maker *m) {
    const struct sc__layer_shape *s = m->s;
    struct sc__layer_shape wide = *s;
    struct sc__linear l =
        {"gate", "gate_dgrad", "gate_wgrad", s->hidden, s->experts, 0, false, 0, false};
    wide.gemm = s->wide_router && s->by_modules ? SC__FP32 : s->dtype;
    m->s = &wide;
    sc__layer_linear(m, &l, m->rows);
    m->s = s;
}

/* All-to-alls want a copy of a token for each of its experts, by rank. */
static void copies(struct sc__layer_maker *m, enum sc__memory_op forward) {
    const struct sc__layer_shape *s = m->s;
    if (s->titan_routes && forward == SC__MEM_PERMUTE_F)
        sc__layer_titan_to_experts(m);
    else if (s->titan_routes)
        sc__layer_titan_back(m);
    else if (s->by_modules && forward == SC__MEM_PERMUTE_F)
        sc__layer_routes_to_experts(m);
    else if (s->by_modules)
        sc__layer_routes_back(m);
    else if (!s->sorted_on_arrival)
        sc__layer_either(m, forward, m->rows * s->topk, routed_width(s));
}

/* Casts of the token and of both gradients, and products of twice the bytes: measured on an
 * H200 for four gates. */
static void wide_gradients(struct sc__layer_maker *m) {
    double bytes = 27 * (double)m->rows * (double)m->s->hidden;
    double cast = sc__dtype_bytes(m->s->dtype) + sc__dtype_bytes(SC__FP32);
    if (m->s->by_modules && m->s->wide_router)
        sc__layer_elementwise(m, "gate_wide", cast * (double)(m->rows * m->s->hidden), 1);
    else if (m->s->wide_gate && m->backward)
        sc__layer_push(m, sc__elementwise(m->kernel_model, "gate_wide", bytes));
}

/* What some 40 and 25 small kernels (Megatron's topk_routing_with_score_function and
 * aux loss, forward and backward) take beside the choice of experts: their least time, and
 * cycles of an SM for each token and expert. Measured on an H200 for three routers. */
static void router_operators(struct sc__layer_maker *m) {
    static const double least_us[2] = {80, 28};
    static const double cycles[2] = {26.6, 6.3};
    double elements = (double)m->rows * m->s->experts;
    int i = m->backward;
    if (!m->s->router_apart)
        return;
    struct sc__kernel k =
        sc__strided(m->kernel_model, "router_operators", 0, cycles[i] * elements);
    k.us += least_us[i];
    k.work = SC__WORK_ROUTER;
    sc__layer_push(m, k);
}

static void router(struct sc__layer_maker *m) {
    m->part = SC__PART_ROUTER;
    if (!m->backward)
        gate(m);
    sc__layer_either(m, SC__MEM_ROUTER_F, m->rows, m->s->experts);
    router_operators(m);
    wide_gradients(m);
    if (!m->backward)
        latent(m, true);
    copies(m, SC__MEM_PERMUTE_F);
    if (m->backward) {
        latent(m, true);
        gate(m);
    }
}

static void unroute(struct sc__layer_maker *m) {
    m->part = SC__PART_UNROUTE;
    if (m->backward)
        latent(m, false);
    copies(m, SC__MEM_UNPERMUTE_F);
    if (!m->backward)
        latent(m, false);
}

/* What arrives is brought in the order of experts, and back behind them. It comes by source
 * rank from an all-to-all; from an exchange that sends tokens as they are (DeepEP,
 * HybridEP) it is copied as well, and summed up behind. */
static void arrange(struct sc__layer_maker *m, const struct sc__mlp *f, bool behind) {
    const struct sc__layer_shape *s = m->s;
    uint64_t rows = f->rows * f->experts;
    enum sc__memory_op copies = behind ? SC__MEM_UNPERMUTE_F : SC__MEM_PERMUTE_F;
    if (s->titan_routes) {
        sc__layer_titan_arrange(m, f, behind);
        return;
    }
    if (s->sorted_on_arrival) {
        sc__layer_either(m, copies, rows, routed_width(s));
        return;
    }
    if (f->experts > 1 && (s->ep > 1 || s->expert_tp > 1)) /* none is copied twice */
        sc__layer_memory(m, SC__MEM_PERMUTE_F, rows, routed_width(s));
    /* narrow products want rows by the dozen: each expert's are copied to where there is
     * room between them, and back (Transformer Engine's Fp8Padding) */
    if (s->looped && (s->gemm == SC__FP8 || s->gemm == SC__FP4))
        sc__layer_memory(m, SC__MEM_PERMUTE_F, rows, routed_width(s));
}

/* What an element costs in operators of PyTorch, forward and backward: bytes of copies,
 * casts and sums, cycles of an SM in operators on parts of rows or with a broadcast
 * operand. Measured on an H200 (docs/model/experts.md). */
struct operators {
    double bytes[2];
    double cycles[2];
};

/* Biases of the second product are weighted by probabilities in fp32, added expert by
 * expert, joined and cast. */
static const struct operators second_bias = {{14, 21}, {1.90, 2.41}};
/* Those of the first: added and joined; backward summed and joined. Transformer Engine has
 * them in its products. */
static const struct operators first_bias = {{3.8, 6.7}, {0.614, 0}};
/* Megatron clamps both halves before its fused activation, and joins them. */
static const struct operators clamps = {{8, 10.7}, {1.36, 3.15}};

static void add_operators(struct sc__layer_maker *m,
                          const char *name,
                          const struct operators *o,
                          double elements) {
    int i = m->backward;
    sc__layer_push(m,
                   sc__strided(m->kernel_model,
                               name,
                               o->bytes[i] * elements,
                               o->cycles[i] * elements));
}

static void expert_biases(struct sc__layer_maker *m, const struct sc__mlp *f) {
    double rows = (double)(f->rows * f->experts);
    double halves = m->s->gated ? 2 : 1;
    if (m->s->by_modules) {
        sc__layer_route_biases(m, f);
        return;
    }
    m->part = SC__PART_MLP_OUT;
    add_operators(m, "expert_bias", &second_bias, rows * (double)f->hidden);
    m->part = SC__PART_MLP_IN;
    if (m->s->in_products)
        return;
    if (m->s->clamped_apart)
        add_operators(m, "clamp", &clamps, rows * (double)f->ffn);
    else
        add_operators(m, "expert_bias", &first_bias, halves * rows * (double)f->ffn);
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
    m->part = m->backward ? SC__PART_MLP_OUT : SC__PART_MLP_IN;
    arrange(m, &f, m->backward);
    if (!m->backward)
        sc__layer_mlp(m, &f);
    if (s->expert_bias)
        expert_biases(m, &f);
    if (m->backward)
        sc__layer_mlp(m, &f);
    arrange(m, &f, !m->backward);
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
