/* config_adapters: what of the weights a trainer of Hugging Face trains, and in which type.
 * Ranks stand in configurations of full fine-tuning too (Axolotl's examples have `adapter:`
 * without a value above lora_r): the key that names the adapter decides. */
#include "launch/config.h"

#include <string.h>

static bool is_word(const char *value, const char *word) {
    return value && sc__str_is_any_case(sc__str(value), word);
}

/* NULL: there is no key, or nothing behind it. */
static const char *named(const struct sc__config *c, const char *key) {
    const char *value = sc__config_value(c, key);
    bool nothing = !value || !*value || is_word(value, "null") || is_word(value, "none") ||
                   is_word(value, "~");
    return nothing ? NULL : value;
}

/* A type that is left to the program is taken where the GPU has it. */
static bool has_type(const struct sc__config *c, const char *key) {
    const char *value = named(c, key);
    return value && (sc__config_true(value) || is_word(value, "auto"));
}

static bool is_off(const struct sc__config *c, const char *key) {
    const char *value = named(c, key);
    return value && sc__config_false(value);
}

/* What is trained in ms-swift's words, whose key had three names. */
static const char *swift_type(const struct sc__config *c) {
    const char *type = named(c, "train_type");
    if (!type)
        type = named(c, "tuner_type");
    return type ? type : named(c, "sft_type");
}

/* Firefly's train_mode: full, lora, or qlora, which it is where nothing is said
 * (component/argument.py). Other programs have other modes under the key. */
static const char *firefly_mode(const struct sc__config *c) {
    const char *mode = named(c, "train_mode");
    bool own = is_word(mode, "full") || is_word(mode, "lora") || is_word(mode, "qlora");
    if (own)
        return mode;
    return !mode && named(c, "template_name") && named(c, "train_file") ? "qlora" : NULL;
}

/* LLaMA-Factory's finetuning_type, ms-swift's train_type, Axolotl's adapter, a switch;
 * where none of them stands, a rank is one of adapters, but in Axolotl. */
static bool
trains_adapters(const struct sc__launch *l, const struct sc__config *c, bool rank) {
    /* TRL; FastChat and Qwen; the examples of peft; LLaVA */
    static const char *const switches[] = {"use_peft",
                                           "use_lora",
                                           "use_peft_lora",
                                           "lora_enable",
                                           NULL};
    const char *tuning = named(c, "finetuning_type");
    if (!tuning)
        tuning = swift_type(c);
    if (!tuning)
        tuning = firefly_mode(c);
    if (tuning)
        return !strcmp(tuning, "lora") || !strcmp(tuning, "qlora");
    for (const char *const *key = switches; *key; key++)
        if (sc__config_value(c, *key))
            return sc__config_on(c, *key);
    /* Axolotl's files; scripts that name a base_model are Alpaca-LoRA's kin */
    bool axolotl = sc__config_value(c, "base_model") && !sc__launch_is_script(l);
    if (sc__config_value(c, "adapter") || axolotl)
        return named(c, "adapter") != NULL;
    return rank;
}

/* ---- which layers have them ---- */

/* "lora_target_modules", "peft.target_modules.3": one of a list, wherever it stands. */
static bool names_targets(const struct sc__config_item *item) {
    static const char *const keys[] = {"lora_target",
                                       "lora_target_modules",
                                       "target_modules",
                                       NULL};
    struct sc__str key = sc__str(item->key);
    uint32_t index;
    if (!strcmp(item->key, "trainable") && strstr(item->value, "_proj"))
        return true; /* of Chinese-LLaMA-Alpaca */
    if (sc__parse_u32(sc__str(item->last), &index) && item->last > item->key)
        key.n -= strlen(item->last) + 1;
    for (const char *const *k = keys; *k; k++) {
        size_t n = strlen(*k);
        if (sc__str_ends(key, *k) && (key.n == n || key.p[key.n - n - 1] == '.'))
            return true;
    }
    return false;
}

void sc__config_put_name(struct sc__buffer *list, const char *name) {
    sc__printf(list, "%s%s", list->size ? "," : "", name);
}

/* "*.q_proj" and "*_proj" of Automodel: the names that end so; where none does, the option
 * refuses it. */
static void put_pattern(struct sc__buffer *list, const char *pattern) {
    static const char *const modules[] =
        {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
    const char *end = strrchr(pattern, '*') + 1;
    bool found = false;
    end += *end == '.';
    for (unsigned i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (!sc__str_ends(sc__str(modules[i]), end))
            continue;
        sc__config_put_name(list, modules[i]);
        found = true;
    }
    if (!found)
        sc__config_put_name(list, pattern);
}

static void
put_targets(struct sc__launch *l, struct sc__buffer *list, const char *written) {
    if (!strcmp(written, "embed_tokens") || !strcmp(written, "lm_head"))
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: adapters of %s are not counted",
                 l->file,
                 written);
    else if (strchr(written, '*') && !strpbrk(written, "([\\"))
        put_pattern(list, written);
    else
        sc__config_put_name(list, sc__launch_lora_targets(l, written));
}

