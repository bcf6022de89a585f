#include "lower/model.h"

#include "lower/step.h"
#include "plan/towers.h"

/* What a token costs in multi-token prediction layers beside the model. */
static double mtp_flops(const struct sc__model *m, const struct sc__plan *p) {
    uint32_t predictions = sc__plan_predictions(p, m);
    double sequences = p->global_batch;
    double seq = p->seq;
    if (!predictions)
        return 0;
    double head = 6 * sequences * seq * (double)m->vocab * m->hidden;
    uint32_t parts[SC__PREDICTION_LAYERS];
    uint32_t count = sc__model_prediction(m, parts);
    double h = m->hidden;
    double sum = head + 6 * sequences * seq * 2 * h * h; /* of the two inputs to one */
    for (uint32_t i = 0; i < count; i++)
        sum += sc__model_layer_flops(m, parts[i], sequences, seq, false);
    return predictions * sum;
}

/* Of tokens that are sent to experts without room for them: nobody computes those. */
static double
layer_dropped(const struct sc__model *m, const struct sc__plan *p, uint32_t layer) {
    if (!(p->capacity > 0 && p->capacity < 1))
        return 0;
    return (1 - p->capacity) * sc__model_routed_flops(m, layer, p->global_batch, p->seq);
}

/* The layer of a prediction is like the last. */
static double dropped_flops(const struct sc__model *m, const struct sc__plan *p) {
    uint32_t predictions = sc__plan_predictions(p, m);
    double sum = predictions ? predictions * layer_dropped(m, p, m->layers - 1) : 0;
    for (uint32_t i = 0; i < m->layers; i++)
        sum += layer_dropped(m, p, i);
    return sum;
}

/* The FLOPs of the model's step. Adapters on frozen weights leave out the weight
 * gradients of the products, a third of them; those of the adapters are not counted. */
static double language_flops(const struct sc__model *m, const struct sc__plan *p) {
    double b = p->global_batch;
    double s = p->seq;
    double sum = sc__model_flops(m, b, s, false) + mtp_flops(m, p) - dropped_flops(m, p);
    double core = 0;
    if (!p->lora)
        return sum;
    for (uint32_t i = 0; i < m->layers; i++)
        core += sc__model_attention_core_flops(m, i, b, s, false);
    return sum - (sum - core) / 3;
}

static double plan_model_flops(const struct sc__model *m, const struct sc__plan *p) {
    return language_flops(m, p) + sc__plan_towers_flops(p, m);
}

/* The last product of a feed-forward that ends before it when it is repeated. */
static double spared_flops(const struct sc__lowering *l, uint32_t layer) {
    const struct sc__model *m = l->model;
    if (!sc__step_stops_early(l, sc__layer_kind(l, layer)))
        return 0;
    return 6.0 * l->plan.global_batch * l->plan.seq * m->hidden * m->ffn;
}

/* Of the modules that selective recomputation names. */
static double modules_flops(const struct sc__lowering *l, uint32_t layer) {
    const struct sc__model *m = l->model;
    unsigned modules = l->plan.recompute_modules;
    double b = l->plan.global_batch;
    double s = l->plan.seq;
    bool moe = sc__model_has_experts(m, layer);
    double sum = 0;
    if (modules & SC__MODULE_CORE && sc__model_mixer(m, layer) == SC__MIXER_ATTENTION)
        sum += sc__model_attention_core_flops(m, layer, b, s, false);
    if (modules & SC__MODULE_LATENT)
        sum += sc__model_latent_up_flops(m, layer, b, s);
    if (modules & (moe ? SC__MODULE_MOE : SC__MODULE_MLP))
        sum += sc__model_feed_forward_flops(m, layer, b, s) - spared_flops(l, layer) -
               layer_dropped(m, &l->plan, layer);
    else if (modules & SC__MODULE_SHARED)
        sum += sc__model_shared_flops(m, layer, b, s);
    return sum;
}

