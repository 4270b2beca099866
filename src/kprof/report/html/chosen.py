"""A run with some of its calls: what the filters of a report leave in the page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.calls import Calls, Timeline
from kprof.analysis.filters import gathered, kept_marks, left_out
from kprof.analysis.replay.codes import MARK_INLINE
from kprof.analysis.summary import FunctionFigures
from kprof.report.html.page import Run
from kprof.report.units import Units, percent


def chosen_run(run: Run, keep: NDArray[np.bool_]) -> Run:
    """The run with the calls of `keep`, shape (calls,); the totals stay those of the whole run.

    Context switches stay all: they say which context ran.
    """
    line = run.timeline
    calls = line.calls.select(keep)
    marks = line.marks
    stays = kept_marks(line, keep) | (marks.kind != MARK_INLINE)
    number = np.where(keep, np.cumsum(keep) - 1, -1)
    parent = np.where(marks.parent >= 0, number[np.maximum(marks.parent, 0)], -1)
    columns = {name: getattr(marks, name)[stays] for name in marks.__dataclass_fields__}
    kept = replace(marks, **{**columns, "parent": parent[stays]})
    gone, lost = left_out(line, keep)
    share = percent(lost, line.ledger.elapsed)
    units = Units(line.info.clock_hz)
    said = f"left out by filters: {gone} calls, {units.text(lost)} us net ({share}%)"
    return Run(
        run.summary._replace(functions=_figures(line, calls)),
        replace(line, calls=calls, marks=kept),
        run.tree,
        said,
    )


def _figures(line: Timeline, calls: Calls) -> tuple[FunctionFigures, ...]:
    rows = [one.figures() for one in gathered(line, calls).values()]
    return tuple(sorted(rows, key=lambda row: -row.net))
