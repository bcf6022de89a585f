/* step_scripts: kernels and collectives in order, for each kind of layer, the
 * embedding and the head.
 *
 * Kernels between two collectives are merged by kind of work, so that a layer
 * is a handful of operations. A collective is either waited for at once or
 * runs beside what follows until the next join of its stream:
 *
 *   tensor parallel      AR (or AG … RS with sequence parallel) around both
 *                        halves of a layer; in backward the input gradient's
 *                        runs beside the weight gradient (Megatron since 2022);
 *                        in chunks most of a collective runs beside its GEMM
 *   context parallel     keys and values go round beside the core of attention
 *   expert parallel      dispatch and combine around the experts */
#include "lower/step_scripts.h"

/* GEMMs that are merged keep their names: "qkv + proj". */
static void
add_name(struct sc__script_maker *k, struct sc__step_item *item, const char *name) {
    if (item->work == SC__WORK_GEMM && !strstr(item->name, name))
        item->name = sc__format(k->l->arena, "%s + %s", item->name, name);
}

void sc__script_compute(struct sc__script_maker *k,
                        uint8_t work,
                        double us,
                        const char *name) {
    struct sc__script *s = k->script;
    s->us += us;
    for (uint32_t i = k->open; i < s->count; i++)
        if (s->items[i].kind == SC__ITEM_COMPUTE && s->items[i].work == work) {
            s->items[i].us += us;
            add_name(k, &s->items[i], name);
            return;
        }
    *SC__PUSH(k->l->arena, s->items, s->count, s->capacity) =
        (struct sc__step_item){.kind = SC__ITEM_COMPUTE,
                               .phase = k->phase,
                               .work = work,
                               .us = us,
                               .name = name};
}

static void close_segment(struct sc__script_maker *k) {
    k->open = k->script->count;
}

static void count_transfer(struct sc__script_maker *k, double us, bool async) {
    if (async) {
        k->beside_end = fmax(k->beside_end, k->script->us) + us;
        return;
    }
    k->comm += us;
}

void sc__script_collective(struct sc__script_maker *k,
                           enum sc__coll coll,
                           enum sc__group_kind group,
                           uint8_t stream,
                           double bytes,
                           bool async,
                           const char *name) {
    struct sc__script *s = k->script;
    if (bytes < 1 || sc__mesh_group_size(&k->l->plan.mesh, group) == 1)
        return;
    *SC__PUSH(k->l->arena, s->items, s->count, s->capacity) =
        (struct sc__step_item){.kind = SC__ITEM_COLL,
                               .phase = k->phase,
                               .coll = (uint8_t)coll,
                               .stream = stream,
                               .async = async,
                               .group = (uint8_t)group,
                               .bytes = bytes,
                               .name = name};
    k->launches += 2;
    if (group == SC__GROUP_TP)
        count_transfer(k, sc__step_tp_us(k->l, coll, bytes), async);
    close_segment(k);
}

/* What kernels beside a transfer do not hide of it is time in which the host gets
 * ahead, as it does while the stream waits for one. */
static void count_late(struct sc__script_maker *k) {
    if (k->beside_end > k->script->us)
        k->comm += k->beside_end - k->script->us;
    k->beside_end = 0;
}

void sc__script_join(struct sc__script_maker *k, uint8_t stream) {
    *SC__PUSH(k->l->arena, k->script->items, k->script->count, k->script->capacity) =
        (struct sc__step_item){.kind = SC__ITEM_JOIN, .stream = stream};
    if (stream == SC__STREAM_COMM)
        count_late(k);
    close_segment(k);
}

/* With --overlap-moe the exchange of a layer of one micro-batch runs beside a whole
 * layer of another: here, until the next layer's experts. */
static void await_exchange(struct sc__script_maker *k) {
    if (k->l->plan.overlap_moe)
        sc__script_join(k, SC__STREAM_EP);
}

static const char *part_name(enum sc__work work) {
    static const char *const names[SC__WORKS] = {[SC__WORK_ATTENTION] = "attention",
                                                 [SC__WORK_NORM] = "norm",
                                                 [SC__WORK_ELEMENTWISE] = "elementwise",
                                                 [SC__WORK_ROUTER] = "router",
                                                 [SC__WORK_COPY] = "copy"};
    return names[work] ? names[work] : "compute";
}

