#include "plan/plan.h"

#include <math.h>
#include <string.h>

/* Two names of one thing may not differ. */
static sc_status
agree(const struct sc__settings *s, const char *name, const char *megatron) {
    const char *a = sc__setting(s, name);
    const char *b = sc__setting(s, megatron);
    if (a && b && strcmp(a, b))
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "give one of them",
                        "--%s %s contradicts --%s %s",
                        name,
                        a,
                        megatron,
                        b);
    return SC_OK;
}

/* The short name, or Megatron's. */
static sc_status number(const struct sc__settings *s,
                        const char *name,
                        const char *megatron,
                        uint32_t *out) {
    SC__TRY(agree(s, name, megatron));
    SC__TRY(sc__setting_u32(s, megatron, 1, out));
    return sc__setting_u32(s, name, 1, out);
}

static sc_status
yes_no(const struct sc__settings *s, const char *name, const char *megatron, bool *out) {
    static const char *const words[] = {"no", "yes", NULL};
    unsigned v = *out;
    if (megatron && sc__setting_flag(s, megatron))
        v = 1;
    SC__TRY(sc__setting_word(s, name, words, &v));
    *out = v;
    return SC_OK;
}

static sc_status word(const struct sc__settings *s,
                      const char *name,
                      const char *const *words,
                      unsigned *out) {
    return sc__setting_word(s, name, words, out);
}

static sc_status
read_sizes(const struct sc__settings *s, uint32_t cluster_gpus, struct sc__plan *p) {
    uint32_t tp = 1;
    uint32_t cp = 1;
    uint32_t pp = 1;
    uint32_t ep = 1;
    uint32_t etp = 0;
    uint32_t dp = 0;
    SC__TRY(number(s, "tp", "tensor-model-parallel-size", &tp));
    SC__TRY(number(s, "cp", "context-parallel-size", &cp));
    SC__TRY(number(s, "pp", "pipeline-model-parallel-size", &pp));
    SC__TRY(number(s, "ep", "expert-model-parallel-size", &ep));
    SC__TRY(number(s, "etp", "expert-tensor-parallel-size", &etp));
    SC__TRY(sc__setting_u32(s, "dp", 1, &dp));
    SC__TRY(sc__setting_u32(s, "gpus", 1, &p->gpus));
    uint64_t cut = (uint64_t)tp * cp * pp;
    if (cut > 1u << 30)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "tp·cp·pp = %llu is too many ranks",
                        (unsigned long long)cut);
    if (!p->gpus && !dp)
        p->gpus = cluster_gpus;
    if (!p->gpus)
        p->gpus = (uint32_t)cut * (dp ? dp : 1);
    if (!dp)
        dp = (uint32_t)(p->gpus / cut);
    p->mesh = sc__mesh(tp, cp, ep, dp, pp, etp);
    return SC_OK;
}

/* --micro-batches gives what is not given of the global batch and the
 * micro-batch, or must agree with both. */
static sc_status read_micro_batches(const struct sc__settings *s, struct sc__plan *p) {
    uint32_t count = 0;
    bool sized = sc__setting(s, "micro-batch") || sc__setting(s, "micro-batch-size");
    SC__TRY(sc__setting_u32(s, "micro-batches", 1, &count));
    uint64_t each = (uint64_t)count * p->mesh.dp;
    uint64_t all = each * p->micro_batch;
    if (!count || !p->mesh.dp)
        return SC_OK;
    if (!p->global_batch && all <= UINT32_MAX)
        p->global_batch = (uint32_t)all;
    if (!sized && p->global_batch % each == 0)
        p->micro_batch = (uint32_t)(p->global_batch / each);
    if (p->global_batch != each * p->micro_batch)
        return sc__fail(
            s->ctx,
            SC_USAGE,
            NULL,
            "leave one of them out",
            "%u micro-batches on dp %u are not a global batch of %u with %u in each",
            count,
            p->mesh.dp,
            p->global_batch,
            p->micro_batch);
    return SC_OK;
}

