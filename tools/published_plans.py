#!/usr/bin/env python3
"""What practitioners run beside the best plan that is found: rows of the tables of measured steps whose tuning is documented,
forecast as published, and the plans that the same model, machine, batch, types and software leave open.

    published_plans.py build/stepcast             prints the table
    published_plans.py build/stepcast docs/plans.md   writes it between its marks
"""
import json, shlex, subprocess, sys

# The table, the row, what it is.
ROWS = (
    ("training_steps.csv", "dgxc-v25.02.02-gpt3-175b-bf16-128", "GPT-3 175B, 128 H100, NeMo 25.02"),
    ("training_steps.csv", "dgxc-v25.02.02-gpt3-175b-bf16-1024", "GPT-3 175B, 1024 H100, NeMo 25.02"),
    ("training_steps.csv", "dgxc-v25.02.02-gpt3-175b-fp8-512", "GPT-3 175B fp8, 512 H100, NeMo 25.02"),
    ("nemo_steps.csv", "nemo2407-llama3-70b-64-128", "Llama 3 70B fp8, 64 H100, NeMo 24.07"),
    ("nemo_steps.csv", "nemo2502-llama3-405b-128-64", "Llama 3.1 405B fp8, 128 B200, NeMo 25.02"),
    ("nemo_steps.csv", "nemo2504-llama3-405b-128-64", "Llama 3.1 405B fp8, 128 GB200, NeMo 25.04"),
    ("training_steps.csv", "mbridge-26.06-018", "Llama 3.1 405B fp8, 256 GB200, Megatron-Bridge 26.06"),
    ("nemo_steps.csv", "nemo2407-nemotron-340b-128-32", "Nemotron-4 340B fp8, 128 H100, NeMo 24.07"),
    ("nemo_steps.csv", "nemo2502-nemotron-340b-128-32", "Nemotron-4 340B fp8, 128 B200, NeMo 25.02"),
    ("nemo_steps.csv", "nemo2504-nemotron-340b-128-32", "Nemotron-4 340B fp8, 128 GB200, NeMo 25.04"),
    ("training_steps.csv", "mbridge-26.06-024", "DeepSeek-V3 fp8, 256 GB200, Megatron-Bridge 26.06"),
    ("training_steps.csv", "mbridge-26.04-119", "DeepSeek-V3 fp8, 256 B200, Megatron-Bridge 26.04"),
    ("training_steps_2.csv", "new-automodel-4-dsv3-1024", "DeepSeek-V3, 1024 H100, NeMo Automodel"),
)
# Of papers that give plan and batch: as --software assumes, weights sharded as ZeRO 1.
USUAL = "--zero 1 --sequence-parallel --uneven-stages --ignore-memory"
PAPERS = (
    ("--model llama3-405b --cluster dgx-h100:8192 --global-batch 2048 --seq 8192 --tp 8 --pp 16 --vpp 8", "Llama 3 405B, 8192 H100, arXiv 2407.21783"),
    ("--model llama3-405b --cluster dgx-h100:16384 --global-batch 2048 --seq 8192 --tp 8 --pp 16 --vpp 8", "Llama 3 405B, 16384 H100, arXiv 2407.21783"),
    ("--model nemotron4-340b --cluster dgx-h100:1536 --global-batch 768 --seq 4096 --tp 8 --pp 12 --vpp 8", "Nemotron-4 340B, 1536 H100, arXiv 2406.11704"),
    ("--model nemotron4-340b --cluster dgx-h100:6144 --global-batch 2304 --seq 4096 --tp 8 --pp 12 --vpp 8", "Nemotron-4 340B, 6144 H100, arXiv 2406.11704"),
    ("--model deepseek-v3 --cluster 'hgx-h800:2048 nic=400Gbps' --global-batch 15360 --seq 4096 --pp 16 --ep 64 --micro-batch 1 --fp8 --fp8-recipe blockwise "
     "--schedule dualpipev --moe-token-dispatcher-type flex --recompute selective --recompute-modules layernorm,mla_up_proj,moe_act",
     "DeepSeek-V3 fp8, 2048 H800, arXiv 2412.19437"),
)
# What the search decides; with the number of values behind the name.
OPEN = {"tp": 1, "pp": 1, "dp": 1, "cp": 1, "ep": 1, "etp": 1, "vpp": 1, "micro-batch": 1, "micro-batches": 1, "recompute": 1,
        "recompute-modules": 1, "recompute-layers": 1, "recompute-method": 1, "uneven-stages": 0, "ignore-memory": 0, "schedule": 1}
BEGIN, END = "<!-- published plans: tools/published_plans.py -->\n", "<!-- end -->\n"


def command_of(program, table, row):
    out = subprocess.run([program, "validate", "data/truth/" + table, "--only", row, "--json", "-"], capture_output=True, text=True)
    rows = [r for r in json.loads(out.stdout)["rows"] if r["id"] == row]
    return shlex.split(rows[0]["command"])[2:]


def without(words, names):
    kept, i = [], 0
    while i < len(words):
        name = words[i].lstrip("-")
        if words[i].startswith("--") and name in names:
            i += 1 + names[name]
            continue
        kept.append(words[i])
        i += 1
    return kept


def value(words, name, usual):
    return words[words.index("--" + name) + 1] if "--" + name in words else usual


def shown(get):
    parts = [f"{n} {get(n)}" for n in ("tp", "pp", "cp", "ep", "vpp") if str(get(n)) not in ("1", "0", "")]
    batch = str(get("micro-batch"))
    return " ".join(parts or ["dp alone"]) + (f", micro-batch {batch}" if batch not in ("1", "") else "")


def line(program, words, title):
    ran = subprocess.run([program, "run", *words, "--json", "-"], capture_output=True, text=True)
    step = json.loads(ran.stdout)["step_time_us"] / 1e6
    fits = subprocess.run([program, "run", *without(words, {"ignore-memory": 0}), "--json", "-"], capture_output=True).returncode == 0
    tries = ["--try", "schedule"] if "--schedule" in words else []
    found = subprocess.run([program, "plans", *without(words, OPEN), *tries, "--top", "1", "--json", "-"], capture_output=True, text=True)
    if found.returncode:
        sys.exit(f"{title}: {found.stderr}")
    best = json.loads(found.stdout)["plans"][0]
    best_step = best["step_time_us"] / 1e6
    longer = 100 * (step / best_step - 1)
    how = f"{longer:.1f} % longer" if longer >= 0.05 else f"{-longer:.1f} % shorter" if longer <= -0.05 else "the same"
    print(title, how, file=sys.stderr)
    plan = shown(lambda n: value(words, n, "1"))
    other = shown(lambda n: best.get(n.replace("-", "_"), 1))
    other += "" if best.get("recompute", "none") == "none" else f", recompute {best['recompute']}"
    if tries:
        plan, other = f"{plan}, {value(words, 'schedule', '')}", f"{other}, {best['with']}"
    return f"| {title} | {plan} | {step:.2f} s{'' if fits else ' (1)'} | {other} | {best_step:.2f} s | {how} |\n"


def main():
    program = sys.argv[1]
    table = "| model, machine, source | published plan | its forecast | best found | forecast | published is |\n|---|---|---|---|---|---|\n"
    for file, row, title in ROWS:
        table += line(program, command_of(program, file, row), title)
    for words, title in PAPERS:
        table += line(program, shlex.split(f"{words} {USUAL}"), title)
    if len(sys.argv) < 3:
        print(table, end="")
        return
    text = open(sys.argv[2]).read()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    open(sys.argv[2], "w").write(text[:begin] + table + text[end:])


main()
