"""The counter/timer of a 68681 (MC68681 data sheet, section on the counter/timer).

As a timer it runs all the time: it counts the preload down, reloads, and is ready at the end of
every second countdown. A new preload counts from the next countdown on; the start command begins a
new one at once, with the preload of that moment. As a counter it counts down once from the start
command, is ready at 0, and goes on from 0xFFFF until it is stopped.
"""

from __future__ import annotations

from fractions import Fraction

NEVER = 1 << 62
CRYSTAL_HZ = 3_686_400
_WRAP = 0x1_0000


def _tick(board_hz: int, divisor: int) -> tuple[int, int]:
    """Clocks of a count, as a fraction."""
    clocks = Fraction(board_hz * divisor, CRYSTAL_HZ)
    return clocks.numerator, clocks.denominator


class Counter:
    """The counter/timer; `now` is the board's clock count throughout.

    Attributes
    ----------
    timer
        It is a timer, not a counter; `configure` sets it.
    preload
        The value that CTUR and CTLR hold; `load` sets it.
    """

    def __init__(self, board_hz: int) -> None:
        self.timer = False
        self.preload = 0
        self._hz = board_hz
        # Times are in parts of a clock, so that a count is a whole number of them.
        self._tick, self._parts = _tick(board_hz, 1)
        self._from: int | None = None  # when the first countdown below began; None: stopped
        self._first = self._rest = 1  # counts of that countdown, and of all behind it
        self._ended = 0  # countdowns before it
        self._seen = 0  # how often it was ready at the last acknowledgement
        self._held = 0  # where the counter was stopped

    def configure(self, acr: int, now: int) -> None:
        """Take mode and clock source from ACR; a change of either begins a new countdown."""
        timer = bool(acr & 0x40)
        tick, parts = _tick(self._hz, 16 if acr & 0x30 == 0x30 else 1)
        if (timer, tick, parts) == (self.timer, self._tick, self._parts):
            return
        was_running = self._from is not None
        self.timer, self._tick, self._parts = timer, tick, parts
        self._from = None
        if timer or was_running:
            self.start(now)

    def load(self, preload: int, now: int) -> None:
        """Write the preload; a running timer takes it at its next countdown."""
        self.preload = preload
        if self.timer and self._from is not None:
            done = self._countdowns(now)
            if done:
                self._from, self._first = self._end(done), self._rest
                self._ended += done
            self._rest = max(preload, 1)

    def start(self, now: int) -> None:
        """Begin a new countdown, not ready."""
        self._from = now * self._parts
        self._first = self._rest = max(self.preload, 1)
        if not self.timer:
            self._rest = _WRAP
        self._ended = self._seen = 0

    def stop(self, now: int) -> None:
        """Acknowledge; a counter stops, a timer runs on."""
        self._seen = self._readies(now)
        if not self.timer:
            self._held = self.count(now)
            self._from = None

    def ready(self, now: int) -> bool:
        """Whether it was ready since the last acknowledgement."""
        return self._readies(now) > self._seen

    def next_ready(self, now: int) -> int:
        """The next clock at which it gets ready (again); NEVER while it is stopped."""
        if self._from is None:
            return NEVER
        each = 2 if self.timer else 1
        return -(-self._end(each * (self._readies(now) + 1) - self._ended) // self._parts)

    def count(self, now: int) -> int:
        """The value that CUR and CLR show."""
        if self._from is None:
            return self._held
        done = self._countdowns(now)
        began = self._end(done) if done else self._from
        length = self._rest if done else self._first
        return (length - (now * self._parts - began) // self._tick) & 0xFFFF

    def _end(self, which: int) -> int:
        """When the countdown with this number, from 1, ends."""
        assert self._from is not None
        return self._from + (self._first + (which - 1) * self._rest) * self._tick

    def _countdowns(self, now: int) -> int:
        """Countdowns that have ended since `_from`."""
        if self._from is None:
            return 0
        behind = now * self._parts - self._end(1)
        return 0 if behind < 0 else 1 + behind // (self._rest * self._tick)

    def _readies(self, now: int) -> int:
        done = self._ended + self._countdowns(now)
        return done // 2 if self.timer else done
