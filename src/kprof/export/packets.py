"""Perfetto's packets of calls as a table of bytes: all of one size, varints padded to that end.

With numba the table is filled in one pass, else column by column; the bytes are the same.
"""

from __future__ import annotations

import functools
import types
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.stream import ENTER
from kprof.export.protobuf import number, varint

_PACKET, _TIMESTAMP, _SEQUENCE, _EVENT, _FLAGS = 1, 8, 10, 11, 13
_NEEDED = 2  # sequence_flags: needs the interned data

BEGIN, END, INSTANT = 1, 2, 3
TYPES = np.array([BEGIN, END, INSTANT, 0])
"""Types of track events by kind of step."""
FIRST = 16
"""The track of context 0; each context has two numbers, the second for its counter."""


class Fields(NamedTuple):
    """What differs from packet to packet; int64 columns of one length.

    Attributes
    ----------
    gap
        Nanoseconds since the packet before.
    type, track, name, counter, depth
        Of the track event: type, track_uuid, name_iid, extra_counter_track_uuids and
        extra_counter_values.
    """

    gap: NDArray[np.int64]
    type: NDArray[np.int64]
    track: NDArray[np.int64]
    name: NDArray[np.int64]
    counter: NDArray[np.int64]
    depth: NDArray[np.int64]


class Columns(NamedTuple):
    """What the compiled code makes `Fields` of.

    Attributes
    ----------
    kind, context, name, depth
        Of the steps; `name` counts inline triggers after the functions.
    now
        Times in nanoseconds; `before` that of the packet before.
    """

    kind: NDArray[np.uint8]
    context: NDArray[np.int64]
    name: NDArray[np.int64]
    depth: NDArray[np.int64]
    now: NDArray[np.int64]
    before: int

    def fields(self) -> Fields:
        """The fields of the packets."""
        track = FIRST + 2 * self.context
        depth = np.where(self.kind == ENTER, self.depth + 1, self.depth)
        gap = np.diff(self.now, prepend=self.before)
        return Fields(gap, TYPES[self.kind], track, self.name + 1, track + 1, depth)


class Layout:
    """The packet of a call or inline trigger, with room for what differs from one to the next.

    A varint is put in as one integer of 1, 2, 4 or 8 bytes, together with the bytes that follow it.
    """

    def __init__(self, gap: int, uuid: int, name: int, depth: int) -> None:
        """Sizes of the varints in bytes."""
        inner = bytearray()
        places = {"type": _room(inner, varint(9 << 3), 1)}
        places["track"] = _room(inner, varint(11 << 3), uuid)
        places["name"] = _room(inner, varint(10 << 3), name)
        places["counter"] = _room(inner, varint(31 << 3), uuid)
        places["depth"] = _room(inner, varint(12 << 3), depth)
        data = bytearray()
        places["gap"] = _room(data, varint(_TIMESTAMP << 3), gap)
        data += number(_SEQUENCE, 1) + number(_FLAGS, _NEEDED)
        data += varint(_EVENT << 3 | 2) + varint(len(inner))
        head = varint(_PACKET << 3 | 2) + varint(len(data) + len(inner))
        before = len(head)
        self.event = before + len(data)
        self.bytes = bytes(head + data + inner)
        self._fields = {
            name: (before + (0 if name == "gap" else len(data)) + start, size)
            for name, (start, size) in places.items()
        }

    def table(self, fields: Fields) -> NDArray[np.uint8]:
        """The packets, shape (packets, bytes of one)."""
        table = np.empty((len(fields.gap), len(self.bytes)), np.uint8)
        table[:] = np.frombuffer(self.bytes, np.uint8)
        for name, values in zip(Fields._fields, fields, strict=True):
            self._fill(table, name, values)
        return table

    def filled(self, columns: Columns) -> NDArray[np.uint8]:
        """The same by compiled code."""
        table = np.empty((len(columns.kind), len(self.bytes)), np.uint8)
        template = np.frombuffer(self.bytes, np.uint8)
        places = np.array([self._fields[name] for name in Fields._fields], np.int64)
        compiled().fill(table, template, places[:, 0].copy(), places[:, 1].copy(), *columns)
        return table

    def _fill(self, table: NDArray[np.uint8], name: str, values: NDArray[np.int64]) -> None:
        """Put a varint into a field of all packets."""
        start, size = self._fields[name]
        width = next((w for w in (1, 2, 4) if w >= size), 8)
        while start + width > len(self.bytes):  # the last field: two pieces
            width //= 2
        kind = np.dtype(f"<u{width}")
        rest = 0 if size <= width else size - width
        here = size - rest
        following = int.from_bytes(self.bytes[start + here : start + width], "little")
        fixed = following << 8 * here | sum(0x80 << 8 * k for k in range(min(here, size - 1)))
        wide = values.astype(np.uint64 if width == 8 else np.uint32)
        packed = wide & 0x7F | wide.dtype.type(fixed)
        for k in range(1, here):
            packed |= (wide & wide.dtype.type(0x7F << 7 * k)) << k
        record = np.dtype(
            {"names": ["at"], "formats": [kind], "offsets": [start], "itemsize": table.shape[1]}
        )
        table.view(record)["at"][:, 0] = packed
        for k in range(rest):
            byte = values >> 7 * (here + k) & 0x7F
            table[:, start + here + k] = byte | (0x80 if k < rest - 1 else 0)


def _room(data: bytearray, tag: bytes, size: int) -> tuple[int, int]:
    """Append a field of a varint; where the varint is, and its size."""
    data += tag + bytes(size)
    return len(data) - size, size


def survey(kind: Any, depth: Any, now: Any, before: int, name: Any, seen: Any) -> Any:
    """The largest gap and depth; marks the names in `seen`. Written for numba."""
    largest = 0
    deepest = 0
    for i in range(len(kind)):
        largest = max(largest, now[i] - before)
        before = now[i]
        deepest = max(deepest, depth[i])
        seen[name[i]] = True
    return largest, deepest + 1


def fill(
    table: Any,
    template: Any,
    starts: Any,
    sizes: Any,
    kind: Any,
    context: Any,
    name: Any,
    depth: Any,
    now: Any,
    before: int,
) -> None:
    """Fill the table as `Columns.fields` and `Layout.table` do. Written for numba."""
    values = np.empty(6, np.int64)
    for i in range(len(kind)):
        for k in range(len(template)):
            table[i, k] = template[k]
        track = FIRST + 2 * context[i]
        entered = kind[i] == ENTER
        values[0] = now[i] - before
        before = now[i]
        values[1] = TYPES[kind[i]]
        values[2] = track
        values[3] = name[i] + 1
        values[4] = track + 1
        values[5] = depth[i] + 1 if entered else depth[i]
        for field in range(6):
            value = values[field]
            last = starts[field] + sizes[field] - 1
            for k in range(starts[field], last):
                table[i, k] = value & 0x7F | 0x80
                value >>= 7
            table[i, last] = value


@functools.cache
def compiled() -> Any:
    """`fill` and `survey`, compiled."""
    import numba

    return types.SimpleNamespace(
        fill=numba.njit(fill, cache=True, nogil=True),
        survey=numba.njit(survey, cache=True, nogil=True),
    )