static sc_status
read_batch(const struct sc__settings *s, const struct sc__model *m, struct sc__plan *p) {
    p->micro_batch = 1;
    SC__TRY(number(s, "micro-batch", "micro-batch-size", &p->micro_batch));
    SC__TRY(number(s, "global-batch", "global-batch-size", &p->global_batch));
    SC__TRY(number(s, "seq", "seq-length", &p->seq));
    if (!p->seq) {
        p->seq = m->context && m->context <= 8192 ? m->context : 4096;
        sc__note(s->ctx,
                 "seq-assumed",
                 "no --seq is given: sequences of %u tokens are assumed",
                 p->seq);
    }
    SC__TRY(read_micro_batches(s, p));
    if (!p->global_batch) {
        uint32_t per_rank = p->mesh.pp > 1 ? 4 * p->mesh.pp : 1;
        p->global_batch = p->mesh.dp * p->micro_batch * per_rank;
        sc__note(s->ctx,
                 "batch-assumed",
                 "no --global-batch is given: a batch of %u is assumed (%u micro-batch%s)",
                 p->global_batch,
                 per_rank,
                 per_rank == 1 ? "" : "es");
    }
    if (p->mesh.dp)
        p->micro_batches = p->global_batch / (p->mesh.dp * p->micro_batch);
    return SC_OK;
}

static sc_status
read_vpp(const struct sc__settings *s, const struct sc__model *m, struct sc__plan *p) {
    static const char option[] = "num-layers-per-virtual-pipeline-stage";
    uint32_t each = 0;
    uint32_t vpp = 0;
    SC__TRY(sc__setting_u32(s, option, 1, &each));
    SC__TRY(number(s, "vpp", "num-virtual-stages-per-pipeline-rank", &vpp));
    uint32_t stage = m->layers / p->mesh.pp;
    if (each && stage % each)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "or give the number of chunks with --vpp",
                        "--%s %u does not divide the %u layers of a stage",
                        option,
                        each,
                        stage);
    if (each && vpp && vpp != stage / each)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "give one of them",
                        "--%s %u gives vpp %u, not %u",
                        option,
                        each,
                        stage / each,
                        vpp);
    p->vpp = vpp ? vpp : each ? stage / each : 1;
    return SC_OK;
}

static sc_status
read_pipeline(const struct sc__settings *s, const struct sc__model *m, struct sc__plan *p) {
    static const char *const names[] =
        {"auto", "1f1b", "gpipe", "interleaved", "zb-h1", "zb-2p", "zb-v", NULL};
    unsigned schedule = SC__SCHEDULE_AUTO;
    SC__TRY(read_vpp(s, m, p));
    SC__TRY(sc__setting_u32(s, "decoder-first-pipeline-num-layers", 1, &p->first_layers));
    SC__TRY(sc__setting_u32(s, "decoder-last-pipeline-num-layers", 1, &p->last_layers));
    SC__TRY(word(s, "schedule", names, &schedule));
    p->schedule = (enum sc__schedule)schedule;
    bool said = sc__setting(s, "num-layers-per-virtual-pipeline-stage") ||
                sc__setting(s, "vpp") ||
                sc__setting(s, "num-virtual-stages-per-pipeline-rank");
    if (p->schedule == SC__SCHEDULE_ZBV && !said)
        p->vpp = 2;
    if (p->schedule == SC__SCHEDULE_AUTO)
        p->schedule = p->vpp > 1 ? SC__SCHEDULE_INTERLEAVED : SC__SCHEDULE_1F1B;
    p->uneven = sc__setting_flag(s, "uneven-stages");
    p->count_embedding = sc__setting_flag(s, "account-for-embedding-in-pipeline-split");
    p->count_loss = sc__setting_flag(s, "account-for-loss-in-pipeline-split");
    p->scatter_gather = !sc__setting_flag(s, "no-scatter-gather-tensors-in-pipeline");
    p->overlap_p2p = p->vpp > 1 || sc__schedule_overlaps_steps(p->schedule);
    return yes_no(s, "overlap-p2p", NULL, &p->overlap_p2p);
}

/* What a word in a list stands for. */
struct named_bits {
    const char *name;
    unsigned bits;
};

