#!/bin/sh
# The report page in headless Chromium. Needs chromium, node and npm; the two
# npm packages are fetched once.
here=$(dirname "$0")
out=$PWD/$BUILD/page
mkdir -p "$out"
rm -f "$out"/*.json "$out"/*.html # of an earlier run
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$chromium" ] || ! command -v npm >/dev/null 2>&1; then
    echo "skip page [needs command:chromium command:npm]"
    exit 0
fi
if ! cmp -s "$here/package-lock.json" "$here/node_modules/.stepcast-lock"; then
    if ! (cd "$here" && npm ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error >/dev/null 2>&1); then
        echo "skip page [needs network]"
        exit 0
    fi
    cp "$here/package-lock.json" "$here/node_modules/.stepcast-lock"
fi
python3 tests/tools/workload.py 8 16 2 >"$out/workload.txt"
"$STEPCAST" run "$out/workload.txt" --json "$out/plain.json" --timeline --what-if >/dev/null || echo "not ok page: run"
"$STEPCAST" run "$out/workload.txt" --cluster 'dgx-h100:64 nic=100Gbps' --json "$out/slow.json" --timeline >/dev/null || echo "not ok page: run"
python3 tests/tools/enrich.py "$out/plain.json" >"$out/result.json"
"$STEPCAST" report "$out/result.json" -o "$out/report.html" || echo "not ok page: report"
"$STEPCAST" compare "$out/plain.json" "$out/slow.json" --html "$out/compare.html" >/dev/null || echo "not ok page: compare"
python3 tests/tools/workload.py 64 512 2 >"$out/large.txt"
"$STEPCAST" run "$out/large.txt" --cluster ideal:512 --html "$out/large.html" >/dev/null || echo "not ok page: run"
"$STEPCAST" run --model llama3-8b --cluster dgx-h100:16 --tp 2 --pp 4 --seq 4096 --global-batch 32 --zero 1 --html "$out/model.html" --json "$out/model.json" --timeline >/dev/null || echo "not ok page: run"
"$STEPCAST" train --model llama3-8b --cluster dgx-h100:1024 --tp 2 --global-batch 2048 --zero 1 --recompute full --train-tokens 15T --price 2 --html "$out/train.html" --json "$out/train.json" >/dev/null || echo "not ok page: train"
"$STEPCAST" plans --model llama3-8b --cluster dgx-h100:64 --global-batch 256 --seq 4096 --html "$out/plans.html" --json "$out/plans.json" >/dev/null || echo "not ok page: plans"
"$STEPCAST" plans --model llama3-8b --cluster dgx-h100:16,mi300x:16 --global-batch 32 --seq 4096 --html "$out/machines.html" --json "$out/machines.json" >/dev/null || echo "not ok page: plans"
rm -f "$out/s.db"
"$STEPCAST" sweep --db "$out/s.db" --model llama3-8b --cluster dgx-h100:64 --global-batch 256 --zero 1 --recompute full --axis tp=1,2,4 --axis pp=1,2,4 --axis micro-batch=1,2 --html "$out/sweep.html" --csv "$out/sweep.csv" >/dev/null || echo "not ok page: sweep"
rm -f "$out/unequal.db"
"$STEPCAST" sweep --db "$out/unequal.db" --model llama3-8b --cluster dgx-h100:64 --zero 1 --recompute full --axis tp=1,2 --axis micro-batch=1,2 --html "$out/unequal.html" --csv "$out/unequal.csv" >/dev/null || echo "not ok page: sweep"
"$STEPCAST" run --model gpt2 --cluster dgx-h100:8 --json "$out/eight.json" --timeline >/dev/null && "$STEPCAST" run --model gpt2 --cluster dgx-h100:8 --tp 2 --json "$out/four.json" --timeline >/dev/null && "$STEPCAST" compare "$out/eight.json" "$out/four.json" --html "$out/uneven.html" >/dev/null || echo "not ok page: compare"
"$STEPCAST" run tests/data/captures/bert-48.json.gz --cluster h200:8 --html "$out/capture.html" --json "$out/capture.json" >/dev/null || echo "not ok page: capture"
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "$i 0 400000 0"; echo "$i $(((i + 5) % 16)) 150000 0.00000$i"; done >"$out/flows.txt"
"$STEPCAST" flows "$out/flows.txt" --net packet --fabric ls:16:4 --html "$out/packet.html" --json "$out/packet.json" --samples 160 >/dev/null || echo "not ok page: packets"
"$STEPCAST" flows "$out/flows.txt" --net flow,packet --fabric ls:16:4 --cc dcqcn,hpcc --html "$out/controls.html" --json "$out/controls.json" >/dev/null || echo "not ok page: controls"
# small: what is shown counts, and every changed machine of its table is simulated packet by packet
"$STEPCAST" run --model pythia-160m --seq 1024 --cluster "gpu=h100 gpus=16 node=8 nvlink=450GB/s nics=8 nic=400Gbps fabric=fat-tree leaf=1 oversubscription=4 class=ib" --tp 4 --pp 2 --micro-batches 2 --net packet --html "$out/transfers.html" >/dev/null || echo "not ok page: transfers"
node "$here/page.mjs" "$out/report.html" "$out/result.json" "$out/compare.html" "$out" "$chromium"
