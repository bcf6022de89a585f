"""Peaks of PyTorch's FSDP on one rank of many, with one GPU: its collectives are those of a fake
process group, which move nothing, so that the allocator sees what it sees among as many ranks.

    python3 tools/measure_fsdp_memory.py RANKS LAYERS VOCABULARY TOKENS full|none UNITS MICRO_BATCHES [HIDDEN FFN HEADS KV_HEADS]

UNITS: root (fully_shard of the layers and the rest), own (embedding, and norm and head, are units
too, as TorchTitan has it), never (root without reshard_after_forward), narrow (root with gradients
reduced in bf16), fsdp1, fsdp1-2 (SHARD_GRAD_OP). Prints the largest max_memory_allocated of a
third step, and the bytes gathered forward and backward. Needs PyTorch with CUDA."""
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, MixedPrecisionPolicy, ShardingStrategy, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.checkpoint import checkpoint


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


class Layer(nn.Module):
    def __init__(self, hidden, ffn, heads, kv_heads, repeated):
        super().__init__()
        self.heads, self.repeated = ((heads, kv_heads, kv_heads), repeated)
        size = hidden // heads
        self.norms = nn.ModuleList(nn.RMSNorm(hidden) for _ in range(2))
        self.qkv = nn.ModuleList(linear(hidden, n * size) for n in self.heads)
        self.out = linear(hidden, hidden)
        self.gate, self.up, self.down = linear(hidden, ffn), linear(hidden, ffn), linear(ffn, hidden)

    def body(self, x):
        y = self.norms[0](x)
        q, k, v = (p(y).view(*x.shape[:2], n, -1).transpose(1, 2) for p, n in zip(self.qkv, self.heads))
        core = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(core.transpose(1, 2).reshape(x.shape))
        y = self.norms[1](x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))

    def forward(self, x):
        return checkpoint(self.body, x, use_reentrant=False) if self.repeated else self.body(x)


class Model(nn.Module):
    def __init__(self, layers, words, hidden, ffn, heads, kv_heads, repeated):
        super().__init__()
        self.embedding = nn.Embedding(words, hidden)
        self.layers = nn.ModuleList(Layer(hidden, ffn, heads, kv_heads, repeated) for _ in range(layers))
        self.norm = nn.RMSNorm(hidden)
        self.head = linear(hidden, words)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def sharded(model, ranks, units):
    if units.startswith("fsdp1"):
        strategy = ShardingStrategy.SHARD_GRAD_OP if units == "fsdp1-2" else ShardingStrategy.FULL_SHARD
        return FullyShardedDataParallel(model, sharding_strategy=strategy, auto_wrap_policy=ModuleWrapPolicy({Layer}), device_id=0,
                                        mixed_precision=MixedPrecision(torch.bfloat16, torch.float32, torch.bfloat16), use_orig_params=True,
                                        param_init_fn=lambda m: m.to_empty(device="cuda", recurse=False))
    reduced = torch.bfloat16 if units == "narrow" else torch.float32
    policy = dict(mesh=init_device_mesh("cuda", (ranks,)), mp_policy=MixedPrecisionPolicy(torch.bfloat16, reduced))
    if units == "own":
        fully_shard(model.embedding, reshard_after_forward=True, **policy)
    for layer in model.layers:
        fully_shard(layer, reshard_after_forward=units != "never", **policy)
    if units == "own":
        fully_shard([model.norm, model.head], reshard_after_forward=False, **policy)
    fully_shard(model, **policy)
    return model.to_empty(device="cuda")


def count_gathers(gathered):
    original = dist.all_gather_into_tensor

    def gather(*words, **named):
        output = words[0] if words else named["output_tensor"]
        gathered[-1] += output.numel() * output.element_size()
        return original(*words, **named)

    dist.all_gather_into_tensor = gather


def main():
    ranks, layers, words, tokens = map(int, sys.argv[1:5])
    repeated, units, micro_batches = sys.argv[5] == "full", sys.argv[6], int(sys.argv[7])
    shape = list(map(int, sys.argv[8:])) or [4096, 14336, 32, 8]
    dist.init_process_group("fake", rank=0, world_size=ranks, store=FakeStore())
    with torch.device("meta"):
        model = Model(layers, words, *shape, repeated)
    model = sharded(model, ranks, units)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-9, fused=True)
    batch = torch.randint(0, words, (1, tokens), device="cuda")
    gathered = [0]
    count_gathers(gathered)
    for _ in range(3):
        torch.cuda.reset_peak_memory_stats()
        gathered.clear()
        for _ in range(micro_batches):
            gathered.append(0)
            logits = model(batch)
            loss = F.cross_entropy(logits.flatten(0, 1).float(), batch.flatten())
            del logits
            gathered.append(0)
            loss.backward()
            del loss
        optimizer.step()
        optimizer.zero_grad()
    print(torch.cuda.max_memory_allocated(), gathered[:2])


main()
