"""Result: what a step takes, and where the time goes."""

from __future__ import annotations

import ctypes
import json
import operator
import os
import tempfile
from typing import TYPE_CHECKING, Any, BinaryIO, Dict, List, NamedTuple, Optional, Union

from . import _header as c
from . import _html
from ._library import Handle, Sink, Text, borrowed_context, decode, encode, library, raise_error
from ._plan import Plan

if TYPE_CHECKING:
    import pandas  # type: ignore[import]


class Breakdown(NamedTuple):
    """Where the time of a stage went, microseconds; the parts add up to the step."""

    stage: str
    ranks: int
    #: of its last operation
    end_us: float
    compute_us: float
    recompute_us: float
    #: nothing to do: the pipeline fills and drains
    bubble_us: float
    #: communication that nothing hides
    exposed_us: float
    #: waiting for slower ranks of a collective
    skew_us: float
    other_us: float

    @property
    def step_us(self) -> float:
        """The sum of the parts."""
        return sum(self[3:])


class Communication(NamedTuple):
    """Communication of one rank in a group ("tp", "dp" …)."""

    group: str
    operations: int
    bytes: int
    #: hidden or not
    busy_us: float
    #: not hidden
    exposed_us: float


class Memory(NamedTuple):
    """Memory of one GPU, bytes; all 0 where the input does not say."""

    weights: int
    gradients: int
    optimizer: int
    activations: int
    logits: int
    workspace: int
    communication: int
    context: int
    fragmentation: int
    total: int
    capacity: int


class WhatIf(NamedTuple):
    """What the step would take if one part of it took half its time, or none."""

    #: "gemm", "recompute", "comm:tp" …
    key: str
    #: for people
    title: str
    half_us: float
    zero_us: float


class Critical(NamedTuple):
    """A piece of the critical path."""

    stage: int
    #: None: the stage did nothing
    operation: Optional[str]
    start_us: float
    end_us: float


class Note(NamedTuple):
    """Something that was assumed: a stable code for programs, a sentence for people."""

    code: str
    text: str


def _known(value: float) -> Optional[float]:
    return value if value else None


