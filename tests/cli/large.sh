#!/bin/sh
# Large and hostile files, in small versions: a refusal that names the place,
# in the time and memory the size is worth.
seed=tests/data/seed_003.txt
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
many() { awk -v n="$1" -v s="$2" 'BEGIN { while (n--) printf "%s", s }'; }

# brackets without end: the deepest that is read is named
deep() { # name, head, what is repeated, column, message, command …
    name=$1 column=$4 message=$5
    { printf '%s' "$2"; many 100000 "$3"; } >"$tmp/deep.json"
    shift 5
    expect "deep_$name" 3 "deep.json:1:$column: error: $message" "$@" "$tmp/deep.json"
}
deep ir_json '{"schema": "stepcast/ir/1", "layers": ' '[' 102 "not JSON: nested too deeply" "$STEPCAST" show
deep ir_json_objects '{"schema": "stepcast/ir/1", "layers": ' '{"a":' 354 "not JSON: nested too deeply" "$STEPCAST" show
deep kineto '{"schemaVersion": 1, "traceEvents": [{"ph": "X", "args": ' '[' 159 "nested too deeply" "$STEPCAST" show
expect deep_trace_as_model 3 "is not read as a model, but as an input" "$STEPCAST" run --gpus 8 --model "$tmp/deep.json"
{ printf '{"model_type": "llama", "layers": '; many 100000 '['; } >"$tmp/deep.json"
expect deep_model 3 "maximum parsing depth" "$STEPCAST" run --gpus 8 --model "$tmp/deep.json"
expect deep_cluster 3 "maximum parsing depth" "$STEPCAST" coll all_reduce --cluster "$tmp/deep.json"
{ printf 'topology: '; many 100000 '['; } >"$tmp/deep.yml"
expect deep_yaml 3 "deep.yml:1:12: error: a list holds plain values" "$STEPCAST" coll all_reduce --cluster "$tmp/deep.yml"

# cut at its very end
"$STEPCAST" convert $seed --to ir-json -o "$tmp/whole.json" >/dev/null
head -c -9 "$tmp/whole.json" >"$tmp/cut.json"
place=$(awk 'END { print NR ":" length($0) + 1 }' "$tmp/cut.json")
expect cut_ir_json 3 "cut.json:$place: error: not JSON: the document ends too early" "$STEPCAST" show "$tmp/cut.json"

# a little that unpacks to a lot: zeros behind a head that looks right
bomb() { # name, head, message
    { printf "$2"; head -c 67108864 /dev/zero; } | gzip >"$tmp/bomb.gz"
    expect "bomb_$1" 3 "$3" "$STEPCAST" show "$tmp/bomb.gz"
}
bomb workload 'HYBRID_TRANSFORMER model_parallel_NPU_group: 8\n' "bomb.gz:2:1: error: line longer than 16 MiB"
bomb ir_json '{"schema": "stepcast/ir/1", "layers": ' "bomb.gz:1:39: error: not JSON: not a JSON value"
bomb goal 'num_ranks 1\nrank 0 {\n' "bomb.gz:3:1: error: line longer than 16 MiB"

# what grows with the square of the input would take minutes
model='"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 8, "intermediate_size": 4096, "vocab_size": 32000'
awk -v head="$model" 'BEGIN { printf "{%s", head; for (i = 0; i < 100000; i++) printf ", \"key_%d\": 1", i; print "}" }' >"$tmp/keys.json"
expect many_unknown_keys 0 'the key "key_99999" is not known' timeout 10 "$STEPCAST" run --gpus 8 --model "$tmp/keys.json"
awk 'BEGIN { printf "python train.py"; for (i = 0; i < 60000; i++) printf " w%d", i; print "" }' >"$tmp/words.sh"
expect many_words 3 "no Megatron flag that we know" timeout 10 "$STEPCAST" run --megatron-args "$tmp/words.sh"
awk 'BEGIN { print "{\"schemaVersion\": 1, \"traceEvents\": ["
    for (i = 0; i < 150000; i++) printf "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":%d,\"dur\":1,\"args\":{\"stream\":%d}}\n", i ? "," : "", 2 * i, i
    print "]}" }' >"$tmp/streams.json"
expect many_streams 3 "150000 streams" timeout 10 "$STEPCAST" show "$tmp/streams.json"
awk 'BEGIN { print "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 0, \"world_size\": 100000}, \"traceEvents\": ["
    for (i = 1; i < 70000; i++) printf "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel\",\"ts\":%d,\"dur\":1,\"args\":{\"stream\":7,\"Collective name\":\"allreduce\",\"In msg nelems\":1,\"Group size\":2,\"Process Group Ranks\":\"[0, %d]\"}}\n", (i > 1 ? "," : ""), 2 * i, i
    print "]}" }' >"$tmp/groups.json"
expect many_groups 3 "more than 65535 process groups" timeout 10 "$STEPCAST" run "$tmp/groups.json"

# what cannot be written is found before standard output has any of it
{ head -1 tests/data/seed_000.txt
  awk 'BEGIN { for (i = 0; i < 20000; i++) printf "row_%d\t0.5\tNone\t0\t0.0\tNone\t0\t0.0\tNone\t0\t0\n", i }'
  printf 'last\t0.5\tSENDRECV\t4\t0.0\tNone\t0\t0.0\tNone\t0\t0\n'; } >"$tmp/late.txt"
expect late_loss 3 "SENDRECV in row 20000 (last)" "$STEPCAST" convert "$tmp/late.txt" --to workload-text
check late_loss_is_clean "$(grep -c SENDRECV "$tmp/err") $(wc -c <"$tmp/out")" "1 0"
check late_success "$("$STEPCAST" convert "$tmp/late.txt" --to operator-table | tail -1 | cut -f 1)" last

# memory: that of the workload, not of what is written (sanitizers need their own)
case $STEPCAST in
*san*) echo "skip memory_of_outputs [needs no-sanitizer]" ;;
*) expect memory_of_outputs 0 "goal, from" sh -c "ulimit -v 200000; $STEPCAST convert $seed --gpus 128 --to goal -o /dev/null" ;;
esac
