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
    if (sc__config_on(c, "fp8.enabled")) {
        sc__config_add(l, out, "fp8", NULL);
        sc__config_add(l, out, "fp8-scaling", "dynamic");
    }
    return SC_OK;
}
