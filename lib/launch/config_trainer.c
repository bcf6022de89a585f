/* config_trainer: what keys of trainers of Hugging Face (Axolotl, LLaMA-Factory, TRL,
 * ms-swift, DeepSpeed-Chat, OpenRLHF) mean together: sharding, recomputation, the loss,
 * fp8, the optimizer. */
#include "launch/config.h"

#include <inttypes.h>
#include <string.h>

static bool has_section(const struct sc__config *c, const char *beginning) {
    for (uint32_t i = 0; i < c->count; i++)
        if (sc__str_starts(sc__str(c->items[i].key), beginning))
            return true;
    return false;
}

/* ---- the model ---- */

/* ms-swift has it under --model; a flag without a value, as an empty variable leaves it,
 * names none. */
static sc_status
take_model(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    static const char *const keys[] = {"model_name_or_path",
                                       "base_model",
                                       "model",
                                       "model_id",
                                       "pretrain",
                                       "pretrained",             /* Colossal-LLaMA */
                                       "model.partial_pretrain", /* verl */
                                       "model_name",
                                       "model_path",
                                       NULL};
    if (sc__launch_overridden(l, "model"))
        return SC_OK;
    for (const char *const *key = keys; *key; key++)
        for (uint32_t i = 0; i < c->count; i++) {
            const struct sc__config_item *item = &c->items[i];
            bool own = strcmp(*key, "pretrained") != 0 || sc__config_colossal(c);
            if (!own || strcmp(item->key, *key) != 0)
                continue;
            if (!strcmp(item->value, "true") || (l->command && !*item->value))
                return sc__launch_fail(l,
                                       item->line,
                                       "name the model with --model, or give the "
                                       "variable behind it with --set",
                                       "%s%s has no value",
                                       strchr(*key, '.') ? "" : "--",
                                       *key);
            return sc__config_model_id(l, item, out);
        }
    return SC_OK;
}

static bool names_something(const char *value) {
    return value && !sc__config_nothing(value) && !sc__config_false(value);
}

/* A key that is this flag, in the words of any trainer. */
static bool says_flag(const struct sc__config *c, const char *flag) {
    for (const struct sc__config_key *k = sc__config_keys; k->key; k++) {
        bool meant = k->kinds & (1u << SC__CONFIG_TRAINER) && !strcmp(k->flag, flag);
        if (meant && sc__config_value(c, k->key))
            return true;
    }
    return false;
}

/* DeepSpeed-Chat's step of supervised fine-tuning: --deepspeed is a switch beside a stage,
 * and names no file. */
static bool is_chat(const struct sc__config *c) {
    const char *deepspeed = sc__config_exact(c, "deepspeed");
    return deepspeed && sc__config_true(deepspeed) && sc__config_exact(c, "zero_stage") &&
           sc__config_exact(c, "model_name_or_path");
}

/* Meta's Llama recipes (configs/training.py), whose words these are. */
bool sc__config_llama_recipes(const struct sc__config *c) {
    return sc__config_exact(c, "model_name") &&
           (sc__config_exact(c, "enable_fsdp") ||
            sc__config_exact(c, "batch_size_training"));
}

/* Numbers in DeepSpeed's own file are the batch of programs that leave it to
 * deepspeed.initialize; trainers of Hugging Face, which say it themselves, have "auto". */
static bool says_engine_batch(const struct sc__config *c) {
    bool file = sc__config_has(c, "zero_optimization.stage") ||
                sc__config_has(c, "train_micro_batch_size_per_gpu");
    return file && !says_flag(c, "micro-batch") &&
           (sc__config_has(c, "train_micro_batch_size_per_gpu") ||
            sc__config_has(c, "train_batch_size"));
}

static void take_engine_batch(struct sc__launch *l,
                              const struct sc__config *c,
                              struct sc__flag_list *out) {
    if (!says_engine_batch(c) || sc__config_openrlhf(c))
        return;
    const char *piece = sc__config_value(c, "train_micro_batch_size_per_gpu");
    const char *whole = sc__config_value(c, "train_batch_size");
    if (piece)
        sc__config_add(l, out, "micro-batch", piece);
    if (whole)
        sc__config_add(l, out, "global-batch", whole);
}

