/* hf_config: Hugging Face config.json → struct sc__model.
 *
 * A family (model_type, hf_family.h) says what the keys leave open. Keys have aliases
 * ("n_embd" is "hidden_size"). Keys that decide nothing about a step are let pass, keys we
 * do not know are named in a note, keys that change the architecture in a way we do not
 * model are errors. */
#include "model/hf_checks.h"
#include "model/hf_expert_layers.h"
#include "model/hf_family.h"
#include "model/hf_forms.h"
#include "model/hf_gemma4.h"
#include "model/hf_hybrid.h"
#include "model/hf_keys.h"
#include "model/hf_towers.h"
#include "model/hf_windows.h"
#include "model/python_json.h"
#include "model/read.h"

#include <jansson.h>
#include <string.h>

/* Aliases of a key, the first one present counts. */
static const char *const hidden_keys[] = {
    "hidden_size", "n_embd", "n_embed", "d_model", NULL};
static const char *const layer_keys[] = {
    "num_hidden_layers", "n_layer", "n_layers", "num_layers", NULL};
static const char *const head_keys[] = {
    "num_attention_heads", "n_head", "n_heads", "num_heads", NULL};
static const char *const kv_keys[] = {
    "num_key_value_heads", "num_kv_heads", "n_head_kv", NULL};
static const char *const group_keys[] = {"multi_query_group_num", NULL};
static const char *const dim_keys[] = {
    "head_dim", "attention_head_dim", "kv_channels", NULL};
static const char *const ffn_keys[] = {
    "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", NULL};
/* Of the dense layers, where "intermediate_size" is an expert's (Llama 4). */
static const char *const dense_ffn_keys[] = {"intermediate_size_mlp", NULL};
static const char *const vocab_keys[] = {"vocab_size", "padded_vocab_size", NULL};
static const char *const position_keys[] = {"max_position_embeddings",
                                            "n_positions",
                                            "n_ctx",
                                            "max_seq_len",
                                            "seq_length",
                                            "model_max_length",
                                            NULL};
static const char *const expert_keys[] = {
    "num_local_experts", "num_experts", "n_routed_experts", NULL};
static const char *const topk_keys[] = {
    "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk", NULL};
static const char *const expert_ffn_keys[] = {
    "moe_intermediate_size", "expert_intermediate_size", NULL};
static const char *const shared_ffn_keys[] = {"shared_expert_intermediate_size",
                                              "moe_shared_expert_intermediate_size",
                                              "shared_intermediate_size",
                                              NULL};
static const char *const latent_keys[] = {"moe_latent_size", NULL};
static const char *const shared_count_keys[] = {
    "n_shared_experts", "num_shared_experts", NULL};
static const char *const first_dense_keys[] = {"first_k_dense_replace", NULL};
static const char *const every_keys[] = {
    "decoder_sparse_step", "moe_layer_freq", "interleave_moe_layer_step", NULL};
static const char *const q_lora_keys[] = {"q_lora_rank", NULL};
static const char *const kv_lora_keys[] = {"kv_lora_rank", NULL};
static const char *const nope_keys[] = {"qk_nope_head_dim", NULL};
static const char *const rope_keys[] = {"qk_rope_head_dim", NULL};
static const char *const index_heads_keys[] = {"index_n_heads", NULL};
static const char *const index_dim_keys[] = {"index_head_dim", NULL};
static const char *const index_topk_keys[] = {"index_topk", NULL};
static const char *const v_keys[] = {"v_head_dim", NULL};
static const char *const window_keys[] = {
    "sliding_window", "sliding_window_size", "window_size", NULL};
static const char *const pattern_keys[] = {SC__HF_WINDOW_PATTERN, NULL};
static const char *const mtp_keys[] = {"num_nextn_predict_layers",
                                       "num_mtp_modules",
                                       "mtp_num_hidden_layers",
                                       "num_mtp_layers",
                                       NULL};

