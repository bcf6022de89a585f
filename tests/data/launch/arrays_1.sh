#!/bin/bash
# Runs a model of 24 layers on one node.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NUM_NODES=2
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
CHECKPOINT_PATH=$1 #<Specify path>
DATA_PATH=$2 #<Specify path and file prefix>_text_document
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE 
    --nnodes $NUM_NODES 
    --master_addr localhost # it's local
)
MODEL_ARGS=(
    --num-layers 24 
    --hidden-size 1024
    --num-attention-heads 96 # don't change
    --seq-length 2048
)
DATA_ARGS=(
    --data-path $DATA_PATH
    --split 949,50,1
    --save "$CHECKPOINT_PATH"
)
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${MODEL_ARGS[@]} \
    ${DATA_ARGS[@]} --world $WORLD_SIZE
