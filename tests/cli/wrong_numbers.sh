#!/bin/sh
# Inputs that once gave a wrong number with exit 0, or took all the memory there
# is: each gives the right number, a note or a refusal that names the place.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
# the step in us, from the JSON of a run
step_of() { "$STEPCAST" run "$@" --json - 2>/dev/null | sed -n 's/.*"step_time_us": \([0-9.]*\).*/\1/p' | head -1; }

# operator table: rows between two layers run too
header="name\tforward_compute_time\tforward_comm_type\tforward_comm_size\tbackward_compute_time\tbackward_comm_type\tbackward_comm_size\tweight_grad_compute_time\tweight_grad_comm_type\tweight_grad_comm_size\tprocess_time"
row() { printf '%s\t10\tNONE\t0\t0\tNONE\t0\t0\tNONE\t0\t0\n' "$1"; }
{ printf "$header\n" && for name in encoder_layers_0_fc encoder_ln_f decoder_layers_0_fc lm_head; do row $name; done; } >"$tmp/rows.txt"
check rows_between_layers "$(step_of "$tmp/rows.txt")" 40000
check rows_between_more_layers "$(step_of "$tmp/rows.txt" --layers 5)" 70000
check rows_between_fewer_layers "$(step_of "$tmp/rows.txt" --layers 1)" 30000
{ printf "$header\n" && for name in a_layers_0_fc a_ln b_layers_0_fc b_ln c_layers_0_fc lm_head; do row $name; done; } >"$tmp/rows.txt"
check rows_between_three_stacks "$(step_of "$tmp/rows.txt") $(step_of "$tmp/rows.txt" --layers 1)" "60000 40000"

# streams without an end, and packed ones; ulimit -f ends a program that copies
# them to memory (copies of that kind count for no other limit)
for device in /dev/zero /dev/full; do
    expect "endless $device" 3 "$device: error: unknown format" sh -c "ulimit -f 800000; '$STEPCAST' run $device"
done
expect endless_pipe 3 "<stdin>: error: unknown format" sh -c 'ulimit -f 800000; yes x | "$STEPCAST" run -'
expect packed_zeros 3 "<stdin>: error: unknown format" sh -c 'ulimit -f 800000; head -c 300000000 /dev/zero | gzip -1 | "$STEPCAST" run -'
case ${BUILD:-} in
*san*) echo "skip memory_limit_of_a_pipe [needs no-sanitizer]" ;;
*)
    expect memory_limit_of_a_pipe 3 "<stdin>: error: more than 256 MiB (unpacked) from a pipe or device" \
        sh -c 'ulimit -f 800000; ulimit -v 524288; { cat tests/data/seed_004.txt; yes ""; } | "$STEPCAST" run -'
    expect memory_limit_of_a_packed_pipe 3 "write it to a file first" \
        sh -c 'ulimit -f 800000; { cat tests/data/seed_004.txt; head -c 300000000 /dev/zero; } | gzip -1 | { ulimit -v 524288; "$STEPCAST" run -; }'
    ;;
esac

# clusters: rates have units, keys come once
line="gpu=h100 gpus=64 node=8 nvlink=450GB/s nics=8 class=ib"
expect rate_without_unit 2 "nic takes a rate above 0 with its unit" "$STEPCAST" coll all_reduce -c "$line nic=400" -b 64M -e 64M
printf '{"schema": "stepcast/cluster/1", "name": "x", "gpu": "h100", "gpus": 16,\n "node": {"gpus": 8, "nvlink": "450GB/s", "nics": 8, "nic": 400}, "fabric": {"class": "ib"}}\n' >"$tmp/bare.json"
expect rate_without_unit_in_json 3 'bare.json:2:54: error: "nic" takes a rate above 0 with its unit' "$STEPCAST" coll all_reduce -c "$tmp/bare.json" -b 64M -e 64M
expect key_twice 2 "nic is given twice" "$STEPCAST" coll all_reduce -c "$line nic=400Gbps nic=200Gbps" -b 64M -e 64M
expect size_twice 2 "gpus is given twice" "$STEPCAST" coll all_reduce -c "dgx-h100:64 gpus=128" -b 64M -e 64M

