#!/usr/bin/env python3
"""What the Python package refuses, and how: check_binding_errors.py FOLDER (a place to write)"""
import copy
import ctypes
import decimal
import math
import os
import pickle
import signal
import sys
import threading
import unittest

import binding_case
import stepcast
from stepcast import _fields, _header, _library

FOLDER = sys.argv[1]
BAD = os.path.join(FOLDER, "bad.txt")
with open(BAD, "w") as bad_file:
    bad_file.write("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 ga: 1 all_gpus: 2\n"
                   "1\nembedding_layer\t-1\t5\tNONSENSE\t0\t1\tNONE\t0\t1\tNONE\t0\t0\n")
PLAN = stepcast.Plan(tp=2, zero=1, global_batch=64, seq=4096)


class Errors(unittest.TestCase):
    def error_of(self, body, kind=stepcast.StepcastError):
        with self.assertRaises(kind) as caught:
            body()
        return caught.exception

    def test_place(self):
        """an error has its place, from files and from bytes"""
        for name, body in ((BAD, lambda: stepcast.run(BAD)), (BAD, lambda: stepcast.Workload.load(BAD)),
                           ("mine", lambda: stepcast.Workload.parse(open(BAD, "rb").read(), name="mine"))):
            error = self.error_of(body)
            self.assertEqual((error.status, error.file, error.line), (3, name, 3))
            self.assertGreater(error.column, 0)
            self.assertTrue(str(error).startswith(f"{name}:3:{error.column}: error: "), str(error))
            self.assertIn(error.message, str(error))
            self.assertNotIsInstance(error, ValueError)
        error = self.error_of(lambda: stepcast.Model.from_config(b'{"hidden_size": 12,\n oops}', name="c.json"))
        self.assertEqual((error.status, error.file, error.line), (3, "c.json", 2))

    def test_missing(self):
        """a file, a model and a cluster that are not there"""
        error = self.error_of(lambda: stepcast.Workload.load("/nowhere/at/all.txt"))
        self.assertEqual((error.status, error.file), (3, "/nowhere/at/all.txt"))
        self.assertIn("llama3-70b", str(self.error_of(lambda: stepcast.Model("llama3-70c"))))
        self.assertIn("dgx-h100", str(self.error_of(lambda: stepcast.Cluster("dgx-h10"))))

    def test_misspelt(self):
        """misspelt options and commands"""
        error = self.error_of(lambda: stepcast.run(BAD, clutser="x"), stepcast.UsageError)
        self.assertEqual((error.status, error.hint), (2, "did you mean --cluster?"))
        error = self.error_of(lambda: stepcast.command(["rnu", BAD]), stepcast.UsageError)
        self.assertEqual((error.status, error.hint), (2, "did you mean 'run'?"))
        self.error_of(lambda: stepcast.run(BAD, gantt="yes"), stepcast.UsageError)
        self.error_of(lambda: stepcast.run(BAD, cluster=True), stepcast.UsageError)
        self.error_of(lambda: stepcast.command(["run", BAD, "--cluster"]), stepcast.UsageError)
        for words in ([], "run x", [1]):
            with self.assertRaises(TypeError):
                stepcast.command(words)
        with self.assertRaises(TypeError):
            stepcast.run(model="gpt2", gpus=1, json="x.json")

    def test_memory(self):
        """what does not fit into memory"""
        plan = stepcast.Plan(gpus=8, global_batch=8)
        error = self.error_of(lambda: stepcast.evaluate("llama3-70b", plan, "dgx-h100:8"), stepcast.DoesNotFit)
        self.assertEqual(error.status, 1)
        self.assertIn("memory", error.message)
        self.assertGreater(stepcast.evaluate("llama3-70b", plan.replace(ignore_memory=True), "dgx-h100:8").step_us, 0)
        self.error_of(lambda: stepcast.run(model="llama3-70b", gpus=8, global_batch=8), stepcast.DoesNotFit)

    def test_cannot_be(self):
        """plans that cannot be, and unknown engines"""
        for plan in (PLAN.replace(tp=3), PLAN.replace(pp=7), PLAN.replace(gpus=15), PLAN.replace(global_batch=63)):
            error = self.error_of(lambda: stepcast.evaluate("llama3-8b", plan, "dgx-h100:16"), stepcast.UsageError)
            self.assertEqual(error.status, 2)
            self.assertTrue(error.message)
        for options in (dict(net="flwo"), dict(algo="rign"), dict(slow=["rank:99=2"]), dict(rank_order="tp-tp"),
                        dict(net="flow", net_settings={"fail": "no-such-link"}), dict(rank_file="/nowhere")):
            error = self.error_of(lambda: stepcast.evaluate("llama3-8b", PLAN, "dgx-h100:16", **options))
            self.assertIn(error.status, (2, 3), options)

    def test_types(self):
        """wrong types, unknown keywords, NUL bytes"""
        for body in (lambda: stepcast.evaluate("gpt2", dict(tp=1), "dgx-a100:8"), lambda: stepcast.simulate("gpt2"),
                     lambda: stepcast.Model(3), lambda: stepcast.Workload(), lambda: stepcast.Cluster(None),
                     lambda: stepcast.plans("gpt2", gpus=8, global_batch=8, model="x"),
                     lambda: stepcast.Workload.load(BAD, ideal=False)):
            self.error_of(body, TypeError)
        with self.assertRaisesRegex(TypeError, "no keyword 'timelin'; did you mean 'timeline'"):
            stepcast.evaluate("gpt2", PLAN, "dgx-a100:8", timelin=True)
        for body in (lambda: stepcast.run("a\0b"), lambda: stepcast.Model("gpt2\0"), lambda: stepcast.Plan(gpu="a\0b")):
            self.error_of(body, ValueError)

    def test_no_error_stays(self):
        """an error does not outlive its call"""
        for _ in range(3):
            self.error_of(lambda: stepcast.Model("nothing-like-this"))
            self.assertEqual(stepcast.Model("gpt2").layers, 12)

    def test_stage(self):
        """a stage that is not there"""
        result = stepcast.evaluate("llama3-8b", PLAN, "dgx-h100:16")
        for stage in (1, -1, 2**32):
            for method in (result.breakdown, result.communication, result.memory):
                with self.assertRaises(IndexError):
                    method(stage)

    def test_stage_is_a_number(self):
        """a stage is a whole number, of any kind that counts"""
        result = stepcast.evaluate("llama3-8b", PLAN, "dgx-h100:8")
        for bad in (0.0, "0", [0]):
            self.assertIn("a stage is a whole number", str(self.error_of(lambda: result.breakdown(bad), TypeError)))
        self.assertIn("a path or an open file", str(self.error_of(lambda: result.write(None), TypeError)))


