#!/bin/sh
# GPUs that differ in pace: how far behind the slowest of them is, said, explained and refused.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
if ! command -v python3 >/dev/null; then
    echo "skip spread [needs command:python3]"
    exit 0
fi
run="$STEPCAST run --model llama3-8b --zero 1 --seq 2048 --ignore-memory --global-batch 1024"
compute() { "$@" --json - 2>/dev/null | python3 -S -c 'import json,sys; print(json.load(sys.stdin)["breakdown_us"]["compute"])'; }
step() { "$@" --json - 2>/dev/null | python3 -S -c 'import json,sys; print(json.load(sys.stdin)["step_time_us"])'; }
# holds NAME EXPRESSION
holds() { if python3 -S -c "import sys; sys.exit(not ($2))"; then echo "ok $1"; else echo "not ok $1: $2"; fi; }

for bad in -0.1 0.51 nan inf 200% x ""; do
    expect "spread '$bad'" 2 "gpu-spread" $run --gpus 8 --gpu-spread "$bad"
done
check none_is_none "$(step $run --gpus 8 --gpu-spread 0)" "$(step $run --gpus 8)"
expect one_gpu 0 "gpu-spread has no effect: there is one GPU" $run --gpus 1 --gpu-spread 2%
expect said 0 "the slowest of 1024" $run --gpus 1024 --gpu-spread 0.02
# 1.42360 of 8 and 3.25 of 1024: tables of the expected largest of normal values
holds eight "abs($(compute $run --gpus 8 --gpu-spread 1%) / $(compute $run --gpus 8) - 1.0142360) < 1e-4"
holds a_thousand "abs($(compute $run --gpus 1024 --overlap-grad no --gpu-spread 2%) / $(compute $run --gpus 1024 --overlap-grad no) - 1.0650) < 5e-4"
cat >"$tmp/spread.json" <<'J'
{"schema": "stepcast/software/1", "title": "slow ones among them", "stack": "ours", "source": "a test", "from": "2026-01", "to": "2026-12",
 "switches": [{"option": "gpu-spread", "value": "0.02", "why": "measured"}]}
J
check by_a_profile "$(step $run --gpus 64 --software "$tmp/spread.json")" "$(step $run --gpus 64 --gpu-spread 0.02)"
expect explained 0 "--gpu-spread 0.02" $run --gpus 64 --software "$tmp/spread.json" --explain
