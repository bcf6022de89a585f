#!/bin/sh
# not of the program: .*
# scripts/deps.sh: what a build asks for, and what it says where nothing can be
# installed. The system is one of our making: a folder with few programs in it.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect

mkdir "$tmp/bin"
for tool in sh awk cat printf; do ln -s "$(command -v $tool)" "$tmp/bin/$tool"; done
tool() { printf '#!/bin/sh\n%s\n' "$2" >"$tmp/bin/$1" && chmod +x "$tmp/bin/$1"; }
tool id 'echo 1000'
# a compiler that finds the headers named in $tmp/headers
tool cc "h=\$(awk -F'[<>]' '{h = \$2} END {print h}'); case \" \$(cat $tmp/headers) \" in *\" \$h \"*) exit 0;; esac; exit 1"
deps() { env -i PATH="$tmp/bin" sh scripts/deps.sh "$@"; }
debian() { # the packages that are installed
    tool dpkg-query "for p in $*; do echo \"\$p ii \"; done"
    tool apt-get "echo apt-get \"\$@\" >>$tmp/calls"
}
rm -f "$tmp/calls"

# another system
echo "jansson.h yaml.h sqlite3.h zlib.h" >"$tmp/headers"
check build_without_test_packages "$(deps 2>&1; echo $?)" 0
expect test_without_cmocka 1 "not found: <cmocka.h>, protoc, python3" deps test
echo "yaml.h cmocka.h" >"$tmp/headers"
expect build_without_headers 1 "not found: <jansson.h>, <sqlite3.h>, <zlib.h>" deps

# Debian without root: packages are named, and only where the thing itself is not there
debian gcc make pkg-config libc6-dev libyaml-dev
expect debian_without_root 1 "apt-get install libjansson-dev libsqlite3-dev zlib1g-dev" deps
echo "jansson.h yaml.h sqlite3.h zlib.h" >"$tmp/headers"
check debian_other_sources "$(deps 2>&1; echo $?)" 0
check_empty nothing_installed "$(cat "$tmp/calls" 2>/dev/null)"

# Debian with root: a build installs no package of the tests
tool id 'echo 0'
tool node true
tool npm true
debian gcc make pkg-config libc6-dev libyaml-dev
deps >/dev/null
check root_installs "$(awk '/ install/ {print $(NF - 1), $NF}' "$tmp/calls")" "libsqlite3-dev zlib1g-dev"
debian gcc make pkg-config libc6-dev libyaml-dev libjansson-dev libsqlite3-dev zlib1g-dev
rm "$tmp/calls"
deps
check_empty root_has_all "$(cat "$tmp/calls" 2>/dev/null)"
expect unknown_group 2 "no group 'tests'" deps tests
