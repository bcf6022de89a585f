#!/bin/sh
# PyTorch's host traces linked with Kineto traces: a trace without records of its collectives
# gives with the host trace what it gives with the records; and what is damaged.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
# Two steps of rank 0 of 8: a product, an all-reduce and a gather on another stream, an
# update. records: the trace says what its collectives are; ids: it numbers functions.
python3 -S - "$tmp" <<'P'
import json, sys
folder = sys.argv[1]
COLLECTIVES = [("allreduce", 250000, 250000, "Float"), ("_allgather_base", 125000, 1000000, "BFloat16")]

def trace(name, records, ids):
    events, correlation, record, start = [], 1, 100, 1000.0
    host = []
    def event(name, cat, ts, dur, tid, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args})
    for step in range(2):
        event("ProfilerStep#%d" % step, "user_annotation", start, 5000.0, 1)
        at, device = start + 10, start + 100
        for kind in ["aten::mm"] + [c[0] for c in COLLECTIVES] + ["aten::add_"]:
            c = next((c for c in COLLECTIVES if c[0] == kind), None)
            args = {"External id": correlation}
            if ids:
                args["Record function id"] = record
            said = {"Collective name": c[0], "In msg nelems": c[1], "Out msg nelems": c[2], "dtype": c[3], "Group size": 8,
                    "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]"} if c else {}
            event("record_param_comms" if c else kind, "cpu_op", at, 20.0, 1, **{**args, **(said if records else {})})
            host.append((record, c, kind, step))
            event("cudaLaunchKernel", "cuda_runtime", at + 5, 5.0, 1, correlation=correlation)
            kernel = {"allreduce": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "_allgather_base": "ncclDevKernel_AllGather_RING_LL"}.get(kind, "kernel_of_" + kind[6:])
            event(kernel, "kernel", device, 400.0, 20 if c else 7, **{"stream": 20 if c else 7, "correlation": correlation, "External id": correlation, **(said if records and c else {})})
            correlation, record, at, device = correlation + 1, record + 1, at + 30, device + 420
        start += 5000.0
    with open("%s/%s.json" % (folder, name), "w") as f:
        json.dump({"distributedInfo": {"rank": 0, "world_size": 8}, "traceEvents": events}, f, indent=1)
    return host

host = trace("records", True, True)
trace("bare", False, True)
trace("old", False, False)

