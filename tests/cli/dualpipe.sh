#!/bin/sh
# DualPipe with two copies of the model: what a rank holds, exchanges and waits, and what is refused.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
if ! command -v python3 >/dev/null; then
    echo "skip dualpipe [needs command:python3]"
    exit 0
fi
run="$STEPCAST run --model llama3-8b --seq 4096 --global-batch 32 --ignore-memory --cluster dgx-h100:8 --gpus 8"
save() { out=$1; shift; $run "$@" --json "$tmp/$out.json" >/dev/null 2>"$tmp/err"; }
# of NAME EXPRESSION: a is DualPipe, b 1F1B of as many stages, v the V of half of them
of() {
    if python3 -S - "$tmp" "$2" <<'P'
import json, sys
load = lambda name: json.load(open(f"{sys.argv[1]}/{name}.json"))
a, b, v = load("dual"), load("line"), load("v")
held = lambda run, stage, what: next(c[what] for c in run["class_memory_bytes"] if c["stage"] == stage)
sys.exit(not eval(sys.argv[2]))
P
    then echo "ok $1"; else echo "not ok $1"; fi
}
save dual --schedule dualpipe --pp 8
save line --schedule 1f1b --pp 8
save v --schedule dualpipev --pp 4

# a stage holds its part of one copy and that of the stage as far from the other end of the other
of weights 'all(held(a, s, w) == held(b, s, w) + held(b, 7 - s, w) for s in range(8) for w in ("weights", "gradients", "optimizer"))'
# its gradients meet those of the other copy once: 4 bytes each, without data parallelism
of exchanged 'abs(a["comm"]["mirror"]["bytes"] / held(a, 0, "gradients") - 1) < 1e-6 and "mirror" not in b["comm"]'
# … of which each of two data parallel ranks that share the optimizer has one half left after its reduction
save sharded --schedule dualpipe --pp 4 --zero 1
of exchanged_shards 'abs(2 * load("sharded")["comm"]["mirror"]["bytes"] / held(load("sharded"), 0, "gradients") - 1) < 1e-6'
# two Vs of half the stages, that each compute as much: the step but for that exchange
of as_two_vs 'abs((a["step_time_us"] - a["breakdown_us"]["exposed_comm"]["mirror"]) / v["step_time_us"] - 1) < 0.01'
of shorter_than_1f1b 'a["step_time_us"] < b["step_time_us"]'

expect odd_stages 2 "an even number of stages" $run --schedule dualpipe --pp 1 --tp 8
expect odd_micro_batches 2 "even number of stages and of micro-batches, and has 2 and 33" $run --schedule dualpipe --pp 2 --tp 4 --global-batch 33
expect few_micro_batches 2 "twice as many micro-batches as stages, 16, and has 8" $run --schedule dualpipe --pp 8 --global-batch 8
expect four_chunks 2 "two chunks on each of several stages" $run --schedule dualpipe --pp 8 --vpp 4
expect rows 2 "two copies of the model" "$STEPCAST" run tests/data/seed_003.txt --pp 2 --schedule dualpipe
for more in "--zero 1 --pp 4" "--zero 3 --pp 4" "--tp 2 --pp 4" "--recompute full --pp 4" "--model qwen3-1.7b --pp 4" "--overlap-p2p yes --pp 8" "--model mixtral-8x7b --pp 4 --ep 2" "--net flow --pp 4" "--offload-optimizer 1 --zero 1 --pp 4"; do
    expect "with $more" 0 "dualpipe" $run --schedule dualpipe $more
done
"$STEPCAST" gen --model llama3-8b --seq 4096 --global-batch 32 --ignore-memory --gpus 8 --pp 8 --schedule dualpipe --to ir-json -o "$tmp/ir.json" >/dev/null 2>&1
"$STEPCAST" run "$tmp/ir.json" --cluster dgx-h100:8 --json "$tmp/ir-run.json" >/dev/null 2>&1
check written_and_read "$(python3 -S -c 'import json,sys; print(json.load(open(sys.argv[1]))["step_time_us"])' "$tmp/ir-run.json")" "$(python3 -S -c 'import json,sys; print(json.load(open(sys.argv[1]))["step_time_us"])' "$tmp/dual.json")"
# two copies of 16 chunks are not 2 · 16, and 61 stages no way out
odd="$STEPCAST run --model deepseek-v3 --cluster hgx-h800:2048 --pp 16 --ep 64 --global-batch 15360 --seq 4096 --schedule dualpipe --ignore-memory"
expect uneven_layers 2 "pp 16 does not divide the 61 layers" $odd
expect uneven_hint 2 "that an even pp divides; or --uneven-stages" $odd
expect too_many_stages 2 "an even pp that divides them would do" "$STEPCAST" run --model llama3-8b --gpus 64 --pp 64 --global-batch 128 --schedule dualpipe --ignore-memory
expect "help names it for models" 0 "with --model dualpipe too" "$STEPCAST" help run all
expect "help of a search names it" 0 "dualpipev or dualpipe" "$STEPCAST" help plans all
