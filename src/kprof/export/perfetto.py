"""Perfetto's native trace: track events with interned names, for https://ui.perfetto.dev.

A track for each context, with its calls from entry to exit (time switched out included) and its
inline triggers; a counter of its depth; and a track that shows which context runs. What the calls
of a context that was switched out have to say beyond that stands in annotations of their ends.

A trace is one message whose fields 1 are packets. The packets of calls all have the same size, so
that a block of them is a table of bytes (`kprof.export.packets`). Times are
nanoseconds, each counted from the packet before (an incremental clock of the sequence).
Schema: protos/perfetto/trace/trace_packet.proto and track_event/ of the Perfetto repository.
"""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay import codes as states
from kprof.analysis.stream import INLINE, SWITCH, Steps
from kprof.export.labels import context_name
from kprof.export.packets import BEGIN, END, FIRST, Columns, Layout, compiled
from kprof.export.protobuf import content, number, varint
from kprof.export.units import Scale
from kprof.export.view import View

_PACKET = 1
_TIMESTAMP, _SNAPSHOT, _SEQUENCE, _EVENT, _INTERNED, _FLAGS = 8, 6, 10, 11, 12, 13
_CLOCK, _DEFAULTS, _TRACK = 58, 59, 60
_CLEARED, _NEEDED = 1, 2
_REALTIME, _BOOTTIME, _OWN_CLOCK = 1, 6, 64

_PROCESS, _RUNNING = 1, 2  # tracks, besides those of the contexts
_NOTES = ("ended by", "switched out ns")
_ENDINGS = ((states.ORPHAN, "began before"), (states.OPEN, "open"), (states.UNWOUND, "unwound"))
_MARKED = states.ORPHAN | states.OPEN | states.UNWOUND | states.RESUMED


def write(view: View, out: BinaryIO) -> None:
    """Write the capture as a Perfetto trace."""
    _Writer(view, out).write()


