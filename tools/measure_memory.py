#!/usr/bin/env python3
"""Peaks of memory of training steps on one GPU, phase by phase.

    OUT=folder python3 tools/measure_memory.py        → $OUT/memory_peaks.csv, $OUT/memory_context.csv

A row is a model of random weights and how it is trained. Three steps are run; the figures are those of
the last one (optimizer state is there). All bytes. Columns after the configuration:
  params, weights       parameters, and bytes allocated once the model is built
  start                 allocated before forward: weights, state, gradients where they stay
  forward_peak          highest during forward (and loss)
  forward_end           allocated when the loss is there
  backward_peak, backward_end
  update_peak, update_end
  peak_allocated        the highest of all; peak_reserved: by the caching allocator
  used                  of the card, by everything (total - free); context = used - reserved
kinds: gpt, llama: plain PyTorch modules; m-gpt, m-llama: what Megatron keeps (fused activation and norm,
gradients added up in fp32 beside the weights, its cross entropy); hf-…: transformers as it comes.
"""
import csv
import gc
import hashlib
import os
import sys
import time

BEGIN = time.time()
BUDGET = float(os.environ.get("BUDGET", "108"))
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

BF16 = torch.bfloat16
OUT = os.environ.get("OUT", ".")

DEFAULTS = dict(name="", kind="llama", hidden=2048, heads=16, kv_heads=16, head_dim=0, ffn=5632, layers=16, vocab=32000,
                batch=2, seq=4096, micro_batches=1, recompute="none", precision="bf16", optimizer="adamw", loss="fp32",
                attention="flash", dropout=0.0, experts=0, topk=0, tied=0, lora=0, lora_targets="", lora_type="",
                offload="", compiled=0)
MEASURED = ["params", "trained", "weights", "start", "forward_peak", "forward_end", "backward_peak", "backward_end",
            "update_peak", "update_end", "peak_allocated", "peak_reserved", "used", "context", "seconds", "error"]


def held_out(name):
    return int(hashlib.sha256(("peak of " + name).encode()).hexdigest()[:4], 16) % 3 == 0


# ---- what Megatron keeps ----
class AccumulatingLinear(torch.autograd.Function):
    """Keeps its input; adds the weight's gradient to weight.main_grad in fp32."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        gx = g @ weight
        rows = g.reshape(-1, g.shape[-1])
        xs = x.reshape(-1, x.shape[-1])
        for i in range(0, weight.shape[0], 4096):
            weight.main_grad[i:i + 4096].add_(rows[:, i:i + 4096].t() @ xs)
        return gx, None


class MainLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(n_out, n_in))

    def forward(self, x):
        return AccumulatingLinear.apply(x, self.weight)


class FusedSwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y):
        ctx.save_for_backward(y)
        gate, up = y.chunk(2, -1)
        return F.silu(gate) * up

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        out = torch.empty_like(y)
        gate, up = y.chunk(2, -1)
        f = gate.shape[-1]
        s = torch.sigmoid(gate)
        out[..., f:] = g * gate * s
        out[..., :f] = g * up * s * (1 + gate * (1 - s))
        return out


class FusedCrossEntropy(torch.autograd.Function):
    """Megatron's: an fp32 copy of the logits becomes the softmax in place, and its gradient in place."""

    @staticmethod
    def forward(ctx, logits, target):
        x = logits.float()
        x -= x.max(-1, keepdim=True).values
        predicted = x.gather(-1, target.unsqueeze(-1)).squeeze(-1)
        x.exp_()
        total = x.sum(-1)
        x.div_(total.unsqueeze(-1))
        ctx.save_for_backward(x, target)
        return total.log() - predicted

    @staticmethod
    def backward(ctx, g):
        x, target = ctx.saved_tensors
        x.scatter_add_(-1, target.unsqueeze(-1), torch.full_like(target, -1, dtype=x.dtype).unsqueeze(-1))
        x.mul_(g.unsqueeze(-1))
        return x.to(BF16), None


