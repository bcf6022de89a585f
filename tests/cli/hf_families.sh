#!/bin/sh
# The count of parameters of models of many families: configurations written down from
# their published shapes (tests/data/models/published.jsonl, one a line), the counts from
# their model cards ("_parameters"; multimodal ones: that of the language model).
: "${STEPCAST:?}"
python3 -S - "$STEPCAST" tests/data/models/published.jsonl <<'P'
import json
import subprocess
import sys

program, models = sys.argv[1:]
for line in open(models):
    model = json.loads(line)
    name = "parameters " + model["_name"].replace(" ", "_")
    done = subprocess.run([program, "run", "--model", "-", "--gpus", "1", "--seq", "1024", "--mtp-num-layers", "0",
                           "--ignore-memory", "--json", "-"], input=line, capture_output=True, text=True)
    if done.returncode:
        print("not ok", name, done.stderr.splitlines()[:1])
        continue
    got = json.loads(done.stdout)["memory_bytes"]["weights"] / 2  # bf16
    off = got / model["_parameters"] - 1
    print("ok" if abs(off) <= 0.005 else "not ok", name, "" if abs(off) <= 0.005 else f"{got:.4g}: {100 * off:+.2f} %")
P
# To the last one: configurations as they are released, and the sums of their tensors' sizes
# (by the modeling file of each family), for most of them the count of the model card as well.
python3 -S - "$STEPCAST" tests/data/models/exact.jsonl <<'P'
import json
import subprocess
import sys

program, models = sys.argv[1:]
for line in open(models):
    model = json.loads(line)
    name = "exactly " + model["_name"]
    done = subprocess.run([program, "run", "--model", "-", "--gpus", "1", "--seq", "1024", "--mtp-num-layers", "0",
                           "--make-vocab-size-divisible-by", "1", "--ignore-memory", "--json", "-"], input=line, capture_output=True, text=True)
    if done.returncode:
        print("not ok", name, done.stderr.splitlines()[:1])
        continue
    result = json.loads(done.stdout)
    got = [result["model"]["parameters"], result["model"]["active_parameters"], result["memory_bytes"]["weights"] / 2]  # bf16
    wanted = [model["_parameters"], model.get("_active", got[1]), model["_parameters"]]
    print("ok" if got == wanted else "not ok", name, "" if got == wanted else f"{got}, not {wanted}")
P
refuse() {
    answer=$(printf '%s' "$3" | "$STEPCAST" run --model - --gpus 1 --ignore-memory 2>&1)
    status=$?
    case $status:$answer in
    3:*"$2"*) echo "ok refuses $1" ;;
    *) echo "not ok refuses $1: $status $answer" ;;
    esac
}
common='"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 1000'
refuse convolutions "short convolutions" "{\"model_type\": \"lfm2\", $common}"
refuse blocks_of_layers "block_configs" "{\"model_type\": \"nemotron-nas\", $common}"
refuse cross_attention "cross_attention_layers" "{\"model_type\": \"mllama_text_model\", $common}"
refuse a_dense_part_beside "residual_moe" "{\"model_type\": \"llama\", $common, \"residual_moe\": true}"
refuse shared_keys "use_cla" "{\"model_type\": \"hunyuan_v1_dense\", $common, \"use_cla\": true}"
refuse a_list_of_sizes "expert_layers" "{\"model_type\": \"llama\", $common, \"expert_layers\": [1, 2]}"
refuse half_of_an_odd_size "both halves" "{\"model_type\": \"qwen\", $(echo "$common" | sed s/1024/1023/)}"
refuse no_mamba_layers "which layers are Mamba's" "{\"model_type\": \"bamba\", $common}"
refuse values_of_another_size "heads of values are 32 wide" "{\"model_type\": \"llama\", $common, \"v_head_dim\": 32}"
refuse a_window_pattern "letters L" "{\"model_type\": \"exaone4\", $common, \"sliding_window_pattern\": \"LGL\"}"
refuse a_layer_of_another_kind "not mamba or attention" \
    "{\"model_type\": \"bamba\", $common, \"layer_types\": [\"mamba\", \"conv\", \"mamba\", \"mamba\"]}"
refuse unequal_experts "moe_topk" \
    "{\"model_type\": \"hunyuan_v1_moe\", $common, \"num_experts\": 4, \"moe_topk\": [1, 2, 1, 1]}"
