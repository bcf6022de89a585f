#!/bin/sh
# Chakra, Kineto and GOAL on the command line: read, run, written, refused.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
shared=${STEPCAST_SHARED:-../shared}
seed=tests/data/seed_004.txt
. tests/tools/expect
step() { "$STEPCAST" run "$@" --json - | sed -n 's/^ *"step_time_us": \(.*\),$/\1/p' | head -1; }

# A workload and the traces made of it take the same time on a free network.
plain=$(step $seed --gpus 64 --cluster ideal)
expect to_chakra 0 "chakra, from" "$STEPCAST" convert $seed --gpus 64 --to chakra -o "$tmp/et"
check chakra_step "$(step "$tmp/et" --cluster ideal)" "$plain"
expect chakra_show 0 "Chakra execution trace" "$STEPCAST" show "$tmp/et"
expect to_goal 0 "goal, from" "$STEPCAST" convert $seed --gpus 64 --to goal -o "$tmp/w.goal"
expect to_goal_binary 0 "goal, from" "$STEPCAST" convert $seed --gpus 64 --to goal -o "$tmp/w.bin"
check goal_text_and_binary "$(step "$tmp/w.goal" --loggops 3700,200,5,0.02)" "$(step "$tmp/w.bin" --loggops 3700,200,5,0.02)"
expect chakra_to_goal 0 "goal, from" "$STEPCAST" convert "$tmp/et" --to goal -o "$tmp/again.bin"
check goal_by_chakra "$(cksum <"$tmp/again.bin")" "$(cksum <"$tmp/w.bin")"
expect goal_to_stdout 2 "needs a place" "$STEPCAST" convert $seed --to goal
expect bad_loggops 2 "not a LogGOPS description" "$STEPCAST" run "$tmp/w.goal" --loggops 1,2
expect compat_needs_network 2 "--astra-network" "$STEPCAST" run "$tmp/et" --compat astra
expect chakra_flow 0 "step time" "$STEPCAST" run "$tmp/et" --net flow
expect messages_are_named 0 "exposed p2p" "$STEPCAST" run "$tmp/et"
expect no_pipeline_no_bubble 0 "waiting for messages" "$STEPCAST" run "$tmp/et"
expect html 0 "" "$STEPCAST" run "$tmp/et" --html "$tmp/page.html"
expect trace 0 "" "$STEPCAST" run "$tmp/w.goal" --trace "$tmp/trace.json"

# Damage is an error that names the file.
cp -r "$tmp/et" "$tmp/bad"
rm "$tmp/bad/workload.5.et"
expect missing_rank 3 "the file of rank 5 is missing" "$STEPCAST" run "$tmp/bad"
cp "$tmp/et/workload.5.et" "$tmp/bad/"
head -c 1000 "$tmp/et/workload.3.et" >"$tmp/bad/workload.3.et"
expect cut_chakra 3 "workload.3.et" "$STEPCAST" run "$tmp/bad"
head -c 5000 "$tmp/w.goal" >"$tmp/cut.goal"
expect cut_goal 3 "cut.goal:" "$STEPCAST" run "$tmp/cut.goal"
head -c 5000 "$tmp/w.bin" >"$tmp/cut.bin"
expect cut_goal_binary 3 "cut.bin:byte" "$STEPCAST" run "$tmp/cut.bin"

# Written files are what the schema says.
if command -v protoc >/dev/null 2>&1; then
    decoded=$(python3 -S - "$tmp/et/workload.0.et" "$tmp" <<'PY'
import subprocess, sys
data, i, ok = open(sys.argv[1], "rb").read(), 0, 0
messages = []
while i < len(data):
    n = shift = 0
    while True:
        c = data[i]; i += 1
        n |= (c & 127) << shift; shift += 7
        if c < 128: break
    messages.append(data[i:i + n]); i += n
def decode(kind, m):
    p = subprocess.run(["protoc", "-Ilib/frontend/chakra", "--decode=ChakraProtoMsg." + kind, "chakra.proto"], input=m, capture_output=True)
    text = p.stdout.decode()
    import re
    return p.returncode == 0 and not re.search(r"^\s*\d+[:{ ]", text, re.M) and text
assert 'version: "0.0.4"' in decode("GlobalMetadata", messages[0])
for m in messages[1:25]:
    text = decode("Node", m)
    assert text and "type: " in text and "stepcast_stream" in text
    ok += 1
print(ok)
PY
)
    check protoc_decode "$decoded" 24