# validate: a cell that is no number is named, not replaced
spoil() { # column, value: the first row of the table with it
    python3 -S -c '
import csv, sys
rows = list(csv.reader(open("data/truth/nemo_steps.csv")))[:2]
rows[1][rows[0].index(sys.argv[1])] = sys.argv[2]
csv.writer(open(sys.argv[3], "w")).writerows(rows)' "$1" "$2" "$tmp/spoilt.csv"
    "$STEPCAST" validate "$tmp/spoilt.csv" --json - 2>&1
}
for value in abc -5 nan 1,5 1.5 0; do
    case $(spoil tp "$value") in *"tp: '$value' is not a whole number, 1 or more"*) echo "ok cell tp=$value" ;; *) echo "not ok cell tp=$value" ;; esac
done
case $(spoil global_batch abc) in *"global_batch: 'abc' is not a whole number"*) echo "ok cell global_batch" ;; *) echo "not ok cell global_batch" ;; esac
case $(spoil vpp "3 layer/chunk") in *"vpp: '3 layer/chunk' is not a whole number"*) echo "ok cell vpp" ;; *) echo "not ok cell vpp" ;; esac
case $(spoil iter_seconds soon) in *"iter_seconds: 'soon' is not a number"*) echo "ok cell iter_seconds" ;; *) echo "not ok cell iter_seconds" ;; esac

# launch scripts: a second command in the file
train="--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --micro-batch-size 1 --global-batch-size 8"
printf 'python pretrain_gpt.py %s\npython eval.py --num-layers 2 --seq-length 128\n' "$train" >"$tmp/launch.sh"
"$STEPCAST" run --megatron-args "$tmp/launch.sh" --gpus 1 --json "$tmp/first.json" >/dev/null
"$STEPCAST" run $train --gpus 1 --overlap-grad no --cross-entropy unfused --json "$tmp/direct.json" >/dev/null
check the_command_that_trains "$(grep step_time_us "$tmp/first.json")" "$(grep step_time_us "$tmp/direct.json")"
printf 'if true; then MODEL=24; else MODEL=2; fi\npython pretrain_gpt.py --num-layers $MODEL %s\n' "${train#--num-layers 24}" >"$tmp/branch.sh"
"$STEPCAST" run --megatron-args "$tmp/branch.sh" --gpus 1 --json "$tmp/branch.json" >/dev/null
check the_branch_that_is_taken "$(grep step_time_us "$tmp/branch.json")" "$(grep step_time_us "$tmp/direct.json")"
printf 'A="--num-layers 24"\nA="$A %s"\npython pretrain_gpt.py $A\n' "$train" >"$tmp/append.sh"
"$STEPCAST" run --megatron-args "$tmp/append.sh" --gpus 1 --json "$tmp/append.json" >/dev/null
check appended_variable "$? $(grep -c "more than once" "$tmp/append.json")" "0 0"
printf 'python pretrain_gpt.py\n  %s\0\n' "$train" >"$tmp/nul.sh"
expect nul_in_a_script 3 "nul.sh:2:$((${#train} + 3)): error: NUL byte in a text file" "$STEPCAST" run --megatron-args "$tmp/nul.sh" --gpus 1

# compare: 5 is not 5 %
seed=tests/data/seed_003.txt
expect bare_tolerance 2 "write --tolerance 5% or a share like 0.05" "$STEPCAST" compare $seed $seed --tolerance 5
expect tolerance_in_percent 0 "tolerance 500.00 %" "$STEPCAST" compare $seed $seed --tolerance 500%

