#!/bin/sh
# Traces for other tools, read back by readers written from those tools' rules.
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
check() { # NAME COMMAND…
    name=$1
    shift
    if "$@" >"$t/log" 2>&1; then echo "ok trace_files: $name"; else
        echo "not ok trace_files: $name"
        sed 's/^/# /' "$t/log"
    fi
}
python3 tests/tools/workload.py 64 128 1 >"$t/large.txt"
python3 tests/tools/workload.py 4 8 2 >"$t/small.txt"

"$STEPCAST" run "$t/large.txt" --trace "$t/large.json.gz" >/dev/null
# a message for each micro-batch, in both directions, over each of the 63 gaps
check "64 stages, 128 micro-batches" python3 tests/tools/check_trace.py "$t/large.json.gz" 64 $((2 * 63 * 128))

"$STEPCAST" run "$t/small.txt" --trace "$t/small.json" >/dev/null
check "one rank of each class, plain" python3 tests/tools/check_trace.py "$t/small.json" 4 $((2 * 3 * 8))
"$STEPCAST" run "$t/small.txt" --trace "$t/some.json" --trace-ranks 0,1,8-9 >/dev/null
# ranks 0 and 1 of stage 0, 8 and 9 of stage 1: two pairs that talk
check "chosen ranks" python3 tests/tools/check_trace.py "$t/some.json" 4 $((2 * 2 * 8))
"$STEPCAST" run "$t/small.txt" --trace "$t/all.json" --trace-ranks all >/dev/null
check "all ranks" python3 tests/tools/check_trace.py "$t/all.json" 32 $((2 * 3 * 8 * 8))

"$STEPCAST" run "$t/small.txt" --hta "$t/hta" >/dev/null
check "HTA, one rank of each class" python3 tests/tools/check_hta.py "$t/hta" 4
"$STEPCAST" run "$t/small.txt" --hta "$t/hta2" --trace-ranks 3,5 >/dev/null
check "HTA, chosen ranks" python3 tests/tools/check_hta.py "$t/hta2" 2

# what the GPU waits for its host is no kernel: read again, three quarters of this step are the host's as before
"$STEPCAST" run --model gpt2 --gpu h200 --gpus 1 --micro-batch 1 --seq 256 --software hf-transformers --hta "$t/waits" --json "$t/waits.json" >/dev/null
"$STEPCAST" run "$t/waits" --cluster ideal --json "$t/again.json" >/dev/null
python3 -S -c '
import json, sys
a, b = (json.load(open(f))["breakdown_us"] for f in sys.argv[1:])
assert a["other"] > 0.7 * sum(v for v in a.values() if not isinstance(v, dict)), a
assert all(abs(a[k] / b[k] - 1) < 1e-3 for k in ("compute", "other")), (a, b)' "$t/waits.json" "$t/again.json" &&
    echo "ok trace_files: HTA, a GPU that waits for its host" || echo "not ok trace_files: HTA, a GPU that waits for its host"

"$STEPCAST" run "$t/small.txt" --trace "$t/x.json" --trace-ranks 99 >/dev/null 2>"$t/error"
[ $? = 2 ] && grep -q 'ranks 0 to 31' "$t/error" && [ ! -e "$t/x.json" ] && echo "ok trace_files: a rank that is not there" || echo "not ok traces: a rank that is not there"
"$STEPCAST" run "$t/small.txt" --trace "$t/none/x.json" >/dev/null 2>&1
[ $? = 4 ] && echo "ok trace_files: a folder that is not there" || echo "not ok traces: a folder that is not there"
"$STEPCAST" run "$t/small.txt" --trace-ranks 0 >/dev/null 2>&1
[ $? = 2 ] && echo "ok trace_files: --trace-ranks alone" || echo "not ok trace_files: --trace-ranks alone"
"$STEPCAST" run "$t/small.txt" --timeline >/dev/null 2>&1
[ $? = 2 ] && echo "ok trace_files: --timeline alone" || echo "not ok trace_files: --timeline alone"
for n in 1 2; do "$STEPCAST" run "$t/small.txt" -j $n --trace "$t/j$n.json" --html "$t/j$n.html" >/dev/null; done
cmp -s "$t/j1.json" "$t/j2.json" && echo "ok trace_files: the same bytes for any number of threads" || echo "not ok traces: the same bytes for any number of threads"

# Without a name the records tell the cut: rank 2 of stage 1 with a loss is of the last of two stages, of two ranks each
told=$("$STEPCAST" run tests/data/seed_002.txt --json - 2>/dev/null | grep '"step_time_us"' | head -1)
said=$("$STEPCAST" run tests/data/seed_002.txt --tp 1 --pp 2 --dp 2 --json - 2>/dev/null | grep '"step_time_us"' | head -1)
if [ -n "$told" ] && [ "$told" = "$said" ]; then echo "ok records_tell_the_cut"; else echo "not ok records_tell_the_cut: $told $said"; fi
cut_note() { "$STEPCAST" run "$@" 2>&1 | tr -s ' \n' ' ' | grep -o 'how the job was cut is not said: [^;]*'; }
case $(cut_note tests/data/seed_002.txt) in
*"2 stages (by the records) of 2 ranks (by the records), each tp 1 · dp 2, assumed"*) echo "ok the_note_says_what_was_told" ;;
*) echo "not ok the_note_says_what_was_told: $(cut_note tests/data/seed_002.txt)" ;;
esac
case $(cut_note tests/data/seed_002.txt --tp 2) in
*"each tp 2 · dp 1"*) echo "ok options_go_before_the_records" ;;
*) echo "not ok options_go_before_the_records: $(cut_note tests/data/seed_002.txt --tp 2)" ;;
esac
