/* config_notes: keys that change the time or the memory of a step, and not what we say:
 * each is a note. */
#include "launch/config.h"

#include <inttypes.h>
#include <string.h>

#define OF(kind) (1u << SC__CONFIG_##kind)
#define ANY (~0u)

static const struct {
    unsigned kinds;
    const char *key;
    const char *off; /* values, with blanks between, that change nothing */
} keys[] = {
    {ANY, "load_in_8bit", ""},
    {OF(TRAINER), "quantization_bit", "4 16"}, /* LLaMA-Factory, ChatGLM's kin */
    {OF(TRAINER), "quant_bits", "4 16"},       /* ms-swift */
    {OF(TRAINER), "bits", "4 16"},             /* scripts of QLoRA */
    {OF(TRAINER), "quantization", "4bit"},     /* Llama recipes */
    {ANY, "lora_modules_to_save", ""},
    {OF(TRAINER), "modules_to_save", ""},
    {OF(TRAINER), "vision_tower", ""}, /* LLaVA and its kin */
    {OF(TRAINER), "mm_vision_tower", ""},
    {OF(TRAINER), "tune_mm_mlp_adapter", ""}, /* all else is frozen */
    {OF(TRAINER), "freeze_backbone", ""},
    {OF(TRAINER), "use_galore", ""},
    {OF(TRAINER), "use_apollo", ""},
    {OF(TRAINER), "use_badam", ""},
    {OF(TRAINER), "use_adam_mini", ""},
    {OF(TRAINER), "use_llama_pro", ""},
    {OF(TRAINER), "use_unsloth", ""},
    {OF(TRAINER), "use_unsloth_gc", ""},
    {OF(TRAINER) | OF(TORCHTUNE), "use_dora", ""},
    {OF(TORCHTUNE), "apply_lora_to_output", ""},
    {OF(TORCHTUNE), "enable_activation_offloading", ""},
    {OF(TORCHTUNE), "optimizer_in_bwd", ""},
    {OF(TORCHTUNE), "mixed_precision.enabled", ""}, /* products in 8-bit integers */
    {OF(TORCHTUNE), "quantizer._component_", ""},   /* of training that knows of it */
    {OF(TRAINER), "peft_use_dora", ""},
    {OF(TRAINER), "torch_compile", ""},
    {OF(TRAINER), "activation_offloading", ""},
    {OF(TRAINER), "gradient_checkpointing", "true 1"}, /* offload, offload_disk, unsloth */
    {OF(TRAINER), "tiled_mlp", ""},
    {OF(TRAINER), "use_tiled_mlp", ""}, /* ms-swift */
    {OF(TRAINER), "unfrozen_parameters", ""},
    {OF(TRAINER), "mixture_of_depths", ""},
    {OF(TRAINER), "rl", ""},
    {OF(TRAINER), "stage", "sft pt 0 1 2 3"}, /* LLaMA-Factory's; DeepSpeed's is a number */
    {OF(DEEPSPEED) | OF(NEOX) | OF(TRAINER), "zero_quantized_weights", ""},
    {OF(DEEPSPEED) | OF(NEOX) | OF(TRAINER), "zero_quantized_gradients", ""},
    {OF(DEEPSPEED) | OF(NEOX) | OF(TRAINER), "zero_hpz_partition_size", "1"},
    {OF(DEEPSPEED) | OF(NEOX) | OF(TRAINER), "mics_shard_size", "-1"},
    {OF(DEEPSPEED) | OF(NEOX), "partition_activations", ""},
    {OF(DEEPSPEED) | OF(NEOX), "cpu_checkpointing", ""},
    {OF(DEEPSPEED), "sequence_parallel_size", "1"},
    {OF(NEOX), "gpt_j_residual", ""},
    {OF(NEOX), "checkpoint_in_cpu", ""},
    {OF(NEOX), "sliding_window_width", ""},
    {OF(NEOX), "num_unique_layers", ""},
    {OF(NEOX), "train_impl", "normal"},
    {OF(NEOX), "use_bnb_optimizer", ""},
    {OF(NEOX), "optimizer.type", "adam cpu_adam cpu_torch_adam"},
    {OF(NESTED), "attention_mask_type", "causal padding_causal"}, /* of MegaDLM */
    {OF(FOUNDRY), "activation_cpu_offload", ""},
    {OF(TORCHTITAN), "early_step_in_backward", ""},
    {OF(TORCHTITAN), "optimizer.state_dtype", "float32"},
    {OF(MAXTEXT), "optimizer_memory_host_offload", ""},
    {OF(MAXTEXT), "parameter_memory_host_offload", ""},
};

/* "a.b.key", "key" and, of a list, "key.0"; dashes are underscores in GPT-NeoX. */
static bool names_key(const struct sc__config_item *item, const char *key) {
    size_t n = strlen(key);
    for (const char *at = item->key; at; at = strchr(at, '.')) {
        at += *at == '.';
        size_t i = 0;
        while (i < n && (at[i] == key[i] || (at[i] == '-' && key[i] == '_')))
            i++;
        if (i == n && (!at[n] || !strcmp(at + n, ".0")))
            return true;
    }
    return false;
}

static bool is_off(const char *value, const char *words) {
    struct sc__str rest = sc__str(words);
    struct sc__str word;
    while (sc__split(&rest, ' ', &word))
        if (sc__str_is_any_case(word, value))
            return true;
    return sc__config_nothing(value) || sc__config_false(value);
}

