#!/bin/sh
# Memory by parts, how weights are updated, adapters: what is asked and what is refused.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
if ! command -v python3 >/dev/null; then
    echo "skip memory [needs command:python3]"
    exit 0
fi
llama="--model llama3-8b --gpus 8 --seq 4096 --global-batch 8 --ignore-memory"

# value KEY OPTIONS…: a part, bytes
value() {
    key=$1
    shift
    "$STEPCAST" run "$@" --json - 2>/dev/null | python3 -S -c "import json, sys; print(json.load(sys.stdin)['memory_bytes']['$key'])"
}
time_of() { "$STEPCAST" run "$@" --json - 2>/dev/null | python3 -S -c "import json, sys; print(json.load(sys.stdin)['step_time_us'])"; }
checkpoint_of() { "$STEPCAST" train "$@" --cluster dgx-h100:8 --train-tokens 1G --json - 2>/dev/null | python3 -S -c "import json, sys; print(json.load(sys.stdin)['checkpoint']['state_bytes'])"; }
# holds NAME EXPRESSION
holds() { if python3 -S -c "import sys; sys.exit(not ($2))"; then echo "ok memory: $1"; else echo "not ok memory: $1: $2"; fi; }

n=8030261248 # parameters of llama3-8b
holds "mixed: 2, 4 and 12 bytes" "($(value weights $llama), $(value gradients $llama), $(value optimizer $llama)) == (2*$n, 4*$n, 12*$n)"
small="$llama --seq 128 --grad-reduce-in-bf16 --cross-entropy te" # the update is the largest moment
holds "gradients in bf16 are widened for the update" "($(value gradients $small), $(value optimizer $small), $(value workspace $small)) == (2*$n, 12*$n, 4*$n + 2**26)"
holds "but not for the precision-aware optimizer, which keeps 16 bits beside bf16 weights" "($(value gradients $small --use-precision-aware-optimizer), $(value optimizer $small --use-precision-aware-optimizer)) == (2*$n, 10*$n) and $(value workspace $small --use-precision-aware-optimizer) < 4*$n"
# of 30 bytes that the update moves: 4 of two moments each way, and 4 + 4 + 2 of copy and weight become 2 + 2
holds "a smaller state is updated faster" "abs(($(time_of $llama) - $(time_of $llama --main-params-dtype bf16 --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16)) / ($(time_of $llama) - $(time_of $llama --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16)) - (6 + 8) / 8) < 0.02"
holds "what is saved is in fp32 all the same" "$(checkpoint_of $llama) == $(checkpoint_of $llama --use-precision-aware-optimizer --exp-avg-dtype bf16)"
# DeepSpeed updates an fp32 copy on one rank as on many
one="--model llama3-8b --cluster dgx-h100:1 --global-batch 1 --software deepspeed --ignore-memory"
holds "DeepSpeed on one GPU: 2, 2 and 12 bytes" "($(value weights $one), $(value gradients $one), $(value optimizer $one)) == (2*$n, 2*$n, 12*$n)"
holds "8-bit Adam" "$(value optimizer $llama --optimizer adam-8bit) == int($n * (4 + 2 * (1 + 4/256)))"
holds "SGD has the main copy alone" "$(value optimizer $llama --optimizer sgd) == 4*$n"
# embedding and head, 2·128256·4096, and the last norm are Adam's
holds "Muon has one moment but for the ends" "$(value optimizer $llama --optimizer muon) == 8*$n + 4*(2*128256*4096 + 4096)"
holds "plain PyTorch: all in bf16" "$(value optimizer $llama --update plain --micro-batches 1) == 4*$n"
holds "amp: fp32 state" "$(value optimizer $llama --update amp) == 8*$n"
# Korthikanti's 5·a·s² of 32 layers and heads, against the logarithm of a sum for each head and token
old="--model llama2-7b --gpus 4 --tp 4 --seq 2048 --global-batch 1 --software megatron-deepspeed-2022 --ignore-memory"
holds "unfused attention keeps its scores" "$(value activations $old) - $(value activations $old --attention flash2) == 32 * 32 // 4 * (5 * 2048**2 - 4 * 2048)"
holds "flash attention is faster where the software has none, dropout takes time" \
    "$(time_of $old --attention flash2 --no-dropout) < $(time_of $old --attention fused) < $(time_of $old)"
