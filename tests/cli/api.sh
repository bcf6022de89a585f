#!/bin/sh
# The programs of examples/ against the public headers and the library: they check
# themselves.
check() { # name, command…
    name=$1
    shift
    if out=$("$@" 2>&1); then echo "ok api: $name"; else
        echo "not ok api: $name"
        echo "$out"
    fi
}
check "10,000 plans in one context, flat memory" "$BUILD/examples/evaluate"
