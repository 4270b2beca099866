"""From one layout of records to the other, a part at a time.

Layout 1 holds counter values of 24 bits (5 bytes a record), layout 3 absolute time (u64).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kprof.capture.model import Capture
from kprof.capture.records import RECORD_BYTES, encode_records
from kprof.errors import CaptureError

WRAP = 1 << 24


def layout_of(capture: Capture) -> int:
    """1 where the records are 5 bytes, 3 where they are u64."""
    return 1 if capture.records.dtype == np.uint8 else 3


def records_in_layout(
    capture: Capture, layout: int
) -> Iterator[NDArray[np.uint8] | NDArray[np.uint64]]:
    """The valid records in `layout`, in parts.

    From 1 to 3 time is the sum of `CaptureInfo.intervals`; the first event keeps its counter value.
    From 3 to 1 it is taken modulo 2**24.

    Raises
    ------
    CaptureError
        From 3 to 1: an interval does not fit in 24 bits. To 3: time passes 48 bits.
    """
    if layout == layout_of(capture):
        yield capture.records
    elif layout == 3:
        yield from _unwrapped(capture)
    else:
        yield from _wrapped(capture)


def _unwrapped(capture: Capture) -> Iterator[NDArray[np.uint64]]:
    last, total = None, None
    for ticks, tags in capture.chunks():
        total = int(ticks[0]) if total is None else total
        time = np.cumsum(capture.info.intervals(ticks, last)) + total
        last, total = int(ticks[-1]), int(time[-1])
        if total >= 1 << 48:
            raise CaptureError(
                f"{capture.info.source}: its run of {total} ticks does not fit in 48 bits of time"
            )
        yield (time.astype(np.uint64) << np.uint64(16)) | tags


def _wrapped(capture: Capture) -> Iterator[NDArray[np.uint8]]:
    last = None
    for ticks, tags in capture.chunks():
        steps = np.diff(ticks, prepend=ticks[0] if last is None else last)
        if len(steps) and (steps.min() < 0 or steps.max() >= WRAP):
            worst = int(np.argmax((steps < 0) | (steps >= WRAP)))
            raise CaptureError(
                f"{capture.info.source}: an interval of {int(steps[worst])} ticks does not fit in "
                "24 bits of time; expected 0 to 16777215 (write unwrapped time: kprof convert "
                "--to kpd3)"
            )
        last = int(ticks[-1])
        part = np.frombuffer(encode_records(ticks, tags), dtype=np.uint8)
        yield part.reshape(-1, RECORD_BYTES)
