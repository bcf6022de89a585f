"""The commands of the program: options as keywords, or the words of a command line."""

from __future__ import annotations

import contextlib
import json
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

from . import _header as c
from ._library import Progress, Sink, Text, borrowed_context, decode, encode, library
from ._library import progress_shown, raise_error


class Output(NamedTuple):
    """What a command answers."""

    #: 0, or 1 where the answer is "no"
    status: int
    #: what the program would print on standard output
    text: str
    #: what was assumed
    notes: List[str]


class _Request:
    """One request of a context, freed by its end."""

    def __init__(self, context: int, command: str) -> None:
        self._context = context
        self._parts: List[bytes] = []
        self._sink = Sink(self._parts.append)
        self._pointer = library.sc_request_new(context, encode(command, "a command"))
        if not self._pointer:
            raise_error(context, c.SC_USAGE)
        library.sc_request_set_sink(self._pointer, self._sink.callback, None)

    def free(self) -> None:
        library.sc_request_free(self._pointer)

    def takes_value(self, name: str) -> bool:
        return bool(library.sc_request_takes_value(self._pointer, encode(name, "an option")))

    def set(self, name: str, value: Optional[bytes]) -> None:
        self._check(library.sc_request_set(self._pointer, encode(name, "an option"), value))

    def set_keyword(self, keyword: str, value: Any) -> None:
        """An option as Python says it: True, False, numbers, lists."""
        name = keyword.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                self.set(name, self._text(keyword, name, one))

    def _text(self, keyword: str, name: str, value: Any) -> Optional[bytes]:
        if not isinstance(value, bool):
            number = isinstance(value, (int, float))
            return repr(value).encode() if number else encode(value, keyword)
        field = c.PLAN_FIELDS.get(keyword)
        if field and field.kind == "toggle" and self.takes_value(name):
            return b"yes" if value else b"no"
        if not value:
            raise TypeError(f"{keyword}=False: --{name} cannot be told no; leave it out")
        return None

    def add_input(self, path: Text) -> None:
        self._check(library.sc_request_input(self._pointer, encode(path, "an input")))

    def execute(self, progress: Optional[Progress]) -> Output:
        with progress_shown(self._context, progress):
            status = library.sc_execute(self._pointer)
            self._sink.check()
            if status not in (c.SC_OK, c.SC_NO):
                raise_error(self._context, status)
        return Output(status, decode(b"".join(self._parts)), list(self._notes()))

    def _notes(self) -> Iterator[str]:
        i = 0
        note = library.sc_request_note(self._pointer, i)
        while note is not None:
            yield decode(note)
            i += 1
            note = library.sc_request_note(self._pointer, i)

    def _check(self, status: int) -> None:
        if status != c.SC_OK:
            raise_error(self._context, status)


@contextlib.contextmanager
def request(command: str) -> Iterator[_Request]:
    """A request for a command, with a context of its own."""
    with borrowed_context() as context:
        made = _Request(context, command)
        try:
            yield made
        finally:
            made.free()


def command(words: Sequence[Text], *, progress: Optional[Progress] = None) -> Output:
    """Runs a command line without the name of the program.

    >>> output = stepcast.command(["coll", "all_reduce", "--cluster", "dgx-h100:16"])
    >>> output.status, "all_reduce" in output.text
    (0, True)
    """
    if isinstance(words, str):
        raise TypeError("command() takes a list of words: shlex.split() makes one")
    texts = [decode(encode(word, "a word")) for word in words]
    if not texts:
        raise TypeError("command() takes the name of a command and its options")
    with request(texts[0]) as asked:
        _set_words(asked, texts[1:])
        return asked.execute(progress)


def _set_words(asked: _Request, words: List[str]) -> None:
    """--name value, --name=value, -n value and inputs; all are inputs after "--"."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            for path in rest:
                asked.add_input(path)
            return
        if word == "-" or not word.startswith("-"):
            asked.add_input(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if equals:
            asked.set(name, encode(value))
        elif asked.takes_value(name) and rest:
            asked.set(name, encode(rest.pop(0)))
        else:
            asked.set(name, None)


def run_json(
    name: str, inputs: Sequence[Text], options: Dict[str, Any], progress: Optional[Progress] = None
) -> Dict[str, Any]:
    """The JSON document of a command."""
    if "json" in options:
        raise TypeError("the answer is the JSON document: json.dump() writes it to a file")
    with request(name) as asked:
        asked.set("json", b"-")
        for keyword, value in options.items():
            asked.set_keyword(keyword, value)
        for path in inputs:
            asked.add_input(path)
        document = json.loads(asked.execute(progress).text)
    assert isinstance(document, dict)
    return document


def run(*inputs: Text, **options: Any) -> Dict[str, Any]:
    """Simulates a step, as the program does; the answer is its JSON document.

    Options are keywords with their long names ("micro_batch" for --micro-batch):
    True for a flag, a list for one that may be repeated.

    >>> stepcast.run(model="gpt2", gpus=1, global_batch=8)["plan"]["gpus"]
    1
    """
    return run_json("run", inputs, options)


def show(*inputs: Text, **options: Any) -> Dict[str, Any]:
    """What is in an input: format, plan, volumes, compute."""
    return run_json("show", inputs, options)


def coll(operation: str, **options: Any) -> Dict[str, Any]:
    """Times of a collective over sizes: coll("all_reduce", cluster="dgx-h100:64")."""
    return run_json("coll", [operation], options)


def kernels(**options: Any) -> Dict[str, Any]:
    """Times of the kernels of a layer: kernels(gpu="h100-sxm", model="llama3-8b")."""
    return run_json("kernels", [], options)


def compare(a: Text, b: Text, **options: Any) -> Dict[str, Any]:
    """Compares two steps, saved, measured or simulated here. With tolerance set,
    the answer's "over" says whether they differ by more."""
    return run_json("compare", [a, b], options)


def validate(*inputs: Text, **options: Any) -> Dict[str, Any]:
    """Forecasts measured steps and gives the errors."""
    return run_json("validate", inputs, options)
