# plans: what it says of a plan is what run says; the best is the best; what cannot be is refused.
S=${STEPCAST:?}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect

base="--model llama3-8b --gpus 32 --global-batch 64 --seq 4096 --cluster dgx-h100:32"
"$S" plans $base --top 1000 --json "$tmp/p.json" -j 8 >"$tmp/out"
"$S" plans $base --top 1000 --json "$tmp/q.json" -j 1 >"$tmp/out2"
cmp -s "$tmp/p.json" "$tmp/q.json" && cmp -s "$tmp/out" "$tmp/out2"
check "one thread and eight give the same" $? 0
"$S" plans $base --exhaustive --json "$tmp/x.json" >/dev/null
"$S" plans $base --json "$tmp/y.json" >/dev/null
check "the same best as of all plans" "$(python3 -S -c "
import json
x, y = (json.load(open('$tmp/' + name)) for name in ('x.json', 'y.json'))
print(x['plans'] == y['plans'], x['simulated'] == x['fit'] > 4 * y['simulated'])")" "True True"
"$S" plans $base --vpp 1 --cp 1 --memory-margin 0 --top 1000 --json "$tmp/v.json" >/dev/null
python3 -S - "$S" "$tmp/p.json" "$tmp/v.json" <<'P'
import itertools, json, shlex, subprocess, sys
program, d, flat = sys.argv[1], json.load(open(sys.argv[2])), json.load(open(sys.argv[3]))
plans = d["plans"]


def ask(words):
    return json.loads(subprocess.run([program, *words, "--json", "-"], capture_output=True, text=True, check=True).stdout)


