#!/bin/sh
# Runs the benchmarks; each prints its figures and a ratio to something.
#     bench.sh BUILD
set -u
# SimGrid, where it can be had, is what the flow engine is measured against.
sh scripts/deps.sh bench >/dev/null 2>&1
if echo "#include <simgrid/s4u.hpp>" | ${CXX:-c++} -std=c++17 -x c++ -E - >/dev/null 2>&1; then
    ${CXX:-c++} -std=c++17 -O2 bench/simgrid_flows.cc -lsimgrid -o "$1/bench/simgrid_flows" && export SIMGRID="$1/bench/simgrid_flows"
else
    echo "SimGrid (libsimgrid-dev) is not installed: the flow benchmark runs without its ratios"
fi
for b in "$1"/bench/*_bench; do
    [ -x "$b" ] || continue
    echo "== $(basename "$b" _bench)"
    STEPCAST="$1/stepcast" "$b" || echo "failed: $b"
done
