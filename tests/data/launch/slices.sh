#!/bin/bash
# slices of lists and texts, of nothing, and beyond any end
NONE=()
SIZES=(8 16 24)
TEXT=abcdef
torchrun train.py --none "${NONE[@]:0:2}" --gone "${GONE[@]:1}" --star "${NONE[*]:0:1}" \
    --two "${SIZES[@]:1:2}" --far "${SIZES[@]:1:9223372036854775807}" --over "${SIZES[@]:4}" \
    --last "${SIZES[@]: -1}" --text "${TEXT:2:9999999}" --cut "${TEXT:1:-2}" --empty "${TEXT:6}" \
    --unset "${MISSING:0:3}" --all "$*" "${NONE[*]}" "$@" "${NONE[@]}" --end
