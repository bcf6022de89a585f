#!/bin/sh
# Manual pages, completions and the Python package: install-docs.sh PROGRAM PREFIX
set -eu
program=$1 share=$2/share
mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" \
    "$share/fish/vendor_completions.d" "$share/stepcast/python"
"$program" manual >"$share/man/man1/stepcast.1"
for command in $("$program" help | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
    "$program" manual "$command" >"$share/man/man1/stepcast-$command.1"
done
"$program" completion bash >"$share/bash-completion/completions/stepcast"
"$program" completion zsh >"$share/zsh/site-functions/_stepcast"
"$program" completion fish >"$share/fish/vendor_completions.d/stepcast.fish"
# Made from the header by a script, so it needs Python; so would whoever uses it.
if command -v python3 >/dev/null 2>&1; then
    python3 -B bindings/python/backend.py stage "$share/stepcast/python"
else
    echo "no python3: installed without the Python package" >&2
fi