steps = [p["step_time_us"] for p in plans]
families = {(p["tp"], p["pp"], p["cp"], p["ep"]) for p in plans}
print("ok" if steps == sorted(steps) and len(plans) == len(families) else "not ok", "fastest first, one of each family")
print("ok" if all(p["memory_bytes"] <= 0.92 * p["capacity_bytes"] for p in plans) else "not ok", "memory to spare")
same = all(ask(shlex.split(p["command"])[1:])["step_time_us"] == p["step_time_us"] for p in plans[:: len(plans) // 6])
print("ok" if same else "not ok", "run agrees with plans")
# The best of each family by hand: run with every micro-batch and the least recomputation that fits.
found = {(p["tp"], p["pp"]): p["step_time_us"] for p in flat["plans"]}
best = {}
for tp, pp, mb in itertools.product((1, 2, 4, 8), (1, 2, 4, 8, 16), (1, 2, 4, 8)):
    words = ["run", "--model", "llama3-8b", "--gpus", 32, "--global-batch", 64, "--seq", 4096, "--cluster", "dgx-h100:32", "--tp", tp,
             "--pp", pp, "--micro-batch", mb, "--zero", 1] + (["--sequence-parallel"] if tp > 1 else [])
    for recompute in ("none", "selective", "full"):
        ran = subprocess.run([program, *map(str, words), "--recompute", recompute, "--json", "-"], capture_output=True, text=True)
        if ran.returncode == 0:
            best[tp, pp] = min(best.get((tp, pp), 1e30), json.loads(ran.stdout)["step_time_us"])
            break
wrong = {k for k in best.keys() | {k for k in found if k[1] in (1, 2, 4, 8, 16)} if best.get(k) != found.get(k)}
print("not ok" if wrong else "ok", "the best of every family that runs", wrong or "")
P
"$S" plans --model mixtral-8x7b --gpus 64 --tp 1 --pp 1 --vpp 1 --global-batch 64 --micro-batch 1 --seq 4096 --recompute full \
    --cluster dgx-h100:64 --json "$tmp/m.json" >/dev/null
check "what is given stays" "$(python3 -S -c "
import json
print({(p['tp'], p['pp'], p['micro_batch'], p['recompute']) for p in json.load(open('$tmp/m.json'))['plans']})")" "{(1, 1, 1, 'full')}"
expect no_batch 0 "512 sequences, about the 4 Mi tokens" "$S" plans --model llama3-8b --gpus 8
check batch_as_given "$("$S" plans --model llama3-8b --gpus 8 | sed -n '4,6p')" "$("$S" plans --model llama3-8b --gpus 8 --global-batch 512 | sed -n '4,6p')"
# 4 Mi tokens are 512 sequences of 8192; of 24 GPUs the replicas share 504, the nearest multiple of 24
expect batch_of_24 0 "504 sequences, about the 4 Mi tokens" "$S" plans --model llama3-8b --gpus 24
expect batch_of_24_auto 0 "504 sequences, about the 4 Mi tokens" "$S" run --model llama3-8b --gpus 24 --plan auto
# machines of 24 and 16 GPUs: 528 is the nearest multiple of 48
expect batch_of_both 0 "528 sequences, about the 4 Mi tokens" "$S" plans --model llama3-8b --sizes 24,16
check command_names_the_batch "$("$S" plans --model llama3-8b --gpus 8 --json - | python3 -S -c '
import json, shlex, subprocess, sys
best = json.load(sys.stdin)["plans"][0]
step = json.loads(subprocess.check_output([sys.argv[1], *shlex.split(best["command"])[1:], "--json", "-"]))["step_time_us"]
print(step == best["step_time_us"])' "$S")" True
expect no_model 2 "plans are searched for a model" "$S" plans --gpus 8 --global-batch 8
expect no_gpus 2 "the number of GPUs is not known" "$S" plans --model llama3-8b --global-batch 8
expect too_large 1 "fits into memory with 8 % to spare" "$S" plans --model llama3-405b --gpus 8 --global-batch 8 --seq 8192
# parts that take years each: their sums are still numbers, and the error has its own way out
expect too_long 2 "no plan can be made for 16 GPUs: the step takes more than 26 days" \
    "$S" plans --model llama3-8b --cluster dgx-h100:16 --global-batch 64 --ignore-memory --host-launch 2e9
check too_long_hint "$(grep -c 'hint: look for a time or a size with too many digits' "$tmp/err")" 1
expect no_split 2 "no plan can be made for 24 GPUs" "$S" plans --model llama3-8b --gpus 24 --global-batch 1 --seq 2048 --tp 8 --pp 1
expect a_file 2 "takes a model" "$S" plans tests/data/seed_003.txt --gpus 8 --global-batch 8

few="--model gpt2 --gpus 2 --global-batch 4 --seq 512 --cluster dgx-h100:2"
for o in "--net flow" "--slow rank:0=2 --slow rank:1=3" "--comm-sm-tax 50%"; do
    "$S" plans $few $o --json "$tmp/o.json" >"$tmp/out"
    check "as run has it: $o" "$(python3 -S - "$S" "$tmp/o.json" <<'P'
import json, shlex, subprocess, sys
best = json.load(open(sys.argv[2]))["plans"][0]
words = [sys.argv[1], *shlex.split(best["command"])[1:], "--json", "-"]
print(json.loads(subprocess.check_output(words))["step_time_us"] == best["step_time_us"])
P
)" True
done
# Steps of ZB-2p overlap: the bubble is of the stage that is longest from its own first operation on.
"$S" plans --model llama3-70b --gpus 64 --global-batch 128 --seq 4096 --cluster dgx-h100:64 --schedule zb-2p --tp 8 --top 3 \
    --json "$tmp/z.json" >/dev/null
check "run agrees with plans where steps overlap" "$(python3 -S - "$S" "$tmp/z.json" <<'P'
import json, shlex, subprocess, sys
for plan in json.load(open(sys.argv[2]))["plans"]:
    run = json.loads(subprocess.check_output([sys.argv[1], *shlex.split(plan["command"])[1:], "--json", "-"]))
    parts, step = run["breakdown_us"], run["step_time_us"]
    assert step == plan["step_time_us"], (step, plan["step_time_us"])
    assert abs(parts["bubble"] / step - plan["bubble_share"]) < 1e-6, (parts["bubble"] / step, plan["bubble_share"])
    exposed = sum(parts["exposed_comm"].values())
    assert abs(exposed / step - plan["exposed_share"]) < 1e-6, (exposed / step, plan["exposed_share"])
    assert abs(run["mfu"] - plan["mfu"]) < 1e-9
print("yes")
P
)" yes
# Everything that can be searched, on a small job: the commands say what was found.
"$S" plans --model mixtral-8x7b --gpus 16 --global-batch 16 --seq 4096 --cluster dgx-h100:16 --tp 2 --micro-batch 1 --try all --pareto \
    --top 4 --json "$tmp/a.json" >"$tmp/a.out"
check "run agrees with plans of the whole space" "$(python3 -S - "$S" "$tmp/a.json" <<'P'
import json, shlex, subprocess, sys
d = json.load(open(sys.argv[2]))
for plan in d["plans"] + d["front"]:
    run = json.loads(subprocess.check_output([sys.argv[1], *shlex.split(plan["command"])[1:], "--json", "-"]))
    assert run["step_time_us"] == plan["step_time_us"] >= plan["bound_us"], plan["command"]
keys = [(p["step_time_us"], p["memory_bytes"]) for p in d["front"]]
assert keys == sorted(keys) and keys[0][0] == d["plans"][0]["step_time_us"]
print("yes")
P
)" yes
grep -q "the next best family" "$tmp/a.out"
check "what the next best changes" $? 0
# Machines: the cheapest, the one with most tokens a day and the smallest that keeps a deadline, each by hand.
small="--model llama3.2-1b --global-batch 64 --seq 4096 --tp 1 --cp 1 --pp 1"
"$S" plans $small --cluster dgx-h100:16,dgx-a100:32 --objective cheapest --top 2 --json "$tmp/c.json" >"$tmp/c.out"
check "the cheapest of two clusters" "$(python3 -S - "$S" "$tmp/c.json" <<'P'
import json, shlex, subprocess, sys
plans = json.load(open(sys.argv[2]))["plans"]
usd = {"dgx-h100:16": 3.0 * 16, "dgx-a100:32": 1.3 * 32}  # data/prices.json
for p in plans:
    step = json.loads(subprocess.check_output([sys.argv[1], *shlex.split(p["command"])[1:], "--json", "-"]))["step_time_us"]
    want = usd[p["cluster"]] / 3600 * step / 1e6 / (64 * 4096) * 1e9
    assert abs(p["usd_per_billion_tokens"] / want - 1) < 1e-9, (p, want)
