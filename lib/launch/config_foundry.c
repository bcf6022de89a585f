/* config_foundry: what keys of LLM Foundry's YAML mean together: models of its own (MPT),
 * with the defaults of MPTConfig, or those of Hugging Face, under Composer's FSDP. */
#include "launch/config.h"

#include <math.h>
#include <string.h>

/* A run of MosaicML's platform has the file for train.py under `parameters`, beside the
 * command and the GPUs. */
void sc__config_unwrap_run(struct sc__config *c) {
    static const char section[] = "parameters.";
    if (!sc__config_exact(c, "parameters.global_train_batch_size"))
        return;
    for (uint32_t i = 0; i < c->count; i++)
        if (sc__str_starts(sc__str(c->items[i].key), section))
            c->items[i].key += strlen(section);
}

static bool says(const struct sc__config *c, const char *key, const char *word) {
    const char *value = sc__config_value(c, key);
    return value && sc__str_is_any_case(sc__str(value), word);
}

/* Positions are learned unless alibi or rope are on (models/mpt/configuration_mpt.py). */
static void take_positions(struct sc__launch *l,
                           const struct sc__config *c,
                           struct sc__flag_list *out) {
    const char *length = sc__config_value(c, "model.max_seq_len");
    if (sc__config_on(c, "attn_config.alibi"))
        sc__config_add(l, out, "position-embedding-type", "alibi");
    else if (sc__config_on(c, "attn_config.rope"))
        sc__config_add(l, out, "position-embedding-type", "rope");
    else if (!sc__config_on_or(c, "model.learned_pos_emb", true))
        sc__config_add(l, out, "position-embedding-type", "none");
    else if (length)
        sc__config_add(l, out, "max-position-embeddings", length);
}

/* ffn_hidden_size, or a multiple of the width that is whole (resolve_ffn_hidden_size of
 * models/layers/ffn.py). */
static sc_status
take_ffn_size(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    double hidden = sc__config_number(c, "model.d_model", 2048);
    uint32_t said = sc__config_number(c, "ffn_config.ffn_hidden_size", 0);
    const char *factor = sc__config_value(c, "model.expansion_ratio");
    double ratio = 4;
    if (factor && !sc__config_nothing(factor) &&
        (!sc__parse_double(sc__str(factor), &ratio) || !(ratio > 0 && ratio < 1024)))
        ratio = 0;
    double size = said ? said : hidden * ratio;
    if (size < 1 || floor(size) < size)
        return sc__launch_fail(l,
                               0,
                               NULL,
                               "model.expansion_ratio %.40s: %.0f times it is no size of a "
                               "feed-forward",
                               factor,
                               hidden);
    sc__config_add(l, out, "ffn-hidden-size", sc__format(&l->ctx->arena, "%.0f", size));
    return SC_OK;
}

static sc_status
take_mpt(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *feed = sc__config_value(c, "ffn_config.ffn_type");
    bool gated = feed && !strcmp(feed, "mptglu");
    if (feed && !gated && strcmp(feed, "mptmlp") != 0)
        return sc__launch_fail(l,
                               0,
                               "mptmlp and mptglu can be forecast",
                               "ffn_config.ffn_type %.40s is not modelled",
                               feed);
    SC__TRY(take_ffn_size(l, c, out));
    if (gated)
        sc__config_add(l, out, "swiglu", NULL);
    if (sc__config_on(c, "model.no_bias"))
        sc__config_add(l, out, "disable-bias-linear", NULL);
    if (!sc__config_on_or(c, "model.tie_word_embeddings", true))
        sc__config_add(l, out, "untie-embeddings-and-output-weights", NULL);
    if (says(c, "attn_config.attn_type", "multiquery_attention"))
        sc__config_add(l, out, "num-query-groups", "1");
    if (!sc__config_value(c, "model.vocab_size"))
        sc__config_add(l, out, "vocab-size", "50368");
    take_positions(l, c, out);
    return SC_OK;
}

/* Composer's amp_… is autocast over weights in fp32 (composer/core/precision.py). */
void sc__config_copy_weights(struct sc__launch *l,
                             const struct sc__config *c,
                             struct sc__flag_list *out) {
    const char *precision = sc__config_exact(c, "precision");
    sc__config_add(l, out, "zero", "0");
    if (precision && sc__str_starts(sc__str(precision), "amp_"))
        sc__config_add(l, out, "update", "amp");
}

/* Strategies of FullyShardedDataParallel; Composer's default is FULL_SHARD. */
static void
take_fsdp(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    bool section = false;
    for (uint32_t i = 0; i < c->count; i++)
        section = section || sc__str_starts(sc__str(c->items[i].key), "fsdp_config.");
    if (!section || says(c, "fsdp_config.sharding_strategy", "NO_SHARD")) {
        sc__config_copy_weights(l, c, out);
        return;
    }
    sc__config_add(l, out, "use-torch-fsdp2", NULL);
    if (says(c, "fsdp_config.sharding_strategy", "SHARD_GRAD_OP"))
        sc__config_add(l, out, "reshard-after-forward", "no");
    if (says(c, "fsdp_config.sharding_strategy", "HYBRID_SHARD") ||
        sc__config_value(c, "fsdp_config.device_mesh.1"))
        sc__config_note_hybrid(l);
    if (sc__config_on(c, "fsdp_config.activation_checkpointing"))
        sc__config_add(l, out, "recompute", "full");
}

/* Composer's precision; checkpoints have one of their own in a section. */
static sc_status take_precision(struct sc__launch *l,
                                const struct sc__config *c,
                                struct sc__flag_list *out) {
    static const struct sc__flag types[] = {{"amp_bf16", "bf16"},
                                            {"amp_fp16", "fp16"},
                                            {"amp_fp8", "bf16"},
                                            {"fp32", "fp32"}};
    const char *precision = sc__config_exact(c, "precision");
    if (!precision || sc__config_nothing(precision))
        return SC_OK;
    if (!strcmp(precision, "amp_fp8"))
        sc__config_add(l, out, "fp8", NULL);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(precision, types[i].name)) {
            sc__config_add(l, out, "dtype", types[i].value);
            return SC_OK;
        }
    return sc__launch_fail(l,
                           0,
                           "amp_bf16, amp_fp16, amp_fp8 and fp32 are known",
                           "precision: unknown '%.40s'",
                           precision);
}

static void
take_adapters(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *rank = sc__config_value(c, "peft_config.r");
    if (!rank)
        return;
    struct sc__config_lora lora = {rank,
                                   sc__config_lora_targets(l, c),
                                   "peft_config.lora_dropout"};
    sc__config_add_adapters(l, c, out, &lora);
}

sc_status sc__config_foundry(struct sc__launch *l,
                             const struct sc__config *c,
                             struct sc__flag_list *out) {
    const char *optimizer = sc__config_value(c, "optimizer.name");
    const char *length = sc__config_exact(c, "max_seq_len");
    /* the loader's own (config_table.c) is this one in most files */
    if (length && !sc__config_value(c, "train_loader.dataset.max_seq_len"))
        sc__config_add(l, out, "seq", length);
    if (sc__config_value(c, "model.d_model"))
        SC__TRY(take_mpt(l, c, out));
    take_fsdp(l, c, out);
    SC__TRY(take_precision(l, c, out));
    take_adapters(l, c, out);
    if (optimizer && !strstr(optimizer, "adam"))
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: the optimizer %.40s is not modelled: Adam is counted",
                 l->file,
                 optimizer);
    return SC_OK;
}
