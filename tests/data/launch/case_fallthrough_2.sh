#!/bin/bash
GPU=mi300x
case $GPU in
  [hH]100*) A="--hopper" ;;
  a100|A100) A="--ampere" ;;
  "b200") A="--blackwell" ;;
  *) A="--unknown-gpu";;
esac
case "$(( 8 > 2 ))" in 1) B="--large-tp";; 0) B="--small-tp"; esac
case x in
x) C=1 ;&
y) C="$C 2" ;;
z) C=3 ;;
esac
python train.py $A $B --c "$C" --num-layers 12
