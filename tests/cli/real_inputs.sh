# Files of other projects as their authors published them (../shared/inputs, not part of
# this one; INDEX.md there says what each should give). Skipped where they are absent.
S=${STEPCAST:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
inputs=${STEPCAST_SHARED:-../shared}/inputs
if [ ! -f "$inputs/INDEX.md" ]; then
    echo "skip real_inputs [needs shared]"
    exit 0
fi
check() { if [ "$2" = 0 ]; then echo "ok $1"; else echo "not ok $1"; cat "$dir/err"; fi; }
run_script() { # file, options…
    file=$inputs/megatron/$1
    shift
    options=$*
    "$S" run --megatron-args "$file" $options --json "$dir/out.json" >"$dir/out" 2>"$dir/err"
}
# Parameters in billions of the script just run: on one GPU that shards nothing, Adam
# keeps 12 bytes for each.
billions() {
    "$S" run --megatron-args "$file" $options --seq 1024 --gpus 1 --tp 1 --pp 1 --cp 1 --ep 1 --etp 1 --vpp 1 --global-batch 1 \
        --micro-batch 1 --zero 0 --dtype bf16 --grad-dtype fp32 --mtp-num-layers 0 --ignore-memory --json "$dir/one.json" >/dev/null 2>"$dir/err" || return 1
    python3 -S - "$dir/one.json" "$1" "$2" <<'P'
import json, sys
n = json.load(open(sys.argv[1]))["memory_bytes"]["optimizer"] / 12e9
assert abs(n - float(sys.argv[2])) <= float(sys.argv[3]) * n, n
P
}
gpus() { grep -q "^$1 GPUs:" "$dir/out"; }
refused() { [ "$1" = 3 ] && grep -q "$2" "$dir/err"; }

# ---- launch scripts ----
run_script meg_ds_3d_gpt2_perf_n16.slurm --ignore-memory && billions 52 0.01 && gpus 64 && grep -q '"recompute": "full"' "$dir/out.json"
check "MSIZE=52 takes its branch, 16 nodes of 4" $?
run_script train_gpt3_175b_distributed.sh --gpus 1024 --tp 4 --ignore-memory && gpus 1024 && grep -q 'tp 4' "$dir/out"
check "the command line wins over the script" $?
run_script train_gpt3_175b_distributed.sh && billions 175 0.01 && gpus 128 && grep -q 'needs a multiple of 128' "$dir/out.json"
check "gpt3-175b as it stands" $?
run_script train_mixtral_8x7b_distributed.sh && billions 46.7 0.005 && gpus 32
check "mixtral as it stands" $?
run_script pretrain_deepseek3_671b_4k_A3_ptd.sh --ignore-memory && billions 671.0 0.001 && gpus 512
check "deepseek-v3 of MindSpeed: 512 GPUs, 61 layers of 64" $?
run_script train_llama3_8b_h100_fp8.sh && billions 8.03 0.001 && gpus 8
check "llama3-8b in fp8: 8 GPUs" $?
run_script deepseek-v3.sh --seq 4096 --gpus 8 --ignore-memory && billions 671.0 0.001
check "deepseek-v3 of slime: --moe-layer-freq" $?
run_script sbatch_mfsdp_deepseek_v3.sh --ignore-memory && billions 671.0 0.001 && gpus 8 && grep -q 'multi-token prediction' "$dir/out.json"
check "deepseek-v3 in a here-document for sbatch" $?
run_script llama3.1-8B-Instruct.sh --seq 4096 --ignore-memory && billions 8.030 0.0005
check "--use-rotary-position-embeddings" $?
run_script glm4.5-106B-A12B.sh --seq 4096 --ignore-memory && billions 106.85 0.005
check "\$((…)) in an array" $?
run_script moonlight.sh --seq 4096 --ignore-memory && billions 15.96 0.005
check "a loop that builds --moe-layer-freq" $?
run_script 02_train.sh --ignore-memory --uneven-stages && gpus 8 && grep -q 'pp 8' "$dir/out"
check "gpt-oss: pp from \$WORLD_SIZE" $?
run_script pretrain_deepseek2_lite_16b_ptd_16p.sh && billions 15.7 0.005 && gpus 16
check "alltoall_seq, --n-shared-experts" $?
run_script pretrain_qwen3_0point6b_4K_ptd.sh && billions 0.596 0.001 && gpus 8
check "--padded-vocab-size" $?
# 800M takes its branch: tp 1, 48 layers of 1024 (24 of them feed-forward, 4 attention)
run_script rocm_mamba_train.sh && gpus 8 && grep -q 'tp 1 · pp 1 · dp 8' "$dir/out" && grep -q '0.4484 B parameters' "$dir/out"
check "Mamba and attention by their parts, the branch of the case" $?
run_script run_32xH20.sh
refused $? 'run_32xH20.sh:57: error: the script exits here before it trains' && grep -q 'WORLD_SIZE' "$dir/err"
check "a script that wants WORLD_SIZE says so" $?
run_script run_32xH20.sh --set WORLD_SIZE=4 --set RANK=0 --set MASTER_ADDR=x --set MASTER_PORT=1 --set 6=bf16 --set 4=false --set 5=false --ignore-memory && gpus 32 && grep -q '"dtype": "bf16"' "$dir/out.json"
check "and runs with it" $?
run_script finetune_llama.sbatch --ignore-memory && billions 6.738 0.001 && gpus 8
check "rmsnorm, --zero-stage, the branch of the else" $?

# ---- Kineto traces ----
shown() { "$S" show "$@" >"$dir/out" 2>"$dir/err"; }
kineto=$inputs/kineto
shown "$kineto/resnet_act_checkpoint.json.gz" && grep -q 'ProfilerStep#15, 18.98 ms' "$dir/out" && grep -q 'ProfilerStep#16, 18.98 ms' "$dir/out" && grep -q 'ProfilerStep#17, 18.55 ms' "$dir/out"
check "kernels launched before the profile belong to no step" $?
"$S" run "$kineto/resnet_act_checkpoint.json.gz" >"$dir/out" 2>"$dir/err" && grep -q 'the traced step took 18.98 ms' "$dir/out"
check "a run says what the traced step took" $?
shown "$kineto/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz" && grep -q 'ProfilerStep#6, 33.13 ms' "$dir/out" && ! grep -q 'no operator' "$dir/out"
check "and every kernel of the step has its operator" $?
shown "$kineto/alexnet_trace.json.gz" && ! grep -q empty_strided "$dir/out" && grep -q 'compute   10.69 ms per step' "$dir/out" && grep -q '55.50 ms  16 x aten::copy_' "$dir/out"
check "operators by their launches; host and copies are not compute" $?
"$S" run "$kineto/dlrm8" --json "$dir/out.json" >"$dir/out" 2>"$dir/err" && python3 -S - "$dir/out.json" <<'P'
import json, sys
d = json.load(open(sys.argv[1]))
share = sum(d["breakdown_us"]["exposed_comm"].values()) / d["step_time_us"]
assert 0.28 < share < 0.59, share  # what `show` says of the eight ranks
P
check "NCCL kernels without metadata are communication in run as in show" $?
"$S" run "$kineto/ns_resolution_rank0.json.gz" --dp 8 >"$dir/out" 2>"$dir/err" && grep -q '102.2 MB' "$dir/out"
check "--dp takes the gradients of one step" $?

# ---- Chakra, profiler tables, workloads ----
"$S" run "$inputs/chakra/T2D" >"$dir/out" 2>"$dir/err"
refused $? "process group '0.0' is not defined" && grep -qF -e "--comm-group $inputs/chakra/T2D/comm_group.json" "$dir/err"
check "groups that lie beside the traces are named" $?
"$S" run "$inputs"/chakra/T2D/*.et --comm-group "$inputs/chakra/T2D/comm_group.json" >"$dir/out" 2>"$dir/err" && grep -q '16 GPUs' "$dir/out" && grep -q 'group of 4 by 4' "$dir/out"
check "process group \"0.0\" is 0" $?
rt=$inputs/chakra/rt_template
"$S" run "$rt"/*.et --astra-network "$rt/inputs/network_cfg.yml" --astra-system "$rt/inputs/system_cfg.json" --compat astra --json "$dir/out.json" >/dev/null 2>"$dir/err" &&
    grep -q '"step_time_us": 117.78,' "$dir/out.json" && grep -q '117780' "$rt/refs/stdout.txt"
check "ASTRA-sim's own regression: four splits, 117780 ns" $?
shown "$inputs/profiler/commented_table.py" && grep -q 'aten::pow  *1.737 ms' "$dir/out"
check "a profiler table behind '# '" $?
shown "$inputs/profiler/dataloader_mul.txt" && ! grep -q elementwise "$dir/out" && grep -q 'host  *40.44 s' "$dir/out"
check "a data loader is no multiplication" $?
"$S" run "$inputs/workload/DLRM_HybridParallel.txt" --gpus 16 >"$dir/out" 2>"$dir/err" && grep -q '3.388 MB' "$dir/out"
check "HYBRID_DLRM with its number" $?
"$S" run "$inputs"/workload/L65B* >"$dir/out" 2>"$dir/err"
refused $? 'ends after 33 of 839 rows'
check "a workload that is cut" $?

# ---- configurations ----
megatron=$inputs/megatron
"$S" run "$megatron/MoEZoo_DeepSeek-V3.yaml" >"$dir/out" 2>"$dir/err"
refused $? 'has no value: ${TP} is not set' && grep -q 'give it with --set TP=value' "$dir/err"
check "flags in YAML whose variables are not given" $?
"$S" run "$megatron/MoEZoo_DeepSeek-V3.yaml" --set TP=2 --set PP=8 --set EP=64 --set CP=1 --set MBS=1 --set GBS=2048 --set SEQ_LEN=4096 --uneven-stages \
    --ignore-memory >"$dir/out" 2>"$dir/err" && gpus 512
check "and with them" $?
"$S" run "$megatron/functional_model_config.yaml" >"$dir/out" 2>"$dir/err" && gpus 4 && grep -q 'tp 2 · pp 2' "$dir/out"
check "a functional test of Megatron" $?
"$S" run "$megatron/gptneox_20B.yml" --gpus 96 --ignore-memory >"$dir/out" 2>"$dir/err" && grep -q '^96 GPUs: tp 2 · pp 4 · dp 12 · 32 micro-batches' "$dir/out"
check "GPT-NeoX-20B on its 96 GPUs" $?
"$S" run "$megatron/ds_zero3.json" --model llama3-8b --gpus 8 --seq 4096 --json "$dir/out.json" >"$dir/out" 2>"$dir/err" && grep -q '"zero": "*3' "$dir/out.json"
check "DeepSpeed's ZeRO 3" $?

# ---- show says what a file is, and what to do with it ----
is() { # name, text, file
    "$S" show "$inputs/$3" >"$dir/out" 2>"$dir/err" && grep -qF "is        $2" "$dir/out" && grep -q '^  do        .' "$dir/out"
    check "show knows $1" $?
}
is "a host trace of PyTorch" "an execution trace of PyTorch's host" chakra/pytorch_host_et.json.gz
# the calls behind the set-up that send something: as awk counts them
aicb="$inputs/workload/aicb_physical_head200.csv"
calls=$(awk -F, '/epoch_end/ { epoch++ } epoch == 1 && /all_reduce/ && $4 > 0 { n++; bytes += $4 } END { printf "ALLREDUCE × %d, %.3f GB", n, bytes / 1e9 }' "$aicb")
shown "$aicb" && grep -q "$calls" "$dir/out" && grep -q '128 ranks: tp 8, cp 1, ep 1, dp 16, pp 1' "$dir/out" && "$S" run "$aicb" --cluster dgx-a100:128 >"$dir/out" 2>"$dir/err" && grep -q 'communication alone' "$dir/out"
check "AICB's calls for real clusters" $?
# the sum of its e2e_latency is 28.62098 ms
[ "$("$S" run "$inputs/neusight/bert_large-train-512-8.csv" --json - 2>/dev/null | sed -n 's/^ *"step_time_us": \([0-9]*\).*/\1/p' | head -1)" = 28620 ]
check "NeuSight's own output" $?
is "htsim's topologies" "a fat tree of htsim" topology/8nodes.topo
is "networks of ASTRA-sim 1" "a network of ASTRA-sim 1" topology/astra1_dgx2.json
is "topologies of ns-3" "a topology of ns-3" topology/astra_ns3_topology.txt
is "NCCL's topologies" "NCCL's description of a node" topology/topo_8A100_4CX6.xml
is "topologies of SimAI" "a topology of SimAI" topology/Meta_Topo_256g_8gps_400Gbps_A100
is "models" "a model of Hugging Face" hf/bloom_config.json
is "logs of nccl-tests" "a log of nccl-tests" nccl/autodl_2x2080ti.md
cluster() { # file, text
    "$S" show --cluster "$inputs/topology/$1" >"$dir/out" 2>"$dir/err" && grep -qF "$2" "$dir/out"
    check "--cluster $1" $?
}
cluster 8nodes.topo "32 links, 0 NVSwitches, 12 switches"
cluster astra1_dgx2.json "dimension 0: switch of 16, 161.1 GB/s a link"
cluster astra_ns3_topology.txt "4 × GPU, NVSwitch 600 GB/s a GPU"
cluster topo_8A100_4CX6.xml "4 NICs, 25 GB/s (200 Gb/s) each"
"$S" run "$inputs/chakra/pytorch_host_et.json.gz" >"$dir/out" 2>"$dir/err"
refused $? "is an execution trace of PyTorch's host"
check "run names what it cannot run" $?
shown "$inputs/megatron" && grep -q 'ds_zero3.json  *a configuration of DeepSpeed' "$dir/out" && grep -q '20 files' "$dir/out"
check "a folder of all kinds is sorted out" $?
"$S" run "$inputs"/workload/L7B* --gpus 64 >"$dir/out" 2>"$dir/err" && [ "$(grep -c 'tp is 1: the collectives' "$dir/out")" = 1 ] && grep -q 'ZeRO-3 (12 times)' "$dir/out"
check "equal notes are printed once, with a count" $?

# ---- topologies: GPUs of one server talk over NVLink, in the flow engine as in the other ----
for f in Meta_Topo_256g_8gps_400Gbps_A100 Zcube_n16_k2_256g_8gps_200Gbps_H100 DCN+DualToR_128g_8gps_200Gbps_H100 DCN+SingleToR_256g_8gps_400Gbps_H100; do
    for net in flow analytic; do
        "$S" coll all_gather --cluster "$inputs/topology/$f" --gpus 8 -b 512M -e 512M --net $net 2>"$dir/err" | grep 'Avg bus' >"$dir/$net"
    done
    test -s "$dir/flow" && cmp -s "$dir/flow" "$dir/analytic" && awk '{ exit !($6 > 200) }' "$dir/flow"
    check "$f" $?
done

# ---- the official trace of PyTorch as Chakra ----
tar xzf "$inputs/chakra/feeder_tests_trace.tar.gz" -C "$dir" 2>"$dir/err" && shown "$dir/tests/data/chakra.0.et" && grep -q 'nodes  *3664' "$dir/out" && grep -q 'ALLREDUCE × 15, 102.2 MB' "$dir/out"
check "a Chakra trace that chakra_converter made of PyTorch's" $?

# ---- schedules of LogGOPSim ----
"$S" run "$inputs/goal/schedule.goal" >"$dir/out" 2>"$dir/err"
refused $? 'deadlock after .* rank 0, operation 29 (recv) waits for rank 3'
check "a schedule whose ranks wait for each other names them" $?
"$S" run "$inputs/goal/test.bin" >"$dir/out" 2>"$dir/err"
refused $? 'of an older LogGOPSim'
check "a binary schedule of an older layout says what to give" $?
