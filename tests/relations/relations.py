#!/usr/bin/env python3
"""Random models, plans, clusters and options, and what must hold for every one.

    relations.py BUILD SEED PLANS [RELATION …]

Prints ok or not ok for each relation, how often it was tried, and for the first
violations the command that shows it, beside the one it is compared with. The
program is $STEPCAST or BUILD/stepcast. RELATION: names of the groups below
(machine, work …); none is all.

A relation that is not exact has its bound from physics:
  heat      less waiting keeps a GPU at its power limit, and its clock lower: a
            faster network may make the rest of the step slower by a little
  sharing   where a network is the bottleneck, the order in which equal
            transfers share it decides the last small part of a step
  nvls      a group that comes to fill its nodes gets NVLink SHARP, which half
            of it does not: its collectives may be a third faster
  zb        weight gradients that wait keep what recomputation would drop, and
            take the place of bubbles: less can be said about both
  jitter    the slowest of more nodes is slower (0.003 a doubling): an ideal network has a
            GPU a node, eight times as many, and no waiting (heat)
  rings     two collectives at once: the analytic engine shares what rings reach of an
            NVLink port (0.72 to 0.92, data/collectives.json), flows share the port
  search    orders of zero-bubble schedules are searched among a few: more work may
            happen to find a better one
  leaves    the ranks of a class lie alike in nodes, not under leaf switches: a message of one
            may pass a hop (1.2 us) more than that of another, of which the class has one;
            a pipeline's messages each, those of collectives a ten-thousandth of the step; of
            a pipeline whose reductions hide three, for one that is ready a hop later
            begins behind another transfer and slows another kernel
  buckets   several reductions cost more latency and SMs than one, and what runs
            beside a transfer has fewer SMs: where there is little to hide, overlap
            costs that
  launches  the host launches every chunk of a collective: where it sets the pace, chunks cost
            what they add to its work, some 8 launches to the 50 of a layer
"""
import csv
import json
import locale
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
from decimal import Decimal

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import CLUSTERS, POWER, Case, Program, Refused, random_plan, shown, size, temporary, words_of  # noqa: E402

HEAT, NVLS, BUCKETS, JITTER, SEARCH = "1.01", Decimal("0.35"), "1.02", "1.03", "1.05"
RINGS, LEAVES, HOP_US, LAUNCHES = Decimal("0.28"), Decimal("0.0001"), Decimal("1.2"), Decimal("0.2")
SHOWN = 10  # violations of one relation
TORCH = ("torchtitan-2024", "deepspeed", "fsdp1")
GATHERED_FP8 = ("torchtitan-2024", "nemo-24.07", "nemo-25.02")  # weights are cast before they are gathered, whatever their type


class Book:
    """What was tried and what was broken."""

    def __init__(self, program):
        self.program = program
        self.tried, self.broken = {}, {}

    def note(self, name, text):
        self.tried[name] = self.tried.get(name, 0) + 1
        if text:
            print(f"# {name}: {text}", file=sys.stderr, flush=True)  # hours may pass until the end
            self.broken.setdefault(name, []).append(text)

    def hold(self, name, true, result, other=None, why=""):
        beside = f"\n    beside: {other['shown']}" if other else ""
        self.note(name, None if true else f"{why}\n    {result['shown']}{beside}")

    def run(self, case, plan):
        words = words_of(plan)
        try:
            result = self.program.result(words)
        except (Refused, subprocess.TimeoutExpired) as error:
            self.note("every plan runs", f"{error}\n    {shown(['run', *words])}")
            return None
        self.note("every plan runs", None)
        check_sums(self, result, plan)
        return result

    def show(self):
        for name in sorted(self.tried):
            bad = self.broken.get(name, [])
            if not bad:
                print(f"ok {name} ({self.tried[name]})")
                continue
            print(f"not ok {name}: {len(bad)} of {self.tried[name]}")
            for text in bad[:SHOWN]:
                print("  " + text)


def parts(b):
    return [b["compute"], b["recompute"], *b["exposed_comm"].values(), b["bubble"], b["skew"], b["other"]]


def noted(r, text):
    return any(text in n["text"] for n in r["input"]["notes"])


