#!/bin/sh
# Inputs that are odd in one respect: said twice, out of order, too many, or
# written to drive a terminal. Each is refused at its place, or noted.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
step_of() { "$STEPCAST" run "$@" --json - 2>/dev/null | sed -n 's/.*"step_time_us": \([0-9.]*\).*/\1/p' | head -1; }

# Kineto: events twice, kernels of a stream at once, keys twice, ranks that are none
kernel() { printf '{"ph": "X", "cat": "kernel", "name": "%s", "ts": %s, "dur": %s, "args": {"stream": 7, "correlation": %s}}' "$@"; }
trace() { # the document's other keys, then events
    printf '{"schemaVersion": 1, %s "traceEvents": [\n' "$1"
    shift
    first=1
    for event in "$@"; do
        [ $first = 1 ] || printf ',\n'
        printf '%s' "$event"
        first=0
    done
    printf ']}\n'
}
info='"distributedInfo": {"rank": 0, "world_size": 8},'
a=$(kernel gemm 0 100 1) b=$(kernel norm 100 50 2)
trace "$info" "$a" "$b" >"$tmp/once.json"
check kineto_once "$(step_of "$tmp/once.json")" 150
trace "$info" "$a" "$b" "$a" "$b" >"$tmp/twice.json"
expect kineto_twice 3 "twice.json: error: the kernel at 0.000 us on stream 7 stands twice in the trace: gemm" "$STEPCAST" run "$tmp/twice.json"
trace "$info" "$a" "$(kernel norm 20 50 2)" >"$tmp/at_once.json"
expect kineto_overlap 0 "1 kernels begin before the one before them on their stream has ended, by 0.050 ms in all" "$STEPCAST" run "$tmp/at_once.json" --json -
# one process that drives two GPUs: each has its stream 7
on_device() { kernel "$2" "$3" "$4" "$5" | sed "s/\"stream\"/\"device\": $1, \"stream\"/"; }
trace '' "$(on_device 0 gemm 0 100 1)" "$(on_device 1 gemm 0 100 2)" "$(on_device 1 norm 100 20 3)" >"$tmp/devices.json"
check kineto_devices "$(step_of "$tmp/devices.json")" 120
expect kineto_devices_said 0 "one process drives several GPUs" "$STEPCAST" run "$tmp/devices.json" --json -
# the libraries' own names: Tensile's products and cuDNN's convolutions
trace '' "$(kernel Cijk_Ailk_Bljk_HB_MT64x64 0 100 1)" "$(kernel ampere_scudnn_128x64_relu_nn_v1 100 50 2)" "$(kernel softmax_warp_forward 150 30 3)" >"$tmp/libraries.json"
check kineto_libraries "$("$STEPCAST" show "$tmp/libraries.json" | awk '$1 == "gemm" || $1 == "attention" { print $1, $2 }' | paste -sd,)" "gemm 150.0,attention 30.00"
trace "$info" "$a" '{"ph": "X", "cat": "kernel", "name": "norm", "ts": 100, "dur": 50, "dur": 5000, "args": {"stream": 7}}' >"$tmp/key.json"
expect kineto_key_twice 3 "error: a key of an event stands twice" "$STEPCAST" run "$tmp/key.json"
for rank in -1 8 '"0"' 1e30; do
    trace "\"distributedInfo\": {\"rank\": $rank, \"world_size\": 8}," "$a" >"$tmp/rank.json"
    expect "kineto_rank $rank" 3 "rank is not one of world_size" "$STEPCAST" run "$tmp/rank.json"
done
trace '"distributedInfo": {"rank": 0, "world_size": 1000000000},' "$a" >"$tmp/world.json"
expect kineto_world 3 "world_size is not a number of ranks" "$STEPCAST" run "$tmp/world.json"
trace '"distributedInfo": {"rank": 0, "rank": 1, "world_size": 8},' "$a" >"$tmp/ranks.json"
expect kineto_rank_twice 3 "distributedInfo cannot be read" "$STEPCAST" run "$tmp/ranks.json"

