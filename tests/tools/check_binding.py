#!/usr/bin/env python3
"""The installed Python package against the program:
check_binding.py STEPCAST ROOT FOLDER WORKLOAD [NAME=VALUE…]…

Every number comes from the program's JSON (another process, by way of options
as text) and must be the same here. FOLDER is a place to write; a workload may be
followed by options of its own."""
import gc
import html.parser
import json
import locale
import os
import re
import subprocess
import sys
import threading
import unittest

import binding_case
import stepcast

PROGRAM, ROOT, FOLDER = sys.argv[1:4]
WORKLOADS = {}  # path: its options
for word in sys.argv[4:]:
    if "=" in os.path.basename(word):
        name, value = word.split("=", 1)
        WORKLOADS[list(WORKLOADS)[-1]][name] = value
    else:
        WORKLOADS[word] = {}
WORKLOAD = list(WORKLOADS)[0]

JOBS = [
    ("llama3-8b", "dgx-h100:16", dict(tp=2, zero=1, global_batch=64, seq=4096), "--tp 2 --zero 1 --global-batch 64 --seq 4096"),
    ("llama3-8b", "dgx-h100:32", dict(tp=2, pp=4, micro_batch=1, global_batch=64, seq=4096, recompute="full", schedule="zb-2p"),
     "--tp 2 --pp 4 --micro-batch 1 --global-batch 64 --seq 4096 --recompute full --schedule zb-2p"),
    ("llama3-8b", "dgx-a100:16", dict(tp=4, pp=2, vpp=2, global_batch=32, seq=2048, sequence_parallel=True, overlap_tp="chunks", zero=1),
     "--tp 4 --pp 2 --vpp 2 --global-batch 32 --seq 2048 --sequence-parallel --overlap-tp chunks --zero 1"),
    ("mixtral-8x7b", "dgx-h100:64", dict(tp=2, ep=8, pp=2, micro_batch=1, global_batch=64, seq=4096, zero=1, moe_imbalance=1.5, moe_dispatcher="flex"),
     "--tp 2 --ep 8 --pp 2 --micro-batch 1 --global-batch 64 --seq 4096 --zero 1 --moe-imbalance 1.5 --moe-token-dispatcher-type flex"),
    ("llama3-8b", "dgx-h100:16", dict(cp=2, zero=3, global_batch=16, seq=8192, gemm_dtype="fp8", cp_comm="a2a", recompute="selective", recompute_modules=["core_attn", "mlp"]),
     "--cp 2 --zero 3 --global-batch 16 --seq 8192 --fp8 --cp-comm-type a2a --recompute selective --recompute-modules core_attn,mlp"),
    ("gpt2", "dgx-a100:8", dict(gpus=1, global_batch=8, host_launch_us=0, optimizer=False, bucket_bytes=10**6, fusion="eager"),
     "--gpus 1 --global-batch 8 --host-launch 0 --no-optimizer --bucket 1MB --fusion eager"),
]


def program(*words):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, check=True)
    return done.stdout.decode()


def program_json(*words):
    document = json.loads(program(*words, "--json", "-"))
    del document["command"]  # what was typed
    return document


def document_of(result):
    document = result.to_dict()
    document.pop("command", None)
    return document


class Installed(unittest.TestCase):
    def test_place(self):
        """it is the installed package, with its own library"""
        package = os.path.dirname(os.path.realpath(stepcast.__file__))
        self.assertFalse(package.startswith(os.path.realpath(ROOT)), package)
        with open("/proc/self/maps") as maps:
            loaded = {line.split()[-1] for line in maps if "libstepcast" in line}
        self.assertEqual(loaded, {os.path.join(package, "libstepcast.so.0")})
        self.assertTrue(os.path.exists(os.path.join(package, "py.typed")))

    def test_version(self):
        """the version is the program's"""
        self.assertIn(stepcast.__version__, program("--version"))


