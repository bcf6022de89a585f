# Configurations of training programs: each means the same as the options that say it.
S=${STEPCAST:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
data=tests/data/configurations
same() { # name, file and its options, --, the options
    name=$1
    shift
    first=""
    while [ "$1" != -- ]; do
        first="$first $1"
        shift
    done
    shift
    if "$S" run $first --ignore-memory --json "$dir/a.json" >/dev/null 2>"$dir/err" &&
        "$S" run "$@" --ignore-memory --json "$dir/b.json" >/dev/null 2>>"$dir/err" &&
        python3 - "$dir/a.json" "$dir/b.json" <<'P'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
assert a["step_time_us"] == b["step_time_us"], (a["step_time_us"], b["step_time_us"])
assert a["memory_bytes"] == b["memory_bytes"]
P
    then echo "ok $name"; else
        echo "not ok $name"
        cat "$dir/err"
    fi
}
refuse() { # name, exit, text, command…
    name=$1 code=$2 text=$3
    shift 3
    "$@" >"$dir/out" 2>"$dir/err"
    if [ $? = "$code" ] && grep -qF -- "$text" "$dir/err"; then echo "ok $name"; else
        echo "not ok $name"
        cat "$dir/err"
    fi
}

same torchtitan $data/torchtitan.toml --gpus 16 -- --model llama3-8b --gpus 16 --tp 2 --seq 8192 --micro-batch 1 --recompute ops --use-torch-fsdp2 --software torchtitan-2026
same axolotl $data/axolotl.yaml --gpus 8 -- --model llama3.1-8b --gpus 8 --seq 4096 --micro-batch 2 --micro-batches 4 --recompute full --zero 2 --lora 16 --software hf-transformers
same llamafactory $data/llamafactory.yaml --gpus 8 -- --model qwen3-8b --gpus 8 --seq 2048 --micro-batch 1 --micro-batches 2 --zero 3 --software hf-transformers
same flagscale $data/flagscale.yaml --gpus 16 -- --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --num-query-groups 8 --group-query-attention \
    --ffn-hidden-size 14336 --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type rope \
    --tp 2 --pp 2 --sequence-parallel --zero 1 --seq 4096 --micro-batch 1 --global-batch 64 --gpus 16 --overlap-grad no
same maxtext $data/maxtext.yml --gpus 8 -- --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --num-query-groups 8 --group-query-attention \
    --ffn-hidden-size 14336 --kv-channels 128 --vocab-size 128256 --swiglu --normalization RMSNorm --disable-bias-linear \
    --untie-embeddings-and-output-weights --position-embedding-type rope --zero 3 --recompute full --seq 4096 --micro-batch 4 --gpus 8 --software maxtext
same neox $data/neox.yml --gpus 8 -- --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --normalization RMSNorm --position-embedding-type rope \
    --untie-embeddings-and-output-weights --tp 2 --pp 2 --zero 1 --seq 2048 --micro-batch 2 --micro-batches 8 --recompute full --fp16 --gpus 8 \
    --software megatron-deepspeed-2022
same deepspeed $data/ds.json --model llama3-8b --seq 2048 --gpus 8 -- --model llama3-8b --seq 2048 --gpus 8 --zero 2 --micro-batch 1 --micro-batches 4 --bf16 --software deepspeed
same megatron_yaml $data/flags.yaml --set TP=2 --gpus 4 -- --num-layers 12 --hidden-size 1024 --num-attention-heads 16 --tp 2 --micro-batch 2 \
    --global-batch 32 --seq 1024 --bf16 --gpus 4 --overlap-grad no
same the_command_line_wins $data/flags.yaml --tp 4 --gpus 4 -- --num-layers 12 --hidden-size 1024 --num-attention-heads 16 --tp 4 --micro-batch 2 \
    --global-batch 32 --seq 1024 --bf16 --gpus 4 --overlap-grad no

refuse variable_without_a_value 3 'flags.yaml:7: error: --tensor-model-parallel-size has no value: ${TP} is not set' "$S" run $data/flags.yaml
refuse no_model 2 'ds.json says how, and not what model is trained' "$S" run $data/ds.json --gpus 8
printf 'a: [1, 2\nb: }' >"$dir/bad.yaml"
refuse bad_yaml 3 'bad.yaml:2: error: not YAML' "$S" run "$dir/bad.yaml"
printf 'hello: world\n' >"$dir/other.yaml"
refuse other_yaml 3 'no configuration that we know' "$S" run "$dir/other.yaml"
printf '[model]\nname = "llama3"\nflavor = "9000B"\n[training]\nseq_len = 8\n' >"$dir/none.toml"
refuse no_such_model 3 'the model llama3 9000B is not known' "$S" run "$dir/none.toml" --gpus 8
printf '[model\nname\n= 3\n' >"$dir/bad.toml"
refuse bad_toml 3 'bad.toml:3: error: not TOML' "$S" run "$dir/bad.toml" --gpus 8
printf 'num_layers: 2\nhidden_size: 64\nnum_attention_heads: 2\nnorm: batchnorm\npipe_parallel_size: 1\n' >"$dir/norm.yml"
refuse unknown_norm 3 "norm.yml:4: error: norm: unknown 'batchnorm'" "$S" run "$dir/norm.yml" --gpus 8
python3 -c 'print("a:" * 1 + "".join("\n" + " " * (i + 1) + "a:" for i in range(200)) + " 1")' >"$dir/deep.yaml"
refuse deep_yaml 3 'nested too deep' "$S" run "$dir/deep.yaml"
: >"$dir/empty.toml"
refuse empty_toml 3 'error:' "$S" run "$dir/empty.toml"
