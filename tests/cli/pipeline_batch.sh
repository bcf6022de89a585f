#!/bin/sh
# --pipeline-batch: a step of several runs through the pipeline, each of which empties it.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
pipe="--model llama3-8b --num-layers 8 --pp 4 --gpus 4 --gpu h100-sxm --seq 2048 --ignore-memory"
run() { "$STEPCAST" run $pipe "$@" --json - 2>/dev/null; }
of() { # expression on the result r, options
    expression=$1
    shift
    run "$@" | python3 -S -c "import json, sys; r = json.load(sys.stdin); print($expression)"
}
step() { of 'r["step_time_us"]' --cluster ideal --no-optimizer "$@"; }

# The first stage ends last and begins the next run, so runs without communication follow one another:
# 8 of them are 8 steps of one, which is simulated without the option.
for schedule in 1f1b gpipe "interleaved --vpp 2"; do
    for n in 2 4 64; do
        one=$(step --schedule $schedule --micro-batches $n)
        check "runs_of_${n}_${schedule%% *}" "$(python3 -S -c "print(abs($(step --schedule $schedule --micro-batches $((8 * n)) --pipeline-batch $n) / $one - 8) < 1e-9)")" True
    done
done

# One run is no change: all but the words of the command.
bytes() { run --micro-batches 8 --cluster dgx-h100:4 "$@" | sed '/"command"/d'; }
bytes >"$tmp/without"
bytes --pipeline-batch 8 >"$tmp/one_run"
check one_run "$(cmp "$tmp/without" "$tmp/one_run" && grep -c '^  "step_time_us' "$tmp/one_run")" 1
check shown "$(of 'r["settings"]["pipeline-batch"], "micro-batches" in r["settings"]' --micro-batches 8 --pipeline-batch 2 --cluster dgx-h100:4)" "2 True"

# What is done once a step: gradients are reduced as often, messages sent as often.
volumes() { of '[(v["group"], v["collective"], v["ops"], v["bytes"]) for v in r["volumes"]]' --micro-batches 8 --gpus 8 --dp 2 --zero 1 --cluster dgx-h100:8 "$@"; }
check once_a_step "$(volumes --pipeline-batch 2)" "$(volumes)"

# Activations in flight: those of a run. GPipe holds all of them.
held() { of 'max(m["activations"] for m in r["class_memory_bytes"])' --schedule gpipe --cluster dgx-h100:4 "$@"; }
check held "$(held --micro-batches 32 --pipeline-batch 4)" "$(held --micro-batches 4)"

# The search's lower bounds are still lower: the same best with them as of all plans, and none above its step.
search() { "$STEPCAST" plans --model llama3-8b --num-layers 8 --cluster dgx-h100:8 --global-batch 64 --seq 2048 --pipeline-batch 4 --pp 4 --try schedule --json - "$@" 2>/dev/null; }
search >"$tmp/bounded"
search --exhaustive --top 1000 >"$tmp/all"
check bounds "$(python3 -S -c "
import json
some, every = (json.load(open('$tmp/' + name)) for name in ('bounded', 'all'))
print(some['plans'] == every['plans'][:len(some['plans'])], all(0 < p['bound_us'] <= p['step_time_us'] for p in every['plans']), every['simulated'] > 4 * some['simulated'] > 0)")" "True True True"

# NeMo Automodel's local batch; where the micro-batches do not divide so, one run and a note.
automodel="run --model deepseek-v3 --software fsdp2-automodel --gpus 256 --pp 4 --vpp 8 --ep 64 --uneven-stages --seq 4096 --cluster dgx-h100:256 --ignore-memory"
check automodel "$("$STEPCAST" $automodel --micro-batches 16 --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["settings"].get("pipeline-batch"))')" 8
expect automodel_whole 0 "pipeline-not-emptied" "$STEPCAST" $automodel --micro-batches 12 --json -
check automodel_one_run "$("$STEPCAST" $automodel --micro-batches 12 --json - 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["settings"].get("pipeline-batch"))')" None

