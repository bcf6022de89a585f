#include "model/hf_family.h"

#include <string.h>

static const struct sc__hf_family families[] = {
    {"gpt2",
     SC__HF_BIAS | SC__HF_TIED | SC__HF_LEARNED | SC__HF_NEW_GELU | SC__HF_FOUR_TIMES,
     NULL},
    {"gpt", SC__HF_BIAS | SC__HF_TIED | SC__HF_LEARNED | SC__HF_FOUR_TIMES, NULL},
    {"gpt_bigcode",
     SC__HF_BIAS | SC__HF_TIED | SC__HF_LEARNED | SC__HF_FOUR_TIMES | SC__HF_MULTI_QUERY,
     NULL},
    {"gptj", SC__HF_NEW_GELU | SC__HF_FOUR_TIMES | SC__HF_ONE_NORM, NULL},
    {"codegen", SC__HF_NEW_GELU | SC__HF_FOUR_TIMES | SC__HF_ONE_NORM, NULL},
    {"gpt_neo",
     SC__HF_BIAS | SC__HF_TIED | SC__HF_LEARNED | SC__HF_NEW_GELU | SC__HF_FOUR_TIMES |
         SC__HF_WINDOW_HALF,
     NULL},
    {"opt", SC__HF_BIAS | SC__HF_TIED | SC__HF_LEARNED, NULL},
    {"gpt_neox", SC__HF_BIAS | SC__HF_PACKED_QKV, NULL},
    {"bloom",
     SC__HF_BIAS | SC__HF_TIED | SC__HF_ALIBI | SC__HF_FOUR_TIMES | SC__HF_EMBEDDING_NORM,
     NULL},
    {"falcon",
     SC__HF_TIED | SC__HF_FOUR_TIMES | SC__HF_PACKED_QKV | SC__HF_MULTI_QUERY,
     NULL},
    {"palm", SC__HF_GATED | SC__HF_TIED | SC__HF_NO_NORM_BIAS, NULL},
    {"mpt", SC__HF_TIED | SC__HF_LEARNED | SC__HF_NO_NORM_BIAS | SC__HF_FOUR_TIMES, NULL},
    {"nemotron", 0, NULL},
    {"persimmon", SC__HF_BIAS | SC__HF_QK_NORM, NULL},
    {"starcoder2", SC__HF_BIAS | SC__HF_TIED, NULL},
    {"cohere", SC__HF_GATED | SC__HF_TIED | SC__HF_NO_NORM_BIAS | SC__HF_ONE_NORM, NULL},
    {"cohere2",
     SC__HF_GATED | SC__HF_TIED | SC__HF_NO_NORM_BIAS | SC__HF_ONE_NORM |
         SC__HF_WINDOW_FOURTH,
     NULL},
    {"dbrx", SC__HF_GATED | SC__HF_NO_NORM_BIAS, "num_experts"},
    {"olmo", SC__HF_GATED | SC__HF_NO_NORM_BIAS, NULL},
    {"hf_olmo", SC__HF_GATED | SC__HF_NO_NORM_BIAS, NULL},
    {"phimoe", SC__HF_GATED, "num_local_experts"},
    {"phi", SC__HF_BIAS | SC__HF_NEW_GELU | SC__HF_ONE_NORM, NULL},
    {"stablelm", SC__HF_GATED | SC__HF_PARALLEL, NULL},
    {"llama", SC__HF_GATED | SC__HF_RMS, NULL},
    {"mistral", SC__HF_GATED | SC__HF_RMS, NULL},
    {"ministral3", SC__HF_GATED | SC__HF_RMS, NULL},
    {"smollm3", SC__HF_GATED | SC__HF_RMS | SC__HF_TIED, NULL},
    {"olmo2", SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM | SC__HF_WIDE_NORMS, NULL},
    {"olmo3",
     SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM | SC__HF_WINDOW_FOURTH | SC__HF_WIDE_NORMS,
     NULL},
    {"granite", SC__HF_GATED | SC__HF_RMS, NULL},
    {"internlm2", SC__HF_GATED | SC__HF_RMS, NULL},
    {"internlm3", SC__HF_GATED | SC__HF_RMS, NULL},
    {"exaone", SC__HF_GATED | SC__HF_RMS, NULL},
    {"exaone4", SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM | SC__HF_WINDOW_FOURTH, NULL},
    {"apertus", SC__HF_RMS | SC__HF_QK_NORM, NULL},
    {"arcee", SC__HF_RMS, NULL},
    {"hyperclovax", SC__HF_GATED | SC__HF_RMS, NULL},
    {"mimo", SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS, NULL},
    {"orion", SC__HF_GATED, NULL},
    {"xverse", SC__HF_GATED | SC__HF_RMS, NULL},
    {"bitnet", SC__HF_GATED | SC__HF_RMS | SC__HF_TIED, NULL},
    {"minicpm", SC__HF_GATED | SC__HF_RMS | SC__HF_TIED, NULL},
    {"minicpm3", SC__HF_GATED | SC__HF_RMS | SC__HF_TIED, NULL},
    {"glm", SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS, NULL},
    {"ernie4_5", SC__HF_GATED | SC__HF_RMS | SC__HF_TIED, NULL},
    {"seed_oss", SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS, NULL},
    {"hunyuan_v1_dense", SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM, NULL},
    {"qwen", SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS, NULL},
    {"baichuan", SC__HF_GATED | SC__HF_RMS, NULL},
    {"chatglm", SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS, NULL},
    {"phi3", SC__HF_GATED | SC__HF_RMS | SC__HF_PACKED_QKV, NULL},
    {"gemma", SC__HF_GATED | SC__HF_RMS | SC__HF_TIED | SC__HF_WIDE_NORMS, NULL},
    {"gemma2",
     SC__HF_GATED | SC__HF_RMS | SC__HF_WIDE_NORMS | SC__HF_TIED | SC__HF_POST_NORMS |
         SC__HF_WINDOW_HALF,
     NULL},
    {"gemma3_text",
     SC__HF_GATED | SC__HF_RMS | SC__HF_WIDE_NORMS | SC__HF_TIED | SC__HF_POST_NORMS |
         SC__HF_QK_NORM | SC__HF_WINDOW_SIXTH,
     NULL},
    {"gemma4_text",
     SC__HF_GATED | SC__HF_RMS | SC__HF_WIDE_NORMS | SC__HF_TIED | SC__HF_POST_NORMS |
         SC__HF_QK_NORM | SC__HF_WINDOW_SIXTH | SC__HF_GEMMA4,
     NULL},
    {"glm4", SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS | SC__HF_POST_NORMS, NULL},
    {"glm4v_text", SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS | SC__HF_POST_NORMS, NULL},
    {"glm4_moe", SC__HF_GATED | SC__HF_RMS | SC__HF_ROUTER_BIAS, "n_routed_experts"},
    {"solar_open", SC__HF_GATED | SC__HF_RMS | SC__HF_ROUTER_BIAS, "n_routed_experts"},
    {"exaone_moe",
     SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM | SC__HF_WINDOW_FOURTH | SC__HF_ROUTER_BIAS,
     "num_experts"},
    {"glm4v_moe_text",
     SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS | SC__HF_ROUTER_BIAS,
     "n_routed_experts"},
    {"llama4_text", SC__HF_GATED | SC__HF_RMS | SC__HF_LLAMA4, "num_local_experts"},
    {"grok", SC__HF_GATED | SC__HF_RMS | SC__HF_TIED, NULL},
    {"qwen2", SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS, NULL},
    {"qwen2_vl", SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS, NULL},
    {"qwen2_5_vl", SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS, NULL},
    {"qwen2_vl_text", SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS, NULL},
    {"qwen2_5_vl_text", SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS, NULL},
    {"qwen2_5_omni_text", SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS, NULL},
    {"qwen3", SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM, NULL},
    {"qwen3_vl_text", SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM, NULL},
    {"mixtral", SC__HF_GATED | SC__HF_RMS, "num_local_experts"},
    {"granitemoe", SC__HF_GATED | SC__HF_RMS, "num_local_experts"},
    {"granitemoeshared", SC__HF_GATED | SC__HF_RMS, "num_local_experts"},
    {"olmoe", SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM, "num_experts"},
    {"flex_olmo",
     SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM | SC__HF_WIDE_NORMS,
     "num_experts"},
    {"arctic", SC__HF_GATED | SC__HF_RMS | SC__HF_DENSE_BESIDE, "num_local_experts"},
    {"ernie4_5_moe",
     SC__HF_GATED | SC__HF_RMS | SC__HF_TIED | SC__HF_ROUTER_BIAS,
     "num_experts"},
    {"hunyuan_v1_moe", SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM, "num_experts"},
    {"hy_v3",
     SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM | SC__HF_ROUTER_BIAS,
     "num_experts"},
    {"bailing_moe", SC__HF_GATED | SC__HF_RMS, "num_experts"},
    {"bailing_moe_v2", SC__HF_GATED | SC__HF_RMS, "num_experts"},
    {"dots1",
     SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM | SC__HF_ROUTER_BIAS,
     "n_routed_experts"},
    {"afmoe",
     SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM | SC__HF_POST_NORMS | SC__HF_WINDOW_FOURTH |
         SC__HF_ROUTER_BIAS,
     "num_experts"},
    {"minimax_m2",
     SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM | SC__HF_ROUTER_BIAS,
     "num_local_experts"},
    {"qwen2_moe",
     SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS | SC__HF_SHARED_GATE,
     "num_experts"},
    {"qwen3_moe", SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM, "num_experts"},
    {"mellum", SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM, "num_experts"},
    {"qwen3_vl_moe_text", SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM, "num_experts"},
    {"qwen3_omni_moe_text", SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM, "num_experts"},
    {"nemotron_h", SC__HF_RMS | SC__HF_ALIBI | SC__HF_ROUTER_BIAS | SC__HF_LETTERS, NULL},
    {"mamba2", SC__HF_RMS | SC__HF_ALIBI | SC__HF_LETTERS | SC__HF_FOUR_TIMES, NULL},
    {"granitemoehybrid", SC__HF_GATED | SC__HF_RMS | SC__HF_MAMBA_KEYS, NULL},
    {"bamba", SC__HF_GATED | SC__HF_RMS | SC__HF_MAMBA_KEYS, NULL},
    {"qwen3_next",
     SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM | SC__HF_SHARED_GATE | SC__HF_DELTA,
     "num_experts"},
    {"qwen3_5_text", SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM | SC__HF_DELTA, NULL},
    {"qwen3_5_moe_text",
     SC__HF_GATED | SC__HF_RMS | SC__HF_QK_NORM | SC__HF_SHARED_GATE | SC__HF_DELTA,
     "num_experts"},
    {"deepseek", SC__HF_GATED | SC__HF_RMS, "n_routed_experts"},
    {"deepseek_v2", SC__HF_GATED | SC__HF_RMS, "n_routed_experts"},
    {"mistral4", SC__HF_GATED | SC__HF_RMS, "n_routed_experts"},
    {"deepseek_v3", SC__HF_GATED | SC__HF_RMS | SC__HF_ROUTER_BIAS, "n_routed_experts"},
    {"deepseek_v32", SC__HF_GATED | SC__HF_RMS | SC__HF_ROUTER_BIAS, "n_routed_experts"},
    {"glm_moe_dsa", SC__HF_GATED | SC__HF_RMS | SC__HF_ROUTER_BIAS, "n_routed_experts"},
    {"glm4_moe_lite", SC__HF_GATED | SC__HF_RMS | SC__HF_ROUTER_BIAS, "n_routed_experts"},
    {"kimi_k2", SC__HF_GATED | SC__HF_RMS | SC__HF_ROUTER_BIAS, "n_routed_experts"},
    {"gpt_oss",
     SC__HF_GATED | SC__HF_RMS | SC__HF_QKV_BIAS | SC__HF_OUT_BIAS | SC__HF_ROUTER_BIAS |
         SC__HF_EXPERT_BIAS | SC__HF_WINDOW_HALF,
     "num_local_experts"},
    {NULL, 0, NULL},
};

