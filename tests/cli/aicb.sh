#!/bin/sh
# AICB's calls for real clusters (CSV): times against those of the calls one by one, a
# pipeline against the closed form of 1F1B, and what is damaged.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
step_us() { "$STEPCAST" run "$@" --json - 2>/dev/null | sed -n 's/^ *"step_time_us": \([0-9.]*\).*/\1/p' | head -1; }
one=tests/fuzz/corpus/aicb_csv/one_stage.csv
two=tests/fuzz/corpus/aicb_csv/two_stages.csv

# what a rank does, call by call: tp in a node, dp over two nodes (eight groups, a NIC each)
coll_us() { "$STEPCAST" coll "$1" --cluster "$2" --gpus "$3" -b "$4" -e "$4" 2>/dev/null | awk '!/^#/ && NF { print $6 }'; }
grep -v computation "$one" >"$tmp/calls.csv"
sum=0
for call in "broadcast 8 17408" "all_reduce 8 20971520" "all_reduce 8 20971520"; do
    set -- $call
    sum=$(echo "$sum $(coll_us "$1" "dgx-h100:8" "$2" "$3")" | awk '{ print $1 + $2 }')
done
pair="gpu=h100-sxm node=1 nics=1 nic=400Gbps class=ib fabric=rail gpus=2"
for call in "reduce_scatter 6422958080" "all_gather 3211479040"; do
    set -- $call
    sum=$(echo "$sum $(coll_us "$1" "$pair" 2 "$2")" | awk '{ print $1 + $2 }')
done
alone=$(step_us "$tmp/calls.csv" --cluster dgx-h100:16)
check calls_one_by_one "$(echo "$alone $sum" | awk '{ print ($1 > 0.98 * $2 && $1 < 1.02 * $2) ? "within 2 %" : $1 " against " $2 }')" "within 2 %"
# the product: (4096, 1280, 5120) of bf16, as `kernels` times it
printf 'op,dtype,m,n,k,us\ngemm,bf16,4096,1280,5120,1\n' >"$tmp/kernel.csv"
product=$("$STEPCAST" kernels "$tmp/kernel.csv" --gpu h100 2>/dev/null | awk '/^gemm/ { print $4; exit }')
all=$(step_us "$one" --cluster dgx-h100:16)
check product_is_a_kernel "$(echo "$all $alone ${product:-0}" | awk '{ d = $1 - $2 - $3; print (d > -2 && d < 2 && $3 > 10) ? "as the kernel" : $1 - $2 " against " $3 }')" "as the kernel"
expect setting_up_is_no_step 0 'ALLREDUCE × 2, 41.94 MB' "$STEPCAST" show "$one"
expect product_is_said 0 '1 products of bf16 by the model of' "$STEPCAST" run "$one" --cluster dgx-h100:16
expect no_computation_is_said 0 'no computation: the step is communication alone' "$STEPCAST" run "$tmp/calls.csv" --cluster dgx-h100:16
# 1F1B of 2 stages and 2 micro-batches, 10 ms forward and 20 ms backward: (2 + 1) · 30 ms
check pipeline "$(step_us "$two" --cluster ideal:4)" 90000
# two iterations: the first counts; an end that is missing: all rows are one
{ cat "$tmp/calls.csv"; sed -n '/forward_step/,$p' "$tmp/calls.csv"; } >"$tmp/again.csv"
check first_iteration "$(step_us "$tmp/again.csv" --cluster dgx-h100:16)" "$alone"
expect iterations_are_said 0 '2 iterations; the first is taken' "$STEPCAST" run "$tmp/again.csv" --cluster dgx-h100:16
# micro tests warm up first, under another size
head -2 "$tmp/calls.csv" >"$tmp/warm.csv"
for i in 1 2 3; do echo 'CommType.all_reduce,CommGroup.dp_group,2,4096,warmup,None,None,,None,None,None,1'; done >>"$tmp/warm.csv"
{ echo 'CommType.epoch_end,None,None,0,,None,None,,None,None,None,1'; sed -n '3,$p' "$tmp/calls.csv"; } >>"$tmp/warm.csv"
check warm_up_is_no_step "$(step_us "$tmp/warm.csv" --cluster dgx-h100:16)" "$alone"
{ head -2 "$tmp/calls.csv"; echo 'CommType.all_reduce,CommGroup.pp_group,1,4096,test_step,None,None,,None,None,None,1'; } >"$tmp/alone.csv"
expect groups_of_one 0 'every call is of a group of one rank and takes no time' "$STEPCAST" run "$tmp/alone.csv" --cluster dgx-h100:16
sed '$d; /init/d; 4d' "$tmp/calls.csv" >"$tmp/open.csv"
expect open_end_is_said 0 'no epoch_end: its calls are taken for one iteration' "$STEPCAST" run "$tmp/open.csv" --cluster dgx-h100:16
check an_end_needs_no_word "$("$STEPCAST" run "$tmp/calls.csv" --cluster dgx-h100:16 | grep -c "epoch_end\|step time")" 1
check open_end "$(step_us "$tmp/open.csv" --cluster dgx-h100:16)" "$alone"
# the log of a run: milliseconds; without the line of ranks the groups decide
sed 's/20971520,\(.*\),None,None,None,1$/20971520,\1,0.25,10.0,17.5,1/; s/CommType.computation.*/CommType.computation,CommGroup.all,None,0,forward.Linear,None,None,,1.5,0,0,1/; 1d' "$one" >"$tmp/log.csv"
check log "$(echo "$(step_us "$tmp/log.csv" --cluster dgx-h100:16) $alone" | awk '{ printf "%.0f", $1 - $2 }')" 1500
expect log_is_said 0 'has measured times of calls' "$STEPCAST" run "$tmp/log.csv" --cluster dgx-h100:16

