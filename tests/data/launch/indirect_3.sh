#!/bin/bash
SMALL_LAYERS=12
LARGE_LAYERS=96
KIND=LARGE
NAME=${KIND}_LAYERS
LAYERS=${!NAME}
eval "HIDDEN=\$((LAYERS * 64))"
VAR=EXTRA_FLAG
eval "$VAR='--extra 1'"
export $VAR
OPT=${EXTRA_FLAG:+$EXTRA_FLAG --more}
NONE=${NOTHING:+--never}
DEF=${NOTHING-"--was unset"}
ASSIGN=${NEWVAR:=--assigned}
torchrun train.py --num-layers $LAYERS --hidden-size $HIDDEN $OPT $NONE $DEF $ASSIGN $NEWVAR
