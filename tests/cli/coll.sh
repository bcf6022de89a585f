#!/bin/sh
# coll: nccl-tests' flags and columns, other outputs, logs, mistakes.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect

# columns: size count type redop root time algbw busbw #wrong time algbw busbw #wrong
"$STEPCAST" coll all_reduce --cluster dgx-h100:8 -b 8 -e 8G -f 2 >$tmp/table
check rows "$(grep -vc '^#' $tmp/table)" 31
check sizes "$(grep -v '^#' $tmp/table | awk '{print $1}' | tail -1)" 8589934592
check columns "$(grep -v '^#' $tmp/table | awk 'NF < 13 || $6 != $10 || $9 != "N/A" { bad++ } END { print NR, bad + 0 }')" "31 0"
# busbw is algbw times 2(n-1)/n
check busbw "$(grep -v '^#' $tmp/table | awk '$7 > 1 { n++ } $7 > 1 && ($8 / $7 < 1.74 || $8 / $7 > 1.76) { bad++ } END { print (n > 10), bad + 0 }')" "1 0"
check count "$("$STEPCAST" coll all_gather -c dgx-h100:8 -b 1M -e 1M -d half | awk '!/^#/ {print $2, $3}')" "65536 half"
for name in AllReduce ALL_REDUCE all-reduce all_reduce_perf; do
    check "operation as people write it: $name" "$("$STEPCAST" coll $name -c dgx-h100:8 -b 1M -e 1M | head -1)" "# all_reduce on dgx-h100: 8 GPUs on 1 node, 1 GPU a process"
done
check increments "$("$STEPCAST" coll all_reduce -c dgx-h100:8 -b 1M -e 4M -i 1M | grep -vc '^#')" 4
check same_as_its_log "$("$STEPCAST" coll --against $tmp/table all_reduce -c dgx-h100:8 | awk '/mean square/ {print ($NF < 0.005)}')" 1

"$STEPCAST" coll all_reduce -c dgx-h100:8 -b 1M -e 1G -f 4 --json - >$tmp/rows.json
check json "$(python3 -S -c '
import json, sys
d = json.load(open(sys.argv[1]))
r = d["rows"][-1]
print(sorted(r), abs(r["size_bytes"] / r["time_us"] / 1e3 - r["algbw_gbs"]) < 1e-3, abs(r["busbw_gbs"] / r["algbw_gbs"] - 1.75) < 1e-6)' $tmp/rows.json)" \
        "['algbw_gbs', 'algo', 'busbw_gbs', 'proto', 'size_bytes', 'time_us'] True True"
check csv "$("$STEPCAST" coll sendrecv -c dgx-h100:8 --csv - | head -1)" "op,gpus,nodes,size_bytes,time_us,algbw_gbs,busbw_gbs,algo,proto"
for op in all_reduce all_gather reduce_scatter alltoall sendrecv broadcast reduce; do
    expect op_$op 0 "Avg bus bandwidth" "$STEPCAST" coll $op -c dgx-h100:16
done
expect forced 0 "ring         simple" "$STEPCAST" coll all_reduce -c dgx-h100:8 --algo ring --proto simple
expect cannot_force 2 "cannot run as ring" "$STEPCAST" coll alltoall -c dgx-h100:8 --algo ring
expect no_nvls_on_a100 2 "cannot run as nvls" "$STEPCAST" coll all_reduce -c dgx-a100:8 --algo nvls
# protocols as NCCL_PROTO lists them; A3 Mega has no tree of LL128 without it
check protocols "$(for p in auto LL,Simple; do "$STEPCAST" coll all_reduce -c gcp-a3-mega:16 -b 128K -e 128K --proto $p --csv - | awk -F, 'NR == 2 {print $9}'; done | paste -sd ' ')" "ll128 ll"
check all_but_one "$("$STEPCAST" coll all_reduce -c gcp-a3-mega:16 -b 8 -e 8G -f 2 --csv - --proto ^LL128)" "$("$STEPCAST" coll all_reduce -c gcp-a3-mega:16 -b 8 -e 8G -f 2 --csv - --proto simple,ll)"
for list in ll, "" ^ x ^x ll,,simple ll128x "ll simple"; do
    expect "protocols '$list'" 2 "there is no protocol" "$STEPCAST" coll all_reduce -c dgx-h100:8 --proto "$list"
done
expect no_protocol 2 "leaves no protocol" "$STEPCAST" coll all_reduce -c dgx-h100:8 --proto ^ll,ll128,simple
expect no_nvls_ll 2 "cannot do with --proto ll here" "$STEPCAST" coll all_reduce -c dgx-h100:8 --algo nvls --proto ll
expect custom 0 "custom       simple" "$STEPCAST" coll all_reduce -c dgx-h100:8 --algo custom -b 64K -e 64K
expect no_custom_between 2 "cannot run as custom" "$STEPCAST" coll all_reduce -c dgx-h100:16 --algo custom
expect no_custom_known 2 "cannot run as custom" "$STEPCAST" coll all_reduce -c amd-mi300x:8 --algo custom
expect unknown_algo 2 "ring, tree" "$STEPCAST" coll all_reduce --algo rng
expect unknown_op 2 "all_reduce, all_gather" "$STEPCAST" coll all_redcue
expect no_op 2 "one operation" "$STEPCAST" coll
expect default_cluster 0 "note: no cluster given" "$STEPCAST" coll all_reduce
expect odd_count 3 "whole number of nodes" "$STEPCAST" coll all_reduce -c dgx-h100:12
expect some_gpus 0 "12 GPUs on 2 nodes" "$STEPCAST" coll all_reduce -c dgx-h100:16 --gpus 12
expect sizes_reversed 2 "smaller" "$STEPCAST" coll all_reduce -b 1G -e 1M
expect zero_factor 2 "above 1" "$STEPCAST" coll all_reduce -b 1 -e 8 -f 1
expect size_too_large 2 "8 EiB" "$STEPCAST" coll all_reduce -b 9223372036854775808 -e 9223372036854775808
expect size_too_long 2 "46 days" "$STEPCAST" coll all_reduce -c dgx-h100:8 -b 1G -e 4000000T -f 2
expect no_pxn_noted 0 "note: --no-pxn has no effect" "$STEPCAST" coll alltoall -c dgx-h100:64 --no-pxn
# 64 nodes of 8, 4:1 uplinks for 32: with PXN the half that leaves its 32 nodes crosses them, without it 7/8 of the rest too
for way in "" --no-pxn; do
    "$STEPCAST" coll alltoall -c "dgx-h100:512 oversubscription=4" $way -b 1G -e 1G | awk '!/^#/ {print $6}'
