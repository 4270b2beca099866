"""Tasks: the slices of contexts, and what ran in them; a fold of the stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.filters import Filter
from kprof.analysis.ordered import Carried, Ordered, Part
from kprof.analysis.replay.codes import ENTER, LEAVE, LOST, MARK_OUT
from kprof.analysis.replay.columns import Rows
from kprof.analysis.selection import Selection
from kprof.analysis.stream import Stream

Column = NDArray[np.int64]
Mask = NDArray[np.bool_]
IDLE = -1
"""What the system context with no call open is called."""
LEFT_OUT = -2
"""What a context with none of the calls open that a filter keeps is called."""
_SWITCH, _BUSY, _COVER = range(3)


@dataclass(frozen=True)
class Task:
    """One context; times in ticks.

    Attributes
    ----------
    context
        Its number, 0 the system context.
    name
        Its task's, where the kernel fires task marks; else the lowest function seen in it, or "".
    slices
        How often it was switched in.
    run
        Time on the processor; of the system context, its idle time is not in it.
    longest
        The most time on the processor in one slice; likewise.
    longest_away
        The longest time between two slices.
    """

    context: int
    name: str
    slices: int
    run: int
    longest: int
    longest_away: int


class Stretches(NamedTuple):
    """What ran when; columns of one length, times in ticks.

    Attributes
    ----------
    start, end
        From when to when; no stretch is empty, and one begins where that before it ends.
    label
        A context's number, `IDLE`, or `LEFT_OUT`; two neighbours differ.
    """

    start: Column
    end: Column
    label: Column


class Usage(NamedTuple):
    """The tasks of a capture.

    Attributes
    ----------
    tasks
        Every context, the system context first; with a filter, those with a call that stays: the
        time in which one was open, and the slices in which one was.
    shares
        By context, `IDLE` or `LEFT_OUT`: what part of each column of the run it ran, from 0 to 1;
        only those that ran.
    selection
        The filter, and what it left out.
    """

    tasks: list[Task]
    shares: dict[int, NDArray[np.float64]]
    selection: Selection


def task_usage(
    stream: Stream,
    columns: int,
    chosen: Filter | None = None,
    see: Callable[[Stretches], None] = lambda _: None,
) -> Usage:
    """Read a stream, its times first, for its length.

    Parameters
    ----------
    columns
        In how many equal parts the run is drawn.
    see
        Called with what ran when, in order.

    Raises
    ------
    UsageError
        The filter names what is not there.
    """
    elapsed = 0
    for times in stream.times():
        elapsed = int(times[-1]) if len(times) else elapsed
    fold = _Fold(stream, elapsed, columns, see)
    if not chosen:
        for rows in stream.rows():
            fold.name(rows.select(_lowest(rows) & (rows.kind == LEAVE)))
            fold.add(_changes(rows))
        return Usage(*fold.finish(), Selection(stream))
    ordered = Ordered(stream, chosen)
    fold.whole = ordered.whole
    changes = _KeptChanges(fold)
    for part in ordered:
        fold.add(changes.of(part))
    return Usage(*fold.finish(), ordered.selection)


class _Changes(NamedTuple):
    """What changes which stretch runs, in order: a switch to a context, or a call that is the
    lowest in the system context (_BUSY), or the outermost one that stays in its own (_COVER), and
    begins or ends.
    """

    time: Column
    kind: Column
    context: Column
    begins: Mask

    def ordered(self, event: Column) -> _Changes:
        """The same by their events."""
        order = np.argsort(event, kind="stable")
        time, kind, context, begins = self
        return _Changes(time[order], kind[order], context[order], begins[order])


@dataclass
class _Context:
    """What is summed up of one context; `lowest` is the wall time, and the function, of a call."""

    slices: int = 0
    run: int = 0
    longest: int = 0
    away: int = 0
    ended: int = -1
    lowest: tuple[int, int, int] = (-1, 0, -1)
    kept: bool = False


class _Fold:
    """Collects the changes of a stream.

    Attributes
    ----------
    whole
        With a filter: do all calls of a context stay?
    """

    def __init__(
        self, stream: Stream, elapsed: int, columns: int, see: Callable[[Stretches], None]
    ) -> None:
        self.whole: Callable[[int], bool] | None = None
        self._stream, self._see = stream, see
        self._elapsed = elapsed
        self._edges = np.linspace(0, max(1, elapsed), columns + 1)
        self._found: dict[int, _Context] = {}
        self._shares: dict[int, NDArray[np.float64]] = {}
        self._time = 0
        self._context = stream.first
        self._label: int | None = None
        self._busy = False
        self._covers: dict[int, bool] = {}
        self._slice = (0, 0)  # of the running slice: when it began, its busy time up to `_time`
        self._last: tuple[int, int] | None = None  # start and label of the stretch that runs

    def keep(self, contexts: Column) -> None:
        """A filter keeps calls of these contexts."""
        for context in np.unique(contexts).tolist():
            self._found.setdefault(context, _Context()).kept = True

    def name(self, rows: Rows) -> None:
        """LEAVE rows of the lowest calls: the longest of each context; of equal ones the first."""
        wall = rows.elapsed + rows.away
        for context in np.unique(rows.context).tolist():
            mine = np.flatnonzero(rows.context == context)
            best = mine[np.lexsort((rows.call[mine], -wall[mine]))[0]]
            found = (int(wall[best]), -int(rows.call[best]), int(rows.fn[best]))
            into = self._found.setdefault(context, _Context())
            into.lowest = max(into.lowest, found)

    def add(self, changes: _Changes) -> None:
        """Count the time up to the last of these."""
        time, kind, context, begins = changes
        if not len(time):
            return
        # An orphan's time is counted from the switch in, though its place may begin later.
        time = np.maximum.accumulate(np.maximum(time, self._time))
        switch = kind == _SWITCH
        runs = _filled(switch, context, self._context)
        busy = _filled(kind == _BUSY, begins.astype(np.int64), int(self._busy)) != 0
        label = runs.copy()
        self._leave_out(label, runs, changes)
        label[(runs == 0) & ~busy] = IDLE
        start = np.concatenate([[self._time], time[:-1]])
        which = np.concatenate([[self._context], runs[:-1]])
        before = np.concatenate([[self._now()], label[:-1]])
        self._draw(start, time, before)
        spent = np.cumsum(np.where(before >= 0, time - start, 0))
        self._slices(time[switch], which[switch], spent[switch])
        begun, sofar = self._slice
        done = int(spent[switch][-1]) if switch.any() else 0
        begun = int(time[switch][-1]) if switch.any() else begun
        sofar = 0 if switch.any() else sofar
        self._slice = (begun, sofar + int(spent[-1]) - done)
        self._time, self._context = int(time[-1]), int(runs[-1])
        self._busy, self._label = bool(busy[-1]), int(label[-1])

    def _now(self) -> int:
        """What runs."""
        if self._label is not None:
            return self._label
        if self._context == 0:
            return IDLE
        return LEFT_OUT if self.whole and not self.whole(self._context) else self._context

    def _leave_out(self, label: Column, runs: Column, changes: _Changes) -> None:
        """Say of contexts of which not all calls stay when none that does is open."""
        if self.whole is None:
            return
        cover = changes.kind == _COVER
        contexts = {*np.unique(runs).tolist(), *np.unique(changes.context[cover]).tolist()}
        for one in contexts:
            if self.whole(one):
                continue
            mine = cover & (changes.context == one)
            old = int(self._covers.get(one, False))
            covered = _filled(mine, changes.begins.astype(np.int64), old) != 0
            label[(runs == one) & ~covered] = LEFT_OUT
            self._covers[one] = bool(covered[-1])

    def finish(self) -> tuple[list[Task], dict[int, NDArray[np.float64]]]:
        """The tasks, and what part of each column each context ran."""
        end = np.array([self._elapsed], np.int64)
        start = np.array([self._time], np.int64)
        now = self._now()
        self._draw(start, end, np.array([now], np.int64))
        self._slices(end, np.array([self._context]), (end - start) * (now >= 0))
        if self._last is not None:
            begun, label = self._last
            columns = ([begun], [self._elapsed], [label])
            self._see(Stretches(*(np.array(column, np.int64) for column in columns)))
        names, functions = self._stream.task_names, self._stream.functions
        tasks = []
        for number in sorted(self._found):
            one = self._found[number]
            if self.whole is not None and not one.kept:
                continue
            name = names.get(number, "")
            if not name and one.lowest[0] >= 0:
                name = functions[one.lowest[2]].name
            tasks.append(Task(number, name, one.slices, one.run, one.longest, one.away))
        shares = {k: v / np.diff(self._edges) for k, v in self._shares.items() if v.any()}
        return tasks, shares

    def _slices(self, end: Column, which: Column, spent: Column) -> None:
        """Slices that end; `spent` is the busy time of the block up to each end."""
        if not len(end):
            return
        start = np.concatenate([[self._slice[0]], end[:-1]])
        busy = np.diff(spent, prepend=0)
        busy[0] += self._slice[1]
        if self.whole is not None:
            ran = busy > 0
            start, end, which, busy = start[ran], end[ran], which[ran], busy[ran]
        order = np.argsort(which, kind="stable")
        groups = np.flatnonzero(np.diff(which[order], prepend=-1))
        for rows in np.split(order, groups[1:]) if len(order) else ():
            into = self._found.setdefault(int(which[rows[0]]), _Context())
            into.slices += len(rows)
            into.run += int(busy[rows].sum())
            into.longest = max(into.longest, int(busy[rows].max()))
            ended = np.concatenate([[into.ended], end[rows][:-1]])
            away = np.where(ended >= 0, start[rows] - ended, 0)
            into.away = max(into.away, int(away.max()))
            into.ended = int(end[rows[-1]])

    def _draw(self, start: Column, end: Column, label: Column) -> None:
        """Add stretches of the run to the columns that they lie in."""
        some = end > start
        start, end, label = start[some], end[some], label[some]
        self._show(start, label)
        columns = len(self._edges) - 1
        first = np.clip(np.searchsorted(self._edges, start, "right") - 1, 0, columns - 1)
        last = np.clip(np.searchsorted(self._edges, end, "left") - 1, 0, columns - 1)
        whole = last <= first
        length = end - start
        for which in np.unique(label).tolist():
            into = self._shares.setdefault(which, np.zeros(columns))
            mine = label == which
            np.add.at(into, first[mine & whole], length[mine & whole])
            for row in np.flatnonzero(mine & ~whole).tolist():
                reach = np.clip(self._edges, start[row], end[row])
                into += np.diff(reach)

    def _show(self, start: Column, label: Column) -> None:
        """Say what ran up to the last stretch, which may go on."""
        if not len(start):
            return
        if self._last is not None:
            start = np.concatenate([[self._last[0]], start])
            label = np.concatenate([[self._last[1]], label])
        new = np.flatnonzero(np.diff(label, prepend=label[0] - 1))
        start, label = start[new], label[new]
        self._last = (int(start[-1]), int(label[-1]))
        if len(start) > 1:
            self._see(Stretches(start[:-1], start[1:], label[:-1]))


def _filled(marked: Mask, values: Column, before: int) -> Column:
    """The value of the last marked row up to each row; `before` where there is none."""
    place = np.maximum.accumulate(np.where(marked, np.arange(len(marked)), -1))
    result: Column = np.where(place >= 0, values[place], before)
    return result


def _lowest(rows: Rows) -> Mask:
    """The rows of calls with none around."""
    result: Mask = (rows.parent < 0) & (rows.kind <= LEAVE) & (rows.flags & LOST == 0)
    return result


def _changes(rows: Rows) -> _Changes:
    """The changes of a stream in which all calls stay."""
    kind = rows.kind
    rows = rows.select((kind >= MARK_OUT) | (_lowest(rows) & (rows.context == 0)))
    switch = rows.kind >= MARK_OUT
    return _Changes(
        rows.time,
        np.where(switch, _SWITCH, _BUSY),
        np.where(rows.kind == MARK_OUT, 0, rows.context),
        rows.kind == ENTER,
    )


class _KeptChanges:
    """The changes of a stream of which a filter keeps some calls; names contexts on the way."""

    def __init__(self, fold: _Fold) -> None:
        self._fold = fold
        self._real, self._kept = Carried(), Carried()
        self._ends = np.empty((4, 0), np.int64)  # in later parts: event, time, kind, context

    def of(self, part: Part) -> _Changes:
        """Those of the next part."""
        calls, marks = part.calls, part.marks
        is_real = calls.flags & LOST == 0
        lowest = is_real & (self._around(self._real, part, is_real) < 0)
        outer = part.keep & (self._around(self._kept, part, part.keep) < 0)
        self._fold.name(calls.select(lowest))
        self._fold.keep(calls.context[part.keep])
        begins, ends = [], [self._ends]
        for kind, mine in ((_BUSY, lowest & (calls.context == 0)), (_COVER, outer)):
            rows = calls.select(mine)
            kinds = np.full(len(rows), kind)
            begins.append(np.stack([rows.entry, part.entry[mine], kinds, rows.context]))
            ends.append(np.stack([rows.leave, rows.time, kinds, rows.context]))
        table = np.concatenate(ends, axis=1)
        now = table[0] < part.stop
        self._ends, table = table[:, ~now], table[:, now]
        switches = marks.select(marks.kind >= MARK_OUT)
        to = np.where(switches.kind == MARK_OUT, 0, switches.context)
        switch = np.stack([switches.leave, switches.time, np.full(len(to), _SWITCH), to])
        begun = np.concatenate(begins, axis=1)
        event, time, kind, context = np.concatenate([table, switch, begun], axis=1)
        first = table.shape[1] + switch.shape[1]
        return _Changes(time, kind, context, np.arange(len(time)) >= first).ordered(event)

    @staticmethod
    def _around(carried: Carried, part: Part, chosen: Mask) -> Column:
        """Above -1 where one of the chosen calls is around a call of the part."""
        near = carried.nearest(part, np.where(chosen, 1, -1))
        result = carried.of(part, near, part.calls.parent)
        carried.carry(part, near)
        return result
