#!/bin/sh
# Hints that are followed: what they say runs, and is the same job.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect

# what does not fit is searched for with all that was said of the job, but the plan
search() { "$STEPCAST" run "$@" 2>&1 | sed -n 's/.*what fits: stepcast //p'; }
check adapters_stay "$(search --model llama3-70b --cluster "dgx-a100:16 nic=100Gbps" --lora 16 --seq 4096 --tp 2 --json "$tmp/x" --global-batch 32)" \
    "plans --model llama3-70b --cluster 'dgx-a100:16 nic=100Gbps' --lora 16 --seq 4096 --global-batch 32"
check gpu_stays "$(search --model llama3-8b --gpu "RTX 4090" --gpus 2 --mbs 4 --gbs 16 --optimizer sgd)" "plans --model llama3-8b --gpu 'RTX 4090' --gpus 2 --gbs 16 --optimizer sgd"
eval "set -- $(search --model llama3-8b --cluster l40s:8 --lora 16 --seq 8192 --global-batch 64 --micro-batch 8 --recompute none)"
expect followed 0 "plans for 8 GPUs" "$STEPCAST" "$@"

# names of other programs
while IFS='|' read -r words hint; do
    expect "elsewhere: $words" 2 "did you mean $hint" "$STEPCAST" $words
done <<'L'
run --model gpt2 --batch-size 8|--global-batch (sequences of a step) or --micro-batch (of a GPU)?
run --model gpt2 --gradient-accumulation-steps 4|--micro-batches?
run --model gpt2 --tensor-parallel-size 2|--tp?
plans --model gpt2 --num-gpus 8|--gpus?
plans --model gpt2 --tokens 1T|--train-tokens?
run --model gpt2 --ctx 512|--seq?
L
expect count_first 2 "write it as H100:8" "$STEPCAST" run --model gpt2 --cluster 8xH100
expect count_last 2 "write it as h100:8" "$STEPCAST" run --model gpt2 --cluster h100x8
expect written_so 0 "on dgx-h100" "$STEPCAST" run --model gpt2 --cluster H100:8
expect a_card_by_its_number 0 "RTX 4090" "$STEPCAST" run --model gpt2 --cluster 4090:1

