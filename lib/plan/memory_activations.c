/* memory_activations: what a layer keeps for backward, operator by operator.
 *
 * With Megatron's operators a GPT layer comes out as Korthikanti et al. 2022
 * (arXiv 2205.05198) count it:
 *
 *     layer, tp t, no sequence parallel   s·b·h·(10 + 24/t + 5·a·s/(h·t))
 *     with sequence parallel              s·b·h·(34 + 5·a·s/h)/t
 *     selective, or flash attention       without 5·a·s/h
 *     full recompute                      2·s·b·h
 *
 * Plain PyTorch keeps the output of every elementwise operator its backward
 * needs; the modules of transformers normalise in fp32 and keep that as well.
 * A linear layer keeps its input for its weight gradient only: one that is
 * frozen keeps nothing. */
#include "plan/memory.h"

#include <math.h>

/* One micro-batch of one rank. */
struct kept_sizes {
    double tokens;
    double tp;
    double sp;       /* what sequence parallelism divides by */
    double width;    /* bytes of an activation */
    double residual; /* bytes of an element of the residual stream */
    double cast;     /* bytes of a linear layer's kept input */
    double hidden;
};

static struct kept_sizes kept_sizes(const struct sc__model *m, const struct sc__plan *p) {
    struct kept_sizes s = {.tokens = sc__plan_tokens(p),
                           .tp = p->mesh.tp,
                           .sp = p->sequence_parallel ? p->mesh.tp : 1,
                           .width = sc__plan_width(p),
                           .hidden = m->hidden};
    s.residual = p->amp ? 4 : s.width;
    s.cast = p->gemm == SC__FP8 ? 1 : p->gemm == SC__FP4 ? 0.5625 : s.width;
    return s;
}

static bool recomputes(const struct sc__plan *p, unsigned modules) {
    return p->recompute == SC__RECOMPUTE_SELECTIVE && p->recompute_modules & modules;
}

static bool keeps_scores(const struct sc__plan *p) {
    return p->attention == SC__ATTENTION_UNFUSED && !recomputes(p, SC__MODULE_CORE);
}

/* A window that is a mask: what is added to the scores, of a sequence for all heads, and
 * keys and values for every head, which attention takes where it takes a mask. */
static double masked_window_keeps(const struct sc__model *m,
                                  const struct sc__plan *p,
                                  const struct sc__attention_heads *x,
                                  const struct kept_sizes *s) {
    double kv = fmax(x->kv_heads, s->tp);
    double copies = (m->heads - kv) * ((double)x->qk_dim + x->v_dim) / s->tp;
    return s->width * (s->tokens * p->seq + s->tokens * copies);
}

/* Bytes that are kept of a score: softmax and what dropout made of it and its mask; in
 * transformers the softmax in fp32 and what it was narrowed to. */
static double score_bytes(const struct sc__plan *p) {
    switch (p->scores) {
    case SC__SCORES_FUSED:
    case SC__SCORES_PLAIN:
        return 5;
    case SC__SCORES_SINKS:
        return 2;
    case SC__SCORES_MATH:
        return 4;
    default:
        return 6;
    }
}

/* Whether each adapter makes an input of its own: beside packed weights autocast finds
 * nothing to cast. */
static bool copies_inputs(const struct sc__plan *p) {
    return p->dropout || (p->lora_fp32 && !(p->lora_autocast && p->qlora));
}

/* Bytes a token of a linear layer's input that is `width` wide and made for it
 * (nothing else keeps it). targets: its adapters, whose inputs stay where the layer
 * itself is frozen; an fp32 adapter has a copy of its own (under autocast the narrowed
 * one), and so has one with dropout, beside the mask. */
static double
linear_input(const struct sc__plan *p, double width, double bytes, unsigned targets) {
    unsigned adapted = p->lora_targets & targets;
    unsigned copies = 0;
    if (!p->lora)
        return width * bytes;
    for (unsigned bit = 1; bit <= targets; bit <<= 1)
        copies += adapted & bit ? 1 : 0;
    double own = p->lora_fp32 && !p->lora_autocast ? 4 : bytes;
    if (p->dropout)
        return copies * width * (own + 1);
    if (copies_inputs(p))
        return copies * width * own;
    return copies ? width * own : 0;
}

/* RMS norms of transformers keep an fp32 copy of their input, and the normalised values
 * where their weights are trained: narrowed first, or in fp32 (Gemma, OLMo 2). */
static double modules_norm_keeps(const struct sc__model *m,
                                 const struct sc__plan *p,
                                 const struct kept_sizes *s) {
    double scaled = m->wide_norms ? 4 : s->width;
    return 4 + (p->lora ? 0 : scaled);
}

