/* config_automodel: what keys of NeMo Automodel's YAML mean together. Simple ones are in
 * config_table.c; its classes stand under _target_. */
#include "launch/config.h"

#include <string.h>

static bool has_target(const struct sc__config *c, const char *part) {
    for (uint32_t i = 0; i < c->count; i++)
        if (!strcmp(c->items[i].last, "_target_") && strstr(c->items[i].value, part))
            return true;
    return false;
}

bool sc__config_is_automodel(const struct sc__config *c) {
    return has_target(c, "nemo_automodel.");
}

/* A local batch goes through the pipeline in pieces, and then the next one. */
static sc_status
take_batch(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    struct sc__config_batch batch = {
        .local = sc__config_number(c, "step_scheduler.local_batch_size", 1),
        .stages = sc__config_number(c, "pp_size", 1),
        .piece = sc__config_number(c, "pp_microbatch_size", 1),
        .piece_key = "pp_microbatch_size",
        .runs = "pipeline-batch"};
    SC__TRY(sc__config_local_batch(l, &batch, out));
    const char *schedule = sc__config_value(c, "pp_schedule");
    if (batch.stages > 1 && schedule && strstr(schedule, "nterleaved"))
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: pp_schedule %.40s is counted as 1f1b: --vpp says how many pieces a "
                 "stage has (layers_per_stage)",
                 l->file,
                 schedule);
    return SC_OK;
}

/* FSDP2, unless a strategy says otherwise; copies across dp_replicate_size. */
static void
take_sharding(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *strategy = sc__config_value(c, "distributed.strategy");
    bool copies = (strategy && !strcmp(strategy, "ddp")) || has_target(c, "DDPManager");
    if (copies) {
        sc__config_add(l, out, "zero", "0");
        return;
    }
    sc__config_add(l, out, "use-torch-fsdp2", NULL);
    sc__config_copies(l, sc__config_number(c, "dp_replicate_size", 1), out);
}

static void
take_adapters(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *rank = sc__config_value(c, "peft.dim");
    if (!rank)
        return;
    const char *targets = sc__config_lora_targets(l, c);
    if (sc__config_on(c, "peft.match_all_linear"))
        targets = "all";
    struct sc__config_lora lora = {rank, targets, "peft.dropout"};
    sc__config_add_adapters(l, c, out, &lora);
}

/* Transformer Engine's fp8, by a word or by TEFp8Config, which takes scales of tensors
 * unless it says "block" or "mxfp8" (components/models/common/utils.py); or torchao's. */
static void
take_fp8(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *recipe = sc__config_value(c, "te_fp8.recipe");
    const char *word = sc__config_value(c, "backend.te_fp8");
    bool fused = sc__config_has(c, "te_fp8._target_") || recipe ||
                 (word && !sc__config_nothing(word) && !sc__config_false(word));
    if (!fused && !sc__config_on(c, "fp8.enabled"))
        return;
    sc__config_add(l, out, "fp8", NULL);
    sc__config_add(l, out, "fp8-scaling", fused ? "fused" : "dynamic");
    if (!recipe)
        recipe = word;
    bool blocks = recipe && !strcmp(recipe, "block");
    bool micro = recipe && !strcmp(recipe, "mxfp8");
    if (fused)
        sc__config_add(l,
                       out,
                       "fp8-recipe",
                       micro    ? "mxfp8"
                       : blocks ? "blockwise"
                                : "tensorwise");
}

/* Configurations of its benchmarks and of its jobs of SLURM have the nodes. */
static void take_nodes(struct sc__launch *l, const struct sc__config *c) {
    uint32_t nodes = sc__config_number(c, "benchmark.num_nodes", 0);
    if (!nodes)
        nodes = sc__config_number(c, "slurm.nodes", 0);
    l->all_of_hosts = nodes;
}

sc_status sc__config_automodel(struct sc__launch *l,
                               const struct sc__config *c,
                               struct sc__flag_list *out) {
    bool checkpoints = sc__config_on(c, "distributed.activation_checkpointing") ||
                       sc__config_on(c, "parallelizer.activation_checkpointing");
    sc__config_add(l, out, "recompute", checkpoints ? "full" : "none");
    SC__TRY(take_batch(l, c, out));
    take_sharding(l, c, out);
    take_adapters(l, c, out);
    if (has_target(c, "FusedLinearCrossEntropy"))
        sc__config_add(l, out, "cross-entropy", "chunked");
    if (sc__config_on(c, "backend.fake_balanced_gate"))
        sc__config_add(l, out, "moe-routing", "in-turn");
    take_fp8(l, c, out);
    take_nodes(l, c);
    return SC_OK;
}
