#!/bin/sh
# The Python module against the program.
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
export STEPCAST_LIBRARY="$PWD/$BUILD/libstepcast.so"
if ! python3 -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1])' "$STEPCAST_LIBRARY" 2>/dev/null; then
    echo "skip python: the shared library does not load here (a sanitizer's build?)"
    exit 0
fi
python3 tests/tools/workload.py 4 8 2 >"$t/workload.txt"
python3 tests/tools/check_binding.py "$STEPCAST" "$t/workload.txt" net=analytic
python3 tests/tools/check_binding_errors.py "$t"
seeds=${STEPCAST_SHARED:-../shared}/seeds
if [ -d "$seeds" ]; then
    set -- "$seeds"/00*.txt
    python3 tests/tools/check_binding.py "$STEPCAST" "$1" "$2" "$3" tp=1 pp=2 dp=2 "$4" "$5"
else echo "skip python: the five seeds"; fi
