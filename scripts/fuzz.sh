#!/bin/sh
# Each fuzz target for a number of seconds on its corpus.
#     fuzz.sh BUILD SECONDS
set -u
build=$1 seconds=$2 failed=0
for t in "$build"/tests/fuzz/*_fuzz; do
    [ -x "$t" ] || continue
    name=$(basename "$t" _fuzz)
    printf '%-24s ' "$name"
    if "$t" "$seconds" 1 tests/fuzz/corpus/"$name"/*; then :; else echo "FAIL $name"; failed=1; fi
done
exit $failed
