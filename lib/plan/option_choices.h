/* option_choices: what can be said where an option of a plan takes a word, and what it is
 * in sc_plan. Part of plan/options.c. */
#ifndef SC_PLAN_OPTION_CHOICES_H
#define SC_PLAN_OPTION_CHOICES_H

#include "base/options.h"

static const struct sc__choice on[] = {{"on", SC_ON}, {0}};
static const struct sc__choice off[] = {{"off", SC_OFF}, {0}};
static const struct sc__choice yes_no[] = {{"no", SC_OFF}, {"yes", SC_ON}, {0}};
static const struct sc__choice schedules[] = {{"auto", SC_SCHEDULE_AUTO},
                                              {"1f1b", SC_SCHEDULE_1F1B},
                                              {"gpipe", SC_SCHEDULE_GPIPE},
                                              {"interleaved", SC_SCHEDULE_INTERLEAVED},
                                              {"zb-h1", SC_SCHEDULE_ZB_H1},
                                              {"zb-2p", SC_SCHEDULE_ZB_2P},
                                              {"zb-v", SC_SCHEDULE_ZB_V},
                                              {"dualpipev", SC_SCHEDULE_DUALPIPEV},
                                              {"dualpipe", SC_SCHEDULE_DUALPIPE},
                                              {0}};
static const struct sc__choice recomputes[] = {{"none", SC_RECOMPUTE_NONE},
                                               {"selective", SC_RECOMPUTE_SELECTIVE},
                                               {"full", SC_RECOMPUTE_FULL},
                                               {"ops", SC_RECOMPUTE_OPS},
                                               {0}};
static const struct sc__choice checkpointings[] = {{"none", SC_RECOMPUTE_NONE},
                                                   {"selective", SC_RECOMPUTE_SELECTIVE},
                                                   {"full", SC_RECOMPUTE_FULL},
                                                   {0}};
static const struct sc__choice selective[] = {{"selective", SC_RECOMPUTE_SELECTIVE}, {0}};
static const struct sc__choice methods[] = {
    {"uniform", SC_RECOMPUTE_UNIFORM}, {"block", SC_RECOMPUTE_BLOCK}, {0}};
static const struct sc__choice modules[] = {
    {"core_attn", SC_MODULE_CORE_ATTENTION},
    {"layernorm", SC_MODULE_LAYERNORM},
    {"norm", SC_MODULE_NORM},
    {"act", SC_MODULE_ACTIVATION | SC_MODULE_MOE_ACTIVATION},
    {"mlp", SC_MODULE_MLP},
    {"moe_act", SC_MODULE_MOE_ACTIVATION},
    {"moe", SC_MODULE_MOE},
    {"shared_experts", SC_MODULE_SHARED_EXPERTS},
    {"mla_up_proj", SC_MODULE_MLA_UP_PROJECTION},
    {0}};
static const struct sc__choice zeros[] = {{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}, {0}};
static const struct sc__choice zero_1[] = {{"1", 1}, {0}};
static const struct sc__choice zero_3[] = {{"3", 3}, {0}};
/* behind our own names: the first of a value is the one that is written */
#define PYTORCH_DTYPES                                                                     \
    {"float32", SC_DTYPE_FP32}, {"float16", SC_DTYPE_FP16}, {"bfloat16", SC_DTYPE_BF16},   \
        {"torch.float32", SC_DTYPE_FP32}, {"torch.float16", SC_DTYPE_FP16}, {              \
        "torch.bfloat16", SC_DTYPE_BF16                                                    \
    }
static const struct sc__choice dtypes[] = {{"fp32", SC_DTYPE_FP32},
                                           {"tf32", SC_DTYPE_TF32},
                                           {"fp16", SC_DTYPE_FP16},
                                           {"bf16", SC_DTYPE_BF16},
                                           PYTORCH_DTYPES,
                                           {0}};
static const struct sc__choice precisions[] = {{"bf16", SC_DTYPE_BF16},
                                               {"fp16", SC_DTYPE_FP16},
                                               {"fp32", SC_DTYPE_FP32},
                                               {"fp8", SC_DTYPE_FP8},
                                               PYTORCH_DTYPES,
                                               {0}};
