#!/usr/bin/env python3
"""Fits the constants of data/step.json to measured steps, and says what a
source's rows are predicted with when that source was left out of the fit, and
when its software profile was left out as well (the nearest other one is used).
Constants of the software are in its profiles and are not touched here.

    fit_step.py PROGRAM TRUTH.csv ARCHITECTURE                constants as JSON
    fit_step.py PROGRAM TRUTH.csv ARCHITECTURE --leave-one-out   a Markdown table

The mean absolute log error is made small, every group of rows weighing the
same, on a sample of its rows. The start is what is known without the rows
(START: single kernels, counted bytes, neutral factors), and leaving it has a
price, so that a constant no group needs stays where it was.

One forecast of the rows per constant says how the logarithm of each row's time
moves with the logarithm of the constant; with these slopes the fit, and every
fit without a group, is arithmetic. It is done twice, the second time with the
slopes where the first arrived. What is printed was forecast, not extrapolated."""
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

EXPERTS = ("Qwen", "Deep", "OSS", "Kimi", "Nemotron")
SOURCES = [  # a text in the source, the group's name
    ("SC'21", "Megatron 2021-22"), ("Korthikanti", "Megatron 2021-22"), ("ground_truth_multi", "vTrain multi-node"),
    ("ground_truth_single", "vTrain single-node"), ("Zero Bubble", "zero bubble"), ("[A100", "MosaicML A100"),
    ("[H100", "MosaicML H100"), ("llama3.1 8b", "dgxc 8B"), ("nemo_megatron", "dgxc 175B"), ("torchtitan", "TorchTitan")]
MODELS = [  # of the tables that hold many
    ("DeepSeek", "DeepSeek, Kimi"), ("Kimi", "DeepSeek, Kimi"), ("Qwen", "Qwen3 MoE"), ("OSS", "GPT-OSS"),
    ("405B", "Llama 405B"), ("LLAMA3", "Llama 8B, 70B")]
GPUS = {"ampere": ("A100",), "hopper": ("H100", "H200"), "blackwell": ("B200", "B300", "GB200", "GB300")}
START = {
    "ampere": dict(gemm=1.05, memory=0.9, batched=1.3),
    "hopper": dict(gemm=1.05, memory=1, attention_forward=1.1, attention_backward=1.1),
    "blackwell": dict(gemm=1.2, memory=1, attention_forward=1.2, attention_backward=1.2),
}
PULL = 0.004  # of the loss, per constant moved by a factor of e


def group_of(row):
    names = [name for text, name in SOURCES if text in row["source"]]
    names += [name for text, name in MODELS if text in row["model"]]
    return names[0] if names else None


def load(path, arch, most=14):
    """At most so many rows of a group, evenly spaced: they repeat each other."""
    groups = {}
    for row in csv.DictReader(open(path)):
        if row["gpu"].startswith(GPUS[arch]) and row["iter_seconds"] and group_of(row):
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

    def errors(self, constants, *options):
        """Log errors by group."""
        key = (*sorted(constants.items()), *options)
        if key in self.cache:
            return self.cache[key]
        base = dict(self.base)
        base[self.arch] = base[self.arch] | constants
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as f:
            json.dump(base, f)
        out = subprocess.run([self.program, "validate", self.table.name, "-j2", "--json", "-", "--step-constants", f.name, *options],
                             capture_output=True, text=True, check=True).stdout
        os.unlink(f.name)
        groups = {}
        for row, answer in zip(self.rows, json.loads(out)["rows"]):
            if answer["error_pct"] is not None:
                groups.setdefault(group_of(row), []).append(math.log(answer["predicted_s"] / answer["measured_s"]))
        self.cache[key] = groups
        return groups

    def slopes(self, constants, by=0.1):
        """d log(time) / d log(constant) of every row, by group."""
        here, out = self.errors(constants), {}
        for name in constants:
            there = self.errors(dict(constants, **{name: constants[name] * (1 + by)}))
            for group, errors in here.items():
                rows = out.setdefault(group, [{} for _ in errors])
                for row, a, b in zip(rows, errors, there[group]):
                    row[name] = (b - a) / math.log(1 + by)
        return out


def fit(judge, constants, slopes, without=None, rounds=60):
    """Where the linearised loss is least, from errors and slopes at constants."""
    start = START[judge.arch]
    at = {k: math.log(v) for k, v in constants.items()}
    errors = {g: [list(pair) for pair in zip(e, slopes[g])] for g, e in judge.errors(constants).items() if g != without}

    def loss(name, move):
        means = [sum(abs(e + s[name] * move) for e, s in rows) / len(rows) for rows in errors.values()]
        return sum(means) / len(means) + PULL * abs(at[name] + move - math.log(start[name]))

    step = {name: 0.16 for name in constants}
    for _ in range(rounds):
        for name in constants:
            best = min((-step[name], 0, step[name]), key=lambda move: (loss(name, move), abs(move)))
            if not best:
                step[name] /= 2
                continue
            at[name] += best
            for rows in errors.values():
                for pair in rows:
                    pair[0] += pair[1][name] * best
    return {k: math.exp(v) for k, v in at.items()}


def percent(errors):
    return 100 * sum(abs(math.exp(e) - 1) for e in errors) / len(errors)


def main():
    program, truth, arch = sys.argv[1:4]
    judge = Judge(program, load(truth, arch), arch)
    first = fit(judge, START[arch], judge.slopes(START[arch]))
    slopes = judge.slopes(first)
    whole = fit(judge, first, slopes)
    if "--leave-one-out" not in sys.argv:
        print(json.dumps({k: round(v, 3) for k, v in whole.items()}, indent=2))
        print({k: round(percent(v), 1) for k, v in judge.errors(whole).items()}, file=sys.stderr)
        return
    print("| %s: source | rows | mean %% in the fit | left out | and its profile |\n|---|---|---|---|---|" % arch)
    for name, errors in sorted(judge.errors(whole).items()):
        constants = fit(judge, first, slopes, without=name)
        out = judge.errors(constants)[name]
        both = judge.errors(constants, "--nearest-software")[name]
        print("| %s | %d | %.1f | %.1f | %.1f |" % (name, len(errors), percent(errors), percent(out), percent(both)), flush=True)


main()
