/* resolve: sc_plan → struct sc__plan: what was left open is decided by the model,
 * the other fields and the cluster, with a note where it is a guess. */
#include "plan/resolve.h"

#include "base/number.h"
#include "plan/routing.h"
#include "plan/slowest_rank.h"
#include "plan/towers.h"

#include <string.h>

/* An enumeration without its "as usual". */
static unsigned choice(unsigned given, unsigned usual) {
    return given ? given - 1 : usual;
}

static uint32_t at_least_1(uint32_t n) {
    return n ? n : 1;
}

#define MOST_RANKS (1u << 30) /* so that two of them multiply */

/* The fewest ranks of a stage that both tp·cp and ep·etp divide. */
static uint64_t fewest_of_stage(const sc_plan *g, uint64_t tp_cp) {
    uint64_t experts = (uint64_t)at_least_1(g->ep) * (g->etp ? g->etp : at_least_1(g->tp));
    if (g->ep <= 1 || experts > MOST_RANKS)
        return tp_cp;
    uint64_t fewest = sc__common_multiple(tp_cp, experts);
    return fewest <= MOST_RANKS ? fewest : tp_cp;
}

uint64_t sc__plan_least_gpus(const sc_plan *g) {
    uint64_t tp_cp = (uint64_t)at_least_1(g->tp) * at_least_1(g->cp);
    return tp_cp > MOST_RANKS ? tp_cp : fewest_of_stage(g, tp_cp) * at_least_1(g->pp);
}

static sc_status resolve_sizes(struct sc_context *ctx,
                               const sc_plan *g,
                               const struct sc__model *m,
                               uint32_t cluster_gpus,
                               struct sc__plan *p) {
    uint32_t dp = g->dp;
    uint64_t tp_cp = (uint64_t)at_least_1(g->tp) * at_least_1(g->cp);
    uint64_t cut = tp_cp > MOST_RANKS ? tp_cp : tp_cp * at_least_1(g->pp);
    if (cut > MOST_RANKS)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "tp·cp·pp = %llu is too many ranks",
                        (unsigned long long)cut);
    p->gpus = g->gpus;
    if (!p->gpus && !dp)
        p->gpus = cluster_gpus;
    if (!p->gpus && !dp)
        dp = (uint32_t)(fewest_of_stage(g, tp_cp) / tp_cp);
    if (!p->gpus && cut * at_least_1(dp) > MOST_RANKS)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "tp·cp·pp·dp = %llu is too many ranks",
                        (unsigned long long)(cut * at_least_1(dp)));
    if (!p->gpus)
        p->gpus = (uint32_t)cut * at_least_1(dp);
    if (!dp)
        dp = (uint32_t)(p->gpus / cut);
    p->mesh = sc__mesh(at_least_1(g->tp),
                       at_least_1(g->cp),
                       at_least_1(g->ep),
                       dp,
                       at_least_1(g->pp),
                       m->experts ? g->etp : 0);
    return SC_OK;
}

/* micro_batches gives what is not given of the global batch and the
 * micro-batch, or must agree with both. */
static sc_status
resolve_micro_batches(struct sc_context *ctx, const sc_plan *g, struct sc__plan *p) {
    uint64_t each = (uint64_t)g->micro_batches * p->mesh.dp;
    uint64_t all = each * p->micro_batch;
    if (!g->micro_batches || !p->mesh.dp)
        return SC_OK;
    if (!p->global_batch && all <= UINT32_MAX)
        p->global_batch = (uint32_t)all;
    if (!g->micro_batch && p->global_batch % each == 0)
        p->micro_batch = (uint32_t)(p->global_batch / each);
    if (p->global_batch != each * p->micro_batch)
        return sc__fail(
            ctx,
            SC_USAGE,
            NULL,
            "leave one of them out",
            "%u micro-batches on dp %u are not a global batch of %u with %u in each",
            g->micro_batches,
            p->mesh.dp,
            p->global_batch,
            p->micro_batch);
    return SC_OK;
}

/* Tokens of a sequence where nobody says. */
static uint32_t usual_seq(const struct sc__model *m) {
    return m->context && m->context <= 8192 ? m->context : 4096;
}

