#!/bin/sh
# All that is given out, and its checksums: release.sh BUILD VERSION
set -eu
build=$1 version=$2 folder=$1/release
rm -rf "$folder"
mkdir -p "$folder"
make -s "$build/stepcast-static" BUILD="$build"
cp "$build/stepcast-static" "$folder/stepcast-$version-linux-$(uname -m)"
sh scripts/deb.sh "$build/stepcast" "$folder" >/dev/null
make -s wheel BUILD="$build" >/dev/null
cp "$build"/wheel/*.whl "$folder/"
git archive --prefix="stepcast-$version/" -o "$folder/stepcast-$version.tar.gz" HEAD
(cd "$folder" && sha256sum -- * >SHA256SUMS)
ls "$folder"
