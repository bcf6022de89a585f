/* plan: what follows from a resolved plan: tokens, layers and weights of a rank. */
#include "plan/plan.h"

#include "plan/towers.h"

#include <math.h>

double sc__plan_tokens(const struct sc__plan *p) {
    return (double)p->micro_batch * p->seq / p->mesh.cp;
}
double sc__plan_tokens_sp(const struct sc__plan *p) {
    return sc__plan_tokens(p) / (p->sequence_parallel ? p->mesh.tp : 1);
}

const char *sc__plan_gpu(const struct sc__plan *p, const struct sc__cluster *cluster) {
    return p->gpu ? p->gpu : cluster->gpu ? cluster->gpu : "h100";
}

bool sc__plan_drops_hidden(const struct sc__plan *p) {
    return p->dropout && !p->lora;
}

double sc__plan_width(const struct sc__plan *p) {
    return p->dtype == SC__FP32 || p->dtype == SC__TF32 ? 4 : 2;
}

double sc__plan_weight_bytes(const struct sc__plan *p) {
    return p->amp ? 4 : sc__plan_width(p);
}

bool sc__plan_shares_nothing(const struct sc__plan *p) {
    return p->mesh.dp * p->mesh.cp == 1 &&
           sc__mesh_group_size(&p->mesh, SC__GROUP_DP_EP) == 1;
}

bool sc__plan_reshards(const struct sc__plan *p) {
    return p->zero >= 2 && p->reshard;
}

bool sc__plan_is_fsdp(const struct sc__plan *p) {
    return p->torch_copies && p->zero >= 2 && p->mesh.pp == 1;
}

bool sc__plan_fills_buckets(const struct sc__plan *p) {
    return p->zero == 2 && !p->torch_copies && p->software_constants.gradient_copies > 0;
}

bool sc__plan_holds_buckets(const struct sc__plan *p) {
    bool first = p->zero == 1 && p->software_constants.gradient_copies > 0;
    return first || sc__plan_fills_buckets(p);
}

/* MXFP8 and NVFP4 are scaled along rows and along columns: they are gathered in bf16 and
 * cast both ways. */
double sc__plan_gathered_bytes(const struct sc__plan *p, bool narrow) {
    bool by_blocks =
        p->fp8_recipe == SC_FP8_RECIPE_MXFP8 || p->fp8_recipe == SC_FP8_RECIPE_NVFP4;
    return narrow && p->fp8_params && !by_blocks ? 1 : sc__plan_width(p);
}

/* NF4 with scales that are quantised again (arXiv 2305.14314), in shards and on the wire
 * too: they are unpacked where they are used (bitsandbytes, bnb_4bit_quant_storage). */
double sc__plan_frozen_bytes(const struct sc__plan *p, double usual) {
    return p->qlora ? 4.127 / 8 : usual;
}

static bool casts_products(const struct sc__plan *p) {
    return p->gemm == SC__FP8 || p->gemm == SC__FP4;
}

bool sc__plan_layer_stays_wide(const struct sc__plan *p,
                               const struct sc__model *m,
                               uint32_t layer) {
    bool first = layer < p->bf16_first;
    bool last = (uint64_t)layer + p->bf16_last >= m->layers;
    return casts_products(p) && (first || last);
}

/* Read in bf16 and written by rows and by columns with their scales; weights kept in fp8
 * are read as that, and only turned. NVFP4's have a maximum of the whole tensor beside
 * those of their blocks: a pass more. PyTorch's float8 casts for every use. */
double sc__plan_weight_cast_bytes(const struct sc__plan *p) {
    if (!casts_products(p) || p->dynamic_casts || p->lora || p->zero >= 2)
        return 0;
    if (p->gemm == SC__FP4)
        return 2 + 2 + 2 * 0.5625;
    return sc__plan_gathered_bytes(p, true) < 2 ? 2 : 4;
}

bool sc__plan_offloads(const struct sc__plan *p) {
    return p->offload_optimizer > 0 || p->offload_params || p->offload_activations;
}