static const struct sc__hf_family like_llama = {
    "llama-like", SC__HF_GATED | SC__HF_RMS | SC__HF_TIED, NULL};

/* As in the modeling files of transformers, and those beside the weights of minimax_m2 and
 * the first InternLM (which is read as a Llama). */
static const struct {
    const char *type;
    unsigned details;
} details[] = {
    {"llama-like", SC__HF_BIAS_OF_ATTENTION},
    {"internlm2", SC__HF_BIAS_OF_ATTENTION},
    {"bloom", SC__HF_FUNCTION_GELU},
    {"opt", SC__HF_SPARE_POSITIONS},
    {"gpt_neo", SC__HF_NO_QKV_BIAS},
    {"gptj", SC__HF_MLP_BIAS | SC__HF_HEAD_BIAS},
    {"codegen", SC__HF_MLP_BIAS | SC__HF_HEAD_BIAS},
    {"phi", SC__HF_HEAD_BIAS | SC__HF_NO_WINDOWS},
    {"olmo", SC__HF_BARE_NORMS | SC__HF_NO_WINDOWS},
    {"hf_olmo", SC__HF_BARE_NORMS | SC__HF_NO_WINDOWS},
    {"olmo2", SC__HF_HEAD_NORMS | SC__HF_NO_WINDOWS},
    {"olmo3", SC__HF_HEAD_NORMS},
    {"olmoe", SC__HF_HEAD_NORMS | SC__HF_NO_WINDOWS},
    {"minimax_m2", SC__HF_HEAD_NORMS | SC__HF_WIDE_ROUTES},
    {"cohere", SC__HF_HEAD_NORMS | SC__HF_NO_WINDOWS},
    {"stablelm", SC__HF_HEAD_NORMS | SC__HF_NO_WINDOWS},
    {"gpt_oss", SC__HF_SINKS},
    {"glm", SC__HF_INPUT_BIASES | SC__HF_NO_WINDOWS},
    {"glm4", SC__HF_INPUT_BIASES | SC__HF_NO_WINDOWS},
    {"glm4_moe",
     SC__HF_INPUT_BIASES | SC__HF_WIDE_ROUTES | SC__HF_WIDE_ROUTER | SC__HF_NO_WINDOWS},
    {"glm4v_text", SC__HF_INPUT_BIASES},
    {"mimo", SC__HF_INPUT_BIASES | SC__HF_WINDOW_IF_ASKED},
    {"seed_oss", SC__HF_INPUT_BIASES | SC__HF_NO_WINDOWS},
    {"falcon", SC__HF_SIDE_BY_SIDE},
    {"qwen2", SC__HF_WINDOW_IF_ASKED | SC__HF_FIXED_BIASES},
    {"qwen2_moe", SC__HF_WINDOW_IF_ASKED},
    {"qwen2_vl", SC__HF_WINDOW_IF_ASKED | SC__HF_FIXED_BIASES},
    {"qwen2_vl_text", SC__HF_WINDOW_IF_ASKED | SC__HF_FIXED_BIASES},
    {"qwen2_5_vl", SC__HF_WINDOW_IF_ASKED | SC__HF_FIXED_BIASES},
    {"qwen2_5_vl_text", SC__HF_WINDOW_IF_ASKED | SC__HF_FIXED_BIASES},
    {"qwen2_5_omni_text", SC__HF_WINDOW_IF_ASKED | SC__HF_FIXED_BIASES},
    {"qwen3", SC__HF_WINDOW_IF_ASKED},
    {"qwen3_moe", SC__HF_WINDOW_IF_ASKED},
    {"qwen3_omni_moe_text", SC__HF_WINDOW_IF_ASKED},
    {"flex_olmo", SC__HF_HEAD_NORMS | SC__HF_NO_WINDOWS},
    {"apertus", SC__HF_LEARNED_ACTIVATION},
    {"bitnet", SC__HF_SUB_NORMS},
    {"glm4v_moe_text", SC__HF_INPUT_BIASES | SC__HF_WIDE_ROUTES | SC__HF_WIDE_ROUTER},
    {"afmoe", SC__HF_ATTENTION_GATE | SC__HF_WIDE_ROUTES},
    {"mamba2", SC__HF_MAMBA_ALONE},
    {"mixtral", SC__HF_WIDE_ROUTES},
    {"llama4_text", SC__HF_EVERY_EXPERT},
    {"deepseek_v2", SC__HF_WIDE_ROUTES | SC__HF_WIDE_ROUTER | SC__HF_NO_WINDOWS},
    {"deepseek_v3", SC__HF_WIDE_ROUTES | SC__HF_WIDE_ROUTER | SC__HF_NO_WINDOWS},
    {"deepseek_v32", SC__HF_WIDE_ROUTES | SC__HF_WIDE_ROUTER},
    {"kimi_k2", SC__HF_WIDE_ROUTES | SC__HF_WIDE_ROUTER | SC__HF_NO_WINDOWS},
    {"glm4_moe_lite", SC__HF_WIDE_ROUTES | SC__HF_WIDE_ROUTER},
    {"glm_moe_dsa", SC__HF_WIDE_ROUTES | SC__HF_WIDE_ROUTER},
    {"exaone_moe", SC__HF_WIDE_ROUTES | SC__HF_WIDE_ROUTER},
    {"hy_v3", SC__HF_WIDE_ROUTES | SC__HF_WIDE_ROUTER},
    {"nemotron_h", SC__HF_WIDE_ROUTES | SC__HF_WIDE_ROUTER},
    {"dots1", SC__HF_WIDE_ROUTES | SC__HF_WIDE_ROUTER},
    {"ernie4_5_moe", SC__HF_WIDE_ROUTER},
    {"llama", SC__HF_NO_WINDOWS},
    {"arcee", SC__HF_NO_WINDOWS},
    {"granite", SC__HF_NO_WINDOWS},
    {"granitemoe", SC__HF_NO_WINDOWS},
    {"granitemoeshared", SC__HF_NO_WINDOWS},
    {"gemma", SC__HF_NO_WINDOWS},
    {"nemotron", SC__HF_NO_WINDOWS},
    {"deepseek", SC__HF_NO_WINDOWS},
};

