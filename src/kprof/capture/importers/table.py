"""CSV tables of logic levels: from sigrok, DSView, Saleae Logic, and alike.

Lines that begin with ``;`` are comments; sigrok and DSView say their sample rate and channels
there. A first line that is not of numbers names the columns. The rest are rows: an optional time,
then a level for each channel. Without a time each row is one sample.

libsigrok 0.5.2 writes times as multiples of its sample period rounded down to a whole unit (41 ns
at 24 MHz, 1.6 % slow); where the first row's time is that period, the rows are counted by it, and
the sample rate of the comment gives the true time. Other times are in the unit that their column
says.

Rows of the common form, with one character a level, are decoded all at once with numpy; a part of
the file with any other row goes through a slow reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kprof.capture.importers.reader import (
    MAX_TICKS,
    UNKNOWN_SHIFT,
    Block,
    Recording,
    changes_only,
    chosen_rate,
)
from kprof.errors import CaptureError

_PART = 4 << 20
_MAX_LINE = 1 << 16
_TIME_WIDTH = 32
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "\u00b5s": 10**6, "ns": 10**9, "ps": 10**12}
_WORDS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
_RATE = re.compile(r"sample ?rate:\s*([0-9.]+\s*[kMG]?Hz)", re.IGNORECASE)
_CHANNELS = re.compile(r"channels \([0-9]+/[0-9]+\):\s*(.*)", re.IGNORECASE)
_TIME = re.compile(r"time\s*(?:[\[(]\s*(\w+)\s*[\])])?", re.IGNORECASE)
_LEVELS = np.full(256, 9, dtype=np.uint8)
_LEVELS[list(b"01")] = (0, 1)
_LEVELS[list(b"xXzZ-")] = 2
_NANO = 10**9


@dataclass(frozen=True)
class _Layout:
    """What the head of the file says."""

    names: tuple[str, ...]  # of the level columns
    first_row: int  # offset of the first row
    separator: str
    timed: bool
    units_a_second: int  # of the time column
    rate: Fraction | None
    period: int | None  # of a sample in the time column, as sigrok counts it


class TableReader:
    """A CSV file of logic levels."""

    def __init__(self, path: Path, samplerate: str | None = None) -> None:
        self._path = path
        with path.open("rb") as stream:
            head = stream.read(1 << 18)
        rate, warnings = chosen_rate(samplerate, _stated_rate(head), str(path))
        self._layout = _layout(head, str(path), rate)
        if rate is None and not self._layout.timed:
            raise CaptureError(
                f"{path}: has neither times nor a sample rate (say it: --samplerate)"
            )
        self._clock = rate or Fraction(_NANO)
        self.recording = Recording(
            "CSV table", self._layout.names, self._clock, 1 if rate else None, warnings
        )

    def blocks(self, wanted: Sequence[int]) -> Iterator[Block]:
        """See `kprof.capture.importers.reader.Reader`."""
        before: int | None = None
        end = rows = 0
        with self._path.open("rb") as stream:
            stream.seek(self._layout.first_row)
            left = b""
            while True:
                data = stream.read(_PART)
                text = left + data
                cut = text.rfind(b"\n") + 1 if data else len(text)
                left = text[cut:]
                if len(left) > _MAX_LINE:
                    raise CaptureError(f"{self._path}: has a line of over {_MAX_LINE} bytes")
                times, words = self._rows(text[:cut], wanted, rows)
                rows += len(times)
                if len(times):
                    end = int(times[-1])
                times, words = changes_only(times, words, before)
                if len(words):
                    before = int(words[-1])
                    yield times, words
                if not data:
                    break
        if before is not None:
            # The last row lasts for a sample; where samples are not known, for nothing.
            last = end + (self.recording.sample_ticks or 0)
            yield np.array([last], np.int64), np.array([before], np.uint64)

    def _rows(self, text: bytes, wanted: Sequence[int], before: int) -> Block:
        """All rows of `text`, which holds whole lines."""
        data = np.frombuffer(text, np.uint8)
        if not len(data):
            return np.empty(0, np.int64), np.empty(0, np.uint64)
        ends = np.flatnonzero(data == 10)
        if not len(ends) or ends[-1] != len(data) - 1:
            ends = np.append(ends, len(data))
        starts = np.concatenate([[0], ends[:-1] + 1])
        ends = np.where((ends > starts) & (data[ends - 1] == 13), ends - 1, ends)
        full = ends > starts
        starts, ends = starts[full], ends[full]
        levels, times = self._fast(data, starts, ends) or self._slow(text, starts, ends)
        if not self._layout.timed:
            times = np.arange(before, before + len(starts), dtype=np.int64)
        words = np.zeros(len(starts), dtype=np.uint64)
        for place, channel in enumerate(wanted):
            level = levels[:, channel].astype(np.uint64)
            words |= (level & np.uint64(1)) << np.uint64(place)
            words |= (level >> np.uint64(1)) << np.uint64(place + UNKNOWN_SHIFT)
        return times, words

    def _fast(
        self, data: NDArray[np.uint8], starts: NDArray[np.intp], ends: NDArray[np.intp]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]] | None:
        """(levels, times) of rows that are all written alike; None where one is not."""
        count = len(self._layout.names)
        if not len(starts):
            return np.empty((0, count), np.uint8), np.empty(0, np.int64)
        row = data[starts[0] : ends[0]]
        commas = np.flatnonzero(row == ord(self._layout.separator))
        if len(commas) != count - (not self._layout.timed):
            return None
        step = 2 if count < 2 else int(commas[-1] - commas[-2] if len(commas) > 1 else 2)
        width = step * (count - 1) + 1  # of the levels, at the end of each line
        room = ends - starts - width - self._layout.timed * (step - 1)
        if step > 4 or room.min() < 0 or (not self._layout.timed and room.max() > 0):
            return None
        levels = np.empty((len(starts), count), np.uint8)
        for channel in range(count):
            at = ends - 1 - step * (count - 1 - channel)
            levels[:, channel] = _LEVELS[data[at]]
            if (channel or self._layout.timed) and not (
                data[at - step + 1] == ord(self._layout.separator)
            ).all():
                return None
        if (levels > 2).any():
            return None
        if not self._layout.timed:
            return levels, np.empty(0, np.int64)
        length = int(room.max())
        if length > _TIME_WIDTH or length < 1:
            return None
        columns = np.arange(length)
        inside = columns < room[:, None]
        text = np.where(inside, data[np.minimum(starts[:, None] + columns, len(data) - 1)], 0)
        fields = np.ascontiguousarray(text.astype(np.uint8)).view(f"S{length}").ravel()
        try:
            return levels, self._ticks(fields.astype(np.float64))
        except ValueError:
            return None

    def _slow(
        self, text: bytes, starts: NDArray[np.intp], ends: NDArray[np.intp]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """(levels, times) of rows in any form, each looked at by itself."""
        count, timed = len(self._layout.names), self._layout.timed
        rows: list[list[int]] = []
        times: list[float] = []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            line = text[start:end].decode("utf-8", "replace")
            cells = [cell.strip() for cell in line.split(self._layout.separator)]
            try:
                times.append(float(cells.pop(0)) if timed else 0.0)
                rows.append([_level(cell) for cell in cells])
            except ValueError:
                cells = []
            if len(cells) != count:
                wanted = f"{'a time and ' * timed}{count} levels"
                raise CaptureError(f"{self._path}: {line[:60]!r} is not a row of {wanted}")
        levels = np.array(rows, np.uint8).reshape(-1, count)
        return levels, self._ticks(np.array(times, np.float64))

    def _ticks(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        layout = self._layout
        if layout.period:
            ticks = times / layout.period - 1
        else:
            ticks = times * float(self._clock / layout.units_a_second)
        if not np.isfinite(ticks).all() or (np.abs(ticks) > MAX_TICKS // 4).any():
            raise CaptureError(f"{self._path}: a time is not finite, or too large")
        return np.rint(ticks).astype(np.int64)


def _level(cell: str) -> int:
    level = int(_LEVELS[ord(cell)]) if len(cell) == 1 and ord(cell) < 256 else 9
    if level > 2:
        raise ValueError(cell)
    return level


def _stated_rate(head: bytes) -> str | None:
    """The sample rate in the comments before the first row."""
    for raw in head.split(b"\n"):
        line = raw.decode("utf-8-sig", "replace").strip()
        if line and not line.startswith(";"):
            return None
        stated = _RATE.search(line)
        if stated:
            return stated[1]
    return None


def _layout(head: bytes, source: str, rate: Fraction | None) -> _Layout:
    names: list[str] = []
    offset = 0
    for raw in head.split(b"\n"):
        line = raw.decode("utf-8-sig" if offset == 0 else "utf-8", "replace").strip()
        if line.startswith(";") or not line:
            named = _CHANNELS.search(line)
            names = [name.strip() for name in named[1].split(",")] if named else names
            offset += len(raw) + 1
            continue
        separator = max(",;\t", key=line.count)
        cells = [cell.strip().strip('"') for cell in line.split(separator)]
        if all(_is_number(cell) for cell in cells):
            return _unnamed(cells, names, offset, separator, rate)
        following = head[offset + len(raw) + 1 :].split(b"\n")[0].decode("utf-8", "replace")
        row = [cell.strip() for cell in following.split(separator)]
        return _named(cells, row, names, offset + len(raw) + 1, separator, rate)
    raise CaptureError(f"{source}: holds no rows of levels (is it a CSV file of logic channels?)")


def _named(
    cells: list[str],
    row: list[str],
    names: list[str],
    offset: int,
    separator: str,
    rate: Fraction | None,
) -> _Layout:
    """The layout of a file whose columns have names; `row` is its first row."""
    time = _TIME.fullmatch(cells[0])
    timed = bool(time) or cells[0].lower() in _WORDS
    unit = _WORDS.get(cells[0].lower()) or _UNITS.get((time and time[1]) or "s", 1)
    columns = cells[timed:]
    if names and set(columns) == {"logic"} and len(names) == len(columns):
        columns = names
    period = None
    if timed and rate and names and row[0].isdigit() and int(row[0]) > 0:
        # sigrok: names in its comment, and the first row one period after 0.
        period = int(row[0])
    return _Layout(tuple(columns), offset, separator, timed, unit, rate, period)


def _unnamed(
    cells: list[str],
    names: list[str],
    offset: int,
    separator: str,
    rate: Fraction | None,
) -> _Layout:
    """The layout of a file whose columns have no names."""
    timed = bool(names) and len(cells) == len(names) + 1
    columns = names if len(names) in (len(cells), len(cells) - 1) else []
    columns = columns or [f"D{number}" for number in range(len(cells))]
    return _Layout(tuple(columns), offset, separator, timed, 1, rate, None)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
