#!/usr/bin/env python3
"""Training steps of models that stepcast has no preset for, measured and captured.

    python3 tools/capture_models.py measure  -o times.csv        on a GPU
    python3 tools/capture_models.py measure  --compile -o …      with torch.compile
    python3 tools/capture_models.py capture  -o captures/        anywhere

Each model is built by one function, on the real device or under a capture, so that
what is measured is what is captured. Weights are random: nothing is downloaded.
Half of the models (LEFT_OUT) take no part in any fit.
"""

import argparse
import os
import statistics
import sys
import time

import capture_training
from capture_clean_models import CLEAN_MODELS
from capture_fresh_models import FRESH_MODELS
from capture_training import image_classifier, images, tokens, training_step
from capture_unseen_models import UNSEEN_MODELS

# named before anything was fitted
LEFT_OUT = {"convnext", "swin", "whisper", "wav2vec2", "dit", "vlm", "lora", "mamba"}


def resnet(batch):
    return image_classifier("resnet50", batch, autocast=True)


def vit(batch):
    return image_classifier("vit_large_patch16_224", batch)


def convnext(batch):
    return image_classifier("convnext_base", batch)


def swin(batch):
    return image_classifier("swin_base_patch4_window7_224", batch, autocast=True)


def bert(batch):
    import torch
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
    )
    model = BertForMaskedLM(config).to("cuda", torch.bfloat16).train()
    text = tokens(batch, 512, config.vocab_size)
    return training_step(model, lambda: model(input_ids=text, labels=text).loss, fused=True)


def t5(batch):
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        d_model=768, d_kv=64, d_ff=3072, num_layers=12, num_heads=12, decoder_start_token_id=0
    )
    model = T5ForConditionalGeneration(config).to("cuda", torch.bfloat16).train()
    text = tokens(batch, 512, config.vocab_size)
    answer = tokens(batch, 128, config.vocab_size)
    return training_step(model, lambda: model(input_ids=text, labels=answer).loss)


def whisper(batch):
    import torch
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        d_model=768,
        encoder_layers=12,
        decoder_layers=12,
        encoder_attention_heads=12,
        decoder_attention_heads=12,
        encoder_ffn_dim=3072,
        decoder_ffn_dim=3072,
    )
    model = WhisperForConditionalGeneration(config).to("cuda", torch.bfloat16).train()
    sound = torch.randn(batch, 80, 3000, device="cuda", dtype=torch.bfloat16)
    text = tokens(batch, 256, 50000)
    return training_step(model, lambda: model(input_features=sound, labels=text).loss)


def wav2vec2(batch):
    import torch
    from transformers import Wav2Vec2Config, Wav2Vec2Model

    config = Wav2Vec2Config(mask_time_prob=0.0, mask_feature_prob=0.0, layerdrop=0.0)
    model = Wav2Vec2Model(config).to("cuda", torch.bfloat16).train()
    sound = torch.randn(batch, 160000, device="cuda", dtype=torch.bfloat16)
    return training_step(model, lambda: model(sound).last_hidden_state.float().pow(2).mean())


def clip(batch):
    import torch
    from transformers import CLIPConfig, CLIPModel

    config = CLIPConfig()
    model = CLIPModel(config).to("cuda", torch.bfloat16).train()
    pictures = images(batch, 224, torch.bfloat16)
    text = tokens(batch, 77, 40000)
    return training_step(
        model, lambda: model(input_ids=text, pixel_values=pictures, return_loss=True).loss
    )


def dlrm(batch):
    import torch
    from torch import nn
    from torch.nn import functional

    class Recommender(nn.Module):
        def __init__(self, fields=26, rows=100000, size=128):
            super().__init__()
            self.tables = nn.ModuleList(
                nn.EmbeddingBag(rows, size, mode="sum") for _ in range(fields)
            )
            self.bottom = nn.Sequential(
                nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, size)
            )
            pairs = (fields + 1) * fields // 2
            self.top = nn.Sequential(
                nn.Linear(pairs + size, 1024),
                nn.ReLU(),
                nn.Linear(1024, 1024),
                nn.ReLU(),
                nn.Linear(1024, 512),
                nn.ReLU(),
                nn.Linear(512, 1),
            )
            self.register_buffer("upper", torch.triu_indices(fields + 1, fields + 1, 1))

        def forward(self, dense, sparse):
            bottom = self.bottom(dense)
            vectors = [bottom] + [table(ids) for table, ids in zip(self.tables, sparse)]
            stacked = torch.stack(vectors, dim=1)
            products = torch.bmm(stacked, stacked.transpose(1, 2))
            flat = products[:, self.upper[0], self.upper[1]]
            return self.top(torch.cat([flat, bottom], dim=1))

    model = Recommender().to("cuda")
    dense = torch.randn(batch, 13, device="cuda")
    sparse = [tokens(batch, 10, 100000) for _ in range(26)]
    labels = torch.rand(batch, 1, device="cuda")
    return training_step(
        model,
        lambda: functional.binary_cross_entropy_with_logits(model(dense, sparse), labels),
    )


