#!/usr/bin/env python3
"""Links, anchors and files that the pages name: check_docs.py [FOLDER]

Every relative link of every *.md leads to a file, its anchor to a heading of it;
every path of the tree in backticks is there (words in capitals stand for others).
A page that is missing something is named, a line each."""
import glob
import os
import re
import sys

os.chdir(sys.argv[1] if len(sys.argv) > 1 else ".")
NOT_OURS = {"build", "node_modules", "shared"}
MADE = {"web/node_modules"}  # by npm, where there is one
FOLDERS = "bench|bindings|cli|data|docs|examples|include|lib|scripts|tests|tools|web"
faults, seen = [], {"links": 0, "paths": 0}


def pages():
    for folder, inside, files in os.walk("."):
        inside[:] = [d for d in inside if not d.startswith((".", "build")) and d not in NOT_OURS]
        yield from (os.path.normpath(os.path.join(folder, f)) for f in sorted(files) if f.endswith(".md"))


def anchors(page, known={}):
    """Headings as GitHub makes anchors of them: -1, -2 … where one is there again."""
    if page not in known:
        known[page] = set()
        text = re.sub(r"^```.*?^```", "", open(page, encoding="utf-8").read(), flags=re.M | re.S)
        for heading in re.findall(r"^#{1,6} (.*)", text, flags=re.M):
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
            name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
            again = next(i for i in range(1000) if (f"{name}-{i}" if i else name) not in known[page])
            known[page].add(f"{name}-{again}" if again else name)
    return known[page]


def check_link(page, link):
    path, _, anchor = link.partition("#")
    target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    if not os.path.exists(target):
        faults.append(f"{page}: no file for the link {link}")
    elif anchor and target.endswith(".md") and anchor not in anchors(target):
        faults.append(f"{page}: no heading for the link {link}")


for page in pages():
    text = re.sub(r"^```.*?^```", "", open(page, encoding="utf-8").read(), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", link):
            seen["links"] += 1
            check_link(page, link)
    for path in re.findall(rf"`((?:{FOLDERS})/[\w./*-]+)`", text):
        if not re.search(r"[A-Z]{4}", os.path.basename(path)) and "NAME" not in path:
            seen["paths"] += 1
            if path not in MADE and not glob.glob(path):
                faults.append(f"{page}: {path} is not there")
for fault in faults:
    print(f"# {fault}")
print(f"# {seen['links']} links, {seen['paths']} paths")
sys.exit(bool(faults) or not all(seen.values()))
