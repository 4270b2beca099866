"""The Profiler's record of 5 bytes: time 23-16, 15-8, 7-0, tag 15-8, 7-0 (its RAM banks' order)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

RECORD_BYTES = 5


def encode_records(ticks: NDArray[Any] | list[int], tags: NDArray[Any] | list[int]) -> bytes:
    """Records of `ticks` (taken modulo 2**24) and `tags` (0..65535), both of shape (n,)."""
    time = np.asarray(ticks, dtype=np.int64)
    tag = np.asarray(tags, dtype=np.int64)
    columns = (time >> 16, time >> 8, time, tag >> 8, tag)
    return np.stack([(column & 0xFF).astype(np.uint8) for column in columns], axis=1).tobytes()


def decode_records(records: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    """(ticks, tags) of records of shape (n, 5)."""
    high, middle, low, tag_high, tag_low = (records[:, bank] for bank in range(RECORD_BYTES))
    ticks = (high.astype(np.int64) << 16) | (middle.astype(np.int64) << 8) | low
    tags = (tag_high.astype(np.uint16) << np.uint16(8)) | tag_low
    return ticks, tags