def lstm(batch):
    import torch
    from torch import nn
    from torch.nn import functional

    class Language(nn.Module):
        def __init__(self, vocabulary=32000, hidden=1024):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, hidden)
            self.recurrent = nn.LSTM(hidden, hidden, num_layers=3, batch_first=True)
            self.head = nn.Linear(hidden, vocabulary)

        def forward(self, text):
            hidden, _ = self.recurrent(self.embedding(text))
            return self.head(hidden)

    model = Language().to("cuda", torch.bfloat16)
    text = tokens(batch, 256, 32000)
    return training_step(
        model, lambda: functional.cross_entropy(model(text).flatten(0, 1), text.flatten())
    )


def dit(batch):
    import torch
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):
        def __init__(self, size, heads):
            super().__init__()
            self.heads = heads
            self.norm1 = nn.LayerNorm(size, elementwise_affine=False)
            self.qkv = nn.Linear(size, 3 * size)
            self.out = nn.Linear(size, size)
            self.norm2 = nn.LayerNorm(size, elementwise_affine=False)
            self.fc1 = nn.Linear(size, 4 * size)
            self.fc2 = nn.Linear(4 * size, size)
            self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(size, 6 * size))

        def forward(self, x, condition):
            shift1, scale1, gate1, shift2, scale2, gate2 = (
                self.modulation(condition).unsqueeze(1).chunk(6, dim=-1)
            )
            normed = self.norm1(x) * (1 + scale1) + shift1
            batch_, length, size = x.shape
            qkv = self.qkv(normed).view(batch_, length, 3, self.heads, size // self.heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            mixed = functional.scaled_dot_product_attention(q, k, v)
            x = x + gate1 * self.out(mixed.transpose(1, 2).reshape(batch_, length, size))
            normed = self.norm2(x) * (1 + scale2) + shift2
            return x + gate2 * self.fc2(functional.gelu(self.fc1(normed), approximate="tanh"))

    class Diffusion(nn.Module):
        def __init__(self, size=1152, heads=16, depth=28, channels=4, patch=2):
            super().__init__()
            self.patches = nn.Conv2d(channels, size, patch, patch)
            self.position = nn.Parameter(torch.zeros(1, 256, size))
            self.time = nn.Sequential(nn.Linear(256, size), nn.SiLU(), nn.Linear(size, size))
            self.blocks = nn.ModuleList(Block(size, heads) for _ in range(depth))
            self.norm = nn.LayerNorm(size)
            self.head = nn.Linear(size, patch * patch * 2 * channels)

        def forward(self, x, time):
            x = self.patches(x).flatten(2).transpose(1, 2) + self.position
            condition = self.time(time)
            for block in self.blocks:
                x = block(x, condition)
            return self.head(self.norm(x))

    model = Diffusion().to("cuda", torch.bfloat16)
    latent = torch.randn(batch, 4, 32, 32, device="cuda", dtype=torch.bfloat16)
    time_ = torch.randn(batch, 256, device="cuda", dtype=torch.bfloat16)
    return training_step(model, lambda: model(latent, time_).float().pow(2).mean(), fused=True)


def unet(batch):
    import torch
    from torch import nn

    class Double(nn.Module):
        def __init__(self, inside, outside):
            super().__init__()
            self.layers = nn.Sequential(
                nn.Conv2d(inside, outside, 3, padding=1),
                nn.GroupNorm(8, outside),
                nn.SiLU(),
                nn.Conv2d(outside, outside, 3, padding=1),
                nn.GroupNorm(8, outside),
                nn.SiLU(),
            )

        def forward(self, x):
            return self.layers(x)

    class UNet(nn.Module):
        def __init__(self, widths=(64, 128, 256, 512)):
            super().__init__()
            self.down = nn.ModuleList()
            inside = 3
            for width in widths:
                self.down.append(Double(inside, width))
                inside = width
            self.pool = nn.MaxPool2d(2)
            self.middle = Double(inside, 2 * inside)
            self.up = nn.ModuleList()
            self.join = nn.ModuleList()
            inside *= 2
            for width in reversed(widths):
                self.up.append(nn.ConvTranspose2d(inside, width, 2, 2))
                self.join.append(Double(2 * width, width))
                inside = width
            self.head = nn.Conv2d(inside, 1, 1)

        def forward(self, x):
            kept = []
            for layer in self.down:
                x = layer(x)
                kept.append(x)
                x = self.pool(x)
            x = self.middle(x)
            for up, join in zip(self.up, self.join):
                x = join(torch.cat([up(x), kept.pop()], dim=1))
            return self.head(x)

    model = UNet().to("cuda", torch.bfloat16)
    pictures = images(batch, 256, torch.bfloat16)
    return training_step(model, lambda: model(pictures).float().pow(2).mean())


def vlm(batch):
    import torch
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig
    from transformers import LlavaForConditionalGeneration

    vision = CLIPVisionConfig(
        hidden_size=1024,
        intermediate_size=4096,
        num_hidden_layers=24,
        num_attention_heads=16,
        image_size=336,
        patch_size=14,
    )
    text = LlamaConfig(
        hidden_size=2048,
        intermediate_size=5632,
        num_hidden_layers=12,
        num_attention_heads=16,
        num_key_value_heads=8,
        vocab_size=32064,
    )
    config = LlavaConfig(vision_config=vision, text_config=text, image_token_index=32000)
    model = LlavaForConditionalGeneration(config).to("cuda", torch.bfloat16).train()
    pictures = images(batch, 336, torch.bfloat16)
    words = tokens(batch, 1024, 31000)
    words[:, :576] = 32000
    return training_step(
        model, lambda: model(input_ids=words, pixel_values=pictures, labels=words).loss, fused=True
    )


def lora(batch):
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=4096,
        intermediate_size=11008,
        num_hidden_layers=12,
        num_attention_heads=32,
        num_key_value_heads=32,
        vocab_size=32000,
    )
    model = LlamaForCausalLM(config).to("cuda", torch.bfloat16).train()
    targets = ["q_proj", "k_proj", "v_proj", "o_proj"]
    model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=targets))
    text = tokens(batch, 2048, 32000)
    return training_step(model, lambda: model(input_ids=text, labels=text).loss)


