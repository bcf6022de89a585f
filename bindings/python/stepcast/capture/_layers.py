"""Layers that repeat run once. What the forward and the backward of a layer did is noted for
some of its calls; when two did the same, a further call that is equal (class, parameters,
plain attributes, hooks and inputs: `_describe.py`) does not run: what was noted is written
down again, under the layer's own name and with storages of its own, and autograd gets
gradients of the same shapes at the same places. Anything that is not surely equal runs.
"""

import math
import random

import torch
from torch.utils import _pytree

from ._describe import (
    Modules,
    NotPlain,
    attributes_of,
    describe_tensor,
    local_of,
    same_objects,
)
from ._recorder import COMMUNICATION, GPU

CALLS_TO_COMPARE = 3  # the last two; a first one may fill caches
MOST_TRIES = 3
CONTAINERS = (torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ModuleDict)


class Unlike(Exception):
    """A layer that cannot stand for others; the text says why."""


class LaterUnlike(BaseException):
    """A layer whose backward is given other gradients than those it was taken for: it has to
    run, from the beginning."""

    def __init__(self, name):
        super().__init__(name)
        self.name = name


def repeated_layers(root):
    """Modules of a list that has others of their class, with modules of their own."""
    for container in root.modules():
        if not isinstance(container, CONTAINERS):
            continue
        kinds = [type(child) for child in container.children()]
        for child in container.children():
            if kinds.count(type(child)) > 1 and any(True for _ in child.children()):
                yield child


