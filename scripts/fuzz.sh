#!/bin/sh
# Each fuzz target for a number of seconds on its corpus, one on each core.
#     fuzz.sh BUILD SECONDS
set -u
build=$1 seconds=$2
ls "$build"/tests/fuzz/*_fuzz | xargs -P "$(getconf _NPROCESSORS_ONLN)" -I TARGET sh -c '
    name=$(basename "$1" _fuzz)
    if out=$("$1" "$2" 1 tests/fuzz/corpus/"$name"/* 2>&1); then printf "%-24s %s\n" "$name" "$out"
    else printf "%s\nFAIL %s\n" "$out" "$name"; exit 1; fi' fuzz TARGET "$seconds"
