#!/bin/sh
# Builds the tracked sources twice from nothing, in folders of different names, and
# compares the program and both libraries byte by byte.
#     reproducible.sh [JOBS]
set -eu
jobs=${1:-$(getconf _NPROCESSORS_ONLN)}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
version=$(sed -n 's/.*SC_VERSION "\(.*\)"/\1/p' include/stepcast/stepcast.h)
files="stepcast libstepcast.a libstepcast.so.$version"
page=build/web/report.html # needs packages that only a network has
for copy in one/stepcast another/place/of/it; do
    mkdir -p "$tmp/$copy/build/web"
    git ls-files -z | tar -c --null -T - 2>/dev/null | tar -x -C "$tmp/$copy"
    [ -f $page ] && cp $page "$tmp/$copy/$page" && touch -d '+1 hour' "$tmp/$copy/$page"
    CCACHE_DISABLE=1 make -s -j "$jobs" -C "$tmp/$copy" all >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
done
for f in $files; do
    cmp "$tmp/one/stepcast/build/$f" "$tmp/another/place/of/it/build/$f" || { echo "not reproducible: $f differs"; exit 1; }
done
echo "reproducible: $files have the same bytes"