# files of other tools are named, with what to give instead
printf '{\n  "version": "0.0.4"\n}{\n  "id": "4",\n  "type": "COMM_COLL_NODE",\n  "attr": []\n}\n' >"$tmp/chakra.json"
expect chakra_as_json 3 'a trace is a set of files PREFIX.0.et, PREFIX.1.et, … (or .json)' "$STEPCAST" show "$tmp/chakra.json"
printf '==1== Profiling result:\n            Type  Time(%%)      Time     Calls       Avg  Name\n GPU activities:   15.95%%  1.72898s     28160  61.398us  gemm\n' >"$tmp/nvprof.txt"
printf '"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n"gemm",2,10,5,100\n' >"$tmp/rocprof.csv"
printf 'Start (ns),Duration (ns),CorrId,GrdX,Device,Strm,Name\n1000,2000,11,1,H100,7,gemm\n' >"$tmp/nsys_trace.csv"
expect list_of_nsys 3 'is a list of kernels by Nsight Systems' "$STEPCAST" run "$tmp/nsys_trace.csv"
expect sums_of_rocprof 3 'is sums of kernels by rocprof' "$STEPCAST" run "$tmp/rocprof.csv"
printf '{"version":2,"results":[{"size":8,"out_of_place":{"time":5.0,"alg_bw":1.0}}]}\n' >"$tmp/nccl.json"
expect nccl_tests_as_json 3 'is results of nccl-tests as JSON' "$STEPCAST" run "$tmp/nccl.json"
printf 'numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n0,AllReduce,8,8,float,sum,0,5,1,1,0\n' >"$tmp/rccl.csv"
expect rccl_tests_as_csv 3 'is results of rccl-tests as CSV' "$STEPCAST" run "$tmp/rccl.csv"
printf '#  size  count  type  redop  root  time  algbw  busbw  #wrong\n8 2 float sum -1 5.00 0.00 0.00 0\n' >"$tmp/cut.log"
expect cut_log_of_nccl_tests 3 'is a log of nccl-tests' "$STEPCAST" run "$tmp/cut.log"
printf '<graphs version="1"><graph id="0"><channel><gpu dev="0"/></channel></graph></graphs>\n' >"$tmp/graph.xml"
expect graph_of_nccl 3 'is rings and trees that NCCL chose' "$STEPCAST" show --cluster "$tmp/graph.xml"
printf 'LINK TYPE TABLE:\n   0000:05:00.0 0000:26:00.0\n0000:05:00.0 SELF XGMI\n' >"$tmp/amd_smi.txt"
expect topology_of_amd_smi 3 "is links of a node of AMD's GPUs (amd-smi topology)" "$STEPCAST" show --cluster "$tmp/amd_smi.txt"
printf 'COLOCATED\t\tmodel_parallel_NPU_group: 1\n1\nLayername comp_time input_loc input_size weight_loc weight_size output_loc output_size comm_type comm_size misc\nembedding_0 5621 REMOTE:0 40 LOCAL 10506 LOCAL 12 NONE 0 NONE\n' >"$tmp/batch.txt"
expect batch_of_llmservingsim 3 'is a batch of LLMServingSim' "$STEPCAST" run "$tmp/batch.txt"
expect summary_of_nvprof 3 'is a summary of nvprof' "$STEPCAST" run "$tmp/nvprof.txt"
# a rank that computes where the others do not is over the median by no share of it
printf 'num_ranks 2\nrank 0 {\nl1: send 8b to 1\n}\nrank 1 {\nl1: recv 8b from 0\nl2: calc 90000\n}\n' >"$tmp/one.goal"
check median_of_nothing "$("$STEPCAST" run "$tmp/one.goal" | awk '/over the median/ { getline; print $5, $6, $7 }')" "90.00 us -"
printf 'scheduling-policy: LIFO\npreferred-dataset-splits: 4\nall-reduce-implementation: ring_ring\n' >"$tmp/system.txt"
expect system_of_astra_1 0 'is        a system of ASTRA-sim 1 (text)' "$STEPCAST" show "$tmp/system.txt"
# so are our own: what options take, and what commands have written
expect own_failures 0 'stepcast train --model MODEL --failures FILE' "$STEPCAST" show data/failures/llama3.json
expect own_software 0 'stepcast run --model MODEL --software FILE' "$STEPCAST" show data/software/megatron-core-2025.json
expect own_gpu 0 'stepcast run --model MODEL --gpu FILE' "$STEPCAST" show data/gpus/h100-sxm.json
expect own_cluster 0 'NVSwitch 900 GB/s a GPU' "$STEPCAST" show data/clusters/dgx-b200.json
"$STEPCAST" run tests/data/seed_000.txt --trace "$tmp/own.json" --json "$tmp/result.json" >/dev/null
expect own_trace 3 'is a trace that stepcast has written' "$STEPCAST" compare "$tmp/own.json" "$tmp/result.json"
"$STEPCAST" coll all_reduce --cluster dgx-h100:8 -b 8M -e 8M --json "$tmp/coll.json" >/dev/null
expect own_answer 3 "give a result that 'run --json FILE' has saved" "$STEPCAST" run "$tmp/coll.json"
# a workload of a policy of one's own is a workload
printf 'DATA_OF_MINE\n1\nconv1 -1 10 NONE 0 10 NONE 0 10 ALLREDUCE 4096 1\n' >"$tmp/policy.txt"
expect policy_of_ones_own 3 "policy.txt:1:1: error: unknown parallelism policy 'DATA_OF_MINE'" "$STEPCAST" run "$tmp/policy.txt" --gpus 4
# options that begin with what was typed, those of other tools, and none where nothing is near: --gpu-memory was "did you mean --max-memory?"
hint() { "$STEPCAST" run --model llama3-8b --gpus 8 "$1" 2>&1 | sed -n 's/^  hint: //p'; }
check options_that_begin_so "$(hint --offload)" "did you mean --offload-optimizer, --offload-params or --offload-activations?"
for pair in "quantize qlora" "gpu-type gpu" "cutoff-len seq" "cost price" "epochs train-tokens"; do check "--${pair% *} is --${pair#* }" "$(hint "--${pair% *}")" "did you mean --${pair#* }?"; done
check memory_of_a_gpu "$(hint --gpu-memory)" "did you mean --gpu (whose memory it is: stepcast list gpus)?"
check nothing_is_near "$(hint --moe)" "see 'stepcast help run'"
check thousands "$("$STEPCAST" run --model llama3-8b --gpus 8 --seq 128k 2>&1 | sed -n 's/^  hint: //p')" "write 131072 or 128000"
# names of which none is near: OLMo was "there are glm-4.5-air, glm-4.5, glm-5"
check no_such_family "$("$STEPCAST" run --model allenai/OLMo-7B 2>&1 | sed -n 's/^  hint: //p')" "see 'stepcast list models', or take the config.json of its page on Hugging Face"
# names that begin with what was typed, before those that look like it: llama4 was "did you mean llama-7b?", gcp-a3 gcp-a4
begun() { "$STEPCAST" run --ignore-memory "$@" 2>&1 | sed -n 's/^  hint: //p' | sed 's/, or .*//'; }
check begin_llama4 "$(begun --model llama4 --gpus 8)" "there are llama4-maverick-17b-128e, llama4-scout-17b-16e"
check begin_gpt3 "$(begun --model gpt-3 --gpus 8)" "there are gpt3-1.3b, gpt3-175b, gpt3-2.7b, gpt3-6.7b"
check begin_number "$(begun --model Llama-3.1 --gpus 8)" "there are llama3.1-405b, llama3.1-70b, llama3.1-8b"
check begin_whole_number "$(begun --model pythia-1 --gpus 8)" "there are pythia-1.4b, pythia-1b" # and no 12b, 160m
check begin_one "$(begun --model kimi --gpus 8)" "did you mean kimi-k2?"
check begin_machine "$(begun --model gpt2 --cluster gcp-a3:8)" "there are gcp-a3-high, gcp-a3-mega, gcp-a3-ultra"
check same_number "$(begun --model llama3-7b --gpus 8)" "did you mean llama3-70b?"
# words of a cluster, on the line and in a file
word() { "$STEPCAST" show --cluster "dgx-h100:16$1" 2>&1 | sed -n 's/^  hint: //p'; }
check word_latency "$(word " latency=5us")" "did you mean hop= between nodes, step= inside one?"
check word_nodes "$(word " nodes=2")" "did you mean gpus=? node= is the GPUs of a node"
check word_comma "$(word ",nic=200Gbps")" 'blanks part words: "dgx-h100:64 nic=200Gbps leaf=16"'
check word_of_none "$(word " colour=red" | grep -c '^one of: dims, name, .*nvlink, ')" 1
for pair in 'gpus_per_node|write "node": {"gpus": 8}' 'nvlink|it is a key of "node"' 'gpuss|did you mean "gpus"?' 'colour|one of: '; do
    echo "{\"gpu\": \"h100\", \"${pair%|*}\": 8}" >"$tmp/own.cluster.json"
    check "key ${pair%|*}" "$("$STEPCAST" show --cluster "$tmp/own.cluster.json" 2>&1 | grep -cF "  hint: ${pair#*|}")" 1
done
echo '{"gpu": "h100", "node": 8}' >"$tmp/own.cluster.json"
expect node_of_a_number 3 '"node" takes an object, like {"gpus": 8, "nics": 8, "nic": "400Gbps"}' "$STEPCAST" show --cluster "$tmp/own.cluster.json"
# both directions of a link are not one
nvlink() { "$STEPCAST" run --model gpt2 --cluster "gpu=h100 gpus=8 node=8 nvlink=$1" 2>&1 | tr '\n' ' ' | grep -c "nvlink=900GB/s is both directions of h100-sxm's NVLink"; }
check both_directions "$(nvlink 900GB/s) $(nvlink 450GB/s)" "1 0"
# what fits is said of a run too, and a table without lines is only empty
expect what_fits_a_run 1 "what fits: stepcast plans --model llama3-8b --cluster dgx-h100:256 --train-tokens 15T --global-batch N" "$STEPCAST" train --model llama3-8b --cluster dgx-h100:256 --train-tokens 15T
check empty_table "$("$STEPCAST" run --model gpt2 --gpus 8 --kernel-times /dev/null 2>&1)" "/dev/null:1:1: error: the table is empty"
expect unreachable_gpu 3 "GPU 8 cannot be reached from GPU 0" "$STEPCAST" run --model llama3-8b --zero 1 --recompute full --cluster dgx-h100:64 --fail port0.up
# adapters over weights of 4 bits, and how much stays free: what the hint says is what a run with it has
lora="--model llama3-70b --cluster h100:1 --lora 16 --seq 1024"
said=$("$STEPCAST" run $lora 2>&1 | sed -n 's/^  hint: it fits with --qlora (\([0-9.]* GiB\)).*/\1/p')
check four_bits_fit "$said" "$("$STEPCAST" run $lora --qlora | sed -n 's/^  memory *\([0-9.]* GiB\) of .*/\1/p')"
# Llama-3-8B at 1,024 tokens with ZeRO 3 on eight RTX 3090 fails in an issue of LLaMA-Factory (5977); 95 % of the memory is no room
free() { "$STEPCAST" run --model llama3-8b --seq 1024 --zero 3 --recompute full --software deepspeed --dtype fp16 --micro-batches 2 --cluster $1 2>&1 | tr '\n' ' ' | grep -c "of the memory stays free: allocators fragment"; }
check little_memory_is_left "$(free rtx-3090:8) $(free a100:8)" "1 0"
hybrid="--model llama3-70b --cluster dgx-h100:64 --fsdp --recompute full"
said=$("$STEPCAST" run $hybrid --shard-group 8 2>&1 | sed -n 's/^  hint: it fits with no --shard-group (\([0-9.]* GiB\)).*/\1/p')
check no_shard_group_fits "$said" "$("$STEPCAST" run $hybrid | sed -n 's/^  memory *\([0-9.]* GiB\) of .*/\1/p')"
# words in any case, our own options in a file without its first line, one rank, a page by the option of run
for words in "--precision BF16" "--dtype Bf16" "--recompute FULL" "--fp8-recipe Blockwise --fp8"; do
    small=$(printf %s "$words" | tr '[:upper:]' '[:lower:]')
    check "$words" "$("$STEPCAST" run --model gpt2 --gpus 8 $words | sed -n 5p)" "$("$STEPCAST" run --model gpt2 --gpus 8 $small | sed -n 5p)"
done
printf 'model: llama3-8b\ncluster: dgx-h100:16\nzero: 1\n' >"$tmp/own_options.yaml"
expect options_in_a_file 3 "begins with 'stepcast: job/1'" "$STEPCAST" run "$tmp/own_options.yaml"
check one_rank "$("$STEPCAST" show --model gpt2 2>/dev/null | grep -c '  plan      1 rank: \|  classes   1 kind of ranks;')" 2
expect page_of_a_report 2 "did you mean --output?" "$STEPCAST" report x.json --html y.html

# a type of products alone, a file that is not there
expect dtype_fp8 2 "bf16, fp16, tf32 or fp32; --fp8 or --fp4 beside it" "$STEPCAST" run --model llama3-8b --gpus 8 --dtype fp8
expect no_model_file 3 "nowhere/config.json: error: cannot open: No such file" "$STEPCAST" run --model nowhere/config.json --gpus 8
