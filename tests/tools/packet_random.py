#!/usr/bin/env python3
"""Random small scenarios: stepcast flows --net packet against an independent simulator, packet_mini.py.

    packet_random.py PROGRAM REFERENCE COUNT [SEED]       REFERENCE: the folder of packet_mini.py
    packet_random.py PROGRAM REFERENCE --keep FOLDER SEED  writes one scenario with its expected values"""
import importlib
import os
import random
import sys
import tempfile

import check_packet

sys.dont_write_bytecode = True
RATES = (25, 50, 100, 200, 400)


def star(rng):
    hosts = rng.randint(2, 8)
    rate = rng.choice(RATES)
    return hosts, [hosts], [(h, hosts, rate) for h in range(hosts)]


def leaf_spine(rng):
    leaves, per_leaf, spines = rng.randint(2, 4), rng.randint(1, 4), rng.randint(1, 4)
    hosts = leaves * per_leaf
    rate = rng.choice(RATES)
    up = rng.choice((rate, rate, min(400, 2 * rate), min(400, 4 * rate)))
    leaf = [hosts + i for i in range(leaves)]
    spine = [hosts + leaves + i for i in range(spines)]
    links = [(h, leaf[h // per_leaf], rate) for h in range(hosts)]
    links += [(a, b, up) for a in leaf for b in spine]
    rng.shuffle(links)
    return hosts, leaf + spine, links


def chain(rng):
    switches = rng.randint(1, 5)
    hosts = rng.randint(2, 6)
    rate = rng.choice(RATES)
    links = [(h, hosts + rng.randrange(switches), rate) for h in range(hosts)]
    links += [(hosts + i, hosts + i + 1, rng.choice((rate, rate, max(25, rate // 2)))) for i in range(switches - 1)]
    return hosts, [hosts + i for i in range(switches)], links


def write_topology(rng, folder):
    hosts, switches, links = rng.choice((star, leaf_spine, chain))(rng)
    delay = rng.choice((300, 600, 1000, 2500))
    lossy = rng.random() < 0.2
    own_losses = 0
    with open(folder + "/topology.txt", "w") as out:
        print(hosts + len(switches), len(switches), len(links), file=out)
        print(*switches, file=out)
        for a, b, rate in links:
            loss = rng.choice((0, 0, 0.001)) if lossy else 0
            own_losses += loss > 0
            print(a, b, f"{rate}Gbps", f"{delay}ns", loss, file=out)
    # what the ports of the largest switch have for themselves
    reserved = max(
        sum(3 * rate * delay // 8 + 4096 for a, b, rate in links if switch in (a, b)) for switch in switches)
    return hosts, 8 * (hosts + len(switches)) + 2 + 2 * own_losses, reserved // 2**20 + 1


def write_config(rng, folder, buffer_mib):
    control = rng.choice((0, 1, 3, 7, 8))
    window = 1 if control == 3 else rng.randint(0, 1)
    low = rng.choice((5, 20, 100))
    high = low * rng.choice((1, 4))
    values = {
        "ENABLE_QCN": 1, "USE_DYNAMIC_PFC_THRESHOLD": 1, "CLAMP_TARGET_RATE": 0, "L2_CHUNK_SIZE": 4000,
        "L2_ACK_INTERVAL": 1, "L2_BACK_TO_ZERO": 0, "GLOBAL_T": 1, "MULTI_RATE": 0, "SAMPLE_FEEDBACK": 0, "RATE_BOUND": 1,
        "CC_MODE": control, "PACKET_PAYLOAD_SIZE": rng.choice((500, 1000, 1500)),
        "BUFFER_SIZE": buffer_mib + rng.choice((0, 0, 1, 16)), "SIMULATOR_STOP_TIME": 0.005,
        "HAS_WIN": window, "VAR_WIN": rng.randint(0, window), "ACK_HIGH_PRIO": rng.randint(0, 1),
        "ENABLE_PFC": rng.choice((1, 1, 1, 0)), "DEP_ON_RX": rng.randint(0, 1),
        "ERROR_RATE_PER_LINK": rng.choice((0.0, 0.0, 0.0, 0.0005)),
        "FAST_RECOVERY_TIMES": rng.choice((1, 5)), "EWMA_GAIN": rng.choice((0.00390625, 0.0625)),
        "ALPHA_RESUME_INTERVAL": rng.choice((1, 55)), "RATE_DECREASE_INTERVAL": rng.choice((4, 50)),
        "RP_TIMER": rng.choice((20, 300)), "MIN_RATE": rng.choice(("100Mb/s", "1000Mb/s")),
        "RATE_AI": rng.choice(("20Mb/s", "500Mb/s")), "RATE_HAI": "500Mb/s", "DCTCP_RATE_AI": "615Mb/s",
        "U_TARGET": 0.95, "MI_THRESH": rng.choice((0, 5)), "INT_MULTI": rng.choice((1, 4)), "FAST_REACT": rng.randint(0, 1),
    }
    with open(folder + "/config.txt", "w") as out:
        for key, value in values.items():
            print(key, value, file=out)
        for key, value in (("KMIN_MAP", low), ("KMAX_MAP", high), ("PMAX_MAP", rng.choice((0.2, 1.0)))):
            print(key, len(RATES), *(f"{rate * 10**9} {value}" for rate in RATES), file=out)


def write_flows(rng, folder, hosts):
    count = rng.randint(1, 20)
    incast = rng.random() < 0.5
    several = rng.random() < 0.3
    with open(folder + "/flows.txt", "w") as out:
        print(count, file=out)
        for number in range(count):
            to = 0 if incast else rng.randrange(hosts)
            source = rng.choice([h for h in range(hosts) if h != to])
            size = rng.choice((1, 189, 1000, 4097, 65536, 200000, 500000))
            start = rng.choice((0, 0, 1000, rng.randrange(50000))) * 1e-9
            priority = rng.choice((1, 3, 5)) if several else 3
            waits = ""
            if number and rng.random() < 0.25:
                waits = ",".join(map(str, sorted(rng.sample(range(number), min(number, rng.randint(1, 2))))))
            print(source, to, priority, 100, size, f"{start:.9f}", waits, file=out)


def write_results(folder, sim):
    none = lambda value: -1 if value is None else value
    with open(folder + "/fct.txt", "w") as out:
        print("# src dst sport size start_ns fct_ns standalone_fct_ns rx_done_ns", file=out)
        for f in sim.flows:
            print(f.src, f.dst, f.sport, f.size, none(f.st), none(f.fct), 0, none(f.rxt), file=out)
    with open(folder + "/counters.txt", "w") as out:
        for name, value in (("ecn_marks_data", sim.nmark), ("pfc_pause_rx", sim.npause)):
            print(name, value, file=out)
        for name, value in (("drops_buffer", sim.ndrop), ("drops_link_error", sim.nerr)):
            print(name, value, file=out)


def write_expected(folder, stream, mini):
    sim = mini.Sim(folder, stream)
    sim.run()
    write_results(folder, sim)
    return sim


def write_scenario(rng, folder, mini):
    hosts, stream, buffer_mib = write_topology(rng, folder)
    write_config(rng, folder, buffer_mib)
    write_flows(rng, folder, hosts)
    return write_expected(folder, stream, mini)


def main():
    program, reference = sys.argv[1:3]
    sys.path.insert(0, reference)
    mini = importlib.import_module("packet_mini")
    if sys.argv[3] == "--keep":
        os.makedirs(sys.argv[4], exist_ok=True)
        write_scenario(random.Random(int(sys.argv[5])), sys.argv[4], mini)
        return 0
    count = int(sys.argv[3])
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    bad = 0
    seen = dict.fromkeys(("marks", "pauses", "buffer losses", "link losses", "unfinished"), 0)
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            sim = write_scenario(random.Random(seed), folder, mini)
            answer = check_packet.simulate(program, folder)
            found = check_packet.differences(
                answer, check_packet.expected_flows(folder), check_packet.expected_counters(folder))
        for name, value in zip(seen, (sim.nmark, sim.npause, sim.ndrop, sim.nerr, sim.left)):
            seen[name] += value > 0
        if found:
            bad += 1
            print(f"not ok seed {seed}: " + "; ".join(found[:3]))
    print(f"{count - bad} of {count} random scenarios equal; with " + ", ".join(f"{k}: {v}" for k, v in seen.items()))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