/* Types whose layers are of a kind we do not have. */
static const struct {
    const char *type;
    const char *what;
} refused[] = {
    {"minimax", "layers of linear attention (attn_type_list)"},
    {"minimax_m1", "layers of linear attention (attn_type_list)"},
    {"minimax_text_01", "layers of linear attention (attn_type_list)"},
    {"kimi_linear", "layers of linear attention (linear_attn_config)"},
    {"gemma3n_text",
     "embeddings of each layer and layers that share keys and values "
     "(hidden_size_per_layer_input)"},
    {"mamba", "Mamba layers"},
    {"falcon_mamba", "Mamba layers"},
    {"jamba", "Mamba layers (attn_layer_period)"},
    {"zamba2", "Mamba layers"},
    {"falcon_h1", "Mamba layers"},
    {"lfm2", "layers of short convolutions (full_attn_idxs)"},
    {"lfm2_moe", "layers of short convolutions (layer_types)"},
    {"deepseek_v4",
     "attention to compressed keys and several residual streams (compress_ratios, "
     "hc_mult)"},
    {"mimo_v2_flash",
     "heads of their own in layers with a window (swa_num_attention_heads)"},
    {"step3_text", "queries of a rank of their own (share_q_dim)"},
    {"step3p5", "heads of their own in layers with a window (attention_other_setting)"},
    {"longcat_flash",
     "two parts of attention a layer and experts that compute nothing (zero_expert_num)"},
    {"mllama_text_model", "layers of attention to a picture (cross_attention_layers)"},
    {"nemotron-nas", "layers of different sizes (block_configs)"},
    {"phi3small", "attention to blocks of keys (blocksparse_block_size)"},
    {"diffllama", "differences of two attentions (lambda_std_dev)"},
    {"jetmoe", "attention that goes to experts"},
    {"ouro", "layers that are run several times (total_ut_steps)"},
    {"huginn_raven", "layers that are run several times (mean_recurrence)"},
    {"doge", "attention with a mask it learns (keep_window_size)"},
    {"yuan", "convolutions before attention"},
    {"laguna", "heads and gates of their own in each layer (gating)"},
    {"minimax_m3_vl_text", "attention to blocks of keys (sparse_attention_config)"},
    {"olmo_hybrid", "layers of linear attention (layer_types)"},
    {"cohere2_moe", "norms and experts of another kind (prefix_dense_intermediate_size)"},
    {"phi4_multimodal", "adapters for pictures and sound in its layers"},
    {"step3p7", "heads of their own in layers with a window (attention_other_setting)"},
    {"phi4mm", "adapters for pictures and sound in its layers (vision_lora, speech_lora)"},
    {"phi4flash", "Mamba layers, and layers that share keys and values"},
    {"zamba", "Mamba layers"},
    {"hymba", "Mamba layers"},
    {"plamo2", "Mamba layers"},
    {"bailing_moe_linear", "layers of linear attention (layer_group_size)"},
    {"bailing_hybrid", "layers of linear attention (layer_group_size)"},
    {"ernie4_5_moe_vl", "experts for text and for pictures of two sizes (moe_num_experts)"},
    {"ernie4_5_vl_moe", "experts for text and for pictures of two sizes (moe_num_experts)"},
    {"ernie4_5_vl_moe_text",
     "experts for text and for pictures of two sizes (moe_num_experts)"},
    {"openelm", "layers of different sizes (num_query_heads)"},
    {"Dream", "attention in both directions (a model of diffusion)"},
    {"llada", "attention in both directions (a model of diffusion)"},
    {"llada_moe", "attention in both directions (a model of diffusion)"},
    {"sdar", "attention in both directions (a model of diffusion)"},
    {"sdar_moe", "attention in both directions (a model of diffusion)"},
    {"retnet", "layers of linear attention"},
    {"gla", "layers of linear attention"},
    {"gated_deltanet", "layers of linear attention"},
    {"delta_net", "layers of linear attention"},
    {"xlstm", "recurrent layers"},
    {"recurrent_gemma", "recurrent layers (block_types)"},
    {"rwkv", "recurrent layers"},
    {"rwkv5", "recurrent layers"},
    {"rwkv6", "recurrent layers"},
    {"rwkv7", "recurrent layers"},
    {"albert", "an encoder"},
    {"bart", "an encoder"},
    {"bert", "an encoder"},
    {"camembert", "an encoder"},
    {"deberta", "an encoder"},
    {"deberta-v2", "an encoder"},
    {"distilbert", "an encoder"},
    {"electra", "an encoder"},
    {"esm", "an encoder"},
    {"eurobert", "an encoder"},
    {"longformer", "an encoder"},
    {"longt5", "an encoder"},
    {"m2m_100", "an encoder"},
    {"marian", "an encoder"},
    {"mbart", "an encoder"},
    {"modernbert", "an encoder"},
    {"mpnet", "an encoder"},
    {"mt5", "an encoder"},
    {"nomic_bert", "an encoder"},
    {"pegasus", "an encoder"},
    {"roberta", "an encoder"},
    {"t5", "an encoder"},
    {"t5gemma", "an encoder"},
    {"umt5", "an encoder"},
    {"xlm-roberta", "an encoder"},
    {"clip", "towers of pictures and text alone"},
    {"siglip", "towers of pictures and text alone"},
    {"siglip2", "towers of pictures and text alone"},
    {"vit", "a tower of pictures alone"},
    {"dinov2", "a tower of pictures alone"},
    {"dinov3_vit", "a tower of pictures alone"},
    {"whisper", "an encoder of sound"},
    {"wav2vec2", "an encoder of sound"},
};