static const char *const *const number_keys[] = {
    hidden_keys,     layer_keys,       head_keys,      kv_keys,           dim_keys,
    ffn_keys,        vocab_keys,       position_keys,  expert_keys,       topk_keys,
    expert_ffn_keys, shared_ffn_keys,  latent_keys,    shared_count_keys, first_dense_keys,
    every_keys,      q_lora_keys,      kv_lora_keys,   nope_keys,         rope_keys,
    v_keys,          mtp_keys,         window_keys,    pattern_keys,      group_keys,
    dense_ffn_keys,  index_heads_keys, index_dim_keys, index_topk_keys,   NULL};

struct model_hf_config_reading {
    struct sc_context *ctx;
    const char *file;
    json_t *root;
    bool is_part; /* root is the language model of a model of several parts */
};

static struct sc__place model_hf_config_whole(const struct model_hf_config_reading *r) {
    return (struct sc__place){.file = r->file};
}

static json_t *
find(const struct model_hf_config_reading *r, const char *const *keys, const char **key) {
    for (; *keys; keys++) {
        json_t *v = json_object_get(r->root, *keys);
        if (v && !json_is_null(v)) {
            *key = *keys;
            return v;
        }
    }
    return NULL;
}

/* *out is left alone when the key is absent. */
static sc_status number(const struct model_hf_config_reading *r,
                        const char *const *keys,
                        uint32_t most,
                        uint32_t *out) {
    const char *key;
    json_t *v = find(r, keys, &key);
    struct sc__place at = model_hf_config_whole(r);
    if (!v)
        return SC_OK;
    json_int_t n = json_integer_value(v);
    if (!json_is_integer(v) || n < 0 || n > (json_int_t)most)
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "\"%s\" must be a whole number from 0 to %u",
                        key,
                        most);
    *out = (uint32_t)n;
    return SC_OK;
}

static sc_status need(const struct model_hf_config_reading *r,
                      const char *const *keys,
                      uint32_t most,
                      uint32_t *out) {
    struct sc__place at = model_hf_config_whole(r);
    SC__TRY(number(r, keys, most, out));
    if (!*out)
        return sc__fail(r->ctx, SC_INPUT, &at, NULL, "\"%s\" is missing or 0", keys[0]);
    return SC_OK;
}

