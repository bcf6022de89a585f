/* unused_options: options that say nothing about the plan they stand beside, such
 * as --sequence-parallel with tp 1. A note each: nobody should take the answer
 * for one to a question that was not asked. */
#include "plan/plan.h"

#include <string.h>

struct idle {
    const char *name;
    bool idle;
    const char *because;
};

static void plan_unused_options_put_notes(const struct sc__settings *s,
                                          const struct idle *list,
                                          size_t count) {
    for (size_t i = 0; i < count; i++)
        if (list[i].idle && sc__setting(s, list[i].name))
            sc__note(s->ctx,
                     "option-unused",
                     "--%s has no effect: %s",
                     list[i].name,
                     list[i].because);
}

#define PUT_NOTES(s, list)                                                                 \
    plan_unused_options_put_notes(s, list, sizeof(list) / sizeof *(list))

static void of_recompute(const struct sc__settings *s, const struct sc__plan *p) {
    bool full = p->recompute == SC__RECOMPUTE_FULL;
    static const char selective[] = "it says what --recompute selective repeats";
    static const char whole[] = "it says what --recompute full repeats";
    static const char block[] = "only --recompute-method block counts layers";
    const struct idle list[] = {
        {"recompute-modules", p->recompute != SC__RECOMPUTE_SELECTIVE, selective},
        {"recompute-method", !full, whole},
        {"recompute-layers", !p->recompute_block, full ? block : whole},
        {"recompute-num-layers", !p->recompute_block, full ? block : whole},
    };
    PUT_NOTES(s, list);
}

/* Moments have no type to choose. */
static bool typeless(const struct sc__plan *p) {
    return !sc__plan_mixed_update(p) || p->optimizer_kind == SC__OPTIMIZER_SGD ||
           p->optimizer_kind == SC__OPTIMIZER_ADAM_8BIT || !p->optimizer;
}

/* What --use-torch-fsdp2 changes beside sharding: PyTorch's context parallelism, DTensor's
 * copies around the collectives of tensor parallelism, kernels of experts. */
static bool torch_elsewhere(const struct sc__model *m, const struct sc__plan *p) {
    return p->mesh.cp > 1 || (p->mesh.tp > 1 && p->micro_batch > 1) || m->experts;
}

