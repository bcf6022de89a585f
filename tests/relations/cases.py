"""Random models, plans, clusters and options, and the program that runs them."""
import json
import os
import shlex
import subprocess
from decimal import Decimal

# layers, experts
MODELS = {"gpt3-1.3b": (24, 0), "gpt3-6.7b": (32, 0), "llama2-7b": (32, 0), "llama2-13b": (40, 0), "llama3-70b": (80, 0),
          "mistral-7b": (32, 0), "qwen2.5-32b": (64, 0), "gemma2-9b": (42, 0), "falcon-40b": (60, 0), "bloom-7b1": (30, 0),
          "mixtral-8x7b": (32, 8), "qwen3-30b-a3b": (48, 128), "deepseek-v2-lite": (27, 64), "deepseek-moe-16b": (28, 64)}
# heads of keys and values that tp 8 and cp 2 divide, as exchanging them asks for
SIXTEEN_HEADS = ("gpt3-1.3b", "gpt3-6.7b", "llama2-7b", "bloom-7b1", "deepseek-v2-lite", "deepseek-moe-16b")
CLUSTERS = {"dgx-h100": (400, 450, "h100-sxm"), "dgx-a100": (200, 300, "a100-80"), "hgx-h200": (400, 450, "h200"),
            "dgx-b200": (400, 900, "b200"), "hgx-h800": (200, 200, "h800")}  # NIC Gbit/s, NVLink GB/s, GPU
POWER = {"h100-sxm": 700, "a100-80": 400, "h200": 700, "b200": 1000, "h800": 700}


class Refused(Exception):
    """The program said no: exit status and first line."""


class Program:
    def __init__(self, path):
        self.path = path
        self.runs = 0

    def output(self, words):
        self.runs += 1
        done = subprocess.run([self.path, *map(str, words)], capture_output=True, stdin=subprocess.DEVNULL, timeout=300)
        if done.returncode:
            raise Refused(f"exit {done.returncode}: {done.stderr.decode(errors='replace').strip()[:300]}")
        return done.stdout

    def result(self, words):
        """The JSON document of a run, with the command that shows it again."""
        document = json.loads(self.output(["run", *words, "--json", "-"]), parse_float=Decimal)
        document["shown"] = shown(["run", *words])
        return document


def shown(words):
    return "stepcast " + " ".join(shlex.quote(str(w)) for w in words)


def words_of(plan):
    words = []
    for key, value in plan.items():
        words += ["--" + key] if value is True else ["--" + key, str(value)]
    return words


def size(plan):
    return plan["tp"] * plan["pp"] * plan["cp"] * plan["dp"]


def whole_nodes(gpus):
    """A job on several nodes of eight GPUs fills them."""
    return gpus <= 8 or gpus % 8 == 0


def random_shapes(rng):
    """A model of no preset, by Megatron's names."""
    head = rng.choice([64, 96, 128])
    heads = rng.choice([8, 16, 24, 32])
    shapes = {"num-layers": rng.choice([8, 12, 24, 36]), "hidden-size": head * heads, "num-attention-heads": heads,
              "vocab-size": rng.choice([32000, 50257, 151936])}
    if rng.random() < 0.5:
        shapes["swiglu"] = True
        shapes["ffn-hidden-size"] = rng.choice([2, 3, 4]) * head * heads
    if rng.random() < 0.5:
        shapes["normalization"] = "RMSNorm"
    return shapes, shapes["num-layers"], 0


def random_options(rng, plan, layers, experts):
    """What else a plan may say: each with a small probability."""
    tp, pp = plan["tp"], plan["pp"]
    if tp > 1 and rng.random() < 0.5:
        plan["sequence-parallel"] = True
    if pp > 1 and rng.random() < 0.5:
        kinds = ["gpipe", "zb-h1", "zb-2p"]
        plan["schedule"] = rng.choice(kinds + (["zb-v"] if layers % (2 * pp) == 0 else []))
    elif pp > 1 and layers % (2 * pp) == 0 and rng.random() < 0.3:
        plan["vpp"] = 2
    if rng.random() < 0.2:
        plan["fusion"] = rng.choice(["eager", "hf", "2021"])
    if rng.random() < 0.2:
        plan["dtype"] = "fp16"
    if rng.random() < 0.2 and not experts:
        plan["overlap-grad"] = "no"
    if plan["cp"] > 1 and rng.random() < 0.5:
        exchanged = plan.get("model") in SIXTEEN_HEADS or plan.get("num-attention-heads", 1) % 16 == 0
        plan["cp-comm-type"] = rng.choice(["all_gather", "a2a" if exchanged else "all_gather"])
    if experts:
        plan["etp"] = 1
        plan["ep"] = rng.choice([e for e in (1, 2, 4, 8) if plan["dp"] * tp * plan["cp"] % e == 0 and experts % e == 0])
        if plan["ep"] > 1 and rng.random() < 0.3:
            plan["moe-imbalance"] = 1.25