/* Routing and experts, whose kernels are many and small. */
static bool of_experts(unsigned which) {
    return which == SC__PART_ROUTER || which == SC__PART_MLP_IN ||
           which == SC__PART_MLP_OUT || which == SC__PART_UNROUTE;
}

/* Launched with a graph: the host is not asked. */
static bool captured(const struct sc__plan *p, unsigned which, bool moe) {
    if (p->graphs & SC__GRAPH_FULL)
        return true;
    if (which <= SC__PART_ATTENTION_ADD)
        return p->graphs & SC__GRAPH_ATTENTION;
    if (which == SC__PART_ROUTER || which == SC__PART_SHARED ||
        (moe && which == SC__PART_MLP_NORM))
        return p->graphs & SC__GRAPH_ROUTER;
    return p->graphs & SC__GRAPH_MLP && !(moe && of_experts(which));
}

void sc__script_part(struct sc__script_maker *k,
                     const struct sc__layer_kernels *list,
                     enum sc__layer_part which,
                     unsigned phases) {
    for (uint32_t i = 0; i < list->count; i++) {
        const struct sc__layer_kernel *x = &list->items[i];
        if (x->part != which || !(phases >> x->kernel.phase & 1))
            continue;
        double share =
            k->phase == SC__RECOMPUTE ? sc__step_repeat_share(k->l, x, k->kind) : 1;
        if (k->piece > 0)
            share *= k->piece;
        if (share <= 0)
            continue;
        if (!x->kernel.in_loop && !captured(&k->l->plan, which, k->moe))
            k->launches += x->kernel.launches * share;
        sc__script_compute(k,
                           x->kernel.work,
                           share * sc__step_kernel_us(k->l, &x->kernel),
                           x->kernel.work == SC__WORK_GEMM ? x->kernel.name
                                                           : part_name(x->kernel.work));
    }
}

/* Host time that the kernels of the script need; 0 where no host is asked. */
static double host_need(const struct sc__script_maker *k) {
    const struct sc__plan *p = &k->l->plan;
    double per = p->host_launch >= 0 ? p->host_launch : k->l->constants.software.host_us;
    if (p->graphs & SC__GRAPH_FULL || !(per > 0))
        return 0;
    return per * k->launches + k->operators;
}

/* How sharp the corner between the GPU's time and its host's is: a layer takes the norm
 * of both. Ranks that meet in every layer wait each time for the last host, which is not
 * always the same one; others meet once a step. */
static double host_corner(const struct sc__plan *p) {
    static const double meet_in_layers = 2.2;
    static const double meet_in_steps = 8;
    return p->mesh.tp > 1 ? meet_in_layers : meet_in_steps;
}

/* The norm never ends: it adds a little to layers whose host is far ahead. What is below
 * a hundredth is left out, and comes in twice as steep up to two, so that the time of a
 * layer has no jump: a GPU that gets slower would save the wait. */
static double shown_wait(double wait, double busy, bool norm) {
    double least = 0.01 * busy;
    return norm && wait < 2 * least ? 2 * (wait - least) : wait;
}

/* Time the GPU waits for the host: what host time exceeds the GPU's by. A host that is
 * far ahead of its GPU does not show, and a GPU that is slower never ends sooner. */
static double host_wait(const struct sc__script_maker *k) {
    double busy = k->script->us + k->comm - k->settled;
    double need = host_need(k);
    if (need <= 0 || busy <= 0)
        return 0;
    if (k->l->constants.software.blocking > 0)
        return need;
    double corner = host_corner(&k->l->plan);
    double sum = k->l->plan.gpus > 1
                     ? pow(pow(need, corner) + pow(busy, corner), 1 / corner)
                     : fmax(need, busy);
    return shown_wait(sum - busy, busy, k->l->plan.gpus > 1);
}

static void host_idle(struct sc__script_maker *k, double us) {
    if (us <= 0)
        return;
    close_segment(k);
    sc__script_compute(k, SC__WORK_HOST, us, "host");
}

/* Everything launched since the last time is compared. */
static void host(struct sc__script_maker *k) {
    host_idle(k, host_wait(k));
    k->launches = 0;
    k->operators = 0;
    k->settled = k->script->us + k->comm;
}

