#!/bin/sh
# Collectives through their schedules, against closed forms made here.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
us() { "$STEPCAST" coll "$@" --csv - | awk -F, 'END { print $5 }'; }
near() { # name, got, wanted: within 1e-6
    if awk "BEGIN { d = $2 - ($3); w = $3; exit !(d * d < 1e-12 * w * w) }"; then echo "ok $1"
    else echo "not ok $1: $2 is not $(awk "BEGIN { print $3 }")"; fi
}

# A full mesh of 8 with links of 50 GiB/s and 500 ns: each pair has a link of its own, so
# reduce-scatter and all-gather take a latency and an eighth of the buffer over it each.
printf 'topology: [ FullyConnected ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n' >"$tmp/full.yml"
for net in analytic flow; do
    near full_mesh_$net "$(us all_reduce -c "$tmp/full.yml" --algo torus --net $net -b 1G -e 1G)" "2 * (0.5 + 1e6 / 50 / 8)"
done

# Broadcast step by step, two nodes of two GPUs, root 0. Channel 0 goes 0 1 | 2 3, channel 1
# goes 0 | 3 2 | 1: two hops between nodes and one inside, half the buffer each. Latencies
# cancel in the difference of two sizes.
pair="gpu=h100 gpus=4 node=2 nics=2 nic=400Gbps nvlink=450GB/s class=ib"
step="--net flow --send-latency 3us"
small=$(us broadcast -c "$pair" $step -b 64M -e 64M)
large=$(us broadcast -c "$pair" $step -b 128M -e 128M)
near broadcast_is_a_chain "$large - $small" "33554432 * (2 / 50e9 + 1 / 450e9) * 1e6"

# GOAL: of a reduce-scatter every rank sends all parts but the one it is to hold.
cat >"$tmp/rs.json" <<'END'
{"schema": "stepcast/ir/1", "workload": {"mesh": {"dp": 5}, "groups": [{"kind": "dp"}],
 "blocks": [{"ops": [{"kind": "collective", "name": "x", "coll": "REDUCESCATTER", "group": 0, "bytes": 1003}]}],
 "programs": [[{"block": 0}]], "classes": [{"program": 0, "rank": 0, "ranks": 5}]}}
END
"$STEPCAST" convert "$tmp/rs.json" --to goal -o "$tmp/rs.goal" >/dev/null 2>&1
check goal_reduce_scatter "$(awk '/^rank/ { r = $2 } / send / { sum[r] += $3 } END { print sum[0], sum[1], sum[2], sum[3], sum[4] }' "$tmp/rs.goal")" \
    "802 802 802 803 803"
