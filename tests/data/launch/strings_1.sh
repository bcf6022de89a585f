#!/bin/bash
MODEL_NAME=Llama-3.1-24B
lower=${MODEL_NAME,,}
upper=${MODEL_NAME^^}
short=${MODEL_NAME#*-}
base=${MODEL_NAME%-*}
under=${MODEL_NAME//-/_}
one=${MODEL_NAME/-/.}
part=${MODEL_NAME:0:5}
tail=${MODEL_NAME: -3}
path=/a/b/run.sh
dir=$(dirname $path)
name=$(basename "$path" .sh)
python train.py --lower $lower --upper $upper --short $short --base $base --under $under --one $one \
  --part $part --tail $tail --dir $dir --name $name --len ${#MODEL_NAME} --path ${path##*/} ${path%/*}