/* The nearest batch that replicas can share: as many of them as there are GPUs, or a
 * half, a quarter … where the batch is no two for each. 288 GPUs have nine as a factor,
 * and no power of two is divided by it. */
static uint32_t nearest_shared(uint32_t batch, uint64_t gpus) {
    uint64_t replicas = gpus;
    while (replicas % 2 == 0 && replicas > batch / 2)
        replicas /= 2;
    if (!replicas || replicas > batch)
        return batch;
    return (uint32_t)((batch + replicas / 2) / replicas * replicas);
}

uint32_t sc__plan_usual_batch(struct sc_context *ctx,
                              const sc_plan *g,
                              const struct sc__model *m,
                              uint64_t gpus) {
    uint32_t seq = g->seq ? g->seq : usual_seq(m);
    uint32_t batch =
        nearest_shared(seq < SC__USUAL_TOKENS ? SC__USUAL_TOKENS / seq : 1, gpus);
    sc__note(ctx,
             "batch-assumed",
             "no --global-batch is given: %u sequences, about the 4 Mi tokens that Llama 3 "
             "began with (arXiv 2407.21783); the batch decides which plan is best",
             batch);
    return batch;
}

static sc_status resolve_batch(struct sc_context *ctx,
                               const sc_plan *g,
                               const struct sc__model *m,
                               struct sc__plan *p) {
    p->micro_batch = at_least_1(g->micro_batch);
    p->global_batch = g->global_batch;
    p->seq = g->seq;
    if (!p->seq) {
        p->seq = usual_seq(m);
        sc__note(ctx,
                 "seq-assumed",
                 "no --seq is given: sequences of %u tokens are assumed",
                 p->seq);
    }
    SC__TRY(resolve_micro_batches(ctx, g, p));
    uint64_t at_once = (uint64_t)p->mesh.dp * p->micro_batch;
    if (!p->global_batch) {
        uint32_t per_rank = p->mesh.pp > 1 ? 4 * p->mesh.pp : 1;
        bool fits = at_once <= UINT32_MAX / per_rank; /* else it is refused */
        p->global_batch = fits ? (uint32_t)at_once * per_rank : UINT32_MAX;
        sc__note(ctx,
                 "batch-assumed",
                 "no --global-batch is given: a batch of %u is assumed (%u micro-batch%s)",
                 p->global_batch,
                 per_rank,
                 per_rank == 1 ? "" : "es");
    }
    if (p->mesh.dp)
        p->micro_batches = (uint32_t)(p->global_batch / at_once);
    return SC_OK;
}

static sc_status resolve_vpp(struct sc_context *ctx,
                             const sc_plan *g,
                             const struct sc__model *m,
                             struct sc__plan *p) {
    static const char option[] = "num-layers-per-virtual-pipeline-stage";
    uint32_t each = g->layers_per_virtual_stage;
    uint32_t stage = m->layers / p->mesh.pp;
    if (each && stage % each)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "or give the number of chunks with --vpp",
                        "--%s %u does not divide the %u layers of a stage",
                        option,
                        each,
                        stage);
    if (each && g->vpp && g->vpp != stage / each)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "give one of them",
                        "--%s %u gives vpp %u, not %u",
                        option,
                        each,
                        stage / each,
                        g->vpp);
    p->vpp = g->vpp ? g->vpp : each ? stage / each : 1;
    return SC_OK;
}

static sc_status resolve_pipeline(struct sc_context *ctx,
                                  const sc_plan *g,
                                  const struct sc__model *m,
                                  struct sc__plan *p) {
    SC__TRY(resolve_vpp(ctx, g, m, p));
    p->first_layers = g->first_stage_layers;
    p->last_layers = g->last_stage_layers;
    p->schedule = (enum sc__schedule)g->schedule;
    if (sc__schedule_two_ways(p->schedule) && !g->vpp && !g->layers_per_virtual_stage)
        p->vpp = 2;
    if (p->schedule == SC__SCHEDULE_AUTO)
        p->schedule = p->vpp > 1 ? SC__SCHEDULE_INTERLEAVED : SC__SCHEDULE_1F1B;
    p->microbatch_group = g->microbatch_group;
    p->uneven = sc__is_on(g->uneven_stages);
    p->count_embedding = sc__is_on(g->count_embedding);
    p->count_loss = sc__is_on(g->count_loss);
    p->scatter_gather = sc__unless_said(g->scatter_gather, true);
    bool hides = p->vpp > 1 || sc__schedule_overlaps_steps(p->schedule);
    p->overlap_p2p = sc__unless_said(g->overlap_p2p, hides);
    return SC_OK;
}

