#!/bin/sh
# Rows that were once read as something else: GPUs, names, types and words of published tables.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
header='id,source,model,params_b,layers,hidden,heads,kv_heads,ffn,vocab,seq,gpu,gpus,gpus_per_node,intra_gbs_uni,nic_gbps_per_gpu,tp,pp,dp,ep,cp,vpp,micro_batch,global_batch,precision,recompute,sequence_parallel,zero_distopt,quantity,value,confidence,iter_seconds,iter_conf,notes'
# row SOURCE MODEL DIMS(layers,hidden,heads,kv,ffn,vocab) GPU GPUS TP PP EP PRECISION RECOMPUTE ZERO QUANTITY VALUE SECONDS NOTES
row() {
    printf '%s\nr,%s,%s,,%s,2048,%s,%s,8,,,%s,%s,,%s,1,,1,%s,%s,%s,no,%s,%s,%s,,%s,,%s\n' "$header" \
        "$1" "$2" "$3" "$4" "$5" "$6" "$7" "$8" "$5" "$9" "${10}" "${11}" "${12}" "${13}" "${14}" "${15}" >"$tmp/row.csv"
}
llama7=32,4096,32,32,11008,32000
none=,,,,,
validate() { "$STEPCAST" validate "$tmp/row.csv" --json "$tmp/row.json" "$@"; }
command_of() { python3 -S -c 'import json,sys; r=json.load(open(sys.argv[1]))["rows"][0]; print(r["command"] or r["skipped"])' "$tmp/row.json"; }
has() { # name, text wanted in the command
    validate >/dev/null 2>"$tmp/err"
    if command_of | grep -qF -- "$2"; then echo "ok $1"; else echo "not ok $1: $(command_of)"; fi
}
# the row is simulated, not only read
runs() {
    validate >/dev/null 2>"$tmp/err"
    check "$1_runs" "$(python3 -S -c 'import json,sys; r=json.load(open(sys.argv[1]))["rows"][0]; print(r["skipped"], r["predicted_s"] > 0)' "$tmp/row.json" 2>&1)" "None True"
}
lacks() {
    validate >/dev/null 2>"$tmp/err"
    # a command, and without it
    if [ -n "$(command_of)" ] && ! command_of | grep -qF -- "$2"; then echo "ok $1"; else echo "not ok $1: $(command_of)"; fi
}

