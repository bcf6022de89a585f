"""Eight models of other architectures, named before they were measured and scored once, after
everything else was fixed: UNSEEN_MODELS."""

from capture_training import image_classifier, images, tokens, training_step


def albert(batch):
    import torch
    from transformers import AlbertConfig, AlbertForMaskedLM

    config = AlbertConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
    )
    model = AlbertForMaskedLM(config).to("cuda", torch.bfloat16).train()
    text = tokens(batch, 384, config.vocab_size)
    return training_step(model, lambda: model(input_ids=text, labels=text).loss)


def gptneox(batch):
    import torch
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    config = GPTNeoXConfig(
        hidden_size=1536,
        num_hidden_layers=16,
        num_attention_heads=16,
        intermediate_size=6144,
        vocab_size=50432,
        max_position_embeddings=2048,
    )
    model = GPTNeoXForCausalLM(config).to("cuda", torch.bfloat16).train()
    text = tokens(batch, 2048, config.vocab_size)
    return training_step(
        model, lambda: model(input_ids=text, labels=text, use_cache=False).loss, fused=True
    )


def vitmae(batch):
    import torch
    from transformers import ViTMAEConfig, ViTMAEForPreTraining

    model = ViTMAEForPreTraining(ViTMAEConfig()).to("cuda", torch.bfloat16).train()
    pictures = images(batch, 224, torch.bfloat16)
    return training_step(model, lambda: model(pictures).loss)


def timesformer(batch):
    import torch
    from transformers import TimesformerConfig, TimesformerModel

    config = TimesformerConfig(num_frames=8)
    model = TimesformerModel(config).to("cuda", torch.bfloat16).train()
    films = torch.randn(batch, 8, 3, 224, 224, device="cuda", dtype=torch.bfloat16)
    return training_step(model, lambda: model(films).last_hidden_state.float().pow(2).mean())


def dpt(batch):
    import torch
    from transformers import DPTConfig, DPTForDepthEstimation

    model = DPTForDepthEstimation(DPTConfig()).to("cuda", torch.bfloat16).train()
    pictures = images(batch, 384, torch.bfloat16)
    return training_step(model, lambda: model(pictures).predicted_depth.float().pow(2).mean())


def mobilevit(batch):
    return image_classifier("mobilevitv2_150", batch, autocast=True, size=256)


def beit(batch):
    return image_classifier("beit_base_patch16_224", batch)


def mixer(batch):
    return image_classifier("mixer_b16_224", batch)


UNSEEN_MODELS = {
    "albert": (albert, 48, 1),
    "gptneox": (gptneox, 8, 1),
    "vitmae": (vitmae, 256, 4),
    "timesformer": (timesformer, 16, 1),
    "dpt": (dpt, 24, 1),
    "mobilevit": (mobilevit, 128, 4),
    "beit": (beit, 128, 2),
    "mixer": (mixer, 192, 4),
}