static sc_status
resolve_recompute(struct sc_context *ctx, const sc_plan *g, struct sc__plan *p) {
    p->recompute = choice(g->recompute, SC__RECOMPUTE_NONE);
    p->recompute_modules = g->recompute_modules ? g->recompute_modules : SC__MODULE_CORE;
    p->recompute_block =
        g->recompute_method == SC_RECOMPUTE_BLOCK && p->recompute == SC__RECOMPUTE_FULL;
    p->recompute_layers = g->recompute_layers;
    if (p->recompute_block && !p->recompute_layers)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "give --recompute-layers N too",
                        "--recompute-method block does not say how many layers of a stage");
    return SC_OK;
}

static void resolve_precision(const sc_plan *g, struct sc__plan *p) {
    p->dtype = choice(g->dtype, SC__BF16);
    p->gemm = choice(g->gemm_dtype, p->dtype);
    /* a matter of Transformer Engine's recipes: outside fp8 it is as if it was not said */
    p->fp8_attention =
        sc__is_on(g->fp8_attention) && (p->gemm == SC__FP8 || p->gemm == SC__FP4);
    p->fp8_recipe = p->gemm == SC__FP4 ? SC_FP8_RECIPE_NVFP4
                    : g->fp8_recipe    ? g->fp8_recipe
                                       : SC_FP8_RECIPE_DELAYED;
    /* scales of rows are torchao's alone, and of the moment */
    p->dynamic_casts =
        g->fp8_scaling == SC_FP8_DYNAMIC || p->fp8_recipe == SC_FP8_RECIPE_ROWWISE;
    bool half = g->grad_dtype ? g->grad_dtype != SC_DTYPE_FP32 : p->dtype == SC__FP16;
    p->grad_bytes = half ? 2 : 4;
}

/* The first and the last layers may stay out of fp8 and fp4. */
static sc_status resolve_wide_layers(struct sc_context *ctx,
                                     const sc_plan *g,
                                     const struct sc__model *m,
                                     struct sc__plan *p) {
    p->bf16_first = g->bf16_first;
    p->bf16_last = g->bf16_last;
    if ((uint64_t)g->bf16_first + g->bf16_last <= m->layers)
        return SC_OK;
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    NULL,
                    "%u first and %u last layers in bf16 are more than the %u there are",
                    g->bf16_first,
                    g->bf16_last,
                    m->layers);
}

/* More than this is no spread of GPUs that work. */
#define WIDEST_SPREAD 0.5

/* All ranks meet in every step, so that the slowest sets its pace. */
static sc_status
resolve_spread(struct sc_context *ctx, const sc_plan *g, struct sc__plan *p) {
    if (!(g->gpu_spread >= 0 && g->gpu_spread <= WIDEST_SPREAD))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "0.01: two of three GPUs are within 1 % of the mean",
                        "--gpu-spread %g is not between 0 and %g",
                        g->gpu_spread,
                        WIDEST_SPREAD);
    p->gpu_spread = g->gpu_spread;
    p->slowest = 1;
    if (!(g->gpu_spread > 0))
        return SC_OK;
    p->slowest = 1 + g->gpu_spread * sc__expected_largest(p->gpus);
    sc__note(ctx,
             "slowest-rank",
             "GPUs differ in pace by %.3g %% (standard deviation): the slowest of %u is "
             "expected %.3g %% behind the mean, and every step waits for it",
             100 * g->gpu_spread,
             p->gpus,
             100 * (p->slowest - 1));
    return SC_OK;
}

