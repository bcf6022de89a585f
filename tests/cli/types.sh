#!/bin/sh
# --dtype fp32 and tf32: everything that is sent, computed and moved has elements
# of four bytes.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
S=$STEPCAST

# What bf16 sends is sent twice as large; gradients are fp32 in both.
run() { # name, options
    name=$1
    shift
    for t in bf16 fp32 tf32; do
        "$S" run --global-batch 16 --seq 4096 --ignore-memory --dtype $t --json "$dir/$name.$t.json" "$@" >/dev/null 2>&1
    done
}
run zero3 --model llama2-7b --gpus 8 --dp 8 --zero 3 --cluster dgx-h100:8
run zero1 --model llama2-7b --gpus 8 --dp 8 --zero 1 --cluster dgx-h100:8
run cp --model llama2-7b --gpus 8 --cp 4 --dp 2 --cluster dgx-h100:8
run ep --model qwen3-30b-a3b --gpus 8 --ep 8 --dp 8 --cluster dgx-h100:8
run etp --model qwen3-30b-a3b --gpus 8 --tp 2 --etp 2 --ep 4 --dp 4 --sequence-parallel --cluster dgx-h100:8
run pp --model llama2-7b --gpus 8 --tp 2 --pp 4 --sequence-parallel --cluster dgx-h100:8
twice() { # check, file, phase, collective, group
    python3 -S - "$dir" "$@" <<'P'
import json, sys
dir, name, file, phase, coll, group = sys.argv[1:]
def bytes_of(t):
    rows = json.load(open(f"{dir}/{file}.{t}.json"))["volumes"]
    return sum(r["bytes"] for r in rows if (r["phase"], r["collective"], r["group"]) == (phase, coll, group))
two, four = bytes_of("bf16"), (bytes_of("fp32"), bytes_of("tf32"))
good = two > 0 and four == (2 * two, 2 * two)
print(f"ok {name}" if good else f"not ok {name}: {two} bytes in bf16, {four} in fp32 and tf32")
P
}
twice zero3_weights zero3 forward ALLGATHER dp
twice zero1_weights zero1 update ALLGATHER dp
twice keys_and_values cp forward ALLGATHER cp
twice key_gradients cp backward REDUCESCATTER cp
twice expert_exchange ep forward ALLTOALL ep
twice expert_exchange_backward ep backward ALLTOALL ep
twice expert_tensor etp forward ALLGATHER tp
twice tensor_parallel pp forward REDUCESCATTER tp
twice stages pp backward SENDRECV pp

# Closed form: keys and values of 32 layers, 32 heads of 128, 4096 tokens, of each of the 8 sequences of a rank's group
python3 -S - "$dir/cp.fp32.json" <<'P'
import json, sys
rows = json.load(open(sys.argv[1]))["volumes"]
got = sum(r["bytes"] for r in rows if (r["phase"], r["collective"], r["group"]) == ("forward", "ALLGATHER", "cp"))
want = 32 * 8 * 4096 * 32 * (128 + 128) * 4
print("ok keys_closed_form" if got == want else f"not ok keys_closed_form: {got} is not {want}")
P

# No GPU computes faster than its peak.
for gpu in data/gpus/*.json; do
    g=$(basename "$gpu" .json)
    for model in llama3-8b qwen3-30b-a3b gpt3-175b; do
        for t in fp32 tf32; do
            for seq in 2048 32768; do
                "$S" run --model $model --gpus 1 --seq $seq --global-batch 1 --dtype $t --ignore-memory \
                    --cluster "gpu=$g gpus=8 node=8 nvlink=450GB/s" --json "$dir/mfu.json" >/dev/null 2>"$dir/err" ||
                    echo "not ok mfu $g $model $t $seq: $(head -1 "$dir/err")"
                sed -n "s/^ *\"mfu\": \([0-9.e+-]*\).*/$g $model $t $seq \1/p" "$dir/mfu.json"
            done
        done
    done
done >"$dir/mfu"
grep '^not ok' "$dir/mfu"
awk '!/^not ok/ {n++; if (!($5 > 0 && $5 <= 1)) {print "not ok mfu " $0; bad = 1} if ($5 > most) most = $5}
    END {if (!bad && n) print "ok mfu: " n " runs, at most " 100 * most " %"; else if (!n) print "not ok mfu: no runs"}' "$dir/mfu"
