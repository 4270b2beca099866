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

Not modelled: metastability of the 1 MHz clock against the select (two selects of one microsecond
get one time or two, never a torn one), set-up times, bounce of the switch, the battery.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from enum import Enum
from fractions import Fraction

from kprof.capture.records import RECORD_BYTES
from kprof.errors import BoardError, UsageError

CAPACITY = 16_384
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


class Profiler:
    """One Profiler: 16,384 events of 24-bit time and 16-bit tag.

    Parameters
    ----------
    board_hz
        Frequency of the clock that `now` counts, in Hz.
    ppm
        How much the Profiler's own 1 MHz oscillator is off, in parts per million, to 100,000.
    phase
        How far into a tick the oscillator is when the switch moves to RUN, 0 <= phase < 1.
    ram
        Contents of the event RAM before the first run, in record order, 81,920 bytes.
    on_select
        Called with (now, address) after every select, wherever the switch stands.
    """

    def __init__(
        self,
        board_hz: int,
        *,
        ppm: Fraction | float = 0,
        phase: Fraction | float = 0,
        ram: bytes | None = None,
        on_select: Callable[[int, int], None] | None = None,
    ) -> None:
        if not 0 <= phase < 1:
            raise BoardError(f"phase {phase}: is a part of a tick, at least 0 and less than 1")
        if not -MOST_PPM <= ppm <= MOST_PPM:
            raise UsageError(f"an oscillator that is {ppm} ppm off; expected at most {MOST_PPM}")
        if ram is not None and len(ram) != CAPACITY * RECORD_BYTES:
            raise BoardError(
                f"event RAM contents of {len(ram)} bytes; expected {CAPACITY * RECORD_BYTES}"
            )
        rate = Fraction(CLOCK_HZ) * (1 + Fraction(ppm) / 1_000_000) / board_hz
        start = Fraction(phase)
        # ticks = (cycles * rate + phase), in whole numbers: no rounding, however long the run is.
        self._divisor = rate.denominator * start.denominator
        self._step = rate.numerator * start.denominator
        self._offset = start.numerator * rate.denominator
        self._ram = bytearray(ram if ram is not None else power_up_noise())
        self._switch = Switch.OFF
        self._address = 0
        self._overflow = False
        self._zero_at = 0
        self._bank = 0
        self.on_select = on_select

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
        """Events stored since the switch last moved to RUN, 0..16384."""
        return CAPACITY if self._overflow else self._address

    def turn(self, switch: Switch, now: int) -> None:
        """Move the switch at the board's clock count `now`; to where it is already: nothing."""
        if switch is self._switch:
            return
        if switch is Switch.RUN:
            self._address = 0
            self._overflow = False
            self._zero_at = now
        self._switch = switch

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
        if self._switch is Switch.RUN:
            if not self._overflow:
                self._store(address, now)
        elif self._switch is Switch.READ and address & 0x8000:
            answer = self._read(address)
        if self.on_select is not None:
            self.on_select(now, address)
        return answer

    def image(self) -> bytes:
        """The whole event RAM in record order, 81,920 bytes: what an upload must bring."""
        return bytes(self._ram)

    def _store(self, address: int, now: int) -> None:
        at = self._address * RECORD_BYTES
        self._ram[at : at + RECORD_BYTES] = (self.ticks(now) << 16 | address).to_bytes(5, "big")
        self._address = (self._address + 1) & _ADDRESS_MASK
        self._overflow = self._address == 0

    def _read(self, address: int) -> int | None:
        if address & 0x4000:
            self._bank = address & 7
            return None
        if self._bank < RECORD_BYTES:
            return self._ram[(address & _ADDRESS_MASK) * RECORD_BYTES + self._bank]
        if self._bank == 5:
            return self._overflow << 7 | self._address >> 8
        if self._bank == 6:
            return self._address & 0xFF
        return ID_BYTE