/* The host cannot get ahead over this point: what comes behind it is compared alone. */
static void host_reads_counts(struct sc__script_maker *k) {
    if (!sc__expert_host_waits(k) || host_need(k) <= 0)
        return;
    host(k);
    host_idle(k, k->l->constants.software.host_wait_us);
    k->settled = k->script->us + k->comm;
}

double sc__script_activation_bytes(const struct sc__lowering *l) {
    return sc__plan_tokens(&l->plan) * l->model->hidden * sc__plan_width(&l->plan);
}

/* Of an activation, what attention's column-parallel products need of other ranks. Latent
 * attention in Megatron brings a rank's own tokens down and gathers the latents, those that
 * are multiplied and, for the first time, the rotary part of the keys;
 * PyTorch's gathers the tokens. */
static double attention_share(const struct sc__script_maker *k, bool again) {
    const struct sc__model *m = k->l->model;
    bool latents = m->kv_lora && sc__kind_mixer(k->kind) == SC__MIXER_ATTENTION &&
                   k->l->constants.software.gather_again > 0;
    double queries = m->q_lora ? 0 : m->hidden;
    double width = queries + sc__model_latent_width(m) - (again ? m->rope_dim : 0);
    return latents ? width / m->hidden : 1;
}

/* Bytes an element of what a product of that layer is gathered for: operands are cast
 * before, and gathered with their scales. Gradients are needed by rows and by columns:
 * one scale for the tensor is good for both, scales of blocks are not. */
static double gathered_width(const struct sc__lowering *l, int kind, bool gradient) {
    const struct sc__plan *p = &l->plan;
    if (kind & SC__LAYER_WIDE)
        return sc__plan_width(p);
    if (p->gemm == SC__FP4)
        return (gradient ? 2 : 1) * (0.5 + 1.0 / 16);
    /* by rows in forward, by columns in backward: cast behind the gathering */
    if (p->gemm != SC__FP8 || p->fp8_recipe == SC_FP8_RECIPE_ROWWISE)
        return sc__plan_width(p);
    bool by_blocks = !p->dynamic_casts && (p->fp8_recipe == SC_FP8_RECIPE_BLOCKWISE ||
                                           p->fp8_recipe == SC_FP8_RECIPE_MXFP8);
    return gradient && by_blocks ? 2 : 1;
}

static double
gathered_bytes(const struct sc__script_maker *k, double share, bool gradient) {
    return share * sc__plan_tokens(&k->l->plan) * k->l->model->hidden *
           gathered_width(k->l, k->kind, gradient);
}

static bool chunked(const struct sc__lowering *l) {
    return l->plan.tp_overlap == SC__TP_CHUNKS && l->plan.sequence_parallel;
}

/* DTensor keeps the batch in front: what is gathered or scattered along the
 * sequence of several is put in order by a copy. */
static void reorder(struct sc__script_maker *k, double bytes) {
    const struct sc__plan *p = &k->l->plan;
    if (!p->torch_copies || p->micro_batch == 1 || p->mesh.tp == 1)
        return;
    struct sc__kernel x = sc__elementwise(k->l->kernel_model, "reorder", 2 * bytes);
    k->launches += x.launches;
    sc__script_compute(k,
                       SC__WORK_COPY,
                       sc__step_kernel_us(k->l, &x),
                       part_name(SC__WORK_COPY));
}

/* Before a column-parallel GEMM, this share of the tokens' width. In chunks: a part
 * shows, the rest runs beside the GEMM; the caller joins after it. */
static void gather_share(struct sc__script_maker *k, double share) {
    double bytes = gathered_bytes(k, share, k->phase == SC__BACKWARD);
    double shown = k->l->constants.software.tp_exposed;
    if (!k->l->plan.sequence_parallel)
        return;
    if (!chunked(k->l)) {
        sc__script_collective(k,
                              SC__ALLGATHER,
                              SC__GROUP_TP,
                              SC__STREAM_COMM,
                              bytes,
                              false,
                              "tp gather");
        reorder(k, bytes);
        return;
    }
    sc__script_collective(k,
                          SC__ALLGATHER,
                          SC__GROUP_TP,
                          SC__STREAM_COMM,
                          bytes * shown,
                          false,
                          "tp gather");
    sc__script_collective(k,
                          SC__ALLGATHER,
                          SC__GROUP_TP,
                          SC__STREAM_COMM,
                          bytes * (1 - shown),
                          true,
                          "tp gather");
}

