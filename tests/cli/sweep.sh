# sweep: every point is what run says; killed and resumed it has the rows of one that was not; damage is refused.
S=${STEPCAST:?}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect

what="--model gpt2 --cluster dgx-h100:16 --global-batch 64 --axis tp=1,2,4 --axis micro-batch=1..4*2 --axis seq=512..1024+256 --axis sequence-parallel=yes,no"
"$S" sweep $what --db "$tmp/a.db" --csv "$tmp/a.csv" -j 8 >"$tmp/out"
check "all points" "$(head -1 "$tmp/out" | sed 's/:.*//')" "54 points"
check "run agrees with sweep" "$(python3 -S - "$S" "$tmp/a.db" "$tmp/a.csv" <<'P'
import csv, json, sqlite3, subprocess, sys
program, db, table = sys.argv[1:]
rows = sqlite3.connect(db).execute("SELECT id, outcome, settings, step_us, mfu, tokens_per_s FROM points ORDER BY id").fetchall()
assert [r[0] for r in rows] == list(range(54))
lines = list(csv.DictReader(open(table)))
wanted = [(tp, mb, seq, sp) for tp in (1, 2, 4) for mb in (1, 2, 4) for seq in (512, 768, 1024) for sp in ("yes", "no")]
for (id, outcome, settings, step, mfu, rate), line, point in list(zip(rows, lines, wanted))[::5]:
    assert tuple(map(str, point)) == (line["tp"], line["micro-batch"], line["seq"], line["sequence-parallel"]), (point, line)
    words = [w for name, value in json.loads(settings).items() for w in ("--" + name, value) if w]
    ran = subprocess.run([program, "run", *words, "--json", "-"], capture_output=True, text=True)
    assert (ran.returncode == 0) == (outcome == "ok") == (line["outcome"] == "ok"), (point, outcome, ran.stderr)
    if outcome != "ok":
        continue
    run = json.loads(ran.stdout)
    assert abs(run["step_time_us"] - step) < 1e-6 and abs(run["mfu"] - mfu) < 1e-9, (point, step)
    assert abs(rate - 64 * point[2] / (step * 1e-6)) < 1e-6 * rate
