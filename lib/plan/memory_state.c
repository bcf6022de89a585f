/* memory_state: weights, gradients and the optimizer's state of a stage: bytes a
 * parameter by how the weights are updated, and how many of them a rank has.
 *
 *   mixed   weights in 2 bytes, gradients added up in 4 (or 2), 4 for the main copy,
 *           and the optimizer's state: 18 bytes with Adam
 *   plain   weights, gradients and state in the type of the weights; gradients appear
 *           in backward and are gone after the update
 *   amp     the same in fp32, and copies of the weights in the type of the products
 *
 * ZeRO shards the state (1), the gradients (2), the weights (3) over the ranks that
 * hold the same. Weights that stay gathered from a step's first micro-batch to its
 * last (ZeRO 2 and 3 in a pipeline, unless resharded) are whole, and so are the
 * gradients that wait for the last one. */
#include "plan/memory.h"

#include "plan/towers.h"

#include <math.h>

/* Of the parameters of a rank: how many, how many of them it shards to, how many are
 * trained, and of these those in matrices of layers (which Muon updates). */
struct parameter_counts {
    double all;
    double sharded;
    double trained;
    double trained_sharded;
    double matrices; /* share of the trained ones */
    /* of layers' products: cast where these are narrow, packed under QLoRA; embedding and
     * head stay as they are (Transformer Engine, bitsandbytes) */
    double narrow;
    double narrow_sharded;
};

static struct parameter_counts
count_parameters(const struct sc__model *m, const struct sc__plan *p, uint32_t stage) {
    struct sc__shard whole = sc__plan_stage_shard(p, m, stage);
    struct sc__shard trained = sc__plan_stage_trained(p, m, stage);
    double dp = sc__mesh_group_size(&p->mesh, SC__GROUP_SHARD);
    double edp = fmax(1, sc__mesh_group_size(&p->mesh, SC__GROUP_SHARD_EP));
    double ends = sc__plan_has_embedding(p, stage) ? sc__plan_embedding_shard(p, m) : 0;
    if (sc__plan_has_head(p, stage))
        ends += sc__plan_head_shard(p, m, stage);
    struct parameter_counts n = {.all = whole.dense + whole.experts,
                                 .sharded = whole.dense / dp + whole.experts / edp,
                                 .trained = trained.dense + trained.experts};
    n.trained_sharded = trained.dense / dp + trained.experts / edp;
    struct sc__shard narrow = sc__plan_stage_narrow(p, m, stage);
    n.narrow = narrow.dense + narrow.experts;
    n.narrow_sharded = narrow.dense / dp + narrow.experts / edp;
    n.matrices = n.trained > 0 && !p->lora ? fmax(0, 1 - ends / n.trained) : 1;
    return n;
}

/* The optimizer's state: bytes a parameter, without the main copy of the weights. */
static double state_bytes(const struct sc__plan *p, const struct parameter_counts *n) {
    double first = sc__plan_moment_bytes(p, 0);
    double second = sc__plan_moment_bytes(p, 1);
    switch (p->optimizer_kind) {
    case SC__OPTIMIZER_ADAM_8BIT: /* a byte each, and a scale in fp32 for each 256 */
        return 2 * (1 + 4.0 / 256);
    case SC__OPTIMIZER_MUON:
        return first + second * (1 - n->matrices);
    case SC__OPTIMIZER_SGD:
        return 0;
    default:
        return first + second;
    }
}

/* Weights of a layer that are gathered. Experts that no other rank has are whole where they
 * are; PyTorch copies them all the same. */
static double gathered_weights(const struct sc__plan *p, const struct sc__shard *layer) {
    bool shared = sc__mesh_group_size(&p->mesh, SC__GROUP_SHARD_EP) > 1;
    return layer->dense + (shared || p->torch_copies ? layer->experts : 0);
}

/* What is gathered and reduced at once: the largest layer, the larger end. */
struct largest_units {
    double layer;
    double end;
};

