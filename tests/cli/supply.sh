#!/bin/sh
# What was built, and what it does to the world around it: hardened, linked with
# what the list says, no network, no other programs.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
program=$("$STEPCAST" --version >/dev/null && echo "$STEPCAST")

# elf NAME PATTERN WHERE…: readelf says it of the program
elf() {
    name=$1 pattern=$2
    shift 2
    if readelf "$@" "$program" 2>/dev/null | grep -q -e "$pattern"; then echo "ok $name"; else echo "not ok $name"; fi
}
if ! command -v readelf >/dev/null 2>&1; then echo "skip hardening [needs command:readelf]"
else
    case $BUILD in
    *san*) echo "skip hardening [needs no-sanitizer]" ;;
    *)
        elf position_independent 'Type: *DYN' -h
        elf relocations_read_only GNU_RELRO -l
        elf bound_at_start BIND_NOW -d
        elf stack_protector __stack_chk_fail --dyn-syms -W
        elf fortified '__[a-z]*_chk@' --dyn-syms -W
        check stack_not_executable "$(readelf -lW "$program" 2>/dev/null | awk '/GNU_STACK/ {print $7}')" RW
        check linked_with "$(readelf -d "$program" 2>/dev/null | sed -n 's/.*NEEDED.*\[\(lib[a-z0-9]*\)[-.].*/\1/p' | sort | paste -sd ' ')" "libc libjansson libm libsqlite3 libyaml libz"
        ;;
    esac
    python3 -B scripts/sbom.py "$program" "$tmp/a.json" >/dev/null && python3 -B scripts/sbom.py "$program" "$tmp/b.json" >/dev/null
    check list_is_the_same_again "$(test -s "$tmp/a.json" && cmp "$tmp/a.json" "$tmp/b.json" && "$program" --version >/dev/null && echo same)" same
    check list_has_what_is_linked "$(python3 - "$tmp/a.json" "$program" <<'P'
import json, re, subprocess, sys
listed = {n for p in json.load(open(sys.argv[1]))["packages"] for n in p.get("comment", "")[len("linked as "):].split(", ")}
needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", subprocess.run(["readelf", "-d", sys.argv[2]], capture_output=True, text=True).stdout))
print(len(needed & listed) == len(needed) >= 4)
P
)" True
fi

# a network namespace without interfaces changes nothing …
model="--model llama3-8b --cluster dgx-h100:8 --tp 2 --global-batch 16 --seq 2048 --ignore-memory"
if unshare -rn true 2>/dev/null; then
    "$STEPCAST" run $model --json - >"$tmp/plain.json"
    unshare -rn "$STEPCAST" run $model --json - >"$tmp/alone.json"
    check without_network "$(test -s "$tmp/plain.json" && cmp "$tmp/plain.json" "$tmp/alone.json" && echo same)" same
else echo "skip without_network [needs namespace]"; fi
# … for nobody asks: no sockets, no other programs, nothing written that was not named
if command -v strace >/dev/null 2>&1 && strace -o /dev/null true 2>/dev/null; then
    calls() { # command …: system calls that are none of its business
        strace -f -qq -e trace=%network,execve,fork,vfork -o "$tmp/calls" "$@" >"$tmp/out" 2>&1
        echo "$? $(grep -v -c -e 'execve("'"$STEPCAST" -e '+++ exited' "$tmp/calls")"
    }
    case $BUILD in
    *san*) echo "skip no_sockets [needs no-sanitizer]" ;;
    *)
        for words in "run $model --html $tmp/x.html --json $tmp/x.json --trace $tmp/x.trace" "plans --model gpt2 --cluster dgx-h100:8 --global-batch 8 -j 2" \
            "coll all_reduce --net flow" "validate data/truth/nemo_steps.csv" "run tests/data/seed_003.txt" "list models"; do
            check "no_sockets ${words%% *}" "$(calls "$STEPCAST" $words)" "0 0"
        done
        ;;
    esac
else echo "skip no_sockets [needs command:strace]"; fi