/* What a layer computes again before its backward, in forward FLOPs of a step. */
static double layer_repeated(const struct sc__lowering *l, uint32_t layer) {
    const struct sc__model *m = l->model;
    const struct sc__plan *p = &l->plan;
    double b = p->global_batch;
    double s = p->seq;
    double whole = sc__model_layer_flops(m, layer, b, s, false);
    double core = sc__model_attention_core_flops(m, layer, b, s, false);
    double dropped = layer_dropped(m, p, layer);
    switch (p->recompute) {
    case SC__RECOMPUTE_FULL:
        return (whole - dropped - spared_flops(l, layer)) / 3;
    case SC__RECOMPUTE_OPS:
        return (whole - dropped - core) / 3 * sc__repeated_gemms(m);
    case SC__RECOMPUTE_SELECTIVE:
        return modules_flops(l, layer) / 3;
    default:
        return 0;
    }
}

/* FLOPs of a step over all ranks with what is computed twice. */
static double plan_hardware_flops(const struct sc__lowering *l) {
    const struct sc__model *m = l->model;
    const struct sc__plan *p = &l->plan;
    uint32_t parts[SC__PREDICTION_LAYERS];
    uint32_t predictions = sc__plan_predictions(p, m);
    uint32_t count = predictions ? sc__model_prediction(m, parts) : 0;
    double layers = 0;
    double prediction = 0;
    for (uint32_t i = 0; i < m->layers; i++)
        layers += layer_repeated(l, i);
    for (uint32_t i = 0; i < count; i++)
        prediction += predictions * layer_repeated(l, parts[i]);
    double share = p->recompute_block && m->layers
                       ? (double)p->recompute_layers * p->mesh.pp / m->layers
                       : 1;
    return plan_model_flops(m, p) + sc__plan_towers_repeated(p, m) +
           (layers + prediction) * (share < 1 ? share : 1);
}

/* What products of a type are timed as on a GPU that has none of it. */
static enum sc__dtype instead_of(unsigned type) {
    if (type == SC__TF32)
        return SC__FP32;
    return type == SC__FP16 ? SC__BF16 : SC__FP16;
}

/* What MFU is a share of; check_type says what stands in for a missing type. */
static double counted_peak(const struct sc__gpu *g, unsigned type) {
    return g->peak[type] > 0 ? g->peak[type] : g->peak[instead_of(type)];
}

/* Whatever transfer runs beside compute takes SMs and bandwidth from it: not reducing
 * gradients there does not make tensor and context parallelism take less. Chunks of
 * tensor-parallel collectives go through user buffers, which copy engines carry. */
static void set_tax(struct sc__lowering *l) {
    if (l->plan.gpus > 1)
        l->workload->comm_tax = l->constants.software.comm_tax;
    if (l->plan.tp_overlap == SC__TP_CHUNKS)
        l->workload->untaxed = 1u << SC__STREAM_COMM;
}

struct sc__memory sc__step_memory(const struct sc__lowering *l, uint32_t stage) {
    struct sc__stage_memory x = sc__plan_memory(l->model, &l->plan, stage);
    return (struct sc__memory){.weights = (uint64_t)x.weights,
                               .gradients = (uint64_t)x.gradients,
                               .optimizer = (uint64_t)x.optimizer,
                               .activations = (uint64_t)x.activations,
                               .logits = (uint64_t)x.logits,
                               .workspace = (uint64_t)x.workspace,
                               .communication = (uint64_t)x.communication,
                               .context = (uint64_t)x.context,
                               .fragmentation = (uint64_t)x.fragmentation,
                               .host = (uint64_t)x.host};
}

static void fill_totals(struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    struct sc__workload *w = l->workload;
    set_tax(l);
    w->mesh = p->mesh;
    w->vpp = p->vpp;
    w->micro_batches = p->micro_batches;
    w->schedule = sc__schedule_name(p->schedule);
    w->tokens = (double)p->global_batch * p->seq;
    w->model_flops = plan_model_flops(l->model, p);
    w->hardware_flops = plan_hardware_flops(l);
    w->memory_capacity = (uint64_t)l->gpu->memory;
    w->host_capacity = (uint64_t)l->host.size;
    w->peak_flops = 1e12 * counted_peak(l->gpu, p->gemm);
    w->draw = sc__throttling_draw(l->gpu, &l->throttling);
    w->gpu_usd_per_hour = l->gpu->usd_per_hour;
    w->memory = SC__NEW_ARRAY(l->arena, struct sc__memory, p->mesh.pp);
    for (uint32_t s = 0; s < p->mesh.pp; s++)
        w->memory[s] = sc__step_memory(l, s);
}

