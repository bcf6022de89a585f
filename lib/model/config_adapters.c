/* config_adapters: what of the weights a trainer of Hugging Face trains, and in which type.
 * Ranks stand in configurations of full fine-tuning too (Axolotl's examples have `adapter:`
 * without a value above lora_r): the key that names the adapter decides. */
#include "model/config.h"

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

static bool is_on(const struct sc__config *c, const char *key) {
    const char *value = named(c, key);
    return is_word(value, "true") || is_word(value, "yes") || is_word(value, "1") ||
           is_word(value, "auto");
}

static bool is_off(const struct sc__config *c, const char *key) {
    const char *value = named(c, key);
    return is_word(value, "false") || is_word(value, "no") || is_word(value, "0");
}

/* LLaMA-Factory's finetuning_type, Axolotl's adapter, TRL's use_peft; where none of them
 * stands, a rank is one of adapters, but in Axolotl. */
static bool trains_adapters(const struct sc__config *c, bool rank) {
    const char *tuning = named(c, "finetuning_type");
    if (tuning)
        return !strcmp(tuning, "lora");
    if (sc__config_value(c, "use_peft"))
        return is_on(c, "use_peft");
    if (sc__config_value(c, "adapter") || sc__config_value(c, "base_model"))
        return named(c, "adapter") != NULL;
    return rank;
}

sc_status sc__config_adapters(struct sc__launch *l,
                              const struct sc__config *c,
                              struct sc__flag_list *out) {
    const char *tuning = named(c, "finetuning_type");
    const char *adapter = named(c, "adapter");
    const char *key = named(c, "lora_r") ? "lora_r" : "lora_rank";
    const char *rank = named(c, key);
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
    if (!trains_adapters(c, rank)) {
        if (rank)
            sc__note(l->ctx,
                     "option-unused",
                     "%s: %s has no effect: no adapter is named, all weights are trained",
                     l->file,
                     key);
        return SC_OK;
    }
    sc__config_add(l, out, "lora", rank ? rank : "8"); /* what peft takes */
    if (is_word(adapter, "qlora") || is_on(c, "load_in_4bit") || is_word(four, "4"))
        sc__config_add(l, out, "qlora", "");
    return SC_OK;
}

void sc__config_precision(struct sc__launch *l,
                          const struct sc__config *c,
                          enum sc__config_kind kind,
                          struct sc__flag_list *out) {
    bool trainer = kind == SC__CONFIG_TRAINER;
    bool sections = trainer || kind == SC__CONFIG_DEEPSPEED || kind == SC__CONFIG_NEOX;
    bool on = (trainer && (is_on(c, "bf16") || is_on(c, "fp16"))) ||
              is_on(c, "bf16.enabled") || is_on(c, "fp16.enabled");
    bool off = (trainer && is_off(c, "bf16")) || is_off(c, "bf16.enabled");
    if (!sections || on || !off)
        return;
    sc__config_add(l, out, "dtype", trainer && is_on(c, "tf32") ? "tf32" : "fp32");
    sc__note(l->ctx,
             "precision-off",
             "%s: bf16 is off and fp16 is not on: it trains in fp32",
             l->file);
}
