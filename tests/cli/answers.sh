#!/bin/sh
# What-if rows: each says what a run with that option says. show of a model; help.
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
check() { # NAME GOT WANTED
    if [ "$2" = "$3" ] && [ -n "$2" ]; then echo "ok answers: $1"; else echo "not ok answers: $1: '$2' is not '$3'"; fi
}
plan="--model llama3-8b --tp 2 --pp 2 --recompute full --seq 4096 --zero 1"
step() { "$STEPCAST" run "$@" --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["step_time_us"])'; }
row() { python3 -S -c 'import json, sys; print(*[r["step_time_us"] for r in json.load(open(sys.argv[1]))["what_if_changes"] if r["key"] == sys.argv[2]] or ["none"])' "$t/$1.json" "$2" 2>/dev/null; }
"$STEPCAST" run $plan --cluster dgx-h100:16 --global-batch 32 --what-if --json "$t/model.json" >"$t/text" 2>&1
check nics "$(row model 'nic*2')" "$(step $plan --cluster 'dgx-h100:16 nic=800Gbps' --global-batch 32)"
check nvlink "$(row model 'nvlink*2')" "$(step $plan --cluster 'dgx-h100:16 nvlink=900GB/s' --global-batch 32)"
check gpu "$(row model 'gpu*2')" "$(step $plan --cluster dgx-h100:16 --global-batch 32 --gpu-speedup 2)"
check micro_batches "$(row model 'micro-batches*2')" "$(step $plan --cluster dgx-h100:16 --global-batch 64)"
check no_recompute "$(row model no-recompute)" "$(step $plan --cluster dgx-h100:16 --global-batch 32 --recompute none --ignore-memory)"
"$STEPCAST" run $plan --cluster dgx-h100:16 --global-batch 32 --degrade port0.up=0.25 --what-if --json "$t/slow.json" >"$t/slow" 2>&1
sound=$(step $plan --cluster dgx-h100:16 --global-batch 32 --net flow)
check no_failure "$(row slow no-fail)" "$sound"
check what_a_link_costs "$(sed -n 's/.*or is slow costs \([0-9.]*\) %.*/\1/p' "$t/slow")" "$(python3 -S -c '
import json, sys
print("%.2f" % (100 * (json.load(open(sys.argv[1]))["step_time_us"] / float(sys.argv[2]) - 1)))' "$t/slow.json" "$sound")"
# all layers but two are on the second stage, which alone is too large without recomputation
uneven="--model llama3-8b --pp 2 --decoder-first-pipeline-num-layers 2 --micro-batch 1 --seq 8192 --zero 1 --cluster dgx-h100:8 --global-batch 32"
"$STEPCAST" run $uneven --recompute full --what-if --json "$t/uneven.json" >/dev/null 2>&1
"$STEPCAST" run $uneven --recompute none >"$t/none" 2>&1
check one_stage_does_not_fit "$? $(python3 -c 'import json, sys; print([r["fits"] for r in json.load(open(sys.argv[1]))["what_if_changes"] if r["key"] in ("no-recompute", "gpu*2")])' "$t/uneven.json")" "1 [True, False]"
check nothing_failed_no_row "$(row model no-fail)" none
check on_the_terminal "$(grep -c 'NICs twice as fast\|twice the micro-batches\|no recomputation' "$t/text")" 3
python3 tests/tools/workload.py 4 8 2 >"$t/w.txt"
"$STEPCAST" run "$t/w.txt" --slow rank:5=1.5 --what-if --json "$t/layers.json" >/dev/null 2>&1
check layers_nics "$(row layers 'nic*2')" "$(step "$t/w.txt" --slow rank:5=1.5 --cluster 'dgx-h100 nic=800Gbps')"
check layers_gpu "$(row layers 'gpu*2')" "$(step "$t/w.txt" --slow rank:5=1.5 --gpu-speedup 2)"
check layers_have_no_plan "$(row layers 'micro-batches*2')" none
# half the bytes may go another way than all of them, which the flow engine must know of before it begins
"$STEPCAST" run tests/data/seed_004.txt --degrade port0.up=0.5 --what-if --json "$t/layers_flow.json" >"$t/text" 2>&1
check layers_flow "$? $(grep -c '^  tp communication ' "$t/text") $(row layers_flow no-fail)" "0 1 $(step tests/data/seed_004.txt --net flow)"
"$STEPCAST" run "$t/w.txt" --cluster ideal:32 --what-if --json "$t/ideal.json" >/dev/null 2>&1
check no_network_no_row "$(row ideal 'nic*2') $(row ideal 'nvlink*2')" "none none"