static void gather_tokens(struct sc__script_maker *k) {
    gather_share(k, 1);
}

static void join_chunks(struct sc__script_maker *k) {
    if (chunked(k->l))
        sc__script_join(k, SC__STREAM_COMM);
}

/* Around a row-parallel GEMM. */
static void begin_reduce(struct sc__script_maker *k) {
    if (chunked(k->l))
        sc__script_collective(k,
                              SC__REDUCESCATTER,
                              SC__GROUP_TP,
                              SC__STREAM_COMM,
                              sc__script_activation_bytes(k->l) *
                                  (1 - k->l->constants.software.tp_exposed),
                              true,
                              "tp reduce");
}

static void end_reduce(struct sc__script_maker *k) {
    double bytes = sc__script_activation_bytes(k->l);
    if (!k->l->plan.sequence_parallel) {
        sc__script_collective(k,
                              SC__ALLREDUCE,
                              SC__GROUP_TP,
                              SC__STREAM_COMM,
                              bytes,
                              false,
                              "tp reduce");
        return;
    }
    join_chunks(k);
    if (!chunked(k->l))
        reorder(k, bytes);
    sc__script_collective(k,
                          SC__REDUCESCATTER,
                          SC__GROUP_TP,
                          SC__STREAM_COMM,
                          bytes * (chunked(k->l) ? k->l->constants.software.tp_exposed : 1),
                          false,
                          "tp reduce");
}

static void forward_dense_mlp(struct sc__script_maker *k,
                              const struct sc__layer_kernels *f) {
    gather_tokens(k);
    sc__script_part(k, f, SC__PART_MLP_IN, 1u << SC__FORWARD);
    join_chunks(k);
    if (k->phase == SC__RECOMPUTE && sc__step_stops_early(k->l, k->kind))
        return;
    begin_reduce(k);
    sc__script_part(k, f, SC__PART_MLP_OUT, 1u << SC__FORWARD);
    end_reduce(k);
    sc__script_part(k, f, SC__PART_MLP_ADD, 1u << SC__FORWARD);
}

/* Experts that see every token are cut as any feed-forward, with its collectives
 * (Megatron's SharedExpertMLP). */
static void forward_shared(struct sc__script_maker *k, const struct sc__layer_kernels *f) {
    if (!k->l->model->shared_ffn)
        return;
    gather_tokens(k);
    begin_reduce(k);
    sc__script_part(k, f, SC__PART_SHARED, 1u << SC__FORWARD);
    end_reduce(k);
}

static void forward_experts(struct sc__script_maker *k, const struct sc__layer_kernels *f) {
    unsigned all = 1u << SC__FORWARD;
    await_exchange(k);
    sc__script_part(k, f, SC__PART_ROUTER, all);
    k->operators += sc__expert_host_us(k, true, false);
    host_reads_counts(k);
    k->operators += sc__expert_host_us(k, false, true);
    forward_shared(k, f);
    sc__expert_gather_map(k);
    sc__expert_all_to_all(k, true);
    sc__expert_tensor_parallel(k, SC__ALLGATHER);
    sc__script_part(k, f, SC__PART_MLP_IN, all);
    sc__script_part(k, f, SC__PART_MLP_OUT, all);
    sc__expert_tensor_parallel(k, SC__REDUCESCATTER);
    sc__expert_all_to_all(k, false);
    sc__script_part(k, f, SC__PART_UNROUTE, all);
    sc__script_part(k, f, SC__PART_MLP_ADD, all);
}

/* A scan goes along the sequence: under context parallelism heads are exchanged for
 * tokens before it and back after it (as Megatron does). */
