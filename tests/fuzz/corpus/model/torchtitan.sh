torchrun --nproc_per_node gpu -m torchtitan.train --config llama3_8b --training.seq-len 4096 --compile.no-enable
