#!/bin/sh
# not of the program: python: .*
# The Python package: its structures against the compiler's, its wheel installed
# into a fresh virtual environment without a network, and the installed package
# against the program, from another folder.
set -eu
root=$PWD
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
unset PYTHONPATH
export PYTHONDONTWRITEBYTECODE=1 PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1
failed=0

python3 tests/tools/check_binding_layout.py "${CC:-cc}" include/stepcast/stepcast.h "$t/layout" || failed=1

STEPCAST_LIBRARY="$PWD/$BUILD/libstepcast.so"
if ! python3 -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1])' "$STEPCAST_LIBRARY" 2>/dev/null; then
    echo "skip python: the shared library [needs no-sanitizer]"
    exit $failed
fi

# The wheel as `make wheel` makes it, and as pip does from the source folder: the same bytes.
export STEPCAST_LIBRARY
wheel=$(python3 bindings/python/backend.py wheel "$t/wheel")
python=$t/venv/bin/python
if python3 -m venv "$t/venv" >"$t/log" 2>&1; then
    "$python" -m pip wheel -q --no-deps -w "$t/by-pip" bindings/python
    if cmp "$wheel" "$t/by-pip/$(basename "$wheel")"; then echo "ok python: pip builds the same wheel"; else
        echo "not ok python: pip builds another wheel"
    fi
    "$python" -m pip install -q --no-deps "$wheel"
    "$python" -m pip show stepcast >"$t/log"
    grep -q '^Version: ' "$t/log"
    echo "ok python: the wheel is installed in a fresh virtual environment"
else
    echo "skip python: a fresh virtual environment [needs python:ensurepip]"
    mkdir "$t/site"
    python3 -m zipfile -e "$wheel" "$t/site"
    export PYTHONPATH="$t/site"
    python=python3
fi
unset STEPCAST_LIBRARY

# A decimal comma, where the system can make such a locale.
mkdir "$t/locale"
if localedef -i de_DE -f UTF-8 "$t/locale/de_DE.UTF-8" >/dev/null 2>&1; then export LOCPATH="$t/locale"; fi

python3 tests/tools/workload.py 4 8 2 >"$t/workload.txt"
set -- "$t/workload.txt"
seeds=${STEPCAST_SHARED:-../shared}/seeds
if [ -d "$seeds" ]; then
    seeds=$(cd "$seeds" && pwd)
    third=$(echo "$seeds"/002*.txt)
    set -- "$@" "$seeds"/000*.txt "$seeds"/001*.txt "$third" tp=1 pp=2 dp=2 "$seeds"/003*.txt "$seeds"/004*.txt
else
    echo "skip python: the five seeds [needs shared]"
fi
mkdir "$t/elsewhere" "$t/pages"
cd "$t/elsewhere"
"$python" "$root/tests/tools/check_binding.py" "$STEPCAST" "$root" "$t" "$@" || failed=1
"$python" "$root/tests/tools/check_binding_errors.py" "$t" || failed=1
"$python" "$root/tests/tools/check_binding_docs.py" "$t/pages" "$root/docs/python.md" || failed=1

# What the system's Python has beside: pandas, mypy.
package=$("$python" -c 'import os, stepcast; print(os.path.dirname(stepcast.__file__))')
if python3 -c 'import pandas' 2>/dev/null; then
    PYTHONPATH=$(dirname "$package") python3 "$root/tests/tools/check_binding_pandas.py" || failed=1
else
    echo "skip python: a table of pandas [needs python:pandas]"
fi
if python3 -m mypy --version >/dev/null 2>&1 && [ "$python" != python3 ]; then
    for checked in "$package" "$root/tests/tools/binding_types.py"; do
        if python3 -m mypy --strict --enable-incomplete-feature=Unpack --cache-dir "$t/mypy" \
            --python-executable "$python" "$checked"; then
            echo "ok python: types of $(basename "$checked")"
        else
            echo "not ok python: types of $(basename "$checked")"
            failed=1
        fi
    done
else
    echo "skip python: types [needs python:mypy]"
fi
exit $failed