# torchtitan accumulates around the pipeline where the global batch is larger than the local ones.
titan() { printf '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nseq_len = 2048\nlocal_batch_size = 4\nglobal_batch_size = %s\n[parallelism]\npipeline_parallel_degree = 4\ndata_parallel_shard_degree = 2\n' "$1" >"$tmp/titan.toml"
    "$STEPCAST" run "$tmp/titan.toml" --gpus 8 --cluster dgx-h100:8 --ignore-memory --json - 2>/dev/null | python3 -S -c 'import json, sys; s = json.load(sys.stdin)["settings"]; print(s["micro-batches"], s.get("pipeline-batch"))'; }
check titan_accumulates "$(titan 32)" "16 4"
check titan_one_run "$(titan 8)" "4 None"
check titan_without "$(titan -1)" "4 None"

# Values that cannot be.
base="$STEPCAST run $pipe --micro-batches 8"
expect none 2 "from 1 on" $base --pipeline-batch 0
expect negative 2 "pipeline-batch" $base --pipeline-batch -4
expect huge 2 "pipeline-batch" $base --pipeline-batch 99999999999999999999
expect words 2 "pipeline-batch" $base --pipeline-batch all
expect no_divisor 2 "--pipeline-batch 2 or 4 would do" $base --pipeline-batch 3
expect too_many 2 "--pipeline-batch 8 would do" $base --pipeline-batch 4294967295
expect steps_overlap 2 "use --schedule zb-h1" $base --pipeline-batch 4 --schedule zb-2p
expect few_for_dualpipev 2 "larger --pipeline-batch" $base --pipeline-batch 4 --schedule dualpipev
expect no_effect 0 "pp is 1" $base --pipeline-batch 4 --pp 1 --dp 4

# Groups of micro-batches that pass a chunk, as Megatron-Core's forward_backward_pipelining_with_interleaving has them: from
# the stages to all, the rest of them none or at least the stages. Before its first backward stage 0 of 4 with 2 chunks has
# 2·3 + N forwards, and that of the first pair: of 12 micro-batches 11, 13 and 19 chunks are held.
layers="--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --vocab-size 32000 --seq 1024 --micro-batch 1 --pp 4 --vpp 2 --gpus 4 --cluster dgx-h100:4 --position-embedding-type rope"
word=--microbatch-group-size-per-virtual-pipeline-stage
held() { "$STEPCAST" run $layers --json - "$@" 2>/dev/null | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["class_memory_bytes"][0]["activations"])'; }
all=$(held --micro-batches 12)
check groups_held "$(python3 -S -c "print(*(round(11 * x / $all, 6) for x in ($(held --micro-batches 12 $word 4), $(held --micro-batches 12 $word 6), $(held --micro-batches 12 $word 12))))")" "11.0 13.0 19.0"
expect groups_too_small 2 "groups of 3 micro-batches: they have from 4, the stages, to 12" "$STEPCAST" run $layers --micro-batches 12 $word 3
expect groups_too_large 2 "groups of 13 micro-batches: they have from 4, the stages, to 12" "$STEPCAST" run $layers --micro-batches 12 $word 13
expect groups_that_leave_few 2 "12 micro-batches in groups of 5 leave 2 for the last, fewer than the 4 stages" "$STEPCAST" run $layers --micro-batches 12 $word 5
expect groups_of_another_schedule 0 "microbatch-group-size-per-virtual-pipeline-stage has no effect" "$STEPCAST" run $layers --vpp 1 --micro-batches 12 $word 6
expect rest_in_front 0 "14 micro-batches are not a multiple of pp 4, which Megatron refuses" "$STEPCAST" run $layers --micro-batches 14
printf 'torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --vocab-size 32000 --seq-length 1024 --max-position-embeddings 1024 --position-embedding-type rope --micro-batch-size 1 --global-batch-size 14 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 1 --hidden-dropout 0 --attention-dropout 0 --bf16 %s 7\n' $word >"$tmp/groups.sh"
check groups_of_a_script "$("$STEPCAST" run "$tmp/groups.sh" --cluster dgx-h100:4 --json - 2>/dev/null | python3 -S -c "import json, sys; r = json.load(sys.stdin); print(r['settings']['microbatch-group-size-per-virtual-pipeline-stage'], [n['code'] for n in r['input']['notes'] if 'remainder' in n['code'] or 'unknown' in n['code']])")" "7 []"
