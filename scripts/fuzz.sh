#!/bin/sh
# Each fuzz target for a number of seconds on its corpus and on what libFuzzer has made of it
# (tests/fuzz/grown), one on each core, with the driver of tests/fuzz. A case that ends one is left in build/fuzz-findings/. (libFuzzer: fuzz_slices.py)
#     fuzz.sh BUILD SECONDS
set -u
build=$1 seconds=$2
# a sanitizer's report is a crash, so that the case is kept
export ASAN_OPTIONS="${ASAN_OPTIONS:-abort_on_error=1:handle_abort=0}" UBSAN_OPTIONS="${UBSAN_OPTIONS:-abort_on_error=1:print_stacktrace=1}"
ls "$build"/tests/fuzz/*_fuzz | xargs -P "$(getconf _NPROCESSORS_ONLN)" -I TARGET sh -c '
    target=$1 seconds=$2 root=$3
    name=$(basename "$target" _fuzz)
    corpus=tests/fuzz/corpus/$name dictionary=tests/fuzz/dictionary/$name.dict
    grown=build/fuzz-grown/$name
    mkdir -p "build/fuzz-findings/$name" "$grown"
    tar -xzf "tests/fuzz/grown/$name.tar.gz" -C "$grown" 2>/dev/null
    out=$(cd "build/fuzz-findings/$name" && FUZZ_DICTIONARY="$root/$dictionary" "$root/$target" "$seconds" 1 $(find "$root/$corpus" "$root/$grown" -type f) 2>&1)
    status=$?
    rmdir "build/fuzz-findings/$name" 2>/dev/null
    if [ $status = 0 ]; then printf "%-24s %s\n" "$name" "$out"
    else printf "%s\nFAIL %s: see build/fuzz-findings/%s\n" "$out" "$name" "$name"; exit 1; fi' fuzz TARGET "$seconds" "$PWD"
status=$?
rmdir build/fuzz-findings 2>/dev/null
exit $status
