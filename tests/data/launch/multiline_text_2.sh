#!/bin/bash
NPUS_PER_NODE=4
NNODES=16
DISTRIBUTED_ARGS="
    --nproc_per_node $NPUS_PER_NODE \
    --nnodes $NNODES \
    --node_rank 0
"
MOE_ARGS="
    --num-experts 64 \
    --moe-router-topk 6 \
"
CKPT="your model save ckpt path"
python -m torch.distributed.launch $DISTRIBUTED_ARGS pretrain_gpt.py \
    $MOE_ARGS \
    --num-layers 24 \
    --save $CKPT \
    --distributed-backend nccl | tee logs/run.log
