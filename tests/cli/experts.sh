#!/bin/sh
# A layer with experts against pieces of it measured on an H200 (PyTorch 2.11; docs/model/experts.md), and what follows from
# how tokens travel: kernels by dispatcher, copies by routing, waits for counts.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
layer() { # model, ep, kernels: one micro-batch of 4096 tokens
    "$STEPCAST" kernels --model "$1" --gpus "$2" --ep "$2" --etp 1 --micro-batch 1 --seq 4096 --global-batch "$2" --gpu h200 --cold --moe-kernels "$3" 2>/dev/null
}
# name, kernel, part, microseconds measured, how far off it may be, in which pass (forward)
near() {
    awk -v kernel="$2" -v part="$3" -v want="$4" -v most="$5" -v pass="${6:-forward}" '
        / layer, / { experts = /^moe/ && ($NF == pass || pass == "forward") }
        experts && $1 == kernel && index($0, part) && !got { for (i = 2; i <= NF; i++) if ($i == "us") got = $(i - 1) }
        END { off = got / want - 1; if (got > 0 && off < most && off > -most) print "ok '"$1"'"; else print "not ok '"$1"': " got " us, measured " want }' "$tmp/layer"
}
while read -r model ep loop loop_wgrad grouped grouped_wgrad; do
    layer "$model" "$ep" unfused >"$tmp/layer"
    near "$model-one-by-one" fc1 "mlp in" "$loop" 0.10
    near "$model-one-by-one-wgrad" fc1_wgrad "mlp in" "$loop_wgrad" 0.15
    layer "$model" "$ep" grouped >"$tmp/layer"
    near "$model-together" fc1 "mlp in" "$grouped" 0.12
    near "$model-together-wgrad" fc1_wgrad "mlp in" "$grouped_wgrad" 0.22
done <<T
mixtral-8x7b 1 2784 3025 2563 3377
deepseek-v3 32 2955 2819 2588 2940
deepseek-v3 8 2866 3301 2603 3499
qwen3-30b-a3b 8 357.5 402.1 337.0 329.3
qwen3-235b-a22b 8 1262 1326 1139 1255
gpt-oss-120b 4 968.4 1271 817.9 1044
T
# operators of PyTorch on 16,384 rows of GPT-OSS: biases of the second product (2 and 16 experts: 530 and 566, 726 and 979) and clamps
layer gpt-oss-120b 16 unfused >"$tmp/layer"
near bias expert_bias "mlp out" 548 0.10
near bias_back expert_bias "mlp out" 852 0.17 backward
near clamps clamp "mlp in" 363 0.10
near clamps_back clamp "mlp in" 747 0.10 backward
# transformers 5 (integrations/moe.py): what stands around the products of experts, operator by operator; weights in fp32 (Mixtral) make
# the sum a cast away from the model's type, those of Qwen3 are cast back by its router
around() {
    "$STEPCAST" kernels --model "$1" --gpu h200 --seq 1024 --software hf-transformers 2>/dev/null |
        awk '/moe layer, '"$2"'/ { on = 1; next } / layer, |^embedding/ { on = 0 } on && $2 ~ /router|mlp|unroute/ { printf "%s ", $1 }'
}
check of_modules_wide "$(around mixtral-8x7b forward)" \
    "rmsnorm_ops_f gate router_f sort_routes pick_rows mask_rows fc1 swiglu_chunk_f fc2 weigh_rows mask_rows sort_routes pick_rows sum_routes narrow add "
check of_modules_narrow "$(around qwen3-30b-a3b forward)" \
    "rmsnorm_ops_f gate router_f sort_routes pick_rows mask_rows fc1 swiglu_chunk_f fc2 weigh_rows mask_rows sort_routes pick_rows sum_routes add "
# those with DeepSeek's router have a gate in fp32, too; MiniMax-M2's gate is of the model's type, its weights are not
deepseek="rmsnorm_ops_f gate router_f gate_wide sort_routes pick_rows mask_rows fc1 swiglu_chunk_f fc2 weigh_rows mask_rows sort_routes pick_rows sum_routes narrow add "
for model in deepseek-v3 deepseek-v3.2 kimi-k2 glm-5; do check "of_modules $model" "$(around $model forward)" "$deepseek"; done
echo '{"model_type": "minimax_m2", "hidden_size": 1024, "intermediate_size": 512, "num_local_experts": 32, "num_experts_per_tok": 8,
    "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 32000,
    "max_position_embeddings": 8192}' >"$tmp/minimax.json"
