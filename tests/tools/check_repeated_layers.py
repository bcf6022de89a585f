"""Layers that repeat run once: the capture is the one that running every layer gives, and a
layer that differs in anything is captured by itself. Needs PyTorch.

    check_repeated_layers.py PACKAGE_FOLDER
"""

import os
import sys
import types
import unittest

sys.path.insert(0, sys.argv.pop(1))
package = types.ModuleType("stepcast")
package.__path__ = [os.path.join(sys.path[0], "stepcast")]
sys.modules["stepcast"] = package

import torch  # noqa: E402
from stepcast.capture import capture  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402


class Layer(nn.Module):
    def __init__(self, size=64, inner=256, activation="gelu"):
        super().__init__()
        self.activation = activation
        self.norm = nn.LayerNorm(size)
        self.into = nn.Linear(size, inner)
        self.outof = nn.Linear(inner, size)

    def forward(self, x):
        y = self.into(self.norm(x))
        y = functional.gelu(y) if self.activation == "gelu" else functional.silu(y)
        return x + self.outof(y)


class Keeps(Layer):
    """Keeps what it gives."""

    def forward(self, x):
        self.kept = super().forward(x)
        return self.kept


class Counts(Layer):
    """Every third call takes another way."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        out = super().forward(x)
        return out.exp() if self.calls % 3 == 0 else out


class Chance(Layer):
    """Takes a way by chance, the same in both runs."""

    def forward(self, x):
        out = super().forward(x)
        return out.exp() if torch.rand(()).item() > 0.5 else out


class Stack(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.first = nn.Linear(64, 64)
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = layer(x)
        return x


def program(make, micro_batches=3, every_layer=False, change=None):
    """(operations with tensors, modules and units, peak of storages, layers that repeat)"""

    def build():
        torch.manual_seed(1)
        model = Stack(make()).to("cuda")
        if change:
            change(model)
        wanted = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.SGD(wanted, lr=0.1)
        x = torch.randn(8, 16, 64, device="cuda")

        def step():
            for _ in range(micro_batches):
                model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

        return step

    result = capture(build, every_layer=every_layer)
    document = result.document()
    calls, tensors = document["calls"], document["tensors"]
    rows = []
    held = {place: document["programs"][0]["storages"][place][0] for place in
            document["programs"][0]["alive"]}
    peak = sum(held.values())
    for op in document["programs"][0]["ops"]:
        call = calls[op[0]]
        shapes = [[tensors[t] for t in call[side]] for side in ("in", "out")]
        rows.append((call["op"], shapes, document["modules"][op[1]], *op[2:6], op[8], op[10]))
        for place in op[7]:
            held.pop(place, None)
        for place in op[6]:
            held[place] = document["programs"][0]["storages"][place][0]
        peak = max(peak, sum(held.values()))
    return rows, peak, sum(template is not None for template in result.layers.values())


class Repeated(unittest.TestCase):
    def same(self, make, **options):
        """Both captures; gives how many layers repeat."""
        rows, peak, repeating = program(make, **options)
        all_rows, all_peak, none = program(make, every_layer=True, **options)
        self.assertEqual(none, 0)
        self.assertEqual(len(rows), len(all_rows))
        for row, other in zip(rows, all_rows):
            self.assertEqual(row, other)
        self.assertLess(abs(peak / all_peak - 1), 0.01)
        return rows, repeating

    def test_equal_layers(self):
        rows, repeating = self.same(lambda: [Layer() for _ in range(6)])
        self.assertEqual(repeating, 1)
        self.assertEqual(sum(row[0] == "aten.gelu" for row in rows), 18)

    def test_another_attribute(self):
        rows, _ = self.same(lambda: [Layer(activation="silu" if i == 4 else "gelu") for i in range(6)])
        silu = [row for row in rows if row[0] == "aten.silu"]
        self.assertEqual({row[2] for row in silu}, {"layers.4"})
        self.assertEqual(len(silu), 3)

    def test_another_shape(self):
        rows, _ = self.same(lambda: [Layer(inner=128 if i == 5 else 256) for i in range(6)])
        narrow = {row[2] for row in rows if row[1][1] == [["fp32", [8, 16, 128]]]}
        self.assertEqual(narrow, {"layers.5"})

    def test_another_hook(self):
        def change(model):
            model.layers[3].into.register_forward_hook(lambda _, __, out: out.tanh())

        rows, _ = self.same(lambda: [Layer() for _ in range(6)], change=change)
        self.assertEqual({row[2] for row in rows if row[0] == "aten.tanh"}, {"layers.3"})

    def test_frozen_layers(self):
        def change(model):
            for layer in list(model.layers)[:3]:
                layer.requires_grad_(False)

        self.same(lambda: [Layer() for _ in range(6)], change=change)

    def test_frozen_below(self):
        def change(model):
            model.first.requires_grad_(False)

        self.same(lambda: [Layer() for _ in range(6)], change=change)

    def test_layers_that_keep(self):
        _, repeating = self.same(lambda: [Keeps() for _ in range(6)])
        self.assertEqual(repeating, 0)

    def test_layers_that_count(self):
        rows, repeating = self.same(lambda: [Counts() for _ in range(4)])
        self.assertEqual(repeating, 0)
        self.assertEqual(sum(row[0] == "aten.exp" for row in rows), 4)

    def test_layers_by_chance(self):
        _, _, repeating = program(lambda: [Chance() for _ in range(6)])
        self.assertEqual(repeating, 0)


if __name__ == "__main__":
    unittest.main()
