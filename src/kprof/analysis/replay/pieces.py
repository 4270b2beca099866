"""A capture in pieces that are replayed side by side, and joined to what one replay would give.

A piece is replayed as if nothing were open before it. That is right for all calls that begin in it;
what is not known is what runs below them. So it keeps, beside the sums of its calls,

- its *exits*: of calls that began further left, with the time that was spent in these, and not in
  calls of the piece, since the exit before;
- by the exit that comes next: the sums of its outermost calls of each function, which are inner
  ones if the function is open further left; and the functions that were entered directly above
  what is further left, where call knowledge must allow that;
- the calls that are still open at its end.

Joining hands these to the replay of what is further left, in this order, as if they were events.
A piece in which an exit or an unexpected entry depends on more (it would have ended calls of the
piece, too) is not joined but replayed once more. In a capture with context switches nearly every
slice depends on more: such a capture is not cut.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.paging import Pages
from kprof.analysis.replay import codes, engine
from kprof.analysis.replay.codes import FN, FRAME, MARK, TIME
from kprof.analysis.replay.decoding import Decoder, Ended
from kprof.analysis.replay.frames import can_call, widen
from kprof.analysis.replay.machine import Machine
from kprof.analysis.replay.survey import Survey
from kprof.analysis.replay.tally import ELAPSED, LEAST, MOST, Found, Tally
from kprof.capture.model import Capture

Column = NDArray[np.int64]
PIECE = 1 << 21  # events
_MOST_EXITS = 256  # of calls that began further left


class Piece(NamedTuple):
    """A piece that was replayed; its times are ticks since its first event."""

    events: int
    found: Found
    tally: Tally
    machine: Machine
    decoder: Decoder
    first_ticks: int


def can_be_cut(survey: Survey, events: int) -> bool:
    """Is a capture one to replay in pieces? Nothing may be switched in it."""
    known = survey.can is not None or not (survey.role & codes.ROLE_NEVER).any()
    return events > 2 * PIECE and not survey.switches and known and cores() > 1


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Joined:
    """A capture that is replayed in pieces.

    Parameters
    ----------
    code
        The compiled functions.
    size
        Events of a piece.

    Attributes
    ----------
    machine
        The replay, as if there had been no pieces.
    ended
        What is known of the pieces so far.
    repeated
        Pieces that were replayed once more.
    """

    def __init__(
        self, code: Any, capture: Capture, survey: Survey, tally: Tally, size: int = PIECE
    ) -> None:
        self._code = code
        self._capture = capture
        self._survey = survey
        self._tally = tally
        self._size = size
        self._mask = (1 << capture.info.time_bits) - 1
        self._ticks: int | None = None
        self.machine = _machine(survey)
        self.ended = Ended(0, 0, np.zeros(1 << 16, np.int64))
        self.repeated = 0

    def run(self) -> None:
        """Replay all of the capture."""
        pages = Pages(self._capture.records)
        for start, piece in self._pieces():
            self._join(piece, start)
            pages.release(start)

    def _pieces(self) -> Iterator[tuple[int, Piece]]:
        """The pieces in their order; a few are replayed ahead."""
        workers = cores()
        waiting: deque[tuple[int, Future[Piece]]] = deque()
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, self._capture.events, self._size):
                waiting.append((start, pool.submit(self._piece, start)))
                if len(waiting) > workers:
                    first, piece = waiting.popleft()
                    yield first, piece.result()
            while waiting:
                first, piece = waiting.popleft()
                yield first, piece.result()

    def _part(self, start: int) -> Capture:
        return Capture(self._capture.info, self._capture.records[start : start + self._size])

    def _piece(self, start: int) -> Piece:
        part = self._part(start)
        functions = len(self._survey.role)
        found = Found(
            np.zeros(2, np.int64),
            np.zeros((_MOST_EXITS, 3), np.int64),
            np.zeros((_MOST_EXITS + 1, functions), np.int64),
            np.zeros((_MOST_EXITS + 1, functions), np.uint8),
        )
        machine = _machine(self._survey)
        machine.columns.state[codes.PIECE] = 1
        tally = Tally(functions)
        decoder = Decoder(self._code, part, self._survey.table.ops)
        first_ticks = decoder.ticks
        for times, ops in decoder.parts():
            if found.state[1]:
                break
            done = 0
            while done < len(ops):
                room = machine.make_room(self._code.part)
                reached, why = self._code.run_piece(
                    machine.columns, times[done:], ops[done:], room, tally.table, found
                )
                done += reached
                if why == engine.FULL:
                    machine.make_frames()
        found.outermost[found.state[0]] = tally.table[:, ELAPSED]
        return Piece(part.events, found, tally, machine, decoder, first_ticks)

    def _join(self, piece: Piece, start: int) -> None:
        """Go on with a piece."""
        since = 0
        if self._ticks is not None:
            since = (piece.first_ticks - self._ticks) & self._mask
            if self._capture.info.unwrapped:
                since = max(0, piece.first_ticks - self._ticks)
        if piece.found.state[1] or not self._allowed(piece):
            self._repeat(start)
            return
        begin = self.ended.now + since
        self._open_calls(piece, begin, self._end_calls(piece, begin))
        state, theirs = self.machine.columns.state, piece.machine
        for place in (codes.IDLE, codes.USER):
            state[place] += theirs[place]
        table, more = self._tally.table, piece.tally.table
        least = np.minimum(table[:, LEAST], more[:, LEAST])
        most = np.maximum(table[:, MOST], more[:, MOST])
        table += more
        table[:, LEAST], table[:, MOST] = least, most
        now, longest, counts = piece.decoder.ended
        self._after(piece.decoder, Ended(begin + now, max(since, longest), counts))

    def _repeat(self, start: int) -> None:
        """Replay a piece behind what is further left."""
        self.repeated += 1
        before = (self._ticks, self.ended.now) if self._ticks is not None else None
        decoder = Decoder(self._code, self._part(start), self._survey.table.ops, before)
        for times, ops in decoder.parts():
            self.machine.run(self._code, times, ops, len(ops), True, self._tally.table)
        self._after(decoder, decoder.ended)

    def _after(self, decoder: Decoder, ended: Ended) -> None:
        self._ticks = decoder.ticks
        longest = max(self.ended.longest, ended.longest)
        self.ended = Ended(ended.now, longest, self.ended.counts + ended.counts)

    def _allowed(self, piece: Piece) -> bool:
        """Can what is further left call what the piece enters directly above it?"""
        r = self.machine.columns
        if not r.state[codes.WATCH]:
            return True
        found = piece.found
        stack = self._open_functions()
        for number in range(int(found.state[0]) + 1):
            entered = np.flatnonzero(found.entered[number])
            if stack and not all(can_call(r, stack[-1], fn) for fn in entered.tolist()):
                return False
            if number < found.state[0]:
                left = int(found.exits[number, 0])
                if left in stack:
                    while stack.pop() != left:
                        pass
        return True

    def _open_functions(self) -> list[int]:
        r = self.machine.columns
        ground, sp = int(r.state[codes.GROUND]), int(r.state[codes.SP])
        return [int(r.frames[k + FN]) & (MARK - 1) for k in range(ground + FRAME, sp + 1, FRAME)]

    def _inner(self, sums: Column) -> None:
        """Calls of the piece are inner ones where their function is open further left."""
        for fn in set(self._open_functions()):
            self._tally.table[fn, ELAPSED] -= sums[fn]

    def _end_calls(self, piece: Piece, begin: int) -> int:
        """The piece's exits of calls that began further left; when the last was."""
        found = piece.found
        before = 0
        sums = np.zeros(len(self._survey.role), np.int64)
        for number in range(int(found.state[0])):
            fn, time, own = found.exits[number].tolist()
            self.machine.columns.state[codes.CHILD_SUM] += time - before - own
            before = time
            self._inner(found.outermost[number] - sums)
            sums = found.outermost[number]
            times = np.array([begin + time], np.int64)
            ops = np.array([-1 - fn], np.int32)
            self.machine.run(self._code, times, ops, 1, True, self._tally.table)
        self._inner(found.outermost[found.state[0]] - sums)
        return before

    def _open_calls(self, piece: Piece, begin: int, last: int) -> None:
        """The piece's calls that are still open; `last`: its last exit from further left."""
        theirs = piece.machine.columns
        frames: Any = theirs.frames
        ground, sp = int(theirs.state[codes.GROUND]), int(theirs.state[codes.SP])
        count = (sp - ground) // FRAME
        machine = self.machine
        self._make_frames(count)
        r = machine.columns
        stack: Any = r.frames
        below = int(r.state[codes.SP])
        child = int(theirs.state[codes.CHILD_SUM])
        inside = int(frames[ground + FRAME + codes.CHILD]) if count else child
        children = int(r.state[codes.CHILD_SUM]) + inside - last
        r.state[codes.CHILD_SUM] = child if count else children
        for k in range(FRAME, count * FRAME + FRAME, FRAME):
            stack[below + k : below + k + FRAME] = frames[ground + k : ground + k + FRAME]
            stack[below + k + TIME] += begin
            r.nest[int(stack[below + k + FN]) & (MARK - 1)] += 1
        if count:
            stack[below + FRAME + codes.CHILD] = children
        r.state[codes.SP] = below + count * FRAME

    def _make_frames(self, count: int) -> None:
        """Make room for so many calls on the running stack."""
        while not widen(self.machine.columns, count + 4):
            self.machine.make_frames()


def _machine(survey: Survey) -> Machine:
    machine = Machine(survey, fast=True)
    machine.columns.state[codes.FIRST_LOOK] = 0
    return machine
