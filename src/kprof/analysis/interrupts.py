"""Interrupts: functions that appear on whatever runs, how long, how often, and at whose cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.beat import Beat, find_beat
from kprof.analysis.calls import Timeline
from kprof.analysis.filters import Mask
from kprof.analysis.measures import Measure
from kprof.analysis.replay.codes import INNER, OPEN, ORPHAN
from kprof.names import Modifier, NameEntry

Column = NDArray[np.int64]
OFTEN = 8
LEAST_BELOW = 2


@dataclass(frozen=True)
class Interrupt:
    """One interrupt function; times in ticks.

    Attributes
    ----------
    function
        Index of `Timeline.functions`.
    duration
        Elapsed times, interrupts on top of it taken out.
    period
        Times from the entry before, with what the triggers cost.
    nested
        The most interrupts that it ran on top of.
    beat
        Where it comes at a steady beat: how late; else None.
    """

    function: int
    duration: Measure
    period: Measure
    nested: int
    beat: Beat | None


@dataclass(frozen=True)
class Interrupted:
    """What interrupts did to one function; times in ticks.

    Attributes
    ----------
    function
        Index of `Timeline.functions`.
    total
        Its elapsed time, as in the summary.
    lost
        What of that interrupts on top of it took.
    """

    function: int
    total: int
    lost: int


def interrupt_functions(timeline: Timeline, named: tuple[str, ...] = ()) -> list[int]:
    """The functions that interrupts enter by: those that are named; else those that the name file
    marks (``^``), and those that look so of the functions of which it says nothing.

    The events do not say. An interrupt comes on whatever runs, the idle loop too: its function is
    seen with nothing below it, in the system context where there is one, and inside calls of at
    least two other functions. A function that the idle loop calls is seen so as well, but its
    callers call it every time, and what is interrupted is so now and then: of the functions that
    it was seen in, and that ran often enough to tell, most must have it in less than half of
    their calls.

    Raises
    ------
    UsageError
        One of `named` is not in the name file.
    """
    from kprof.analysis.questions import function_number

    if named:
        return sorted(function_number(timeline, name) for name in named)
    calls = timeline.calls
    seen = (calls.flags & ORPHAN) == 0
    count = np.bincount(calls.function, minlength=len(timeline.functions))
    system = calls.context == 0
    bottom = seen & (calls.parent < 0) & (system | ~system.any())
    found = marked_interrupts(timeline.functions)
    plain = [entry.modifier is Modifier.FUNCTION for entry in timeline.functions]
    for function in np.unique(calls.function[bottom]).tolist():
        if not plain[function]:
            continue
        inside = np.unique(calls.parent[seen & (calls.function == function) & (calls.parent >= 0)])
        below, with_it = np.unique(calls.function[inside], return_counts=True)
        if len(below) < LEAST_BELOW:
            continue
        telling = count[below] >= OFTEN
        rare = with_it[telling] * 2 < count[below[telling]]
        if rare.sum() * 5 >= len(rare) * 4:
            found.append(function)
    return sorted(found)


def marked_interrupts(functions: tuple[NameEntry, ...]) -> list[int]:
    """The functions that the name file marks as interrupts."""
    return [i for i, entry in enumerate(functions) if entry.modifier is Modifier.INTERRUPT]


def interrupts(
    timeline: Timeline, functions: list[int], keep: Mask | None = None
) -> list[Interrupt]:
    """How long each interrupt function ran, how often it came, and on how many others.

    With `keep` only these of its calls count; when it came before, and its beat, are those of all.
    """
    calls = timeline.calls
    is_root = _roots(timeline, functions)
    inside = interrupt_time(timeline, is_root)
    level = _roots_above(timeline, is_root)
    found = []
    for function in functions:
        every = np.flatnonzero(is_root & (calls.function == function))
        kept = np.ones(len(every), np.bool_) if keep is None else keep[every]
        rows = every[kept]
        own = calls.elapsed[rows] - inside[rows]
        # When it came, the triggers' time included: without it a steady beat would look unsteady.
        entries = timeline.counted[calls.entry_event[every]]
        period = np.diff(entries)[kept[1:]]
        beat = find_beat(entries)
        found.append(
            Interrupt(
                function,
                Measure.of(own),
                Measure.of(period),
                int(level[rows].max(initial=0)),
                None if beat is None else beat._replace(late=beat.late[kept]),
            )
        )
    return found


def _roots(timeline: Timeline, functions: list[int]) -> NDArray[np.bool_]:
    """Which calls are complete ones of interrupt functions, shape (calls,)."""
    calls = timeline.calls
    complete: NDArray[np.bool_] = (calls.flags & (OPEN | ORPHAN)) == 0
    return complete & np.isin(calls.function, functions)


def _roots_above(timeline: Timeline, is_root: NDArray[np.bool_]) -> Column:
    """On how many interrupts each call runs, shape (calls,)."""
    calls = timeline.calls
    level = np.zeros(len(calls), np.int64)
    for depth in calls.by_depth():
        rows = depth[calls.parent[depth] >= 0]
        above = calls.parent[rows]
        level[rows] = level[above] + is_root[above]
    return level


def interrupted(
    timeline: Timeline, functions: list[int], keep: Mask | None = None
) -> list[Interrupted]:
    """The functions that interrupts took time from, those that lost most first.

    With `keep` only these calls count.
    """
    calls = timeline.calls
    taken = interrupt_time(timeline, _roots(timeline, functions))
    if keep is not None:
        calls, taken = calls.select(keep), taken[keep]
    orphan = (calls.flags & ORPHAN) != 0
    outer = ((calls.flags & INNER) == 0) & ~orphan
    rows = []
    for function in np.unique(calls.function[outer & (taken > 0)]).tolist():
        mine = calls.function == function
        # Of an orphan only its net time is its function's: there is no interrupt in it.
        total = int(calls.elapsed[mine & outer].sum() + calls.net[mine & orphan].sum())
        rows.append(Interrupted(function, total, int(taken[mine & outer].sum())))
    return sorted(rows, key=lambda row: (row.lost, row.total, row.function), reverse=True)


def interrupt_time(timeline: Timeline, is_root: NDArray[np.bool_]) -> Column:
    """The time that interrupts took on top of each call, shape (calls,); nested ones once."""
    calls = timeline.calls
    parents, roots = calls.parent.tolist(), is_root.tolist()
    total = [0] * len(calls)
    rows = np.flatnonzero(is_root)
    for row, elapsed in zip(rows.tolist(), calls.elapsed[rows].tolist(), strict=True):
        above = parents[row]
        while above >= 0:
            total[above] += elapsed
            if roots[above]:
                break
            above = parents[above]
    return np.array(total, np.int64)
