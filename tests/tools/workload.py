#!/usr/bin/env python3
"""A layer workload of our own: workload.py PP MICRO_BATCHES LAYERS [TP DP] > file

Times are round, so that results can be checked on paper: a layer takes 2 ms
forward, 2 ms for its input gradient and 2 ms for its weight gradient.
"""
import sys

pp, micro, layers = (int(x) for x in sys.argv[1:4])
tp, dp = (int(x) for x in (sys.argv[4:6] or ("2", "4")))
MS = 1000000
rows = [("grad_gather", 1, "NONE", 0, 1, "NONE", 0, 1, "ALLGATHER", 1 << 28),
        ("grad_param_comm", 1, "NONE", 0, 1, "NONE", 0, 1, "REDUCESCATTER", 1 << 29)]
for _ in range(micro):
    rows.append(("embedding_layer", MS // 10, "NONE", 0, 1, "NONE", 0, 1, "NONE", 0))
    for layer in range(layers):
        rows.append(("attention", MS, "ALLREDUCE", 1 << 24, MS, "ALLREDUCE", 1 << 24, MS, "NONE", 0))
        rows.append(("mlp", MS, "ALLREDUCE", 1 << 24, MS, "ALLREDUCE", 1 << 24, MS, "NONE", 0))
rows.append(("optimizer1", 1, "NONE", 0, 1, "NONE", 0, 3 * MS, "NONE", 0))
print(f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: 1 pp: {pp} vpp: 1 ga: {micro} "
      f"all_gpus: {tp * dp * pp} pp_comm: {1 << 22} checkpoints: 0 checkpoint_initiates: 0")
print(len(rows))
for name, *rest in rows:
    print("\t".join([name, "-1"] + [str(x) for x in rest] + ["0"]))
