#!/usr/bin/env python3
"""Mamba-2's scan in chunks (state-space duality, arXiv 2405.21060): kernels of our own, forward and backward.

    OUT=folder python3 tools/measure_scan.py [seconds]     → $OUT/scan.csv

Durations of single kernels as the profiler reports them, cache flushed before each forward and each backward, median of
three. A small case is checked first against the plain recurrence and its gradients. data/truth/h200_scan.csv has the sums by pass.
"""
import csv
import os
import sys
import time

START = time.time()
import torch
import triton
import triton.language as tl
from torch.profiler import ProfilerActivity, profile

OUT = os.environ.get("OUT", ".")
BUDGET = float(sys.argv[1]) if len(sys.argv) > 1 else 200.0
REPEATS = 3
GPU = "cuda"
flush = torch.zeros(160 << 20, dtype=torch.uint8, device=GPU)


def left():
    return BUDGET - (time.time() - START)


def configs(*pairs):
    return [triton.Config({"BM": m, "BN": n}, num_warps=w, num_stages=s) for m, n, w, s in pairs]


# x, dout: [b, l, h, P]; dt: [b, l, h]; keys, queries: [b, l, g, N]; cum, step: [b, chunks, h, Q] in fp32;
# scores: [b, chunks, g, Q, Q] in fp32; states: [b, chunks, h, P, N]

@triton.jit
def ssd_cumsum(dt, a, bias, cum, step, L, H, nc, Q: tl.constexpr, BH: tl.constexpr):
    bc = tl.program_id(0)
    h = tl.program_id(1) * BH + tl.arange(0, BH)
    b = bc // nc
    c = bc % nc
    q = tl.arange(0, Q)
    v = tl.load(dt + (b * L + c * Q + q)[:, None] * H + h[None, :], mask=h[None, :] < H, other=0.0).to(tl.float32)
    v += tl.load(bias + h, mask=h < H, other=0.0)[None, :]
    v = tl.where(v > 20.0, v, tl.log(1.0 + tl.exp(v)))
    d = tl.cumsum(v * tl.load(a + h, mask=h < H, other=0.0)[None, :], axis=0)
    to = (bc * H + h)[None, :] * Q + q[:, None]
    tl.store(step + to, v, mask=h[None, :] < H)
    tl.store(cum + to, d, mask=h[None, :] < H)


