#!/bin/sh
# Manual pages and completions: complete, and read by the programs they are for.
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
ok() { if [ "$2" = "$3" ] && "$STEPCAST" --version >/dev/null 2>&1; then echo "ok manual: $1"; else echo "not ok manual: $1: $2, not $3"; fi; }
commands=$("$STEPCAST" help | sed -n 's/^  \([a-z-]*\) .*/\1/p')

for shell in bash zsh fish; do "$STEPCAST" completion $shell >"$t/$shell"; done
for command in $commands; do
    "$STEPCAST" manual "$command" >"$t/$command.1"
    "$STEPCAST" help "$command" all | sed -n 's/^ .* --\([a-z0-9-]*\).*/\1/p' >"$t/$command.options"
done
missing=$(python3 -S - "$t" $commands <<'PY'
import sys
read = lambda name: open(f"{sys.argv[1]}/{name}").read()
bash, zsh, fish = map(read, ("bash", "zsh", "fish"))
for command in sys.argv[2:]:
    manual = read(f"{command}.1").replace("\\-", "-")
    for option in read(f"{command}.options").split():
        for where, text, wanted in (("man", manual, f"--{option}"), ("bash", bash, f"--{option}"),
                                    ("zsh", zsh, f"--{option}"), ("fish", fish, f"-l {option}")):
            if wanted not in text:
                print(f"{command}:{option}:{where}")
PY
)
ok "every option of every command" "$missing" ""
if command -v groff >/dev/null 2>&1; then
    ok "troff has nothing to say" "$(for f in "$t"/*.1; do groff -man -ww -z "$f" 2>&1; done)" ""
else echo "skip manual: troff [needs command:groff]"; fi
if command -v bash >/dev/null 2>&1; then
    bash -n "$t/bash"; ok "bash reads its completion" $? 0
    reply=$(bash -c ". '$t/bash'; COMP_WORDS=(stepcast run --gan) COMP_CWORD=2; _stepcast; echo \"\${COMPREPLY[*]}\"" 2>/dev/null)
    ok "bash completes an option" "$reply" "--gantt"
    reply=$(bash -c ". '$t/bash'; COMP_WORDS=(stepcast comp) COMP_CWORD=1; _stepcast; echo \"\${COMPREPLY[*]}\"" 2>/dev/null)
    ok "bash completes a command" "$reply" "compare completion"
    complete() { # words…: what bash makes of the last one
        words=$*
        bash -c ". '$t/bash'; COMP_WORDS=($words); [ \"\$1\" = new ] && COMP_WORDS+=(''); \
            COMP_CWORD=\$((\${#COMP_WORDS[@]} - 1)); _stepcast; echo \"\${COMPREPLY[*]}\"" _ "$new" 2>/dev/null
    }
    new=
    ok "bash completes a schedule" "$(complete stepcast run --schedule zb)" "zb-h1 zb-2p zb-v"
    ok "bash completes a model" "$(complete stepcast plans --model llama3-7)" "llama3-70b"
    ok "bash completes a cluster by its letter" "$(complete stepcast run -c dgx-h)" "dgx-h100"
    ok "bash completes an engine" "$(complete stepcast run --net pac)" "packet"
    ok "bash completes a GPU" "$(complete stepcast run --gpu h100-s)" "h100-sxm"
    ok "bash completes an engine behind =" "$(complete stepcast run --net = fl)" "flow"
    ok "bash completes the last of a list" "$(complete stepcast run --recompute-modules mlp,lay)" "mlp,layernorm"
    ok "bash completes a format" "$(complete stepcast show --format chak)" "chakra"
    ok "bash completes what to convert to" "$(complete stepcast convert --to oper)" "operator-table"
    ok "bash completes the software" "$(complete stepcast run --fusion e)" "eager"
    new=new
    ok "bash completes nothing typed yet" "$(complete stepcast run --zero)" "0 1 2 3"
fi
# The values are in every shell's completion, run or not.
values="--schedule=.*(auto 1f1b gpipe interleaved zb-h1 zb-2p zb-v dualpipev dualpipe)|-l schedule -x -a 'auto 1f1b gpipe interleaved zb-h1 zb-2p zb-v dualpipev dualpipe'"
ok "zsh has the schedules" "$(grep -c -e "${values%%|*}" "$t/zsh" | sed 's/[1-9][0-9]*/some/')" some
ok "fish has the schedules" "$(grep -c -e "${values#*|}" "$t/fish" | sed 's/[1-9][0-9]*/some/')" some
ok "zsh has the models" "$(grep -c '^    compadd -- .* llama3-70b ' "$t/zsh")" 1
ok "fish has the models" "$(grep -c "from run' -l model -r -a '.* llama3-70b " "$t/fish")" 1
if command -v zsh >/dev/null 2>&1; then
    zsh -n "$t/zsh"; ok "zsh reads its completion" $? 0
    mkdir "$t/functions"
    cp "$t/zsh" "$t/functions/_stepcast"
    complete() { timeout 20 zsh -f tests/tools/complete.zsh "$t/functions" "$1" "$2"; }
    ok "zsh completes a schedule" "$(complete 'stepcast run --schedule zb-h' 'zb-h1')" ok
    ok "zsh completes a model" "$(complete 'stepcast plans --model llama3-7' 'llama3-70b')" ok
else echo "skip manual: zsh reads its completion [needs command:zsh]"; fi
if command -v fish >/dev/null 2>&1; then fish -n "$t/fish"; ok "fish reads its completion" $? 0
    ok "fish completes a schedule" "$(fish -c "source $t/fish; complete -C 'stepcast run --schedule zb-h'" | cut -f1)" zb-h1; else echo "skip manual: fish reads its completion [needs command:fish]"; fi
"$STEPCAST" comprae 2>"$t/err"; ok "a misspelt command" "$?$(grep -c "did you mean 'compare'" "$t/err")" 21
"$STEPCAST" run --ganttt x 2>"$t/err"; ok "a misspelt option" "$?$(grep -c 'did you mean --gantt?' "$t/err")" 21
"$STEPCAST" help --fail >"$t/out"; ok "help of an option, and who has it" "$?$(grep -c -e '--fail LINK .*out of service' -e '^of: run, .*, flows, ' "$t/out")" 02
"$STEPCAST" help tokens >"$t/out"; ok "help of an option that two commands have for themselves" "$?$(grep -c '^of: train$\|^of: run, show, ' "$t/out")" 02
"$STEPCAST" help --fial 2>"$t/err"; ok "help of a misspelt option" "$?$(grep -c 'did you mean --fail?' "$t/err")" 21
"$STEPCAST" manual nothing 2>/dev/null; ok "a manual of no command" $? 2
"$STEPCAST" completion tcsh 2>/dev/null; ok "a completion of no shell" $? 2
make -s install PREFIX="$t/usr" BUILD="$BUILD" >"$t/log" 2>&1; ok "make install" $? 0
for f in bin/stepcast share/man/man1/stepcast.1 share/man/man1/stepcast-run.1 share/bash-completion/completions/stepcast \
    share/zsh/site-functions/_stepcast share/fish/vendor_completions.d/stepcast.fish share/stepcast/python/stepcast/__init__.py; do
    [ -s "$t/usr/$f" ] || echo "not ok manual: $f is not installed"
done
(cd / && STEPCAST_LIBRARY= PYTHONPATH="$t/usr/share/stepcast/python" python3 -c 'import stepcast; print(stepcast.version())' >"$t/out" 2>&1)
status=$?
case $BUILD in *san*) echo "skip manual: the installed module [needs no-sanitizer]" ;; *) ok "the installed module finds its library" $status 0 ;; esac
