"""Plan: how a model is cut and run."""

from __future__ import annotations

import ctypes
import inspect
from typing import TYPE_CHECKING, Any, Dict, Tuple

from . import _fields
from . import _header as c

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Plan(c.PlanAttributes):
    """How a model is cut and run: parallel sizes, batch, recomputation, precision.

    All keywords are optional; what is left out is as usual, and the result says
    what was assumed. A plan does not change: replace() makes another.

    >>> plan = stepcast.Plan(tp=8, pp=4, global_batch=1024, schedule="zb-2p")
    >>> plan.tp, plan.sequence_parallel
    (8, None)
    >>> plan.replace(pp=2, overlap_grad=False)
    Plan(tp=8, pp=2, schedule='zb-2p', global_batch=1024, overlap_grad=False)
    >>> stepcast.Plan(sequence_paralel=True)
    Traceback (most recent call last):
    TypeError: Plan has no keyword 'sequence_paralel'; did you mean 'sequence_parallel'?

    Keywords:
    """

    def __init__(self, **keywords: Unpack[c.PlanKeywords]) -> None:
        _fields.check_names("Plan", keywords, c.PLAN_FIELDS)
        struct, kept = _fields.fill(c.sc_plan, c.PLAN_FIELDS, keywords)
        self._take(struct, kept)

    def _take(self, struct: Any, kept: Any) -> None:
        values = _fields.read(struct, c.PLAN_FIELDS)
        self.__dict__["_struct"] = struct
        self.__dict__["_kept"] = kept
        self.__dict__["_values"] = values
        for name in c.PLAN_FIELDS:
            self.__dict__[name] = values.get(name)

    @classmethod
    def _from_struct(cls, struct: Any) -> Plan:
        """A plan that says what a structure of the library says."""
        return cls(**_fields.read(struct, c.PLAN_FIELDS))

    def _reference(self) -> Any:
        """The structure, for a call."""
        return ctypes.byref(self._struct)

    def replace(self, **changes: Unpack[c.PlanKeywords]) -> Plan:
        """The same plan but for these; None sets back to as usual."""
        _fields.check_names("Plan", changes, c.PLAN_FIELDS)
        return Plan(**{**self._values, **changes})

    def to_dict(self) -> Dict[str, Any]:
        """What the plan says, as keywords."""
        return dict(self._values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a plan does not change: plan.replace({name}={value!r}) makes another")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a plan does not change: plan.replace({name}=None) makes another")

    def _key(self) -> Tuple[Tuple[str, Any], ...]:
        return tuple(self._values.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._values == other._values

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Tuple[Any, ...]:
        """For copy, pickle and multiprocessing."""
        return _plan_of, (self._values,)

    def __repr__(self) -> str:
        return "Plan(" + ", ".join(f"{name}={value!r}" for name, value in self._key()) + ")"

    _struct: Any
    _values: Dict[str, Any]


def _plan_of(values: Dict[str, Any]) -> Plan:
    return Plan(**values)


def keyword_help(fields: Dict[str, c.Field]) -> str:
    """A line for each keyword."""
    lines = []
    for name, field in fields.items():
        choices = ", ".join(field.words) if field.kind in ("word", "words") else ""
        text = "; ".join(part for part in (field.doc, choices) if part)
        lines.append(f"    {name}: {text}" if text else f"    {name}")
    return "\n".join(lines).lstrip() + "\n"


def keyword_parameters(fields: Dict[str, c.Field]) -> Tuple[inspect.Parameter, ...]:
    """The keywords as they are shown by help() and completed by notebooks."""
    return tuple(
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in fields
    )


Plan.__doc__ = (Plan.__doc__ or "") + keyword_help(c.PLAN_FIELDS)
Plan.__signature__ = inspect.Signature(keyword_parameters(c.PLAN_FIELDS))  # type: ignore[attr-defined]
