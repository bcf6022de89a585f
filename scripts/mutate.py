#!/usr/bin/env python3
"""Mutation testing: would a test notice if the code were wrong?

    mutate.py [--minutes M] [--jobs J] [--again | --anew] [--file TEXT] [--area] [--check]

Each mutant of tests/mutants.txt is put into a copy of the tree (build/mutate/tree0,
tree1 … for each of J jobs), built, and tried on the tests of its area until one fails:
the mutant is killed. The test that killed it before comes first, then unit tests, then
scripts, the quickest first. Those that survive are tried on all other tests; both first
without the shared data (STEPCAST_SHARED), then with them. A test kills only when it
passes on the code as it is (build/mutate/sound), which is looked at once for each test
that fails; one that fails there too is said and left out. A mutant that was not tried
on all tests counts as one that survived.

What was found is kept in build/mutate/results.json, so that a run can be stopped and
taken up again; --again tries survivors once more, --anew all of them (for code that has
changed since), --file only mutants of files with that text, --area leaves it at the
tests of the area, --check only looks whether all mutants still fit the code.

A mutant whose OLD stands no longer, or more than once, in its file, or whose area has a
test that there is none of, is stale: it counts for nothing until it is written anew. One
that does not build counts as one that survived.
"""
import argparse
import contextlib
import fcntl
import hashlib
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test as runner  # noqa: E402

LIST = "tests/mutants.txt"
WORK = "build/mutate"
SOUND = WORK + "/sound"
# They take long and look at packaging, pages and texts.
LAST_OF_ALL = {"page/page", "cli/api", "cli/deps", "cli/examples", "cli/manual", "cli/python", "cli/simgrid", "cli/terminal"}
LONGEST = 300  # s, of a test whose time is not known


def is_unit(name):
    return name.startswith("unit/")


def source_of(name):
    return f"tests/{name}_test.c" if is_unit(name) else f"tests/{name}.sh"


def reads_shared(name):
    """Whether the test, or a header of its own, looks for the shared data."""
    text = open(source_of(name)).read()
    headers = re.findall(r'^#include "(\w+\.h)"', text, re.M) if is_unit(name) else []
    own = [f"tests/unit/{h}" for h in headers if h != "test.h" and os.path.exists(f"tests/unit/{h}")]
    return any(re.search(r"shared_path\(|STEPCAST_SHARED", t) for t in (text, *(open(h).read() for h in own)))


class Mutant:
    def __init__(self, file, line, tests):
        old, _, new = line.partition(" ==> ")
        new, _, why = new.partition("  # equivalent: ")
        self.file, self.tests, self.equivalent = file, tests, why
        self.old, self.new = old.replace("⏎", "\n"), new.replace("⏎", "\n")
        self.name = f"{file}: {old} ==> {new}"

    def stale(self):
        return open(self.file).read().count(self.old) != 1 or not all(os.path.exists(source_of(t)) for t in self.tests)


def read_list():
    mutants, file, tests = [], None, []
    for line in open(LIST, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("@ "):
            file, *tests = line[2:].split()
        elif line and not line.startswith("#"):
            mutants.append(Mutant(file, line, tests))
    return mutants


def same(one, other):
    return os.path.exists(other) and open(one, "rb").read() == open(other, "rb").read()


def make_tree(tree):
    """Tracked files as they are now, beside what was built of them before; a digest of them."""
    files = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    files = sorted(f for f in files if os.path.exists(f))
    digest = hashlib.sha256()
    for f in files:
        there = os.path.join(tree, f)
        digest.update(f.encode() + b"\0" + open(f, "rb").read())
        if not same(f, there):
            os.makedirs(os.path.dirname(there), exist_ok=True)
            shutil.copy(f, there)
    wanted = set(files)
    for folder, _, names in os.walk(tree):
        for name in names:
            f = os.path.relpath(os.path.join(folder, name), tree)
            if not f.startswith("build" + os.sep) and f not in wanted:
                os.remove(os.path.join(tree, f))
    if os.path.isdir("build/web") and not os.path.isdir(tree + "/build/web"):
        shutil.copytree("build/web", tree + "/build/web")
    return digest.hexdigest()


def limits():
    """A mutant may ask for anything."""
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


def build(tree, targets):
    cc = os.environ.get("CC") or ("ccache cc" if shutil.which("ccache") else "cc")
    done = subprocess.run(["make", "-s", f"CC={cc}", "OPT=-O1 -g0", "WARN=-w", *targets], cwd=tree, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])


WHOLE = ["all", "python", "build/examples/evaluate", "build/examples/shared_bus"]


def targets_of(names):
    """Scripts run the program, and through Python the library."""
    units = [f"build/tests/unit/{n[len('unit/'):]}_test" for n in names if is_unit(n)]
    return units + ([] if all(is_unit(n) for n in names) else WHOLE)


