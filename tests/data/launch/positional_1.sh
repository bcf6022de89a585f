#!/bin/bash
# args: 24 4 a b c
NUM_LAYERS=$1
TP=${2:-1}
shift 2
EXTRA="$@"
REST=("$@")
if [ $# -eq 0 ]; then EXTRA=none; fi
torchrun --nproc_per_node $((TP*2)) train.py --num-layers $NUM_LAYERS --tp $TP $EXTRA "${REST[@]}" "${REST[*]}" ${REST[1]} $# ${#REST[@]}