static sc_status
resolve_software(struct sc_context *ctx, const sc_plan *g, struct sc__plan *p) {
    p->fusion = choice(g->fusion, SC__FUSION_MEGATRON);
    p->liger = sc__is_on(g->liger_kernel);
    if (p->liger && p->fusion != SC__FUSION_HF)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "add --fusion hf, or leave it out",
                        "--liger-kernel is for the modules of transformers");
    p->attention = choice(g->attention, SC__ATTENTION_CURRENT);
    p->graphs = g->cuda_graphs & ~(unsigned)SC_GRAPH_NONE;
    p->dropout = sc__unless_said(g->dropout, p->fusion == SC__FUSION_2021);
    p->host_launch = g->host_launch_us < 0 ? -1 : g->host_launch_us;
    p->kernel_times = g->kernel_times;
    p->constants = g->step_constants;
    p->gpu = g->gpu;
    p->ignore_memory = sc__is_on(g->ignore_memory);
    p->optimizer = sc__unless_said(g->optimizer, true);
    return SC_OK;
}

/* What modules of transformers do to scores. These have an attention of their own, no
 * kernel of PyTorch knows gpt-oss' sinks, and with one key-value head (Falcon) none that is
 * fused takes the shapes. */
static enum sc__scores module_scores(const struct sc__model *m) {
    static const struct {
        const char *family;
        enum sc__scores scores;
    } known[] = {{"bloom", SC__SCORES_ALIBI},
                 {"mpt", SC__SCORES_ALIBI_FP32},
                 {"gpt_oss", SC__SCORES_SINKS},
                 {"gptj", SC__SCORES_WIDE},
                 {"codegen", SC__SCORES_WIDE},
                 {"gpt_neo", SC__SCORES_WIDE}};
    const char *family = m->family ? m->family : "";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(family, known[i].family))
            return known[i].scores;
    if (!strcmp(family, "falcon") && m->kv_heads == 1)
        return SC__SCORES_MATH;
    return SC__SCORES_OPERATORS;
}

static bool has_windows(const struct sc__model *m, const struct sc__plan *p) {
    bool found = false;
    for (uint32_t layer = 0; layer < m->layers && !m->index_heads; layer++)
        found = found || (sc__model_mixer(m, layer) == SC__MIXER_ATTENTION &&
                          sc__model_windowed(m, layer, p->seq));
    return found;
}

/* transformers gives scaled_dot_product_attention, its default, a mask for each window. */
static void
resolve_windows(struct sc_context *ctx, const struct sc__model *m, struct sc__plan *p) {
    p->masked_windows = has_windows(m, p);
    if (p->masked_windows)
        sc__note(
            ctx,
            "masked-windows",
            "transformers runs windows of attention (sdpa) under a mask, over all scores, "
            "and keeps it for backward; with FlashAttention, --attention flash2, it runs "
            "the windows alone");
}

/* Without the packages that have them, its modules go through chunks operator by operator.
 */
static void note_scans(struct sc_context *ctx, const struct sc__model *m) {
    bool found = false;
    for (uint32_t layer = 0; layer < m->layers; layer++)
        found = found || sc__model_mixer(m, layer) == SC__MIXER_DELTA;
    if (found)
        sc__note(
            ctx,
            "kernels-of-scans",
            "transformers runs the delta rule by the kernels of flash-linear-attention "
            "and causal-conv1d, as forecast, where they are installed; in plain PyTorch "
            "it takes several times as long, and more memory");
}

static void resolve_modules(struct sc_context *ctx,
                            const struct sc__model *m,
                            bool said, /* by more than a profile */
                            struct sc__plan *p) {
    if (p->fusion == SC__FUSION_EAGER)
        p->scores = SC__SCORES_PLAIN;
    if (p->fusion != SC__FUSION_HF)
        return;
    p->scores = module_scores(m);
    note_scans(ctx, m);
    if (p->scores == SC__SCORES_OPERATORS && !said)
        resolve_windows(ctx, m, p);
    if (p->scores == SC__SCORES_OPERATORS || said)
        return;
    p->attention = SC__ATTENTION_UNFUSED;
    sc__note(ctx,
             "unfused-attention",
             "transformers runs the attention of %s unfused, operator by operator over all "
             "scores%s; --attention says otherwise",
             m->family,
             p->scores == SC__SCORES_MATH ? ", in fp32" : "");
}

