"""Unfolds the timeline of a saved result (docs/report.md), row by row.

As a program: timeline.py RESULT.json TRACE.json compares where each computation
begins with the trace that the same run wrote, operation by operation."""
import json
import sys


def unfold(columns, usual):
    """The rows of a table in which repeats are not written again."""
    names = list(usual)
    fresh = 0
    rows = []
    for new, back, copied in zip(*[iter(columns["repeats"])] * 3):
        for i in range(fresh, fresh + new):
            rows.append(tuple(columns[n][i] if n in columns else usual[n] for n in names))
        fresh += new
        for _ in range(copied):
            rows.append(rows[-back])
    return rows


def insides(timeline):
    """What is inside each kind of block: [(kind, length, what, layer, count) …]"""
    source = timeline["insides"]
    lengths = unfold(source["lengths_ps"], {"length": 0})
    table = unfold(source["segments"], {"kind": None, "what": -1, "layer": 0, "count": 1})
    table = [(kind, length, what, layer, count) for (kind, what, layer, count), (length,) in zip(table, lengths)]
    out, at = [], 0
    for (size,) in unfold(source["sizes"], {"size": 1}):
        out.append(table[at:at + size])
        at += size
    return out


def rows(timeline):
    """(row, [(start, micro-batch, chunk, inside) …]) of each row."""
    table = unfold(timeline["blocks"], {"inside": 0, "micro_batch": None, "chunk": 0, "layer": 0})
    inside, first, new = insides(timeline), 0, 0
    lengths = [sum(s[1] for s in one) for one in inside]
    for row in timeline["rows"]:
        at, micro_batch, blocks = 0, 0, []
        for which, step, chunk, _ in table[first:first + row["blocks"]]:
            micro_batch += step or 0
            if which < 0:  # one that was not there before
                which, new = new, new + 1
            blocks.append((at, None if step is None else micro_batch, chunk, inside[which]))
            at += lengths[which]
        first += row["blocks"]
        yield row, blocks


def sums(timeline):
    """(row, {kind: ps}) of each row."""
    for row, blocks in rows(timeline):
        total = dict.fromkeys("FBWRUCbso", 0)
        for _, _, _, inside in blocks:
            for kind, length, *_ in inside:
                total[kind] += length
        yield row, total


def compute_starts(timeline):
    """(class, start in ps, name, micro-batch) of all that computes."""
    for row, blocks in rows(timeline):
        for at, micro_batch, _, inside in blocks:
            for kind, length, what, _, _ in inside:
                if kind in "FBWRU":
                    yield row["class"], at, timeline["what"][what][0], micro_batch
                at += length


def main():
    result, trace = (json.load(open(path)) for path in sys.argv[1:])
    events = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] not in ("comm", "wait", "host") and e["dur"] > 0]
    ranks = sorted({e["pid"] for e in events})
    wanted = sorted((ranks.index(e["pid"]), round(e["ts"] * 1e6), e["name"], e["args"].get("micro_batch", -1)) for e in events)
    shown = sorted((c, at, name, -1 if m is None else m) for c, at, name, m in compute_starts(result["timeline"]))
    if not wanted or wanted != shown:
        odd = next((pair for pair in zip(wanted, shown) if pair[0] != pair[1]), None)
        sys.exit(f"{len(wanted)} in the trace, {len(shown)} in the timeline, {odd}")
    print(f"{len(shown)} starts are equal")


if __name__ == "__main__":
    main()