static void note_assumptions(const struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    static const char *const fusions[SC__FUSIONS] = {
        [SC__FUSION_MEGATRON] = "Megatron's fused operators",
        [SC__FUSION_EAGER] = "plain PyTorch operators",
        [SC__FUSION_2021] = "Megatron's operators of 2021",
        [SC__FUSION_HF] = "the operators of transformers' modules",
    };
    double slower = l->throttling.factor[SC__KERNEL_GEMM];
    if (sc__kernel_model_times_unused(l->kernel_model))
        sc__note(l->ctx,
                 "kernel-times-unused",
                 "no kernel of the step has the sizes of a row of %s: all are modelled",
                 p->kernel_times);
    sc__note(
        l->ctx,
        "kernel-model",
        "kernel times are modelled for %s with %s; %s",
        l->gpu->title ? l->gpu->title : l->gpu->name,
        fusions[p->fusion],
        slower < 1.0005
            ? "no throttling"
            : sc__format(l->arena, "throttling makes GEMMs %.3f times as long", slower));
    if (sc__gpu_is_guessed(l->gpu))
        sc__note(l->ctx,
                 "gpu-guessed",
                 "no kernel of %s was measured: its constants are guessed "
                 "(stepcast show --gpu %s), and products may be off by a third; "
                 "stepcast fit-gpu takes measured ones",
                 l->gpu->name,
                 l->gpu->name);
    /* The host's pace was measured on some GPUs' machines only, so that a faster GPU
     * may come with a slower host. */
    bool by_operator = p->fusion == SC__FUSION_EAGER || p->fusion == SC__FUSION_HF;
    if (by_operator && p->host_launch < 0)
        sc__note(
            l->ctx,
            "host-launch",
            "the host takes %g us to launch a kernel, as on the machines where steps of "
            "%s were looked at: hosts differ; --host-launch sets it",
            l->constants.software.host_us,
            l->gpu->name);
    if (p->vocab != l->model->vocab)
        sc__note(l->ctx,
                 "vocab-padded",
                 "the vocabulary is padded from %u to %u",
                 l->model->vocab,
                 p->vocab);
    if (l->model->layers % sc__plan_parts(p))
        sc__note(l->ctx,
                 "uneven-stages",
                 "%u layers do not divide into %u equal chunks; where counting the "
                 "embedding and the loss as a layer each evens them out, they are counted",
                 l->model->layers,
                 sc__plan_parts(p));
    if (l->model->every_expert && p->fusion == SC__FUSION_HF)
        sc__note(
            l->ctx,
            "every-expert",
            "in transformers each of the %u experts of %s multiplies all tokens: those "
            "that are sent to it are counted, and steps there take longer",
            l->model->experts,
            l->model->name);
    uint32_t predictions = sc__plan_predictions(&l->plan, l->model);
    if (predictions)
        sc__note(l->ctx,
                 "mtp",
                 "%u multi-token prediction layer with its loss runs on the last stage",
                 predictions);
    else if (l->model->mtp_layers)
        sc__note(l->ctx,
                 "mtp",
                 "%s has a layer of multi-token prediction, which %s does not train: it is "
                 "left out (--mtp-num-layers counts it)",
                 l->model->name,
                 l->plan.software->title);
}

void sc__note_missing_type(struct sc_context *ctx,
                           const struct sc__gpu *g,
                           enum sc__dtype type) {
    if (g->peak[type] > 0)
        return;
    sc__note(ctx,
             "type-missing",
             "%s has no %s: GEMMs are timed as %s%s",
             g->title ? g->title : g->name,
             sc__dtype_name(type),
             sc__dtype_name(instead_of(type)),
             type == SC__BF16 ? "; PyTorch emulates bf16 there, 8 to 18 times as slowly"
                              : "");
}

/* Scales of blocks are a matter of the tensor cores. Transformer Engine takes 32 values to
 * a scale on Blackwell, which has fp4, but for its RTX cards (check_mxfp8_support), and 128
 * from Hopper on (check_fp8_block_scaling_support); the transform and the rounding of its
 * usual recipe of nvfp4 are instructions that RTX cards do not have. */