class Evaluation(unittest.TestCase):
    def test_documents(self):
        """evaluate() gives the program's document"""
        for model, cluster, keywords, words in JOBS:
            with self.subTest(words=words):
                theirs = program_json("run", "--model", model, "--cluster", cluster, *words.split())
                ours = stepcast.evaluate(stepcast.Model(model), stepcast.Plan(**keywords), stepcast.Cluster(cluster))
                self.assertEqual(document_of(ours), theirs)

    def test_attributes(self):
        """typed attributes are the document's numbers"""
        for model, cluster, keywords, words in JOBS:
            with self.subTest(words=words):
                d = program_json("run", "--model", model, "--cluster", cluster, *words.split())
                r = stepcast.evaluate(model, stepcast.Plan(**keywords), cluster)
                self.assertEqual(r.step_us, d["step_time_us"])
                self.assertAlmostEqual(r.step_s, d["step_time_us"] / 1e6, places=12)
                for name in ("mfu", "hfu", "tokens_per_s", "tflops_per_gpu", "energy_j", "events"):
                    self.assertEqual(getattr(r, name), d[name], name)
                self.assertEqual(r.ranks, d["plan"]["gpus"])
                self.assertEqual(r.stages, len(d["ranks"]))
                self.assertEqual([tuple(n) for n in r.notes], [(n["code"], n["text"]) for n in d["input"]["notes"]])
                for name in ("tp", "cp", "ep", "dp", "pp", "vpp", "schedule"):
                    self.assertEqual(getattr(r.plan, name), d["plan"][name], name)
                for stage, row in enumerate(d["ranks"]):
                    self.check_stage(r, stage, row)
                self.assertEqual(r.slowest_stage, max(range(r.stages), key=lambda s: r.breakdown(s).end_us))
                memory = max((r.memory(s) for s in range(r.stages)), key=lambda m: m.total)
                self.assertEqual(memory._asdict(), d["memory_bytes"])

    def check_stage(self, r, stage, row):
        b, theirs = r.breakdown(stage), row["breakdown_us"]
        self.assertEqual((b.ranks, b.end_us), (row["ranks"], row["end_us"]))
        for name in ("compute", "recompute", "bubble", "skew", "other"):
            self.assertAlmostEqual(getattr(b, name + "_us"), theirs[name], places=5)
        exposed = {group: us for group, us in theirs["exposed_comm"].items() if us}
        self.assertAlmostEqual(b.exposed_us, sum(exposed.values()), places=4)
        self.assertAlmostEqual(b.step_us, r.step_us, places=4)
        groups = r.communication(stage)
        for group, us in exposed.items():
            self.assertAlmostEqual(groups[group].exposed_us, us, places=5)
            self.assertGreater(groups[group].bytes, 0)
            self.assertGreaterEqual(groups[group].busy_us + 1e-6, groups[group].exposed_us)

    def test_communication(self):
        """communication by group is the document's"""
        model, cluster, keywords, words = JOBS[0]
        theirs = program_json("run", "--model", model, "--cluster", cluster, *words.split())["comm"]
        ours = stepcast.evaluate(model, stepcast.Plan(**keywords), cluster).communication()
        self.assertEqual(sorted(ours), sorted(theirs))
        for group, row in theirs.items():
            self.assertEqual((ours[group].operations, ours[group].bytes), (row["ops"], row["bytes"]))
            self.assertAlmostEqual(ours[group].busy_us, row["busy_us"], places=5)

    def test_false(self):
        """False is off, and not left out"""
        base = ["run", "--model", "llama3-8b", "--cluster", "dgx-h100:16", "--global-batch", "32", "--seq", "4096", "--tp", "2", "--zero", "1"]
        on, off = (program_json(*base, "--overlap-grad", word)["step_time_us"] for word in ("yes", "no"))
        self.assertGreater(off, on)
        plan = stepcast.Plan(tp=2, zero=1, global_batch=32, seq=4096)
        for given, expected in ((None, on), (True, on), (False, off)):
            result = stepcast.evaluate("llama3-8b", plan.replace(overlap_grad=given), "dgx-h100:16")
            self.assertEqual(result.step_us, expected)
            job = dict(model="llama3-8b", cluster="dgx-h100:16", global_batch=32, seq=4096, tp=2, zero=1)
            self.assertEqual(stepcast.run(overlap_grad=given, **job)["step_time_us"], expected)
        with self.assertRaises(TypeError):
            stepcast.run(sequence_parallel=False, **job)

    def test_option_names(self):
        """what is called otherwise in the program is told by its name here"""
        for keywords, said in (({"fp8": True}, "gemm_dtype='fp8'"), ({"tensor_model_parallel_size": 8}, "tp=8"),
                               ({"optimizer": "muon"}, "optimizer_kind='muon'"), ({"overlap_grad": "no"}, "overlap_grad=False"),
                               ({"sequence_paralel": True}, "did you mean 'sequence_parallel'")):
            with self.assertRaisesRegex(TypeError, re.escape(said)):
                stepcast.Plan(**keywords)
        self.assertEqual(stepcast.Plan(optimizer_kind="adam-foreach"), stepcast.Plan(optimizer_kind="adam-lists"))

    def test_options(self):
        """options of the simulation"""
        model, cluster, keywords, words = JOBS[0]
        base = ["run", "--model", model, "--cluster", cluster, *words.split()]
        usual = program_json(*base)["step_time_us"]
        cases = [
            (dict(net="flow"), "--net flow"),
            (dict(slow=["rank:5=1.5"]), "--slow rank:5=1.5"),
            (dict(slow=["rank:5=1.5", "rank:0=1.25"]), "--slow rank:5=1.5 --slow rank:0=1.25"),
            (dict(algo="ring", proto="simple"), "--algo ring --proto simple"),
            (dict(gpu_speedup=2), "--gpu-speedup 2"),
            (dict(comm_sm_tax=0.1), "--comm-sm-tax 0.1"),
            (dict(comm_sm_tax=0), "--comm-sm-tax 0"),
            (dict(by_tuner=True), "--by-tuner"),
            (dict(rank_order="dp-tp-cp-ep-pp"), "--order dp-tp-cp-ep-pp"),
            (dict(net="flow", net_settings={"degrade": ["port3.up=0.5"]}), "--net flow --degrade port3.up=0.5"),
        ]
        seen = set()
        for options, more in cases:
            with self.subTest(options=options):
                theirs = program_json(*base, *more.split())
                # (what the program learns by a second run, with all links in order)
                said = theirs["input"]
                said["notes"] = [note for note in said["notes"] if note["code"] != "without-failures"]
                ours = stepcast.evaluate(model, stepcast.Plan(**keywords), cluster, **options)
                self.assertEqual(document_of(ours), theirs)
                seen.add(theirs["step_time_us"])
        self.assertGreater(len(seen - {usual}), 5)  # they did something

    def test_what_if(self):
        """what-if and the critical path"""
        model, cluster, keywords, words = JOBS[2]
        result = stepcast.evaluate(model, stepcast.Plan(**keywords), cluster, what_if=True, timeline=True)
        rows = {row.key: row for row in result.what_if()}
        # half of all GEMMs' time: what the program says of a run in which they take half
        scaled = program_json("run", "--model", model, "--cluster", cluster, *words.split(), "--scale", "gemm=0.5")
        # but for operations of half a picosecond
        self.assertAlmostEqual(rows["gemm"].half_us / scaled["step_time_us"], 1, places=7)
        self.assertLess(rows["gemm"].zero_us, rows["gemm"].half_us)
        self.assertLess(rows["gemm"].half_us, result.step_us)
        path = result.critical_path()
        self.assertEqual((path[0].start_us, path[-1].end_us), (0, result.step_us))
        self.assertTrue(all(a.end_us == b.start_us for a, b in zip(path, path[1:])))
        plain = stepcast.evaluate(model, stepcast.Plan(**keywords), cluster)
        self.assertEqual((plain.what_if(), plain.critical_path()), ([], []))

    def test_resolved_plan(self):
        """a resolved plan gives the same step again"""
        for model, cluster, keywords, words in JOBS:
            with self.subTest(words=words):
                first = stepcast.evaluate(model, stepcast.Plan(**keywords), cluster)
                again = stepcast.evaluate(model, first.plan, cluster)
                self.assertEqual(again.step_us, first.step_us)
                self.assertEqual(again.plan, first.plan)
                self.assertEqual(stepcast.Plan(**first.plan.to_dict()), first.plan)

    def test_settings(self):
        """settings are those resolved"""
        model, cluster, keywords, words = JOBS[1]
        settings = stepcast.evaluate(model, stepcast.Plan(**keywords), cluster, net="flow").settings
        expected = {"tp": "2", "pp": "4", "dp": "4", "schedule": "zb-2p", "recompute": "full", "overlap-grad": "yes", "net": "flow"}
        self.assertEqual({name: settings[name] for name in expected}, expected)