else echo "skip protoc_decode [needs command:protoc]"; fi

# A ring of 8 ranks under LogGOPS, against its closed form.
awk 'BEGIN { n = 8; print "num_ranks", n; for (r = 0; r < n; r++) { print "rank", r, "{"; for (k = 0; k < 2 * (n - 1); k++) {
    printf "s%d: send 134217728b to %d tag %d\nr%d: recv 134217728b from %d tag %d\n", k, (r + 1) % n, k, k, (r + n - 1) % n, k
    if (k) printf "s%d requires r%d\n", k, k - 1 } print "}" } }' >"$tmp/ring.goal"
check goal_ring "$(step "$tmp/ring.goal" --loggops 3.7us,0.2us,0,0.02ns)" 37638.36356

if [ -d "$shared/traces/chakra" ]; then
    printf 'topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n' >"$tmp/net.yml"
    printf '{"endpoint-delay": 10, "local-mem-bw": 50, "boost-mode": 0, "all-reduce-implementation": ["ring"]}' >"$tmp/sys.json"
    astra="--astra-network $tmp/net.yml --astra-system $tmp/sys.json"
    check astra "$(step "$shared/traces/chakra/all_reduce_8" $astra --compat astra)" 96.365
    expect astra_key 0 "'boost-mode' does not count" "$STEPCAST" run "$shared/traces/chakra/all_reduce_8" $astra
    expect llm 0 "step time" "$STEPCAST" run "$shared/traces/chakra/llm_dp2_tp2_pp2"
    expect llm_slots 0 "one communication slot" "$STEPCAST" run "$shared/traces/chakra/llm_dp2_tp2_pp2" --astra-slots
else echo "skip chakra samples [needs shared]"; fi
# a forecast as traces of one rank a stage, read again: the same step, the same bytes in collectives
"$STEPCAST" run $seed --gpus 256 --hta "$tmp/hta" --json "$tmp/forecast.json" >/dev/null
"$STEPCAST" run "$tmp/hta" --cluster dgx-h100:256 --json "$tmp/again.json" >/dev/null
said() { python3 -S - "$tmp/forecast.json" "$tmp/again.json" <<'END'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
same = all(a["comm"][g]["bytes"] == b["comm"][g]["bytes"] for g in ("tp", "dp"))
print(same and abs(b["step_time_us"] / a["step_time_us"] - 1) < 1e-4, b["plan"]["tp"], b["plan"]["pp"], b["plan"]["dp"])
END
}
check traces_of_some_ranks "$(said)" "True 8 4 8"
expect traces_stand_for_others 0 "4 traces stand for all 256 ranks" "$STEPCAST" show "$tmp/hta"
rm "$tmp/hta/rank64.pt.trace.json.gz"
expect stage_without_trace 3 "none of pipeline stage 1" "$STEPCAST" run "$tmp/hta"
cp "$tmp/hta/rank0.pt.trace.json.gz" "$tmp/hta/copy.json.gz"
expect rank_given_twice 3 "unexpected rank 0, already given by" "$STEPCAST" run "$tmp/hta"

if [ -f "$shared/traces/torch/moe_kineto.json.gz" ]; then
    kineto="$shared/traces/torch/moe_kineto.json.gz"
    expect kineto_show 0 "communication overlap" "$STEPCAST" show "$kineto"
    expect kineto_json 0 '"compute_us": 11681.597' "$STEPCAST" show "$kineto" --json -
    expect kineto_dp 0 "441163776 bytes" "$STEPCAST" run "$kineto" --dp 64
    expect kineto_compare 0 "" "$STEPCAST" compare "$kineto" "$kineto"
else echo "skip kineto sample [needs shared]"; fi
