"""The calls of a stream in the order of their entries, each with all its figures.

A call's figures are known when it ends. So a window of `KEPT` blocks is held back: most calls end
in it. The *long* ones, which last longer, are found by another replay of the capture; it runs ahead
only as far as the next one that is needed. Memory is that of the window and of the long calls.

A `Part` is what begins in one block of events: its calls by their numbers, and its marks. A filter
decides which of them stay (`Part.keep`, `Ordered.kept_marks`); the others are there too, for those
that stay stand on them. `Carried` hands values of open calls from part to part.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.filters import Filter
from kprof.analysis.replay.codes import LOST, MARK_INLINE, OPEN, R_LEAVE
from kprof.analysis.replay.columns import Rows
from kprof.analysis.selection import Selection
from kprof.analysis.stream import Stream
from kprof.analysis.window import HIDDEN, HOLDS, KEEP, KNOWN, Ahead, Window

KEPT = 2

Column = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Part(NamedTuple):
    """What begins in a block of events.

    Attributes
    ----------
    first
        The number of its first call.
    stop
        The first event after it.
    calls
        The LEAVE rows of its calls in the order of their entries. Those with LOST are no calls, and
        only stand between others. R_LEAVE of an open call is the number of events.
    keep
        The calls that the filter keeps.
    hidden
        The calls of switch functions that are the switch itself.
    holds
        The calls with others, or inline triggers, inside; what is hidden does not count.
    marks
        Inline triggers and context switches.
    early
        Orphans of the next part that stay, whose place in the stack begins in this one: they are
        seen, and numbered, one event later.
    """

    first: int
    stop: int
    calls: Rows
    keep: Mask
    hidden: Mask
    holds: Mask
    marks: Rows
    early: Rows

    @property
    def entry(self) -> Column:
        """The time of each entry."""
        calls = self.calls
        result: Column = calls.time - calls.elapsed - calls.away
        return result


class Ordered:
    """One pass over a stream in parts.

    Parameters
    ----------
    chosen
        A filter; None: everything stays.
    also
        What must hold of a call besides, by its LEAVE row.
    kept
        Blocks in the window.

    Attributes
    ----------
    selection
        The filter at work; what it has left out is known at the end.

    Raises
    ------
    UsageError
        The filter names what is not there.
    """

    def __init__(
        self,
        stream: Stream,
        chosen: Filter | None = None,
        also: Callable[[Rows], Mask] | None = None,
        kept: int = KEPT,
    ) -> None:
        chosen = chosen or Filter()
        if chosen.tasks:
            chosen.check_tasks(contexts_of(stream))
        self.selection = Selection(stream, chosen)
        self._stream = stream
        self._filters = also is not None or bool(chosen)
        ahead = copy.copy(stream)
        again = Window(ahead, Selection(ahead, chosen), also, whole_rows=False)
        self._ahead = Ahead(again, kept)
        self._window = Window(stream, self.selection, also)
        self._kept = kept
        self._depths = Carried()
        self._lost: list[tuple[int, int]] = []
        self._marks = KeptMarks(self.whole)

    def __iter__(self) -> Iterator[Part]:
        part: Part | None = None
        for following in self._parts():
            if part is not None:
                early = following.keep & (following.calls.entry < part.stop)
                yield part._replace(early=following.calls.select(early))
            part = following
        if part is not None:
            yield part

    @property
    def filters(self) -> bool:
        """Some calls may not stay."""
        return self._filters

    def whole(self, context: int) -> bool:
        """Do all calls of a context stay? Of one without calls, where all calls do."""
        return not self._filters or self._ahead.whole(context)

    def kept_marks(self, part: Part) -> Mask:
        """Which marks stay, see `KeptMarks`; ask for each part once, in order."""
        if not self._filters:
            return np.ones(len(part.marks), np.bool_)
        return self._marks.of(part, part.keep, part.early)

    def _parts(self) -> Iterator[Part]:
        for _ in self._window.fill():
            while len(self._window) > self._kept:
                yield self._part()
        while len(self._window):
            yield self._part()

    def _part(self) -> Part:
        first, stop, marks, table, info = self._window.take()
        missing = np.flatnonzero(info & KNOWN == 0)
        if len(missing):
            table[missing], info[missing] = self._ahead.find(missing + first)
        calls = Rows(table)
        table[calls.flags & OPEN != 0, R_LEAVE] = self._stream.events
        keep, hidden, holds = (info & bit != 0 for bit in (KEEP, HIDDEN, HOLDS))
        part = Part(
            first, stop, calls, keep, hidden, holds, marks, calls.select(np.zeros(0, np.int64))
        )
        self._mend_depths(part)
        return part

    def _mend_depths(self, part: Part) -> None:
        """Count again the depth of calls that stood on an orphan which did not come."""
        calls, depth = part.calls, part.calls.depth
        lost = np.flatnonzero(calls.flags & LOST)
        for row in lost.tolist():
            self._lost.append((int(calls.context[row]), int(calls.leave[row])))
        if self._lost:
            on = np.zeros(len(calls), np.bool_)
            for context, end in self._lost:
                on |= (calls.context == context) & (calls.entry <= end)
            for row in np.flatnonzero(on).tolist():
                parent = int(calls.parent[row])
                below = self._depths.value(part, depth, parent)
                depth[row] = below + 1 if row not in lost else below
            self._lost = [one for one in self._lost if one[1] >= part.stop]
        self._depths.carry(part, depth)


class KeptMarks:
    """Which marks stay: inline triggers in a call that stays, switches where one is open.

    What is outside all calls stays where every call of its context does.

    Parameters
    ----------
    whole
        Do all calls of a context stay?
    """

    def __init__(self, whole: Callable[[int], bool]) -> None:
        self._whole = whole
        self._open = Carried()

    def of(self, part: Part, keep: Mask, early: Rows | None = None) -> Mask:
        """Those of the next part, of which these calls stay; `early` as in `Part`."""
        marks = part.marks
        stays = np.where(part.calls.flags & LOST != 0, -1, keep)
        around = self._open.of(part, stays, marks.parent)
        switch = marks.kind != MARK_INLINE
        kept = around > 0
        if switch.any():
            begin, end, context = self._open.spans(part, stays, early)
            for one in np.unique(marks.context[switch]).tolist():
                here, mine = switch & (marks.context == one), context == one
                kept[here] = covered(begin[mine], end[mine], marks.leave[here], "left")
        self._open.carry(part, stays)
        for row in np.flatnonzero(~kept & (around < 0)).tolist():
            kept[row] = self._whole(int(marks.context[row]))
        return kept


class Carried:
    """A value of each call that is still open where a part ends.

    Where mixed up tasks exchange their stacks (see `kprof.analysis.replay`), a call may come to
    stand on one that began after it; in a later part, it has no value here.
    """

    def __init__(self) -> None:
        # Call, value, entry, exit, context; by call.
        self._held = np.empty((5, 0), np.int64)

    def of(self, part: Part, values: Column, calls: Column) -> Column:
        """The values of these calls, of the part (`values` are of all its calls) or before; -1."""
        result = np.full(len(calls), -1, np.int64)
        here = (calls >= part.first) & (calls < part.first + len(values))
        result[here] = values[calls[here] - part.first]
        if not here.all() and self._held.shape[1]:
            place = np.searchsorted(self._held[0], calls)
            place[place == self._held.shape[1]] = 0
            found = ~here & (self._held[0, place] == calls)
            result[found] = self._held[1, place[found]]
        return result

    def value(self, part: Part, values: Column, call: int) -> int:
        """`of` one call."""
        return int(self.of(part, values, np.array([call]))[0])

    def nearest(self, part: Part, own: Column) -> Column:
        """Of each call of the part: its own value, or where that is -1 the nearest around it."""
        result: Column = own.copy()
        rows = np.flatnonzero(own < 0)
        above = part.calls.parent[rows]
        while len(rows):
            here = (above >= part.first) & (above < part.first + len(own))
            inside = np.where(here, above - part.first, 0)
            found = np.where(here, own[inside], self.of(part, own, np.where(here, -1, above)))
            result[rows] = found
            going = here & (found < 0)
            rows, above = rows[going], part.calls.parent[inside[going]]
        return result

    def spans(
        self, part: Part, values: Column, early: Rows | None
    ) -> tuple[Column, Column, Column]:
        """First and last event and context of the calls with a value above 0, and of `early`."""
        spans = [self._held[2:, self._held[1] > 0], _span(part.calls.select(values > 0))]
        if early is not None:
            spans.append(_span(early))
        begin, end, context = np.concatenate(spans, axis=1)
        return begin, end, context

    def carry(self, part: Part, values: Column) -> None:
        """Keep what the next part needs."""
        calls = part.calls
        still = np.flatnonzero(calls.leave >= part.stop)
        table = calls.table[still]
        rows = Rows(table)
        new = np.concatenate([[still + part.first, values[still]], _span(rows)])
        old = self._held[:, self._held[3] >= part.stop]
        self._held = np.concatenate([old, new], axis=1)


def _span(calls: Rows) -> Column:
    """First and last event and context of calls, a row each."""
    result: Column = np.stack([calls.entry, calls.leave, calls.context])
    return result


def covered(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    points: NDArray[np.int64],
    side: Literal["left", "right"],
) -> Mask:
    """Which points lie in one of the spans; at its end a span still is there by ``left``."""
    begun = np.searchsorted(np.sort(begin), points, "right")
    result: Mask = begun > np.searchsorted(np.sort(end), points, side)
    return result


def contexts_of(stream: Stream) -> int:
    """How many tasks can be told apart in a stream; reads it."""
    again = copy.copy(stream)
    again.tally()
    return again.contexts
