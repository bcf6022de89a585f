#!/bin/sh
# Runs the benchmarks; each prints its figures and a ratio to something.
#     bench.sh BUILD
set -u
for b in "$1"/bench/*_bench; do
    [ -x "$b" ] || continue
    echo "== $(basename "$b" _bench)"
    STEPCAST="$1/stepcast" "$b" || echo "failed: $b"
done
