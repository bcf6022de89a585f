#!/bin/bash
NODES=2
GPN=4
WORLD=$((NODES*GPN))
TP=$(( WORLD >= 16 ? 8 : WORLD ))
PP=$(( WORLD > TP ? WORLD / TP : 1 ))
MB=$([ $PP -gt 1 ] && echo 2 || echo 1)
GB=$(( MB * 8 * (WORLD / (TP * PP)) ))
SP=$( (( TP > 1 )) && echo "--sequence-parallel" )
torchrun --nnodes=$NODES --nproc_per_node=$GPN train.py --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --micro-batch-size $MB --global-batch-size $GB $SP
