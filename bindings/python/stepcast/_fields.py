"""Keywords ↔ fields of the structures that a caller fills (sc_plan, sc_options).

What a field is comes from the C header; here is how each kind is checked. None
is "as usual" everywhere. Nothing is rounded, cut or ignored: ctypes alone would
store tp=2**32 as 0."""

from __future__ import annotations

import ctypes
import difflib
import math
import operator
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Type

from . import _header as c
from . import _library
from ._errors import UsageError

#: Options of the program that are called otherwise than the field they set.
OPTION_OF_FIELD = {
    "bucket_bytes": "bucket",
    "cp_comm": "cp-comm-type",
    "cuda_graphs": "cuda-graph",
    "host_launch_us": "host-launch",
    "moe_capacity_factor": "moe-expert-capacity-factor",
    "moe_dispatcher": "moe-token-dispatcher-type",
    "optimizer_kind": "optimizer",
    "precision_aware": "use-precision-aware-optimizer",
}


def near_match(word: str, known: Iterable[str]) -> str:
    """" (did you mean 'x'?)", or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def check_names(what: str, given: Mapping[str, Any], fields: Mapping[str, c.Field]) -> None:
    """TypeError for a keyword that is none."""
    for name, value in given.items():
        if name not in fields:
            hint = (fields is c.PLAN_FIELDS and _option_hint(name, value)) or near_match(name, fields)
            raise TypeError(f"{what} has no keyword '{name}'{hint}")


def _option_hint(name: str, value: Any) -> str:
    """What an option of the program with this name is called here: --fp8 is gemm_dtype='fp8'."""
    plan = empty(c.sc_plan)
    option = name.replace("_", "-").encode()
    text = None if value is True else str(value).encode()
    with _library.borrowed_context() as context:
        status = _library.library.sc_plan_set(context, ctypes.byref(plan), option, text)
    said = read(plan, c.PLAN_FIELDS) if status == c.SC_OK else {}
    return f"; say {', '.join(f'{k}={v!r}' for k, v in said.items())}" if said else ""


def field_type(struct: Type[ctypes.Structure], name: str) -> Any:
    return dict((field[0], field[1]) for field in struct._fields_)[name]


def _whole(struct: Type[ctypes.Structure], name: str, field: c.Field, value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{name} is a number, not {value}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a whole number, not {value!r}") from None
    least = field.unset + 1
    most = 2 ** (8 * ctypes.sizeof(field_type(struct, name)) - (field.unset < 0)) - 1
    if not least <= number <= most:
        raise ValueError(f"{name} is a number from {least} to {most}, not {number}")
    return number


def _number(name: str, field: c.Field, value: Any) -> float:
    if isinstance(value, (bool, str, bytes)):
        raise TypeError(f"{name} is a number, not {value!r}")
    number = float(value)
    if number == 0 and "0" in field.words:  # where the structure's 0 is "as usual"
        return field.words["0"]
    usable = number >= 0 if field.unset < 0 else number > 0
    if not usable or not math.isfinite(number):
        above = "from 0 on" if field.unset < 0 else "above 0"
        raise ValueError(f"{name} is a number {above}, not {number!r}; leave it out for the usual one")
    return number


def _toggle(name: str, value: Any) -> int:
    toggle = c.ENUMS["sc_toggle"]
    if isinstance(value, bool):
        return toggle["SC_ON"] if value else toggle["SC_OFF"]
    hint = _option_hint(name, value) if isinstance(value, str) else ""
    raise TypeError(f"{name} is True or False (or None: as usual), not {value!r}{hint}")


def _plan_word(name: str, field: c.Field, word: str) -> int:
    """A word of the header, or one that the program or Megatron has for it."""
    canonical = word.lower().replace("_", "-")
    if canonical in field.words:
        return field.words[canonical]
    plan = empty(c.sc_plan)
    option = OPTION_OF_FIELD.get(name, name.replace("_", "-"))
    text = _library.encode(word, name)
    with _library.borrowed_context() as context:
        status = _library.library.sc_plan_set(context, ctypes.byref(plan), option.encode(), text)
    if status == c.SC_OK:
        return int(getattr(plan, name))
    choices = ", ".join(field.words)
    raise UsageError(
        f"{name} is one of {choices}, not {word!r}{near_match(canonical, field.words)}",
        c.SC_USAGE,
        message=f"{name}: unknown {word!r}",
        hint=f"one of: {choices}",
    )


def _word(name: str, field: c.Field, value: Any) -> int:
    if value is False:  # where there is a word for "not at all"
        value = next((word for word in ("no", "none") if word in field.words), value)
    if not isinstance(value, str):
        raise TypeError(f"{name} is one of {', '.join(field.words)}, not {value!r}")
    return _plan_word(name, field, value)


def _words(name: str, field: c.Field, value: Any) -> int:
    total = 0
    for word in value.replace(",", " ").split() if isinstance(value, str) else value:
        if not isinstance(word, str):
            raise TypeError(f"{name} are words of {', '.join(field.words)}, not {word!r}")
        total |= _plan_word(name, field, word)
    return total


def _strings(name: str, value: Any) -> Any:
    values = [value] if isinstance(value, str) else list(value)
    array = (ctypes.c_char_p * (len(values) + 1))()
    for i, one in enumerate(values):
        array[i] = _library.encode(one, name)
    return array


def empty(struct: Type[ctypes.Structure]) -> Any:
    """A structure whose every field says "as usual"."""
    made = struct()
    made.size = ctypes.sizeof(struct)
    fields = c.PLAN_FIELDS if struct is c.sc_plan else c.OPTIONS_FIELDS
    for name, field in fields.items():
        if field.unset:
            setattr(made, name, field.unset)
    return made


def fill(
    struct: Type[ctypes.Structure], fields: Mapping[str, c.Field], values: Mapping[str, Any]
) -> Tuple[Any, List[Any]]:
    """The structure that the values say, and what must live as long as it."""
    made = empty(struct)
    kept: List[Any] = []
    for name, value in values.items():
        if value is None:
            continue
        field = fields[name]
        if field.kind == "whole":
            setattr(made, name, _whole(struct, name, field, value))
        elif field.kind == "number":
            setattr(made, name, _number(name, field, value))
        elif field.kind in ("text", "path"):
            setattr(made, name, _library.encode(value, name))
        elif field.kind == "toggle":
            setattr(made, name, _toggle(name, value))
        elif field.kind == "word":
            setattr(made, name, _word(name, field, value))
        elif field.kind == "words":
            setattr(made, name, _words(name, field, value))
        elif field.kind == "list":
            array = _strings(name, value)
            kept.append(array)
            setattr(made, name, ctypes.cast(array, ctypes.POINTER(ctypes.c_char_p)))
        else:
            settings = _library.SettingArray(value)
            kept.append(settings)
            made.net_settings = ctypes.cast(settings.array, ctypes.POINTER(c.sc_setting))
            made.net_setting_count = settings.count
    return made, kept


def read(struct: Any, fields: Mapping[str, c.Field]) -> Dict[str, Any]:
    """What a structure says, as keywords would: what is "as usual" is left out."""
    return {
        name: value
        for name, value in ((name, _read_one(getattr(struct, name), field)) for name, field in fields.items())
        if value is not None
    }


def _read_one(raw: Any, field: c.Field) -> Optional[Any]:
    if field.kind in ("text", "path"):
        return _library.decode(raw) or None
    if field.kind == "words":
        return tuple(word for word, bit in field.words.items() if raw & bit) or None
    if field.kind == "number" and raw == field.words.get("0"):
        return 0.0
    if raw == field.unset or (field.unset < 0 and raw < 0):
        return None
    if field.kind == "toggle":
        return raw == c.ENUMS["sc_toggle"]["SC_ON"]
    if field.kind == "word":
        return next(word for word, value in field.words.items() if value == raw)
    return raw