# CSV: names are cells, whatever is in them
table() { # name of the row
    { printf "$header\n" && row "$1" && row plain; } >"$tmp/names.txt"
    "$STEPCAST" run "$tmp/names.txt" --csv - 2>/dev/null | python3 -S -c '
import csv, io, sys
rows = list(csv.reader(io.StringIO(sys.stdin.buffer.read().decode("utf-8"), newline="")))
print(len(rows), sorted(r[1] for r in rows[1:]))'
}
check csv_carriage_return "$(table "$(printf 'a\rb')")" "3 ['a\\rb', 'plain']"
check csv_formula "$(table "=cmd|'/C calc'!A0")" "3 [\"'=cmd|'/C calc'!A0\", 'plain']"
check csv_quote "$(table 'a"b,c')" "3 ['a\"b,c', 'plain']"
check csv_bytes "$(table "$(printf 'a\377b')")" "3 ['a�b', 'plain']"
# … and values: 10 ms of forward compute in the first column of times
check csv_values "$("$STEPCAST" run "$tmp/names.txt" --csv - 2>/dev/null | python3 -S -c '
import csv, sys
r = list(csv.DictReader(sys.stdin))[-1]
print(r["forward_compute_us"], r["forward_comm_us"], r["forward_exposed_us"])')" "10000 0 0"

# layer workloads: a header that has lost a key, rows that are not there
sed 's/ pp: 4//' tests/data/seed_004.txt >"$tmp/no_pp.txt"
expect stages_without_pp 0 "the file has vpp or pp_comm but no pp: one pipeline stage is assumed" "$STEPCAST" run "$tmp/no_pp.txt" --json -
sed '1s/checkpoints: 0/checkpoints: 1 700/' tests/data/seed_003.txt >"$tmp/checkpoints.txt"
expect checkpoint_beyond_the_rows 3 "checkpoints.txt:1:1: error: checkpoints names row 700, but there are" "$STEPCAST" run "$tmp/checkpoints.txt"

# Chakra: nodes that say nothing, and files without any
mkdir "$tmp/et"
expect chakra_collective_without_size 3 "x.0.et:byte 9: error: node 1 'node': a collective without comm_size" sh -c "python3 tests/tools/chakra_rank.py '$tmp/et/x.0.et' 7 comm_type=0 && '$STEPCAST' run '$tmp/et'"
expect chakra_attribute_twice 3 "an attribute that stands twice" sh -c "python3 tests/tools/chakra_rank.py '$tmp/et/x.0.et' 7 comm_type=0 comm_size=1048576 comm_size=16777216 && '$STEPCAST' run '$tmp/et'"
expect chakra_negative_work 3 "a negative num_ops" sh -c "python3 tests/tools/chakra_rank.py '$tmp/et/x.0.et' 4 num_ops=-5 && '$STEPCAST' run '$tmp/et'"
expect chakra_without_time 0 "1 compute nodes have no duration, num_ops or tensor_size" sh -c "python3 tests/tools/chakra_rank.py '$tmp/et/x.0.et' 4 && '$STEPCAST' run '$tmp/et'"
expect chakra_without_nodes 3 "there is no operation in it" sh -c "python3 tests/tools/chakra_rank.py '$tmp/et/x.0.et' 0 && '$STEPCAST' run '$tmp/et'"
printf '\0' >"$tmp/et/x.0.et"
expect chakra_empty_message 3 "there is no operation in it" "$STEPCAST" run "$tmp/et"
printf 'num_ranks 1\nrank 0 {\n}\n' >"$tmp/empty.goal"
expect goal_without_operations 3 "empty.goal: error: there is no operation in it" "$STEPCAST" run "$tmp/empty.goal"

# operator table: collectives of a group of one
{ printf "$header\n" && printf 'fc\t10\tNONE\t0\t10\tALLREDUCE\t1000000\t0\tNONE\t0\t0\n'; } >"$tmp/reduce.txt"
expect free_collectives 0 "4000000 bytes of collectives are of the tensor-parallel group, which has one GPU" "$STEPCAST" run "$tmp/reduce.txt" --dp 8 --json -

