"""The band of a forecast against the groups of data/bands.json, added up here.

    check_band.py STEPCAST
"""
import json
import subprocess
import sys

groups = json.load(open("data/bands.json"))["groups"]
program = sys.argv[1]


def band(*options):
    out = subprocess.run([program, "run", "--gpus", "8", "--global-batch", "8", "--seq", "2048", "--ignore-memory", "--json", "-",
                          *options], capture_output=True, text=True, check=True).stdout
    return json.loads(out).get("band")


def expected(wanted, key):
    rows = [g for g in groups if all(g[k] == v for k, v in wanted.items())]
    n = sum(g["count"] for g in rows)
    return n, sum(g["count"] * g[key] for g in rows) / n


def check(name, got, wanted, key, grade):
    n, mean = expected(wanted, key)
    good = got and got["count"] == n and abs(got["mean_error_pct"] - mean) < 1e-6 and got["grade"] == grade
    print("ok %s" % name if good else "not ok %s: %s, not %d rows, %.3f %%, %s" % (name, got, n, mean, grade))


check("band of known software", band("--model", "llama3-8b", "--software", "nemo-24.07"),
      {"software": "nemo-24.07", "gpu": "h100-sxm", "experts": False}, "mean_pct", "measured")
check("band of assumed software", band("--model", "llama3-8b"),
      {"gpu": "h100-sxm", "experts": False}, "mean_assumed_pct", "calibrated")
check("band of software without rows", band("--model", "llama3-8b", "--software", "mlperf-v5"),
      {"gpu": "h100-sxm", "experts": False}, "mean_without_pct", "calibrated")
check("band of a GPU without rows", band("--model", "llama3-8b", "--gpu", "h20"),
      {"experts": False}, "mean_assumed_pct", "extrapolated")
check("band of a known stack on another GPU", band("--model", "llama3-8b", "--gpu", "h20", "--software", "nemo-24.07"),
      {"software": "nemo-24.07", "experts": False}, "mean_pct", "calibrated")
check("band of a GPU without kernels", band("--model", "llama3-8b", "--gpu", "mi300x"),
      {"gpu": "mi300x", "experts": False}, "mean_assumed_pct", "extrapolated")
check("band of experts", band("--model", "mixtral-8x7b"),
      {"gpu": "h100-sxm", "experts": True}, "mean_assumed_pct", "calibrated")