class SavedSoftmax(torch.autograd.Function):
    """Scaled masked softmax that keeps its output only."""

    @staticmethod
    def forward(ctx, scores, scale):
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores.mul_(scale).masked_fill_(mask, -10000.0)
        y = torch.softmax(scores, -1)
        ctx.save_for_backward(y)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return torch._softmax_backward_data(g, y, -1, y.dtype).mul_(ctx.scale), None


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


class Experts(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.count, self.topk = c["experts"], c["topk"]
        self.router = nn.Linear(c["hidden"], self.count, bias=False)
        self.up = nn.Parameter(0.02 * torch.randn(self.count, c["hidden"], 2 * c["ffn"]))
        self.down = nn.Parameter(0.02 * torch.randn(self.count, c["ffn"], c["hidden"]))

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
        self.c = c
        gpt = c["kind"].endswith("gpt")
        main = c["kind"].startswith("m-")
        d = c["head_dim"] or c["hidden"] // c["heads"]
        self.gpt, self.main, self.heads, self.kv, self.d = gpt, main, c["heads"], c["kv_heads"], d
        norm = nn.LayerNorm if gpt else RMSNorm
        self.n1, self.n2 = norm(c["hidden"]), norm(c["hidden"])

        def linear(a, b):
            return MainLinear(a, b) if main else nn.Linear(a, b, bias=gpt)
        self.qkv = linear(c["hidden"], (c["heads"] + 2 * c["kv_heads"]) * d)
        self.out = linear(c["heads"] * d, c["hidden"])
        self.experts = Experts(c) if c["experts"] else None
        if not c["experts"]:
            self.up = linear(c["hidden"], c["ffn"] if gpt else 2 * c["ffn"])
            self.down = linear(c["ffn"], c["hidden"])

    def core(self, q, k, v):
        if self.c["attention"] == "flash":
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.kv != self.heads)
        p = SavedSoftmax.apply(q @ k.transpose(-1, -2), self.d ** -0.5)
        return F.dropout(p, self.c["dropout"] or 1e-9) @ v

    def attention(self, x):
        b, s, h = x.shape
        q, k, v = self.qkv(x).split([self.heads * self.d, self.kv * self.d, self.kv * self.d], -1)
        q = q.view(b, s, self.heads, self.d).transpose(1, 2)
        k = k.view(b, s, self.kv, self.d).transpose(1, 2)
        v = v.view(b, s, self.kv, self.d).transpose(1, 2)
        if self.c["attention"] == "core":
            y = checkpoint(self.core, q, k, v, use_reentrant=False)
        else:
            y = self.core(q, k, v)
        return self.out(y.transpose(1, 2).reshape(b, s, -1))

    def feed_forward(self, x):
        if self.experts is not None:
            return self.experts(x)
        y = self.up(x)
        if self.gpt:
            return self.down(F.gelu(y))
        if self.main:
            return self.down(FusedSwiGLU.apply(y))
        gate, up = y.chunk(2, -1)
        return self.down(F.silu(gate) * up)

    def drop(self, x):
        return F.dropout(x, self.c["dropout"]) if self.c["dropout"] else x

    def forward(self, x):
        x = x + self.drop(self.attention(self.n1(x)))
        y = self.n2(x)
        if self.c["recompute"] == "mlp":
            return x + self.drop(checkpoint(self.feed_forward, y, use_reentrant=False))
        return x + self.drop(self.feed_forward(y))