def first_failure(out):
    out.seek(0)
    return re.search(r"^not ok .*", out.read().decode(errors="replace"), re.M)


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run_test(tree, name, shared, limit):
    """The first failure of one test in the tree, or None. A script is ended at it."""
    words = [f"build/tests/unit/{name[5:]}_test"] if is_unit(name) else ["sh", f"tests/{name}.sh"]
    test = (runner.UnitTest if is_unit(name) else runner.ScriptTest)(name, words)
    there = os.path.abspath(tree)
    environment = {**os.environ, "STEPCAST": there + "/build/stepcast", "BUILD": "build", "STEPCAST_SHARED": shared}
    end = time.monotonic() + limit
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, cwd=there,
                                   start_new_session=True, preexec_fn=limits)
        pause = 0.01
        try:
            while process.poll() is None and time.monotonic() < end and not (pause > 0.5 and first_failure(out)):
                time.sleep(pause)
                pause = min(1, 1.2 * pause)
            ended = process.poll() is not None
        finally:  # also when this is ended itself: a mutant may loop for ever
            kill_group(process)
        status = process.wait()
        out.seek(0)
        log = out.read().decode(errors="replace")
    test.read(log)
    if test.failures:
        return test.failures[0]
    if not ended:
        return f"ran longer than {limit:g} s and was ended"
    if status:
        return f"exit status {status}"
    if runner.DIED.search(log):
        return "a script it calls died: " + runner.DIED.search(log).group(0)
    return None if test.ok or test.skips else "nothing was tried"


