#!/bin/sh
# What a careless or hostile user may ask for: a clear refusal or the right
# answer, never a wrong number, a hang or two outputs in one file.
seed=tests/data/seed_003.txt
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
check() { if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1: '$2' is not '$3'"; fi; }
run() { "$STEPCAST" run "$@" --json - | grep '"step_time_us"' | head -1; }

# standard output holds one thing, and it must take it
for what in "--json -" "--csv -" "--trace -" "--html -" ""; do
    "$STEPCAST" run $seed $what >/dev/full 2>"$tmp/err"
    check "full_disk $what" "$? $(head -1 "$tmp/err")" "4 error: cannot write to standard output"
done
expect two_on_stdout 2 "both write to standard output" "$STEPCAST" run $seed --json - --csv -
expect two_in_one_file 2 "both write to $tmp/a" "$STEPCAST" run $seed --json "$tmp/a" --trace "$tmp/a"
check nothing_written "$(ls "$tmp/a" 2>/dev/null)" ""
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
check used_options "$(grep -c 'no effect' "$tmp/out")" 0
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
case $(odd "nics=0 nic=400Gbps") in *"nics takes a whole number from 1 on"*) echo "ok no_nics" ;; *) echo "not ok no_nics" ;; esac
case $(odd "nic=400Gbps") in *"how many NICs a node has: 8"*) echo "ok nics_noted" ;; *) echo "not ok nics_noted" ;; esac
case $(odd "nics=8 nic=400Gbps oversubscription=4") in *"oversubscription has no effect"*) echo "ok one_leaf" ;; *) echo "not ok one_leaf" ;; esac
time_of() { grep '^ *1073741824 ' | awk '{ print $6 }'; }
# a quarter of the uplinks: most of the 15/16 of the traffic that leaves its leaf waits for them, in both engines
near() { awk -v a="$1" -v b="$2" 'BEGIN { print (a > 0.9 * b && a < 1.1 * b) ? "yes" : a " and " b }'; }
leaves="nics=8 nic=400Gbps oversubscription=4 leaf=8"
check leaves_in_both_engines "$(near "$(odd "$leaves" | time_of)" "$(odd "$leaves" "--net flow" | time_of)")" yes
check leaves_cost "$(near "$(odd "$leaves" | time_of)" "$(awk 'BEGIN { print 2^30 * (1 - 8 * 8 / 1024) / (50e9 / 4) * 1e6 }')")" yes

expect place_alone 2 "is of one job" "$STEPCAST" run $seed $seed --place 0,128 --html "$tmp/x.html"
expect cut_gzip 3 "cannot unpack: unexpected end of file" sh -c "gzip -c $seed | head -c 700 | $STEPCAST run -"
