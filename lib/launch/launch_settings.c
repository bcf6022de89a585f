/* launch_settings: commands whose program takes its settings as words name=value, over a
 * file that says the rest: verl's trainer of supervised fine-tuning (Hydra, over
 * trainer/config/sft_trainer.yaml) and MaxText (pyconfig, over configs/base.yml). What
 * those two files say where a command is silent is known here, those of NeMo 1 and
 * torchtitan in launch_overrides.c; other programs' files are not, and their commands are
 * not read. */
#include "launch/config.h"

#include <string.h>

/* "data.max_length=4096", "+model.lora_rank=8", "++trainer.nnodes=2"; not "--flag=1". */
static bool is_setting(const char *word) {
    const char *equals = strchr(word, '=');
    size_t marks = strspn(word, "+");
    size_t named = strspn(word + marks,
                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "0123456789_./@");
    return equals && marks <= 2 && named && word + marks + named == equals;
}

static bool has_part(const char *word, const char *const *parts) {
    for (; *parts; parts++)
        if (strstr(word, *parts))
            return true;
    return false;
}

/* train.py --config configs/7B_sft.py of InternEvo: nothing else says what is trained. */
static bool names_dictionaries(const char *const *words, uint32_t count) {
    static const char *const others[] = {"--model_name_or_path",
                                         "--per_device_train_batch_size",
                                         "--num-layers",
                                         NULL};
    static const char *const program[] = {"train.py", NULL};
    bool trains = false;
    bool named = false;
    for (uint32_t i = 0; i < count; i++) {
        if (has_part(words[i], others))
            return false;
        bool file = sc__str_ends(sc__str(words[i]), ".py");
        trains = trains || (file && has_part(words[i], program));
        named = named || (trains && file && i && !strcmp(words[i - 1], "--config")) ||
                (trains && file && sc__str_starts(sc__str(words[i]), "--config="));
    }
    return named;
}

enum sc__config_kind sc__launch_settings(const char *const *words, uint32_t count) {
    static const char *const verl[] = {"verl.trainer.fsdp_sft_trainer",
                                       "verl/trainer/fsdp_sft_trainer.py",
                                       NULL};
    static const char *const maxtext[] = {"MaxText/train.py",
                                          "MaxText.train",
                                          "maxtext.trainers.pre_train.train",
                                          NULL};
    static const char *const titan[] = {"torchtitan.train",
                                        "torchtitan/train.py",
                                        "run_train.sh",
                                        "--job.config",
                                        NULL};
    static const char *const nemo[] = {"megatron_gpt_pretraining", NULL};
    static const char *const tune[] = {"full_finetune_distributed",
                                       "lora_finetune_distributed",
                                       "full_finetune_single_device",
                                       "lora_finetune_single_device",
                                       NULL};
    for (uint32_t i = 0; i < count && !is_setting(words[i]); i++) {
        if (has_part(words[i], verl))
            return SC__CONFIG_TRAINER;
        if (has_part(words[i], maxtext) && !strstr(words[i], "train_compile"))
            return SC__CONFIG_MAXTEXT;
        if (has_part(words[i], titan))
            return SC__CONFIG_TORCHTITAN;
        if (has_part(words[i], nemo))
            return SC__CONFIG_NESTED;
        if (has_part(words[i], tune))
            return SC__CONFIG_TORCHTUNE;
    }
    return names_dictionaries(words, count) ? SC__CONFIG_INTERNEVO : SC__CONFIG_NONE;
}

uint32_t sc__launch_setting_count(const char *const *words, uint32_t count) {
    uint32_t n = 0;
    bool program = false; /* NAME=value before it is a variable */
    for (uint32_t i = 0; i < count; i++) {
        n += program && is_setting(words[i]);
        program = program || !is_setting(words[i]);
    }
    return n;
}

