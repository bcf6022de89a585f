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

# Adam by lists of tensors is not the fused kernel: torch.optim.AdamW(foreach=True) of 0.95 B parameters alone on an H200,
# PyTorch 2.11: 21.4 ms in fp32 (fused 8.1), 12.9 ms in bf16 (fused 5.3)
lists="--num-layers 16 --hidden-size 2048 --ffn-hidden-size 5632 --num-attention-heads 16 --vocab-size 32000 --make-vocab-size-divisible-by 1 --swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear --untie-embeddings-and-output-weights --gpus 1 --gpu h200 --seq 1024 --global-batch 1 --fusion eager"
near() { awk "BEGIN { x = $1 / $2 - 1; print (x < $3 && x > -$3) ? \"near\" : x }"; }
for case in "adam-foreach fp32 21364" "adam fp32 8070" "adam-foreach bf16 12921" "adam bf16 5269"; do
    set -- $case
    check "measured update: $1 $2" "$(near "$(result $lists --optimizer $1 --dtype $2 --update plain | field work_us.optimizer)" $3 0.13)" near
done

# configurations that leave out what is as in transformers' classes: the defaults of those count, and are said
config() { printf '{"model_type": "%s", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 8, "num_attention_heads": 32, "vocab_size": 32000, "max_position_embeddings": 4096, %s}\n' "$1" "$2" >"$tmp/config.json"; }
parameters() { result --model "$tmp/config.json" --gpus 1 --seq 1024 --global-batch 1 --ignore-memory | field model.parameters; }
pair() { # type, keys that it has, keys with their defaults
    config "$1" "$2, $3"
    whole=$(parameters)
    config "$1" "$2"
    check "defaults of $1: $3" "$(parameters)" "$whole"
    expect "defaults of $1 are said: $3" 0 "the default of $1, is taken" "$STEPCAST" run --model "$tmp/config.json" --gpus 1 --seq 1024 --global-batch 1 --ignore-memory --json -
}
routed='"n_routed_experts": 16, "num_experts_per_tok": 4'
pair deepseek_v3 "$routed" '"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "moe_intermediate_size": 2048, "n_shared_experts": 1, "first_k_dense_replace": 3'
pair qwen3_moe '"num_experts": 16, "num_experts_per_tok": 4, "head_dim": 64' '"num_key_value_heads": 4, "moe_intermediate_size": 768'
pair gpt_oss '"num_local_experts": 16, "num_experts_per_tok": 4' '"num_key_value_heads": 8, "head_dim": 64, "sliding_window": 128'
pair gemma2 '"head_dim": 256' '"num_key_value_heads": 4, "sliding_window": 4096'
# Qwen: layers before max_window_layers see all keys
window() { config qwen2 "\"num_key_value_heads\": 4, \"use_sliding_window\": $1, \"sliding_window\": 512, \"max_window_layers\": $2" && step --model "$tmp/config.json" --gpus 1 --seq 4096 --global-batch 1 --ignore-memory; }
check no_layer_has_a_window "$(window true 8)" "$(window false 8)"
check all_layers_have_a_window "$(awk "BEGIN { print ($(window true 0) < $(window false 0)) }")" 1
check some_layers_have_a_window "$(awk "BEGIN { print ($(window true 0) < $(window true 4) && $(window true 4) < $(window false 0)) }")" 1

