#!/bin/sh
# Options of a plan: each changes the answer, is refused, or is named in a note.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
model="--model llama2-7b --gpus 8 --tp 2 --pp 2 --global-batch 16 --seq 1024 --ignore-memory"
run() { "$STEPCAST" run "$@"; }
value() { # KEY options: the first number of that name in the result
    key=$1
    shift
    run "$@" --json - | sed -n "s/.*\"$key\": \([0-9.]*\).*/\1/p" | head -1
}
order() { # NAME A OP B
    if awk -v a="$2" -v b="$4" "BEGIN { exit !(a != \"\" && b != \"\" && a $3 b) }"; then echo "ok $1"; else echo "not ok $1: $2 $3 $4"; fi
}

# what stands alone and means nothing there is a note
for o in "--recompute-modules act" "--recompute-method block" "--recompute-layers 2" "--cp-comm-type a2a" \
    "--overlap-param yes" "--fp8-dot-product-attention" "--uneven-stages" "--etp 1" "--moe-unfused" "--overlap-moe yes" \
    "--moe-expert-capacity-factor 2" "--moe-token-dispatcher-type flex" "--copies 4" "--kv-lora-rank 256"; do
    expect "idle $o" 0 "${o%% *} has no effect" run $model $o
done
one="--model gpt2 --gpus 1 --global-batch 2 --seq 512"
for o in --sequence-parallel "--overlap-tp no" "--zero 1" "--overlap-grad no" "--overlap-p2p yes" "--bucket 1GB"; do
    expect "idle alone $o" 0 "${o%% *} has no effect" run $one $o
done
expect fail_needs_flow 0 "--fail is about a link: the flow engine simulates the network" run $model --fail port3.up
expect fail_unknown_link 2 "has no link 'leaf0'" run $model --fail leaf0
expect degrade_unknown_link 2 "has no link 'leaf0'" run $model --degrade leaf0=0.5
expect fail_contradicts 2 "knows no links" run $model --net analytic --fail port3.up
expect algo_noted 0 "collectives that cannot run so" run $model --algo torus

# what contradicts itself, or is no value, is refused
while IFS='|' read -r text options; do expect "refused $options" 2 "$text" run $model $options; done <<'P'
a bucket of 0 bytes|--bucket 0
--copies must be at least 1|--two-level --copies 0
--copies must be at least 1|--copies=-3
a node has only 8|--gpus-per-process 9
micro-batches on dp 2|--micro-batch 1 --micro-batches 3
--normalization: unknown|--normalization batchnorm
--position-embedding-type: unknown|--position-embedding-type sinusoidal
--fp8-format: unknown|--fp8-format e3m4
--make-vocab-size-divisible-by takes a whole number|--make-vocab-size-divisible-by x
too large|--make-vocab-size-divisible-by 4000000000
does not divide the 16 layers of a stage|--num-layers-per-virtual-pipeline-stage 5
not 4|--num-layers-per-virtual-pipeline-stage 8 --vpp 4
--recompute full contradicts|--recompute full --recompute-granularity selective
--fp16 contradicts|--fp16 --bf16
--bf16 contradicts|--bf16 --dtype fp16
does not say how many|--recompute full --recompute-method block
has no fp4|--fp4
allgather is not simulated|--moe-token-dispatcher-type allgather
does not divide into 30 heads|--num-attention-heads 30
needs --num-query-groups|--group-query-attention
with sequence parallel|--overlap-tp chunks
what counts as a layer beside|--account-for-embedding-in-pipeline-split
two networks|--net flow --loggops 1,1,1,1,1,1
--compat simai: SimAI reads layer workloads; this input is a model|--compat simai
--csv-simai: SimAI reads layer workloads; this input is a model|--csv-simai out.csv
--simai says|--simai nv=1
--gantt draws on standard output|--gantt --json -
P

# --micro-batches gives what is left open
check micro_batches "$(run --model gpt2 --gpus 2 --micro-batches 6 --micro-batch 2 --seq 512 | grep "GPUs:")" \
    "2 GPUs: tp 1 · pp 1 · dp 2 · 6 micro-batches · 1f1b"
check micro_batch "$(run --model gpt2 --gpus 2 --micro-batches 6 --global-batch 24 --seq 512 --json - | sed -n 's/.*"micro_batches": \([0-9]*\).*/\1/p')" 6

