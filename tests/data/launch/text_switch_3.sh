#!/bin/bash
RECOMPUTE=selective
if [[ "$RECOMPUTE" == "full" ]]; then
    REC="--recompute-granularity full --recompute-method block --recompute-num-layers 4"
elif [[ "$RECOMPUTE" == sel* ]]; then
    REC="--recompute-granularity selective"
else
    REC=""
fi
if [[ -n $REC && ( $RECOMPUTE != none || 1 -gt 2 ) ]]; then MARK="--rec"; fi
if [[ ! ( a < b ) ]]; then MARK2=--never; fi
python3 pretrain.py $REC $MARK $MARK2 --num-layers 61
