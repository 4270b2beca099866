"""Saleae Logic 2's binary export: a file a channel, ``digital_0.bin`` and so on.

::

    8 bytes  <SALEAE>        i32 version 0 or 1      i32 type 0 (digital)
    version 0: one chunk     version 1: u64 number of chunks, then the chunks
    chunk:   u32 initial state, (version 1: f64 sample rate), f64 begin, f64 end, u64 transitions,
             f64 time of each transition in seconds

Little-endian. The files are mapped; the channels' transitions are merged in windows of time.
Between the chunks of version 1 nothing was recorded: a level that changed there changes at the next
chunk's begin.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kprof.capture.importers.reader import MAX_TICKS, Block, Recording, chosen_rate
from kprof.errors import CaptureError

MAGIC = b"<SALEAE>"
_NANO = 10**9
_WINDOW = 1 << 18  # transitions of one channel looked at at a time


@dataclass(frozen=True)
class _Channel:
    """One file: its level at the begin, and all its transitions."""

    name: str
    source: str
    level: int
    begin: float
    end: float
    times: tuple[NDArray[np.float64], ...]


class SaleaeReader:
    """The files of one export."""

    def __init__(self, paths: Sequence[Path], samplerate: str | None = None) -> None:
        self._files: list[_Channel] = []
        rates: set[float] = set()
        chunks = 1
        for path in paths:
            channel, stated, count = _read(path)
            self._files.append(channel)
            rates |= {stated} - {0.0}
            chunks = max(chunks, count)
        rate: Fraction | None = None
        warnings: tuple[str, ...] = ()
        if samplerate:
            known = f"{rates.pop():.12g} Hz" if len(rates) == 1 else None
            rate, warnings = chosen_rate(samplerate, known, str(paths[0]))
        elif len(rates) == 1:
            rate = Fraction(rates.pop()).limit_denominator(1000)
        self._clock = rate or Fraction(_NANO)
        if chunks > 1:
            said = f"{paths[0]}: the recording has {chunks - 1} gaps; reads in them are lost"
            warnings = (*warnings, said)
        names = tuple(file.name for file in self._files)
        self.recording = Recording(
            "Saleae binary export", names, self._clock, 1 if rate else None, warnings
        )

    def blocks(self, wanted: Sequence[int]) -> Iterator[Block]:
        """See `kprof.capture.importers.reader.Reader`."""
        files = [self._files[channel] for channel in wanted]
        lines = [_Line(file, float(self._clock)) for file in files]
        word = sum(file.level << place for place, file in enumerate(files))
        first = min(line.begin for line in lines)
        yield np.array([first], np.int64), np.array([word], np.uint64)
        while any(line.more for line in lines):
            limit = min(line.horizon for line in lines if line.more)
            parts = [line.take(limit) for line in lines]
            times = np.concatenate(parts)
            flips = np.repeat(
                [np.uint64(1 << place) for place in range(len(lines))], [len(p) for p in parts]
            )
            order = np.argsort(times, kind="stable")
            words = np.bitwise_xor.accumulate(np.append(np.uint64(word), flips[order]))[1:]
            if len(words):
                word = int(words[-1])
                yield np.maximum(times[order], first), words
        yield np.array([max(line.end for line in lines)], np.int64), np.array([word], np.uint64)


class _Line:
    """The transitions of one channel in ticks, taken in order."""

    def __init__(self, file: _Channel, hertz: float) -> None:
        self._file, self._hertz = file, hertz
        self._chunk = self._at = 0
        self.begin = self._ticks(np.array([file.begin]))[0]
        self.end = max(self._ticks(np.array([file.end]))[0], self.begin)
        self._window = np.empty(0, np.int64)
        self._fill()

    @property
    def more(self) -> bool:
        """Are there transitions left?"""
        return len(self._window) > 0

    @property
    def horizon(self) -> int:
        """Up to this time all transitions are at hand."""
        return int(self._window[-1])

    def take(self, limit: int) -> NDArray[np.int64]:
        """The transitions up to `limit`, which is no later than the horizon."""
        count = int(np.searchsorted(self._window, limit, "right"))
        taken, self._window = self._window[:count], self._window[count:]
        if not len(self._window):
            self._fill()
            if len(self._window) and int(self._window[0]) <= limit:
                more = self.take(limit)
                taken = np.concatenate([taken, more])
        if len(taken):
            self.end = max(self.end, int(taken[-1]))
        return taken

    def _fill(self) -> None:
        while not len(self._window) and self._chunk < len(self._file.times):
            chunk = self._file.times[self._chunk]
            part = chunk[self._at : self._at + _WINDOW]
            self._at += len(part)
            if self._at >= len(chunk):
                self._chunk, self._at = self._chunk + 1, 0
            self._window = self._ticks(part)
            if (np.diff(self._window) < 0).any():
                raise CaptureError(f"{self._file.source}: time runs backwards")

    def _ticks(self, seconds: NDArray[np.float64]) -> NDArray[np.int64]:
        ticks = np.asarray(seconds, np.float64)
        if not np.isfinite(ticks).all() or (np.abs(ticks) > MAX_TICKS / 4 / self._hertz).any():
            raise CaptureError(
                f"{self._file.source}: is damaged: a time is not finite, or too large"
            )
        return np.rint(ticks * self._hertz).astype(np.int64)


def _read(path: Path) -> tuple[_Channel, float, int]:
    """(channel, its sample rate or 0, number of chunks) of one file."""
    try:
        with path.open("rb") as stream:
            data: bytes | mmap.mmap = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:  # an empty file cannot be mapped
        data = b""
    if len(data) < 16 or data[:8] != MAGIC:
        raise CaptureError(f"{path}: is not a Saleae binary export")
    version, kind = struct.unpack_from("<ii", data, 8)
    if version not in (0, 1) or kind != 0:
        raise CaptureError(
            f"{path}: is a Saleae export of version {version}, type {kind}; expected version 0 or "
            "1, type 0 (digital)"
        )
    number = re.search(r"([0-9]+)$", path.stem)
    name = f"D{int(number[1])}" if number and len(number[1]) < 5 else path.stem
    try:
        return _chunks(path, name, data, version)
    except struct.error:
        raise CaptureError(f"{path}: is cut off after {len(data)} bytes") from None


def _chunks(
    path: Path, name: str, data: bytes | mmap.mmap, version: int
) -> tuple[_Channel, float, int]:
    offset, count, rate = 16, 1, 0.0
    if version == 1:
        (count,) = struct.unpack_from("<Q", data, offset)
        offset += 8
    level = first = -1
    begin = end = 0.0
    times: list[NDArray[np.float64]] = []
    number = 0
    while number < count:
        if version == 0:
            state, start, end, transitions = struct.unpack_from("<IddQ", data, offset)
            offset += 28
        else:
            state, rate, start, end, transitions = struct.unpack_from("<IdddQ", data, offset)
            offset += 36
        if state > 1 or not 0 <= rate < 1e12:
            raise CaptureError(f"{path}: is damaged: a chunk has state {state}, rate {rate}")
        if transitions > (len(data) - offset) // 8:
            there = (len(data) - offset) // 8
            raise CaptureError(f"{path}: is cut off: {transitions} transitions said, {there} there")
        if first < 0:
            first, begin = state, start
        elif level != state:
            times.append(np.array([start]))
        times.append(np.frombuffer(data, "<f8", transitions, offset))
        level = state ^ (transitions & 1)
        offset += 8 * transitions
        number += 1
    if first < 0:
        raise CaptureError(f"{path}: holds no samples")
    return _Channel(name, str(path), first, begin, end, tuple(times)), rate, number
