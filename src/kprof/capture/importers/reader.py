"""What every reader of an analyser's file delivers: changes of lines, in blocks.

A block is (times, words): times int64 in ticks of the reader's clock, not falling, shape (n,);
words uint64, shape (n,): bit i is the level of line i from that time on, bit 32 + i is set where
the level is not known. The last block ends with an entry at the time where the recording ends.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kprof.errors import CaptureError

Block = tuple[NDArray[np.int64], NDArray[np.uint64]]
UNKNOWN_SHIFT = 32
MAX_TICKS = 1 << 62

_HERTZ = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kKMG]?)(?:Hz|S/s|s/S)?", re.IGNORECASE)
_POWERS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


@dataclass(frozen=True)
class Recording:
    """What a file says before its samples.

    Attributes
    ----------
    kind
        The file format, for people.
    channels
        The names of the channels.
    clock_hz
        Ticks a second of the blocks' times.
    sample_ticks
        Ticks between two samples of the analyser; None where that is not known.
    """

    kind: str
    channels: tuple[str, ...]
    clock_hz: Fraction
    sample_ticks: int | None
    warnings: tuple[str, ...] = ()


class Reader(Protocol):
    """A file that was opened far enough to know its channels."""

    @property
    def recording(self) -> Recording:
        """What it says before its samples."""

    def blocks(self, wanted: Sequence[int]) -> Iterator[Block]:
        """The changes of the channels `wanted`, bit i of a word being ``wanted[i]``."""


def parse_hertz(text: str, source: str) -> Fraction:
    """A sample rate such as ``24 MHz``, ``333.3 kHz``, ``100000``.

    Raises
    ------
    CaptureError
        It is none.
    """
    match = _HERTZ.fullmatch(text.strip())
    rate = Fraction(match[1]) * _POWERS[match[2].upper()] if match and len(text) < 40 else 0
    if not 0 < rate <= 10**12:
        raise CaptureError(
            f"{source}: its sample rate is {text.strip()[:40]!r}; expected one such as 24 MHz (say "
            "it: --samplerate 24MHz)"
        )
    return Fraction(rate)


def chosen_rate(
    told: str | None, stated: str | None, source: str
) -> tuple[Fraction | None, tuple[str, ...]]:
    """The sample rate that the user tells, else the file's; a warning where they differ.

    Raises
    ------
    CaptureError
        It is none.
    """
    text = told or stated
    if text is None:
        return None, ()
    rate = parse_hertz(text, source)
    with contextlib.suppress(CaptureError):
        if told and stated and parse_hertz(stated, source) != rate:
            said = f"{source}: says {stated.strip()}; --samplerate {told} is taken instead"
            return rate, (said,)
    return rate, ()


def changes_only(times: NDArray[np.int64], words: NDArray[np.uint64], before: int | None) -> Block:
    """Without the entries that repeat the word before them (`before`: that of the last block)."""
    if not len(words):
        return times, words
    keep = np.empty(len(words), dtype=bool)
    keep[0] = before is None or int(words[0]) != before
    np.not_equal(words[1:], words[:-1], out=keep[1:])
    return times[keep], words[keep]
