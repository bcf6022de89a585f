#!/bin/sh
# Inputs that once gave a wrong number with exit 0, or took all the memory there
# is: each gives the right number, a note or a refusal that names the place.
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
