#!/bin/bash
TP=8
ARGS=(--num-layers 32 --hidden-size 4096 --num-attention-heads 32)
torchrun x.py ${ARGS[@]} --tensor-model-parallel-size $TP --pipeline-model-parallel-size ${PP:-2} "--swiglu --bf16"
