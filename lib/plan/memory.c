/* memory: the moment at which one GPU holds most. A step has three:
 *
 *   loss     activations of all micro-batches in flight, and the logits with their
 *            gradients
 *   layer    the same activations, a layer that is computed again, and the gradients
 *            that backward of one layer has on the way
 *   update   all gradients, no activations
 *
 * Gradients that stay for the whole step count in all of them; where they appear as
 * backward goes (plain PyTorch, one micro-batch), backward's end has them all. */
#include "plan/memory.h"

#include "plan/towers.h"

#include <math.h>

/* Micro-batches whose activations a stage holds at once. ZB-2p and ZB-V find
 * their order within this limit, and what waits for its weight gradients
 * counts against it. */
static double in_flight(const struct sc__plan *p, uint32_t stage) {
    double pp = p->mesh.pp;
    double m = sc__plan_run_batches(p);
    double most = pp - stage;
    if (p->schedule == SC__SCHEDULE_GPIPE)
        return m;
    if (p->schedule == SC__SCHEDULE_INTERLEAVED) {
        struct sc__turns turns = sc__plan_turns(p);
        uint32_t batches = sc__plan_run_batches(p);
        double warm = sc__schedule_warm_up(p->mesh.pp, p->vpp, turns, stage, batches);
        most = (warm + 1) / p->vpp;
    }
    if (p->schedule == SC__SCHEDULE_ZB2P)
        most = 2 * pp;
    if (p->schedule == SC__SCHEDULE_ZBV)
        most = pp;
    if (p->schedule == SC__SCHEDULE_DUALPIPEV)
        most = pp + 0.5; /* 2·pp + 1 chunks */
    if (p->schedule == SC__SCHEDULE_DUALPIPE)
        most = (pp + 1) / 2; /* pp + 1 chunks */
    return most < m ? most : m;
}

/* Micro-batches that the head's stage holds at once between the forward of the loss and its
 * backward. Where backward begins with what forward ended with there is one. */
static double losses_in_flight(const struct sc__plan *p, uint32_t stage) {
    uint32_t m = sc__plan_run_batches(p);
    if (p->schedule == SC__SCHEDULE_GPIPE)
        return m;
    if (p->schedule != SC__SCHEDULE_INTERLEAVED)
        return 1;
    struct sc__turns turns = sc__plan_turns(p);
    uint32_t warm = sc__schedule_warm_up(p->mesh.pp, p->vpp, turns, stage, m);
    return warm == m * p->vpp ? m : fmin(m, 1 + turns.ahead);
}

/* Of one micro-batch, in one layer. */
struct layer_keeps {
    double whole; /* nothing is recomputed */
    double kept;
    double fragment;
    double workspace;
};

enum { MOST_CHUNKS = 64 }; /* beyond them all count as equal */

/* Of one micro-batch, in all layers of a stage. */
struct stage_keeps {
    /* for all of backward; from input to weight gradient */
    double activations;
    double chunk[MOST_CHUNKS]; /* of them, each chunk's */
    double fragment;
    double first;            /* all of the first layer's */
    double again;            /* of one layer: what is computed again before its backward */
    double workspace;        /* of one layer: gradients on their way */
    double away;             /* activations that wait on the host */
    double away_layer;       /* of them: the most of one layer */
    uint32_t layers;         /* counted so far */
    struct layer_keeps like; /* the last of them */
    uint32_t last;
};

static struct layer_keeps
layer_keeps(const struct sc__model *m, const struct sc__plan *p, uint32_t layer) {
    struct sc__plan of_layer = *p;
    if (sc__plan_layer_stays_wide(p, m, layer))
        of_layer.gemm = p->dtype;
    struct sc__plan once = of_layer;
    once.recompute = SC__RECOMPUTE_NONE;
    return (struct layer_keeps){.whole = sc__layer_activations(m, &once, layer),
                                .kept = sc__layer_activations(m, &of_layer, layer),
                                .fragment = sc__layer_fragment(m, &of_layer, layer),
                                .workspace = sc__layer_workspace(m, &of_layer, layer)};
}

