"""Raw ticks to time: unwrapping, and taking out what the triggers cost.

The time between two events is that of `CaptureInfo.intervals`. The first event is time 0.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kprof.capture.model import CaptureInfo
from kprof.errors import UsageError

PARTS = 1000
"""With a trigger cost times are kept in such parts of a tick."""

_UNPAID = 20  # of what the triggers are said to have cost, a 20th may be owed at the end
_MOST = 1 << 62  # what can be counted


class Clock:
    """Turns blocks of ticks into times, carrying what has to be known from block to block.

    Parameters
    ----------
    info
        Gives the counter's width, and whether it wraps.
    trigger_cost
        What a trigger costs, in ticks. Every interval holds one trigger, so as much is taken from
        each. An interval that the clock saw shorter than the cost, for it only counts whole ticks,
        becomes negative: sums and means are right on average, a single time may run backwards.
        Times are then in thousandths of the capture's ticks: whole ones would favour some
        functions.

    Attributes
    ----------
    info
        What is known of the capture, with the clock that the times are in.

    Raises
    ------
    UsageError
        A cost below zero, or too small for thousandths of a tick.
    """

    def __init__(self, info: CaptureInfo, trigger_cost: Fraction = Fraction(0)) -> None:
        self._scale = PARTS if trigger_cost else 1
        self.info = replace(info, clock_hz=info.clock_hz * self._scale, step=self._scale)
        self._previous: int | None = None
        self._cost = round(trigger_cost * PARTS)
        if trigger_cost and self._cost <= 0:
            raise UsageError(
                f"a trigger cost of {self._us(trigger_cost * PARTS)} us cannot be taken out; "
                f"expected at least a thousandth of a tick, {self._us(1)} us"
            )
        self._owed = 0
        self._paid = (0, 0)  # intervals, and time, when nothing was owed
        self.intervals = 0
        """Intervals between events so far."""
        self.short = 0
        """Intervals that are shorter than the cost by more than the step of the clock explains."""
        self.raw = 0
        """Time of the last event, triggers included."""
        self.time = 0
        """Time of the last event."""
        self.longest = 0
        """The longest interval between two events, triggers included."""

    @property
    def taken(self) -> int:
        """What was taken out for the triggers, in ticks of `info`."""
        return self.raw - self.time

    def finish(self) -> None:
        """Check what is owed at the end; call once, after the last event.

        Raises
        ------
        UsageError
            The triggers cannot have cost so much: there is less time in the capture, or what its
            last intervals were too short for was never made up for.
        """
        wanted, step = self._cost * self.intervals, self.info.step
        if wanted > self.raw or self._owed > wanted // _UNPAID + step:
            self._refuse()

    def advance(self, ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The times of the next events, shape (n,), in ticks of `info` since the first event.

        Raises
        ------
        UsageError
            The cost is so large that it cannot be counted.
        """
        if not len(ticks):
            return np.empty(0, np.int64)
        steps = self.info.intervals(ticks, self._previous)
        first = self._previous is None
        self._previous = int(ticks[-1])
        self.longest = max(self.longest, int(steps.max()) * self._scale)
        self.raw += int(steps.sum()) * self._scale
        self.intervals += len(steps) - first
        if self._cost:
            return self._without_triggers(steps, first)
        times: NDArray[np.int64] = np.cumsum(steps) + self.time
        self.time = int(times[-1])
        return times

    def _without_triggers(self, steps: NDArray[np.int64], first: bool) -> NDArray[np.int64]:
        """The times without the triggers.

        `_owed` is what intervals so far were too short for, and later ones have not made up for.
        """
        if self._cost * self.intervals > _MOST:
            self._refuse()
        steps = steps * PARTS
        cost = np.full(len(steps), self._cost, np.int64)
        if first:
            cost[0] = 0
        walk = self._owed + np.cumsum(cost - steps)
        owed = walk - np.minimum(np.minimum.accumulate(walk), 0)
        self.short += int((steps < cost - PARTS).sum())
        for last in np.flatnonzero(owed == 0)[-1:].tolist():
            rest = steps[last + 1 :]
            self._paid = (self.intervals - len(rest), self.raw - int(rest.sum()))
        self._owed = int(owed[-1])
        times: NDArray[np.int64] = self.time + np.cumsum(steps - cost)
        self.time = int(times[-1])
        return times

    def _refuse(self) -> None:
        many = self.intervals - self._paid[0]
        mean = (self.raw - self._paid[1]) // max(1, many)
        raise UsageError(
            f"{self.info.source}: a trigger cost of {self._us(self._cost)} us cannot be taken out: "
            f"the last {many} of its {self.intervals} intervals are {self._us(mean)} us long on "
            "average; expected at most that"
        )

    def _us(self, ticks: Fraction | int) -> str:
        return f"{float(ticks * 1_000_000 / self.info.clock_hz):.9g}"