print(len(plans), plans[0]["usd_per_billion_tokens"] <= plans[1]["usd_per_billion_tokens"])
P
)" "2 True"
"$S" plans $small --sizes 8,16,32 --train-tokens 1T --days 16 --json "$tmp/d.json" >/dev/null
check "the smallest machine in time" "$(python3 -S - "$S" "$tmp/d.json" <<'P'
import json, subprocess, sys
best = json.load(open(sys.argv[2]))["plans"][0]
days = {}
for gpus in (8, 16, 32):
    words = "plans --model llama3.2-1b --global-batch 64 --seq 4096 --tp 1 --cp 1 --pp 1 --json - --gpus"
    plan = json.loads(subprocess.check_output([sys.argv[1], *words.split(), str(gpus)]))["plans"][0]
    days[gpus] = 1e12 / (64 * 4096) * plan["step_time_us"] / 1e6 / 86400
first = min(g for g in days if days[g] <= 16)
print(best["gpus"] == first and abs(best["days"] / days[first] - 1) < 1e-9, len({d <= 16 for d in days.values()}))
P
)" "True 2"
# days · 24 h · 2 GPUs · 3 USD an hour (data/prices.json, H100), to the digits that both are printed with
check "dollars of a run without a word on prices" "$("$S" plans $few --train-tokens 300B |
    awk '/days/ { getline; want = $(NF - 2) * 24 * 2 * 3 / 1000; print $NF, ($(NF - 1) > 0.999 * want && $(NF - 1) < 1.001 * want) }')" "K 1"
# As many stages as divide the GPUs are tried, evenly cut or not: nobody finds a better plan by saying so.
thirds="--model llama3-70b --cluster dgx-h100:96 --global-batch 96 --seq 4096 --tp 4 --cp 1 --top 1"
check "stages that divide the GPUs" "$("$S" plans $thirds --json - | grep -o '"pp": [0-9]*\|"step_time_us": [0-9.]*' | xargs)" "$("$S" plans $thirds --pp 3 --json - | grep -o '"pp": [0-9]*\|"step_time_us": [0-9.]*' | xargs)"
# 27 layers and the loss are 14 chunks of two, as run cuts them: nobody finds a better plan by asking for seven chunks.
ends="--model deepseek-v2-lite --cluster dgx-h100:8 --global-batch 16 --seq 4096 --top 1"
check "chunks that the loss makes even" "$("$S" plans $ends --json - | grep -o '"step_time_us": [0-9.]*')" "$("$S" plans $ends --pp 2 --vpp 7 --json - | grep -o '"step_time_us": [0-9.]*')"
# So many micro-batches, whatever dp leaves of the GPUs; and what a plan with one rank of experts would say of theirs is said of none.
"$S" plans --model llama3-8b --cluster dgx-h100:16 --global-batch 32 --seq 4096 --micro-batches 8 --json "$tmp/eight.json" >/dev/null
check "micro-batches of every dp" "$(python3 -S -c "import json
plans = json.load(open('$tmp/eight.json'))['plans']
print({32 / p['dp'] / p['micro_batch'] for p in plans}, len({p['dp'] for p in plans}) > 1)")" "{8.0} True"
"$S" plans --model mixtral-8x7b --cluster dgx-h200:16 --global-batch 32 --seq 4096 --tp 2 --top 1 --moe-skew 1 >"$tmp/out"
check "experts of one rank" "$? $(grep -c 'of 1 ranks' "$tmp/out")" "0 0"
# What draws the least takes longer than what is fastest: between the two a deadline is kept, by what draws the least in time.
draw="--model llama3-8b --cluster dgx-h100 --sizes 64 --global-batch 64 --seq 1024 --train-tokens 1T"
check "a deadline beside the energy" "$(python3 -S - "$S" $draw <<'P'
import json, subprocess, sys
def best(*words):
    return json.loads(subprocess.check_output([sys.argv[1], "plans", *sys.argv[2:], "--top", "1", "--json", "-", *words]))["plans"][0]
