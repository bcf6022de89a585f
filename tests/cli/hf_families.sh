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
