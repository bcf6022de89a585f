#!/bin/sh
# Kineto traces as several versions of PyTorch, NCCL and RCCL write them, and as tools do
# that cut or merge them: two ranks, a product, an exchange and an update.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
step_of() { "$STEPCAST" run "$@" --json - 2>/dev/null | sed -n 's/.*"step_time_us": \([0-9.]*\).*/\1/p' | head -1; }
kernel() { # name, start, duration, stream, further arguments
    printf '{"ph": "X", "cat": "kernel", "name": "%s", "ts": %s, "dur": %s, "args": {"stream": %s%s}}' "$1" "$2" "$3" "$4" "${5:+, $5}"
}
document() { # rank, of how many, events …
    printf '{"schemaVersion": 1, "distributedInfo": {"rank": %s, "world_size": %s}, "traceEvents": [%s' "$1" "$2" "$3"
    shift 3
    for event in "$@"; do printf ',\n%s' "$event"; done
    printf ']}\n'
}

# a kernel of the libraries is communication, whatever its version calls it: 50 of 150 us
while read -r name; do
    document 0 1 "$(kernel gemm 0 100 7)" "$(kernel "$name" 100 50 20)" >"$tmp/names.json"
    check "communication: $name" "$("$STEPCAST" show "$tmp/names.json" | awk '/exposed communication/ { print $3 }')" 50.00
