#!/bin/sh
# Random flows between 64 to 1024 hosts: the same finish times as SimGrid's.
# Skipped where SimGrid is not installed.
if ! echo "#include <simgrid/s4u.hpp>" | ${CXX:-c++} -std=c++17 -x c++ -E - >/dev/null 2>&1; then
    echo "skip simgrid [needs header:simgrid/s4u.hpp]"
    exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
program=$BUILD/bench/simgrid_flows
mkdir -p "$BUILD/bench"
if [ ! -x "$program" ] || [ bench/simgrid_flows.cc -nt "$program" ]; then
    ${CXX:-c++} -std=c++17 -O1 bench/simgrid_flows.cc -lsimgrid -o "$program" || { echo "not ok simgrid-builds"; exit 0; }
fi
try() { # hosts fabric route flows seed
    python3 -S - "$1" "$4" "$5" >"$dir/flows" <<'PY'
import random, sys
n, count, seed = map(int, sys.argv[1:])
r = random.Random(seed)
for _ in range(count):
    a, b = r.sample(range(n), 2)
    print(a, b, r.randrange(1, 1 << 24), r.randrange(0, 40) * 1e-5)
PY
    if "$program" "$2" "$3" "$dir/flows" 1e-12 2>/dev/null | grep -v cpu >"$dir/times" &&
        paste -d' ' "$dir/flows" "$dir/times" >"$dir/both" &&
        "$STEPCAST" flows "$dir/both" --fabric "$2" --route "$3" --check 1e-9 >"$dir/out" 2>&1
    then echo "ok simgrid-$1-$3"; else echo "not ok simgrid-$1-$3"; cat "$dir/out"; fi
}
try 64 ls:8:8 ecmp 400 1
try 64 ls:16:2 dmodk 400 2
try 128 ls:16:16 ecmp:7 600 3
try 256 ls:16:4 ecmp 700 4
try 512 ft3:8:8:8:8 ecmp 800 5
try 1024 ft3:8:8:4:2 ecmp 1000 6
