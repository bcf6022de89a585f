/* launch_overrides: commands whose words change what a file or a function of their program
 * says: torchtitan (--training.local_batch_size 4 over a TOML file, or over a function of
 * its config_registry.py), torchtune (batch_size=4 over the YAML of --config) and NeMo 1
 * (Hydra's model.micro_batch_size=4 over megatron_gpt_config.yaml); and InternEvo's, which
 * name a file in Python. */
#include "launch/config.h"

#include <string.h>

/* ---- torchtitan ---- */

/* What the functions of torchtitan/models/NAME/config_registry.py say of a step, as the
 * keys of its TOML files; --config names one. */
static const struct {
    const char *name;
    const char *model;
    const char *flavor;
    const char *seq;
    const char *batch;
    const char *checkpointing;
    const char *more[5][2];
} registry[] = {
    {"llama3_8b", "llama3", "8B", "8192", "1", "selective", {{0}}},
    {"llama3_70b",
     "llama3",
     "70B",
     "8192",
     "8",
     "full",
     {{"parallelism.tensor_parallel_degree", "8"}}},
    {"llama3_405b",
     "llama3",
     "405B",
     "8192",
     "2",
     "full",
     {{"parallelism.tensor_parallel_degree", "8"},
      {"parallelism.enable_async_tensor_parallel", "true"},
      {"model.converters", "float8"},
      {"float8.enable_fsdp_float8_all_gather", "true"},
      {"compile.enable", "true"}}},
    {"deepseek_v3_16b",
     "deepseek_v3",
     "16B",
     "4096",
     "4",
     "selective",
     {{"parallelism.expert_parallel_degree", "8"},
      {"parallelism.pipeline_parallel_schedule", "Interleaved1F1B"},
      {"compile.enable", "true"},
      {"compile.components", "loss"}}},
    {"qwen3_0_6b", "qwen3", "0.6B", "4096", "4", "selective", {{0}}},
    {"qwen3_1_7b", "qwen3", "1.7B", "4096", "4", "selective", {{0}}},
    {"qwen3_14b", "qwen3", "14B", "4096", "4", "full", {{0}}},
    {"qwen3_32b", "qwen3", "32B", "4096", "2", "full", {{0}}},
    {"qwen3_30b_a3b", "qwen3", "30B-A3B", "4096", "2", "full", {{0}}},
};

static void
put_unsaid(struct sc__launch *l, struct sc__config *c, const char *key, const char *value) {
    if (key && value && !sc__config_exact(c, key))
        sc__config_put(l, c, key, value, 0);
}

static bool take_registered(struct sc__launch *l, struct sc__config *c, const char *name) {
    for (size_t i = 0; i < sizeof registry / sizeof *registry; i++) {
        if (strcmp(registry[i].name, name) != 0)
            continue;
        put_unsaid(l, c, "model.name", registry[i].model);
        put_unsaid(l, c, "model.flavor", registry[i].flavor);
        put_unsaid(l, c, "training.seq_len", registry[i].seq);
        put_unsaid(l, c, "training.local_batch_size", registry[i].batch);
        put_unsaid(l, c, "activation_checkpoint.mode", registry[i].checkpointing);
        put_unsaid(l, c, "activation_checkpoint.selective_ac_option", "op");
        for (unsigned k = 0; k < 5; k++)
            put_unsaid(l, c, registry[i].more[k][0], registry[i].more[k][1]);
        sc__note(l->ctx,
                 "config-registered",
                 "%s: what the command does not say is that of %s in torchtitan's "
                 "config_registry.py: %s tokens, a local batch of %s, checkpointing %s",
                 l->file,
                 name,
                 registry[i].seq,
                 registry[i].batch,
                 registry[i].checkpointing);
        return true;
    }
    return false;
}

/* "--training.local-batch-size 4" as a key with underscores; tyro's "--compile.no-enable"
 * is false. Flags without a point are the launcher's. */
