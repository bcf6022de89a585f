#!/bin/sh
# The folders of lib/ lie in layers: checks that includes go only the way that
# docs/design.md draws.
set -u
bad=0
allow() { # folder, the folders it may include
    folder=$1
    shift
    ok="base|stepcast|$folder"
    for f in "$@"; do ok="$ok|$f"; done
    found=$(grep -rnE '#include "[a-z_]+/' "lib/$folder" | grep -vE "#include \"($ok)/" || true)
    if [ -n "$found" ]; then
        echo "lib/$folder may include only $ok:"
        echo "$found"
        bad=1
    fi
}
allow base
allow workload
allow shell
allow model
allow launch model shell
allow hardware workload collective network/astra
allow collective workload hardware
allow plan workload model hardware lower
allow lower workload model plan hardware
allow frontend workload lower hardware collective result report
allow network workload hardware collective simulate
allow simulate workload network
allow result workload hardware simulate network
allow report workload result frontend
allow train
allow evaluate frontend workload model plan lower hardware network simulate result
allow search evaluate frontend model plan lower hardware result
allow api launch evaluate frontend lower model network plan result report
allow command launch evaluate frontend workload model plan lower hardware collective network simulate result report train search
for d in lib/*/; do
    grep -q "^allow $(basename "$d")\b" "$0" || { echo "scripts/layers.sh does not know $d"; bad=1; }
done
if grep -rnE '#include "' cli | grep -vE '"(stepcast/|progress.h|help.h)'; then
    echo "cli/ may include public headers only"
    bad=1
fi
if grep -rnE '\b(printf|puts|exit|abort)\(' lib --include='*.c' | grep -vE 'sc__|snprintf|vsnprintf|lib/base/platform_posix.c|format\(printf'; then
    echo "lib/ must not print or exit"
    bad=1
fi
# What C17 and the four libraries have, less <setjmp.h>, <signal.h> and <threads.h>.
plain='assert|ctype|errno|fenv|float|inttypes|limits|math|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|time|jansson|yaml|sqlite3|zlib'
if grep -rnE '#include <' lib --include='*.[ch]' | grep -v '^lib/base/platform_' | grep -vE "#include <($plain)\.h>"; then
    echo "lib/ is plain C17: what the system has is in lib/base/platform.h"
    bad=1
fi
exit $bad
