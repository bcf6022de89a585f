#!/bin/sh
# not of the program: api: .*
# The programs of examples/ against the public headers and the library.
#
# Ten thousand plans in one context take no more memory than a thousand. (A
# sanitizer keeps books of its own, and finds what leaks by itself.)
if out=$(python3 -S - "$BUILD/examples/evaluate" <<'PY'
import re, subprocess, sys, tempfile, time

def peak(count):
    """Of the program's own memory: rusage would count what it was forked from."""
    with tempfile.TemporaryFile("w+") as out:
        p = subprocess.Popen([sys.argv[1], str(count)], stdout=out)
        most = 0
        while p.poll() is None:
            status = open("/proc/%d/status" % p.pid).read()
            found = re.search(r"VmHWM:\s+(\d+) kB", status)
            if found and "evaluate" in status.splitlines()[0]:
                most = int(found.group(1))
            time.sleep(0.002)
        assert p.returncode == 0 and most, (p.returncode, most)
        out.seek(0)
        return most, out.read().splitlines()

early, few = peak(1000)
late, many = peak(10000)
assert few == many and len([l for l in few if l.endswith(" ms")]) >= 6, few
# what the allocator keeps differs by a few hundred KiB from run to run; 100 bytes lost
# a plan would be 900
room = 65536 if "/san" in sys.argv[1] else 640
assert late <= early + room, "%d KiB after 1,000 plans, %d KiB after 10,000" % (early, late)
print("%d and %d KiB" % (early, late))
PY
); then echo "ok api: 10,000 plans in one context, flat memory ($out)"
else echo "not ok api: 10,000 plans in one context, flat memory"; fi
# The program that docs/c-library.md shows prints what the page says.
case $BUILD in
*san*) echo "skip api: the page's program [needs no-sanitizer]" ;;
*)
    t=$(mktemp -d)
    {
        printf '#include <stepcast/stepcast.h>\n#include <stdio.h>\nint main(void) {\n'
        sed -n '/^```c$/,/^```$/{/^```/d;p;}' docs/c-library.md
        printf 'return 0;\n}\n'
    } >"$t/page.c"
    said=$(sed -n 's/^It prints `\(.*\)`\.$/\1/p' docs/c-library.md)
    got=$("${CC:-cc}" -Iinclude "$t/page.c" -L"$BUILD" -lstepcast -o "$t/page" 2>&1 && LD_LIBRARY_PATH=$BUILD "$t/page" 2>&1)
    if [ -n "$said" ] && [ "$got" = "$said" ]; then echo "ok api: the page's program"; else
        echo "not ok api: the page's program: '$got', the page has '$said'"
    fi
    rm -rf "$t"
    ;;
esac
