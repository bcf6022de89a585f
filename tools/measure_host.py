#!/usr/bin/env python3
"""What the host takes for the parts of a training step, on a GPU that it keeps waiting.

    python3 tools/measure_host.py -o host.json.gz [MODEL[:BATCH] …]

with PYTHONPATH=build/python. Each model of capture_models.py runs with its small batch.
Forward, backward, optimizer and the rest are timed by the host's clock without waiting for
the GPU; between the steps a fixed small program (measure_operators.reference_run) says how
fast the host is just then. One more step goes under the profiler of the CPU: what each
operator and each node of autograd took, with its thread.
"""

import argparse
import gc
import gzip
import json
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

from capture_models import MODELS, cases
from measure_operators import reference_run


class Phases:
    """Times of the backward and of the optimizer's step while it is in place."""

    def __init__(self):
        self.marks = []
        self.backward = torch.Tensor.backward
        self.update = torch.optim.AdamW.step

    def _timed(self, function):
        def run(*args, **kwargs):
            begin = time.perf_counter()
            out = function(*args, **kwargs)
            self.marks.append((begin, time.perf_counter()))
            return out

        return run

    def __enter__(self):
        torch.Tensor.backward = self._timed(self.backward)
        torch.optim.AdamW.step = self._timed(self.update)
        return self

    def __exit__(self, *_):
        torch.Tensor.backward = self.backward
        torch.optim.AdamW.step = self.update


def parts_of(step):
    """Microseconds: forward, backward, optimizer, rest, and the wait for the GPU."""
    torch.cuda.synchronize()
    with Phases() as phases:
        begin = time.perf_counter()
        step()
        end = time.perf_counter()
    torch.cuda.synchronize()
    waited = time.perf_counter()
    backward, update = phases.marks[0], phases.marks[-1]
    times = (
        backward[0] - begin,
        backward[1] - backward[0],
        update[1] - update[0],
        end - begin - (backward[0] - begin) - (backward[1] - backward[0]) - (update[1] - update[0]),
        waited - end,
    )
    return [round(1e6 * t, 1) for t in times]


def profiled(step):
    """[name, thread, begin, length] of what the host did, ns."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        step()
    torch.cuda.synchronize()
    events = seen.profiler.kineto_results.events()
    return [[e.name(), e.start_thread_id(), e.start_ns(), e.duration_ns()] for e in events]


def measure(name, build, batch, steps):
    gc.collect()
    torch.cuda.empty_cache()
    with torch.device("cuda"):
        step = build(batch)
    for _ in range(3):
        step()
    rows = []
    gc.disable()
    for _ in range(steps):
        host = reference_run()
        rows.append([round(host, 3), *parts_of(step)])
    gc.enable()
    return {"model": name, "batch": batch, "rows": rows, "events": profiled(step)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="MODEL")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=300, help="at most")
    options = parser.parse_args()
    begin = time.perf_counter()
    with gzip.open(options.output, "wt", compresslevel=3) as out:
        for name, build, batch in cases(options.names):
            if time.perf_counter() - begin > options.seconds:
                break
            if not options.names and batch != MODELS[name][2]:
                continue
            try:
                row = measure(name, build, batch, options.steps)
                out.write(json.dumps(row) + "\n")
                middle = sorted(sum(r[1:]) for r in row["rows"])[options.steps // 2]
                print(name, batch, f"{middle / 1e3:.1f} ms {time.perf_counter() - begin:.0f}s", flush=True)
            except Exception as error:  # one model that fails leaves the others
                print(f"{name} {batch}: {type(error).__name__}: {str(error)[:300]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
