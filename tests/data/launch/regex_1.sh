#!/bin/bash
# The size by a regular expression
MODEL=llama-13B-v2
if [[ $MODEL =~ ^llama-([0-9]+)B ]]; then
    BILLIONS=${BASH_REMATCH[1]}
fi
[[ $MODEL =~ "-v"[0-9]$ ]] && EXTRA="--versioned ${#BASH_REMATCH[@]}"
[[ $BILLIONS =~ ^(7|8)$ ]] || LAYERS=40
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $LAYERS --billions $BILLIONS $EXTRA
