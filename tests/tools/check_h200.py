"""Layers and steps measured on one H200 (data/truth/h200_steps.csv) against the forecast.

    check_h200.py STEPCAST [--table]

No constant was fitted to these rows; the operator sequences of transformers' modules were profiled on the same
machine. Layers shorter than a millisecond and small steps are bound by the host, which differs from machine to
machine: the latter have a wide bound of their own, the former are shown but not judged, and so are layers with
experts, whose eager routing has no usual form.
"""
import csv, json, os, subprocess, sys, tempfile

program, table = sys.argv[1], "--table" in sys.argv
BOUNDS = {"forward of a layer": 5, "backward of a layer": 5, "compiled layer": 3, "step": 4, "step of transformers": 6,
          "step bound by the host": 15, "layer with experts": None, "layer bound by the host": None}


def ask(*words):
    return json.loads(subprocess.run([program, *words, "--json", "-"], capture_output=True, text=True, check=True).stdout)


def gpt2_config(r, folder):
    path = os.path.join(folder, "config.json")
    with open(path, "w") as f:
        json.dump(dict(model_type="gpt2", n_embd=int(r["hidden"]), n_head=int(r["heads"]), n_layer=int(r["layers"]),
                       n_inner=int(r["ffn"]), vocab_size=int(r["vocab"]), n_positions=int(r["seq"])), f)
    return ["--model", path]


def flags(r, folder):
    kind = r["kind"]
    modules = kind.startswith("hf-") or kind == "gpt"  # gpt splits queries, keys and values as transformers does
    words = ["--seq", r["seq"], "--micro-batch", r["batch"], "--gpu", "h200", "--recompute", r["recompute"], "--fusion",
             "megatron" if r["compiled"] else "hf" if modules else "eager", "--make-vocab-size-divisible-by", "1"]
    if kind == "hf-gpt2":
        return words + gpt2_config(r, folder)
    words += ["--num-layers", r["layers"], "--hidden-size", r["hidden"], "--num-attention-heads", r["heads"], "--ffn-hidden-size",
              r["ffn"], "--vocab-size", r["vocab"] if r["vocab"] != "0" else "50304", "--untie-embeddings-and-output-weights"]
    if kind == "gpt":
        return words + ["--max-position-embeddings", r["seq"]]
    words += ["--swiglu", "--normalization", "RMSNorm", "--num-query-groups", r["kv_heads"], "--disable-bias-linear",
              "--position-embedding-type", "rope" if kind.startswith("hf-") else "none"]
    words += ["--kv-channels", r["head_dim"]] if r["head_dim"] != "0" else []
    words += {"hf-qwen2": ["--add-qkv-bias"], "hf-qwen3": ["--qk-layernorm"]}.get(kind, [])
    if r["experts"] != "0":
        words += ["--num-experts", r["experts"], "--moe-router-topk", r["topk"], "--moe-ffn-hidden-size", r["ffn"]]
    return words


def group_of(r, direction):
    if r["what"] == "layer":
        if r["experts"] != "0":
            return "layer with experts"
        if float(r["forward_us"]) < 1000:
            return "layer bound by the host"
        return "compiled layer" if r["compiled"] else f"{direction} of a layer"
    if int(r["batch"]) * int(r["seq"]) <= 1024:
        return "step bound by the host"
    return "step of transformers" if r["kind"].startswith("hf-") else "step"


def cases(r, folder):
    """(direction, measured us, forecast us)"""
    if r["what"] == "layer":
        layer = ask("kernels", *flags(r, folder))["layer"]
        return [(d, float(r[d + "_us"]), layer[d + "_us"]) for d in ("forward", "backward")]
    step = ask("run", *flags(r, folder), "--gpus", "1", "--global-batch", r["batch"], "--cluster", "hgx-h200:8", "--ignore-memory")
    return [("step", float(r["step_us"]), step["step_time_us"])]


errors = {name: [] for name in BOUNDS}
if table:
    print("| | hidden | layers | batch × seq | measured ms | forecast ms | error |\n|---|---|---|---|---|---|---|")
with open("data/truth/h200_steps.csv") as f, tempfile.TemporaryDirectory() as folder:
    for r in csv.DictReader(line for line in f if not line.startswith("#")):
        for direction, measured, forecast in cases(r, folder):
            group, error = group_of(r, direction), forecast / measured - 1
            errors[group].append(error)
            extra = "".join(", " + x for x in (r["experts"] != "0" and r["experts"] + " experts", r["compiled"] and "compiled",
                                               r["recompute"] == "full" and "recompute") if x)
            if table:
                print(f"| {r['kind']}{extra}, {direction} | {r['hidden']} | {r['layers']} | {r['batch']} × {r['seq']} | "
                      f"{measured / 1e3:.2f} | {forecast / 1e3:.2f} | {100 * error:+.1f} % |")
if table:
    print("\n| | cases | mean error | bias | worst |\n|---|---|---|---|---|")
for name, e in errors.items():
    mean, bias, worst = (100 * x for x in (sum(map(abs, e)) / len(e), sum(e) / len(e), max(map(abs, e))))
    if table:
        print(f"| {name} | {len(e)} | {mean:.1f} % | {bias:+.1f} % | {worst:.1f} % |")
    elif BOUNDS[name]:
        print(f"{'ok' if mean <= BOUNDS[name] else 'not ok'} h200 {name}: mean error {mean:.2f} %, bound {BOUNDS[name]} %")
