"""How busy the processor was, window by window, and when it was idle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.paths import CONTEXT
from kprof.analysis.stream import LEAVE, SWITCH, Steps
from kprof.export.view import INTERRUPTS, View

Column = NDArray[np.int64]
IDLE = -2
"""What runs, where nothing does; else a context, or `INTERRUPTS`."""
_WINDOWS = 1024


class Busy:
    """Who ran when, as the steps of a stream come.

    The windows grow with the run: there are 512 to 1024 of them.

    Attributes
    ----------
    window
        The length of one, in ticks.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self.window = 1
        self._times: dict[int, Column] = {}
        self._owner = np.array([IDLE])  # by path: who runs on top of it
        self._context = [0]  # by path: its context
        self._last = IDLE if view.first == 0 else view.first
        self._running = view.first
        self._since = 0

    def add(self, steps: Steps) -> list[tuple[int, int]]:
        """The next steps, all of them; what of their time was idle: (from, to)."""
        if not len(steps.kind):
            return []
        self._extend()
        kind, path = steps.kind, steps.path
        parents = self._view.stream.paths[1]
        owner = self._owner[np.where(kind == LEAVE, parents[path], path)]
        switch = kind == SWITCH
        owner[switch & (steps.context == 0)] = IDLE
        owner[switch & (steps.context == 0) & (steps.depth > 0)] = 0
        # Where calls of a context end that does not run, what runs goes on.
        places = np.flatnonzero(switch)
        contexts = np.append(self._running, steps.context[places])
        running = np.repeat(contexts, np.diff(places, prepend=0, append=len(kind)))
        mine = np.maximum.accumulate(
            np.where(steps.context == running, np.arange(1, len(kind) + 1), 0)
        )
        owner = np.append(self._last, owner)[mine]
        begin = np.append(self._since, steps.time[:-1])
        who = np.append(self._last, owner[:-1])
        self._last, self._running = int(owner[-1]), int(contexts[-1])
        self._since = int(steps.time[-1])
        return self._count(who, begin, steps.time)

    def finish(self, end: int) -> list[tuple[int, int]]:
        """The time from the last step to the end."""
        return self._count(np.array([self._last]), np.array([self._since]), np.array([end]))

    def shares(self) -> dict[int, NDArray[np.float64]]:
        """By who ran: the part of each window, in per cent; the last window may be cut short."""
        whole = np.zeros(_WINDOWS, np.int64)
        for times in self._times.values():
            whole += times
        used = np.flatnonzero(whole)
        last = int(used[-1]) + 1 if len(used) else 0
        lengths = np.maximum(1, whole[:last])
        return {who: 100 * times[:last] / lengths for who, times in self._times.items()}

    def _extend(self) -> None:
        codes, parents = self._view.stream.paths
        first = len(self._owner)
        if first == len(codes):
            return
        interrupts, idle = self._view.interrupts, self._view.idle
        found = self._owner.tolist()
        for code, parent in zip(codes[first:].tolist(), parents[first:].tolist(), strict=True):
            context = code - CONTEXT if code >= CONTEXT else self._context[parent]
            self._context.append(context)
            if code >= CONTEXT:
                found.append(context or IDLE)
            elif idle[code]:
                found.append(IDLE)
            elif code in interrupts or found[parent] == INTERRUPTS:
                found.append(INTERRUPTS)
            else:
                found.append(context)
        self._owner = np.array(found, np.int64)

    def _count(self, who: Column, begin: Column, end: Column) -> list[tuple[int, int]]:
        while int(end[-1]) // self.window >= _WINDOWS:
            self.window *= 2
            for name, times in self._times.items():
                halves = times.reshape(-1, 2).sum(axis=1)
                self._times[name] = np.append(halves, np.zeros_like(halves))
        first, last = begin // self.window, np.maximum(begin, end - 1) // self.window
        length = end - begin
        for name in np.unique(who).tolist():
            times = self._times.setdefault(name, np.zeros(_WINDOWS, np.int64))
            inside = (who == name) & (first == last)
            np.add.at(times, first[inside], length[inside])
            for row in np.flatnonzero((who == name) & (first != last)).tolist():
                edges = np.arange(first[row], last[row] + 2) * self.window
                edges[0], edges[-1] = begin[row], end[row]
                times[first[row] : last[row] + 1] += np.diff(edges)
        return _joined(begin[who == IDLE], end[who == IDLE])


def _joined(begin: Column, end: Column) -> list[tuple[int, int]]:
    """Spans of some length, those that meet as one."""
    keep = end > begin
    begin, end = begin[keep], end[keep]
    if not len(begin):
        return []
    apart = np.flatnonzero(begin[1:] != end[:-1])
    starts, stops = begin[np.append(0, apart + 1)], end[np.append(apart, len(end) - 1)]
    return list(zip(starts.tolist(), stops.tolist(), strict=True))