void sc__config_put(struct sc__launch *l,
                    struct sc__config *c,
                    const char *key,
                    const char *value,
                    uint32_t line) {
    const char *dot = strrchr(key, '.');
    *SC__PUSH(&l->ctx->arena, c->items, c->count, c->capacity) =
        (struct sc__config_item){.key = key,
                                 .last = dot ? dot + 1 : key,
                                 .value = value,
                                 .line = line};
}

void sc__config_set(struct sc__launch *l,
                    struct sc__config *c,
                    const char *key,
                    const char *value,
                    uint32_t line) {
    for (uint32_t i = 0; i < c->count; i++)
        if (!strcmp(c->items[i].key, key)) {
            c->items[i].value = value;
            c->items[i].line = line;
            return;
        }
    sc__config_put(l, c, key, value, line);
}

static void put_setting(struct sc__launch *l, struct sc__config *c, const char *word) {
    const char *equals = strchr(word, '=');
    word += strspn(word, "+");
    const char *key = sc__strndup(&l->ctx->arena, word, (size_t)(equals - word));
    sc__config_set(l, c, key, equals + 1, l->line);
}

void sc__config_usual(struct sc__launch *l,
                      struct sc__config *c,
                      const char *key,
                      const char *flag,
                      const char *value) {
    if (sc__config_exact(c, key))
        return;
    sc__config_put(l, c, key, value, 0);
    if (!sc__launch_overridden(l, flag))
        sc__config_note_default(l, key, value);
}

/* ---- verl ---- */

bool sc__config_verl(const struct sc__config *c) {
    return sc__config_exact(c, "data.micro_batch_size_per_gpu") != NULL &&
           sc__config_exact(c, "data.max_length") != NULL;
}

/* data.micro_batch_size was that of all GPUs before there was one of a GPU, and counts for
 * nothing since (fsdp_sft_trainer.py). */
static sc_status read_verl(struct sc__launch *l, struct sc__config *c) {
    const char *old = sc__config_exact(c, "data.micro_batch_size");
    bool each = sc__config_exact(c, "data.micro_batch_size_per_gpu") ||
                sc__launch_overridden(l, "micro-batch");
    if (old && !sc__config_nothing(old) && !each)
        return sc__launch_fail(l,
                               l->line,
                               "give that of a GPU with --micro-batch",
                               "data.micro_batch_size %.40s is that of all GPUs in older "
                               "versions of verl, and counts for nothing in later ones",
                               old);
    for (uint32_t i = 0; i < c->count; i++)
        if (!strcmp(c->items[i].key, "data.micro_batch_size"))
            c->items[i].value = "null";
    sc__config_usual(l, c, "data.train_batch_size", "global-batch", "256");
    sc__config_usual(l, c, "data.micro_batch_size_per_gpu", "micro-batch", "4");
    sc__config_usual(l, c, "data.max_length", "seq", "1024");
    /* off before version 0.5 */
    sc__config_usual(l, c, "model.enable_gradient_checkpointing", "recompute", "true");
    return SC_OK;
}

/* ---- MaxText ---- */

/* Its file of settings: base.yml, whose values are known, or another one. */
static const char *other_file(const struct sc__launch *l) {
    for (uint32_t i = 0; i < l->count; i++) {
        struct sc__str word = sc__str(l->words[i]);
        bool file = !is_setting(l->words[i]) &&
                    (sc__str_ends(word, ".yml") || sc__str_ends(word, ".yaml"));
        if (file && !sc__str_ends(word, "base.yml"))
            return l->words[i];
    }
    return NULL;
}

/* base.yml's own model is another one in each version. */
static sc_status read_maxtext(struct sc__launch *l, struct sc__config *c) {
    const char *model = sc__config_exact(c, "model_name");
    const char *file = other_file(l);
    if (file)
        return sc__launch_fail(l,
                               l->line,
                               "read that file itself: stepcast run FILE",
                               "%.80s says what is trained, and is not read",
                               file);
    if (!model && sc__launch_overridden(l, "model"))
        sc__config_put(l, c, "model_name", "of the command line", 0);
    else if (!model || sc__config_nothing(model))
        return sc__launch_fail(l,
                               l->line,
                               "name the model with --model (stepcast list models)",
                               "no model_name is given: the model is that of MaxText's "
                               "configs/base.yml, which is not read");
    sc__config_usual(l, c, "per_device_batch_size", "micro-batch", "12.0");
    sc__config_usual(l, c, "max_target_length", "seq-length", "2048");
    sc__config_usual(l, c, "remat_policy", "recompute", "full");
    return SC_OK;
}

