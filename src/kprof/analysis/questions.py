"""Questions about single calls: the worst of a function, what was slow, what was around a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.calls import Timeline
from kprof.analysis.filters import Mask, below, kept_marks
from kprof.analysis.replay.codes import MARK_INLINE, OPEN, ORPHAN
from kprof.analysis.stream import Stream
from kprof.errors import UsageError


def function_number(timeline: Timeline | Stream, name: str) -> int:
    """The number of a function that ran.

    Raises
    ------
    UsageError
        The name file has none of this name; the message has the nearest names.
    """
    names = [entry.name for entry in timeline.functions]
    if name in names:
        return names.index(name)
    raise UsageError(f"{name}: no function of the name file{near(name, names)}")


def near(name: str, names: list[str]) -> str:
    """``; do you mean ...`` for a mistyped name, or nothing."""
    import difflib

    found = difflib.get_close_matches(name, names, 3)
    return f"; do you mean {' or '.join(found)}?" if found else ""


def calls_of(timeline: Timeline, function: int, keep: Mask | None = None) -> NDArray[np.int64]:
    """The rows of the complete calls of a function; with `keep` only these."""
    calls = timeline.calls
    mine = (calls.function == function) & ((calls.flags & (OPEN | ORPHAN)) == 0)
    return np.flatnonzero(mine if keep is None else mine & keep)


def worst_calls(
    timeline: Timeline, function: int, many: int, keep: Mask | None = None, by: str = "total"
) -> NDArray[np.int64]:
    """The rows of the complete calls with the most elapsed time, or `by` net, the worst first."""
    calls, rows = timeline.calls, calls_of(timeline, function, keep)
    order = np.argsort(-(calls.net if by == "net" else calls.elapsed)[rows], kind="stable")
    return rows[order[:many]]


def inside_of(timeline: Timeline, row: int) -> Mask:
    """A call and all that ran inside it."""
    chosen = np.zeros(len(timeline.calls), np.bool_)
    chosen[row] = True
    return below(timeline.calls, chosen)


def around(timeline: Timeline, time: int, events: int) -> tuple[int, int]:
    """The first and last event of the `events` before and after a time.

    Raises
    ------
    UsageError
        The time is after the last event.
    """
    if time > timeline.ledger.elapsed:
        end = round(timeline.ledger.elapsed / timeline.info.clock_hz * 1_000_000)
        raise UsageError(f"--around: a time after the run's last event; expected at most {end}us")
    place = int(np.searchsorted(timeline.times, time))
    return max(0, place - events), min(timeline.events - 1, place + events - 1)


def intervals(
    timeline: Timeline, first: str, second: str, keep: Mask | None = None
) -> tuple[NDArray[np.int64], int]:
    """Times from each inline trigger `first` to the next `second`, in ticks; how many had none.

    A `first` that is followed by another `first` before a `second` counts as having none. With
    `keep` only the triggers in these calls count.

    Raises
    ------
    UsageError
        No inline trigger has that name.
    """
    names = [entry.name for entry in timeline.inlines]
    for name in (first, second):
        if name not in names:
            raise UsageError(f"{name}: no inline trigger of the name file{near(name, names)}")
    marks = timeline.marks
    inline = marks.kind == MARK_INLINE
    if keep is not None:
        inline &= kept_marks(timeline, keep)
    name, time = marks.name[inline], marks.time[inline]
    start, end = names.index(first), names.index(second)
    begins = np.flatnonzero(name == start)
    ends = np.flatnonzero(name == end)
    place = np.searchsorted(ends, begins, "right")
    has_end = place < len(ends)
    stop = (
        np.where(has_end, ends[np.minimum(place, max(0, len(ends) - 1))], -1)
        if len(ends)
        else begins * 0 - 1
    )
    following = np.append(begins[1:], np.iinfo(np.int64).max)
    paired = has_end & ((start == end) | (stop < following))
    return time[stop[paired]] - time[begins[paired]], int(len(begins) - paired.sum())
