#!/usr/bin/env python3
"""Reads a trace back by trace_processor's rules and complains about what it
would drop or misread: check_trace.py TRACE [PROCESSES FLOWS]"""
import collections
import gzip
import json
import sys
from decimal import Decimal

path = sys.argv[1]
text = (gzip.open if path.endswith(".gz") else open)(path, "rt").read()
trace = json.loads(text, parse_float=Decimal)
events = trace["traceEvents"]
errors = []
processes, threads, flows, slices, counters = {}, {}, collections.defaultdict(list), collections.defaultdict(list), 0

for e in events:
    kind = e["ph"]
    if kind == "M":
        if "ts" in e:
            errors.append("metadata with a time")
        if e["name"] == "process_name":
            if e["pid"] in processes:
                errors.append(f"process {e['pid']} named twice")
            processes[e["pid"]] = e["args"]["name"]
        if e["name"] == "thread_name":
            if e["tid"] in threads:
                errors.append(f"tid {e['tid']} used twice")
            threads[e["tid"]] = e["pid"]
    elif kind == "X":
        if e["dur"] < 0 or e["ts"] < 0:
            errors.append(f"negative time: {e}")
        slices[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    elif kind in "sf":
        flows[e["id"]].append(e)
    elif kind == "C":
        counters += 1
        if any(v < 0 for v in e["args"].values()):
            errors.append(f"negative counter: {e}")
    else:
        errors.append(f"unknown phase {kind}")

for (pid, tid), spans in slices.items():
    if threads.get(tid) != pid or pid not in processes:
        errors.append(f"lane {pid}/{tid} has no name")
    if not (1 <= tid < 2**32 and pid >= 1):
        errors.append(f"ids out of range: {pid}/{tid}")
    spans.sort(key=lambda s: (s[0], -s[1]))
    open_ends = []
    for start, end in spans:
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            errors.append(f"lane {pid}/{tid}: {start}..{end} overlaps one that ends at {open_ends[-1]}")
            break
        open_ends.append(end)

for number, ends in flows.items():
    if [e["ph"] for e in sorted(ends, key=lambda e: "sf".index(e["ph"]))] != ["s", "f"]:
        errors.append(f"flow {number} has ends {[e['ph'] for e in ends]}")
        continue
    first, last = sorted(ends, key=lambda e: "sf".index(e["ph"]))
    if (first["cat"], first["name"]) != (last["cat"], last["name"]) or last.get("bp") != "e":
        errors.append(f"flow {number}: its ends do not belong together")
    for e in ends:
        if not any(s <= e["ts"] < t for s, t in slices[e["pid"], e["tid"]]) and len(slices[e["pid"], e["tid"]]) < 2000:
            errors.append(f"flow {number}: no slice at {e['ts']} on {e['pid']}/{e['tid']}")

if len(sys.argv) > 2 and len(processes) != int(sys.argv[2]):
    errors.append(f"{len(processes)} processes, not {sys.argv[2]}")
if len(sys.argv) > 3 and len(flows) != int(sys.argv[3]):
    errors.append(f"{len(flows)} flows, not {sys.argv[3]}")
if not counters:
    errors.append("no counters")
print(f"{len(events)} events, {len(processes)} processes, {len(threads)} lanes, {len(flows)} flows, {counters} counter values")
for error in errors[:10]:
    print("error:", error)
sys.exit(bool(errors))
