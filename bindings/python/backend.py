#!/usr/bin/env python3
"""Makes the package: PEP 517's hooks, and what the Makefile calls.

    backend.py stage FOLDER           the package as files, without the library
    backend.py wheel FOLDER           a wheel with the library and what it is linked with

The library is build/libstepcast.so.0 of the source tree, or what
STEPCAST_LIBRARY names. A wheel is a zip file; this writes it with the standard
library, so that nothing has to be fetched to build one."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from typing import Any, Dict, List, Optional

import header

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
C_HEADER = os.path.join(ROOT, "include", "stepcast", "stepcast.h")
SONAME = "libstepcast.so.0"
SOURCES = os.path.join(HERE, "stepcast")

METADATA = """\
Metadata-Version: 2.1
Name: stepcast
Version: {version}
Summary: Forecast one training step of a large model on a GPU cluster
Requires-Python: >=3.9
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: stepcast
Root-Is-Purelib: false
Tag: {tag}
"""


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _version() -> str:
    match = re.search(rb'#define SC_VERSION "([^"]+)"', _read(C_HEADER))
    if not match:
        raise SystemExit(f"{C_HEADER}: error: no SC_VERSION")
    return match[1].decode()


def _library() -> str:
    path = os.environ.get("STEPCAST_LIBRARY") or os.path.join(ROOT, "build", SONAME)
    if not os.path.exists(path):
        raise SystemExit(f"{path}: error: no such file\nhint: 'make' builds the library")
    return path


# Every Linux has these, of a version that goes with its kernel and loader.
SYSTEM = re.compile(r"(linux-vdso|ld-linux|libc|libm|libpthread|libdl|librt|lib[at-z]*san)[.-]")


def _linked(library: str) -> Dict[str, bytes]:
    """What the library is linked with, so that the wheel needs nothing to be installed, and the
    terms of each where the system's packages have them."""
    files = {}
    listed = subprocess.run(["ldd", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    for name, path in re.findall(r"^\s*(\S+) => (/\S+)", listed, re.M):
        if SYSTEM.match(name):
            continue
        files[f"stepcast/linked/{name}"] = _read(path)
        terms = f"/usr/share/doc/{_debian_package(path)}/copyright"
        if os.path.exists(terms):
            files[f"stepcast/linked/{name}.copyright"] = _read(terms)
    return files


def _debian_package(path: str) -> str:
    for name in (os.path.realpath(path), path):
        try:
            owner = subprocess.run(["dpkg-query", "-S", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except OSError:
            break
        if owner.returncode == 0:
            return owner.stdout.split(":")[0]
    return "none"


def _package() -> Dict[str, bytes]:
    """The files of the package, by name."""
    files = {}
    for folder in ("", "capture"):
        for name in sorted(os.listdir(os.path.join(SOURCES, folder))):
            if name.endswith((".py", ".typed")):
                inside = os.path.join(folder, name)
                files[f"stepcast/{inside}"] = _read(os.path.join(SOURCES, inside))
    parsed = header.Header(_read(C_HEADER).decode())
    files["stepcast/_header.py"] = header.module(parsed, C_HEADER).encode()
    return files


def stage(folder: str) -> None:
    """Writes the package into a folder for PYTHONPATH; nothing stale stays."""
    target = os.path.join(folder, "stepcast")
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(os.path.join(target, "capture"))
    for name, data in _package().items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


def _metadata() -> bytes:
    readme = _read(os.path.join(ROOT, "docs", "python.md")).decode()
    return METADATA.format(version=_version(), readme=readme).encode()


def _record_line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def build_wheel(
    wheel_directory: str,
    config_settings: Optional[Dict[str, Any]] = None,
    metadata_directory: Optional[str] = None,
) -> str:
    """PEP 517: writes the wheel and answers its name."""
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    info = f"stepcast-{_version()}.dist-info"
    files = _package()
    files[f"stepcast/{SONAME}"] = _read(_library())
    files.update(_linked(_library()))
    files[f"{info}/METADATA"] = _metadata()
    files[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    files[f"{info}/LICENSE"] = _read(os.path.join(ROOT, "LICENSE"))
    record = "".join(_record_line(name, data) for name, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()

    name = f"stepcast-{_version()}-{tag}.whl"
    os.makedirs(wheel_directory, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=wheel_directory, prefix=".stepcast-")
    with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            # one date for all: the same sources make the same bytes
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if path.endswith(SONAME) else 0o644) << 16
            wheel.writestr(entry, data)
    os.chmod(part, 0o644)
    os.replace(part, os.path.join(wheel_directory, name))
    return name


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    """PEP 517: there is none; the library is built from the whole source tree."""
    raise NotImplementedError("build a wheel from the source tree of stepcast")


def get_requires_for_build_wheel(config_settings: Optional[Dict[str, Any]] = None) -> List[str]:
    return []


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[1] not in ("stage", "wheel"):
        print("usage: backend.py stage|wheel FOLDER", file=sys.stderr)
        return 2
    try:
        if sys.argv[1] == "stage":
            stage(sys.argv[2])
        else:
            print(os.path.join(sys.argv[2], build_wheel(sys.argv[2])))
    except header.Failure as failure:
        print(f"{C_HEADER}: error: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