static const struct sc__choice grad_dtypes[] = {{"fp32", SC_DTYPE_FP32},
                                                {"bf16", SC_DTYPE_BF16},
                                                {"fp16", SC_DTYPE_FP16},
                                                PYTORCH_DTYPES,
                                                {0}};
static const struct sc__choice moment_dtypes[] = {{"fp32", SC_DTYPE_FP32},
                                                  {"bf16", SC_DTYPE_BF16},
                                                  {"fp16", SC_DTYPE_FP16},
                                                  {"fp8", SC_DTYPE_FP8},
                                                  PYTORCH_DTYPES,
                                                  {0}};
static const struct sc__choice fp16[] = {{"fp16", SC_DTYPE_FP16}, {0}};
static const struct sc__choice bf16[] = {{"bf16", SC_DTYPE_BF16}, {0}};
static const struct sc__choice fp8[] = {{"fp8", SC_DTYPE_FP8}, {0}};
static const struct sc__choice fp4[] = {{"fp4", SC_DTYPE_FP4}, {0}};
static const struct sc__choice fp4_formats[] = {{"e2m1", SC_DTYPE_FP4}, {0}};
static const struct sc__choice fp4_recipes[] = {{"nvfp4", SC_FP8_RECIPE_NVFP4}, {0}};
static const struct sc__choice fp8_formats[] = {
    {"e4m3", SC_DTYPE_FP8}, {"hybrid", SC_DTYPE_FP8}, {0}};
static const struct sc__choice scalings[] = {
    {"fused", SC_FP8_FUSED}, {"dynamic", SC_FP8_DYNAMIC}, {0}};
static const struct sc__choice recipes[] = {{"delayed", SC_FP8_RECIPE_DELAYED},
                                            {"tensorwise", SC_FP8_RECIPE_TENSORWISE},
                                            {"blockwise", SC_FP8_RECIPE_BLOCKWISE},
                                            {"mxfp8", SC_FP8_RECIPE_MXFP8},
                                            {"nvfp4", SC_FP8_RECIPE_NVFP4},
                                            {"rowwise", SC_FP8_RECIPE_ROWWISE},
                                            {0}};
static const struct sc__choice fusions[] = {{"megatron", SC_FUSION_MEGATRON},
                                            {"eager", SC_FUSION_EAGER},
                                            {"2021", SC_FUSION_2021},
                                            {"hf", SC_FUSION_HF},
                                            {0}};
static const struct sc__choice attentions[] = {{"current", SC_ATTENTION_CURRENT},
                                               {"flash2", SC_ATTENTION_FLASH2},
                                               {"flash1", SC_ATTENTION_FLASH1},
                                               {"unfused", SC_ATTENTION_UNFUSED},
                                               {"fused", SC_ATTENTION_FUSED},
                                               {0}};
static const struct sc__choice tp_overlaps[] = {{"no", SC_TP_OVERLAP_NO},
                                                {"wgrad", SC_TP_OVERLAP_WGRAD},
                                                {"chunks", SC_TP_OVERLAP_CHUNKS},
                                                {0}};
static const struct sc__choice chunks[] = {{"chunks", SC_TP_OVERLAP_CHUNKS}, {0}};
static const struct sc__choice cp_comms[] = {{"p2p", SC_CP_COMM_P2P},
                                             {"all_gather", SC_CP_COMM_ALL_GATHER},
                                             {"a2a", SC_CP_COMM_ALL_TO_ALL},
                                             {"allgather", SC_CP_COMM_ALL_GATHER},
                                             {0}};
static const struct sc__choice dispatchers[] = {
    {"alltoall", SC_MOE_DISPATCHER_ALL_TO_ALL},
    {"allgather", SC_MOE_DISPATCHER_ALL_GATHER},
    {"flex", SC_MOE_DISPATCHER_FLEX},
    {"alltoall_seq", SC_MOE_DISPATCHER_ALL_TO_ALL},
    {0}};
static const struct sc__choice moe_kernels[] = {{"fused", SC_MOE_KERNELS_FUSED},
                                                {"grouped", SC_MOE_KERNELS_GROUPED},
                                                {"unfused", SC_MOE_KERNELS_UNFUSED},
                                                {0}};
