"""The last blocks of a stream, for calls that are wanted whole where they begin; see `ordered`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay.codes import ENTER, LEAVE, LOST, MARK_INLINE, OPEN, ORPHAN, WIDE
from kprof.analysis.replay.columns import Rows
from kprof.analysis.selection import Selection, WholeContexts
from kprof.analysis.stream import Stream
from kprof.names import Modifier, NameEntry

Column = NDArray[np.int64]
Mask = NDArray[np.bool_]
Info = NDArray[np.uint8]

# What is known of a call besides its row.
KNOWN = 1  # it has ended
KEEP = 2  # the filter keeps it
HIDDEN = 4  # shown as the switch
HOLDS = 8  # calls or inline triggers inside


class Window:
    """The last blocks of a stream, and what is known of the calls that begin in them.

    Parameters
    ----------
    selection, also
        What stays.
    whole_rows
        Keep the rows of the calls, for `take`; else there is only `drop`.
    """

    def __init__(
        self,
        stream: Stream,
        selection: Selection,
        also: Callable[[Rows], Mask] | None,
        *,
        whole_rows: bool = True,
    ) -> None:
        self._stream, self._selection, self._also = stream, selection, also
        self._switching = switching(stream.functions)
        self._blocks: deque[tuple[int, int, Rows]] = deque()
        self._first = 0  # the first call that begins in the window
        self._last = 0  # the first that has not begun yet
        self._width = WIDE if whole_rows else 0
        self._table = np.empty((1 << 12, self._width), np.int64)  # by call, modulo its length
        self._info = np.zeros(1 << 12, np.uint8)
        self._before: dict[int, int] = {}  # open calls from before the window, and what is known
        self.whole = selection.whole if also is None else WholeContexts()

    def __len__(self) -> int:
        return len(self._blocks)

    def fill(self) -> Iterator[tuple[Rows, Info]]:
        """Read the stream; of each block, the calls from before the window that end in it."""
        for rows in self._stream.rows():
            yield self._add(rows)

    def drop(self) -> None:
        """The oldest block leaves the window; what is known of its open calls is kept."""
        first, _, _ = self._blocks.popleft()
        numbers = np.arange(first, self._end)
        info = self._info[numbers & self._mask]
        for at in np.flatnonzero(info & KNOWN == 0).tolist():
            self._before[first + at] = int(info[at])
        self._first = self._end

    def take(self) -> tuple[int, int, Rows, Column, Info]:
        """The oldest block: its first call, the event after it, marks, rows, what is known."""
        first, stop, marks = self._blocks.popleft()
        places = np.arange(first, self._end) & self._mask
        self._first = self._end
        return first, stop, marks, self._table[places], self._info[places]

    @property
    def _end(self) -> int:
        """The call after those of the oldest block, which has just been taken out."""
        return self._blocks[0][0] if self._blocks else self._last

    @property
    def _mask(self) -> int:
        return len(self._info) - 1

    def _add(self, rows: Rows) -> tuple[Rows, Info]:
        kind = rows.kind.copy()
        marks = rows.select(kind > LEAVE)
        switches = marks.leave[marks.kind != MARK_INLINE]
        self._blocks.append((self._last, self._stream.done, marks))
        self._begin(rows, np.flatnonzero(kind == ENTER), switches)
        ended, keep = self._selection.take(rows)[:2]
        if self._also is not None:
            keep = keep & self._also(ended)
            self.whole.add(ended.context, keep)
        lost = rows.select((kind == LEAVE) & (rows.flags & LOST != 0))
        if len(lost):
            ended = Rows(np.concatenate([ended.table, lost.table]))
            keep = np.concatenate([keep, np.zeros(len(lost), np.bool_)])
        inside = marks.parent[marks.kind == MARK_INLINE]
        return self._finish(ended, keep, inside, switches)

    def _begin(self, rows: Rows, enter: Column, switches: Column) -> None:
        """More calls begin."""
        wanted = self._last + len(enter)
        if wanted - self._first > len(self._info):
            self._grow(wanted - self._first)
        info = np.zeros(len(enter), np.uint8)
        if len(switches):
            hidden = self._switching[rows.fn[enter]] & np.isin(rows.leave[enter], switches)
            info[hidden] = HIDDEN
        self._info[np.arange(self._last, wanted) & self._mask] = info
        self._last = wanted

    def _grow(self, wanted: int) -> None:
        numbers = np.arange(self._first, self._last)
        old = numbers & self._mask
        size = 1 << wanted.bit_length()
        table, info = np.empty((size, self._width), np.int64), np.zeros(size, np.uint8)
        new = numbers & (size - 1)
        table[new], info[new] = self._table[old], self._info[old]
        self._table, self._info = table, info

    def _finish(
        self, ended: Rows, keep: Mask, inline: Column, switches: Column
    ) -> tuple[Rows, Info]:
        """Calls end; `inline` are those with inline triggers. The calls from before the window."""
        call, flags, first = ended.call.copy(), ended.flags.copy(), self._first
        here = call >= first
        place = call & self._mask
        state = self._info[place]
        for row in np.flatnonzero(~here).tolist():
            state[row] = self._before.get(int(call[row]), 0)
        hidden = self._switching[ended.fn]
        if hidden.any():
            at_switch = np.isin(ended.leave, switches) & (flags & OPEN == 0)
            hidden &= at_switch | (state & HIDDEN != 0) | (flags & ORPHAN != 0)
        state = state & HOLDS | KNOWN
        state[keep] |= KEEP
        state[hidden] |= HIDDEN
        if self._width:
            self._table[place[here]] = ended.table if here.all() else ended.table[here]
        self._info[place[here]] = state[here]
        inside = ended.parent
        if hidden.any() or (flags & LOST).any():
            inside = inside[~hidden & (flags & LOST == 0)]
        for holder in (inside, inline):
            self._info[holder[holder >= first] & self._mask] |= HOLDS
            for number in np.unique(holder[(holder >= 0) & (holder < first)]).tolist():
                if number in self._before:
                    self._before[number] |= HOLDS
        late = np.flatnonzero(~here)
        for row in late.tolist():
            state[row] |= self._before.pop(int(call[row]), 0) & HOLDS
        return ended.select(late), state[late]


class Ahead:
    """The long calls of a stream, by a replay that goes as far as it must."""

    def __init__(self, window: Window, kept: int) -> None:
        self._window = window
        self._batches = self._run(kept)
        self._rows = np.empty((0, WIDE), np.int64)
        self._info = np.empty(0, np.uint8)

    def _run(self, kept: int) -> Iterator[tuple[Rows, Info]]:
        for late in self._window.fill():
            yield late
            while len(self._window) > kept:
                self._window.drop()

    def find(self, calls: Column) -> tuple[Column, Info]:
        """The rows of these calls, and what is known of them; earlier ones are not asked for."""
        wanted = set(calls.tolist()).difference(Rows(self._rows).call.tolist())
        found = [(Rows(self._rows), self._info)]
        while wanted:
            late = next(self._batches)
            found.append(late)
            wanted.difference_update(late[0].call.tolist())
        table = np.concatenate([rows.table for rows, _ in found])
        info = np.concatenate([state for _, state in found])
        order = np.argsort(Rows(table).call)
        self._rows, self._info = table[order], info[order]
        place = np.searchsorted(Rows(self._rows).call, calls)
        rows, known = self._rows[place], self._info[place]
        later = int(place[-1]) + 1
        self._rows, self._info = self._rows[later:], self._info[later:]
        return rows, known

    def whole(self, context: int) -> bool:
        """Do all calls of a context stay?"""
        if self._window.whole.cut(context):
            return False
        found = list(self._batches)
        if found:
            self._rows = np.concatenate([self._rows, *(rows.table for rows, _ in found)])
            self._info = np.concatenate([self._info, *(state for _, state in found)])
        return self._window.whole.of(context)


def switching(functions: Sequence[NameEntry]) -> Mask:
    """Which functions switch contexts; their calls at a switch are shown as the switch."""
    switches = (Modifier.SWITCH_OUT, Modifier.SWITCH_IN, Modifier.SWTCH)
    return np.array([entry.modifier in switches for entry in functions] or [False])
