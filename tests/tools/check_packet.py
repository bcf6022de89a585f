#!/usr/bin/env python3
"""Runs stepcast flows --net packet on folders with config.txt, topology.txt, flows.txt and what is
expected of them: fct.txt (src dst sport size start fct standalone received) and counters.txt.

    check_packet.py PROGRAM FOLDER...

Completion times have to be equal to the nanosecond, and so have the counts of marks, pauses and losses; none may be
below the least there can be."""
import json
import os
import subprocess
import sys

COUNTERS = {
    "marks": "ecn_marks_data",
    "pauses": "pfc_pause_rx",
    "buffer_losses": "drops_buffer",
    "link_losses": "drops_link_error",
}


def simulate(program, folder):
    command = [program, "flows", folder + "/flows.txt", "--net", "packet", "--exact", "--rng", "reference"]
    command += ["--conf", folder + "/config.txt", "--topology", folder + "/topology.txt", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"not ok {folder}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def expected_flows(folder):
    with open(folder + "/fct.txt") as lines:
        rows = [[int(word) for word in line.split()] for line in lines if not line.startswith("#")]
    return rows


def expected_counters(folder):
    with open(folder + "/counters.txt") as lines:
        return dict(line.split() for line in lines)


def differences(answer, flows, counters):
    found = []
    if len(answer["flows"]) != len(flows):
        found.append(f"{len(answer['flows'])} flows, not {len(flows)}")
    for number, (got, want) in enumerate(zip(answer["flows"], flows)):
        names = ("src", "dst", "port", "bytes", "start_ns", "fct_ns", "alone_ns", "received_ns")
        row = [-1 if got[name] is None else got[name] for name in names]
        # ns-3 records the time alone, the independent simulator does not
        if not want[6]:
            row[6] = 0
        if row != want:
            found.append(f"flow {number}: {row}, not {want}")
        if got["fct_ns"] is not None and got["fct_ns"] < got["ideal_ns"]:
            found.append(f"flow {number}: {got['fct_ns']} ns, but at best {got['ideal_ns']}")
    for ours, theirs in COUNTERS.items():
        if answer["counters"][ours] != int(counters[theirs]):
            found.append(f"{ours}: {answer['counters'][ours]}, not {counters[theirs]}")
    return found


def main():
    program, folders = sys.argv[1], sys.argv[2:]
    bad = 0
    flow_count = 0
    for folder in folders:
        flows = expected_flows(folder)
        found = differences(simulate(program, folder), flows, expected_counters(folder))
        flow_count += len(flows)
        if found:
            bad += 1
            print(f"not ok packet-{os.path.basename(folder)}: " + "; ".join(found[:3]))
        elif len(folders) <= 40:
            print(f"ok packet-{os.path.basename(folder)}")
    print(f"{len(folders) - bad} of {len(folders)} runs equal, {flow_count} flows")
    return bad != 0 or not folders


if __name__ == "__main__":
    sys.exit(main())
