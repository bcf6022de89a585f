/* plans_launch: a plan as the file that launches it, by the ending of its name:
 *
 *     .yaml, .yml   a recipe of Megatron-Bridge: the names of Megatron's configuration
 *     .toml         a job of torchtitan      (plans_trainers.c)
 *     .json         a configuration of DeepSpeed
 *     else          a script with the flags of Megatron-LM
 *
 * Reading it back (--megatron-args) gives the same step. What it cannot say is refused. */
#include "command/plans.h"

#include <stdio.h>
#include <string.h>

/* Where flags go: a script, or a recipe, whose names are those of the configuration. */
struct launch_text {
    struct sc__buffer *out;
    bool recipe;
};

/* Flags that the configuration calls otherwise; value NULL: as it is, "": it is not
 * said. */
static const struct {
    const char *flag;
    const char *key;
    const char *value;
} recipe_names[] = {
    {"swiglu", "gated_linear_unit", "true"},
    {"untie-embeddings-and-output-weights", "share_embeddings_and_output_weights", "false"},
    {"disable-bias-linear", "add_bias_linear", "false"},
    {"group-query-attention", "", ""},
    {"num-experts", "num_moe_experts", NULL},
    {"num-virtual-stages-per-pipeline-rank", "virtual_pipeline_model_parallel_size", NULL},
    {"microbatch-group-size-per-virtual-pipeline-stage",
     "microbatch_group_size_per_vp_stage",
     NULL},
    {"decoder-first-pipeline-num-layers", "num_layers_in_first_pipeline_stage", NULL},
    {"decoder-last-pipeline-num-layers", "num_layers_in_last_pipeline_stage", NULL},
    {"fp8-format", "fp8", NULL},
    {"grad-reduce-in-bf16", "grad_reduce_in_fp32", "false"},
};

static void put_key(struct sc__buffer *out, const char *flag, const char *value) {
    for (unsigned i = 0; i < sizeof recipe_names / sizeof *recipe_names; i++) {
        if (strcmp(recipe_names[i].flag, flag))
            continue;
        if (*recipe_names[i].key)
            sc__printf(out,
                       "  %s: %s\n",
                       recipe_names[i].key,
                       recipe_names[i].value ? recipe_names[i].value : value);
        return;
    }
    sc__puts(out, "  ");
    for (const char *c = flag; *c; c++)
        sc__putc(out, *c == '-' ? '_' : *c);
    sc__printf(out, ": %s\n", value);
}

static void put_word(struct launch_text *t, const char *name, const char *word) {
    if (t->recipe)
        put_key(t->out, name, *word ? word : "true");
    else
        sc__printf(t->out, " \\\n    --%s%s%s", name, *word ? " " : "", word);
}

static void put_flag(struct launch_text *t, const char *name) {
    put_word(t, name, "");
}

static void put_number(struct launch_text *t, const char *name, uint32_t n) {
    char text[16];
    snprintf(text, sizeof text, "%u", n);
    put_word(t, name, text);
}

static void put_section(struct launch_text *t, const char *name) {
    if (t->recipe)
        sc__printf(t->out, "%s:\n", name);
}

/* ([0]*3+[1]*58) */
static void put_expert_layers(const struct sc__model *m, struct launch_text *out) {
    uint32_t next;
    sc__puts(out->out,
             out->recipe ? "  moe_layer_freq: '(" : " \\\n    --moe-layer-freq '(");
    for (uint32_t i = 0; i < m->layers; i = next) {
        bool experts = sc__model_has_experts(m, i);
        for (next = i + 1; next < m->layers && sc__model_has_experts(m, next) == experts;)
            next++;
        sc__printf(out->out, "%s[%u]*%u", i ? "+" : "", experts, next - i);
    }
    sc__puts(out->out, out->recipe ? ")'\n" : ")'");
}

static void put_experts(const struct sc__model *m, struct launch_text *out) {
    if (!m->experts)
        return;
    put_number(out, "num-experts", m->experts);
    put_number(out, "moe-router-topk", m->topk);
    put_number(out, "moe-ffn-hidden-size", m->expert_ffn);
    if (m->shared_ffn)
        put_number(out, "moe-shared-expert-intermediate-size", m->shared_ffn);
    if (m->moe_latent)
        put_number(out, "moe-latent-size", m->moe_latent);
    if (m->first_dense || m->experts_listed)
        put_expert_layers(m, out);
    else if (m->moe_every > 1)
        put_number(out, "moe-layer-freq", m->moe_every);
}