done | paste -sd ' ' >$tmp/pxn
check no_pxn_costs "$(awk '{print ($2 / $1 > 1.8 && $2 / $1 < 1.875)}' $tmp/pxn)" 1
expect processes 0 "40.00" "$STEPCAST" coll all_reduce -c dgx-h100:8 -b 8 -e 8 -g 8
expect topology_file 0 "16 GPUs on 2 nodes" "$STEPCAST" coll all_reduce -c tests/data/clusters/spectrum-16.topo
expect network_file 0 "32 GPUs on 32 nodes" "$STEPCAST" coll all_reduce -c tests/data/clusters/astra-2d.yml
expect against_without_cluster 2 "give --cluster" "$STEPCAST" coll all_reduce --against $tmp/table
"$STEPCAST" coll --against $tmp/table all_reduce -c dgx-h100:8 --csv $tmp/rows.csv >/dev/null
check rows_beside_a_log "$(head -1 $tmp/rows.csv) $(awk -F, 'NR > 1 && ($8 > 1 || $8 < -1 || $7 / $6 - 1 - $8 / 100 > 1e-4)' $tmp/rows.csv | wc -l) $(($(wc -l <$tmp/rows.csv) > 5))" "op,gpu,gpus,nodes,size_bytes,measured_us,forecast_us,error_percent,source 0 1"
expect json_beside_a_log 2 "--csv writes rows" "$STEPCAST" coll --against $tmp/table all_reduce -c dgx-h100:8 --json -
expect unused_beside_a_log 0 "--minbytes has no effect" "$STEPCAST" coll --against $tmp/table all_reduce -c dgx-h100:8 -b 8
expect not_a_log 3 "no row" "$STEPCAST" coll all_reduce -c dgx-h100:8 --against Makefile

expect drawn 0 "128 nodes" "$STEPCAST" show --cluster dgx-h100:1024
"$STEPCAST" show --cluster tests/data/clusters/spectrum-16.topo --json $tmp/topo.json >/dev/null
check topology_as_json "$("$STEPCAST" coll all_reduce -c $tmp/topo.json -b 64M -e 64M | awk '!/^#/ {print $6}')" \
    "$("$STEPCAST" coll all_reduce -c tests/data/clusters/spectrum-16.topo -b 64M -e 64M | awk '!/^#/ {print $6}')"

# a log of a machine that is not the preset: the fitted file predicts it
"$STEPCAST" coll all_reduce -c "dgx-a100:8 nvlink=270GB/s" -b 8 -e 8G -f 2 >$tmp/log
expect fit 0 "constants that moved" "$STEPCAST" coll all_reduce -c dgx-a100:8 --fit $tmp/log -o $tmp/fitted.json
check fitted_predicts "$("$STEPCAST" coll all_reduce -c $tmp/fitted.json --against $tmp/log | awk '/mean square/ {print ($NF < 0.02)}')" 1
check unfitted_does_not "$("$STEPCAST" coll all_reduce -c dgx-a100:8 --against $tmp/log | awk '/mean square/ {print ($NF < 0.02)}')" 0

# a log of a machine whose links are half as fast is not explained by constants: the description is asked for
"$STEPCAST" coll all_reduce -c "dgx-a100:8 nvlink=150GB/s" -b 8 -e 8G -f 2 >$tmp/half
longer_than_predicted() { sed -n "s/.*$1 take \([0-9.]*\) times as long as predicted.*/\1/p" | awk '{print ($1 > 1.6 && $1 < 2)}'; }
check rate_inside "$("$STEPCAST" coll all_reduce -c dgx-a100:8 --against $tmp/half | longer_than_predicted 'inside a node')" 1
expect rate_as_described 0 "measured): 0.000" "$STEPCAST" coll all_reduce -c "dgx-a100:8 nvlink=150GB/s" --against $tmp/half
check rate_not_asked_for "$("$STEPCAST" coll all_reduce -c "dgx-a100:8 nvlink=150GB/s" --against $tmp/half | grep -c 'as long as predicted')" 0
"$STEPCAST" coll all_gather -c "dgx-h100:16 nic=100Gbps" -b 8 -e 8G -f 2 | sed 's/^# all_gather/# all_gather_perf/' >$tmp/thin
# (a quarter of the NICs, of which a fit may explain the half)
check rate_between "$("$STEPCAST" coll all_gather -c dgx-h100:16 --fit $tmp/thin | longer_than_predicted 'between nodes')" 1

# logs of machines that the constants were not fitted on, half of them never looked at: 19.2 % off before any was, RTX 4090 refused
"$STEPCAST" coll --validate data/truth/collectives_3.csv >$tmp/third 2>&1
check third_table "$(awk '/^all rows/ {print ($(NF - 2) > 10 && $(NF - 2) < 19.2)} /^1074 rows/ {print "read"} /rows of GPU rtx4090 were left out/ {print "refused"}' $tmp/third | paste -sd ' ')" "read 1 refused"

# the network of a row is known by words of its source: the forecast is that of the class
{
    echo source,gpu,gpus,gpus_per_node,intra_gbs_uni,nic_gbps_per_gpu,op,algo,size_bytes,time_us,notes
    for told in "two A3 High nodes" "A3 Mega with TCPXO" "A3 Ultra" "Perlmutter" "Oracle Cloud" "Thor2 NICs" "InfiniBand"; do
        echo "$told,H100,16,8,450,200,all_gather,default,1048576,100,"
    done
} >$tmp/words.csv
classes() { for class in "$@"; do "$STEPCAST" coll all_gather -c "gpu=h100 gpus=16 node=8 nics=8 nic=200Gbps nvlink=450GB/s fabric=rail class=$class" -b 1M -e 1M --csv - | awk -F, 'NR > 1 {printf "%.2f ", $5}'; done; }
check classes_by_words "$("$STEPCAST" coll --validate $tmp/words.csv --csv - | awk -F, 'NR > 1 {printf "%.2f ", $7}')" "$(classes tcpx tcpxo gib slingshot roce roce ib)"
# measured times of 0.8, 2, 4 and 1 of the forecast: it is 25, 50, 75 and 0 % off
seen=$("$STEPCAST" coll all_gather -c "gpu=h100 gpus=16 node=8 nics=8 nic=200Gbps nvlink=450GB/s fabric=rail class=ib" -b 1M -e 1M --csv - | awk -F, 'NR > 1 {print $5}')
{
    head -1 $tmp/words.csv
    for times in 0.8 2 4 1; do echo "InfiniBand,H100,16,8,450,200,all_gather,default,1048576,$(python3 -c "print($seen * $times)"),"; done
} >$tmp/errors.csv
check errors_of_rows "$("$STEPCAST" coll --validate $tmp/errors.csv | sed -n 's/^all rows *//p' | tr -s ' ')" "- 37.5 37.5 ( 4) - 37.5 37.5 ( 4) "
# a unit in a column of numbers was the usual machine, without a word
for cells in "8,450,100 Gb/s|nic_gbps_per_gpu: '100 Gb/s'" "8,450GB/s,200|intra_gbs_uni: '450GB/s'" "eight,450,200|gpus_per_node: 'eight'" "8,450,-200|nic_gbps_per_gpu: '-200'"; do
    { head -1 $tmp/words.csv; echo "InfiniBand,H100,16,${cells%|*},all_gather,default,1048576,100,"; } >$tmp/unit.csv
    expect "unit_in_a_table ${cells%|*}" 3 "unit.csv:2: error: ${cells#*|} is no number" "$STEPCAST" coll --validate $tmp/unit.csv
