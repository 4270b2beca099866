"""What of a capture makes its figures doubtful, and is told with them.

Each capture is judged by itself, before it is merged: a merged one has no counter of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from kprof.capture.model import CaptureInfo

_NEAR = Fraction(9, 10)


class Doubts(NamedTuple):
    """What is doubtful.

    Attributes
    ----------
    near_wrap
        The longest time between two events, and the time after which the counter wraps, in ticks,
        where the one is near the other: a longer time would be seen too short.
    missing
        Events are missing from among those that are there.
    """

    near_wrap: tuple[int, int] | None = None
    missing: bool = False


def doubts_of(info: CaptureInfo, longest: int) -> Doubts:
    """The doubts about one capture.

    Parameters
    ----------
    longest
        The longest time between two events, in ticks of `info`.
    """
    wrap = (1 << info.time_bits) * info.step
    near = not info.unwrapped and wrap * _NEAR < longest < wrap
    # What came when the event RAM was full is missing outside of what is kept.
    lost = bool(info.lost or info.some_lost) and not info.full
    return Doubts((longest, wrap) if near else None, lost or info.holes)


def merge_doubts(parts: Iterable[Doubts]) -> Doubts:
    """The doubts about captures of one clock together; of several wraps the nearest."""
    every = list(parts)
    near = [part.near_wrap for part in every if part.near_wrap]
    return Doubts(
        max(near, key=lambda pair: (Fraction(*pair), pair)) if near else None,
        any(part.missing for part in every),
    )
