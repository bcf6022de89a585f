#!/bin/bash
COMMON="--num-layers 24 --hidden-size 1024"
python tools/prepare.py --input x
if [ ! -f /nonexistent/stepcast/file ]; then
    echo "no file"
fi
torchrun --nproc_per_node 8 train.py $COMMON --lr 1e-4
python eval.py --num-layers 1