static bool
truth(const struct model_hf_config_reading *r, const char *key, bool otherwise) {
    json_t *v = json_object_get(r->root, key);
    return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

static const char *text_of(const struct model_hf_config_reading *r, const char *key) {
    const char *s = json_string_value(json_object_get(r->root, key));
    return s ? sc__strdup(&r->ctx->arena, s) : NULL;
}

static const char *first_class(const json_t *root) {
    const json_t *classes = json_object_get(root, "architectures");
    return json_string_value(json_array_get(classes, 0));
}

/* Why the keys do not allow to take an unknown type for a Llama, or NULL. */
static const char *unlike_llama(const struct model_hf_config_reading *r) {
    static const char *const *const wanted[] =
        {layer_keys, hidden_keys, head_keys, ffn_keys, vocab_keys, NULL};
    const char *key;
    for (const char *const *const *keys = wanted; *keys; keys++)
        if (!find(r, *keys, &key))
            return sc__format(&r->ctx->arena, "\"%s\" is missing", **keys);
    const char *activation = json_string_value(json_object_get(r->root, "hidden_act"));
    if (!activation)
        return "\"hidden_act\" is missing";
    if (strcmp(activation, "silu"))
        return "\"hidden_act\" is not \"silu\"";
    if (truth(r, "is_encoder_decoder", false) || truth(r, "add_cross_attention", false))
        return "it has an encoder";
    const char *class = first_class(r->root);
    if (class && !strstr(class, "CausalLM") && !strstr(class, "ConditionalGeneration"))
        return "\"architectures\" names no causal language model";
    return NULL;
}

static void note_like_llama(const struct model_hf_config_reading *r, const char *type) {
    const char *key;
    sc__note(
        r->ctx,
        "model-like-llama",
        "%s: the model_type \"%.60s\" is not known and was read as a Llama: two RMS "
        "norms a layer and one at the end, a gated feed-forward (three matrices), "
        "rotary positions, biases and norms of queries and keys only where a key asks "
        "for them%s%s%s; check the count of parameters",
        r->file,
        type,
        find(r, expert_keys, &key) ? ", gated experts and a router without a bias" : "",
        find(r, kv_keys, &key) ? "" : ", a key-value head for each head",
        json_object_get(r->root, "tie_word_embeddings") ? ""
        : r->is_part                                    ? ", an output embedding of its own"
                     : ", one matrix for both embeddings (tie_word_embeddings is left out "
                       "where it is true, as transformers saves it)");
}

/* Heads that score or embed a text have no row for each word of the vocabulary. */
static void note_other_head(const struct model_hf_config_reading *r, const char *class) {
    if (r->is_part || !sc__hf_class_without_head(class))
        return;
    sc__note(r->ctx,
             "model-head",
             "%s: \"architectures\" names %.60s, which has no output embedding: it is read "
             "as the causal language model of its type, with one and its loss",
             r->file,
             class);
}

/* Transformers goes by the type; who wrote the class may have meant another model. */
static void note_other_class(const struct model_hf_config_reading *r,
                             const struct sc__hf_family *family) {
    const char *class = first_class(r->root);
    const struct sc__hf_family *other = class ? sc__hf_family_of_class(class) : NULL;
    if (class)
        note_other_head(r, class);
    const char *code = json_string_value(
        json_object_get(json_object_get(r->root, "auto_map"), "AutoModelForCausalLM"));
    if (code && !sc__hf_family_has_code(code))
        sc__note(r->ctx,
                 "model-code",
                 "%s: its layers are made by code of its own (%.80s), which is not read: "
                 "they are taken to be those of model_type \"%s\"",
                 r->file,
                 code,
                 family->type);
    if (other && other->traits != family->traits)
        sc__note(r->ctx,
                 "model-class",
                 "%s: \"architectures\" names %.60s, which is no model of model_type "
                 "\"%s\": it was read as the type says",
                 r->file,
                 class,
                 family->type);
}

static sc_status find_family(const struct model_hf_config_reading *r,
                             const struct sc__hf_family **out) {
    const char *type = json_string_value(json_object_get(r->root, "model_type"));
    struct sc__place at = model_hf_config_whole(r);
    if (!type)
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        sc__hf_family_list(r->ctx),
                        "\"model_type\" is missing");
    *out = sc__hf_family_find(type);
    if (*out) {
        note_other_class(r, *out);
        return SC_OK;
    }
    const char *refused = sc__hf_family_refused(type);
    if (refused)
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        "a trace or a layer workload of the model can be run instead",
                        "a model of model_type \"%.60s\" has %s, which is not modelled",
                        type,
                        refused);
    const char *unlike = unlike_llama(r);
    if (unlike)
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        sc__hf_family_list(r->ctx),
                        "unknown model_type \"%.60s\", which cannot be read as a Llama: %s",
                        type,
                        unlike);
    note_like_llama(r, type);
    *out = sc__hf_family_like_llama();
    return SC_OK;
}

static bool in_list(const char *key, const char *const *list) {
    for (; *list; list++)
        if (!strcmp(key, *list))
            return true;
    return false;
}

/* Whether the key, or another that says the same, is there. */
static bool says(const struct model_hf_config_reading *r, const char *key) {
    const char *other;
    bool found = json_object_get(r->root, key);
    for (const char *const *const *group = number_keys; *group; group++)
        found |= in_list(key, *group) && find(r, *group, &other);
    return found;
}

/* Which layers have experts is said layer by layer. */
static bool lists_experts(const struct model_hf_config_reading *r) {
    static const char *const lists[] = {"mlp_layer_types",
                                        "is_moe_layer",
                                        "moe_layer_freq",
                                        NULL};
    for (const char *const *key = lists; *key; key++)
        if (json_is_array(json_object_get(r->root, *key)))
            return true;
    return false;
}

/* A class whose default does not fit what the configuration says fails in transformers:
 * then each head has keys and values of its own. */
static bool default_fits(const struct model_hf_config_reading *r,
                         const struct sc__hf_default *d) {
    const char *key;
    if (!strcmp(d->key, kv_keys[0]))
        return json_integer_value(find(r, head_keys, &key)) % d->value == 0;
    if (!strcmp(d->key, first_dense_keys[0]))
        return !lists_experts(r);
    return true;
}

