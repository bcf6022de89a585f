"""outputs_agree.py RESULT.json TABLE.csv TRACE.json: that one run says the same in all of them.

The result is written with --timeline, the trace with --trace-ranks all."""
import collections
import csv
import json
import sys


def near(what, got, wanted):
    if abs(got - wanted) > 1e-6 * abs(wanted) + 1e-2:
        sys.exit(f"{what}: {got} is not {wanted}")


def parts(breakdown):
    return sum(v for k, v in breakdown.items() if k != "exposed_comm") + sum(breakdown["exposed_comm"].values())


def check_table(rows, result):
    said = collections.Counter()
    for row in rows:
        for key, value in row.items():
            if key.endswith("_us"):
                said[key.rsplit("_", 2)[1]] += float(value)
    shown = result["breakdown_us"]
    near("exposed in the table", said["exposed"], sum(shown["exposed_comm"].values()))
    near("compute in the table", said["compute"] - result["work_us"].get("host", 0), shown["compute"] + shown["recompute"])


def check_trace(events, result):
    """Bytes and numbers of collectives by group, messages once where they are sent, and all that computes."""
    shown = next(r["rank"] for r in result["ranks"] if r["breakdown_us"] == result["breakdown_us"])
    mine = [e for e in events if e["ph"] == "X" and e["pid"] == shown + 1]
    sent = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "s"}
    ops, size = collections.Counter(), collections.Counter()
    for e in mine:
        if e["cat"] != "comm":
            continue
        flows = [at for pid, tid, at in sent if (pid, tid) == (e["pid"], e["tid"])]
        if "collective" in e["args"] or any(e["ts"] - 1e-3 <= at <= e["ts"] + e["dur"] + 1e-3 for at in flows):
            ops[e["args"]["group"]] += 1
            size[e["args"]["group"]] += e["args"].get("bytes", 0)
    for group, comm in result["comm"].items():
        near(f"{group} in the trace", ops[group], comm["ops"])
        near(f"bytes of {group} in the trace", size[group], comm["bytes"])
    if ops.keys() - result["comm"].keys():
        sys.exit(f"groups of the trace alone: {ops.keys() - result['comm'].keys()}")
    shown = result["breakdown_us"]
    near("compute in the trace", sum(e["dur"] for e in mine if e["cat"] not in ("comm", "wait")) - result["work_us"].get("host", 0),
         shown["compute"] + shown["recompute"])


def main(result, table, trace):
    result = json.load(open(result))
    for rank in result["ranks"]:
        near(f"parts of rank {rank['rank']}", parts(rank["breakdown_us"]), result["step_time_us"])
    check_table(list(csv.DictReader(open(table))), result)
    check_trace(json.load(open(trace))["traceEvents"], result)
    path = result["critical_path"]["total_us"]
    near("critical path", sum(v for k, v in path.items() if k != "comm") + sum(path.get("comm", {}).values()), result["step_time_us"])


main(*sys.argv[1:])