static double norm_keeps(const struct sc__model *m,
                         const struct sc__plan *p,
                         const struct kept_sizes *s) {
    bool modules = sc__is_by_modules_alone(p) && m->norm == SC__RMSNORM;
    return modules ? modules_norm_keeps(m, p, s) : s->residual;
}

/* Behind attention or feed-forward. */
static double post_norm_keeps(const struct sc__model *m,
                              const struct sc__plan *p,
                              const struct kept_sizes *s) {
    return m->post_norms ? s->hidden / s->sp * norm_keeps(m, p, s) : 0;
}

/* A norm behind attention or an activation, of rows this wide: its input, which attention
 * keeps anyway, or what transformers' modules keep of it. */
static double sub_norm_keeps(const struct sc__model *m,
                             const struct sc__plan *p,
                             const struct kept_sizes *s,
                             double width,
                             bool input_is_kept) {
    if (!m->sub_norms)
        return 0;
    if (sc__is_by_modules_alone(p) && m->norm == SC__RMSNORM)
        return width * modules_norm_keeps(m, p, s);
    return input_is_kept ? 0 : width * s->width;
}

static double
norm_output(const struct kept_sizes *s, const struct sc__plan *p, unsigned targets) {
    return linear_input(p, s->hidden, s->cast, targets) / s->sp;
}

/* The norm of values has no weights; its input may be that of the keys' norm. */
static double values_norm_keeps(const struct sc__plan *p,
                                const struct sc__attention_heads *x,
                                const struct kept_sizes *s,
                                double kv_heads) {
    double values = kv_heads * x->v_dim / s->tp;
    if (p->fusion == SC__FUSION_HF)
        return 4 * values;
    return x->kv_projections == 1 ? 0 : s->width * values;
}

/* Queries, keys and values of all heads, and what was made on the way to them. */
static double queries_and_keys(const struct sc__model *m,
                               const struct sc__plan *p,
                               const struct sc__attention_heads *x,
                               struct kept_sizes *s) {
    double t = s->tp;
    double kv = fmax(x->kv_heads, t);
    double qk = (m->heads + kv) * x->qk_dim;
    if (m->kv_lora) {
        double up = m->heads * (2.0 * x->qk_dim + x->v_dim);
        double ranks = 2.0 * (m->q_lora + m->kv_lora) + m->rope_dim;
        /* the indexer's queries and key, and four bytes for each key that is picked */
        if (m->index_heads)
            up += (double)m->index_heads * m->index_dim +
                  (m->index_dim + 4 / s->width * fmin(m->window, p->seq)) * t;
        return s->width * ((recomputes(p, SC__MODULE_LATENT) ? 0 : up / t) + ranks / s->sp);
    }
    double sum = s->width * (qk + kv * x->v_dim) / t;
    bool modules = p->fusion == SC__FUSION_HF;
    if (m->qk_norm)
        sum += qk / t * (modules && !p->liger ? modules_norm_keeps(m, p, s) : s->width);
    if (modules && m->packed_qkv && !m->no_rotary && !m->positions)
        sum += s->width * qk / t; /* before they were turned: values lie behind them */
    if (m->v_norm)
        sum += values_norm_keeps(p, x, s, kv);
    return sum;
}

static double
attention_keeps(const struct sc__model *m, const struct sc__plan *p, uint32_t layer) {
    struct kept_sizes s = kept_sizes(m, p);
    struct sc__attention_heads x = sc__model_attention_heads(m, layer);
    unsigned values = x.kv_projections == 1 ? 0 : SC__LORA_V;
    double out = (double)m->heads * x.v_dim / s.tp;
    double sum = s.hidden / s.sp * norm_keeps(m, p, &s);
    if (!sc__plan_repeats_norm(p, m, false, false))
        sum += norm_output(&s, p, SC__LORA_Q | SC__LORA_K | values);
    sum += queries_and_keys(m, p, &x, &s);
    sum += s.width * out * (m->attention_gate ? 3 : 1); /* the gate, and what it gated */
    sum += sub_norm_keeps(m, p, &s, out, true);
    if (p->attention != SC__ATTENTION_UNFUSED)
        sum += 4.0 * m->heads / s.tp; /* the logarithm of its sums, in fp32 */
    if (s.cast != s.width || m->sub_norms)
        sum += s.cast * out; /* as the output's linear layer keeps it */
    if (copies_inputs(p) && p->lora_targets & SC__LORA_OUT)
        sum += linear_input(p, out, s.width, SC__LORA_OUT);
    if (sc__plan_drops_hidden(p))
        sum += s.hidden / s.sp;
    sum += post_norm_keeps(m, p, &s);
    sum *= s.tokens;
    if (p->masked_windows && sc__model_windowed(m, layer, p->seq))
        sum += masked_window_keeps(m, p, &x, &s);
    if (keeps_scores(p))
        sum += score_bytes(p) * m->heads / s.tp * p->micro_batch * p->seq * (double)p->seq /
               p->mesh.cp;
    return sum;
}

