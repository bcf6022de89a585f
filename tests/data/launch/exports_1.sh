#!/bin/bash
export NCCL_IB_SL=1 NCCL_DEBUG=WARN
export TP=2
export PP=${PP:-2} GPUS=$((TP * 4))
readonly SEQ=4096
typeset HID=1024
unset NCCL_DEBUG
OMP_NUM_THREADS=1 torchrun --nproc_per_node $GPUS train.py --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --seq-length $SEQ --hidden-size $HID --dbg "${NCCL_DEBUG-unset}" --omp "$OMP_NUM_THREADS"
