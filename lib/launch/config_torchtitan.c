/* config_torchtitan: what keys of torchtitan mean together. */
#include "launch/config.h"

#include <inttypes.h>
#include <string.h>

const char *
sc__config_titan_preset(struct sc__arena *arena, const char *name, const char *flavor) {
    static const char *const others[][3] = {
        {"deepseek_v3", "16B", "deepseek-v2-lite"},
        {"deepseek_v3", "236B", "deepseek-v2"},
        {"deepseek_v3", "671B", "deepseek-v3"},
        {"deepseek_v3", "kimi_k2", "kimi-k2"},
        {"llama4", "17bx16e", "llama4-scout-17b-16e"},
        {"llama4", "17bx128e", "llama4-maverick-17b-128e"},
    };
    for (size_t i = 0; flavor && i < sizeof others / sizeof *others; i++)
        if (!strcmp(name, others[i][0]) && !strcmp(flavor, others[i][1]))
            return others[i][2];
    const char *preset = flavor ? sc__format(arena, "%s-%s", name, flavor) : name;
    return sc__model_preset(arena, preset) ? preset : NULL;
}

/* Where neither data nor context is cut, nothing is sharded (fsdp_enabled of
 * torchtitan/distributed/parallel_dims.py): DDP has weights and gradients in fp32 under
 * autocast (maybe_enable_amp), which it has not beside other parallelism. */
static bool shards_nothing(const struct sc__config *c) {
    return sc__config_number(c, "data_parallel_shard_degree", 0) == 1 &&
           sc__config_number(c, "context_parallel_degree", 1) <= 1;
}

static void
take_sharding(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *type = sc__config_value(c, "training.dtype");
    bool narrow = type && !strcmp(type, "bfloat16");
    bool cut = sc__config_number(c, "tensor_parallel_degree", 1) > 1 ||
               sc__config_number(c, "pipeline_parallel_degree", 1) > 1;
    if (shards_nothing(c))
        sc__config_add(l, out, "zero", "0");
    else
        sc__config_add(l, out, "use-torch-fsdp2", NULL);
    if (narrow) /* weights that are no longer fp32 have an optimizer of their type */
        sc__config_add(l, out, "update", "plain");
    else if (shards_nothing(c) && !cut)
        sc__config_add(l, out, "update", "amp");
    else if (shards_nothing(c))
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: without FSDP torchtitan has no mixed precision beside tensor or "
                 "pipeline parallelism, which is counted all the same: steps there take "
                 "longer",
                 l->file);
}

/* Copies of the weights, each sharded over the ranks of dp_shard × cp. */
static void take_torchtitan_replicas(struct sc__launch *l,
                                     const struct sc__config *c,
                                     struct sc__flag_list *out) {
    struct sc__arena *arena = &l->ctx->arena;
    uint64_t shards = sc__config_number(c, "data_parallel_shard_degree", 0);
    if (!shards) /* before there were copies */
        shards = sc__config_number(c, "training.data_parallel_degree", 0);
    uint64_t replicas = sc__config_number(c, "data_parallel_replicate_degree", 1);
    uint64_t group = shards * sc__config_number(c, "context_parallel_degree", 1);
    if (shards)
        sc__config_add(l, out, "dp", sc__format(arena, "%" PRIu64, shards * replicas));
    if (replicas <= 1 || shards_nothing(c))
        return;
    if (sc__config_number(c, "expert_parallel_degree", 1) > 1)
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: weights are sharded over all replicas, not within "
                 "data_parallel_replicate_degree %" PRIu64,
                 l->file,
                 replicas);
    else if (shards)
        sc__config_add(l, out, "shard-group", sc__format(arena, "%" PRIu64, group));
    else /* -1: what the GPUs leave */
        sc__config_copies(l, replicas, out);
}

/* Selective where nothing is said, of each second layer (ActivationCheckpoint of
 * config/job_config.py). A number checkpoints each n-th layer as a whole, "op" operators
 * (apply_ac). */
static void take_checkpointing(struct sc__launch *l,
                               const struct sc__config *c,
                               struct sc__flag_list *out) {
    const char *mode = sc__config_value(c, "activation_checkpoint.mode");
    const char *option = sc__config_value(c, "activation_checkpoint.selective_ac_option");
    uint32_t each = option ? 0 : 2;
    if (sc__launch_overridden(l, "recompute") || (mode && strcmp(mode, "selective") != 0))
        return;
    if (option)
        sc__parse_u32(sc__str(option), &each);
    if (!mode)
        sc__config_add(l, out, "recompute", "ops");
    if (each)
        sc__note(
            l->ctx,
            "config-not-modelled",
            "%s: %s%u repeats each %u-th layer; operators are counted as with \"op\": "
            "--recompute full --recompute-method block --recompute-layers N counts layers",
            l->file,
            option ? "selective_ac_option "
                   : "activation_checkpoint without a selective_ac_option is selective: ",
            each,
            each);
}

/* Compiling is off unless it is said, and may leave the model or the loss out
 * (config/job_config.py): linear layers of q, k, v, gate and up are then products of their
 * own, logits are made wide. */