done

# a calibrated file for another number of GPUs
expect file_with_size 0 "32 GPUs on 4 nodes" "$STEPCAST" coll all_reduce -c $tmp/fitted.json:32
expect no_file_with_size 2 "neither a preset nor a file" "$STEPCAST" coll all_reduce -c $tmp/none.json:32
expect fixed_file 3 "not of 32" "$STEPCAST" coll all_reduce -c tests/data/clusters/spectrum-16.topo:32
# what the log decides moves, and nothing else: rings of other operations go with NVLink, hops do not
check fit_names_cause "$("$STEPCAST" coll all_reduce -c dgx-a100:8 --fit $tmp/log | grep -c '^#   rate of rings over NVLink: x 0.9')" 1
# a log that is as predicted moves nothing
"$STEPCAST" coll all_reduce -c dgx-a100:8 -b 8 -e 8G -f 2 >$tmp/as-predicted
check fit_to_standard_output "$("$STEPCAST" coll all_reduce -c dgx-a100:8 --fit $tmp/as-predicted -o - | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["schema"])')" stepcast/cluster/1
# … and against a network that costs nothing every ratio is infinite
for how in fit against; do
    expect "${how}_what_is_free" 2 "communication is free on ideal: measurements say nothing of it" "$STEPCAST" coll all_reduce -c ideal:8 --$how $tmp/as-predicted
done
expect fit_nothing 0 "note: no constant moves" "$STEPCAST" coll all_reduce -c dgx-a100:8 --fit $tmp/as-predicted
# NVLSTree that is slower than predicted is no reason to change rings
"$STEPCAST" coll all_reduce -c dgx-h100:16 -b 8 -e 8G -f 2 | awk '!/^#/ && /nvlstree/ {$6 *= 1.15; $7 /= 1.15; $8 /= 1.15} {print}' >$tmp/slow-tree
"$STEPCAST" coll all_reduce -c dgx-h100:16 --fit $tmp/slow-tree -o $tmp/slow-tree.json >$tmp/slow-tree.out
check fit_tree_alone "$(grep -c '^#   .*NVLSTree' $tmp/slow-tree.out) $(grep -c '^#   .*\(rings\|wire\|hop\)' $tmp/slow-tree.out)" "1 0"
for op in all_gather reduce_scatter alltoall; do
    check "fit_leaves_$op" "$("$STEPCAST" coll $op -c $tmp/slow-tree.json:64 -b 1M -e 1G -f 4 | awk '!/^#/ {print $6}' | paste -sd ' ')" \
        "$("$STEPCAST" coll $op -c dgx-h100:64 -b 1M -e 1G -f 4 | awk '!/^#/ {print $6}' | paste -sd ' ')"
done
# an all-gather that starts later does not say that others do; two operations do, and nothing of all-to-alls
for op in all_gather reduce_scatter; do
    echo "# Collective test starting: ${op}_perf" >$tmp/late-$op
    "$STEPCAST" coll $op -c dgx-h100:8 -b 512 -e 1G -f 2 | awk '!/^#/ {$6 += 1.2} {print}' >>$tmp/late-$op
done
expect fit_of_one_late 0 "note: no constant moves" "$STEPCAST" coll all_gather -c dgx-h100:8 --fit $tmp/late-all_gather
expect fit_of_late 0 "start inside a node: x 1.1" "$STEPCAST" coll -c dgx-h100:8 --fit $tmp/late-all_gather --fit $tmp/late-reduce_scatter -o $tmp/late.json
check late_leaves_alltoall "$("$STEPCAST" coll alltoall -c $tmp/late.json -b 512 -e 1G -f 4 | awk '!/^#/ {print $6}' | paste -sd ' ')" \
    "$("$STEPCAST" coll alltoall -c dgx-h100:8 -b 512 -e 1G -f 4 | awk '!/^#/ {print $6}' | paste -sd ' ')"
# processes with one GPU each do not tell what a launch takes, one with eight does
late_launch() { "$STEPCAST" coll all_reduce -c dgx-h100:8 -b 512 -e 1G -f 2 --gpus-per-process $1 | awk -v launch=$2 '!/^#/ && $6 < launch {$6 = launch; $7 = $1 / $6 / 1000; $8 = 1.75 * $7} {print}' >$tmp/launch; "$STEPCAST" coll all_reduce -c dgx-h100:8 --fit $tmp/launch --gpus-per-process $1 | grep -c '^#   launch of a process'; }
check launch_of_one "$(late_launch 1 16)" 0
check launch_of_eight "$(late_launch 8 60)" 1
# logs as people have them
markdown=${STEPCAST_SHARED:-../shared}/inputs/nccl/autodl_2x2080ti.md
if [ -f $markdown ]; then
    pair="gpu=rtx-2080ti gpus=2 node=2 inside=pcie nvlink=6GB/s class=ib"
    "$STEPCAST" coll --against $markdown -c "$pair" >$tmp/pair
    check tables_of_markdown "$(sed -n 's/^# \([a-z_]*\), 2 GPUs on 1 node .*/\1/p' $tmp/pair | paste -sd ' ')" "all_reduce all_gather broadcast reduce alltoall"
    expect one_gpu_left_out 0 "reduce on 1 GPU is left out" "$STEPCAST" coll --against $markdown -c "$pair"
    expect one_operation 0 "alltoall, 2 GPUs" "$STEPCAST" coll alltoall --against $markdown -c "$pair"
    expect no_such_table 2 "no table to compare with" "$STEPCAST" coll sendrecv --against $markdown -c "$pair"
