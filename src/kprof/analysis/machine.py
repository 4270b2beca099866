"""Feeding a capture to the replay, a block at a time, and collecting its rows.

The replay (`kprof.analysis.replay`) runs on plain lists or, compiled, on arrays; `Machine` owns the
columns of either, keeps them large enough, and carries the state from block to block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis import contexts, replay, states
from kprof.analysis.clock import Clock
from kprof.analysis.tags import TAGS, TagTable
from kprof.capture.model import Capture

BLOCK = 1 << 16
_SPARE = 8


class Rows(NamedTuple):
    """What a block of events made: int64 columns of one length, in the order of the exits.

    `fn, elapsed, net, away, flags` are always there; `entry, leave, parent, depth, context, part`
    only with detail (else empty). See `kprof.analysis.calls` for what they mean.
    """

    fn: NDArray[np.int64]
    elapsed: NDArray[np.int64]
    net: NDArray[np.int64]
    away: NDArray[np.int64]
    flags: NDArray[np.int64]
    entry: NDArray[np.int64]
    leave: NDArray[np.int64]
    parent: NDArray[np.int64]
    depth: NDArray[np.int64]
    context: NDArray[np.int64]
    part: NDArray[np.int64]


class Machine:
    """One replay in progress.

    Parameters
    ----------
    table
        What the tags mean.
    detail
        Fill all columns of the rows, and write rows for inline triggers and switches.
    """

    def __init__(self, table: TagTable, *, detail: bool = False) -> None:
        self._detail = detail
        self._switching = bool(table.switcher.any())
        self._at = 0
        self._now = 0
        self._held: tuple[list[int], list[int]] = ([], [])
        state = [0] * states.STATE_SIZE
        state[states.MODE] = states.UNDECIDED
        state[states.CONTEXT] = -1
        state[states.CONTEXTS] = 1
        state[states.SYSTEM_TOP] = -1
        state[states.FREE] = -1
        self.state: Any = state
        self._tables: Any = ([0] * max(1, len(table.functions)), table.switcher.tolist())
        self._stack: Any = tuple([0] for _ in range(6))
        self._stack[0][0] = states.MARK - 1
        self._stack[5][0] = -1
        self._pool: Any = tuple([] for _ in range(7))
        self._queue: Any = tuple([0] * states.QUEUE_SIZE for _ in range(5))
        self._look: Any = ([0] * states.QUEUE_SIZE, [0] * states.QUEUE_SIZE, [])

    def feed(self, times: NDArray[np.int64], ops: NDArray[np.int32], last: bool = False) -> Rows:
        """Replay the next events; `last` with the last ones."""
        held_times, held_ops = self._held
        new_times = held_times + times.tolist()
        new_ops = held_ops + ops.tolist()
        stop = len(new_ops)
        rows = self._room(stop)
        done, made = replay.step(
            new_times, new_ops, 0, stop, last, self._at, self._detail, self.state, self._tables,
            self._stack, self._pool, self._queue, self._look, rows,
        )  # fmt: skip
        self._held = (new_times[done:], new_ops[done:])
        self._at += done
        if stop:
            self._now = new_times[-1]
        return self._collect(rows, made)

    def finish(self) -> Rows:
        """The rows of the calls that are still open; call once, after the last `feed`."""
        rows = self._room(0)
        made = contexts.finish(
            self._now, self.state, self._tables, self._stack, self._pool, self._queue, rows
        )
        return self._collect(rows, made)

    def _room(self, events: int) -> tuple[list[int], ...]:
        """Make every column large enough for `events` more; fresh columns for the rows."""
        depth = self.state[states.SP] + events + _SPARE
        size = depth
        if self._switching:
            # A resumed context may be as deep as all frames in the pool; each event may save the
            # running stack, slot 0 included.
            frames = self.state[states.USED]
            size += frames + events
            _grow(self._pool, size + events)
            _grow(self._look[2:], events + _SPARE)
            depth += frames
        if self._detail:
            size += events
        _grow(self._stack, depth)
        columns = [[0] * size for _ in range(11 if self._detail else 5)]
        while len(columns) < 11:
            columns.append(columns[-1] if len(columns) > 5 else [0] * size)
        return tuple(columns)

    def _collect(self, rows: tuple[list[int], ...], made: int) -> Rows:
        wanted = 11 if self._detail else 5
        return Rows(*(np.array(rows[k][: made if k < wanted else 0], np.int64) for k in range(11)))


def _grow(columns: tuple[list[int], ...], size: int) -> None:
    for column in columns:
        if len(column) < size:
            column.extend([0] * (size - len(column)))


def replay_rows(
    capture: Capture,
    table: TagTable,
    machine: Machine,
    clock: Clock,
    tag_counts: NDArray[np.int64],
) -> Iterator[Rows]:
    """The rows of a whole capture, a block of events at a time.

    `tag_counts`, shape (65536,), is increased by the tags that were seen.
    """
    for ticks, tags in capture.chunks(BLOCK):
        tag_counts += np.bincount(tags, minlength=TAGS)
        yield machine.feed(clock.advance(ticks), table.ops[tags])
    yield machine.feed(np.empty(0, np.int64), np.empty(0, np.int32), last=True)
    yield machine.finish()