def old_node(record, c, kind):
    # a node of schema 1.0.1: everything beside each other; sizes are those of the tensors
    types = {"Float": "float", "BFloat16": "c10::BFloat16"}
    if not c:
        return {"name": kind, "id": record + 1, "rf_id": record, "parent": 2, "fw_parent": 0, "op_schema": "", "inputs": [[1, 2, 0, 4, 4, "cuda:0"]],
                "input_shapes": [[64, 64]], "input_types": ["Tensor(float)"], "outputs": [], "output_shapes": [], "output_types": []}
    return {"name": "record_param_comms", "id": record + 1, "rf_id": record, "parent": 2, "fw_parent": 0, "op_schema": "",
            "inputs": [[[1, 2, 0, c[1], 4, "cuda:0"]], 0, "pg", 0, c[0], [], []],
            "input_shapes": [[[c[1] // 2, 2]], [], [], [], [], [], []], "input_types": ["GenericList[Tensor(%s)]" % types[c[3]], "Int", "String", "Int", "String", "GenericList[]", "GenericList[]"],
            "outputs": [[[3, 4, 0, c[2], 4, "cuda:0"]]], "output_shapes": [[[c[2]]]], "output_types": ["GenericList[Tensor(%s)]" % types[c[3]]]}

def new_node(record, c, kind):
    # a node of 1.1.0-chakra: inputs together, the rest in a list of attributes
    attrs = [{"name": "rf_id", "type": "uint64", "value": record}]
    if c:
        attrs += [{"name": "collective_name", "type": "string", "value": c[0]}, {"name": "dtype", "type": "string", "value": c[3]},
                  {"name": "in_msg_nelems", "type": "uint64", "value": c[1]}, {"name": "out_msg_nelems", "type": "uint64", "value": c[2]},
                  {"name": "pg_name", "type": "string", "value": "0"}, {"name": "pg_size", "type": "uint64", "value": 8}]
    return {"id": record + 1, "name": "record_param_comms" if c else kind, "ctrl_deps": 2, "inputs": {"values": [], "shapes": [], "types": []},
            "outputs": {"values": [], "shapes": [], "types": []}, "attrs": attrs}

def write(name, nodes, **more):
    with open("%s/%s.json" % (folder, name), "w") as f:
        json.dump({"schema": "1.0.1", "pid": 1, **more, "nodes": nodes}, f, indent=1)

write("host_old", [old_node(*h[:3]) for h in host])
write("host_new", [new_node(*h[:3]) for h in host])
write("host_step", [old_node(*h[:3]) for h in host if h[3] == 0])
write("host_other", [old_node(h[0] + 5000, h[1], h[2]) for h in host])
write("host_short", [old_node(*h[:3]) for h in host][:2])
write("host_empty", [])
write("host_nameless", [{"id": 1, "rf_id": 100}])
P
step_us() { "$STEPCAST" run "$@" --cluster dgx-h100:8 --json - 2>/dev/null | sed -n 's/^ *"step_time_us": \([0-9.]*\).*/\1/p' | head -1; }
want=$(step_us "$tmp/records.json")
without=$(step_us "$tmp/bare.json")
check records_change_the_step "$([ -n "$want" ] && [ "$want" != "$without" ] && echo yes)" yes
check host_trace_gives_sizes "$(step_us "$tmp/bare.json" --host-trace "$tmp/host_old.json")" "$want"
check attributes_give_sizes "$(step_us "$tmp/bare.json" --host-trace "$tmp/host_new.json")" "$want"
check second_step "$(step_us "$tmp/bare.json" --step 2 --host-trace "$tmp/host_old.json")" "$(step_us "$tmp/records.json" --step 2)"
check linked_in_order "$(step_us "$tmp/old.json" --host-trace "$tmp/host_old.json")" "$want"
check one_step_in_order "$(step_us "$tmp/old.json" --step 2 --host-trace "$tmp/host_step.json")" "$(step_us "$tmp/records.json" --step 2)"
expect order_is_said 0 'its collectives are linked in their order' "$STEPCAST" run "$tmp/old.json" --host-trace "$tmp/host_old.json" --json -
check records_stand "$(step_us "$tmp/records.json" --host-trace "$tmp/host_old.json")" "$want"
gzip -k "$tmp/host_old.json"
check packed "$(step_us "$tmp/bare.json" --host-trace "$tmp/host_old.json.gz")" "$want"
expect links_are_shown 0 'host trace: 8 of 8 operators are in the trace, 4 collectives' "$STEPCAST" show "$tmp/bare.json" --host-trace "$tmp/host_new.json"
expect what_it_is 0 'stepcast run KINETO.json --host-trace FILE' "$STEPCAST" show "$tmp/host_old.json"
expect later_schema_is_known 0 'stepcast run KINETO.json --host-trace FILE' "$STEPCAST" show "$tmp/host_new.json"
expect alone 3 'is an execution trace of PyTorch' "$STEPCAST" run "$tmp/host_old.json"
expect of_another_run 3 'none of its operators is in' "$STEPCAST" run "$tmp/bare.json" --host-trace "$tmp/host_other.json"
expect other_number_of_collectives 3 '1 collectives against 4 in' "$STEPCAST" run "$tmp/old.json" --host-trace "$tmp/host_short.json"
expect without_nodes 3 'a host trace without nodes' "$STEPCAST" run "$tmp/bare.json" --host-trace "$tmp/host_empty.json"
expect node_without_a_name 3 'host_nameless.json:5:3: error: nodes[0]' "$STEPCAST" run "$tmp/bare.json" --host-trace "$tmp/host_nameless.json"
head -c 900 "$tmp/host_old.json" >"$tmp/cut.json"
expect cut 3 'cut.json:' "$STEPCAST" run "$tmp/bare.json" --host-trace "$tmp/cut.json"
expect not_json 3 'error: ' "$STEPCAST" run "$tmp/bare.json" --host-trace tests/data/seed_000.txt
expect missing 3 'none.json' "$STEPCAST" run "$tmp/bare.json" --host-trace "$tmp/none.json"
expect trace_as_host_trace 3 'nodes' "$STEPCAST" run "$tmp/bare.json" --host-trace "$tmp/records.json"
expect two_for_one 2 '2 host traces for 1 traces' "$STEPCAST" run "$tmp/bare.json" --host-trace "$tmp/host_old.json" --host-trace "$tmp/host_new.json"
sed 's/"rf_id": 100,/"rf_id": "x",/' "$tmp/host_old.json" >"$tmp/word.json"
expect id_that_is_no_number 3 'word.json:' "$STEPCAST" run "$tmp/bare.json" --host-trace "$tmp/word.json"
