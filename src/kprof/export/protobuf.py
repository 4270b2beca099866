"""Protocol buffers, as much of writing as the exports need: fields of a message, in bytes.

A message is the concatenation of its fields; a field is its number and wire type as a varint, then
a varint (type 0) or a length and bytes (type 2). https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterable

_SHORT = [bytes([value]) for value in range(0x80)]


def varint(value: int) -> bytes:
    """An unsigned integer, 7 bits a byte, the lowest first; negative ones as 64 bit complement."""
    if 0 <= value < 0x80:
        return _SHORT[value]
    value &= (1 << 64) - 1
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def number(field: int, value: int) -> bytes:
    """A field of an integer, a bool or an enum."""
    return varint(field << 3) + varint(value)


def content(field: int, value: bytes | str) -> bytes:
    """A field of bytes, a string or a message."""
    data = value.encode("utf-8", "backslashreplace") if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field: int, values: Iterable[int]) -> bytes:
    """A repeated field of integers in one piece."""
    return content(field, b"".join(map(varint, values)))
