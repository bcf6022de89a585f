#!/bin/sh
# What was once ignored, replaced or lost without a word: each is done, said or refused.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
field() { python3 -S -c 'import functools, json, sys; d = json.load(sys.stdin); print(*(functools.reduce(lambda x, k: x[int(k) if k.isdigit() else k], w.split("."), d) for w in sys.argv[1:]))' "$@"; }
result() { "$STEPCAST" run "$@" --json - 2>/dev/null; }

# ZeRO where no other rank has the same weights shares nothing: time and memory are those without
alone="--model llama3-8b --tp 1 --dp 1 --seq 2048 --global-batch 4 --ignore-memory --cluster dgx-h100:1"
plain=$(result $alone | field step_time_us memory_bytes.total)
for zero in 1 2 3; do check "zero $zero alone" "$(result $alone --zero $zero | field step_time_us memory_bytes.total)" "${plain:-nothing}"; done
expect zero_alone_is_said 0 "--zero has no effect: no other rank has the same weights" "$STEPCAST" run $alone --zero 3 --json -
# … but gradients of two bytes are half as large, alone too
half=$(result $alone | field memory_bytes.gradients | awk '{ printf "%.0f", $1 / 2 }')
check grad_dtype_alone "$(result $alone --grad-dtype bf16 | field memory_bytes.gradients)" "${half:-nothing}"
check grad_dtype_is_used "$(result $alone --grad-dtype bf16 | grep -c '"gradients"') $(result $alone --grad-dtype bf16 | grep -c 'grad-dtype has no effect')" "2 0"

# tokens that experts have no room for are not computed: 6 FLOPs a weight and token of the routed experts less.
# mixtral-8x7b: 32 layers, 2 experts a token of 3 matrices of 4096 · 14336
experts="--model mixtral-8x7b --ep 8 --dp 8 --seq 4096 --global-batch 8 --ignore-memory --cluster dgx-h100:8"
flops() { result $experts --moe-expert-capacity-factor "$1" | field tflops_per_gpu step_time_us | awk '{ printf "%.17g", $1 * $2 * 8 * 1e6 }'; }
check dropped_tokens "$(awk "BEGIN { dropped = $(flops 1) - $(flops 0.25); printf \"%.4f\", dropped / (0.75 * 6 * 8 * 4096 * 32 * 2 * 3 * 4096 * 14336) }")" 1.0000
expect dropped_tokens_are_said 0 "experts have room for 0.25 of their tokens: the others are dropped" "$STEPCAST" run $experts --moe-expert-capacity-factor 0.25 --json -

