#!/bin/sh
# The programs of examples/ against the public headers and the library.
#
# Ten thousand plans in one context take no more memory than a thousand.
if out=$(python3 - "$BUILD/examples/evaluate" <<'PY'
import os, subprocess, sys

def peak(count):
    p = subprocess.Popen([sys.argv[1], str(count)], stdout=subprocess.PIPE, text=True)
    lines = p.stdout.read().splitlines()
    _, status, use = os.wait4(p.pid, 0)
    assert status == 0, status
    return use.ru_maxrss, lines

early, few = peak(1000)
late, many = peak(10000)
assert few == many and len([l for l in few if l.endswith(" ms")]) >= 6, few
assert late <= early + 256, "%d KiB after 1,000 plans, %d KiB after 10,000" % (early, late)
print("%d and %d KiB" % (early, late))
PY
); then echo "ok api: 10,000 plans in one context, flat memory ($out)"
else echo "not ok api: 10,000 plans in one context, flat memory"; fi
