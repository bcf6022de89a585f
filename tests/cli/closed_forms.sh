#!/bin/sh
# Results against numbers that can be worked out by hand.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
# of NAME EXPRESSION options: the expression on the result r of a run
of() {
    name=$1 expression=$2 wanted=$3
    shift 3
    "$STEPCAST" run "$@" --ignore-memory --json "$tmp/$name.json" >/dev/null 2>"$tmp/err"
    check "$name" "$(python3 -S -c "
import json, sys
r = json.load(open(sys.argv[1]))
print($expression)" "$tmp/$name.json" 2>&1)" "$wanted"
}

# money: GPUs times hours times the price of an hour
python3 -S - "$tmp/priced.json" <<'P'
import json, sys
gpu = json.load(open("data/gpus/h200.json"))
gpu["datasheet"]["usd_per_hour"] = 3.5
json.dump(gpu, open(sys.argv[1], "w"))
P
gpt="--num-layers 4 --hidden-size 4096 --num-attention-heads 32 --vocab-size 1024 --seq 128 --micro-batch 8 --global-batch 16 --gpus 2"
of cost 'abs(r["cost_usd"] / (2 * 3.5 * r["step_time_us"] * 1e-6 / 3600) - 1) < 1e-9' True $gpt --gpu "$tmp/priced.json" --cluster hgx-h200:2

# energy: every GPU draws at most its 700 W, and products keep it above half of them
of energy '350 < r["energy_j"] / (16 * r["step_time_us"] * 1e-6) < 700.001' True --model llama2-7b --num-layers 4 --gpus 16 --global-batch 64 --seq 4096 --gpu h100-sxm

# a GPU that waits in a bubble draws 150 W: an eighth of the batch in each of 8 stages leaves them 7 of 15 slots idle
of energy_of_waiting 'r["breakdown_us"]["bubble"] > 0.4 * r["step_time_us"], 150 + 550 * 0.45 < r["energy_j"] / (8 * r["step_time_us"] * 1e-6) < 150 + 550 * 0.59' "True True" \
    --model llama2-7b --pp 8 --global-batch 8 --seq 2048 --cluster dgx-h100:8

# more tensor-parallel ranks than key-value heads: in each of 4 layers all 16 + 2·2 heads of 64 of 2·2048 tokens, 2 bytes each, are gathered, and their gradients scattered
heads="--num-layers 4 --hidden-size 1024 --num-attention-heads 16 --group-query-attention --vocab-size 32000 --seq 2048 --micro-batch 2 --global-batch 2 --gpus 8 --tp 8"
of heads_of_others '[(v["phase"], v["collective"], v["ops"], v["bytes"]) for v in r["volumes"] if v["group"] == "tp" and v["collective"] != "ALLREDUCE"]' \
    "[('forward', 'ALLGATHER', 4, 41943040), ('backward', 'REDUCESCATTER', 4, 41943040)]" $heads --num-query-groups 2
of heads_of_their_own '[v["collective"] for v in r["volumes"] if v["group"] == "tp" and v["collective"] != "ALLREDUCE"]' "[]" $heads --num-query-groups 8
# messages of 1024 x 4096 x 2 bytes, 8 micro-batches: a quarter from each of 4 tensor-parallel ranks, put together where they arrive
pipe="--num-layers 4 --hidden-size 4096 --num-attention-heads 32 --vocab-size 1024 --seq 1024 --global-batch 8 --gpus 8 --tp 4 --pp 2 --fusion 2021"
moved='[(v["ops"], v["bytes"]) for v in r["volumes"] if v["group"] == "pp" or v["collective"] == "ALLGATHER"]'
of scattered_messages "$moved" "[(8, 16777216), (8, 67108864)]" $pipe --scatter-gather-tensors-in-pipeline
of whole_messages "$moved" "[(8, 67108864)]" $pipe --no-scatter-gather-tensors-in-pipeline
# megatron/p2p_communication.py cut them, megatron/core/pipeline_parallel/p2p_communication.py does not. DeepSpeed has pipe_partitioned, InternEvo scatter_gather_tensors
for software in megatron-core-2025 megatron-core-2024 bridge-26.02 nanotron; do
    of "whole_messages_of_$software" "$moved" "[(8, 67108864)]" $pipe --software $software --no-sequence-parallel
done
for software in megatron-2020 megatron-2022 megatron-deepspeed-2022 deepspeed internevo nemo-22.11; do
    of "scattered_messages_of_$software" "$moved" "[(8, 16777216), (8, 67108864)]" $pipe --software $software --no-sequence-parallel
done

# the update of the weights: of all of them on every rank, or of an eighth
update() { "$STEPCAST" run --model llama3-8b --gpus 8 --seq 4096 --global-batch 8 --ignore-memory --zero "$1" --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["work_us"]["optimizer"])'; }
check sharded_update "$(python3 -S -c "print(abs($(update 0) / $(update 1) / 8 - 1) < 0.01)")" True

# Muon: five steps of 2·(2·a²b + a³) FLOP for each matrix of a by b, of h by h, 2h, h, 4h and 4h here, beside a forward and backward
# that wait for their collectives. An H200 at its power limit runs such products at 675 TFLOP/s (docs/model/kernels.md, measured)
newton_schulz() { "$STEPCAST" run --num-layers 4 --hidden-size 8192 --num-attention-heads 64 --vocab-size 1024 --seq 512 --micro-batch 2 --global-batch 2 --gpus 8 --tp 8 --cluster hgx-h200:8 --ignore-memory --optimizer "$1" --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["work_us"]["optimizer"])'; }
check newton_schulz_at_the_power_limit "$(python3 -S -c "print(abs(($(newton_schulz muon) - $(newton_schulz sgd)) / (4 * 290 * 8192 ** 3 / 675e6) - 1) < 0.05)")" True

# … and of latent attention: down to 2048 and 512 + 64, up to 128 heads of 192, and of 128 + 128; h² twice, and h/2 and h/4 of the feed-forward
cat >"$tmp/latents.json" <<L
{"model_type": "minicpm3", "architectures": ["MiniCPM3ForCausalLM"], "num_hidden_layers": 4, "hidden_size": 8192, "num_attention_heads": 128,
 "num_key_value_heads": 128, "intermediate_size": 2048, "vocab_size": 1024, "q_lora_rank": 2048, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
 "qk_rope_head_dim": 64, "v_head_dim": 128, "hidden_act": "silu", "tie_word_embeddings": false}
