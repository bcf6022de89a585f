#!/bin/sh
# compare and report: exit codes, figures, pages.
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
ok() { if [ "$2" = "$3" ]; then echo "ok compare: $1"; else echo "not ok compare: $1: $2, not $3"; fi; }
figure() { python3 -S -c 'import json, sys; print(eval("d" + sys.argv[2], {"d": json.load(open(sys.argv[1]))}))' "$@"; }

python3 tests/tools/workload.py 4 8 2 >"$t/w.txt"
"$STEPCAST" run "$t/w.txt" --cluster ideal:32 --json "$t/a.json" --timeline >/dev/null
sed 's/1000000/1100000/g' "$t/w.txt" >"$t/slower.txt" # every layer takes 10 % longer
"$STEPCAST" run "$t/slower.txt" --cluster ideal:32 --json "$t/b.json" --timeline >/dev/null
"$STEPCAST" run "$t/w.txt" --cluster ideal:32 --json "$t/bare.json" >/dev/null

"$STEPCAST" compare "$t/a.json" "$t/a.json" --tolerance 0 >"$t/out"; ok "a result equals itself" $? 0
"$STEPCAST" compare "$t/a.json" "$t/b.json" --tolerance 5% >"$t/out"; ok "over tolerance" "$? $(grep -c "^over" "$t/out")" "1 1"
grep -q '^over' "$t/out"; ok "and says so" $? 0
"$STEPCAST" compare "$t/a.json" "$t/b.json" --tolerance 11% >"$t/out"; ok "within tolerance" $? 0
"$STEPCAST" compare "$t/a.json" "$t/b.json" --json "$t/c.json" >/dev/null
ok "layers take 10 % longer" "$(figure "$t/c.json" '["operations"][0]["relative"]' | cut -c1-6)" 0.1000
ok "the parts add up to the step" "$(python3 -S -c '
import json, sys
d = json.load(open(sys.argv[1]))
print(all(abs(sum(c[k] for c in d["classes"]) - d["step"][k]) < 1e-6 * d["step"][k] for k in ("a_us", "b_us")))' "$t/c.json")" True
"$STEPCAST" compare "$t/a.json" "$t/b.json" --json - | python3 -m json.tool >/dev/null; ok "JSON on standard output alone" $? 0
"$STEPCAST" compare "$t/a.json" "$t/w.txt" --cluster ideal:32 --tolerance 0 >/dev/null; ok "a result against an input" $? 0
"$STEPCAST" compare "$t/a.json" "sim:$t/w.txt" --cluster ideal:32 --tolerance 0 >/dev/null; ok "sim: simulates" $? 0
"$STEPCAST" compare "$t/bare.json" "$t/b.json" >"$t/out"; ok "a result without timeline" $? 0
"$STEPCAST" compare "$t/a.json" >/dev/null 2>&1; ok "one input is not enough" $? 2
"$STEPCAST" compare "$t/a.json" "$t/b.json" --tp 4 >/dev/null 2>"$t/err"; ok "options of a simulation that is not" "$? $(grep -c "both are results that were saved" "$t/err")" "2 1"
# a document whose figures were edited: every rank's parts are the step
for edit in 'd["step_time_us"] /= 2' 'd["step_time_us"] = 0' 'd["step_time_us"] = -5' 'd["breakdown_us"]["compute"] += 9' 'd["ranks"][0]["breakdown_us"]["compute"] *= 2' \
    'd["ranks"][0]["breakdown_us"]["compute"] += 9; d["ranks"][0]["breakdown_us"]["bubble"] -= d["ranks"][0]["breakdown_us"]["bubble"] + 9' 'd["ranks"][0]["ranks"] = 0'; do
    python3 -S -c "import json; d = json.load(open('$t/a.json')); $edit; json.dump(d, open('$t/edited.json', 'w'))"
    "$STEPCAST" compare "$t/a.json" "$t/edited.json" >/dev/null 2>"$t/err"; ok "edited: $edit" "$? $(grep -c "do not add up to the step" "$t/err")" "3 1"
