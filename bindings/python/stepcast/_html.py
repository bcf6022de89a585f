"""A result as a small table for notebooks: no script, nothing from elsewhere."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, List

if TYPE_CHECKING:
    from ._result import Result

#: what a bar is made of: field of a breakdown, name, colour
PARTS = [
    ("compute_us", "compute", "#4878a8"),
    ("recompute_us", "recompute", "#8fb0d0"),
    ("exposed_us", "exposed communication", "#d08040"),
    ("bubble_us", "bubble", "#c9c9c9"),
    ("skew_us", "skew", "#b05070"),
    ("other_us", "other", "#888888"),
]
#: rows of a table; of more stages the slowest and the first are shown
MOST_ROWS = 16


def _duration(us: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{us / size:.4g} {unit}"
    return f"{us:.4g} us"


def _bytes(size: int) -> str:
    return f"{size / 1e9:.3g} GB"


def _headline(result: Result) -> str:
    facts = [f"<b>{_duration(result.step_us)}</b> a step", f"{result.ranks} GPUs"]
    if result.mfu:
        facts.append(f"MFU {result.mfu:.1%}")
    if result.tokens_per_s:
        facts.append(f"{result.tokens_per_s:,.0f} tokens/s")
    if result.tflops_per_gpu:
        facts.append(f"{result.tflops_per_gpu:.0f} TFLOP/s per GPU")
    return " · ".join(facts)


def _bar(result: Result, stage: int) -> str:
    breakdown = result.breakdown(stage)
    spans = []
    for field, name, colour in PARTS:
        us = getattr(breakdown, field)
        share = us / result.step_us if result.step_us > 0 else 0
        if share <= 0:
            continue
        title = escape(f"{name} {_duration(us)} ({share:.1%})", quote=True)
        spans.append(
            f'<span title="{title}" style="display:inline-block;height:1em;'
            f'width:{100 * share:.3f}%;background:{colour}"></span>'
        )
    return f'<div style="width:24em;font-size:0.8em;white-space:nowrap">{"".join(spans)}</div>'


def _row(result: Result, stage: int) -> str:
    breakdown = result.breakdown(stage)
    memory = result.memory(stage)
    used = f"{_bytes(memory.total)} of {_bytes(memory.capacity)}" if memory.total else ""
    shares = [getattr(breakdown, field) for field, _, _ in PARTS[:4]]
    cells = [escape(breakdown.stage), str(breakdown.ranks), _bar(result, stage)]
    cells += [_duration(us) if us else "" for us in shares]
    cells.append(used)
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _shown_stages(result: Result) -> List[int]:
    if result.stages <= MOST_ROWS:
        return list(range(result.stages))
    first = [stage for stage in range(result.stages) if stage != result.slowest_stage]
    return sorted([result.slowest_stage, *first[: MOST_ROWS - 1]])


def _notes(result: Result) -> str:
    notes = result.notes
    if not notes:
        return ""
    items = "".join(f"<li>{escape(note.text)}</li>" for note in notes)
    return f"<details><summary>{len(notes)} assumed</summary><ul>{items}</ul></details>"


def result_table(result: Result) -> str:
    heads = ["stage", "ranks", "", *(name for _, name, _ in PARTS[:4]), "memory"]
    stages = _shown_stages(result)
    hidden = result.stages - len(stages)
    more = f"<div>{hidden} more stages</div>" if hidden else ""
    return (
        f"<div><div>{_headline(result)}</div><table><thead><tr>"
        + "".join(f"<th>{head}</th>" for head in heads)
        + "</tr></thead><tbody>"
        + "".join(_row(result, stage) for stage in stages)
        + f"</tbody></table>{more}{_notes(result)}</div>"
    )
