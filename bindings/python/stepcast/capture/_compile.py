"""torch.compile leaves what it is given as it is, and says that it was asked: what would be
compiled together is a unit, whose kernels `stepcast run` fuses."""

import functools

import torch


class Units:
    """What is compiled together: calls of modules and functions that the program compiles, or,
    where it compiles nothing, calls of the outermost module."""

    def __init__(self):
        self.compiled = set()  # ids of modules
        self.asked = False
        self.count = 0
        self.now = 0  # 0: outside
        self.owner = None

    def begin(self, owner):
        if self.now:
            return
        self.count += 1
        self.now = self.count
        self.owner = owner

    def end(self, owner):
        if self.owner is owner:
            self.now = 0
            self.owner = None

    def begin_module(self, module, outermost):
        if id(module) in self.compiled or (outermost and not self.asked):
            self.begin(module)

    def mark(self, what):
        """In place of torch.compile."""
        self.asked = True
        if isinstance(what, torch.nn.Module):
            self.compiled.add(id(what))
            return what

        @functools.wraps(what)
        def run(*args, **kwargs):
            self.begin(run)
            try:
                return what(*args, **kwargs)
            finally:
                self.end(run)

        return run


class Replaced:
    """While open, compiling is marking."""

    def __init__(self, units):
        self.units = units

    def __enter__(self):
        units = self.units

        def compile(model=None, **_):
            return units.mark if model is None else units.mark(model)

        def compile_module(module, *_, **__):
            units.mark(module)

        self._before = torch.compile, torch.nn.Module.compile
        torch.compile = compile
        torch.nn.Module.compile = compile_module
        return self

    def __exit__(self, *exception):
        torch.compile, torch.nn.Module.compile = self._before
