#!/usr/bin/env python3
"""Fits the constants of GEMMs and linear layers in data/gpus to the public tables of kernels, and scores them.

    python3 tools/fit_kernels.py score  TABLES [GPU ...]     errors of the shipped constants, by half
    python3 tools/fit_kernels.py fit    TABLES [GPU ...]     fits to one half, scores the other, then fits to all
                                                             shapes and writes data/gpus/GPU.json
    python3 tools/fit_kernels.py deepep TABLES [GPU ...]     errors of dispatch and combine: as shipped, and of a fit to one
                                                             half on the other
    python3 tools/fit_kernels.py moe    TABLES [GPU ...]     the same for experts in one call

TABLES is the folder with gemm.csv (gpu,framework,version,m,n,k,gemm_dtype,us; ai-dynamo/aiconfigurator,
systems/data). Shapes are parted by a hash of their sizes, so that all frameworks of a shape fall in the same half.
`fit` starts from what the file has; for a GPU without tiles put a list there first (factors 1). Needs Python's
standard library and build/stepcast (STEPCAST names another).
"""
import csv
import hashlib
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

GPUS = {"a100-80": "a100_sxm", "h100-sxm": "h100_sxm", "h200": "h200_sxm", "b200": "b200_sxm", "b300": "b300_sxm",
        "gb200": "gb200", "gb300": "gb300", "l40s": "l40s"}
LINEAR = {"fp8": "fp8", "fp8_block": "fp8-block", "nvfp4": "fp4"}  # rows are linear layers: cast of the input and product
TYPES = {"bfloat16": "bf16", **LINEAR}
CASTS = ["quantize_fp8", "quantize_fp8_block", "quantize_fp4"]
# Two frameworks timed the same cuBLAS; their medians differ by 1 to 5 %, B300's large products by 12 %. TRT-LLM's rows call it
# through PyTorch, as training does, and are fitted; on the A100 both are (docs/model/kernels.md).
BOTH = {"a100-80"}
STEPCAST = os.environ.get("STEPCAST", "build/stepcast")


def left_out(*sizes):
    """One half of the shapes is never fitted while the other is scored."""
    return hashlib.sha256(",".join(str(x) for x in sizes if x != "").encode()).digest()[0] & 1


def rows_of(folder, gpu):
    with open(os.path.join(folder, "gemm.csv"), newline="") as f:
        for r in csv.DictReader(f):
            if r["gpu"] != GPUS[gpu] or r["gemm_dtype"] not in TYPES:
                continue
            if r["framework"] == "trtllm" or gpu in BOTH:
                yield TYPES[r["gemm_dtype"]], int(r["m"]), int(r["n"]), int(r["k"]), float(r["us"])


def exchange_rows(folder, gpu):
    """DeepEP's dispatch and combine: (op, hidden, tokens, topk, experts, sms or "", us)."""
    for name, low, times in (("deepep_normal.csv", "", "_transmit_us"), ("deepep_ll.csv", "_ll", "_avg_t_us")):
        with open(os.path.join(folder, name), newline="") as f:
            for r in csv.DictReader(f):
                if r["gpu"] != GPUS[gpu]:
                    continue
                for what in ("dispatch", "combine"):
                    yield (f"deepep_{what}{low}", r["hidden_size"], r["num_token"], r["num_topk"], r["num_experts"],
                           r.get("dispatch_sms", ""), r[what + times])


