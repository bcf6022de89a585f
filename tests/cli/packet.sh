#!/bin/sh
# stepcast flows --net packet: completion times of an independent simulator and
# of ns-3, to the nanosecond; its answers to bad input.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
shared=${STEPCAST_SHARED:-../shared}

. tests/tools/flow_checks
packets() { # name exit: the files of $dir
    check "$1" "$2" "$STEPCAST" flows "$dir/flows" --net packet --conf "$dir/conf" --topology "$dir/topology" --json -
}

# recorded from packet_mini.py, an independent simulator
python3 -B tests/tools/check_packet.py "$STEPCAST" tests/data/packet/* || echo "not ok packet-fixtures"
# recorded from ns-3; all of them: make check-packet
oracle=$shared/truth/packet_oracle
if [ -d "$oracle" ]; then
    python3 -B tests/tools/check_packet.py "$STEPCAST" $(
        for run in a1sw_100g_hpcc b16_100g_dcqcn b16_100g_dctcp b16_100g_timely b4_400g_hpcc c2_400g_dcqcn e16ar_400g_dcqcn \
            e16arx_100g_hpcc f16_100g_dcqcn h_b2_100g_dcqcnw je2_100g_hpcc je4_400g_timely jinc_100g_dctcp k4_100g_dctcp \
            k16_400g_noccw q_b1_100g_dcqcn q_b1_400g_dctcp; do echo "$oracle/$run"; done
    ) || echo "not ok packet-oracle"
    # random numbers of our own, on runs with ten throws of ns-3 that hardly spread
    python3 -B tests/tools/check_rng.py "$STEPCAST" "$oracle" --seeds 3 \
        --runs b64_400g_dctcp,i_400g_dctcp,b16_100g_dcqcnw,b64_400g_dcqcn || echo "not ok own-random-numbers"
else echo "skip packet-oracle [needs shared]"; fi

# one flow of 64 KiB over one switch: 65*84 + 84 + 47 + 2000, and 2*(4 + 1000) for the ACK
fixture=tests/data/packet/incast_dcqcn
base() {
    cat >"$dir/conf" <<'CONF'
CC_MODE 0
PACKET_PAYLOAD_SIZE 1000
BUFFER_SIZE 32
SIMULATOR_STOP_TIME 1
HAS_WIN 0
VAR_WIN 0
ACK_HIGH_PRIO 0
ERROR_RATE_PER_LINK 0
KMIN_MAP 1 100000000000 400
KMAX_MAP 1 100000000000 1600
PMAX_MAP 1 100000000000 0.2
CONF
    printf '3 1 2\n2\n0 2 100Gbps 1000ns 0\n2 1 100Gbps 1us 0\n' >"$dir/topology"
    printf '1\n0 1 3 100 65536 0\n' >"$dir/flows"
}
base
packets one-flow 0
says one-flow-closed-form '"fct_ns": 9599, "received_ns": 7591, "ideal_ns": 9599'
check one-flow-as-text 0 "$STEPCAST" flows "$dir/flows" --net packet --conf "$dir/conf" --topology "$dir/topology"
says one-flow-as-text-says '^0 1 10000 65536 0 9599$'
base
printf '2\n0 1 3 100 65536 0\n1 0 3 100 65536 0 0\n' >"$dir/flows"
packets waits 0
says waits-begins-when-the-other-ends '"src": 1, "dst": 0, "port": 10000, "bytes": 65536, "start_ns": 9599, "fct_ns": 9599'

# all is lost: said, not endless
base
sed -i 's/1000ns 0/1000ns 1/' "$dir/topology"
packets stuck 0
says stuck-is-null '"fct_ns": null'
says stuck-says 'flows-stuck'
# drawn from a seed: the same twice, and not the same as from another
for seed in 1 1 2; do
    "$STEPCAST" flows $fixture/flows.txt --net packet --rng $seed --conf $fixture/config.txt \
        --topology $fixture/topology.txt --json "$dir/$seed.json" >"$dir/out.$seed" 2>&1
    [ -f "$dir/first" ] || cp "$dir/1.json" "$dir/first"
done
if cmp -s "$dir/first" "$dir/1.json" && ! cmp -s "$dir/first" "$dir/2.json"; then echo "ok seeds"; else echo "not ok seeds"; fi

conf() { # name line pattern: the config with a line replaced or added
    base
    sed -i "/^${2%% *} /d" "$dir/conf"
    echo "$2" >>"$dir/conf"
    packets "$1" 3
    says "$1-says" "$3"
}
conf unknown-key 'PACKET_PAYLOAD_SIZES 1000' 'did you mean PACKET_PAYLOAD_SIZE?'
conf unknown-key-has-its-line 'BUFFER 1' 'conf:12:1: error: unknown key'
conf mtu-0 'PACKET_PAYLOAD_SIZE 0' 'from 1 to'
conf buffer-0 'BUFFER_SIZE 0' 'makes no sense'
conf stop-0 'SIMULATOR_STOP_TIME 0' 'makes no sense'
conf share-over-1 'PMAX_MAP 1 100000000000 1.5' 'makes no sense'
conf no-threshold 'KMIN_MAP 1 25000000000 100' 'no marking thresholds'
conf thresholds-crossed 'KMIN_MAP 1 100000000000 1700' 'over that of KMAX_MAP'
conf control-unknown 'CC_MODE 2' 'is not simulated'
conf control-needs-keys 'CC_MODE 1' 'MIN_RATE is missing'
conf not-simulated 'L2_BACK_TO_ZERO 1' 'L2_BACK_TO_ZERO 0 only'
conf link-down 'LINK_DOWN 1 0 2' 'not simulated'
conf twice 'HAS_WIN 1 1' 'unexpected'
base
sed -i '/CC_MODE/d' "$dir/conf"
packets missing-key 3
says missing-key-says 'CC_MODE is missing'
# 999 B in 19 ns, not 19.98: 950 B are a round trip's worth
base
sed -i 's/HAS_WIN 0/HAS_WIN 1/; s/SIZE 1000/SIZE 999/' "$dir/conf"
printf '2 0 1\n0 1 400Gbps 0ns 0\n' >"$dir/topology"
packets window-below-a-packet 3
says window-below-a-packet-says 'less than one packet'

topology() { # name text pattern
    base
    printf "$2" >"$dir/topology"
    packets "$1" 3
    says "$1-says" "$3"
}
topology empty-topology '' 'the topology is empty'
topology simai-topology '3 1 2 0 4 H100\n' 'not read'
topology no-switch '3 1 2\n7\n' 'id of a switch'
topology cut-topology '3 1 2\n2\n0 2 100Gbps 1us 0\n' 'ends after 1 of 2'
topology no-unit '3 1 2\n2\n0 2 100 1us 0\n2 1 100Gbps 1us 0\n' 'topology:3:5: error: this is no rate'
topology rate-0 '3 1 2\n2\n0 2 0Gbps 1us 0\n2 1 100Gbps 1us 0\n' 'at least 1 Mb/s'
topology two-nics '3 1 3\n2\n0 2 100Gbps 1us 0\n2 1 100Gbps 1us 0\n0 1 100Gbps 1us 0\n' 'has 2 links'
topology not-linked '4 2 2\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n' 'cannot be reached'
topology parallel '3 1 3\n2\n0 2 100Gbps 1us 0\n2 0 100Gbps 1us 0\n2 1 100Gbps 1us 0\n' 'linked already'
topology headroom '3 1 2\n2\n0 2 100Gbps 1us 0\n2 1 100Gbps 100ms 0\n' 'too small for the headroom'

flows() { # name text pattern
    base
    printf "$2" >"$dir/flows"
    packets "$1" 3
    says "$1-says" "$3"
}
flows no-flows '' 'no flow'
flows zero-flows '0\n' 'announced'
flows fewer-flows '2\n0 1 3 100 5 0\n' '1 flows are here'
flows more-flows '1\n0 1 3 100 5 0\n0 1 3 100 5 0\n' 'more flows'
flows to-a-switch '1\n0 2 3 100 5 0\n' 'no such host'
flows to-itself '1\n0 0 3 100 5 0\n' 'comes from'
flows no-bytes '1\n0 1 3 100 0 0\n' 'bytes from 1 on'
flows priority-0 '1\n0 1 0 100 5 0\n' 'from 1 to 7'
flows waits-for-itself '1\n0 1 3 100 5 0 0\n' 'no flow to wait for'
flows plain-flows '0 1 5 0\n' 'number of flows'

# an option has the last word: as if the file said so
with() { # name option value line-of-conf...
    name=$1 option=$2 value=$3
    shift 3
    base
    sed -i 's/HAS_WIN 0/HAS_WIN 1/' "$dir/conf"
    printf 'RATE_AI 40Mb/s\nMIN_RATE 100Mb/s\nU_TARGET 0.95\nMI_THRESH 0\nINT_MULTI 1\nFAST_REACT 1\n' >>"$dir/conf"
    "$STEPCAST" flows "$dir/flows" --net packet --conf "$dir/conf" --topology "$dir/topology" >"$dir/plain"
    "$STEPCAST" flows "$dir/flows" --net packet --conf "$dir/conf" --topology "$dir/topology" "$option" "$value" >"$dir/given"
    sed -i "/^${1%% *} /d" "$dir/conf"
    echo "$1" >>"$dir/conf"
    "$STEPCAST" flows "$dir/flows" --net packet --conf "$dir/conf" --topology "$dir/topology" >"$dir/said"
    if cmp -s "$dir/given" "$dir/said" && ! cmp -s "$dir/given" "$dir/plain"; then echo "ok $name"; else echo "not ok $name"; fi
}
with cc-option --cc hpcc 'CC_MODE 3'
with mtu-option --mtu 4096 'PACKET_PAYLOAD_SIZE 4096'
with cc-set-option --cc-set ERROR_RATE_PER_LINK=1 'ERROR_RATE_PER_LINK 1'
# a built-in network is what the recorded runs of its profile were made with
for profile in hpcc-100g:100g simai-400g:400g; do
    for cc in none:noccw dcqcn:dcqcn hpcc:hpcc timely:timely dctcp:dctcp; do
        run=$oracle/b4_${profile#*:}_${cc#*:}
        [ -d "$run" ] || { echo "skip network-${profile%:*}-${cc%:*} [needs shared]"; continue; }
        "$STEPCAST" flows "$run/flows.txt" --net packet --topology "$run/topology.txt" --conf "${profile%:*}" --cc "${cc%:*}" |
            awk '!/^#/ {print $1, $2, $3, $4, $5, $6}' >"$dir/named"
        awk '!/^#/ {print $1, $2, $3, $4, $5, $6}' "$run/fct.txt" >"$dir/recorded"
        if cmp -s "$dir/named" "$dir/recorded"; then echo "ok network-${profile%:*}-${cc%:*}"; else echo "not ok network-${profile%:*}-${cc%:*}"; fi
    done
done
base
check network-alone 0 "$STEPCAST" flows "$dir/flows" --net packet --topology "$dir/topology" --conf hpcc-100g --cc none
says network-alone-closed-form '^0 1 10000 65536 0 9599$'
check network-needs-cc 2 "$STEPCAST" flows "$dir/flows" --net packet --topology "$dir/topology" --conf hpcc-100g
option() { # name pattern options...
    name=$1 pattern=$2
    shift 2
    base
    check "$name" 2 "$STEPCAST" flows "$dir/flows" --net packet --conf "$dir/conf" --topology "$dir/topology" "$@"
    says "$name-says" "$pattern"
}
option cc-unknown 'swift' --cc swiftly
option mtu-option-0 'makes no sense' --mtu 0
option buffer-option-0 'makes no sense' --buffer 0
option cc-set-unknown 'did you mean RATE_AI' --cc-set RATE_AJ=1Mb/s
option cc-set-no-value 'not KEY=VALUE' --cc-set RATE_AI
option cc-set-no-effect 'no effect' --cc-set QMON=1
option cc-set-too-much 'unexpected' --cc-set 'HAS_WIN=1 1'
option cc-set-and-mtu 'contradicts --mtu' --mtu 1000 --cc-set PACKET_PAYLOAD_SIZE=100
option cc-set-and-cc 'contradicts --cc, which says CC_MODE' --cc dcqcn --cc-set CC_MODE=3
option cc-set-twice 'contradicts --cc-set' --cc-set RATE_AI=50Mb/s --cc-set RATE_AI=40Mb/s

base
check no-conf 2 "$STEPCAST" flows "$dir/flows" --net packet --topology "$dir/topology"
check bad-net 2 "$STEPCAST" flows "$dir/flows" --net packets
check bad-rng 2 "$STEPCAST" flows "$dir/flows" --net packet --conf "$dir/conf" --topology "$dir/topology" --rng dice
check fabric-and-topology 2 "$STEPCAST" flows "$dir/flows" --net packet --conf "$dir/conf" --topology "$dir/topology" --fabric ls:8:8
check route-with-packets 2 "$STEPCAST" flows "$dir/flows" --net packet --conf "$dir/conf" --topology "$dir/topology" --route ecmp
check conf-without-packets 2 "$STEPCAST" flows "$dir/flows" --fabric ls:8:8 --conf "$dir/conf"
check no-file 3 "$STEPCAST" flows "$dir/flows" --net packet --conf "$dir/none" --topology "$dir/topology"

# what links saw: the same in totals, series and CSV; 4:1 fills the last link
run() { "$STEPCAST" flows $fixture/flows.txt --net packet --conf $fixture/config.txt --topology $fixture/topology.txt "$@"; }
run --samples 50 --links "$dir/links.csv" --json "$dir/links.json" >/dev/null 2>&1
run --samples 50 --links - >"$dir/links.out"
check links-to-stdout 0 cmp "$dir/links.csv" "$dir/links.out"
run --html - >"$dir/page.html"
check page-to-stdout 0 test "$(head -c 15 "$dir/page.html")" = '<!doctype html>' -a "$(tail -n 1 "$dir/page.html")" = '</html>'
check links-and-json-to-stdout 2 "$STEPCAST" flows $fixture/flows.txt --net packet --conf $fixture/config.txt --topology $fixture/topology.txt --links - --json -
if python3 -S - "$dir/links.json" "$dir/links.csv" <<'PY'
import csv, json, sys
answer = json.load(open(sys.argv[1]))
series = answer["series"]
assert 25 <= series["count"] <= 50 and series["interval_ns"] * series["count"] >= answer["makespan_ns"]
rows = list(csv.DictReader(open(sys.argv[2])))
totals = {(l["from"], l["to"]): l for l in answer["links"]}
assert answer["counters"]["marks"] == sum(l["marks"] for l in answer["links"]) > 0
for link in series["links"]:
    total = totals[link["from"], link["to"]]
    assert len(link["use"]) == series["count"] and max(link["use"]) <= 1
    assert sum(link["marks"]) == total["marks"] and max(link["queue_bytes"]) == total["peak_queue_bytes"]
    mine = [r for r in rows if (int(r["from"]), int(r["to"])) == (link["from"], link["to"])]
    assert abs(sum(float(r["use"]) for r in mine) - sum(link["use"])) < 1e-3
for flow in answer["flows"]:
    assert flow["fct_ns"] is None or abs(flow["slowdown"] - flow["fct_ns"] / flow["ideal_ns"]) < 1e-9
PY
then echo "ok links"; else echo "not ok links"; fi
# slowdowns: none below 1, on any path and with any control
awk 'BEGIN { srand(5); for (i = 0; i < 60; i++) { a = int(rand() * 16); b = (a + 1 + int(rand() * 15)) % 16
    print a, b, int(exp(rand() * 15)) + 1, rand() * 1e-5 } }' >"$dir/list"
for way in "" "--route spray" "--route adaptive" "--cc swift" "--cc hpcc" "--cc nscc" "--cc rccc --route dmodk"; do
    # shellcheck disable=SC2086
    "$STEPCAST" flows "$dir/list" --net packet --fabric dgx-h100 $way --json "$dir/slow.json" >/dev/null 2>&1
    if python3 -S -c '
import json, sys
slow = [f["slowdown"] for f in json.load(open(sys.argv[1]))["flows"]]
assert len(slow) == 60 and 1 <= min(slow) < 1.1 < max(slow), (min(slow), max(slow))' "$dir/slow.json"
    then echo "ok slowdowns-at-least-1 $way"; else echo "not ok slowdowns-at-least-1 $way"; fi
    rm -f "$dir/slow.json"
done
# small frames take no ns on NVLink: their ports have spans nonetheless
echo '0 1 1 0' >"$dir/list"
check less-than-a-ns 0 "$STEPCAST" flows "$dir/list" --net packet --fabric dgx-h100 --samples 20 --json -
says less-than-a-ns-says '"use": \[0'
# packets smaller than a unit of credit end as well
echo '0 9 2000 0' >"$dir/list"
for cc in rccc nscc-rccc; do
    check "small-packets-$cc" 0 timeout 20 "$STEPCAST" flows "$dir/list" --net packet --fabric dgx-h100 --cc $cc --mtu 1 --json -
    says "small-packets-$cc-end" '"stuck": 0'
done
# several controls: each as alone
for cc in dcqcn hpcc; do
    "$STEPCAST" flows $fixture/flows.txt --net packet --conf hpcc-100g --topology $fixture/topology.txt --cc $cc --json "$dir/$cc.json" >/dev/null 2>&1
done
check controls 0 "$STEPCAST" flows $fixture/flows.txt --net packet --conf hpcc-100g --topology $fixture/topology.txt --cc dcqcn,hpcc --json "$dir/both.json"
says controls-table '^packet  hpcc '
if python3 -S - "$dir/both.json" "$dir/dcqcn.json" "$dir/hpcc.json" <<'PY'
import json, sys
both, *alone = (json.load(open(f)) for f in sys.argv[1:])
assert [c["cc"] for c in both["controls"]] == ["dcqcn", "hpcc"]
for row, one in zip(both["controls"], alone):
    assert row["fct_ns"] == [f["fct_ns"] for f in one["flows"]] and row["slowdown"] == one["slowdown"]
PY
then echo "ok controls-as-alone"; else echo "not ok controls-as-alone"; fi
check controls-unknown 2 "$STEPCAST" flows $fixture/flows.txt --net packet --conf hpcc-100g --topology $fixture/topology.txt --cc dcqcn,quick
check controls-empty 2 "$STEPCAST" flows $fixture/flows.txt --net packet --conf hpcc-100g --topology $fixture/topology.txt --cc dcqcn,,hpcc
check controls-links 2 "$STEPCAST" flows $fixture/flows.txt --net packet --conf hpcc-100g --topology $fixture/topology.txt --cc dcqcn,hpcc --links "$dir/x.csv"
for bad in 0 1 -4 many 1000000000; do
    check "samples-$bad" 2 "$STEPCAST" flows $fixture/flows.txt --net packet --conf hpcc-100g --topology $fixture/topology.txt --cc hpcc --samples $bad
done
check links-without-packets 2 "$STEPCAST" flows "$dir/flows" --fabric ls:8:8 --links "$dir/x.csv"

# Ultra Ethernet: last completions that its simulator publishes
python3 -B tests/tools/check_uet.py "$STEPCAST" || echo "not ok uet"
# 490 packets on one path, one switch: as any transport, (n - 1 + k)·332 + 160 + 2·1000 there, 2·(5 + 1000) back
base
printf '1\n0 1 3 100 2000000 0\n' >"$dir/flows"
uet() { # name exit pattern options...
    name=$1 want=$2 pattern=$3
    shift 3
    check "$name" "$want" "$STEPCAST" flows "$dir/flows" --net packet --conf uet-100g --topology "$dir/topology" "$@"
    says "$name-says" "$pattern"
}
uet uet-one-flow 0 '^0 1 10000 2000000 0 166850$' --cc nscc --cc-set UET_PATHS=1
# its own control where none is asked for: the same collective with its name, and another time than credit gives it
uet uet-usual-control 0 '^0 1 10000 2000000 0 166850$' --cc-set UET_PATHS=1
for cc in "" nscc rccc; do
    "$STEPCAST" coll alltoall --gpus 16 --cluster dgx-h100 --net packet --conf uet-100g ${cc:+--cc $cc} -b 1M -e 1M --csv "$dir/usual$cc" >/dev/null 2>&1
done
if cmp -s "$dir/usual" "$dir/usualnscc" && ! cmp -s "$dir/usual" "$dir/usualrccc"
then echo "ok uet-usual-engine"; else echo "not ok uet-usual-engine"; fi
# links that lose packets: they are sent again, and all ends
sed -i 's/1000ns 0/1000ns 0.01/; s/1us 0/1us 0.01/' "$dir/topology"
for cc in nscc rccc nscc-rccc; do
    uet "uet-lossy-$cc" 0 '"stuck": 0' --cc $cc --json -
    says "uet-lossy-$cc-ends" '"cut_off": 0'
done
# credit that is lost is asked for again
sed -i 's/0.01/0.3/' "$dir/topology"
for cc in nscc rccc nscc-rccc; do
    uet "uet-very-lossy-$cc" 0 '"stuck": 0' --cc $cc --json -
    says "uet-very-lossy-$cc-ends" '"cut_off": 0'
done
sed -i 's/0.3/1/' "$dir/topology"
uet uet-all-lost 0 'had not ended' --cc nscc --cc-set SIMULATOR_STOP_TIME=0.01
base
uet uet-paths-3 3 'power of two' --cc nscc --cc-set UET_PATHS=3
uet uet-paths-0 2 'makes no sense' --cc nscc --cc-set UET_PATHS=0
uet uet-queue-0 2 'makes no sense' --cc rccc --cc-set UET_QUEUE=0
uet uet-marks-crossed 3 'over UET_MARK_ALL' --cc nscc --cc-set UET_MARK_FROM=0.9
uet uet-has-no-hpcc 2 'it has: nscc, rccc, nscc-rccc' --cc hpcc
uet uet-mtu-0 2 'makes no sense' --cc nscc --mtu 0
check uet-needs-its-keys 3 "$STEPCAST" flows "$dir/flows" --net packet --conf "$dir/conf" --topology "$dir/topology" --cc nscc
says uet-needs-its-keys-says 'UET_PATHS is missing'
# as an engine: one collective alone is what the model says, within 3 % and two round trips
for cc in nscc rccc nscc-rccc; do
    check "uet-engine-$cc" 0 "$STEPCAST" coll alltoall --gpus 16 --cluster dgx-h100 --net packet --cc $cc -b 16M -e 16M --json "$dir/j"
    "$STEPCAST" coll alltoall --gpus 16 --cluster dgx-h100 -b 16M -e 16M --json "$dir/k" >/dev/null 2>&1
    if python3 -S -c "import json,sys; a,b=(json.load(open(f))['rows'][0]['time_us'] for f in sys.argv[1:]); sys.exit(not b*0.97 < a < b*1.03 + 28)" "$dir/j" "$dir/k"
    then echo "ok uet-engine-$cc-agrees"; else echo "not ok uet-engine-$cc-agrees"; fi
    rm -f "$dir/j" "$dir/k"
done
check uet-engine-lossy 0 "$STEPCAST" coll all_gather --gpus 16 --cluster dgx-h100 --net packet --cc nscc --cc-set ERROR_RATE_PER_LINK=0.001 -b 1M -e 1M

# flows on a fabric: one over three switches at 400 Gb/s and 500 ns, 112 packets of 9052 B and the rest by the closed form, in
# ns that are not cut: (111 + 3)·181.04 + 21.9 there; and nothing in the way beside what max-min says of it
printf '0 8 1000000 0\n' >"$dir/one"
check on-fabric 0 "$STEPCAST" flows "$dir/one" --net packet --fabric ls:8:8 --cc none --json "$dir/one.json"
if python3 -S - "$dir/one.json" <<'PY'
import json, sys
flow, = json.load(open(sys.argv[1]))["flows"]
there = (111 + 3) * 9052 * 8 / 400 + (1000000 - 111 * 9000 + 52) * 8 / 400 + 4 * 500
assert abs(flow["received_ns"] - there) < 5, (flow, there)
assert abs(flow["fct_ns"] - there - 4 * (500 + 60 * 8 / 400)) < 9, (flow, there)
PY
then echo "ok on-fabric-closed-form"; else echo "not ok on-fabric-closed-form"; fi
python3 -S -c "
for i in range(16):
    for k in range(1, 16): print(i, (i + k) % 16, 262144, 0)" >"$dir/all"
for fabric in ls:8:8 ft3:4:2:4:4:16 dgx-h100 gb200-nvl72 dgx-a100 frontier hpn tpu-torus; do
    check "on-$fabric" 0 "$STEPCAST" flows "$dir/all" --net flow,packet --fabric $fabric --route spray --cc none,dcqcn --json "$dir/j"
    # what goes over links has headers and delays, and nothing is faster than links allow
    if python3 -S - "$dir/j" <<'PY'
import json, sys
rows = json.load(open(sys.argv[1]))["controls"]
assert [(r["net"], r["cc"]) for r in rows] == [("packet", "none"), ("packet", "dcqcn"), ("flow", None)]
share = rows[2]["makespan_ns"]
for row in rows[:2]:
    assert not row["stuck"] and not row["cut_off"]
    assert share < row["makespan_ns"] < 1.6 * share + 50e3, (row["makespan_ns"], share)
PY
    then echo "ok on-$fabric-not-faster-than-links"; else echo "not ok on-$fabric-not-faster-than-links"; fi
done
check uet-on-fabric 0 "$STEPCAST" flows "$dir/all" --net flow,packet --fabric gb200-nvl72 --conf uet-100g --cc nscc,rccc,nscc-rccc
says uet-on-fabric-says '^flow '
check on-fabric-links 0 "$STEPCAST" flows "$dir/all" --net packet --fabric dgx-h100 --links "$dir/l.csv" --json "$dir/j"
says on-fabric-links-ends 'the last ends'
if grep -q 'gpu0.nvlink.out' "$dir/j"; then echo "ok on-fabric-links-have-names"; else echo "not ok on-fabric-links-have-names"; fi
check on-fabric-failed 0 "$STEPCAST" flows "$dir/all" --net packet --fabric ls:8:8 --fail leaf0-spine0
printf '0 0 5 0\n' >"$dir/one"
check on-fabric-itself 3 "$STEPCAST" flows "$dir/one" --net packet --fabric ls:8:8
printf '0 1 0 0\n' >"$dir/one"
check on-fabric-no-bytes 3 "$STEPCAST" flows "$dir/one" --net packet --fabric ls:8:8
printf '0 1 1e30 0\n' >"$dir/one"
check on-fabric-too-many-bytes 3 "$STEPCAST" flows "$dir/one" --net packet --fabric ls:8:8
printf '0 1 5 1e30\n' >"$dir/one"
check on-fabric-too-late 3 "$STEPCAST" flows "$dir/one" --net packet --fabric ls:8:8
printf '0 8 1000000 0\n' >"$dir/one"
check on-fabric-both-links 2 "$STEPCAST" flows "$dir/one" --net flow,packet --fabric ls:8:8 --links "$dir/x.csv"
check on-fabric-check 2 "$STEPCAST" flows "$dir/one" --net packet --fabric ls:8:8 --check 0.1
check on-fabric-steps 2 "$STEPCAST" flows "$dir/one" --net packet --fabric ls:8:8 --send-latency 3us
check on-fabric-twice 2 "$STEPCAST" flows "$dir/one" --net packet,packet --fabric ls:8:8
check on-fabric-lossy-spray 2 "$STEPCAST" flows "$dir/one" --net packet --fabric ls:8:8 --route spray --cc-set ERROR_RATE_PER_LINK=0.1
check both-need-a-fabric 2 "$STEPCAST" flows "$dir/one" --net flow,packet

# the engine: on a cluster, in coll, run and with several jobs
for cc in none dcqcn hpcc timely dctcp; do
    check "engine-coll-$cc" 0 "$STEPCAST" coll all_reduce --gpus 16 --cluster dgx-h100 --net packet --cc $cc -b 64K -e 1M -f 16
done
check engine-run 0 "$STEPCAST" run --model llama3-8b --gpus 16 --tp 8 --cluster dgx-h100 --net packet --json "$dir/j"
"$STEPCAST" run --model llama3-8b --gpus 16 --tp 8 --cluster dgx-h100 --net packet -j 2 --json "$dir/k" >/dev/null 2>&1
"$STEPCAST" run --model llama3-8b --gpus 16 --tp 8 --cluster dgx-h100 --net flow --json "$dir/l" >/dev/null 2>&1
if python3 -S - "$dir/j" "$dir/k" "$dir/l" <<'PY'
import json, sys
a, b, flow = (json.load(open(f)) for f in sys.argv[1:])
for x in (a, b): x.pop("command")
assert a == b and a["net"] == "packet" and a["links"]
# rails of one leaf: nothing is in the way of anything
assert abs(a["step_time_us"] / flow["step_time_us"] - 1) < 0.01, (a["step_time_us"], flow["step_time_us"])
PY
then echo "ok engine-run-as-flow"; else echo "not ok engine-run-as-flow"; fi
# one large collective alone on a fabric that blocks nothing: three engines within 3 %
for cluster in dgx-h100 dgx-a100 gb200-nvl72; do
    for op in all_reduce all_gather alltoall; do
        for net in analytic flow packet; do
            spray=
            [ $net = analytic ] || spray="--route spray"
            "$STEPCAST" coll $op --gpus 16 --cluster $cluster --net $net $spray -b 256M -e 256M --json "$dir/$net.json" >/dev/null 2>"$dir/err"
        done
        if python3 -S - "$dir" <<'PY'
import json, sys
times = [json.load(open(f"{sys.argv[1]}/{net}.json"))["rows"][0]["time_us"] for net in ("analytic", "flow", "packet")]
assert max(times) < 1.03 * min(times), times
PY
        then echo "ok agree-$cluster-$op"; else echo "not ok agree-$cluster-$op"; cat "$dir/err"; fi
        rm -f "$dir/analytic.json" "$dir/flow.json" "$dir/packet.json"
    done
done
check engine-ideal 0 "$STEPCAST" run --model llama3-8b --gpus 16 --tp 8 --cluster ideal --net packet
check engine-fail 0 "$STEPCAST" coll all_gather --gpus 64 --cluster "gpu=h100 node=8 nvlink=450GB/s nics=8 nic=400Gbps fabric=fat-tree leaf=2 class=ib" --net packet -b 1M -e 1M --fail leaf0-spine0
for bad in "--cc swiftly" "--mtu 0" "--buffer 0" "--cc-set NO_KEY=1" "--rng dice" "--mtu 9000000" "--cc-set HAS_WIN=1 --mtu 65455 --send-latency 1ns --cc-set BUFFER_SIZE=0"; do
    check "engine-bad-$(echo "$bad" | tr -cd a-z0-9)" 2 "$STEPCAST" coll all_reduce --gpus 16 --cluster dgx-h100 --net packet -b 1M -e 1M $bad
done
check engine-small-buffer 3 "$STEPCAST" coll all_reduce --gpus 64 --cluster "gpu=h100 node=8 nvlink=450GB/s nics=8 nic=400Gbps fabric=fat-tree leaf=8 class=ib switch-latency=5us" --net packet --buffer 1 -b 1M -e 1M
says engine-small-buffer-says 'too small for the headroom'
check engine-no-conf 3 "$STEPCAST" coll all_reduce --gpus 16 --cluster dgx-h100 --net packet --conf "$dir/none" -b 1M -e 1M
# lost for good is said, not waited for
check engine-stuck 3 "$STEPCAST" coll alltoall --gpus 64 --cluster "gpu=h100 node=8 nvlink=450GB/s nics=8 nic=400Gbps fabric=fat-tree leaf=8 class=ib" --net packet --cc none --cc-set HAS_WIN=0 --cc-set ENABLE_PFC=0 --buffer 16 --send-latency 1us -b 64M -e 64M
says engine-stuck-says 'stuck'
check engine-unused 0 "$STEPCAST" run --model llama3-8b --gpus 16 --tp 8 --cluster dgx-h100 --cc hpcc
says engine-unused-says 'no effect without --net packet'
# a pipeline: messages of stages overlap, and what ends in one place starts something in another
"$STEPCAST" run --model llama3-8b --gpus 32 --tp 8 --pp 4 --micro-batches 8 --cluster dgx-h100 --net packet --json "$dir/j" >/dev/null 2>"$dir/err"
"$STEPCAST" run --model llama3-8b --gpus 32 --tp 8 --pp 4 --micro-batches 8 --cluster dgx-h100 --net flow --json "$dir/l" >/dev/null 2>&1
if python3 -S -c "import json,sys; a,b=(json.load(open(f))['step_time_us'] for f in sys.argv[1:]); sys.exit(abs(a/b-1)>0.01)" "$dir/j" "$dir/l"
then echo "ok engine-pipeline"; else echo "not ok engine-pipeline"; cat "$dir/err"; fi

# pages: what they show is held against the JSON by tests/page
printf '1 0 100000 0\n2 0 100000 0\n' >"$dir/two"
if "$STEPCAST" flows "$dir/two" --net packet --fabric ls:8:2 --html "$dir/page.html" >/dev/null 2>"$dir/err"; then
    check page-of-controls 0 "$STEPCAST" flows "$dir/two" --net flow,packet --fabric ls:8:2 --cc dcqcn,hpcc --samples 2 --html "$dir/page.html"
    check page-of-many-intervals 0 "$STEPCAST" flows "$dir/two" --net packet --fabric ls:8:2 --samples 100000 --html "$dir/page.html"
    if [ "$(wc -c <"$dir/page.html")" -lt 1500000 ]; then echo "ok page-is-small"; else echo "not ok page-is-small"; fi
    # a step's page has its transfers: as many bytes as messages of them carry, of as many GPUs as there are
    step="run --model llama3-8b --layers 2 --gpus 16 --tp 8 --cluster dgx-h100"
    check page-of-step 0 "$STEPCAST" $step --net packet --html "$dir/page.html"
    if python3 -S - "$dir/page.html" <<'PY'
import json, re, sys
data = json.loads(re.search(r'<script[^>]*id="?data"?[^>]*>(.*?)</script>', open(sys.argv[1]).read(), re.S).group(1))
step, packets = data["results"]
assert packets["schema"] == "stepcast/packet-page/1" and packets["of"] == "transfer" and step["step_time_us"] > 0
assert 1 < len(packets["runs"]) <= 6
for run in packets["runs"]:
    # the longest of its flows ends with the transfer, and none is faster than it can be
    assert run["ended"] == run["count"] and max(run["fct_ns"]) <= run["makespan_ns"] and min(run["slowdowns"]) >= 1, run["cc"]
    assert run["links"] and all(0 < l["use"] <= 1 for l in run["links"]), run["cc"]
    assert re.match(r"(ALL|RED|BRO|mes).* of [0-9.]+ .?B", run["cc"]), run["cc"]
PY
    then echo "ok page-of-step-transfers"; else echo "not ok page-of-step-transfers"; fi
    check page-of-flow-step 0 "$STEPCAST" $step --net flow --html "$dir/page.html"
    if python3 -S -c "import json,re,sys; d=json.loads(re.search(r'<script[^>]*id=\"?data\"?[^>]*>(.*?)</script>', open(sys.argv[1]).read(), re.S).group(1)); sys.exit(len(d['results']) != 1)" "$dir/page.html"
    then echo "ok page-of-flow-step-alone"; else echo "not ok page-of-flow-step-alone"; fi
else
    echo "skip page-of-packets [needs page]"
fi
check page-without-packets 2 "$STEPCAST" flows "$dir/two" --fabric ls:8:2 --html "$dir/x.html"
says page-without-packets-says 'works with --net packet alone'