def check_sums(book, r, plan):
    """What holds within one result: sums, shares, bounds of the machine."""
    step, gpus, second = r["step_time_us"], r["plan"]["gpus"], Decimal(1000000)
    for b in [r["breakdown_us"]] + [c["breakdown_us"] for c in r["ranks"]]:
        book.hold("parts add up to the step", sum(parts(b)) == step, r)
        book.hold("no part is negative", min(parts(b)) >= 0, r)
    book.hold("ranks of all classes are the GPUs", sum(c["ranks"] for c in r["ranks"]) == gpus, r)
    book.hold("no rank ends after the step", all(c["end_us"] <= step for c in r["ranks"]), r)
    for group, c in r["comm"].items():
        book.hold("exposed is at most busy", c["exposed_us"] <= c["busy_us"] + Decimal("0.001"), r)
        book.hold("exposed is that of the breakdown", c["exposed_us"] == r["breakdown_us"]["exposed_comm"][group], r)
    sent = sum(v["bytes"] for v in r["volumes"]), sum(c["bytes"] for c in r["comm"].values())
    book.hold("volumes are what was sent", sent[0] == sent[1], r, why=f"{sent}")
    m = r["memory_bytes"]
    book.hold("memory adds up", m["total"] == sum(v for k, v in m.items() if k not in ("total", "capacity", "host", "host_capacity")), r)
    tokens = Decimal(plan["global-batch"] * plan["seq"]) / (step / second)
    book.hold("tokens per second", abs(r["tokens_per_s"] / tokens - 1) < Decimal("1e-9"), r)
    book.hold("MFU is at most HFU", 0 < r["mfu"] <= r["hfu"] * Decimal("1.000001"), r)
    # MFU counts all of attention, kernels the causal half: only there may it pass 1, and says so
    book.hold("MFU is a share", r["mfu"] <= 1 or noted(r, "MFU is above 100 %"), r, why=f"MFU {r['mfu']}")
    watts = POWER.get(plan.get("gpu") or CLUSTERS.get(plan["cluster"].split(":")[0], (0, 0, ""))[2])
    if watts:
        most = gpus * watts * step / second * Decimal("1.000001")
        book.hold("no GPU takes more than its power", 0 < r["energy_j"] <= most, r)


def check_gpu(c):
    """What communication took before it takes now: at best all of the step is halved. Where a network is waited for,
    other collectives are in flight at once than before, and share what their rings reach (rings): flows, which share
    the port itself, must then say that it is not slower."""
    name, r = "a GPU twice as fast: 1/2 to 1 of the step", c.other(gpu_speedup=2)
    if not r or r["step_time_us"] <= c.base["step_time_us"] * Decimal("1.005"):
        c.step(name, r, "0.4999", "1.005")
        return
    exposed = sum(c.base["breakdown_us"]["exposed_comm"].values()) / c.base["step_time_us"]
    c.step(name, r, "0.4999", 1 + RINGS * exposed)
    before, now = (c.other(net="flow", route="adaptive", **change) for change in ({}, {"gpu_speedup": 2}))
    if before and now:
        c.book.hold(name + ", by flows", now["step_time_us"] <= before["step_time_us"] * Decimal("1.005"), before, now)


def check_machine(c, rng):
    """Faster hardware is not slower, and not faster than it can make what it does."""
    nic, nvlink, gpu = CLUSTERS[c.kind]
    n = size(c.plan)
    c.faster("faster NICs are not slower", c.other(f"{c.kind}:{n} nic={2 * nic}Gbps"), SEARCH if c.zero_bubble() else HEAT)
    c.faster("faster NVLink is not slower", c.other(f"{c.kind}:{n} nvlink={2 * nvlink}GB/s"), SEARCH if c.zero_bubble() else HEAT)
    c.faster("a free network is not slower", c.other(f"ideal:{n}", gpu=gpu), JITTER)
    check_gpu(c)
    # one rank's compute takes half as long again, and everything else as before
    c.step("a slow rank: 1 to 1.5 of the step", c.other(slow="rank:0=1.5"), "0.995", "1.51")
    if c.kind == "dgx-h100":
        r = c.other(gpu="h200")  # the same but for a faster memory; its host may be another
        if r and not noted(r, "to launch a kernel"):
            c.faster("an H200 is not slower than an H100", r, HEAT)


