/* hf_hybrid: Nemotron-H (a letter a layer: M Mamba-2, * attention, - feed-forward, E
 * experts), Qwen3-Next (gated delta nets, with attention in each n-th layer), Granite 4
 * and Bamba (Mamba-2 or attention, each with a feed-forward), Mamba-2 alone. */
#include "model/hf_hybrid.h"

#include <string.h>

struct hf_hybrid {
    struct sc_context *ctx;
    const char *file;
    json_t *root;
};

static sc_status hybrid_fail(const struct hf_hybrid *r, const char *what) {
    struct sc__place at = {.file = r->file};
    return sc__fail(r->ctx, SC_INPUT, &at, NULL, "%s", what);
}

static sc_status hybrid_size(const struct hf_hybrid *r, const char *key, uint32_t *out) {
    const json_t *value = json_object_get(r->root, key);
    json_int_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < 1 || n > 1 << 20)
        return hybrid_fail(r,
                           sc__format(&r->ctx->arena,
                                      "\"%s\" must be a whole number from 1 to %u",
                                      key,
                                      1u << 20));
    *out = (uint32_t)n;
    return SC_OK;
}

/* What transformers 5 calls the kinds of layers, and what it called them before. */
static const struct {
    const char *word;
    char letter;
} layer_words[] = {{"linear_attention", 'M'},
                   {"mamba", 'M'},
                   {"full_attention", '*'},
                   {"attention", '*'},
                   {"mlp", '-'},
                   {"moe", 'E'}};

/* '?' for a word that is none of them, which is refused as a letter. */
static char letter_of_word(const json_t *word) {
    const char *text = json_string_value(word);
    for (size_t i = 0; text && i < sizeof layer_words / sizeof *layer_words; i++)
        if (!strcmp(layer_words[i].word, text))
            return layer_words[i].letter;
    return '?';
}

void sc__hf_hybrid_prepare(struct sc_context *ctx,
                           const struct sc__hf_family *family,
                           json_t *root) {
    static const char *const lists[] = {"layers_block_type", "layer_types", NULL};
    const char *pattern = "hybrid_override_pattern";
    if (strcmp(family->type, "nemotron_h") != 0)
        return;
    for (const char *const *key = lists; *key; key++) {
        const json_t *words = json_object_get(root, *key);
        size_t count = json_array_size(words);
        if (!count)
            continue;
        char *letters = SC__NEW_ARRAY(&ctx->arena, char, count + 1);
        for (size_t i = 0; i < count; i++)
            letters[i] = letter_of_word(json_array_get(words, i));
        json_object_set_new(root, pattern, json_string(letters));
        json_object_del(root, *key);
    }
    const char *letters = json_string_value(json_object_get(root, pattern));
    if (letters && !json_object_get(root, "num_hidden_layers"))
        json_object_set_new(root,
                            "num_hidden_layers",
                            json_integer((json_int_t)strlen(letters)));
}

static sc_status read_letters(const struct hf_hybrid *r, struct sc__model *m) {
    const char *letters =
        json_string_value(json_object_get(r->root, "hybrid_override_pattern"));
    if (!letters)
        return hybrid_fail(r, "\"hybrid_override_pattern\" is missing");
    if (strlen(letters) != m->layers)
        return hybrid_fail(r,
                           sc__format(&r->ctx->arena,
                                      "\"hybrid_override_pattern\" has %zu layers, "
                                      "\"num_hidden_layers\" is %u",
                                      strlen(letters),
                                      m->layers));
    for (uint32_t i = 0; i < m->layers; i++) {
        if (letters[i] == 'G' || !sc__model_layer_letter(letters[i], &m->layer_parts[i]))
            return hybrid_fail(r,
                               sc__format(&r->ctx->arena,
                                          "layer %u of \"hybrid_override_pattern\" is "
                                          "'%c', not M, *, - or E",
                                          i,
                                          letters[i]));
        if (letters[i] == 'E' && !m->experts)
            return hybrid_fail(
                r,
                "a layer of experts (E), but \"n_routed_experts\" is missing or 0");
    }
    m->pattern = m->layers;
    return SC_OK;
}

/* What a family calls the sizes of its scans. */
struct scan_keys {
    const char *heads;
    const char *head_dim;
    const char *groups;
    const char *state;
    const char *kernel;
    const char *chunk; /* NULL: the configuration does not say */
};

static sc_status
read_scan(const struct hf_hybrid *r, const struct scan_keys *keys, struct sc__model *m) {
    SC__TRY(hybrid_size(r, keys->heads, &m->scan_heads));
    SC__TRY(hybrid_size(r, keys->head_dim, &m->scan_head_dim));
    SC__TRY(hybrid_size(r, keys->groups, &m->scan_groups));
    SC__TRY(hybrid_size(r, keys->state, &m->state_dim));
    SC__TRY(hybrid_size(r, keys->kernel, &m->conv_kernel));
    return keys->chunk ? hybrid_size(r, keys->chunk, &m->scan_chunk) : SC_OK;
}

