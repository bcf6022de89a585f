#!/usr/bin/env python3
"""Fits the constants of kernels in data/gpus to the public tables of kernels, and scores them.

    python3 tools/fit_kernels.py score KIND TABLES [GPU ...]   errors of the shipped constants, by half
    python3 tools/fit_kernels.py fit   KIND TABLES [GPU ...]   fits to one half, scores the other, then fits to all
                                                               shapes and writes data/gpus/GPU.json

KIND is gemm (products in bf16 and linear layers in narrow types), moe (experts in one call), sequence (convolution and
gated delta rule), serving (attention of serving stacks) or deepep (exchange of experts). TABLES is the folder with the
tables of ai-dynamo/aiconfigurator (systems/data). Shapes are parted by a hash of their sizes, so that all frameworks of a
shape fall in the same half. All but deepep start from the datasheet and round numbers and need nothing of what the file has
but that and, of serving attention, which classes there are; gemm and moe also write the errors on the half left out into the
file. deepep starts from what the file has.
Needs Python's standard library and build/stepcast (STEPCAST names another).
"""
import csv
import hashlib
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

GPUS = {"a100-80": "a100_sxm", "h100-sxm": "h100_sxm", "h200": "h200_sxm", "b200": "b200_sxm", "b300": "b300_sxm",
        "gb200": "gb200", "gb300": "gb300", "l40s": "l40s"}
LINEAR = {"fp8": "fp8", "fp8_block": "fp8-block", "nvfp4": "fp4"}  # rows are linear layers: cast of the input and product
CASTS = ["quantize_fp8", "quantize_fp8_block", "quantize_fp4"]
# Two frameworks timed the same cuBLAS; their medians differ by 1 to 5 %, B300's large products by 12 %. TRT-LLM's rows call it
# through PyTorch, as training does, and are fitted; on the A100 both are (docs/model/kernels-fit.md).
BOTH = {"a100-80"}
STEPCAST = os.environ.get("STEPCAST", "build/stepcast")

# Output tiles that the libraries have kernels for, before Hopper and since: sides that the tensor instructions have.
OLD_TILES = [(256, 128), (128, 128), (256, 64), (128, 64), (64, 64), (64, 32), (128, 32), (64, 16), (128, 96), (32, 32), (128, 16)]
TILES = [(256, 256), (256, 192), (256, 128), (192, 192), (192, 128), (160, 128), (128, 128), (128, 96), (128, 64), (64, 64),
         (256, 64), (192, 64), (64, 32), (128, 32), (64, 16), (128, 16), (256, 32), (256, 16)]
# The clock falls within long products where the power model of whole steps does not speak of it (docs/model/kernels.md).
HOT = {"b200", "b300", "gb200", "gb300", "l40s"}


def generic_moe(gpu):
    """A file to begin with: experts from the datasheet and round numbers, no tile better than the other."""
    gpu_file = json.load(open(f"data/gpus/{gpu}.json"))
    sheet = gpu_file["datasheet"]
    peak, memory = 1e6 * sheet["peak_tflops"]["bf16"], sheet["dram_tbs"]
    moe = {"fixed": 15, "expert": 0.02, "permute": 3 / memory, "sort": 4 / memory, "b": 8e-4, "r": 1.2 * peak / sheet["sms"],
           "te": 1e-4, "wave": 0.3, "bw": 0.85e6 * memory, "rp": 0.8 * peak, "q": 2, "cache": 0.75e6 * sheet["l2_mb"], "saved": 0.9,
           "step": 0.02, **{f"rows_{m}": 1 for m in (8, 16, 32, 64, 128)}, **{f"columns_{n}": 1 for n in (64, 128, 256)}}
    moe["pad"] = 128 if gpu_file["architecture"] == "blackwell" else 0  # flashinfer stores experts so
    gpu_file["constants"]["moe"] = moe
    return gpu_file


