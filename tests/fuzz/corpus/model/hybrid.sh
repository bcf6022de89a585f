torchrun --nproc_per_node 8 pretrain_mamba.py --num-layers 6 --hidden-size 1024 --num-attention-heads 8 --seq-length 2048 --micro-batch-size 1 \
  --global-batch-size 8 --vocab-size 32000 --hybrid-override-pattern "M-M*|ME/ME" --num-experts 8 --moe-router-topk 2 --mamba-num-heads 32 \
  --mamba-head-dim 64 --mamba-state-dim 128 --mamba-num-groups 8 --mtp-num-layers 1
