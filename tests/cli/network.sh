#!/bin/sh
# not of the program: engine-.*
# Network engines: which one runs, the state of links, topologies read from files,
# and how much work large jobs are.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
shared=${STEPCAST_SHARED:-../shared}

check() { # name expected-exit text-in-the-answer command...
    name=$1 want=$2 text=$3
    shift 3
    "$@" >"$dir/out" 2>"$dir/err"
    rc=$?
    if [ $rc != "$want" ]; then
        echo "not ok $name: exit $rc, not $want"
        cat "$dir/err"
    elif ! grep -q -- "$text" "$dir/out" "$dir/err"; then
        echo "not ok $name: no '$text'"
        cat "$dir/err"
    else echo "ok $name"; fi
}

# ---- a failed link is never used, whatever the collective ----
model="--model llama2-7b --seq 1024 --ignore-memory --gpus 8 --global-batch 8"
check failed-nvlink-run 3 "gpu0.nvlink.out cannot be reached" \
    "$STEPCAST" run $model --net flow --fail gpu0.nvlink.out
for gpus in 8 16; do
    for collective in all_reduce all_gather reduce_scatter broadcast alltoall; do
        check "failed-nvlink-$collective-$gpus" 3 "cannot be reached" \
            "$STEPCAST" coll $collective -c dgx-h100:$gpus --net flow --fail gpu0.nvlink.out
    done
    for algo in ring tree; do
        check "failed-nvlink-$algo-$gpus" 3 "cannot be reached" \
            "$STEPCAST" coll all_reduce -c dgx-h100:$gpus --net flow --algo $algo --fail gpu3.nvlink.in
    done
done
# the smallest size runs over NICs alone, the largest over NVLink: no row may be left out
check failed-nvlink-any-size 3 "cannot be reached" \
    "$STEPCAST" coll all_reduce -c dgx-h100:16 -b 8 -e 1G -f 2 --net flow --fail gpu0.nvlink.out
check near-link 2 "did you mean gpu0.nvlink.out" \
    "$STEPCAST" coll all_reduce -c dgx-h100:8 --net flow --fail gpu0.nvlnk.out

# ---- inside a node NVLink goes first ----
time_us() { # engine, file, and what else
    engine=$1 file=$2
    shift 2
    "$STEPCAST" coll all_gather -c "$file" --gpus 4 -b 512M -e 512M --net "$engine" "$@" --csv - | awk -F, 'NR == 2 {print $5}'
}
# two nodes of four GPUs and an NVSwitch (8, 9), all of them on one leaf (10)
{
    echo "11 4 2 1 16 H100"
    echo "8 9 10"
    for gpu in 0 1 2 3 4 5 6 7; do
        echo "$gpu $((8 + gpu / 4)) 2880Gbps 0.000025ms 0"
        echo "$gpu 10 400Gbps 0.0005ms 0"
    done
} >"$dir/one-leaf"
flow=$(time_us flow "$dir/one-leaf")
analytic=$(time_us analytic "$dir/one-leaf")
if [ -n "$flow" ] && [ "$flow" = "$analytic" ]; then echo "ok nvlink-before-leaf"
else echo "not ok nvlink-before-leaf: $flow, analytic $analytic"; fi
# without NVLink the leaf is a path: 3/4 of 512 MiB through a NIC of 50 GB/s
time_us flow "$dir/one-leaf" --fail 0-8 >"$dir/us"
if awk '{us = $1} END {exit !(us > 0.75 * 536870912 / 50e3 && us < 0.8 * 536870912 / 50e3)}' "$dir/us"; then echo "ok round-a-failed-nvlink"
else echo "not ok round-a-failed-nvlink: $(cat "$dir/us")"; fi
check nvls-over-listed-nvlink 3 "cannot be reached" \
    "$STEPCAST" coll all_reduce -c "$dir/one-leaf" --gpus 4 --algo nvls --net flow --fail 0-8