refuse a_list_of_heads "num_key_value_heads_per_layer" "{\"model_type\": \"deci\", $common, \"hidden_act\": \"silu\", \"num_key_value_heads_per_layer\": [4, 4, 4, 2]}"
refuse linear_layers_in_a_list "attn_type_list" "{\"model_type\": \"minimax_m2\", $common, \"num_local_experts\": 8, \"num_experts_per_tok\": 2, \"attn_type_list\": [1, 0, 1, 1]}"
refuse a_word_for_each_layer "does not have a word for each layer: 1 for 4" "{\"model_type\": \"mistral\", $common, \"layer_types\": [\"full_attention\"]}"
refuse an_encoder "an encoder" "{\"model_type\": \"modernbert\", $common}"
refuse a_tower_of_pictures "a tower of pictures alone" "{\"model_type\": \"vit\", $common}"
refuse no_heads_of_mamba '"num_heads" must be' "{\"model_type\": \"mamba2\", $common}"
refuse compressed_keys "compress_ratios" "{\"model_type\": \"deepseek_v4\", $common}"
refuse heads_of_windows "swa_num_attention_heads" "{\"model_type\": \"mimo_v2_flash\", $common}"
refuse two_attentions "differences of two attentions" "{\"model_type\": \"diffllama\", $common, \"hidden_act\": \"silu\"}"
refuse layers_run_again "total_ut_steps" "{\"model_type\": \"ouro\", $common, \"hidden_act\": \"silu\"}"
refuse experts_of_attention "attention that goes to experts" "{\"model_type\": \"jetmoe\", $common, \"hidden_act\": \"silu\"}"
refuse diffusion "both directions" "{\"model_type\": \"Dream\", $common, \"hidden_act\": \"silu\"}"
refuse adapters_of_towers "vision_lora" "{\"model_type\": \"phi4mm\", $common, \"hidden_act\": \"silu\"}"
refuse a_list_too_short "does not have an entry for each layer: 2 for 4" \
    "{\"model_type\": \"exaone_moe\", $common, \"num_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 64, \"is_moe_layer\": [true, false]}"
# lists with an entry for each layer count as the dense ones before those with experts
counted() { printf '{%s}' "$1" | "$STEPCAST" run --model - --gpus 1 --seq 1024 --make-vocab-size-divisible-by 1 --ignore-memory --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["model"]["parameters"])'; }
experts="\"model_type\": \"exaone_moe\", $common, \"num_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 64"
for list in '"mlp_layer_types": ["dense", "dense", "sparse", "sparse"]' '"is_moe_layer": [false, false, true, true]' '"moe_layer_freq": [0, 0, 1, 1]'; do
    got=$(counted "$experts, $list")
    if [ -n "$got" ] && [ "$got" = "$(counted "$experts, \"first_k_dense_replace\": 2")" ] && [ "$got" != "$(counted "$experts")" ]; then echo "ok list of layers ${list%%:*}"; else echo "not ok list of layers ${list%%:*}: $got"; fi
