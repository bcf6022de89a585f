#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:4
# env: SLURM_NNODES=2 SLURM_GPUS_ON_NODE=4 SLURM_JOB_ID=77
NNODES=${SLURM_NNODES:-1}
GPUS=${SLURM_GPUS_ON_NODE:-8}
WORLD=$(( NNODES * GPUS ))
DP=$(( WORLD / (2 * 1) ))
GBS=$((DP*16))
[ $GBS -gt 256 ] && GBS=256
if [ "$NNODES" -gt 1 ] ; then PP=2 ; else PP=1 ; fi
srun --ntasks-per-node=1 torchrun --nnodes $NNODES --nproc-per-node=$GPUS --rdzv_id=$SLURM_JOB_ID \
    pretrain_gpt.py --global-batch-size $GBS --tensor-model-parallel-size 2 --pipeline-model-parallel-size $PP
