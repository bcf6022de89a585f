#!/bin/sh
# What a careless or hostile user may ask for: a clear refusal or the right
# answer, never a wrong number, a hang or two outputs in one file.
seed=tests/data/seed_003.txt
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
run() { "$STEPCAST" run "$@" --json - | grep '"step_time_us"' | head -1; }

# standard output holds one thing, and it must take it
for what in "--json -" "--csv -" "--trace -" "--html -" ""; do
    "$STEPCAST" run $seed $what >/dev/full 2>"$tmp/err"
    check "full_disk $what" "$? $(head -1 "$tmp/err")" "4 error: cannot write to standard output"
done
# … also where a file is called so
case $STEPCAST in /*) program=$STEPCAST ;; *) program=$PWD/$STEPCAST ;; esac
mkdir "$tmp/here" && cp $seed "$tmp/here/-"
check stdin_beside_a_file "$(cd "$tmp/here" && "$program" run - --json - <- | head -c 1)" "{"
expect two_on_stdout 2 "both write to standard output" "$STEPCAST" run $seed --json - --csv -
expect two_in_one_file 2 "both write to $tmp/a" "$STEPCAST" run $seed --json "$tmp/a" --trace "$tmp/a"
check nothing_written "$(grep -c "both write" "$tmp/err") $(ls "$tmp/a" 2>/dev/null)" "1 "
check only_a_trace "$("$STEPCAST" run $seed --trace - | head -c 18)" '{"displayTimeUnit"'
check only_a_page "$("$STEPCAST" run $seed --html - | tail -n 1)" "</html>"

# times past what the clock can hold
for what in "--pp-comm 18446744073709551615" "--pp-comm 18446744073709551615 --net loggops" \
    "--scale attention_column=1e300" "--gpu-speedup 1e-300" "--loggops 1000s,1000s,1000s,1000s,1000s"; do
    expect "too_long $what" 3 "the step takes more than 26 days" "$STEPCAST" run $seed $what
done

# where nothing costs anything, the order of ranks cannot matter
plain=$(run $seed --cluster ideal)
for order in pp-dp-tp dp-pp-tp dp-tp-pp; do check "order $order" "$(run $seed --cluster ideal --order $order)" "$plain"; done
# … and where NVLink is dearer to leave, tensor parallel across nodes is slower
faster() { awk -v a="${1#*: }" -v b="${2#*: }" 'BEGIN { print (a + 0 < b + 0) ? "yes" : "no" }'; }
check order_matters "$(faster "$(run $seed)" "$(run $seed --order dp-pp-tp)")" yes

# nothing is ignored in silence
expect model_and_input 2 "say what is trained" "$STEPCAST" run $seed --model gpt3-175b
expect unused_option 0 "--zero has no effect on this input" "$STEPCAST" run $seed --zero 3
"$STEPCAST" run $seed --vpp 1 --gpus 1024 --cluster dgx-h100 --slow rank:1=1.5 --net analytic --pp-comm 1MiB >"$tmp/out"
check used_options "$(grep -c 'step time' "$tmp/out") $(grep -c 'no effect' "$tmp/out")" "1 0"
expect loggops_default 0 "no --loggops given" "$STEPCAST" run $seed --net loggops

# names of pipes
expect empty_device 3 "/dev/null: error: the file is empty" "$STEPCAST" run /dev/null
check stdin_in_result "$("$STEPCAST" run - --json - <$seed | grep '"files"')" '    "files": ["<stdin>"],'

# more than can be simulated
expect micro_batches 3 "more passes than" "$STEPCAST" run $seed --micro-batches 1000000000
expect global_batch 3 "more passes than" "$STEPCAST" run --model gpt3-175b --gpus 64 --tp 8 --pp 8 --seq 2048 --global-batch 1000000000 --ignore-memory
expect sizes_by_factor 2 "more than 100000 sizes" "$STEPCAST" coll all_reduce -b 8 -e 8G -f 1.0000001
expect sizes_by_step 2 "more than 100000 sizes" "$STEPCAST" coll all_reduce -b 8 -e 8G -i 8
expect sizes_of_all_kinds 2 "8 EiB" "$STEPCAST" coll all_reduce -b 1 -e 18446744073709551615 -f 3
expect sizes_that_end 0 "Avg bus bandwidth" "$STEPCAST" coll all_reduce -b 1 -e 1000T -f 3

# clusters that say less, or more, than they seem to
odd() { "$STEPCAST" coll alltoall --cluster "gpu=h100 gpus=1024 node=8 nvlink=450GB/s class=ib $1" -b 1G -e 1G $2 2>&1; }
case $(odd "nics=0 nic=400Gbps") in *"nics takes a whole number, 1 or more"*) echo "ok no_nics" ;; *) echo "not ok no_nics" ;; esac
case $(odd "nic=400Gbps") in *"how many NICs a node has: assuming 8"*) echo "ok nics_noted" ;; *) echo "not ok nics_noted" ;; esac
case $(odd "nics=8 nic=400Gbps oversubscription=4") in *"oversubscription has no effect"*) echo "ok one_leaf" ;; *) echo "not ok one_leaf" ;; esac
time_of() { grep '^ *1073741824 ' | awk '{ print $6 }'; }
# a quarter of the uplinks: most of the 15/16 of the traffic that leaves its leaf waits for them, in both engines
near() { awk -v a="$1" -v b="$2" 'BEGIN { print (a > 0.9 * b && a < 1.1 * b) ? "yes" : a " and " b }'; }
leaves="nics=8 nic=400Gbps oversubscription=4 leaf=8"
check leaves_in_both_engines "$(near "$(odd "$leaves" | time_of)" "$(odd "$leaves" "--net flow" | time_of)")" yes
check leaves_cost "$(near "$(odd "$leaves" | time_of)" "$(awk 'BEGIN { print 2^30 * (1 - 8 * 8 / 1024) / (50e9 / 4) * 1e6 }')")" yes

expect place_alone 2 "works with one job alone" "$STEPCAST" run $seed $seed --place 0,128 --html "$tmp/x.html"
expect cut_gzip 3 "cannot unpack: unexpected end of file" sh -c "gzip -c $seed | head -c 700 | $STEPCAST run -"

# what cannot be written is exit 4, whatever the reason and the command
none="$tmp/no/such/file"
for o in --json --csv --csv-simai --html --trace --hta; do expect "unwritable $o" 4 "$none" "$STEPCAST" run $seed $o "$none"; done
for to in goal chakra ir-json workload-text; do expect "unwritable $to" 4 "$none" "$STEPCAST" convert $seed --to $to -o "$none"; done
expect unwritable_gen 4 "cannot write" "$STEPCAST" gen --model gpt2 --gpus 1 -o "$none"
expect unwritable_coll 4 "cannot write" "$STEPCAST" coll all_reduce --json "$none"
expect unwritable_kernels 4 "cannot write" "$STEPCAST" kernels --model gpt2 --json "$none"
expect unwritable_compare 4 "cannot write" "$STEPCAST" compare $seed $seed --json "$none"
expect a_folder 4 "Is a directory" "$STEPCAST" run $seed --json "$tmp/"
# names that are none are exit 2, with the nearest that is one
expect wrong_gpu 2 "did you mean h200?" "$STEPCAST" run --model gpt2 --gpus 1 --gpu h2000
expect wrong_cluster 2 "did you mean dgx-h100?" "$STEPCAST" run $seed --cluster dgx-h101:8
expect wrong_model 2 "did you mean gpt3-175b?" "$STEPCAST" run --model gtp3-175b
expect wrong_format 2 "one of: megatron-trace" "$STEPCAST" run $seed --format text
expect wrong_schedule 2 "add --vpp N" "$STEPCAST" run --model gpt2 --gpus 2 --pp 2 --schedule interleaved
expect repeated 0 "--gpus is given more than once: 2 counts" "$STEPCAST" run --model gpt2 --gpus 1 --gpus 2
expect not_repeated 0 "rank 1 is a straggler: its compute takes 3 times" "$STEPCAST" run --model gpt2 --gpus 2 --slow rank:0=2 --slow rank:1=3

# marks, line ends and cuts that editors and copies leave in text
for f in tests/data/seed_00*.txt; do
    { printf '\357\273\277' && cat "$f"; } >"$tmp/marked.txt"
    "$STEPCAST" show "$f" >"$tmp/plain.out" 2>&1
    "$STEPCAST" show "$tmp/marked.txt" >"$tmp/marked.out" 2>&1
    check "byte-order mark $f" "$(tail -n +2 "$tmp/marked.out")" "$(tail -n +2 "$tmp/plain.out")"
done
head -c -3 $seed >"$tmp/cut.txt"
expect cut_last_line 0 "no line end" "$STEPCAST" run "$tmp/cut.txt"
# names of files need not be text, JSON and pages must be
odd_name="$tmp/$(printf 'a\377\376b \303\251.txt')"
cp $seed "$odd_name"
"$STEPCAST" run "$odd_name" --json "$tmp/odd.json" --trace "$tmp/odd.trace.json" >/dev/null 2>&1
for f in odd.json odd.trace.json; do
    python3 -S -c "import json, sys; json.load(open(sys.argv[1], encoding='utf-8'))" "$tmp/$f" 2>/dev/null
    check "utf-8 $f" $? 0
done
"$STEPCAST" run $seed --slow rank:1=1.01 >"$tmp/slow"
check no_trailing_blanks "$(grep -c 'step time' "$tmp/slow") $(grep -c ' $' "$tmp/slow")" "1 0"

# every command that takes a model takes it, and none ignores options in silence
expect show_model 0 "1 micro-batch" "$STEPCAST" show --model gpt2 --gpus 1 --global-batch 1
expect show_unused 0 "--net has no effect" "$STEPCAST" show $seed --net flow
expect convert_unused 0 "--net has no effect" "$STEPCAST" convert $seed --to ir-json -o "$tmp/x.json" --net flow
expect coll_unused 0 "--route has no effect without --net flow" "$STEPCAST" coll all_reduce --route dmodk
expect compare_notes 0 "  B  no cluster given" "$STEPCAST" compare $seed sim:$seed
expect place_too_many 2 "does not name 1 place" "$STEPCAST" run $seed --place 0,1
expect no_such_row 2 "no row has" "$STEPCAST" validate data/truth/training_steps.csv --only nothing-like-it
expect short_option 2 "no option -x" "$STEPCAST" run $seed -x
"$STEPCAST" help flows >"$tmp/help"
check flows_has_its_options "$(grep -c -e '--fabric' "$tmp/help" | sed 's/[1-9].*/some/') $(grep -c -e --iteration -e --grad-bytes "$tmp/help")" "some 0"

