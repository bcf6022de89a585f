#!/usr/bin/env python3
"""Measures GPU kernels into a table for stepcast.

    python3 measure_kernels.py -o h200.csv [--suite gemm,attention] [--quick]
    stepcast fit-gpu h200.csv --base h200 -o mine.json     new constants
    stepcast run --kernel-times h200.csv ...              these times as they are

Needs PyTorch with CUDA. Durations are those the profiler (CUPTI) reports for
the kernels of an operator, without launch gaps, and the GPU rests after each
case, so that it stays below its power limit: the times are "cold", as the
kernel model wants them. Fused kernels are those torch.compile makes.
"""
import argparse
import csv
import itertools
import sys
import time

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

COLUMNS = ["op", "dtype", "m", "n", "k", "batch", "heads", "kv_heads", "sq", "skv", "head_dim", "v_dim", "causal",
           "rows", "cols", "vocab", "hidden", "params", "us", "kernel"]
GPU = "cuda"
BF16 = torch.bfloat16


def kernels_of(prof):
    """Durations and names of the kernels, in the order they ran."""
    events = [e for e in prof.events()
              if e.device_type == torch.autograd.DeviceType.CUDA and not getattr(e, "is_user_annotation", False)]
    events.sort(key=lambda e: e.time_range.start)
    return [(e.device_time_total if hasattr(e, "device_time_total") else e.cuda_time_total, e.name) for e in events]


def clock(function, repeats, flush):
    """us of all kernels of one call, and the name of the longest. flush: a
    buffer larger than the cache, filled before each call, so that the operands
    come from memory as they do in training; its fill is not counted."""
    for _ in range(2):
        function()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        for _ in range(repeats):
            if flush is not None:
                flush.fill_(1)
            function()
        torch.cuda.synchronize()
    kernels = kernels_of(prof)
    total = sum(us for us, _ in kernels)
    time.sleep(min(1.0, 3e-6 * total))
    if flush is not None:
        each = len(kernels) // repeats
        kernels = [k for i, k in enumerate(kernels) if i % each]
    us, name = max(kernels)
    return sum(us for us, _ in kernels) / repeats, name[:60]


def random(*shape, dtype=BF16, grad=False):
    return torch.randn(*shape, device=GPU, dtype=torch.float32).to(dtype).requires_grad_(grad)


# Each case yields (columns, function). ------------------------------------------------------------------------------

def gemm_shapes(quick):
    tokens, widths = ([2048, 8192], [1024, 4096, 8192]) if quick else ([256, 1024, 2048, 4096, 8192, 16384],
                                                                       [768, 1024, 2048, 3072, 4096, 5120, 8192, 12288])
    for m, n, k in itertools.product(tokens, widths, widths):
        if m * n * k <= 2 ** 41:
            yield m, n, k


def gemm(quick, dtype=BF16, name="bf16"):
    for m, n, k in gemm_shapes(quick):
        a, b = random(m, k, dtype=dtype), random(n, k, dtype=dtype)
        yield dict(op="gemm", dtype=name, m=m, n=n, k=k), lambda a=a, b=b: a @ b.t()


def gemm_fp32(quick):
    torch.backends.cuda.matmul.allow_tf32 = False
    for n in [1024, 2048, 4096] + ([] if quick else [8192]):
        a, b = random(2048, n, dtype=torch.float32), random(n, n, dtype=torch.float32)
        yield dict(op="gemm", dtype="fp32", m=2048, n=n, k=n), lambda a=a, b=b: a @ b.t()
    torch.backends.cuda.matmul.allow_tf32 = True
    for n in [1024, 2048, 4096] + ([] if quick else [8192]):
        a, b = random(2048, n, dtype=torch.float32), random(n, n, dtype=torch.float32)
        yield dict(op="gemm", dtype="tf32", m=2048, n=n, k=n), lambda a=a, b=b: a @ b.t()
    torch.backends.cuda.matmul.allow_tf32 = False