L
of_latents() { "$STEPCAST" run --model "$tmp/latents.json" --seq 512 --micro-batch 2 --global-batch 2 --gpus 8 --tp 8 --cluster hgx-h200:8 --ignore-memory "$@" --json - 2>/dev/null; }
latent_update() { of_latents --optimizer "$1" | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["work_us"]["optimizer"])'; }
check newton_schulz_of_latents "$(python3 -S -c "
step = lambda a, b: 2 * (2 * a * a * b + a ** 3)
layer = 5 * (step(2048, 8192) + step(2048, 24576) + step(576, 8192) + step(512, 32768) + step(8192, 16384) + step(4096, 8192) + step(2048, 8192))
print(abs(($(latent_update muon) - $(latent_update sgd)) / (4 * layer / 675e6) - 1) < 0.05)")" True
# its gathers with sequence parallelism, of 1024 tokens: latents and the rotary part of the keys, the feed-forward's input; backward both gradients and,
# once more for the weight gradients, what was multiplied, without the rotary part; the head's input twice, the embedding's gradient
check gathers_of_latents "$(of_latents --sequence-parallel | python3 -S -c 'import json, sys
print(sum(v["bytes"] for v in json.load(sys.stdin)["volumes"] if v["group"] == "tp" and v["collective"] == "ALLGATHER"))')" $((2 * 1024 * (4 * (2 * (2048 + 512) + 64 + 4 * 8192) + 3 * 8192)))

# … and of adapters: 2·(4·r²·(a + b) + 2·r³) FLOP a step for each pair, far below what a launch takes, 30 products for each of the
# 2 matrices in each of 4 layers: between 2 and 20 us each, not what the frozen matrices would take
adapters() { "$STEPCAST" run --num-layers 4 --hidden-size 8192 --num-attention-heads 64 --vocab-size 1024 --seq 512 --micro-batch 2 --global-batch 2 --gpus 1 --lora 8 --cluster hgx-h200:1 --ignore-memory --optimizer "$1" --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["work_us"]["optimizer"])'; }
check newton_schulz_of_adapters "$(python3 -S -c "print(2 * 4 * 2 * 30 < $(adapters muon) - $(adapters sgd) < 20 * 4 * 2 * 30)")" True

# a run of 3e9 tokens: 16 x 128 a step
of training 'abs(r["training"]["days"] / (3e9 / (16 * 128) * r["step_time_us"] * 1e-6 / 86400) - 1) < 1e-9 and abs(r["training"]["cost_usd"] / (2 * 24 * 2.5 * r["training"]["days"]) - 1) < 1e-9 and abs(r["cost_usd"] / (2 * 2.5 * r["step_time_us"] * 1e-6 / 3600) - 1) < 1e-9' True \
    $gpt --cluster hgx-h200:2 --train-tokens 3B --price 2.5
expect training_without_price 0 "data/prices.json has no price of a mi300x" "$STEPCAST" run $gpt --cluster amd-mi300x:2 --train-tokens 3B
of training_without_money '"days" in r["training"] and not any("usd" in k for k in [*r, *r["training"]])' True $gpt --cluster amd-mi300x:2 --train-tokens 3B
expect local_work_of_ideal 0 "local work behind collectives (up to 0.1 us in the input) is free" "$STEPCAST" run tests/data/seed_003.txt --cluster ideal:1024
expect training_quoted 0 "no --price is given: 4 USD for an hour of a h200" "$STEPCAST" run $gpt --cluster hgx-h200:2 --train-tokens 3B
# of the GPU that runs it, whatever it is called, and not of the cluster's; its own file goes before data/prices.json
python3 -S -c 'import json
gpu = json.load(open("data/gpus/h100-sxm.json"))
gpu["name"], gpu["aliases"] = "ours", []
gpu["datasheet"]["usd_per_hour"] = 7
json.dump(gpu, open("'"$tmp"'/ours.json", "w"))'
for gpu in "B200 5.6 b200" "$tmp/ours.json 7 ours"; do
    set -- $gpu
    of "priced_$3" 'r["training"]["usd_per_gpu_hour"]' "$2" $gpt --cluster hgx-h200:2 --gpu "$1" --train-tokens 3B
    "$STEPCAST" train $gpt --cluster hgx-h200:2 --gpu "$1" --train-tokens 3B --seeds 1 --json "$tmp/days.json" >/dev/null 2>&1
    check "train_priced_$3" "$(grep -o '"usd_per_gpu_hour": [0-9.]*' "$tmp/days.json")" "\"usd_per_gpu_hour\": $2"
    "$STEPCAST" plans $gpt --cluster hgx-h200:2 --gpu "$1" --objective cheapest --top 1 --json "$tmp/cheapest.json" >/dev/null 2>&1
    check "plans_priced_$3" "$(python3 -S -c 'import json, sys
p = json.load(open(sys.argv[1]))["plans"][0]
step_usd = p["usd_per_billion_tokens"] / 1e9 * 16 * 128
print(abs(step_usd / (2 * float(sys.argv[2]) * p["step_time_us"] * 1e-6 / 3600) - 1) < 1e-9)' "$tmp/cheapest.json" "$2")" True
done
expect training_bad_tokens 2 "--train-tokens: 'many'" "$STEPCAST" run $gpt --cluster hgx-h200:2 --train-tokens many
expect training_bad_price 2 "'-1' is no price" "$STEPCAST" run $gpt --cluster hgx-h200:2 --price=-1

# HFU counts what is computed again: with full recomputation the forward of the layers, a third of theirs
# (per token and layer 6·12h² FLOP and 12·s·h of attention, 6·V·h of the head)
of hfu 'abs(r["hfu"] / r["mfu"] - (1 + (72 * 4096 ** 2 + 12 * 128 * 4096) * 4 / 3 / ((72 * 4096 ** 2 + 12 * 128 * 4096) * 4 + 6 * 1024 * 4096))) < 0.01' True \
    $gpt --recompute full --cluster dgx-h100:2
of hfu_is_mfu 'abs(r["hfu"] / r["mfu"] - 1) < 1e-9' True $gpt --recompute none --cluster dgx-h100:2

# PyTorch stops before the second product of the feed-forward, 2·4h² of the forward's 24h² + 4·s·h
of hfu_early_stop 'abs(r["hfu"] / r["mfu"] - (1 + (16 * 4096 ** 2 + 4 * 128 * 4096) * 4 / ((72 * 4096 ** 2 + 12 * 128 * 4096) * 4 + 6 * 1024 * 4096))) < 0.01' True \
    $gpt --recompute full --software torchtitan-2024 --cluster dgx-h100:2
# modules that run again, in products of a token: feed-forwards of 2 dense layers and of 2 with experts (4 of 16, shared
# ones, router), the shared ones alone, latent attention from 384 and 128 to 16 heads; with full recomputation a
# predicted token's layer too. PyTorch ends before a dense feed-forward's last product
python3 -S - "$tmp/latent" <<'P'
import json, os, sys
config = {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 1024, "num_attention_heads": 16,
    "num_key_value_heads": 16, "num_hidden_layers": 4, "intermediate_size": 2816, "vocab_size": 32000, "rms_norm_eps": 1e-6,
    "max_position_embeddings": 4096, "n_routed_experts": 16, "num_experts_per_tok": 4, "n_shared_experts": 2, "moe_intermediate_size": 512,
    "first_k_dense_replace": 2, "q_lora_rank": 384, "kv_lora_rank": 128, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 64,
    "n_group": 4, "topk_group": 2, "num_nextn_predict_layers": 0, "hidden_act": "silu", "tie_word_embeddings": False}
