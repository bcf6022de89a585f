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
