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

CSR's upper half is the receiver's clock, its lower half the transmitter's; ACR bit 7 chooses one of
two sets of rates. Clock selects 0xE and 0xF are the external clock of the input pins: the board
feeds them 1.8432 MHz, which is 115200 baud. Counter/timer sources: the crystal (3.6864 MHz), also
divided by 16.

Not modelled: parity and framing errors, break, loop-back modes, modem pins, the counting of inputs
and of the transmitter's clock, the counter/timer as a clock select (0xD: 9600 baud instead), the
vector register as an interrupt vector where the board autovectors.
"""

from __future__ import annotations

from collections.abc import Callable

from kprof.board.counter import NEVER, Counter
from kprof.board.serial_channel import SerialChannel

_STEADY = (1, 5, 9, 12, 13)
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
    """

    def __init__(self, board_hz: int) -> None:
        self.a = SerialChannel(board_hz)
        self.b = SerialChannel(board_hz)
        self.output = 0
        self.changed: Callable[[], None] = _ignore
        self._counter = Counter(board_hz)
        self._imr = 0
        self._ivr = 0x0F

    @property
    def vector(self) -> int:
        """The interrupt vector register."""
        return self._ivr

    def irq(self, now: int) -> bool:
        """Whether the interrupt line is asserted."""
        return bool(self._status(now) & self._imr)

    def due(self, now: int) -> int:
        """The next moment at which an enabled interrupt can appear; NEVER where there is none."""
        moments = [NEVER]
        if self._imr & _COUNTER_READY:
            moments.append(self._counter.next_ready(now))
        for channel, shift in ((self.a, 0), (self.b, 4)):
            if self._imr >> shift & _RX_READY:
                moments.append(channel.next_arrival(now))
            if self._imr >> shift & _TX_READY and now < channel.tx_ready_at:
                moments.append(channel.tx_ready_at)
        return min(moments)

    def steady(self, offset: int) -> bool:
        """Whether reading that register changes nothing, and shows no running count."""
        return offset & 15 in _STEADY

    def quiet_until(self, now: int) -> int:
        """The next moment at which a steady register can change by itself."""
        return min(self.a.quiet_until(now), self.b.quiet_until(now), self._counter.next_ready(now))

    def read(self, offset: int, now: int) -> int:
        """Read the register at `offset & 15`."""
        register = offset & 15
        if register in (0, 1, 3, 8, 9, 11):
            return self._read_channel(register, now)
        if register == 5:
            return self._status(now)
        if register in (6, 7):
            return self._counter.count(now) >> (8 if register == 6 else 0) & 0xFF
        if register == 12:
            return self._ivr
        if register == 14:
            self._counter.start(now)
            self.changed()
        elif register == 15:
            self._counter.stop(now)
            self.changed()
        return 0 if register == 4 else 0xFF

    def write(self, offset: int, value: int, now: int) -> None:
        """Write the register at `offset & 15`."""
        register = offset & 15
        if register in (0, 1, 2, 3, 8, 9, 10, 11):
            channel = self.b if register & 8 else self.a
            channel.write(register & 3, value, now)
            self._channel_changed(register, _TX_READY)
        elif register == 4:
            for channel in (self.a, self.b):
                channel.second_set = bool(value & 0x80)
            self._counter.configure(value, now)
            self.changed()
        elif register == 5:
            self._imr = value
            self.changed()
        elif register == 6:
            self._counter.load(value << 8 | self._counter.preload & 0xFF, now)
            self.changed()
        elif register == 7:
            self._counter.load(self._counter.preload & 0xFF00 | value, now)
            self.changed()
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
            return channel.status(now)
        value = channel.read(register & 3, now)
        self._channel_changed(register, _RX_READY)
        return value

    def _channel_changed(self, register: int, cause: int) -> None:
        """An access may have moved the interrupt line, if it can interrupt at all."""
        if self._imr & (cause << 4 if register & 8 else cause):
            self.changed()

    def _status(self, now: int) -> int:
        status = self.a.interrupts(now) | self.b.interrupts(now) << 4
        if self._counter.ready(now):
            status |= _COUNTER_READY
        return status
