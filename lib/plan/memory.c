/* memory: what one GPU holds. Weights, gradients and Adam's state by the
 * 18-bytes-a-parameter rule and its shardings; activations by the counts of
 * Korthikanti et al. 2022 (arXiv 2205.05198), for every operator that keeps
 * something for backward:
 *
 *     layer, tp t, no sequence parallel   s·b·h·(10 + 24/t + 5·a·s/(h·t))
 *     with sequence parallel              s·b·h·(34 + 5·a·s/h)/t
 *     selective, or flash attention       without 5·a·s/h
 *     full recompute                      2·s·b·h
 *
 * written so that GQA, gated feed-forwards and experts fit in. */
#include "lower/model.h"

static bool keeps_scores(const struct sc__plan *p) {
    bool core =
        p->recompute == SC__RECOMPUTE_SELECTIVE && p->recompute_modules & SC__MODULE_CORE;
    return p->fusion == SC__FUSION_2021 && !core;
}

/* Attention: input of qkv, q, k, v, the core's output, and unless recomputed
 * the softmax, its dropout mask and its output. */
static double attention_activations(const struct sc__model *m, const struct sc__plan *p) {
    double n = sc__plan_tokens(p);
    double t = p->mesh.tp;
    double e = sc__plan_width(p);
    double h = m->hidden;
    double sp = p->sequence_parallel ? t : 1;
    double qkv = ((double)m->heads + 2.0 * m->kv_heads) * sc__model_qk_dim(m);
    double out = (double)m->heads * sc__model_v_dim(m);
    if (m->kv_lora)
        qkv = m->heads * (2.0 * sc__model_qk_dim(m) + sc__model_v_dim(m)) +
              (m->q_lora + m->kv_lora) * t;
    double sum = n * (e * h / sp + e * (qkv + out) / t + (p->dropout ? h / sp : 0));
    if (keeps_scores(p))
        sum += 5.0 * m->heads / t * p->micro_batch * p->seq * (double)p->seq / p->mesh.cp;
    return sum;
}

static double mlp_activations(const struct sc__model *m,
                              const struct sc__plan *p,
                              double tokens,
                              double ffn,
                              double t) {
    double e = sc__plan_width(p);
    double g = m->gated ? 3 : 2;
    return tokens * e * g * ffn / t;
}

double
sc__layer_activations(const struct sc__model *m, const struct sc__plan *p, uint32_t layer) {
    double n = sc__plan_tokens(p);
    double t = p->mesh.tp;
    double e = sc__plan_width(p);
    double h = m->hidden;
    double sp = p->sequence_parallel ? t : 1;
    if (p->recompute == SC__RECOMPUTE_FULL)
        return n * e * h / (p->sequence_parallel ? t : 1);
    double norms = 2 * n * e * h / sp;
    double drop = p->dropout ? n * h / sp : 0;
    double sum = norms + attention_activations(m, p) + drop;
    bool moe = sc__model_has_experts(m, layer),
         selective = p->recompute == SC__RECOMPUTE_SELECTIVE;
    unsigned dropped = moe ? SC__MODULE_EXPERT_ACTIVATION | SC__MODULE_MOE
                           : SC__MODULE_ACTIVATION | SC__MODULE_MLP;
    double keep =
        selective && p->recompute_modules & dropped ? (m->gated ? 2.0 / 3 : 0.5) : 1;
    if (moe) {
        double routed = n / (p->mesh.tp > 1 ? t : 1) * m->topk * p->imbalance;
        sum += n * e * h / sp + routed * e * h * 2;
        sum +=
            keep * mlp_activations(m, p, routed * p->mesh.etp, m->expert_ffn, p->mesh.etp);
        sum += keep * mlp_activations(m, p, n, m->shared_ffn, t);
    } else
        sum += n * e * h / sp + keep * mlp_activations(m, p, n, m->ffn, t);
    if (p->recompute == SC__RECOMPUTE_OPS)
        sum *= 0.55;
    return sum;
}

/* What the weight gradients of a layer need, held from input to weight
 * gradient where a schedule splits them: the inputs of its GEMMs and the
 * gradients of their outputs, 32·s·b·h bytes in a GPT layer (Qi et al.). */