# current scaling reads every operand that is cast once more, for its largest value
casts="$S kernels --model llama3-8b --gpu b200 --gpus 1 --seq 4096 --global-batch 1 --fp8"
for recipe in delayed tensorwise mxfp8; do
    passes=$($casts --fp8-recipe $recipe 2>/dev/null | awk '$1 == "amax" {a++} $1 == "cast_fp8" {c++} END {print a + 0, c + 0}')
    case "$recipe $passes" in
    "delayed 0 8" | "tensorwise 8 8" | "mxfp8 0 8") echo "ok passes of $recipe" ;;
    *) echo "not ok passes of $recipe: $passes (largest values, casts)" ;;
    esac
done

# PyTorch's float8 by its bytes (2 to find a maximum, 3 to cast, 2 to transpose), by hand: 4096 tokens of Llama 3 8B. The kernels
# command prints times and rates of three digits
titan="$S kernels --model llama3-8b --gpu h200 --seq 4096 --global-batch 1 --fp8 --software torchtitan-2024"
moved() { # names of kernels, bytes by hand
    awk -v names="$1" -v want="$2" '$1 ~ names {for (i = 2; i < NF; i++) if ($i == "us") bytes += $(i - 1) * $(i + 1) * 1e6}
        END {print (bytes > 0.99 * want && bytes < 1.01 * want) ? "ok" : "not ok: " bytes " bytes, not " want}'
}
by_hand() { python3 -S -c "
t, i, o, w = 4096, 4096 + 4096 + 4096 + 14336, 6144 + 4096 + 28672 + 4096, 4096 * (6144 + 4096 + 28672 + 14336)
print($1)"; }
said() { echo "$2 $1" | sed 's/^not ok\(.*\) \([a-z_]*\)$/not ok \2\1/'; }
# by rows: inputs and gradients twice each, weights twice
said row_casts "$($titan --gpus 1 --fp8-recipe rowwise 2>/dev/null | moved '^cast_dynamic$' "$(by_hand '5 * (2 * t * i + 2 * t * o + 2 * w)')")"
# by tensors: inputs twice, gradients once, with transposes in backward; weights come cast, and are transposed
said tensor_casts "$($titan --gpus 1 2>/dev/null | moved '^cast_dynamic$' "$(by_hand 't * (12 * i + 7 * o) + 2 * w')")"
# tp 8: of what is gathered an eighth is cast, and kept for backward but for its transpose
said shard_casts "$($titan --gpus 8 --tp 8 --sequence-parallel 2>/dev/null | moved '^cast_dynamic$' \
    "$(by_hand 't * (8192 * 5 / 8 + 12 * (i - 8192) / 8 + 2 * 8192 + 7 * (6144 + 28672) / 8 + (5 / 8 + 2) * 8192) + 2 * w / 8')")"
said shards_by_rows "$($titan --gpus 8 --tp 8 --sequence-parallel --fp8-recipe rowwise 2>/dev/null | moved '^cast_dynamic$' \
    "$(by_hand '5 * (2 * t * (8192 + (i - 8192) / 8) + 2 * t * (8192 + (o - 8192) / 8) + 2 * w / 8)')")"
# complex rotary positions: 2 + 4, 4 + 4, 4 + 2 bytes of 40 heads, both ways; keys and values for 32 heads instead of 8
said complex_rope "$($titan --gpus 1 2>/dev/null | moved '^rope_c' "$(by_hand '2 * 20 * t * 40 * 128')")"
said repeated_keys "$($titan --gpus 1 2>/dev/null | moved '^repeat_keys$' "$(by_hand '2 * 2 * 2 * t * 40 * 128')")"
# layers in a loop: of a layer that is computed again its input is kept, read and written into the array of all layers, and out of it
loop="$S kernels --model llama3-8b --gpu h200 --seq 4096 --global-batch 1 --gpus 1 --recompute full"
said stacked_layers "$($loop --software maxtext 2>/dev/null | moved '^stack$' "$(by_hand '2 * 2 * 2 * t * 4096')")"
layers=$($loop --software torchtitan-2024 2>/dev/null)
case "$? $(echo "$layers" | grep -c '^ *stack ')" in
"0 0") echo "ok layers_by_themselves" ;;
*) echo "not ok layers_by_themselves" ;;
esac
