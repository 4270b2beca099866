"""A 68681-style DUART: two serial channels and a counter/timer, one interrupt line.

Registers at offsets 0..15, one byte each (MC68681 data sheet):

====== ====================== ========================
offset read                   write
====== ====================== ========================
0      MR1A, MR2A             MR1A, MR2A
1      SRA                    CSRA
2      (0xFF)                 CRA
3      RHRA                   THRA
4      IPCR (0)               ACR
5      ISR                    IMR
6, 7   CUR, CLR (count)       CTUR, CTLR (preload)
8-11   as 0-3, channel B      as 0-3, channel B
12     IVR                    IVR
13     input port (0xFF)      OPCR
14     start counter          set output port bits
15     stop counter           reset output port bits
====== ====================== ========================

Clock select 0xE is the external clock of the input pins: the board feeds it 1.8432 MHz, which is
115200 baud. Counter/timer sources: the crystal (3.6864 MHz), also divided by 16.

A program that waits for a channel in a tight loop reads SR again and again: when nothing can change
before a known moment, the read is stretched to that moment (`Duart.skip`). That saves the host's
time and moves what follows by less than one turn of the loop.

Not modelled: parity and framing errors, break, loop-back modes, modem pins, counting of inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from kprof.board.serial_channel import NEVER, SerialChannel

CRYSTAL_HZ = 3_686_400
_TIGHT_CLOCKS = 100
_TX_READY, _RX_READY, _COUNTER_READY = 0x01, 0x02, 0x08


def _ignore() -> None:
    """Nothing to tell."""


class Duart:
    """The DUART; `now` is the board's clock count throughout.

    Attributes
    ----------
    a, b
        The channels.
    output
        The output port's bits, 0..255.
    changed
        Called when the interrupt line or the next due moment may have changed.
    skip
        Called with the moment until which no status can change, from a tight polling loop.
    waiting
        The last tight loop waits for a byte that is not on the line yet.
    """

    def __init__(self, board_hz: int) -> None:
        self.a = SerialChannel(board_hz)
        self.b = SerialChannel(board_hz)
        self.output = 0
        self.waiting = False
        self.changed: Callable[[], None] = _ignore
        self.skip: Callable[[int], None] = lambda until: None  # noqa: ARG005
        self._board_hz = board_hz
        self._acr = 0
        self._imr = 0
        self._ivr = 0x0F
        self._preload = 0
        self._counter_at: int | None = None
        self._acknowledged = 0
        self._polled = (-1, -1, 0)

    def irq(self, now: int) -> bool:
        """Whether the interrupt line is asserted."""
        return bool(self._status(now) & self._imr)

    def due(self, now: int) -> int:
        """The next moment at which an enabled interrupt can appear; NEVER where there is none."""
        moments = [NEVER]
        if self._imr & _COUNTER_READY and self._counter_at is not None:
            moments.append(self._expiry(self._expired(now) + 1))
        for channel, shift in ((self.a, 0), (self.b, 4)):
            if self._imr >> shift & _RX_READY:
                moments.append(channel.next_arrival(now))
            if self._imr >> shift & _TX_READY and not channel.tx_ready(now):
                moments.append(channel.tx_ready_at)
        return min(moments)

    def read(self, offset: int, now: int) -> int:
        """Read the register at `offset & 15`."""
        register = offset & 15
        if register in (0, 1, 3, 8, 9, 11):
            return self._read_channel(register, now)
        if register == 5:
            return self._status(now)
        if register in (6, 7):
            return self._count(now) >> (8 if register == 6 else 0) & 0xFF
        if register == 12:
            return self._ivr
        if register == 14:
            self._counter_at = now
            self._acknowledged = 0
            self.changed()
        elif register == 15:
            self._stop_counter(now)
        return 0 if register == 4 else 0xFF

    def write(self, offset: int, value: int, now: int) -> None:
        """Write the register at `offset & 15`."""
        register = offset & 15
        if register in (0, 1, 2, 3, 8, 9, 10, 11):
            channel = self.b if register & 8 else self.a
            channel.write(register & 3, value, now)
            self._channel_changed(register, _TX_READY)
        elif register == 4:
            self._acr = value
        elif register == 5:
            self._imr = value
            self.changed()
        elif register == 6:
            self._preload = value << 8 | self._preload & 0xFF
        elif register == 7:
            self._preload = self._preload & 0xFF00 | value
        elif register == 12:
            self._ivr = value
        elif register == 14:
            self.output |= value
            self.changed()
        elif register == 15:
            self.output &= ~value & 0xFF
            self.changed()

    def _read_channel(self, register: int, now: int) -> int:
        channel = self.b if register & 8 else self.a
        if register & 3 == 1:
            value = channel.status(now)
            self._poll(register, channel, value, now)
            return value
        value = channel.read(register & 3, now)
        self._channel_changed(register, _RX_READY)
        return value

    def _channel_changed(self, register: int, cause: int) -> None:
        """An access may have moved the interrupt line, if it can interrupt at all."""
        if self._imr & (cause << 4 if register & 8 else cause):
            self.changed()

    def _poll(self, register: int, channel: SerialChannel, value: int, now: int) -> None:
        """Notice a tight loop on a status register and stretch this read to the next change."""
        last_register, last_value, last_at = self._polled
        tight = register == last_register and value == last_value and now - last_at < _TIGHT_CLOCKS
        self._polled = (register, value, now)
        self.waiting = False
        if tight:
            until = channel.next_arrival(now)
            if not channel.tx_ready(now):
                until = min(until, channel.tx_ready_at)
            self.waiting = until == NEVER
            self.skip(until)

    def _status(self, now: int) -> int:
        status = self.a.interrupts(now) | self.b.interrupts(now) << 4
        if self._counter_at is not None and self._expired(now) > self._acknowledged:
            status |= _COUNTER_READY
        return status

    @property
    def _timer_mode(self) -> bool:
        return bool(self._acr & 0x40)

    def _tick(self) -> Fraction:
        """Board clocks a count."""
        divide = 16 if self._acr & 0x30 == 0x30 else 1
        return Fraction(divide * self._board_hz, CRYSTAL_HZ)

    def _expired(self, now: int) -> int:
        """How often the counter was ready since its start."""
        if self._counter_at is None:
            return 0
        counts = (now - self._counter_at) // self._tick()
        preload = max(self._preload, 1)
        if self._timer_mode:
            return int(counts // (2 * preload))
        return int((counts - preload) // 65_536 + 1)

    def _expiry(self, which: int) -> int:
        """The first clock at which the counter has been ready `which` times."""
        assert self._counter_at is not None
        preload = max(self._preload, 1)
        counts = 2 * preload * which if self._timer_mode else preload + 65_536 * (which - 1)
        return self._counter_at - (-counts * self._tick()).__floor__()

    def _count(self, now: int) -> int:
        if self._counter_at is None:
            return self._preload
        counts = int((now - self._counter_at) // self._tick())
        if self._timer_mode:
            return self._preload - counts % max(self._preload, 1)
        return (self._preload - counts) & 0xFFFF

    def _stop_counter(self, now: int) -> None:
        """Clear the ready bit; a timer runs on, a counter stops."""
        self._acknowledged = self._expired(now)
        if not self._timer_mode:
            self._counter_at = None
        self.changed()
