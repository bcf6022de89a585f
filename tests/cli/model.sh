# A model instead of an input file: run, refusals, memory, launch scripts, validate.
S=${STEPCAST:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
check() { if [ "$2" = 0 ]; then echo "ok $1"; else echo "not ok $1"; fi; }

"$S" run --model llama3-8b --gpus 8 --zero 1 --global-batch 16 --seq 4096 --json - >"$dir/a.json" 2>"$dir/err"
check "run --model answers" $?
python3 -S - "$dir/a.json" <<'P'
import json, sys
d = json.load(open(sys.argv[1]))
b = d["breakdown_us"]
total = b["compute"] + b["recompute"] + sum(b["exposed_comm"].values()) + b["bubble"] + b["skew"] + b["other"]
assert abs(total - d["step_time_us"]) < 1e-3
assert d["input"]["format"] == "model"
# 8.03e9 parameters, 6 FLOP each and token: between a fifth and four fifths of 989 TFLOP/s
assert 200 < d["tflops_per_gpu"] < 800, d["tflops_per_gpu"]
P
check "its parts add up" $?

"$S" run --model llama3-70b --gpus 8 --global-batch 8 >"$dir/out" 2>"$dir/err"
[ $? = 1 ] && grep -q 'does not fit' "$dir/err" && grep -q optimizer "$dir/err"
check "too large for memory is exit 1 and names the items" $?
grep -q 'note: no --seq is given' "$dir/err"
check "and what was assumed" $?
"$S" run --model llama3-70b --gpus 8 --global-batch 8 --ignore-memory >"$dir/out" 2>"$dir/err"
check "--ignore-memory goes on" $?

"$S" run --model gpt3-175b --tp 7 --gpus 7 >"$dir/out" 2>"$dir/err"
[ $? = 2 ] && grep -q '96 attention heads' "$dir/err" && grep -q 'tp 6 or 8' "$dir/err"
check "a plan that cannot be is refused with those that can" $?

cat >"$dir/launch.sh" <<'P'
#!/bin/bash
TP=2
ARGS=(
    --num-layers 16 --hidden-size 2048 --num-attention-heads 16   # a small one
    --seq-length 2048 --micro-batch-size 2 --global-batch-size 32 --vocab-size 32000
    --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size 2 --bf16 --swap-optimizer
)
torchrun --nproc_per_node 8 pretrain_gpt.py ${ARGS[@]} --lr 1e-4
P
"$S" run --megatron-args "$dir/launch.sh" --gpus 8 --json "$dir/b.json" >"$dir/out" 2>"$dir/err"
check "a launch script is read" $?
"$S" run --num-layers 16 --hidden-size 2048 --num-attention-heads 16 --seq 2048 --micro-batch 2 --global-batch 32 \
    --vocab-size 32000 --tp 2 --pp 2 --gpus 8 --overlap-grad no --cross-entropy unfused --json "$dir/c.json" >"$dir/out2" 2>"$dir/err"
python3 -S - "$dir/b.json" "$dir/c.json" <<'P'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
assert a["step_time_us"] == b["step_time_us"], (a["step_time_us"], b["step_time_us"])
assert any("swap-optimizer" in n["text"] for n in a["input"]["notes"])
P
check "and means the same as the options, naming what it ignores" $?

# Twice the GPUs, pipeline full of micro-batches: a bubble of (p-1)/(m+p-1) of 1F1B on a free network.
"$S" run --num-layers 16 --hidden-size 4096 --num-attention-heads 32 --vocab-size 128 --seq 2048 --pp 4 --gpus 4 --global-batch 12 \
    --no-optimizer --host-launch 0 --ignore-memory --cluster ideal:4 --json "$dir/d.json" >/dev/null 2>"$dir/err"
python3 -S - "$dir/d.json" <<'P'
import json, sys
d = json.load(open(sys.argv[1]))
share = d["breakdown_us"]["bubble"] / d["step_time_us"]
assert abs(share - 3 / 15) < 0.01, share
P
check "the bubble of 1F1B is the closed form" $?

# Zero-bubble schedules of the same job: (p-1)(F+B-W) is left by ZB-H1, (p-1)(F+B-2W) at most by ZB-2p.
expect_dual() { "$S" run --model llama3-8b --gpus 8 --pp 8 --seq 4096 --ignore-memory --schedule dualpipev "$@" 2>&1; }
case $(expect_dual --global-batch 8) in *"twice as many micro-batches as stages, 16, and has 8"*) echo "ok dualpipev with few micro-batches" ;; *) echo "not ok dualpipev with few micro-batches" ;; esac
case $(expect_dual --global-batch 16 --vpp 4) in *"two chunks on each of several stages"*) echo "ok dualpipev with four chunks" ;; *) echo "not ok dualpipev with four chunks" ;; esac
for s in 1f1b zb-h1 zb-2p zb-v; do
    "$S" run --num-layers 16 --hidden-size 4096 --num-attention-heads 32 --vocab-size 128 --seq 2048 --pp 4 --gpus 4 --global-batch 12 \
        --no-optimizer --host-launch 0 --ignore-memory --cluster ideal:4 --schedule $s --json "$dir/$s.json" --timeline >/dev/null 2>"$dir/err"
