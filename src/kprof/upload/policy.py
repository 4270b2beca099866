"""The numbers of a KPR1 transfer: how much to ask for, in which frames, how long to wait.

Frames of 64 raw or 128 delta records have bodies below 375 bytes, where CRC-32 finds every error of
up to 4 bits. On a bad line frames shrink: with a chance p of an error a byte, frames of about
sqrt(12 / p) bytes, 5 bytes a record, lose the least to overhead and repeats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from kprof.upload.wire import CAN_STOP, Info

RAW, DELTA = 0, 1
FRAME_RECORDS = {RAW: 64, DELTA: 128}
LEAST_RECORDS = 4
OVERHEAD_BYTES = 16  # of a frame: flags, head, checksum, some stuffing
BARREN_LIMIT = 16
DATA_LIMIT_S = 10.0
STOP_LIMIT_S = 11.5
QUIET_S = 0.35
FALL_BACK_AT = (3, 6)


@dataclass
class Policy:
    """What the transfer has seen of the line, and what follows from it.

    Parameters
    ----------
    info
        What the agent serves.
    baud
        The line's rate, 10 bits a byte.
    encoding
        `RAW` or `DELTA`.
    round_trip_s
        Of the line.
    """

    info: Info
    baud: int
    encoding: int
    bad: float = 0.0
    heard: float = 1.0
    barren: int = 0
    new_at: float = 0.0
    round_trip_s: float = 0.0
    _bytes_a_record: float = field(default=5.0, repr=False)

    def saw(self, bad: int, received: int) -> None:
        """Count a request's bad frames and bytes; older ones fade."""
        self.bad = self.bad * 0.8 + bad
        self.heard = self.heard * 0.8 + received

    @property
    def bytes_a_second(self) -> float:
        """What the line carries."""
        return self.baud / 10

    @property
    def frame_records(self) -> int:
        """Records to ask for in a frame."""
        most = min(FRAME_RECORDS[self.encoding], self.info.max_records)
        most = min(most, max(LEAST_RECORDS, int(self.bytes_a_second / 10)))
        if self.bad < 0.5:
            return max(1, most)
        fit = int(math.sqrt(12 * self.heard / self.bad) / 5)
        return max(1, min(most, max(LEAST_RECORDS, fit)))

    @property
    def frame_s(self) -> float:
        """Line time of a frame."""
        return (self.frame_records * 5 + OVERHEAD_BYTES) / self.bytes_a_second

    @property
    def quiet_s(self) -> float:
        """Silence after which a reply is over."""
        return QUIET_S + self.round_trip_s + 1.5 * self.frame_s

    @property
    def empty_s(self) -> float:
        """Longest time in which bytes may come, but no new records."""
        return max(1.0, 4 * self.frame_s) + self.round_trip_s

    @property
    def window(self) -> int:
        """Most records to ask for at once."""
        if self.info.flags & CAN_STOP:
            return self.info.capacity
        return max(self.frame_records, int(self.bytes_a_second / 5))

    @property
    def join(self) -> int:
        """Holes at most this many records apart are fetched as one, to save a request."""
        return int(self.bytes_a_second * 0.02 / 5)

    def reply_s(self, records: int) -> float:
        """Longest time that a reply of so many records may take when everything is as it should."""
        frames = -(-records // self.frame_records)
        return 1.5 * frames * self.frame_s * (8 / 5 if self.encoding == DELTA else 1) + 1.0

    def hopeless(self, now: float) -> bool:
        """It is time to give up."""
        limit = max(DATA_LIMIT_S, 8 * self.frame_s)
        idle = now - self.new_at
        return idle >= limit * STOP_LIMIT_S / DATA_LIMIT_S or (
            self.barren >= BARREN_LIMIT and idle >= limit
        )
