#!/bin/bash
# it's a comment with 'one quote and "another
A=1 # trailing $(comment
ARGS=( # opening
    --a $A      # don't
    # --commented 1
    --b "# not a comment"
    --c x#y
)
STR="--d 1 \
 --e 2"   # "quotes"
python train.py "${ARGS[@]}" $STR --num-layers 24 # end
