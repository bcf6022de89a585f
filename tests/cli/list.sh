#!/bin/sh
# list: every name of data/ with the figures of its file, as a table and as JSON.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect

for kind in models gpus clusters software networks; do
    "$STEPCAST" list $kind --json "$tmp/$kind.json" >"$tmp/$kind.txt"
    expect "list_$kind" 0 "rows as in data/$kind" python3 tests/cli/list_oracle.py $kind "$tmp/$kind.json" "$tmp/$kind.txt"
    "$STEPCAST" list $kind --json - | cmp -s - "$tmp/$kind.json"
    check "list_${kind}_json_alone" $? 0
done

# the engines listed are those that --net knows
names=$("$STEPCAST" list engines | sed 1d | cut -d ' ' -f 1 | paste -s -d , | sed 's/,/, /g')
expect list_engines 2 "one of: $names" "$STEPCAST" run --model gpt2 --gpus 1 --global-batch 1 --net nothing
expect list_engines_summary 0 "links are shared max-min fair" "$STEPCAST" list engines
expect list_engines_json 0 '"name": "flow"' "$STEPCAST" list engines --json -

expect list_nothing 2 "list takes one of models, gpus, clusters, software, networks and engines" "$STEPCAST" list
expect list_misspelt 2 "did you mean clusters?" "$STEPCAST" list cluster
expect list_two 2 "list takes one of" "$STEPCAST" list models gpus
expect list_empty_word 2 "list takes one of" "$STEPCAST" list ""
expect list_bad_file 4 "nowhere" "$STEPCAST" list gpus --json "$tmp/nowhere/x.json"

# NVIDIA's dense fp16 rate is SMs x clock x a power of two of FLOP, 512 (GeForce) to 8192 (Blackwell); but for the H20, which has fewer
check dense_rates "$("$STEPCAST" list gpus | python3 -S -c '
import json, math, sys
told = 0
for line in sys.stdin:
    name = line.split()[0]
    if "  NVIDIA " not in line or name == "h20":
        continue
    d = json.load(open(f"data/gpus/{name}.json"))["datasheet"]
    each = d["peak_tflops"]["fp16"] * 1e6 / d["sms"] / d["boost_mhz"]
    power = 2 ** round(math.log2(each))
    told += 1
    if not (abs(each / power - 1) < 0.015 and 512 <= power <= 8192):
        print(name, each)
print(told > 25)')" True