static double
layer_fragment(const struct sc__model *m, const struct sc__plan *p, uint32_t layer) {
    double n = sc__plan_tokens(p);
    double t = p->mesh.tp;
    double e = sc__plan_width(p);
    double h = m->hidden / (p->sequence_parallel ? t : 1);
    double g = m->gated ? 3 : 2;
    double qkv = ((double)m->heads + 2.0 * m->kv_heads) * sc__model_qk_dim(m);
    double out = (double)m->heads * sc__model_v_dim(m);
    double sum = n * e * (2 * h + (qkv + out) / t);
    if (!sc__model_has_experts(m, layer))
        return sum + n * e * (2 * h + g * m->ffn / t);
    double routed = n / t * m->topk * p->imbalance;
    return sum + n * e * (2 * h + g * m->shared_ffn / t) +
           routed * e * (2.0 * m->hidden + g * m->expert_ffn);
}

double sc__plan_kept(const struct sc__model *m, const struct sc__plan *p) {
    double kept = 0;
    double whole = 0;
    for (uint32_t i = 0; i < m->layers; i++) {
        kept += layer_fragment(m, p, i);
        whole += sc__layer_activations(m, p, i);
    }
    return whole > 0 ? kept / whole : 1;
}

/* Micro-batches whose activations a stage holds at once. ZB-2p and ZB-V find
 * their order within this limit, and what waits for its weight gradients
 * counts against it. */
static double in_flight(const struct sc__plan *p, uint32_t stage) {
    double pp = p->mesh.pp;
    double m = p->micro_batches;
    double most = pp - stage;
    if (p->schedule == SC__SCHEDULE_GPIPE)
        return m;
    if (p->vpp > 1)
        most = (2 * (pp - stage - 1) + (p->vpp - 1) * pp + 1) / p->vpp;
    if (p->schedule == SC__SCHEDULE_ZB2P)
        most = 2 * pp;
    if (p->schedule == SC__SCHEDULE_ZBV)
        most = pp;
    return most < m ? most : m;
}

/* Of one micro-batch, in all layers of a stage. */
struct kept {
    /* for all of backward; from input to weight gradient */
    double activations;
    double fragment;
    double whole;    /* of one layer that is computed again */
    uint32_t layers; /* counted so far */
};

/* Layers that are recomputed keep their input, and while one is, all it has;
 * of a block, only the first of a stage are. */
static void add_layer(const struct sc__model *m,
                      const struct sc__plan *p,
                      uint32_t layer,
                      struct kept *k) {
    struct sc__plan once = *p;
    once.recompute = SC__RECOMPUTE_NONE;
    double whole = sc__layer_activations(m, &once, layer);
    bool repeated = !p->recompute_block || k->layers++ < p->recompute_layers;
    k->activations += repeated ? sc__layer_activations(m, p, layer) : whole;
    k->fragment += layer_fragment(m, p, layer);
    if (p->recompute == SC__RECOMPUTE_FULL && whole > k->whole)
        k->whole = whole;
}

/* ZB-V limits the number of chunks: all may be of the larger kind. */
static struct kept
stage_keeps(const struct sc__model *m, const struct sc__plan *p, uint32_t stage) {
    struct kept k = {0};
    bool v = p->schedule == SC__SCHEDULE_ZBV;
    double larger = 0;
    for (uint32_t c = 0; c < p->vpp; c++) {
        uint32_t first;
        uint32_t n = sc__plan_layers(p, m, stage, c, &first);
        double before = k.activations;
        for (uint32_t i = first; i < first + n; i++)
            add_layer(m, p, i, &k);
        if (k.activations - before > larger)
            larger = k.activations - before;
    }
    if (v)
        k.activations = 2 * larger;
    if (stage == 0 && p->dropout)
        k.activations += sc__plan_tokens_sp(p) * m->hidden;
    return k;
}

static double
stage_activations(const struct sc__model *m, const struct sc__plan *p, uint32_t stage) {
    struct kept k = stage_keeps(m, p, stage);
    double n = in_flight(p, stage);
    double sum = k.activations * n + k.whole;
    if (!sc__schedule_splits(p->schedule))
        return sum;
    /* recomputation keeps less than the weight gradients need */
    if (k.fragment > k.activations)
        sum += k.fragment - k.activations;
    if (p->schedule != SC__SCHEDULE_ZBH1)
        return sum;
    double waiting = p->micro_batches - n < stage ? p->micro_batches - n : stage;
    return sum + waiting * k.fragment;
}