class Layers:
    """All layers of one rank's run."""

    def __init__(self, recorder, known, alone):
        self.recorder = recorder
        self.known = known  # key → template, None where calls differed
        self.modules = Modules()
        self.alone = alone  # names of layers that always run
        self.recordings = {}  # key → those that are not compared yet
        self.tries = {}  # key → how often calls were compared
        self.running = None  # recording whose forward runs
        self.tracked = []  # recordings whose backward is to come
        self.recent = None  # the one whose backward ran last
        self.wrapped = []

    # -- modules ----------------------------------------------------------------

    def wrap(self, root):
        for layer in repeated_layers(root):
            if "_stepcast_forward" in layer.__dict__:
                continue
            forward = layer.forward
            layer.__dict__["_stepcast_forward"] = layer.__dict__.get("forward")
            layer.__dict__["forward"] = self._wrapper(layer, forward)
            self.wrapped.append(layer)

    def _wrapper(self, layer, forward):
        def run(*args, **kwargs):
            return self.call(layer, forward, args, kwargs)

        return run

    def unwrap(self):
        for layer in self.wrapped:
            before = layer.__dict__.pop("_stepcast_forward")
            if before is None:
                del layer.__dict__["forward"]
            else:
                layer.__dict__["forward"] = before
        self.wrapped = []

    # -- calls --------------------------------------------------------------------

    def call(self, layer, forward, args, kwargs):
        self.recorder.open = True
        if not self._can_repeat() or self.recorder.names[id(layer)] in self.alone:
            return forward(*args, **kwargs)
        try:
            call = Call(layer, self.modules.describe(layer), args, kwargs, self.recorder)
        except NotPlain:
            return forward(*args, **kwargs)
        self._compare(call.key)
        if self.known.get(call.key) is not None:
            return repeat(self.recorder, self.known[call.key], call)
        recordings = self.recordings.setdefault(call.key, [])
        if call.key in self.known or self.running or len(recordings) == CALLS_TO_COMPARE:
            return forward(*args, **kwargs)
        return self._record(call, forward, args, kwargs)

    @staticmethod
    def _can_repeat():
        """Not while something is computed again, casts are cached or saves are watched."""
        hooks = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
        return (
            torch._C._current_graph_task_id() == -1
            and not torch.is_autocast_enabled("cpu")
            and (hooks is None or hooks(True) is None)
        )

    def _record(self, call, forward, args, kwargs):
        recording = Recording(call, self.recorder)
        drawn = random.getstate()
        layer, attributes = call.layer, attributes_of(call.layer)
        self.running = recording
        self.recent = None
        try:
            out = forward(*args, **kwargs)
        finally:
            self.running = None
        try:
            if random.getstate() != drawn:
                raise Unlike("it draws numbers on the host")
            if not same_objects(attributes, attributes_of(layer)):
                raise Unlike("it changes its attributes")
            recording.end_forward(out)
        except (Unlike, NotPlain):
            self.known[call.key] = None
            return out
        self.recordings[call.key].append(recording)
        self.tracked.append(recording)
        return out

    def _compare(self, key):
        """Two recordings that have seen their backward become a template, or the end of it."""
        recordings = self.recordings.get(key, ())
        if key in self.known:
            self._forget(key)
            return
        if len(recordings) < CALLS_TO_COMPARE or not all(r.finished() for r in recordings):
            return
        try:
            templates = [recording.template() for recording in recordings[1:]]
            same = comparable(templates[0]) == comparable(templates[1])
        except Unlike:
            same = False
        self.tries[key] = self.tries.get(key, 0) + 1
        self._forget(key)
        if same:
            self.known[key] = templates[0]
        elif self.tries[key] == MOST_TRIES:
            self.known[key] = None

    def finish(self):
        """What the end of the run leaves to compare, for ranks to come."""
        for key in list(self.recordings):
            self._compare(key)

    def _forget(self, key):
        for recording in self.recordings.pop(key, ()):
            recording.drop_hooks()
            if recording in self.tracked:
                self.tracked.remove(recording)

    # -- what the recorder sees -----------------------------------------------------

    def _now(self):
        """The recording that what happens now belongs to."""
        node = torch._C._current_autograd_node()
        if self.running is not None:
            return self.running if node is None else None
        if not self.tracked or torch._C._current_graph_task_id() == -1:
            return None
        if node is None:  # autograd adds gradients up
            recent = self.recent
            return recent if recent is not None and not recent.finished() else None
        number = node._sequence_nr()
        if node.name() == "torch::autograd::AccumulateGrad":
            return None
        self.recent = None
        for recording in self.tracked:
            if recording.begun and recording.first <= number < recording.end:
                self.recent = recording
        return self.recent

    def seen_quiet(self):
        recording = self._now()
        if recording is not None:
            recording.note(("quiet",))

    def seen_module(self):
        recording = self._now()
        if recording is not None:
            recording.note(("module",))

    def seen_birth(self, place, size):
        recording = self._now()
        if recording is not None:
            recording.born(place, size)

    def seen_death(self, place):
        for recording in (self.running, *self.tracked):
            if recording is not None:
                recording.died(place)

    def seen_drawing(self):
        """A random number on the host, by which a program may decide."""
        if self.running is not None:
            self.running.unlike = "it draws numbers on the host"

    def seen_operation(self, operation, index):
        recording = self._now()
        if recording is not None:
            recording.operation(operation, index)


class Call:
    """One call of a layer: what it is given, and the key that equal calls share."""

    def __init__(self, layer, described_layer, args, kwargs, recorder):
        self.layer = layer
        self.name = recorder.names[id(layer)]
        leaves, self.structure = _pytree.tree_flatten((args, kwargs))
        self.inputs = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        self.parameters = list(layer.parameters())
        described = [describe_tensor(leaf) for leaf in leaves]
        storages = [recorder.storage(tensor) for tensor in self.inputs]
        if None in storages:
            raise NotPlain("a tensor of the host")
        alike = tuple(storages.index(place) for place in storages)
        self.key = repr(
            (
                described_layer,
                described,
                str(self.structure),
                alike,
                torch.is_grad_enabled(),
                torch.is_inference_mode_enabled(),
            )
        )
        self.places = {place: ("input", i) for i, place in enumerate(storages)}
        for i, parameter in enumerate(self.parameters):
            self.places[recorder.storage(local_of(parameter))] = ("parameter", i)


    def forget(self):
        self.inputs = self.parameters = ()


