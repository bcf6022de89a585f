/* config_colossal: what launches of Colossal-AI's examples, of ColossalChat and of
 * Colossal-LLaMA say. They name a booster's plugin (booster/plugin of Colossal-AI), which
 * decides what is sharded; degrees and stages stand beside it. */
#include "launch/config.h"

#include <inttypes.h>
#include <string.h>

struct plugin {
    const char *name;
    const char *stage; /* of ZeRO; NULL: a flag says it, or PyTorch's FSDP shards */
    bool hybrid;       /* HybridParallelPlugin: a pipeline, parts of sequences */
    bool offloads;
};

static const char *plugin_name(const struct sc__config *c) {
    const char *name = sc__config_exact(c, "plugin");
    return sc__config_has(c, "batch_size") ? name : NULL;
}

static const struct plugin *plugin_of(const struct sc__config *c) {
    static const struct plugin plugins[] = {{"zero2", "2", false, false},
                                            {"zero2_cpu", "2", false, true},
                                            {"low_level_zero", "1", false, false},
                                            {"gemini", "3", false, false},
                                            {"gemini_auto", "3", false, false},
                                            {"ddp", "0", false, false},
                                            {"torch_ddp", "0", false, false},
                                            {"fsdp", NULL, false, false},
                                            {"torch_fsdp", NULL, false, false},
                                            {"3d", NULL, true, false},
                                            {"3d_cpu", NULL, true, true},
                                            {"hybrid_parallel", NULL, true, false}};
    const char *name = plugin_name(c);
    for (size_t i = 0; name && i < sizeof plugins / sizeof *plugins; i++)
        if (!strcmp(name, plugins[i].name))
            return &plugins[i];
    return NULL;
}

bool sc__config_colossal(const struct sc__config *c) {
    return plugin_name(c) != NULL;
}

bool sc__config_colossal_fsdp(const struct sc__config *c) {
    const struct plugin *plugin = plugin_of(c);
    return plugin && !plugin->stage && !plugin->hybrid;
}

/* benchmark.py of examples/language names its models by a size, has letters for flags, and
 * a batch of 2 with 4096 tokens where it is told nothing. */
static bool runs_benchmark(const struct sc__launch *l) {
    bool launched = false;
    for (uint32_t i = 0; i < l->count; i++) {
        launched = launched || !strcmp(l->words[i], "colossalai");
        if (launched && sc__str_ends(sc__str(l->words[i]), "benchmark.py"))
            return true;
    }
    return false;
}

void sc__config_colossal_letters(struct sc__launch *l, struct sc__config *c) {
    static const struct {
        const char *word;
        const char *key;
        const char *usual; /* NULL: none */
    } flags[] = {{"-c", "config", NULL},
                 {"-p", "plugin", "gemini"},
                 {"-b", "batch_size", "2"},
                 {"-l", "max_length", "4096"},
                 {"-g", "grad_checkpoint", NULL}};
    if (!runs_benchmark(l))
        return;
    for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
        for (uint32_t i = 0; i < l->count; i++) {
            bool behind = i + 1 < l->count && l->words[i + 1][0] != '-';
            if (!strcmp(l->words[i], flags[f].word))
                sc__config_put(l,
                               c,
                               flags[f].key,
                               behind ? l->words[i + 1] : "true",
                               l->line);
        }
        if (!flags[f].usual || sc__config_exact(c, flags[f].key))
            continue;
        sc__config_put(l, c, flags[f].key, flags[f].usual, l->line);
        sc__config_note_default(l, flags[f].key, flags[f].usual);
    }
}

/* MODEL_CONFIGS there; another name is an id or a path. */
static const char *benchmark_model(const struct sc__config *c) {
    static const char *const models[][2] = {{"7b", "llama2-7b"},
                                            {"13b", "llama2-13b"},
                                            {"65b", "llama-65b"},
                                            {"70b", "llama2-70b"}};
    const char *config = sc__config_exact(c, "config");
    for (size_t i = 0; config && i < sizeof models / sizeof *models; i++)
        if (!strcmp(config, models[i][0]))
            return models[i][1];
    return NULL;
}

/* ColossalChat names the weights --pretrain, the benchmark of the examples the stage of
 * ZeRO --zero; Colossal-LLaMA has --pretrained. */