def every_second_mm():
    """PyTorch's selective checkpointing by operator, as torchtitan has it."""
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts
    ops = torch.ops.aten
    keep = {ops.mm.default, ops._scaled_dot_product_efficient_attention.default,
            ops._scaled_dot_product_flash_attention.default, ops._scaled_dot_product_cudnn_attention.default}
    count = {}

    def policy(ctx, op, *args, **kwargs):
        mode = "again" if ctx.is_recompute else "first"
        if op == ops.mm.default:
            count[mode] = count.get(mode, 0) + 1
        keeps = op in keep and not (op == ops.mm.default and count[mode] % 2 == 0)
        return CheckpointPolicy.MUST_SAVE if keeps else CheckpointPolicy.PREFER_RECOMPUTE
    return create_selective_checkpoint_contexts(policy)


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        gpt = c["kind"].endswith("gpt")
        self.embed = nn.Embedding(c["vocab"], c["hidden"])
        self.positions = nn.Embedding(c["seq"], c["hidden"]) if gpt else None
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["layers"]))
        self.norm = nn.LayerNorm(c["hidden"]) if gpt else RMSNorm(c["hidden"])
        if c["kind"].startswith("m-"):
            self.head = MainLinear(c["hidden"], c["vocab"])
        else:
            self.head = nn.Linear(c["hidden"], c["vocab"], bias=False)
        if c["tied"]:
            self.head.weight = self.embed.weight

    def loss(self, x, targets):
        kind = self.c["loss"]
        if kind == "chunked":
            pieces = zip(x.view(-1, x.shape[-1]).chunk(16), targets.view(-1).chunk(16))
            return sum(checkpoint(self.part, a, t, use_reentrant=False) for a, t in pieces) / targets.numel()
        logits = self.head(x)
        if kind == "megatron":
            return FusedCrossEntropy.apply(logits, targets).mean()
        if kind == "fp32":
            logits = logits.float()
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))

    def part(self, x, t):
        return F.cross_entropy(self.head(x).float(), t, reduction="sum")

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        if self.c["dropout"]:
            x = F.dropout(x, self.c["dropout"])
        mode = self.c["recompute"]
        for layer in self.layers:
            if mode == "full":
                x = checkpoint(layer, x, use_reentrant=False)
            elif mode == "ops":
                x = checkpoint(layer, x, use_reentrant=False, context_fn=every_second_mm)
            else:
                x = layer(x)
        return self.loss(self.norm(x), targets)


class HuggingFace(nn.Module):
    def __init__(self, c):
        super().__init__()
        import transformers as t
        kind = c["kind"]
        if kind == "hf-gpt2":
            config = t.GPT2Config(n_embd=c["hidden"], n_head=c["heads"], n_layer=c["layers"], n_inner=c["ffn"],
                                  vocab_size=c["vocab"], n_positions=c["seq"], resid_pdrop=c["dropout"],
                                  embd_pdrop=c["dropout"], attn_pdrop=0.0)
            self.inner = t.GPT2LMHeadModel(config)
        else:
            sizes = dict(hidden_size=c["hidden"], num_attention_heads=c["heads"], num_key_value_heads=c["kv_heads"],
                         num_hidden_layers=c["layers"], intermediate_size=c["ffn"], vocab_size=c["vocab"],
                         max_position_embeddings=c["seq"], tie_word_embeddings=bool(c["tied"]))
            if c["head_dim"]:
                sizes["head_dim"] = c["head_dim"]
            if kind == "hf-qwen3moe":
                sizes.update(num_experts=c["experts"], num_experts_per_tok=c["topk"], moe_intermediate_size=c["ffn"])
            kinds = {"hf-llama": (t.LlamaConfig, t.LlamaForCausalLM), "hf-qwen3": (t.Qwen3Config, t.Qwen3ForCausalLM),
                     "hf-qwen2": (t.Qwen2Config, t.Qwen2ForCausalLM),
                     "hf-qwen3moe": (t.Qwen3MoeConfig, t.Qwen3MoeForCausalLM)}
            config, model = kinds[kind]
            self.inner = model(config(**sizes))
        if c["recompute"] == "full":
            self.inner.gradient_checkpointing_enable(gradient_checkpointing_kwargs=dict(use_reentrant=False))
        self.inner.config.use_cache = False
        for p in self.inner.parameters():
            if c["precision"] == "bf16" and p.dtype != BF16:
                p.data = p.data.to(BF16)
        if c["lora"]:
            self.adapt(c)

    def adapt(self, c):
        import peft
        targets = "all-linear" if c["lora_targets"] == "all" else c["lora_targets"].split("+")
        config = peft.LoraConfig(r=c["lora"], lora_alpha=16, lora_dropout=c["dropout"], target_modules=targets,
                                 task_type="CAUSAL_LM")
        if c["recompute"] == "full":
            self.inner.enable_input_require_grads()
        self.inner = peft.get_peft_model(self.inner, config, autocast_adapter_dtype=c["lora_type"] == "fp32")

    def forward(self, tokens, targets):
        return self.inner(input_ids=tokens, labels=targets).loss


