#include "model/hf_checks.h"

sc_status
sc__hf_check_truths(struct sc_context *ctx, const char *file, const json_t *root) {
    static const char *const keys[] = {"tie_word_embeddings",
                                       "attention_bias",
                                       "mlp_bias",
                                       "use_sliding_window",
                                       "alibi",
                                       "parallel_attn",
                                       "multi_query",
                                       "use_qk_norm",
                                       NULL};
    struct sc__place at = {.file = file};
    for (const char *const *key = keys; *key; key++) {
        const json_t *v = json_object_get(root, *key);
        if (v && !json_is_boolean(v) && !json_is_null(v))
            return sc__fail(ctx, SC_INPUT, &at, NULL, "\"%s\" takes true or false", *key);
    }
    return SC_OK;
}

static const struct {
    const char *key;
    bool value;
    const char *what;
} refused_switches[] = {
    {"use_bidirectional_attention", true, "text is seen in both directions"},
    {"is_causal", false, "text is seen in both directions"},
    {"is_encoder_decoder", true, "the model has an encoder"},
    {"add_cross_attention", true, "layers see an encoder's output"},
    {"do_layer_norm_before", false, "norms stand behind what they belong to"},
    {"_remove_final_layer_norm", true, "the last norm is left out"},
};

static bool is_value(const json_t *value, bool wanted) {
    return wanted ? json_is_true(value) : json_is_false(value);
}

sc_status sc__hf_check_switches(struct sc_context *ctx,
                                const char *file,
                                const json_t *root,
                                const struct sc__hf_family *family) {
    struct sc__place at = {.file = file};
    bool own = family->traits & SC__HF_GEMMA4; /* which looks at its masks itself */
    for (size_t i = 0; !own && i < sizeof refused_switches / sizeof *refused_switches; i++)
        if (is_value(json_object_get(root, refused_switches[i].key),
                     refused_switches[i].value))
            return sc__fail(ctx,
                            SC_INPUT,
                            &at,
                            "a trace or a layer workload of the model can be run instead",
                            "%s (\"%s\"), which is not modelled",
                            refused_switches[i].what,
                            refused_switches[i].key);
    if (json_is_object(json_object_get(root, "quantization_config")))
        sc__note(ctx,
                 "quantization",
                 "%s: quantization_config is how the weights are stored, and does not "
                 "count; --fp8 and --dtype say how it is trained",
                 file);
    return SC_OK;
}
