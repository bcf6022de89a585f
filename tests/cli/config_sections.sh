# What configurations say in sections and files of their own: each means the same as the options that say it.
S=${STEPCAST:?}
dir=$(mktemp -d)
tmp=$dir
trap 'rm -rf "$dir"' EXIT
. tests/tools/same_step
. tests/tools/expect
meant="--model llama3.1-8b --micro-batch 1 --micro-batches 1 --recompute full"
# Axolotl's section of context parallelism, whoever exchanges what
axolotl() { # what the section says
    printf 'base_model: meta-llama/Llama-3.1-8B\nsequence_len: 8192\nsample_packing: true\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\nbf16: true\ngradient_checkpointing: true\nfsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\n%s' "$1" >"$dir/axolotl.yaml"
}
axolotl 'context_parallel: {size: 4, backend: auto}'
same axolotl_context "$dir/axolotl.yaml" --gpus 8 -- $meant --seq 8192 --gpus 8 --cp 4 --use-torch-fsdp2 --software fsdp-eager
axolotl 'context_parallel: {size: 4, backend: ulysses}'
same axolotl_ulysses "$dir/axolotl.yaml" --gpus 8 -- $meant --seq 8192 --gpus 8 --cp 4 --cp-comm-type a2a --use-torch-fsdp2 --software fsdp-eager
axolotl 'experts_parallel: {size: 4}'
expect section_not_known 3 'axolotl.yaml:10: error: experts_parallel.size 4: by its name it is a degree of parallelism' "$S" run "$dir/axolotl.yaml" --gpus 8
axolotl 'experts_parallel: {size: 1}'
same section_of_one "$dir/axolotl.yaml" --gpus 8 -- $meant --seq 8192 --gpus 8 --use-torch-fsdp2 --software fsdp-eager
# tensor parallelism that DeepSpeed makes itself (AutoTP)
printf '{"zero_optimization": {"stage": 1}, "tensor_parallel": {"autotp_size": 2}}' >"$dir/tp.json"
printf 'model_name_or_path: meta-llama/Llama-3.1-8B\nfinetuning_type: full\ndeepspeed: tp.json\ncutoff_len: 2048\npacking: true\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 1\nbf16: true\n' >"$dir/factory.yaml"
same autotp "$dir/factory.yaml" --gpus 8 -- $meant --seq 2048 --gpus 8 --tp 2 --zero 1 --software deepspeed
# accelerate's mesh, of flags and of a file; PyTorch gathers keys and values
printf 'distributed_type: FSDP\nnum_processes: 16\nmixed_precision: bf16\nfsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: true}\nparallelism_config:\n  parallelism_config_dp_replicate_size: 2\n  parallelism_config_dp_shard_size: 2\n  parallelism_config_tp_size: 2\n  parallelism_config_cp_size: 2\n' >"$dir/mesh.yaml"
echo 'accelerate launch --config_file mesh.yaml sft.py --model_name_or_path meta-llama/Llama-3.1-8B --max_length 8192 --packing --per_device_train_batch_size 1 --gradient_accumulation_steps 1 --gradient_checkpointing' >"$dir/mesh.sh"
same accelerate_mesh "$dir/mesh.sh" -- $meant --seq 8192 --gpus 16 --tp 2 --cp 2 --cp-comm-type all_gather --shard-group 2 --use-torch-fsdp2 --software fsdp-eager
sed -i 's/cp_size: 2/cp_size: 2\n  parallelism_config_cp_comm_strategy: alltoall/' "$dir/mesh.yaml"
same accelerate_rotates "$dir/mesh.sh" -- $meant --seq 8192 --gpus 16 --tp 2 --cp 2 --cp-comm-type p2p --shard-group 2 --use-torch-fsdp2 --software fsdp-eager
# Automodel: fp8 of Transformer Engine, nodes, and stages that the layers do not fill evenly
automodel() { # keys of the backend, keys of benchmark, pp
    cat >"$dir/automodel.yaml" <<Y
step_scheduler: {global_batch_size: 64, local_batch_size: 4}
benchmark: {warmup_steps: 10$2}
distributed: {strategy: fsdp2, pp_size: $3, activation_checkpointing: true}
model:
  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_config
  pretrained_model_name_or_path: deepseek-ai/DeepSeek-V2-Lite
  backend: {attn: te$1}
dataset: {seq_len: 4096}
Y
}
lite="--model deepseek-v2-lite --seq 4096 --global-batch 64 --recompute full --use-torch-fsdp2 --software fsdp2-automodel --micro-batch"
automodel ', te_fp8: {_target_: nemo_automodel.components.models.common.utils.TEFp8Config, recipe: block}' '' 1
same automodel_blocks "$dir/automodel.yaml" --gpus 8 -- $lite 4 --gpus 8 --fp8 --fp8-recipe blockwise
automodel ', te_fp8: {_target_: nemo_automodel.components.models.common.utils.TEFp8Config}' '' 1
same automodel_tensors "$dir/automodel.yaml" --gpus 8 -- $lite 4 --gpus 8 --fp8 --fp8-recipe tensorwise
automodel ', te_fp8: null' '' 1
same automodel_no_fp8 "$dir/automodel.yaml" --gpus 8 -- $lite 4 --gpus 8
automodel '' ', num_nodes: 4' 1
same automodel_nodes "$dir/automodel.yaml" --global-batch 128 -- $lite 4 --gpus 32 --global-batch 128
automodel '' '' 2
same automodel_uneven "$dir/automodel.yaml" --gpus 16 -- $lite 1 --pipeline-batch 4 --gpus 16 --pp 2 --uneven-stages
# who trains layers of multi-token prediction: Megatron those of the model, others none unless they are asked for
air="--model glm-4.5-air --gpus 8 --ep 8 --seq 1024 --global-batch 8 --num-layers 4 --moe-layer-freq 1 --first-k-dense-replace 1"
for software in hf-transformers fsdp-eager deepspeed torchtitan-2026 fsdp2-automodel maxtext; do
    same "no_prediction_$software" $air --software $software -- $air --software $software --mtp-num-layers 0
