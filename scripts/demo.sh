#!/bin/sh
# The built-in example: one step of a 175 billion parameter model on 1024 GPUs.
#     demo.sh PROGRAM
set -eu
program=$1
mkdir -p out
set -- run --model gpt3-175b --gpus 1024 --tp 8 --pp 16 --micro-batch 1 --global-batch 1536 --seq 2048 \
    --recompute selective --sequence-parallel --cluster dgx-h100:1024
echo "stepcast $*"
echo
html="--html out/demo.html"
test -s "$(dirname "$program")/web/report.html" || html= # built without npm: no page
"$program" "$@" --gantt --json out/demo.json $html --trace out/demo.trace.json.gz
echo
echo "The pictures:"
if [ -n "$html" ]; then echo "  out/demo.html            open in a browser: pipeline, breakdown, memory, what-if"
else echo "  (no report page: npm could not fetch what it is made of when stepcast was built)"; fi
echo "  out/demo.trace.json.gz   open in ui.perfetto.dev"
echo "  out/demo.json            the same numbers for programs"