/* Each weight takes so much. */
static struct largest_units find_units(const struct sc__model *m,
                                       const struct sc__plan *p,
                                       uint32_t stage,
                                       double of_layer,
                                       double of_end) {
    double largest = 0;
    double ends = 0;
    for (uint32_t c = 0; c < p->vpp; c++) {
        uint32_t first;
        uint32_t n = sc__plan_layers(p, m, stage, c, &first);
        for (uint32_t i = first; i < first + n; i++) {
            struct sc__shard s = sc__plan_layer_shard(p, m, i);
            largest = fmax(largest, of_layer * gathered_weights(p, &s));
        }
    }
    if (sc__plan_has_embedding(p, stage))
        largest = fmax(largest, of_end * sc__plan_towers_largest(p, m));
    if (sc__plan_has_embedding(p, stage))
        ends = of_end * sc__plan_embedding_shard(p, m);
    if (sc__plan_has_head(p, stage))
        ends = fmax(ends, of_end * sc__plan_head_shard(p, m, stage));
    return (struct largest_units){largest, ends};
}

/* The largest two that are in use at once: a layer and the next, or a layer and an end. */
static double two_units(const struct sc__model *m,
                        const struct sc__plan *p,
                        uint32_t stage,
                        double of_layer,
                        double of_end) {
    struct largest_units u = find_units(m, p, stage, of_layer, of_end);
    return fmax(2 * u.layer, u.layer + u.end);
}

/* Bytes a weight of a layer takes where it is used. Transformer Engine keeps a copy in fp8
 * (fp4) and its transpose beside bf16 weights; weights kept in fp8 are those alone. */
static double used_bytes(const struct sc__plan *p) {
    double w = sc__plan_width(p);
    double small = p->gemm == SC__FP8 ? 1 : p->gemm == SC__FP4 ? 0.5625 : 0;
    if (p->fp8_params)
        return sc__plan_frozen_bytes(p, 2 * small);
    return sc__plan_frozen_bytes(p, w + (p->dynamic_casts ? 0 : 2 * small));
}

/* Of so many weights, some of them in narrow products. */
static double mixed_bytes(double all, double narrow, double each, double each_narrow) {
    return (all - narrow) * each + narrow * each_narrow;
}

static bool weights_are_shards(const struct sc__plan *p) {
    return p->zero >= 3 || (p->zero == 2 && p->torch_copies);
}

/* Bytes of a weight. PyTorch's shards are the main copy, in fp32 unless everything is in
 * one type. */
struct weight_bytes {
    double used; /* by products */
    double wide; /* gathered, where it is not narrowed for them */
    double shard;
    double packed; /* a shard of frozen ones */
};

static struct weight_bytes bytes_of_weights(const struct sc__plan *p) {
    double shard = p->torch_copies && !p->plain_update ? 4 : sc__plan_weight_bytes(p);
    return (struct weight_bytes){.used = used_bytes(p),
                                 .wide = sc__plan_width(p),
                                 .shard = shard,
                                 .packed = sc__plan_frozen_bytes(p, shard)};
}

static double trained_share(const struct parameter_counts *n) {
    return n->all > 0 ? n->trained / n->all : 0;
}

