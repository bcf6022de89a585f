/* config_nemo: what keys of NeMo and Megatron-Bridge mean together. NeMo 1's transformer
 * has fp8 where fp8 is true, in the format that one of two more keys names, and stops
 * without either (build_transformer_config of megatron_gpt_model.py). */
#include "launch/config.h"

#include <string.h>

/* A recipe of precision by its name (training/mixed_precision.py of Megatron-Bridge,
 * recipes/precision of NeMo): current scaling keeps the first and the last layer in bf16,
 * and all but blocks of subchannels gather parameters in fp8. */
static void take_recipe(struct sc__launch *l, const char *name, struct sc__flag_list *out) {
    static const char *const scales[][2] = {{"mxfp8", "mxfp8"},
                                            {"current_scaling", "tensorwise"},
                                            {"subchannel", "blockwise"}};
    if (strstr(name, "fp4")) {
        sc__config_add(l, out, "fp4", NULL);
        return;
    }
    if (!strstr(name, "fp8"))
        return;
    sc__config_add(l, out, "fp8", NULL);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if (strstr(name, scales[i][0]))
            sc__config_add(l, out, "fp8-recipe", scales[i][1]);
    if (strstr(name, "current_scaling")) {
        sc__config_add(l, out, "first-last-layers-bf16", NULL);
        sc__config_add(l, out, "num-layers-at-start-in-bf16", "1");
        sc__config_add(l, out, "num-layers-at-end-in-bf16", "1");
    }
    if (!strstr(name, "subchannel"))
        sc__config_add(l, out, "fp8-param-gather", NULL);
}

static void
take_recipes(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *first = NULL;
    for (uint32_t i = 0; i < c->count; i++) {
        const char *name = c->items[i].value;
        if (strcmp(c->items[i].last, "mixed_precision") != 0 ||
            !sc__str_ends(sc__str(name), "_mixed"))
            continue;
        if (first && strcmp(first, name) != 0 && !sc__launch_overridden(l, "fp8"))
            sc__note(l->ctx,
                     "config-precisions",
                     "%s:%u: it names %.60s and %.60s: the first is taken (--precision, "
                     "--fp8 say otherwise)",
                     l->file,
                     c->items[i].line,
                     first,
                     name);
        if (!first)
            take_recipe(l, name, out);
        first = first ? first : name;
    }
}

/* ---- adapters ---- */

/* peft_scheme of NeMo 1's model.peft and of NeMo 2's finetune_recipe, which has "lora"
 * where nothing is said (recipes/finetune_default.py), peft of Megatron-Bridge's; a section
 * peft with a rank is one of these. NULL: all weights are trained. */
static const char *peft_scheme(const struct sc__launch *l, const struct sc__config *c) {
    const char *scheme = sc__config_value(c, "peft_scheme");
    if (!scheme)
        scheme = sc__config_value(c, "peft");
    if (!scheme && (sc__config_value(c, "peft.dim") ||
                    sc__find_word(l->text.p, l->text.n, ".finetune_recipe(")))
        scheme = "lora";
    return scheme && !sc__config_nothing(scheme) && !sc__config_false(scheme) ? scheme
                                                                              : NULL;
}

/* NeMo 1 has adapters beside queries, keys and values unless it says where; the others
 * (peft/lora.py) beside all linear layers, of rank 32. */
static void
take_adapters(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *scheme = peft_scheme(l, c);
    const char *first = sc__config_value(c, "lora_tuning.adapter_dim");
    const char *rank = first ? first : sc__config_value(c, "dim");
    const char *targets = sc__config_lora_targets(l, c);
    if (!scheme)
        return;
    if (!sc__str_is_any_case(sc__str(scheme), "lora")) {
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: the scheme %.40s of fine-tuning is not modelled: all weights are "
                 "counted as trained",
                 l->file,
                 scheme);
        return;
    }
    if (!targets)
        targets =
            first ? "q_proj,k_proj,v_proj" : "linear_qkv,linear_proj,linear_fc1,linear_fc2";
    struct sc__config_lora lora = {rank ? rank : "32",
                                   targets,
                                   "lora_tuning.adapter_dropout"};
    sc__config_add_adapters(l, c, out, &lora);
}

/* NeMo 1's tokenizer of Hugging Face has an id of its repository as its type. */
static void take_tokenizer(struct sc__launch *l,
                           const struct sc__config *c,
                           struct sc__flag_list *out) {
    const char *library = sc__config_value(c, "tokenizer.library");
    const char *type = sc__config_value(c, "tokenizer.type");
    if (library && type && !strcmp(library, "huggingface") && strchr(type, '/'))
        sc__config_add(l, out, "tokenizer-model", type);
}

void sc__config_nemo(struct sc__launch *l,
                     const struct sc__config *c,
                     struct sc__flag_list *out) {
    const char *precision = sc__config_value(c, "precision");
    if (precision && !strcmp(precision, "fp8"))
        sc__config_add(l, out, "fp8", NULL);
    if (sc__config_on(c, "fp8"))
        sc__config_add(l,
                       out,
                       "fp8-format",
                       sc__config_on(c, "fp8_e4m3") ? "e4m3" : "hybrid");
    take_recipes(l, c, out);
    take_tokenizer(l, c, out);
    take_adapters(l, c, out);
}
