/* step_update: what a stage does at the end of the step: reductions that did not run
 * beside backward, the norm of the gradients, the optimizer, and the gathering of the
 * weights it made. */
#include "lower/step_blocks.h"

static void
update_compute(struct sc__step_emitter *e, struct sc__kernel k, const char *name) {
    struct sc__step_item x = {.phase = SC__UPDATE,
                              .work = SC__WORK_OPTIMIZER,
                              .us = sc__step_kernel_us(e->l, &k),
                              .name = name};
    sc__step_emit_compute(e, &x, SC__NONE);
}

static void update_collective(struct sc__step_emitter *e,
                              enum sc__coll coll,
                              enum sc__group_kind group,
                              double bytes,
                              const char *name) {
    if (bytes < 1 || sc__mesh_group_size(&e->l->plan.mesh, group) == 1)
        return;
    sc__step_block_on(e, SC__UPDATE, coll, group, bytes, name, SC__NONE);
}

double sc__step_updated(const struct sc__plan *p, const struct sc__shard *s) {
    double dp = sc__mesh_group_size(&p->mesh, SC__GROUP_SHARD);
    double edp = sc__mesh_group_size(&p->mesh, SC__GROUP_SHARD_EP);
    return p->zero ? s->dense / dp + s->experts / edp : s->dense + s->experts;
}

static struct sc__kernel norm_kernel(const struct sc__lowering *l, double params) {
    return sc__memory_op(l->kernel_model,
                         SC__MEM_SUM_SQUARES_FP32,
                         SC__FP32,
                         1024,
                         (uint64_t)(params / 1024) + 1);
}

/* PyTorch's lists of tensors (_multi_tensor_adamw): decay and the second moment's factor,
 * root, division and the addition of epsilon read and write a value each; lerp reads two
 * and writes one, addcmul and addcdiv read three and write one. Traffic counts as
 * data/operators.json has it for _foreach_ operators, 1.25 and 0.95. Measured on an H200
 * (PyTorch 2.11): docs/model/step.md. */
#define LIST_VALUES (1.25 * 5 * 2 + 0.95 * (3 + 4 + 4))

static struct sc__kernel adam_kernel(const struct sc__lowering *l, double params) {
    const struct sc__plan *p = &l->plan;
    bool wide = sc__plan_weight_bytes(p) > 2;
    bool plain = !sc__plan_mixed_update(p);
    /* beside what one kernel takes: casts of weights */
    double casts = plain ? 0 : l->constants.software.adam_bytes - (wide ? 2 : 0) - 7 * 4;
    if (p->optimizer_kind == SC__OPTIMIZER_ADAM_LISTS) {
        double value = plain && !wide ? 2 : 4;
        struct sc__kernel k =
            sc__elementwise(l->kernel_model,
                            "adamw lists",
                            params * (LIST_VALUES * value + fmax(0, casts)));
        k.phase = SC__UPDATE;
        k.work = SC__WORK_OPTIMIZER;
        return k;
    }
    double saved = sc__plan_update_saves(p);
    if (plain && saved <= 0)
        return sc__adamw(l->kernel_model, wide ? SC__FP32 : SC__BF16, params, 0);
    if (plain) /* weight read and written, gradient, two moments likewise */
        return sc__adamw(l->kernel_model,
                         SC__FP32,
                         params,
                         7 * sc__plan_weight_bytes(p) - saved);
    /* fp32 weights are their own master copy: no bf16 ones to write */
    return sc__adamw(l->kernel_model,
                     SC__FP32,
                     params,
                     l->constants.software.adam_bytes - (wide ? 2 : 0) - saved);
}

/* What Newton-Schulz takes, and what it loads the GPU with. */
struct newton_schulz {
    double us;
    struct sc__load load;
};

static void add_product(const struct sc__lowering *l,
                        struct newton_schulz *x,
                        double times,
                        const uint64_t size[3]) {
    struct sc__kernel k =
        sc__gemm(l->kernel_model, "muon", SC__BF16, size[0], size[1], size[2]);
    x->us += times * sc__step_kernel_us(l, &k);
    sc__load_add(&x->load, &k, times);
}

