#!/bin/bash
DTYPE="bf16"
DTYPE_ARGS=()
if [[ "$DTYPE" == "fp8" ]]; then
    DTYPE_ARGS+=(
        "--fp8-format hybrid"
        "--fp8-amax-history-len 1024"
    )
elif [[ $DTYPE == fp16 ]]; then
    DTYPE_ARGS+=("--fp16")
fi
DDP_ARGS=(--use-distributed-optimizer --overlap-grad-reduce)
TRAINING_ARGS=(--micro-batch-size 1)
TRAINING_ARGS+=("${DDP_ARGS[@]}")
DATA_ARGS_LIST=()
TOKENIZER_ARG=${3:-"MOCK"}
DATA_ARG=${4:-"MOCK"}
if [[ "$TOKENIZER_ARG" == "MOCK" ]] || [[ "$DATA_ARG" == "MOCK" ]] || [[ -z "$TOKENIZER_ARG" ]]; then
    DATA_ARGS_LIST+=(
        "--mock-data"
        "--vocab-size 128256" 
        "--split '99,1,0'"
    )
else
    DATA_ARGS_LIST+=("--data-path $DATA_ARG")
fi
torchrun --nproc_per_node 16 \
    "pretrain_gpt.py" \
    ${TRAINING_ARGS[@]} \
    ${DTYPE_ARGS[@]} \
    ${DATA_ARGS_LIST[@]} \
    "${EMPTY[@]}" "${DTYPE_ARGS[@]}"
