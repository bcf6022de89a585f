/* config_kind: whose configuration it is: by the keys that only one program has, else by
 * two or three that stand together in no other. And which files are launches or
 * configurations, by their names and how they begin. */
#include "launch/config.h"

#include <string.h>

/* Sizes under names that Megatron has, beside a length under one that it has not, are those
 * of another program (Fast-LLM, programs of one's own). */
static bool has_megatron_sizes(const struct sc__config *c) {
    static const char *const lengths[] =
        {"sequence_length", "seq_len", "max_seq_len", "context_length", "block_size", NULL};
    for (const char *const *length = lengths; *length; length++)
        if (sc__config_has(c, *length))
            return false;
    return sc__config_has(c, "num_layers") && sc__config_has(c, "hidden_size");
}

enum sc__config_kind sc__config_kind_of(const struct sc__config *c) {
    for (uint32_t i = 0; i < c->count; i++)
        if (!strncmp(c->items[i].last, "--", 2))
            return SC__CONFIG_MEGATRON;
    if (sc__config_is_automodel(c))
        return SC__CONFIG_AUTOMODEL;
    if (sc__config_is_torchtune(c))
        return SC__CONFIG_TORCHTUNE;
    /* Primus' files say whose keys they hold */
    const char *framework = sc__config_value(c, "pre_trainer.framework");
    if (framework && !strcmp(framework, "maxtext"))
        return SC__CONFIG_MAXTEXT;
    if (framework && !strcmp(framework, "torchtitan"))
        return SC__CONFIG_TORCHTITAN;
    if (sc__config_has(c, "model.flavor") || sc__config_has(c, "training.seq_len"))
        return SC__CONFIG_TORCHTITAN;
    if (sc__config_has(c, "base_emb_dim") || sc__config_has(c, "base_num_decoder_layers") ||
        (sc__config_has(c, "model_name") && (sc__config_has(c, "per_device_batch_size") ||
                                             sc__config_has(c, "max_target_length"))))
        return SC__CONFIG_MAXTEXT;
    bool neox = sc__config_has(c, "pipe_parallel_size") ||
                (sc__config_has(c, "num_layers") &&
                 sc__config_has(c, "train_micro_batch_size_per_gpu"));
    if (neox)
        return SC__CONFIG_NEOX;
    /* Axolotl's key; in sections others name what they begin with so */
    if (sc__config_exact(c, "base_model") || sc__config_has(c, "model_name_or_path") ||
        sc__config_has(c, "per_device_train_batch_size") ||
        (sc__config_has(c, "distributed_type") && sc__config_has(c, "num_processes")))
        return SC__CONFIG_TRAINER;
    if (sc__config_has(c, "model_config.is_llama_config") ||
        (sc__config_has(c, "tokens.sequence_length") &&
         sc__config_has(c, "parallelism.tp")))
        return SC__CONFIG_NANOTRON;
    if (sc__config_has(c, "model.d_model") &&
        sc__config_has(c, "global_train_batch_size") &&
        sc__config_has(c, "model.activation_type"))
        return SC__CONFIG_OLMO;
    if (sc__config_has(c, "global_train_batch_size") && sc__config_has(c, "max_seq_len"))
        return SC__CONFIG_FOUNDRY;
    if (sc__config_has(c, "tensor_model_parallel_size") || has_megatron_sizes(c))
        return SC__CONFIG_NESTED;
    /* other programs have these in sections: Levanter, trlx */
    if (sc__config_exact(c, "zero_optimization.stage") ||
        sc__config_exact(c, "train_batch_size") ||
        sc__config_exact(c, "train_micro_batch_size_per_gpu"))
        return SC__CONFIG_DEEPSPEED;
    return SC__CONFIG_NONE;
}

bool sc__config_looks_like_toml(const struct sc__launch *l) {
    return sc__str_ends(sc__str(l->file), ".toml");
}

bool sc__config_looks_like_yaml(const struct sc__launch *l) {
    struct sc__str name = sc__str(l->file);
    struct sc__str text = l->text;
    struct sc__str line;
    if (sc__str_ends(name, ".yaml") || sc__str_ends(name, ".yml") ||
        sc__str_ends(name, ".json"))
        return true;
    while (sc__split(&text, '\n', &line)) {
        line = sc__trim(line);
        if (line.n && line.p[0] != '#')
            return line.p[0] == '{' && line.n == 1;
    }
    return false;
}

bool sc__config_looks_like_python(const struct sc__launch *l) {
    return sc__str_ends(sc__str(l->file), ".py") ||
           sc__launch_is_recipe(l->text.p, l->text.n);
}

/* ---- a launch, or a configuration? ---- */

/* Arguments of transformers' trainer that Megatron has not, where no model is described. */
static bool trains_by_epochs(const struct sc__config *c) {
    return (sc__config_has(c, "gradient_accumulation_steps") ||
            sc__config_has(c, "num_train_epochs")) &&
           !sc__config_has(c, "num_layers");
}

