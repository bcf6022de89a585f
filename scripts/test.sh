#!/bin/sh
# Runs the unit tests and the command-line tests; the last line counts them.
#     test.sh BUILD
build=$1
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for t in "$build"/tests/unit/*_test; do
    [ -x "$t" ] || continue
    "$t" >"$log" 2>&1
    rc=$?
    p=$(grep -c '^\[       OK \]' "$log") f=$(grep -c '^\[  FAILED  \] [a-z]' "$log") s=$(grep -c '^\[  SKIPPED \] [a-z]' "$log")
    # cmocka names failures twice, at the test and in the summary
    f=$(grep '^\[  FAILED  \] [a-z]' "$log" | sort -u | wc -l)
    s=$(grep '^\[  SKIPPED \] [a-z]' "$log" | sort -u | wc -l)
    [ $rc -ne 0 ] && [ "$f" = 0 ] && f=1
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    if [ $rc -ne 0 ]; then echo "FAIL $(basename "$t")"; grep -v -e RUN -e '  OK ]' "$log"; else echo "ok   $(basename "$t") ($p)"; fi
done
for script in tests/*/*.sh; do
    [ -f "$script" ] || continue
    STEPCAST="$PWD/$build/stepcast" BUILD="$build" sh "$script" >"$log" 2>&1
    rc=$?
    p=$(grep -c '^ok ' "$log") f=$(grep -c '^not ok ' "$log") s=$(grep -c '^skip ' "$log")
    [ $rc -ne 0 ] && [ "$f" = 0 ] && f=1
    # a script that a test calls and that dies is a failure, whatever comes after it
    grep -q '^Traceback (most recent call last)' "$log" && f=$((f + 1))
    # … and so is one in which nothing was tried
    [ $((p + f + s)) = 0 ] && f=1 && echo "nothing was tried" >>"$log"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    if [ "$f" -ne 0 ]; then echo "FAIL $script"; grep -v '^ok ' "$log"; else echo "ok   $script ($p)"; fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
