#!/bin/sh
# Manual pages and completions: complete, and read by the programs they are for.
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
ok() { if [ "$2" = "$3" ]; then echo "ok manual: $1"; else echo "not ok manual: $1: $2, not $3"; fi; }
commands=$("$STEPCAST" help | sed -n 's/^  \([a-z-]*\) .*/\1/p')

missing=""
for shell in bash zsh fish; do "$STEPCAST" completion $shell >"$t/$shell"; done
for command in $commands; do
    "$STEPCAST" manual "$command" >"$t/$command.1"
    for option in $("$STEPCAST" help "$command" | sed -n 's/^ .* --\([a-z0-9-]*\).*/\1/p'); do
        plain=$(sed 's/\\-/-/g' "$t/$command.1")
        case $plain in *"--$option"*) ;; *) missing="$missing $command:$option:man" ;; esac
        grep -q -e "--$option" "$t/bash" || missing="$missing $command:$option:bash"
        grep -q -e "--$option" "$t/zsh" || missing="$missing $command:$option:zsh"
        grep -q -e "-l $option" "$t/fish" || missing="$missing $command:$option:fish"
    done
done
ok "every option of every command" "$missing" ""
if command -v groff >/dev/null 2>&1; then
    ok "troff has nothing to say" "$(for f in "$t"/*.1; do groff -man -ww -z "$f" 2>&1; done)" ""
else echo "skip manual: groff is missing"; fi
if command -v bash >/dev/null 2>&1; then
    bash -n "$t/bash"; ok "bash reads its completion" $? 0
    reply=$(bash -c ". '$t/bash'; COMP_WORDS=(stepcast run --gan) COMP_CWORD=2; _stepcast; echo \"\${COMPREPLY[*]}\"" 2>/dev/null)
    ok "bash completes an option" "$reply" "--gantt"
    reply=$(bash -c ". '$t/bash'; COMP_WORDS=(stepcast comp) COMP_CWORD=1; _stepcast; echo \"\${COMPREPLY[*]}\"" 2>/dev/null)
    ok "bash completes a command" "$reply" "compare completion"
fi
if command -v zsh >/dev/null 2>&1; then zsh -n "$t/zsh"; ok "zsh reads its completion" $? 0; else echo "skip manual: zsh is missing"; fi
if command -v fish >/dev/null 2>&1; then fish -n "$t/fish"; ok "fish reads its completion" $? 0; else echo "skip manual: fish is missing"; fi
"$STEPCAST" comprae 2>"$t/err"; ok "a misspelt command" "$?$(grep -c "did you mean 'compare'" "$t/err")" 21
"$STEPCAST" run --ganttt x 2>"$t/err"; ok "a misspelt option" "$?$(grep -c 'did you mean --gantt?' "$t/err")" 21
"$STEPCAST" manual nothing 2>/dev/null; ok "a manual of no command" $? 2
"$STEPCAST" completion tcsh 2>/dev/null; ok "a completion of no shell" $? 2
make -s install PREFIX="$t/usr" BUILD="$BUILD" >"$t/log" 2>&1; ok "make install" $? 0
for f in bin/stepcast share/man/man1/stepcast.1 share/man/man1/stepcast-run.1 share/bash-completion/completions/stepcast \
    share/zsh/site-functions/_stepcast share/fish/vendor_completions.d/stepcast.fish share/stepcast/python/stepcast/__init__.py; do
    [ -s "$t/usr/$f" ] || echo "not ok manual: $f is not installed"
done
(cd / && STEPCAST_LIBRARY= PYTHONPATH="$t/usr/share/stepcast/python" python3 -c 'import stepcast; print(stepcast.version())' >"$t/out" 2>&1)
status=$?
case $BUILD in *san*) echo "skip manual: the installed module (a sanitizer's build)" ;; *) ok "the installed module finds its library" $status 0 ;; esac
