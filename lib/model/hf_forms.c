#include "model/hf_forms.h"

#include <string.h>

/* A key of a type, and the common one that it stands for. */
static const struct {
    const char *type;
    const char *part; /* the object it is in; NULL: that of the model */
    const char *from;
    const char *to;
    uint32_t divisor; /* 2: the size is that of both halves of a gated feed-forward */
} forms[] = {
    {"dbrx", "attn_config", "kv_n_heads", "num_key_value_heads", 1},
    {"dbrx", "ffn_config", "ffn_hidden_size", "intermediate_size", 1},
    {"dbrx", "ffn_config", "moe_num_experts", "num_experts", 1},
    {"dbrx", "ffn_config", "moe_top_k", "num_experts_per_tok", 1},
    {"mpt", "attn_config", "kv_n_heads", "num_key_value_heads", 1},
    {"qwen", NULL, "intermediate_size", "intermediate_size", 2},
    {"hf_olmo", NULL, "mlp_hidden_size", "intermediate_size", 2},
    {"hf_olmo", NULL, "embedding_size", "vocab_size", 1},
    {"hf_olmo", NULL, "weight_tying", "tie_word_embeddings", 1},
    {"ernie4_5_moe", NULL, "moe_num_experts", "num_experts", 1},
    {"ernie4_5_moe", NULL, "moe_k", "num_experts_per_tok", 1},
    {"ernie4_5_moe", NULL, "moe_num_shared_experts", "n_shared_experts", 1},
    {"ernie4_5_moe", NULL, "moe_layer_start_index", "first_k_dense_replace", 1},
    {"ernie4_5_moe", NULL, "moe_layer_interval", "moe_layer_freq", 1},
    {"afmoe", NULL, "num_dense_layers", "first_k_dense_replace", 1},
    {"afmoe", NULL, "global_attn_every_n_layers", "sliding_window_pattern", 1},
    {"gemma4_text", NULL, "top_k_experts", "num_experts_per_tok", 1},
    {"exaone_moe", NULL, "first_last_k_dense_replace", "first_k_dense_replace", 1},
    {"xverse", NULL, "moe_top_k", "num_experts_per_tok", 1},
    {"hunyuan_v1_moe", NULL, "num_shared_expert", "n_shared_experts", 1},
    {"hunyuan_v1_moe", NULL, "moe_layer_num_skipped", "first_k_dense_replace", 1},
};

static sc_status divide(struct sc_context *ctx,
                        const char *file,
                        const char *key,
                        uint32_t divisor,
                        json_t **value) {
    struct sc__place at = {.file = file};
    json_int_t n = json_integer_value(*value);
    if (!json_is_integer(*value) || n < 0 || n % divisor)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "\"%s\" must be a whole number that %u divides: it counts both "
                        "halves of a gated feed-forward",
                        key,
                        divisor);
    *value = json_integer(n / divisor);
    return SC_OK;
}

/* A list that says the same for every layer says it once. */
static void flatten_lists(json_t *root) {
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(root, next, key, value) {
        json_t *first = json_array_get(value, 0);
        bool same = json_is_integer(first);
        for (size_t i = 1; same && i < json_array_size(value); i++)
            same = json_equal(first, json_array_get(value, i));
        if (same)
            json_object_set(root, key, first);
    }
}

sc_status sc__hf_forms_apply(struct sc_context *ctx,
                             const char *file,
                             const char *type,
                             json_t *root) {
    if (!strcmp(type, "hunyuan_v1_moe"))
        flatten_lists(root);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        json_t *owner = forms[i].part ? json_object_get(root, forms[i].part) : root;
        json_t *value = json_object_get(owner, forms[i].from);
        if (strcmp(forms[i].type, type) || !value || json_is_null(value))
            continue;
        if (forms[i].divisor > 1)
            SC__TRY(divide(ctx, file, forms[i].from, forms[i].divisor, &value));
        else
            json_incref(value);
        if (strcmp(forms[i].from, forms[i].to) != 0)
            json_object_del(owner, forms[i].from);
        json_object_set_new(root, forms[i].to, value);
    }
    return SC_OK;
}