static const struct sc__choice moe_routings[] = {
    {"random", SC_MOE_ROUTING_RANDOM}, {"in-turn", SC_MOE_ROUTING_IN_TURN}, {0}};
static const struct sc__choice unfused[] = {{"unfused", SC_MOE_KERNELS_UNFUSED}, {0}};
static const struct sc__choice updates[] = {
    {"mixed", SC_UPDATE_MIXED}, {"plain", SC_UPDATE_PLAIN}, {"amp", SC_UPDATE_AMP}, {0}};
static const struct sc__choice optimizers[] = {{"adam", SC_OPTIMIZER_ADAM},
                                               {"adam-foreach", SC_OPTIMIZER_ADAM_LISTS},
                                               {"adam-8bit", SC_OPTIMIZER_ADAM_8BIT},
                                               {"muon", SC_OPTIMIZER_MUON},
                                               {"sgd", SC_OPTIMIZER_SGD},
                                               {0}};
static const struct sc__choice entropies[] = {{"fused", SC_CROSS_ENTROPY_FUSED},
                                              {"fp32", SC_CROSS_ENTROPY_FP32},
                                              {"half", SC_CROSS_ENTROPY_HALF},
                                              {"chunked", SC_CROSS_ENTROPY_CHUNKED},
                                              {"flash", SC_CROSS_ENTROPY_FLASH},
                                              {"te", SC_CROSS_ENTROPY_TE},
                                              {"unfused", SC_CROSS_ENTROPY_UNFUSED},
                                              {0}};
#define LORA_QKV (SC_LORA_QUERY | SC_LORA_KEY | SC_LORA_VALUE)
#define LORA_SCAN (SC_LORA_SCAN_IN | SC_LORA_SCAN_OUT)
#define LORA_MLP (SC_LORA_GATE | SC_LORA_UP | SC_LORA_DOWN)
static const struct sc__choice lora_targets[] = {
    {"q_proj", SC_LORA_QUERY},
    {"k_proj", SC_LORA_KEY},
    {"v_proj", SC_LORA_VALUE},
    {"o_proj", SC_LORA_OUT},
    {"gate_proj", SC_LORA_GATE},
    {"up_proj", SC_LORA_UP},
    {"down_proj", SC_LORA_DOWN},
    {"in_proj", SC_LORA_SCAN_IN},
    {"in_proj_qkvz", SC_LORA_SCAN_IN},
    {"out_proj", SC_LORA_SCAN_OUT},
    {"linear_qkv", LORA_QKV},
    {"linear_proj", SC_LORA_OUT},
    {"linear_fc1", SC_LORA_GATE | SC_LORA_UP},
    {"linear_fc2", SC_LORA_DOWN},
    {"all", LORA_QKV | SC_LORA_OUT | LORA_MLP | LORA_SCAN},
    {0}};
static const struct sc__choice graphs[] = {
    {"none", SC_GRAPH_NONE},
    {"attn", SC_GRAPH_ATTENTION},
    {"mlp", SC_GRAPH_MLP},
    {"moe", SC_GRAPH_MOE_ROUTER | SC_GRAPH_MLP},
    {"moe_router", SC_GRAPH_MOE_ROUTER},
    {"moe_preprocess", SC_GRAPH_MOE_ROUTER},
    {"full_layer", SC_GRAPH_ATTENTION | SC_GRAPH_MOE_ROUTER | SC_GRAPH_MLP},
    {"full_iteration", SC_GRAPH_FULL_ITERATION},
    {"full", SC_GRAPH_FULL_ITERATION},
    {0}};
static const struct sc__choice graph_impls[] = {
    {"none", 0}, {"local", 1}, {"transformer_engine", 1}, {"full_iteration", 2}, {0}};
static const struct sc__choice norms[] = {
    {"LayerNorm", 0}, {"RMSNorm", 1}, {"layernorm", 0}, {"rmsnorm", 1}, {0}};
static const struct sc__choice positions[] = {{"learned_absolute", 0},
                                              {"rope", 1},
                                              {"none", 2},
                                              {"yarn", 1},
                                              {"mrope", 1},
                                              {"alibi", 2},
                                              {0}};

#endif
