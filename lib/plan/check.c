/* check: plans that cannot be run are refused with the numbers and the
 * nearest ones that can. */
#include "plan/plan.h"

/* "4 or 8": the divisors of n next to x, below and above. */
static const char *
near_divisors(struct sc_context *ctx, uint64_t n, uint64_t x, const char *what) {
    uint64_t below = 0;
    uint64_t above = 0;
    for (uint64_t d = x > n ? n : x; d >= 1 && !below; d--)
        if (n % d == 0 && d != x)
            below = d;
    for (uint64_t d = x + 1; d <= n && d <= x * 64 && !above; d++)
        if (n % d == 0)
            above = d;
    if (below && above)
        return sc__format(&ctx->arena,
                          "%s %llu or %llu would do",
                          what,
                          (unsigned long long)below,
                          (unsigned long long)above);
    return sc__format(&ctx->arena,
                      "%s %llu would do",
                      what,
                      (unsigned long long)(below ? below : above));
}

static const char *
near_multiples(struct sc_context *ctx, uint64_t unit, uint64_t x, const char *what) {
    uint64_t below = x / unit * unit;
    if (below)
        return sc__format(&ctx->arena,
                          "%s %llu or %llu would do",
                          what,
                          (unsigned long long)below,
                          (unsigned long long)(below + unit));
    return sc__format(&ctx->arena, "%s %llu would do", what, (unsigned long long)unit);
}

static sc_status check_ranks(struct sc_context *ctx, const struct sc__plan *p) {
    const struct sc__mesh *d = &p->mesh;
    uint32_t cut = d->tp * d->cp * d->pp;
    if (!d->dp || p->gpus % cut || p->gpus / cut != d->dp) {
        if (d->dp && p->gpus % cut == 0)
            return sc__fail(ctx,
                            SC_USAGE,
                            NULL,
                            sc__format(&ctx->arena,
                                       "dp %u, or %u GPUs, would do",
                                       p->gpus / cut,
                                       cut * d->dp),
                            "%u GPUs are not tp %u · cp %u · pp %u · dp %u = %u",
                            p->gpus,
                            d->tp,
                            d->cp,
                            d->pp,
                            d->dp,
                            cut * d->dp);
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        near_multiples(ctx, cut, p->gpus, "GPUs:"),
                        "%u GPUs are not a multiple of tp %u · cp %u · pp %u = %u",
                        p->gpus,
                        d->tp,
                        d->cp,
                        d->pp,
                        cut);
    }
    uint64_t ranks = (uint64_t)d->tp * d->cp * d->dp;
    if (ranks % ((uint64_t)d->ep * d->etp))
        return sc__fail(
            ctx,
            SC_USAGE,
            NULL,
            ranks % d->etp ? near_divisors(ctx, ranks, d->etp, "etp")
                           : near_divisors(ctx, ranks / d->etp, d->ep, "ep"),
            "ep %u · etp %u does not divide the %u ranks of a stage (tp %u · cp %u · dp "
            "%u)",
            d->ep,
            d->etp,
            d->tp * d->cp * d->dp,
            d->tp,
            d->cp,
            d->dp);
    return SC_OK;
}

static sc_status check_kv_heads(struct sc_context *ctx, uint32_t kv_heads, uint32_t tp) {
    if (kv_heads % tp == 0 || tp % kv_heads == 0)
        return SC_OK;
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    near_divisors(ctx, kv_heads, tp, "tp"),
                    "tp %u neither divides nor is a multiple of the %u key-value heads",
                    tp,
                    kv_heads);
}

/* Heads of a tensor-parallel rank that ranks of cp share out among them. */
static sc_status check_exchanged(struct sc_context *ctx,
                                 const struct sc__plan *p,
                                 uint32_t heads,
                                 const char *of) {
    uint32_t local = heads > p->mesh.tp ? heads / p->mesh.tp : 1;
    if (local % p->mesh.cp == 0)
        return SC_OK;
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    near_divisors(ctx, local, p->mesh.cp, "--cp"),
                    "cp %u exchanges heads for tokens, but does not divide the %u %s of a "
                    "tensor-parallel rank",
                    p->mesh.cp,
                    local,
                    of);
}

/* Transformer Engine's a2a asks for heads of queries and of keys that cp divides;
 * Megatron's scans go by heads, whatever the attention does. */
static sc_status check_exchange(struct sc_context *ctx,
                                const struct sc__model *m,
                                const struct sc__plan *p) {
    if (p->mesh.cp == 1)
        return SC_OK;
    if (m->scan_heads)
        SC__TRY(check_exchanged(ctx, p, m->scan_heads, "heads of scans"));
    if (p->cp_kind != SC__CP_ALLTOALL)
        return SC_OK;
    SC__TRY(check_exchanged(ctx, p, m->heads, "attention heads"));
    for (uint32_t i = 0; i < m->layers; i++) {
        struct sc__attention_heads x = sc__model_attention_heads(m, i);
        if (sc__model_mixer(m, i) == SC__MIXER_ATTENTION)
            SC__TRY(check_exchanged(ctx, p, x.kv_heads, "key-value heads"));
    }
    return SC_OK;
}

