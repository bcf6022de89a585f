#!/bin/sh
# not of the program: docs: links and files
# What README.md shows is what the program prints, and its other commands run. What pages link to
# and name is there.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
if python3 tests/tools/check_readme.py "$STEPCAST" README.md; then echo "ok readme: the example"; else echo "not ok readme: the example"; fi
if python3 tests/tools/check_docs.py >"$tmp/docs"; then echo "ok docs: links and files"; else
    echo "not ok docs: links and files"
    cat "$tmp/docs"
fi
expect "readme: coll" 0 "Avg bus bandwidth" "$STEPCAST" coll all_reduce --cluster dgx-h100:64 -b 8 -e 8G -f 2
expect "readme: run a file" 0 "step time" "$STEPCAST" run tests/data/seed_003.txt --cluster dgx-h100:1024
expect "readme: show a table" 0 "torch.profiler table" "$STEPCAST" show tests/data/seed_001.txt
expect "readme: help" 0 "stepcast help COMMAND" "$STEPCAST" help
traces=${STEPCAST_SHARED:-../shared}/traces/real/pp2_tp1_exp2_expn8_dp8_nl8_hs4096_sl1024
if [ -d "$traces" ]; then
    expect "readme: traces" 0 "step time" "$STEPCAST" run "$traces" --cluster hgx-h800:16 --json "$tmp/forecast.json" --timeline
    "$STEPCAST" compare "$traces" "$tmp/forecast.json" --tolerance 5% >"$tmp/out" 2>"$tmp/err"
    check "readme: compare" "$(grep -c -e '^within' -e '^over' "$tmp/out")" 1
else echo "skip readme: traces [needs shared]"; fi
expect "readme: train" 0 "ETTR" "$STEPCAST" train --model llama3-8b --cluster dgx-h100:256 --global-batch 1024 --zero 1 --recompute full --train-tokens 15T
# every command of the table of questions that needs no file of the reader's own
sed -n 's/^| [^|]*? | `stepcast \(.*\)` |$/\1/p' README.md | grep -v -e '^compare' -e '^run traces' >"$tmp/questions"
while read -r line; do
    eval "expect \"readme: \$(echo "$line" | cut -c1-60)\" 0 'step' \"\$STEPCAST\" $line"
done <"$tmp/questions"
check "readme: questions" "$(wc -l <"$tmp/questions") $("$STEPCAST" --version | wc -l)" "9 1"
