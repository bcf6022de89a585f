#!/usr/bin/env python3
"""libFuzzer in slices: the time of each target adds up until it is enough.

    fuzz_slices.py BUILD [--minutes M] [--slice S] [--hour S] [--jobs N] [--only NAME,…] [--show | --keep]

Fuzzes for M minutes (default 10), N targets at a time (as many as there are cores), a slice of
S seconds (60) each, always the target that has had the least time so far; with --only of those
alone. What each has had is kept in tests/fuzz/ledger.json: seconds of the processor (of the
clock they say little on a machine that others use), cases, and the cases since the last
finding. It is part of the repository, since an hour for every target is more than a day of one
core. A target has had enough after --hour seconds (3600). --show prints the ledger and runs
nothing.

Every slice begins with the inputs of tests/fuzz/corpus and those in build/fuzz-corpus that
reached new code in slices before; when these have doubled, they are minimised. Where there are
none yet, they begin with tests/fuzz/grown/NAME.tar.gz: --keep writes there the fewest of them
that reach all that is reached (runs nothing else), so that the next machine goes on. A case that
ends a target is left in build/fuzz-findings/NAME, and the target rests until it is gone:
first of all what lies there is tried again, and what no longer fails is moved to
build/fuzz-corpus.
"""
import argparse
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

LEDGER = "tests/fuzz/ledger.json"
SMALL = 64  # so many inputs need no minimising
LIMITS = ["-timeout=60", "-rss_limit_mb=4096", "-max_len=65536"]


class Target:
    def __init__(self, build, name, record):
        self.name = name
        self.program = f"{build}/tests/fuzz/{name}_fuzz"
        self.given = f"tests/fuzz/corpus/{name}"
        self.grown = f"build/fuzz-corpus/{name}"
        self.findings = os.path.abspath(f"build/fuzz-findings/{name}")  # a target may work in another folder
        self.kept = f"tests/fuzz/grown/{name}.tar.gz"
        self.record = {"seconds": 0, "cases": 0, "slices": 0, "since_finding": 0, "minimised": 0, **record}

    def run(self, *words):
        """What it printed, how it ended, and the seconds of the processor."""
        environment = {**os.environ, "ASAN_OPTIONS": "abort_on_error=1:handle_abort=0",
                       "UBSAN_OPTIONS": "abort_on_error=1:print_stacktrace=1"}
        with tempfile.TemporaryFile() as out:
            child = subprocess.Popen([self.program, *LIMITS, *words], stdout=out, stderr=out, env=environment)
            _, status, used = os.wait4(child.pid, 0)  # of this child alone: others run beside it
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            return out.read().decode(errors="replace"), child.returncode, used.ru_utime + used.ru_stime

    def replay(self):
        """Whether all that it found before is mended."""
        found = os.listdir(self.findings) if os.path.isdir(self.findings) else []
        left = 0
        for name in found:
            path = os.path.join(self.findings, name)
            text, status, _ = self.run(path)
            if status:
                left += 1
                print(f"FAIL {self.name}: {path} still fails: {reason(text)}", flush=True)
            else:
                os.makedirs(self.grown, exist_ok=True)
                shutil.move(path, os.path.join(self.grown, name))
        return left == 0

    def unpack(self):
        if os.path.isdir(self.grown) or not os.path.exists(self.kept):
            return
        os.makedirs(self.grown)
        with tarfile.open(self.kept) as packed:
            for entry in packed:
                with open(os.path.join(self.grown, os.path.basename(entry.name)), "wb") as out:
                    out.write(packed.extractfile(entry).read())

    def pack(self):
        """The fewest inputs that reach all that is reached; equal inputs give equal bytes."""
        with tempfile.TemporaryDirectory() as fewest:
            _, status, _ = self.run("-set_cover_merge=1", fewest, self.given, self.grown)
            own = set(os.listdir(self.given))
            names = sorted(set(os.listdir(fewest)) - own)
            if status or not names:
                return
            with open(self.kept, "wb") as out, gzip.GzipFile("", "wb", 9, out, mtime=0) as packed, \
                 tarfile.open(fileobj=packed, mode="w") as tar:
                for name in names:
                    content = open(os.path.join(fewest, name), "rb").read()
                    entry = tarfile.TarInfo(name)
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))

    def slice(self, seconds):
        self.unpack()
        for folder in (self.grown, self.findings):
            os.makedirs(folder, exist_ok=True)
        dictionary = f"tests/fuzz/dictionary/{self.name}.dict"
        words = [f"-dict={dictionary}"] if os.path.exists(dictionary) else []
        text, status, spent = self.run(*words, f"-max_total_time={seconds}", "-print_final_stats=1",
                                       f"-artifact_prefix={self.findings}/", self.grown, self.given)
        cases = re.findall(r"stat::number_of_executed_units: *(\d+)", text) or re.findall(r"^#(\d+)", text, re.M) or ["0"]
        r = self.record
        r["seconds"] += spent
        r["cases"] += int(cases[-1])
        r["slices"] += 1
        r["since_finding"] = 0 if status else r["since_finding"] + int(cases[-1])
        if status:
            print(f"{text[-4000:]}\nFAIL {self.name}: see {self.findings}", flush=True)
        elif not os.listdir(self.findings):
            os.rmdir(self.findings)
        return status == 0

    def minimise(self):
        if len(os.listdir(self.grown)) <= max(SMALL, 2 * self.record["minimised"]):
            return
        fewer = self.grown + ".fewer"
        shutil.rmtree(fewer, ignore_errors=True)
        os.makedirs(fewer)
        _, status, _ = self.run("-merge=1", fewer, self.grown)
        if status == 0:
            shutil.rmtree(self.grown)
            os.rename(fewer, self.grown)
            self.record["minimised"] = len(os.listdir(self.grown))


