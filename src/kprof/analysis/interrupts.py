"""Interrupts: functions that appear on whatever runs, how long, how often, and at whose cost.

Which functions they are, `kprof.analysis.recognise` finds. Their figures are a fold of the stream;
when each came is kept on disk, for its beat is known only at the end.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.beat import Beat, find_beat
from kprof.analysis.filters import Filter
from kprof.analysis.measures import Collected, Measure
from kprof.analysis.questions import function_number
from kprof.analysis.recognise import InterruptSigns
from kprof.analysis.replay.codes import ENTER, INNER, LEAVE, LOST, OPEN, ORPHAN
from kprof.analysis.replay.columns import Rows
from kprof.analysis.selection import Selection
from kprof.analysis.stream import Stream

Column = NDArray[np.int64]
Mask = NDArray[np.bool_]
_GUESS = 16  # parts of a stream from which the functions are guessed
_IN_MEMORY = 1 << 20  # bytes of entries from which they go to a file
_CHUNK = 1 << 20  # bytes of them that are read at a time


@dataclass(frozen=True)
class Interrupt:
    """One interrupt function; times in ticks.

    Attributes
    ----------
    function
        Index of `Stream.functions`.
    duration
        Elapsed times, interrupts on top of it taken out.
    period
        Times from the entry before, with what the triggers cost.
    nested
        The most interrupts that it ran on top of.
    beat
        Where it comes at a steady beat: that; else None.
    late
        How late it is after its beat.
    """

    function: int
    duration: Measure
    period: Measure
    nested: int
    beat: Beat | None
    late: Measure


@dataclass(frozen=True)
class Interrupted:
    """What interrupts did to one function; times in ticks.

    Attributes
    ----------
    function
        Index of `Stream.functions`.
    total
        Its elapsed time, as in the summary.
    lost
        What of that interrupts on top of it took.
    """

    function: int
    total: int
    lost: int


@dataclass(frozen=True)
class Interrupts:
    """The interrupts of a capture.

    Attributes
    ----------
    functions
        Those that interrupts enter by, by number.
    each
        What each of them did.
    interrupted
        The functions that they took time from, those that lost most first.
    selection
        The filter, and what it left out.
    """

    functions: list[int]
    each: list[Interrupt]
    interrupted: list[Interrupted]
    selection: Selection


def interrupts(
    stream: Stream, named: tuple[str, ...] = (), chosen: Filter | None = None
) -> Interrupts:
    """How long each interrupt function ran, how often it came, on how many others, and on whose.

    With a filter only the calls that stay count; when each came before, and its beat, are of all.

    Parameters
    ----------
    named
        The functions that are interrupts; none: what the name file marks, and what looks so.

    Raises
    ------
    UsageError
        One of `named` is not in the name file, or the filter names what is not there.
    """
    if named:
        functions = sorted({function_number(stream, name) for name in named})
        return _Fold(stream, functions, chosen).read()
    first = InterruptSigns(stream)
    for rows in islice(stream.rows(), _GUESS):
        first.add(rows)
    functions, signs = first.found(), InterruptSigns(stream)
    found = _Fold(stream, functions, chosen).read(signs)
    if signs.found() == functions:
        return found
    return _Fold(stream, signs.found(), chosen).read()


class _Fold:
    """Collects the figures of these functions."""

    def __init__(self, stream: Stream, functions: list[int], chosen: Filter | None) -> None:
        self._stream, self._functions = stream, functions
        self._is = np.zeros(max(1, len(stream.functions)), np.bool_)
        self._is[functions] = True
        self._selection = Selection(stream, chosen)
        self._durations = {function: Collected() for function in functions}
        self._entries = {function: _Entries(stream) for function in functions}
        self._nested = dict.fromkeys(functions, 0)
        self._on_top = _OnTop(len(functions))
        self._place = np.cumsum(self._is) - 1
        self._incomplete: set[int] = set()
        # By function: elapsed time as in the summary, and what of it interrupts took.
        self._total, self._lost = np.zeros((2, len(self._is)), np.int64)

    def read(self, signs: InterruptSigns | None = None) -> Interrupts:
        """Read the stream; `signs` look on."""
        try:
            for rows in self._stream.rows():
                if signs is not None:
                    signs.add(rows)
                self._add(rows)
            self._selection.finish()
            each = [self._interrupt(function) for function in self._functions]
        finally:
            for entries in self._entries.values():
                entries.close()
        who = np.flatnonzero(self._lost).tolist()
        found = [Interrupted(fn, int(self._total[fn]), int(self._lost[fn])) for fn in who]
        found.sort(key=lambda row: (row.lost, row.total, row.function), reverse=True)
        return Interrupts(self._functions, each, found, self._selection)

    def _add(self, rows: Rows) -> None:
        enter = rows.select(
            (rows.kind == ENTER) & self._is[np.where(rows.kind == ENTER, rows.fn, 0)]
        )
        for function in self._functions if len(enter) else ():
            self._entries[function].add(enter.select(enter.fn == function))
        ended, keep, kept, _ = self._selection.take(rows)
        flags = ended.flags
        mine = self._is[ended.fn]
        partial = flags & (OPEN | ORPHAN) != 0
        root = mine & ~partial
        self._incomplete.update(ended.call[mine & partial].tolist())
        lost = rows.select((rows.kind == LEAVE) & (rows.flags & LOST != 0))
        self._incomplete.update(lost.call[self._is[lost.fn]].tolist())
        # Of an orphan only its net time is its function's: there is no interrupt in it.
        orphan = kept.flags & ORPHAN != 0
        outer = ~orphan & (kept.flags & INNER == 0)
        whole = np.where(orphan, kept.net, np.where(outer, kept.elapsed, 0))
        np.add.at(self._total, kept.fn, whole)
        where = np.where(root & keep, self._place[ended.fn], -1)
        first = int(np.count_nonzero(rows.kind == ENTER))
        taken, deepest = self._on_top.add(ended, root, where, first)
        deepest = np.maximum(deepest, self._on_top.clear(lost.call))
        for function, most in zip(self._functions, deepest.tolist(), strict=True):
            self._nested[function] = max(self._nested[function], most)
        if taken is None:
            return
        np.add.at(self._lost, kept.fn[outer], taken[keep][outer])
        for function in self._functions:
            calls = root & keep & (ended.fn == function)
            self._durations[function].add(ended.elapsed[calls] - taken[calls])
            self._entries[function].stay(ended.call[calls])

    def _interrupt(self, function: int) -> Interrupt:
        entries = self._entries[function]
        entries.drop(self._incomplete)
        period, between, late = Collected(), Collected(), Collected()
        before = np.empty(0, np.int64)
        for times, kept in entries.chunks():
            steps = np.diff(np.concatenate([before, times]))
            between.add(steps)
            period.add(steps[kept[len(kept) - len(steps) :]])
            before = times[-1:]
        beat = find_beat(lambda: (times for times, _ in entries.chunks()), between.measure())
        if beat is not None:
            all_late = beat.late(lambda: (times for times, _ in entries.chunks()))
            for (_, kept), behind in zip(entries.chunks(), all_late, strict=True):
                late.add(behind[kept])
        return Interrupt(
            function,
            self._durations[function].measure(),
            period.measure(),
            self._nested[function],
            beat,
            late.measure(),
        )


class _OnTop:
    """What interrupts took on top of each call, nested ones once; and how they nest."""

    def __init__(self, functions: int) -> None:
        self._functions = functions
        self._first = 0  # the first call that begins in the next rows
        self._held: dict[int, Column] = {}  # of open calls: what was taken, and nesting

    def add(
        self, ended: Rows, root: Mask, where: Column, begun: int
    ) -> tuple[Column | None, Column]:
        """Calls that ended, in order.

        Parameters
        ----------
        root
            Which are complete ones of interrupts.
        where
            Of those whose nesting counts, the place of their function; else -1.
        begun
            How many calls began.

        Returns
        -------
        tuple
            What was taken from each call, None for nothing at all; and by place the most
            interrupts that one ran on top of, of those of which that is known now.
        """
        first = self._first
        self._first += begun
        count, most = len(ended), np.zeros(self._functions, np.int64)
        if not count or not (self._held or root.any()):
            return None, most
        parent = ended.parent.copy()
        up, others = _rows_of(ended.call, parent, first, begun)
        # A row of figures of each call that ended, of each open one around them, and of nothing.
        figures = np.full((count + len(others) + 1, 1 + self._functions), -1, np.int64)
        figures[:, 0] = 0
        for row in np.flatnonzero(ended.call < first).tolist():
            figures[row] = self._held.pop(int(ended.call[row]), figures[row])
        elapsed, depth = ended.elapsed, np.minimum(ended.depth, (1 << 16) - 1)
        order = np.argsort(depth.astype(np.uint16), kind="stable")
        bounds = np.flatnonzero(np.diff(depth[order])) + 1
        for rows in reversed(np.split(order, bounds)):
            rows = rows[root[rows] | _marked(figures[rows])]
            if not len(rows):
                continue
            is_root = root[rows]
            np.add.at(figures[:, 0], up[rows], np.where(is_root, elapsed[rows], figures[rows, 0]))
            nesting = figures[rows, 1:]
            nesting[(nesting >= 0) & is_root[:, None]] += 1
            mine = np.flatnonzero(where[rows] >= 0)
            place = where[rows[mine]]
            nesting[mine, place] = np.maximum(nesting[mine, place], 0)
            np.maximum.at(figures[:, 1:], up[rows], nesting)
        marked = count + np.flatnonzero(_marked(figures[count:-1]))
        for call, figure in zip(others[marked - count].tolist(), figures[marked], strict=True):
            old = self._held.get(call)
            if old is not None:
                figure[0] += old[0]
                figure[1:] = np.maximum(figure[1:], old[1:])
            self._held[call] = figure
        return figures[:count, 0], np.maximum(figures[-1, 1:], 0)

    def clear(self, lost: Column) -> Column:
        """Expected orphans did not come: below what stood on them there is nothing."""
        held = [self._held.pop(call)[1:] for call in lost.tolist() if call in self._held]
        return np.max([np.zeros(self._functions, np.int64), *held], axis=0)  # type: ignore[no-any-return]


def _marked(figures: Column) -> Mask:
    """The rows in which there is something."""
    result: Mask = (figures[:, 0] != 0) | (figures[:, 1:] >= 0).any(axis=1)
    return result


def _rows_of(call: Column, parent: Column, first: int, begun: int) -> tuple[Column, Column]:
    """The row of each parent, and the parents that are not among the calls: their rows follow.

    The row of no parent is the last one.
    """
    row = np.full(begun, -1, np.int64)
    recent = call >= first
    row[call[recent] - first] = np.flatnonzero(recent)
    here = parent >= first
    up = np.full(len(call), -1, np.int64)
    up[here] = row[parent[here] - first]
    old = {int(call[k]): k for k in np.flatnonzero(~recent).tolist()}
    missing = np.flatnonzero((up < 0) & (parent >= 0))
    others, which = np.unique(parent[missing], return_inverse=True)
    place = np.arange(len(others)) + len(call)
    for k, number in enumerate(others.tolist()):
        place[k] = old.get(number, place[k])
    up[missing] = place[which.reshape(-1)]
    up[up < 0] = len(call) + len(others)
    return up, others


class _Entries:
    """When the calls of a function began, in order; on disk where they are many."""

    def __init__(self, stream: Stream) -> None:
        self._file = cast(Any, tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115
        self._counted = _Counted(stream) if stream.cost else None
        self._kept = np.zeros(0, np.uint8)  # a bit for each entry
        self._number: dict[int, int] = {}
        self._without: Column = np.empty(0, np.int64)

    def close(self) -> None:
        """Call when all is done."""
        self._file.close()

    def add(self, begun: Rows) -> None:
        """Calls that begin."""
        time = begun.time if self._counted is None else self._counted.of(begun.leave)
        self._file.write(np.stack([begun.call, time], axis=1).tobytes())

    def stay(self, calls: Column) -> None:
        """Complete calls that a filter keeps."""
        if not len(calls):
            return
        wanted = (int(calls.max()) >> 3) + 1
        if wanted > len(self._kept):
            more = np.zeros(2 * wanted - len(self._kept), np.uint8)
            self._kept = np.concatenate([self._kept, more])
        np.bitwise_or.at(self._kept, calls >> 3, (1 << (calls & 7)).astype(np.uint8))

    def drop(self, calls: set[int]) -> None:
        """Leave out these: they are not complete."""
        self._without = np.array(sorted(calls), np.int64)

    def chunks(self) -> Iterator[tuple[Column, Mask]]:
        """The times of the entries, ascending, and of which the calls stay."""
        self._file.seek(0)
        place = 0
        while True:
            self._file.seek(place)
            data = self._file.read(_CHUNK)
            if not data:
                return
            place += len(data)
            call, time = np.frombuffer(data, np.int64).reshape(-1, 2).T
            real = ~np.isin(call, self._without)
            call, time = call[real], time[real]
            if len(call):
                here = call >> 3
                inside = here < len(self._kept)
                bits = np.zeros(len(call), np.uint8)
                bits[inside] = self._kept[here[inside]] >> (call[inside] & 7).astype(np.uint8) & 1
                yield time, bits != 0


class _Counted:
    """The times of events as the Profiler's counter had them, with what the triggers cost."""

    def __init__(self, stream: Stream) -> None:
        self._blocks = stream.counted()
        self._start = 0
        self._times = np.empty(0, np.int64)

    def of(self, events: Column) -> Column:
        """Those of events, which are not far from those before; of an orphan's any."""
        if not len(events):
            return np.empty(0, np.int64)
        while self._start + len(self._times) <= events.max():
            done = min(max(0, int(events.min()) - self._start), len(self._times))
            self._times = np.concatenate([self._times[done:], next(self._blocks)])
            self._start += done
        result: Column = self._times[np.maximum(events - self._start, 0)]
        return result