for file in "$shared"/inputs/topology/Meta_Topo* "$shared"/inputs/topology/Zcube* "$shared"/inputs/topology/DCN+*; do
    [ -f "$file" ] || { echo "skip nvlink-first-$(basename "$file") [needs shared]"; continue; }
    for engine in flow analytic; do
        "$STEPCAST" coll all_gather -c "$file" --gpus 8 -b 512M -e 512M --net $engine --csv - | awk -F, 'NR == 2 {print $5}'
    done | paste -sd ' ' >"$dir/both"
    if awk '{exit !($1 > 0 && $1 == $2)}' "$dir/both"; then echo "ok nvlink-first-$(basename "$file")"
    else echo "not ok nvlink-first-$(basename "$file"): $(cat "$dir/both")"; fi
done

# ---- which engine runs ----
job="run --model llama3-8b --gpus 16 --tp 8 --global-batch 16 --seq 4096 --cluster dgx-h100:16"
check fail-chooses-flow 0 "the flow engine simulates the network" "$STEPCAST" $job --fail leaf0-spine0
check fail-needs-a-link 2 "no link 'leaf0-spine999'" "$STEPCAST" $job --fail leaf0-spine999
check degrade-chooses-flow 0 '"net": "flow"' "$STEPCAST" $job --degrade port0.up=0.5 --json -
check degrade-twice-is-said 0 'has port0.up several times: its factors are multiplied' "$STEPCAST" $job --degrade port0.up=0.5 --degrade port1.up=0.5 --degrade port0.up=0.5
check fail-and-analytic 2 "knows no links" "$STEPCAST" $job --net analytic --fail leaf0-spine0
check fail-and-loggops 2 "two networks" "$STEPCAST" $job --loggops 1,1,1,1 --fail leaf0-spine0
check coll-fail-chooses-flow 3 "cannot be reached" "$STEPCAST" coll all_reduce -c dgx-h100:8 --fail gpu0.nvlink.out
check unknown-engine 2 "one of: analytic, flow, packet, loggops, astra" "$STEPCAST" $job --net slow
check astra-needs-a-file 2 "needs --astra-network" "$STEPCAST" run $model --net astra
check no-argument 2 "unknown 'flow:1'" "$STEPCAST" $job --net flow:1
check coll-loggops 2 "has no time for a collective" "$STEPCAST" coll all_reduce --net loggops

# ---- an engine from outside, through the public headers alone ----
if grep '#include' examples/shared_bus.c | grep -qvE '<(stepcast/[a-z]+|math|stdio|stdlib)\.h>'; then
    echo "not ok engine-example-headers"
else echo "ok engine-example-headers"; fi
if [ -x "$BUILD/examples/shared_bus" ]; then # make builds it, against the public headers alone
    # two messages of 1 GB at once over 25 GB/s: 80 ms and a latency, both
    printf 'num_ranks 2\nrank 0 {\na: send 1000000000b to 1 tag 1\nb: send 1000000000b to 1 tag 2\n}\nrank 1 {\na: recv 1000000000b from 0 tag 1\nb: recv 1000000000b from 0 tag 2\n}\n' >"$dir/two.goal"
    "$BUILD/examples/shared_bus" "$dir/two.goal" 25e9 >"$dir/out" 2>"$dir/err"
    if python3 -S -c "import json,sys; r=json.load(open(sys.argv[1])); sys.exit(not (r['net'] == 'bus' and 80000 < r['step_time_us'] < 80100))" "$dir/out"
    then echo "ok engine-example"; else echo "not ok engine-example"; cat "$dir/err"; fi
    check engine-example-argument 2 "not a rate" "$BUILD/examples/shared_bus" "$dir/two.goal" fast
else
    echo "not ok engine-example-builds"
fi
if command -v c++ >/dev/null; then
    echo '#include <stepcast/engine.h>' >"$dir/x.cc"
    if c++ -Wall -Wextra -Werror -I include -c "$dir/x.cc" -o "$dir/x.o" 2>"$dir/err"; then echo "ok engine-header-c++"
    else echo "not ok engine-header-c++"; cat "$dir/err"; fi
