#!/usr/bin/env python3
"""Random plans (fixed seed) and what must hold for every one of them.

    properties.py STEPCAST SEED PLANS

Sums add up exactly, shares are shares, and a plan that differs in one respect
is faster, slower, larger or smaller as it must be. Prints ok/not ok for each
property; the first command that breaks one is shown.

Some slack is physics, not error:
  heat      less waiting keeps a GPU at its power limit, and its clock lower: a
            faster network may make the rest of the step slower by a little
  sharing   where a network is the bottleneck, the order in which equal
            transfers share it decides the last small part of a step
  nvls      a group that comes to fill its nodes gets NVLink SHARP, which half
            of it does not: its collectives may be a third faster
  zb        weight gradients that wait keep what recomputation would drop, and
            take the place of bubbles: less can be said about both
  buckets   several reductions cost more latency and SMs than one; where there
            is nothing to hide behind, overlap costs that
"""
import json
import random
import subprocess
import sys
from decimal import Decimal

HEAT, SHARING, NVLS, BUCKETS = Decimal("1.01"), Decimal("1.005"), Decimal("0.35"), Decimal("1.02")
LAYERS = {"gpt3-1.3b": 24, "gpt3-6.7b": 32, "llama2-7b": 32, "llama2-13b": 40, "llama3-70b": 80, "mixtral-8x7b": 32,
          "qwen3-30b-a3b": 48, "deepseek-v2-lite": 27, "mistral-7b": 32}
EXPERTS = {"mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v2-lite"}
CLUSTERS = {"dgx-h100": (400, 450, 700, "h100-sxm"), "dgx-a100": (200, 300, 400, "a100-80"),
            "hgx-h200": (400, 450, 700, "h200")}  # NIC Gbit/s, NVLink GB/s, W, GPU
broken, held = {}, set()


def run(plan):
    words = [sys.argv[1], "run", "--ignore-memory", "--json", "-"]
    for key, value in plan.items():
        words += ["--" + key] if value is True else ["--" + key, str(value)]
    done = subprocess.run(words, capture_output=True, text=True)
    command = " ".join(words[1:])
    if done.returncode:
        broken.setdefault("every plan runs", f"{done.returncode} {done.stderr.strip()}: {command}")
        return None
    held.add("every plan runs")
    result = json.loads(done.stdout, parse_float=Decimal)
    result["shown"] = command
    check_sums(result, plan)
    return result


def hold(name, true, result, other=None):
    held.add(name)
    if not true: broken.setdefault(name, result["shown"] + (f"\n    beside {other['shown']}" if other else ""))


def parts(b):
    return [b["compute"], b["recompute"], *b["exposed_comm"].values(), b["bubble"], b["skew"], b["other"]]


def check_sums(r, plan):
    step, gpus, second = r["step_time_us"], r["plan"]["gpus"], Decimal(1000000)
    for b in [r["breakdown_us"]] + [c["breakdown_us"] for c in r["ranks"]]:
        hold("parts add up to the step", sum(parts(b)) == step, r)
        hold("no part is negative", min(parts(b)) >= 0, r)
    hold("ranks of all classes are the GPUs", sum(c["ranks"] for c in r["ranks"]) == gpus, r)
    hold("no rank ends after the step", all(c["end_us"] <= step for c in r["ranks"]), r)
    for group, c in r["comm"].items():
        hold("exposed is at most busy", c["exposed_us"] <= c["busy_us"] + Decimal("0.001"), r)
        hold("exposed is that of the breakdown", c["exposed_us"] == r["breakdown_us"]["exposed_comm"][group], r)
    m = r["memory_bytes"]
    hold("memory adds up", m["total"] == sum(v for k, v in m.items() if k not in ("total", "capacity")), r)
    tokens = Decimal(plan["global-batch"] * plan["seq"]) / (step / second)
    hold("tokens per second", abs(r["tokens_per_s"] / tokens - 1) < Decimal("1e-9"), r)
    hold("MFU and HFU are shares", 0 < r["mfu"] <= r["hfu"] * Decimal("1.000001") <= Decimal("1.000001"), r)
    watts = CLUSTERS.get(plan["cluster"].split(":")[0], (0, 0, 700))[2]
    hold("no GPU takes more than its power", 0 < r["energy_j"] <= gpus * watts * step / second * Decimal("1.000001"), r)


def random_plan(rng):
    model = rng.choice(sorted(LAYERS))
    tp = rng.choice([1, 1, 2, 4])
    pp = rng.choice([p for p in (1, 1, 2, 4, 8) if LAYERS[model] % p == 0])
    plan = {"model": model, "tp": tp, "pp": pp, "cp": rng.choice([1, 1, 1, 2]), "dp": rng.choice([1, 2, 4, 8, 16]),
            "seq": rng.choice([1024, 2048, 4096]), "micro-batch": rng.choice([1, 1, 2]), "zero": rng.choice([0, 0, 1, 2, 3]),
            "recompute": rng.choice(["none", "none", "selective", "full"])}
    plan["global-batch"] = plan["dp"] * plan["micro-batch"] * max(rng.choice([1, 2, 4, 8, 16]), pp if pp > 1 else 1)
    if tp > 1 and rng.random() < 0.5: plan["sequence-parallel"] = True
    if pp > 1 and rng.random() < 0.4:
        plan["schedule"] = rng.choice(["gpipe", "zb-h1", "zb-2p"] + (["zb-v"] if LAYERS[model] % (2 * pp) == 0 else []))
    if model in EXPERTS:
        plan["etp"] = 1
        plan["ep"] = rng.choice([e for e in (1, 2, 4, 8) if plan["dp"] * tp * plan["cp"] % e == 0])
    return plan, rng.choice(sorted(CLUSTERS))