/* Words with commas, or blanks as Megatron's scripts have them, each of the table. */
static sc_status read_bits(const struct sc__settings *s,
                           const char *option,
                           const char *text,
                           const struct named_bits *table,
                           const char *hint,
                           unsigned *out) {
    struct sc__str rest = sc__str(text);
    struct sc__str part;
    while (sc__split(&rest, strchr(text, ' ') ? ' ' : ',', &part)) {
        const struct named_bits *n = table;
        while (n->name && !sc__str_is(part, n->name))
            n++;
        if (!n->name)
            return sc__fail(s->ctx,
                            SC_USAGE,
                            NULL,
                            hint,
                            "--%s: unknown '%.*s'",
                            option,
                            SC__SHOW(part));
        *out |= n->bits;
    }
    return SC_OK;
}

static sc_status read_modules(const struct sc__settings *s, struct sc__plan *p) {
    static const struct named_bits modules[] = {
        {"core_attn", SC__MODULE_CORE},
        {"layernorm", SC__MODULE_NORM},
        {"act", SC__MODULE_ACTIVATION | SC__MODULE_EXPERT_ACTIVATION},
        {"mlp", SC__MODULE_MLP},
        {"moe_act", SC__MODULE_EXPERT_ACTIVATION},
        {"moe", SC__MODULE_MOE},
        {"shared_experts", SC__MODULE_SHARED},
        {"mla_up_proj", SC__MODULE_LATENT},
        {0}};
    const char *text = sc__setting(s, "recompute-modules");
    return read_bits(
        s,
        "recompute-modules",
        text ? text : "core_attn",
        modules,
        "core_attn, layernorm, act, mlp, moe, moe_act, shared_experts or mla_up_proj",
        &p->recompute_modules);
}

static sc_status read_recompute(const struct sc__settings *s, struct sc__plan *p) {
    static const char *const kinds[] = {"none", "selective", "full", "ops", NULL};
    static const char *const methods[] = {"uniform", "block", NULL};
    unsigned block = 0;
    SC__TRY(agree(s, "recompute", "recompute-granularity"));
    if (sc__setting_flag(s, "recompute-activations"))
        p->recompute = SC__RECOMPUTE_SELECTIVE;
    SC__TRY(word(s, "recompute-granularity", kinds, &p->recompute));
    SC__TRY(word(s, "recompute", kinds, &p->recompute));
    SC__TRY(word(s, "recompute-method", methods, &block));
    p->recompute_block = block && p->recompute == SC__RECOMPUTE_FULL;
    SC__TRY(number(s, "recompute-layers", "recompute-num-layers", &p->recompute_layers));
    if (p->recompute_block && !p->recompute_layers)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "give --recompute-layers N too",
                        "--recompute-method block does not say how many layers of a stage");
    return read_modules(s, p);
}

static sc_status read_precision(const struct sc__settings *s, struct sc__plan *p) {
    static const char *const types[] = {"fp32", "tf32", "fp16", "bf16", NULL};
    static const char *const wire[] = {"fp32", "bf16", "fp16", NULL};
    static const char *const formats[] = {"e4m3", "hybrid", NULL};
    static const char *const scalings[] = {"fused", "dynamic", NULL};
    unsigned grad = 0;
    unsigned format = 0;
    unsigned scaling = 0;
    bool fp16 = sc__setting_flag(s, "fp16"), bf16 = sc__setting_flag(s, "bf16");
    p->dtype = fp16 ? SC__FP16 : SC__BF16;
    SC__TRY(word(s, "dtype", types, &p->dtype));
    if ((fp16 && p->dtype != SC__FP16) || (bf16 && p->dtype != SC__BF16))
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "give one type",
                        "--%s contradicts --%s",
                        fp16 ? "fp16" : "bf16",
                        sc__setting(s, "dtype") ? "dtype" : "fp16");
    p->gemm = p->dtype;
    SC__TRY(word(s, "fp8-format", formats, &format));
    if (sc__setting_flag(s, "fp8") || sc__setting_flag(s, "fp8-format"))
        p->gemm = SC__FP8;
    if (sc__setting_flag(s, "fp4"))
        p->gemm = SC__FP4;
    p->fp8_attention = sc__setting_flag(s, "fp8-dot-product-attention");
    SC__TRY(word(s, "fp8-scaling", scalings, &scaling));
    p->dynamic_casts = scaling;
    if (p->dtype == SC__FP16 || sc__setting_flag(s, "grad-reduce-in-bf16"))
        grad = 1;
    SC__TRY(word(s, "grad-dtype", wire, &grad));
    p->grad_bytes = grad ? 2 : 4;
    return SC_OK;
}

