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
