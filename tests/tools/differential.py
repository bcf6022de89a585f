#!/usr/bin/env python3
"""Readers against Python's: whatever json, yaml or gzip refuse, the program refuses,
and what they unpack gives the program's forecast of the plain text.

    differential.py STEPCAST SEED CASES

Inputs are those of the fuzz corpus, each damaged in a random way. (The other
direction does not hold: a document may be JSON and still no workload. Bytes that are
no UTF-8 inside of strings are let pass in traces of profilers, which have them.)"""
import glob
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import zlib

try:
    import yaml
except ImportError:
    yaml = None

program, rng, cases = sys.argv[1], random.Random(int(sys.argv[2])), int(sys.argv[3])
broken, held = {}, {}


def hold(name, true, path, data, why):
    held[name] = held.get(name, 0) + 1
    if not true and name not in broken:
        kept = os.path.join(tempfile.gettempdir(), "differential-" + os.path.basename(path))
        with open(kept, "wb") as out:
            out.write(data)
        broken[name] = f"{why}: stepcast show {kept}"


def damage(data):
    data = bytearray(data)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 4])):
        at = rng.randrange(len(data)) if data else 0
        kind = rng.randrange(6)
        if kind == 0 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and data:
            del data[at:at + rng.randrange(1, 20)]
        elif kind == 2:
            data[at:at] = rng.choice([b",", b"}", b"]", b'"', b"\\", b"nan", b"1e999", b"\x00", b"\xff", b"{}", b" ", b"01", b"'"])
        elif kind == 3:
            del data[at:]
        elif kind == 4:
            data += data[:rng.randrange(1, 40)]
        else:
            data += b"\x00" * rng.randrange(1, 9)
    return bytes(data)


def run(command, path):
    done = subprocess.run([program, command, path, "--json", "-"], capture_output=True, timeout=60)
    return done.returncode, done.stdout


# What PyTorch's profiler writes and the reader takes: numbers of C++, a name that is left
# out, line ends in names (strict=False).
BESIDE_JSON = re.compile(r'([:,\[]\s*-?)(?:inf|nan)\b|("Process Group Description":)(?=\s*[,}])')


def is_json(data):
    try:
        if b"\x00" in data:
            return False
        text = data.decode("utf-8-sig", errors="replace")
        json.loads(BESIDE_JSON.sub(lambda m: (m[1] or m[2]) + "0", text), strict=False)
        return True
    except (ValueError, RecursionError):
        return False


def unpacked(data):
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return None


def check_json(path, folder):
    data = damage(open(path, "rb").read())
    case = os.path.join(folder, os.path.basename(path))
    with open(case, "wb") as out:
        out.write(data)
    status, _ = run("show", case)
    hold("never ends by a signal", 0 <= status <= 6, path, data, f"exit {status}")
    if not is_json(data):
        hold("what is no JSON is refused", status != 0, path, data, "Python refuses it, stepcast does not")


def is_yaml(data):
    """One document, a mapping."""
    try:
        documents = list(yaml.compose_all(data.decode("utf-8"), Loader=yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return False
    return len(documents) == 1 and isinstance(documents[0], yaml.MappingNode)


def check_yaml(path, folder):
    data = damage(open(path, "rb").read())
    case = os.path.join(folder, os.path.basename(path))
    with open(case, "wb") as out:
        out.write(data)
    done = subprocess.run([program, "run", case, "--gpus", "8", "--ignore-memory", "--json", "-"], capture_output=True, timeout=60)
    hold("never ends by a signal", 0 <= done.returncode <= 6, path, data, f"exit {done.returncode}")
    if not is_yaml(data):
        hold("what is no YAML is refused", done.returncode != 0, path, data, "Python refuses it, stepcast does not")


def check_gzip(path, folder):
    plain = open(path, "rb").read()
    cut = rng.randrange(len(plain))
    packed = gzip.compress(plain, rng.randrange(10), mtime=0)
    if rng.random() < 0.5:
        packed = gzip.compress(plain[:cut], mtime=0) + gzip.compress(plain[cut:], mtime=0)
    data = damage(packed)
    case = os.path.join(folder, "case.txt.gz")
    with open(case, "wb") as out:
        out.write(data)
    status, out = run("show", case)
    hold("never ends by a signal", 0 <= status <= 6, path, data, f"exit {status}")
    back = unpacked(data)
    if back == plain:
        other = os.path.join(folder, "case.txt")
        with open(other, "wb") as text:
            text.write(plain)
        same = run("show", other)[1].replace(b"case.txt.gz", b"case.txt") == out.replace(b"case.txt.gz", b"case.txt")
        hold("unpacked it is the same", same, path, data, "another answer than for the plain text")
    elif back is None and data[:2] == b"\x1f\x8b":
        hold("what gzip refuses is refused", status != 0, path, data, "Python refuses it, stepcast does not")


def main():
    documents = [p for k in ("ir_json", "kineto", "result") for p in sorted(glob.glob(f"tests/fuzz/corpus/{k}/*")) if open(p, "rb").read(1) in (b"{", b"[")]
    configurations = sorted(glob.glob("tests/data/configurations/*.y*ml"))
    texts = sorted(glob.glob("tests/data/seed_00[0134].txt"))
    for path in texts:
        hold("undamaged inputs are read", run("show", path)[0] == 0, path, open(path, "rb").read(), "refused")
    if broken:
        documents, texts = [], []  # nothing else could be told
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(cases if texts else 0):
            check_json(rng.choice(documents), folder)
            check_gzip(rng.choice(texts), folder)
            if yaml:
                check_yaml(rng.choice(configurations), folder)
    if not yaml:
        print("skip differential: YAML [needs python:yaml]")
    for name in sorted(held):
        print(f"not ok differential: {name}: {broken[name]}" if name in broken else f"ok differential: {name} ({held[name]})")


main()
