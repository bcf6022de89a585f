/* resolve_sharding: who shares weights, gradients and the optimizer's state, and what
 * waits on the host. */
#include "plan/resolve.h"

/* Ranks that share, as one of two options says; 0: all. Megatron's instances of its
 * distributed optimizer are neighbours of dp × cp as well. */
static sc_status
find_shard_group(struct sc_context *ctx, const sc_plan *g, uint32_t ranks, uint32_t *out) {
    uint32_t instances = g->optimizer_instances;
    *out = g->shard_group;
    if (!instances)
        return SC_OK;
    if (ranks % instances)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "give a divisor of dp × cp",
                        "--num-distributed-optimizer-instances %u does not divide the %u "
                        "ranks of dp × cp",
                        instances,
                        ranks);
    if (g->shard_group && g->shard_group != ranks / instances)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "give one of them",
                        "--num-distributed-optimizer-instances %u are groups of %u ranks, "
                        "but --shard-group says %u",
                        instances,
                        ranks / instances,
                        g->shard_group);
    *out = ranks / instances;
    return SC_OK;
}

/* Hybrid sharding: neighbours of dp × cp share the weights, others have copies. */
static sc_status
resolve_shard_group(struct sc_context *ctx, const sc_plan *g, struct sc__plan *p) {
    uint32_t ranks = p->mesh.dp * p->mesh.cp;
    uint32_t shards;
    SC__TRY(find_shard_group(ctx, g, ranks, &shards));
    if (!shards || shards == ranks)
        return SC_OK;
    if (!p->zero)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "add --zero 1, 2 or 3",
                        "--shard-group %u, but nothing is sharded",
                        shards);
    if (shards > ranks || ranks % shards)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "give a divisor of dp × cp",
                        "--shard-group %u does not divide the %u ranks of dp × cp",
                        shards,
                        ranks);
    uint64_t group = (uint64_t)shards * p->mesh.tp;
    uint64_t experts = (uint64_t)p->mesh.ep * p->mesh.etp;
    if (p->mesh.ep > 1 && group % experts)
        return sc__fail(
            ctx,
            SC_USAGE,
            NULL,
            "experts are spread over the ranks of a shard group: give a multiple",
            "ep %u · etp %u does not divide the %llu ranks of --shard-group %u "
            "· tp %u",
            p->mesh.ep,
            p->mesh.etp,
            (unsigned long long)group,
            shards,
            p->mesh.tp);
    p->mesh.shard = shards;
    return SC_OK;
}

/* PyTorch keeps shards and gathered copies of them even where the shard is the whole, and
 * so does who keeps weights on the host; DeepSpeed's buffers take gradients of a rank alone
 * as of any other (stage_1_and_2.py, stage3.py), but weights are as they were. So they are
 * with the optimizer alone on the host, where gradients may leave as they are made (ZeRO
 * 2); unless they do, they are added up where they were made. */
static unsigned shared_state(const sc_plan *g, const struct sc__plan *p) {
    unsigned asked = g->zero >= 0 ? (unsigned)g->zero : p->torch_copies ? 3 : 0;
    unsigned gradients = asked < 2 ? asked : 2;
    bool copies = p->torch_copies && asked >= 2;
    if (!sc__plan_shares_nothing(p) || copies || sc__is_on(g->offload_params))
        return asked;
    if (asked >= 2 && p->software_constants.gradient_copies > 0)
        return gradients;
    return g->offload_optimizer > 0 && sc__is_on(g->overlap_offload) ? gradients : 0;
}

sc_status
sc__resolve_sharding(struct sc_context *ctx, const sc_plan *g, struct sc__plan *p) {
    p->torch_copies = sc__is_on(g->torch_fsdp2);
    p->zero = shared_state(g, p);
    p->reshard = p->zero == 3 && sc__unless_said(g->reshard, p->mesh.pp == 1);
    /* forward and backward scale weights along other sides: no one cast is gathered */
    p->fp8_params = sc__is_on(g->fp8_params) && p->fp8_recipe != SC_FP8_RECIPE_ROWWISE;
    SC__TRY(resolve_shard_group(ctx, g, p));
    if (p->fp8_params && p->gemm != SC__FP8 && p->gemm != SC__FP4)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "add --fp8",
                        "--fp8-param-gather keeps weights in fp8, but the GEMMs are not");
    uint64_t usual = p->mesh.dp > 40 ? (uint64_t)p->mesh.dp * 1000000
                                     : 40000000; /* Megatron's own rule */
    uint64_t counted = g->bucket_parameters ? g->bucket_parameters : usual;
    p->bucket = g->bucket_bytes ? g->bucket_bytes : counted * p->grad_bytes;
    if (g->bucket_parameters && g->bucket_bytes &&
        g->bucket_bytes != (uint64_t)g->bucket_parameters * p->grad_bytes)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "give one of them",
                        "--bucket contradicts --ddp-bucket-size %u of %u bytes each",
                        g->bucket_parameters,
                        p->grad_bytes);
    return SC_OK;
}

sc_status sc__resolve_offload(struct sc_context *ctx,
                              const sc_plan *g,
                              const struct sc__model *m,
                              struct sc__plan *p) {
    if (!(g->offload_optimizer >= 0 && g->offload_optimizer <= 1))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "1 is all of it, 0.5 half",
                        "--offload-optimizer %g is not a share between 0 and 1",
                        g->offload_optimizer);
    p->offload_optimizer = p->optimizer ? g->offload_optimizer : 0;
    p->offload_params = sc__is_on(g->offload_params);
    p->offload_activations = g->offload_activations;
    p->overlap_offload = sc__is_on(g->overlap_offload);
    p->host_threads = g->host_threads;
    if (p->offload_params && (p->zero < 3 || !p->reshard))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        p->zero < 3 ? "add --zero 3" : "add --reshard-after-forward yes",
                        "--offload-params brings a layer's weights when it needs them, but "
                        "they %s",
                        p->zero < 3 ? "are not sharded" : "stay gathered");
    if (p->offload_activations > m->layers)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--offload-activations %u is more than the %u layers",
                        p->offload_activations,
                        m->layers);
    if (p->offload_optimizer > 0 && p->optimizer_kind == SC__OPTIMIZER_MUON)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "--optimizer adam, adam-8bit or sgd",
                        "no stack runs Muon on the host: it is not modelled");
    return SC_OK;
}
