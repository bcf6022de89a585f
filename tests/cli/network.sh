#!/bin/sh
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
if awk '{exit !($1 > 0.75 * 536870912 / 50e3 && $1 < 0.8 * 536870912 / 50e3)}' "$dir/us"; then echo "ok round-a-failed-nvlink"
else echo "not ok round-a-failed-nvlink: $(cat "$dir/us")"; fi
check nvls-over-listed-nvlink 3 "cannot be reached" \
    "$STEPCAST" coll all_reduce -c "$dir/one-leaf" --gpus 4 --algo nvls --net flow --fail 0-8
for file in "$shared"/inputs/topology/Meta_Topo* "$shared"/inputs/topology/Zcube* "$shared"/inputs/topology/DCN+*; do
    [ -f "$file" ] || { echo "skip nvlink-first-$(basename "$file")"; continue; }
    for engine in flow analytic; do
        "$STEPCAST" coll all_gather -c "$file" --gpus 8 -b 512M -e 512M --net $engine --csv - | awk -F, 'NR == 2 {print $5}'
    done | paste -sd ' ' >"$dir/both"
    if awk '{exit !($1 > 0 && $1 == $2)}' "$dir/both"; then echo "ok nvlink-first-$(basename "$file")"
    else echo "not ok nvlink-first-$(basename "$file"): $(cat "$dir/both")"; fi
done