class Objects(unittest.TestCase):
    def test_models(self):
        """a model by name, file, bytes and dict is the same"""
        config = dict(model_type="llama", hidden_size=4096, num_hidden_layers=32, num_attention_heads=32,
                      num_key_value_heads=8, intermediate_size=14336, vocab_size=128256, tie_word_embeddings=False)
        path = os.path.join(FOLDER, "config.json")
        with open(path, "w") as file:
            json.dump(config, file)
        with open(path, "rb") as file:
            data = file.read()
        models = [stepcast.Model("llama3-8b"), stepcast.Model(path), stepcast.Model.from_config(path),
                  stepcast.Model.from_config(data), stepcast.Model.from_config(config)]
        # Llama 3 8B by hand: embeddings and head, then per layer q and o, k and v, three of the MLP, two norms
        layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096
        for model in models:
            self.assertEqual(model.parameters, 2 * 128256 * 4096 + 32 * layer + 4096)
            self.assertEqual(model.active_parameters, model.parameters)
            self.assertEqual(model.layers, 32)
        moe = stepcast.Model("mixtral-8x7b")
        self.assertLess(moe.active_parameters, moe.parameters)
        plan = stepcast.Plan(tp=4, global_batch=16, seq=4096)
        steps = {stepcast.evaluate(model, plan, "dgx-h100:8").step_us for model in models}
        self.assertEqual(len(steps), 1)
        best = [stepcast.plans(model, gpus=8, global_batch=16, seq=4096, pp=1, cp=1, top=1)[0].step_us for model in (models[0], models[4])]
        self.assertEqual(best[0], best[1])

    def test_shapes(self):
        """a model by its shapes"""
        model = stepcast.Model.from_shapes(num_layers=4, hidden_size=1024, num_attention_heads=16, vocab_size=32000, seq_length=1024)
        theirs = program_json("run", *"--num-layers 4 --hidden-size 1024 --num-attention-heads 16 --vocab-size 32000 --seq-length 1024 --gpus 8 --global-batch 8 --cluster dgx-a100:8".split())
        ours = stepcast.evaluate(model, stepcast.Plan(gpus=8, global_batch=8, seq=1024), "dgx-a100:8")
        self.assertEqual(ours.step_us, theirs["step_time_us"])

    def test_script(self):
        """a Megatron launch script gives model and plan"""
        path = os.path.join(FOLDER, "launch.sh")
        with open(path, "w") as file:
            file.write("torchrun pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 --vocab-size 32000 "
                       "--seq-length 1024 --micro-batch-size 1 --global-batch-size 16 --tensor-model-parallel-size 2 --bf16\n")
        theirs = program_json("run", "--megatron-args", path, "--gpus", "8", "--cluster", "dgx-a100:8")
        model, plan = stepcast.Model.from_script(path)
        self.assertEqual((model.layers, plan.tp, plan.global_batch, plan.seq), (4, 2, 16, 1024))
        self.assertEqual(stepcast.evaluate(model, plan.replace(gpus=8), "dgx-a100:8").step_us, theirs["step_time_us"])
        found = stepcast.plans(model, gpus=8, global_batch=16, top=1)[0]
        self.assertEqual(found.plan.tp, 2)
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text.replace("torchrun", "torchrun --nproc_per_node gpu"))
        model, plan = stepcast.Model.from_script(path)
        self.assertEqual([stepcast.evaluate(model, plan, c).ranks for c in ("dgx-a100", "gb200-nvl72", "dgx-a100:16")], [8, 4, 16])

    def test_clusters(self):
        """a cluster by name and by bytes is the same"""
        with open(os.path.join(ROOT, "data/clusters/dgx-h100.json"), "rb") as file:
            parsed = stepcast.Cluster.parse(file.read())
        named = stepcast.Cluster("dgx-h100:16")
        self.assertEqual((named.gpus, stepcast.Cluster("dgx-h100").gpus), (16, None))
        plan = stepcast.Plan(gpus=16, tp=2, zero=1, global_batch=32, seq=4096)
        steps = {stepcast.evaluate("llama3-8b", plan, c).step_us for c in (named, parsed, "dgx-h100")}
        self.assertEqual(len(steps), 1)

    def test_workloads(self):
        """workloads from files and bytes give the program's document"""
        self.assertTrue(WORKLOADS)
        for path, options in WORKLOADS.items():
            with self.subTest(path=path):
                words = [word for name, value in options.items() for word in ("--" + name, value)]
                theirs = program_json("run", path, "--cluster", "dgx-h100", *words)
                with open(path, "rb") as file:
                    data = file.read()
                loaded = stepcast.Workload.load(path, cluster="dgx-h100", **options)
                parsed = stepcast.Workload.parse(data, name=path, cluster="dgx-h100", **options)
                for workload in (loaded, parsed):
                    result = stepcast.simulate(workload, "dgx-h100")
                    self.assertEqual(result.step_us, theirs["step_time_us"])
                    self.assertEqual(workload.ranks, result.ranks)
                self.assertEqual(loaded.format, theirs["input"]["format"])
                theirs.pop("amdahl", None)  # what the command adds to operator tables
                self.assertEqual(document_of(stepcast.simulate(loaded, "dgx-h100")), theirs)

    def test_lowered(self):
        """a lowered workload gives the step of evaluate()"""
        model, cluster, keywords, _ = JOBS[2]
        plan = stepcast.Plan(**keywords)
        workload = stepcast.Workload.from_plan(model, plan, cluster)
        self.assertEqual(stepcast.simulate(workload, cluster).step_us, stepcast.evaluate(model, plan, cluster).step_us)

    def test_freed(self):
        """objects are freed with their last reference"""
        model, cluster, keywords, _ = JOBS[5]
        objects = [stepcast.Model(model), stepcast.Cluster(cluster)]
        objects.append(stepcast.evaluate(objects[0], stepcast.Plan(**keywords), objects[1]))
        objects.append(stepcast.Workload.from_plan(objects[0], stepcast.Plan(**keywords), objects[1]))
        finalizers = [o._free for o in objects]
        gc.disable()
        self.assertTrue(all(f.alive for f in finalizers))
        result = objects[2]
        del objects
        self.assertEqual([f.alive for f in finalizers], [False, False, True, False])
        self.assertGreater(result.step_us, 0)  # needs neither model nor cluster
        del result
        gc.enable()
        self.assertFalse(finalizers[2].alive)

    def test_memory(self):
        """a thousand evaluations do not grow the process"""
        model, cluster = stepcast.Model("gpt2"), stepcast.Cluster("dgx-a100:8")
        plan = stepcast.Plan(gpus=8, global_batch=8)

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        for _ in range(100):
            stepcast.evaluate(model, plan, cluster).to_dict()
        before = resident()
        for _ in range(1000):
            stepcast.evaluate(model, plan, cluster).to_dict()
        self.assertLess(resident() - before, 4 << 20)

    def test_threads(self):
        """eight threads share a model and a cluster"""
        model, cluster = stepcast.Model("llama3-8b"), stepcast.Cluster("dgx-h100:16")
        plans = [stepcast.Plan(tp=tp, zero=1, global_batch=32, seq=4096) for tp in (2, 4, 8)]
        expected = [stepcast.evaluate(model, plan, cluster).step_us for plan in plans]
        wrong = []

        def work():
            for _ in range(5):
                got = [stepcast.evaluate(model, plan, cluster).step_us for plan in plans]
                if got != expected:
                    wrong.append(got)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_locale(self):
        """a locale that writes 1,5 changes nothing"""
        model, cluster, keywords, _ = JOBS[3]
        cluster += " nic=37.5GB/s"
        before = stepcast.evaluate(model, stepcast.Plan(**keywords), cluster).to_bytes()
        try:
            locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
        except locale.Error:
            self.skipTest("file:/usr/share/i18n/locales/de_DE")
        try:
            self.assertEqual(locale.str(1.5), "1,5")
            after = stepcast.evaluate(model, stepcast.Plan(**keywords), cluster).to_bytes()
            self.assertEqual(locale.str(1.5), "1,5")
        finally:
            locale.setlocale(locale.LC_ALL, "C")
        self.assertEqual(before, after)


