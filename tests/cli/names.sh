#!/bin/sh
# Names as people write them: models, GPUs and clusters in any case and spelling, ids
# of Hugging Face, and hints that stay in the family.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
show() { "$STEPCAST" show --gpus 1 --global-batch 1 --seq 128 --ignore-memory --model "$@"; }
workload() { show "$1" --json "$tmp/json" >"$tmp/text" && sed '/"notes"/,$d' "$tmp/json"; }

# every preset in capitals, with _ for -
wrong=none
for file in data/models/*.json; do
    name=$(basename "$file" .json)
    other=$(echo "$name" | tr 'a-z-' 'A-Z_')
    workload "$name" >"$tmp/a" && workload "$other" >"$tmp/b" && cmp -s "$tmp/a" "$tmp/b" || wrong="$wrong $other"
done
check every_model_in_capitals "$wrong" none
check the_workload_is_written "$(grep -c compute_us "$tmp/a")" 1

while read -r id preset; do
    workload "$preset" >"$tmp/a"
    workload "$id" >"$tmp/b"
    cmp -s "$tmp/a" "$tmp/b"
    check "$id" "$? $(grep -c "$id is read as the preset $preset\$" "$tmp/text")" "0 1"
done <<'P'
meta-llama/Llama-3.1-70B llama3.1-70b
databricks/dbrx-instruct dbrx
HuggingFaceTB/SmolLM3-3B smollm3-3b
internlm/internlm2-7b internlm2-7b
ibm-granite/granite-3.1-8b-instruct granite-3.1-8b
baichuan-inc/Baichuan2-7B-Base baichuan2-7b
TinyLlama/TinyLlama-1.1B-Chat-v1.0 tinyllama-1.1b
codellama/CodeLlama-34b-hf codellama-34b
mistralai/Codestral-22B-v0.1 codestral-22b
meta-llama/Llama-3.1-70B-Instruct llama3.1-70b
meta-llama/Meta-Llama-3-8B llama3-8b
meta-llama/Llama-2-7b-chat-hf llama2-7b
meta-llama/Llama-3.2-1B llama3.2-1b
Qwen/Qwen3-30B-A3B qwen3-30b-a3b
Qwen/Qwen3-30B-A3B-Base qwen3-30b-a3b
qwen/qwen2.5-72b-instruct qwen2.5-72b
deepseek-ai/DeepSeek-V3-Base deepseek-v3
deepseek-ai/deepseek-llm-67b-chat deepseek-llm-67b
google/gemma-2-9b-it gemma2-9b
openai/gpt-oss-120b gpt-oss-120b
openai-community/gpt2-xl gpt2-xl
facebook/opt-1.3b opt-1.3b
EleutherAI/pythia-6.9b pythia-6.9b
tiiuae/falcon-40b-instruct falcon-40b
microsoft/phi-4 phi4
zai-org/GLM-4.5-Air glm-4.5-air
moonshotai/Kimi-K2-Instruct kimi-k2
01-ai/Yi-34B-Chat yi-34b
Llama-3.1-8B-Instruct llama3.1-8b
meta-llama/Llama-4-Scout-17B-16E-Instruct llama4-scout-17b-16e
deepseek-ai/DeepSeek-R1-0528 deepseek-v3
deepseek-ai/DeepSeek-R1-Distill-Qwen-7B qwen2.5-7b
deepseek-ai/DeepSeek-R1-Distill-Llama-8B llama3.1-8b
unsloth/DeepSeek-R1-Distill-Llama-8B llama3.1-8b
mistral-community/Mixtral-8x22B-v0.1 mixtral-8x22b
deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct deepseek-v2-lite
Qwen/Qwen2.5-Coder-32B-Instruct qwen2.5-32b
mistralai/Mistral-7B-Instruct-v0.1 mistral-7b-v0.1
mistralai/Mistral-7B-Instruct-v0.2 mistral-7b
mistralai/Mistral-7B-Instruct-v0.3 mistral-7b-v0.3
mistralai/Mistral-Nemo-Instruct-2407 mistral-nemo-12b
microsoft/Phi-3-mini-4k-instruct phi3-mini
EleutherAI/pythia-1.4b-deduped pythia-1.4b
bigscience/bloom bloom-176b
zai-org/GLM-4.7-FP8 glm-4.5
P
expect model_plain 0 "" show Llama-3-70B
check no_note_for_spelling "$(test -s "$tmp/out" && grep -c 'is read as' "$tmp/out")" 0

# what only looks alike is another model
expect digits_stay_apart 2 "there is no model 'llama3-3b'" show llama3-3b
expect another_publisher 2 "there is no model 'acme/Llama-3.1-70B'" show acme/Llama-3.1-70B
expect another_version 2 "there is no model 'mistralai/Mistral-7B-v0.4'" show mistralai/Mistral-7B-v0.4
# near the shape of a preset: an output embedding of its own, another window, another publisher
for near in deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B microsoft/Phi-3-mini-128k-instruct acme/DeepSeek-R1 Qwen/DeepSeek-R1; do
    expect "near $near" 2 "there is no model '$near'" show "$near"
done
expect only_an_ending 2 "there is no model '-instruct'" show -instruct
expect no_name 2 "there is no model ''" show ""
expect publisher_only 2 "there is no model 'meta-llama/'" show meta-llama/
expect family_hint 2 "did you mean qwen3-32b?" show Qwen3-33B
long=$(printf '%5000s' | tr ' ' x)
expect long_name 2 "there is no model" show "$long"

# a file of that name is a file
cp data/models/gpt2.json "$tmp/LLAMA3-70B"
(cd "$tmp" && workload LLAMA3-70B >b)
workload gpt2 >"$tmp/a"
test -s "$tmp/a" && cmp -s "$tmp/a" "$tmp/b"
check file_before_spelling $? 0

gpu() { "$STEPCAST" kernels --num-layers 1 --hidden-size 4096 --num-attention-heads 32 --gpu "$@"; }
expect gpu_capitals 0 "H100 SXM5" gpu "NVIDIA H100 SXM"
for name in Gaudi3 Trainium2 TPU-v5p "RX 7900" A770; do
    expect "gpu $name" 2 "there is no GPU '$name'" gpu "$name"
    check "hint $name" "$(grep -c "see 'stepcast list gpus'" "$tmp/err") $(grep -c 'did you mean' "$tmp/err")" "1 0"
done
# as PyTorch names them
expect gpu_of_torch_tesla 0 "V100 SXM2 16 GB" gpu "Tesla V100-SXM2-16GB" --fp16
expect gpu_of_torch_amd 0 "Instinct MI300X" gpu "AMD Instinct MI300X"
expect gpu_of_torch_geforce 0 "RTX 5090" gpu "NVIDIA GeForce RTX 5090"
expect gpu_of_torch_a800 0 "A800 SXM4" gpu "NVIDIA A800-SXM4-80GB"
for pair in "NVIDIA GeForce RTX 4070 SUPER=RTX 4070 SUPER" "Tesla T4=T4 16 GB" "NVIDIA A10G=A10G 24 GB" "RTX 4090 24GB=RTX 4090" \
    "RTX-3060-12GB=RTX 3060 12 GB" "NVIDIA RTX PRO 6000 Blackwell Server Edition=Server Edition" \
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition=Max-Q" \
    "NVIDIA A100 80GB PCIe=A100 PCIe 80 GB" "NVIDIA B300 SXM6 AC=B300 SXM" "H100 SXM5 80GB=H100 SXM5" "H100 80GB PCIe=H100 PCIe"; do
    expect "card ${pair%%=*}" 0 "${pair#*=}" gpu "${pair%%=*}" --fp16
done
expect gpu_near 2 "did you mean h100-sxm?" gpu "H100 sxn"

for name in DGX-H100:16 dgx_h100:16 "DGXH100 gpus=16"; do
    expect "cluster $name" 0 "dgx-h100: 16 GPUs, h100-sxm" "$STEPCAST" show --cluster "$name"
done
expect cluster_ideal 0 "communication is free" "$STEPCAST" show --cluster IDEAL:8
expect cluster_other_vendor 2 "see 'stepcast list clusters', or take ideal" "$STEPCAST" show --cluster gaudi3:8

# what people type for a machine
for pair in "mi300x amd-mi300x" "DGX-H200 hgx-h200" "h100 dgx-h100" "p5en aws-p5en" "a3-mega gcp-a3-mega"; do
    check "cluster ${pair% *}" "$("$STEPCAST" show --cluster "${pair% *}:16" | head -1)" "$("$STEPCAST" show --cluster "${pair#* }:16" | head -1)"
done
