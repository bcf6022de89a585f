#!/bin/sh
# Hugging Face configurations as they lie in public repositories: the count of
# parameters, or a refusal that names the reason.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
configs=${STEPCAST_SHARED:-../shared}/inputs/hf
if ! [ -d "$configs" ]; then
    echo "skip hf_configs [needs shared]"
    exit 0
fi

# On one GPU the weights are all of the model, 2 bytes each (bf16).
# count NAME MILLIONS: within half a per cent
count() {
    "$STEPCAST" run --model "$configs/$1_config.json" --gpus 1 --seq 1024 --mtp-num-layers 0 --ignore-memory --json "$tmp/r.json" >/dev/null 2>"$tmp/err" || {
        echo "not ok $1: $(head -1 "$tmp/err")"
        return
    }
    python3 -S - "$tmp/r.json" "$2" <<'P' && echo "ok $1" || echo "not ok $1"
import json, sys
got = json.load(open(sys.argv[1]))["memory_bytes"]["weights"] / 2e6
sys.exit(abs(got / float(sys.argv[2]) - 1) > 0.005 and f"{got} million, wanted {sys.argv[2]}")
P
}
# published: Llama 4's language models, Qwen3-8B, Kimi K2, MiniMax-M2.5, MPT-7B
count meta-llama--Llama-4-Scout-17B-16E-Instruct 107800
count meta-llama--Llama-4-Maverick-17B-128E-Instruct 400700
count Qwen--Qwen3-VL-8B-Instruct 8190.7
count moonshotai--Kimi-K2.5 1030000
count MiniMaxAI--MiniMax-M2.5 229000
count mosaicml_mpt-7b 6649.3
# Nemotron-H 56.3 B, Nemotron 3 Nano 31.6 B; Qwen3.5's language model, 35 B less its tower
count nvidia--Nemotron-H-56B-Base-8K 56300
count nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 31600
count Qwen--Qwen3.5-35B-A3B 34660
# DeepSeek-V3's 671,026 million and in each of 61 layers an indexer of 1536·64·128 +
# 7168·(128 + 64) + 2·128; GLM-5 744 B
count deepseek-ai--DeepSeek-V3.2 671878
count zai-org--GLM-5 744000
# Gemma 4: 25.2 B; of h 2816 and 30 layers 25·256·(16 + 8 + 8 + 16)h, 5·512·(16 + 2 + 16)h,
# 3·2112h and 128·3·704h each, vocabulary 262144h
count google--gemma-4-26B-A4B 25233
# models cut to one layer: added up by hand, matrices and embeddings
#   attention 4h², feed-forward 2hf or (gated) 3hf, vocabulary 2Vh, or Vh where tied
count baichuan 615.8     # h 2048, f 13696, V 125696
count bloom 564.1        # h 2048, f 8192, V 250880, tied
count chatglm 359.9      # h 2048, f 13696, V 65024, 2 of 16 heads for keys and values
count gptbigcode 227.0   # h 2048, f 24576, V 49152, tied, 1 of 16 heads, 8192 positions
count gptj 614.2         # h 4096, f 16384, V 50400
count phi 340.8          # h 2560, f 10240, V 51200
count stablelm 462.4     # h 2048, f 5632, V 100352

refuse() { expect "$1" 3 "$2" "$STEPCAST" run --model "$configs/$1_config.json" --gpus 1 --ignore-memory; }
refuse simai_deepseek_v3 '"n_routed_experts" is missing or 0'
sed 's/"mimo"/"unheard_of"/' "$configs/XiaomiMiMo--MiMo-7B-Base_config.json" >"$tmp/unheard_of.json"
expect like_llama 0 'is not known and was read as a Llama' \
    "$STEPCAST" run --model "$tmp/unheard_of.json" --gpus 1 --ignore-memory --json -