class Search(unittest.TestCase):
    def test_plans_notes(self):
        """plans() of a cluster alone says which batch it assumes, and what has no effect"""
        found = stepcast.plans("gpt2", cluster="dgx-h100:8", top=2, moe_kernels="fused")
        codes = {note.code for note in found.notes}
        self.assertEqual(len(found), 2)
        self.assertLessEqual({"batch-assumed", "option-unused"}, codes)

    def test_plans(self):
        """plans() are the program's, and evaluate() agrees with each"""
        words = "--gpus 16 --global-batch 32 --seq 4096 --cp 1 --top 6".split()
        theirs = program_json_plans("--model", "llama3-8b", "--cluster", "dgx-h100:16", *words)
        ours = stepcast.plans("llama3-8b", gpus=16, global_batch=32, seq=4096, cp=1, top=6, cluster="dgx-h100:16")
        self.assertEqual(len(ours), 6)
        for row, found in zip(theirs, ours):
            self.assertEqual(found.command, row["command"])
            self.assertEqual((found.step_us, found.mfu, found.memory_bytes), (row["step_time_us"], row["mfu"], row["memory_bytes"]))
            self.assertEqual((found.bubble_share, found.exposed_share), (row["bubble_share"], row["exposed_share"]))
            result = stepcast.evaluate("llama3-8b", found.plan, "dgx-h100:16")
            self.assertEqual(result.step_us, found.step_us)
            for name in ("tp", "pp", "cp", "ep", "vpp", "micro_batch", "dp", "recompute"):
                self.assertEqual(getattr(result.plan, name), row[name], name)
            run = program_json(*found.command.split()[1:])
            self.assertEqual(run["step_time_us"], found.step_us)

    def test_fixed(self):
        """what is given to plans() is fixed"""
        found = stepcast.plans("llama3-8b", gpus=16, global_batch=32, seq=4096, tp=4, cp=1, zero=0, overlap_grad=False, top=3)
        self.assertTrue(found)
        self.assertTrue(all(f.plan.tp == 4 and f.plan.zero == 0 and f.plan.overlap_grad is False for f in found))