row "NeMo" "LLAMA3_70B" $none GB200 72 1 1 "" bf16 none dist-opt "iteration seconds" "" 10 ""
has nvl72_all_of_it "node=72"
runs nvl72_all_of_it
row "NeMo" "LLAMA3_70B" $none GB200 64 1 1 "" bf16 none dist-opt "iteration seconds" "" 10 ""
has nvl72_part_of_it "gb200-nvl72:64"
row "x" "Grok-1" $none H100 64 1 1 8 bf16 full dist-opt "iteration seconds" "" 10 ""
has grok "--model grok-1"
runs grok
row "Megatron-LM v2.5" "GPT 1.5B" 24,2048,16,16,8192,51200 V100 8 1 1 "" fp16 full no "iteration seconds" "" 10 ""
has v100 "--gpu v100"
runs v100
row "HuggingFace transformers" "LLAMA2-7B" $none A100 8 1 1 "" bf16 full "FSDP" "iteration seconds" "" 10 ""
has any_case "--model llama2-7b"
runs any_case
row "HuggingFace transformers" "LLAMA 7B" $llama7 A100 8 1 1 "" bf16 full "FSDP" "iteration seconds" "" 10 ""
has family_in_any_case "--swiglu"
row "x" "Mamba 2.8B" $llama7 A100 8 1 1 "" bf16 full "FSDP" "iteration seconds" "" 10 ""
has family_unknown 'the family of the model "Mamba 2.8B" is not known'
row "x" "Llama 7B" $llama7 A100 8 1 1 "" fp32 full "FSDP" "iteration seconds" "" 10 ""
has fp32 "--dtype fp32"
runs fp32
row "x" "Llama 7B" $llama7 A100 8 1 1 "" tf32 full "FSDP" "iteration seconds" "" 10 ""
has tf32 "--dtype tf32"
row "x" "Llama 7B" $llama7 A100 8 1 1 "" "bf17" full "FSDP" "iteration seconds" "" 10 ""
has precision_unknown "precision: 'bf17' is not understood"
row "x" "Llama 7B" $llama7 A100 8 1 1 "" bf16 "full (assumed)" "FSDP" "iteration seconds" "" 10 ""
has assumed "--recompute full"
row "x" "Llama 7B" $llama7 A100 8 1 1 "" bf16 "selective layer (every second)" "FSDP" "iteration seconds" "" 10 ""
has every_second "--recompute-layers 16"
row "x" "Llama 7B" $llama7 A100 8 1 1 "" bf16 "sometimes" "FSDP" "iteration seconds" "" 10 ""
has recompute_unknown "recompute: 'sometimes' is not understood"
row "x" "Llama 7B" $llama7 A100 8 1 1 "" bf16 none "ZeRO-9" "iteration seconds" "" 10 ""
has zero_unknown "zero_distopt: 'ZeRO-9' is not understood"
row "NeMo Framework" "Llama 7B" $llama7 H100 8 2 1 "" bf16 none dist-opt "iteration seconds" "" 10 "LoRA"
has lora "--lora 32"
row "x (2022-12)" "Llama 7B" $llama7 A100 8 1 1 "" bf16 none dist-opt "iteration seconds" "" 10 "FlashAttention 1; fused norm"
has flash_attention_of_2022 "--attention flash1"
row "x" "Llama 7B" $llama7 H100 1 1 1 "" bf16 none "" "iteration seconds" "" 10 "huggingface transformers; AdamW on weights in bf16"
has all_in_bf16 "--update plain"
row "megatron" "Llama 7B" $llama7 H100 8 2 1 "" bf16 none dist-opt "iteration seconds" "" 10 "tp-comm-overlap"
has tp_comm_overlap "--overlap-tp chunks"
row "x" "DeepSeekV3 (w/o MTP)" $none H100 64 1 1 64 bf16 full dist-opt "iteration seconds" "" 10 ""
has without_mtp "--mtp-num-layers 0"
row "x" "DeepSeekV3" $none H100 64 1 1 64 bf16 full dist-opt "iteration seconds" "" 10 ""
lacks with_mtp "--mtp-num-layers"
# software that nobody names: by the month, or the paper's, while most was Megatron; or by other cells
row "somebody (2021-06)" "GPT 1.5B" 24,2048,16,16,8192,51200 A100 8 1 1 "" fp16 full no "iteration seconds" "" 10 ""
has software_of_month "--software megatron-2021"
row "somebody (arXiv 2207.12345)" "GPT 1.5B" 24,2048,16,16,8192,51200 A100 8 1 1 "" fp16 full no "iteration seconds" "" 10 ""
has software_of_paper "--software megatron-2022"
row "somebody 2207.12345" "GPT 1.5B" 24,2048,16,16,8192,51200 H100 8 1 1 "" fp16 full no "iteration seconds" "" 10 ""
lacks software_of_a_number "--software"
row "somebody (2023-07)" "GPT 1.5B" 24,2048,16,16,8192,51200 A100 8 1 1 "" fp16 full no "iteration seconds" "" 10 ""
lacks software_later "--software"
row "torchtitan (2021-06)" "Llama 7B" $llama7 H100 8 1 1 "" bf16 full "FSDP2" "iteration seconds" "" 10 ""
has software_named_first "--software torchtitan-2024"
row "somebody" "Llama 7B" $llama7 H100 8 1 1 "" bf16 full "FSDP2" "iteration seconds" "" 10 ""
has software_of_fsdp2 "--software fsdp2-automodel"
row "somebody" "GPT 1.5B" 24,2048,16,16,8192,51200 V100 8 1 1 "" fp16 full no "iteration seconds" "" 10 ""
has software_of_v100 "--software megatron-2020"
row "some MLPerf training v4.0 log" "Llama 7B" $llama7 H100 8 2 1 "" bf16 none dist-opt "iteration seconds" "" 10 ""
has software_by_text "--software mlperf-v4"

