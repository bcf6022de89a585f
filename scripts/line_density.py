#!/usr/bin/env python3
"""Tokens per line of code, and the longest files.

    line_density.py [--check]

Prints the median file of lib/ and cli/, its ten densest files and the longest
source file of the repository. With --check it fails where the median file has
more than 9 tokens a line or a file more than 800 lines. Comments, blank lines
and preprocessor lines do not count; a text in quotes is one token.
"""
import re
import statistics
import subprocess
import sys

MOST_TOKENS = 9
MOST_LINES = 800

TOKEN = re.compile(
    r"""
    "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*'                  # texts
  | [A-Za-z_]\w* | \.?\d(?:[eEpP][+-]|[\w.])*              # words, numbers
  | <<= | >>= | \.\.\. | -> | \+\+ | -- | << | >> | && | \|\|
  | [-+*/%&|^<>=!]= | [^\s\w]                              # operators
    """,
    re.X,
)
COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def without_comments(source):
    def replace(match):
        text = match.group(0)
        return text if text[0] in "\"'" else "\n" * text.count("\n")

    return COMMENT_OR_TEXT.sub(replace, source)


def density(source):
    """Tokens per line of code; None for a file without any."""
    tokens = lines = 0
    directive = False
    for line in without_comments(source).split("\n"):
        directive = directive or line.lstrip().startswith("#")
        found = 0 if directive else len(TOKEN.findall(line))
        directive = directive and line.rstrip().endswith("\\")
        tokens += found
        lines += found > 0
    return tokens / lines if lines else None


def tracked(*patterns):
    return subprocess.run(["git", "ls-files", *patterns], check=True, capture_output=True, text=True).stdout.split()


def main():
    texts = {path: open(path, encoding="utf-8").read() for path in tracked("*.c", "*.h")}
    measured = [(density(text), path) for path, text in texts.items() if path.startswith(("lib/", "cli/"))]
    dense = sorted((d, path) for d, path in measured if d is not None)
    median = statistics.median(d for d, _ in dense)
    lengths = sorted((text.count("\n"), path) for path, text in texts.items())
    print(f"tokens per line, median of {len(dense)} files of lib/ and cli/: {median:.2f} (at most {MOST_TOKENS})")
    for d, path in reversed(dense[-10:]):
        print(f"  {d:5.2f}  {path}")
    print(f"longest file: {lengths[-1][0]} lines (at most {MOST_LINES})  {lengths[-1][1]}")
    too_long = [f"{path} has {n} lines" for n, path in lengths if n > MOST_LINES]
    too_dense = [f"the median file has {median:.2f} tokens a line"] if median > MOST_TOKENS else []
    if "--check" in sys.argv[1:]:
        for fault in too_dense + too_long:
            print(f"check-lines: {fault}", file=sys.stderr)
        return 1 if too_dense or too_long else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
