"""Which functions interrupts enter by: those that the name file marks (``^``), and those that look
so of the functions of which it says nothing.

The events do not say. An interrupt comes on whatever runs, the idle loop too: its function is seen
with nothing below it, in the system context where there is one, and inside calls of at least two
other functions. A function that the idle loop calls is seen so as well, but its callers call it
every time, and what is interrupted is so now and then: of the functions that it was seen in, and
that ran often enough to tell, most must have it in less than half of their calls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.paths import CONTEXT
from kprof.analysis.replay.codes import LEAVE, LOST, ORPHAN
from kprof.analysis.replay.columns import Rows
from kprof.analysis.stream import Stream
from kprof.names import Modifier, NameEntry

Column = NDArray[np.int64]
_OFTEN = 8
_LEAST_BELOW = 2


def marked_interrupts(functions: tuple[NameEntry, ...]) -> list[int]:
    """The functions that the name file marks as interrupts."""
    return [i for i, entry in enumerate(functions) if entry.modifier is Modifier.INTERRUPT]


class InterruptSigns:
    """What the rows of a stream say of it; memory grows with the number of call paths."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._count = np.zeros(max(1, len(stream.functions)), np.int64)
        self._system = False
        self._seen = np.zeros(1024, np.int64)  # by path: calls whose entry was seen
        self._callers = np.zeros(1024, np.int64)  # by path: calls that made one of them
        self._last = np.full(1024, -1, np.int64)  # by path: the last call that made one

    def add(self, rows: Rows) -> None:
        """Look at the next rows."""
        ended = rows.select((rows.kind == LEAVE) & (rows.flags & LOST == 0))
        if not len(ended):
            return
        self._count += np.bincount(ended.fn, minlength=len(self._count))
        self._system = self._system or bool((ended.context == 0).any())
        ended = ended.select(ended.flags & ORPHAN == 0)
        if not len(ended):
            return
        path = ended.path
        self._grow(int(path.max(initial=0)) + 1)
        np.add.at(self._seen, path, 1)
        # The calls of one path stand in one context: those of one caller follow each other.
        order = np.argsort(path, kind="stable")
        path, caller = path[order], ended.parent[order]
        first = np.flatnonzero(np.diff(path, prepend=-1))
        new = np.diff(caller, prepend=-1) != 0
        new[first] = caller[first] != self._last[path[first]]
        np.add.at(self._callers, path[new], 1)
        last = np.append(first[1:], len(path)) - 1
        self._last[path[last]] = caller[last]

    def _grow(self, paths: int) -> None:
        if paths > len(self._seen):
            more = 2 * paths - len(self._seen)
            self._seen = np.append(self._seen, np.zeros(more, np.int64))
            self._callers = np.append(self._callers, np.zeros(more, np.int64))
            self._last = np.append(self._last, np.full(more, -1, np.int64))

    def found(self) -> list[int]:
        """The functions, by number; when all rows have been seen."""
        functions = self._stream.functions
        codes, parents = self._stream.paths
        self._grow(len(codes))
        code, below = codes[1:], codes[parents[1:]]
        seen, callers = self._seen[1 : len(codes)], self._callers[1 : len(codes)]
        real = (code < CONTEXT) & (seen > 0)
        code, below, callers = code[real], below[real], callers[real]
        lowest = (below == CONTEXT) | (below > CONTEXT) & (not self._system)
        found = marked_interrupts(functions)
        for function in np.unique(code[lowest]).tolist():
            if functions[function].modifier is not Modifier.FUNCTION:
                continue
            mine = (code == function) & (below < CONTEXT)
            others, number = np.unique(below[mine], return_inverse=True)
            if len(others) < _LEAST_BELOW:
                continue
            with_it = np.bincount(number, callers[mine], len(others))
            telling = self._count[others] >= _OFTEN
            rare = with_it[telling] * 2 < self._count[others[telling]]
            if rare.sum() * 5 >= len(rare) * 4:
                found.append(function)
        return sorted(found)