/* Muon makes the update of a matrix of a by b nearly orthogonal: five steps of
 * Newton-Schulz, each XXᵀ, its square and their product with X (Jordan et al. 2024,
 * kellerjordan.github.io/posts/muon), in bf16. */
static void orthogonalize(const struct sc__lowering *l,
                          struct newton_schulz *x,
                          double times,
                          double a,
                          double b) {
    uint64_t rows = (uint64_t)(a < b ? a : b);
    uint64_t cols = (uint64_t)(a < b ? b : a);
    add_product(l, x, 5 * times, (const uint64_t[]){rows, rows, cols});
    add_product(l, x, 5 * times, (const uint64_t[]){rows, rows, rows});
    add_product(l, x, 5 * times, (const uint64_t[]){rows, cols, rows});
}

/* Down to the latents and up from them (DeepSeek-V2, section 2.1). */
static void muon_latents(const struct sc__lowering *l,
                         struct newton_schulz *x,
                         double times,
                         const struct sc__attention_heads *heads) {
    const struct sc__model *m = l->model;
    double queries = (double)m->heads * heads->qk_dim;
    if (m->q_lora)
        orthogonalize(l, x, times, m->hidden, m->q_lora);
    orthogonalize(l, x, times, m->q_lora ? m->q_lora : m->hidden, queries);
    orthogonalize(l, x, times, m->hidden, m->kv_lora + m->rope_dim);
    orthogonalize(l, x, times, m->kv_lora, (double)m->heads * (m->nope_dim + heads->v_dim));
}

static void muon_mixer(const struct sc__lowering *l,
                       struct newton_schulz *x,
                       double times,
                       uint32_t layer) {
    const struct sc__model *m = l->model;
    enum sc__mixer mixer = sc__model_mixer(m, layer);
    double h = m->hidden;
    struct sc__attention_heads heads = sc__model_attention_heads(m, layer);
    if (mixer == SC__MIXER_NONE)
        return;
    if (mixer != SC__MIXER_ATTENTION) {
        orthogonalize(l, x, times, h, sc__model_scan_input(m, mixer));
        orthogonalize(l, x, times, h, sc__model_scan_width(m));
        return;
    }
    orthogonalize(l, x, times, h, (double)m->heads * heads.v_dim);
    if (m->kv_lora) {
        muon_latents(l, x, times, &heads);
        return;
    }
    double q = (m->attention_gate ? 2.0 : 1.0) * m->heads * heads.qk_dim;
    orthogonalize(l, x, times, h, q);
    orthogonalize(l,
                  x,
                  times,
                  h,
                  (double)heads.kv_projections * heads.kv_heads * heads.qk_dim);
}

static void muon_mlp(const struct sc__lowering *l,
                     struct newton_schulz *x,
                     double times,
                     double h,
                     double ffn) {
    double wide = l->model->gated ? 2 : 1;
    if (ffn <= 0)
        return;
    orthogonalize(l, x, times, h, wide * ffn);
    orthogonalize(l, x, times, h, ffn);
}

/* Of a frozen matrix of in by out the two beside it. */
static void muon_adapter(const struct sc__lowering *l,
                         struct newton_schulz *x,
                         double times,
                         double in,
                         double out) {
    if (times <= 0)
        return;
    orthogonalize(l, x, times, in, l->plan.lora);
    orthogonalize(l, x, times, out, l->plan.lora);
}

