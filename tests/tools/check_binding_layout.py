#!/usr/bin/env python3
"""The structures that Python makes from the header, against the compiler's:
check_binding_layout.py CC HEADER FOLDER (a place to write)

A C program prints every offset, size and constant; bindings/python/header.py
must have the same. Then the test itself is tried: it must see a field that moved,
and the script must refuse what it does not understand."""
import ctypes
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bindings", "python"))
sys.dont_write_bytecode = True
import header as reader  # noqa: E402

compiler, path, folder = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    TEXT = file.read()


def by_compiler(text):
    """Facts of a header, by compiling it: {"sc_plan.tp": (offset, size), …}"""
    parsed = reader.Header(TEXT)  # names only: what they are is the compiler's word
    lines = []
    for struct, fields in parsed.structs.items():
        lines.append(f'printf("{struct} 0 %zu\\n", sizeof({struct}));')
        for field in fields:
            place = f"{struct}, {field.name}"
            size = f"sizeof((({struct} *)0)->{field.name})"
            lines.append(f'printf("{struct}.{field.name} %zu %zu\\n", offsetof({place}), {size});')
    for values in (*parsed.enums.values(), *parsed.flags.values()):
        lines += [f'printf("{name} 0 %zu\\n", (size_t){name});' for name in values]
    lines.append('printf("version 0 %zu\\n", (size_t)SC_VERSION_NUMBER);')
    for struct, values in parsed.initial.items():
        lines.append(f"{{ {struct} s = {struct.upper()}_INIT;")
        for name in values:
            lines.append(f'printf("{struct}.{name}_at_first 0 %d\\n", (int)s.{name});')
        lines.append("}")
    os.makedirs(f"{folder}/stepcast", exist_ok=True)
    with open(f"{folder}/stepcast/stepcast.h", "w", encoding="utf-8") as out:
        out.write(text)
    with open(f"{folder}/facts.c", "w", encoding="utf-8") as out:
        body = "\n    ".join(lines)
        out.write(f"#include <stdio.h>\n#include <stepcast/stepcast.h>\nint main(void) {{\n    {body}\n}}\n")
    command = [*compiler.split(), "-std=c17", "-I", folder, f"{folder}/facts.c", "-o", f"{folder}/facts"]
    subprocess.run(command, check=True)
    printed = subprocess.run([f"{folder}/facts"], check=True, capture_output=True, text=True).stdout
    facts = (line.split() for line in printed.splitlines())
    return {name: (int(a), int(b)) for name, a, b in facts}


def by_python(text):
    """The same, by what header.py makes of it."""
    parsed = reader.Header(text)
    made = {}
    exec(compile(reader.module(parsed, path), "_header.py", "exec"), made)
    facts = {}
    for struct in made["STRUCTURES"]:
        facts[struct.__name__] = (0, ctypes.sizeof(struct))
        for name, _ in struct._fields_:
            field = getattr(struct, name)
            facts[f"{struct.__name__}.{name}"] = (field.offset, field.size)
    for values in (*made["ENUMS"].values(), *made["FLAGS"].values()):
        facts.update((name, (0, value)) for name, value in values.items())
    facts["version"] = (0, made["VERSION_NUMBER"])
    for name, field in made["PLAN_FIELDS"].items():
        if field.unset:
            facts[f"sc_plan.{name}_at_first"] = (0, field.unset)
    return facts


failed = False


def check(what, holds):
    global failed
    failed |= not holds
    print(("ok" if holds else "not ok") + f" python: {what}")


compiled = by_compiler(TEXT)
check("every offset, size and constant is the compiler's", by_python(TEXT) == compiled)
check("there are many of them", len(compiled) > 150)

swapped = TEXT.replace("    double moe_imbalance;", "    double SWAP;").replace(
    "    double moe_capacity_factor;", "    double moe_imbalance;").replace("    double SWAP;", "    double moe_capacity_factor;")
check("a field that moved is seen", swapped != TEXT and by_compiler(swapped) != by_python(TEXT))
wider = TEXT.replace("    uint32_t tp; ", "    uint64_t tp; ")
check("a field that grew is seen", wider != TEXT and by_compiler(wider) != by_python(TEXT))


def refused(what, old, new):
    changed = TEXT.replace(old, new)
    try:
        reader.module(reader.Header(changed), path)
        check(what, False)
    except reader.Failure:
        check(what, changed != TEXT)


refused("an unknown type is refused", "    uint32_t tp; ", "    _Bool tp; ")
refused("an array is refused", "    uint32_t tp; ", "    uint32_t tp[2]; ")
refused("a bit field is refused", "    uint32_t tp; ", "    uint32_t tp : 3; ")
refused("an unknown argument is refused", "sc_close(sc_context *ctx)", "sc_close(FILE *ctx)")
sys.exit(failed)
