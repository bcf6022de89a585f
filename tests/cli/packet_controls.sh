#!/bin/sh
# HPCC-PINT and Swift against a second implementation of their rules, hostile values of their keys, settings files as SimAI
# ships them, and ways that packets choose: flowlets and the shortest queue.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
shared=${STEPCAST_SHARED:-../shared}

. tests/tools/flow_checks

if [ -d "$shared/reference" ]; then
    if python3 -B tests/tools/packet_controls.py "$STEPCAST" "$shared/reference" 16 500 >"$dir/out"; then echo "ok controls-random"; else
        echo "not ok controls-random"
        cat "$dir/out"
    fi
else echo "skip controls-random [needs shared]"; fi

fixture=tests/data/packet/incast_dcqcn
value() { # name exit pattern cc key=value...
    name=$1 want=$2 pattern=$3 cc=$4
    shift 4
    sets=
    for set in "$@"; do sets="$sets --cc-set $set"; done
    check "$name" "$want" "$STEPCAST" flows $fixture/flows.txt --net packet --conf hpcc-100g --topology $fixture/topology.txt --cc "$cc" $sets
    says "$name-says" "$pattern"
}
value pint 0 '^[0-9]' hpcc-pint
value swift 0 '^[0-9]' swift
value pint-base-1 2 'from 1.001 to 2' hpcc-pint PINT_LOG_BASE=1
value pint-base-nan 2 'error' hpcc-pint PINT_LOG_BASE=nan
value pint-never 2 'makes no sense' hpcc-pint PINT_PROB=0
value pint-more-than-always 2 'makes no sense' hpcc-pint PINT_PROB=1.5
value swift-no-target 2 'makes no sense' swift SWIFT_BASE_TARGET=0
value swift-negative 2 'error' swift SWIFT_HOP_TARGET=-1
value swift-no-window 2 'makes no sense' swift SWIFT_MIN_CWND=0
value swift-windows-crossed 3 'SWIFT_MIN_CWND is not below' swift SWIFT_MIN_CWND=5 SWIFT_MAX_CWND=5
value swift-range-crossed 3 'SWIFT_FS_MIN_CWND is not below' swift SWIFT_FS_MIN_CWND=100
value swift-falls-to-nothing 2 'makes no sense' swift SWIFT_MAX_MDF=1
value swift-unknown-key 2 'did you mean SWIFT_BETA' swift SWIFT_BETTA=1
check swift-not-of-uet 2 "$STEPCAST" flows $fixture/flows.txt --net packet --conf uet-100g --topology $fixture/topology.txt --cc swift
# a window far below a packet ends all the same
value swift-smallest 0 '^[0-9]' swift SWIFT_BASE_TARGET=0.001 SWIFT_HOP_TARGET=0 SWIFT_FS_RANGE=0 SWIFT_MAX_CWND=1

# a file as SimAI has it: what it monitors is read, GLOBAL_T 0 is said to be 1 there
sed 's/^GLOBAL_T.*//; s/^SIMULATOR_STOP_TIME.*//; /^$/d' $fixture/config.txt >"$dir/conf"
printf 'GLOBAL_T 0\nSIMULATOR_STOP_TIME 40000000000000.00\nPINT_LOG_BASE 1.05\nPINT_PROB 1.0\nTRACE_NODE 0\nBW_MON_FILE bw.txt\nMON_START 0\nMON_END 20000\nQP_MON_INTERVAL 100\nQLEN_MON_INTERVAL 1\nBW_MON_INTERVAL 1\nRATE_MON_FILE r\nCNP_MON_FILE c\n' >>"$dir/conf"
check simai-conf 0 "$STEPCAST" flows $fixture/flows.txt --net packet --conf "$dir/conf" --topology $fixture/topology.txt --exact
says simai-conf-says 'GLOBAL_T 0 is taken as 1'
grep -v '^#' "$dir/out" | grep '^[0-9]' >"$dir/given"
"$STEPCAST" flows $fixture/flows.txt --net packet --conf $fixture/config.txt --topology $fixture/topology.txt --exact 2>/dev/null | grep '^[0-9]' >"$dir/plain"
if [ -s "$dir/plain" ] && cmp -s "$dir/given" "$dir/plain"; then echo "ok simai-conf-same"; else echo "not ok simai-conf-same"; fi
sed -i 's/GLOBAL_T 0/GLOBAL_T 7/' "$dir/conf"
check simai-conf-nonsense 3 "$STEPCAST" flows $fixture/flows.txt --net packet --conf "$dir/conf" --topology $fixture/topology.txt