static bool layers_keep_alike(const struct sc__model *m,
                              const struct sc__plan *p,
                              uint32_t a,
                              uint32_t b) {
    bool windows = sc__model_windowed(m, a, p->seq) == sc__model_windowed(m, b, p->seq);
    return sc__model_layers_alike(m, a, b) && (windows || !p->masked_windows) &&
           sc__plan_layer_stays_wide(p, m, a) == sc__plan_layer_stays_wide(p, m, b);
}

/* Layers that are recomputed keep their input, and while one is, all it has;
 * of a block, only the first of a stage are. */
static void add_layer(const struct sc__model *m,
                      const struct sc__plan *p,
                      uint32_t layer,
                      struct stage_keeps *k) {
    bool repeated = !p->recompute_block || k->layers < p->recompute_layers;
    if (!k->layers++ || !layers_keep_alike(m, p, k->last, layer))
        k->like = layer_keeps(m, p, layer);
    k->last = layer;
    double kept = repeated ? k->like.kept : k->like.whole;
    if (k->layers == 1)
        k->first = k->like.whole;
    if (k->layers > p->offload_activations) {
        k->activations += kept;
    } else {
        k->away += kept;
        k->away_layer = fmax(k->away_layer, kept);
    }
    k->fragment += k->like.fragment;
    k->again = fmax(k->again, k->like.whole - kept);
    k->workspace = fmax(k->workspace, k->like.workspace);
}

/* The final norm's input and output, and the prediction layers behind it, each with two
 * norms before it and one behind. */
static void
add_end(const struct sc__model *m, const struct sc__plan *p, struct stage_keeps *k) {
    double norm = sc__plan_width(p) + (p->amp ? 4 : sc__plan_width(p));
    if (sc__is_by_modules_alone(p) && m->norm == SC__RMSNORM)
        norm = 4 + (p->lora ? 0 : 2 * sc__plan_width(p));
    uint32_t predictions = sc__plan_predictions(p, m);
    k->activations += sc__plan_tokens_sp(p) * m->hidden * norm * (1 + 3 * predictions);
    uint32_t parts[SC__PREDICTION_LAYERS];
    uint32_t count = sc__model_prediction(m, parts);
    for (uint32_t i = 0; i < predictions * count; i++)
        add_layer(m, p, parts[i % count], k);
}

static void
add_towers(const struct sc__model *m, const struct sc__plan *p, struct stage_keeps *k) {
    struct sc__towers_keep x = sc__plan_towers_keep(p, m);
    k->activations += x.activations;
    k->again = fmax(k->again, x.again);
    k->workspace = fmax(k->workspace, x.workspace);
}

/* ZB-V limits the number of chunks: all may be of the larger kind. */
static struct stage_keeps
stage_keeps(const struct sc__model *m, const struct sc__plan *p, uint32_t stage) {
    struct stage_keeps k = {0};
    double larger = 0;
    for (uint32_t c = 0; c < p->vpp; c++) {
        uint32_t first;
        uint32_t n = sc__plan_layers(p, m, stage, c, &first);
        double before = k.activations;
        for (uint32_t i = first; i < first + n; i++)
            add_layer(m, p, i, &k);
        larger = fmax(larger, k.activations - before);
        if (c < MOST_CHUNKS)
            k.chunk[c] = k.activations - before;
    }
    if (sc__schedule_two_ways(p->schedule))
        k.activations = 2 * larger;
    double layers = k.activations;
    if (sc__plan_has_embedding(p, stage) && sc__plan_drops_hidden(p))
        k.activations += sc__plan_tokens_sp(p) * m->hidden;
    if (sc__plan_has_embedding(p, stage))
        add_towers(m, p, &k);
    k.chunk[0] += k.activations - layers;
    layers = k.activations;
    if (sc__plan_has_head(p, stage))
        add_end(m, p, &k);
    k.chunk[(p->vpp - 1) % MOST_CHUNKS] += k.activations - layers;
    return k;
}

/* Activations of all micro-batches in flight. Interleaved, of the last chunk those of few
 * are, and of the first those of most: a stage whose chunks are unequal has not the mean.
 */