os.mkdir(sys.argv[1])
json.dump(config, open(sys.argv[1] + "/config.json", "w"))
json.dump(dict(config, num_nextn_predict_layers=1), open(sys.argv[1] + "/predicts.json", "w"))
P
up=$((384 * 16 * 96 + 128 * 16 * 128)) dense=$((3 * 1024 * 2816)) shared=$((3 * 1024 * 1024)) head=$((1024 * 32000))
moe=$((4 * 3 * 1024 * 512 + shared + 1024 * 16)) attention=$((up + 1024 * 544 + 1024 * 1024 + 1024 * 16 * 160))
whole=$((4 * attention + 2 * dense + 2 * moe)) predicted=$((attention + moe))
again() { # name, products again, products of the model, options
    name=$1 part=$2 all=$3
    shift 3
    of "$name" "abs((r['hfu'] / r['mfu'] - 1) / ($part / (3 * $all)) - 1) < 1e-9" True --cluster dgx-h100:8 --seq 1024 --global-batch 8 --ep 8 "$@"
}
for case in mlp:$((2 * dense)) moe:$((2 * moe)) shared_experts:$((2 * shared)) mla_up_proj:$((4 * up)) mlp,moe:$((2 * dense + 2 * moe)) moe,shared_experts:$((2 * moe)); do
    again "hfu_${case%%:*}" "${case#*:}" $((whole + head)) --model "$tmp/latent/config.json" --recompute selective --recompute-modules "${case%%:*}"
done
again hfu_mlp_early $((4 * 1024 * 2816)) $((whole + head)) --model "$tmp/latent/config.json" --recompute selective --recompute-modules mlp --software torchtitan-2024
again hfu_predicted $((whole + predicted)) $((whole + predicted + 2 * head + 2 * 1024 * 1024)) --model "$tmp/latent/predicts.json" --recompute full
# the core of attention is that of 4 layers of 52; the scans of 24 others are not computed again
of hfu_of_hybrids 'abs((r["hfu"] / r["mfu"] - 1) * r["tflops_per_gpu"] * 16 * r["step_time_us"] * 1e6 / (4 * 4 * 32 * 128 * 4096 * 16 * 4096) - 1) < 1e-9, r["breakdown_us"]["recompute"] < 0.03 * r["work_us"]["attention"]' \
    "True True" --model nemotron-h-8b --cluster dgx-h100:16 --tp 8 --global-batch 16 --seq 4096 --recompute selective

# collectives of tensor parallelism a layer with sequence parallelism. Megatron: a gather and a scatter around each of two
# halves, forward and backward, the input of both gathered again for the weight gradient, forward once more where it is
# recomputed. PyTorch keeps what it gathered, and recomputation ends before the last scatter
tp_ops() { # software, recompute
    for layers in 2 4; do
        "$STEPCAST" run --num-layers $layers --hidden-size 4096 --num-attention-heads 32 --vocab-size 1024 --seq 1024 --global-batch 1 --gpus 8 --tp 8 \
            --sequence-parallel --recompute $2 --software $1 --ignore-memory --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["comm"]["tp"]["ops"])'
    done | paste -sd ' ' | awk '{print ($2 - $1) / 2}'
}
check tp_collectives "$(tp_ops megatron-2022 none) $(tp_ops megatron-2022 full) $(tp_ops torchtitan-2024 none) $(tp_ops torchtitan-2024 full)" "10 14 8 11"

# bytes an element of the six gathers of a layer: two inputs forward, their two again, two gradients. Cast operands are gathered
# cast; gradients by rows and by columns where blocks have scales (fp4: half a byte and a scale for 16)
gathered() {
    for layers in 2 4; do
        "$STEPCAST" run --num-layers $layers --hidden-size 4096 --num-attention-heads 32 --vocab-size 1024 --seq 1024 --global-batch 1 --gpus 8 --tp 8 --gpu b200 \
            --sequence-parallel "$@" --ignore-memory --json - 2>/dev/null | python3 -S -c 'import json, sys; print(sum(v["bytes"] for v in json.load(sys.stdin)["volumes"] if v["group"] == "tp" and v["collective"] == "ALLGATHER"))'
    done | paste -sd ' ' | awk '{print ($2 - $1) / 2 / 1024 / 4096}'
}
check gathered_operands "$(gathered) $(gathered --fp8) $(gathered --fp8 --fp8-recipe tensorwise) $(gathered --fp8 --fp8-recipe rowwise) $(gathered --fp8 --fp8-recipe mxfp8) $(gathered --fp8 --fp8-recipe blockwise) $(gathered --fp4)" "12 6 6 12 8 8 4.5"

# FSDP gathers the two ends once a micro-batch, which its root holds, or the head alone where they are units of their own: so
# PyTorch 2.11 on ranks of 8 and 64, 8 layers of a Llama's and 128256 words: 5591146496 bytes forward, 3489792000 and 4540465152 backward
ends_of_fsdp() { # software
    "$STEPCAST" run --model llama3-8b --num-layers 8 --seq 64 --gpus 64 --fsdp --micro-batch 1 --global-batch 64 --ignore-memory --software $1 --json - 2>/dev/null |
        python3 -S -c 'import json, sys; print(sum(v["bytes"] for v in json.load(sys.stdin)["volumes"] if v["collective"] == "ALLGATHER"))'
}
check gathers_of_fsdp "$(for s in fsdp2-automodel fsdp1 torchtitan-2024 torchtitan-2026; do ends_of_fsdp $s; done | uniq)" "$((5591146496 + 3489792000))
$((5591146496 + 4540465152))"

# TorchTitan's float8: a layer's 12h² weights, gathered forward and backward, a byte each, bf16's two
weights() {
    for layers in 2 4; do
        "$STEPCAST" run --num-layers $layers --hidden-size 4096 --num-attention-heads 32 --vocab-size 1024 --seq 1024 --global-batch 8 --gpus 8 --software torchtitan-2024 \
            "$@" --ignore-memory --json - 2>/dev/null | python3 -S -c 'import json, sys; print(*[v["bytes"] for v in json.load(sys.stdin)["volumes"] if v["collective"] == "ALLGATHER"])'
    done | paste -sd ' ' | awk '{print int(($2 - $1) / 2 / 12 / 4096 / 4096 + 0.5)}'
}
check float8_weights "$(weights) $(weights --fp8) $(weights --fp8 --fp8-recipe rowwise)" "4 2 4"

# gradients of ZeRO 3 in a pipeline: PyTorch's stages begin to reduce them when their last backward has ended, others during it
ends() { "$STEPCAST" run --num-layers 8 --hidden-size 4096 --num-attention-heads 32 --vocab-size 1024 --seq 4096 --global-batch 16 --gpus 16 --pp 2 --zero 3 --ignore-memory "$@" --trace "$tmp/ends.json" >/dev/null 2>&1 && python3 -S - "$tmp/ends.json" <<'P'
import json, sys
events = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X"]
for stage in sorted({e["pid"] for e in events}):
    mine = [e for e in events if e["pid"] == stage]
    reduced = min(e["ts"] for e in mine if e["name"] == "gradients")
    computed = max(e["ts"] + e["dur"] for e in mine if e["cat"] in ("backward", "wgrad"))
    print(reduced >= computed - 1e-3, end=" ")
P
}
check reduced_after_backward "$(ends --use-torch-fsdp2)$(ends)$(ends --use-torch-fsdp2 --schedule zb-h1)" "True True False False True True "

