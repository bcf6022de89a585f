#!/bin/sh
# Captured PyTorch steps: forecasts beside measured steps, traffic of FSDP, what-if by
# module, and refusals.
# not of the program: no_torch|old_torch|no_mesh|repeated_layers|captured_programs
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
folder=tests/data/captures

expect measured 0 "gpt-8" python3 tests/tools/check_captures.py "$STEPCAST" $folder data/truth/h200_captures.csv

expect measured_operators 0 "left out: yes" python3 tests/tools/check_operators.py "$STEPCAST" $folder/operators data/truth/h200_operators.csv

expect measured_compiled 0 "dit-32" python3 tests/tools/check_captures.py "$STEPCAST" $folder data/truth/h200_compiled.csv

# FSDP2 gathers bf16 parameters in forward and again in backward, and reduces gradients
# once: by layer two square products, keys and values of 8 of 32 heads, three of the
# feed-forward and two norms; embedding, head and the last norm
layer=$((2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096))
parameters=$((32 * layer + 2 * 128256 * 4096 + 4096))
"$STEPCAST" run $folder/llama-8b-fsdp64.json.gz --cluster dgx-h100 --json "$tmp/fsdp.json" >"$tmp/fsdp.txt"
moved() { python3 -c 'import json,sys
c = json.load(open(sys.argv[1]))["comm"]
print(sum(v["bytes"] for v in c.values()))' "$1"; }
check fsdp_bytes "$(moved "$tmp/fsdp.json")" "$((3 * 2 * parameters))"

# FLOPs as those of models are counted: 6 a token for each weight of its products and 12 for
# each pair of tokens and channel of attention, masked or not
flops() { python3 -c 'import json,sys
r = json.load(open(sys.argv[1]))
print(round(r["tflops_per_gpu"] * 1e6 * r["step_time_us"]))' "$1"; }
products=$((32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 128256 * 4096))
check flops_of_attention "$(flops "$tmp/fsdp.json")" $((6 * 8192 * products + 12 * 32 * 8192 * 8192 * 4096))
# those of ResNet-50, layer by layer: strides and odd sizes change what a kernel does, not what
# is counted; pictures have no gradient
"$STEPCAST" run $folder/resnet-128.json.gz --json "$tmp/resnet.json" >/dev/null
check flops_of_convolutions "$(flops "$tmp/resnet.json")" "$(python3 -c '
first = 112 * 112 * 64 * 3 * 49
more, size, wide = 2048 * 1000, 56, 64
for stage, blocks in enumerate((3, 4, 6, 3)):
    inner = 64 << stage
    for block in range(blocks):
        stride = 2 if stage and not block else 1
        after = size // stride
        more += size**2 * wide * inner + after**2 * (9 * inner**2 + 4 * inner**2)
        more += 0 if block else after**2 * wide * 4 * inner
        size, wide = after, 4 * inner
print(128 * 2 * (2 * first + 3 * more))')"
# types without kernels of their own are said
printf '%s' '{"schema": "stepcast/capture/1", "made_by": "hand", "world": 1, "mesh": [], "groups": [], "modules": [""], "tensors": [["fp64", [64, 64]]], "calls": [{"op": "aten.mm", "in": [0, 0], "out": [0]}], "programs": [{"storages": [], "alive": [], "ops": [[0, 0, "f", 0, 0, 0, [], [], [], [], 0]]}], "classes": [{"rank": 0, "ranks": 1, "program": 0}]}' >"$tmp/fp64.json"
expect products_of_another_type 0 "such products are timed and counted as" "$STEPCAST" run "$tmp/fp64.json" --json -

# groups of one rank have nobody to talk to, whatever the mesh calls them; ranks that stand for
# the wrong number of others are refused
made() { # mesh, dimension of the group, classes
    printf '{"schema": "stepcast/capture/1", "made_by": "hand", "world": 8, "mesh": %s, "groups": [{"dims": ["%s"]}], "modules": [""], "tensors": [["bf16", [64, 64]]], "calls": [{"op": "aten.mm", "in": [0, 0], "out": [0]}, {"op": "c10d.all_reduce", "in": [], "out": [], "with": {"group": 0, "bytes": 1000000}}], "programs": [{"storages": [], "alive": [], "ops": [[0, 0, "f", 0, 0, 0, [], [], [], [], 0], [1, 0, "f", -1, 0, 0, [], [], [0], [], 0], [0, 0, "f", 0, 0, 0, [], [], [1], [], 0]]}], "classes": %s}' "$1" "$2" "$3" >"$tmp/made.json"
}
for alone in tp dp_replicate; do
    made '[["pp", 1], ["dp_replicate", 1], ["dp_shard", 8], ["tp", 1]]' $alone '[{"rank": 0, "ranks": 8, "program": 0}]'
    "$STEPCAST" run "$tmp/made.json" --cluster dgx-h100:8 --json "$tmp/alone.json" >/dev/null 2>&1
    check "a_group_of_one $alone" "$(moved "$tmp/alone.json")" 0
done
made '[["pp", 2], ["dp", 4]]' dp '[{"rank": 0, "ranks": 7, "program": 0}, {"rank": 4, "ranks": 1, "program": 0}]'
expect unequal_classes 3 "do not stand for 2 stages of 4 ranks" "$STEPCAST" run "$tmp/made.json" --cluster dgx-h100:8

# a pipeline of four stages, four micro-batches: what the last stage takes, and what the
# first micro-batch needs to reach it and its gradient to come back, which all stages
# before it do once; a stage that waits for nobody would be busy all the time
"$STEPCAST" run $folder/llama-8b-pp4.json.gz --cluster dgx-h100:4 --host-scale 0 --json "$tmp/pp4.json" >"$tmp/pp4.txt"
check pipeline "$(python3 -c 'import json,sys
r = json.load(open(sys.argv[1]))
busy = [k["breakdown_us"]["compute"] for k in r["ranks"]]
ideal = busy[3] + sum(busy[:3]) / 4
print("yes" if abs(r["step_time_us"] / ideal - 1) < 0.03 else (r["step_time_us"], ideal))' "$tmp/pp4.json")" yes
expect pipeline_bubble 0 "pipeline bubble" cat "$tmp/pp4.txt"

# experts over eight ranks: in each of four layers tokens go there and back, forward and
# backward
"$STEPCAST" run $folder/experts-8.json.gz --cluster dgx-h100:8 --json "$tmp/experts.json" >/dev/null
check experts_bytes "$(moved "$tmp/experts.json")" "$((4 * 4 * 8192 * 2048 * 2))"

# DistributedDataParallel on eight ranks (tests/tools/check_captured_programs.py has the
# script): all gradients in fp32 once, and the statistics of a batch norm with their count
"$STEPCAST" run $folder/ddp-8.json.gz --cluster dgx-h100:8 --json "$tmp/ddp.json" >/dev/null
check ddp_bytes "$(moved "$tmp/ddp.json")" "$((4 * (256 * 2000 + 2000 + 64 * 256 + 3 * 256) + 2 * 4 * 256 + 8))"

# in Megatron's manner, tp 4, dp 2: each of 4 layers gathers its part of the sequence for two
# column-parallel products and again for their weights, and twice for the gradients of
# row-parallel ones; scatters after two row-parallel products and two gradients; gradients
# go out in fp32, weights come back in bf16
"$STEPCAST" run $folder/megatron-8.json.gz --cluster dgx-h100:8 --json "$tmp/megatron.json" >/dev/null
along() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["comm"][sys.argv[2]]["bytes"])' "$1" "$2"; }
check megatron_tp_bytes "$(along "$tmp/megatron.json" tp)" "$((4 * 10 * 2048 * 2 * 2048 * 2))"
weights=$((4 * (4 * 2048 + 12 * 2048 * 2048 / 4)))
weights=$(((weights + 127) / 128 * 128))
check megatron_dp_bytes "$(along "$tmp/megatron.json" dp)" "$((weights * 4 + weights * 2))"

# a module made twice as fast; a host that costs nothing
step() { "$STEPCAST" run "$@" --json - | python3 -c 'import json,sys; print(json.load(sys.stdin)["step_time_us"])'; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { print (a + 0 < b + 0) ? "yes" : "no" }'; }
machine="gpu=h200 gpus=1 node=8"
whole=$(step $folder/gpt-8.json.gz --cluster "$machine")
check what_if_module "$(less "$(step $folder/gpt-8.json.gz --cluster "$machine" --scale 'layers.0.*=0.5')" "$whole")" yes
check host_scale "$(less "$whole" "$(step $folder/gpt-8.json.gz --cluster "$machine" --host-scale 100)")" yes
# without a cluster it is a dgx-h100, and its GPU's kernels
check default_gpu "$(step $folder/gpt-8.json.gz)" "$(step $folder/gpt-8.json.gz --cluster dgx-h100:1)"
expect show 0 "kernels of rank 0 by module" "$STEPCAST" show $folder/gpt-8.json.gz
expect json 0 '"operations": 763' "$STEPCAST" show $folder/gpt-8.json.gz --json -

# the same GPT described by its shapes: within 2 %
described=$(step --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --ffn-hidden-size 8192 --seq-length 2048 --vocab-size 51200 --micro-batch-size 8 --global-batch-size 8 --fusion eager --ignore-memory --cluster "$machine")
check described "$(awk -v a="$(step $folder/gpt-8.json.gz --cluster "$machine" --host-scale 0)" -v b="$described" 'BEGIN { e = a / b - 1; print (e < 0.02 && e > -0.02) ? "yes" : e }')" yes

# compiled: fewer kernels, less time, the same products; files that do not say what would be
# compiled together are refused
check compiled "$(less "$(step $folder/experts-8.json.gz --cluster dgx-h100:8 --host-scale 0 --compiled yes)" "$(step $folder/experts-8.json.gz --cluster dgx-h100:8 --host-scale 0 --compiled no)")" yes
expect compiled_old 3 "does not say what would be compiled" "$STEPCAST" run $folder/unet-32.json.gz --compiled yes
expect compiled_word 2 "one of: auto, no, yes, graphs" "$STEPCAST" run $folder/experts-8.json.gz --compiled maybe

# modules add up to all kernels, but for the gaps between them
"$STEPCAST" show $folder/gpt-8.json.gz --cluster "$machine" --json "$tmp/show.json" >/dev/null
check module_times "$(python3 -c 'import json,sys
d = json.load(open(sys.argv[1]))
rows = d["details"]["capture"]["module_times"]
total = sum(v for r in rows for k, v in r.items() if k.endswith("_us"))
named = {r["module"]: r for r in rows}["layers.0.fc1"]
print("yes" if 0.9 < total / d["compute_us"] <= 1.0 and named["backward_us"] > named["forward_us"] > 0 else (total, d["compute_us"], named))' "$tmp/show.json")" yes

# broken
gzip -dc $folder/unet-32.json.gz >"$tmp/good.json"
head -c 2000 "$tmp/good.json" >"$tmp/cut.json"
expect cut 3 "error" "$STEPCAST" run "$tmp/cut.json"
sed 's/aten\.convolution"/aten.convolutino"/' "$tmp/good.json" >"$tmp/other.json"
expect unknown_operator 0 "go by their bytes: aten.convolutino" "$STEPCAST" run "$tmp/other.json"
sed 's/"world":1/"world":8/' "$tmp/good.json" >"$tmp/world.json"
expect other_world 3 "the classes have 1 ranks, the world 8" "$STEPCAST" run "$tmp/world.json"
expect bad_scale 2 "--host-scale must be a number from 0 on" "$STEPCAST" run "$tmp/good.json" --host-scale -1
expect pipe 0 "step time" sh -c "cat '$tmp/good.json' | '$STEPCAST' run -"

# without PyTorch the message says so
if ! python3 -c "import torch" 2>/dev/null; then
    expect no_torch 3 "PyTorch is not installed" env PYTHONPATH=build/python STEPCAST_LIBRARY="$PWD/build/libstepcast.so.0" python3 -m stepcast.capture examples/capture_llama.py
fi
mkdir -p "$tmp/old/torch"
echo '__version__ = "2.3.1+cpu"' >"$tmp/old/torch/__init__.py"
expect old_torch 3 "torch 2.3.1+cpu is too old" env PYTHONPATH="$tmp/old:build/python" STEPCAST_LIBRARY="$PWD/build/libstepcast.so.0" python3 -m stepcast.capture examples/capture_llama.py
expect no_mesh 2 "is not NAME=SIZE" env PYTHONPATH=build/python python3 -m stepcast.capture --mesh pp8 examples/capture_llama.py
if python3 tests/tools/check_capture.py bindings/python >"$tmp/unit" 2>&1 && "$STEPCAST" --version >/dev/null; then echo "ok ranks_and_documents"
else
    echo "not ok ranks_and_documents"
    tail -20 "$tmp/unit"
fi
if ! python3 -c "import torch" 2>/dev/null; then
    echo "skip capture: repeated_layers [needs python:torch]"
    echo "skip capture: captured_programs [needs python:torch]"
else
    for tool in repeated_layers captured_programs; do
        if python3 tests/tools/check_$tool.py bindings/python >"$tmp/layers" 2>&1; then echo "ok $tool"
        else
            echo "not ok $tool"
            tail -20 "$tmp/layers"
        fi
    done
fi
