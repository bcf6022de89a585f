/* step_recompute: which kernels of a layer's forward run again before its
 * backward.
 *
 *   full       all of them, or all but the last product (early_stop)
 *   selective  the modules named, as Megatron names them, of a feed-forward all but
 *              the last product likewise
 *   ops        PyTorch's selective checkpointing by operator: the GEMMs are
 *              counted in the order q, k, v, out, gate, up, down and each second
 *              one is run again, down never (nothing needs it); attention is
 *              kept, what is cheap is run again */
#include "lower/step.h"

/* Of the GEMM that makes queries, keys and values, the keys' part: k is the
 * second of q, k, v. */
static double keys_share(const struct sc__model *m, const struct sc__attention_heads *h) {
    return m->kv_lora ? 0.5
                      : h->kv_heads / (m->heads + (double)h->kv_projections * h->kv_heads);
}

static double ops_share(const struct sc__model *m,
                        const struct sc__attention_heads *h,
                        const struct sc__layer_kernel *x) {
    if (x->kernel.kind == SC__KERNEL_MEMORY)
        return 1;
    if (x->kernel.kind == SC__KERNEL_ATTENTION)
        return 0;
    switch (x->part) {
    case SC__PART_ATTENTION_IN:
        return keys_share(m, h);
    case SC__PART_ATTENTION_OUT: /* the fourth; without values of their own the third */
        return h->kv_projections == 2;
    case SC__PART_MLP_IN:
    case SC__PART_SHARED:
        /* gate is the fifth and up the sixth (or one less each, of which one is run again
         * as well); without a gate up is the fifth */
        return m->gated ? 0.5 : 0;
    default:
        return 0;
    }
}

/* FLOPs of a GEMM per token are twice its weights: shares of weights do. */
static double
layer_gemms(const struct sc__model *m, const struct sc__attention_heads *x, double *again) {
    double d = x->qk_dim;
    double h = m->hidden;
    double routed = (double)m->topk * m->expert_ffn * sc__model_routed_width(m) / h;
    double ffn = m->experts ? routed + m->shared_ffn : m->ffn;
    double qkv = h * d * (m->heads + (double)x->kv_projections * x->kv_heads);
    double out = h * d * m->heads;
    double up = (m->gated ? 2 : 1) * h * ffn;
    *again = keys_share(m, x) * qkv + (x->kv_projections == 2 ? out : 0) +
             (m->gated ? 0.5 : 0) * up;
    return qkv + out + up + h * ffn;
}

/* The layers are counted as alike but for their heads. */
double sc__repeated_gemms(const struct sc__model *m) {
    uint32_t layers = m->full_head_dim ? m->layers : 1;
    double all = 0;
    double again = 0;
    for (uint32_t i = 0; i < layers; i++) {
        struct sc__attention_heads x = sc__model_attention_heads(m, i);
        double part;
        all += layer_gemms(m, &x, &part);
        again += part;
    }
    return again / all;
}

static bool of_feed_forward(unsigned part) {
    return part == SC__PART_MLP_IN || part == SC__PART_MLP_OUT || part == SC__PART_ROUTER ||
           part == SC__PART_UNROUTE || part == SC__PART_SHARED;
}

static bool
module_holds(const struct sc__lowering *l, const struct sc__layer_kernel *x, int kind) {
    unsigned modules = l->plan.recompute_modules;
    unsigned part = x->part;
    bool moe = sc__kind_has_experts(kind);
    if (part == SC__PART_ATTENTION_CORE) /* scans are not checkpointed */
        return modules & SC__MODULE_CORE && sc__kind_mixer(kind) == SC__MIXER_ATTENTION;
    if (part == SC__PART_ATTENTION_NORM || part == SC__PART_MLP_NORM)
        return sc__plan_repeats_norm(&l->plan, l->model, part == SC__PART_MLP_NORM, moe);
    if (x->up)
        return modules & SC__MODULE_LATENT;
    if (!of_feed_forward(part))
        return false;
    if (modules & (moe ? SC__MODULE_MOE : SC__MODULE_MLP))
        return true;
    bool shared = part == SC__PART_SHARED;
    if (shared && modules & SC__MODULE_SHARED)
        return true;
    /* What the first product made is kept, and only the activation runs again. moe_act is
     * that of the routed experts alone. */
    bool activation = (part == SC__PART_MLP_IN || shared) &&
                      x->kernel.kind == SC__KERNEL_MEMORY &&
                      x->kernel.work != SC__WORK_ROUTER;
    bool routed = moe && !shared;
    return activation &&
           modules & (routed ? SC__MODULE_EXPERT_ACTIVATION : SC__MODULE_ACTIVATION);
}

double sc__step_repeat_share(const struct sc__lowering *l,
                             const struct sc__layer_kernel *x,
                             int kind) {
    struct sc__attention_heads heads = sc__kind_heads(l, kind);
    if (l->plan.recompute == SC__RECOMPUTE_FULL)
        return 1;
    if (l->plan.recompute == SC__RECOMPUTE_OPS)
        return ops_share(l->model, &heads, x);
    if (x->part == SC__PART_MLP_OUT && sc__step_stops_early(l, kind))
        return 0;
    return module_holds(l, x, kind) ? 1 : 0;
}

/* Backward needs what the last product reads, not what it makes, unless a norm or the
 * weights of experts come behind it. */
bool sc__step_stops_early(const struct sc__lowering *l, int kind) {
    return l->constants.software.early_stop > 0 && !sc__kind_has_experts(kind) &&
           !(kind & SC__LAYER_MIXER_ONLY) && !l->model->post_norms;
}