static double kept_in_flight(const struct sc__plan *p,
                             uint32_t stage,
                             const struct stage_keeps *k,
                             double flying) {
    bool equal = p->schedule != SC__SCHEDULE_INTERLEAVED || p->vpp > MOST_CHUNKS;
    for (uint32_t c = 1; !equal && c < p->vpp && k->chunk[c] == k->chunk[0]; c++)
        equal = c + 1 == p->vpp;
    if (equal)
        return k->activations * flying;
    return sc__schedule_most_held(p->mesh.pp,
                                  p->vpp,
                                  sc__plan_turns(p),
                                  stage,
                                  sc__plan_run_batches(p),
                                  k->chunk);
}

/* Beside the activations in flight, where input and weight gradients are apart. */
static double waiting_fragments(const struct sc__plan *p,
                                uint32_t stage,
                                const struct stage_keeps *k,
                                double flying) {
    double sum = 0;
    if (!sc__schedule_splits(p->schedule))
        return 0;
    /* recomputation keeps less than the weight gradients need */
    if (k->fragment > k->activations)
        sum = k->fragment - k->activations;
    if (p->schedule != SC__SCHEDULE_ZBH1)
        return sum;
    return sum + fmin(sc__plan_run_batches(p) - flying, stage) * k->fragment;
}

/* Megatron makes an fp32 copy of the logits its softmax and that its gradient, then
 * narrows it; prediction layers keep theirs. PyTorch keeps the logarithm of the
 * softmax, its gradient and theirs. */
static double
loss_keeps(const struct sc__model *m, const struct sc__plan *p, double n, double head) {
    double e = sc__plan_width(p);
    double losses = 1 + sc__plan_predictions(p, m);
    if (p->loss == SC__LOSS_CHUNKED)
        return n * 3 * 4 / 16 + head;
    if (p->loss == SC__LOSS_HALF)
        return fmax(n * 3 * e, n * e + head);
    if (p->loss == SC__LOSS_FLASH)
        return fmax(n * 2 * e, n * e + head);
    if (p->loss == SC__LOSS_TE)
        return n * e * losses;
    if (p->loss == SC__LOSS_FUSED || p->loss == SC__LOSS_UNFUSED)
        return n * (4 * losses + e);
    return fmax(n * 3 * 4, n * e + head);
}

/* Of a micro-batch whose loss waits for its backward: the softmax or its logarithm, or the
 * gradient in place of the logits; a loss in chunks has made that of its input. */
static double loss_leaves(const struct sc__model *m, const struct sc__plan *p, double n) {
    double e = sc__plan_width(p);
    if (p->loss == SC__LOSS_CHUNKED)
        return 0;
    if (p->loss == SC__LOSS_HALF || p->loss == SC__LOSS_FLASH)
        return n * e;
    bool fp32 = p->loss == SC__LOSS_FP32;
    return n * (fp32 ? 4 : (p->loss == SC__LOSS_TE ? e : 4) * (1 + m->mtp_layers));
}

static double
logits_waiting(const struct sc__model *m, const struct sc__plan *p, uint32_t stage) {
    double n = sc__plan_tokens(p) * p->vocab / p->mesh.tp;
    if (!sc__plan_has_head(p, stage))
        return 0;
    double left = loss_leaves(m, p, n) + (m->capped ? n * sc__plan_width(p) : 0);
    return (losses_in_flight(p, stage) - 1) * left;
}

/* What a tanh made of the logits is its derivative. */
static double
logits(const struct sc__model *m, const struct sc__plan *p, uint32_t stage, double head) {
    double n = sc__plan_tokens(p) * p->vocab / p->mesh.tp;
    if (!sc__plan_has_head(p, stage))
        return 0;
    return loss_keeps(m, p, n, head) + (m->capped ? n * sc__plan_width(p) : 0);
}

/* Channels, and a buffer for each protocol and neighbour in each; for exchanges of all
 * with all a pair of channels for each peer. */
static double communicators(const struct sc__plan *p) {
    static const enum sc__group_kind groups[] = {SC__GROUP_TP,
                                                 SC__GROUP_CP,
                                                 SC__GROUP_SHARD,
                                                 SC__GROUP_REPLICA,
                                                 SC__GROUP_DP_EP,
                                                 SC__GROUP_EMBEDDING};
    const struct sc__memory_figures *f = &p->figures;
    uint32_t before = 1;
    double sum = 0;
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++) {
        uint32_t n = sc__mesh_group_size(&p->mesh, groups[i]);
        bool again = groups[i] == SC__GROUP_DP_EP && (p->mesh.ep == 1 || n == before);
        before = n;
        if (n > 1 && !again)
            sum += f->channels * f->channel_bytes;
    }
    if (p->mesh.ep > 1)
        sum += 2.0 * fmin(p->mesh.ep, 64) * f->channel_bytes;
    if (p->mesh.pp > 1)
        sum += 4 * f->channel_bytes;
    return sum;
}

