# Commands that change what a file or a function of their program says: each means the same as
# the options that say it.
S=${STEPCAST:?}
dir=$(mktemp -d)
tmp=$dir/said && mkdir "$tmp"
trap 'rm -rf "$dir"' EXIT
. tests/tools/same_step
. tests/tools/expect
launch() { echo "$*" >"$dir/launch.sh"; }

# ---- torchtitan ----
titan="--use-torch-fsdp2 --software torchtitan-2026"
cat >"$dir/8b.toml" <<'T'
[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 1
seq_len = 8192
[activation_checkpoint]
mode = "full"
[compile]
enable = true
T
launch torchrun --nproc_per_node=8 --nnodes=2 -m torchtitan.train --job.config_file 8b.toml --training.local-batch-size 2 --parallelism.tensor_parallel_degree=4
same titan_file "$dir/launch.sh" -- --model llama3-8b --gpus 16 --tp 4 --sequence-parallel --seq 8192 --micro-batch 2 --recompute full $titan
launch NGPU=4 CONFIG_FILE=./8b.toml ./run_train.sh --training.seq_len 4096 --activation_checkpoint.mode none
same titan_script "$dir/launch.sh" -- --model llama3-8b --gpus 4 --seq 4096 --micro-batch 1 --recompute none $titan
launch CONFIG_FILE=8b.toml ./run_train.sh --compile.no-enable
same titan_script_alone "$dir/launch.sh" -- --model llama3-8b --gpus 8 --seq 8192 --micro-batch 1 --recompute full $titan --fusion hf --cross-entropy fp32
launch torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config llama3_70b --training.local_batch_size=1 --training.seq_len=4096 --compile.enable
same titan_function "$dir/launch.sh" -- --model llama3-70b --gpus 8 --tp 8 --sequence-parallel --seq 4096 --micro-batch 1 --recompute full $titan
tr '\n' ' ' <"$dir/out" | tr -s ' ' >"$dir/notes"
expect titan_function_said 0 "is that of llama3_70b in torchtitan's config_registry.py: 8192 tokens" cat "$dir/notes"
# the last of two counts; later versions count a batch in tokens
launch torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file 8b.toml --training.local-batch-size 2 --parallelism.tensor_parallel_degree=4 --training.local_batch_size 4
same titan_twice "$dir/launch.sh" -- --model llama3-8b --gpus 8 --tp 4 --sequence-parallel --seq 8192 --micro-batch 4 --recompute full $titan
launch torchrun --nproc_per_node 8 -m torchtitan.train --module qwen3 --config qwen3_14b --training.max_context_length 2048 --training.num_tokens_per_microbatch_per_dp_rank 16384
same titan_tokens "$dir/launch.sh" -- --model qwen3-14b --gpus 8 --seq 2048 --micro-batch 8 --recompute full $titan --fusion hf --cross-entropy fp32
launch torchrun --nproc_per_node 8 -m torchtitan.train --module qwen3 --config qwen3_ours
expect titan_function_unknown 3 'launch.sh:1: error: --config qwen3_ours is a function' "$S" run "$dir/launch.sh"
launch torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file none.toml
expect titan_file_missing 3 'launch.sh:1: error: what is trained stands in none.toml' "$S" run "$dir/launch.sh"
launch torchrun --nproc_per_node 8 -m torchtitan.train --training.seq_len 4096
expect titan_nothing 3 "does not say which of torchtitan's configurations" "$S" run "$dir/launch.sh"

# ---- NeMo 1 ----
shape="--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --ffn-hidden-size 8192 --seq-length 2048 --overlap-grad no --cross-entropy unfused"
nemo="model.num_layers=24 model.hidden_size=2048 model.num_attention_heads=16 model.ffn_hidden_size=8192 model.encoder_seq_length=2048"
launch "python examples/nlp/language_modeling/megatron_gpt_pretraining.py --config-path=conf --config-name=megatron_gpt_config trainer.devices=8 trainer.num_nodes=2 trainer.precision=bf16 model.micro_batch_size=2 model.global_batch_size=64 model.tensor_model_parallel_size=4 $nemo model.sequence_parallel=True ++model.activations_checkpoint_granularity=selective"
same nemo "$dir/launch.sh" -- $shape --gpus 16 --tp 4 --sequence-parallel --micro-batch 2 --global-batch 64 --bf16 --recompute selective
launch python megatron_gpt_pretraining.py trainer.devices=8 $nemo trainer.precision=bf16
same nemo_defaults "$dir/launch.sh" --global-batch 32 -- $shape --gpus 8 --micro-batch 4 --global-batch 32 --bf16
expect nemo_defaults_said 0 'does not say model.micro_batch_size: it is 4 there' cat "$dir/out"
expect nemo_nodes_said 0 'does not say trainer.num_nodes: it is 1 there' cat "$dir/out"
launch python megatron_gpt_pretraining.py trainer.devices=-1 trainer.num_nodes=2 $nemo trainer.precision=bf16
same nemo_all_devices "$dir/launch.sh" --global-batch 64 -- $shape --gpus 16 --micro-batch 4 --global-batch 64 --bf16
launch torchrun --nproc_per_node 8 megatron_gpt_pretraining.py $nemo trainer.precision=bf16
same nemo_by_torchrun "$dir/launch.sh" --global-batch 32 -- $shape --gpus 8 --micro-batch 4 --global-batch 32 --bf16
launch python megatron_gpt_pretraining.py --config-name=ours trainer.devices=8 $nemo
expect nemo_file_missing 3 'launch.sh:1: error: what is trained stands in ours.yaml' "$S" run "$dir/launch.sh"
printf 'trainer:\n  devices: 4\n  num_nodes: 1\n  precision: bf16\nmodel:\n  num_layers: 24\n  hidden_size: 2048\n  num_attention_heads: 16\n  ffn_hidden_size: 8192\n  encoder_seq_length: 2048\n  micro_batch_size: 1\n  global_batch_size: 8\n' >"$dir/ours.yaml"
launch python megatron_gpt_pretraining.py --config-name=ours trainer.devices=8 model.global_batch_size=16
same nemo_file "$dir/launch.sh" -- $shape --gpus 8 --micro-batch 1 --global-batch 16 --bf16

# ---- torchtune ----
cat >"$dir/tune.yaml" <<'Y'
model:
  _component_: torchtune.models.qwen2_5.qwen2_5_7b_instruct
tokenizer:
  _component_: torchtune.models.qwen2_5.qwen2_5_tokenizer
  max_seq_len: null
dataset:
  packed: True
batch_size: 2
gradient_accumulation_steps: 8
optimizer:
  _component_: torch.optim.AdamW
  fused: True
loss:
  _component_: torchtune.modules.loss.LinearCrossEntropyLoss
enable_activation_checkpointing: True
dtype: bf16
Y
launch tune run --nproc_per_node 4 full_finetune_distributed --config tune.yaml batch_size=1 tokenizer.max_seq_len=2048
same tune "$dir/launch.sh" -- --megatron-args "$dir/tune.yaml" --gpus 4 --micro-batch 1 --seq 2048
launch tune run --nproc_per_node 4 full_finetune_distributed --config llama3_1/8B_full
expect tune_of_the_package 3 'what is trained stands in llama3_1/8B_full, which is not beside' "$S" run "$dir/launch.sh"

# ---- InternEvo ----
intern() { # zero1, tensor, pipeline, weight, checkpoint
    cat >"$dir/intern.py" <<Y
SEQ_LEN = 512
SEQ_LEN = 2 * 2**10  # tokens (of
HIDDEN_SIZE = (4_096 - 96)
MLP_RATIO = 7 / 2
ckpt = dict(
    oss_snapshot_freq=int(50 / 2),  # snapshots, (of all)
)
x = [1, 2])
data = dict(
    seq_len=SEQ_LEN,
    # (micro_num is that of a step
    micro_num=9 // 2,  # don't
    micro_bsz=-(-1)  # ({
)
note = "it is \"model = dict(\" #"
hybrid_zero_optimizer = dict(overlap_sync_grad=True, overlap_sync_param=False, reduce_bucket_size=512 * 1024 * 1024)
model = dict(checkpoint=$5, num_attention_heads=40, vocab_size=32000, hidden_size=HIDDEN_SIZE, num_layers=32,
    mlp_ratio=MLP_RATIO, no_bias=True, dtype="torch.bfloat16", num_kv_attention_heads=8, use_flash_attn=True)
"""
parallel = dict(tensor=dict(size=64))
"""
parallel = dict(zero1=dict(size=$1), tensor=dict(size=$2), pipeline=dict(size=$3, interleaved_overlap=True), weight=dict(size=$4))
Y
}
evo="--software internevo --num-layers 32 --hidden-size 4000 --ffn-hidden-size 14080 --num-attention-heads 40 --num-query-groups 8 --vocab-size 32000 --seq-length 2048 --swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear --untie-embeddings-and-output-weights --attention flash2 --bf16 --micro-batch 1 --micro-batches 4 --gpus 16 --overlap-grad yes --overlap-param no"
intern -1 '2, mode="msp"' 2 1 False
same internevo "$dir/intern.py" --gpus 16 -- $evo --tp 2 --pp 2 --sequence-parallel --zero 1
intern 1 '2, mode="mtp"' 1 1 True
same internevo_whole "$dir/intern.py" --gpus 16 -- $evo --tp 2 --recompute full
intern 4 '2, mode="isp"' 1 4 0.5
same internevo_isp "$dir/intern.py" --gpus 16 -- $evo --cp 2 --cp-comm-type a2a --zero 3 --shard-group 4 --recompute full --recompute-method block --recompute-num-layers 16
# a launch that names such a file
for named in "--config intern.py --launcher torch" "--config=./intern.py"; do
    launch torchrun --nnodes=2 --nproc_per_node=8 train.py $named
    same "internevo_launch $named" "$dir/launch.sh" -- --megatron-args "$dir/intern.py" --gpus 16
