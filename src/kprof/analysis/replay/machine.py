"""Feeding a capture to the replay, a block at a time, and collecting its rows.

The replay runs on plain lists or, compiled, on arrays; `Machine` owns the columns of either, keeps
them large enough, and carries the state from block to block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay import codes, contexts, engine
from kprof.analysis.replay.columns import Replay, Rows
from kprof.analysis.replay.survey import Survey

_FRAMES = 1 << 12  # frames at the start
_PART = 1 << 15  # events whose rows are there at a time: 4 MB of wide ones
_KNOWN_CALLS = 1 << 15  # what is remembered of who called whom
_WIDE, _NARROW = codes.WIDE, codes.NARROW

Column = NDArray[np.int64]


class Machine:
    """One replay in progress.

    Parameters
    ----------
    survey
        What the tags mean, and what is known of the capture before it is replayed.
    detail
        Wide rows, for entries, inline triggers and switches too.
    fast
        Run the compiled replay, on arrays.

    Attributes
    ----------
    at
        Events that are replayed; the others wait for what comes after them.
    """

    def __init__(self, survey: Survey, *, detail: bool = False, fast: bool = False) -> None:
        self._detail = detail
        self._fast = fast
        self._step, self._finish = engine.step, contexts.finish
        if fast:
            from kprof.analysis.replay.compiled import compiled

            self._step, self._finish = compiled().step, compiled().finish
        self._switching = survey.table.switching
        self.at = 0
        self._now = 0
        self._held: tuple[Any, Any] = (self._zeros(0), self._zeros(0))
        self.columns = self._columns(survey)
        self._begin(survey)

    def feed(self, times: Column, ops: NDArray[np.int32], last: bool = False) -> Iterator[Rows]:
        """Replay the next events; `last` with the last ones. The rows come a few at a time."""
        held_times, held_ops = self._held
        if not self._fast:
            new_times: Any = held_times + times.tolist()
            new_ops: Any = held_ops + ops.tolist()
        else:
            new_times = np.concatenate([held_times, times]) if len(held_ops) else times
            new_ops = np.concatenate([held_ops, ops], dtype=np.int32) if len(held_ops) else ops
        stop = len(new_ops)
        first, done, why = self.at, 0, 0
        if stop:
            self._now = int(new_times[-1])
        while done < stop and why != engine.WAITS:
            part = min(stop, done + _PART)
            room = self.make_room(part - done)
            done, made, why = self._step(
                self.columns, new_times, new_ops, done, part, stop, last, first,
                self._detail, room,
            )  # fmt: skip
            self.at = first + done
            if why == engine.FULL:
                self.make_frames()
            if made:
                yield Rows(self._taken(made))
        self._held = (new_times[done:], new_ops[done:])

    def finish(self) -> Rows:
        """The rows of the calls that are still open; call once, after the last `feed`."""
        self.make_room(0, every=True)
        made = self._finish(self.columns, self._now, self.at, self._detail)
        return Rows(self._taken(made))

    def run(self, code: Any, times: Any, ops: Any, end: int, last: bool, tally: Column) -> int:
        """Replay and tally the first `end` events by the compiled `run`; how many are done."""
        done = 0
        while done < end:
            room = self.make_room(code.part)
            reached, why = code.run(
                self.columns, times[done:end], ops[done:end], last, self.at + done, room, tally
            )
            done += reached
            if why == engine.WAITS:
                break
            if why == engine.FULL:
                self.make_frames()
        self.at += done
        return done

    def end_at(self, now: int) -> None:
        """Say when the last event was, where they came by `run`."""
        self._now = now

    def __getitem__(self, place: int) -> int:
        """A value of the state, by its place in `codes`."""
        return int(self.columns.state[place])

    def paths(self) -> tuple[Column, Column]:
        """The call paths so far: what ends each, and the path that it continues; see `codes`."""
        count = self[codes.PATHS]
        code, parent = self.columns.path_code, self.columns.path_parent
        return np.array(code[:count], np.int64), np.array(parent[:count], np.int64)  # type: ignore

    def cut_paths(self) -> None:
        """Let the paths of calls from here on begin here, as if nothing were open."""
        r = self.columns
        for slot in range(0, self[codes.SLOTS] * codes.CONTEXT, codes.CONTEXT):
            base, end = r.contexts[slot + codes.C_BASE], r.contexts[slot + codes.C_END]
            for frame in range(base, end, codes.FRAME):
                r.frames[frame + codes.PATH] = r.frames[base + codes.PATH]

    def make_room(self, events: int, every: bool = False) -> int:
        """Make the rows and paths large enough for `events` more; what the rows may fill.

        With `every` there is room for the rows of all open calls.
        """
        r = self.columns
        width = _WIDE if self._detail else _NARROW
        depth = (self[codes.SP] - self[codes.GROUND]) // codes.FRAME
        if every:
            depth = self[codes.TOP] // codes.FRAME
        wanted = width * (events + 4) + 2 * _WIDE * (2 * depth + codes.MOST_GHOSTS + 32)
        if len(r.rows) < wanted:  # type: ignore[arg-type]
            self.columns = r = r._replace(rows=self._zeros(wanted + wanted // 4))
        if self._detail:
            self._make_paths(
                self[codes.PATHS] + events + codes.MOST_GHOSTS + self[codes.TOP] // codes.FRAME + 2
            )
        return len(r.rows)  # type: ignore[arg-type]

    def make_frames(self) -> None:
        """Make the column of frames twice as long."""
        r = self.columns
        size = 2 * self[codes.SIZE]
        self.columns = r._replace(frames=self._longer(r.frames, size))
        r.state[codes.SIZE] = size

    def _make_paths(self, wanted: int) -> None:
        r = self.columns
        if len(r.path_code) < wanted:  # type: ignore[arg-type]
            size = 2 * wanted
            self.columns = r = r._replace(
                path_code=self._longer(r.path_code, size),
                path_parent=self._longer(r.path_parent, size),
            )
        if self[codes.PATH_MASK] < 2 * wanted:
            mask = (1 << (3 * wanted).bit_length()) - 1
            keys: Any = self._zeros(mask + 1, codes.NONE)
            ids: Any = self._zeros(mask + 1)
            for path in range(1, self[codes.PATHS]):
                key = (int(r.path_parent[path]) << 32) | int(r.path_code[path])
                at = (key * 0x9E3779B1 ^ (key >> 29)) & mask
                while keys[at] >= 0:
                    at = (at + 1) & mask
                keys[at], ids[at] = key, path
            r.state[codes.PATH_MASK] = mask
            self.columns = r._replace(path_keys=keys, path_ids=ids)

    def _columns(self, survey: Survey) -> Replay:
        functions = len(survey.role)
        slots = codes.MOST_CONTEXTS + 2 if self._switching else 2
        seen = _KNOWN_CALLS if self._switching and survey.can is None else 1
        can: Any = survey.can if survey.can is not None else np.zeros(1, np.uint8)
        return Replay(
            state=self._zeros(codes.STATE_SIZE),
            nest=self._zeros(functions),
            role=self._column(survey.role),
            frames=self._zeros(_FRAMES * codes.FRAME),
            contexts=self._zeros(slots * codes.CONTEXT),
            tasks=self._zeros(1 << 16 if survey.table.task_names else 1, codes.NONE),
            rows=self._zeros(0),
            path_code=self._zeros(1),
            path_parent=self._zeros(1),
            path_keys=self._zeros(1, codes.NONE),
            path_ids=self._zeros(1),
            seen=self._zeros(seen, codes.NONE),
            times_seen=self._zeros(seen),
            items=self._zeros(codes.MOST_ITEMS + codes.MOST_GHOSTS + 2),
            inside=self._zeros(4 * codes.MOST_ITEMS),
            pairs=self._zeros(4 * codes.MOST_ITEMS),
            delta=self._zeros(functions),
            can=can if self._fast else can.tobytes(),
            stride=survey.stride,
        )

    def _begin(self, survey: Survey) -> None:
        """The system context, and the task that runs first where one does."""
        state: Any = self.columns.state
        for place in (codes.FREE, codes.OLDEST, codes.NEWEST, codes.LAST):
            state[place] = codes.NONE
        state[codes.SIZE] = _FRAMES * codes.FRAME
        state[codes.PATHS] = 1
        state[codes.SEEN_MASK] = len(self.columns.seen) - 1  # type: ignore[arg-type]
        state[codes.KNOWS] = int(survey.can is not None)
        state[codes.JUMPS] = int(survey.jumps)
        state[codes.MARKS] = int(survey.marks)
        never = bool((survey.role & codes.ROLE_NEVER).any())
        state[codes.WATCH] = int(survey.can is not None or never)
        state[codes.FIRST_LOOK] = int(self._switching and survey.can is None and not survey.marks)
        state[codes.GHOSTS_DUE] = 1
        state[codes.DETAIL] = int(self._detail)
        if self._detail:
            self._make_paths(16)
        slot = contexts.new_context(self.columns, 0, codes.NONE, self._detail)
        if survey.starts_in_task:
            slot = contexts.new_context(self.columns, 0, codes.NONE, self._detail)
        contexts.take_up(self.columns, slot, 0, 0, 0, self._detail)
        state[codes.LAST] = codes.NONE

    def _taken(self, made: int) -> Column:
        width = _WIDE if self._detail else _NARROW
        rows: Any = self.columns.rows
        taken = np.array(rows[:made], np.int64).reshape(-1, width)
        if not self._detail:
            rows[:made] = self._zeros(made)
        return taken

    def _zeros(self, size: int, value: int = 0) -> Any:
        return np.full(size, value, np.int64) if self._fast else [value] * size

    def _column(self, values: Column) -> Any:
        return values.copy() if self._fast else values.tolist()

    def _longer(self, column: Any, size: int) -> Any:
        longer = self._zeros(size)
        longer[: len(column)] = column
        return longer
