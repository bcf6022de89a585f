#!/bin/bash
ARGS=""
for f in num-layers:96 hidden-size:1024 seq-length:4096; do
    key=${f%%:*}
    value=${f##*:}
    ARGS="$ARGS --$key $value"
done
for i in {1..3}; do ARGS+=" --x$i"; done
for i in $(seq 2 2 6); do ARGS+=" --y$i"; done
n=0
while (( n < 3 )); do
    n=$((n+1))
    [ $n -eq 2 ] && continue
    ARGS+=" --z$n"
done
until [ $n -le 0 ]; do let n--; done
i=0
while true; do
    i=$((i + 1))
    if [ $i -ge 5 ]; then break; fi
done
python train.py $ARGS --i $i --n=$n