static void resolve_overlap(const sc_plan *g, struct sc__plan *p) {
    p->overlap_grad = sc__unless_said(g->overlap_grad, true);
    p->tp_overlap = choice(g->overlap_tp,
                           p->fusion == SC__FUSION_2021 ? SC__TP_BLOCKING : SC__TP_WGRAD);
    p->cp_kind = choice(g->cp_comm, SC__CP_RING);
    p->overlap_param = sc__is_on(g->overlap_param);
    p->shard_blocking = p->zero >= 2 && g->overlap_param == SC_OFF;
    /* DualPipe is made for it: a forward and a backward run in pairs */
    bool pairs = sc__schedule_is_dualpipe(p->schedule);
    p->overlap_moe = p->mesh.ep > 1 && sc__unless_said(g->overlap_moe, pairs);
}

static sc_status resolve_experts(struct sc_context *ctx,
                                 const sc_plan *g,
                                 const struct sc__model *m,
                                 struct sc__plan *p) {
    SC__TRY(sc__plan_resolve_routing(ctx, g, m, p));
    p->capacity = g->moe_capacity_factor;
    p->dedup = g->moe_dispatcher == SC_MOE_DISPATCHER_FLEX;
    p->moe_kernels = g->moe_kernels ? g->moe_kernels : SC_MOE_KERNELS_GROUPED;
    p->experts_in_turn = g->moe_routing == SC_MOE_ROUTING_IN_TURN;
    if (g->moe_dispatcher == SC_MOE_DISPATCHER_ALL_GATHER)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "alltoall or flex",
                        "--moe-token-dispatcher-type allgather is not simulated");
    if (!(p->imbalance >= 1))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "sc_plan.moe_imbalance is %g, and is at least 1",
                        p->imbalance);
    if (!(p->capacity >= 0))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "sc_plan.moe_capacity_factor is %g, and is positive",
                        p->capacity);
    sc__plan_cap_routing(p);
    return SC_OK;
}

/* DistributedDataParallel reduces the gradients of weights as they are. Who shards keeps
 * fp32 copies (DeepSpeed) or fp32 shards (FSDP). */
static bool copies_the_model(const sc_plan *g, const struct sc__plan *p) {
    bool sharded = g->zero > 0 || (g->zero < 0 && sc__is_on(g->torch_fsdp2));
    return p->mesh.dp == p->gpus && !sharded;
}

/* Of a gradient that adds up, unless it is given. */
static uint32_t summed_bytes(const sc_plan *g, const struct sc__plan *p) {
    bool narrow = g->grad_accum_dtype ? g->grad_accum_dtype != SC_DTYPE_FP32
                                      : p->grad_bytes == 2 && p->dtype == SC__BF16;
    return narrow ? 2 : 4;
}

/* Mixed precision keeps fp32 weights and state; plain PyTorch updates the
 * weights as they are. */
static void resolve_update(struct sc_context *ctx, const sc_plan *g, struct sc__plan *p) {
    bool plain = sc__fusion_eager(p->fusion) && (p->gpus == 1 || copies_the_model(g, p));
    if (plain && !g->update)
        sc__note(ctx,
                 "plain-update",
                 "plain PyTorch%s: the optimizer's state has the type of the weights, and "
                 "gradients are not clipped; --update mixed says otherwise, --update amp: "
                 "fp32 weights under autocast",
                 p->gpus == 1 ? " on one GPU" : ", the model whole on every GPU");
    p->plain_for_copies = plain && !g->update && p->gpus > 1;
    p->sharded_grad_bytes = p->grad_bytes;
    p->sharded_summed_bytes = summed_bytes(g, p);
    p->plain_update = g->update ? g->update == SC_UPDATE_PLAIN : plain;
    p->amp = g->update == SC_UPDATE_AMP && sc__plan_width(p) < 4;
    if (g->update == SC_UPDATE_AMP && !p->amp)
        p->plain_update = true;            /* fp32 throughout: there is nothing to cast */
    if (p->plain_update && !g->grad_dtype) /* PyTorch's have the type of their weights */
        p->grad_bytes = (uint32_t)sc__plan_width(p);
    p->summed_bytes = summed_bytes(g, p);
    p->optimizer_kind = choice(g->optimizer_kind, SC__OPTIMIZER_ADAM);
    p->types = (struct sc__optimizer_types){
        .main = choice(g->main_params_dtype, SC__FP32),
        .moments = {choice(g->exp_avg_dtype, SC__FP32),
                    choice(g->exp_avg_sq_dtype, SC__FP32)},
        .precise = sc__is_on(g->precision_aware),
    };
    unsigned usual = sc__fusion_eager(p->fusion) ? SC__LOSS_FP32 : SC__LOSS_FUSED;
    p->loss = choice(g->cross_entropy, usual);
}