else echo "skip tables_of_markdown [needs shared]"; fi
sed 's/^/0: /' $tmp/log >$tmp/srun
check srun_prefix "$("$STEPCAST" coll all_reduce -c dgx-a100:8 --against $tmp/srun | tail -1)" "$("$STEPCAST" coll all_reduce -c dgx-a100:8 --against $tmp/log | tail -1)"
expect nameless_table 2 "does not say which operation" "$STEPCAST" coll --against $tmp/slow-tree -c dgx-h100:16
# the same table in other dress tells the same: what stands in front of lines and behind rows, columns of old versions, rows that
# NCCL_DEBUG cuts in two or three
plain=$("$STEPCAST" coll all_reduce -c dgx-a100:8 --against $tmp/log | tail -1)
dressed() {
    awk "$2" $tmp/log >"$tmp/dressed"
    check "dressed: $1" "$("$STEPCAST" coll all_reduce -c dgx-a100:8 --against "$tmp/dressed" | tail -1)" "$plain"
}
said='"node0:12:34 [0] NCCL INFO AllReduce: opCount 0 count 2 float 4 Bytes -> Algo 0 proto 0 time 25.200462"'
dressed syslog '{print "May 01 12:00:00 gpu-01 nccl[1234]: " $0}'
dressed containers '{print "2025-11-03T11:22:33.123456Z stdout F " $0}'
dressed mpirun '{print "[1,0]<stdout>:" $0}'
dressed "mpirun with the time" '{print "Mon May  1 12:00:00 2024[1,0]<stdout>:" $0}'
dressed "measured at" '!/^#/ {print $0, "2025-11-03 11:22:33"; next} {print}'
dressed "old columns" '!/^#/ {print $1, $2, $3, $4, $6, $7, $8, "2e-07"; next} {print}'
dressed "without #wrong" '/busbw/ {sub(/ +#wrong.*/, ""); print; next} !/^#/ {print $1, $2, $3, $4, $5, $6, $7, $8; next} {print}'
dressed "without #wrong, both halves" '/busbw/ {sub(/ +#wrong.*/, ""); print $0, "time algbw busbw"; next} !/^#/ {print $1, $2, $3, $4, $5, $6, $7, $8, 1, 2, 3; next} {print}'
dressed "carriage returns" '{print $0 "\r"}'
dressed "figures later" "!/^#/ {print \$1, \$2, \$3, \$4, \$5; print $said; print \$6, \$7, \$8, 0; next} {print}"
dressed "figures later, words glued to both parts" "!/^#/ {print \$1, \$2, \$3, \$4, \$5 $said; print $said; print \$6, \$7, \$8, 0 $said; next} {print}"
awk '!/^#/ {print $1, $2, $3, $4, $5; next} {print}' $tmp/log >"$tmp/dressed"
expect figures_never_come 3 "dressed:6:1: error: this row of the nccl-tests table is not whole" "$STEPCAST" coll all_reduce -c dgx-a100:8 --against "$tmp/dressed"
awk 'NR < 12 {print} NR == 12 {print $1, $2, $3}' $tmp/log >"$tmp/dressed"
expect cut_off 3 "this row of the nccl-tests table is not whole" "$STEPCAST" coll all_reduce -c dgx-a100:8 --against "$tmp/dressed"
# nccl-tests of 2018 print milliseconds under the same heads
awk '!/^#/ { $6 = sprintf("%.6f", $6 / 1000) } { print }' $tmp/log >"$tmp/dressed"
check milliseconds "$("$STEPCAST" coll all_reduce -c dgx-a100:8 --against "$tmp/dressed" | grep 'mean square')" "$plain"
expect milliseconds_said 0 "times are in milliseconds" "$STEPCAST" coll all_reduce -c dgx-a100:8 --against "$tmp/dressed"
# the end of a log: no ranks, no name; busbw / algbw tells the GPUs of the operation asked for
"$STEPCAST" coll all_reduce -c dgx-h100:16 --gpus 4 -b 64M -e 256M -f 2 | grep -v '^#' >"$tmp/end"
expect gpus_by_the_factor 0 "all_reduce, 4 GPUs on 1 node" "$STEPCAST" coll all_reduce -c dgx-h100:16 --against "$tmp/end"
# columns that people leave: size, time and the bandwidths
{ echo '#  size  time  algbw  busbw'; echo '#  (B)  (us)  (GB/s)  (GB/s)'; awk '{ print $1, $6, $7, $8 }' "$tmp/end"; } >"$tmp/left"
check columns_left "$("$STEPCAST" coll all_reduce -c dgx-h100:16 --against "$tmp/left")" "$("$STEPCAST" coll all_reduce -c dgx-h100:16 --against "$tmp/end" | sed "s:$tmp/end:$tmp/left:")"
# two GPUs have one factor for all_reduce and broadcast: redop, or the line that ends a test, tells what it was
"$STEPCAST" coll broadcast -c dgx-h100:8 --gpus 2 -b 16M -e 64M | grep -v perf >"$tmp/sent"
expect nothing_reduced 3 "redop is 'none' here, and all_reduce reduces" "$STEPCAST" coll all_reduce -c dgx-h100:8 --gpus 2 --against "$tmp/sent"
{ cat "$tmp/sent"; echo '# Collective test concluded: broadcast_perf'; "$STEPCAST" coll reduce -c dgx-h100:8 --gpus 2 -b 8M -e 8M | grep -v perf; echo '# Collective test concluded: reduce_perf'; } >"$tmp/both"
check concluded_table "$("$STEPCAST" coll --against "$tmp/both" -c dgx-h100:8 --gpus 2 | grep 'GPUs on')" "# broadcast, 2 GPUs on 1 node of dgx-h100
# reduce, 2 GPUs on 1 node of dgx-h100"
expect why_no_table 2 "hint: $tmp/both:" "$STEPCAST" coll all_gather --against "$tmp/both" -c dgx-h100:8 --gpus 2
# ranks lie where the log lists them: two GPUs of two hosts are not two of one node; hosts of a rack are
listed() { for i in 0 1; do echo "#  Rank  $i Group  0 Pid  1 on host$(($i * $1)) device  $i [0x00] NVIDIA H100"; done; "$STEPCAST" coll all_reduce -c "$2" --gpus 2 -b 64M -e 64M | awk '!/^#/ {$6 = 100} {print}'; }
listed 1 dgx-h100:8 >$tmp/hosts
listed 0 dgx-h100:8 >$tmp/host
expect two_hosts 0 "2 GPUs on 2 nodes" "$STEPCAST" coll all_reduce -c dgx-h100:16 --against $tmp/hosts
expect one_host 0 "2 GPUs on 1 node" "$STEPCAST" coll all_reduce -c dgx-h100:16 --against $tmp/host
expect hosts_of_a_rack 0 "2 GPUs on 1 node" "$STEPCAST" coll all_reduce -c gb200-nvl72:72 --against $tmp/hosts
expect too_few_nodes 0 "ran on 2 hosts; 2 ranks lie on 1 nodes" "$STEPCAST" coll all_reduce -c dgx-h100:8 --against $tmp/hosts