def meta_of(tensor):
    """What is needed to make such a tensor again."""
    inner = local_of(tensor)
    spec = None
    if inner is not tensor:
        spec = (tuple(tensor.placements), tuple(tensor.shape), tuple(tensor.stride()))
    size = inner.untyped_storage().nbytes() // inner.element_size()
    return (
        inner.dtype,
        tuple(inner.shape),
        tuple(inner.stride()),
        inner.storage_offset(),
        size,
        spec,
    )


class Recording:
    """What one call did."""

    def __init__(self, call, recorder):
        self.recorder = recorder
        self.call = call
        self.forward = []
        self.backward = []
        self.events = self.forward
        self.local = {}  # storage → its number here
        self.alive = set()
        self.positions = {}  # operation of the program → its number here
        self.stream = recorder.current.number
        self.unit = recorder.units.now or recorder.units.count
        self.unlike = None  # why this layer cannot stand for others
        self.first = torch._C._autograd._get_sequence_nr()
        self.end = None
        self.begun = False  # its backward, behind the hooks that others have put on its outputs
        self.outputs = []
        self.gradients = {}  # of inputs
        self.given = {}  # storages of the gradients of outputs
        self.layouts = {}  # how those lie
        self.waiting = set()  # gradients that have not been seen
        self.handles = []

    # -- events -------------------------------------------------------------------

    def note(self, event):
        self.events.append(event)

    def born(self, place, size):
        self.local[place] = len(self.local)
        self.alive.add(place)
        self.note(("born", self.local[place], size))

    def died(self, place):
        if place in self.alive:
            self.alive.discard(place)
            self.note(("died", self.local[place]))
        elif self.events is self.backward and not self.finished():
            named = self.given.get(place) or self.call.places.get(place)
            if named is not None:
                self.note(("let go", named))

    def operation(self, operation, index):
        call, module, phase, stream, *_, after, used, unit = operation
        name = self.recorder.modules.items[module]
        mine = name == self.call.name or name.startswith(self.call.name + ".")
        last = self.recorder.last.get(self.stream)
        waits = []
        for other in after:
            if other == last:
                waits.append("last")
            elif other in self.positions:
                waits.append(self.positions[other])
        self.positions[index] = len(self.positions)
        self.note(
            (
                "operation",
                call,
                (mine, name[len(self.call.name) :] if mine else name),
                phase,
                stream == COMMUNICATION,
                tuple(waits),
                tuple(self._named(place) for place in used),
                unit - self.unit if unit else None,
            )
        )
        if stream not in (self.stream, COMMUNICATION):
            self.unlike = "it works on several streams"

    def _named(self, place):
        if place in self.local:
            return ("local", self.local[place])
        return self.call.places.get(place) or self.given.get(place)

    # -- forward and backward --------------------------------------------------------

    def end_forward(self, out):
        recorder = self.recorder
        self.end = torch._C._autograd._get_sequence_nr()
        leaves, self.structure = _pytree.tree_flatten(out)
        if recorder.pending and recorder.pending[-1] in self.positions:
            raise Unlike("communication goes on behind it")
        described = [describe_tensor(leaf) for leaf in leaves]
        self.leaves = [
            None if isinstance(leaf, torch.Tensor) else described[i] for i, leaf in enumerate(leaves)
        ]
        self.values = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        for i, tensor in enumerate(tensors):
            place = recorder.storage(tensor)
            if local_of(tensor) is not tensor or place not in self.local:
                raise Unlike("what it gives is not its own")
            self.outputs.append((self.local[place], meta_of(tensor), tensor.requires_grad))
            self.alive.discard(place)  # how long they live is not up to the layer
            if tensor.requires_grad:
                self.handles.append(tensor.register_hook(self._given(i)))
                self.handles.append(tensor.grad_fn.register_prehook(self._begin))
        self.held = self._held(tensors)
        self.events = self.backward
        self.positions = {}
        if not any(tensor.requires_grad for tensor in tensors):
            self.call.forget()
            return
        for i, tensor in enumerate(self.call.inputs):
            if tensor.requires_grad:
                self.waiting.add(("input", i))
                self.handles.append(tensor.register_hook(self._got_input(i)))
        for i, parameter in enumerate(self.call.parameters):
            if parameter.requires_grad:
                self.waiting.add(("parameter", i))
                self.handles.append(parameter.register_hook(self._got_parameter(i)))
        self.call.forget()  # or what it was given would live longer than it does

    def _begin(self, _):
        self.begun = True

    def _given(self, i):
        def hook(gradient):
            self.given[self.recorder.storage(local_of(gradient))] = ("given", i)
            self.layouts[i] = describe_tensor(gradient)

        return hook

    def _got(self, which, gradient):
        """The gradient of an input or a parameter, which must be the layer's own."""
        self.waiting.discard(which)
        place = self.recorder.storage(local_of(gradient))
        self.alive.discard(place)
        if place not in self.local:
            self.unlike = "a gradient is not its own"
        return (which[1], self.local.get(place), meta_of(gradient))

    def _got_input(self, i):
        def hook(gradient):
            if ("input", i) in self.waiting:
                self.gradients[i] = self._got(("input", i), gradient)

        return hook

    def _got_parameter(self, i):
        def hook(gradient):
            mine = self.recorder.storage(local_of(gradient)) in self.local
            if mine and ("parameter", i) in self.waiting:
                self.note(("gradient", *self._got(("parameter", i), gradient)))

        return hook

    def _held(self, outputs):
        """Inputs that backward needs. Also: nothing outside may get a gradient from here."""
        edges = {tensor.grad_fn for tensor in self.call.inputs if tensor.grad_fn is not None}
        inputs = {id(tensor) for tensor in self.call.inputs}
        parameters = {id(parameter) for parameter in self.call.parameters}
        held = set()
        seen = set()
        nodes = [tensor.grad_fn for tensor in outputs if tensor.grad_fn is not None]
        while nodes:
            node = nodes.pop()
            if node in seen or node is None or node in edges:
                continue
            seen.add(node)
            if node.name() == "torch::autograd::AccumulateGrad":
                if id(node.variable) not in parameters and id(node.variable) not in inputs:
                    raise Unlike("a parameter from outside")
                continue
            if node._sequence_nr() < self.first:
                raise Unlike("a tensor from outside wants a gradient")
            for tensor in saved_by(node):
                named = self._named(self.recorder.storage(local_of(tensor)))
                if named is not None and named[0] == "input":
                    held.add(named[1])
            nodes += [edge[0] for edge in node.next_functions]
        return tuple(sorted(held))

    def finished(self):
        return not self.waiting

    def drop_hooks(self):
        for handle in self.handles:
            handle.remove()
        self.handles = []

    def template(self):
        """What repeats, without the names of this call."""
        given = [output[0] for output in self.outputs]
        given += [gradient[1] for gradient in self.gradients.values()]
        given += [event[2] for event in self.backward if event[0] == "gradient"]
        if self.unlike:
            raise Unlike(self.unlike)
        if len(set(given)) < len(given):
            raise Unlike("what it gives lies in one storage")
        if any(self.local[place] not in given for place in self.alive):
            raise Unlike("it keeps tensors")
        return {
            "forward": self.forward,
            "backward": self.backward,
            "outputs": self.outputs,
            "leaves": self.leaves,
            "values": self.values,
            "structure": self.structure,
            "gradients": self.gradients,
            "layouts": self.layouts,
            "held": self.held,
        }


