"""Tasks in text: who ran when, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.filters import Filter
from kprof.analysis.selection import Selection
from kprof.analysis.stream import Stream
from kprof.analysis.tasks import IDLE, LEFT_OUT, Stretches, Usage, task_usage
from kprof.report.lazy_json import Spool
from kprof.report.style import PLAIN, Style
from kprof.report.units import Units, percent, safe_name

_COLUMNS = 64
_TENTHS = " .123456789#"  # nothing, less than a tenth, tenths, all
_LABELS = {0: "system", IDLE: "idle", LEFT_OUT: "others"}
_PART = """{
 "start_us": %s,
 "end_us": %s,
 "context": %s
}"""


def task_lines(stream: Stream, usage: Usage, style: Style = PLAIN) -> Iterator[str]:
    """A line of figures for every context, and a strip of the run that shows when it ran.

    With a filter only the time counts in which a call was open that stays.
    """
    units = Units(stream.info.clock_hz)
    elapsed = stream.ledger.elapsed
    heads = f"{'run us':>12}  {'% real':>7}  {'slices':>7}  {'longest':>9}  {'away':>9}"
    yield style.title(f"{'task':>6}  {heads}  name")
    for task in usage.tasks:
        label = _LABELS.get(task.context) or str(task.context)
        name = safe_name(task.name) or "-"
        yield (
            f"{label:>6}  {style.share(f'{units.text(task.run):>12}', task.run, elapsed)}  "
            f"{percent(task.run, elapsed):>6.2f}%  "
            f"{task.slices:>7}  {units.text(task.longest):>9}  {units.text(task.longest_away):>9}  "
            f"{style.name(name)}"
        )
    idle = stream.ledger.idle
    yield f"  idle  {units.text(idle):>12}  {percent(idle, elapsed):>6.2f}%"
    yield ""
    column = _number(units.us(elapsed / _COLUMNS))
    yield f"when, in columns of {column} us: tenths of the column, . less than one, # all of it"
    for context, parts in sorted(usage.shares.items(), key=_order):
        label = _LABELS.get(context) or str(context)
        yield f"{label:>6}  |{strip(parts)}|"


def usage_of(stream: Stream, chosen: Filter | None) -> Usage:
    """The tasks as `task_lines` shows them."""
    return task_usage(stream, _COLUMNS, chosen)


def strip(parts: NDArray[np.float64]) -> str:
    """One character for each part, from 0 to 1, of a column."""
    tenths = np.floor(np.asarray(parts) * 10 + 1e-9).astype(int) + 1
    return "".join(
        _TENTHS[t] if part > 1e-9 else " " for t, part in zip(tenths, parts, strict=True)
    )


def _order(row: tuple[int, object]) -> tuple[bool, int]:
    context = row[0]
    return (context < 0, -context if context < 0 else context)


def tasks_json(stream: Stream, chosen: Filter | None) -> tuple[dict[str, Any], Selection]:
    """The contexts, and the whole run in parts, as a JSON object; times in microseconds.

    A part is of one context by its number, or ``idle``; with a filter it is ``others`` where no
    call that stays was open in the context that ran. The second value is the filter at work.
    """
    value = Units(stream.info.clock_hz).value
    parts = Spool()

    def see(stretches: Stretches) -> None:
        columns = (column.tolist() for column in stretches)
        parts.extend(
            [
                _PART % (value(start), value(end), label if label >= 0 else f'"{_LABELS[label]}"')
                for start, end, label in zip(*columns, strict=True)
            ]
        )

    usage = task_usage(stream, _COLUMNS, chosen, see)
    outcome = stream.outcome
    assert outcome is not None
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
            for task in usage.tasks
        ],
        "idle_us": value(stream.ledger.idle),
        "switches": outcome.switches,
        "ambiguous_switches": outcome.ambiguous,
        "parts": parts,
    }, usage.selection


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
