#!/bin/sh
# Compiles the library for wasm32, all but lib/base/platform_posix.c: what a
# browser needs is then another such file. Objects only. Says so and succeeds
# where the compiler is missing, unless WASM_REQUIRED is set.
#     WARN=… wasm.sh BUILD
set -eu
out=$1/wasm
clang=${WASM_CC:-clang}
libc=${WASM_LIBC:-/usr/include/wasm32-wasi}

skip() {
    echo "check-wasm: skipped, $1"
    [ -z "${WASM_REQUIRED:-}" ] || exit 1
    exit 0
}
command -v "$clang" >/dev/null 2>&1 || skip "there is no $clang"
"$clang" --print-targets | grep -q wasm32 || skip "$clang does not know wasm32"
[ -f "$libc/stdio.h" ] || skip "no C library for wasm32 in $libc (Debian: wasi-libc)"

# Of the system's headers only those of the four libraries: /usr/include as a
# whole would bring in another C library.
mkdir -p "$out/include"
for h in jansson.h jansson_config.h zlib.h zconf.h yaml.h sqlite3.h; do
    from=$(echo "#include <$h>" | ${CC:-cc} -E - | sed -n "s|^# 1 \"\(.*/$h\)\".*|\1|p" | head -1)
    ln -sf "$from" "$out/include/$h"
done

compile='for f; do
    o=$WASM_OUT/$(echo "$f" | tr / _).o
    $WASM_CLANG --target=wasm32-wasi -nostdlibinc -isystem "$WASM_LIBC" -I"$WASM_OUT/include" \
        -Iinclude -Ilib -std=c17 -O1 -fno-math-errno $WARN \
        -c "$f" -o "$o" || exit 255
done'
sources=$(find lib "$1/gen" -name '*.c' -not -name 'platform_*.c' | sort)
export WASM_OUT="$out" WASM_CLANG="$clang" WASM_LIBC="$libc"
echo "$sources" | xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 8 sh -c "$compile" sh
echo "check-wasm: $(echo "$sources" | wc -l) files compile for wasm32"
