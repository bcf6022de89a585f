#!/bin/sh
# Installs the Debian packages that are missing. Where it cannot (no root, no
# sudo, another system) it looks for what is needed, and fails only when that is
# not there, with its name. Answers at once when nothing is missing.
#     deps.sh [GROUP]
# What a build needs is in every group; GROUP adds what its users need.
set -eu
group=${1:-build}
wanted="gcc make pkg-config libc6-dev libjansson-dev libyaml-dev libsqlite3-dev zlib1g-dev"
headers="jansson.h yaml.h sqlite3.h zlib.h"
tools=""
case "$group" in
build) ;;
test)
    wanted="$wanted libcmocka-dev protobuf-compiler python3 python3-venv"
    headers="$headers cmocka.h"
    tools="protoc python3"
    ;;
bench)
    wanted="$wanted g++ libsimgrid-dev python3"
    tools="g++ python3"
    ;;
page)
    wanted="$wanted chromium"
    tools="chromium"
    ;;
mpi)
    wanted="$wanted libopenmpi-dev openmpi-bin"
    tools="mpirun"
    ;;
shells)
    wanted="$wanted zsh fish"
    tools="zsh fish"
    ;;
format)
    wanted="$wanted clang-format"
    tools="clang-format"
    ;;
wasm)
    wanted="$wanted clang lld wasi-libc libclang-rt-14-dev-wasm32"
    tools="clang"
    ;;
*)
    echo "deps.sh: no group '$group'" >&2
    exit 2
    ;;
esac

has_compiler() { # and its arguments, as in "ccache cc"
    command -v "$1" >/dev/null 2>&1
}
has_header() {
    printf '#include <stdarg.h>\n#include <stddef.h>\n#include <setjmp.h>\n#include <stdint.h>\n#include <%s>\n' "$1" |
        ${CC:-cc} -E - >/dev/null 2>&1
}

if [ "$(id -u)" = 0 ]; then as_root=""
elif command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then as_root="sudo"
else as_root="none"
fi

# The packages that are not installed; nothing where there is no dpkg.
missing=""
if command -v dpkg-query >/dev/null 2>&1; then
    have=$(dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' $wanted 2>/dev/null | awk '$2 == "ii" {print $1}' || true)
    for p in $wanted; do
        case "
$have
" in *"
$p
"*) ;; *) missing="$missing $p" ;; esac
    done
fi

# Nothing can be installed here: what is needed may have come another way.
if [ "$as_root" = none ] || ! command -v apt-get >/dev/null 2>&1; then
    lacking=""
    has_compiler ${CC:-cc} || lacking="$lacking, a C17 compiler (${CC:-cc})"
    for h in $headers; do has_header "$h" || lacking="$lacking, <$h>"; done
    for t in $tools; do command -v "$t" >/dev/null 2>&1 || lacking="$lacking, $t"; done
    [ -z "$lacking" ] && exit 0
    echo "stepcast: not found:${lacking#,}" >&2
    [ -z "$missing" ] || echo "please install as root: apt-get install$missing" >&2
    exit 1
fi

# For the report page; without them stepcast is built without it.
command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || missing="$missing nodejs npm"
[ -z "$missing" ] && exit 0
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