def comparable(template):
    """Without when others let go of what the layer was given."""
    backward = [event for event in template["backward"] if event[0] != "let go"]
    return {**template, "backward": backward}


def saved_by(node):
    """Tensors that a node of autograd keeps for its backward."""
    try:
        yield from (t for t in node.saved_tensors if t is not None)
        return
    except AttributeError:
        pass
    for name in dir(node):
        if not name.startswith("_saved_"):
            continue
        try:
            value = getattr(node, name)
        except RuntimeError:
            continue
        for tensor in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(tensor, torch.Tensor):
                yield tensor


# ---- once more ----


class Repetition:
    """A call whose events are written down again."""

    def __init__(self, recorder, template, call):
        self.recorder = recorder
        self.template = template
        self.call = call
        self.places = {}  # number of a storage → storage of this run
        self.tensors = {}  # number of a storage → tensor that is given away
        self.operations = []  # of the program, by their number here
        self.held = {
            ("input", i): call.inputs[i].untyped_storage() for i in template["held"]
        }
        self.names = {name: place for place, name in call.places.items()}
        self.position = 0
        self.unit = recorder.units.now or recorder.units.count
        self.order = [e[1] for e in template["backward"] if e[0] == "gradient"]
        self.left = len(self.order)  # gradients of parameters to come
        self.into_inputs = any(tensor.requires_grad for tensor in call.inputs)
        self.gradient_of_token = self.token()

    def __del__(self):
        # what was kept for a backward that never came, or has ended
        for place in self.places.values():
            self.recorder.free(place)

    def make(self, meta, mesh=None):
        """A tensor like one that was seen."""
        dtype, shape, strides, offset, size, spec = meta
        self.recorder.repeating = True
        try:
            if math.prod(shape) == size:
                tensor = torch.empty_strided(shape, strides, dtype=dtype, device=GPU)
            else:
                tensor = torch.empty(size, dtype=dtype, device=GPU)
                tensor = tensor.as_strided(shape, strides, offset)
            if spec is None:
                return tensor
            from torch.distributed.tensor import DTensor
            from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta

            placements, whole, whole_strides = spec
            described = TensorMeta(torch.Size(whole), whole_strides, dtype)
            return DTensor(
                tensor,
                DTensorSpec(mesh, placements, tensor_meta=described),
                requires_grad=False,
            )
        finally:
            self.recorder.repeating = False

    def tie(self, apply, *tensors):
        """A node of autograd, which belongs to the layer: what hooks on it do does, too."""
        out = apply(self, *tensors)
        number = torch._C._autograd._get_sequence_nr() - 1
        self.recorder.modules_of[number] = (self.call.name, self.recorder.units.now)
        return out

    def token(self):
        """What ties the parts of a backward to each other."""
        self.recorder.repeating = True
        try:
            return torch.empty(())
        finally:
            self.recorder.repeating = False

    def mark(self, ctx, outputs):
        wanted = [requires for _, _, requires in self.template["outputs"]]
        ctx.mark_non_differentiable(*[o for o, wants in zip(outputs, wanted) if not wants])

    def born(self, number, size):
        """A storage: of a tensor where one is given away, else only a place."""
        if number in self.tensors:
            self.recorder.storage(local_of(self.tensors[number]))
        else:
            self.places[number] = self.recorder._born(size)

    def write(self, event):
        recorder = self.recorder
        what = event[0]
        if what == "quiet":
            recorder.quiet()
        elif what == "module":
            recorder.enter()
        elif what == "born":
            self.born(event[1], event[2])
        elif what == "died":
            if event[1] in self.places:
                recorder.free(self.places.pop(event[1]))
        elif what == "let go":
            self.held.pop(event[1], None)
        else:
            self.write_operation(*event[1:])

    def write_operation(self, call, name, phase, communicates, after, used, unit):
        recorder = self.recorder
        here = recorder.current.number
        module = recorder.modules.place(self.call.name + name[1] if name[0] else name[1])
        waits = {self.operations[wait] for wait in after if wait != "last"}
        if "last" in after and here in recorder.last:
            waits.add(recorder.last[here])
        index = recorder.append(
            call,
            module,
            phase,
            COMMUNICATION if communicates else here,
            [self.place_of(named) for named in used],
            0 if unit is None else self.unit + unit,
            waits,
        )
        units = recorder.units
        units.count = max(units.count, self.unit + (unit or 0))
        if communicates:
            group = recorder.capture.calls.items[call]["with"]["group"]
            recorder.ops[index][3] = -1 - group
        self.operations.append(index)

    def place_of(self, named):
        if named is None:
            return -1
        if named[0] != "local":
            return self.names.get(named, -1)
        if named[1] in self.tensors:
            return self.recorder.storage(local_of(self.tensors[named[1]]))
        return self.places.get(named[1], -1)

    # -- forward ----------------------------------------------------------------------

    def forward(self):
        """Writes the events and gives the outputs."""
        for number, meta, _ in self.template["outputs"]:
            if number not in self.tensors:
                self.tensors[number] = self.make(meta)
        for event in self.template["forward"]:
            self.write(event)
        outputs = [self.tensors.pop(number) for number, _, _ in self.template["outputs"]]
        self.operations = []
        return outputs

    # -- backward ---------------------------------------------------------------------

    def begin_backward(self, gradients):
        template = self.template
        layouts = {i: describe_tensor(g) for i, g in enumerate(gradients) if g is not None}
        if layouts != template["layouts"]:
            raise LaterUnlike(self.call.name)
        for i, gradient in enumerate(gradients):
            if gradient is not None:
                self.held[("given", i)] = local_of(gradient).untyped_storage()
                self.names[("given", i)] = self.recorder.storage(local_of(gradient))
        for _, number, meta in template["gradients"].values():
            self.tensors[number] = self.make(meta)
        for event in template["backward"]:
            if event[0] == "gradient":
                _, parameter, number, meta = event
                mesh = getattr(self.call.parameters[parameter], "device_mesh", None)
                self.tensors[number] = self.make(meta, mesh)

    def until_gradient(self):
        """Events up to the next gradient of a parameter, which is given; None at the end."""
        events = self.template["backward"]
        begin = self.position
        following = next(
            (i for i in range(begin, len(events)) if events[i][0] == "gradient"), len(events)
        )
        for event in events[begin:following]:
            self.write(event)
        self.position = following + 1
        if following == len(events):
            return None
        self.left -= 1
        return self.tensors.pop(events[following][2])

    def input_gradients(self):
        gradients = self.template["gradients"]
        found = [
            self.tensors.get(gradients[i][1]) if i in gradients else None
            for i in range(len(self.call.inputs))
        ]
        self.tensors = {}
        self.held = {}
        return found


