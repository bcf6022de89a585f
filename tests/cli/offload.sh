#!/bin/sh
# What waits on the host: asked for by options, launch scripts and configurations, and refused.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
if ! command -v python3 >/dev/null; then
    echo "skip offload [needs command:python3]"
    exit 0
fi
plan="--model llama3-8b --gpus 8 --seq 4096 --global-batch 16 --ignore-memory"
run="$STEPCAST run $plan"

expect says_it 0 "GiB of each rank on its host" $run --zero 1 --offload-optimizer 1
expect says_what_it_rests_on 0 "host-threads; torchrun" $run --zero 1 --offload-optimizer 1
expect percent 0 "step time" $run --zero 1 --offload-optimizer 50%
for bad in 1.5 -0.1 nan inf -1 150% x ""; do
    expect "share '$bad'" 2 "offload-optimizer" $run --offload-optimizer "$bad"
done
for bad in 0 -1 33 4294967296 1e9 nan; do
    expect "layers '$bad'" 2 "offload-activations" $run --offload-activations "$bad"
done
for bad in 0 -1 1.5 4294967296; do
    expect "threads '$bad'" 2 "host-threads" $run --zero 1 --offload-optimizer 1 --host-threads "$bad"
done
expect params_need_shards 2 "add --zero 3" $run --offload-params
expect params_stay_gathered 2 "reshard-after-forward yes" $run --pp 2 --zero 3 --offload-params
expect params_of_a_pipeline 0 "step time" $run --pp 2 --zero 3 --offload-params --reshard-after-forward yes
expect muon 2 "not modelled" $run --optimizer muon --offload-optimizer 1
expect more_threads_than_cores 0 "host-threads 500: a rank has 14 of the host's cores" $run --zero 1 --offload-optimizer 1 --host-threads 500
expect no_optimizer 0 "offload-optimizer has no effect" $run --no-optimizer --offload-optimizer 1
expect no_copies 0 "overlap-offload has no effect" $run --overlap-offload yes
expect no_rows 2 "cannot hold copies to and from the host" "$STEPCAST" gen $plan --offload-activations 4 --to workload-text -o "$tmp/x.txt"
for bad in host-link=0GB/s host-link=-1GB/s host-memory=fast host-cores=0 host-gpus=0 host-size=0B; do
    expect "cluster $bad" 2 "${bad%%=*}" "$STEPCAST" run --model llama3-8b --cluster "dgx-h100:8 $bad"
done
# 8 billion parameters on one rank are 120 GiB there
expect host_too_small 1 "on a host that has 100.0" "$STEPCAST" run --model llama3-8b --seq 512 --gpus 1 --cluster "dgx-h100:1 host-size=100GiB" --gpu b200 --zero 2 --offload-optimizer 1 --overlap-offload yes
expect host_large_enough 0 "step time" "$STEPCAST" run --model llama3-8b --seq 512 --gpus 1 --cluster "dgx-h100:1 host-size=130GiB" --gpu b200 --zero 2 --offload-optimizer 1 --overlap-offload yes
expect unknown_host 2 "what host a" "$STEPCAST" run $plan --gpu "$(python3 -S - "$tmp" <<'P'
import json, sys
g = json.load(open("data/gpus/h200.json"))
g["name"] = "h201"
g["aliases"] = []
path = sys.argv[1] + "/h201.json"
json.dump(g, open(path, "w"))
print(path)
P
)" --offload-optimizer 1