def expert_rows(folder, gpu):
    """Experts in one call, bf16: (op, tokens, hidden, inter, topk, experts, ep, exponent, us) and the hash's sizes."""
    with open(os.path.join(folder, "moe.csv"), newline="") as f:
        for r in csv.DictReader(f):
            kernel = r["kernel_source"]
            wanted = kernel == "sglang_flashinfer_trtllm_moe" if gpu[0] in "bg" else r["framework"] == "trtllm"
            if r["gpu"] != GPUS[gpu] or r["moe_dtype"] != "bfloat16" or not wanted:
                continue
            law = r["distribution"].split("_")[-1] if r["distribution"].startswith("power") else ""
            sizes = [r[k] for k in ("num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size")]
            yield ("moe_plain" if "nongated" in kernel else "moe", r["num_tokens"], r["hidden_size"],
                   str(int(r["inter_size"]) // int(r["moe_tp_size"])), r["topk"], r["num_experts"], r["moe_ep_size"], law,
                   r["us"]), sizes


def score_experts(folder, gpu, gpu_file, work, half):
    table = os.path.join(work, "experts.csv")
    with open(table, "w") as f:
        f.write("op,tokens,hidden,inter,topk,experts,ep,exponent,us\n")
        f.writelines(",".join(r) + "\n" for r, sizes in expert_rows(folder, gpu) if left_out(*sizes) == half)
    if gpu_file is None:
        return table
    out = json.loads(subprocess.check_output([STEPCAST, "kernels", table, "--gpu", gpu_file, "--json", "-"]))
    return "".join("\n    %s: median %.1f %%, 90 %% within %.1f %%" % (x["op"], x["median_pct"], x["p90_pct"])
                   for x in out["summary"])


def own_rows(folder):
    """Our own table of the same GPU, cold and with the cache flushed: the constants must hold for both."""
    path = os.path.join(folder, "..", "h200", "gemm_cold.csv")
    with open(path, newline="") as f:
        for r in csv.DictReader(f):
            yield "bf16", int(r["m"]), int(r["n"]), int(r["k"]), float(r["us"])


def write_exchanges(path, rows):
    with open(path, "w") as f:
        f.write("op,hidden,tokens,topk,experts,sms,us\n")
        f.writelines(",".join(r) + "\n" for r in rows)


def fit_exchanges(folder, gpu, half, base, out, work):
    rows = [r for r in exchange_rows(folder, gpu) if half is None or left_out(*r[1:6]) == half]
    table = os.path.join(work, "exchange.csv")
    write_exchanges(table, rows)
    subprocess.check_call([STEPCAST, "fit-gpu", table, "--base", base, "-o", out], stdout=subprocess.DEVNULL)


def score_exchanges(folder, gpu, gpu_file, work, half=None):
    rows = [r for r in exchange_rows(folder, gpu) if half is None or left_out(*r[1:6]) == half]
    table = os.path.join(work, "exchange.csv")
    write_exchanges(table, rows)
    out = json.loads(subprocess.check_output([STEPCAST, "kernels", table, "--gpu", gpu_file, "--json", "-"]))
    return "".join("\n    %s: median %.1f %%, 90 %% within %.1f %%" % (x["op"], x["median_pct"], x["p90_pct"])
                   for x in out["summary"])


def write_table(path, rows):
    with open(path, "w") as f:
        f.write("op,dtype,m,n,k,us\n")
        for t, m, n, k, us in rows:
            op = "gemm" if t == "bf16" else "linear"
            f.write(f"{op},{t},{m},{n},{k},{us}\n")


def errors(gpu_file, rows, work):
    table = os.path.join(work, "score.csv")
    write_table(table, rows)
    out = subprocess.check_output([STEPCAST, "kernels", table, "--gpu", gpu_file, "--json", "-"])
    return [r["error_pct"] for r in json.loads(out)["rows"]]


def score_text(rows, e):
    parts = []
    for t, name, small in itertools.product(dict.fromkeys(r[0] for r in rows), ("m >= 64", "m < 64"), (False, True)):
        some = [x for x, r in zip(e, rows) if r[0] == t and (r[1] < 64) == small]
        if small != (name == "m < 64") or not some:
            continue
        size = sorted(abs(x) for x in some)
        parts.append("%s, %s: median %.1f %%, 90 %% within %.1f %%, within 12 %%: %.0f %%, bias %+.1f %%" % (
            t, name, statistics.median(size), size[int(0.9 * len(size))],
            100 * sum(x <= 12 for x in size) / len(size), statistics.median(some)))
    return "\n    " + "\n    ".join(parts)


def score(folder, gpu, gpu_file, work, half=None):
    rows = [r for r in rows_of(folder, gpu) if half is None or left_out(*r[1:4]) == half]
    return score_text(rows, errors(gpu_file, rows, work))


def fit(folder, gpu, half, base, out, work):
    rows = [r for r in rows_of(folder, gpu) if half is None or left_out(*r[1:4]) == half]
    if gpu == "h200":
        rows += 2 * list(own_rows(folder))
    table = os.path.join(work, "fit.csv")
    write_table(table, rows)
    subprocess.check_call([STEPCAST, "fit-gpu", table, "--base", base, "--tiles", "-o", out], stdout=subprocess.DEVNULL)


def short(x):
    value = float("%.4g" % x)
    return int(value) if value == int(value) else value


def rounded(numbers):
    return {k: short(v) for k, v in numbers.items()}


def put(text, key, value):
    """Replaces the line of a key of `constants`, or adds it at their beginning."""
    pattern = r'"%s": (\[\[.*?\]\]|\[[^\[\]]*\]|\{[^{}]*\}|\{.*?\}\})' % re.escape(key)
    line = '"%s": %s' % (key, value)
    if re.search(pattern, text, re.S):
        return re.sub(pattern, lambda _: line, text, count=1, flags=re.S)
    return text.replace('"constants": {', '"constants": {\n    ' + line + ",", 1)


def install(gpu, fitted):
    """The new constants into the text of data/gpus/GPU.json; the rest of it stays as it is."""
    path = f"data/gpus/{gpu}.json"
    constants = json.load(open(fitted))["constants"]
    text = open(path).read()
    tiles = [[short(x) for x in t] for t in constants["tiles"]]
    lines = [json.dumps(tiles[i:i + 4])[1:-1] for i in range(0, len(tiles), 4)]
    text = put(text, "tiles", "[" + ",\n              ".join(lines) + "]")
    text = put(text, "gemm", json.dumps(rounded(constants["gemm"])))
    types = {t: rounded(constants["dtype"][t]) for t in LINEAR.values() if t in constants["dtype"]}
    casts = {c: [short(x) for x in constants["memory"][c]] for c in CASTS if gpu in GPUS}
    if gpu == "h200":  # it has more in both
        for key, value in list(types.items()) + list(casts.items()):
            text = put(text, key, json.dumps(value))
    elif types:
        text = put(text, "dtype", json.dumps(types))
        text = put(text, "memory", json.dumps(casts))
    json.loads(text)
    open(path, "w").write(text)


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("score", "fit", "deepep", "moe"):
        sys.exit(__doc__)
    command, folder, gpus = sys.argv[1], sys.argv[2], sys.argv[3:] or list(GPUS)
    with tempfile.TemporaryDirectory() as work:
        for gpu in gpus:
            file = f"data/gpus/{gpu}.json"
            if command == "moe":
                print(f"{gpu}, shipped, shapes left out:{score_experts(folder, gpu, file, work, 1)}", flush=True)
                half = os.path.join(work, "half.json")
                subprocess.check_call([STEPCAST, "fit-gpu", score_experts(folder, gpu, None, work, 0), "--base", file, "-o",
                                       half], stdout=subprocess.DEVNULL)
                print(f"{gpu}, fitted again, shapes left out:{score_experts(folder, gpu, half, work, 1)}", flush=True)
                continue
            if command == "deepep":
                half = os.path.join(work, "half.json")
                if not any(True for _ in exchange_rows(folder, gpu)):
                    continue
                print(f"{gpu}, shipped, all shapes:{score_exchanges(folder, gpu, file, work)}", flush=True)
                fit_exchanges(folder, gpu, 0, file, half, work)
                print(f"{gpu}, fitted again, shapes left out:{score_exchanges(folder, gpu, half, work, 1)}", flush=True)
                continue
            if command == "fit":
                half, whole = os.path.join(work, "half.json"), os.path.join(work, "all.json")
                fit(folder, gpu, 0, file, half, work)
                print(f"{gpu}, shapes left out: {score(folder, gpu, half, work, 1)}", flush=True)
                fit(folder, gpu, None, half, whole, work)
                install(gpu, whole)
                file = whole
            print(f"{gpu}, all shapes: {score(folder, gpu, file, work)}", flush=True)


main()
