"""Where calls and marks are drawn: the level of each in its context's lane, and the slices.

`Calls.depth` counts from the lowest call that is known. A call whose entry was not seen (orphan
exit) has been open since its context first ran, so all that ran in the context before its exit
stands on it: levels are depths with those below counted in.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.calls import Timeline
from kprof.analysis.states import MARK_IN, MARK_INLINE, MARK_OUT, ORPHAN

MAX_LEVEL = 120
_MOST_ORPHANS = 40


def levels(timeline: Timeline) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The levels of the calls and of the marks; a mark's is that of the call it stands in, + 1."""
    calls, marks = timeline.calls, timeline.marks
    call_level = calls.depth.astype(np.int64)
    mark_level = marks.depth.astype(np.int64)
    orphan = (calls.flags & ORPHAN) != 0
    for context in np.unique(calls.context[orphan]).tolist():
        ends = np.sort(calls.exit_event[orphan & (calls.context == context)])
        if len(ends) > _MOST_ORPHANS:
            continue
        mine = calls.context == context
        call_level[mine] += _after(ends, calls.exit_event[mine])
        mine = marks.context == context
        mark_level[mine] += _after(ends, marks.event[mine])
    return np.minimum(call_level, MAX_LEVEL), np.minimum(mark_level, MAX_LEVEL + 1)


def _after(ends: NDArray[np.int64], events: NDArray[np.int64]) -> NDArray[np.int64]:
    return len(ends) - np.searchsorted(ends, events, "right")


def slices(timeline: Timeline) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which context ran when: the starts of the slices in ticks, and their contexts.

    A slice ends where the next begins, the last with the capture.
    """
    marks = timeline.marks
    switch = marks.kind != MARK_INLINE
    kind, context, time = marks.kind[switch], marks.context[switch], marks.time[switch]
    if not len(kind):
        only = int(timeline.calls.context[0]) if len(timeline.calls) else 0
        return np.zeros(1, np.int64), np.full(1, only, np.int64)
    first = int(context[0]) if kind[0] == MARK_OUT else 0
    runs = np.where(kind == MARK_IN, context, 0).astype(np.int64)
    return (
        np.concatenate([[0], time]).astype(np.int64),
        np.concatenate([[first], runs]).astype(np.int64),
    )