done
# Which of four layers have experts, by hand: attention and norms of each, experts and a
# router of 8 or a dense feed-forward, two embeddings and the last norm.
layer=$((4 * 512 * 512 + 2 * 64 + 2 * 512))
sparse=$((layer + 8 * 3 * 512 * 64 + 512 * 8))
dense=$((layer + 3 * 512 * 1024))
qwen="\"model_type\": \"qwen3_moe\", $common, \"num_key_value_heads\": 8, \"num_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 64"
deepseek="\"model_type\": \"deepseek\", $common, \"n_routed_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 64"
sparse_layers() { # name, layers with experts, sizes of norms of queries and keys to leave out, configuration
    by_hand=$((2 * 1000 * 512 + 512 + $2 * sparse + (4 - $2) * dense - $3))
    got=$(counted "$4")
    if [ "$got" = $by_hand ]; then echo "ok experts in layers $1"; else echo "not ok experts in layers $1: $got, not $by_hand"; fi
}
sparse_layers mlp_only_first 3 0 "$qwen, \"mlp_only_layers\": [0]"
sparse_layers mlp_only_between 2 0 "$qwen, \"mlp_only_layers\": [1, 2]"
sparse_layers mlp_only_and_step 1 0 "$qwen, \"mlp_only_layers\": [1], \"decoder_sparse_step\": 2"
sparse_layers in_any_order 2 0 "$qwen, \"mlp_layer_types\": [\"sparse\", \"dense\", \"dense\", \"sparse\"]"
sparse_layers listed 2 0 "$qwen, \"moe_layers\": [0, 3]"
# layer % 3 == 0 (DeepSeek's modeling file): the first and the fourth; from the second on the
# fourth alone
sparse_layers period_of_deepseek_from_the_first 2 $((4 * 2 * 64)) "$deepseek, \"moe_layer_freq\": 3, \"first_k_dense_replace\": 0"
sparse_layers period_of_deepseek 1 $((4 * 2 * 64)) "$deepseek, \"moe_layer_freq\": 3, \"first_k_dense_replace\": 1"
# the last layer with experts: ERNIE's of number 2 is the third
ernie="\"model_type\": \"ernie4_5_moe\", $common, \"moe_num_experts\": 8, \"moe_k\": 2, \"moe_intermediate_size\": 64, \"moe_layer_start_index\": 1"
got=$(counted "$ernie, \"moe_layer_end_index\": 2")
if [ -n "$got" ] && [ "$got" = "$(counted "$ernie, \"mlp_layer_types\": [\"dense\", \"sparse\", \"sparse\", \"dense\"]")" ] && [ "$got" != "$(counted "$ernie, \"moe_layer_end_index\": -1")" ]; then echo "ok the last layer with experts"; else echo "not ok the last layer with experts: $got"; fi
# A prediction layer of MiMo-7B: a layer (queries, keys and values with biases), the projection of
# two hidden states to one, three norms; the sum is that of the model card.
head=$((4096 * 4096 * 2 + 2 * 4096 * 1024 + 6144 + 3 * 4096 * 11008 + 2 * 4096))
mimo=$((2 * 151680 * 4096 + 37 * head + 2 * 4096 * 4096 + 3 * 4096 + 4096))
got=$(grep '"mimo-7b"' tests/data/models/exact.jsonl | "$STEPCAST" run --model - --gpus 1 --seq 1024 --make-vocab-size-divisible-by 1 --ignore-memory --json - 2>/dev/null | python3 -S -c 'import json, sys; print(int(json.load(sys.stdin)["memory_bytes"]["weights"] / 2))')
if [ "$got" = $mimo ] && [ $mimo = 7833409536 ]; then echo "ok weights with a prediction layer"; else echo "not ok weights with a prediction layer: $got, not $mimo"; fi
# Its FLOPs: 6 a token for each weight of the matrices and of one more head, 12·s·width of
# attention; and of its products no less time than an H100 needs for those of the projection at 989.4 TFLOP/s.
python3 -S - "$STEPCAST" <<'P'
import json
import subprocess
import sys

s, h, heads, d, f, v = 8192, 8192, 2, 64, 128, 256
model = json.dumps({"model_type": "mimo", "hidden_size": h, "num_hidden_layers": 2, "num_attention_heads": heads, "head_dim": d,
                    "intermediate_size": f, "vocab_size": v, "num_nextn_predict_layers": 1})
def run(layers):
    done = subprocess.run([sys.argv[1], "run", "--model", "-", "--gpus", "1", "--seq", str(s), "--mtp-num-layers", str(layers),
                           "--make-vocab-size-divisible-by", "1", "--cluster", "dgx-h100", "--json", "-"], input=model, capture_output=True, text=True)
    result = json.loads(done.stdout)
    return result["tflops_per_gpu"] * 1e6 * result["step_time_us"], result["work_us"]["gemm"]
