"""Ten models of yet other architectures, named after all others had been looked at and before
the last constants were fitted; measured and scored once, with the code as it is: FRESH_MODELS."""

from capture_training import image_classifier, images, tokens, training_step


def qwen2(batch):
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        hidden_size=1792,
        intermediate_size=4864,
        num_hidden_layers=14,
        num_attention_heads=14,
        num_key_value_heads=2,
        vocab_size=64000,
        tie_word_embeddings=True,
    )
    model = Qwen2ForCausalLM(config).to("cuda", torch.bfloat16).train()
    text = tokens(batch, 1536, config.vocab_size)
    return training_step(
        model, lambda: model(input_ids=text, labels=text, use_cache=False).loss, fused=True
    )


def electra(batch):
    import torch
    from transformers import ElectraConfig, ElectraForMaskedLM

    config = ElectraConfig(
        embedding_size=768,
        hidden_size=768,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=3072,
    )
    model = ElectraForMaskedLM(config).to("cuda", torch.bfloat16).train()
    text = tokens(batch, 256, config.vocab_size)
    return training_step(model, lambda: model(input_ids=text, labels=text).loss)


def pegasus(batch):
    import torch
    from transformers import PegasusConfig, PegasusForConditionalGeneration

    config = PegasusConfig(
        d_model=896,
        encoder_layers=8,
        decoder_layers=8,
        encoder_attention_heads=14,
        decoder_attention_heads=14,
        encoder_ffn_dim=3584,
        decoder_ffn_dim=3584,
        vocab_size=48000,
    )
    model = PegasusForConditionalGeneration(config).to("cuda", torch.bfloat16).train()
    text = tokens(batch, 768, config.vocab_size)
    answer = tokens(batch, 192, config.vocab_size)
    return training_step(model, lambda: model(input_ids=text, labels=answer).loss)


def siglip(batch):
    import torch
    from transformers import SiglipConfig, SiglipModel

    model = SiglipModel(SiglipConfig()).to("cuda", torch.bfloat16).train()
    pictures = images(batch, 224, torch.bfloat16)
    text = tokens(batch, 64, 32000)
    return training_step(
        model, lambda: model(input_ids=text, pixel_values=pictures, return_loss=True).loss
    )


def ast(batch):
    """Patches of a spectrogram that overlap."""
    import torch
    from torch.nn import functional
    from transformers import ASTConfig, ASTForAudioClassification

    config = ASTConfig(max_length=512, num_labels=527)
    model = ASTForAudioClassification(config).to("cuda", torch.bfloat16).train()
    sound = torch.randn(batch, 512, 128, device="cuda", dtype=torch.bfloat16)
    labels = torch.rand(batch, 527, device="cuda")
    return training_step(
        model,
        lambda: functional.binary_cross_entropy_with_logits(model(sound).logits.float(), labels),
    )


def maxvit(batch):
    return image_classifier("maxvit_tiny_tf_224", batch, autocast=True)


def densenet(batch):
    return image_classifier("densenet121", batch, autocast=True)


def pvt(batch):
    return image_classifier("pvt_v2_b3", batch)


def resnext(batch):
    return image_classifier("resnext50_32x4d", batch, autocast=True)