/* Puts in what the type's own defaults are. */
static void fill_defaults(const struct model_hf_config_reading *r,
                          const struct sc__hf_family *f) {
    for (const struct sc__hf_default *d = sc__hf_defaults; d->type; d++) {
        if (strcmp(d->type, f->type) || says(r, d->key) || (d->in_part && !r->is_part) ||
            !default_fits(r, d))
            continue;
        json_object_set_new(r->root, d->key, json_integer(d->value));
        sc__note(r->ctx,
                 "model-default",
                 "%s: no %s: %u, the default of %s, is taken",
                 r->file,
                 d->key,
                 d->value,
                 f->type);
    }
}

static sc_status read_kv_heads(const struct model_hf_config_reading *r,
                               unsigned traits,
                               struct sc__model *m) {
    bool one = truth(r, "multi_query", traits & SC__HF_MULTI_QUERY) &&
               !truth(r, "new_decoder_architecture", false);
    m->kv_heads = one ? 1 : m->heads;
    if (one) /* whatever a count beside it says (Falcon's) */
        return SC_OK;
    if (truth(r, "multi_query_attention", false)) {
        m->kv_heads = 0;
        SC__TRY(need(r, group_keys, 1u << 16, &m->kv_heads));
    }
    return number(r, kv_keys, 1u << 16, &m->kv_heads);
}

static sc_status read_feed_forward(const struct model_hf_config_reading *r,
                                   unsigned traits,
                                   struct sc__model *m) {
    static const char *const ratio_keys[] = {"expansion_ratio", NULL};
    const char *key;
    uint32_t ratio = 4;
    SC__TRY(number(r, ratio_keys, 64, &ratio));
    m->ffn = ratio * m->hidden;
    SC__TRY(number(r, ffn_keys, 1u << 24, &m->ffn));
    if (!find(r, ffn_keys, &key) && !(traits & SC__HF_FOUR_TIMES))
        sc__note(r->ctx,
                 "ffn-assumed",
                 "%s: no intermediate_size: 4 times the hidden size, %u, is assumed",
                 r->file,
                 m->ffn);
    return SC_OK;
}

static void read_biases_and_norms(const struct model_hf_config_reading *r,
                                  unsigned traits,
                                  struct sc__model *m) {
    unsigned details = sc__hf_family_details(m->family);
    if (details & SC__HF_INPUT_BIASES)
        m->qkv_bias = truth(r, "attention_bias", m->qkv_bias);
    else if (!(details & SC__HF_FIXED_BIASES) && truth(r, "attention_bias", false))
        m->qkv_bias = m->out_bias = true;
    bool bias = truth(r, "bias", false);
    if (bias && details & SC__HF_BIAS_OF_ATTENTION)
        m->qkv_bias = m->out_bias = true;
    else if (bias || !truth(r, "no_bias", true))
        m->linear_bias = m->norm_bias = true;
    if (m->linear_bias && !truth(r, "attention_bias", true)) { /* GPT-NeoX */
        m->linear_bias = false;
        m->mlp_bias = true;
    }
    m->mlp_bias = truth(r, "mlp_bias", m->mlp_bias);
    m->head_bias = truth(r, "lm_head_bias", m->head_bias);
    if (truth(r, "add_bias_linear", false))
        m->linear_bias = true;
    m->linear_bias = truth(r, "enable_bias", m->linear_bias);
    if (!(traits & SC__HF_LETTERS)) /* where it is that of Mamba's projections */
        m->linear_bias = truth(r, "use_bias", m->linear_bias);
    m->out_bias = truth(r, "attention_out_bias", m->out_bias);
    m->qkv_bias = truth(r, "use_qkv_bias", m->qkv_bias);
    m->qkv_bias = truth(r, "add_qkv_bias", m->qkv_bias);
    m->qkv_bias = truth(r, "qkv_bias", m->qkv_bias);
    m->bare_norms = !truth(r, "layer_norm_elementwise_affine", !m->bare_norms);
    if (!truth(r, "rmsnorm", true)) {
        m->norm = SC__LAYERNORM;
        m->norm_bias = true;
    }
    m->post_norms = truth(r, "use_post_norm", m->post_norms);
    m->qk_norm = truth(r, "qk_layernorm", m->qk_norm);
    if (!(traits & SC__HF_LLAMA4)) /* which normalises without weights */
        m->qk_norm = truth(r, "use_qk_norm", truth(r, "qk_norm", m->qk_norm));
    /* Falcon: the old architecture, and where a key says so the new one */
    json_t *norms = json_object_get(r->root, "num_ln_in_parallel_attn");
    if (truth(r, "parallel_attn", details & SC__HF_SIDE_BY_SIDE) &&
        (!truth(r, "new_decoder_architecture", false) || json_integer_value(norms) == 1))
        m->one_norm = true;
    if (traits & SC__HF_PARALLEL && truth(r, "use_parallel_residual", false))
        m->one_norm = true;
}

