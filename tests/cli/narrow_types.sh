#!/bin/sh
# Products in fp8 and fp4: layers that stay out of it, as options and launch scripts say, and what is refused.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
if ! command -v python3 >/dev/null; then
    echo "skip narrow_types [needs command:python3]"
    exit 0
fi
run="$STEPCAST run --model llama3-8b --gpus 8 --cluster dgx-b200:8 --seq 4096 --global-batch 16 --zero 1 --ignore-memory"
step() { "$@" --json - 2>/dev/null | python3 -S -c 'import json,sys; print(json.load(sys.stdin)["step_time_us"])'; }
# holds NAME EXPRESSION
holds() { if python3 -S -c "import sys; sys.exit(not ($2))"; then echo "ok $1"; else echo "not ok $1: $2"; fi; }

for bad in -1 1.5 x 4294967296; do
    expect "layers '$bad'" 2 "num-layers-at-start-in-bf16" $run --fp8 --num-layers-at-start-in-bf16 "$bad"
done
expect too_many 2 "more than the 32" $run --fp8 --num-layers-at-start-in-bf16 20 --num-layers-at-end-in-bf16 13
expect too_many_to_count 2 "more than the 32" $run --fp8 --num-layers-at-start-in-bf16 4294967295 --num-layers-at-end-in-bf16 4294967295
expect nothing_narrow 0 "num-layers-at-end-in-bf16 has no effect" $run --num-layers-at-end-in-bf16 4
check none_is_none "$(step $run --fp8 --num-layers-at-start-in-bf16 0)" "$(step $run --fp8)"
check flag_is_one_each "$(step $run --fp8 --first-last-layers-bf16)" "$(step $run --fp8 --num-layers-at-start-in-bf16 1 --num-layers-at-end-in-bf16 1)"
holds more_take_longer "$(step $run --fp4) < $(step $run --fp4 --num-layers-at-end-in-bf16 4) < $(step $run --fp4 --num-layers-at-end-in-bf16 8)"
pipe="$run --pp 4 --micro-batch 1"
holds a_stage_waits_for_the_wide_one "$(step $pipe --fp8) < $(step $pipe --fp8 --num-layers-at-end-in-bf16 4)"

script() { # flags: a launch of Megatron
    printf 'torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 16 --vocab-size 32000 --bf16 --use-distributed-optimizer %s\n' "$1" >"$tmp/launch.sh"
    step "$STEPCAST" run --megatron-args "$tmp/launch.sh" --cluster dgx-b200:8
}
base="$STEPCAST run --num-layers 8 --hidden-size 4096 --num-attention-heads 32 --seq 2048 --max-position-embeddings 2048 --micro-batch 1 --global-batch 16 --vocab-size 32000 --zero 1 --overlap-grad no --cross-entropy unfused --gpus 8 --cluster dgx-b200:8"
check script_both "$(script '--fp8-format hybrid --first-last-layers-bf16 --num-layers-at-start-in-bf16 2')" "$(step $base --fp8 --num-layers-at-start-in-bf16 2 --num-layers-at-end-in-bf16 1)"
check script_without_the_flag "$(script '--fp8-format hybrid --num-layers-at-start-in-bf16 2')" "$(step $base --fp8)"
check script_fp4 "$(script '--fp4-format e2m1 --fp4-recipe nvfp4')" "$(step $base --fp4)"
