#!/usr/bin/env python3
"""The Python module against the program: check_binding.py STEPCAST INPUT…

Each INPUT may be followed by options as NAME=VALUE. The JSON of the program
and of the module must be the same bytes, but for the command line that each
repeats."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bindings/python"))
import stepcast  # noqa: E402

program = sys.argv[1]
jobs = []
for word in sys.argv[2:]:
    if "=" in word and not os.path.exists(word):
        name, value = word.split("=", 1)
        jobs[-1][1][name] = value
    else:
        jobs.append((word, {}))


def without_command(text):
    return re.sub(r'^  "command": .*\n', "", text, flags=re.M)


failed = False
for path, options in jobs:
    words = [w for k, v in options.items() for w in (f"--{k}", v)]
    cli = subprocess.run([program, "run", path, "--json", "-"] + words, capture_output=True, text=True, check=True).stdout
    status, text = stepcast.execute("run", path, json="-", **options)
    same = status == stepcast.OK and without_command(text) == without_command(cli)
    answer = stepcast.run(path, **options)
    same = same and answer["step_time_us"] == json.loads(cli)["step_time_us"] > 0
    print(("ok" if same else "not ok") + f" python: {os.path.basename(path)}")
    failed |= not same
sys.exit(failed)
