"""Forecasts of captured steps beside what was measured on an H200.

    check_captures.py PROGRAM FOLDER TRUTH

Prints one line a capture: model, step, measured, error, memory, measured, error; then
the mean errors of the fitted and of the left-out models. Exit 1 where a bound is missed.
"""

import csv
import json
import os
import subprocess
import sys

STEP = 0.08  # each; docs/model/operators.md has what is reached
STEP_COMPILED = 0.10
MEMORY = 0.06


HOST_US = 27  # what the host's constants are for


# modes of torch.compile
COMPILED = {"default": "yes", "reduce-overhead": "graphs"}


def forecast(program, path, host_us, mode):
    machine = "gpu=h200 gpus=1 node=8"
    scale = f"{host_us / HOST_US:.4f}"
    command = [program, "run", path, "--cluster", machine, "--host-scale", scale, "--json", "-"]
    if mode:
        command += ["--compiled", COMPILED[mode]]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def main(program, folder, truth):
    with open(truth, encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    wrong = []
    for row in rows:
        path = os.path.join(folder, f"{row['model']}-{row['batch']}.json.gz")
        if not os.path.exists(path):
            continue
        mode = row.get("mode")
        result = forecast(program, path, float(row["host_us"]), mode)
        measured = min(float(row["step_ms"]), float(row["step_in_a_row_ms"]))
        step = result["step_time_us"] / 1e3
        error = step / measured - 1
        line = f"{row['model']}-{row['batch']} {step:.1f} ms, measured {measured:.1f}: {error:+.1%}"
        if abs(error) > (STEP_COMPILED if mode else STEP):
            wrong.append(line)
        if not mode:  # the compiler keeps other tensors
            memory = result["memory_bytes"]["total"] / float(row["peak_allocated"]) - 1
            line += f"; memory {memory:+.1%}"
            if abs(memory) > MEMORY:
                wrong.append(line)
        print(line)
    for line in wrong:
        print("wrong:", line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
