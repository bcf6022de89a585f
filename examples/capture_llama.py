#!/usr/bin/env python3
"""A Llama in plain PyTorch: tensor parallel by DTensor, FSDP2, pipeline of torch.

    python3 -m stepcast.capture --world 1024 -o llama.json examples/capture_llama.py -- \
        --size 70b --tp 8 --pp 8
    stepcast run llama.json --cluster dgx-h100:1024

The same script trains under torchrun; here it shows what a capture needs: nothing.
"""

import argparse

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn import functional

# hidden, layers, heads, key-value heads, feed-forward
SIZES = {"8b": (4096, 32, 32, 8, 14336), "70b": (8192, 80, 64, 8, 28672)}
VOCABULARY = 128256


class Attention(nn.Module):
    def __init__(self, hidden, heads, kv_heads):
        super().__init__()
        self.size = hidden // heads
        self.wq = nn.Linear(hidden, hidden, bias=False)
        self.wk = nn.Linear(hidden, kv_heads * self.size, bias=False)
        self.wv = nn.Linear(hidden, kv_heads * self.size, bias=False)
        self.wo = nn.Linear(hidden, hidden, bias=False)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (
            w(x).view(batch, length, -1, self.size).transpose(1, 2)
            for w in (self.wq, self.wk, self.wv)
        )
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.wo(out.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    def __init__(self, hidden, inner):
        super().__init__()
        self.w1 = nn.Linear(hidden, inner, bias=False)
        self.w3 = nn.Linear(hidden, inner, bias=False)
        self.w2 = nn.Linear(inner, hidden, bias=False)

    def forward(self, x):
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, hidden, heads, kv_heads, inner):
        super().__init__()
        self.attention_norm = nn.RMSNorm(hidden)
        self.attention = Attention(hidden, heads, kv_heads)
        self.ffn_norm = nn.RMSNorm(hidden)
        self.feed_forward = FeedForward(hidden, inner)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))


class Stage(nn.Module):
    """The layers of one pipeline stage; the first embeds, the last has the head."""

    def __init__(self, size, stage, stages):
        super().__init__()
        hidden, layers, heads, kv_heads, inner = SIZES[size]
        mine = layers // stages
        self.embedding = nn.Embedding(VOCABULARY, hidden) if stage == 0 else None
        self.layers = nn.ModuleList(Block(hidden, heads, kv_heads, inner) for _ in range(mine))
        last = stage == stages - 1
        self.norm = nn.RMSNorm(hidden) if last else None
        self.head = nn.Linear(hidden, VOCABULARY, bias=False) if last else None

    def forward(self, x):
        if self.embedding is not None:
            x = self.embedding(x)
        for layer in self.layers:
            x = layer(x)
        if self.head is not None:
            x = self.head(self.norm(x))
        return x


def tensor_parallel(model, mesh):
    for block in model.layers:
        parallelize_module(
            block,
            mesh,
            {
                "attention_norm": SequenceParallel(),
                "attention": PrepareModuleInput(
                    input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)
                ),
                "attention.wq": ColwiseParallel(),
                "attention.wk": ColwiseParallel(),
                "attention.wv": ColwiseParallel(),
                "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
                "ffn_norm": SequenceParallel(),
                "feed_forward": PrepareModuleInput(
                    input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)
                ),
                "feed_forward.w1": ColwiseParallel(),
                "feed_forward.w3": ColwiseParallel(),
                "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)),
            },
        )
    plan = {}
    if model.embedding is not None:
        plan["embedding"] = RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1))
    if model.head is not None:
        plan["norm"] = SequenceParallel()
        plan["head"] = ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())
    if plan:
        parallelize_module(model, mesh, plan)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=sorted(SIZES), default="8b")
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--pp", type=int, default=1)
    parser.add_argument("--micro-batches", type=int, default=8)
    parser.add_argument("--length", type=int, default=8192)
    options = parser.parse_args()

    torch.distributed.init_process_group("nccl")
    world = torch.distributed.get_world_size()
    torch.cuda.set_device(torch.distributed.get_rank() % torch.cuda.device_count())
    sizes = (options.pp, world // options.tp // options.pp, options.tp)
    mesh = init_device_mesh("cuda", sizes, mesh_dim_names=("pp", "dp", "tp"))
    stage = mesh.get_local_rank("pp")

    with torch.device("cuda"):
        model = Stage(options.size, stage, options.pp).to(torch.bfloat16)
    if options.tp > 1:
        tensor_parallel(model, mesh["tp"])
    if sizes[1] > 1:
        for layer in model.layers:
            fully_shard(layer, mesh=mesh["dp"], reshard_after_forward=options.pp == 1)
        fully_shard(model, mesh=mesh["dp"], reshard_after_forward=options.pp == 1)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)

    text = torch.randint(0, VOCABULARY, (options.micro_batches, options.length), device="cuda")
    loss = lambda out, target: functional.cross_entropy(out.flatten(0, 1).float(), target.flatten())
    if options.pp > 1:
        step = pipeline_step(model, mesh, stage, options, text, loss)
    else:
        step = lambda: [
            (loss(model(text[i : i + 1]), text[i : i + 1]) / options.micro_batches).backward()
            for i in range(options.micro_batches)
        ]
    for _ in range(3):
        step()
        optimizer.step()
        optimizer.zero_grad()


def pipeline_step(model, mesh, stage, options, text, loss):
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    hidden = SIZES[options.size][0]
    length = options.length // options.tp
    carried = torch.empty(1, length, hidden, dtype=torch.bfloat16, device="cuda")
    first, last = stage == 0, stage == options.pp - 1
    logits = torch.empty(1, options.length, VOCABULARY, dtype=torch.bfloat16, device="cuda")
    pipeline = PipelineStage(
        model,
        stage,
        options.pp,
        torch.device("cuda"),
        input_args=(text[:1] if first else carried,),
        output_args=(logits if last else carried,),
        group=mesh.get_group("pp"),
    )
    schedule = Schedule1F1B(pipeline, options.micro_batches, loss_fn=loss)
    if first:
        return lambda: schedule.step(text)
    if last:
        return lambda: schedule.step(target=text)
    return lambda: schedule.step()


if __name__ == "__main__":
    main()
