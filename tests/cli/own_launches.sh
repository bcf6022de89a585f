# Launches of people's own runs, in words that other programs than those of configurations.sh
# have: each means the same as the options that say it.
S=${STEPCAST:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. tests/tools/same_step
# the notes of the launch just run, on one line
notes() { tr '\n' ' ' <"$dir/out" | tr -s ' '; }
said() { if notes | grep -qF -- "$2"; then echo "ok $1"; else echo "not ok $1: $(notes)"; fi; }
unsaid() { # the step was forecast, and this is not said of it
    if notes | grep -q 'step time' && ! notes | grep -qF -- "$2"; then echo "ok $1"; else echo "not ok $1: $(notes)"; fi
}

refused() { # name, what is said, file and its options
    name=$1 text=$2
    shift 2
    "$S" run "$@" >"$dir/out" 2>"$dir/err"
    if [ $? = 3 ] && grep -qF -- "$text" "$dir/err"; then echo "ok $name"; else
        echo "not ok $name"
        cat "$dir/err"
    fi
}

# ---- trainers ----
# accelerate's launcher names DeepSpeed itself: by a stage, by a file, or stage 2
whole="--model llama3.1-8b --gpus 8 --seq 4096 --micro-batch 1 --micro-batches 2 --recompute full --attention flash2 --bf16 --software deepspeed"
accelerate() { echo "accelerate launch --mixed_precision bf16 --num_processes 8 $* train.py --model_name_or_path meta-llama/Llama-3.1-8B --max_seq_length 4096 --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --use_flash_attn --gradient_checkpointing" >"$dir/a.sh"; }
accelerate --use_deepspeed --deepspeed_config_file configs/stage3_no_offloading.conf
same accelerate_file "$dir/a.sh" -- $whole --zero 3
accelerate --use_deepspeed --zero_stage 1
same accelerate_stage "$dir/a.sh" -- $whole --zero 1
accelerate --use_deepspeed
same accelerate_stage_two "$dir/a.sh" -- $whole --zero 2
said accelerate_stage_two_is_said 'does not say zero_stage: it is 2 there'
accelerate --use_deepspeed --zero_stage 3 --offload_optimizer_device cpu
same accelerate_offload "$dir/a.sh" -- $whole --zero 3 --offload-optimizer 1 --overlap-offload yes
mkdir "$dir/configs"
echo '{"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}}' >"$dir/configs/ds.conf"
accelerate --use_deepspeed --deepspeed_config_file configs/ds.conf
same accelerate_file_beside "$dir/a.sh" -- $whole --zero 1
accelerate --use_fsdp
same accelerate_fsdp "$dir/a.sh" -- --model llama3.1-8b --gpus 8 --seq 4096 --micro-batch 1 --micro-batches 2 --recompute full --attention flash2 --bf16 --software fsdp-eager --use-torch-fsdp2

# DeepSpeed-Chat: the stage, the length and adapters of all linear layers
chat() { echo "deepspeed --num_gpus 8 main.py --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 4 --max_seq_len 512 --gradient_accumulation_steps 1 --gradient_checkpointing --zero_stage 3 --deepspeed $*" >"$dir/chat.sh"; }
chatted="--model llama2-7b --gpus 8 --seq 512 --micro-batch 4 --micro-batches 1 --recompute full --zero 3 --software deepspeed"
chat --lora_dim 0
same chat_whole "$dir/chat.sh" -- $chatted
chat --lora_dim 128 --lora_module_name layers.
same chat_adapters "$dir/chat.sh" -- $chatted --lora 128 --lora-targets all
said chat_trains_embeddings 'embeddings and norms, which are trained beside adapters of lora_dim, are counted as frozen'
chat --lora_dim 128 --lora_module_name layers. --only_optimize_lora --offload
same chat_offload "$dir/chat.sh" -- $chatted --lora 128 --lora-targets all --offload-optimizer 1 --overlap-offload yes --offload-params
unsaid chat_adapters_alone 'embeddings and norms'
chat --offload
sed -i 's/--zero_stage 3/--zero_stage 2/' "$dir/chat.sh"
same chat_offload_of_two "$dir/chat.sh" -- $chatted --zero 2 --offload-optimizer 1 --overlap-offload yes

# OpenRLHF: the batch is that of all GPUs, ZeRO 2 unless it is said, 2048 tokens
rlhf() { echo "deepspeed --num_gpus 8 --module openrlhf.cli.train_sft --pretrain meta-llama/Llama-2-7b-hf --micro_train_batch_size 2 --bf16 --gradient_checkpointing $*" >"$dir/rlhf.sh"; }
tuned="--model llama2-7b --gpus 8 --micro-batch 2 --bf16 --recompute full --software deepspeed"
rlhf --max_len 4096 --train_batch_size 64 --zero_stage 3 --flash_attn --adam_offload --packing_samples
same openrlhf "$dir/rlhf.sh" -- $tuned --seq 4096 --global-batch 64 --zero 3 --attention flash2 --offload-optimizer 1 --overlap-offload yes
unsaid openrlhf_is_known 'not known'
rlhf
same openrlhf_defaults "$dir/rlhf.sh" -- $tuned --seq 2048 --global-batch 128 --zero 2
rlhf --max_len 2048 --lora_rank 64 --ring_attn_size 2
same openrlhf_adapters "$dir/rlhf.sh" -- $tuned --seq 2048 --global-batch 128 --zero 2 --lora 64 --lora-targets all --cp 2
rlhf --prompt_max_len 1024 --generate_max_len 2048 --train_batch_size 64
same openrlhf_answers "$dir/rlhf.sh" -- $tuned --seq 3072 --global-batch 64 --zero 2
said openrlhf_answers_are_said 'trains on answers to prompts'
rlhf --backend fsdp2 --max_len 2048
same openrlhf_fsdp "$dir/rlhf.sh" -- --model llama2-7b --gpus 8 --micro-batch 2 --bf16 --recompute full --seq 2048 --global-batch 128 --software fsdp-eager --use-torch-fsdp2

# words of programs that nobody else has; one that is not known is said
own() { echo "torchrun --nproc_per_node 4 tune.py --model_name_or_path meta-llama/Llama-2-7b-hf --bf16 $*" >"$dir/own.sh"; }
own --seq_len 1024 --micro_batch_size 2 --grad_accum_steps 6 --use_activation_checkpointing
same own_words "$dir/own.sh" -- --model llama2-7b --gpus 4 --seq 1024 --micro-batch 2 --micro-batches 6 --recompute full --update amp --software hf-transformers
own --max_length 1024 --micro_batch_size 2 --text_seq_len 77 --gradient_checkpointing_kwargs x
"$S" run "$dir/own.sh" --ignore-memory >"$dir/out" 2>"$dir/err"
said own_length_is_said 'text_seq_len 77 is not known and counts for nothing'
unsaid own_kwargs 'gradient_checkpointing_kwargs'

# four bits are said twice, by the adapter's name and by the switch: neither is unknown
printf 'base_model: meta-llama/Llama-2-7b-hf\nload_in_4bit: true\nadapter: qlora\nlora_r: 32\nlora_target_linear: true\nsequence_len: 2048\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nbf16: true\n' >"$dir/q.yaml"
"$S" run "$dir/q.yaml" --gpus 1 >"$dir/out" 2>"$dir/err"
unsaid four_bits_twice 'load_in_4bit true is not known'
# the name of a file that is not there says that the optimizer is on the host, and the note with it
printf 'model_name_or_path: meta-llama/Llama-2-7b-hf\nfinetuning_type: full\ncutoff_len: 1024\nper_device_train_batch_size: 1\nbf16: true\ndeepspeed: /configs/offload_cpu.yaml\n' >"$dir/away.yaml"
"$S" run "$dir/away.yaml" --gpus 8 --ignore-memory >"$dir/out" 2>"$dir/err"
said offload_by_name 'offloading is taken from its name'
# base_model in a section is nobody's of Axolotl
printf 'num_layers: 4\nhidden_size: 512\nnum_attention_heads: 8\nvocab_size: 32000\nseq_length: 1024\nmicro_batch_size: 1\nglobal_batch_size: 8\nbf16: true\naux:\n  base_model: vanilla\n  attention_mask_type: no_mask\n' >"$dir/nested.yaml"
same base_model_in_a_section "$dir/nested.yaml" --gpus 8 -- --num-layers 4 --hidden-size 512 --num-attention-heads 8 --vocab-size 32000 --seq 1024 --micro-batch 1 --global-batch 8 --bf16 --gpus 8 --cross-entropy unfused
said mask_is_said 'attention_mask_type no_mask changes the step and is not modelled'

# ---- Megatron-DeepSpeed and other forks of Megatron ----
shape="--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 50304 --micro-batch-size 2 --global-batch-size 128 --hidden-dropout 0 --attention-dropout 0"
plan="--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq 2048 --max-position-embeddings 2048 --vocab-size 50304 --micro-batch 2 --global-batch 128 --no-dropout --gpus 16"
fork() { printf '%s\n' "$1" "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py $shape $2" >"$dir/fork.sh"; }
# DeepSpeed's optimizer of bf16 shards its state at stage 0 (BF16_Optimizer): 12 bytes over 16 ranks
fork "" "--bf16 --deepspeed --zero-stage 0"
same bf16_stage_zero "$dir/fork.sh" -- $plan --bf16 --zero 1 --software megatron-deepspeed-2022
said bf16_stage_zero_is_said 'ZeRO 0 in bf16 is counted as ZeRO 1'
same bf16_stage_zero_given "$dir/fork.sh" --zero 0 -- $plan --bf16 --zero 0 --software megatron-deepspeed-2022
fork "" "--fp16 --deepspeed --zero-stage 0"
same fp16_stage_zero "$dir/fork.sh" -- $plan --fp16 --zero 0 --software megatron-deepspeed-2022
fork "export CUDA_LAUNCH_BLOCKING=1" "--bf16 --deepspeed --zero-stage 1"
same blocking "$dir/fork.sh" -- $plan --bf16 --zero 1 --software megatron-deepspeed-2022-blocking
said blocking_is_said '--software megatron-deepspeed-2022-blocking is taken'
same fork_software_given "$dir/fork.sh" --software megatron-2022 -- $plan --bf16 --zero 1 --software megatron-2022
fork "" "--bf16"
"$S" run "$dir/fork.sh" >"$dir/out" 2>"$dir/err"
said no_fork 'megatron-core-2025 is assumed'
echo '{"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 0}, "bf16": {"enabled": true}}' >"$dir/ds.json"
# … with gradients that add up in fp32 there (get_data_types), also where the file does not say a stage
of_zero="--model llama3-8b --seq 2048 --gpus 8 --zero 1 --micro-batch 1 --micro-batches 4 --bf16 --software deepspeed"
same bf16_stage_zero_in_a_file "$dir/ds.json" --model llama3-8b --seq 2048 --gpus 8 -- $of_zero --grad-accum-dtype fp32
sed 's/"stage": 0/"allgather_bucket_size": 5e8/' "$dir/ds.json" >"$dir/silent.json"
same bf16_stage_not_said "$dir/silent.json" --model llama3-8b --seq 2048 --gpus 8 -- $of_zero --grad-accum-dtype fp32
sed 's/"stage": 0/"stage": 1/' "$dir/ds.json" >"$dir/first.json"
same bf16_stage_one "$dir/first.json" --model llama3-8b --seq 2048 --gpus 8 -- $of_zero
# the type that they add up in is a key of its own, that of the wire another
sed 's/"bf16"/"data_types": {"grad_accum_dtype": "fp32"}, "bf16"/' "$dir/first.json" >"$dir/sums.json"
same sums_in_fp32 "$dir/sums.json" --model llama3-8b --seq 2048 --gpus 8 -- $of_zero --grad-accum-dtype fp32
sed 's/"bf16"/"communication_data_type": "fp32", "bf16"/' "$dir/first.json" >"$dir/wire.json"
same wire_in_fp32 "$dir/wire.json" --model llama3-8b --seq 2048 --gpus 8 -- $of_zero --grad-dtype fp32 --grad-accum-dtype fp32
sed 's/"bf16"/"data_types": {"grad_accum_dtype": "int8"}, "bf16"/' "$dir/first.json" >"$dir/sums.json"
refused sums_unknown 'of these we know: fp32, float32, float, torch.float32, fp16' "$dir/sums.json" --model llama3-8b --seq 2048 --gpus 8
# a trainer's file without a stage is stage 0, too
sed 's/"allgather_bucket_size"/"stage3_gather_16bit_weights_on_model_save"/' "$dir/silent.json" >"$dir/trainer.json"
echo "deepspeed --num_gpus 8 train.py --model_name_or_path meta-llama/Meta-Llama-3-8B --max_seq_length 2048 --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --bf16 --deepspeed trainer.json" >"$dir/trainer.sh"
same bf16_stage_of_a_trainer "$dir/trainer.sh" -- $of_zero --grad-accum-dtype fp32
# the file of TrainingArguments' --fsdp_config is read, too
echo '{"activation_checkpointing": true, "reshard_after_forward": false}' >"$dir/fsdp.json"
sharded() { echo "torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Meta-Llama-3-8B --max_seq_length 2048 --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --bf16 --fsdp 'full_shard auto_wrap' --fsdp_config $1" >"$dir/sharded.sh"; }
of_fsdp="--model llama3-8b --seq 2048 --gpus 8 --use-torch-fsdp2 --micro-batch 1 --micro-batches 4 --bf16 --software fsdp-eager"
sharded fsdp.json
same fsdp_file "$dir/sharded.sh" -- $of_fsdp --recompute full --reshard-after-forward no
# … as a section of that name, whose cpu_offload is FSDP's
echo '{"cpu_offload": true}' >"$dir/host.json"
sharded host.json
same fsdp_file_is_a_section "$dir/sharded.sh" -- $of_fsdp --offload-optimizer 1 --overlap-offload yes --offload-params
sharded "'{\"activation_checkpointing\": true, \"reshard_after_forward\": false}'"
same fsdp_json "$dir/sharded.sh" -- $of_fsdp --recompute full --reshard-after-forward no
sharded none.json
same fsdp_file_missing "$dir/sharded.sh" -- $of_fsdp
said fsdp_file_missing_is_said 'names none.json, which is not beside it: what it says (checkpointing, offloading) does not count'
# … and JSON in place of a file
echo "torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Meta-Llama-3-8B --per_device_train_batch_size 1 --deepspeed '{\"zero_optimization\": {\"stage\": 1, \"offload_optimizer\": {\"device\": \"none\"}}}' --max_seq_length 2048 --gradient_accumulation_steps 4 --bf16" >"$dir/json.sh"
same deepspeed_json "$dir/json.sh" -- $of_zero
echo "torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Meta-Llama-3-8B --deepspeed '{\"zero_optimization\": {' --max_seq_length 2048" >"$dir/json.sh"
refused deepspeed_json_cut 'json.sh:' "$dir/json.sh"
# of a flag that stands twice the last one counts
echo "deepspeed --num_gpus 8 train.py --model_name_or_path gpt2 --per_device_train_batch_size 8 --deepspeed zero3.json --max_seq_length 2048 --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --bf16 --deepspeed trainer.json --model_name_or_path meta-llama/Meta-Llama-3-8B" >"$dir/twice.sh"
same flags_twice "$dir/twice.sh" -- $of_zero --grad-accum-dtype fp32
# a bucket of more parameters than can be counted
echo '{"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 2, "reduce_bucket_size": 5_000_000_000}, "bf16": {"enabled": true}}' >"$dir/ds.json"
same large_bucket "$dir/ds.json" --model llama3-8b --seq 2048 --gpus 8 -- --model llama3-8b --seq 2048 --gpus 8 --zero 2 --micro-batch 1 --micro-batches 4 --bf16 --software deepspeed --ddp-bucket-size 4294967295
said large_bucket_is_said 'reduce_bucket_size 5000000000 is counted as 4294967295 parameters'

# a file of SentencePiece that is not Llama's by its name is not said to have Llama's vocabulary
vocabulary() { sed "s|--vocab-size 50304|--tokenizer-type Llama2Tokenizer --tokenizer-model $1|" "$dir/fork.sh" >"$dir/tokens.sh" && "$S" run "$dir/tokens.sh" >"$dir/out" 2>"$dir/err"; }
vocabulary src/models/ver3.0/our-tokenizer-100k.model
said vocabulary_assumed "32000, that of Llama 2, is assumed, for the tokenizer's file our-tokenizer-100k.model is not read"
vocabulary /data/llama-2/tok.model
said vocabulary_of_llama '32000, that of the tokenizer Llama2Tokenizer'

# DeepSeek-V2-Lite as Pai-Megatron-Patch launches it has the 15706484224 parameters that are published
parameters() { # the options: of one GPU that shards nothing, Adam keeps 12 bytes for each
    "$S" run "$@" --gpus 1 --tp 1 --pp 1 --global-batch 1 --micro-batch 1 --seq 512 --zero 0 --dtype bf16 --grad-dtype fp32 --optimizer adam --software megatron-core-2025 --ignore-memory --json "$dir/one.json" >/dev/null 2>"$dir/err" &&
        python3 -S -c 'import json, sys; print(round(json.load(open(sys.argv[1]))["memory_bytes"]["optimizer"] / 12))' "$dir/one.json"
}
counts() { if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1: $2 is not $3"; cat "$dir/err"; fi; }
lite="--num-layers 27 --hidden-size 2048 --num-attention-heads 16 --ffn-hidden-size 10944 --seq-length 4096 --max-position-embeddings 163840 --moe-ffn-hidden-size 1408 --num-experts 64 --moe-router-topk 6 --moe-layer-freq 1 --enable-shared-expert --num-shared-experts 2 --kv-lora-rank 512 --qk-nope-head-dim 128 --qk-rope-head-dim 64 --v-head-dim 128 --kv-channels 128 --qk-layernorm --swiglu --normalization RMSNorm --position-embedding-type rope --untie-embeddings-and-output-weights --disable-bias-linear --extra-vocab-size 2400 --patch-tokenizer-type DeepSeekV2Tokenizer --bf16"
echo "torchrun --nproc_per_node 8 pretrain_deepseek.py $lite" >"$dir/pai.sh"
counts pai_deepseek "$(parameters "$dir/pai.sh" --ep 1)" 15706484224
"$S" run "$dir/pai.sh" --gpus 8 --ignore-memory >"$dir/out" 2>"$dir/err"
said pai_layers_are_said 'is the number of layers without experts'

# ---- other programs ----
# OLMoE-1B-7B has the 6919161856 parameters that are published, but for norms of queries and keys over
# all heads at once (4096 a layer, not 256); OLMo's trainer runs PyTorch's FSDP
cat >"$dir/olmoe.yaml" <<'Y'
model: {d_model: 2048, n_heads: 16, n_layers: 16, mlp_ratio: 1, weight_tying: false, rope: true, attention_layer_norm: true, block_type: moe, layer_norm_type: rms, activation_type: swiglu,
  max_sequence_length: 4096, vocab_size: 50280, embedding_size: 50304, moe_top_k: 8, moe_num_experts: 64}
compile: null
global_train_batch_size: 64
device_train_microbatch_size: 2
precision: amp_bf16
fsdp: {wrapping_strategy: by_block, precision: mixed}
Y
counts olmoe "$(parameters "$dir/olmoe.yaml")" $((6919161856 - 16 * (4096 - 256)))
"$S" run "$dir/olmoe.yaml" --gpus 8 >"$dir/out" 2>"$dir/err"
said olmo_is_eager 'fsdp-eager'
sed 's/^compile: null/compile: {mode: default}/' "$dir/olmoe.yaml" >"$dir/compiled.yaml"
"$S" run "$dir/compiled.yaml" --gpus 8 >"$dir/out" 2>"$dir/err"
said olmo_compiled 'fsdp1'
# StableLM 2 12B by StableLM's own GPT-NeoX has the 12143605760 parameters that are published, but for
# what its norms of queries and keys have for each head
neox() { echo "{\"pipe-parallel-size\": 0, \"model-parallel-size\": 1, \"num-layers\": 40, \"hidden-size\": 5120, \"num-attention-heads\": 32, \"num_kv_heads\": 8, \"seq-length\": 4096, \"max-position-embeddings\": 4096, \"norm\": \"layernorm\", \"pos-emb\": \"rotary\", \"mlp_multiple_of\": 256, \"activation\": \"silu\", \"no-weight-tying\": true, \"use_bias_in_attn_linear\": false, \"train_micro_batch_size_per_gpu\": 1, \"zero_optimization\": {\"stage\": 1}, $1}" >"$dir/neox.yml"; }
neox '"mlp_type": "gated"'
# 2 embeddings of 100352 × 5120, 40 layers of 2 × 5120² + 2 × 5120 × 1280 and 3 × 5120 × 13824, 81 norms with biases
counts stablelm "$(parameters "$dir/neox.yml" --padded-vocab-size 100352)" $((2 * 100352 * 5120 + 40 * (2 * 5120 * 5120 + 2 * 5120 * 1280 + 3 * 5120 * 13824) + 81 * 2 * 5120))
neox '"mlp_type": "other"'
"$S" run "$dir/neox.yml" --gpus 8 >"$dir/out" 2>"$dir/err"
[ $? = 3 ] && grep -qF "mlp_type: unknown 'other'" "$dir/err" && echo "ok neox_unknown_feed_forward" || echo "not ok neox_unknown_feed_forward"
# show says whose it is, and what to do with it
for key in pipe-parallel-size pipe_parallel_size; do
    echo "{\"$key\": 1, \"zero_optimization\": {\"stage\": 1}}" >"$dir/whose.yml"
    "$S" show "$dir/whose.yml" >"$dir/out" 2>"$dir/err"
    grep -q 'a configuration of GPT-NeoX' "$dir/out" && echo "ok show_$key" || echo "not ok show_$key"
done
# the hint of a script without flags does not send anyone to --set for them
printf 'source common.sh\nexport TENSOR_MODEL_PARALLEL=4\n' >"$dir/mlperf.sh"
"$S" run "$dir/mlperf.sh" >"$dir/out" 2>"$dir/err"
grep -q 'flags must stand in this file' "$dir/err" && echo "ok sourced_hint" || echo "not ok sourced_hint"

# ---- adapters, in words of their own ----
tune() { echo "torchrun --nproc_per_node 4 train.py --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 2 --gradient_accumulation_steps 4 --model_max_length 1024 --bf16 True $*" >"$dir/tune.sh"; }
base="--model llama2-7b --gpus 4 --seq 1024 --micro-batch 2 --micro-batches 4"
# a program's own rank is not known where the launch is silent: what is taken is said
tune --use_lora
same adapters_unsaid "$dir/tune.sh" -- $base --lora 8 --lora-targets q_proj,v_proj --lora-autocast --overlap-grad yes --software hf-transformers
said adapters_rank_is_said 'does not say the rank of its adapters: 8 is assumed'
said adapters_layers_are_said 'does not say which layers have adapters: queries and values are assumed'
tune --use_peft_lora True --lora_r 16 --lora_target_modules q_proj,k_proj
same adapters_switched "$dir/tune.sh" -- $base --lora 16 --lora-targets q_proj,k_proj --lora-autocast --overlap-grad yes --software hf-transformers
unsaid adapters_said 'does not say'
tune --lora_enable False --lora_r 16 --deepspeed zero3.json
same llava_whole "$dir/tune.sh" -- $base --zero 3 --bf16 --software deepspeed
tune --lora_enable True --lora_r 16 --deepspeed zero3.json --vision_tower openai/clip-vit-large-patch14-336
same llava_adapters "$dir/tune.sh" -- $base --zero 3 --bf16 --software deepspeed --lora 16 --lora-targets all
said llava_tower_is_said 'vision_tower openai/clip-vit-large-patch14-336 changes the step and is not modelled'
tune --lora_rank 64 --trainable q_proj,v_proj,o_proj --deepspeed zero2.json
same trainable "$dir/tune.sh" -- $base --zero 2 --bf16 --software deepspeed --lora 64 --lora-targets q_proj,v_proj,o_proj
# Firefly: four bits unless train_mode says otherwise
firefly() { printf '{"model_name_or_path": "meta-llama/Llama-2-7b-hf", "train_file": "a.jsonl", "template_name": "llama2", "max_seq_length": 1024, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 4, "lora_rank": 64, "bf16": true%s}\n' "$1" >"$dir/firefly.json"; }
firefly ''
same firefly "$dir/firefly.json" --gpus 4 -- $base --lora 64 --lora-targets all --qlora --lora-autocast --overlap-grad yes --software hf-transformers
said firefly_is_said 'does not say train_mode: it is qlora there'
firefly ', "train_mode": "lora"'
same firefly_lora "$dir/firefly.json" --gpus 4 -- $base --lora 64 --lora-targets all --lora-autocast --overlap-grad yes --software hf-transformers
firefly ', "train_mode": "full", "deepspeed": "z3.json"'
same firefly_full "$dir/firefly.json" --gpus 4 -- $base --zero 3 --bf16 --software deepspeed

# switches with underscores and values put the optimizer on the host, too
swift="--model Qwen/Qwen3-30B-A3B --tensor_model_parallel_size 2 --sequence_parallel true --expert_model_parallel_size 2 --micro_batch_size 1 --global_batch_size 8 --max_length 2048 --packing true"
echo "NPROC_PER_NODE=8 megatron sft $swift --optimizer_cpu_offload true" >"$dir/offload.sh"
echo "NPROC_PER_NODE=8 megatron sft $swift" >"$dir/plain.sh"
same swift_offload "$dir/offload.sh" -- --megatron-args "$dir/plain.sh" --offload-optimizer 1
echo "NPROC_PER_NODE=8 megatron sft $swift --optimizer_cpu_offload false" >"$dir/offload.sh"
same swift_no_offload "$dir/offload.sh" -- --megatron-args "$dir/plain.sh"

# ---- attention ----
# local layers of Megatron-Core have DotProductAttention, which writes all scores; so has
# Transformer Engine where its other kinds are off
fork "" "--bf16 --transformer-impl transformer_engine"
cp "$dir/fork.sh" "$dir/fused.sh"
local_attention() { # name, a line, flags
    fork "$2" "--bf16 $3"
    same "$1" "$dir/fork.sh" -- --megatron-args "$dir/fused.sh" --attention unfused
}
local_attention local_layers "" "--transformer-impl local"
said local_layers_are_said '--transformer-impl local: attention runs operator by operator'
local_attention backend_unfused "" "--attention-backend unfused"
local_attention backend_local "" "--transformer-impl local --attention-backend local"
local_attention engine_off "export NVTE_FLASH_ATTN=0 NVTE_FUSED_ATTN=0" "--transformer-impl transformer_engine"
for fused in "--attention-backend flash" "--attention-backend auto --transformer-impl transformer_engine" "--transformer-impl local --use-flash-attn"; do
    fork "export NVTE_FLASH_ATTN=1 NVTE_FUSED_ATTN=0" "--bf16 $fused"
    "$S" run "$dir/fork.sh" >"$dir/out" 2>"$dir/err"
    unsaid "fused_${fused##* }" 'attention runs operator by operator'
done
# neither of both knows context parallelism (DotProductAttention, UnfusedDotProductAttention)
fork "" "--bf16 --attention-backend unfused --context-parallel-size 2"
"$S" run "$dir/fork.sh" >"$dir/out" 2>"$dir/err"
[ $? = 3 ] && grep -q 'attention operator by operator and --context-parallel-size 2: Megatron refuses both' "$dir/err" && echo "ok unfused_rings" || echo "not ok unfused_rings"
# the loss by Transformer Engine's kernel, which fusion alone turns on
fork "" "--bf16 --cross-entropy-loss-fusion --cross-entropy-fusion-impl te"
same loss_of_engine "$dir/fork.sh" -- --megatron-args "$dir/fused.sh" --cross-entropy te
fork "" "--bf16 --cross-entropy-fusion-impl te"
same loss_of_engine_off "$dir/fork.sh" -- --megatron-args "$dir/fused.sh"
# … and which is off unless asked for; other stacks and kernels that are named have their own
fork "" "--bf16"
same loss_operator_by_operator "$dir/fork.sh" -- --megatron-args "$dir/fused.sh" --cross-entropy unfused
said loss_is_said 'no --cross-entropy-loss-fusion: the loss runs operator by operator'
sed 's/--bf16/--bf16 --cross-entropy-loss-fusion/' "$dir/fork.sh" >"$dir/compiled.sh"
same loss_compiled "$dir/compiled.sh" -- --megatron-args "$dir/fused.sh" --cross-entropy fused
unsaid loss_compiled_is_not_said 'operator by operator'
for own in "--software bridge-26.08 te" "--fusion eager fp32"; do
    same "loss_of_$own" "$dir/fork.sh" ${own% *} -- --megatron-args "$dir/compiled.sh" ${own% *} --cross-entropy "${own##* }"
done
# NeMo 2's recipes fuse it without a word (cross_entropy_loss_fusion of its GPTConfig is true)
printf 'from nemo.collections import llm\nrecipe = llm.llama3_8b.pretrain_recipe(num_nodes=1, num_gpus_per_node=8)\nrecipe.data.global_batch_size=64\nrecipe.data.micro_batch_size=1\nrecipe.data.seq_length=4096\n' >"$dir/recipe.py"
{ cat "$dir/recipe.py"; echo 'recipe.model.config.cross_entropy_loss_fusion=True'; } >"$dir/fused.py"
same loss_of_a_recipe "$dir/recipe.py" -- --megatron-args "$dir/fused.py"
unsaid loss_of_a_recipe_is_not_said 'operator by operator'
printf 'num_layers: 8\nhidden_size: 1024\nnum_attention_heads: 16\nvocab_size: 50304\nseq_length: 2048\nmicro_batch_size: 2\nglobal_batch_size: 128\nbf16: true\nattention_backend: unfused\n' >"$dir/unfused.yaml"
grep -v attention_backend "$dir/unfused.yaml" >"$dir/usual.yaml"
same backend_in_a_file "$dir/unfused.yaml" --gpus 16 -- --megatron-args "$dir/usual.yaml" --gpus 16 --attention unfused

# ---- jobs ----
# what SkyPilot and Kubernetes run is a script, on nodes that stand beside it; lines are those of the file
cat >"$dir/sky.yaml" <<'Y'
resources:
  accelerators: H100:8
num_nodes: 2
envs:
  LAYERS: 8
setup: |
  pip install x
run: |
  cd ~/x
  torchrun --nproc_per_node $SKYPILOT_NUM_GPUS_PER_NODE --nnodes $SKYPILOT_NUM_NODES pretrain_gpt.py --num-layers $LAYERS \
    --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 50304 --micro-batch-size 2 --global-batch-size 128 --bf16
Y
fork "" "--bf16"
same skypilot "$dir/sky.yaml" -- --megatron-args "$dir/fork.sh" --gpus 16
said skypilot_is_said 'is read as a job of SkyPilot: what it launches, on 2 nodes of 8 GPUs'
sed 's/accelerators: H100:8/accelerators: {H100: 8}/; s/\$SKYPILOT_NUM_GPUS_PER_NODE --nnodes \$SKYPILOT_NUM_NODES/8 --nnodes 2/' "$dir/sky.yaml" >"$dir/mapping.yaml"
same skypilot_mapping "$dir/mapping.yaml" -- --megatron-args "$dir/fork.sh" --gpus 16
sed 's/\$LAYERS/$NONE/' "$dir/sky.yaml" >"$dir/none.yaml"
"$S" run "$dir/none.yaml" >"$dir/out" 2>"$dir/err"
[ $? = 3 ] && grep -q 'none.yaml:10: error: --num-layers has no value: $NONE is not set' "$dir/err" && echo "ok skypilot_line" || { echo "not ok skypilot_line"; cat "$dir/err"; }
kubernetes() { # the words of the container, as a YAML list
    cat >"$dir/k8s.yaml" <<Y
apiVersion: kubeflow.org/v1
kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
          - name: pytorch
$1
            env:
            - name: LAYERS
              value: "8"
            resources:
              limits:
                nvidia.com/gpu: 8
    Worker:
      replicas: 1
Y
}
kubernetes "            command: [torchrun, --nproc_per_node, '8', --nnodes, '2']
            args: [pretrain_gpt.py, --num-layers, '8', --hidden-size, '1024', --num-attention-heads, '16', --seq-length, '2048', --max-position-embeddings=2048, --vocab-size, '50304', --micro-batch-size, '2', --global-batch-size, '128', --bf16]"
same kubernetes "$dir/k8s.yaml" -- --megatron-args "$dir/fork.sh" --gpus 16
said kubernetes_is_said 'is read as a job of Kubernetes: what it launches, on 2 nodes of 8 GPUs'
kubernetes "            command: [/bin/bash, -c]
            args:
            - |
              python -u pretrain_gpt.py --num-layers \$LAYERS --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 50304 --micro-batch-size 2 --global-batch-size 128 --bf16"
same kubernetes_script "$dir/k8s.yaml" -- --megatron-args "$dir/fork.sh" --gpus 16
# of several objects in a file the one that launches counts; nprocPerNode says the GPUs where no limit does
{ printf 'apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n---\n'; cat "$dir/k8s.yaml"; printf -- '---\napiVersion: v1\nkind: Service\n'; } >"$dir/objects.yaml"
same kubernetes_objects "$dir/objects.yaml" -- --megatron-args "$dir/fork.sh" --gpus 16
sed 's/^spec:/spec:\n  nprocPerNode: "8"/; /nvidia.com/d; /limits:/d; /resources:/d' "$dir/k8s.yaml" >"$dir/nproc.yaml"
same kubernetes_nproc "$dir/nproc.yaml" -- --megatron-args "$dir/fork.sh" --gpus 16
printf 'base_model: gpt2\n---\nbase_model: gpt2\n' >"$dir/two.yaml"
"$S" run "$dir/two.yaml" >"$dir/out" 2>"$dir/err"
[ $? = 3 ] && grep -q 'two.yaml:2: error: a second document' "$dir/err" && echo "ok two_documents" || { echo "not ok two_documents"; cat "$dir/err"; }
gpt="pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 50304 --micro-batch-size 2 --global-batch-size 128 --bf16"
cat >"$dir/trainjob.yaml" <<Y
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 2
    numProcPerNode: 8
    command: [torchrun]
    args: [$(echo "$gpt" | sed "s/ /, /g; s/\([0-9][0-9]*\)/'\1'/g")]
Y
same trainjob "$dir/trainjob.yaml" -- --megatron-args "$dir/fork.sh" --gpus 16
# dstack's commands are lines of one script; its accelerators may have a size beside them
cat >"$dir/task.dstack.yml" <<Y
type: task
nodes: 2
env:
  - HF_TOKEN
  - LAYERS=8
commands:
  - pip install x
  - |
    cd x
    torchrun --nproc_per_node \$DSTACK_GPUS_PER_NODE --nnodes \$DSTACK_NODES_NUM \\
      $(echo "$gpt" | sed 's/--num-layers 8/--num-layers $LAYERS/')
resources:
  gpu: H100:80GB:8
Y
same dstack "$dir/task.dstack.yml" -- --megatron-args "$dir/fork.sh" --gpus 16
said dstack_is_said 'is read as a job of dstack: what it launches, on 2 nodes of 8 GPUs'
sed 's/\$LAYERS/$NONE/' "$dir/task.dstack.yml" >"$dir/none.yml"
"$S" run "$dir/none.yml" >"$dir/out" 2>"$dir/err"
[ $? = 3 ] && grep -q 'none.yml:11: error: --num-layers has no value: $NONE is not set' "$dir/err" && echo "ok dstack_line" || { echo "not ok dstack_line"; cat "$dir/err"; }
"$S" run "$dir/sky.yaml" >"$dir/out" 2>&1
said job_asks_for 'sky.yaml asks for H100: --cluster or --gpu says so here'
"$S" run "$dir/sky.yaml" --gpu h100-sxm >"$dir/out" 2>&1
unsaid job_asked_for 'asks for H100'
# what an anchor of YAML names is there where its alias stands
python3 -S - "$dir/k8s.yaml" >"$dir/anchor.yaml" <<'P'
import sys
text = open(sys.argv[1]).read()
head, worker = text.replace("        spec:\n", "        spec: &pod\n").split("    Worker:\n")
print(head + "    Worker:\n      replicas: 1\n      template:\n        spec: *pod")
P
same kubernetes_anchor "$dir/anchor.yaml" -- --megatron-args "$dir/fork.sh" --gpus 16
# the launcher of an MPIJob is on no GPU
words=$(sed -n 's/.*\(pretrain_gpt.py .*\)/\1/p' "$dir/fork.sh" | sed 's/ /, /g')
cat >"$dir/mpi.yaml" <<Y
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
spec:
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
          - command: [mpirun, python, $words]
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - resources:
              limits:
                nvidia.com/gpu: 8
Y
same kubernetes_mpi "$dir/mpi.yaml" -- --megatron-args "$dir/fork.sh" --gpus 16
n=0
for hostile in 'apiVersion: v1\nkind: Pod\n' 'resources: {a: b}\nrun: ""\n' 'resources: {accelerators: "x:99999999999"}\nnum_nodes: 4294967295\nrun: "torchrun x.py --num-layers 2"\n' \
    "apiVersion: v1\\nkind: Job\\nspec: {containers: [{command: [\"it's\", -c], args: []}]}\\n"; do
    printf "$hostile" >"$dir/hostile.yaml"
    timeout 20 "$S" run "$dir/hostile.yaml" >"$dir/out" 2>"$dir/err"
    code=$?
    n=$((n + 1))
    { [ $code = 2 ] || [ $code = 3 ]; } && grep -q error "$dir/err" && echo "ok hostile_job_$n" || { echo "not ok hostile_job_$n $code"; cat "$dir/err"; }
done

# Alpaca-LoRA and its kin name a base_model on the command line: a rank is one of adapters, and
# batch_size that of all GPUs
alpaca() { echo "torchrun --nproc_per_node=4 finetune.py --base_model='huggyllama/llama-7b' --data_path=a.json --cutoff_len=512 --lora_r=16 --micro_batch_size=4 $*" >"$dir/alpaca.sh"; }
alpaca "--batch_size=128 --lora_target_modules='[q_proj,k_proj,v_proj,o_proj]'"
same alpaca_lora "$dir/alpaca.sh" -- --model llama-7b --gpus 4 --seq 512 --micro-batch 4 --global-batch 128 --recompute full --lora 16 --lora-targets q_proj,k_proj,v_proj,o_proj --overlap-grad yes --software hf-transformers
unsaid alpaca_lora_is_known 'not know'

# --moe-layer-recompute repeats the experts, beside the core of attention where that is repeated
experts="--bf16 --num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 512 --swiglu"
fork "" "$experts --moe-layer-recompute"
cp "$dir/fork.sh" "$dir/again.sh"
fork "" "$experts"
same moe_layer_recompute "$dir/again.sh" -- --megatron-args "$dir/fork.sh" --recompute-granularity selective --recompute-modules moe
fork "" "$experts --moe-layer-recompute --recompute-granularity selective"
cp "$dir/fork.sh" "$dir/again.sh"
fork "" "$experts"
same moe_layer_recompute_beside "$dir/again.sh" -- --megatron-args "$dir/fork.sh" --recompute-granularity selective --recompute-modules core_attn,moe
fork "" "$experts --moe-layer-recompute --recompute-granularity selective --recompute-modules layernorm"
cp "$dir/fork.sh" "$dir/again.sh"
fork "" "$experts"
same moe_layer_recompute_with_modules "$dir/again.sh" -- --megatron-args "$dir/fork.sh" --recompute-granularity selective --recompute-modules layernorm,moe

# ---- errors have places ----
# of a value in a script: its line
printf '#!/bin/bash\nARGS="--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --bf16"\npython pretrain_gpt.py $ARGS \\\n    --optimizer ademamix\n' >"$dir/place.sh"
"$S" run "$dir/place.sh" >"$dir/out" 2>"$dir/err"
[ $? = 3 ] && grep -qF "place.sh:4: error: --optimizer: unknown 'ademamix'" "$dir/err" && echo "ok value_has_a_line" || { echo "not ok value_has_a_line"; cat "$dir/err"; }
"$S" run "$dir/place.sh" --optimizer ademamix >"$dir/out" 2>"$dir/err"
[ $? = 2 ] && grep -q "^error: --optimizer: unknown 'ademamix'" "$dir/err" && echo "ok option_has_none" || { echo "not ok option_has_none"; cat "$dir/err"; }
# of a trainer's flag whose value hangs on what is not known: what it hangs on
printf 'N=$(nvidia-smi -L | wc -l)\naccelerate launch --num_processes $N train.py --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 1 --max_length 1024 --bf16\n' >"$dir/hangs.sh"
"$S" run "$dir/hangs.sh" >"$dir/out" 2>"$dir/err"
[ $? = 3 ] && grep -q "hangs.sh:2: error: num_processes cannot be known: it hangs on the output of" "$dir/err" && echo "ok hangs" || { echo "not ok hangs"; cat "$dir/err"; }
same hangs_given "$dir/hangs.sh" --gpus 8 -- --model llama2-7b --gpus 8 --micro-batch 1 --seq 1024 --update amp --software hf-transformers

# config_*.sh of MLPerf run nothing: variables say the plan, MINIBS the batch of a replica (128 of 16
# replicas are the 2048 of 64x8x128x4x8)
cat >"$dir/config_DGXH100_64x8x128x4x8_mbs2.sh" <<'Y'
export MINIBS="${MINIBS:=128}"
export TENSOR_MODEL_PARALLEL=4
export PIPELINE_MODEL_PARALLEL=8
export DGXNNODES="${DGXNNODES:=64}"
export DGXSYSTEM=$(basename $(readlink -f ${BASH_SOURCE[0]}) | sed 's/^config_//' | sed 's/\.sh$//' )
source $(dirname ${BASH_SOURCE[0]})/config_common.sh
export MICRO_BATCH_SIZE=2
export TP_COMM_OVERLAP=True
export INTERLEAVED_PIPELINE=4
Y
rest="--model gpt3-175b --fp8 --sequence-parallel --software mlperf-v4"
same mlperf "$dir/config_DGXH100_64x8x128x4x8_mbs2.sh" $rest -- $rest --gpus 512 --tp 4 --pp 8 --vpp 4 --micro-batch 2 --global-batch 2048 --tp-comm-overlap
said mlperf_is_said 'is read as a configuration of an MLPerf submission'
cat >"$dir/config_GB300.sh" <<'Y'
export MINIBS=72
export TENSOR_MODEL_PARALLEL=2
export PIPELINE_MODEL_PARALLEL=8
export CONTEXT_PARALLEL=2
export MICRO_BATCH_SIZE=1
export DGXNNODES=128
export DGXNGPU=4
export DGXSYSTEM=x
Y
same mlperf_nodes_of_four "$dir/config_GB300.sh" --model llama3-70b -- --model llama3-70b --gpus 512 --tp 2 --pp 8 --cp 2 --micro-batch 1 --global-batch 1152
printf 'export NNODES=1\nexport GPUS_PER_NODE=8\nexport GBS=32\nexport MBS=2\nexport TP=1\nexport PP=1\nexport CP=1\nexport DGXSYSTEM=x\n' >"$dir/config_MI355X.sh"
same mlperf_of_amd "$dir/config_MI355X.sh" --model llama3-8b -- --model llama3-8b --gpus 8 --micro-batch 2 --global-batch 32
# AMD's adapters: 21 of the layers are computed again, in fp8
printf 'export DGXNNODES=1\nexport DGXNGPU=8\nexport TP=2\nexport PP=2\nexport VP=4\nexport CP=1\nexport SP=True\nexport MBS=1\nexport MINIBS=4\nexport MAX_SEQLEN=8192\nexport FP8=True\nexport FP8_PARAMS=False\nexport ACG=full && export ACM=block && export ACL=21\nexport ASYM_PP_EMBED=True\nexport ASYM_PP_LOSS=True\nexport DGXSYSTEM=x\n' >"$dir/config_MI300X.sh"
same mlperf_says_more "$dir/config_MI300X.sh" --model llama3-70b --num-layers 78 --lora 16 -- --model llama3-70b --num-layers 78 --lora 16 --gpus 8 --tp 2 --pp 2 --vpp 4 --sequence-parallel --micro-batch 1 --global-batch 8 --seq 8192 --fp8 --recompute full --recompute-method block --recompute-layers 21 --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split
same mlperf_said_otherwise "$dir/config_MI300X.sh" --model llama3-70b --num-layers 78 --lora 16 --recompute none --no-sequence-parallel -- --model llama3-70b --num-layers 78 --lora 16 --gpus 8 --tp 2 --pp 2 --vpp 4 --micro-batch 1 --global-batch 8 --seq 8192 --fp8 --recompute none --no-sequence-parallel --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split
# the same variables of another script are nobody's
grep -v DGXSYSTEM "$dir/config_MI355X.sh" >"$dir/other.sh"
"$S" run "$dir/other.sh" --model llama3-8b >"$dir/out" 2>"$dir/err"
[ $? = 3 ] && grep -q 'there is no Megatron flag' "$dir/err" && echo "ok not_mlperf" || echo "not ok not_mlperf"

# ---- launches that were read wrongly, or refused ----
# DeepSpeed's launcher names the devices of each host; of a host without a list it takes all
include() { echo "deepspeed $* train.py --deepspeed zero3.json --model_name_or_path meta-llama/Llama-3.1-8B --max_seq_length 4096 --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --gradient_checkpointing --bf16" >"$dir/include.sh"; }
listed="--model llama3.1-8b --seq 4096 --micro-batch 1 --micro-batches 2 --recompute full --bf16 --zero 3 --software deepspeed"
include --include localhost:4,5,6,7 --master_port 29501
same include "$dir/include.sh" -- $listed --gpus 4
include --include="worker-0:0,1,2,3@worker-1:0,1"
same include_hosts "$dir/include.sh" -- $listed --gpus 6
include --include worker-0@worker-1:0,2
same include_whole_host "$dir/include.sh" --gpus 16 -- $listed --gpus 16
include --include worker-0@worker-1:0,2
"$S" run "$dir/include.sh" --ignore-memory >"$dir/out" 2>"$dir/err"
said include_whole_host_is_open 'does not say how many GPUs it launches'

# a sum that divides by a variable of a file that is sourced is not known, and only that
cat >"$dir/divides.sh" <<'Y'
source common.sh
export OMP_NUM_THREADS=$((SLURM_CPUS_ON_NODE / LOCAL_RANKS))
GAS=$(( 64 / (2 * LOCAL_RANKS) ))
torchrun --nproc_per_node $LOCAL_RANKS train.py --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 2 --gradient_accumulation_steps $GAS --max_length 1024 --bf16
Y
refused divides 'divides.sh:4: error: gradient_accumulation_steps cannot be known: it hangs on the arithmetic' "$dir/divides.sh"
same divides_given "$dir/divides.sh" --set LOCAL_RANKS=8 -- --model llama2-7b --gpus 8 --micro-batch 2 --micro-batches 4 --seq 1024 --update amp --software hf-transformers

# folders of ModelScope have ___ for dots, those of huggingface_hub -- for slashes; other keys for the model
folder() { echo "torchrun --nproc_per_node 8 train.py $* --per_device_train_batch_size 1 --max_length 1024 --use_gradient_checkpointing --bf16" >"$dir/folder.sh"; }
tuned="--gpus 8 --micro-batch 1 --seq 1024 --recompute full --update amp --software hf-transformers"
folder --model_name_or_path /mnt/hub/LLM-Research/Llama-3___2-1B-Instruct
same modelscope "$dir/folder.sh" -- --model llama3.2-1b $tuned
folder --model_name_or_path '$HOME/.cache/huggingface/hub/models--Qwen--Qwen2.5-0.5B-Instruct/snapshots/1f3c00d2/'
same hub_cache "$dir/folder.sh" -- --model qwen2.5-0.5b $tuned
folder --model_name meta-llama/Llama-3.2-1B
same model_name "$dir/folder.sh" -- --model llama3.2-1b ${tuned%--update*} --update plain --software hf-transformers
folder --model_name_or_path openlm-research/open_llama_3b_v2
same second_openllama "$dir/folder.sh" -- --model openllama-3b $tuned
sed -i 's/train.py/lora_tune.py/' "$dir/folder.sh"
"$S" run "$dir/folder.sh" --ignore-memory >"$dir/out" 2>"$dir/err"
said lora_by_name 'lora_tune.py trains adapters by its name, and of which rank is not said'

# DeepSpeed-Chat takes 512 tokens and 16 sequences where nothing is said (main.py)
echo 'deepspeed --num_gpus 8 main.py --model_name_or_path facebook/opt-1.3b --gradient_checkpointing --zero_stage 2 --deepspeed' >"$dir/silent.sh"
same chat_defaults "$dir/silent.sh" -- --model opt-1.3b --gpus 8 --seq 512 --micro-batch 16 --micro-batches 1 --recompute full --zero 2 --software deepspeed

# 8 bits are not 4: the weights are counted as they are trained, and that is said
echo 'deepspeed --num_gpus=4 tune.py --model_name_or_path Qwen/Qwen2.5-3B --quantization_bit 8 --lora_r 8 --per_device_train_batch_size 1 --max_length 512 --bf16 --deepspeed zero2.json' >"$dir/eight.sh"
"$S" run "$dir/eight.sh" --ignore-memory >"$dir/out" 2>"$dir/err"
said eight_bits 'quantization_bit 8 changes the step and is not modelled'

# OpenRLHF's other steps are known by their program
echo 'deepspeed --num_gpus 8 --module openrlhf.cli.train_dpo --pretrain meta-llama/Llama-3.1-8B-Instruct --micro_train_batch_size 1 --train_batch_size 64 --max_len 2048 --zero_stage 3 --bf16 --beta 0.1 --gradient_checkpointing' >"$dir/dpo.sh"
"$S" run "$dir/dpo.sh" --ignore-memory >"$dir/out" 2>"$dir/err"
said dpo_by_program 'trains on answers to prompts'

# Llama recipes: 4 sequences of 4096 tokens, and checkpoints under FSDP, unless it says otherwise
recipe() { echo "torchrun --nproc_per_node 8 recipes/finetuning.py --model_name meta-llama/Llama-2-7b-hf --enable_fsdp $*" >"$dir/recipe.sh"; }
sharded="--model llama2-7b --gpus 8 --software fsdp-eager --use-torch-fsdp2"
recipe --lr 1e-5
same recipes "$dir/recipe.sh" -- $sharded --micro-batch 4 --seq 4096 --recompute full
recipe --batch_size_training 2 --context_length 2048 --gradient_accumulation_steps 4 --fsdp_config.fsdp_activation_checkpointing False
same recipes_say "$dir/recipe.sh" -- $sharded --micro-batch 2 --micro-batches 4 --seq 2048 --recompute none
recipe --use_peft --peft_method lora --lora_config.r 32 --quantization 4bit
same recipes_adapters "$dir/recipe.sh" -- $sharded --micro-batch 4 --seq 4096 --recompute full --lora 32 --qlora --dropout
recipe --use_peft --quantization 8bit
"$S" run "$dir/recipe.sh" --ignore-memory >"$dir/out" 2>"$dir/err"
said recipes_eight_bits 'quantization 8bit changes the step and is not modelled'

# verl's supervised fine-tuning: settings name=value over sft_trainer.yaml
verl() { echo "torchrun --standalone --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer data.train_files=\$HOME/a.parquet model.partial_pretrain=Qwen/Qwen2.5-7B-Instruct $*" >"$dir/verl.sh"; }
sharded="--model qwen2.5-7b --gpus 8 --attention flash2 --software fsdp-eager --use-torch-fsdp2"
verl data.max_length=8192 data.train_batch_size=32 data.micro_batch_size_per_gpu=1 model.enable_gradient_checkpointing=True ulysses_sequence_parallel_size=2 use_remove_padding=True
same verl "$dir/verl.sh" -- $sharded --seq 8192 --global-batch 32 --micro-batch 1 --recompute full --cp 2 --cp-comm-type a2a
verl trainer.total_epochs=2
same verl_defaults "$dir/verl.sh" -- $sharded --seq 1024 --global-batch 256 --micro-batch 4 --recompute full
said verl_defaults_are_said 'does not say data.train_batch_size: it is 256 there'
same verl_and_options "$dir/verl.sh" --seq 2048 --micro-batch 2 -- $sharded --seq 2048 --global-batch 256 --micro-batch 2 --recompute full
verl model.enable_gradient_checkpointing=False data.micro_batch_size_per_gpu=2 data.max_length=2048 data.train_batch_size=64 +model.lora_rank=16 ++data.train_batch_size=128
same verl_adapters "$dir/verl.sh" -- $sharded --seq 2048 --global-batch 128 --micro-batch 2 --recompute none --lora 16 --lora-targets all
verl data.micro_batch_size=32
refused verl_older 'verl.sh:1: error: data.micro_batch_size 32 is that of all GPUs in older versions' "$dir/verl.sh"
sed -i 's/Qwen.Qwen2.5-7B-Instruct/$BASE/' "$dir/verl.sh"
refused verl_unset 'model.partial_pretrain has no value' "$dir/verl.sh" --micro-batch 1

# MaxText: settings over base.yml
maxtext() { echo "XLA_FLAGS=--xla_gpu_x=true python3 -m MaxText.train src/MaxText/configs/base.yml run_name=a_\$(date +%s) steps=20 $*" >"$dir/maxtext.sh"; }
maxtext model_name=llama2-7b per_device_batch_size=4 max_target_length=4096 ici_fsdp_parallelism=8 dcn_data_parallelism=2
same maxtext "$dir/maxtext.sh" --gpus 16 -- --model llama2-7b --gpus 16 --seq 4096 --micro-batch 4 --micro-batches 1 --recompute full --zero 3 --shard-group 8 --software maxtext
maxtext model_name=llama2-7b
same maxtext_defaults "$dir/maxtext.sh" --gpus 8 -- --model llama2-7b --gpus 8 --seq 2048 --micro-batch 12 --micro-batches 1 --recompute full --zero 3 --software maxtext
maxtext ici_tensor_parallelism=2 per_device_batch_size=1
refused maxtext_no_model 'maxtext.sh:1: error: no model_name is given' "$dir/maxtext.sh"
same maxtext_given "$dir/maxtext.sh" --model llama3-8b --gpus 8 -- --model llama3-8b --gpus 8 --tp 2 --seq 2048 --micro-batch 2 --micro-batches 1 --recompute full --zero 3 --software maxtext
sed -i 's/base.yml/models\/gpu\/llama2_7b.yml/' "$dir/maxtext.sh"
refused maxtext_other_file 'read that file itself' "$dir/maxtext.sh" --model llama3-8b

# what takes other settings so is refused with what helps
echo 'python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen3-8B trainer.n_gpus_per_node=8' >"$dir/ppo.sh"
refused rl_settings 'ppo.sh:1: error: reinforcement learning is not forecast' "$dir/ppo.sh"
echo 'torchrun --nproc_per_node=4 -m other.sft data.path=x actor.model_name=Qwen/Qwen3-8B' >"$dir/other_settings.sh"
refused other_settings 'error: the settings of this command (name=value) are not known' "$dir/other_settings.sh"

# ms-swift: adapters, 16 sequences or more a step and checkpointing unless it says otherwise (it was read as
# Megatron's where no key of transformers stood there)
swift() { echo "CUDA_VISIBLE_DEVICES=0,1,2,3 NNODES=2 NPROC_PER_NODE=4 swift $* --model Qwen/Qwen2.5-7B-Instruct --max_length 4096 --model_author swift --model_name swift-robot" >"$dir/hfswift.sh"; }
swifted="--model qwen2.5-7b --gpus 8 --seq 4096 --recompute full"
swift sft --gradient_accumulation_steps 16 --torch_dtype bfloat16 --lora_rank 16 --lora_dropout 0
same swift "$dir/hfswift.sh" -- $swifted --micro-batch 1 --micro-batches 16 --lora 16 --lora-targets all --software hf-transformers
said swift_defaults_are_said 'does not say gradient_checkpointing: it is true there'
swift sft --train_type full --deepspeed zero2
same swift_batch "$dir/hfswift.sh" -- $swifted --micro-batch 1 --micro-batches 2 --zero 2 --software deepspeed
swift pt --tuner_type full --per_device_train_batch_size 4 --gradient_checkpointing false --deepspeed zero3
same swift_pt "$dir/hfswift.sh" -- ${swifted% --recompute*} --micro-batch 4 --micro-batches 1 --zero 3 --software deepspeed
echo "NPROC_PER_NODE=8 swift sft --model_type qwen1half-7b-chat --model_id_or_path qwen/Qwen2___5-7B-Instruct --sft_type full --batch_size 2 --gradient_accumulation_steps 4 --max_length 4096 --deepspeed default-zero3" >"$dir/hfswift.sh"
same swift_version_two "$dir/hfswift.sh" -- $swifted --micro-batch 2 --micro-batches 4 --zero 3 --software deepspeed
swift rlhf --rlhf_type dpo --train_type full --deepspeed zero3
same swift_rlhf "$dir/hfswift.sh" -- $swifted --micro-batch 1 --zero 3 --software deepspeed
said swift_rlhf_is_said 'rlhf_type dpo: a step of plain training is counted'
swift sft --train_type full --use_tiled_mlp true --deepspeed zero3
"$S" run "$dir/hfswift.sh" --ignore-memory >"$dir/out" 2>"$dir/err"
said swift_tiles 'use_tiled_mlp true changes the step and is not modelled'

# of accelerate's file that is not there its name says the stage, or FSDP (TRL's deepspeed_zero3.yaml, fsdp2.yaml)
named() { echo "accelerate launch --num_processes 8 --config_file recipes/$1 sft.py --model_name_or_path meta-llama/Llama-3.1-8B --max_length 2048 --per_device_train_batch_size 1 --gradient_checkpointing --bf16" >"$dir/named.sh"; }
whole="--model llama3.1-8b --gpus 8 --seq 2048 --micro-batch 1 --recompute full --bf16"
named deepspeed_zero3.yaml
same accelerate_zero_by_name "$dir/named.sh" -- $whole --zero 3 --software deepspeed
said accelerate_zero_by_name_is_said 'of what it says ZeRO 3 is taken, by its name'
named zero2_offload.yaml
same accelerate_offload_by_name "$dir/named.sh" -- $whole --zero 2 --offload-optimizer 1 --overlap-offload yes --software deepspeed
named fsdp2.yaml
same accelerate_fsdp_by_name "$dir/named.sh" -- $whole --use-torch-fsdp2 --software fsdp-eager
mkdir -p "$dir/recipes"
printf 'distributed_type: MULTI_GPU\nnum_processes: 4\n' >"$dir/recipes/zero3.yaml"
named zero3.yaml
same accelerate_file_over_its_name "$dir/named.sh" -- $whole --update amp --software hf-transformers

# commands that are given a configuration: it is read where it lies beside the script
printf 'base_model: Qwen/Qwen3-8B\nadapter:\nlora_r: 32\nsequence_len: 4096\nsample_packing: true\nmicro_batch_size: 2\nbatch_size: 64\ngradient_accumulation_steps: 2\nbf16: true\ngradient_checkpointing: true\ndeepspeed: zero3.json\n' >"$dir/cfg.yml"
for launch in 'accelerate launch --num_processes 8 -m axolotl.cli.train cfg.yml' 'CUDA_VISIBLE_DEVICES=0 axolotl train cfg.yml --num-processes 8'; do
    echo "$launch" >"$dir/given.sh"
    same "given: ${launch%% cfg*}" "$dir/given.sh" -- --model qwen3-8b --gpus 8 --seq 4096 --micro-batch 2 --micro-batches 2 --recompute full --bf16 --zero 3 --software deepspeed
done
printf 'FORCE_TORCHRUN=1 llamafactory-cli train examples/elsewhere.yaml\n' >"$dir/given.sh"
refused given_elsewhere 'given.sh:1: error: what is trained stands in examples/elsewhere.yaml, which is not beside' "$dir/given.sh"
printf 'srun torchrun --nproc_per_node 8 ./train.py --job.config_file ./train_configs/llama2_70b.toml\n' >"$dir/titan.sh"
refused file_behind_a_flag 'error: what is trained stands in ./train_configs/llama2_70b.toml, which is not beside' "$dir/titan.sh"

# models under names of their own that have the shape of another, as their config.json say
for pair in lmsys/vicuna-7b-v1.5=llama2-7b lmsys/vicuna-13b-v1.3=llama-13b deepseek-ai/deepseek-math-7b-rl=deepseek-llm-7b Qwen/Qwen2.5-14B-Instruct-1M=qwen2.5-14b; do
    same "name: $pair" --model ${pair%=*} --gpus 8 --global-batch 8 --seq 1024 -- --model ${pair#*=} --gpus 8 --global-batch 8 --seq 1024
done

# MLPerf: overlapped tensor parallelism is sequence parallel; HPE's have no DGXSYSTEM
rest="--model gpt3-175b --software mlperf-v4"
same mlperf_overlap "$dir/config_DGXH100_64x8x128x4x8_mbs2.sh" $rest -- $rest --gpus 512 --tp 4 --pp 8 --vpp 4 --micro-batch 2 --global-batch 2048 --tp-comm-overlap --sequence-parallel
printf 'source $(dirname ${BASH_SOURCE[0]})/common.sh\nexport MLPERF_SUBMITTER=HPE\nexport MINIBS=4\nexport TP=4\nexport PP=1\nexport CP=1\nexport SP=1\nexport FP8=True\nexport DGXNNODES=1\n' >"$dir/config_XD.sh"
rest="--model llama2-70b --lora 16 --seq 4096 --micro-batch 1"
same mlperf_of_hpe "$dir/config_XD.sh" $rest -- $rest --gpus 8 --tp 4 --global-batch 8 --sequence-parallel --fp8

# LLaMA-Factory's own files behind other launchers; words of programs of one's own
printf 'model_name_or_path: Qwen/Qwen3-8B\nfinetuning_type: full\ncutoff_len: 4096\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 2\nbf16: true\ndeepspeed: zero3.json\n' >"$dir/sft.yaml"
for launch in 'python -m torch.distributed.run --nproc_per_node 8 src/train.py sft.yaml' 'accelerate launch --num_processes 8 -m src.llmtuner.cli train sft.yaml' 'torchrun --nproc_per_node=8 /opt/LLaMA-Factory/src/train_bash.py sft.yaml'; do
    echo "$launch" >"$dir/given.sh"
    same "given: ${launch%% sft*}" "$dir/given.sh" -- --model qwen3-8b --gpus 8 --seq 4096 --micro-batch 1 --micro-batches 2 --recompute full --bf16 --zero 3 --software deepspeed
done
echo 'CUDA_VISIBLE_DEVICES=0,1,2,3 accelerate launch train_sft.py --model_name Qwen/Qwen2.5-7B-Instruct --max_length 1024 --train_batch_size 2 --accumulation_steps 4 --use_lora --lora_r 16 --bf16' >"$dir/words.sh"
same accumulation_steps "$dir/words.sh" -- --model qwen2.5-7b --gpus 4 --micro-batch 1 --micro-batches 4 --seq 1024 --lora 16 --lora-autocast --software hf-transformers
said train_batch_size_is_said 'train_batch_size 2 is not known and counts for nothing'

# LLaMA-Factory under Ray says its GPUs; what evaluates is refused
printf 'model_name_or_path: Qwen/Qwen2.5-0.5B-Instruct\nstage: sft\ndo_train: true\nfinetuning_type: full\ncutoff_len: 1024\nper_device_train_batch_size: 2\nbf16: true\nray_run_name: a\nray_num_workers: 4\n' >"$dir/ray.yaml"
same ray_workers "$dir/ray.yaml" -- --model qwen2.5-0.5b --gpus 4 --seq 1024 --micro-batch 2 --recompute full --update amp --software hf-transformers
sed -i 's/do_train: true/do_train: false/' "$dir/ray.yaml"
refused evaluation 'do_train is false: this evaluates, or predicts' "$dir/ray.yaml"

# a script that submits itself where it is no job is one behind its #SBATCH lines
cat >"$dir/self.sh" <<'Y'
#!/bin/bash
#SBATCH --job-name=own
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=7
if [ -z $SLURM_JOB_ID ]; then
    sbatch "$0" "$@"
    exit
fi
set -u
LOG=logs/$SLURM_JOB_NAME-$SLURM_JOBID.out
export OMP_NUM_THREADS=$((SLURM_CPUS_PER_TASK / 7))
srun singularity exec image.sif ./launch.sh pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 4 --global-batch-size 128 --bf16 --vocab-size 50304 --use-distributed-optimizer --attention-dropout 0 --hidden-dropout 0
Y
mega="--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 4 --global-batch-size 128 --bf16 --vocab-size 50304 --use-distributed-optimizer --attention-dropout 0 --hidden-dropout 0"
meant() { echo "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py $mega $*" >"$dir/meant.sh"; }
meant
same submits_itself "$dir/self.sh" -- "$dir/meant.sh"

# MindSpeed: a frequency of -1 is that of each layer, its words for context parallelism are ours
speed() { echo "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py $mega $*" >"$dir/speed.sh"; }
experts="--num-experts 16 --moe-router-topk 2 --moe-ffn-hidden-size 1024 --expert-model-parallel-size 4"
speed $experts --first-k-dense-replace 1 --moe-layer-freq -1
meant $experts --first-k-dense-replace 1 --moe-layer-freq 1
same every_layer "$dir/speed.sh" -- "$dir/meant.sh"
for pair in ulysses_cp_algo=a2a megatron_cp_algo=p2p kvallgather_cp_algo=all_gather; do
    speed --context-parallel-size 2 --context-parallel-algo ${pair%=*}
    meant --context-parallel-size 2 --cp-comm-type ${pair#*=}
    same "context: $pair" "$dir/speed.sh" -- "$dir/meant.sh"
done
# layers that do nothing, on the stages at both ends
speed --pipeline-model-parallel-size 4 --noop-layers 0,22,23
meant --pipeline-model-parallel-size 4 --num-layers 21 --decoder-first-pipeline-num-layers 5 --decoder-last-pipeline-num-layers 4
same noop_layers "$dir/speed.sh" -- "$dir/meant.sh"
# … of as many stages as an option says, each layer once
same noop_layers_stages "$dir/speed.sh" --pp 2 -- "$dir/meant.sh" --pp 2 --decoder-first-pipeline-num-layers 11 --decoder-last-pipeline-num-layers 10
sed 's/0,22,23/0,22,0,23,22/' "$dir/speed.sh" >"$dir/twice.sh"
same noop_layers_twice "$dir/twice.sh" -- "$dir/meant.sh"
speed --noop-layers 3,7
meant --num-layers 22
same noop_layers_of_one_stage "$dir/speed.sh" -- "$dir/meant.sh"
speed --pipeline-model-parallel-size 4 --noop-layers 7
refused noop_layer_between 'layer 7 is on neither the first nor the last stage' "$dir/speed.sh"
speed --pipeline-model-parallel-size 4 --noop-layers 24
refused noop_layer_beyond "'24' is none of the layers" "$dir/speed.sh"
# experts over the ranks of tensor parallelism, too
speed $experts --tensor-model-parallel-size 2 --moe-tp-extend-ep
meant --num-experts 16 --moe-router-topk 2 --moe-ffn-hidden-size 1024 --tensor-model-parallel-size 2 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1
same extended_experts "$dir/speed.sh" -- "$dir/meant.sh"
unsaid extended_experts_known 'moe-tp-extend-ep'
same extended_experts_said "$dir/speed.sh" --ep 4 -- "$dir/meant.sh" --ep 4
speed --context-parallel-size 2 --context-parallel-algo hybrid_cp_algo
"$S" run "$dir/speed.sh" --ignore-memory >"$dir/out" 2>"$dir/err"
said context_otherwise 'context-parallel-algo hybrid_cp_algo changes the step and is not modelled'
speed --context-parallel-size 1 --context-parallel-algo hybrid_cp_algo
"$S" run "$dir/speed.sh" --ignore-memory >"$dir/out" 2>"$dir/err"
unsaid no_context 'hybrid_cp_algo'
speed --multi-latent-attention --enable-dsa-indexer --index-topk 1024
refused sparse_attention '--enable-dsa-indexer: flags of sparse attention are not read' "$dir/speed.sh"
# what follows a placeholder is no file that output goes to
shape="--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512 --micro-batch-size 1 --bf16"
echo "options=\"$shape --vocab-file <PATH TO VOCABULARY> --global-batch-size 32 --save <PATH TO CHECKPOINTS> --checkpoint-activations\"; srun -N 1 --ntasks-per-node 8 sh -c \"python pretrain_gpt.py \$options\"" >"$dir/place.sh"
echo "srun -N 1 --ntasks-per-node 8 python pretrain_gpt.py $shape --global-batch-size 32 --checkpoint-activations" >"$dir/plain.sh"
same behind_a_placeholder "$dir/place.sh" -- "$dir/plain.sh"
echo "srun -N 1 --ntasks-per-node 8 python pretrain_gpt.py $shape --global-batch-size 32 --checkpoint-activations > --log 2>&1" >"$dir/log.sh"
same output_to_a_file "$dir/log.sh" -- "$dir/plain.sh"
# slime: the GPUs that ray gives the training
echo "ray job submit -- python3 train.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 $shape --global-batch-size 32" >"$dir/ray.sh"
echo "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py $shape --global-batch-size 32" >"$dir/plain.sh"
same gpus_of_actors "$dir/ray.sh" -- "$dir/plain.sh"
unsaid gpus_of_actors_known 'actor-num'
