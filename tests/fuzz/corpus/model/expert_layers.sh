torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 6 --hidden-size 1024 --num-attention-heads 8 --seq-length 2048 --micro-batch-size 1 \
  --global-batch-size 8 --vocab-size 32000 --num-experts 8 --moe-router-topk 2 --moe-layer-freq "([0]*2+[1]*1)*2" --linear-attention-freq 3 \
  --expert-model-parallel-size 4 --tensor-model-parallel-size 2 --sequence-parallel