/* Of several micro-batches in a pipeline the gradients wait for the last. */
static void state_of_shards(const struct sc__model *m,
                            const struct sc__plan *p,
                            uint32_t stage,
                            const struct parameter_counts *n,
                            struct sc__training_state *out) {
    struct weight_bytes b = bytes_of_weights(p);
    double w = b.wide;
    double gathered = sc__plan_reshards(p) ? two_units(m, p, stage, b.used, w)
                                           : mixed_bytes(n->all, n->narrow, w, b.used);
    double passing =
        trained_share(n) * two_units(m, p, stage, 1, 1) / 2 * (w + p->grad_bytes);
    bool wait = !sc__plan_reshards(p) && p->mesh.pp > 1;
    /* gathered ones of the shards' type that stay have the shards in them */
    double apart = b.shard != w || sc__plan_reshards(p) ? b.shard : 0;
    double narrow_apart = b.packed != b.used || sc__plan_reshards(p) ? b.packed : 0;
    out->weights = mixed_bytes(n->sharded, n->narrow_sharded, apart, narrow_apart);
    out->weights += gathered;
    if (p->torch_copies && sc__plan_reshards(p))
        out->weights += gathered / 2; /* the buffer the next unit is gathered into */
    bool alike = p->torch_copies || p->plain_update || p->amp; /* they have one type */
    if (!wait)
        out->gradients = (alike ? b.shard : p->summed_bytes) * n->trained_sharded + passing;
    else
        out->gradients = (p->plain_update ? b.shard : p->grad_bytes) * n->trained;
}

/* PyTorch's FSDP (torch/distributed/fsdp), without a pipeline. Its root keeps what no layer
 * has, embedding, head and norm, gathered from forward to backward, and reduces their
 * gradients at the end (FSDPState._lazy_init, _post_forward_reshard); where they are units
 * of their own (own_ends), the head is given back behind its backward and the embedding
 * behind its forward. A layer's backward runs beside the gathering of the next and the
 * reduction of the one before. */
static void state_of_fsdp(const struct sc__model *m,
                          const struct sc__plan *p,
                          const struct parameter_counts *n,
                          struct sc__training_state *out) {
    struct weight_bytes b = bytes_of_weights(p);
    double w = b.wide;
    double g = p->grad_bytes;
    double embedding = sc__plan_embedding_shard(p, m);
    double head = sc__plan_head_shard(p, m, 0);
    double ends = p->lora ? 0 : 1; /* that are trained */
    bool own = p->software_constants.own_ends > 0 && !m->tied;
    double unit = find_units(m, p, 0, b.used, w).layer;
    double gradient = trained_share(n) * find_units(m, p, 0, 1, 1).layer;
    out->weights = mixed_bytes(n->sharded, n->narrow_sharded, b.shard, b.packed);
    struct sc__fsdp_passing *x = &out->fsdp;
    double root = own ? 0 : w * (embedding + head);
    /* copied out of what the collective fills, beside the first layer and the next */
    x->begin = 2 * (own ? w * embedding : root) + 2 * unit;
    if (sc__plan_reshards(p)) {
        x->of_loss = own ? w * head : root;
        x->of_layer = root + 2 * unit;
    } else {
        x->of_loss = mixed_bytes(n->all, n->narrow, w, b.used);
        x->of_layer = x->of_loss;
    }
    x->of_first = root + unit;
    x->made = gradient * w + (own ? 0 : ends * head * w);
    x->reduced = gradient * g;
    x->head = ends * head * (own ? g : w) + (sc__plan_reshards(p) ? unit : 0);
    x->ends = ends * (own ? embedding : embedding + head) * (w + g);
    if (p->micro_batches > 1)
        out->gradients = b.shard * n->trained_sharded;
    else
        out->growing = b.shard * n->trained_sharded;
}

/* Gradients that were made and are not yet reduced: all of a unit in the type they are
 * added up in (Megatron-FSDP's buffer of it), or DeepSpeed's bucket: a buffer of its whole
 * size that gradients are copied into, two where they fill beside a reduction (ipg_buffer,
 * overlap_comm), and what is in it once more where it is flattened for the reduction
 * (allreduce_bucket). */
static double unreduced_gradients(const struct sc__model *m,
                                  const struct sc__plan *p,
                                  uint32_t stage,
                                  const struct parameter_counts *n) {
    double all = n->trained * p->grad_bytes;
    if (sc__plan_holds_buckets(p))
        return (p->overlap_grad ? 2 : 1) * (double)p->bucket + fmin((double)p->bucket, all);
    struct largest_units u = find_units(m, p, stage, p->grad_bytes, p->grad_bytes);
    return trained_share(n) * fmax(u.layer, u.end);
}

