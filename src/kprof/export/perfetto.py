"""Perfetto's native trace: track events with interned names, for https://ui.perfetto.dev.

A track for each context, with its calls from entry to exit (time switched out included) and its
inline triggers; a counter of its depth; and a track that shows which context runs. What the calls
of a context that was switched out have to say beyond that stands in annotations of their ends.

A trace is one message whose fields 1 are packets. The packets of calls all have the same size, so
that a block of them is a table of bytes (`_Layout`); varints are padded to that end. Times are
nanoseconds, each counted from the packet before (an incremental clock of the sequence).
Schema: protos/perfetto/trace/trace_packet.proto and track_event/ of the Perfetto repository.
"""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from kprof.analysis import states
from kprof.analysis.stream import ENTER, INLINE, SWITCH, Steps, StepStream
from kprof.export.labels import context_label
from kprof.export.protobuf import content, number, varint
from kprof.export.units import Scale

_PACKET = 1
_TIMESTAMP, _SNAPSHOT, _SEQUENCE, _EVENT, _INTERNED, _FLAGS = 8, 6, 10, 11, 12, 13
_CLOCK, _DEFAULTS, _TRACK = 58, 59, 60
_BEGIN, _END, _INSTANT = 1, 2, 3
_CLEARED, _NEEDED = 1, 2
_REALTIME, _BOOTTIME, _OWN_CLOCK = 1, 6, 64

_PROCESS, _RUNNING, _FIRST = 1, 2, 16  # uuids of tracks: each context has two from _FIRST
_NOTES = ("ended by", "switched out ns")
_ENDINGS = ((states.ORPHAN, "began before"), (states.OPEN, "open"), (states.UNWOUND, "unwound"))
_MARKED = states.ORPHAN | states.OPEN | states.UNWOUND | states.RESUMED


def write(stream: StepStream, out: BinaryIO) -> None:
    """Write the capture as a Perfetto trace."""
    _Writer(stream, out).write()


class _Layout:
    """The packet of a call or inline trigger, with room for what differs from one to the next."""

    def __init__(self, gap: int, uuid: int, depth: int) -> None:
        """Sizes of the varints in bytes."""
        data = bytearray()
        self.gap = self._room(data, varint(_TIMESTAMP << 3), gap)
        data += number(_SEQUENCE, 1) + number(_FLAGS, _NEEDED)
        inner = bytearray()
        self.type = self._room(inner, varint(9 << 3), 1)
        self.uuid = self._room(inner, varint(11 << 3), uuid)
        self.name = self._room(inner, varint(10 << 3), 3)
        self.counter = self._room(inner, varint(31 << 3), uuid)
        self.depth = self._room(inner, varint(12 << 3), depth)
        data += varint(_EVENT << 3 | 2) + varint(len(inner))
        start = len(data)
        data += inner
        head = varint(_PACKET << 3 | 2) + varint(len(data))
        self.bytes = bytes(head + data)
        self.gap = self._moved(self.gap, len(head))
        for field in ("type", "uuid", "name", "counter", "depth"):
            setattr(self, field, self._moved(getattr(self, field), len(head) + start))

    @staticmethod
    def _room(data: bytearray, tag: bytes, size: int) -> slice:
        data += tag + bytes(size)
        return slice(len(data) - size, len(data))

    @staticmethod
    def _moved(place: slice, by: int) -> slice:
        return slice(place.start + by, place.stop + by)

    @staticmethod
    def fill(table: NDArray[np.uint8], place: slice, values: NDArray[np.int64]) -> None:
        """Put varints into a field of all packets."""
        last = place.stop - 1
        for k in range(place.start, last):
            table[:, k] = values & 0x7F | 0x80
            values = values >> 7
        table[:, last] = values