/* What is not said has the value that its program gives it: per_device_train_batch_size of
 * transformers/training_args.py, cutoff_len of LLaMA-Factory's data_args.py, max_seq_len of
 * DeepSpeed-Chat's main.py. */
static void
take_defaults(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    bool engine = says_engine_batch(c);
    bool chat = is_chat(c);
    bool recipes = sc__config_llama_recipes(c);
    const struct {
        const char *key;
        const char *flag;
        const char *value;
        bool has;
    } usual[] = {
        {"per_device_train_batch_size",
         "micro-batch",
         chat ? "16" : "8",
         !engine && sc__config_exact(c, "model_name_or_path")},
        {"cutoff_len", "seq", "2048", sc__config_value(c, "finetuning_type") != NULL},
        {"max_seq_len", "seq", "512", chat},
        {"batch_size_training", "micro-batch", "4", recipes},
        {"context_length", "seq", "4096", recipes}};
    for (unsigned i = 0; i < sizeof usual / sizeof *usual; i++)
        if (usual[i].has && !says_flag(c, usual[i].flag))
            sc__config_add_default(l, out, usual[i].key, usual[i].flag, usual[i].value);
}

/* Its launches name the weights --pretrain; train_batch_size is that of all GPUs (128
 * unless it is said), and lengths are 2048 (openrlhf/cli/train_sft.py). */
bool sc__config_openrlhf(const struct sc__config *c) {
    return sc__config_exact(c, "pretrain") && sc__config_exact(c, "micro_train_batch_size");
}

static void
take_openrlhf(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    if (!sc__config_openrlhf(c)) /* others mean something else by its words */
        return;
    const char *batch = sc__config_value(c, "train_batch_size");
    bool answers = sc__config_value(c, "generate_max_len") != NULL;
    if (batch)
        sc__config_add(l, out, "global-batch", batch);
    else
        sc__config_add_default(l, out, "train_batch_size", "global-batch", "128");
    if (!answers && !says_flag(c, "seq"))
        sc__config_add_default(l, out, "max_len", "seq", "2048");
}

/* verl's batch is that of all GPUs; attention is FlashAttention's, sequences are parallel
 * by DeepSpeed-Ulysses' exchange of heads, and the model is loaded in fp32 unless it says
 * otherwise (fsdp_sft_trainer.py). */
static void
take_verl(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *type = sc__config_value(c, "fsdp_config.model_dtype");
    if (!sc__config_verl(c))
        return;
    sc__config_add(l, out, "global-batch", sc__config_exact(c, "data.train_batch_size"));
    sc__config_add(l, out, "attention", "flash2");
    if (sc__config_number(c, "ulysses_sequence_parallel_size", 1) > 1)
        sc__config_add(l, out, "cp-comm-type", "a2a");
    if (type && (!strcmp(type, "bf16") || !strcmp(type, "bfloat16")))
        sc__config_add(l, out, "update", "plain");
}

/* Alpaca-LoRA and its kin: batch_size is that of all GPUs, of which steps of accumulation
 * are made (finetune.py). */
static void
take_alpaca(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    if (sc__launch_is_script(l) && sc__config_exact(c, "base_model") &&
        sc__config_exact(c, "micro_batch_size") && sc__config_exact(c, "batch_size"))
        sc__config_add(l, out, "global-batch", sc__config_exact(c, "batch_size"));
}