/* The logits, in type and in fp32 with their gradient. */
static double logits(const struct sc__plan *p, uint32_t stage) {
    if (stage != sc__plan_last_stage(p))
        return 0;
    double n = sc__plan_tokens(p) * p->vocab / p->mesh.tp;
    return sc__fusion_eager(p->fusion) ? n * 10 : n * (sc__plan_width(p) + 4);
}

struct sc__stage_memory
sc__plan_memory(const struct sc__model *m, const struct sc__plan *p, uint32_t stage) {
    struct sc__shard s = sc__plan_stage_shard(p, m, stage);
    double dp = (double)p->mesh.dp * p->mesh.cp;
    double edp = sc__mesh_group_size(&p->mesh, SC__GROUP_DP_EP);
    double n = s.dense + s.experts;
    double sharded = s.dense / dp + s.experts / (edp > 0 ? edp : 1);
    double w = sc__plan_width(p);
    double main = w > 2 ? 0 : 4;
    double layers = 0;
    struct sc__stage_memory out = {0};
    for (uint32_t c = 0; c < p->vpp; c++) {
        uint32_t first;
        layers += sc__plan_layers(p, m, stage, c, &first);
    }
    out.weights = sc__plan_weight_width(p) *
                  (p->zero >= 3 ? sharded + 2 * n / (layers > 0 ? layers : 1) : n);
    out.gradients = (p->zero >= 3 || p->plain_update ? w : p->kept_grad_bytes) *
                    (p->zero >= 2 ? sharded : n);
    if (p->optimizer)
        out.optimizer = (p->plain_update ? 2 * w : main + 8) * (p->zero >= 1 ? sharded : n);
    out.activations = stage_activations(m, p, stage);
    out.logits = logits(p, stage);
    out.buffers = 1.5e9; /* CUDA context, NCCL channels, workspace of cuBLAS */
    return out;
}

double sc__memory_sum(const struct sc__stage_memory *m) {
    return m->weights + m->gradients + m->optimizer + m->activations + m->logits +
           m->buffers;
}

static void put_item(struct sc__buffer *b, const char *name, double bytes) {
    if (bytes < 1e8)
        return;
    sc__printf(b, "%s%s ", b->size ? ", " : "", name);
    sc__put_bytes(b, (uint64_t)bytes);
}

sc_status sc__memory_check(struct sc_context *ctx,
                           const struct sc__model *m,
                           const struct sc__plan *p,
                           double capacity) {
    uint32_t worst = 0;
    double most = 0;
    for (uint32_t s = 0; s < p->mesh.pp; s++) {
        struct sc__stage_memory x = sc__plan_memory(m, p, s);
        if (sc__memory_sum(&x) > most)
            most = sc__memory_sum(&x), worst = s;
    }
    if (capacity <= 0 || most <= capacity)
        return SC_OK;
    struct sc__stage_memory x = sc__plan_memory(m, p, worst);
    struct sc__buffer items;
    struct sc__buffer sizes;
    sc__buffer_init(&items, &ctx->arena);
    sc__buffer_init(&sizes, &ctx->arena);
    put_item(&items, "weights", x.weights);
    put_item(&items, "gradients", x.gradients);
    put_item(&items, "optimizer", x.optimizer);
    put_item(&items, "activations", x.activations);
    put_item(&items, "logits", x.logits);
    put_item(&items, "buffers", x.buffers);
    sc__put_bytes(&sizes, (uint64_t)most);
    sc__puts(&sizes, " on a GPU of ");
    sc__put_bytes(&sizes, (uint64_t)capacity);
    if (p->ignore_memory) {
        sc__note(ctx,
                 "memory-exceeded",
                 "stage %u needs %s (%s)",
                 worst,
                 sizes.text,
                 items.text);
        return SC_OK;
    }
    const char *hint =
        x.activations > x.optimizer + x.weights
            ? "more recompute, or a smaller micro-batch; --ignore-memory goes on"
        : p->zero ? "more tp or pp; --ignore-memory goes on"
                  : "--zero 1, or more tp or pp; --ignore-memory goes on";
    return sc__fail(ctx,
                    SC_NO_FIT,
                    NULL,
                    hint,
                    "does not fit into memory: stage %u needs %s (%s)",
                    worst,
                    sizes.text,
                    items.text);
}
