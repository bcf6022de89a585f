"""Programs that decide by what the GPU computed, or use functions that are replaced. Needs
PyTorch.

    check_captured_programs.py PACKAGE_FOLDER
"""

import importlib.util
import os
import sys
import tempfile
import types
import unittest

sys.path.insert(0, sys.argv.pop(1))
# the package itself loads the C library, which is not needed here
package = types.ModuleType("stepcast")
package.__path__ = [os.path.join(sys.path[0], "stepcast")]
sys.modules["stepcast"] = package

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from stepcast.capture import _session  # noqa: E402


def operations(build):
    """[(operation, phase)] of the step."""
    document = _session.capture(build).document()
    program = document["programs"][document["classes"][0]["program"]]
    return [(document["calls"][op[0]]["op"], op[2]) for op in program["ops"]]


def linear(rows=8, size=64):
    model = nn.Linear(size, size).to("cuda")
    return model, torch.randn(rows, size, device="cuda"), torch.optim.AdamW(model.parameters())


class Recurrent(unittest.TestCase):
    def test_sequences_come_first(self):
        def build():
            model = nn.LSTM(80, 256).to("cuda")
            optimizer = torch.optim.AdamW(model.parameters())
            steps_first = torch.randn(100, 8, 80, device="cuda")

            def step():
                model(steps_first)[0].sum().backward()
                optimizer.step()
                optimizer.zero_grad()

            return step

        document = _session.capture(build).document()
        calls = [call for call in document["calls"] if call["op"] == "stepcast.recurrent"]
        self.assertEqual(document["tensors"][calls[0]["in"][0]][1], [8, 100, 80])


class Decisions(unittest.TestCase):
    def test_scaler_lets_the_optimizer_run(self):
        def build():
            model, x, optimizer = linear()
            scaler = torch.amp.GradScaler("cuda")

            def step():
                with torch.autocast("cuda", torch.float16):
                    loss = model(x).float().pow(2).mean()
                scaler.scale(loss).backward()
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()

            return step

        seen = operations(build)
        self.assertIn("u", {phase for _, phase in seen})
        self.assertIn(("aten._foreach_addcdiv_", "u"), seen)
        self.assertIn("host.wait", {name for name, _ in seen})

    def test_no_nan(self):
        def build():
            model, x, optimizer = linear()

            def step():
                loss = model(x).pow(2).mean()
                if torch.isnan(loss) or torch.isinf(loss).any() or not torch.isfinite(loss):
                    raise ValueError("a loss that is no number")
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()

            return step

        self.assertIn(("aten.addmm", "f"), operations(build))


SCRIPT = """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("nccl")
local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
model = nn.Sequential(nn.Linear(64, 256), nn.BatchNorm1d(256), nn.Linear(256, 2000)).cuda()
model = DDP(model, device_ids=[local])
data = TensorDataset(torch.randn(256, 64), torch.randint(0, 10, (256,)))
loader = DataLoader(data, 8, sampler=DistributedSampler(data), num_workers=2, pin_memory=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
other = torch.optim.SGD([nn.Parameter(torch.zeros(4, device="cuda"))], lr=0.1)
for x, y in loader:
    loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    other.param_groups[0]["params"][0].grad = torch.ones(4, device="cuda")
    other.step()
"""


