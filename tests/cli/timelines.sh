#!/bin/sh
# Whatever the input and the engine: segments, critical path and breakdown add
# up to the same step, kind by kind.
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
check() { # NAME ARGUMENTS…
    name=$1
    shift
    if "$STEPCAST" run "$@" --json "$t/r.json" --timeline >"$t/log" 2>&1 && python3 tests/tools/check_result.py "$t/r.json" >"$t/log" 2>&1
    then echo "ok timelines: $name"; else echo "not ok timelines: $name"; sed 's/^/# /' "$t/log"; fi
}
python3 tests/tools/workload.py 4 8 2 >"$t/w.txt"
check "layers" "$t/w.txt"
check "layers, flow engine" "$t/w.txt" --net flow
check "layers, communication slows compute" "$t/w.txt" --comm-sm-tax 0.2
check "a slow rank" "$t/w.txt" --slow rank:5=1.5
check "a model, interleaved" --model llama3-8b --gpus 16 --tp 2 --pp 4 --vpp 2 --global-batch 32 --seq 4096 --recompute full --ignore-memory
check "a model, zero bubble" --model llama3-8b --gpus 16 --tp 1 --pp 4 --global-batch 32 --seq 4096 --schedule zb-h1 --ignore-memory
check "a model, steps that overlap" --model llama3-8b --gpus 16 --tp 1 --pp 4 --global-batch 32 --seq 4096 --schedule zb-2p --ignore-memory
check "a model in a V" --model gpt3-6.7b --gpus 16 --tp 2 --pp 4 --global-batch 32 --seq 2048 --schedule zb-v --ignore-memory
check "layers in a V" "$t/w.txt" --schedule zb-v
check "a model with experts" --model mixtral-8x7b --gpus 32 --pp 2 --ep 8 --global-batch 32 --seq 4096 --moe-imbalance 1.3 --ignore-memory

# Where every computation begins, against the trace of the same run: written by
# another way, operation by operation.
starts() { # NAME ARGUMENTS…
    name=$1
    shift
    if "$STEPCAST" run "$@" --json "$t/r.json" --timeline --trace "$t/t.json" >"$t/log" 2>&1 && python3 tests/tools/timeline.py "$t/r.json" "$t/t.json" >"$t/log" 2>&1
    then echo "ok timelines: $name"; else echo "not ok timelines: $name"; sed 's/^/# /' "$t/log"; fi
}
starts "starts of 1f1b" --model llama3-8b --gpus 16 --tp 2 --pp 4 --global-batch 32 --seq 4096 --ignore-memory
starts "starts of an interleaved pipeline" --model llama3-8b --gpus 16 --tp 2 --pp 4 --vpp 2 --global-batch 32 --seq 4096 --recompute full --ignore-memory
python3 -S - >"$t/ring.goal" <<'PY'
n = 8
print("num_ranks", n)
for r in range(n):
    print(f"rank {r} {{\na: calc {1000 + 700 * r}\nb: send 100000b to {(r + 1) % n} tag 1\n"
          f"c: recv 100000b from {(r - 1) % n} tag 1\nb requires a\nd: calc 2000\nd requires c\n}}")
PY
check "a graph whose messages hold no stream" "$t/ring.goal"
shared=${STEPCAST_SHARED:-../shared}
if [ -d "$shared/seeds" ]; then
    for seed in 000 001 003 004; do check "seed $seed" "$shared"/seeds/$seed*; done
    check "seed 002" "$shared"/seeds/002* --tp 1 --pp 2 --dp 2
    for trace in "$shared"/traces/real/*; do check "$(basename "$trace")" "$trace"; done
    check "a graph" "$shared/traces/chakra/llm_dp2_tp2_pp2"
    check "a profile of torch" "$shared/traces/torch/moe_kineto.json.gz"
else echo "skip timelines: seeds and traces [needs shared]"; fi