# what no product, no layer of the model has
wide="--model llama3-8b --num-layers 2 --gpus 1 --seq 2048 --global-batch 1"
for pair in "--fp8-recipe=blockwise" "--fp8-scaling=dynamic" "--fp4-recipe=nvfp4"; do
    expect "said without fp8: $pair" 0 "${pair%%=*} has no effect: no product is in fp8 or fp4" "$STEPCAST" run $wide ${pair%%=*} ${pair#*=} --json -
done
for pair in "--moe-kernels=unfused" "--cuda-graph=moe_router"; do
    expect "said without experts: $pair" 0 "${pair%%=*} has no effect: the model has no experts" "$STEPCAST" run $wide ${pair%%=*} ${pair#*=} --json -
done
check no_word_where_it_counts "$(result $wide --fp8 --fp8-recipe blockwise --fp8-scaling fused --cuda-graph attn,moe_router | grep -c 'step_time_us') $(result $wide --fp8 --fp8-recipe blockwise --cuda-graph attn,moe_router | grep -c 'has no effect')" "2 0"

# recipes: of fp4 and of fp8, and of tensor cores that a GPU does not have
expect recipe_of_fp4 2 "nvfp4 is a recipe of fp4" "$STEPCAST" run $wide --fp8 --fp8-recipe nvfp4
expect recipe_of_fp8 0 "fp8-recipe has no effect: products are in fp4" "$STEPCAST" run $wide --cluster dgx-b200:1 --fp4 --fp8-recipe mxfp8 --json -
expect recipe_of_later_cores 2 "has no mxfp8" "$STEPCAST" run $wide --cluster dgx-h100:1 --fp8 --fp8-recipe mxfp8
expect recipe_of_its_cores 0 "step_time_us" "$STEPCAST" run $wide --cluster dgx-b200:1 --fp8 --fp8-recipe mxfp8 --json -

# what another option, the model or the plan leaves nothing to say about
unused() { # option, why, words
    option=$1 why=$2
    shift 2
    expect "said: $option, $why" 0 "--${option%% *} has no effect: $why" "$STEPCAST" run --seq 2048 --ignore-memory "$@" --$option --json -
}
unused use-megatron-fsdp "--zero says what is sharded" --model llama3-8b --gpus 8 --zero 1
unused use-torch-fsdp2 "--zero says what is sharded" --model llama3-8b --gpus 8 --zero 1
unused first-last-layers-bf16 "no product is in fp8 or fp4" --model llama3-8b --gpus 8
unused "window-attn-skip-freq 4" "all layers see all keys" --model llama3-8b --gpus 8
unused account-for-loss-in-pipeline-split "pp is 1" --model llama3-8b --gpus 8
unused "moe-routing in-turn" "the model has no experts" --model llama3-8b --gpus 8
unused "moe-routing in-turn" "only the flex dispatcher" --model mixtral-8x7b --gpus 8 --ep 8
unused moe-shared-expert-gate "the model has no shared experts" --model mixtral-8x7b --gpus 8 --ep 8
unused "num-experts 16" "no layer of the pattern has experts" --model nemotron-h-8b --gpus 8
for option in "proto ll" by-tuner "gpus-per-process 2"; do unused "$option" "there is no collective" --model llama3-8b --gpus 1; done
for option in "comm-sm-tax 0.3" "order dp-tp-cp-ep-pp"; do unused "$option" "nothing is sent" --model llama3-8b --gpus 1; done
unused "net-channels 4" "there is no all-to-all, and no message" --model llama3-8b --gpus 16
used() { "$STEPCAST" run --seq 2048 --ignore-memory "$@" --json - 2>/dev/null | grep -c "\"mfu\"\|has no effect"; }
# PyTorch's context parallelism sends gradients to the next rank, whatever brings keys and values
check channels_of_gradients "$(used --model llama3-8b --cluster dgx-a100:16 --tp 8 --cp 2 --cp-comm-type all_gather --software fsdp1 --net-channels 4) $(used --model llama3-8b --gpus 16 --tp 8 --algo direct --net-channels 4)" "1 1"
check said_only_then "$(used --model mixtral-8x7b --gpus 8 --ep 8 --moe-token-dispatcher-type flex --moe-routing in-turn) $(used --model llama3-8b --gpus 16 --pp 2 --net-channels 4 --order tp-cp-ep-pp-dp --comm-sm-tax 0.1) $(used --model llama3-8b --gpus 8 --use-megatron-fsdp) $(used --model llama3-8b --gpus 8 --zero 3 --use-megatron-fsdp) $(used --model llama3-8b --gpus 8 --use-torch-fsdp2)" "1 1 1 1 1"

# sequences that a table of positions does not reach
expect positions_that_end 0 "sequences of 4096 tokens, but the model has learned 1024 positions" "$STEPCAST" run --model gpt2 --gpus 1 --seq 4096 --json -
check positions_that_suffice "$("$STEPCAST" run --model gpt2 --gpus 1 --seq 4096 --max-position-embeddings 4096 --json - | grep -c "mfu\|has learned") $("$STEPCAST" run --model llama2-7b --gpus 1 --seq 8192 --ignore-memory --json - | grep -c "mfu\|has learned")" "1 1"

# a GPU's file: attention that takes no time; memory that is not said
gpu() { python3 -S -c "
import json, sys
d = json.load(open('data/gpus/h100-sxm.json'))
exec(sys.argv[1])
json.dump(d, open('$tmp/gpu.json', 'w'))" "$1"; }
gpu 'd["constants"]["attention_software"]["flash2"] = [0, 1]'
expect attention_for_nothing 3 "attention_software.flash2: a factor on times is above 0" "$STEPCAST" run --model gpt2 --gpus 1 --gpu "$tmp/gpu.json"
gpu 'd["datasheet"]["memory_gib"] = 0'
expect memory_that_is_not_known 0 "fit is not checked" "$STEPCAST" run --model llama3-70b --gpus 8 --seq 2048 --gpu "$tmp/gpu.json" --json -

# formats of others have no word for compute that is slower beside transfers
plan="--model llama3-8b --tp 2 --dp 4 --zero 1 --seq 2048 --global-batch 16 --num-layers 2 --ignore-memory --cluster dgx-h100:8"
for format in chakra goal; do
    expect "full pace in $format" 0 "$format cannot say that compute is slower by 0.2 of its time beside transfers" "$STEPCAST" convert $plan --to $format -o "$tmp/job.$format"
done
expect no_pace_without_transfers 0 "from the model" "$STEPCAST" convert $plan --dp 1 --tp 1 --global-batch 4 --cluster dgx-h100:1 --to chakra -o "$tmp/alone"
check no_pace_note "$(grep -c "from the model" "$tmp/out") $(grep -c "beside transfers" "$tmp/out")" "1 0"

# a class of another kind of model than the type
config() { printf '{"architectures": ["%s"], "model_type": "%s", "num_hidden_layers": 2, "hidden_size": 1024, "num_attention_heads": 8, "intermediate_size": 4096, "vocab_size": 32000, "max_position_embeddings": 2048}\n' "$1" "$2" >"$tmp/config.json"; }
config LlamaForCausalLM gpt2
expect class_of_another_type 0 'names LlamaForCausalLM, which is no model of model_type \"gpt2\"' "$STEPCAST" run --model "$tmp/config.json" --gpus 1 --json -
# layers of a module of one's own; that of the type, or of a type we know, says nothing
own() { sed "1s/{/{\"auto_map\": {\"AutoModelForCausalLM\": \"$1\"},/" "$tmp/config.json" >"$tmp/own.json"; }
own modeling_hybrid_gpt.GPT2LMHeadModel_Hybrid
expect code_of_its_own 0 'its layers are made by code of its own (modeling_hybrid_gpt.GPT2LMHeadModel_Hybrid)' "$STEPCAST" run --model "$tmp/own.json" --gpus 1 --json -
own modeling_gpt2.GPT2LMHeadModel
"$STEPCAST" run --model "$tmp/own.json" --gpus 1 --json "$tmp/own_result.json" >/dev/null 2>&1
grep -q step_time "$tmp/own_result.json" && ! grep -q 'code of its own' "$tmp/own_result.json" && echo "ok code_of_the_type" || echo "not ok code_of_the_type"
for pair in "GPT2LMHeadModel gpt2" "LlamaForCausalLM llama" "GPTNeoXForCausalLM gpt_neox" "LlamaForCausalLM mistral" "SomethingForCausalLM llama"; do
    config $pair
    check "class and type: $pair" "$(result --model "$tmp/config.json" --gpus 1 | grep -c '"step_time_us"') $(result --model "$tmp/config.json" --gpus 1 | grep -c 'which is no model of')" "2 0"
done

# YAML: a second document; aliases
network='topology: [ FullyConnected ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n'
printf "$network" >"$tmp/one.yml"
printf "$network"'---\ntopology: [ Ring ]\n' >"$tmp/two.yml"
expect one_document 0 "Avg bus bandwidth" "$STEPCAST" coll all_reduce -c "$tmp/one.yml" -b 1M -e 1M
expect second_network 3 "two.yml:5:1: error: a second document: a network is one" "$STEPCAST" coll all_reduce -c "$tmp/two.yml" -b 1M -e 1M
job='base_model: meta-llama/Meta-Llama-3-8B\nsequence_len: &length 4096\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\nnum_epochs: 1\nadapter: lora\nlora_r: 8\n'
printf "$job" >"$tmp/job.yaml"
sed 's/^micro_batch_size: 1/micro_batch_size: *length/' "$tmp/job.yaml" >"$tmp/alias.yaml"
sed 's/^micro_batch_size: 1/micro_batch_size: 4096/' "$tmp/job.yaml" >"$tmp/written_out.yaml"
sed 's/^micro_batch_size: 1/micro_batch_size: *width/' "$tmp/job.yaml" >"$tmp/nothing.yaml"
{ printf 'usual: &usual\n  sequence_len: 1024\n  micro_batch_size: 2\n'; grep -v 'sequence_len\|micro_batch' "$tmp/job.yaml"; printf 'sequence_len: 2048\n<<: *usual\n'; } >"$tmp/merged.yaml"
{ grep -v 'sequence_len\|micro_batch' "$tmp/job.yaml"; printf 'sequence_len: 2048\nmicro_batch_size: 2\n'; } >"$tmp/unmerged.yaml"
{ printf 'a: &all [q_proj, v_proj, o_proj]\nlora_target_modules: *all\n'; cat "$tmp/job.yaml"; } >"$tmp/list.yaml"
{ printf 'lora_target_modules: [q_proj, v_proj, o_proj]\n'; cat "$tmp/job.yaml"; } >"$tmp/plain_list.yaml"
{ cat "$tmp/job.yaml" && printf -- '---\nsequence_len: 8192\n'; } >"$tmp/documents.yaml"
on="--gpus 1 --ignore-memory --cluster dgx-h100:1"
check yaml_alias "$(result "$tmp/alias.yaml" $on | field step_time_us)" "$(result "$tmp/written_out.yaml" $on | field step_time_us)"
expect yaml_alias_of_nothing 3 "nothing.yaml:3: error: the alias *width stands for nothing before it" "$STEPCAST" run "$tmp/nothing.yaml" $on
check yaml_merge "$(result "$tmp/merged.yaml" $on | field step_time_us)" "$(result "$tmp/unmerged.yaml" $on | field step_time_us)"
check yaml_alias_of_a_list "$(result "$tmp/list.yaml" $on | field step_time_us)" "$(result "$tmp/plain_list.yaml" $on | field step_time_us)"
expect second_configuration 3 "documents.yaml:8: error: a second document: a configuration is one" "$STEPCAST" run "$tmp/documents.yaml" $on

# a file that is protected stays
echo kept >"$tmp/protected.json" && chmod 444 "$tmp/protected.json"
expect protected_file 4 "protected.json: error: cannot write: Permission denied" "$STEPCAST" run tests/data/seed_003.txt --json "$tmp/protected.json"
check protected_file_stays "$(cat "$tmp/protected.json") $(grep -c 'cannot write' "$tmp/err")" "kept 1"

# texts beside traces
mkdir "$tmp/traces"
cp tests/data/seed_002.txt "$tmp/traces/wd4_tp1_pp2_numl8_bs8_rank2.txt"
echo "how this was measured" >"$tmp/traces/README.txt"
expect text_beside_traces 0 "1 texts are not named after a rank, as the 1 traces are, and were left out" "$STEPCAST" run "$tmp/traces" --tp 1 --pp 2 --dp 2 --json -

# workload text cuts experts as the rest
expect expert_groups 2 "workload text cuts experts as the rest: etp 1 beside tp 2 cannot be said" \
    "$STEPCAST" gen --model mixtral-8x7b --tp 2 --ep 2 --dp 1 --etp 1 --seq 1024 --global-batch 4 --ignore-memory -o "$tmp/gen.txt"
expect expert_groups_in_ir 0 "" "$STEPCAST" gen --model mixtral-8x7b --tp 2 --ep 2 --dp 1 --etp 1 --seq 1024 --global-batch 4 --ignore-memory --to ir-json -o "$tmp/gen.json"

# sums that do not fit, rates that are not finite
"$STEPCAST" gen --model llama2-7b --gpus 8 --tp 8 --num-layers 2 --seq 1024 --global-batch 8 --ignore-memory --to ir-json -o "$tmp/step.json" >/dev/null 2>&1
sed 's/"weights": [0-9]*/"weights": 9223372036854775807/; s/"gradients": [0-9]*/"gradients": 9223372036854775807/' "$tmp/step.json" >"$tmp/sums.json"
expect memory_sum 3 "memory_bytes: adds up to 1.84467e+19 bytes" "$STEPCAST" run "$tmp/sums.json"
sed 's/"tokens": [0-9]*/"tokens": 1e308/' "$tmp/step.json" >"$tmp/rates.json"
expect endless_rate 3 "tokens: is more than 1e40" "$STEPCAST" run "$tmp/rates.json"
expect amounts_as_they_are 0 "tokens/s" "$STEPCAST" run "$tmp/step.json"

# memory of other commands than run; hosts that no flow uses
expect max_memory_of_coll 4 "it takes more than --max-memory, 0.2 MB" "$STEPCAST" coll alltoall -c dgx-h100:64 --net flow --max-memory 200KB -b 1G -e 1G
expect max_memory_is_enough 0 "Avg bus bandwidth" "$STEPCAST" coll alltoall -c dgx-h100:64 --net flow --max-memory 1GB -b 1G -e 1G
echo "0 10448576 1000 0" >"$tmp/flows.txt"
expect far_host 3 "flows.txt:1:3: error: a host is a number below 1048576" "$STEPCAST" flows "$tmp/flows.txt" --fabric ls:8:8

# words of a cluster that change nothing there, or make it one that nobody builds
some="gpu=h100 gpus=64 nvlink=450GB/s nics=8 nic=400Gbps"
expect step_unused 0 "step has no effect" "$STEPCAST" coll all_reduce -c "$some node=8 class=ib step=100us" -b 64M -e 64M
"$STEPCAST" coll all_reduce -c "$some node=8 class=plain step=100us" -b 64M -e 64M >"$tmp/out" 2>&1
"$STEPCAST" coll all_reduce -c dgx-h100:64 -b 64M -e 64M >>"$tmp/out" 2>&1 # has both
check step_is_used "$(grep -c 67108864 "$tmp/out") $(grep -c "has no effect" "$tmp/out")" "2 0"
expect ports_unused 0 "ports has no effect" "$STEPCAST" coll all_reduce -c "$some node=8 class=ib ports=3" -b 64M -e 64M
expect ports_are_counted 3 "a switch of cluster" "$STEPCAST" coll all_reduce -c "$some node=8 class=ib leaf=2 ports=3" -b 64M -e 64M
expect node_of_all 0 "a node of 100000 GPUs is larger than any NVLink domain" "$STEPCAST" coll all_reduce -c "$some node=100000 class=ib" -b 64M -e 64M
# planes of a fabric that has none
expect planes_unused 0 "planes has no effect: only the fabrics hpn and dcn have them" \
    "$STEPCAST" coll all_reduce -c "gpu=h100 gpus=64 node=8 nvlink=450GB/s nics=8 nic=400Gbps class=ib planes=2" -b 64M -e 64M

# variables of a launch script that it does not use, or that are given twice
cat >"$tmp/pins.sh" <<'L'
#!/bin/bash
LAYERS=${LAYERS:-4}
python pretrain_gpt.py --num-layers $LAYERS --hidden-size $1 --num-attention-heads 32 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 8 --vocab-size 32000
L
pins() { "$STEPCAST" run --megatron-args "$tmp/pins.sh" --gpus 8 --set 1=4096 "$@"; }
expect pin_unused 0 "--set LAYRES has no effect" pins --set LAYRES=8
expect pin_of_no_argument 0 "--set 2 has no effect" pins --set 2=8
expect pin_twice 0 "--set LAYERS is given more than once: 2 counts" pins --set LAYERS=8 --set LAYERS=2
expect pin_of_no_name 2 "--set takes NAME=value, not 'LAY-ERS=8'" pins --set LAY-ERS=8
pins --set LAYERS=8 >"$tmp/pinned" 2>&1
check pins_used "$? $(grep -c -e '--set' "$tmp/pinned")" "0 0"

# what no GPU and no power plant comes near is a slip of unit or digit: the key is named
slip() { # KEY OLD NEW
    sed "s/\"$1\": $2/\"$1\": $3/" data/gpus/h200.json >"$tmp/slip.json"
    expect "slip of $1" 3 "$1 is larger than any there can be" "$STEPCAST" run --model llama2-7b --num-layers 2 --gpus 1 --global-batch 1 --gpu "$tmp/slip.json"
}
slip dram_tbs 4.8 4.8e12
slip tdp_w 700 7e9
slip boost_mhz '[0-9.]*' 1.98e9
slip memory_gib '[0-9.]*' 1.5e11
slip bf16 989.4 9.9e14
slip rp '[0-9.]*' 7e20
for slip in "--carbon 1e9" "--carbon -1" "--carbon nan" "--price 1e9"; do
    expect "slip of $slip" 2 "${slip%% *}" "$STEPCAST" train --model llama2-7b --cluster dgx-h100:64 --global-batch 128 --recompute full --zero 1 --train-tokens 1B $slip
done
# a rate of a GPU's datasheet that its fitted constants leave without effect
sed 's/"dram_tbs": 4.8/"dram_tbs": 8/' data/gpus/h200.json >"$tmp/sheet.json"
expect sheet_unused 0 "its datasheet says 8: the constants count" "$STEPCAST" run --model llama2-7b --num-layers 2 --gpus 1 --global-batch 1 --gpu "$tmp/sheet.json"
cp data/gpus/h200.json "$tmp/sheet.json"
"$STEPCAST" run --model llama2-7b --num-layers 2 --gpus 1 --global-batch 1 --gpu "$tmp/sheet.json" >"$tmp/out" 2>&1
check sheet_agrees "$? $(grep -c 'constants count' "$tmp/out")" "0 0"

# compute beside transfers: a tax of 0 is none, not the one of the software's profile; of all of it, none is left
taxed="--model mixtral-8x7b --num-layers 2 --ep 2 --cluster dgx-h100:16 --global-batch 16 --seq 2048 --ignore-memory"
check no_tax "$(awk "BEGIN { none = $(result $taxed --comm-sm-tax 0 | field step_time_us); little = $(result $taxed --comm-sm-tax 0.00001 | field step_time_us); usual = $(result $taxed | field step_time_us); print (none < usual && little - none < 0.00001 * none && none <= little) }")" 1
expect no_tax_in_a_job 0 "step time" "$STEPCAST" run $taxed --comm-sm-tax 0 --job "$tmp/untaxed.yaml"
check no_tax_again "$(result "$tmp/untaxed.yaml" | field step_time_us)" "$(result $taxed --comm-sm-tax 0 | field step_time_us)"
expect tax_of_all 2 "--comm-sm-tax takes a share from 0 to 1" "$STEPCAST" run $taxed --comm-sm-tax 1

# no row has no error, which is no error of 0: tables without rows are refused, and groups in which nothing ran have no figure
head -1 data/truth/training_steps.csv >"$tmp/no_rows.csv"
expect no_row_of_steps 3 "no_rows.csv: error: the table has no row" "$STEPCAST" validate "$tmp/no_rows.csv"
head -1 data/truth/memory.csv >"$tmp/no_memory.csv"
expect no_row_of_memory 3 "no_memory.csv: error: the table has no row" "$STEPCAST" validate --memory "$tmp/no_memory.csv"
: >"$tmp/no_collectives.csv"
expect no_row_of_collectives 3 "no_collectives.csv: error: no row has GPUs, size and time" "$STEPCAST" coll --validate "$tmp/no_collectives.csv"
head -2 data/truth/training_steps.csv >"$tmp/one_row.csv"
"$STEPCAST" validate "$tmp/one_row.csv" --json "$tmp/one_row.json" >"$tmp/one_row.txt" 2>&1
check nothing_ran_has_no_error "$(python3 -S -c '
import json, sys
sizes = json.load(open(sys.argv[1]))["summary"]["by_size"]
print(*sorted((s["count"], s["mean_pct"] is None, s["bias_pct"] is None) for s in sizes))' "$tmp/one_row.json") $(grep -c -e ' 0 .* - .* -$' "$tmp/one_row.txt")" "(0, True, True) (0, True, True) (1, False, False) 2"
# --memory: --only counts, what is of times does not pass without a word
expect memory_only 2 "no row has 'nosuch' in it" "$STEPCAST" validate --memory data/truth/memory.csv --only nosuch
"$STEPCAST" validate --memory data/truth/memory.csv --only korthikanti-22b --json "$tmp/only.json" >"$tmp/only.txt" 2>&1
check memory_only_those "$(grep -c korthikanti-22b "$tmp/only.txt") $(grep -c -e bloom -e korthikanti-175b "$tmp/only.txt")" "3 0"
for option in "--plot $tmp/x.svg" "--markdown $tmp/x.md" "--nearest-software"; do
    expect "memory and ${option%% *}" 2 "${option%% *} is of times, not of --memory" "$STEPCAST" validate --memory data/truth/memory.csv $option
done

# several jobs: compute beside transfers is slower by the share that is given, and no GPU runs two of them
"$STEPCAST" convert --model llama3-8b --num-layers 2 --gpus 16 --tp 2 --global-batch 16 --seq 1024 --ignore-memory --lowered --to ir-json -o "$tmp/one.json" >/dev/null 2>&1
placed() { "$STEPCAST" run "$tmp/one.json" "$tmp/one.json" --cluster dgx-h100:32 --json - "$@" 2>/dev/null | field jobs.0.alone_us jobs.0.step_time_us; }
alone() { result "$tmp/one.json" --cluster dgx-h100:32 --net flow "$@" | field step_time_us; }
for tax in "" "--comm-sm-tax 0.5" "--comm-sm-tax 0"; do
    check "jobs apart $tax" "$(placed --place 0,2 $tax)" "$(alone $tax) $(alone $tax)"
done
check jobs_are_taxed "$(awk "BEGIN { print ($(alone --comm-sm-tax 0.5) > $(alone)) }")" 1
expect jobs_on_one_node 3 "jobs 1 and 2 are both on node 1" "$STEPCAST" run "$tmp/one.json" "$tmp/one.json" --place 0,1 --cluster dgx-h100:32

# measured kernels of sizes that the step has none of
step="--model llama3-8b --num-layers 2 --gpus 1 --global-batch 1 --seq 2048 --ignore-memory"
printf 'op,dtype,m,n,k,us\ngemm,bf16,17,19,23,200\n' >"$tmp/times.csv"
expect times_of_no_kernel 0 "no kernel of the step has the sizes of a row of" "$STEPCAST" run $step --kernel-times "$tmp/times.csv" --json -
printf 'op,dtype,m,n,k,us\ngemm,bf16,2048,6144,4096,200\n' >"$tmp/times.csv"
check times_of_a_kernel "$(result $step --kernel-times "$tmp/times.csv" | grep -c 'stand in place') $(result $step --kernel-times "$tmp/times.csv" | grep -c 'no kernel of the step')" "1 0"
# two factors for one name would be multiplied, each said to count alone; a third number of a window was passed over
expect scaled_twice 2 "--scale: gemm is given twice" "$STEPCAST" run $step --scale gemm=2 --scale gemm=3
expect scaled_each 0 "attention takes 3 times as long" "$STEPCAST" run $step --scale gemm=2 --scale attention=3 --json -
for window in 1,2,3 1024,abc 1024,, "1024;"; do
    expect "window of $window" 2 "--window-size takes keys before and after, not '$window'" "$STEPCAST" run $step --window-size "$window"
done
check windows "$(for window in 1023 1023,0 '(1023, 0)' '[1023,-1]'; do result $step --window-size "$window" | field step_time_us; done | uniq | wc -l)" 1

# PyTorch's FSDP keeps copies of its shards on one rank too: whether they are given back changes what they take
alone="--num-layers 12 --hidden-size 1536 --num-attention-heads 16 --vocab-size 151936 --gpus 1 --seq 2048 --global-batch 4 --zero 3 --software torchtitan-2024 --cluster hgx-h200:1"
check copies_of_one_rank "$("$STEPCAST" run $alone --reshard-after-forward no | grep -c 'reshard-after-forward has no effect')$(
    for word in yes no; do "$STEPCAST" run $alone --reshard-after-forward $word --json - | sed -n 's/.*"memory_bytes": {"weights": \([0-9]*\),.*/\1/p'; done | sort -u | wc -l)" 02

# inputs that say their own plan, models without experts, kernels and collectives of another kind
"$STEPCAST" gen $wide --cluster h100:1 --ignore-memory -o "$tmp/w.txt" >/dev/null 2>&1
expect auto_plan_of_a_file 0 "--plan has no effect: the input says its own" "$STEPCAST" run "$tmp/w.txt" --plan auto --json -
unused "moe-imbalance 2" "the model has no experts" --model llama3-8b --gpus 8
expect kernels_of_no_experts 0 "--moe-kernels has no effect: the model has no experts" "$STEPCAST" kernels --model llama3-8b --moe-kernels fused
while IFS='|' read -r option why; do
    expect "all-reduce: $option" 0 "--${option%% *} has no effect: $why" "$STEPCAST" coll all_reduce --cluster dgx-h100:16 --$option
done <<'END'
two-level|only an all-to-all has two levels
no-pxn|only an all-to-all changes rails (PXN)
net-channels 4|only messages have channels to a peer
cc dcqcn|only --net packet has congestion control
leave-one-out|only --validate fits
END
check words_that_count "$("$STEPCAST" coll alltoall --cluster dgx-h100:16 --two-level --net-channels 4 | grep -c 'busbw\|has no effect')" 1

# plans: what none of those that are shown has a use for, but not what one has
search="--cluster dgx-h100:16 --global-batch 32 --seq 4096 --top 4 -j 1"
expect plans_in_vain 0 "--moe-kernels has no effect: the model has no experts" "$STEPCAST" plans --model llama3-8b $search --moe-kernels fused
check plans_not_in_vain "$("$STEPCAST" plans --model llama3-8b $search --cp-comm-type a2a --cp 2 --json - | grep -c '"plans"\|has no effect')" 1
# … and a plan that is found says its notes once
"$STEPCAST" run --model llama3-8b $(echo $search | sed 's/--top 4//') --plan auto >"$tmp/auto"
check notes_once "$(grep -c 'megatron-core-2025 is assumed' "$tmp/auto") $(grep -c ' times)' "$tmp/auto")" "1 0"

# show: a model of Megatron's flags on a cluster was not shown but the cluster; without a model its plan says nothing
check flags_on_a_cluster "$("$STEPCAST" show --num-layers 4 --hidden-size 4096 --num-attention-heads 32 --seq 2048 --cluster dgx-h100:8 | sed -n 's/^  layers .* of width \(4096\),.*/ \1/p')" " 4096"
for subject in "--cluster dgx-h100:8" "--gpu h100-sxm" "--software torchtitan-2026"; do
    expect "a plan without a model $subject" 0 "--tp has no effect: no model is given" "$STEPCAST" show $subject --tp 4
done

# compare as JSON has the notes of a side that is simulated
check compared_notes "$("$STEPCAST" compare "$tmp/w.txt" "$tmp/w.txt" --top-k 3 --json - | grep -c -- '--top-k has no effect')" 2

# most failures of a small job are those that its set has of software, whatever the size
expect failures_of_software 0 "one in 20.6 h, which is taken to fail as often in a job of 16 GPUs as in that of the set; machines fail once in 155 days" "$STEPCAST" train --model llama3-8b --cluster dgx-h100:16 --tp 2 --global-batch 16 --seq 2048 --zero 1 --train-tokens 1B
check failures_of_machines "$("$STEPCAST" train --model llama3-8b --cluster dgx-h100:16384 --tp 2 --global-batch 8192 --seq 2048 --zero 1 --train-tokens 1B | grep -c 'ETTR\|most failures are of software')" 1

# a rate for nodes of which none needs it
"$STEPCAST" convert "$tmp/one.json" --to chakra -o "$tmp/chakra" --cluster dgx-h100:16 >/dev/null 2>&1
for rate in "peak-flops 1e14" "memory-bandwidth 1TB/s"; do
    expect "chakra: $rate" 0 "--${rate% *} has no effect: no node lacks a duration" "$STEPCAST" run "$tmp/chakra" --$rate --json -
done

# measurements beside each other: what says how a side is simulated
printf '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 0, "dur": 100, "args": {"stream": 7}}]}' >"$tmp/measured.json"
expect measured_not_simulated 0 "     --slow has no effect: neither side is simulated (sim:PATH)" "$STEPCAST" compare "$tmp/measured.json" "$tmp/measured.json" --slow rank:0=2
check measured_notes "$("$STEPCAST" compare "$tmp/measured.json" "$tmp/measured.json" --slow rank:0=2 --json - | grep -c -- '--slow has no effect') $("$STEPCAST" compare "$tmp/measured.json" "sim:$tmp/measured.json" --slow rank:0=2 | grep -c 'no effect\|straggler')" "1 1"

# stages of 32 GPUs in nodes of 12 that share four NICs: how many transfers meet on one is that of the first ranks
shared='gpus=96 node=12 gpu=h200 nvlink=450GB/s nics=4 nic=200Gbps'
uneven="--model llama3-8b --tp 4 --pp 3 --dp 8 --zero 1 --seq 2048 --global-batch 48 --uneven-stages --ignore-memory"
nics() { "$STEPCAST" run $uneven --cluster "$shared" "$@" 2>/dev/null | grep -o 'step time\|where 12 GPUs share 4 NICs' | paste -sd,; }
check shared_nics "$(nics)" "step time,where 12 GPUs share 4 NICs"
check shared_nics_by_flow "$(nics --net flow)" "step time"
check shared_nics_of_whole_nodes "$(nics --dp 9 --global-batch 54 --cluster 'gpus=108 node=12 gpu=h200 nvlink=450GB/s nics=4 nic=200Gbps')" "step time"