# nothing dates the row: the years of its GPU, or of its model where that is younger
gpt=24,2048,16,16,8192,51200
row "NVIDIA Megatron-LM" "GPT 1.5B" $gpt V100 8 2 1 "" fp16 full no "iteration seconds" "" 10 ""
has years_of_v100 "--software megatron-2020"
row "NVIDIA Megatron-LM" "GPT 1.5B" $gpt A100 8 2 1 "" fp16 full no "iteration seconds" "" 10 ""
has years_of_a100 "--software megatron-2022"
row "NVIDIA Megatron-LM" "Llama 7B" $llama7 A100 8 2 1 "" bf16 full no "iteration seconds" "" 10 ""
has years_of_a_model "--software megatron-core-2024"
row "NVIDIA Megatron-LM (2021-06)" "Llama 7B" $llama7 H100 8 2 1 "" bf16 full no "iteration seconds" "" 10 ""
has a_date_goes_before_years "--software megatron-2021"
row "somebody" "GPT 1.5B" $gpt A100 8 1 1 "" bf16 full FSDP "iteration seconds" "" 10 ""
has years_after_other_cells "--software fsdp-eager"
row "NVIDIA-NeMo/Megatron-Bridge pull request (nemo:26.06.rc7)" "LLAMA3_70B" $none GB200 64 1 1 "" bf16 none dist-opt "iteration seconds" "" 10 ""
has release_of_bridge "--software bridge-26.06"
row "NVIDIA/dgxc-benchmarking v25.06" "LLAMA3_70B" $none B200 64 1 1 "" bf16 none dist-opt "iteration seconds" "" 10 ""
has release_between_two "--software nemo-25.04"
# a compiler fuses what plain PyTorch does not, and is not on by itself
row "somebody" "Llama 7B" $llama7 H100 8 1 1 "" bf16 full FSDP "iteration seconds" "" 10 "torch.compile"
has compiled "--software fsdp1"
row "torchtune" "Llama 7B" $llama7 H100 8 1 1 "" bf16 full no "iteration seconds" "" 10 "with compile"
has compiled_by_its_notes "--fusion megatron"
row "a fork of torchtitan" "Llama 7B" $llama7 H100 8 1 1 "" bf16 full FSDP2 "iteration seconds" "" 10 "eager"
has eager_by_its_notes "--fusion hf"
row "somebody" "Llama 7B" $llama7 A100 8 1 1 "" bf16 none FSDP "iteration seconds" "" 10 '"fused norm, SwiGLU, rotary and cross entropy"'
has fused_by_hand "--fusion megatron --cross-entropy flash"
row "fms-fsdp" "Llama 7B" $llama7 H100 8 1 1 "" bf16 full FSDP "iteration seconds" "" 10 "no compile"
has not_compiled "--fusion megatron --fusion hf" # the last one holds
row "torchtitan" "DeepSeek-V3-16B" $none B200 8 1 1 8 bf16 full FSDP2 "iteration seconds" "" 10 "the loss alone is compiled"
has loss_alone_is_compiled "--fusion hf --cross-entropy flash"
row "somebody" "Llama 7B" $llama7 B200 1 1 1 "" bf16 none "" "iteration seconds" "" 10 "AdamW with weights and moments in bf16"
has moments_in_bf16 "--update plain"
# a size in a name is the preset's, or it is another model
row "x" "DeepSeek-V3 671B" $none H100 64 1 1 64 bf16 full dist-opt "iteration seconds" "" 10 ""
has size_of_the_preset "--model deepseek-v3 "
row "x" "DeepSeek-V3 236B" $none H100 64 1 1 64 bf16 full dist-opt "iteration seconds" "" 10 ""
has size_of_another 'the model "DeepSeek-V3 236B" is not known'
row "torchtitan" "DeepSeek-V3-16B" $none H100 8 1 1 8 bf16 full FSDP2 "iteration seconds" "" 10 ""
has small_deepseek "--model deepseek-v2-lite"
# it ran, so it fitted: 16 layers of 2 · 2048 · 1536 · (34 + 5 · 16 · 2048 / 1536) bytes (arXiv 2205.05198) and 9 GB of
# state are 24 GB of 16; without attention's square, and repeated, they are 10
small=16,1536,16,16,6144,51200
two() { sed -i '2s/,1,,1,8,/,1,,2,16,/' "$tmp/row.csv"; }
row "NVIDIA Megatron-LM" "GPT 0.5B" $small V100-16GB 8 1 1 "" fp16 "" no "iteration seconds" "" 10 "" && two
has recomputes_to_fit "--recompute full"
row "NVIDIA Megatron-LM" "GPT 0.5B" $small V100-16GB 8 1 1 "" fp16 none no "iteration seconds" "" 10 "" && two
lacks recomputes_as_said "--recompute full"
row "NVIDIA Megatron-LM" "GPT 0.5B" $small V100 8 1 1 "" fp16 "" no "iteration seconds" "" 10 "" && two
lacks fits_without "--recompute"
# Megatron of today repeats modules or some layers before all of them
row "NVIDIA Megatron-LM" "LLAMA3_70B" $none H100 64 4 4 "" bf16 "" dist-opt "iteration seconds" "" 10 ""
sed -i "2s/,2048,H100/,8192,H100/; 2s/,no,dist-opt/,yes,dist-opt/; 2s/,1,,1,64,bf16/,1,,2,64,bf16/" "$tmp/row.csv"
has recomputes_in_parts "--recompute full --recompute-method block"
# a GPU's share of the network, of which a DGX-1 has four NICs for eight GPUs: 8 · 12.5 = 4 · 25
row "x" "GPT 1.5B" $gpt V100 16 1 1 "" fp16 full no "iteration seconds" "" 10 ""
sed -i '2s/,V100,16,8,,,/,V100,16,8,,12.5,/' "$tmp/row.csv"
has share_of_a_nic "nic=25Gbps"
row "x" "GPT 1.5B" $gpt A100 16 1 1 "" fp16 full no "iteration seconds" "" 10 ""
sed -i '2s/,A100,16,8,,,/,A100,16,8,,12.5,/' "$tmp/row.csv"
has share_is_the_nic "nic=12.5Gbps"
# an A800 has two thirds of an A100's NVLink (400 GB/s of 600 in both directions), unless the row says otherwise
row "x" "GPT 1.5B" $gpt "A800-SXM-80GB" 8 2 1 "" bf16 full no "iteration seconds" "" 10 ""
has links_of_a800 "dgx-a100:8 nvlink=200GB/s"
row "x" "Llama 7B" $llama7 "GH200" 16 1 1 "" bf16 full no "iteration seconds" "" 10 ""
has network_of_gh200 "nic=200Gbps"
# it ran, so what it shards is the least that fits: 70 · 16 bytes of state and more are no A100's; weights alone are 140 GB
row "HuggingFace transformers" "LLAMA2_70B" $none A100 32 1 1 "" bf16 "" "" "iteration seconds" "" 10 ""
sed -i '2s/,32,8,,,1,1,,/,32,8,,,1,1,32,/' "$tmp/row.csv"
has shards_to_fit "--zero 3"
expect memory_of_shards 0 "1 forecast: 0 called otherwise, 1 undecided" "$STEPCAST" validate "$tmp/row.csv" --memory
row "HuggingFace transformers" "LLAMA2_7B" $none A100 32 1 1 "" bf16 full "" "iteration seconds" "" 10 ""
sed -i '2s/,32,8,,,1,1,,/,32,8,,,1,1,32,/' "$tmp/row.csv"
# … and 7 · 8 bytes of plain PyTorch, which has no fp32 copies beside a whole model, are
lacks whole_on_every_gpu "--zero"
row "HuggingFace transformers" "LLAMA2_70B" $none A100 32 1 1 "" bf16 full no "iteration seconds" "" 10 ""
lacks shards_as_said "--zero 3"
# fine-tuning stacks checkpoint by default; NeMo's documents are not Automodel's
row "LLaMA-Factory" "Llama 7B" $llama7 A100 8 1 1 "" bf16 "" no "iteration seconds" "" 10 ""
has tuning "--software hf-tuning"
row "NVIDIA-NeMo/Automodel" "Llama 7B" $llama7 H100 8 2 1 "" bf16 none "" "iteration seconds" "" 10 "LoRA"
lacks whole_sequences "--window-size"
row "NVIDIA NeMo Framework" "Llama 7B" $llama7 H100 8 2 1 "" bf16 none dist-opt "iteration seconds" "" 10 "LoRA"
has packed_documents_of_the_framework "--window-size 100,0"
# what `run` assumes where nobody names the software
row "NeMo 24.07" "Llama 7B" $llama7 H100 8 2 1 "" bf16 full dist-opt "iteration seconds" "" 10 ""
validate --assumed-software >/dev/null 2>"$tmp/err"
check assumed_software "$(command_of | grep -c -- --tp) $(command_of | grep -c -- --software)" "1 0"
expect assumed_or_nearest 2 "contradicts --assumed-software" "$STEPCAST" validate "$tmp/row.csv" --assumed-software --nearest-software
expect assumed_or_named 2 "contradicts --assumed-software" "$STEPCAST" validate "$tmp/row.csv" --assumed-software --software nemo-24.07

