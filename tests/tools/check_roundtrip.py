"""gen --to workload-text fed back as a file gives the plan's step, for random Megatron plans. One in twenty may
be refused: weights that arrive behind other collectives have no place in the format.

    check_roundtrip.py STEPCAST COUNT [SEED]
"""
import json, os, random, subprocess, sys, tempfile

program, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
MODELS = {"llama3-8b": (32, 32), "gpt3-175b": (96, 96), "llama3-70b": (80, 64), "mixtral-8x7b": (32, 32), "megatron-7.5b": (36, 32),
          "gpt2-xl": (48, 25), "deepseek-v2-lite": (27, 16)}


def plan(r):
    while True:
        model = r.choice(list(MODELS))
        layers, heads = MODELS[model]
        tp, pp, dp, vpp = r.choice([1, 2, 4, 8]), r.choice([1, 1, 2, 4, 8]), r.choice([1, 2, 4, 8, 16]), r.choice([1, 1, 1, 2])
        moe = model == "mixtral-8x7b"
        ep = r.choice([e for e in (1, 2, 4, 8) if dp % e == 0]) if moe else 1
        if heads % tp or layers % (pp * vpp) or (vpp > 1 and pp == 1):
            continue
        micro, m = r.choice([1, 1, 2]), r.choice([1, 2, 4, 8]) * pp
        words = ["--model", model, "--gpus", tp * pp * dp, "--tp", tp, "--pp", pp, "--vpp", vpp, "--ep", ep, "--micro-batch", micro,
                 "--global-batch", dp * m * micro, "--seq", r.choice([1024, 2048, 4096]), "--zero", r.choice([0, 1]),
                 "--recompute", r.choice(["none", "selective", "full"]), "--overlap-grad", r.choice(["yes", "no"]),
                 "--overlap-param", r.choice(["yes", "no"]), "--overlap-tp", r.choice(["no", "wgrad", "chunks"]), "--ignore-memory",
                 "--cluster", "%s:%d" % (r.choice(["dgx-h100", "dgx-a100"]), tp * pp * dp)]
        if tp > 1 and (r.random() < 0.6 or "chunks" in words):  # chunks need it
            words.append("--sequence-parallel")
        return [str(w) for w in words]


def step(*words):
    p = subprocess.run([program, "run", *words, "--json", "-"], capture_output=True, text=True)
    if p.returncode:
        sys.exit(f"not ok round trip: {' '.join(words)}: {p.stderr}")
    return json.loads(p.stdout)["step_time_us"]


r, worst, bad, refused = random.Random(seed), 0.0, [], 0
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "w.txt")
    for _ in range(count):
        words = plan(r)
        p = subprocess.run([program, "gen", *words, "-o", path], capture_output=True, text=True)
        if p.returncode == 2 and "as workload text the step would be" in p.stderr:
            refused += 1
            continue
        if p.returncode:
            bad.append((words, p.stderr))
            continue
        off = 100 * (step(path, *words[words.index("--cluster"):][:2]) / step(*words) - 1)
        worst = max(worst, abs(off))
        if abs(off) > 0.1:
            bad.append((words, "%+.3f %%" % off))
for words, why in bad:
    print("#", " ".join(words), "\n#   ", why.strip())
print(f"{'not ok' if bad or refused > count / 20 else 'ok'} round trip of {count} random plans through workload text: worst {worst:.4f} %, limit 0.1 %, {refused} refused")