static sc_status
check_cut(struct sc_context *ctx, const struct sc__model *m, const struct sc__plan *p) {
    uint32_t tp = p->mesh.tp;
    if (m->heads % tp)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        near_divisors(ctx, m->heads, tp, "tp"),
                        "tp %u does not divide the %u attention heads",
                        tp,
                        m->heads);
    for (uint32_t i = 0; i < m->layers; i++)
        SC__TRY(check_kv_heads(ctx, sc__model_attention_heads(m, i).kv_heads, tp));
    if (m->ffn % tp)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        near_divisors(ctx, m->ffn, tp, "tp"),
                        "tp %u does not divide the feed-forward size %u",
                        tp,
                        m->ffn);
    if (m->scan_heads % tp || m->scan_groups % tp)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        near_divisors(ctx, m->scan_groups, tp, "tp"),
                        "tp %u does not divide the %u heads and %u groups of the scans",
                        tp,
                        m->scan_heads,
                        m->scan_groups);
    if (m->shared_ffn % tp)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        near_divisors(ctx, m->shared_ffn, tp, "tp"),
                        "tp %u does not divide the shared experts' feed-forward size %u",
                        tp,
                        m->shared_ffn);
    return SC_OK;
}

static sc_status
check_experts(struct sc_context *ctx, const struct sc__model *m, const struct sc__plan *p) {
    if (p->mesh.ep > 1 && !m->experts)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "leave --ep out",
                        "ep %u, but %s has no experts",
                        p->mesh.ep,
                        m->name);
    uint32_t worst = p->mesh.ep > 1 ? p->mesh.ep : m->experts;
    if (m->experts && p->imbalance > worst * (1 + 1e-9))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "1 is balanced; all tokens on one rank of ep is the worst",
                        "--moe-imbalance %g is more than %u %s could cause",
                        p->imbalance,
                        worst,
                        p->mesh.ep > 1 ? "ranks of ep" : "experts");
    if (m->experts % p->mesh.ep)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        near_divisors(ctx, m->experts, p->mesh.ep, "ep"),
                        "ep %u does not divide the %u experts",
                        p->mesh.ep,
                        m->experts);
    if (m->experts && m->expert_ffn % p->mesh.etp)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        near_divisors(ctx, m->expert_ffn, p->mesh.etp, "--etp"),
                        "etp %u does not divide the experts' feed-forward size %u",
                        p->mesh.etp,
                        m->expert_ffn);
    return SC_OK;
}

static sc_status check_sequence(struct sc_context *ctx, const struct sc__plan *p) {
    if (p->mesh.cp > 1 && p->seq % (2 * p->mesh.cp))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        near_multiples(ctx, 2 * p->mesh.cp, p->seq, "--seq"),
                        "a sequence of %u tokens does not cut into 2·cp = %u equal pieces",
                        p->seq,
                        2 * p->mesh.cp);
    if (p->sequence_parallel && p->seq / p->mesh.cp % p->mesh.tp)
        return sc__fail(
            ctx,
            SC_USAGE,
            NULL,
            near_multiples(ctx, (uint64_t)p->mesh.tp * p->mesh.cp, p->seq, "--seq"),
            "sequence parallel cannot cut %u tokens into tp %u pieces",
            p->seq / p->mesh.cp,
            p->mesh.tp);
    return SC_OK;
}

static sc_status
check_shapes(struct sc_context *ctx, const struct sc__model *m, const struct sc__plan *p) {
    SC__TRY(check_cut(ctx, m, p));
    if (m->pattern && p->recompute == SC__RECOMPUTE_OPS)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "none, selective or full",
                        "--recompute ops counts the GEMMs of attention and feed-forward, "
                        "and %s has other layers",
                        m->name);
    SC__TRY(check_experts(ctx, m, p));
    SC__TRY(check_exchange(ctx, m, p));
    return check_sequence(ctx, p);
}

/* Several runs through the pipeline in a step. */
static sc_status check_runs(struct sc_context *ctx, const struct sc__plan *p) {
    if (!p->pipeline_batch)
        return SC_OK;
    if (sc__schedule_overlaps_steps(p->schedule))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "leave --pipeline-batch out, or use --schedule zb-h1",
                        "under schedule %s the pipeline is never empty, so not after %u "
                        "micro-batches either",
                        sc__schedule_name(p->schedule),
                        p->pipeline_batch);
    if (p->micro_batches % p->pipeline_batch)
        return sc__fail(
            ctx,
            SC_USAGE,
            NULL,
            near_divisors(ctx, p->micro_batches, p->pipeline_batch, "--pipeline-batch"),
            "--pipeline-batch %u does not divide the %u micro-batches of a step",
            p->pipeline_batch,
            p->micro_batches);
    return SC_OK;
}

