#!/usr/bin/env python3
"""Fits the constants of the collective model to tables of measurements.

    tools/fit_collectives.py [--left-out] [--write data/collectives.json] TABLE.csv ...

Tables have the columns of docs/model/collectives-accuracy.md; how a source ran is
read from "systems" in data/collectives.json. Prints what it found and the median errors;
--left-out fits again without each NCCL version (one node) and each source (several nodes) and
prints the errors there; --write puts the constants into the file. Needs numpy and scipy.

The equations are those of lib/collective/algorithm_time.c; `stepcast coll --validate` with
the constants written must give the same errors.
"""
import argparse
import csv
import json
import math
import re

import numpy as np
from scipy.optimize import least_squares

KIB = 1024.0
MIB = KIB * KIB
OPERATIONS = {"all_reduce": 0, "all_gather": 1, "reduce_scatter": 2, "alltoall": 3}
MESH_RINGS = [0, 0, 1, 2, 3.8, 1.65, 2, 3.9, 6]
NEVER = 1e9

# Where the search begins. Rates are shares of NVLink, copies GB/s, times us. What a generation's start, LL128's and an
# all-to-all's, have in common is base0; more1 and pair_more are what the others take besides.
INSIDE = {
    "base0": 8, "more1": 1.5, "base2": 20, "step0": 0.9, "step1": 1.1, "step2": 4, "overlap1": 1.5, "overlap2": 1.3,
    "nvlink": 0.8, "copy": 400, "own": 1000, "own_gather": 1000, "own_scatter": 1000, "share1": 0.6, "drift": 2,
    "pair_more": 1.5, "pair_peer": 0.2, "pair_ll": 6, "pair_simple": 5, "pair_share": 0.82,
    "pair_copy": 1500, "pair_mix": 0.5,
}
NVLS = {"nvls_rate": 400, "nvls_cost": 4.3, "nvls_base": 8, "nvls_line": 0.65, "nvls_fill": 2.2}
BY_GENERATION = {
    "hopper": {"base0": 4.5, "base2": 14, "step0": 0.8, "step1": 0.9, "step2": 2,
               "nvlink": 0.815, "copy": 385, "share1": 0.8, "nvls_rate": 332, "nvls_base": 4, "nvls_line": 0.685},
    "blackwell": {"base0": 7, "step0": 1.3, "step1": 1.4, "step2": 3, "nvlink": 0.76, "copy": 720, "own": 1378,
                  "own_gather": 1378, "own_scatter": 1378, "nvls_rate": 557, "nvls_base": 20, "nvls_line": 0.605},
    "ampere": {},  # as the two above, see like_others
    "volta": {"base1": 14, "pair_base": 9, "nvlink": 0.9, "own": 300, "copy": 150, "share1": 0.69, "step1": 1.3},
}
# Of these all-reduces were measured, and little of what starts them: no start is taken from another.
REDUCE_ONLY = ("volta", "rccl")
# One library on links of two rates: what it starts with is shared, the rates are each generation's own. Kernels of
# small messages read all peers at once and have no steps to speak of. A copy is not told from a rate. AMD gives 48 of
# the 64 GB/s of a link as usable.
RCCL = ("cdna3", "cdna4")
RCCL_START = {"base0": 13, "base1": 14, "step0": 0.2, "step1": 0.3, "step2": 1, "own": 1500, "copy": 500,
              "share1": 0.4, "overlap1": 1, "pair_base": 9, "pair_simple": 4, "pair_share": 0.6, "pair_ll": 10,
              "mesh_link": 48, "nvlink": 0.75}
RCCL_BY_GENERATION = ("nvlink", "drift")
# The threads of RCCL fill the links, at the clock of their GPU: those of the MI350X (2.2 GHz) fill 11/12 of what those of
# the MI355X (2.4 GHz) do.
SLOWER = {"cdna4-air": "cdna4"}
CLOCK = {"mi350x": 2200 / 2400}
RCCL_UNDECIDED = {"step0", "step1", "overlap1", "own", "copy", "pair_copy", "pair_ll"}
# What the others say counts more where few rows of its own do: ampere's are one sweep and logs of all-reduces.
PORT = {"ampere": 300.0, "hopper": 450.0, "blackwell": 900.0}
LIKE_OTHERS = {"ampere": ("hopper", "blackwell")}
BY_PORT = ("copy", "own", "own_gather", "own_scatter", "pair_copy")
NVLS_CHANNELS = {"hopper": (16, 16, 131072.0), "blackwell": (24, 32, 524288.0)}
# us of the threads of a Simple ring that leaves the node, a step; of the first fit, Blackwell's from AWS's table of sizes for
# p6-b200 (aws-ofi-nccl gathers with LL128 up to 435 MiB on 32 GPUs, 831 on 64, 7.75 GiB on 512: 4.3 to 4.8)
SYNC = {"volta": 4.68, "ampere": 7.8, "hopper": 4.99, "blackwell": 4.6, "cdna3": 7.8, "cdna4": 7.8}
LL_SHARE = 0.05
# us^0.5: A100 whose eight GPUs one process drives take a quarter longer from 4 to 64 MiB; each is at most a step of 512 KiB on
# every channel ahead of the next. Set from Azure's, Echo's, stas00's and one more log beside the sweep and vTrain's, which have a process a GPU.
SHARED_DRIFT = {"ampere": 4.0}
CHANNELS_IN_NODE = 24
NODE_OF_MESH = 8
CHANNELS, CHANNEL_RATE = 32, 21.0
# GB/s of a channel of others, from messages (sendrecv_perf of eight A100)
CHANNEL_RATES = {"ampere": 13.9}
# NCCL gives a part of an all-to-all that goes by Simple one channel for each 64 KiB; RCCL's and Volta's are not looked at.
BY_CHANNELS = ("ampere", "hopper", "blackwell")
# GB/s of LL on a channel where all-to-alls go by LL: a 32nd of what NCCL's table has for all channels (llMaxBws)
LL_CHANNEL = {"ampere": 2.74}
LAUNCH = {"cdna3": 4.2, "cdna4": 4.2}

