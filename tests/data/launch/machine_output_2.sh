#!/bin/bash
MASTER_ADDR=$(hostname)
STAMP=$(date +%s)
NAME=run_${STAMP}
if [ -f /nonexistent/stepcast ]; then
  echo "there"
fi
python train.py --master $MASTER_ADDR --num-layers 61 --name $NAME