/* What a moment is put together of. */
struct moment_parts {
    struct sc__training_state state;
    struct stage_keeps keeps;
    double kept;    /* activations of all micro-batches in flight */
    double logits;  /* of the micro-batch whose loss is made */
    double waiting; /* of others, until their backward */
    double again;   /* of one layer, beside them */
};

/* The root's weights are gathered. */
static struct sc__stage_memory first_moment(const struct moment_parts *x) {
    return (struct sc__stage_memory){.weights = x->state.fsdp.begin};
}

static struct sc__stage_memory loss_moment(const struct moment_parts *x) {
    return (struct sc__stage_memory){.weights = x->state.casts + x->state.fsdp.of_loss,
                                     .gradients = x->state.unreduced,
                                     .activations = x->kept,
                                     .logits = x->logits + x->waiting};
}

/* FSDP reduces the gradients of a layer beside the next one's backward, when the
 * activations of the first are gone. */
static struct sc__stage_memory layer_moment(const struct moment_parts *x) {
    const struct sc__fsdp_passing *f = &x->state.fsdp;
    double gone = x->keeps.layers ? x->keeps.activations / x->keeps.layers : 0;
    return (struct sc__stage_memory){.weights = x->state.casts + f->of_layer,
                                     .gradients = x->state.unreduced + f->made +
                                                  fmax(0, f->reduced - gone),
                                     .activations = x->kept,
                                     .logits = x->waiting,
                                     .workspace = x->again};
}

/* Its activations are all there, kept or computed again, and all other gradients. */
static struct sc__stage_memory first_layer_moment(const struct moment_parts *x) {
    const struct sc__training_state *s = &x->state;
    double passing = s->fsdp.made + s->fsdp.reduced;
    return (struct sc__stage_memory){.weights = s->fsdp.of_first,
                                     .gradients =
                                         s->growing - s->last + s->unreduced + passing,
                                     .activations = x->keeps.first,
                                     .workspace = x->keeps.workspace};
}

static struct sc__stage_memory end_moment(const struct moment_parts *x) {
    const struct sc__training_state *s = &x->state;
    return (struct sc__stage_memory){.gradients = s->growing + s->unreduced + s->fsdp.ends,
                                     .workspace = s->accumulated};
}

static struct sc__stage_memory update_moment(const struct moment_parts *x) {
    return (struct sc__stage_memory){.gradients = x->state.growing,
                                     .workspace = x->state.update};
}

static double allocated(const struct sc__stage_memory *m) {
    return m->weights + m->gradients + m->optimizer + m->activations + m->logits +
           m->workspace;
}

/* Of two that are as large, the earlier one here. */
static struct sc__stage_memory largest_moment(const struct moment_parts *x) {
    const struct sc__stage_memory all[] = {layer_moment(x),
                                           loss_moment(x),
                                           first_layer_moment(x),
                                           first_moment(x),
                                           end_moment(x),
                                           update_moment(x)};
    struct sc__stage_memory most = all[0];
    for (unsigned i = 1; i < sizeof all / sizeof *all; i++)
        if (allocated(&all[i]) > allocated(&most))
            most = all[i];
    return most;
}