/* --batch_size of programs of one's own is what they hand to the DataLoader of a rank. */
static void take_own_batch(struct sc__launch *l,
                           const struct sc__config *c,
                           struct sc__flag_list *out) {
    bool says = says_flag(c, "micro-batch") || says_engine_batch(c) ||
                sc__config_colossal(c) || sc__launch_overridden(l, "micro-batch");
    bool own = sc__config_own_fsdp(c) || sc__launch_is_script(l);
    const char *batch = own && !says ? sc__config_exact(c, "batch_size") : NULL;
    if (!batch)
        return;
    sc__config_add(l, out, "micro-batch", batch);
    if (!sc__config_own_fsdp(c))
        sc__note(l->ctx,
                 "config-batch",
                 "%s: --batch_size %.20s is taken for that of one GPU (--micro-batch says "
                 "otherwise)",
                 l->file,
                 batch);
}

/* openrlhf.cli.train_dpo and its kin; train_sft trains on texts. */
static bool runs_other_step(const struct sc__shell_command *command) {
    static const char cli[] = "openrlhf.cli.train_";
    for (uint32_t i = 0; command && i < command->count; i++) {
        const char *at = strstr(command->words[i], cli);
        if (at && strcmp(at + sizeof cli - 1, "sft") != 0)
            return true;
    }
    return false;
}

/* TRL's trainers on answers (GRPO, DPO): sequences are a prompt and an answer, and what
 * makes or judges answers is no part of a step of plain training. */
static void
take_answers(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    uint64_t prompt = sc__config_number(c, "max_prompt_length", 0);
    uint64_t answer = sc__config_number(c, "max_completion_length", 0);
    bool pairs =
        sc__config_openrlhf(c) &&
        (sc__config_value(c, "chosen_key") || sc__config_value(c, "ref_pretrain") ||
         sc__config_value(c, "reward_pretrain") || runs_other_step(l->command));
    if (sc__config_openrlhf(c) && !answer) { /* its own words for them */
        prompt = sc__config_number(c, "prompt_max_len", 0);
        answer = sc__config_number(c, "generate_max_len", 0);
    }
    if (!prompt && !answer && !pairs && !sc__config_value(c, "num_generations"))
        return;
    if (answer && !sc__config_value(c, "max_length"))
        sc__config_add(l,
                       out,
                       "seq",
                       sc__format(&l->ctx->arena, "%" PRIu64, prompt + answer));
    sc__note(l->ctx,
             "config-not-modelled",
             "%s trains on answers to prompts: making them, a model they are compared with "
             "and pairs of them are not counted, a step of plain training is",
             l->file);
}

/* ---- sharding ---- */

/* Whether a strategy of FullyShardedDataParallel is named by the word, as accelerate and
 * TrainingArguments have it, or by its number in ShardingStrategy. */
static bool
fsdp_strategy(const struct sc__config *c, const char *word, const char *number) {
    static const char *const keys[] =
        {"fsdp", "fsdp_sharding_strategy", "sharding_strategy", "fsdp.0", "fsdp.1", NULL};
    for (const char *const *key = keys; *key; key++) {
        const char *value = sc__config_value(c, *key);
        for (const char *at = value; at && *at; at++)
            if (sc__str_starts_any_case(sc__str(at), word))
                return true;
        if (value && !strcmp(value, number))
            return true;
    }
    return false;
}

const char *sc__config_accelerate_file(const struct sc__config *c) {
    bool read = sc__config_value(c, "distributed_type") != NULL;
    return read ? NULL : sc__config_exact(c, "config_file");
}

bool sc__config_fsdp_file(const char *name) {
    const char *slash = strrchr(name, '/');
    return strstr(slash ? slash : name, "fsdp") != NULL;
}

static bool runs_fsdp(const struct sc__config *c) {
    const char *file = sc__config_accelerate_file(c);
    const char *fsdp = sc__config_value(c, "fsdp");
    const char *backend = sc__config_openrlhf(c) ? sc__config_exact(c, "backend") : NULL;
    bool named = names_something(fsdp) || has_section(c, "fsdp.") ||
                 has_section(c, "fsdp_config.") || sc__config_on(c, "use_fsdp") ||
                 sc__config_on(c, "enable_fsdp") || sc__config_verl(c) ||
                 sc__config_colossal_fsdp(c) || sc__config_own_fsdp(c) ||
                 (file && sc__config_fsdp_file(file)) ||
                 (backend && strstr(backend, "fsdp"));
    return named && !fsdp_strategy(c, "no_shard", "3");
}

