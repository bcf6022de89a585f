#!/usr/bin/env python3
"""Measures transformer layers and whole single-GPU training steps with plain
(eager) PyTorch, as a check of `stepcast kernels` and `stepcast run --fusion eager`.

    python3 tools/measure_steps.py [--seconds 600] [--suite SUITE,…] > steps.csv

Kinds: gpt and llama are the plain operator sequence (no rotary embedding); hf-… are models
of the transformers library as they come. Columns as in Case, then forward_us,
backward_us, step_us, clock_mhz. Times are means over a loop that has run long enough to be
at its power limit.
"""
import argparse, csv, dataclasses, subprocess, sys, time
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

DEVICE, DTYPE = "cuda", torch.bfloat16


@dataclasses.dataclass
class Case:
    what: str  # layer or step
    kind: str
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    layers: int
    vocab: int
    batch: int
    seq: int
    head_dim: int = 0  # 0: hidden / heads
    experts: int = 0
    topk: int = 0
    recompute: str = "none"  # or full
    compiled: str = ""  # yes: torch.compile


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


class Experts(nn.Module):
    """Routing, tokens into the order of their experts, two grouped products, and back."""

    def __init__(self, c):
        super().__init__()
        self.count, self.topk = c.experts, c.topk
        self.router = nn.Linear(c.hidden, c.experts, bias=False)
        self.up = nn.Parameter(0.02 * torch.randn(c.experts, c.hidden, 2 * c.ffn))
        self.down = nn.Parameter(0.02 * torch.randn(c.experts, c.ffn, c.hidden))

    def forward(self, x):
        b, s, h = x.shape
        x = x.view(-1, h)
        weight, expert = torch.topk(torch.softmax(self.router(x).float(), -1), self.topk)
        order = torch.argsort(expert.view(-1))
        ends = torch.cumsum(torch.bincount(expert.view(-1), minlength=self.count), 0).int()
        gate, up = torch._grouped_mm(x[order // self.topk], self.up, offs=ends).chunk(2, -1)
        y = torch._grouped_mm(F.silu(gate) * up, self.down, offs=ends)
        y = y * weight.view(-1)[order].unsqueeze(1).to(y.dtype)
        return torch.zeros_like(x).index_add(0, order // self.topk, y).view(b, s, h)


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        gpt = c.kind == "gpt"
        self.gpt, self.heads, self.kv, self.d = gpt, c.heads, c.kv_heads, c.head_dim or c.hidden // c.heads
        norm = nn.LayerNorm if gpt else RMSNorm
        self.n1, self.n2 = norm(c.hidden), norm(c.hidden)
        self.qkv = nn.Linear(c.hidden, (c.heads + 2 * c.kv_heads) * self.d, bias=gpt)
        self.out = nn.Linear(c.heads * self.d, c.hidden, bias=gpt)
        self.experts = Experts(c) if c.experts else None
        if not c.experts:
            self.up = nn.Linear(c.hidden, c.ffn if gpt else 2 * c.ffn, bias=gpt)
            self.down = nn.Linear(c.ffn, c.hidden, bias=gpt)

    def attention(self, x):
        b, s, h = x.shape
        q, k, v = self.qkv(x).split([self.heads * self.d, self.kv * self.d, self.kv * self.d], -1)
        q = q.view(b, s, self.heads, self.d).transpose(1, 2)
        k = k.view(b, s, self.kv, self.d).transpose(1, 2)
        v = v.view(b, s, self.kv, self.d).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.kv != self.heads)
        return self.out(y.transpose(1, 2).reshape(b, s, -1))

    def feed_forward(self, x):
        if self.experts is not None:
            return self.experts(x)
        if self.gpt:
            return self.down(F.gelu(self.up(x)))
        gate, up = self.up(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        return x + self.feed_forward(self.n2(x))


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.recompute = c.recompute == "full"
        self.embed = nn.Embedding(c.vocab, c.hidden)
        self.positions = nn.Embedding(c.seq, c.hidden) if c.kind == "gpt" else None
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.layers))
        self.norm = nn.LayerNorm(c.hidden) if c.kind == "gpt" else RMSNorm(c.hidden)
        self.head = nn.Linear(c.hidden, c.vocab, bias=False)

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.recompute else layer(x)
        logits = self.head(self.norm(x)).float()
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


class HuggingFace(nn.Module):
    """A model of the transformers library with these dimensions."""

    def __init__(self, c):
        super().__init__()
        import transformers as t
        if c.kind == "hf-gpt2":
            config = t.GPT2Config(n_embd=c.hidden, n_head=c.heads, n_layer=c.layers, n_inner=c.ffn, vocab_size=c.vocab,
                                  n_positions=c.seq, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
            self.inner = t.GPT2LMHeadModel(config)
        else:
            sizes = dict(hidden_size=c.hidden, num_attention_heads=c.heads, num_key_value_heads=c.kv_heads,
                         num_hidden_layers=c.layers, intermediate_size=c.ffn, vocab_size=c.vocab,
                         max_position_embeddings=c.seq, tie_word_embeddings=False)
            kinds = {"hf-llama": (t.LlamaConfig, t.LlamaForCausalLM), "hf-qwen3": (t.Qwen3Config, t.Qwen3ForCausalLM),
                     "hf-qwen2": (t.Qwen2Config, t.Qwen2ForCausalLM)}
            config, model = kinds[c.kind]
            extra = dict(head_dim=c.head_dim) if c.head_dim else {}
            self.inner = model(config(**sizes, **extra))
        if c.recompute == "full":
            self.inner.gradient_checkpointing_enable()
        self.inner.config.use_cache = False

    def forward(self, tokens, targets):
        return self.inner(tokens, labels=targets).loss


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


def measure_layer(c):
    with torch.device(DEVICE):
        layer = Layer(c).to(DTYPE)
    x = torch.randn(c.batch, c.seq, c.hidden, device=DEVICE, dtype=DTYPE, requires_grad=True)
    g = torch.randn_like(x)
    inputs = [x] + list(layer.parameters())
    run = torch.compile(layer, dynamic=False) if c.compiled else layer
    state = {}

    def forward():
        state["y"] = run(x)

    def backward():
        torch.autograd.grad(state["y"], inputs, g)

    (f, b), mhz = timed([forward, backward])
    return dict(forward_us=f, backward_us=b, clock_mhz=mhz)


def measure_step(c):
    with torch.device(DEVICE):
        model = (HuggingFace(c) if c.kind.startswith("hf-") else Model(c)).to(DEVICE, DTYPE).train()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    tokens = torch.randint(c.vocab, (c.batch, c.seq), device=DEVICE)
    run = torch.compile(model, dynamic=False) if c.compiled else model
    state = {}

    def forward():
        state["loss"] = run(tokens, tokens)

    def backward():
        state["loss"].backward()

    def update():
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    (f, b, u), mhz = timed([forward, backward, update], seconds=2.0, warm=1.0)
    return dict(forward_us=f, backward_us=b, step_us=f + b + u, clock_mhz=mhz)


def layer(kind, hidden, heads, kv_heads, ffn, batch, seq, **more):
    return Case("layer", kind, hidden, heads, kv_heads, ffn, 1, 0, batch, seq, **more)


def step(kind, hidden, heads, kv_heads, ffn, layers, vocab, batch, seq, **more):
    return Case("step", kind, hidden, heads, kv_heads, ffn, layers, vocab, batch, seq, **more)


SUITES = dict(
    layers=[layer("gpt", 1024, 16, 16, 4096, 8, 1024), layer("gpt", 2048, 16, 16, 8192, 4, 2048),
            layer("gpt", 4096, 32, 32, 16384, 4, 2048), layer("gpt", 1600, 25, 25, 6400, 8, 1024),
            layer("gpt", 2560, 32, 32, 10240, 8, 1024), layer("gpt", 12288, 96, 96, 49152, 1, 2048),
            layer("gpt", 5120, 40, 40, 20480, 2, 2048), layer("gpt", 768, 12, 12, 3072, 16, 1024),
            layer("llama", 2048, 32, 8, 8192, 4, 4096), layer("llama", 4096, 32, 8, 14336, 2, 4096),
            layer("llama", 4096, 32, 32, 11008, 4, 2048), layer("llama", 8192, 64, 8, 28672, 1, 4096),
            layer("llama", 3072, 24, 8, 8192, 4, 2048), layer("llama", 5120, 40, 8, 13824, 2, 8192),
            layer("llama", 4096, 32, 8, 14336, 1, 16384), layer("llama", 6144, 48, 8, 16384, 2, 2048),
            layer("llama", 3584, 28, 4, 18944, 2, 4096)],
    steps=[step("gpt", 1024, 16, 16, 4096, 24, 50304, 8, 1024), step("gpt", 1280, 20, 20, 5120, 36, 50304, 8, 1024),
           step("gpt", 1600, 25, 25, 6400, 48, 50304, 4, 1024), step("gpt", 2560, 32, 32, 10240, 32, 50304, 4, 2048),
           step("gpt", 768, 12, 12, 3072, 12, 50304, 32, 1024), step("llama", 2048, 32, 8, 8192, 16, 128256, 4, 4096),
           step("llama", 3072, 24, 8, 8192, 28, 128256, 2, 4096), step("llama", 4096, 32, 8, 14336, 16, 128256, 2, 4096),
           step("llama", 4096, 32, 32, 11008, 32, 32000, 4, 2048), step("llama", 4096, 32, 8, 14336, 32, 128256, 1, 4096),
           step("llama", 5120, 40, 40, 13824, 20, 32000, 2, 4096)],
    heads=[layer("llama", 3072, 16, 16, 24576, 2, 2048, head_dim=256), layer("llama", 2304, 8, 4, 9216, 2, 4096, head_dim=256),
           layer("llama", 4608, 24, 24, 12288, 2, 4096), layer("gpt", 2560, 32, 32, 10240, 2, 4096),
           layer("llama", 4096, 64, 8, 14336, 1, 8192), layer("llama", 5120, 16, 16, 13824, 1, 4096, head_dim=192),
           layer("gpt", 3072, 32, 32, 12288, 2, 4096), layer("llama", 2880, 64, 8, 8640, 2, 4096, head_dim=64),
           layer("llama", 8192, 64, 8, 22016, 2, 8192), layer("gpt", 2048, 32, 32, 8192, 8, 512)],
    experts=[layer("llama", 4096, 32, 8, 14336, 2, 4096, experts=8, topk=2), layer("llama", 2048, 32, 4, 768, 4, 4096, experts=128, topk=8),
             layer("llama", 2048, 16, 16, 1408, 4, 4096, experts=64, topk=6), layer("llama", 3072, 24, 8, 8192, 4, 2048, experts=16, topk=1),
             layer("llama", 6144, 48, 8, 16384, 1, 4096, experts=8, topk=2)],
    compiled=[layer("gpt", 4096, 32, 32, 16384, 4, 2048, compiled="yes"), layer("llama", 4096, 32, 8, 14336, 2, 4096, compiled="yes"),
              layer("llama", 8192, 64, 8, 28672, 1, 4096, compiled="yes"), layer("gpt", 2048, 16, 16, 8192, 4, 2048, compiled="yes"),
              step("llama", 2048, 32, 8, 8192, 16, 128256, 4, 4096, compiled="yes")],
    recompute=[step("llama", 4096, 32, 8, 14336, 16, 128256, 2, 4096, recompute="full"),
               step("gpt", 2560, 32, 32, 10240, 32, 50304, 8, 2048, recompute="full"),
               step("llama", 2048, 32, 8, 8192, 16, 128256, 4, 8192, recompute="full")],
    hf=[step("hf-gpt2", 768, 12, 12, 3072, 12, 50257, 16, 1024), step("hf-gpt2", 1024, 16, 16, 4096, 24, 50257, 8, 1024),
        step("hf-gpt2", 1600, 25, 25, 6400, 48, 50257, 4, 1024), step("hf-llama", 2048, 32, 8, 8192, 16, 128256, 2, 4096),
        step("hf-llama", 4096, 32, 32, 11008, 16, 32000, 4, 2048), step("hf-llama", 4096, 32, 8, 14336, 16, 128256, 1, 8192),
        step("hf-qwen2", 1536, 12, 2, 8960, 28, 151936, 2, 4096), step("hf-qwen3", 2048, 16, 8, 6144, 28, 151936, 2, 4096, head_dim=128),
        step("hf-llama", 4096, 32, 8, 14336, 32, 128256, 2, 4096, recompute="full")],
    small=[step("gpt", 768, 12, 12, 3072, 12, 50304, 1, 512), step("gpt", 1024, 16, 16, 4096, 24, 50304, 1, 1024),
           step("llama", 2048, 32, 8, 8192, 16, 32000, 1, 512), step("hf-gpt2", 768, 12, 12, 3072, 12, 50257, 1, 1024),
           step("hf-llama", 2048, 32, 8, 8192, 16, 32000, 1, 1024)])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=float, default=600, help="stop starting new cases after this long")
    p.add_argument("--suite", default=",".join(SUITES), help="which, of: " + ", ".join(SUITES))
    args = p.parse_args()
    begin = time.time()
    out = csv.DictWriter(sys.stdout, [f.name for f in dataclasses.fields(Case)] + ["forward_us", "backward_us", "step_us", "clock_mhz"])
    out.writeheader()
    for case in (c for name in args.suite.split(",") for c in SUITES[name]):
        if time.time() - begin > args.seconds:
            break
        try:
            row = dict(vars(case), **(measure_layer if case.what == "layer" else measure_step)(case))
        except (RuntimeError, ValueError, ImportError, AttributeError) as e:  # out of memory, a kernel that is not there
            print(case, ":", str(e)[:200], file=sys.stderr)
            continue
        out.writerow({k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()})
        sys.stdout.flush()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
