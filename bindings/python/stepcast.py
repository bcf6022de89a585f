"""Forecast one training step of a large model on a GPU cluster.

    import stepcast
    result = stepcast.run("workload.txt", cluster="dgx-h100:1024")
    print(result["step_time_us"], result["breakdown_us"]["bubble"])

Each function mirrors a command of the stepcast program: inputs are positional,
options are keywords with their long names ("micro_batch" for --micro-batch;
True for a flag; a list for an option that may be repeated). The answer is the
JSON document of the command as plain dicts and lists. What goes wrong is raised
as stepcast.Error, with the place in the input and a hint.

The module needs nothing but the standard library and libstepcast.so: beside the
installed module, on the library path, or where STEPCAST_LIBRARY says.
"""
import ctypes
import ctypes.util
import json
import os

__all__ = ["run", "show", "coll", "kernels", "compare", "validate", "execute", "version", "Error", "OK", "NO"]

OK, NO, USAGE, INPUT, SYSTEM = range(5)


class Error(Exception):
    """A request that failed. The text is what the program would print.

    status   1 no answer but "no" (it does not fit into memory), 2 usage, 3 bad
             input, 4 system (the program's exit codes)
    message  what is wrong, in one sentence
    hint     what may help, or ""
    file, line, column   where; None and 0 where unknown
    """

    def __init__(self, text, status, message="", hint="", file=None, line=0, column=0):
        super().__init__(text.rstrip())
        self.status, self.message, self.hint = status, message, hint
        self.file, self.line, self.column = file, line, column


def _candidates():
    here = os.path.dirname(os.path.abspath(__file__))
    if os.environ.get("STEPCAST_LIBRARY"):
        yield os.environ["STEPCAST_LIBRARY"]
        return
    for folder in (here, "../../build", "../../../lib"):  # installed beside, a source tree, share/stepcast/python
        yield os.path.join(here, folder, "libstepcast.so.0")
    yield "libstepcast.so.0"


def _load():
    failures = []
    for path in _candidates():
        if os.path.sep in path and not os.path.exists(path):
            continue
        try:
            return _declare(ctypes.CDLL(path))
        except OSError as failure:
            failures.append(str(failure))
    raise ImportError("libstepcast.so was not found; set STEPCAST_LIBRARY to its path. " + "; ".join(failures))


def _declare(library):
    text, handle, number = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_ulong
    signatures = {
        "sc_version": (text, []),
        "sc_open": (handle, []),
        "sc_close": (None, [handle]),
        "sc_error_text": (text, [handle]),
        "sc_error_message": (text, [handle]),
        "sc_error_hint": (text, [handle]),
        "sc_error_file": (text, [handle]),
        "sc_error_line": (number, [handle]),
        "sc_error_column": (number, [handle]),
        "sc_request_new": (handle, [handle, text]),
        "sc_request_set": (ctypes.c_int, [handle, text, text]),
        "sc_request_input": (ctypes.c_int, [handle, text]),
        "sc_execute": (ctypes.c_int, [handle]),
        "sc_request_output": (handle, [handle]),  # not text: it may hold NUL bytes and has a size of its own
        "sc_request_output_size": (ctypes.c_size_t, [handle]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()


def version():
    """The version of the library, "MAJOR.MINOR.PATCH"."""
    return _library.sc_version().decode()


def _bytes(value):
    data = os.fsencode(value) if isinstance(value, (str, bytes, os.PathLike)) else str(value).encode()
    if b"\0" in data:
        raise ValueError("a NUL byte in " + repr(value))
    return data


def _raise(context, status):
    def text(function):
        value = function(context)
        return value.decode(errors="replace") if value else ""

    raise Error(text(_library.sc_error_text), _library.sc_exit_code(status), text(_library.sc_error_message), text(_library.sc_error_hint),
                text(_library.sc_error_file) or None, _library.sc_error_line(context), _library.sc_error_column(context))


def _set(context, request, name, value):
    name = name.replace("_", "-").encode()
    if value is None or value is False:
        return
    for one in value if isinstance(value, (list, tuple)) else [value]:
        status = _library.sc_request_set(request, name, None if one is True else _bytes(one))
        if status != OK:
            _raise(context, status)


def execute(command, *inputs, **options):
    """Runs any command; (status, text): status is OK or NO, text what the
    program would print on standard output."""
    context = _library.sc_open()
    if not context:
        raise MemoryError("stepcast")
    try:
        request = _library.sc_request_new(context, command.encode())
        if not request:
            _raise(context, USAGE)
        for name, value in options.items():
            _set(context, request, name, value)
        for path in inputs:
            if _library.sc_request_input(request, _bytes(path)) != OK:
                _raise(context, SYSTEM)
        status = _library.sc_execute(request)
        if status not in (OK, NO) or _library.sc_error_text(context):
            _raise(context, status)
        size = _library.sc_request_output_size(request)
        return status, os.fsdecode(ctypes.string_at(_library.sc_request_output(request), size))
    finally:
        _library.sc_close(context)


def _json(command, inputs, options):
    if "json" in options:
        raise TypeError("the answer is the JSON document: json.dump() writes it to a file")
    _, text = execute(command, *inputs, **dict(options, json="-"))
    return json.loads(text)


def run(*inputs, **options):
    """Simulates a step: run("workload.txt", cluster="dgx-h100:1024", net="flow")."""
    return _json("run", inputs, options)


def show(*inputs, **options):
    """What is in an input: format, plan, volumes, compute."""
    return _json("show", inputs, options)


def coll(operation, **options):
    """Times of a collective over sizes: coll("all_reduce", cluster="dgx-h100:64")."""
    return _json("coll", [operation], options)


def kernels(**options):
    """Times of the operators of a layer: kernels(gpu="h100", model="llama3-8b")."""
    return _json("kernels", [], options)


def compare(a, b, **options):
    """Compares two steps, saved, measured or simulated here. With tolerance set,
    the answer's "over" says whether they differ by more."""
    return _json("compare", [a, b], options)


def validate(*inputs, **options):
    """Forecasts measured steps and gives the errors."""
    return _json("validate", inputs, options)
