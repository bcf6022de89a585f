# plans: what it says of a plan is what run says; the best is the best; what cannot be is refused.
S=${STEPCAST:?}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect

"$S" plans --model llama3-8b --gpus 32 --global-batch 64 --seq 4096 --cluster dgx-h100:32 --top 1000 --json "$tmp/p.json" -j 2 >"$tmp/out"
"$S" plans --model llama3-8b --gpus 32 --global-batch 64 --seq 4096 --cluster dgx-h100:32 --top 1000 --json "$tmp/q.json" >"$tmp/out2"
cmp -s "$tmp/p.json" "$tmp/q.json" && cmp -s "$tmp/out" "$tmp/out2"
check "one thread and two give the same" $? 0
python3 - "$S" "$tmp/p.json" <<'P'
import itertools, json, shlex, subprocess, sys
program, d = sys.argv[1], json.load(open(sys.argv[2]))
plans = d["plans"]


def ask(words):
    return json.loads(subprocess.run([program, *words, "--json", "-"], capture_output=True, text=True, check=True).stdout)


steps = [p["step_time_us"] for p in plans]
print("ok" if steps == sorted(steps) and len(plans) == d["fit"] else "not ok", "fastest first, all that fit")
same = all(ask(shlex.split(p["command"])[1:])["step_time_us"] == p["step_time_us"] for p in plans[:: len(plans) // 6])
print("ok" if same else "not ok", "run agrees with plans")
# Every split of the GPUs without context parallelism that run accepts is there, or a plan with less recomputation.
known = {(p["tp"], p["pp"], p["cp"], p["vpp"], p["micro_batch"]) for p in plans}
missing = []
for tp, pp, mb in itertools.product((1, 2, 4, 8), (1, 2, 4, 8, 16), (1, 2, 4, 8)):
    words = ["run", "--model", "llama3-8b", "--gpus", 32, "--global-batch", 64, "--seq", 4096, "--cluster", "dgx-h100:32", "--tp", tp,
             "--pp", pp, "--micro-batch", mb, "--zero", 1, "--recompute", "full"] + (["--sequence-parallel"] if tp > 1 else [])
    runs = subprocess.run([program, *map(str, words)], capture_output=True).returncode == 0
    if runs != ((tp, pp, 1, 1, mb) in known):
        missing.append((tp, pp, mb, runs))
print("not ok" if missing else "ok", "every plan that runs is tried", missing or "")
P
"$S" plans --model mixtral-8x7b --gpus 64 --tp 1 --pp 1 --vpp 1 --global-batch 64 --micro-batch 1 --seq 4096 --recompute full \
    --cluster dgx-h100:64 --json "$tmp/m.json" >/dev/null
check "what is given stays" "$(python3 -c "
import json
print({(p['tp'], p['pp'], p['micro_batch'], p['recompute']) for p in json.load(open('$tmp/m.json'))['plans']})")" "{(1, 1, 1, 'full')}"
expect no_batch 2 "the batch decides" "$S" plans --model llama3-8b --gpus 8
expect no_model 2 "plans are searched for a model" "$S" plans --gpus 8 --global-batch 8
expect no_gpus 2 "the number of GPUs is not known" "$S" plans --model llama3-8b --global-batch 8
expect too_large 1 "fits into memory" "$S" plans --model llama3-405b --gpus 8 --global-batch 8 --seq 8192
expect no_split 2 "no plan can be made for 24 GPUs" "$S" plans --model llama3-8b --gpus 24 --global-batch 1 --seq 2048 --tp 8
expect a_file 2 "takes a model" "$S" plans tests/data/seed_003.txt --gpus 8 --global-batch 8

few="--model gpt2 --gpus 2 --global-batch 4 --seq 512 --cluster dgx-h100:2"
for o in "--net flow" "--slow rank:0=2 --slow rank:1=3" "--comm-sm-tax 50%"; do
    "$S" plans $few $o --json "$tmp/o.json" >"$tmp/out"
    check "as run has it: $o" "$(python3 - "$S" "$tmp/o.json" <<'P'
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
check "run agrees with plans where steps overlap" "$(python3 - "$S" "$tmp/z.json" <<'P'
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
expect "a wrong word" 2 "--net: unknown 'x'" "$S" plans $few --net x
expect "what plans assume" 0 "every plan shards the optimizer" "$S" plans $few
expect "an option without effect" 0 "--format has no effect" "$S" plans $few --format goal