truth=${STEPCAST_SHARED:-../shared}/truth/collectives.csv
if [ -f $truth ]; then
    "$STEPCAST" coll --validate $truth >$tmp/valid
    # medians of small, middle, large and all sizes: at most 10, 10, 2, 4.7 %
    check accuracy "$(awk '/^all rows/ {gsub(/[()]/, " "); print ($3 <= 10), ($6 <= 10), ($9 <= 2), ($12 <= 4.7)}' $tmp/valid)" "1 1 1 1"
    # a row of a GPU that nobody knows is left out with a note
    sed '2s/H100-SXM-80GB/X9/' $truth >$tmp/truth.csv
    expect unknown_gpu 0 "note: rows of GPU x9 were left out" "$STEPCAST" coll --validate $tmp/truth.csv
else echo "skip accuracy [needs shared]"; fi
truth2=${STEPCAST_SHARED:-../shared}/truth/collectives_2.csv
if [ -f $truth2 ]; then
    "$STEPCAST" coll --validate $truth2 >$tmp/valid2
    check accuracy_2 "$(awk '/^all rows/ {gsub(/[()]/, " "); print ($3 <= 6), ($6 <= 7), ($9 <= 2), ($12 <= 5)}' $tmp/valid2)" "1 1 1 1"
else echo "skip accuracy_2 [needs shared]"; fi

# RCCL: logs of AMD GPUs as they were published; groups of two and four are one machine's
rccl=$(dirname "$0")/../data/collectives_rccl.csv
"$STEPCAST" coll --validate $rccl >$tmp/valid_rccl
check accuracy_rccl "$(awk '/^rccl-tests log/ {gsub(/[()]/, " "); all = $(NF - 2)} /^rccl-tests log/ {print (all <= 11)}' $tmp/valid_rccl | tr '\n' ' ')" "1 1 "
check accuracy_rccl_large "$(awk '/^all rows/ {gsub(/[()]/, " "); print ($9 <= 6)}' $tmp/valid_rccl)" 1

# NCCL's table chooses between nodes only: inside one, times neither fall nor jump with size, and four H100 gather 2 MiB
# in the 19.1 to 22.3 us that aiconfigurator measured (NCCL 2.29, 2.23)
steady() { "$STEPCAST" coll $1 -c $2 -b 64K -e 64M -f 1.02 --by-tuner --csv - | awk -F, 'NR > 2 && ($5 < last || $5 > 1.05 * last) {n++} NR > 1 {last = $5; rows++} END {print rows, n + 0}'; }
for cluster in dgx-h100:2 dgx-h100:4 dgx-h100:8 dgx-a100:8 dgx-b200:4; do
    check "steady gather $cluster" "$(steady all_gather $cluster)" "351 0"
    check "steady reduction $cluster" "$(steady all_reduce $cluster)" "351 0"
done
check gather_of_2_mib "$("$STEPCAST" coll all_gather -c dgx-h100:4 -b 2M -e 2M --by-tuner --csv - | awk -F, 'NR == 2 {print ($5 > 18 && $5 < 24)}')" 1
# two nodes with four NICs each: a ring for large sizes, where a tree would be faster
check tuner_between_nodes "$(for t in "" --by-tuner; do "$STEPCAST" coll all_reduce -c "dgx-a100:16 nics=4 nic=200Gbps" -b 400M -e 400M $t --csv - | awk -F, 'NR == 2 {print $8}'; done | paste -sd ' ')" "tree ring"

# what AWS's own table takes on p5 (aws-ofi-nccl): trees of LL128 below 112 MiB on 64 GPUs and 288 MiB on 128 and 256, NVLSTree
# behind them on 256, and on two nodes at large sizes
taken() { "$STEPCAST" coll all_reduce -c aws-p5:$1 -b $2 -e $2 --csv - | awk -F, 'NR == 2 {print $8 "/" $9}'; }
check as_aws_takes "$(taken 64 64M) $(taken 128 256M) $(taken 256 256M) $(taken 256 512M) $(taken 16 1G)" "tree/ll128 tree/ll128 tree/ll128 nvlstree/simple nvlstree/simple"
# on p5en it gathers with LL128 up to 472 MiB on 32 GPUs, 912 MiB on 64, 6.75 GiB on 384
gathered() { "$STEPCAST" coll all_gather -c aws-${3:-p5en}:$1 -b $2 -e $2 --csv - | awk -F, 'NR == 2 {print $9}'; }
check gathers_as_aws "$(gathered 32 400M) $(gathered 32 600M) $(gathered 64 800M) $(gathered 64 1100M) $(gathered 384 5G) $(gathered 384 8G)" "ll128 simple ll128 simple ll128 simple"
# on p6-b200 up to 435 MiB, 831 MiB, and 7.75 GiB on 512
check gathers_as_aws_b200 "$(gathered 32 380M p6-b200) $(gathered 32 520M p6-b200) $(gathered 64 720M p6-b200) $(gathered 64 1000M p6-b200) $(gathered 512 6G p6-b200) $(gathered 512 9G p6-b200)" "ll128 simple ll128 simple ll128 simple"

# presets of clouds, and how far each is known
for name in aws-p5:16 aws-p4d:16 gcp-a3-mega:16 azure-ndv5:16 oci-h100:16 coreweave-gb200:72 amd-mi300x:8; do
    expect "preset $name" 0 "collectives inside a node" "$STEPCAST" show --cluster $name
