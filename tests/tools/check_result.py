#!/usr/bin/env python3
"""Holds the parts of a saved result against each other: check_result.py RESULT.json…

The segments of each row, the pieces of the critical path and the breakdown must
all add up to the step, and the segments to the breakdown kind by kind. Where
steps overlap the timeline is that of one step alone: longer by the overlap,
which is bubble in it."""
import json
import sys

import timeline

failed = False
for path in sys.argv[1:]:
    r = json.load(open(path))
    t, errors, overlap = r["timeline"], [], r.get("step_overlap_us", 0)
    alone = r["step_time_us"] + overlap

    def same(a, b, what):
        if abs(a - b) > 1e-6 + 1e-9 * abs(b):
            errors.append(f"{what}: {a} is not {b}")

    for row, sums in timeline.sums(t):
        rank = r["ranks"][row["class"]]
        b = rank["breakdown_us"]
        place = f"class {rank['class']}"
        same(sum(sums.values()) / 1e6, alone, f"{place}: segments")
        same((sums["F"] + sums["B"] + sums["W"] + sums["U"]) / 1e6, b["compute"], f"{place}: compute")
        for kind, value in (("R", b["recompute"]), ("C", sum(b["exposed_comm"].values())), ("b", b["bubble"] + overlap),
                            ("s", b["skew"]), ("o", b["other"])):
            same(sums[kind] / 1e6, value, f"{place}: {kind}")
    p = r["critical_path"]
    same(sum(p["length_ps"]) / 1e6, alone, "critical path")
    same(sum(sum(v.values()) if isinstance(v, dict) else v for v in p["total_us"].values()), alone, "its parts")
    if not len(p["row"]) == len(p["length_ps"]) == len(p["kind"]):
        errors.append("columns of the critical path differ in length")
    print(f"{path}: {len(t['rows'])} rows, {t['spans']} spans, {t['detail']}" + "".join(f"\n# {e}" for e in errors[:5]))
    failed |= bool(errors)
sys.exit(failed)
