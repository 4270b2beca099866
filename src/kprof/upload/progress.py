"""How far an upload is: what the conversation tells, and the rate and time left that follow."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

WINDOW_S = 3.0  # the rate is that of the last seconds


@dataclass(frozen=True)
class Progress:
    """One moment of an upload.

    Attributes
    ----------
    phase
        ``connecting``, ``fetching``, ``verifying``, ``notice``.
    done, total
        Records; 0 of 0 while connecting.
    retries
        Requests that had to be repeated, or frames found bad.
    now
        The conversation's clock, s.
    note
        A sentence for the user, or empty.
    """

    phase: str
    done: int
    total: int
    retries: int
    now: float
    note: str = ""


Notify = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """A `Notify` that shows nothing."""


class Rater:
    """Rate and time left from the progress of the last `WINDOW_S` seconds."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def add(self, progress: Progress) -> tuple[float, float | None]:
        """(records a second, seconds left or None) after this progress."""
        marks = self._marks
        if marks and (progress.done < marks[-1][1]):
            marks.clear()
        marks.append((progress.now, progress.done))
        while len(marks) > 2 and marks[0][0] < progress.now - WINDOW_S:
            marks.popleft()
        seconds = marks[-1][0] - marks[0][0]
        rate = (marks[-1][1] - marks[0][1]) / seconds if seconds > 0 else 0.0
        left = (progress.total - progress.done) / rate if rate > 0 else None
        return rate, left


def progress_text(progress: Progress, rate: float, left: float | None) -> str:
    """Records, bytes a second, time left, retries."""
    eta = f"{left:.0f} s left" if left is not None else "-- s left"
    text = f"{progress.done:,}/{progress.total:,} records  {rate * 5:,.0f} B/s  {eta}"
    return text + (f"  {progress.retries} retries" if progress.retries else "")
