"""What two calls of a layer must have in common to be equal, as text: nothing that could
decide what runs is left out, and what cannot be described makes a layer differ."""

import functools
import types

import torch

PLAIN = (bool, int, float, str, bytes, complex, type(None), torch.dtype, torch.device, torch.Size)
DEEPEST = 24

# Attributes of torch itself: kept in other ways, or of no meaning for the operations.
INTERNAL = {
    "_parameters",
    "_buffers",
    "_modules",
    "_non_persistent_buffers_set",
    "_is_full_backward_hook",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
    "_version",
    "_stepcast_forward",
}
HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks")


class NotPlain(Exception):
    """Something that has no description."""


def local_of(tensor):
    """The part of a distributed tensor that lies here."""
    return getattr(tensor, "_local_tensor", tensor)


def describe_tensor(value):
    """A tensor by how it lies, a plain value by itself."""
    if not isinstance(value, torch.Tensor):
        return describe(value, DEEPEST)
    if type(value).__name__ == "DTensor":
        raise NotPlain("a distributed tensor")
    return _laid_out(value)


def _laid_out(tensor):
    inner = local_of(tensor)
    return (
        str(inner.dtype),
        tuple(inner.shape),
        tuple(inner.stride()),
        inner.storage_offset(),
        str(inner.device),
        tensor.requires_grad,
    )


def _parameter(tensor):
    if local_of(tensor) is tensor:
        return _laid_out(tensor)
    return (_laid_out(tensor), repr(tensor.placements), tuple(tensor.shape))


def describe(value, depth):
    """Values, and objects by their class and attributes, to a depth that ends what goes in
    circles."""
    if isinstance(value, PLAIN):
        return repr(value)
    if depth <= 0:
        raise NotPlain("an object that goes too deep")
    if isinstance(value, torch.Tensor):
        return repr(_parameter(value))
    if isinstance(value, torch.nn.Module):
        return type(value).__qualname__  # those below are described for themselves
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [describe(item, depth - 1) for item in value]
        return f"{type(value).__name__}{items if isinstance(value, (list, tuple)) else sorted(items)}"
    if isinstance(value, dict):
        return repr([(describe(k, depth - 1), describe(v, depth - 1)) for k, v in value.items()])
    if isinstance(value, functools.partial):
        return "partial" + describe([value.func, value.args, value.keywords], depth)
    if isinstance(value, types.MethodType):
        return "method" + describe([value.__func__, value.__self__], depth)
    if isinstance(value, types.FunctionType):
        return _function(value, depth)
    if isinstance(value, (types.BuiltinFunctionType, type)):
        return f"{value.__module__}.{value.__qualname__}"
    if type(value).__name__ == "DeviceMesh":
        return f"mesh {value.mesh_dim_names} {tuple(value.mesh.shape)}"
    if not hasattr(value, "__dict__"):
        return repr(value) if type(value).__module__.startswith("torch") else f"{id(value)}"
    return f"{type(value).__qualname__} {describe(vars(value), depth - 1)}"


def _function(function, depth):
    code = function.__code__
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    kept = [cells, function.__defaults__ or (), function.__kwdefaults__ or {}]
    return f"{code.co_filename}:{code.co_firstlineno} {describe(kept, depth - 1)}"


def attributes_of(layer):
    """What the modules of a layer hold, beside parameters and what torch keeps there."""
    return [
        value
        for module in layer.modules()
        for name, value in module.__dict__.items()
        if name not in INTERNAL and not name.startswith("__")
    ]


def same_objects(before, after):
    return len(before) == len(after) and all(
        one is other or (isinstance(one, PLAIN) and type(one) is type(other) and one == other)
        for one, other in zip(before, after)
    )


class Modules:
    """Descriptions of modules. Hooks and objects are described once: while an attribute holds
    the same object, and objects that it holds are not changed, that stays true."""

    def __init__(self):
        self._known = {}  # id of an object → (object, description)

    def _once(self, value):
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = (value, describe(value, DEEPEST))
        return known[1]

    def _attribute(self, value):
        if isinstance(value, PLAIN):
            return repr(value)
        if isinstance(value, (list, tuple, dict, set, torch.Tensor)):
            return describe(value, DEEPEST)  # these change
        return self._once(value)

    def describe(self, layer):
        """Classes, parameters, attributes and hooks of a module and all below it. Its own
        hooks run outside."""
        rows = []
        for name, module in layer.named_modules():
            row = [name, f"{type(module).__module__}.{type(module).__qualname__}"]
            row += [(n, _parameter(p)) for n, p in module._parameters.items() if p is not None]
            row += [(n, _parameter(b)) for n, b in module._buffers.items() if b is not None]
            for attribute, value in module.__dict__.items():
                if attribute in INTERNAL or attribute.startswith("__"):
                    continue
                if module is layer and attribute == "forward":
                    continue
                row.append((attribute, self._attribute(value)))
            if module is not layer:
                if hasattr(module, "_get_fsdp_state"):
                    raise NotPlain("a module of FSDP inside")
                for hooks in HOOKS:
                    row += [self._once(hook) for hook in getattr(module, hooks).values()]
            rows.append(row)
        return rows
