"""LSTM and GRU as one operation, as cuDNN has them: on the host PyTorch would take
them apart, step by step."""

import typing

import torch


def define():
    if hasattr(torch.ops.stepcast, "recurrent"):
        return

    @torch.library.custom_op("stepcast::recurrent", mutates_args=())
    def recurrent(
        x: torch.Tensor,  # sequences, steps, width
        weights: typing.List[torch.Tensor],
        hidden: int,
        layers: int,
        gates: int,
        bidirectional: bool,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        raise RuntimeError("stepcast::recurrent has no data to run on")

    @recurrent.register_fake
    def _(x, weights, hidden, layers, gates, bidirectional):
        ways = 2 if bidirectional else 1
        out = x.new_empty((*x.shape[:-1], ways * hidden))
        # gates and states of every layer, kept for backward
        kept = x.shape[0] * x.shape[1] * layers * ways * (gates + 2) * hidden
        return out, x.new_empty((kept,))

    @torch.library.custom_op("stepcast::recurrent_backward", mutates_args=())
    def recurrent_backward(
        grad: torch.Tensor,
        x: torch.Tensor,
        out: torch.Tensor,
        kept: torch.Tensor,
        weights: typing.List[torch.Tensor],
        hidden: int,
        layers: int,
        gates: int,
        bidirectional: bool,
    ) -> typing.List[torch.Tensor]:
        raise RuntimeError("stepcast::recurrent_backward has no data to run on")

    @recurrent_backward.register_fake
    def _(grad, x, out, kept, weights, hidden, layers, gates, bidirectional):
        return [torch.empty_like(x), *(torch.empty_like(weight) for weight in weights)]

    def setup_context(ctx, inputs, output):
        x, weights, *ctx.shape = inputs
        out, kept = output
        ctx.save_for_backward(x, out, kept, *weights)

    def backward(ctx, grad, _):
        x, out, kept, *weights = ctx.saved_tensors
        gradients = torch.ops.stepcast.recurrent_backward(
            grad, x, out, kept, weights, *ctx.shape
        )
        return (gradients[0], list(gradients[1:]), None, None, None, None)

    recurrent.register_autograd(backward, setup_context=setup_context)


def _recurrent(gates):
    def run(x, state, weights, has_biases, layers, dropout, training, bidirectional, batch_first):
        del has_biases, dropout, training
        hidden = weights[1].shape[1]
        if not batch_first:
            x = x.transpose(0, 1)
        out, _ = torch.ops.stepcast.recurrent(
            x, list(weights), hidden, layers, gates, bidirectional
        )
        ways = 2 if bidirectional else 1
        last = out.new_empty((ways * layers, x.shape[0], hidden))
        if not batch_first:
            out = out.transpose(0, 1)
        return (out, last, torch.empty_like(last)) if gates == 4 else (out, last)

    return run


class Replaced:
    """While open, nn.LSTM and nn.GRU run our operator. Packed sequences are left alone."""

    def __enter__(self):
        define()
        self._before = torch._VF.lstm, torch._VF.gru
        lstm, gru = self._before
        ours_lstm, ours_gru = _recurrent(4), _recurrent(3)
        torch._VF.lstm = lambda *a: ours_lstm(*a) if isinstance(a[-1], bool) else lstm(*a)
        torch._VF.gru = lambda *a: ours_gru(*a) if isinstance(a[-1], bool) else gru(*a)
        return self

    def __exit__(self, *exception):
        torch._VF.lstm, torch._VF.gru = self._before
