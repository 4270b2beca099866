"""A capture in memory: the events that a Profiler stored, and what is known about them.

The events may be a view of a memory-mapped file of any size: `Capture.chunks` decodes them a part
at a time. Ticks are the raw counter values as the hardware stored them; `CaptureInfo.intervals` is
what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kprof.capture.records import RECORD_BYTES, decode_records, encode_records
from kprof.capture.tasks import TaskMarks

CHUNK_EVENTS = 1 << 20
CAPTURE_FILE = "capture file"
"""How `CaptureInfo.form` begins of a capture file."""


@dataclass(frozen=True)
class CaptureInfo:
    """What is known of a capture besides its events.

    Attributes
    ----------
    source
        Where it came from, for messages: a file name.
    form
        What kind of file it came from.
    clock_hz
        Ticks a second.
    step
        Ticks from one value of the clock's counter to the next: 1, or what an analysis has divided
        the capture's own ticks into.
    time_bits, tag_bits
        Widths of the two counters; the Profiler has 24 and 16.
    unwrapped
        The ticks are absolute (48 bits) and never wrap.
    full
        The event RAM was filled: the run goes on past the last event.
    lost
        Events known to be lost; None where it is not known.
    some_lost
        Events were lost, whether or not it is known how many.
    count_guessed
        The number of valid records was not told by the device.
    stale_tail
        The records beyond the valid ones hold an earlier run.
    holes
        Some records never arrived.
    started_ns
        Start of the run, Unix time in ns; 0 where it is not known.
    names_sha256
        SHA-256 of the name file that the code was built with, or None.
    valid_from
        Why `Capture.events` records are taken as valid, for the report's first line.
    task_marks
        Tags by which the capture itself says which task runs, or None.
    task_names
        Names of tasks, by their numbers.
    metadata
        What else the capture file says: a JSON object.
    warnings
        Sentences about damage that was tolerated.
    """

    source: str = "<memory>"
    form: str = "events in memory"
    clock_hz: Fraction = Fraction(1_000_000)
    step: int = 1
    time_bits: int = 24
    tag_bits: int = 16
    unwrapped: bool = False
    full: bool = False
    lost: int | None = None
    some_lost: bool = False
    count_guessed: bool = False
    stale_tail: bool = False
    holes: bool = False
    started_ns: int = 0
    names_sha256: bytes | None = None
    valid_from: str = "all records given"
    task_marks: TaskMarks | None = None
    task_names: Mapping[int, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def is_capture_file(self) -> bool:
        """It came from a capture file; a raw image may be any file of its size."""
        return self.form.startswith(CAPTURE_FILE)

    def intervals(self, ticks: NDArray[np.int64], before: int | None) -> NDArray[np.int64]:
        """How long after the event before it each event came, in ticks, shape (n,).

        The counter wraps: an interval is the difference modulo its range (paper, section 4.1), so
        two wraps between events cannot be seen. Absolute time that runs backwards is damage; such
        an interval is 0.

        Parameters
        ----------
        ticks
            Of events that follow each other, at least one.
        before
            The ticks of the event before them; None: there is none, the first interval is 0.
        """
        steps = np.diff(ticks, prepend=ticks[0] if before is None else np.int64(before))
        return np.maximum(steps, 0) if self.unwrapped else steps & ((1 << self.time_bits) - 1)


@dataclass(frozen=True, eq=False)
class Capture:
    """Events in RAM order, and what is known about them.

    Attributes
    ----------
    info
        Everything but the events.
    records
        Shape (n, 5) uint8, big-endian time then tag, or shape (n,) uint64, ``time << 16 | tag``;
        valid records only. Often a view of a memory map.
    stale
        What the event RAM holds past the valid records, in the same shape; empty or None where
        there is nothing. Only writers of RAM images look at it.
    """

    info: CaptureInfo
    records: NDArray[np.uint8] | NDArray[np.uint64]
    stale: NDArray[np.uint8] | NDArray[np.uint64] | None = None

    @classmethod
    def from_events(
        cls,
        ticks: NDArray[Any] | list[int],
        tags: NDArray[Any] | list[int],
        info: CaptureInfo | None = None,
    ) -> Capture:
        """A capture of these events; ticks are taken modulo 2**24 unless `info` says unwrapped."""
        info = info or CaptureInfo()
        if info.unwrapped:
            wide = np.asarray(ticks, dtype=np.uint64) << np.uint64(16)
            return cls(info, wide | np.asarray(tags, dtype=np.uint64))
        data = np.frombuffer(encode_records(ticks, tags), dtype=np.uint8)
        return cls(info, data.reshape(-1, RECORD_BYTES))

    @property
    def events(self) -> int:
        """The number of valid events."""
        return len(self.records)

    def chunks(
        self, events: int = CHUNK_EVENTS
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint16]]]:
        """The events in order, at most `events` at a time, as (ticks, tags)."""
        for start in range(0, self.events, events):
            part = self.records[start : start + events]
            if part.dtype == np.uint8:
                yield decode_records(part.view(np.uint8))
            else:
                yield (part >> np.uint64(16)).astype(np.int64), part.astype(np.uint16)

    def ticks(self) -> NDArray[np.int64]:
        """All ticks, shape (events,)."""
        return np.concatenate([ticks for ticks, _ in self.chunks()] or [np.empty(0, np.int64)])

    def tags(self) -> NDArray[np.uint16]:
        """All tags, shape (events,)."""
        return np.concatenate([tags for _, tags in self.chunks()] or [np.empty(0, np.uint16)])
