MOE_FFN=1408
SHARED=2
SIZE_SHARED=$(($MOE_FFN * $SHARED))
NLAYERS=96
FIRST_K_DENSE_REPLACE=8
arr=()
for ((i=0; i<NLAYERS; i++)); do
  if (( i < FIRST_K_DENSE_REPLACE )); then
    arr+=(0)
  else
    arr+=(1)
  fi
done
printf -v MOE_LAYER_FREQ "[%s]" "$(IFS=', '; echo "${arr[*]}")"
MODEL_ARGS=(
    --disable-bias-linear
    --num-layers $NLAYERS
    --moe-layer-freq "$MOE_LAYER_FREQ"
    --moe-shared-expert-intermediate-size $SIZE_SHARED

    # moe
    --moe-grouped-gemm
    --moe-other-freq [0]*$FIRST_K_DENSE_REPLACE+[1]*$((NLAYERS - FIRST_K_DENSE_REPLACE))
)
python3 train.py ${MODEL_ARGS[@]}
