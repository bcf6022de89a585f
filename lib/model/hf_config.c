/* model_hf: Hugging Face config.json → struct sc__model.
 *
 * A family (model_type) says what the keys leave open: which norm, whether the
 * feed-forward is gated, which linears have a bias. Keys have aliases ("n_embd"
 * is "hidden_size"). Keys that decide nothing about a step are let pass, keys
 * we do not know are named in a note, keys that change the architecture in a
 * way we do not model are errors. */
#include "model/python_json.h"
#include "model/read.h"

#include <jansson.h>
#include <string.h>

enum {
    GATED = 1,
    RMS = 2,
    BIAS = 4,
    QKV_BIAS = 8,
    OUT_BIAS = 16,
    QK_NORM = 32,
    TIED = 64,
    LEARNED = 128,
    NO_NORM_BIAS = 256,
    ROUTER_BIAS = 512,
    EXPERT_BIAS = 1024,
    SHARED_GATE = 2048,
    POST_NORMS = 4096,    /* norms after attention and feed-forward as well */
    ALIBI = 8192,         /* no position enters the weights or the heads */
    WINDOW_HALF = 16384,  /* each second layer sees all keys, the others a window */
    WINDOW_SIXTH = 32768, /* each sixth */
    NEW_GELU = 65536
};

struct family {
    const char *type;
    unsigned traits;
};

static const struct family families[] = {
    {"gpt2", BIAS | TIED | LEARNED | NEW_GELU},
    {"gpt", BIAS | TIED | LEARNED},
    {"opt", BIAS | TIED | LEARNED},
    {"gpt_neox", BIAS},
    {"bloom", BIAS | TIED | ALIBI},
    {"falcon", TIED},
    {"palm", GATED | TIED | NO_NORM_BIAS},
    {"mpt", TIED | LEARNED | NO_NORM_BIAS},
    {"nemotron", 0},
    {"llama", GATED | RMS},
    {"mistral", GATED | RMS},
    {"phi3", GATED | RMS},
    {"gemma", GATED | RMS | TIED},
    {"gemma2", GATED | RMS | TIED | POST_NORMS | WINDOW_HALF},
    {"gemma3_text", GATED | RMS | TIED | POST_NORMS | QK_NORM | WINDOW_SIXTH},
    {"glm4", GATED | RMS | QKV_BIAS | POST_NORMS},
    {"glm4_moe", GATED | RMS | QKV_BIAS | QK_NORM | ROUTER_BIAS},
    {"llama4_text", GATED | RMS},
    {"grok", GATED | RMS | TIED},
    {"qwen2", GATED | RMS | QKV_BIAS},
    {"qwen3", GATED | RMS | QK_NORM},
    {"mixtral", GATED | RMS},
    {"qwen2_moe", GATED | RMS | QKV_BIAS | SHARED_GATE},
    {"qwen3_moe", GATED | RMS | QK_NORM},
    {"deepseek", GATED | RMS},
    {"deepseek_v2", GATED | RMS},
    {"deepseek_v3", GATED | RMS | ROUTER_BIAS},
    {"kimi_k2", GATED | RMS | ROUTER_BIAS},
    {"gpt_oss",
     GATED | RMS | QKV_BIAS | OUT_BIAS | ROUTER_BIAS | EXPERT_BIAS | WINDOW_HALF},
    {NULL, 0},
};

/* Aliases of a key, the first one present counts. */
static const char *const hidden_keys[] = {"hidden_size", "n_embd", "d_model", NULL};
static const char *const layer_keys[] = {"num_hidden_layers", "n_layer", "n_layers", NULL};
static const char *const head_keys[] = {"num_attention_heads", "n_head", "n_heads", NULL};
static const char *const kv_keys[] = {"num_key_value_heads", "num_kv_heads", NULL};
static const char *const dim_keys[] = {"head_dim", NULL};
static const char *const ffn_keys[] = {
    "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", NULL};
static const char *const vocab_keys[] = {"vocab_size", NULL};
static const char *const position_keys[] = {
    "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", NULL};
static const char *const expert_keys[] = {
    "num_local_experts", "num_experts", "n_routed_experts", NULL};
static const char *const topk_keys[] = {
    "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk", NULL};
static const char *const expert_ffn_keys[] = {
    "moe_intermediate_size", "expert_intermediate_size", NULL};