# words looked up by one-hot rows: two products of 4096 tokens, 65536 words and 4096, no faster than the peak's 989 TFLOP/s and no slower than
# a third of it; by index they move some bytes
words() { "$STEPCAST" run --num-layers 2 --hidden-size 4096 --num-attention-heads 32 --vocab-size 65536 --seq 4096 --global-batch 1 --gpus 1 --gpu h100-sxm --ignore-memory --software $1 --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["work_us"]["embedding"])'; }
check one_hot_words "$(python3 -S -c "
product, index, least = $(words paxml), $(words maxtext), 2 * 2 * 4096 * 65536 * 4096 / 989e6
print(least < product < 3 * least, index < least / 4)")" "True True"

# kernels of attention that were measured on one GPU keep their ratio on another
attention() { "$STEPCAST" run --num-layers 4 --hidden-size 4096 --num-attention-heads 32 --vocab-size 1024 --seq 2048 --global-batch 1 --gpus 1 --ignore-memory "$@" --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["work_us"]["attention"])'; }
check attention_software "$(python3 -S -c "
here, there = [$(attention --gpu h200), $(attention --gpu h200 --attention flash2)], [$(attention --gpu h100-sxm), $(attention --gpu h100-sxm --attention flash2)]
print(abs(here[1] / here[0] / (there[1] / there[0]) - 1) < 0.01, there[0] > here[0])")" "True True"

# the loss of PyTorch is the same row of kernels beside compiled layers and plain ones; of logits in bf16 shorter, compiled shorter still
loss() { "$STEPCAST" run --num-layers 2 --hidden-size 4096 --num-attention-heads 32 --vocab-size 131072 --seq 4096 --global-batch 2 --micro-batch 2 --gpus 1 --gpu h200 --ignore-memory "$@" --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["work_us"]["loss"])'; }
check loss_in_fp32 "$(python3 -S -c "
fused, fp32, half, eager = $(loss), $(loss --cross-entropy fp32), $(loss --cross-entropy half), $(loss --fusion eager)
print(abs(fp32 / eager - 1) < 0.05, fused < half < fp32)")" "True True"

# Megatron's loss operator by operator (cross_entropy.py): 38 + 14 bytes a logit of bf16, 32 + 8 of fp32 (whose step is throttled otherwise), no faster than the H200 reads and writes
check loss_unfused "$(python3 -S -c "
narrow, wide, fused = $(loss --cross-entropy unfused), $(loss --cross-entropy unfused --dtype fp32), $(loss)
logits = 2 * 4096 * 131072
print(1.3 < narrow / wide < 1.42, 0.75 * 4.8e6 < 52 * logits / narrow < 4.8e6, narrow > 1.5 * fused)")" "True True True"
# … which its fp32 copy needs no more memory for, and which a launch script turns off
loss_bytes() { "$STEPCAST" run --num-layers 2 --hidden-size 4096 --num-attention-heads 32 --vocab-size 131072 --seq 4096 --global-batch 2 --micro-batch 2 --gpus 1 --gpu h200 --ignore-memory "$@" --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["memory_bytes"]["logits"])'; }
check loss_unfused_memory "$(loss_bytes --cross-entropy unfused)" "$((6 * 2 * 4096 * 131072))"
of_2024() { loss --software megatron-core-2024 "$@"; }
echo --cross-entropy-loss-fusion >"$tmp/fused.sh"
echo --use-distributed-optimizer >"$tmp/unfused.sh"
check loss_by_flag "$(python3 -S -c "
print($(of_2024 --megatron-args "$tmp/fused.sh") == $(of_2024 --cross-entropy fused), $(of_2024 --megatron-args "$tmp/unfused.sh") == $(of_2024 --cross-entropy unfused))")" "True True"

# memory of the states of Adam: 2 bytes of weights, 4 of gradients and 12 of the optimizer a parameter, sharded by ZeRO
ways="--model llama2-7b --gpus 8 --global-batch 8 --seq 1024 --cluster dgx-h100:8"
of states '[round(r["memory_bytes"][k] / r["memory_bytes"]["weights"], 6) for k in ("gradients", "optimizer")]' '[2.0, 6.0]' $ways --zero 0
of states_zero_1 '[round(r["memory_bytes"][k] / r["memory_bytes"]["weights"] * 8, 2) for k in ("gradients", "optimizer")]' '[16.0, 6.0]' $ways --zero 1
# … and ZeRO 2 has a layer's 202.4 million of 6738 whole beside its eighth of them
of states_zero_2 '[round(r["memory_bytes"][k] / r["memory_bytes"]["weights"] * 8, 2) for k in ("gradients", "optimizer")]' '[2.48, 6.0]' $ways --zero 2
"$STEPCAST" run $ways --zero 0 >"$tmp/out" 2>"$tmp/err"
check half_too_large "$? $(grep -c 'does not fit into memory' "$tmp/err")" "1 1"
# … of which fp32 weights need no copy: the optimizer reads and writes less
# (the gradient norm reads 4 bytes a parameter in both: it takes what the clock changes out)
for type in bf16 fp32; do "$STEPCAST" run $ways --zero 0 --dtype $type --ignore-memory --trace "$tmp/adam_$type.json" >/dev/null 2>&1; done
check adam_bytes "$(python3 -S - "$tmp/adam_bf16.json" "$tmp/adam_fp32.json" <<'P'
import json, sys
def per_norm(path):
    spans = json.load(open(path))["traceEvents"]
    longest = {name: max(e["dur"] for e in spans if e.get("name") == name and e["ph"] == "X") for name in ("optimizer", "gradient norm")}
    return longest["optimizer"] / longest["gradient norm"]
wide = per_norm(sys.argv[2]) / per_norm(sys.argv[1])
print(round(wide, 3), round(28 / 30, 3))
P
)" "0.933 0.933"
of adam 'r["work_us"]["optimizer"] < json.load(open("'"$tmp"'/states.json"))["work_us"]["optimizer"]' True $ways --zero 0 --dtype fp32

# a message of a graph: 1 us of latency and 100 us for its bytes, after 1 us of work
printf 'num_ranks 2\nrank 0 {\na: calc 1000\nb: send 1000001b to 1 tag 1\nb requires a\n}\nrank 1 {\na: recv 1000001b from 0 tag 1\n}\n' >"$tmp/message.goal"
"$STEPCAST" run "$tmp/message.goal" --loggops 1us,0,0,0.1ns --json "$tmp/message.json" >/dev/null
check message "$(python3 -S -c '
import json, sys
r = json.load(open(sys.argv[1]))
print(r["step_time_us"], r["comm"]["p2p"]["busy_us"], r["comm"]["p2p"]["exposed_us"])' "$tmp/message.json" 2>&1)" "102 101 101"