static void put_latent(const struct sc__model *m, struct launch_text *out) {
    put_flag(out, "multi-latent-attention");
    if (m->q_lora)
        put_number(out, "q-lora-rank", m->q_lora);
    put_number(out, "kv-lora-rank", m->kv_lora);
    put_number(out, "qk-head-dim", m->nope_dim);
    put_number(out, "qk-pos-emb-head-dim", m->rope_dim);
    put_number(out, "v-head-dim", m->v_dim);
}

static void put_attention(const struct sc__model *m, struct launch_text *out) {
    put_number(out, "num-attention-heads", m->heads);
    if (m->kv_lora) {
        put_latent(m, out);
        return;
    }
    put_number(out, "kv-channels", m->head_dim);
    if (m->kv_heads == m->heads)
        return;
    put_flag(out, "group-query-attention");
    put_number(out, "num-query-groups", m->kv_heads);
}

static void put_model(const struct sc__model *m, struct launch_text *out) {
    put_number(out, "num-layers", m->layers);
    put_number(out, "hidden-size", m->hidden);
    put_attention(m, out);
    put_number(out, "ffn-hidden-size", m->ffn);
    put_number(out, "vocab-size", m->vocab);
    put_word(out,
             "position-embedding-type",
             m->positions   ? "learned_absolute"
             : m->no_rotary ? "none"
                            : "rope");
    if (m->positions)
        put_number(out, "max-position-embeddings", m->positions);
    put_word(out, "normalization", m->norm == SC__RMSNORM ? "RMSNorm" : "LayerNorm");
    if (m->gated)
        put_flag(out, "swiglu");
    if (!m->tied)
        put_flag(out, "untie-embeddings-and-output-weights");
    if (!m->linear_bias)
        put_flag(out, "disable-bias-linear");
    if (m->qkv_bias)
        put_flag(out, "add-qkv-bias");
    if (m->qk_norm)
        put_flag(out, "qk-layernorm");
    put_experts(m, out);
    if (m->mtp_layers)
        put_number(out, "mtp-num-layers", m->mtp_layers);
}

static void put_sizes(const struct sc__plan *p, struct launch_text *out) {
    put_number(out, "tensor-model-parallel-size", p->mesh.tp);
    put_number(out, "pipeline-model-parallel-size", p->mesh.pp);
    put_number(out, "context-parallel-size", p->mesh.cp);
    if (p->mesh.ep > 1)
        put_number(out, "expert-model-parallel-size", p->mesh.ep);
    if (p->mesh.etp != p->mesh.tp)
        put_number(out, "expert-tensor-parallel-size", p->mesh.etp);
    if (p->vpp > 1)
        put_number(out, "num-virtual-stages-per-pipeline-rank", p->vpp);
    if (p->microbatch_group)
        put_number(out,
                   "microbatch-group-size-per-virtual-pipeline-stage",
                   p->microbatch_group);
    if (p->first_layers)
        put_number(out, "decoder-first-pipeline-num-layers", p->first_layers);
    if (p->last_layers)
        put_number(out, "decoder-last-pipeline-num-layers", p->last_layers);
    if (p->count_embedding)
        put_flag(out, "account-for-embedding-in-pipeline-split");
    if (p->count_loss)
        put_flag(out, "account-for-loss-in-pipeline-split");
    if (p->vocab_multiple != 128)
        put_number(out, "make-vocab-size-divisible-by", p->vocab_multiple);
    put_number(out, "seq-length", p->seq);
}

static void put_batch(const struct sc__plan *p, struct launch_text *out) {
    put_section(out, "train");
    put_number(out, "micro-batch-size", p->micro_batch);
    put_number(out, "global-batch-size", p->global_batch);
}

static void put_data_parallel(const struct sc__plans *x,
                              const struct sc__plan *p,
                              struct launch_text *out) {
    const sc_plan *given = &x->search.given;
    bool bucket = given->bucket_bytes || given->bucket_parameters;
    if (p->zero || p->overlap_grad || p->overlap_param || p->grad_bytes == 2 || bucket)
        put_section(out, "ddp");
    if (p->grad_bytes == 2)
        put_flag(out, "grad-reduce-in-bf16");
    if (bucket)
        put_number(out,
                   out->recipe ? "bucket-size" : "ddp-bucket-size",
                   (uint32_t)(p->bucket / p->grad_bytes));
    if (p->zero)
        put_flag(out, "use-distributed-optimizer");
    if (p->overlap_grad)
        put_flag(out, "overlap-grad-reduce");
    if (p->overlap_param)
        put_flag(out, "overlap-param-gather");
}