def zero_bubble(plan): return plan.get("schedule", "").startswith("zb")


def size(plan): return plan["tp"] * plan["pp"] * plan["cp"] * plan["dp"]


class Case:
    def __init__(self, plan, kind):
        self.kind, self.plan = kind, {**plan, "cluster": f"{kind}:{size(plan)}"}
        self.base = run(self.plan)

    def other(self, cluster=None, **changes):
        plan = {**self.plan, **{k.replace("_", "-"): v for k, v in changes.items()}}
        plan["cluster"] = cluster or f"{self.kind}:{size(plan)}"
        return run(plan)

    def slower(self, name, r, slack=SHARING):
        if r: hold(name, self.base["step_time_us"] <= r["step_time_us"] * slack, r, self.base)

    def faster(self, name, r, slack=SHARING):
        if r: hold(name, r["step_time_us"] <= self.base["step_time_us"] * slack, r, self.base)

    def larger(self, name, r):
        if r: hold(name, self.base["memory_bytes"]["total"] <= r["memory_bytes"]["total"], r, self.base)

    def smaller(self, name, r):
        if r: hold(name, r["memory_bytes"]["total"] <= self.base["memory_bytes"]["total"], r, self.base)


def check_machine(c):
    nic, nvlink, _, gpu = CLUSTERS[c.kind]
    n = size(c.plan)
    c.faster("faster NICs are not slower", c.other(f"{c.kind}:{n} nic={2 * nic}Gbps"), HEAT)
    c.faster("faster NVLink is not slower", c.other(f"{c.kind}:{n} nvlink={2 * nvlink}GB/s"), HEAT)
    c.faster("a free network is not slower", c.other(f"ideal:{n}", gpu=gpu), HEAT)
    c.faster("a faster GPU is not slower", c.other(gpu_speedup=2))
    c.slower("a slow rank is not faster", c.other(slow="rank:0=1.5"))


def check_work(c):
    p = c.plan
    for name, r in (("longer sequences", c.other(seq=2 * p["seq"])), ("more layers", c.other(num_layers=2 * LAYERS[p["model"]])),
                    ("a larger vocabulary", c.other(vocab_size=300000))):
        c.slower(name + ": slower", r)
        c.larger(name + ": more memory", r)
    if p["recompute"] == "none":
        for kind in ("selective", "full"):
            r = c.other(recompute=kind)
            c.slower(f"recompute {kind} is slower", r)
            if not zero_bubble(p): c.smaller(f"recompute {kind} needs no more memory", r)
    if p.get("ep", 1) > 1:
        r = c.other(moe_imbalance=1.5)
        c.slower("uneven experts are slower", r)
        c.larger("uneven experts need memory", r)


def check_plan(c):
    p = c.plan
    if p["zero"] == 0:  # else more ranks share the optimizer
        busy = sum(v["busy_us"] for k, v in c.base["comm"].items() if k.startswith("dp"))
        c.slower("more data parallel ranks are not faster than linear",
                 c.other(dp=2 * p["dp"], global_batch=2 * p["global-batch"]), SHARING + NVLS * busy / c.base["step_time_us"])
    if p["zero"] < 3: c.smaller("more ZeRO needs no more memory", c.other(zero=p["zero"] + 1))
    c.smaller("more tensor parallel needs less memory", c.other(tp=2 * p["tp"]))
    if p["pp"] > 1 and not zero_bubble(p):
        r = c.other(global_batch=2 * p["global-batch"])
        if r:
            share = [x["breakdown_us"]["bubble"] / x["step_time_us"] for x in (r, c.base)]
            hold("more micro-batches have less bubble", share[0] <= share[1], r, c.base)
            hold("more micro-batches give more tokens", c.base["tokens_per_s"] <= r["tokens_per_s"], r, c.base)
    if p["zero"] == 1: c.faster("gathering weights beside forward is not slower", c.other(overlap_param="yes"))
    if p["tp"] > 1: c.slower("blocking tensor parallel is not faster", c.other(overlap_tp="no"))
    # Experts' exchanges and reductions meet on the NICs: there, stage after stage, overlap may cost more than it hides.
    if p["zero"] < 2 and p["model"] not in EXPERTS: c.slower("reducing gradients later is not faster", c.other(overlap_grad="no"), BUCKETS)


def main():
    rng = random.Random(int(sys.argv[2]))
    for _ in range(int(sys.argv[3])):
        case = Case(*random_plan(rng))
        if not case.base: continue
        for check in (check_machine, check_work, check_plan): check(case)
    for name in sorted(held | set(broken)):
        print(f"not ok {name}: {broken[name]}" if name in broken else f"ok {name}")


main()
