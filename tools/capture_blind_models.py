"""Models of kinds that no table had, named and forecast before they were measured: BLIND_MODELS. Those of
LEARNED_FROM were looked at for causes; the others, every second one by the SHA-256 of its name, were not."""

import hashlib

from capture_training import classes, image_classifier, images, tokens, training_step


def learned_from(name):
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


def swinv2(batch):
    return image_classifier("swinv2_base_window8_256", batch, autocast=True, size=256)


def efficientnetv2(batch):
    return image_classifier("tf_efficientnetv2_s", batch, autocast=True, size=300)


def convnextv2(batch):
    return image_classifier("convnextv2_base", batch)


def coatnet(batch):
    return image_classifier("coatnet_1_rw_224", batch, autocast=True)


def dinov2(batch):
    return image_classifier("vit_large_patch14_dinov2", batch, size=518)


def pixels(batch):
    """A U-Net that denoises pictures: convolutions with channels side by side, attention at 16 × 16."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Residual(nn.Module):
        def __init__(self, inside, outside, time):
            super().__init__()
            self.norm1 = nn.GroupNorm(32, inside)
            self.conv1 = nn.Conv2d(inside, outside, 3, padding=1)
            self.time = nn.Linear(time, 2 * outside)
            self.norm2 = nn.GroupNorm(32, outside)
            self.conv2 = nn.Conv2d(outside, outside, 3, padding=1)
            self.skip = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()

        def forward(self, x, time):
            y = self.conv1(functional.silu(self.norm1(x)))
            scale, shift = self.time(time)[:, :, None, None].chunk(2, dim=1)
            y = self.norm2(y) * (1 + scale) + shift
            y = functional.dropout(functional.silu(y), 0.1, self.training)
            return self.skip(x) + self.conv2(y)

    class Attention(nn.Module):
        def __init__(self, size, heads=4):
            super().__init__()
            self.heads = heads
            self.norm = nn.GroupNorm(32, size)
            self.qkv = nn.Conv1d(size, 3 * size, 1)
            self.out = nn.Conv1d(size, size, 1)

        def forward(self, x):
            batch_, size, height, width = x.shape
            qkv = self.qkv(self.norm(x).flatten(2))
            q, k, v = qkv.view(batch_, 3, self.heads, size // self.heads, -1).transpose(3, 4).unbind(1)
            mixed = functional.scaled_dot_product_attention(q, k, v)
            mixed = self.out(mixed.transpose(2, 3).reshape(batch_, size, -1))
            return x + mixed.view(batch_, size, height, width)

    class Denoiser(nn.Module):
        def __init__(self, widths=(128, 256, 384), time=512):
            super().__init__()
            self.time = nn.Sequential(nn.Linear(128, time), nn.SiLU(), nn.Linear(time, time), nn.SiLU())
            self.first = nn.Conv2d(3, widths[0], 3, padding=1)
            self.down, self.up = nn.ModuleList(), nn.ModuleList()
            before = widths[0]
            for width in widths:
                narrow = nn.Conv2d(width, width, 3, stride=2, padding=1)
                self.down.append(
                    nn.ModuleList([Residual(before, width, time), Residual(width, width, time), narrow])
                )
                before = width
            self.middle = nn.ModuleList(
                [Residual(before, before, time), Attention(before), Residual(before, before, time)]
            )
            for width in reversed(widths):
                smooth = nn.Conv2d(before, width, 3, padding=1)
                self.up.append(nn.ModuleList([smooth, Residual(2 * width, width, time)]))
                before = width
            self.head = nn.Conv2d(before, 3, 3, padding=1)

        def forward(self, x, time):
            time = self.time(time)
            x = self.first(x)
            kept = []
            for one, two, narrow in self.down:
                x = two(one(x, time), time)
                kept.append(x)
                x = narrow(x)
            first, mix, last = self.middle
            x = last(mix(first(x, time)), time)
            for smooth, one in self.up:
                x = smooth(functional.interpolate(x, scale_factor=2.0, mode="nearest"))
                x = one(torch.cat([x, kept.pop()], dim=1), time)
            return self.head(x)

    model = Denoiser().to("cuda", memory_format=torch.channels_last)
    picture = images(batch, 128, torch.float32).contiguous(memory_format=torch.channels_last)
    time_ = torch.randn(batch, 128, device="cuda")
    return training_step(model, lambda: functional.mse_loss(model(picture, time_).float(), picture), autocast=True)


def volume(batch):
    """A U-Net over volumes: convolutions of three dimensions, instance norms."""
    import torch
    from torch import nn
    from torch.nn import functional

    def double(inside, outside):
        layers = []
        for first in (inside, outside):
            layers += [
                nn.Conv3d(first, outside, 3, padding=1, bias=False),
                nn.InstanceNorm3d(outside, affine=True),
                nn.LeakyReLU(0.01),
            ]
        return nn.Sequential(*layers)

    class Volume(nn.Module):
        def __init__(self, widths=(32, 64, 128, 256)):
            super().__init__()
            self.down, self.up, self.join = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
            inside = 4
            for width in widths:
                self.down.append(double(inside, width))
                inside = width
            for width in reversed(widths[:-1]):
                self.up.append(nn.ConvTranspose3d(inside, width, 2, 2))
                self.join.append(double(2 * width, width))
                inside = width
            self.head = nn.Conv3d(inside, 4, 1)

        def forward(self, x):
            kept = []
            for layer in self.down[:-1]:
                x = layer(x)
                kept.append(x)
                x = functional.max_pool3d(x, 2)
            x = self.down[-1](x)
            for up, join in zip(self.up, self.join):
                x = join(torch.cat([up(x), kept.pop()], dim=1))
            return self.head(x)

    model = Volume().to("cuda")
    scan = torch.randn(batch, 4, 96, 96, 96, device="cuda")
    labels = torch.randint(0, 4, (batch, 96, 96, 96), device="cuda")
    return training_step(model, lambda: functional.cross_entropy(model(scan).float(), labels), autocast=True)


def videomae(batch):
    import torch
    from torch.nn import functional
    from transformers import VideoMAEConfig, VideoMAEForVideoClassification

    config = VideoMAEConfig(num_labels=400)
    model = VideoMAEForVideoClassification(config).to("cuda", torch.bfloat16).train()
    films = torch.randn(batch, 16, 3, 224, 224, device="cuda", dtype=torch.bfloat16)
    labels = classes(batch, 400)
    return training_step(model, lambda: functional.cross_entropy(model(films).logits.float(), labels))


def hubert(batch):
    """Convolutions over sound with layer norms between, as the large models have."""
    import torch
    from transformers import HubertConfig, HubertModel

    config = HubertConfig(
        hidden_size=1024,
        num_hidden_layers=12,
        num_attention_heads=16,
        intermediate_size=4096,
        feat_extract_norm="layer",
        conv_bias=True,
        do_stable_layer_norm=True,
        mask_time_prob=0.0,
        layerdrop=0.0,
    )
    model = HubertModel(config).to("cuda", torch.bfloat16).train()
    sound = torch.randn(batch, 128000, device="cuda", dtype=torch.bfloat16)
    return training_step(model, lambda: model(sound).last_hidden_state.float().pow(2).mean())


def mt5(batch):
    import torch
    from transformers import MT5Config, MT5ForConditionalGeneration

    config = MT5Config(
        d_model=512, d_kv=64, d_ff=1024, num_layers=8, num_heads=6, vocab_size=250112, decoder_start_token_id=0
    )
    model = MT5ForConditionalGeneration(config).to("cuda", torch.bfloat16).train()
    text = tokens(batch, 512, config.vocab_size)
    answer = tokens(batch, 128, config.vocab_size)
    return training_step(model, lambda: model(input_ids=text, labels=answer).loss)


def nllb(batch):
    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    config = M2M100Config(
        vocab_size=128112,
        d_model=1024,
        encoder_layers=6,
        decoder_layers=6,
        encoder_ffn_dim=4096,
        decoder_ffn_dim=4096,
        encoder_layerdrop=0.0,
        decoder_layerdrop=0.0,
    )
    model = M2M100ForConditionalGeneration(config).to("cuda", torch.bfloat16).train()
    text = tokens(batch, 256, config.vocab_size)
    answer = tokens(batch, 256, config.vocab_size)
    return training_step(model, lambda: model(input_ids=text, labels=answer).loss)


def modernbert(batch):
    """Windows of 128 tokens in two of three layers."""
    import torch
    from transformers import ModernBertConfig, ModernBertForMaskedLM

    config = ModernBertConfig(attn_implementation="sdpa", reference_compile=False)
    model = ModernBertForMaskedLM(config).to("cuda", torch.bfloat16).train()
    text = tokens(batch, 4096, 50000)
    return training_step(model, lambda: model(input_ids=text, labels=text).loss)


def segmenter(batch):
    """SegFormer of other widths on wider pictures, under autocast."""
    import torch
    from torch.nn import functional
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    config = SegformerConfig(
        depths=[2, 2, 2, 2], hidden_sizes=[32, 64, 160, 256], decoder_hidden_size=256, num_labels=19
    )
    model = SegformerForSemanticSegmentation(config).to("cuda").train()
    pictures = torch.randn(batch, 3, 512, 1024, device="cuda")
    labels = torch.randint(0, 19, (batch, 512, 1024), device="cuda")

    def loss():
        logits = model(pictures).logits
        logits = functional.interpolate(logits, size=(512, 1024), mode="bilinear", align_corners=False)
        return functional.cross_entropy(logits.float(), labels)

    return training_step(model, loss, autocast=True)


def graph(batch):
    """Messages along edges, added up at their ends; batch: thousands of nodes."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Layer(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.message = nn.Sequential(nn.Linear(2 * size + 16, size), nn.SiLU(), nn.Linear(size, size))
            self.update = nn.Sequential(nn.Linear(2 * size, size), nn.SiLU(), nn.Linear(size, size))
            self.norm = nn.LayerNorm(size)

        def forward(self, x, edges, features):
            source, target = edges
            message = self.message(torch.cat([x[source], x[target], features], dim=-1))
            gathered = torch.zeros_like(x).index_add_(0, target, message)
            return self.norm(x + self.update(torch.cat([x, gathered], dim=-1)))

    class Graph(nn.Module):
        def __init__(self, size=128, depth=6):
            super().__init__()
            self.first = nn.Linear(32, size)
            self.layers = nn.ModuleList(Layer(size) for _ in range(depth))
            self.head = nn.Linear(size, 16)

        def forward(self, x, edges, features):
            x = self.first(x)
            for layer in self.layers:
                x = layer(x, edges, features)
            return self.head(x)

    nodes = 1000 * batch
    model = Graph().to("cuda")
    x = torch.randn(nodes, 32, device="cuda")
    edges = torch.randint(0, nodes, (2, 12 * nodes), device="cuda")
    features = torch.randn(12 * nodes, 16, device="cuda")
    labels = torch.randint(0, 16, (nodes,), device="cuda")
    return training_step(model, lambda: functional.cross_entropy(model(x, edges, features), labels))