print("yes")
P
)" yes
"$S" sweep $what --db "$tmp/b.db" -j 1 >"$tmp/out1"
rows() { sqlite3 "$1" 'SELECT * FROM points ORDER BY id' 2>/dev/null || python3 -S -c "
import sqlite3, sys
for r in sqlite3.connect('$1').execute('SELECT * FROM points ORDER BY id'): print(r)"; }
rows "$tmp/a.db" >"$tmp/a.rows"
rows "$tmp/b.db" >"$tmp/b.rows"
test -s "$tmp/a.rows" && cmp -s "$tmp/a.rows" "$tmp/b.rows" && cmp -s "$tmp/out" "$tmp/out1"
check "one thread and eight give the same rows" $? 0
"$S" sweep $what --db "$tmp/a.db" >"$tmp/out2"
check "nothing is done twice" "$(head -1 "$tmp/out2" | sed 's/.*; //')" "54 were there before"

# code that has changed makes another sweep of it, within a version too
sum=$(find lib include -name '*.[ch]' | LC_ALL=C sort | xargs cat | cksum | awk '{ print $1 "-" $2 }')
defined() { python3 -S -c "import sqlite3; print(sqlite3.connect('$1').execute('SELECT definition FROM sweep').fetchone()[0])"; }
case $(defined "$tmp/a.db") in *"($sum, "*) echo "ok the code is part of a sweep" ;; *) echo "not ok the code is part of a sweep: $sum, $(defined "$tmp/a.db")" ;; esac
cp "$tmp/a.db" "$tmp/older.db"
python3 -S -c "
import sqlite3
db = sqlite3.connect('$tmp/older.db')
db.execute(\"UPDATE sweep SET definition = replace(definition, '$sum', '1-2')\")
db.commit()"
expect "points of other code are not taken for these" 3 "it holds another sweep" "$S" sweep $what --db "$tmp/older.db"

# kill -9 ten times at random moments, then resume
long="--model llama3.2-1b --cluster dgx-h100:64 --global-batch 512 --seq 4096 --zero 1 --axis tp=1,2,4,8 --axis pp=1,2,4,8 --axis micro-batch=1..8 --axis vpp=1,2"
"$S" sweep $long --db "$tmp/whole.db" >"$tmp/whole.out"
rows "$tmp/whole.db" >"$tmp/whole.rows"
seed=$(date +%s)
for moment in $(awk -v seed="$seed" 'BEGIN { srand(seed); for (i = 0; i < 10; i++) printf "%.3f ", 0.15 * rand() }'); do
    "$S" sweep $long --db "$tmp/cut.db" -j 1 >/dev/null 2>&1 &
    pid=$!
    sleep "$moment"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
done
"$S" sweep $long --db "$tmp/cut.db" >/dev/null
rows "$tmp/cut.db" >"$tmp/cut.rows"
test -s "$tmp/whole.rows" && cmp -s "$tmp/whole.rows" "$tmp/cut.rows"
check "killed ten times and resumed" "$? $(test -s "$tmp/cut.rows" || echo seed $seed)" "0 "
"$S" sweep $long --db "$tmp/ended.db" -j 1 >/dev/null 2>"$tmp/ended.err" &
pid=$!
until test -s "$tmp/ended.db" || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill $pid
wait $pid 2>/dev/null
check "who is ended says how to go on" "$? $(grep -c 'the same command computes the rest' "$tmp/ended.err")" "143 1"
check "and there is something in it" "$(wc -l <"$tmp/whole.rows" | tr -d ' ')" 256

# what says how large the job is, what is slow, what if, and a launch script: a point is the run that it names
cat >"$tmp/launch.sh" <<'L'
torchrun --nproc_per_node 8 --nnodes ${NNODES:-2} pretrain_gpt.py --num-layers 12 --hidden-size 768 --num-attention-heads 12 \
    --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 64 --bf16 --vocab-size 50257
L
as_run() {
    python3 -S - "$S" "$@" <<'P'
import json, os, sqlite3, subprocess, sys
program, db, points, *words = sys.argv[1:]
done = subprocess.run([program, "sweep", *words, "--db", db], capture_output=True, text=True)
assert done.returncode == 0, done.stderr
rows = sqlite3.connect(db).execute("SELECT outcome, settings, step_us, mfu FROM points").fetchall()
steps = set()
for outcome, settings, step, mfu in rows:
    line = []
    for name, value in json.loads(settings).items():
        for one in value if isinstance(value, list) else [value]:
            line += ["--" + name] + ([one] if one else [])
    ran = subprocess.run([program, "run", *line, "--json", "-"], capture_output=True, text=True)
    run = json.loads(ran.stdout)
    assert outcome == "ok" and abs(run["step_time_us"] - step) < 1e-6 and abs(run["mfu"] - mfu) < 1e-9, (settings, step, run["step_time_us"])
    steps.add(step)
print(len(rows) == int(points) == len(steps))
P
}
check "--nodes of a larger cluster" "$(as_run "$tmp/n1.db" 2 --model gpt2 --cluster dgx-h100:32 --nodes 2 --global-batch 64 --axis micro-batch=1,2)" True
check "axes of nodes and of what if" "$(as_run "$tmp/n2.db" 8 --model gpt2 --global-batch 64 --axis nodes=1,2 --axis gpu-speedup=1,2 --axis slow=rank:1=1.5,rank:2=1.1)" True
check "options that are lists" "$(as_run "$tmp/n3.db" 2 --model gpt2 --gpus 8 --global-batch 64 --slow rank:1=1.2 --slow rank:2=1.4 --scale gemm=0.5 --scale attention=2 --axis tp=1,2)" True
check "all of a list count" "$(python3 -S -c "
import json, sqlite3
for (text,) in sqlite3.connect('$tmp/n3.db').execute('SELECT settings FROM points'): print(json.loads(text)['slow'], json.loads(text)['scale'])" | sort -u)" "['rank:1=1.2', 'rank:2=1.4'] ['gemm=0.5', 'attention=2']"
check "a launch script and its variables" "$(as_run "$tmp/n4.db" 4 --megatron-args "$tmp/launch.sh" --axis set=NNODES=2,NNODES=4 --axis tp=1,2)" True
expect "a database on standard output" 2 "a database is a file" "$S" sweep --model gpt2 --gpus 8 --axis tp=1,2 --db -
expect "of two names of an option one is given" 2 "--global-batch is given, and --gbs, which is the same, is an axis" "$S" sweep --model gpt2 --gpus 8 --global-batch 32 --axis gbs=8,16 --db "$tmp/n5.db"
expect "two names of an option are no two axes" 2 "two axes are one thing: --gbs and --global-batch" "$S" sweep --model gpt2 --gpus 8 --axis gbs=8,16 --axis global-batch=8,16 --db "$tmp/n5.db"
expect "an option of files is no axis" 2 "there is no option 'step' to sweep" "$S" sweep --model gpt2 --gpus 8 --axis step=1,2 --db "$tmp/n5.db"
expect "what no point uses is said" 0 "note: --route has no effect on any point" "$S" sweep --model gpt2 --gpus 8 --global-batch 32 --route ecmp --axis tp=1,2 --db "$tmp/n5.db"
check "what some use is not" "$("$S" sweep --model gpt2 --gpus 8 --global-batch 32 --route ecmp --axis net=analytic,flow --axis sequence-parallel=yes,no --tp 2 --db "$tmp/n6.db" | grep -c 'no effect\|4 points')" 1
# what is assumed is said, also when all points are there already
assumes="--model gpt2 --cluster dgx-h100:8 --axis tp=1,2 --db $tmp/n7.db"
for times in first second; do
    check "what a sweep assumes, $times" "$("$S" sweep $assumes | grep -c 'no --seq is given: sequences of 1024\|a batch of 8 is assumed\|steps of these points have 4096 to 8192 tokens')" 3
done
check "nothing is assumed" "$("$S" sweep --model gpt2 --cluster dgx-h100:8 --seq 1024 --global-batch 8 --software megatron-core-2025 --axis tp=1,2 --db "$tmp/n8.db" | grep -c '2 points: 2 ran\|given\|assumed\|tokens:')" 1
mkdir "$tmp/sub"
cp data/clusters/dgx-h100.json "$tmp/theirs.json"
program=$(realpath "$S")
check "dots of a path are no range" "$(cd "$tmp/sub" && "$program" sweep --model gpt2 --gpus 8 --global-batch 32 --axis cluster=../theirs.json --db p.db | head -1 | cut -c1-15)" "1 points: 1 ran"

few="--model gpt2 --gpus 2 --global-batch 4 --seq 512"
# a file that an option names is what it holds
sed 's/"name": "dgx-h100"/"name": "ours"/' data/clusters/dgx-h100.json >"$tmp/ours.json"
"$S" sweep $few --cluster "$tmp/ours.json" --axis tp=1,2 --db "$tmp/ours.db" >/dev/null
expect "the same file goes on" 0 "2 points" "$S" sweep $few --cluster "$tmp/ours.json" --axis tp=1,2 --db "$tmp/ours.db"
sed -i 's/450GB/45GB/' "$tmp/ours.json"
expect "another file of that name" 3 "holds another sweep" "$S" sweep $few --cluster "$tmp/ours.json" --axis tp=1,2 --db "$tmp/ours.db"
expect "another file, counted" 3 "holds another sweep" "$S" sweep $few --axis cluster="$tmp/ours.json:2" --db "$tmp/ours.db"
expect "another sweep in it" 3 "holds another sweep" "$S" sweep $few --axis tp=1,2 --db "$tmp/a.db"
echo "this is no database, but a text of some length, which is longer than a header" >"$tmp/text.db"
# a point has one value of an option: of two axes the second would count under the name of the first
expect "two axes of one option" 2 "two axes are --tp" "$S" sweep $few --axis tp=1,2 --axis tp=1,2 --db "$tmp/twice.db"
expect "a value twice" 2 "--axis tp: 1 is there twice" "$S" sweep $few --axis tp=1,2,1 --db "$tmp/twice.db"
expect "no database" 3 "not a database of a sweep" "$S" sweep $few --axis tp=1,2 --db "$tmp/text.db"
cp "$tmp/whole.db" "$tmp/broken.db"
printf 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' | dd of="$tmp/broken.db" bs=1 seek=4100 conv=notrunc 2>/dev/null
expect "a damaged database" 3 "damaged" "$S" sweep $long --db "$tmp/broken.db"
if [ -w /dev/full ]; then
    # a file that may not grow: the points that are there stay
    (ulimit -f 8; trap '' XFSZ; "$S" sweep $long --db "$tmp/full.db" >/dev/null 2>"$tmp/full.err")
    check "no room is an error" "$?" 4
    "$S" sweep $long --db "$tmp/full.db" >/dev/null
    rows "$tmp/full.db" >"$tmp/full.rows"
    test -s "$tmp/whole.rows" && cmp -s "$tmp/whole.rows" "$tmp/full.rows"
    check "and with room it goes on" $? 0
fi
# the same sweep from a file
cat >"$tmp/s.yaml" <<'Y'
stepcast: job/1
model:
  model: gpt2
cluster: dgx-h100:16
plan:
  global-batch: 64
axes:
  tp: [1, 2, 4]
  micro-batch: 1..4*2
  seq: [512, 768, 1024]
  sequence-parallel: [true, false]
db: nowhere.db
Y
"$S" sweep "$tmp/s.yaml" --db "$tmp/y.db" >"$tmp/outy"
rows "$tmp/y.db" >"$tmp/y.rows"
test -s "$tmp/a.rows" && cmp -s "$tmp/a.rows" "$tmp/y.rows" && cmp -s "$tmp/out1" "$tmp/outy"
check "a file gives the same rows, and options go before it" $? 0
printf 'stepcast: job/1\nmodel: gpt2\naxes:\n  colour: [red]\n' >"$tmp/bad.yaml"
expect "an axis of a file that is no option" 3 "bad.yaml:4:12: error: there is no option 'colour'" "$S" sweep "$tmp/bad.yaml" --db "$tmp/n.db"
printf 'stepcast: job/1\nmodel: gpt2\naxes:\n  tp: [1]\n' >"$tmp/axes.yaml"
expect "axes are of sweep" 3 "axes.yaml:4:8: error: there is no option" "$S" run "$tmp/axes.yaml"
while IFS='|' read -r axes status words; do
    printf 'stepcast: job/1\nmodel: gpt2\ncluster: dgx-h100:8\nglobal-batch: 8\naxes:\n'"$axes"'\n' >"$tmp/hostile.yaml"
    rm -f "$tmp/n.db"
    expect "axes of a file: $axes" "$status" "$words" "$S" sweep "$tmp/hostile.yaml" --db "$tmp/n.db"
done <<'T'
  pp: [1]\n  tp: []|3|hostile.yaml:7: error: axes.tp has no values
  tp: {a: 1}|3|hostile.yaml:6:11: error: there is no option 'a'
  tp: [1]\n  tp: [2]|3|hostile.yaml:7: error: tp stands there more than once
  tp: [1]\n  tp: 2|3|hostile.yaml:7: error: tp stands there more than once
  fp8: [true]\n  fp8: false|3|hostile.yaml:7: error: fp8 stands there more than once
  tp: [1]\n  pp: [1]\n  tp: [2]|3|hostile.yaml:8: error: tp stands there more than once
  tp: "1\\0,2"|3|hostile.yaml:6: error: text with a zero byte
  tp: [[1, 2], 3]|3|hostile.yaml:6:9: error: there is no option '0'
  tp: &a [1]\n  pp: *b|3|hostile.yaml:7: error: the alias *b stands for nothing before it
  ? [a, b]\n  : 1|3|hostile.yaml:6: error: a key that is no word
  "": [1]|3|hostile.yaml:6:8: error: there is no option ''
  tp: [1, ,2]|3|hostile.yaml:6: error: not YAML
  tp: 1..|3|hostile.yaml:6:7: error: --axis: '1..' is no range
  tp: 0..4*2|3|hostile.yaml:6:7: error: --axis: '0..4*2' is no range
  tp: 1..4+0|3|hostile.yaml:6:7: error: --axis: '1..4+0' is no range
  tp: 1..18446744073709551616|3|hostile.yaml:6:7: error: --axis: '1..18446744073709551616' is no range
  tp: 1..4294967295|3|hostile.yaml:6:7: error: --axis: too many values
  seq: 1..999999\n  tp: 1..100|3|hostile.yaml:7:7: error: the sweep has more than 10000000 points
  db: [a.db]|3|hostile.yaml:6:8: error: --axis: there is no option 'db' to sweep
  model: [gpt2]|3|hostile.yaml:6:11: error: --model is given, and an axis too
  tp: [~]|3|hostile.yaml:6:8: error: --tp takes a whole number
  tp: [-1]|3|hostile.yaml:6:8: error: --tp takes a whole number
  tp: [1, x, 4]|3|hostile.yaml:6:11: error: --tp takes a whole number
  tp:\n    - 1\n    - 2.5|3|hostile.yaml:8:7: error: --tp takes a whole number
  schedule: [1f1b, zb-9]|3|hostile.yaml:6:20: error: --schedule: unknown 'zb-9'
  sequence-parallel: [yes, maybe]|3|hostile.yaml:6:28: error: --axis sequence-parallel: 'maybe' is no value
  tp: [1, ""]|3|hostile.yaml:6:11: error: --axis tp: an empty value
T
rm -f "$tmp/n.db"
# tasks of a job array know nothing of each other: all but the first to write are told so
for task in 0 1 2; do
    (SLURM_ARRAY_TASK_ID=$task "$S" sweep $what --db "$tmp/array.db" -j 1 >/dev/null 2>"$tmp/array.$task"; echo $? >"$tmp/array.rc$task") &
done
wait
rows "$tmp/array.db" >"$tmp/array.rows"
test -s "$tmp/a.rows" && cmp -s "$tmp/a.rows" "$tmp/array.rows"
check "a job array on one database" "$? $(grep -l '^0' "$tmp"/array.rc? | wc -l | awk '{print ($1 >= 1)}') $(cat "$tmp"/array.? | grep -v 'another pro\|hint:' | wc -l)" "0 1 0"
expect "a value that is none of the option" 2 "takes a whole number" "$S" sweep $few --axis tp=1,x --db "$tmp/n.db"
expect "a flag that is neither" 2 "is no value of it" "$S" sweep $few --axis sequence-parallel=maybe --db "$tmp/n.db"
expect "a file of another kind" 3 "is no file of a sweep" "$S" sweep "$tmp/a.csv" --db "$tmp/n.db"
expect "a file that is not there" 3 "there is no such file" "$S" sweep "$tmp/missing.yaml" --db "$tmp/n.db"

# four ranks, and one of them killed
ranks() { mpirun --allow-run-as-root --oversubscribe -n 4 "$S" sweep "$@"; }
if OMPI_COMM_WORLD_SIZE=2 "$S" sweep $few --axis tp=1 --db "$tmp/n.db" 2>&1 | grep -q 'without Open MPI'; then
    echo "skip four ranks [needs command:mpicc]"
elif ! command -v mpirun >/dev/null; then
    echo "skip four ranks [needs command:mpirun]"
elif case $BUILD in *san*) true ;; *) false ;; esac then
    echo "skip four ranks [needs no-sanitizer]"
