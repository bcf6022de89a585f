/* plans_trainers: a plan as the configuration of a trainer that is not Megatron's:
 * torchtitan's TOML, DeepSpeed's JSON. Each runs with its own software, so the plan must
 * have been searched for that: reading the file back gives the same step then. */
#include "command/plans.h"

#include <string.h>

static const char *software_of(const struct sc__plans *x) {
    const char *name = x->search.given.software;
    return name ? name : "";
}

static bool is_plain_bf16(const struct sc__plan *p) {
    return p->dtype == SC__BF16 && (p->gemm == SC__BF16 || p->gemm == SC__FP8);
}

/* ---- torchtitan ---- */

/* Copies of the weights; its degree of sharding is that of dp alone, cp comes on top. */
static uint32_t replicas_of(const struct sc__plan *p) {
    return p->mesh.shard ? p->mesh.dp * p->mesh.cp / p->mesh.shard : 1;
}

static const char *unsaid_to_torchtitan(const struct sc__plans *x,
                                        const struct sc__plan *p,
                                        const char *order) {
    const struct sc__model *m = x->search.model;
    bool vpp = p->vpp > 1;
    if (strncmp(software_of(x), "torchtitan", 10) != 0)
        return "search with --software torchtitan-2026 --zero 3, which is what runs it";
    if (sc__plan_unwritten(p))
        return sc__plan_unwritten(p);
    if (!m->name || !strchr(m->name, '-'))
        return "it knows models by name and flavor";
    if (p->mesh.dp * p->mesh.cp == 1)
        return "its mixed precision is FSDP's, which it has with data or context "
               "parallelism";
    if (p->zero != 3)
        return "it shards as ZeRO 3 does: search with --zero 3";
    if (p->mesh.dp % replicas_of(p))
        return "its groups of shards hold whole groups of context parallel";
    if (!is_plain_bf16(p))
        return "of the types bf16 and fp8 are written";
    if (p->mesh.tp > 1 && !p->sequence_parallel)
        return "its tensor parallel has sequence parallel with it";
    if (p->recompute == SC__RECOMPUTE_SELECTIVE || p->recompute_block)
        return "it recomputes nothing, whole layers or by operators";
    if (p->schedule > SC__SCHEDULE_INTERLEAVED || vpp)
        return "of its schedules 1F1B and GPipe are written";
    if (m->layers % p->mesh.pp || p->first_layers || p->last_layers)
        return "stages of unequal layers are not written";
    if (order)
        return "another order of ranks is not written";
    return NULL;
}

const char *sc__plans_put_torchtitan(const struct sc__plans *x,
                                     const struct sc__plan *p,
                                     const char *order,
                                     struct sc__buffer *out) {
    const struct sc__model *m = x->search.model;
    const char *why = unsaid_to_torchtitan(x, p, order);
    if (why)
        return why;
    const char *dash = strrchr(m->name, '-');
    uint32_t run = p->mesh.pp > 1 ? sc__plan_run_batches(p) : 1;
    uint32_t local = p->micro_batch * run;
    sc__printf(out,
               "# %s on %u GPUs: %.4f s a step as stepcast forecasts it. Data and learning "
               "rate are yours to add.\n",
               m->name,
               p->gpus,
               (double)x->search.plans[x->search.best[0]].step * 1e-12);
    sc__printf(out,
               "[model]\nname = \"%.*s\"\nflavor = \"%s\"\n",
               (int)(dash - m->name),
               m->name,
               dash + 1);
    if (p->gemm == SC__FP8)
        sc__puts(out, "converters = [\"float8\"]\n");
    if (p->gemm == SC__FP8 && p->fp8_params)
        sc__puts(out, "\n[float8]\nenable_fsdp_float8_all_gather = true\n");
    sc__printf(out,
               "\n[training]\nseq_len = %u\nlocal_batch_size = %u\n"
               "global_batch_size = %u\n",
               p->seq,
               local,
               p->global_batch);
    sc__printf(out,
               "\n[parallelism]\ndata_parallel_shard_degree = %u\n"
               "tensor_parallel_degree = %u\ncontext_parallel_degree = %u\n"
               "pipeline_parallel_degree = %u\n",
               p->mesh.dp / replicas_of(p),
               p->mesh.tp,
               p->mesh.cp,
               p->mesh.pp);
    if (replicas_of(p) > 1)
        sc__printf(out, "data_parallel_replicate_degree = %u\n", replicas_of(p));
    if (p->mesh.ep > 1)
        sc__printf(out, "expert_parallel_degree = %u\n", p->mesh.ep);
    if (p->mesh.pp > 1)
        sc__printf(out,
                   "pipeline_parallel_schedule = \"%s\"\n"
                   "pipeline_parallel_microbatch_size = %u\n",
                   p->schedule == SC__SCHEDULE_GPIPE ? "GPipe" : "1F1B",
                   p->micro_batch);
    sc__printf(out,
               "\n[compile]\nenable = true\n\n[activation_checkpoint]\nmode = \"%s\"\n",
               p->recompute == SC__RECOMPUTE_FULL  ? "full"
               : p->recompute == SC__RECOMPUTE_OPS ? "selective"
                                                   : "none");
    return NULL;
}