/* "[q_proj,v_proj]" and "['q_proj', 'v_proj']" of a command line: names behind commas. */
static const char *without_brackets(struct sc_context *ctx, const char *list) {
    char *plain = sc__strdup(&ctx->arena, list);
    char *to = plain;
    if (*list != '[')
        return list;
    for (const char *from = list; *from; from++)
        if (!strchr("[]'\" ", *from))
            *to++ = *from;
    *to = 0;
    return plain;
}

/* Lists, words behind commas, or one word for all of a layer. */
const char *sc__config_lora_targets(struct sc__launch *l, const struct sc__config *c) {
    struct sc__buffer list;
    sc__buffer_init(&list, &l->ctx->arena);
    for (uint32_t i = 0; i < c->count; i++)
        if (names_targets(&c->items[i]) && !sc__config_nothing(c->items[i].value))
            put_targets(l, &list, without_brackets(l->ctx, c->items[i].value));
    return list.size ? list.text : NULL;
}

/* ---- how they run ---- */

/* Trainer's and LLaMA-Factory's adapters are in fp32 (peft's autocast_adapter_dtype) and
 * products under autocast. DeepSpeed casts all of a model, FSDP what it gathers; Axolotl's
 * kernels cast the adapter in place of its input (kernels/lora.py). */
static bool runs_autocast(const struct sc__config *c) {
    bool narrow = has_type(c, "bf16") || has_type(c, "fp16");
    bool fused = sc__config_on(c, "lora_qkv_kernel") || sc__config_on(c, "lora_mlp_kernel");
    return narrow && !fused && !sc__config_on(c, "pure_bf16");
}

void sc__config_add_adapters(struct sc__launch *l,
                             const struct sc__config *c,
                             struct sc__flag_list *out,
                             const struct sc__config_lora *lora) {
    const char *rate = named(c, lora->dropout);
    double share = 0;
    sc__config_add(l, out, "lora", lora->rank);
    if (lora->targets)
        sc__config_add(l, out, "lora-targets", lora->targets);
    if (rate && sc__parse_double(sc__str(rate), &share) && share > 0)
        sc__config_add(l, out, "dropout", NULL);
}

static const char *rank_key(const struct sc__config *c) {
    static const char *const keys[] = {"lora_r", "lora_dim", "lora_config.r", NULL};
    for (const char *const *key = keys; *key; key++)
        if (named(c, *key))
            return *key;
    return "lora_rank";
}

/* Of DeepSpeed-Chat: all linear layers of the parts that it names (layers.), which are
 * frozen; what is none of them is trained unless only_optimize_lora
 * (training/utils/module/lora.py). */
static bool chat_adapters(struct sc__launch *l, const struct sc__config *c) {
    if (!named(c, "lora_dim"))
        return false;
    sc__config_value(c, "lora_module_name");
    if (!sc__config_on(c, "only_optimize_lora"))
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: embeddings and norms, which are trained beside adapters of lora_dim, "
                 "are counted as frozen",
                 l->file);
    return true;
}

/* Programs have ranks and layers of their own where a launch is silent (64 and all linear
 * layers of Qwen's finetune.py): what is taken is peft's. */
static void note_assumed(struct sc__launch *l, const char *rank, const char *targets) {
    if (!rank && !sc__launch_overridden(l, "lora"))
        sc__note(
            l->ctx,
            "config-default",
            "%s does not say the rank of its adapters: 8 is assumed, as in peft (--lora "
            "says otherwise)",
            l->file);
    if (!targets && !sc__launch_overridden(l, "lora-targets"))
        sc__note(l->ctx,
                 "config-default",
                 "%s does not say which layers have adapters: queries and values are "
                 "assumed, as in peft (--lora-targets says otherwise)",
                 l->file);
}

/* Axolotl's lora_target_linear and, where nothing is said, LLaMA-Factory and ms-swift mean
 * all linear layers, peft queries and values; TRL's ModelConfig and ms-swift have a dropout
 * of 0.05. */