static sc_status
read_dense(const struct model_hf_config_reading *r, unsigned traits, struct sc__model *m) {
    SC__TRY(need(r, layer_keys, SC__MOST_LAYERS, &m->layers));
    SC__TRY(need(r, hidden_keys, 1u << 20, &m->hidden));
    SC__TRY(need(r, head_keys, 1u << 16, &m->heads));
    SC__TRY(need(r, vocab_keys, 1u << 28, &m->vocab));
    SC__TRY(read_kv_heads(r, traits, m));
    m->head_dim = m->hidden / m->heads;
    SC__TRY(number(r, dim_keys, 1u << 16, &m->head_dim));
    SC__TRY(read_feed_forward(r, traits, m));
    SC__TRY(number(r, position_keys, UINT32_MAX, &m->context));
    if (traits & SC__HF_LEARNED && truth(r, "learned_pos_emb", true))
        m->positions = m->context;
    const char *positions =
        json_string_value(json_object_get(r->root, "position_embedding_type"));
    if (truth(r, "alibi", false) || (positions && !strcmp(positions, "nope")))
        m->no_rotary = true;
    if (r->is_part && !strcmp(m->family, sc__hf_family_like_llama()->type))
        m->tied = false; /* a part is saved without what is as in its class */
    m->tied = truth(r, "tie_word_embeddings", m->tied);
    const char *activation =
        json_string_value(json_object_get(r->root, "activation_function"));
    if (activation)
        m->new_gelu = !strcmp(activation, "gelu_new");
    m->relu = activation ? !strcmp(activation, "relu") : !strcmp(m->family, "opt");
    m->capped = json_is_number(json_object_get(r->root, "final_logit_softcapping"));
    read_biases_and_norms(r, traits, m);
    return SC_OK;
}

/* Experts and the shared one have "intermediate_size", dense layers their own. */
static sc_status read_llama4(const struct model_hf_config_reading *r, struct sc__model *m) {
    m->shared_ffn = m->expert_ffn;
    if (sc__model_moe_layers(m) < m->layers) {
        m->ffn = 0;
        SC__TRY(need(r, dense_ffn_keys, 1u << 24, &m->ffn));
    }
    const json_t *chunk = json_object_get(r->root, "attention_chunk_size");
    if (json_is_integer(chunk))
        sc__note(r->ctx,
                 "chunked-attention",
                 "%s: attention in chunks of %lld tokens is counted as attention to all "
                 "keys: longer sequences take less time than forecast",
                 r->file,
                 (long long)json_integer_value(chunk));
    return SC_OK;
}

static sc_status no_experts(const struct model_hf_config_reading *r,
                            const struct sc__hf_family *f) {
    struct sc__place at = model_hf_config_whole(r);
    if (!f->experts_key)
        return SC_OK;
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &at,
                    "give the key, or the model_type of a model without experts",
                    "\"%s\" is missing or 0: a model of model_type \"%s\" has experts",
                    f->experts_key,
                    f->type);
}

