#!/bin/sh
# Damaged inputs: what Python's json and gzip refuse, the program refuses.
python3 -B tests/tools/differential.py "$STEPCAST" "${SEED:-1}" "${CASES:-40}"