fast, least = best(), best("--objective", "energy")
days = (fast["days"] + least["days"]) / 2
kept = best("--objective", "energy", "--days", str(days))
energy = [p["kwh_per_billion_tokens"] for p in (least, kept, fast)]
print(fast["days"] < kept["days"] <= days < least["days"], energy == sorted(energy))
P
)" "True True"
expect "nothing is in time" 1 "none of 2 machines trains 1000 T tokens in 1 days" "$S" plans $small --sizes 8,16 --train-tokens 1000T --days 1
# what was fixed, and what is not searched yet, are the ways out
large="--model llama3-70b --cluster dgx-h100:16 --global-batch 256"
expect "nothing fits" 1 "hint: more GPUs or a smaller batch; with --try all for ways that need less" "$S" plans $large
expect "nothing fits of what is fixed" 1 "smaller batch; without --tp, --micro-batch; with --try all" "$S" plans $large --tensor-model-parallel-size 2 --micro-batch 1
check "nothing fits of all" "$("$S" plans $large --try all --recompute full 2>&1 | sed -n 's/^  hint: //p')" "more GPUs or a smaller batch; without --recompute"
expect "the one plan does not fit" 1 "the one plan there is does not fit into memory" "$S" plans $large --tp 1 --pp 1 --cp 1 --micro-batch 1 --recompute none
expect "one machine is not in time" 1 "dgx-h100:8 does not train 1 T tokens in 1 days" "$S" plans $small --cluster dgx-h100:8 --train-tokens 1T --days 1
# what the front is made of is beside it
expect "cost and energy of the front" 0 "capacity    \$/Gtok  kWh/Gtok" "$S" plans $small --gpus 8 --pareto
# 14 bytes of each of 8.03 B parameters; of adapters of rank 8 beside queries and values, 32 · 8 · (4096 + 4096 + 4096 + 1024) parameters.
expect "all of the model is saved" 0 "checkpoints of 112 GB" "$S" plans --model llama3-8b --gpus 16 --tp 2 --pp 1 --cp 1 --global-batch 64 --objective goodput
expect "adapters alone are saved" 0 "checkpoints of 0.0477 GB" "$S" plans --model llama3-8b --gpus 16 --tp 2 --pp 1 --cp 1 --global-batch 64 --lora 8 --objective goodput
expect "goodput counts failures" 0 "Llama 3 405B" "$S" plans $small --sizes 8,16 --objective goodput
# Checkpoints of 112 GB take 1.12 s at 100 GB/s. Of 8 machines one fails every 1662 s and is back at once: saved as often as is
# best sqrt(2 * 1.12 / 1662) of the time is lost, and 1.12 s with every failure for reading.
cat >"$tmp/best.json" <<'J'
{"schema": "stepcast/failures/1", "name": "best", "source": "test", "node_gpus": 8, "requeue_s": [[1, 0]], "hot_s": [[1, 0]],
 "classes": [{"name": "node", "scope": "node", "symptom": "crash", "per_1000_days": 6500, "detect_s": 0, "locate_s": 0, "repair_s": 0}]}
J
"$S" plans --model llama3-8b --gpus 64 --tp 2 --pp 1 --cp 1 --micro-batch 1 --global-batch 64 --objective goodput --failures "$tmp/best.json" --top 1 --json "$tmp/best.out" >/dev/null
check "checkpoints come as often as is best" "$(python3 - "$tmp/best.out" <<'P'
import json, sys
lost = 1 - json.load(open(sys.argv[1]))["plans"][0]["ettr"]
rate = 8 * 6500e-3 / 86400
print(abs(lost / ((2 * 1.12 * rate) ** 0.5 + 1.12 * rate) - 1) < 0.05)
P
)" True
# A lost machine takes its replica along: with 8 machines, 100 failures per 1,000 days of one and 2 h until another has come
# through the queue 0.0667 replicas are missing on average, so that 1 - 0.0667 / dp of the time counts. Much more often, the
# best plan is not the fastest step.
cat >"$tmp/lost.json" <<'J'
{"schema": "stepcast/failures/1", "name": "lost", "source": "test", "node_gpus": 8, "requeue_s": [[1, 7200]], "hot_s": [[1, 0]],
 "classes": [{"name": "node", "scope": "node", "symptom": "crash", "per_1000_days": 100, "detect_s": 0, "locate_s": 0, "repair_s": 0}]}