static void of_shards(const struct sc__settings *s,
                      const sc_plan *given,
                      const struct sc__model *m,
                      const struct sc__plan *p) {
    bool alone = sc__plan_shares_nothing(p);
    bool sharded = p->zero >= 2;
    bool plain = alone && !(p->torch_copies && sharded);
    static const char one[] = "no other rank has the same weights";
    static const char always[] =
        "sharded gradients are reduced layer by layer beside backward";
    bool beside = sharded && !sc__plan_fills_buckets(p);
    static const char gathers[] = "only ZeRO gathers weights";
    static const char later[] = "gradients are reduced after backward, all at once";
    static const char wide[] = "no product is in fp8 or fp4";
    static const char typed[] = "nothing is kept in a type of its own";
    static const char halves[] = "it keeps what bf16 weights lack of fp32";
    static const char plain_core[] = "the core of attention is not fused";
    bool narrow = p->gemm == SC__FP8 || p->gemm == SC__FP4;
    bool unfused = p->attention == SC__ATTENTION_UNFUSED;
    const char *why = alone ? one : sharded ? always : later;
    bool no_buckets = !sc__plan_holds_buckets(p) && (alone || sharded || !p->overlap_grad);
    const struct idle list[] = {
        {"zero", plain && given->zero > 0 && !p->zero, one},
        {"fsdp", plain && !p->zero, one},
        {"use-distributed-optimizer", alone, one},
        {"use-megatron-fsdp",
         alone || given->zero < 3,
         alone ? one : "--zero says what is sharded"},
        {"use-torch-fsdp2",
         p->zero < 2 && !torch_elsewhere(m, p),
         alone ? one : "--zero says what is sharded"},
        {"overlap-grad", alone || beside, alone ? one : always},
        {"overlap-grad-reduce", alone || beside, alone ? one : always},
        {"bucket", no_buckets, why},
        {"ddp-bucket-size", no_buckets, why},
        {"overlap-param", alone || !p->zero, alone ? one : gathers},
        {"overlap-param-gather", alone || !p->zero, alone ? one : gathers},
        {"update", !p->optimizer, "there is no optimizer"},
        {"optimizer", !p->optimizer, "there is no optimizer"},
        {"main-params-dtype", !sc__plan_mixed_update(p), typed},
        {"grad-accum-dtype",
         !sc__plan_mixed_update(p),
         "gradients have the type of weights"},
        {"exp-avg-dtype", typeless(p), typed},
        {"exp-avg-sq-dtype", typeless(p), typed},
        {"use-precision-aware-optimizer", !p->optimizer || p->dtype != SC__BF16, halves},
        {"shard-group", alone, one},
        {"num-distributed-optimizer-instances", alone, one},
        {"fp8-recipe",
         !narrow || (p->gemm == SC__FP4 && given->fp8_recipe != SC_FP8_RECIPE_NVFP4),
         narrow ? "products are in fp4, whose scales are nvfp4's" : wide},
        {"fp4-recipe", !narrow, wide},
        {"fp8-scaling", !narrow, wide},
        {"fp8-param-gather", !narrow, wide},
        {"fp8-dot-product-attention", !narrow || unfused, narrow ? plain_core : wide},
        {"first-last-layers-bf16", !narrow, wide},
        {"num-layers-at-start-in-bf16", !narrow, wide},
        {"num-layers-at-end-in-bf16", !narrow, wide},
        {"gpu-spread", p->gpus == 1, "there is one GPU"},
        {"image-size", !p->images, "a sequence has no pictures (--images)"},
        {"freeze-towers",
         !p->images && !(p->audio_seconds > 0),
         "no tower takes part (--images, --audio-seconds)"},
        {"offload-optimizer", !p->optimizer, "there is no optimizer"},
        {"host-threads", !(p->offload_optimizer > 0), "no optimizer runs on the host"},
        {"overlap-offload",
         !(p->offload_optimizer > 0),
         "only gradients and weights of --offload-optimizer are copied so"},
        {"reshard-after-forward", /* PyTorch's copies are given back on one rank too */
         plain || p->zero != 3,
         plain ? one : "only ZeRO 3 gathers weights for each use"},
    };
    PUT_NOTES(s, list);
}

/* A bucket closes between two layers. */
static void of_buckets(const struct sc__settings *s,
                       const struct sc__model *m,
                       const struct sc__plan *p) {
    struct sc__shard layer = sc__plan_layer_shard(p, m, m->layers - 1);
    bool small = (double)p->bucket < (layer.dense + layer.experts) * p->grad_bytes;
    bool reduced = !sc__plan_shares_nothing(p) && p->zero < 2 && p->overlap_grad;
    static const char *const names[] = {"bucket", "ddp-bucket-size", NULL};
    for (const char *const *name = names; small && reduced && *name; name++)
        if (sc__setting(s, *name))
            sc__note(s->ctx,
                     "bucket-small",
                     "--%s is less than a layer's gradients, which are reduced together: "
                     "each layer is a bucket",
                     *name);
}

static void of_parallelism(const struct sc__settings *s,
                           const struct sc__model *m,
                           const struct sc__plan *p) {
    const struct sc__mesh *d = &p->mesh;
    bool cut = d->tp == 1 || d->pp == 1 || p->sequence_parallel;
    const struct idle list[] = {
        {"sequence-parallel", d->tp == 1, "tp is 1"},
        {"overlap-tp", d->tp == 1, "tp is 1"},
        {"tp-comm-overlap", d->tp == 1, "tp is 1"},
        {"cp-comm-type", d->cp == 1, "cp is 1"},
        {"overlap-p2p", d->pp == 1, "pp is 1"},
        {"pipeline-batch", d->pp == 1, "pp is 1"},
        {"microbatch-group-size-per-virtual-pipeline-stage",
         p->schedule != SC__SCHEDULE_INTERLEAVED,
         "the schedule is not interleaved"},
        {"no-scatter-gather-tensors-in-pipeline",
         cut,
         p->sequence_parallel ? "sequence parallel cuts them anyway"
                              : "it needs tp and pp above 1"},
        {"account-for-embedding-in-pipeline-split", d->pp == 1, "pp is 1"},
        {"account-for-loss-in-pipeline-split", d->pp == 1, "pp is 1"},
        {"window-attn-skip-freq", !m->window, "all layers see all keys (--window-size)"},
        {"uneven-stages",
         m->layers % sc__plan_parts(p) == 0,
         "all stages have the same number of layers"},
    };
    PUT_NOTES(s, list);
}