static void muon_adapters(const struct sc__lowering *l,
                          struct newton_schulz *x,
                          double own,
                          double experts,
                          uint32_t layer) {
    const struct sc__model *m = l->model;
    unsigned on = l->plan.lora_targets;
    struct sc__attention_heads heads = sc__model_attention_heads(m, layer);
    double h = m->hidden;
    double kv = (double)heads.kv_heads * heads.qk_dim;
    bool moe = sc__model_has_experts(m, layer);
    double wide = (on & SC__LORA_UP ? 1 : 0) + (on & SC__LORA_GATE && m->gated ? 1 : 0) +
                  (on & SC__LORA_DOWN ? 1 : 0);
    enum sc__mixer mixer = sc__model_mixer(m, layer);
    if (mixer == SC__MIXER_MAMBA || mixer == SC__MIXER_DELTA) {
        bool in = on & SC__LORA_SCAN_IN;
        bool out = on & SC__LORA_SCAN_OUT;
        muon_adapter(l, x, in ? own : 0, h, sc__model_scan_input(m, mixer));
        muon_adapter(l, x, out ? own : 0, sc__model_scan_width(m), h);
    }
    if (mixer == SC__MIXER_ATTENTION) {
        bool values = on & SC__LORA_V && heads.kv_projections > 1;
        muon_adapter(l, x, on & SC__LORA_Q ? own : 0, h, (double)m->heads * heads.qk_dim);
        muon_adapter(l, x, on & SC__LORA_K ? own : 0, h, kv);
        muon_adapter(l, x, values ? own : 0, h, kv);
        muon_adapter(l, x, on & SC__LORA_OUT ? own : 0, (double)m->heads * heads.v_dim, h);
    }
    if (moe)
        muon_adapter(l, x, wide * experts, sc__model_routed_width(m), m->expert_ffn);
    else if (sc__model_has_feed_forward(m, layer))
        muon_adapter(l, x, wide * own, h, m->ffn);
}

/* Ranks that share the state share the matrices; tensor parallelism has gathered them. */
static void
muon_layer(const struct sc__lowering *l, struct newton_schulz *x, uint32_t layer) {
    const struct sc__plan *p = &l->plan;
    const struct sc__model *m = l->model;
    double own = p->zero ? 1.0 / sc__mesh_group_size(&p->mesh, SC__GROUP_SHARD) : 1;
    double experts = (double)m->experts / p->mesh.ep;
    if (p->zero)
        experts /= sc__mesh_group_size(&p->mesh, SC__GROUP_SHARD_EP);
    if (p->lora) {
        muon_adapters(l, x, own, experts, layer);
        return;
    }
    muon_mixer(l, x, own, layer);
    if (sc__model_has_experts(m, layer)) {
        muon_mlp(l, x, experts, sc__model_routed_width(m), m->expert_ffn);
        muon_mlp(l, x, own, m->hidden, m->shared_ffn);
    } else if (sc__model_has_feed_forward(m, layer)) {
        muon_mlp(l, x, own, m->hidden, m->ffn);
    }
}

static struct newton_schulz newton_schulz(const struct sc__lowering *l, uint32_t stage) {
    struct newton_schulz x = {0};
    for (uint32_t c = 0; c < l->plan.vpp; c++) {
        uint32_t first;
        uint32_t n = sc__plan_layers(&l->plan, l->model, stage, c, &first);
        for (uint32_t i = first; i < first + n; i++)
            muon_layer(l, &x, i);
    }
    return x;
}

/* These products follow each other without a pause. Once they have lasted as long as the
 * power limit takes to act, the clock is theirs and no more that of the step, which
 * communication lets rest. */
static double muon_us(const struct sc__lowering *l, uint32_t stage) {
    if (l->plan.optimizer_kind != SC__OPTIMIZER_MUON)
        return 0;
    double onset = l->gpu->power.onset_us;
    struct newton_schulz at_first = newton_schulz(l, stage);
    if (at_first.us <= onset)
        return at_first.us;
    struct sc__lowering hot = *l;
    hot.throttling = sc__throttle(l->gpu, &at_first.load, 0);
    double left = 1 - onset / at_first.us;
    return onset + left * newton_schulz(&hot, stage).us;
}

/* Not the tag of any micro-batch. */
#define NORM_TAG 0x7fffffffu

static void norm_message(struct sc__step_emitter *e, bool send) {
    struct sc__op *op = sc__block_add(e->w,
                                      send ? SC__OP_SEND : SC__OP_RECV,
                                      SC__UPDATE,
                                      send ? SC__STREAM_P2P : SC__STREAM_COMPUTE,
                                      "gradient norm");
    op->bytes = 4;
    op->tag = NORM_TAG;
    op->flags = send ? SC__OP_PEER_NEXT : SC__OP_PEER_PREV;
    op->after = send ? 1u << SC__STREAM_COMPUTE : e->pending;
    if (!send)
        e->pending = 0;
}

