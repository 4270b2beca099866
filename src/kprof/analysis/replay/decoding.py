"""From the bytes of a capture to times and ops, for the compiled replay.

The functions are compiled; `Clock.advance` and `TagTable` say the same for numpy. A `Decoder` runs
them in a thread of its own, one part ahead of the replay.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.paging import Pages
from kprof.analysis.replay.codes import SPECIAL
from kprof.capture.model import Capture

Column = NDArray[np.int64]
_PART = 1 << 15  # events decoded at a time: their times and ops stay in the second level cache
_SCANNED = 1 << 22  # events looked at before their memory is given back

# Places in the compiled clock's columns.
PREVIOUS = 0
TIME = 1
LONGEST = 2
CLOCK_SIZE = 3


def decode_records(
    records: Any, mask: int, table: Any, clock: Any, times: Any, ops: Any, counts: Any
) -> None:
    """Records of shape (n, 5) uint8 to times and ops.

    Tags that are no entry and no exit are counted.
    """
    previous = clock[PREVIOUS]
    now = clock[TIME]
    longest = clock[LONGEST]
    for i in range(len(records)):
        ticks = (
            (np.int64(records[i, 0]) << 16)
            | (np.int64(records[i, 1]) << 8)
            | np.int64(records[i, 2])
        )
        passed = (ticks - previous) & mask
        previous = ticks
        longest = max(longest, passed)
        now += passed
        times[i] = now
        tag = (np.int64(records[i, 3]) << 8) | np.int64(records[i, 4])
        op = table[tag]
        ops[i] = op
        if op >= SPECIAL:
            counts[tag] += 1
    clock[PREVIOUS] = previous
    clock[TIME] = now
    clock[LONGEST] = longest


def decode_words(
    words: Any, _: int, table: Any, clock: Any, times: Any, ops: Any, counts: Any
) -> None:
    """The same for records of shape (n,) uint64, unwrapped."""
    previous = clock[PREVIOUS]
    now = clock[TIME]
    longest = clock[LONGEST]
    for i in range(len(words)):
        ticks = np.int64(words[i] >> np.uint64(16))
        passed = max(ticks - previous, 0)
        previous = ticks
        longest = max(longest, passed)
        now += passed
        times[i] = now
        tag = np.int64(words[i] & np.uint64(0xFFFF))
        op = table[tag]
        ops[i] = op
        if op >= SPECIAL:
            counts[tag] += 1
    clock[PREVIOUS] = previous
    clock[TIME] = now
    clock[LONGEST] = longest


def find_tag(data: Any, size: int, high: int, low: int, wanted: Any) -> int:
    """The first record whose tag is `wanted`, or -1.

    Records are `size` bytes; their tags' bytes are at `high` and `low`.
    """
    for k in range(0, len(data), size):
        if wanted[(np.int64(data[k + high]) << 8) | np.int64(data[k + low])]:
            return k // size
    return -1


def find_switch(code: Any, capture: Capture, start: int, switching: NDArray[np.bool_]) -> int:
    """The first tag from event `start` on that is one of these; or -1. `code` is compiled."""
    records = capture.records
    size = records[:1].nbytes
    high, low = (3, 4) if records.dtype == np.uint8 else (1, 0)
    if records.dtype != np.uint8 and sys.byteorder == "big":
        high, low = 6, 7
    pages = Pages(records)
    for done in range(start, capture.events, _SCANNED):
        part = records[done : done + _SCANNED].view(np.uint8).reshape(-1)
        found = code.find_tag(part, size, high, low, switching)
        if found >= 0:
            place = found * size
            return int(part[place + high]) << 8 | int(part[place + low])
        pages.release(done)
    return -1


class Ended(NamedTuple):
    """What is known when a capture has been decoded.

    Attributes
    ----------
    now
        The time of the last event.
    longest
        The longest interval between two events.
    counts
        Shape (65536,) int64: how often each tag came that is no plain entry or exit.
    """

    now: int
    longest: int
    counts: Column


class Decoder:
    """The parts of a capture, decoded one ahead.

    Parameters
    ----------
    code
        The compiled functions.
    ops
        Shape (65536,) int32: the op of each tag.
    before
        The ticks and the time of the event before the first.

    """

    def __init__(
        self,
        code: Any,
        capture: Capture,
        ops: NDArray[np.int32],
        before: tuple[int, int] | None = None,
    ) -> None:
        words = capture.records.dtype != np.uint8
        self._decode: Any = code.decode_words if words else code.decode_records
        self._capture = capture
        self._ops = ops
        self._mask = (1 << capture.info.time_bits) - 1
        self._clock = np.zeros(CLOCK_SIZE, np.int64)
        if before is not None:
            self._clock[PREVIOUS], self._clock[TIME] = before
        elif capture.events:
            self._clock[PREVIOUS] = int(next(capture.chunks(1))[0][0])
        self._kept: tuple[Column, NDArray[np.int32]] = (
            np.empty(0, np.int64), np.empty(0, np.int32),
        )  # fmt: skip
        self._counts = np.zeros(1 << 16, np.int64)

    @property
    def ticks(self) -> int:
        """The ticks of the last event; before there is one, of the first."""
        return int(self._clock[PREVIOUS])

    @property
    def ended(self) -> Ended:
        """What is known afterwards."""
        return Ended(int(self._clock[TIME]), int(self._clock[LONGEST]), self._counts)

    def __iter__(self) -> Iterator[tuple[Column, NDArray[np.int32], bool]]:
        """The times and ops of the next events, and whether they are the last."""
        events = self._capture.events
        pages = Pages(self._capture.records)
        buffers = [(np.empty(_PART, np.int64), np.empty(_PART, np.int32)) for _ in range(2)]
        with ThreadPoolExecutor(1) as ahead:
            coming = ahead.submit(self._part, 0, *buffers[0])
            for number, start in enumerate(range(0, events, _PART)):
                times, ops = coming.result()
                after = start + _PART
                if after < events:
                    coming = ahead.submit(self._part, after, *buffers[1 - number % 2])
                if len(self._kept[0]):
                    times = np.concatenate([self._kept[0], times])
                    ops = np.concatenate([self._kept[1], ops])
                self._kept = (times[:0], ops[:0])
                yield times, ops, after >= events
                pages.release(start)

    def parts(self) -> Iterator[tuple[Column, NDArray[np.int32]]]:
        """The times and ops of the next events, decoded when they are wanted."""
        times, ops = np.empty(_PART, np.int64), np.empty(_PART, np.int32)
        for start in range(0, self._capture.events, _PART):
            yield self._part(start, times, ops)

    def keep(self, times: Column, ops: NDArray[np.int32]) -> None:
        """These events, the last of a part, come once more at the beginning of the next."""
        self._kept = (times.copy(), ops.copy())

    def _part(
        self, start: int, times: Column, ops: NDArray[np.int32]
    ) -> tuple[Column, NDArray[np.int32]]:
        records = self._capture.records[start : start + _PART]
        self._decode(records, self._mask, self._ops, self._clock, times, ops, self._counts)
        return times[: len(records)], ops[: len(records)]