holds "fused: as the software has it" "$(time_of $old --attention fused) == $(time_of $old --attention flash2) and $(time_of $llama --attention fused) == $(time_of $llama)"
# r·(h + q) and r·(h + kv) in each of 32 layers
adapters="16 * 32 * (4096 + 4096 + 4096 + 1024)"
holds "adapters alone are trained" "$(value optimizer $llama --lora 16) == 12 * $adapters"
holds "and add to the weights" "$(value weights $llama --lora 16) == 2 * ($n + $adapters)"
holds "in fp32 they are their own main copy" "$(value optimizer $llama --lora 16 --lora-fp32) == 8 * $adapters and $(value weights $llama --lora 16 --lora-fp32) == 2 * $n + 4 * $adapters"
# embedding, head and last norm stay as they are (bitsandbytes)
ends="(2 * 128256 * 4096 + 4096)"
holds "four bits of the frozen weights" "abs($(value weights $llama --lora 16 --qlora) - (4.127 / 8 * ($n - $ends) + 2 * ($ends + $adapters))) < 1000"
# shards of eight ranks, a layer that is gathered and the head
layer="(2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096)"
holds "and of their shards" "abs($(value weights --model llama3-8b --gpus 8 --dp 8 --seq 2048 --global-batch 8 --lora 16 --qlora --zero 3) - ((4.127 / 8 * ($n - $ends) + 2 * ($ends + $adapters)) / 8 + 4.127 / 8 * $layer + 2 * (128256 * 4096 + 4096))) < 1000"
holds "and of shards on the host" "abs($(value host --model llama3-8b --gpus 8 --dp 8 --seq 2048 --global-batch 8 --lora 16 --qlora --zero 3 --offload-params --software deepspeed) - (4.127 / 8 * ($n - $ends) + 2 * ($ends + $adapters)) / 8) < 1000"
holds "a frozen model is faster to train, four bits slower than sixteen" \
    "$(time_of $llama --lora 16) < $(time_of $llama --lora 16 --qlora) and $(time_of $llama --lora 16) < 0.8 * $(time_of $llama)"
# a second adapter beside the same input keeps it again, in fp32 or narrowed by autocast, and the mask of its dropout
second() { echo "$(value activations $two --lora-targets q_proj,k_proj $*) - $(value activations $two --lora-targets q_proj $*)"; }
two="--model llama3-8b --gpus 1 --seq 2048 --global-batch 1 --fusion hf --recompute none --lora 16"
input="32 * 2048 * 4096"
holds "inputs of adapters: one for all, in fp32 each its own, narrowed by autocast, dropped" \
    "[$(second), $(second --lora-fp32), $(second --lora-autocast), $(second --lora-autocast --qlora), $(second --lora-autocast --dropout)] == [b * $input for b in (0, 4, 2, 0, 3)]"
# one of two ranks gets 1.5 times its tokens, the other half of them: what they keep lies on a line
uneven="--model mixtral-8x7b --num-layers 4 --cluster dgx-h100:2 --ep 2 --global-batch 2 --seq 4096 --ignore-memory"
kept() { "$STEPCAST" run $uneven --moe-imbalance "$1" --json - 2>/dev/null | python3 -S -c 'import json, sys; print([c["activations"] for c in json.load(sys.stdin)["class_memory_bytes"]])'; }
holds "ranks with fewer tokens keep less" "(lambda even, full, empty: full > even and abs(2 * even - full - empty) <= 2)(*$(kept 1), *$(kept 1.5))"
holds "Muon takes longer than Adam, SGD less" "$(time_of $llama --optimizer sgd) < $(time_of $llama) < $(time_of $llama --optimizer muon)"

# ZeRO 3: a shard, and what is gathered at once: a layer and the larger end (the head and its norm), or two layers
holds "a layer and the head are gathered" "$(value weights $llama --zero 3) == 2 * ($n / 8 + 2*4096*4096 + 2*4096*1024 + 3*4096*14336 + 2*4096 + 128256*4096 + 4096)"
holds "two layers are gathered" "$(value weights --model llama2-70b --gpus 8 --seq 4096 --global-batch 8 --ignore-memory --zero 3) == 2 * (68976648192 / 8 + 2 * (2*8192*8192 + 2*8192*1024 + 3*8192*28672 + 2*8192))"

