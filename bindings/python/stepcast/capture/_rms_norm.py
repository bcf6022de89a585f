"""RMS norm as one operation, as a GPU has it since torch 2.9: on the host PyTorch would
take it apart."""

import re

import torch
from torch.nn import functional

FUSED_SINCE = (2, 9)

# Our operators stand for these.
STANDS_FOR = {
    "stepcast.rms_norm": "aten._fused_rms_norm",
    "stepcast.rms_norm_backward": "aten._fused_rms_norm_backward",
}


def define():
    if hasattr(torch.ops.stepcast, "rms_norm"):
        return

    @torch.library.custom_op("stepcast::rms_norm", mutates_args=())
    def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        raise RuntimeError("stepcast::rms_norm has no data to run on")

    @rms_norm.register_fake
    def _(x, weight):
        rows = x.shape[: x.dim() - weight.dim()]
        return torch.empty_like(x), x.new_empty((*rows, 1), dtype=torch.float32)

    @torch.library.custom_op("stepcast::rms_norm_backward", mutates_args=())
    def rms_norm_backward(
        grad: torch.Tensor, x: torch.Tensor, scale: torch.Tensor, weight: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        raise RuntimeError("stepcast::rms_norm_backward has no data to run on")

    @rms_norm_backward.register_fake
    def _(grad, x, scale, weight):
        return torch.empty_like(x), torch.empty_like(weight)

    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs, output[1])

    def backward(ctx, grad, _):
        x, weight, scale = ctx.saved_tensors
        return torch.ops.stepcast.rms_norm_backward(grad, x, scale, weight)

    rms_norm.register_autograd(backward, setup_context=setup_context)


def _is_sharded(value):
    return type(value).__name__ == "DTensor"


def _local(x, weight):
    """The parts of this rank; the gradient of a weight is a part of the sum where the
    rows are shared out."""
    from torch.distributed.tensor import Partial, Replicate

    parts = [Partial() if place.is_shard() else Replicate() for place in x.placements]
    if _is_sharded(weight):
        weight = weight.to_local(grad_placements=parts)
    return x.to_local(), weight


def _rms_norm(before):
    def run(input, normalized_shape, weight=None, eps=None):
        if weight is None:
            return before(input, normalized_shape, weight, eps)
        if not _is_sharded(input):
            return torch.ops.stepcast.rms_norm(input, weight)[0]
        from torch.distributed.tensor import DTensor

        x, local = _local(input, weight)
        out = torch.ops.stepcast.rms_norm(x, local)[0]
        return DTensor.from_local(out, input.device_mesh, input.placements, run_check=False)

    return run


class Replaced:
    """While open, rms_norm runs our operator."""

    def __enter__(self):
        version = tuple(int(n) for n in re.findall(r"\d+", torch.__version__)[:2])
        self._before = None
        if version >= FUSED_SINCE:
            define()
            self._before = functional.rms_norm, torch.rms_norm
            functional.rms_norm = _rms_norm(functional.rms_norm)
            torch.rms_norm = _rms_norm(torch.rms_norm)
        return self

    def __exit__(self, *exception):
        if self._before:
            functional.rms_norm, torch.rms_norm = self._before
