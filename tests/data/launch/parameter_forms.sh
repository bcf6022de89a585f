#!/bin/bash
# args: alpha beta gamma delta
EMPTY=
FULL=/data/runs/llama/llama3.tar.gz
python defaults.py "${EMPTY:-d1}" "${EMPTY-d2}" "${NONE:-d3}" "${NONE-d4}" "${FULL:-d5}" "${EMPTY:+p1}" "${EMPTY+p2}" "${FULL:+p3}" "${NONE+p4}"
python assigned.py "${NONE:=set here}" "$NONE" "${EMPTY=kept}" "$EMPTY" "${EMPTY:=now}" "$EMPTY"
python cut.py "${FULL#*/}" "${FULL##*/}" "${FULL%.*}" "${FULL%%.*}" "${FULL%/*}" "${FULL#none}"
python replaced.py "${FULL/llama/mistral}" "${FULL//llama/mistral}" "${FULL/#\/data/\/mnt}" "${FULL/%gz/xz}" "${FULL//[0-9]/N}" "${FULL//\//_}"
python parts.py "${FULL:6}" "${FULL:6:4}" "${FULL: -6}" "${FULL: -6:3}" "${FULL:0:-7}" "${#FULL}" "${#EMPTY}"
python cases.py "${FULL^^}" "${FULL^}" "${EMPTY^}" "${FULL,,}"
python given.py "$#" "${@:2}" "${@:2:2}" "${*:1:1}" "$3" "${4}" "${5:-no fifth}"
A=(one two "three four" five)
python items.py "${A[@]}" "${A[1]}" "${A[-1]}" "${#A[@]}" "${#A[2]}" "${A[@]:1:2}" "${A[@]:2}" "${!A[@]}" "${A[*]}"
A+=(six)
A[1]=zwei
python changed.py "${A[@]}" "${A[@]/o/0}" "${A[@]#t}" "${#A[@]}"
NAME=FULL
python named.py "${!NAME}"
IFS=: read -r LEFT MIDDLE REST <<<"a:b:c:d"
python fields.py "$LEFT" "$MIDDLE" "$REST"
LIST="x::y"
IFS=:
python split.py $LIST
unset IFS
LIST="  p   q  "
python blanks.py $LIST "$LIST"
python braces.py {1..4} {4..1} {a,b}{1,2} pre{x,y}post {-1..1}
shift 2
python shifted.py "$#" "$1" "$2"
set -- u v w
python set.py "$#" "$@" "$*"