/* The norm of all gradients. Where steps overlap nobody waits for it: a stage
 * adds its part to the sum of those before it, hands it on and updates; the
 * whole sum is checked in the next step, and the rare update that should have
 * been clipped is taken back (post-validation of Qi et al.). */
static void sum_norm(struct sc__step_emitter *e, uint32_t stage) {
    const struct sc__plan *p = &e->l->plan;
    if (!sc__schedule_overlaps_steps(p->schedule) || p->mesh.pp == 1) {
        update_collective(e, SC__ALLREDUCE, SC__GROUP_WORLD, 4, "gradient norm");
        return;
    }
    update_collective(e, SC__ALLREDUCE, SC__GROUP_TP, 4, "gradient norm");
    if (p->zero)
        update_collective(e, SC__ALLREDUCE, SC__GROUP_DP_CP, 4, "gradient norm");
    if (stage > 0)
        norm_message(e, false);
    if (stage + 1 < p->mesh.pp)
        norm_message(e, true);
}

/* Norm of all gradients, clipping, Adam on this rank's share. */
static void
optimizer(struct sc__step_emitter *e, uint32_t stage, const struct sc__shard *s) {
    double mine = sc__step_updated(&e->l->plan, s);
    if (!e->l->plan.plain_update && !e->l->plan.amp) {
        update_compute(e, norm_kernel(e->l, mine), "gradient norm");
        sum_norm(e, stage);
    }
    double on_gpu = (1 - e->l->plan.offload_optimizer) * mine;
    sc__offload_update(e, mine);
    uint16_t host = e->pending; /* the GPU's own share runs beside the host's */
    e->pending = 0;
    if (on_gpu >= 1)
        update_compute(e, adam_kernel(e->l, on_gpu), "optimizer");
    struct sc__step_item x = {.phase = SC__UPDATE,
                              .work = SC__WORK_OPTIMIZER,
                              .us = muon_us(e->l, stage),
                              .name = "Newton-Schulz"};
    if (x.us > 0)
        sc__step_emit_compute(e, &x, SC__NONE);
    e->pending |= host;
}

double sc__step_update_us(const struct sc__lowering *l, uint32_t stage) {
    struct sc__shard s = sc__plan_stage_trained(&l->plan, l->model, stage);
    double mine = sc__step_updated(&l->plan, &s);
    struct sc__kernel norm = norm_kernel(l, mine);
    double on_gpu = (1 - l->plan.offload_optimizer) * mine;
    struct sc__kernel adam = adam_kernel(l, on_gpu);
    bool clips = !l->plan.plain_update && !l->plan.amp;
    return (clips ? sc__step_kernel_us(l, &norm) : 0) +
           (on_gpu >= 1 ? sc__step_kernel_us(l, &adam) : 0) + muon_us(l, stage);
}

static void reduce_at_the_end(struct sc__step_emitter *e, const struct sc__shard *s) {
    struct sc__gradient_part parts[SC__GRADIENT_PARTS];
    sc__step_gradient_parts(e->l, s, parts);
    for (unsigned i = 0; i < SC__GRADIENT_PARTS; i++)
        update_collective(e, parts[i].coll, parts[i].group, parts[i].bytes, "gradients");
}

/* Bytes of updated weights, as they are gathered; of adapters none is narrow. */
static struct sc__shard
updated_bytes(const struct sc__lowering *l, uint32_t stage, const struct sc__shard *s) {
    const struct sc__plan *p = &l->plan;
    struct sc__shard none = {0};
    struct sc__shard narrow = p->lora ? none : sc__plan_stage_narrow(p, l->model, stage);
    double wide = sc__plan_gathered_bytes(p, false);
    double less = wide - sc__plan_gathered_bytes(p, true);
    return (struct sc__shard){.dense = wide * s->dense - less * narrow.dense,
                              .experts = wide * s->experts - less * narrow.experts};
}

/* Every tensor from the rank that updated it to the others of its group: those of the
 * layers, embedding, head and last norm, as if of one size. */
