#!/bin/sh
# Installs the Debian packages that are missing; on another system says what
# to install. Answers at once when nothing is missing.
#     deps.sh [bench | page | format]      also what benchmarks, page tests or the format check need
set -eu
build="gcc make pkg-config libc6-dev libjansson-dev libyaml-dev zlib1g-dev"
test="libcmocka-dev protobuf-compiler python3 python3-venv"
wanted="$build $test"
case "${1:-}" in
bench) wanted="$wanted g++ libsimgrid-dev" ;;
page) wanted="$wanted chromium" ;;
format) wanted="$wanted clang-format" ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
    for h in jansson.h yaml.h zlib.h cmocka.h; do
        if ! echo "#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <$h>" | ${CC:-cc} -E - >/dev/null 2>&1; then
            echo "stepcast needs: a C17 compiler, GNU make, pkg-config, jansson, libyaml, zlib, cmocka, python3 (headers too); <$h> was not found" >&2
            exit 1
        fi
    done
    exit 0
fi

missing=""
have=$(dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' $wanted 2>/dev/null | awk '$2 == "ii" {print $1}')
for p in $wanted; do
    case "
$have
" in *"
$p
"*) ;; *) missing="$missing $p" ;; esac
done
if [ "$(id -u)" = 0 ]; then as_root=""
elif command -v sudo >/dev/null 2>&1; then as_root="sudo"
else as_root="none"
fi
# For the report page; without them stepcast is built without it.
command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || [ "$as_root" = none ] || missing="$missing nodejs npm"
[ -z "$missing" ] && exit 0

if [ "$as_root" = none ]; then
    echo "please install as root: apt-get install$missing" >&2
    exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