# tables of other stacks: their words for the same things, in one row each
other() { # name, source, model, GPU, precision, recompute, zero, text wanted in the command
    row "$2" "$3" $llama7 "$4" 8 1 1 "" "$5" "$6" "$7" "iteration seconds" "" 10 ""
    has "other $1" "$8"
}
other foundry "LLM Foundry of Databricks" "Llama 2 7B" H100 amp_bf16 yes FULL_SHARD "--software llm-foundry-2023 --dtype bf16 --recompute full --zero 3"
other colossal "hpcaitech/ColossalAI README 2023-09" "LLaMA 7B" A100 bf16 "gradient checkpointing" "ZeRO-2 (Gemini)" "--software deepspeed --dtype bf16 --recompute full --zero 2"
other maxtext "MaxText README" "Llama2 7B" H100 bf16 minimal fsdp "--software maxtext --dtype bf16 --recompute selective --recompute-modules core_attn,norm,act --zero 3"
other easylm "EasyLM" "OpenLLaMA 7B" A100 bf16 nothing_saveable "FSDP (JAX)" "--software maxtext --dtype bf16 --recompute full --zero 3"
other accelerate "huggingface/accelerate" "Llama 2 7B" A100 "bf16 mixed" gradient_checkpointing FULL_SHARD "--software fsdp-eager --dtype bf16 --recompute full"
other chat "DeepSpeed-Chat" "OPT-6.7B" A100 fp16 True "ZeRO stage 3" "--software deepspeed --dtype fp16 --recompute full --zero 3"
other mlcommons "MLCommons Training 3.1" "GPT 7B" H100 FP8 "" yes "--software mlperf-v3 --dtype bf16 --fp8"
other zero2 "a pull request" "Llama 2 7B" H100 bf16 none "FSDP2 (zero2)" "--zero 2"
other te "a log" "Llama 2 7B" H100 fp8-delayed-te none no "--fp8 --fp8-recipe delayed"
other paddle "PaddleNLP README" "Llama 2 7B" A100 bf16 no "sharding stage2" "--software paddle --dtype bf16 --recompute none --zero 2"
other ddp "a repository" "Llama 2 7B" H100 bf16 none DDP "--software pytorch-eager"
other stages "somebody" "Llama 2 7B" A100 "bf16 (pure)" 0 "ZeRO stage 1" "--zero 1"
other herd "a paper" "Llama 2 7B" H100 bf16 none "FSDP (ZeRO-2)" "--software fsdp-eager --dtype bf16 --recompute none --zero 2"
other hsdp "a paper" "OLMo 7B" H100 bf16 none HSDP "--zero 3 --shard-group 8"
other ops "a blog (torchtitan)" "Llama 2 7B" B200 BF16 "selective (op)" FSDP2 "--software torchtitan-2024 --dtype bf16 --recompute ops"
other xtuner "InternLM/xtuner" "Llama 2 7B" A100 bf16 full "deepspeed zero3" "--software hf-tuning"
other paddle "PaddleNLP" "Llama 2 7B" A100 bf16 off "sharding stage1" "--recompute none --zero 1"
other lora "axolotl LoRA" "Llama 2 7B" A100 bf16 none no "--lora 32"
other maker "a paper" "Pythia 6.9B" "NVIDIA A100-SXM4-40GB" fp16 none no "--gpu a100-40"
other amd "a blog" "TinyLlama" "AMD Instinct MI300X" bf16 none no "--gpu mi300x"
row "a paper" DBRX $none H100 64 1 1 8 bf16 full dist-opt "iteration seconds" "" 10 ""
has dbrx "--model dbrx"
runs dbrx
# DeepEP is between ranks: experts lie on those of a node where nobody says how many
row NeMo "GPT-OSS-20B" $none H100 16 1 1 "" bf16 none FSDP2 "iteration seconds" "" 10 "TE + DeepEP"
sed -i '2s/,16,8,,,1,1,,/,16,8,,,1,1,16,/' "$tmp/row.csv"
has experts_of_deepep "--ep 8 --etp 1"
row NeMo "GPT-OSS-20B" $none H100 16 1 1 4 bf16 none FSDP2 "iteration seconds" "" 10 "TE + DeepEP"
has experts_as_said "--ep 4"
# a word inside another one means nothing
row "hpcaitech 2024-09" "Llama 2 7B" $llama7 H100 8 1 1 "" bf16 none no "iteration seconds" "" 10 ""
lacks te_inside_a_word "--software"
row "a paper" "Llama 2 7B" $llama7 H100 8 1 1 "" bf16 "every third moon" no "iteration seconds" "" 10 ""
has unknown_words_are_named "is not understood"

