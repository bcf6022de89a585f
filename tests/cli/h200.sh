#!/bin/sh
# The forecast against layers and steps measured on an H200, which nothing was fitted to.
python3 tests/tools/check_h200.py "$STEPCAST"
# Families of transformers: peaks of memory, and times.
python3 tests/tools/check_families.py "$STEPCAST"

# Windows are masks over all scores in transformers' default attention, and are computed alone
# by FlashAttention.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
cat >"$tmp/config.json" <<'END'
{"model_type": "mistral", "hidden_size": 2048, "intermediate_size": 2048, "num_hidden_layers": 2, "num_attention_heads": 16,
 "num_key_value_heads": 4, "vocab_size": 1024, "max_position_embeddings": 16384, "sliding_window": 1024}
END
windows() {
    "$STEPCAST" run --model "$tmp/config.json" --cluster h200:1 --software hf-transformers --update plain --seq 16384 \
        --micro-batch 1 --global-batch 1 --json "$tmp/$1.json" $2 >/dev/null 2>&1
    python3 -S -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(*(n["code"] for n in r["input"]["notes"] if n["code"] == "masked-windows"), r["memory_bytes"]["activations"])' "$tmp/$1.json"
}
masked=$(windows masked "")
alone=$(windows alone "--attention flash2")
# kept beside: two bytes for each of 16384 x 16384 scores, and keys and values of twelve more
# heads, in both layers
check masked_windows "${masked#masked-windows }" $((alone + 2 * (2 * 16384 * 16384 + 2 * 2 * 12 * 128 * 16384)))
check masked_windows_are_said "${masked% *}" masked-windows