# ZeRO 2: DeepSpeed and Megatron gather the weights once a step, 2 bytes each; PyTorch's FSDP for each of 4 micro-batches
gathered() { result --model llama3-8b --num-layers 4 --gpus 8 --zero 2 --seq 1024 --global-batch 32 --micro-batch 1 --make-vocab-size-divisible-by 1 "$@" | python3 -S -c '
import json, sys
d = json.load(sys.stdin)
print(round(sum(v["bytes"] for v in d["volumes"] if v["collective"] == "ALLGATHER") / d["model"]["parameters"], 3))'; }
for software in deepspeed megatron-core-2025 hf-transformers; do check "gathered once: $software" "$(gathered --software $software)" 2.0; done
for software in fsdp1 torchtitan-2024 llm-foundry-2023; do check "gathered for each: $software" "$(gathered --software $software)" 8.0; done
check gathered_by_fsdp2 "$(gathered --use-torch-fsdp2)" 8.0

# trainers of Hugging Face: ranks stand in configurations of full fine-tuning too; the key that names the adapter decides
trainer() { printf 'micro_batch_size: 1\ngradient_accumulation_steps: 2\nsequence_len: 1024\n%b' "$1" >"$tmp/trainer.yaml" && result "$tmp/trainer.yaml" --gpus 8 --zero 3 --num-layers 4 --ignore-memory; }
base='base_model: meta-llama/Llama-3.1-8B\nbf16: true\n'
full=$(trainer "$base" | field step_time_us)
for adapter in 'adapter:\n' 'adapter: null\n' ''; do check "full fine-tuning, ${adapter%\\n}" "$(trainer "$base${adapter}lora_r: 16\n" | field step_time_us)" "${full:-nothing}"; done
trainer "${base}adapter:\nlora_r: 16\n" >"$tmp/full.json"
check rank_without_adapter "$(grep -c 'lora_r has no effect: no adapter is named' "$tmp/full.json")" 1
check adapter_is_named "$(trainer "${base}adapter: lora\nlora_r: 16\n" | field settings.lora settings.qlora) $(trainer "${base}adapter: qlora\nlora_r: 16\n" | field settings.lora settings.qlora)" "16 no 16 yes"
expect unknown_adapter 3 "adapter llama-adapter is not modelled" sh -c "printf '${base}adapter: llama-adapter\nlora_r: 16\nmicro_batch_size: 1\nsequence_len: 1024\n' >'$tmp/trainer.yaml' && '$STEPCAST' run '$tmp/trainer.yaml' --gpus 8"
factory='model_name_or_path: meta-llama/Llama-3.1-8B\nbf16: true\nlora_rank: 8\n'
check factory_full "$(trainer "${factory}finetuning_type: full\ndisable_gradient_checkpointing: true\n" | field step_time_us)" "${full:-nothing}"
check factory_lora "$(trainer "${factory}finetuning_type: lora\n" | field settings.lora)" 8
expect factory_other 3 "finetuning_type oft is not modelled" sh -c "printf '${factory}finetuning_type: oft\nsequence_len: 1024\n' >'$tmp/trainer.yaml' && '$STEPCAST' run '$tmp/trainer.yaml' --gpus 8"
# … and the types that are off are not on
check trainer_in_fp32 "$(trainer 'base_model: meta-llama/Llama-3.1-8B\nbf16: false\n' | field settings.dtype) $(trainer 'base_model: meta-llama/Llama-3.1-8B\nbf16: false\nfp16: true\n' | field settings.dtype) $(trainer 'base_model: meta-llama/Llama-3.1-8B\nbf16: auto\n' | field settings.dtype)" "fp32 fp16 bf16"
deepspeed() { printf '{"bf16": {"enabled": %s}, "zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 2}\n' "$1" >"$tmp/ds.json" && result "$tmp/ds.json" --model llama3-8b --num-layers 4 --seq 1024 --gpus 8 --ignore-memory | field settings.dtype; }
check deepspeed_in_fp32 "$(deepspeed false) $(deepspeed true)" "fp32 bf16"
script="--num-layers 4 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 8 --vocab-size 32000"
for type in "" --bf16 --fp16; do
    echo "python pretrain_gpt.py $script $type" >"$tmp/launch.sh"
    result --megatron-args "$tmp/launch.sh" --gpus 1 >"$tmp/launch.json"
    check "type of a script: $type" "$(grep -c '"mfu"' "$tmp/launch.json") $(grep -c 'has neither --bf16 nor --fp16' "$tmp/launch.json")" "1 $([ -n "$type" ] && echo 0 || echo 1)"
done
# without expert parallelism there is no exchange to hide
moe="--model mixtral-8x7b --num-layers 4 --gpus 16 --seq 2048 --zero 2 --global-batch 64 --dtype fp16 --cluster dgx-h100:16 --ignore-memory"
check no_exchange_to_hide "$(step $moe --overlap-moe yes)" "$(step $moe --overlap-moe no)"
check an_exchange_to_hide "$(awk "BEGIN { print ($(step $moe --ep 8 --overlap-moe yes) < $(step $moe --ep 8 --overlap-moe no)) }")" 1