void sc__config_note_not_modelled(const struct sc__launch *l,
                                  struct sc__config_item *item,
                                  enum sc__config_kind kind) {
    const char *place = l->file;
    if (item->line) /* not of a file beside it */
        place = sc__format(&l->ctx->arena, "%s:%u", l->file, item->line);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].kinds & (1u << kind) && names_key(item, keys[i].key)) {
            item->asked = true;
            if (!is_off(item->value, keys[i].off))
                sc__note(l->ctx,
                         "config-not-modelled",
                         "%s: %s %.40s changes the step and is not modelled",
                         place,
                         item->key,
                         item->value);
        }
}

/* ---- what nobody asked for ---- */

static bool has_part(const char *name, const char *const *parts) {
    for (; *parts; parts++)
        if (strstr(name, *parts))
            return true;
    return false;
}

/* By its name: how much a step does, over how many ranks, in how many bits. */
static bool tells(const char *name) {
    static const char *const parts[] = {"parallel",
                                        "qlora",
                                        "use_lora",
                                        "use_peft",
                                        "4bit",
                                        "quantiz",
                                        "offload",
                                        "accumulation",
                                        "accum_steps",
                                        "batch_size",
                                        "bsz",
                                        "zero_stage",
                                        "seq_len",
                                        "max_len",
                                        "checkpointing",
                                        "lora_dim",
                                        NULL};
    static const char *const others[] = {"eval",
                                         "val_",
                                         "test_",
                                         "vllm",
                                         "sglang",
                                         "rollout",
                                         "generation",
                                         "dataset",
                                         "tokenizers",
                                         "preprocess",
                                         "bnb_4bit_",
                                         "quantization_method",
                                         "quantization_type",
                                         "quantization_config",
                                         "auto_find",
                                         "checkpointing_steps", /* when it saves */
                                         "kwargs",
                                         "reentrant",
                                         NULL};
    return has_part(name, parts) && !has_part(name, others);
}

/* The size of a section that is a kind of parallelism ("context_parallel.size"). */
static bool sizes_parallelism(const struct sc__config_item *item) {
    size_t before = strlen(item->key) - strlen(item->last);
    const char *section = strstr(item->key, "parallel");
    return section && (size_t)(section - item->key) < before &&
           (!strcmp(item->last, "size") || !strcmp(item->last, "degree") ||
            sc__str_ends(sc__str(item->last), "_size") ||
            sc__str_ends(sc__str(item->last), "_degree"));
}

sc_status sc__config_note_unread(const struct sc__launch *l,
                                 const struct sc__config *c,
                                 enum sc__config_kind kind) {
    unsigned looked_at = OF(TRAINER) | OF(TORCHTUNE) | OF(TORCHTITAN) | OF(DEEPSPEED);
    for (uint32_t i = 0; i < c->count; i++) {
        const struct sc__config_item *item = &c->items[i];
        uint32_t degree = 0;
        bool number = sc__parse_u32(sc__str(item->value), &degree);
        /* of MaxText's many keys the axes of its mesh alone */
        bool counts = kind == SC__CONFIG_MAXTEXT
                          ? number && sc__str_ends(sc__str(item->last), "_parallelism")
                          : looked_at & (1u << kind) &&
                                (tells(item->last) || sizes_parallelism(item));
        if (!counts || item->asked || is_off(item->value, "1"))
            continue;
        if (number && (strstr(item->last, "parallel") || sizes_parallelism(item)))
            return sc__launch_fail(l,
                                   item->line,
                                   "take it out and give --tp, --pp, --cp or --ep",
                                   "%.60s %" PRIu32
                                   ": by its name it is a degree of parallelism, and it is "
                                   "not known",
                                   item->key,
                                   degree);
        sc__note(l->ctx,
                 "config-unread",
                 "%s: %.60s %.40s is not known and counts for nothing, though by its name "
                 "it changes the step",
                 l->file,
                 item->key,
                 item->value);
    }
    return SC_OK;
}

sc_status sc__config_known(const struct sc__launch *l,
                           const struct sc__config_item *item,
                           const char *flag) {
    uint32_t mark = sc__shell_mark(item->value);
    if (!mark || mark > l->shell.unknown_count || sc__launch_overridden(l, flag))
        return SC_OK;
    return sc__launch_fail(l,
                           item->line,
                           sc__format(&l->ctx->arena,
                                      "give the variable it comes from with --set "
                                      "NAME=value, or --%s",
                                      flag),
                           "%.60s cannot be known: it hangs on %s (line %u)",
                           item->key,
                           l->shell.unknowns[mark - 1].what,
                           l->shell.unknowns[mark - 1].line);
}

void sc__config_note_hybrid(const struct sc__launch *l) {
    sc__note(l->ctx,
             "config-not-modelled",
             "%s: weights are counted as sharded over all GPUs, not copied across nodes "
             "(hybrid): --shard-group says how many ranks share them",
             l->file);
}

void sc__config_note_default(const struct sc__launch *l,
                             const char *key,
                             const char *value) {
    sc__note(l->ctx,
             "config-default",
             "%s does not say %s: it is %s there",
             l->file,
             key,
             value);
}

void sc__config_add_default(struct sc__launch *l,
                            struct sc__flag_list *out,
                            const char *key,
                            const char *flag,
                            const char *value) {
    if (sc__launch_overridden(l, flag))
        return;
    sc__config_add(l, out, flag, value);
    sc__config_note_default(l, key, value);
}
