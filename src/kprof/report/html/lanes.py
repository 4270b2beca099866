"""Where calls and marks are drawn: the level of each in its context's lane, and the slices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.calls import Timeline
from kprof.analysis.replay.codes import MARK_IN, MARK_INLINE, MARK_OUT

MAX_LEVEL = 120
"""Calls that are deeper share the last row."""


def levels(timeline: Timeline) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The levels of the calls and of the marks; a mark's is that of the call it stands in, + 1.

    Calls of one context and level do not overlap, but for those below `MAX_LEVEL`.
    """
    call_level = np.minimum(timeline.calls.depth.astype(np.int64), MAX_LEVEL)
    mark_level = np.minimum(timeline.marks.depth.astype(np.int64), MAX_LEVEL + 1)
    return call_level, mark_level


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
