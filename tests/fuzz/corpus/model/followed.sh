MODEL=7b; GPUS=${SLURM_GPUS_ON_NODE:-8}
if [ "$MODEL" = 7b ]; then LAYERS=32; else LAYERS=40; fi
cat > ds.json <<EOF
{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}}
EOF
srun --container-image=nvcr.io/nvidia/pytorch:25.01-py3 bash -c "deepspeed --num_gpus $GPUS train.py --deepspeed ds.json --num-layers $LAYERS \
  --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 --micro-batch-size 1 --train_batch_size 64"
