#!/bin/bash
LIST="8,16,12"
IFS=',' read -ra SIZES <<< "$LIST"
IFS=: read -r A B <<< "one:two:three"
read -r X Y <<< "first second third"
LAST=${SIZES[-1]}
JOINED=$(IFS=+; echo "${SIZES[*]}")
PARTS=${SIZES[@]:1:2}
torchrun train.py --num-layers ${SIZES[2]} --last $LAST --joined $JOINED --parts $PARTS --count ${#SIZES[@]} --a $A --b $B --x $X --y "$Y" --idx ${!SIZES[@]}
