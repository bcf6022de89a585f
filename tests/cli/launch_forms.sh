#!/bin/sh
# Forms of launch scripts and configurations that public repositories have: against the
# preset of the same model, or against counts by hand.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
# said FILE KEY …: values of the result
said() {
    input=$1
    shift
    "$STEPCAST" run $input --ignore-memory --json "$tmp/result.json" >"$tmp/out" 2>"$tmp/err" || { head -1 "$tmp/err"; return; }
    for key in "$@"; do sed -n "s/.*\"$key\": *\"*\([^\",}]*\).*/\1/p" "$tmp/result.json" | head -1; done | paste -s -d ' '
}
preset() { said "--model $1 --seq 4096" parameters step_time_us; }

# Layers of several kinds: gated delta nets (Qwen3.5), letters (Nemotron 3), a module that
# makes them (Qwen3-Next)
cat >"$tmp/delta.sh" <<'X'
NLAYERS=40
arr=()
for ((i=0; i<NLAYERS; i++)); do if (( i < 0 )); then arr+=(0); else arr+=(1); fi; done
printf -v MOE_LAYER_FREQ "[%s]" "$(IFS=', '; echo "${arr[*]}")"
MODEL_ARGS=(
   --spec "plugins.models.qwen3_5" "get_spec"
   --disable-bias-linear --qk-layernorm --group-query-attention --num-attention-heads 16 --num-query-groups 2 --kv-channels 256
   --num-layers 40 --hidden-size 2048 --use-gated-attention --normalization RMSNorm --position-embedding-type rope --swiglu
   --untie-embeddings-and-output-weights --vocab-size 248320 --cross-entropy-loss-fusion
   --moe-ffn-hidden-size 512 --moe-shared-expert-intermediate-size 512 --moe-router-topk 8 --moe-layer-freq "$MOE_LAYER_FREQ" --num-experts 256 --moe-grouped-gemm
   --attention-output-gate --moe-shared-expert-gate --linear-attention-freq 4 --linear-conv-kernel-dim 4
   --linear-key-head-dim 128 --linear-value-head-dim 128 --linear-num-key-heads 16 --linear-num-value-heads 32
)
X
check delta_nets "$(said "$tmp/delta.sh --seq 4096" parameters step_time_us)" "$(preset qwen3.5-35b-a3b)"
sed 's/--linear-attention-freq 4/--linear-attention-freq "([1]*3+[0]*1)*10"/' "$tmp/delta.sh" >"$tmp/list.sh"
check delta_nets_in_a_list "$(said "$tmp/list.sh --seq 4096" parameters step_time_us)" "$(preset qwen3.5-35b-a3b)"
sed '/^ *--attention-output-gate/s/--linear.*//; /^ *--linear/d; s/ --use-gated-attention//' "$tmp/delta.sh" >"$tmp/spec.sh"
check delta_nets_of_a_module "$(said "$tmp/spec.sh --seq 4096" parameters step_time_us)" "$(preset qwen3.5-35b-a3b)"
cat >"$tmp/letters.sh" <<'X'
MODEL_ARGS=(
   --num-layers 52 --hidden-size 2688 --ffn-hidden-size 1856 --num-attention-heads 32 --group-query-attention --num-query-groups 2 --kv-channels 128
   --normalization RMSNorm --position-embedding-type none --disable-bias-linear --squared-relu --untie-embeddings-and-output-weights --vocab-size 131072
   --hybrid-override-pattern "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
   --mamba-num-heads 64 --mamba-head-dim 64 --mamba-state-dim 128 --mamba-num-groups 8
   --num-experts 128 --moe-ffn-hidden-size 1856 --moe-router-topk 6 --moe-shared-expert-intermediate-size 3712 --moe-grouped-gemm
)
X
# the preset has a bias for each expert's score, 128 in each of 23 layers
check letters "$(said "$tmp/letters.sh --seq 4096" parameters | awk '{ printf "%.0f", $1 + 23 * 128 }')" "$(preset nemotron-3-nano-30b-a3b | awk '{ print $1 }')"
sed 's/--num-layers 52 //; s/--hybrid-override-pattern "MEMEM/--hybrid-layer-pattern "ME|MEM/' "$tmp/letters.sh" >"$tmp/stages.sh"
check letters_with_stages "$(said "$tmp/stages.sh --seq 4096" parameters)" "$(said "$tmp/letters.sh --seq 4096" parameters)"
sed 's/"MEMEM/"MEMXM/' "$tmp/letters.sh" >"$tmp/unknown.sh"
expect unknown_letter 2 "layer 3 is 'X'" "$STEPCAST" run "$tmp/unknown.sh"
sed 's/"MEMEM/"MEM/' "$tmp/letters.sh" >"$tmp/short.sh"
expect too_few_letters 2 'has 50 layers, --num-layers is 52' "$STEPCAST" run "$tmp/short.sh"
sed 's/--num-experts 128//' "$tmp/letters.sh" >"$tmp/dense.sh"
expect experts_without_a_number 2 'has experts (E), and --num-experts is missing' "$STEPCAST" run "$tmp/dense.sh"
sed 's/--mamba-num-groups 8/--mamba-num-groups 7/' "$tmp/letters.sh" >"$tmp/groups.sh"
expect groups_that_do_not_divide 2 '64 heads of Mamba cannot share 7 groups' "$STEPCAST" run "$tmp/groups.sh"
sed 's/--linear-attention-freq 4/--linear-attention-freq [1,2]/' "$tmp/delta.sh" >"$tmp/two.sh"
expect list_of_other_numbers 2 "'[1,2]' is not understood" "$STEPCAST" run "$tmp/two.sh"
sed 's/qwen3_5/gemma4/' "$tmp/delta.sh" >"$tmp/gemma.sh"
expect module_of_other_layers 3 'head sizes of their own' "$STEPCAST" run "$tmp/gemma.sh"
sed 's/qwen3_5/of_mine/' "$tmp/delta.sh" >"$tmp/mine.sh"
expect module_that_is_not_read 0 'the layers are made by --spec plugins.models.of_mine' "$STEPCAST" run "$tmp/mine.sh" --ignore-memory --seq 4096 --json -

