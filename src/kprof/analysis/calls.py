"""All calls of a capture as numpy columns: the basis of the trace, filters, graphs and exports.

`Calls` has one row a call, in the order of their entries; `Marks` one row for every inline trigger
and context switch, in order of time. An *event number* counts the capture's events from 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay.codes import (
    ENTER,
    INNER,
    LEAVE,
    LOST,
    MARK_INLINE,
    OPEN,
    ORPHAN,
    RESUMED,
    UNWOUND,
)
from kprof.analysis.replay.columns import Rows
from kprof.analysis.stream import Ledger, Outcome, Stream
from kprof.capture.model import Capture, CaptureInfo
from kprof.names import NameEntry, NameFile
from kprof.names.calls import CallKnowledge

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
        uint8: RESUMED, UNWOUND, OPEN, ORPHAN, INNER of `kprof.analysis.replay.codes`.
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
        uint8: MARK_INLINE, MARK_OUT or MARK_IN of `kprof.analysis.replay.codes`.
    name
        int32: an index of `Timeline.inlines` for an inline trigger, else of `Timeline.functions`;
        -1 for the switch of a task mark.
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
    outcome
        What else is known at the end of the replay.
    task_names
        By context: the name of its task, where the kernel fires task marks.
    first
        The context that runs before the first switch.
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
    outcome: Outcome
    task_names: dict[int, str]
    first: int = 1

    @property
    def contexts(self) -> int:
        """Task contexts that were told apart."""
        return self.outcome.contexts

    @property
    def tag_counts(self) -> NDArray[np.int64]:
        """Shape (65536,): how often each tag came."""
        return self.outcome.tag_counts

    def us(self, ticks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Ticks as microseconds."""
        return np.multiply(ticks, float(1_000_000 / self.info.clock_hz), dtype=np.float64)


def timeline(
    capture: Capture,
    names: NameFile,
    *,
    trigger_cost: Fraction = Fraction(0),
    known: CallKnowledge | None = None,
    fast: bool | None = None,
) -> Timeline:
    """Replay a capture call by call; about 100 bytes of memory a call.

    Parameters
    ----------
    trigger_cost
        In ticks; see `kprof.analysis.replay.clock.Clock`.
    known
        What can call what in the program, where that is known.
    fast
        Compiled, or not; None: where numba is installed and the capture is large.

    Raises
    ------
    UsageError
        The triggers cannot have cost so much.
    """
    stream = Stream(capture, names, trigger_cost=trigger_cost, known=known, fast=fast)
    rows = Rows(np.concatenate([part.table for part in stream.rows()]))
    assert stream.outcome is not None
    times = counted = np.concatenate([*stream.times(), np.empty(0, np.int64)])
    if trigger_cost:
        plain = Stream(capture, names, fast=False)
        counted = np.concatenate([*plain.times(), np.empty(0, np.int64)]) * stream.info.step
    calls, numbers = _calls(rows, capture.events)
    return Timeline(
        info=stream.info,
        functions=stream.functions,
        inlines=stream.inlines,
        events=capture.events,
        times=times,
        counted=counted,
        calls=calls,
        marks=_marks(rows, numbers),
        ledger=stream.ledger,
        outcome=stream.outcome,
        task_names=stream.task_names,
        first=stream.first,
    )


def _calls(rows: Rows, events: int) -> tuple[Calls, NDArray[np.int64]]:
    """The calls in the order of their entries, and the row of each call by its number."""
    began = rows.select(rows.kind == ENTER)
    ended = rows.select(rows.kind == LEAVE)
    ended = ended.select(np.argsort(ended.call, kind="stable"))
    real = (ended.flags & LOST) == 0
    numbers = np.append(np.where(real, np.cumsum(real) - 1, -1), -1)
    for lost in np.flatnonzero(~real).tolist():
        numbers[lost] = numbers[ended.parent[lost]]
    began, ended = began.select(real), ended.select(real)
    is_open = (ended.flags & OPEN) != 0
    wall = ended.elapsed + ended.away
    return Calls(
        function=ended.fn.astype(np.int32),
        entry_event=began.leave.copy(),
        exit_event=np.where(is_open, events, ended.leave),
        entry=ended.time - wall,
        exit=ended.time.copy(),
        elapsed=ended.elapsed.copy(),
        net=ended.net.copy(),
        wall=wall,
        part=ended.part.copy(),
        depth=_depths(ended.depth, numbers[ended.parent], lost=not real.all()),
        parent=numbers[ended.parent],
        context=ended.context.astype(np.int32),
        flags=ended.flags.astype(np.uint8),
    ), numbers


def _depths(
    depth: NDArray[np.int64], parent: NDArray[np.int64], *, lost: bool
) -> NDArray[np.int32]:
    """How deep each call is; counted again where expected orphans did not come."""
    if not lost:
        return depth.astype(np.int32)
    found: list[int] = []
    for above in parent.tolist():
        found.append(found[above] + 1 if above >= 0 else 0)
    return np.array(found, np.int32)


def _marks(rows: Rows, numbers: NDArray[np.int64]) -> Marks:
    marks = rows.select(rows.kind >= MARK_INLINE)
    return Marks(
        kind=marks.kind.astype(np.uint8),
        name=marks.fn.astype(np.int32),
        event=marks.leave.copy(),
        time=marks.time.copy(),
        since=marks.elapsed.copy(),
        depth=marks.depth.astype(np.int32),
        parent=numbers[marks.parent],
        context=marks.context.astype(np.int32),
    )