/* A scan: the norm's input and output, the projection before it, its output before and
 * after gate and norm; the kernels of Mamba-2 compute the rest again. Those of the delta
 * net keep what the convolution made, and a row of a chunk for each head. */
static double
scan_keeps(const struct sc__model *m, const struct sc__plan *p, enum sc__mixer mixer) {
    struct kept_sizes s = kept_sizes(m, p);
    double width = sc__model_scan_width(m);
    double inner = sc__model_scan_input(m, mixer) + 2 * width;
    if (mixer == SC__MIXER_DELTA)
        inner += sc__model_conv_width(m) + (double)m->scan_chunk * m->scan_heads;
    double sum = s.hidden / s.sp * norm_keeps(m, p, &s);
    sum += linear_input(p, s.hidden, s.cast, SC__LORA_SCAN_IN) / s.sp;
    if (copies_inputs(p) && p->lora_targets & SC__LORA_SCAN_OUT)
        sum += linear_input(p, width, s.width, SC__LORA_SCAN_OUT) / s.tp;
    return s.tokens * (sum + s.width * inner / s.tp);
}

static double
mixer_keeps(const struct sc__model *m, const struct sc__plan *p, uint32_t layer) {
    enum sc__mixer mixer = sc__model_mixer(m, layer);
    if (mixer == SC__MIXER_NONE)
        return 0;
    return mixer == SC__MIXER_ATTENTION ? attention_keeps(m, p, layer)
                                        : scan_keeps(m, p, mixer);
}

/* Bytes a token between the two linear layers of a feed-forward. */
static double between_linears(const struct sc__model *m,
                              const struct sc__plan *p,
                              const struct kept_sizes *s,
                              double ffn,
                              bool activation_again) {
    double e = s->width;
    bool apart = sc__fusion_eager(p->fusion);
    double in = m->gated ? 2 * e : m->relu && !activation_again ? 0 : e;
    double out = linear_input(p, 1, s->cast, SC__LORA_DOWN);
    if (apart && m->gated && !p->liger)
        in += e; /* the activation, before it is multiplied */
    if (p->fusion == SC__FUSION_HF && m->new_gelu)
        in += 3 * e; /* x/2, the tanh, and one more than that */
    if (p->fusion == SC__FUSION_HF && m->learned_activation)
        in += 3 * e + 1; /* p x, expm1, that less x, and which are above 0 (xIELU) */
    return ffn * (in + (activation_again ? 0 : out));
}

static double dense_keeps(const struct sc__model *m, const struct sc__plan *p) {
    struct kept_sizes s = kept_sizes(m, p);
    if (recomputes(p, SC__MODULE_MLP))
        return 0;
    double ffn = m->ffn / s.tp;
    return s.tokens *
           (between_linears(m, p, &s, ffn, recomputes(p, SC__MODULE_ACTIVATION)) +
            sub_norm_keeps(m, p, &s, ffn, false));
}

/* Widths of what a mixer's first linear layer makes and of what its last one takes. */
static double mixer_input(const struct sc__model *m, uint32_t layer) {
    enum sc__mixer mixer = sc__model_mixer(m, layer);
    if (mixer == SC__MIXER_MAMBA || mixer == SC__MIXER_DELTA)
        return sc__model_scan_input(m, mixer);
    struct sc__attention_heads x = sc__model_attention_heads(m, layer);
    double heads =
        (m->attention_gate ? 2.0 : 1.0) * m->heads + (double)x.kv_projections * x.kv_heads;
    return mixer == SC__MIXER_NONE ? 0 : heads * x.qk_dim;
}

static double mixer_output(const struct sc__model *m, uint32_t layer) {
    enum sc__mixer mixer = sc__model_mixer(m, layer);
    if (mixer == SC__MIXER_MAMBA || mixer == SC__MIXER_DELTA)
        return sc__model_scan_width(m);
    return (double)m->heads * sc__model_attention_heads(m, layer).v_dim;
}

