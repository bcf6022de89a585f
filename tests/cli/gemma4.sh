#!/bin/sh
# Gemma 4: layers that see all keys have heads of their own.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect

# config NAME KEYS: twelve layers, unless the keys say otherwise (each has to be there once)
config() {
    printf '{"model_type": "gemma4_text", "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 1536, "vocab_size": 32000, "sliding_window": 256, "hidden_size_per_layer_input": 0, %s}' "$2" >"$tmp/$1.json"
}
experts='"enable_moe_block": true, "num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": 384'
heads='"global_head_dim": 128, "num_global_key_value_heads": 2, "attention_k_eq_v": true'
sliding='"num_hidden_layers": 12, "sliding_window_pattern": 6'
config mixed "$sliding, \"head_dim\": 64, \"num_key_value_heads\": 6, $heads, $experts"

# Where every layer sees all keys, the heads of the others are nowhere: no figure of the
# forecast may change with them.
every='"num_hidden_layers": 12, "sliding_window_pattern": 1'
config small "$every, \"head_dim\": 24, \"num_key_value_heads\": 12, $heads, $experts"
config large "$every, \"head_dim\": 256, \"num_key_value_heads\": 4, $heads, $experts"
figures() { # config, options
    file=$1
    shift
    "$STEPCAST" run --model "$tmp/$file.json" --cluster dgx-h100:8 --seq 1024 --global-batch 16 "$@" --json "$tmp/r.json" >/dev/null 2>"$tmp/err" || echo "$file: $(head -1 "$tmp/err")"
    python3 -S - "$tmp/r.json" <<'P'
import json, sys
r = json.load(open(sys.argv[1]))
print([r["model"]["parameters"], r["step_time_us"], r["breakdown_us"], r["comm"], r["work_us"],
       r["memory_bytes"], r["mfu"], r["hfu"]])
P
    rm -f "$tmp/r.json"
}
n=0
while read -r options; do
    n=$((n + 1))
    # shellcheck disable=SC2086
    check "other_heads_do_not_count_$n" "$(figures small $options)" "$(figures large $options)"
done <<'L'
--ep 8 --zero 1
--tp 4 --sequence-parallel
--cp 2 --cp-comm-type a2a
--cp 2 --cp-comm-type p2p --recompute selective
--recompute ops --fusion hf
--recompute full --pp 2
--lora 8 --lora-targets all --fusion hf
--optimizer muon
--fusion 2021
L
# … and are somewhere: attention to all keys, of heads twice as large, takes longer
config same "$sliding, \"head_dim\": 64, \"num_key_value_heads\": 6, \"global_head_dim\": 64, $experts"
step_us() { figures "$1" --ep 8 | sed 's/^\[[0-9]*, \([0-9.]*\),.*/\1/'; }
check own_heads_count "$(echo "$(step_us mixed) $(step_us same)" | awk '$2 > 0 { print ($1 > $2) ? "yes" : $0 }')" yes

# Keys and values of both kinds of layers go round a ring of two ranks: gathered forward and
# backward, and their gradients scattered. 1024 tokens of 2 bytes, keys and values:
#   10 layers of 6 heads of 64, 2 of 2 heads of 128; 4 micro-batches
moved=$((3 * 4 * 1024 * 2 * 2 * (10 * 6 * 64 + 2 * 2 * 128)))
"$STEPCAST" run --model "$tmp/mixed.json" --cluster dgx-h100:8 --seq 1024 --global-batch 16 --cp 2 --micro-batch 1 --json "$tmp/r.json" >/dev/null 2>&1
check ring_of_both_kinds "$(python3 -S -c "import json; print(json.load(open('$tmp/r.json'))['comm']['cp']['bytes'])")" "$moved"

expect shown 0 'each 6. layer sees all keys: heads of 128, not 64, 2 for keys and values' \
    "$STEPCAST" show --model "$tmp/mixed.json"
config three "$sliding, \"head_dim\": 64, \"num_key_value_heads\": 3, \"global_head_dim\": 128, \"num_global_key_value_heads\": 4, \"attention_k_eq_v\": true"
expect tp_and_own_heads 2 'tp 3 neither divides nor is a multiple of the 4 key-value heads' \
    "$STEPCAST" run --model "$tmp/three.json" --gpus 3 --tp 3
config wide "$sliding, \"head_dim\": 64, \"num_key_value_heads\": 6, \"global_head_dim\": 512"
expect heads_not_measured 0 'attention with heads of 512 was not measured' \
    "$STEPCAST" run --model "$tmp/wide.json" --gpus 1 --ignore-memory --seq 1024
for name in script.sh recipe.yaml; do
    expect "no_flag_$name" 1 'layers that see all keys have heads of their own' \
        "$STEPCAST" plans --model "$tmp/mixed.json" --cluster dgx-h100:8 --seq 1024 --global-batch 16 --tp 2 --pp 1 --zero 1 --write-launch "$tmp/$name"
done

refuse() { # name, text, keys
    config "$1" "$3"
    expect "$1" 3 "$2" "$STEPCAST" run --model "$tmp/$1.json" --gpus 1 --ignore-memory
}
rest='"num_hidden_layers": 12, "head_dim": 64, "num_key_value_heads": 6'
refuse size_of_none '"global_head_dim" must be a whole number from 1' "$rest, \"global_head_dim\": 0"
refuse size_below_none '"global_head_dim" must be a whole number from 1' "$rest, \"global_head_dim\": -1"
refuse size_in_words '"global_head_dim" must be a whole number from 1' "$rest, \"global_head_dim\": \"512\""
refuse heads_left_over '12 attention heads cannot share 5' "$rest, \"num_global_key_value_heads\": 5, \"attention_k_eq_v\": true"
refuse list_too_short 'does not have a word for each layer' "$rest, \"layer_types\": [\"full_attention\"]"
refuse shared_keys '"num_kv_shared_layers"), which is not modelled' "$rest, \"num_kv_shared_layers\": 4"
refuse double_wide '"use_double_wide_mlp"), which is not modelled' "$rest, \"use_double_wide_mlp\": true"
sed 's/"hidden_size_per_layer_input": 0/"hidden_size_per_layer_input": 256/' "$tmp/mixed.json" >"$tmp/inputs.json"
expect inputs_of_layers 3 '"hidden_size_per_layer_input"), which is not modelled' \
    "$STEPCAST" run --model "$tmp/inputs.json" --gpus 1 --ignore-memory