def mamba(batch):
    """Mamba-2's chunked form in plain PyTorch."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Mixer(nn.Module):
        def __init__(self, size, state=128, head=64, chunk=128):
            super().__init__()
            self.inner = 2 * size
            self.heads = self.inner // head
            self.head = head
            self.state = state
            self.chunk = chunk
            self.norm = nn.RMSNorm(size)
            self.into = nn.Linear(size, 2 * self.inner + 2 * state + self.heads, bias=False)
            self.conv = nn.Conv1d(
                self.inner + 2 * state,
                self.inner + 2 * state,
                4,
                groups=self.inner + 2 * state,
                padding=3,
            )
            self.rate = nn.Parameter(torch.zeros(self.heads))
            self.outof = nn.Linear(self.inner, size, bias=False)

        def forward(self, u):
            batch_, length, _ = u.shape
            gate, mixed, step_ = self.into(self.norm(u)).split(
                [self.inner, self.inner + 2 * self.state, self.heads], dim=-1
            )
            mixed = functional.silu(self.conv(mixed.transpose(1, 2))[..., :length]).transpose(1, 2)
            x, b, c = mixed.split([self.inner, self.state, self.state], dim=-1)
            step_ = functional.softplus(step_).float()
            decay = -torch.exp(self.rate.float()) * step_
            chunks = length // self.chunk
            x = x.reshape(batch_, chunks, self.chunk, self.heads, self.head)
            x = x * step_.to(x.dtype).reshape(batch_, chunks, self.chunk, self.heads, 1)
            b = b.reshape(batch_, chunks, self.chunk, self.state)
            c = c.reshape(batch_, chunks, self.chunk, self.state)
            decay = decay.reshape(batch_, chunks, self.chunk, self.heads).permute(0, 3, 1, 2)
            sums = decay.cumsum(-1)
            within = torch.exp(
                (sums.unsqueeze(-1) - sums.unsqueeze(-2)).tril()
            ).to(x.dtype)
            scores = torch.einsum("bcln,bcsn->bcls", c, b).unsqueeze(1) * within
            inside = torch.einsum("bhcls,bcshp->bclhp", scores, x)
            left = torch.exp(sums[..., -1:] - sums).to(x.dtype)
            states = torch.einsum("bcln,bhcl,bclhp->bchpn", b, left, x)
            total = torch.exp(sums[..., -1]).to(x.dtype)
            carried = [torch.zeros_like(states[:, 0])]
            for i in range(chunks - 1):
                carried.append(carried[-1] * total[:, :, i, None, None] + states[:, i])
            before = torch.stack(carried, dim=1)
            outside = torch.einsum(
                "bcln,bchpn,bhcl->bclhp", c, before, torch.exp(sums).to(x.dtype)
            )
            y = (inside + outside).reshape(batch_, length, self.inner)
            return u + self.outof(y * functional.silu(gate))

    class Model(nn.Module):
        def __init__(self, size=1024, depth=24, vocabulary=32000):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, size)
            self.layers = nn.ModuleList(Mixer(size) for _ in range(depth))
            self.norm = nn.RMSNorm(size)
            self.head = nn.Linear(size, vocabulary, bias=False)

        def forward(self, text):
            x = self.embedding(text)
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x))

    model = Model().to("cuda", torch.bfloat16)
    text = tokens(batch, 1024, 32000)
    return training_step(
        model, lambda: functional.cross_entropy(model(text).flatten(0, 1), text.flatten())
    )


def gpt(batch):
    """A GPT-3-like model in plain PyTorch: stepcast has it as --fusion eager."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Layer(nn.Module):
        def __init__(self, size=2048, heads=16):
            super().__init__()
            self.heads = heads
            self.norm1 = nn.LayerNorm(size)
            self.qkv = nn.Linear(size, 3 * size)
            self.proj = nn.Linear(size, size)
            self.norm2 = nn.LayerNorm(size)
            self.fc1 = nn.Linear(size, 4 * size)
            self.fc2 = nn.Linear(4 * size, size)

        def forward(self, x):
            batch_, length, size = x.shape
            qkv = self.qkv(self.norm1(x)).view(batch_, length, 3, self.heads, size // self.heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(mixed.transpose(1, 2).reshape(batch_, length, size))
            return x + self.fc2(functional.gelu(self.fc1(self.norm2(x))))

    class Gpt(nn.Module):
        def __init__(self, size=2048, depth=24, vocabulary=51200, length=2048):
            super().__init__()
            self.words = nn.Embedding(vocabulary, size)
            self.places = nn.Embedding(length, size)
            self.layers = nn.ModuleList(Layer(size) for _ in range(depth))
            self.norm = nn.LayerNorm(size)
            self.head = nn.Linear(size, vocabulary, bias=False)
            self.register_buffer("order", torch.arange(length))

        def forward(self, text):
            x = self.words(text) + self.places(self.order)
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x))

    model = Gpt().to("cuda", torch.bfloat16)
    text = tokens(batch, 2048, 51200)
    return training_step(
        model,
        lambda: functional.cross_entropy(model(text).flatten(0, 1), text.flatten()),
        fused=True,
    )