def recurrent(batch):
    """A language model of LSTMs with dropout between them and tied words, in fp32."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Language(nn.Module):
        def __init__(self, vocabulary=33278, hidden=650):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, hidden)
            self.recurrent = nn.LSTM(hidden, hidden, num_layers=2, dropout=0.5)
            self.head = nn.Linear(hidden, vocabulary)
            self.head.weight = self.embedding.weight

        def forward(self, text):
            hidden, _ = self.recurrent(functional.dropout(self.embedding(text), 0.5))
            return self.head(functional.dropout(hidden, 0.5))

    model = Language().to("cuda")
    text = tokens(128, batch, 33278)
    return training_step(
        model, lambda: functional.cross_entropy(model(text).flatten(0, 1), text.flatten())
    )


def points(batch):
    """A cloud of points: each looks at its 20 nearest, found by distance."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Edge(nn.Module):
        def __init__(self, inside, outside):
            super().__init__()
            self.layer = nn.Sequential(
                nn.Conv2d(2 * inside, outside, 1, bias=False), nn.BatchNorm2d(outside), nn.LeakyReLU(0.2)
            )

        def forward(self, x):
            batch_, size, count = x.shape
            inner = torch.bmm(x.transpose(1, 2), x)
            square = x.pow(2).sum(1, keepdim=True)
            near = (2 * inner - square - square.transpose(1, 2)).topk(20, dim=-1).indices
            flat = x.transpose(1, 2).reshape(batch_ * count, size)
            offset = torch.arange(batch_, device=x.device).view(-1, 1, 1) * count
            other = flat[(near + offset).flatten()].view(batch_, count, 20, size)
            own = x.transpose(1, 2).unsqueeze(2).expand(-1, -1, 20, -1)
            joined = torch.cat([other - own, own], dim=-1).permute(0, 3, 1, 2)
            return self.layer(joined).amax(-1)

    class Points(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([Edge(3, 64), Edge(64, 64), Edge(64, 128), Edge(128, 256)])
            self.wide = nn.Conv1d(512, 1024, 1)
            self.head = nn.Sequential(nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 40))

        def forward(self, x):
            kept = []
            for layer in self.layers:
                x = layer(x)
                kept.append(x)
            return self.head(self.wide(torch.cat(kept, dim=1)).amax(-1))

    model = Points().to("cuda")
    cloud = torch.randn(batch, 3, 1024, device="cuda")
    labels = classes(batch, 40)
    return training_step(model, lambda: functional.cross_entropy(model(cloud), labels))


