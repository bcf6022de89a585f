#!/bin/sh
# Traces on the command line: one file, several, a directory, packed; exit codes.
: "${STEPCAST:?}"
shared=${STEPCAST_SHARED:-../shared}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check() { # name, command…: ok when the command succeeds
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then echo "ok $name"; else
        echo "not ok $name"
        cat "$work/log"
    fi
}

exits() { # status, text the message must hold, command…
    want=$1 text=$2
    shift 2
    "$@" >"$work/out" 2>"$work/err"
    got=$?
    [ "$got" = "$want" ] && grep -q -e "$text" "$work/err"
}

says() { # text, command…
    text=$1
    shift
    "$@" 2>&1 | grep -q -e "$text"
}

seed=$work/wd4_tp1_pp2_numl4_bs1_GPT2BPETokenizer_rank2_20250318120000.txt
cp tests/data/seed_002.txt "$seed"
check named_seed_runs says "assumed equal to rank 2" "$STEPCAST" run "$seed"
check show_tells_the_stage says "rank  *2, stage 1 of 2" "$STEPCAST" show "$seed"
check unnamed_seed_is_told_by_its_records says "2 stages (by the records) of 2 ranks (by the records)" "$STEPCAST" run tests/data/seed_002.txt
check unnamed_seed_runs_when_told "$STEPCAST" run tests/data/seed_002.txt --tp 1 --pp 2 --dp 2
check standard_input says "step time" sh -c '"$1" run - --tp 1 --pp 2 --dp 2 <tests/data/seed_002.txt' sh "$STEPCAST"
check wrong_stage exits 3 "stage 1" "$STEPCAST" run tests/data/seed_002.txt --tp 1 --pp 2 --dp 4
check bad_comm exits 2 "one of: simulated, measured" "$STEPCAST" run "$seed" --comm guessed
check bad_schedule exits 2 "schedule" "$STEPCAST" run "$seed" --schedule gpipe
mkdir "$work/packed"
gzip -c "$seed" >"$work/packed/$(basename "$seed").gz"
check packed_directory "$STEPCAST" run "$work/packed"
"$STEPCAST" run "$seed" --json "$work/a.json" >/dev/null
"$STEPCAST" run "$work/packed" --json "$work/b.json" >/dev/null
check packed_is_the_same sh -c 'grep -q step_time_us "$1/a.json" && test "$(grep step_time_us "$1/a.json" | head -1)" = "$(grep step_time_us "$1/b.json" | head -1)"' sh "$work"
# the shape of a scalar: one element, as [1] is
mkdir "$work/scalar"
sed 's/input__shape=\[1\]/input__shape=[]/' "$seed" >"$work/scalar/$(basename "$seed")"
rm -f "$work/b.json"
"$STEPCAST" run "$work/scalar" --json "$work/b.json" >/dev/null
check shape_of_a_scalar sh -c 'grep -q "shape=\[\]" "$1"/scalar/* && grep -q step_time_us "$1/b.json" && test "$(grep step_time_us "$1/a.json" | head -1)" = "$(grep step_time_us "$1/b.json" | head -1)"' sh "$work"
head -c 1000 "$seed" >"$work/wd4_tp1_pp2_numl4_bs1_rank3_20250318120000.txt"
check cut_file exits 3 "rank3_20250318120000.txt:3:" "$STEPCAST" run "$work/wd4_tp1_pp2_numl4_bs1_rank3_20250318120000.txt"

real=$shared/traces/real/pp4_tp1_exp4_expn8_dp4_nl8_hs4096_sl1024
profile=$shared/traces/profile/pp4_tp1_ep4_expn8_dp4_nl8_hs4096_sl1024
if [ -d "$real" ]; then
    check directory says "the traced step took 670.98 ms" "$STEPCAST" run "$real" --cluster hgx-h800:16
    check here says "hidden 4096" sh -c 'cd "$2" && "$1" run . --cluster hgx-h800:16 --micro-batches 16' sh "$STEPCAST" "$profile"
    check files says "the traced step took 670.98 ms" "$STEPCAST" run "$real"/* --cluster hgx-h800:16
    check order_of_files_does_not_matter sh -c '
        "$1" run "$2"/* --cluster hgx-h800:16 --json - | grep step_time_us >"$3/a"
        "$1" run $(ls -r "$2"/*) --cluster hgx-h800:16 --json - | grep step_time_us >"$3/b"
        test -s "$3/a" && cmp "$3/a" "$3/b"' sh "$STEPCAST" "$real" "$work"
    check half_a_pipeline exits 3 "no trace of stage 2 of 4" "$STEPCAST" run "$real"/*_rank[0-7]_*
    check more_micro_batches "$STEPCAST" run "$real" --cluster hgx-h800:16 --micro-batches 32
else
    for t in directory here files order_of_files_does_not_matter half_a_pipeline more_micro_batches; do echo "skip $t [needs shared]"; done
fi
