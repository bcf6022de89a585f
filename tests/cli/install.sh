#!/bin/sh
# What is installed and given out: a static program that needs nothing around it, a
# Debian package, and nothing left after uninstall.
# not of the program: static_in_an_empty_root|package_says_what_it_needs
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
case $BUILD in
*san*)
    echo "skip install [needs no-sanitizer]"
    exit 0
    ;;
esac
seed=tests/data/seed_003.txt
answer() { "$@" run $seed --cluster dgx-h100:1024 --json - | sed -n 's/.*"step_time_us": \([0-9.]*\).*/\1/p' | head -1; }

make -s static BUILD="$BUILD" >"$tmp/log" 2>&1
check static_needs_no_library "$(readelf -d "$BUILD/stepcast-static" 2>/dev/null | grep -c NEEDED) $("$STEPCAST" --version | wc -l)" "0 1"
check static_answers_the_same "$(answer "$BUILD/stepcast-static")" "$(answer "$STEPCAST")"
mkdir "$tmp/empty" && cp "$BUILD/stepcast-static" "$tmp/empty/stepcast" && cp $seed "$tmp/empty/seed.txt"
if [ "$(id -u)" != 0 ]; then echo "skip static_in_an_empty_root [needs root]"
else expect static_in_an_empty_root 0 "step time" chroot "$tmp/empty" /stepcast run /seed.txt --cluster dgx-h100:1024; fi

if ! command -v dpkg-deb >/dev/null 2>&1; then echo "skip package [needs command:dpkg-deb]"
else
    package=$(sh scripts/deb.sh "$BUILD/stepcast" "$tmp")
    dpkg-deb -x "$package" "$tmp/unpacked"
    check package_answers "$(answer "$tmp/unpacked/usr/bin/stepcast")" "$(answer "$STEPCAST")"
    expect package_says_what_it_needs 0 "libjansson4" dpkg-deb -f "$package" Depends
fi

make -s install PREFIX="$tmp/usr" BUILD="$BUILD" >"$tmp/log" 2>&1
check installed "$(answer "$tmp/usr/bin/stepcast")" "$(answer "$STEPCAST")"
make -s uninstall PREFIX="$tmp/usr" BUILD="$BUILD" >"$tmp/log" 2>&1
check uninstalled "$(find "$tmp/usr" -type f -o -type l | wc -l) $("$STEPCAST" --version | wc -l)" "0 1"
