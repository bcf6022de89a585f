#!/usr/bin/env python3
"""Times of single operators of PyTorch on a GPU, as the capture describes them.

    python3 tools/measure_operators.py models  -o models.json.gz [MODEL[:BATCH] …]
    python3 tools/measure_operators.py kinds   -o kinds.json.gz
    python3 tools/measure_operators.py host    -o host.csv

with PYTHONPATH=build/python, whose recorder says which types and attributes are described.
Every operation below autograd is timed by two events on the GPU. A kernel that only waits
runs before the first, so that the host is ahead and no launch is counted. `models` looks
at the steps of capture_models.py, `kinds` at operators by kind over a grid of shapes that
no model of capture_models.py has, `host` at what the host takes to start each.
"""

import argparse
import gc
import gzip
import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from operator_cases import KINDS
from stepcast.capture._recorder import ATTRIBUTES, DTYPES, NO_KERNEL, tensors_of

CYCLES = 700_000  # about 400 us
SLOW = ("_foreach_", "_fused_", "embedding_bag", "index_put", "sort", "topk", "rnn")


def described(value):
    if isinstance(value, torch.Tensor):
        if not value.is_cuda:
            return []
        entry = [DTYPES.get(value.dtype, "other"), list(value.shape)]
        if not value.is_contiguous():
            entry.append(list(value.stride()))
        return [entry]
    if not isinstance(value, (list, tuple)):
        return []
    tensors = [t for t in tensors_of(value) if t.is_cuda]
    if len(tensors) <= 8:
        return [entry for t in tensors for entry in described(t)]
    by_type = {}
    for tensor in tensors:
        by_type.setdefault(DTYPES.get(tensor.dtype, "other"), []).append(tensor.numel())
    return [[kind, [sum(sizes)], None, len(sizes)] for kind, sizes in by_type.items()]


class Timed(TorchDispatchMode):
    """Times what runs under it; calls: description → times."""

    def __init__(self):
        super().__init__()
        self.calls = {}
        self.events = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = str(func._schema.name).replace("::", ".")
        if name in NO_KERNEL or name == "aten._local_scalar_dense" or func.is_view:
            return func(*args, **kwargs)
        inputs = [entry for value in (*args, *kwargs.values()) for entry in described(value)]
        attributes = {}
        for index, argument in enumerate(func._schema.arguments):
            if argument.name in ATTRIBUTES.get(name, ()):
                value = args[index] if index < len(args) else kwargs.get(argument.name)
                attributes[argument.name] = list(value) if isinstance(value, (list, tuple)) else value
            if argument.name in ("is_causal", "dropout_p"):
                value = args[index] if index < len(args) else kwargs.get(argument.name)
                attributes[{"is_causal": "causal", "dropout_p": "dropout"}[argument.name]] = value
        torch.cuda._sleep(CYCLES * (12 if any(word in name for word in SLOW) else 1))
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        start.record()
        out = func(*args, **kwargs)
        end.record()
        outputs = described(list(tensors_of(out)))
        if inputs or outputs:
            key = json.dumps([name, inputs, outputs, attributes])
            self.events.append((key, start, end))
        return out

    def settle(self):
        torch.cuda.synchronize()
        for key, start, end in self.events:
            self.calls.setdefault(key, []).append(start.elapsed_time(end) * 1e3)
        self.events = []

    def rows(self, repeats):
        for key, times in self.calls.items():
            name, inputs, outputs, attributes = json.loads(key)
            yield {
                "op": name,
                "in": inputs,
                "out": outputs,
                "with": attributes,
                "n": len(times) / repeats,
                "us": round(statistics.median(times), 3),
            }


def timed(step, repeats=2):
    """Rows of the operations of step()."""
    step()
    mode = Timed()
    for _ in range(repeats):
        with mode:
            step()
        mode.settle()
    return list(mode.rows(repeats))


def settle():
    gc.collect()
    torch.cuda.empty_cache()


