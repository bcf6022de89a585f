# Commands that change what a file or a function of their program says: each means the same as
# the options that say it.
S=${STEPCAST:?}
dir=$(mktemp -d)
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
launch torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config llama3_70b --training.local_batch_size=1 --compile.enable
same titan_function "$dir/launch.sh" -- --model llama3-70b --gpus 8 --tp 8 --sequence-parallel --seq 8192 --micro-batch 1 --recompute full $titan
tr '\n' ' ' <"$dir/out" | tr -s ' ' >"$dir/notes"
expect titan_function_said 0 "is that of llama3_70b in torchtitan's config_registry.py: 8192 tokens" cat "$dir/notes"
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
launch python megatron_gpt_pretraining.py --config-name=ours trainer.devices=8 $nemo
expect nemo_file_missing 3 'launch.sh:1: error: what is trained stands in ours.yaml' "$S" run "$dir/launch.sh"
printf 'trainer:\n  devices: 4\n  num_nodes: 1\n  precision: bf16\nmodel:\n  num_layers: 24\n  hidden_size: 2048\n  num_attention_heads: 16\n  ffn_hidden_size: 8192\n  encoder_seq_length: 2048\n  micro_batch_size: 1\n  global_batch_size: 8\n' >"$dir/ours.yaml"
launch python megatron_gpt_pretraining.py --config-name=ours trainer.devices=8 model.global_batch_size=16
same nemo_file "$dir/launch.sh" -- $shape --gpus 8 --micro-batch 1 --global-batch 16 --bf16