static sc_status read_nemotron(const struct hf_hybrid *r, struct sc__model *m) {
    static const struct scan_keys keys = {"mamba_num_heads",
                                          "mamba_head_dim",
                                          "n_groups",
                                          "ssm_state_size",
                                          "conv_kernel",
                                          "chunk_size"};
    SC__TRY(read_letters(r, m));
    return read_scan(r, &keys, m);
}

static sc_status read_mamba_alone(const struct hf_hybrid *r, struct sc__model *m) {
    static const struct scan_keys keys =
        {"num_heads", "head_dim", "n_groups", "state_size", "conv_kernel", "chunk_size"};
    sc__model_layer_letter('M', &m->layer_parts[0]);
    m->pattern = 1;
    return read_scan(r, &keys, m);
}

/* "layer_types", or attention in each n-th layer. */
static sc_status read_types(const struct hf_hybrid *r, struct sc__model *m) {
    const json_t *types = json_object_get(r->root, "layer_types");
    uint32_t every = 4; /* of the family */
    if (json_object_get(r->root, "full_attention_interval"))
        SC__TRY(hybrid_size(r, "full_attention_interval", &every));
    if (json_is_array(types) && json_array_size(types) != m->layers)
        return hybrid_fail(r, "\"layer_types\" does not have a word for each layer");
    for (uint32_t i = 0; i < m->layers; i++) {
        const char *word = json_string_value(json_array_get(types, i));
        bool full = word ? !strcmp(word, "full_attention") : (i + 1) % every == 0;
        if (word && !full && strcmp(word, "linear_attention") != 0)
            return hybrid_fail(
                r,
                sc__format(&r->ctx->arena,
                           "layer %u of \"layer_types\" is \"%.60s\", not full_attention "
                           "or linear_attention",
                           i,
                           word));
        uint8_t experts = sc__model_has_experts(m, i) ? SC__WITH_EXPERTS : 0;
        m->layer_parts[i] =
            (uint8_t)((full ? SC__MIXER_ATTENTION : SC__MIXER_DELTA) | experts);
    }
    m->pattern = m->layers;
    return SC_OK;
}

static sc_status read_delta_nets(const struct hf_hybrid *r, struct sc__model *m) {
    static const struct scan_keys keys = {"linear_num_value_heads",
                                          "linear_value_head_dim",
                                          "linear_num_key_heads",
                                          "linear_key_head_dim",
                                          "linear_conv_kernel_dim",
                                          NULL};
    SC__TRY(read_types(r, m));
    m->attention_gate = true;
    m->scan_chunk = 64; /* of flash-linear-attention's kernels */
    return read_scan(r, &keys, m);
}

static bool listed_layer(const json_t *list, uint32_t layer) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_integer_value(json_array_get(list, i)) == (json_int_t)layer)
            return true;
    return false;
}

/* Granite 4 has a word for each layer ("layer_types", "layers_block_type"), Bamba the
 * numbers of those with attention. */
static sc_status read_mamba_layers(const struct hf_hybrid *r, struct sc__model *m) {
    const json_t *words = json_object_get(r->root, "layer_types");
    const json_t *indices = json_object_get(r->root, "attn_layer_indices");
    if (!json_is_array(words))
        words = json_object_get(r->root, "layers_block_type");
    if (json_is_array(words) ? json_array_size(words) != m->layers
                             : !json_is_array(indices))
        return hybrid_fail(r,
                           "which layers are Mamba's is not said: \"layer_types\" has a "
                           "word for each layer, or \"attn_layer_indices\" the numbers "
                           "of those with attention");
    for (uint32_t i = 0; i < m->layers; i++) {
        const char *word = json_string_value(json_array_get(words, i));
        char letter = letter_of_word(json_array_get(words, i));
        bool mamba = word ? letter == 'M' : !listed_layer(indices, i);
        if (words && letter != 'M' && letter != '*')
            return hybrid_fail(r,
                               sc__format(&r->ctx->arena,
                                          "layer %u is \"%.60s\", not mamba or attention",
                                          i,
                                          word ? word : ""));
        uint8_t experts = sc__model_has_experts(m, i) ? SC__WITH_EXPERTS : 0;
        m->layer_parts[i] =
            (uint8_t)((mamba ? SC__MIXER_MAMBA : SC__MIXER_ATTENTION) | experts);
    }
    m->pattern = m->layers;
    return SC_OK;
}

