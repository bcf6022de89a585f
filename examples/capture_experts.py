#!/usr/bin/env python3
"""Experts over ranks in plain PyTorch: each rank has some of them, tokens travel by all-to-all.

    python3 -m stepcast.capture --world 8 -o experts.json examples/capture_experts.py
    stepcast run experts.json --cluster dgx-h100:8

Every expert takes equally many tokens (a capacity), so that no size depends on data.
"""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional


class Exchange(torch.autograd.Function):
    """Rows for each rank's experts go there; gradients come back the same way."""

    @staticmethod
    def forward(ctx, rows):
        out = torch.empty_like(rows)
        dist.all_to_all_single(out, rows)
        return out

    @staticmethod
    def backward(ctx, gradient):
        back = torch.empty_like(gradient)
        dist.all_to_all_single(back, gradient.contiguous())
        return back


class Experts(nn.Module):
    def __init__(self, hidden, inner, experts):
        super().__init__()
        self.ranks = dist.get_world_size()
        self.mine = experts // self.ranks
        self.router = nn.Linear(hidden, experts, bias=False)
        self.into = nn.Parameter(torch.empty(self.mine, hidden, inner))
        self.outof = nn.Parameter(torch.empty(self.mine, inner, hidden))
        self.experts = experts

    def forward(self, x):
        tokens, hidden = x.shape
        capacity = tokens // self.experts
        share, order = self.router(x).softmax(-1).transpose(0, 1).topk(capacity, dim=-1)
        chosen = x[order.flatten()]
        here = Exchange.apply(chosen).view(self.ranks, self.mine, capacity, hidden)
        here = here.transpose(0, 1).reshape(self.mine, -1, hidden)
        here = torch.bmm(functional.gelu(torch.bmm(here, self.into)), self.outof)
        here = here.view(self.mine, self.ranks, capacity, hidden).transpose(0, 1)
        back = Exchange.apply(here.reshape(-1, hidden)) * share.reshape(-1, 1)
        return torch.zeros_like(x).index_add(0, order.flatten(), back)


class Layer(nn.Module):
    def __init__(self, hidden, inner, experts):
        super().__init__()
        self.norm = nn.LayerNorm(hidden)
        self.experts = Experts(hidden, inner, experts)

    def forward(self, x):
        return x + self.experts(self.norm(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--experts", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=8192)
    options = parser.parse_args()
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    layers = (Layer(options.hidden, 2 * options.hidden, options.experts) for _ in range(options.layers))
    model = nn.Sequential(*layers).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    x = torch.randn(options.tokens, options.hidden, device="cuda", dtype=torch.bfloat16)
    for _ in range(3):
        model(x).float().pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
