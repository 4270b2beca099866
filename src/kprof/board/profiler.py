"""The Profiler: event RAM, microsecond counter and switch, piggy-backed on an EPROM socket.

Paper, section 4.1: selecting the EPROM is the trigger, the address on its pins is the tag. The
model is driven by `Profiler.select`, called once for every byte that is read out of the socket.

======== ===================================== =====================================================
switch   a select stores an event              a select with A15 = 1 puts on the data bus
======== ===================================== =====================================================
OFF      no                                    the EPROM's byte
RUN      yes, until the address counter        the EPROM's byte
         overflows
READ     no                                    0x8000-0xBFFF: byte ``address & 0x3FFF`` of the
                                               selected bank; 0xC000 + b: selects bank b (b = 0..7)
======== ===================================== =====================================================

===== =================================================== =========
bank  content                                             from
===== =================================================== =========
0-2   time 23-16, 15-8, 7-0                               the paper
3-4   tag 15-8, 7-0                                       the paper
5     overflow << 7 | address counter 13..8               ours
6     address counter 7..0                                ours
7     the id byte ``K``                                   ours
===== =================================================== =========

The switch moving to RUN zeroes the time and the address counter and clears the overflow; the RAM
keeps its old contents (the paper's battery-backed sockets). Reading the banks through the socket is
the paper's "next version"; mapping them at A15 = 1 only is ours, so that reset, vectors and
triggers below 0x8000 behave as before.

A larger RAM than the paper's (`Profiler.capacity`) is ours: it has a wider address counter, and no
more than its first 16,384 events can be read through the socket.

Not modelled: metastability of the 1 MHz clock against the select (two selects of one microsecond
get one time or two, never a torn one), set-up times, bounce of the switch, the battery.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable
from enum import Enum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kprof.capture.records import RECORD_BYTES, encode_records
from kprof.errors import BoardError, UsageError

CAPACITY = 16_384
MOST_CAPACITY = 1 << 26
CLOCK_HZ = 1_000_000
MOST_PPM = 100_000
ID_BYTE = ord("K")
_TIME_MASK = 0xFF_FFFF
_ADDRESS_MASK = CAPACITY - 1


class Switch(Enum):
    """The toggle switch on the Profiler."""

    OFF = "off"
    RUN = "run"
    READ = "read"


def power_up_noise(seed: int = 0) -> bytes:
    """What a RAM that nobody wrote holds, 81,920 bytes, the same for the same seed."""
    return random.Random(seed).randbytes(CAPACITY * RECORD_BYTES)


def _ignore() -> None:
    """Nothing to tell."""


class Profiler:
    """One Profiler, of 24-bit time and 16-bit tag an event.

    Parameters
    ----------
    board_hz
        Frequency of the clock that `now` counts, in Hz.
    ppm
        How much the Profiler's own 1 MHz oscillator is off, in parts per million, to 100,000.
    phase
        How far into a tick the oscillator is when the switch moves to RUN, 0 <= phase < 1.
    ram
        Contents of the event RAM before the first run, in record order, 5 bytes an event.
    on_select
        Called with (now, address) after every select, wherever the switch stands.
    capacity
        Events that the RAM holds; the paper's has 16,384.

    Attributes
    ----------
    selects
        What was selected since the switch moved to RUN, ``clock << 16 | address`` each: the stored
        events, then, while `noting`, those behind them.
    noting
        Selects are noted that are not stored.
    limit
        The length of `selects` at which `at_limit` must be called.
    changed
        Called when `select` does another thing from now on.
    reached
        Called when `stop_at` events are stored.
    """

    def __init__(
        self,
        board_hz: int,
        *,
        ppm: Fraction | float = 0,
        phase: Fraction | float = 0,
        ram: bytes | None = None,
        on_select: Callable[[int, int], None] | None = None,
        capacity: int = CAPACITY,
    ) -> None:
        if not 0 <= phase < 1:
            raise BoardError(f"phase {phase}: is a part of a tick, at least 0 and less than 1")
        if not -MOST_PPM <= ppm <= MOST_PPM:
            raise UsageError(f"an oscillator that is {ppm} ppm off; expected at most {MOST_PPM}")
        if not CAPACITY <= capacity <= MOST_CAPACITY:
            raise UsageError(
                f"an event RAM of {capacity} events; expected {CAPACITY} to {MOST_CAPACITY}"
            )
        if ram is not None and len(ram) != capacity * RECORD_BYTES:
            raise BoardError(
                f"event RAM contents of {len(ram)} bytes; expected {capacity * RECORD_BYTES}"
            )
        rate = Fraction(CLOCK_HZ) * (1 + Fraction(ppm) / 1_000_000) / board_hz
        start = Fraction(phase)
        # ticks = (cycles * rate + phase), in whole numbers: no rounding, however long the run is.
        self._divisor = rate.denominator * start.denominator
        self._step = rate.numerator * start.denominator
        self._offset = start.numerator * rate.denominator
        self.capacity = capacity
        self._ram = bytearray(ram if ram is not None else power_up_noise())
        self._ram.extend(bytes(capacity * RECORD_BYTES - len(self._ram)))
        self._folded = 0  # events that are in `_ram` already
        self._switch = Switch.OFF
        self._overflow = False
        self._stored: int | None = 0  # events stored; None: all of `selects`
        self._zero_at = 0
        self._bank = 0
        self.selects = array("Q")
        self.noting = False
        self.limit = capacity
        self.changed: Callable[[], None] = _ignore
        self.reached: Callable[[], None] = _ignore
        self._stop_at = capacity
        self._on_select = on_select

    @property
    def switch(self) -> Switch:
        """Where the switch stands; `turn` moves it."""
        return self._switch

    @property
    def active(self) -> bool:
        """The LED that is lit while events are being stored."""
        return self._switch is Switch.RUN and not self._overflow

    @property
    def full(self) -> bool:
        """The LED that is lit when the address counter has overflowed; cleared by the next RUN."""
        return self._overflow

    @property
    def count(self) -> int:
        """Events stored since the switch last moved to RUN, 0 to the capacity."""
        return len(self.selects) if self._stored is None else self._stored

    @property
    def quiet(self) -> bool:
        """A select has no effect at all."""
        return (
            self._on_select is None
            and not self.noting
            and (self._switch is Switch.OFF or (self._switch is Switch.RUN and self._overflow))
        )

    @property
    def plain(self) -> bool:
        """All that a select does is to be appended to `selects`."""
        return (
            self._on_select is None
            and (self.active or self.noting)
            and (self._switch is not Switch.READ)
        )

    @property
    def banked(self) -> bool:
        """All that a select does is to put a byte of a bank on the bus, or to select a bank."""
        return self._on_select is None and self._switch is Switch.READ and not self.noting

    @property
    def on_select(self) -> Callable[[int, int], None] | None:
        """Called with (now, address) after every select."""
        return self._on_select

    @on_select.setter
    def on_select(self, hook: Callable[[int, int], None] | None) -> None:
        self._on_select = hook
        self.changed()

    def stop_at(self, events: int, *, noting: bool) -> None:
        """Call `reached` once so many events are stored; note all selects from the next RUN on."""
        self._stop_at = events
        self.noting = noting
        self.changed()

    def stop_noting(self) -> None:
        """Note no more than is stored."""
        self.noting = False
        self.changed()

    def turn(self, switch: Switch, now: int) -> None:
        """Move the switch at the board's clock count `now`; to where it is already: nothing."""
        if switch is self._switch:
            return
        if switch is Switch.RUN:
            self._fold()
            del self.selects[:]
            self._folded = 0
            self._overflow = False
            self._stored = None
            self._zero_at = now
            self.limit = min(self.capacity, self._stop_at)
        elif self._stored is None:
            self._stored = len(self.selects)
        self._switch = switch
        self.changed()

    def ticks(self, now: int) -> int:
        """The microsecond counter at the board's clock count `now`, 0..2**24 - 1."""
        elapsed = (now - self._zero_at) * self._step + self._offset
        return elapsed // self._divisor & _TIME_MASK

    def select(self, address: int, now: int) -> int | None:
        """One byte is read from the socket: maybe store an event, maybe answer.

        Parameters
        ----------
        address
            The 16 address lines, 0..0xFFFF.
        now
            The board's clock count.

        Returns
        -------
        int or None
            The byte that the Profiler puts on the data bus; None: the EPROM answers.
        """
        answer = None
        if self.active or self.noting:
            self.selects.append(now << 16 | address)
            if len(self.selects) == self.limit:
                self.at_limit()
        if self._switch is Switch.READ and address & 0x8000:
            answer = self.read_bank(address)
        if self._on_select is not None:
            self._on_select(now, address)
        return answer

    def at_limit(self) -> None:
        """`selects` has `limit` entries: the RAM is full, or as many are stored as were wanted."""
        stored = self._stored is None
        if stored and self.limit == self._stop_at:
            self.reached()
        if stored and self.limit == self.capacity:
            self._stored = self.capacity
            self._overflow = True
            self.changed()
        self.limit = self.capacity if self.limit < self.capacity else -1

    def times(self) -> NDArray[np.int64]:
        """Microseconds since RUN of the stored events, as a counter without end has them."""
        words = np.frombuffer(self.selects[: self.count], dtype=np.uint64)
        elapsed: NDArray[np.int64] = (words >> np.uint64(16)).astype(np.int64) - self._zero_at
        if self._divisor * self._step + self._offset < 1 << 62:
            whole, rest = np.divmod(elapsed, self._divisor)
            ticks: NDArray[np.int64] = (rest * self._step + self._offset) // self._divisor
            ticks += whole * self._step
            return ticks
        step, offset, divisor = self._step, self._offset, self._divisor
        return np.array([(n * step + offset) // divisor for n in elapsed.tolist()], dtype=np.int64)

    def tags(self) -> NDArray[np.int64]:
        """Tags of the stored events."""
        words = np.frombuffer(self.selects[: self.count], dtype=np.uint64)
        tags: NDArray[np.int64] = (words & np.uint64(0xFFFF)).astype(np.int64)
        return tags

    def image(self) -> bytes:
        """The whole event RAM in record order: what an upload must bring."""
        self._fold()
        return bytes(self._ram)

    def _fold(self) -> None:
        """Put the stored events into the RAM."""
        if self._folded != self.count:
            self._folded = self.count
            data = encode_records(self.times() & _TIME_MASK, self.tags())
            self._ram[: len(data)] = data

    def read_bank(self, address: int) -> int | None:
        """What the Profiler puts on the data bus at READ, with A15 = 1; None: nothing."""
        if address & 0x4000:
            self._bank = address & 7
            return None
        if self._bank < RECORD_BYTES:
            if self._folded != self.count:
                self._fold()
            return self._ram[(address & _ADDRESS_MASK) * RECORD_BYTES + self._bank]
        if self._bank == 5:
            return self._overflow << 7 | (self.count & _ADDRESS_MASK) >> 8
        if self._bank == 6:
            return self.count & 0xFF
        return ID_BYTE