# ---- optimizers ----
class MainAdam:
    """fp32 weights, moments and gradients beside bf16 weights; everything stays."""

    def __init__(self, params):
        self.params = params
        self.main = [p.detach().float() for p in params]
        for p in params:
            p.main_grad = torch.zeros_like(p, dtype=torch.float32)
            p.register_post_accumulate_grad_hook(self.collect)
        self.inner = torch.optim.AdamW(self.main, fused=True, lr=1e-5)

    @staticmethod
    def collect(p):
        if p.grad is not None:
            p.main_grad.add_(p.grad)
            p.grad = None

    def step(self):
        for main, p in zip(self.main, self.params):
            main.grad = p.main_grad
        self.inner.step()
        for main, p in zip(self.main, self.params):
            p.data.copy_(main)
            main.grad = None

    def zero_grad(self, set_to_none=True):
        for p in self.params:
            p.main_grad.zero_()


class Adam8:
    """Moments in one byte each, a scale for each 256, a parameter at a time (what 8-bit Adam holds)."""

    def __init__(self, params):
        self.params = params
        self.state = [(torch.zeros(p.numel(), dtype=torch.uint8, device=p.device),
                       torch.zeros(p.numel(), dtype=torch.uint8, device=p.device),
                       torch.zeros((p.numel() + 255) // 256, dtype=torch.float32, device=p.device),
                       torch.zeros((p.numel() + 255) // 256, dtype=torch.float32, device=p.device)) for p in params]

    def step(self):
        for p, s in zip(self.params, self.state):
            s[0].add_(1)
            s[1].add_(1)
            p.data.add_(p.grad, alpha=-1e-6)

    def zero_grad(self, set_to_none=True):
        for p in self.params:
            p.grad = None


class OffloadAdam:
    """Moments and fp32 weights on the host; gradients go there a parameter at a time."""

    def __init__(self, params):
        self.params = params

    def step(self):
        for p in self.params:
            p.data.copy_(p.grad.cpu().to(p.device))

    def zero_grad(self, set_to_none=True):
        for p in self.params:
            p.grad = None


class Both:
    def __init__(self, *parts):
        self.parts = parts

    def step(self):
        for x in self.parts:
            x.step()

    def zero_grad(self, set_to_none=True):
        for x in self.parts:
            x.zero_grad(set_to_none=set_to_none)


def make_optimizer(c, model):
    params = [p for p in model.parameters() if p.requires_grad]
    kind = c["optimizer"]
    if kind == "main":
        return MainAdam(params)
    if kind == "adamw8":
        return Adam8(params)
    if kind == "offload":
        return OffloadAdam(params)
    if kind == "sgd":
        return torch.optim.SGD(params, lr=1e-4, momentum=0.0, foreach=False)
    if kind == "muon":
        matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n and "head" not in n
                    and "positions" not in n]
        chosen = {id(p) for p in matrices}
        rest = [p for p in params if id(p) not in chosen]
        return Both(torch.optim.Muon(matrices, lr=1e-4), torch.optim.AdamW(rest, lr=1e-5, fused=True))
    if kind == "adamw-foreach":
        return torch.optim.AdamW(params, lr=1e-5, foreach=True)
    if kind == "adafactor":
        return torch.optim.Adafactor(params, lr=1e-5)
    return torch.optim.AdamW(params, lr=1e-5, fused=True)


# ---- measuring ----
def allocated():
    return torch.cuda.memory_allocated()


def phase(row, name, highest):
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated()
    row[name + "_peak"] = peak
    row[name + "_end"] = allocated()
    torch.cuda.reset_peak_memory_stats()
    highest.append(peak)


def one_step(c, run, optimizer, tokens, row, highest):
    amp = c["precision"] == "amp"
    keep = torch.autograd.graph.save_on_cpu(pin_memory=False) if c["offload"] == "activations" else None
    torch.cuda.reset_peak_memory_stats()
    row["start"] = allocated()
    for micro in range(c["micro_batches"]):
        with torch.autocast("cuda", dtype=BF16, enabled=amp):
            if keep is not None:
                with keep:
                    loss = run(tokens, tokens)
            else:
                loss = run(tokens, tokens)
        phase(row, "forward", highest)
        loss.backward()
        del loss
        phase(row, "backward", highest)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    phase(row, "update", highest)


def measure(c, row):
    dtype = torch.float32 if c["precision"] in ("amp", "fp32") else BF16
    torch.set_default_dtype(dtype)
    base = allocated()
    try:
        with torch.device("cuda"):
            model = (HuggingFace(c) if c["kind"].startswith("hf-") else Model(c)).train()
    finally:
        torch.set_default_dtype(torch.float32)
    row["params"] = sum(p.numel() for p in model.parameters())
    row["trained"] = sum(p.numel() for p in model.parameters() if p.requires_grad)
    row["weights"] = allocated() - base
    optimizer = make_optimizer(c, model)
    tokens = torch.randint(c["vocab"], (c["batch"], c["seq"]), device="cuda")
    run = model
    if c["compiled"]:
        for layer in model.layers:
            layer.compile(dynamic=False)
    steps = 2 if c["offload"] == "activations" or row["params"] > 3e9 else 3
    for i in range(steps):
        highest = []
        one_step(c, run, optimizer, tokens, row, highest)
        row["peak_allocated"] = max(highest)
    row["peak_reserved"] = torch.cuda.memory_reserved()
    free, total = torch.cuda.mem_get_info()
    row["used"] = total - free
    row["context"] = row["used"] - row["peak_reserved"]


def rows():
    def r(name, **more):
        unknown = set(more) - set(DEFAULTS)
        assert not unknown, unknown
        return dict(DEFAULTS, name=name, **more)
    small = dict(hidden=2048, heads=16, ffn=5632, layers=16, vocab=32000)
    llama1b = dict(hidden=2048, heads=32, kv_heads=8, ffn=8192, layers=16, vocab=128256)
    gpt350 = dict(hidden=1024, heads=16, kv_heads=16, ffn=4096, layers=24, vocab=50304, seq=1024, batch=8)
    gpt13 = dict(hidden=2048, heads=16, kv_heads=16, ffn=8192, layers=24, vocab=50304, seq=2048, batch=4)
    seven = dict(hidden=4096, heads=32, kv_heads=32, ffn=11008, layers=32, vocab=32000, batch=1, seq=4096)
    eight = dict(hidden=4096, heads=32, kv_heads=8, ffn=14336, layers=32, vocab=128256, batch=1, seq=4096)
    half = dict(hidden=4096, heads=32, kv_heads=8, ffn=14336, layers=12, vocab=128256, batch=1, seq=8192)
    qwen = dict(hidden=1536, heads=12, kv_heads=2, ffn=8960, layers=28, vocab=151936, tied=1)
    return [
        r("llama-plain", **small),
        r("llama-long", **dict(small, seq=16384, batch=1)),
        r("llama-accumulate", **dict(small, micro_batches=2)),
        r("llama-full", **dict(small, recompute="full", batch=4)),
        r("llama-ops", **dict(small, recompute="ops")),
        r("llama-foreach", **dict(small, optimizer="adamw-foreach", batch=1)),
        r("gpt-plain", kind="gpt", **gpt350),
        r("gpt-13", kind="gpt", **gpt13),
        r("gpt-full", kind="gpt", **dict(gpt13, batch=8, recompute="full")),
        r("m-gpt-flash", kind="m-gpt", optimizer="main", loss="megatron", **gpt13),
        r("m-gpt-2021", kind="m-gpt", optimizer="main", loss="megatron", attention="unfused", dropout=0.1,
          **dict(gpt350, batch=4)),
        r("m-gpt-selective", kind="m-gpt", optimizer="main", loss="megatron", attention="core", dropout=0.1,
          **dict(gpt350, batch=8)),
        r("m-llama-small", kind="m-llama", optimizer="main", loss="megatron", **small),
        r("m-llama-gqa", kind="m-llama", optimizer="main", loss="megatron", **dict(llama1b, batch=2)),
        r("m-llama-mlp", kind="m-llama", optimizer="main", loss="megatron", recompute="mlp", **dict(llama1b, batch=2)),
        r("m-llama-full", kind="m-llama", optimizer="main", loss="megatron", recompute="full", **dict(half, batch=2)),
        r("m-llama-half", kind="m-llama", optimizer="main", loss="megatron", **half),
        r("m-llama-accumulate", kind="m-llama", optimizer="main", loss="megatron", micro_batches=2,
          **dict(small, layers=32)),
        r("llama-amp", precision="amp", **small),
        r("llama-amp-gqa", precision="amp", **dict(llama1b, batch=1)),
        r("llama-fp32", precision="fp32", **dict(small, batch=1, seq=2048, layers=8)),
        r("llama-logits16", loss="bf16", **dict(llama1b, batch=4)),
        r("llama-logits32", loss="fp32", **dict(llama1b, batch=4)),
        r("llama-chunked", loss="chunked", **dict(llama1b, batch=4)),
        r("llama-tied", tied=1, **dict(llama1b, batch=1)),
        r("llama-sgd", optimizer="sgd", **dict(small, batch=2)),
        r("llama-adam8", optimizer="adamw8", **dict(seven)),
        r("llama-muon", optimizer="muon", **dict(small, batch=1)),
        r("llama-offload-state", optimizer="offload", **dict(small, layers=8, batch=1)),
        r("llama-offload-activations", offload="activations", **dict(small, layers=8, batch=1, seq=2048)),
        r("llama-moe", experts=8, topk=2, **dict(small, ffn=4096, layers=8)),
        r("llama-moe-many", experts=64, topk=6, **dict(small, ffn=1024, layers=8)),
        r("llama-moe-full", experts=8, topk=2, recompute="full", **dict(small, ffn=4096, layers=12)),
        r("llama-7b", **seven),
        r("llama-8b-full", recompute="full", **dict(eight, seq=8192)),
        r("hf-llama-1b", kind="hf-llama", **dict(llama1b, batch=2)),
        r("hf-llama-small", kind="hf-llama", **small),
        r("hf-llama-full", kind="hf-llama", recompute="full", **dict(eight, batch=2)),
        r("hf-llama-accumulate", kind="hf-llama", micro_batches=2, **dict(small, batch=1)),
        r("hf-qwen2", kind="hf-qwen2", **dict(qwen, batch=2, seq=2048)),
        r("hf-qwen3", kind="hf-qwen3", hidden=2048, heads=16, kv_heads=8, head_dim=128, ffn=6144, layers=28,
          vocab=151936, tied=1, batch=1, seq=4096),
        r("hf-gpt2", kind="hf-gpt2", dropout=0.1, tied=1, **gpt350),
        r("hf-gpt2-plain", kind="hf-gpt2", tied=1, **dict(gpt350, hidden=1280, heads=20, kv_heads=20, ffn=5120, layers=36)),
        r("lora-qv", kind="hf-llama", lora=16, lora_targets="q_proj+v_proj", lora_type="bf16", **dict(eight)),
        r("lora-all", kind="hf-llama", lora=16, lora_targets="all", lora_type="bf16", **dict(eight, seq=2048)),
        r("lora-fp32", kind="hf-llama", lora=16, lora_targets="all", lora_type="fp32", **dict(eight, seq=2048)),
        r("lora-full", kind="hf-llama", lora=64, lora_targets="all", lora_type="bf16", recompute="full",
          **dict(eight, batch=2)),
        r("lora-dropout", kind="hf-llama", lora=8, lora_targets="q_proj+v_proj", lora_type="fp32", dropout=0.05,
          **dict(small, batch=2)),
        r("hf-qwen3moe", kind="hf-qwen3moe", hidden=2048, heads=32, kv_heads=4, head_dim=128, ffn=768, layers=6,
          vocab=151936, experts=64, topk=8, batch=1, seq=4096),
        r("llama-adafactor", optimizer="adafactor", **dict(small, batch=1)),
        r("llama-wide", **dict(small, hidden=8192, heads=64, kv_heads=8, ffn=28672, layers=3, batch=1, seq=8192)),
        r("llama-deep", **dict(small, hidden=1024, heads=16, kv_heads=16, ffn=2816, layers=48, batch=2, seq=2048)),
        r("m-gpt-wide", kind="m-gpt", optimizer="main", loss="megatron",
          **dict(gpt13, hidden=6144, heads=48, kv_heads=48, ffn=24576, layers=4, batch=2)),
        r("m-gpt-unfused-long", kind="m-gpt", optimizer="main", loss="megatron", attention="unfused",
          dropout=0.1, **dict(gpt350, seq=2048, batch=2)),
        r("llama-compiled", compiled=1, **dict(small, layers=12)),
        r("llama-compiled-gqa", compiled=1, **dict(llama1b, layers=12, batch=1)),
        r("m-llama-tiny-vocab", kind="m-llama", optimizer="main", loss="megatron", **dict(small, vocab=8192, layers=20)),
        r("m-gpt-long", kind="m-gpt", optimizer="main", loss="megatron", **dict(gpt13, seq=16384, batch=1, layers=12)),
        r("m-llama-wide", kind="m-llama", optimizer="main", loss="megatron",
          **dict(half, hidden=8192, heads=64, ffn=28672, layers=3)),
        r("hf-mistral-like", kind="hf-llama", **dict(seven, kv_heads=8, ffn=14336, layers=8, seq=8192)),
        r("llama-accumulate-8", micro_batches=3, **dict(llama1b, batch=1)),
        r("gpt-dropout", kind="gpt", dropout=0.1, **gpt350),
        r("lora-amp-like", kind="hf-qwen2", lora=32, lora_targets="all", lora_type="fp32", recompute="full",
          **dict(qwen, batch=4, seq=2048)),
    ]


def context_rows(out):
    """How the card fills before there is a model."""
    def note(what):
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        out.writerow([what, total, total - free, torch.cuda.memory_allocated(), torch.cuda.memory_reserved()])
    free, total = torch.cuda.mem_get_info()
    note("cuda started")
    a = torch.randn(1024, 1024, device="cuda", dtype=BF16, requires_grad=True)
    note("a tensor")
    (a @ a).sum().backward()
    note("a product, forward and backward")
    q = torch.randn(1, 16, 1024, 128, device="cuda", dtype=BF16, requires_grad=True)
    F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    note("attention, forward and backward")
    try:
        import torch.distributed as dist
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29577")
        dist.init_process_group("nccl", rank=0, world_size=1)
        dist.all_reduce(torch.ones(1024, device="cuda"))
        note("NCCL communicator of one rank")
        dist.destroy_process_group()
        note("after it")
    except Exception as e:
        print("nccl:", str(e)[:200], file=sys.stderr)


def main():
    with open(os.path.join(OUT, "memory_context.csv"), "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["after", "total", "used", "allocated", "reserved"])
        context_rows(out)
    names = rows()
    assert len({r["name"] for r in names}) == len(names)
    with open(os.path.join(OUT, "memory_peaks.csv"), "w", newline="") as f:
        f.write("# torch %s, %s\n" % (torch.__version__, torch.cuda.get_device_name()))
        out = csv.DictWriter(f, list(DEFAULTS) + ["held_out"] + MEASURED)
        out.writeheader()
        for c in names:
            if time.time() - BEGIN > BUDGET - (28 if c["compiled"] else 4):
                print("out of time before", c["name"], file=sys.stderr)
                break
            row = dict(c, held_out=int(held_out(c["name"])))
            begin = time.time()
            try:
                measure(c, row)
            except Exception as e:
                row["error"] = (type(e).__name__ + ": " + str(e)).replace("\n", " ")[:300]
            row["seconds"] = round(time.time() - begin, 2)
            out.writerow(row)
            f.flush()
            print(c["name"], row["seconds"], row.get("peak_allocated", row.get("error")), flush=True)
            gc.collect()
            torch._C._cuda_clearCublasWorkspaces()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


if __name__ == "__main__":
    main()
