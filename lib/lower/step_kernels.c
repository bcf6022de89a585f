/* step_kernels: the kernels of every part of a step, and how far the power they
 * draw together throttles the GPU. */
#include "lower/step.h"
#include "lower/step_places.h"

int sc__layer_kind(const struct sc__lowering *l, uint32_t layer) {
    const struct sc__model *m = l->model;
    enum sc__mixer mixer = sc__model_mixer(m, layer);
    bool windowed =
        mixer == SC__MIXER_ATTENTION && sc__model_windowed(m, layer, l->plan.seq);
    return (sc__model_has_experts(m, layer) ? SC__LAYER_MOE : SC__LAYER_DENSE) +
           (windowed ? SC__LAYER_WINDOW : 0) + (int)mixer * SC__LAYER_MIXER +
           (sc__model_has_feed_forward(m, layer) ? 0 : SC__LAYER_MIXER_ONLY) +
           (sc__model_own_heads(m, layer) ? SC__LAYER_OWN_HEADS : 0) +
           (sc__plan_layer_stays_wide(&l->plan, m, layer) ? SC__LAYER_WIDE : 0);
}

static void shape_mixer(const struct sc__lowering *l, int kind, struct sc__layer_shape *s) {
    const struct sc__model *m = l->model;
    enum sc__mixer mixer = sc__kind_mixer(kind);
    s->attention_gate = m->attention_gate;
    s->index_heads = m->index_heads;
    s->index_dim = m->index_dim;
    s->no_mixer = mixer == SC__MIXER_NONE;
    s->no_feed_forward = kind & SC__LAYER_MIXER_ONLY;
    if (mixer != SC__MIXER_MAMBA && mixer != SC__MIXER_DELTA)
        return;
    s->delta_rule = mixer == SC__MIXER_DELTA;
    s->scan_heads = m->scan_heads;
    s->scan_head_dim = m->scan_head_dim;
    s->scan_groups = m->scan_groups;
    s->state_dim = m->state_dim;
    s->scan_chunk = m->scan_chunk;
    s->scan_factor = l->constants.scan;
    s->scan_input = (uint64_t)sc__model_scan_input(m, mixer);
}

/* What a loop over layers copies of one of this kind. */
static double stacked_bytes(const struct sc__lowering *l, int kind) {
    uint32_t i = 0;
    if (l->constants.software.stacked_layers <= 0)
        return 0;
    while (i + 1 < l->model->layers && sc__layer_kind(l, i) != kind)
        i++;
    return sc__layer_activations(l->model, &l->plan, i);
}

