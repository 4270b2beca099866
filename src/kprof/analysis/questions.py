"""Questions about single calls: the worst of a function, what was around a time, what lies between.

Each is a fold of the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.filters import Filter
from kprof.analysis.measures import Collected, Measure
from kprof.analysis.ordered import Ordered
from kprof.analysis.replay.codes import LOST, MARK_INLINE, OPEN, ORPHAN, WIDE
from kprof.analysis.replay.columns import Rows
from kprof.analysis.selection import Selection
from kprof.analysis.stream import Stream
from kprof.errors import UsageError

Column = NDArray[np.int64]
Mask = NDArray[np.bool_]


def function_number(stream: Stream, name: str) -> int:
    """The number of a function that ran.

    Raises
    ------
    UsageError
        The name file has none of this name; the message has the nearest names.
    """
    names = [entry.name for entry in stream.functions]
    if name in names:
        return names.index(name)
    raise UsageError(f"{name}: no function of the name file{near(name, names)}")


def near(name: str, names: list[str]) -> str:
    """``; do you mean ...`` for a mistyped name, or nothing."""
    import difflib

    found = difflib.get_close_matches(name, names, 3)
    return f"; do you mean {' or '.join(found)}?" if found else ""


class Foremost:
    """The complete calls of a function that have most of something; of equal ones the first.

    Parameters
    ----------
    value
        What they have most of, by their rows.
    many
        How many are wanted.
    """

    def __init__(self, function: int, value: Callable[[Rows], Column], many: int = 1) -> None:
        self._function, self._value, self._many = function, value, many
        self.rows = Rows(np.empty((0, WIDE), np.int64))

    def add(self, ended: Rows) -> None:
        """Calls that ended."""
        mine = (ended.fn == self._function) & (ended.flags & (OPEN | ORPHAN) == 0)
        if not mine.any():
            return
        fresh = ended.select(mine)
        if len(self.rows) == self._many:
            fresh = fresh.select(self._value(fresh) >= int(self._value(self.rows)[-1]))
        rows = Rows(np.concatenate([self.rows.table, fresh.table]))
        self.rows = rows.select(np.lexsort((rows.call, -self._value(rows)))[: self._many])


class WorstCalls:
    """The calls of a function of the most elapsed time, or `by` net, out of those that stay.

    Attributes
    ----------
    rows
        Their LEAVE rows, the worst first.
    selection
        The filter, and what it left out.
    """

    def __init__(
        self, stream: Stream, chosen: Filter | None, function: int, many: int, by: str = "total"
    ) -> None:
        self.selection = Selection(stream, chosen)
        worst = Foremost(function, lambda rows: rows.net if by == "net" else rows.elapsed, many)
        self._lowest: dict[int, int] = {}  # by context: calls with none around
        self._lost = False
        for rows in stream.rows():
            kept = self.selection.take(rows)
            worst.add(kept.ended.select(kept.keep))
            bottom = kept.ended.context[kept.ended.parent < 0]
            for context, count in zip(*np.unique(bottom, return_counts=True), strict=True):
                self._lowest[int(context)] = self._lowest.get(int(context), 0) + int(count)
            self._lost = self._lost or bool((rows.flags & LOST).any())
        self.selection.finish()
        self.rows = worst.rows

    def is_whole(self, row: int, context: int) -> bool:
        """Are all calls of a context among those that stay in this call?"""
        own = int(self.rows.context[row])
        if self.rows.parent[row] >= 0 or self._lost or not self.selection.keeps_all_of(own):
            return False
        lowest = self._lowest
        if context == own:
            return lowest[own] == 1
        return context not in lowest and sum(lowest.values()) == 1


def around(stream: Stream, time: int, events: int) -> tuple[int, int]:
    """The first and last event of the `events` before and after a time.

    Raises
    ------
    UsageError
        The time is after the last event.
    """
    before = 0
    latest = 0
    for times in stream.times():
        if len(times):
            latest = int(times[-1])
        if latest >= time and len(times):
            place = before + int(np.searchsorted(times, time))
            return max(0, place - events), min(stream.events - 1, place + events - 1)
        before += len(times)
    if time <= 0:
        return 0, -1
    end = round(latest / stream.info.clock_hz * 1_000_000)
    raise UsageError(f"--around: a time after the run's last event; expected at most {end}us")


def intervals(
    stream: Stream, chosen: Filter | None, first: str, second: str
) -> tuple[Measure, int, Selection]:
    """Times from each inline trigger `first` to the next `second`, in ticks; how many had none.

    A `first` that is followed by another `first` before a `second` counts as having none. With a
    filter only the triggers in calls that stay count; the third value is the filter at work.

    Raises
    ------
    UsageError
        No inline trigger has that name; the filter names what is not there.
    """
    names = [entry.name for entry in stream.inlines]
    for asked in (first, second):
        if asked not in names:
            raise UsageError(f"{asked}: no inline trigger of the name file{near(asked, names)}")
    start, end = names.index(first), names.index(second)
    measured, lonely = Collected(), 0
    waits: int | None = None  # the time of a `first` whose `second` has not come yet
    marks, selection = kept_marks(stream, chosen)
    for rows in marks:
        mine = (rows.kind == MARK_INLINE) & ((rows.fn == start) | (rows.fn == end))
        name, time = rows.fn[mine], rows.time[mine]
        if not len(name):
            continue
        if waits is not None:
            name, time = np.append(start, name), np.append(waits, time)
        begins = np.flatnonzero(name == start)
        following = begins + 1
        begins, following = begins[following < len(name)], following[following < len(name)]
        paired = name[following] == end
        measured.add(time[following[paired]] - time[begins[paired]])
        lonely += int(np.count_nonzero(~paired))
        waits = int(time[-1]) if name[-1] == start else None
    return measured.measure(), lonely + (waits is not None), selection


def kept_marks(stream: Stream, chosen: Filter | None) -> tuple[Iterator[Rows], Selection]:
    """Inline triggers and switches, those that stay, in order; and the filter at work."""
    if not chosen:
        return (rows.select(rows.kind >= MARK_INLINE) for rows in stream.rows()), Selection(stream)
    ordered = Ordered(stream, chosen)
    marks = (part.marks.select(ordered.kept_marks(part)) for part in ordered)
    return marks, ordered.selection
