#!/bin/sh
# The program as a person meets it: exit codes, typos, pipes, packed files.
seed=tests/data/seed_004.txt
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
expect overview 2 "usage: stepcast" "$STEPCAST"
expect help 0 "--cluster" "$STEPCAST" help run
expect help_flag 0 "--cluster" "$STEPCAST" run --help
expect version 0 "stepcast " "$STEPCAST" --version
expect misspelt_command 2 "did you mean 'run'" "$STEPCAST" rn
expect misspelt_option 2 "did you mean --cluster" "$STEPCAST" run $seed --clutser ideal
expect missing_value 2 "needs a value" "$STEPCAST" run $seed --cluster
expect bad_number 2 "whole number" "$STEPCAST" run $seed --gpus many
expect bad_word 2 "one of: 1f1b" "$STEPCAST" run $seed --schedule zigzag
expect no_input 2 "a file, or --model NAME" "$STEPCAST" run
expect no_such_file 3 "cannot open" "$STEPCAST" run $tmp/absent
expect directory 3 "stepcast show $tmp says what lies in it" "$STEPCAST" run $tmp
expect a_model_is_no_file 3 "stepcast run --model Llama_3_8B" "$STEPCAST" run Llama_3_8B
expect a_cluster_is_no_file 3 "stepcast show --cluster dgx-h100:64" "$STEPCAST" show dgx-h100:64
expect a_gpu_is_no_file 3 "stepcast show --gpu h100-sxm" "$STEPCAST" show h100-sxm
expect a_workload_is_no_model 3 "is not read as a model, but as an input: layer workload" "$STEPCAST" run --model $seed --cluster h100:8
expect a_workload_is_no_cluster 3 "is not read as a cluster, but as an input: layer workload" "$STEPCAST" run --model gpt2 --cluster $seed
tar -C tests/data -czf $tmp/traces.tar.gz seed_004.txt
expect an_archive 3 "unpack it: tar xf FILE" "$STEPCAST" run $tmp/traces.tar.gz
expect a_picture 3 "is a picture (PNG)" "$STEPCAST" run docs/pictures/page.png
expect table 0 "step time" "$STEPCAST" run $seed
expect equals_sign 0 "communication takes no time" "$STEPCAST" run --cluster=ideal $seed
expect show 0 "33: 4 of the step before, 1 micro-batches of 26 rows, 3 after" "$STEPCAST" show $seed
expect small_cluster 3 "not a multiple" "$STEPCAST" run $seed --cluster dgx-h100:8
expect output_dir_missing 4 "cannot write" "$STEPCAST" run $seed --json $tmp/no/such/dir.json
if [ "$(id -u)" != 0 ]; then
    touch $tmp/secret; chmod 0 $tmp/secret
    expect unreadable 3 "cannot open" "$STEPCAST" run $tmp/secret
else echo "skip unreadable [needs no-root]"; fi
step() { grep '"step_time_us"' | head -1; }
plain=$("$STEPCAST" run $seed --json - | step)
gzip -c $seed >$tmp/seed.gz
check gzip "$("$STEPCAST" run $tmp/seed.gz --json - | step)" "$plain"
check pipe "$(cat $seed | "$STEPCAST" run - --json - | step)" "$plain"
check packed_pipe "$(cat $tmp/seed.gz | "$STEPCAST" run - --json - | step)" "$plain"
mkfifo $tmp/fifo; timeout 60 sh -c "cat $seed >$tmp/fifo" & # a pipe that nobody opens holds its writer
check fifo "$("$STEPCAST" run $tmp/fifo --json - | step)" "$plain"
head -c 300 $tmp/seed.gz >$tmp/cut.gz
expect cut_gzip 3 "cannot unpack" "$STEPCAST" run $tmp/cut.gz
printf 'HYBRID' | "$STEPCAST" run - >$tmp/out 2>&1
check broken_pipe_input "$?" 3
grep -q '^<stdin>' $tmp/out && echo "ok stdin_is_named" || { echo "not ok stdin_is_named"; cat $tmp/out; }
"$STEPCAST" run $seed --json $tmp/a.json >/dev/null
"$STEPCAST" run $seed --json $tmp/a2.json >/dev/null
sed 's/a2.json/a.json/' $tmp/a2.json | cmp -s - $tmp/a.json && echo "ok same_bytes_again" || echo "not ok same_bytes_again"
one=$("$STEPCAST" run $seed -j1 --json - | grep -v '"command"')
two=$("$STEPCAST" run $seed -j2 --json - | grep -v '"command"')
check same_bytes_for_threads "$one" "$two"
"$STEPCAST" run $seed --csv $tmp/a.csv >/dev/null
check csv_rows "$(wc -l <$tmp/a.csv | tr -d ' ')" "$(awk 'NR>2' $seed | wc -l | awk '{print $1 + 1 + 4}')"
"$STEPCAST" run $seed --csv-simai $tmp/e2e.csv >/dev/null
check simai_csv "$(sed -n 3p $tmp/e2e.csv | cut -d, -f1-4)" "layer_name,run name,fwd compute,wg compute"
"$STEPCAST" run --model gpt2 --cluster h100:1 --json $tmp/closed.json >&- 2>$tmp/err
check "standard output that is closed" "$? $(grep -c 'cannot write to standard output' $tmp/err)" "4 1"
(exec 0<&- 1>&- 2>&-; "$STEPCAST" run --model gpt2 --cluster h100:1 --json $tmp/closed.json)
check "what is printed does not go into a file that took a closed stream's number" "$? $(python3 -m json.tool $tmp/closed.json >/dev/null && echo sound)" "4 sound"
"$STEPCAST" run $seed >/dev/full 2>$tmp/err
check full_disk "$?" 4
[ "$("$STEPCAST" run $seed | head -1 | wc -l)" = 1 ] && echo "ok closed_pipe" || echo "not ok closed_pipe"