J
sed 's/: 100,/: 500,/' "$tmp/lost.json" >"$tmp/often.json"
goodput() { "$S" plans --global-batch 64 --objective goodput --recovery drop-replica --failures "$tmp/$1.json" --top 20 --json "$tmp/$1.out" $2 >/dev/null; }
goodput lost "--model llama3-8b --gpus 64 --cp 1"
goodput often "--model llama3-70b --gpus 512 --global-batch 512"
check "replicas that are lost count" "$(python3 -S - "$tmp" <<'P'
import json, sys
plans = {f: json.load(open(f"{sys.argv[1]}/{f}.out"))["plans"] for f in ("lost", "often")}
score = lambda p: p["step_time_us"] / p["ettr"]
# 20 runs of 24 failures each: 5 % of what is lost, thrice
close = all(abs((1 - p["ettr"]) / (0.8 * 7200 / 86400 / p["dp"]) - 1) < 0.15 for p in plans["lost"])
ordered = all(score(a) <= score(b) for x in plans.values() for a, b in zip(x, x[1:]))
best = plans["often"][0]
print(close, ordered, len({p["dp"] for p in plans["lost"]}) > 3, min(p["step_time_us"] for p in plans["often"]) < best["step_time_us"])
P
)" "True True True True"
sed 's/: 100,/: 9e8,/' "$tmp/lost.json" >"$tmp/storm.json"
expect "nothing but failures" 2 "fails every 0.38 s" "$S" plans $few --objective goodput --recovery shrink --failures "$tmp/storm.json"
# A machine whose families are not among the best has its best plan beside them, the one it has alone.
two="--model llama3.2-1b --global-batch 64 --seq 4096 --json"
"$S" plans $two "$tmp/two.json" --cluster dgx-a100:16,gb200-nvl72:16 --top 2 >/dev/null
"$S" plans $two "$tmp/one.json" --cluster dgx-a100:16 --top 1 >/dev/null
check "every machine has its best" "$(python3 -S - "$tmp" <<'P'
import json, sys
two, one = (json.load(open(f"{sys.argv[1]}/{f}.json")) for f in ("two", "one"))
other = two["other_machines"]
print({p["cluster"] for p in two["plans"]}, [p["step_time_us"] == one["plans"][0]["step_time_us"] for p in other])
P
)" "{'gb200-nvl72:16'} [True]"
expect "recovery of nothing" 2 "--recovery says" "$S" plans $few --recovery hot
expect "a recovery that is none" 2 "'pray' is no value" "$S" plans $few --objective goodput --recovery pray
expect "a price that is none" 2 "is no price" "$S" plans $few --price -1
expect "sizes of a cluster that has its own" 2 "--sizes: 'dgx-h100:8' says how many GPUs it has" "$S" plans $small --cluster dgx-h100:8 --sizes 8,16
expect "sizes and GPUs" 2 "--sizes contradicts --gpus" "$S" plans $small --gpus 8 --sizes 8,16
expect "sizes that are none" 2 "is no number of GPUs" "$S" plans $small --sizes 8,x
expect "days of nothing" 2 "how many tokens" "$S" plans $few --days 3
expect "failures of nothing" 2 "--failures says" "$S" plans $few --failures llama3
expect "no price is known" 2 "is not known" "$S" plans --model gpt2 --global-batch 8 --seq 512 --cluster 'gpu=v100 gpus=8 node=8 nvlink=150GB/s nics=4 nic=12GB/s class=ib' --objective cheapest
# The best plan as a launch script: reading it back gives the same step.
for m in "llama3-8b --gpus 32" "mixtral-8x7b --gpus 64 --tp 2 --micro-batch 1" "gpt3-1.3b --gpus 16 --pp 4 --recompute full" \
    "qwen2.5-7b --gpus 16 --cp 2 --pp 2 --vpp 2"; do
    rm -f "$tmp/l.sh" "$tmp/l.json" "$tmp/r.json"
    words="--global-batch 64 --seq 4096 --software megatron-core-2025"
    "$S" plans --model $m $words --write-launch "$tmp/l.sh" --json "$tmp/l.json" >/dev/null
    "$S" run --megatron-args "$tmp/l.sh" --software megatron-core-2025 --json "$tmp/r.json" >/dev/null
    check "a launch script is read back: $m" "$(python3 -S -c "
