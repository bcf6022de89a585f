#!/bin/bash
declare -A LAYERS=([small]=12 [medium]=24 ["large"]=48)
declare -A HID
HID[small]=768
HID[medium]=1024
HID[large]=2048
WHICH=large
torchrun --nproc_per_node 8 train.py --num-layers ${LAYERS[$WHICH]} --hidden-size ${HID[$WHICH]} --n ${#LAYERS[@]}
