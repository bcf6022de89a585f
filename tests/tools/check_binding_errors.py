#!/usr/bin/env python3
"""Errors of the Python module: check_binding_errors.py FOLDER (a place to write)"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bindings/python"))
import stepcast  # noqa: E402


def test(name, body, **expected):
    try:
        body()
        print(f"not ok python: {name}: nothing was raised")
    except stepcast.Error as e:
        wrong = {k: getattr(e, k) for k, v in expected.items() if getattr(e, k) != v}
        print(f"ok python: {name}" if not wrong else f"not ok python: {name}: {wrong} in {e}")


bad = os.path.join(sys.argv[1], "bad.txt")
with open(bad, "w") as f:
    f.write("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 ga: 1 all_gpus: 2\n"
            "1\nembedding_layer\t-1\t5\tNONSENSE\t0\t1\tNONE\t0\t1\tNONE\t0\t0\n")
test("an error has its place", lambda: stepcast.run(bad), status=3, file=bad, line=3)
test("a file that is not there", lambda: stepcast.run("/nowhere/at/all.txt"), status=3, file="/nowhere/at/all.txt")
test("a misspelt option", lambda: stepcast.run(bad, clutser="x"), status=2, hint="did you mean --cluster?")
test("a misspelt command", lambda: stepcast.execute("rnu", bad), status=2, hint="did you mean 'run'?")
test("a flag with a value", lambda: stepcast.run(bad, gantt="yes"), status=2)
test("an option without its value", lambda: stepcast.run(bad, cluster=True), status=2)
test("what does not fit into memory", lambda: stepcast.run(model="llama3-70b", gpus=8, global_batch=8), status=1)


def refuse(name, kind, body):
    try:
        body()
        print(f"not ok python: {name}: nothing was raised")
    except kind:
        print(f"ok python: {name}")


refuse("json= is what a call answers", TypeError, lambda: stepcast.run(model="gpt2", gpus=1, json="x.json"))
refuse("a NUL byte", ValueError, lambda: stepcast.run("a\0b"))
odd = os.path.join(os.fsencode(sys.argv[1]), b"odd\xff.txt")
with open(odd, "w") as f:
    f.write(open(os.path.join(sys.argv[1], "workload.txt")).read())
same = stepcast.run(odd)["step_time_us"] == stepcast.run(os.path.join(sys.argv[1], "workload.txt"))["step_time_us"]
text = stepcast.execute("show", odd)[1]
print("ok python: names that are no text" if same and "odd" in text else "not ok python: names that are no text")
