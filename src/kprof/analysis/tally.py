"""Statistics of every function, from the rows of the replay: exact, and mergeable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.machine import Rows
from kprof.analysis.states import INNER, OPEN, ORPHAN, UNWOUND

_MOST = np.iinfo(np.int64).max


class Tally:
    """Counts, sums and extremes of each function; one column each, shape (functions,) int64.

    Attributes
    ----------
    calls
        Calls that began in the capture.
    complete
        Those of them that also ended in it; the extremes are of these.
    net, elapsed, wall
        Sums over all calls, in ticks. `elapsed` and `wall` count the outermost call only where a
        function is inside itself; of an orphan exit they count its net time.
    complete_net
        Sum of the net time of the complete calls.
    net_min, net_max
        Extremes of the net time of the complete calls.
    orphans, opens, unwound
        Numbers of orphan exits, open calls and unwound calls.
    """

    def __init__(self, functions: int) -> None:
        self.calls = np.zeros(functions, np.int64)
        self.complete = np.zeros(functions, np.int64)
        self.net = np.zeros(functions, np.int64)
        self.elapsed = np.zeros(functions, np.int64)
        self.wall = np.zeros(functions, np.int64)
        self.complete_net = np.zeros(functions, np.int64)
        self.net_min = np.full(functions, _MOST, np.int64)
        self.net_max = np.zeros(functions, np.int64)
        self.orphans = np.zeros(functions, np.int64)
        self.opens = np.zeros(functions, np.int64)
        self.unwound = np.zeros(functions, np.int64)

    def add(self, rows: Rows) -> None:
        """Count these rows."""
        if not len(rows.fn):
            return
        fn, flags = rows.fn, rows.flags
        elapsed, wall = rows.elapsed, rows.elapsed + rows.away
        partial = (flags & (OPEN | ORPHAN)) != 0
        if flags.any():
            orphan = (flags & ORPHAN) != 0
            outer = (flags & INNER) == 0
            elapsed = np.where(orphan, rows.net, np.where(outer, elapsed, 0))
            wall = np.where(orphan, rows.net, np.where(outer, wall, 0))
            size = len(self.calls)
            self.orphans += np.bincount(fn[orphan], minlength=size)
            self.opens += np.bincount(fn[(flags & OPEN) != 0], minlength=size)
            self.unwound += np.bincount(fn[(flags & UNWOUND) != 0], minlength=size)
        groups = _Groups(fn)
        which = groups.which
        self.net[which] += groups.sum(rows.net)
        self.elapsed[which] += groups.sum(elapsed)
        self.wall[which] += groups.sum(wall)
        self.calls[which] += groups.counts
        if partial.any():
            self.calls -= np.bincount(fn[(flags & ORPHAN) != 0], minlength=len(self.calls))
            fn = fn[~partial]
            net = rows.net[~partial]
            if not len(fn):
                return
            groups = _Groups(fn)
            which = groups.which
        else:
            net = rows.net
        self.complete[which] += groups.counts
        self.complete_net[which] += groups.sum(net)
        self.net_min[which] = np.minimum(self.net_min[which], groups.min(net))
        self.net_max[which] = np.maximum(self.net_max[which], groups.max(net))


class _Groups:
    """Rows grouped by function."""

    def __init__(self, fn: NDArray[np.int64]) -> None:
        self._order = np.argsort(fn.astype(np.uint16), kind="stable")
        ordered = fn[self._order]
        starts = np.flatnonzero(np.diff(ordered, prepend=np.int64(-1)))
        self._starts = starts
        self.which = ordered[starts]
        self.counts = np.diff(starts, append=np.int64(len(fn)))

    def sum(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        result: NDArray[np.int64] = np.add.reduceat(values[self._order], self._starts)
        return result

    def min(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        result: NDArray[np.int64] = np.minimum.reduceat(values[self._order], self._starts)
        return result

    def max(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        result: NDArray[np.int64] = np.maximum.reduceat(values[self._order], self._starts)
        return result
