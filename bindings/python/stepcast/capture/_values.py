"""Values that a training script asks the GPU for, of which a capture knows something: whether
there is a NaN or an infinity anywhere. There is none, or loops would stop and scalers of
gradients would skip the optimizer."""

import math

# Made of nothing but questions for NaN and infinity, the answer is no, too.
STILL_NO = {
    "aten.any",
    "aten.sum",
    "aten.max",
    "aten.amax",
    "aten.count_nonzero",
    "aten.logical_or",
    "aten.logical_or_",
    "aten.bitwise_or",
    "aten.add",
    "aten.stack",
    "aten.cat",
    "aten._to_copy",
    "aten.clone",
    "aten.detach",
    "aten.alias",
    "aten.view",
    "aten.reshape",
    "aten.squeeze",
    "aten.unsqueeze",
    "aten.select",
}
ASKS = {"aten.isnan", "aten.isinf", "aten.isneginf", "aten.isposinf"}
UNSCALES = "aten._amp_foreach_non_finite_check_and_unscale_"
NAMES = STILL_NO | ASKS | {UNSCALES, "aten.ne", "aten.eq"}


def is_no(tensor):
    """Whether its elements are all false, or zero."""
    return getattr(tensor, "stepcast_is_no", False)


def _asks(name, args):
    if name in ASKS:
        return True
    if name == "aten.ne":  # what is unlike itself is NaN
        return args[0] is args[1]
    return name == "aten.eq" and isinstance(args[1], float) and math.isinf(args[1])


def notice(name, args, tensors_in, tensors_out):
    """After an operation of NAMES: marks what is known to be false."""
    if name == UNSCALES:
        args[1].stepcast_is_no = True
    elif _asks(name, args) or (name in STILL_NO and tensors_in and all(map(is_no, tensors_in))):
        for tensor in tensors_out:
            tensor.stepcast_is_no = True
