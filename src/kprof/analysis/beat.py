"""Periodic interrupts: how late each one was.

What a device waited before its handler ran is not in the events. Where it asks at a steady beat, as
a timer does, the beat can be found again: it is the line under all entries that lies closest to
them, for a handler may come late and never early. What an entry is above that line is its latency,
less the least latency of the run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_LEAST_ENTRIES = 16
_ALLOWED = 0.25  # of a period: what differs more is no lateness


class Beat(NamedTuple):
    """The beat of a function.

    Attributes
    ----------
    period
        Ticks from one beat to the next.
    late
        Shape (entries,) int64: what each entry is behind its beat, in ticks.
    missed
        Beats without an entry, between the first entry and the last.
    """

    period: float
    late: NDArray[np.int64]
    missed: int


def find_beat(entries: NDArray[np.int64]) -> Beat | None:
    """The beat of entries at these times, ascending; None where they keep none.

    There is one where every entry but the first is a whole number of periods after the one
    before, give or take a quarter, the period being the median of what is between them.
    """
    if len(entries) < _LEAST_ENTRIES:
        return None
    between = np.diff(entries)
    middle = float(np.median(between))
    if middle <= 0:
        return None
    beats = np.rint(between / middle)
    if (beats < 1).any() or (np.abs(between - beats * middle) > _ALLOWED * middle).any():
        return None
    number = np.concatenate([[0], np.cumsum(beats)])
    period, first = _line_below(number, entries.astype(np.float64))
    late = entries - (first + period * number)
    missed = int(number[-1]) + 1 - len(entries)
    return Beat(period, np.rint(np.maximum(late, 0)).astype(np.int64), missed)


def _line_below(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Slope and height at 0 of the line with no point below and the least sum of distances.

    It is the edge of the lower convex hull over the mean of `x`.
    """
    hull: list[tuple[float, float]] = []
    for point in zip(x.tolist(), y.tolist(), strict=True):
        while len(hull) > 1 and _turn(hull[-2], hull[-1], point) <= 0:
            hull.pop()
        hull.append(point)
    mean = float(x.mean())
    right = next(k for k in range(1, len(hull)) if hull[k][0] >= mean)
    (x1, y1), (x2, y2) = hull[right - 1], hull[right]
    slope = (y2 - y1) / (x2 - x1)
    return slope, y1 - slope * x1


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Above 0 where the way from a over b to c turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
