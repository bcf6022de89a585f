"""How a step is simulated: the keywords that evaluate() and its like take."""

from __future__ import annotations

import ctypes
import inspect
from typing import Any, Callable, Mapping, Optional, TypeVar

from . import _fields
from . import _header as c
from ._library import Handle, Progress, borrowed_context, made, progress_shown
from ._plan import keyword_parameters


Made = TypeVar("Made", bound=Handle)


def call_with_options(
    what: str,
    options: Mapping[str, Any],
    progress: Optional[Progress],
    function: Callable[[int, Any, Any], Any],
    wrap: Callable[[int], Made],
) -> Made:
    """Calls function(context, options, where the object goes); answers the object."""
    _fields.check_names(f"{what}()", options, c.OPTIONS_FIELDS)
    filled, _kept = _fields.fill(c.sc_options, c.OPTIONS_FIELDS, options)
    out = ctypes.c_void_p()
    with borrowed_context() as context, progress_shown(context, progress):
        status = function(context, ctypes.byref(filled), ctypes.byref(out))
        return wrap(made(context, status, out))


def show_options(function: Any) -> None:
    """Writes the options out, for help() and for completion."""
    signature = inspect.signature(function)
    named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    named += keyword_parameters(c.OPTIONS_FIELDS)
    function.__signature__ = signature.replace(parameters=named)