def gemm_unaligned(quick):
    """Sizes that are no multiple of 8 in one place: vocabularies, odd head counts."""
    odd = [] if quick else [(m, n, k) for m in (2048, 8192) for n in (1023, 2049, 4090, 8190, 8193) for k in (1028, 2050, 4096)]
    for m, n, k in odd + [(4096, 50257, 768), (8192, 50257, 1024), (8192, 50257, 1600), (4096, 768, 50257), (50257, 768, 4096),
                    (1024, 2145, 1024), (2048, 4097, 4096), (2048, 4098, 4096), (2048, 4100, 4096), (2048, 4096, 4097),
                    (2048, 4096, 4098), (2048, 4096, 4100), (4095, 4096, 4096), (8192, 3001, 2048),
                    (8192, 2048, 3001), (8192, 8194, 8192), (8192, 8192, 8195), (512, 1001, 512),
                    (4096, 32001, 2048), (8192, 151643, 1536), (2048, 50258, 1280), (4096, 30522, 768),
                    (8192, 65001, 4096), (4096, 4104, 1004), (16384, 1001, 1000), (3000, 6002, 3000)]:
        a, b, g = random(m, k), random(n, k), random(m, n)
        yield dict(op="gemm", dtype="bf16", m=m, n=n, k=k), lambda a=a, b=b: a @ b.t()
        yield dict(op="gemm_dgrad", dtype="bf16", m=m, n=k, k=n), lambda b=b, g=g: g @ b
        yield dict(op="gemm_wgrad", dtype="bf16", m=n, n=k, k=m), lambda a=a, g=g: g.t() @ a


def short_shapes(quick):
    for k in [64, 256, 768] if quick else [64, 128, 192, 256, 384, 512, 768, 1024, 1536]:
        for m, n in [(8192, 8192)] if quick else [(1024, 8192), (2048, 32000), (4096, 4096), (4096, 16384), (4096, 50304),
                                                  (8192, 8192), (8192, 28672), (8192, 128256), (16384, 2048), (16384, 12288)]:
            yield m, n, k
    if not quick:
        yield from [(8192, 4096, 16), (8192, 4096, 32), (16384, 16384, 96), (4096, 28672, 160), (8192, 64000, 320),
                    (2048, 2048, 448), (32768, 3072, 640), (6144, 6144, 224)]


def gemm_short(quick):
    """Short inner sizes with large outputs: heads of small models, low ranks, slices of tensor parallelism."""
    for m, n, k in short_shapes(quick):
        a, b, g = random(m, k), random(n, k), random(m, n)
        yield dict(op="gemm", dtype="bf16", m=m, n=n, k=k), lambda a=a, b=b: a @ b.t()
        yield dict(op="gemm_dgrad", dtype="bf16", m=m, n=k, k=n), lambda b=b, g=g: g @ b
        yield dict(op="gemm_wgrad", dtype="bf16", m=n, n=k, k=m), lambda a=a, g=g: g.t() @ a


def gemm_accumulate(quick):
    """Weight gradients added to an fp32 buffer."""
    for m, n, k in [(4096, 4096, 2048), (4096, 4096, 8192)] + ([] if quick else [
            (12288, 6144, 2048), (4096, 14336, 8192), (1536, 6144, 4096), (3072, 3072, 2048), (5120, 13824, 4096)]):
        a, b, total = random(k, m), random(k, n), torch.zeros(m, n, device=GPU)
        yield dict(op="gemm_accumulate", dtype="bf16", m=m, n=n, k=k), lambda a=a, b=b, total=total: torch.addmm(
            total, a.t(), b, out_dtype=torch.float32, out=total)


def gemm_fp8(quick):
    if torch.cuda.get_device_capability() < (8, 9):
        return
    one = torch.ones((), device=GPU)
    for m, n, k in gemm_shapes(quick):
        a, b = random(m, k).to(torch.float8_e4m3fn), random(n, k).to(torch.float8_e4m3fn)
        yield dict(op="gemm", dtype="fp8", m=m, n=n, k=k), lambda a=a, b=b: torch._scaled_mm(
            a, b.t(), scale_a=one, scale_b=one, out_dtype=BF16, use_fast_accum=True)