/* The rules of forward_backward_pipelining_with_interleaving of Megatron-Core. */
static sc_status check_turns(struct sc_context *ctx, const struct sc__plan *p) {
    uint32_t group = p->microbatch_group;
    uint32_t batches = sc__plan_run_batches(p);
    if (!group || p->schedule != SC__SCHEDULE_INTERLEAVED)
        return SC_OK;
    if (group < p->mesh.pp || group > batches)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "leave --microbatch-group-size-per-virtual-pipeline-stage out",
                        "groups of %u micro-batches: they have from %u, the stages, to %u, "
                        "the micro-batches",
                        group,
                        p->mesh.pp,
                        batches);
    if (batches % group && batches % group < p->mesh.pp)
        return sc__fail(
            ctx,
            SC_USAGE,
            NULL,
            "change --microbatch-group-size-per-virtual-pipeline-stage",
            "%u micro-batches in groups of %u leave %u for the last, fewer than "
            "the %u stages",
            batches,
            group,
            batches % group,
            p->mesh.pp);
    return SC_OK;
}

static sc_status check_schedule(struct sc_context *ctx, const struct sc__plan *p) {
    bool interleaved = p->schedule == SC__SCHEDULE_INTERLEAVED;
    bool pairs = sc__schedule_is_dualpipe(p->schedule);
    uint32_t batches = sc__plan_run_batches(p);
    SC__TRY(check_runs(ctx, p));
    SC__TRY(check_turns(ctx, p));
    if (pairs && batches < 2 * p->mesh.pp)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        p->pipeline_batch
                            ? "give a larger --pipeline-batch"
                            : "give a larger --global-batch, or --schedule zb-v",
                        "schedule %s needs twice as many micro-batches as stages, %u, and "
                        "has %u",
                        sc__schedule_name(p->schedule),
                        2 * p->mesh.pp,
                        batches);
    bool dual = p->schedule == SC__SCHEDULE_DUALPIPE;
    if (dual && (p->mesh.pp % 2 || batches % 2))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "--schedule dualpipev takes any number",
                        "schedule dualpipe needs an even number of stages and of "
                        "micro-batches, and has %u and %u",
                        p->mesh.pp,
                        batches);
    if (sc__schedule_two_ways(p->schedule)) {
        if (p->vpp == 2 && p->mesh.pp > 1)
            return SC_OK;
        return sc__fail(
            ctx,
            SC_USAGE,
            NULL,
            p->mesh.pp == 1 ? "use --schedule 1f1b" : "leave --vpp out",
            "schedule %s has two chunks on each of several stages, not %u on %u",
            sc__schedule_name(p->schedule),
            p->vpp,
            p->mesh.pp);
    }
    if (p->vpp > 1 && p->mesh.pp == 1)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "leave --vpp out",
                        "vpp %u needs more than one pipeline stage",
                        p->vpp);
    if (p->mesh.pp > 1 && interleaved != (p->vpp > 1))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        interleaved ? "add --vpp N" : "use --schedule interleaved",
                        "schedule %s does not go with vpp %u",
                        sc__schedule_name(p->schedule),
                        p->vpp);
    return SC_OK;
}

/* The chunks of a model; a stage of DualPipe has two, of two copies of it. */
static const char *cut_words(struct sc_context *ctx, const struct sc__plan *p) {
    if (p->schedule == SC__SCHEDULE_DUALPIPE)
        return sc__format(&ctx->arena, "pp %u", p->mesh.pp);
    return sc__format(&ctx->arena,
                      "pp %u · vpp %u = %u",
                      p->mesh.pp,
                      p->vpp,
                      sc__plan_parts(p));
}

static const char *
near_cuts(struct sc_context *ctx, const struct sc__plan *p, uint32_t layers) {
    if (p->schedule != SC__SCHEDULE_DUALPIPE)
        return near_divisors(ctx, layers, sc__plan_parts(p), "pp·vpp");
    return layers % 2 ? "give a number of layers that an even pp divides"
                      : "an even pp that divides them would do";
}