def models(names, path, most_seconds):
    from capture_models import cases

    begin = time.perf_counter()
    with gzip.open(path, "wt") as out:
        for name, build, batch in cases(names):
            if time.perf_counter() - begin > most_seconds:
                break
            try:
                with torch.device("cuda"):
                    step = build(batch)
                rows = timed(step)
                out.write(json.dumps({"model": name, "batch": batch, "calls": rows}) + "\n")
                print(name, batch, len(rows), f"{time.perf_counter() - begin:.0f}s", flush=True)
            except Exception as error:
                print(f"{name} {batch}: {type(error).__name__}: {str(error)[:200]}", flush=True)
            step = None
            settle()


# ---- operators by kind ----


def kinds(names, path, most_seconds):
    begin = time.perf_counter()
    with gzip.open(path, "wt") as out:
        for name, cases in KINDS.items():
            if names and name not in names:
                continue
            for number, build in enumerate(cases()):
                if time.perf_counter() - begin > most_seconds:
                    print("out of time in", name, number)
                    return
                try:
                    step = build()
                    rows = timed(step, 3)
                    out.write(json.dumps({"model": name, "batch": number, "calls": rows}) + "\n")
                except Exception as error:
                    print(f"{name} {number}: {type(error).__name__}: {str(error)[:160]}", flush=True)
                step = None
                if number % 40 == 39:
                    settle()
            print(name, f"{time.perf_counter() - begin:.0f}s", flush=True)


# ---- the host ----


def host_times(function, count):
    """Microseconds of one of count calls in function(), the fastest of five."""
    best = []
    for _ in range(6):
        torch.cuda.synchronize()
        start = time.perf_counter()
        function()
        best.append((time.perf_counter() - start) / count * 1e6)
        torch.cuda.synchronize()
    return min(best[1:]), statistics.median(best[1:])


def host_chain(operation, shape=(2, 8, 64), dtype=torch.bfloat16, count=100):
    """Forward and backward of a chain of count operations on small tensors."""
    x = torch.randn(*shape, device="cuda", dtype=dtype, requires_grad=True)
    forward, backward = [], []
    for _ in range(8):
        y = x * 1
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            y = operation(y)
        middle = time.perf_counter()
        torch.cuda.synchronize()
        grad = torch.ones_like(y)
        torch.cuda.synchronize()
        again = time.perf_counter()
        y.backward(grad)
        end = time.perf_counter()
        forward.append((middle - start) / count * 1e6)
        backward.append((end - again) / count * 1e6)
    return min(forward[2:]), statistics.median(forward[2:]), min(backward[2:]), statistics.median(backward[2:])