# parts of all layers: NVIDIA's Mamba-2 hybrid of 8.66 B, whose pattern is published
hybrid='torchrun --nproc_per_node 8 pretrain_mamba.py --tensor-model-parallel-size 4 --untie-embeddings-and-output-weights --position-embedding-type none --num-layers 56 --hidden-size 4096 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --seq-length 4096 --vocab-size 256000 --micro-batch-size 4 --global-batch-size 8 --disable-bias-linear --normalization RMSNorm --bf16 --spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec'
echo "$hybrid --hybrid-attention-ratio 0.08 --hybrid-mlp-ratio 0.5" >"$tmp/ratio.sh"
echo "$hybrid --hybrid-override-pattern M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-" >"$tmp/pattern.sh"
check ratios_as_letters "$(said "$tmp/ratio.sh" parameters step_time_us)" "$(said "$tmp/pattern.sh" parameters step_time_us)"
check ratios_published "$(said "$tmp/ratio.sh" parameters | awk '{ printf "%.2f", $1 / 1e9 }')" 8.65
echo "$hybrid" >"$tmp/alone.sh"
expect mamba_alone 3 'layers of Mamba alone are not modelled' "$STEPCAST" run "$tmp/alone.sh"
echo "$hybrid --hybrid-attention-ratio 0.8 --hybrid-mlp-ratio 0.5" >"$tmp/more.sh"
expect ratios_above_one 2 'are more than 1' "$STEPCAST" run "$tmp/more.sh"
echo "$hybrid --hybrid-attention-ratio -0.1" >"$tmp/less.sh"
expect ratio_below_nothing 2 'hybrid-attention-ratio' "$STEPCAST" run "$tmp/less.sh"

# 0 of both is Megatron's default and makes no Mamba of a model without
for words in "--hybrid-attention-ratio 0" "--hybrid-attention-ratio 0.0 --hybrid-mlp-ratio 0"; do
    expect "a default ratio: $words" 0 "is Megatron's default" "$STEPCAST" run --model llama3-8b --ignore-memory $words
    check "a default ratio changes nothing: $words" "$("$STEPCAST" run --model llama3-8b --ignore-memory $words | grep -a "step time")" \
        "$("$STEPCAST" run --model llama3-8b --ignore-memory | grep -a "step time")"
done
echo "$hybrid --hybrid-attention-ratio 0.0" >"$tmp/zero.sh"
expect mamba_by_default_ratio 3 'layers of Mamba alone are not modelled' "$STEPCAST" run "$tmp/zero.sh"
expect ratio_and_delta 2 'both say what the layers are' "$STEPCAST" run --model llama3-8b --ignore-memory --hybrid-attention-ratio 0.1 --linear-attention-freq 4

# MaxText: latent attention, shared experts, numbers with underscores, windows
printf 'base_emb_dim: 2048\nbase_num_query_heads: 16\nbase_num_kv_heads: 16\nbase_mlp_dim: 10944\nbase_moe_mlp_dim: 1408\nbase_num_decoder_layers: 27\nfirst_num_dense_layers: 1\nmlp_activations: ["silu","linear"]\nvocab_size: 102_400\nlogits_via_embedding: False\nnum_experts: 64\nnum_experts_per_tok: 6\nshared_experts: 2\ndecoder_block: "deepseek"\nattention_type: "mla"\nq_lora_rank: 0\nkv_lora_rank: 512\nqk_nope_head_dim: 128\nqk_rope_head_dim: 64\nv_head_dim: 128\n' >"$tmp/maxtext.yml"
check maxtext_latent "$(said "$tmp/maxtext.yml --seq 4096" parameters)" "$(preset deepseek-v2-lite | awk '{ print $1 }')"
printf 'base_num_decoder_layers: 48\nbase_emb_dim: 3840\nbase_num_query_heads: 16\nbase_num_kv_heads: 8\nbase_mlp_dim: 15360\nhead_dim: 256\nmlp_activations: ["gelu","linear"]\nvocab_size: 262_144\ndecoder_block: "gemma3"\nlogits_via_embedding: True\nsliding_window_size: 1024\n' >"$tmp/gemma3.yml"
check maxtext_window "$(said "$tmp/gemma3.yml --seq 32768" parameters | awk '{ printf "%.2f", $1 / 1e9 }')" 11.77
sed '/sliding/d' "$tmp/gemma3.yml" >"$tmp/global.yml"
check maxtext_window_is_faster "$(echo "$(said "$tmp/gemma3.yml --seq 32768" step_time_us) $(said "$tmp/global.yml --seq 32768" step_time_us)" | awk '{ print ($1 > 0 && $1 < 0.9 * $2) ? "yes" : $0 }')" yes
# untied unless it says otherwise; GPT-3's layers have biases and learned positions
printf 'decoder_block: "qwen3_moe"\nbase_emb_dim: 2048\nbase_num_query_heads: 32\nbase_num_kv_heads: 4\nbase_num_decoder_layers: 48\nhead_dim: 128\nmlp_activations: ["silu", "linear"]\nvocab_size: 151936\nuse_qk_norm: True\nnum_experts: 128\nnum_experts_per_tok: 8\nbase_moe_mlp_dim: 768\n' >"$tmp/qwen3.yml"
check maxtext_untied "$(said "$tmp/qwen3.yml --seq 4096" parameters)" "$(preset qwen3-30b-a3b | awk '{ print $1 }')"
printf 'base_emb_dim: 1024\nbase_num_query_heads: 16\nbase_num_kv_heads: 16\nbase_mlp_dim: 4096\nbase_num_decoder_layers: 4\nhead_dim: 64\ntrainable_position_size: 16384\nmlp_activations: ["gelu"]\nvocab_size: 50304\nlogits_via_embedding: True\ndecoder_block: "gpt3"\n' >"$tmp/gpt3.yml"
check maxtext_gpt3 "$(said "$tmp/gpt3.yml --seq 2048" parameters)" "$(awk 'BEGIN { h = 1024; printf "%.0f", (50304 + 16384) * h + 4 * (12 * h * h + 13 * h) + 2 * h }')"
printf 'model_name: "llama2-70b"\nper_device_batch_size: 0.125\nmax_target_length: 4096\n' >"$tmp/shared.yml"
expect maxtext_fraction 0 'several devices share a sequence' "$STEPCAST" run "$tmp/shared.yml" --ignore-memory --json -