static void scan(struct sc__script_maker *k,
                 const struct sc__layer_kernels *list,
                 int kind,
                 unsigned phases) {
    const struct sc__model *m = k->l->model;
    double each =
        sc__plan_tokens(&k->l->plan) * sc__plan_width(&k->l->plan) / k->l->plan.mesh.tp;
    double in = each * sc__model_scan_input(m, sc__kind_mixer(kind));
    double out = each * sc__model_scan_width(m);
    bool backward = !(phases & 1u << SC__FORWARD);
    for (int i = 0; i < 2; i++) {
        sc__script_collective(k,
                              SC__ALLTOALL,
                              SC__GROUP_CP,
                              SC__STREAM_CP,
                              (i == 0) != backward ? in : out,
                              false,
                              "cp exchange");
        if (i == 0)
            sc__script_part(k, list, SC__PART_ATTENTION_CORE, phases);
    }
}

static void mix(struct sc__script_maker *k,
                const struct sc__layer_kernels *list,
                int kind,
                bool backward) {
    unsigned phases = backward ? 1u << SC__BACKWARD | 1u << SC__WGRAD : 1u << SC__FORWARD;
    if (sc__kind_mixer(kind) == SC__MIXER_ATTENTION)
        sc__context_core(k, list, kind, backward);
    else
        scan(k, list, kind, phases);
}

static void
forward_mixer(struct sc__script_maker *k, const struct sc__layer_kernels *f, int kind) {
    unsigned all = 1u << SC__FORWARD;
    sc__script_part(k, f, SC__PART_ATTENTION_NORM, all);
    gather_share(k, attention_share(k, false));
    sc__script_part(k, f, SC__PART_ATTENTION_IN, all);
    join_chunks(k);
    mix(k, f, kind, false);
    begin_reduce(k);
    sc__script_part(k, f, SC__PART_ATTENTION_OUT, all);
    end_reduce(k);
    sc__script_part(k, f, SC__PART_ATTENTION_ADD, all);
}

static void
forward_layer(struct sc__lowering *l, int kind, uint8_t phase, struct sc__script *out) {
    struct sc__script_maker k = {.l = l,
                                 .script = out,
                                 .phase = phase,
                                 .moe = sc__kind_has_experts(kind),
                                 .kind = kind};
    const struct sc__layer_kernels *f = &l->kernels[kind][0];
    if (sc__kind_mixer(kind) != SC__MIXER_NONE)
        forward_mixer(&k, f, kind);
    if (!(kind & SC__LAYER_MIXER_ONLY)) {
        sc__script_part(&k, f, SC__PART_MLP_NORM, 1u << SC__FORWARD);
        if (k.moe)
            forward_experts(&k, f);
        else
            forward_dense_mlp(&k, f);
    }
    host(&k);
}

static bool repeats_module(const struct sc__lowering *l, unsigned modules) {
    const struct sc__plan *p = &l->plan;
    return p->recompute == SC__RECOMPUTE_SELECTIVE && p->recompute_modules & modules;
}

/* A feed-forward that tensor-parallel ranks share runs again, of every token. */
static bool repeats_feed_forward(const struct sc__script_maker *k) {
    if (k->kind & SC__LAYER_MIXER_ONLY)
        return false;
    if (!k->moe)
        return repeats_module(k->l, SC__MODULE_MLP);
    return k->l->model->shared_ffn &&
           repeats_module(k->l, SC__MODULE_MOE | SC__MODULE_SHARED);
}

static void repeat_exchange(struct sc__script_maker *k) {
    sc__expert_gather_map(k);
    sc__expert_all_to_all(k, true);
    sc__expert_tensor_parallel(k, SC__ALLGATHER);
    sc__expert_tensor_parallel(k, SC__REDUCESCATTER);
    sc__expert_all_to_all(k, false);
    if (k->l->plan.overlap_moe)
        sc__script_join(k, SC__STREAM_EP);
}

/* What is computed again before a layer's backward. Partial recomputation needs no
 * collective but the gathers of sequence parallelism, those of a feed-forward that runs
 * again, what brings keys and values to a core that does (context parallelism is inside
 * it), and the exchange where all of the experts' half is repeated. */
