#!/bin/sh
# Other names of options: the same step as the option they stand for, and never two
# answers at once.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
run() { "$STEPCAST" run --model llama2-7b --ignore-memory --seq 1024 "$@"; }
step() { run "$@" --json - | sed -n 's/.*"step_time_us": \([0-9.]*\).*/\1/p' | head -1; }

while IFS='|' read -r other usual without; do
    a=$(step $other)
    b=$(step $usual)
    c=$(step $without)
    check "$other" "${a:-none}" "$b"
    # the option must count at all
    if [ -n "$c" ] && [ "$a" != "$c" ]; then echo "ok counts: $other"; else echo "not ok counts: $other: $a and $c"; fi
done <<'P'
--gpus 8 --gbs 32|--gpus 8 --global-batch 32|--gpus 8 --global-batch 16
--gpus 8 --gbs 32 --mbs 2|--gpus 8 --global-batch 32 --micro-batch 2|--gpus 8 --global-batch 32
--gpus 8 --gbs 16 --fsdp|--gpus 8 --global-batch 16 --zero 3|--gpus 8 --global-batch 16
--gpus 8 --gbs 16 --activation-checkpointing full|--gpus 8 --global-batch 16 --recompute full|--gpus 8 --global-batch 16
--gpus 8 --gbs 16 --activation-checkpointing selective|--gpus 8 --global-batch 16 --recompute selective|--gpus 8 --global-batch 16
--gpus 8 --gbs 16 --precision fp8|--gpus 8 --global-batch 16 --fp8|--gpus 8 --global-batch 16
--gpus 8 --gbs 16 --precision fp32|--gpus 8 --global-batch 16 --dtype fp32|--gpus 8 --global-batch 16
--gpus 8 --gbs 16 --precision bf16|--gpus 8 --global-batch 16 --dtype bf16|--gpus 8 --global-batch 16 --dtype fp32
--gpus 8 --gbs 16 --dtype float16|--gpus 8 --global-batch 16 --dtype fp16|--gpus 8 --global-batch 16 --dtype fp32
--gpus 8 --gbs 16 --precision bfloat16|--gpus 8 --global-batch 16 --dtype bf16|--gpus 8 --global-batch 16 --dtype fp32
--gpus 8 --gbs 16 --precision float32|--gpus 8 --global-batch 16 --dtype fp32|--gpus 8 --global-batch 16
--nodes 2 --gbs 64|--gpus 16 --global-batch 64|--gpus 8 --global-batch 64
--cluster gb200-nvl72 --nodes 2 --gbs 144|--cluster gb200-nvl72:144 --global-batch 144|--cluster gb200-nvl72:72 --global-batch 144
--cluster dgx-h100:64 --nodes 2 --gbs 64|--cluster dgx-h100:64 --gpus 16 --global-batch 64|--cluster dgx-h100:64 --global-batch 64
P

while IFS='|' read -r text options; do expect "refused $options" 2 "$text" run --gbs 64 $options; done <<'P'
contradicts|--gpus 8 --global-batch 32
contradicts|--gpus 8 --micro-batch 2 --mbs 4
contradicts|--gpus 8 --fsdp --zero 1
contradicts|--gpus 8 --activation-checkpointing full --recompute selective
--precision bf16 contradicts|--gpus 8 --precision bf16 --dtype fp16
--precision fp8 contradicts|--gpus 8 --precision fp8 --fp16
--precision fp16 contradicts|--gpus 8 --precision fp16 --fp8
--precision fp8 contradicts|--gpus 8 --precision fp8 --fp4
--precision: unknown 'int8'|--gpus 8 --precision int8
--activation-checkpointing: unknown 'yes'|--gpus 8 --activation-checkpointing yes
--nodes 2 of 8 GPUs contradicts --gpus 8|--gpus 8 --nodes 2
--nodes takes a whole number from 1 on|--nodes 0
--nodes takes a whole number|--nodes two
is too large|--nodes 4000000000
does not say how many GPUs a node has|--cluster ideal --nodes 2
--gbs takes a whole number from 1 on|--gpus 8 --gbs 0
P
expect fsdp_alone 0 "--fsdp has no effect: no other rank has the same weights" run --gpus 1 --gbs 1 --fsdp
expect plans_nodes 0 "16 GPUs" "$STEPCAST" plans --model gpt2 --nodes 2 --gbs 64 --seq 1024
