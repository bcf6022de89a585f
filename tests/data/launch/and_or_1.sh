#!/bin/bash
FLASH=yes
DEBUG=0
[ "$FLASH" = yes ] && ATTN="--use-flash-attn" || ATTN="--no-flash"
[[ $DEBUG -eq 1 ]] && LOG="--log-interval 1" || LOG="--log-interval 100"
test "$FLASH" = no && ATTN="$ATTN --slow"
{ [ -n "$ATTN" ] && A2="--has-attn"; } || A2="--none"
cd /tmp && true
true && false || OK="--ok"
! false && NOT="--not"
python3 train.py $ATTN $LOG $A2 $OK $NOT --num-layers 32
