#!/bin/sh
# Software profiles on the command line: named, found, explained, refused.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
run="$STEPCAST run --model llama3-8b --gpus 8 --tp 2 --global-batch 16 --seq 4096 --zero 1 --ignore-memory"

expect assumed 0 "megatron-core-2025 is assumed" $run
# before Ampere there is neither FlashAttention 2 nor Transformer Engine
expect assumed_v100 0 "megatron-2021 is assumed" "$STEPCAST" run --model gpt3-1.3b --gpus 8 --cluster dgx-v100:8 --global-batch 8 --ignore-memory
expect assumed_v100_of_torch 0 "megatron-2021 is assumed" "$STEPCAST" run --model gpt3-1.3b --gpus 8 --cluster dgx-h100:8 --gpu "Tesla V100-SXM2-16GB" --global-batch 8 --ignore-memory
for card in t4 rtx-2080-ti; do
    expect "assumed $card" 0 "megatron-2021 is assumed" "$STEPCAST" run --model gpt2 --cluster $card:1 --seq 512
done
expect assumed_as_said 0 "pytorch-eager is assumed" "$STEPCAST" run --model gpt3-1.3b --gpus 8 --cluster dgx-v100:8 --global-batch 8 --ignore-memory --fusion eager
expect named 0 "step time" $run --software nemo-25.04
expect tag 0 "is taken for nemo-24.07" $run --software nvcr.io/nvidia/nemo:24.07
expect unknown 2 "there is no software profile 'nomo-25'" $run --software nomo-25
expect plans 0 "step" "$STEPCAST" plans --model llama3-8b --gpus 8 --global-batch 16 --seq 4096 --software nemo-25.04
expect gen 0 "" "$STEPCAST" gen --model llama3-8b --gpus 8 --tp 2 --global-batch 16 --seq 4096 --ignore-memory --software megatron-2021 --to ir-json -o "$tmp/x.json"

# activations that recipes keep on the host: where weights are sharded, and in no pipeline
host() { "$@" --json - | python3 -S -c 'import json,sys; print(json.load(sys.stdin)["memory_bytes"].get("host", 0))'; }
recipe="$STEPCAST run --model llama3-70b --gpus 64 --seq 8192 --global-batch 256 --fp8 --gpu gb200 --software bridge-26.02.01"
check offloaded_by_recipe "$(host $recipe --micro-batch 2 --zero 3)" "$(host $recipe --micro-batch 2 --zero 3 --offload-activations 40)"
check offloaded_at_all "$(host $recipe --micro-batch 2 --zero 3 | sed 's/^[1-9].*/some/')" some
check none_in_a_pipeline "$(host $recipe --micro-batch 1 --zero 3 --pp 4 --ignore-memory) $(host $recipe --micro-batch 1 --tp 4 --zero 1)" "0 0"

# a profile is what its switches say one by one, and an option goes before it
step() { "$@" --json - | python3 -S -c 'import json,sys; print(json.load(sys.stdin)["step_time_us"])'; }
# (in a file without constants of its own, so that the options alone can say the same)
cat >"$tmp/switches.json" <<'J'
{"schema": "stepcast/software/1", "title": "switches", "stack": "ours", "source": "a test", "from": "2026-01", "to": "2026-12",
 "switches": [{"option": "overlap-tp", "value": "chunks", "why": "w"}, {"option": "sequence-parallel", "why": "w"},
  {"option": "overlap-param", "value": "yes", "why": "w"}, {"option": "grad-dtype", "value": "bf16", "why": "w"},
  {"option": "overlap-p2p", "value": "yes", "why": "w"}]}
J
by_name=$(step $run --software "$tmp/switches.json")
by_hand=$(step $run --overlap-tp chunks --sequence-parallel --overlap-param yes --grad-dtype bf16 --overlap-p2p yes)
check same_as_by_hand "$by_name" "$by_hand"
check option_first "$(step $run --software "$tmp/switches.json" --grad-dtype fp32)" \
    "$(step $run --overlap-tp chunks --sequence-parallel --overlap-param yes --grad-dtype fp32 --overlap-p2p yes)"
check graphs_off "$(step $run --gpu b200 --software bridge-25.09 --cuda-graph none)" \
    "$(step $run --gpu b200 --software nemo-25.04 --cuda-graph none)"