static void put_optimizer(const struct sc__plan *p, struct launch_text *out) {
    const struct {
        const char *flag;
        enum sc__dtype type;
    } types[] = {{"main-params-dtype", p->types.main},
                 {"exp-avg-dtype", p->types.moments[0]},
                 {"exp-avg-sq-dtype", p->types.moments[1]}};
    if (p->types.precise)
        put_flag(out, "use-precision-aware-optimizer");
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type != SC__FP32)
            put_word(out, types[i].flag, sc__dtype_name(types[i].type));
}

static void put_recompute(const struct sc__plan *p, struct launch_text *out) {
    static const struct {
        unsigned module;
        const char *name;
    } modules[] = {{SC__MODULE_CORE, "core_attn"},
                   {SC__MODULE_LAYERNORM, "layernorm"},
                   {SC__MODULE_EXPERT_ACTIVATION, "moe_act"},
                   {SC__MODULE_MLP, "mlp"},
                   {SC__MODULE_MOE, "moe"},
                   {SC__MODULE_SHARED, "shared_experts"},
                   {SC__MODULE_LATENT, "mla_up_proj"}};
    if (p->recompute == SC__RECOMPUTE_NONE)
        return;
    bool full = p->recompute == SC__RECOMPUTE_FULL;
    put_word(out, "recompute-granularity", full ? "full" : "selective");
    if (full) {
        put_word(out, "recompute-method", p->recompute_block ? "block" : "uniform");
        put_number(out,
                   "recompute-num-layers",
                   p->recompute_block ? p->recompute_layers : 1);
        return;
    }
    sc__puts(out->out,
             out->recipe ? "  recompute_modules:\n" : " \\\n    --recompute-modules");
    for (unsigned i = 0; i < sizeof modules / sizeof *modules; i++)
        if (p->recompute_modules & modules[i].module)
            sc__printf(out->out, out->recipe ? "    - %s\n" : " %s", modules[i].name);
}

static void
put_training(const struct sc__model *m, const struct sc__plan *p, struct launch_text *out) {
    static const char *const cp_kinds[] = {"p2p", "all_gather", "a2a"};
    put_flag(out, p->dtype == SC__FP16 ? "fp16" : "bf16");
    /* Megatron drops a tenth unless told otherwise */
    put_word(out, "attention-dropout", p->dropout ? "0.1" : "0.0");
    put_word(out, "hidden-dropout", p->dropout ? "0.1" : "0.0");
    if (p->gemm == SC__FP8)
        put_word(out, "fp8-format", "hybrid");
    if (p->sequence_parallel)
        put_flag(out, "sequence-parallel");
    /* the loss is operator by operator unless it is told */
    bool compiled = p->loss == SC__LOSS_FUSED && p->fusion == SC__FUSION_MEGATRON;
    if (compiled || p->loss == SC__LOSS_TE)
        put_flag(out, "cross-entropy-loss-fusion");
    if (p->loss == SC__LOSS_TE)
        put_word(out, "cross-entropy-fusion-impl", "te");
    if (p->tp_overlap == SC__TP_CHUNKS)
        put_flag(out, "tp-comm-overlap");
    if (p->mesh.cp > 1)
        put_word(out, "cp-comm-type", cp_kinds[p->cp_kind]);
    if (m->experts)
        put_word(out, "moe-token-dispatcher-type", p->dedup ? "flex" : "alltoall");
    if (p->overlap_moe)
        put_flag(out, "overlap-moe-expert-parallel-comm");
    put_recompute(p, out);
}

/* What the flags have no word for. */
static const char *
unsaid(const struct sc__model *m, const struct sc__plan *p, const char *order) {
    bool given = p->first_layers || p->last_layers || p->count_embedding || p->count_loss;
    if (p->zero > 1)
        return "ZeRO 2 and 3 are another trainer's";
    if (p->mesh.shard)
        return "groups of shards are not written";
    if (p->schedule != SC__SCHEDULE_1F1B && p->schedule != SC__SCHEDULE_INTERLEAVED)
        return "its schedules are 1F1B and interleaved";
    if (p->pipeline_batch)
        return "its pipeline is emptied once a step";
    if (m->layers % (p->mesh.pp * p->vpp) && !given)
        return "stages of unequal layers have no flag of their own";
    if (p->gemm == SC__FP4 || p->dtype == SC__FP32 || p->dtype == SC__TF32)
        return "of the types bf16, fp16 and fp8 are written";
    if (p->recompute == SC__RECOMPUTE_OPS)
        return "recomputation by operators is PyTorch's";
    if (p->recompute == SC__RECOMPUTE_SELECTIVE &&
        p->recompute_modules & (SC__MODULE_NORM | SC__MODULE_ACTIVATION))
        return "it recomputes layernorm and moe_act, not norm and act";
    if (sc__plan_unwritten(p))
        return sc__plan_unwritten(p);
    if (order)
        return "another order of ranks is not written";
    if (m->full_head_dim)
        return "layers that see all keys have heads of their own, for which there is no "
               "flag";
    if (m->post_norms || m->one_norm || m->window || m->expert_bias || m->shared_gate ||
        m->router_bias || m->sub_norms || m->learned_activation)
        return "the model has parts without a flag";
    return NULL;
}

