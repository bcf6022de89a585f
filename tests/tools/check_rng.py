#!/usr/bin/env python3
"""Runs stepcast flows --net packet with random numbers of its own on recorded runs of ns-3 whose end depends on random
numbers (packets marked by chance, links that lose some) and compares completion times.

    check_rng.py PROGRAM ORACLE [--seeds N] [--runs NAME,...]     ORACLE: folders, and rng_spread.csv

One recorded run is one throw: completion times are compared over all runs (mean within 1 %, 99th percentile within
5 %). rng_spread.csv has the mean over ten throws of some: there ours have to be within three standard errors."""
import csv
import json
import math
import os
import subprocess
import sys

import check_packet

MEAN_TOLERANCE = 0.01
P99_TOLERANCE = 0.05
STANDARD_ERRORS = 3


def option(name, default):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def simulate(program, folder, seed):
    command = [program, "flows", folder + "/flows.txt", "--net", "packet", "--exact", "--rng", str(seed), "--quiet"]
    command += ["--conf", folder + "/config.txt", "--topology", folder + "/topology.txt", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"not ok {folder}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["flows"]


def is_random(folder):
    counters = check_packet.expected_counters(folder)
    return int(counters["ecn_marks_data"]) > 0 or int(counters["drops_link_error"]) > 0


def p99(values):
    return sorted(values)[max(0, math.ceil(0.99 * len(values)) - 1)]


def figures(flows):
    """mean and 99th percentile of the completion times of those that ended, mean slowdown"""
    ended = [(fct, alone) for fct, alone in flows if fct is not None and fct >= 0]
    if not ended:
        return None
    times = [fct for fct, alone in ended]
    return sum(times) / len(times), p99(times), sum(fct / alone for fct, alone in ended) / len(ended)


def compare_run(program, folder, seeds):
    """ratios of mean and p99 to the recorded run, and the slowdown of each seed"""
    recorded = figures([(row[5], row[6]) for row in check_packet.expected_flows(folder)])
    ours = [figures([(f["fct_ns"], f["alone_ns"]) for f in simulate(program, folder, seed + 1)]) for seed in range(seeds)]
    if recorded is None or None in ours:
        return None
    mean = sum(o[0] for o in ours) / seeds / recorded[0]
    tail = sum(o[1] for o in ours) / seeds / recorded[1]
    return mean, tail, [o[2] for o in ours]


def standard_errors(slowdowns, row):
    n = len(slowdowns)
    mean = sum(slowdowns) / n
    deviation = float(row["slowdown_mean_sd"])
    error = deviation * math.sqrt(1 / n + 1 / int(row["seeds"]))
    return (mean - float(row["slowdown_mean_avg"])) / error if error > 0 else 0.0


def main():
    program, oracle = sys.argv[1], sys.argv[2]
    seeds = int(option("--seeds", 3))
    with open(oracle + "/rng_spread.csv") as lines:
        spread = {row["run"]: row for row in csv.DictReader(lines)}
    names = sorted(os.path.basename(f.path) for f in os.scandir(oracle) if f.is_dir())
    names = [name for name in names if is_random(f"{oracle}/{name}")]
    chosen = option("--runs", None)
    names = chosen.split(",") if chosen else names
    means, tails, far = [], [], []
    for name in names:
        result = compare_run(program, f"{oracle}/{name}", seeds)
        if result is None:
            print(f"# {name}: no flow ended")
            continue
        mean, tail, slowdowns = result
        means.append(mean)
        tails.append(tail)
        note = ""
        if name in spread:
            errors = standard_errors(slowdowns, spread[name])
            note = f", slowdown {errors:+.1f} standard errors from ten throws of ns-3"
            far += [name] if abs(errors) > STANDARD_ERRORS else []
        print(f"# {name}: mean {mean - 1:+.2%}, p99 {tail - 1:+.2%}{note}", flush=True)
    mean, tail = sum(means) / len(means) - 1, sum(tails) / len(tails) - 1
    text = f"{len(means)} runs, {seeds} seeds each: mean completion {mean:+.2%}, p99 {tail:+.2%}"
    good = abs(mean) <= MEAN_TOLERANCE and abs(tail) <= P99_TOLERANCE and not far
    print(("ok" if good else "not ok") + f" own-random-numbers: {text}" + (f"; far: {far}" if far else ""))
    return not good


if __name__ == "__main__":
    sys.exit(main())