const char *sc__plan_unwritten(const struct sc__plan *p) {
    if (sc__plan_offloads(p))
        return "what waits on the host is not written";
    if (p->bf16_first || p->bf16_last)
        return "layers that stay in bf16 are not written";
    if (p->summed_bytes == 4 && p->grad_bytes == 2 && p->dtype == SC__BF16 &&
        !p->plain_update)
        return "gradients that add up in another type than they are reduced in are not "
               "written";
    if (p->images || p->audio_seconds > 0)
        return "towers for pictures and sound are not written";
    if (p->liger)
        return "Liger's kernels are not written";
    return NULL;
}

/* PyTorch's shards are the main copy, in fp32 unless everything is in one type. */
double sc__plan_shard_bytes(const struct sc__plan *p, bool narrow) {
    return p->torch_copies && !p->plain_update ? 4 : sc__plan_gathered_bytes(p, narrow);
}

/* PyTorch's context parallelism sees them after they were repeated for every head of the
 * queries. */
double sc__plan_kv_bytes(const struct sc__plan *p,
                         const struct sc__model *m,
                         const struct sc__attention_heads *heads) {
    double all = m->kv_lora || p->torch_copies ? m->heads : heads->kv_heads;
    double local = fmax(1, all / p->mesh.tp);
    return (double)p->micro_batch * p->seq * local * (heads->qk_dim + heads->v_dim) *
           sc__plan_width(p);
}

double sc__plan_message(const struct sc__plan *p, const struct sc__model *m) {
    double whole = sc__plan_tokens(p) * m->hidden * sc__plan_width(p);
    bool cut =
        p->sequence_parallel || (p->scatter_gather && p->mesh.tp > 1 && p->mesh.pp > 1);
    return cut ? whole / p->mesh.tp : whole;
}

/* Experts n topk … n topk + topk - 1, modulo all: how many ranks they lie on, in the mean
 * over the tokens n. */
static double ranks_in_turn(uint64_t each, uint64_t topk) {
    double sum = 0;
    for (uint64_t n = 0; n < each; n++)
        sum += (double)((n * topk % each + topk + each - 1) / each);
    return sum / (double)each;
}

/* topk experts at random, no expert twice: the chance that none of them is one of the
 * `each` of a rank, C(experts - each, topk) / C(experts, topk). */
static double chance_of_none(uint64_t experts, uint64_t each, uint64_t topk) {
    double none = 1;
    for (uint64_t i = 0; i < topk; i++)
        none *=
            i + each < experts ? (double)(experts - each - i) / (double)(experts - i) : 0;
    return none;
}

