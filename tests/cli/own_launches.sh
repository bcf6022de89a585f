# Launches of people's own runs, in words that other programs than those of configurations.sh
# have: each means the same as the options that say it.
S=${STEPCAST:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
same() { # name, file and its options, --, the options
    name=$1
    shift
    first=""
    while [ "$1" != -- ]; do
        first="$first $1"
        shift
    done
    shift
    if "$S" run $first --ignore-memory --json "$dir/a.json" >"$dir/out" 2>"$dir/err" &&
        "$S" run "$@" --ignore-memory --json "$dir/b.json" >/dev/null 2>>"$dir/err" &&
        python3 -S - "$dir/a.json" "$dir/b.json" <<'P'
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
# the notes of the launch just run, on one line
notes() { tr '\n' ' ' <"$dir/out" | tr -s ' '; }
said() { if notes | grep -qF -- "$2"; then echo "ok $1"; else echo "not ok $1: $(notes)"; fi; }
unsaid() { # the step was forecast, and this is not said of it
    if notes | grep -q 'step time' && ! notes | grep -qF -- "$2"; then echo "ok $1"; else echo "not ok $1: $(notes)"; fi
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
same chat_offload "$dir/chat.sh" -- $chatted --lora 128 --lora-targets all --offload-optimizer 1 --overlap-offload yes
unsaid chat_adapters_alone 'embeddings and norms'

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
same base_model_in_a_section "$dir/nested.yaml" --gpus 8 -- --num-layers 4 --hidden-size 512 --num-attention-heads 8 --vocab-size 32000 --seq 1024 --micro-batch 1 --global-batch 8 --bf16 --gpus 8
said mask_is_said 'attention_mask_type no_mask changes the step and is not modelled'