# a pipeline of ZeRO 3: whole weights and gradients, or shards and more traffic
# PyTorch's ZeRO 2 (SHARD_GRAD_OP): all weights stay gathered beside fp32 shards, which the optimizer keeps two moments of;
# gradients are shards too, which are not there yet when the loss is made, but from the second micro-batch on
grad_op="$llama --software fsdp1 --zero 2"
holds "PyTorch's ZeRO 2: shards and what is gathered" "$(value weights $grad_op) == 2*$n + 4*$n/8"
holds "PyTorch's ZeRO 2: two moments of a shard" "$(value optimizer $grad_op) == 8*$n/8"
holds "PyTorch's ZeRO 2: gradients are shards" "($(value gradients $grad_op), $(value gradients $grad_op --global-batch 16)) == (0, 4*$n/8)"
# its ZeRO 3 has both ends and the last norm for the loss, or as units of their own the head and that norm
holds "FSDP's root is held" "$(value weights $grad_op --zero 3) == 2*(2*128256*4096 + 4096) + 4*$n/8"
holds "ends as units of their own" "$(value weights $llama --software torchtitan-2026 --fsdp) == 2*(128256*4096 + 4096) + 4*$n/8"
pipe="--model llama3-8b --gpus 16 --pp 2 --seq 4096 --global-batch 64 --zero 3 --ignore-memory"
holds "weights that stay are whole" "$(value weights $pipe) > $n * 0.9 and $(value weights $pipe --reshard-after-forward yes) < $n * 0.4"
holds "giving them back takes longer" "$(time_of $pipe) < $(time_of $pipe --reshard-after-forward yes)"
# hybrid sharding: state over groups of 8 of 64 ranks; beside two gathers of 2 bytes and a
# scatter of 4 a sum of an eighth of the gradients over the groups
hsdp="--model llama3-8b --gpus 64 --seq 4096 --global-batch 64 --zero 3 --ignore-memory --software megatron-core-2025"
sent() { "$STEPCAST" run "$@" --json - 2>/dev/null | python3 -S -c "import json, sys; print(json.load(sys.stdin)['comm']['dp']['bytes'])"; }
holds "hybrid shards: an eighth of the state" "$(value optimizer $hsdp --shard-group 8) == 12 * $n / 8"
holds "and a sum over the copies" "abs($(sent $hsdp --shard-group 8) / ((8 + 4 / 8) * $n) - 1) < 0.001 and abs($(sent $hsdp) / (8 * $n) - 1) < 0.001"
# Megatron's words for it: 64 ranks, 8 instances of 8
instances="$hsdp --num-distributed-optimizer-instances"
holds "instances of the optimizer: groups of shards" "$(value optimizer $instances 8) == $(value optimizer $hsdp --shard-group 8) and $(sent $instances 8) == $(sent $hsdp --shard-group 8)"
holds "one instance: all ranks" "$(value optimizer $instances 1) == $(value optimizer $hsdp) and $(sent $instances 1) == $(sent $hsdp)"
expect "instances that do not divide" 2 "does not divide the 64 ranks" "$STEPCAST" run $hsdp --num-distributed-optimizer-instances 7
expect "instances, but no shards" 2 "nothing is sharded" "$STEPCAST" run $hsdp --zero 0 --num-distributed-optimizer-instances 8
expect "instances beside another group" 2 "are groups of 8 ranks, but --shard-group says 16" "$STEPCAST" run $hsdp --num-distributed-optimizer-instances 8 --shard-group 16
expect "instances of nothing" 2 "num-distributed-optimizer-instances" "$STEPCAST" run $hsdp --num-distributed-optimizer-instances 0
expect "shards of a group that does not divide" 2 "does not divide the 64 ranks" "$STEPCAST" run $hsdp --shard-group 7
expect "a group, but no shards" 2 "nothing is sharded" "$STEPCAST" run $hsdp --zero 0 --shard-group 8
expect "a group beside more experts' ranks" 2 "does not divide the 8 ranks of --shard-group" "$STEPCAST" run --model qwen3-30b-a3b --gpus 64 --ep 16 --zero 3 --shard-group 8 --global-batch 64
# Mixtral 8x7B: 32 layers of 8 experts of 3·4096·14336; ep 2 in groups of 8 of 32 ranks: an eighth of what all have
mixtral="--model mixtral-8x7b --gpus 32 --ep 2 --etp 1 --zero 3 --seq 1024 --global-batch 32 --ignore-memory --software megatron-core-2025"
experts="32*8*3*4096*14336"
all=46702792704
comm() { "$STEPCAST" run $mixtral "$@" --json - 2>/dev/null | python3 -S -c "import json, sys; print(json.load(sys.stdin)['comm']['dp_ep']['bytes'])"; }
holds "hybrid shards of experts: state of a group's share" "$(value optimizer $mixtral --shard-group 8) == 12 * $all / 8"
holds "experts: two gathers and a scatter in the group, a sum of a quarter over the copies" "abs($(comm --shard-group 8) / ((2 + 2 + 4 + 4 / 4) * $experts / 2) - 1) < 0.001 and abs($(comm) / (8 * $experts / 2) - 1) < 0.001"
holds "a group of all is no group" "$(time_of $mixtral --shard-group 32) == $(time_of $mixtral)"
fp8="$llama --fp8 --zero 1"
# embedding, head and last norm, whose products are in bf16, have no copies in fp8
holds "fp8 weights: without the bf16 ones" "($(value weights $fp8), $(value weights $fp8 --fp8-param-gather)) == (4*($n - $ends) + 2*$ends, 2*$n)"
holds "fp4 weights and ends of two bytes" "abs($(value weights $llama --fp4 --gpu b200) - (3.125*($n - $ends) + 2*$ends)) < 1"
holds "fp8 weights of ZeRO 3: shards, a layer and the head" "$(value weights $llama --fp8 --zero 3) == 2*$n/8 + 4*$layer + 2*(128256*4096 + 4096)"
holds "and a gather of half the size" "$(time_of $fp8 --fp8-param-gather) < $(time_of $fp8)"
v3="--model deepseek-v3 --gpus 256 --ep 64 --etp 1 --pp 4 --uneven-stages --seq 4096 --global-batch 256 --zero 1 --ignore-memory"
holds "a prediction layer takes memory" "$(value total $v3 --mtp-num-layers 0) <= $(value total $v3)"