@triton.autotune(configs((64, 64, 4, 3), (128, 64, 4, 3), (128, 128, 8, 3)), key=["N", "Q"])
@triton.jit
def ssd_scores(queries, keys, scores, L, G, nc, N: tl.constexpr, Q: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    tiles = Q // BN
    m = (tl.program_id(0) // tiles) * BM + tl.arange(0, BM)
    n = (tl.program_id(0) % tiles) * BN + tl.arange(0, BN)
    bc = tl.program_id(1)
    g = tl.program_id(2)
    row = (bc // nc) * L + (bc % nc) * Q
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, N, 64):
        k = k0 + tl.arange(0, 64)
        x = tl.load(queries + ((row + m)[:, None] * G + g) * N + k[None, :])
        y = tl.load(keys + ((row + n)[None, :] * G + g) * N + k[:, None])
        acc += tl.dot(x, y)
    tl.store(scores + (bc * G + g) * Q * Q + m[:, None] * Q + n[None, :], acc)


@triton.autotune(configs((64, 64, 4, 3), (64, 128, 4, 3), (64, 128, 8, 4)), key=["N", "P", "Q", "BACKWARD"])
@triton.jit
def ssd_state(x, keys, cum, step, states, L, H, G, nc, P: tl.constexpr, N: tl.constexpr, Q: tl.constexpr,
              BACKWARD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    tiles = N // BN
    m = (tl.program_id(0) // tiles) * BM + tl.arange(0, BM)
    n = (tl.program_id(0) % tiles) * BN + tl.arange(0, BN)
    bc = tl.program_id(1)
    h = tl.program_id(2)
    g = h // (H // G)
    row = (bc // nc) * L + (bc % nc) * Q
    at = (bc * H + h) * Q
    last = tl.load(cum + at + Q - 1)
    acc = tl.zeros((BM, BN), tl.float32)
    for q0 in range(0, Q, 32):
        q = q0 + tl.arange(0, 32)
        d = tl.load(cum + at + q)
        if BACKWARD:
            scale = tl.exp(d)
        else:
            scale = tl.exp(last - d) * tl.load(step + at + q)
        v = tl.load(x + ((row + q)[None, :] * H + h) * P + m[:, None])
        k = tl.load(keys + ((row + q)[:, None] * G + g) * N + n[None, :]).to(tl.float32) * scale[:, None]
        acc += tl.dot(v, k.to(v.dtype))
    tl.store(states + (bc * H + h) * P * N + m[:, None] * N + n[None, :], acc)


@triton.jit
def ssd_pass(states, cum, before, H, nc, PN, Q: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    b = tl.program_id(1)
    h = tl.program_id(2)
    run = tl.zeros((BLOCK,), tl.float32)
    for c in range(0, nc):
        at = (b * nc + c) * H + h
        tl.store(before + at * PN + i, run, mask=i < PN)
        decay = tl.exp(tl.load(cum + at * Q + Q - 1))
        run = decay * run + tl.load(states + at * PN + i, mask=i < PN, other=0.0)


@triton.jit
def ssd_pass_back(dbefore, before, cum, dstates, dlast, H, nc, PN, Q: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    b = tl.program_id(1)
    h = tl.program_id(2)
    run = tl.zeros((BLOCK,), tl.float32)
    for j in range(0, nc):
        at = (b * nc + nc - 1 - j) * H + h
        tl.store(dstates + at * PN + i, run, mask=i < PN)
        s = tl.load(before + at * PN + i, mask=i < PN, other=0.0).to(tl.float32)
        decay = tl.exp(tl.load(cum + at * Q + Q - 1))
        tl.store(dlast + at * tl.num_programs(0) + tl.program_id(0), decay * tl.sum(run * s))
        run = decay * run + tl.load(dbefore + at * PN + i, mask=i < PN, other=0.0)


@triton.autotune(configs((64, 64, 4, 3), (128, 64, 4, 3), (128, 64, 8, 3)), key=["N", "P", "Q"])
@triton.jit
def ssd_out(x, queries, scores, before, cum, step, skip, out, L, H, G, nc, P: tl.constexpr, N: tl.constexpr,
            Q: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    tiles = P // BN
    first = (tl.program_id(0) // tiles) * BM
    m = first + tl.arange(0, BM)
    n = (tl.program_id(0) % tiles) * BN + tl.arange(0, BN)
    bc = tl.program_id(1)
    h = tl.program_id(2)
    g = h // (H // G)
    row = (bc // nc) * L + (bc % nc) * Q
    at = (bc * H + h) * Q
    dm = tl.load(cum + at + m)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, N, 64):
        k = k0 + tl.arange(0, 64)
        c = tl.load(queries + ((row + m)[:, None] * G + g) * N + k[None, :])
        s = tl.load(before + (bc * H + h) * P * N + n[None, :] * N + k[:, None])
        acc += tl.dot(c, s)
    acc *= tl.exp(dm)[:, None]
    for k0 in range(0, first + BM, 32):
        k = k0 + tl.arange(0, 32)
        w = tl.load(scores + (bc * G + g) * Q * Q + m[:, None] * Q + k[None, :])
        w *= tl.exp(tl.minimum(dm[:, None] - tl.load(cum + at + k)[None, :], 0.0)) * tl.load(step + at + k)[None, :]
        w = tl.where(m[:, None] >= k[None, :], w, 0.0)
        v = tl.load(x + ((row + k)[:, None] * H + h) * P + n[None, :])
        acc += tl.dot(w.to(v.dtype), v)
    to = ((row + m)[:, None] * H + h) * P + n[None, :]
    acc += tl.load(x + to).to(tl.float32) * tl.load(skip + h)
    tl.store(out + to, acc)


@triton.autotune(configs((64, 64, 4, 3), (128, 64, 4, 3), (128, 64, 8, 3)), key=["N", "P", "Q"])
@triton.jit
def ssd_dx(x, dout, keys, scores, dstates, cum, step, skip, dx, dstep, L, H, G, nc, P: tl.constexpr, N: tl.constexpr,
           Q: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    tiles = P // BN
    first = (tl.program_id(0) // tiles) * BM
    m = first + tl.arange(0, BM)
    n = (tl.program_id(0) % tiles) * BN + tl.arange(0, BN)
    bc = tl.program_id(1)
    h = tl.program_id(2)
    g = h // (H // G)
    row = (bc // nc) * L + (bc % nc) * Q
    at = (bc * H + h) * Q
    dm = tl.load(cum + at + m)
    last = tl.load(cum + at + Q - 1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, N, 64):
        k = k0 + tl.arange(0, 64)
        c = tl.load(keys + ((row + m)[:, None] * G + g) * N + k[None, :])
        s = tl.load(dstates + (bc * H + h) * P * N + n[None, :] * N + k[:, None])
        acc += tl.dot(c, s)
    acc *= tl.exp(last - dm)[:, None]
    for k0 in range(first, Q, 32):
        k = k0 + tl.arange(0, 32)
        w = tl.load(scores + (bc * G + g) * Q * Q + k[None, :] * Q + m[:, None])
        w *= tl.exp(tl.minimum(tl.load(cum + at + k)[None, :] - dm[:, None], 0.0))
        w = tl.where(k[None, :] >= m[:, None], w, 0.0)
        v = tl.load(dout + ((row + k)[:, None] * H + h) * P + n[None, :])
        acc += tl.dot(w.to(v.dtype), v)
    to = ((row + m)[:, None] * H + h) * P + n[None, :]
    xv = tl.load(x + to).to(tl.float32)
    tl.store(dstep + ((bc * H + h) * tiles + tl.program_id(0) % tiles) * Q + m, tl.sum(acc * xv, axis=1))
    acc = acc * tl.load(step + at + m)[:, None] + tl.load(dout + to).to(tl.float32) * tl.load(skip + h)
    tl.store(dx + to, acc)


@triton.autotune(configs((64, 64, 4, 3), (128, 64, 4, 3), (128, 128, 8, 3)), key=["N", "P", "Q", "QUERIES"])
@triton.jit
def ssd_dkeys(x, states, cum, step, out, L, H, G, nc, heads, P: tl.constexpr, N: tl.constexpr, Q: tl.constexpr,
              QUERIES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Sum over `heads` heads of a group: gradient of the keys, or of the queries."""
    tiles = N // BN
    m = (tl.program_id(0) // tiles) * BM + tl.arange(0, BM)
    n = (tl.program_id(0) % tiles) * BN + tl.arange(0, BN)
    bc = tl.program_id(1)
    part = tl.program_id(2)
    row = (bc // nc) * L + (bc % nc) * Q
    acc = tl.zeros((BM, BN), tl.float32)
    for j in range(0, heads):
        h = part * heads + j
        at = (bc * H + h) * Q
        dm = tl.load(cum + at + m)
        if QUERIES:
            scale = tl.exp(dm)
        else:
            scale = tl.exp(tl.load(cum + at + Q - 1) - dm) * tl.load(step + at + m)
        one = tl.zeros((BM, BN), tl.float32)
        for k0 in range(0, P, 32):
            k = k0 + tl.arange(0, 32)
            v = tl.load(x + ((row + m)[:, None] * H + h) * P + k[None, :])
            s = tl.load(states + (bc * H + h) * P * N + k[:, None] * N + n[None, :])
            one += tl.dot(v, s)
        acc += one * scale[:, None]
    tl.store(out + (bc * tl.num_programs(2) + part) * Q * N + m[:, None] * N + n[None, :], acc)


@triton.autotune(configs((64, 64, 4, 3), (128, 64, 4, 3), (128, 128, 8, 3)), key=["P", "Q"])
@triton.jit
def ssd_dscores(x, dout, cum, step, out, L, H, G, nc, heads, P: tl.constexpr, Q: tl.constexpr, BM: tl.constexpr,
                BN: tl.constexpr):
    tiles = Q // BN
    first = (tl.program_id(0) // tiles) * BM
    m = first + tl.arange(0, BM)
    start = (tl.program_id(0) % tiles) * BN
    n = start + tl.arange(0, BN)
    bc = tl.program_id(1)
    part = tl.program_id(2)
    row = (bc // nc) * L + (bc % nc) * Q
    acc = tl.zeros((BM, BN), tl.float32)
    to = out + (bc * tl.num_programs(2) + part) * Q * Q + m[:, None] * Q + n[None, :]
    if first + BM > start:
        for j in range(0, heads):
            h = part * heads + j
            at = (bc * H + h) * Q
            one = tl.zeros((BM, BN), tl.float32)
            for k0 in range(0, P, 32):
                k = k0 + tl.arange(0, 32)
                d = tl.load(dout + ((row + m)[:, None] * H + h) * P + k[None, :])
                v = tl.load(x + ((row + n)[None, :] * H + h) * P + k[:, None])
                one += tl.dot(d, v)
            w = tl.exp(tl.minimum(tl.load(cum + at + m)[:, None] - tl.load(cum + at + n)[None, :], 0.0))
            acc += one * w * tl.load(step + at + n)[None, :]
        acc = tl.where(m[:, None] >= n[None, :], acc, 0.0)
    tl.store(to, acc)


@triton.autotune(configs((64, 32, 4, 3), (128, 32, 4, 3), (64, 64, 4, 3)), key=["P", "Q"])
@triton.jit
def ssd_dcum(x, dout, scores, cum, step, rows, columns, L, H, G, nc, P: tl.constexpr, Q: tl.constexpr,
             BM: tl.constexpr, BN: tl.constexpr):
    """Gradient of the decay inside a chunk: sums of scores times their gradients along both sides."""
    first = tl.program_id(0) * BM
    m = first + tl.arange(0, BM)
    bc = tl.program_id(1)
    h = tl.program_id(2)
    g = h // (H // G)
    row = (bc // nc) * L + (bc % nc) * Q
    at = (bc * H + h) * Q
    p = tl.arange(0, P)
    d = tl.load(dout + ((row + m)[:, None] * H + h) * P + p[None, :])
    dm = tl.load(cum + at + m)
    acc = tl.zeros((BM,), tl.float32)
    for k0 in range(0, first + BM, BN):
        k = k0 + tl.arange(0, BN)
        v = tl.load(x + ((row + k)[None, :] * H + h) * P + p[:, None])
        w = tl.dot(d, v) * tl.load(scores + (bc * G + g) * Q * Q + m[:, None] * Q + k[None, :])
        w *= tl.exp(tl.minimum(dm[:, None] - tl.load(cum + at + k)[None, :], 0.0)) * tl.load(step + at + k)[None, :]
        w = tl.where(m[:, None] >= k[None, :], w, 0.0)
        acc += tl.sum(w, axis=1)
        tl.store(columns + ((bc * H + h) * (Q // BM) + tl.program_id(0)) * Q + k, tl.sum(w, axis=0))
    tl.store(rows + at + m, acc)


class Scan:
    def __init__(self, b, l, h, p, g, n, q):
        self.size = (b, l, h, p, g, n, q)
        self.nc = l // q
        make = lambda *s: torch.randn(*s, device=GPU, dtype=torch.float32)
        self.x = make(b, l, h, p).bfloat16()
        self.dout = make(b, l, h, p).bfloat16()
        self.dt = (make(b, l, h) * 0.5 - 2).bfloat16()
        self.a = -torch.rand(h, device=GPU) - 0.5
        self.bias = torch.zeros(h, device=GPU)
        self.skip = torch.ones(h, device=GPU)
        self.keys = (make(b, l, g, n) * 0.3).bfloat16()
        self.queries = (make(b, l, g, n) * 0.3).bfloat16()
        f = lambda *s: torch.empty(*s, device=GPU, dtype=torch.float32)
        e = lambda *s: torch.empty(*s, device=GPU, dtype=torch.bfloat16)
        nc = self.nc
        self.cum, self.step = f(b, nc, h, q), f(b, nc, h, q)
        self.scores = f(b, nc, g, q, q)
        self.states, self.before = f(b, nc, h, p, n), e(b, nc, h, p, n)
        self.out = e(b, l, h, p)
        # heads of a group in as many parts as keep the GPU busy
        self.parts = 1
        while self.parts < h // g and b * nc * g * self.parts * max(1, q // 128) < 264 and (h // g) % (2 * self.parts) == 0:
            self.parts *= 2
        s = g * self.parts
        self.dbefore, self.dstates = f(b, nc, h, p, n), e(b, nc, h, p, n)
        self.dlast = f(b, nc, h, triton.cdiv(p * n, 1024))
        self.dx, self.dstep = e(b, l, h, p), f(b, nc, h, max(1, p // 32), q)
        self.dkeys, self.dqueries = f(b, nc, s, q, n), f(b, nc, s, q, n)
        self.dscores = f(b, nc, s, q, q)
        self.rows, self.columns = f(b, nc, h, q), f(b, nc, h, q // 64, q)

    def front(self):
        b, l, h, p, g, n, q = self.size
        nc = self.nc
        ssd_cumsum[(b * nc, triton.cdiv(h, 16))](self.dt, self.a, self.bias, self.cum, self.step, l, h, nc, Q=q, BH=16)
        ssd_state[lambda c: ((p // c["BM"]) * (n // c["BN"]), b * nc, h)](
            self.x, self.keys, self.cum, self.step, self.states, l, h, g, nc, P=p, N=n, Q=q, BACKWARD=False)
        ssd_pass[(triton.cdiv(p * n, 1024), b, h)](self.states, self.cum, self.before, h, nc, p * n, Q=q, BLOCK=1024)
        ssd_scores[lambda c: ((q // c["BM"]) * (q // c["BN"]), b * nc, g)](
            self.queries, self.keys, self.scores, l, g, nc, N=n, Q=q)

    def forward(self):
        b, l, h, p, g, n, q = self.size
        self.front()
        ssd_out[lambda c: ((q // c["BM"]) * (p // c["BN"]), b * self.nc, h)](
            self.x, self.queries, self.scores, self.before, self.cum, self.step, self.skip, self.out, l, h, g, self.nc,
            P=p, N=n, Q=q)

    def backward(self):
        b, l, h, p, g, n, q = self.size
        nc = self.nc
        self.front()
        ssd_state[lambda c: ((p // c["BM"]) * (n // c["BN"]), b * nc, h)](
            self.dout, self.queries, self.cum, self.step, self.dbefore, l, h, g, nc, P=p, N=n, Q=q, BACKWARD=True)
        ssd_pass_back[(triton.cdiv(p * n, 1024), b, h)](
            self.dbefore, self.before, self.cum, self.dstates, self.dlast, h, nc, p * n, Q=q, BLOCK=1024)
        ssd_dx[lambda c: ((q // c["BM"]) * (p // c["BN"]), b * nc, h)](
            self.x, self.dout, self.keys, self.scores, self.dstates, self.cum, self.step, self.skip, self.dx, self.dstep,
            l, h, g, nc, P=p, N=n, Q=q)
        each = h // g // self.parts
        for x, s, out, what in ((self.x, self.dstates, self.dkeys, False), (self.dout, self.before, self.dqueries, True)):
            ssd_dkeys[lambda c: ((q // c["BM"]) * (n // c["BN"]), b * nc, g * self.parts)](
                x, s, self.cum, self.step, out, l, h, g, nc, each, P=p, N=n, Q=q, QUERIES=what)
        ssd_dscores[lambda c: ((q // c["BM"]) * (q // c["BN"]), b * nc, g * self.parts)](
            self.x, self.dout, self.cum, self.step, self.dscores, l, h, g, nc, each, P=p, Q=q)
        ssd_dcum[lambda c: (q // c["BM"], b * nc, h)](
            self.x, self.dout, self.scores, self.cum, self.step, self.rows, self.columns, l, h, g, nc, P=p, Q=q)
        ds = self.dscores.view(b, nc, g, self.parts, q, q).sum(3).bfloat16().view(-1, q, q)
        chunked = lambda t: t.view(b, nc, q, g, n).transpose(2, 3).reshape(-1, q, n)
        self.dq = self.dqueries.view(b, nc, g, self.parts, q, n).sum(3).view(-1, q, n) + torch.bmm(ds, chunked(self.keys))
        self.dk = self.dkeys.view(b, nc, g, self.parts, q, n).sum(3).view(-1, q, n) + torch.bmm(
            ds.transpose(1, 2), chunked(self.queries))


def check():
    """The kernels against the recurrence h = exp(a dt) h + dt x k, out = h q + x."""
    s = Scan(1, 512, 4, 64, 2, 128, 128)
    b, l, h, p, g, n, q = s.size
    s.forward()
    s.backward()
    x, keys, queries = (t.float().requires_grad_() for t in (s.x, s.keys, s.queries))
    dt = torch.nn.functional.softplus(s.dt.float())
    state = torch.zeros(b, h, p, n, device=GPU)
    out = []
    for t in range(l):
        k, c = (v[:, t].repeat_interleave(h // g, 1) for v in (keys, queries))
        state = torch.exp(s.a * dt[:, t])[..., None, None] * state + (dt[:, t, :, None] * x[:, t])[..., None] * k[:, :, None]
        out.append((state * c[:, :, None]).sum(-1) + x[:, t])
    out = torch.stack(out, 1)
    out.backward(s.dout.float())
    far = lambda a, b: float((a.float() - b.float()).norm() / b.float().norm())
    chunked = lambda t: t.view(b, s.nc, q, g, n).transpose(2, 3).reshape(-1, q, n)
    print("relative errors: out %.4f dx %.4f dkeys %.4f dqueries %.4f" % (
        far(s.out, out), far(s.dx, x.grad), far(s.dk, chunked(keys.grad)), far(s.dq, chunked(queries.grad))), flush=True)


def measure(s):
    """{(phase, kernel): us}, medians."""
    found = {}
    for phase, call in (("forward", s.forward), ("backward", s.backward)):
        call()
        call()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as prof:
            for _ in range(REPEATS):
                torch.bitwise_not(flush, out=flush)
                call()
            torch.bitwise_not(flush, out=flush)
            torch.cuda.synchronize()
        events = [e for e in prof.events()
                  if e.device_type == torch.autograd.DeviceType.CUDA and not getattr(e, "is_user_annotation", False)]
        events.sort(key=lambda e: e.time_range.start)
        calls = []
        for e in events:
            if "bitwise_not" in e.name:
                calls.append({})
                continue
            name = e.name if e.name.startswith("ssd_") else "other"
            if not calls:
                continue
            calls[-1][name] = calls[-1].get(name, 0.0) + e.time_range.end - e.time_range.start
        calls = calls[:REPEATS]
        for name in calls[0]:
            found[phase, name] = sorted(c.get(name, 0.0) for c in calls)[len(calls) // 2]
    return found


def shapes():
    main = [(b, l, h) for h in (64, 16, 128, 32, 8, 256)
            for b, l in ((1, 4096), (1, 8192), (2, 4096), (1, 2048), (4, 2048), (1, 1024), (1, 16384))]
    for p, g, n, q in ((64, 8, 128, 128), (64, 1, 128, 256), (64, 8, 256, 128), (64, 8, 128, 256), (128, 8, 128, 128),
                       (64, 1, 256, 256)):
        for b, l, h in main:
            groups = min(g, max(1, h // 8))
            if b * l * h <= 8192 * 256 and b * (l // q) * h * p * n * 4 <= 6 << 30:
                yield b, l, h, p, groups, n, q


def main():
    check()
    with open(os.path.join(OUT, "scan.csv"), "w", newline="") as f:
        out = csv.writer(f)
        out.writerow("batch tokens heads head_dim groups state chunk phase kernel us".split())
        for shape in shapes():
            if left() < 3:
                break
            try:
                found = measure(Scan(*shape))
            except Exception as e:
                print("left out", shape, str(e).splitlines()[0][:120], flush=True)
                continue
            for (phase, kernel), us in found.items():
                out.writerow([*shape, phase, kernel, "%.2f" % us])
            f.flush()
    print("ended after %.0f s" % (time.time() - START))


main()
