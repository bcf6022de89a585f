#!/bin/sh
# Operator tables, profiler tables and conversions as a person meets them.
operators=tests/data/seed_000.txt profile=tests/data/seed_001.txt
layers="tests/data/seed_003.txt tests/data/seed_004.txt"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
value() { sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" | head -1; }
run() { "$STEPCAST" run "$@" --json - 2>"$tmp/err" | value step_time_us; }

# operator table: sums of the file, in ms, rounded here to the microsecond
check operators_ideal "$(run $operators --cluster ideal | cut -d. -f1)" 187539
check operators_ideal_36 "$(run $operators --cluster ideal --layers 36 | cut -d. -f1)" 2279323
check operators_pipe "$("$STEPCAST" run - --cluster ideal --json - <$operators | value step_time_us | cut -d. -f1)" 187539
expect operators_note 0 "backward compute counts as nothing" "$STEPCAST" run $operators --dp 32
expect operators_synth 0 "synthesised from forward for: 7 gemm" "$STEPCAST" run $operators --dp 32 --backward synth
expect operators_bytes 0 "341.5 MB" "$STEPCAST" run $operators --dp 32
expect operators_buckets 0 "ALLREDUCE × 5, 341.5 MB" "$STEPCAST" show $operators --dp 32 --bucket 25MiB
expect operators_bad_block 2 "no row 'nothing'" "$STEPCAST" run $operators --layers 2 --block nothing:more
expect operators_pp 2 "--pp-comm" "$STEPCAST" run $operators --layers 8 --pp 2
expect operators_pp_runs 0 "pipeline bubble" "$STEPCAST" run $operators --layers 8 --pp 2 --pp-comm 80MB --micro-batches 4 --dp 4
sed '20s/\t.*//' $operators >$tmp/cut.txt
expect operators_cut 3 "cut.txt:20: error: 1 of 11 columns" "$STEPCAST" run $tmp/cut.txt
sed 's/ALLREDUCE_ASYNC/ALLREDUCE_ASNC/' $operators >$tmp/typo.txt
expect operators_typo 3 "did you mean ALLREDUCE_ASYNC?" "$STEPCAST" run $tmp/typo.txt

# profiler table: the figures of its own rows
check profile_compute "$(run $profile --compute-only)" 97573
check profile_twice_as_fast "$(run $profile --compute-only --gpu-speedup 2 | cut -d. -f1)" 48786
check profile_no_optimizer "$(run $profile --compute-only --scale optimizer=0)" 94211
"$STEPCAST" show $profile --json - >$tmp/show.json
check profile_forward "$(value forward_us <$tmp/show.json)" 41988
check profile_backward "$(value backward_us <$tmp/show.json)" 51302
check profile_rows "$(value table_rows <$tmp/show.json)" 84
expect profile_calls 0 "all-to-all 8, all-gather 2, reduce-scatter 1, all-reduce 4" "$STEPCAST" show $profile
expect profile_wait 0 "nccl:_all_gather_base                                   3.758 s" "$STEPCAST" show $profile
expect profile_amdahl 0 "MOEGate" "$STEPCAST" run $profile
expect profile_sizes 0 "assumed values: --tokens 4096, --hidden 1024" "$STEPCAST" run $profile
expect profile_typo 2 "did you mean 'MOEGate'?" "$STEPCAST" run $profile --scale MOEGat=0.5
expect profile_no_table 2 "--table 2: the file holds 1" "$STEPCAST" run $profile --table 2
head -40 $profile >$tmp/head.txt
expect profile_cut 3 "head.txt:40: error: table 1 has no end" "$STEPCAST" run $tmp/head.txt
sed 's/CUDA total/CUDA sum/' $profile >$tmp/column.txt
expect profile_column 3 "unknown or repeated column 'CUDA sum'" "$STEPCAST" run $tmp/column.txt
slow=$(run $profile --ep 64 --cluster dgx-a100:64) fast=$(run $profile --ep 64 --cluster dgx-h100:64)
hidden=$(run $profile --ep 64 --cluster dgx-a100:64 --overlap-a2a)
awk "BEGIN { exit !($slow > $fast && $slow > $hidden) }" && echo "ok profile_networks" ||
    echo "not ok profile_networks: $slow $fast $hidden"

# conversions: through every form and back
for f in $layers $operators; do
    name=$(basename $f .txt)
    "$STEPCAST" convert $f --to ir-json -o $tmp/a.json >/dev/null
    "$STEPCAST" convert $tmp/a.json --to ir-json -o $tmp/b.json >/dev/null
    cmp -s $tmp/a.json $tmp/b.json && echo "ok json_again_$name" || echo "not ok json_again_$name"
    check json_runs_$name "$(run $tmp/a.json --cluster dgx-h100)" "$(run $f --cluster dgx-h100)"
    "$STEPCAST" convert $f --lowered --to ir-json -o $tmp/low.json >/dev/null
    check lowered_runs_$name "$(run $tmp/low.json --cluster dgx-h100)" "$(run $f --cluster dgx-h100)"
done
# chunks of tensor parallelism take no SMs, which the JSON says too
chunks="--model llama3-8b --tp 4 --sequence-parallel --overlap-tp chunks --micro-batch 1 --global-batch 4 --seq 4096 --ignore-memory --cluster dgx-h100:4"
"$STEPCAST" convert $chunks --lowered --to ir-json -o $tmp/low.json >/dev/null
check lowered_runs_chunks "$(run $tmp/low.json --cluster dgx-h100:4)" "$(run $chunks)"
for f in $layers; do
    name=$(basename $f .txt)
    "$STEPCAST" convert $f --to ir-json -o $tmp/a.json >/dev/null
    "$STEPCAST" convert $tmp/a.json --to workload-text -o $tmp/a.txt >/dev/null
    "$STEPCAST" convert $tmp/a.txt --to ir-json -o $tmp/b.json >/dev/null
    cmp -s $tmp/a.json $tmp/b.json && echo "ok text_and_back_$name" || echo "not ok text_and_back_$name"
    expect table_refused_$name 3 "operator-table cannot express: the policy" "$STEPCAST" convert $f --to operator-table
done
"$STEPCAST" convert $operators --to ir-json -o $tmp/a.json >/dev/null
"$STEPCAST" convert $tmp/a.json --to operator-table -o $tmp/a.txt >/dev/null
"$STEPCAST" convert $tmp/a.txt --to ir-json -o $tmp/b.json >/dev/null
cmp -s $tmp/a.json $tmp/b.json && echo "ok table_and_back" || echo "not ok table_and_back"
"$STEPCAST" convert $operators --to workload-text --gpus 32 --lossy -o $tmp/w.txt >$tmp/out
grep -q "parts of a nanosecond in 42 times" $tmp/out && echo "ok lossy_says_so" || echo "not ok lossy_says_so"
a=$(run $tmp/w.txt --cluster dgx-a100:32) b=$(run $operators --dp 32 --cluster dgx-a100:32)
awk "BEGIN { d = $a - $b; exit !(d * d < 0.01) }" && echo "ok same_step_in_both_formats" || echo "not ok same_step_in_both_formats: $a $b"
expect text_refused 3 "parts of a nanosecond" "$STEPCAST" convert $operators --to workload-text
"$STEPCAST" convert $profile --to workload-text -o $tmp/p.txt >/dev/null
check profile_as_rows "$(run $tmp/p.txt --cluster dgx-a100:8)" "$(run $profile --cluster dgx-a100:8)"
"$STEPCAST" convert tests/fuzz/corpus/profiler_table/kernels.txt --to ir-json -o $tmp/k.json >/dev/null
check kernels_as_json "$(run $tmp/k.json)" 40
expect kernels_have_no_rows 3 "no step to write as rows" "$STEPCAST" convert tests/fuzz/corpus/profiler_table/kernels.txt --to workload-text
"$STEPCAST" convert $operators --lowered --to ir-json -o $tmp/low.json >/dev/null
expect operations_have_no_rows 3 "cannot express operations on streams" "$STEPCAST" convert $tmp/low.json --to workload-text
expect lossy_needs_a_file 2 "add -o FILE" "$STEPCAST" convert $operators --to workload-text --lossy
expect unknown_format 2 "one of: workload-text" "$STEPCAST" convert $operators --to prose
expect no_format 2 "needs --to" "$STEPCAST" convert $operators
"$STEPCAST" convert $operators --layers 36 --backward synth --to operator-table -o $tmp/36.txt >/dev/null
check changed_rows "$(run $tmp/36.txt --dp 32)" "$(run $operators --layers 36 --backward synth --dp 32)"
expect unused_option 2 "add --lowered" "$STEPCAST" convert $operators --scale gemm=2 --to ir-json
expect lowered_text 2 "--lowered goes with" "$STEPCAST" convert $operators --lowered --to workload-text
"$STEPCAST" convert tests/data/seed_002.txt --tp 1 --pp 2 --dp 2 --to ir-json -o $tmp/a.json >/dev/null
"$STEPCAST" convert $tmp/a.json --to ir-json -o $tmp/b.json >/dev/null
cmp -s $tmp/a.json $tmp/b.json && grep -q '"timeline"' $tmp/b.json && echo "ok trace_and_back" || echo "not ok trace_and_back"
{ head -1 $operators; awk 'BEGIN { while (i++ < 1000000) printf "long_name_"; print "\t1\tNone\t0\t0\tNone\t0\t0\tNone\t0\t0" }'; } >$tmp/long.txt
check name_of_10_megabytes "$(run $tmp/long.txt --cluster ideal)" 1000

# NeuSight's own CSV: the step is the sum of e2e_latency, 8.375 ms
csv=tests/fuzz/corpus/neusight_csv/two_layers.csv
check neusight_csv "$(run $csv --cluster ideal)" 8375
check neusight_csv_layers "$(run $csv --cluster ideal --layers 4)" 16375
expect neusight_csv_show 0 "forward 3.125 ms, backward 4.250 ms, weight gradients 1.000 ms" "$STEPCAST" show $csv
expect neusight_csv_no_communication 0 "says nothing of communication" "$STEPCAST" run $csv --dp 8
"$STEPCAST" convert $csv --to operator-table -o $tmp/csv.txt >/dev/null
check neusight_csv_as_table "$(run $tmp/csv.txt --cluster ideal)" 8375
cut -d, -f1-2 $csv | sed 's/^Name.*/Name,fw_latency/; s/,misc/,0.5/; s/,embedding/,1/; s/,linear/,2/' >$tmp/forward.csv
check neusight_csv_forward_alone "$(run $tmp/forward.csv --cluster ideal)" 5500
expect neusight_csv_forward_note 0 "a forward pass alone" "$STEPCAST" run $tmp/forward.csv
sed 's/2.5,4.0$/9.5,4.0/' $csv >$tmp/sum.csv
# operators that others lead to and that are not there were cut off; one that stands twice is refused
printf "Name,Next,fw_latency\na,\"{'b', 'c'}\",1\nb,set(),2\nc,set(),3\n" >$tmp/graph.csv
check neusight_csv_graph "$("$STEPCAST" run $tmp/graph.csv --cluster ideal | grep -c 'cut off\|step time')" 1
check neusight_csv_graph_runs "$(run $tmp/graph.csv --cluster ideal)" 6000
sed '$d' $tmp/graph.csv >$tmp/cut.csv
expect neusight_csv_cut_off 0 "1 operator that others lead to, 'c' first, is not in it" "$STEPCAST" run $tmp/cut.csv --cluster ideal
{ cat $tmp/graph.csv; sed -n '$p' $tmp/graph.csv; } >$tmp/doubled.csv
expect neusight_csv_doubled 3 "doubled.csv:5:1: error: this operator stands there twice: 'c'" "$STEPCAST" run $tmp/doubled.csv --cluster ideal
expect neusight_csv_wrong_sum 3 "sum.csv:4:" "$STEPCAST" run $tmp/sum.csv
sed 's/1.5,2.0/1.5,-2.0/' $csv >$tmp/negative.csv
expect neusight_csv_negative 3 "time out of range: '-2.0'" "$STEPCAST" run $tmp/negative.csv
sed 's/,4.0$//' $csv >$tmp/columns.csv
expect neusight_csv_columns 3 "another number of columns" "$STEPCAST" run $tmp/columns.csv
sed "s/'size'}\"/'size'}/" $csv >$tmp/quote.csv
expect neusight_csv_quote 3 "a quote that does not end" "$STEPCAST" run $tmp/quote.csv
head -1 $csv >$tmp/header.csv
# of several GPUs: the rows that send have no compute, and their gradients are reduced beside backward: 3 + 5 ms and the
# last all-reduce of 4 M elements of four bytes
replicas=tests/fuzz/corpus/neusight_csv/replicas.csv
check neusight_csv_replicas "$(run $replicas --cluster ideal --dp 4)" 8000
last=$("$STEPCAST" coll all_reduce --cluster dgx-h100:4 -b 16000000 -e 16000000 | awk '$1 == 16000000 { print $6 }')
check neusight_csv_gradients "$("$STEPCAST" run $replicas --cluster dgx-h100 --dp 4 | awk '$1 == "dp" { print $2, $3, $4, $7 }')" "2 32.00 MB $last"
expect neusight_csv_said 0 "has 2 collectives, in elements of 4 bytes" "$STEPCAST" run $replicas --dp 4
sed "s/\[\[.ALLREDUCE_ASYNC', \[4000000\]\]\]/[['ALLREDUCE_ASYNC', []]]/" $replicas >$tmp/elements.csv
expect neusight_csv_elements 3 "elements.csv:3:34: error: a collective without a number of elements: 'ALLREDUCE_ASYNC'" "$STEPCAST" run $tmp/elements.csv
sed "s/('ALLREDUCE_ASYNC', (4000000,))/['MEM', ((8,),)], ['ALLREDUCE_ASYNC', (8,)]/" $replicas >$tmp/beside.csv
expect neusight_csv_beside 3 "a collective beside other operators in one row" "$STEPCAST" run $tmp/beside.csv
sed "s/ALLREDUCE,\[\],\(\"\[\['ALLREDUCE_ASYNC', \[4000000\]\]\]\"\),/ALLREDUCE,\1,[],/" $replicas >$tmp/early.csv
expect neusight_csv_early 3 "early.csv:3: error: forward: ALLREDUCE_ASYNC is a gradient all-reduce" "$STEPCAST" run $tmp/early.csv
expect neusight_csv_no_rows 3 "a header and no rows" "$STEPCAST" run $tmp/header.csv

# a table of 3,000 layers as it stands: rows times layers are not what it takes
awk 'BEGIN { OFS = "\t"; print "name", "forward_compute_time", "forward_comm_type", "forward_comm_size", "backward_compute_time", "backward_comm_type", "backward_comm_size", "weight_grad_compute_time", "weight_grad_comm_type", "weight_grad_comm_size", "process_time"
    for (layer = 0; layer < 3000; layer++)
        for (row = 0; row < 2; row++)
            print "transformer_h_" layer (row ? "_mlp_c_fc" : "_ln_1"), "0.001", "None", 0, 0, "None", 0, 0, "None", 0, 0 }' >"$tmp/deep.txt"
check deep_table "$(run "$tmp/deep.txt" | cut -d. -f1)" 6000
