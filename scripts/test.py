#!/usr/bin/env python3
"""Runs the unit tests and the command-line tests; the last line counts them.

    test.py BUILD [NAME …]          NAME: unit/kernel, cli/spine …; none is all
    test.py --idle BUILD [NAME …]   can the tests fail? None of the command-line tests may
                                    pass with a program that does nothing, /bin/false,
                                    but for those of a script's comment
                                    `# not of the program: REGEX`

A test fails, beside what it says itself, when
  it runs longer than TEST_TIMEOUT seconds (default 900): what it started is ended;
  a script that it calls dies (a traceback, a signal, a command that is not there);
  it skips what it could do. A skip names its need, `skip NAME [needs WORD …]`
  (skip_needs() in unit tests), and met() below looks whether one of them is
  really missing. TEST_REQUIRED lists needs that must be met whatever is missing;
  fewer tests ran than tests/counts.txt has for it, in an environment that lacks
  the same. More may run: who adds a test changes nothing there.

COUNTS=write puts the counts of this run into tests/counts.txt. TEST_JOBS tests run at
once: as many as there are cores, four at most, unless it says otherwise.
"""
import concurrent.futures
import glob
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

COUNTS = "tests/counts.txt"
SLOW_S = 5  # a test that takes longer says so
DIED = re.compile(r"^Traceback \(most recent call last\)|^SyntaxError: |: (command )?not found$|^(Segmentation fault|Aborted)"
                  r"|ERROR: \w+Sanitizer|runtime error: ", re.M)


def has_header(name):
    done = subprocess.run([*os.environ.get("CXX", "c++").split(), "-std=c++17", "-x", "c++", "-E", "-"],
                          input=f"#include <{name}>\n", text=True, capture_output=True)
    return done.returncode == 0


def has_pty():
    try:
        for end in os.openpty():
            os.close(end)
        return True
    except OSError:
        return False


def met(need, build):
    """Whether this machine has what a skipped test says it lacks. None: that cannot be told."""
    kind, _, name = need.partition(":")
    if kind == "shared":
        return os.path.isdir(os.environ.get("STEPCAST_SHARED", "../shared"))
    if kind == "no-root":
        return os.geteuid() != 0
    if kind == "root":
        return os.geteuid() == 0
    if kind == "no-sanitizer":
        return "san" not in os.path.normpath(build).split(os.sep)[-1]
    if kind == "page":
        page = os.path.join(build, "web/report.html")
        return os.path.exists(page) and os.path.getsize(page) > 0
    if kind == "command":
        return shutil.which(name) is not None
    if kind == "python":
        return importlib.util.find_spec(name) is not None
    if kind == "header":
        return has_header(name)
    if kind == "file":
        return os.path.exists(name)
    if kind == "pty":
        return has_pty()
    if kind in ("network", "namespace"):
        return None
    return True  # an unknown word is no excuse


class Test:
    """One program or script: how it is run and what its output says."""

    def __init__(self, name, words):
        self.name = name
        self.words = words
        self.ok = 0
        self.failures = []
        self.skips = []  # (name, needs)
        self.log = ""
        self.seconds = 0

    def run(self, build, before=None):
        """before: called in the new process"""
        limit = float(os.environ.get("TEST_TIMEOUT", "900"))
        begin = time.monotonic()
        environment = {**os.environ, "STEPCAST": os.environ.get("STEPCAST", os.path.abspath(f"{build}/stepcast")), "BUILD": build}
        with tempfile.TemporaryFile() as out:
            # a session of its own, so that nothing it started outlives it
            process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment,
                                       start_new_session=True, preexec_fn=before)
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            out.seek(0)
            self.log = out.read().decode(errors="replace")
        self.seconds = time.monotonic() - begin
        self.read(self.log)
        if status is None:
            self.failures.append(f"ran longer than {limit:g} s and was ended")
        elif status and not self.failures:
            self.failures.append(f"exit status {status}")
        if DIED.search(self.log) and not self.failures:
            self.failures.append("a script it calls died: " + DIED.search(self.log).group(0))
        if not (self.ok or self.failures or self.skips):
            self.failures.append("nothing was tried")

    def judge_skips(self, build):
        required = os.environ.get("TEST_REQUIRED", "").split()
        for name, needs in self.skips:
            if not needs:
                self.failures.append(f"skips {name} and names no need: write skip NAME [needs WORD]")
            elif all(met(n, build) for n in needs):
                self.failures.append(f"skips {name}, but this machine has {' '.join(needs)}")
            elif any(n in required for n in needs):
                self.failures.append(f"skips {name}, and {' '.join(needs)} is required here")

    def lacking(self):
        return ",".join(sorted({n for _, needs in self.skips for n in needs})) or "-"

    def show(self):
        if not self.failures:
            print(f"ok   {self.name} ({self.ok})" + (f" in {self.seconds:.0f} s" if self.seconds >= SLOW_S else ""), flush=True)
            return
        print(f"FAIL {self.name}")
        for line in self.log.splitlines():
            if not re.match(r"ok |\[ RUN|\[       OK|\[==", line):
                print(line)
        for failure in self.failures:
            print(f"  {self.name}: {failure}", flush=True)


