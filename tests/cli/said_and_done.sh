#!/bin/sh
# What a note says is so, what an option says is done, and nothing is taken for a value
# that is none.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
field() { python3 -S -c 'import functools, json, sys; d = json.load(sys.stdin); print(*(functools.reduce(lambda x, k: x[int(k) if k.isdigit() else k], w.split("."), d) for w in sys.argv[1:]))' "$@"; }
result() { "$STEPCAST" run "$@" --json - 2>/dev/null; }
step() { result "$@" | field step_time_us; }

# a recipe of fp8 does nothing to experts in bf16, nor to layers that stay in it
experts="--model mixtral-8x7b --num-layers 4 --ep 8 --cluster dgx-b200:8 --global-batch 8 --seq 2048 --ignore-memory"
check recipe_without_fp8 "$(step $experts --fp8-recipe mxfp8)" "$(step $experts)"
wide="--num-layers-at-start-in-bf16 2 --num-layers-at-end-in-bf16 2"
check recipe_of_wide_layers "$(result $experts --fp8 --fp8-recipe mxfp8 $wide | field work_us.elementwise work_us.gemm)" "$(result $experts | field work_us.elementwise work_us.gemm)"

# attention in fp8 is of Transformer Engine's recipes: not without fp8, and not on a GPU that has none
dense="--model llama2-7b --num-layers 4 --gpus 8 --seq 4096 --global-batch 8 --ignore-memory"
for gpus in dgx-a100:8 dgx-h100:8; do
    check "fp8 attention alone, $gpus" "$(step $dense --cluster $gpus --fp8-dot-product-attention)" "$(step $dense --cluster $gpus)"
    expect "fp8 attention alone is said, $gpus" 0 "--fp8-dot-product-attention has no effect: no product is in fp8" "$STEPCAST" run $dense --cluster $gpus --fp8-dot-product-attention --json -
done
check fp8_attention "$(awk "BEGIN { print ($(step $dense --cluster dgx-h100:8 --fp8 --fp8-dot-product-attention) < $(step $dense --cluster dgx-h100:8 --fp8)) }")" 1
expect attention_of_2021 0 "--attention has no effect: the core of attention is not fused" "$STEPCAST" run $dense --fusion 2021 --attention flash2 --json -

# --use-torch-fsdp2 beside another --zero: PyTorch's context parallelism counts, and is not said to do nothing
long="--model llama3-8b --num-layers 4 --cp 4 --zero 1 --seq 16384 --global-batch 2 --cluster dgx-h100:8 --ignore-memory"
result $long --use-torch-fsdp2 >"$tmp/torch.json"
check torch_context_parallel "$(awk "BEGIN { print ($(field comm.cp.bytes <"$tmp/torch.json") > 2 * $(result $long | field comm.cp.bytes)) }") $(grep -c 'fsdp2 has no effect' "$tmp/torch.json")" "1 0"

# buckets of less than a layer are layers; a capacity that drops nothing keeps the host from waiting
bucket="--model llama2-7b --num-layers 8 --tp 8 --dp 2 --zero 1 --cluster dgx-h100:16 --seq 2048 --global-batch 4"
result $bucket --bucket 10MB >"$tmp/bucket.json"
check bucket_of_a_layer "$(awk "BEGIN { print ($(field comm.dp.ops <"$tmp/bucket.json") > $(result $bucket | field comm.dp.ops)) }") $(grep -c 'bucket has no effect' "$tmp/bucket.json") $(grep -c 'each layer is a bucket' "$tmp/bucket.json")" "1 0 1"
result $experts --moe-expert-capacity-factor 2 >"$tmp/room.json"
check room_for_all "$(grep -c 'drops no token' "$tmp/room.json") $(grep -c 'factor has no effect' "$tmp/room.json")" "1 0"

# latent attention has keys and values of every head, whatever num_key_value_heads says
latent="--model deepseek-v2-lite --gpus 12 --pp 3 --ep 4 --schedule zb-h1 --seq 1024 --global-batch 12 --ignore-memory"
check heads_of_latent_attention "$(result $latent --num-query-groups 2 | field step_time_us memory_bytes.total)" "$(result $latent | field step_time_us memory_bytes.total)"

# groups of experts that there are not do not share weights
sharded="--model llama2-7b --num-layers 4 --tp 8 --dp 1 --zero 2 --cluster dgx-a100:8 --seq 2048 --global-batch 2"
check groups_of_no_experts "$(result $sharded --etp 2 | field step_time_us settings.zero)" "$(result $sharded | field step_time_us settings.zero)"
expect etp_that_does_not_divide 2 "etp 1 would do" "$STEPCAST" run --model mixtral-8x7b --etp 2 --cluster h100:1 --ignore-memory

# layers of two kinds: which have experts. 512 experts of 3 · 2048 · 512 and a router's row in each of 48 layers of
# Qwen3-Next; a layer without has a feed-forward of 3 · 2048 · 5120 and no shared expert of 3 · 2048 · 512 and its gate
next="--model qwen3-next-80b-a3b --gpus 8 --ep 8 --seq 1024 --global-batch 8 --ignore-memory"
lost=$((512 * (3 * 2048 * 512 + 2048) + 3 * 2048 * 512 + 2048 - 3 * 2048 * 5120))
all=$(result $next | field model.parameters)
check half_of_them_have_experts "$(result $next --moe-layer-freq 2 | field model.parameters)" $((all - 24 * lost))
check the_first_have_none "$(result $next --first-k-dense-replace 3 | field model.parameters)" $((all - 3 * lost))
expect letters_say_it 0 "--moe-layer-freq has no effect: the pattern of the layers says which have experts" "$STEPCAST" run --model nemotron-3-nano-30b-a3b --gpus 8 --ep 8 --seq 1024 --global-batch 8 --ignore-memory --moe-layer-freq 2 --json -
# … and more layers than a model can have are refused before lists of them are filled
for option in "--linear-attention-freq 4" "--hybrid-attention-ratio 0.1" "--moe-layer-freq 2"; do
    expect "too many layers $option" 2 "100000 layers and 16 heads of 2048 are no model we can build" "$STEPCAST" run --model qwen3-next-80b-a3b --num-layers 100000 $option --gpus 1
done

# an option is no value of the one before it
for words in "--html --gantt" "--json -c dgx-h100:1" "--trace --json -"; do
    (cd "$tmp" && "$STEPCAST" run --model gpt2 --gpus 1 $words >out 2>err)
    check "no value: $words" "$? $(cat "$tmp/err") $(ls "$tmp" | grep -c -e '^-')" "2 error: ${words%% *} needs a value (FILE) 0"
done
(cd "$tmp" && "$STEPCAST" run --model gpt2 --gpus 1 --json=--odd >/dev/null)
check value_that_looks_like_one "$(head -c 1 "$tmp/--odd")" "{"
