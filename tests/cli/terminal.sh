#!/bin/sh
# What is different on a terminal: colours by the usual rules, the width, and
# progress of runs that take their time.
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
ok() { if [ "$2" = "$3" ]; then echo "ok terminal: $1"; else echo "not ok terminal: $1: $2, not $3"; fi; }
escape=$(printf '\033')
python3 tests/tools/workload.py 4 8 2 >"$t/w.txt"
unset NO_COLOR

"$STEPCAST" run "$t/w.txt" --gantt >"$t/pipe"
ok "no colours in a pipe" "$(test -s "$t/pipe" && grep -c "$escape" "$t/pipe")" 0
ok "whose breakdown it is: a quarter of 32 ranks" "$(grep -c 'shown: stage 0 (8 ranks), the last to finish; stage 3 (8 ranks) finishes first' "$t/pipe")" 1
"$STEPCAST" run "$t/w.txt" --slow rank:5=1.5 --what-if --amdahl >"$t/slow"
ok "no word of ours for equal ranks" "$(grep -c 'step time' "$t/slow") $(grep -c -w -i -e class -e classes "$t/slow")" "1 0"
ok "a line per stage" "$(grep -c '^ *stage [0-3] |' "$t/pipe")" 4
if ! python3 -S -c 'import pty; pty.openpty()' 2>/dev/null; then
    echo "skip terminal [needs pty]"
    exit 0
fi
python3 tests/tools/terminal.py 72 sh -c "sleep 0.2; exec $STEPCAST run $t/w.txt --gantt" >"$t/tty"
ok "colours on a terminal" "$([ "$(grep -c "$escape" "$t/tty")" -gt 4 ] && echo yes)" yes
NO_COLOR=1 python3 tests/tools/terminal.py 72 sh -c "sleep 0.2; exec $STEPCAST run $t/w.txt --gantt" >"$t/plain"
ok "NO_COLOR" "$(grep -c 'step time' "$t/plain") $(grep -c "$escape" "$t/plain")" "1 0"
ok "the picture has the width of the terminal" "$(python3 -S -c '
import sys
print(max(len(l.rstrip("\n")) for l in open(sys.argv[1]) if l.lstrip().startswith("stage ") and "|" in l))' "$t/plain")" 72
# under GPipe no period repeats, so that nothing is skipped and the run takes its time
python3 tests/tools/workload.py 256 3500 1 >"$t/long.txt"
python3 tests/tools/terminal.py 80 "$STEPCAST" run "$t/long.txt" --schedule gpipe >"$t/progress"
ok "progress on a terminal" "$([ "$(tr '\r' '\n' <"$t/progress" | grep -c '^simulating .* %')" -gt 1 ] && echo yes)" yes
"$STEPCAST" run "$t/long.txt" --schedule gpipe >/dev/null 2>"$t/quiet"
ok "none in a pipe" "$? $(wc -c <"$t/quiet" | tr -d ' ')" "0 0"
python3 tests/tools/terminal.py 80 "$STEPCAST" coll alltoall --gpus 64 --cluster dgx-a100 --net packet -b 192M -e 192M >"$t/progress"
ok "time left of packets" "$([ "$(tr '\r' '\n' <"$t/progress" | grep -c '^packets .* left')" -gt 1 ] && echo yes)" yes
# where files went, unless it is not wanted; nothing of it in a pipe
python3 tests/tools/terminal.py 80 "$STEPCAST" run "$t/w.txt" --json "$t/a.json" --csv "$t/a.csv" >"$t/tty"
ok "where files went" "$(tr -d '\r' <"$t/tty" | grep -c "^wrote $t/a\.\(json\|csv\)$")" 2
python3 tests/tools/terminal.py 80 "$STEPCAST" run "$t/w.txt" --json "$t/a.json" --quiet >"$t/tty"
ok "--quiet" "$(grep -c 'step time' "$t/tty") $(grep -c '^wrote' "$t/tty")" "1 0"
python3 tests/tools/terminal.py 80 "$STEPCAST" run "$t/long.txt" --schedule gpipe --quiet >"$t/progress"
ok "--quiet shows no progress" "$(grep -c 'step time' "$t/progress") $(tr '\r' '\n' <"$t/progress" | grep -c '^simulating')" "1 0"
"$STEPCAST" run "$t/w.txt" --gantt --color always >"$t/pipe"
ok "--color always" "$([ "$(grep -c "$escape" "$t/pipe")" -gt 4 ] && echo yes)" yes
python3 tests/tools/terminal.py 72 "$STEPCAST" run "$t/w.txt" --gantt --color=never >"$t/plain"
ok "--color never" "$(grep -c 'step time' "$t/plain") $(grep -c "$escape" "$t/plain")" "1 0"
# words that are a value of another option say nothing about the terminal
tool=$PWD/tests/tools/terminal.py
(cd "$t" && python3 "$tool" 80 "$STEPCAST" run w.txt --json=--quiet >tty)
ok "a file called --quiet" "$(grep -c '^wrote --quiet' "$t/tty")" 1
"$STEPCAST" run "$t/w.txt" --color red >/dev/null 2>&1; ok "--color red" $? 2
# help is broken at blanks, under where the text began; in a pipe a line is an option
python3 tests/tools/terminal.py 72 sh -c "sleep 0.2; exec $STEPCAST help train all" >"$t/help"
ok "help has the width of the terminal" "$(grep -c -e '^  *--train-tokens' "$t/help") $(python3 -S -c '
import sys
print(all(len(l.rstrip("\r\n")) <= 72 for l in open(sys.argv[1])))' "$t/help")" "1 True"
"$STEPCAST" help train all | tr -s ' \n' ' ' >"$t/whole"
ok "and all its words" "$(tr -d '\r' <"$t/help" | tr -s ' \n' ' ')" "$(grep . "$t/whole" || echo some)"
# a narrow terminal: one line of progress stays one line, and is gone when the answer comes
python3 tests/tools/terminal.py 44 sh -c "sleep 0.2; exec $STEPCAST run $t/long.txt --schedule gpipe" >"$t/progress"
ok "progress on a narrow terminal" "$(python3 -S -c '
import sys
text = open(sys.argv[1], newline="").read()
states = [s for s in text.replace("\n", "\r").split("\r") if s.startswith("simulating")]
blank = text[text.rindex("simulating"):].split("\r")[1]
print(len(states) > 1, max(map(len, states)) <= 44, not blank.strip() and len(blank) <= 44)' "$t/progress")" "True True True"