static bool has_scans(const struct sc__model *m) {
    for (uint32_t i = 0; i < m->layers; i++) {
        enum sc__mixer mixer = sc__model_mixer(m, i);
        if (mixer == SC__MIXER_MAMBA || mixer == SC__MIXER_DELTA)
            return true;
    }
    return false;
}

/* Adapters, and what is frozen beside them. */
static sc_status resolve_adapters(struct sc_context *ctx,
                                  const sc_plan *g,
                                  const struct sc__model *m,
                                  struct sc__plan *p) {
    p->lora = g->lora;
    const char *alone = sc__is_on(g->qlora)           ? "qlora"
                        : sc__is_on(g->lora_fp32)     ? "lora-fp32"
                        : sc__is_on(g->lora_autocast) ? "lora-autocast"
                        : g->lora_targets             ? "lora-targets"
                                                      : NULL;
    if (!p->lora && alone)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "add --lora RANK",
                        "--%s says nothing without adapters",
                        alone);
    if (!p->lora)
        return SC_OK;
    p->lora_targets = g->lora_targets ? g->lora_targets : SC__LORA_Q | SC__LORA_V;
    if (!has_scans(m)) { /* others call that of attention so */
        bool out = p->lora_targets & SC__LORA_SCAN_OUT;
        p->lora_targets &= ~(unsigned)(SC__LORA_SCAN_IN | SC__LORA_SCAN_OUT);
        p->lora_targets |= out ? SC__LORA_OUT : 0;
    }
    if (!p->lora_targets)
        return sc__fail(
            ctx,
            SC_USAGE,
            NULL,
            "q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj or all",
            "--lora-targets in_proj: %s has no layers of Mamba or delta nets",
            m->name);
    bool narrow = sc__plan_width(p) < 4;
    p->lora_autocast = sc__is_on(g->lora_autocast) && narrow;
    p->lora_fp32 = (sc__is_on(g->lora_fp32) && narrow) || p->lora_autocast;
    p->qlora = sc__is_on(g->qlora);
    return SC_OK;
}

/* Megatron pads; plain PyTorch does not. */
static sc_status resolve_vocab(struct sc_context *ctx,
                               const sc_plan *g,
                               const struct sc__model *m,
                               struct sc__plan *p) {
    uint32_t usual = sc__fusion_eager(p->fusion) ? 1 : 128;
    uint32_t multiple = g->vocab_multiple ? g->vocab_multiple : usual;
    uint64_t unit = (uint64_t)multiple * p->mesh.tp;
    uint64_t padded = (m->vocab + unit - 1) / unit * unit;
    p->vocab = (uint32_t)padded;
    p->vocab_multiple = multiple;
    if (padded > UINT32_MAX)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "the vocabulary %u padded to a multiple of %u · tp %u is too large",
                        m->vocab,
                        multiple,
                        p->mesh.tp);
    return SC_OK;
}

static sc_status check_fields(struct sc_context *ctx, const sc_plan *g) {
    SC__TRY(sc__options_check(ctx, sc__model_options, SC__IN_PLAN, "sc_plan", g));
    bool special = g->gemm_dtype == SC_DTYPE_FP8 || g->gemm_dtype == SC_DTYPE_FP4;
    sc_dtype dtype = g->dtype ? g->dtype : SC_DTYPE_BF16;
    if (g->gemm_dtype && !special && g->gemm_dtype != dtype)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "as dtype, fp8 or fp4",
                        "sc_plan.gemm_dtype is %d",
                        (int)g->gemm_dtype);
    return SC_OK;
}