# ways: every host of leaf 0 to one of leaf 1, eight spines: 8 x 4 MiB that a good choice does not slow down
python3 -S -c "
for i in range(8): print(i, 8 + (i * 3 + 1) % 8, 4194304, 0)" >"$dir/cross"
for route in ecmp:3 spray adaptive flowlet:1s flowlet:1ns; do
    check "way-$route" 0 "$STEPCAST" flows "$dir/cross" --net packet --fabric ls:8:8 --route $route --cc none --json "$dir/${route%:*}${route#flowlet}.json"
done
if python3 -S - "$dir" <<'PY'
import json, sys
load = lambda name: json.load(open(f"{sys.argv[1]}/{name}.json"))
runs = {name: load(name) for name in ("ecmpecmp:3", "sprayspray", "adaptiveadaptive", "flowlet:1s", "flowlet:1ns")}
def up(run): return {l["name"]: l["bytes"] for l in run["links"] if l["name"].startswith("leaf0-spine")}
packets = 8 * -(-4194304 // 9000)
wire = 8 * 4194304 + 52 * packets
for name, run in runs.items():
    # each packet crosses to a spine once, whatever the way; ACKs go back by another link
    assert sum(up(run).values()) == wire, (name, up(run), wire)
    assert all(f["fct_ns"] for f in run["flows"])
    # and none is faster than its NIC
    assert min(f["received_ns"] for f in run["flows"]) > wire / 8 * 8 / 400
alone = wire / 8 * 8 / 400 + 4 * 500 + 3 * 182
worst = {name: max(f["received_ns"] for f in run["flows"]) for name, run in runs.items()}
# the shortest queue: all spines alike, and hardly any waiting
assert worst["adaptiveadaptive"] < 1.05 * alone, (worst, alone)
assert max(up(runs["adaptiveadaptive"]).values()) < 1.1 * wire / 8
# flowlets that never end are flows: a spine carries whole ones; those of a packet each are all over
assert all(b % (wire / 8) == 0 for b in up(runs["flowlet:1s"]).values()), up(runs["flowlet:1s"])
assert len(up(runs["flowlet:1ns"])) == 8 and max(up(runs["flowlet:1ns"]).values()) < 1.3 * wire / 8
assert worst["flowlet:1ns"] < worst["flowlet:1s"] and worst["adaptiveadaptive"] < worst["ecmpecmp:3"]
PY
then echo "ok ways"; else echo "not ok ways"; fi
# a slow spine has less of the packets in proportion, and all that is left of the network is used
check way-degraded 0 "$STEPCAST" flows "$dir/cross" --net packet --fabric ls:8:8 --route adaptive --cc none --degrade leaf0-spine2=0.25 --json "$dir/j"
if python3 -S - "$dir/j" <<'PY'
import json, sys
run = json.load(open(sys.argv[1]))
up = {l["name"]: l["bytes"] for l in run["links"] if l["name"].startswith("leaf0-spine")}
slow = up.pop("leaf0-spine2")
assert 0.2 < slow / (sum(up.values()) / 7) < 0.35, (slow, up)
PY
then echo "ok way-degraded-share"; else echo "not ok way-degraded-share"; fi
for cc in dcqcn hpcc-pint swift timely dctcp; do
    for route in adaptive flowlet:5us; do
        check "way-$route-$cc" 0 "$STEPCAST" coll alltoall --gpus 32 --cluster "gpu=h100 node=8 nvlink=450GB/s nics=8 nic=400Gbps fabric=fat-tree leaf=8 class=ib" --net packet --cc $cc --route $route -b 4M -e 4M
    done
done
check way-hpcc 2 "$STEPCAST" flows "$dir/cross" --net packet --fabric ls:8:8 --route adaptive --cc hpcc
says way-hpcc-says 'hpcc-pint'
check way-lossy 2 "$STEPCAST" flows "$dir/cross" --net packet --fabric ls:8:8 --route flowlet:1us --cc-set ERROR_RATE_PER_LINK=0.1
check way-flow-engine 2 "$STEPCAST" flows "$dir/cross" --fabric ls:8:8 --route flowlet:1us
says way-flow-engine-says 'needs packets'
for bad in flowlet flowlet: flowlet:0 flowlet:-1us flowlet:2s flowlet:soon adaptive:3; do
    check "way-bad-$(echo $bad | tr -d :)" 2 "$STEPCAST" flows "$dir/cross" --net packet --fabric ls:8:8 --route "$bad"
done

# engines and controls beside each other: each as alone
fat="gpu=h100 node=8 nvlink=450GB/s nics=8 nic=400Gbps fabric=fat-tree leaf=2 oversubscription=2 class=ib"
check coll-compare 0 "$STEPCAST" coll alltoall --gpus 32 --cluster "$fat" --net analytic,flow,packet --cc none,swift -b 1M -e 4M -f 4 --json "$dir/j" --csv "$dir/c"
says coll-compare-table 'analytic *flow *none *swift'
for way in analytic: flow: packet:none packet:swift; do
    cc=${way#*:}
    "$STEPCAST" coll alltoall --gpus 32 --cluster "$fat" --net "${way%:*}" ${cc:+--cc $cc} -b 1M -e 4M -f 4 --json "$dir/${way%:*}$cc.alone" >/dev/null 2>&1
done
if python3 -S - "$dir" <<'PY'
import csv, json, sys
load = lambda name: json.load(open(f"{sys.argv[1]}/{name}"))
ways = load("j")["ways"]
assert [(w["net"], w["cc"]) for w in ways] == [("analytic", None), ("flow", None), ("packet", "none"), ("packet", "swift")]
rows = list(csv.DictReader(open(sys.argv[1] + "/c")))
for way in ways:
    alone = load(f"{way['net']}{way['cc'] or ''}.alone")["rows"]
    assert [(r["size_bytes"], r["time_us"]) for r in way["rows"]] == [(r["size_bytes"], r["time_us"]) for r in alone], way
    mine = [float(r["time_us"]) for r in rows if (r["net"], r["cc"]) == (way["net"], way["cc"] or "")]
    assert mine == [r["time_us"] for r in way["rows"]]
PY
then echo "ok coll-compare-as-alone"; else echo "not ok coll-compare-as-alone"; fi
for bad in "--net flow,quick" "--net flow,," "--net flow,flow" "--net packet --cc dcqcn,quick" "--net packet --cc dcqcn,," "--net flow,analytic --cc none,swift"; do
    check "coll-compare-bad-$(echo "$bad" | tr -cd a-z,)" 2 "$STEPCAST" coll alltoall --gpus 16 --cluster dgx-h100 $bad -b 1M -e 1M
done
# a page of a collective: its messages, links over time, one run for each control
check coll-page 0 "$STEPCAST" coll alltoall --gpus 32 --cluster "$fat" --net flow,packet --cc none,swift -b 1M -e 4M -f 4 --html "$dir/page.html"
if python3 -S - "$dir/page.html" <<'PY'
import json, re, sys
text = open(sys.argv[1]).read()
page = json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', text, re.S).group(1).replace("<\\/", "</"))["results"][0]
assert page["schema"] == "stepcast/packet-page/1" and page["what"].startswith("alltoall of 4.194 MB on 32 GPUs"), page["what"]
assert [run["cc"] for run in page["runs"]] == ["none", "swift"]
nic = 50e9  # bytes/s of a port
for run in page["runs"]:
    # every message is a flow; 24 of 31 others are on other nodes, and nothing is faster than its port
    assert run["count"] == run["ended"] == 32 * 31, run["count"]
    assert run["makespan_ns"] >= 24 / 32 * 4 * 2**20 / nic * 1e9 and min(run["slowdowns"]) >= 1
    ports = [l for l in run["links"] if re.fullmatch(r"port\d+[.](up|down)", l["name"])]
    assert ports and all(0 < l["use"] <= 1 for l in run["links"])
PY
then echo "ok coll-page-says"; else echo "not ok coll-page-says"; fi
check coll-page-needs-packets 2 "$STEPCAST" coll alltoall --gpus 16 --cluster dgx-h100 --net flow -b 1M -e 1M --html "$dir/none.html"
check coll-page-cannot-write 4 "$STEPCAST" coll alltoall --gpus 16 --cluster dgx-h100 --net packet -b 1M -e 1M --html "$dir/no/such/page.html"
# much of a large all-to-all is not simulated, and the answer says so: between what the ports need and 6 % more
check coll-large 0 "$STEPCAST" coll alltoall --gpus 64 --cluster dgx-a100 --net packet -b 1G -e 1G --json "$dir/large.json"
if python3 -S - "$dir/large.json" <<'PY'
import json, re, sys
answer = json.load(open(sys.argv[1]))
least = 56 / 64 * 2**30 / 25e9 * 1e6
assert least < answer["rows"][0]["time_us"] < 1.06 * least, answer["rows"]
note = next(n["text"] for n in answer["notes"] if n["code"] == "packets")
packets = int(re.search(r"(\d+) packets were simulated", note).group(1))
assert packets < 2e6 < 64 * 63 / 64 * 2**30 / 9000, note
PY
then echo "ok coll-large-says"; else echo "not ok coll-large-says"; fi
# what is said of what was not simulated holds: a large ring alone in a step, and one whose senders react, which grows alike up to 384 MiB
step="run --model qwen2.5-0.5b --gpus 16 --zero 1 --cluster dgx-h100"
check bound-of-step 0 "$STEPCAST" $step --net packet --json "$dir/part.json"
check bound-of-step-exact 0 "$STEPCAST" $step --net packet --exact --json "$dir/whole.json"
tree="gpu=h100 node=8 nvlink=450GB/s nics=8 nic=400Gbps fabric=fat-tree leaf=1 oversubscription=2 class=ib"
check bound-of-reactions 0 "$STEPCAST" coll reduce_scatter --gpus 16 --cluster "$tree" --net packet --cc dctcp -b 448M -e 448M --json "$dir/part2.json"
check bound-of-reactions-exact 0 "$STEPCAST" coll reduce_scatter --gpus 16 --cluster "$tree" --net packet --cc dctcp -b 448M -e 448M --exact --json "$dir/whole2.json"
if python3 -S - "$dir/part.json" "$dir/whole.json" "$dir/part2.json" "$dir/whole2.json" <<'PY'
import json, re, sys
def read(name):
    d = json.load(open(name))
    notes = d["input"]["notes"] if "input" in d else d["notes"]
    note = next(n["text"] for n in notes if n["code"] == "packets")
    packets, bound = int(re.search(r"(\d+) packets", note).group(1)), float(re.search(r"within ([0-9.e-]+) %", note).group(1))
    return d["step_time_us"] if "input" in d else d["rows"][0]["time_us"], packets, bound
(part, some, bound), (whole, every, none) = read(sys.argv[1]), read(sys.argv[2])
assert some < every / 2 and none == 0 and 0 < bound < 1, (some, every, bound, none)
assert abs(part / whole - 1) * 100 <= bound, (part, whole, bound)
(part, some, bound), (whole, every, none) = read(sys.argv[3]), read(sys.argv[4])
assert abs(part / whole - 1) * 100 <= bound + 1e-9, (part, whole, bound)
PY
then echo "ok bounds-hold"; else echo "not ok bounds-hold"; fi
# on a torus an ACK may come to another host of the chip than the one that sends, which has to hear of it all the same; and nothing is
# lost where it is paused
torus() { "$STEPCAST" coll alltoall --cluster "$1" -b $2 -e $2 --net flow,packet $3 | awk '!/^#/ {print ($3 >= 0.9 * $2 && $3 < 1.2 * $2)}'; }
chips="gpu=h100 fabric=torus link=50GB/s hop=1us"
if [ "$({ torus "$chips dims=6x5" 4M "--cc nscc"; torus "$chips dims=4x2x4" 4M "--cc nscc"; torus tpu-torus 64M "--gpus 16 --cc none"; } | paste -sd ' ')" = "1 1 1" ]; then echo "ok torus-moves"; else echo "not ok torus-moves"; fi
check torus-circle 3 "$STEPCAST" coll alltoall --cluster tpu-torus:64 -b 64M -e 64M --net packet --cc none
says torus-circle-says 'pauses wait for each other in a circle'
check sweep-controls 0 "$STEPCAST" sweep --model llama3-8b --gpus 16 --tp 8 --cluster dgx-h100 --net packet --axis cc=none,swift --db "$dir/db"
says sweep-controls-says '2 ran'