double sc__plan_copies(const struct sc__plan *p, const struct sc__model *m) {
    double ep = p->mesh.ep;
    uint64_t each = m->experts / p->mesh.ep;
    if (!p->dedup || ep < 2 || !each)
        return m->topk;
    if (p->experts_in_turn)
        return fmin(ep, ranks_in_turn(each, m->topk));
    return ep * (1 - chance_of_none(m->experts, each, m->topk));
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
    uint32_t n = base + (i < more ? 1 : 0);
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

/* Megatron's layernorm is that of norms which are modules of their own. With Transformer
 * Engine a norm is part of the product behind it, which keeps its output, but before
 * latents and before a router (get_gpt_layer_with_transformer_engine_submodules in
 * gpt_layer_specs.py, IdentityOp in transformer_layer.py). */
bool sc__plan_repeats_norm(const struct sc__plan *p,
                           const struct sc__model *m,
                           bool feed_forward,
                           bool experts) {
    if (p->recompute != SC__RECOMPUTE_SELECTIVE)
        return false;
    if (p->recompute_modules & SC__MODULE_NORM)
        return true;
    bool apart = feed_forward ? experts : m->kv_lora > 0;
    return p->recompute_modules & SC__MODULE_LAYERNORM &&
           (apart || p->fusion != SC__FUSION_MEGATRON);
}

uint32_t sc__plan_predictions(const struct sc__plan *p, const struct sc__model *m) {
    bool trained = m->mtp_said || p->software_constants.predictions > 0;
    return trained ? m->mtp_layers : 0;
}

bool sc__plan_ends_make_even(const struct sc__plan *p,
                             const struct sc__model *m,
                             uint32_t chunks) {
    uint32_t front;
    uint32_t back;
    return find_ends(m->layers, sc__plan_predictions(p, m), chunks, &front, &back);
}

/* Nothing is said about the ends, and all chunks have the same layers. */
static bool is_even(const struct sc__plan *p, const struct sc__model *m) {
    bool said = p->count_embedding || p->count_loss || p->first_layers || p->last_layers;
    return !said && m->layers % sc__plan_parts(p) == 0 &&
           !(p->uneven && sc__plan_predictions(p, m));
}

/* The first and the last stage have so many, and chunks of the other stages as many as
 * theirs: what one round of the stages holds repeats. */
static bool shares_stages(const struct sc__plan *p) {
    return (p->first_layers || p->last_layers) && p->schedule == SC__SCHEDULE_INTERLEAVED;
}

/* Where the first and the last stage have so many: the others share what is left, and
 * chunks of an interleaved schedule share what their stage has (get_num_layers_to_build of
 * Megatron's transformer_block.py; what does not divide is found in plan/check.c). Of other
 * schedules the first and the last chunk have them. */
static uint32_t
share_beside_ends(const struct sc__plan *p, const struct sc__model *m, uint32_t i) {
    bool shared = shares_stages(p);
    uint32_t parts = shared ? p->mesh.pp : sc__plan_parts(p);
    uint32_t part = shared ? i % parts : i;
    uint32_t ends = (p->first_layers ? 1u : 0u) + (p->last_layers ? 1u : 0u);
    uint32_t middle = parts > ends ? parts - ends : 1;
    uint32_t n = (m->layers - p->first_layers - p->last_layers) / middle;
    if (part == 0 && p->first_layers)
        n = p->first_layers;
    else if (part == parts - 1 && p->last_layers)
        n = p->last_layers;
    return shared ? n / p->vpp : n;
}

/* Layers of chunk i of `chunks` in the order of the data. Even where it goes
 * up; else with the ends counted as find_ends has it; else, where up to three
 * layers are missing, they are missing in the last chunk, which has the head;
 * else as even as possible. */
static uint32_t
chunk_layers(const struct sc__plan *p, const struct sc__model *m, uint32_t i) {
    uint32_t chunks = sc__plan_parts(p);
    uint32_t l = m->layers;
    uint32_t front = 0;
    uint32_t back = 0;
    if (p->count_embedding || p->count_loss)
        return even_share(l, chunks, p->count_embedding, p->count_loss, i);
    if (p->first_layers || p->last_layers)
        return share_beside_ends(p, m, i);
    if (is_even(p, m))
        return l / chunks;
    if (!find_ends(l, sc__plan_predictions(p, m), chunks, &front, &back)) {
        uint32_t missing = (chunks - l % chunks) % chunks;
        if (missing <= 3 && missing < (l + missing) / chunks)
            back = missing;
    }
    return even_share(l, chunks, front, back, i);
}

/* Between the first chunk and the last the longer ones come before the shorter, which
 * are one layer less. */
static uint32_t
layers_before(const struct sc__plan *p, const struct sc__model *m, uint32_t at) {
    uint32_t low = 1;
    uint32_t high = at;
    uint32_t pp = p->mesh.pp;
    uint32_t last = shares_stages(p) && at >= pp ? pp - 1 : 0;
    if (last)
        return at / pp * (layers_before(p, m, last) + chunk_layers(p, m, last)) +
               layers_before(p, m, at % pp);
    if (at == 0)
        return 0;
    uint32_t first = chunk_layers(p, m, 0);
    if (at == 1)
        return first;
    uint32_t longer = chunk_layers(p, m, 1);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (chunk_layers(p, m, middle) < longer)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == at)
        return first + (at - 1) * longer;
    return first + (low - 1) * longer + (at - low) * chunk_layers(p, m, low);
}

uint32_t sc__plan_layers(const struct sc__plan *p,
                         const struct sc__model *m,
                         uint32_t stage,
                         uint32_t chunk,
                         uint32_t *first) {
    uint32_t at = sc__schedule_part(p->schedule, p->mesh.pp, stage, chunk);
    *first = 0;
    if (is_even(p, m)) {
        uint32_t each = m->layers / sc__plan_parts(p);
        *first = at * each;
        return each;
    }
    *first = layers_before(p, m, at);
    return chunk_layers(p, m, at);
}