def batched(quick):
    heads = [32] if quick else [8, 16, 32, 96]
    for b, s, d in itertools.product(heads, [1024, 2048, 4096], [64, 80, 96, 128]):
        if b * s * s > 2 ** 31:
            continue
        q, k, p = random(b, s, d), random(b, s, d), random(b, s, s)
        yield dict(op="gemm_batched", dtype="bf16", batch=b, m=s, n=s, k=d), lambda q=q, k=k: q @ k.mT
        yield dict(op="gemm_batched", dtype="bf16", batch=b, m=s, n=d, k=s), lambda p=p, k=k: p @ k


def grouped(quick):
    for e, m, n, k in itertools.product([4, 8, 32], [256, 1024, 4096], [1536, 4096], [2048, 4096]):
        a, b = random(e * m, k), random(e, n, k)
        ends = torch.arange(1, e + 1, device=GPU, dtype=torch.int32) * m
        yield dict(op="gemm_grouped", dtype="bf16", batch=e, m=m, n=n, k=k), lambda a=a, b=b, ends=ends: torch._grouped_mm(
            a, b.mT, offs=ends)


def attention_shapes(quick):
    if quick:
        yield from [(1, 32, 32, 2048, 2048, 128, 128, 1), (1, 32, 8, 8192, 8192, 128, 128, 1), (4, 16, 16, 2048, 2048, 64, 64, 1)]
        return
    for d, v in [(64, 64), (80, 80), (96, 96), (128, 128), (192, 192), (192, 128), (256, 256)]:
        for b, h, g, s in [(1, 16, 16, 1024), (4, 16, 16, 1024), (8, 12, 12, 1024), (1, 32, 32, 2048), (2, 16, 16, 2048),
                           (1, 8, 8, 4096), (1, 32, 32, 4096), (2, 32, 32, 4096), (1, 4, 4, 8192), (1, 16, 16, 8192),
                           (1, 8, 8, 16384)]:
            yield b, h, g, s, s, d, v, 1
            if s in (2048, 8192):
                yield b, h, g, s, s, d, v, 0
    for b, h, g, s in [(1, 32, 8, 4096), (1, 8, 1, 8192), (2, 16, 4, 2048), (1, 64, 8, 8192)]:
        yield b, h, g, s, s, 128, 128, 1
        yield b, h, g, s, s, 64, 64, 1
    for d, v in [(192, 192), (192, 128), (256, 256)]:
        for b, h, g, s in [(2, 8, 4, 2048), (1, 32, 8, 4096), (1, 128, 128, 4096), (4, 16, 16, 4096), (1, 64, 64, 2048), (1, 8, 1, 8192)]:
            yield b, h, g, s, s, d, v, 1
    for sq, skv in [(2048, 8192), (1024, 16384), (4096, 8192), (8192, 65536)]:
        yield 1, 8, 8, sq, skv, 128, 128, 0
        yield 1, 16, 2, sq, skv, 128, 128, 0
    yield from attention_odd_shapes()


def attention_odd_shapes():
    """Long sequences, head counts and lengths that fill no wave."""
    for d, v, lengths in [(64, 64, (32768, 65536)), (128, 128, (12288, 24576, 32768, 65536)), (192, 128, (12288, 32768)),
                          (192, 192, (6144, 12288, 24576)), (256, 256, (6144, 12288, 24576))]:
        for s, h in itertools.product(lengths, (4, 10)):
            if h * s * s * d < 3e12:
                yield 1, h, h, s, s, d, v, 1
    for d, v in [(128, 128), (192, 128), (192, 192), (256, 256), (64, 64)]:
        for b, h, g, s, causal in [(3, 20, 20, 1536, 1), (1, 40, 40, 3072, 1), (1, 40, 8, 3072, 1), (1, 12, 12, 4096, 0),
                                   (2, 7, 7, 700, 1), (1, 10, 10, 16384, 0)]:
            yield b, h, g, s, s, d, v, causal