static const char *const shared_ffn_keys[] = {"shared_expert_intermediate_size", NULL};
static const char *const shared_count_keys[] = {"n_shared_experts", NULL};
static const char *const first_dense_keys[] = {"first_k_dense_replace", NULL};
static const char *const every_keys[] = {"decoder_sparse_step", "moe_layer_freq", NULL};
static const char *const q_lora_keys[] = {"q_lora_rank", NULL};
static const char *const kv_lora_keys[] = {"kv_lora_rank", NULL};
static const char *const nope_keys[] = {"qk_nope_head_dim", NULL};
static const char *const rope_keys[] = {"qk_rope_head_dim", NULL};
static const char *const v_keys[] = {"v_head_dim", NULL};
static const char *const window_keys[] = {"sliding_window", NULL};
static const char *const pattern_keys[] = {"sliding_window_pattern", NULL};
static const char *const mtp_keys[] = {"num_nextn_predict_layers", NULL};

static const char *const *const number_keys[] = {
    hidden_keys,       layer_keys,       head_keys,       kv_keys,
    dim_keys,          ffn_keys,         vocab_keys,      position_keys,
    expert_keys,       topk_keys,        expert_ffn_keys, shared_ffn_keys,
    shared_count_keys, first_dense_keys, every_keys,      q_lora_keys,
    kv_lora_keys,      nope_keys,        rope_keys,       v_keys,
    mtp_keys,          window_keys,      pattern_keys,    NULL};

/* Read elsewhere, or without weight for the time of a training step. */
static const char *const quiet_keys[] = {"model_type",
                                         "tie_word_embeddings",
                                         "attention_bias",
                                         "mlp_bias",
                                         "expansion_ratio",
                                         "_name",
                                         "_source",
                                         "_parameters",
                                         "_parameters_rounding",
                                         "_note",
                                         "architectures",
                                         "torch_dtype",
                                         "dtype",
                                         "hidden_act",
                                         "activation_function",
                                         "hidden_activation",
                                         "initializer_range",
                                         "use_cache",
                                         "bos_token_id",
                                         "eos_token_id",
                                         "pad_token_id",
                                         "transformers_version",
                                         "rms_norm_eps",
                                         "layer_norm_eps",
                                         "layer_norm_epsilon",
                                         "norm_eps",
                                         "rope_theta",
                                         "rope_scaling",
                                         "pretraining_tp",
                                         "attention_dropout",
                                         "auto_map",
                                         "attn_pdrop",
                                         "embd_pdrop",
                                         "resid_pdrop",
                                         "summary_activation",
                                         "summary_first_dropout",
                                         "summary_proj_to_labels",
                                         "summary_type",
                                         "summary_use_proj",
                                         "task_specific_params",
                                         "router_aux_loss_coef",
                                         "output_router_logits",
                                         "norm_topk_prob",
                                         "router_jitter_noise",
                                         "aux_loss_alpha",
                                         "seq_aux",
                                         "scoring_func",
                                         "topk_method",
                                         "topk_group",
                                         "n_group",
                                         "routed_scaling_factor",
                                         "ep_size",
                                         "quantization_config",
                                         "partial_rotary_factor",
                                         "rotary_pct",
                                         "rotary_emb_base",
                                         "use_parallel_residual",
                                         "hidden_dropout",
                                         "classifier_dropout",
                                         "no_bias",
                                         "learned_pos_emb",
                                         "attn_config",
                                         "use_sliding_window",
                                         "query_pre_attn_scalar",
                                         "attn_logit_softcapping",
                                         "final_logit_softcapping",
                                         "cache_implementation",
                                         "rope_local_base_freq",
                                         "parallel_attn",
                                         "new_decoder_architecture",
                                         "multi_query",
                                         "alibi",
                                         "bias",
                                         "apply_residual_connection_post_layernorm",
                                         "use_qk_norm",
                                         "max_window_layers",
                                         "mlp_only_layers",
                                         "layer_types",
                                         "swiglu_limit",
                                         "initial_context_length",
                                         "rope_interleave",
                                         "_name_or_path",
                                         NULL};

struct model_hf_config_reading {
    struct sc_context *ctx;
    const char *file;
    json_t *root;
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

static sc_status find_family(const struct model_hf_config_reading *r,
                             const struct family **out) {
    const char *type = json_string_value(json_object_get(r->root, "model_type"));
    struct sc__place at = model_hf_config_whole(r);
    struct sc__buffer known;
    sc__buffer_init(&known, &r->ctx->arena);
    sc__puts(&known, "known are:");
    for (const struct family *f = families; f->type; f++) {
        if (type && !strcmp(f->type, type)) {
            *out = f;
            return SC_OK;
        }
        sc__printf(&known, " %s", f->type);
    }
    if (!type)
        return sc__fail(r->ctx, SC_INPUT, &at, known.text, "\"model_type\" is missing");
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &at,
                    known.text,
                    "unknown model_type \"%.60s\"",
                    type);
}