/* A program of one's own hands DeepSpeed its file; Megatron's describe a model. */
static bool names_engine_file(const struct sc__config *c) {
    static const char *const keys[] = {"deepspeed", "deepspeed_config", NULL};
    bool named = false;
    for (const char *const *key = keys; *key; key++) {
        const char *value = sc__config_exact(c, *key);
        named = named || (value && sc__str_ends(sc__str(value), ".json"));
    }
    return named && !sc__config_has(c, "num_layers");
}

bool sc__config_names_trainer(const struct sc__config *c) {
    return trains_by_epochs(c) || names_engine_file(c) || sc__config_own_fsdp(c) ||
           sc__config_has(c, "model_name_or_path") ||
           sc__config_has(c, "per_device_train_batch_size") || sc__config_openrlhf(c) ||
           sc__config_llama_recipes(c) || sc__config_colossal(c) ||
           sc__config_exact(c, "base_model");
}

bool sc__config_of_a_trainer(const char *flag) {
    static const char *const flags[] = {"model_name_or_path",
                                        "per_device_train_batch_size",
                                        "gradient_accumulation_steps",
                                        "num_train_epochs",
                                        "micro_train_batch_size", /* OpenRLHF */
                                        "plugin",                 /* Colossal-AI */
                                        "base_model",
                                        "enable_fsdp",
                                        "batch_size_training",
                                        "sharding_strategy", /* fms-fsdp */
                                        "config_file",       /* of `accelerate launch` */
                                        NULL};
    for (const char *const *f = flags; *f; f++)
        if (!strcmp(flag, *f))
            return true;
    return false;
}

bool sc__config_launches_trainer(const char *const *words, uint32_t count) {
    /* (looked for once: braces make many words of a few) */
    bool launches =
        sc__launch_configuration(words, count) || sc__launch_runs_swift(words, count, NULL);
    for (uint32_t i = 0; i < count; i++) {
        if (!strcmp(words[i], "--num-layers")) /* Megatron by another launcher */
            return false;
        bool command = i + 1 < count && !sc__is_flag(words[i + 1]);
        if (launches || !strcmp(words[i], "trl") ||
            (command && !strcmp(words[i], "accelerate") && !strcmp(words[i + 1], "launch")))
            return true;
    }
    return false;
}

bool sc__launch_named(const char *path) {
    static const char *const ends[] =
        {".sh", ".bash", ".slurm", ".sbatch", ".yaml", ".yml", ".toml", NULL};
    for (const char *const *e = ends; *e; e++)
        if (sc__str_ends(sc__str(path), *e))
            return true;
    return false;
}

bool sc__launch_is_recipe(const char *head, size_t n) {
    static const char *const words[] = {"tensor_model_parallel_size=",
                                        "tensor_model_parallel_size =",
                                        "tensor_model_parallel_size: ",
                                        ".pretrain_recipe(",
                                        ".finetune_recipe(",
                                        NULL};
    bool recipe = false;
    for (const char *const *w = words; *w && !recipe; w++)
        recipe = sc__find_word(head, n, *w);
    return recipe && sc__find_word(head, n, "import ");
}

bool sc__launch_begins(const char *head, size_t n) {
    static const char *const keys[] = {"\"zero_optimization\"",
                                       "\"train_micro_batch_size_per_gpu\"",
                                       "\"per_device_train_batch_size\"",
                                       "\"distributed_type\"", /* accelerate's */
                                       NULL};
    struct sc__str text = {head, n};
    if (sc__str_starts(text, "#!") && sc__find_word(head, n < 80 ? n : 80, "sh"))
        return true;
    if (sc__launch_is_recipe(head, n) || sc__config_is_internevo(text) ||
        sc__config_is_registry(text))
        return true;
    struct sc__str trimmed = sc__trim(text);
    for (const char *const *k = keys; trimmed.n && *trimmed.p == '{' && *k; k++)
        if (sc__find_word(head, n, *k))
            return true;
    return false;
}

/* By kind: its name, and the profile of data/software that it runs with. */
static const struct {
    const char *name;
    const char *software;
} programs[] = {{"", NULL},
                {"flags of Megatron in YAML", NULL},
                {"GPT-NeoX", "gpt-neox"},
                {"DeepSpeed", "deepspeed"},
                {"torchtitan", "torchtitan-2026"},
                {"a trainer of Hugging Face", NULL}, /* sc__config_trainer_software */
                {"MaxText", "maxtext"},
                {"Megatron's arguments, nested", NULL},
                {"Nanotron", "nanotron"},
                {"OLMo", NULL},
                {"NeMo Automodel", "fsdp2-automodel"},
                {"LLM Foundry", "llm-foundry-2023"},
                {"torchtune", "pytorch-eager"},
                {"InternEvo", "internevo"}};

const char *sc__config_kind_name(enum sc__config_kind kind) {
    return programs[kind].name;
}

const char *sc__config_software(const struct sc__config *c, enum sc__config_kind kind) {
    return kind == SC__CONFIG_TRAINER ? sc__config_trainer_software(c)
                                      : programs[kind].software;
}