done
launch torchrun --nproc_per_node=8 train.py --config none.py
expect internevo_launch_missing 3 'launch.sh:1: error: what is trained stands in none.py' "$S" run "$dir/launch.sh"
expect internevo_shown 0 "layers    32 of width 4000" "$S" show "$dir/intern.py" --gpus 16
# a share of the layers is rounded up; PyTorch's FSDP is a switch beside zero1
intern -1 '1, mode="mtp"' 1 1 0.3
same internevo_share "$dir/intern.py" --gpus 16 -- $evo --zero 1 --recompute full --recompute-method block --recompute-num-layers 10
intern -1 '1, mode="mtp"' 1 1 0.01
same internevo_small_share "$dir/intern.py" --gpus 16 -- $evo --zero 1 --recompute full --recompute-method block --recompute-num-layers 1
intern '-1, fsdp=True' '1, mode="mtp"' 1 1 False
same internevo_fsdp "$dir/intern.py" --gpus 16 -- $evo --use-torch-fsdp2
intern -1 '1, mode="mtp"' 1 1 False
sed 's/no_bias=True/head_dim=128/; s/bfloat16/half/' "$dir/intern.py" >"$dir/heads.py"
half=$(echo "$evo" | sed 's/--bf16/--fp16/')
same internevo_heads "$dir/heads.py" --gpus 16 -- $half --zero 1 --kv-channels 128 --add-qkv-bias
sed '/micro_num/d; s/dtype="torch.bfloat16", //' "$dir/intern.py" >"$dir/silent.py"
same internevo_silent "$dir/silent.py" --gpus 16 -- $(echo "$half" | sed "s/--micro-batches 4/--micro-batches 1/") --zero 1
tr '\n' ' ' <"$dir/out" | tr -s ' ' >"$dir/notes"
expect internevo_silent_said 0 'does not say model.dtype: it is fp16 there - silent.py does not say data.micro_num: it is 1 there' sed "s|$dir/||g" "$dir/notes"
sed 's/MLP_RATIO = .*/MLP_RATIO = ratio_of("7b")/' "$dir/intern.py" >"$dir/call.py"
expect internevo_call 3 'call.py:18: error: model.mlp_ratio is ratio_of("7b")' "$S" run "$dir/call.py" --gpus 16
same internevo_call_said "$dir/call.py" --gpus 16 --ffn-hidden-size 14080 -- $evo --zero 1
sed -i 's/num_layers=32/num_layers=32, num_experts=8/' "$dir/intern.py"
expect internevo_experts 3 'experts of InternEvo are not read' "$S" run "$dir/intern.py" --gpus 16

