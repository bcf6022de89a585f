"""Operators of PyTorch by kind, forward and backward, over grids of shapes that no model of
capture_models.py has: KINDS, for measure_operators.py."""

import torch
from torch import nn
from torch.nn import functional



def tensor(*shape, dtype=torch.bfloat16, grad=True):
    return torch.randn(*shape, device="cuda", dtype=dtype).requires_grad_(grad)


def run_back(function, *inputs):
    """Forward and backward of function(*inputs)."""
    for value in inputs:
        value.grad = None
    out = function(*inputs)
    out.backward(torch.randn_like(out))


def module_case(module, *shape, dtype=torch.bfloat16, last=False, grad=True):
    def build():
        net = module().to("cuda", dtype)
        x = tensor(*shape, dtype=dtype, grad=False)
        if last and x.dim() == 4:
            x = x.contiguous(memory_format=torch.channels_last)
            net = net.to(memory_format=torch.channels_last)
        x.requires_grad_(grad)
        return lambda: run_back(net, x)

    return build


def function_case(function, *shapes, dtype=torch.bfloat16):
    def build():
        inputs = [tensor(*shape, dtype=dtype) for shape in shapes]
        return lambda: run_back(function, *inputs)

    return build


def conv1d_cases():
    for batch, length, c_in, c_out, taps, stride, groups in (
        (32, 64000, 1, 384, 10, 5, 1),
        (16, 100000, 1, 256, 8, 4, 1),
        (32, 12800, 384, 384, 3, 2, 1),
        (32, 6400, 384, 384, 3, 2, 1),
        (32, 1600, 384, 384, 2, 2, 1),
        (16, 24000, 256, 256, 5, 2, 1),
        (16, 2000, 64, 640, 3, 1, 1),
        (16, 2000, 640, 640, 3, 2, 1),
        (16, 4096, 128, 512, 1, 1, 1),
        (24, 400, 640, 640, 64, 1, 16),
        (24, 400, 1024, 1024, 128, 1, 16),
        (24, 400, 512, 512, 31, 1, 8),
        (8, 400, 640, 640, 96, 1, 16),
        (16, 1500, 512, 512, 15, 1, 512),
        (16, 2048, 1536, 1536, 4, 1, 1536),
        (8, 2048, 3072, 3072, 4, 1, 3072),
        (32, 500, 256, 256, 31, 1, 256),
    ):
        pad = taps // 2 if stride == 1 else 0
        yield module_case(
            lambda a=(c_in, c_out, taps, stride, pad, 1, groups): nn.Conv1d(*a, bias=True),
            batch, c_in, length, grad=c_in > 1,
        )
        if groups == 1 and c_in > 1:
            yield module_case(
                lambda a=(c_in, c_out, taps, stride, pad, 1, groups): nn.Conv1d(*a, bias=False),
                batch, c_in, length, dtype=torch.float16,
            )