class _Writer:
    def __init__(self, stream: StepStream, out: BinaryIO) -> None:
        self._stream = stream
        self._out = out
        self._scale = Scale(stream.info.clock_hz, "ns")
        self._seen = np.zeros(len(stream.functions) + len(stream.inlines), bool)
        self._contexts: set[int] = set()
        self._now = 0
        self._layouts: dict[tuple[int, int, int], _Layout] = {}

    def write(self) -> None:
        self._head()
        self._describe(np.array([self._stream.first]))
        self._begin(self._stream.first)
        for steps in self._stream:
            if len(steps.kind):
                self._block(steps)
        self._end(self._scale.whole(self._stream.ledger.elapsed) - self._now)

    def _packet(self, data: bytes) -> None:
        self._out.write(content(_PACKET, data + number(_SEQUENCE, 1)))

    def _head(self) -> None:
        info = self._stream.info
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

    def _describe(self, contexts: NDArray[np.int64]) -> None:
        """Tell of the tracks of contexts not met before."""
        for context in np.unique(contexts).tolist():
            if context not in self._contexts:
                self._contexts.add(context)
                uuid = _FIRST + 2 * context
                self._track(uuid, _PROCESS, context_label(context))
                self._track(uuid + 1, uuid, "depth", content(8, content(6, "calls")))

    def _intern(self, names: NDArray[np.int64]) -> None:
        """Tell of the names not met before; a name's iid is its number and 1."""
        new = np.unique(names[~self._seen[names]])
        if not len(new):
            return
        self._seen[new] = True
        functions, inlines = self._stream.functions, self._stream.inlines
        data = b""
        for name in new.tolist():
            known = name < len(functions)
            entry = functions[name] if known else inlines[name - len(functions)]
            data += content(2, number(1, name + 1) + content(2, entry.name))
        self._packet(content(_INTERNED, data) + number(_FLAGS, _NEEDED))

    def _begin(self, context: int) -> None:
        """On the track that shows what runs."""
        event = number(9, _BEGIN) + number(11, _RUNNING) + content(23, context_label(context))
        self._step(0, event)

    def _end(self, gap: int) -> None:
        self._step(gap, number(9, _END) + number(11, _RUNNING))

    def _step(self, gap: int, event: bytes) -> None:
        """A track event, `gap` ns after the packet before."""
        self._packet(number(_TIMESTAMP, gap) + number(_FLAGS, _NEEDED) + content(_EVENT, event))

    def _block(self, steps: Steps) -> None:
        kind = steps.kind
        self._describe(steps.context)
        name = np.where(kind == INLINE, steps.name + len(self._stream.functions), steps.name)
        self._intern(name[kind != SWITCH])
        now = self._scale.column(steps.time)
        gap = np.diff(now, prepend=self._now)
        self._now = int(now[-1])
        depth = np.where(kind == ENTER, steps.depth + 1, steps.depth)
        uuid = _FIRST + 2 * steps.context
        layout = self._layout(int(gap.max()), int(uuid.max()) + 1, int(depth.max()))
        table = np.empty((len(kind), len(layout.bytes)), np.uint8)
        table[:] = np.frombuffer(layout.bytes, np.uint8)
        layout.fill(table, layout.gap, gap)
        types = np.array([_BEGIN, _END, _INSTANT, 0])[kind]
        layout.fill(table, layout.type, types)
        layout.fill(table, layout.uuid, uuid)
        layout.fill(table, layout.name, name + 1)
        layout.fill(table, layout.counter, uuid + 1)
        layout.fill(table, layout.depth, depth)
        self._put(steps, table, layout, gap)

    def _layout(self, gap: int, uuid: int, depth: int) -> _Layout:
        sizes = max(3, _size(gap)), max(2, _size(uuid)), max(1, _size(depth))
        if sizes not in self._layouts:
            self._layouts[sizes] = _Layout(*sizes)
        return self._layouts[sizes]

    def _put(
        self, steps: Steps, table: NDArray[np.uint8], layout: _Layout, gap: NDArray[np.int64]
    ) -> None:
        """Write the table; the steps that need more than it has one by one."""
        rows = steps.rows
        notes = np.flatnonzero(rows.flags & _MARKED)
        switches = np.flatnonzero(steps.kind == SWITCH)
        places = np.concatenate([steps.leave[notes], switches])
        order = np.argsort(places, kind="stable").tolist()
        written = 0
        event = slice(layout.type.start - 1, None)
        for k in order:
            place = int(places[k])
            self._out.write(table[written:place].data)
            written = place + 1
            if k >= len(notes):
                self._end(int(gap[place]))
                self._begin(int(steps.context[place]))
            else:
                more = self._notes(int(rows.flags[notes[k]]), int(rows.away[notes[k]]))
                self._step(int(gap[place]), table[place, event].tobytes() + more)
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
