"""The tasks of a stream: the figures of `kprof.analysis.tasks` in the memory of a few blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay.codes import ENTER, LEAVE, LOST, MARK_OUT
from kprof.analysis.replay.columns import Rows
from kprof.analysis.stream import Stream
from kprof.analysis.tasks import IDLE, Task

Column = NDArray[np.int64]


@dataclass
class _Context:
    """What is summed up of one context; `name` is the wall time, and the function, of a call."""

    slices: int = 0
    run: int = 0
    longest: int = 0
    away: int = 0
    ended: int = -1
    lowest: tuple[int, int, int] = (-1, 0, -1)


class TaskFold:
    """Collects the wide rows of a stream, in which all calls stay.

    Parameters
    ----------
    elapsed
        The time of the last event.
    columns
        In how many equal parts the run is drawn.
    """

    def __init__(self, stream: Stream, elapsed: int, columns: int) -> None:
        self._stream = stream
        self._elapsed = elapsed
        self._edges = np.linspace(0, max(1, elapsed), columns + 1)
        self._found: dict[int, _Context] = {}
        self._shares: dict[int, NDArray[np.float64]] = {}
        self._time = 0
        self._context = stream.first
        self._busy = False  # a call is open in the system context
        self._slice = (0, 0)  # of the running slice: when it began, its busy time up to `_time`

    def add(self, rows: Rows) -> None:
        """Count these rows."""
        kind, context = rows.kind, rows.context
        lowest = (rows.parent < 0) & (kind <= LEAVE) & (rows.flags & LOST == 0)
        self._name(rows.select(lowest & (kind == LEAVE)))
        changes = rows.select((kind >= MARK_OUT) | (lowest & (context == 0)))
        if not len(changes):
            return
        kind, time = changes.kind, changes.time
        switch = kind >= MARK_OUT
        runs = _filled(switch, np.where(kind == MARK_OUT, 0, changes.context), self._context)
        busy = _filled(~switch, (kind == ENTER).astype(np.int64), int(self._busy)) != 0
        start = np.concatenate([[self._time], time[:-1]])
        which = np.concatenate([[self._context], runs[:-1]])
        works = np.concatenate([[self._busy], busy[:-1]]) | (which != 0)
        self._draw(start, time, np.where(works, which, IDLE))
        spent = np.cumsum(np.where(works, time - start, 0))
        self._slices(time[switch], which[switch], spent[switch])
        begun, before = self._slice
        done = int(spent[switch][-1]) if switch.any() else 0
        begun = int(time[switch][-1]) if switch.any() else begun
        before = 0 if switch.any() else before
        self._slice = (begun, before + int(spent[-1]) - done)
        self._time, self._context = int(time[-1]), int(runs[-1])
        self._busy = bool(busy[-1])

    def finish(self) -> tuple[list[Task], dict[int, NDArray[np.float64]]]:
        """The tasks, and what part of each column each context, or `IDLE`, ran."""
        end = np.array([self._elapsed], np.int64)
        works = self._context != 0 or self._busy
        label = np.array([self._context if works else IDLE], np.int64)
        start = np.array([self._time], np.int64)
        self._draw(start, end, label)
        self._slices(end, np.array([self._context]), (end - start) * works)
        names, functions = self._stream.task_names, self._stream.functions
        tasks = []
        for number in sorted(self._found):
            one = self._found[number]
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
        order = np.argsort(which, kind="stable")
        groups = np.flatnonzero(np.diff(which[order], prepend=-1))
        for rows in np.split(order, groups[1:]):
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

    def _name(self, rows: Rows) -> None:
        """The lowest call of each context that took longest; of equal ones the first."""
        wall = rows.elapsed + rows.away
        for context in np.unique(rows.context).tolist():
            mine = np.flatnonzero(rows.context == context)
            best = mine[np.lexsort((rows.call[mine], -wall[mine]))[0]]
            found = (int(wall[best]), -int(rows.call[best]), int(rows.fn[best]))
            into = self._found.setdefault(context, _Context())
            into.lowest = max(into.lowest, found)


def _filled(marked: NDArray[np.bool_], values: Column, before: int) -> Column:
    """The value of the last marked row up to each row; `before` where there is none."""
    place = np.maximum.accumulate(np.where(marked, np.arange(len(marked)), -1))
    result: Column = np.where(place >= 0, values[place], before)
    return result


def task_usage(stream: Stream, columns: int) -> tuple[list[Task], dict[int, NDArray[np.float64]]]:
    """See `TaskFold.finish`; reads the capture twice, for its length first."""
    elapsed = 0
    for times in stream.times():
        elapsed = int(times[-1]) if len(times) else elapsed
    fold = TaskFold(stream, elapsed, columns)
    for rows in stream.rows():
        fold.add(rows)
    return fold.finish()
