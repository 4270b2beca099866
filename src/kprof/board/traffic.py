"""What comes over the wire: a station dumps null data into a TCP connection (the paper's case).

Frames go from 10.0.0.2 to 10.0.0.1 and have right checksums. The station does not wait for
acknowledgements: bursts of frames, pauses between them, all random but the same for the same seed.
`kprof.board.peer` is a station that answers.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator

from kprof.board.counter import NEVER
from kprof.board.frames import ACK, BOARD_MAC, PUSH, Segment, segment_frame

PORT = 5001


class Station(ABC):
    """The other end of the wire; `now` is the board's clock count throughout."""

    @abstractmethod
    def plan(self, now: int) -> tuple[int, bytes]:
        """(clocks of silence before it, frame): what the station sends next, as things stand."""

    @abstractmethod
    def sent(self, now: int) -> None:
        """The frame that was planned last has come to the board's end of the wire."""

    @abstractmethod
    def hear(self, frame: bytes, now: int) -> bool:
        """A frame of the board has come to the station; whether its plan is another one now."""


class Stream(Station):
    """A station that sends (clocks of silence, frame) of an iterator and hears nothing."""

    def __init__(self, frames: Iterator[tuple[int, bytes]]) -> None:
        self._frames = frames

    def plan(self, now: int) -> tuple[int, bytes]:  # noqa: ARG002
        """The next of them, at the end nothing for ever."""
        return next(self._frames, (NEVER, b""))

    def sent(self, now: int) -> None:
        """Nothing follows from it."""

    def hear(self, frame: bytes, now: int) -> bool:  # noqa: ARG002
        """Nothing follows from it."""
        return False


def data_stream(
    board_hz: int,
    *,
    seed: int = 1,
    payload_bytes: int = 1024,
    burst: int = 3,
    pause_us: int = 20_000,
) -> Iterator[tuple[int, bytes]]:
    """(clocks of silence before it, frame), for ever.

    Parameters
    ----------
    board_hz
        Frequency of the board's clock.
    seed
        Chooses the run.
    payload_bytes
        The most data in a frame; one in four is shorter.
    burst
        The most frames back to back.
    pause_us
        Mean silence between bursts.
    """
    dice = random.Random(seed)
    sequence = dice.randrange(1 << 32)
    while True:
        silence = round(dice.uniform(0.3, 1.7) * pause_us) * board_hz // 1_000_000
        for number in range(dice.randint(1, burst)):
            size = payload_bytes if dice.random() < 0.75 else dice.randrange(1, payload_bytes)
            yield (0 if number else silence), tcp_frame(sequence, bytes(size))
            sequence = (sequence + size) & 0xFFFF_FFFF


def tcp_frame(sequence: int, payload: bytes) -> bytes:
    """One frame that carries `payload`, from port 1023 to `PORT`."""
    segment = Segment(1023, PORT, sequence, 0, PUSH | ACK, 4096, payload)
    return segment_frame(segment, BOARD_MAC, sequence)
