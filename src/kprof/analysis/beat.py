"""Periodic interrupts: how late each one was.

What a device waited before its handler ran is not in the events. Where it asks at a steady beat, as
a timer does, the beat can be found again: it is the line under all entries that lies closest to
them, for a handler may come late and never early. What an entry is above that line is its latency,
less the least latency of the run.

Entries come in chunks, ascending times, as often as they are asked for; a run may have too many to
be held at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.measures import Measure

Column = NDArray[np.int64]
Floats = NDArray[np.float64]
Chunks = Callable[[], Iterator[Column]]
Points = list[tuple[float, float]]

_LEAST_ENTRIES = 16
_ALLOWED = 0.25  # of a period: what differs more is no lateness


class Beat(NamedTuple):
    """The beat of a function.

    Attributes
    ----------
    period
        Ticks from one beat to the next.
    first
        When the first was.
    step
        The median of the times between entries.
    missed
        Beats without an entry, between the first entry and the last.
    """

    period: float
    first: float
    step: float
    missed: int

    def late(self, entries: Chunks) -> Iterator[Column]:
        """What each entry is behind its beat, in ticks; chunk by chunk."""
        for number, times in _numbered(entries, self.step):
            late = times - (self.first + self.period * number)
            yield np.rint(np.maximum(late, 0)).astype(np.int64)


def find_beat(entries: Chunks, between: Measure) -> Beat | None:
    """The beat of entries; None where they keep none.

    There is one where every entry but the first is a whole number of periods after the one
    before, give or take a quarter, the period being the median of what is between them.

    Parameters
    ----------
    between
        The times from each entry to the next.
    """
    if between.count + 1 < _LEAST_ENTRIES:
        return None
    middle = between.median()
    if middle <= 0:
        return None
    count, total, last = 0, 0.0, 0.0
    hull: Points = []
    before: Column = np.empty(0, np.int64)
    for number, times in _numbered(entries, middle):
        steps = np.diff(np.concatenate([before, times]))
        beats = np.rint(steps / middle)
        if (beats < 1).any() or (np.abs(steps - beats * middle) > _ALLOWED * middle).any():
            return None
        count, total, last = count + len(times), total + float(number.sum()), float(number[-1])
        before = times[-1:]
        hull = _lower(hull + _hull(number, times.astype(np.float64)))
    mean = total / count
    right = next(k for k in range(1, len(hull)) if hull[k][0] >= mean)
    (x1, y1), (x2, y2) = hull[right - 1], hull[right]
    period = (y2 - y1) / (x2 - x1)
    return Beat(period, y1 - period * x1, middle, int(last) + 1 - count)


def _numbered(entries: Chunks, step: float) -> Iterator[tuple[Floats, Column]]:
    """The entries with the numbers of their beats, from 0."""
    last, number = -1, 0.0
    for times in entries():
        if not len(times):
            continue
        steps = np.diff(times, prepend=times[0] if last < 0 else last)
        numbers = number + np.cumsum(np.rint(steps / step))
        last, number = int(times[-1]), float(numbers[-1])
        yield numbers, times


def _hull(x: Floats, y: Floats) -> Points:
    """The edge of the lower convex hull of points, which are ascending in `x`."""
    corners = [0, len(x) - 1]
    waiting = [(0, len(x) - 1)]
    while waiting:
        low, high = waiting.pop()
        if high - low < 2:
            continue
        inside = slice(low + 1, high)
        rise = (y[high] - y[low]) / (x[high] - x[low])
        below = y[inside] - y[low] - rise * (x[inside] - x[low])
        lowest = int(np.argmin(below))
        if below[lowest] < 0:
            corner = low + 1 + lowest
            corners.append(corner)
            waiting += [(low, corner), (corner, high)]
    return [(float(x[k]), float(y[k])) for k in sorted(set(corners))]


def _lower(points: Points) -> Points:
    """The edge of the lower convex hull of some points, which are ascending."""
    hull: Points = []
    for point in points:
        while len(hull) > 1 and _turn(hull[-2], hull[-1], point) <= 0:
            hull.pop()
        hull.append(point)
    return hull


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Above 0 where the way from a over b to c turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
