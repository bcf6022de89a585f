"""The recorder: sees every operation below autograd and writes down what it is,
on which tensors, in which module, phase and stream, and which storages it made."""

import weakref

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    UnsupportedOperatorException,
    unset_fake_temporarily,
)

from . import _attention, _ctc, _rms_norm, _values
from ._compile import Units

aten = torch.ops.aten

STANDS_FOR = {**_attention.STANDS_FOR, **_ctc.STANDS_FOR, **_rms_norm.STANDS_FOR}

DTYPES = {
    torch.bfloat16: "bf16",
    torch.float16: "fp16",
    torch.float32: "fp32",
    torch.float64: "fp64",
    torch.int64: "int64",
    torch.int32: "int32",
    torch.int16: "int16",
    torch.int8: "int8",
    torch.uint8: "uint8",
    torch.bool: "bool",
    torch.complex64: "complex64",
    torch.complex128: "complex128",
}
for _name in ("float8_e4m3fn", "float8_e5m2"):
    if hasattr(torch, _name):
        DTYPES[getattr(torch, _name)] = "fp8"

# Arguments that decide what an operation costs, by operation.
ATTRIBUTES = {
    "aten.convolution": ("stride", "padding", "dilation", "transposed", "groups"),
    "aten.convolution_backward": (
        "stride",
        "padding",
        "dilation",
        "transposed",
        "groups",
        "output_mask",
    ),
    "aten.roll": ("shifts",),
    "stepcast.attention": ("causal", "dropout"),
    "stepcast.attention_backward": ("causal", "dropout"),
    "stepcast.recurrent": ("hidden", "layers", "gates", "bidirectional"),
    "stepcast.recurrent_backward": ("hidden", "layers", "gates", "bidirectional"),
}

# Made by fake tensors alone, when autograd saves them.
NOT_REAL = {"aten.detach", "aten.alias", "prim.device", "aten.sym_size", "aten.lift_fresh"}

# Allocations and questions: no kernel, whatever their arguments.
NO_KERNEL = {
    "aten.empty",
    "aten.empty_like",
    "aten.empty_strided",
    "aten.new_empty",
    "aten.new_empty_strided",
    "aten.is_same_size",
    "aten.set_",
    "aten.record_stream",
}
NO_KERNEL |= NOT_REAL

COLLECTIVES = {
    "c10d.allreduce_": "all_reduce",
    "c10d.allreduce_coalesced_": "all_reduce",
    "c10d._allgather_base_": "all_gather",
    "c10d.allgather_": "all_gather",
    "c10d.allgather_into_tensor_coalesced_": "all_gather",
    "c10d._reduce_scatter_base_": "reduce_scatter",
    "c10d.reduce_scatter_": "reduce_scatter",
    "c10d.reduce_scatter_tensor_coalesced_": "reduce_scatter",
    "c10d.alltoall_": "all_to_all",
    "c10d.alltoall_base_": "all_to_all",
    "c10d.broadcast_": "broadcast",
    "c10d.reduce_": "reduce",
    "c10d.barrier": "barrier",
    "c10d.scatter_": "broadcast",
    "c10d.send": "send",
    "c10d.recv_": "recv",
    "_c10d_functional.all_reduce": "all_reduce",
    "_c10d_functional.all_reduce_": "all_reduce",
    "_c10d_functional.all_reduce_coalesced": "all_reduce",
    "_c10d_functional.all_gather_into_tensor": "all_gather",
    "_c10d_functional.all_gather_into_tensor_out": "all_gather",
    "_c10d_functional.all_gather_into_tensor_coalesced": "all_gather",
    "_c10d_functional.reduce_scatter_tensor": "reduce_scatter",
    "_c10d_functional.reduce_scatter_tensor_coalesced": "reduce_scatter",
    "_c10d_functional.all_to_all_single": "all_to_all",
    "_c10d_functional.broadcast": "broadcast",
    "_c10d_functional.broadcast_": "broadcast",
}

MESSAGES = {"c10d.send", "c10d.recv"}

PLAIN = {torch.Tensor, torch.nn.Parameter, FakeTensor}


