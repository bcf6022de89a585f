"""The shared library: where it is, how it is called, and how its errors are raised."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import weakref
from typing import Any, Callable, Iterator, List, NoReturn, Optional, SupportsIndex, Tuple, TypeVar, Union

from . import _header as c
from ._errors import Cancelled, DoesNotFit, StepcastError, UsageError

SONAME = "libstepcast.so.0"

#: Called now and then with what is being done and how much of it, 0 to 1. Ends
#: the call with Cancelled when it answers True.
Progress = Callable[[str, float], Optional[bool]]


def _candidates() -> Iterator[str]:
    given = os.environ.get("STEPCAST_LIBRARY")
    if given:
        yield given
        return
    here = os.path.dirname(os.path.abspath(__file__))
    yield os.path.join(here, SONAME)  # a wheel
    yield os.path.join(here, "../..", SONAME)  # build/python/stepcast of a source tree
    yield os.path.join(here, "../../../../lib", SONAME)  # share/stepcast/python/stepcast
    yield SONAME


def _load_linked(folder: str) -> None:
    """What a wheel carries beside the library, where the system has it not. They need each
    other: what cannot be loaded yet is tried again behind the others."""
    left = sorted(name for name in os.listdir(folder) if not name.endswith(".copyright"))
    for _ in range(len(left)):
        for name in list(left):
            with contextlib.suppress(OSError):
                ctypes.CDLL(os.path.join(folder, name))
                left.remove(name)


def _open(path: str) -> ctypes.CDLL:
    linked = os.path.join(os.path.dirname(path), "linked")
    try:
        return ctypes.CDLL(path)
    except OSError:
        if not os.path.isdir(linked):
            raise
    _load_linked(linked)
    return ctypes.CDLL(path)


def _load() -> ctypes.CDLL:
    failures = []
    for path in _candidates():
        if os.path.sep in path and not os.path.exists(path):
            failures.append(f"{path}: no such file")
            continue
        try:
            library = _open(path)
            c.declare(library)
        except (OSError, AttributeError) as failure:
            failures.append(str(failure))
            continue
        _check_version(library, path)
        return library
    raise ImportError(
        "libstepcast could not be loaded (STEPCAST_LIBRARY may name another): " + "; ".join(failures)
    )


def _check_version(library: ctypes.CDLL, path: str) -> None:
    """A library of another minor version may mean other things by the same words."""
    found = library.sc_version_number()
    if found // 100 != c.VERSION_NUMBER // 100:
        raise ImportError(
            f"{path} is version {found // 10000}.{found // 100 % 100}, and this package is for "
            f"{c.VERSION_NUMBER // 10000}.{c.VERSION_NUMBER // 100 % 100}"
        )


library = _load()


def version() -> str:
    """The version of the library, "MAJOR.MINOR.PATCH"."""
    return decode(library.sc_version())


# ---- text ----


def decode(value: Optional[bytes]) -> str:
    """Text of the library. Names of files may be any bytes; they survive."""
    return value.decode("utf-8", "surrogateescape") if value else ""


def encode(value: Any, what: str = "a text") -> bytes:
    """Text for the library: a str, bytes or a path; in UTF-8 whatever the locale."""
    if hasattr(value, "__fspath__"):
        value = value.__fspath__()
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    if not isinstance(value, bytes):
        raise TypeError(f"{what} is text or a path, not {type(value).__name__}")
    if b"\0" in value:
        raise ValueError(f"{what} has a NUL byte: {value!r}")
    return value


# ---- contexts: one per thread, and one more for a call made inside a callback ----


class _Context:
    def __init__(self) -> None:
        self.pointer = library.sc_open()
        if not self.pointer:
            raise MemoryError("stepcast")
        weakref.finalize(self, library.sc_close, self.pointer)


class _Idle(threading.local):
    def __init__(self) -> None:
        self.contexts: List[_Context] = []


_idle = _Idle()


def _c_locale() -> Tuple[Any, Optional[int]]:
    """uselocale() and the locale in which 1.5 is written 1.5; (None, None) where
    the C library has none for one thread."""
    process = ctypes.CDLL(None)
    numeric_mask = 1 << 1  # LC_NUMERIC_MASK; the rest is that of "C" without a base
    try:
        process.newlocale.restype = ctypes.c_void_p
        process.newlocale.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p]
        process.uselocale.restype = ctypes.c_void_p
        process.uselocale.argtypes = [ctypes.c_void_p]
    except AttributeError:
        return None, None
    return process.uselocale, process.newlocale(numeric_mask, b"C", None)


_uselocale, _plain = _c_locale()


@contextlib.contextmanager
def borrowed_context() -> Iterator[int]:
    """A context that nobody else uses meanwhile. While it lasts this thread writes
    and reads numbers with a point, whatever setlocale() said."""
    contexts = _idle.contexts
    context = contexts.pop() if contexts else _Context()
    before = _uselocale(_plain) if _plain else None
    try:
        yield context.pointer
    finally:
        if before:
            _uselocale(before)
        contexts.append(context)


def raise_error(context: int, status: int) -> NoReturn:
    """Raises the last error of a context."""
    kinds = {c.SC_USAGE: UsageError, c.SC_CANCELLED: Cancelled, c.SC_NO_FIT: DoesNotFit}
    raise kinds.get(status, StepcastError)(
        decode(library.sc_error_text(context)),
        library.sc_exit_code(status),
        decode(library.sc_error_message(context)),
        decode(library.sc_error_hint(context)),
        decode(library.sc_error_file(context)) or None,
        library.sc_error_line(context),
        library.sc_error_column(context),
    )


class _Interrupts:
    """Control-C while the library runs. Python would raise KeyboardInterrupt inside
    the callback, where ctypes drops it; so a handler takes note instead."""

    def __init__(self) -> None:
        self.seen = False
        self._mine = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )

    def _note(self, _number: int, _frame: object) -> None:
        self.seen = True

    def __enter__(self) -> _Interrupts:
        if self._mine:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_error: object) -> None:
        if self._mine:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.seen:
            raise KeyboardInterrupt


@contextlib.contextmanager
def progress_shown(context: int, show: Optional[Progress]) -> Iterator[None]:
    """While this lasts the library calls show; what it raises is raised here.

    Without one there is a callback all the same: control-C is noticed there."""
    failures: List[BaseException] = []

    def call(_user: object, what: Optional[bytes], share: float) -> int:
        try:
            wanted = show is not None and show(decode(what), share)
        except BaseException as failure:  # raised below
            failures.append(failure)
            return 1
        return 1 if wanted or interrupts.seen else 0

    callback = c.sc_progress(call)
    library.sc_set_progress(context, callback, None)
    try:
        with _Interrupts() as interrupts:
            yield
    except StepcastError:
        if failures:
            raise failures[0] from None
        raise
    finally:
        library.sc_set_progress(context, c.sc_progress(0), None)  # no more calls
    if failures:
        raise failures[0]


class Sink:
    """Takes what the library writes."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._failure: Optional[BaseException] = None
        self.callback = c.sc_sink(self._take)

    def _take(self, _user: object, data: int, size: int) -> int:
        try:
            self._write(ctypes.string_at(data, size))
        except BaseException as failure:  # raised again by check()
            self._failure = failure
            return 1
        return 0

    def check(self) -> None:
        """Raises what writing raised."""
        if self._failure is not None:
            raise self._failure


