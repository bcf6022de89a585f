#!/usr/bin/env python3
"""Errors of published steps by software, GPU and kind of model: data/bands.json.

    bands.py STEPCAST TRUTH.csv… >data/bands.json

Every row is forecast three times: with the profile of its source, with the nearest
other one (validate --nearest-software) and with what `run` assumes where nobody names
the software (--assumed-software)."""
import json
import re
import subprocess
import sys


def forecasts(program, path, *options):
    out = subprocess.run([program, "validate", path, "-j2", "--json", "-", *options], capture_output=True, text=True, check=True)
    return [row for row in json.loads(out.stdout)["rows"] if row["error_pct"] is not None]


def said(row, option):
    found = re.search(r"--%s (\S+)" % option, row["command"])
    return found.group(1) if found else None


def main():
    program, paths = sys.argv[1], sys.argv[2:]
    models = json.loads(subprocess.check_output([program, "list", "models", "--json", "-"]))["models"]
    experts = {m["name"] for m in models if m["active_parameters"] < m["parameters"]}
    groups = {}
    for path in paths:
        without = {row["id"]: row["error_pct"] for row in forecasts(program, path, "--nearest-software")}
        assumed = {row["id"]: row["error_pct"] for row in forecasts(program, path, "--assumed-software")}
        for row in forecasts(program, path):
            if row["id"] not in without or row["id"] not in assumed:  # a plan that other software refuses
                continue
            key = (said(row, "software") or "", said(row, "gpu"), said(row, "model") in experts)
            groups.setdefault(key, []).append((row["error_pct"], without[row["id"]], assumed[row["id"]]))
    print('{"_what": "Errors of published steps by software, GPU and kind of model, with the profile of their source, without it, and with what is assumed where nobody names one: written by make validate.",')
    print(' "groups": [')
    lines = []
    for (software, gpu, has_experts), errors in sorted(groups.items()):
        n = len(errors)
        mean = [sum(abs(e[k]) for e in errors) / n for k in (0, 1, 2)]
        bias = [sum(e[k] for e in errors) / n for k in (0, 1, 2)]
        lines.append(json.dumps({"software": software, "gpu": gpu, "experts": has_experts, "count": n,
                                 "mean_pct": round(mean[0], 2), "bias_pct": round(bias[0], 2),
                                 "mean_without_pct": round(mean[1], 2), "bias_without_pct": round(bias[1], 2),
                                 "mean_assumed_pct": round(mean[2], 2), "bias_assumed_pct": round(bias[2], 2)}))
    print("  " + ",\n  ".join(lines) + "\n ]}")


main()