static sc_status
check_recipe(struct sc_context *ctx, const struct sc__gpu *g, const struct sc__plan *p) {
    const char *name = g->title ? g->title : g->name;
    bool rtx = sc__gpu_is_of(g, "blackwell-rtx");
    bool ada = sc__gpu_is_of(g, "ada");
    bool fp8 = p->gemm == SC__FP8;
    if (fp8 && p->fp8_recipe == SC_FP8_RECIPE_MXFP8 && (rtx || !(g->peak[SC__FP4] > 0)))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        ada ? "--fp8-recipe delayed or tensorwise"
                            : "--fp8-recipe blockwise, delayed or tensorwise",
                        "%s has no mxfp8",
                        name);
    if (fp8 && p->fp8_recipe == SC_FP8_RECIPE_BLOCKWISE && ada)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "--fp8-recipe delayed or tensorwise",
                        "%s has no fp8 with scales of blocks",
                        name);
    if (p->gemm == SC__FP4 && rtx)
        sc__note(ctx,
                 "fp4-recipe",
                 "on %s Transformer Engine trains in nvfp4 only without the Hadamard "
                 "transform and stochastic rounding, which are counted here",
                 name);
    return SC_OK;
}

/* A GPU without fp8, fp4 or, where it computes in it, fp32 cannot train in it; bf16 on one
 * that has only fp16 is timed as that. */
static sc_status
check_type(struct sc_context *ctx, const struct sc__gpu *g, const struct sc__plan *p) {
    const char *name = g->title ? g->title : g->name;
    const char *type = sc__dtype_name(p->gemm);
    if ((p->gemm == SC__FP32 || p->gemm == SC__TF32) && !(g->peak[SC__FP32] > 0))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "peak_tflops of its file gives its rate; or --dtype bf16",
                        "%s has no fp32",
                        name);
    if (!(g->peak[p->gemm] > 0) && (p->gemm == SC__FP8 || p->gemm == SC__FP4))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        sc__format(&ctx->arena, "leave --%s out", type),
                        "%s has no %s",
                        name,
                        type);
    SC__TRY(check_recipe(ctx, g, p));
    sc__note_missing_type(ctx, g, p->gemm);
    return SC_OK;
}

static sc_status
make_kernel_model(struct sc_context *ctx, const char *name, const void *with, void **out) {
    const struct sc__lowering *l = with;
    struct sc__kernel_model *made = sc__kernel_model_new(&ctx->arena, l->gpu);
    (void)name;
    *out = made;
    return l->plan.kernel_times
               ? sc__kernel_model_read_times(ctx, made, l->plan.kernel_times)
               : SC_OK;
}

/* That of a GPU and a table of measured times: it remembers what kernels take. */
static sc_status find_kernel_model(struct sc__lowering *l) {
    const char *times = l->plan.kernel_times;
    const char *name = sc__plan_gpu(&l->plan, l->cluster);
    void *found;
    if (times)
        name = sc__format(l->arena, "%s %s", name, times);
    SC__TRY(sc__memo_ask(l->ctx, "kernel model", name, make_kernel_model, l, &found));
    l->kernel_model = found;
    return SC_OK;
}

static sc_status prepare_kernels(struct sc_context *ctx,
                                 const struct sc__model *m,
                                 const struct sc__plan *plan,
                                 const struct sc__cluster *cluster,
                                 bool fits,
                                 struct sc__lowering *l) {
    *l = (struct sc__lowering){.ctx = ctx,
                               .arena = &ctx->arena,
                               .model = m,
                               .cluster = cluster,
                               .plan = *plan};
    SC__TRY(sc__gpu_find(ctx, sc__plan_gpu(plan, cluster), &l->gpu));
    SC__TRY(check_type(ctx, l->gpu, plan));
    if (!fits)
        SC__TRY(sc__memory_check(ctx, m, plan, l->gpu->memory));
    SC__TRY(sc__step_constants(ctx,
                               plan->constants,
                               l->gpu,
                               &plan->software_constants,
                               &l->constants));
    SC__TRY(find_kernel_model(l));
    if (plan->gpus > 1)
        sc__cluster_note_links(ctx, cluster, l->gpu);
    if (sc__plan_offloads(plan))
        SC__TRY(sc__host_link(ctx,
                              l->gpu->name,
                              cluster,
                              plan->gpus,
                              plan->host_threads,
                              &l->host));
    l->workload = sc__workload_new(l->arena, "model");
    sc__step_kernels(l);
    return SC_OK;
}

