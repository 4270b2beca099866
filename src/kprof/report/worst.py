"""The worst calls of a function, each with all that ran inside it, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.ordered import Carried, KeptMarks, Ordered, Part
from kprof.analysis.questions import WorstCalls
from kprof.analysis.stream import Stream
from kprof.report.lazy_json import Spool, text_file
from kprof.report.style import PLAIN, Style
from kprof.report.trace import Lines, Objects, task_names
from kprof.report.trace_text import INDENT, Writer
from kprof.report.units import Units, safe_name

_IN_MEMORY = 1 << 18  # characters of a call's trace from which it goes to a file
_PIECE = 1 << 20

Mask = NDArray[np.bool_]


def worst_text(
    stream: Stream,
    worst: WorstCalls,
    name: str,
    style: Style = PLAIN,
    indent: int = INDENT,
) -> Iterator[str]:
    """The trace of each of the worst calls, the worst first, below a line of its figures."""
    units, rows = Units(stream.info.clock_hz), worst.rows
    writer = Writer(
        stream.functions,
        stream.inlines,
        stream.info.clock_hz,
        fast=stream.compiled,
        style=style,
        indent=indent,
    )
    files = [text_file(_IN_MEMORY) for _ in rows.call]
    lines: dict[int, Lines] = {}
    marks = _marks(worst)
    for part, inside in _inside(stream, worst, everywhere=False):
        for k, keep in inside.items():
            here = int(rows.call[k]) - part.first
            if k not in lines and 0 <= here < len(part.keep):
                span = (int(rows.entry[k]), int(rows.leave[k]))
                lines[k] = Lines(span, counted=True)
            kept = marks[k].of(part, keep)
            if k in lines:
                files[k].write(writer.text(lines[k].of(part, keep, kept)))
    for k, file in enumerate(files):
        total, net = (units.text(int(column[k])) for column in (rows.elapsed, rows.net))
        gap = "\n" if k else ""
        title = f"# {k + 1}: {safe_name(name)}, {total} us total, {net} us net"
        yield f"{gap}{style.title(title)}\n"
        with file:
            file.seek(0)
            while piece := file.read(_PIECE):
                yield piece
    if not len(rows):
        yield f"{safe_name(name)}: no complete call\n"


def worst_json(stream: Stream, worst: WorstCalls, name: str) -> dict[str, Any]:
    """The same calls as JSON objects, see `kprof.report.trace.trace_json`."""

    def traces() -> list[dict[str, Any]]:
        spools = [(Spool(), Spool()) for _ in worst.rows.call]
        objects = [Objects(stream) for _ in spools]
        marks = _marks(worst)
        for part, inside in _inside(stream, worst, everywhere=True):
            for k, keep in inside.items():
                texts = objects[k].of(part, keep, marks[k].of(part, keep))
                for spool, more in zip(spools[k], texts, strict=True):
                    spool.extend(more)
        tasks = task_names(stream)
        return [{"calls": calls, "marks": marks, "tasks": tasks} for calls, marks in spools]

    return {"name": name, "worst": traces}


def _marks(worst: WorstCalls) -> list[KeptMarks]:
    return [
        KeptMarks(lambda context, k=k: worst.is_whole(k, context))  # type: ignore[misc]
        for k in range(len(worst.rows))
    ]


def _inside(
    stream: Stream, worst: WorstCalls, *, everywhere: bool
) -> Iterator[tuple[Part, dict[int, Mask]]]:
    """Which calls of each part stay and are one of the worst, or in it, by the worst's place.

    Parameters
    ----------
    everywhere
        Parts in which none of them runs too.
    """
    rows, near = worst.rows, Carried()
    members: dict[int, set[int]] = {}  # of each of the worst, those of them that are in it
    start = 0
    for part in Ordered(stream, worst.selection.chosen):
        runs = (rows.entry < part.stop) & (rows.leave >= start)
        start = part.stop
        if not everywhere and not runs.any():
            if (rows.leave < start).all():
                return
            continue
        own = np.full(len(part.keep), -1, np.int64)
        at = rows.call - part.first
        here = np.flatnonzero((at >= 0) & (at < len(own)))
        own[at[here]] = here
        around = near.nearest(part, own)
        for k in here[np.argsort(rows.call[here])].tolist():
            members[k] = {k}
            for holder in near.of(part, around, rows.parent[k : k + 1]).tolist():
                for others in members.values():
                    if holder in others:
                        others.add(k)
        near.carry(part, around)
        chosen = range(len(rows)) if everywhere else np.flatnonzero(runs).tolist()
        yield part, {k: part.keep & np.isin(around, list(members.get(k, ()))) for k in chosen}
