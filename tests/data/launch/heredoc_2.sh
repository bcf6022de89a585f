#!/bin/bash
STAGE=3
MBS=1
CONFIG_JSON=/tmp/stepcast_ds_config_$$.json
cat <<EOT > $CONFIG_JSON
{
  "train_micro_batch_size_per_gpu": $MBS,
  "zero_optimization": { "stage": $STAGE },
  "note": "it's $(echo fine)"
}
EOT
rm -f $CONFIG_JSON
DS_ARGS=""
DS_ARGS="--deepspeed ${DS_ARGS}"
DS_ARGS="--zero-stage=$STAGE ${DS_ARGS}"
if [ $STAGE -ge 2 ]; then
DS_ARGS="--no-pipeline-parallel ${DS_ARGS}"
fi
if [ "${ACTIVATION_CHECKPOINT:-true}" = "true" ]; then
DS_ARGS="--deepspeed-activation-checkpointing ${DS_ARGS}"
CHKP="--checkpoint-activations \
 --checkpoint-num-layers 1"
fi
deepspeed --num_gpus 16 pretrain_gpt.py --num-layers 96 --micro-batch-size $MBS $CHKP $DS_ARGS