expect "parts are printed" 0 "CUDA context 0.92" "$STEPCAST" run $llama
expect "no adapters, no targets" 2 "add --lora RANK" "$STEPCAST" run $llama --lora-targets q_proj
expect "no adapters, nothing to cast" 2 "lora-autocast says nothing" "$STEPCAST" run $llama --lora-autocast
expect "no adapters, no four bits" 2 "qlora says nothing" "$STEPCAST" run $llama --qlora
expect "a target that is none" 2 "q_proj" "$STEPCAST" run $llama --lora 8 --lora-targets head
expect "rank 0" 2 "lora" "$STEPCAST" run $llama --lora 0
expect "an optimizer that is none" 2 "optimizer" "$STEPCAST" run $llama --optimizer lion
expect "fp8 weights without fp8" 2 "add --fp8" "$STEPCAST" run $llama --fp8-param-gather
expect "nothing to reshard" 0 "reshard-after-forward has no effect" "$STEPCAST" run $llama --reshard-after-forward yes
expect "too large, in GiB" 1 "GiB: weights" "$STEPCAST" run --model llama3-70b --gpus 8 --seq 4096 --global-batch 8

# against measurement: what docs/validation-memory.md says
V="$STEPCAST validate --memory"
summary() { $V "$1" --json - | python3 -S -c "
import json, sys
rows = [r for r in json.load(sys.stdin)['rows'] if r['skipped'] is None]
off = [abs(r['forecast_gib'] / r['measured_gib'] - 1) for r in rows if 'measured_gib' in r and r['kind'] != 'used' and ($2)]
print(sum(off) / max(1, len(off)), max(off, default=0), len(off), sum(r.get('wrong', False) for r in rows), len(rows))"; }
within() { holds "$1" "(lambda mean, worst, n, wrong, all: $3)(*'$2'.split())"; }
within "H200 peaks" "$(summary data/truth/h200_memory.csv True)" "float(mean) < 0.05 and float(worst) < 0.12 and int(n) >= 20"
within "H200 peaks, held out" "$(summary data/truth/h200_memory.csv "r['held_out']")" "float(mean) < 0.05 and float(worst) < 0.12 and int(n) >= 10"
# ranks of 8 to 256 of FSDP, whose collectives move nothing: the allocator sees what it sees among them
within "H200 peaks of FSDP" "$(summary data/truth/h200_fsdp_memory.csv True)" "float(mean) < 0.03 and float(worst) < 0.13 and int(n) >= 26"
within "Korthikanti; jobs that fit and that fail" "$(summary data/truth/memory.csv True)" "float(worst) < 0.03 and wrong == '0' and int(all) >= 30"
within "published steps fit" "$(summary data/truth/training_steps.csv True)" "wrong == '0' and int(all) > 700"
within "more of them" "$(summary data/truth/training_steps_2.csv True)" "wrong == '0' and int(all) > 100"

table() { printf '%s\n' "$@" >"$tmp/t.csv"; }
head="id,source,kind,gib,held_out,options"
table "$head" 'a,b,peak,10,no,--model llama2-7b --gpus 1 --gpu h200'
expect "a table of one row" 0 "peak         all          1 rows" $V "$tmp/t.csv"
table "$head" 'a,b,tall,10,no,--model llama2-7b'
expect "an unknown kind" 3 "t.csv:2:1: error: kind \"tall\"" $V "$tmp/t.csv"
table "$head" 'a,b,peak,-1,no,--model llama2-7b'
expect "a figure below 0" 3 "is not a positive number" $V "$tmp/t.csv"
table "id,source,kind,options" 'a,b,peak,'
expect "a column too few" 3 '"gib" is missing' $V "$tmp/t.csv"
table "$head" 'a,b,peak,10'
expect "a cell too few" 3 "4 cells, but the header has 6" $V "$tmp/t.csv"
table "$head" 'a,b,fits,,no,--model nothing-7b' 'c,d,fits,,no,--gpus 1'
expect "a row that cannot be built is named" 0 "there is no model 'nothing-7b'" $V "$tmp/t.csv"
expect "a row without a model" 0 "the options name no model" $V "$tmp/t.csv"
printf '' >"$tmp/t.csv"
expect "an empty table" 3 "error" $V "$tmp/t.csv"

# What a hint says fits does, and needs what it says.
hint_holds() {
    name=$1
    shift
    "$STEPCAST" run "$@" 2>"$tmp/hint" >/dev/null
    options=$(sed -n 's/.*hint: it fits with \(--.*\) (\([0-9.]*\) GiB).*/\1/p' "$tmp/hint")
    said=$(sed -n 's/.*hint: it fits with \(--.*\) (\([0-9.]*\) GiB).*/\2/p' "$tmp/hint")
    needs=$(value total "$@" $options)
    holds "$name: the hint holds" "abs(${needs:-0} / 2**30 - ${said:--1}) < .06"
}
hint_holds "sequence parallel, ZeRO, recompute" --model llama3-405b --cluster dgx-h100:1024 --tp 8 --pp 16 --global-batch 128 --seq 8192
hint_holds "the optimizer's state shared" --model gpt-oss-120b --cluster dgx-b200:64 --ep 8 --global-batch 512 --seq 4096
hint_holds "weights shared, one sequence at a time" --model llama3-8b --cluster h100:8 --micro-batch 4 --global-batch 64
hint_holds "activations of a long sequence" --model llama3-8b --cluster h100:8 --seq 32768 --global-batch 8
# who shards has fp32 weights: ZeRO 3 alone was said to take 78.2 GiB, and took 114.9
hint_holds "weights of plain PyTorch shared" --model qwen3-30b-a3b --cluster h100:8 --software hf-transformers
hint_holds "gradients of plain PyTorch in a type that is given" --model llama3-70b --cluster mi300x:8 --software hf-transformers --grad-dtype bf16
hint_holds "the update of plain PyTorch, said" --model qwen3-30b-a3b --cluster dgx-h100:64 --software hf-transformers --update plain
hint_holds "plain PyTorch in fp8" --model nemotron-h-8b --cluster dgx-h100:64 --software hf-transformers --fp8 --global-batch 64
expect no_cut_fits 1 "neither recompute nor sharding" "$STEPCAST" run --model llama3-405b --gpus 16 --tp 8
expect one_gpu 1 "trains adapters alone" "$STEPCAST" run --model llama3-8b --gpus 1

# Where gradients come into being in backward, the last layer of it has all its activations, kept or
# computed again: recomputation saves nothing there, and costs nothing.
lite() { value total --model deepseek-v2-lite --gpus 1 --cluster hgx-h200:1 --seq 2048 --micro-batch 2 --global-batch 2 --fusion eager --recompute "$1" --ignore-memory; }
none=$(lite none)
full=$(lite full)
holds "recomputation needs no more" "0 < ${full:-1} <= ${none:-0}"

# gpt-oss in transformers: its sinks keep the softmax of every score in the model's type, two bytes of
# layers × heads × queries × keys; fused attention keeps four bytes of a head and token instead.
sinks() { value activations --model gpt-oss-20b --cluster hgx-h200:8 --fsdp --seq 4096 --micro-batch 1 --global-batch 8 --software hf-transformers --ignore-memory "$@"; }
written=$(sinks)
fused=$(sinks --attention flash2)
holds "scores of sinks are kept" "${written:-0} - ${fused:-0} == 24 * 64 * 4096 * (2 * 4096 - 4)"

# Experts that no other rank has are whole where they are: ZeRO 3 gathers no copy of them. 48 layers of 128 experts of three
# matrices of 2048 × 768 on two ranks: what stands gathered beside the shards are two layers without them, or one and the head with its norm.
beside() { value weights --model qwen3-30b-a3b --dp 2 --gpus 2 --ep "$1" --etp 1 --seq 2048 --micro-batch 1 --global-batch 2 --zero "$2" --cluster dgx-h100:2 --ignore-memory; }
dense=$((2 * (2048 * 4096 * 2 + 2048 * 512 * 2 + 2048 * 128 + 2 * 2048 + 2 * 128)))
ends=$((2 * 151936 * 2048))
whole=$(beside 2 0)
sharded=$(beside 2 3)
holds "experts of one rank are not gathered" "$sharded - ($whole - (48 * $dense + 2 * $ends + 2 * 2048) / 2) == max(2 * $dense, $dense + $ends + 2 * 2048)"
# Liger's norms keep their input alone (2 bytes where transformers' keep an fp32 copy and the normalised values, 6), at the end input and
# output (4, not 8), and its gated activation nothing beside gate and up: 16 layers of 2048, 8192 wide between, 4096 tokens
liger() { "$STEPCAST" run --model llama3.2-1b --gpus 1 --seq 4096 --micro-batch 1 --global-batch 1 --dtype bf16 --recompute none --gpu h200 --cluster h200:1 --fusion hf $1 --json - 2>/dev/null | python3 -S -c 'import json, sys; m = json.load(sys.stdin)["memory_bytes"]; print(int(m["'"$2"'"]))'; }
chunked="--cross-entropy chunked"
check liger_keeps "$(($(liger "$chunked" activations) - $(liger "--liger-kernel" activations)))" $((4096 * (16 * (2 * 4 * 2048 + 2 * 8192) + 4 * 2048)))
check liger_loss "$(liger "--liger-kernel" logits)" "$(liger "$chunked" logits)"
# … whatever loss a profile has, unless one is asked for
shards() { "$STEPCAST" run --model llama3-8b --gpus 8 --zero 3 --recompute full --seq 4096 --micro-batch 8 --global-batch 64 --cluster dgx-a100:8 --software fsdp-eager --liger-kernel $1 --json - 2>/dev/null | python3 -S -c 'import json, sys; print(int(json.load(sys.stdin)["memory_bytes"]["total"] / 2**30))'; }
check liger_loss_of_profiles "$(shards "") $(shards "--cross-entropy fp32")" "$(shards "$chunked") 71"
# TorchTitan's MoE keeps an fp32 copy of what experts make (until blocks are one graph): 26 layers, 6 experts a token of 2048
titan() { "$STEPCAST" run --model deepseek-v2-lite --gpus 8 --ep 1 --seq 4096 --micro-batch 4 --global-batch 32 --recompute none --cluster hgx-b200:8 --software "$1" --json - 2>/dev/null | python3 -S -c 'import json, sys; print(int(json.load(sys.stdin)["memory_bytes"]["activations"]))'; }
check titan_keeps "$(($(titan torchtitan-2024) - $(titan torchtitan-2026)))" $((26 * 4 * 4096 * 6 * 2048 * 4))

# the parts that show lists add up to what it says is needed
parts=$("$STEPCAST" show --model gpt3-175b --cluster dgx-a100:1024 --tp 8 --pp 16 | awk '
    / memory +[0-9.]+ GiB/ { total = $2; getline; for (i = 1; i <= NF; i++) if ($i ~ /^[0-9.]+$/) sum += $i; printf "%.1f", sum - total }')
check shown_parts_add_up "$(echo "$parts" | sed 's/^-0\.0$/0.0/')" 0.0