class Inputs(torch.autograd.Function):
    """The end of a layer's backward: gradients of its inputs."""

    @staticmethod
    def forward(ctx, repetition, *inputs):
        ctx.repetition = repetition
        ctx.set_materialize_grads(False)
        if repetition.order:
            return repetition.token()
        outputs = repetition.forward()
        repetition.mark(ctx, outputs)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *gradients):
        repetition = ctx.repetition
        ctx.repetition = None
        if not repetition.order:
            repetition.begin_backward(gradients)
        repetition.until_gradient()
        return (None, *repetition.input_gradients())


class Parameter(torch.autograd.Function):
    """A part of a layer's backward: up to the gradient of one parameter."""

    @staticmethod
    def forward(ctx, repetition, first, token, parameter):
        ctx.repetition = repetition
        ctx.first = first
        ctx.set_materialize_grads(False)
        if not first:
            return repetition.token()
        outputs = repetition.forward()
        repetition.mark(ctx, outputs)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *gradients):
        repetition = ctx.repetition
        ctx.repetition = None
        if ctx.first:
            repetition.begin_backward(gradients)
        gradient = repetition.until_gradient()
        if not repetition.left and not repetition.into_inputs:
            repetition.until_gradient()
            repetition.input_gradients()
        return (None, None, repetition.gradient_of_token, gradient)


def repeat(recorder, template, call):
    """The outputs of a call that is equal to those of the template."""
    repetition = Repetition(recorder, template, call)
    if not any(requires for _, _, requires in template["outputs"]):
        outputs = repetition.forward()
    else:
        outputs = repetition.tie(Inputs.apply, *call.inputs)
        order = repetition.order
        for parameter in reversed(order):
            first = parameter == order[0]
            outputs = repetition.tie(Parameter.apply, first, outputs, call.parameters[parameter])
    outputs = iter(outputs)
    leaves = [
        next(outputs) if described is None else value
        for described, value in zip(template["leaves"], template["values"])
    ]
    return _pytree.tree_unflatten(leaves, template["structure"])