static sc_status read_sharding(const struct sc__settings *s, struct sc__plan *p) {
    static const char *const zeros[] = {"0", "1", "2", "3", NULL};
    if (sc__setting_flag(s, "use-distributed-optimizer"))
        p->zero = 1;
    p->torch_copies = sc__setting_flag(s, "use-torch-fsdp2");
    if (p->torch_copies || sc__setting_flag(s, "use-megatron-fsdp"))
        p->zero = 3;
    SC__TRY(word(s, "zero", zeros, &p->zero));
    uint32_t params = 0;
    uint64_t dflt = p->mesh.dp > 40 ? (uint64_t)p->mesh.dp * 1000000
                                    : 40000000; /* Megatron's own rule */
    SC__TRY(sc__setting_u32(s, "ddp-bucket-size", 1, &params));
    p->bucket = (params ? params : dflt) * p->grad_bytes;
    SC__TRY(sc__setting_bytes(s, "bucket", &p->bucket));
    if (params && sc__setting(s, "bucket") && p->bucket != (uint64_t)params * p->grad_bytes)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "give one of them",
                        "--bucket contradicts --ddp-bucket-size %u of %u bytes each",
                        params,
                        p->grad_bytes);
    if (!p->bucket)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "leave it out for Megatron's own rule",
                        "a bucket of 0 bytes is none");
    return SC_OK;
}

static sc_status read_overlap(const struct sc__settings *s, struct sc__plan *p) {
    static const char *const tp[] = {"no", "wgrad", "chunks", NULL};
    static const char *const cp[] = {"p2p", "all_gather", "a2a", "allgather", NULL};
    bool script = sc__setting(s, "megatron-args") != NULL;
    p->overlap_grad = !script;
    p->tp_overlap = sc__setting_flag(s, "tp-comm-overlap") ? SC__TP_CHUNKS
                    : p->fusion == SC__FUSION_2021         ? SC__TP_BLOCKING
                                                           : SC__TP_WGRAD;
    SC__TRY(word(s, "overlap-tp", tp, &p->tp_overlap));
    SC__TRY(word(s, "cp-comm-type", cp, &p->cp_kind));
    if (p->cp_kind > SC__CP_ALLTOALL)
        p->cp_kind = SC__CP_GATHER;
    SC__TRY(yes_no(s, "overlap-grad", "overlap-grad-reduce", &p->overlap_grad));
    SC__TRY(yes_no(s, "overlap-param", "overlap-param-gather", &p->overlap_param));
    return yes_no(s, "overlap-moe", "overlap-moe-expert-parallel-comm", &p->overlap_moe);
}

static sc_status plan_read_experts(const struct sc__settings *s, struct sc__plan *p) {
    static const char *const dispatchers[] = {"alltoall", "allgather", "flex", NULL};
    static const char *const kernels[] = {"fused", "unfused", NULL};
    unsigned dispatcher = 0;
    unsigned unfused = 0;
    p->imbalance = 1;
    SC__TRY(sc__setting_double(s, "moe-imbalance", &p->imbalance));
    SC__TRY(sc__setting_double(s, "moe-expert-capacity-factor", &p->capacity));
    SC__TRY(word(s, "moe-token-dispatcher-type", dispatchers, &dispatcher));
    p->dedup = dispatcher == 2;
    unfused = sc__setting_flag(s, "moe-unfused");
    SC__TRY(word(s, "moe-kernels", kernels, &unfused));
    p->moe_unfused = unfused;
    if (dispatcher == 1)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "alltoall or flex",
                        "--moe-token-dispatcher-type allgather is not simulated");
    if (p->imbalance < 1 ||
        (sc__setting(s, "moe-expert-capacity-factor") && p->capacity <= 0))
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--moe-imbalance is at least 1, and a capacity factor is positive");
    if (p->capacity > 0 && p->imbalance > p->capacity)
        p->imbalance = p->capacity;
    return SC_OK;
}

