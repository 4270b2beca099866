"""Serial chips with one channel, a 6850 and a 16550; and a timer that only asks for interrupts.

6850 (MC6850 data sheet): register 0 is status and control, register 1 the data. The clock is
divided by 1, 16 or 64 (control bits 1-0; 11: reset); a character has 10 or 11 bits (bits 4-2).
Bit 7 of the control lets the receiver interrupt, bits 6-5 = 01 the transmitter.

16550 (National data sheet): registers 0 to 7 with the divisor behind bit 7 of LCR; FIFO of 16
bytes in the receiver when FCR bit 0 is set. The transmitter's FIFO is not modelled: THRE means
that one byte is taken.

Not modelled: parity and framing errors, break, modem lines.
"""

from __future__ import annotations

from collections.abc import Callable

from kprof.board.counter import NEVER
from kprof.board.serial_channel import SerialChannel

_DIVIDERS = (1, 16, 64)
_BITS = (11, 11, 10, 10, 11, 10, 11, 11)  # by control bits 4-2
_RX_READY, _TX_READY, _TX_EMPTY = 0x01, 0x04, 0x08  # of `SerialChannel.status`


def _ignore() -> None:
    """Nothing to tell."""


class _OneChannel:
    """What a chip with one channel tells the board; `now` is the board's clock count throughout.

    Attributes
    ----------
    a
        The channel.
    changed
        Called when the interrupt line or the next due moment may have changed.
    """

    def __init__(self, board_hz: int, clock_hz: int) -> None:
        self.a = SerialChannel(board_hz, fifo_bytes=1, keeps_shifted=False)
        self.changed: Callable[[], None] = _ignore
        self._board_hz = board_hz
        self._clock_hz = clock_hz
        self._rx_irq = self._tx_irq = False

    def irq(self, now: int) -> bool:
        """Whether the interrupt line is asserted."""
        status = self.a.status(now)
        return bool(self._rx_irq and status & _RX_READY) or bool(
            self._tx_irq and status & _TX_READY
        )

    def due(self, now: int) -> int:
        """The next moment at which an enabled interrupt can appear."""
        moments = [NEVER]
        if self._rx_irq:
            moments.append(self.a.next_arrival(now))
        if self._tx_irq and now < self.a.tx_ready_at:
            moments.append(self.a.tx_ready_at)
        return min(moments)

    def quiet_until(self, now: int) -> int:
        """The next moment at which a status can change by itself."""
        return self.a.quiet_until(now)


class Acia(_OneChannel):
    """A 6850."""

    def steady(self, offset: int) -> bool:
        """Reading the status changes nothing; reading the data does."""
        return not offset & 1

    def read(self, offset: int, now: int) -> int:
        """Read the status or the data."""
        if offset & 1:
            byte = self.a.take(now)
            self.a.overrun()
            self.changed()
            return byte
        status = self.a.status(now)
        value = status & 0x01 | (0x02 if status & _TX_READY else 0) | (status & 0x10) << 1
        return value | (0x80 if self.irq(now) else 0)

    def write(self, offset: int, value: int, now: int) -> None:
        """Write the control or the data."""
        if offset & 1:
            self.a.send(value, now)
        elif value & 3 == 3:
            self.a.enable(False)
            self._rx_irq = self._tx_irq = False
        else:
            baud = self._clock_hz // _DIVIDERS[value & 3]
            clocks = self._board_hz * _BITS[value >> 2 & 7] // baud
            self.a.set_rates(clocks, clocks)
            self.a.enable(True)
            self._rx_irq = bool(value & 0x80)
            self._tx_irq = value & 0x60 == 0x20
        self.changed()


class Uart16550(_OneChannel):
    """A 16550."""

    def __init__(self, board_hz: int, clock_hz: int) -> None:
        super().__init__(board_hz, clock_hz)
        self._divisor = 12
        self._registers = bytearray(8)
        self._told_empty = True
        self._set_rate()

    def steady(self, offset: int) -> bool:
        """Whether reading that register changes nothing (not RBR, IIR and LSR with its errors)."""
        return offset & 7 in (1, 3, 4, 6, 7) or (offset & 7 == 5)

    def irq(self, now: int) -> bool:
        """Whether the interrupt line is asserted; the transmitter asks once each time."""
        status = self.a.status(now)
        if self._rx_irq and status & _RX_READY:
            return True
        return bool(self._tx_irq and status & _TX_READY and not self._told_empty)

    def read(self, offset: int, now: int) -> int:
        """Read the register at `offset & 7`."""
        register = offset & 7
        if self._registers[3] & 0x80 and register < 2:
            return self._divisor >> 8 * register & 0xFF
        if register == 0:
            byte = self.a.take(now)
            self.changed()
            return byte
        if register == 2:
            return self._identify(now)
        status = self.a.status(now)
        if register == 5:
            both = (0x20 if status & _TX_READY else 0) | (0x40 if status & _TX_EMPTY else 0)
            return status & 0x01 | (status & 0x10) >> 3 | both
        return self._registers[register]

    def write(self, offset: int, value: int, now: int) -> None:
        """Write the register at `offset & 7`."""
        register = offset & 7
        if self._registers[3] & 0x80 and register < 2:
            keep = self._divisor & (0xFF00 if register == 0 else 0x00FF)
            self._divisor = keep | value << 8 * register
            self._set_rate()
        elif register == 0:
            self.a.send(value, now)
            self._told_empty = False
        elif register == 1:
            self._rx_irq, self._tx_irq = bool(value & 1), bool(value & 2)
            self._told_empty = False
            self._registers[1] = value & 15
        elif register == 2:
            self.a.fifo_bytes = 16 if value & 1 else 1
        elif register in (3, 4, 7):
            self._registers[register] = value
        self.changed()

    def _identify(self, now: int) -> int:
        status = self.a.status(now)
        if self._rx_irq and status & _RX_READY:
            return 0x04
        if self._tx_irq and status & _TX_READY and not self._told_empty:
            self._told_empty = True
            self.changed()
            return 0x02
        return 0x01

    def _set_rate(self) -> None:
        baud = max(self._clock_hz // (16 * max(self._divisor, 1)), 1)
        self.a.set_rates(self._board_hz * 10 // baud, self._board_hz * 10 // baud)
        self.a.enable(True)


class PeriodicTimer:
    """Asks for an interrupt `hz` times a second, from the reset on, until it is written to."""

    def __init__(self, board_hz: int, hz: int) -> None:
        self.changed: Callable[[], None] = _ignore
        self._board_hz = board_hz
        self._hz = hz
        self._seen = 0

    def irq(self, now: int) -> bool:
        """Whether a period has ended since the last acknowledgement."""
        return now * self._hz // self._board_hz > self._seen

    def due(self, now: int) -> int:
        """The end of this period."""
        return -(-(now * self._hz // self._board_hz + 1) * self._board_hz // self._hz)

    def quiet_until(self, now: int) -> int:  # noqa: ARG002
        """No register can be read."""
        return NEVER

    def steady(self, offset: int) -> bool:  # noqa: ARG002
        """Reading changes nothing."""
        return True

    def read(self, offset: int, now: int) -> int:  # noqa: ARG002
        """Nothing to read."""
        return 0xFF

    def write(self, offset: int, value: int, now: int) -> None:  # noqa: ARG002
        """Acknowledge."""
        self._seen = now * self._hz // self._board_hz
        self.changed()
