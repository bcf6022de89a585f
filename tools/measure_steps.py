#!/usr/bin/env python3
"""Measures transformer layers and whole single-GPU training steps with plain
(eager) PyTorch, as a check of `stepcast kernels` and `stepcast run --fusion eager`.

    python3 tools/measure_steps.py [--seconds 600] > steps.csv

Columns: what (layer or step), kind (gpt or llama), hidden, heads, kv_heads, ffn, layers,
vocab, batch, seq, forward_us, backward_us, step_us, clock_mhz. Times are means over a
loop that has run long enough to be at its power limit.
"""
import argparse, csv, subprocess, sys, time
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE, DTYPE = "cuda", torch.bfloat16


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


class Layer(nn.Module):
    def __init__(self, kind, hidden, heads, kv_heads, ffn):
        super().__init__()
        gpt = kind == "gpt"
        self.gpt, self.heads, self.kv, self.d = gpt, heads, kv_heads, hidden // heads
        norm = nn.LayerNorm if gpt else RMSNorm
        self.n1, self.n2 = norm(hidden), norm(hidden)
        self.qkv = nn.Linear(hidden, (heads + 2 * kv_heads) * self.d, bias=gpt)
        self.out = nn.Linear(hidden, hidden, bias=gpt)
        self.up = nn.Linear(hidden, ffn if gpt else 2 * ffn, bias=gpt)
        self.down = nn.Linear(ffn, hidden, bias=gpt)

    def attention(self, x):
        b, s, h = x.shape
        q, k, v = self.qkv(x).split([self.heads * self.d, self.kv * self.d, self.kv * self.d], -1)
        q = q.view(b, s, self.heads, self.d).transpose(1, 2)
        k = k.view(b, s, self.kv, self.d).transpose(1, 2)
        v = v.view(b, s, self.kv, self.d).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.kv != self.heads)
        return self.out(y.transpose(1, 2).reshape(b, s, h))

    def feed_forward(self, x):
        if self.gpt:
            return self.down(F.gelu(self.up(x)))
        gate, up = self.up(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        return x + self.feed_forward(self.n2(x))


class Model(nn.Module):
    def __init__(self, kind, hidden, heads, kv_heads, ffn, layers, vocab, seq):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.positions = nn.Embedding(seq, hidden) if kind == "gpt" else None
        self.layers = nn.ModuleList(Layer(kind, hidden, heads, kv_heads, ffn) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden) if kind == "gpt" else RMSNorm(hidden)
        self.head = nn.Linear(hidden, vocab, bias=False)

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x = layer(x)
        logits = self.head(self.norm(x)).float()
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def clock():
    try:
        out = subprocess.run(["nvidia-smi", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits"],
                             capture_output=True, text=True, timeout=5).stdout
        return int(out.split()[0])
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return 0


def timed(parts, seconds=0.8, warm=0.5):
    """Runs the parts in turn in a loop; mean us of each, from events around them."""
    def once(events=None):
        for i, part in enumerate(parts):
            if events is not None:
                events[i].record()
            part()
        if events is not None:
            events[-1].record()

    end = time.time() + warm
    while time.time() < end:
        once()
        torch.cuda.synchronize()
    begin = time.time()
    once()
    torch.cuda.synchronize()
    count = max(5, int(seconds / max(time.time() - begin, 1e-4)))
    count = min(count, 2000)
    rounds = [[torch.cuda.Event(enable_timing=True) for _ in range(len(parts) + 1)] for _ in range(count)]
    for events in rounds:
        once(events)
    mhz = clock()
    torch.cuda.synchronize()
    means = [sum(e[i].elapsed_time(e[i + 1]) for e in rounds) / count * 1e3 for i in range(len(parts))]
    return means, mhz


def measure_layer(kind, hidden, heads, kv, ffn, batch, seq):
    layer = Layer(kind, hidden, heads, kv, ffn).to(DEVICE, DTYPE)
    x = torch.randn(batch, seq, hidden, device=DEVICE, dtype=DTYPE, requires_grad=True)
    g = torch.randn_like(x)
    inputs = [x] + list(layer.parameters())
    state = {}

    def forward():
        state["y"] = layer(x)

    def backward():
        torch.autograd.grad(state["y"], inputs, g)

    (f, b), mhz = timed([forward, backward])
    return dict(what="layer", forward_us=f, backward_us=b, clock_mhz=mhz)


def measure_step(kind, hidden, heads, kv, ffn, layers, vocab, batch, seq):
    model = Model(kind, hidden, heads, kv, ffn, layers, vocab, seq).to(DEVICE, DTYPE)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    tokens = torch.randint(vocab, (batch, seq), device=DEVICE)
    state = {}

    def forward():
        state["loss"] = model(tokens, tokens)

    def backward():
        state["loss"].backward()

    def update():
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    (f, b, u), mhz = timed([forward, backward, update], seconds=2.0, warm=1.0)
    return dict(what="step", layers=layers, vocab=vocab, forward_us=f, backward_us=b, step_us=f + b + u, clock_mhz=mhz)


LAYERS = [("gpt", 1024, 16, 16, 4096, 8, 1024), ("gpt", 2048, 16, 16, 8192, 4, 2048), ("gpt", 4096, 32, 32, 16384, 4, 2048),
          ("gpt", 1600, 25, 25, 6400, 8, 1024), ("gpt", 2560, 32, 32, 10240, 8, 1024), ("gpt", 12288, 96, 96, 49152, 1, 2048),
          ("gpt", 5120, 40, 40, 20480, 2, 2048), ("gpt", 768, 12, 12, 3072, 16, 1024),
          ("llama", 2048, 32, 8, 8192, 4, 4096), ("llama", 4096, 32, 8, 14336, 2, 4096), ("llama", 4096, 32, 32, 11008, 4, 2048),
          ("llama", 8192, 64, 8, 28672, 1, 4096), ("llama", 3072, 24, 8, 8192, 4, 2048), ("llama", 5120, 40, 8, 13824, 2, 8192),
          ("llama", 4096, 32, 8, 14336, 1, 16384), ("llama", 6144, 48, 8, 16384, 2, 2048), ("llama", 3584, 28, 4, 18944, 2, 4096)]
STEPS = [("gpt", 1024, 16, 16, 4096, 24, 50304, 8, 1024), ("gpt", 1280, 20, 20, 5120, 36, 50304, 8, 1024),
         ("gpt", 1600, 25, 25, 6400, 48, 50304, 4, 1024), ("gpt", 2560, 32, 32, 10240, 32, 50304, 4, 2048),
         ("gpt", 768, 12, 12, 3072, 12, 50304, 32, 1024), ("llama", 2048, 32, 8, 8192, 16, 128256, 4, 4096),
         ("llama", 3072, 24, 8, 8192, 28, 128256, 2, 4096), ("llama", 4096, 32, 8, 14336, 16, 128256, 2, 4096),
         ("llama", 4096, 32, 32, 11008, 32, 32000, 4, 2048), ("llama", 4096, 32, 8, 14336, 32, 128256, 1, 4096),
         ("llama", 5120, 40, 40, 13824, 20, 32000, 2, 4096)]
COLUMNS = ["what", "kind", "hidden", "heads", "kv_heads", "ffn", "layers", "vocab", "batch", "seq", "forward_us", "backward_us",
           "step_us", "clock_mhz"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=float, default=600, help="stop starting new cases after this long")
    args = p.parse_args()
    begin = time.time()
    out = csv.DictWriter(sys.stdout, COLUMNS)
    out.writeheader()
    cases = [(measure_layer, c) for c in LAYERS] + [(measure_step, c) for c in STEPS]
    for measure, case in cases:
        if time.time() - begin > args.seconds:
            break
        try:
            row = measure(*case)
        except torch.cuda.OutOfMemoryError:
            print("out of memory:", case, file=sys.stderr)
            continue
        row.update(kind=case[0], hidden=case[1], heads=case[2], kv_heads=case[3], ffn=case[4], batch=case[-2], seq=case[-1])
        out.writerow({k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()})
        sys.stdout.flush()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
