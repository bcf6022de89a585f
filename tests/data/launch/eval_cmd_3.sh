#!/bin/bash
set -e
PR=${1:-bf16}
OTHER_ARGS=()
if [ ${PR} = fp16 ]; then
    OTHER_ARGS+=(
        --fp16
    )
elif [ ${PR} = bf16 ]; then
    OTHER_ARGS+=(
        --bf16
    )
fi
if [ -z  "$MODEL_PARALLEL_ARGS" ]; then
    MODEL_PARALLEL_ARGS=(
        --tensor-model-parallel-size 1
        --pipeline-model-parallel-size 8
    )
fi
GPT_MODEL_ARGS=(
    --num-layers 96
    --moe-layer-freq "'([0]*3+[1]*58)'"
    --attention-backend auto # Can use (flash/fused/unfused/local)
)
cmd="torchrun --nproc_per_node 4 impl/train.py \
    ${GPT_MODEL_ARGS[@]} \
    ${MODEL_PARALLEL_ARGS[@]} \
    ${OTHER_ARGS[@]}"
echo $cmd
eval $cmd
