#!/bin/bash
# args: --layers 96 --hidden 5120 --fp8 --name "two words"
LAYERS=12
HIDDEN=512
FP8=false
NAME=none
while [[ $# -gt 0 ]]; do
    case $1 in
        --layers)
            LAYERS="$2"
            shift 2
            ;;
        --hidden)
            HIDDEN="$2"
            shift 2
            ;;
        --fp8)
            FP8=true; shift ;;
        --name) NAME="$2"; shift; shift ;;
        -h|--help)
            echo "Usage: $0 [OPTIONS]"
            exit 0
            ;;
        *)
            echo "Unknown option: $1"
            exit 1
            ;;
    esac
done
ARGS="--num-layers $LAYERS --hidden-size $HIDDEN"
[[ $FP8 == true ]] && ARGS="$ARGS --fp8-format hybrid"
$FP8 || ARGS="$ARGS --bf16"
torchrun --nproc_per_node 8 pretrain_gpt.py $ARGS --exp-name "$NAME"