expect launch_file 1 "what waits on the host is not written" "$STEPCAST" plans --model llama3-8b --gpus 8 --cluster dgx-h100:8 --global-batch 16 --seq 4096 --tp 2 --pp 1 --micro-batch 1 --offload-optimizer 1 --zero 1 --write-launch "$tmp/launch.sh"
# the step written down and read again is the same
json() { "$@" --json - 2>/dev/null; }
value() { python3 -S -c 'import json,sys
x = json.load(sys.stdin)
for k in sys.argv[1].split("."): x = x[k]
print(x)' "$1"; }
all="--zero 3 --offload-params --offload-optimizer 0.5 --overlap-offload yes --offload-activations 8"
"$STEPCAST" gen $plan $all --to ir-json -o "$tmp/ir.json" >/dev/null 2>&1
check written_and_read "$(json "$STEPCAST" run "$tmp/ir.json" | value step_time_us)" "$(json $run $all | value step_time_us)"
check in_the_settings "$(json $run $all | python3 -S -c 'import json,sys
s = json.dumps(json.load(sys.stdin))
print(all("offload-" + k in s for k in ("optimizer", "params", "activations")))')" True

# launch scripts
launch() { # name, flags: what the script stands for
    cat >"$tmp/$1.sh" <<L
#!/bin/bash
$3
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 \
  --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 8 --vocab-size 32000 --bf16 --use-distributed-optimizer $2
L
    json "$STEPCAST" run --megatron-args "$tmp/$1.sh" --cluster dgx-h100:8
}
base="--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq 1024 --max-position-embeddings 1024 --micro-batch 1 --global-batch 8 --vocab-size 32000 --zero 1 --overlap-grad no --cross-entropy unfused --cluster dgx-h100:8 --gpus 8"
same() { check "$1" "$(launch "$1" "$2" "$4" | value step_time_us)" "$(json "$STEPCAST" run $base $3 | value step_time_us)"; }
same flag "--optimizer-cpu-offload" "--offload-optimizer 1 --host-threads 1"
same fraction "--optimizer-offload-fraction 0.25 --optimizer-cpu-offload" "--offload-optimizer 0.25 --host-threads 1"
same fraction_alone "--optimizer-offload-fraction 0.25" ""
same overlap "--optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d" "--offload-optimizer 1 --overlap-offload yes --host-threads 1"
same threads "--optimizer-cpu-offload" "--offload-optimizer 1 --host-threads 8" "export OMP_NUM_THREADS=8"
same layers "--cpu-offloading-num-layers 4" "--offload-activations 4"
same no_layers "--cpu-offloading-num-layers 0" ""
launch bad_fraction "--optimizer-cpu-offload --optimizer-offload-fraction 1.5" >/dev/null
expect script_bad_fraction 2 "not a share between 0 and 1" "$STEPCAST" run --megatron-args "$tmp/bad_fraction.sh" --cluster dgx-h100:8
launch many_layers "--cpu-offloading-num-layers 9" >/dev/null
expect script_many_layers 2 "more than the 8 layers" "$STEPCAST" run --megatron-args "$tmp/many_layers.sh" --cluster dgx-h100:8

# DeepSpeed, torchtitan, trainers
deepspeed() { printf '{"train_batch_size": 16, "train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "zero_optimization": {"stage": 3, %s}}' "$1" >"$tmp/ds.json"; }
of_file() { json "$STEPCAST" run "$tmp/ds.json" --model llama3-8b --gpus 8 --seq 4096 --ignore-memory | value step_time_us; }
options="$STEPCAST run --model llama3-8b --gpus 8 --seq 4096 --ignore-memory --global-batch 16 --micro-batch 1 --software deepspeed --zero 3"
deepspeed '"offload_optimizer": {"device": "cpu", "ratio": 0.3}'
check deepspeed_ratio "$(of_file)" "$(json $options --offload-optimizer 0.3 --overlap-offload yes | value step_time_us)"
deepspeed '"offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu", "pin_memory": true}'
check deepspeed_both "$(of_file)" "$(json $options --offload-optimizer 1 --overlap-offload yes --offload-params | value step_time_us)"
deepspeed '"offload_optimizer": {"device": "none"}'
check deepspeed_none "$(of_file)" "$(json $options | value step_time_us)"
deepspeed '"offload_optimizer": {"device": "nvme"}'
expect deepspeed_disk 0 "offload_optimizer.device nvme changes the step and is not modelled" "$STEPCAST" run "$tmp/ds.json" --model llama3-8b --gpus 8 --seq 4096 --ignore-memory
deepspeed '"offload_optimizer": {"device": "cpu", "ratio": 7}'
expect deepspeed_bad_ratio 2 "not a share between 0 and 1" "$STEPCAST" run "$tmp/ds.json" --model llama3-8b --gpus 8 --seq 4096 --ignore-memory
deepspeed '"offload_optimizer": {"device": "cpu", "ratio": "nan"}'
expect deepspeed_no_ratio 2 "offload-optimizer" "$STEPCAST" run "$tmp/ds.json" --model llama3-8b --gpus 8 --seq 4096 --ignore-memory
printf 'base_model: mistralai/Mistral-7B-v0.1\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: true\nfsdp_config:\n  fsdp_offload_params: true\n' >"$tmp/axolotl.yaml"
expect axolotl 0 "GiB of each rank on its host" "$STEPCAST" run "$tmp/axolotl.yaml" --gpus 8 --ignore-memory
printf 'model_name_or_path: meta-llama/Meta-Llama-3-8B\nstage: sft\nfinetuning_type: full\ndeepspeed: examples/deepspeed/ds_z2_offload_config.json\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n' >"$tmp/factory.yaml"
expect llama_factory 0 "GiB of each rank on its host" "$STEPCAST" run "$tmp/factory.yaml" --gpus 8 --ignore-memory
expect band_says_so 0 "none of them offloads to the host)" $run --zero 1 --offload-optimizer 1 --cluster dgx-h100:8

# bytes over the link: shards of N weights in two bytes for forward and for backward, their gradients in four; weights that stay on
# the host do not come back from the update
hosted() { "$STEPCAST" run --model llama3-8b --num-layers 4 --cluster dgx-h100:8 --global-batch 8 --seq 1024 --ignore-memory "$@" --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["comm"]["host"]["bytes"])'; }
weights=$((4 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096) + 2 * 128256 * 4096 + 4096))
check weights_that_stay "$(hosted --zero 3 --offload-params) $(hosted --zero 3 --offload-params --offload-optimizer 1)" "$((4 * weights / 8)) $((8 * weights / 8))"
# activations leave and come back: of a layer that is computed again its input, of any other all of them
block="--recompute full --recompute-method block --recompute-layers 1"
whole=$(hosted --offload-activations 1)
check activations_of_a_block "$(hosted $block --offload-activations 1) $(hosted $block --offload-activations 2)" "$((2 * 2 * 1024 * 4096)) $((2 * 2 * 1024 * 4096 + ${whole:-0}))"
# a rank that shares weights with none adds its gradients up where they are made, unless they leave for the host meanwhile
alone="--model llama3-8b --tp 8 --gpus 8 --seq 1024 --global-batch 8 --fusion 2021 --ignore-memory --offload-optimizer 1"
alone_step() { "$STEPCAST" run $alone "$@" --json - 2>/dev/null | sed -n 's/^ *"step_time_us": \([0-9.]*\).*/\1/p' | head -1; }
check sums_of_a_rank_alone "$(alone_step --zero 2)" "$(alone_step --zero 0 | grep .)"
check sums_on_the_host "$(echo "$(alone_step --zero 2 --overlap-offload yes) $(alone_step --zero 0 --overlap-offload yes)" | awk '{ print NF == 2 && $1 < $2 }')" 1
# DeepSpeed's buffer of 500 million gradients, and what is flattened of it, a rank alone has too
kept() { "$STEPCAST" run --model llama3.2-1b --gpus 1 --software deepspeed --seq 1024 --zero "$1" --json - 2>/dev/null | sed -n 's/.*"gradients": \([0-9]*\).*/\1/p' | head -1; }
check buckets_of_a_rank_alone "$(echo "$(kept 2) $(kept 0)" | awk 'NF == 2 { print $1 - $2 }')" 2000000000
check fsdp_of_a_rank_alone "$("$STEPCAST" run --model llama3.2-1b --gpus 1 --software deepspeed --seq 1024 --zero 1 --use-torch-fsdp2 | grep -o -e 'gradients [0-9.]*' -e '--[a-z2-]* has no effect: no other rank' | paste -sd,)" \
    "$("$STEPCAST" run --model llama3.2-1b --gpus 1 --software deepspeed --seq 1024 --zero 0 | grep -o 'gradients [0-9.]*'),--zero has no effect: no other rank,--use-torch-fsdp2 has no effect: no other rank"