/* A plan from a caller with an older header ends early: what it lacks is as usual. */
static sc_status complete(struct sc_context *ctx, const sc_plan *given, sc_plan *out) {
    *out = (sc_plan)SC_PLAN_INIT;
    if (given->size < offsetof(sc_plan, tp) || given->size > 16 * sizeof *out)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "begin with sc_plan plan = SC_PLAN_INIT;",
                        "sc_plan.size is %zu",
                        given->size);
    memcpy(out, given, given->size < sizeof *out ? given->size : sizeof *out);
    out->size = sizeof *out;
    return SC_OK;
}

/* ---- software ---- */

static const char *recipe_name(unsigned recipe) {
    static const char *const names[] = {[SC_FP8_RECIPE_DELAYED] = "delayed",
                                        [SC_FP8_RECIPE_TENSORWISE] = "tensorwise",
                                        [SC_FP8_RECIPE_BLOCKWISE] = "blockwise",
                                        [SC_FP8_RECIPE_MXFP8] = "mxfp8",
                                        [SC_FP8_RECIPE_NVFP4] = "nvfp4",
                                        [SC_FP8_RECIPE_ROWWISE] = "rowwise"};
    return recipe < sizeof names / sizeof *names ? names[recipe] : NULL;
}

static struct sc__software_facts
software_facts(const sc_plan *g, const struct sc__model *m, const char *cluster_gpu) {
    struct sc__plan p = {0};
    struct sc__software_facts facts = {.model = m->name, .gpu = g->gpu};
    if (!facts.gpu)
        facts.gpu = cluster_gpu;
    resolve_precision(g, &p);
    facts.types[0] = sc__dtype_name(p.gemm);
    bool scaled = p.gemm == SC__FP8 || p.gemm == SC__FP4;
    facts.types[1] = scaled ? recipe_name(p.fp8_recipe) : NULL;
    return facts;
}

/* What else is likely to run it: adapters and shards of all weights are PyTorch's ways more
 * often than Megatron's, whose fused operators are faster. */
static const char *likelier_software(const sc_plan *g, const struct sc__software *assumed) {
    if (strcmp(assumed->stack, "megatron") != 0)
        return "";
    if (g->lora > 0)
        return "; transformers with adapters usually takes longer: --software "
               "hf-transformers";
    if (g->zero == 3)
        return "; plain PyTorch usually takes longer: --software fsdp-eager, "
               "torchtitan-2026 or "
               "hf-transformers";
    return "";
}

static sc_status find_software(struct sc_context *ctx,
                               const sc_plan *g,
                               const char *gpu,
                               const struct sc__software **out) {
    static const struct sc__str nothing = {"", 0};
    *out = NULL;
    if (g->software)
        SC__TRY(sc__software_find(ctx, g->software, nothing, out));
    if (*out)
        return SC_OK;
    SC__TRY(sc__software_read(ctx, sc__software_assumed(ctx, g, gpu), out));
    sc__note(ctx,
             "software-assumed",
             "what software runs it is not said: %s is assumed (%s); --software names it%s",
             (*out)->name,
             (*out)->title,
             likelier_software(g, *out));
    return SC_OK;
}

/* Tensor-parallel ranks that keep whole sequences would all send the same tokens to the
 * experts and compute them again. Megatron refuses it: "When using MoE and tensor
 * parallelism, sequence parallelism must be used" (megatron/training/arguments.py). */
static void cut_for_experts(struct sc_context *ctx, const struct sc__model *m, sc_plan *g) {
    if (!m->experts || g->tp <= 1 || g->sequence_parallel != SC_AUTO)
        return;
    g->sequence_parallel = SC_ON;
    sc__note(ctx,
             "sequence-parallel-assumed",
             "sequence parallel is on: Megatron trains experts with tensor parallelism "
             "in no other way, since every rank would compute the tokens of all");
}