class _Writer:
    def __init__(self, view: View, out: BinaryIO) -> None:
        self._view = view
        self._out = out
        self._scale = Scale(view.info.clock_hz, "ns")
        self._seen = np.zeros(len(view.functions) + len(view.inlines), bool)
        self._described = np.zeros(64, bool)
        self._now = 0
        self._layouts: dict[tuple[int, int, int, int], Layout] = {}

    def write(self) -> None:
        self._head()
        for block, shown in enumerate(self._view):
            if not block:  # its name is known only then
                self._describe(np.array([self._view.first]), self._view.first)
                self._begin(self._view.first)
            steps = shown.only_kept().steps
            if len(steps.kind):
                self._block(steps)
        self._end(self._scale.whole(self._view.ledger.elapsed) - self._now)

    def _packet(self, data: bytes) -> None:
        self._out.write(content(_PACKET, data + number(_SEQUENCE, 1)))

    def _head(self) -> None:
        info = self._view.info
        clocks = content(1, number(1, _BOOTTIME) + number(2, 0))
        if info.started_ns:
            clocks += content(1, number(1, _REALTIME) + number(2, info.started_ns))
        clocks += content(1, number(1, _OWN_CLOCK) + number(2, 0) + number(3, 1))
        self._packet(
            content(_SNAPSHOT, clocks)
            + content(_DEFAULTS, number(_CLOCK, _OWN_CLOCK))
            + number(_FLAGS, _CLEARED)
        )
        process = content(3, number(1, 1) + content(6, info.source))
        self._packet(content(_TRACK, number(1, _PROCESS) + process))
        self._track(_RUNNING, _PROCESS, "running")
        notes = b"".join(
            content(3, number(1, k + 1) + content(2, note)) for k, note in enumerate(_NOTES)
        )
        self._packet(content(_INTERNED, notes) + number(_FLAGS, _NEEDED))

    def _track(self, uuid: int, parent: int, name: str, more: bytes = b"") -> None:
        descriptor = number(1, uuid) + number(5, parent) + content(2, name) + more
        self._packet(content(_TRACK, descriptor))

    def _describe(self, contexts: NDArray[np.int64], high: int) -> None:
        """Tell of the tracks of contexts not met before; `high` is the highest of them."""
        if high >= len(self._described):
            self._described = np.append(self._described, np.zeros(2 * high, bool))
        if high == contexts.min() and self._described[high]:
            return
        for context in np.flatnonzero(np.bincount(contexts)).tolist():
            if not self._described[context]:
                self._described[context] = True
                uuid = FIRST + 2 * context
                self._track(uuid, _PROCESS, context_name(self._view, context))
                self._track(uuid + 1, uuid, "depth", content(8, content(6, "calls")))

    def _intern(self, used: NDArray[np.bool_]) -> None:
        """Tell of the names not met before; a name's iid is its number and 1."""
        functions, inlines = self._view.functions, self._view.inlines
        data = b""
        for name in np.flatnonzero(used & ~self._seen).tolist():
            known = name < len(functions)
            entry = functions[name] if known else inlines[name - len(functions)]
            data += content(2, number(1, name + 1) + content(2, entry.name))
        self._seen |= used
        if data:
            self._packet(content(_INTERNED, data) + number(_FLAGS, _NEEDED))

    def _begin(self, context: int) -> None:
        """On the track that shows what runs."""
        event = (
            number(9, BEGIN) + number(11, _RUNNING) + content(23, context_name(self._view, context))
        )
        self._step(0, event)

    def _end(self, gap: int) -> None:
        self._step(gap, number(9, END) + number(11, _RUNNING))

    def _step(self, gap: int, event: bytes) -> None:
        """A track event, `gap` ns after the packet before."""
        self._packet(number(_TIMESTAMP, gap) + number(_FLAGS, _NEEDED) + content(_EVENT, event))

    def _block(self, steps: Steps) -> None:
        kind, name = steps.kind, steps.name
        if len(self._view.inlines):
            name = np.where(kind == INLINE, name + len(self._view.functions), name)
        now = self._scale.column(steps.time)
        columns = Columns(kind, steps.context, name, steps.depth, now, self._now)
        context = int(steps.context.max())
        self._describe(steps.context, context)
        used = np.zeros(len(self._seen), bool)
        if self._view.compiled:
            gap, depth = compiled().survey(kind, steps.depth, now, self._now, name, used)
            layout = self._layout(gap, FIRST + 2 * context + 1, depth)
            table = layout.filled(columns)
        else:
            used[name] = True
            fields = columns.fields()
            gap, depth = int(fields.gap.max()), int(steps.depth.max()) + 1
            layout = self._layout(gap, FIRST + 2 * context + 1, depth)
            table = layout.table(fields)
        self._intern(used)
        self._put(steps, table, layout, now)
        self._now = int(now[-1])

    def _layout(self, gap: int, uuid: int, depth: int) -> Layout:
        sizes = max(2, _size(gap)), _size(uuid), _size(len(self._seen)), _size(depth)
        if sizes not in self._layouts:
            self._layouts[sizes] = Layout(*sizes)
        return self._layouts[sizes]

    def _put(
        self, steps: Steps, table: NDArray[np.uint8], layout: Layout, now: NDArray[np.int64]
    ) -> None:
        """Write the table; the steps that need more than it has one by one."""
        rows = steps.rows
        notes = np.flatnonzero(rows.flags & _MARKED)
        switches = np.flatnonzero(steps.kind == SWITCH)
        places = np.concatenate([steps.leave[notes], switches])
        order = np.argsort(places, kind="stable").tolist()
        written = 0
        for k in order:
            place = int(places[k])
            gap = int(now[place]) - (int(now[place - 1]) if place else self._now)
            self._out.write(table[written:place].data)
            written = place + 1
            if k >= len(notes):
                self._end(gap)
                self._begin(int(steps.context[place]))
            else:
                more = self._notes(int(rows.flags[notes[k]]), int(rows.away[notes[k]]))
                self._step(gap, table[place, layout.event :].tobytes() + more)
        self._out.write(table[written:].data)

    def _notes(self, flags: int, away: int) -> bytes:
        notes = b""
        for flag, ending in _ENDINGS:
            if flags & flag:
                notes += content(4, number(1, 1) + content(6, ending))
                break
        if away:
            notes += content(4, number(1, 2) + number(3, self._scale.whole(away)))
        return notes


def _size(value: int) -> int:
    return len(varint(value))