static double rank_share(const struct sc__plan *p,
                         const struct sc__model *m,
                         uint32_t layer,
                         double *experts) {
    struct sc__model_params n;
    double tp = p->mesh.tp;
    sc__model_count_parts(m, &n);
    *experts = 0;
    double whole = sc__model_layer_norms(m, layer);
    double cut = sc__model_mixer_params(m, layer);
    bool feed_forward = sc__model_has_feed_forward(m, layer);
    /* every rank brings its tokens down with the whole of these weights (Megatron's
     * TELinear, torchtitan's NoParallel) */
    double each = m->hidden + (m->qkv_bias ? 2.0 : 1.0); /* weights, norms, biases */
    double down = each * sc__model_latent_width(m) - m->rope_dim;
    bool attention = sc__model_mixer(m, layer) == SC__MIXER_ATTENTION;
    if (m->kv_lora && attention)
        whole += down, cut -= down;
    if (attention && (m->linear_bias || m->out_bias))
        whole += m->hidden, cut -= m->hidden; /* row-parallel biases are not cut */
    double head_norms = attention ? sc__model_shared_head_norms(m, layer) : 0;
    whole += head_norms, cut -= head_norms; /* all heads have the same weights */
    if (sc__model_has_experts(m, layer)) {
        *experts = n.experts / p->mesh.ep / p->mesh.etp;
        return whole + cut / tp + n.router + n.latent + n.shared / tp;
    }
    double uncut = feed_forward ? sc__model_mlp_whole(m) : 0;
    if (feed_forward)
        cut += n.dense_mlp - uncut;
    return whole + uncut + cut / tp;
}

struct sc__shard
sc__plan_layer_shard(const struct sc__plan *p, const struct sc__model *m, uint32_t layer) {
    struct sc__shard s;
    s.dense = rank_share(p, m, layer, &s.experts);
    return s;
}

double sc__plan_embedding_shard(const struct sc__plan *p, const struct sc__model *m) {
    uint32_t positions = m->positions == SC__POSITIONS_OF_SEQUENCE ? p->seq : m->positions;
    struct sc__model_params n;
    sc__model_count_parts(m, &n);
    positions += m->spare_positions;
    return (double)p->vocab * m->hidden / p->mesh.tp + (double)positions * m->hidden +
           n.embedding_norm;
}

uint32_t sc__plan_parts(const struct sc__plan *p) {
    return sc__schedule_parts(p->schedule, p->mesh.pp, p->vpp);
}

uint32_t sc__plan_passes(const struct sc__plan *p) {
    return sc__schedule_passes(p->schedule, p->micro_batches);
}

uint32_t sc__plan_run_batches(const struct sc__plan *p) {
    return p->pipeline_batch ? p->pipeline_batch : p->micro_batches;
}

/* Forwards and backwards that hide each other's exchanges must not wait for one another:
 * Megatron's overlap_moe_expert_parallel_comm begins with a forward more
 * (get_pp_rank_microbatches of its schedules.py). */
struct sc__turns sc__plan_turns(const struct sc__plan *p) {
    return (struct sc__turns){.group = p->microbatch_group,
                              .ahead = p->overlap_moe ? 1 : 0};
}

/* A run of so many is one that the schedule has. */
static bool run_can_be(const struct sc__plan *p, uint32_t batches) {
    if (sc__schedule_overlaps_steps(p->schedule) || p->micro_batches % batches)
        return false;
    if (p->schedule == SC__SCHEDULE_DUALPIPE && batches % 2)
        return false;
    return !sc__schedule_is_dualpipe(p->schedule) || batches >= 2 * p->mesh.pp;
}

void sc__plan_resolve_runs(struct sc_context *ctx,
                           uint32_t said,
                           uint32_t usual,
                           struct sc__plan *p) {
    p->pipeline_batch = usual;
    if (p->mesh.pp == 1 || usual == p->micro_batches)
        p->pipeline_batch = 0;
    if (said || !p->pipeline_batch || run_can_be(p, usual))
        return;
    p->pipeline_batch = 0;
    if (usual < p->micro_batches)
        sc__note(ctx,
                 "pipeline-not-emptied",
                 "%s empties the pipeline after %u micro-batches, which %u of them under "
                 "schedule %s cannot do: they go through it in one run",
                 p->software->name,
                 usual,
                 p->micro_batches,
                 sc__schedule_name(p->schedule));
}