static sc_status
resolve_best(const struct sc__plans *x, struct sc__plan *plan, const char **order) {
    struct sc_context *ctx = x->req->ctx;
    const struct sc__search *s = &x->search;
    const struct sc__search_plan *best = &s->plans[s->best[0]];
    sc_plan given;
    sc_options options = s->options;
    SC__TRY(sc__space_plan(ctx, s, best, &given, order));
    const struct sc__plan_surroundings around = {
        .gpus = given.gpus,
        .gpu = s->machines[best->machine].description.cluster.gpu,
        .options = &options};
    return sc__plan_resolve(ctx, &given, s->model, &around, plan);
}

static void
put_script(const struct sc__plans *x, const struct sc__plan *plan, struct launch_text *t) {
    const struct sc__search *s = &x->search;
    uint32_t node = s->machines[s->plans[s->best[0]].machine].node_gpus;
    if (node > plan->gpus)
        node = plan->gpus;
    sc__printf(t->out,
               "%s# %s on %u GPUs: %.4f s a step as stepcast forecasts it. "
               "Data, checkpoints, learning rate and the\n# rendezvous of the nodes are "
               "yours to add.\n",
               t->recipe ? "" : "#!/bin/bash\n",
               s->model->name,
               plan->gpus,
               (double)s->plans[s->best[0]].step * 1e-12);
    if (!t->recipe)
        sc__printf(t->out,
                   "torchrun --nproc_per_node %u --nnodes %u pretrain_gpt.py",
                   node,
                   plan->gpus / node);
    put_section(t, "model");
    put_model(s->model, t);
    put_sizes(plan, t);
    put_training(s->model, plan, t);
    put_batch(plan, t);
    put_data_parallel(x, plan, t);
    put_optimizer(plan, t);
    if (t->recipe)
        sc__printf(t->out,
                   "trainer:\n  num_nodes: %u\n  devices: %u\n",
                   plan->gpus / node,
                   node);
    else
        sc__putc(t->out, '\n');
}

static sc_status
cannot_be_said(const struct sc__plans *x, const char *to, const char *why) {
    return sc__fail(x->req->ctx,
                    SC_NO,
                    NULL,
                    "fix what it cannot say: --zero, --schedule, --pp, --software",
                    "--write-launch: the best plan cannot be said to %s: %s",
                    to,
                    why);
}

sc_status sc__plans_write_launch(const struct sc__plans *x) {
    const char *path = sc__option(x->req, "write-launch");
    const struct sc__search *s = &x->search;
    struct sc__plan plan;
    const char *order;
    struct sc__buffer b;
    if (!path)
        return SC_OK;
    struct sc__str name = sc__str(path);
    SC__TRY(resolve_best(x, &plan, &order));
    sc__buffer_init(&b, &x->req->ctx->arena);
    const char *to = "Megatron-LM";
    const char *why;
    if (sc__str_ends(name, ".toml")) {
        to = "torchtitan";
        why = sc__plans_put_torchtitan(x, &plan, order, &b);
    } else if (sc__str_ends(name, ".json")) {
        to = "DeepSpeed";
        why = sc__plans_put_deepspeed(x, &plan, order, &b);
    } else {
        struct launch_text t = {.out = &b};
        t.recipe = sc__str_ends(name, ".yaml") || sc__str_ends(name, ".yml");
        to = t.recipe ? "Megatron-Bridge" : to;
        why = unsaid(s->model, &plan, order);
        if (!why)
            put_script(x, &plan, &t);
    }
    if (!why)
        why = sc__plans_read_back(x, &plan, path, (struct sc__str){b.text, b.size});
    if (why)
        return cannot_be_said(x, to, why);
    return sc__job_output(x->req, "write-launch", &b);
}