static void take_adapters(struct sc__launch *l,
                          const struct sc__config *c,
                          struct sc__flag_list *out,
                          const char *rank) {
    bool swift = swift_type(c) != NULL;
    /* all linear layers of OpenRLHF and verl, too (target_modules) */
    bool all = sc__config_value(c, "finetuning_type") || swift || sc__config_openrlhf(c) ||
               sc__config_colossal(c) || /* convert_to_lora_module of ColossalChat */
               sc__config_verl(c) || sc__config_on(c, "lora_enable") || firefly_mode(c) ||
               chat_adapters(l, c);
    const char *targets = sc__config_lora_targets(l, c);
    if (sc__config_on(c, "lora_target_linear") || (all && !targets))
        targets = "all";
    struct sc__config_lora lora = {rank ? rank : "8", targets, "lora_dropout"};
    sc__config_add_adapters(l, c, out, &lora); /* 8: what peft takes */
    note_assumed(l, rank, targets);
    if (runs_autocast(c) && !sc__config_engine(l, c, out))
        sc__config_add(l, out, "lora-autocast", NULL);
    if ((sc__config_on(c, "use_peft") || swift) && !named(c, lora.dropout))
        sc__config_add(l, out, "dropout", NULL);
}

/* In the words of transformers and TRL, of FastChat, and of the scripts of QLoRA. */
static bool says_four_bits(const struct sc__config *c) {
    static const char *const keys[] = {"load_in_4bit",
                                       "use_4bit",
                                       "use_4bit_quantization",
                                       "q_lora",
                                       "qlora",
                                       "use_qlora",
                                       NULL};
    bool four = sc__config_any_on(c, keys);
    return four || is_word(named(c, "bits"), "4") || is_word(named(c, "quant_bits"), "4") ||
           is_word(named(c, "quantization"), "4bit"); /* Llama recipes */
}

/* finetune_lora.py of one's own may have the rank in itself. */
static void note_program(struct sc__launch *l, const struct sc__config *c) {
    const struct sc__shell_command *command = l->command;
    for (uint32_t i = 0; command && i < command->count; i++) {
        struct sc__str word = sc__str(command->words[i]);
        const char *slash = strrchr(command->words[i], '/');
        if (!sc__str_ends(word, ".py"))
            continue;
        if (strstr(slash ? slash : command->words[i], "lora") && !named(c, "use_lora") &&
            !sc__launch_overridden(l, "lora"))
            sc__note(
                l->ctx,
                "config-adapters-unsaid",
                "%s: %.60s trains adapters by its name, and of which rank is not said: "
                "all weights are counted as trained (--lora R)",
                l->file,
                slash ? slash + 1 : command->words[i]);
        return;
    }
}

sc_status sc__config_adapters(struct sc__launch *l,
                              const struct sc__config *c,
                              struct sc__flag_list *out) {
    const char *tuning = named(c, "finetuning_type");
    const char *adapter = named(c, "adapter");
    const char *key = rank_key(c);
    const char *rank = named(c, key);
    bool four_bits = says_four_bits(c);
    const char *four = named(c, "quantization_bit");
    if (tuning && strcmp(tuning, "lora") != 0 && strcmp(tuning, "full") != 0)
        return sc__launch_fail(l,
                               0,
                               "finetuning_type full and lora can be forecast",
                               "finetuning_type %.40s is not modelled",
                               tuning);
    if (adapter && strcmp(adapter, "lora") != 0 && strcmp(adapter, "qlora") != 0)
        return sc__launch_fail(l,
                               0,
                               "adapter lora and qlora can be forecast",
                               "adapter %.40s is not modelled",
                               adapter);
    if (is_word(rank, "0")) /* none: OpenRLHF's and DeepSpeed-Chat's default */
        rank = NULL;
    if (!trains_adapters(l, c, rank)) {
        note_program(l, c);
        if (rank)
            sc__note(l->ctx,
                     "option-unused",
                     "%s: %s has no effect: no adapter is named, all weights are trained",
                     l->file,
                     key);
        return SC_OK;
    }
    take_adapters(l, c, out, rank);
    if (firefly_mode(c) && !named(c, "train_mode"))
        sc__config_note_default(l, "train_mode", "qlora");
    if (is_word(adapter, "qlora") || is_word(firefly_mode(c), "qlora") ||
        is_word(four, "4") || four_bits)
        sc__config_add(l, out, "qlora", "");
    return SC_OK;
}

void sc__config_precision(struct sc__launch *l,
                          const struct sc__config *c,
                          enum sc__config_kind kind,
                          struct sc__flag_list *out) {
    bool trainer = kind == SC__CONFIG_TRAINER;
    bool sections = trainer || kind == SC__CONFIG_DEEPSPEED || kind == SC__CONFIG_NEOX;
    bool on = (trainer && (has_type(c, "bf16") || has_type(c, "fp16"))) ||
              has_type(c, "bf16.enabled") || has_type(c, "fp16.enabled");
    bool off = (trainer && is_off(c, "bf16")) || is_off(c, "bf16.enabled");
    if (!sections || on || !off)
        return;
    sc__config_add(l, out, "dtype", trainer && has_type(c, "tf32") ? "tf32" : "fp32");
    sc__note(l->ctx,
             "precision-off",
             "%s: bf16 is off and fp16 is not on: it trains in fp32",
             l->file);
}