# rows of a table count from 0; those of no row have no number
"$STEPCAST" run tests/data/seed_003.txt --csv "$tmp/rows.csv" >/dev/null
check row_numbers "$(grep -c '^0,' "$tmp/rows.csv") $(grep -c '^1,' "$tmp/rows.csv") $(grep -c '^,' "$tmp/rows.csv" | sed 's/[1-9].*/some/')" "1 1 some"

# tokens for experts: as many bytes as the fullest rank takes
experts="--model mixtral-8x7b --gpus 8 --ep 8 --etp 1 --global-batch 8 --seq 1024 --cluster dgx-h100:8"
of even '"ep" in r["comm"]' True $experts
of uneven 'abs(r["comm"]["ep"]["bytes"] / json.load(open("'"$tmp"'/even.json"))["comm"]["ep"]["bytes"] - 1.5) < 1e-6' True $experts --moe-imbalance 1.5
# by a power law: of 8 experts on 8 ranks the most wanted is taken by 2 / (1 + 1/2 + ... + 1/8) of the tokens
of skewed 'abs(r["comm"]["ep"]["bytes"] / json.load(open("'"$tmp"'/even.json"))["comm"]["ep"]["bytes"] - 8 / sum(1 / i for i in range(1, 9))) < 1e-6' True $experts --moe-skew 1
of skew_capped 'abs(r["comm"]["ep"]["bytes"] / json.load(open("'"$tmp"'/even.json"))["comm"]["ep"]["bytes"] - 1.25) < 1e-6' True $experts --moe-skew 1 --moe-expert-capacity-factor 1.25
for wrong in "--moe-skew -1" "--moe-skew nan" "--moe-skew 1e9" "--moe-skew x" "--moe-skew 1 --moe-imbalance 2"; do
    "$STEPCAST" run $experts $wrong >/dev/null 2>"$tmp/skew.err"
    check "refused: $wrong" "$? $(grep -c -e '--moe-skew' "$tmp/skew.err")" "2 1"
done
# half of the host's part of unfused routing prepares the exchange, and a graph of the router saves it
of unfused 'r["step_time_us"] > json.load(open("'"$tmp"'/even.json"))["step_time_us"]' True $experts --moe-kernels unfused
of unfused_graph 'r["breakdown_us"]["other"] < 0.75 * json.load(open("'"$tmp"'/unfused.json"))["breakdown_us"]["other"]' True $experts --moe-kernels unfused --cuda-graph moe_router