BETWEEN = {
    "base0": 9.4, "base1": 16, "base2": 20, "ring0": 4, "ring1": 6, "ring2": 14,
    "tree0": 5, "tree1": 8.1, "tree2": 16, "hop_inside0": 1, "hop_inside1": 1, "hop_inside2": 4,
    "share0": 0.07, "share1": 0.92, "mix": 1.27,
    "nvls_base": 15, "nvls_hop": 15, "nvls_share": 0.94, "nvls_wire": 0.9, "nvls_fill": 2.5,
    "wire_tcpxo": 0.9, "wire_efa-p4d": 0.9, "hop_roce": 3, "hop_efa": 21, "hop_tcpxo": 45,
    "hop_efa-p4d": 64,
}
AT_MOST = {"share0": 1, "share1": 0.9375, "nvls_share": 1, "nvls_wire": 1, "base2": 35,
           "wire_tcpxo": 0.985, "wire_efa-p4d": 0.985}
WIRE = {"ib": 0.955, "roce": 0.95, "efa": 0.93, "ainic": 0.95}
# RCCL's own table for gfx942 and gfx950 (src/graph/tuning.cc): starts 12, 12 and 17 us, hops of trees over xGMI and
# the network, rings over it. Its network hops have what RoCE takes more than InfiniBand in them.
RCCL_TREE_HOP = (0.9, 0.9, 2.3)
RCCL_BETWEEN = {
    "base0": 12, "base1": 12, "base2": 17, "ring0": 6.5, "ring1": 6.5, "ring2": 15, "tree0": 7.5, "tree1": 7.5,
    "tree2": 22, "share0": 0.066, "share1": 0.9, "mix": 1.3, "proxy": 2.6, "sync": 7.8, "hop_roce": 2.97,
    "hop_ainic": 2.97,
}
# aws-ofi-nccl: a receiver asks for what it gets, so that a trip round the ring is not hidden; by AWS's own table of sizes
RING_EXPOSED = ("efa", "efa-p4d")
# us a hop takes by what aws-ofi-nccl tells NCCL (p4d, p5)
TOLD_LATENCY = {"efa": 75, "efa-p4d": 75}
PROXY, TREE_WIRE, TREE_SIMPLE = 2.6, (0.45, 0.92, 1.0), 0.92
# us of the proxy in a step of LL where hosts have Intel's processors, as DGX H100 and B200, or Arm's: NCCL's own figure
# (getNetOverhead, src/graph/tuning.cc; 2 on AMD's, as in DGX A100)
PROXY_LL = {"hopper": 1.0, "blackwell": 1.0}


# Gb/s a GPU has of the NICs of its maker's machines
USUAL_NIC = {"v100": 50, "a100": 200, "mi250x": 100, "b300": 800, "gb300": 800}


# --- rows --------------------------------------------------------------------

def generation_of(data, gpu):
    """The generation whose longest name begins the GPU's, as the program finds it."""
    found, longest = None, ""
    for name, generation in data["generations"].items():
        for key in generation["gpus"]:
            if gpu.startswith(key) and len(key) > len(longest):
                found, longest = name, key
    return found, longest


def conditions(data, source, told):
    """How a source ran: what the first system says that knows it."""
    run = {}
    for system in data["systems"]:
        begins = "source" in system and source.startswith(system["source"])
        if begins or ("word" in system and system["word"] in told):
            for key, value in system.items():
                if key != "word":
                    run.setdefault(key, value)
    per = re.search(r"-g (\d+)", told)
    run.setdefault("gpus_per_process", int(per.group(1)) if per else 1)
    return run


def forced_algorithm(cell):
    text = cell.lower()
    if "default" in text or "best" in text:
        return ""
    name = re.split(r"[ (,/]", text)[0]
    return name if name == text or "forced" in text or " off)" in text else ""