@contextlib.contextmanager
def locked():
    """One job at a time."""
    with open(WORK + "/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Sound:
    """How long each test takes, with the shared data and without, and what fails on the code as it is."""

    def __init__(self, shared, digest):
        self.shared = {"without": "/nonexistent", "with": shared}
        self.digest = digest

    def kept(self, name, kind):
        """What was seen of it, on this code or on that of an earlier run."""
        path = f"{WORK}/times/{name.replace('/', '.')}.{kind}.json"
        return json.load(open(path)) if os.path.exists(path) else None

    def keep(self, name, kind, digest, seconds, failure):
        seen = {"digest": digest, "seconds": seconds, "failure": failure}
        path = f"{WORK}/times/{name.replace('/', '.')}.{kind}.json"
        with open(f"{path}.{os.getpid()}", "w") as out:
            json.dump(seen, out)
        os.replace(f"{path}.{os.getpid()}", path)
        return seen

    def fails_anyway(self, name, kind):
        """Looked at once for each test that fails, whichever job needs it first."""
        with locked():
            seen = self.kept(name, kind)
            if not seen or seen["digest"] != self.digest:
                build(SOUND, targets_of([name]))
                begin = time.monotonic()
                failure = run_test(SOUND, name, self.shared[kind], LONGEST)
                seen = self.keep(name, kind, self.digest, time.monotonic() - begin, failure)
                if failure:
                    print(f"left out  {name} fails {kind} the shared data on the code as it is: {failure}", flush=True)
            return seen["failure"]

    def seconds(self, name, kind):
        """None: it has not been seen to end well."""
        seen = self.kept(name, kind)
        return seen["seconds"] if seen and not seen["failure"] else None

    def failure(self, tree, name, kind):
        usual = self.seconds(name, kind)
        begin = time.monotonic()
        found = run_test(tree, name, self.shared[kind], LONGEST if usual is None else 60 + 20 * usual)
        if not found and usual is None:
            self.keep(name, kind, "", time.monotonic() - begin, None)
        return f"{name}: {found}"[:200] if found and not self.fails_anyway(name, kind) else None

    def kill(self, tree, names, kind):
        """What the first test says that fails: unit tests, then scripts, the quickest first."""
        for units in (True, False):
            part = [n for n in names if is_unit(n) == units]
            if part:
                build(tree, targets_of(part))
            for name in sorted(part, key=lambda n: self.seconds(n, kind) or 0):
                found = self.failure(tree, name, kind)
                if found:
                    return found
        return None


class Changed:
    """The tree with a mutant in it."""

    def __init__(self, tree, mutant):
        self.path = os.path.join(tree, mutant.file)
        self.mutant = mutant

    def __enter__(self):
        self.original = open(self.path).read()
        with open(self.path, "w") as out:
            out.write(self.original.replace(self.mutant.old, self.mutant.new))

    def __exit__(self, *_):
        with open(self.path, "w") as out:
            out.write(self.original)


def judge(sound, tree, names, known):
    """What kills it among these tests, without the shared data and with them."""
    without = known.get("without") or sound.kill(tree, names, "without")
    others = [n for n in names if reads_shared(n)]
    return {"without": without, "with": known.get("with") or without or sound.kill(tree, others, "with")}


# How far a mutant was tried: the unit tests of its area, all tests of its area, all tests.
UNITS, AREA, ALL = "units", "area", "all"


def names_of(mutant, how_far):
    if how_far == ALL:
        return [n for n in all_names() if n not in mutant.tests]
    return [n for n in mutant.tests if is_unit(n) == (how_far == UNITS)]


def judge_further(sound, tree, mutant, how_far, known, before):
    """known: what was found by the tests so far; before: the test that killed it in an earlier run."""
    found = judge(sound, tree, [before], known) if before in mutant.tests else known
    found = judge(sound, tree, names_of(mutant, how_far), found)
    return {**found, "tried": ALL if found["without"] else how_far}


def all_names():
    units = [re.sub(r"_test\.c$", "", f) for f in sorted(os.listdir("tests/unit")) if f.endswith("_test.c")]
    scripts = [t.name for t in runner.all_tests("build") if not is_unit(t.name) and t.name not in LAST_OF_ALL]
    return [f"unit/{u}" for u in units] + scripts


class Job:
    """What a process of the pool has: a tree of its own."""
    tree = sound = end = None

    @classmethod
    def begin(cls, numbers, sound, end):
        os.nice(5)
        cls.tree, cls.sound, cls.end = f"{WORK}/tree{numbers.get()}", sound, end
        make_tree(cls.tree)
        with locked():  # what one has compiled the others find in ccache
            build(cls.tree, ["-j2", "build/libstepcast.a"])

    @classmethod
    def do(cls, task):
        """The mutant's name and what was found; None: no time is left for it."""
        mutant, *how = task
        if time.monotonic() > cls.end:
            return mutant.name, None
        try:
            with Changed(cls.tree, mutant):
                return mutant.name, judge_further(cls.sound, cls.tree, mutant, *how)
        except RuntimeError as error:
            print(f"does not build: {error}", flush=True)
            return mutant.name, {"without": None, "with": None, "tried": ALL}


def show(mutants, results):
    tried = [m for m in mutants if m.name in results and not m.equivalent]
    for m in mutants:
        if m.stale():
            print(f"stale     {m.name}")
    for key, words in (("with", "with the shared data"), ("without", "without them")):
        killed = [m for m in tried if results[m.name][key]]
        for m in tried:
            if not results[m.name][key]:
                print(f"survived {words}{'' if results[m.name]['tried'] == ALL else ' (tests of its area)'}: {m.name}")
        if tried:
            print(f"{words}: {len(killed)} of {len(tried)} killed, {100 * len(killed) / len(tried):.1f} %")
    print(f"{len(mutants)} mutants: {len(tried)} tried, {sum(results[m.name]['tried'] != ALL for m in tried)} of them not on all tests, "
          f"{sum(1 for m in mutants if m.equivalent)} equivalent, {sum(m.stale() for m in mutants)} stale")


class Results:
    def __init__(self, mutants):
        self.path = WORK + "/results.json"
        found = json.load(open(self.path)) if os.path.exists(self.path) else {}
        self.found = {m.name: found[m.name] for m in mutants if m.name in found}

    def tried(self, mutant):
        return self.found.get(mutant.name, {}).get("tried")

    def keep(self, name, found):
        self.found[name] = found
        state = "killed   " if found["without"] else "with data" if found["with"] else "survived " if found["tried"] == ALL else "not yet  "
        print(f"{state} {name}\n           {found['with']}", flush=True)
        with open(self.path + ".tmp", "w") as out:
            json.dump(self.found, out, indent=1)
        os.replace(self.path + ".tmp", self.path)


def try_all(pool, results, tasks):
    for name, found in pool.imap_unordered(Job.do, tasks):
        if found:
            results.keep(name, found)


def run(given, mutants, results):
    before = {name: (found["with"] or "").partition(":")[0] for name, found in results.found.items()}
    if given.anew:
        results.found = {}
    todo = [m for m in mutants if not m.equivalent and not m.stale() and given.file in m.file]
    numbers = multiprocessing.Queue()
    for i in range(given.jobs):
        numbers.put(i)
    sound = Sound(os.path.abspath(os.environ.get("STEPCAST_SHARED", "../shared")), make_tree(SOUND))
    os.makedirs(WORK + "/times", exist_ok=True)

    if given.again:
        results.found = {name: found for name, found in results.found.items() if found["without"]}
    with multiprocessing.Pool(given.jobs, Job.begin, (numbers, sound, time.monotonic() + 60 * given.minutes)) as pool:
        for last, how_far in ((None, UNITS), (UNITS, AREA), (AREA, ALL)):
            left = [m for m in todo if results.tried(m) == last]
            if not (given.area and how_far == ALL):
                try_all(pool, results, [(m, how_far, results.found.get(m.name, {}), before.get(m.name)) for m in left])
    if any(results.tried(m) != ALL for m in todo):
        print("not all were tried on all tests: run it again to go on")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # jobs end with it
    results = Results(mutants)
    run(given, mutants, results)
    show(mutants, results.found)


main()