/* embedding: parameters that no product needs. */
static void state_of_whole_weights(const struct sc__model *m,
                                   const struct sc__plan *p,
                                   uint32_t stage,
                                   const struct parameter_counts *n,
                                   double embedding,
                                   struct sc__training_state *out) {
    bool alone = p->plain_update || p->amp;
    double frozen = n->all - n->trained;
    double w = sc__plan_weight_bytes(p);
    double wide = sc__plan_width(p);
    double narrow = p->lora ? n->narrow : 0; /* others that are frozen are of towers */
    out->weights = mixed_bytes(frozen, narrow, wide, used_bytes(p));
    if (alone || p->lora)
        out->weights += n->trained * (p->lora_fp32 ? 4 : w);
    else
        out->weights += mixed_bytes(n->trained, n->narrow, wide, used_bytes(p));
    if (p->amp)
        out->casts = (n->trained - embedding) * sc__plan_width(p);
    bool early = p->zero >= 2 && p->mesh.pp == 1; /* with a pipeline they wait */
    double own = early ? n->trained_sharded : n->trained;
    double each = p->lora_fp32 ? 4 : w;
    if (sc__plan_holds_buckets(p) || (early && own < n->trained))
        out->unreduced = unreduced_gradients(m, p, stage, n);
    if (!alone)
        out->gradients = own * p->summed_bytes;
    else if (p->micro_batches > 1)
        out->gradients = own * each;
    else
        out->growing = own * each;
}

/* Trained parameters that a rank updates. */
static double updated(const struct sc__plan *p, const struct parameter_counts *n) {
    return p->zero >= 1 ? n->trained_sharded : n->trained;
}

/* How much wider the state of adapters is than the weights beside them say. */
static double adapter_widening(const struct sc__plan *p) {
    return p->lora_fp32 && p->plain_update ? 4 / sc__plan_weight_bytes(p) : 1;
}

/* The main copy of a weight and what the optimizer keeps of it, in bytes. */
static double kept_by_optimizer(const struct sc__plan *p,
                                const struct parameter_counts *n) {
    double main = sc__plan_main_bytes(p);
    if (weights_are_shards(p) ? p->torch_copies : p->lora_fp32)
        main = 0; /* the shards, or the adapters, are it */
    return main + state_bytes(p, n) * adapter_widening(p);
}

static double optimizer_state(const struct sc__plan *p, const struct parameter_counts *n) {
    return p->optimizer ? updated(p, n) * kept_by_optimizer(p, n) : 0;
}

/* What the update makes on its way. Adam over lists of tensors has the roots of all second
 * moments at once (_foreach_sqrt in _multi_tensor_adam of torch/optim/adam.py), in their
 * type. Gradients of 2 bytes beside a main copy are widened. */
static double made_by_update(const struct sc__plan *p, const struct parameter_counts *n) {
    double each = 0;
    if (!p->optimizer)
        return 0;
    if (p->optimizer_kind == SC__OPTIMIZER_ADAM_LISTS)
        each += sc__plan_moment_bytes(p, 1) * adapter_widening(p);
    if (sc__plan_mixed_update(p) && p->summed_bytes == 2 && p->dtype == SC__BF16 &&
        !weights_are_shards(p) && !p->types.precise)
        each += 4;
    return updated(p, n) * each;
}

/* Moves to the host what the plan keeps there. Gradients that leave as they are reduced
 * have two buckets on the GPU; the host adds them up in fp32. */