# model: (batch where the GPU is busy, batch where the host is the limit)
MODELS = {
    "resnet": (resnet, 256, 4),
    "vit": (vit, 128, 2),
    "convnext": (convnext, 128, 2),
    "swin": (swin, 96, 2),
    "bert": (bert, 48, 1),
    "t5": (t5, 64, 1),
    "whisper": (whisper, 24, 1),
    "wav2vec2": (wav2vec2, 32, 1),
    "clip": (clip, 512, 4),
    "dlrm": (dlrm, 16384, 512),
    "lstm": (lstm, 256, 16),
    "dit": (dit, 64, 2),
    "unet": (unet, 32, 1),
    "vlm": (vlm, 12, 1),
    "lora": (lora, 8, 1),
    "mamba": (mamba, 16, 1),
    "gpt": (gpt, 8, 1),
    **CLEAN_MODELS,
    **UNSEEN_MODELS,
    **FRESH_MODELS,
}


def cases(names):
    """NAME: both batches, NAME:BATCH that one."""
    wanted = {}
    for name in names:
        model, _, batch = name.partition(":")
        wanted.setdefault(model, []).extend([int(batch)] if batch else MODELS[model][1:])
    for name, (build, busy, small) in MODELS.items():
        for batch in wanted.get(name, ()) if names else (busy, small):
            yield name, build, batch