# torchtitan: a name and a flavor
titan() { printf '[model]\nname = "%s"\nflavor = "%s"\n[training]\nseq_len = 4096\nlocal_batch_size = 1\n[parallelism]\ndata_parallel_shard_degree = 8\n' "$1" "$2" >"$tmp/titan.toml"; said "$tmp/titan.toml" parameters; }
check flavor_16b "$(titan deepseek_v3 16B)" "$(preset deepseek-v2-lite | awk '{ print $1 }')"
check flavor_671b "$(titan deepseek_v3 671B)" "$(preset deepseek-v3 | awk '{ print $1 }')"
check flavor_70b "$(titan llama3 70B)" "$(preset llama3-70b | awk '{ print $1 }')"
check flavor_of_experts "$(titan llama4 17bx16e)" "$(preset llama4-scout-17b-16e | awk '{ print $1 }')"
titan deepseek_v3 999B >/dev/null
expect no_such_flavor 3 'the model deepseek_v3 999B is not known' "$STEPCAST" run "$tmp/titan.toml"

# Primus: a default in a longer value, a version behind a name, latent attention taken away
primus() { printf 'modules:\n  pre_trainer:\n    model: %s\n    overrides:\n      seq_length: ${PRIMUS_SEQ:4096}\n      tensor_model_parallel_size: ${PRIMUS_TP:1}\n      micro_batch_size: 1\n      global_batch_size: 8\n%s' "$1" "$2" >"$tmp/primus.yaml"; said "$tmp/primus.yaml" parameters; }
check default_in_a_value "$(primus '${PRIMUS_MODEL:deepseek_v2_lite}.yaml')" "$(preset deepseek-v2-lite | awk '{ print $1 }')"
check version_behind_a_name "$(primus mixtral_8x7B_v0.1.yaml)" "$(preset mixtral-8x7b | awk '{ print $1 }')"
# 27 layers of 16 heads: q, k, v and o of 2048·2048 and two norms less in place of q 2048·3072, down 2048·576 (with a norm of 512), up 512·4096, o 2048·2048
check plain_attention "$(primus deepseek_v2_lite.yaml '      multi_latent_attention: false
')" "$(preset deepseek-v2-lite | awk '{ printf "%.0f", $1 + 27 * (4 * 2048 * 2048 - (2048 * 3072 + 2048 * 576 + 512 + 512 * 4096 + 2048 * 2048)) }')"

# FlagScale: 8/3 of 6144 times 1.3, up to the next 4096, is 24576; MindSpeed's schedule
printf 'system:\n  tensor_model_parallel_size: 1\n  pipeline_model_parallel_size: 2\n  disable_bias_linear: True\n  schedules_method: dualpipev\n  moe_fb_overlap: true\nmodel:\n  num_layers: 4\n  hidden_size: 6144\n  num_attention_heads: 48\n  num_query_groups: 8\n  hidden_dim_multiplier: 1.3\n  multiple_of: 4096\n  swiglu: true\n  normalization: RMSNorm\n  position_embedding_type: rope\n  untie_embeddings_and_output_weights: true\n  seq_length: 4096\n  micro_batch_size: 1\n  global_batch_size: 8\n  vocab_size: 128000\n' >"$tmp/flag.yaml"
check multiple_of "$(said "$tmp/flag.yaml" parameters schedule)" "$(awk 'BEGIN { h = 6144; kv = 8 * 128; printf "%.0f dualpipev", 2 * 128000 * h + 4 * (2 * h * h + 2 * h * kv + 3 * h * 24576 + 2 * h) + h }')"
expect not_modelled_in_yaml 0 'changes the step and are not modelled: --moe-fb-overlap' sh -c '"$0" run "$1" --ignore-memory --json - | sed "s/change the step/changes the step/"' "$STEPCAST" "$tmp/flag.yaml"
sed 's/multiple_of: 4096/multiple_of: x/' "$tmp/flag.yaml" >"$tmp/multiple.yaml"
expect multiple_of_nothing 3 'are no sizes' "$STEPCAST" run "$tmp/multiple.yaml"