static sc_status model_hf_config_read_experts(const struct model_hf_config_reading *r,
                                              const struct sc__hf_family *f,
                                              struct sc__model *m) {
    uint32_t shared = 0;
    m->moe_every = 1;
    SC__TRY(number(r, expert_keys, 1u << 16, &m->experts));
    if (!m->experts)
        return no_experts(r, f);
    SC__TRY(need(r, topk_keys, m->experts, &m->topk));
    m->expert_ffn = m->ffn;
    SC__TRY(number(r, expert_ffn_keys, 1u << 24, &m->expert_ffn));
    SC__TRY(number(r, shared_count_keys, 1u << 10, &shared));
    m->shared_ffn = shared * m->expert_ffn;
    SC__TRY(number(r, shared_ffn_keys, 1u << 24, &m->shared_ffn));
    SC__TRY(number(r, latent_keys, 1u << 24, &m->moe_latent));
    SC__TRY(number(r, first_dense_keys, m->layers, &m->first_dense));
    if (!json_is_array(json_object_get(r->root, "moe_layer_freq")))
        SC__TRY(number(r, every_keys, m->layers, &m->moe_every));
    if (!m->moe_every)
        m->moe_every = 1;
    SC__TRY(sc__hf_expert_layers_read(r->ctx, r->file, r->root, m));
    if (f->traits & SC__HF_LLAMA4)
        SC__TRY(read_llama4(r, m));
    if (f->traits & SC__HF_DENSE_BESIDE) {
        m->shared_ffn = m->hidden;
        m->shared_norm = true;
    }
    m->router_bias = truth(r, "moe_router_enable_expert_bias", m->router_bias);
    return SC_OK;
}

/* Sparse attention: an indexer picks the keys of a query, which then are as many as a
 * window has. */
static sc_status read_indexer(const struct model_hf_config_reading *r,
                              struct sc__model *m) {
    struct sc__place at = model_hf_config_whole(r);
    SC__TRY(number(r, index_heads_keys, 1u << 16, &m->index_heads));
    if (!m->index_heads)
        return SC_OK;
    if (!m->q_lora)
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "an indexer (\"index_n_heads\") needs a \"q_lora_rank\"");
    SC__TRY(need(r, index_dim_keys, 1u << 16, &m->index_dim));
    SC__TRY(need(r, index_topk_keys, UINT32_MAX, &m->window));
    sc__note(r->ctx,
             "sparse-attention",
             "%s: attention to the %u keys an indexer picks is timed as attention to a "
             "window of as many: what picking them one by one costs was not measured",
             r->file,
             m->window);
    return SC_OK;
}

/* Layers whose queries see a window of keys. */
static sc_status
read_window(const struct model_hf_config_reading *r, unsigned traits, struct sc__model *m) {
    bool unasked = sc__hf_family_details(m->family) & SC__HF_WINDOW_IF_ASKED;
    SC__TRY(number(r, window_keys, UINT32_MAX, &m->window));
    if (m->window && unasked && !says(r, "use_sliding_window"))
        sc__note(r->ctx,
                 "window-unasked",
                 "%s: a window (\"sliding_window\") counts with \"use_sliding_window\" "
                 "alone, which is not there: every layer sees all keys",
                 r->file);
    if (!truth(r, "use_sliding_window", !unasked))
        m->window = 0;
    bool listed = json_is_array(json_object_get(r->root, "layer_types"));
    bool none = sc__hf_family_details(m->family) & SC__HF_NO_WINDOWS;
    if (m->window && none && !listed) {
        sc__note(r->ctx,
                 "window-unasked",
                 "%s: models of model_type \"%s\" have no windows: \"sliding_window\" does "
                 "not count, every layer sees all keys",
                 r->file,
                 m->family);
        m->window = 0;
    }
    SC__TRY(sc__hf_windows_read(r->ctx, r->file, r->root, traits, m));
    if (json_is_string(json_object_get(r->root, SC__HF_WINDOW_PATTERN)))
        return SC_OK;
    return number(r, pattern_keys, SC__MOST_LAYERS, &m->window_every);
}

/* Heads of values of another size than those of keys, without latents. */
static sc_status read_plain_values(const struct model_hf_config_reading *r,
                                   const struct sc__model *m) {
    struct sc__place at = model_hf_config_whole(r);
    uint32_t values = 0;
    SC__TRY(number(r, v_keys, 1u << 16, &values));
    if (!values || values == m->head_dim)
        return SC_OK;
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &at,
                    NULL,
                    "heads of values are %u wide, those of keys %u (\"v_head_dim\"), which "
                    "is modelled with a \"kv_lora_rank\" alone",
                    values,
                    m->head_dim);
}