done
predicts() { # options: with a layer of prediction the step is longer than without
    "$S" run $air --ignore-memory --json "$dir/a.json" "$@" >/dev/null && "$S" run $air --ignore-memory --json "$dir/b.json" "$@" --mtp-num-layers 0 >/dev/null &&
        python3 -S -c 'import json, sys; a, b = (json.load(open(f))["step_time_us"] for f in sys.argv[1:]); print("longer" if a > b else "equal")' "$dir/a.json" "$dir/b.json"
}
check megatron_predicts "$(predicts --software megatron-core-2025)" longer
"$S" run $air --software hf-transformers --ignore-memory --json "$dir/left.json" >"$dir/out"
check prediction_is_said "$(tr -s '\n ' ' ' <"$dir/out" | grep -c 'a layer of multi-token prediction, which Hugging Face transformers, without compile does not train')" 1
"$S" run $air --software hf-transformers --mtp-num-layers 1 --ignore-memory --json "$dir/asked.json" >/dev/null
check prediction_is_asked_for "$(python3 -S -c 'import json, sys; a, b = (json.load(open(f))["step_time_us"] for f in sys.argv[1:]); print(a > b)' "$dir/asked.json" "$dir/left.json")" True
swift="--micro_batch_size 1 --global_batch_size 16 --max_length 2048 --packing true --expert_model_parallel_size 8 --tuner_type full"
echo "NPROC_PER_NODE=8 megatron sft --load GLM-4.5-Air-mcore $swift" >"$dir/swift.sh"
echo "NPROC_PER_NODE=8 megatron sft --load GLM-4.5-Air-mcore $swift --mtp_num_layers 1" >"$dir/asked.sh"
same swift_predicts_nothing "$dir/swift.sh" -- --megatron-args "$dir/asked.sh" --mtp-num-layers 0
same swift_is_asked "$dir/asked.sh" -- --megatron-args "$dir/swift.sh" --mtp-num-layers 1
printf 'modules:\n  pre_trainer:\n    framework: megatron\n    model: deepseek_v3.yaml\n    overrides: {micro_batch_size: 1, global_batch_size: 16, seq_length: 1024, tensor_model_parallel_size: 1, expert_model_parallel_size: 8, mtp_num_layers: null}\n' >"$dir/primus.yaml"
sed 's/, mtp_num_layers: null//' "$dir/primus.yaml" >"$dir/usual.yaml"
same null_of_predictions "$dir/primus.yaml" --num-layers 4 -- --megatron-args "$dir/usual.yaml" --num-layers 4 --mtp-num-layers 0
# a window of Nanotron's Qwen2Config, in every layer
nanotron() { # keys of the model
    printf 'model: {dtype: bfloat16, model_config: {is_qwen2_config: true, hidden_size: 2048, intermediate_size: 8192, num_attention_heads: 32, num_hidden_layers: 4, num_key_value_heads: 8, vocab_size: 32000, tie_word_embeddings: true%s}}\nparallelism: {dp: 4, tp: 1, pp: 1}\ntokens: {micro_batch_size: 1, sequence_length: 16384, batch_accumulation_per_replica: 1}\n' "$1" >"$dir/nanotron.yaml"
}
nanotron ''
cp "$dir/nanotron.yaml" "$dir/whole.yaml"
nanotron ', sliding_window_size: 1024'
same nanotron_window "$dir/nanotron.yaml" -- --megatron-args "$dir/whole.yaml" --window-size 1023,0
nanotron ', sliding_window_size: null'
same nanotron_no_window "$dir/nanotron.yaml" -- --megatron-args "$dir/whole.yaml"
# --deepspeed_config of DeepSpeed's own flags names its file; what that says of the batch counts where nothing else does
printf '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}' >"$dir/engine.json"
own="--model_name_or_path meta-llama/Llama-3.1-8B --max_length 2048 --gradient_checkpointing"
engine="--model llama3.1-8b --gpus 8 --seq 2048 --recompute full --zero 3 --software deepspeed"
echo "deepspeed --num_gpus 8 train.py $own --deepspeed --deepspeed_config engine.json" >"$dir/engine.sh"
same engine_file "$dir/engine.sh" -- $engine --micro-batch 2 --global-batch 64
echo "deepspeed --num_gpus 8 train.py $own --deepspeed_config=engine.json --per_device_train_batch_size 1 --gradient_accumulation_steps 2" >"$dir/engine.sh"
same engine_batch_is_said "$dir/engine.sh" -- $engine --micro-batch 1 --micro-batches 2
# … and says the stage by its name where it is not there, beside the switch, too
for switch in "" --deepspeed; do
    echo "deepspeed --num_gpus 8 train.py $own $switch --deepspeed_config ds_zero3.json --per_device_train_batch_size 1 --gradient_accumulation_steps 2" >"$dir/engine.sh"
    same "engine_file_by_name$switch" "$dir/engine.sh" -- $engine --micro-batch 1 --micro-batches 2