check of_modules_minimax "$(around "$tmp/minimax.json" forward)" "$(echo "$deepseek" | sed "s/gate_wide //")"
# TorchTitan's MoE, which no setting compiles: rows gathered, brought in order with room behind each expert's (before 2026), weighted in fp32
# by three operators and added up by scatter_add (32768 rows of 7168: 1574 us on an H200); blocks of 2026 are one graph
titan() { # software, pass, ranks of experts
    "$STEPCAST" kernels --model qwen3-30b-a3b --gpu h200 --seq 1024 --gpus "$3" --ep "$3" --etp 1 --software "$1" 2>/dev/null |
        awk '/moe layer, '"$2"'/ { on = 1; next } / layer, |^embedding/ { on = 0 } on && $2 ~ /router|mlp|unroute/ && $1 !~ /gate|fc|swiglu|add$|norm/ { printf "%s ", $1 }'
}
check titan_forward "$(titan torchtitan-2024 forward 1)" "router_f sort_routes pick_rows copy pick_rows pick_rows widen weigh_rows narrow copy scatter_rows "
check titan_back "$(titan torchtitan-2024 backward 1)" \
    "pick_rows widen weigh_rows weights_b sum_rows narrow zeros copy pick_rows probability_b zeros add_rows router_b zeros scatter_rows weights_b "
check titan_one_graph "$(titan torchtitan-2026 forward 1)" "router_f permute_f unpermute_f "
"$STEPCAST" kernels --model deepseek-v3 --gpus 32 --ep 32 --etp 1 --micro-batch 1 --seq 4096 --global-batch 32 --gpu h200 --cold --software torchtitan-2024 2>/dev/null >"$tmp/layer"
near titan_scatter scatter_rows unroute 1574 0.03
near titan_scatter_back scatter_rows router 1574 0.03 backward
# … and the room behind 128 experts is one row to which 1024 are added, 1.3 us each; behind the 16 of a rank it is 128
room() { "$STEPCAST" kernels --model qwen3-30b-a3b --gpu h200 --seq 1024 --gpus "$1" --ep "$1" --etp 1 --software torchtitan-2024 2>/dev/null | awk '$1 == "add_rows" { print $(NF - 3) }'; }
check titan_room "$(room 1) $(room 8)" "$(room 1) $(awk -v all="$(room 1)" 'BEGIN { printf "%.2f", all - 1.3 * (1024 - 128) }')"
# Llama 4's modules repeat all tokens for each expert (Llama4TextMoe), which is not counted
for software in hf-transformers megatron-core-2025; do
    "$STEPCAST" run --model llama4-scout-17b-16e --gpus 8 --software $software --ignore-memory 2>/dev/null | tr '\n' ' ' | tr -s ' ' >"$tmp/step"
    check "every_expert $software" "$(grep -o -e 'step time' -e 'each of the 16 experts of llama4-scout-17b-16e multiplies all tokens' "$tmp/step" | cut -c1-9 | paste -sd,)" \
        "step time$(test $software = hf-transformers && echo ,each of t)"
done
# a router operator by operator with its balancing loss (270 and 64 us for 8192 tokens of 128 experts, of which softmax and choice are 57
# and 11), and what a gate in fp32 costs backward (201.5 us where bf16 takes 39.9)
"$STEPCAST" kernels --model nemotron-3-nano-30b-a3b --gpus 8 --ep 8 --etp 1 --micro-batch 1 --seq 8192 --global-batch 8 --gpu h200 --cold --software bridge-26.04 2>/dev/null >"$tmp/layer"
near router_operators router_operators router 213 0.12
near router_operators_back router_operators router 53 0.12 backward
near wide_gate gate_wide router 161.6 0.12 backward
# permutation as one kernel each way
layer deepseek-v3 32 unfused >"$tmp/layer"
near permute permute_f router 208.4 0.15
near permute_back permute_b router 133.5 0.15
near unpermute unpermute_f unroute 148.3 0.15
near unpermute_back unpermute_b unroute 346.0 0.15

