#!/bin/bash
# args: /ckpt /data/text
# env: WANDB_API_KEY=abc
CHECKPOINT_PATH=${1:-"checkpoints/none"}
DATA_PATH=${2:?no data}
EXTRA=${3-}
LOGGING_ARGS=(--save $CHECKPOINT_PATH --tensorboard-dir "${CHECKPOINT_PATH}/tensor board")
if [ -n "${WANDB_API_KEY}" ]; then
    LOGGING_ARGS+=(
        --wandb-project ${WANDB_PROJECT:-"Project"}
        --wandb-exp-name ${WANDB_NAME:-"Run_12"}
    )
fi
torchrun --nproc_per_node 4 pretrain_gpt.py "${LOGGING_ARGS[@]}" --num-layers 12 --data-path $DATA_PATH $EXTRA
