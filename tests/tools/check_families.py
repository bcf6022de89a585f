"""Steps of models of transformers measured on one H200 (data/truth/h200_families.jsonl) against the forecast.

    check_families.py STEPCAST

Peaks of memory are counted tensor by tensor: each has to be met. Times depend on the host and on how a release of
transformers runs experts: their mean is judged. Where attention runs unfused, passes over the scores are most of a
step: that has to be said, and each time is judged.
"""
import json, os, subprocess, sys, tempfile

program = sys.argv[1]
PEAK, MEAN = 5, 10  # %


def forecast(row, folder):
    path = os.path.join(folder, "config.json")
    with open(path, "w") as out:
        json.dump(row["config"], out)
    words = ["--model", path, "--cluster", "h200:1", "--software", "hf-transformers", "--update", "plain", "--optimizer", "adam-foreach",
             "--micro-batch", row["batch"], "--global-batch", row["batch"], "--seq", row["seq"], "--recompute", row["recompute"]]
    if "lora" in row:
        targets = row["lora"]["targets"]
        words += ["--lora", row["lora"]["r"], "--lora-targets", targets if targets == "all" else ",".join(targets)]
        words += {"fp32": ["--lora-fp32"], "autocast": ["--lora-autocast"], "bf16": []}[row["lora"]["type"]]
    done = subprocess.run([program, "run", *map(str, words), "--json", "-"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


errors = []
with open("data/truth/h200_families.jsonl") as table, tempfile.TemporaryDirectory() as folder:
    for row in map(json.loads, table):
        if "name" not in row:
            continue
        got = forecast(row, folder)
        parts = ("weights", "gradients", "optimizer", "activations", "logits", "workspace")
        peak = sum(got["memory_bytes"][part] for part in parts) / 2**30
        off = 100 * (peak / row["peak_gib"] - 1)
        late = 100 * (got["step_time_us"] / 1000 / row["step_ms"] - 1)
        if "unfused" in row:
            said = any(note["code"] == "unfused-attention" for note in got["input"]["notes"])
            print(f"{'ok' if said and abs(late) <= MEAN else 'not ok'} attention of {row['name']} is said to be unfused (time {late:+.1f} %)")
        if "missed" not in row:
            errors.append(abs(late))
        held = "ok" if abs(off) <= PEAK or "missed" in row else "not ok"
        print(f"{held} peak of {row['name']}, recompute {row['recompute']}: {peak:.2f} GiB, measured {row['peak_gib']} ({off:+.1f} %; time {late:+.1f} %)")
mean = sum(errors) / len(errors)
print(f"{'ok' if mean <= MEAN else 'not ok'} times of families: {mean:.1f} % in the mean of {len(errors)}")
