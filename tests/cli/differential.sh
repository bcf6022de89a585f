#!/bin/sh
# Damaged inputs: what Python's json and gzip refuse, the program refuses. Random launch scripts:
# what bash makes of them, the evaluator does.
# not of the program: scripts
python3 -B tests/tools/differential.py "$STEPCAST" "${SEED:-1}" "${CASES:-40}"

scripts=$(mktemp -d)
trap 'rm -rf "$scripts"' EXIT
python3 -B tests/tools/random_scripts.py "$scripts" "${SEED:-1}" "${SCRIPTS:-150}"
if ! command -v bash >/dev/null; then echo "skip scripts [needs command:bash]"
elif LAUNCH_SCRIPTS=$scripts "$BUILD/tests/unit/launch_shell_test" >"$scripts/out" 2>&1; then echo "ok scripts"
else
    cat "$scripts/out"
    echo "not ok scripts: see tests/tools/random_scripts.py FOLDER ${SEED:-1} ${SCRIPTS:-150}"
fi
