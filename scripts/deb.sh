#!/bin/sh
# A Debian package of the program, the library, manual pages and completions:
# deb.sh PROGRAM FOLDER
set -eu
program=$1 folder=$2
command -v dpkg-deb >/dev/null 2>&1 || {
    echo "deb.sh: error: dpkg-deb is not here" >&2
    exit 1
}
version=$("$program" --version | sed -n 's/^stepcast \([0-9.]*\).*/\1/p')
architecture=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
make -s install DESTDIR="$root" PREFIX=/usr BUILD="$(dirname "$program")"
mkdir -p "$root/DEBIAN" "$folder"
# debugging symbols are four fifths of it
find "$root" -name stepcast -type f -perm -100 -exec strip {} + -o -name 'lib*.so.*' -type f -exec strip --strip-unneeded {} + -o -name 'lib*.a' -exec strip --strip-debug {} +
chmod -R u=rwX,go=rX "$root"
# the packages that hold the libraries it is linked with
depends=$(ldd "$program" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | while read -r library; do
    dpkg-query -S "$(realpath "$library")" "$library" 2>/dev/null | sed -n '1s/[:,].*//p'
done | sort -u | paste -sd , | sed 's/,/, /g')
cat >"$root/DEBIAN/control" <<C
Package: stepcast
Version: $version
Architecture: $architecture
Maintainer: stepcast <stepcast@localhost>
Depends: $depends
Section: science
Priority: optional
Description: forecasts the training step of a large model on a GPU cluster
 Reads layer workloads, traces, models and captures of PyTorch programs, simulates
 compute, collectives, pipeline and network, and says how long a step takes.
C
dpkg-deb -Zxz -z1 --root-owner-group --build "$root" "$folder/stepcast_${version}_$architecture.deb" >/dev/null
echo "$folder/stepcast_${version}_$architecture.deb"