def conv2d_cases():
    shapes = []
    for size, channels in ((56, 96), (28, 192), (14, 384), (7, 768), (112, 48), (28, 240), (14, 672)):
        for taps in (3, 5, 7):
            shapes.append((64, size, channels, channels, taps, 1, channels))
        shapes.append((64, size, channels, channels, 3, 2, channels))
    for size, channels, per in ((56, 128, 4), (56, 144, 24), (28, 256, 8), (28, 320, 40), (14, 512, 16),
                                (14, 784, 56), (7, 1024, 32), (7, 1232, 112)):
        shapes.append((64, size, channels, channels, 3, 1, channels // per))
        shapes.append((64, 2 * size, channels, channels, 3, 2, channels // per))
    for size, c_in, c_out, taps, stride in (
        (224, 3, 40, 3, 2), (224, 3, 32, 7, 4), (224, 3, 768, 16, 16), (192, 3, 96, 4, 4), (384, 3, 48, 7, 4),
        (56, 64, 128, 3, 2), (64, 64, 64, 8, 8), (32, 160, 160, 2, 2), (28, 80, 480, 1, 1), (14, 480, 112, 1, 1),
        (7, 672, 192, 1, 1), (56, 24, 144, 1, 1), (20, 512, 512, 3, 1), (40, 256, 256, 3, 1), (80, 128, 128, 3, 1),
        (96, 96, 192, 2, 2), (25, 1024, 256, 1, 1),
    ):
        shapes.append((64, size, c_in, c_out, taps, stride, 1))
    for batch, size, c_in, c_out, taps, stride, groups in shapes:
        pad = taps // 2 if stride < taps else 0
        make = lambda a=(c_in, c_out, taps, stride, pad, 1, groups): nn.Conv2d(*a, bias=False)
        for last in (False, True):
            yield module_case(make, batch, c_in, size, size, last=last, grad=c_in > 3)
    for batch, size, c_in, c_out, taps, stride, groups in shapes[::5]:
        pad = taps // 2 if stride < taps else 0
        make = lambda a=(c_in, c_out, taps, stride, pad, 1, groups): nn.Conv2d(*a, bias=True)
        yield module_case(make, batch // 8, c_in, size, size, grad=c_in > 3)
        yield module_case(make, batch, c_in, size, size, grad=c_in > 3, dtype=torch.float32)


def norm_cases():
    for dtype in (torch.bfloat16, torch.float32):
        for rows, columns in ((65536, 256), (32768, 640), (100352, 128), (8192, 2560), (200704, 96),
                              (2048, 1280), (4096, 4096), (16384, 1152), (400, 512)):
            yield module_case(lambda c=columns: nn.LayerNorm(c), rows, columns, dtype=dtype)
            yield module_case(
                lambda c=columns: nn.LayerNorm(c, elementwise_affine=False), rows, columns, dtype=dtype
            )
            yield module_case(lambda c=columns: nn.RMSNorm(c), rows, columns, dtype=dtype)
        for batch, channels, size, groups in ((32, 96, 64, 8), (16, 256, 32, 32), (8, 512, 128, 32),
                                              (64, 128, 16, 32), (32, 320, 40, 32), (2, 64, 32, 8)):
            yield module_case(lambda g=groups, c=channels: nn.GroupNorm(g, c), batch, channels, size, size, dtype=dtype)
        yield module_case(lambda: nn.GroupNorm(384, 384), 32, 384, 12800, dtype=dtype)
        yield module_case(lambda: nn.GroupNorm(1, 256), 16, 256, 4000, dtype=dtype)
        for batch, channels, size in ((64, 48, 112), (64, 96, 56), (128, 240, 28), (128, 480, 14), (128, 1152, 7),
                                      (4, 96, 56), (4, 672, 14), (256, 64, 56), (64, 1024, 25)):
            for last in (False, True):
                yield module_case(lambda c=channels: nn.BatchNorm2d(c), batch, channels, size, size, dtype=dtype, last=last)
        yield module_case(lambda: nn.BatchNorm1d(512), 32, 512, 400, dtype=dtype)
        yield module_case(lambda: nn.BatchNorm1d(1024), 4096, 1024, dtype=dtype)


def attention_cases():
    def attend(causal=False, mask=False, dropout=0.0):
        def run(q, k, v):
            bias = None
            if mask:
                bias = torch.zeros(q.shape[0], 1, q.shape[2], k.shape[2], device="cuda", dtype=q.dtype)
            return functional.scaled_dot_product_attention(q, k, v, bias, dropout, causal)

        return run

    for size in (16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 112, 128, 160, 192, 256):
        for batch, heads, queries, keys in ((32, 16, 256, 256), (8, 12, 1024, 1024), (24, 12, 1500, 1500),
                                            (64, 12, 197, 197), (512, 8, 49, 49), (16, 12, 256, 1500)):
            if size not in (32, 64, 72, 128) and queries in (1500, 197) or (size > 64 and queries == 49):
                continue
            yield function_case(
                attend(), (batch, heads, queries, size), (batch, heads, keys, size), (batch, heads, keys, size)
            )
    for size in (32, 64, 80, 128):
        shape = (16, 12, 512, size)
        yield function_case(attend(causal=True), shape, shape, shape)
        yield function_case(attend(mask=True), shape, shape, shape)
        yield function_case(attend(dropout=0.1), shape, shape, shape)
        yield function_case(attend(), shape, shape, shape, dtype=torch.float32)
        shape = (512, 8, 64, size)
        yield function_case(attend(mask=True), shape, shape, shape)
        shape = (16, 12, 448, size)
        yield function_case(attend(mask=True), shape, shape, shape)
        shape = (8, 8, 1024, size)
        yield function_case(attend(), (8, 8, 4096, size), shape, shape)

    def strided(x):
        """q, k and v as one projection gives them."""
        q, k, v = x.unbind(2)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        return functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).contiguous()

    for size in (32, 64, 72, 80, 96, 128):
        yield function_case(strided, (16, 512, 3, 12, size))


def product_cases():
    for batch, m, n, k in ((4096, 27, 27, 128), (2048, 64, 64, 32), (8192, 49, 49, 32), (1024, 128, 64, 128),
                           (512, 128, 128, 64), (384, 512, 512, 64), (384, 512, 64, 512), (6144, 64, 64, 64),
                           (96, 1024, 64, 256), (3072, 128, 128, 16), (64, 256, 1024, 96), (16384, 16, 16, 64)):
        for dtype in (torch.bfloat16, torch.float32):
            yield function_case(torch.bmm, (batch, m, k), (batch, k, n), dtype=dtype)
        yield function_case(lambda a, b: torch.bmm(a, b.transpose(1, 2)), (batch, m, k), (batch, n, k))
    for m, n, k in ((8192, 1152, 1152), (2048, 72, 1152), (49152, 96, 384), (12544, 1536, 384), (65536, 16, 2048),
                    (16, 6912, 1152), (100352, 128, 512), (6272, 77, 500), (32768, 640, 13), (4096, 1000, 1280),
                    (256, 1000, 1536), (3136, 2, 768), (16384, 32000, 640)):
        for dtype in (torch.bfloat16, torch.float32):
            yield function_case(lambda x, w, b: functional.linear(x, w, b), (m, k), (n, k), (n,), dtype=dtype)
        yield function_case(lambda x, w: functional.linear(x, w), (m, k), (n, k))


def elementwise_cases():
    one = {
        "add": lambda x, y: x + y, "mul": lambda x, y: x * y, "where": lambda x, y: torch.where(x > 0, x, y),
        "max": torch.maximum, "div": lambda x, y: x / (y.abs() + 1),
    }
    unary = {
        "gelu": functional.gelu, "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"), "silu": functional.silu,
        "relu": functional.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "exp": torch.exp, "softplus": functional.softplus,
        "pow": lambda x: x.pow(2), "rsqrt": lambda x: torch.rsqrt(x.abs() + 1), "hardswish": functional.hardswish,
        "cumsum": lambda x: x.cumsum(-1), "softmax": lambda x: x.softmax(-1), "log_softmax": lambda x: x.log_softmax(-1),
        "glu": lambda x: functional.glu(x, -1), "dropout": lambda x: functional.dropout(x, 0.1), "tril": torch.tril,
        "float": lambda x: x.float() if x.dtype != torch.float32 else x.bfloat16(), "clamp": lambda x: x.clamp(-1, 1),
        "leaky": functional.leaky_relu, "mish": functional.mish, "square_mean": lambda x: x.pow(2).mean(),
        "cos": torch.cos, "scale": lambda x: x * 0.125, "plus": lambda x: x + 1, "hardsigmoid": functional.hardsigmoid,
        "relu6": functional.relu6, "abs": torch.abs, "logsumexp": lambda x: x.logsumexp(-1), "norm": lambda x: x.norm(dim=-1),
        "l2": lambda x: functional.normalize(x, dim=-1), "max": lambda x: x.max(-1)[0], "log": lambda x: x.abs().add(1).log(),
        "masked": lambda x: x.masked_fill(x > 1, -1e4), "roll": lambda x: x.roll(3, 1), "flip": lambda x: x.flip(1),
        "index": lambda x: x[:, torch.arange(x.shape[1], device="cuda") // 2],
    }
    for dtype in (torch.bfloat16, torch.float32):
        for shape in ((16, 400, 1280), (64, 784, 640), (4, 100, 256)):
            for function in one.values():
                yield function_case(function, shape, shape, dtype=dtype)
            for function in unary.values():
                yield function_case(function, shape, dtype=dtype)
    for batch, length, size in ((48, 320, 1024), (16, 196, 1280), (96, 784, 384)):
        full = (batch, length, size)
        for dtype in (torch.bfloat16, torch.float32):
            for other in ((batch, 1, size), (size,), (1, length, size), (batch, length, 1)):
                yield function_case(lambda x, y: x * y, full, other, dtype=dtype)
                yield function_case(lambda x, y: x + y, full, other, dtype=dtype)
            yield function_case(lambda x, s: x * (1 + s) + s, full, (batch, 1, size), dtype=dtype)
    # chunks of a wider tensor, broadcast over the middle
    def chunks(x, wide):
        shift, scale, gate = wide.unsqueeze(1).chunk(3, dim=-1)
        return x + gate * (x * (1 + scale) + shift)
    yield function_case(chunks, (48, 320, 1024), (48, 3072))
    yield function_case(chunks, (96, 196, 768), (96, 2304))
    for channels, size in ((96, 56), (384, 28), (672, 14)):
        full = (64, channels, size, size)
        yield function_case(lambda x, y: x * y, full, (64, channels, 1, 1))
        yield function_case(lambda x, y: x * y, full, (channels, 1, 1))
        yield function_case(lambda x, y: x * y, (64, size, size, channels), (channels,))
        yield function_case(lambda x: x.mean((2, 3)), full)
        yield function_case(lambda x: x.mean((2, 3), keepdim=True), full)


def copy_cases():
    orders = (
        ((16, 400, 12, 80), (0, 2, 1, 3)), ((64, 8, 7, 8, 7, 192), (0, 1, 3, 2, 4, 5)), ((32, 640, 784), (0, 2, 1)),
        ((16, 256, 64, 64), (0, 2, 3, 1)), ((16, 64, 64, 256), (0, 3, 1, 2)), ((48, 197, 3, 16, 48), (2, 0, 3, 1, 4)),
        ((8, 16, 128, 24, 64), (0, 3, 1, 2, 4)), ((8, 24, 16, 128, 64), (0, 2, 3, 1, 4)), ((8, 16, 24, 64, 96), (0, 2, 1, 4, 3)),
        ((4096, 2048), (1, 0)), ((256, 64, 128), (0, 2, 1)), ((16, 1500, 640), (1, 0, 2)), ((8, 24, 8, 96, 96), (0, 2, 1, 3, 4)),
        ((8, 12, 512, 512), (0, 1, 3, 2)), ((512, 49, 3, 8, 32), (2, 0, 3, 1, 4)),
    )
    for shape, order in orders:
        for dtype in (torch.bfloat16, torch.float32):
            yield function_case(lambda x, o=order: x.permute(o).contiguous(), shape, dtype=dtype)
        yield function_case(lambda x, o=order: x.permute(o) * 2, shape)
        yield function_case(lambda x, o=order: x.permute(o).float(), shape)
        moved = [shape[i] for i in order]
        yield function_case(lambda x, y, o=order: x.permute(o) + y, shape, moved)
        yield function_case(lambda x, o=order: x.permute(o).contiguous().sum(0), shape)
    yield function_case(lambda x, y: torch.cat([x, y], 1), (32, 128, 56, 56), (32, 128, 56, 56))
    yield function_case(lambda x, y: torch.cat([x, y], -1), (16, 1024, 640), (16, 1024, 320))
    yield function_case(lambda x, y: torch.stack([x, y], 1), (16, 1024, 640), (16, 1024, 640))
    yield function_case(lambda x: torch.stack(list(x.unbind(1)), 1), (16, 8, 512, 640))
    yield function_case(lambda x: x[..., :512] * x[..., 512:], (16, 1024, 1024))
    yield function_case(lambda x: x[:, :, ::2] * 2, (16, 640, 2048))
    yield function_case(lambda x: x.split([512, 256, 256], -1)[0].contiguous(), (16, 1024, 1024))
    yield function_case(lambda x: functional.pad(x, (0, 0, 1, 1)), (16, 1024, 640))
    yield function_case(lambda x: functional.interpolate(x, scale_factor=2, mode="nearest"), (16, 96, 64, 64))
    yield function_case(
        lambda x: functional.interpolate(x, size=(128, 128), mode="bilinear", align_corners=False), (16, 256, 32, 32)
    )
    yield function_case(lambda x: functional.avg_pool2d(x, 2), (32, 96, 64, 64))
    yield function_case(lambda x: functional.max_pool2d(x, 3, 2, 1), (32, 96, 112, 112))
    yield function_case(lambda x: functional.adaptive_avg_pool2d(x, 1), (64, 672, 14, 14))
    yield function_case(lambda x: torch.gather(x, 2, torch.randint(0, 384, (32, 384, 384), device="cuda")), (32, 384, 384))
    yield function_case(lambda x: x.repeat_interleave(4, 1), (8, 4, 1024, 80))
    yield function_case(lambda x: x[:, :, None].expand(-1, -1, 4, -1, -1).reshape(8, 16, 1024, 80), (8, 4, 1024, 80))


def sum_cases():
    for shape, dims in (
        ((16384, 1280), 0), ((16384, 1280), 1), ((48, 320, 1024), 1), ((48, 320, 1024), (0, 1)), ((48, 320, 1024), 0),
        ((64, 96, 56, 56), (0, 2, 3)), ((64, 96, 56, 56), (2, 3)), ((65536, 96), 0), ((512, 8, 49, 49), 0),
        ((16, 24, 8, 96, 96), (3,)), ((16, 24, 8, 96, 96), (1,)), ((8, 16, 24, 64, 96), (3, 4)), ((64, 200000), 1),
        ((200000, 64), 0), ((4, 100, 256), (0, 1)),
    ):
        for dtype in (torch.bfloat16, torch.float32):
            yield function_case(lambda x, d=dims: x.sum(d), shape, dtype=dtype)
            yield function_case(lambda x, d=dims: x.mean(d), shape, dtype=dtype)


def table_cases():
    def embed(rows, size, count, dtype):
        def build():
            net = nn.Embedding(rows, size).to("cuda", dtype)
            ids = torch.randint(0, rows, count, device="cuda")

            def step():
                out = net(ids)
                out.backward(torch.randn_like(out))

            return step

        return build

    for rows, size, count in ((32000, 640, (16, 400)), (50000, 1280, (8, 1024)), (512, 640, (32, 500)), (2, 768, (32, 512))):
        for dtype in (torch.bfloat16, torch.float32):
            yield embed(rows, size, count, dtype)

    def loss(rows, columns, dtype):
        def build():
            x = tensor(rows, columns, dtype=dtype)
            labels = torch.randint(0, columns, (rows,), device="cuda")
            return lambda: run_back(lambda t: functional.cross_entropy(t, labels), x)

        return build

    for rows, columns in ((8192, 32000), (4096, 50257), (16384, 1000), (65536, 150)):
        for dtype in (torch.bfloat16, torch.float32):
            yield loss(rows, columns, dtype)


def laid_out_cases():
    """Tensors as transposes and slices leave them, into kernels that want them in order."""

    def turned_conv(channels, groups, taps, length, batch, dtype=torch.bfloat16):
        def build():
            net = nn.Conv1d(channels, channels, taps, padding=taps // 2, groups=groups).to("cuda", dtype)
            x = tensor(batch, length, channels, dtype=dtype)
            return lambda: run_back(lambda t: net(t.transpose(1, 2)), x)

        return build

    for channels, groups, taps in (
        (640, 16, 128), (640, 16, 64), (512, 16, 128), (480, 10, 128), (480, 10, 32), (1024, 16, 128), (512, 8, 31),
        (384, 384, 4), (1536, 1536, 4), (2560, 2560, 3), (512, 512, 31), (256, 1, 3), (512, 1, 5), (384, 12, 96),
    ):
        yield turned_conv(channels, groups, taps, 480, 24)
    yield turned_conv(640, 16, 128, 300, 8)
    yield turned_conv(480, 10, 128, 1000, 16)

    def join(dim, empty=False, order=(0, 2, 1, 3)):
        def run(x, y):
            parts = [x.permute(order), y.permute(order)]
            if empty:
                parts = [x.new_empty(0), parts[0]]
            return torch.cat(parts, dim)

        return run

    for batch, length, heads, size in ((8, 1024, 24, 64), (16, 512, 12, 80), (32, 196, 16, 64)):
        shape = (batch, length, heads, size)
        yield function_case(join(-1), shape, shape)
        yield function_case(join(2), shape, shape)
        yield function_case(join(2, True), shape, shape)
        yield function_case(join(2, True, (0, 1, 2, 3)), shape, shape)
        yield function_case(lambda a, b: torch.stack([a, b.permute(0, 1, 3, 2).contiguous().permute(0, 1, 3, 2)]), shape, shape)
        yield function_case(lambda a, b: torch.cat([-a[..., 32:], b[..., :32]], -1), shape, shape)
    for shape in ((48, 28, 28, 320), (48, 48, 48, 96), (32, 12, 12, 640)):
        for dtype in (torch.bfloat16, torch.float32):
            yield function_case(lambda x: x.roll((-3, -3), (1, 2)), shape, dtype=dtype)
            yield function_case(lambda x: functional.pad(x, (0, 0, 0, 4, 0, 4)), shape, dtype=dtype)
    for shape in ((8192, 40, 40), (16384, 20, 20)):
        i, j = torch.triu_indices(shape[1], shape[1], 1, device="cuda")
        yield function_case(lambda x, i=i, j=j: x[:, i, j], shape, dtype=torch.float32)
    for size, rows in ((49, 169), (64, 225)):
        places = torch.randint(0, rows, (size * size,), device="cuda")
        yield function_case(lambda t, places=places: t[places] * 1, (rows, 12))
    for batch, channels, size, out in ((16, 256, 16, 64), (16, 768, 32, 64), (8, 150, 128, 512)):
        yield function_case(
            lambda x, out=out: functional.interpolate(x, size=(out, out), mode="bilinear"), (batch, channels, size, size)
        )
    for shape in ((16, 8, 128, 24, 64), (8, 16, 64, 48, 32)):
        yield function_case(lambda x: torch.tril(x.float()), shape)
        yield function_case(lambda x: x.cumsum(2), shape, dtype=torch.float32)
    yield module_case(lambda: nn.utils.parametrizations.weight_norm(nn.Conv1d(512, 512, 64, groups=16), dim=2), 8, 512, 400)


def window_cases():
    """What models with windows over pictures do: padding by nothing and by little, rolling,
    short rows, products whose rows are odd."""
    pad = functional.pad
    for dtype in (torch.bfloat16, torch.float32):
        for shape in ((64, 32, 32, 160), (48, 24, 24, 320), (32, 12, 12, 640), (64, 48, 48, 96)):
            yield function_case(lambda x: pad(x, (0, 0, 0, 0, 0, 0)), shape, dtype=dtype)
            yield function_case(lambda x: pad(x, (0, 0, 0, 4, 0, 4)), shape, dtype=dtype)
            yield function_case(lambda x: x.roll((-2, -2), (1, 2)), shape, dtype=dtype)
            yield function_case(lambda x: x.roll((4, 3), (1, 2)), shape, dtype=dtype)
            yield function_case(lambda x: x.roll(1, 2), shape, dtype=dtype)
        for shape in ((32, 96, 60, 60), (16, 320, 30, 30)):
            yield function_case(lambda x: pad(x, (1, 1, 1, 1)), shape, dtype=dtype)
            yield function_case(lambda x: pad(x, (0, 1, 0, 1)), shape, dtype=dtype)
        yield function_case(lambda x: pad(x, (3, 0)), (16, 1536, 2000), dtype=dtype)
        yield function_case(lambda x: pad(x, (0, 0, 1, 0)), (64, 12, 300, 64), dtype=dtype)
        for rows, columns in ((400000, 96), (200000, 160), (100000, 192), (50000, 320), (25000, 640), (60000, 384),
                              (150000, 144), (12000, 480), (6000, 1280), (3000, 768), (20000, 96), (800, 320)):
            yield module_case(lambda c=columns: nn.LayerNorm(c), rows, columns, dtype=dtype)
        for rows, columns in ((200000, 36), (200000, 64), (400000, 81), (1000000, 25), (100000, 100), (30000, 144),
                              (50000, 196), (100000, 256)):
            yield function_case(lambda x: x.softmax(-1), (rows // 64, 64, columns), dtype=dtype)


def small_product_cases():
    for batch, size, heads in ((4096, 36, 32), (8192, 81, 16), (2048, 100, 24), (16384, 25, 32), (1024, 197, 64),
                               (4096, 48, 32), (4096, 56, 40), (512, 145, 48), (3000, 64, 80), (6000, 72, 32)):
        for dtype in (torch.bfloat16, torch.float32):
            yield function_case(
                lambda a, b: torch.bmm(a, b.transpose(1, 2)), (batch, size, heads), (batch, size, heads), dtype=dtype
            )
            yield function_case(torch.bmm, (batch, size, size), (batch, size, heads), dtype=dtype)
    for batch, m, n, k in ((96, 640, 640, 80), (96, 640, 80, 640), (192, 320, 320, 64), (24, 1280, 1280, 128),
                           (768, 160, 160, 48), (2000, 96, 96, 96), (48, 256, 2048, 64), (8, 2560, 1280, 320)):
        yield function_case(torch.bmm, (batch, m, k), (batch, k, n), dtype=torch.float32)
        yield function_case(torch.bmm, (batch, m, k), (batch, k, n))


def grouped_cases():
    for size, width, counts in ((60, 16, (2, 4, 8)), (60, 24, (2, 6)), (30, 24, (6, 14, 32)), (15, 24, (16, 40)), (8, 24, (48,)),
                                (60, 8, (8, 26)), (30, 8, (40,)), (30, 40, (2, 6, 16)), (15, 40, (16,)), (60, 48, (2, 5)),
                                (30, 48, (6, 17)), (15, 56, (8, 16)), (60, 32, (4,)), (30, 32, (10,)), (15, 32, (32,)),
                                (30, 64, (2, 8)), (15, 64, (16,)), (60, 12, (8,)), (30, 112, (2, 4)), (15, 112, (8,)),
                                (15, 128, (6,)), (8, 264, (8,))):
        for count in counts:
            channels = width * count
            make = lambda c=channels, g=count: nn.Conv2d(c, c, 3, 1, 1, groups=g, bias=False)
            yield module_case(make, 96, channels, size, size)
            yield module_case(make, 96, channels, size, size, last=True)
            narrow = lambda c=channels, g=count: nn.Conv2d(c, c, 3, 2, 1, groups=g, bias=False)
            yield module_case(narrow, 64, channels, 2 * size, 2 * size)


def learned_mask_cases():
    """Attention whose mask wants a gradient; windows and whole pictures."""

    def attend(q, k, v, mask):
        return functional.scaled_dot_product_attention(q, k, v, mask)

    for batch, heads, length, size in ((64, 12, 145, 64), (32, 16, 257, 64), (16, 12, 400, 64), (8, 16, 576, 80), (64, 8, 196, 48),
                                       (2048, 4, 49, 32), (1024, 8, 64, 32), (512, 6, 144, 32), (4096, 3, 36, 32), (48, 16, 320, 96),
                                       (96, 12, 256, 64), (256, 8, 100, 64), (24, 8, 784, 32), (8, 12, 1024, 128)):
        shape = (batch, heads, length, size)
        yield function_case(attend, shape, shape, shape, (1, heads, length, length))
        yield function_case(attend, shape, shape, shape, (1, heads, length, length), dtype=torch.float32)
    for batch, heads, length, size in ((64, 12, 145, 64), (16, 12, 400, 64), (1024, 8, 64, 32)):
        shape = (batch, heads, length, size)
        yield function_case(attend, shape, shape, shape, (batch, 1, length, length))


def recurrent_cases():
    for make, hidden, layers, batch, length in (
        (nn.LSTM, 512, 2, 64, 200), (nn.LSTM, 512, 2, 512, 100), (nn.LSTM, 1536, 2, 128, 128), (nn.LSTM, 256, 4, 32, 400),
        (nn.LSTM, 768, 1, 256, 256), (nn.LSTM, 2048, 1, 64, 100), (nn.GRU, 512, 2, 64, 200), (nn.GRU, 1024, 3, 256, 128),
        (nn.GRU, 768, 2, 32, 300), (nn.LSTM, 1024, 2, 16, 256), (nn.LSTM, 640, 3, 8, 500),
    ):
        def build(make=make, hidden=hidden, layers=layers, batch=batch, length=length):
            net = make(hidden, hidden, layers, batch_first=True).to("cuda", torch.bfloat16)
            x = tensor(batch, length, hidden)
            return lambda: run_back(lambda t: net(t)[0], x)

        yield build


def scaled_picture_cases():
    """Pictures with channels side by side scaled up; means of small pictures."""
    for batch, channels, size, out in ((16, 192, 30, 60), (16, 512, 20, 80), (8, 320, 64, 128), (32, 64, 50, 150), (16, 256, 40, 40)):
        def build(batch=batch, channels=channels, size=size, out=out):
            x = torch.randn(batch, channels, size, size, device="cuda", dtype=torch.bfloat16)
            x = x.contiguous(memory_format=torch.channels_last).requires_grad_(True)
            return lambda: run_back(lambda t: functional.interpolate(t, size=(out, out), mode="bilinear"), x)

        yield build
    for shape in ((96, 1000, 6, 6), (64, 640, 9, 9), (200, 300, 12, 12), (64, 2000, 4, 4), (32, 500, 20, 20)):
        for dtype in (torch.bfloat16, torch.float32):
            yield function_case(lambda x: x.mean((2, 3), keepdim=True), shape, dtype=dtype)
    for batch, channels, size, wide in ((96, 128, 60, 256), (96, 192, 30, 384), (64, 320, 18, 640), (64, 768, 10, 1536)):
        make = lambda a=channels, b=wide: nn.Conv2d(a, b, 1, 2, bias=False)
        yield module_case(make, batch, channels, size, size)
        straight = lambda a=channels, b=wide: nn.Conv2d(a, b, 1, 1, bias=False)
        yield module_case(straight, batch, channels, size, size)


def ctc_cases():
    """Losses over sequences whose labels have no places; targets on the GPU."""
    for steps, batch, labels, longest in ((200, 32, 32, 40), (400, 16, 80, 60), (800, 32, 500, 100), (1500, 8, 1000, 200),
                                          (400, 64, 30, 20), (1000, 4, 5000, 50)):
        def build(steps=steps, batch=batch, labels=labels, longest=longest):
            x = tensor(steps, batch, labels, dtype=torch.float32)
            targets = torch.randint(1, labels, (batch, longest), device="cuda")
            lengths = [torch.full((batch,), n, device="cuda") for n in (steps, longest)]
            return lambda: run_back(lambda t: functional.ctc_loss(t.log_softmax(-1), targets, *lengths), x)

        yield build


def masked_cases():
    """Attention under a mask of yes and no that all heads share."""

    def attend(dropout, mask):
        return lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, mask, dropout)

    for batch, heads, queries, keys, size in (
        (2, 12, 1536, 1536, 64), (1, 24, 3072, 3072, 64), (4, 8, 768, 768, 48), (1, 16, 5120, 5120, 96), (2, 20, 2560, 2560, 128),
        (1, 8, 6144, 6144, 160), (1, 8, 4096, 4096, 256), (8, 16, 512, 512, 64), (16, 12, 384, 384, 128), (2, 16, 1024, 3000, 64),
        (1, 12, 7000, 7000, 112), (4, 12, 2048, 2048, 32),
    ):
        for dropout in (0.0, 0.1):
            mask = torch.ones(queries, keys, dtype=torch.bool, device="cuda").tril(keys - queries)
            yield function_case(attend(dropout, mask), (batch, heads, queries, size), *2 * [(batch, heads, keys, size)])


def expert_cases():
    """Products of experts in one kernel."""
    for experts, count, inside, outside in (
        (16, 16384, 2048, 1024), (32, 24576, 1536, 768), (128, 32768, 2048, 768), (8, 4096, 3072, 8192), (256, 16384, 1024, 256),
        (16, 65536, 1280, 2560), (64, 8192, 2048, 1408), (4, 8192, 4096, 4096), (48, 12288, 896, 512),
    ):
        ends = (torch.arange(1, experts + 1, device="cuda") * (count // experts)).to(torch.int32)
        yield function_case(
            lambda x, w, ends=ends: torch._grouped_mm(x, w, offs=ends), (count, inside), (experts, inside, outside)
        )


def indexed_cases():
    """Rows added up where an index says, and taken from there."""
    for nodes, edges, size in (
        (50000, 400000, 64), (20000, 800000, 32), (100000, 500000, 192), (4000, 300000, 256), (300000, 1500000, 16),
        (2000, 100000, 512), (64, 40000, 1024),
    ):
        for dtype in (torch.float32, torch.bfloat16):
            ids = torch.randint(0, nodes, (edges,), device="cuda")

            def add(x, ids=ids, nodes=nodes):
                return torch.zeros(nodes, x.shape[1], device="cuda", dtype=x.dtype).index_add_(0, ids, x)

            def scatter(x, ids=ids, nodes=nodes):
                zero = torch.zeros(nodes, x.shape[1], device="cuda", dtype=x.dtype)
                return zero.scatter_add_(0, ids.unsqueeze(1).expand(-1, x.shape[1]), x)

            yield function_case(add, (edges, size), dtype=dtype)
            yield function_case(scatter, (edges, size), dtype=dtype)
            yield function_case(lambda x, ids=ids: x[ids], (nodes, size), dtype=dtype)


def ordered_cases():
    """Sorting, the largest of rows, running sums."""

    def run(function, *shape, dtype=torch.float32):
        def build():
            x = torch.randn(*shape, device="cuda").to(dtype)
            return lambda: function(x)

        return build

    for rows, columns, count in ((32768, 64, 6), (16384, 256, 8), (131072, 160, 6), (8192, 8, 2), (2048, 1024, 20), (16384, 1024, 20),
                                 (256, 50000, 50), (4096, 32000, 40), (64, 1000000, 100)):
        yield run(lambda x, n=count: x.topk(n, -1), rows, columns)
    for rows, columns in ((4096, 1024), (16384, 512), (2000, 10000), (65536, 64), (1, 1000000), (1, 60000000), (300, 3000)):
        yield run(lambda x: x.sort(-1), rows, columns)
    for shape in ((4000000,), (30000000,)):
        yield run(lambda x: x.sort(), *shape)
        yield run(lambda x: x.mul(1e6).long().sort(), *shape)
    for rows, columns in ((8192, 32000), (100000, 512), (512, 262144)):
        yield run(lambda x: x.argmax(-1), rows, columns)
        yield run(lambda x: x.cumsum(-1), rows, columns)
        yield run(lambda x: x.cumsum(0), rows, columns)
        yield run(lambda x: x.max(-1), rows, columns)
    yield run(lambda x: x.cumsum(0), 20000000)


def sampled_cases():
    """Pools, other scalings and samplings, patches laid out, Fourier transforms."""
    for dtype in (torch.bfloat16, torch.float32):
        for count, channels, size in ((4, 48, 40), (2, 96, 64), (16, 32, 24)):
            volume = (count, channels, size, size, size)
            yield function_case(lambda x: functional.max_pool3d(x, 2), volume, dtype=dtype)
            yield function_case(lambda x: functional.max_pool3d(x, 3, 2, 1), volume, dtype=dtype)
            yield function_case(lambda x: functional.avg_pool3d(x, 2), volume, dtype=dtype)
            yield function_case(lambda x: functional.interpolate(x, scale_factor=2.0, mode="trilinear"), volume, dtype=dtype)
            yield function_case(lambda x: functional.interpolate(x, scale_factor=2.0, mode="nearest"), volume, dtype=dtype)
        for count, channels, size in ((16, 128, 48), (8, 64, 160), (32, 320, 28)):
            picture = (count, channels, size, size)
            yield function_case(lambda x: functional.avg_pool2d(x, 2), picture, dtype=dtype)
            yield function_case(lambda x: functional.avg_pool2d(x, 3, 1, 1), picture, dtype=dtype)
            yield function_case(lambda x: functional.interpolate(x, scale_factor=2.0, mode="bicubic"), picture, dtype=dtype)
            yield function_case(lambda x: functional.unfold(x, 3, padding=1), picture, dtype=dtype)
            yield function_case(lambda x: functional.unfold(x, 4, stride=4), picture, dtype=dtype)
            yield function_case(lambda x: functional.pixel_shuffle(x, 2), picture, dtype=dtype)
            where = torch.rand(count, size, size, 2, device="cuda", dtype=dtype) * 2 - 1
            yield function_case(
                lambda x, at: functional.grid_sample(x, at, align_corners=False), picture, (count, size, size, 2), dtype=dtype
            )
            yield function_case(
                lambda x, at=where: functional.grid_sample(x, at, align_corners=False), picture, dtype=dtype
            )
            yield function_case(functional.softplus, picture, dtype=dtype)
            yield function_case(functional.elu, picture, dtype=dtype)
            yield function_case(functional.mish, picture, dtype=dtype)
            yield function_case(lambda x: functional.gelu(x, approximate="tanh"), picture, dtype=dtype)
    for count, channels, size in ((16, 48, 96), (8, 64, 256), (64, 128, 64)):
        yield function_case(lambda x: torch.fft.irfft2(torch.fft.rfft2(x)), (count, channels, size, size), dtype=torch.float32)
        yield function_case(lambda x: torch.fft.irfft(torch.fft.rfft(x)), (count, channels, size * size), dtype=torch.float32)


def list_cases():
    """Optimizers and the clipping of gradients, over lists of tensors."""

    def build(make, count, size, dtype):
        def built():
            weights = [nn.Parameter(torch.randn(size, device="cuda", dtype=dtype)) for _ in range(count)]
            for weight in weights:
                weight.grad = torch.randn_like(weight)
            optimizer = make(weights)

            def step():
                torch.nn.utils.clip_grad_norm_(weights, 1.0)
                optimizer.step()

            return step

        return built

    for dtype in (torch.bfloat16, torch.float32):
        for count, size in ((60, 3000000), (240, 700000), (500, 60000), (12, 20000000)):
            yield build(lambda w: torch.optim.AdamW(w), count, size, dtype)
            yield build(lambda w: torch.optim.SGD(w, 0.1, momentum=0.9, weight_decay=1e-4), count, size, dtype)
            yield build(lambda w: torch.optim.RMSprop(w), count, size, dtype)


KINDS = {
    "conv1d": conv1d_cases, "conv2d": conv2d_cases, "norm": norm_cases, "attention": attention_cases,
    "product": product_cases, "elementwise": elementwise_cases, "copy": copy_cases, "sum": sum_cases, "table": table_cases,
    "laid_out": laid_out_cases, "window": window_cases, "small_product": small_product_cases, "grouped": grouped_cases,
    "learned_mask": learned_mask_cases, "recurrent": recurrent_cases, "scaled_picture": scaled_picture_cases, "ctc": ctc_cases,
    "masked": masked_cases, "expert": expert_cases, "indexed": indexed_cases, "ordered": ordered_cases,
    "sampled": sampled_cases, "list": list_cases,
}
