"""From a function or a script to a capture: fake tensors, fake process groups,
one run for each rank that differs."""

import contextlib
import functools
import gc
import importlib
import itertools
import os
import pickle
import re
import runpy
import sys
import traceback

from ._document import Capture


class CaptureError(Exception):
    """What could not be captured, and what to do about it."""

    def __init__(self, message, where=""):
        super().__init__(message)
        self.where = where  # in the script, where it ran in a process of its own


class _Done(BaseException):
    """The captured step has ended: nothing more of the script is needed."""


OLDEST = (2, 4)
MOST_RUNS = 4  # in which layers turn out to differ; then all run
SWAPS_FAKE = (2, 9)  # from here on Module.to() swaps fake parameters by itself


def _version(torch):
    return tuple(int(n) for n in re.findall(r"\d+", torch.__version__)[:2])


def _torch():
    try:
        import torch
    except ImportError:
        raise CaptureError(
            "PyTorch is not installed\n  hint: capture needs torch 2.4 or newer (the CPU build "
            "will do)"
        ) from None
    if _version(torch) < OLDEST:
        raise CaptureError(
            f"torch {torch.__version__} is too old\n  hint: capture needs torch 2.4 or newer"
        )
    return torch


class _Groups:
    """Names process groups by the dimensions of the mesh, where they are such."""

    def __init__(self, world, rank):
        self.world = world
        self.rank = rank
        self.mesh = []

    def coordinates(self, rank):
        place = []
        for _, size in reversed(self.mesh):
            place.append(rank % size)
            rank //= size
        return list(reversed(place))

    def rank_at(self, coordinates):
        rank = 0
        for (_, size), place in zip(self.mesh, coordinates):
            rank = rank * size + place
        return rank

    def members(self, dims):
        """Ranks that share all coordinates but those of dims with this one."""
        mine = self.coordinates(self.rank)
        choices = [
            range(size) if name in dims else [place]
            for (name, size), place in zip(self.mesh, mine)
        ]
        return [self.rank_at(choice) for choice in itertools.product(*choices)]

    def entry(self, ranks):
        ranks = sorted(ranks)
        names = [name for name, size in self.mesh if size > 1]
        for count in range(1, len(names) + 1):
            for dims in itertools.combinations(names, count):
                if self.members(dims) == ranks:
                    return {"dims": list(dims)}
        if ranks == list(range(self.world)):
            return {"dims": []}
        return {"ranks": ranks}

    def _process_group(self, args):
        import torch.distributed as dist
        from torch.distributed import distributed_c10d as c10d

        for value in args:
            if isinstance(value, str):
                try:
                    return c10d._resolve_process_group(value)
                except Exception:
                    continue
            if hasattr(value, "_type") or type(value).__name__ == "ScriptObject":
                try:
                    return dist.ProcessGroup.unbox(value)
                except Exception:
                    continue
            if isinstance(value, dist.ProcessGroup):
                return value
        return None

    def ranks(self, args):
        import torch.distributed as dist

        group = self._process_group(args)
        if group is None:
            return list(range(self.world))
        return dist.get_process_group_ranks(group)

    def of(self, args):
        return self.entry(self.ranks(args))

    def peer(self, args):
        """The other rank: {"dim": …, "by": …} along the mesh, or {"rank": …}."""
        ranks = self.ranks(args)
        number = next(value for value in args if isinstance(value, int))
        peer = ranks[number]
        here, there = self.coordinates(self.rank), self.coordinates(peer)
        moved = [i for i, (a, b) in enumerate(zip(here, there)) if a != b]
        if len(moved) == 1:
            name, size = self.mesh[moved[0]]
            return {"dim": name, "by": (there[moved[0]] - here[moved[0]]) % size}
        return {"rank": peer}


