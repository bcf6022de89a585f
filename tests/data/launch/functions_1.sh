#!/usr/bin/env bash
set -euo pipefail
set_small() {
    NUM_LAYERS=12
    HIDDEN=768
    HEADS=12
}
function set_large {
    local factor=$1
    NUM_LAYERS=$((12 * factor))
    HIDDEN=$((768 * factor))
    HEADS=$((12 * factor))
}
launch() {
    local args=("$@")
    torchrun --nproc_per_node 8 pretrain_gpt.py "${args[@]}"
}
if [ "70B" = "8B" ]; then set_small; else set_large 2; fi
launch --num-layers $NUM_LAYERS --hidden-size $HIDDEN --num-attention-heads $HEADS --lr 1e-4
