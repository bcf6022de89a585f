"""Capture: one training step of any PyTorch program, without a GPU.

    import stepcast.capture as capture

    def build():
        model = Net().to("cuda", torch.bfloat16)
        optimizer = torch.optim.AdamW(model.parameters())
        batch = torch.randn(64, 3, 224, 224, device="cuda", dtype=torch.bfloat16)

        def step():
            model(batch).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

        return step

    capture.capture(build, world_size=8).write("net.capture.json")

A whole script:  python -m stepcast.capture --world 1024 train.py -- --its --arguments

Tensors are fake (shapes and types, no data) and process groups too, so a laptop
captures what a thousand GPUs would run. The file holds every operation with its
shapes, module, phase, stream and storages; `stepcast run FILE --cluster …`
forecasts it. docs/capture.md says what is recorded and what is assumed.
"""

from ._document import Capture
from ._session import CaptureError, capture, captured, script

__all__ = ["Capture", "CaptureError", "capture", "captured", "script"]
