"""Attention as one operation of its own, and dropout as a GPU has it.

Which kernel PyTorch takes for scaled_dot_product_attention depends on the GPU,
which is not there. So the function is replaced by an operator that stands for
a flash kernel, forward and backward; what it saves for backward is what flash
saves: q, k, v, the output and one fp32 number per query and head.
"""

import torch
from torch.nn import functional


# Our operators stand for these.
STANDS_FOR = {"stepcast.attention_masked_backward": "stepcast.attention_backward"}


def define():
    """The operators, once."""
    if hasattr(torch.ops.stepcast, "attention"):
        return

    @torch.library.custom_op("stepcast::attention", mutates_args=())
    def attention(
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        mask: torch.Tensor | None,
        causal: bool,
        dropout: float,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        raise RuntimeError("stepcast::attention has no data to run on")

    @attention.register_fake
    def _(q, k, v, mask, causal, dropout):
        # a kernel writes [batch, query, head, size], seen as [batch, head, query, size]
        batch, heads, queries, _ = q.shape
        out = q.new_empty((batch, queries, heads, v.shape[-1])).transpose(1, 2)
        return out, q.new_empty((batch, heads, queries), dtype=torch.float32)

    @torch.library.custom_op("stepcast::attention_backward", mutates_args=())
    def attention_backward(
        grad: torch.Tensor,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        out: torch.Tensor,
        sums: torch.Tensor,
        mask: torch.Tensor | None,
        causal: bool,
        dropout: float,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        raise RuntimeError("stepcast::attention_backward has no data to run on")

    @attention_backward.register_fake
    def _(grad, q, k, v, out, sums, mask, causal, dropout):
        return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)

    @torch.library.custom_op("stepcast::attention_masked_backward", mutates_args=())
    def attention_masked_backward(
        grad: torch.Tensor,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        out: torch.Tensor,
        sums: torch.Tensor,
        mask: torch.Tensor,
        causal: bool,
        dropout: float,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        raise RuntimeError("stepcast::attention_masked_backward has no data to run on")

    @attention_masked_backward.register_fake
    def _(grad, q, k, v, out, sums, mask, causal, dropout):
        of_mask = mask.new_empty((*q.shape[:3], k.shape[2]))
        return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), of_mask

    def setup_context(ctx, inputs, output):
        q, k, v, mask, causal, dropout = inputs
        out, sums = output
        ctx.set_materialize_grads(False)  # nobody writes zeros for the sums
        ctx.save_for_backward(q, k, v, mask, out, sums)
        ctx.causal = causal
        ctx.dropout = dropout

    def backward(ctx, grad, _):
        q, k, v, mask, out, sums = ctx.saved_tensors
        if mask is not None and ctx.needs_input_grad[3]:
            *gradients, of_mask = torch.ops.stepcast.attention_masked_backward(
                grad, q, k, v, out, sums, mask, ctx.causal, ctx.dropout
            )
            return (*gradients, of_mask.sum_to_size(mask.shape), None, None)
        gradients = torch.ops.stepcast.attention_backward(
            grad, q, k, v, out, sums, mask, ctx.causal, ctx.dropout
        )
        return (*gradients, None, None, None)

    attention.register_autograd(backward, setup_context=setup_context)


def _as_four(tensor, lead):
    """[…, heads, rows, size] with all leading dimensions but the last as one batch."""
    return tensor.reshape((-1, *tensor.shape[-3:])) if lead != 2 else tensor


def _by_products(query, key, value, mask, dropout_p, scale):
    """What PyTorch runs on a GPU without a fused kernel: products in fp32."""
    kind = query.dtype
    root = (scale if scale is not None else query.shape[-1] ** -0.5) ** 0.5
    query, key, value = query.float() * root, key.float(), value.float()
    scores = torch.matmul(query, key.transpose(-2, -1) * root)
    weights = torch.ops.aten._safe_softmax(scores + mask, -1)
    if dropout_p > 0:
        weights = _dropout(weights, dropout_p)
    return torch.matmul(weights, value).to(kind)


def _added(mask, kind):
    """What kernels add to scores: PyTorch turns each mask of yes and no into it, and keeps it."""
    seen = torch.zeros((), dtype=kind, device=mask.device)
    hidden = torch.full((), -torch.inf, dtype=kind, device=mask.device)
    return torch.where(mask, seen, hidden)


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """In place of torch.nn.functional's function of that name."""
    learned = attn_mask is not None and attn_mask.requires_grad
    if learned and dropout_p > 0 and not enable_gqa:
        # no fused kernel gives the gradient of a mask and drops weights, too
        return _by_products(query, key, value, attn_mask, dropout_p, scale)
    sharded = type(query).__name__ == "DTensor"
    if sharded:
        mesh, placements = query.device_mesh, query.placements
        query, key, value = query.to_local(), key.to_local(), value.to_local()
    lead = query.dim() - 2
    shape = query.shape
    if lead == 1:
        query, key, value = (t.unsqueeze(1) for t in (query, key, value))
    elif lead > 2:
        query, key, value = (_as_four(t, lead) for t in (query, key, value))
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = _added(attn_mask, query.dtype)
    out, _ = torch.ops.stepcast.attention(
        query, key, value, attn_mask, bool(is_causal), float(dropout_p)
    )
    if lead != 2:
        out = out.reshape((*shape[:-1], value.shape[-1]))
    if sharded:
        from torch.distributed.tensor import DTensor

        out = DTensor.from_local(out, mesh, placements, run_check=False)
    return out


def _dropout(input, p=0.5, training=True, inplace=False):
    """A GPU has one kernel for it; the host would take three."""
    del inplace
    if not training or p == 0:
        return input
    return torch.native_dropout(input, p, True)[0]


class Replaced:
    """While open, the function is ours."""

    def __enter__(self):
        define()
        self._before = functional.scaled_dot_product_attention, functional.dropout, torch.dropout
        functional.scaled_dot_product_attention = scaled_dot_product_attention
        functional.dropout = _dropout
        torch.dropout = lambda x, p, train: _dropout(x, p, train)
        return self

    def __exit__(self, *exception):
        (
            functional.scaled_dot_product_attention,
            functional.dropout,
            torch.dropout,
        ) = self._before
