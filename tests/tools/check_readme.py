#!/usr/bin/env python3
"""The example of README.md against what the program prints now.

    check_readme.py STEPCAST README.md [--update]

The first block that begins with "$ stepcast" is run and compared; --update
puts the present answer there instead."""
import re
import shlex
import subprocess
import sys

program, path = sys.argv[1:3]
text = open(path).read()
block = re.search(r"^```\n(\$ stepcast .*?[^\\]\n)(.*?)^```$", text, flags=re.M | re.S)
words = shlex.split(block.group(1)[2:].replace("\\\n", " "))
now = subprocess.run([program] + words[1:], capture_output=True, text=True, check=True).stdout
if "--update" in sys.argv:
    open(path, "w").write(text[:block.start(2)] + now + text[block.end(2):])
elif now != block.group(2):
    print("# README.md shows another answer: tests/tools/check_readme.py build/stepcast README.md --update")
    sys.exit(1)
