# Job files: a run, and the same run again.
S=${STEPCAST:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
check() { if [ "$2" = 0 ]; then echo "ok $1"; else echo "not ok $1"; cat "$dir/err"; fi; }
again() { # name, options…: what the job file gives is what the options gave
    name=$1
    shift
    "$S" run "$@" --job "$dir/job.yaml" --json "$dir/a.json" >"$dir/out1" 2>"$dir/err" &&
        mv "$dir/a.json" "$dir/first.json" && "$S" run "$dir/job.yaml" >"$dir/out2" 2>>"$dir/err" &&
        grep -v '"command"' "$dir/a.json" >"$dir/x" && grep -v '"command"' "$dir/first.json" | cmp -s - "$dir/x" && cmp -s "$dir/out1" "$dir/out2"
    check "$name" $?
}
again model --model llama3-8b --tp 2 --gpus 8 --fp8 --zero 1 --cluster dgx-h100:8 --seq 2048
again workload tests/data/seed_003.txt --cluster dgx-h100:1024
again repeated --model llama3-8b --gpus 8 --zero 1 --seq 2048 --slow rank:3=1.2 --slow rank:5=1.1
again quotes --megatron-args tests/data/configurations/flags.yaml --set TP=2 --set "X=it's" --gpus 4

"$S" run --model llama3-8b --gpus 8 --zero 1 --seq 2048 --job "$dir/job.yaml" >/dev/null 2>&1
"$S" run "$dir/job.yaml" --tp 4 >"$dir/out" 2>"$dir/err" && grep -q '^8 GPUs: tp 4' "$dir/out"
check "the command line wins" $?
printf '# by hand\nstepcast: job/1\nmodel:\n  model: llama3-8b\nplan:\n  gpus: 8\n  tp: 2\n  zero: 1\n  seq: 2048\ncluster:\n  cluster: dgx-h100:8\noutputs:\n  json: %s/hand.json\n' "$dir" >"$dir/hand.yaml"
"$S" run "$dir/hand.yaml" >"$dir/out" 2>"$dir/err" && grep -q '^8 GPUs: tp 2' "$dir/out" && [ -s "$dir/hand.json" ]
check "sections by hand" $?
# the result of the run stays what it is, as does one that train cannot write
printf 'stepcast: job/1\nmodel: gpt2\ngpus: 8\njson: %s/kept.json\ntrace: %s/kept.trace\n' "$dir" "$dir" >"$dir/kept.yaml"
echo kept >"$dir/kept.json"
"$S" train "$dir/kept.yaml" --train-tokens 1B >"$dir/out" 2>"$dir/err" && [ "$(cat "$dir/kept.json")" = kept ] && [ ! -e "$dir/kept.trace" ] && [ "$(grep -c 'for what run writes' "$dir/out")" = 2 ]
check "train leaves the files of a run alone" $?
bad() { # name, text in the error, file text
    printf '%s' "$3" >"$dir/bad.yaml"
    "$S" run "$dir/bad.yaml" >"$dir/out" 2>"$dir/err"
    [ $? = 3 ] && grep -qF -- "$2" "$dir/err"
    check "$1" $?
}
bad "an option that there is not" "bad.yaml:3: error: run has no option --frobnicate" 'stepcast: job/1
options:
  frobnicate: 3
'
bad "a flag with a value" "bad.yaml:3: error: fp8 is true or false, not '7'" 'stepcast: job/1
options:
  fp8: 7
'
bad "broken YAML" "bad.yaml:2: error: not YAML" 'stepcast: job/1
options: [}'
for pair in 'tp: 2|tp: 4' 'fp8: true|fp8: false' 'recompute: [none, full]|'; do
    bad "twice: $pair" "stands there more than once" "stepcast: job/1
model: llama3-8b
gpus: 8
$(echo "$pair" | tr '|' '\n')
"
done
# a profile has sequence parallel: false is --no-sequence-parallel, in a job and on an axis of a sweep
nemo="--model llama3-8b --cluster dgx-h100:8 --tp 2 --global-batch 8 --zero 1 --software nemo-25.02 --seq 4096"
printf 'stepcast: job/1\nmodel: llama3-8b\ncluster: dgx-h100:8\ntp: 2\nglobal-batch: 8\nzero: 1\nsoftware: nemo-25.02\nseq: 4096\nsequence-parallel: false\n' >"$dir/denied.yaml"
seconds() { "$S" run "$@" --json - 2>/dev/null | sed -n 's/.*"step_time_us": \([0-9.]*\),$/\1/p' | head -1; }
denied=$(seconds $nemo --no-sequence-parallel)
[ -n "$denied" ] && [ "$(seconds "$dir/denied.yaml")" = "$denied" ] && [ "$(seconds $nemo)" != "$denied" ]
check "false is no" $?
"$S" sweep --db "$dir/denied.db" $nemo --axis sequence-parallel=yes,no >"$dir/denied" 2>&1
[ "$(awk '/sequence-parallel=/ { print $1 }' "$dir/denied" | sort -u | wc -l)" -eq 2 ]
check "no of an axis" $?
# … and fp8 weights that NeMo's profile gathers
fp8="--model llama3-8b --cluster dgx-h100:64 --global-batch 64 --zero 1 --software nemo-24.07 --fp8 --seq 4096"
printf 'stepcast: job/1\nmodel: llama3-8b\ncluster: dgx-h100:64\nglobal-batch: 64\nzero: 1\nsoftware: nemo-24.07\nfp8: true\nseq: 4096\nfp8-param-gather: false\n' >"$dir/wide.yaml"
wide=$(seconds $fp8 --no-fp8-param-gather)
[ -n "$wide" ] && [ "$(seconds "$dir/wide.yaml")" = "$wide" ] && [ "$(seconds $fp8)" != "$wide" ]
check "weights are gathered wide" $?

# two jobs, each with its options; what they write is left alone
printf 'stepcast: job/1\nmodel: gpt2\ngpus: 8\nglobal-batch: 64\njson: %s/never.json\n' "$dir" >"$dir/a.yaml"
printf 'stepcast: job/1\nmodel: gpt2\ngpus: 8\nglobal-batch: 32\ntp: 2\nsequence-parallel: true\namdahl: true\n' >"$dir/b.yaml"
a=$(seconds --model gpt2 --gpus 8 --global-batch 64)
b=$(seconds --model gpt2 --gpus 8 --global-batch 32 --tp 2 --sequence-parallel)
sides() { "$S" compare "$@" --json - 2>"$dir/err" | sed -n 's/.*"step": {"a_us": \([0-9.]*\), "b_us": \([0-9.]*\),.*/\1 \2/p'; }
[ -n "$b" ] && [ "$(sides "$dir/a.yaml" "$dir/b.yaml")" = "$a $b" ] && [ "$(sides "$dir/b.yaml" "sim:$dir/a.yaml")" = "$b $a" ] && [ ! -e "$dir/never.json" ]
check "compare takes two jobs" $?
both=$(seconds --model gpt2 --gpus 8 --global-batch 16)
both="$both $(seconds --model gpt2 --gpus 8 --global-batch 16 --tp 2 --sequence-parallel)"
[ "$(sides "$dir/a.yaml" "$dir/b.yaml" --gbs 16)" = "$both" ]
check "an option of the command line is of both, under any name" $?
printf 'torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 768 --num-attention-heads 12 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 64 --bf16 --vocab-size 50257\n' >"$dir/launch.sh"
printf 'stepcast: job/1\ninputs: [%s/launch.sh]\ntp: 2\n' "$dir" >"$dir/script.yaml"
[ "$(sides "$dir/launch.sh" "$dir/script.yaml")" = "$(seconds "$dir/launch.sh") $(seconds "$dir/launch.sh" --tp 2)" ]
check "compare takes a launch script, and the job of one" $?
"$S" run "$dir/b.yaml" --gbs 16 --no-sequence-parallel --tensor-model-parallel-size 4 >"$dir/out" 2>"$dir/err" && grep -q 'batch 16 ' "$dir/out" && grep -q '^8 GPUs: tp 4 ' "$dir/out"
check "other names on the command line win" $?
for line in "run $dir/a.yaml $dir/b.yaml" "run $dir/a.yaml $dir/b.yaml --place 0,1" "show $dir/launch.sh $dir/b.yaml" "train $dir/a.yaml $dir/b.yaml --train-tokens 1B"; do
    "$S" $line >"$dir/out" 2>"$dir/err"
    [ $? = 3 ] && grep -q 'yaml: error: is a job file, which stands for a whole run, and there are 2 inputs' "$dir/err"
    check "a job file among others: ${line%% *} … ${line##* }" $?
done
"$S" train "$dir/b.yaml" --train-tokens 1B >"$dir/out" 2>"$dir/err" && grep -q -- '--amdahl true is for what run writes, and left alone' "$dir/out"
check "train leaves alone what run shows" $?
printf 'stepcast: job/1\nmodel: gpt2\ngpus: 8\ncolor: blue\n' >"$dir/blue.yaml"
"$S" run "$dir/blue.yaml" >"$dir/out" 2>"$dir/err"
[ $? = 2 ] && grep -q -- "--color: unknown 'blue'" "$dir/err"
check "an option of the terminal that cannot be says so" $?
# a value that cannot be has its line; another version is no job of ours; what is read is not written over
while IFS='|' read -r line words; do
    bad "a value: $line" "bad.yaml:4: error: $words" "stepcast: job/1
model: gpt2
gpus: 8
$line
"
done <<'T'
tp: 0x2|--tp takes a whole number
seq: 1k|--seq takes a whole number
schedule: zz|--schedule: unknown 'zz'
tp:|--tp takes a whole number
T
bad "another version" "bad.yaml: error: is a file of stepcast that is not known: 'job/2'" 'stepcast: job/2
model: gpt2
'
bad "no version" "bad.yaml: error: is a file of stepcast that is not known: 'job/1x'" 'stepcast: job/1x
model: gpt2
'
for first in '---\nstepcast: job/1' "stepcast: 'job/1'" '# ours\r\n\r\nstepcast: job/1 # a job\r'; do
    printf -- "$first\nmodel: gpt2\ngpus: 8\n" >"$dir/first.yaml"
    "$S" run "$dir/first.yaml" >"$dir/out" 2>"$dir/err" && grep -q '^8 GPUs' "$dir/out"
    check "a job that begins $first" $?
done
for line in "run $dir/b.yaml --json $dir/b.yaml" "run $dir/b.yaml --job $dir/b.yaml" "run --model gpt2 --gpus 8 --cluster $dir/ours.json --json $dir/ours.json"; do
    cp data/clusters/dgx-h100.json "$dir/ours.json"
    cp "$dir/b.yaml" "$dir/before"
    "$S" $line >"$dir/out" 2>"$dir/err"
    [ $? = 2 ] && grep -q 'would write over the input' "$dir/err" && cmp -s "$dir/b.yaml" "$dir/before" && cmp -s data/clusters/dgx-h100.json "$dir/ours.json"
    check "what is read is kept: ${line%% *} … ${line##*/}" $?
done