# layer workloads: rows in another order, a header that lost ga, policies that change nothing
seed=tests/data/seed_004.txt
{ head -2 $seed && tail -n +3 $seed | tac; } >"$tmp/reversed.txt"
expect rows_reversed 3 "reversed.txt:3: error: pp 4, but a micro-batch has no layers: 28 rows come before its first row 'embedding_layer'" "$STEPCAST" run "$tmp/reversed.txt"
sed '1s/ ga: [0-9]*//' $seed >"$tmp/no_ga.txt"
expect no_ga 0 "the file has no ga: as many micro-batches as the rows hold, 1" "$STEPCAST" run "$tmp/no_ga.txt" --json -
sed '1s/^[A-Z_]*/DATA/' $seed >"$tmp/policy.txt"
expect policy_noted 0 "policy DATA: collectives are those the rows name, whatever the policy" "$STEPCAST" run "$tmp/policy.txt" --json -
"$STEPCAST" run $seed --json "$tmp/seed.json" >/dev/null
check policy_of_the_seed "$? $(grep -c -e 'whatever the policy' -e 'has no ga' "$tmp/seed.json")" "0 0"

# names and paths do not drive the terminal, whatever report they stand in
escape=$(printf '\033[31mX\007\b\033]0;title\007')
name="$tmp/odd$escape.txt"
printf 'name\tforward_compute_time\tforward_comm_type\tforward_comm_size\tbackward_compute_time\tbackward_comm_type\tbackward_comm_size\tweight_grad_compute_time\tweight_grad_comm_type\tweight_grad_comm_size\tprocess_time\n%s\t10\tNONE\t0\t0\tNONE\t0\t0\tNONE\t0\t0\n' "row$escape" >"$name"
while read -r words; do
    set --
    for word in $words; do
        [ "$word" = FILE ] && word=$name
        set -- "$@" "$word"
    done
    "$STEPCAST" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    check "harmless: $words" "$(cat "$tmp/out" "$tmp/err" | grep -c '?\[31mX' | sed 's/[1-9].*/some/') $(cat "$tmp/out" "$tmp/err" | tr -cd '\033\007\b' | wc -c)" "some 0"
done <<'P'
run FILE
run FILE --what-if --amdahl
run FILE --backward synth
show FILE
compare FILE FILE
run FILE --gpu FILE
run --model FILE
flows FILE --fabric ls:8:8
P
check colours_stay "$(python3 tests/tools/terminal.py 80 "$STEPCAST" run tests/data/seed_004.txt --gantt | tr -cd '\033' | wc -c | awk '{print ($1 > 20)}')" 1
expect slow_twice 2 "--slow: rank:0 is given twice" "$STEPCAST" run --model gpt2 --gpus 2 --global-batch 2 --slow rank:0=2 --slow rank:0=3

# Hugging Face configurations: a truth that is none, and what does not count
config() { printf '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 8, "vocab_size": 32000, "max_position_embeddings": 2048, %s}\n' "$1" >"$tmp/config.json"; }
for value in '"false"' 1; do
    config "\"tie_word_embeddings\": $value"
    expect "tied $value" 3 'config.json' "$STEPCAST" run --model "$tmp/config.json" --gpus 1 --global-batch 1
    check "tied $value says" "$(grep -c '"tie_word_embeddings" takes true or false' "$tmp/err")" 1
done
config '"quantization_config": {"quant_method": "fp8"}'
expect quantization 0 "quantization_config is how the weights are stored" "$STEPCAST" run --model "$tmp/config.json" --gpus 1 --global-batch 1 --json -

# memory: no more than was said
big="--model gpt3-175b --gpus 64 --tp 8 --pp 8 --seq 2048 --global-batch 100000 --ignore-memory"
expect max_memory 4 "it takes more than --max-memory, 50.0 MB" "$STEPCAST" run $big --max-memory 50MB
expect no_memory 2 "--max-memory takes a size above 0" "$STEPCAST" run $big --max-memory 0
expect max_memory_of_a_pipe 3 "more than 1 MiB (unpacked) from a pipe or device" sh -c '{ cat tests/data/seed_004.txt; head -c 3000000 /dev/zero | tr "\\0" "\\n"; } | "$STEPCAST" run - --max-memory 2MiB'
"$STEPCAST" run tests/data/seed_003.txt --max-memory 1GB --json - >"$tmp/bounded.json"
"$STEPCAST" run tests/data/seed_003.txt --json - >"$tmp/free.json"
check max_memory_changes_nothing "$(test -s "$tmp/free.json" && diff "$tmp/free.json" "$tmp/bounded.json" | grep -c step_time)" 0

