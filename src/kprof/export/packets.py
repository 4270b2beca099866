"""Perfetto's packets of calls as tables of bytes: all of a kind have one size.

A varint may be padded: zeros follow its digits. So every packet of a kind is as long as the longest
needs to be, a column of numbers is put into all of them at once, and the packets of all kinds are
put together by leaving out what is past the end of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.export.protobuf import content, number, varint

_PACKET, _TIMESTAMP, _SEQUENCE, _EVENT, _FLAGS = 1, 8, 10, 11, 13
_NEEDED = 2  # sequence_flags: needs the interned data

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
"""Types of track events."""
NET, ELAPSED, AWAY, ENDED_BY, CONTINUED = 1, 2, 3, 4, 5
NOTES = ("net_ns", "elapsed_ns", "switched_out_ns", "ended_by", "continued")
"""Names of debug annotations; their iids are the numbers before."""


class Number(NamedTuple):
    """A place for a column of numbers: its name, and its size in bytes."""

    name: str
    size: int


def event(body: bytes, gap: int) -> bytes:
    """A packet with a track event, `gap` nanoseconds after the packet before."""
    data = number(_TIMESTAMP, gap) + number(_SEQUENCE, 1) + number(_FLAGS, _NEEDED)
    return content(_PACKET, data + content(_EVENT, body))


def begin_layout(gap: int, track: int, name: int, *, located: bool, kind: int = BEGIN) -> Layout:
    """A call that begins, or an inline trigger; sizes in bytes.

    Columns: gap, track, name, category; with `located` the place too, by the number of the name.
    """
    parts: list[bytes | Number] = [number(9, kind), varint(11 << 3), Number("track", track)]
    parts += [varint(10 << 3), Number("name", name), varint(3 << 3), Number("category", 1)]
    if located:
        parts += [varint(34 << 3), Number("name", name)]
    return Layout(gap, parts)


def end_layout(gap: int, track: int, net: int, elapsed: int) -> Layout:
    """A call that ends. Columns: gap, track, net, elapsed."""
    parts: list[bytes | Number] = [number(9, END), varint(11 << 3), Number("track", track)]
    for iid, place in ((NET, Number("net", net)), (ELAPSED, Number("elapsed", elapsed))):
        head = number(1, iid) + varint(4 << 3)
        parts += [varint(4 << 3 | 2) + varint(len(head) + place.size) + head, place]
    return Layout(gap, parts)


class Layout:
    """A packet with room for what differs from one to the next.

    A varint is put in as one integer of 1, 2, 4 or 8 bytes, together with the bytes that follow it.
    """

    def __init__(self, gap: int, parts: Sequence[bytes | Number]) -> None:
        inner, places = _laid_out(parts)
        head, stamp = _laid_out([varint(_TIMESTAMP << 3), Number("gap", gap)])
        head += number(_SEQUENCE, 1) + number(_FLAGS, _NEEDED)
        head += varint(_EVENT << 3 | 2) + varint(len(inner))
        before = varint(_PACKET << 3 | 2) + varint(len(head) + len(inner))
        self.bytes = before + head + inner
        shift = len(before) + len(head)
        self._places = [(one, len(before) + at) for one, at in stamp]
        self._places += [(one, shift + at) for one, at in places]

    def table(self, columns: Mapping[str, NDArray[np.int64]]) -> NDArray[np.uint8]:
        """The packets, shape (packets, bytes of one)."""
        table = np.empty((len(columns["gap"]), len(self.bytes)), np.uint8)
        table[:] = np.frombuffer(self.bytes, np.uint8)
        for place, at in self._places:
            self._fill(table, at, place.size, columns[place.name])
        return table

    def _fill(
        self, table: NDArray[np.uint8], start: int, size: int, values: NDArray[np.int64]
    ) -> None:
        """Put a varint into a field of all packets."""
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
            digits = 7 * (here + k)
            byte = values >> digits & (0x7F if digits < 63 else 1)
            table[:, start + here + k] = byte | (0x80 if k < rest - 1 else 0)


def _laid_out(parts: Sequence[bytes | Number]) -> tuple[bytes, list[tuple[Number, int]]]:
    """The bytes, zeros where the numbers go, and where that is."""
    data = b""
    places = []
    for part in parts:
        if isinstance(part, Number):
            places.append((part, len(data)))
            part = bytes(part.size)
        data += part
    return data, places


def joined(
    kinds: NDArray[np.uint8], tables: Mapping[int, NDArray[np.uint8]]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Packets of several kinds one after another, and where each begins; the end too.

    Parameters
    ----------
    kinds
        Shape (packets,): of each packet; one whose kind has no table has no bytes.
    tables
        By kind, the packets of that kind.
    """
    widest = max((table.shape[1] for table in tables.values()), default=0)
    whole = np.zeros((len(kinds), widest), np.uint8)
    sizes = np.zeros(len(kinds), np.int64)
    for kind, table in tables.items():
        mine = kinds == kind
        sizes[mine] = table.shape[1]
        whole[mine, : table.shape[1]] = table
    data: NDArray[np.uint8] = whole[np.arange(widest) < sizes[:, None]]
    return data, np.append(0, np.cumsum(sizes))