def reason(text):
    found = re.search(r".*(runtime error: .*|ERROR: .*)", text)
    return found.group(1)[:200] if found else text[-200:]


def keep(targets):
    with open(LEDGER + ".tmp", "w") as out:
        json.dump({t.name: t.record for t in targets}, out, indent=1)
    os.replace(LEDGER + ".tmp", LEDGER)


def show(targets):
    print(f"{'target':20s} {'minutes':>8s} {'slices':>7s} {'cases':>10s} {'since a finding':>16s}")
    for t in sorted(targets, key=lambda t: -t.record["seconds"]):
        r = t.record
        print(f"{t.name:20s} {r['seconds'] / 60:8.1f} {r['slices']:7d} {r['cases']:10d} {r['since_finding']:16d}")


class Slices:
    """Targets that wait for a slice; workers take the one with the least time."""

    def __init__(self, targets, chosen, given):
        self.targets = targets
        self.waiting = [t for t in chosen if t.replay()]
        self.failed = len(self.waiting) < len(chosen)
        self.given = given
        self.end = time.monotonic() + 60 * given.minutes
        self.lock = threading.Lock()

    def take(self):
        with self.lock:
            short = [t for t in self.waiting if t.record["seconds"] < self.given.hour]
            if not short or time.monotonic() >= self.end:
                return None
            t = min(short, key=lambda t: t.record["seconds"])
            self.waiting.remove(t)
            return t

    def give_back(self, t, well):
        with self.lock:
            if well:
                self.waiting.append(t)
            else:
                self.failed = True
            keep(self.targets)

    def work(self):
        while (t := self.take()):
            well = t.slice(self.given.slice)
            if well:
                t.minimise()
            self.give_back(t, well)

    def run(self):
        workers = [threading.Thread(target=self.work) for _ in range(self.given.jobs)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--slice", type=int, default=60)
    parser.add_argument("--hour", type=float, default=3600)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    ledger = json.load(open(LEDGER)) if os.path.exists(LEDGER) else {}
    names = sorted(f[:-len("_fuzz.c")] for f in os.listdir("tests/fuzz") if f.endswith("_fuzz.c"))
    targets = [Target(given.build, name, ledger.get(name, {})) for name in names]
    if given.show:
        show(targets)
        return
    if given.keep:
        os.makedirs("tests/fuzz/grown", exist_ok=True)
        for t in targets:
            if os.path.isdir(t.grown):
                t.pack()
        return
    slices = Slices(targets, [t for t in targets if not given.only or t.name in given.only.split(",")], given)
    slices.run()
    show(targets)
    sys.exit(slices.failed)


main()