# a GPU of a file: what is of another kind than it should be, and an architecture that nobody knows
odd_gpu() { sed "$1" data/gpus/h100-sxm.json >"$tmp/gpu.json"; }
one="--model llama3-8b --tp 8 --gpus 8 --global-batch 8 --seq 1024 --cluster dgx-h100:8"
odd_gpu 's/"architecture": "hopper"/"architecture": "Hopper"/'
expect gpu_architecture 0 "architecture 'Hopper' of h100-sxm is none of volta" "$STEPCAST" run $one --gpu "$tmp/gpu.json"
odd_gpu 's/"architecture": "hopper"/"architecture": 9/'
expect gpu_architecture_number 3 "architecture is no text" "$STEPCAST" run $one --gpu "$tmp/gpu.json"
python3 -S -c 'import json, sys; g = json.load(open("data/gpus/h100-sxm.json")); g["constants"] = []; json.dump(g, open(sys.argv[1], "w"))' "$tmp/gpu.json"
expect gpu_constants_list 3 "constants is no object" "$STEPCAST" run $one --gpu "$tmp/gpu.json"

# Profiler tables as people cut them: without the calls, with text before the dashes, of the host alone, where nothing waits
rule='-----------------------  ------------  ------------  ------------'
{
    echo "test_it ... $rule"
    printf '%s\n%s\n' 'Name                         Self CPU     CPU total  CPU time avg' "$rule"
    printf '%s\n' 'aten::conv2d                 50.000ms     950.000ms      47.500ms' 'aten::mkldnn_convolution    900.000ms     900.000ms      45.000ms'
    printf '%s\nSelf CPU time total: 950.000ms\n' "$rule"
} >"$tmp/columns.txt"
check table_without_calls "$(step_of "$tmp/columns.txt")" 950000
sed 's/total: 950/total: 95/' "$tmp/columns.txt" >"$tmp/less.txt"
expect table_beyond_its_total 0 "the table's host times add up to 950.000 ms, the total below it is 95.000 ms" "$STEPCAST" run "$tmp/less.txt"
check table_within_its_total "$("$STEPCAST" run "$tmp/columns.txt" | grep -c 'add up to')$("$STEPCAST" run "$tmp/less.txt" | grep -c 'add up to')" 01
check table_of_the_host "$("$STEPCAST" show "$tmp/columns.txt" | grep -c 'waiting')$("$STEPCAST" run "$tmp/columns.txt" | grep -c 'gemm  ')" 01
sed 's/Self CPU /Self CPU%/; s/  50.000ms/    5.26%   /; s/ 900.000ms/   94.74%  /' "$tmp/columns.txt" | sed 's/Self CPU% */Self CPU %  /' >"$tmp/shares.txt"
expect table_of_shares 3 "the header lacks the column 'Self CPU'" "$STEPCAST" show "$tmp/shares.txt"
# cut to its first rows, without the totals below: the shares tell them, of the host and of the device
rule='-------------  ----------  ----------  -----------  ----------  ----------  -----------  ----------  ----------'
{
    printf '%s\n%s\n%s\n' "$rule" 'Name           Self CPU %  Self CPU    CPU total %  CPU total   Self CUDA   Self CUDA %  CUDA total  # of Calls' "$rule"
    printf '%s\n' 'ProfilerStep*      10.00%  20.000ms        100.00%  200.000ms     0.000us        0.00%  400.000ms          10'
    printf '%s\n' 'aten::mm            5.00%  10.000ms          5.00%   10.000ms   300.000ms       75.00%  300.000ms         100'
    echo "$rule"
} >"$tmp/first.txt"
check table_without_totals "$(step_of "$tmp/first.txt")" 40000
expect table_totals_said 0 'by the shares of its rows the device total is 400.000 ms' "$STEPCAST" show "$tmp/first.txt"
sed 's/ 300.000ms       75.00%  300.000ms / 0.000us  0.00%  0.000us /; s/400.000ms/0.000us/' "$tmp/first.txt" >"$tmp/host.txt"
check table_of_the_host_without_totals "$(step_of "$tmp/host.txt")" 20000
# the same in Markdown, and with the step's row of the device alone
sed '1d; $d; s/   */ | /g; s/^/| /; s/$/ |/' "$tmp/first.txt" >"$tmp/table.md"
check table_in_markdown "$(step_of "$tmp/table.md")" 40000
# the kinds of its collectives are those of their names
sed 's/^aten::mm /ncclDevKernel_AllGather_RING_LL /' "$tmp/first.txt" >"$tmp/gather.txt"
check table_of_a_gather "$("$STEPCAST" show "$tmp/gather.txt" | grep -c 'ALLGATHER × 1, 0 B')" 1
sed 's/   */\t/g' "$tmp/first.txt" >"$tmp/tabs.txt"
check table_by_tabs "$(step_of "$tmp/tabs.txt")" 40000
sed 's/^ProfilerStep\*.*/ProfilerStep*       0.00%   0.000us          0.00%    0.000us   410.000ms      102.50%  410.000ms          10/' "$tmp/first.txt" >"$tmp/mark.txt"
check table_steps_of_the_device "$(step_of "$tmp/mark.txt")" 40000