done
echo '{"schema": "stepcast/result/1"}' >"$t/hollow.json"
"$STEPCAST" compare "$t/a.json" "$t/hollow.json" >/dev/null 2>"$t/err"; ok "a hollow result" $? 3
echo '{"schema": "stepcast/result/1", ' >"$t/cut.json"
"$STEPCAST" compare "$t/cut.json" "$t/a.json" >/dev/null 2>"$t/err"; ok "a cut result" $? 3
grep -q 'cut.json:2:' "$t/err"; ok "with its place" $? 0

"$STEPCAST" report "$t/a.json" -o "$t/r.html"; status=$?
if [ $status = 4 ] && ! command -v npm >/dev/null 2>&1; then
    echo "skip compare: pages [needs page]"
else
    ok "report of a saved result" $status 0
    "$STEPCAST" run "$t/w.txt" --cluster ideal:32 --html "$t/d.html" >/dev/null; ok "page of a run" $? 0
    "$STEPCAST" report "$t/bare.json" -o "$t/bare.html"; ok "report without timeline" $? 0
    "$STEPCAST" compare "$t/a.json" "$t/b.json" --html "$t/c.html" >/dev/null; ok "page of a comparison" $? 0
    ok "no page asks for the network" "$(grep -l '</html>' "$t"/*.html | wc -l) $(cat "$t"/*.html | grep -c -E '<(script|link|img)[^>]*(src|href)="?http')" "4 0"
    python3 tests/tools/workload.py 64 128 2 >"$t/large.txt"
    "$STEPCAST" run "$t/large.txt" --html "$t/large.html" >/dev/null
    ok "64 stages in 1.5 MB" "$([ "$(wc -c <"$t/large.html")" -lt 1500000 ] && echo yes)" yes
    python3 tests/tools/workload.py 64 128 16 >"$t/million.txt"
    "$STEPCAST" run "$t/million.txt" --html "$t/million.html" >/dev/null
    ok "a million operations in 3 MB" "$([ "$(wc -c <"$t/million.html")" -lt 3000000 ] && echo yes)" yes
fi
"$STEPCAST" report "$t/w.txt" -o "$t/x.html" 2>/dev/null; ok "report of what is no result" $? 3
"$STEPCAST" report "$t/a.json" 2>/dev/null; ok "report without -o" $? 2

