"""torch.cuda without a GPU: streams and events that are written down, and the
questions that training scripts ask a device, answered."""

import contextlib
import functools
import types

import torch


class Stream:
    """A name for an order. Waiting is what the recorder writes down."""

    recorder = None
    _count = 0

    def __init__(self, device=None, priority=0, **_):
        Stream._count += 1
        self.number = Stream._count - 1
        self.priority = priority
        self.device = torch.device("cuda", 0)
        self.device_index = 0
        self.device_type = 1
        self.stream_id = self.number
        self.cuda_stream = self.number

    def wait_event(self, event):
        if event.recorded is not None:
            self.recorder.wait(self.number, event.recorded)

    def wait_stream(self, other):
        self.recorder.wait(self.number, self.recorder.position(other.number))

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event

    def synchronize(self):
        self.recorder.host_waits(self.number)

    def query(self):
        return True

    def __eq__(self, other):
        return isinstance(other, Stream) and other.number == self.number

    def __hash__(self):
        return hash(("stepcast stream", self.number))

    def __enter__(self):
        self._context = use_stream(self)
        self._context.__enter__()
        return self

    def __exit__(self, *exception):
        self._context.__exit__(*exception)


class Event:
    def __init__(self, *_, **__):
        self.recorded = None

    def record(self, stream=None):
        stream = stream or Stream.recorder.current
        self.recorded = Stream.recorder.position(stream.number)

    def wait(self, stream=None):
        (stream or Stream.recorder.current).wait_event(self)

    def synchronize(self):
        if self.recorded is not None:
            Stream.recorder.host_waits(self.recorded[0])

    def query(self):
        return True

    def elapsed_time(self, other):
        del other
        return 1.0


@contextlib.contextmanager
def use_stream(stream):
    recorder = Stream.recorder
    before = recorder.current
    if stream is not None:
        recorder.current = stream
    try:
        yield
    finally:
        recorder.current = before


class _Device:
    """torch.cuda.device and device_of: nothing to switch."""

    def __init__(self, *_):
        self.idx = 0
        self.prev_idx = 0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False


def _properties(*_):
    return types.SimpleNamespace(
        name="stepcast capture",
        major=9,
        minor=0,
        total_memory=141 << 30,
        multi_processor_count=132,
        warp_size=32,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=232448,
        max_threads_per_multi_processor=2048,
        L2_cache_size=50 << 20,
        gcnArchName="",
        is_integrated=False,
        uuid="",
    )


def _answers(recorder, gpus):
    nothing = lambda *_, **__: None
    zero = lambda *_, **__: 0
    return {
        "is_available": lambda: True,
        "is_initialized": lambda: False,
        "is_bf16_supported": lambda *_, **__: True,
        "device_count": lambda: gpus,
        "current_device": lambda: 0,
        "set_device": nothing,
        "synchronize": lambda *_: recorder.host_waits(None),
        "Stream": Stream,
        "Event": Event,
        "stream": use_stream,
        "StreamContext": use_stream,
        "current_stream": lambda *_: recorder.current,
        "default_stream": lambda *_: recorder.streams[0],
        "set_stream": lambda stream: setattr(recorder, "current", stream),
        "device": _Device,
        "device_of": _Device,
        "get_device_properties": _properties,
        "get_device_name": lambda *_: "stepcast capture",
        "get_device_capability": lambda *_: (9, 0),
        "mem_get_info": lambda *_: (140 << 30, 141 << 30),
        "memory_allocated": zero,
        "memory_reserved": zero,
        "max_memory_allocated": zero,
        "max_memory_reserved": zero,
        "memory_stats": lambda *_, **__: {},
        "reset_peak_memory_stats": nothing,
        "reset_max_memory_allocated": nothing,
        "empty_cache": nothing,
        "ipc_collect": nothing,
        "manual_seed": nothing,
        "manual_seed_all": nothing,
        "get_rng_state": lambda *_: torch.empty(16, dtype=torch.uint8),
        "set_rng_state": nothing,
        "is_current_stream_capturing": lambda: False,
    }


def _autocast(init):
    """Autocast for a GPU's tensors, which lie on "cpu:0" here."""

    @functools.wraps(init)
    def wrapped(context, device_type, *args, **kwargs):
        if device_type == "cuda":
            device_type = "cpu"
            if not args and kwargs.get("dtype") is None:
                kwargs["dtype"] = torch.float16
        init(context, device_type, *args, **kwargs)

    return wrapped


class Replaced:
    """While open, torch.cuda answers as a machine with `gpus` GPUs would."""

    def __init__(self, recorder, gpus):
        self._answers = _answers(recorder, gpus)
        Stream.recorder = recorder
        Stream._count = 0
        recorder.streams = [Stream()]
        recorder.current = recorder.streams[0]

    def __enter__(self):
        self._before = {name: getattr(torch.cuda, name, None) for name in self._answers}
        for name, answer in self._answers.items():
            setattr(torch.cuda, name, answer)
        self._autocast = torch.amp.autocast_mode.autocast.__init__
        torch.amp.autocast_mode.autocast.__init__ = _autocast(self._autocast)
        marks = torch.autograd.profiler.record_function
        self._marks = marks.__enter__, marks.__exit__
        marks.__enter__ = lambda mark: mark  # a profiler's ranges, of which FSDP2 makes many
        marks.__exit__ = lambda *_: None
        self._record_stream = torch.Tensor.record_stream
        torch.Tensor.record_stream = lambda tensor, stream: None
        return self

    def __exit__(self, *exception):
        for name, before in self._before.items():
            if before is None:
                delattr(torch.cuda, name)
            else:
                setattr(torch.cuda, name, before)
        torch.Tensor.record_stream = self._record_stream
        marks = torch.autograd.profiler.record_function
        marks.__enter__, marks.__exit__ = self._marks
        torch.amp.autocast_mode.autocast.__init__ = self._autocast