static void apply_traits(unsigned t, struct sc__model *m) {
    m->gated = t & GATED;
    m->norm = t & RMS ? SC__RMSNORM : SC__LAYERNORM;
    m->norm_bias = !(t & (RMS | NO_NORM_BIAS));
    m->linear_bias = t & BIAS;
    m->qkv_bias = t & QKV_BIAS;
    m->out_bias = t & OUT_BIAS;
    m->qk_norm = t & QK_NORM;
    m->tied = t & TIED;
    m->router_bias = t & ROUTER_BIAS;
    m->expert_bias = t & EXPERT_BIAS;
    m->shared_gate = t & SHARED_GATE;
    m->post_norms = t & POST_NORMS;
    m->no_rotary = t & ALIBI;
    m->new_gelu = t & NEW_GELU;
}

static sc_status
read_dense(const struct model_hf_config_reading *r, unsigned traits, struct sc__model *m) {
    SC__TRY(need(r, layer_keys, SC__MOST_LAYERS, &m->layers));
    SC__TRY(need(r, hidden_keys, 1u << 20, &m->hidden));
    SC__TRY(need(r, head_keys, 1u << 16, &m->heads));
    SC__TRY(need(r, vocab_keys, 1u << 28, &m->vocab));
    m->kv_heads =
        truth(r, "multi_query", false) && !truth(r, "new_decoder_architecture", false)
            ? 1
            : m->heads;
    SC__TRY(number(r, kv_keys, 1u << 16, &m->kv_heads));
    m->head_dim = m->hidden / m->heads;
    SC__TRY(number(r, dim_keys, 1u << 16, &m->head_dim));
    uint32_t ratio = 4;
    static const char *const ratio_keys[] = {"expansion_ratio", NULL};
    SC__TRY(number(r, ratio_keys, 64, &ratio));
    m->ffn = ratio * m->hidden;
    bool assumed = true;
    for (const char *const *key = ffn_keys; *key; key++)
        if (json_object_get(r->root, *key))
            assumed = false;
    SC__TRY(number(r, ffn_keys, 1u << 24, &m->ffn));
    if (assumed && m->gated)
        sc__note(r->ctx,
                 "ffn-assumed",
                 "%s: no intermediate_size: 4 times the hidden size, %u, is assumed",
                 r->file,
                 m->ffn);
    SC__TRY(number(r, position_keys, UINT32_MAX, &m->context));
    if (traits & LEARNED && truth(r, "learned_pos_emb", true))
        m->positions = m->context;
    m->tied = truth(r, "tie_word_embeddings", m->tied);
    const char *activation =
        json_string_value(json_object_get(r->root, "activation_function"));
    if (activation)
        m->new_gelu = !strcmp(activation, "gelu_new");
    if (truth(r, "attention_bias", false))
        m->qkv_bias = m->out_bias = true;
    if (!truth(r, "no_bias", true) || truth(r, "bias", false))
        m->linear_bias = m->norm_bias = true;
    m->one_norm =
        truth(r, "parallel_attn", false) && !truth(r, "new_decoder_architecture", false);
    return SC_OK;
}

static sc_status model_hf_config_read_experts(const struct model_hf_config_reading *r,
                                              struct sc__model *m) {
    uint32_t shared = 0;
    m->moe_every = 1;
    SC__TRY(number(r, expert_keys, 1u << 16, &m->experts));
    if (!m->experts)
        return SC_OK;
    SC__TRY(need(r, topk_keys, m->experts, &m->topk));
    m->expert_ffn = m->ffn;
    SC__TRY(number(r, expert_ffn_keys, 1u << 24, &m->expert_ffn));
    SC__TRY(number(r, shared_count_keys, 1u << 10, &shared));
    m->shared_ffn = shared * m->expert_ffn;
    SC__TRY(number(r, shared_ffn_keys, 1u << 24, &m->shared_ffn));
    SC__TRY(number(r, first_dense_keys, m->layers, &m->first_dense));
    SC__TRY(number(r, every_keys, m->layers, &m->moe_every));
    if (!m->moe_every)
        m->moe_every = 1;
    return SC_OK;
}

/* The n of "each n-th layer sees all keys", from a list with a word per layer. */
static uint32_t full_every(const json_t *types) {
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *word = json_string_value(json_array_get(types, i));
        if (word && !strcmp(word, "full_attention"))
            return (uint32_t)i + 1;
    }
    return 0;
}

