#!/usr/bin/env python3
"""Runs the examples in docstrings and in pages: check_binding_docs.py FOLDER PAGE…

A page's blocks marked python run one after the other in FOLDER; lines that begin
with >>> are checked against what follows them. Then every name that the package
gives must have a docstring and type hints."""
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import sys
import typing

import stepcast

folder, *pages = sys.argv[1:]
failed = False


def check(what, holds, why=""):
    global failed
    failed |= not holds
    print(("ok" if holds else "not ok") + f" python: {what}" + ("" if holds else f": {why}"))


attempted = wrong = 0
for module in pkgutil.iter_modules(stepcast.__path__):
    result = doctest.testmod(importlib.import_module(f"stepcast.{module.name}"), extraglobs={"stepcast": stepcast})
    attempted += result.attempted
    wrong += result.failed
check("examples in docstrings", wrong == 0 and attempted > 20, f"{wrong} of {attempted} failed")

for page in pages:
    path = os.path.abspath(page)
    with open(path, encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```$", file.read(), flags=re.M | re.S)
    examples = doctest.DocTestParser().get_doctest("".join(blocks), {}, os.path.basename(page), path, 0)
    here = os.getcwd()
    os.chdir(folder)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(examples)
    os.chdir(here)
    check(f"examples in {os.path.basename(page)}", runner.tries > 5 and runner.failures == 0,
          f"{runner.failures} of {runner.tries} failed")


def members(owner):
    """Public functions of a class, with what properties call."""
    for name, member in vars(owner).items():
        member = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(member) and (not name.startswith("_") or name == "__init__"):
            yield f"{owner.__name__}.{name}", member


bare = []
for name in stepcast.__all__:
    thing = getattr(stepcast, name)
    if not inspect.getdoc(thing):
        bare.append(f"{name} has no docstring")
    for place, function in members(thing) if inspect.isclass(thing) else [(name, thing)]:
        code = function.__code__
        named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        hints = function.__annotations__
        bare += [f"{place}({word}) has no type" for word in named if word not in hints and word not in ("self", "cls")]
        if "return" not in hints:
            bare.append(f"{place} does not say what it answers")
check("every public name has a docstring and types", not bare, "; ".join(bare))
parameters = inspect.signature(stepcast.Plan).parameters
check(
    "help shows no values of a number",
    "None: as the software has it; 0: not at all\n" in (stepcast.evaluate.__doc__ or ""),
)
check("help shows the keywords of a plan", "sequence_parallel" in parameters and "tp: tensor parallel" in (stepcast.Plan.__doc__ or ""))
parameters = inspect.signature(stepcast.evaluate).parameters
check("help shows the options of evaluate()", "net_settings" in parameters and "progress" in parameters)
sys.exit(failed)
