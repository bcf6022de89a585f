"""No product of any GPU is faster than its peak, and none that its caches cannot hold faster than its memory.

    roofline_oracle.py STEPCAST    random sizes, aligned and not, of every type, GPU by GPU; prints what is too fast"""
import csv
import glob
import json
import os
import random
import subprocess
import sys
import tempfile

BYTES = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
OPS = ["gemm", "gemm_dgrad", "gemm_wgrad", "gemm_batched", "gemm_grouped"]
COLUMNS = ["op", "dtype", "batch", "m", "n", "k", "us"]


def cases(rng, peaks):
    """Half of the sizes are large ones, whose times are the chip's or the memory's and no launch's."""
    for op in OPS:
        for dtype in BYTES:
            if not peaks.get(dtype) or (op == "gemm_grouped" and dtype in ("fp32", "tf32")):
                continue
            for _ in range(4):
                batch = rng.choice([1, 2, 8, 64]) if op in ("gemm_batched", "gemm_grouped") else 1
                size = [rng.choice([rng.randint(32, 9000), 64 * rng.randint(32, 128)]) for _ in "mnk"]
                yield dict(zip(COLUMNS, [op, dtype, batch, *size, ""]))


def too_fast(case, us, sheet):
    batch, m, n, k = (case[c] for c in ("batch", "m", "n", "k"))
    chip = 2 * batch * m * n * k / (sheet["peak_tflops"][case["dtype"]] * 1e6)
    moved = BYTES[case["dtype"]] * batch * (m * k + n * k + m * n)
    memory = moved / (sheet["dram_tbs"] * 1e6) if moved > 5e6 * sheet["l2_mb"] else 0
    return us < max(chip, memory)


def main():
    rng = random.Random(7)
    count = 0
    for path in sorted(glob.glob("data/gpus/*.json")):
        gpu = json.load(open(path))
        sheet = gpu["datasheet"]
        rows = list(cases(rng, sheet["peak_tflops"]))
        with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as table:
            writer = csv.DictWriter(table, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
        done = subprocess.run([sys.argv[1], "kernels", table.name, "--gpu", gpu["name"], "--json", "-"], capture_output=True, check=True)
        os.unlink(table.name)
        times = json.loads(done.stdout)["rows"]
        assert len(times) == len(rows), gpu["name"]
        count += len(rows)
        for case, row in zip(rows, times):
            if too_fast(case, row["us"], sheet):
                print("too fast:", gpu["name"], *(case[c] for c in COLUMNS[:-1]), row["us"])
    print("enough" if count > 2000 else count)


main()