static double routed_tokens(const struct sc__model *m, const struct sc__plan *p) {
    return sc__plan_tokens(p) / p->mesh.tp * m->topk * p->imbalance;
}

/* Width of what a routed token brings to the first product of its expert and to the
 * gradient of the second one: ranks that share an expert gather each other's tokens and
 * have a part of the weights each (dispatch_postprocess of Megatron's token_dispatcher.py).
 */
static double gathered_width(const struct sc__model *m, const struct sc__plan *p) {
    return (double)sc__model_routed_width(m) * p->mesh.etp;
}

/* Bytes of an element of the experts' outputs that stay for the gradient of their weights:
 * TorchTitan's MoE weights them as an fp32 copy, which scatter_add need not keep. */
static double outputs_keep(const struct sc__plan *p, const struct kept_sizes *s) {
    if (p->software_constants.titan_routes > 0 && !p->dedup)
        return sc__dtype_bytes(SC__FP32);
    if (!sc__fusion_eager(p->fusion))
        return 0;
    return sc__routes_by_modules(p) ? s->width : 2 * s->width;
}

/* Permuted tokens and what the experts keep. Megatron (since Core 0.12) multiplies the
 * weights of the router's choice into the activation; in PyTorch they meet the experts'
 * outputs, which stay for them, and index_add keeps the product as well, which
 * transformers 5 does without. It has gates in fp32, of tokens that are cast for them, and
 * gates with clamps that keep three tensors more (GPT-OSS). Shared experts are
 * a feed-forward as any other, whose activation Megatron's moe_act leaves alone
 * (shared_experts.py, mlp.py of its Core). */
static double experts_keep(const struct sc__model *m, const struct sc__plan *p) {
    struct kept_sizes s = kept_sizes(m, p);
    if (recomputes(p, SC__MODULE_MOE))
        return 0;
    bool again = recomputes(p, SC__MODULE_EXPERT_ACTIVATION);
    double routed = routed_tokens(m, p);
    bool modules = sc__routes_by_modules(p);
    double input = linear_input(p, 1, s.cast, SC__LORA_GATE | SC__LORA_UP);
    double sum = routed * input * gathered_width(m, p);
    sum += routed * outputs_keep(p, &s) * sc__model_routed_width(m);
    sum += routed * between_linears(m, p, &s, m->expert_ffn, again);
    sum += 8 * s.tokens / s.sp * m->experts; /* the router's scores in fp32, and softmax */
    if (modules && m->wide_router)
        sum += sc__dtype_bytes(SC__FP32) * s.tokens / s.sp * m->hidden;
    if (modules && m->expert_bias)
        sum += 3 * routed * s.width * m->expert_ffn;
    if (!recomputes(p, SC__MODULE_SHARED))
        sum += s.tokens * between_linears(m,
                                          p,
                                          &s,
                                          m->shared_ffn / s.tp,
                                          recomputes(p, SC__MODULE_ACTIVATION));
    return sum;
}

/* Behind the dense part and behind the experts; the modules of transformers keep the
 * residual stream once more for the norm before the experts and for the router's. */
static double branch_norms_keep(const struct sc__model *m,
                                const struct sc__plan *p,
                                const struct kept_sizes *s) {
    double norms = p->fusion == SC__FUSION_HF ? 4 : 2;
    return norms * s->hidden / s->sp * norm_keeps(m, p, s);
}

static double
feed_forward_keeps(const struct sc__model *m, const struct sc__plan *p, uint32_t layer) {
    struct kept_sizes s = kept_sizes(m, p);
    if (!sc__model_has_feed_forward(m, layer))
        return 0;
    double sum = s.hidden / s.sp * norm_keeps(m, p, &s);
    bool moe = sc__model_has_experts(m, layer);
    if (!sc__plan_repeats_norm(p, m, true, moe))
        sum += norm_output(&s, p, SC__LORA_GATE | SC__LORA_UP);
    if (sc__plan_drops_hidden(p))
        sum += s.hidden / s.sp;
    sum += post_norm_keeps(m, p, &s);
    if (moe && m->branch_norms)
        sum += branch_norms_keep(m, p, &s);
    return s.tokens * sum + (moe ? experts_keep(m, p) : dense_keeps(m, p));
}

static double
whole_layer(const struct sc__model *m, const struct sc__plan *p, uint32_t layer) {
    return mixer_keeps(m, p, layer) + feed_forward_keeps(m, p, layer);
}

/* The outputs of attention and of those linear layers that are not run again: of q,
 * k, v, out, gate, up, down the first, third, fifth and seventh; of packed ones q, k, v
 * together and gate, up together. */
