#!/bin/bash
# env: MODE=bf16
TP=2; PP=2
if [ $TP -gt 1 ]
then
    if [ $PP -gt 1 ] && [ "$MODE" != "fp8" ]
    then
        ARGS="--sequence-parallel"
    elif [ "$MODE" = "fp8" -a $TP -eq 4 ]
    then
        ARGS="--sequence-parallel --fp8-format hybrid"
    else
        ARGS="--other"
    fi
else
    ARGS=""
fi
if [ ! -z "$MODE" ]; then M="--mode $MODE"; fi
if [ -z "$UNSET_THING" ] || [ "$UNSET_THING" == "x" ]; then ARGS="$ARGS --no-thing"; fi
torchrun --nproc_per_node=8 pretrain_gpt.py $ARGS $M --tensor-model-parallel-size=$TP
