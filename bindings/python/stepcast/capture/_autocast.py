"""Autocast as a GPU has it. Its tensors lie on the host here, where autocast runs other
functions in fp32 (ATen's autocast_mode has both lists)."""

import torch
from torch.overrides import TorchFunctionMode

NARROW = (torch.bfloat16, torch.float16)

# a GPU runs them in fp32 (of interpolate all ways but "area", which is a pool)
IN_FP32 = frozenset(
    """acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow __pow__
    __rpow__ softplus layer_norm native_layer_norm group_norm cosine_similarity nll_loss kl_div l1_loss
    smooth_l1_loss huber_loss mse_loss binary_cross_entropy_with_logits poisson_nll_loss dist pdist
    cdist renorm logsumexp softmax log_softmax interpolate
    upsample_nearest1d _upsample_nearest_exact1d upsample_nearest2d _upsample_nearest_exact2d
    upsample_nearest3d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d
    _upsample_bilinear2d_aa upsample_trilinear3d upsample_bicubic2d _upsample_bicubic2d_aa""".split()
)

# their result is fp32, where no type is asked for
INTO_FP32 = frozenset("sum prod cumsum cumprod linalg_vector_norm vector_norm norm".split())

# the host runs them in fp32, a GPU as they come
AS_THEY_COME = frozenset(
    """avg_pool3d max_pool3d max_pool3d_with_indices adaptive_avg_pool3d adaptive_max_pool3d
    reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d
    pad grid_sample grid_sampler cross_entropy cross_entropy_loss polar view_as_complex""".split()
)


def _wide(value):
    if isinstance(value, torch.Tensor) and value.dtype in NARROW:
        return value.float()
    return value


class AsOnGpu(TorchFunctionMode):
    """Functions under autocast have the types that they have on a GPU."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name not in IN_FP32 | INTO_FP32 | AS_THEY_COME or not torch.is_autocast_enabled("cpu"):
            return func(*args, **kwargs)
        narrow = any(isinstance(value, torch.Tensor) and value.dtype in NARROW for value in args)
        if name in INTO_FP32:
            if narrow and kwargs.get("dtype") is None:
                kwargs = {**kwargs, "dtype": torch.float32}
        elif name in IN_FP32 and kwargs.get("mode") != "area":
            args = tuple(_wide(value) for value in args)
            kwargs = {key: _wide(value) for key, value in kwargs.items()}
        with torch.autocast("cpu", enabled=False):
            return func(*args, **kwargs)