class DataParallel(unittest.TestCase):
    def test_buckets_cover_all_gradients(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "train.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(SCRIPT)
            document = _session.script(path, world_size=8).document()
        calls = [document["calls"][op[0]] for op in document["programs"][0]["ops"]]
        sent = [c["with"]["bytes"] for c in calls if c["op"] == "c10d.all_reduce"]
        head, rest = 256 * 2000 + 2000, 64 * 256 + 3 * 256
        # the gradient of the head fills the first bucket by itself, its bias comes before
        self.assertEqual(sent, [4 * head, 4 * rest])
        said = [c["with"]["bytes"] for c in calls if c["op"] == "c10d.broadcast"]
        self.assertEqual(sorted(said), [8, 2 * 4 * 256])
        # both optimizers, once
        self.assertEqual(sum(c["op"] == "aten._foreach_add_" for c in calls), 2)

    def test_no_sync_sends_nothing(self):
        def build():
            model = nn.parallel.DistributedDataParallel(nn.Linear(16, 16).to("cuda"))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            x = torch.randn(4, 16, device="cuda")

            def step():
                with model.no_sync():
                    model(x).sum().backward()
                model(x).sum().backward()
                optimizer.step()
                optimizer.zero_grad()

            return step

        document = _session.capture(build, world_size=2).document()
        calls = [document["calls"][op[0]] for op in document["programs"][0]["ops"]]
        sent = [c["with"]["bytes"] for c in calls if c["op"] == "c10d.all_reduce"]
        self.assertEqual(sent, [4 * (16 * 16 + 16)])

    def test_older_fsdp_is_refused(self):
        def build():
            from torch.distributed.fsdp import FullyShardedDataParallel

            return FullyShardedDataParallel(nn.Linear(16, 16).to("cuda"))

        with self.assertRaisesRegex(_session.CaptureError, "fully_shard"):
            _session.capture(build, world_size=2)


class Replaced(unittest.TestCase):
    def test_fourier(self):
        def build():
            model, x, optimizer = linear()

            def step():
                torch.fft.irfft(torch.fft.rfft(model(x)) * 2).sum().backward()
                optimizer.step()
                optimizer.zero_grad()

            return step

        names = [name for name, _ in operations(build)]
        self.assertIn("aten._fft_r2c", names)
        self.assertIn("aten.mm", names)

    def test_ctc(self):
        def build(lengths_on):
            model = nn.Linear(64, 30).to("cuda")
            optimizer = torch.optim.AdamW(model.parameters())
            sound = torch.randn(50, 4, 64, device="cuda")
            labels = torch.randint(1, 30, (4, 10), device="cuda")
            lengths = [torch.full((4,), n, device=lengths_on) for n in (50, 10)]

            def step():
                loss = functional.ctc_loss(model(sound).log_softmax(-1), labels, *lengths)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()

            return step

        for place in ("cpu", "cuda"):
            seen = operations(lambda place=place: build(place))
            self.assertIn(("aten._ctc_loss", "f"), seen)
            self.assertIn(("aten._ctc_loss_backward", "b"), seen)

    def test_gradients_are_clipped_as_one_list(self):
        def build():
            model, x, optimizer = linear()

            def step():
                model(x).sum().backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()

            return step

        names = [name for name, _ in operations(build)]
        self.assertEqual(names.count("aten._foreach_norm"), 1)
        self.assertNotIn("aten.mul_", names)

    def test_masks_become_what_is_added_to_scores(self):
        def build():
            x = torch.randn(2, 4, 64, 32, device="cuda", dtype=torch.bfloat16)
            seen = torch.ones(64, 64, device="cuda", dtype=torch.bool)
            weight = torch.ones(32, device="cuda", dtype=torch.bfloat16, requires_grad=True)
            optimizer = torch.optim.SGD([weight])

            def step():
                q = x * weight
                functional.scaled_dot_product_attention(q, q, q, seen).sum().backward()
                optimizer.step()

            return step

        document = _session.capture(build).document()
        ways = {call["op"]: call for call in document["calls"]}
        self.assertIn("aten.where", ways)
        for name, place in (("stepcast.attention", 3), ("stepcast.attention_backward", 6)):
            mask = document["tensors"][ways[name]["in"][place]]
            self.assertEqual(mask[:2], ["bf16", [64, 64]])

    def test_autocast_has_the_types_of_a_gpu(self):
        def build():
            x = torch.randn(2, 4, 8, 8, 8, device="cuda", dtype=torch.bfloat16, requires_grad=True)
            optimizer = torch.optim.SGD([x])

            def step():
                with torch.autocast("cuda", torch.bfloat16):
                    y = functional.max_pool3d(x, 2)
                    y = functional.interpolate(y.flatten(1, 2), scale_factor=2.0, mode="bilinear")
                    loss = (y**2).softmax(-1).to(torch.bfloat16).sum()
                loss.backward()
                optimizer.step()

            return step

        document = _session.capture(build).document()
        types = {
            call["op"]: [document["tensors"][call[way][0]][0] for way in ("in", "out")]
            for call in document["calls"]
            if call["in"] and call["out"]
        }
        self.assertEqual(types["aten.max_pool3d_with_indices"], ["bf16", "bf16"])
        self.assertEqual(types["aten.upsample_bilinear2d"], ["fp32", "fp32"])
        self.assertEqual(types["aten.pow"], ["fp32", "fp32"])
        self.assertEqual(types["aten._softmax"], ["fp32", "fp32"])
        self.assertEqual(types["aten.sum"], ["bf16", "fp32"])

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "needs transformers")
    def test_transformers_leave_out_causal_masks(self):
        def build():
            from transformers import LlamaConfig, LlamaForCausalLM

            config = LlamaConfig(
                vocab_size=128,
                hidden_size=64,
                intermediate_size=128,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
            )
            model = LlamaForCausalLM(config).to("cuda")
            optimizer = torch.optim.AdamW(model.parameters())
            text = torch.randint(0, 128, (2, 64), device="cuda")

            def step():
                model(input_ids=text, labels=text, use_cache=False).loss.backward()
                optimizer.step()
                optimizer.zero_grad()

            return step

        document = _session.capture(build).document()
        attention = [call for call in document["calls"] if call["op"] == "stepcast.attention"]
        self.assertEqual([len(call["in"]) for call in attention], [3])
        self.assertTrue(attention[0]["with"]["causal"])


if __name__ == "__main__":
    unittest.main()