# times from rates: 16 sequences of 2048 on 8 GPUs at 1000 tokens/s each take 2.048 s (8 sequences)
measured() { python3 -S -c 'import json,sys; print(round(json.load(open(sys.argv[1]))["rows"][0]["measured_s"], 6))' "$tmp/row.json"; }
row "x" "Llama 7B" $llama7 H100 8 1 1 "" bf16 full FSDP "tokens/s/GPU" 1000 "" ""
validate >/dev/null
check derived_from_tokens "$(measured)" 2.048
row "x" "Llama 7B" $llama7 H100 8 1 1 "" bf16 full FSDP "sequences/s" 4 "" ""
validate >/dev/null
check derived_from_sequences "$(measured)" 2
# 6 · tokens · (matrices + s·h attention, the whole square) by hand: 32 layers of 4·4096² + 3·4096·11008, logits 32000·4096
row "x" "Llama 7B" $llama7 H100 8 1 1 "" bf16 full FSDP "TFLOP/s/GPU" 400 "" ""
validate >/dev/null
check derived_from_tflops "$(measured)" "$(python3 -S -c '
n = 32 * (4 * 4096**2 + 3 * 4096 * 11008) + 32000 * 4096
print(round(8 * 2048 * (6 * n + 12 * 32 * 4096 * 2048) / 400e12 / 8, 6))')"
row "yanring/Megatron-MoE-ModelZoo" "Llama 7B" $llama7 H100 8 1 1 "" bf16 full dist-opt "TFLOP/s/GPU" 400 "" ""
validate >/dev/null
check derived_by_half_of_attention "$(measured)" "$(python3 -S -c '
n = 32 * (4 * 4096**2 + 3 * 4096 * 11008) + 32000 * 4096
print(round(8 * 2048 * (6 * n + 6 * 32 * 4096 * 2048) / 400e12 / 8, 6))')"
row "x" "Llama 7B" $llama7 H100 8 1 1 "" bf16 full FSDP "smiles per hour" 400 "" ""
has no_known_rate "no time per step is published"

# spellings of other tables
spelled() { # name, precision, recompute, text wanted in the command, GPU
    row "x" "Llama 7B" $llama7 ${5:-H100} 8 1 1 "" "$2" "\"$3\"" "FSDP" "iteration seconds" "" 10 ""
    has "$1" "$4"
}
spelled underscores fp8_cs full "--fp8 --fp8-recipe tensorwise"
spelled apart "fp8 mx" full "--fp8 --fp8-recipe mxfp8" B200
spelled subchannels "FP8 (subchannel scaling)" full "--fp8-recipe blockwise"
spelled blocks bf16 "full (block, 3)" "--recompute-method block --recompute-layers 3"
spelled modules bf16 "['mla_up_proj', 'mlp']" "--recompute selective --recompute-modules mla_up_proj,mlp"
spelled other_layers bf16 "every other layer" "--recompute-layers 16"
spelled mode_of_ac bf16 "AC=selective" "--recompute ops"
spelled two_things bf16 "none (gradient checkpointing)" "recompute: 'none (gradient checkpointing)' says two things at once"
spelled two_types "bf16 fp32" full "precision: 'bf16 fp32' says two things at once"
row "x" "Llama-3.1-8B-Instruct" $none "DGX H100" 8 1 1 "" bf16 half "FSDP" "iteration seconds" "" 10 ""
has half_of_a_preset "--recompute-layers 16"
has with_its_machine "--gpu h100-sxm"
for name in meta-llama/Meta-Llama-3-8B:llama3-8b Meta-Llama-3-8B:llama3-8b Qwen/Qwen3-30B-A3B-Base:qwen3-30b-a3b \
    "DeepSeek V3 671B:deepseek-v3" moonshotai/Kimi-K2-Instruct:kimi-k2 "Mixtral 8x7B Instruct:mixtral-8x7b" \
    NVIDIA-Nemotron-3-Nano-30B-A3B-BF16:nemotron-3-nano-30b-a3b; do
    row "x" "${name%:*}" $none H100 8 1 1 "" bf16 full "FSDP" "iteration seconds" "" 10 ""
    has "name_${name##*:}" "--model ${name##*:}"
