"""All calls of a capture as numpy columns: the basis of the trace, filters, graphs and exports.

`Calls` has one row a call, in the order of their entries; `Marks` one row for every inline trigger
and context switch, in order of time. An *event number* counts the capture's events from 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kprof.analysis import states
from kprof.analysis.clock import Clock
from kprof.analysis.linking import Linker
from kprof.analysis.machine import Machine, Rows, replay_rows
from kprof.analysis.states import INNER, OPEN, ORPHAN, RESUMED, UNWOUND
from kprof.analysis.summary import Ledger
from kprof.analysis.tags import TAGS, TagTable
from kprof.capture.model import Capture, CaptureInfo
from kprof.names import NameEntry, NameFile

__all__ = [
    "INNER",
    "OPEN",
    "ORPHAN",
    "RESUMED",
    "UNWOUND",
    "Calls",
    "Marks",
    "Timeline",
    "timeline",
]

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Calls:
    """One row a call, ordered by entry; times are int64 ticks since the first event.

    Attributes
    ----------
    function
        int32, an index of `Timeline.functions`.
    entry_event, exit_event
        int64, the events that began and ended it. An orphan's `entry_event` is the event of the
        switch in (or the capture's first) and an open call's `exit_event` the number of events.
    entry, exit
        Times of these; an open call ends with the capture.
    elapsed
        On the processor between the two; of an orphan, since the switch in.
    net
        `elapsed` less the elapsed time of the calls directly inside.
    wall
        ``exit - entry``, the time switched out included.
    part
        Net time in the slice that it ended in; differs from `net` for resumed calls.
    depth
        int32; 0 is the lowest call known of the context.
    parent
        int64, the row of the call that it was called from, or -1.
    context
        int32; 0 the system context, tasks from 1 in the order of their appearance.
    flags
        uint8: RESUMED, UNWOUND, OPEN, ORPHAN, INNER of `kprof.analysis.states`.
    """

    function: NDArray[np.int32]
    entry_event: NDArray[np.int64]
    exit_event: NDArray[np.int64]
    entry: NDArray[np.int64]
    exit: NDArray[np.int64]
    elapsed: NDArray[np.int64]
    net: NDArray[np.int64]
    wall: NDArray[np.int64]
    part: NDArray[np.int64]
    depth: NDArray[np.int32]
    parent: NDArray[np.int64]
    context: NDArray[np.int32]
    flags: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.function)

    def by_depth(self) -> Iterator[NDArray[np.int64]]:
        """The rows of each depth, the lowest first: a call comes after the one it is in."""
        order = np.argsort(self.depth, kind="stable")
        depths = np.arange(int(self.depth.max(initial=-1)) + 2)
        yield from np.split(order, np.searchsorted(self.depth[order], depths)[1:-1])

    def select(self, keep: NDArray[np.bool_]) -> Calls:
        """The rows where `keep` is true, as if they were all: `parent` becomes the nearest kept
        ancestor, and INNER are those with a kept call of their function around them.
        """
        rows = np.cumsum(keep) - 1
        parent = self.parent.copy()
        while True:
            lost = (parent >= 0) & ~keep[parent]
            if not lost.any():
                break
            parent[lost] = self.parent[parent[lost]]
        columns = {name: getattr(self, name)[keep] for name in self.__dataclass_fields__}
        kept = parent[keep]
        columns["parent"] = np.where(kept >= 0, rows[kept], -1)
        columns["flags"] = _inner_flags(columns["function"], columns["parent"], columns["flags"])
        return Calls(**columns)


def _inner_flags(
    function: NDArray[np.int32], parent: NDArray[np.int64], flags: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """The flags without INNER where no ancestor is of the same function."""
    rows = np.flatnonzero(flags & INNER)
    above = parent[rows]
    result: NDArray[np.uint8] = flags & ~np.uint8(INNER)
    while len(rows):
        found = (above >= 0) & (function[above] == function[rows])
        result[rows[found]] |= np.uint8(INNER)
        going = (above >= 0) & ~found
        rows, above = rows[going], parent[above[going]]
    return result


@dataclass(frozen=True, eq=False)
class Marks:
    """Inline triggers and context switches, one row each, in order of events.

    Attributes
    ----------
    kind
        uint8: MARK_INLINE, MARK_OUT or MARK_IN of `kprof.analysis.states`.
    name
        int32: an index of `Timeline.inlines` for an inline trigger, else of `Timeline.functions`.
    event, time
        int64.
    since
        int64 ticks since the enclosing call's entry, or since the switch in where that was earlier.
    depth
        int32: of the call that it stands in, plus 1.
    parent
        int64: the row in `Calls` of the call that it stands in, or -1.
    context
        int32: the context that ran before a switch out, and after a switch in.
    """

    kind: NDArray[np.uint8]
    name: NDArray[np.int32]
    event: NDArray[np.int64]
    time: NDArray[np.int64]
    since: NDArray[np.int64]
    depth: NDArray[np.int32]
    parent: NDArray[np.int64]
    context: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, eq=False)
class Timeline:
    """A capture replayed call by call.

    Attributes
    ----------
    info
        What is known of the capture; `info.clock_hz` is ticks a second.
    functions, inlines
        Entries of the name file by their number in `Calls.function` and `Marks.name`.
    events
        How many events there were.
    times
        int64, shape (events,): the time of every event.
    counted
        The same as the Profiler's counter had it: with what the triggers cost, where that was
        taken out of all other times.
    ledger
        Where the time went; as in the summary.
    contexts
        Task contexts that were told apart.
    """

    info: CaptureInfo
    functions: tuple[NameEntry, ...]
    inlines: tuple[NameEntry, ...]
    events: int
    times: NDArray[np.int64]
    counted: NDArray[np.int64]
    calls: Calls
    marks: Marks
    ledger: Ledger
    contexts: int
    tag_counts: NDArray[np.int64]

    def us(self, ticks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Ticks as microseconds."""
        return np.multiply(ticks, float(1_000_000 / self.info.clock_hz), dtype=np.float64)


def timeline(
    capture: Capture,
    names: NameFile,
    *,
    trigger_cost: Fraction = Fraction(0),
    fast: bool | None = None,
) -> Timeline:
    """Replay a capture call by call; about 100 bytes of memory a call.

    Parameters
    ----------
    trigger_cost
        In ticks; see `kprof.analysis.clock.Clock`.
    fast
        Compiled, or not; None: where numba is installed and the capture is large.

    Raises
    ------
    UsageError
        The triggers cannot have cost so much.
    """
    if fast is None:
        from kprof.analysis.fast import pays

        fast = pays(capture.events)
    table = TagTable.of(names)
    machine = Machine(table, detail=True, fast=fast)
    clock = Clock(capture.info, trigger_cost)
    counts = np.zeros(TAGS, np.int64)
    blocks: list[Rows] = list(replay_rows(capture, table, machine, clock, counts))
    clock.finish()
    rows = Rows(*(np.concatenate(column) for column in zip(*blocks, strict=True)))
    times = counted = _event_times(capture, trigger_cost)
    if trigger_cost:
        counted = _event_times(capture, Fraction(0)) * clock.info.step
    state = machine.state
    linker = Linker(rows, times, int(state[states.FIRST]))
    calls = _columns(Calls, linker.calls)
    ledger = Ledger(
        elapsed=clock.time,
        net=int(calls.net.sum()),
        idle=int(state[states.IDLE]),
        unattributed=int(state[states.UNATTRIBUTED]),
    )
    return Timeline(
        info=clock.info,
        functions=table.functions,
        inlines=table.inlines,
        events=capture.events,
        times=times,
        counted=counted,
        calls=calls,
        marks=_columns(Marks, linker.marks),
        ledger=ledger,
        contexts=int(state[states.CONTEXTS]) - 1,
        tag_counts=counts,
    )


def _event_times(capture: Capture, trigger_cost: Fraction) -> NDArray[np.int64]:
    clock = Clock(capture.info, trigger_cost)
    parts = [clock.advance(ticks) for ticks, _ in capture.chunks()]
    return np.concatenate(parts or [np.empty(0, np.int64)])


def _columns(kind: type[_T], columns: dict[str, NDArray[np.int64]]) -> _T:
    return kind(**columns)
