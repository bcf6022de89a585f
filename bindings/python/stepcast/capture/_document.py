"""The capture as a document, docs/formats/capture.md. Everything that repeats
(tensors, calls, module names) stands once and is named by its place."""

import gzip
import json
import os

SCHEMA = "stepcast/capture/1"


class Table:
    """Things by the order in which they were first seen."""

    def __init__(self):
        self.items = []
        self._places = {}

    def place(self, key, item=None):
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = len(self.items)
            self.items.append(key if item is None else item)
        return found


class Capture:
    """What was captured; write() makes the file that `stepcast run` reads."""

    def __init__(self, made_by, world, mesh):
        self.made_by = made_by
        self.world = world
        self.mesh = list(mesh or [])
        self.tensors = Table()
        self.calls = Table()
        self.modules = Table()
        self.groups = Table()
        self.modules.place("")
        self.classes = []
        self.programs = []
        self.notes = Table()
        self.compiled = False  # whether the program compiles what it runs
        self.layers = {}  # what repeats, _layers.py; not written

    def tensor(self, dtype, shape, strides, count):
        """count > 1: a list of tensors, `shape` being [elements of all of them]."""
        entry = [dtype, list(shape)]
        if strides is not None:
            entry.append(list(strides))
        elif count != 1:
            entry.append(None)
        if count != 1:
            entry.append(count)
        key = (dtype, tuple(shape), strides and tuple(strides), count)
        return self.tensors.place(key, entry)

    def call(self, operation, inputs, outputs, attributes):
        entry = {"op": operation, "in": inputs, "out": outputs}
        if attributes:
            entry["with"] = attributes
        also = json.dumps(attributes, sort_keys=True) if attributes else ""
        key = (operation, tuple(inputs), tuple(outputs), also)
        return self.calls.place(key, entry)

    def group(self, entry):
        return self.groups.place(json.dumps(entry, sort_keys=True), entry)

    def add(self, rank, program):
        """A captured rank; ranks with equal programs share one."""
        if program not in self.programs:
            self.programs.append(program)
        self.classes.append({"rank": rank, "ranks": 1, "program": self.programs.index(program)})

    def _used(self):
        """Calls, tensors and modules of the programs, without those of the warm-up; and the
        programs by their new places."""
        calls, tensors, modules, groups = Table(), Table(), Table(), Table()
        modules.place("")
        programs = []
        for program in self.programs:
            ops = [
                [
                    calls.place(op[0]),
                    modules.place(self.modules.items[op[1]]),
                    op[2],
                    op[3] if op[3] >= 0 else -1 - groups.place(-1 - op[3]),
                    *op[4:],
                ]
                for op in program["ops"]
            ]
            programs.append({**program, "ops": ops})
        described = []
        for place in calls.items:
            call = dict(self.calls.items[place])
            for side in ("in", "out"):
                call[side] = [tensors.place(tensor) for tensor in call[side]]
            if "group" in call.get("with", {}):
                call["with"] = {**call["with"], "group": groups.place(call["with"]["group"])}
            described.append(call)
        return {
            "groups": [self.groups.items[place] for place in groups.items],
            "modules": modules.items,
            "tensors": [self.tensors.items[place] for place in tensors.items],
            "calls": described,
            "programs": programs,
        }

    def document(self):
        used = self._used()
        return {
            "schema": SCHEMA,
            "made_by": self.made_by,
            "world": self.world,
            "mesh": [list(dimension) for dimension in self.mesh],
            "groups": used["groups"],
            "modules": used["modules"],
            "tensors": used["tensors"],
            "calls": used["calls"],
            "classes": self.classes,
            "programs": used["programs"],
            "compiled": self.compiled,
            "notes": self.notes.items,
        }

    def write(self, path):
        """Writes the file whole or not at all; .gz packs it."""
        text = json.dumps(self.document(), separators=(",", ":"))
        partial = f"{path}.partial"
        opener = gzip.open if str(path).endswith(".gz") else open
        with opener(partial, "wt", encoding="utf-8") as file:
            file.write(text)
        os.replace(partial, path)

    def summary(self):
        operations = sum(len(program["ops"]) for program in self.programs)
        distinct = {op[0] for program in self.programs for op in program["ops"]}
        lines = [
            f"captured {len(self.classes)} of {self.world} ranks: {len(self.programs)} programs, "
            f"{operations} operations, {len(distinct)} distinct"
        ]
        lines += [f"note: {note}" for note in self.notes.items]
        return "\n".join(lines)
