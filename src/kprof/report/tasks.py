"""Tasks in text: who ran when, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.calls import Timeline
from kprof.analysis.filters import Mask
from kprof.analysis.stream import Stream
from kprof.analysis.tasks import IDLE, LEFT_OUT, Task, running, shares, tasks
from kprof.analysis.usage import task_usage
from kprof.report.units import Units, percent, safe_name

_COLUMNS = 64
_TENTHS = " .123456789#"  # nothing, less than a tenth, tenths, all
_LABELS = {0: "system", IDLE: "idle", LEFT_OUT: "others"}


def task_lines(timeline: Timeline, keep: Mask | None = None) -> Iterator[str]:
    """A line of figures for every context, and a strip of the run that shows when it ran.

    With `keep` only the time counts in which one of these calls was open.
    """
    yield from _lines(timeline, tasks(timeline, keep), shares(timeline, _COLUMNS, keep))


def stream_lines(stream: Stream) -> Iterator[str]:
    """The same of all calls, in the memory of a few blocks of the capture."""
    found, parts = task_usage(stream, _COLUMNS)
    yield from _lines(stream, found, parts)


def _lines(
    timeline: Timeline | Stream, found: list[Task], parts_of: dict[int, NDArray[np.float64]]
) -> Iterator[str]:
    units = Units(timeline.info.clock_hz)
    elapsed = timeline.ledger.elapsed
    heads = f"{'run us':>12}  {'% real':>7}  {'slices':>7}  {'longest':>9}  {'away':>9}"
    yield f"{'task':>6}  {heads}  name"
    for task in found:
        label = _LABELS.get(task.context) or str(task.context)
        name = safe_name(task.name) or "-"
        yield (
            f"{label:>6}  {units.text(task.run):>12}  {percent(task.run, elapsed):>6.2f}%  "
            f"{task.slices:>7}  {units.text(task.longest):>9}  {units.text(task.longest_away):>9}  "
            f"{name}"
        )
    idle = timeline.ledger.idle
    yield f"  idle  {units.text(idle):>12}  {percent(idle, elapsed):>6.2f}%"
    yield ""
    column = _number(units.us(elapsed / _COLUMNS))
    yield f"when, in columns of {column} us: tenths of the column, . less than one, # all of it"
    for context, parts in sorted(parts_of.items(), key=_order):
        label = _LABELS.get(context) or str(context)
        yield f"{label:>6}  |{strip(parts)}|"


def strip(parts: NDArray[np.float64]) -> str:
    """One character for each part, from 0 to 1, of a column."""
    tenths = np.floor(np.asarray(parts) * 10 + 1e-9).astype(int) + 1
    return "".join(
        _TENTHS[t] if part > 1e-9 else " " for t, part in zip(tenths, parts, strict=True)
    )


def _order(row: tuple[int, object]) -> tuple[bool, int]:
    context = row[0]
    return (context < 0, -context if context < 0 else context)


def tasks_json(timeline: Timeline, keep: Mask | None = None) -> dict[str, Any]:
    """The contexts, and the whole run in parts, as a JSON object; times in microseconds.

    A part is of one context by its number, or ``idle``; with `keep` it is ``others`` where none of
    these calls was open in the context that ran.
    """
    value = Units(timeline.info.clock_hz).value
    rows = running(timeline, keep)
    # Where one and the same goes on, calls that begin and end in it are no new part.
    first = np.flatnonzero(np.diff(rows.context, prepend=min(IDLE, LEFT_OUT) - 1))
    ends = [*rows.start[first[1:]].tolist(), timeline.ledger.elapsed]
    return {
        "tasks": [
            {
                "context": task.context,
                "name": task.name,
                "run_us": value(task.run),
                "slices": task.slices,
                "longest_us": value(task.longest),
                "longest_away_us": value(task.longest_away),
            }
            for task in tasks(timeline, keep)
        ],
        "idle_us": value(timeline.ledger.idle),
        "switches": timeline.outcome.switches,
        "ambiguous_switches": timeline.outcome.ambiguous,
        "parts": [
            {
                "start_us": value(start),
                "end_us": value(end),
                "context": context if context >= 0 else _LABELS[context],
            }
            for start, end, context in zip(
                rows.start[first].tolist(),
                ends[: len(first)],
                rows.context[first].tolist(),
                strict=True,
            )
        ],
    }


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