static void put_dotted(struct sc__launch *l, struct sc__config *c, uint32_t at) {
    const char *word = l->words[at];
    const char *value = sc__launch_value_at(l, at);
    char *key = sc__strndup(&l->ctx->arena, word + 2, strcspn(word + 2, "="));
    char *dot = strrchr(key, '.');
    if (!dot)
        return;
    for (char *p = key; *p; p++)
        if (*p == '-')
            *p = '_';
    bool off = !strncmp(dot + 1, "no_", 3) && !value;
    if (off)
        memmove(dot + 1, dot + 4, strlen(dot + 4) + 1);
    sc__config_set(l, c, key, off ? "false" : value ? value : "true", l->line);
}

static const char *environment(const struct sc__launch *l, enum sc__shell_watched name) {
    const char *value = l->command ? l->command->watched[name] : NULL;
    return value && *value ? value : NULL;
}

static sc_status take_file(struct sc__launch *l, struct sc__config *c, const char *name) {
    bool found;
    SC__TRY(sc__config_take_beside(l, name, c, &found));
    return found ? SC_OK
                 : sc__launch_fail(l,
                                   l->line,
                                   "lay it beside the script, or read that file itself: "
                                   "stepcast run FILE",
                                   "what is trained stands in %.80s, which is not beside "
                                   "this script",
                                   name);
}

/* Later versions count a local batch in tokens (TrainingConfig of torchtitan/config). */
static void take_tokens(struct sc__launch *l, struct sc__config *c) {
    uint32_t tokens =
        sc__config_number(c, "training.num_tokens_per_microbatch_per_dp_rank", 0);
    uint32_t length = sc__config_number(c, "training.seq_len", 0);
    if (tokens && length && tokens >= length)
        sc__config_set(l,
                       c,
                       "training.local_batch_size",
                       sc__format(&l->ctx->arena, "%u", tokens / length),
                       l->line);
}

static sc_status find_torchtitan(struct sc__launch *l, struct sc__config *c) {
    const char *file = sc__config_exact(c, "job.config_file");
    const char *config = sc__launch_word_behind(l, "config");
    if (!file)
        file = environment(l, SC__SHELL_CONFIG_FILE);
    if (!config && !file)
        config = environment(l, SC__SHELL_CONFIG);
    if (!config && file)
        return take_file(l, c, file);
    if (!config)
        return sc__launch_fail(l,
                               l->line,
                               "--job.config_file FILE, or --module and --config",
                               "the command does not say which of torchtitan's "
                               "configurations it changes");
    if (take_registered(l, c, config))
        return SC_OK;
    return sc__launch_fail(l,
                           l->line,
                           "stepcast run config_registry.py --set config=NAME reads that "
                           "file, or give what it says by options; "
                           "of these we know llama3_8b, llama3_70b, llama3_405b, "
                           "deepseek_v3_16b and those of qwen3",
                           "--config %.60s is a function of torchtitan's "
                           "config_registry.py that is not known",
                           config);
}

static sc_status read_torchtitan(struct sc__launch *l, struct sc__config *c) {
    for (uint32_t i = 0; i < l->count; i++)
        if (sc__is_flag(l->words[i]))
            put_dotted(l, c, i);
    put_unsaid(l,
               c,
               "training.seq_len",
               sc__config_exact(c, "training.max_context_length"));
    SC__TRY(find_torchtitan(l, c));
    take_tokens(l, c);
    return SC_OK;
}

/* ---- NeMo 1 ---- */

/* What megatron_gpt_config.yaml says of a step (examples/nlp/language_modeling/conf). */
static void take_gpt_config(struct sc__launch *l, struct sc__config *c) {
    static const struct {
        const char *key;
        const char *flag;
        const char *value;
    } usual[] = {{"trainer.precision", "dtype", "16"},
                 {"model.micro_batch_size", "micro-batch", "4"},
                 {"model.global_batch_size", "global-batch", "8"},
                 {"model.encoder_seq_length", "seq", "512"},
                 {"model.num_layers", "num-layers", "12"},
                 {"model.hidden_size", "hidden-size", "768"},
                 {"model.ffn_hidden_size", "ffn-hidden-size", "3072"},
                 {"model.num_attention_heads", "num-attention-heads", "12"}};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        sc__config_usual(l, c, usual[i].key, usual[i].flag, usual[i].value);
    if (sc__launch_asks(l)) /* as a launcher has it */
        return;
    sc__config_usual(l, c, "trainer.devices", "gpus", "1");
    sc__config_usual(l, c, "trainer.num_nodes", "gpus", "1");
}