def fp32_shapes(quick):
    """Keys for every head: shared ones go to unfused kernels in fp32."""
    sizes = [(1, 16, 1024, 128), (1, 32, 2048, 128), (1, 32, 4096, 128), (1, 64, 4096, 128), (1, 32, 8192, 128), (1, 8, 16384, 128),
             (4, 16, 2048, 64), (1, 32, 4096, 64), (1, 32, 8192, 64), (1, 16, 4096, 192), (1, 16, 4096, 256),
             (2, 20, 3072, 128), (1, 40, 2048, 128), (1, 12, 8192, 64), (8, 8, 1024, 128), (1, 24, 6144, 128), (1, 16, 2048, 192),
             (1, 16, 8192, 256), (1, 128, 2048, 128), (1, 8, 12288, 64), (1, 5, 16384, 128), (4, 32, 512, 128)]
    for b, h, s, d in sizes[:3] if quick else sizes:
        for causal in (1, 0):
            yield b, h, h, s, s, d, d, causal


def attention_fp32(quick):
    yield from attention(quick, fp32_shapes(quick), torch.float32, "fp32")


def attention(quick, shapes=None, dtype=BF16, name="bf16"):
    for b, h, g, sq, skv, d, v, causal in shapes or attention_shapes(quick):
        q, k = random(b, h, sq, d, dtype=dtype, grad=True), random(b, g, skv, d, dtype=dtype, grad=True)
        w, grad = random(b, g, skv, v, dtype=dtype, grad=True), random(b, h, sq, v, dtype=dtype)
        base = dict(dtype=name, batch=b, heads=h, kv_heads=g, sq=sq, skv=skv, head_dim=d, v_dim=v, causal=causal)

        def forward(q=q, k=k, w=w, h=h, g=g, causal=causal):
            return F.scaled_dot_product_attention(q, k, w, is_causal=bool(causal), enable_gqa=h != g)
        out = forward()

        def backward(out=out, q=q, k=k, w=w, grad=grad):
            torch.autograd.grad(out, (q, k, w), grad, retain_graph=True)
        with torch.no_grad():
            yield dict(base, op="attention_f"), forward
        yield dict(base, op="attention_b"), backward


def pair(name, rows, cols, function, *inputs):
    """A forward and its backward as two cases."""
    wanted = [t for t in inputs if isinstance(t, torch.Tensor) and t.requires_grad]
    out = function(*inputs)
    grad = torch.randn_like(out)
    yield dict(op=name + "_f", dtype="bf16", rows=rows, cols=cols), lambda: function(*inputs)
    yield dict(op=name + "_b", dtype="bf16", rows=rows, cols=cols), lambda: torch.autograd.grad(
        out, wanted, grad, retain_graph=True)