def check_work(c, rng):
    """More work takes more time and memory; work done again is no gift."""
    p = c.plan
    for name, change in (("longer sequences", {"seq": 2 * p["seq"]}), ("more layers", {"num_layers": 2 * c.layers})):
        r = c.other(**change)
        c.slower(name + ": slower", r, "1.005")
        c.memory(name + ": more memory", r, "more")
    # sizes that GEMMs like: an odd one is slower by far
    a, b = (c.other(vocab_size=v) for v in (65536, 262144))
    if a and b:
        c.book.hold("a larger vocabulary: slower", a["step_time_us"] <= b["step_time_us"] * Decimal(SEARCH if c.zero_bubble() else "1.005"), b, a)
        c.book.hold("a larger vocabulary: more memory", a["memory_bytes"]["total"] <= b["memory_bytes"]["total"], b, a)
    if p["recompute"] == "none":
        # (sharing: a step that waits for its network takes what that takes, in whatever order)
        waits = sum(c.base["breakdown_us"]["exposed_comm"].values()) > c.base["step_time_us"] / 3
        for kind in ("selective", "full"):
            r = c.other(recompute=kind)
            c.slower(f"recompute {kind} is slower", r, SEARCH if c.zero_bubble() else "1.01" if waits else "1.005")
            if not c.zero_bubble():
                c.memory(f"recompute {kind} needs no more memory", r, "less")
    if p.get("ep", 1) > 1:
        r = c.other(moe_imbalance=1.5)
        c.slower("uneven experts are slower", r)
        c.memory("uneven experts need memory", r, "more")
        if r and p["recompute"] == "none" and p.get("moe-imbalance", 1) < 1.5:
            kept = [x["memory_bytes"]["activations"] for x in (c.base, r)]
            # (none are kept where the update is the largest moment)
            c.hold("uneven experts keep more", kept[0] < kept[1] or not kept[0], r, f"{kept}")


def most_zero(c):
    """Up to which ZeRO each needs no more memory than the one before. ZeRO 3 has two layers, or one and an embedding, gathered at
    a time, which is all of a small stage; in a pipeline all of them stay gathered, beside shards of another type in fp8. PyTorch's
    shards are fp32: in a pipeline they come on top of what is gathered, and over two ranks those of gradients take what whole ones
    of two bytes do; beside them the gradients of a unit are whole, of which embedding and head are a large part of a small model.
    Adapters have next to no gradients that sharding them would save, so that the shards of frozen weights come on top. Experts
    that no other rank has are not sharded: of the few weights beside them ZeRO 3 saves less than the whole gradients of a unit,
    the embedding among them, take."""
    p = c.plan
    layers_decide = c.layers >= 4 * p["pp"] and c.mostly_layers()
    if p["pp"] > 1 and p.get("software") in TORCH:
        return 0
    if p.get("software") in TORCH and (p["dp"] * p["cp"] == 2 or not layers_decide or "lora" in p):
        return 1
    whole_experts = c.experts and p["ep"] * p["etp"] == p["dp"] * p["cp"] * p["tp"]
    return 3 if layers_decide and not whole_experts and not ("fp8" in p and p["pp"] > 1) else 2