def tensors_of(value):
    """All tensors in nested lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_of(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_of(item)


# PyTorch's autograd needs a driver for tensors on "cuda", fake or not. So a GPU's
# tensors are fake ones on "cpu:0"; the host's are on "cpu", without a number.
GPU = torch.device("cpu", 0)


COMMUNICATION = 1000  # a number that no stream has, while an operation is written down
MOST_SINGLE = 8  # tensors of a list that are described one by one
MOST_REAL = 256  # elements of a tensor on the host that keeps its values
MOST_WHOLE = 1 << 20  # the same of whole numbers: ranks of a mesh, places of tokens


def on_gpu(tensor):
    return tensor.device.index is not None


def bytes_of(tensor):
    return tensor.numel() * tensor.element_size()


def is_small(tensor):
    """A tensor of the host that keeps its values."""
    whole = not (tensor.dtype.is_floating_point or tensor.dtype.is_complex)
    return tensor.numel() <= (MOST_WHOLE if whole else MOST_REAL)


def _stand_ins(value):
    """The same arguments with one element for each tensor."""
    if isinstance(value, torch.Tensor):
        return torch.empty(1)
    if isinstance(value, (list, tuple)):
        return type(value)(_stand_ins(item) for item in value)
    if isinstance(value, dict):
        return {name: _stand_ins(item) for name, item in value.items()}
    return value


def place_on_gpu(kwargs):
    """Arguments of an operation that asks for a GPU, as ours are named."""
    device = kwargs.get("device")
    if device is not None and torch.device(device).type == "cuda":
        kwargs = {**kwargs, "device": GPU}
    if kwargs.get("pin_memory"):
        kwargs = {**kwargs, "pin_memory": False}
    return kwargs


class Recorder(TorchDispatchMode):
    def __init__(self, capture, groups):
        super().__init__()
        self.capture = capture
        self.groups = groups  # of process groups: ranks → entry of the document
        self.open = False  # whether operations are written down
        self.phase = None  # set while an optimizer steps
        self.stack = []  # names of the modules whose forward runs
        self.names = {}  # id of a module → name
        self.units = Units()  # what would be compiled together
        self.modules_of = {}  # autograd sequence number → module, unit
        self.unit_of_backward = 0  # that ran last
        self.waits = {}  # stream → operations its next one waits for
        self.last = {}  # stream → its last operation
        self.collectives = {}  # storage → collective that fills it
        self.pending = []  # collectives nobody has waited for
        self.views = 0  # operations without a kernel since the last one with
        self.entered = 0  # modules whose forward began since
        self.new = []
        self.freed = []
        self.ops = []
        self.storages = []  # [bytes, kind]
        self.alive = {}  # storage key → (place, weak reference)
        self.begin_alive = []
        self.layers = None  # what repeats, _layers.py; None: every layer runs
        self.repeating = False  # operations stand for others, which are written down already

    # -- what the fake streams ask --------------------------------------------

    def position(self, stream):
        return (stream, self.last.get(stream))

    def wait(self, stream, position):
        _, operation = position
        if operation is not None:
            self.waits.setdefault(stream, set()).add(operation)

    def host_waits(self, stream):
        """The host waits for a stream, None: for all."""
        if self.open:
            self._append("host.wait", [], [], {}, stream=0 if stream is None else stream)

    # -- storages -------------------------------------------------------------

    def storage(self, tensor):
        """The place of a tensor's storage, made when first seen; None on the host."""
        if not on_gpu(tensor):
            return None
        storage = tensor.untyped_storage()
        key = storage._cdata
        known = self.alive.get(key)
        if known is not None and known[1]() is storage:
            return known[0]
        place = self._born(storage.nbytes())
        reference = weakref.ref(storage, lambda _, key=key, place=place: self._died(key, place))
        self.alive[key] = (place, reference)
        return place

    def _born(self, size):
        place = len(self.storages)
        self.storages.append([size, "other"])
        self.new.append(place)
        if self.layers:
            self.layers.seen_birth(place, size)
        return place

    def _died(self, key, place):
        known = self.alive.get(key)
        if known is not None and known[0] == place:
            del self.alive[key]
            self.free(place)

    def free(self, place):
        self.freed.append(place)
        if self.layers:
            self.layers.seen_death(place)

    def resized(self, storage, size):
        """FSDP gives memory back by making a storage empty, and takes it again."""
        key = storage._cdata
        known = self.alive.get(key)
        if known is None:
            return
        place, reference = known
        kind = self.storages[place][1]
        self.free(place)
        again = self._born(size)
        self.storages[again][1] = kind
        fresh = weakref.ref(
            reference(), lambda _, key=key, place=again: self._died(key, place)
        )
        self.alive[key] = (again, fresh)

    def mark(self, tensors, kind):
        for tensor in tensors:
            tensor = getattr(tensor, "_local_tensor", tensor)
            place = self.storage(tensor)
            if place is not None:
                self.storages[place][1] = kind

    # -- operations -----------------------------------------------------------

    def begin(self):
        """From here operations are written down."""
        self.open = True
        self.ops = []
        self.views = 0
        self.entered = 0
        self.waits = {}
        self.last = {}
        self.pending = []
        self.collectives = {}
        self.begin_alive = sorted(place for place, _ in self.alive.values())
        self.new = []
        self.freed = []

    def end(self):
        """The program: operations, and storages with what they were for."""
        self._append("host.end", [], [], {}, stream=0)
        self.open = False
        places = {}
        kinds = []

        def renumber(place):
            if place not in places:
                places[place] = len(places)
                kinds.append(self.storages[place])
            return places[place]

        alive = [renumber(place) for place in self.begin_alive]
        for op in self.ops:
            op[6] = [renumber(place) for place in op[6]]
            op[7] = [renumber(place) for place in op[7]]
            op[9] = [place if place < 0 else renumber(place) for place in op[9]]
        return {"storages": kinds, "alive": alive, "ops": self.ops}

    def _place_in_program(self):
        """(module, phase, unit) of the operation that runs now."""
        place = self.modules.place
        if self.phase is not None:
            return place(""), self.phase, 0
        node = torch._C._current_autograd_node()
        if node is None and torch._C._current_graph_task_id() != -1:
            return place(""), "backward", self.unit_of_backward  # gradients are added up
        if node is None:
            return place(self.stack[-1] if self.stack else ""), "forward", self.units.now
        if self.stack:
            return place(self.stack[-1]), "recompute", self.units.now
        module, unit = self.modules_of.get(node._sequence_nr(), ("", 0))
        self.unit_of_backward = unit
        return place(module), "backward", unit

    @property
    def modules(self):
        return self.capture.modules

    def quiet(self):
        """An operation without a kernel."""
        self.views += 1
        if self.layers:
            self.layers.seen_quiet()

    def enter(self):
        """The forward of a module begins."""
        self.entered += 1
        if self.layers:
            self.layers.seen_module()

    def _append(self, operation, inputs, outputs, attributes, stream, used=()):
        call = self.capture.call(operation, inputs, outputs, attributes)
        module, phase, unit = self._place_in_program()
        return self.append(call, module, phase[0], stream, used, unit)

    def append(self, call, module, phase, stream, used, unit, also_after=()):
        """One operation: used are the storages of its in- and outputs, -1 for lists."""
        after = sorted(self.waits.pop(stream, set()).union(also_after))
        self.ops.append(
            [
                call,
                module,
                phase,
                stream,
                self.views,
                self.entered,
                self.new,
                self.freed,
                after,
                list(used),
                unit,
            ]
        )
        if self.layers:
            self.layers.seen_operation(self.ops[-1], len(self.ops) - 1)
        self.views = 0
        self.entered = 0
        self.new = []
        self.freed = []
        self.last[stream] = len(self.ops) - 1
        return len(self.ops) - 1

    def _described(self, value):
        """Tensors of an argument: each its place in the table, lists as one entry."""
        return [place for place, _ in self._described_with_storages(value)]

    def _described_with_storages(self, value):
        """[(place in the table, storage)], -1 as the storage of a list."""
        if isinstance(value, torch.Tensor):
            if not on_gpu(value):
                return []
            strides = None if value.is_contiguous() else value.stride()
            kind = DTYPES.get(value.dtype, "other")
            return [(self.capture.tensor(kind, value.shape, strides, 1), self.storage(value))]
        if not isinstance(value, (list, tuple)):
            return []
        by_type = {}
        for tensor in tensors_of(value):
            if on_gpu(tensor):
                by_type.setdefault(tensor.dtype, []).append(tensor)
        places = []
        for dtype, tensors in by_type.items():
            if len(tensors) <= MOST_SINGLE:
                for tensor in tensors:
                    places += self._described_with_storages(tensor)
                continue
            elements = sum(tensor.numel() for tensor in tensors)
            kind = DTYPES.get(dtype, "other")
            places.append((self.capture.tensor(kind, [elements], None, len(tensors)), -1))
        return places

    def _attributes(self, name, func, args, kwargs):
        wanted = ATTRIBUTES.get(name)
        if wanted is None:
            return {}
        values = {}
        for index, argument in enumerate(func._schema.arguments):
            if argument.name in wanted:
                value = args[index] if index < len(args) else kwargs.get(argument.name)
                values[argument.name] = list(value) if isinstance(value, (list, tuple)) else value
        return values

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.prim.device.default:
            return args[0].device  # autograd asks this more than anything else
        if any(kind not in PLAIN for kind in types):
            return NotImplemented
        if self.repeating:
            return func(*args, **(kwargs or {}))
        if (self.stack or self.units.now) and torch._C._current_autograd_node() is None:
            # a node of autograd has taken its number already
            number = torch._C._autograd._get_sequence_nr() - 1
            module = self.stack[-1] if self.stack else ""
            self.modules_of.setdefault(number, (module, self.units.now))
        kwargs = place_on_gpu(kwargs or {})
        name = str(func._schema.name).replace("::", ".")
        name = STANDS_FOR.get(name, name)
        if name == "aten._local_scalar_dense":
            return self._scalar(args[0])
        if name == "aten._to_copy" and self._stays(args[0], kwargs):
            return aten.alias.default(args[0])
        if name == "aten._to_copy" and kwargs.get("device") == GPU and not on_gpu(args[0]):
            return self._to_gpu(args[0], kwargs.get("dtype"))
        if name == "_c10d_functional.wait_tensor":
            self._wait_tensor(args[0])
            return func(*args, **kwargs)
        try:
            out = self._run(name, func, args, kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException):
            if not self._only_values(args, kwargs):
                raise
            with unset_fake_temporarily():
                return func(*args, **kwargs)
        if self._on_host(args, kwargs, out):
            if self.layers and torch.Tag.nondeterministic_seeded in func.tags:
                self.layers.seen_drawing()
            # small values on the host are real: scripts decide by them
            with unset_fake_temporarily():
                return func(*args, **kwargs)
        if name in COLLECTIVES:
            self._collective(name, args, out)
        else:
            self._operation(name, func, args, kwargs, out)
        return out

    @staticmethod
    def _only_values(args, kwargs):
        """All tensors that go in are small ones of the host, with values."""
        inputs = list(tensors_of((args, kwargs)))
        return bool(inputs) and all(
            not isinstance(tensor, FakeTensor) and not on_gpu(tensor) and is_small(tensor)
            for tensor in inputs
        )

    @staticmethod
    def _on_host(args, kwargs, out):
        """Only small tensors of the host take part."""
        inputs = list(tensors_of((args, kwargs)))
        if any(isinstance(tensor, FakeTensor) for tensor in inputs):
            return False
        tensors = inputs + list(tensors_of(out))
        return bool(tensors) and all(not on_gpu(tensor) and is_small(tensor) for tensor in tensors)

    @staticmethod
    def _run(name, func, args, kwargs):
        """The operation on fake tensors. Where torch has no such form of a collective, one
        on stand-ins tells what is waited for."""
        try:
            return func(*args, **kwargs)
        except (NotImplementedError, UnsupportedOperatorException):
            if name not in COLLECTIVES:
                raise
        with unset_fake_temporarily():
            result = func(*_stand_ins(args), **_stand_ins(kwargs))
        return (args[0], *result[1:]) if isinstance(result, (list, tuple)) else result

    @staticmethod
    def _stays(tensor, kwargs):
        """A move to the GPU of what is there already."""
        return (
            kwargs.get("device") == GPU
            and tensor.device == GPU
            and kwargs.get("dtype", tensor.dtype) in (None, tensor.dtype)
        )

    def _to_gpu(self, tensor, dtype):
        """A copy from the host; the fake mode would keep a known value there."""
        out = aten.empty_strided.default(
            tensor.shape, tensor.stride(), dtype=dtype or tensor.dtype, device=GPU
        )
        self.storage(out)
        if self.open:
            described = self._described(out)
            self._append("host.copy", described, described, {}, self.current.number)
        return out

    def _scalar(self, tensor):
        """The host asks for a value: of a tensor on the GPU it is true, or one, unless it is
        known to be none."""
        if not isinstance(tensor, FakeTensor):
            with unset_fake_temporarily():
                return tensor.item()
        if on_gpu(tensor):
            self.host_waits(self.current.number)
        value = not _values.is_no(tensor)
        if tensor.dtype == torch.bool:
            return value
        return float(value) if tensor.dtype.is_floating_point else int(value)

    @staticmethod
    def _keep_on_gpu(tensors):
        """Some operations forget the number of the device that theirs were on."""
        for tensor in tensors:
            if isinstance(tensor, FakeTensor) and not on_gpu(tensor):
                tensor.fake_device = GPU

    def _operation(self, name, func, args, kwargs, out):
        made = list(tensors_of(out))
        inputs = [tensor for tensor in tensors_of((args, kwargs)) if on_gpu(tensor)]
        if inputs and kwargs.get("device") is None:
            self._keep_on_gpu(made)
        outputs = [tensor for tensor in made if on_gpu(tensor)]
        if name in _values.NAMES:
            _values.notice(name, args, inputs, outputs)
        if not outputs and not inputs:
            if name not in NOT_REAL:
                self.quiet()
            return
        sources = {tensor.untyped_storage()._cdata for tensor in inputs}
        for tensor in inputs:
            self.storage(tensor)
        for tensor in outputs:
            self.storage(tensor)
        aliased = outputs and all(t.untyped_storage()._cdata in sources for t in outputs)
        if name in NO_KERNEL or (aliased and not func._schema.is_mutable):
            if name not in NOT_REAL:
                self.quiet()
            return
        if not self.open:
            return
        self._wait_for_filled(inputs)
        described = []
        for value in (*args, *kwargs.values()):
            described += self._described_with_storages(value)
        results = self._described_with_storages(list(outputs))
        attributes = self._attributes(name, func, args, kwargs)
        self._append(
            name,
            [place for place, _ in described],
            [place for place, _ in results],
            attributes,
            self.current.number,
            [storage for _, storage in described + results],
        )

    # -- communication --------------------------------------------------------

    def _collective(self, name, args, out):
        tensors = [tensor for tensor in tensors_of(args) if on_gpu(tensor)]
        for tensor in tensors_of((args, out)):
            self.storage(tensor)
        if not self.open:
            return
        kind = COLLECTIVES[name]
        sizes = [bytes_of(tensor) for tensor in tensors]
        if kind in ("all_gather", "reduce_scatter"):
            size = self._full_size(args, out, sizes)
        elif kind == "all_to_all":
            size = sizes[-1] if sizes else 0  # what a rank sends: c10d has the output first
        else:
            size = sum(sizes)
        group = self.groups.of(args)
        attributes = {"group": self.capture.group(group), "bytes": size}
        if kind in ("send", "recv"):
            attributes["peer"] = self.groups.peer(args)
        self.wait(COMMUNICATION, self.position(self.current.number))
        used = [self.storage(tensor) for tensor in tensors_of((args, out)) if on_gpu(tensor)]
        operation = self._append(f"c10d.{kind}", [], [], attributes, COMMUNICATION, used)
        # communication has a stream of its own: mark it by its group
        self.ops[operation][3] = -1 - attributes["group"]
        self.pending.append(operation)
        for tensor in tensors_of((args, out)) if kind != "send" else ():
            if on_gpu(tensor):
                self.collectives[tensor.untyped_storage()._cdata] = operation

    @staticmethod
    def _full_size(args, out, sizes):
        """Bytes of the gathered, or of the unreduced tensors: the largest of all, lists
        counted whole."""
        whole = [sum(map(bytes_of, tensors_of(v))) for v in args if isinstance(v, (list, tuple))]
        if isinstance(out, torch.Tensor):
            whole.append(bytes_of(out))
        return max(sizes + whole, default=0)

    def wait_for(self, operation):
        """The current stream waits for a collective."""
        if not self.open or operation is None or operation >= len(self.ops):
            return
        self.waits.setdefault(self.current.number, set()).add(operation)
        if operation in self.pending:
            self.pending.remove(operation)

    def _wait_for_filled(self, tensors):
        """Who reads what a collective fills has waited for it, however the program says so."""
        for tensor in tensors if self.pending else ():
            operation = self.collectives.get(tensor.untyped_storage()._cdata)
            if operation in self.pending:
                self.wait_for(operation)

    def wait_for_messages(self):
        """A batch of sends and receives is waited for as a whole."""
        for operation in list(self.pending):
            if self.capture.calls.items[self.ops[operation][0]]["op"] in MESSAGES:
                self.wait_for(operation)

    def wait_for_all(self):
        for operation in list(self.pending):
            self.wait_for(operation)

    def _wait_tensor(self, tensor):
        self.quiet()
        self.wait_for(self.collectives.get(tensor.untyped_storage()._cdata))


def _named_on_gpu(value):
    if isinstance(value, torch.device):
        return GPU if value.type == "cuda" else value
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return GPU
    return value


class OnGpu(TorchFunctionMode):
    """Functions that name a GPU get ours, before PyTorch asks the driver which it is."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        args = tuple(_named_on_gpu(value) for value in args)
        kwargs = {name: _named_on_gpu(value) for name, value in (kwargs or {}).items()}
        if func is torch.Tensor.cuda:
            return args[0].to(GPU)
        if func in (torch.tensor, torch.as_tensor) and kwargs.get("device") == GPU:
            # real data does not keep the number of its device
            return func(*args, **{**kwargs, "device": None}).to(GPU)
        if func is torch.Tensor.to and len(args) > 1 and type(args[1]) is int:
            args = (args[0], GPU, *args[2:])
        return func(*args, **kwargs)