static struct sc__layer_shape layer_shape(const struct sc__lowering *l, int kind) {
    const struct sc__model *m = l->model;
    const struct sc__plan *p = &l->plan;
    struct sc__attention_heads heads = sc__kind_heads(l, kind);
    struct sc__layer_shape s = {
        .fusion = (enum sc__fusion)p->fusion,
        .dtype = (enum sc__dtype)p->dtype,
        .gemm = (enum sc__dtype)(kind & SC__LAYER_WIDE ? p->dtype : p->gemm),
        .batch = p->micro_batch,
        .seq = p->seq,
        .hidden = m->hidden,
        .heads = m->heads,
        .kv_heads = heads.kv_heads,
        .head_dim = m->kv_lora ? m->nope_dim : heads.qk_dim,
        .key_values = heads.kv_projections == 1,
        .ffn = m->ffn,
        .tp = p->mesh.tp,
        .cp = p->mesh.cp,
        .sequence_parallel = p->sequence_parallel,
        .gated = m->gated,
        .rmsnorm = m->norm == SC__RMSNORM,
        .bias = m->linear_bias,
        .qkv_bias = m->qkv_bias,
        .no_qkv_bias = m->no_qkv_bias,
        .mlp_bias = m->mlp_bias,
        .qk_norm = m->qk_norm,
        .v_norm = m->v_norm,
        .new_gelu = m->new_gelu,
        .learned_activation = m->learned_activation,
        .function_gelu = m->function_gelu,
        .rope = !m->positions && !m->no_rotary,
        .liger = p->liger,
        .complex_rope = l->constants.software.complex_rope > 0,
        .repeat_keys = l->constants.software.repeat_keys > 0,
        .stacked_bytes = stacked_bytes(l, kind),
        .causal = !m->both_ways,
        .post_norms = m->post_norms,
        .sub_norms = m->sub_norms,
        .dynamic_casts = p->dynamic_casts,
        .row_scales = p->gemm == SC__FP8 && p->fp8_recipe == SC_FP8_RECIPE_ROWWISE,
        .row_products = l->constants.software.row_products,
        .narrow_weights = p->fp8_params && p->zero >= 2,
        .scale_of_now = p->fp8_recipe == SC_FP8_RECIPE_TENSORWISE,
        .dropout = sc__plan_drops_hidden(p),
        .attention = (enum sc__attention_software)p->attention,
        .scores = (enum sc__scores)p->scores,
        .q_rank = m->q_lora,
        .kv_rank = m->kv_lora,
        .latents_of_all = l->constants.software.gather_again <= 0,
        .rope_dim = m->rope_dim,
        .v_dim = m->v_dim,
        .lora = p->lora,
        .lora_targets = p->lora_targets,
        .lora_fp32 = p->lora_fp32,
        .lora_autocast = p->lora_autocast,
        .lora_dropout = p->lora && p->dropout,
        .four_bits = p->qlora};
    s.masked = kind & SC__LAYER_WINDOW && p->masked_windows;
    if (s.masked)
        s.window = 0;
    else if (kind & SC__LAYER_WINDOW && m->both_ways)
        s.pieces = (p->seq + m->window - 1) / m->window;
    else if (kind & SC__LAYER_WINDOW)
        s.window = m->window;
    shape_mixer(l, kind, &s);
    if (sc__kind_has_experts(kind)) {
        s.experts = m->experts;
        s.topk = m->topk;
        s.ep = p->mesh.ep;
        s.expert_tp = p->mesh.etp;
        s.expert_ffn = m->expert_ffn;
        s.shared_ffn = m->shared_ffn;
        s.moe_latent = m->moe_latent;
        s.imbalance = p->imbalance;
        s.expert_bias = m->expert_bias;
        s.clamped_apart = p->fusion == SC__FUSION_MEGATRON && !p->torch_copies;
        s.wide_gate = l->constants.software.wide_gate > 0;
        s.router_apart = l->constants.software.router_operators > 0;
        s.looped = p->moe_kernels == SC_MOE_KERNELS_UNFUSED;
        s.in_products = p->moe_kernels == SC_MOE_KERNELS_FUSED;
        s.sorted_on_arrival = p->dedup && p->mesh.ep > 1;
        bool narrow = s.gemm == SC__FP8 || s.gemm == SC__FP4;
        s.scales_reordered = narrow && (p->fp8_recipe == SC_FP8_RECIPE_MXFP8 ||
                                        p->fp8_recipe == SC_FP8_RECIPE_NVFP4);
        s.branch_norms = m->branch_norms;
        s.titan_routes = l->constants.software.titan_routes > 0 && !s.sorted_on_arrival;
        s.padded_routes = l->constants.software.padded_routes > 0;
        s.by_modules = sc__routes_by_modules(p) && !s.titan_routes;
        s.wide_routes = m->wide_routes;
        s.wide_router = m->wide_router;
    }
    return s;
}

void sc__step_add_kernel(struct sc__lowering *l,
                         struct sc__kernels *list,
                         struct sc__kernel k,
                         enum sc__phase phase,
                         enum sc__work work) {
    k.phase = (uint8_t)phase;
    k.work = (uint8_t)work;
    *SC__PUSH(l->arena, list->items, list->count, list->capacity) = k;
}

void sc__step_add_norm(struct sc__lowering *l,
                       struct sc__kernels *list,
                       uint64_t rows,
                       enum sc__phase phase) {
    struct sc__layer_shape shape = layer_shape(l, SC__LAYER_DENSE);
    struct sc__layer_kernels kernels = {0};
    sc__norm_kernels(l->arena,
                     l->kernel_model,
                     &shape,
                     phase == SC__BACKWARD,
                     rows,
                     &kernels);
    for (uint32_t i = 0; i < kernels.count; i++)
        sc__step_add_kernel(l, list, kernels.items[i].kernel, phase, SC__WORK_NORM);
}

/* Looking words up, or adding to their gradients, by a product with their one-hot rows,
 * which are written before. */