const struct sc__hf_family *sc__hf_family_find(const char *type) {
    for (const struct sc__hf_family *f = families; f->type; f++)
        if (!strcmp(f->type, type))
            return f;
    return NULL;
}

/* "gpt_neox" is the GPTNeoX of GPTNeoXForCausalLM. */
static bool begins_class(const char *class, const char *type) {
    for (; *type; type++) {
        if (*type == '_')
            continue;
        if ((*class ++ | 0x20) != *type) /* small letters; digits stay */
            return false;
    }
    return !strncmp(class, "For", 3) || !strcmp(class, "LMHeadModel") ||
           !strcmp(class, "Model");
}

const struct sc__hf_family *sc__hf_family_of_class(const char *class) {
    for (const struct sc__hf_family *f = families; f->type; f++)
        if (begins_class(class, f->type))
            return f;
    return NULL;
}

/* "modeling_deepseek" for deepseek_v3, "modeling_internlm2": the code of a type that is
 * known by its name. */
bool sc__hf_family_has_code(const char *module) {
    static const char word[] = "modeling_";
    const char *name = strstr(module, word);
    struct sc__str own = sc__str(name ? name + sizeof word - 1 : "");
    while (own.n && memchr(own.p, '.', own.n))
        own.n--;
    for (const struct sc__hf_family *f = families; f->type && own.n; f++) {
        size_t n = strlen(f->type) < own.n ? strlen(f->type) : own.n;
        if (!memcmp(f->type, own.p, n))
            return true;
    }
    return !own.n;
}