def check_plan(c, rng):
    """The same work cut in another way."""
    p = c.plan
    # (with ZeRO more ranks share the optimizer; stages that end inside of nodes move to other places in them)
    if p["zero"] == 0 and c.even_stages():
        busy = sum(v["busy_us"] for k, v in c.base["comm"].items() if k.startswith("dp"))
        c.slower("more data parallel ranks are not faster than linear",
                 c.other(dp=2 * p["dp"], global_batch=2 * p["global-batch"]),
                 Decimal("1.005") + NVLS * busy / c.base["step_time_us"])
    # (PyTorch alone that copies the model keeps no second copy of its weights; who cuts or shards it does)
    torch = p.get("fusion") in ("eager", "hf") or p.get("software") in TORCH
    plain = torch and (size(p) == 1 or (p["dp"] == size(p) and p["zero"] == 0))
    if p["dp"] > 1 and p["zero"] < most_zero(c) and not plain:
        # (DeepSpeed's stages have buckets of 500 million elements, two in turn, however small the model; stage 0 has none)
        buckets = p["zero"] == 0 and p.get("software") == "deepspeed"
        spare = 10**9 * (4 if p.get("dtype") == "fp32" else 2) if buckets else 0
        # (a sharded gradient is whole until it is reduced: that of a vocabulary larger than the layers is more than sharding saves)
        if p["zero"] == 1 and not c.mostly_layers():
            spare += 4 * p.get("vocab-size", 100000) * p.get("hidden-size", 4096)
        c.memory("more ZeRO needs no more memory", c.other(zero=p["zero"] + 1), "less", spare)
    # (communicators of a new group may take more than a small model saves)
    if p["tp"] < 8 and not plain:
        r = c.other(tp=2 * p["tp"])
        if r:
            a, b = (x["memory_bytes"]["total"] - x["memory_bytes"]["communication"] for x in (c.base, r))
            c.hold("more tensor parallel needs less memory", b <= a, r, f"memory {a} and {b} bytes")
    if p["pp"] > 1 and not c.zero_bubble():
        r = c.other(global_batch=2 * p["global-batch"])
        if r:
            # of the stage that computes most, which the others wait for in every micro-batch: another may
            # wait least, where its exchange of gradients alone leaves a node
            computes = [s["breakdown_us"]["compute"] for s in r["ranks"]]
            busiest = computes.index(max(computes))
            share = [x["ranks"][busiest]["breakdown_us"]["bubble"] / x["step_time_us"] for x in (r, c.base)]
            c.hold("more micro-batches have less bubble", share[0] <= share[1], r, f"bubbles {share}")
            c.hold("more micro-batches give more tokens", c.base["tokens_per_s"] <= r["tokens_per_s"] * Decimal("1.005"), r)
    if p["zero"] == 1:
        r = c.other(overlap_param="yes")
        # on fewer SMs; and in a pipeline the next stage waits for it
        c.faster("gathering weights beside forward is not slower", r, BUCKETS if p["pp"] == 1 else "1.05")
        if r and shown_ranks(r) == shown_ranks(c.base):
            sent = [sum(v["bytes"] for k, v in x["comm"].items() if k.startswith("dp")) for x in (c.base, r)]
            c.hold("weights are gathered once, beside forward or not", sent[0] == sent[1], r, f"{sent}")
    if p["tp"] > 1:
        # (every chunk, one for each rank, costs latency, which small chunks have nothing to hide behind: 2 MiB take an NVLink 5 us)
        chunks = p.get("overlap-tp") == "chunks" or p.get("software", "").startswith("nemo")
        message = 2 * p["seq"] * p["micro-batch"] * p.get("hidden-size", 4096) // p["cp"]
        if not chunks or message >= p["tp"] * (2 << 20):
            # (a bubble is as long as stages are slow)
            waits = c.base["breakdown_us"]["other"] / (c.base["step_time_us"] - c.base["breakdown_us"]["bubble"])
            slack = Decimal("1.05") + LAUNCHES * waits if chunks else SEARCH if c.zero_bubble() else BUCKETS
            c.slower("blocking tensor parallel is not faster", c.other(overlap_tp="no"), slack)
    # Experts' exchanges and reductions meet on the NICs: there, stage after stage, overlap may cost more than it hides. In a
    # pipeline the last backward of each stage runs beside its reductions, on fewer SMs, and the stage before waits for it; tied
    # embeddings are exchanged between both ends meanwhile, at half the rate while one end reduces and the other's NICs are idle.
    if p["zero"] < 2 and not c.experts and p.get("overlap-grad") != "no":
        ends = any(group.startswith("embedding") for group in c.base["comm"])
        slack = BUCKETS if p["pp"] == 1 else "1.08" if ends else "1.05"
        c.slower("reducing gradients later is not faster", c.other(overlap_grad="no"), slack)


def flops(r):
    """Of the model in a step, from what is printed."""
    return r["tflops_per_gpu"] * r["plan"]["gpus"] * r["step_time_us"]