done
python3 -S - "$dir" <<'P'
import json, sys
sys.path.insert(0, "tests/tools")
import timeline
step, left = {}, {}
for name in "1f1b", "zb-h1", "zb-2p", "zb-v":
    r = json.load(open(f"{sys.argv[1]}/{name}.json"))
    step[name], times = r["step_time_us"], []
    for _, sums in timeline.sums(r["timeline"]):
        times.append({kind: sums[kind] / 1e6 / 12 for kind in "FBW"})
    left[name] = step[name] - max(12 * sum(t.values()) for t in times)
    t = times[1]
    if name == "zb-h1": assert abs(left[name] - 3 * (t["F"] + t["B"] - t["W"])) < 0.02 * step[name], left
    if name == "zb-2p": assert left[name] <= 3 * max(0, t["F"] + t["B"] - 2 * t["W"]) + 0.001 * step[name], left
assert left["zb-2p"] < left["zb-h1"] < left["1f1b"] and left["zb-v"] < left["zb-h1"], left
assert max(step["zb-2p"], step["zb-v"], step["zb-h1"]) < step["1f1b"], step
P
check "the bubbles of zero-bubble schedules are the closed forms" $?

# Rows with equal forward, input and weight gradients leave none at all.
python3 tests/tools/workload.py 4 8 2 | awk 'NR > 2 { if ($1 == "embedding_layer") $3 = $6 = $9 = 0; $4 = $7 = $10 = "NONE"; $5 = $8 = $11 = 0 } { print }' >"$dir/w.txt"
for s in zb-2p zb-v; do "$S" run "$dir/w.txt" --schedule $s --cluster ideal:32 --json "$dir/$s.json" >/dev/null 2>"$dir/err"; done
python3 -S - "$dir" <<'P'
import json, sys
for name in "zb-2p", "zb-v":
    r = json.load(open(f"{sys.argv[1]}/{name}.json"))
    assert r["breakdown_us"]["bubble"] < 0.01 and r["step_overlap_us"] > 0, r["breakdown_us"]
P
check "rows of equal times leave no bubble" $?
awk 'NR > 2 { $9 = 0 } { print }' "$dir/w.txt" >"$dir/one.txt"
"$S" run "$dir/one.txt" --schedule zb-2p --cluster ideal:32 >"$dir/out" 2>"$dir/err"
[ $? = 2 ] && grep -q 'weight gradient' "$dir/err" && grep -q '1f1b' "$dir/err"
check "rows without weight gradients are refused" $?

shared=${STEPCAST_SHARED:-../shared}
if [ -f "$shared/truth/training_steps.csv" ]; then
    "$S" validate "$shared/truth/training_steps.csv" --only "Korthikanti 2022 (arXiv" --json "$dir/v.json" >/dev/null 2>"$dir/err"
    python3 -S - "$dir/v.json" <<'P'
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert len(rows) == 4
for r in rows: assert abs(r["error_pct"]) <= 6, r
P
    check "validate: measured steps of Korthikanti et al. within 6 %" $?
else
    echo "skip validate: measured steps [needs shared]"
fi