def generic_gemm(gpu):
    """A file to begin with: GEMM constants from the datasheet and round numbers, no kernel better than the other."""
    gpu_file = json.load(open(f"data/gpus/{gpu}.json"))
    sheet, constants = gpu_file["datasheet"], gpu_file["constants"]
    old = gpu_file["architecture"] in ("ampere", "ada")
    peak, memory, cache = 1e6 * sheet["peak_tflops"]["bf16"], 1e6 * sheet["dram_tbs"], 1e6 * sheet["l2_mb"]
    gemm = {"r": 2 * peak / sheet["sms"], "rp": 0.85 * peak, "b": 5e-4, "te": 5e-5, "t0": 2.5, "ts": 2.3, "q": 2.3, "wave": 0.2,
            "bw": 0.85 * memory, "write": 0.85 * memory, "cache_bw": 3 * memory, "w": 1, "split": 1, "split_k": 256,
            "cache": cache, "cache_b": 0.1 * cache, "cache_out": cache, "write_long": 1, "ramp": 1e7, "resident": 32768 if old else 0}
    gemm.update({"odd": 0.02, "split_odd": 0.2} if gpu_file["architecture"] == "blackwell" else {"odd": 0, "split_odd": 0})
    if gpu != "h200":  # fitted together with rows of ours, which were not timed in a loop
        gemm.update(replay=2, cache_b=0)
    if gpu_file["architecture"] == "blackwell":
        gemm.update(tick=2.048, tick_start=0.7)
    if gpu_file["architecture"] == "ada":  # shared memory for one tile of 128x128; one cache for all SMs
        gemm.update(resident=16384, edge=40)
    gemm.update({"hot": 0.1, "hot_us": 60, "limit": 0.1, "limit_us": 2000} if gpu in HOT else dict.fromkeys(("hot", "hot_us", "limit", "limit_us"), 0))
    tiles = []
    for m, n in OLD_TILES if old else TILES:
        tiles += [[m, n, 1, 1]] + [[n, m, 1, 1]] * (m != n)
    constants["gemm"], constants["tiles"] = gemm, tiles
    for name, per_element in zip(CASTS, (8, 5, 4)):  # bytes of an element that pass the memory, some of them twice
        if name in constants.get("memory", {}):
            constants["memory"][name] = [4, 0.1, 0.1, per_element / sheet["dram_tbs"], *constants["memory"][name][4:]]
    for name in set(LINEAR.values()) & set(constants.get("dtype", {})):
        faster = sheet["peak_tflops"][name.split("-")[0]] / sheet["peak_tflops"]["bf16"]
        constants["dtype"][name].update(r=faster, rp=faster, b=1, te=1, bw=1)  # t0: docs/model/kernels.md
    return gpu_file


# Bytes that a token of a channel or head moves (the delta rule passes about twenty-five operands of a head of 128, its update
# reads and writes a state of 128 by 128).
SEQUENCE_BYTES = {"delta": 25 * 128 * 2, "conv": 4, "conv_update": 12, "delta_update": 2 * 128 * 128 * 4}


def generic_sequence(gpu):
    """A file to begin with: pieces move their bytes at the memory's rate; the rest are round numbers. How the kernels cut
    their work (tokens of a chunk, channels or heads of a block) is taken as it is."""
    gpu_file = json.load(open(f"data/gpus/{gpu}.json"))
    sheet = gpu_file["datasheet"]
    for software, ops in gpu_file["constants"]["sequence"].items():
        for op, (chunk, width, *_) in ops.items():
            moved = chunk * width * SEQUENCE_BYTES[op]
            work = moved * sheet["sms"] / (1e6 * sheet["dram_tbs"])
            if "update" in op:  # one token: no rows, nothing odd; a state read and written stays in a cache that has room for it
                ops[op] = [chunk, width, 3, 0, 0.1, work, 0, 1, 0.5, 1e6 * sheet["l2_mb"] / (moved / 2), 0.5, 1, 0]
                if (software, op) == ("trtllm", "conv_update"):  # shorter than a replay by the host, which each call waits for
                    ops[op].append(5)
                continue
            fixed, row, walk = (15, 2, 1) if op == "delta" else (3, 0.1, 0.1)
            ops[op] = [chunk, width, fixed, row, walk, work, 0.02, 1, 0.5, 1000, 0.5, 1, 0.01]
    return gpu_file


# How many blocks of an SM a library parts the keys of single tokens for, the least keys of a part, and how many queries of a
# head of keys a block takes (latent attention has up to 128 of them; elsewhere 64); whether the queries of a prompt that share
# keys share tiles. The start whose fit is best on the fitted half is taken, for each class of rows.
SERVING_STARTS = [(8, 128, 64, 0), (1, 128, 64, 1), (2, 64, 64, 1), (1e-3, 1e9, 64, 0), (1, 128, 16, 1), (1, 128, 128, 1)]


