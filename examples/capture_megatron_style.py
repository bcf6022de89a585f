#!/usr/bin/env python3
"""A training step in the manner of Megatron-LM: its own process groups (with
--fake-process-group made of nobody, as Megatron makes them), tensor and sequence parallel
layers with collectives of their own, one flat buffer of gradients and an optimizer that is
sharded over the data-parallel ranks.

    python3 -m stepcast.capture --world 8 --mesh dp=2,tp=4 -o step.json \\
        examples/capture_megatron_style.py -- --fake-process-group --tensor-model-parallel-size 4
    stepcast run step.json --cluster dgx-h100:8

Megatron itself is captured the same way: its pretrain_gpt.py in place of this file.
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

GROUPS = {}


def start(arguments):
    """The world, then a group of each rank's neighbours in tensors and in data."""
    options = {
        "backend": "nccl",
        "world_size": int(os.environ["WORLD_SIZE"]),
        "rank": int(os.environ["RANK"]),
    }
    if arguments.fake_process_group:
        from torch.testing._internal.distributed.fake_pg import FakeStore

        options.update(backend="fake", store=FakeStore())
    dist.init_process_group(**options)
    world, size = dist.get_world_size(), arguments.tensor_model_parallel_size
    rank = dist.get_rank()
    tensor = [list(range(first, first + size)) for first in range(0, world, size)]
    data = [list(range(first, world, size)) for first in range(size)]
    for name, lists in (("tensor", tensor), ("data", data)):
        for ranks in lists:
            group = dist.new_group(ranks)
            if rank in ranks:
                GROUPS[name] = group


def gather(x):
    """The whole sequence from all tensor-parallel ranks."""
    size = dist.get_world_size(GROUPS["tensor"])
    out = torch.empty(size * x.shape[0], *x.shape[1:], dtype=x.dtype, device=x.device)
    dist.all_gather_into_tensor(out, x.contiguous(), group=GROUPS["tensor"])
    return out


def scatter_sum(x):
    """This rank's part of the sequence, summed over the tensor-parallel ranks."""
    size = dist.get_world_size(GROUPS["tensor"])
    out = torch.empty(x.shape[0] // size, *x.shape[1:], dtype=x.dtype, device=x.device)
    dist.reduce_scatter_tensor(out, x.contiguous(), group=GROUPS["tensor"])
    return out


class ColumnParallel(torch.autograd.Function):
    """Gathers the sequence, multiplies; gathers it again for the weights' gradient."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return gather(x) @ weight.t()

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        whole = gather(x).flatten(0, -2)
        into = scatter_sum(gradient @ weight)
        return into, gradient.flatten(0, -2).t() @ whole


class RowParallel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return scatter_sum(x @ weight.t())

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        whole = gather(gradient)
        return whole @ weight, whole.flatten(0, -2).t() @ x.flatten(0, -2)


class Layer(nn.Module):
    def __init__(self, hidden, heads, size):
        super().__init__()
        self.heads = heads // size
        self.norm1 = nn.LayerNorm(hidden)
        self.qkv = nn.Parameter(torch.empty(3 * hidden // size, hidden))
        self.proj = nn.Parameter(torch.empty(hidden, hidden // size))
        self.norm2 = nn.LayerNorm(hidden)
        self.fc1 = nn.Parameter(torch.empty(4 * hidden // size, hidden))
        self.fc2 = nn.Parameter(torch.empty(hidden, 4 * hidden // size))

    def forward(self, x):
        mixed = ColumnParallel.apply(self.norm1(x), self.qkv)
        length, batch, _ = mixed.shape
        q, k, v = mixed.view(length, batch, self.heads, 3, -1).permute(3, 1, 2, 0, 4).unbind(0)
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        seen = seen.permute(2, 0, 1, 3).reshape(length, batch, -1)
        x = x + RowParallel.apply(seen, self.proj)
        wide = functional.gelu(ColumnParallel.apply(self.norm2(x), self.fc1))
        return x + RowParallel.apply(wide, self.fc2)


class ShardedAdamW:
    """Gradients lie in one buffer; each data-parallel rank keeps states of its part."""

    def __init__(self, parameters):
        self.parameters = list(parameters)
        self.ranks = dist.get_world_size(GROUPS["data"])
        count = sum(p.numel() for p in self.parameters)
        count += -count % (64 * self.ranks)
        device = self.parameters[0].device
        self.gradients = torch.zeros(count, dtype=torch.float32, device=device)
        self.weights = torch.zeros(count, dtype=torch.bfloat16, device=device)
        self.mine = nn.Parameter(torch.zeros(count // self.ranks, device=device))
        self.inner = torch.optim.AdamW([self.mine], lr=1e-4, fused=True)

    def step(self):
        place = 0
        for p in self.parameters:
            self.gradients[place : place + p.numel()].copy_(p.grad.flatten())
            place += p.numel()
        self.mine.grad = torch.empty_like(self.mine)
        dist.reduce_scatter_tensor(self.mine.grad, self.gradients, group=GROUPS["data"])
        self.inner.step()
        dist.all_gather_into_tensor(
            self.weights, self.mine.detach().bfloat16(), group=GROUPS["data"]
        )
        place = 0
        for p in self.parameters:
            p.data.copy_(self.weights[place : place + p.numel()].view_as(p))
            p.grad = None
            place += p.numel()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fake-process-group", action="store_true")
    parser.add_argument("--tensor-model-parallel-size", type=int, default=1)
    parser.add_argument("--num-layers", type=int, default=4)
    parser.add_argument("--hidden-size", type=int, default=2048)
    parser.add_argument("--num-attention-heads", type=int, default=16)
    parser.add_argument("--seq-length", type=int, default=2048)
    parser.add_argument("--micro-batch-size", type=int, default=2)
    parser.add_argument("--train-iters", type=int, default=3)
    arguments = parser.parse_args()
    start(arguments)
    size = arguments.tensor_model_parallel_size
    model = nn.Sequential(
        *(
            Layer(arguments.hidden_size, arguments.num_attention_heads, size)
            for _ in range(arguments.num_layers)
        )
    ).to("cuda", torch.bfloat16)
    optimizer = ShardedAdamW(model.parameters())
    for _ in range(arguments.train_iters):
        shape = (arguments.seq_length // size, arguments.micro_batch_size, arguments.hidden_size)
        x = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
        model(x).float().pow(2).mean().backward()
        optimizer.step()


if __name__ == "__main__":
    main()