static void take_compiling(struct sc__launch *l,
                           const struct sc__config *c,
                           struct sc__flag_list *out) {
    const char *parts = sc__config_value(c, "compile.components");
    bool on = sc__config_on(c, "compile.enable") || sc__config_on(c, "training.compile");
    if (!on || (parts && !strstr(parts, "loss")))
        sc__config_add(l, out, "cross-entropy", "fp32");
    if (on && (!parts || strstr(parts, "model")))
        return;
    sc__config_add(l, out, "fusion", "hf");
    sc__note(l->ctx,
             "config-not-compiled",
             "%s does not compile the model (compile.enable): operators run one by one; "
             "--fusion megatron forecasts it compiled",
             l->file);
}

/* Products in float8, by the name of a converter or an older switch, and its scales. */
static void
take_float8(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *converters = sc__config_value(c, "model.converters");
    const char *recipe = sc__config_value(c, "float8.recipe_name");
    bool mx = converters && strstr(converters, "linear.mx");
    bool float8 = (converters && strstr(converters, "float8")) ||
                  sc__config_on(c, "float8.enable_float8_linear");
    if (!mx && !float8)
        return;
    sc__config_add(l, out, "fp8", NULL);
    if (mx)
        sc__config_add(l, out, "fp8-recipe", "mxfp8");
    else if (recipe && strstr(recipe, "rowwise"))
        sc__config_add(l, out, "fp8-recipe", "rowwise");
    else if (!sc__config_on(c, "enable_fsdp_float8_all_gather"))
        sc__config_add(l, out, "no-fp8-param-gather", NULL);
}

/* PyTorch's interleaved schedule has as many rounds as the stages go into the
 * micro-batches, all of as many of these (number_of_rounds of ScheduleInterleaved1F1B). */
static sc_status take_rounds(struct sc__launch *l,
                             const struct sc__config *c,
                             const struct sc__config_batch *b,
                             struct sc__flag_list *out) {
    const char *schedule = sc__config_value(c, "pipeline_parallel_schedule");
    uint32_t batches = b->piece ? b->local / b->piece : 0;
    bool cut_otherwise = sc__launch_overridden(l, "schedule") ||
                         sc__launch_overridden(l, "pp") ||
                         sc__launch_overridden(l, "micro-batch") ||
                         sc__launch_overridden(l, "micro-batches");
    if (!schedule || strcmp(schedule, "Interleaved1F1B") != 0 || b->stages <= 1 ||
        batches <= b->stages || cut_otherwise)
        return SC_OK;
    uint32_t rounds = batches / b->stages;
    if (batches % rounds)
        return sc__launch_fail(l,
                               0,
                               "give --micro-batch, and --global-batch or --micro-batches",
                               "Interleaved1F1B does not take %" PRIu32
                               " micro-batches in %" PRIu32 " rounds of as many",
                               batches,
                               rounds);
    if (batches % b->stages)
        sc__config_add(l,
                       out,
                       "microbatch-group-size-per-virtual-pipeline-stage",
                       sc__format(&l->ctx->arena, "%" PRIu32, batches / rounds));
    return SC_OK;
}

sc_status sc__config_torchtitan(struct sc__launch *l,
                                const struct sc__config *c,
                                struct sc__flag_list *out) {
    struct sc__arena *arena = &l->ctx->arena;
    const char *name = sc__config_value(c, "model.name");
    const char *flavor = sc__config_value(c, "model.flavor");
    uint32_t batch = sc__config_number(c, "training.local_batch_size", 0);
    uint32_t stages = sc__config_number(c, "pipeline_parallel_degree", 1);
    uint32_t piece = sc__config_number(c, "pipeline_parallel_microbatch_size", 1);
    if (!batch)
        batch = sc__config_number(c, "training.batch_size", 1);
    /* a larger global batch goes through the pipeline local batch by local batch */
    const char *whole = sc__config_value(c, "training.global_batch_size");
    const char *says = whole && strcmp(whole, "-1") ? "pipeline-batch" : "micro-batches";
    struct sc__config_batch local = {.local = batch,
                                     .stages = stages,
                                     .piece = piece,
                                     .piece_key = "pipeline_parallel_microbatch_size",
                                     .runs = says};
    SC__TRY(sc__config_local_batch(l, &local, out));
    SC__TRY(take_rounds(l, c, &local, out));
    take_sharding(l, c, out);
    /* its plan of tensor parallel has the norms on parts of the sequence, always
     * (parallelize_llama, apply_tp) */
    if (sc__config_number(c, "parallelism.tensor_parallel_degree", 1) > 1)
        sc__config_add(l, out, "sequence-parallel", NULL);
    take_float8(l, c, out);
    take_compiling(l, c, out);
    if (sc__config_on(c, "loss.chunked"))
        sc__config_add(l, out, "cross-entropy", "chunked");
    take_torchtitan_replicas(l, c, out);
    take_checkpointing(l, c, out);
    if (sc__launch_overridden(l, "model"))
        return SC_OK;
    if (!name && sc__config_primus_model(c))
        return sc__config_preset(l, sc__config_primus_model(c), out);
    if (!name)
        return SC_OK;
    const char *preset = sc__config_titan_preset(arena, name, flavor);
    if (!preset)
        return sc__launch_fail(l,
                               0,
                               "name the model with --model (stepcast list models)",
                               "the model %s %s is not known",
                               name,
                               flavor ? flavor : "");
    sc__config_add(l, out, "model", preset);
    sc__config_add(l, out, "mtp-num-layers", "0"); /* it has none */
    return SC_OK;
}
