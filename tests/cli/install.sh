#!/bin/sh
# What is installed and given out: a static program that needs nothing around it, a
# Debian package, and nothing left after uninstall.
# not of the program: static_in_an_empty_root|static_model_there|static_run_there|wheel_in_a_fresh_root|package_says_what_it_needs
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
# Fresh roots, for somebody who is not root: a user namespace lets anybody change the root.
chmod 755 "$tmp"
as_nobody() { # in / with an empty environment
    changed=$(command -v chroot) # /usr/sbin is not on everybody's PATH
    if [ "$(id -u)" = 0 ]; then (cd / && env -i PATH="$PATH" chroot="$changed" setpriv --reuid 65534 --regid 65534 --clear-groups "$@")
    else (cd / && env -i PATH="$PATH" chroot="$changed" "$@"); fi
}
in_root() { # ROOT COMMAND…
    as_nobody sh -c 'exec unshare -r "$chroot" "$@"' sh "$@"
}
mkdir "$tmp/empty" && cp "$BUILD/stepcast-static" "$tmp/empty/stepcast" && cp $seed "$tmp/empty/seed.txt"
chmod -R a+rX "$tmp/empty"
if ! as_nobody unshare -r true 2>/dev/null; then
    echo "skip static_in_an_empty_root [needs namespace]"
else
    expect static_in_an_empty_root 0 "step time" in_root "$tmp/empty" /stepcast run /seed.txt --cluster dgx-h100:1024
    check static_from_a_pipe_there "$(in_root "$tmp/empty" /stepcast run - --cluster dgx-h100:1024 --json - <$seed | sed -n 's/.*"step_time_us": \([0-9.]*\).*/\1/p' | head -1)" "$(answer "$STEPCAST")"
    # no /proc there: profiles and failures that are built in are read all the same
    expect static_model_there 0 "step time" in_root "$tmp/empty" /stepcast run --model llama3-8b --gpus 8 --zero 3
    expect static_run_there 0 "ETTR" in_root "$tmp/empty" /stepcast train --model llama3-8b --gpus 64 --tp 2 --global-batch 256 --zero 1 --recompute full --train-tokens 100G
fi

# the wheel beside nothing but an interpreter and the C library
python=/usr/bin/python3
library=$($python -c 'import sysconfig; print(sysconfig.get_paths()["stdlib"])' 2>/dev/null)
loader=$(ldd $python 2>/dev/null | sed -n 's/^[[:space:]]*\(\/[^ ]*ld-linux[^ ]*\).*/\1/p')
if [ -z "$library" ] || [ -z "$loader" ]; then echo "skip wheel_in_a_fresh_root [needs file:/usr/bin/python3]"
elif ! as_nobody unshare -rm mount --bind "$tmp" "$tmp" 2>/dev/null; then echo "skip wheel_in_a_fresh_root [needs namespace]"
else
    root=$tmp/python
    mkdir -p "$root/usr/bin" "$root$library" "$root/site" "$root$(dirname "$loader")"
    cp "$(realpath $python)" "$root/usr/bin/python3"
    cp "$loader" "$root$loader"
    ldd $python "$library"/lib-dynload/_ctypes*.so | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | sort -u | while read -r needed; do
        mkdir -p "$root$(dirname "$needed")" && cp "$needed" "$root$needed"
    done
    STEPCAST_LIBRARY="$PWD/$BUILD/libstepcast.so" python3 -B bindings/python/backend.py wheel "$tmp/wheel" >"$tmp/log" 2>&1
    python3 -m zipfile -e "$tmp"/wheel/*.whl "$root/site"
    chmod -R a+rX "$root"
    cat >"$root/ask.py" <<'P'
import sys
sys.path.insert(0, "/site")
import stepcast
print("step %.3f" % stepcast.evaluate(stepcast.Model("llama3-8b"), stepcast.Plan(zero=3, global_batch=8, seq=8192), stepcast.Cluster("dgx-h100:8")).step_us)
P
    step=$("$STEPCAST" run --model llama3-8b --cluster dgx-h100:8 --zero 3 --global-batch 8 --seq 8192 --json - 2>/dev/null | sed -n 's/.*"step_time_us": \([0-9.]*\).*/\1/p' | head -1)
    expect wheel_in_a_fresh_root 0 "step $(printf '%.3f' "$step")" as_nobody unshare -rm sh -c 'mount --bind "$2" "$1$2" && exec "$chroot" "$1" /usr/bin/python3 -I /ask.py' sh "$root" "$library"
fi

if ! command -v dpkg-deb >/dev/null 2>&1; then echo "skip package [needs command:dpkg-deb]"
else
    package=$(sh scripts/deb.sh "$BUILD/stepcast" "$tmp/deb")
    dpkg-deb -x "$package" "$tmp/unpacked"
    check package_answers "$(answer "$tmp/unpacked/usr/bin/stepcast")" "$(answer "$STEPCAST")"
    expect package_says_what_it_needs 0 "libjansson4" dpkg-deb -f "$package" Depends
    # into an empty root, and out of it again
    root=$tmp/system
    mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" && : >"$root/var/lib/dpkg/status"
    [ "$(id -u)" != 0 ] || chown -R 65534 "$root"
    chmod -R a+rX "$tmp/deb"
    if ! as_nobody unshare -r true 2>/dev/null; then echo "skip package_in_an_empty_root [needs namespace]"
    else
        as_nobody unshare -r dpkg --root="$root" --log=/dev/null --force-depends -i "$package" >"$tmp/log" 2>&1
        check package_in_an_empty_root "$(answer "$root/usr/bin/stepcast")" "$(answer "$STEPCAST")"
        as_nobody unshare -r dpkg --root="$root" --log=/dev/null -P stepcast >"$tmp/log" 2>&1
        check package_goes_whole "$(find "$root" -path "$root/var" -prune -o -type f -print -o -type l -print | wc -l) $("$STEPCAST" --version | wc -l)" "0 1"
    fi
fi

make -s install PREFIX="$tmp/usr" BUILD="$BUILD" >"$tmp/log" 2>&1
check installed "$(answer "$tmp/usr/bin/stepcast")" "$(answer "$STEPCAST")"
make -s uninstall PREFIX="$tmp/usr" BUILD="$BUILD" >"$tmp/log" 2>&1
check uninstalled "$(find "$tmp/usr" -type f -o -type l | wc -l) $("$STEPCAST" --version | wc -l)" "0 1"