static bool both_ends(const struct sc__plan *p, uint32_t stage) {
    return p->schedule == SC__SCHEDULE_DUALPIPE && (stage == 0 || stage + 1 == p->mesh.pp);
}

bool sc__plan_has_embedding(const struct sc__plan *p, uint32_t stage) {
    return stage == 0 || both_ends(p, stage);
}

bool sc__plan_has_head(const struct sc__plan *p, uint32_t stage) {
    return stage == sc__plan_last_stage(p) || both_ends(p, stage);
}

uint32_t sc__plan_last_stage(const struct sc__plan *p) {
    return sc__schedule_last_stage(p->schedule, p->mesh.pp);
}

double
sc__plan_head_shard(const struct sc__plan *p, const struct sc__model *m, uint32_t stage) {
    bool copy = !m->tied || !sc__plan_has_embedding(p, stage);
    double matrix = copy ? (double)p->vocab * m->hidden : 0;
    double bias = m->head_bias ? p->vocab : 0;
    return (matrix + bias) / p->mesh.tp + sc__model_norm_params(m);
}

/* An adapter of rank r beside a linear layer from a to b: r·(a + b). That of a layer
 * cut by tp is cut on the same side. */
struct sc__shard sc__plan_layer_trained(const struct sc__plan *p,
                                        const struct sc__model *m,
                                        uint32_t layer) {
    if (!p->lora)
        return sc__plan_layer_shard(p, m, layer);
    unsigned on = p->lora_targets;
    double h = m->hidden;
    double tp = p->mesh.tp;
    struct sc__attention_heads x = sc__model_attention_heads(m, layer);
    double q = (double)m->heads * x.qk_dim / tp;
    double kv = (double)x.kv_heads * x.qk_dim / tp;
    if (x.kv_projections == 1)
        on &= ~(unsigned)SC__LORA_V;
    bool moe = sc__model_has_experts(m, layer);
    double ffn = moe ? (double)m->expert_ffn / p->mesh.etp : m->ffn / tp;
    double out = (double)m->heads * x.v_dim / tp;
    double attention = (on & SC__LORA_Q ? h + q : 0) + (on & SC__LORA_K ? h + kv : 0) +
                       (on & SC__LORA_V ? h + kv : 0) + (on & SC__LORA_OUT ? h + out : 0);
    enum sc__mixer mixer = sc__model_mixer(m, layer);
    if (mixer != SC__MIXER_ATTENTION)
        attention = 0;
    if (mixer == SC__MIXER_MAMBA || mixer == SC__MIXER_DELTA)
        attention = (on & SC__LORA_SCAN_IN ? h + sc__model_scan_input(m, mixer) / tp : 0) +
                    (on & SC__LORA_SCAN_OUT ? h + sc__model_scan_width(m) / tp : 0);
    double up = (on & SC__LORA_UP ? 1 : 0) + (on & SC__LORA_GATE && m->gated ? 1 : 0);
    double in = moe ? sc__model_routed_width(m) : h;
    double mlp = (in + ffn) * (up + (on & SC__LORA_DOWN ? 1 : 0));
    if (!sc__model_has_feed_forward(m, layer))
        mlp = 0;
    struct sc__shard s = {.dense = p->lora * attention};
    if (moe)
        s.experts = p->lora * mlp * m->experts / p->mesh.ep;
    else
        s.dense += p->lora * mlp;
    return s;
}

static struct sc__shard sum_layers(const struct sc__plan *p,
                                   const struct sc__model *m,
                                   uint32_t stage,
                                   struct sc__shard (*of)(const struct sc__plan *,
                                                          const struct sc__model *,
                                                          uint32_t)) {
    struct sc__shard sum = {0};
    struct sc__shard s = {0};
    uint32_t last = SC__NONE;
    for (uint32_t c = 0; c < p->vpp; c++) {
        uint32_t first;
        uint32_t n = sc__plan_layers(p, m, stage, c, &first);
        for (uint32_t i = first; i < first + n; i++) {
            if (last == SC__NONE || !sc__model_layers_alike(m, last, i))
                s = of(p, m, i);
            last = i;
            sum.dense += s.dense;
            sum.experts += s.experts;
        }
    }
    return sum;
}