def alone_start(architecture, software, phase, type_):
    """Constants of blocks that take one query each, and when a library takes them (docs/model/kernels-serving.md); None: never.
    TensorRT-LLM's masked attention: beyond 32 queries of a head of keys; before Blackwell also for a single one and, with a
    cache in bf16, where blocks are fewer than a quarter of the SMs. FlashAttention-2 (vLLM's before Hopper): single queries
    and windows, whose keys it never parts."""
    if phase != "generation":
        return None
    if software == "trtllm":
        old = architecture != "blackwell"
        return [4, 6, 1, 1.5, 2, 256, 0, 32, int(old), 0, 4 if old and type_ == "bf16" else 1e9]
    if software == "vllm" and type_ == "bf16" and architecture in ("ampere", "ada"):
        return [4, 6, 1, 1.5, 1e-3, 1e9, 0.1, 1e9, 1, 1, 1e9]
    return None


def generation_start(gpu_file, software, phase, type_, start):
    sheet, architecture = gpu_file["datasheet"], gpu_file["architecture"]
    target, tokens, queries, _ = start
    alone = alone_start(architecture, software, phase, type_)
    copies = alone and software == "vllm"  # FlashAttention-2 brings queries that share keys together
    planned = software == "vllm" and architecture == "hopper"  # FlashAttention-3's scheduler
    call = [6, 0.85e6 * sheet["dram_tbs"], 0.75e6 * sheet["l2_mb"], 0.5, 2, 0.5, 0.5, 1, 0.05, 0.05, 0.02 if planned else 0,
            1 if copies else 0, 0.05 if copies else 0, 0.5, queries]
    constants = {"call": call, "shared": [1, 3, 0.3, 1.5, target, tokens]}
    return {**constants, "alone": alone} if alone else constants


def context_start(gpu_file, type_, start):
    """A step of 128 queries and keys at half of an SM's peak, of heads of 128; a tile's end is a step."""
    sheet = gpu_file["datasheet"]
    peak = 1e6 * sheet["peak_tflops"]["fp8" if type_ == "fp8" and "fp8" in sheet["peak_tflops"] else "bf16"] / sheet["sms"]
    step = 4 * 128 * 128 * 128 / (0.5 * peak)
    sizes = [step * size / 128 for size in (64, 128, 192, 256, 512)]
    return [8, start[3], step, 0.85e6 * sheet["dram_tbs"], 2, 0.5, 0.75e6 * sheet["l2_mb"], 0.5, 0.1, 0.3, 1.5, 0.5, *sizes]


def generic_serving(gpu, start=SERVING_STARTS[0]):
    """A file to begin with, for the classes of rows that the file has constants for."""
    gpu_file = json.load(open(f"data/gpus/{gpu}.json"))
    for software, phases in gpu_file["constants"]["serving"].items():
        for phase, types in phases.items():
            for type_ in types:
                types[type_] = (context_start(gpu_file, type_, start) if "context" in phase
                                else generation_start(gpu_file, software, phase, type_, start))
    return gpu_file


GENERIC = {"gemm": generic_gemm, "moe": generic_moe, "sequence": generic_sequence, "serving": generic_serving}
# One fit moves a constant by e² at most where rows are few, which is not far enough from round numbers.
ROUNDS = {"sequence": 8, "serving": 4}

# ---- which rows, and the sizes that part them ----

def gemm_sizes(r, gpu):
    wanted = r["gemm_dtype"] == "bfloat16" or r["gemm_dtype"] in LINEAR
    if wanted and (r["framework"] == "trtllm" or gpu in BOTH):
        return [r[k] for k in "mnk"]


def moe_sizes(r, gpu):
    """bf16: TRT-LLM's kernels, on Blackwell those of flashinfer."""
    blackwell = gpu[0] in "bg"
    wanted = r["kernel_source"] == "sglang_flashinfer_trtllm_moe" if blackwell else r["framework"] == "trtllm"
    if wanted and r["moe_dtype"] == "bfloat16":
        return [r[k] for k in ("num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size")]


def delta_sizes(r, gpu):
    if r["kernel_source"].startswith("causal_conv1d"):
        channels = 2 * int(r["num_k_heads"]) * int(r["head_k_dim"]) + int(r["num_v_heads"]) * int(r["head_v_dim"])
        return [r["batch_size"], r["seq_len"], channels]
    return [r[k] for k in ("batch_size", "seq_len", "num_k_heads", "num_v_heads")]


