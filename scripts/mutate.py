#!/usr/bin/env python3
"""Mutation testing: would a test notice if the code were wrong?

    mutate.py [--minutes M] [--again | --anew] [--file TEXT] [--area] [--check]

Each mutant of tests/mutants.txt is put into a copy of the tree (build/mutate),
built, and tried on the tests of its area until one fails: the mutant is killed. The
test that killed it before comes first, then unit tests, then scripts, the quickest
first. Those that survive are tried on all other tests; both first without the shared
data (STEPCAST_SHARED), then with them. A test that fails on the code as it is kills
nothing: it is said and left out. A mutant that was not tried on all tests counts as
one that survived.

What was found is kept in build/mutate/results.json, so that a run can be stopped and
taken up again; --again tries survivors once more, --anew all of them (for code that has
changed since), --file only mutants of files with that text, --area leaves it at the
tests of the area, --check only looks whether all mutants still fit the code.

A mutant whose OLD stands no longer, or more than once, in its file is stale: it
counts for nothing until it is written anew.
"""
import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test as runner  # noqa: E402

LIST = "tests/mutants.txt"
WORK = "build/mutate"
TREE = WORK + "/tree"
# They take long and look at packaging, pages and texts.
LAST_OF_ALL = {"page/page", "cli/api", "cli/deps", "cli/examples", "cli/manual", "cli/python", "cli/simgrid", "cli/terminal"}


class Mutant:
    def __init__(self, file, line, tests):
        old, _, new = line.partition(" ==> ")
        new, _, why = new.partition("  # equivalent: ")
        self.file, self.tests, self.equivalent = file, tests, why
        self.old, self.new = old.replace("⏎", "\n"), new.replace("⏎", "\n")
        self.name = f"{file}: {old} ==> {new}"

    def stale(self):
        return open(self.file).read().count(self.old) != 1


def read_list():
    mutants, file, tests = [], None, []
    for line in open(LIST, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("@ "):
            file, *tests = line[2:].split()
        elif line and not line.startswith("#"):
            mutants.append(Mutant(file, line, tests))
    return mutants


def make_tree():
    """Tracked files as they are now, beside what was built of them before."""
    files = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    files = [f for f in files if os.path.exists(f)]
    for f in files:
        there = os.path.join(TREE, f)
        if not os.path.exists(there) or open(f, "rb").read() != open(there, "rb").read():
            os.makedirs(os.path.dirname(there), exist_ok=True)
            shutil.copy(f, there)
    wanted = set(files)
    for folder, _, names in os.walk(TREE):
        for name in names:
            f = os.path.relpath(os.path.join(folder, name), TREE)
            if not f.startswith("build" + os.sep) and f not in wanted:
                os.remove(os.path.join(TREE, f))
    if os.path.isdir("build/web") and not os.path.isdir(TREE + "/build/web"):
        shutil.copytree("build/web", TREE + "/build/web")


def limits():
    """A mutant may ask for anything."""
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    os.nice(5)


def build(targets):
    cc = os.environ.get("CC") or ("ccache cc" if shutil.which("ccache") else "cc")
    done = subprocess.run(["make", "-s", "-j2", f"CC={cc}", "OPT=-O1 -g0", "WARN=-w", *targets], cwd=TREE, capture_output=True, text=True,
                          preexec_fn=lambda: os.nice(5))
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])


WHOLE = ["all", "python", "build/examples/evaluate", "build/examples/shared_bus"]


def is_unit(name):
    return name.startswith("unit/")


def targets_of(names):
    """Scripts run the program, and through Python the library."""
    units = [f"build/tests/unit/{n[len('unit/'):]}_test" for n in names if is_unit(n)]
    return units + ([] if all(is_unit(n) for n in names) else WHOLE)


def run_test(name, shared, limit):
    """The first failure of one test in the tree, or None."""
    os.environ["STEPCAST_SHARED"] = shared
    os.environ["TEST_TIMEOUT"] = str(limit)
    here = os.getcwd()
    os.chdir(TREE)
    try:
        words = ["build/tests/unit/" + name[5:] + "_test"] if is_unit(name) else ["sh", f"tests/{name}.sh"]
        test = (runner.UnitTest if is_unit(name) else runner.ScriptTest)(name, words)
        test.run("build", limits)
        return test.failures[0] if test.failures else None
    finally:
        os.chdir(here)


def digest_of_tree():
    digest = hashlib.sha256()
    for folder, folders, names in sorted(os.walk(TREE)):
        folders[:] = [f for f in folders if f != "build"]
        for name in sorted(names):
            digest.update(name.encode() + b"\0" + open(os.path.join(folder, name), "rb").read())
    return digest.hexdigest()