static sc_status read_latent(const struct model_hf_config_reading *r, struct sc__model *m) {
    SC__TRY(number(r, kv_lora_keys, 1u << 20, &m->kv_lora));
    SC__TRY(number(r, mtp_keys, 64, &m->mtp_layers));
    if (!truth(r, "use_mtp", true))
        m->mtp_layers = 0;
    if (!m->kv_lora)
        return read_plain_values(r, m);
    SC__TRY(number(r, q_lora_keys, 1u << 20, &m->q_lora));
    SC__TRY(need(r, nope_keys, 1u << 16, &m->nope_dim));
    SC__TRY(need(r, rope_keys, 1u << 16, &m->rope_dim));
    m->v_dim = strcmp(m->family, "minicpm3") ? 0 : m->hidden / m->heads;
    SC__TRY(need(r, v_keys, 1u << 16, &m->v_dim));
    m->head_dim = m->nope_dim + m->rope_dim;
    return SC_OK;
}

static bool known_key(const char *key) {
    for (const char *const *const *keys = number_keys; *keys; keys++)
        if (in_list(key, *keys))
            return true;
    return sc__hf_key_is_quiet(key);
}

/* A key we know in one value alone. */
static sc_status
check_only_value(const struct model_hf_config_reading *r, const char *key, uint32_t only) {
    struct sc__place at = model_hf_config_whole(r);
    const json_t *value = json_object_get(r->root, key);
    if (!value || json_is_null(value) ||
        (json_is_integer(value) && json_integer_value(value) == (json_int_t)only))
        return SC_OK;
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &at,
                    NULL,
                    "\"%s\" other than %u is not modelled",
                    key,
                    only);
}

static sc_status check_keys(const struct model_hf_config_reading *r,
                            const struct sc__hf_family *f,
                            const struct sc__model *m) {
    struct sc__place at = model_hf_config_whole(r);
    const char *key;
    json_t *value;
    SC__TRY(check_only_value(r, "word_embed_proj_dim", m->hidden));
    SC__TRY(check_only_value(r, "mtp_transformer_layers", 1));
    json_object_foreach(r->root, key, value) {
        if (known_key(key) || sc__hf_hybrid_key(f, key) || sc__hf_gemma4_key(f, key) ||
            sc__hf_key_is_unused(f->type, key))
            continue;
        if (sc__hf_key_shapes_model(key, value))
            return sc__fail(
                r->ctx,
                SC_INPUT,
                &at,
                "a misspelt key, or a kind of layer that is not modelled; without "
                "the key the model is read as if it were not there",
                "the key \"%.60s\" shapes the model and is not known",
                key);
        sc__note(r->ctx,
                 "model-key-ignored",
                 "%s: the key \"%.60s\" is not known and was ignored",
                 r->file,
                 key);
    }
    return SC_OK;
}

static sc_status model_hf_config_check(const struct model_hf_config_reading *r,
                                       const struct sc__model *m) {
    struct sc__place at = model_hf_config_whole(r);
    if (!m->kv_heads || m->heads % m->kv_heads)
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "%u attention heads cannot share %u key-value heads",
                        m->heads,
                        m->kv_heads);
    if (!m->head_dim || !m->ffn)
        return sc__fail(r->ctx, SC_INPUT, &at, NULL, "the head or feed-forward size is 0");
    return SC_OK;
}

/* Of the parts of Qwen's models for every kind of input the one that answers in text: what
 * speaks is trained apart. */
static json_t *enter_thinker(struct sc_context *ctx, const char *file, json_t *whole) {
    json_t *thinker = json_object_get(whole, "thinker_config");
    if (!json_is_object(thinker))
        return whole;
    sc__note(ctx,
             "language-model",
             "%s: the part that thinks (\"thinker_config\") is read, not those that speak",
             file);
    return thinker;
}

/* A part without a type of its own may name its class (DeepSeek-OCR). */
static void name_type_by_class(json_t *part) {
    const char *class = first_class(part);
    const struct sc__hf_family *family = class ? sc__hf_family_of_class(class) : NULL;
    if (family && !json_object_get(part, "model_type"))
        json_object_set_new(part, "model_type", json_string(family->type));
}