def rare_options(rng, plan, experts, gpu):
    """What few plans say, each independent of the other."""
    def seldom():
        return rng.random() < 0.08

    if seldom() and gpu != "a100-80" and plan.get("dtype") != "fp16":
        plan["fp8"] = True
    if seldom() and plan["zero"] == 3 and plan["dp"] % 2 == 0 and not experts:
        plan["shard-group"] = plan["dp"] // 2
    if seldom():
        plan["optimizer"] = rng.choice(["adam-foreach", "adam-8bit", "muon", "sgd"])
    if seldom() and plan.get("optimizer", "adam") == "adam":
        plan["offload-optimizer"] = rng.choice(["0.5", "1"])
    if seldom():
        plan["gpu-spread"] = "0.01"
    if seldom() and plan["pp"] == 1 and not experts:
        plan["lora"] = 16
        if rng.random() < 0.5:
            plan["lora-targets"] = "all"
    if seldom() and plan.get("sequence-parallel"):
        plan["overlap-tp"] = "chunks"
    if seldom():
        plan["cross-entropy"] = rng.choice(["fp32", "half", "te", "chunked"])
    if seldom():
        plan["grad-dtype"] = "bf16"
    if seldom():
        plan["software"] = rng.choice(["megatron-2021", "nemo-24.07", "nemo-25.02", "torchtitan-2024", "deepspeed", "fsdp1"])


def random_plan(rng):
    """(plan without a cluster, kind of cluster, layers, experts)"""
    while True:
        case = any_plan(rng)
        if whole_nodes(size(case[0])):
            return case


def any_plan(rng):
    if rng.random() < 0.25:
        plan, layers, experts = random_shapes(rng)
    else:
        name = rng.choice(sorted(MODELS))
        layers, experts = MODELS[name]
        plan = {"model": name}
    pp = rng.choice([p for p in (1, 1, 2, 3, 4, 8) if layers % p == 0])
    plan.update({"tp": rng.choice([1, 1, 2, 4, 8]), "pp": pp, "cp": rng.choice([1, 1, 1, 2]), "dp": rng.choice([1, 2, 3, 4, 8, 16]),
                 "seq": rng.choice([1024, 2048, 4096, 8192]), "micro-batch": rng.choice([1, 1, 2]), "zero": rng.choice([0, 0, 1, 2, 3]),
                 "recompute": rng.choice(["none", "none", "selective", "full"])})
    plan["global-batch"] = plan["dp"] * plan["micro-batch"] * max(rng.choice([1, 2, 4, 8, 16]), pp if pp > 1 else 1)
    random_options(rng, plan, layers, experts)
    kind = rng.choice(sorted(CLUSTERS))
    rare_options(rng, plan, experts, CLUSTERS[kind][2])
    return plan, kind, layers, experts


class Case:
    """A plan on its cluster, its result, and the same with one thing changed."""

    def __init__(self, program, book, plan, kind, layers, experts):
        self.program, self.book, self.kind, self.layers, self.experts = program, book, kind, layers, experts
        self.plan = {**plan, "cluster": f"{kind}:{size(plan)}", "ignore-memory": True}
        self.base = book.run(self, self.plan)

    def zero_bubble(self):
        return self.plan.get("schedule", "").startswith("zb")

    def even_stages(self):
        """Whole nodes, or whole parts of one, are a stage."""
        gpus = size(self.plan)
        stage = gpus // self.plan["pp"]
        return gpus <= 8 or stage % 8 == 0 or 8 % stage == 0

    def mostly_layers(self):
        """Twice the vocabulary is less than the layers of a stage: 12 h² weights each."""
        p = self.plan
        hidden = p.get("hidden-size", 4096)
        return 2 * p.get("vocab-size", 100000) < 12 * hidden * self.layers / p["pp"] / 4

    def changed(self, cluster=None, **changes):
        plan = {**self.plan, **{k.replace("_", "-"): v for k, v in changes.items()}}
        plan["cluster"] = cluster or f"{self.kind}:{size(plan)}"
        return plan

    def other(self, cluster=None, **changes):
        plan = self.changed(cluster, **changes)
        if not cluster and not whole_nodes(size(plan)):
            return None
        return self.book.run(self, plan)

    def hold(self, name, true, other=None, why=""):
        self.book.hold(name, true, self.base, other, why)

    def step(self, name, r, least, most):
        """The other step is between least and most times this one."""
        if r:
            ratio = r["step_time_us"] / self.base["step_time_us"]
            self.hold(name, Decimal(least) <= ratio <= Decimal(most), r, f"step times {float(ratio):.6f}, not {least} to {most}")

    def slower(self, name, r, slack="1.005"):
        self.step(name, r, 1 / Decimal(slack), "Infinity")

    def faster(self, name, r, slack="1.005"):
        self.step(name, r, 0, slack)

    def memory(self, name, r, compare, spare=0):
        if r:
            a, b = self.base["memory_bytes"]["total"], r["memory_bytes"]["total"]
            self.hold(name, a <= b + spare if compare == "more" else b <= a + spare, r, f"memory {a} and {b} bytes")

    def messages(self):
        """Of a pipeline, one behind the other: those of the micro-batches and of fill and drain, both ways."""
        p = self.plan
        passes = p["global-batch"] // (p["dp"] * p["micro-batch"]) * p.get("vpp", 1)
        return 2 * (passes + p["pp"] - 1) if p["pp"] > 1 else 0


def temporary(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as out:
        out.write(text)
    return path
