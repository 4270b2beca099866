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
from kprof.analysis.paging import Pages
from kprof.analysis.tags import TAGS, TagTable
from kprof.capture.model import Capture

BLOCK = 1 << 16
_SPARE = 8
_WIDE = 11
_NARROW = 5


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
    fast
        Run the compiled replay, on arrays (`kprof.analysis.fast`).

    Attributes
    ----------
    at
        Events that are replayed; the others wait for what comes after them.
    """

    def __init__(self, table: TagTable, *, detail: bool = False, fast: bool = False) -> None:
        self._detail = detail
        self._switching = bool(table.switcher.any())
        self._fast: Any = None
        if fast:
            from kprof.analysis.fast import compiled

            self._fast = compiled()
        self.at = 0
        self._now = 0
        self._held: tuple[Any, Any] = (self._zeros(0), self._zeros(0))
        self.state: Any = self._zeros(states.STATE_SIZE)
        self.state[states.MODE] = states.UNDECIDED
        self.state[states.CONTEXT] = -1
        self.state[states.CONTEXTS] = 1
        self.state[states.SYSTEM_TOP] = -1
        self.state[states.FREE] = -1
        switcher = table.switcher if fast else table.switcher.tolist()
        self._tables: Any = (self._zeros(max(1, len(table.functions))), switcher)
        self._stack: Any = tuple(self._zeros(1) for _ in range(6))
        self._stack[0][0] = states.MARK - 1
        self._stack[5][0] = -1
        self._pool: Any = tuple(self._zeros(0) for _ in range(7))
        queue = states.QUEUE_SIZE if self._switching else 1
        self._queue: Any = tuple(self._zeros(queue) for _ in range(5))
        self._look: Any = (self._zeros(queue), self._zeros(queue), self._zeros(0))
        self._rows: Any = ()

    def feed(self, times: NDArray[np.int64], ops: NDArray[np.int32], last: bool = False) -> Rows:
        """Replay the next events; `last` with the last ones."""
        held_times, held_ops = self._held
        if self._fast is None:
            new_times: Any = held_times + times.tolist()
            new_ops: Any = held_ops + ops.tolist()
        else:
            new_times = np.concatenate([held_times, times]) if len(held_ops) else times
            new_ops = np.concatenate([held_ops, ops], dtype=np.int32) if len(held_ops) else ops
        stop = len(new_ops)
        rows = self.room(stop)
        step = replay.step if self._fast is None else self._fast.step
        done, made = step(
            new_times, new_ops, 0, stop, stop, last, self.at, self._detail, self.state,
            self._tables, self._stack, self._pool, self._queue, self._look, rows,
        )  # fmt: skip
        self._held = (new_times[done:], new_ops[done:])
        self.at += done
        if stop:
            self._now = int(new_times[-1])
        return self._collect(rows, made)

    def finish(self) -> Rows:
        """The rows of the calls that are still open; call once, after the last `feed`."""
        rows = self.room(0)
        end = contexts.finish if self._fast is None else self._fast.finish
        made = end(self._now, self.state, self._tables, self._stack, self._pool, self._queue, rows)
        return self._collect(rows, made)

    def run(
        self, code: Any, times: Any, ops: Any, end: int, last: bool, tally: NDArray[np.int64]
    ) -> int:
        """Replay and tally the first `end` events by `code.run`; how many are done."""
        rows = self.room(end, keep=True)
        done: int = code.run(
            times, ops, end, last, self.at, self.state, self._tables, self._stack, self._pool,
            self._queue, self._look, rows, tally,
        )  # fmt: skip
        self.at += done
        return done

    def end_at(self, now: int) -> None:
        """Say when the last event was, where they came by `run`."""
        self._now = now

    def room(self, events: int, keep: bool = False) -> Any:
        """Make every column large enough for `events` more; zeroed columns for the rows.

        With `keep` the columns of the rows before are used again, as their user left them.
        """
        depth = int(self.state[states.SP]) + events + _SPARE
        size = depth
        if self._switching:
            # A resumed context may be as deep as all frames in the pool; each event may save the
            # running stack, slot 0 included.
            frames = int(self.state[states.USED])
            size += frames + events
            self._pool = self._grown(self._pool, size + events)
            self._look = (*self._look[:2], *self._grown(self._look[2:], events + _SPARE))
            depth += frames
        if self._detail:
            size += events
        self._stack = self._grown(self._stack, depth)
        if keep and self._rows and len(self._rows[0]) >= size:
            return self._rows
        if keep:
            size += size // 4
        columns = [self._zeros(size) for _ in range(_WIDE if self._detail else _NARROW)]
        while len(columns) < _WIDE:
            columns.append(columns[-1] if len(columns) > _NARROW else self._zeros(size))
        self._rows = tuple(columns) if keep else ()
        return tuple(columns)

    def _zeros(self, size: int) -> Any:
        return [0] * size if self._fast is None else np.zeros(size, np.int64)

    def _grown(self, columns: Any, size: int) -> Any:
        if len(columns[0]) >= size:
            return columns
        if self._fast is None:
            for column in columns:
                column.extend([0] * (size - len(column)))
            return columns
        grown = tuple(np.zeros(size + size // 2, np.int64) for _ in columns)
        for new, old in zip(grown, columns, strict=True):
            new[: len(old)] = old
        return grown

    def _collect(self, rows: Any, made: int) -> Rows:
        wanted = _WIDE if self._detail else _NARROW
        return Rows(
            *(np.array(rows[k][: made if k < wanted else 0], np.int64) for k in range(_WIDE))
        )


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
    pages = Pages(capture.records)
    for number, (ticks, tags) in enumerate(capture.chunks(BLOCK)):
        tag_counts += np.bincount(tags, minlength=TAGS)
        yield machine.feed(clock.advance(ticks), table.ops[tags])
        pages.release(number * BLOCK)
    yield machine.feed(np.empty(0, np.int64), np.empty(0, np.int32), last=True)
    yield machine.finish()
