#!/bin/bash
ARGS=()
add() { ARGS+=("--$1" "${@:2}"); }
parallel() {
  local tp=$1 pp=$2
  if (( tp * pp > 8 )); then return 1; fi
  add tensor-model-parallel-size $tp
  add pipeline-model-parallel-size $pp
  return 0
}
add num-layers 32
add bf16
tp=99
if parallel 8 2; then add fits; else add too-large; fi
nothing() { :; }
nothing
add after $tp
torchrun --nproc_per_node 8 train.py "${ARGS[@]}"
