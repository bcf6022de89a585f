#!/usr/bin/env python3
"""Reads per-rank traces as HolisticTraceAnalysis does: check_hta.py DIR RANKS

The rules are those of its trace parser: the rank is found with a regular
expression in the text, kernels are joined with their launches by correlation,
communication is what begins with "nccl", steps are ProfilerStep annotations."""
import collections
import gzip
import json
import os
import re
import sys

folder, ranks = sys.argv[1], int(sys.argv[2])
errors, found = [], {}
for name in sorted(os.listdir(folder)):
    with gzip.open(os.path.join(folder, name), "rt") as f:
        text = f.read()
    match = re.search(r'"rank":\s+(\d+)', text)
    if not name.endswith(".json.gz") or not match:
        errors.append(f"{name}: no rank")
        continue
    rank = int(match.group(1))
    if rank in found or f"rank{rank}." not in name:
        errors.append(f"{name}: rank {rank}")
    trace = json.loads(text)
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
    kernels = [e for e in events if e["cat"] == "kernel"]
    launches = collections.Counter(e["args"]["correlation"] for e in events if e["cat"] == "cuda_runtime")
    when = {e["args"]["correlation"]: e["ts"] for e in events if e["cat"] == "cuda_runtime"}
    if len({e["args"]["correlation"] for e in kernels}) != len(kernels) or any(n != 1 for n in launches.values()):
        errors.append(f"{name}: correlations are not unique")
    for k in kernels:
        if launches[k["args"]["correlation"]] != 1:
            errors.append(f"{name}: kernel without launch: {k}")
        elif when[k["args"]["correlation"]] > k["ts"]:
            errors.append(f"{name}: launched after it ran: {k}")
        if not isinstance(k["args"]["stream"], int) or k["args"]["stream"] < 0 or k["tid"] != k["args"]["stream"]:
            errors.append(f"{name}: stream: {k}")
    steps = [e for e in events if e["name"].startswith("ProfilerStep#")]
    if len(steps) != 1 or steps[0]["cat"] != "user_annotation":
        errors.append(f"{name}: {len(steps)} steps")
    elif any(k["ts"] < steps[0]["ts"] or k["ts"] + k["dur"] > steps[0]["ts"] + steps[0]["dur"] for k in kernels):
        errors.append(f"{name}: kernels outside the step")
    communication = sum(k["name"].startswith("ncclDevKernel") for k in kernels)
    if not communication or communication == len(kernels):
        errors.append(f"{name}: {communication} of {len(kernels)} kernels communicate")
    found[rank] = len(kernels)
if len(found) != ranks:
    errors.append(f"{len(found)} ranks, not {ranks}")
print(f"{len(found)} ranks, {sum(found.values())} kernels")
for error in errors[:10]:
    print("error:", error)
sys.exit(bool(errors))
