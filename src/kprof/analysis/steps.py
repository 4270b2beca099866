"""Steps: entries, and the rows that the replay makes of the other events, in one order."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis import states
from kprof.analysis.machine import Rows

ENTER, LEAVE, INLINE, SWITCH = 0, 1, 2, 3

Column = NDArray[np.int64]


class Steps(NamedTuple):
    """A block of steps; columns of one length, times in ticks since the first event.

    Attributes
    ----------
    kind
        uint8: ENTER, LEAVE, INLINE or SWITCH.
    name
        int64: an index of `StepStream.functions`; of an INLINE of `StepStream.inlines`.
    time
        int64.
    context
        int64: 0 the system context, tasks from 1; of a SWITCH the context that runs afterwards.
    depth
        int64: of a call, 0 the lowest; of other steps how many calls are open in the context.
    note
        int64: of an orphan's ENTER the event of its exit; of other steps -1.
    leave
        int64: where the LEAVE steps are in the columns.
    rows
        The figures of the calls that end, a row for each LEAVE. `leave` is the event of the exit
        (the number of events, of a call that is open at the end), `entry` the event of the entry,
        -1 of an orphan; `parent` the `entry` of the call around, -1 for none, or the `leave` of
        the orphan around where that is the innermost.
    switched
        int64: the events of the SWITCH steps.
    stop
        How many events of the capture make up this block and those before.
    """

    kind: NDArray[np.uint8]
    name: Column
    time: Column
    context: Column
    depth: Column
    note: Column
    leave: Column
    rows: Rows
    switched: Column
    stop: int


class Insert(NamedTuple):
    """An ENTER to put in before a step: of which function, and where its LEAVE is."""

    place: int
    event: int
    fn: int
    time: int
    context: int
    open: int


@dataclass
class Merged:
    """A block of steps before its orphans are placed, and where they are to be.

    Attributes
    ----------
    steps
        The steps, an orphan's LEAVE without its ENTER; `rows` and `leave` of all rows.
    start
        How many steps there were before this block.
    running
        The context that runs after each step.
    open
        How many calls are open in that context after each step.
    orphans
        The rows that are orphans.
    switches, empty
        Places of the SWITCH steps, and of the steps after which no call is open.
    insert
        ENTER steps to put in.
    """

    steps: Steps
    start: int
    running: Column
    open: Column
    orphans: Column
    insert: list[Insert] = field(default_factory=list)

    @cached_property
    def switches(self) -> Column:
        return np.flatnonzero(self.steps.kind == SWITCH)

    @cached_property
    def empty(self) -> Column:
        return np.flatnonzero(self.open == 0)


class Merger:
    """Merges block by block; `first` is the context that runs at the start."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._running = first
        self._open: dict[int, int] = {}
        self._start = 0
        self.at = 0
        """Events merged so far."""

    def merge(self, times: Column, ops: NDArray[np.int32], rows: Rows, end: int) -> Merged:
        """The steps of the next events, `rows` being what the replay made of them."""
        plain = self._one_to_one(times, ops, rows)
        if plain is not None:
            return plain
        entered, called = _entries(ops)
        left = rows.leave - self.at
        if len(left) and int(left.min()) < 0:  # tasks that were given up
            left = np.maximum(np.maximum.accumulate(left), 0)
        of_entry = np.arange(len(entered)) + np.searchsorted(left, entered)
        of_row = np.arange(len(left)) + np.searchsorted(entered, left, "right")
        size = len(entered) + len(left)
        kind = np.zeros(size, np.uint8)
        name = np.empty(size, np.int64)
        time = np.empty(size, np.int64)
        flags = rows.flags
        kinds = np.full(len(left), LEAVE, np.uint8)
        special = bool(len(flags)) and int(flags.max()) >= states.MARK_INLINE
        if special:
            kinds[flags >= states.MARK_INLINE] = INLINE
            kinds[flags >= states.MARK_OUT] = SWITCH
        kind[of_row] = kinds
        name[of_entry], name[of_row] = called, rows.fn
        time[of_entry] = times[entered]
        time[of_row] = np.append(times, end)[left]
        context, running = self._contexts(of_row, kinds, rows, size)
        closing = kinds == LEAVE
        orphans = np.flatnonzero(closing & ((flags & states.ORPHAN) != 0))
        change = np.where(kind == ENTER, 1, 0)
        change[of_row[closing]] = -1
        change[of_row[orphans]] = 0
        opened = self._count(context, change)
        depth = np.where(kind == ENTER, opened - 1, opened)
        shown = self._of_running(context, running, opened)
        if special:
            leave = of_row[closing]
            kept = Rows(*(column[closing] for column in rows))
            orphans = (np.cumsum(closing) - 1)[orphans]
        else:
            leave, kept = of_row, rows
        kept = kept._replace(leave=left[closing] + self.at)
        note = np.full(size, -1, np.int64)
        switched = left[kinds == SWITCH] + self.at if special else left[:0]
        self.at += len(ops)
        steps = Steps(kind, name, time, context, depth, note, leave, kept, switched, self.at)
        merged = Merged(steps, self._start, running, shown, orphans)
        self._start += size
        return merged

    def _one_to_one(self, times: Column, ops: NDArray[np.int32], rows: Rows) -> Merged | None:
        """The steps of a block of entries and exits that each end one call, all in one context."""
        leaving = ops < 0
        leave = np.flatnonzero(leaving)
        if (
            len(leave) != len(rows.fn)
            or (len(ops) and int(ops.max()) >= states.SPECIAL)
            or bool(rows.flags.any())
            or not np.array_equal(rows.leave, leave + self.at)
        ):
            return None
        if len(leave):
            own = int(rows.context[0])
            if (self._first if own < 0 else own) != self._running or (rows.context != own).any():
                return None
        context = np.full(len(ops), self._running, np.int64)
        kind = leaving.view(np.uint8)
        name = (ops ^ (ops >> 31)).astype(np.int64)  # the complement of an exit's
        opened = self._count(self._running, 1 - 2 * kind.astype(np.int64))
        depth = opened - ~leaving
        none = leave[:0]
        note = np.broadcast_to(np.int64(-1), len(ops))
        self.at += len(ops)
        steps = Steps(kind, name, times, context, depth, note, leave, rows, none, self.at)
        merged = Merged(steps, self._start, context, opened, none)
        self._start += len(ops)
        return merged

    def _contexts(
        self, of_row: Column, kinds: NDArray[np.uint8], rows: Rows, size: int
    ) -> tuple[Column, Column]:
        """The context of each step, and the one that runs after it."""
        own = np.where(rows.context < 0, self._first, rows.context)
        switches = np.flatnonzero(kinds == SWITCH)
        if len(switches):
            resumed = np.where(rows.flags[switches] == states.MARK_OUT, 0, own[switches])
            own[switches] = resumed
            lengths = np.diff(of_row[switches], prepend=0, append=size)
            running = np.repeat(np.append(self._running, resumed), lengths)
            self._running = int(resumed[-1])
        else:
            running = np.full(size, self._running, np.int64)
        context = running.copy()
        context[of_row] = own
        return context, running

    def _count(self, context: Column | int, change: Column) -> Column:
        """How many calls are open after each step in its context, or in the context of all."""
        if not len(change):
            return change
        low, high = int(np.min(context)), int(np.max(context))
        if isinstance(context, int) or low == high:
            opened: Column = np.cumsum(change) + self._open.get(low, 0)
            self._remember(low, int(opened[-1]))
            return opened
        narrow = context.astype(np.uint16) if high < 1 << 16 else context
        order = np.argsort(narrow, kind="stable")
        ordered = context[order]
        sums = np.cumsum(change[order])
        first = np.flatnonzero(np.diff(ordered, prepend=-1))
        last = np.append(first[1:], len(ordered)) - 1
        groups = ordered[first].tolist()
        before = np.array([self._open.get(group, 0) for group in groups], np.int64)
        before -= sums[first] - change[order][first]
        sums += np.repeat(before, last + 1 - first)
        for group, count in zip(groups, sums[last].tolist(), strict=True):
            self._remember(group, count)
        opened = np.empty_like(sums)
        opened[order] = sums
        return opened

    def _remember(self, context: int, count: int) -> None:
        if count:
            self._open[context] = count
        else:
            self._open.pop(context, None)

    def _of_running(self, context: Column, running: Column, opened: Column) -> Column:
        """How many calls are open in the running context: of other contexts' steps, as before."""
        other = context != running
        if not other.any():
            return opened
        place = np.where(other, -1, np.arange(len(context)))
        place = np.maximum.accumulate(place)
        return np.where(place >= 0, opened[place], -1)


def _entries(ops: NDArray[np.int32]) -> tuple[Column, Column]:
    """The entries among events: their numbers and functions."""
    enters = ops >= 0
    special = np.flatnonzero(ops >= states.SPECIAL)
    if not len(special):
        entered = np.flatnonzero(enters)
        return entered, ops[entered].astype(np.int64)
    kinds = (ops[special] - states.SPECIAL) & 7
    enters[special] = (kinds >= states.SWITCH_OUT) & (kinds <= states.SWTCH_ENTRY)
    entered = np.flatnonzero(enters)
    called = ops[entered].astype(np.int64)
    return entered, np.where(called >= states.SPECIAL, (called - states.SPECIAL) >> 3, called)