sc_status sc__config_read_settings(struct sc__launch *l,
                                   enum sc__config_kind kind,
                                   struct sc__config *c) {
    bool maxtext = kind == SC__CONFIG_MAXTEXT;
    c->count = 0; /* flags are the launcher's */
    for (uint32_t i = 0; i < l->count; i++)
        if (is_setting(l->words[i]))
            put_setting(l, c, l->words[i]);
    if (kind == SC__CONFIG_TORCHTITAN || kind == SC__CONFIG_NESTED ||
        kind == SC__CONFIG_TORCHTUNE || kind == SC__CONFIG_INTERNEVO)
        return sc__config_read_overrides(l, kind, c);
    sc__note(l->ctx,
             "config-kind",
             "%s is read as a launch of %s: what it does not say has the values there",
             l->file,
             maxtext ? "MaxText" : "verl's supervised fine-tuning");
    return maxtext ? read_maxtext(l, c) : read_verl(l, c);
}

/* ---- what is not read ---- */

/* A configuration behind a flag: --job.config_file llama.toml, --config lora.yaml. */
static const char *named_file(const struct sc__launch *l) {
    for (uint32_t i = 0; i < l->shell.command_count; i++) {
        const struct sc__shell_command *c = &l->shell.commands[i];
        for (uint32_t k = 1; k < c->count; k++) {
            struct sc__str word = sc__str(c->words[k]);
            bool file = sc__str_ends(word, ".toml") || sc__str_ends(word, ".yaml") ||
                        sc__str_ends(word, ".yml");
            const char *equals = strchr(c->words[k], '=');
            if (file && equals && sc__is_flag(c->words[k]) && strstr(c->words[k], "config"))
                return equals + 1;
            bool named = sc__is_flag(c->words[k - 1]) && strstr(c->words[k - 1], "config");
            if (file && named)
                return c->words[k];
        }
    }
    return NULL;
}

sc_status sc__launch_no_flags(struct sc__launch *l, const char *hint) {
    static const char *const rl[] = {"ppo", "grpo", "rloo", NULL};
    const struct sc__shell_command *best = NULL;
    uint32_t most = 1; /* one word with an equals sign may be anything */
    bool learns = false;
    for (uint32_t i = 0; i < l->shell.command_count; i++) {
        const struct sc__shell_command *c = &l->shell.commands[i];
        uint32_t n = sc__launch_setting_count(c->words, c->count);
        if (n > most)
            best = c;
        most = n > most ? n : most;
    }
    const char *file = best ? NULL : named_file(l);
    if (file)
        return sc__launch_fail(
            l,
            0,
            sc__format(&l->ctx->arena,
                       "what is trained may stand in %.80s: stepcast run "
                       "reads such files",
                       file),
            "there is no Megatron flag that we know in this file");
    if (!best)
        return sc__launch_fail(l,
                               0,
                               hint,
                               "there is no Megatron flag that we know in this file");
    for (uint32_t i = 0; i < best->count && !is_setting(best->words[i]); i++)
        learns = learns || has_part(best->words[i], rl);
    return sc__launch_fail(
        l,
        best->line,
        "a step of plain training is said by --model, --gpus, --seq, "
        "--micro-batch and --global-batch; of programs with such "
        "settings verl's supervised fine-tuning, MaxText and NeMo's pretraining are read",
        learns ? "reinforcement learning is not forecast: making and "
                 "judging answers is most of its step"
               : "the settings of this command (name=value) are not "
                 "known");
}