static void
broadcast_weights(struct sc__step_emitter *e, uint32_t stage, const struct sc__shard *s) {
    const struct sc__plan *p = &e->l->plan;
    double tensors = 3;
    for (uint32_t c = 0; c < p->vpp; c++) {
        uint32_t first;
        tensors += sc__plan_layers(p, e->l->model, stage, c, &first) *
                   e->l->constants.software.owned_tensors;
    }
    struct sc__shard all = updated_bytes(e->l, stage, s);
    double bytes = (all.dense + all.experts) / tensors;
    for (double i = 0; i < tensors; i++)
        update_collective(e,
                          SC__BROADCAST,
                          sc__mesh_shard_kind(&p->mesh),
                          bytes,
                          "weights");
}

/* Weights of products are cast once a step, where they are used: those that this rank has
 * of the layers that are not kept wide. */
static void cast_weights(struct sc__step_emitter *e, uint32_t stage) {
    const struct sc__plan *p = &e->l->plan;
    double each = sc__plan_weight_cast_bytes(p);
    double weights = 0;
    for (uint32_t c = 0; each > 0 && c < p->vpp; c++) {
        uint32_t first;
        uint32_t n = sc__plan_layers(p, e->l->model, stage, c, &first);
        for (uint32_t i = first; i < first + n; i++) {
            struct sc__shard s = sc__plan_layer_shard(p, e->l->model, i);
            bool wide = sc__plan_layer_stays_wide(p, e->l->model, i);
            weights += wide ? 0 : s.dense + s.experts;
        }
    }
    if (each * weights < 1)
        return;
    struct sc__kernel k =
        sc__elementwise(e->l->kernel_model, "cast weights", each * weights);
    struct sc__step_item x = {.phase = SC__UPDATE,
                              .work = SC__WORK_ELEMENTWISE,
                              .us = sc__step_kernel_us(e->l, &k),
                              .name = "cast weights"};
    sc__step_emit_compute(e, &x, SC__NONE);
}

/* With sequence parallelism ranks saw different tokens of what each of them has whole
 * (Megatron's _allreduce_non_tensor_model_parallel_grads: all in one). */
static double whole_gradient_bytes(const struct sc__lowering *l, uint32_t stage) {
    const struct sc__plan *p = &l->plan;
    if (!p->sequence_parallel)
        return 0;
    return p->grad_bytes * sc__plan_stage_whole(p, l->model, stage);
}

uint32_t sc__step_after_block(struct sc__lowering *l, uint32_t stage) {
    const struct sc__plan *p = &l->plan;
    struct sc__shard s = sc__plan_stage_trained(p, l->model, stage);
    enum sc__group_kind shard = sc__mesh_shard_kind(&p->mesh);
    struct sc__step_emitter e;
    sc__step_block_begin(&e, l);
    e.pending = 1u << SC__STREAM_DP | 1u << SC__STREAM_REDUCE;
    if (l->tied[stage] != SC__NONE)
        e.pending |= 1u << SC__STREAM_TIED;
    if (p->zero < 2 && !p->overlap_grad)
        reduce_at_the_end(&e, &s);
    double whole = whole_gradient_bytes(l, stage);
    update_collective(&e, SC__ALLREDUCE, SC__GROUP_TP, whole, "gradients of whole weights");
    if (sc__step_shares_embedding(l, stage) && l->tied[stage] == SC__NONE)
        update_collective(&e,
                          SC__ALLREDUCE,
                          SC__GROUP_EMBEDDING,
                          sc__step_tied_bytes(l),
                          "tied embedding");
    if (p->optimizer)
        optimizer(&e, stage, &s);
    if (sc__step_owns_tensors(l)) {
        broadcast_weights(&e, stage, &s);
    } else if ((p->zero == 1 && !p->overlap_param) || sc__step_gathers_late(l)) {
        struct sc__shard bytes = updated_bytes(l, stage, &s);
        update_collective(&e, SC__ALLGATHER, shard, bytes.dense, "weights");
        update_collective(&e,
                          SC__ALLGATHER,
                          sc__mesh_expert_shard_kind(&p->mesh),
                          bytes.experts,
                          "weights");
    }
    cast_weights(&e, stage);
    return sc__step_block_end(&e);
}
