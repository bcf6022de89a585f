#include "model/hf_keys.h"

#include <string.h>

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
                                         "multi_query_attention",
                                         "add_qkv_bias",
                                         "add_bias_linear",
                                         "rmsnorm",
                                         "use_qkv_bias",
                                         "qk_layernorm",
                                         "use_mtp",
                                         "rotary",
                                         "rotary_dim",
                                         "original_rope",
                                         "post_layer_norm",
                                         "apply_query_key_layer_scaling",
                                         "attention_softmax_in_fp32",
                                         "bias_dropout_fusion",
                                         "fp32_residual_connection",
                                         "layernorm_epsilon",
                                         "masked_softmax_fusion",
                                         "offset_alibi",
                                         "skip_bias_add",
                                         "skip_bias_add_qkv",
                                         "unk_token_id",
                                         "scale_attn_weights",
                                         "scale_attention_softmax_in_fp32",
                                         "gradient_checkpointing",
                                         "tokenizer_class",
                                         "qk_norm_type",
                                         "use_routing_bias",
                                         "rope_parameters",
                                         "qk_head_dim",
                                         "chunk_size_feed_forward",
                                         "max_batch_size",
                                         "max_sequence_length",
                                         "attention_chunk_size",
                                         "no_rope_layers",
                                         "moe_layers",
                                         "attn_scale",
                                         "attn_temperature_tuning",
                                         "floor_scale",
                                         "for_llm_compressor",
                                         "word_embed_proj_dim",
                                         "mtp_transformer_layers",
                                         "use_mrope",
                                         "vision_config",
                                         "audio_config",
                                         "image_token_id",
                                         "video_token_id",
                                         "vision_start_token_id",
                                         "vision_end_token_id",
                                         "vision_token_id",
                                         "text_config",
                                         "llm_config",
                                         "language_config",
                                         "is_encoder_decoder",
                                         "add_cross_attention",
                                         "is_decoder",
                                         "id2label",
                                         "label2id",
                                         "return_dict",
                                         "top_k",
                                         "top_p",
                                         "temperature",
                                         "num_beams",
                                         "num_beam_groups",
                                         "num_return_sequences",
                                         "length_penalty",
                                         "repetition_penalty",
                                         "max_length",
                                         "min_length",
                                         "do_sample",
                                         "do_layer_norm_before",
                                         "layerdrop",
                                         "dropout",
                                         "activation_dropout",
                                         "enable_bias",
                                         "prefix",
                                         "torchscript",
                                         NULL};

/* How the names of sizes and counts end. */
static const char *const size_endings[] = {"_size",
                                           "_dim",
                                           "_heads",
                                           "_layers",
                                           "_experts",
                                           "_rank",
                                           "_channels",
                                           "_interval",
                                           "_topk",
                                           NULL};

/* How the names of layers of a kind we do not have begin. */
static const char *const layer_beginnings[] = {"mamba_", "ssm_", "linear_attn", NULL};

static const char *const shape_keys[] = {"attention_k_eq_v",
                                         "attn_output_gate",
                                         "attn_type_list",
                                         "block_configs",
                                         "enable_moe_block",
                                         "hidden_size_per_layer_input",
                                         "hybrid_override_pattern",
                                         "layers_block_type",
                                         "use_double_wide_mlp",
                                         NULL};

static bool hf_keys_listed(const char *key, const char *const *list) {
    for (; *list; list++)
        if (!strcmp(key, *list))
            return true;
    return false;
}

static bool hf_keys_begins(const char *key, const char *const *beginnings) {
    for (; *beginnings; beginnings++)
        if (!strncmp(key, *beginnings, strlen(*beginnings)))
            return true;
    return false;
}

static bool hf_keys_ends(const char *key, const char *const *endings) {
    size_t length = strlen(key);
    for (; *endings; endings++) {
        size_t ending = strlen(*endings);
        if (length > ending && !strcmp(key + length - ending, *endings))
            return true;
    }
    return false;
}

/* null, false, 0 and empty lists switch off what their key is about. */
static bool hf_keys_switched_off(const json_t *value) {
    if (json_is_number(value))
        return json_number_value(value) == 0;
    if (json_is_array(value))
        return json_array_size(value) == 0;
    return json_is_null(value) || json_is_false(value);
}

bool sc__hf_key_is_quiet(const char *key) {
    return hf_keys_listed(key, quiet_keys);
}

bool sc__hf_key_shapes_model(const char *key, const json_t *value) {
    if (hf_keys_switched_off(value))
        return false;
    return (json_is_number(value) && hf_keys_ends(key, size_endings)) ||
           hf_keys_begins(key, layer_beginnings) || hf_keys_listed(key, shape_keys);
}
