# Configurations of training programs: each means the same as the options that say it.
S=${STEPCAST:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
data=tests/data/configurations
. tests/tools/same_step
refuse() { # name, exit, text, command…
    name=$1 code=$2 text=$3
    shift 3
    "$@" >"$dir/out" 2>"$dir/err"
    if [ $? = "$code" ] && grep -qF -- "$text" "$dir/err"; then echo "ok $name"; else
        echo "not ok $name"
        cat "$dir/err"
    fi
}

same torchtitan $data/torchtitan.toml --gpus 16 -- --model llama3-8b --gpus 16 --tp 2 --sequence-parallel --seq 8192 --micro-batch 1 --recompute ops --use-torch-fsdp2 --software torchtitan-2026
# compiling is off unless it is said; weights, gradients and float8 in types of their own
sed '/^\[compile\]/,$d' $data/torchtitan.toml >"$dir/titan.toml"
same torchtitan_not_compiled "$dir/titan.toml" --gpus 16 -- --model llama3-8b --gpus 16 --tp 2 --sequence-parallel --seq 8192 --micro-batch 1 --recompute ops --use-torch-fsdp2 --software torchtitan-2026 --fusion hf --cross-entropy fp32
sed 's/^\[compile\]/[compile]\ncomponents = ["loss"]/' $data/torchtitan.toml >"$dir/loss.toml"
same torchtitan_compiled_loss "$dir/loss.toml" --gpus 16 -- --megatron-args "$dir/titan.toml" --gpus 16 --cross-entropy flash
sed 's/^\[compile\]/[compile]\ncomponents = ["model"]/' $data/torchtitan.toml >"$dir/wide.toml"
same torchtitan_wide_loss "$dir/wide.toml" --gpus 16 -- --megatron-args $data/torchtitan.toml --gpus 16 --cross-entropy fp32
sed 's/^seq_len/dtype = "bfloat16"\nmixed_precision_reduce = "bfloat16"\nseq_len/; s/^tensor_parallel/enable_async_tensor_parallel = true\nfsdp_reshard_after_forward = "never"\ntensor_parallel/
    s/^flavor/converters = ["quantize.linear.float8"]\nflavor/' $data/torchtitan.toml >"$dir/types.toml"
printf '[quantize.linear.float8]\nrecipe_name = "rowwise"\n[optimizer]\nimplementation = "foreach"\n' >>"$dir/types.toml"
same torchtitan_types "$dir/types.toml" --gpus 16 -- --model llama3-8b --gpus 16 --tp 2 --sequence-parallel --seq 8192 --micro-batch 1 --recompute ops --use-torch-fsdp2 --software torchtitan-2026 \
    --update plain --grad-dtype bf16 --overlap-tp chunks --reshard-after-forward no --fp8 --fp8-recipe rowwise --optimizer adam-foreach
# four copies of the weights, each sharded over eight ranks
sed 's/replicate_degree = 1/replicate_degree = 4/; s/shard_degree = -1/shard_degree = 8/' $data/torchtitan.toml >"$dir/hybrid.toml"
same torchtitan_hybrid "$dir/hybrid.toml" --gpus 64 -- --model llama3-8b --gpus 64 --tp 2 --sequence-parallel --seq 8192 --micro-batch 1 --recompute ops --use-torch-fsdp2 --shard-group 8 --software torchtitan-2026
# -1 is what the copies leave of the GPUs; without a number of GPUs there are as many as copies
sed 's/replicate_degree = 1/replicate_degree = 4/' $data/torchtitan.toml >"$dir/left.toml"
same torchtitan_copies "$dir/left.toml" --gpus 64 -- --megatron-args "$dir/hybrid.toml" --gpus 64
same torchtitan_groups "$dir/left.toml" --gpus 64 --shard-group 16 -- --megatron-args "$dir/hybrid.toml" --gpus 64 --shard-group 16
same torchtitan_fewest "$dir/left.toml" -- --megatron-args "$dir/left.toml" --gpus 8
# no shards: DDP under autocast; beside context parallelism the ranks of a sequence share the weights
sed 's/replicate_degree = 1/replicate_degree = 8/; s/shard_degree = -1/shard_degree = 1/; s/tensor_parallel_degree = 2/tensor_parallel_degree = 1/' $data/torchtitan.toml >"$dir/whole.toml"
same torchtitan_ddp "$dir/whole.toml" --gpus 8 -- --model llama3-8b --gpus 8 --seq 8192 --micro-batch 1 --recompute ops --zero 0 --update amp --software torchtitan-2026
sed 's/^tensor_parallel/context_parallel_degree = 2\ntensor_parallel/' "$dir/whole.toml" >"$dir/context.toml"
same torchtitan_context_shards "$dir/context.toml" --gpus 16 -- --model llama3-8b --gpus 16 --cp 2 --seq 8192 --micro-batch 1 --recompute ops --use-torch-fsdp2 --shard-group 2 --software torchtitan-2026
sed 's/tensor_parallel_degree = 1/tensor_parallel_degree = 2/' "$dir/whole.toml" >"$dir/wide.toml"
"$S" run "$dir/wide.toml" --gpus 16 --ignore-memory >"$dir/out" 2>&1
if grep -qF 'without FSDP torchtitan has no mixed precision' "$dir/out" && ! grep -q 'ZeRO 3' "$dir/out"; then echo "ok torchtitan_wide_ddp"; else
    echo "not ok torchtitan_wide_ddp"
    head -3 "$dir/out"
fi
# its configurations in Python: a function, one that changes what another returns, and the classes' own values
titan="--model llama3-8b --gpus 64 --use-torch-fsdp2 --software torchtitan-2026"
registry="$data/torchtitan_registry.py --gpus 64 --set config"
same registry $registry=short -- --megatron-args $data/torchtitan.toml --gpus 64 --recompute ops
same registry_changed $registry=longer -- $titan --seq 16384 --micro-batch 1 --cp 4 --recompute full --fusion hf --cp-comm-type all_gather
same registry_changed_twice $registry=larger -- --model llama3-70b ${titan#--model llama3-8b} --seq 16384 --micro-batch 2 --cp 4 --recompute full --fusion hf --fp8 --fp8-recipe rowwise --cp-comm-type all_gather
sed 's/recipe_name="rowwise"/enable_fsdp_float8_all_gather=True/' $data/torchtitan_registry.py >"$dir/gathers.py"
same registry_gathers_float8 "$dir/gathers.py" --gpus 64 --set config=larger -- --model llama3-70b ${titan#--model llama3-8b} --seq 16384 --micro-batch 2 --cp 4 --recompute full --fusion hf --fp8 --cp-comm-type all_gather
sed 's/compile=CompileConfig(.*),/compile=compiled,/; s/^    """The plan of.*/    unread = helper(1)\n    compiled = CompileConfig(enable=True)/; s/^    config = short()/    other = helper(2)\n    config = short()/' $data/torchtitan_registry.py >"$dir/names.py"
for name in short longer; do
    same "registry_names $name" "$dir/names.py" --gpus 64 --set config=$name -- --megatron-args $registry=$name
done
same registry_unsaid $registry=unsaid -- $titan --seq 2048 --micro-batch 8 --recompute ops --fusion hf --cross-entropy chunked
refuse registry_which 3 'it does not say which of the configurations short, longer, larger, unsaid, of_another_file' "$S" run $data/torchtitan_registry.py
refuse registry_none 3 "'x' is none of the configurations short" "$S" run $registry=x
refuse registry_elsewhere 3 'torchtitan_registry.py:45: error: of_another_file is none that can be read' "$S" run $registry=of_another_file
sed '/^def longer/,$d' $data/torchtitan_registry.py >"$dir/one.py"
if "$S" show "$dir/one.py" 2>"$dir/err" | grep -q '^llama3-8b'; then echo "ok registry_shown"; else echo "not ok registry_shown"; cat "$dir/err"; fi
refuse registry_shown_which 3 'it does not say which of the configurations' "$S" show $data/torchtitan_registry.py
same registry_of_one "$dir/one.py" --gpus 64 -- --megatron-args $data/torchtitan.toml --gpus 64 --recompute ops
same axolotl $data/axolotl.yaml --gpus 8 -- --model llama3.1-8b --gpus 8 --seq 4096 --micro-batch 2 --micro-batches 4 --recompute full --zero 2 --lora 16 --software deepspeed
# which attention and optimizer run, in each trainer's words
trainer_says() { # name, line, what it means
    { grep -v 'flash_att\|^optim' $data/axolotl.yaml; echo "$2"; } >"$dir/attention.yaml"
    same says_$1 "$dir/attention.yaml" --gpus 8 -- --model llama3.1-8b --gpus 8 --seq 4096 --micro-batch 2 --micro-batches 4 --recompute full --zero 2 --lora 16 --software deepspeed $3
}
trainer_says eager "attn_implementation: eager" "--attention unfused"
trainer_says flash2 "attn_implementation: flash_attention_2" "--attention flash2"
trainer_says flash3 "attn_implementation: kernels-community/vllm-flash-attn3" "--attention current"
trainer_says sdpa "attn_implementation: sdpa" ""
trainer_says adam_by_lists "optim: adamw_torch" "--optimizer adam-foreach"
trainer_says adam_fused "optim: adamw_torch_fused" ""
trainer_says disabled "flash_attn: disabled" "--attention unfused"
trainer_says fa2 "flash_attn: fa2" "--attention flash2"
trainer_says axolotl "flash_attention: true" "--attention flash2"
trainer_says axolotl_eager "eager_attention: true" "--attention unfused"
# yes, on, no and off without quotes are truth values (PyYAML's resolver), in quotes text
truth_words() { # name, true, false
    printf '%s\n' "base_model: meta-llama/Meta-Llama-3-8B" "sequence_len: 4096" "micro_batch_size: 1" "bf16: &sure $2" "fsdp: [full_shard]" \
        "load_in_4bit: $3" "fsdp_config:" "  offload_params: *sure" "  activation_checkpointing: $2" >"$dir/truth.yaml"
    same truth_$1 "$dir/truth.yaml" --gpus 8 -- --model llama3-8b --gpus 8 --seq 4096 --micro-batch 1 --use-torch-fsdp2 --software fsdp-eager \
        --recompute full --offload-optimizer 1 --overlap-offload yes --offload-params
}
truth_words true true false
truth_words yes yes no
truth_words on On OFF
printf '%s\n' "base_model: meta-llama/Meta-Llama-3-8B" "sequence_len: 4096" "micro_batch_size: 1" "mixed_precision: 'no'" >"$dir/quoted.yaml"
printf 'num_layers: 4\nhidden_size: 1024\nnum_attention_heads: 16\nmicro_batch_size: "on"\nbf16: true\n' >"$dir/word.yaml"
refuse truth_quoted_is_a_word 3 "not 'on'" "$S" run "$dir/word.yaml" --gpus 8
same truth_quoted "$dir/quoted.yaml" --gpus 1 -- --model llama3-8b --gpus 1 --seq 4096 --micro-batch 1 --dtype fp32 --software hf-transformers
# no engine is named by a false (fsdp of TrainingArguments is one, or words)
for engine in "fsdp: false" "fsdp: no" "deepspeed: false"; do
    printf 'model_name_or_path: meta-llama/Meta-Llama-3-8B\nper_device_train_batch_size: 1\nmax_length: 4096\nbf16: true\n' >"$dir/plain.yaml"
    { cat "$dir/plain.yaml"; echo "$engine"; } >"$dir/engine.yaml"
    same "no_engine_${engine%%:*}_${engine#*: }" "$dir/engine.yaml" --gpus 8 -- --megatron-args "$dir/plain.yaml" --gpus 8
done
same llamafactory $data/llamafactory.yaml --gpus 8 -- --model qwen3-8b --gpus 8 --seq 2048 --micro-batch 1 --micro-batches 2 --zero 3 --recompute full --software deepspeed
same flagscale $data/flagscale.yaml --gpus 16 -- --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --num-query-groups 8 --group-query-attention \
    --ffn-hidden-size 14336 --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type rope \
    --tp 2 --pp 2 --sequence-parallel --zero 1 --seq 4096 --micro-batch 1 --global-batch 64 --gpus 16 --overlap-grad no --cross-entropy unfused
same maxtext $data/maxtext.yml --gpus 8 -- --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --num-query-groups 8 --group-query-attention \
    --ffn-hidden-size 14336 --kv-channels 128 --vocab-size 128256 --swiglu --normalization RMSNorm --disable-bias-linear \
    --untie-embeddings-and-output-weights --position-embedding-type rope --zero 3 --recompute full --seq 4096 --micro-batch 4 --gpus 8 --software maxtext
same neox $data/neox.yml --gpus 8 -- --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --normalization RMSNorm --position-embedding-type rope \
    --untie-embeddings-and-output-weights --tp 2 --pp 2 --zero 1 --seq 2048 --micro-batch 2 --micro-batches 8 --recompute full --fp16 --gpus 8 \
    --software gpt-neox --overlap-grad yes
# its list of attentions, and dropout, which is none unless said
sed 's/"norm":/"attention_config": [[["flash"], 24]], "hidden_dropout": 0.1, "norm":/' $data/neox.yml >"$dir/flash.yml"
same neox_flash "$dir/flash.yml" --gpus 8 -- --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --normalization RMSNorm --position-embedding-type rope \
    --untie-embeddings-and-output-weights --tp 2 --pp 2 --zero 1 --seq 2048 --micro-batch 2 --micro-batches 8 --recompute full --fp16 --gpus 8 \
    --software gpt-neox --attention flash2 --dropout --overlap-grad yes
same deepspeed $data/ds.json --model llama3-8b --seq 2048 --gpus 8 -- --model llama3-8b --seq 2048 --gpus 8 --zero 2 --micro-batch 1 --micro-batches 4 --bf16 --software deepspeed --overlap-grad yes
same megatron_yaml $data/flags.yaml --set TP=2 --gpus 4 -- --num-layers 12 --hidden-size 1024 --num-attention-heads 16 --tp 2 --micro-batch 2 \
    --global-batch 32 --seq 1024 --bf16 --gpus 4 --overlap-grad no --cross-entropy unfused
same the_command_line_wins $data/flags.yaml --tp 4 --gpus 4 -- --num-layers 12 --hidden-size 1024 --num-attention-heads 16 --tp 4 --micro-batch 2 \
    --global-batch 32 --seq 1024 --bf16 --gpus 4 --overlap-grad no --cross-entropy unfused

# types of the optimizer's state, as Megatron-Bridge writes them, and as Apex's optimizer of NeMo 1 means them by its name
shape="--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 16384 --vocab-size 32000 --tp 2 --seq 4096 --micro-batch 1 --global-batch 64 --gpus 8 --zero 1 --overlap-grad no"
same precision_aware $data/precision_aware.yaml --gpus 8 -- $shape --use-precision-aware-optimizer --grad-dtype bf16 --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16
sed '/^optimizer:/,$d' $data/precision_aware.yaml >"$dir/apex.yaml"
printf '%s\n' 'optim:' '  name: distributed_fused_adam' >>"$dir/apex.yaml"
same apex "$dir/apex.yaml" --gpus 8 -- $shape --use-precision-aware-optimizer
echo '  dtype: bf16' >>"$dir/apex.yaml"
same apex_in_bf16 "$dir/apex.yaml" --gpus 8 -- $shape --use-precision-aware-optimizer --main-params-dtype bf16 --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16
sed -i 's/distributed_fused_adam/mcore_distributed_optim/' "$dir/apex.yaml"
same megatrons_own "$dir/apex.yaml" --gpus 8 -- $shape
refuse type_of_a_moment 2 "--exp-avg-dtype: unknown 'int8'" "$S" run --model llama3-8b --exp-avg-dtype int8

refuse variable_without_a_value 3 'flags.yaml:7: error: --tensor-model-parallel-size has no value: ${TP} is not set' "$S" run $data/flags.yaml
refuse no_model 2 'ds.json says how, and not what model is trained' "$S" run $data/ds.json --gpus 8
printf 'a: [1, 2\nb: }' >"$dir/bad.yaml"
refuse bad_yaml 3 'bad.yaml:2: error: not YAML' "$S" run "$dir/bad.yaml"
printf 'hello: world\n' >"$dir/other.yaml"
refuse other_yaml 3 'no configuration that we know' "$S" run "$dir/other.yaml"
printf '[model]\nname = "llama3"\nflavor = "9000B"\n[training]\nseq_len = 8\n' >"$dir/none.toml"
refuse no_such_model 3 'the model llama3 9000B is not known' "$S" run "$dir/none.toml" --gpus 8
printf '[model\nname\n= 3\n' >"$dir/bad.toml"
refuse bad_toml 3 'bad.toml:3: error: not TOML' "$S" run "$dir/bad.toml" --gpus 8
printf 'num_layers: 2\nhidden_size: 64\nnum_attention_heads: 2\nnorm: batchnorm\npipe_parallel_size: 1\n' >"$dir/norm.yml"
refuse unknown_norm 3 "norm.yml:4:7: error: norm: unknown 'batchnorm'" "$S" run "$dir/norm.yml" --gpus 8
python3 -S -c 'print("a:" * 1 + "".join("\n" + " " * (i + 1) + "a:" for i in range(200)) + " 1")' >"$dir/deep.yaml"
refuse deep_yaml 3 'nested too deep' "$S" run "$dir/deep.yaml"
: >"$dir/empty.toml"
refuse empty_toml 3 'error:' "$S" run "$dir/empty.toml"
# A model by its name: MaxText's model_name, the file that Primus names
printf 'model_name: "llama3-8b"\nper_device_batch_size: 1\nmax_target_length: 2048\nremat_policy: full\n' >"$dir/named.yml"
same maxtext_by_name "$dir/named.yml" --gpus 8 -- --model llama3-8b --micro-batch 1 --seq 2048 --recompute full --zero 3 --gpus 8 --software maxtext
# axes of its mesh are sizes within a node times those across; weights are copied over data, and products may be in fp8
printf 'dcn_data_parallelism: 2\ndcn_fsdp_parallelism: 2\nici_fsdp_parallelism: 4\nici_tensor_parallelism: 2\nquantization: "fp8"\n' | cat "$dir/named.yml" - >"$dir/mesh.yml"
same maxtext_mesh "$dir/mesh.yml" --gpus 32 -- --model llama3-8b --micro-batch 2 --micro-batches 1 --seq 2048 --recompute full --zero 3 --shard-group 8 --tp 2 --fp8 --gpus 32 --software maxtext
# per_device_batch_size counts all devices (calculate_global_batch_sizes of MaxText's pyconfig.py): 16 × 1 × 4 are 64 sequences of 4 replicas,
# each in 4 micro-batches of a pipeline of 2, four times
printf 'ici_tensor_parallelism: 2\nici_pipeline_parallelism: 2\nnum_pipeline_microbatches: 4\ngradient_accumulation_steps: 4\n' | cat "$dir/named.yml" - >"$dir/mesh.yml"
same maxtext_pipeline "$dir/mesh.yml" --gpus 16 -- --model llama3-8b --micro-batch 1 --global-batch 64 --pipeline-batch 4 --seq 2048 --recompute full --zero 3 --tp 2 --pp 2 --gpus 16 --software maxtext
printf 'ici_tensor_parallelism: 4\n' | sed 's/per_device_batch_size: 1/per_device_batch_size: 0.5/' "$dir/named.yml" - >"$dir/mesh.yml"
same maxtext_half "$dir/mesh.yml" --gpus 8 -- --model llama3-8b --global-batch 4 --micro-batch 2 --seq 2048 --recompute full --zero 3 --tp 4 --gpus 8 --software maxtext
printf 'quantization: "te_mxfp8"\ndcn_fsdp_parallelism: 2\nici_fsdp_parallelism: 8\ndcn_data_parallelism: 1\n' | cat "$dir/named.yml" - >"$dir/mesh.yml"
same maxtext_mxfp8 "$dir/mesh.yml" --cluster dgx-b200:16 -- --model llama3-8b --micro-batch 1 --seq 2048 --recompute full --zero 3 --fp8 --fp8-recipe mxfp8 --cluster dgx-b200:16 --software maxtext
printf 'ici_fsdp_parallelism: 1\nici_data_parallelism: -1\n' | cat "$dir/named.yml" - >"$dir/mesh.yml"
same maxtext_copies "$dir/mesh.yml" --gpus 8 -- --model llama3-8b --micro-batch 1 --seq 2048 --recompute full --zero 0 --gpus 8 --software maxtext
printf 'ici_expert_parallelism: -1\n' | cat "$dir/named.yml" - >"$dir/mesh.yml"
refuse maxtext_left_over 3 'expert_parallelism is -1, the GPUs that are left' "$S" run "$dir/mesh.yml" --gpus 8
printf 'quantization: "int8"\n' | cat "$dir/named.yml" - >"$dir/mesh.yml"
refuse maxtext_int8 3 'quantization int8 is not modelled' "$S" run "$dir/mesh.yml" --gpus 8
printf 'modules:\n  pre_trainer:\n    model: llama3.1_8B.yaml\n    overrides:\n      micro_batch_size: 1\n      global_batch_size: 16\n      seq_length: 2048\n      tensor_model_parallel_size: 2\n' >"$dir/primus.yaml"
same primus "$dir/primus.yaml" --gpus 8 -- --model llama3.1-8b --micro-batch 1 --global-batch 16 --seq 2048 --tp 2 --gpus 8 --overlap-grad no --cross-entropy unfused
printf 'model_name: "unheard-8b"\nper_device_batch_size: 1\n' >"$dir/unheard.yml"
refuse unheard_model 3 'the model unheard-8b is not known' "$S" run "$dir/unheard.yml" --gpus 8
# Sizes that are not known are not passed over
printf 'pipe_parallel_size: 1\nnum_layers: 2\nhidden_size: 64\nnum_attention_heads: 2\nnum_side_layers: 8\n' >"$dir/shape.yml"
refuse unknown_size 3 'shape.yml:5: error: num_side_layers: by its name it shapes the model' "$S" run "$dir/shape.yml" --gpus 1
script='torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 70 --hidden-size 14336 --num-attention-heads 112 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 8 --bf16'
printf '%s --side-num-layers 4\n' "$script" >"$dir/side.sh"
refuse unknown_flag_of_a_size 3 '--side-num-layers: by its name it shapes the model' "$S" run "$dir/side.sh"
printf '%s --extra-vocab-size 421\n' "$script" >"$dir/extra.sh"
refuse extra_of_an_unknown_vocabulary 3 '--extra-vocab-size 421 adds to a vocabulary that is not known' "$S" run "$dir/extra.sh"
# BLOOM: 70 layers of 14336, 250,880 tokens and ALiBi are 176.2 billion parameters; Qwen2.5-7B's vocabulary is 151643 + 421
printf '%s --position-embedding-type alibi --pad-vocab-size-to 250880\n' "$script" >"$dir/bloom.sh"
"$S" run "$dir/bloom.sh" --ignore-memory | grep -q ": 176.2 B parameters" && echo "ok padded_to" || echo "not ok padded_to"
# … and Llama 3, DeepSeek-V2, -V3 and the first Qwen have those of their models with what is added
for pair in Qwen2Tokenizer=421=152064 LLama3Tokenizer=256=128256 DeepSeekV2Tokenizer=2400=102400 DeepSeekV2Tokenizer=467=129280 QwenTokenizer=85=151936; do
    type=${pair%%=*} vocab=${pair##*=}
    printf '%s --patch-tokenizer-type %s --extra-vocab-size %s\n' "$script" "$type" "$(echo "$pair" | cut -d= -f2)" >"$dir/qwen.sh"
    "$S" run "$dir/qwen.sh" --ignore-memory --json - | grep -q "no --vocab-size is given: $vocab, that of the tokenizer $type" && echo "ok extra_vocabulary $pair" || echo "not ok extra_vocabulary $pair"
done
# Nanotron, OLMo (7B), NeMo with values that name others, scripts of trainers
cat >"$dir/nanotron.yaml" <<'Y'
model: {dtype: bfloat16, model_config: {is_llama_config: true, hidden_size: 2048, intermediate_size: 8192, num_attention_heads: 32, num_hidden_layers: 24, num_key_value_heads: 32, tie_word_embeddings: true, vocab_size: 49152}}
parallelism: {dp: 4, pp: 2, tp: 2, pp_engine: 1f1b, tp_mode: REDUCE_SCATTER}
tokens: {batch_accumulation_per_replica: 4, micro_batch_size: 2, sequence_length: 2048}
optimizer: {zero_stage: 0}
Y
same nanotron "$dir/nanotron.yaml" -- --num-layers 24 --hidden-size 2048 --ffn-hidden-size 8192 --num-attention-heads 32 --num-query-groups 32 --vocab-size 49152 \
    --disable-bias-linear --normalization RMSNorm --position-embedding-type rope --swiglu --seq 2048 --micro-batch 2 --micro-batches 4 --dp 4 --tp 2 --pp 2 \
    --sequence-parallel --bf16 --software nanotron
# experts in every layer, a shared one with its gate, and what its classes have where a key is missing
sed 's/tie_word_embeddings: true, /use_qk_norm: true, attention_bias: true, moe_config: {num_experts: 8, top_k: 3, moe_intermediate_size: 1024, layers: [-1], enable_shared_expert: true, shared_expert_intermediate_size: 512}, /
    s/tp_mode: REDUCE_SCATTER/tp_mode: REDUCE_SCATTER, tp_linear_async_communication: true/; s/zero_stage: 0/zero_stage: 0, accumulate_grad_in_fp32: false/' "$dir/nanotron.yaml" >"$dir/experts.yaml"
same nanotron_experts "$dir/experts.yaml" -- --num-layers 24 --hidden-size 2048 --ffn-hidden-size 8192 --num-attention-heads 32 --num-query-groups 32 --vocab-size 49152 \
    --disable-bias-linear --add-qkv-bias --qk-layernorm --normalization RMSNorm --position-embedding-type rope --swiglu --seq 2048 --micro-batch 2 --micro-batches 4 --dp 4 --tp 2 --pp 2 \
    --sequence-parallel --bf16 --software nanotron --untie-embeddings-and-output-weights --num-experts 8 --moe-router-topk 3 --moe-ffn-hidden-size 1024 \
    --moe-shared-expert-intermediate-size 512 --moe-shared-expert-gate --overlap-tp wgrad --grad-dtype bf16
sed 's/layers: .-1./layers: [0, 2]/' "$dir/experts.yaml" >"$dir/some.yaml"
refuse nanotron_some_layers 3 'experts in some layers by number are not modelled' "$S" run "$dir/some.yaml"
cat >"$dir/olmo.yaml" <<'Y'
model: {d_model: 4096, n_heads: 32, n_layers: 32, mlp_hidden_size: 22016, weight_tying: false, activation_type: swiglu, max_sequence_length: 2048, vocab_size: 50280, embedding_size: 50304}
global_train_batch_size: 64
device_train_microbatch_size: 2
precision: amp_bf16
fsdp: {wrapping_strategy: by_block}
Y
same olmo "$dir/olmo.yaml" --gpus 8 -- --num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 --num-attention-heads 32 --padded-vocab-size 50304 \
    --untie-embeddings-and-output-weights --disable-bias-linear --normalization RMSNorm --position-embedding-type rope --swiglu --seq 2048 --micro-batch 2 \
    --global-batch 64 --use-torch-fsdp2 --bf16 --gpus 8 --software fsdp-eager
shape="--num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 --num-attention-heads 32 --padded-vocab-size 50304 --untie-embeddings-and-output-weights --disable-bias-linear --normalization RMSNorm --position-embedding-type rope --swiglu --seq 2048 --micro-batch 2 --global-batch 64 --bf16 --gpus 8 --software fsdp-eager"
sed 's/^fsdp:.*/distributed_strategy: ddp/' "$dir/olmo.yaml" >"$dir/ddp.yaml"
same olmo_ddp "$dir/ddp.yaml" --gpus 8 -- $shape --zero 0 --update amp
sed 's/by_block/by_block, sharding_strategy: SHARD_GRAD_OP/' "$dir/olmo.yaml" >"$dir/kept.yaml"
same olmo_keeps_weights "$dir/kept.yaml" --gpus 8 -- $shape --use-torch-fsdp2 --reshard-after-forward no
sed 's/by_block/by_block, sharding_strategy: HYBRID_SHARD, hybrid_sharding_num_model_replicas: 4/' "$dir/olmo.yaml" >"$dir/hybrid.yaml"
same olmo_hybrid "$dir/hybrid.yaml" --gpus 8 -- $shape --use-torch-fsdp2 --shard-group 2
cat >"$dir/nemo.yaml" <<'Y'
trainer: {num_nodes: 2, devices: 8, precision: bf16}
model: {micro_batch_size: 2, global_batch_size: 64, tensor_model_parallel_size: 1, encoder_seq_length: 2048, max_position_embeddings: "${.encoder_seq_length}",
  num_layers: 12, hidden_size: 1024, ffn_hidden_size: "${multiply:4, ${.hidden_size}}", num_attention_heads: 16, normalization: layernorm1p, bias: false,
  share_embeddings_and_output_weights: false, activation: fast-swiglu, optim: {name: distributed_fused_adam}}
Y
same nemo "$dir/nemo.yaml" -- --micro-batch 2 --global-batch 64 --seq-length 2048 --max-position-embeddings 2048 --num-layers 12 --hidden-size 1024 --ffn-hidden-size 4096 \
    --num-attention-heads 16 --disable-bias-linear --untie-embeddings-and-output-weights --swiglu --use-distributed-optimizer --bf16 --gpus 16 --overlap-grad no --cross-entropy unfused --use-precision-aware-optimizer
# all devices of its nodes, as Lightning has it
for devices in -1 auto; do
    sed "s/devices: [0-9]*/devices: $devices/" "$dir/nemo.yaml" >"$dir/nemo_all.yaml"
    same "nemo_devices $devices" "$dir/nemo_all.yaml" -- --megatron-args "$dir/nemo.yaml" --gpus 16
done
# Megatron-Bridge's functions set the loss themselves
printf 'train: {train_iters: 10}\nmodel: {num_layers: 12, hidden_size: 1024, num_attention_heads: 16, ffn_hidden_size: 4096, seq_length: 2048, tensor_model_parallel_size: 2}\n' >"$dir/bridge.yaml"
same bridge_loss "$dir/bridge.yaml" --gpus 8 --micro-batch 1 --global-batch 32 -- --num-layers 12 --hidden-size 1024 --num-attention-heads 16 --ffn-hidden-size 4096 --seq 2048 --tp 2 --gpus 8 --micro-batch 1 --global-batch 32 --overlap-grad no
# one node unless it is said, where the plan fits there
sed 's/num_nodes: [0-9]*, //; s/, num_nodes: [0-9]*//' "$dir/nemo.yaml" >"$dir/nemo_one.yaml"
same nemo_one_node "$dir/nemo_one.yaml" -- --megatron-args "$dir/nemo.yaml" --gpus 8
sed 's/tensor_model_parallel_size: 1/tensor_model_parallel_size: 4, pipeline_model_parallel_size: 4/' "$dir/nemo_one.yaml" >"$dir/nemo_wide.yaml"
same nemo_more_than_a_node "$dir/nemo_wide.yaml" -- --megatron-args "$dir/nemo.yaml" --gpus 16 --tp 4 --pp 4
# fp8 is a switch of NeMo 1 beside two that name the format; what it says of overlap and of gradients goes to Megatron's classes
sed 's/tensor_model_parallel_size: 1/tensor_model_parallel_size: 2, fp8: true, fp8_e4m3: false, fp8_hybrid: true, ub_tp_comm_overlap: true, sequence_parallel: true/
    s/distributed_fused_adam/mcore_distributed_optim, grad_sync_dtype: bf16, overlap_grad_sync: true, overlap_param_sync: true/' "$dir/nemo.yaml" >"$dir/nemo_fp8.yaml"
same nemo_fp8 "$dir/nemo_fp8.yaml" -- --micro-batch 2 --global-batch 64 --seq-length 2048 --max-position-embeddings 2048 --num-layers 12 --hidden-size 1024 --ffn-hidden-size 4096 \
    --num-attention-heads 16 --disable-bias-linear --untie-embeddings-and-output-weights --swiglu --use-distributed-optimizer --bf16 --gpus 16 --tp 2 --sequence-parallel --fp8 \
    --overlap-tp chunks --grad-dtype bf16 --overlap-grad yes --cross-entropy unfused --overlap-param yes
sed 's/fp8: true/fp8: false/' "$dir/nemo_fp8.yaml" >"$dir/nemo_bf16.yaml"
same nemo_fp8_off "$dir/nemo_bf16.yaml" --fp8 -- --megatron-args "$dir/nemo_fp8.yaml"
printf 'model: {num_layers: 2, hidden_size: 64, num_attention_heads: 2, ffn_hidden_size: "${.ffn_hidden_size}"}\n' >"$dir/self.yaml"
refuse names_itself 3 "self.yaml:1:82: error: --ffn-hidden-size takes a whole number from 1 on, not '\${.ffn_hidden_size}'" "$S" run "$dir/self.yaml" --gpus 1
printf 'torchrun --nproc_per_node=8 train.py --model_name_or_path meta-llama/Llama-2-7b-hf --bf16 True --per_device_train_batch_size 4 --gradient_accumulation_steps 8 --fsdp "full_shard auto_wrap" --model_max_length 2048\n' >"$dir/trainer.sh"
same trainer_script "$dir/trainer.sh" -- --model llama2-7b --bf16 --micro-batch 4 --micro-batches 8 --seq 2048 --use-torch-fsdp2 --gpus 8 --software fsdp-eager
printf 'torchrun --nproc_per_node 8 pretrain_bert.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 512\n' >"$dir/bert.sh"
refuse an_encoder 3 "bert.sh:1: error: 'pretrain_bert.py': an encoder (BERT) is not modelled" "$S" run "$dir/bert.sh"
# Recipes in Python: values under names
same nemo_recipe $data/nemo_recipe.py -- --model llama3-8b --cp 2 --seq 8192 --global-batch 512 --micro-batch 1 --gpus 8
same bridge_recipe $data/bridge_recipe.py --gpus 128 -- --model llama3-70b --tp 4 --pp 8 --cp 2 --sequence-parallel --seq 8192 --global-batch 512 --micro-batch 1 --gpus 128 --overlap-grad no
# recipes of precision by their names, called or in quotes; a module of NeMo's recipes names the model, types of PyTorch are values
printf 'import nemo_run as run\nfrom nemo.collections import llm\nfrom x import bf16_with_fp8_mixed\ndef executor(nodes: int = 1, devices: int = 2):\n    return run.LocalExecutor(ntasks_per_node=devices)\nrecipe = llm.llama31_70b.pretrain_recipe(num_nodes=2, num_gpus_per_node=8)\nrecipe.trainer.strategy.tensor_model_parallel_size=4\nrecipe.data.global_batch_size=64\nrecipe.data.micro_batch_size=1\nrecipe.data.seq_length=4096\nrecipe.trainer.plugins = bf16_with_fp8_mixed()\n' >"$dir/run.py"
same nemo_run_fp8 "$dir/run.py" -- --model llama3.1-70b --gpus 16 --tp 4 --global-batch 64 --micro-batch 1 --seq 4096 --fp8 --fp8-param-gather --overlap-grad no --zero 1
expect_text() { # name, what it says, command…
    name=$1 text=$2
    shift 2
    if "$@" 2>&1 | grep -qF -- "$text"; then echo "ok $name"; else echo "not ok $name"; fi
}
expect_notes() { tr '\n' ' ' <"$dir/out" | tr -s ' ' | grep -qF -- "$2" && echo "ok $1" || echo "not ok $1"; }
expect_notes nemo_run_recipe 'does not say pipeline_model_parallel_size,context_parallel_size: 1 is taken'
# a recipe that is called and says no degree is one, too
printf 'from nemo.collections import llm\nrecipe = llm.llama3_8b.pretrain_recipe(num_nodes=1, num_gpus_per_node=8)\nrecipe.data.global_batch_size=64\nrecipe.data.micro_batch_size=1\nrecipe.data.seq_length=4096\n' >"$dir/called.py"
for shown in called run; do expect_text "shown_$shown" "layers    " "$S" show "$dir/$shown.py"; done
same nemo_run_called "$dir/called.py" -- --model llama3-8b --gpus 8 --global-batch 64 --micro-batch 1 --seq 4096 --zero 1 --overlap-grad no
{ cat $data/bridge_recipe.py; printf '\ncfg.mixed_precision = get("bf16_with_fp8_current_scaling_mixed")\ncfg.optimizer.exp_avg_dtype = torch.bfloat16\ncfg.mixed_precision.grad_reduce_in_fp32 = False\ncfg.optimizer.main_grads_dtype = torch.float32\n'; } >"$dir/current.py"
same bridge_current_scaling "$dir/current.py" --gpus 128 -- --model llama3-70b --tp 4 --pp 8 --cp 2 --sequence-parallel --seq 8192 --global-batch 512 --micro-batch 1 --gpus 128 --overlap-grad no \
    --fp8 --fp8-recipe tensorwise --fp8-param-gather --num-layers-at-start-in-bf16 1 --num-layers-at-end-in-bf16 1 --exp-avg-dtype bf16 --grad-dtype bf16
{ cat $data/bridge_recipe.py; printf '\ncfg.tokenizer.vocab_size = SIZE_FROM_ELSEWHERE\n'; } >"$dir/elsewhere.py"
refuse a_name_of_another_file 3 'elsewhere.py:34: error: vocab_size is SIZE_FROM_ELSEWHERE, which is no value that can be read' "$S" run "$dir/elsewhere.py" --gpus 128
# sizes beside a class change its model; the rest of it stays: gates, norms, vocabulary
printf 'import torch\ncfg = llm.Llama32Config1B(num_layers=25, hidden_size=2048, num_attention_heads=16, num_query_groups=16, ffn_hidden_size=6144, tensor_model_parallel_size=1)\nglobal_batch_size = 64\nmicro_batch_size = 1\nseq_length = 4096\n' >"$dir/class.py"
same sizes_beside_a_class "$dir/class.py" --gpus 8 -- --model llama3.2-1b --num-layers 25 --hidden-size 2048 --num-attention-heads 16 --num-query-groups 16 --ffn-hidden-size 6144 --seq 4096 --global-batch 64 --micro-batch 1 --gpus 8 --overlap-grad no
{ cat $data/bridge_recipe.py; printf '\ndef other():\n    return cfg(tensor_model_parallel_size=8)\n'; } >"$dir/two.py"
refuse two_recipes 3 'two.py:35: error: tensor_model_parallel_size is 8 here and 4 in line 5' "$S" run "$dir/two.py" --gpus 128
same two_recipes_and_an_option "$dir/two.py" --gpus 128 --tp 8 -- --model llama3-70b --tp 8 --pp 8 --cp 2 --sequence-parallel --seq 8192 --global-batch 512 --micro-batch 1 --gpus 128 --overlap-grad no
sed 's/meta-llama.*70B/someone\/Unheard-70B/' $data/bridge_recipe.py >"$dir/unheard.py"
refuse recipe_of_no_known_model 3 'names no model that is known' "$S" run "$dir/unheard.py" --gpus 128
{ cat $data/bridge_recipe.py; printf '\nother = "meta-llama/Meta-Llama-3-8B"\n'; } >"$dir/models.py"
refuse recipe_of_two_models 3 'names two models' "$S" run "$dir/models.py" --gpus 128
sed 's/micro_batch_size: int = 1/micro_batch_size: int = args.batch/' $data/bridge_recipe.py >"$dir/args.py"
refuse recipe_with_an_expression 3 'micro_batch_size is args.batch, which is no value' "$S" run "$dir/args.py" --gpus 128
printf 'import os\nx = """tensor_model_parallel_size=' >"$dir/open.py"
refuse recipe_with_an_open_string 3 'no recipe that we know' "$S" run "$dir/open.py" --gpus 8
printf 'import os\nprint("hello")\n' >"$dir/plain.py"
refuse no_recipe 3 'is a program in Python' "$S" run "$dir/plain.py" --gpus 8
# how PyTorch's context parallelism brings keys and values
sed 's/^tensor_parallel_degree.*/&\ncontext_parallel_degree = 2\ncontext_parallel_rotate_method = "alltoall"/' $data/torchtitan.toml >"$dir/rotate.toml"
same torchtitan_rotates "$dir/rotate.toml" --gpus 16 -- --model llama3-8b --gpus 16 --tp 2 --cp 2 --cp-comm-type p2p --sequence-parallel --seq 8192 --micro-batch 1 --recompute ops --use-torch-fsdp2 --software torchtitan-2026
sed 's/alltoall/pigeon/' "$dir/rotate.toml" >"$dir/pigeon.toml"
refuse torchtitan_rotates_otherwise 3 "unknown 'pigeon'" "$S" run "$dir/pigeon.toml" --gpus 16
# axes of MaxText's mesh that are not known are no data parallelism; those of one rank are nothing
printf 'per_device_batch_size: 4\nmodel_name: llama3-8b\nmax_target_length: 4096\nici_fsdp_parallelism: 4\nici_tensor_parallelism: 2\n' >"$dir/mesh.yml"
for axis in ici_sequence dcn_tensor_transpose ici_fsdp_transpose; do
    { cat "$dir/mesh.yml"; echo "${axis}_parallelism: 2"; } >"$dir/axis.yml"
    refuse "maxtext_$axis" 3 "${axis}_parallelism 2: by its name it is a degree of parallelism" "$S" run "$dir/axis.yml" --gpus 8 --ignore-memory
done
{ cat "$dir/mesh.yml"; printf 'dcn_data_parallelism: 1\nici_data_parallelism: 1\nici_sequence_parallelism: 1\nici_expert_parallelism: 1\npipeline_parallel_layers: -1\nasync_checkpointing: true\n'; } >"$dir/axis.yml"
same maxtext_axes_of_one "$dir/axis.yml" --gpus 8 --ignore-memory -- --megatron-args "$dir/mesh.yml" --gpus 8 --ignore-memory
# Interleaved1F1B has rounds of as many micro-batches: 10 on 4 stages are two of 5, 9 none
rounds() { # local batch
    printf '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = %s\nseq_len = 4096\n[parallelism]\npipeline_parallel_degree = 4\npipeline_parallel_schedule = "Interleaved1F1B"\n[activation_checkpoint]\nmode = "full"\n[compile]\nenable = true\n' "$1" >"$dir/rounds.toml"
}
of_rounds="--model llama3-8b --gpus 8 --pp 4 --schedule interleaved --seq 4096 --micro-batch 1 --recompute full --use-torch-fsdp2 --software torchtitan-2026 --vpp 2"
rounds 10
same torchtitan_rounds "$dir/rounds.toml" --gpus 8 --vpp 2 -- $of_rounds --micro-batches 10 --microbatch-group-size-per-virtual-pipeline-stage 5
rounds 8
same torchtitan_full_rounds "$dir/rounds.toml" --gpus 8 --vpp 2 -- $of_rounds --micro-batches 8
rounds 9
refuse torchtitan_unlike_rounds 3 "Interleaved1F1B does not take 9 micro-batches in 2 rounds of as many" "$S" run "$dir/rounds.toml" --gpus 8 --vpp 2
# what a file denies, a profile does not fill in; what it does not say, it does
printf 'trainer: {devices: 8, num_nodes: 2}\nmodel: {tensor_model_parallel_size: 4, micro_batch_size: 1, global_batch_size: 32, encoder_seq_length: 2048, num_layers: 12, hidden_size: 2048, ffn_hidden_size: 8192, num_attention_heads: 16, vocab_size: 32000, max_position_embeddings: 2048}\n' >"$dir/silent.yaml"
sed 's/model: {/model: {sequence_parallel: false, overlap_param_gather: false, optim: {overlap_grad_sync: false}, /' "$dir/silent.yaml" >"$dir/denies.yaml"
same profile_fills "$dir/silent.yaml" --software nemo-24.07 -- --megatron-args "$dir/silent.yaml" --software nemo-24.07 --sequence-parallel --overlap-param yes
same profile_denied "$dir/denies.yaml" --software nemo-24.07 -- --megatron-args "$dir/silent.yaml" --software nemo-24.07 --no-sequence-parallel --overlap-param no --overlap-grad no
# Older names of torchtitan, ids with versions, DeepSpeed's file inside a script, offloading, 4 bits
printf '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nbatch_size = 1\nseq_len = 4096\ntensor_parallel_degree = 2\n[experimental]\npipeline_parallel_degree = 2\n[float8]\nenable_float8_linear = true\n' >"$dir/old.toml"
same older_torchtitan "$dir/old.toml" --gpus 8 -- --model llama3-8b --micro-batch 1 --micro-batches 1 --seq 4096 --tp 2 --pp 2 --fp8 --no-fp8-param-gather --use-torch-fsdp2 --gpus 8 --recompute ops --software torchtitan-2026 --fusion hf --cross-entropy fp32
echo 'enable_fsdp_float8_all_gather = true' >>"$dir/old.toml"
same torchtitan_gathers_float8 "$dir/old.toml" --gpus 8 -- --model llama3-8b --micro-batch 1 --micro-batches 1 --seq 4096 --tp 2 --pp 2 --fp8 --use-torch-fsdp2 --gpus 8 --recompute ops --software torchtitan-2026 --fusion hf --cross-entropy fp32
printf 'base_model: mistralai/Mistral-7B-Instruct-v0.2\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: true\nfsdp_config:\n  fsdp_offload_params: true\n' >"$dir/version.yaml"
same an_id_with_a_version "$dir/version.yaml" --gpus 8 -- --model mistral-7b --seq 2048 --micro-batch 1 --bf16 --use-torch-fsdp2 --gpus 8 --software fsdp-eager --offload-params --offload-optimizer 1 --overlap-offload yes
noted() { # name, text, command…
    name=$1 text=$2
    shift 2
    "$@" --json - 2>/dev/null | grep -qF -- "$text" && echo "ok $name" || echo "not ok $name"
}
script='deepspeed --num_nodes 2 --num_gpus 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 4 --global-batch-size 512 --deepspeed --deepspeed_config ds.json --bf16'
printf 'cat > ds.json <<EOF\n{"zero_optimization": {"stage": 2}}\nEOF\n%s\n' "$script" >"$dir/stage.sh"
noted torchtitan_selective_by_default 'activation_checkpoint without a selective_ac_option is selective: 2 repeats each 2-th layer' "$S" run "$dir/old.toml" --gpus 8
noted stage_of_a_file_in_the_script 'ZeRO 2, as it stands in the file of DeepSpeed' "$S" run "$dir/stage.sh" --ignore-memory
printf '%s\n' "$script" >"$dir/elsewhere.sh"
noted stage_of_a_file_elsewhere 'the file of --deepspeed_config is not read' "$S" run "$dir/elsewhere.sh" --ignore-memory
printf 'model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nfinetuning_type: lora\nlora_rank: 8\nquantization_bit: 4\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n' >"$dir/four.yaml"
same lora_in_4_bits "$dir/four.yaml" --gpus 1 -- --model qwen2.5-7b --lora 8 --lora-targets all --lora-autocast --qlora --seq 2048 --micro-batch 1 --bf16 --gpus 1 --recompute full --software hf-transformers
# which linear layers have adapters, in each trainer's words, whether their inputs are dropped, and fp32 adapters under autocast
adapters_say() { # name, lines, what they mean
    { grep -v deepspeed $data/axolotl.yaml; printf "$2\n"; } >"$dir/adapters.yaml"
    same adapters_$1 "$dir/adapters.yaml" --gpus 8 -- --model llama3.1-8b --gpus 8 --seq 4096 --micro-batch 2 --micro-batches 4 --recompute full --lora 16 --software hf-transformers --lora-autocast $3
}
adapters_say of_peft "" ""
adapters_say linear "lora_target_linear: true" "--lora-targets all"
adapters_say listed "lora_target_modules: [q_proj, out_proj]" "--lora-targets q_proj,o_proj"
adapters_say in_a_line "lora_target_modules: q_proj,gate_up_proj" "--lora-targets q_proj,gate_proj,up_proj"
adapters_say all_linear "lora_target_modules: all-linear\nlora_dropout: 0.05" "--lora-targets all --dropout"
adapters_say without_dropout "lora_dropout: 0.0" ""
adapters_say of_trl "use_peft: true" "--dropout"
{ grep -v deepspeed $data/axolotl.yaml; printf 'lora_mlp_kernel: true\nsample_packing: false\n'; } >"$dir/adapters.yaml"
same adapters_in_kernels "$dir/adapters.yaml" --gpus 8 -- --model llama3.1-8b --gpus 8 --seq 4096 --micro-batch 2 --micro-batches 4 --recompute full --lora 16 --software hf-transformers
noted trainer_length 'sequences are not packed: they are counted as long as they may be' "$S" run "$dir/adapters.yaml" --gpus 8
sed 's/sample_packing: false/sample_packing: true/; /adapter/d; /lora/d' "$dir/adapters.yaml" >"$dir/packed.yaml"
printf 'fsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\ndp_shard_size: 4\ndp_replicate_size: 2\n' >>"$dir/packed.yaml"
same trainer_hybrid "$dir/packed.yaml" --gpus 8 -- --model llama3.1-8b --gpus 8 --seq 4096 --micro-batch 2 --micro-batches 4 --recompute full --software fsdp-eager --use-torch-fsdp2 --shard-group 4
if "$S" run "$dir/packed.yaml" --gpus 8 --json "$dir/packed.json" >/dev/null && grep -q step_time_us "$dir/packed.json" && ! grep -q 'not packed' "$dir/packed.json"; then echo "ok packed sequences are not noted"; else echo "not ok packed sequences are not noted"; fi
printf 'model_name_or_path: meta-llama/Llama-3.1-8B\nfinetuning_type: lora\nlora_rank: 8\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n' >"$dir/factory.yaml"
factory="--model llama3.1-8b --lora 8 --seq 2048 --micro-batch 1 --bf16 --gpus 8 --recompute full --software hf-transformers"
same adapters_of_llamafactory "$dir/factory.yaml" --gpus 8 -- $factory --lora-targets all --lora-autocast
echo 'lora_target: q_proj,v_proj' >>"$dir/factory.yaml"
same adapters_by_name "$dir/factory.yaml" --gpus 8 -- $factory --lora-targets q_proj,v_proj --lora-autocast
echo 'pure_bf16: true' >>"$dir/factory.yaml"
same adapters_in_bf16 "$dir/factory.yaml" --gpus 8 -- $factory --lora-targets q_proj,v_proj --update plain
# torchtitan: a number for selective_ac_option is whole layers, which is said; "op" is what is counted
for option in 2 op; do
    printf '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 1\nseq_len = 4096\n[parallelism]\ndata_parallel_shard_degree = 8\n[activation_checkpoint]\nmode = "selective"\nselective_ac_option = "%s"\n' $option >"$dir/ac.toml"
    "$STEPCAST" run --megatron-args "$dir/ac.toml" --gpus 8 --ignore-memory >"$dir/ac.$option"
done
said="$(tr '\n' ' ' <"$dir/ac.2" | grep -c 'selective_ac_option 2 repeats each 2-th') $(grep -c selective_ac_option "$dir/ac.op") $(grep -c 'step time' "$dir/ac.op")"
if [ "$said" = "1 0 1" ]; then echo "ok torchtitan's layers by number"; else echo "not ok torchtitan's layers by number: $said"; fi
# trainers of Hugging Face: fp8 of torchao, moments in 8 bits, a loss in pieces, FSDP that keeps what it gathered; checkpointing, which LLaMA-Factory has unless told otherwise
hf="--model llama3-8b --seq 1024 --micro-batch 1 --micro-batches 8 --bf16 --gpus 8"
trainer='model_name_or_path: meta-llama/Meta-Llama-3-8B\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: true\n'
printf "${trainer}cutoff_len: 1024\nfinetuning_type: full\nfsdp: full_shard auto_wrap\nfp8: true\nfp8_backend: torchao\nfp8_enable_fsdp_float8_all_gather: true\n" >"$dir/fp8.yaml"
same trainer_fp8 "$dir/fp8.yaml" --gpus 8 -- $hf --use-torch-fsdp2 --fp8 --fp8-scaling dynamic --fp8-param-gather --recompute full --software fsdp-eager
printf "${trainer}max_length: 1024\noptim: paged_adamw_8bit\nuse_liger_kernel: true\nfsdp: shard_grad_op auto_wrap\n" >"$dir/liger.yaml"
same trainer_liger "$dir/liger.yaml" --gpus 8 -- $hf --use-torch-fsdp2 --reshard-after-forward no --optimizer adam-8bit --liger-kernel --software fsdp-eager
printf "base_model: meta-llama/Meta-Llama-3-8B\nsequence_len: 1024\nmicro_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: true\nfsdp: no_shard\nplugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_rms_norm: true\nliger_glu_activation: true\n" >"$dir/liger.yaml"
noted liger_in_part "a part of Liger's kernels" "$S" run "$dir/liger.yaml" --gpus 8 --cluster dgx-h100:8 --ignore-memory
printf "liger_rope: true\n" >>"$dir/liger.yaml"
same liger_apart "$dir/liger.yaml" --gpus 8 -- $hf --update plain --liger-kernel --cross-entropy fp32 --software hf-transformers
printf "liger_fused_linear_cross_entropy: true\n" >>"$dir/liger.yaml"
same liger_apart_with_its_loss "$dir/liger.yaml" --gpus 8 -- $hf --update plain --liger-kernel --software hf-transformers
printf "${trainer}max_length: 1024\nplugins:\n  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\noptimizer: muon\nfsdp: no_shard\n" >"$dir/cut.yaml"
same trainer_cut "$dir/cut.yaml" --gpus 8 -- $hf --update amp --optimizer muon --cross-entropy chunked --software hf-transformers
# numbers of ShardingStrategy, as older files of accelerate have them
for number in "1 " "2 --reshard-after-forward no" "4 " "5 --reshard-after-forward no"; do
    printf "${trainer}max_length: 1024\nfsdp_config: {fsdp_sharding_strategy: ${number%% *}}\n" >"$dir/number.yaml"
    same "sharding strategy ${number%% *}" "$dir/number.yaml" --gpus 8 -- $hf --use-torch-fsdp2 ${number#* } --software fsdp-eager
done
printf "${trainer}max_length: 1024\nfsdp_config: {fsdp_sharding_strategy: 3}\n" >"$dir/number.yaml"
same "sharding strategy 3" "$dir/number.yaml" --gpus 8 -- $hf --update amp --software hf-transformers
# weights in the type of the products or in fp32, cast for each: a type that is named, and what loads the model
printf "${trainer}max_length: 1024\ntorch_dtype: bfloat16\n" >"$dir/narrow.yaml"
same trainer_narrow "$dir/narrow.yaml" --gpus 8 -- $hf --update plain --grad-dtype bf16 --software hf-transformers
printf "${trainer}max_length: 1024\ntorch_dtype: float32\n" >"$dir/narrow.yaml"
same trainer_wide "$dir/narrow.yaml" --gpus 8 -- $hf --update amp --software hf-transformers
grep -v 'deepspeed\|adapter\|lora' $data/axolotl.yaml >"$dir/narrow.yaml"
same axolotl_narrow "$dir/narrow.yaml" --gpus 8 -- --model llama3.1-8b --gpus 8 --seq 4096 --micro-batch 2 --micro-batches 4 --recompute full --software hf-transformers --update plain
printf "${trainer}cutoff_len: 1024\nfinetuning_type: full\ndisable_gradient_checkpointing: true\npure_bf16: true\n" >"$dir/pure.yaml"
same trainer_pure "$dir/pure.yaml" --gpus 8 -- $hf --update plain --recompute none --software hf-transformers
printf "${trainer}max_length: 1024\noptim: adafactor\n" >"$dir/other.yaml"
noted trainer_other_optimizer 'the optimizer adafactor is not modelled: Adam is counted' "$S" run "$dir/other.yaml" --gpus 8 --ignore-memory
for key in 'use_galore: true' 'rl: dpo' 'stage: dpo' 'activation_offloading: legacy' 'tiled_mlp: true'; do
    printf "${trainer}max_length: 1024\n$key\n" >"$dir/other.yaml"
    noted "not modelled: $key" "other.yaml:6: $(echo "$key" | tr -d :) changes the step and is not modelled" "$S" run "$dir/other.yaml" --gpus 8 --ignore-memory
done
printf "${trainer}max_length: 1024\nuse_galore: false\nrl:\nstage: sft\ntorch_compile: false\nload_in_8bit: no\noptim: adamw_torch_fused\n" >"$dir/other.yaml"
if "$S" run "$dir/other.yaml" --gpus 8 --ignore-memory --json "$dir/other.json" >/dev/null && grep -q step_time_us "$dir/other.json" && ! grep -q 'not modelled' "$dir/other.json"; then echo "ok what is off is not noted"; else echo "not ok what is off is not noted"; fi
# ZeRO++ and what else DeepSpeed's file says of a step
printf '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8, "zero_quantized_weights": false}}' >"$dir/zeropp.json"
noted zero_plus_plus 'zero_hpz_partition_size 8 changes the step and is not modelled' "$S" run "$dir/zeropp.json" --model llama3-8b --gpus 8 --ignore-memory
# files beside a launch that it names: DeepSpeed's, accelerate's, TRL's recipe; what is outside of its folder is not opened
mkdir -p "$dir/beside/ds"
printf '{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}, "bf16": {"enabled": "auto"}, "gradient_accumulation_steps": "auto"}' >"$dir/beside/ds/own.json"
printf "${trainer}max_length: 1024\ndeepspeed: ds/own.json\n" >"$dir/beside/run.yaml"
same beside_deepspeed "$dir/beside/run.yaml" --gpus 8 -- $hf --zero 3 --offload-optimizer 1 --overlap-offload yes --software deepspeed
noted beside_is_said 'ds/own.json, which' "$S" run "$dir/beside/run.yaml" --gpus 8 --ignore-memory
printf 'distributed_type: FSDP\nfsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: false}\nmixed_precision: bf16\nnum_processes: 8\n' >"$dir/beside/fsdp.yaml"
printf 'accelerate launch --config_file fsdp.yaml sft.py --config recipe.yaml --max_length 1024\n' >"$dir/beside/run.sh"
printf "${trainer}max_length: 4096\n" >"$dir/beside/recipe.yaml"
same beside_accelerate "$dir/beside/run.sh" -- $hf --use-torch-fsdp2 --reshard-after-forward no --software fsdp-eager
sed 's/ds\/own.json/elsewhere.json/' "$dir/beside/run.yaml" >"$dir/beside/missing.yaml"
noted beside_missing 'names elsewhere.json, which is not beside it' "$S" run "$dir/beside/missing.yaml" --gpus 8 --ignore-memory
for outside in ../beside/ds/own.json "$(cd "$dir" && pwd)/beside/ds/own.json"; do
    sed "s|ds/own.json|$outside|" "$dir/beside/run.yaml" >"$dir/beside/outside.yaml"
    noted "beside, outside: ${outside%%/*}" 'which is not beside it' "$S" run "$dir/beside/outside.yaml" --gpus 8 --ignore-memory
done
printf '{"zero_optimization": {' >"$dir/beside/ds/own.json"
refuse beside_broken 3 'beside/ds/own.json:2: error: not YAML' "$S" run "$dir/beside/run.yaml" --gpus 8
printf '%s\n' "$script" >"$dir/beside/megatron.sh"
printf '{"zero_optimization": {"stage": 1}}' >"$dir/beside/ds.json"
noted beside_a_script 'ZeRO 1, as it stands in the file of DeepSpeed that lies beside it' "$S" run "$dir/beside/megatron.sh" --ignore-memory
# adapters of NeMo: version 1 beside queries, keys and values unless it says where, recipes of version 2 beside all
nemo='trainer: {devices: 8, num_nodes: 1, precision: bf16}\nmodel:\n  micro_batch_size: 1\n  global_batch_size: 32\n  tensor_model_parallel_size: 2\n  encoder_seq_length: 4096\n  num_layers: 8\n  hidden_size: 4096\n  num_attention_heads: 32\n  ffn_hidden_size: 16384\n'
printf "$nemo" >"$dir/whole.yaml"
for peft in "peft_scheme: lora, lora_tuning: {adapter_dim: 16}= --lora 16 --lora-targets q_proj,k_proj,v_proj" \
    "peft_scheme: lora, lora_tuning: {adapter_dim: 16, adapter_dropout: 0.1, target_modules: [attention_dense, mlp_fc2]}= --lora 16 --lora-targets o_proj,down_proj --dropout" \
    "dim: 8, target_modules: [linear_fc1]= --lora 8 --lora-targets gate_proj,up_proj" "peft_scheme: null= "; do
    printf "$nemo  peft: {${peft%%=*}}\n" >"$dir/nemo.yaml"
    same "NeMo's ${peft%%=*}" "$dir/nemo.yaml" -- --megatron-args "$dir/whole.yaml" ${peft#*=}
done
printf "$nemo  peft: {peft_scheme: ptuning}\n" >"$dir/nemo.yaml"
noted nemo_other_scheme 'the scheme ptuning of fine-tuning is not modelled' "$S" run "$dir/nemo.yaml"
recipe='import nemo_run as run\nfrom nemo.collections import llm\nrecipe = llm.llama3_8b.finetune_recipe(num_nodes=1, num_gpus_per_node=8%s)\nrecipe.trainer.strategy.tensor_model_parallel_size = 1\nrecipe.data.global_batch_size = 32\nrecipe.data.micro_batch_size = 1\nrecipe.data.seq_length = 4096\n'
printf "$recipe" '' >"$dir/tune.py"
printf "$recipe" ', peft_scheme=None' >"$dir/whole.py"
same nemo_finetune "$dir/tune.py" --gpus 8 -- "$dir/whole.py" --gpus 8 --lora 32 --lora-targets all
# what a trainer's own defaults are
printf 'model_name_or_path: meta-llama/Llama-3.1-8B\nfinetuning_type: full\nbf16: true\ndeepspeed: ds_z3.json\n' >"$dir/short.yaml"
same trainer_defaults "$dir/short.yaml" --gpus 8 -- --model llama3.1-8b --gpus 8 --bf16 --zero 3 --recompute full --software deepspeed --micro-batch 8 --seq 2048
same trainer_defaults_overridden "$dir/short.yaml" --gpus 8 --micro-batch 2 --seq 1024 -- --model llama3.1-8b --gpus 8 --bf16 --zero 3 --recompute full --software deepspeed --micro-batch 2 --seq 1024
# ms-swift names the model by --model; a variable without a value names none
printf 'deepspeed --num_gpus=2 --module swift.cli.sft --model Qwen/Qwen3-8B --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --max_length 2048 --lora_rank 64 --gradient_checkpointing true --deepspeed default-zero3\n' >"$dir/swift.sh"
# (train_type is lora unless it says otherwise, of all linear layers, with a dropout of 0.05)
same swift "$dir/swift.sh" -- --model qwen3-8b --gpus 2 --micro-batch 1 --micro-batches 4 --seq 2048 --lora 64 --lora-targets all --dropout --recompute full --zero 3 --software deepspeed
sed -i 's/--lora_rank 64/--train_type lora/' "$dir/swift.sh"
same swift_adapters "$dir/swift.sh" -- --model qwen3-8b --gpus 2 --micro-batch 1 --micro-batches 4 --seq 2048 --lora 8 --lora-targets all --dropout --recompute full --zero 3 --software deepspeed
sed -i 's/--train_type lora/--train_type full/' "$dir/swift.sh"
same swift_whole "$dir/swift.sh" -- --model qwen3-8b --gpus 2 --micro-batch 1 --micro-batches 4 --seq 2048 --recompute full --zero 3 --software deepspeed
# a list behind a flag has words of its own
printf 'accelerate launch --num_processes 8 sft.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 --max_length 2048 --use_peft --lora_r 8 --lora_dropout 0 --lora_target_modules q_proj o_proj up_proj --bf16\n' >"$dir/trl.sh"
same listed_behind_a_flag "$dir/trl.sh" -- --model llama3.1-8b --gpus 8 --micro-batch 1 --seq 2048 --lora 8 --lora-targets q_proj,o_proj,up_proj --lora-autocast --software hf-transformers
printf 'torchrun --nproc_per_node 2 train.py --model_name_or_path $2 --per_device_train_batch_size 1 --model_max_length 2048\n' >"$dir/unnamed.sh"
refuse no_value_behind_the_model 3 'unnamed.sh:1: error: --model_name_or_path has no value' "$S" run "$dir/unnamed.sh"
# accelerate's file says how; LLM Foundry's MPT has the defaults of its class; NeMo Automodel names classes
printf 'distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\ndeepspeed_config:\n  zero_stage: 3\n  offload_optimizer_device: cpu\n  offload_param_device: none\n' >"$dir/accelerate.yaml"
same accelerate "$dir/accelerate.yaml" --model llama3-8b --seq 2048 --micro-batch 1 -- --model llama3-8b --seq 2048 --micro-batch 1 --gpus 8 --zero 3 --bf16 --offload-optimizer 1 --overlap-offload yes --software deepspeed
# … or in DeepSpeed's own file
printf '{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}' >"$dir/stage.json"
printf 'distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_processes: 8\ndeepspeed_config:\n  deepspeed_config_file: stage.json\n' >"$dir/accelerate.yaml"
same accelerate_file "$dir/accelerate.yaml" --model llama3-8b --seq 2048 --micro-batch 1 -- --model llama3-8b --seq 2048 --micro-batch 1 --gpus 8 --zero 3 --bf16 --offload-optimizer 1 --overlap-offload yes --software deepspeed
printf 'distributed_type: FSDP\nmixed_precision: fp8\nnum_processes: 8\nfsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n  fsdp_activation_checkpointing: true\n' >"$dir/accelerate.yaml"
same accelerate_fsdp "$dir/accelerate.yaml" --model llama3-8b --seq 2048 --micro-batch 1 -- --model llama3-8b --seq 2048 --micro-batch 1 --gpus 8 --use-torch-fsdp2 --reshard-after-forward no --recompute full --fp8 --fp8-scaling dynamic --software fsdp-eager
cat >"$dir/foundry.yaml" <<'Y'
max_seq_len: 2048
model: {name: mpt_causal_lm, d_model: 4096, n_heads: 32, n_layers: 32, expansion_ratio: 4, max_seq_len: "${max_seq_len}", vocab_size: 50368, attn_config: {attn_impl: flash}}
train_loader: {dataset: {max_seq_len: "${max_seq_len}"}}
optimizer: {name: decoupled_adamw}
callbacks: {hf_checkpointer: {precision: bfloat16}}
global_train_batch_size: 1024
device_train_microbatch_size: 8
precision: amp_bf16
fsdp_config: {sharding_strategy: FULL_SHARD, mixed_precision: PURE, activation_checkpointing: true, activation_cpu_offload: false}
Y
foundry="--seq 2048 --global-batch 1024 --micro-batch 8 --bf16 --use-torch-fsdp2 --recompute full --gpus 16 --software llm-foundry-2023"
mpt="--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 16384 --vocab-size 50368"
same foundry "$dir/foundry.yaml" --gpus 16 -- $mpt --max-position-embeddings 2048 $foundry
# a run of MosaicML's platform has the file under parameters, and the GPUs beside it
{ printf 'name: x\nimage: y\ncommand: composer train.py /mnt/config/parameters.yaml\ncompute:\n  gpus: 16\nparameters:\n'; sed 's/^/  /' "$dir/foundry.yaml"; } >"$dir/run.yaml"
same foundry_run "$dir/run.yaml" -- --megatron-args "$dir/foundry.yaml" --gpus 16
grep -v '^fsdp_config' "$dir/foundry.yaml" >"$dir/copies.yaml"
same foundry_ddp "$dir/copies.yaml" --gpus 16 -- $mpt --max-position-embeddings 2048 $(echo "$foundry" | sed 's/--use-torch-fsdp2 --recompute full/--update amp/')
sed 's/attn_impl: flash/attn_impl: flash, alibi: true, attn_type: grouped_query_attention, kv_n_heads: 8/; s/n_layers: 32,/n_layers: 32, no_bias: true, tie_word_embeddings: false,/; s/FULL_SHARD/SHARD_GRAD_OP/; s/amp_bf16/amp_fp8/' "$dir/foundry.yaml" >"$dir/alibi.yaml"
same foundry_alibi "$dir/alibi.yaml" --gpus 16 -- $mpt --position-embedding-type alibi --num-query-groups 8 --group-query-attention --disable-bias-linear --untie-embeddings-and-output-weights $foundry --reshard-after-forward no --fp8
narrow="--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 11008 --vocab-size 50368"
# the feed-forward by a ratio that is not whole or by its size (resolve_ffn_hidden_size), numbers as YAML writes them, the file's own length
sed 's/expansion_ratio: 4/expansion_ratio: 2.6875/; s/d_model: 4096/d_model: 4_096/; /^train_loader/d' "$dir/foundry.yaml" >"$dir/ratio.yaml"
same foundry_ratio "$dir/ratio.yaml" --gpus 16 -- $narrow --max-position-embeddings 2048 $foundry
sed 's/expansion_ratio: 4/ffn_config: {ffn_hidden_size: 1.1008e4}/; s/d_model: 4096/d_model: 4096.0/' "$dir/foundry.yaml" >"$dir/ratio.yaml"
same foundry_ffn_size "$dir/ratio.yaml" --gpus 16 -- $narrow --max-position-embeddings 2048 $foundry
sed 's/d_model: 4096/d_model: 4096.5/' "$dir/foundry.yaml" >"$dir/ratio.yaml"
refuse not_whole 3 'ratio.yaml:2: error: model.d_model takes a whole number, not 4096.5' "$S" run "$dir/ratio.yaml" --gpus 16
sed 's/expansion_ratio: 4/expansion_ratio: 2.68751/' "$dir/foundry.yaml" >"$dir/ratio.yaml"
refuse foundry_no_size 3 'model.expansion_ratio 2.68751: 4096 times it is no size of a feed-forward' "$S" run "$dir/ratio.yaml" --gpus 16
sed 's/^model:.*/model: {name: hf_causal_lm, pretrained_model_name_or_path: databricks\/dbrx-instruct, peft_config: {r: 64, peft_type: LORA, lora_dropout: 0.05, target_modules: [k_proj, down_proj]}}/; s/adamw/lionw/' "$dir/foundry.yaml" >"$dir/dbrx.yaml"
same foundry_lora "$dir/dbrx.yaml" --gpus 16 -- --model dbrx --lora 64 --lora-targets k_proj,down_proj --dropout $foundry
noted foundry_optimizer 'the optimizer decoupled_lionw is not modelled' "$S" run "$dir/dbrx.yaml" --gpus 16 --ignore-memory
cat >"$dir/automodel.yaml" <<'Y'
step_scheduler: {global_batch_size: 64, local_batch_size: 4}
distributed: {_target_: nemo_automodel.components.distributed.fsdp2.FSDP2Manager, tp_size: 2, cp_size: 1, pp_size: 1, ep_size: none, sequence_parallel: true, activation_checkpointing: true}
model: {_target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained, pretrained_model_name_or_path: meta-llama/Llama-3.1-8B}
dataset: {_target_: nemo_automodel.components.datasets.llm.mock_iterable_dataset.MockIterableDataset, seq_len: 4096, vocab_size: 100}
peft: {_target_: nemo_automodel.components._peft.lora.PeftConfig, match_all_linear: true, dim: 16}
loss_fn: {_target_: nemo_automodel.components.loss.linear_ce.FusedLinearCrossEntropy}
Y
same automodel "$dir/automodel.yaml" --gpus 16 -- --model llama3.1-8b --seq 4096 --global-batch 64 --micro-batch 4 --tp 2 --sequence-parallel --recompute full --use-torch-fsdp2 --lora 16 --lora-targets all --cross-entropy chunked --gpus 16 --software fsdp2-automodel
sed 's/match_all_linear: true/target_modules: ["*.q_proj", "*up_proj", lm_head], dropout: 0.1/' "$dir/automodel.yaml" >"$dir/patterns.yaml"
same automodel_patterns "$dir/patterns.yaml" --gpus 16 -- --model llama3.1-8b --seq 4096 --global-batch 64 --micro-batch 4 --tp 2 --sequence-parallel --recompute full --use-torch-fsdp2 --lora 16 --lora-targets q_proj,up_proj --dropout --cross-entropy chunked --gpus 16 --software fsdp2-automodel
sed -i 's/"\*up_proj"/"*.fc"/' "$dir/patterns.yaml"
refuse adapters_of_nothing 2 "unknown '*.fc'" "$S" run "$dir/patterns.yaml" --gpus 16
sed -i 's/"\*.fc"/"*up_proj"/' "$dir/patterns.yaml"
noted adapters_of_the_head 'adapters of lm_head are not counted' "$S" run "$dir/patterns.yaml" --gpus 16 --ignore-memory
sed 's/pp_size: 1/pp_size: 2, pipeline: {pp_microbatch_size: 1}/; s/activation_checkpointing: true/activation_checkpointing: false/; /^peft/d; s/linear_ce.FusedLinear/masked_ce.Masked/' "$dir/automodel.yaml" >"$dir/stages.yaml"
same automodel_stages "$dir/stages.yaml" --gpus 16 -- --model llama3.1-8b --seq 4096 --global-batch 64 --micro-batch 1 --pipeline-batch 4 --pp 2 --tp 2 --sequence-parallel --recompute none --use-torch-fsdp2 --gpus 16 --software fsdp2-automodel
sed 's/^micro_batch_size.*/micro_batch_size: [2]/' $data/axolotl.yaml >"$dir/list.yaml"
refuse a_list_for_one_value 3 'list.yaml:3: error: micro_batch_size takes one value, not a list' "$S" run "$dir/list.yaml" --gpus 8
sed 's/^micro_batch_size.*/micro_batch_size: two/' $data/axolotl.yaml >"$dir/word.yaml"
refuse a_word_for_a_number 3 "word.yaml:3:19: error: --micro-batch takes a whole number from 1 on, not 'two'" "$S" run "$dir/word.yaml" --gpus 8
same a_word_that_is_overridden "$dir/word.yaml" --gpus 8 --micro-batch 2 -- $data/axolotl.yaml --gpus 8
# a key that is called as the entry of a list would be
{ cat $data/axolotl.yaml; echo '0: 3'; } >"$dir/zero.yaml"
same a_key_called_0 "$dir/zero.yaml" --gpus 8 -- $data/axolotl.yaml --gpus 8
# torchtune: the dtype is that of all state, the optimizer PyTorch's; builders are functions under _component_
tune="--seq 4096 --micro-batch 2 --micro-batches 4 --bf16 --update plain --grad-dtype bf16 --use-torch-fsdp2 --gpus 8 --software pytorch-eager"
same torchtune $data/torchtune.yaml --gpus 8 -- --model llama3.1-8b $tune --optimizer adam --recompute full --cross-entropy chunked --fusion megatron
sed 's/llama3_1.llama3_1_8b/qwen2_5.lora_qwen2_5_1_5b_base\n  lora_attn_modules: [q_proj, v_proj, output_proj]\n  apply_lora_to_mlp: True\n  lora_dropout: 0.1\n  lora_rank: 32/; s/fused: True/foreach: True/; s/packed: True/packed: False/
    s/^compile.*/compile: {model: False, loss: True}/; s/loss.LinearCrossEntropyLoss/loss.ForwardKLLoss/; s/checkpointing: True/checkpointing: False/' $data/torchtune.yaml >"$dir/tune.yaml"
same torchtune_lora "$dir/tune.yaml" --gpus 8 -- --model qwen2.5-1.5b $tune --lora 32 --dropout --lora-targets q_proj,v_proj,o_proj,gate_proj,up_proj,down_proj --optimizer adam-foreach --recompute none --cross-entropy fp32 --fusion hf
noted torchtune_length 'sequences are not packed' "$S" run "$dir/tune.yaml" --gpus 8
noted torchtune_teacher 'more than plain training' "$S" run "$dir/tune.yaml" --gpus 8
sed 's/torch.optim.AdamW/bitsandbytes.optim.PagedAdamW8bit/; s/llama3_1.llama3_1_8b/qwen3.qlora_qwen3_0_6b_instruct/; s/^compile.*/compile: False\nfsdp_reshard_after_forward: False/; s/^enable_activation_check.*/ac_mode: selective\nac_option: op/; s/loss.Linear.*/loss.CEWithChunkedOutputLoss/' $data/torchtune.yaml >"$dir/qlora.yaml"
same torchtune_qlora "$dir/qlora.yaml" --gpus 8 -- --model qwen3-0.6b $tune --lora 8 --qlora --optimizer adam-8bit --recompute ops --cross-entropy chunked --fusion hf --reshard-after-forward no
sed 's/^dtype.*/dtype: fp32\ntensor_parallel_dim: 2\ndata_parallel_shard_dim: 2\ndata_parallel_replicate_dim: 2\nfsdp_cpu_offload: True/; s/^loss:/optimizer_in_bwd: True\nloss:/' $data/torchtune.yaml >"$dir/wide.yaml"
same torchtune_wide "$dir/wide.yaml" --gpus 8 -- --model llama3.1-8b --seq 4096 --micro-batch 2 --micro-batches 4 --dtype fp32 --use-torch-fsdp2 --gpus 8 --software pytorch-eager --tp 2 --shard-group 2 \
    --offload-optimizer 1 --overlap-offload yes --offload-params --optimizer adam --recompute full --cross-entropy chunked --fusion megatron
sed 's/data_parallel_shard_dim: 2/data_parallel_shard_dim: -1/' "$dir/wide.yaml" >"$dir/left.yaml"
same torchtune_copies "$dir/left.yaml" --gpus 8 -- --megatron-args "$dir/wide.yaml" --gpus 8
noted torchtune_update_in_backward 'optimizer_in_bwd True changes the step' "$S" run "$dir/wide.yaml" --gpus 8 --ignore-memory
sed 's/^dtype.*/dtype: bf16\nenable_fp8_training: True\nfp8_recipe_name: rowwise/' $data/torchtune.yaml >"$dir/fp8.yaml"
same torchtune_fp8 "$dir/fp8.yaml" --gpus 8 -- --model llama3.1-8b $tune --optimizer adam --recompute full --cross-entropy chunked --fusion megatron --fp8 --fp8-scaling dynamic --fp8-recipe rowwise
for named in phi4.phi4_14b=phi4 llama3_3.llama3_3_70b=llama3.3-70b qwen2_5.qwen2_5_0_5b=qwen2.5-0.5b gemma2.lora_gemma2_27b=gemma2-27b llama3_2.llama3_2_1b=llama3.2-1b mistral.mistral_7b=mistral-7b; do
    sed "s/llama3_1.llama3_1_8b/${named%%=*}/" $data/torchtune.yaml >"$dir/named.yaml"
    got=$("$S" run "$dir/named.yaml" --gpus 8 --ignore-memory --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["model"]["name"])')
    if [ "$got" = "${named#*=}" ]; then echo "ok torchtune ${named#*=}"; else echo "not ok torchtune ${named%%=*}: $got"; fi
done
sed 's/llama3_1.llama3_1_8b/llama3_2_vision.llama3_2_vision_11b/' $data/torchtune.yaml >"$dir/vision.yaml"
refuse torchtune_vision 3 'llama3_2_vision_11b is no model that is known' "$S" run "$dir/vision.yaml" --gpus 8
sed '/llama3_1.llama3_1_8b/d; s/^model:/model: {max_seq_len: 1}/' $data/torchtune.yaml >"$dir/unnamed.yaml"
refuse torchtune_no_model 3 'no _component_ names the model' "$S" run "$dir/unnamed.yaml" --gpus 8
same torchtune_other_model "$dir/unnamed.yaml" --gpus 8 --model qwen3-8b -- --model qwen3-8b $tune --optimizer adam --recompute full --cross-entropy chunked --fusion megatron
sed '/^optimizer/,/fused/d' $data/torchtune.yaml >"$dir/generation.yaml"
refuse torchtune_generation 3 'does not train' "$S" run "$dir/generation.yaml" --gpus 8
for wrong in 's/^batch_size.*/batch_size: many/' 's/^batch_size.*/batch_size: 0/' 's/max_seq_len.*/max_seq_len: -1/' 's/^gradient_acc.*/gradient_accumulation_steps: [1]/' "s/llama3_1_8b/lora_llama3_1_8b\n  lora_attn_modules: ['w1']/"; do
    sed "$wrong" $data/torchtune.yaml >"$dir/wrong.yaml"
    "$S" run "$dir/wrong.yaml" --gpus 8 >/dev/null 2>"$dir/err"
    case $?:$(head -1 "$dir/err") in [23]:*error:*) echo "ok torchtune $(echo "$wrong" | head -1)" ;; *) echo "not ok torchtune $wrong" ;; esac
done
# Primus' files say whose keys they hold, and name the model
printf 'modules:\n  pre_trainer:\n    framework: maxtext\n    model: llama3_8B.yaml\n    overrides:\n      max_target_length: 4096\n      per_device_batch_size: 2\n      remat_policy: full\n      quantization: "nanoo_fp8"\n' >"$dir/primus.yaml"
same primus_maxtext "$dir/primus.yaml" --gpus 8 -- --model llama3-8b --seq 4096 --micro-batch 2 --recompute full --zero 3 --fp8 --gpus 8 --software maxtext
printf 'modules:\n  pre_trainer:\n    framework: torchtitan\n    model: llama3.1_8B.yaml\n    overrides:\n      training: {seq_len: 4096, local_batch_size: 2}\n      parallelism: {tensor_parallel_degree: 1}\n      activation_checkpoint: {mode: full}\n      compile: {enable: true}\n' >"$dir/primus.yaml"
same primus_torchtitan "$dir/primus.yaml" --gpus 8 -- --model llama3.1-8b --seq 4096 --micro-batch 2 --recompute full --use-torch-fsdp2 --gpus 8 --software torchtitan-2026
printf 'modules:\n  post_trainer:\n    framework: megatron_bridge\n    model: ${PRIMUS_MODEL:qwen3_30B_A3B}.yaml\n    overrides:\n      micro_batch_size: 1\n      global_batch_size: 32\n      seq_length: 2048\n      tensor_model_parallel_size: 1\n      expert_model_parallel_size: 4\n' >"$dir/primus.yaml"
same primus_post_trainer "$dir/primus.yaml" --gpus 8 -- --model qwen3-30b-a3b --seq 2048 --micro-batch 1 --global-batch 32 --ep 4 --gpus 8 --overlap-grad no
sed 's/\(  *\)micro_batch_size: 1/&\n\1use_lora: false\n\1lora_rank: 16/' "$dir/primus.yaml" >"$dir/off.yaml"
same primus_lora_off "$dir/off.yaml" --gpus 8 -- --megatron-args "$dir/primus.yaml" --gpus 8
sed 's/use_lora: false/use_lora: true/' "$dir/off.yaml" >"$dir/on.yaml"
same primus_lora_on "$dir/on.yaml" --gpus 8 -- --megatron-args "$dir/primus.yaml" --gpus 8 --lora 16
# a tokenizer's type says the vocabulary in YAML, too
printf 'num_layers: 8\nhidden_size: 1024\nnum_attention_heads: 16\nseq_length: 1024\nbf16: true\n' >"$dir/sizes.yaml"
{ cat "$dir/sizes.yaml"; echo 'tokenizer_type: Llama3Tokenizer'; } >"$dir/tokens.yaml"
same tokenizer_of_yaml "$dir/tokens.yaml" -- --megatron-args "$dir/sizes.yaml" --vocab-size 128256
# OLMo's sections have a precision of their own, and OLMo 2 norms of queries and keys; TRL's trainers on answers say how long those are
sed 's/^fsdp:.*/fsdp: {wrapping_strategy: by_block, precision: mixed}/; s/activation_type: swiglu/activation_type: swiglu, attention_layer_norm: true, layer_norm_type: rms/' "$dir/olmo.yaml" >"$dir/olmo2.yaml"
olmo="--num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 --num-attention-heads 32 --padded-vocab-size 50304 --untie-embeddings-and-output-weights --disable-bias-linear --position-embedding-type rope --swiglu"
olmo="$olmo --seq 2048 --micro-batch 2 --global-batch 64 --use-torch-fsdp2 --bf16 --gpus 8 --software fsdp-eager"
same olmo2 "$dir/olmo2.yaml" --gpus 8 -- $olmo --normalization RMSNorm --qk-layernorm
# one block in so many is computed again, the first of each (should_checkpoint_block of olmo/model.py): of 32 the 0th, 3rd … 30th are 11
for share in "one_in_two 16" "one_in_three 11" "two_in_three 21" "three_in_four 24"; do
    { cat "$dir/olmo2.yaml"; echo "activation_checkpointing: ${share% *}"; } >"$dir/olmo3.yaml"
    same olmo_${share% *} "$dir/olmo3.yaml" --gpus 8 -- $olmo --normalization RMSNorm --qk-layernorm --recompute full --recompute-method block --recompute-layers ${share#* }
done
sed 's/layer_norm_type: rms/layer_norm_type: default/' "$dir/olmo2.yaml" >"$dir/olmo1.yaml"
same olmo_other_norm "$dir/olmo1.yaml" --gpus 8 -- $olmo --normalization LayerNorm --qk-layernorm
printf "${trainer}max_prompt_length: 512\nmax_completion_length: 1024\nnum_generations: 8\n" >"$dir/grpo.yaml"
same answers "$dir/grpo.yaml" --gpus 8 -- $(echo "$hf" | sed 's/--seq 1024/--seq 1536/') --update amp --software hf-transformers
noted answers_are_said 'trains on answers to prompts' "$S" run "$dir/grpo.yaml" --gpus 8 --ignore-memory
# a model that is no preset is named where it stands; --model, or a folder with its config.json, does
printf 'base_model: acme/Anvil-7B-v3\nsequence_len: 1024\nmicro_batch_size: 1\n' >"$dir/anvil.yaml"
refuse a_model_that_is_no_preset 3 'anvil.yaml:1: error: base_model: the model acme/Anvil-7B-v3 is not known' "$S" run "$dir/anvil.yaml" --gpus 8
mkdir "$dir/anvil" && cp data/models/llama3-8b.json "$dir/anvil/config.json"
sed "s|acme/Anvil-7B-v3|$dir/anvil|" "$dir/anvil.yaml" >"$dir/folder.yaml"
same a_model_in_a_folder "$dir/folder.yaml" --gpus 8 -- --model llama3-8b --seq 1024 --micro-batch 1 --gpus 8 --software hf-transformers
same a_model_of_the_command_line "$dir/anvil.yaml" --gpus 8 --model llama3-8b -- --model llama3-8b --seq 1024 --micro-batch 1 --gpus 8 --software hf-transformers
sed 's/remat_policy: full/remat_policy: save_qkv_proj/' "$dir/named.yml" >"$dir/policy.yml"
noted maxtext_policy 'remat_policy save_qkv_proj is counted as --recompute selective' "$S" run "$dir/policy.yml" --gpus 8 --ignore-memory
# a configuration is written in another format as run takes it, without --lowered
"$S" convert $data/neox.yml --gpus 96 --to ir-json -o "$dir/neox.json" >/dev/null 2>&1
step() { "$S" run "$@" --json - 2>/dev/null | sed -n 's/.*"step_time_us": \([0-9.]*\),*/\1/p'; }
written=$(step "$dir/neox.json")
if [ -n "$written" ] && [ "$written" = "$(step $data/neox.yml --gpus 96)" ]; then echo "ok converted"; else echo "not ok converted: '$written'"; fi

# Megatron's flags with underscores, switches with values, and Megatron-SWIFT's own words: each
# means what Megatron's flags say
plain='torchrun --nproc_per_node 8 pretrain_gpt.py --model qwen3-30b-a3b --tensor-model-parallel-size 2 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1 --sequence-parallel --bf16'
echo "$plain --seq 2048 --micro-batch-size 2 --global-batch-size 16 --recompute-granularity full --use-distributed-optimizer --lora 8 --lora-targets all --dropout" >"$dir/plain.sh"
swift='--tensor_model_parallel_size 2 --expert_model_parallel_size 8 --expert_tensor_parallel_size=1 --sequence_parallel true --moe_permute_fusion true --max_length 2048 --micro_batch_size 2'
echo "NPROC_PER_NODE=8 megatron sft --load /data/Qwen3-30B-A3B-mcore $swift --tuner_type lora --lora_rank 8 --target_modules all-linear --recompute_granularity full --overlap_grad_reduce false --packing true" >"$dir/swift.sh"
same megatron_swift "$dir/swift.sh" -- --megatron-args "$dir/plain.sh"
# trained as a whole, with the values of ms-swift where nothing is said, on two nodes
echo "$plain --seq 2048 --micro-batch-size 2 --global-batch-size 16 --recompute-granularity selective --use-distributed-optimizer --no-dropout --nnodes 2" >"$dir/plain.sh"
echo "NNODES=2 NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-30B-A3B $swift --lora_rank 8" >"$dir/swift.sh"
same megatron_swift_whole "$dir/swift.sh" -- --megatron-args "$dir/plain.sh" --gpus 16
sed 's/--sequence_parallel true/--sequence_parallel False/' "$dir/swift.sh" >"$dir/off.sh"
sed 's/--sequence-parallel//' "$dir/plain.sh" >"$dir/plain_off.sh"
same switched_off "$dir/off.sh" -- --megatron-args "$dir/plain_off.sh" --gpus 16
echo "torchrun --nproc_per_node 8 finetune.py --num_layers 4 --hidden_size 512 --num_attention_heads 8 --num_attention_heads_kv 2 --use_rms_norm --glu_activation swiglu --no_tie_embed_logits --position_embedding_type rotary --vocab_size 32000 --seq_length 2048 --bf16 --micro_batch_size 1 --global_batch_size 16 --hidden_dropout 0.0 --attention_dropout 0.0" >"$dir/llm.sh"
echo "torchrun --nproc_per_node 8 finetune.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 --group-query-attention --num-query-groups 2 --normalization RMSNorm --swiglu --untie-embeddings-and-output-weights --position-embedding-type rope --vocab-size 32000 --seq-length 2048 --bf16 --micro-batch-size 1 --global-batch-size 16 --no-dropout" >"$dir/plain.sh"
same megatron_llm "$dir/llm.sh" -- --megatron-args "$dir/plain.sh"
refuse underscored_line 3 'many.sh:1: error: --num-layers has no value: $MANY is not set' sh -c 'echo "torchrun x.py --num_layers \$MANY --hidden_size 512" >"$1" && "$0" run "$1"' "$S" "$dir/many.sh"
# devices that are visible are those that these launchers take
for launcher in "accelerate launch train.py" "deepspeed train.py" "llamafactory-cli train"; do
    echo "CUDA_VISIBLE_DEVICES=0,1,2,3 $launcher --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 --max_length 2048 --bf16 --deepspeed z3.json" >"$dir/visible.sh"
    "$S" run "$dir/visible.sh" --ignore-memory >"$dir/out" 2>"$dir/err"
    if grep -q '^4 GPUs' "$dir/out"; then echo "ok visible_${launcher%% *}"; else
        echo "not ok visible_${launcher%% *}"
        cat "$dir/err" "$dir/out"
    fi
done

# what scripts of trainers say in words of their own: four bits, FSDP on the host, lengths, a
# folder with the name of a model; what is not known and by its name counts is said or refused
trainer() { echo "torchrun --nproc_per_node 4 train.py --per_device_train_batch_size 2 --gradient_accumulation_steps 4 --gradient_checkpointing True --bf16 True $*" >"$dir/words.sh"; }
meant="--model llama2-7b --gpus 4 --seq 2048 --micro-batch 2 --micro-batches 4 --recompute full"
adapters="--lora 16 --lora-targets q_proj,v_proj --lora-autocast --software hf-transformers --overlap-grad yes"
for four in "--qlora True" "--q_lora True" "--use_4bit True" "--bits 4" "--load_in_4bit"; do
    trainer --model_name_or_path /models/Llama-2-7b-hf/ --block_size 2048 --lora_r 16 "$four"
    same "four_bits_${four%% *}" "$dir/words.sh" -- $meant $adapters --qlora
done
trainer --model_name_or_path meta-llama/Llama-2-7b-hf --model_max_length 2048 --use_lora --lora_r 16
same says_use_lora "$dir/words.sh" -- $meant $adapters
trainer --model_name_or_path '~/models/Llama-2-7b-hf' --model_max_length 2048 '--fsdp "full_shard auto_wrap offload"'
same fsdp_on_the_host "$dir/words.sh" -- $meant --use-torch-fsdp2 --offload-optimizer 1 --overlap-offload yes --offload-params --software fsdp-eager
trainer --model_name_or_path meta-llama/Llama-2-7b-hf --model_max_length 2048 --sequence_parallel_size 2 --deepspeed z3.json
same sequence_parallel_size "$dir/words.sh" -- $meant --zero 3 --cp 2 --software deepspeed
trainer --model_name_or_path meta-llama/Llama-2-7b-hf --model_max_length 2048 --pipeline_parallel_size 2
refuse degree_not_known 3 'words.sh:1: error: pipeline_parallel_size 2: by its name it is a degree of parallelism' "$S" run "$dir/words.sh"
trainer --model_name_or_path meta-llama/Llama-2-7b-hf --model_max_length 2048 --my_offload 3
"$S" run "$dir/words.sh" --ignore-memory >"$dir/out" 2>&1
grep -q 'my_offload 3 is not known and counts for nothing' "$dir/out" && echo "ok unread_is_said" || echo "not ok unread_is_said"
# who says a thing twice, as examples of Axolotl do, is not told that one of them counts for nothing
printf '%s\n' "base_model: meta-llama/Meta-Llama-3-8B" "sequence_len: 4096" "micro_batch_size: 1" "bf16: true" "adapter: qlora" "load_in_4bit: true" "lora_r: 16" \
    "fsdp: [full_shard, offload]" "fsdp_config:" "  fsdp_offload_params: true" "  cpu_offload: true" >"$dir/twice.yaml"
"$S" run "$dir/twice.yaml" --gpus 8 --ignore-memory >"$dir/out" && ! grep -q 'counts for nothing' "$dir/out" && echo "ok said_twice" || echo "not ok said_twice"
printf 'base_model: meta-llama/Llama-2-7b-hf\nsequence_len: 2048\nsample_packing: true\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\ngradient_checkpointing: true\nbf16: true\ndp_shard_size: 4\nfsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\n' >"$dir/shards.yaml"
same dp_shard_size "$dir/shards.yaml" -- $meant --use-torch-fsdp2 --software fsdp-eager
# pieces of a local batch that the programs themselves refuse (build_pipeline_schedule of torchtitan and Automodel)
printf '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 5\nseq_len = 4096\n[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_microbatch_size = 2\n' >"$dir/pieces.toml"
refuse pieces_of_a_batch 3 'a local batch of 5 does not go through the pipeline in pieces of 2' "$S" run "$dir/pieces.toml" --gpus 8 --ignore-memory
same pieces_otherwise "$dir/pieces.toml" --gpus 8 --micro-batch 1 --micro-batches 5 -- --model llama3-8b --gpus 8 --pp 2 --seq 4096 --micro-batch 1 --micro-batches 5 --use-torch-fsdp2 \
    --recompute ops --fusion hf --cross-entropy fp32 --software torchtitan-2026
# accelerate's launcher runs trainers, not Megatron
echo 'accelerate launch --num_processes 4 train.py --max_length 2048 --use_lora --lora_r 16 --accumulation_steps 6' >"$dir/own.sh"
same accelerate_runs_trainers "$dir/own.sh" --model llama2-7b -- --model llama2-7b --gpus 4 --seq 2048 --lora 16 --lora-targets q_proj,v_proj --micro-batches 6 --software hf-transformers
# whole models that are loaded in 16 bits are updated in them, without a word about bf16
echo 'NPROC_PER_NODE=4 swift sft --model meta-llama/Llama-2-7b-hf --tuner_type full --torch_dtype bfloat16 --max_length 2048 --per_device_train_batch_size 2 --gradient_accumulation_steps 4 --gradient_checkpointing true' >"$dir/swift.sh"
same loaded_in_bf16 "$dir/swift.sh" -- $meant --update plain --software hf-transformers
# msrun's words for the world
echo "msrun --worker_num 32 --local_worker_num 8 pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512 --tensor-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 32 --bf16" >"$dir/msrun.sh"
"$S" run "$dir/msrun.sh" >"$dir/out" 2>&1
grep -q '^32 GPUs: tp 2 · pp 1 · dp 16' "$dir/out" && echo "ok msrun" || echo "not ok msrun"
printf 'model:\n  model_path: x\n  lora_rank: 64\ntrain:\n  batch_size: 512\ndeepspeed:\n  zero_optimization:\n    stage: 2\n' >"$dir/trlx.yml"
refuse zero_in_a_section 3 'no configuration that we know' "$S" run "$dir/trlx.yml" --model llama2-7b
# errors of sizes of a model name the line and the column of the value, in YAML and with flags as keys
printf 'model:\n  num_layers: x7\n  hidden_size: 512\n  num_attention_heads: 8\n  seq_length: 512\n' >"$dir/size.yaml"
refuse size_has_a_place 3 "size.yaml:2:15: error: --num-layers takes a whole number from 1 on, not 'x7'" "$S" run "$dir/size.yaml"
refuse size_of_the_command_line 2 "error: --num-layers takes a whole number from 1 on, not 'y'" "$S" run "$dir/size.yaml" --num-layers y
printf 'MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 512\n  --num-attention-heads: 8\n  --normalization: none\n' >"$dir/flag.yaml"
refuse word_has_a_place 3 "flag.yaml:5:20: error: --normalization: unknown 'none'" "$S" run "$dir/flag.yaml"