import json
print(json.load(open('$tmp/l.json'))['plans'][0]['step_time_us'] == json.load(open('$tmp/r.json'))['step_time_us'])")" True
done
# The same as a recipe of Megatron-Bridge, for torchtitan and for DeepSpeed.
read_back() { # file, software, options of reading, options of plans
    file=$1 software=$2 reading=$3
    shift 3
    rm -f "$tmp/$file" "$tmp/l.js" "$tmp/r.js"
    "$S" plans --global-batch 64 --seq 4096 --software "$software" "$@" --write-launch "$tmp/$file" --json "$tmp/l.js" >/dev/null
    "$S" run --megatron-args "$tmp/$file" $reading --json "$tmp/r.js" >/dev/null
    check "$file is read back: $*" "$(python3 -S -c "
import json
print(json.load(open('$tmp/l.js'))['plans'][0]['step_time_us'] == json.load(open('$tmp/r.js'))['step_time_us'])")" True
}
core="--software megatron-core-2025"
read_back b.yaml megatron-core-2025 "$core" --model llama3-8b --gpus 32
read_back b.yaml megatron-core-2025 "$core" --model mixtral-8x7b --gpus 64 --tp 2 --micro-batch 1
read_back b.yaml megatron-core-2025 "$core" --model qwen2.5-7b --gpus 16 --cp 2 --pp 2 --vpp 2 --fp8
read_back b.yaml megatron-core-2025 "$core" --model qwen2.5-7b --gpus 16 --tp 2 --pp 2 --vpp 2 --micro-batch 1 --microbatch-group-size-per-virtual-pipeline-stage 4
check "groups of micro-batches in Bridge's word" "$(grep -c 'microbatch_group_size_per_vp_stage: 4' "$tmp/b.yaml")" 1
read_back b.yaml megatron-core-2025 "$core" --model llama3-8b --gpus 16 --recompute selective --recompute-modules layernorm,mlp
read_back b.yaml megatron-core-2025 "$core" --model qwen3-30b-a3b --gpus 16 --pp 1 --recompute selective --recompute-modules layernorm,moe_act
read_back g.sh megatron-core-2025 "$core" --model qwen3-30b-a3b --gpus 16 --pp 1 --recompute selective --recompute-modules moe_act
expect "modules that Megatron has not" 1 "layernorm and moe_act, not norm and act" "$S" plans --model llama3-8b --gpus 16 --global-batch 64 --seq 4096 --recompute selective --recompute-modules norm,act --write-launch "$tmp/no.sh"
read_back t.toml torchtitan-2026 "" --model llama3-8b --gpus 16 --zero 3
read_back t.toml torchtitan-2026 "" --model llama3-70b --gpus 128 --zero 3 --tp 8 --recompute full --vpp 1
read_back t.toml torchtitan-2026 "" --model llama3-8b --gpus 16 --zero 3 --pp 2 --vpp 1 --fp8 --recompute full
read_back t.toml torchtitan-2026 "" --model llama3-8b --gpus 64 --zero 3 --shard-group 16 --cp 2 --tp 1 --pp 1 --micro-batch 1
expect "groups of shards and DeepSpeed" 1 "groups of shards are not written" "$S" plans --model llama3-8b --gpus 16 --global-batch 16 --seq 4096 --software deepspeed --zero 3 --shard-group 8 --tp 1 --cp 1 --pp 1 --recompute none --write-launch "$tmp/no.json"
expect "groups of shards and Megatron" 1 "groups of shards are not written" "$S" plans --model gpt2 --gpus 16 --global-batch 16 --seq 1024 --zero 1 --shard-group 8 --tp 1 --cp 1 --pp 1 --write-launch "$tmp/no.sh"
# What was given and a file cannot say is not dropped; what it can say is said.
tiny="--model llama3-8b --gpus 8 --global-batch 8 --seq 4096 --tp 2 --cp 1 --pp 1 --micro-batch 1"
for lost in "--lora 16" "--cross-entropy fp32" "--optimizer sgd" --no-optimizer; do
    name=${lost%% *}
    "$S" plans $tiny $lost --write-launch "$tmp/no.sh" >"$tmp/out" 2>"$tmp/err"
    check "a launch file that would lose $name" "$? $(sed -n 's/.*what it says has not //p' "$tmp/err" | grep -c -e "$name\b")" "1 1"
done
read_back g.sh megatron-core-2025 "$core" --model llama3-8b --gpus 16 --dropout --grad-dtype bf16 --bucket 100M --vocab-size 50001 --make-vocab-size-divisible-by 1
read_back g.yaml megatron-core-2025 "$core" --model llama3-8b --gpus 16 --grad-dtype bf16 --bucket 100M
check "gradients of two bytes are half the bucket's size in parameters" "$(grep -c 'grad-reduce-in-bf16\|ddp-bucket-size 52428800' "$tmp/g.sh") $(grep -c 'grad_reduce_in_fp32: false\|bucket_size: 52428800' "$tmp/g.yaml")" "2 2"
check "the loss that is forecast is asked for" "$(grep -c -e '--cross-entropy-loss-fusion' "$tmp/g.sh")" 1
expect "what goes with a launch file" 0 "has no word for --gpu-spread 0.02: give them" "$S" plans $tiny --gpu-spread 0.02 --write-launch "$tmp/s.sh"
for more in "" --exhaustive; do
    "$S" plans --model llama3-8b --gpus 128 --global-batch 128 --seq 8192 --pp 1 --tp 1 --cp 1 --micro-batch 1 --try zero $more --json - | python3 -S -c "