else
    ranks $long --db "$tmp/ranks.db" >"$tmp/ranks.out" 2>"$tmp/ranks.err"
    rows "$tmp/ranks.db" >"$tmp/ranks.rows"
    test -s "$tmp/whole.rows" && cmp -s "$tmp/whole.rows" "$tmp/ranks.rows" && cmp -s "$tmp/whole.out" "$tmp/ranks.out"
    check "four ranks give the same rows and words" $? 0
    # As srun starts them: a stub of it, whose PMIx is mpirun's.
    under_slurm='SLURM_PROCID=$OMPI_COMM_WORLD_RANK; export SLURM_PROCID; unset OMPI_COMM_WORLD_SIZE; exec "$@"'
    SLURM_STEP_NUM_TASKS=4 mpirun --allow-run-as-root --oversubscribe -n 4 -x SLURM_STEP_NUM_TASKS sh -c "$under_slurm" srun "$S" sweep $long --db "$tmp/srun.db" >"$tmp/srun.out" 2>&1
    rows "$tmp/srun.db" >"$tmp/srun.rows"
    test -s "$tmp/whole.rows" && cmp -s "$tmp/whole.rows" "$tmp/srun.rows" && cmp -s "$tmp/whole.out" "$tmp/srun.out"
    check "four ranks of srun give the same rows and words" $? 0
    expect "srun without PMIx" 4 "srun --mpi=pmix" env SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0 "$S" sweep $few --axis tp=1 --db "$tmp/n.db"
    ranks $long --db "$tmp/lost.db" >/dev/null 2>&1 &
    pid=$!
    for try in 1 2 3 4 5 6 7 8 9 10; do
        sleep 0.2
        one=$(pgrep -f "sweep.*$tmp/lost.db" | tail -1)
        test -s "$tmp/lost.db" && test -n "$one" && break
    done
    kill -9 "$one" 2>/dev/null
    wait $pid
    lost=$?
    ranks $long --db "$tmp/lost.db" >/dev/null 2>&1
    rows "$tmp/lost.db" >"$tmp/lost.rows"
    test -s "$tmp/whole.rows" && cmp -s "$tmp/whole.rows" "$tmp/lost.rows"
    check "a lost rank is an error, and the sweep goes on" "$? $(test $lost -ne 0 && echo error)" "0 error"
