#!/bin/sh
# Damaged inputs: what Python's json and gzip refuse, the program refuses. Random launch scripts:
# what bash makes of them, the evaluator does.
# not of the program: scripts|launches
python3 -B tests/tools/differential.py "$STEPCAST" "${SEED:-1}" "${CASES:-40}"

scripts=$(mktemp -d)
trap 'rm -rf "$scripts"' EXIT
compared() { # name, generator
    python3 -B "tests/tools/$2" "$scripts/$1" "${SEED:-1}" "${SCRIPTS:-150}"
    if ! command -v bash >/dev/null; then echo "skip $1 [needs command:bash]"
    elif LAUNCH_SCRIPTS=$scripts/$1 "$BUILD/tests/unit/launch_shell_test" >"$scripts/out" 2>&1; then echo "ok $1"
    else
        cat "$scripts/out"
        echo "not ok $1: see tests/tools/$2 FOLDER ${SEED:-1} ${SCRIPTS:-150}"
    fi
}
compared scripts random_scripts.py
compared launches random_launches.py
