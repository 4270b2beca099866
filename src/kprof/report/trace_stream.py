"""The trace of a stream, in the memory of a few blocks of events.

See `kprof.report.trace` for the form, and `kprof.analysis.ordered` for how the figures of a call
come to the line of its entry.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.ordered import Ordered, Part
from kprof.analysis.replay.codes import LOST, MARK_INLINE, OPEN, ORPHAN, RESUMED, UNWOUND
from kprof.analysis.stream import Stream
from kprof.report.trace_text import (
    DEPTH,
    FIELDS,
    FIRST,
    NAME,
    SHAPE,
    TIME,
    TOTAL,
    Table,
    Writer,
    entry_shape,
    exit_shape,
    mark_shape,
)

_CLOSES = RESUMED | ORPHAN | UNWOUND
_LAST = (1 << 31) - 1  # ranks of the lines at one event are below
_EVENT = FIELDS  # a row of waiting exits, below the fields

Mask = NDArray[np.bool_]


def trace_text(
    stream: Stream, ordered: Ordered | None = None, span: tuple[int, int] | None = None
) -> Iterator[str]:
    """The lines of the trace, each with its line feed, in large pieces.

    Parameters
    ----------
    ordered
        The stream with a filter at work; None: all of it.
    span
        The first and last event that are shown; None: all.
    """
    writer = Writer(stream.functions, stream.inlines, stream.info.clock_hz, fast=stream.compiled)
    for table in trace_tables(ordered or Ordered(stream), span):
        text = writer.text(table)
        if text:
            yield text


def trace_tables(ordered: Ordered, span: tuple[int, int] | None = None) -> Iterator[Table]:
    """The lines of the trace in tables, see `kprof.report.trace_text`."""
    lines = Lines(span)
    for part in ordered:
        yield lines.of(part, part.keep, ordered.kept_marks(part))


class Lines:
    """Makes the lines of parts, one after another.

    Parameters
    ----------
    span
        The first and last event that are shown; None: all.
    margin
        The depth that stands at the left; no call that is shown is less deep.
    """

    def __init__(self, span: tuple[int, int] | None = None, margin: int = 0) -> None:
        self._span, self._margin = span, margin
        self._exits = np.empty((FIELDS + 1, 0), np.int64)  # lines of exits in later parts
        self._switched = 0  # the time of the last switch

    def of(self, part: Part, keep: Mask, kept: Mask) -> Table:
        """The lines of a part, with these of its calls and of its marks."""
        marks = part.marks
        switch = marks.kind != MARK_INLINE
        events, times = marks.leave[switch], marks.time[switch]
        entered, entries = self._entries(part, keep)
        exits = self._exits_in(part, keep)
        begun = np.concatenate([[self._switched], times])
        self._switched = int(begun[-1])
        exits[TOTAL] = exits[TIME] - begun[np.searchsorted(events, exits[_EVENT], "right")]
        marks = marks.select(kept)
        marked = np.zeros((FIELDS, len(marks)), np.int64)
        marked[SHAPE], marked[TIME] = mark_shape(marks.kind), marks.time
        marked[DEPTH], marked[NAME], marked[FIRST] = marks.depth, marks.fn, marks.elapsed
        # At one event: first the switch, then exits from the deepest up, then the entry.
        event = np.concatenate([marks.leave, exits[_EVENT], entered])
        rank = np.zeros(len(event), np.int64)
        left = len(marks) + exits.shape[1]
        rank[len(marks) : left] = _LAST - 1 - np.minimum(exits[DEPTH], _LAST - 2)
        rank[left:] = _LAST
        order = np.argsort(event << 31 | rank, kind="stable")
        if self._span is not None:
            first, last = self._span
            order = order[(event[order] >= first) & (event[order] <= last)]
        table = np.concatenate([marked, exits[:FIELDS], entries], axis=1)[:, order]
        table[DEPTH] -= self._margin
        return table

    def _entries(self, part: Part, keep: Mask) -> tuple[NDArray[np.int64], Table]:
        """The events of the entries, and their lines."""
        shown = keep & ~part.hidden & (part.calls.flags & (ORPHAN | LOST) == 0)
        calls = part.calls.select(shown)
        closing = part.holds[shown] | (calls.flags & _CLOSES != 0)
        table = np.empty((FIELDS, len(calls)), np.int64)
        table[SHAPE], table[TIME] = entry_shape(calls.flags, closing), part.entry[shown]
        table[DEPTH], table[NAME] = calls.depth, calls.fn
        table[FIRST], table[TOTAL] = calls.net, calls.elapsed
        return calls.entry, table

    def _exits_in(self, part: Part, keep: Mask) -> Table:
        """The lines of exits in the part, and below each its event; the others wait."""
        flags = part.calls.flags
        closing = part.holds | (flags & _CLOSES != 0)
        calls = part.calls.select(keep & ~part.hidden & closing & (flags & (OPEN | LOST) == 0))
        table = np.zeros((FIELDS + 1, len(calls)), np.int64)
        table[SHAPE], table[TIME], table[_EVENT] = exit_shape(calls.flags), calls.time, calls.leave
        table[DEPTH], table[NAME], table[FIRST] = calls.depth, calls.fn, calls.part
        table = np.concatenate([self._exits, table], axis=1)
        now = table[_EVENT] < part.stop
        self._exits = table[:, ~now]
        return table[:, now]
