/* hf_gemma4: layers that see all keys have heads of their own size and number, and may
 * make their values of the keys; a dense feed-forward and experts are side by side.
 * What the keys mean is as in transformers' Gemma4TextConfig and Gemma4TextAttention. */
#include "model/hf_gemma4.h"

#include <string.h>

#define GEMMA4_LARGEST_HEAD (1u << 16)
#define GEMMA4_MEASURED_HEAD 256 /* the largest with constants of its own (data/gpus) */

struct hf_gemma4 {
    struct sc_context *ctx;
    const char *file;
    const json_t *root;
};

static sc_status gemma4_fail(const struct hf_gemma4 *r, const char *what) {
    struct sc__place at = {.file = r->file};
    return sc__fail(r->ctx, SC_INPUT, &at, NULL, "%s", what);
}

static const json_t *gemma4_value(const struct hf_gemma4 *r, const char *key) {
    const json_t *value = json_object_get(r->root, key);
    return json_is_null(value) ? NULL : value;
}

static sc_status gemma4_truth(const struct hf_gemma4 *r, const char *key, bool *out) {
    const json_t *value = gemma4_value(r, key);
    *out = json_is_true(value);
    if (value && !json_is_boolean(value))
        return gemma4_fail(r,
                           sc__format(&r->ctx->arena, "\"%s\" takes true or false", key));
    return SC_OK;
}

/* *out is left alone where the key is absent or null. */
static sc_status
gemma4_size(const struct hf_gemma4 *r, const char *key, uint32_t least, uint32_t *out) {
    const json_t *value = gemma4_value(r, key);
    json_int_t n = json_integer_value(value);
    if (!value)
        return SC_OK;
    if (!json_is_integer(value) || n < (json_int_t)least || n > GEMMA4_LARGEST_HEAD)
        return gemma4_fail(r,
                           sc__format(&r->ctx->arena,
                                      "\"%s\" must be a whole number from %u to %u",
                                      key,
                                      least,
                                      GEMMA4_LARGEST_HEAD));
    *out = (uint32_t)n;
    return SC_OK;
}

static sc_status
gemma4_not_modelled(const struct hf_gemma4 *r, const char *key, const char *what) {
    return gemma4_fail(
        r,
        sc__format(&r->ctx->arena, "%s (\"%s\"), which is not modelled", what, key));
}

static sc_status refuse_small_models(const struct hf_gemma4 *r) {
    static const struct {
        const char *key;
        const char *what;
    } counts[] = {
        {"hidden_size_per_layer_input", "every layer has an embedding of its own"},
        {"num_kv_shared_layers", "layers take keys and values of layers before them"},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint32_t n = 0;
        SC__TRY(gemma4_size(r, counts[i].key, 0, &n));
        if (n)
            return gemma4_not_modelled(r, counts[i].key, counts[i].what);
    }
    bool wide;
    SC__TRY(gemma4_truth(r, "use_double_wide_mlp", &wide));
    if (wide)
        return gemma4_not_modelled(r,
                                   "use_double_wide_mlp",
                                   "some layers have a feed-forward of twice the size");
    return SC_OK;
}

static sc_status refuse_other_attention(const struct hf_gemma4 *r) {
    const json_t *both_ways = gemma4_value(r, "use_bidirectional_attention");
    const char *word = json_string_value(both_ways);
    if (both_ways && (!word || strcmp(word, "vision") != 0))
        return gemma4_not_modelled(r,
                                   "use_bidirectional_attention",
                                   "text is seen in both directions");
    if (gemma4_value(r, "per_layer_config"))
        return gemma4_not_modelled(r, "per_layer_config", "sizes are given layer by layer");
    return SC_OK;
}

/* Without experts their sizes do not count; with them none is left to be guessed. */
static sc_status prepare_experts(const struct hf_gemma4 *r, json_t *root) {
    static const char *const keys[] = {"num_experts",
                                       "top_k_experts",
                                       "moe_intermediate_size"};
    bool experts;
    SC__TRY(gemma4_truth(r, "enable_moe_block", &experts));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        uint32_t n = 0;
        if (!experts) {
            json_object_del(root, keys[i]);
            continue;
        }
        SC__TRY(gemma4_size(r, keys[i], 1, &n));
        if (!n)
            return gemma4_fail(r,
                               sc__format(&r->ctx->arena,
                                          "\"%s\" is missing: with \"enable_moe_block\" "
                                          "layers have experts",
                                          keys[i]));
    }
    return SC_OK;
}

