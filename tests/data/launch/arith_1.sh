#!/bin/bash
H=1024
A=16
FFN=$(( (H * 8 / 3 + 255) / 256 * 256 ))
KV=$((A / 4))
(( Y = FFN > 4096 ? 1 : 2 ))
let "Z = Y << 3"
((Z++)) || true
W=$((2**10 + 0x10 - 010 + 2#101))
V=$(( -7 / 2 )) 
U=$(( 17 % 5 * 2 ))
B=$((H & 255 | 1))
E=`expr $H / 2`
C=$((Y==1 && Z>3 || 0))
if (( FFN % 128 == 0 )); then D="--divides"; fi
python train.py --ffn-hidden-size $FFN --num-query-groups $KV --y $Y --z $Z --w $W --v $V --u $U --b $B --e $E --c $C $D
