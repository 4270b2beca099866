"""Columns of integers as one compact text for a page: base64 of deflated byte planes.

A column is written as its lowest bytes, then its second bytes and so on, as many planes as its
largest value needs; a column that mostly rises is written as differences. Planes of one kind of
byte are what deflate is good at: a call takes 5 to 8 bytes of text. All columns lie behind one
another in one deflate stream; the directory says where.

========  =================================================================================
key       of a column's entry in the directory
========  =================================================================================
planes    bytes a value, 0 to 7; 0 is a column of zeros
count     values
delta     the values are differences to the one before
signed    the values are zigzag coded: 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
array     the kind of array that the page makes of it: ``u8 u16 u32 i32 f64``
========  =================================================================================
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEVEL = 6


class ColumnWriter:
    """Collects columns; `directory` and `text` are what the page reads them from."""

    def __init__(self) -> None:
        self.directory: dict[str, dict[str, Any]] = {}
        self._deflate = zlib.compressobj(_LEVEL)
        self._parts: list[bytes] = []

    def add(self, name: str, values: NDArray[Any], *, delta: bool = False) -> None:
        """Append the integers `values` (magnitude below 2**53) under `name`."""
        wide = values.astype(np.int64)
        array = _array_of(wide)
        if delta and len(wide):
            wide = np.diff(wide, prepend=0)
        signed = bool(len(wide)) and int(wide.min()) < 0
        if signed:
            wide = (wide << 1) ^ (wide >> 63)
        top = int(wide.max()) if len(wide) else 0
        planes = (top.bit_length() + 7) // 8
        for plane in range(planes):
            part = ((wide >> (8 * plane)) & 0xFF).astype(np.uint8)
            self._parts.append(self._deflate.compress(part.tobytes()))
        entry: dict[str, Any] = {"planes": planes, "count": len(wide), "array": array}
        if delta:
            entry["delta"] = True
        if signed:
            entry["signed"] = True
        self.directory[name] = entry

    def text(self) -> str:
        """Everything that was added, as base64; the writer is done then."""
        self._parts.append(self._deflate.flush())
        return base64.b64encode(b"".join(self._parts)).decode("ascii")


def _array_of(values: NDArray[np.int64]) -> str:
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if low < 0:
        return "i32" if low >= -(2**31) and high < 2**31 else "f64"
    for name, bits in (("u8", 8), ("u16", 16), ("u32", 32)):
        if high < 1 << bits:
            return name
    return "f64"
