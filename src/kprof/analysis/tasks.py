"""Tasks and interrupts: slices of contexts, and functions that appear on whatever runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.beat import Beat, find_beat
from kprof.analysis.calls import Timeline
from kprof.analysis.measures import Measure
from kprof.analysis.states import INNER, MARK_INLINE, MARK_OUT, OPEN, ORPHAN

Column = NDArray[np.int64]
_OFTEN = 8
_LEAST_BELOW = 2
IDLE = -1
"""What `running` calls the system context with no call open."""


@dataclass(frozen=True, eq=False)
class Slices:
    """What ran when: one row for every stretch of one context; times in ticks.

    Attributes
    ----------
    start, end
        int64.
    context
        int64; 0 is the system context.
    """

    start: Column
    end: Column
    context: Column


@dataclass(frozen=True)
class Task:
    """One context; times in ticks.

    Attributes
    ----------
    context
        Its number, 0 the system context.
    name
        The lowest function seen in it, or "".
    slices
        How often it was switched in.
    run
        Time on the processor; of the system context, its idle time is not in it.
    longest
        The most time on the processor in one slice; likewise.
    longest_away
        The longest time between two slices.
    """

    context: int
    name: str
    slices: int
    run: int
    longest: int
    longest_away: int


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
        Times from one entry to the next.
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


def slices(timeline: Timeline) -> Slices:
    """The slices of a capture; before the first switch runs what the replay found out."""
    marks = timeline.marks
    switch = np.flatnonzero(marks.kind != MARK_INLINE)
    out = marks.kind[switch] == MARK_OUT
    times = marks.time[switch]
    end = timeline.ledger.elapsed
    first = 1
    if len(switch):
        first = int(marks.context[switch[0]]) if out[0] else 0
    running = np.where(out, 0, marks.context[switch])
    return Slices(
        np.concatenate([[0], times]).astype(np.int64),
        np.concatenate([times, [end]]).astype(np.int64),
        np.concatenate([[first], running]).astype(np.int64),
    )


def running(timeline: Timeline) -> Slices:
    """The slices, those of the system context cut where it becomes idle (`IDLE`) and busy."""
    rows, calls = slices(timeline), timeline.calls
    bottom = (calls.context == 0) & (calls.parent < 0)
    entry, leave = calls.entry[bottom], calls.exit[bottom]
    edges = np.unique(np.concatenate([rows.start, rows.end, entry, leave]))
    opened = np.zeros(len(edges), np.int64)
    np.add.at(opened, np.searchsorted(edges, entry), 1)
    np.add.at(opened, np.searchsorted(edges, leave), -1)
    start = edges[:-1]
    context = rows.context[np.searchsorted(rows.start, start, "right") - 1]
    idle = (context == 0) & (np.cumsum(opened)[:-1] == 0)
    return Slices(start, edges[1:], np.where(idle, IDLE, context))


def tasks(timeline: Timeline) -> list[Task]:
    """Every context, the system context first."""
    rows = slices(timeline)
    calls = timeline.calls
    parts = running(timeline)
    busy = np.zeros(len(rows.start), np.int64)
    here = np.searchsorted(rows.start, parts.start, "right") - 1
    np.add.at(busy, here, np.where(parts.context == IDLE, 0, parts.end - parts.start))
    found = []
    for context in np.unique(np.concatenate([rows.context, calls.context])).tolist():
        mine = rows.context == context
        away = rows.start[mine][1:] - rows.end[mine][:-1]
        lowest = np.flatnonzero((calls.context == context) & (calls.parent < 0))
        name = ""
        if len(lowest):
            longest = lowest[np.argmax(calls.wall[lowest])]
            name = timeline.functions[int(calls.function[longest])].name
        found.append(
            Task(
                context,
                name,
                int(mine.sum()),
                int(busy[mine].sum()),
                int(busy[mine].max(initial=0)),
                int(away.max(initial=0)),
            )
        )
    return found


def interrupt_functions(timeline: Timeline, named: tuple[str, ...] = ()) -> list[int]:
    """The functions that interrupts enter by: those that are named, else those that look so.

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
    found = []
    for function in np.unique(calls.function[bottom]).tolist():
        inside = np.unique(calls.parent[seen & (calls.function == function) & (calls.parent >= 0)])
        below, with_it = np.unique(calls.function[inside], return_counts=True)
        if len(below) < _LEAST_BELOW:
            continue
        telling = count[below] >= _OFTEN
        rare = with_it[telling] * 2 < count[below[telling]]
        if rare.sum() * 5 >= len(rare) * 4:
            found.append(function)
    return found


def interrupts(timeline: Timeline, functions: list[int]) -> list[Interrupt]:
    """How long each interrupt function ran, how often it came, and on how many others."""
    calls = timeline.calls
    is_root = np.isin(calls.function, functions) & ((calls.flags & (OPEN | ORPHAN)) == 0)
    inside = interrupt_time(timeline, is_root)
    level = np.zeros(len(calls), np.int64)
    for row in np.flatnonzero(is_root).tolist():
        parent = int(calls.parent[row])
        while parent >= 0:
            level[row] += is_root[parent]
            parent = int(calls.parent[parent])
    found = []
    for function in functions:
        rows = np.flatnonzero(is_root & (calls.function == function))
        own = calls.elapsed[rows] - inside[rows]
        entries = np.sort(calls.entry[rows])
        period = entries[1:] - entries[:-1]
        found.append(
            Interrupt(
                function,
                Measure.of(own),
                Measure.of(period),
                int(level[rows].max(initial=0)),
                find_beat(entries),
            )
        )
    return found


def interrupted(timeline: Timeline, functions: list[int]) -> list[Interrupted]:
    """The functions that interrupts took time from, those that lost most first."""
    calls = timeline.calls
    is_root = np.isin(calls.function, functions) & ((calls.flags & (OPEN | ORPHAN)) == 0)
    taken = interrupt_time(timeline, is_root)
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