bool sc__config_own_fsdp(const struct sc__config *c) {
    const char *strategy = sc__config_exact(c, "sharding_strategy");
    return strategy && strcmp(strategy, "ddp") != 0 && !sc__config_has(c, "num_layers");
}

/* The file of DeepSpeed, as trainers and as accelerate, its flags and its own file (in a
 * section there), name it; or one of accelerate that has a stage in its name
 * (deepspeed_zero3.yaml of TRL). */
static const char *deepspeed_file(const struct sc__config *c) {
    const char *file = sc__config_value(c, "deepspeed");
    const char *other = sc__config_accelerate_file(c);
    const char *own = sc__config_exact(c, "deepspeed_config");
    if (own && (!file || sc__config_true(file))) /* --deepspeed is a switch beside it */
        file = own;
    if (!file)
        file = sc__config_value(c, "deepspeed_config_file");
    return !file && other && sc__config_deepspeed_stage(other) ? other : file;
}

static bool runs_deepspeed(const struct sc__config *c) {
    const char *file = deepspeed_file(c);
    bool other = sc__config_openrlhf(c) && runs_fsdp(c);
    return !other &&
           (names_something(file) || sc__config_value(c, "zero_optimization.stage") ||
            sc__config_on(c, "use_deepspeed") || sc__config_exact(c, "zero_stage") ||
            sc__config_openrlhf(c) || has_section(c, "deepspeed_config.") ||
            (sc__config_colossal(c) && !runs_fsdp(c))); /* whose profile is the same */
}

const char *sc__config_trainer_software(const struct sc__config *c) {
    return runs_deepspeed(c) ? "deepspeed"
           : runs_fsdp(c)    ? "fsdp-eager"
                             : "hf-transformers";
}

/* grad_op keeps gathered weights until backward, hybrid copies across nodes. */
static void
take_fsdp(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *reshard = sc__config_value(c, "reshard_after_forward");
    if (!reshard)
        reshard = sc__config_value(c, "fsdp_reshard_after_forward");
    bool kept = (reshard && sc__config_false(reshard)) ||
                fsdp_strategy(c, "shard_grad_op", "2") || fsdp_strategy(c, "_zero2", "5");
    bool hybrid = fsdp_strategy(c, "hybrid", "4") || fsdp_strategy(c, "hybrid", "5") ||
                  fsdp_strategy(c, "hsdp", "4");
    sc__config_add(l, out, "use-torch-fsdp2", NULL);
    bool own = sc__config_has(c, "dp_shard_size"); /* Axolotl's, else accelerate's */
    uint32_t shards =
        sc__config_number(c, own ? "dp_shard_size" : "parallelism_config_dp_shard_size", 0);
    uint64_t copies = sc__config_number(c,
                                        own ? "dp_replicate_size"
                                            : "parallelism_config_dp_replicate_size",
                                        1);
    if (shards) /* which says the GPUs with it */
        sc__config_add(l,
                       out,
                       "dp",
                       sc__format(&l->ctx->arena, "%" PRIu64, shards * copies));
    if (shards && copies > 1)
        sc__config_add(l,
                       out,
                       "shard-group",
                       sc__format(&l->ctx->arena, "%" PRIu32, shards));
    if (kept)
        sc__config_add(l, out, "reshard-after-forward", "no");
    if (hybrid)
        sc__config_note_hybrid(l);
}

/* accelerate hands sequences to PyTorch's context_parallel, which gathers keys and values
 * unless cp_comm_strategy says alltoall (utils/dataclasses.py). */
static void
take_context(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *how = sc__config_value(c, "parallelism_config_cp_comm_strategy");
    if (sc__config_number(c, "parallelism_config_cp_size", 1) > 1)
        sc__config_add(l,
                       out,
                       "cp-comm-type",
                       how && !strcmp(how, "alltoall") ? "p2p" : "all_gather");
}