# a layer workload without embedding_layer whose rows are ga blocks of the same names: micro-batches of 70 us on two stages, (2 + 1) · 70
rows=$(for m in 0 1; do for layer in 0 1; do echo "layer_$layer -1 10000 NONE 0 20000 NONE 0 5000 NONE 0 0"; done; done)
head='HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 2 vpp: 1 ga: 2 all_gpus: 2 pp_comm: 0'
printf '%s\n4\n%s\n' "$head" "$rows" >"$tmp/blocks.txt"
check blocks_of_micro_batches "$(step_of "$tmp/blocks.txt" --cluster ideal:2)" 210
# inference, as AICB writes it: forward alone, on each stage
printf '%s\n4\n%s\n' "$(echo "$head" | sed 's/all_gpus: 2/& mode: 1/; s/pp: 2/pp: 1/; s/ga: 2/ga: 1/')" "$rows" >"$tmp/mode.txt"
check rows_of_inference "$(step_of "$tmp/mode.txt" --cluster ideal:2)" 40
"$STEPCAST" convert "$tmp/mode.txt" --to ir-json -o "$tmp/mode.json" >/dev/null
check rows_of_inference_as_json "$(step_of "$tmp/mode.json" --cluster ideal:2)" 40
expect rows_of_inference_written 0 ' mode: 1' "$STEPCAST" convert "$tmp/mode.json" --to workload-text -o -
expect rows_of_inference_lost 3 'that there is no backward' "$STEPCAST" convert "$tmp/mode.txt" --to operator-table -o -
sed 's/pp: 1/pp: 2/' "$tmp/mode.txt" >"$tmp/stages.txt"
expect stages_of_inference 0 'each of the 2 stages runs all rows' "$STEPCAST" run "$tmp/stages.txt" --cluster ideal:2
sed 's/mode: 1/mode: 2/' "$tmp/mode.txt" >"$tmp/modes.txt"
expect unknown_mode 3 "mode is '2'" "$STEPCAST" run "$tmp/modes.txt" --cluster ideal:2
sed 's/layer_1/layer_0/' "$tmp/blocks.txt" >"$tmp/alike.txt" # rows of one name may be layers of one micro-batch
expect rows_alike 0 'the header says ga 2, the rows hold 1 micro-batches' "$STEPCAST" run "$tmp/alike.txt" --cluster ideal:2

# text of PowerShell's redirection
iconv -f UTF-8 -t UTF-16LE "$seed" | { printf '\377\376' && cat; } >"$tmp/utf16.txt"
expect utf16 3 "utf16.txt: error: is text in UTF-16" "$STEPCAST" run "$tmp/utf16.txt"
