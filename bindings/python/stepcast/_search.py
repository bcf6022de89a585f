"""plans(): every parallel plan of a model, the fastest first."""

from __future__ import annotations

import contextlib
import ctypes
import json
import shlex
from typing import Any, List, NamedTuple, Optional, Union

from . import _fields
from . import _header as c
from ._command import _Request, request
from ._library import Progress, Text, borrowed_context, decode, encode, library
from ._objects import Cluster, Model, as_cluster, as_model
from ._plan import Plan
from ._result import Note


class PlanResult(NamedTuple):
    """A plan, and what it gives."""

    plan: Plan
    step_us: float
    #: 0 to 1
    mfu: float
    bubble_share: float
    exposed_share: float
    #: of the fullest GPU
    memory_bytes: int
    #: the command that runs it
    command: str


class Plans(List[PlanResult]):
    """Plans, the fastest first, and what was assumed of all of them."""

    notes: List[Note]


def plans(
    model: Union[Model, Text],
    *,
    gpus: Optional[int] = None,
    global_batch: Optional[int] = None,
    cluster: Optional[Union[Cluster, Text]] = None,
    top: int = 10,
    progress: Optional[Progress] = None,
    **options: Any,
) -> Plans:
    """The fastest plans of a model on so many GPUs, those of the cluster unless told. options
    are those of the command `plans`: what they give is fixed, what they leave open is tried.
    Without a global_batch it is about 4 Mi tokens; what was assumed is in `notes` of the list.

    >>> best = stepcast.plans("llama3-8b", gpus=16, global_batch=64, seq=4096, cp=1, top=3)
    >>> len(best), best[0].step_us <= best[1].step_us <= best[2].step_us
    (3, True)
    >>> stepcast.evaluate("llama3-8b", best[0].plan).step_us == best[0].step_us
    True
    """
    what = as_model(model)
    where = as_cluster(cluster)
    for reserved in ("json", "model"):
        if reserved in options:
            raise TypeError(f"plans() has no keyword '{reserved}'")
    with contextlib.ExitStack() as stack:
        asked = stack.enter_context(request("plans"))
        said = list(stack.enter_context(what._as_options()))
        if where is not None:
            said += stack.enter_context(where._as_options())
        asked.set("json", b"-")
        for name, text in said:
            asked.set(name, text)
        for keyword, value in {"gpus": gpus, "global_batch": global_batch, "top": top, **options}.items():
            asked.set_keyword(keyword, value)
        found = json.loads(asked.execute(progress).text)
        results = Plans(_plan_result(asked, row) for row in found["plans"])
        results.notes = [Note(note["code"], note["text"]) for note in found["notes"]]
    return results


def _plan_result(asked: _Request, row: Any) -> PlanResult:
    return PlanResult(
        plan=_plan_of_command(asked, row["command"]),
        step_us=row["step_time_us"],
        mfu=row["mfu"],
        bubble_share=row["bubble_share"],
        exposed_share=row["exposed_share"],
        memory_bytes=row["memory_bytes"],
        command=row["command"],
    )


def _plan_of_command(asked: _Request, command: str) -> Plan:
    """The plan that a command line says; what is not the plan's is passed over."""
    pairs = []
    words = shlex.split(command)[2:]  # stepcast run …
    while words:
        name = words.pop(0).lstrip("-")
        pairs.append((name, encode(words.pop(0)) if asked.takes_value(name) else None))
    given = dict(pairs)
    if "megatron-args" in given:
        struct = Model.from_script(decode(given["megatron-args"]))[1]._struct
    else:
        struct = _fields.empty(c.sc_plan)
    with borrowed_context() as context:
        for name, value in pairs:
            library.sc_plan_set(context, ctypes.byref(struct), encode(name), value)
    return Plan._from_struct(struct)
