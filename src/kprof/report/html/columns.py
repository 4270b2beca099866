"""Columns of integers as compact text for a page: base64 of deflated byte planes.

A column comes in pieces, as the capture is read. A piece is written as its lowest bytes, then its
second bytes and so on, as many planes as its largest value needs; a column that mostly rises is
written as differences. Planes of one kind of byte are what deflate is good at: a call takes 5 to
8 bytes of text. All pieces lie behind one another in one deflate stream, in the order of the
writer's `pieces`: the place of its column in the directory, values, planes (0 to 7; 0 are zeros),
and 1 where the values are zigzag coded (0, -1, 1, -2, ... are 0, 1, 2, 3, ...).

========  =================================================================================
key       of a column's entry in the directory
========  =================================================================================
count     values in all
delta     the values are differences to the one before, over all pieces
by        the column whose values say where the values of the same piece belong
array     the kind of array that the page makes of it: ``u8 u16 u32 i32 f64``
========  =================================================================================
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEVEL = 6


class ColumnWriter:
    """Takes pieces of columns; `taken` has their text, and the page reads it by the directory."""

    def __init__(self) -> None:
        self.pieces: list[tuple[int, int, int, int]] = []
        self._columns: dict[str, _Column] = {}
        self._deflate = zlib.compressobj(_LEVEL)
        self._text: list[str] = []
        self._rest = b""

    @property
    def directory(self) -> dict[str, dict[str, Any]]:
        """What the page must know of each column, in the order in which they first came."""
        return {name: column.entry() for name, column in self._columns.items()}

    def add(
        self, name: str, values: NDArray[Any], *, delta: bool = False, by: str | None = None
    ) -> None:
        """Append the integers `values` (magnitude below 2**53) to the column `name`."""
        column = self._columns.setdefault(name, _Column(len(self._columns), delta, by))
        wide = column.take(values.astype(np.int64))
        signed = bool(len(wide)) and int(wide.min()) < 0
        if signed:
            wide = (wide << 1) ^ (wide >> 63)
        top = int(wide.max()) if len(wide) else 0
        planes = (top.bit_length() + 7) // 8
        self.pieces.append((column.place, len(wide), planes, int(signed)))
        data = wide.astype("<i8").view(np.uint8).reshape(-1, 8)
        for plane in range(planes):
            self._write(self._deflate.compress(np.ascontiguousarray(data[:, plane]).data))

    def _write(self, data: bytes) -> None:
        data = self._rest + data
        whole = len(data) - len(data) % 3
        self._rest = data[whole:]
        if whole:
            self._text.append(base64.b64encode(data[:whole]).decode("ascii"))

    def taken(self, *, last: bool = False) -> Iterator[str]:
        """The text that has come since the last time; nothing is added after the `last`."""
        if last:
            self._write(self._deflate.flush())
            self._text.append(base64.b64encode(self._rest).decode("ascii"))
        yield from self._text
        self._text.clear()


class _Column:
    """What is known of a column so far."""

    def __init__(self, place: int, delta: bool, by: str | None) -> None:
        self.place = place
        self._delta, self._by = delta, by
        self._count = self._low = self._high = self._before = 0

    def take(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The next values, as they are written."""
        if not len(values):
            return values
        self._count += len(values)
        self._low = min(self._low, int(values.min()))
        self._high = max(self._high, int(values.max()))
        if not self._delta:
            return values
        before, self._before = self._before, int(values[-1])
        return np.diff(values, prepend=before)

    def entry(self) -> dict[str, Any]:
        """Its entry in the directory."""
        found: dict[str, Any] = {"count": self._count, "array": self._array()}
        if self._delta:
            found["delta"] = True
        if self._by:
            found["by"] = self._by
        return found

    def _array(self) -> str:
        if self._low < 0:
            return "i32" if self._low >= -(2**31) and self._high < 2**31 else "f64"
        for name, bits in (("u8", 8), ("u16", 16), ("u32", 32)):
            if self._high < 1 << bits:
                return name
        return "f64"