done
expect grade_measured 0 "inside a node: measured (hopper), between nodes: measured (efa)" "$STEPCAST" show --cluster aws-p5:16
expect grade_scaled 0 "between nodes: scaled (ib)" "$STEPCAST" show --cluster dgx-b200:16
expect grade_pcie 0 "inside a node: guessed (ampere)" "$STEPCAST" show --cluster a100-pcie:8
# vTrain's V100: 22.6 GB/s between two, 85.4 between four, 135 between eight
mesh() { "$STEPCAST" coll all_reduce -c dgx-v100:8 --gpus $1 -b 1G -e 1G | awk -v wanted=$2 '!/^#/ {print ($8 > 0.97 * wanted && $8 < 1.03 * wanted)}'; }
check cube_mesh "$(mesh 2 22.6) $(mesh 4 85.4) $(mesh 8 134.5)" "1 1 1"
expect grade_mesh 0 "inside a node: measured (volta)" "$STEPCAST" show --cluster dgx-v100:8
expect grade_not_mesh 0 "inside a node: scaled (volta)" "$STEPCAST" show --cluster dgx-2:16
expect grade_plain 0 "collectives: guessed (plain" "$STEPCAST" show --cluster tpu-torus
expect grade_guessed 0 "between nodes: guessed (tcpx)" "$STEPCAST" show --cluster gcp-a3-high:16
expect unknown_has_no_nvls 2 "cannot run as nvls" "$STEPCAST" coll all_reduce -c "gpu=x1 gpus=8 node=8 nvlink=450GB/s class=ib" --algo nvls
# racks of 72 of which a job uses 64, whole racks, part of one
expect racks_of_64 0 "64 NICs" "$STEPCAST" show --cluster gb200-nvl72:256
expect racks_noted 0 "256 GPUs as 4 nodes of 64 of their 72 GPUs" "$STEPCAST" coll all_reduce -c gb200-nvl72:256
expect one_rack 0 "72 GPUs on 1 node" "$STEPCAST" coll all_reduce -c gb200-nvl72:72
expect two_racks 0 "72 NICs" "$STEPCAST" show --cluster gb200-nvl72:144
expect no_such_racks 3 "not a whole number of nodes" "$STEPCAST" show --cluster gb200-nvl72:257
# of a full mesh two GPUs have one link of 43.7 GB/s, four 133 (MI355X, 1 GiB); two nodes of four as much, not 4/3 of it
part() {
    printf '%s\n' $1 >$tmp/ranks
    "$STEPCAST" coll all_reduce -c amd-mi355x:16 --rank-file $tmp/ranks --gpus $(wc -l <$tmp/ranks) -b 1G -e 1G --csv - |
        awk -F, -v wanted=$2 'NR == 2 {print ($7 > 0.95 * wanted && $7 < 1.05 * wanted)}'
}
check part_of_a_mesh "$(part "0 1" 43.7) $(part "0 1 2 3" 133.3) $(part "0 1 2 3 8 9 10 11" 128.5)" "1 1 1"
# AMD's setting of RCCL for its own NICs: 8 MiB on two nodes 110 us, 172 without
ainic() { "$STEPCAST" coll all_reduce -c "gpu=mi355x gpus=16 node=8 nvlink=537.6GB/s nics=8 nic=50GB/s class=$1" -b 8M -e 8M --csv - | awk -F, -v wanted=$2 'NR == 2 {print ($5 > 0.75 * wanted && $5 < 1.25 * wanted)}'; }
check ainic "$(ainic ainic 110.2) $(ainic roce 171.5)" "1 1"
# xGMI: two of eight GPUs have one of seven links
check one_link "$("$STEPCAST" coll all_gather -c amd-mi300x:8 --gpus 2 -b 4G -e 4G --csv - | awk -F, 'NR == 2 {print ($7 > 0.6 * 64 && $7 <= 64)}')" 1
# channels to another node: two of about 9.5 GB/s, then the NIC
for n in 1 2 4 16; do "$STEPCAST" coll sendrecv -c dgx-h100:16 --net-channels $n -b 4G -e 4G --csv - | awk -F, 'NR == 2 {print int($7 + 0.5)}'; done | paste -sd ' ' >$tmp/channels
check net_channels "$(cat $tmp/channels)" "9 19 38 48"
# published messages: eight A100 110.8 GB/s at 128 MiB, on twice the channels of 64 MiB; four GH200 a node over Slingshot 24.24 at 512 MiB, 18.3 by one channel
message() { "$STEPCAST" coll sendrecv -c "$1" -b $2 -e $2 $4 --csv - | awk -F, -v wanted=$3 'NR == 2 {print ($7 > 0.97 * wanted && $7 < 1.03 * wanted)}'; }
slingshot="gpu=gh200 gpus=16 node=4 nvlink=450GB/s nics=4 nic=25GB/s class=slingshot"
check messages "$(message dgx-a100:8 128M 110.8) $(message "$slingshot" 512M 24.24) $(message "$slingshot" 512M 18.3 "--net-channels 1")" "1 1 1"
# small gathers of two A3 Ultra nodes take 28.6 to 34.4 us (4 to 64 KiB), large ones reach 325 GB/s
ultra() { "$STEPCAST" coll all_gather -c gcp-a3-ultra:16 -b $1 -e $1 --csv - | awk -F, -v wanted=$2 -v column=$3 'NR == 2 {print ($column > 0.9 * wanted && $column < 1.1 * wanted)}'; }
check a3_ultra "$(ultra 4K 28.59 5) $(ultra 64K 34.44 5) $(ultra 2G 322.98 7)" "1 1 1"
# a ring of LL of two DGX A100, whose hosts have AMD's processors, takes longer a step than one of two DGX H100 (NCCL issue 812: 93 us)
lowest() { "$STEPCAST" coll all_reduce -c $1:16 --algo ring --proto ll -b 8 -e 8 --csv - | awk -F, 'NR == 2 {print $5}'; }
check ring_of_ll "$(awk -v a=$(lowest dgx-a100) -v h=$(lowest dgx-h100) 'BEGIN {print (a > 0.9 * 93 && a < 1.1 * 93), (h < 0.6 * a)}')" "1 1"
# four GH200 of a node have links to each other and no switch that could reduce; those of a rack of 32 have one
gh200() { "$STEPCAST" coll all_reduce -c "gpu=gh200 gpus=$1 node=$1 nvlink=450GB/s nics=4 nic=25GB/s class=slingshot" -b 256M -e 256M | awk '!/^#/ {print $(NF - 1)}'; }
check gh200_mesh "$(gh200 4) $(gh200 32)" "ring nvls"
# eight A100 in one process need 260 to 287 us for 16 MiB, with a process each 213 to 232
eight() { "$STEPCAST" coll all_reduce -c dgx-a100:8 -g $1 -b 16M -e 16M --csv - | awk -F, -v low=$2 -v high=$3 'NR == 2 {print ($5 > low && $5 < high)}'; }
check one_process "$(eight 8 250 290) $(eight 1 205 240)" "1 1"
# parts of 64 KiB to 1 MiB of two H100 are on one to sixteen channels and take 14.0, 14.2, 14.4, 14.9 and 15.5 us (NCCL 2.29)
check pairs_by_channels "$("$STEPCAST" coll alltoall -c dgx-h100:8 --gpus 2 -b 128K -e 2M -f 2 --csv - | awk -F, 'NR > 1 {split("13.97 14.15 14.40 14.85 15.52", us, " "); printf "%d ", ($5 > 0.92 * us[NR - 1] && $5 < 1.08 * us[NR - 1])}')" "1 1 1 1 1 "
expect no_channels 2 "" "$STEPCAST" coll sendrecv -c dgx-h100:16 --net-channels 0
# a GiB over uplinks of 400/8 Gb/s takes 171.8 ms and cannot take less; on rails gather, scatter and shift have those of one rail,
# and GPUs that share a NIC are on one rail. Flows laid on the links say the same.
thin="gpu=h100 gpus=32 node=4 nvlink=450GB/s nics=2 nic=400Gbps class=ib fabric=rail leaf=2 oversubscription=8"
engines() { "$STEPCAST" coll $1 -c "$2" -b 1G -e 1G --net analytic,flow --route spray $3 | awk -v low=${4:-0} '!/^#/ {d = $2 / $3 - 1; print (d < 0.01 && d > -0.01 && $2 > low)}'; }
check thin_uplinks "$(engines sendrecv "gpu=h100 gpus=4 node=1 nics=1 nic=400Gbps class=ib fabric=fat-tree leaf=1 oversubscription=8" "" 171798) $(engines sendrecv "$thin" "" 85899) $(engines gather "$thin" "" 64424) $(engines scatter "$thin" "" 64424)" "1 1 1 1"
check one_rail "$(engines scatter "gpu=h800 gpus=6 node=3 nvlink=200GB/s nics=1 nic=400Gbps class=roce fabric=rail leaf=2 oversubscription=4") $(engines alltoall "gpu=h100 gpus=32 node=4 nvlink=450GB/s nics=1 nic=400Gbps class=ib fabric=rail leaf=4 oversubscription=8" --no-pxn)" "1 1"
# a card without NVLink sends all through its slot, 25 GB/s, to the NIC too: of 1 GiB 15/16 (all-to-all, gather) or all (four slingshot nodes)
slots() { "$STEPCAST" coll $1 -c "gpu=l40s $2" -b 1G -e 1G --csv - | awk -F, 'NR == 2 {print ($7 > 15 && $7 <= 25)}'; }
check slots "$(slots alltoall "gpus=16 node=8 nics=8 nic=400Gbps class=ib") $(slots gather "gpus=16 node=8 nics=8 nic=400Gbps class=ib") $(slots all_gather "gpus=24 node=3 nics=1 nic=800Gbps class=slingshot") $(slots sendrecv "gpus=4 node=1 nics=1 nic=400Gbps class=slingshot")" "1 1 1 1"
# a message among eight GPUs of a node has four of a GPU's channels, whatever engine is asked
check message_in_a_node "$("$STEPCAST" coll sendrecv -c dgx-h100:8 -b 16M -e 16M --net analytic,flow,packet | awk '!/^#/ {print ($3 == $2), ($4 > 0.98 * $2 && $4 < 1.02 * $2)}')" "1 1"
# ranks in turn on two nodes whose GPUs share a NIC by twos: 256 MiB more take 2 * 256 MiB on 12.5 GB/s, of which EFA has 0.925;
# three messages that change rails to one NIC, of 50 GB/s * 0.955: three times 256 MiB
seconds() { "$STEPCAST" coll sendrecv -c $1 --gpus $2 --rank-file $tmp/$3 --net $4 --route spray -b 256M -e 512M -f 2 --csv - | awk -F, -v us=$5 'NR == 2 {t = $5} NR == 3 {d = ($5 - t) / us - 1; print (d < 1e-4 && d > -1e-4)}'; }
seq 0 7 | awk '{print $1; print $1 + 8}' >$tmp/in_turn
printf '0\n8\n1\n16\n2\n24\n' >$tmp/one_rail
check messages_meet "$(for net in analytic flow; do seconds aws-p4d:16 16 in_turn $net 46432.08; seconds dgx-h100:32 6 one_rail $net 16865.05; done | paste -sd ' ')" "1 1 1 1"
# two more switches from leaf to leaf, four from pod to pod, on the way of messages too, and where there is no software:
# 14 steps of a ring of eight nodes and of 2 + 2 us and an eighth of 8 MiB on 50 GB/s, 14 * (4 + 20.97152) us, times rounded up
leaves="gpu=h100 gpus=64 node=8 nics=8 nic=400Gbps fabric=fat-tree leaf=1"
took() { "$STEPCAST" coll $1 -c "$2" -b $3 -e $3 --net $4 --csv - | awk -F, 'NR == 2 {print $5}'; }
check switches_of_messages "$(for net in analytic flow; do for pods in "" " pod-leaves=2"; do echo "$(took sendrecv "$leaves$pods class=ib switch-latency=1us" 64K $net) $(took sendrecv "$leaves$pods class=ib" 64K $net)" | awk '{printf "%.2f ", $1 - $2}'; done; done)" "2.00 4.00 2.00 4.00 "
check switches_without_software "$(took all_reduce "gpu=h100 gpus=8 node=1 nics=1 nic=400Gbps fabric=fat-tree leaf=1 class=plain hop=2us switch-latency=1us" 8M analytic)" 349.601281
# a pod of two leaves is one segment where a node has one NIC of two planes: three nodes share an eighth of 3 * 50 GB/s; 11 hops of 1 us
check pod_of_planes "$(for net in analytic "flow --route spray"; do took broadcast "gpu=h100 gpus=12 node=1 nics=1 nic=400Gbps fabric=hpn planes=2 leaf=3 pod-leaves=2 pod-oversubscription=8 class=plain hop=1us" 64M "$net"; done | paste -sd ' ')" "3590.139414 3590.139414"
# the fullest link of the root: of a ring of eight four parts of eight, the one opposite with three; of a torus 4 x 4 half of the
# fifteen by each dimension, of these two thirds by one link, five of sixteen; of 4 x 4 x 4 fourteen of 64. Hops of 1 us to the middle
root() { "$STEPCAST" coll $1 -c "gpu=h100 fabric=torus link=50GB/s hop=1us dims=$2" -b 64M -e 64M --net $3 --route spray --csv - | awk -F, -v us=$4 'NR == 2 {d = $5 - us; print (d < 0.01 && d > -0.01)}'; }
check torus_root "$(for net in analytic flow; do for op in gather scatter; do root $op 8 $net 675.09; root $op 4x4 $net 423.43; root $op 4x4x4 $net 299.60; done; done | sort -u)" 1
# 33 GPUs on rails, leaves of two nodes, an uplink of 25 GB/s (0.955 of it) a rail: by PXN 16 send to the three of others on the first rail,
# 48 parts of 33; directly two of a rail to 17 outside and 7 on other rails, as many. 24 parts come to the root of a gather
rails="gpu=h100 gpus=64 node=8 nics=8 nic=400Gbps class=ib fabric=rail leaf=2 oversubscription=4"
parts() { "$STEPCAST" coll $1 -c "$rails" --gpus $2 $4 --net $5 --route spray -b 256M -e 512M -f 2 --csv - | awk -F, -v parts=$3 -v gpus=$2 'NR == 2 {t = $5} NR == 3 {us = parts / gpus * 268435456 / 23875; d = ($5 - t) / us - 1; print (d < 0.001 && d > -0.001)}'; }
check last_node_on_rails "$(for net in analytic flow; do parts alltoall 33 48 "--algo pxn" $net; parts alltoall 33 48 "--algo direct" $net; parts alltoall 28 32 "" $net; parts gather 33 24 "" $net; done | sort -u)" 1
# GPUs picked at odds: rings, chains and trees leave their rails, and meet on uplinks as the links themselves say
printf '0\n1\n3\n4\n5\n6\n7\n9\n10\n11\n14\n15\n' >$tmp/odd
odd() { "$STEPCAST" coll $1 -c "gpu=$2 gpus=$3 node=4 nvlink=300GB/s nics=$4 nic=200Gbps class=$5 fabric=$6 oversubscription=8" --gpus 12 --rank-file $tmp/odd $7 -b 1G -e 1G --net analytic,flow --route spray | awk '!/^#/ {d = $2 / $3 - 1; print (d < 0.01 && d > -0.01)}'; }
check off_the_rails "$({
    for op in all_reduce all_gather broadcast reduce alltoall gather scatter sendrecv; do odd $op a100-80 16 4 efa "rail leaf=3"; odd $op h100-sxm 16 2 ib "hpn planes=2 leaf=2"; odd $op h100-sxm 16 8 ib "rail leaf=2"; done
    for algo in ring tree nvlstree; do odd all_reduce h100-sxm 16 4 ib "rail leaf=2" "--algo $algo"; done
    odd all_gather h100-sxm 16 4 ib "rail leaf=1 pod-leaves=8 pod-oversubscription=4"
} | sort -u)" 1
# a chain to the root has other uplinks than one from it: twice on those of a rail, or once
printf '5\n8\n14\n21\n28\n' >$tmp/five
chains() { "$STEPCAST" coll $1 -c "gpu=b200 gpus=32 node=8 nics=8 nic=200Gbps fabric=hpn class=efa leaf=2 oversubscription=4 planes=2" --gpus 5 --rank-file $tmp/five -b 128M -e 128M --net $2 --route spray --csv - | awk -F, 'NR == 2 {print $5}'; }
check chains_off_the_rails "$(for net in analytic flow; do awk -v b=$(chains broadcast $net) -v r=$(chains reduce $net) 'BEGIN {printf "%.2f ", b / r}'; done)" "1.99 1.99 "
# PXN is over NVLink: cards on PCIe change rails in the fabric. Leaves of two nodes, uplinks of a rail of 12.5 GB/s (0.955 of it): two
# ranks of a rail send to 16 outside and to 7 on other rails, 46 of 32 parts; of a shift two messages from the last rail to the first
cards() { "$STEPCAST" coll $1 -c "gpu=l40s gpus=32 node=8 nics=8 nic=400Gbps class=ib fabric=rail leaf=2 oversubscription=8" --net $3 --route spray -b 256M -e 512M -f 2 --csv - | awk -F, -v parts=$2 'NR == 2 {t = $5} NR == 3 {us = parts / 32 * 268435456 / 11937.5; d = ($5 - t) / us - 1; print (d < 0.001 && d > -0.001)}'; }
check pxn_needs_nvlink "$(for net in analytic flow; do cards alltoall 46 $net; cards sendrecv 64 $net; done | sort -u)" 1
# a tree of nodes of which the first has one GPU is cut into slices as one whose last has
printf '0\n8\n9\n16\n17\n' >$tmp/one_first
printf '0\n1\n8\n9\n16\n' >$tmp/one_last
sliced() { "$STEPCAST" coll all_reduce -c dgx-h100:24 --gpus 5 --rank-file $tmp/$1 --algo tree -b 16M -e 16M --net flow,packet --route spray --cc none | awk '!/^#/ {d = $3 / $2; print (d > 0.99 && d < 1.03)}'; }
check slices_of_trees "$(sliced one_first) $(sliced one_last)" "1 1"
# adaptive routes go by a slow cable last: eight channels have 32 spines, and lose nothing by one at a tenth of its rate
adapts() { "$STEPCAST" coll all_gather -c "gpu=h100 gpus=64 node=8 nics=8 nic=400Gbps class=ib fabric=fat-tree leaf=4" -b 1G -e 1G --net flow --route $1 $2 --csv - | awk -F, 'NR == 2 {print $5}'; }
check adaptive_by_rate "$(awk -v a=$(adapts adaptive) -v b=$(adapts adaptive --degrade=leaf0-spine3=0.1) -v c=$(adapts dmodk --degrade=leaf0-spine3=0.1) 'BEGIN {print (a > 0 && b == a), (c > 5 * a)}')" "1 1"
# a port with a half and a quarter of its rate: latency as before, then an eighth of 15/16 of the bytes, 128 for 120, at 0.955 of what is left; and
# behind a thin leaf, which takes as long as the half port, no less than with a whole one
degraded() { "$STEPCAST" coll all_gather --cluster "hgx-h200:16$1" -b 16M -e 16M --net flow --degrade port3.down=$2 --json - | sed -n 's/.*"time_us": \([0-9.]*\).*/\1/p'; }
check port_degraded "$(awk -v a=$(degraded "" 0.25) -v b=$(degraded "" 0.5) -v c=$(degraded "" 1) \
    'BEGIN {port = 16777216 * 15 / 16 / 8 * 128 / 120 / (0.955 * 50e3); print ((a - b - 2 * port) ^ 2 < 0.01), (b - c > 0.9 * port)}')" "1 1"
thin=" leaf=1 oversubscription=2"
check port_degraded_behind_a_thin_leaf "$(degraded "$thin" 0.5)" "$(degraded "$thin" 1)"
# an eager timer adds a constant
check eager "$(for e in "" --eager; do "$STEPCAST" coll all_reduce -c dgx-h100:8 -b 8 -e 8 $e --csv - | awk -F, 'NR == 2 {print $5}'; done | paste -sd ' ' | awk '{print $2 - $1}')" 18
# a log of another operation, or of another number of GPUs, than the one asked for
"$STEPCAST" coll all_gather -c dgx-h100:16 -b 1M -e 4M >"$tmp/gather.log" 2>/dev/null
expect log_of_another_operation 3 "times algbw here, and 1.875 times for all_reduce on 16 GPUs" "$STEPCAST" coll all_reduce -c dgx-h100:16 --against "$tmp/gather.log"
expect log_of_more_gpus 3 "the job has 16 ranks, but cluster 'dgx-h100' has only 8 GPUs" "$STEPCAST" coll all_gather -c dgx-h100:8 --against "$tmp/gather.log"