def busy_share(step):
    """Time in kernels over the time of the step."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        step()
        torch.cuda.synchronize()
    kernels = sum(e.self_device_time_total for e in seen.key_averages())
    count = sum(e.count for e in seen.key_averages() if e.self_device_time_total > 0)
    return kernels, count


def steps_in_a_row(step, count):
    """Milliseconds from the end of one step to the end of the next, none waited for."""
    import torch

    ends = [torch.cuda.Event(enable_timing=True) for _ in range(count)]
    for end in ends:
        step()
        end.record()
    torch.cuda.synchronize()
    return [one.elapsed_time(two) for one, two in zip(ends, ends[1:])]


def measure_step(step, most_seconds):
    """Times and memory of a step that is built. The host's speed is that between the steps."""
    import torch
    from measure_operators import reference_run

    for _ in range(3):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    waited = []
    row = []
    hosts = []
    for _ in range(5):
        hosts.append(reference_run())
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        waited.append((time.perf_counter() - start) * 1e3)
    begin = time.perf_counter()
    while not row or (len(row) < 40 and time.perf_counter() - begin < most_seconds):
        row.extend(steps_in_a_row(step, 8))
        hosts.append(reference_run())
    allocated = torch.cuda.max_memory_allocated()
    reserved = torch.cuda.max_memory_reserved()
    kernels, count = busy_share(step)
    return [
        f"{statistics.median(waited):.3f}",
        f"{statistics.median(row):.3f}",
        f"{kernels / 1e3:.3f}",
        count,
        allocated,
        reserved,
        f"{statistics.median(hosts):.2f}",
    ]


def measure_one(name, build, batch, most_seconds):
    import gc

    import torch

    gc.collect()
    torch.cuda.empty_cache()
    with torch.device("cuda"):
        step = build(batch)
    return [name, batch, *measure_step(step, most_seconds), left_out(name)]


def left_out(name):
    if name in FRESH_MODELS:
        return "fresh"
    if name in UNSEEN_MODELS:
        return "unseen"
    return "clean" if name in CLEAN_MODELS else "yes" if name in LEFT_OUT else "no"


COLUMNS = (
    "model,batch,step_ms,step_in_a_row_ms,kernels_ms,kernels,peak_allocated,peak_reserved,"
    "host_us,left_out"
)


def measure(names, path, seconds):
    import torch

    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}\n{COLUMNS}\n")
        for name, build, batch in cases(names):
            begin = time.perf_counter()
            try:
                row = measure_one(name, build, batch, seconds)
                out.write(",".join(str(cell) for cell in row) + "\n")
                out.flush()
                shown = [] if name in FRESH_MODELS else row[2:6]
                print(name, batch, *shown, f"{time.perf_counter() - begin:.1f}s", flush=True)
            except Exception as error:  # one model that fails leaves the others
                print(f"{name} {batch}: {type(error).__name__}: {str(error)[:300]}", flush=True)


def capture_all(names, folder):
    import traceback

    from stepcast.capture import capture

    os.makedirs(folder, exist_ok=True)
    for name, build, batch in cases(names):
        begin = time.perf_counter()
        try:
            result = capture(lambda: build(batch))
            result.write(os.path.join(folder, f"{name}-{batch}.json.gz"))
            print(f"{name}-{batch}: {time.perf_counter() - begin:.1f}s {result.summary()}", flush=True)
        except Exception:
            print(f"{name}-{batch}: FAILED\n{traceback.format_exc()[-5000:]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["measure", "capture"])
    parser.add_argument("names", nargs="*", metavar="MODEL")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--seconds", type=float, default=1.5, help="of measuring for each")
    parser.add_argument(
        "--compile", nargs="?", const="default", metavar="MODE", help="as torch.compile's mode"
    )
    options = parser.parse_args()
    if options.compile:
        capture_training.COMPILE = {"mode": options.compile}
    unknown = [name for name in options.names if name.partition(":")[0] not in MODELS]
    if unknown:
        parser.error(f"no model {unknown[0]}; there are {', '.join(MODELS)}")
    if options.what == "measure":
        measure(options.names, options.output, options.seconds)
    else:
        capture_all(options.names, options.output)


if __name__ == "__main__":
    sys.exit(main())