static void add_one_hot_product(struct sc__lowering *l,
                                struct sc__kernels *list,
                                struct sc__kernel product,
                                enum sc__phase phase) {
    const struct sc__plan *p = &l->plan;
    double bytes = sc__plan_tokens(p) * p->vocab / p->mesh.tp * sc__plan_width(p);
    sc__step_add_kernel(l,
                        list,
                        sc__elementwise(l->kernel_model, "one_hot", bytes),
                        phase,
                        SC__WORK_EMBEDDING);
    sc__step_add_kernel(l, list, product, phase, SC__WORK_EMBEDDING);
}

/* A tensor-parallel rank has a part of the words; those of others are masked and come to
 * one place, so that no sums of rows are saved by its having fewer places than the
 * vocabulary. What they take one after another was not measured: each counts as a place of
 * its own. */
static struct sc__kernel lookup_gradient(struct sc__kernel_model *q,
                                         enum sc__dtype t,
                                         uint64_t rows,
                                         uint64_t words,
                                         uint64_t part,
                                         uint64_t hidden) {
    struct sc__kernel k = sc__embedding_backward(q, t, rows, part, hidden);
    if (part >= words || k.measured)
        return k;
    double zeroed = sc__embedding_backward(q, t, 1, words, hidden).us -
                    sc__embedding_backward(q, t, 1, part, hidden).us;
    k.us = sc__embedding_backward(q, t, rows, words, hidden).us - zeroed;
    return k;
}

static void add_lookup(struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    struct sc__kernel_model *q = l->kernel_model;
    uint64_t rows = (uint64_t)sc__plan_tokens(p);
    uint64_t v = p->vocab / p->mesh.tp;
    uint64_t h = l->model->hidden;
    enum sc__dtype t = (enum sc__dtype)p->dtype;
    if (l->constants.software.one_hot_embedding > 0) {
        struct sc__kernel gradient = sc__gemm_wgrad(q, "words wgrad", t, v, h, rows, false);
        add_one_hot_product(l,
                            &l->embedding[0],
                            sc__gemm(q, "words", t, rows, h, v),
                            SC__FORWARD);
        add_one_hot_product(l, &l->embedding[1], gradient, SC__BACKWARD);
        return;
    }
    sc__step_add_kernel(l,
                        &l->embedding[0],
                        sc__embedding_forward(q, t, rows, h),
                        SC__FORWARD,
                        SC__WORK_EMBEDDING);
    sc__step_add_kernel(l,
                        &l->embedding[1],
                        lookup_gradient(q, t, rows, (uint64_t)p->vocab, v, h),
                        SC__BACKWARD,
                        SC__WORK_EMBEDDING);
}

static void embedding_kernels(struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    uint64_t cut = (uint64_t)sc__plan_tokens_sp(p);
    uint64_t h = l->model->hidden;
    enum sc__dtype t = (enum sc__dtype)p->dtype;
    struct sc__kernels *f = &l->embedding[0];
    struct sc__kernels *b = &l->embedding[1];
    add_lookup(l);
    if (l->model->embedding_norm) {
        sc__step_add_norm(l, f, cut, SC__FORWARD);
        sc__step_add_norm(l, b, cut, SC__BACKWARD);
    }
    if (l->model->positions)
        sc__step_add_kernel(l,
                            f,
                            sc__memory_op(l->kernel_model, SC__MEM_ADD, t, cut, h),
                            SC__FORWARD,
                            SC__WORK_EMBEDDING);
    if (sc__plan_drops_hidden(p)) {
        sc__step_add_kernel(l,
                            f,
                            sc__memory_op(l->kernel_model, SC__MEM_DROPOUT_F, t, cut, h),
                            SC__FORWARD,
                            SC__WORK_EMBEDDING);
        sc__step_add_kernel(l,
                            b,
                            sc__memory_op(l->kernel_model, SC__MEM_DROPOUT_B, t, cut, h),
                            SC__BACKWARD,
                            SC__WORK_EMBEDDING);
    }
}

/* Bytes an element of Megatron's loss without --cross-entropy-loss-fusion
 * (megatron/core/tensor_parallel/cross_entropy.py): of the fp32 logits the largest is read,
 * subtracted, raised to e, summed and divided by; the gradient multiplies what is left.
 * Logits of two bytes are widened before and narrowed behind it. */
static double loss_bytes(const struct sc__plan *p, enum sc__phase phase) {
    double widened = sc__plan_width(p) < 4 ? sc__plan_width(p) + 4 : 0;
    double operators = phase == SC__FORWARD ? 4 + 8 + 8 + 4 + 8 : 8;
    return widened + operators;
}