bool sc__hf_class_without_head(const char *class) {
    static const char *const heads[] = {"ForSequenceClassification",
                                        "ForTokenClassification",
                                        "ForQuestionAnswering",
                                        "ForRewardModel",
                                        NULL};
    size_t length = strlen(class);
    for (const char *const *head = heads; *head; head++)
        if (strstr(class, *head))
            return true;
    bool layers = length > 5 && !strcmp(class + length - 5, "Model");
    return layers && !strstr(class, "LMHead") && !strstr(class, "For") &&
           strncmp(class, "ChatGLM", 7) != 0; /* whose head is in it */
}

const struct sc__hf_family *sc__hf_family_like_llama(void) {
    return &like_llama;
}

const char *sc__hf_family_list(struct sc_context *ctx) {
    struct sc__buffer known;
    sc__buffer_init(&known, &ctx->arena);
    sc__puts(&known, "known are:");
    for (const struct sc__hf_family *f = families; f->type; f++)
        sc__printf(&known, " %s", f->type);
    return known.text;
}

const char *sc__hf_family_refused(const char *type) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (!strcmp(refused[i].type, type))
            return refused[i].what;
    return NULL;
}

unsigned sc__hf_family_details(const char *type) {
    for (size_t i = 0; i < sizeof details / sizeof *details; i++)
        if (!strcmp(details[i].type, type))
            return details[i].details;
    return 0;
}