/* Megatron pads; plain PyTorch does not. */
static sc_status
read_vocab(const struct sc__settings *s, const struct sc__model *m, struct sc__plan *p) {
    uint32_t multiple = sc__fusion_eager(p->fusion) ? 1 : 128;
    SC__TRY(sc__setting_u32(s, "make-vocab-size-divisible-by", 1, &multiple));
    uint64_t unit = (uint64_t)multiple * p->mesh.tp;
    uint64_t padded = (m->vocab + unit - 1) / unit * unit;
    p->vocab = (uint32_t)padded;
    if (padded > UINT32_MAX)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "the vocabulary %u padded to a multiple of %u · tp %u is too large",
                        m->vocab,
                        multiple,
                        p->mesh.tp);
    return SC_OK;
}

/* --cuda-graph, or Megatron's --cuda-graph-scope unless --cuda-graph-impl is none. */
static sc_status read_graphs(const struct sc__settings *s, struct sc__plan *p) {
    static const struct named_bits scopes[] = {
        {"none", 0},
        {"attn", SC__GRAPH_ATTENTION},
        {"mlp", SC__GRAPH_MLP},
        {"moe", SC__GRAPH_ROUTER | SC__GRAPH_MLP},
        {"moe_router", SC__GRAPH_ROUTER},
        {"moe_preprocess", SC__GRAPH_ROUTER},
        {"full_layer", SC__GRAPH_ATTENTION | SC__GRAPH_ROUTER | SC__GRAPH_MLP},
        {"full_iteration", SC__GRAPH_FULL},
        {"full", SC__GRAPH_FULL},
        {0}};
    const char *impl = sc__setting(s, "cuda-graph-impl");
    const char *text = sc__setting(s, "cuda-graph");
    if (!text && impl && !strcmp(impl, "none"))
        return SC_OK;
    if (!text)
        text = sc__setting(s, "cuda-graph-scope");
    if (!text && impl)
        text = strcmp(impl, "full_iteration") ? "full_layer" : impl;
    if (!text)
        return SC_OK;
    return read_bits(s,
                     "cuda-graph",
                     text,
                     scopes,
                     "attn, mlp, moe_router, moe_preprocess, full_layer or full_iteration",
                     &p->graphs);
}

static sc_status read_software(const struct sc__settings *s, struct sc__plan *p) {
    static const char *const fusions[] = {"megatron", "eager", "2021", "hf", NULL};
    static const char *const kernels[] = {"current", "flash2", "flash1", NULL};
    SC__TRY(word(s, "fusion", fusions, &p->fusion));
    SC__TRY(word(s, "attention", kernels, &p->attention));
    SC__TRY(read_graphs(s, p));
    p->dropout = sc__setting_flag(s, "dropout") || p->fusion == SC__FUSION_2021;
    p->host_launch = -1;
    SC__TRY(sc__setting_double(s, "host-launch", &p->host_launch));
    if (sc__setting(s, "host-launch") && p->host_launch < 0)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "0 for CUDA graphs",
                        "--host-launch is a time from 0 on");
    p->kernel_times = sc__setting(s, "kernel-times");
    p->constants = sc__setting(s, "step-constants");
    p->gpu = sc__setting(s, "gpu");
    p->ignore_memory = sc__setting_flag(s, "ignore-memory");
    p->optimizer = !sc__setting_flag(s, "no-optimizer");
    return SC_OK;
}

/* Mixed precision keeps fp32 weights and state; plain PyTorch updates the
 * weights as they are. */
static sc_status read_optimizer(const struct sc__settings *s, struct sc__plan *p) {
    static const char *const kinds[] = {"mixed", "plain", NULL};
    uint32_t kind = sc__fusion_eager(p->fusion) && p->gpus == 1;
    if (kind && !sc__setting(s, "update"))
        sc__note(s->ctx,
                 "plain-update",
                 "plain PyTorch on one GPU: the optimizer's state has the type of the "
                 "weights, and "
                 "gradients are not clipped; --update mixed says otherwise");
    SC__TRY(word(s, "update", kinds, &kind));
    p->plain_update = kind == 1;
    return SC_OK;
}