const char *sc__config_deepspeed_stage(const char *name) {
    static const char *const stages[] =
        {"zero1", "zero2", "zero3", "z0", "z2", "z3", "stage2", "stage3", "stage1", NULL};
    for (const char *const *s = stages; *s; s++)
        if (strstr(name, *s))
            return *s + strlen(*s) - 1;
    return NULL;
}

/* Programs that run DeepSpeed at stage 2 where nothing is said: zero_stage of accelerate's
 * DeepSpeedPlugin (utils/dataclasses.py) and of OpenRLHF's cli. */
static void take_stage_two(struct sc__launch *l,
                           const struct sc__config *c,
                           struct sc__flag_list *out) {
    bool said = sc__config_value(c, "zero_optimization.stage") ||
                sc__config_value(c, "zero_stage") || deepspeed_file(c);
    bool usual = sc__config_on(c, "use_deepspeed") || sc__config_openrlhf(c);
    if (!said && usual && runs_deepspeed(c))
        sc__config_add_default(l, out, "zero_stage", "zero", "2");
}

/* ZeRO by DeepSpeed's file, if it was read, or by its name; or FSDP. */
static void
take_sharding(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *file = deepspeed_file(c);
    const char *stage = file ? sc__config_deepspeed_stage(file) : NULL;
    if (stage && !sc__config_value(c, "zero_optimization.stage") &&
        !sc__config_value(c, "zero_stage"))
        sc__config_add(l, out, "zero", stage);
    take_stage_two(l, c, out);
    if (runs_fsdp(c))
        take_fsdp(l, c, out);
    take_context(l, c, out);
}

/* ---- how a step runs ---- */

/* LLaMA-Factory checkpoints unless disable_gradient_checkpointing says otherwise
 * (prepare_model_for_training of model/model_utils/checkpointing.py), Llama recipes under
 * FSDP unless fsdp_activation_checkpointing does (configs/fsdp.py). */
static void take_recomputation(struct sc__launch *l,
                               const struct sc__config *c,
                               struct sc__flag_list *out) {
    bool factory =
        sc__config_value(c, "finetuning_type") || sc__config_value(c, "cutoff_len");
    bool recipes = sc__config_llama_recipes(c) && sc__config_on(c, "enable_fsdp") &&
                   !sc__config_value(c, "fsdp_activation_checkpointing");
    if (recipes || sc__config_on(c, "fsdp_activation_checkpointing") ||
        sc__config_on(c, "fsdp_config.activation_checkpointing"))
        sc__config_add(l, out, "recompute", "full");
    if (!factory || sc__config_value(c, "gradient_checkpointing"))
        return;
    bool off = sc__config_on(c, "disable_gradient_checkpointing");
    sc__config_add(l, out, "recompute", off ? "none" : "full");
}

/* Axolotl turns Liger's kernels on one by one: norms, rotary positions and activations
 * together are what others mean by one word. */
static bool takes_liger_apart(struct sc__launch *l, const struct sc__config *c) {
    bool activations =
        sc__config_on(c, "liger_glu_activation") || sc__config_on(c, "liger_swiglu");
    bool norms = sc__config_on(c, "liger_rms_norm");
    bool rotary = sc__config_on(c, "liger_rope");
    bool all = activations && norms && rotary;
    if (!all && (activations || norms || rotary))
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: a part of Liger's kernels (liger_rms_norm, liger_rope, "
                 "liger_glu_activation) is not modelled: the modules run as in "
                 "transformers",
                 l->file);
    return all;
}

/* Apple's kernels make the loss of the last layer's input piece by piece, so that logits
 * never stand whole; so do Liger's, which come with others (fused_linear_cross_entropy is
 * on in Liger's patches). */