# gathers and scatterings of one communicator take turns: behind each other they keep more waiting than side by side
for n in 0 1; do
    printf '{"schema": "stepcast/software/1", "title": "ours", "stack": "ours", "source": "a test", "from": "2026-01", "to": "2026-12", "like": "fsdp1",
 "switches": [], "constants": [{"name": "one_communicator", "value": %d, "why": "w"}]}' $n >"$tmp/communicator_$n.json"
done
sharded="$STEPCAST run --model llama2-7b --gpus 16 --cluster dgx-a100:16 --seq 512 --micro-batch 1 --global-batch 16 --recompute none --ignore-memory"
check one_communicator "$(python3 -S -c 'import sys; print(float(sys.argv[1]) < float(sys.argv[2]))' \
    "$(step $sharded --software "$tmp/communicator_0.json")" "$(step $sharded --software "$tmp/communicator_1.json")")" True
check one_communicator_of_fsdp "$(step $sharded --software fsdp1)" "$(step $sharded --software "$tmp/communicator_1.json")"

# FSDP without compile runs modules like transformers', whose loss is of wide logits, and AdamW by lists
check fsdp_by_modules "$(step $sharded --software fsdp-eager)" \
    "$(step $sharded --software fsdp1 --fusion hf --cross-entropy fp32 --optimizer adam-foreach --host-launch 8)"
# complex numbers rotate positions without a compiler too
sed 's/"like": "fsdp1"/"like": "torchtitan-2024"/; s/one_communicator/complex_rope/' "$tmp/communicator_0.json" >"$tmp/by_halves.json"
check complex_rope_without_compile "$(python3 -S -c 'import sys; print(float(sys.argv[1]) < float(sys.argv[2]))' \
    "$(step $sharded --fusion hf --software torchtitan-2024)" "$(step $sharded --fusion hf --software "$tmp/by_halves.json")")" True

