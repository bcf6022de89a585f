#!/usr/bin/env python3
"""What is in the program and what it is linked with, as SPDX 2.3: sbom.py PROGRAM OUT

Shared libraries are those the program names itself (DT_NEEDED), with the version of
the Debian package where there is one; the report page has its packages of npm built
in, with the versions of web/package-lock.json. The date is SOURCE_DATE_EPOCH, or that
of the last commit: the same program has the same document."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time


def output(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def needed(program):
    return sorted(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", program)))


def package_of(library, program):
    """(package, version) of Debian, or the name alone."""
    found = re.search(rf"^\s*{re.escape(library)} => (\S+)", output("ldd", program), re.M)
    if not found or not shutil.which("dpkg-query"):
        return library, "NOASSERTION"
    for path in (found.group(1), os.path.realpath(found.group(1)), "/usr" + os.path.realpath(found.group(1))):
        owner = output("dpkg-query", "-S", path)
        if owner:
            name = owner.split(":")[0]
            return name, output("dpkg-query", "-W", "-f", "${Version}", owner.split(": ")[0]) or "NOASSERTION"
    return library, "NOASSERTION"


def built_in():
    """Packages of the page: all that is not a tool of the bundler."""
    lock = json.load(open("web/package-lock.json"))["packages"]
    tools = re.compile(r"node_modules/(@?esbuild)")
    return sorted((path.rpartition("node_modules/")[2], p["version"], p.get("license", "NOASSERTION"))
                  for path, p in lock.items() if path and not tools.search(path))


def package(name, version, licence, kind, purl=None):
    made = {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{kind}-{name}"), "name": name, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence}
    if purl:
        made["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
    return made


def main():
    program, out = sys.argv[1:]
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct").strip() or "0"
    version = re.search(r'SC_VERSION "(.*)"', open("include/stepcast/stepcast.h").read()).group(1)
    digest = hashlib.sha256(open(program, "rb").read()).hexdigest()
    itself = package("stepcast", version, "NOASSERTION", "program")
    itself["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
    packages, relations = [itself], [("SPDXRef-DOCUMENT", "DESCRIBES", itself["SPDXID"])]
    linked = {}
    for library in needed(program):
        linked.setdefault(package_of(library, program), []).append(library)
    for (name, found), libraries in linked.items():
        p = package(name, found, "NOASSERTION", "library", f"pkg:deb/debian/{name}@{found}" if found != "NOASSERTION" else None)
        p["comment"] = f"linked as {', '.join(libraries)}"
        packages.append(p)
        relations.append((itself["SPDXID"], "DYNAMIC_LINK", p["SPDXID"]))
    page = os.path.join(os.path.dirname(program), "web/report.html")
    for name, found, licence in built_in() if os.path.exists(page) and os.path.getsize(page) else []:
        p = package(name, found, licence, "page", f"pkg:npm/{name.replace('@', '%40')}@{found}")
        packages.append(p)
        relations.append((itself["SPDXID"], "CONTAINS", p["SPDXID"]))
    unique = {p["SPDXID"]: p for p in packages}  # npm may have one in two places
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"stepcast-{version}",
                "documentNamespace": f"https://spdx.org/spdxdocs/stepcast-{version}-{digest}",
                "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(epoch))), "creators": ["Tool: scripts/sbom.py"]},
                "packages": list(unique.values()),
                "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in dict.fromkeys(relations)]}
    with open(out, "w") as f:
        json.dump(document, f, indent=2)
        f.write("\n")
    print(f"{out}: {len(unique) - 1} packages")


main()