static sc_status prepare_lowering(struct sc_context *ctx,
                                  const struct sc__model *m,
                                  const struct sc__plan *plan,
                                  const struct sc__cluster *cluster,
                                  bool fits,
                                  struct sc__lowering *l) {
    SC__TRY(prepare_kernels(ctx, m, plan, cluster, fits, l));
    sc__step_scripts(l);
    return SC_OK;
}

sc_status sc__step_prepare(struct sc_context *ctx,
                           const struct sc__model *m,
                           const struct sc__plan *plan,
                           const struct sc__cluster *cluster,
                           struct sc__lowering *l) {
    return prepare_lowering(ctx, m, plan, cluster, false, l);
}

/* More threads than the cores that a rank has take turns on them. */
static void note_threads(const struct sc__lowering *l) {
    if (l->plan.host_threads > l->host.threads)
        sc__note(
            l->ctx,
            "host-threads",
            "--host-threads %u: a rank has %g of the host's cores, and no more threads "
            "run at once (--cluster \"… host-cores=N\")",
            l->plan.host_threads,
            floor(l->host.threads));
}

/* Said with what it rests on, and refused where the host has no room for it. */
static sc_status check_host(struct sc__lowering *l) {
    const struct sc__workload *w = l->workload;
    double gib = 1u << 30;
    uint64_t most = 0;
    if (!sc__plan_offloads(&l->plan))
        return SC_OK;
    for (uint32_t s = 0; s < l->plan.mesh.pp; s++)
        most = w->memory[s].host > most ? w->memory[s].host : most;
    sc__note(l->ctx,
             "offload",
             "the host keeps %.1f GiB of a rank; copies run at %.1f GB/s each way, an "
             "optimizer there on %g thread%s a rank (--host-threads; torchrun's default is "
             "1), with %.1f GB/s of its memory: the usual machine of the GPU, unless the "
             "cluster says otherwise (host-link, host-cores, host-memory)",
             (double)most / gib,
             l->host.link / 1e9,
             floor(l->host.threads),
             l->host.threads >= 2 ? "s" : "",
             l->host.stream / 1e9);
    note_threads(l);
    if (!w->host_capacity || most <= w->host_capacity)
        return SC_OK;
    const char *sizes = sc__format(l->arena,
                                   "%.1f GiB of a rank on a host that has %.1f for each",
                                   (double)most / gib,
                                   (double)w->host_capacity / gib);
    if (!l->plan.ignore_memory)
        return sc__fail(
            l->ctx,
            SC_NO_FIT,
            NULL,
            "offload less, or describe the host: --cluster \"… host-size=2TiB\"",
            "does not fit into memory: %s",
            sizes);
    sc__note(l->ctx, "host-memory-exceeded", "%s", sizes);
    return SC_OK;
}

sc_status sc__lower_plan(struct sc_context *ctx,
                         const struct sc__model *m,
                         const struct sc__plan *plan,
                         const struct sc__cluster *cluster,
                         struct sc__workload **out) {
    struct sc__lowering l;
    SC__TRY(sc__step_prepare(ctx, m, plan, cluster, &l));
    fill_totals(&l);
    SC__TRY(check_host(&l));
    SC__TRY(sc__step_blocks(&l));
    sc__step_unequal_ranks(&l);
    note_assumptions(&l);
    *out = l.workload;
    return SC_OK;
}

sc_status sc__plan_outlook(struct sc_context *ctx,
                           const struct sc__model *m,
                           const struct sc__plan *plan,
                           const struct sc__cluster *cluster,
                           const struct sc__mesh *placed,
                           bool other_tax,
                           int64_t limit,
                           struct sc__plan_outlook *out) {
    struct sc__lowering l;
    SC__TRY(prepare_lowering(ctx, m, plan, cluster, true, &l));
    if (!other_tax)
        set_tax(&l);
    *out = (struct sc__plan_outlook){.draw = sc__throttling_draw(l.gpu, &l.throttling),
                                     .layers_s = sc__step_layers_us(&l) * 1e-6,
                                     .usd_per_hour = l.gpu->usd_per_hour,
                                     .capacity = l.gpu->memory};
    out->bound = sc__step_bound(&l, placed, limit, &out->replay);
    return SC_OK;
}