def latent(batch):
    """A U-Net of residual blocks with attention to words, as it denoises latent pictures."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Residual(nn.Module):
        def __init__(self, inside, outside, time):
            super().__init__()
            self.norm1 = nn.GroupNorm(32, inside)
            self.conv1 = nn.Conv2d(inside, outside, 3, padding=1)
            self.time = nn.Linear(time, outside)
            self.norm2 = nn.GroupNorm(32, outside)
            self.conv2 = nn.Conv2d(outside, outside, 3, padding=1)
            self.skip = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()

        def forward(self, x, time):
            y = self.conv1(functional.silu(self.norm1(x)))
            y = y + self.time(functional.silu(time))[:, :, None, None]
            return self.skip(x) + self.conv2(functional.silu(self.norm2(y)))

    class Attend(nn.Module):
        def __init__(self, size, heads, context):
            super().__init__()
            self.heads = heads
            self.query = nn.Linear(size, size, bias=False)
            self.both = nn.Linear(context, 2 * size, bias=False)
            self.out = nn.Linear(size, size)

        def forward(self, x, context):
            split = lambda t: t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            key, value = self.both(context).chunk(2, dim=-1)
            mixed = functional.scaled_dot_product_attention(
                split(self.query(x)), split(key), split(value)
            )
            return self.out(mixed.transpose(1, 2).flatten(2))

    class Mix(nn.Module):
        def __init__(self, size, context):
            super().__init__()
            self.norm = nn.GroupNorm(32, size)
            self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))
            self.own = Attend(size, size // 64, size)
            self.words = Attend(size, size // 64, context)
            self.wide = nn.Linear(size, 8 * size)
            self.narrow = nn.Linear(4 * size, size)

        def forward(self, x, context):
            y = self.norm(x).flatten(2).transpose(1, 2)
            normed = self.norms[0](y)
            y = y + self.own(normed, normed)
            y = y + self.words(self.norms[1](y), context)
            value, gate = self.wide(self.norms[2](y)).chunk(2, dim=-1)
            y = y + self.narrow(value * functional.gelu(gate))
            return x + y.transpose(1, 2).unflatten(2, x.shape[2:])

    class Denoiser(nn.Module):
        def __init__(self, widths=(256, 512, 768), context=640):
            super().__init__()
            time = 4 * widths[0]
            self.time = nn.Sequential(nn.Linear(256, time), nn.SiLU(), nn.Linear(time, time))
            self.first = nn.Conv2d(4, widths[0], 3, padding=1)
            self.down = nn.ModuleList()
            self.up = nn.ModuleList()
            before = widths[0]
            for width in widths:
                self.down.append(
                    nn.ModuleList(
                        [
                            Residual(before, width, time),
                            Mix(width, context),
                            Residual(width, width, time),
                            nn.Conv2d(width, width, 3, stride=2, padding=1),
                        ]
                    )
                )
                before = width
            self.middle = Residual(before, before, time)
            for width in reversed(widths):
                self.up.append(
                    nn.ModuleList(
                        [
                            Residual(before + width, width, time),
                            Mix(width, context),
                            nn.Conv2d(width, width, 3, padding=1),
                        ]
                    )
                )
                before = width
            self.norm = nn.GroupNorm(32, before)
            self.head = nn.Conv2d(before, 4, 3, padding=1)

        def forward(self, x, time, words):
            time = self.time(time)
            x = self.first(x)
            kept = []
            for one, mix, two, narrow in self.down:
                x = two(mix(one(x, time), words), time)
                kept.append(x)
                x = narrow(x)
            x = self.middle(x, time)
            for one, mix, smooth in self.up:
                x = functional.interpolate(x, scale_factor=2.0, mode="nearest")
                x = smooth(mix(one(torch.cat([x, kept.pop()], dim=1), time), words))
            return self.head(functional.silu(self.norm(x)))

    model = Denoiser().to("cuda", torch.bfloat16)
    picture = torch.randn(batch, 4, 64, 64, device="cuda", dtype=torch.bfloat16)
    time_ = torch.randn(batch, 256, device="cuda", dtype=torch.bfloat16)
    words = torch.randn(batch, 77, 640, device="cuda", dtype=torch.bfloat16)
    return training_step(model, lambda: model(picture, time_, words).float().pow(2).mean())


FRESH_MODELS = {
    "qwen2": (qwen2, 12, 1),
    "electra": (electra, 96, 2),
    "pegasus": (pegasus, 48, 1),
    "siglip": (siglip, 384, 4),
    "ast": (ast, 64, 1),
    "maxvit": (maxvit, 96, 2),
    "densenet": (densenet, 192, 4),
    "pvt": (pvt, 128, 2),
    "resnext": (resnext, 256, 4),
    "latent": (latent, 32, 1),
}
