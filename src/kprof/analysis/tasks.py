"""Tasks: the slices of contexts, and what ran in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.calls import Timeline
from kprof.analysis.filters import Mask, covered, whole_context
from kprof.analysis.replay.codes import MARK_INLINE, MARK_OUT

Column = NDArray[np.int64]
IDLE = -1
"""What `running` calls the system context with no call open."""
LEFT_OUT = -2
"""What `running` calls a context with none of the calls open that a filter keeps."""


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
        Its task's, where the kernel fires task marks; else the lowest function seen in it, or "".
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


def slices(timeline: Timeline) -> Slices:
    """The slices of a capture; before the first switch runs what the replay found out."""
    marks = timeline.marks
    switch = np.flatnonzero(marks.kind != MARK_INLINE)
    out = marks.kind[switch] == MARK_OUT
    times = marks.time[switch]
    end = timeline.ledger.elapsed
    running = np.where(out, 0, marks.context[switch])
    return Slices(
        np.concatenate([[0], times]).astype(np.int64),
        np.concatenate([times, [end]]).astype(np.int64),
        np.concatenate([[timeline.first], running]).astype(np.int64),
    )


def running(timeline: Timeline, keep: Mask | None = None) -> Slices:
    """The slices, cut where what runs in them changes.

    Those of the system context are cut where it becomes idle (`IDLE`) and busy. With `keep` those
    of contexts that have other calls too are cut where none of these is open (`LEFT_OUT`).
    """
    rows, calls = slices(timeline), timeline.calls
    bottom = (calls.context == 0) & (calls.parent < 0)
    cuts = bottom if keep is None else bottom | keep
    edges = np.unique(np.concatenate([rows.start, rows.end, calls.entry[cuts], calls.exit[cuts]]))
    start = edges[:-1]
    context = rows.context[np.searchsorted(rows.start, start, "right") - 1]
    idle = (context == 0) & ~_covered(timeline, bottom, start)
    found = np.where(idle, IDLE, context)
    if keep is not None:
        for which in np.unique(context).tolist():
            here = context == which
            if not whole_context(timeline, keep, which):
                mine = keep & (calls.context == which)
                found[here & ~idle & ~_covered(timeline, mine, start)] = LEFT_OUT
    return Slices(start, edges[1:], found)


def _covered(timeline: Timeline, chosen: Mask, times: Column) -> Mask:
    """At which times one of the chosen calls is open; it is so at its entry, not at its exit."""
    calls = timeline.calls
    return covered(calls.entry[chosen], calls.exit[chosen], times, "right")


def tasks(timeline: Timeline, keep: Mask | None = None) -> list[Task]:
    """Every context, the system context first.

    With `keep`, those with one of these calls; the time in which one is open, and the slices.
    """
    rows = slices(timeline)
    calls = timeline.calls
    parts = running(timeline, keep)
    busy = np.zeros(len(rows.start), np.int64)
    here = np.searchsorted(rows.start, parts.start, "right") - 1
    np.add.at(busy, here, np.where(parts.context < 0, 0, parts.end - parts.start))
    named = np.ones(len(calls), np.bool_) if keep is None else keep
    contexts = calls.context[named]
    if keep is None:
        contexts = np.concatenate([rows.context, contexts])
    found = []
    for context in np.unique(contexts).tolist():
        mine = rows.context == context
        if keep is not None:
            mine &= busy > 0
        away = rows.start[mine][1:] - rows.end[mine][:-1]
        lowest = np.flatnonzero((calls.context == context) & (calls.parent < 0))
        name = timeline.task_names.get(context, "")
        if not name and len(lowest):
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


def shares(
    timeline: Timeline, columns: int, keep: Mask | None = None
) -> dict[int, NDArray[np.float64]]:
    """What part of each of `columns` equal parts of the run a context ran, from 0 to 1.

    By its number, or `IDLE`, or `LEFT_OUT`; only those that ran at all.
    """
    rows = running(timeline, keep)
    edges = np.linspace(0, max(1, timeline.ledger.elapsed), columns + 1)
    found = {}
    for context in np.unique(rows.context).tolist():
        mine = rows.context == context
        start, length = rows.start[mine], (rows.end - rows.start)[mine]
        before = np.concatenate([[0], np.cumsum(length)])
        # Time of the context up to each edge: whole slices before it and a part of one.
        place = np.clip(np.searchsorted(start, edges, "right") - 1, 0, len(start) - 1)
        spent = before[place] + np.clip(edges - start[place], 0, length[place])
        if before[-1]:
            found[context] = np.diff(spent) / np.diff(edges)
    return found
