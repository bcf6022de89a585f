/* config_maxtext: what keys of MaxText mean together. */
#include "model/config.h"

#include <string.h>

/* Gemma's layers see a window but for each second (2) or sixth (3). */
static void take_maxtext_window(struct sc__launch *l,
                                const struct sc__config *c,
                                struct sc__flag_list *out) {
    const char *block = sc__config_value(c, "decoder_block");
    uint32_t window = sc__config_number(c, "sliding_window_size", 0);
    bool third = block && !strcmp(block, "gemma3");
    if (!block || !window || (!third && strcmp(block, "gemma2") != 0))
        return;
    sc__config_add(l, out, "window-size", sc__format(&l->ctx->arena, "%u,0", window - 1));
    sc__config_add(l, out, "window-attn-skip-freq", third ? "6" : "2");
    if (third)
        sc__config_add(l, out, "qk-layernorm", NULL);
}

/* Its defaults are a Llama's; GPT-3's layers are as Megatron has them. */
static void take_maxtext_model(struct sc__launch *l,
                               const struct sc__config *c,
                               struct sc__flag_list *out) {
    const char *block = sc__config_value(c, "decoder_block");
    const char *tied = sc__config_value(c, "logits_via_embedding");
    const char *positions = sc__config_value(c, "trainable_position_size");
    if (!tied || !sc__config_true(tied))
        sc__config_add(l, out, "untie-embeddings-and-output-weights", NULL);
    if (block && !strcmp(block, "gpt3")) {
        sc__config_add(l, out, "max-position-embeddings", positions);
        return;
    }
    sc__config_add(l, out, "disable-bias-linear", NULL);
    sc__config_add(l, out, "normalization", "RMSNorm");
    sc__config_add(l, out, "position-embedding-type", "rope");
    if (sc__config_value(c, "mlp_activations.1"))
        sc__config_add(l, out, "swiglu", NULL);
    take_maxtext_window(l, c, out);
}

sc_status sc__config_maxtext(struct sc__launch *l,
                             const struct sc__config *c,
                             struct sc__flag_list *out) {
    const char *batch = sc__config_value(c, "per_device_batch_size");
    const char *name = sc__config_value(c, "model_name");
    uint32_t whole;
    double number;
    if (name && !sc__config_nothing(name))
        SC__TRY(sc__config_preset(l, name, out));
    else
        take_maxtext_model(l, c, out);
    if (batch && sc__parse_double(sc__str(batch), &number) && number >= 1) {
        whole = (uint32_t)number;
        sc__config_add(l, out, "micro-batch", sc__format(&l->ctx->arena, "%u", whole));
    } else if (batch && sc__parse_double(sc__str(batch), &number))
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: per_device_batch_size %s: several devices share a sequence; how is "
                 "not taken from the file (--global-batch, --tp, --cp)",
                 l->file,
                 batch);
    sc__config_add(l, out, "zero", "3");
    return SC_OK;
}
