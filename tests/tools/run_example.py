#!/usr/bin/env python3
"""Runs the sh blocks of a walk-through, in an empty folder, and looks for what
the page expects: run_example.py PAGE.md

An expectation stands after its block as an HTML comment, <!-- expect: REGEX -->,
and must match the output of that block."""
import os
import re
import subprocess
import sys
import tempfile

page = open(sys.argv[1]).read()
pieces = re.findall(r"^```sh\n(.*?)^```$|<!-- expect: (.*?) -->", page, flags=re.M | re.S)
mark = "@@@ end of block @@@"
blocks, expected = [], []
for code, regex in pieces:
    if code:
        blocks.append(code)
        expected.append([])
    else:
        expected[-1].append(regex)
script = "set -e\n" + "".join(f"{code}\necho '{mark}'\n" for code in blocks)
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True, env=os.environ)
outputs = done.stdout.split(mark)
failures = [] if done.returncode == 0 else [f"block {len(outputs)} failed: {done.stderr.strip()[-600:]}"]
for output, regexes in zip(outputs, expected):
    failures += [f"no match for /{r}/" for r in regexes if not re.search(r, output, flags=re.M)]
if not blocks or not any(expected):
    failures.append("nothing to run or to check")
for f in failures:
    print(f"# {f}")
sys.exit(bool(failures))
