"""Raw ticks to time: unwrapping, and taking out what the triggers cost.

The counter is an interval clock (paper, section 4.1): the time between two events is their
difference modulo its width, so two wraps between events cannot be seen. The first event is time 0.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kprof.capture.model import CaptureInfo

_PARTS = 1000  # a trigger's cost is kept in thousandths of a tick


class Clock:
    """Turns blocks of ticks into times, carrying what has to be known from block to block.

    Parameters
    ----------
    info
        Gives the counter's width, and whether it wraps.
    trigger_cost
        What a trigger costs, in ticks. Every interval holds one trigger, so as much is taken from
        each. An interval that is shorter than the cost (the clock only counts whole ticks) owes the
        rest to those that follow: no time runs backwards and sums are right on average. Times
        are then in thousandths of the capture's ticks: whole ones would favour some functions.

    Attributes
    ----------
    info
        What is known of the capture, with the clock that the times are in.
    """

    def __init__(self, info: CaptureInfo, trigger_cost: Fraction = Fraction(0)) -> None:
        self._scale = _PARTS if trigger_cost else 1
        self.info = replace(info, clock_hz=info.clock_hz * self._scale, step=self._scale)
        self._mask = (1 << info.time_bits) - 1
        self._wraps = not info.unwrapped
        self._previous: int | None = None
        self._cost = round(trigger_cost * _PARTS)
        self._owed = 0
        self.raw = 0
        """Time of the last event, triggers included."""
        self.time = 0
        """Time of the last event."""
        self.longest = 0
        """The longest interval between two events, triggers included."""
        self.backwards = 0
        """Intervals below zero, in a capture whose time does not wrap; taken as zero."""

    def advance(self, ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The times of the next events, shape (n,), in ticks of `info` since the first event."""
        if not len(ticks):
            return np.empty(0, np.int64)
        previous = int(ticks[0]) if self._previous is None else self._previous
        steps = np.diff(ticks, prepend=np.int64(previous))
        if self._wraps:
            steps &= self._mask
        elif (steps < 0).any():
            self.backwards += int((steps < 0).sum())
            steps = np.maximum(steps, 0)
        first = self._previous is None
        self._previous = int(ticks[-1])
        self.longest = max(self.longest, int(steps.max()) * self._scale)
        self.raw += int(steps.sum()) * self._scale
        if self._cost:
            return self._without_triggers(steps, first)
        times: NDArray[np.int64] = np.cumsum(steps) + self.time
        self.time = int(times[-1])
        return times

    def _without_triggers(self, steps: NDArray[np.int64], first: bool) -> NDArray[np.int64]:
        """The times without the triggers; `_owed` is what intervals so far were too short for."""
        steps = steps * _PARTS
        cost = np.full(len(steps), self._cost, np.int64)
        if first:
            cost[0] = 0
        walk = self._owed + np.cumsum(cost - steps)
        owed = walk - np.minimum(np.minimum.accumulate(walk), 0)
        taken = np.diff(owed, prepend=np.int64(self._owed))
        times: NDArray[np.int64] = self.time + np.cumsum(steps - cost + taken)
        self._owed = int(owed[-1])
        self.time = int(times[-1])
        return times