# MFU above 100 % says why; a host that is slower than another GPU's is named
expect mfu_above_peak 0 "MFU is above 100 %" "$STEPCAST" run --model qwen3-30b-a3b --gpus 1 --gpu h20 --seq 1048576 --global-batch 1 --ignore-memory --json -
expect host_of_eager 0 "the host takes 27 us to launch a kernel" "$STEPCAST" run --model llama3-8b --tp 4 --pp 4 --dp 3 --seq 512 --zero 1 --global-batch 24 --fusion eager --cluster dgx-h100:48 --gpu h200 --json -

# Kineto: a collective whose size is not told takes the time it took
kernel() { printf '{"ph": "X", "cat": "kernel", "name": "%s", "ts": %s, "dur": %s, "args": {"stream": %s%s}}' "$@"; }
kineto() { # arguments of the collective
    printf '{"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 8}, "traceEvents": ['
    kernel gemm 0 100 7 '' && printf ',\n' && kernel ncclDevKernel_AllReduce 100 98.9 7 ", \"Collective name\": \"allreduce\", \"Group size\": 8, \"Process Group Ranks\": \"[0, 1, 2, 3, 4, 5, 6, 7]\", \"dtype\": \"$1\"$2"
    printf ']}\n'
}
for size in '' ', "In msg nelems": -1'; do
    kineto BFloat16 "$size" >"$tmp/kineto.json"
    check "kineto_without_size '$size'" "$(step_of "$tmp/kineto.json")" 198.9
done
expect kineto_size_noted 0 "1 collectives without \"In msg nelems\"" "$STEPCAST" run "$tmp/kineto.json"
kineto Complex '"In msg nelems": 10' | sed 's/Complex""/Complex", "/' >"$tmp/kineto.json"
expect kineto_dtype 0 "the dtype Complex is not known: 4 bytes an element are assumed" "$STEPCAST" run "$tmp/kineto.json"
expect kineto_no_such_step 3 "so there is no step 99" "$STEPCAST" run "$tmp/kineto.json" --step 99

# Megatron traces: a rank does one thing at a time
trace="tests/data/seed_002.txt --tp 1 --pp 2 --dp 2"
sed 's/duration=18.65,/duration=18650,/' tests/data/seed_002.txt >"$tmp/long.txt"
expect operation_before_the_last 3 "ms before the operation before it ended" "$STEPCAST" run "$tmp/long.txt" --tp 1 --pp 2 --dp 2
sed 's/timestamp=[0-9.]*/timestamp=16109898842.62/g' tests/data/seed_002.txt >"$tmp/at_once.txt"
expect operations_at_once 3 "ms before the operation before it ended" "$STEPCAST" run "$tmp/at_once.txt" --tp 1 --pp 2 --dp 2
expect trace_as_it_is 0 '"step_time_us": ' "$STEPCAST" run $trace --json -

# sequence parallelism gathers and scatters, whatever all-reduces do
sp="--model llama2-7b --tp 2 --cp 2 --dp 64 --seq 4096 --micro-batch 4 --zero 1 --global-batch 1024 --sequence-parallel --cluster dgx-a100:256"
clock_of() { "$STEPCAST" run "$@" --json - | sed -n 's/.*throttling makes GEMMs \([0-9.]*\) times.*/\1/p'; }
check algo_is_not_power "$(clock_of $sp --algo tree) $(clock_of $sp | grep -c '^1\.')" "$(clock_of $sp) 1"

# a folder of another job
"$STEPCAST" convert tests/data/seed_003.txt --gpus 128 --to chakra -o "$tmp/job" >/dev/null 2>&1
check chakra_folder "$? $(ls "$tmp/job" | grep -c '\.et$')" "0 128"
expect chakra_folder_again 0 "" "$STEPCAST" convert tests/data/seed_003.txt --gpus 128 --to chakra -o "$tmp/job"
touch "$tmp/job/workload.128.et"
expect chakra_folder_used 2 "workload.128.et: error: belongs to another set of files" "$STEPCAST" convert tests/data/seed_003.txt --gpus 128 --to chakra -o "$tmp/job"
"$STEPCAST" run tests/data/seed_003.txt --hta "$tmp/hta" --trace-ranks 0,1 >/dev/null
expect hta_folder_again 0 "" "$STEPCAST" run tests/data/seed_003.txt --hta "$tmp/hta" --trace-ranks 1,0
expect hta_folder_used 2 "rank1.pt.trace.json.gz: error: belongs to another set of files" "$STEPCAST" run tests/data/seed_003.txt --hta "$tmp/hta" --trace-ranks 0