/* Megatron's loss is compiled where it is asked to be; PyTorch's stays a row of kernels
 * beside compiled layers too. */
static struct sc__kernel
loss_kernel(const struct sc__lowering *l, enum sc__phase phase, uint64_t rows, uint64_t v) {
    if (l->plan.loss == SC__LOSS_UNFUSED)
        return sc__elementwise(l->kernel_model,
                               "cross_entropy_unfused",
                               loss_bytes(&l->plan, phase) * (double)(rows * v));
    enum sc__memory_op op = SC__MEM_CROSS_ENTROPY_F;
    bool compiled = l->plan.fusion == SC__FUSION_MEGATRON;
    if (compiled && l->plan.loss == SC__LOSS_HALF)
        op = SC__MEM_CROSS_ENTROPY_BF16_F;
    else if (compiled && l->plan.loss != SC__LOSS_FP32)
        op = SC__MEM_CROSS_ENTROPY_FUSED_F;
    if (phase == SC__BACKWARD)
        op++;
    return sc__memory_op(l->kernel_model, op, (enum sc__dtype)l->plan.dtype, rows, v);
}

static void head_kernels(struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    struct sc__kernel_model *q = l->kernel_model;
    uint64_t rows = (uint64_t)sc__plan_tokens(p);
    uint64_t cut = (uint64_t)sc__plan_tokens_sp(p);
    uint64_t h = l->model->hidden;
    uint64_t v = p->vocab / p->mesh.tp;
    enum sc__dtype t = (enum sc__dtype)p->dtype;
    struct sc__kernels *f = &l->head[0];
    struct sc__kernels *b = &l->head[1];
    sc__step_add_norm(l, f, cut, SC__FORWARD);
    sc__step_add_kernel(l,
                        f,
                        sc__gemm(q, "logits", t, rows, v, h),
                        SC__FORWARD,
                        SC__WORK_GEMM);
    sc__step_add_kernel(l,
                        f,
                        loss_kernel(l, SC__FORWARD, rows, v),
                        SC__FORWARD,
                        SC__WORK_LOSS);
    sc__step_add_kernel(l,
                        b,
                        loss_kernel(l, SC__BACKWARD, rows, v),
                        SC__BACKWARD,
                        SC__WORK_LOSS);
    sc__step_add_kernel(l,
                        b,
                        sc__gemm_dgrad(q, "logits dgrad", t, rows, h, v),
                        SC__BACKWARD,
                        SC__WORK_GEMM);
    sc__step_add_kernel(l,
                        b,
                        sc__gemm_wgrad(q, "logits wgrad", t, v, h, rows, false),
                        SC__WGRAD,
                        SC__WORK_GEMM);
    sc__step_add_norm(l, b, cut, SC__BACKWARD);
}

/* Flash attention in a step. The kernels measured on the H200, cuDNN's and FlashAttention
 * 2's, take longer in steps of other GPUs; the rates of the oldest generation are published
 * ones of the GPU itself. */
static double attention_factor(const struct sc__lowering *l, const struct sc__kernel *k) {
    const struct sc__step_constants *c = &l->constants;
    double factor = 1;
    if (l->plan.attention != SC__ATTENTION_FLASH1)
        factor = c->attention[k->phase != SC__FORWARD];
    if (k->head_dim <= 64)
        factor *= c->software.attention_64;
    if (l->plan.fp8_attention)
        factor *= c->attention_fp8;
    return factor;
}

/* What kernels measured alone do not show and whole steps do: see struct
 * sc__step_constants. They were found on kernels of tensor cores: attention in
 * four bytes and GEMMs in fp32 use others. */
static double step_factor(const struct sc__lowering *l, const struct sc__kernel *k) {
    const struct sc__step_constants *c = &l->constants;
    if (k->kind == SC__KERNEL_MEMORY)
        return c->memory;
    if (k->kind == SC__KERNEL_ATTENTION && sc__plan_width(&l->plan) > 2)
        return 1;
    if (k->kind == SC__KERNEL_ATTENTION)
        return attention_factor(l, k);
    /* a GEMM of unfused attention */
    if (k->work == SC__WORK_ATTENTION)
        return c->batched * (k->head_dim & 7 ? c->software.unaligned_heads : 1);
    if (l->plan.gemm == SC__FP32)
        return 1;
    if (l->plan.gemm == l->plan.dtype)
        return c->gemm;
    return c->gemm * (l->plan.gemm == SC__FP4 ? c->fp4 : c->fp8);
}