def mamba_sizes(r, gpu):
    channels = int(r["nheads"]) * int(r["head_dim"]) + 2 * int(r["n_groups"]) * int(r["d_state"])
    return [r["batch_size"], r["seq_len"], channels]


def attention_sizes(r, gpu):
    return [r["batch_size"], r["isl"], r["step"], r["num_heads"], r["num_key_value_heads"], r["head_dim"], r["head_dim"],
            r["window_size"] or 0]


def mla_sizes(r, gpu):
    heads = r["num_heads"]
    sizes = [1, 576, 512] if int(r["step"]) else [heads, 192, 128]
    return [r["batch_size"], r["isl"], r["step"], heads, *sizes, 0]


KINDS = {"gemm": {"gemm.csv": gemm_sizes},
         "moe": {"moe.csv": moe_sizes},
         "sequence": {"gdn.csv": delta_sizes, "mamba2.csv": mamba_sizes},
         "serving": {"context_attention.csv": attention_sizes, "generation_attention.csv": attention_sizes,
                     "context_mla.csv": mla_sizes, "generation_mla.csv": mla_sizes}}


def exchange_rows(folder, gpu):
    """DeepEP's dispatch and combine, in our columns, and their sizes."""
    for name, low, times in (("deepep_normal.csv", "", "_transmit_us"), ("deepep_ll.csv", "_ll", "_avg_t_us")):
        with open(os.path.join(folder, name), newline="") as f:
            for r in csv.DictReader(f):
                if r["gpu"] != GPUS[gpu]:
                    continue
                sizes = [r["hidden_size"], r["num_token"], r["num_topk"], r["num_experts"], r.get("dispatch_sms", "")]
                for what in ("dispatch", "combine"):
                    row = dict(zip(("hidden", "tokens", "topk", "experts", "sms"), sizes))
                    yield {"op": f"deepep_{what}{low}", **row, "us": r[what + times]}, sizes


def own_rows(folder):
    """Our own table of the same GPU, cold and with the cache flushed: the constants must hold for both."""
    with open(os.path.join(folder, "..", "h200", "gemm_cold.csv"), newline="") as f:
        for r in csv.DictReader(f):
            yield {"gemm_dtype": "bfloat16", "framework": "own", **{k: r[k] for k in ("m", "n", "k", "us")}}


def taken(sizes, half):
    """Half 1 of the shapes is never fitted while it is scored."""
    digest = hashlib.sha256(",".join(str(x) for x in sizes if x != "").encode()).digest()
    return half is None or digest[0] & 1 == half


def rows_of(kind, folder, gpu, half):
    """For each table its rows of one half (None: all)."""
    if kind == "deepep":
        yield [r for r, sizes in exchange_rows(folder, gpu) if taken(sizes, half)]
        return
    for name, sizes_of in KINDS[kind].items():
        some = []
        with open(os.path.join(folder, name), newline="") as f:
            for r in csv.DictReader(f):
                sizes = r["gpu"] == GPUS[gpu] and sizes_of(r, gpu)
                if sizes and taken(sizes, half):
                    some.append(r)
        yield some


# ---- fits and scores ----

def write_table(path, rows):
    with open(path, "w", newline="") as f:
        out = csv.DictWriter(f, list(rows[0]), extrasaction="ignore", restval="")
        out.writeheader()
        out.writerows(rows)


def fit(kind, folder, gpu, half, base, out, work):
    table = os.path.join(work, "fit.csv")
    for rows in rows_of(kind, folder, gpu, half):
        if kind == "gemm" and gpu == "h200":
            rows += [{k: v for k, v in r.items() if k != "framework"} for r in 2 * list(own_rows(folder))]
        if not rows:
            continue
        write_table(table, rows)
        tiles = ["--tiles"] if kind == "gemm" else []
        subprocess.check_call([STEPCAST, "fit-gpu", table, "--base", base, *tiles, "-o", out], stdout=subprocess.DEVNULL)
        base = out
    return base


def class_of(row, out):
    """What errors are told apart by."""
    if "m" in row:
        return "%s, m %s 64" % (row["gemm_dtype"], "<" if int(row["m"]) < 64 else ">=")
    if row.get("framework") and "moe" not in out["op"]:
        return "%s, %s, cache %s" % (out["op"], row["framework"], row.get("kv_cache_dtype", "-"))
    return out["op"]