static void recompute_layer(struct sc__lowering *l, int kind, struct sc__script *out) {
    const struct sc__plan *p = &l->plan;
    struct sc__script_maker k = {.l = l,
                                 .script = out,
                                 .phase = SC__RECOMPUTE,
                                 .moe = sc__kind_has_experts(kind),
                                 .kind = kind};
    if (p->recompute == SC__RECOMPUTE_NONE)
        return;
    if (p->recompute == SC__RECOMPUTE_FULL) {
        forward_layer(l, kind, SC__RECOMPUTE, out);
        return;
    }
    if (p->recompute == SC__RECOMPUTE_OPS) {
        gather_share(&k, attention_share(&k, false));
        gather_tokens(&k);
    }
    bool again = repeats_feed_forward(&k);
    bool reduces = again && !sc__step_stops_early(l, kind);
    if (again)
        gather_tokens(&k);
    if (reduces)
        begin_reduce(&k);
    bool core =
        sc__kind_mixer(kind) == SC__MIXER_ATTENTION && repeats_module(l, SC__MODULE_CORE);
    for (unsigned which = 0; which < SC__LAYER_PARTS; which++) {
        if (core && which == SC__PART_ATTENTION_CORE)
            sc__context_core_again(&k, &l->kernels[kind][0], kind);
        else
            sc__script_part(&k, &l->kernels[kind][0], which, 1u << SC__FORWARD);
    }
    if (p->recompute == SC__RECOMPUTE_OPS || again)
        join_chunks(&k);
    if (reduces)
        end_reduce(&k);
    if (k.moe && repeats_module(l, SC__MODULE_MOE))
        repeat_exchange(&k);
}

/* PyTorch's: what was gathered is still there, and the input gradient's reduction is
 * that of a row-parallel GEMM, which the weight gradient waits for. */
static void backward_column_dtensor(struct sc__script_maker *k,
                                    const struct sc__layer_kernels *b,
                                    enum sc__layer_part which) {
    begin_reduce(k);
    sc__script_part(k, b, which, 1u << SC__BACKWARD);
    end_reduce(k);
    if (!(k->skip & 1u << SC__WGRAD))
        sc__script_part(k, b, which, 1u << SC__WGRAD);
}

/* The input gradient of a column-parallel GEMM, its reduction beside the
 * weight gradient. With sequence parallelism the input is gathered again,
 * beside the input gradient. */
static void backward_column(struct sc__script_maker *k,
                            const struct sc__layer_kernels *b,
                            enum sc__layer_part which,
                            double share) {
    const struct sc__plan *p = &k->l->plan;
    double again = which == SC__PART_ATTENTION_IN ? attention_share(k, true) : share;
    if (p->sequence_parallel && k->l->constants.software.gather_again <= 0) {
        backward_column_dtensor(k, b, which);
        return;
    }
    bool beside = p->tp_overlap != SC__TP_BLOCKING && !(k->skip & 1u << SC__WGRAD);
    double bytes = share * sc__script_activation_bytes(k->l);
    if (p->sequence_parallel)
        sc__script_collective(k,
                              SC__ALLGATHER,
                              SC__GROUP_TP,
                              SC__STREAM_COMM,
                              gathered_bytes(k, again, false),
                              p->tp_overlap != SC__TP_BLOCKING,
                              "tp gather again");
    sc__script_part(k, b, which, 1u << SC__BACKWARD);
    if (p->sequence_parallel && p->tp_overlap != SC__TP_BLOCKING)
        sc__script_join(k, SC__STREAM_COMM);
    sc__script_collective(k,
                          p->sequence_parallel ? SC__REDUCESCATTER : SC__ALLREDUCE,
                          SC__GROUP_TP,
                          SC__STREAM_COMM,
                          bytes,
                          beside,
                          "tp reduce");
    if (!(k->skip & 1u << SC__WGRAD))
        sc__script_part(k, b, which, 1u << SC__WGRAD);
    if (beside && p->mesh.tp > 1)
        sc__script_join(k, SC__STREAM_COMM);
}

static void backward_part(struct sc__script_maker *k,
                          const struct sc__layer_kernels *b,
                          enum sc__layer_part which) {
    sc__script_part(k, b, which, (1u << SC__BACKWARD | 1u << SC__WGRAD) & ~k->skip);
}

static void backward_shared(struct sc__script_maker *k, const struct sc__layer_kernels *b) {
    if (!k->l->model->shared_ffn)
        return;
    gather_tokens(k);
    backward_column(k, b, SC__PART_SHARED, 1);
}