done
row "x" "Ling-1T" $none H100 8 1 1 "" bf16 full "FSDP" "iteration seconds" "" 10 ""
has name_unknown 'the model "Ling-1T" is not known, and its heads are not given'
row "x" "LLAMA3_8B" $none "TPU v5p" 8 1 1 "" bf16 full "FSDP" "iteration seconds" "" 10 ""
has no_gpu 'the GPU "TPU v5p" is not described'

# sources that no table lists: a stack in the source, its release or month there or in the notes
says() { # name, source, notes, text wanted in the command
    row "\"$2\"" "Llama 2 7B" $llama7 H100 8 2 1 "" bf16 none dist-opt "iteration seconds" "" 10 "\"$3\""
    has "says $1" "$4"
}
says container "a cloud's blog, NeMo" "nvcr.io/nvidia/nemo:24.12" "--software nemo-24.07 "
says older_container "a cloud's recipes" "nemofw-training:23.08.03" "--software nemo-24.03 "
says release "NVIDIA NeMo docs performance 25.02" "" "--software nemo-25.02 "
says month_by_name "a blog on torchtitan" "Aug 2025" "--software torchtitan-2024 "
says year "Megatron-LM README (2024)" "" "--software megatron-core-2024 "
says source_before_notes "EleutherAI/gpt-neox" "DeepSpeed 0.3.15" "--software gpt-neox "
says hai_llm_of_v3 "DeepSeek-V3 Technical Report (arXiv 2412.19437)" "HAI-LLM" "--software hai-llm-v3 "
says hai_llm_of_v2 "a cluster of 2024-03" "HAI-LLM 2024-03" "--software hai-llm-v2 "
says nemo_of_2022 "a launcher (NeMo 22.11, 2022-11)" "" "--software nemo-22.11 "
says nemo_with_flash_attention "a launcher (NeMo 23.07)" "" "--software nemo-24.03 "
says torchtitan_of_its_month "a blog on torchtitan (2026-03)" "" "--software torchtitan-2026 "
says benchmark_beside_its_stack "MLPerf on Megatron (2026-04)" "" "--software megatron-core-2025 "
says other_case "a page on TORCHTITAN" "Async TP" "--overlap-tp chunks"
says primus "ROCm Primus v25.9" "rocm/primus" "--software megatron-core-2025 "
says playbook "The Ultra-Scale Playbook" "" "--software nanotron "
says megatron_by_its_plan "a paper (arXiv 2403.04652)" "" "--software megatron-core-2024 "
says plain_pytorch "a lab (2024-12)" "PyTorch 2.5, TE 1.8" "--software megatron-core-2025 "
row "a lab" "Llama 2 7B" $llama7 H100 8 1 1 "" bf16 none zero3 "iteration seconds" "" 10 ""
has says_zero3 "--software deepspeed "
row "a lab" "Llama 2 7B" $llama7 H100 8 1 1 "" bf16 none Megatron-FSDP "iteration seconds" "" 10 ""
has says_megatron_fsdp "--software megatron-core-2025 "

# machines of clouds, GPUs inside other words, what the row says of its nodes
machine() { # name, GPU, GPUs, source, text wanted in the command
    row "$4" "Llama 2 7B" $llama7 "$2" "$3" 1 1 "" bf16 none dist-opt "iteration seconds" "" 10 ""
    has "machine $1" "$5"
    runs "machine_$1"
}
machine p4d "A100 (p4d.24xlarge)" 16 x "--gpu a100-40 --cluster 'aws-p4d:16'"
machine a3mega "a3-megagpu-8g" 16 x "--gpu h100-sxm --cluster 'gcp-a3-mega:16'"
machine by_source "H200" 16 "recipes for A3 Ultra" "--gpu h200 --cluster 'gcp-a3-ultra:16'"
machine others_are_spoken_of "H100" 16 "faster than p4d" "--gpu h100-sxm --cluster 'dgx-h100:16'"
machine in_words "1-Click Cluster of 16xB200" 16 x "--gpu b200 --cluster 'dgx-b200:16'"
machine b300 "HGX B300" 16 x "--cluster 'dgx-b300:16'"
machine gb300 "GB300" 144 x "--cluster 'gb300-nvl72:144 node=72'"
machine tesla "Tesla V100-SXM2-32GB" 16 x "--gpu v100 "
machine spaces "A100 SXM4 40 GB" 16 x "--gpu a100-40 "
machine eighty "a100_80gb" 16 x "--gpu a100-80 "
row "x" "Llama 2 7B" $llama7 "A100" 16 1 1 "" bf16 none dist-opt "iteration seconds" "" 10 ""
sed -i '2s/,A100,16,8,,,/,A100,16,4,200,50,/' "$tmp/row.csv"
has machine_of_four "--cluster 'dgx-a100:16 node=4 nics=4 nvlink=200GB/s nic=50Gbps'"
runs machine_of_four
row "x" "Llama 2 7B" $llama7 "A10" 16 1 1 "" bf16 none dist-opt "iteration seconds" "" 10 ""
has machine_a10_is_no_a100 'the GPU "A10" is not described'