# ---- objects ----


Own = TypeVar("Own", bound="Handle")


class Handle:
    """An object of the library, freed with the last reference to it."""

    #: What to send to another process instead.
    _instead = "send what it is made from, and make it there"

    def __init__(self, pointer: int, free: Callable[[int], None]) -> None:
        self._pointer = pointer
        self._free = weakref.finalize(self, free, pointer)

    # A second object with the same pointer would outlive what it points to. Objects do
    # not change, so a copy may be the object itself; another process has nothing there.

    def __copy__(self: Own) -> Own:
        return self

    def __deepcopy__(self: Own, memo: object) -> Own:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        kind = type(self).__name__
        raise TypeError(f"a {kind} lives in the memory of this process and cannot be pickled; {self._instead}")


def made(context: int, status: int, pointer: ctypes.c_void_p) -> int:
    """The object that a call has made, or its error raised."""
    if status != c.SC_OK:
        raise_error(context, status)
    assert pointer.value is not None
    return pointer.value


#: A name or a path; bytes for paths that are no text.
Text = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class SettingArray:
    """Names and values for the library, and the text they point to."""

    def __init__(self, settings: Any) -> None:
        pairs = []
        for name, value in (settings or {}).items():
            option = encode(str(name).replace("_", "-"), "a setting")
            many = value if isinstance(value, (list, tuple)) else [value]
            pairs += [(option, self._value(name, one)) for one in many if one is not None]
        self.array = (c.sc_setting * len(pairs))(*(c.sc_setting(*pair) for pair in pairs))
        self.count = len(pairs)

    @staticmethod
    def _value(name: object, value: Any) -> Optional[bytes]:
        if value is True:
            return None
        if value is False:
            raise TypeError(f"{name}: False is no value; leave a flag out instead")
        if isinstance(value, (int, float)):
            return repr(value).encode()
        return encode(value, str(name))