sc_status sc__plan_read(struct sc_context *ctx,
                        const struct sc__settings *s,
                        const struct sc__model *m,
                        uint32_t cluster_gpus,
                        struct sc__plan *p) {
    *p = (struct sc__plan){0};
    SC__TRY(read_sizes(s, cluster_gpus, p));
    SC__TRY(read_batch(s, m, p));
    SC__TRY(read_pipeline(s, m, p));
    SC__TRY(read_recompute(s, p));
    SC__TRY(read_precision(s, p));
    SC__TRY(read_software(s, p));
    SC__TRY(read_sharding(s, p));
    SC__TRY(read_overlap(s, p));
    SC__TRY(plan_read_experts(s, p));
    SC__TRY(read_optimizer(s, p));
    p->sequence_parallel = sc__setting_flag(s, "sequence-parallel") && p->mesh.tp > 1;
    if (p->tp_overlap == SC__TP_CHUNKS && p->mesh.tp > 1 && !p->sequence_parallel)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "give --sequence-parallel too",
                        "tensor-parallel collectives can only be cut into chunks with "
                        "sequence parallel");
    return read_vocab(s, m, p);
}

double sc__plan_tokens(const struct sc__plan *p) {
    return (double)p->micro_batch * p->seq / p->mesh.cp;
}
double sc__plan_tokens_sp(const struct sc__plan *p) {
    return sc__plan_tokens(p) / (p->sequence_parallel ? p->mesh.tp : 1);
}

double sc__plan_width(const struct sc__plan *p) {
    return p->dtype == SC__FP32 || p->dtype == SC__TF32 ? 4 : 2;
}

double sc__plan_message(const struct sc__plan *p, const struct sc__model *m) {
    double whole = sc__plan_tokens(p) * m->hidden * sc__plan_width(p);
    bool cut =
        p->sequence_parallel || (p->scatter_gather && p->mesh.tp > 1 && p->mesh.pp > 1);
    return cut ? whole / p->mesh.tp : whole;
}

double sc__plan_copies(const struct sc__plan *p, const struct sc__model *m) {
    double ep = p->mesh.ep;
    return p->dedup && ep > 1 ? ep * (1 - pow(1 - 1 / ep, m->topk)) : m->topk;
}

/* Ends may come out empty: then the embedding or the head is all they do. */
static uint32_t even_share(uint32_t layers,
                           uint32_t chunks,
                           uint32_t extra_front,
                           uint32_t extra_back,
                           uint32_t i) {
    uint32_t units = layers + extra_front + extra_back;
    uint32_t base = units / chunks;
    uint32_t more = units % chunks;
    uint32_t n = base + (i >= chunks - more ? 1 : 0);
    if (i == 0)
        n -= extra_front < n ? extra_front : n;
    if (i == chunks - 1)
        n -= extra_back < n ? extra_back : n;
    return n;
}

/* What the ends count for beside their layers so that all chunks come out
 * equal: the embedding and the loss a layer each, or the loss alone; with a
 * prediction layer its layer and its loss as well, or its layer alone. */
static bool
find_ends(uint32_t layers, uint32_t mtp, uint32_t chunks, uint32_t *front, uint32_t *back) {
    const uint32_t tries[][2] = {{0, 1 + 2 * mtp}, {1, 1 + mtp}, {0, 1 + mtp}};
    for (unsigned i = mtp ? 0 : 1; i < 3; i++) {
        uint32_t units = layers + tries[i][0] + tries[i][1];
        if (units % chunks || units / chunks < tries[i][1])
            continue;
        *front = tries[i][0], *back = tries[i][1];
        return true;
    }
    return false;
}

/* Layers of chunk i of `chunks` in the order of the data. Even where it goes
 * up; else with the ends counted as find_ends has it; else, where up to three
 * layers are missing, they are missing in the last chunk, which has the head;
 * else as even as possible. */