# DeepSpeed's second stage sums gradients on every rank for every micro-batch, and gathers weights once, when they have
# been updated; its third scatters, and gathers for every forward and backward
deepspeed="$STEPCAST run --model llama2-7b --gpus 8 --cluster dgx-a100:8 --seq 1024 --micro-batch 1 --global-batch 16 --recompute full --ignore-memory"
sent() { "$@" --json - | python3 -S -c 'import json,sys
print(*sorted("%s %s %.1f" % (v["phase"], v["collective"], v["bytes"] / 6738415616 / 2) for v in json.load(sys.stdin)["volumes"] if v["group"] == "dp"), sep=", ")'; }
check deepspeed_sums "$(sent $deepspeed --software deepspeed --zero 2)" "update ALLGATHER 1.0, update ALLREDUCE 2.0"
check deepspeed_scatters "$(sent $deepspeed --software deepspeed --zero 3)" "forward ALLGATHER 4.0, update REDUCESCATTER 2.0"
check others_scatter "$(sent $deepspeed --software megatron-core-2025 --grad-dtype bf16 --zero 2)" "forward ALLGATHER 1.0, update REDUCESCATTER 2.0"
sed 's/"like": "fsdp1"/"like": "deepspeed"/; s/one_communicator/gradient_copies/' "$tmp/communicator_0.json" >"$tmp/no_copies.json"
check deepspeed_copies "$(python3 -S -c 'import sys; print(float(sys.argv[1]) < float(sys.argv[2]))' \
    "$(step $deepspeed --zero 3 --software "$tmp/no_copies.json")" "$(step $deepspeed --zero 3 --software deepspeed)")" True

# torchtitan's tensor parallelism is one by the sequence too
check torchtitan_by_the_sequence "$(step $sharded --tp 2 --software torchtitan-2024)" "$(step $sharded --tp 2 --sequence-parallel --software torchtitan-2024)"

# --explain: every row is the step with that switch said otherwise
$run --software nemo-25.04 --explain --json "$tmp/e.json" >"$tmp/e.txt"
expect explain_text 0 "--grad-dtype bf16" cat "$tmp/e.txt"
without=$(python3 -S -c 'import json,sys
for r in json.load(open(sys.argv[1]))["software"]["set"]:
    if r.get("option") == "grad-dtype": print(r["step_without_us"])' "$tmp/e.json")
check explain_cost "$without" "$(step $run --software nemo-25.04 --grad-dtype fp32)"
together=$(python3 -S -c 'import json,sys
print(json.load(open(sys.argv[1]))["software"]["step_usual_us"])' "$tmp/e.json")
check explain_together "$together" "$(step $run --software megatron-core-2025)"
expect explain_sum 0 "all of it" cat "$tmp/e.txt"
expect explain_input 2 "--explain says what the software" "$STEPCAST" run tests/data/seed_000.txt --explain

# a file
cat >"$tmp/ours.json" <<'J'
{"schema": "stepcast/software/1", "title": "ours", "stack": "ours", "source": "a test", "from": "2026-01", "to": "2026-12",
 "like": "nemo-25.04", "switches": [{"option": "grad-dtype", "value": "fp32", "why": "we say so"}],
 "constants": [{"name": "host_us", "value": 5, "why": "the same"}]}
J
check file "$(step $run --software "$tmp/ours.json")" "$(step $run --software nemo-25.04 --grad-dtype fp32)"
sed 's/grad-dtype/grad-dtpye/' "$tmp/ours.json" >"$tmp/typo.json"
expect file_option 3 "there is no option --grad-dtpye" $run --software "$tmp/typo.json"
sed 's/"value": "fp32"/"value": "fp31"/' "$tmp/ours.json" >"$tmp/value.json"
expect file_value 3 "value.json:2:71: error: switches[0].value: --grad-dtype: unknown 'fp31'" $run --software "$tmp/value.json"
# entries whose conditions do not hold are checked too, and conditions that nothing can meet
sed 's/"why": "we say so"/"gpu": "gb", "why": "we say so"/' "$tmp/typo.json" >"$tmp/elsewhere.json"
expect file_option_elsewhere 3 "there is no option --grad-dtpye" $run --software "$tmp/elsewhere.json"
sed 's/"why": "we say so"/"gpu": "gb", "why": "we say so"/' "$tmp/value.json" >"$tmp/elsewhere.json"
expect file_value_elsewhere 3 "unknown 'fp31'" $run --software "$tmp/elsewhere.json"
sed 's/"why": "we say so"/"precision": "mxpf8", "why": "we say so"/' "$tmp/ours.json" >"$tmp/precision.json"
expect file_precision 3 '"mxpf8" begins no type and no recipe' $run --software "$tmp/precision.json"
sed "s|nemo-25.04|$tmp/circle.json|" "$tmp/ours.json" >"$tmp/circle.json"
expect file_circle 3 "each like the next" $run --software "$tmp/circle.json"
printf '{"zero_optimization": {"stage": 3}}' >"$tmp/ds.json"
expect configuration 0 "step time" $run --software "$tmp/ds.json"
printf 'nothing known' >"$tmp/other.txt"
expect configuration_unknown 3 "neither a software profile nor" $run --software "$tmp/other.txt"

# auto: from a launch script
cat >"$tmp/launch.sh" <<'L'
srun --container-image=nvcr.io/nvidia/nemo:24.09 python pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 \
  --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 8 --vocab-size 32000 --bf16
L
expect auto 0 "names its software: nemo-24.07" "$STEPCAST" run --megatron-args "$tmp/launch.sh" --gpus 8 --software auto
expect auto_nothing 0 "megatron-core-2025 is assumed" $run --software auto
expect show 0 "tp_comm_overlap with user buffers" "$STEPCAST" show --software nemo-25.04
expect show_json 0 '"schema": "stepcast/show-software/1"' "$STEPCAST" show --software nemo-25.04 --json -
expect show_auto 2 "auto names no profile" "$STEPCAST" show --software auto
expect validate_one 0 "mean" "$STEPCAST" validate data/truth/nemo_steps.csv --software megatron-core-2025
expect validate_bad 2 "there is no software profile" "$STEPCAST" validate data/truth/nemo_steps.csv --software nomo
expect validate_both 2 "contradicts" "$STEPCAST" validate data/truth/nemo_steps.csv --software te --nearest-software

# GPT-NeoX is Megatron-DeepSpeed without dropout
neox() { step "$STEPCAST" run --model gpt-neox-20b --num-layers 4 --gpus 8 --tp 8 --global-batch 4 --micro-batch 4 --gpu a100-80 "$@"; }
check neox_drops_nothing "$(python3 -S -c 'import sys
nothing, said, told, usual = map(float, sys.argv[1:])
print(nothing == said, told == usual, nothing < told)' $(neox --software GPT-NeoX; neox --software megatron-deepspeed-2022 --no-dropout
    neox --software GPT-NeoX --dropout; neox --software megatron-deepspeed-2022))" "True True True"

# CUDA_LAUNCH_BLOCKING: what a launch takes is added for every kernel, however little it is; hosts
# that run ahead hide the first half and more of it
blocking() { # us a launch, profile
    step "$STEPCAST" run --model llama3-8b --num-layers 4 --gpus 8 --tp 8 --global-batch 1 --seq 4096 --gpu a100-80 --host-launch "$1" --software "$2"
}
check launches_block "$(python3 -S -c 'import sys
a, b, c, d, e, f = map(float, sys.argv[1:])
print(b > a and abs((c - a) / (b - a) - 4) < 1e-6, (f - d) / (e - d + 1e-9) > 8)' $(for profile in megatron-deepspeed-2022-blocking megatron-deepspeed-2022; do
    blocking 0 $profile; blocking 5 $profile; blocking 20 $profile; done))" "True True"

