#!/bin/bash
# every comparison, and loops that are left in the middle
number() { if [ "$1" "$2" "$3" ]; then echo yes; else echo no; fi; }
python numbers.py $(number 2 -eq 2) $(number 2 -ne 2) $(number 1 -lt 2) $(number 2 -lt 2) $(number 2 -le 2) $(number 3 -gt 2) $(number 2 -gt 2) $(number 2 -ge 2) $(number 1 -ge 2)
python words.py $(number a = a) $(number a = b) $(number a != b) $(number a != a)
T=train_8b.py
for what in 1 2 3 4 5 6 7 8 9; do
    R=no
    case $what in
    1) [[ $T == *.py ]] && R=yes ;;
    2) [[ $T == train_[0-9]b* ]] && R=yes ;;
    3) [[ $T == train_[!0-9]* ]] && R=yes ;;
    4) [[ $T != *.sh && ( -z "" || -n "" ) ]] && R=yes ;;
    5) [[ -n $T && -z $T ]] && R=yes ;;
    6) [[ $T < zebra ]] && R=yes ;;
    7) [ -n "$T" -a 3 -gt 2 ] && R=yes ;;
    8) [ -z "$T" -o 2 -gt 3 ] && R=yes ;;
    9) [ -z "$T" -o 4 -gt 3 ] && R=yes ;;
    esac
    python tested.py $what $R
done
[[ $T =~ train_([0-9]+)b ]] && python matched.py "${BASH_REMATCH[1]}" "${BASH_REMATCH[0]}"
for i in 1 2 3 4 5; do
    [ $i = 2 ] && continue
    [ $i = 4 ] && break
    python once.py $i
done
for i in 1 2 3; do
    for j in a b c; do
        [ $j = b ] && [ $i = 1 ] && continue 2
        [ $i = 3 ] && break 2
        python twice.py $i $j
    done
    python after.py $i
done
n=0
while [ $n -lt 3 ]; do n=$((n + 1)); python while.py $n; done
until [ $n -eq 0 ]; do n=$((n - 1)); done
python until.py $n
for ((k = 8; k > 0; k /= 2)); do python for.py $k; done
for s in $(seq 3) $(seq 2 4) $(seq 10 -5 0) $(seq 1 4 10); do python seq.py $s; done
f() { echo first; }
f() { echo second; }
python function.py $(f) $(basename /a/b/c.sh .sh) $(dirname /a/b/c.sh) $(printf '%03d-%s|' 7 x)
g() { local T=inner; U=$T; return 3; }
g
python returned.py $? $T $U
