#!/bin/bash
: "${APPS_PATH:=/fsx/apps}"
: "${IMAGE:=$APPS_PATH/image.sqsh}"
: ${TP:=4}
declare -a ARGS=(
    --container-image ${IMAGE}
)
declare -a COMM_ARGS=(
    --tensor-model-parallel-size $TP 
    --num-layers 96 
    --normalization rmsnorm 
)
if [ "$1" = "convert" ]; then
    torchrun convert.py "${COMM_ARGS[@]}"
else
    torchrun "${ARGS[@]}" finetune.py --load ${APPS_PATH}/x "${COMM_ARGS[@]}"
    # function old() {
    #   torchrun "${COMM_ARGS[@]}"
    # }
fi