# a fabric that does not block: the engines agree where flows find free paths; a hash of them meets itself
ways="--model bloom-7b1 --tp 2 --pp 3 --cp 4 --dp 16 --zero 3 --global-batch 96 --seq 2048 --cluster dgx-b200:384"
of without_links 'r["step_time_us"] > 0' True $ways --net analytic
# two GPUs of a node have no links to share but their own; where two collectives run at once, flows have the whole port and
# rings 0.82 of it
pair="--model deepseek-moe-16b --dp 2 --zero 3 --global-batch 16 --seq 2048 --ignore-memory --cluster dgx-h100:2"
of pair_alone 'r["step_time_us"] > 0' True $pair
of pair_by_flows 'abs(r["step_time_us"] / json.load(open("'"$tmp"'/pair_alone.json"))["step_time_us"] - 1) < 0.12' True $pair --net flow
of free_paths 'abs(r["step_time_us"] / json.load(open("'"$tmp"'/without_links.json"))["step_time_us"] - 1) < 0.1' True $ways --net flow --route adaptive
of hashed_paths 'r["step_time_us"] > 1.1 * json.load(open("'"$tmp"'/free_paths.json"))["step_time_us"] and any("waited for links" in n["text"] for n in r["input"]["notes"])' True $ways --net flow --route ecmp
# adapters: 4 FLOPs a parameter of a product and token, 12 s² h a layer for attention
lora() { "$STEPCAST" run --model llama3-8b --gpus 1 --gpu h100 --seq 8192 --lora 16 --json - | python3 -S -c 'import json,sys
d = json.load(sys.stdin)
n = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 128256 * 4096
wanted = 4 * n * 8192 + 12 * 32 * 8192 * 8192 * 4096
print(round(d["tflops_per_gpu"] * d["step_time_us"] * 1e6 / wanted, 6))'; }
check lora_flops "$(lora)" 1.0
# an adapter's output is added both ways (two values read, one written), and without a compiler scaled before (one and one)
elementwise() { "$STEPCAST" run --model llama2-7b --gpus 1 --gpu h200 --seq 4096 --micro-batch 1 --global-batch 1 --recompute none --ignore-memory --lora 16 "$@" --json - | python3 -S -c 'import json,sys
print(json.load(sys.stdin)["work_us"]["elementwise"])'; }
one_more() { echo "$(elementwise --fusion $1 --lora-targets q_proj,o_proj) $(elementwise --fusion $1 --lora-targets q_proj)"; }
check adapters_are_scaled "$(python3 -S -c 'import sys; a, b, c, d = map(float, sys.argv[1:]); print(1.6 < (a - b) / (c - d) < 2.1)' $(one_more hf) $(one_more megatron))" True
# one adapter more, in bytes an element of 4096 × 4096 forward and backward: in bf16 it is scaled and added (4 + 6, twice);
# under autocast its input and the gradient of it are widened and narrowed (12, twice); in fp32 it is scaled (8, twice), added
# (10, 6) and cast (12, 18); one input more that is dropped is read, written and has a mask
passes() { echo "$(elementwise --fusion hf --lora-targets q_proj,o_proj $1) $(elementwise --fusion hf --lora-targets q_proj $1)"; }
check adapters_are_cast "$(python3 -S -c 'import sys; a, b, c, d, e, f = map(float, sys.argv[1:]); bf16 = (a - b) / 20; print(abs((c - d) / bf16 / 44 - 1) < 0.1, abs((e - f) / bf16 / 62 - 1) < 0.1)' $(passes) $(passes --lora-autocast) $(passes --lora-fp32))" "True True"
check adapters_drop_inputs "$(python3 -S -c 'import sys; a, b, c, d = map(float, sys.argv[1:]); print(abs((c - d) / (a - b) / 30 * 20 - 1) < 0.2)' $(passes) $(passes --dropout))" True
# peft on an H200: 500.2 ms measured, q, k, v and o of twelve layers (lora of data/truth/h200_captures.csv, row of batch 8)
measured=$(awk -F, '$1 == "lora" && $2 == 8 {print $3}' data/truth/h200_captures.csv)
peft() { "$STEPCAST" run --num-layers 12 --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 11008 --vocab-size 32000 --make-vocab-size-divisible-by 1 --swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear --untie-embeddings-and-output-weights --seq 2048 --micro-batch 8 --micro-batches 1 --gpus 1 --gpu h200 --software hf-transformers --lora 16 --lora-targets q_proj,k_proj,v_proj,o_proj "$@" --json - | python3 -S -c 'import json,sys
print(json.load(sys.stdin)["step_time_us"] / 1e3)'; }
check peft_as_measured "$(python3 -S -c 'import sys; a, b = map(float, sys.argv[1:]); print(abs(a / b - 1) < 0.03)' $(peft --lora-fp32) $measured)" True
# plain PyTorch reduces gradients as wide as its weights are; amp those of fp32 weights
reduced() { "$STEPCAST" run --model llama3-8b --seq 1024 --global-batch 8 --cluster dgx-h200:8 --software hf-transformers --ignore-memory "$@" --json - | python3 -S -c 'import json,sys
print(sum(v["bytes"] for v in json.load(sys.stdin)["volumes"] if v["group"] == "dp"))'; }
check plain_gradients "$(reduced --update plain) $(reduced --update plain --grad-dtype fp32) $(reduced --update amp)" "$((2 * 8030261248)) $((4 * 8030261248)) $((4 * 8030261248))"
# and ZeRO 1 gathers them alone, after the update or beside forward: two bytes each of 16·32·(2·4096 + 4096 + 1024)
gathered() { "$STEPCAST" run --model llama3-8b --seq 2048 --global-batch 8 --lora 16 --zero 1 --cluster dgx-h100:8 "$@" --json - | python3 -S -c 'import json,sys
print(sum(v["bytes"] for v in json.load(sys.stdin)["volumes"] if v["collective"] == "ALLGATHER"))'; }
check adapters_gathered "$(gathered)" $((2 * 16 * 32 * 13312))
check adapters_gathered_beside_forward "$(gathered --overlap-param yes)" $((2 * 16 * 32 * 13312))

# experts one after another: rows of tokens are no leading dimension, so that 20 of them take no longer than 24
looped="--model qwen3-30b-a3b --tp 8 --pp 4 --cp 2 --dp 1 --seq 1024 --micro-batch 2 --global-batch 16 --sequence-parallel --etp 1 --ep 2 --software nemo-25.02 --ignore-memory --cluster dgx-b200:64"
for load in 1 1.25 1.5; do "$STEPCAST" run $looped --moe-imbalance $load --json - 2>/dev/null | sed -n 's/.*"step_time_us": \([0-9.]*\),$/\1/p'; done >"$tmp/loads"
if [ "$(wc -l <"$tmp/loads")" = 3 ] && sort -n -c "$tmp/loads"; then echo "ok fuller_experts"; else echo "not ok fuller_experts: $(tr '\n' ' ' <"$tmp/loads")"; fi

# LogGOPS, L 1 us, o 0.1 us, g 50 ns, G 1 ns a byte, S 100 bytes, five ranks. A barrier takes three rounds of a message of a
# byte, L + 2o each; the root of a gather takes four parts of 1001 bytes, the first after L + 2o + 1000 G, then one each
# g + 1000 G.
step_of() { "$STEPCAST" run "$@" --json - 2>/dev/null | sed -n 's/.*"step_time_us": \([0-9.]*\),$/\1/p' | head -1; }
figures=1us,0.1us,50ns,1ns,0,100
for coll in BARRIER:8:3.6 GATHER:5005:5.35 SCATTER:5005:5.35; do
    kind=${coll%%:*} wanted=${coll##*:} bytes=${coll#*:} && bytes=${bytes%:*}
    cat >"$tmp/coll.json" <<END
{"schema": "stepcast/ir/1", "workload": {"mesh": {"dp": 5}, "groups": [{"kind": "dp"}],
 "blocks": [{"ops": [{"kind": "collective", "name": "x", "coll": "$kind", "group": 0, "bytes": $bytes}]}],
 "programs": [[{"block": 0}]], "classes": [{"program": 0, "rank": 0, "ranks": 5}]}}
END
    check "loggops $kind" "$(step_of "$tmp/coll.json" --loggops $figures)" $wanted
done
# a message of more than S bytes waits until it is received (100 us), asks and is answered (2L) and comes (L + 1000 G); a
# shorter one has come long before
printf 'num_ranks 2\nrank 0 {\na: send 1001b to 1 tag 1\n}\nrank 1 {\na: calc 100000\nb: recv 1001b from 0 tag 1\nb requires a\n}\n' >"$tmp/meet.goal"
check rendezvous "$(step_of "$tmp/meet.goal" --loggops 1us,0,0,1ns,0,100) $(step_of "$tmp/meet.goal" --loggops 1us,0,0,1ns,0,2000)" "104 100"
# what the sender does behind its message waits for the answer (102 us); two that both send first never get one
printf 'num_ranks 2\nrank 0 {\na: send 1001b to 1\nb: calc 50000\nb requires a\n}\nrank 1 {\na: calc 100000\nb: recv 1001b from 0\nb requires a\n}\n' >"$tmp/blocked.goal"
check rendezvous_send "$(step_of "$tmp/blocked.goal" --loggops 1us,0,0,1ns,0,100) $(step_of "$tmp/blocked.goal" --loggops 1us,0,0,1ns,0,2000)" "152 100"
printf 'num_ranks 2\nrank 0 {\na: send 1001b to 1\nb: recv 1001b from 1\nb requires a\n}\nrank 1 {\na: send 1001b to 0\nb: recv 1001b from 0\nb requires a\n}\n' >"$tmp/cross.goal"
"$STEPCAST" run "$tmp/cross.goal" --loggops 1us,0,0,1ns,0,100 >/dev/null 2>"$tmp/cross.err"
check rendezvous_deadlock "$? $(grep -c deadlock "$tmp/cross.err") $(step_of "$tmp/cross.goal" --loggops 1us,0,0,1ns,0,2000)" "3 1 2"

# ZeRO 1 gathers updated weights once a step, 2 bytes a parameter, beside the first forward or before it: not for each of 4
# micro-batches
gathered='sum(v["bytes"] for v in r["volumes"] if v["collective"] == "ALLGATHER") // (2 * r["model"]["parameters"])'
of gathered_before "$gathered" 1 --model llama2-7b --gpus 8 --global-batch 32 --micro-batch 1 --seq 1024 --cluster dgx-h100:8 --zero 1
of gathered_beside "$gathered" 1 --model llama2-7b --gpus 8 --global-batch 32 --micro-batch 1 --seq 1024 --cluster dgx-h100:8 --zero 1 --overlap-param yes

# collectives: 10 us more for each hop between nodes are 10 us for each of a ring's 2(N − 1) and of a tree's 2 log2 N
fabric="gpu=h100 node=8 nvlink=450GB/s nics=8 nic=400Gbps class=ib"
us() { "$STEPCAST" coll "$@" --csv - 2>/dev/null | awk -F, 'END { print $5 }'; }
more() { awk "BEGIN { printf \"%.0f\", $(us all_reduce -c "$fabric gpus=$1 hop=11us" -b 8 -e 8 --algo $2 --proto $3) - $(us all_reduce -c "$fabric gpus=$1 hop=1us" -b 8 -e 8 --algo $2 --proto $3) }"; }
for proto in ll ll128 simple; do
    check "hops of a ring, $proto" "$(more 16 ring $proto) $(more 64 ring $proto)" "20 140"
    check "hops of a tree, $proto" "$(more 16 tree $proto) $(more 64 tree $proto)" "20 60"
done
# a chain of a broadcast leaves a node N − 1 times
later() { awk "BEGIN { printf \"%.0f\", $(us broadcast -c "$fabric gpus=$1 hop=11us" -b 8 -e 8) - $(us broadcast -c "$fabric gpus=$1 hop=1us" -b 8 -e 8) }"; }
check "hops of a chain" "$(later 16) $(later 64)" "10 70"
# a ring's threads copy what the links carry: at half the rate they take twice as long, and do not matter where they are faster
copied() {
    echo '{"gpu": "h100-sxm", "gpus": 8, "node": {"gpus": 8, "nvlink": "450GB/s"}, "collectives": {"ring_copy": '$1', "own_copy": [1e6, 1e6, 1e6]}}' >"$tmp/copied.json"
    us all_gather -c "$tmp/copied.json" -b 4G -e 4G --algo ring --proto simple
}
check ring_copy "$(awk "BEGIN { r = $(copied 50) / $(copied 100); print (r > 1.95 && r < 2.01) }")" 1
check ring_links "$(awk "BEGIN { r = $(copied 500) / $(copied 1000); print (r == 1) }")" 1
# PXN moves what leaves a node over NVLink first, which is twice the bytes there: where NVLink is no faster than the NICs, twice the time
slow="gpu=h100 gpus=16 node=8 nvlink=40GB/s nics=8 nic=400Gbps class=ib"
check pxn_passes_nvlink "$(awk "BEGIN { r = $(us alltoall -c "$slow" -b 1G -e 1G --algo pxn) / $(us alltoall -c "$slow" -b 1G -e 1G --algo direct); print (r > 1.8 && r < 2.3) }")" 1
# the root of a gather has its NIC for itself, whatever others of the node would share of it
one="gpu=h100 gpus=16 node=8 nvlink=450GB/s nic=400Gbps class=ib"
check root_alone "$(awk "BEGIN { a = $(us gather -c "$one nics=1" -b 1G -e 1G); b = $(us gather -c "$one nics=8" -b 1G -e 1G); print (a < 1.02 * b && b < 1.02 * a) }")" 1

# Phi-2 has 2,779,683,840 parameters: one norm a layer, biases, a head with a bias
printf '{"architectures": ["PhiForCausalLM"], "model_type": "phi", "num_hidden_layers": 32, "hidden_size": 2560, "intermediate_size": 10240, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 51200, "max_position_embeddings": 2048, "tie_word_embeddings": false, "hidden_act": "gelu_new"}\n' >"$tmp/phi.json"
of phi_2 'abs(r["model"]["parameters"] - 2779683840) <= 51200' True --model "$tmp/phi.json" --gpus 1 --cluster dgx-h100:1

# a rank that is slowed down leaves its class, and keeps the memory of its stage
expect too_slow 2 "101" "$STEPCAST" run --model llama2-7b --gpus 8 --tp 8 --slow rank:0=101 --ignore-memory
stages="--model llama2-7b --pp 4 --dp 2 --seq 1024 --global-batch 16 --cluster dgx-h100:8"
of whole_classes 'len(r["class_memory_bytes"])' 4 $stages
of split_classes 'sorted({(c["stage"], c["weights"], c["activations"]) for c in r["class_memory_bytes"]}) == sorted({(c["stage"], c["weights"], c["activations"]) for c in json.load(open("'"$tmp"'/whole_classes.json"))["class_memory_bytes"]}) and len(r["class_memory_bytes"]) > 4' True $stages --slow rank:7=1.5

# layers that are computed again keep less: of eight, the more the less
block="--num-layers 8 --hidden-size 2048 --num-attention-heads 16 --vocab-size 32000 --seq 2048 --global-batch 1 --gpus 1 --cluster dgx-h100:1"
kept() { "$STEPCAST" run $block --ignore-memory --json - "$@" 2>/dev/null | python3 -S -c 'import json, sys; m = json.load(sys.stdin)["memory_bytes"]; print(m["activations"])'; }
again="--recompute full --recompute-method block --recompute-num-layers"
check repeated_layers "$(awk "BEGIN { n = $(kept --recompute none); a = $(kept $again 2); b = $(kept $again 6); f = $(kept $again 8); print (n > a), (a > b), (b > f), ((a - b) / (n - a) > 1.5) }")" "1 1 1 1"

# 2021: the host waits 450 us behind each of the four messages that a stage gets in a step of four micro-batches, unless they overlap
messages="--num-layers 4 --hidden-size 8192 --num-attention-heads 64 --vocab-size 32000 --seq 2048 --micro-batch 4 --global-batch 16 --tp 2 --pp 2 --dp 1 --cluster dgx-a100:4 --fusion 2021"
of host_behind_messages 'r["breakdown_us"]["other"]' 1800 $messages
of host_elsewhere 'r["breakdown_us"]["other"]' 0 $messages --overlap-p2p yes

# operator tables without backward times: an addition's backward is as long as its forward; a row that has a time for its weights is complete
table="name\tforward_compute_time\tforward_comm_type\tforward_comm_size\tbackward_compute_time\tbackward_comm_type\tbackward_comm_size\tweight_grad_compute_time\tweight_grad_comm_type\tweight_grad_comm_size\tprocess_time"
printf "$table\nadd\t10\tNONE\t0\t0\tNONE\t0\t0\tNONE\t0\t0\n" >"$tmp/add.txt"
check backward_of_add "$(step_of "$tmp/add.txt" --backward synth)" 20000
printf "$table\nfc\t10\tNONE\t0\t0\tNONE\t0\t7\tNONE\t0\t0\n" >"$tmp/weights.txt"
check backward_is_there "$(step_of "$tmp/weights.txt" --backward synth)" 17000

# layer workloads: microseconds are a thousand nanoseconds
of in_ns 'r["breakdown_us"]["compute"] > 0' True tests/data/seed_004.txt
of in_us 'round(r["breakdown_us"]["compute"] / json.load(open("'"$tmp"'/in_ns.json"))["breakdown_us"]["compute"], 9)' 1000.0 tests/data/seed_004.txt --time-unit us

# a layer of 2·1024² + 2·1024·512 + 3·1024·4096 weights and two norms, two of them, both ends of 4096·1024 and the last norm: 39851008
small="--num-layers 2 --hidden-size 1024 --num-attention-heads 16 --group-query-attention --num-query-groups 8 --ffn-hidden-size 4096 --swiglu --normalization RMSNorm --disable-bias-linear --position-embedding-type rope --untie-embeddings-and-output-weights --vocab-size 4096 --seq 1024 --micro-batch 1"
# norms of queries and keys that all heads share are whole on each of two tensor-parallel ranks: 2·64 weights in each of 2 layers, 2 bytes each
normed() { "$STEPCAST" run $small --gpus 2 --tp 2 "$@" --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["memory_bytes"]["weights"])'; }
check norms_of_heads "$(($(normed --qk-layernorm) - $(normed)))" $((2 * 2 * 64 * 2))
# ZeRO 2 holds a quarter of them in fp32, and beside that a layer's until they are reduced; DeepSpeed a quarter in bf16, its bucket, and
# what is in it once more (a second bucket fills meanwhile where overlap_comm is on)
of unreduced_unit 'r["memory_bytes"]["gradients"]' $((39851008 + 4 * 15730688)) $small --gpus 4 --zero 2 --micro-batches 1 --software megatron-core-2025
of unreduced_bucket 'r["memory_bytes"]["gradients"]' $((39851008 / 2 + 2000000)) $small --gpus 4 --zero 2 --micro-batches 1 --software deepspeed --bucket 1MB
of unreduced_buckets 'r["memory_bytes"]["gradients"]' $((39851008 / 2 + 3000000)) $small --gpus 4 --zero 2 --micro-batches 1 --software deepspeed --bucket 1MB --overlap-grad yes
of buckets_of_two_layers '[v["ops"] for v in r["volumes"] if v["group"] == "dp" and v["collective"] == "ALLREDUCE"]' "[2]" $small --gpus 4 --zero 2 --micro-batches 2 --software deepspeed
of bucket_behind_backward 'r["breakdown_us"]["exposed_comm"]["dp"] > 0.9 * r["comm"]["dp"]["busy_us"]' True $small --gpus 4 --zero 2 --micro-batches 2 --software deepspeed
printf '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2, "overlap_comm": true, "reduce_bucket_size": 2e8}, "train_micro_batch_size_per_gpu": 1}\n' >"$tmp/ds.json"
of bucket_of_a_file '(r["settings"]["bucket"], r["settings"]["overlap-grad"])' "('400000000', 'yes')" "$tmp/ds.json" --model llama2-7b --gpus 8 --seq 4096
# DistributedDataParallel keeps no fp32 copy: 2 bytes of weights and twice 2 of Adam, as on one GPU
of ddp_without_main_copy '(r["memory_bytes"]["weights"], r["memory_bytes"]["optimizer"])' "($((2 * 39851008)), $((4 * 39851008)))" $small --gpus 4 --micro-batches 1 --software hf-transformers
# and so it is where --zero 0 has the last word over FSDP
of ddp_by_the_last_word '(r["memory_bytes"]["weights"], r["memory_bytes"]["optimizer"])' "($((2 * 39851008)), $((4 * 39851008)))" $small --gpus 4 --micro-batches 1 --software hf-transformers --zero 0 --use-torch-fsdp2
# sequence parallel, tp 2: of each layer two gathers forward and four backward, of the embedding one, of the head one and once more for its
# weight gradient; two reductions a layer each way and one of each end; and the gradients of five norms of 1024 in fp32
of gathers_of_sequence '[sum(v["ops"] for v in r["volumes"] if v["group"] == "tp" and v["collective"] == c) for c in ("ALLGATHER", "REDUCESCATTER")], [v["bytes"] for v in r["volumes"] if v["group"] == "tp" and v["phase"] == "update"]' \
    "[15, 10] [20480]" $small --gpus 2 --tp 2 --sequence-parallel --micro-batches 1
of norms_of_all_tokens '[v["bytes"] for v in r["volumes"] if v["group"] == "tp" and v["phase"] == "update"]' "[]" $small --gpus 2 --tp 2 --micro-batches 1
# a core of attention that runs again gathers its keys, or exchanges its heads, again
cores='[sum(v["ops"] for v in r["volumes"] if v["group"] == "cp" and v["collective"] == c) for c in ("ALLGATHER", "REDUCESCATTER", "ALLTOALL")]'
of keys_once "$cores" "[4, 2, 0]" $small --gpus 2 --cp 2 --micro-batches 1 --cp-comm-type all_gather
of keys_again "$cores" "[6, 2, 0]" $small --gpus 2 --cp 2 --micro-batches 1 --cp-comm-type all_gather --recompute selective
of heads_again "$cores" "[0, 0, 12]" $small --gpus 2 --cp 2 --micro-batches 1 --cp-comm-type a2a --recompute selective
expect heads_not_exchanged 2 "does not divide the 8 key-value heads" "$STEPCAST" run $small --gpus 16 --cp 16 --micro-batches 1 --cp-comm-type a2a
# two ranks that share experts gather each other's tokens: of 1024 tokens 7200 bytes each, of 1024 routed ones 2·2·1024 of input and 6·1024
# between the products, 8·4 of the router for each of 512, two layers, and 4·1024 for each of 512 at the end
experts="$small --num-experts 4 --moe-router-topk 2 --moe-ffn-hidden-size 1024 --gpus 2 --tp 2 --ep 1 --micro-batches 1"
of gathered_tokens 'r["memory_bytes"]["activations"]' $((2 * (1024 * 7200 + 1024 * (4096 + 6144) + 512 * 32) + 512 * 4096)) $experts --etp 2
expect experts_not_cut 2 "does not divide the experts' feed-forward size 1001" "$STEPCAST" run $experts --etp 2 --moe-ffn-hidden-size 1001
# a faster entry of a GPU's file makes nothing slower: types without constants of their own go by the peak that those of bf16 were found beside
for type in fp16 tf32; do
    sed 's/"bf16": 989.4/"bf16": 1978.8/; s/"name": "h100-sxm"/"name": "mine"/' data/gpus/h100-sxm.json >"$tmp/faster.json"
    of "before_$type" 'r["step_time_us"] > 0' True $small --gpus 1 --micro-batches 1 --dtype $type --gpu h100-sxm
    of "faster_$type" 'r["step_time_us"] <= json.load(open("'"$tmp/before_$type.json"'"))["step_time_us"]' True $small --gpus 1 --micro-batches 1 --dtype $type --gpu "$tmp/faster.json"
done
expect peak_of_constants 0 "found beside 989.4 TFLOP/s of its main type, its datasheet says 1979" "$STEPCAST" run $small --gpus 1 --micro-batches 1 --gpu "$tmp/faster.json"
# words of other tensor-parallel ranks are masked and come to one place: that a rank has 6400 of 51200 saves no sums of the gradient's rows.
# 8192 tokens more of 1536: (13.28 + 1.12) us per 1e6 elements and 2.03 us per 1000 rows
words="--num-layers 1 --hidden-size 1536 --num-attention-heads 16 --ffn-hidden-size 6144 --vocab-size 51200 --position-embedding-type rope --gpus 8 --tp 8 --micro-batch 1 --global-batch 1 --cluster dgx-h200:8 --host-launch 0 --no-optimizer"
of words_8k 'r["step_time_us"] > 0' True $words --seq-length 8192
of words_16k 'round(r["work_us"]["embedding"] - json.load(open("'"$tmp/words_8k.json"'"))["work_us"]["embedding"], 2)' \
    "$(python3 -c 'print(round((13.28 + 1.12) * 8192 * 1536e-6 + 2.03 * 8.192, 2))')" $words --seq-length 16384