import json, sys
d = json.load(sys.stdin)
print(d['plans'][0]['step_time_us'], d['plans'][0]['command'])" >"$tmp/hsdp$more"
done
check "groups of shards are searched" "$(cmp "$tmp/hsdp" "$tmp/hsdp--exhaustive" && "$S" plans --model llama3-8b --gpus 128 --global-batch 128 --seq 8192 --pp 1 --tp 1 --cp 1 --micro-batch 1 --try zero | head -1 | sed 's/ plans.*//')" 7
# a group that is given needs no --zero beside it: what is sharded is searched
grouped="--model llama3-8b --gpus 16 --global-batch 32 --seq 8192 --pp 1 --tp 1 --cp 1 --micro-batch 1 --recompute full --shard-group 8"
fastest() { for how in "--zero 1" "--zero 1 --overlap-param yes" "--zero 2" "--zero 3"; do "$S" run $grouped $how --json - | sed -n 's/.*"step_time_us": \([0-9.]*\),$/\1/p' | head -1; done | sort -n | head -1; }
found() { "$S" plans $grouped "$@" --top 1 --json - | python3 -S -c 'import json, sys; print("%.6f" % json.load(sys.stdin)["plans"][0]["step_time_us"])'; }
best=$(fastest)
check "a given group of shards" "$(found --try zero) $(found --try zero --exhaustive)" "${best:-nothing} ${best:-nothing}"
check "a given group of shards, as usual" "$(found)" "$("$S" run $grouped --zero 1 --json - | sed -n 's/.*"step_time_us": \([0-9.]*\),$/\1/p' | head -1)"
expect "a group of nothing" 2 "--shard-group 8, but nothing is sharded" "$S" plans $grouped --zero 0
# another network by an option of its own: bounds by NVLink and NICs held plans back that are faster without them
free="--model qwen3-30b-a3b --cluster dgx-a100:16 --global-batch 64 --seq 4096 --pp 2 --tp 1 --cp 1 --top 3 --loggops 1,1,1,0,0,0"
steps() { python3 -S -c 'import json, sys; print([p["step_time_us"] for p in json.load(sys.stdin)["plans"]])'; }
check "the best on LogGOPS parameters" "$("$S" plans $free --json - | steps)" "$("$S" plans $free --exhaustive --json - | steps)"
check "LogGOPS parameters have an effect" "$("$S" plans $free | grep -c ' plans\b.*fit\|has no effect')" 1
expect "two networks" 2 "--loggops and --net flow are two networks" "$S" plans $free --net flow
failed="--model qwen3-30b-a3b --cluster dgx-h100:64 --global-batch 64 --seq 2048 --pp 1 --cp 1 --tp 1 --ignore-memory --fail leaf0-spine0"
check "a plan on links of which one failed" "$("$S" run $failed --plan auto --json - | grep -m1 step_time_us)" "$(for ep in 1 2 4 8 16 32 64; do "$S" run $failed --ep $ep --zero 1 --json - | grep -m1 step_time_us; done | sort -t: -k2n | head -1)"
read_back d.json deepspeed "--model llama3-8b --seq 4096 --gpus 16" --model llama3-8b --gpus 16 --zero 3 --cp 1 --pp 1 --recompute none
read_back d.json deepspeed "--model gpt3-1.3b --seq 4096 --gpus 16" --model gpt3-1.3b --gpus 16 --zero 2 --tp 2 --cp 1 --pp 1 --recompute none --micro-batch 1 --no-sequence-parallel
expect "nothing to shard" 1 "its mixed precision is FSDP's" "$S" plans --model llama3-8b --gpus 8 --tp 8 --pp 1 --zero 3 --global-batch 8 --seq 4096 --software torchtitan-2026 --write-launch "$tmp/no.toml"
expect "a plan of other software" 1 "--software torchtitan-2026" "$S" plans $few --write-launch "$tmp/no.toml"
expect "and for DeepSpeed" 1 "--software deepspeed" "$S" plans $few --write-launch "$tmp/no.json"
expect "a plan without flags" 1 "cannot be said to Megatron-LM" "$S" plans $few --zero 3 --write-launch "$tmp/no.sh"
check "and no script" "$(cat "$tmp/out" "$tmp/err" | grep -c 'cannot be said') $(ls "$tmp/no.sh" 2>&1 | grep -c 'cannot access')" "1 1"
# run --plan auto is the first of plans.
"$S" run $few --plan auto --json "$tmp/auto.json" >/dev/null
"$S" plans $few --json "$tmp/first.json" >/dev/null
check "run --plan auto" "$(python3 -S -c "
import json
a, p = json.load(open('$tmp/auto.json')), json.load(open('$tmp/first.json'))
print(a['step_time_us'] == p['plans'][0]['step_time_us'], '--plan auto: of' in json.dumps(a))")" "True True"
expect "a plan that is no word" 2 "--plan: unknown 'x'" "$S" run $few --plan x
expect "auto without a batch" 0 "4096 sequences, about the 4 Mi tokens" "$S" run --model gpt2 --gpus 2 --plan auto
expect "auto does not fit" 1 "none of" "$S" run --model llama3-405b --gpus 8 --global-batch 8 --seq 8192 --plan auto
expect "what would fit" 1 "stepcast plans --model llama3-70b --gpus 8 --global-batch 8" "$S" run --model llama3-70b --gpus 8 --global-batch 8 --seq 8192
expect "nothing of the name to try" 2 "--try: unknown 'x'" "$S" plans $few --try zero,x
expect "no margin" 2 "memory-margin" "$S" plans $few --memory-margin 100%
expect "a wrong word" 2 "--net: unknown 'x'" "$S" plans $few --net x
expect "what plans assume" 0 "every plan shards the optimizer" "$S" plans $few
expect "an option without effect" 0 "--format has no effect" "$S" plans $few --format goal