def check_trades(c, rng):
    """What is given for what: time for memory, bytes for memory; and work that is said to take longer."""
    p = c.plan
    zero_bubble = SEARCH if c.zero_bubble() else "1.005"
    if p["recompute"] != "full":
        r = c.other(recompute="full")
        # computed again is not computed more: MFU counts it once
        c.hold("recomputation leaves the FLOPs of the model as they are", not r or abs(flops(r) / flops(c.base) - 1) < Decimal("1e-9"), r)
    if "offload-optimizer" not in p and p.get("optimizer", "adam") == "adam":
        r = c.other(offload_optimizer=1)
        # the host takes its time for the update, with copies there and back; what it keeps is not on the GPU, and with
        # ZeRO 2 gradients are added up there, where adapters make so few of them that this is more than the update: two sums of
        # the some 70 launches of a layer, which is their share of the step where the host sets its pace
        c.slower("an optimizer on the host is not faster", r, max(zero_bubble, "1.03" if "lora" in p else HEAT))
        c.memory("an optimizer on the host needs no more of the GPU", r, "less")
        if r:
            c.hold("an optimizer on the host needs memory there", r["memory_bytes"].get("host", 0) > 0, r)
    if "lora" in p:
        # more bytes in wider types; nothing is narrowed for free. (They may need less memory: beside fp32 adapters there is no
        # narrow copy, and what they keep of their inputs is made again with recomputation.)
        for wide in ("lora_fp32", "lora_autocast", "dropout"):
            c.slower(f"adapters with {wide} are not faster", c.other(**{wide: True}), max(zero_bubble, HEAT))
        c.memory("adapters with dropout need no less memory", c.other(dropout=True), "more")
    for kind in ("gemm", "attention"):
        # twice the time of some kernels is no less than before, and no more than twice the step
        c.step(f"{kind} twice as long: 1 to 2 of the step", c.other(scale=f"{kind}=2"), 1 / Decimal(zero_bubble), "2.0001")
    # SMs that transfers take are missing for what runs beside them
    free, taxed = c.other(comm_sm_tax=0), c.other(comm_sm_tax="0.4")
    if free and taxed and not c.zero_bubble():
        c.book.hold("compute beside transfers is not faster", free["step_time_us"] <= taxed["step_time_us"] * Decimal(HEAT), taxed, free)
    # a twentieth of pace between GPUs: all wait for the slowest
    if "gpu-spread" not in p and size(p) > 1:
        c.slower("GPUs of unequal pace are not faster", c.other(gpu_spread="0.05"), zero_bubble)
    # gradients of half the bytes are half of what is reduced
    if p["zero"] == 0 and p["dp"] > 1 and p.get("dtype") != "fp16" and not c.experts and "lora" not in p:
        wide, narrow = c.other(grad_dtype="fp32"), c.other(grad_dtype="bf16")
        if wide and narrow and shown_ranks(wide) == shown_ranks(narrow):
            a, b = (sum(v["bytes"] for v in r["volumes"] if v["group"] == "dp" and v["phase"] in ("backward", "update")) for r in (wide, narrow))
            c.book.hold("gradients in bf16 are half the bytes", abs(a - 2 * b) <= 16 * len(wide["volumes"]) * c.layers, narrow, wide, f"{a} and {b}")


def shown_ranks(r):
    """Which ranks the breakdown and the bytes are of: those that end last. Where experts are
    unequal, so are the bytes of the ranks of a stage."""
    return [(x["stage"], x["rank"]) for x in r["ranks"] if x["breakdown_us"] == r["breakdown_us"]]


def check_bytes(c, rng):
    """Activations on the wire: four bytes an element are twice two."""
    narrow, wide = c.other(dtype="bf16"), c.other(dtype="fp32")
    if narrow and wide and shown_ranks(narrow) == shown_ranks(wide):
        a, b = (sum(v["bytes"] for v in r["volumes"] if v["collective"] == "ALLGATHER" and v["group"].startswith("dp")) for r in (narrow, wide))
        if not ("fp8" in c.plan and c.plan.get("software") in GATHERED_FP8):
            c.book.hold("bytes of gathered weights double with fp32", abs(b - 2 * a) <= 8 * len(wide["volumes"]) * c.layers, wide, narrow, f"{a} and {b}")
        # (in fp8 tensor parallelism gathers what is cast already)
        for group in ("cp", "ep", "pp") if "fp8" in c.plan else ("tp", "cp", "ep", "pp"):
            # (gradients of weights that each rank has whole, which are added up at the end, have four bytes in both)
            a, b = (sum(v["bytes"] for v in r["volumes"] if v["group"] == group and v["phase"] != "update") for r in (narrow, wide))
            narrow_case = f"{group}: {a} bytes in bf16, {b} in fp32"
            # (so have those of keys and values in PyTorch's ring; chunks are whole bytes)
            less = a if group == "cp" and c.plan.get("software") in TORCH else a / 1000
            whole = 2 * narrow["comm"].get(group, {}).get("ops", 0)
            c.book.hold(f"bytes of {group} double with fp32", -max(a / 1000000, whole) <= 2 * a - b <= less, wide, narrow, narrow_case)


