"""The trace of a capture of any length, in the memory of a few blocks of events.

The line of a call's entry has its net and total time, which are known when it ends. So a window of
`KEPT` blocks is held back: of most calls the end is in it. The figures of a *long* call, which
lasts longer, come from another replay that keeps those of the long calls alone; it is made when the
first one is met.

Not known in time, and so not as `kprof.report.trace.trace_lines` has it: that an orphan which was
expected did not come, where its place began before the window; the lines above it stand one level
deeper.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay.codes import (
    ENTER,
    LEAVE,
    LOST,
    MARK_INLINE,
    OPEN,
    ORPHAN,
    RESUMED,
    UNWOUND,
)
from kprof.analysis.replay.columns import Rows
from kprof.analysis.stream import Stream
from kprof.report.trace_text import (
    DEPTH,
    FIELDS,
    FIRST,
    NAME,
    NOTHING,
    SHAPE,
    TIME,
    TOTAL,
    Table,
    Writer,
    entry_shape,
    exit_shape,
    mark_shape,
    switching,
)

KEPT = 2

# The figures of a call, a row each; STATE is its flags and these.
_NET, _ELAPSED, _DEPTH, _STATE = range(4)
_KNOWN = 1 << 8  # it has ended
_HIDDEN = 1 << 9  # shown as the switch
_HOLDS = 1 << 10  # calls or inline triggers inside
_CLOSES = _HOLDS | RESUMED | ORPHAN | UNWOUND


def trace_text(stream: Stream) -> Iterator[str]:
    """The lines of the trace, each with its line feed, in large pieces."""
    writer = Writer(stream.functions, stream.inlines, stream.info.clock_hz, fast=stream.compiled)
    for table in trace_tables(stream):
        text = writer.text(table)
        if text:
            yield text


def trace_tables(stream: Stream, kept: int = KEPT) -> Iterator[Table]:
    """The lines of the trace in tables, see `kprof.report.trace_text`."""
    long: LongCalls | None = None
    window = _Window(stream)
    for rows in stream.rows():
        window.add(rows)
        if len(window) <= kept:
            continue
        block, figures = window.take()
        if (figures[_STATE] & _KNOWN == 0).any():
            if long is None:
                long = long_calls(stream, kept)
            long.fill(figures, block.first)
        yield block.lines(figures)
    while len(window):
        block, figures = window.take()
        yield block.lines(figures)


class LongCalls(NamedTuple):
    """The calls that end after their entry has left the window.

    Attributes
    ----------
    call
        Their numbers in the order of entries, ascending.
    figures
        Shape (4, calls): net, elapsed, depth and state.
    """

    call: NDArray[np.int64]
    figures: Table

    def fill(self, figures: Table, first: int) -> None:
        """Complete the figures of the calls from `first` on."""
        unknown = np.flatnonzero(figures[_STATE] & _KNOWN == 0)
        figures[:, unknown] = self.figures[:, np.searchsorted(self.call, unknown + first)]


def long_calls(stream: Stream, kept: int) -> LongCalls:
    """Replay a capture for its long calls."""
    window = _Window(stream)
    calls, figures = [np.empty(0, np.int64)], [np.empty((4, 0), np.int64)]
    for rows in stream.rows():
        late = window.add(rows)
        calls.append(late.call)
        figures.append(late.figures)
        if len(window) > kept:
            window.take()
    call = np.concatenate(calls)
    order = np.argsort(call)
    return LongCalls(call[order], np.concatenate(figures, axis=1)[:, order])


class _Block(NamedTuple):
    """The lines of a block of rows, those of entries still without their figures.

    Attributes
    ----------
    first
        The number of the first call that is entered in it.
    enter
        Where the lines of the calls that are entered are.
    table
        All lines.
    """

    first: int
    enter: NDArray[np.int64]
    table: Table

    def lines(self, figures: Table) -> Table:
        """The table with the figures of the calls."""
        state = figures[_STATE]
        shown = state & (_HIDDEN | ORPHAN) == 0
        shape = np.where(shown, entry_shape(state, state & _CLOSES), NOTHING)
        self.table[SHAPE, self.enter] = shape
        self.table[DEPTH, self.enter] = figures[_DEPTH]
        self.table[FIRST, self.enter] = figures[_NET]
        self.table[TOTAL, self.enter] = figures[_ELAPSED]
        return self.table


class _Window:
    """The last blocks of a stream, and what is known of the calls that are entered in them."""

    def __init__(self, stream: Stream) -> None:
        self._blocks: deque[_Block] = deque()
        self._switching = switching(stream.functions)
        self._figures = np.empty((4, 0), np.int64)
        self._first = 0  # the first call that is entered in the window
        self._last = 0  # the first that is not entered yet
        self._open: dict[int, int] = {}  # calls from before the window, and their state
        self._switched = 0  # the time of the last switch

    def __len__(self) -> int:
        return len(self._blocks)

    def take(self) -> tuple[_Block, Table]:
        """The oldest block, and the figures of its calls as far as they are known."""
        block = self._blocks.popleft()
        count = len(block.enter)
        figures, self._figures = self._figures[:, :count], self._figures[:, count:]
        self._first += count
        for at in np.flatnonzero(figures[_STATE] & _KNOWN == 0).tolist():
            self._open[block.first + at] = int(figures[_STATE, at])
        return block, figures

    def add(self, rows: Rows) -> LongCalls:
        """The next rows; the calls from before the window that end in them."""
        kind, event = rows.kind.copy(), rows.leave.copy()
        enter, leave = np.flatnonzero(kind == ENTER), np.flatnonzero(kind == LEAVE)
        mark = np.flatnonzero(kind > LEAVE)
        switch = mark[kind[mark] != MARK_INLINE]
        self._enter(rows.fn[enter], np.isin(event[enter], event[switch]))
        ended = rows.select(leave)
        hidden = self._hidden(ended, np.isin(event[leave], event[switch]))
        inside = np.concatenate(
            [
                ended.parent[~hidden & (ended.flags & LOST == 0)],
                rows.parent[mark[kind[mark] == MARK_INLINE]],
            ]
        )
        self._hold(inside)
        state, late = self._leave(ended, hidden)
        table = np.zeros((FIELDS, len(rows)), np.int64)
        table[TIME], table[NAME], table[DEPTH] = rows.time, rows.fn, rows.depth
        shown = (state & (_HIDDEN | OPEN | LOST) == 0) & (state & _CLOSES != 0)
        table[SHAPE, leave] = np.where(shown, exit_shape(state), NOTHING)
        table[FIRST, leave] = ended.part
        table[TOTAL, leave] = table[TIME, leave] - self._slices(
            event[leave], event[switch], table[TIME, switch]
        )
        table[SHAPE, mark] = mark_shape(kind[mark])
        table[FIRST, mark] = rows.elapsed[mark]
        for lost in leave[ended.flags & LOST != 0].tolist():
            self._lower(rows, table, kind, lost)
        order = _order(event, kind, table[DEPTH], rows.call)
        if order is not None:
            table, kind = table[:, order], kind[order]
            enter = np.flatnonzero(kind == ENTER)
        self._blocks.append(_Block(self._last, enter, table))
        self._last += len(enter)
        return late

    def _enter(self, fn: NDArray[np.int64], at_switch: NDArray[np.bool_]) -> None:
        """More calls are entered."""
        figures = np.zeros((4, len(fn)), np.int64)
        figures[_STATE, self._switching[fn] & at_switch] = _HIDDEN
        self._figures = np.concatenate([self._figures, figures], axis=1)

    def _hidden(self, ended: Rows, at_switch: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of the calls that end are shown as a switch."""
        hidden = self._switching[ended.fn]
        for row in np.flatnonzero(hidden).tolist():
            call = int(ended.call[row])
            state = self._open.get(call, 0)
            if call >= self._first:
                state = int(self._figures[_STATE, call - self._first])
            hidden[row] = at_switch[row] or state & _HIDDEN or ended.flags[row] & ORPHAN
        return hidden

    def _hold(self, calls: NDArray[np.int64]) -> None:
        """Something is inside these calls; -1 is none."""
        self._figures[_STATE, calls[calls >= self._first] - self._first] |= _HOLDS
        for call in np.unique(calls[(calls >= 0) & (calls < self._first)]).tolist():
            if call in self._open:
                self._open[call] |= _HOLDS

    def _leave(self, ended: Rows, hidden: NDArray[np.bool_]) -> tuple[NDArray[np.int64], LongCalls]:
        """Calls end: the state of each, and those from before the window."""
        state = ended.flags | _KNOWN | np.where(hidden, _HIDDEN, 0)
        at = ended.call - self._first
        here = at >= 0
        state[here] |= self._figures[_STATE, at[here]]
        for row in np.flatnonzero(~here).tolist():
            state[row] |= self._open.pop(int(ended.call[row]))
        figures = np.stack([ended.net, ended.elapsed, ended.depth, state])
        self._figures[:, at[here]] = figures[:, here]
        return state, LongCalls(ended.call[~here], figures[:, ~here])

    def _slices(
        self, event: NDArray[np.int64], switches: NDArray[np.int64], times: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """When the slice began that each of the events is in."""
        begun = np.concatenate([[self._switched], times])
        self._switched = int(begun[-1])
        return begun[np.searchsorted(switches, event, "right")]

    def _lower(self, rows: Rows, table: Table, kind: NDArray[np.int64], lost: int) -> None:
        """Take an orphan that did not come out from under what stood above it."""
        call = int(rows.call[lost])
        start = 0
        found = np.flatnonzero((rows.call[:lost] == call) & (kind[:lost] == ENTER))
        if len(found):
            start = int(found[0]) + 1
        else:
            for block in self._blocks:
                if call < block.first:
                    block.table[DEPTH] -= 1
                elif call < block.first + len(block.enter):
                    block.table[DEPTH, block.enter[call - block.first] + 1 :] -= 1
        table[DEPTH, start:lost] -= 1
        above = np.arange(max(call + 1, self._first), self._first + self._figures.shape[1])
        over = rows.call[lost:][kind[lost:] == LEAVE]  # these end later, at their own depth
        above = np.setdiff1d(above, over)
        self._figures[_DEPTH, above - self._first] -= 1


def _order(
    event: NDArray[np.int64],
    kind: NDArray[np.int64],
    depth: NDArray[np.int64],
    call: NDArray[np.int64],
) -> NDArray[np.int64] | None:
    """How the lines stand; None: as the rows do.

    At one event: first the switch, then exits from the deepest up, then the entry.
    """
    same = event[1:] == event[:-1]
    if not same.any():
        return None
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    group = np.cumsum(np.append(True, ~same))[tied]
    rank = np.where(kind[tied] == ENTER, 1, np.where(kind[tied] == LEAVE, -depth[tied], -(1 << 40)))
    order = np.arange(len(event))
    order[tied] = tied[np.lexsort((call[tied], rank, group))]
    return order