# GPT-NeoX: experts (without biases), one a token, in every second layer (expert_interval is 2
# unless it is said); a norm without weights
printf '{\n "pipe_parallel_size": 1,\n "num_layers": 4,\n "hidden_size": 1024,\n "num_attention_heads": 16,\n "seq_length": 2048,\n "norm": "layernorm",\n "pos_emb": "rotary",\n "no_weight_tying": true,\n "moe_num_experts": 8,\n "train_micro_batch_size_per_gpu": 4,\n}\n' >"$tmp/neox.yml"
neox_layers() { # with experts, without
    awk -v e="$1" -v d="$2" 'BEGIN { h = 1024; a = 4 * h * h + 4 * h + 4 * h; printf "%.0f", 2 * 50304 * h + e * (a + 8 * 8 * h * h + 8 * h) + d * (a + 8 * h * h + 5 * h) + 2 * h }'
}
check neox_experts "$(said "$tmp/neox.yml --vocab-size 50304" parameters)" "$(neox_layers 2 2)"
sed 's/"moe_num_experts"/"moe_expert_interval": 1,\n "moe_num_experts"/' "$tmp/neox.yml" >"$tmp/each.yml"
check neox_experts_in_each "$(said "$tmp/each.yml --vocab-size 50304" parameters)" "$(neox_layers 4 0)"
# their older name, and over how many ranks they are
sed 's/"moe_num_experts"/"moe_expert_parallel_size": 4,\n "num_experts"/' "$tmp/neox.yml" >"$tmp/older.yml"
check neox_older_experts "$(said "$tmp/older.yml --vocab-size 50304 --gpus 8" parameters ep)" "$(neox_layers 2 2) 4"
sed 's/"moe_num_experts"/"ffn_hidden_size": 512,\n "moe_num_experts"/' "$tmp/neox.yml" >"$tmp/foreign.yml"
expect neox_foreign_size 3 'foreign.yml:10: error: ffn_hidden_size: by its name it shapes the model' "$STEPCAST" run "$tmp/foreign.yml"
check neox_one_micro_batch "$(said "$tmp/neox.yml" micro_batches)" 1
sed 's/"layernorm"/"non_parametric_layernorm"/' "$tmp/neox.yml" >"$tmp/olmo.yml"
check neox_norm_without_weights "$(said "$tmp/olmo.yml" micro_batches)" 1

# the recipe of fp8 stands in configurations that do not turn it on (te_fp8_mha), beside a precision
sed 's/"no_weight_tying"/"te_mha": true,\n "precision": "bfloat16",\n "te_fp8_mha": true,\n "te_fp8_format": "hybrid",\n "no_weight_tying"/' "$tmp/neox.yml" >"$tmp/eight.yml"
expect neox_fp8 0 '· fp8' "$STEPCAST" run "$tmp/eight.yml" --ignore-memory
sed 's/"te_fp8_mha": true/"te_fp8_mha": false/' "$tmp/eight.yml" >"$tmp/sixteen.yml"
check neox_fp8_off "$("$STEPCAST" run "$tmp/sixteen.yml" --ignore-memory 2>/dev/null | grep '· bf16 ·' | grep -vc '· fp8')" 1

# GPT-NeoX gives the products of a gated feed-forward a third of intermediate_size each: its
# configurations of Llama 2 13B and, of its older kind (mlp_type), of Llama 7B are those models
neox_llama() { # layers, width, heads, the feed-forward
    printf '{\n "pipe-parallel-size": 1,\n "make_vocab_size_divisible_by": 1,\n "num-layers": %s,\n "hidden-size": %s,\n "num-attention-heads": %s,\n "seq-length": 2048,\n "norm": "rmsnorm",\n "pos-emb": "rotary",\n "no-weight-tying": true,\n "use_bias_in_attn_linear": false,\n %s,\n "train_micro_batch_size_per_gpu": 1,\n}\n' "$@" >"$tmp/llama.yml"
    said "$tmp/llama.yml --vocab-size 32000" parameters
}
check neox_gated "$(neox_llama 40 5120 40 '"intermediate_size": 41472, "mlp_multiple_of": 256, "activation": "swiglu"')" 13015864320
check neox_mlp_type "$(neox_llama 32 4096 32 '"mlp-type": "llama", "activation": "silu"')" 6738415616
check neox_mlp_type_with_size "$(neox_llama 32 4096 32 '"mlp_type": "llama", "intermediate_size": 11008')" 6738415616
expect neox_other_layers 3 'layers of mamba are not modelled' sh -c 'sed "s/\"norm\"/\"attention_config\": [[[\"mamba\"], 32]],\n &/" "$1" >"$1.mamba.yml" && "$0" run "$1.mamba.yml"' "$STEPCAST" "$tmp/llama.yml"
printf 'model:\n  type: llama\n  num_layers: 26\ntrainer:\n  train_batch_size: 1024\n' >"$tmp/levanter.yaml"
expect batch_in_a_section 3 'no configuration that we know' "$STEPCAST" run "$tmp/levanter.yaml" --model llama2-7b
# MindSpeed-LLM's names of latent attention and experts: DeepSeek-V2's, of 16 layers
latent='--num-layers 16 --hidden-size 5120 --ffn-hidden-size 12288 --num-attention-heads 128 --q-lora-rank 1536 --kv-lora-rank 512 --v-head-dim 128 --num-experts 160 --moe-router-topk 6 --n-shared-experts 2 --first-k-dense-replace 1 --moe-layer-freq 1 --swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear --untie-embeddings-and-output-weights --padded-vocab-size 102400 --seq-length 4096 --bf16 --micro-batch-size 1 --global-batch-size 8'
echo "torchrun --nproc_per_node 8 pretrain_gpt.py $latent --multi-head-latent-attention --qk-rope-head-dim 64 --qk-nope-head-dim 128 --moe-intermediate-size 1536 --num-nextn-predict-layers 1" >"$tmp/mind.sh"
echo "torchrun --nproc_per_node 8 pretrain_gpt.py $latent --multi-latent-attention --qk-pos-emb-head-dim 64 --qk-head-dim 128 --moe-ffn-hidden-size 1536 --mtp-num-layers 1" >"$tmp/plain.sh"
check mindspeed_names "$(said "$tmp/mind.sh" parameters step_time_us)" "$(said "$tmp/plain.sh" parameters step_time_us)"
printf 'base_model: NousResearch/Meta-Llama-3-8B\nadapter: lora\nlora_r: 8\nsequence_len: 2048\nmicro_batch_size: 1\nlora_modules_to_save:\n  - embed_tokens\n' >"$tmp/lora.yml"
expect modules_trained_whole 0 'lora_modules_to_save.0 embed_tokens changes the step' "$STEPCAST" run "$tmp/lora.yml" --ignore-memory --json -