fi
expect "nowhere to put it" 2 "needs a database" "$S" sweep $few --axis tp=1,2
expect "no axis" 2 "nothing to sweep" "$S" sweep $few --db "$tmp/n.db"
expect "an axis of nothing" 2 "is no option with values" "$S" sweep $few --axis tp --db "$tmp/n.db"
expect "an axis that is no option" 2 "no option 'colour'" "$S" sweep $few --axis colour=red --db "$tmp/n.db"
expect "an axis that is misspelt" 2 "did you mean tp?" "$S" sweep $few --axis tpp=1,2 --db "$tmp/n.db"
expect "an axis of a cluster's word" 2 '--axis "cluster=dgx-h100:64 nic=…,dgx-h100:64 nic=…"' "$S" sweep $few --axis nic=200Gbps --db "$tmp/n.db"
expect "an axis of the sweep" 2 "no option 'db'" "$S" sweep $few --axis db=x --db "$tmp/n.db"
expect "given and an axis" 2 "is given, and an axis too" "$S" sweep $few --axis seq=1,2 --db "$tmp/n.db"
expect "a range backwards" 2 "is no range" "$S" sweep $few --axis tp=4..1 --db "$tmp/n.db"
expect "a range without end" 2 "is no range" "$S" sweep $few --axis 'tp=1..4*1' --db "$tmp/n.db"
expect "too many points" 2 "" "$S" sweep $few --axis tp=1..100000 --axis pp=1..100000 --db "$tmp/n.db"
expect "nothing can be run" 1 "none of 1 points" "$S" sweep $few --axis tp=7 --db "$tmp/m.db"
expect "a folder that is not there" 4 "unable to open" "$S" sweep $few --axis tp=1 --db "$tmp/none/n.db"
check "no database where the options are wrong" "$(grep -c 'unable to open' "$tmp/err") $(ls "$tmp/n.db" 2>&1 | grep -c 'cannot access')" "1 1"

# twice the batch takes longer and is faster: the table began with the smallest batch
wide="--model llama3.2-1b --cluster dgx-h100:8 --seq 2048 --zero 1 --recompute full --axis global-batch=8..256*2 --axis tp=1,2"
"$S" sweep $wide --db "$tmp/wide.db" --csv "$tmp/wide.csv" >"$tmp/wide" 2>&1
check "the fastest has most tokens" "$(sed -n 3p "$tmp/wide" | awk '{ print $3 }')" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "tokens_per_s") c = i } NR > 1 && $c > most { most = $c } END { printf "%.0f", most }' "$tmp/wide.csv")"
check "fastest first" "$(awk '/tokens\/s/ { print $3 }' "$tmp/wide" | sort -rn | xargs)" "$(awk '/tokens\/s/ { print $3 }' "$tmp/wide" | xargs)"
check "the smallest batch is not first" "$(sed -n 3p "$tmp/wide" | grep -c 'global-batch=256 tp=1')" 1