# Kinds of work are what their kernels took, also beside transfers that slow them down and when repeated: of a rank
# with one stream they add up to compute and recomputation, and every output has the same figure.
fsdp="--model llama3-8b --gpus 16 --zero 3 --global-batch 32 --seq 4096 --recompute full --cluster dgx-h100:16"
"$STEPCAST" run $fsdp --timeline --amdahl --what-if --json "$t/fsdp.json" >/dev/null 2>&1
fsdp_says() { python3 -S -c 'import json, sys
r = json.load(open(sys.argv[1]))
work, part = r["work_us"], r["breakdown_us"]
near = lambda a, b: abs(a - b) < 0.01
by_class = {x["name"]: x["time_us"] for x in r["amdahl"]["by_class"]}
by_kind = {}
for o in r["operations"]:
    by_kind[o["kind"]] = by_kind.get(o["kind"], 0) + o["total_us"]
print(eval(sys.argv[2]))' "$t/fsdp.json" "$1"; }
check work_adds_up "$(fsdp_says 'near(sum(work.values()), part["compute"] + part["recompute"] + part["other"])')" True
check work_in_amdahl "$(fsdp_says 'all(near(by_class[k], us) for k, us in work.items())')" True
check work_of_operations "$(fsdp_says 'all(near(by_kind[k], us) for k, us in work.items())')" True
# a kind of work is that kind in recomputation too, as --scale has it
check what_if_repeats_too "$(fsdp_says '[w["step_at_half_us"] for w in r["what_if"] if w["key"] == "gemm"][0]')" "$(step $fsdp --scale gemm=0.5)"
# Where several transfers are waited for at once the time is one's: a table of rows adds up to the breakdown.
"$STEPCAST" run --model llama3-8b --gpus 16 --tp 2 --pp 4 --global-batch 12 --seq 4096 --recompute full --cluster dgx-h100:16 --schedule zb-h1 \
    --offload-optimizer 0.5 --zero 1 --json "$t/rows.json" --csv "$t/rows.csv" >/dev/null 2>&1
check rows_add_up "$(python3 -S -c 'import csv, json, sys
part = json.load(open(sys.argv[1]))["breakdown_us"]
rows = list(csv.DictReader(open(sys.argv[2])))
total = lambda word: sum(float(v) for r in rows for k, v in r.items() if k.endswith(word))
print(abs(total("_exposed_us") - sum(part["exposed_comm"].values())) < 0.01,
      abs(total("_compute_us") - part["compute"] - part["recompute"] - part["other"]) < 0.01)' "$t/rows.json" "$t/rows.csv")" "True True"

# show: a model that does not fit is shown all the same. FLOPs of a token by hand: 6 per
# weight of a matrix (all but the input embedding), and 12·l·h·s of attention: those of MFU.
"$STEPCAST" show --model llama3-8b --seq 8192 >"$t/show" 2>&1
check show_what_does_not_fit "$(grep -c 'layers    32 of width 4096\|parameters 8.03 B\|does not fit' "$t/show")" 3
check show_flops "$(sed -n 's/^  FLOPs *\([0-9.e+]*\) .*/\1/p' "$t/show")" \
    "$(python3 -S -c 'print(f"{6 * (8.030e9 - 128256 * 4096) + 12 * 32 * 4096 * 8192:.4g}")')"

# help: what is needed first, the rest on request; every option is in one of them.
"$STEPCAST" help run >"$t/short"
"$STEPCAST" help run all >"$t/long"
check help_begins_with_the_model "$(grep -m1 '^[A-Z].*:$' "$t/short")" "Model:"
check help_names_the_rest "$(grep -c "help run all' has these too.*Chakra" "$t/short")" 1
check help_all_has_them "$(grep -c -e '^Chakra:' -e '--tensor-model-parallel-size' "$t/short") $(grep -c -e '^Chakra:' -e '--tensor-model-parallel-size' "$t/long")" "0 2"

# DeepSeek-V3 as its report has it (arXiv 2412.19437): 180 K H800 hours for a trillion tokens,
# 19.9 s a step of 15,360 sequences of 4096 tokens on 2048 GPUs.
deepseek=$(step --model deepseek-v3 --cluster 'hgx-h800:2048 nic=400Gbps' --global-batch 15360 --seq 4096 --pp 16 --ep 64 --micro-batch 1 \
    --fp8 --fp8-recipe blockwise --zero 1 --schedule dualpipev --uneven-stages --moe-token-dispatcher-type flex \
    --recompute selective --recompute-modules layernorm,mla_up_proj,moe_act --ignore-memory)
check deepseek_v3 "$(python3 -S -c 'import sys
hours = float(sys.argv[1]) / 1e6 * 2048 / 3600 / (15360 * 4096) * 1e12
print("within 5 %" if abs(hours / 180e3 - 1) < 0.05 else hours)' "$deepseek")" "within 5 %"