static void
backward_mlp(struct sc__script_maker *k, const struct sc__layer_kernels *b, bool moe) {
    if (!moe) {
        gather_tokens(k);
        backward_part(k, b, SC__PART_MLP_OUT);
        join_chunks(k);
        backward_column(k, b, SC__PART_MLP_IN, 1);
        return;
    }
    k->operators += sc__expert_host_us(k, true, true);
    await_exchange(k);
    backward_part(k, b, SC__PART_UNROUTE);
    sc__expert_all_to_all(k, false);
    sc__expert_tensor_parallel(k, SC__ALLGATHER);
    backward_part(k, b, SC__PART_MLP_OUT);
    backward_part(k, b, SC__PART_MLP_IN);
    sc__expert_tensor_parallel(k, SC__REDUCESCATTER);
    sc__expert_all_to_all(k, true);
    backward_shared(k, b);
    backward_part(k, b, SC__PART_ROUTER);
}

static struct sc__shard kind_shard(const struct sc__lowering *l, int kind) {
    uint32_t i = 0;
    while (sc__layer_kind(l, i) != kind)
        i++;
    return sc__plan_layer_trained(&l->plan, l->model, i);
}

static void
backward_mixer(struct sc__script_maker *k, const struct sc__layer_kernels *b, int kind) {
    backward_part(k, b, SC__PART_ATTENTION_ADD);
    gather_tokens(k);
    backward_part(k, b, SC__PART_ATTENTION_OUT);
    join_chunks(k);
    mix(k, b, kind, true);
    backward_column(k, b, SC__PART_ATTENTION_IN, attention_share(k, false));
    backward_part(k, b, SC__PART_ATTENTION_NORM);
}

static void
backward_layer(struct sc__lowering *l, int kind, unsigned skip, struct sc__script *out) {
    struct sc__script_maker k = {.l = l,
                                 .script = out,
                                 .phase = SC__BACKWARD,
                                 .skip = skip,
                                 .moe = sc__kind_has_experts(kind),
                                 .kind = kind};
    const struct sc__layer_kernels *b = &l->kernels[kind][1];
    if (!(kind & SC__LAYER_MIXER_ONLY)) {
        backward_part(&k, b, SC__PART_MLP_ADD);
        backward_mlp(&k, b, k.moe);
        backward_part(&k, b, SC__PART_MLP_NORM);
    }
    if (sc__kind_mixer(kind) != SC__MIXER_NONE)
        backward_mixer(&k, b, kind);
    struct sc__shard params = kind_shard(l, kind);
    if (!(skip & 1u << SC__WGRAD))
        sc__script_accumulate(&k, &params);
    host(&k);
}

static void wgrad_layer(struct sc__lowering *l, int kind, struct sc__script *out) {
    struct sc__script_maker k = {.l = l,
                                 .script = out,
                                 .phase = SC__WGRAD,
                                 .moe = sc__kind_has_experts(kind),
                                 .kind = kind};
    for (unsigned which = SC__LAYER_PARTS; which-- > 0;)
        sc__script_part(&k, &l->kernels[kind][1], which, 1u << SC__WGRAD);
    struct sc__shard params = kind_shard(l, kind);
    sc__script_accumulate(&k, &params);
    host(&k);
}

void sc__script_kernels(struct sc__script_maker *k,
                        const struct sc__kernels *list,
                        unsigned phases,
                        const char *name) {
    for (uint32_t i = 0; i < list->count; i++)
        if (phases >> list->items[i].phase & 1) {
            k->launches += list->items[i].launches;
            sc__script_compute(k,
                               list->items[i].work,
                               sc__step_kernel_us(k->l, &list->items[i]),
                               name);
        }
}