# Megatron-DeepSpeed: experts in every second layer, one a token; 1 is none
deepspeed='deepspeed --num_nodes 8 --num_gpus 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 50257 --micro-batch-size 4 --global-batch-size 256 --fp16 --deepspeed --moe-expert-parallel-size'
echo "$deepspeed 64 --num-experts 128" >"$tmp/moe.sh"
check deepspeed_experts "$(said "$tmp/moe.sh" ep parameters | awk '{ printf "%s %.1f", $1, $2 / 1e9 }')" "64 13.1"
echo "$deepspeed 1 --num-experts 1" >"$tmp/one.sh"
check deepspeed_without_experts "$(said "$tmp/one.sh" parameters | awk '{ printf "%.2f", $1 / 1e9 }')" 0.36
# the vocabulary by a folder's name, and by the kind of tokenizer
megatron='torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 --num-attention-heads 32 --seq-length 2048 --max-position-embeddings 2048 --position-embedding-type rope --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --micro-batch-size 1 --global-batch-size 8 --bf16 --tensor-model-parallel-size 1'
echo "$megatron --tokenizer-type HFTokenizer --tokenizer-model /data/models/Llama2-7b-hf" >"$tmp/folder.sh"
check vocabulary_of_a_folder "$(said "$tmp/folder.sh" parameters)" "$(preset llama2-7b | awk '{ print $1 }')"
echo "$megatron --tokenizer-type GPTSentencePieceTokenizer --tokenizer-model ./tokenizer.model" >"$tmp/pieces.sh"
check vocabulary_of_pieces "$(said "$tmp/pieces.sh" parameters)" "$(preset llama2-7b | awk '{ print $1 }')"
# ids with endings that say how the weights are stored
for id in hugging-quants/Meta-Llama-3.1-405B-BNB-NF4-BF16 unsloth/Meta-Llama-3.1-405B-Instruct-bnb-4bit nvidia/Llama-3.1-405B-Instruct-FP8; do
    check "id $id" "$(said "--model $id --seq 4096" parameters)" "$(preset llama3.1-405b | awk '{ print $1 }')"
done
# a file that an argument names
printf '#!/bin/bash\nsource $1\npython pretrain_gpt.py ${options}\n' >"$tmp/argument.sh"
expect sourced_argument 3 'a file it sources (line 2) is not read' "$STEPCAST" run "$tmp/argument.sh"

# Dropout is Megatron's 0.1 unless a script says otherwise; the last value counts
dense="--num-layers 8 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --vocab-size 32000 --micro-batch-size 1 --global-batch-size 8 --bf16"
drop() { echo "torchrun --nproc_per_node 8 pretrain_gpt.py $dense $1" >"$tmp/drop.sh" && said "$tmp/drop.sh $2" step_time_us; }
with=$(drop "" --dropout)
without=$(drop "")
check dropout_costs_time "$(echo "$with > $without" | bc)" 1
check dropout_of_a_script "$(drop "--hidden-dropout 0.1")" "$with"
check dropout_of_attention "$(drop "--attention-dropout=.1 --hidden-dropout 0")" "$with"
check dropout_the_last_counts "$(drop "--hidden-dropout 0.1 --hidden-dropout 0.0 --attention-dropout 0")" "$without"
drop "" >/dev/null
check dropout_unsaid_is_noted "$(grep -c "leaves dropout at Megatron's 0.1" "$tmp/out")" 1
check dropout_said_is_not "$(drop "--attention-dropout 0 --hidden-dropout 0") $(grep -c "leaves dropout" "$tmp/out")" "${without:-a step} 0"
check the_last_share_counts "$(drop "--optimizer-cpu-offload --optimizer-offload-fraction 0.1 --optimizer-offload-fraction 1.0 --hidden-dropout 0")" \
    "$(drop "--optimizer-cpu-offload --optimizer-offload-fraction 1.0 --hidden-dropout 0")"