def sam(batch):
    """Windows of 14 × 14 and relative positions that are added to scores."""
    import torch
    from transformers import SamVisionConfig, SamVisionModel

    config = SamVisionConfig(
        hidden_size=768, num_hidden_layers=8, num_attention_heads=12, image_size=1024, global_attn_indexes=[3, 7]
    )
    model = SamVisionModel(config).to("cuda", torch.bfloat16).train()
    pictures = images(batch, 1024, torch.bfloat16)
    return training_step(model, lambda: model(pictures).last_hidden_state.float().pow(2).mean())


# model: (batch where the GPU is busy, batch where the host is the limit)
BLIND_MODELS = {
    "swinv2": (swinv2, 96, 2),
    "efficientnetv2": (efficientnetv2, 96, 4),
    "convnextv2": (convnextv2, 128, 2),
    "coatnet": (coatnet, 128, 2),
    "dinov2": (dinov2, 16, 1),
    "pixels": (pixels, 32, 1),
    "volume": (volume, 4, 1),
    "videomae": (videomae, 24, 1),
    "hubert": (hubert, 32, 1),
    "mt5": (mt5, 64, 1),
    "nllb": (nllb, 96, 1),
    "modernbert": (modernbert, 8, 1),
    "segmenter": (segmenter, 16, 1),
    "graph": (graph, 100, 2),
    "recurrent": (recurrent, 256, 16),
    "points": (points, 64, 4),
    "sam": (sam, 4, 1),
}