# overrides of a preset work: fewer parameters are less memory and no more time
mla="--model deepseek-v2-lite --gpus 8 --ep 8 --global-batch 8 --seq 1024 --ignore-memory"
for o in "--kv-lora-rank 128" "--qk-head-dim 64" "--qk-pos-emb-head-dim 32" "--v-head-dim 64"; do
    order "smaller $o" "$(value total $mla $o)" "<" "$(value total $mla)"
    order "not slower $o" "$(value step_time_us $mla $o)" "<=" "$(value step_time_us $mla)"
done
# the embedding counted as a layer: 31 + 1 layers on 2 stages, the first has 15
order embedding_counts_as_a_layer "$(value step_time_us $model --num-layers 31 --account-for-embedding-in-pipeline-split)" == \
    "$(value step_time_us $model --num-layers 31 --decoder-first-pipeline-num-layers 15)"
# recomputing a block of layers: between nothing and all of them, in time and memory
full="$model --recompute full"
block="$full --recompute-method block --recompute-layers"
order block_saves_memory "$(value activations $block 8)" "<" "$(value activations $model)"
order block_saves_less_than_all "$(value activations $block 8)" ">" "$(value activations $full)"
order block_costs "$(value step_time_us $block 8)" ">" "$(value step_time_us $model)"
order block_costs_less_than_all "$(value step_time_us $block 8)" "<" "$(value step_time_us $full)"
order block_of_all "$(value activations $block 16)" == "$(value activations $full)"
# tf32 multiplies fp32 tensors: the same memory
order tf32_memory "$(value total $model --dtype tf32)" == "$(value total $model --dtype fp32)"
expect no_bf16_of_plans 0 "T4 16 GB has no bf16: GEMMs are timed as fp16" "$STEPCAST" plans --model gpt2 --cluster t4:2,a10g:2 --global-batch 16 --seq 1024
for card in rtx-5090 rtx-pro-6000; do
    expect "mxfp8 on $card" 2 "has no mxfp8" run $one --gpu $card --fp8 --fp8-recipe mxfp8
done
# Transformer Engine's recipes by compute capability: scales of blocks from 9.0 on, nvfp4 on 12.0 without half of its recipe
for card in rtx-4090 l40s; do
    expect "blockwise on $card" 2 "has no fp8 with scales of blocks" run $one --gpu $card --fp8 --fp8-recipe blockwise
    expect "mxfp8 on $card" 2 "hint: --fp8-recipe delayed or tensorwise" run $one --gpu $card --fp8 --fp8-recipe mxfp8
done
for card in rtx-pro-6000 h20; do
    expect "blockwise on $card" 0 "step time" run $one --gpu $card --fp8 --fp8-recipe blockwise
done
expect mxfp8_without_fp8 2 "leave --fp8 out" run $one --gpu a100 --fp8 --fp8-recipe mxfp8
expect nvfp4_on_a_card 0 "only without the Hadamard" run $one --gpu rtx-pro-6000 --fp4
check nvfp4_beside_them "$(run $one --gpu b200 --fp4 2>&1 | grep -o -e 'step time' -e Hadamard)" "step time"
expect no_bf16 0 "has no bf16: GEMMs are timed as fp16; PyTorch emulates bf16 there" run $one --gpu v100
seed=tests/data/seed_003.txt
expect no_layers_for_adapters 2 "--lora-targets in_proj: llama3-8b has no layers of Mamba or delta nets" "$STEPCAST" run --model llama3-8b --gpus 8 --lora 16 --lora-targets in_proj
expect no_exchange 0 "--two-level has no effect: there is no all-to-all" run $seed --two-level
expect idle_chunks 0 "--a2a-chunks has no effect" run tests/data/seed_001.txt --a2a-chunks 8

# the answer says what was run: llama2-7b has 6,738,415,616 parameters as published
"$STEPCAST" run --model llama2-7b --cluster "dgx-h100:8 nic=800Gbps" --tp 8 --seq 2048 --global-batch 8 --recompute full --json "$tmp/what.json" >"$tmp/what"
expect says_model 0 "llama2-7b: 6.738 B parameters · seq 2048 · batch 8 · micro-batch 1" sed -n 1p "$tmp/what"
expect says_machine 0 "on dgx-h100 nic=800Gbps" cat "$tmp/what"
expect json_model 0 '"parameters": 6738415616' cat "$tmp/what.json"
# a word of several parts (act: of dense layers and of experts) is told as it was said, not as one of them
for modules in act moe_act core_attn,norm,act; do
    "$STEPCAST" run $one --recompute selective --recompute-modules "$modules" --json "$tmp/modules.json" >/dev/null
    expect "tells_$modules" 0 "\"recompute-modules\": \"$modules\"" cat "$tmp/modules.json"
done