double sc__step_kernel_us(const struct sc__lowering *l, const struct sc__kernel *k) {
    double us = k->us * step_factor(l, k) * l->throttling.factor[k->kind] +
                l->gpu->gap * k->launches;
    double nodes = (double)l->plan.gpus / l->cluster->node_gpus;
    /* The slowest of many GPUs sets the pace; its distance from the mean grows
     * with the logarithm of their number, as maxima do. */
    double drift = nodes > 1 ? 1 + l->constants.jitter * log2(nodes) : 1;
    return us * drift * l->plan.slowest;
}

static double
list_load(struct sc__load *load, const struct sc__layer_kernels *list, double times) {
    double us = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        sc__load_add(load, &list->items[i].kernel, times);
        us += list->items[i].kernel.us * times;
    }
    return us;
}

/* The bubble of equal stages over their work: (p − 1)/(m·v), m micro-batches in each run
 * through the pipeline; with tF = tB = tW
 * zero-bubble schedules leave p − 1 (ZB-H1) or nothing of 3m, but 2p − 1 − m
 * where there are fewer micro-batches. */
static double idle_share(const struct sc__plan *p) {
    double stages = p->mesh.pp - 1.0;
    double m = sc__plan_run_batches(p);
    double few = 2 * stages + 1 - m;
    if (!sc__schedule_splits(p->schedule))
        return stages / (m * p->vpp);
    if (p->schedule == SC__SCHEDULE_DUALPIPEV)
        return stages / (6 * m);
    if (p->schedule == SC__SCHEDULE_DUALPIPE) /* Vs of half the stages and micro-batches */
        return (p->mesh.pp / 2.0 - 1) / (3 * m);
    if (sc__schedule_overlaps_steps(p->schedule))
        stages = 0;
    return (few > stages ? few : stages) / (3 * m);
}

/* How often forward runs, for the load. What selective recompute repeats is
 * left out. */
static double forward_passes(const struct sc__lowering *l) {
    if (l->plan.recompute == SC__RECOMPUTE_FULL)
        return 2;
    if (l->plan.recompute == SC__RECOMPUTE_OPS)
        return 1 + sc__repeated_gemms(l->model);
    return 1;
}

/* The time of an all-reduce of the activations. Only the time counts here, so that
 * with sequence parallelism an all-gather and a reduce-scatter are one: they go
 * round a ring whatever --algo says of all-reduces, so that is left out then. */
static double activations_us(const struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    double bytes = sc__plan_width(p) * sc__plan_tokens(p) * l->model->hidden;
    struct sc__cluster plain = *l->cluster;
    struct sc__lowering usual = *l;
    if (!p->sequence_parallel)
        return sc__step_tp_us(l, SC__ALLREDUCE, bytes);
    plain.tuning.algo = SC__ALGO_AUTO;
    usual.cluster = &plain;
    return sc__step_tp_us(&usual, SC__ALLREDUCE, bytes);
}

double sc__step_layers_us(const struct sc__lowering *l) {
    int directions = l->plan.lora ? 1 : 2; /* gradients of frozen weights are left out */
    double us = 0;
    for (uint32_t i = 0; i < l->model->layers; i++)
        for (int d = 0; d < directions; d++) {
            const struct sc__layer_kernels *list = &l->kernels[sc__layer_kind(l, i)][d];
            for (uint32_t k = 0; k < list->count; k++)
                us += sc__step_kernel_us(l, &list->items[k].kernel);
        }
    return us * l->plan.micro_batches / l->plan.mesh.pp;
}

/* The power limit sees the mean over some 40 ms of an average rank: its
 * kernels, and the time without kernels, which is estimated from the
 * tensor-parallel traffic and from the bubble of the schedule. A bubble longer
 * than the limit takes to act is no rest: the clock falls when it is over.
 * least: whatever the schedule, no less. */
