#!/usr/bin/env python3
"""Fits the constants of data/step.json to measured steps, and says what a
source's rows are predicted with when that source was left out of the fit.

    fit_step.py PROGRAM TRUTH.csv ARCHITECTURE                constants as JSON
    fit_step.py PROGRAM TRUTH.csv ARCHITECTURE --leave-one-out   a Markdown table

Coordinate descent from neutral constants on the mean absolute log error,
every group of sources weighing the same, on a sample of its rows."""
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

GROUPS = [  # a text in the source, the group's name
    ("SC'21", "Megatron 2021-22"), ("Korthikanti", "Megatron 2021-22"), ("ground_truth_multi", "vTrain multi-node"),
    ("ground_truth_single", "vTrain single-node"), ("Zero Bubble", "zero bubble"), ("[A100", "MosaicML A100"),
    ("[H100", "MosaicML H100"), ("llama3.1 8b", "dgxc 8B"), ("nemo_megatron", "dgxc 175B"), ("torchtitan", "TorchTitan")]
GPUS = {"ampere": ("A100",), "hopper": ("H100", "H200"), "blackwell": ("B200", "B300", "GB200", "GB300")}
START = {
    "ampere": dict(gemm=1, memory=1, batched=1, attention_64=1, flash1_forward=1, flash1_backward=1, host_2021_us=20,
                   host_message_us=100, comm_tax=0.1, accumulate_bytes=4, adam_bytes=30),
    "hopper": dict(gemm=1, fp8=1, memory=1, attention_forward=1, attention_backward=1, flash2_forward=1,
                   flash2_backward=1, flash1_forward=1, flash1_backward=1, tp_exposed=0.3, accumulate_bytes=4),
}
EXPERTS = ("Qwen", "Deep", "OSS", "Kimi", "Nemotron")


def group_of(row):
    return next((name for text, name in GROUPS if text in row["source"]), None)


def load(path, arch, most=14):
    """At most so many rows of a group, evenly spaced: they repeat each other."""
    groups = {}
    for row in csv.DictReader(open(path)):
        if not any(g in row["gpu"] for g in GPUS[arch]) or not row["iter_seconds"] or not group_of(row):
            continue
        if any(m in row["model"] for m in EXPERTS):
            continue
        groups.setdefault(group_of(row), []).append(row)
    return [rows[i * len(rows) // min(most, len(rows))] for rows in groups.values() for i in range(min(most, len(rows)))]


class Judge:
    def __init__(self, program, rows, arch):
        self.program, self.rows, self.arch, self.cache = program, rows, arch, {}
        self.table = tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False)
        writer = csv.DictWriter(self.table, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
        self.table.close()
        self.base = json.load(open(os.path.join(os.path.dirname(__file__), "..", "data", "step.json")))

    def errors(self, constants):
        """Log errors by group."""
        key = tuple(sorted(constants.items()))
        if key in self.cache:
            return self.cache[key]
        base = dict(self.base)
        base[self.arch] = dict(base[self.arch], comm_tax=0) | constants
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as f:
            json.dump(base, f)
        out = subprocess.run([self.program, "validate", self.table.name, "-j2", "--json", "-", "--step-constants", f.name],
                             capture_output=True, text=True, check=True).stdout
        os.unlink(f.name)
        groups = {}
        for row, answer in zip(self.rows, json.loads(out)["rows"]):
            if answer["error_pct"] is not None:
                groups.setdefault(group_of(row), []).append(math.log(answer["predicted_s"] / answer["measured_s"]))
        self.cache[key] = groups
        return groups

    def loss(self, constants, without):
        means = [sum(map(abs, v)) / len(v) for k, v in self.errors(constants).items() if k != without]
        return sum(means) / len(means)


def fit(judge, constants, without=None, rounds=4):
    constants, best = dict(constants), judge.loss(constants, without)
    step = {k: 0.25 if k.startswith("host") or "bytes" in k or k in ("comm_tax", "tp_exposed") else 0.08 for k in constants}
    for _ in range(rounds):
        for name in constants:
            moved = False
            for sign in (1, -1):
                while True:
                    trial = dict(constants, **{name: constants[name] * (1 + sign * step[name])})
                    value = judge.loss(trial, without)
                    if value >= best - 1e-5:
                        break
                    constants, best, moved = trial, value, True
                if moved:
                    break
            if not moved:
                step[name] /= 2
    return constants


def percent(errors):
    return 100 * sum(abs(math.exp(e) - 1) for e in errors) / len(errors)


def main():
    program, truth, arch = sys.argv[1:4]
    judge = Judge(program, load(truth, arch), arch)
    whole = fit(judge, START[arch])
    if "--leave-one-out" not in sys.argv:
        print(json.dumps({k: round(v, 3) for k, v in whole.items()}, indent=2))
        return
    print("| %s: source | rows | mean %% in the fit | mean %% left out |\n|---|---|---|---|" % arch)
    for name, errors in sorted(judge.errors(whole).items()):
        out = judge.errors(fit(judge, START[arch], without=name))[name]
        print("| %s | %d | %.1f | %.1f |" % (name, len(errors), percent(errors), percent(out)), flush=True)


main()