step="$STEPCAST run --model qwen3-30b-a3b --gpus 8 --ep 8 --etp 1 --dp 8 --seq 4096 --micro-batch 1 --global-batch 64 --cluster dgx-h100:8 --ignore-memory"
value() { # expression of r, options
    expression=$1
    shift
    $step "$@" --json - 2>/dev/null | python3 -S -c "import json,sys; r=json.load(sys.stdin); print($expression)"
}
ep='r["comm"]["ep"]["bytes"]'
# top 8 of 128 on 8 ranks: at random 8 (1 - C(112,8)/C(128,8)) of them, in turn 1 of 16 experts each: tokens 0, 8, 16, … begin a rank
check in_turn "$(python3 -S -c "from math import comb; print(abs($(value "$ep" --moe-token-dispatcher-type flex) / $(value "$ep" --moe-token-dispatcher-type flex --moe-routing in-turn) - 8 * (1 - comb(112, 8) / comb(128, 8))) < 1e-3)")" True
check all_copies "$(python3 -S -c "print(abs($(value "$ep") / $(value "$ep" --moe-token-dispatcher-type flex --moe-routing in-turn) - 8) < 1e-3)")" True
# HybridEP (Megatron-Bridge since 26.02): 4 bytes of probability for each of the 128 experts of the NVLink domain go with a copy of
# 4096 bytes, in two of four exchanges; on two nodes with those of 64, and 4096 tokens x 128 experts of 16 ranks are gathered first
# in each of 48 layers and 4 micro-batches
bridge() { value "$1" --moe-token-dispatcher-type flex --recompute none --software "$2" --gpus "$3" --ep "$3" --dp "$3" --cluster "dgx-h100:$3"; }
check probabilities "$(python3 -S -c "print(abs($(bridge "$ep" bridge-26.02 8) / $(bridge "$ep" bridge-25.11 8) - (1 + 512 / 4096 / 2)) < 1e-6)")" True
routes=$(python3 -S -c "print($(bridge "$ep" bridge-26.02 16) - $(bridge "$ep" bridge-25.11 16) * (1 + 256 / 4096 / 2))")
check routes "$(python3 -S -c "print(abs($routes / (48 * 4 * 4096 * 128 * 16) - 1) < 1e-3 or $routes)")" True
# what a profile says of DeepEP's way between nodes holds for flex alone: all copies of NCCL's all-to-all go over the NICs
far="--gpus 16 --ep 16 --dp 16 --cluster dgx-h100:16 --software bridge-25.11 --moe-token-dispatcher-type"
nccl=$("$STEPCAST" coll alltoall -c dgx-h100:16 -b 134217728 -e 134217728 | awk '$1 == 134217728 { print $6 }')
check nccl_is_not_deepep "$(python3 -S -c "print(abs($(value 'r["comm"]["ep"]["busy_us"] / r["comm"]["ep"]["ops"]' $far alltoall) / $nccl - 1) < 0.01)")" True
deepep=$(value 'r["comm"]["ep"]["busy_us"]' $far flex)
check deepep_is "$(python3 -S -c "print($deepep == $(value 'r["comm"]["ep"]["busy_us"]' $far flex --two-level) < 0.5 * $(value 'r["comm"]["ep"]["busy_us"]' $far alltoall))")" True
# 28 us a layer and micro-batch where the host reads counts; none with a capacity, in a graph or where hosts take no time
host='r["breakdown_us"]["other"]'
check no_host "$(value "$host" --host-launch 0 --moe-kernels unfused)" 0
check graphs_of_all "$(value "$host" --cuda-graph full_iteration --moe-kernels unfused)" 0
check operators "$(python3 -S -c "print($(value "$host" --moe-kernels unfused) > $(value "$host" --moe-kernels grouped) > $(value "$host" --moe-kernels grouped --cuda-graph moe_router) > 0)")" True
expect routing_word 2 "moe-routing" $step --moe-routing sideways
expect kernels_word 2 "moe-kernels" $step --moe-kernels none
# Tensor-parallel ranks route a part of the sequence each (Megatron demands it): 2048 of 4096 tokens of a rank go to 2 of 8 experts on
# 8 ranks, so that the one expert of a rank has 8 · 2048 · 2 / 8 rows, for the wire and for the products alike
tensor="--model mixtral-8x7b --gpus 16 --tp 2 --ep 8 --etp 1 --seq 4096 --micro-batch 1 --global-batch 8"
tokens='[v["bytes"] / v["ops"] / 4096 / 2 for v in r["volumes"] if v["group"] == "ep"][0]'
check routed_on_the_wire "$(value "$tokens" $tensor --dp 8 --cluster dgx-h100:16)" 4096.0
rows=$("$STEPCAST" kernels $tensor --gpu h100 --cold | awk '$1 == "fc1" && $3 == "in" { print int($4 * $6 * 1e6 / (2 * 4096 * 28672) / 16 + 0.5) * 16; exit }')
check routed_in_products "$rows" 4096
expect cut_for_experts 0 "sequence parallel is on" "$STEPCAST" run $tensor --cluster dgx-h100:16 --ignore-memory
expect not_cut_for_experts 2 "experts with tp 2 need sequence parallel" "$STEPCAST" run $tensor --cluster dgx-h100:16 --ignore-memory --no-sequence-parallel
# Shared experts are cut by tp as any feed-forward: of 28 layers each has its attention and its feed-forward gathered and scattered,
# and so has the head; backward gathers gradients of outputs and inputs again (of the head the input: its output's is not cut)
shared="--model deepseek-moe-16b --tp 2 --ep 4 --etp 1 --dp 4 --global-batch 4"
cut='" ".join(str(v["ops"]) for v in r["volumes"] if v["group"] == "tp" and v["collective"] != "ALLREDUCE")'
check shared_experts_are_cut "$(value "$cut" $shared)" "57 57 114 57"
# … and once the gradients of 27 routers and 57 norms, 4·2048·(27·64 + 57) bytes: 0.87 of an activation
check shared_experts_chunked "$(value 'round(r["comm"]["tp"]["bytes"] / (4096 * 2048 * 2))' $shared --overlap-tp chunks)" $((57 + 57 + 114 + 57 + 1))
# and where the experts' half runs again, so do its collectives: those of 27 shared experts; of experts cut by tp too
repeated='" ".join(str(v["ops"]) for v in r["volumes"] if v["phase"] == "recompute")'
check shared_experts_again "$(value "$repeated" $shared --recompute selective --recompute-modules shared_experts)" "27 27"
check experts_again "$(value "$repeated" $shared --etp 2 --gpus 16 --dp 8 --global-batch 8 --cluster dgx-h100:16 --recompute selective --recompute-modules moe)" "54 54 54"
# Latent attention: a rank brings its own tokens down, 1536 + 512 + 64 wide, and gathers that; the feed-forwards and the head gather
# all of 7168. PyTorch's gathers tokens. Every rank has the whole of the weights that bring tokens down.
latent="--model deepseek-v3 --num-layers 4 --mtp-num-layers 0 --tp 2 --ep 4 --etp 1 --dp 4 --global-batch 4"
wide='sum(v["bytes"] for v in r["volumes"] if v["group"] == "tp" and v["phase"] == "forward" and v["collective"] == "ALLGATHER") / 4096 / 2'
check latents_gathered "$(value "$wide" $latent)" "$((4 * (2112 + 7168) + 7168)).0"
check tokens_gathered "$(value "$wide" $latent --software torchtitan-2024)" "$((4 * 2 * 7168 + 7168)).0"
weights='round(r["memory_bytes"]["weights"] / 2)'
whole=$((4 * (7168 * 2112 + 2048 + 2 * 7168) + 7169 * 256 + 7168))
cut=$((4 * (1536 * 128 * 192 + 512 * 128 * 256 + 128 * 128 * 7168) + 3 * 3 * 7168 * 18432 + 3 * 7168 * 2048 + 2 * 129280 * 7168))
check latent_weights "$(value "$weights" $latent)" $((whole + cut / 2 + 64 * 3 * 7168 * 2048))
down() { "$STEPCAST" kernels $latent --gpus 8 --seq 4096 --gpu h100 --cold "$@" | awk '$1 == "q_down" { print int($4 * $6 * 1e6 / (2 * 7168 * 1536) / 16 + 0.5) * 16; exit }'; }
check tokens_brought_down "$(down) $(down --software torchtitan-2024)" "2048 4096"
