#!/bin/bash
MODEL_SCALE="800M" # or "8B"
case "${MODEL_SCALE}" in
    "800M")
        TP=1
        NUM_LAYERS=48
        ;;
    8B|7B)
        TP=4; NUM_LAYERS=56 ;;
    1*B) TP=8
        NUM_LAYERS=80
        ;;
    *)
        echo "Invalid version specified"
        TP=2; NUM_LAYERS=2
        ;;
esac
options=" \
       --tensor-model-parallel-size ${TP} \
       --sequence-parallel \
       --num-layers ${NUM_LAYERS} "
torchrun --nproc_per_node 4 ../../pretrain_gpt.py ${options}
