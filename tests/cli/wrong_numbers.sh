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

# streams without an end, and packed ones; ulimit -f ends a program that copies
# them to memory (copies of that kind count for no other limit)
for device in /dev/zero /dev/full; do
    expect "endless $device" 3 "$device: error: unknown format" sh -c "ulimit -f 800000; '$STEPCAST' run $device"
done
expect endless_pipe 3 "<stdin>: error: unknown format" sh -c 'ulimit -f 800000; yes x | "$STEPCAST" run -'
expect packed_zeros 3 "<stdin>: error: unknown format" sh -c 'ulimit -f 800000; head -c 300000000 /dev/zero | gzip -1 | "$STEPCAST" run -'
expect memory_limit_of_a_pipe 3 "<stdin>: error: more than 256 MiB (unpacked) from a pipe or device" \
    sh -c 'ulimit -f 800000; ulimit -v 524288; { cat tests/data/seed_004.txt; yes ""; } | "$STEPCAST" run -'
expect memory_limit_of_a_packed_pipe 3 "write it to a file first" \
    sh -c 'ulimit -f 800000; { cat tests/data/seed_004.txt; head -c 300000000 /dev/zero; } | gzip -1 | { ulimit -v 524288; "$STEPCAST" run -; }'

# clusters: rates have units, keys come once
line="gpu=h100 gpus=64 node=8 nvlink=450GB/s nics=8 class=ib"
expect rate_without_unit 2 "nic takes a rate above 0 with its unit" "$STEPCAST" coll all_reduce -c "$line nic=400" -b 64M -e 64M
printf '{"schema": "stepcast/cluster/1", "name": "x", "gpu": "h100", "gpus": 16,\n "node": {"gpus": 8, "nvlink": "450GB/s", "nics": 8, "nic": 400}, "fabric": {"class": "ib"}}\n' >"$tmp/bare.json"
expect rate_without_unit_in_json 3 'bare.json:2:54: error: "nic" takes a rate above 0 with its unit' "$STEPCAST" coll all_reduce -c "$tmp/bare.json" -b 64M -e 64M
expect key_twice 2 "nic is given twice" "$STEPCAST" coll all_reduce -c "$line nic=400Gbps nic=200Gbps" -b 64M -e 64M
expect size_twice 2 "gpus is given twice" "$STEPCAST" coll all_reduce -c "dgx-h100:64 gpus=128" -b 64M -e 64M

# validate: a cell that is no number is named, not replaced
spoil() { # column, value: the first row of the table with it
    python3 -c '
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
expect flag_twice_in_a_script 0 "launch.sh: --num-layers is given more than once (24, 2): 2 counts" "$STEPCAST" run --megatron-args "$tmp/launch.sh" --gpus 1 --json -
printf 'if true; then MODEL=24; else MODEL=2; fi\npython pretrain_gpt.py --num-layers $MODEL %s\n' "${train#--num-layers 24}" >"$tmp/branch.sh"
expect variable_twice_in_a_script 0 "the variable MODEL is set more than once (24, 2)" "$STEPCAST" run --megatron-args "$tmp/branch.sh" --gpus 1 --json -
printf 'A="--num-layers 24"\nA="$A %s"\npython pretrain_gpt.py $A\n' "$train" >"$tmp/append.sh"
"$STEPCAST" run --megatron-args "$tmp/append.sh" --gpus 1 --json "$tmp/append.json" >/dev/null
check appended_variable "$? $(grep -c "more than once" "$tmp/append.json")" "0 0"
printf 'python pretrain_gpt.py\n  %s\0\n' "$train" >"$tmp/nul.sh"
expect nul_in_a_script 3 "nul.sh:2:$((${#train} + 3)): error: NUL byte in a text file" "$STEPCAST" run --megatron-args "$tmp/nul.sh" --gpus 1
