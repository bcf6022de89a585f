#!/bin/sh
# One run says the same in its result, its table and its trace: parts, bytes by group, compute, the critical path.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
agree() { # name, what to run
    name=$1
    shift
    if "$STEPCAST" run "$@" --json "$tmp/r.json" --timeline --csv "$tmp/r.csv" --trace "$tmp/t.json" --trace-ranks all >/dev/null &&
        python3 tests/tools/outputs_agree.py "$tmp/r.json" "$tmp/r.csv" "$tmp/t.json" >"$tmp/log" 2>&1; then echo "ok $name"
    else
        echo "not ok $name"
        sed 's/^/# /' "$tmp/log"
    fi
}
path() { "$STEPCAST" run "$@" --json - --timeline | sed -n '/"critical_path"/,/"row"/p' | tr -d ' \n' | sed 's/.*"total_us":{\(.*\)},"row".*/\1/'; }
python3 tests/tools/workload.py 4 8 2 >"$tmp/small.txt"
agree rows_with_stages "$tmp/small.txt"
agree experts_and_stages --model mixtral-8x7b --cluster dgx-h100:16 --tp 2 --pp 2 --ep 4 --micro-batches 4 --zero 1 --ignore-memory
agree sharded_weights --model llama3-8b --cluster dgx-h100:8 --zero 3 --recompute full

# every rank to the 1st, 2nd and 4th after it, each when the message before has come: the receives of all rounds are
# there from the start, and three rounds of o + L + o are all that happens
awk 'BEGIN { print "num_ranks 8"; for (r = 0; r < 8; r++) { print "rank " r " {"; for (k = 0; k < 3; k++) {
    printf "s%d: send 1b to %d tag %d\nr%d: recv 1b from %d tag %d\n", k, (r + 2 ^ k) % 8, k, k, (r + 8 - 2 ^ k) % 8, k
    if (k) printf "s%d requires r%d\n", k, k - 1 } print "}" } }' >"$tmp/rounds.goal"
agree messages "$tmp/rounds.goal" --loggops 2500,1500,1000,6
check exposed_of_messages "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /exposed/) at[i] } NR > 1 { for (i in at) sum += $i } END { print sum }' "$tmp/r.csv")" 16.5
check flows_of_messages "$(grep -o '"ph": *"[sf]"' "$tmp/t.json" | sort | uniq -c | awk '{ print $1 }' | paste -sd,)" 24,24

# 100 us of compute on one rank, then a message of L + (1001 − 1) G = 2 us: the path crosses to who computed, also where
# the receive takes what comes
printf 'num_ranks 2\nrank 0 {\na: recv 1001b from 1 tag 1\n}\nrank 1 {\na: calc 100000\nb: send 1001b to 0 tag 1\nb requires a\n}\n' >"$tmp/late.goal"
sed 's/from 1 tag 1/from -1 tag -1/' "$tmp/late.goal" >"$tmp/any.goal"
for file in late any; do check "path_of_a_message, $file" "$(path "$tmp/$file.goal" --loggops 1us,0,0,1ns)" '"forward":100,"comm":{"p2p":2}'; done

# what takes standard output and has no room for notes: they are on standard error, and nowhere twice
while read -r command; do
    "$STEPCAST" $command >"$tmp/piped" 2>"$tmp/notes"
    check "notes beside: $command" "$(grep -c '^note: --moe-kernels has no effect: the model has no experts$' "$tmp/notes") $(grep -c 'has no effect' "$tmp/piped")" "1 0"
done <<'END'
gen --model gpt2 --gpus 2 --global-batch 4 --moe-kernels fused
convert --model gpt2 --gpus 2 --global-batch 4 --moe-kernels fused --to ir-json -o -
run --model gpt2 --gpus 2 --global-batch 4 --moe-kernels fused --csv -
END
"$STEPCAST" run --model gpt2 --gpus 2 --global-batch 4 --moe-kernels fused --json - >"$tmp/piped" 2>"$tmp/notes"
check notes_in_json "$(grep -c 'moe-kernels has no effect' "$tmp/piped") $(wc -l <"$tmp/notes")" "1 0"
check notes_quiet "$("$STEPCAST" gen --model gpt2 --gpus 2 --global-batch 4 --quiet 2>&1 >/dev/null | wc -l) $("$STEPCAST" gen --model gpt2 --gpus 2 --global-batch 4 --quiet 2>/dev/null | head -1 | cut -c1-6)" "0 HYBRID"
"$STEPCAST" sweep --model gpt2 --gpus 2 --global-batch 32 --route ecmp --axis micro-batch=1,2 --db "$tmp/notes.db" --csv - >"$tmp/piped" 2>"$tmp/notes"
check notes_of_a_sweep "$(grep -c '^note: --route has no effect on any point$' "$tmp/notes") $(wc -l <"$tmp/piped")" "1 3"
expect free_collective 0 "note: communication is free on ideal" "$STEPCAST" coll all_reduce -c ideal:8