(without, short), (flops, long) = run(0), run(1)
projection = 6 * s * 2 * h * h
wanted = projection + 6 * s * (4 * h * heads * d + 3 * h * f + v * h) + 12 * s * s * heads * d
print("ok" if abs((flops - without) / wanted - 1) < 1e-9 else "not ok", "FLOPs of a prediction layer", flops - without, wanted)
# its layer and loss have no more products than two such layers and a loss
print("ok" if long - 2 * short >= projection / 989.4e6 else "not ok", "time of a prediction layer", long - short)
P
# The norms between BitNet's linear layers keep what goes in or comes out of them beside what a
# Llama keeps: 2 bytes a token for each of 30 layers' 2560 and 6912; modules of transformers an fp32
# copy and the normalised values of each, and what goes into attention's output layer.
bitnet() { # family, more
    family=$1
    shift
    grep bitnet-b1.58 tests/data/models/exact.jsonl | sed "s/\"bitnet\"/\"$family\"/" | "$STEPCAST" run --model - --gpus 1 --seq 4096 --ignore-memory --json - "$@" 2>/dev/null |
        python3 -S -c 'import json, sys; d = json.load(sys.stdin); print(int(d["memory_bytes"]["activations"]), int(d["step_time_us"]))'
}
more_than() { # name, bytes, of BitNet, time, of a Llama, time
    if [ $(($3 - $5)) = "$2" ] && [ "$4" -gt "$6" ]; then echo "ok $1"; else echo "not ok $1: $*"; fi
}
more_than norms_between_linears $((4096 * 30 * 2 * (2560 + 6912))) $(bitnet bitnet) $(bitnet llama)
more_than norms_of_modules_between_linears $((4096 * 30 * (8 * 2560 + 6 * 6912))) $(bitnet bitnet --software hf-transformers) $(bitnet llama --software hf-transformers)
# arcee by hand: two matrices of a feed-forward without gates, RMS norms, two embeddings
by_hand=$((2 * 1000 * 512 + 4 * (4 * 512 * 512 + 2 * 512 * 1024 + 2 * 512) + 512))
got=$(counted "\"model_type\": \"arcee\", \"hidden_act\": \"relu2\", $common")
if [ "$got" = $by_hand ]; then echo "ok arcee by hand"; else echo "not ok arcee by hand: $got, not $by_hand"; fi
# What a configuration leaves out is what the classes of transformers have: the count is that of
# the released configuration, which has the same value written down.
python3 -S - "$STEPCAST" tests/data/models/exact.jsonl <<'P'
import json
import subprocess
import sys