/* Experts that no layer of a hybrid model has. */
static bool none_has(const struct sc__model *m) {
    for (uint32_t i = 0; i < m->layers; i++)
        if (sc__model_has_experts(m, i))
            return false;
    return m->experts > 0;
}

static void of_experts(const struct sc__settings *s,
                       const sc_plan *given,
                       const struct sc__model *m,
                       const struct sc__plan *p) {
    static const char dense[] = "the model has no experts";
    static const char one[] = "ep is 1";
    static const char once[] =
        "only the flex dispatcher sends a token once to several of its experts";
    bool none = !m->experts, alone = none || p->mesh.ep == 1;
    double wanted = given->moe_imbalance != 0 ? given->moe_imbalance : 1;
    const struct idle list[] = {
        {"etp", none, dense},
        {"expert-tensor-parallel-size", none, dense},
        {"moe-unfused", none, dense},
        {"moe-kernels", none, dense},
        {"moe-imbalance", none, dense},
        {"cuda-graph", none && p->graphs == SC__GRAPH_ROUTER, dense},
        {"cuda-graph-scope", none && p->graphs == SC__GRAPH_ROUTER, dense},
        {"moe-token-dispatcher-type", alone, none ? dense : one},
        {"overlap-moe", alone, none ? dense : one},
        {"overlap-moe-expert-parallel-comm", alone, none ? dense : one},
        {"moe-routing",
         alone || (!p->dedup && !sc__setting(s, "two-level")),
         none    ? dense
         : alone ? one
                 : once},
        {"num-experts", none_has(m), "no layer of the pattern has experts (E)"},
        {"moe-shared-expert-gate", !m->shared_ffn, "the model has no shared experts"},
        {"moe-skew", alone, none ? dense : one},
        {"moe-expert-capacity-factor", none, dense},
    };
    PUT_NOTES(s, list);
    if (!none && sc__setting(s, "moe-expert-capacity-factor") &&
        (p->capacity > p->imbalance || p->capacity == wanted))
        sc__note(s->ctx,
                 "nothing-dropped",
                 "--moe-expert-capacity-factor drops no token: no expert gets more than "
                 "that (see --moe-imbalance)");
    if (!none && p->capacity > 0 && p->capacity < 1)
        sc__note(s->ctx,
                 "tokens-dropped",
                 "experts have room for %.4g of their tokens: the others are dropped, and "
                 "the FLOPs (MFU) are those of the rest",
                 p->capacity);
}

/* A plan that a program filled: an option is given, by its first name, where its
 * field is not as usual. */
static const char *nth_field(const void *self, const char *name, unsigned i) {
    static const sc_plan usual = SC_PLAN_INIT;
    static const char unset[sizeof(double)];
    const struct sc__option *o = sc__option_find(sc__model_options, name);
    const struct sc__option *first = sc__model_options;
    if (i || !o || o->in != SC__IN_PLAN)
        return NULL;
    while (first->in != SC__IN_PLAN || first->offset != o->offset)
        first++;
    if (o != first)
        return NULL;
    size_t size = sc__option_size(o);
    const char *field = (const char *)self + o->offset;
    bool same = !memcmp(field, (const char *)&usual + o->offset, size);
    return same || !memcmp(field, unset, size) ? NULL : "";
}

void sc__plan_note_idle(struct sc_context *ctx,
                        const struct sc__settings *options,
                        const sc_plan *given,
                        const struct sc__model *m,
                        const struct sc__plan *p) {
    struct sc__settings fields = {.nth = nth_field, .self = given, .ctx = ctx};
    const struct sc__settings *s = options ? options : &fields;
    of_recompute(s, p);
    of_shards(s, given, m, p);
    of_buckets(s, m, p);
    of_parallelism(s, m, p);
    of_experts(s, given, m, p);
}