static void
take_loss(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    static const char *const liger[] = {"use_liger_kernel",
                                        "use_liger",
                                        "enable_liger_kernel",
                                        NULL};
    static const char *const losses[] = {"use_cce",
                                         "cut_cross_entropy",
                                         "liger_fused_linear_cross_entropy",
                                         NULL};
    bool kernels = sc__config_any_on(c, liger);
    bool apart = !kernels && takes_liger_apart(l, c);
    bool pieces = sc__config_any_on(c, losses);
    for (uint32_t i = 0; i < c->count; i++)
        pieces = pieces || (sc__str_starts(sc__str(c->items[i].key), "plugins") &&
                            strstr(c->items[i].value, "CutCrossEntropy"));
    if (kernels || apart)
        sc__config_add(l, out, "liger-kernel", NULL);
    if (apart && !pieces)
        sc__config_add(l, out, "cross-entropy", "fp32");
    else if (pieces && !kernels && !apart)
        sc__config_add(l, out, "cross-entropy", "chunked");
}

/* fp8 of Axolotl and LLaMA-Factory is torchao's, unless a key names another one's. */
static void
take_fp8(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *backend = sc__config_value(c, "fp8_backend");
    const char *precision = sc__config_value(c, "mixed_precision");
    bool named = precision && sc__str_is_any_case(sc__str(precision), "fp8");
    bool fused = backend && !strcmp(backend, "te");
    if (!sc__config_on(c, "fp8") && !named)
        return;
    sc__config_add(l, out, "fp8", NULL);
    sc__config_add(l, out, "fp8-scaling", fused ? "fused" : "dynamic");
    if (sc__config_on(c, "fp8_enable_fsdp_float8_all_gather"))
        sc__config_add(l, out, "fp8-param-gather", NULL);
}

/* Names of OptimizerNames (transformers/training_args.py); bnb's and torchao's moments
 * have 8 bits. */
static void take_optimizer(struct sc__launch *l,
                           const struct sc__config *c,
                           struct sc__flag_list *out) {
    static const struct sc__flag names[] = {
        {"adamw_bnb_8bit", "adam-8bit"},
        {"adamw_8bit", "adam-8bit"},
        {"paged_adamw_8bit", "adam-8bit"},
        {"adamw_torch_8bit", "adam-8bit"},
        {"ao_adamw_8bit", "adam-8bit"},
        {"muon", "muon"},
        {"sgd", "sgd"},
        {"adamw_torch", "adam-foreach"}, /* PyTorch's own default: by lists of tensors */
        {"adamw_torch_fused", "adam"},
        {"adamw_apex_fused", "adam"},
        {"adamw_hf", "adam"},
        {"adamw", "adam"},
        {"adam", "adam"},
        {"paged_adamw_32bit", "adam"},
        {"paged_adamw", "adam"},
    };
    const char *name = sc__config_value(c, "optim");
    if (!name)
        name = sc__config_value(c, "optimizer");
    if (sc__config_on(c, "use_muon"))
        name = "muon";
    if (!name || sc__config_nothing(name))
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].name, name) != 0)
            continue;
        sc__config_add(l, out, "optimizer", names[i].value);
        return;
    }
    sc__note(l->ctx,
             "config-not-modelled",
             "%s: the optimizer %.40s is not modelled: Adam is counted",
             l->file,
             name);
}

static bool has_flag(const struct sc__flag_list *flags, const char *name) {
    for (uint32_t i = 0; i < flags->count; i++)
        if (!strcmp(flags->items[i].name, name))
            return true;
    return false;
}

bool sc__config_engine(const struct sc__launch *l,
                       const struct sc__config *c,
                       const struct sc__flag_list *flags) {
    static const char *const options[] = {"zero", "use-torch-fsdp2", NULL};
    bool engine = runs_deepspeed(c);
    for (const char *const *o = options; *o; o++)
        engine = engine || has_flag(flags, *o) || sc__launch_overridden(l, *o);
    return engine;
}

/* A type of 16 bits is named for the weights. */
static bool loaded_narrow(const struct sc__config *c) {
    const char *type = sc__config_value(c, "torch_dtype");
    return type && strstr(type, "16") && !sc__config_value(c, "finetuning_type");
}