done <<'NAMES'
ncclAllReduceRingLLKernel_sum_f32(ncclColl)
ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)
ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)
ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs)
ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs4K)
void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)
rccl_main_kernel(ncclDevComm*, unsigned long, ncclWork*)
mscclKernel_Sum_half_Simple_false(ncclDevComm*, mscclAlgo*, mscclWork*)
void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals, vllm::Signal*)
void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<__nv_bfloat16, 8>
(anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>
void tensorrt_llm::kernels::oneShotAllReduceKernel<__nv_bfloat16, 8>
void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>
deep_ep::internode_ll::dispatch<true, false, 7168>
NAMES
# what waits for a collective or copies for it is none
document 0 1 "$(kernel gemm 0 100 7)" "$(kernel triton_poi_fused_all_gather_into_tensor_wait_tensor_3 100 50 7)" >"$tmp/names.json"
check fused_with_a_collective "$("$STEPCAST" show "$tmp/names.json" | awk '/exposed communication/ { print $3 }')" 0.000
# an all-reduce of vLLM is one in run: 20 of 220 us
document 0 8 "$(kernel gemm 0 100 7)" "$(kernel 'void vllm::cross_device_reduce_2stage<__half, 8>' 100 20 7)" "$(kernel gemm 120 100 7)" >"$tmp/vllm.json"
check all_reduce_of_vllm "$("$STEPCAST" run "$tmp/vllm.json" | awk '/exposed world/ { print $3 }')" 20.00

# classes of kernels whose names have words of another
while IFS='|' read -r class name; do
    document 0 1 "$(kernel "$name" 0 100 7)" >"$tmp/names.json"
    check "$class: $name" "$("$STEPCAST" show "$tmp/names.json" | awk 'seen { print $1; exit } /kernel time by class/ { seen = 1 }')" "$class"
done <<'NAMES'
norm|void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>
norm|triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0
elementwise|triton_poi_fused__to_copy_add_mul_1
elementwise|void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16>
elementwise|void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<short>>
copy|void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>
attention|void flashinfer::BatchDecodeWithPagedKVCacheKernel<>
gemm|fused_moe_kernel
gemm|triton_tem_fused_mm_0
gemm|triton_tem_fused__to_copy_addmm_gelu_t_view_9
gemm|triton_tem_fused__to_copy_addmm_native_layer_norm_t_view_1
gemm|triton_tem_fused_convolution_repeat_2
attention|triton_tem_fused_flex_attention_3
elementwise|triton_poi_fused_add_permute_view_20
elementwise|triton_poi_fused_addmm_tanh_3
elementwise|triton_poi_fused_gelu_view_9
copy|triton_poi_fused_clone_transpose_view_4
copy|triton_poi_fused_cat_slice_6
norm|triton_per_fused_add_native_layer_norm_view_5
loss|triton_red_fused__log_softmax_nll_loss_forward_view_7
optimizer|triton_for_fused_0
attention|triton_tem_fused_flex_attention_0
elementwise|triton_poi_fused__unsafe_view_mul_silu_silu_backward_view_32
elementwise|triton_poi_fused_bmm_mul_permute_silu_split_view_4
elementwise|triton_poi_fused__scaled_dot_product_flash_attention_add_3
elementwise|triton_poi_fused_convolution_0
elementwise|triton_poi_fused_exp_view_1
elementwise|triton_poi_fused_0
copy|triton_poi_fused_permute_6
copy|triton_poi_fused__unsafe_view_clone_expand_transpose_unsqueeze_view_7
attention|triton_red_fused__softmax_mul_2
loss|triton_red_fused__log_softmax_view_3
attention|bwd_kernel_dk_dv
norm|void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>
embedding|void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16>
elementwise|_swiglu_forward_kernel
router|moe_align_block_size_kernel
router|void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel
NAMES
# and in a table: what Inductor names views, biases and a matrix product after
inductor_rows() {
    line=$(printf '%60s' '' | tr ' ' -)
    for part in 1 2 3 4 5 6; do line="$line  ------------"; done
    printf '%s\n%60s  %12s  %12s  %12s  %12s  %12s  %12s\n%s\n' "$line" Name 'Self CPU %' 'Self CPU' 'CPU total %' 'CPU total' 'Self CUDA' '# of Calls' "$line"
    for row in triton_tem_fused__to_copy_addmm_gelu_t_view_9=50 triton_poi_fused_addmm_tanh_3=30 triton_poi_fused_gelu_view_9=20 triton_poi_fused_clone_view_1=10; do
        printf '%60s  %12s  %12s  %12s  %12s  %12s  %12s\n' "${row%=*}" 0.00% 0.000us 0.00% 0.000us "${row#*=}.000us" 1
    done
    printf '%s\nSelf CPU time total: 1.000us\nSelf CUDA time total: 110.000us\n' "$line"
}
inductor_rows >"$tmp/inductor.txt"
check inductor_in_tables "$("$STEPCAST" show "$tmp/inductor.txt" | awk '/longest parts/ { exit } seen && NF { print $1, $2 } /where the time goes/ { seen = 1 }' | paste -sd' ')" "elementwise 50.00 gemm 50.00 copy 10.00"
document 0 1 "$(kernel gemm 0 100 7)" "$(kernel my_ncclKernel 100 50 20)" >"$tmp/names.json"
check no_communication "$("$STEPCAST" show "$tmp/names.json" | awk '/exposed communication/ { print $3 }')" 0.000
# so is one of another library that says what it sends, but not what PyTorch fills beside it
said='"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 64, "Out msg nelems": 64, "Group size": 1'
document 0 1 "$(kernel gemm 0 100 7)" "$(kernel other_library_ring 100 50 20 "$said")" "$(kernel 'void at::native::fill<4>' 150 20 20 "$said")" >"$tmp/names.json"
check says_what_it_sends "$("$STEPCAST" show "$tmp/names.json" | awk '/exposed communication/ { print $3 }')" 50.00

# exchange COLLECTIVE TYPE IN OUT: what the kernel says of itself
exchange() { printf '"Collective name": "%s", "dtype": "%s", "In msg nelems": %s, "Out msg nelems": %s, "Group size": 2, "Process Group Ranks": "[0, 1]", "Seq": 1' "$@"; }
pair() { # of rank 0, of rank 1: their exchanges
    rm -rf "$tmp/pair" && mkdir "$tmp/pair"
    for rank in 0 1; do
        document $rank 2 "$(kernel gemm 0 100 7)" "$(kernel ncclDevKernel_Generic 100 150 20 "$1")" "$(kernel update 250 30 7)" >"$tmp/pair/rank$rank.json"
        shift
    done
    step_of "$tmp/pair" --cluster dgx-h100:2
}
coll_us() { "$STEPCAST" coll "$1" --cluster dgx-h100:2 -b "$2" -e "$2" --json - | sed -n 's/.*"time_us": \([0-9.]*\).*/\1/p' | head -1; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { print (a - b < 0.01 && b - a < 0.01) }'; }
plus() { awk -v a="$1" 'BEGIN { print a + 130 }'; }
# bytes by type: 4 Mi elements
for type in Float8_e4m3fn:4M Float4_e2m1fn_x2:4M Byte:4M BFloat16:8M UInt16:8M Float:16M Int:16M Long:32M Double:32M; do
    one=$(exchange allreduce "${type%:*}" 4194304 4194304)
    check "bytes of ${type%:*}" "$(near "$(pair "$one" "$one")" "$(plus "$(coll_us all_reduce "${type#*:}")")")" 1
done
# parts of an all-to-all: the time is that of the rank that sends or receives most
even=$(pair "$(exchange all_to_allv Float 4194304 4194304)" "$(exchange all_to_allv Float 4194304 4194304)")
check all_to_all "$(near "$even" "$(plus "$(coll_us alltoall 16M)")")" 1
check all_to_all_one_receives_more "$(pair "$(exchange all_to_allv Float 1048576 4194304)" "$(exchange all_to_allv Float 1048576 65536)")" "$even"
check all_to_all_one_sends_more "$(pair "$(exchange all_to_allv Float 4194304 65536)" "$(exchange all_to_allv Float 65536 1048576)")" "$even"

# notes count over all traces, and say how long the step took
expect step_that_was_traced 0 "the traced step took 0.28 ms" "$STEPCAST" run "$tmp/pair"
sizeless=$(exchange allreduce Float -1 -1)
pair "$sizeless" "$sizeless" >/dev/null
expect collectives_without_a_size 0 '2 traces: 2 collectives without "In msg nelems"' "$STEPCAST" run "$tmp/pair"

# numbers with an exponent are numbers of JSON; an event cut in two is refused, not left out
document 0 1 "$(kernel gemm 1E3 1.0e+2 7)" "$(kernel norm 11e2 500e-1 7)" >"$tmp/exponent.json"
check exponents "$(step_of "$tmp/exponent.json")" 150
document 0 1 '{"ph": "B", "cat": "kernel", "name": "gemm", "ts": 0, "tid": 7, "args": {"stream": 7}}' '{"ph": "E", "ts": 100, "tid": 7}' "$(kernel norm 100 50 7)" >"$tmp/halves.json"
expect halves_of_an_event 3 'error: a kernel whose end is another event ("ph": "B")' "$STEPCAST" run "$tmp/halves.json"

# a trace a stage stands for tp 2, dp 2, pp 2: norms of gradients are added up over a copy of the model, gradients of
# the embedding over the first and the last stage
grouped() { # what it is for, size, ranks, seq
    printf '"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1, "Out msg nelems": 1, "Group size": %s, "Process Group Description": "%s", "Process Group Ranks": "%s", "Seq": %s' "$2" "$1" "$3" "$4"
}
mkdir "$tmp/stages"
stage() { # rank, its neighbour in tp, in dp, first and last stage
    document "$1" 8 "$(kernel gemm 0 100 7)" "$(kernel ncclDevKernel_Generic 100 10 20 "$(grouped TENSOR_MODEL_PARALLEL_GROUP 2 "[$1, $2]" 1)")" \
        "$(kernel ncclDevKernel_Generic 110 10 20 "$(grouped DATA_PARALLEL_GROUP 2 "[$1, $3]" 1)")" \
        "$(kernel ncclDevKernel_Generic 120 10 20 "$(grouped MODEL_PARALLEL_GROUP 4 "[0, 1, 4, 5]" 1)")" \
        "$(kernel ncclDevKernel_Generic 130 10 20 "$(grouped EMBEDDING_GROUP 2 "[0, 4]" 1)")" >"$tmp/stages/rank$1.json"
}
stage 0 1 2
stage 4 5 6
check groups_across_stages "$("$STEPCAST" run "$tmp/stages" --comm measured --json - | sed -n 's/^ *"\(tp\|dp\|model\|embedding\)": {"ops": 1, "bytes": 4, "busy_us": 10.*/\1/p' | sort | paste -sd,)" dp,embedding,model,tp
check step_of_two_stages "$(step_of "$tmp/stages" --comm measured)" 140
# without distributedInfo a trace alone is of the rank that all its groups hold, of as many as they need: rank 3 of 8
said() { "$STEPCAST" run "$tmp/unsaid.json" --json - | sed -n 's/.*(distributedInfo): \(rank [0-9]* of [0-9]*\).*/\1/p'; }
events() { document 0 1 "$@" | sed 's/"distributedInfo": {[^}]*}, //'; }
events "$(kernel gemm 0 100 7)" "$(kernel ncclDevKernel_Generic 100 10 20 "$(grouped undefined 2 '[2, 3]' 1)")" "$(kernel ncclDevKernel_Generic 110 10 20 "$(grouped undefined 4 '[1, 3, 5, 6]' 1)")" >"$tmp/unsaid.json"
check rank_by_groups "$(said)" "rank 3 of 8"
events "$(kernel gemm 0 100 7)" "$(kernel ncclDevKernel_Generic 100 10 20 '"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1, "Group size": 4')" >"$tmp/unsaid.json"
check rank_by_size "$(said)" "rank 0 of 4"
events "$(kernel gemm 0 100 7)" >"$tmp/unsaid.json"
check one_rank_is_not_said "$(step_of "$tmp/unsaid.json")$(said)" 100

# graphs and process groups have more streams than a replay: three kernels at a time on 40 of them, 7 us apart, and each
# waits for the one before it on its stream; 20 at once are more than there is room for
many_streams() { # at a time, microseconds
    awk -v beside="$1" -v us="$2" 'BEGIN {
        printf "{\"distributedInfo\": {\"rank\": 0, \"world_size\": 1}, \"traceEvents\": ["
        for (i = 0; i < 120; i++) printf "%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"ts\": %d, \"dur\": %d, \"args\": {\"stream\": %d}}", i ? ",\n" : "", int(i / beside) * (us + 7), us, i % 40
        print "]}"
    }'
}
many_streams 3 50 >"$tmp/many.json"
check many_streams "$(step_of "$tmp/many.json")" $((40 * 57 - 7))
check many_streams_faster "$(step_of "$tmp/many.json" --scale gemm=0.5)" $((40 * 32 - 7))
expect many_streams_said 0 '40 streams share the 15 of a replay, each kernel on one that was free when it began' "$STEPCAST" run "$tmp/many.json" --json -
check many_streams_shown "$("$STEPCAST" show "$tmp/many.json" | awk '$1 == "compute" { print $2, $3 }' | tail -1)" "2.000 ms"
many_streams 20 50 >"$tmp/crowd.json"
expect crowded_streams 3 '40 streams, with more kernels at once than the 15 that can be replayed' "$STEPCAST" run "$tmp/crowd.json" --json -

# two process groups of the same two ranks count their collectives by themselves: 200 us of gradients and 20 us of a
# loss, number 1 of each; rank 1 comes 30 us late to the first. Other names on each rank: by number alone
mkdir "$tmp/same"
same_ranks() { # rank, names of its two groups, how long it waits
    document "$1" 2 "$(kernel gemm 0 100 7)" "$(kernel ncclDevKernel_Generic $((130 - $4)) $((200 + $4)) 20 "$(grouped undefined 2 '[0, 1]' 1), \"Process Group Name\": \"$2\"")" \
        "$(kernel ncclDevKernel_Generic 330 20 24 "$(grouped undefined 2 '[0, 1]' 1), \"Process Group Name\": \"$3\"")" >"$tmp/same/rank$1.json"
}
same_ranks 0 7 8 30
same_ranks 1 7 8 0
check groups_of_the_same_ranks "$(step_of "$tmp/same" --comm measured --cluster ideal)" 350
same_ranks 1 a b 0
# they need not come in one order: each is its own, of lists of ranks, and of a mesh where two traces stand for four
crossed() { # folder, rank, of how many, ranks, starts of gradients and loss, neighbours in tp
    document "$2" "$3" "$(kernel gemm 0 100 7)" "$(kernel ncclDevKernel_Generic "$5" $((1100 - $5)) 20 "$(grouped DATA_PARALLEL_GROUP_WITH_CP 2 "$4" 1 | sed 's/nelems": 1,/nelems": 67108864,/g')")" \
        "$(kernel ncclDevKernel_Generic "$6" $((125 - $6)) 24 "$(grouped DATA_PARALLEL_GROUP 2 "$4" 1)")" "$(kernel ncclDevKernel_Generic 1100 10 28 "$(grouped TENSOR_MODEL_PARALLEL_GROUP "${8:-1}" "$7" 1)")" >"$1/rank$2.json"
}
wire() { "$STEPCAST" run "$@" --comm measured --cluster ideal --json - | sed -n 's/^ *"dp": {"ops": 2, .*"busy_us": \([0-9.]*\),.*/\1/p'; }
# torchtitan's meshes
for mesh in mesh_fsdp:dp mesh_efsdp:dp_ep mesh_etp:tp mesh_tp:tp; do
    for rank in 0 1; do document $rank 2 "$(kernel gemm 0 100 7)" "$(kernel ncclDevKernel_Generic 100 10 20 "$(grouped "${mesh%:*}" 2 '[0, 1]' 1)")" >"$tmp/mesh$rank.json"; done
    check "group of ${mesh%:*}" "$("$STEPCAST" run "$tmp/mesh0.json" "$tmp/mesh1.json" --json - | sed -n 's/^ *"\([a-z_]*\)": {"ops": 1, .*/\1/p')" "${mesh#*:}"
done
mkdir "$tmp/crossed" "$tmp/meshed"
crossed "$tmp/crossed" 0 2 '[0, 1]' 100 105 '[0]'
crossed "$tmp/crossed" 1 2 '[0, 1]' 110 102 '[1]'
check crossed_groups "$(wire "$tmp/crossed")" $((1100 - 110 + 125 - 105))
crossed "$tmp/meshed" 0 4 '[0, 2]' 100 105 '[0, 1]' 2
crossed "$tmp/meshed" 2 4 '[0, 2]' 110 102 '[2, 3]' 2
check crossed_groups_of_a_mesh "$(wire "$tmp/meshed")" $((1100 - 110 + 125 - 105))
check groups_of_other_names "$(step_of "$tmp/same" --comm measured --cluster ideal)" 170

# what the engine of autograd runs on the thread that called it is backward, the rest of that thread is not
engine() { printf '{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: MmBackward0", "pid": 1, "tid": %s, "ts": %s, "dur": 9, "args": {}}' "$@"; }
call() { printf '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": %s, "ts": %s, "dur": 2, "args": {"correlation": %s}}' "$@"; }
phases() {
    document 0 1 "$(engine "$1" 30)" "$(engine "$1" 40)" "$(engine 2 50)" "$(call 1 0 1)" "$(call 1 10 2)" "$(call 1 20 3)" "$(call "$1" 35 4)" "$(call 2 52 5)" "$(call 2 62 6)" \
        $(for k in 1 2 3 4 5 6; do printf '{"ph":"X","cat":"kernel","name":"k%s","ts":%s,"dur":10,"args":{"stream":7,"correlation":%s}} ' $k $((100 + 10 * k)) $k; done) >"$tmp/phases.json"
    "$STEPCAST" convert "$tmp/phases.json" --to ir-json -o - | grep -o '"name": "k[0-9]", "phase": "[a-z]*"\|"phase": "[a-z]*", [^}]*"name": "k[0-9]"' | grep -o 'backward\|k[0-9]' | paste -sd' '
}
check engine_on_its_caller "$(phases 1)" "k1 k2 k3 k4 backward k5 backward k6 backward"
check engine_on_its_own "$(phases 3)" "k1 k2 k3 k4 backward k5 backward k6 backward"

# traces of ranks that were joined in one file keep a process each: they are not one rank
launch() { printf '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": %s, "tid": 1, "ts": 0, "dur": 5, "args": {"correlation": %s}}' "$@"; }
document 0 2 "$(launch '"[TP00] 42"' 1)" "$(kernel gemm 10 100 7 '"correlation": 1, "device": 0')" "$(launch '"[TP00] 42"' 2)" >"$tmp/joined.json"
check launches_of_one_process "$(step_of "$tmp/joined.json")" 100
document 0 2 "$(launch '"[TP00] 42"' 1)" "$(kernel gemm 10 100 7 '"correlation": 1, "device": 0')" "$(launch '"[TP01] 43"' 1)" "$(kernel gemm 10 120 7 '"correlation": 1, "device": 1')" >"$tmp/joined.json"
expect joined_traces 3 "joined.json:3:140: error: several processes launch kernels in this trace" "$STEPCAST" show "$tmp/joined.json"

# steps of several traces are told by their names: rank 0 has 5 and 6, rank 1 has 6 and 7, of (10 n) us
step_range() { printf '{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%s", "ts": %s, "dur": 1000, "tid": 1, "args": {}}' "$@"; }
steps_of() { # rank, numbers of its two steps
    document "$1" 2 "$(step_range "$2" 0)" "$(kernel gemm 100 "${2}0" 7)" "$(step_range "$3" 1000)" "$(kernel gemm 1100 "${3}0" 7)" >"$tmp/steps/rank$1.json"
}
mkdir "$tmp/steps"
steps_of 0 5 6
steps_of 1 6 7
check step_of_one_name "$(step_of "$tmp/steps" --step 2)" 1000
check step_of_one_name_ends "$("$STEPCAST" run "$tmp/steps" --step 2 --json - | sed -n 's/.*"end_us": \([0-9.]*\),.*/\1/p' | paste -sd,)" 60,1000
expect step_of_no_such_name 3 "rank1.json: error: step 1 is ProfilerStep#5 in $tmp/steps/rank0.json, which is not in this trace" "$STEPCAST" run "$tmp/steps"
# a profiler that steps before the work of a step has nothing in its first
document 0 1 "$(step_range 1 0)" "$(step_range 2 1000)" "$(launch 1 1 | sed 's/"ts": 0/"ts": 1010/')" "$(kernel gemm 1100 80 7 '"correlation": 1')" >"$tmp/empty_step.json"
check first_step_with_kernels "$(step_of "$tmp/empty_step.json")" 80
expect first_step_is_empty 0 'ProfilerStep#1 has no kernels: ProfilerStep#2 is replayed' "$STEPCAST" show "$tmp/empty_step.json"
expect step_without_kernels 3 'there is no operation in it' "$STEPCAST" run "$tmp/empty_step.json" --step 1

# traces that do not say their rank: by name, 2 before 10
mkdir "$tmp/unnumbered"
for rank in 0 1 2 3 4 5 6 7 8 9 10 11; do
    group=$((rank / 2 * 2))
    document $rank 12 "$(kernel gemm 0 1${rank#1} 7)" "$(kernel ncclDevKernel_Generic 200 50 20 "$(exchange allreduce Float 1048576 1048576 | sed "s/\[0, 1\]/[$group, $((group + 1))]/")")" |
        sed 's/"distributedInfo": {[^}]*}, //' >"$tmp/unnumbered/rank$rank.json"
done
expect ranks_by_name 0 "12 traces do not say of which rank they are" "$STEPCAST" run "$tmp/unnumbered"

# a group names each of its ranks once, and no more of them than it has
for ranks in "[0, 1, 1, 1]" "[0, 1, 2, 3, 4]"; do
    document 0 8 "$(kernel ncclDevKernel_Generic 0 50 20 "$(exchange allreduce Float 1048576 1048576 | sed "s/\[0, 1\]/$ranks/; s/size\": 2/size\": 4/")")" >"$tmp/group.json"
    expect "group of $ranks" 3 "error: a process group of 4 ranks names $ranks" "$STEPCAST" run "$tmp/group.json"
done

# rank 1 computes 220 us and rank 0 waits for it: with free communication the 50 us of the exchange are all that differs
mkdir "$tmp/waits"
whole=$(exchange allreduce Float 1048576 1048576)
document 0 2 "$(kernel gemm 0 100 7)" "$(kernel ncclDevKernel_Generic 100 170 20 "$whole")" "$(kernel update 270 30 7)" >"$tmp/waits/rank0.json"
document 1 2 "$(kernel gemm 0 220 7)" "$(kernel ncclDevKernel_Generic 220 50 20 "$whole")" "$(kernel update 270 30 7)" >"$tmp/waits/rank1.json"
"$STEPCAST" compare "$tmp/waits" "sim:$tmp/waits" --cluster ideal:2 --json "$tmp/waits.json" >/dev/null
check causes_of_one_rank "$(sed -n '/"causes"/,/\]/s/.*"key": "\([a-z ]*\)", "a_us": \([0-9.]*\), "b_us": \([0-9.]*\),.*/\1 \2 \3/p' "$tmp/waits.json" | paste -sd,)" "exposed world 50 0"

# the categories of PyTorch 1.8 to 1.11: two steps of a copy (30 us), a product (100) and an update (20)
old() { printf '{"ph": "X", "cat": "%s", "name": "%s", "pid": 1, "tid": %s, "ts": %s, "dur": %s, "args": {%s}}' "$@"; }
old_step() { # number, start
    at=$2
    old Operator "ProfilerStep#$1" '"77"' "$at" 990 '"External id": 1' && echo ,
    old Operator aten::mm '"77"' $((at + 10)) 50 '"External id": 2' && echo ,
    old Runtime cudaMemcpyAsync '"77"' $((at + 5)) 2 "\"correlation\": ${1}1" && echo ,
    old Runtime cudaLaunchKernel '"77"' $((at + 20)) 2 "\"correlation\": ${1}2" && echo ,
    old Operator Optimizer.step#SGD.step '"77"' $((at + 100)) 50 '"External id": 3' && echo ,
    old Runtime cudaLaunchKernel '"77"' $((at + 110)) 2 "\"correlation\": ${1}3" && echo ,
    old Memcpy 'Memcpy HtoD (Pageable -> Device)' '"stream 7"' $((at + 100)) 30 "\"stream\": 7, \"correlation\": ${1}1, \"external id\": 1" && echo ,
    old Kernel volta_sgemm_128x64_nn '"stream 7"' $((at + 130)) 100 "\"stream\": 7, \"correlation\": ${1}2, \"external id\": 2" && echo ,
    old Kernel update '"stream 7"' $((at + 230)) 20 "\"stream\": 7, \"correlation\": ${1}3, \"external id\": 3"
}
{ printf '{"schemaVersion": 1, "traceEvents": [' && old_step 1 0 && echo , && old_step 2 1000 && echo ']}'; } >"$tmp/old.json"
check old_steps "$("$STEPCAST" show "$tmp/old.json" | awk '/^  ProfilerStep/ { print $1, $2, $3 }' | paste -sd,)" "ProfilerStep#1, 1.000 ms,ProfilerStep#2, 150.0 us"
check old_step "$(step_of "$tmp/old.json" --step 2)" 150
check old_copies "$("$STEPCAST" show "$tmp/old.json" --step 2 | awk '/exposed memory copies/ { print $4 }' | paste -sd,)" 30.00,30.00
check old_operators "$("$STEPCAST" show "$tmp/old.json" --step 2 | grep -c '1 x aten::mm')" 2
check old_phases "$("$STEPCAST" convert "$tmp/old.json" --step 2 --to ir-json -o "$tmp/old_ir.json" >/dev/null && grep -c '"phase": "update"' "$tmp/old_ir.json")" 1
sed 's/"Runtime"/"xpu_runtime"/' "$tmp/old.json" >"$tmp/xpu.json"
check launches_of_another_device "$("$STEPCAST" show "$tmp/xpu.json" | grep -c '1 x aten::mm')" 2

# kernels that say their stream by their thread alone run side by side
on_thread() { kernel "$1" 0 "$2" 0 | sed "s/\"args\": {\"stream\": 0}/\"tid\": $3/"; }
document 0 1 "$(on_thread gemm 100 7)" "$(on_thread copy 70 '"stream 8"')" >"$tmp/threads.json"
check streams_by_thread "$(step_of "$tmp/threads.json")" 100

# kernels of a graph lie beside each other on one stream: it is free when the longest has ended, so that 50 us are the
# host's and not 130; one after another they take 10 us more than the 200 that were measured
document 0 1 "$(kernel gemm 0 100 7)" "$(kernel inside 10 10 7)" "$(kernel last 150 50 7)" >"$tmp/beside.json"
check beside_each_other "$(step_of "$tmp/beside.json")" 210
check beside_each_other_measured "$("$STEPCAST" compare "$tmp/beside.json" "$tmp/beside.json" --json - | sed -n '/"classes"/,/\]/s/.*"key": "\([a-z]*\)", "a_us": \([0-9.]*\),.*/\1 \2/p' | paste -sd,)" "compute 150,other 50"

# nor is what lies within the longest the last of a step: nothing to its end is the host's, 100 us and the 10
document 0 1 "$(kernel gemm 0 100 7)" "$(kernel inside 10 10 7)" >"$tmp/within.json"
check beside_each_other_to_the_end "$(step_of "$tmp/within.json")" 110

# a copy that does not name its GPU is on that of the kernels, however early it comes
document 0 1 "$(kernel copy 0 10 7)" "$(kernel gemm 10 100 7 '"device": 0')" >"$tmp/unsaid.json"
check gpu_not_said "$("$STEPCAST" show "$tmp/unsaid.json" | sed -n -e 's/.*on \([0-9]*\) streams.*/\1/p' -e 's/.*several GPUs.*/several/p')" 1

# ranks whose step begins with the first and with the second collective of their group are of different steps
pair "$(exchange allreduce Float 64 64)" "$(exchange allreduce Float 64 64 | sed 's/"Seq": 1/"Seq": 2/')" >/dev/null
expect other_step 0 "1 time a group begins with another collective (Seq)" "$STEPCAST" run "$tmp/pair" --cluster dgx-h100:2
pair "$(exchange allreduce Float 64 64)" "$(exchange allreduce Float 64 64)" >/dev/null
check same_step "$("$STEPCAST" run "$tmp/pair" --cluster dgx-h100:2 | grep -o -e 'step time' -e '(Seq)')" "step time"
# collectives of a group on two streams may begin in another order on each rank: the lowest number of both is 1
for rank in 0 1; do
    document $rank 2 "$(kernel ncclDevKernel_Generic $((100 + 10 * rank)) 50 20 "$(exchange allreduce Float 64 64)")" \
        "$(kernel ncclDevKernel_Generic $((110 - 10 * rank)) 50 24 "$(exchange allreduce Float 64 64 | sed 's/"Seq": 1/"Seq": 2/')")" >"$tmp/pair/rank$rank.json"
done
check same_step_in_another_order "$("$STEPCAST" run "$tmp/pair" --cluster dgx-h100:2 | grep -o -e 'step time' -e '(Seq)')" "step time"

# messages of a pipeline keep their measured times, with what they waited, and are no compute:
# 300 us until the first comes, 20 us for the next, of 520
message() { printf '"Collective name": "%s", "dtype": "BFloat16", "In msg nelems": 1048576, "Out msg nelems": 1048576, "Group size": 2, "Process Group Ranks": "[0, 1]", "Process Group Description": "PIPELINE_MODEL_PARALLEL_GROUP"' "$1"; }
document 1 2 "$(kernel ncclDevKernel_SendRecv 0 300 20 "$(message recv)")" "$(kernel gemm 300 100 7)" "$(kernel ncclDevKernel_SendRecv 400 20 20 "$(message send)")" "$(kernel gemm 420 100 7)" >"$tmp/pipeline.json"
run_us() { "$STEPCAST" run "$1" --cluster "${2:-dgx-h100:2}" | awk -v what="$3" '$0 ~ "^  " what " " { print ($1 == "exposed" || $1 == "step") ? $3 : $2 }' | head -1; }
check messages_are_communication "$(run_us "$tmp/pipeline.json" dgx-h100:2 'exposed pp')" 320.0
check messages_are_no_compute "$(run_us "$tmp/pipeline.json" dgx-h100:2 compute)" 200.0
for form in ir-json goal; do
    "$STEPCAST" convert "$tmp/pipeline.json" --to $form -o "$tmp/pipeline.$form" >/dev/null 2>&1
    check "messages as $form" "$(run_us "$tmp/pipeline.$form" dgx-h100:2 'step time')" 520.0
    "$STEPCAST" convert "$tmp/vllm.json" --to $form -o "$tmp/vllm.$form" >/dev/null 2>&1
    check "collectives without a record as $form" "$(run_us "$tmp/vllm.$form" dgx-h100:8 'step time')" 220.0
done
"$STEPCAST" run "$tmp/pipeline.json" --cluster dgx-h100:2 --hta "$tmp/hta" --trace-ranks all >/dev/null 2>&1
check messages_as_hta "$(run_us "$tmp/hta" dgx-h100:2 'exposed pp')" 320.0
# what PyTorch calls collectives that write to another tensor
for name in _broadcast_oop:BROADCAST _reduce_oop:REDUCE alltoall_base:ALLTOALL; do
    document 0 2 "$(kernel gemm 0 100 7)" "$(kernel ncclDevKernel_X 100 50 20 "$(exchange "${name%:*}" Float 64 64)")" >"$tmp/oop.json"
    check "${name%:*}" "$("$STEPCAST" show "$tmp/oop.json" | grep -c "${name#*:} × 1, 256 B")" 1
done

# a kernel beside a stream whose host is late: 400 us of compute, as show says
document 0 1 "$(kernel gemm 0 200 7)" "$(kernel gemm 250 100 13)" "$(kernel gemm 380 100 7)" >"$tmp/beside.json"
check compute_beside_the_host "$(run_us "$tmp/beside.json" h100:1 compute)" 400.0
check measured_beside_the_host "$("$STEPCAST" compare "$tmp/beside.json" "sim:$tmp/beside.json" | awk '$1 == "compute" { print $2, $4; exit }')" "400.0 400.0"

# the host lets two streams wait side by side: 300 us of 400, not the sum of both
document 0 1 "$(kernel gemm 0 100 7)" "$(kernel gemm 0 50 13)" "$(kernel gemm 300 100 7)" "$(kernel gemm 350 50 13)" >"$tmp/both.json"
check host_of_two_streams "$("$STEPCAST" show "$tmp/both.json" | awk '$1 == "host" { print $2, $3 }')" "300.0 us"
