"""Counts, sums and extremes of every function, from the rows of the replay: exact, mergeable."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay.codes import (
    BEGUN,
    INNER,
    NARROW,
    OPEN,
    ORPHAN,
    R_AWAY,
    R_ELAPSED,
    R_FLAGS,
    R_FN,
    R_NET,
    STRAY,
    UNWOUND,
)
from kprof.analysis.replay.columns import Column, Ints, Rows

NEVER = np.iinfo(np.int64).max  # the least of nothing

COMPLETE, COMPLETE_NET, ELAPSED, AWAY, LEAST, MOST, PARTIAL_NET, ORPHANS, OPENS, UNWINDS = range(10)
COLUMNS = 10


class Tally:
    """A row of figures for each function.

    Attributes
    ----------
    table
        Shape (functions, 10) int64, ticks and counts:

        - COMPLETE: calls that began and ended in the capture; COMPLETE_NET, LEAST, MOST: sum and
          extremes of their net times;
        - ELAPSED, AWAY: sums over all calls of the time on the processor and switched out. They
          count the outermost call only where a function is inside itself; of an orphan exit they
          count its net time;
        - PARTIAL_NET: net time of the others, which are ORPHANS (orphan exits) and OPENS (open
          calls);
        - UNWINDS: unwound calls.
    """

    def __init__(self, functions: int) -> None:
        self.table = np.zeros((functions, COLUMNS), np.int64)
        self.table[:, LEAST] = NEVER

    @property
    def calls(self) -> NDArray[np.int64]:
        """Calls that began in the capture, of each function."""
        result: NDArray[np.int64] = self.table[:, COMPLETE] + self.table[:, OPENS]
        return result

    @property
    def net(self) -> NDArray[np.int64]:
        """Net time of each function."""
        result: NDArray[np.int64] = self.table[:, COMPLETE_NET] + self.table[:, PARTIAL_NET]
        return result

    def add(self, rows: Rows) -> None:
        """Count these rows: of calls that ended, all of them."""
        if not len(rows):
            return
        fn, flags, net, elapsed, away = rows.fn, rows.flags, rows.net, rows.elapsed, rows.away
        table = self.table
        if flags.any():
            partial = (flags & (OPEN | ORPHAN)) != 0
            orphan = (flags & ORPHAN) != 0
            outer = (flags & INNER) == 0
            elapsed = np.where(orphan, net, np.where(outer, elapsed, 0))
            away = np.where(outer & ~orphan, away, 0)
            for column, bit in ((ORPHANS, ORPHAN), (OPENS, OPEN), (UNWINDS, UNWOUND)):
                table[:, column] += np.bincount(fn[(flags & bit) != 0], minlength=len(table))
        else:
            partial = np.zeros(0, np.bool_)
        groups = Groups(fn)
        which = groups.which
        table[which, ELAPSED] += groups.sum(elapsed)
        if away.any():
            table[which, AWAY] += groups.sum(away)
        if partial.any():
            table[which, PARTIAL_NET] += groups.sum(np.where(partial, net, 0))
            fn, net = fn[~partial], net[~partial]
            if not len(fn):
                return
            groups = Groups(fn)
            which = groups.which
        table[which, COMPLETE] += groups.counts
        table[which, COMPLETE_NET] += groups.sum(net)
        table[which, LEAST] = np.minimum(table[which, LEAST], groups.min(net))
        table[which, MOST] = np.maximum(table[which, MOST], groups.max(net))


class Groups:
    """Values grouped by function.

    Attributes
    ----------
    which
        The functions that occur, in ascending order.
    counts
        How often each does.
    starts
        Where those of each begin, function by function.
    """

    def __init__(self, fn: NDArray[np.int64]) -> None:
        self._order = np.argsort(fn.astype(np.uint16), kind="stable")
        ordered = fn[self._order]
        self.starts = np.flatnonzero(np.diff(ordered, prepend=np.int64(-1)))
        self.which = ordered[self.starts]
        self.counts = np.diff(self.starts, append=np.int64(len(fn)))

    def sum(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sum of the values of each function of `which`."""
        result: NDArray[np.int64] = np.add.reduceat(values[self._order], self.starts)
        return result

    def ordered(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The values function by function, as `starts` divides them."""
        return values[self._order]

    def count(self, which: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many of each there are."""
        return self.sum(which.astype(np.int64))

    def min(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The least value of each."""
        result: NDArray[np.int64] = np.minimum.reduceat(values[self._order], self.starts)
        return result

    def max(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The largest value of each."""
        result: NDArray[np.int64] = np.maximum.reduceat(values[self._order], self.starts)
        return result


def tally_rows(rows: Ints, start: int, made: int, table: NDArray[np.int64]) -> None:
    """`Tally.add` for compiled code: of the narrow rows in integers `start` to `made`.

    Their AWAY and FLAGS are zero afterwards, as the replay wants them.
    """
    for m in range(start, made, NARROW):
        fn = rows[m + R_FN]
        net = rows[m + R_NET]
        flags = rows[m + R_FLAGS]
        if flags & (ORPHAN | OPEN | UNWOUND | INNER) == 0:
            table[fn, COMPLETE] += 1
            table[fn, COMPLETE_NET] += net
            table[fn, ELAPSED] += rows[m + R_ELAPSED]
            table[fn, AWAY] += rows[m + R_AWAY]
            if net < table[fn, LEAST]:
                table[fn, LEAST] = net
            if net > table[fn, MOST]:
                table[fn, MOST] = net
        elif flags & ORPHAN:
            table[fn, ORPHANS] += 1
            table[fn, PARTIAL_NET] += net
            table[fn, ELAPSED] += net
        else:
            if flags & INNER == 0:
                table[fn, ELAPSED] += rows[m + R_ELAPSED]
                table[fn, AWAY] += rows[m + R_AWAY]
            if flags & OPEN:
                table[fn, OPENS] += 1
                table[fn, PARTIAL_NET] += net
            else:
                table[fn, COMPLETE] += 1
                table[fn, COMPLETE_NET] += net
                table[fn, LEAST] = min(table[fn, LEAST], net)
                table[fn, MOST] = max(table[fn, MOST], net)
            if flags & UNWOUND:
                table[fn, UNWINDS] += 1
        if flags:
            rows[m + R_FLAGS] = 0
            rows[m + R_AWAY] = 0


class Found(NamedTuple):
    """What a piece leaves to be joined; integers of compiled code.

    Attributes
    ----------
    state
        Shape (2,): how many exits; and is it to be replayed once more?
    exits
        Shape (n, 3): the function, the time, and the time in calls from further left since the exit
        before.
    outermost
        Shape (n + 1, functions): elapsed time of the piece's outermost calls up to each exit, and
        to the end.
    entered
        Shape (n + 1, functions): functions entered directly above what is further left, before each
        exit, and before the end.
    """

    state: Column
    exits: Column
    outermost: Column
    entered: NDArray[np.uint8]


def tally_piece(rows: Ints, made: int, table: Any, found: Any) -> None:
    """`tally_rows` for a piece: exits of calls from further left are kept in their place."""
    start = 0
    for m in range(0, made, NARROW):
        flags = rows[m + R_FLAGS]
        if flags & (ORPHAN | STRAY | BEGUN):
            tally_rows(rows, start, m, table)
            start = m + NARROW
            number = found.state[0]
            fn = rows[m + R_FN]
            if flags & BEGUN:
                found.entered[number, fn] = 1
            elif flags & STRAY or number == len(found.exits):
                found.state[1] = 1
            else:
                found.exits[number, 0] = fn
                found.exits[number, 1] = rows[m + R_ELAPSED]
                found.exits[number, 2] = rows[m + R_NET]
                for k in range(len(table)):
                    found.outermost[number, k] = table[k, ELAPSED]
                found.state[0] = number + 1
            rows[m + R_FLAGS] = 0
            rows[m + R_AWAY] = 0
    tally_rows(rows, start, made, table)