program, models = sys.argv[1:]
left_out = {
    "qwen3-0.6b": ["head_dim"], "mixtral-8x7b": ["num_key_value_heads"], "mistral-nemo": ["num_key_value_heads"],
    "smollm3-3b": ["num_key_value_heads"], "starcoder2-3b": ["num_key_value_heads"], "phi3.5-moe": ["num_key_value_heads"],
    "qwen1.5-moe-a2.7b": ["num_key_value_heads", "moe_intermediate_size", "shared_expert_intermediate_size"],
    "qwen3-30b-a3b": ["num_key_value_heads", "moe_intermediate_size"],
    "ernie-21b-a3b": ["num_key_value_heads", "moe_intermediate_size", "moe_num_shared_experts", "moe_layer_start_index"],
    "glm-4.5-air": ["num_key_value_heads", "moe_intermediate_size", "n_shared_experts", "first_k_dense_replace"],
    "glm-4-9b-hf": ["num_key_value_heads", "head_dim"], "minimax-m2": ["num_key_value_heads", "head_dim"],
    "qwen3-next-80b": ["num_key_value_heads", "head_dim", "moe_intermediate_size", "shared_expert_intermediate_size", "linear_conv_kernel_dim",
                       "linear_key_head_dim", "linear_value_head_dim", "linear_num_key_heads", "linear_num_value_heads"],
    "seed-oss-36b": ["num_key_value_heads", "head_dim", "attention_bias", "attention_out_bias"],
    "deepseek-v2": ["q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"],
    "falcon-7b": ["multi_query", "parallel_attn", "new_decoder_architecture", "alibi"], "hunyuan-a13b": ["use_qk_norm"],
    "hy3": ["num_key_value_heads", "head_dim", "moe_intermediate_size", "num_shared_experts", "mlp_layer_types"],
    "mistral-small-4": ["q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "moe_intermediate_size", "n_shared_experts"],
    "nemotron-nano-9b-v2": ["num_key_value_heads", "head_dim", "mamba_num_heads", "n_groups", "ssm_state_size", "conv_kernel", "chunk_size",
                            "num_hidden_layers"],
    "granite-4.0-h-tiny": ["mamba_d_head", "mamba_n_groups", "mamba_d_conv", "mamba_chunk_size", "shared_intermediate_size"],
}
known = {model["_name"]: model for model in map(json.loads, open(models))}
for name, keys in left_out.items():
    model = dict(known[name])
    dropped = [model.pop(key) for key in keys if key in model]
    done = subprocess.run([program, "run", "--model", "-", "--gpus", "1", "--seq", "1024", "--mtp-num-layers", "0",
                           "--ignore-memory", "--json", "-"], input=json.dumps(model), capture_output=True, text=True)
    got = json.loads(done.stdout)["model"]["parameters"] if done.returncode == 0 else done.stderr.splitlines()[:1]
    right = got == model["_parameters"] and dropped
    print("ok" if right else "not ok", "left out of", name, "" if right else f"{got}, not {model['_parameters']}: {keys}")
P
# A default that does not divide the heads is none: each has keys and values of its own.
by_hand=$((2 * 1000 * 512 + 4 * (4 * 512 * 512 + 3 * 512 * 1024 + 2 * 512) + 512))
got=$(counted "\"model_type\": \"mistral\", $(echo "$common" | sed 's/"num_attention_heads": 8/"num_attention_heads": 4/')")
if [ "$got" = $by_hand ]; then echo "ok a default that does not fit"; else echo "not ok a default that does not fit: $got, not $by_hand"; fi
# Windows: Mistral has one of 4096 keys unless it says otherwise, Qwen2 none unless it is asked
# for. Megatron counts 12 · heads · d FLOPs of a layer's attention for each of the s² pairs of a
# sequence, half of which a mask hides; of a window 2sw - w².
flops() { printf '{%s, %s}' "$common" "$1" | "$STEPCAST" run --model - --gpus 1 --seq 8192 --ignore-memory --json - 2>/dev/null | python3 -S -c 'import json, sys; d = json.load(sys.stdin); print(round(d["tflops_per_gpu"] * 1e6 * d["step_time_us"]))'; }
window() { # name, configuration, that of all keys, 1 where it has a window
    less=$(($(flops "$3") - $(flops "$2")))
    wanted=$(($4 * 4 * 12 * 512 * (8192 * 8192 - 2 * 8192 * 4096 + 4096 * 4096)))
    if [ $((less - wanted)) -le 1000000 ] && [ $((wanted - less)) -le 1000000 ]; then echo "ok window $1"; else echo "not ok window $1: $less, not $wanted"; fi
}
all='"model_type": "mistral", "sliding_window": null'
window of_mistral '"model_type": "mistral"' "$all" 1
window of_llama '"model_type": "llama", "sliding_window": 4096' '"model_type": "llama"' 0
window of_qwen2_unasked '"model_type": "qwen2", "sliding_window": 4096' "$all" 0
window of_qwen2 '"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": true, "max_window_layers": 0' "$all" 1
# Biases: of latent attention those of what brings a token down (1024 + 512 + 64) and of the output;
# without those of attention GPT-NeoX has its feed-forward's alone; of Mamba's projections.
latent="\"model_type\": \"deepseek_v3\", $common, \"q_lora_rank\": 1024, \"n_routed_experts\": 8, \"num_experts_per_tok\": 2"
neox="\"model_type\": \"gpt_neox\", $common"
mamba="\"model_type\": \"bamba\", $common, \"attn_layer_indices\": [1], \"mamba_n_heads\": 16, \"mamba_d_state\": 64"
more() { # name, how many, with, without
    got=$(($(counted "$3") - $(counted "$4")))
    if [ $got = "$2" ]; then echo "ok biases $1"; else echo "not ok biases $1: $got, not $2"; fi
}
more of_latent_attention $((4 * (1024 + 512 + 64 + 512))) "$latent, \"attention_bias\": true" "$latent"
more of_attention_in_neox $((4 * 4 * 512)) "$neox" "$neox, \"attention_bias\": false"
qwen="\"model_type\": \"qwen2_5_vl\", $common" # whose class has them for queries, keys and values alone
more of_qwens_attention 0 "$qwen, \"attention_bias\": true" "$qwen"
more of_mambas_projections $((3 * (1024 + 1024 + 2 * 64 + 16 + 512))) "$mamba, \"mamba_proj_bias\": true" "$mamba"
more of_mambas_convolution $((3 * (1024 + 2 * 64))) "$mamba" "$mamba, \"mamba_conv_bias\": false"
# A part without a type names its class, as that of DeepSeek-OCR; its attention is the ordinary one
# where there is no rank: attention, two norms, a dense layer of 1024 and three of 8 + 2 experts.
by_hand=$((2 * 1000 * 512 + 4 * (4 * 512 * 512 + 2 * 512) + 3 * 512 * 1024 + 3 * (10 * 3 * 512 * 64 + 512 * 8) + 512))
got=$(counted "\"model_type\": \"deepseek_vl_v2\", \"language_config\": {\"architectures\": [\"DeepseekV2ForCausalLM\"], $common, \"kv_lora_rank\": null, \"q_lora_rank\": null, \"qk_nope_head_dim\": 0, \"qk_rope_head_dim\": 0, \"v_head_dim\": 0, \"use_mla\": false, \"n_routed_experts\": 8, \"n_shared_experts\": 2, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 64, \"first_k_dense_replace\": 1}")
if [ "$got" = $by_hand ]; then echo "ok a part that names its class"; else echo "not ok a part that names its class: $got, not $by_hand"; fi
refuse both_directions "use_bidirectional_attention" "{\"model_type\": \"gemma3_text\", $common, \"use_bidirectional_attention\": true}"
refuse no_causal_mask "is_causal" "{\"model_type\": \"qwen2\", $common, \"is_causal\": false}"
refuse cross_attention_of_a_decoder "add_cross_attention" "{\"model_type\": \"gpt2\", $common, \"add_cross_attention\": true}"
refuse a_word_of_no_layer "is '?'" "{\"model_type\": \"nemotron_h\", $common, \"layers_block_type\": [\"mamba\", \"mlp\", \"conv\", \"mlp\"]}"
# a head that scores texts has no row for each word, which is said
answer=$(printf '{"model_type": "llama", %s, "architectures": ["LlamaForSequenceClassification"]}' "$common" | "$STEPCAST" run --model - --gpus 1 --ignore-memory 2>&1)
case $answer in *"has no output embedding"*) echo "ok head of a reward model" ;; *) echo "not ok head of a reward model: $answer" ;; esac
# GPT-Neo's list of layers: with "local" ones a window, where all are "global" none
neo='"model_type": "gpt_neo", "max_position_embeddings": 8192, "window_size": 4096, "attention_layers"'
window of_gpt_neo "$neo: [\"local\", \"local\", \"local\", \"local\"]" "$neo: [\"global\", \"global\", \"global\", \"global\"]" 1
half=$(($(flops "$neo: [\"global\", \"local\", \"local\", \"global\"]") - $(flops "$neo: [\"local\", \"local\", \"local\", \"local\"]")))
whole=$(($(flops "$neo: [\"global\", \"global\", \"global\", \"global\"]") - $(flops "$neo: [\"global\", \"local\", \"local\", \"global\"]")))
if [ $((half - whole)) -le 1000000 ] && [ $((whole - half)) -le 1000000 ] && [ "$half" -gt 1000000000 ]; then echo "ok window of half of the layers"; else echo "not ok window of half of the layers: $half $whole"; fi
moe="\"model_type\": \"qwen2_moe\", $common, \"num_key_value_heads\": 8, \"num_experts\": 8, \"num_experts_per_tok\": 2"
more of_qwen2_moe $((4 * 3 * 512)) "$moe" "$moe, \"qkv_bias\": false"
opt="\"model_type\": \"opt\", $common, \"max_position_embeddings\": 2048"
more of_norms_without_weights $((9 * 2 * 512)) "$opt" "$opt, \"layer_norm_elementwise_affine\": false"
unheard="\"model_type\": \"unheard\", $common, \"hidden_act\": \"silu\""
more of_norms_of_an_unknown_type $((4 * 2 * 64)) "$unheard, \"qk_norm\": true" "$unheard"
refuse norms_behind "do_layer_norm_before" "{$opt, \"do_layer_norm_before\": false}"
refuse no_last_norm "_remove_final_layer_norm" "{$opt, \"_remove_final_layer_norm\": true}"
said() { # name, words, configuration
    answer=$(printf '{%s}' "$3" | "$STEPCAST" run --model - --gpus 1 --seq 1024 --ignore-memory 2>&1 | tr -s ' \n' ' ')
    case $answer in *"$2"*) echo "ok says $1" ;; *) echo "not ok says $1: $answer" ;; esac
}
said no_window_of_layers '"sliding_window" does not say of how many keys' "\"model_type\": \"llama\", $common, \"layer_types\": [\"full_attention\", \"sliding_attention\", \"full_attention\", \"sliding_attention\"]"
said window_of_no_class 'models of model_type "llama" have no windows' "\"model_type\": \"llama\", $common, \"sliding_window\": 512"
said window_not_asked_for 'counts with "use_sliding_window" alone' "\"model_type\": \"qwen3\", $common, \"sliding_window\": 512"
said experts_of_an_unknown_type 'gated experts and a router without a bias' "$unheard, \"num_experts\": 4, \"num_experts_per_tok\": 2"
said prediction_layers '1 multi-token prediction layer' "\"model_type\": \"glm4_moe\", $common, \"num_key_value_heads\": 8, \"n_routed_experts\": 8, \"num_experts_per_tok\": 2, \"num_mtp_layers\": 1"