# names: a family behind a size, presets that go by another name where there are no dimensions
row "x" "30B Llama" 60,6656,52,52,17920,32000 H100 8 1 1 "" bf16 none dist-opt "iteration seconds" "" 10 ""
has name_family_behind "--swiglu"
row "x" "Vicuna-7B" $none H100 8 1 1 "" bf16 none dist-opt "iteration seconds" "" 10 ""
has name_vicuna "--model llama-7b"
row "x" "GPT-2 1.5B" 40,1600,25,25,6400,50257 H100 8 1 1 "" bf16 none dist-opt "iteration seconds" "" 10 ""
has name_dimensions_first "--num-layers 40"

# words for the same rate: 8 sequences of 2048 on 8 GPUs
rate() { # quantity, value, seconds
    row "x" "Llama 7B" $llama7 H100 8 1 1 "" bf16 full FSDP "$1" "$2" "" ""
    validate >/dev/null
    check "rate $1" "$(measured)" "$3"
}
rate "tok/s/GPU" 1000 2.048
rate "tokens/sec/device" 1000 2.048
rate "Tokens per second per GPU" 1000 2.048
rate "tokens/GPU/s" 1000 2.048
rate "samples/sec" 4 2
rate "seq/s" 4 2
rate "step time (s)" 3.5 3.5
rate "seconds/step" 3.5 3.5
rate "s/iter" 3.5 3.5
rate "Step time (ms)" 3500 3.5
rate "PFLOP/s" 3.2 "$(python3 -S -c '
n = 32 * (4 * 4096**2 + 3 * 4096 * 11008) + 32000 * 4096
print(round(8 * 2048 * (6 * n + 12 * 32 * 4096 * 2048) / 3.2e15, 6))')"
rate "TFLOPs/s/device" 400 "$(python3 -S -c '
n = 32 * (4 * 4096**2 + 3 * 4096 * 11008) + 32000 * 4096
print(round(8 * 2048 * (6 * n + 12 * 32 * 4096 * 2048) / 400e12 / 8, 6))')"
spelled per_op_sac bf16 "per-op SAC" "--recompute ops"
spelled checkpoint_flag fp16 "checkpoint-activations" "--recompute full"
spelled mx_in_brackets "FP8 (MX)" none "--fp8-recipe mxfp8" B200