# what explains a difference adds up to it: one kind of rank, so means are the rank's own
$STEPCAST run --model llama3-8b --gpus 8 --seq 4096 --global-batch 8 --zero 1 --recompute full --json "$t/full.json" >/dev/null
$STEPCAST run --model llama3-8b --gpus 8 --seq 4096 --global-batch 8 --zero 1 --recompute selective --json "$t/less.json" >/dev/null
$STEPCAST compare "$t/full.json" "$t/less.json" --json "$t/why.json" >"$t/why.txt"
adds_up() { python3 -S -c 'import json,sys
d = json.load(open(sys.argv[1]))
step = d["step"]["b_us"] - d["step"]["a_us"]
causes = [c["b_us"] - c["a_us"] for c in d["causes"]]
order = [abs(c) for c in causes]
print(abs(sum(causes) - step) < 0.02 * abs(step), order == sorted(order, reverse=True), len(causes) > 3)' "$1"; }
ok "causes add up" "$(adds_up "$t/why.json")" "True True True"
ok "causes in text" "$(grep -c "^what explains the difference" "$t/why.txt")" 1
# steps that are alike though their parts are not: a tenth of the step moves from compute to skew
python3 - "$t/full.json" "$t/moved.json" <<'P'
import json, sys
d = json.load(open(sys.argv[1]))
tenth = d["step_time_us"] / 10
for parts in [d["breakdown_us"]] + [r["breakdown_us"] for r in d["ranks"]]:
    parts["compute"] -= tenth
    parts["skew"] += tenth
json.dump(d, open(sys.argv[2], "w"))
P
$STEPCAST compare "$t/full.json" "$t/moved.json" >"$t/moved.txt"
ok "causes of steps that are alike" "$(sed -n "s/.* skew .*  \(.*\) of A's step/\1/p" "$t/moved.txt") $(grep -c 'adds up to little' "$t/moved.txt") $(grep -c '% of it' "$t/moved.txt")" "+10.0 % 1 0"
# transfers beside kernels make these longer: that is what their kinds took, one stream has no kernels side by side
for tax in 0 0.2; do
    "$STEPCAST" run --model llama3-8b --gpus 16 --zero 3 --global-batch 32 --seq 4096 --recompute selective --cluster dgx-h100:16 --comm-sm-tax $tax --json "$t/tax$tax.json" >/dev/null
done
"$STEPCAST" compare "$t/tax0.json" "$t/tax0.2.json" --json "$t/tax.json" >"$t/tax.txt"
ok "kernels beside transfers" "$(grep -c 'side by side' "$t/tax.txt") $(figure "$t/tax.json" '["causes"][0]["key"]') $(python3 -S -c 'import json, sys; print(sum(w["b_us"] > w["a_us"] for w in json.load(open(sys.argv[1]))["work"]) > 3)' "$t/tax.json")" "0 gemm True"

# who is slow: one rank of sixteen computes 1.3 times as long, and is named
$STEPCAST run --model llama3-8b --gpus 16 --zero 1 --recompute full --slow rank:5=1.3 --json "$t/slow.json" >"$t/slow.txt"
named() { python3 -S -c 'import json,sys
s = json.load(open(sys.argv[1]))["stragglers"]
print(len(s), s[0]["rank"], round(s[0]["compute_us"] / s[0]["median_us"], 2), s[0]["others_wait_us"] > 0)' "$1"; }
ok straggler "$(named "$t/slow.json")" "1 5 1.3 True"
ok "straggler in text" "$(grep -c "over the median" "$t/slow.txt")" 1

# A batch follows from the plan: with tp 2 on 8 GPUs a step has 4 sequences of 1024 tokens for 8, is shorter, and slower in tokens/s.
small="--model gpt2 --cluster dgx-h100:8 --seq 1024"
"$STEPCAST" run $small --json "$t/eight.json" >/dev/null
"$STEPCAST" run $small --tp 2 --json "$t/four.json" >/dev/null
"$STEPCAST" compare "$t/eight.json" "$t/four.json" --json "$t/uneven.json" >"$t/uneven.txt"
ok "unequal tokens are said" "$(grep -c 'a step of A has 8192 tokens, one of B 4096: tokens/s compare them' "$t/uneven.txt")" 1
ok "tokens per second of both" "$(awk '$1 == "tokens/s" { print "both:", $2, $3 }' "$t/uneven.txt")" \
    "both: $(python3 -S -c 'import json, sys; print(*(round(json.load(open(f))["tokens_per_s"]) for f in sys.argv[1:]))' "$t/eight.json" "$t/four.json")"
ok "tokens of both in JSON" "$(figure "$t/uneven.json" '["a"]["tokens"]') $(figure "$t/uneven.json" '["b"]["tokens"]')" "8192 4096"
printf 'stepcast: job/1\nmodel: gpt2\ncluster: dgx-h100:8\nseq: 1024\ntp: 2\nglobal-batch: 8\n' >"$t/even.yaml"
ok "equal ones are not" "$("$STEPCAST" compare "$t/eight.json" "$t/even.yaml" | grep -c 'tokens/s\|step time')" 1
ok "a simulated side has them too" "$("$STEPCAST" compare "$t/four.json" "$t/even.yaml" | grep -c 'one of B 8192')" 1
