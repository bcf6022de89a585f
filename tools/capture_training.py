"""What the builders of capture_models.py and its neighbours share."""

COMPILE = None  # arguments of torch.compile, where models are compiled


def training_step(model, loss, fused=False, autocast=False, lr=1e-4):
    """One step: forward, backward, AdamW, gradients dropped."""
    import torch

    if COMPILE is not None:
        model.compile(**COMPILE)
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=lr, fused=fused or None)

    def step():
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            value = loss()
        value.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def images(batch, size, dtype):
    import torch

    return torch.randn(batch, 3, size, size, device="cuda", dtype=dtype)


def classes(batch, count):
    import torch

    return torch.randint(0, count, (batch,), device="cuda")


def tokens(batch, length, vocabulary):
    import torch

    return torch.randint(0, vocabulary, (batch, length), device="cuda")


def image_classifier(name, batch, autocast=False, size=224):
    import timm
    import torch
    from torch.nn import functional

    model = timm.create_model(name, pretrained=False, num_classes=1000)
    dtype = torch.float32 if autocast else torch.bfloat16
    model = model.to("cuda", dtype).train()
    pictures = images(batch, size, dtype)
    labels = classes(batch, 1000)
    return training_step(
        model, lambda: functional.cross_entropy(model(pictures), labels), autocast=autocast
    )
