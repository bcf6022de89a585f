"""Steps of models of transformers measured on one H200 (data/truth/h200_families.jsonl) against the forecast.

    check_families.py STEPCAST

Peaks of memory are counted tensor by tensor: each has to be met. Times depend on the host and on how a release of
transformers runs experts: their mean is judged. What the kernels of models with experts
take, without the host, is judged by itself (data/truth/h200_captures.csv). Where attention runs unfused, passes over the scores are most of a
step: that has to be said, and each time is judged.
"""
import json, os, subprocess, sys, tempfile

program = sys.argv[1]
PEAK, MEAN = 5, 10  # %
BUSY = {"deepseek_v2": 5, "deepseek_v3": 5, "olmoe": 5, "granitemoe": 5, "glm4_moe": 5}  # %


def kernels_of_captures():
    """Milliseconds that the GPU was busy, by model and batch."""
    with open("data/truth/h200_captures.csv") as table:
        rows = [line.split(",") for line in table if line[0] != "#"]
    at = rows[0].index("kernels_ms")
    return {(row[0], row[1]): float(row[at]) for row in rows[1:]}


def forecast(row, folder, *more):
    path = os.path.join(folder, "config.json")
    with open(path, "w") as out:
        json.dump(row["config"], out)
    words = ["--model", path, "--cluster", "h200:1", "--software", "hf-transformers", "--update", "plain", "--optimizer", "adam-foreach",
             "--micro-batch", row["batch"], "--global-batch", row["batch"], "--seq", row["seq"], "--recompute", row["recompute"]]
    if "lora" in row:
        targets = row["lora"]["targets"]
        words += ["--lora", row["lora"]["r"], "--lora-targets", targets if targets == "all" else ",".join(targets)]
        words += {"fp32": ["--lora-fp32"], "autocast": ["--lora-autocast"], "bf16": []}[row["lora"]["type"]]
    words += more
    done = subprocess.run([program, "run", *map(str, words), "--json", "-"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


errors = []
busy = kernels_of_captures()
with open("data/truth/h200_families.jsonl") as table, tempfile.TemporaryDirectory() as folder:
    for row in map(json.loads, table):
        if "name" not in row:
            continue
        got = forecast(row, folder)
        parts = ("weights", "gradients", "optimizer", "activations", "logits", "workspace")
        peak = sum(got["memory_bytes"][part] for part in parts) / 2**30
        off = 100 * (peak / row["peak_gib"] - 1)
        late = 100 * (got["step_time_us"] / 1000 / row["step_ms"] - 1)
        if row["name"] in BUSY:
            measured = busy[row["name"], str(row["batch"])]
            alone = forecast(row, folder, "--host-launch", "0")["step_time_us"] / 1000
            differs = 100 * (alone / measured - 1)
            print(f"{'ok' if abs(differs) <= BUSY[row['name']] else 'not ok'} kernels of {row['name']}: {alone:.1f} ms, measured {measured} ({differs:+.1f} %)")
        if "unfused" in row:
            said = any(note["code"] == "unfused-attention" for note in got["input"]["notes"])
            print(f"{'ok' if said and abs(late) <= MEAN else 'not ok'} attention of {row['name']} is said to be unfused (time {late:+.1f} %)")
        if "missed" not in row:
            errors.append(abs(late))
        held = "ok" if abs(off) <= PEAK or "missed" in row else "not ok"
        print(f"{held} peak of {row['name']}, recompute {row['recompute']}: {peak:.2f} GiB, measured {row['peak_gib']} ({off:+.1f} %; time {late:+.1f} %)")
mean = sum(errors) / len(errors)
print(f"{'ok' if mean <= MEAN else 'not ok'} times of families: {mean:.1f} % in the mean of {len(errors)}")