# sizes whose products do not fit 64 bits (2^93 is 0 there) are refused, not divided by
huge=2147483648
drop "--num-experts 8 --tensor-model-parallel-size $huge --context-parallel-size $huge --pipeline-model-parallel-size $huge --expert-model-parallel-size $huge --expert-tensor-parallel-size $huge" >/dev/null
expect products_of_huge_sizes 2 'is too many ranks' "$STEPCAST" run "$tmp/drop.sh"
# what is parallel over one rank is not: DeepSpeed's sequences; MindSpeed's recomputation by parts is named and shapes nothing
check one_rank_of_ulysses "$(drop "--hidden-dropout 0 --attention-dropout 0 --ds-sequence-parallel-size 1")" "${without:-a step}"
check one_rank_of_ulysses_behind_equals "$(drop "--hidden-dropout 0 --attention-dropout 0 --ds-sequence-parallel-size=1")" "${without:-a step}"
drop "--ds-sequence-parallel-size 2" >/dev/null
expect ulysses 3 'DeepSpeed-Ulysses is not modelled' "$STEPCAST" run "$tmp/drop.sh"
check recomputation_by_parts "$(drop "--hidden-dropout 0 --attention-dropout 0 --recompute-activation-function --recompute-activation-function-num-layers 2 --recompute-norm-num-layers 1 --swap-attention")" "${without:-a step}"
check recomputation_by_parts_is_named "$(tr '\n' ' ' <"$tmp/out" | tr -s ' ' | grep -c 'not modelled: --recompute-activation-function, --recompute-activation-function-num-layers, --recompute-norm-num-layers, --swap-attention')" 1
# MindSpeed's names of what Qwen3-Next's layers are
delta="$dense --hidden-dropout 0 --attention-dropout 0 --num-experts 8 --moe-ffn-hidden-size 512 --moe-shared-expert-intermediate-size 512 --linear-num-key-heads 16 --linear-num-value-heads 16 --linear-key-head-dim 128 --linear-value-head-dim 128"
kinds() { echo "torchrun --nproc_per_node 8 pretrain_gpt.py $delta $1" >"$tmp/kinds.sh" && said "$tmp/kinds.sh" parameters step_time_us; }
check names_of_mindspeed "$(kinds "--full-attention-interval 2 --shared-expert-gate")" "$(kinds "--linear-attention-freq 2 --moe-shared-expert-gate")"
check a_gate_of_the_module "$(kinds "--spec mindspeed_llm.spec.qwen3_next_spec layer_spec --full-attention-interval 4")" "$(kinds "--linear-attention-freq 4 --attention-output-gate")"
check layers_of_two_kinds "$([ "$(kinds "--full-attention-interval 2")" != "$(kinds "--full-attention-interval 4")" ] && echo yes)" yes
# sizes of the script's model under another model's name were neither of the two
echo "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 8 --vocab-size 50257 --bf16" >"$tmp/own.sh"
expect two_models 2 "own.sh (4 layers of width 1024) and --model gpt2 say what is trained" "$STEPCAST" run "$tmp/own.sh" --model gpt2
expect two_models_of_a_search 2 "own.sh (4 layers of width 1024) and --model gpt2 say what is trained" "$STEPCAST" plans --megatron-args "$tmp/own.sh" --model gpt2 --gpus 8
expect two_models_of_kernels 2 "own.sh (4 layers of width 1024) and --model gpt2 say what is trained" "$STEPCAST" kernels --megatron-args "$tmp/own.sh" --model gpt2 --gpu h100
echo '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}}' >"$tmp/zero.json"
expect a_model_beside_a_plan 0 "gpt2: 0.1244 B" "$STEPCAST" run "$tmp/zero.json" --model gpt2 --gpus 8
# files that the script writes are read as it writes them: DeepSpeed's by variables, in pieces, by tee; what a condition that is not known, or a program,
# decides does not count
megatron="deepspeed --num_gpus 8 pretrain_gpt.py $dense --hidden-dropout 0 --attention-dropout 0 --deepspeed --deepspeed_config"
writes() { # what stands before the launch, the file's name there
    printf '%s\n%s %s\n' "$1" "$megatron" "$2" >"$tmp/writes.sh"
    said "$tmp/writes.sh" zero
}
json='{"zero_optimization": {"stage": $STAGE}}'
check a_file_by_variables "$(writes "STAGE=2; DS=./ds.json
cat <<EOF > \$DS
$json
EOF" '$DS')" 2
check a_file_in_pieces "$(writes 'echo "{" > d.json; printf "%s" "\"zero_optimization\": {\"stage\":" >> d.json; echo "3}}" >> ./d.json' d.json)" 3
check a_file_by_tee "$(writes "tee t.json <<'EOF'
{\"zero_optimization\": {\"stage\": 3}}
EOF" t.json)" 3
check a_file_that_is_copied "$(writes "STAGE=3
cat > a.json <<EOF
$json
EOF
cat a.json > b.json" b.json)" 3
check the_last_text_counts "$(writes 'echo "{\"stage\": 2}" > e.json; echo "{\"stage\": 3}" > e.json' e.json)" 3
check a_file_in_two_ways "$(writes 'echo "{\"stage\": 2}" > f.json; if [ -e x ]; then echo "{\"stage\": 3}" > f.json; fi' f.json)" 0
check a_file_of_a_program "$(writes 'echo "{\"stage\": 2}" > g.json; sed s/2/3/ template > g.json' g.json)" 0
expect a_file_of_a_program_is_noted 0 'the file of --deepspeed_config is not read' "$STEPCAST" run "$tmp/writes.sh" --ignore-memory
# a file counts as it is when the launch begins, also where a loop writes it anew, and a subshell, a group or the parts of a pipe write it
check a_file_of_each_turn "$(writes 'for STAGE in 1 3; do echo "{\"stage\": $STAGE}" > h.json' 'h.json; done')" 1
check a_file_of_a_subshell "$(writes 'echo "{\"stage\": 1}" > i.json; (echo "{\"stage\": 3}" > i.json)' i.json)" 3
check a_file_of_a_group "$(writes 'echo "{\"stage\": 1}" > j.json; { echo "{\"stage\":"; echo "2}"; } > j.json' j.json)" 2
check a_file_of_a_pipe "$(writes 'echo "{\"stage\": 2}" | tee k.json' k.json)" 2
check a_file_of_a_group_in_two_ways "$(writes 'if [ -e x ]; then echo "{\"stage\": 3}"; else echo "{\"stage\": 2}"; fi > l.json' l.json)" 0
check a_file_of_a_group_in_one_way "$(writes 'if [ -e x ]; then echo "{\"stage\": 3}"; else echo no; exit 1; fi > l.json' l.json)" 3
# … and what programs that run before it make of it
check a_file_that_is_edited "$(writes 'echo "{\"stage\": 1}" > m.json; sed -i s/1/3/ m.json' m.json)" 0
check a_file_that_is_moved "$(writes 'echo "{\"stage\": 1}" > n.json; echo "{\"stage\": 3}" > o.json; mv o.json n.json' n.json)" 3
check a_file_that_another_replaces "$(writes 'echo "{\"stage\": 1}" > p.json; cp template.json p.json' p.json)" 0
cat >"$tmp/accelerate.sh" <<'X'
cat > fsdp.yaml <<EOF
distributed_type: FSDP
mixed_precision: bf16
num_processes: 8
fsdp_config: {fsdp_sharding_strategy: FULL_SHARD}
main_process_ip: $(hostname)
EOF
accelerate launch --config_file fsdp.yaml train.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --max_length 512
X
check a_file_of_accelerate "$(said "$tmp/accelerate.sh" zero gpus)" "3 8"
check what_is_not_known_of_a_file "$(grep -c "accelerate.sh:1: fsdp.yaml, which the script writes, has the output of 'hostname' in it" "$tmp/result.json")" 1
# --encoder-seq-length is --seq-length's other name; EasyContext's word for accumulation
sizes="--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --micro-batch-size 1 --global-batch-size 8 --vocab-size 32000 --bf16"
echo "python pretrain_gpt.py $sizes --encoder-seq-length 1024" >"$tmp/encoder.sh"
echo "python pretrain_gpt.py $sizes --seq-length 1024" >"$tmp/usual.sh"
check a_length_of_an_encoder "$(said "$tmp/encoder.sh" seq step_time_us)" "$(said "$tmp/usual.sh" seq step_time_us)"
echo "python pretrain.py $sizes --encoder-seq-length 1024 --decoder-seq-length 128" >"$tmp/decoder.sh"
expect a_decoder_is_another_model 3 'models with an encoder are not modelled' "$STEPCAST" run "$tmp/decoder.sh"
echo "accelerate launch --num_processes 8 train.py --batch-size 1 --gradient-accumulate-every 4 --model lmsys/vicuna-7b-v1.5 --seq-length 4096" >"$tmp/every.sh"
check accumulation_of_easycontext "$(said "$tmp/every.sh" micro_batches)" 4
# sizes that are Megatron's by their names, beside a length that is not, are another program's; batch_size is nobody's micro-batch
printf 'num_layers: 8\nhidden_size: 1024\nnum_attention_heads: 16\nmicro_batch_size: 2\nvocab_size: 32000\n' >"$tmp/names.yaml"
{ cat "$tmp/names.yaml"; echo 'seq_length: 1024'; echo 'batch_size: 64'; } >"$tmp/megatron.yaml"
check a_batch_size_of_others "$(said "$tmp/megatron.yaml" tokens_per_s step_time_us)" "$(said "$tmp/megatron.yaml --micro-batch 2 --global-batch 2" tokens_per_s step_time_us)"
for length in sequence_length seq_len context_length; do
    { cat "$tmp/names.yaml"; echo "$length: 1024"; } >"$tmp/other.yaml"
    expect "another program: $length" 3 'no configuration that we know' "$STEPCAST" run "$tmp/other.yaml"
done
# arguments of transformers' trainer without its batch, beside --model: no flags of Megatron's
echo "python train.py --num_train_epochs 1 --gradient_accumulation_steps 4 --max_length 1024 --bf16 --output_dir x" >"$tmp/epochs.sh"
echo "python train.py --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --max_length 1024 --bf16" >"$tmp/device.sh"
check epochs_are_a_trainer "$(said "$tmp/epochs.sh --model llama3.2-1b --micro-batch 1" step_time_us)" "$(said "$tmp/device.sh --model llama3.2-1b" step_time_us)"
echo "CUDA_VISIBLE_DEVICES=0 python src/llm_sft.py --model_type x --sft_type lora --lora_rank 8 --lora_target_modules ALL --batch_size 2 --max_length 1024 --gradient_accumulation_steps 4 --gradient_checkpointing false" >"$tmp/old.sh"
echo "swift sft --model x --train_type lora --lora_rank 8 --target_modules all-linear --per_device_train_batch_size 2 --max_length 1024 --gradient_accumulation_steps 4 --gradient_checkpointing false" >"$tmp/new.sh"
check swift_of_old "$(said "$tmp/old.sh --model llama3.2-1b" step_time_us)" "$(said "$tmp/new.sh --model llama3.2-1b" step_time_us)"
echo "torchrun --nproc_per_node=8 main_training.py --sharding_strategy=hsdp --batch_size=2 --fsdp_activation_checkpointing=True --selective_checkpointing=1" >"$tmp/fms.sh"
echo "torchrun --nproc_per_node=8 train.py --fsdp full_shard --per_device_train_batch_size 2 --gradient_checkpointing true --bf16" >"$tmp/fsdp.sh"
check fms_fsdp "$(said "$tmp/fms.sh --model llama2-7b" step_time_us)" "$(said "$tmp/fsdp.sh --model llama2-7b" step_time_us)"
check fms_hybrid "$(said "$tmp/fms.sh --model llama2-7b" step_time_us >"$tmp/x"; tr '\n' ' ' <"$tmp/out" | tr -s ' ' | grep -c 'not copied across nodes (hybrid)')" 1
# what is none of Megatron's words: AICB's for DeepSpeed; stages of devices of their own
echo "torchrun --nproc_per_node 8 aicb.py --frame=DeepSpeed --stage=3 --micro_batch=4 --num_layers=32 --hidden_size=4096 --num_attention_heads=32 --seq_len=2048" >"$tmp/aicb.sh"
expect aicb_of_deepspeed 3 'aicb.sh:1: error: --frame DeepSpeed of AICB is not read' "$STEPCAST" run "$tmp/aicb.sh"
{ cat "$tmp/megatron.yaml"; echo 'hetero: {enable_hetero: true, hetero_pipeline_layer_split: [6, 2]}'; } >"$tmp/hetero.yaml"
expect stages_of_their_own 3 'hetero.enable_hetero: stages with parallel sizes and devices of their own (FlagScale) are not modelled' "$STEPCAST" run "$tmp/hetero.yaml"
sed -i 's/enable_hetero: true/enable_hetero: false/' "$tmp/hetero.yaml"
check stages_alike "$(said "$tmp/hetero.yaml" step_time_us)" "$(said "$tmp/megatron.yaml" step_time_us)"
# NeMo 1's tokenizer of Hugging Face
{ grep -v vocab "$tmp/megatron.yaml"; printf 'tokenizer:\n  library: huggingface\n  type: meta-llama/Meta-Llama-3.1-8B\n'; } >"$tmp/nemo.yaml"
check tokenizer_of_nemo "$(said "$tmp/nemo.yaml" parameters)" "$(said "$tmp/megatron.yaml --vocab-size 128256" parameters)"
# other words for the batch of a GPU; accelerate's configuration in JSON
for word in per_gpu_train_batch_size train_bsz_per_gpu; do
    echo "accelerate launch --num_processes 8 train.py --model_name_or_path meta-llama/Llama-3.2-1B --$word 3 --max_seq_length 1024 --bf16" >"$tmp/word.sh"
    check "a batch by $word" "$(said "$tmp/word.sh" tokens_per_s)" "$(sed "s/$word/per_device_train_batch_size/" "$tmp/word.sh" >"$tmp/device.sh"; said "$tmp/device.sh" tokens_per_s)"
done
printf '{"compute_environment": "LOCAL_MACHINE", "distributed_type": "DEEPSPEED", "deepspeed_config": {"zero_stage": 3}, "mixed_precision": "bf16", "num_machines": 1, "num_processes": 8}\n' >"$tmp/accelerate.json"
sed 's/"//g; s/^{//; s/}$//; s/, \([a-z_]*:\)/\n\1/g' "$tmp/accelerate.json" | sed 's/^deepspeed_config:.*/deepspeed_config: {zero_stage: 3}/; s/, *$//' >"$tmp/accelerate.yaml"
check accelerate_in_json "$(said "$tmp/accelerate.json --model llama3.2-1b" zero gpus step_time_us)" "$(said "$tmp/accelerate.yaml --model llama3.2-1b" zero gpus step_time_us)"
# Oumi's words; a number of processes that is not set says nothing
cat >"$tmp/oumi.yaml" <<'X'
model:
  model_name: "meta-llama/Llama-3.2-1B"
  model_max_length: 2048
training:
  trainer_type: "TRL_SFT"
  per_device_train_batch_size: 2
  gradient_accumulation_steps: 1
  enable_gradient_checkpointing: True
fsdp:
  enable_fsdp: True
  cpu_offload: True
X
cat >"$tmp/trl.yaml" <<'X'
model_name_or_path: "meta-llama/Llama-3.2-1B"
max_length: 2048
per_device_train_batch_size: 2
gradient_accumulation_steps: 1
gradient_checkpointing: True
fsdp: full_shard offload
X
check oumi "$(said "$tmp/oumi.yaml --gpus 8" parameters step_time_us)" "$(said "$tmp/trl.yaml --gpus 8" parameters step_time_us)"
printf '#SBATCH --nodes=2 --gpus-per-node=4\naccelerate launch --num_processes $TOTAL --num_machines $NODES train.py --model_name_or_path meta-llama/Llama-3.2-1B --per_device_train_batch_size 1 --max_length 1024\n' >"$tmp/total.sh"
check processes_not_set "$(said "$tmp/total.sh" gpus)" 8
# one size of a script's own beside --model is a model of neither
echo "python dist_clm_train.py --num-layers 6 --embedding-dim 6144 --micro-batch-size 1 --seq-length 2048 --fp16" >"$tmp/part.sh"
expect a_size_beside_a_model 2 'part.sh (6 layers of width unsaid) and --model gpt-neox-20b say what is trained' "$STEPCAST" run "$tmp/part.sh" --model gpt-neox-20b
check a_size_of_the_command_line "$(said "$tmp/part.sh --model gpt-neox-20b --num-layers 6" parameters)" "$(said "--model gpt-neox-20b --num-layers 6" parameters)"
echo 'torchrun --nproc_per_node 8 train.py --model_name_or_path gpt2 --per_device_train_batch_size $BS --max_length 512' >"$tmp/bare.sh"
expect a_batch_not_set 3 'bare.sh:1: error: --per_device_train_batch_size has no value' "$STEPCAST" run "$tmp/bare.sh"
expect a_batch_not_set_hint 3 'variables without a value: BS; give them with --set NAME=value' "$STEPCAST" run "$tmp/bare.sh"
check a_batch_set "$(said "$tmp/bare.sh --set BS=2" tokens_per_s)" "$(said "$tmp/bare.sh --micro-batch 2" tokens_per_s)"