struct sc__shard sc__plan_stage_trained(const struct sc__plan *p,
                                        const struct sc__model *m,
                                        uint32_t stage) {
    if (p->lora)
        return sum_layers(p, m, stage, sc__plan_layer_trained);
    struct sc__shard sum = sc__plan_stage_shard(p, m, stage);
    if (sc__plan_has_embedding(p, stage) && sc__tower_frozen(p))
        sum.dense -= sc__plan_towers_shard(p, m) - sc__plan_towers_trained(p, m);
    return sum;
}

double sc__plan_prediction_inputs(const struct sc__plan *p, const struct sc__model *m) {
    double h = m->hidden;
    return 2 * h * h / p->mesh.tp + 3 * sc__model_norm_params(m);
}

/* Multi-token prediction: a layer and what is before and behind it; the embedding and the
 * head are the model's (DeepSeek-V3, sections 2.2 and 3.2.2). */
static struct sc__shard prediction_shard(const struct sc__plan *p,
                                         const struct sc__model *m) {
    struct sc__shard s = {0};
    uint32_t predictions = sc__plan_predictions(p, m);
    if (!predictions)
        return s;
    uint32_t parts[SC__PREDICTION_LAYERS];
    uint32_t count = sc__model_prediction(m, parts);
    s.dense = sc__plan_prediction_inputs(p, m);
    for (uint32_t i = 0; i < count; i++) {
        struct sc__shard layer = sc__plan_layer_shard(p, m, parts[i]);
        s.dense += layer.dense;
        s.experts += layer.experts;
    }
    s.dense *= predictions;
    s.experts *= predictions;
    return s;
}

struct sc__shard
sc__plan_stage_narrow(const struct sc__plan *p, const struct sc__model *m, uint32_t stage) {
    struct sc__shard none = {0};
    struct sc__shard sum = sc__plan_has_head(p, stage) ? prediction_shard(p, m) : none;
    for (uint32_t c = 0; c < p->vpp; c++) {
        uint32_t first;
        uint32_t count = sc__plan_layers(p, m, stage, c, &first);
        for (uint32_t i = first; i < first + count; i++) {
            bool wide = sc__plan_layer_stays_wide(p, m, i);
            struct sc__shard layer = wide ? none : sc__plan_layer_shard(p, m, i);
            sum.dense += layer.dense;
            sum.experts += layer.experts;
        }
    }
    return sum;
}

/* Layers, last norm and prediction of a stage. */
static double
behind_embedding(const struct sc__plan *p, const struct sc__model *m, uint32_t stage) {
    double sum = sum_layers(p, m, stage, sc__plan_layer_shard).dense;
    if (!sc__plan_has_head(p, stage))
        return sum;
    return sum + sc__plan_head_shard(p, m, stage) + prediction_shard(p, m).dense;
}

/* A rank has W + C/tp of weights that are whole, W, and cut, C; uncut it is W + C. */
double
sc__plan_stage_whole(const struct sc__plan *p, const struct sc__model *m, uint32_t stage) {
    double tp = p->mesh.tp;
    struct sc__plan uncut = *p;
    uncut.mesh.tp = 1;
    if (tp < 2 || p->lora)
        return 0;
    double cut = behind_embedding(p, m, stage);
    return fmax(0, (tp * cut - behind_embedding(&uncut, m, stage)) / (tp - 1));
}

struct sc__shard
sc__plan_stage_shard(const struct sc__plan *p, const struct sc__model *m, uint32_t stage) {
    struct sc__shard sum = sum_layers(p, m, stage, sc__plan_layer_shard);
    if (p->lora) {
        struct sc__shard adapters = sum_layers(p, m, stage, sc__plan_layer_trained);
        sum.dense += adapters.dense;
        sum.experts += adapters.experts;
    }
    if (sc__plan_has_embedding(p, stage))
        sum.dense += sc__plan_embedding_shard(p, m) + sc__plan_towers_shard(p, m);
    if (sc__plan_has_head(p, stage)) {
        struct sc__shard mtp = prediction_shard(p, m);
        sum.dense += sc__plan_head_shard(p, m, stage) + mtp.dense;
        sum.experts += mtp.experts;
    }
    return sum;
}