/* ---- DeepSpeed ---- */

static const char *unsaid_to_deepspeed(const struct sc__plans *x,
                                       const struct sc__plan *p,
                                       const char *order) {
    if (strcmp(software_of(x), "deepspeed"))
        return "search with --software deepspeed, which is what runs it";
    if (p->pipeline_batch)
        return "its pipeline is emptied once a step";
    if (sc__plan_unwritten(p))
        return sc__plan_unwritten(p);
    if (p->mesh.cp > 1 || p->mesh.ep > 1 || p->vpp > 1)
        return "context, expert and virtual pipeline parallel are not in its file";
    if (p->mesh.tp > 1 && p->sequence_parallel)
        return "its tensor parallel has no sequence parallel: --no-sequence-parallel";
    if (p->mesh.shard)
        return "groups of shards are not written";
    if (p->recompute != SC__RECOMPUTE_NONE)
        return "recomputation is the model's, not in its file";
    if (p->dtype != SC__FP16 && (p->dtype != SC__BF16 || p->gemm != SC__BF16))
        return "of the types bf16 and fp16 are written";
    if (p->schedule > SC__SCHEDULE_1F1B || order)
        return "its schedule is 1F1B, in its own order of ranks";
    return NULL;
}

const char *sc__plans_put_deepspeed(const struct sc__plans *x,
                                    const struct sc__plan *p,
                                    const char *order,
                                    struct sc__buffer *out) {
    struct sc__json j;
    const char *why = unsaid_to_deepspeed(x, p, order);
    if (why)
        return why;
    sc__json_init(&j, out);
    sc__json_object(&j, NULL);
    sc__json_u64(&j, "train_batch_size", p->global_batch);
    sc__json_u64(&j, "train_micro_batch_size_per_gpu", p->micro_batch);
    sc__json_u64(&j, "gradient_accumulation_steps", p->micro_batches);
    sc__json_object(&j, "zero_optimization");
    sc__json_u64(&j, "stage", p->zero);
    sc__json_end_object(&j);
    sc__json_object(&j, p->dtype == SC__FP16 ? "fp16" : "bf16");
    sc__json_bool(&j, "enabled", true);
    sc__json_end_object(&j);
    if (p->mesh.tp > 1) {
        sc__json_object(&j, "tensor_parallel");
        sc__json_u64(&j, "autotp_size", p->mesh.tp);
        sc__json_end_object(&j);
    }
    if (p->mesh.pp > 1) {
        sc__json_object(&j, "pipeline");
        sc__json_u64(&j, "stages", p->mesh.pp);
        sc__json_end_object(&j);
    }
    sc__json_end_object(&j);
    sc__putc(out, '\n');
    return NULL;
}