def host_cases():
    linear = nn.Linear(64, 64).to("cuda", torch.bfloat16)
    plain = nn.Linear(64, 64, bias=False).to("cuda", torch.bfloat16)
    wide = nn.Linear(64, 64).to("cuda")
    norm = nn.LayerNorm(64).to("cuda", torch.bfloat16)
    rms = nn.RMSNorm(64).to("cuda", torch.bfloat16)
    conv = nn.Conv2d(8, 8, 3, padding=1, bias=False).to("cuda", torch.bfloat16)
    conv_bias = nn.Conv2d(8, 8, 3, padding=1).to("cuda", torch.bfloat16)
    batch_norm = nn.BatchNorm2d(8).to("cuda", torch.bfloat16)
    group_norm = nn.GroupNorm(2, 8).to("cuda", torch.bfloat16)
    identity = nn.Identity()
    weight, bias = linear.weight, linear.bias
    square = torch.randn(2, 64, 64, device="cuda", dtype=torch.bfloat16)

    def autocast(x):
        with torch.autocast("cuda", torch.bfloat16):
            return functional.linear(x, wide.weight, wide.bias)

    flat = (16, 64)
    picture = (2, 8, 16, 16)
    four = (2, 4, 8, 64)
    yield "nothing", lambda x: x, (2, 8, 64)
    yield "add_self", lambda x: x + x, flat
    yield "add_scalar", lambda x: x + 1, flat
    yield "mul_scalar", lambda x: x * 0.5, flat
    yield "relu", functional.relu, flat
    yield "gelu", functional.gelu, flat
    yield "silu", functional.silu, flat
    yield "dropout", lambda x: functional.dropout(x, 0.1), flat
    yield "softmax", lambda x: x.softmax(-1), flat
    yield "sum_expand", lambda x: x.sum(-1, keepdim=True).expand(16, 64), flat
    yield "mm", lambda x: x @ weight, flat
    yield "linear_flat", lambda x: functional.linear(x, weight, bias), flat
    yield "linear_three", lambda x: functional.linear(x, weight, bias), (2, 8, 64)
    yield "linear_plain", lambda x: functional.linear(x, weight), (2, 8, 64)
    yield "linear_module", linear, (2, 8, 64)
    yield "linear_plain_module", plain, (2, 8, 64)
    yield "bmm", lambda x: torch.bmm(x, square), (2, 8, 64)
    yield "matmul_four", lambda x: torch.matmul(torch.matmul(x, x.transpose(-1, -2)), x), four
    yield "layer_norm", lambda x: functional.layer_norm(x, (64,), norm.weight, norm.bias), (2, 8, 64)
    yield "layer_norm_module", norm, (2, 8, 64)
    yield "rms_norm_module", rms, (2, 8, 64)
    yield "attention", lambda x: functional.scaled_dot_product_attention(x, x, x), four
    yield "conv", conv, picture
    yield "conv_bias", conv_bias, picture
    yield "batch_norm", batch_norm, picture
    yield "group_norm", group_norm, picture
    yield "identity_module", lambda x: identity(x), (2, 8, 64)
    yield "transpose", lambda x: x.transpose(0, 1), (2, 8, 64)
    yield "view", lambda x: x.view(2, 8, 64), (2, 8, 64)
    yield "transpose_contiguous", lambda x: x.transpose(0, 1).contiguous(), (8, 8, 64)
    yield "chunk_cat", lambda x: torch.cat(x.chunk(2, -1), -1), (2, 8, 64)
    yield "slice", lambda x: x[:, :8], (2, 8, 64)
    yield "float_bf16", lambda x: x.float().bfloat16(), (2, 8, 64)
    yield "where", lambda x: torch.where(x > 0, x, x), flat
    yield "autocast_linear", autocast, flat
    yield "checkless_pow_mean", lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6), flat


def optimizer_cases():
    for fused in (False, True):
        for tensors in (20, 100, 300):
            parameters = [nn.Parameter(torch.randn(256, device="cuda")) for _ in range(tensors)]
            for parameter in parameters:
                parameter.grad = torch.ones_like(parameter)
            optimizer = torch.optim.AdamW(parameters, fused=fused or None)
            optimizer.step()
            yield f"adamw_{'fused' if fused else 'foreach'}_{tensors}", optimizer.step


def host(path):
    with open(path, "w", encoding="utf-8") as out:
        out.write("case,forward_us,forward_median_us,backward_us,backward_median_us\n")
        for name, operation, shape in host_cases():
            try:
                row = host_chain(operation, shape)
                out.write(f"{name}," + ",".join(f"{value:.2f}" for value in row) + "\n")
            except Exception as error:
                print(name, error)
        for name, step in optimizer_cases():
            least, median = host_times(step, 1)
            out.write(f"{name},{least:.2f},{median:.2f},,\n")


def reference_program():
    """A fixed small program, whose operations say how fast the host is."""
    x = torch.randn(16, 64, device="cuda", requires_grad=True)
    weight = torch.randn(64, 64, device="cuda", requires_grad=True)

    def run():
        y = x
        for _ in range(100):
            y = functional.relu(y @ weight) + x
        y.sum().backward()

    return run


REFERENCE = []


def reference_run():
    """Microseconds that the host takes for one operation of the fixed program, once."""
    if not REFERENCE:
        REFERENCE.append(reference_program())
        REFERENCE[0]()
    torch.cuda.synchronize()
    start = time.perf_counter()
    REFERENCE[0]()
    took = (time.perf_counter() - start) / 700 * 1e6
    torch.cuda.synchronize()
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["models", "kinds", "host"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--seconds", type=float, default=200, help="at most")
    options = parser.parse_args()
    if options.what == "models":
        models(options.names, options.output, options.seconds)
    elif options.what == "kinds":
        kinds(options.names, options.output, options.seconds)
    else:
        host(options.output)


if __name__ == "__main__":
    sys.exit(main())