static struct sc__throttling throttle(const struct sc__lowering *l, bool least) {
    const struct sc__plan *p = &l->plan;
    struct sc__load load = {0};
    double layers = 0;
    double repeat = forward_passes(l);
    uint32_t count[SC__LAYER_KINDS] = {0};
    for (uint32_t i = 0; i < l->model->layers; i++)
        count[sc__layer_kind(l, i)]++;
    for (int k = 0; k < SC__LAYER_KINDS; k++) {
        double n = (double)count[k] / p->mesh.pp * p->micro_batches;
        list_load(&load, &l->kernels[k][0], n * repeat);
        list_load(&load, &l->kernels[k][1], n);
        layers += n;
    }
    for (int d = 0; d < 2; d++)
        for (uint32_t i = 0; i < l->head[d].count; i++)
            sc__load_add(&load,
                         &l->head[d].items[i],
                         (double)p->micro_batches / p->mesh.pp);
    sc__towers_load(l, &load);
    /* each run through the pipeline has a bubble of its own */
    double runs = (double)p->micro_batches / sc__plan_run_batches(p);
    double onset = l->gpu->power.onset_us * runs;
    double bubble = idle_share(p) * load.us;
    if (least)
        bubble = fmin((p->mesh.pp - 1.0) / sc__plan_run_batches(p) * load.us,
                      onset); /* 1F1B: the most */
    if (bubble > onset)
        bubble = 0;
    /* Two all-reduces of the activations a layer in each forward, two in
     * backward. */
    double tp = layers * (2 + 2 * repeat) * activations_us(l);
    double exposed = p->tp_overlap == SC__TP_CHUNKS ? l->constants.software.tp_exposed : 1;
    return sc__throttle(l->gpu, &load, bubble + tp * exposed);
}

void sc__step_throttle_least(struct sc__lowering *l) {
    const enum sc__recompute tried[] = {l->plan.recompute,
                                        SC__RECOMPUTE_NONE,
                                        SC__RECOMPUTE_FULL};
    struct sc__lowering as = *l;
    for (unsigned i = 0; i < sizeof tried / sizeof *tried; i++) {
        as.plan.recompute = tried[i];
        struct sc__throttling x = throttle(&as, true);
        for (int k = 0; k < SC__KERNEL_KINDS; k++)
            l->throttling.factor[k] =
                i ? fmin(l->throttling.factor[k], x.factor[k]) : x.factor[k];
    }
}

void sc__step_layer_kernels(struct sc__lowering *l) {
    for (uint32_t i = 0; i < l->model->layers; i++)
        l->has_kind[sc__layer_kind(l, i)] = true;
    for (int k = 0; k < SC__LAYER_KINDS; k++) {
        if (!l->has_kind[k])
            continue;
        struct sc__layer_shape shape = layer_shape(l, k);
        sc__layer_kernels(l->arena,
                          l->kernel_model,
                          &shape,
                          &l->kernels[k][0],
                          &l->kernels[k][1]);
    }
}

void sc__step_kernels(struct sc__lowering *l) {
    sc__step_layer_kernels(l);
    sc__towers_kernels(l);
    embedding_kernels(l);
    head_kernels(l);
    sc__prediction_kernels(l);
    l->throttling = throttle(l, false); /* needs the kernels of the whole step */
}

double sc__step_collective_us(const struct sc__lowering *l,
                              int coll,
                              enum sc__group_kind group,
                              double bytes) {
    uint32_t n = sc__mesh_group_size(&l->plan.mesh, group);
    if (n == 1 || l->cluster->ideal)
        return 0;
    if (l->ctx->memo && (int)group < SC__PLACED_GROUPS) {
        const struct sc__stage_places *places =
            sc__step_places(l->ctx, l->cluster, &l->plan.mesh, false);
        const struct sc__shape *known = &places->items[places->of_stage[0]].shape[group];
        return sc__us(sc__collective_time(l->cluster, coll, known, (uint64_t)bytes));
    }
    uint32_t *gpu = SC__NEW_ARRAY(l->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        gpu[i] = sc__mesh_group_member(&l->plan.mesh, group, 0, i);
    struct sc__shape shape = sc__cluster_shape(l->cluster, gpu, n);
    return sc__us(sc__collective_time(l->cluster, coll, &shape, (uint64_t)bytes));
}

double sc__step_tp_us(const struct sc__lowering *l, enum sc__coll coll, double bytes) {
    uint32_t tp = l->plan.mesh.tp;
    if (tp == 1 || l->cluster->ideal)
        return 0;
    struct sc__shape shape = sc__cluster_shape(l->cluster, NULL, tp);
    return sc__us(sc__collective_time(l->cluster, (int)coll, &shape, (uint64_t)bytes));
}
