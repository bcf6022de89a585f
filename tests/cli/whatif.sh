#!/bin/sh
# What-if rows: each says what a run with that option says.
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
check() { # NAME GOT WANTED
    if [ "$2" = "$3" ]; then echo "ok whatif: $1"; else echo "not ok whatif: $1: '$2' is not '$3'"; fi
}
plan="--model llama3-8b --tp 2 --pp 2 --recompute full --seq 4096 --zero 1"
step() { "$STEPCAST" run "$@" --json - 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["step_time_us"])'; }
row() { python3 -c 'import json, sys; print(*[r["step_time_us"] for r in json.load(open(sys.argv[1]))["what_if_changes"] if r["key"] == sys.argv[2]])' "$t/$1.json" "$2"; }
"$STEPCAST" run $plan --cluster dgx-h100:16 --global-batch 32 --what-if --json "$t/model.json" >"$t/text" 2>&1
check nics "$(row model 'nic*2')" "$(step $plan --cluster 'dgx-h100:16 nic=800Gbps' --global-batch 32)"
check nvlink "$(row model 'nvlink*2')" "$(step $plan --cluster 'dgx-h100:16 nvlink=900GB/s' --global-batch 32)"
check gpu "$(row model 'gpu*2')" "$(step $plan --cluster dgx-h100:16 --global-batch 32 --gpu-speedup 2)"
check micro_batches "$(row model 'micro-batches*2')" "$(step $plan --cluster dgx-h100:16 --global-batch 64)"
check no_recompute "$(row model no-recompute)" "$(step $plan --cluster dgx-h100:16 --global-batch 32 --recompute none --ignore-memory)"
check on_the_terminal "$(grep -c 'NICs twice as fast\|twice the micro-batches\|no recomputation' "$t/text")" 3
python3 tests/tools/workload.py 4 8 2 >"$t/w.txt"
"$STEPCAST" run "$t/w.txt" --slow rank:5=1.5 --what-if --json "$t/layers.json" >/dev/null 2>&1
check layers_nics "$(row layers 'nic*2')" "$(step "$t/w.txt" --slow rank:5=1.5 --cluster 'dgx-h100 nic=800Gbps')"
check layers_gpu "$(row layers 'gpu*2')" "$(step "$t/w.txt" --slow rank:5=1.5 --gpu-speedup 2)"
check layers_have_no_plan "$(row layers 'micro-batches*2')" ""
"$STEPCAST" run "$t/w.txt" --cluster ideal:32 --what-if --json "$t/ideal.json" >/dev/null 2>&1
check no_network_no_row "$(row ideal 'nic*2')$(row ideal 'nvlink*2')" ""
