#!/usr/bin/env python3
"""HPCC-PINT and Swift, which packet_mini.py does not have, written again on top of it and compared on random small
scenarios (packet_random.py) with stepcast flows --net packet: equal to the nanosecond.

    packet_controls.py PROGRAM REFERENCE COUNT [SEED]       REFERENCE: the folder of packet_mini.py
    packet_controls.py PROGRAM REFERENCE --keep FOLDER SEED  writes one scenario with its expected values"""
import importlib
import math
import os
import random
import sys
import tempfile

import check_packet
import packet_random

sys.dont_write_bytecode = True
PINT, SWIFT = 10, 11
MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


class Chance:
    """Numbers in [0, 1) of splitmix64, from the seed that --rng reference has for what ns-3 draws elsewhere."""

    def __init__(self):
        self.state = 1

    def units(self):
        x = self.state = (self.state + GOLDEN) & MASK
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
        return math.floor((x ^ x >> 31) // 2**11 / 2**53 * 65536)


def encode(sim, use):
    units = max(1, math.ceil(use * 512))
    power = math.log(units) / math.log(sim.base)
    low, high = math.floor(power), math.ceil(power)
    chance = sim.chance.units()
    if low == high:
        return low
    share = (units - sim.base**low) / (sim.base**high - sim.base**low)
    return high if chance < share * 65536 else low


def new_use(sim, port):
    trip = sim.T
    bytes_per_trip = port.rate // 8 * trip / 1e9
    since = min(sim.t - port.left_at, trip)
    queue = port.qb // 256 * 256
    before = math.floor(port.use * 8192 + 0.5) / 8192
    return since * queue / (bytes_per_trip * trip) + port.left_size / bytes_per_trip + (trip - since) * before / trip


def pint_ack(flow, ack):
    sim = flow.s
    if sim.chance.units() >= math.floor(sim.share * 65536):
        return
    if flow.upd == 0:
        flow.upd = flow.nxt
        return
    full = ack.seq > flow.upd
    excess = sim.base ** ack.ts[1] / 512 / sim.eta
    if excess >= 1 or flow.inc >= sim.mi:
        rate, stage = int(flow.cur / excess) + sim.rai, 0
    else:
        rate, stage = flow.cur + sim.rai, flow.inc + 1
    rate = min(max(rate, sim.minr), flow.max)
    flow.avail += sim.mini.txt(flow.last, rate) - sim.mini.txt(flow.last, flow.rate)
    wake(flow)
    flow.rate = rate
    if full:
        flow.cur, flow.inc = rate, stage
        flow.upd = max(flow.upd, flow.nxt)


def wake(flow):
    sim, host = flow.s, flow.host
    timer = host.timer
    if timer is not None and timer[2] is not None and flow.avail < timer[0]:
        timer[2] = None
        host.timer = sim.at(max(sim.t, flow.avail), host.tick, flow.port)


def swift_target(flow):
    k = flow.s.k
    top = 1 / math.sqrt(k["FS_MAX_CWND"])
    slope = k["FS_RANGE"] * 1e3 / (1 / math.sqrt(k["FS_MIN_CWND"]) - top)
    scaling = min(k["FS_RANGE"] * 1e3, max(0, slope / math.sqrt(flow.cwnd) - slope * top))
    return k["BASE_TARGET"] * 1e3 + k["HOP_TARGET"] * 1e3 * flow.switches + scaling


def swift_ack(flow, ack):
    sim, k = flow.s, flow.s.k
    delay = sim.t - ack.ts[0]
    before = flow.cwnd
    target = swift_target(flow)
    packets = (flow.una - flow.counted) / sim.mtu
    flow.counted = flow.una
    may = sim.t - flow.fell >= delay
    if ack.nack:
        flow.cwnd *= 1 - k["MAX_MDF"] if may else 1
    elif delay < target:
        flow.cwnd += k["AI"] * packets / (flow.cwnd if flow.cwnd >= 1 else 1)
    elif may:
        flow.cwnd *= max(1 - k["BETA"] * ((delay - target) / delay), 1 - k["MAX_MDF"])
    flow.cwnd = min(k["MAX_CWND"], max(k["MIN_CWND"], flow.cwnd))
    if flow.cwnd < before:
        flow.fell = sim.t
    sim.below_a_packet += flow.cwnd < 1
    if flow.cwnd < 1:
        flow.avail = ack.ts[0] + int(delay / flow.cwnd)
    elif before < 1 and flow.avail > sim.t:
        flow.avail = sim.t
    wake(flow)


def patch(mini):
    """Where packet_mini.py has its own controls: beginning, bound, ACK; a frame that a switch sends."""
    begin, bound, ack = mini.QP.begin, mini.QP.bound, mini.QP.ack
    transmit, old_kick = mini.Port.tx, mini.Host.kick

    def new_begin(flow):
        sim = flow.s
        flow.cwnd = flow.counted = 0
        if sim.cc == SWIFT:
            flow.cwnd = min(sim.k["MAX_CWND"], max(sim.k["MIN_CWND"], max(1, sim.bdp / sim.mtu)))
            flow.fell = -(1 << 62)
            node, flow.switches = sim.nodes[flow.src].ports[0].peer.node, 0
            while isinstance(node, mini.Switch):
                hops = sim.rt[node.id, flow.dst]
                where = mini.ecmp(mini.ip(flow.src), mini.ip(flow.dst), flow.sport, flow.dport, node.id)
                node = hops[where % len(hops)].peer.node
                flow.switches += 1
        begin(flow)

    def new_bound(flow):
        if flow.s.cc != SWIFT:
            return bound(flow)
        flying = flow.nxt - flow.una
        return flying > 0 if flow.cwnd < 1 else flying > int((flow.cwnd - 1) * flow.s.mtu)

    def new_ack(flow, k, port):
        done = flow.fct is not None
        kick, flow.host.kick = flow.host.kick, lambda p: None
        ack(flow, k, port)
        flow.host.kick = kick
        if not done:
            {PINT: pint_ack, SWIFT: swift_ack}[flow.s.cc](flow, k)
            flow.host.kick(port)

    def new_transmit(port, packet):
        sim = port.s
        if isinstance(port.node, mini.Host) and packet.kind == "D":
            packet.ts = [sim.t, 0]
        if isinstance(port.node, mini.Switch) and sim.cc == PINT:
            if packet.kind == "D":
                port.use = new_use(sim, port)
                packet.ts[1] = max(packet.ts[1], encode(sim, port.use))
            port.left_at, port.left_size = sim.t, packet.size
        transmit(port, packet)

    def new_kick(host, port):
        """As Host.kick, but that a pair that only waits for something else never keeps the NIC asleep."""
        old_kick(host, port)
        if host.s.cc != SWIFT or port.busy:
            return
        ready = [f.avail for f in host.qps if not port.paused[f.pg] and f.size > f.nxt and not f.bound()]
        if host.timer is not None and host.timer[2] is not None:
            return
        if ready and min(ready) > host.s.t:
            host.timer = host.s.at(min(ready), host.tick, port)

    mini.QP.begin, mini.QP.bound, mini.QP.ack = new_begin, new_bound, new_ack
    mini.Port.tx, mini.Host.kick = new_transmit, new_kick


def simulate(mini, folder, stream, extra):
    sim = mini.Sim(folder, stream)
    sim.mini, sim.chance, sim.below_a_packet = mini, Chance(), 0
    sim.k = {key[6:]: float(value) for key, value in extra.items() if key.startswith("SWIFT_")}
    sim.base, sim.share = float(extra.get("PINT_LOG_BASE", 2)), float(extra.get("PINT_PROB", 1))
    if sim.cc == SWIFT:
        sim.hdr = 60
    if sim.cc == PINT:
        sim.hdr = 52 + math.ceil(math.ceil(math.log2(math.log(512 * 512) / math.log(sim.base))) / 8)
    for node in sim.nodes.values():
        for port in node.ports:
            port.use, port.left_at, port.left_size = 0.0, 0, 0
    sim.run()
    return sim


def settings(rng, control):
    if control == PINT:
        return {"CC_MODE": PINT, "PINT_LOG_BASE": rng.choice((1.01, 1.05, 1.3)), "PINT_PROB": rng.choice((1.0, 1.0, 0.0625))}
    base = rng.choice((3, 6, 20))
    return {
        "CC_MODE": SWIFT, "SWIFT_BASE_TARGET": base, "SWIFT_HOP_TARGET": rng.choice((0, 1)),
        "SWIFT_FS_RANGE": rng.choice((0, 5, 50)), "SWIFT_FS_MIN_CWND": 0.1, "SWIFT_FS_MAX_CWND": rng.choice((20, 100)),
        "SWIFT_AI": rng.choice((0.25, 1)), "SWIFT_BETA": 0.8, "SWIFT_MAX_MDF": rng.choice((0.5, 0.9)),
        "SWIFT_MIN_CWND": 0.01, "SWIFT_MAX_CWND": rng.choice((2, 1000))}


def write_scenario(rng, folder, control):
    hosts, stream, buffer_mib = packet_random.write_topology(rng, folder)
    packet_random.write_config(rng, folder, buffer_mib)
    packet_random.write_flows(rng, folder, hosts)
    extra = settings(rng, control)
    with open(folder + "/config.txt") as lines:
        kept = [line for line in lines if line.split()[0] not in extra]
    with open(folder + "/config.txt", "w") as out:
        out.writelines(kept)
        for key, value in extra.items():
            print(key, value, file=out)
    return stream, extra


def run_scenario(mini, seed, folder):
    """What is expected of the scenario, into its folder: seeds take the two controls in turn."""
    stream, extra = write_scenario(random.Random(seed), folder, (PINT, SWIFT)[seed % 2])
    sim = simulate(mini, folder, stream, extra)
    packet_random.write_results(folder, sim)
    return sim


def main():
    program, reference = sys.argv[1:3]
    sys.path.insert(0, reference)
    mini = importlib.import_module("packet_mini")
    patch(mini)
    if sys.argv[3] == "--keep":
        os.makedirs(sys.argv[4], exist_ok=True)
        run_scenario(mini, int(sys.argv[5]), sys.argv[4])
        return 0
    count = int(sys.argv[3])
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    bad = 0
    below_a_packet = 0
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            sim = run_scenario(mini, seed, folder)
            answer = check_packet.simulate(program, folder)
            found = check_packet.differences(
                answer, check_packet.expected_flows(folder), check_packet.expected_counters(folder))
        below_a_packet += sim.below_a_packet > 0
        if found:
            bad += 1
            print(f"not ok seed {seed}: " + "; ".join(found[:3]))
    print(f"{count - bad} of {count} random scenarios of HPCC-PINT and Swift equal; windows below a packet: {below_a_packet}")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
