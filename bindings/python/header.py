#!/usr/bin/env python3
"""stepcast.h → stepcast/_header.py: structures, enumerations, signatures and the
keywords of Plan and of evaluate(), so that none of them is written twice.

    header.py include/stepcast/stepcast.h stepcast/_header.py

The header is read strictly: a type or a line that is not understood ends the
build instead of giving a structure with a wrong layout."""

from __future__ import annotations

import os
import re
import sys
from typing import NamedTuple

COMMENT = re.compile(r"/\*.*?\*/", re.S)
SCALARS = {
    "size_t": "ctypes.c_size_t",
    "uint32_t": "ctypes.c_uint32",
    "uint64_t": "ctypes.c_uint64",
    "int": "ctypes.c_int",
    "unsigned": "ctypes.c_uint",
    "unsigned long": "ctypes.c_ulong",
    "double": "ctypes.c_double",
    "void": "None",
}


class Failure(Exception):
    """The header says something that this script does not understand."""


class Field(NamedTuple):
    name: str
    type: str
    doc: str


class Function(NamedTuple):
    name: str
    result: str
    arguments: list[str]


class Header:
    """What a header declares."""

    def __init__(self, text: str) -> None:
        self.version_number = self._version_number(text)
        self.enums: dict[str, dict[str, int]] = {}
        self.flags: dict[str, dict[str, int]] = {}  # by "structure.field"
        self.structs: dict[str, list[Field]] = {}
        self.opaque = re.findall(r"^typedef struct (\w+) \1;", text, re.M)
        self.initial: dict[str, dict[str, int]] = {}  # fields that are not 0 at first
        self._read_enums(text)
        self._read_structs(text)
        self.nothing = self._read_nothing(text)
        self._read_initial(text)
        plain = COMMENT.sub(" ", text)
        self.callbacks = self._functions(
            plain, r"^typedef ([\w \*]+?)(\bsc_\w+)\(([^()]*)\);"
        )
        self.functions = self._functions(plain, r"^SC_API ([\w \*]+?)(\bsc_\w+)\(([^()]*)\);")
        if len(self.functions) != len(re.findall(r"^SC_API\b", plain, re.M)):
            raise Failure("a declaration with SC_API was not understood")

    @staticmethod
    def _version_number(text: str) -> int:
        parts = re.findall(r"#define SC_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text)
        if len(parts) != 3:
            raise Failure("SC_VERSION_MAJOR, _MINOR and _PATCH are not there")
        major, minor, patch = map(int, parts)
        return major * 10000 + minor * 100 + patch

    def _read_enums(self, text: str) -> None:
        pattern = r"^(?:typedef )?enum\s*(\w*)\s*\{(.*?)\}\s*(\w*);"
        for tag, body, name in re.findall(pattern, text, re.M | re.S):
            values: dict[str, int] = {}
            following = 0
            for item in COMMENT.sub(" ", body).split(","):
                match = re.fullmatch(r"\s*(\w+)\s*(?:=\s*(\d+))?\s*", item)
                if not match:
                    if item.strip():
                        raise Failure(f"enum {tag}: '{item.strip()}' was not understood")
                    continue
                following = int(match[2]) if match[2] else following
                values[match[1]] = following
                following += 1
            if name:
                self.enums[name] = values
                continue
            # enum { /* sc_plan.cuda_graphs: … */ … }: the bits of that field
            owner = re.match(r"\s*/\*\s*(\w+\.\w+):", body)
            if not owner:
                raise Failure("an enum without a name does not say which field it is for")
            self.flags[owner[1]] = values

    def _read_structs(self, text: str) -> None:
        pattern = r"^typedef struct (\w+) \{(.*?)^\} (\w+);"
        for tag, body, name in re.findall(pattern, text, re.M | re.S):
            if tag != name:
                raise Failure(f"struct {tag} is called {name}")
            self.structs[name] = self._fields(name, body)

    @staticmethod
    def _fields(struct: str, body: str) -> list[Field]:
        fields = []
        place = 0
        pattern = re.compile(
            r"\s*(?:(?P<alone>/\*.*?\*/)"
            r"|(?P<type>[\w\s\*]+?)(?P<name>\w+);(?:[ \t]*/\*(?P<doc>.*?)\*/)?)",
            re.S,
        )
        while body[place:].strip():
            match = pattern.match(body, place)
            if not match:
                rest = body[place:].strip().splitlines()[0]
                raise Failure(f"struct {struct}: '{rest}' was not understood")
            place = match.end()
            if match["alone"] is None:
                doc = " ".join(re.sub(r"\n\s*\*", "\n", match["doc"] or "").split())
                fields.append(Field(match["name"], " ".join(match["type"].split()), doc))
        return fields

    @staticmethod
    def _read_nothing(text: str) -> dict[str, int]:
        """Values of a number that say "not at all", where 0 says "as usual": SC_NO_TAX."""
        return {k: int(v) for k, v in re.findall(r"#define (SC_NO_\w+) \((-\d+)\.0\)", text)}

    def _read_initial(self, text: str) -> None:
        joined = text.replace("\\\n", " ")
        for name, body in re.findall(r"#define SC_(\w+)_INIT\s*\{(.*?)\}", joined):
            values = dict(re.findall(r"\.(\w+) = (-?\d+)\b", body))
            given = len(re.findall(r"\.(\w+) = ", body))
            if given != len(values) + 1:  # .size = sizeof(…)
                raise Failure(f"SC_{name}_INIT was not understood")
            self.initial[f"sc_{name.lower()}"] = {k: int(v) for k, v in values.items()}

    @staticmethod
    def _functions(plain: str, pattern: str) -> list[Function]:
        functions = []
        for result, name, arguments in re.findall(pattern, plain, re.M):
            types = []
            for argument in arguments.split(","):
                argument = " ".join(argument.split())
                if argument != "void":
                    types.append(re.sub(r"(?<=[\s\*])\w+$", "", argument).strip())
            functions.append(Function(name, result.strip(), types))
        return functions

    def ctype(self, c: str) -> str:
        """The ctypes expression of a C type."""
        bare = " ".join(re.sub(r"\bconst\b", " ", c).replace("*", " * ").split())
        target, stars = bare.rstrip("* "), bare.count("*")
        if stars == 0:
            if target in SCALARS:
                return SCALARS[target]
            if target in self.enums:
                return "ctypes.c_int"
        elif target == "char":
            return "ctypes.c_char_p" if stars == 1 else "ctypes.POINTER(ctypes.c_char_p)"
        elif target in (callback.name for callback in getattr(self, "callbacks", [])):
            return target
        elif target in self.structs and stars == 1:
            return f"ctypes.POINTER({target})"
        elif target in ("void", *self.opaque):
            pointer = "ctypes.c_void_p"
            return pointer if stars == 1 else f"ctypes.POINTER({pointer})"
        raise Failure(f"the type '{c}' was not understood")


def words_of(values: dict[str, int]) -> dict[str, int]:
    """The constants of an enumeration as words: SC_SCHEDULE_ZB_2P is "zb-2p"."""
    named = [name for name in values if not name.endswith("_AUTO")]
    prefix = os.path.commonprefix([name + "_" for name in named])
    prefix = prefix[: prefix.rindex("_") + 1] if len(named) > 1 else "SC_"
    words = {}
    for name, value in values.items():
        word = "auto" if name.endswith("_AUTO") else name[len(prefix) :]
        words[word.lower().replace("_", "-")] = value
    return words


class Keyword(NamedTuple):
    """A field as a keyword in Python."""

    name: str
    kind: str  # what _fields.py makes of it
    words: dict[str, int]
    unset: int  # the value of the field that says "as usual"
    doc: str


ANNOTATIONS = {
    "whole": "Optional[int]",
    "number": "Optional[float]",
    "text": "Optional[str]",
    "path": "Optional[Path]",
    "toggle": "Optional[bool]",
    "list": "Optional[Sequence[str]]",
    "settings": "Optional[Mapping[str, Any]]",
}


def keyword(header: Header, struct: str, field: Field) -> Keyword:
    bits = header.flags.get(f"{struct}.{field.name}")
    unset = header.initial[struct].get(field.name, 0)
    words: dict[str, int] = {}
    if bits is not None:
        kind = "words"
        words = words_of(bits)
    elif field.type == "sc_toggle":
        kind = "toggle"
    elif field.type in header.enums:
        kind = "word"
        words = words_of(header.enums[field.type])
    else:
        kind = {
            "uint32_t": "whole",
            "uint64_t": "whole",
            "int": "whole",
            "double": "number",
            "const char *": "text",
            "const char *const *": "list",
            "const sc_setting *": "settings",
        }.get(field.type, "")
    none = re.search(r"(SC_NO_\w+): not at all", field.doc)
    if none:
        words = {"0": header.nothing[none[1]]}
    if not kind:
        raise Failure(f"{struct}.{field.name}: a keyword of type '{field.type}'?")
    if kind == "text" and ("file" in field.name or field.doc.startswith("file")):
        kind = "path"
    return Keyword(field.name, kind, words, unset, python_doc(field.doc))


def python_doc(doc: str) -> str:
    """What C writes as 0, -1 or NULL is None in Python."""
    doc = re.sub(r"SC_\w+…", "", doc)
    doc = re.sub(r"(?<![\w.])(?:NULL|-1|< 0|0): ", "None: ", doc)
    doc = re.sub(r"SC_NO_\w+: not", "0: not", doc)
    return doc.replace(", NULL-terminated", "").replace("NULL", "None")


def keywords(header: Header, struct: str) -> list[Keyword]:
    counts = {"net_setting_count", "size"}  # filled in, not given
    return [keyword(header, struct, f) for f in header.structs[struct] if f.name not in counts]


def annotation(k: Keyword) -> str:
    if k.kind not in ("word", "words"):
        return ANNOTATIONS[k.kind]
    literal = "Literal[" + ", ".join(f'"{word}"' for word in k.words) + "]"
    return f"Optional[{literal}]" if k.kind == "word" else f"Optional[Sequence[{literal}]]"


def write_keywords(out: list[str], name: str, doc: str, ks: list[Keyword]) -> None:
    out += ["", "", f"class {name}Keywords(TypedDict, total=False):", f'    """{doc}"""', ""]
    out += [f"    {k.name}: {annotation(k)}" for k in ks]
    out += ["", "", f"{name.upper()}_FIELDS: Dict[str, Field] = {{"]
    for k in ks:
        out.append(f'    "{k.name}": Field("{k.kind}", {k.words!r}, {k.unset}, {k.doc!r}),')
    out.append("}")


def write_attributes(out: list[str], ks: list[Keyword]) -> None:
    out += ["", "", "class PlanAttributes:", '    """What a plan says; None is "as usual"."""', ""]
    out += [f"    {k.name}: {annotation(k)}" for k in ks]


def module(header: Header, source: str) -> str:
    """The text of _header.py."""
    out = [
        f'"""Made from {os.path.basename(source)} by header.py. Do not edit."""',
        "",
        "from __future__ import annotations",
        "",
        "import ctypes",
        "import os",
        "from typing import Any, Dict, Literal, Mapping, NamedTuple, Optional, Sequence",
        "from typing import TypedDict, Union",
        "",
        'Path = Union[str, "os.PathLike[str]"]',
        f"VERSION_NUMBER = {header.version_number}",
        "",
        "",
        "class Field(NamedTuple):",
        '    """A field of a structure that the caller fills."""',
        "",
        "    kind: str",
        "    words: Dict[str, int]",
        "    unset: int",
        "    doc: str",
        "",
        "",
        f"ENUMS: Dict[str, Dict[str, int]] = {header.enums!r}",
        f"FLAGS: Dict[str, Dict[str, int]] = {header.flags!r}",
    ]
    for name, value in header.enums["sc_status"].items():
        out.append(f"{name} = {value}")
    for name, fields in header.structs.items():
        out += ["", "", f"class {name}(ctypes.Structure):", "    _fields_ = ["]
        out += [f'        ("{f.name}", {header.ctype(f.type)}),' for f in fields]
        out.append("    ]")
    for c in header.callbacks:
        types = ", ".join(header.ctype(t) for t in (c.result, *c.arguments))
        out.append(f"\n{c.name} = ctypes.CFUNCTYPE({types})")
    names = ", ".join(header.structs)
    out += ["", f"STRUCTURES = [{names}]", "", "", "def declare(library: ctypes.CDLL) -> None:"]
    out.append('    """Gives every function of the library its types."""')
    for f in header.functions:
        arguments = ", ".join(header.ctype(t) for t in f.arguments)
        out.append(f"    library.{f.name}.restype = {header.ctype(f.result)}")
        out.append(f"    library.{f.name}.argtypes = [{arguments}]")
    plan = keywords(header, "sc_plan")
    write_keywords(out, "Plan", "What Plan() takes.", plan)
    write_keywords(
        out,
        "Options",
        "What evaluate() and simulate() take beside their objects.",
        keywords(header, "sc_options"),
    )
    write_attributes(out, plan)
    return "\n".join(out) + "\n"


def main() -> int:
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        text = file.read()
    try:
        made = module(Header(text), source)
    except Failure as failure:
        print(f"{source}: error: {failure}", file=sys.stderr)
        return 1
    with open(target, "w", encoding="utf-8") as file:
        file.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