def rope(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


def fused_cross_entropy(logits, target):
    """Megatron's vocabulary-parallel loss, its forward on one rank."""
    x = logits.float()
    x = x - x.max(dim=-1, keepdim=True).values
    picked = x.gather(1, target.unsqueeze(1)).squeeze(1)
    e = x.exp()
    total = e.sum(dim=-1)
    return (e / total.unsqueeze(1)).to(logits.dtype), total.log() - picked


def fused_cross_entropy_backward(softmax, target, grad):
    g = softmax.float()
    g = g - (torch.arange(g.shape[1], device=g.device).unsqueeze(0) == target.unsqueeze(1)).float()
    return (g * grad.unsqueeze(1)).to(softmax.dtype)


def memory_eager(rows, cols):
    x, y = random(rows, cols, grad=True), random(rows, cols, grad=True)
    w, b = random(cols, grad=True), random(cols, grad=True)
    yield from pair("layernorm", rows, cols, lambda x, w, b: F.layer_norm(x, (cols,), w, b), x, w, b)
    yield from pair("rmsnorm", rows, cols, lambda x, w: F.rms_norm(x, (cols,), w), x, w)
    yield from pair("gelu", rows, cols, F.gelu, x)
    yield from pair("swiglu", rows, cols, lambda x, y: F.silu(x) * y, x, y)
    yield from pair("dropout", rows, cols, lambda x: F.dropout(x, 0.1), x)
    a, c = x.detach(), y.detach()
    out32 = torch.zeros(rows, cols, device=GPU)
    plain = dict(dtype="bf16", rows=rows, cols=cols)
    yield dict(plain, op="add"), lambda: a + c
    yield dict(plain, op="copy"), lambda: a.clone()
    yield dict(plain, op="transpose"), lambda: a.view(rows, -1, 64).transpose(0, 1).contiguous()
    yield dict(plain, op="cast_fp32"), lambda: a.float()
    yield dict(plain, op="fill"), lambda: a.zero_()
    yield dict(plain, op="bias_grad"), lambda: c.sum(0)
    yield dict(plain, op="accumulate_fp32"), lambda: out32.add_(a)
    yield dict(plain, op="sum_squares_fp32"), lambda: torch._foreach_norm([out32])
    yield dict(plain, op="scale_fp32"), lambda: torch._foreach_mul_([out32], 0.999)


def memory_routing(rows, cols):
    """Tokens into the order of experts, two copies of each."""
    x, order = random(rows // 2, cols), torch.randperm(rows, device=GPU) // 2
    yield dict(op="permute_f", dtype="bf16", rows=rows, cols=cols), lambda: x.index_select(0, order)


def memory_fused(rows, cols, fuse):
    x, y, z = random(rows, cols, grad=True), random(rows, 2 * cols, grad=True), random(rows, cols)
    b = random(cols, grad=True)
    yield from pair("bias_gelu", rows, cols, fuse(lambda x, b: F.gelu(x + b, approximate="tanh")), x, b)
    yield from pair("fused_swiglu", rows, cols, fuse(lambda y: F.silu(y[:, :cols]) * y[:, cols:]), y)
    yield from pair("bias_dropout_add", rows, cols, fuse(lambda x, b: z + F.dropout(x + b, 0.1)), x, b)
    scale = torch.ones((), device=GPU)

    def cast(x):
        q = (x.float() * scale).to(torch.float8_e4m3fn)
        return q, q.t().contiguous()
    if torch.cuda.get_device_capability() >= (8, 9):
        yield dict(op="cast_fp8", dtype="bf16", rows=rows, cols=cols), lambda f=fuse(cast), x=x.detach(): f(x)


def memory_rope(rows, cols, fuse):
    x = random(rows, cols // 128, 128, grad=True)
    cos, sin = random(rows, 1, 128), random(rows, 1, 128)
    yield from pair("rope", rows, cols, fuse(rope), x, cos, sin)
    yield from pair("rope_eager", rows, cols, rope, x, cos, sin)


def memory_softmax(rows, cols, fuse):
    """Scores of attention: scale, causal mask, softmax; and the mask alone."""
    x = random(rows, cols, grad=True)
    mask = (torch.arange(cols, device=GPU).unsqueeze(0) > (torch.arange(rows, device=GPU) % cols).unsqueeze(1))
    yield from pair("softmax", rows, cols, fuse(lambda x: torch.softmax(
        (x.float() * 0.1).masked_fill(mask, -1e4), dim=-1).to(BF16)), x)
    yield from pair("mask", rows, cols, lambda x: (x * 0.1).masked_fill(mask, -1e4), x)


def memory_router(rows, cols, fuse):
    x = random(rows, cols, dtype=torch.float32, grad=True)
    yield from pair("router", rows, cols, lambda x: torch.topk(torch.softmax(x, dim=-1), 2).values, x)


def losses(rows, cols, fuse):
    x, target = random(rows, cols, grad=True), torch.randint(cols, (rows,), device=GPU)
    yield from pair("cross_entropy", rows, cols, lambda x: F.cross_entropy(x.float(), target), x)
    yield from pair("cross_entropy_bf16", rows, cols, lambda x: F.cross_entropy(x, target), x)
    f, b = fuse(fused_cross_entropy), fuse(fused_cross_entropy_backward)
    a, grad = x.detach(), torch.randn(rows, device=GPU)
    soft, _ = f(a, target)
    plain = dict(dtype="bf16", rows=rows, cols=cols)
    yield dict(plain, op="cross_entropy_fused_f"), lambda: f(a, target)
    yield dict(plain, op="cross_entropy_fused_b"), lambda: b(soft, target, grad)


def memory(quick):
    fuse = lambda f: torch.compile(f, dynamic=False)
    shapes = [(2048, 4096), (8192, 4096), (4096, 12288)] if quick else list(
        itertools.product([1024, 4096, 16384], [1024, 4096, 8192, 14336]))
    for rows, cols in shapes:
        torch._dynamo.reset()
        yield from memory_eager(rows, cols)
        yield from memory_fused(rows, cols, fuse)
        yield from memory_rope(rows, cols, fuse)
        yield from memory_routing(rows, cols)
    for rows, cols in [(32 * 2048, 2048)] if quick else [(8 * 1024, 1024), (64 * 1024, 1024), (32 * 2048, 2048), (24 * 4096, 4096)]:
        yield from memory_softmax(rows, cols, fuse)
    for rows, cols in [(8192, 8)] if quick else [(2048, 8), (8192, 8), (8192, 64), (8192, 256)]:
        yield from memory_router(rows, cols, fuse)
    for rows, cols in [(4096, 32000)] if quick else [(1024, 32000), (4096, 6400), (4096, 51200), (8192, 16384), (8192, 128256)]:
        torch._dynamo.reset()
        yield from losses(rows, cols, fuse)


def embedding(quick):
    for rows, vocab, hidden in [(4096, 50304, 2048), (8192, 128256, 4096)] + ([] if quick else [
            (2048, 50304, 1024), (16384, 32000, 4096), (8192, 151936, 5120), (4096, 51200, 12288)]):
        table, ids = random(vocab, hidden, grad=True), torch.randint(vocab, (rows,), device=GPU)
        for case, f in pair("embedding", rows, 0, lambda t, i: F.embedding(i, t), table, ids):
            yield dict(op=case["op"], dtype="bf16", rows=rows, vocab=vocab, hidden=hidden), f


def optimizer(quick):
    for name, dtype in [("bf16", BF16), ("fp32", torch.float32)]:
        for params in [2 ** 24, 2 ** 28] if quick else [2 ** 22, 2 ** 26, 2 ** 28, 2 ** 30]:
            p = random(params // 4096, 4096, dtype=dtype).requires_grad_()
            p.grad = torch.randn_like(p) * 0.01  # with zeros it is slower
            opt = torch.optim.AdamW([p], fused=True)
            yield dict(op="adamw", dtype=name, params=params), opt.step


SUITES = dict(gemm=gemm, unaligned=gemm_unaligned, short=gemm_short, accumulate=gemm_accumulate, fp32=gemm_fp32, fp8=gemm_fp8,
              batched=batched, grouped=grouped, attention=attention, attention_fp32=attention_fp32,
              memory=memory, embedding=embedding, optimizer=optimizer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="-", help="table to write, default standard output")
    parser.add_argument("--suite", default=",".join(SUITES), help="which suites, of: " + ", ".join(SUITES))
    parser.add_argument("--quick", action="store_true", help="few shapes, for a first look")
    parser.add_argument("--repeats", type=int, default=5, help="calls per case")
    args = parser.parse_args()
    out = sys.stdout if args.output == "-" else open(args.output, "w", newline="")
    writer = csv.DictWriter(out, COLUMNS)
    writer.writeheader()
    flush = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, device=GPU, dtype=torch.uint8)
    for name in args.suite.split(","):
        start, count = time.time(), 0
        for case, function in SUITES[name](args.quick):
            us, kernel = clock(function, args.repeats, flush if name in ("memory", "embedding") else None)
            writer.writerow(dict(case, us="%.2f" % us, kernel=kernel))
            out.flush()
            count += 1
        print("%s: %d cases, %.0f s" % (name, count, time.time() - start), file=sys.stderr)
    if out is not sys.stdout:
        out.close()


if __name__ == "__main__":
    main()
