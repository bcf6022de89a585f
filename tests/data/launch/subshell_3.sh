#!/bin/bash
X=1
(X=2; cd /tmp; export Y=3)
{ Z=4; }
V=$(X=9; echo "$X-$Z")
W=$(printf '%s:%d' a 7)
U=$(echo -n "no newline")
Q="it is \"quoted\" and \$not"
S='single $X "x"'
python train.py --x $X --y "$Y" --z $Z --v $V --w $W --u "$U" --q "$Q" --s "$S" --t $'a\tb' --esc a\ b --num-layers 96