# A preset cut to fewer layers, as tables cut models to fit fewer GPUs; one of another width is another model.
row "NeMo 25.04" "Grok-1 314B" 2,6144,48,8,32768,131072 H100 8 4 1 2 bf16 none dist-opt "iteration seconds" "" 10 ""
has cut_preset "--model grok-1 --num-layers 2"
runs cut_preset
row "NeMo 25.04" "Grok-1 314B" 64,6144,48,8,32768,131072 H100 8 4 1 2 bf16 none dist-opt "iteration seconds" "" 10 ""
lacks whole_preset "--num-layers"
row "NeMo 25.04" "Grok-1 314B" 64,4096,48,8,32768,131072 H100 8 4 1 2 bf16 none dist-opt "iteration seconds" "" 10 ""
has other_width 'the model "grok-1" is 6144 wide, the row says 4096'
# Dimensions do not say what experts there are: a name like a preset's does. Dense models are as the row has them.
row "NeMo 25.04" "LLAMA4-Maverick 400B" 48,5120,40,8,,202048 GB200 64 1 1 64 bf16 none dist-opt "iteration seconds" "" 10 ""
has size_behind_a_name "--model llama4-maverick-17b-128e"
row "NeMo 25.04" "Llama 3.1 405B" 126,16384,128,16,53248,51200 H100 64 8 1 "" bf16 none dist-opt "iteration seconds" "" 10 ""
has own_dimensions "--num-query-groups 16 --ffn-hidden-size 53248 --vocab-size 51200"
# Experts are cut by tp before Megatron Core 0.10, whole on their ranks since.
row "NeMo 24.09" "Mixtral 8x7B" $none H100 16 4 1 2 bf16 none dist-opt "iteration seconds" "" 10 ""
lacks experts_cut "--etp"
row "Megatron-Bridge (26.02)" "Mixtral 8x7B" $none H100 16 4 1 2 bf16 none dist-opt "iteration seconds" "" 10 ""
has experts_whole "--etp 1"
# tp 4 · ep 2 · dp 2 are 16 GPUs: two copies of an expert, four of the rest.
sed -i 's/,16,8,,,4,1,,2,/,16,8,,,4,1,2,2,/' "$tmp/row.csv"
lacks copies_of_experts "--dp"
runs copies_of_experts
row "NeMo 25.04" "Llama 7B" $llama7 H100 8 2 1 "" bf16 none dist-opt "iteration seconds" "" 10 "ub_tp_comm_overlap false; overlap_p2p_comm false"
has tp_overlap_is_off "--overlap-tp chunks --overlap-tp wgrad"
has p2p_overlap_is_off "--overlap-p2p yes --overlap-p2p no"
# Groups that weights are sharded over; FSDP2 is a version.
sharded() { # name, cell, wanted
    row "x" "Llama 7B" $llama7 H100 64 1 1 "" bf16 full "$2" "iteration seconds" "" 10 ""
    sed -i 's/,64,8,,,1,1,,,/,64,8,,,1,1,64,,/' "$tmp/row.csv"
    has "$1" "$3"
}
sharded group_of_16 "HSDP 16 (XLA)" "--shard-group 16"
sharded group_and_copies "FSDP=16 x DP 4" "--shard-group 16"
sharded group_in_nodes "FSDP in nodes" "--shard-group 8"
sharded group_of_all "FSDP 64" "--zero 3 --gpu"
sharded second_version "FSDP2" "--zero 3 --gpu"
# One collection of recipes has several stacks.
row "NVIDIA/dgxc-benchmarking v24.11.1 maxtext/README_70b.md" "Llama 7B" $llama7 H100 8 1 1 "" bf16 save_qkv_proj "FSDP (XLA)" "iteration seconds" "" 10 ""
has collection_maxtext "--software maxtext"
has mlp_again "--recompute-modules core_attn,norm,act,mlp"
row "NVIDIA/dgxc-benchmarking v24.11.1 gpt3 175b" "Llama 7B" $llama7 H100 8 1 1 "" bf16 "selective (SAVE_QKV_OUT_PROJ)" "FSDP (XLA)" "iteration seconds" "" 10 "JAX Paxml"
has collection_paxml "--software paxml"
has policy_in_brackets "--recompute-modules core_attn,norm,act,mlp"
row "NVIDIA/dgxc-benchmarking v24.11.1 paxml/README_175b.md" "Llama 7B" $llama7 H100 128 1 1 "" bf16 "" "FSDP (XLA)" "iteration seconds" "" 10 ""
has policy_of_the_source "--recompute-modules core_attn,norm,act,mlp"
# Documents that are packed and see only themselves.
row "NeMo 24.12 finetuning" "Llama 7B" $llama7 H100 8 1 1 "" bf16 none dist-opt "iteration seconds" "" 10 "SFT"
has packed_documents "--window-size 100,0"
runs packed_documents
# Those of MLPerf are one a sample; its adapters and its attention, and the rank that the row says.
row "mlcommons/training_results_v4.0 (NeMo 24.04)" "Llama 7B" $llama7 H100 8 2 1 "" fp8 none dist-opt "iteration seconds" "" 10 "LoRA rank 16; FP8_DPA"
lacks whole_documents "--window-size"
has adapters_of_mlperf "--lora-targets q_proj,k_proj,v_proj,o_proj --dropout"
has attention_in_fp8 "--fp8-dot-product-attention --lora 16"
runs whole_documents
row "NeMo Framework" "Llama 7B" $llama7 H100 8 2 1 "" bf16 none dist-opt "iteration seconds" "" 10 "LoRA; rank=8"
has rank_of_the_row "--lora 8"
# Chunks of MLPerf's GPT-3 where the row says none.
row "mlcommons/training_results_v3.1" "GPT-3 175B" 96,12288,96,96,49152,51200 H100 512 4 8 "" fp8 none dist-opt "iteration seconds" "" 10 ""
has chunks_of_mlperf "--num-layers-per-virtual-pipeline-stage 1"
sed -i 's/,,1,512,fp8/,6,1,512,fp8/' "$tmp/row.csv"
has chunks_of_the_row "--vpp 6"
lacks chunks_of_the_row_alone "--num-layers-per-virtual-pipeline-stage"
row "megatron-core v0.6.0" "Llama 7B" $llama7 H100 8 2 1 "" bf16 none dist-opt "iteration seconds" "" 10 "FlashAttention 2"
has second_attention "--software megatron-core-2024"
has attention_named "--attention flash2"
row "NeMo 25.04" "Mixtral 8x7B" $none H100 16 4 1 2 bf16 none dist-opt "iteration seconds" "" 10 "ETP=2"
has experts_in_two "--etp 2"
row "The Llama 3 Herd of Models (arXiv 2407.21783) Table 4" "Llama 3.1 405B" 126,16384,128,8,53248,128256 H100 8192 8 16 "" bf16 none FSDP "iteration seconds" "" 10 ""
has herd_shards "--zero 3 --zero 1 --grad-dtype fp32"
has herd_chunks "--vpp 8"

# a rate of the network that is no number
row "NeMo" "LLAMA2-7B" $llama7 H100 16 1 1 "" bf16 none dist-opt "iteration seconds" "" 10 ""
sed -i 's/H100,16,8,,,/H100,16,8,,fast,/' "$tmp/row.csv"
has network_rate_unknown "nic_gbps_per_gpu: 'fast' is no number"

# what the seventh table was not read for: both ends of a pipeline, embeddings of their own, GLM-130B's gated feed-forward (70 layers of 4h² + 3·h·32768 weights)
row "x" "DeepSeek-V3" $none H800 256 2 4 16 "fp8 blockwise" none ZeRO-1 "iteration seconds" "" 10 "HAI-LLM; DualPipe"
has dualpipe_by_its_notes "--schedule dualpipe "
row "Megatron-LM" "GPT 4B" 32,3072,24,24,12288,32000 A100 8 1 8 "" bf16 none no "iteration seconds" "" 10 "untied embeddings"
has untied_by_its_notes "--untie-embeddings-and-output-weights"
row "GLM-130B (arXiv 2210.02414)" "GLM-130B" 70,12288,96,96,32768,150528 A100-SXM-40GB 32 4 8 "" fp16 full "" "iteration seconds" "" 10 "DeepSpeed"
has glm_130b "--swiglu"
has glm_130b_software "--software megatron-deepspeed-2022"
runs glm_130b