struct sc__stage_memory
sc__plan_memory(const struct sc__model *m, const struct sc__plan *p, uint32_t stage) {
    struct moment_parts x = {.state = sc__plan_state(m, p, stage),
                             .keeps = stage_keeps(m, p, stage)};
    const struct stage_keeps *k = &x.keeps;
    bool plain = p->plain_update || p->amp;
    bool added = p->micro_batches > 1; /* to gradients already there */
    double head = plain ? sc__plan_weight_bytes(p) * p->vocab / p->mesh.tp * m->hidden : 0;
    double flying = in_flight(p, stage);
    x.kept = kept_in_flight(p, stage, k, flying) + waiting_fragments(p, stage, k, flying);
    /* one on its way beside those that stay; where none does, also the one in use */
    bool some_stay = k->layers > p->offload_activations;
    x.kept += fmin((some_stay ? 1 : 2) * k->away_layer, k->away * flying);
    if (sc__plan_is_fsdp(p))
        head = x.state.fsdp.head;
    x.logits = logits(m, p, stage, p->lora ? 0 : head);
    x.waiting = logits_waiting(m, p, stage);
    x.again = k->again + k->workspace + (added ? x.state.accumulated : 0);
    struct sc__stage_memory out = largest_moment(&x);
    out.weights += x.state.weights;
    out.gradients += x.state.gradients;
    out.optimizer = x.state.optimizer;
    out.workspace += p->figures.workspace;
    out.host = x.state.host + k->away * flying;
    out.communication = communicators(p);
    out.context = p->figures.context;
    out.fragmentation =
        p->figures.fragmentation * (out.activations + out.logits + out.workspace);
    return out;
}

double sc__memory_sum(const struct sc__stage_memory *m) {
    /* what PyTorch's max_memory_allocated counts, and what it does not */
    return allocated(m) + m->communication + m->context + m->fragmentation;
}

struct sc__stage_memory
sc__plan_most_memory(const struct sc__model *m, const struct sc__plan *p, uint32_t *stage) {
    struct sc__stage_memory most = sc__plan_memory(m, p, 0);
    *stage = 0;
    for (uint32_t s = 1; s < p->mesh.pp; s++) {
        struct sc__stage_memory x = sc__plan_memory(m, p, s);
        if (sc__memory_sum(&x) <= sc__memory_sum(&most))
            continue;
        most = x;
        *stage = s;
    }
    return most;
}

static void put_item(struct sc__buffer *b, const char *name, double bytes) {
    if (bytes < 1e8)
        return;
    sc__printf(b, "%s%s %.1f", b->size ? ", " : "", name, bytes / (1u << 30));
}

sc_status sc__memory_check(struct sc_context *ctx,
                           const struct sc__model *m,
                           const struct sc__plan *p,
                           double capacity) {
    uint32_t worst;
    struct sc__stage_memory x = sc__plan_most_memory(m, p, &worst);
    double most = sc__memory_sum(&x);
    if (capacity <= 0)
        sc__note(
            ctx,
            "memory-unknown",
            "how much memory the GPU has is not known (memory_gib): whether %.1f GiB fit "
            "is not checked",
            most / (1u << 30));
    if (capacity > 0 && most <= capacity && most > (1 - SC__MEMORY_MARGIN) * capacity)
        sc__note(
            ctx,
            "memory-close",
            "%.0f %% of the memory stays free: allocators fragment, and a run that is so "
            "full may fail; a search (stepcast plans) leaves %.0f %%",
            100 * (1 - most / capacity),
            100 * SC__MEMORY_MARGIN);
    if (capacity <= 0 || most <= capacity)
        return SC_OK;
    struct sc__buffer items;
    sc__buffer_init(&items, &ctx->arena);
    put_item(&items, "weights", x.weights);
    put_item(&items, "gradients", x.gradients);
    put_item(&items, "optimizer", x.optimizer);
    put_item(&items, "activations", x.activations);
    put_item(&items, "logits", x.logits);
    put_item(&items, "workspace", x.workspace);
    put_item(&items, "NCCL", x.communication);
    put_item(&items, "CUDA context", x.context);
    put_item(&items, "fragmentation", x.fragmentation);
    const char *sizes = sc__format(&ctx->arena,
                                   "%.1f GiB on a GPU of %.1f GiB",
                                   most / (1u << 30),
                                   capacity / (1u << 30));
    if (p->ignore_memory) {
        sc__note(ctx,
                 "memory-exceeded",
                 "stage %u needs %s (GiB: %s)",
                 worst,
                 sizes,
                 items.text);
        return SC_OK;
    }
    return sc__fail(ctx,
                    SC_NO_FIT,
                    NULL,
                    sc__memory_hint(ctx, m, p, capacity),
                    "does not fit into memory: stage %u needs %s (GiB: %s)",
                    worst,
                    sizes,
                    items.text);
}