class Sound:
    """How long each test takes on the code as it is, with the shared data and without; None: it fails there.
    Kept for the next run on the same code."""

    def __init__(self, shared):
        self.shared = {"without": "/nonexistent", "with": shared}
        self.path = WORK + "/sound.json"
        self.digest = digest_of_tree()
        kept = json.load(open(self.path)) if os.path.exists(self.path) else {}
        self.seconds = {tuple(k.split(" ")): v for k, v in kept.get(self.digest, {}).items()}

    def look(self, names):
        """To be called while no mutant is in the tree."""
        for name in names:
            for kind, folder in self.shared.items():
                if (name, kind) in self.seconds:
                    continue
                begin = time.monotonic()
                failure = run_test(name, folder, 900)
                self.seconds[name, kind] = None if failure else time.monotonic() - begin
                with open(self.path, "w") as out:
                    json.dump({self.digest: {" ".join(k): v for k, v in self.seconds.items()}}, out, indent=1)
                if failure:
                    print(f"left out  {name} fails {kind} the shared data on the code as it is: {failure}", flush=True)

    def kill(self, names, kind):
        """What the first test says that fails: unit tests, then scripts, the quickest first."""
        sound = [n for n in names if self.seconds[n, kind] is not None]
        for units in (True, False):
            part = [n for n in sound if is_unit(n) == units]
            if part:
                build(targets_of(part))
            for name in sorted(part, key=lambda n: self.seconds[n, kind]):
                found = run_test(name, self.shared[kind], 60 + 20 * self.seconds[name, kind])
                if found:
                    return f"{name}: {found}"[:200]
        return None


class Changed:
    """The tree with a mutant in it."""

    def __init__(self, mutant):
        self.path = os.path.join(TREE, mutant.file)
        self.mutant = mutant

    def __enter__(self):
        self.original = open(self.path).read()
        with open(self.path, "w") as out:
            out.write(self.original.replace(self.mutant.old, self.mutant.new))

    def __exit__(self, *_):
        with open(self.path, "w") as out:
            out.write(self.original)


def judge(sound, names, known):
    """What kills it among these tests, without the shared data and with them."""
    without = known.get("without") or sound.kill(names, "without")
    return {"without": without, "with": known.get("with") or without or sound.kill(names, "with")}


def judge_area(sound, mutant, before):
    """before: the test that killed it"""
    with Changed(mutant):
        try:
            found = (before in mutant.tests and judge(sound, [before], {})) or {}
            found = judge(sound, mutant.tests, found)
        except RuntimeError as error:
            return {"without": f"does not build: {error}", "with": "does not build", "whole": True}
        return {**found, "whole": bool(found["without"])}


def judge_whole(sound, mutant, everything, known):
    others = [n for n in everything if n not in mutant.tests]
    with Changed(mutant):
        return {**judge(sound, others, known), "whole": True}


def show(mutants, results):
    tried = [m for m in mutants if m.name in results and not m.equivalent]
    for m in mutants:
        if m.stale():
            print(f"stale     {m.name}")
    for key, words in (("with", "with the shared data"), ("without", "without them")):
        killed = [m for m in tried if results[m.name][key]]
        for m in tried:
            if not results[m.name][key]:
                print(f"survived {words}{'' if results[m.name]['whole'] else ' (tests of its area)'}: {m.name}")
        if tried:
            print(f"{words}: {len(killed)} of {len(tried)} killed, {100 * len(killed) / len(tried):.1f} %")
    print(f"{len(mutants)} mutants: {len(tried)} tried, {sum(not results[m.name]['whole'] for m in tried)} of them not on all tests, "
          f"{sum(1 for m in mutants if m.equivalent)} equivalent, {sum(m.stale() for m in mutants)} stale")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--anew", action="store_true")
    parser.add_argument("--file", default="")
    parser.add_argument("--area", action="store_true")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    mutants = read_list()
    if given.check:
        stale = [m.name for m in mutants if m.stale()]
        print("\n".join(stale + [f"{len(mutants)} mutants, {len(stale)} stale"]))
        sys.exit(bool(stale))
    shared = os.path.abspath(os.environ.get("STEPCAST_SHARED", "../shared"))
    make_tree()
    results_path = WORK + "/results.json"
    results = json.load(open(results_path)) if os.path.exists(results_path) else {}
    results = {m.name: results[m.name] for m in mutants if m.name in results}
    before = {name: (found["with"] or "").partition(":")[0] for name, found in results.items()}
    results = {} if given.anew else results
    everything = [t.name for t in runner.all_tests("build") if t.name not in LAST_OF_ALL]
    units = [re.sub(r"_test\.c$", "", f) for f in sorted(os.listdir("tests/unit")) if f.endswith("_test.c")]
    everything = [f"unit/{u}" for u in units] + [n for n in everything if not n.startswith("unit/")]
    end = time.monotonic() + 60 * given.minutes
    todo = [m for m in mutants if not m.equivalent and not m.stale() and given.file in m.file]
    sound = Sound(shared)

    def keep(m, found):
        results[m.name] = found
        state = "killed   " if found["without"] else "with data" if found["with"] else "survived " if found["whole"] else "not yet  "
        print(f"{state} {m.name}\n           {found['with']}", flush=True)
        with open(results_path + ".tmp", "w") as out:
            json.dump(results, out, indent=1)
        os.replace(results_path + ".tmp", results_path)

    def left(m):
        return m.name not in results or (given.again and not results[m.name]["without"])

    area = [m for m in todo if left(m)]
    if area:
        names = sorted({n for m in area for n in m.tests})
        build(targets_of(names))
        sound.look(names)
    for m in area:
        if time.monotonic() < end:
            keep(m, judge_area(sound, m, before.get(m.name)))
    whole = [m for m in todo if m.name in results and not results[m.name]["whole"] and not given.area]
    if whole and time.monotonic() < end:
        build(targets_of(everything))
        sound.look(everything)
    for m in whole:
        if time.monotonic() < end:
            keep(m, judge_whole(sound, m, everything, results[m.name]))
    if any(m.name not in results or not results[m.name]["whole"] for m in todo):
        print("not all were tried on all tests: run it again to go on")
    show(mutants, results)


main()