sc_status sc__plan_units(struct sc_context *ctx,
                         const struct sc__model *m,
                         const struct sc__plan *plan,
                         const struct sc__cluster *cluster,
                         const struct sc__mesh *placed,
                         bool as_planned,
                         struct sc__step_units *out) {
    struct sc__lowering l;
    struct sc__plan unsharded = *plan;
    unsharded.zero = 0;
    SC__TRY(prepare_kernels(ctx, m, &unsharded, cluster, true, &l));
    l.plan.schedule = SC__SCHEDULE_1F1B; /* weight gradients are part of backward */
    if (!as_planned) {
        sc__step_throttle_least(&l);
        l.plan.recompute = SC__RECOMPUTE_NONE;
        l.plan.recompute_block = false;
    }
    l.constants.software.accumulate_bytes = 0; /* as where gradients are sharded */
    sc__step_scripts(&l);
    sc__step_units(&l, placed, out);
    return SC_OK;
}

static void add_unit(struct sc__unit_times *sum, struct sc__unit_times x) {
    sum->forward += x.forward;
    sum->backward += x.backward;
    sum->exchange += x.exchange;
}

/* before: layers of the stage in the chunks before it. */
static struct sc__unit_times chunk_floor(const struct sc__model *m,
                                         const struct sc__plan *p,
                                         const struct sc__step_units *u,
                                         uint32_t stage,
                                         uint32_t chunk,
                                         uint32_t *before) {
    struct sc__unit_times sum = {0};
    uint32_t first;
    uint32_t n = sc__plan_layers(p, m, stage, chunk, &first);
    uint32_t part = sc__schedule_part(p->schedule, p->mesh.pp, stage, chunk);
    uint32_t again = p->recompute_block ? p->recompute_layers : SC__NONE;
    if (part == 0)
        add_unit(&sum, u->embedding);
    for (uint32_t i = 0; i < n; i++) {
        bool other = *before + i >= again;
        add_unit(&sum, other ? u->others[first + i] : u->layers[first + i]);
    }
    *before += n;
    if (part + 1 < sc__plan_parts(p))
        return sum;
    add_unit(&sum, u->head);
    for (uint32_t i = 0; i < sc__plan_predictions(p, m); i++) {
        add_unit(&sum, (*before >= again ? u->others : u->layers)[m->layers - 1]);
        add_unit(&sum, u->head);
    }
    return sum;
}

/* A receive holds the stream: a stage waits for it with every micro-batch. */
static bool receives_hold(const struct sc__plan *p) {
    return p->vpp == 1 && !p->overlap_p2p && !sc__schedule_two_ways(p->schedule) &&
           !sc__schedule_overlaps_steps(p->schedule);
}

/* As sc__step_bound, with fill and drain together; of the streams beside compute that of
 * the exchange of experts. */
int64_t sc__plan_floor(const struct sc__model *m,
                       const struct sc__plan *p,
                       const struct sc__step_units *units) {
    /* from both ends: what a stage waits for first is not asked */
    bool overlap = (sc__schedule_overlaps_steps(p->schedule) && p->mesh.pp > 1) ||
                   p->schedule == SC__SCHEDULE_DUALPIPE;
    bool split = sc__schedule_splits(p->schedule);
    int64_t held = receives_hold(p) ? units->message : 0;
    int64_t hop = held ? 0 : units->message; /* each message is counted once */
    int64_t passes = 0; /* what a micro-batch passed on its way to the stage and back */
    int64_t fill = 0;   /* on its way to the stage */
    int64_t most = 0;
    int64_t times = sc__plan_passes(p);
    for (uint32_t s = 0; s < p->mesh.pp; s++) {
        uint32_t layers = 0;
        struct sc__unit_times first = chunk_floor(m, p, units, s, 0, &layers);
        int64_t received = (s > 0) + (s + 1 < p->mesh.pp);
        int64_t each = first.forward + first.backward + received * held;
        int64_t exchange = first.exchange;
        for (uint32_t c = 1; c < p->vpp; c++) {
            struct sc__unit_times x = chunk_floor(m, p, units, s, c, &layers);
            each += x.forward + x.backward;
            exchange += x.exchange;
        }
        if (passes + times * each > most)
            most = passes + times * each;
        if (fill + times * exchange > most)
            most = fill + times * exchange;
        if (overlap)
            continue;
        fill += first.forward + hop;
        passes += first.forward + hop + (split ? 0 : first.backward + hop);
    }
    return most;
}