# the run's price: days of all GPUs at the hourly price
priced() { "$S" plans --model llama3-8b --gpus 64 --global-batch 512 --train-tokens 1T --price 2.5 --json - | python3 -S -c 'import json,sys
p = json.load(sys.stdin)["plans"][0]
print(abs(p["cost_usd"] / (p["days"] * 24 * 64 * 2.5) - 1) < 1e-9)'; }
check price_of_the_run "$(priced)" True
# The command of the best plan writes no file of the search; money is readable, and says where it comes from.
"$S" plans --model gpt2 --cluster dgx-h100:8,mi300x:8 --global-batch 64 --train-tokens 1T --html "$tmp/p.html" >"$tmp/out"
check "the best plan's command has no page" "$(grep -c '^  stepcast run --model gpt2' "$tmp/out") $(grep -c -e --html "$tmp/out")" "1 0"
check "prices that were assumed" "$(grep -c 'an hour of a GPU at what data/prices.json quotes.*: h100-sxm 3 USD, mi300x unknown' "$tmp/out")" 1
"$S" plans --model gpt2 --cluster dgx-h100:8 --global-batch 64 --train-tokens 1T --price 2.5 --json "$tmp/p.json" >"$tmp/out"
check "dollars of the run" "$(sed -n '4s/.* \([0-9.]* K\)$/\1/p' "$tmp/out")" "$(python3 -S -c "
import json
p = json.load(open('$tmp/p.json'))['plans'][0]
print('%.4g K' % (p['days'] * 24 * 8 * 2.5 / 1e3))")"
"$S" plans --model mixtral-8x7b --cluster dgx-h100:64 --global-batch 256 --seq 4096 --try etp --top 20 >"$tmp/out"
check "etp is tp where it is not said" "$(grep -c 'next best family: ' "$tmp/out") $(grep -c 'instead of 0' "$tmp/out") $(grep -c 'etp 1, *$' "$tmp/out")" "1 0 0"
# Why a machine that was named has no plan: 256 sequences on 8 · 67 GPUs cannot be cut, whatever the memory; and a model without experts has no etp.
"$S" plans --model llama3-8b --cluster dgx-h100:16,dgx-h100:536,a100:1 --global-batch 256 --seq 4096 >"$tmp/out"
check "machines without plans" "$(grep -c -e 'no plan can be made for 536 GPUs of dgx-h100:536: a global batch that more splits divide' -e 'no plan fits into the memory of 1 GPU of a100:1' "$tmp/out")" 2
check "etp that nobody says" "$(grep -c 'next best family: tp 2 instead of 1, micro-batch' "$tmp/out")" 1
# Days, dollars and energy of a run with failures are of the same run: as train has them, within what 20 runs scatter.
cat >"$tmp/gpus.json" <<'J'
{"schema": "stepcast/failures/1", "name": "ours", "source": "a test", "node_gpus": 8, "requeue_s": [[64, 300], [4096, 600]], "hot_s": [[64, 30], [4096, 60]],
 "classes": [{"name": "g", "scope": "gpu", "symptom": "crash", "per_1000_days": 100, "detect_s": 10, "locate_s": 120, "repair_s": 3600}]}
J
of_a_run() { # recovery
    "$S" plans --model llama3-8b --cluster dgx-h100:256 --global-batch 1024 --seq 8192 --train-tokens 5T --objective goodput --failures "$tmp/gpus.json" --recovery $1 --price 2 --top 1 --json "$tmp/run.json" >/dev/null
    "$S" train $(python3 -S -c "import json; print(json.load(open('$tmp/run.json'))['plans'][0]['command'][len('stepcast run '):])") --train-tokens 5T --failures "$tmp/gpus.json" --recovery $1 --price 2 --json "$tmp/train.json" >/dev/null
    python3 -S -c "
import json
p, t = json.load(open('$tmp/run.json'))['plans'][0], json.load(open('$tmp/train.json'))
near = lambda a, b: abs(a / b - 1) < 0.01
print(p['ettr'] < 0.95, near(p['days'], t['days']['p50']), near(p['cost_usd'], t['cost_usd']), near(p['kwh_per_billion_tokens'] * 5000, t['energy_kwh']))"
}
check "dollars of a run with failures" "$(of_a_run requeue)" "True True True True"
check "dollars of spare machines" "$(of_a_run spares=20)" "True True True True"
# Overlapped dispatch has a chunk more in flight: of two plans the one without fits (89 % of the memory, not 96).
of_a_chunk="--num-layers 16 --hidden-size 4096 --num-attention-heads 32 --vocab-size 32000 --seq 6144 --num-experts 4 --moe-router-topk 2 --cluster dgx-h100:4 --pp 2 --ep 2 --vpp 2 --tp 1 --cp 1 --micro-batch 1 --global-batch 64 --recompute none --zero 1"
"$S" plans $of_a_chunk --try overlap >"$tmp/out"
check "overlap beside memory" "$(grep -c '^2 plans for 4 GPUs: 1 fit with 8 % of the memory free, 1 do not' "$tmp/out")" 1
