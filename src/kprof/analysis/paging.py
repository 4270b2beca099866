"""Giving back the memory of a mapped capture that has been read, so that it does not add up."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEP = 32 << 20  # bytes read between two times of giving back


class Pages:
    """The pages behind the records of a capture; nothing happens where they are not mapped."""

    def __init__(self, records: NDArray[Any]) -> None:
        self._records = records
        self._given = 0
        base: Any = records
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, memoryview):
            base = base.obj
        can = isinstance(base, mmap.mmap) and records.flags.c_contiguous
        self._map = base if can and hasattr(mmap, "MADV_DONTNEED") else None
        if self._map is not None:
            start = np.frombuffer(self._map, np.uint8).__array_interface__["data"][0]
            self._offset = records.__array_interface__["data"][0] - start

    def release(self, done: int) -> None:
        """The first `done` records will not be read again."""
        if self._map is None:
            return
        end = self._offset + done * self._records[:1].nbytes
        end -= end % mmap.PAGESIZE
        if end - self._given >= STEP:
            self._map.madvise(mmap.MADV_DONTNEED, self._given, end - self._given)
            self._given = end