else echo "skip engine-header-c++ [needs command:c++]"; fi

# ---- messages share bandwidth, not latency ----
limit="ulimit -v 4000000"
case ${BUILD:-} in *san*) limit=true ;; esac # sanitizers reserve more than that
messages() { # n messages of 8 bytes from rank 0 to rank 1 at once
    awk -v n="$1" 'BEGIN {
        print "num_ranks 2\nrank 0 {"
        for (i = 0; i < n; i++) print "l" i ": send 8b to 1 tag " i
        print "}\nrank 1 {"
        for (i = 0; i < n; i++) print "l" i ": recv 8b from 0 tag " i
        print "}"
    }' >"$dir/messages.goal"
    ($limit; timeout 60 "$STEPCAST" run "$dir/messages.goal" -c dgx-h100:8 --json - 2>"$dir/err") |
        awk -F'[ ,]+' '/^  "step_time_us"/ {print $3}'
}
one=$(messages 1)
many=$(messages 100)
most=$(messages 40000)
# 40,000 · 8 bytes over 450 GB/s · 0.85 are 0.84 us
if echo "$one $many $most" | awk '{exit !(NF == 3 && $2 < 1.01 * $1 && $3 < $1 + 1.2)}'; then echo "ok messages-share-no-latency"
else echo "not ok messages-share-no-latency: $one, $many, $most us"; fi

# ---- flow and analytic agree where nothing collides ----
step() { "$STEPCAST" run "$@" --json - 2>/dev/null | awk -F'[ ,]+' '/^  "step_time_us"/ {print $3}'; }
agree() { # name, tolerance, and a job
    name=$1 tolerance=$2
    shift 2
    analytic=$(step "$@" --net analytic)
    flow=$(step "$@" --net flow --route spray)
    if echo "$analytic $flow $tolerance" | awk '{d = $2 / $1 - 1; exit !(NF == 3 && d < $3 && d > -$3)}'; then echo "ok $name"
    else echo "not ok $name: analytic $analytic, flow $flow us"; fi
}
agree no-collisions 0.01 --model bloom-7b1 --tp 2 --pp 3 --cp 4 --dp 16 --zero 3 --cluster dgx-b200:384 --global-batch 192 --seq 2048 --ignore-memory

# ---- the use of links counts transfers that nothing can slow down, too ----
# one all-gather of 960 kB by two GPUs: each sends half of it, by LL128, which sends 128 bytes for 120
cat >"$dir/one-gather" <<'EOF'
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 2 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 0
1
attention_layer -1 1000000 ALLGATHER 960000 1000000 NONE 0 1000000 NONE 0 100
EOF
"$STEPCAST" run "$dir/one-gather" --cluster dgx-h100:8 --net flow --json "$dir/links.json" >/dev/null
python3 -S -c '
import json, sys
links = json.load(open(sys.argv[1]))["links"]
want = 96e4 / 2 * 128 / 120
bytes = links[0]["bytes"]
print("ok links-of-merged-transfers" if abs(bytes / want - 1) < 1e-9
      else "not ok links-of-merged-transfers: %g bytes, by hand %g" % (bytes, want))' "$dir/links.json" ||
    echo "not ok links-of-merged-transfers"

# ---- where communication is free, every engine gives the same step ----
free="--model llama3-8b --gpus 16 --tp 2 --pp 2 --global-batch 16 --seq 2048 --ignore-memory --cluster ideal"
for engine in analytic flow; do
    "$STEPCAST" run $free --net $engine --json "$dir/free-$engine" >/dev/null
done
if [ -s "$dir/free-flow" ] &&
    [ "$(grep '"step_time_us"' "$dir/free-flow")" = "$(grep '"step_time_us"' "$dir/free-analytic")" ]; then
    echo "ok free-communication"
else echo "not ok free-communication"; fi