/* Layers whose queries see a window of keys. */
static sc_status
read_window(const struct model_hf_config_reading *r, unsigned traits, struct sc__model *m) {
    const json_t *types = json_object_get(r->root, "layer_types");
    SC__TRY(number(r, window_keys, UINT32_MAX, &m->window));
    if (!truth(r, "use_sliding_window", true))
        m->window = 0;
    m->window_every = traits & WINDOW_HALF ? 2 : traits & WINDOW_SIXTH ? 6 : 0;
    if (json_is_array(types))
        m->window_every = full_every(types);
    return number(r, pattern_keys, SC__MOST_LAYERS, &m->window_every);
}

static sc_status read_latent(const struct model_hf_config_reading *r, struct sc__model *m) {
    SC__TRY(number(r, kv_lora_keys, 1u << 20, &m->kv_lora));
    SC__TRY(number(r, mtp_keys, 64, &m->mtp_layers));
    if (!m->kv_lora)
        return SC_OK;
    SC__TRY(number(r, q_lora_keys, 1u << 20, &m->q_lora));
    SC__TRY(need(r, nope_keys, 1u << 16, &m->nope_dim));
    SC__TRY(need(r, rope_keys, 1u << 16, &m->rope_dim));
    SC__TRY(need(r, v_keys, 1u << 16, &m->v_dim));
    m->head_dim = m->nope_dim + m->rope_dim;
    return SC_OK;
}

static bool in_list(const char *key, const char *const *list) {
    for (; *list; list++)
        if (!strcmp(key, *list))
            return true;
    return false;
}

static bool known_key(const char *key) {
    for (const char *const *const *keys = number_keys; *keys; keys++)
        if (in_list(key, *keys))
            return true;
    return in_list(key, quiet_keys);
}

static void note_unknown_keys(const struct model_hf_config_reading *r) {
    const char *key;
    json_t *value;
    json_object_foreach(r->root, key, value) {
        if (!known_key(key))
            sc__note(r->ctx,
                     "model-key-ignored",
                     "%s: the key \"%.60s\" is not known and was ignored",
                     r->file,
                     key);
    }
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

static sc_status read_model(const struct model_hf_config_reading *r, struct sc__model *m) {
    const struct family *f = NULL;
    SC__TRY(find_family(r, &f));
    *m = (struct sc__model){.family = f->type};
    apply_traits(f->traits, m);
    m->name = text_of(r, "_name");
    if (!m->name)
        m->name = r->file;
    m->source = text_of(r, "_source");
    m->published = json_number_value(json_object_get(r->root, "_parameters"));
    SC__TRY(read_dense(r, f->traits, m));
    SC__TRY(model_hf_config_read_experts(r, m));
    SC__TRY(read_latent(r, m));
    SC__TRY(read_window(r, f->traits, m));
    note_unknown_keys(r);
    return model_hf_config_check(r, m);
}

sc_status sc__model_parse(struct sc_context *ctx,
                          const char *file,
                          struct sc__str text,
                          struct sc__model *out) {
    json_error_t error;
    struct model_hf_config_reading r = {.ctx = ctx, .file = file};
    text = sc__python_json(&ctx->arena, text);
    r.root = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &error);
    if (!r.root) {
        struct sc__place at = {.file = file,
                               .line = (uint64_t)error.line,
                               .column = (uint64_t)error.column};
        return sc__fail(ctx, SC_INPUT, &at, NULL, "not JSON: %s", error.text);
    }
    sc_status status =
        json_is_object(r.root)
            ? read_model(&r, out)
            : sc__fail(ctx,
                       SC_INPUT,
                       &(struct sc__place){.file = file, .line = 1, .column = 1},
                       NULL,
                       "a model configuration is a JSON object");
    json_decref(r.root);
    return status;
}

sc_status sc__model_find(struct sc_context *ctx, const char *name, struct sc__model *out) {
    char *path = sc__format(&ctx->arena, "models/%s.json", name);
    const struct sc__data_file *preset = sc__data_find(path);
    struct sc__str text;
    if (preset) {
        text = (struct sc__str){(const char *)preset->bytes, preset->size};
        SC__TRY(sc__model_parse(ctx, path, text, out));
        out->name = sc__strdup(&ctx->arena, name);
        return SC_OK;
    }
    if (strcmp(name, "-") && sc__path_look(name).kind == SC__PATH_NONE)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        sc__data_hint(ctx, "models/", name, "a config.json"),
                        "there is no model '%s'",
                        name);
    if (strcmp(name, "-") && sc__path_is_folder(name))
        name = sc__format(&ctx->arena, "%s/config.json", name);
    SC__TRY(sc__read_all(ctx, name, (size_t)16 << 20, &text));
    return sc__model_parse(ctx, name, text, out);
}