def program_json_plans(*words):
    return json.loads(program("plans", *words, "--json", "-"))["plans"]


class Output(unittest.TestCase):
    def result(self, **options):
        model, cluster, keywords, _ = JOBS[1]
        return stepcast.evaluate(model, stepcast.Plan(**keywords), cluster, **options)

    def test_html(self):
        """the table of a notebook: bars that fill the step, nothing foreign"""
        text = self.result()._repr_html_()
        tags = []

        class Reader(html.parser.HTMLParser):
            def handle_starttag(self, tag, attributes):
                tags.append(tag)

            def handle_endtag(self, tag):
                tags.append("/" + tag)

        Reader().feed(text)
        for tag in ("div", "table", "tr", "td", "span", "details"):
            self.assertEqual(tags.count(tag), tags.count("/" + tag), tag)
        self.assertLessEqual(set(tags), {t for name in "div b table thead tbody tr th td span details summary ul li".split() for t in (name, "/" + name)})
        self.assertNotRegex(text, r"(?i)script|https?:|javascript|url\(|onload")
        rows = re.findall(r"<tr><td>.*?</tr>", text)
        self.assertEqual(len(rows), 4)
        for row in rows:
            widths = [float(w) for w in re.findall(r"width:([\d.]+)%", row)]
            self.assertAlmostEqual(sum(widths), 100, places=1)
        self.assertLess(len(text), 12000)

    def test_html_many_stages(self):
        """of many stages some are shown, and the others are counted"""
        plan = stepcast.Plan(pp=32, global_batch=32, seq=2048, micro_batch=1)
        result = stepcast.evaluate("llama3-8b", plan, "dgx-h100:32")
        text = result._repr_html_()
        self.assertEqual(text.count("<tr><td>"), 16)
        self.assertIn("16 more stages", text)
        self.assertIn(f">{result.breakdown().stage}<", text)

    def test_repr(self):
        """texts for people"""
        result = self.result()
        self.assertRegex(repr(result), r"^<Result [\d.e+]+ us, MFU \d+\.\d%, 32 GPUs, 4 stages>$")
        self.assertRegex(repr(stepcast.Model("llama3-8b")), "8.03 B parameters, 32 layers")
        self.assertIn("64 GPUs", repr(stepcast.Cluster("dgx-h100:64")))

    def test_records(self):
        """records and tables have a row for each stage"""
        result = self.result()
        records = result.to_records()
        self.assertEqual([r["compute_us"] for r in records], [result.breakdown(s).compute_us for s in range(4)])
        self.assertEqual([r["memory_total_bytes"] for r in records], [result.memory(s).total for s in range(4)])
        saved = sys.modules.pop("pandas", None)
        sys.modules["pandas"] = None  # as if it were not there
        try:
            with self.assertRaisesRegex(ImportError, "needs pandas"):
                result.to_dataframe()
        finally:
            del sys.modules["pandas"]
            if saved is not None:
                sys.modules["pandas"] = saved

    def test_write(self):
        """files are written by their suffix, whole or not at all"""
        result = self.result(timeline=True)
        folder = os.path.join(FOLDER, "written")
        os.makedirs(folder)
        for name, begin in (("a.json", b"{"), ("a.csv", b"row,"), ("a.html", b"<"), ("a.txt", b"")):
            path = os.path.join(folder, name)
            result.write(path)
            with open(path, "rb") as file:
                data = file.read()
            self.assertGreater(len(data), 300)
            self.assertEqual(data[: len(begin)].lower(), begin)
        self.assertEqual(json.loads(result.to_bytes())["step_time_us"], result.step_us)
        plain = self.result()
        with self.assertRaises(stepcast.UsageError):
            plain.write(os.path.join(folder, "b.csv"))
        with self.assertRaises(stepcast.UsageError):
            plain.write(os.path.join(folder, "b.xml"))
        with self.assertRaises(ValueError):
            plain.write(os.path.join(folder, "b"))
        with self.assertRaises(FileNotFoundError) as caught:
            plain.write(os.path.join(folder, "none/b.json"))
        self.assertEqual(os.path.basename(caught.exception.filename), "b.json")
        with open("/dev/full", "wb", buffering=0) as full, self.assertRaises(OSError):
            plain.write(full)
        self.assertEqual(sorted(os.listdir(folder)), ["a.csv", "a.html", "a.json", "a.txt"])

    def test_write_places(self):
        """a link stays one, a pipe is written to, and neither is replaced by a file"""
        folder = os.path.join(FOLDER, "places")
        os.makedirs(folder)
        link, pipe = os.path.join(folder, "link.json"), os.path.join(folder, "pipe")
        os.symlink("target.json", link)
        self.result().write(link)
        with open(os.path.join(folder, "target.json"), "rb") as file:
            self.assertEqual(json.load(file)["step_time_us"], self.result().step_us)
        self.assertTrue(os.path.islink(link))
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.result().write(pipe, format="json")
        self.assertEqual(os.read(reader, 1), b"{")
        os.close(reader)
        self.assertEqual(sorted(os.listdir(folder)), ["link.json", "pipe", "target.json"])

    def test_text(self):
        """the table is the program's"""
        model, cluster, _, words = JOBS[1]
        theirs = program("run", "--model", model, "--cluster", cluster, *words.split())
        self.assertIn(self.result().text().strip(), theirs)


