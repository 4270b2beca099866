"""A capture as a stream of steps: every entry, exit, inline trigger and switch in order of time.

`timeline` keeps all calls of a capture; this hands on the same calls a block at a time, so that an
export of any length needs the memory of a few blocks. A *step* is one of

======  =======================================================================================
ENTER   a call begins
LEAVE   a call ends; `Steps.rows` has its figures. Several may share an event (unwound calls)
INLINE  an inline trigger
SWITCH  `context` runs from here on
======  =======================================================================================

The calls of each context nest. An orphan exit has an ENTER too: where its slice began or, with
calls still open there that began earlier, where the last of these ends. That asks for a look
ahead of up to `HELD` blocks; an orphan of a longer slice begins where it ends, and so does an
exit that matches nothing while calls are open.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kprof.analysis import fast, states
from kprof.analysis.clock import Clock
from kprof.analysis.machine import BLOCK, Machine, Rows
from kprof.analysis.paging import Pages
from kprof.analysis.placing import Placer
from kprof.analysis.steps import ENTER, INLINE, LEAVE, SWITCH, Merged, Merger, Steps
from kprof.analysis.summary import Ledger
from kprof.analysis.tags import TAGS, TagTable
from kprof.capture.model import Capture
from kprof.names import NameFile

__all__ = ["ENTER", "HELD", "INLINE", "LEAVE", "SWITCH", "StepStream", "Steps"]

HELD = 4
"""Blocks of 65,536 events that are looked ahead to find where orphans begin."""


class StepStream:
    """The steps of a capture; iterate as often as needed.

    Attributes
    ----------
    functions, inlines
        Entries of the name file by their number in `Steps.name`.
    info
        What is known of the capture.
    first
        The context that runs before the first switch.
    compiled
        The capture is so large that compiled code is worth its start, and numba is there.
    ledger
        Where the time went; complete after an iteration.
    contexts
        Task contexts that were told apart; after an iteration.
    """

    def __init__(self, capture: Capture, names: NameFile) -> None:
        self._capture = capture
        self._table = TagTable.of(names)
        self.functions = self._table.functions
        self.inlines = self._table.inlines
        self.info = capture.info
        self.compiled = fast.pays(capture.events)
        self.first = _first_context(capture, self._table)
        self.ledger = Ledger(0, 0, 0, 0)
        self.contexts = 0

    def __iter__(self) -> Iterator[Steps]:
        placer = Placer()
        held: deque[Merged] = deque()
        for block in self._merged():
            held.append(block)
            placer.look(held)
            if len(held) > HELD:
                yield placer.place(held.popleft())
        while held:
            yield placer.place(held.popleft())

    def tag_counts(self) -> NDArray[np.int64]:
        """How often each tag occurs in the capture, shape (65536,); reads all of it."""
        counts = np.zeros(TAGS, np.int64)
        pages = Pages(self._capture.records)
        for number, (_, tags) in enumerate(self._capture.chunks(BLOCK)):
            pages.release(number * BLOCK)
            counts += np.bincount(tags, minlength=TAGS)
        return counts

    def raw(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
        """The ticks and tags of these events as they were stored."""
        part = Capture(self.info, self._capture.records[start:stop])
        return part.ticks(), part.tags()

    def _merged(self) -> Iterator[Merged]:
        machine = Machine(self._table, detail=True, fast=self.compiled)
        clock = Clock(self.info)
        merger = Merger(self.first)
        times = np.empty(0, np.int64)
        ops = np.empty(0, np.int32)
        net = 0
        pages = Pages(self._capture.records)
        for ticks, tags in self._capture.chunks(BLOCK):
            new_times, new_ops = clock.advance(ticks), self._table.ops[tags]
            times, ops = _joined(times, new_times), _joined(ops, new_ops)
            rows = machine.feed(new_times, new_ops)
            done = machine.at - merger.at
            net += int(rows.net.sum())
            yield merger.merge(times[:done], ops[:done], rows, clock.time)
            times, ops = times[done:], ops[done:]
            pages.release(merger.at - HELD * BLOCK)
        rows = machine.feed(np.empty(0, np.int64), np.empty(0, np.int32), last=True)
        opened = machine.finish()
        opened = opened._replace(leave=np.full(len(opened.fn), merger.at + len(ops), np.int64))
        rows = Rows(*(np.concatenate(pair) for pair in zip(rows, opened, strict=True)))
        net += int(rows.net.sum())
        yield merger.merge(times, ops, rows, clock.time)
        state: Any = machine.state
        idle, unattributed = int(state[states.IDLE]), int(state[states.UNATTRIBUTED])
        self.ledger = Ledger(clock.time, net, idle, unattributed)
        self.contexts = int(state[states.CONTEXTS]) - 1


def _joined(before: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([before, new]) if len(before) else new


def _first_context(capture: Capture, table: TagTable) -> int:
    """What runs before the first switch: a task (1) or the system context (0)."""
    if not table.switcher.any():
        return 1
    pages = Pages(capture.records)
    for number, (_, tags) in enumerate(capture.chunks(BLOCK)):
        pages.release(number * BLOCK)
        kinds = table.ops[tags] - states.SPECIAL
        switches = (kinds >= 0) & ((kinds & 7) >= states.SWITCH_OUT)
        if switches.any():
            kind = int(kinds[np.argmax(switches)]) & 7
            return 1 if kind in (states.SWITCH_OUT, states.SWTCH_ENTRY) else 0
    return 1