/* Whether the model is loaded in the type of its products: Axolotl's and ms-swift's is,
 * others' in fp32 unless a type is named. LLaMA-Factory widens what it trains
 * (model/adapter.py). */
static bool loads_narrow(const struct sc__config *c) {
    const char *type = sc__config_value(c, "torch_dtype");
    if (!type)
        type = sc__config_value(c, "dtype");
    if (sc__config_value(c, "finetuning_type"))
        return false;
    if (type && !sc__config_nothing(type))
        return strcmp(type, "float32") != 0 && strcmp(type, "fp32") != 0;
    return sc__config_value(c, "base_model") || !sc__config_value(c, "model_name_or_path");
}

/* Of whole models. Engines that shard have main weights of their own, or fp32 shards. */
static void
take_update(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *bf16 = sc__config_value(c, "bf16");
    const char *mixed = sc__config_value(c, "mixed_precision"); /* accelerate's */
    bool narrow = loaded_narrow(c) || sc__config_on(c, "bf16") ||
                  sc__config_on(c, "fp16") || (bf16 && !strcmp(bf16, "auto")) ||
                  (mixed && strstr(mixed, "16"));
    if (sc__config_on(c, "pure_bf16"))
        sc__config_add(l, out, "update", "plain");
    else if (narrow && !sc__config_engine(l, c, out) && !has_flag(out, "lora"))
        sc__config_add(l, out, "update", loads_narrow(c) ? "plain" : "amp");
}

/* Sequences of a fine-tuning set are short: without packing a batch is as long as its
 * longest. LLaMA-Factory packs for pretraining (stage pt). */
static void note_length(struct sc__launch *l, const struct sc__config *c) {
    static const char *const lengths[] = {"sequence_len",
                                          "cutoff_len",
                                          "max_seq_length",
                                          "max_length",
                                          "max_seq_len",
                                          "max_len",
                                          NULL};
    static const char *const packs[] = {"sample_packing",
                                        "packing",
                                        "neat_packing",
                                        "packing_samples", /* OpenRLHF */
                                        "pad_to_sequence_len",
                                        NULL};
    const char *stage = sc__config_value(c, "stage");
    bool said = false;
    bool packed = sc__config_any_on(c, packs) || (stage && !strcmp(stage, "pt"));
    for (const char *const *key = lengths; *key; key++)
        said = said || sc__config_value(c, *key);
    if (said && !packed)
        sc__note(l->ctx,
                 "config-length",
                 "%s: sequences are not packed: they are counted as long as they may be",
                 l->file);
}

/* Evaluation and prediction go by the same files. */
static sc_status refuse_evaluation(struct sc__launch *l, const struct sc__config *c) {
    const char *train = sc__config_exact(c, "do_train");
    if (!train || !sc__config_false(train))
        return SC_OK;
    return sc__launch_fail(l,
                           0,
                           "a step of training can be forecast",
                           "do_train is %.20s: this evaluates, or predicts",
                           train);
}

sc_status sc__config_trainer(struct sc__launch *l,
                             const struct sc__config *c,
                             struct sc__flag_list *out) {
    SC__TRY(refuse_evaluation(l, c));
    SC__TRY(take_model(l, c, out));
    take_defaults(l, c, out);
    take_engine_batch(l, c, out);
    take_openrlhf(l, c, out);
    take_verl(l, c, out);
    take_alpaca(l, c, out);
    SC__TRY(sc__config_take_colossal(l, c, out));
    take_own_batch(l, c, out);
    take_answers(l, c, out);
    take_sharding(l, c, out);
    take_recomputation(l, c, out);
    take_loss(l, c, out);
    take_fp8(l, c, out);
    take_optimizer(l, c, out);
    note_length(l, c);
    SC__TRY(sc__config_adapters(l, c, out));
    take_update(l, c, out);
    return SC_OK;
}