def check_engines(c, rng):
    """Nothing blocks in these fabrics: sharing links changes little (10 %), where flows choose paths that are free. Paths chosen by a
    hash (ecmp) meet on some links while others are idle: a job on several leaves may be as much slower as flows meet."""
    exposed = sum(c.base["breakdown_us"]["exposed_comm"].values()) / c.base["step_time_us"]
    least = Decimal("0.9") - RINGS * exposed
    # (A ring between nodes takes NICs of one rail at both ends. Of stages that end inside of nodes that is the NIC of another
    # stage's GPU in one of them, or a way between rails, which the analytic engine does not know of: both may use it at once,
    # and the rank that waits most for its transfers waits for them twice.)
    waits = max(sum(r["breakdown_us"]["exposed_comm"].values()) for r in c.base["ranks"]) / c.base["step_time_us"]
    most = Decimal("1.1") + (0 if c.even_stages() else waits)
    if size(c.plan) <= 512:
        c.step("flow is as analytic on a fabric that does not block", c.other(net="flow", route="adaptive"), least, most)
    # (Stages that end inside of nodes have rings that leave their rails, and meet on the way to the next rail where a hash sends them.)
    if size(c.plan) <= 64 and c.even_stages():
        c.step("one leaf: whatever the route", c.other(net="flow"), least, "1.1")
    # seconds each: a few. Packets of 4096 bytes carry headers, and sprayed ones meet nowhere.
    if size(c.plan) <= 16 and rng.random() < 0.05:
        c.step("packets are as analytic on a fabric that does not block", c.other(net="packet", route="spray"), least, most)


def check_same(c, rng):
    """What says the same gives the same: to the picosecond."""
    n = size(c.plan)
    c.step("scaling by 1 changes nothing", c.other(gpu_speedup=1), 1, 1)
    c.step("threads change nothing", c.other(jobs=3), 1, 1)
    hidden = 3 if c.plan["pp"] > 1 and c.plan["dp"] > 1 else 1
    leaves = hidden * LEAVES + HOP_US * c.messages() / c.base["step_time_us"]
    c.step("splitting a class changes nothing", c.other(slow=f"rank:{rng.randrange(n)}=1"), 1 - leaves, 1 + leaves)
    words = list(c.plan.items())
    rng.shuffle(words)
    c.step("the order of options changes nothing", c.book.run(c, dict(words)), 1, 1)
    with tempfile.TemporaryDirectory() as folder:
        nodes = [list(range(i, min(i + 8, n))) for i in range(0, n, 8)]
        order = nodes[:]
        if n % 8 == 0:
            rng.shuffle(order)  # whole nodes of one leaf
        if len(nodes) <= 20:
            path = temporary(folder, "ranks", "".join(f"{gpu}\n" for node in order for gpu in node))
            c.step("equal nodes can be exchanged", c.other(rank_file=path), 1, 1)


# options that many plans leave nothing to say about
IDLE = {"fp8-recipe": "mxfp8", "fp8-scaling": "dynamic", "fp8-dot-product-attention": True, "attention": "flash1", "use-torch-fsdp2": True,
        "use-megatron-fsdp": True, "bucket": "10MB", "overlap-grad": "no", "overlap-param": "yes", "reshard-after-forward": "no", "etp": 1,
        "moe-expert-capacity-factor": 2, "moe-kernels": "unfused", "moe-routing": "in-turn", "moe-token-dispatcher-type": "flex", "overlap-moe": "yes",
        "num-query-groups": 4, "kv-channels": 64, "moe-layer-freq": 2, "cp-comm-type": "all_gather", "overlap-tp": "no", "overlap-p2p": "yes",
        "recompute-modules": "layernorm", "recompute-layers": 2, "host-threads": 4, "overlap-offload": "yes", "uneven-stages": True,
        "window-attn-skip-freq": 2, "net-channels": 4, "comm-sm-tax": 0.3, "proto": "simple", "order": "dp-tp-cp-ep-pp"}
WORDS = ("command", "settings", "input", "events", "band", "shown")  # of a result: what was said, not what came of it


def check_words(c, rng):
    """What a note says has no effect has none, on any number."""
    for option in rng.sample(sorted(IDLE), 8):
        if option in c.plan:
            continue
        try:
            r = c.program.result(words_of({**c.plan, option: IDLE[option]}))
        except Refused:
            continue
        if noted(r, f"--{option} has no effect"):
            odd = [k for k in c.base if k not in WORDS and r.get(k) != c.base[k]]
            c.hold("what is said to have no effect has none", not odd, r, f"--{option}: {', '.join(odd)}")


def check_scale(c, rng):
    """On a free network, twice the data parallel ranks with twice the batch do the same; the slowest of
    more ranks is a little slower (jitter)."""
    n, p = size(c.plan), c.plan
    gpu = CLUSTERS[c.kind][2]
    alone = c.other(f"ideal:{n}", gpu=gpu)
    if p["zero"] == 0 and alone and not c.experts and "offload-optimizer" not in p:  # (up to eight ranks share a host's memory)
        r = c.other(f"ideal:{2 * n}", gpu=gpu, dp=2 * p["dp"], global_batch=2 * p["global-batch"])
        if r and p["dp"] > 1:
            ratio = r["step_time_us"] / alone["step_time_us"]
            c.book.hold("a free network: data parallel ranks hardly feel each other", 1 <= ratio <= Decimal("1.01"), r, alone, str(ratio))