static sc_status read_nemo(struct sc__launch *l, struct sc__config *c) {
    const char *name = sc__launch_word_behind(l, "config-name");
    const char *folder = sc__launch_word_behind(l, "config-path");
    bool found = false;
    if (!name)
        name = "megatron_gpt_config";
    bool yaml = sc__str_ends(sc__str(name), ".yaml");
    const char *file = sc__format(&l->ctx->arena,
                                  "%s%s%s%s",
                                  folder ? folder : "",
                                  folder ? "/" : "",
                                  name,
                                  yaml ? "" : ".yaml");
    SC__TRY(sc__config_take_beside(l, file, c, &found));
    if (found)
        return SC_OK;
    if (strncmp(name, "megatron_gpt_config", strlen("megatron_gpt_config")) != 0)
        return take_file(l, c, file);
    take_gpt_config(l, c);
    return SC_OK;
}

/* ---- torchtune ---- */

/* loss=torchtune.modules.loss.LinearCrossEntropyLoss names a component of the file anew. */
static void name_components(struct sc__launch *l, struct sc__config *c) {
    static const char *const components[] = {"model", "optimizer", "loss", NULL};
    for (const char *const *name = components; *name; name++)
        for (uint32_t i = 0; i < c->count; i++)
            if (!strcmp(c->items[i].key, *name)) {
                c->items[i].key = sc__format(&l->ctx->arena, "%s._component_", *name);
                c->items[i].last = "_component_";
            }
}

/* --config FILE beside the launch; others are those of the package (recipes/configs). */
static sc_status read_torchtune(struct sc__launch *l, struct sc__config *c) {
    const char *file = sc__launch_word_behind(l, "config");
    name_components(l, c);
    if (!file)
        return sc__launch_fail(l, l->line, "--config FILE", "the recipe has no --config");
    return take_file(l, c, file);
}

/* ---- InternEvo ---- */

static sc_status read_internevo(struct sc__launch *l, struct sc__config *c) {
    const char *file = sc__launch_word_behind(l, "config");
    struct sc__str text = {NULL, 0};
    sc__note(l->ctx, "config-kind", "%s is read as a launch of InternEvo", l->file);
    if (file)
        SC__TRY(sc__launch_read_beside(l, file, &text));
    if (!text.p || !sc__config_is_internevo(text))
        return sc__launch_fail(l,
                               l->line,
                               "stepcast run reads InternEvo's configurations, beside the "
                               "script that names them or alone",
                               "what is trained stands in %.80s, which is not beside this "
                               "script, or no configuration of InternEvo",
                               file);
    sc__config_read_dictionaries(l, text, c);
    for (uint32_t i = 0; i < c->count; i++)
        c->items[i].line = 0; /* of another file */
    sc__note(l->ctx, "launch-beside", "%s, which %s names, is read too", file, l->file);
    return SC_OK;
}

sc_status sc__config_read_overrides(struct sc__launch *l,
                                    enum sc__config_kind kind,
                                    struct sc__config *c) {
    bool titan = kind == SC__CONFIG_TORCHTITAN;
    bool tune = kind == SC__CONFIG_TORCHTUNE;
    if (kind == SC__CONFIG_INTERNEVO)
        return read_internevo(l, c);
    sc__note(l->ctx,
             "config-kind",
             "%s is read as a launch of %s: what it does not say has the values there",
             l->file,
             titan  ? "torchtitan"
             : tune ? "torchtune"
                    : "NeMo 1");
    if (titan)
        return read_torchtitan(l, c);
    return tune ? read_torchtune(l, c) : read_nemo(l, c);
}
