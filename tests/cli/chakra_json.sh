#!/bin/sh
# Chakra traces as JSON, as chakra_jsonizer writes them: the same as the .et files that
# they were made from, and what is damaged.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect

# tensor and pipeline parallel, messages, waits and starts: every operation as it was
"$STEPCAST" convert --model gpt2 --num-layers 4 --tp 2 --pp 2 --gpus 8 --global-batch 8 --seq 256 --ignore-memory --lowered --to ir-json -o "$tmp/job.json" >/dev/null 2>&1
"$STEPCAST" convert "$tmp/job.json" --to chakra -o "$tmp/et" >/dev/null 2>&1
ir() { "$STEPCAST" convert "$@" --to ir-json -o "$tmp/ir.json" >/dev/null 2>"$tmp/err" && cksum <"$tmp/ir.json"; }
whole=$(ir "$tmp/et")
for form in objects list; do
    mkdir "$tmp/$form"
    cp "$tmp/et/workload.json" "$tmp/$form"
    for rank in 0 1 2 3 4 5 6 7; do
        python3 -S tests/tools/chakra_json.py "$tmp/et/workload.$rank.et" "$tmp/$form/workload.$rank.json" $form
    done
    check "$form" "$(ir "$tmp/$form"/workload.?.json)" "$whole"
done
gzip "$tmp/list/workload.3.json"
check packed "$(ir "$tmp/list"/workload.?.json "$tmp/list/workload.3.json.gz")" "$whole"
for rank in 0 1 2 3 4 5 6 7; do mv "$tmp/objects/workload.$rank.json" "$tmp/objects/workload.$rank.et.json"; done
check named_after_their_files "$(ir "$tmp/objects"/workload.?.et.json)" "$whole"

# one rank by hand: 5 us, then 7 us
node() { printf '{"id": "%s", "name": "a \\"b\\"", "type": "%s"%s}' "$@"; }
first=$(node 1 COMP_NODE ', "durationMicros": "5"')
second=$(node 2 COMP_NODE ', "dataDeps": ["1"], "durationMicros": "7"')
run_one() { "$STEPCAST" run "$tmp/x.0.json" --json -; }
step_of() { printf '%s' "$@" >"$tmp/x.0.json" && run_one 2>/dev/null | sed -n 's/^ *"step_time_us": \(.*\),$/\1/p' | head -1; }
check by_hand "$(step_of '{"version": "0.0.4"}' "$first" "$second")" 12
check keys_of_the_schema "$(step_of '[{"version": "0.0.4"}, ' "$first" ', ' "$(echo "$second" | sed 's/dataDeps/data_deps/; s/durationMicros/duration_micros/; s/"7"/7/')" ']')" 12
damaged() { # name, message, text …
    name=$1 message=$2
    shift 2
    printf '%s' "$@" >"$tmp/x.0.json"
    expect "$name" 3 "$message" run_one
}
head='{"version": "0.0.4"}'

# over one dimension of a network that the trace does not have
sum() { printf '{"id": "1", "name": "sum", "type": "COMM_COLL_NODE", "attr": [{"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "int64Val": "8"}, {"name": "involved_dim", "boolList": %s}]}' "$1"; }
damaged some_dimensions 'runs over some dimensions of a network alone' "$head" "$(sum '{"values": [true, false]}')"
damaged no_dimensions 'must be a list of booleans' "$head" "$(sum '[true]')"
check all_dimensions "$(step_of "$head" "$(sum '{"values": [true, true]}')" | wc -l)" 1

# of PyTorch's a collective has no comm_type, but its time: 300 us of one rank that waits 100
# for the other
pytorch() { # compute, collective
    printf '%s{"id": "1", "name": "aten::mm", "type": "COMP_NODE", "durationMicros": "%s"}' "$head" "$1"
    printf '{"id": "2", "name": "ncclKernel_AllReduce", "type": "COMM_COLL_NODE", "dataDeps": ["1"], "durationMicros": "%s"}' "$2"
}
pytorch 300 300 >"$tmp/torch.0.json"
pytorch 400 200 >"$tmp/torch.1.json"
torch_us() { "$STEPCAST" run "$@" --json - 2>/dev/null | sed -n 's/^ *"step_time_us": \(.*\),$/\1/p' | head -1; }
check measured_collectives "$(torch_us "$tmp/torch.0.json" "$tmp/torch.1.json")" 600
"$STEPCAST" convert "$tmp/torch.0.json" "$tmp/torch.1.json" --to chakra -o "$tmp/torch" >/dev/null 2>&1
check measured_collectives_written "$(torch_us "$tmp/torch")" 600
# messages of three stages: only what they took is known, with what they waited, and ranks have one or two
of_torch() { printf '{"id": "%s", "name": "%s", "type": "%s", "dataDeps": [%s], "durationMicros": "%s"}' "$@"; }
{ printf %s "$head"; of_torch 1 aten::mm COMP_NODE '' 100; of_torch 2 ncclDevKernel_SendRecv COMM_COLL_NODE '"1"' 20; } >"$tmp/stage.0.json"
{ printf %s "$head"; of_torch 1 ncclDevKernel_SendRecv COMM_COLL_NODE '' 120; of_torch 2 aten::mm COMP_NODE '"1"' 100; of_torch 3 ncclDevKernel_SendRecv COMM_COLL_NODE '"2"' 20; } >"$tmp/stage.1.json"
{ printf %s "$head"; of_torch 1 ncclDevKernel_SendRecv COMM_COLL_NODE '' 240; of_torch 2 aten::mm COMP_NODE '"1"' 100; } >"$tmp/stage.2.json"
check measured_messages "$(torch_us "$tmp/stage.0.json" "$tmp/stage.1.json" "$tmp/stage.2.json")" 340
damaged cut "x.0.json:byte " "$head" "$first" "${second%?????}"
damaged list_without_end "a list that does not end" '[' "$head" ', ' "$first"
damaged text_behind_the_list "text behind the list" '[' "$head" ', ' "$first" '] x'
damaged no_metadata "not the metadata of a Chakra trace" "$first" "$second"
damaged unknown_type "a node of unknown type" "$head" "$first" "$(node 2 COMM_NODE '')"
damaged no_type "a node without a type" "$head" "$first" '{"id": "2", "name": "COMP_NODE"}'
damaged id_twice "the id is used twice" "$head" "$first" "$first"
damaged key_twice "duplicate object key" "$head" "$(node 1 COMP_NODE ', "durationMicros": "5", "durationMicros": "6"')"
damaged no_number "a field that must be a whole number" "$head" "$(node 1 COMP_NODE ', "durationMicros": "5.5"')"
damaged attribute_twice "an attribute that stands twice" "$head" "$(node 1 COMP_NODE ', "attr": [{"name": "num_ops", "int64Val": "5"}, {"name": "num_ops", "int64Val": "6"}]')"
damaged attribute_no_number "an attribute that must be a number" "$head" "$(node 1 COMP_NODE ', "attr": [{"name": "num_ops", "stringVal": "many"}]')"
mv "$tmp/x.0.json" "$tmp/x.json"
expect no_rank 3 "the name does not say which rank this is" "$STEPCAST" run "$tmp/x.json"
printf '{"workload_graph": [{"Id": 0, "Name": "a", "NodeType": 4, "is_cpu_op": false, "runtime": 5, "data_deps": []}]}' >"$tmp/graph.0.json"
expect other_json 3 "a Chakra graph in ASTRA-sim's own JSON" "$STEPCAST" run "$tmp/graph.0.json"