static void move_to_host(const struct sc__plan *p,
                         const struct parameter_counts *n,
                         struct sc__training_state *out) {
    double share = p->offload_optimizer;
    bool leave = p->overlap_offload && p->zero >= 2;
    out->host = share * (out->optimizer + 4 * updated(p, n));
    out->optimizer *= 1 - share;
    out->update *= 1 - share;
    if (share > 0 && leave) {
        double kept = (1 - share) * out->gradients + 2.0 * (double)p->bucket;
        out->gradients = fmin(out->gradients + out->unreduced, kept);
        out->unreduced = 0;
    }
    if (!p->offload_params)
        return;
    double narrow = sc__plan_frozen_bytes(p, sc__plan_shard_bytes(p, true));
    double wide = sc__plan_shard_bytes(p, false);
    double shards = mixed_bytes(n->sharded, n->narrow_sharded, wide, narrow);
    out->host += shards;
    out->weights -= fmin(out->weights, shards);
}

/* Of a weight that is trained, as a checkpoint has it beside its main copy. */
static double saved_weight_bytes(const struct sc__plan *p) {
    if (p->lora_fp32 || (p->torch_copies && weights_are_shards(p) && !p->plain_update))
        return 4;
    return sc__plan_weight_bytes(p);
}

/* Each weight once: what ranks hold alike (norms; of adapters the side that is not cut)
 * is not saved by each of them. The optimizer's state is saved in fp32, whatever type it is
 * kept in (state_dict of Transformer Engine's FusedAdam). */
double sc__plan_checkpoint_bytes(const struct sc__model *m, const struct sc__plan *p) {
    struct sc__model_params total;
    struct sc__plan uncut = *p;
    uncut.types = (struct sc__optimizer_types){SC__FP32, {SC__FP32, SC__FP32}, false};
    double held = 0;
    double saved = 0;
    uncut.mesh.tp = 1;
    uncut.mesh.ep = 1;
    uncut.mesh.etp = 1;
    for (uint32_t stage = 0; stage < p->mesh.pp; stage++) {
        struct parameter_counts n = count_parameters(m, &uncut, stage);
        held += n.all;
        saved += n.trained * (saved_weight_bytes(p) + kept_by_optimizer(&uncut, &n));
    }
    if (p->lora)
        return saved; /* adapters are no part of the model, whose weights stay */
    sc__model_count(m, &total);
    return saved / held *
           /* a tied head's copy and padding are not the model's */
           (total.total + sc__plan_towers_params(p, m));
}

struct sc__training_state
sc__plan_state(const struct sc__model *m, const struct sc__plan *p, uint32_t stage) {
    struct sc__training_state out = {0};
    struct parameter_counts n = count_parameters(m, p, stage);
    double embedding =
        sc__plan_has_embedding(p, stage) && !p->lora ? sc__plan_embedding_shard(p, m) : 0;
    if (sc__plan_is_fsdp(p))
        state_of_fsdp(m, p, &n, &out);
    else if (weights_are_shards(p))
        state_of_shards(m, p, stage, &n, &out);
    else
        state_of_whole_weights(m, p, stage, &n, m->tied ? 0 : embedding, &out);
    out.optimizer = optimizer_state(p, &n);
    uint32_t first;
    if (sc__plan_layers(p, m, stage, 0, &first) && out.growing > 0 &&
        !sc__plan_is_fsdp(p)) {
        struct sc__shard s = sc__plan_layer_trained(p, m, first);
        double layer = s.dense + s.experts;
        double each = p->lora_fp32 ? 4 : sc__plan_weight_bytes(p);
        out.last = each * (layer + (m->tied ? 0 : embedding));
        out.accumulated = m->tied ? each * embedding : 0;
    }
    bool ends = sc__plan_has_embedding(p, stage) || sc__plan_has_head(p, stage);
    if (!sc__plan_mixed_update(p) && p->micro_batches > 1 && ends && !p->lora &&
        !sc__plan_is_fsdp(p))
        out.accumulated =
            sc__plan_weight_bytes(p) * (double)p->vocab * m->hidden / p->mesh.tp;
    out.update = made_by_update(p, &n);
    if (p->offload_optimizer > 0 || p->offload_params)
        move_to_host(p, &n, &out);
    return out;
}