sc_status sc__hf_gemma4_prepare(struct sc_context *ctx,
                                const char *file,
                                const struct sc__hf_family *family,
                                json_t *root) {
    struct hf_gemma4 r = {.ctx = ctx, .file = file, .root = root};
    if (!(family->traits & SC__HF_GEMMA4))
        return SC_OK;
    SC__TRY(refuse_small_models(&r));
    SC__TRY(refuse_other_attention(&r));
    return prepare_experts(&r, root);
}

static bool is_full_layer(const json_t *types, uint32_t layer, uint32_t every) {
    const char *word = json_string_value(json_array_get(types, layer));
    return word ? !strcmp(word, "full_attention") : (layer + 1) % every == 0;
}

/* Heads go by the kind of layer: a list has to be "each n-th" to the letter, and the last
 * layer, which transformers makes see all keys whatever the list says, one of them. */
static sc_status check_full_layers(const struct hf_gemma4 *r, const struct sc__model *m) {
    const json_t *types = gemma4_value(r, "layer_types");
    uint32_t every = m->window_every;
    if (types && (!json_is_array(types) || json_array_size(types) != m->layers))
        return gemma4_fail(r, "\"layer_types\" does not have a word for each layer");
    bool regular = every && m->layers % every == 0;
    for (uint32_t i = 0; regular && i < m->layers; i++)
        regular = is_full_layer(types, i, every) == ((i + 1) % every == 0);
    if (!regular)
        return gemma4_fail(r,
                           "layers that see all keys are not each n-th and the last "
                           "(\"layer_types\"): not modelled");
    if (every > 1 && !m->window)
        return gemma4_fail(r, "\"sliding_window\" is missing or 0");
    return SC_OK;
}

static sc_status read_full_heads(const struct hf_gemma4 *r, struct sc__model *m) {
    uint32_t kv_heads = m->kv_heads;
    m->full_head_dim = m->head_dim;
    SC__TRY(gemma4_size(r, "global_head_dim", 1, &m->full_head_dim));
    SC__TRY(gemma4_size(r, "num_global_key_value_heads", 1, &kv_heads));
    SC__TRY(gemma4_truth(r, "attention_k_eq_v", &m->full_key_values));
    /* transformers looks at the number in layers without values of their own alone */
    m->full_kv_heads = m->full_key_values ? kv_heads : m->kv_heads;
    if (m->heads % kv_heads)
        return gemma4_fail(r,
                           sc__format(&r->ctx->arena,
                                      "%u attention heads cannot share %u key-value heads "
                                      "(\"num_global_key_value_heads\")",
                                      m->heads,
                                      kv_heads));
    if (m->full_kv_heads != kv_heads)
        sc__note(r->ctx,
                 "model-key-ignored",
                 "%s: \"num_global_key_value_heads\" counts with \"attention_k_eq_v\" "
                 "alone and was ignored",
                 r->file);
    if (m->full_head_dim > GEMMA4_MEASURED_HEAD)
        sc__note(r->ctx,
                 "large-heads",
                 "%s: attention with heads of %u was not measured: it is timed as heads "
                 "of %u, by its FLOPs",
                 r->file,
                 m->full_head_dim,
                 GEMMA4_MEASURED_HEAD);
    return SC_OK;
}

sc_status sc__hf_gemma4_read(struct sc_context *ctx,
                             const char *file,
                             const struct sc__hf_family *family,
                             const json_t *root,
                             struct sc__model *m) {
    struct hf_gemma4 r = {.ctx = ctx, .file = file, .root = root};
    if (!(family->traits & SC__HF_GEMMA4))
        return SC_OK;
    SC__TRY(check_full_layers(&r, m));
    SC__TRY(read_full_heads(&r, m));
    m->v_norm = true;
    if (!m->experts)
        return SC_OK;
    m->shared_ffn = m->ffn; /* every token passes it, without a gate */
    m->branch_norms = true;
    return SC_OK;
}

bool sc__hf_gemma4_key(const struct sc__hf_family *family, const char *key) {
    static const char *const keys[] = {"attention_k_eq_v",
                                       "enable_moe_block",
                                       "global_head_dim",
                                       "hidden_size_per_layer_input",
                                       "num_global_key_value_heads",
                                       "num_kv_shared_layers",
                                       "per_layer_config",
                                       "use_bidirectional_attention",
                                       "use_double_wide_mlp",
                                       "vocab_size_per_layer_input"};
    if (!(family->traits & SC__HF_GEMMA4))
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(key, keys[i]))
            return true;
    return false;
}
