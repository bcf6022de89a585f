#!/bin/sh
# The forecast against layers and steps measured on an H200, which nothing was fitted to.
python3 tests/tools/check_h200.py "$STEPCAST"
# Families of transformers: peaks of memory, and times.
python3 tests/tools/check_families.py "$STEPCAST"
