#!/bin/sh
set -x
N=32
ARGS="--num-layers $N"
ARGS="${ARGS} --hidden-size 1024"
if test "$N" -gt 20; then
  ARGS="${ARGS} --recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
fi
set -- one two
ARGS="$ARGS --first $1 --both $*"
python3 -m pretrain_gpt $ARGS
