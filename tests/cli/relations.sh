#!/bin/sh
# A sample of `make relations`: random plans from a fixed seed, and what must hold for every one of them.
python3 -B tests/relations/relations.py "$BUILD" "${SEED:-4}" "${PLANS:-15}"