/* The language model of a multimodal one has an object of its own. What the
 * object leaves out and the whole says is the whole's. */
static void enter_language_model(struct model_hf_config_reading *r) {
    static const char *const parts[] = {"text_config",
                                        "llm_config",
                                        "language_config",
                                        NULL};
    static const char *const inherited[] =
        {"model_type", "tie_word_embeddings", "_name", "_source", "_parameters", NULL};
    static const char of_towers[] =
        "towers take part in a step where a sequence has pictures or sound (--images, "
        "--audio-seconds)";
    const char *part;
    json_t *language = find(r, parts, &part);
    bool towers = json_is_object(json_object_get(r->root, "vision_config")) ||
                  json_is_object(json_object_get(r->root, "audio_config"));
    if (json_is_object(language)) {
        name_type_by_class(language);
        for (const char *const *key = inherited; *key; key++) {
            json_t *value = json_object_get(r->root, *key);
            if (value && !json_object_get(language, *key))
                json_object_set(language, *key, value);
        }
        r->root = language;
        r->is_part = true;
        sc__note(r->ctx,
                 "language-model",
                 "%s: the language model (\"%s\") is read; %s",
                 r->file,
                 part,
                 of_towers);
    } else if (towers)
        sc__note(r->ctx,
                 "language-model",
                 "%s: the language model is read; %s",
                 r->file,
                 of_towers);
}

static sc_status read_model(const struct model_hf_config_reading *r, struct sc__model *m) {
    const struct sc__hf_family *f = NULL;
    SC__TRY(sc__hf_check_truths(r->ctx, r->file, r->root));
    SC__TRY(find_family(r, &f));
    SC__TRY(sc__hf_check_switches(r->ctx, r->file, r->root, f));
    fill_defaults(r, f);
    sc__hf_hybrid_prepare(r->ctx, f, r->root);
    SC__TRY(sc__hf_gemma4_prepare(r->ctx, r->file, f, r->root));
    SC__TRY(sc__hf_forms_apply(r->ctx, r->file, f->type, r->root));
    *m = (struct sc__model){.family = f->type};
    sc__hf_apply_traits(f, m);
    m->name = text_of(r, "_name");
    if (!m->name)
        m->name = r->file;
    m->source = text_of(r, "_source");
    m->published = json_number_value(json_object_get(r->root, "_parameters"));
    SC__TRY(read_dense(r, f->traits, m));
    SC__TRY(model_hf_config_read_experts(r, f, m));
    SC__TRY(read_latent(r, m));
    SC__TRY(read_window(r, f->traits, m));
    SC__TRY(read_indexer(r, m));
    SC__TRY(sc__hf_hybrid_read(r->ctx, r->file, r->root, f, m));
    SC__TRY(check_keys(r, f, m));
    SC__TRY(model_hf_config_check(r, m));
    return sc__hf_gemma4_read(r->ctx, r->file, f, r->root, m);
}

sc_status sc__model_parse(struct sc_context *ctx,
                          const char *file,
                          struct sc__str text,
                          struct sc__model *out) {
    json_error_t error;
    struct model_hf_config_reading r = {.ctx = ctx, .file = file};
    text = sc__python_json(&ctx->arena, text);
    json_t *whole = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &error);
    if (!whole) {
        struct sc__place at = {.file = file,
                               .line = (uint64_t)error.line,
                               .column = (uint64_t)error.column};
        return sc__fail(ctx, SC_INPUT, &at, NULL, "not JSON: %s", error.text);
    }
    if (!json_is_object(whole)) {
        json_decref(whole);
        return sc__fail(ctx,
                        SC_INPUT,
                        &(struct sc__place){.file = file, .line = 1, .column = 1},
                        NULL,
                        "a model configuration is a JSON object");
    }
    json_t *model = enter_thinker(ctx, file, whole);
    r.root = model;
    enter_language_model(&r);
    sc_status status = read_model(&r, out);
    if (status == SC_OK)
        sc__hf_towers_read(ctx, model, out);
    json_decref(whole);
    return status;
}