# transfers slow compute down beside them (here those of the weight gradients), but not chunks
# of tensor parallelism, which copy engines carry
taxed() { # tax, overlap
    cat >"$tmp/tax.json" <<J
{"schema": "stepcast/software/1", "title": "tax", "stack": "ours", "source": "a test", "from": "2026-01", "to": "2026-12",
 "switches": [], "constants": [{"name": "comm_tax", "value": $1, "why": "w"}]}
J
    step "$STEPCAST" run --model llama3-8b --num-layers 4 --gpus 8 --tp 8 --global-batch 4 --seq 4096 --sequence-parallel --host-launch 0 --overlap-tp "$2" --software "$tmp/tax.json"
}
check chunks_take_no_sms "$(python3 -S -c 'import sys
a, b, c, d = map(float, sys.argv[1:])
print(a == b, d > c)' $(taxed 0 chunks) $(taxed 0.5 chunks) $(taxed 0 wgrad) $(taxed 0.5 wgrad))" "True True"

# the band of published steps like it
python3 tests/tools/check_band.py "$STEPCAST"
expect band_text 0 "published steps (nemo-24.07 on h100-sxm)" $run --software nemo-24.07
"$STEPCAST" run tests/data/seed_000.txt --json "$tmp/table.json" >/dev/null 2>&1
check band_of_no_model "$? $(grep -c '"band"' "$tmp/table.json" 2>/dev/null)" "0 0"
# ZeRO 1 by whole tensors: 2 bytes of gradient all-reduced and 2 of weight broadcast for each
# parameter, 9 tensors in each of 32 layers and three beside them
owned=$("$STEPCAST" run --model llama2-7b --gpus 16 --seq 2048 --global-batch 16 --zero 1 --ignore-memory --software internevo --json - 2>/dev/null |
    python3 -S -c "import json, sys; d = json.load(sys.stdin); c = d['comm']['dp']; print(round(c['bytes'] / d['model']['parameters'], 4), c['ops'] > 9 * 32 + 3)")
check tensors_are_broadcast "$owned" "4.0 True"
# a profile with a slip in it is no configuration of the stack that it speaks of
sed 's|stepcast/software/1|another|' data/software/megatron-core-2025.json >"$tmp/profile.json"
expect profile_of_another_schema 3 "unknown word 'another'" $run --software "$tmp/profile.json"
python3 -S -c 'import json, sys; s = json.load(open("data/software/megatron-core-2025.json")); s["constants"].append(dict(s["constants"][0], value=9)); json.dump(s, open(sys.argv[1], "w"))' "$tmp/profile.json"
expect constant_twice 3 "is given twice for the same case" $run --software "$tmp/profile.json"

# where nobody says what runs it, adapters and shards of all weights name the stacks that usually do, and these are named rightly
expect adapters_name_transformers 0 "usually takes longer: --software hf-transformers" sh -c "\"$STEPCAST\" run --model llama3-8b --cluster h100:1 --lora 16 | tr -s '\n ' ' '"
expect shards_name_pytorch 0 "usually takes longer: --software fsdp-eager, torchtitan-2026 or hf-transformers" sh -c "\"$STEPCAST\" run --model llama3-8b --cluster h100:8 --fsdp | tr -s '\n ' ' '"
longer() { "$STEPCAST" run --model llama3-8b --cluster h200:8 --seq 2048 --json - "$@" 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["step_time_us"])'; }
check stacks_take_longer "$(python3 -S -c 'import sys; a, b, c, d, e, f = map(float, sys.argv[1:]); print(b > a, min(d, e, f) > c)' \
    "$(longer --lora 16)" "$(longer --lora 16 --software hf-transformers)" \
    "$(longer --fsdp)" "$(longer --fsdp --software fsdp-eager)" "$(longer --fsdp --software torchtitan-2026)" "$(longer --fsdp --software hf-transformers)" 2>&1)" "True True"