class Copies(unittest.TestCase):
    """Two objects with one pointer: the second was left with memory that the first had freed."""

    def test_objects_stay_here(self):
        """models, clusters, workloads and results are their own copies, and do not travel"""
        result = stepcast.evaluate("llama3-8b", PLAN, "dgx-h100:8")
        model, cluster = stepcast.Model("llama3-8b"), stepcast.Cluster("dgx-h100:8")
        for made in (model, cluster, stepcast.Workload.from_plan(model, PLAN, cluster), result):
            self.assertIs(copy.copy(made), made)
            self.assertIs(copy.deepcopy([made])[0], made)
            with self.assertRaisesRegex(TypeError, f"a {type(made).__name__} .* cannot be pickled; "):
                pickle.dumps(made)
        with self.assertRaisesRegex(TypeError, r"its to_dict\(\) can"):
            pickle.dumps(result)
        self.assertEqual(pickle.loads(pickle.dumps(result.to_dict()))["plan"]["tp"], PLAN.tp)


class Plans(unittest.TestCase):
    def test_plans_travel(self):
        """a plan is copied, and sent to other processes"""
        for plan in (PLAN, stepcast.Plan(), stepcast.Plan(lora=8, lora_targets=["q_proj", "v_proj"], recompute="full")):
            for other in (copy.deepcopy(plan), copy.copy(plan), pickle.loads(pickle.dumps(plan))):
                self.assertEqual((other, hash(other)), (plan, hash(plan)))

    def test_names(self):
        """unknown keywords of a plan, with what is near"""
        with self.assertRaisesRegex(TypeError, "no keyword 'micro_batchs'; did you mean 'micro_batches'"):
            stepcast.Plan(micro_batchs=4)
        with self.assertRaisesRegex(TypeError, "no keyword 'size'"):
            stepcast.Plan(size=4)
        with self.assertRaises(TypeError):
            stepcast.Plan(8)
        with self.assertRaises(TypeError):
            PLAN.replace(tpp=2)

    def test_numbers(self):
        """numbers that are none, or too large to be kept"""
        for value in (0, -1, 2**32, 2**64 + 1):
            with self.assertRaises(ValueError):
                stepcast.Plan(tp=value)
        for value in (True, False, 1.0, 2.5, "2", b"2", [2], decimal.Decimal(2)):
            with self.assertRaises(TypeError):
                stepcast.Plan(tp=value)
        for value in (4, -2, 2**31):
            with self.assertRaises((ValueError, stepcast.UsageError)):
                stepcast.evaluate("llama3-8b", PLAN.replace(zero=value), "dgx-h100:16")
        self.assertEqual(stepcast.Plan(zero=0).zero, 0)
        self.assertEqual(stepcast.Plan(tp=2**32 - 1).tp, 2**32 - 1)
        self.assertEqual(stepcast.Plan(bucket_bytes=2**40).bucket_bytes, 2**40)
        for value in (0, -1.0, math.nan, math.inf):
            with self.assertRaises(ValueError):
                stepcast.Plan(moe_imbalance=value)
        for value in ("1.5", True, None.__class__):
            with self.assertRaises(TypeError):
                stepcast.Plan(moe_imbalance=value)
        self.assertEqual(stepcast.Plan(host_launch_us=0).host_launch_us, 0)
        with self.assertRaises(ValueError):
            stepcast.Plan(host_launch_us=-1)

    def test_words(self):
        """words: the header's, the program's and Megatron's"""
        self.assertEqual(stepcast.Plan(schedule="ZB_2P").schedule, "zb-2p")
        self.assertEqual(stepcast.Plan(cp_comm="a2a"), stepcast.Plan(cp_comm="all-to-all"))
        self.assertEqual(stepcast.Plan(moe_dispatcher="alltoall").moe_dispatcher, "all-to-all")
        self.assertEqual(stepcast.Plan(recompute_modules=["core_attn", "mlp"]).recompute_modules, ("core-attention", "mlp"))
        self.assertEqual(stepcast.Plan(recompute_modules="core_attn,mlp"), stepcast.Plan(recompute_modules=("mlp", "core-attention")))
        self.assertEqual(stepcast.Plan(cuda_graphs=["full_layer"]).cuda_graphs, ("attention", "moe-router", "mlp"))
        self.assertEqual(stepcast.Plan(overlap_tp=False).overlap_tp, "no")
        self.assertEqual(stepcast.Plan(recompute=False).recompute, "none")
        with self.assertRaisesRegex(stepcast.UsageError, "did you mean 'interleaved'"):
            stepcast.Plan(schedule="interleave")
        for keywords in (dict(schedule=False), dict(schedule=1), dict(schedule=True), dict(sequence_parallel="yes"),
                         dict(sequence_parallel=1), dict(recompute_modules=[3]), dict(cuda_graphs=3), dict(gpu=3)):
            with self.assertRaises(TypeError, msg=str(keywords)):
                stepcast.Plan(**keywords)
        for keywords in (dict(schedule=""), dict(recompute_modules=["core_atn"]), dict(dtype="fp64")):
            with self.assertRaises(ValueError, msg=str(keywords)):
                stepcast.Plan(**keywords)

    def test_value(self):
        """a plan is a value: equal, hashed, unchangeable"""
        self.assertEqual(stepcast.Plan(pp=2, tp=4), stepcast.Plan(tp=4, pp=2, ep=None))
        self.assertEqual(len({stepcast.Plan(tp=4), stepcast.Plan(tp=4), stepcast.Plan(tp=2)}), 2)
        self.assertNotEqual(stepcast.Plan(dropout=False), stepcast.Plan())
        self.assertEqual(eval(repr(PLAN), {"Plan": stepcast.Plan}), PLAN)
        with self.assertRaises(AttributeError):
            PLAN.tp = 4
        with self.assertRaises(AttributeError):
            del PLAN.tp
        self.assertEqual((PLAN.tp, PLAN.replace(tp=None).tp), (2, None))

    def test_library_layout(self):
        """the library writes each field where Python reads it"""
        samples = {"whole": "3", "number": "1.5", "text": "h100-sxm", "path": "file"}
        other_names = {
            "layers_per_virtual_stage": "num-layers-per-virtual-pipeline-stage",
            "first_stage_layers": "decoder-first-pipeline-num-layers",
            "last_stage_layers": "decoder-last-pipeline-num-layers",
            "count_embedding": "account-for-embedding-in-pipeline-split",
            "count_loss": "account-for-loss-in-pipeline-split",
            "scatter_gather": "no-scatter-gather-tensors-in-pipeline",
            "microbatch_group": "microbatch-group-size-per-virtual-pipeline-stage",
            "gemm_dtype": "fp8",
            "fp8_attention": "fp8-dot-product-attention",
            "torch_fsdp2": "use-torch-fsdp2",
            "fp8_params": "fp8-param-gather",
            "optimizer_kind": "optimizer",
            "bf16_first": "num-layers-at-start-in-bf16",
            "bf16_last": "num-layers-at-end-in-bf16",
            "reshard": "reshard-after-forward",
            "optimizer_instances": "num-distributed-optimizer-instances",
            "optimizer": "no-optimizer",
            "bucket_parameters": "ddp-bucket-size",
            "vocab_multiple": "make-vocab-size-divisible-by",
            **_fields.OPTION_OF_FIELD,
        }
        words = {"overlap_grad": "no", "overlap_param": "yes", "overlap_p2p": "yes", "overlap_moe": "yes", "overlap_offload": "yes",
                 "recompute_modules": "mlp", "reshard": "yes", "lora_targets": "q_proj", "cuda_graphs": "attn", "cp_comm": "a2a", "moe_dispatcher": "flex"}
        for name, field in _header.PLAN_FIELDS.items():
            with self.subTest(field=name):
                option = other_names.get(name, name.replace("_", "-"))
                last_word = list(field.words)[-1] if field.words and not name.endswith("dtype") else "bf16"
                value = words.get(name) or samples.get(field.kind) or last_word
                if field.kind == "toggle" and name not in words or option == "fp8":
                    value = None
                plan = _fields.empty(_header.sc_plan)
                kept = value.encode() if value else None
                with _library.borrowed_context() as context:
                    status = _library.library.sc_plan_set(context, ctypes.byref(plan), option.encode(), kept)
                    self.assertEqual(status, 0, _library.decode(_library.library.sc_error_text(context)))
                self.assertEqual(list(_fields.read(plan, _header.PLAN_FIELDS)), [name])
                got = _fields.read(plan, _header.PLAN_FIELDS)[name]
                if field.kind in samples:
                    self.assertEqual(str(got), value)
                elif field.kind == "toggle":
                    self.assertEqual(got, not (option.startswith("no-") or value == "no"))