class UnitTest(Test):
    def read(self, log):
        # cmocka names failures and skips twice, at the test and in the summary
        self.ok = len(re.findall(r"^\[       OK \]", log, re.M))
        self.failures = sorted(set(re.findall(r"^\[  FAILED  \] ([a-z]\w*)", log, re.M)))
        needs = []
        names = set()
        for line in log.splitlines():
            if line.startswith("[  NEEDS   ] "):
                needs = line[len("[  NEEDS   ] "):].split()
            found = re.match(r"\[  SKIPPED \] ([a-z]\w*)", line)
            if found and found.group(1) not in names:
                names.add(found.group(1))
                self.skips.append((found.group(1), needs))
                needs = []


class ScriptTest(Test):
    def read(self, log):
        self.ok = len(re.findall(r"^ok ", log, re.M))
        self.failures = re.findall(r"^not ok (.*)", log, re.M)
        for line in re.findall(r"^skip (.*)", log, re.M):
            name, _, needs = line.partition(" [needs ")
            self.skips.append((name, needs.rstrip("]").split()))


def all_tests(build):
    tests = [UnitTest("unit/" + os.path.basename(p)[:-len("_test")], [p]) for p in sorted(glob.glob(f"{build}/tests/unit/*_test"))]
    # the page's takes longest: it begins first, so that nobody waits for it alone
    scripts = sorted(glob.glob("tests/*/*.sh"), key=lambda s: (not s.startswith("tests/page/"), s))
    scripts = [ScriptTest(s[len("tests/"):-len(".sh")], ["sh", s]) for s in scripts]
    return scripts[:1] + tests + scripts[1:]


def read_counts():
    """{(test, what it lacked): how many ran}"""
    counts = {}
    if os.path.exists(COUNTS):
        for line in open(COUNTS):
            if line.strip() and not line.startswith("#"):
                name, lacking, count = line.split()
                counts[name, lacking] = max(int(count), counts.get((name, lacking), 0))
    return counts


def write_counts(counts):
    with open(COUNTS, "w") as out:
        out.write("# How many tests ran at least, by what the machine lacked (scripts/test.py).\n"
                  "# Rewritten by: make test COUNTS=write\n")
        for (name, lacking), count in sorted(counts.items()):
            out.write(f"{name} {lacking} {count}\n")


def judge_count(t, counts):
    least = counts.get((t.name, t.lacking()), 0)
    if t.ok + len(t.failures) < least:
        t.failures.append(f"{t.ok} tests ran, at least {least} did before (were some dropped on purpose? make test COUNTS=write)")


def gone(tests, counts):
    names = {name for name, _ in counts} - {t.name for t in tests}
    return [f"{name} is in {COUNTS}, but there is no such test" for name in sorted(names)]


def chosen(build, wanted):
    tests = [t for t in all_tests(build) if not wanted or t.name in wanted]
    missing = set(wanted) - {t.name for t in tests}
    if missing:
        sys.exit(f"test.py: no test {', '.join(sorted(missing))}")
    return tests


def idle(build, wanted):
    """What passes though nothing works: those tests prove nothing."""
    blind = 0
    os.environ["STEPCAST"] = "/bin/false"
    for t in chosen(build, wanted):
        if not isinstance(t, ScriptTest):
            continue
        others = re.findall(r"^# not of the program: (.*)", open(t.words[1]).read(), re.M)
        t.run(build)
        passed = [n for n in re.findall(r"^ok (.*)", t.log, re.M) if not any(re.fullmatch(o, n) for o in others)]
        hung = [f for f in t.failures if "and was ended" in f]
        blind += len(passed) + len(hung)
        for name in passed + hung:
            print(f"FAIL {t.name}: {name}", flush=True)
    print(f"{blind} tests pass, or hang, with a program that does nothing")
    sys.exit(bool(blind))


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests send it to themselves; a shell's & ignores it
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    if sys.argv[1] == "--idle":
        idle(sys.argv[2], sys.argv[3:])
    build, wanted = sys.argv[1], sys.argv[2:]
    tests = chosen(build, wanted)
    counts = read_counts()

    def run(test):
        test.run(build)
        test.judge_skips(build)
        return test

    failed = []
    jobs = int(os.environ.get("TEST_JOBS") or min(4, os.cpu_count() or 1))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for t in pool.map(run, tests):
            if os.environ.get("COUNTS") == "write" and not t.failures:
                counts[t.name, t.lacking()] = t.ok
            judge_count(t, counts)
            t.show()
            failed += t.failures
    if os.environ.get("COUNTS") == "write":
        names = {t.name for t in all_tests(build)}
        write_counts({key: count for key, count in counts.items() if key[0] in names})
    elif not wanted:
        for name in gone(tests, counts):
            print("FAIL " + name)
            failed.append(name)
    needs = {}
    for t in tests:
        for _, n in t.skips:
            needs[" ".join(n)] = needs.get(" ".join(n), 0) + 1
    for need, count in sorted(needs.items()):
        print(f"skipped {count}: needs {need}")
    skipped = sum(needs.values())
    print(f"{sum(t.ok for t in tests)} passed, {len(failed)} failed, {skipped} skipped")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
