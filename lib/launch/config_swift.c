/* config_swift: what `swift sft`, `pt` and `rlhf` of ms-swift take where a command is
 * silent (docs/source_en/Instruction/Command-line-parameters.md), and what its older
 * versions called otherwise. `megatron sft` is another program: launch_words.c. */
#include "launch/config.h"

#include <inttypes.h>
#include <string.h>

#define SWIFT_BATCH 16 /* accumulation makes a step at least that large */

bool sc__launch_runs_swift(const char *const *words, uint32_t count, const char *task) {
    static const char *const tasks[][3] = {{"sft", "swift.cli.sft", "swift/cli/sft.py"},
                                           {"sft", "swift.cli.sft", "llm_sft.py"}, /* 1 */
                                           {"pt", "swift.cli.pt", "swift/cli/pt.py"},
                                           {"rlhf", "swift.cli.rlhf", "swift/cli/rlhf.py"}};
    for (uint32_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof tasks / sizeof *tasks; k++) {
            bool named = i && !strcmp(words[i - 1], "swift");
            if (((named && !strcmp(words[i], tasks[k][0])) ||
                 !strcmp(words[i], tasks[k][1]) ||
                 sc__str_ends(sc__str(words[i]), tasks[k][2])) &&
                (!task || !strcmp(task, tasks[k][0])))
                return true;
        }
    return false;
}

/* A key of version 2 by its name in version 3. */
static void rename_key(struct sc__config *c, const char *old, const char *name) {
    if (sc__config_exact(c, name))
        return;
    for (uint32_t i = 0; i < c->count; i++)
        if (!strcmp(c->items[i].key, old))
            c->items[i].key = c->items[i].last = name;
}

/* So many that all GPUs together have 16 sequences or more. */
static void put_accumulation(struct sc__launch *l, struct sc__config *c) {
    uint64_t each = sc__config_number(c, "per_device_train_batch_size", 1);
    uint64_t world = sc__launch_asks(l);
    uint64_t ranks = each * (world ? world : 1);
    uint64_t steps = ranks ? (SWIFT_BATCH + ranks - 1) / ranks : 1;
    sc__config_usual(l,
                     c,
                     "gradient_accumulation_steps",
                     "micro-batches",
                     sc__format(&l->ctx->arena, "%" PRIu64, steps));
}

void sc__config_swift(struct sc__launch *l, struct sc__config *c) {
    bool answers = sc__launch_runs_swift(l->words, l->count, "rlhf");
    const char *kind = sc__config_exact(c, "rlhf_type");
    if (!sc__launch_runs_swift(l->words, l->count, NULL))
        return;
    rename_key(c, "model_id_or_path", "model");
    rename_key(c, "model_type", "model");
    rename_key(c, "batch_size", "per_device_train_batch_size");
    if (!sc__config_exact(c, "tuner_type") && !sc__config_exact(c, "sft_type"))
        sc__config_usual(l, c, "train_type", "lora", "lora");
    sc__config_usual(l, c, "per_device_train_batch_size", "micro-batch", "1");
    if (!answers) /* 1 for GRPO */
        put_accumulation(l, c);
    sc__config_usual(l, c, "gradient_checkpointing", "recompute", "true");
    if (answers)
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: --rlhf_type %.40s: a step of plain training is counted",
                 l->file,
                 kind ? kind : "of its default");
}
