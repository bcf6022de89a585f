#!/bin/sh
# Random plans from a fixed seed: what must hold for every one of them.
python3 tests/tools/properties.py "$STEPCAST" "${SEED:-1}" "${PLANS:-15}"
