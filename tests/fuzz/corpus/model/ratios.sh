torchrun --nproc_per_node 8 pretrain_mamba.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 2048 --micro-batch-size 1 \
  --global-batch-size 8 --vocab-size 32000 --hybrid-attention-ratio 0.25 --hybrid-mlp-ratio 0.5 --is-hybrid-model
