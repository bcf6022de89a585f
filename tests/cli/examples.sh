#!/bin/sh
# not of the program: examples: 6-python
# The walk-throughs of examples/, the tutorials, and pages whose figures have their commands beside them.
PATH="$(dirname "$STEPCAST"):$PATH"
STEPCAST_LIBRARY="$PWD/$BUILD/libstepcast.so"
PYTHONPATH="$PWD/$BUILD/python"
export PATH STEPCAST_LIBRARY PYTHONPATH
case $BUILD in *san*) skip=python ;; *) skip=none ;; esac
for page in examples/[0-9]*.md docs/tutorials/[a-z]*.md docs/model/flow.md; do
    name=$(basename "$page" .md)
    case $name in *"$skip"*) echo "skip examples: $name [needs no-sanitizer]"; continue ;; esac
    if out=$(python3 tests/tools/run_example.py "$page" 2>&1); then echo "ok examples: $name"; else
        echo "not ok examples: $name"
        echo "$out"
    fi
done