static sc_status
check_stages(struct sc_context *ctx, const struct sc__model *m, const struct sc__plan *p) {
    if (p->vpp > SC__MOST_LAYERS) /* pp · vpp would not be a number any more */
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "vpp %u chunks of a stage, but there are only %u layers",
                        p->vpp,
                        m->layers);
    uint32_t chunks = sc__plan_parts(p);
    uint32_t sum = 0;
    uint32_t counted = (p->count_embedding ? 1u : 0) + (p->count_loss ? 1u : 0);
    if (counted && (p->first_layers || p->last_layers || (m->layers + counted) % chunks))
        return sc__fail(
            ctx,
            SC_USAGE,
            NULL,
            near_cuts(ctx, p, m->layers + counted),
            "%s does not divide the %u layers and what counts as a layer beside them",
            cut_words(ctx, p),
            m->layers);
    if (chunks > m->layers + (p->uneven ? 2 : counted))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        near_cuts(ctx, p, m->layers),
                        "%s chunks, but there are only %u layers",
                        cut_words(ctx, p),
                        m->layers);
    if ((uint64_t)p->first_layers + p->last_layers > m->layers)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "change --decoder-first-pipeline-num-layers or -last-",
                        "the first stage has %u layers and the last %u, the model only %u",
                        p->first_layers,
                        p->last_layers,
                        m->layers);
    bool given = p->uneven || counted || p->first_layers || p->last_layers;
    if (m->layers % chunks && !given && (m->layers + 2) % chunks == 0)
        sc__note(ctx,
                 "short-ends",
                 "the first and the last of %u chunks have one layer less, beside "
                 "embedding and head",
                 chunks);
    else if (m->layers % chunks && !given)
        return sc__fail(
            ctx,
            SC_USAGE,
            NULL,
            sc__format(&ctx->arena, "%s; or --uneven-stages", near_cuts(ctx, p, m->layers)),
            "%s does not divide the %u layers",
            cut_words(ctx, p),
            m->layers);
    /* where the model is there twice, chunk 1 is of the other copy */
    uint32_t copies = p->schedule == SC__SCHEDULE_DUALPIPE ? 1 : p->vpp;
    for (uint32_t s = 0; s < p->mesh.pp; s++)
        for (uint32_t c = 0; c < copies; c++) {
            uint32_t first;
            sum += sc__plan_layers(p, m, s, c, &first);
        }
    if (sum != m->layers)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "change --decoder-first-pipeline-num-layers or -last-",
                        "the stages hold %u layers, the model has %u",
                        sum,
                        m->layers);
    return SC_OK;
}

static sc_status check_batch(struct sc_context *ctx, const struct sc__plan *p) {
    uint64_t unit = (uint64_t)p->mesh.dp * p->micro_batch;
    if (p->global_batch % unit)
        return sc__fail(
            ctx,
            SC_USAGE,
            NULL,
            near_multiples(ctx, unit, p->global_batch, "--global-batch"),
            "the global batch %u is not a multiple of dp %u · micro-batch %u = %llu",
            p->global_batch,
            p->mesh.dp,
            p->micro_batch,
            (unsigned long long)unit);
    if (p->schedule == SC__SCHEDULE_INTERLEAVED && p->vpp > 1 && !p->microbatch_group &&
        sc__plan_run_batches(p) % p->mesh.pp)
        sc__note(
            ctx,
            "interleaved-remainder",
            "%u micro-batches are not a multiple of pp %u, which Megatron refuses "
            "unless --microbatch-group-size-per-virtual-pipeline-stage says otherwise: the "
            "first group takes the rest",
            sc__plan_run_batches(p),
            p->mesh.pp);
    return SC_OK;
}

/* A table of positions ends; other kinds go on, with whatever quality. */
static void note_positions(struct sc_context *ctx,
                           const struct sc__model *m,
                           const struct sc__plan *p) {
    bool learned = m->positions && m->positions != SC__POSITIONS_OF_SEQUENCE;
    if (learned && p->seq > m->positions)
        sc__note(
            ctx,
            "positions-few",
            "sequences of %u tokens, but the model has learned %u positions: it cannot "
            "take them as it is (--max-position-embeddings %u makes it one that can)",
            p->seq,
            m->positions,
            p->seq);
}

static sc_status check_recipe(struct sc_context *ctx, const struct sc__plan *p) {
    if (p->gemm != SC__FP8 || p->fp8_recipe != SC_FP8_RECIPE_NVFP4)
        return SC_OK;
    return sc__fail(
        ctx,
        SC_USAGE,
        NULL,
        "--fp4, or a recipe of fp8: delayed, tensorwise, rowwise, blockwise, mxfp8",
        "--fp8-recipe nvfp4 is a recipe of fp4, and products are in fp8");
}

sc_status sc__plan_check(struct sc_context *ctx,
                         const struct sc__model *m,
                         const struct sc__plan *p) {
    SC__TRY(check_ranks(ctx, p));
    SC__TRY(check_shapes(ctx, m, p));
    SC__TRY(check_recipe(ctx, p));
    note_positions(ctx, m, p);
    SC__TRY(check_schedule(ctx, p));
    SC__TRY(check_stages(ctx, m, p));
    return check_batch(ctx, p);
}