# counts that no machine has, in small files; 1 GB and ten seconds are enough to say so
space="ulimit -v 1048576"
case ${BUILD:-} in *san*) space=true ;; esac # a sanitizer needs more
bounded() { ($space && timeout 10 "$STEPCAST" "$@"); }
sed 's/ pp: 4 / pp: 1000000 /; s/all_gpus: [0-9]*/all_gpus: 8000000/' tests/data/seed_004.txt >"$tmp/deep.txt"
expect too_many_stages 3 "pp 1000000 is too many stages" bounded run "$tmp/deep.txt"
sed 's/all_gpus: [0-9]*/all_gpus: 1024000000/' tests/data/seed_003.txt >"$tmp/wide.txt"
expect too_many_gpus 3 "is too many ranks" bounded run "$tmp/wide.txt"
"$STEPCAST" convert tests/data/seed_003.txt --to ir-json -o "$tmp/ir.json" 2>/dev/null
sed 's/"gpus": 1024,/"gpus": 1024000000,/' "$tmp/ir.json" >"$tmp/wide.json"
expect too_many_replicas 3 "is too many ranks" bounded run "$tmp/wide.json"
expect too_many_layers 2 "900000 layers are too many" bounded run tests/data/seed_000.txt --layers 900000

# .gz: a second member that is damaged is no end of the file; padding is
head -n 30 tests/data/seed_000.txt | gzip >"$tmp/1.gz"
tail -n +31 tests/data/seed_000.txt | gzip >"$tmp/2.gz"
cat "$tmp/1.gz" "$tmp/2.gz" >"$tmp/both.gz"
check gzip_members "$(step_of "$tmp/both.gz")" "$(step_of tests/data/seed_000.txt)"
{ cat "$tmp/both.gz" && head -c 1000 /dev/zero; } >"$tmp/padded.gz"
check gzip_padding "$(step_of "$tmp/padded.gz")" "$(step_of tests/data/seed_000.txt)"
printf X | dd of="$tmp/2.gz" conv=notrunc 2>/dev/null
cat "$tmp/1.gz" "$tmp/2.gz" >"$tmp/damaged.gz"
expect gzip_damaged_member 3 "damaged.gz: error: cannot unpack" "$STEPCAST" run "$tmp/damaged.gz"
{ cat "$tmp/padded.gz" && echo text; } >"$tmp/trailing.gz"
expect gzip_trailing_text 3 "bytes that are not packed after the packed ones" "$STEPCAST" run "$tmp/trailing.gz"
{ cat "$tmp/1.gz" && gzip -c tests/data/seed_000.txt | head -c 500; } >"$tmp/cut.gz"
expect gzip_cut_member 3 "cannot unpack: unexpected end of file" "$STEPCAST" run "$tmp/cut.gz"

# profiler tables: a row of a layer's parts that is missing, or no time
sed '/ SelfAttn  /d' tests/data/seed_001.txt >"$tmp/no_attention.txt"
expect profile_row_missing 0 "of the step's device time is in layers, but in no row of their parts" "$STEPCAST" run "$tmp/no_attention.txt" --json -
sed 's/ 10.878ms/-10.878ms/' tests/data/seed_001.txt >"$tmp/negative.txt"
expect profile_negative_time 3 "negative.txt:22: error: SelfAttn took -10878.000 us" "$STEPCAST" run "$tmp/negative.txt"
sed 's/ 10.878ms/ 10.878us/' tests/data/seed_001.txt >"$tmp/unit.txt"
expect profile_other_unit 0 "but in no row of their parts" "$STEPCAST" run "$tmp/unit.txt" --json -
"$STEPCAST" run tests/data/seed_001.txt --json "$tmp/profile.json" >/dev/null
check profile_as_it_is "$? $(grep -c 'no row of their parts' "$tmp/profile.json")" "0 0"