static double
kept_by_operator(const struct sc__model *m, const struct sc__plan *p, uint32_t layer) {
    struct kept_sizes s = kept_sizes(m, p);
    bool packed = p->fusion == SC__FUSION_EAGER;
    struct sc__attention_heads x = sc__model_attention_heads(m, layer);
    double d = x.qk_dim;
    double q = m->heads * d;
    double kv = x.kv_heads * d;
    double ffn = sc__model_has_experts(m, layer)
                     ? (double)m->topk * p->imbalance * m->expert_ffn + m->shared_ffn
                     : m->ffn;
    /* without a projection of values: the first, third and fifth of q, k, out, gate, up */
    bool three = x.kv_projections == 2;
    double linears = packed ? q + x.kv_projections * kv + (m->gated ? 2 : 1) * ffn
                            : q + (three ? kv : 0) + ffn + s.hidden;
    double attention = m->heads * x.v_dim * s.width + 4.0 * m->heads;
    return s.tokens *
           (s.residual * s.hidden / s.sp + s.width * linears / s.tp + attention / s.tp);
}

double
sc__layer_activations(const struct sc__model *m, const struct sc__plan *p, uint32_t layer) {
    struct kept_sizes s = kept_sizes(m, p);
    if (p->recompute == SC__RECOMPUTE_FULL)
        return s.tokens * s.residual * s.hidden / s.sp;
    if (p->recompute == SC__RECOMPUTE_OPS && !m->pattern)
        return kept_by_operator(m, p, layer);
    return whole_layer(m, p, layer);
}

/* Keys and values of the whole sequence, where context parallelism gathers them. */
static double
gathered_keys(const struct sc__model *m, const struct sc__plan *p, uint32_t layer) {
    struct sc__attention_heads heads = sc__model_attention_heads(m, layer);
    bool gathers = p->mesh.cp > 1 && p->cp_kind == SC__CP_GATHER &&
                   sc__model_mixer(m, layer) == SC__MIXER_ATTENTION;
    return gathers ? sc__plan_kv_bytes(p, m, &heads) : 0;
}

/* Behind the feed-forward: the gradient of its output, and between its linear
 * layers those of the parts that are multiplied; of a layer without one, the gradient of
 * what its mixer was given. */
static double
passing_gradients(const struct sc__model *m, const struct sc__plan *p, uint32_t layer) {
    struct kept_sizes s = kept_sizes(m, p);
    double wide = m->gated ? 2 : 1;
    double out = s.tokens * s.residual * s.hidden / s.sp;
    if (!sc__model_has_feed_forward(m, layer))
        return out + s.tokens * s.width * mixer_input(m, layer) / s.tp;
    if (!sc__model_has_experts(m, layer))
        return out + s.tokens * s.width * wide * m->ffn / s.tp;
    return out +
           routed_tokens(m, p) * s.width * (gathered_width(m, p) + wide * m->expert_ffn);
}

double
sc__layer_workspace(const struct sc__model *m, const struct sc__plan *p, uint32_t layer) {
    return fmax(passing_gradients(m, p, layer), gathered_keys(m, p, layer));
}

/* The inputs of its GEMMs and the gradients of their outputs, 32·s·b·h bytes in a GPT
 * layer (Qi et al.). */
double
sc__layer_fragment(const struct sc__model *m, const struct sc__plan *p, uint32_t layer) {
    double n = sc__plan_tokens(p);
    double t = p->mesh.tp;
    double e = sc__plan_width(p);
    double h = m->hidden / (p->sequence_parallel ? t : 1);
    double g = m->gated ? 3 : 2;
    double sum = 0;
    if (sc__model_mixer(m, layer) != SC__MIXER_NONE)
        sum = n * e * (2 * h + (mixer_input(m, layer) + mixer_output(m, layer)) / t);
    if (!sc__model_has_feed_forward(m, layer))
        return sum;
    if (!sc__model_has_experts(m, layer))
        return sum + n * e * (2 * h + g * m->ffn / t);
    return sum + n * e * (2 * h + g * m->shared_ffn / t) +
           routed_tokens(m, p) * e * (2 * gathered_width(m, p) + g * m->expert_ffn);
}

double sc__plan_kept(const struct sc__model *m, const struct sc__plan *p) {
    double kept = 0;
    double whole = 0;
    for (uint32_t i = 0; i < m->layers; i++) {
        kept += sc__layer_fragment(m, p, i);
        whole += sc__layer_activations(m, p, i);
    }
    return whole > 0 ? kept / whole : 1;
}
