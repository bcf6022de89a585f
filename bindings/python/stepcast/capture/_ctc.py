"""The loss of connectionist temporal classification as one operation: which sizes PyTorch's
own has depends on lengths, which may be on the GPU."""

import torch
from torch.nn import functional

# Our operators stand for these.
STANDS_FOR = {
    "stepcast.ctc": "aten._ctc_loss",
    "stepcast.ctc_backward": "aten._ctc_loss_backward",
}


def define():
    if hasattr(torch.ops.stepcast, "ctc"):
        return

    @torch.library.custom_op("stepcast::ctc", mutates_args=())
    def ctc(
        log_probs: torch.Tensor, targets: torch.Tensor, longest: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        raise RuntimeError("stepcast::ctc has no data to run on")

    @ctc.register_fake
    def _(log_probs, targets, longest):
        # what has been said so far: each label, a blank before it and one at the end
        steps, batch, _ = log_probs.shape
        return log_probs.new_empty(batch), log_probs.new_empty((batch, steps, 2 * longest + 1))

    @torch.library.custom_op("stepcast::ctc_backward", mutates_args=())
    def ctc_backward(
        grad: torch.Tensor, log_probs: torch.Tensor, targets: torch.Tensor, alpha: torch.Tensor
    ) -> torch.Tensor:
        raise RuntimeError("stepcast::ctc_backward has no data to run on")

    @ctc_backward.register_fake
    def _(grad, log_probs, targets, alpha):
        return torch.empty_like(log_probs)

    def setup_context(ctx, inputs, output):
        log_probs, targets, _ = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(log_probs, targets, output[1])

    def backward(ctx, grad, _):
        return torch.ops.stepcast.ctc_backward(grad, *ctx.saved_tensors), None, None

    ctc.register_autograd(backward, setup_context=setup_context)


def _longest(targets, target_lengths, batch):
    """Labels of the longest target; where lengths are on the GPU, of the mean one."""
    from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

    if targets.dim() == 2:
        return targets.shape[1]
    if not isinstance(target_lengths, torch.Tensor):
        return max(int(length) for length in target_lengths)
    if not isinstance(target_lengths, FakeTensor):
        with unset_fake_temporarily():
            return int(target_lengths.max())
    return -(-targets.numel() // batch)


def ctc_loss(
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank=0,
    reduction="mean",
    zero_infinity=False,
):
    """In place of torch.nn.functional's function of that name."""
    del input_lengths, blank
    whole = log_probs if log_probs.dim() == 3 else log_probs.unsqueeze(1)
    batch = whole.shape[1]
    longest = _longest(targets, target_lengths, batch)
    loss, _ = torch.ops.stepcast.ctc(whole, targets.to(whole.device), longest)
    if zero_infinity:
        loss = torch.where(loss == float("inf"), 0.0, loss)
    if reduction == "mean":
        return (loss / max(1, longest)).mean()
    if reduction == "sum":
        return loss.sum()
    return loss if log_probs.dim() == 3 else loss.squeeze(0)


class Replaced:
    """While open, the function is ours."""

    def __enter__(self):
        define()
        self._before = functional.ctc_loss
        functional.ctc_loss = ctc_loss
        return self

    def __exit__(self, *exception):
        functional.ctc_loss = self._before