done
printf 'cat > made.json <<EOF\n{"train_batch_size": $1, "gradient_accumulation_steps": 1, "zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}\nEOF\ndeepspeed --num_gpus 8 train.py %s --deepspeed_config=made.json\n' "$own" >"$dir/made.sh"
same engine_file_is_made "$dir/made.sh" --set 1=32 -- $engine --micro-batch 4 --micro-batches 1
printf 'sed "s/STAGE/3/" template.json > made.json\ndeepspeed --num_gpus 8 train.py %s --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --bf16 true --deepspeed made.json\n' "$own" >"$dir/sed.sh"
same engine_file_of_a_program "$dir/sed.sh" --zero 3 -- $engine --micro-batch 1 --micro-batches 2
check unknown_file_is_said "$(tr -s '\n ' ' ' <"$dir/out" | grep -c "made.json, which the script writes, has the output of 'sed' in it")" 1
# --batch_size of a program of one's own is a rank's
echo "torchrun --nproc_per_node 8 train.py --model_name meta-llama/Llama-3.1-8B --num_train_epochs 1 --batch_size 4 --max_length 2048" >"$dir/rank.sh"
same batch_of_a_rank "$dir/rank.sh" -- --model llama3.1-8b --gpus 8 --seq 2048 --micro-batch 4 --software hf-transformers
check batch_of_a_rank_is_said "$(tr -s '\n ' ' ' <"$dir/out" | grep -c 'batch_size 4 is taken for that of one GPU')" 1
# a program of one's own that hands DeepSpeed its file is a trainer, and no Megatron-DeepSpeed
echo "deepspeed --num_gpus 8 train.py --epochs 1 --batch_size 4 --fp16 --deepspeed engine.json" >"$dir/engine.sh"
printf '{"zero_optimization": {"stage": 2}}' >"$dir/engine.json"
same engine_of_a_program "$dir/engine.sh" --model gpt2-xl --seq 1024 -- --model gpt2-xl --seq 1024 --gpus 8 --micro-batch 4 --zero 2 --fp16 --software deepspeed
# checkpoints that go to the host are counted on the GPU, which is said
printf 'base_model: meta-llama/Llama-3.1-8B\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: true\ngradient_checkpointing: offload\n' >"$dir/axolotl.yaml"
"$S" run "$dir/axolotl.yaml" --ignore-memory >"$dir/out"
check checkpoints_on_the_host "$(tr -s '\n ' ' ' <"$dir/out" | grep -c 'gradient_checkpointing offload changes the step and is not modelled')" 1