static bool is_chat(const struct sc__config *c) {
    return sc__config_exact(c, "pretrain") != NULL;
}

/* Batches are those of a rank; a pipeline takes one in pieces of --microbatch_size (--mbs),
 * 1 unless it is said, and adds up no more than that (train_sft.py). */
static sc_status
take_batch(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    uint32_t piece = sc__config_number(c, "microbatch_size", 0);
    struct sc__config_batch batch = {.local = sc__config_number(c, "batch_size", 1),
                                     .stages = sc__config_number(c, "pp", 1),
                                     .piece =
                                         piece ? piece : sc__config_number(c, "mbs", 1),
                                     .piece_key = "microbatch_size",
                                     .runs = "micro-batches"};
    SC__TRY(sc__config_local_batch(l, &batch, out));
    if (!is_chat(c))
        return SC_OK;
    if (batch.stages <= 1 && !sc__config_exact(c, "accumulation_steps"))
        sc__config_add_default(l, out, "accumulation_steps", "micro-batches", "8");
    if (!sc__config_exact(c, "max_len"))
        sc__config_add_default(l, out, "max_len", "seq", "512");
    return SC_OK;
}

/* Parts of sequences lie with the ranks of tensor parallelism (split_gather, ring), or with
 * ranks of their own that exchange heads or pass on keys and values
 * (hybrid_parallel_plugin.py). */
static void take_sequences(struct sc__launch *l,
                           const struct sc__config *c,
                           struct sc__flag_list *out) {
    const char *mode = sc__config_exact(c, "sp_mode");
    uint32_t ranks = sc__config_number(c, "sp", 1);
    if (!sc__config_on(c, "enable_sequence_parallelism") && ranks <= 1)
        return;
    if (!mode)
        mode = sc__config_exact(c, "zero") ? "all_to_all" : "split_gather";
    bool exchange = !strcmp(mode, "all_to_all");
    if (!exchange && strcmp(mode, "ring_attn") != 0) {
        sc__config_add(l, out, "sequence-parallel", NULL);
        return;
    }
    sc__config_add(l, out, "cp", sc__format(&l->ctx->arena, "%" PRIu32, ranks));
    sc__config_add(l, out, "cp-comm-type", exchange ? "a2a" : "p2p");
}

static void
take_stage(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const struct plugin *plugin = plugin_of(c);
    const char *stage = plugin->stage;
    if (plugin->hybrid && !sc__config_exact(c, "zero_stage"))
        stage = sc__config_exact(c, "zero");
    if (stage)
        sc__config_add(l, out, "zero", stage);
    else if (plugin->hybrid && !sc__config_exact(c, "zero_stage"))
        sc__config_add_default(l, out, "zero_stage", "zero", "0");
    if (plugin->offloads || (plugin->hybrid && sc__config_on(c, "zero_cpu_offload"))) {
        sc__config_add(l, out, "offload-optimizer", "1");
        sc__config_add(l, out, "overlap-offload", "yes");
    }
}

sc_status sc__config_take_colossal(struct sc__launch *l,
                                   const struct sc__config *c,
                                   struct sc__flag_list *out) {
    const struct plugin *plugin = plugin_of(c);
    const char *name = plugin_name(c);
    if (!name)
        return SC_OK;
    if (!plugin)
        return sc__launch_fail(l,
                               l->line,
                               "give the model and the plan by options; of plugins we know "
                               "zero2, gemini, 3d, ddp, fsdp and their kin",
                               "--plugin %.40s of Colossal-AI is not known",
                               name);
    l->whole_stage_0 = true;
    SC__TRY(take_batch(l, c, out));
    take_stage(l, c, out);
    if (sc__config_exact(c, "tp"))
        sc__config_add(l, out, "tp", sc__config_exact(c, "tp"));
    if (plugin->hybrid && sc__config_number(c, "pp", 1) > 1)
        sc__config_add(l, out, "pp", sc__config_exact(c, "pp"));
    if (plugin->hybrid)
        take_sequences(l, c, out);
    if (sc__config_on(c, "grad_checkpoint") || sc__config_on(c, "use_grad_checkpoint"))
        sc__config_add(l, out, "recompute", "full");
    if (benchmark_model(c) && !sc__launch_overridden(l, "model"))
        sc__config_add(l, out, "model", benchmark_model(c));
    return SC_OK;
}
