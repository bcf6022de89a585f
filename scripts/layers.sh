#!/bin/sh
# The folder listing is the data flow: checks that includes go only the way
# docs/design.md draws.
set -u
bad=0
allow() { # folder, the folders it may include
    folder=$1
    shift
    ok="base|ir|stepcast|$folder"
    for f in "$@"; do ok="$ok|$f"; done
    found=$(grep -rnE '#include "[a-z]+/' "lib/$folder" | grep -vE "#include \"($ok)/" || true)
    if [ -n "$found" ]; then
        echo "lib/$folder may include only $ok:"
        echo "$found"
        bad=1
    fi
}
allow base
allow ir
allow import
allow lower machine import
allow machine
allow simulate machine
allow stats simulate machine
allow write stats simulate machine
allow command import lower machine simulate stats write
if grep -rnE '\b(printf|puts|exit|abort)\(' lib --include='*.c' | grep -vE 'sc__|snprintf|vsnprintf|lib/base/arena.c|format\(printf'; then
    echo "lib/ must not print or exit"
    bad=1
fi
exit $bad