# ---- Colossal-AI ----
colossal() { launch colossalai run --nproc_per_node 4 train_sft.py --pretrain /models/Llama-2-7b-hf --batch_size 8 --accumulation_steps 2 --max_len 4096 --mixed_precision bf16 --lora_rank 0 --use_flash_attn "$*"; }
of="--model llama2-7b --seq 4096 --gpus 4 --bf16 --attention flash2 --software deepspeed"
colossal --plugin zero2 --grad_checkpoint
same colossal_zero "$dir/launch.sh" -- $of --micro-batch 8 --micro-batches 2 --zero 2 --recompute full
colossal --plugin gemini
same colossal_gemini "$dir/launch.sh" -- $of --micro-batch 8 --micro-batches 2 --zero 3
colossal --plugin 3d --tp 2 --zero_stage 1
same colossal_3d "$dir/launch.sh" -- $of --micro-batch 8 --micro-batches 2 --zero 1 --tp 2
# stage 0 shards nothing in bf16 either, as DeepSpeed's does
for plain in ddp 3d; do
    colossal --plugin $plain
    same "colossal_whole $plain" "$dir/launch.sh" -- $of --micro-batch 8 --micro-batches 2 --zero 0
done
expect colossal_stage_said 0 'does not say zero_stage: it is 0 there' cat "$dir/out"
colossal --plugin 3d --zero 2 --tp 2
same colossal_stage_of_the_benchmark "$dir/launch.sh" -- $of --micro-batch 8 --micro-batches 2 --zero 2 --tp 2
colossal --plugin 3d --zero_stage 1 --zero_cpu_offload
same colossal_offload "$dir/launch.sh" -- $of --micro-batch 8 --micro-batches 2 --zero 1 --offload-optimizer 1 --overlap-offload yes
colossal --plugin fsdp
same colossal_fsdp "$dir/launch.sh" -- $of --micro-batch 8 --micro-batches 2 --use-torch-fsdp2 --software fsdp-eager
# parts of sequences with the ranks of tensor parallelism, or with ranks of their own
colossal --plugin 3d --zero_stage 0 --tp 2 --enable_sequence_parallelism
same colossal_parts "$dir/launch.sh" -- $of --micro-batch 8 --micro-batches 2 --zero 0 --tp 2 --sequence-parallel
for mode in all_to_all=a2a ring_attn=p2p; do
    colossal --plugin 3d --zero_stage 0 --sp 2 --enable_sequence_parallelism --sp_mode ${mode%=*}
    same "colossal_parts $mode" "$dir/launch.sh" -- $of --micro-batch 8 --micro-batches 2 --zero 0 --cp 2 --cp-comm-type ${mode#*=}
done
launch colossalai run --nproc_per_node 4 train_sft.py --pretrain /models/Llama-2-7b-hf --batch_size 8 --plugin zero2 --use_flash_attn
same colossal_silent "$dir/launch.sh" -- $(echo "$of" | sed 's/4096/512/') --micro-batch 8 --micro-batches 8 --zero 2
launch colossalai run --nproc_per_node 4 train.py --pretrained /models/Llama-2-7b-hf --batch_size 8 --max_length 4096 --plugin zero2 --use_flash_attn --mixed_precision bf16
same colossal_llama "$dir/launch.sh" -- $of --micro-batch 8 --micro-batches 1 --zero 2
colossal --plugin ours
expect colossal_unknown 3 'launch.sh:1: error: --plugin ours of Colossal-AI is not known' "$S" run "$dir/launch.sh"
# benchmark.py has letters, names models by a size, and takes a pipeline's batch in pieces of --mbs
launch colossalai run --nproc_per_node 8 --master_addr x benchmark.py -c "'13b'" --plugin "3d" -l 2048 -g -b 16 -x --tp 2 --pp 4 --zero 1 --mbs 8
same colossal_letters "$dir/launch.sh" -- --model llama2-13b --seq 2048 --gpus 8 --software deepspeed --tp 2 --pp 4 --zero 1 --micro-batch 8 --micro-batches 2 --recompute full
launch colossalai run --nproc_per_node 8 benchmark.py --plugin gemini
same colossal_usual "$dir/launch.sh" --model llama2-7b -- --model llama2-7b --seq 4096 --gpus 8 --software deepspeed --zero 3 --micro-batch 2