# four bytes an element everywhere: what is computed, and what is sent (gradients are fp32 in both)
plan="--model qwen3-30b-a3b --tp 2 --pp 2 --cp 2 --ep 4 --dp 4 --zero 3 --seq 8192 --global-batch 16 --gpu h200 --ignore-memory --cluster hgx-h200:32"
for type in bf16 fp32; do "$STEPCAST" run $plan --dtype $type --json "$tmp/$type.json" >/dev/null; done
check bytes_by_type "$(python3 -S -c '
import json, sys
a, b = (json.load(open(f))["volumes"] for f in sys.argv[1:])
sent = lambda r, g: sum(v["bytes"] for v in r if v["group"] == g and v["phase"] != "update")
print(*(g + "=%g" % (sent(b, g) / sent(a, g)) for g in ("tp", "cp", "ep", "pp")))' "$tmp/bf16.json" "$tmp/fp32.json")" "tp=2 cp=2 ep=2 pp=2"
check fp32_within_peak "$("$STEPCAST" run --model qwen3-30b-a3b --gpus 1 --seq 32768 --global-batch 1 --gpu h200 --dtype fp32 --ignore-memory --cluster hgx-h200:8 --json - |
    python3 -S -c 'import json, sys; print(0.3 < json.load(sys.stdin)["mfu"] <= 1)')" True

# names do not drive the terminal
escape=$(printf '\033[2J')
expect escapes_in_errors 3 "a?[2Jb.txt: error" "$STEPCAST" run "$tmp/a${escape}b.txt"
check no_raw_escape "$(grep -c 'error: cannot open' "$tmp/err") $(tr -cd '\033' <"$tmp/err" | wc -c)" "1 0"

# a Hugging Face config without the size of its feed-forward part
printf '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 1024, "num_attention_heads": 8, "vocab_size": 32000, "max_position_embeddings": 2048}\n' >"$tmp/config.json"
expect ffn_assumed 0 "no intermediate_size: 4 times the hidden size, 4096, is assumed" "$STEPCAST" run --model "$tmp/config.json" --gpus 1 --json -

# GPUs of a file: what it lacks is said where it is needed, and MFU is a share of what stands in for it
gpu_without() {
    python3 -S - "$1" "$tmp/gpu.json" <<'P'
import json, sys
gpu = json.load(open("data/gpus/h200.json"))
for sheet in (gpu["datasheet"], gpu["datasheet"]["peak_tflops"]):
    sheet.pop(sys.argv[1], None)
json.dump(gpu, open(sys.argv[2], "w"))
P
}
on_gpu="--num-layers 2 --hidden-size 4096 --num-attention-heads 32 --vocab-size 1024 --seq 1024 --global-batch 8"
nodes="gpus=8 node=8 nics=8 nic=400Gbps class=ib"
gpu_without fp32
for type in fp32 tf32; do expect "no_fp32_$type" 2 "has no fp32" "$STEPCAST" run $on_gpu --dtype $type --cluster "gpu=$tmp/gpu.json $nodes"; done
gpu_without dram_tbs
expect no_memory_rate 3 "datasheet needs sms, dram_tbs" "$STEPCAST" run $on_gpu --cluster "gpu=$tmp/gpu.json $nodes"
gpu_without fp16
expect no_fp16 0 "has no fp16: GEMMs are timed as bf16" "$STEPCAST" run $on_gpu --dtype fp16 --cluster "gpu=$tmp/gpu.json $nodes"
check mfu_of_what_stands_in "$("$STEPCAST" run $on_gpu --dtype fp16 --cluster "gpu=$tmp/gpu.json $nodes" --json - 2>/dev/null | python3 -S -c '
import json, sys
r = json.load(sys.stdin)
print(abs(r["mfu"] * 989.4 / r["tflops_per_gpu"] - 1) < 1e-3)')" True