def errors_of(kind, folder, gpu, gpu_file, work, half):
    """{class: errors in %}"""
    table = os.path.join(work, "score.csv")
    classes = {}
    for rows in rows_of(kind, folder, gpu, half):
        if not rows:
            continue
        write_table(table, rows)
        out = json.loads(subprocess.check_output([STEPCAST, "kernels", table, "--gpu", gpu_file, "--json", "-"]))
        for row, priced in zip(rows, out["rows"]):
            classes.setdefault(class_of(row, priced), []).append(priced["error_pct"])
    return classes


def serving_class(row, op):
    """Software, phase and type of a row, as the file names them."""
    phase = op.replace("attention_", "")
    product, cache = row.get("attn_dtype", "bfloat16"), row["kv_cache_dtype"]
    return row["framework"], phase, "fp8" if product == "fp8" else "fp8_cache" if cache == "fp8" else "bf16"


def serving_losses(folder, gpu, gpu_file, work):
    """{class: mean of what fit-gpu makes least} on the fitted half."""
    sums = {}
    table = os.path.join(work, "score.csv")
    for rows in filter(None, rows_of("serving", folder, gpu, 0)):
        write_table(table, rows)
        out = json.loads(subprocess.check_output([STEPCAST, "kernels", table, "--gpu", gpu_file, "--json", "-"]))
        for row, priced in zip(rows, out["rows"]):
            loss = math.log1p((math.log1p(priced["error_pct"] / 100) / 0.15) ** 2)
            sums.setdefault(serving_class(row, priced["op"]), []).append(loss)
    return {key: statistics.fmean(losses) for key, losses in sums.items()}


def best_serving_start(folder, gpu, work):
    """Each class of rows with the start whose fit to the fitted half is best."""
    best, merged = {}, generic_serving(gpu)
    path = os.path.join(work, "start.json")
    for start in SERVING_STARTS:
        with open(path, "w") as f:
            json.dump(generic_serving(gpu, start), f)
        fit("serving", folder, gpu, 0, path, path, work)
        fitted = json.load(open(path))["constants"]["serving"]
        for key, loss in serving_losses(folder, gpu, path, work).items():
            software, phase, type_ = key
            if start[2] != 64 and phase != "mla_generation":
                continue
            if loss < best.get(key, math.inf) and type_ in merged["constants"]["serving"].get(software, {}).get(phase, {}):
                best[key] = loss
                merged["constants"]["serving"][software][phase][type_] = fitted[software][phase][type_]
    return merged


def within(errors, most):
    return 100 * sum(abs(e) <= most for e in errors) / len(errors)


def middle(errors):
    return statistics.median(abs(e) for e in errors)


def show(classes):
    text = ""
    for name, errors in sorted(classes.items()):
        size = sorted(abs(e) for e in errors)
        text += "\n    %s: %d rows, median %.1f %%, 90 %% within %.1f %%, within 12 %%: %.0f %%, bias %+.1f %%" % (
            name, len(size), middle(errors), size[int(0.9 * len(size))], within(errors, 12), statistics.median(errors))
    return text


def quality(classes):
    """What data/gpus says of GEMMs."""
    large, small = classes["bfloat16, m >= 64"], classes["bfloat16, m < 64"]
    text = "bf16 GEMMs left out of a fit to the other half: median %.1f %%, %.0f %% within 12 %%, bias %+.1f %%; m < 64: median %.1f %%" % (
        middle(large), within(large, 12), statistics.median(large), middle(small))
    linear = ["%s %.1f %%" % (ours, middle(classes[name + ", m >= 64"] + classes[name + ", m < 64"]))
              for name, ours in LINEAR.items() if name + ", m >= 64" in classes]
    return text + ("; linear layers with the cast of their input, median: " + ", ".join(linear) if linear else "")


# ---- data/gpus ----

def short(x):
    if isinstance(x, dict):
        return {k: short(v) for k, v in x.items()}
    if isinstance(x, list):
        return [short(v) for v in x]
    value = float("%.4g" % x)
    return int(value) if value == int(value) else value


def put(text, key, value, after="constants"):
    """Replaces the value of a key that comes after another, or adds it at the beginning of `constants`."""
    at = re.compile(r'"%s": ' % re.escape(key)).search(text, text.index('"%s": ' % after))
    if not at:
        return text.replace('"constants": {', '"constants": {\n    "%s": %s,' % (key, value), 1)
    _, end = json.JSONDecoder().raw_decode(text, at.end())
    return text[:at.end()] + value + text[end:]


