#!/bin/sh
# Models whose layers are of several kinds: Mamba-2, gated delta nets, experts between.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
if ! command -v python3 >/dev/null; then
    echo "skip hybrids [needs command:python3]"
    exit 0
fi
holds() { if python3 -S -c "import sys; sys.exit(not ($2))"; then echo "ok hybrids: $1"; else echo "not ok hybrids: $1: $2"; fi; }
# value PATH OPTIONS…
value() {
    path=$1
    shift
    "$STEPCAST" run "$@" --json - 2>/dev/null | python3 -S -c "import json, sys; print(json.load(sys.stdin)$path)"
}
nemotron="--model nemotron-h-8b --seq 8192 --global-batch 16 --ignore-memory"
qwen="--model qwen3-next-80b-a3b --seq 4096 --global-batch 64 --ignore-memory"
expect "tensor and sequence parallel" 0 "exposed tp" "$STEPCAST" run $nemotron --gpus 8 --tp 8 --sequence-parallel
expect "context parallel exchanges heads" 0 "exposed cp" "$STEPCAST" run $nemotron --gpus 8 --cp 2 --cp-comm-type a2a
expect "a pipeline" 0 "pipeline bubble" "$STEPCAST" run $nemotron --gpus 8 --pp 4
expect "experts" 0 "exposed ep" "$STEPCAST" run $qwen --gpus 64 --ep 8 --etp 1 --zero 1
expect "recomputation" 0 "recompute  " "$STEPCAST" run $nemotron --gpus 8 --recompute full
expect "zero bubble" 0 "zb-h1" "$STEPCAST" run $nemotron --gpus 8 --pp 4 --schedule zb-h1
expect "kernels of each kind" 0 "mamba layer, forward" "$STEPCAST" kernels --model nemotron-h-8b --gpus 1 --seq 8192 --global-batch 1
expect "the scan is there" 0 "scan_gate" "$STEPCAST" kernels --model nemotron-h-8b --gpus 1 --seq 8192 --global-batch 1
expect "a tp that cuts no groups" 2 "8 groups of the scans" "$STEPCAST" run $nemotron --gpus 16 --tp 16
expect "operators that are not there" 2 "has other layers" "$STEPCAST" run $nemotron --gpus 8 --recompute ops
expect "no rows for it" 2 "layers of several kinds" "$STEPCAST" gen $nemotron --gpus 8 --to workload-text -o "$tmp/w.txt"
# a layer without a second half has one pair of collectives: 118 layers, forward and
# backward, gather and scatter, and one more gather in backward for the weight gradient
big="--model nemotron-h-56b --seq 8192 --global-batch 1 --gpus 8 --tp 8 --sequence-parallel --ignore-memory --software megatron-core-2025"
layer="2 * (8192 * 8192)"
holds "traffic of layers with one half" "abs($(value "['comm']['tp']['bytes']" $big) / ((118 * 5 + 5) * $layer) - 1) < 0.01"
# Latent experts: tokens are exchanged 1024 wide, not 4096. 40 layers and one of prediction,
# dispatch and combine forward and backward, 22 copies of 2 bytes
super="--model nemotron-3-super-120b-a12b --seq 1024 --global-batch 8 --gpus 8 --ep 8 --ignore-memory --software megatron-core-2025"
holds "latent tokens are exchanged" "abs($(value "['comm']['ep']['bytes']" $super) / (41 * 4 * 22 * 1024 * 1024 * 2) - 1) < 0.01"
expect "projections to the latent width" 0 "latent_wgrad" "$STEPCAST" kernels --model nemotron-3-super-120b-a12b --gpus 1 --seq 1024 --global-batch 1
# attention grows with the square of the sequence, a scan does not
seconds() { value "['step_time_us']" --gpus 1 --global-batch 1 --ignore-memory --host-launch 0 --no-optimizer "$@"; }
holds "a hybrid grows slower with the sequence" \
    "$(seconds --model nemotron-h-8b --seq 131072) / $(seconds --model nemotron-h-8b --seq 16384) < 0.7 * $(seconds --model llama3-8b --seq 131072) / $(seconds --model llama3-8b --seq 16384)"
holds "activations are linear in the tokens" \
    "abs($(value "['memory_bytes']['activations']" $nemotron --gpus 1 --micro-batch 2 --global-batch 2) / $(value "['memory_bytes']['activations']" $nemotron --gpus 1 --micro-batch 1 --global-batch 1) - 2) < 1e-6"
# an indexer costs at any length and pays at great ones: DeepSeek-V3 with and without, cut
# to four layers
v3="--num-layers 4 --mtp-num-layers 0"
expect "the indexer's kernels" 0 "index_pick" "$STEPCAST" kernels --model deepseek-v3.2 --gpus 1 --seq 8192 --global-batch 1 --mtp-num-layers 0
holds "sparse attention pays at 128k" "$(seconds --model deepseek-v3.2 $v3 --seq 131072) < 0.8 * $(seconds --model deepseek-v3 $v3 --seq 131072)"
holds "and costs at 2k" "$(seconds --model deepseek-v3.2 $v3 --seq 2048) > $(seconds --model deepseek-v3 $v3 --seq 2048)"
