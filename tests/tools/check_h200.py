"""Layers and steps measured on one H200 (data/truth/h200_steps.csv) against the forecast.

    check_h200.py STEPCAST [--table]

No constant was fitted to these rows. Layers shorter than a millisecond are bound by the
host and are shown but not judged.
"""
import csv, json, subprocess, sys

program, table = sys.argv[1], "--table" in sys.argv


def ask(*words):
    return json.loads(subprocess.run([program, *words, "--json", "-"], capture_output=True, text=True, check=True).stdout)


def flags(r):
    gpt = r["kind"] == "gpt"
    words = ["--num-layers", r["layers"] or "1", "--hidden-size", r["hidden"], "--num-attention-heads", r["heads"],
             "--ffn-hidden-size", r["ffn"], "--seq-length", r["seq"], "--micro-batch", r["batch"], "--fusion", "eager",
             "--gpu", "h200", "--vocab-size", r["vocab"] or "50304", "--make-vocab-size-divisible-by", "1",
             "--untie-embeddings-and-output-weights"]
    if gpt:
        return words + ["--max-position-embeddings", r["seq"]]
    return words + ["--swiglu", "--normalization", "RMSNorm", "--num-query-groups", r["kv_heads"], "--disable-bias-linear",
                    "--position-embedding-type", "none"]


with open("data/truth/h200_steps.csv") as f:
    rows = list(csv.DictReader(line for line in f if not line.startswith("#")))
errors = {"forward of a layer": [], "backward of a layer": [], "step": []}
if table:
    print("| | hidden | layers | batch × seq | measured ms | forecast ms | error |\n|---|---|---|---|---|---|---|")


def note(name, r, measured, forecast, judged=True):
    error = forecast / measured - 1
    if judged:
        errors[name].append(abs(error))
    if table:
        print(f"| {r['kind']}, {name} | {r['hidden']} | {r['layers'] or 1} | {r['batch']} × {r['seq']} | {measured / 1e3:.2f} | "
              f"{forecast / 1e3:.2f} | {100 * error:+.1f} %{'' if judged else ' (host bound)'} |")


for r in rows:
    if r["what"] == "layer":
        layer = ask("kernels", *flags(r))["layer"]
        judged = float(r["forward_us"]) > 1000
        note("forward of a layer", r, float(r["forward_us"]), layer["forward_us"], judged)
        note("backward of a layer", r, float(r["backward_us"]), layer["backward_us"], judged)
    else:
        step = ask("run", *flags(r), "--gpus", "1", "--global-batch", r["batch"], "--cluster", "hgx-h200:8", "--ignore-memory")
        note("step", r, float(r["step_us"]), step["step_time_us"])
bound = {"forward of a layer": 5, "backward of a layer": 5, "step": 4}
for name, e in errors.items():
    mean = 100 * sum(e) / len(e)
    if table:
        print(f"\n{name}: mean {mean:.1f} %, worst {100 * max(e):.1f} % over {len(e)}")
    else:
        print(f"{'ok' if mean <= bound[name] else 'not ok'} h200 {name}: mean error {mean:.2f} %, bound {bound[name]} %")
