"""Eight more models, named after the others were scored and before anything was fitted
again. They took no part in any fit and were scored once: LEFT_OUT_CLEAN."""

from capture_training import image_classifier, tokens, training_step


def efficientnet(batch):
    return image_classifier("efficientnet_b3", batch, autocast=True)


def regnet(batch):
    return image_classifier("regnety_032", batch, autocast=True)


def segformer(batch):
    import torch
    from torch.nn import functional
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    config = SegformerConfig(
        depths=[3, 4, 6, 3], hidden_sizes=[64, 128, 320, 512], decoder_hidden_size=768
    )
    model = SegformerForSemanticSegmentation(config).to("cuda", torch.bfloat16).train()
    pictures = torch.randn(batch, 3, 512, 512, device="cuda", dtype=torch.bfloat16)
    labels = torch.randint(0, config.num_labels, (batch, 128, 128), device="cuda")
    return training_step(
        model, lambda: functional.cross_entropy(model(pictures).logits.float(), labels)
    )


def deberta(batch):
    import torch
    from transformers import DebertaV2Config, DebertaV2ForMaskedLM

    config = DebertaV2Config(
        vocab_size=32000,
        hidden_size=768,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=3072,
        relative_attention=True,
        position_buckets=256,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
    )
    model = DebertaV2ForMaskedLM(config).to("cuda", torch.bfloat16).train()
    text = tokens(batch, 512, 32000)
    return training_step(model, lambda: model(input_ids=text, labels=text).loss)


def gpt2(batch):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_embd=1024, n_layer=24, n_head=16)
    model = GPT2LMHeadModel(config).to("cuda", torch.bfloat16).train()
    text = tokens(batch, 1024, config.vocab_size)
    return training_step(model, lambda: model(input_ids=text, labels=text).loss, fused=True)


def detr(batch):
    """A ResNet-50 and an encoder and decoder over its places."""
    import timm
    import torch
    from torch import nn

    class Detector(nn.Module):
        def __init__(self, size=256, queries=100):
            super().__init__()
            self.backbone = timm.create_model("resnet50", pretrained=False, features_only=True)
            self.project = nn.Conv2d(2048, size, 1)
            self.transformer = nn.Transformer(size, 8, 6, 6, 2048, batch_first=True)
            self.rows = nn.Parameter(torch.rand(50, size // 2))
            self.columns = nn.Parameter(torch.rand(50, size // 2))
            self.queries = nn.Parameter(torch.rand(queries, size))
            self.classes = nn.Linear(size, 92)
            self.boxes = nn.Linear(size, 4)

        def forward(self, pictures):
            seen = self.project(self.backbone(pictures)[-1])
            height, width = seen.shape[-2:]
            where = torch.cat(
                [
                    self.columns[:width].unsqueeze(0).repeat(height, 1, 1),
                    self.rows[:height].unsqueeze(1).repeat(1, width, 1),
                ],
                dim=-1,
            ).flatten(0, 1)
            encoded = seen.flatten(2).transpose(1, 2) + where
            asked = self.queries.unsqueeze(0).repeat(len(pictures), 1, 1)
            found = self.transformer(encoded, asked)
            return self.classes(found), self.boxes(found).sigmoid()

    model = Detector().to("cuda", torch.bfloat16).train()
    pictures = torch.randn(batch, 3, 640, 800, device="cuda", dtype=torch.bfloat16)

    def loss():
        kinds, boxes = model(pictures)
        return kinds.float().pow(2).mean() + boxes.float().abs().mean()

    return training_step(model, loss)


def bart(batch):
    import torch
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(
        d_model=768,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=12,
        decoder_attention_heads=12,
        encoder_ffn_dim=3072,
        decoder_ffn_dim=3072,
        vocab_size=32000,
    )
    model = BartForConditionalGeneration(config).to("cuda", torch.bfloat16).train()
    text = tokens(batch, 1024, 32000)
    answer = tokens(batch, 256, 32000)
    return training_step(model, lambda: model(input_ids=text, labels=answer).loss)


def conformer(batch):
    """Attention beside depthwise convolutions over time."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Half(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.layers = nn.Sequential(
                nn.LayerNorm(size),
                nn.Linear(size, 4 * size),
                nn.SiLU(),
                nn.Dropout(0.1),
                nn.Linear(4 * size, size),
                nn.Dropout(0.1),
            )

        def forward(self, x):
            return x + 0.5 * self.layers(x)

    class Layer(nn.Module):
        def __init__(self, size, heads, taps=31):
            super().__init__()
            self.before = Half(size)
            self.norm = nn.LayerNorm(size)
            self.attention = nn.MultiheadAttention(size, heads, batch_first=True)
            self.norm2 = nn.LayerNorm(size)
            self.into = nn.Conv1d(size, 2 * size, 1)
            self.depth = nn.Conv1d(size, size, taps, padding=taps // 2, groups=size)
            self.batch_norm = nn.BatchNorm1d(size)
            self.out = nn.Conv1d(size, size, 1)
            self.after = Half(size)
            self.last = nn.LayerNorm(size)

        def forward(self, x):
            x = self.before(x)
            normed = self.norm(x)
            x = x + self.attention(normed, normed, normed, need_weights=False)[0]
            y = functional.glu(self.into(self.norm2(x).transpose(1, 2)), dim=1)
            y = self.out(functional.silu(self.batch_norm(self.depth(y))))
            return self.last(self.after(x + y.transpose(1, 2)))

    class Speech(nn.Module):
        def __init__(self, size=512, heads=8, depth=16, labels=1024):
            super().__init__()
            self.first = nn.Conv2d(1, size // 4, 3, 2, padding=1)
            self.second = nn.Conv2d(size // 4, size // 4, 3, 2, padding=1)
            self.project = nn.Linear(size // 4 * 20, size)
            self.layers = nn.ModuleList(Layer(size, heads) for _ in range(depth))
            self.head = nn.Linear(size, labels)

        def forward(self, sound):
            x = functional.relu(self.second(functional.relu(self.first(sound.unsqueeze(1)))))
            x = self.project(x.permute(0, 3, 1, 2).flatten(2))
            for layer in self.layers:
                x = layer(x)
            return self.head(x)

    model = Speech().to("cuda", torch.bfloat16).train()
    sound = torch.randn(batch, 80, 1600, device="cuda", dtype=torch.bfloat16)
    labels = torch.randint(0, 1024, (batch, 400), device="cuda")
    return training_step(
        model,
        lambda: functional.cross_entropy(model(sound).flatten(0, 1).float(), labels.flatten()),
    )


CLEAN_MODELS = {
    "efficientnet": (efficientnet, 128, 4),
    "regnet": (regnet, 192, 4),
    "segformer": (segformer, 24, 1),
    "deberta": (deberta, 32, 1),
    "gpt2": (gpt2, 24, 1),
    "detr": (detr, 24, 1),
    "bart": (bart, 32, 1),
    "conformer": (conformer, 48, 1),
}