def check_round_trip(c, rng):
    """A workload written and read again is the same step."""
    if size(c.plan) > 256:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "step.json")
        words = [w for w in words_of(c.plan) if w != "--ignore-memory"]
        convert = ["convert", *words, "--ignore-memory", "--lowered", "--to", "ir-json", "-o", path]
        again = ["run", path, "--cluster", c.plan["cluster"], "--json", "-"]
        try:
            c.program.output(convert)
            r = json.loads(c.program.output(again), parse_float=Decimal)
        except Refused as error:
            c.book.note("written and read again", f"{error}\n    {shown(convert)} && {shown(again)}")
            return
    r["shown"] = f"{shown(convert)} && {shown(again)}"
    c.step("written and read again", r, 1, 1)
    bytes_of = [{g: v["bytes"] for g, v in x["comm"].items() if v["bytes"]} for x in (c.base, r)]
    c.hold("written and read again: the same bytes", bytes_of[0] == bytes_of[1], r, str(bytes_of))


def check_commands(c, rng):
    """plans and validate forecast what run does."""
    if "model" not in c.plan or rng.random() > 0.1:
        return
    words = ["plans", "--model", c.plan["model"], "--cluster", f"{c.kind}:16", "--global-batch", "32", "--seq", c.plan["seq"], "--top", "3", "--json", "-"]
    try:
        found = json.loads(c.program.output(words), parse_float=Decimal)["plans"]
    except Refused:
        return  # nothing fits
    for p in found:
        r = c.program.result(shlex.split(p["command"])[2:])
        b = r["breakdown_us"]
        for key, part in (("bubble_share", b["bubble"]), ("exposed_share", sum(b["exposed_comm"].values()))):
            off = abs(p[key] - part / r["step_time_us"])
            c.book.hold(f"plans and run: the same {key}", off < Decimal("1e-9"), r, {"shown": shown(words)}, f"{p[key]}")
        for key, value in (("step_time_us", r["step_time_us"]), ("mfu", r["mfu"]), ("memory_bytes", r["memory_bytes"]["total"])):
            room = 8 if key == "memory_bytes" else 0  # parts of a byte, of each part
            c.book.hold(f"plans and run: the same {key}", abs(p[key] - value) <= room, r, {"shown": shown(words)}, f"{p[key]} and {value}")
    check_validate(c)


def check_launch(c, rng):
    """A launch file that is written gives the same step; what it cannot say is refused."""
    if "model" not in c.plan:
        return
    given = rng.choice([["--grad-dtype", "bf16"], ["--dropout"], ["--lora", "8"], ["--cross-entropy", "fp32"], ["--bucket", "64M"], []])
    cluster = ["--cluster", f"{c.kind}:16"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, rng.choice(["launch.sh", "launch.yaml"]))
        words = ["plans", "--model", c.plan["model"], *cluster, "--global-batch", "32", "--seq", c.plan["seq"], *given, "--write-launch", path, "--json", "-"]
        try:
            best = json.loads(c.program.output(words), parse_float=Decimal)["plans"][0]
        except Refused:
            return  # nothing fits, or it cannot be said
        r = c.program.result(["--megatron-args", path, *cluster])
        c.book.hold("a launch file gives the same step", best["step_time_us"] == r["step_time_us"], r, {"shown": shown(words)}, f"{best['step_time_us']}")


def check_validate(c):
    p = c.plan
    if p["cp"] > 1:
        return
    with open("data/truth/training_steps.csv") as table:
        row = dict.fromkeys(next(csv.reader(table)), "")
    row.update({"id": "x", "source": "a random plan", "model": "GPT", "layers": c.layers, "hidden": 2048, "heads": 16, "kv_heads": 16, "ffn": 8192,
                "vocab": 51200, "gpu": "H100-SXM-80GB", "gpus": size(p), "gpus_per_node": 8, "intra_gbs_uni": 450, "nic_gbps_per_gpu": 400,
                "tp": p["tp"], "pp": p["pp"], "dp": p["dp"], "cp": 1, "micro_batch": p["micro-batch"], "global_batch": p["global-batch"],
                "seq": p["seq"], "precision": "bf16", "recompute": p["recompute"], "iter_seconds": 1, "zero_distopt": "no",
                "sequence_parallel": "yes" if "sequence-parallel" in p else "no"})
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "truth.csv")
        with open(path, "w", newline="") as out:
            writer = csv.DictWriter(out, row)
            writer.writeheader()
            writer.writerow(row)
        rows = json.loads(c.program.output(["validate", path, "--json", "-"]), parse_float=Decimal)["rows"]
    for found in rows:
        if found.get("predicted_s"):
            r = c.program.result(shlex.split(found["command"])[2:])
            off = abs(r["step_time_us"] / 1000000 / found["predicted_s"] - 1)
            c.book.hold("validate and run: the same step", off < Decimal("1e-6"), r, why=f"{found['predicted_s']} s predicted")