class Commands(unittest.TestCase):
    def test_command(self):
        """command() prints what the program prints"""
        for words in (["coll", "all_reduce", "--cluster", "dgx-h100:16"], ["show", "--model=llama3-8b", "--gpus=8", "--global-batch", "8", "--ignore-memory"],
                      ["show", "--", WORKLOAD], ["manual", "run"]):
            with self.subTest(words=words):
                output = stepcast.command(words)
                self.assertEqual((output.status, output.text), (0, program(*words)))

    def test_json(self):
        """functions answer the documents of their commands"""
        theirs = program_json("run", WORKLOAD, "--net", "flow")
        ours = stepcast.run(WORKLOAD, net="flow")
        ours.pop("command", None)
        self.assertEqual(ours, theirs)
        self.assertEqual(stepcast.coll("all_reduce", cluster="dgx-h100:16"), json.loads(program("coll", "all_reduce", "--cluster", "dgx-h100:16", "--json", "-")))
        self.assertIn("format", stepcast.show(WORKLOAD))
        self.assertTrue(stepcast.kernels(gpu="h100-sxm", model="llama3-8b"))

    def test_no(self):
        """a "no" is an answer"""
        a, b = (os.path.join(FOLDER, name) for name in ("a.json", "b.json"))
        for path, batch in ((a, 16), (b, 32)):
            stepcast.evaluate("gpt2", stepcast.Plan(gpus=8, global_batch=batch), "dgx-a100:8").write(path)
        self.assertIs(stepcast.compare(a, b, tolerance="1%")["over"], True)
        self.assertEqual(stepcast.command(["compare", a, b, "--tolerance", "1%"]).status, 1)
        self.assertEqual(stepcast.command(["compare", a, a, "--tolerance", "1%"]).status, 0)

    def test_bytes_path(self):
        """a path that is no text"""
        odd = os.path.join(os.fsencode(FOLDER), b"odd\xff.txt")
        with open(WORKLOAD, "rb") as source, open(odd, "wb") as target:
            target.write(source.read())
        self.assertEqual(stepcast.run(odd)["step_time_us"], stepcast.run(WORKLOAD)["step_time_us"])
        self.assertIn("odd", stepcast.command([b"show", odd]).text)


binding_case.main(Installed, Evaluation, Objects, Search, Output, Commands)