def read_row(data, cells):
    wanted = ("gpus", "size_bytes", "time_us")
    if cells["op"] not in OPERATIONS or not all(cells[key] for key in wanted):
        return None
    gpu = cells["gpu"].lower().split(" ")[0]
    generation, name = generation_of(data, gpu)
    if not generation or generation == "unknown":
        return None
    told = (cells["source"] + " " + cells.get("notes", "")).lower()
    run = conditions(data, cells["source"], told)
    generation = SLOWER.get(generation, generation)
    ranks, node = int(cells["gpus"]), int(cells["gpus_per_node"] or 8)
    nodes = run.get("nodes") or -(-ranks // node)
    here = -(-ranks // nodes)
    nic = float(cells["nic_gbps_per_gpu"] or USUAL_NIC.get(name, 400)) / 8
    return {
        "source": run.get("source", cells["source"]), "generation": generation,
        "class": run.get("class", "ib"), "n": ranks, "N": nodes, "p": here,
        "op": OPERATIONS[cells["op"]], "S": float(cells["size_bytes"]), "t": float(cells["time_us"]),
        "g": run["gpus_per_process"] or min(ranks, 8), "eager": bool(run.get("eager")),
        "no_ll128": bool(run.get("no_ll128")), "ll_channel": run.get("p2p_ll_channel") or LL_CHANNEL.get(generation, 0),
        "port": float(cells["intra_gbs_uni"] or data["generations"][generation]["gpus"][name]) * CLOCK.get(name, 1),
        "wire": nic * min(here, node), "forced": forced_algorithm(cells["algo"]),
    }


def read_tables(data, paths):
    rows = []
    for path in paths:
        with open(path, newline="") as table:
            rows += [row for row in (read_row(data, cells) for cells in csv.DictReader(table)) if row]
    mark_launched(rows)
    return rows


def mark_launched(rows):
    """Rows whose time may be that of a host which launches one GPU after the other: those near the least a source has."""
    least = {}
    for row in rows:
        least[row["source"]] = min(least.get(row["source"], NEVER), row["t"] / row["g"])
    for row in rows:
        row["launched"] = row["g"] > 1 and row["t"] < 1.25 * least[row["source"]] * row["g"]


class Columns:
    """Rows as arrays: r.S, r.n …"""

    def __init__(self, rows):
        for key in ("n", "N", "p", "op", "S", "t", "g", "eager", "no_ll128", "ll_channel", "launched", "port",
                    "wire"):
            setattr(self, key, np.array([row[key] for row in rows], float))
        self.forced = np.array([row["forced"] for row in rows])
        self.classes = [row["class"] for row in rows]
        self.generations = [row["generation"] for row in rows]
        volta = [row["generation"] == "volta" for row in rows]
        rings = [MESH_RINGS[min(8, row["n"])] if v else 6.0 for row, v in zip(rows, volta)]
        self.mesh = np.array(rings)
        full_mesh = np.array([row["generation"] in RCCL for row in rows], bool)
        self.part = full_mesh & (self.p > 1) & (self.p < NODE_OF_MESH)
        self.port = np.where(self.part, self.port * (self.p - 1) / (NODE_OF_MESH - 1), self.port)


# --- one node ------------------------------------------------------------------

def nvls_rounds(size, ops, most, rules, time_of_round, fill, hop=0):
    """Rounds of chunks; from half a size on at which the chunk grows the time runs straight to it."""
    def chunk(size):
        c = np.broadcast_to(most, size.shape).copy()
        for rounds, largest in rules:
            c = np.where(size < rounds * ops * c, np.minimum(c, largest), c)
        return c

    def at(size):
        loop = np.minimum(ops * chunk(size), size)
        return (size / loop + fill) * time_of_round(loop) + fill * hop

    edge, c = np.zeros(size.shape), np.broadcast_to(most, size.shape).copy()
    for rounds, largest in rules:
        above = rounds * ops * c
        edge = np.where((above > size) & (largest < c), above, edge)
        c = np.minimum(c, largest)
    grows = (edge > 0) & (2 * size > edge)
    above = at(np.maximum(edge, 1))
    below = np.minimum(above, at(np.maximum(edge, 2) / 2))
    straight = below + (above - below) * (2 * size / np.maximum(edge, 1) - 1)
    return np.where(grows, straight, at(size))


def nvls_round(k, r, spread):
    line = k["nvls_line"] * r.port * np.minimum(1, 8 / r.p) ** spread
    moved = 1 + 1 / r.p
    return lambda loop: np.maximum(loop * moved / 1e3 / k["nvls_rate"] + k["nvls_cost"],
                                   loop * moved / 1e3 / line)


def launch_peer(generation):
    return 0 if generation in RCCL else 0.5


def base1(k):
    return k["base1"] if "base1" in k else k["base0"] + k["more1"]


def pair_base(k):
    return k["pair_base"] if "pair_base" in k else k["base0"] + k["pair_more"]


def overlapped(latency, bytes_us, overlap):
    return (latency**overlap + bytes_us**overlap) ** (1 / overlap)


def ring_rate(nvlink, mesh_link, r):
    """Of NVLink; of a part of a full mesh no more than RCCL's rings get out of its links."""
    rate = nvlink * r.port
    return np.where(r.part, np.minimum(rate, (r.p - 1) * mesh_link), rate)


def inside_us(k, r, generation, spread):
    """A collective in one node."""
    reduce = r.op == 0
    steps = np.where(reduce, 2, 1) * (r.n - 1)
    volume = r.S * steps / r.n
    rings = r.mesh / 6
    rate = ring_rate(k["nvlink"], k.get("mesh_link", 0), r) * rings
    own_rates = [k["own"], k.get("own_gather", k["own"]), k.get("own_scatter", k["own"]), 1]
    own = r.S / r.n / 1e3 / (np.choose(r.op.astype(int), own_rates) * rings)
    low = k["base0"] + steps * k["step0"] + volume / 1e3 / (LL_SHARE * rate) + own
    ll128 = base1(k) + overlapped(steps * k["step1"], volume / 1e3 / (k["share1"] * rate) + own, k["overlap1"])
    ll128 = np.where(r.no_ll128 > 0, NEVER, ll128)
    bytes_us = np.maximum(volume / 1e3 / rate, volume / 1e3 / (k["copy"] * rings) + own)
    simple = k["base2"] + overlapped(steps * k["step2"], bytes_us, k["overlap2"]) + k["drift"] * np.sqrt(bytes_us)
    drifted = np.minimum(bytes_us, (r.n - 1) * CHANNELS_IN_NODE * 512 * KIB / 1e3 / rate)
    shared = reduce & (r.g > 1)
    simple = simple + np.where(shared, SHARED_DRIFT.get(generation, 0) * np.sqrt(drifted), 0)
    us = np.minimum(np.minimum(low, ll128), simple)
    if generation in NVLS_CHANNELS:
        channels, _, most = NVLS_CHANNELS[generation]
        rules = ((64, 64 * KIB), (8, 32 * KIB), (2, 16 * KIB))
        nvls = k["nvls_base"] + nvls_rounds(np.maximum(r.S, 32 * KIB), channels * r.p, most, rules,
                                            nvls_round(k, r, spread), k["nvls_fill"])
        us = np.where(reduce & (r.n > 2) & (r.forced != "ring"), np.minimum(us, nvls), us)
        us = np.where(r.forced == "nvls", nvls, us)
    start = pair_base(k) + k["pair_peer"] * (r.n - 1)
    part, volume = r.S / r.n, r.S * (r.n - 1) / r.n
    few = volume / 1e3 / (k["pair_share"] * r.port) + part / 1e3 / k["pair_copy"]
    x = all_channels(few, part, volume, k["pair_share"] * r.port, r.n, generation)
    later = start + k["pair_simple"]
    ramp = x + k["pair_mix"] * np.sqrt(later * x)
    simple = later + (np.maximum(one_channel(part, generation), ramp) if generation in BY_CHANNELS else ramp)
    pairs = np.minimum(start + part / 1e3 / k["pair_ll"], simple)
    pairs = np.where(r.ll_channel > 0, ll_pairs(k, r, start, simple), pairs)
    us = np.where(r.op == 3, pairs, us)
    return np.maximum(us, (LAUNCH.get(generation, 5.0) + np.where(r.op == 3, launch_peer(generation) * r.n, 0)) * r.g)


def ll_pairs(k, r, start, simple):
    """Where NCCL sends pairs by LL: up to 16 KiB for each channel there is, on those of the peer, one for each 8 KiB."""
    part = np.minimum(r.S / r.n, 16 * KIB * CHANNELS)
    each = CHANNELS / 2 ** np.ceil(np.log2(r.n))
    channel = np.maximum(np.minimum(part, 8 * KIB), part / each) / 1e3 / np.where(r.ll_channel > 0, r.ll_channel, 1)
    wire = 2 * part * (r.n - 1) / 1e3 / (k["pair_share"] * r.port)
    ll = start + np.maximum(channel, wire)
    return np.where(r.S / r.n > part, np.maximum(simple, ll), ll)


def one_channel(part, generation):
    """us of a part, or of its first 64 KiB, on one channel: into the buffer, then out of it."""
    return 2 * np.minimum(part, 64 * KIB) / 1e3 / CHANNEL_RATES.get(generation, CHANNEL_RATE)


def all_channels(few, part, volume, rate, ranks, generation):
    """An all-to-all whose parts are so large that NCCL gives them all channels of a GPU (16 MiB a channel)."""
    filled = 16 * MIB * CHANNELS / 2 ** np.ceil(np.log2(ranks))
    full = volume / 1e3 / np.minimum(rate, CHANNELS * CHANNEL_RATES.get(generation, CHANNEL_RATE))
    return np.where(part > filled, np.minimum(few, np.maximum(full, few * filled / part)), few)


def search(start, names, low, high, residuals, prior, scales):
    """Least squares of ln(predicted/measured); outliers count less and less."""
    x0 = np.log([start[name] for name in names])
    x = x0
    for scale in scales:
        fun = lambda x: np.concatenate([residuals(dict(start, **dict(zip(names, np.exp(x))))), (x - x0) * prior])
        x = least_squares(fun, np.clip(x, low + 1e-6, high - 1e-6), bounds=(low, high), loss="soft_l1",
                          f_scale=scale, diff_step=1e-3, max_nfev=200).x
    return dict(start, **{name: float(value) for name, value in zip(names, np.exp(x))})


def log_error(us, r, weight=1.0):
    """Large messages decide most: they count twice. What a host that launches one GPU after the other may have waited for
    says no more than that the collective took no longer."""
    error = np.log(us / r.t) * np.where(r.S >= 64 * MIB, 2, 1) * weight
    return np.where(r.launched > 0, np.maximum(0, error), error)


def generic_start(generation):
    start = dict(INSIDE, **(NVLS if generation in NVLS_CHANNELS else {}))
    start.update(BY_GENERATION[generation])
    return without_unused(start) if generation in REDUCE_ONLY else start


def without_unused(start):
    unused = ("own_gather", "own_scatter", "more1", "pair_more")
    return {name: value for name, value in start.items() if name not in unused}


def like_others(generation, fits):
    """The mean of other generations' constants, copies in proportion to NVLink."""
    others = LIKE_OTHERS[generation]
    start = generic_start(generation)
    for name in start:
        logs = [math.log(fits[g][name] * (PORT[generation] / PORT[g] if name in BY_PORT else 1)) for g in others]
        start[name] = math.exp(sum(logs) / len(logs))
    return start


def tells_of_process(row):
    """What a process that drives several GPUs takes longer decides shared_drift, not how fast a ring is."""
    return row["generation"] in SHARED_DRIFT and row["g"] > 1 and MIB <= row["S"] < 512 * MIB


def fit_inside(rows, generation, spread, fits):
    alike = generation in LIKE_OTHERS
    start = like_others(generation, fits) if alike else generic_start(generation)
    rows = [row for row in rows if row["generation"] == generation and not row["eager"] and not tells_of_process(row)]
    r = Columns(rows)
    residuals = lambda k: log_error(inside_us(k, r, generation, spread), r)
    return search_inside(start, list(start), residuals, 0.12 if alike else 0.02)


def search_inside(start, names, residuals, prior):
    x0 = np.log([start[name] for name in names])
    overlap = np.char.startswith(names, "overlap")
    low = np.where(overlap, 0, x0 - 2.5)
    high = np.where(overlap, math.log(6), x0 + 2.5)
    return search(start, names, low, high, residuals, prior, (0.15, 0.06, 0.04))


def of_generation(k, generation):
    """What RCCL's generations share, and the generation's own ("nvlink:cdna3")."""
    own = {name.split(":")[0]: value for name, value in k.items() if name.endswith(":" + generation)}
    return dict({name: value for name, value in k.items() if ":" not in name}, **own)


def tells_of_rccl(row):
    """Below 1 KiB RCCL does not use its kernels for small messages (16 to 23 us, then 14). One machine runs without
    them, and takes 60 us and 300 for what others do in 14 and 30: it counts from 16 MiB on."""
    return row["S"] >= (16 * MIB if "Ahalperin" in row["source"] else KIB)


def fit_rccl_inside(rows, spread):
    start = without_unused(dict(INSIDE, **RCCL_START))
    for name in RCCL_BY_GENERATION:
        value = start.pop(name)
        start.update({f"{name}:{generation}": value for generation in RCCL})
    names = [name for name in start if name not in RCCL_UNDECIDED]
    parts = [(g, Columns([row for row in rows if row["generation"] == g and tells_of_rccl(row)])) for g in RCCL]
    parts = [(g, r) for g, r in parts if r.S.size]
    residuals = lambda k: np.concatenate([log_error(inside_us(of_generation(k, g), r, g, spread), r) for g, r in parts])
    k = search_inside(start, names, residuals, 0.02)
    return {generation: of_generation(k, generation) for generation in RCCL}


def fit_generations(rows, spread):
    fits = {}
    for generation in BY_GENERATION:
        fits[generation] = fit_inside(rows, generation, spread, fits)
    return fits


# --- several nodes ---------------------------------------------------------------

def tree_hop(k, r, own, protocol):
    """us of a hop of a tree inside a node."""
    if "sync" in k:
        return RCCL_TREE_HOP[protocol]
    if protocol == 2:
        return k["hop_inside2"] * np.array([SYNC[g] / 7.8 for g in r.generations])
    return k[f"hop_inside{protocol}"] * own(f"step{protocol}")


def between_us(k, r, inside, spread):
    """All-reduce, all-gather and reduce-scatter that leave the node."""
    own = lambda key: np.array([inside[g].get(key, 1) for g in r.generations])
    wire = r.wire * np.array([WIRE.get(c) or k["wire_" + c] for c in r.classes])
    hop = np.array([k.get("hop_" + c, 0) for c in r.classes])
    port = ring_rate(own("nvlink"), own("mesh_link"), r)
    inner = np.where(r.p > 1, np.where(r.part, port, port * r.p / np.maximum(1, r.p - 1)), NEVER)
    proxy = k.get("proxy", PROXY)
    sync = np.array([k["sync"] if "sync" in k else SYNC[g] for g in r.generations])
    reduce = r.op == 0
    steps = np.where(reduce, 2, 1) * (r.n - 1)
    outer = np.where(reduce, 2, 1) * (r.N - 1)
    volume = r.S * steps / r.n
    hops = np.ceil(np.log2(r.N))
    neighbours = np.minimum(2, r.N / 2)
    no_ll128 = np.array([c == "efa-p4d" for c in r.classes])
    ways = []
    for i in range(3):
        net = np.where(r.p < 2, k[f"tree{i}"], k[f"ring{i}"]) + hop
        paced = proxy * (3 if i == 2 else 1)
        if i == 0 and "proxy" not in k:
            paced = np.maximum(own("step0"), np.array([PROXY_LL.get(g, PROXY) for g in r.generations]))
        latency = (steps - outer) * paced + outer * net
        if i < 2:
            slow = np.where(r.p > 1, np.minimum(port, wire), wire)
            us = k[f"base{i}"] + latency + volume / 1e3 / (k[f"share{i}"] * slow)
        else:
            channels = np.where(r.p >= 8, 16.0, 2 * r.p)
            chunk, slow = r.S / (r.n * channels), np.minimum(inner, wire)
            round_us = np.maximum(1, chunk / (2 * MIB)) * latency + \
                np.maximum(0.5, np.minimum(1, 32 * KIB / chunk)) * volume / 1e3 / slow
            copies = np.where(r.p > 1, volume / 1e3 / inner + steps * sync, 0)
            trip = (steps - outer) * sync + outer * net
            exposed = np.array([c in RING_EXPOSED for c in r.classes])
            idle = np.maximum(2 * np.maximum(0, r.p - 1) * proxy * 3 + net, exposed * trip)
            us = k["base2"] + np.maximum(np.maximum(volume / 1e3 / wire + idle, round_us), copies)
        ways.append(np.where((i == 1) & no_ll128, NEVER, us))
    for i in range(3):
        step = tree_hop(k, r, own, i)
        latency = 2 * (r.p - 1) * step + 2 * hops * (k[f"tree{i}"] + hop)
        share = TREE_SIMPLE if i == 2 else k[f"share{i}"]
        x = np.maximum(np.where(r.p > 1, 2 * r.S / 1e3 / (share * port), 0),
                       neighbours * r.S / 1e3 / (wire * TREE_WIRE[i]))
        us = k[f"base{i}"] + latency + x + k["mix"] * np.sqrt(latency * x)
        ways.append(np.where(~reduce | ((i == 1) & no_ll128), NEVER, us))
    ways.append(nvls_tree_us(k, r, inside, spread, wire, hop, hops, neighbours))
    ways = np.array(ways)
    for name, kept in (("ring", range(3)), ("tree", range(3, 6)), ("nvlstree", (6,))):
        others = [i for i in range(7) if i not in kept]
        ways[np.ix_(others, r.forced == name)] = NEVER
    taken = (ways + ring_handicap(r)).argmin(0)
    us = np.take_along_axis(ways, taken[None], 0)[0]
    return np.maximum(us, np.array([LAUNCH.get(g, 5.0) for g in r.generations]) * r.g)


def ring_handicap(r):
    """us by which NCCL's table puts rings behind on two nodes: two more hops of what the plugin tells it. Only where NVLSTree
    takes over from trees."""
    told = np.array([TOLD_LATENCY.get(c, 0) for c in r.classes])
    handicap = np.zeros((7, r.S.size))
    switch = np.array([g in NVLS_CHANNELS for g in r.generations]) & (r.p > 2)
    handicap[:3] = np.where((r.N == 2) & (r.op == 0) & switch, 2 * told, 0)
    return handicap


def nvls_tree_us(k, r, inside, spread, wire, hop, hops, neighbours):
    us = np.full(r.S.shape, NEVER)
    for generation, (_, channels, most) in NVLS_CHANNELS.items():
        here = np.array([g == generation for g in r.generations]) & (r.op == 0) & (r.p > 2)
        if not here.any():
            continue
        chunk = np.where(np.array([c == "efa" for c in r.classes]), 524288.0, most)
        chunk = np.where(r.N >= 4, np.minimum(chunk, 64 * KIB), chunk)
        node = nvls_round(inside[generation], r, spread)
        turn = lambda loop: np.maximum(node(loop) / k["nvls_share"],
                                       neighbours * loop / 1e3 / (wire * np.where(r.N > 2, k["nvls_wire"], 1)))
        rules = ((32, 256 * KIB), (16, 128 * KIB), (4, 64 * KIB), (1, 32 * KIB))
        rounds = nvls_rounds(r.S, channels * r.p, chunk, rules, turn, k["nvls_fill"] * hops, hop)
        us = np.where(here, k["nvls_base"] + 2 * hops * (k["nvls_hop"] + hop) + rounds, us)
    return us


def fit_between(rows, inside, spread):
    """Echo's 16 GPUs reach 60 % of their wire, and Crusoe's virtual machines are noisy: the
    first is left out, the others count less."""
    rows = [row for row in rows if "nccl_16" not in row["source"] and not row["eager"]]
    r = Columns(rows)
    weight = np.array([0.4 if "crusoecloud" in row["source"] else 1 for row in rows])
    return search_between(BETWEEN, list(BETWEEN), lambda k: log_error(between_us(k, r, inside, spread), r, weight))


def search_between(start, names, residuals):
    x0 = np.log([start[name] for name in names])
    high = np.array([math.log(AT_MOST[name]) if name in AT_MOST else x + 1.2 for name, x in zip(names, x0)])
    return search(start, names, x0 - 1.2, high, residuals, 0.8, (0.3, 0.12, 0.08))


def fit_rccl_between(rows, inside, spread):
    """From RCCL's own table on. Groups of few GPUs of a node are one machine's: they count less."""
    r = Columns(rows)
    weight = np.where(r.p < NODE_OF_MESH, 0.4, 1)
    names = [name for name in RCCL_BETWEEN if not name.startswith("hop_")]
    return search_between(RCCL_BETWEEN, names, lambda k: log_error(between_us(k, r, inside, spread), r, weight))


# --- results -----------------------------------------------------------------------

def put_medians(label, size, error):
    parts = (size <= 64 * KIB, (size > 64 * KIB) & (size < 64 * MIB), size >= 64 * MIB, size > 0)
    medians = [f"{np.median(error[p]):7.1f} ({p.sum()})" if p.any() else "       -" for p in parts]
    print(f"{label:52}" + "".join(medians))


def show(label, us, r):
    error = 100 * np.abs(us / r.t - 1)
    put_medians(label, r.S, error)
    return error


def show_left_out(one, several, inside, spread):
    errors = []
    versions = sorted({m.group(1) for row in one if (m := re.search(r"nccl/(\d\.\d+)", row["source"]))})
    for version in versions:
        left = [row for row in one if f"nccl/{version}" in row["source"]]
        fits = fit_generations([row for row in one if row not in left], spread)
        for generation in BY_GENERATION:
            rows = [row for row in left if row["generation"] == generation]
            if rows:
                r = Columns(rows)
                us = inside_us(fits[generation], r, generation, spread)
                errors.append((r.S, show(f"left out: NCCL {version}, {generation}", us, r)))
    put_all("one node, left out", errors)
    errors = []
    for source in sorted({row["source"] for row in several}):
        left = [row for row in several if row["source"] == source]
        k = fit_between([row for row in several if row["source"] != source], inside, spread)
        r = Columns(left)
        errors.append((r.S, show("left out: " + source[:40], between_us(k, r, inside, spread), r)))
    put_all("several nodes, left out", errors)


def rccl_environment(row):
    return "ainic" if row["class"] == "ainic" else "roce"


def fit_rccl_networks(rows, inside, spread):
    networks = {}
    for name in ("roce", "ainic"):
        here = [row for row in rows if rccl_environment(row) == name]
        networks[name] = fit_rccl_between(here, inside, spread) if here else RCCL_BETWEEN
    return networks


def rccl_us(networks, rows, inside, spread):
    """One node or several, by the environment that a row has."""
    us = np.zeros(len(rows))
    for i, row in enumerate(rows):
        r = Columns([row])
        generation = row["generation"]
        us[i] = (inside_us(inside[generation], r, generation, spread) if row["N"] == 1 else
                 between_us(networks[rccl_environment(row)], r, inside, spread))[0]
    return us


def show_rccl(label, one, several, rows, spread):
    """Fitted to `one` and `several`, shown on `rows`."""
    inside = fit_rccl_inside(one, spread)
    networks = fit_rccl_networks(several, inside, spread)
    return Columns(rows).S, show(label, rccl_us(networks, rows, inside, spread), Columns(rows))


def show_rccl_left_out(one, several, spread):
    errors = []
    rows = one + several
    for source in sorted({row["source"] for row in rows}):
        left = [row for row in rows if row["source"] == source]
        kept = [[row for row in part if row["source"] != source] for part in (one, several)]
        found = show_rccl("left out: " + source[:40], *kept, left, spread)
        errors += [found] if "Ahalperin" not in source else []
    put_all("RCCL, left out, but for Ahalperin's machine", errors)


def put_all(label, errors):
    if errors:
        size, error = (np.concatenate(column) for column in zip(*errors))
        put_medians(label, size, error)


def three(value):
    """Three digits, below in the last one where above it would pass a limit."""
    return math.floor(value * 1000) / 1000 if abs(value - 0.9375) < 1e-6 else float(f"{value:.3g}")


def named_tree_hop(k, generation, between):
    return {
        "ring_sync": SYNC[generation],
        "tree_hop": [between["hop_inside0"] * k["step0"], between["hop_inside1"] * k["step1"],
                     between["hop_inside2"] * SYNC[generation] / 7.8],
    }


def named_inside(k, generation):
    """The constants of a generation by the names of data/collectives.json."""
    own = [k["own"], k.get("own_gather", k["own"]), k.get("own_scatter", k["own"])]
    out = {
        "base": [k["base0"], base1(k), k["base2"]], "ring_step": [k["step0"], k["step1"], k["step2"]],
        "ring_overlap": [1, k["overlap1"], k["overlap2"]],
        "nvlink": k["nvlink"], "ring_copy": k["copy"], "own_copy": own, "share": [LL_SHARE, k["share1"], 1],
        "ring_drift": k["drift"], "p2p_base": pair_base(k),
        "pairs_simple" if generation in BY_CHANNELS else "p2p_simple": k["pair_simple"], "p2p_peer": [k["pair_peer"], 1.2], "p2p_share": k["pair_share"],
        "p2p_copy": k["pair_copy"], "p2p_ll": [k["pair_ll"], 20], "p2p_mix": k["pair_mix"],
    }
    if "mesh_link" in k:
        out["mesh_link"] = k["mesh_link"]
    if generation in NVLS_CHANNELS:
        out.update(nvls_rate=k["nvls_rate"], nvls_chunk_cost=k["nvls_cost"], nvls_base=k["nvls_base"],
                   nvls_line=k["nvls_line"], nvls_fill=k["nvls_fill"])
    return out


def named_between(k):
    out = {
        "net_base": [k["base0"], k["base1"], k["base2"]], "net_ring": [k["ring0"], k["ring1"], k["ring2"]],
        "net_tree": [k["tree0"], k["tree1"], k["tree2"]], "net_share": [k["share0"], k["share1"], 1],
        "tree_mix": [0.35, k["mix"]],
    }
    if "sync" in k:
        out.update(proxy=k["proxy"], proxy_ll=k["proxy"], ring_sync=k["sync"])
    else:
        out["nvls_tree"] = [k["nvls_base"], k["nvls_hop"], k["nvls_share"], k["nvls_wire"], k["nvls_fill"]]
    return out


# Generations without rows of their own have those of another, but for its NVLS and its custom kernels.
DERIVED = {"unknown": "hopper", "cdna2": "cdna3", "cdna4-air": "cdna4"}
BY_CLOCK = ("nvlink", "p2p_share")


def put_derived(generations):
    for name, other in DERIVED.items():
        for key, value in generations[other]["constants"].items():
            if not key.startswith(("nvls", "custom")):
                slower = CLOCK["mi350x"] if name in SLOWER and key in BY_CLOCK else 1
                generations[name]["constants"][key] = three(value * slower) if slower < 1 else value


def wrapped(object, indent, width=118):
    """Members of an object, as many to a line as fit."""
    lines, line = [], " " * indent
    members = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in object.items()]
    for i, member in enumerate(members):
        member += "," if i + 1 < len(members) else ""
        if len(line) + len(member) > width:
            lines.append(line.rstrip())
            line = " " * indent
        line += member + " "
    return "\n".join(lines + [line.rstrip()])


def entry(name, value):
    """A generation or a class: its texts a line each, its constants wrapped."""
    texts = [f"      {json.dumps(key)}: {json.dumps(text)}" for key, text in value.items() if key != "constants"]
    texts.append('      "constants": {\n' + wrapped(value["constants"], 8) + "\n      }")
    return f"    {json.dumps(name)}: {{\n" + ",\n".join(texts) + "\n    }"


def written(data):
    parts = [f"  {json.dumps(key)}: {json.dumps(data[key])}" for key in ("schema", "note")]
    parts.append('  "universal": {\n' + wrapped(data["universal"], 4) + "\n  }")
    for part in ("generations", "classes"):
        entries = ",\n".join(entry(name, value) for name, value in data[part].items())
        parts.append(f"  {json.dumps(part)}: {{\n{entries}\n  }}")
    systems = ",\n".join("    " + json.dumps(system) for system in data["systems"])
    parts.append('  "systems": [\n' + systems + "\n  ]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def put(constants, found):
    for name, value in found.items():
        constants[name] = [three(v) for v in value] if isinstance(value, list) else three(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--left-out", action="store_true")
    parser.add_argument("--write", metavar="FILE", help="data/collectives.json")
    args = parser.parse_args()
    with open(args.write or "data/collectives.json") as file:
        data = json.load(file)
    spread = data["universal"]["nvls_spread"]
    rows = read_tables(data, args.tables)
    one = [row for row in rows if row["N"] == 1]
    rings = [row for row in rows if row["N"] > 1 and row["op"] < 3]
    several = [row for row in rings if row["generation"] in ("ampere", "hopper", "blackwell")]
    rccl_one = [row for row in one if row["generation"] in RCCL]
    rccl_several = [row for row in rings if row["generation"] in RCCL]
    print(f"{'median error, %':52}  <= 64 KiB  between  >= 64 MiB  all")
    inside = fit_generations(one, spread)
    for generation in BY_GENERATION:
        r = Columns([row for row in one if row["generation"] == generation])
        show(generation, inside_us(inside[generation], r, generation, spread), r)
    between = fit_between(several, inside, spread)
    r = Columns(several)
    show("several nodes", between_us(between, r, inside, spread), r)
    rccl = fit_rccl_inside(rccl_one, spread)
    networks = fit_rccl_networks(rccl_several, rccl, spread)
    show_rccl("RCCL", rccl_one, rccl_several, rccl_one + rccl_several, spread)
    if args.left_out:
        show_left_out(one, several, inside, spread)
        show_rccl_left_out(rccl_one, rccl_several, spread)
    put(data["universal"], named_between(between))
    for generation, k in inside.items():
        put(data["generations"][generation]["constants"],
            dict(named_inside(k, generation), **named_tree_hop(k, generation, between)))
    for generation, k in rccl.items():
        put(data["generations"][generation]["constants"],
            dict(named_inside(k, generation), **named_between(networks["roce"]), tree_hop=list(RCCL_TREE_HOP)))
    put(data["classes"]["ainic"]["constants"], named_between(networks["ainic"]))
    for name in ("roce", "efa", "tcpxo", "efa-p4d"):
        found = {"hop": between["hop_" + name]}
        if "wire_" + name in between:
            found["wire"] = between["wire_" + name]
        put(data["classes"][name]["constants"], found)
    put_derived(data["generations"])
    if args.write:
        with open(args.write, "w") as file:
            file.write(written(data))
    else:
        for generation in inside:
            print(generation + "\n" + wrapped(data["generations"][generation]["constants"], 2))


if __name__ == "__main__":
    main()