static sc_status resolve_profile(struct sc_context *ctx,
                                 const struct sc__model *m,
                                 const struct sc__plan_surroundings *around,
                                 sc_plan *g,
                                 struct sc__plan *p) {
    const sc_plan given = *g;
    sc_options unused = SC_OPTIONS_INIT;
    sc_options *options = around->options ? around->options : &unused;
    const sc_toggle two_level = options->two_level;
    struct sc__software_facts facts = software_facts(g, m, around->gpu);
    SC__TRY(find_software(ctx, g, facts.gpu, &p->software));
    uint32_t without = around->without ? around->without - 1 : SC__SOFTWARE_ALL;
    p->software_used = SC__NEW_ARRAY(&ctx->arena, bool, p->software->count + 1);
    SC__TRY(sc__software_apply(ctx,
                               p->software,
                               &facts,
                               without,
                               g,
                               options,
                               p->software_used));
    cut_for_experts(ctx, m, g);
    sc__software_give_way(&given, two_level, g, options);
    return sc__software_constants(ctx,
                                  p->software,
                                  &facts,
                                  without,
                                  &p->software_constants,
                                  p->software_used);
}

sc_status sc__plan_resolve(struct sc_context *ctx,
                           const sc_plan *given,
                           const struct sc__model *m,
                           const struct sc__plan_surroundings *around,
                           struct sc__plan *p) {
    static const struct sc__plan_surroundings nowhere = {0};
    sc_plan g;
    around = around ? around : &nowhere;
    *p = (struct sc__plan){0};
    SC__TRY(complete(ctx, given, &g));
    SC__TRY(check_fields(ctx, &g));
    bool attention_said = g.attention != SC_ATTENTION_AUTO;
    bool fused = g.attention == SC_ATTENTION_FUSED;
    if (fused)
        g.attention = SC_ATTENTION_AUTO;
    else if (g.fusion == SC_FUSION_2021 && !g.attention) /* before a profile says its own */
        g.attention = SC_ATTENTION_UNFUSED;
    if (sc__is_on(g.liger_kernel) && !g.cross_entropy) /* the same */
        g.cross_entropy = SC_CROSS_ENTROPY_CHUNKED;
    uint32_t said = g.pipeline_batch;
    SC__TRY(resolve_profile(ctx, m, around, &g, p));
    if (fused && g.attention == SC_ATTENTION_UNFUSED)
        g.attention = SC_ATTENTION_FLASH2;
    SC__TRY(resolve_sizes(ctx, &g, m, around->gpus, p));
    SC__TRY(resolve_batch(ctx, &g, m, p));
    SC__TRY(resolve_pipeline(ctx, &g, m, p));
    sc__plan_resolve_runs(ctx, said, g.pipeline_batch, p);
    SC__TRY(resolve_recompute(ctx, &g, p));
    resolve_precision(&g, p);
    SC__TRY(resolve_wide_layers(ctx, &g, m, p));
    SC__TRY(resolve_spread(ctx, &g, p));
    SC__TRY(resolve_software(ctx, &g, p));
    resolve_modules(ctx, m, attention_said, p);
    resolve_update(ctx, &g, p);
    SC__TRY(sc__resolve_sharding(ctx, &g, p));
    resolve_overlap(&g, p);
    SC__TRY(resolve_experts(ctx, &g, m, p));
    SC__TRY(resolve_adapters(ctx, &g, m, p));
    SC__TRY(sc__resolve_offload(ctx, &g, m, p));
    SC__TRY(sc__plan_resolve_towers(ctx, &g, m, p));
    SC__TRY(sc__memory_figures(ctx, &p->figures));
    p->sequence_parallel = sc__is_on(g.sequence_parallel) && p->mesh.tp > 1;
    if (m->experts && p->mesh.tp > 1 && !p->sequence_parallel)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "leave --no-sequence-parallel out",
                        "experts with tp %u need sequence parallel: without it all tensor-"
                        "parallel ranks would compute the same tokens",
                        p->mesh.tp);
    if (p->tp_overlap == SC__TP_CHUNKS && p->mesh.tp > 1 && !p->sequence_parallel)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "give --sequence-parallel too",
                        "tensor-parallel collectives can only be cut into chunks with "
                        "sequence parallel");
    return resolve_vocab(ctx, &g, m, p);
}