class _Session:
    """One run of the program as one rank."""

    def __init__(self, document, rank, mesh, warm_up, every_layer, alone):
        self.torch = _torch()
        from ._recorder import Recorder

        self.document = document
        self.rank = rank
        self.groups = _Groups(document.world, rank)
        self.groups.mesh = list(mesh or [])
        self.recorder = Recorder(document, self.groups)
        if not every_layer:
            from ._layers import Layers

            self.recorder.layers = Layers(self.recorder, document.layers, alone)
        self.warm_up = warm_up
        self.optimizer_steps = 0
        self.open_optimizers = []
        self.leading_optimizer = None
        self.program = None
        self.stop_after_step = False

    # -- hooks ----------------------------------------------------------------

    def _module_name(self, module):
        name = self.recorder.names.get(id(module))
        if name is not None:
            return name
        # seen from outside first: it names all that is below it
        root = type(module).__name__ if self.recorder.names else ""
        for inner, below in module.named_modules():
            self.recorder.names.setdefault(
                id(below), inner if not root else f"{root}.{inner}" if inner else root
            )
        self._keep.append(module)
        if self.recorder.layers:
            self.recorder.layers.wrap(module)
        self.recorder.mark(module.parameters(), "weights")
        return self.recorder.names[id(module)]

    def _before_forward(self, module, _):
        self.recorder.units.begin_module(module, outermost=not self.recorder.stack)
        self.recorder.stack.append(self._module_name(module))
        self.recorder.enter()

    def _after_forward(self, module, *_):
        self.recorder.units.end(module)
        if self.recorder.stack:
            self.recorder.stack.pop()

    def _before_optimizer(self, optimizer, *_):
        recorder = self.recorder
        self.open_optimizers.append(optimizer)
        recorder.wait_for_all()
        recorder.phase = "update"
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        recorder.mark(parameters, "weights")
        recorder.mark([p.grad for p in parameters if p.grad is not None], "gradients")

    def _after_optimizer(self, optimizer, *_):
        recorder = self.recorder
        for state in optimizer.state.values():
            recorder.mark([t for t in state.values() if hasattr(t, "untyped_storage")], "optimizer")
        self.open_optimizers.pop()
        if self.open_optimizers:  # one that works inside another
            return
        recorder.phase = None
        self.leading_optimizer = self.leading_optimizer or optimizer
        if optimizer is not self.leading_optimizer:
            return
        self.optimizer_steps += 1
        if self.stop_after_step:
            self._optimizer_steps_of_script()

    def _optimizer_steps_of_script(self):
        """In a script the step lies between two calls of the optimizer, the first of them
        where there are several."""
        if self.optimizer_steps == self.warm_up:
            self.recorder.begin()
        elif self.optimizer_steps == self.warm_up + 1:
            self.program = self.recorder.end()
            raise _Done

    @contextlib.contextmanager
    def _hooks(self):
        from torch.nn.modules.module import (
            register_module_forward_hook,
            register_module_forward_pre_hook,
        )
        from torch.optim.optimizer import (
            register_optimizer_step_post_hook,
            register_optimizer_step_pre_hook,
        )

        self._keep = []
        handles = [
            register_module_forward_pre_hook(self._before_forward),
            register_module_forward_hook(self._after_forward, always_call=True),
            register_optimizer_step_pre_hook(self._before_optimizer),
            register_optimizer_step_post_hook(self._after_optimizer),
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
            if self.recorder.layers:
                self.recorder.layers.unwrap()

    @contextlib.contextmanager
    def _storages(self):
        """Storages that change their size (FSDP)."""
        torch = self.torch
        before = torch.UntypedStorage.resize_

        @functools.wraps(before)
        def resize(storage, size):
            before(storage, size)
            self.recorder.resized(storage, size)

        torch.UntypedStorage.resize_ = resize
        try:
            yield
        finally:
            torch.UntypedStorage.resize_ = before

    @contextlib.contextmanager
    def _foreach(self):
        """Optimizers take their many-tensor kernels for fake tensors too, and so does the
        clipping of gradients."""
        from torch._subclasses.fake_tensor import FakeTensor
        from torch.nn.utils import clip_grad
        from torch.optim import optimizer
        from torch.utils import _foreach_utils

        types = getattr(optimizer, "_foreach_supported_types", [])
        lists = (self.torch.Tensor, self.torch.nn.Parameter, FakeTensor)
        replaced = {
            "_get_foreach_kernels_supported_devices": lambda: ["cuda", "cpu"],
            "_has_foreach_support": lambda tensors, device: all(
                tensor is None or type(tensor) in lists for tensor in tensors
            ),
        }
        users = [
            (module, name)
            for module in (optimizer, _foreach_utils, clip_grad)
            for name in replaced
            if hasattr(module, name)
        ]
        before = [getattr(module, name) for module, name in users]
        types.append(FakeTensor)
        for module, name in users:
            setattr(module, name, replaced[name])
        try:
            yield
        finally:
            types.remove(FakeTensor)
            for (module, name), function in zip(users, before):
                setattr(module, name, function)

    @contextlib.contextmanager
    def _modules_on_device(self):
        """Module.to() of fake parameters; the fake mode keeps weak references to them,
        which torch's own function refuses."""
        torch = self.torch
        before = torch.utils.swap_tensors

        def swap_tensors(one, other):
            parameter = isinstance(one, torch.nn.Parameter)
            if type(one) is not type(other):  # a small one with values becomes a fake one
                one.__class__, other.__class__ = other.__class__, one.__class__
            one.__dict__, other.__dict__ = other.__dict__, one.__dict__
            torch._C._swap_tensor_impl(one, other)
            if parameter and not isinstance(one, torch.nn.Parameter):
                one._is_param = True

        future = torch.__future__
        swaps = future.get_swap_module_params_on_conversion()
        if _version(torch) < SWAPS_FAKE:
            # setting the data of a fake tensor would leave it where it is
            future.set_swap_module_params_on_conversion(True)
        torch.utils.swap_tensors = swap_tensors
        try:
            yield
        finally:
            torch.utils.swap_tensors = before
            future.set_swap_module_params_on_conversion(swaps)

    @contextlib.contextmanager
    def _deep_copies(self):
        """A copy of a fake tensor is of the same fake mode; torch would copy the mode too."""
        from torch._subclasses.fake_tensor import FakeTensor

        torch = self.torch
        before = FakeTensor.__dict__.get("__deepcopy__")

        def deep_copy(tensor, memo):
            if id(tensor) in memo:
                return memo[id(tensor)]
            with torch.no_grad():
                copy = tensor.detach().clone()
            if isinstance(tensor, torch.nn.Parameter):
                copy = torch.nn.Parameter(copy, tensor.requires_grad)
            else:
                copy.requires_grad_(tensor.requires_grad)
            memo[id(tensor)] = copy
            return copy

        FakeTensor.__deepcopy__ = deep_copy
        try:
            yield
        finally:
            if before is None:
                del FakeTensor.__deepcopy__
            else:
                FakeTensor.__deepcopy__ = before

    @contextlib.contextmanager
    def _inner_fake_modes(self):
        """Old DTensors look at shapes in fake modes of their own: those take values of the
        host, too."""
        from torch._subclasses.fake_tensor import FakeTensorMode

        before = FakeTensorMode.__init__

        @functools.wraps(before)
        def init(mode, **options):
            before(mode, **{**options, "allow_non_fake_inputs": True})

        if _version(self.torch) < SWAPS_FAKE:
            FakeTensorMode.__init__ = init
        try:
            yield
        finally:
            FakeTensorMode.__init__ = before

    @contextlib.contextmanager
    def _distributed(self):
        """Process groups of the size asked for, with nobody in them."""
        import torch.distributed as dist

        if not dist.is_available():
            yield
            return
        from torch.distributed import device_mesh
        from torch.testing._internal.distributed.fake_pg import FakeStore
        from torch.utils._python_dispatch import _disable_current_modes

        with contextlib.suppress(ImportError):
            import torch.distributed._tools.fake_collectives  # noqa: F401

        from ._recorder import GPU

        world, rank = self.document.world, self.rank
        init = dist.init_process_group
        fsdp = self._fsdp_modules()
        self._complete_host_streams()
        for module in fsdp:
            module._get_device_from_mesh = lambda mesh: GPU

        def init_process_group(*_, **__):
            if not dist.is_initialized():
                init("fake", store=FakeStore(), rank=rank, world_size=world)

        def outside(method):
            # a mesh is made of real numbers
            @functools.wraps(method)
            def wrapped(*args, **kwargs):
                with _disable_current_modes():
                    return method(*args, **kwargs)

            return wrapped

        mesh_class = device_mesh.DeviceMesh
        before = {}
        for name, method in list(vars(mesh_class).items()):
            plain = method.__func__ if isinstance(method, staticmethod) else method
            if not callable(plain) or isinstance(plain, type):
                continue
            before[name] = method
            wrapped = outside(plain)
            static = isinstance(method, staticmethod)
            setattr(mesh_class, name, staticmethod(wrapped) if static else wrapped)
        mesh_init = mesh_class.__init__

        @functools.wraps(mesh_init)
        def remember(*args, **kwargs):
            mesh_init(*args, **kwargs)
            self._remember_mesh(args[0])

        mesh_class.__init__ = remember
        group_class = dist.ProcessGroup
        methods = self._collective_methods(group_class)
        work_wait = dist.Work.wait
        works = {}

        def wait(work, *args, **kwargs):
            known = works.pop(id(work), None)
            if known:
                self.recorder.wait_for(known[0])
            else:
                self.recorder.wait_for_messages()
            return work_wait(work, *args, **kwargs)

        def remembering(method):
            @functools.wraps(method)
            def wrapped(*args, **kwargs):
                work = method(*args, **kwargs)
                if self.recorder.pending:
                    works[id(work)] = (self.recorder.pending[-1], work)
                return work

            return wrapped

        for name, method in methods.items():
            setattr(group_class, name, remembering(method))
        dist.Work.wait = wait
        dist.init_process_group = init_process_group
        environment = {
            "RANK": rank,
            "WORLD_SIZE": world,
            "LOCAL_RANK": rank % 8,
            "LOCAL_WORLD_SIZE": min(world, 8),
            "MASTER_ADDR": "localhost",
            "MASTER_PORT": 1,
        }
        saved = {name: os.environ.get(name) for name in environment}
        os.environ.update({name: str(value) for name, value in environment.items()})
        try:
            if world > 1:
                init_process_group()
            yield
        finally:
            for name, value in saved.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            if dist.is_initialized():
                dist.destroy_process_group()
            for module, function in fsdp.items():
                module._get_device_from_mesh = function
            dist.init_process_group = init
            dist.Work.wait = work_wait
            for name, method in methods.items():
                setattr(group_class, name, method)
            for name, method in before.items():
                setattr(mesh_class, name, method)

    def _complete_host_streams(self):
        """FSDP2 asks the host's streams, which do nothing, for what old ones do not have."""
        torch = self.torch
        stream = torch.cpu.Stream
        if not hasattr(stream, "record_event"):
            stream.record_event = lambda _, event=None: event or torch.cpu.Event()
            stream.wait_event = lambda _, event: None

    @staticmethod
    def _fsdp_modules():
        """Where FSDP2 asks for the device of its parameters, with what it asks."""
        try:
            from torch.distributed.fsdp._fully_shard import _fsdp_init, _fully_shard
        except ImportError:
            return {}
        name = "_get_device_from_mesh"
        modules = [module for module in (_fsdp_init, _fully_shard) if hasattr(module, name)]
        return {module: getattr(module, name) for module in modules}

    @staticmethod
    def _collective_methods(group_class):
        names = (
            "allreduce",
            "_allgather_base",
            "allgather",
            "_reduce_scatter_base",
            "reduce_scatter",
            "alltoall",
            "alltoall_base",
            "broadcast",
            "reduce",
            "send",
            "recv",
            "barrier",
        )
        return {name: getattr(group_class, name) for name in names if hasattr(group_class, name)}

    def _remember_mesh(self, mesh):
        names = mesh.mesh_dim_names
        sizes = list(mesh.mesh.shape)
        size = 1
        for dimension in sizes:
            size *= dimension
        if names and size == self.document.world and not self.groups.mesh:
            self.groups.mesh = list(zip(names, sizes))
            self.document.mesh = self.document.mesh or list(self.groups.mesh)

    # -- running --------------------------------------------------------------

    def run(self, body):
        """body(session) under fake tensors; afterwards self.program is there."""
        from torch._subclasses.fake_tensor import FakeTensorMode

        from . import _attention, _autocast, _compile, _ctc, _fake_cuda, _loaders, _recurrent
        from . import _rms_norm, _transformers
        from ._recorder import OnGpu

        fake = FakeTensorMode(allow_non_fake_inputs=True)
        with contextlib.ExitStack() as stack:
            stack.enter_context(_fake_cuda.Replaced(self.recorder, gpus=8))
            stack.enter_context(_compile.Replaced(self.recorder.units))
            stack.enter_context(_attention.Replaced())
            stack.enter_context(_ctc.Replaced())
            stack.enter_context(_recurrent.Replaced())
            stack.enter_context(_rms_norm.Replaced())
            stack.enter_context(_transformers.Replaced())
            stack.enter_context(self._storages())
            stack.enter_context(self._foreach())
            stack.enter_context(self._modules_on_device())
            stack.enter_context(self._deep_copies())
            stack.enter_context(self._hooks())
            stack.enter_context(self._inner_fake_modes())
            stack.enter_context(self._distributed())
            if self.torch.distributed.is_available():
                from . import _ddp

                stack.enter_context(_ddp.Replaced())
            stack.enter_context(_loaders.Replaced())
            stack.enter_context(fake)
            stack.enter_context(self.recorder)
            stack.enter_context(OnGpu())
            stack.enter_context(_autocast.AsOnGpu())
            try:
                body(self)
            except _Done:
                pass
            except self._data_dependent() as error:
                raise CaptureError(
                    f"an operation needs data that a capture does not have: {error}\n"
                    "  hint: sizes must not depend on values; fixed capacities, padding or "
                    "grouped kernels capture"
                ) from error

    def _data_dependent(self):
        from torch._subclasses import fake_tensor

        names = ("DataDependentOutputException", "DynamicOutputShapeException")
        return tuple(getattr(fake_tensor, name) for name in names if hasattr(fake_tensor, name))

    def capture_steps(self, step):
        for _ in range(self.warm_up):
            step()
        self.recorder.begin()
        step()
        self.program = self.recorder.end()


PIPELINE_NAMES = ("pp", "pipe", "pipeline", "stage")


def _ranks_to_capture(wanted, world, mesh):
    """One rank a pipeline stage, and one at the far end to compare with."""
    if wanted == "all":
        return list(range(world)), []
    if wanted != "auto":
        return list(wanted), []
    if world == 1:
        return [0], []
    groups = _Groups(world, 0)
    groups.mesh = list(mesh or [])
    stages = [i for i, (name, _) in enumerate(groups.mesh) if name in PIPELINE_NAMES]
    if not stages:
        return [0], [world - 1]
    ranks = []
    for stage in range(groups.mesh[stages[0]][1]):
        place = [0] * len(groups.mesh)
        place[stages[0]] = stage
        ranks.append(groups.rank_at(place))
    return ranks, [world - 1]


def _run_ranks(body, world_size, mesh, ranks, warm_up, every_layer=False):
    torch = _torch()
    if world_size < 1:
        raise CaptureError(f"world size {world_size}: at least 1")
    size = 1
    for _, count in mesh or []:
        size *= count
    if mesh and size != world_size:
        raise CaptureError(f"the mesh has {size} ranks, the world {world_size}")
    document = Capture(f"stepcast.capture, torch {torch.__version__}", world_size, mesh)

    def program_of(rank):
        nonlocal document
        run = functools.partial(_run_rank, document, rank, warm_up, body, every_layer)
        # torch keeps process groups and meshes of a rank for good: each has its own process
        document, program = _in_child(run) if world_size > 1 else run()
        return program

    if world_size > 1:
        _import_once()
    first = program_of(0)  # tells the mesh, where the program makes one
    chosen, checks = _ranks_to_capture(ranks, world_size, document.mesh)
    for rank in chosen:
        # before the document is looked at: each run gives a new one
        program = first if rank == 0 else program_of(rank)
        document.add(rank, program)
    for rank in checks:
        program = program_of(rank)
        _check_equal(document, rank, program)
    _count_ranks(document)
    return document


def _run_rank(document, rank, warm_up, body, every_layer):
    from ._layers import LaterUnlike

    alone = set()
    while True:
        session = _Session(document, rank, document.mesh, warm_up, every_layer, alone)
        try:
            session.run(body)
            if session.recorder.layers:
                session.recorder.layers.finish()
            break
        except LaterUnlike as unlike:
            alone.add(unlike.name)
            every_layer = len(alone) > MOST_RUNS
    document.compiled = session.recorder.units.asked
    if session.program is None:
        raise CaptureError(
            f"rank {rank}: the program ended before {warm_up + 1} optimizer steps\n"
            "  hint: give the script more iterations, or --warm-up 0"
        )
    return document, session.program


def _import_once():
    """What every rank would import for itself, before the processes part."""
    names = (
        "torch._dynamo",
        "torch.distributed.device_mesh",
        "torch.distributed.fsdp",
        "torch.distributed.pipelining",
        "torch.distributed.tensor.parallel",
        "torch.fx.experimental.symbolic_shapes",
        "torch.testing._internal.distributed.fake_pg",
    )
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # collections in the processes pass over all this


def _in_child(run):
    """What run() gives, or raises, in a process of its own."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            answer = (True, run())
        except CaptureError as error:
            answer = (False, (str(error), traceback.format_exc()))
        except BaseException as error:
            answer = (False, (f"the script failed: {error!r}", traceback.format_exc()))
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    if not data:
        raise CaptureError("the process that ran the script was killed: out of memory?")
    good, answer = pickle.loads(data)
    if not good:
        raise CaptureError(*answer)
    return answer


def _check_equal(document, rank, program):
    if not any(program["ops"] == known["ops"] for known in document.programs):
        document.notes.place(
            f"rank {rank} runs another program than the ranks that stand for it; "
            "--ranks all captures each"
        )


def _count_ranks(document):
    share = document.world // len(document.classes)
    for entry in document.classes:
        entry["ranks"] = share


def capture(build, *, world_size=1, mesh=None, ranks="auto", warm_up=1, every_layer=False):
    """Captures build()(): build makes model, optimizer and data under fake tensors
    and gives the function that runs one step. Layers that repeat run once, unless
    every_layer is set."""
    mesh = list(mesh.items()) if isinstance(mesh, dict) else mesh

    def body(session):
        session.capture_steps(build())

    return _run_ranks(body, world_size, mesh, ranks, warm_up, every_layer)


def captured(**options):
    """Decorator: the function that builds a step becomes one that captures it."""

    def decorate(build):
        @functools.wraps(build)
        def run(*args, **kwargs):
            return capture(lambda: build(*args, **kwargs), **options)

        return run

    return decorate


def script(
    path,
    arguments=(),
    *,
    world_size=1,
    mesh=None,
    ranks="auto",
    warm_up=1,
    every_layer=False,
):
    """Captures the step of a training script."""
    if not os.path.isfile(path):
        raise CaptureError(f"{path}: no such script")

    def body(session):
        session.stop_after_step = True
        if warm_up == 0:
            session.recorder.begin()
        before, path_before = sys.argv, list(sys.path)
        sys.argv = [path, *arguments]
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit:
            pass
        finally:
            sys.argv, sys.path = before, path_before

    return _run_ranks(body, world_size, mesh, ranks, warm_up, every_layer)