static uint32_t
chunk_layers(const struct sc__plan *p, const struct sc__model *m, uint32_t i) {
    uint32_t chunks = p->mesh.pp * p->vpp;
    uint32_t l = m->layers;
    uint32_t front = 0;
    uint32_t back = 0;
    if (p->count_embedding || p->count_loss)
        return even_share(l, chunks, p->count_embedding, p->count_loss, i);
    if (p->first_layers || p->last_layers) {
        uint32_t ends = (p->first_layers ? 1u : 0u) + (p->last_layers ? 1u : 0u);
        uint32_t middle = chunks > ends ? chunks - ends : 1;
        if (i == 0 && p->first_layers)
            return p->first_layers;
        if (i == chunks - 1 && p->last_layers)
            return p->last_layers;
        return (l - p->first_layers - p->last_layers) / middle;
    }
    if (l % chunks == 0 && !(p->uneven && m->mtp_layers))
        return l / chunks;
    if (!find_ends(l, m->mtp_layers, chunks, &front, &back)) {
        uint32_t missing = (chunks - l % chunks) % chunks;
        if (missing <= 3 && missing < (l + missing) / chunks)
            back = missing;
    }
    return even_share(l, chunks, front, back, i);
}

uint32_t sc__plan_layers(const struct sc__plan *p,
                         const struct sc__model *m,
                         uint32_t stage,
                         uint32_t chunk,
                         uint32_t *first) {
    uint32_t at = sc__schedule_part(p->schedule, p->mesh.pp, stage, chunk);
    *first = 0;
    for (uint32_t i = 0; i < at; i++)
        *first += chunk_layers(p, m, i);
    return chunk_layers(p, m, at);
}

static double rank_share(const struct sc__plan *p,
                         const struct sc__model *m,
                         uint32_t layer,
                         double *experts) {
    struct sc__model_params n;
    double tp = p->mesh.tp;
    sc__model_count(m, &n);
    *experts = 0;
    double whole = n.norms;
    double cut = n.attention;
    if (m->linear_bias)
        whole += 2.0 * m->hidden, cut -= m->hidden; /* row-parallel biases are not cut */
    if (sc__model_has_experts(m, layer)) {
        *experts = n.experts / p->mesh.ep / p->mesh.etp;
        return whole + cut / tp + n.router + n.shared / tp;
    }
    cut += n.dense_mlp - (m->linear_bias ? m->hidden : 0);
    return whole + cut / tp;
}

struct sc__shard
sc__plan_layer_shard(const struct sc__plan *p, const struct sc__model *m, uint32_t layer) {
    struct sc__shard s;
    s.dense = rank_share(p, m, layer, &s.experts);
    return s;
}

double sc__plan_embedding_shard(const struct sc__plan *p, const struct sc__model *m) {
    return (double)p->vocab * m->hidden / p->mesh.tp + (double)m->positions * m->hidden;
}

uint32_t sc__plan_last_stage(const struct sc__plan *p) {
    return sc__schedule_last_stage(p->schedule, p->mesh.pp);
}

double
sc__plan_head_shard(const struct sc__plan *p, const struct sc__model *m, uint32_t stage) {
    bool copy = !m->tied || stage != 0;
    return (copy ? (double)p->vocab * m->hidden / p->mesh.tp : 0) +
           m->hidden * (m->norm_bias ? 2.0 : 1.0);
}

struct sc__shard
sc__plan_stage_shard(const struct sc__plan *p, const struct sc__model *m, uint32_t stage) {
    struct sc__shard sum = {0};
    for (uint32_t c = 0; c < p->vpp; c++) {
        uint32_t first;
        uint32_t n = sc__plan_layers(p, m, stage, c, &first);
        for (uint32_t i = first; i < first + n; i++) {
            struct sc__shard s = sc__plan_layer_shard(p, m, i);
            sum.dense += s.dense;
            sum.experts += s.experts;
        }
    }
    if (stage == 0)
        sum.dense += sc__plan_embedding_shard(p, m);
    if (stage == sc__plan_last_stage(p))
        sum.dense += sc__plan_head_shard(p, m, stage);
    return sum;
}
