# Files of other projects as their authors published them (../shared/inputs, not part of
# this one; INDEX.md there says what each should give). Skipped where they are absent.
S=${STEPCAST:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
inputs=../shared/inputs
if [ ! -f "$inputs/INDEX.md" ]; then
    echo "skip ../shared/inputs is not here"
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
    python3 - "$dir/one.json" "$1" "$2" <<'P'
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
run_script train_llama3_8b_h100_fp8.sh --ignore-memory && billions 8.03 0.001 && gpus 8
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
run_script rocm_mamba_train.sh
refused $? 'layers of Mamba are not modelled'
check "Mamba is refused" $?
run_script run_32xH20.sh
refused $? 'run_32xH20.sh:57: error: the script exits here before it trains' && grep -q 'WORLD_SIZE' "$dir/err"
check "a script that wants WORLD_SIZE says so" $?
run_script run_32xH20.sh --set WORLD_SIZE=4 --set RANK=0 --set MASTER_ADDR=x --set MASTER_PORT=1 --set 6=bf16 --set 4=false --set 5=false --ignore-memory && gpus 32 && grep -q '"dtype": "bf16"' "$dir/out.json"
check "and runs with it" $?
run_script finetune_llama.sbatch --ignore-memory && billions 6.9 0.02 && gpus 8
check "rmsnorm, --zero-stage, the branch of the else" $?