refused() { # name, text, sed program
    sed "$3" "$one" >"$tmp/bad.csv"
    expect "$1" 3 "$2" "$STEPCAST" run "$tmp/bad.csv" --cluster dgx-h100:16
}
refused unknown_call "bad.csv:5:10: error: a call that is not known: 'teleport'" 's/CommType.broadcast/CommType.teleport/'
refused unknown_group "a group that is not read: 'xy_group'" '5s/tp_group/xy_group/'
refused negative_size "msg_size is not a number of bytes: '-5'" 's/17408/-5/'
refused endless_size "msg_size is not a number of bytes: '1e300'" 's/17408/1e300/'
refused other_size 'the group had another size before' '5s/,8,/,4,/'
refused no_size 'comm_group_size is not a number of ranks' '5s/,8,17408/,None,17408/'
refused shapes_that_do_not_fit 'the shapes of a product do not fit' 's/(5120, 1280)/(5121, 1280)/'
refused one_shape 'neither a time nor two shapes' 's/, (5120, 1280)//'
refused open_parenthesis 'a quote or parenthesis that does not end' 's/1280)),/1280,/'
refused negative_time "_elapsed_time is not a time: '-1'" '6s/None,None,None,1$/-1,None,None,1/'
refused several_calls 'rows that stand for several calls' '5s/1$/3/'
refused short_row 'another number of columns than the header has' '5s/,1$//'
refused no_column 'the header has no column stage' '2s/,stage/,part/'
refused other_world 'do not make the 64 ranks' '1s/rank15/rank63/'
refused odd_ranks 'are not rank0, rank1' '1s/rank15/rankx/'
printf 'comm_type,comm_group,comm_group_size,msg_size,stage\n' >"$tmp/head.csv"
expect no_rows 3 'a header and no rows' "$STEPCAST" run "$tmp/head.csv"
sed '/pp_stage1/,$d' "$two" >"$tmp/first.csv"
expect one_stage_of_two 3 'the calls of one pipeline stage alone' "$STEPCAST" run "$tmp/first.csv"
sed '/send_prev/d' "$two" >"$tmp/silent.csv"
expect message_that_never_comes 3 'deadlock' "$STEPCAST" run "$tmp/silent.csv" --cluster ideal:4
sed 's/send_next/send_up/' "$two" >"$tmp/up.csv"
expect message_to_nowhere 3 "neither the next nor the previous stage: 'send_up'" "$STEPCAST" run "$tmp/up.csv"

# AIOB's times of the pieces of a layer are for a model
printf 'train_iter:10\nEmb:\n    time_gpu_max: 857\n    time_gpu_min: 782\n    time_gpu_avg: 799\nmlp_gelu:\n    time_gpu_avg: 257\n' >"$tmp/aiob.txt"
expect aiob_is_known 0 'stepcast run --model MODEL --kernel-times FILE' "$STEPCAST" show "$tmp/aiob.txt"
expect aiob_is_no_workload 3 'AIOB of AICB' "$STEPCAST" run "$tmp/aiob.txt"