static void apply_details(unsigned d, struct sc__model *m) {
    m->head_norms = d & SC__HF_HEAD_NORMS;
    m->head_bias = d & SC__HF_HEAD_BIAS;
    m->mlp_bias = d & SC__HF_MLP_BIAS;
    m->no_qkv_bias = d & SC__HF_NO_QKV_BIAS;
    m->bare_norms = d & SC__HF_BARE_NORMS;
    m->sinks = d & SC__HF_SINKS;
    m->function_gelu = d & SC__HF_FUNCTION_GELU;
    m->spare_positions = d & SC__HF_SPARE_POSITIONS ? 2 : 0;
    m->attention_gate = d & SC__HF_ATTENTION_GATE;
    m->learned_activation = d & SC__HF_LEARNED_ACTIVATION;
    m->sub_norms = d & SC__HF_SUB_NORMS;
    m->wide_routes = d & SC__HF_WIDE_ROUTES;
    m->wide_router = d & SC__HF_WIDE_ROUTER;
    m->every_expert = d & SC__HF_EVERY_EXPERT;
}

void sc__hf_apply_traits(const struct sc__hf_family *family, struct sc__model *m) {
    unsigned t = family->traits;
    apply_details(sc__hf_family_details(family->type), m);
    m->gated = t & SC__HF_GATED;
    m->norm = t & SC__HF_RMS ? SC__RMSNORM : SC__LAYERNORM;
    m->norm_bias = !(t & (SC__HF_RMS | SC__HF_NO_NORM_BIAS));
    m->linear_bias = t & SC__HF_BIAS;
    m->qkv_bias = t & SC__HF_QKV_BIAS;
    m->out_bias = t & SC__HF_OUT_BIAS;
    m->qk_norm = t & SC__HF_QK_NORM;
    m->tied = t & SC__HF_TIED;
    m->router_bias = t & SC__HF_ROUTER_BIAS;
    m->expert_bias = t & SC__HF_EXPERT_BIAS;
    m->shared_gate = t & SC__HF_SHARED_GATE;
    m->post_norms = t & SC__HF_POST_NORMS;
    m->no_rotary = t & SC__HF_ALIBI;
    m->embedding_norm = t & SC__HF_EMBEDDING_NORM;
    m->new_gelu = t & SC__HF_NEW_GELU;
    m->wide_norms = t & SC__HF_WIDE_NORMS;
    m->packed_qkv = t & SC__HF_PACKED_QKV;
    m->one_norm = t & SC__HF_ONE_NORM;
}
