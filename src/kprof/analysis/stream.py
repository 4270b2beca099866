"""A capture as one stream of calls: what every report, page and export is made from.

A `Stream` replays its capture as often as it is asked to, a block of events at a time, so that the
memory of a few blocks is enough for any length. It gives, in the order of events,

- `calls`: a narrow row for each call that ended, for sums and distributions;
- `rows`: a wide row for each step: a call that begins (ENTER) or ends (LEAVE), an inline trigger, a
  switch of contexts; see `kprof.analysis.replay.columns.Rows`;
- itself, as `Steps`: the same as columns for exports.

What is known only at the end, the ledger above all, is its `outcome` after one of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.paging import Pages
from kprof.analysis.replay import codes
from kprof.analysis.replay.clock import Clock
from kprof.analysis.replay.codes import ENTER, LEAVE, MARK_INLINE, MARK_OUT
from kprof.analysis.replay.columns import Rows
from kprof.analysis.replay.compiled import compiled, pays
from kprof.analysis.replay.decoding import Decoder
from kprof.analysis.replay.knowledge import KnownCalls, known_calls
from kprof.analysis.replay.machine import Machine
from kprof.analysis.replay.pieces import Joined, can_be_cut
from kprof.analysis.replay.survey import Survey, survey
from kprof.analysis.replay.tags import TAGS, TagTable
from kprof.analysis.replay.tally import Tally
from kprof.capture.model import Capture, CaptureInfo
from kprof.names import NameFile
from kprof.names.calls import CallKnowledge

INLINE, SWITCH = 2, 3
__all__ = ["ENTER", "INLINE", "LEAVE", "SWITCH", "Ledger", "Outcome", "Steps", "Stream"]
BLOCK = 1 << 16

Column = NDArray[np.int64]


class Ledger(NamedTuple):
    """Where the time went, in ticks.

    Always ``elapsed == net + idle + unattributed + left_out + user``.

    Attributes
    ----------
    elapsed
        From the first event to the last.
    net
        The sum of the net times of all functions.
    idle
        In the system context with no call open on it, and in functions that the name file marks as
        idle.
    unattributed
        Below the calls that were seen entering: what ran there is not known.
    left_out
        The net times of the calls that filters have left out.
    user
        In user mode, where the name file marks it.
    """

    elapsed: int
    net: int
    idle: int
    unattributed: int
    left_out: int = 0
    user: int = 0

    @property
    def run(self) -> int:
        """Elapsed time that was not idle."""
        return self.elapsed - self.idle


class Outcome(NamedTuple):
    """What is known when a capture has been replayed; times in ticks.

    Attributes
    ----------
    ledger
        Where the time went.
    switches, contexts
        Context switches, and tasks that were told apart.
    ambiguous
        Switches that could have been to either of several tasks.
    restarts
        Calls that showed that a longjmp had ended others.
    deepest
        The depth of the deepest call; -1 where it was not looked at.
    longest, taken, short
        See `kprof.analysis.replay.clock.Clock`.
    tag_counts
        Shape (65536,): how often each tag came that is no entry and no exit, at least.
    """

    ledger: Ledger
    switches: int
    contexts: int
    ambiguous: int
    restarts: int
    deepest: int
    longest: int
    taken: int
    short: int
    tag_counts: Column


class Steps(NamedTuple):
    """A block of steps; columns of one length, times in ticks since the first event.

    Attributes
    ----------
    kind
        uint8: ENTER, LEAVE, INLINE or SWITCH.
    name
        int64: an index of `Stream.functions`; of an INLINE of `Stream.inlines`; of a SWITCH the
        switch function, or -1 for a task mark.
    time
        int64, ascending.
    context
        int64: 0 the system context, tasks from 1; of a SWITCH the context that runs afterwards.
    depth
        int64: of a call, 0 the lowest; of other steps how many calls are open in the context.
    call
        int64: the number of the call; of an INLINE that of the call that it stands in, or -1.
    parent
        int64: the call that it was made from, or -1.
    path
        int64: the call path, as in `Stream.paths`; of an INLINE that of the call around it.
    event
        int64: the event of the step; of an orphan's ENTER one that is not its own.
    leave
        int64: where the LEAVE steps are in the columns.
    rows
        The figures of the calls that end, a row for each LEAVE.
    stop
        How many events of the capture make up this block and those before.
    """

    kind: NDArray[np.uint8]
    name: Column
    time: Column
    context: Column
    depth: Column
    call: Column
    parent: Column
    path: Column
    event: Column
    leave: Column
    rows: Rows
    stop: int


class Stream:
    """A capture to be replayed.

    Parameters
    ----------
    trigger_cost
        What a trigger costs, in ticks; see `kprof.analysis.replay.clock.Clock`.
    known
        What can call what in the program, where that is known.
    fast
        Compiled, or not; None: where numba is installed and the capture is large.

    Attributes
    ----------
    functions, inlines
        Entries of the name file by their numbers in rows.
    info
        What is known of the capture, with the clock that the times are in.
    first
        The context that runs before the first switch.
    cost
        What a trigger costs, in ticks of the capture's clock.
    compiled
        The replay is the compiled one.
    outcome
        What is known at the end; after an iteration.
    done
        How many events are replayed so far.
    task_tags
        By the number of a context: the tag of its task mark; after an iteration.
    """

    def __init__(
        self,
        capture: Capture,
        names: NameFile,
        *,
        trigger_cost: Fraction = Fraction(0),
        known: CallKnowledge | None = None,
        fast: bool | None = None,
    ) -> None:
        self._capture = capture
        self.cost = trigger_cost
        table = TagTable.of(names, capture.info)
        self.functions = table.functions
        self.inlines = table.inlines
        calls: KnownCalls | None = None
        if known is not None:
            calls = known_calls(known, table.functions)
        self.compiled = pays(capture.events) if fast is None else fast
        self.survey: Survey = survey(capture, table, calls, fast=self.compiled)
        self.info: CaptureInfo = Clock(capture.info, trigger_cost).info
        self.events = capture.events
        self.first = 1 if self.survey.starts_in_task else 0
        self.outcome: Outcome | None = None
        self.task_tags: dict[int, int] = {}
        self.done = 0
        self.paths: tuple[Column, Column] = (np.zeros(1, np.int64), np.zeros(1, np.int64))

    @property
    def ledger(self) -> Ledger:
        """Where the time went; after an iteration."""
        if self.outcome is None:
            raise ValueError("the stream has not been read yet")
        return self.outcome.ledger

    @property
    def task_names(self) -> dict[int, str]:
        """By the number of a context: the name of its task, where it has a mark; afterwards."""
        names = self.survey.table.task_names
        return {context: names[tag] for context, tag in self.task_tags.items()}

    @property
    def contexts(self) -> int:
        """Tasks that were told apart; after an iteration."""
        return self.outcome.contexts if self.outcome is not None else 0

    def tally(self) -> Tally:
        """The sums of every function."""
        tally = Tally(len(self.survey.role))
        if self.compiled and not self.cost:
            self._tally_compiled(tally)
        else:
            for rows in self.calls():
                tally.add(rows)
        return tally

    def calls(self) -> Iterator[Rows]:
        """Narrow rows of the calls that ended, and of those open at the end."""
        yield from self._replay(detail=False)

    def rows(self) -> Iterator[Rows]:
        """Wide rows of all steps; their times are ascending."""
        latest = 0
        for rows in self._replay(detail=True):
            if self.cost and len(rows):  # single times may run backwards
                time = rows.time
                time[0] = max(time[0], latest)
                np.maximum.accumulate(time, out=time)
                latest = int(time[-1])
            yield rows

    def __iter__(self) -> Iterator[Steps]:
        for rows in self.rows():
            yield _steps(rows, self.done)

    def tag_counts(self) -> Column:
        """How often each tag occurs in the capture, shape (65536,); reads all of it."""
        counts = np.zeros(TAGS, np.int64)
        pages = Pages(self._capture.records)
        for number, (_, tags) in enumerate(self._capture.chunks(BLOCK)):
            pages.release(number * BLOCK)
            counts += np.bincount(tags, minlength=TAGS)
        return counts

    def raw(self, start: int, stop: int) -> tuple[Column, NDArray[np.uint16]]:
        """The ticks and tags of these events as they were stored."""
        part = Capture(self._capture.info, self._capture.records[start:stop])
        return part.ticks(), part.tags()

    def times(self) -> Iterator[Column]:
        """The time of every event, block by block."""
        clock = Clock(self._capture.info, self.cost)
        for ticks, _ in self._capture.chunks(BLOCK):
            yield clock.advance(ticks)

    def counted(self) -> Iterator[Column]:
        """The same as the Profiler's counter has it: with what the triggers cost."""
        clock = Clock(self._capture.info, Fraction(0))
        for ticks, _ in self._capture.chunks(BLOCK):
            yield clock.advance(ticks) * self.info.step

    def _replay(self, *, detail: bool) -> Iterator[Rows]:
        table = self.survey.table
        machine = Machine(self.survey, detail=detail, fast=self.compiled)
        clock = Clock(self._capture.info, self.cost)
        counts = np.zeros(TAGS, np.int64)
        net = 0
        pages = Pages(self._capture.records)
        empty = np.empty(0, np.int64)
        for number, (ticks, tags) in enumerate(self._capture.chunks(BLOCK)):
            counts += np.bincount(tags, minlength=TAGS)
            for rows in machine.feed(clock.advance(ticks), table.ops[tags]):
                net += int(rows.net.sum())
                yield self._placed(rows, machine, detail)
            pages.release(number * BLOCK)
        for rows in machine.feed(empty, empty.astype(np.int32), last=True):
            net += int(rows.net.sum())
            yield self._placed(rows, machine, detail)
        rows = machine.finish()
        net += int(rows.net.sum())
        clock.finish()
        self._end(machine, net, clock.time, clock.longest, clock.taken, clock.short, counts)
        yield self._placed(rows, machine, detail)

    def _placed(self, rows: Rows, machine: Machine, detail: bool) -> Rows:
        self.done = machine.at
        if detail:
            self.paths = machine.paths()
            self._task_tags(machine)
        return rows

    def _tally_compiled(self, tally: Tally) -> None:
        code = compiled()
        if can_be_cut(self.survey, self.events):
            joined = Joined(code, self._capture, self.survey, tally)
            joined.run()
            machine, ended = joined.machine, joined.ended
        else:
            machine = Machine(self.survey, fast=True)
            decoder = Decoder(code, self._capture, self.survey.table.ops)
            for times, ops, last in decoder:
                done = machine.run(code, times, ops, len(ops), last, tally.table)
                decoder.keep(times[done:], ops[done:])
            ended = decoder.ended
        machine.end_at(ended.now)
        tally.add(machine.finish())
        self._end(machine, int(tally.net.sum()), ended.now, ended.longest, 0, 0, ended.counts)

    def _end(
        self, machine: Machine, net: int, now: int, longest: int, taken: int, short: int,
        counts: Column,
    ) -> None:  # fmt: skip
        ledger = Ledger(
            elapsed=now,
            net=net,
            idle=machine[codes.IDLE],
            unattributed=machine[codes.UNATTRIBUTED],
            user=machine[codes.USER],
        )
        self.outcome = Outcome(
            ledger=ledger,
            switches=machine[codes.SWITCHES],
            contexts=machine[codes.NEXT_ID] - 1,
            ambiguous=machine[codes.AMBIGUOUS],
            restarts=machine[codes.RESTARTS],
            deepest=machine[codes.DEEPEST],
            longest=longest,
            taken=taken,
            short=short,
            tag_counts=counts,
        )
        self._task_tags(machine)

    def _task_tags(self, machine: Machine) -> None:
        contexts: Any = machine.columns.contexts
        for slot in range(0, machine[codes.SLOTS] * codes.CONTEXT, codes.CONTEXT):
            task = int(contexts[slot + codes.C_TASK])
            context = int(contexts[slot + codes.C_ID])
            if task >= 0 and context >= 0:  # a slot that was given back has no context
                self.task_tags[context] = task


def _steps(rows: Rows, stop: int) -> Steps:
    """A block of wide rows as steps."""
    kinds = rows.kind
    kind = np.minimum(kinds, SWITCH).astype(np.uint8)
    switch = kinds >= MARK_OUT
    leave = np.flatnonzero(kinds == LEAVE)
    context, depth = rows.context, rows.depth
    if switch.any():
        out = kinds == MARK_OUT
        context, depth = np.where(out, 0, context), np.where(out, rows.part, depth)
    call = np.where(kinds == MARK_INLINE, rows.parent, rows.call)
    return Steps(
        kind, rows.fn, rows.time, context, depth, call, rows.parent, rows.path, rows.leave,
        leave, rows.select(leave), stop,
    )  # fmt: skip