class Binding:
    """The library in this process, under a locale that writes 1,5."""

    def __init__(self, build):
        os.environ["STEPCAST_LIBRARY"] = os.path.abspath(os.path.join(build, "libstepcast.so"))
        sys.path.insert(0, os.path.join(build, "python"))
        import stepcast
        self.stepcast = stepcast
        self.folder = tempfile.mkdtemp()
        source = temporary(self.folder, "comma.src", 'LC_NUMERIC\ndecimal_point ","\nthousands_sep ""\ngrouping -1\nEND LC_NUMERIC\n')
        subprocess.run(["localedef", "-c", "-i", source, os.path.join(self.folder, "xx_XX")], capture_output=True)
        os.environ["LOCPATH"] = self.folder

    def check(self, c, rng):
        """The library from Python, in any locale: the program's numbers."""
        names = {"num-layers", "hidden-size", "num-attention-heads", "vocab-size", "ffn-hidden-size", "swiglu", "normalization"}
        p = {k: v for k, v in c.plan.items() if k not in ("cluster", "model")}
        shapes = {k.replace("-", "_"): p.pop(k) for k in names & set(p)}
        numbers = {k: float(p.pop(k)) for k in ("gpu-spread", "offload-optimizer") if k in p}
        if p.pop("fp8", None):
            p["gemm-dtype"] = "fp8"
        named = {"cp-comm-type": "cp_comm", "optimizer": "optimizer_kind"}
        keywords = {named.get(k, k.replace("-", "_")): False if v == "no" else v for k, v in {**p, **numbers}.items()}
        try:
            locale.setlocale(locale.LC_NUMERIC, "xx_XX")
        except locale.Error:
            pass
        try:
            model = self.stepcast.Model.from_shapes(**shapes) if shapes else self.stepcast.Model(c.plan["model"])
            r = self.stepcast.evaluate(model, self.stepcast.Plan(**keywords), c.plan["cluster"])
            document = json.loads(r.to_bytes(), parse_float=Decimal)
        finally:
            locale.setlocale(locale.LC_NUMERIC, "C")
        for key in ("step_time_us", "breakdown_us", "comm", "mfu", "tokens_per_s", "memory_bytes", "energy_j"):
            c.hold("Python, under a decimal comma, gives what run gives", document[key] == c.base[key], why=f"{key}: {document[key]} and {c.base[key]}")

    def close(self):
        shutil.rmtree(self.folder)


def main():
    build, seed, plans = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    program = Program(os.environ.get("STEPCAST") or os.path.abspath(os.path.join(build, "stepcast")))
    book = Book(program)
    checks = {"machine": check_machine, "work": check_work, "plan": check_plan, "trades": check_trades, "bytes": check_bytes, "engines": check_engines,
              "same": check_same, "words": check_words, "scale": check_scale, "round-trip": check_round_trip, "commands": check_commands, "launch": check_launch}
    binding = None
    # a sanitizer's library ends a process that it did not start
    if "san" in os.path.basename(os.path.normpath(build)):
        print("skip relations: Python [needs no-sanitizer]")
    else:
        binding = Binding(build)
        checks["python"] = binding.check
    wanted = sys.argv[4:] or list(checks)
    rng = random.Random(seed)
    for _ in range(plans):
        case = Case(program, book, *random_plan(rng))
        own = random.Random(rng.random())  # so that choosing relations does not change the plans
        if case.base:
            for name in wanted:
                checks[name](case, own)
    if binding:
        binding.close()
    book.show()
    broken = sum(map(len, book.broken.values()))
    print(f"# {plans} plans, seed {seed}: {program.runs} runs, {sum(book.tried.values())} relations tried, {broken} broken")
    sys.exit(bool(broken))


main()