# an input is not written over, and a link stays a link
cp $seed "$tmp/mine.txt"
ln -s mine.txt "$tmp/also_mine.txt"
expect over_the_input 2 "would write over the input" "$STEPCAST" run "$tmp/mine.txt" --json "$tmp/also_mine.txt"
expect convert_in_place 2 "would write over the input" "$STEPCAST" convert "$tmp/mine.txt" --to ir-json -o "$tmp/mine.txt"
check input_is_whole "$(grep -c 'write over' "$tmp/err") $(cmp $seed "$tmp/mine.txt" && echo same)" "1 same"
echo old >"$tmp/target.json"
ln -s target.json "$tmp/link.json"
ln -s /proc/self/fd/1 "$tmp/out.link"
"$STEPCAST" run $seed --json "$tmp/link.json" >/dev/null
"$STEPCAST" run $seed --json "$tmp/out.link" >"$tmp/redirected"
check links_stay "$(test -L "$tmp/link.json" && test -L "$tmp/out.link" && head -c 1 "$tmp/target.json")" "{"
# one whose target is not there yet makes it; one that leads to itself is no place
ln -s there.json "$tmp/ahead.json"
"$STEPCAST" run $seed --json "$tmp/ahead.json" >/dev/null
check link_to_what_comes "$(test -L "$tmp/ahead.json" && head -c 1 "$tmp/there.json")" "{"
ln -s round.json "$tmp/round.json"
expect link_to_itself 4 "round.json: error: cannot write" "$STEPCAST" run $seed --json "$tmp/round.json"
expect stdout_by_name 2 "both write to standard output" "$STEPCAST" run $seed --json /dev/stdout --csv -
chmod 600 "$tmp/target.json"
"$STEPCAST" run $seed --json "$tmp/target.json" >/dev/null
check permissions_stay "$? $(stat -c %a "$tmp/target.json")" "0 600"
# what is wrong with the command line is said before anything is written
expect timeline_alone 2 "give --json FILE too" "$STEPCAST" run $seed --timeline --csv "$tmp/early.csv"
expect ranks_alone 2 "give --trace FILE" "$STEPCAST" run $seed --trace-ranks 0 --csv "$tmp/early.csv"
check nothing_before_it "$(grep -c 'give --trace' "$tmp/err") $(ls "$tmp/early.csv" 2>/dev/null)" "1 "