def lines(value, pad):
    """Lists on a line each, what holds them indented."""
    if isinstance(value, list):
        return json.dumps(value)
    inner = ",\n".join('%s  "%s": %s' % (pad, k, lines(v, pad + "  ")) for k, v in value.items())
    return "{\n%s\n%s}" % (inner, pad)


def only_known(new, old):
    """The new constants of what the file had."""
    return {k: only_known(new[k], v) for k, v in old.items()} if isinstance(old, dict) else new


def write_quality(kind, gpu, classes):
    """The part of the text that speaks of GEMMs, or of experts; the rest stays."""
    path = f"data/gpus/{gpu}.json"
    text = open(path).read()
    old = json.loads(text)["fitted"]["quality"]
    if kind == "moe":
        plain = ", without a gate %.1f %%" % middle(classes["moe_plain"]) if "moe_plain" in classes else ""
        new = re.sub(r"experts in one call [^;]*", "experts in one call %.1f %%%s" % (middle(classes["moe"]), plain), old)
    else:
        after = re.search(r"; (experts|convolution|our own|attention).*", old)
        new = quality(classes) + (after.group() if after else "")
    text = text.replace(json.dumps(old), json.dumps(new), 1)
    open(path, "w").write(text)


def install(kind, gpu, fitted):
    """The new constants into the text of data/gpus/GPU.json; the rest of it stays as it is."""
    path = f"data/gpus/{gpu}.json"
    text = open(path).read()
    described = json.loads(text)
    old = described["constants"]
    new = short(json.load(open(fitted))["constants"])
    if kind == "gemm":
        tiles = [json.dumps(new["tiles"][i:i + 4])[1:-1] for i in range(0, len(new["tiles"]), 4)]
        text = put(text, "tiles", "[" + ",\n              ".join(tiles) + "]")
        text = put(text, "gemm", json.dumps(new["gemm"]))
        has = described["datasheet"]["peak_tflops"]
        types = {t: new["dtype"][t] for t in LINEAR.values() if t in new["dtype"] and t.split("-")[0] in has}
        casts = {c: new["memory"][c] for c in CASTS}
        if gpu == "h200":  # it has more in both, and no fp4
            for key, value in types.items():
                text = put(text, key, json.dumps(value), "dtype")
            for key in CASTS[:2]:
                text = put(text, key, json.dumps(casts[key]), "memory")
        elif types:
            text = put(text, "dtype", json.dumps(types))
            text = put(text, "memory", json.dumps(casts))
    elif kind in ("moe", "deepep"):
        text = put(text, kind, json.dumps(new[kind]))
    else:
        text = put(text, kind, lines(only_known(new[kind], old.get(kind, new[kind])), "    "))
    json.loads(text)
    open(path, "w").write(text)


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("score", "fit") or sys.argv[2] not in [*KINDS, "deepep"]:
        sys.exit(__doc__)
    command, kind, folder, gpus = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:] or list(GPUS)
    with tempfile.TemporaryDirectory() as work:
        for gpu in gpus:
            file = f"data/gpus/{gpu}.json"
            half, whole = os.path.join(work, "half.json"), os.path.join(work, "all.json")
            if not any(rows_of(kind, folder, gpu, None)):
                continue
            if command == "score":
                print(f"{gpu}, shapes left out:{show(errors_of(kind, folder, gpu, file, work, 1))}", flush=True)
                continue
            if kind in GENERIC:
                file = os.path.join(work, "generic.json")
                with open(file, "w") as f:
                    json.dump(best_serving_start(folder, gpu, work) if kind == "serving" else GENERIC[kind](gpu), f)
            base = file
            for _ in range(ROUNDS.get(kind, 1)):
                base = fit(kind, folder, gpu, 0, base, half, work)
            left_out = errors_of(kind, folder, gpu, base, work, 1)
            print(f"{gpu}, fitted to the other half, shapes left out:{show(left_out)}", flush=True)
            base = fit(kind, folder, gpu, None, base, whole, work)
            install(kind, gpu, base)
            if kind in ("gemm", "moe"):
                write_quality(kind, gpu, left_out)
            print(f"{gpu}, all shapes:{show(errors_of(kind, folder, gpu, base, work, None))}", flush=True)


main()
