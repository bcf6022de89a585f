#!/bin/bash
DIR=`dirname /x/y/z.sh`
N=`echo 32`
M=`expr 2 + $N`
L="`echo a b`"
K=$(echo $(echo nested $(echo deep)))
J=$(cat <<END
layers $N
END
)
python train.py --dir $DIR --num-layers $N --m $M --l "$L" --k $K --j "$J" --date-free 1
