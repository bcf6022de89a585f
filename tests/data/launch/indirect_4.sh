#!/bin/bash
# what stands behind an indirect name is of the variable that it names
WIDTH_SMALL=1024
LAYERS=(12 24)
FILE=run_a.yaml
for name in WIDTH_SMALL WIDTH_LARGE; do
    if [ -n "${!name+x}" ]; then
        SET="$SET $name"
    fi
done
must_be_unset() {
    local varname="$1"
    [ -z "${!varname+x}" ] || exit 1
}
must_be_unset HEADS
KEY=WIDTH_LARGE
ELEMENT='LAYERS[1]'
PATHNAME=FILE
torchrun train.py --hidden-size ${!KEY:-2048} --num-layers ${!ELEMENT} --config ${!PATHNAME%.yaml} --name "${!PATHNAME/run_/}" --first ${!PATHNAME:0:3} --known $SET