static bool hybrid_truth(const struct hf_hybrid *r, const char *key, bool otherwise) {
    const json_t *value = json_object_get(r->root, key);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

/* "auto", the default of the classes: what the heads share of the width in between. */
static sc_status read_head_size(const struct hf_hybrid *r, const struct sc__model *m) {
    const json_t *size = json_object_get(r->root, "mamba_d_head");
    const char *word = json_string_value(size);
    uint32_t expand = 2; /* of the classes */
    uint32_t heads;
    if (size && !json_is_null(size) && (!word || strcmp(word, "auto") != 0))
        return SC_OK;
    if (json_object_get(r->root, "mamba_expand"))
        SC__TRY(hybrid_size(r, "mamba_expand", &expand));
    SC__TRY(hybrid_size(r, "mamba_n_heads", &heads));
    uint64_t width = (uint64_t)expand * m->hidden;
    if (width % heads)
        return hybrid_fail(r,
                           "\"mamba_n_heads\" does not divide \"mamba_expand\" times the "
                           "hidden size");
    json_object_set_new(r->root, "mamba_d_head", json_integer((json_int_t)(width / heads)));
    return SC_OK;
}

static sc_status read_mamba_keys(const struct hf_hybrid *r, struct sc__model *m) {
    static const struct scan_keys keys = {"mamba_n_heads",
                                          "mamba_d_head",
                                          "mamba_n_groups",
                                          "mamba_d_state",
                                          "mamba_d_conv",
                                          "mamba_chunk_size"};
    SC__TRY(read_mamba_layers(r, m));
    SC__TRY(read_head_size(r, m));
    if (!m->experts &&
        m->shared_ffn) /* the whole feed-forward of a model without experts */
        m->ffn = m->shared_ffn;
    return read_scan(r, &keys, m);
}

sc_status sc__hf_hybrid_read(struct sc_context *ctx,
                             const char *file,
                             json_t *root,
                             const struct sc__hf_family *family,
                             struct sc__model *m) {
    struct hf_hybrid r = {.ctx = ctx, .file = file, .root = root};
    m->scan_bias = hybrid_truth(&r, "mamba_proj_bias", false);
    if (family->traits & SC__HF_LETTERS)
        m->scan_bias = hybrid_truth(&r, "use_bias", m->scan_bias);
    m->bare_conv =
        !hybrid_truth(&r, "mamba_conv_bias", hybrid_truth(&r, "use_conv_bias", true));
    if (sc__hf_family_details(family->type) & SC__HF_MAMBA_ALONE)
        return read_mamba_alone(&r, m);
    if (family->traits & SC__HF_LETTERS)
        return read_nemotron(&r, m);
    if (family->traits & SC__HF_DELTA)
        return read_delta_nets(&r, m);
    if (family->traits & SC__HF_MAMBA_KEYS)
        return read_mamba_keys(&r, m);
    return SC_OK;
}

bool sc__hf_hybrid_key(const struct sc__hf_family *family, const char *key) {
    static const char *const of_letters[] = {"hybrid_override_pattern",
                                             "mamba_num_heads",
                                             "mamba_head_dim",
                                             "mamba_hidden_act",
                                             "mamba_proj_bias",
                                             "mamba_ssm_cache_dtype",
                                             "n_groups",
                                             "ssm_state_size",
                                             "conv_kernel",
                                             "chunk_size",
                                             "expand",
                                             "time_step_floor",
                                             "time_step_limit",
                                             "time_step_max",
                                             "time_step_min",
                                             "time_step_rank",
                                             "layer_norm_epsilon",
                                             "hidden_dropout",
                                             "mlp_hidden_act",
                                             "num_logits_to_keep",
                                             "rescale_prenorm_residual",
                                             "residual_in_fp32",
                                             "use_bias",
                                             "use_conv_bias",
                                             "use_mamba_kernels",
                                             "norm_before_gate",
                                             "state_size",
                                             "rms_norm",
                                             NULL};
    static const char *const of_delta[] = {"full_attention_interval",
                                           "attn_output_gate",
                                           "linear_num_value_heads",
                                           "linear_value_head_dim",
                                           "linear_num_key_heads",
                                           "linear_key_head_dim",
                                           "linear_conv_kernel_dim",
                                           "mamba_ssm_dtype",
                                           "mtp_use_dedicated_embeddings",
                                           NULL};
    static const char *const of_mamba[] = {"attn_layer_indices",
                                           "attn_rotary_emb",
                                           "layers_block_type",
                                           "mamba_n_heads",
                                           "mamba_d_head",
                                           "mamba_n_groups",
                                           "mamba_d_state",
                                           "mamba_d_conv",
                                           "mamba_chunk_size",
                                           "mamba_conv_bias",
                                           "mamba_expand",
                                           "mamba_proj_bias",
                                           NULL};
    static const char *const none[] = {NULL};
    const char *const *list = family->traits & SC__HF_LETTERS      ? of_letters
                              : family->traits & SC__HF_DELTA      ? of_delta
                              : family->traits & SC__HF_MAMBA_KEYS ? of_mamba
                                                                   : none;
    for (; *list; list++)
        if (!strcmp(*list, key))
            return true;
    return false;
}
