#!/bin/bash
MSIZE=99
if   [[ ${MSIZE} == 7 ]];    then NHIDDEN=4096;  NLAYERS=36
elif [[ ${MSIZE} == 14 ]];   then NHIDDEN=6144;  NLAYERS=32
elif [[ ${MSIZE} == 52 ]];   then NHIDDEN=8192;  NLAYERS=64
else echo "invalid MSIZE: $MSIZE"; NHIDDEN=1024; NLAYERS=8
fi
GPT_ARGS=" \
    --num-layers $NLAYERS \
    --hidden-size $NHIDDEN \
    --fp16 \
    "
export LAUNCHER="python -u -m torch.distributed.launch \
    --nproc_per_node 4 \
    "
export CMD=" \
    pretrain_gpt2.py \
    --model-parallel-size 4 \
    $GPT_ARGS \
    "
echo $CMD
bash -c '$LAUNCHER --node_rank 0 $CMD' 2>&1 | tee out.log