class Progress(unittest.TestCase):
    def evaluate(self, progress):
        return stepcast.evaluate("llama3-8b", PLAN, "dgx-h100:16", progress=progress)

    def test_called(self):
        """progress is told, and may call the library"""
        told = []
        inner = []

        def show(what, share):
            told.append((what, share))
            inner.append(stepcast.evaluate("gpt2", stepcast.Plan(gpus=1, global_batch=8), "dgx-a100:8").step_us)

        result = self.evaluate(show)
        self.assertTrue(told)
        self.assertTrue(all(isinstance(what, str) and 0 <= share <= 1 for what, share in told))
        self.assertTrue(all(us > 0 for us in inner))
        self.assertEqual(result.step_us, self.evaluate(None).step_us)

    def test_cancel(self):
        """progress may cancel, and the next call is as usual"""
        with self.assertRaises(stepcast.Cancelled) as caught:
            self.evaluate(lambda what, share: True)
        self.assertEqual(caught.exception.status, 5)
        with self.assertRaises(stepcast.Cancelled):
            stepcast.plans("llama3-8b", gpus=16, global_batch=32, progress=lambda what, share: True)
        self.assertGreater(self.evaluate(lambda what, share: False).step_us, 0)

    def test_raises(self):
        """what progress raises comes out"""
        def fail(what, share):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            self.evaluate(fail)
        with self.assertRaisesRegex(KeyError, "mine"):
            stepcast.plans("llama3-8b", gpus=16, global_batch=32, progress=fail)

    def test_interrupt(self):
        """control-C ends a long call, and the handler is as before"""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs this in the background
        self.addCleanup(signal.signal, signal.SIGINT, before)
        plan = stepcast.Plan(tp=8, pp=16, global_batch=8192, micro_batch=1, zero=1, recompute="full", ignore_memory=True)
        told = []

        def show(what, share):
            if not told:
                os.kill(os.getpid(), signal.SIGINT)
            told.append(share)

        with self.assertRaises(KeyboardInterrupt):
            stepcast.evaluate("gpt3-175b", plan, "dgx-h100:1024", progress=show)
        self.assertLess(told[-1], 0.5)  # it did not run to its end
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        with self.assertRaises(KeyboardInterrupt):  # without a callback of ours as well
            self.evaluate_until_interrupted()

    def evaluate_until_interrupted(self):
        # (all are kept: what interrupts a finalizer Python prints, and drops)
        model, cluster, kept = stepcast.Model("llama3-8b"), stepcast.Cluster("dgx-h100:16"), []
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        for _ in range(100000):
            kept.append(stepcast.evaluate(model, PLAN, cluster))


binding_case.main(Errors, Copies, Plans, Progress)