static void embedding_scripts(struct sc__lowering *l) {
    struct sc__script_maker f = {.l = l,
                                 .script = &l->embedding_forward,
                                 .phase = SC__FORWARD};
    struct sc__script_maker b = {.l = l,
                                 .script = &l->embedding_backward,
                                 .phase = SC__BACKWARD};
    bool sp = l->plan.sequence_parallel;
    sc__script_kernels(&f, &l->embedding[0], 1u << SC__FORWARD, "embedding");
    sc__script_collective(&f,
                          sp ? SC__REDUCESCATTER : SC__ALLREDUCE,
                          SC__GROUP_TP,
                          SC__STREAM_COMM,
                          sc__script_activation_bytes(l),
                          false,
                          "tp embedding");
    if (sp)
        sc__script_collective(&b,
                              SC__ALLGATHER,
                              SC__GROUP_TP,
                              SC__STREAM_COMM,
                              sc__script_activation_bytes(l),
                              false,
                              "tp embedding");
    if (!l->plan.lora)
        sc__script_kernels(&b, &l->embedding[1], 1u << SC__BACKWARD, "embedding");
}

/* The head's input is kept cut along the sequence, as that of any column-parallel layer. */
static bool gathers_for_wgrad(const struct sc__lowering *l) {
    return l->plan.sequence_parallel && l->plan.mesh.tp > 1 && !l->plan.lora &&
           l->constants.software.gather_again > 0;
}

/* Final norm, logits and loss. The loss over a cut vocabulary needs the
 * maximum, the sum and the target's logit of every token: 4 bytes each. */
static void head_scripts(struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    /* logits are computed in the wide type, whatever the layers are */
    struct sc__script_maker f = {.l = l,
                                 .script = &l->head_forward,
                                 .phase = SC__FORWARD,
                                 .kind = SC__LAYER_WIDE};
    struct sc__script_maker b = {.l = l,
                                 .script = &l->head_backward,
                                 .phase = SC__BACKWARD};
    struct sc__script_maker w = {.l = l, .script = &l->head_wgrad, .phase = SC__WGRAD};
    bool split = sc__schedule_splits(p->schedule);
    gather_tokens(&f);
    sc__script_kernels(&f, &l->head[0], 1u << SC__FORWARD, "head");
    join_chunks(&f);
    for (int i = 0; i < 3; i++)
        sc__script_collective(&f,
                              SC__ALLREDUCE,
                              SC__GROUP_TP,
                              SC__STREAM_COMM,
                              4 * sc__plan_tokens(p),
                              false,
                              "tp loss");
    bool beside = p->tp_overlap != SC__TP_BLOCKING && !split;
    if (gathers_for_wgrad(l))
        sc__script_collective(&b,
                              SC__ALLGATHER,
                              SC__GROUP_TP,
                              SC__STREAM_COMM,
                              sc__script_activation_bytes(l),
                              beside,
                              "tp head again");
    sc__script_kernels(&b, &l->head[1], 1u << SC__BACKWARD, "head");
    if (gathers_for_wgrad(l) && beside)
        sc__script_join(&b, SC__STREAM_COMM);
    sc__script_collective(&b,
                          p->sequence_parallel ? SC__REDUCESCATTER : SC__ALLREDUCE,
                          SC__GROUP_TP,
                          SC__STREAM_COMM,
                          sc__script_activation_bytes(l),
                          beside,
                          "tp head");
    struct sc__shard params = {.dense = (double)p->vocab / p->mesh.tp * l->model->hidden};
    if (!p->lora) {
        sc__script_kernels(split ? &w : &b, &l->head[1], 1u << SC__WGRAD, "head");
        sc__script_accumulate(split ? &w : &b, &params);
    }
    if (beside && p->mesh.tp > 1)
        sc__script_join(&b, SC__STREAM_COMM);
}

void sc__step_layer_scripts(struct sc__lowering *l) {
    bool split = sc__schedule_splits(l->plan.schedule);
    for (int kind = 0; kind < SC__LAYER_KINDS; kind++) {
        if (!l->has_kind[kind])
            continue;
        forward_layer(l, kind, SC__FORWARD, &l->forward[kind]);
        recompute_layer(l, kind, &l->recompute[kind]);
        backward_layer(l, kind, split ? 1u << SC__WGRAD : 0, &l->backward[kind]);
        if (split)
            wgrad_layer(l, kind, &l->wgrad[kind]);
    }
}

void sc__step_scripts(struct sc__lowering *l) {
    sc__step_layer_scripts(l);
    sc__towers_scripts(l);
    embedding_scripts(l);
    head_scripts(l);
    sc__prediction_scripts(l);
}