class Result(Handle):
    """What evaluate() and simulate() answer. It needs neither the model nor the
    cluster it came from, and never changes.

    >>> plan = stepcast.Plan(tp=4, pp=2, micro_batch=1, global_batch=32, seq=4096)
    >>> result = stepcast.evaluate("llama3-8b", plan, "dgx-h100:16")
    >>> result.stages
    2
    >>> abs(sum(result.breakdown(0)[3:]) - result.step_us) < 1e-3
    True
    >>> sorted(result.communication(0))
    ['dp', 'pp', 'tp', 'world']
    """

    _instead = "its to_dict() can"

    def __init__(self, pointer: int) -> None:
        Handle.__init__(self, pointer, library.sc_result_free)

    # ---- numbers ----

    @property
    def step_us(self) -> float:
        """The step, microseconds."""
        return float(library.sc_result_step_us(self._pointer))

    @property
    def step_s(self) -> float:
        """The step, seconds."""
        return self.step_us * 1e-6

    @property
    def mfu(self) -> Optional[float]:
        """Model FLOPs utilisation, 0 to 1; None where the FLOPs are not known."""
        return _known(library.sc_result_mfu(self._pointer))

    @property
    def hfu(self) -> Optional[float]:
        """The same with recomputation counted."""
        return _known(library.sc_result_hfu(self._pointer))

    @property
    def tokens_per_s(self) -> Optional[float]:
        """Of the whole job; None where the workload does not say how many tokens."""
        return _known(library.sc_result_tokens_per_s(self._pointer))

    @property
    def tflops_per_gpu(self) -> Optional[float]:
        """Model FLOPs per second and GPU, in 1e12."""
        return _known(library.sc_result_tflops_per_gpu(self._pointer))

    @property
    def energy_j(self) -> Optional[float]:
        """Of all GPUs in one step, joules; None where unknown."""
        return _known(library.sc_result_energy_j(self._pointer))

    @property
    def cost_usd(self) -> Optional[float]:
        """Of one step; None unless the file of the GPU has usd_per_hour."""
        return _known(library.sc_result_cost_usd(self._pointer))

    @property
    def events(self) -> int:
        """What the simulation took."""
        return int(library.sc_result_events(self._pointer))

    @property
    def ranks(self) -> int:
        """GPUs of the job."""
        return int(library.sc_result_ranks(self._pointer))

    # ---- stages ----

    @property
    def stages(self) -> int:
        """Ranks that do the same are one stage: a pipeline stage, or a part of one
        where a rank is slower than the rest."""
        return int(library.sc_result_stages(self._pointer))

    @property
    def slowest_stage(self) -> int:
        """The stage that ends last."""
        return int(library.sc_result_slowest_stage(self._pointer))

    def _stage(self, stage: Optional[int]) -> int:
        if stage is None:
            return self.slowest_stage
        try:
            number = operator.index(stage)
        except TypeError:
            raise TypeError(f"a stage is a whole number, not {stage!r}") from None
        if not 0 <= number < self.stages:
            raise IndexError(f"there is no stage {number}: {self.stages} stages")
        return number

    def breakdown(self, stage: Optional[int] = None) -> Breakdown:
        """Where the time of a stage went; of the slowest one by default."""
        raw = c.sc_breakdown()
        library.sc_result_breakdown(self._pointer, self._stage(stage), ctypes.byref(raw))
        return Breakdown(decode(raw.stage), *(getattr(raw, name) for name in Breakdown._fields[1:]))

    def communication(self, stage: Optional[int] = None) -> Dict[str, Communication]:
        """By group, those that communicate at all; of the slowest stage by default."""
        place = self._stage(stage)
        groups = {}
        for group in range(library.sc_result_groups(self._pointer)):
            raw = c.sc_communication()
            library.sc_result_communication(self._pointer, place, group, ctypes.byref(raw))
            if raw.operations:
                rest = (getattr(raw, name) for name in Communication._fields[1:])
                groups[decode(raw.group)] = Communication(decode(raw.group), *rest)
        return groups

    def memory(self, stage: Optional[int] = None) -> Memory:
        """Of one GPU of a stage; of the slowest one by default."""
        raw = c.sc_memory()
        library.sc_result_memory(self._pointer, self._stage(stage), ctypes.byref(raw))
        return Memory(*(getattr(raw, name) for name in Memory._fields))

    def host_bytes(self, stage: Optional[int] = None) -> int:
        """What a rank of a stage keeps in the memory of its host (plan.offload_…)."""
        return int(library.sc_result_host_bytes(self._pointer, self._stage(stage)))

    def what_if(self) -> List[WhatIf]:
        """Parts of the step and what is to gain from each, most first; empty without
        evaluate(…, what_if=True)."""
        found: List[WhatIf] = []
        raw = c.sc_what_if()
        while library.sc_result_what_if(self._pointer, len(found), ctypes.byref(raw)) == c.SC_OK:
            found.append(WhatIf(decode(raw.key), decode(raw.title), raw.half_us, raw.zero_us))
        return found

    def critical_path(self) -> List[Critical]:
        """The chain of operations that ends with the step, without gaps; empty without
        evaluate(…, timeline=True)."""
        found: List[Critical] = []
        raw = c.sc_critical()
        while library.sc_result_critical_path(self._pointer, len(found), ctypes.byref(raw)) == c.SC_OK:
            operation = decode(raw.operation) if raw.operation is not None else None
            found.append(Critical(raw.stage, operation, raw.start_us, raw.end_us))
        return found

    # ---- how it came about ----

    @property
    def notes(self) -> List[Note]:
        """What was assumed."""
        return [
            Note(
                decode(library.sc_result_note_code(self._pointer, i)),
                decode(library.sc_result_note_text(self._pointer, i)),
            )
            for i in range(library.sc_result_notes(self._pointer))
        ]

    @property
    def plan(self) -> Optional[Plan]:
        """The plan as it was run, every field resolved; None for workloads from files."""
        pointer = library.sc_result_plan(self._pointer)
        return Plan._from_struct(pointer.contents) if pointer else None

    @property
    def settings(self) -> Dict[str, str]:
        """The options of the run as they were resolved, as the program would take them."""
        settings = self.to_dict()["settings"]
        assert isinstance(settings, dict)
        return settings

    # ---- out ----

    def _written(self, format: str, write: Any) -> None:
        sink = Sink(write)
        with borrowed_context() as context:
            status = library.sc_result_write(
                context, self._pointer, encode(format, "a format"), sink.callback, None
            )
            sink.check()
            if status != c.SC_OK:
                raise_error(context, status)

    def to_bytes(self, format: str = "json") -> bytes:
        """The result in a format: "json", "text", "csv", "html", or "trace" for Perfetto;
        the last three need evaluate(…, timeline=True)."""
        parts: List[bytes] = []
        self._written(format, parts.append)
        return b"".join(parts)

    def to_dict(self) -> Dict[str, Any]:
        """The JSON document, as the program writes it with --json."""
        document = json.loads(self.to_bytes("json").decode("utf-8", "surrogateescape"))
        assert isinstance(document, dict)
        return document

    def text(self) -> str:
        """The table that the program prints."""
        return decode(self.to_bytes("text"))

    def write(self, path: Union[Text, BinaryIO], format: Optional[str] = None) -> None:
        """Writes a file in a format, by default that of its name: "step.json",
        "step.csv", "step.html", "step.txt". A file is written whole or not at all;
        a link stays one, and what it names is written."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            if not hasattr(path, "write"):
                raise TypeError(f"a result is written to a path or an open file, not {path!r}")
            self._written(format or "json", path.write)
            return
        name = os.fsdecode(path)
        if format is None:
            suffix = os.path.splitext(name)[1].lstrip(".").lower()
            format = "text" if suffix == "txt" else suffix
        if not format:
            raise ValueError(f"{name!r} has no suffix: say format='json', 'text', 'csv', 'html' or 'trace'")
        name = os.path.realpath(name)
        if os.path.exists(name) and not os.path.isfile(name):
            with open(name, "wb") as device:  # or a pipe, which nothing can take the place of
                self._written(format, device.write)
            return
        try:
            handle, part = tempfile.mkstemp(dir=os.path.dirname(name), prefix=".stepcast-")
        except OSError as failure:
            raise type(failure)(failure.errno, failure.strerror, name) from None
        try:
            with os.fdopen(handle, "wb") as file:
                self._written(format, file.write)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(part, 0o666 & ~umask)  # mkstemp makes files for the owner alone
            os.replace(part, name)
        except BaseException:
            os.unlink(part)
            raise

    def to_records(self) -> List[Dict[str, Any]]:
        """A dict for each stage: its breakdown, exposed communication by group, memory."""
        records = []
        for stage in range(self.stages):
            record: Dict[str, Any] = dict(self.breakdown(stage)._asdict())
            for name, group in self.communication(stage).items():
                record[f"exposed_{name}_us"] = group.exposed_us
            record.update((f"memory_{k}_bytes", v) for k, v in self.memory(stage)._asdict().items())
            records.append(record)
        return records

    def to_dataframe(self) -> pandas.DataFrame:
        """to_records() as a table of pandas, a row for each stage."""
        try:
            import pandas
        except ImportError as failure:
            raise ImportError("to_dataframe() needs pandas; to_records() gives the same as dicts") from failure
        return pandas.DataFrame(self.to_records()).set_index("stage")

    def __repr__(self) -> str:
        mfu = f", MFU {self.mfu:.1%}" if self.mfu else ""
        return f"<Result {self.step_us:.6g} us{mfu}, {self.ranks} GPUs, {self.stages} stages>"

    def _repr_html_(self) -> str:
        return _html.result_table(self)
